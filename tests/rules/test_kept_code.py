"""Machine code on the disk is a convenience: without room, or damaged, it is compiled again, and results are right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest
from modes import full_disk

from tictac_env.compiled import numba_names
from tictac_env.compiled.numba_names import cache_in, keep_code

posix = pytest.mark.skipif(os.name != "posix", reason="limits are those of POSIX")


def times_three(x: int) -> int:
    return 3 * x


def kept_in(folder: Path) -> Any:
    """The function, compiled anew or loaded, as another process would have it."""
    with cache_in(str(folder)):
        function = numba.njit(times_three)
        keep_code(function)
    return function


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@posix
def test_on_a_full_disk_it_is_compiled_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba_names, "UNKEPT", [])
    with full_disk(10):
        assert kept_in(tmp_path)(14) == 42
    assert numba_names.UNKEPT and not [path for path in files(tmp_path) if path.suffix == ".nbc"]
    assert kept_in(tmp_path)(14) == 42
    assert len(files(tmp_path)) == 2


@pytest.mark.parametrize("length", [0, 1, 20, 150])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_files_that_are_cut_short_are_written_anew(kind: str, length: int, tmp_path: Path) -> None:
    assert kept_in(tmp_path)(14) == 42
    (path,) = (path for path in files(tmp_path) if path.suffix == f".{kind}")
    os.truncate(path, length)
    again = kept_in(tmp_path)
    assert again(14) == 42 and not again.stats.cache_hits
    third = kept_in(tmp_path)
    assert third(14) == 42 and third.stats.cache_hits


PLAYED = """
import resource, sys
from tictac_env.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
sys.exit(main(sys.argv[1:]))
"""


@posix
@pytest.mark.slow
@pytest.mark.parametrize("words", ["tournament mcts:5 random --games 2", "solve 4453", "warm TicTacToe-v0 --only mcts"])
def test_commands_need_no_room_for_machine_code(words: str, tmp_path: Path) -> None:
    """A tree search once forfeited its games because a disk was full; only `warm` has to fail."""
    done = subprocess.run(
        [sys.executable, "-c", PLAYED, *words.split()],
        env=os.environ | {"TICTAC_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "machine code cannot be kept in " in done.stderr and "forfeited" not in done.stdout
    assert done.returncode == (2 if words.startswith("warm") else 0), done.stderr
