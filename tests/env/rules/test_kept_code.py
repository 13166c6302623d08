"""Machine code on the disk is a convenience: without room, or damaged, it is compiled again, and results are right."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest
from modes import full_disk

from tictac_env.compiled import kernels, numba_names
from tictac_env.compiled.numba_names import cache_in, keep_code

posix = pytest.mark.skipif(os.name != "posix", reason="limits are those of POSIX")


def times_three(x: int) -> int:
    return 3 * x


def kept_in(folder: Path) -> Any:
    """The function, compiled anew or loaded, as another process would have it."""
    with cache_in(str(folder)):
        function = numba.njit(times_three)
        keep_code(function, lambda signature: "")
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
    assert [path.suffix for path in files(tmp_path)] == [".lock", ".lock", ".nbc", ".nbi"]


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


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The folders of machine code that this package would use first, and then."""
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TICTAC_CACHE_DIR", str(tmp_path / "asked"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    name = Path(kernels.CACHE_FOLDER).name
    return tmp_path / "asked" / "tictac-env" / name, tmp_path / "home" / ".cache" / "tictac-env" / name


@posix
def test_its_folder_is_for_its_user_alone(homes: tuple[Path, Path]) -> None:
    """Numba keeps pickles there, which run what whoever wrote them wants."""
    first, _ = homes
    before = os.umask(0o002)
    try:
        assert kernels._cache_folder() == (str(first), True, "")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (first, first.parent)] == [0o700, 0o700]
    for folder in (first, first.parent):
        folder.chmod(0o755)
    assert kernels._cache_folder() == (str(first), True, "")
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (first, first.parent)] == [0o700, 0o700]


@posix
@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_a_folder_that_others_may_write_into_is_not_used(mode: int, homes: tuple[Path, Path]) -> None:
    first, second = homes
    first.mkdir(parents=True)
    first.chmod(mode)
    folder, kept, warning = kernels._cache_folder()
    assert (folder, kept) == (str(second), True)
    assert f"other users may have written into {first}; machine code is kept in {second}" in warning
    second.chmod(mode)
    folder, kept, warning = kernels._cache_folder()
    assert not kept and Path(folder) not in homes
    assert f"other users may have written into {second}, so every run compiles again" in warning


@posix
@pytest.mark.parametrize("inner", [True, False])
def test_a_folder_of_somebody_else_is_not_used(inner: bool, homes: tuple[Path, Path]) -> None:
    if os.geteuid():
        pytest.skip("only root can give folders away")
    first, second = homes
    first.mkdir(parents=True, mode=0o700)
    os.chown(first if inner else first.parent, 54321, -1)
    assert kernels._cache_folder()[:2] == (str(second), True)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that nobody can write to")
def test_a_folder_that_exists_but_cannot_be_written_to_is_not_used(homes: tuple[Path, Path]) -> None:
    """Numba would then keep code beside the source, where it does not see that a rule has changed."""
    first, second = homes
    first.parent.mkdir(parents=True, mode=0o700)
    first.symlink_to("/proc")
    assert kernels._cache_folder()[:2] == (str(second), True)


PLAYED = """
import resource, sys
from tictac_apps.cli import main
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
