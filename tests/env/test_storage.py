"""Files are whole or not there, hold no pickle, and say what is wrong with them."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tictac_env import storage
from tictac_env.storage import kind_of, load_arrays, read_json, reading, save_arrays, save_text, sha256, writing

ARRAYS = {
    "ints": np.arange(6, dtype=np.int64).reshape(2, 3),
    "floats": np.array([0.1, -0.0, np.nan, np.inf]),
    "bytes": np.array([0, 255], np.uint8),
    "flags": np.array([[True], [False]]),
    "words": np.array(["a", "longer"]),
    "none": np.zeros((0, 9), np.float32),
    "scalar": np.array(3.5),
}
META: dict[str, Any] = {"name": "Zoë", "n": 2**62, "nested": {"list": [1, None, 0.1]}, "empty": {}}


def test_arrays_and_meta_come_back_as_they_were(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a.npz", "test", META, ARRAYS)
    meta, arrays = load_arrays(tmp_path / "a.npz", "test")
    assert meta == META
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype and arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


def test_the_same_content_makes_the_same_file_at_any_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = []
    for number in range(2):
        monkeypatch.setattr("time.time", lambda number=number: 1.7e9 + 100 * number)
        save_arrays(tmp_path / f"{number}.npz", "test", {"a": 1}, {"b": np.arange(3)})
        files.append((tmp_path / f"{number}.npz").read_bytes())
    assert files[0] == files[1]


def test_folders_are_made_and_the_name_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "name.without.npz.ending"
    save_arrays(path, "test", {}, ARRAYS)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("array", [np.array([{}, None]), np.array([("a", None)], dtype=[("x", "U1"), ("y", object)])])
def test_python_objects_are_not_saved(array: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'bad' holds Python objects"):
        save_arrays(tmp_path / "a.npz", "test", {}, {"good": ARRAYS["ints"], "bad": array})
    assert not os.listdir(tmp_path)


def test_what_json_cannot_hold_is_not_saved(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a.npz", "test", {"old": 1}, ARRAYS)
    with pytest.raises(TypeError):
        save_arrays(tmp_path / "a.npz", "test", {"set": {1, 2}}, ARRAYS)
    assert load_arrays(tmp_path / "a.npz", "test")[0] == {"old": 1}
    assert os.listdir(tmp_path) == ["a.npz"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_after_an_error_the_file_is_as_it_was(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "file"
    save_text(path, "before")

    def fail() -> None:
        with writing(path) as file:
            file.write(b"half")
            assert path.read_text() == "before"
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_is_on_the_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a machine that loses its power may be left with an empty file in place of the old one."""
    path, synced = tmp_path / "file", list[int]()
    save_text(path, "before")

    def fsync(handle: int) -> None:
        assert path.read_text() == "before"
        synced.append(os.fstat(handle).st_size)

    monkeypatch.setattr(os, "fsync", fsync)
    save_text(path, "after, and longer")
    assert synced == [len("after, and longer")] and path.read_text() == "after, and longer"


def test_a_part_that_is_swept_away_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, swept = storage._lock, list[Path]()

    def swept_first(handle: int, wait: bool) -> bool:
        for part in () if swept else tmp_path.iterdir():
            part.unlink()
            swept.append(part)
        return lock(handle, wait)

    monkeypatch.setattr(storage, "_lock", swept_first)
    save_text(tmp_path / "file", "text")
    assert len(swept) == 1 and (tmp_path / "file").read_text() == "text"


HALF = """
import sys
from tictac_env.storage import writing
with writing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print(flush=True)
    sys.stdin.read()
"""
"""Begins to write a file, says so, and ends when its input does."""


@contextmanager
def half_written(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", HALF, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline()
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(os.name != "posix", reason="needs locks that end with the process")
def test_what_a_killed_process_left_is_swept_away_by_the_next_save(tmp_path: Path) -> None:
    path = tmp_path / "agent[1].npz"
    for _ in range(2):
        with half_written(path) as process:
            process.kill()
            process.wait()
    assert len(os.listdir(tmp_path)) == 1  # the second one has removed what the first one left
    kept = [
        ".agent[1].npz.settings",
        ".agent[1].npz.notes.part",
        ".other.npz.abcdefgh.part",
        ".agent1.npz.abcdefgh.part",
    ]
    for name in kept:
        (tmp_path / name).touch()
    save_text(path, "whole")
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, path.name])


@pytest.mark.skipif(os.name != "posix", reason="needs locks that end with the process")
def test_who_saves_the_same_file_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    with half_written(path) as process:
        for text in ("first", "second"):
            save_text(path, text)
            assert path.read_text() == text
        assert len(os.listdir(tmp_path)) == 2
        process.communicate()
        assert process.returncode == 0
    assert path.read_text() == "half" and os.listdir(tmp_path) == [path.name]


def test_many_processes_can_save_the_same_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    script = (
        "import sys\nfrom tictac_env.storage import save_text\n"
        "for i in range(40): save_text(sys.argv[1], sys.argv[2] * 10_000)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(path), letter]) for letter in "abc"]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len(path.read_text()) == 10_000 and len(set(path.read_text())) == 1
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_are_those_of_any_new_file(umask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        save_text(tmp_path / "file", "text")
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a.npz", "a table", {}, ARRAYS)
    with pytest.raises(ValueError, match=r"a\.npz holds 'a table', not 'a book'"):
        load_arrays(tmp_path / "a.npz", "a book")


@pytest.mark.parametrize(
    "error", [KeyError("ints"), TypeError("no number"), RuntimeError("other sizes"), MemoryError("1 TiB")]
)
def test_a_file_of_which_nothing_can_be_made_is_named(error: Exception, tmp_path: Path) -> None:
    save_arrays(tmp_path / "a.npz", "test", META, ARRAYS)

    def make() -> None:
        with reading(tmp_path / "a.npz", "test", "table") as (meta, arrays):
            assert meta == META and arrays.keys() == ARRAYS.keys()
            raise error

    with pytest.raises(ValueError, match=rf"a\.npz is not a usable table: {error}"):
        make()


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_arrays(tmp_path / "a.npz", "test")


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x05\x06" + bytes(18), b"PK\x03\x04"])
def test_what_is_no_archive_of_ours_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz cannot be read as test"):
        load_arrays(tmp_path / "a.npz", "test")


DEEP = "[" * 100_000
HEADERS = ["", "[]", "{}", '{"kind": "test"}', '{"meta": {}}', "{'kind'}", "null", DEEP]


@pytest.mark.parametrize("header", [*HEADERS, *(f'{{"kind": "test", "meta": {one}}}' for one in ("[]", "null", '"x"'))])
def test_a_wrong_header_is_refused(header: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", ints=ARRAYS["ints"])
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("meta.json", header)
    with pytest.raises(ValueError, match=r"a\.npz cannot be read as test"):
        load_arrays(tmp_path / "a.npz", "test")


@pytest.mark.parametrize("text", ["", "{", DEEP, b"\xff"])
def test_what_is_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        read_json(text)


def claiming(shape: tuple[int, ...], descr: str = "<f8", content: bytes = b"") -> bytes:
    """An array in NumPy's format that says it has this shape."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue() + content


@pytest.mark.parametrize(
    "array",
    [
        claiming((10**12,)),
        claiming((10**6, 10**6)),
        claiming((-8,)),
        claiming((2,), content=bytes(8)),
        claiming((1,), content=bytes(16)),
        claiming((10**12,), "<U0"),
        claiming((1,), "<c16", bytes(16)),
        claiming((1,), "|O", bytes(8)),
    ],
)
def test_an_array_that_is_not_as_long_as_it_says_is_refused(array: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", array)
        archive.writestr("meta.json", '{"kind": "test", "meta": {}}')
    with pytest.raises(ValueError, match=r"a\.npz cannot be read as test: a\.npy is "):
        load_arrays(tmp_path / "a.npz", "test")


@pytest.mark.parametrize("member", ["meta.json", "a.npy", "many"])
def test_a_short_archive_that_unpacks_to_much_is_refused(member: str, tmp_path: Path) -> None:
    """BZip2 makes hundreds of bytes of megabytes; NumPy never uses it."""
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("meta.json", '{"kind": "test", "meta": {}}' + " " * (10**7 if member == "meta.json" else 0))
        for number in range(10 if member == "many" else 1):
            archive.writestr(f"{number}.npy", claiming((10**6,), "|i1", bytes(10**6)))
    for read in (lambda: load_arrays(path, "test"), lambda: kind_of(path)):
        with pytest.raises(ValueError, match=r"a\.npz .*unpacks to more than [\d,]+ bytes"):
            read()


def test_the_sizes_of_all_members_count_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_arrays(tmp_path / "a.npz", "test", {}, {"a": np.arange(1000), "b": np.arange(1000)})
    monkeypatch.setattr("tictac_env.storage.LARGEST", 16_000)  # both, but not the rest of the archive
    with pytest.raises(ValueError, match="unpacks to more than 16,000 bytes"):
        load_arrays(tmp_path / "a.npz", "test")
    monkeypatch.setattr("tictac_env.storage.LARGEST", 17_000)
    assert load_arrays(tmp_path / "a.npz", "test")[1].keys() == {"a", "b"}


def test_arrays_of_more_bytes_than_are_possible_are_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_arrays(tmp_path / "a.npz", "test", {"rows": 9}, {"a": np.zeros(9), "b": np.zeros(1)})
    with reading(tmp_path / "a.npz", "test", "table", lambda meta: 8 * meta["rows"] + 8) as (_, arrays):
        assert arrays.keys() == {"a", "b"}
    with pytest.raises(ValueError, match=r"a\.npz is not a usable table: 'columns'"):
        reading(tmp_path / "a.npz", "test", "table", lambda meta: meta["columns"]).__enter__()
    monkeypatch.setattr(np, "load", None)
    with pytest.raises(ValueError, match=r"a\.npz cannot be read as test: its arrays have more than 72 bytes"):
        reading(tmp_path / "a.npz", "test", "table", lambda meta: 8 * meta["rows"]).__enter__()


def test_json_and_files_have_their_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_arrays(tmp_path / "a.npz", "test", META, {})
    monkeypatch.setattr("tictac_env.storage.LARGEST_JSON", 100)
    with pytest.raises(ValueError, match=r"meta\.json has \d+ bytes, more than 100"):
        load_arrays(tmp_path / "a.npz", "test")
    monkeypatch.setattr("tictac_env.storage.LARGEST", 1 << 20)
    with (tmp_path / "long.npz").open("wb") as file:
        file.truncate(2 << 20)
    with pytest.raises(ValueError, match=r"long\.npz .*it has 2,097,152 bytes, more than 1,048,576"):
        kind_of(tmp_path / "long.npz")


def test_the_best_that_deflate_can_is_read(tmp_path: Path) -> None:
    zeros = np.zeros(2 * 10**6)
    save_arrays(tmp_path / "a.npz", "test", {}, {"zeros": zeros})
    assert (tmp_path / "a.npz").stat().st_size < zeros.nbytes / 900
    assert load_arrays(tmp_path / "a.npz", "test")[1]["zeros"].shape == zeros.shape


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes with names")
def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    for read in (lambda: load_arrays(tmp_path / "pipe.npz", "test"), lambda: kind_of(tmp_path / "pipe.npz")):
        with pytest.raises(ValueError, match=r"pipe\.npz .*not a regular file"):
            read()


def test_hashes_are_of_all_files_one_after_another(tmp_path: Path) -> None:
    contents = [b"a" * (3 << 20), b"", b"b"]
    for number, content in enumerate(contents):
        (tmp_path / str(number)).write_bytes(content)
    assert sha256(*(tmp_path / str(number) for number in range(3))) == hashlib.sha256(b"".join(contents)).hexdigest()


class Exploit:
    """Leaves a trace if it is ever unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self.trace),))


def test_a_pickle_in_the_archive_is_never_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    np.savez(tmp_path / "a.npz", evil=np.array([Exploit(trace)], object))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("meta.json", '{"kind": "test", "meta": {}}')
    with pytest.raises(ValueError, match="cannot be read as test"):
        load_arrays(tmp_path / "a.npz", "test")
    assert not trace.exists()
