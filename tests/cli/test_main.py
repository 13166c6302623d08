"""The command line as such: help, the version, errors, and how quick all that is."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

import tictac_env
from tictac_env import cli
from tictac_env.cli.main import ALIASES, COMMANDS, make_parser

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
    status, out, err = ends([name, "--help"], capsys)
    assert (status, err) == (0, "")
    assert out.startswith(f"usage: tictac {name}")
    assert "\nexamples:\n\n  tictac " in out
    assert max(map(len, out.splitlines())) < 100


def test_former_names_go_on_working(capsys: pytest.CaptureFixture[str]) -> None:
    for name, former in ALIASES.items():
        for alias in former:
            assert ends([alias, "--help"], capsys) == ends([name, "--help"], capsys)


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = ends(["--help"], capsys)
    assert status == 0
    for name, (_, told) in COMMANDS.items():
        assert f"    {name}" in out and told in " ".join(out.split())


RUNS: dict[str, tuple[list[str], str]] = {
    "play": (["rule"], "You are X and play first, against rule."),
    "train": (["QLearning", "--total-episodes", "20", "--save", "own.npz"], "QLearning on Own-v0"),
    "audit": (["own.npz", "--quick"], "own (QLearning) on Own-v0"),
    "prove": (["rule"], "rule as first"),
    "tournament": (["random", "rule", "--games", "1"], "Own-v0: 1 games"),
    "bench": (["mine=rule", "--pair-games", "2"], "Own-v0, mine: "),
    "solve": (["12"], "score "),
    "render": (["12"], " X [O]"),
    "export-agent": (["rule", "-o", "rule.py"], "rule.py"),
    "grade": (["submission.py", "--assignment", "own.toml"], "of 1 points"),
}
"""For each command with the option --game words, and what is in its output."""
FILES = {
    "own_env.py": "from tictac_env.envs.aec import BoardAECEnv\ndef env(): return BoardAECEnv('Own-v0')\n",
    "submission.py": "def choose(cells, legal): return legal[0]\n",
    "own.toml": "game = 'Own-v0'\n[[test]]\ntheorem = 'never-illegal'\npoints = 1\n",
}


def test_every_command_takes_a_game_of_ones_own(
    own_game: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    for name, content in FILES.items():
        Path(name).write_text(content)
    for command, (words, told) in RUNS.items():
        assert cli.main([command, *words, "--game", own_game]) in (0, 1), capsys.readouterr().err
        out = capsys.readouterr().out
        assert told in out, command
        if command != "grade":  # whose game is not a default of the command's
            assert "Own-v0" in out.splitlines()[0], command
    assert cli.main(["audit", "own.npz", "--quick"]) == 0, "its module is imported by now"


def test_no_command_with_a_game_is_forgotten() -> None:
    parser = make_parser()
    parser.fill_all()
    (commands,) = (one.choices for one in parser._actions if isinstance(one.choices, dict))
    found = {name for name, one in commands.items() if "--game" in one._option_string_actions}
    assert found | {"train"} == {*RUNS, "serve"}  # train's own commands have it; tests/web has serve


def test_help_loads_nothing_heavy() -> None:
    """So it is as quick as importing Gymnasium."""
    script = (
        "import sys, gymnasium, pettingzoo\nbefore = set(sys.modules)\nfrom tictac_env import cli\n"
        "try: cli.main(['--help'])\nexcept SystemExit: print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert "tictac_env.cli.main" in loaded
    assert not set(loaded) & set(HEAVY)


def test_the_package_can_be_run() -> None:
    done = subprocess.run([sys.executable, "-m", "tictac_env", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"tictac-env {tictac_env.__version__}\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m tictac_env render 4453 | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_ctrl_c_ends_a_command_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tictac_env.cli.show.information", stop)
    assert cli.main(["info"]) == 130
    assert capsys.readouterr().err == "tictac: stopped\n"
