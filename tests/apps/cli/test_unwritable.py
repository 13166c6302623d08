"""Every command that writes a file, on a full disk and into a folder that cannot be written to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import breadth
from modes import bound_by_modes, full_disk

from tictac_apps import cli
from tictac_env import audit
from tictac_env.arena.audit_record import save_card
from tictac_env.compiled import numba_names

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits and modes are those of POSIX")

RUBRIC = 'game = "KInARow-v0:2x3-3,gravity=False"\n[[test]]\ntheorem = "never-illegal"\npoints = 2\n'
TRAINED = "QLearning --total-episodes 50"


class Written(NamedTuple):
    """A command that writes: its words, {} for where it writes, and what it is to print although it cannot."""

    words: str
    printed: str = ""
    needs: str = "numpy"


QUICK = {
    "svg": Written("render 4583 -o {}/a.svg"),
    "table": Written(f"train {TRAINED} --save {{}}/q.npz"),
    "grade": Written("grade anna.py --assignment small.toml -o {}/grade.txt", "anna"),
    "table of grades": Written("grade class --assignment small.toml --csv -o {}/grades.csv", "bert"),
    "hand-out": Written("grade --assignment minimax --hand-out {}"),
    "proof": Written("prove rule --store {}/proof"),
    "tournament": Written("tournament random rule --games 4 --store {}/results"),
}
MORE = QUICK | {
    "card": Written("audit rule --card {}", "exploitability"),
    "board": Written("board audits -o {}/board.html"),
    "autograder": Written("grade --make-zip minimax -o {}/minimax.zip"),
    "export agent": Written("export agent rule -o {}/agent.py"),
    "png": Written("render 4583 -o {}/a.png", needs="PIL"),
    "gif": Written("render 4583 -o {}/a.gif", needs="PIL"),
    "export page": Written("export page {}/site", needs="starlette"),
    "games learner": Written("train GameTree --total-games 20 --save {}/tree.npz"),
    "network": Written("train DQN --total-timesteps 512 --save {}/dqn.zip", needs="sb3_contrib"),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with what is read, and in it one to write to."""
    (tmp_path / "small.toml").write_text(RUBRIC)
    (tmp_path / "class").mkdir()
    for path in (tmp_path / "anna.py", *(tmp_path / "class" / name for name in ("anna.py", "bert.py"))):
        path.write_text("def choose(cells, legal):\n    return legal[0]\n")
    save_card(audit("rule", exact=False, progress=False), tmp_path / "audits")
    (tmp_path / "target").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(numba_names, "UNKEPT", [])  # what is compiled on a full disk is not kept
    yield tmp_path / "target"
    (tmp_path / "target").chmod(0o755)


@pytest.mark.parametrize("name", breadth(QUICK, MORE))
def test_a_folder_that_cannot_be_written_to(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Said in one line, and before there is anything to lose."""
    pytest.importorskip(MORE[name].needs)
    here.chmod(0o555)
    with bound_by_modes():
        assert cli.main(MORE[name].words.format(here).split()) == 2
    out, err = capsys.readouterr()
    assert out.count("\n") <= 1 and not os.listdir(here)
    last = err.splitlines()[-1]
    assert last.startswith("tictac: ") and str(here) in last and ".part" not in last


@pytest.mark.parametrize("name", breadth(QUICK, MORE))
def test_a_full_disk(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Said in one line, nothing half-written stays, and what was found out is told all the same."""
    pytest.importorskip(MORE[name].needs)
    words = MORE[name].words.format(here).split()
    with full_disk():
        assert cli.main(words) == 2
    out, err = capsys.readouterr()
    last = err.splitlines()[-1]
    assert last.startswith("tictac: ") and str(here) in last and ".part" not in last
    assert MORE[name].printed in out
    left = [path.name for path in here.rglob("*") if path.is_file() and path.stat().st_size]
    assert name == "proof" or not left, "a proof keeps whole files to go on from"
    assert not [one for one in left if one.endswith(".part")]
    assert cli.main(words) in (0, 1), "the same command works once there is room"
    capsys.readouterr()
