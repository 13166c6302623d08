"""The completion scripts, in the shells they are for; a shell that is not installed is skipped."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tictac_apps import cli
from tictac_apps.cli.main import COMMANDS
from tictac_env.games.registry import known_names
from tictac_env.policies import POLICIES

BASH = """
source {script}
compopt() {{ :; }}
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_shtab_tictac
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
FISH = "function tictac; end; source {script}; complete -C {line}"
CASES = [
    ([""], {name.partition(" ")[0] for name in COMMANDS}),
    (["export", ""], {"page", "agent"}),
    (["play", "--game", ""], {*known_names()}),
    (["tournament", "random", "r"], {name for name in POLICIES if name.startswith("r")}),
    (["play", "--seat", ""], {"first", "second", "alternate"}),
    (["solve", "--we"], {"--weak"}),
]


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    assert cli.main(["completion", shell]) == 0
    path = folder / f"tictac.{shell}"
    path.write_text(capsys.readouterr().out)
    return path


def output(*command: str, folder: Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout


@pytest.mark.parametrize(("words", "found"), CASES)
def test_bash_completes(words: list[str], found: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script("bash", tmp_path, capsys)
    typed = " ".join(map(shlex.quote, ["tictac", *words]))
    assert found <= {*output("bash", "-c", BASH.format(script=path, words=typed), folder=tmp_path).split()}


@pytest.mark.parametrize(("words", "found"), CASES)
def test_fish_completes(words: list[str], found: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script("fish", tmp_path, capsys)
    line = shlex.quote(" ".join(["tictac", *words]))
    lines = output("fish", "--no-config", "-c", FISH.format(script=path, line=line), folder=tmp_path).splitlines()
    assert found <= {line.partition("\t")[0] for line in lines}


def test_zsh_reads_its_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script("zsh", tmp_path, capsys)
    assert output("zsh", "-n", str(path), folder=tmp_path) == ""
    text = path.read_text()
    assert text.startswith("#compdef tictac") and "_tictac_games() { compadd -- TicTacToe-v0" in text
