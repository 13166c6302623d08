"""The command line as such: help, the version, errors, and how quick all that is."""

from __future__ import annotations

import argparse
import csv
import io
import json
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import tictac_apps.command
import tictac_env
from tictac_agents import QLearning
from tictac_apps import cli
from tictac_apps.cli.main import COMMANDS, make_parser

HEAVY = "numba", "scipy", "torch", "rich", "pygame", "matplotlib", "tictac_env.arena", "tictac_env.solver"


def ends(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The status of a command line that ends the program, and what it wrote."""
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, out, err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert ends(["--version"], capsys) == (0, f"tictac-env {tictac_env.__version__}\n", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = ends([*name.split(), "--help"], capsys)
    assert (status, err) == (0, "")
    assert out.startswith(f"usage: tictac {name}")
    assert "\nexamples:\n\n  tictac " in out
    assert max(map(len, out.splitlines())) < 100


def test_help_fits_on_a_screen_and_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = ends(["--help"], capsys)
    lines = out.splitlines()
    assert status == 0 and len(lines) < 24 and max(map(len, lines)) <= 80
    shown = [line.split("  ")[1] for line in lines if line.startswith("  ")]
    assert shown == ["tictac play", *COMMANDS]
    assert cli.main([]) == 0 and capsys.readouterr().out == out


RUNS: dict[str, tuple[list[str], str]] = {
    "play": (["rule"], "You are red X and play first, against rule."),
    "train": (["QLearning", "--total-episodes", "20", "--save", "own.npz"], "QLearning on Own-v0"),
    "audit": (["own.npz", "--quick", "--card"], "own (QLearning) on Own-v0"),
    "board": (["."], "board.html"),
    "prove": (["rule"], "rule as first"),
    "tournament": (["random", "rule", "--games", "1"], "Own-v0: 1 games"),
    "bench": (["mine=rule", "--games", "2"], "mine on Own-v0:"),
    "solve": (["12"], "score "),
    "render": (["12"], " X [O]"),
    "export agent": (["rule", "-o", "rule.py"], "rule.py"),
    "grade": (["submission.py", "--assignment", "own.toml"], "of 1 points"),
}
"""For each command with the option --game words, and what is in its output."""
FILES = {
    "own_env.py": "from tictac_env.envs.aec import BoardAECEnv\ndef env(): return BoardAECEnv('Own-v0')\n",
    "submission.py": "def choose(cells, legal): return legal[0]\n",
    "own.toml": "game = 'Own-v0'\n[[test]]\ntheorem = 'never-illegal'\npoints = 1\n",
}


@pytest.mark.parametrize(
    "commands",
    [[name for name in RUNS if name != "bench"], pytest.param(["bench"], marks=pytest.mark.slow)],  # which has workers
    ids=["others", "bench"],
)
def test_every_command_takes_a_game_of_ones_own(
    commands: list[str], own_game: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    for name, content in FILES.items():
        Path(name).write_text(content)
    for command in commands:
        words, told = RUNS[command]
        assert cli.main([*command.split(), *words, "--game", own_game]) in (0, 1), capsys.readouterr().err
        out = capsys.readouterr().out
        assert told in out, command
        if command != "grade":  # whose game is not a default of the command's
            assert "Own-v0" in out.splitlines()[0], command
    if "train" in commands:
        assert cli.main(["audit", "own.npz", "--quick"]) == 0, "its module is imported by now"


def test_no_command_with_a_game_is_forgotten() -> None:
    parser = make_parser()
    parser.fill_all()
    (commands,) = (one.choices for one in parser._actions if isinstance(one.choices, dict))
    (forms,) = (one.choices for one in commands["export"]._actions if isinstance(one.choices, dict))
    commands |= {f"export {name}": one for name, one in forms.items()}
    found = {name for name, one in commands.items() if "--game" in one._option_string_actions}
    assert found | {"train"} == {*RUNS, "serve"}  # train's own commands have it; tests/apps/web has serve


@pytest.mark.parametrize(
    ("words", "game"),
    [
        ("play rule", "TicTacToe-v0"),
        ("solve 12", "ConnectFour-v0"),
        ("solve 52753311433677442422121 --json", "ConnectFour-v0"),
        ("render 12", "TicTacToe-v0"),
        ("audit rule --quick", "TicTacToe-v0"),
        ("audit rule --quick --json", "TicTacToe-v0"),
        ("prove rule --json", "TicTacToe-v0"),
        ("tournament random rule --games 1", "TicTacToe-v0"),
        ("tournament random rule --games 1 --csv", "TicTacToe-v0"),
        ("export agent rule -o rule.py", "ConnectFour-v0"),
        ("train QLearning --total-episodes 9", "TicTacToe-v0"),
        ("train NTupleTD --total-games 9 --tuples 2 --length 3", "ConnectFour-v0"),
        ("audit q.npz --quick", "KInARow-v0:3x4-3"),
        ("play q.npz", "KInARow-v0:3x4-3"),
        ("tournament q.npz random --games 1 --json", "KInARow-v0:3x4-3"),
    ],
)
def test_the_first_line_names_the_game_if_it_was_not_given(
    words: str, game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first line of stderr, if the output is for programs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    monkeypatch.setattr("tictac_apps.cli.train.MATCH_GAMES", 2)
    QLearning("KInARow-v0:3x4-3", seed=0).save("q.npz")
    assert cli.main(words.split()) in (0, 1)
    out, err = capsys.readouterr()
    assert game in (err if "--json" in words or "--csv" in words else out).splitlines()[0]


def test_help_loads_nothing_heavy() -> None:
    """So it is as quick as importing Gymnasium."""
    script = (
        "import sys, gymnasium, pettingzoo\nbefore = set(sys.modules)\nfrom tictac_apps import cli\n"
        "try: cli.main(['--help'])\nexcept SystemExit: print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert "tictac_apps.cli.main" in loaded
    assert not set(loaded) & set(HEAVY)


@pytest.mark.parametrize(("streams", "status", "message"), [("2>&- <&-", 0, ""), (">&-", 2, "standard output")])
def test_closed_streams_cost_a_line_at_most(streams: str, status: int, message: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m tictac_apps render 45 {streams}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == status and message in done.stderr
    assert (len(done.stdout.splitlines()) > 3, len(done.stderr.splitlines())) == (status == 0, status // 2)


def test_a_current_folder_that_is_gone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert tictac_apps.command.main(["info"]) == 2
    assert capsys.readouterr().err.splitlines() == ["tictac: the current folder is gone"]


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{shlex.quote(sys.executable)} -m tictac_apps render 4583 | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_ctrl_c_ends_a_command_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tictac_apps.cli.show.information", stop)
    assert cli.main(["info"]) == 130
    assert capsys.readouterr().err == "tictac: stopped\n"


def test_ctrl_c_while_python_imports_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stopped:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "tictac_apps.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "tictac_apps.cli")
    monkeypatch.setattr(sys, "meta_path", [Stopped(), *sys.meta_path])
    assert tictac_apps.command.main() == 130
    assert capsys.readouterr().err == "tictac: stopped\n"
    with pytest.raises(SystemExit, match="130"):
        runpy.run_module("tictac_apps", run_name="__main__")
    assert capsys.readouterr().err == "tictac: stopped\n"


@pytest.mark.parametrize(("words", "ran"), [([], ["play"]), (["solve", "4453"], ["solve", "4453"])])
def test_the_program_with_the_packages_name_plays_without_a_command(
    words: list[str], ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[list[str]] = []
    monkeypatch.setattr(cli, "main", lambda words: given.append(words) or 0)
    monkeypatch.setattr(sys, "argv", ["tictac-env", *words])
    assert tictac_apps.command.play() == 0 and given == [ran]


RESULTS = {
    "solve": "solve 15 --game TicTacToe-v0",
    "audit": "audit rule --quick",
    "prove": "prove rule",
    "tournament": "tournament random rule --games 4",
    "info": "info",
}
"""Short command lines of commands that have a result; `tictac grade` and `tictac bench` have tests of their own."""


def options_of(name: str) -> set[str]:
    """The options of a command."""
    parser = make_parser()
    parser.fill_all()
    for word in name.split():
        (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
        parser = commands.choices[word]
    return {option for action in parser._actions for option in action.option_strings}


def test_every_command_that_has_a_result_has_all_its_forms() -> None:
    forms = {"--json", "--csv", "-o", "--output"}
    formed = {name for name in COMMANDS if options_of(name) & {"--json", "--csv"}}
    assert formed == {*RESULTS, "grade", "bench"} and all(forms <= options_of(name) for name in formed)
    assert {name for name in COMMANDS if "--csv-games" in options_of(name)} == {"tournament", "grade", "prove"}


@pytest.mark.parametrize("words", RESULTS.values(), ids=RESULTS)
def test_the_forms_of_a_result_are_the_same_in_every_command(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fields(text: str, form: str) -> list[str]:
        return list(json.loads(text)) if form == "--json" else next(csv.reader(io.StringIO(text)))

    assert cli.main(words.split()) in (0, 1)
    text = capsys.readouterr().out
    for form in ("--json", "--csv"):
        path = tmp_path / form
        assert cli.main([*words.split(), form]) in (0, 1)
        printed = capsys.readouterr().out
        assert cli.main([*words.split(), form, "-o", str(path)]) in (0, 1)
        out = capsys.readouterr().out
        assert fields(path.read_text(), form) == fields(printed, form)
        assert out.splitlines()[0] == text.splitlines()[0] and out.endswith(f"\n{path}\n")
        assert form == "--json" or len(printed.splitlines()) > 1
    assert cli.main([*words.split(), "-o", str(tmp_path / "text")]) in (0, 1)
    assert (tmp_path / "text").read_text().splitlines()[0] == text.splitlines()[0]
    with pytest.raises(SystemExit, match="2"):
        cli.main([*words.split(), "--json", "--csv"])


@pytest.mark.parametrize(
    "words",
    [
        "tournament random rule minimax:1 minimax:2 minimax:3 level:1 level:2 minimax-first minimax --games 2",
        "prove rule",
        "train QLearning --total-episodes 20",
        "train",
        "solve 15 --game TicTacToe-v0",
    ],
)
def test_results_fit_a_terminal_of_80_columns(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert cli.main(words.split()) in (0, 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines and max(map(len, lines)) <= 80
    if "tournament" in words:
        tables = [line.split() for line in lines if line.startswith("player ")]
        assert [head.count("v") for head in tables] == [5, 4, 0] and lines[-1].endswith("resampled.")


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"bench"}))
def test_help_fits_a_terminal_of_80_columns(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = ends([*name.split(), "--help"], capsys)
    assert [line for line in out.splitlines() if len(line) > 80] == []
