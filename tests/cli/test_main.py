"""The command line as such: help, the version, errors, and how quick all that is."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tictac_env
from tictac_env import cli
from tictac_env.cli.main import ALIASES, COMMANDS

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
    for name, told in COMMANDS.items():
        assert f"    {name}" in out and told in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "tictac: the following arguments are required: COMMAND; see tictac --help"),
        (["slove"], "tictac: argument COMMAND: invalid choice: 'slove'"),
        (["solve", "4", "--wek"], "tictac solve: unrecognized arguments: --wek; see tictac solve --help"),
    ],
)
def test_a_wrong_command_line_is_answered_in_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = ends(arguments, capsys)
    assert (status, out) == (2, "")
    assert err.startswith(told) and err.count("\n") == 1


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

    monkeypatch.setattr("tictac_env.cli.info.information", stop)
    assert cli.main(["info"]) == 130
    assert capsys.readouterr().err == "tictac: stopped\n"
