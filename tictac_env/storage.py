"""Files of arrays and JSON, never pickles, written atomically."""

from __future__ import annotations

import contextlib
import csv
import errno
import glob
import hashlib
import io
import json
import math
import os
import stat
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from tictac_env.arrays import Array

try:
    import fcntl
except ImportError:  # not on POSIX
    fcntl = None  # type: ignore[assignment]
if sys.platform == "win32":
    import msvcrt

JsonObject: TypeAlias = dict[str, Any]
"""An object of JSON, by the names of its fields."""

META = "meta.json"
PART = ".part"
"""The end of the name of an incomplete file."""

KINDS = "biufU"
"""The kinds of dtype that files hold, as NumPy names them: numbers that are not complex, truth values, text."""
LARGEST = 1 << 32
"""The most bytes that are read or unpacked: some kilobytes could become any number of them."""
LARGEST_JSON = 1 << 26
"""The most bytes of JSON, which take many times as much memory."""
DEFLATED = 1032
"""The most that an archive of ours or of PyTorch's unpacks to, times its size: Deflate shortens nothing further."""


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that takes its place at `path` at the end of the block; after an error `path` is as it was.

    Incomplete files that killed processes have left behind are removed first.

    Raises:
        OSError: it cannot be written; the error names `path`.
    """
    target = Path(path)
    with _naming(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        handle, name = _new_part(target)
    # A second handle keeps the lock after the file is closed: until it is renamed, nobody may sweep it away.
    lock = None if fcntl is None else os.dup(handle)
    try:
        with _naming(target):
            # On disk before it is renamed: after a power cut there is the old file or the new one, never half of it.
            with os.fdopen(handle, "w+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            # `mkstemp` lets nobody else read; the file gets the mode that `open` would give. Reading the mask sets it.
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
            os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Checks, before long work is begun, that its result can be written; makes the folder if there is none.

    Raises:
        OSError: it cannot be; the error names `path`.
    """
    target = Path(path)
    with _naming(target):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(target))
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = _new_part(target)
        os.close(handle)
        os.unlink(name)


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Names the file to be written in errors of the system that have no name, or that of its part."""
    try:
        yield
    except OSError as error:
        name = error.filename
        if error.errno is not None and (name is None or str(name).endswith(PART)):
            error.filename = os.fspath(target)
            del error.filename2  # otherwise the message would end with "-> None"
        raise


def _new_part(target: Path) -> tuple[int, str]:
    while True:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=PART)
        _lock(handle, wait=True)
        if os.path.exists(name):
            return handle, name
        os.close(handle)  # another process has swept it away before it was locked


def _sweep(target: Path) -> None:
    """Removes the parts of `target` that nobody is writing: a lock ends with the process that holds it."""
    if fcntl is None:
        return
    for part in target.parent.glob(f".{glob.escape(target.name)}.????????{PART}"):
        with contextlib.suppress(OSError):  # of another user, or gone
            handle = os.open(part, os.O_RDONLY)
            try:
                if _lock(handle, wait=False):
                    part.unlink()
            finally:
                os.close(handle)


def _lock(handle: int, wait: bool) -> bool:
    """Locks a file until it is closed; False if another process has and `wait` is False, or locks do not work."""
    with contextlib.suppress(OSError):
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            return True
    return False


@contextmanager
def locked(path: str | os.PathLike[str], byte: int) -> Iterator[None]:
    """Holds a byte of a lock file for the block; another process that asks for the same byte waits meanwhile.

    The system frees it when the process ends, however it ends. On a file that cannot be written, and where the file
    system has no locks, nothing is held. Threads do not exclude each other: a process holds one byte of a file at a
    time, in one thread.

    Args:
        path: the file, which is made if there is none, and stays.
        byte: its number, in [0, 2**31); the file need not be that long.
    """
    with contextlib.ExitStack() as closing:
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            closing.callback(os.close, handle)  # which frees the byte
            _wait_for(handle, byte)
        yield


def _wait_for(handle: int, byte: int) -> None:
    if fcntl is not None:
        # Not flock: a forked process would keep it after its parent has ended.
        fcntl.lockf(handle, fcntl.LOCK_EX, 1, byte)
    elif sys.platform == "win32":
        os.lseek(handle, byte, os.SEEK_SET)
        while True:
            with contextlib.suppress(PermissionError):  # another process holds it
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # LK_LOCK would wait 10 s at most, and ignore Ctrl-C
                break
            time.sleep(0.05)


def save_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes `text` in UTF-8, atomically."""
    with writing(path) as file:
        file.write(text.encode())


def csv_of(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """The rows as CSV, below a line of the columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def save_arrays(
    path: str | os.PathLike[str], kind: str, meta: Mapping[str, object], arrays: Mapping[str, Array]
) -> None:
    """Writes arrays and what belongs to them into an .npz archive (`numpy.load` reads the arrays).

    The same content makes the same file, whenever it is written, so the hash of a file tells what it holds.

    Args:
        path: the file, which is replaced if it is there.
        kind: the kind of content; `load_arrays` asks for it.
        meta: anything JSON can hold.
        arrays: of numbers that are not complex, of truth values or of text.

    Raises:
        ValueError: an array has another dtype.
    """
    for name, array in arrays.items():
        dtype = np.asarray(array).dtype
        if dtype.kind not in KINDS:
            what = "Python objects" if dtype.hasobject else str(dtype)
            raise ValueError(f"the array {name!r} holds {what} and cannot be saved")
    with writing(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # its keyword allow_pickle is not among them
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(zipfile.ZipInfo(META), json.dumps({"kind": kind, "meta": dict(meta)}, indent=1))


def check_regular(path: str | os.PathLike[str]) -> None:
    """Checks, before a file is opened, that it is not a folder, pipe or device, and not longer than `LARGEST`."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a regular file")
    if status.st_size > LARGEST:
        raise ValueError(f"it has {status.st_size:,} bytes, more than {LARGEST:,}")


@contextmanager
def archive_in(file: str | os.PathLike[str] | IO[bytes], times: int = DEFLATED) -> Iterator[zipfile.ZipFile]:
    """A zip archive, which is refused before anything in it is unpacked if that would be too much.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a regular file, or unpacks to more than `LARGEST` bytes or this many times its size.
        zipfile.BadZipFile: it is not an archive.
    """
    if isinstance(file, (str, os.PathLike)):
        check_regular(file)
    with zipfile.ZipFile(file) as archive:
        most = min(LARGEST, times * archive.fp.seek(0, os.SEEK_END))  # type: ignore[union-attr]  # it is open
        if sum(member.file_size for member in archive.infolist()) > most:
            raise ValueError(f"it unpacks to more than {most:,} bytes")
        yield archive


def json_in(archive: zipfile.ZipFile, name: str) -> Any:
    """The content of a member of an archive that holds JSON, of at most `LARGEST_JSON` bytes."""
    if (size := archive.getinfo(name).file_size) > LARGEST_JSON:
        raise ValueError(f"{name} has {size:,} bytes, more than {LARGEST_JSON:,}")
    return read_json(archive.read(name))


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is not JSON, or is nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply for JSON") from None


def sha256(*paths: Path) -> str:
    """The hash of the content of files, one after another, in hexadecimal."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


def load_meta(path: str | os.PathLike[str], kind: str) -> JsonObject:
    """The meta data that `save_arrays` wrote; raises as `load_arrays` does, and reads no array."""
    with _readable_as(path, kind), archive_in(path) as archive:
        header = json_in(archive, META)
        content, meta = header["kind"], header["meta"]
        if not isinstance(meta, dict):
            raise ValueError(f"meta in {META} is not an object")
    if content != kind:
        raise ValueError(f"{os.fspath(path)} holds {content!r}, not {kind!r}")
    return meta


def load_arrays(
    path: str | os.PathLike[str], kind: str, most_bytes: int = LARGEST
) -> tuple[JsonObject, dict[str, Array]]:
    """The meta data and the arrays that `save_arrays` wrote.

    Args:
        path: the file.
        kind: the kind of content.
        most_bytes: the most that all arrays may have; a file of more is refused before memory is taken for them.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not such an archive, is damaged, holds something other than `kind`, or arrays of more bytes.
    """
    meta = load_meta(path, kind)
    with _readable_as(path, kind):
        with archive_in(path) as archive:
            members = [member for member in archive.infolist() if member.filename != META]
            if sum(_array_bytes(archive, member) for member in members) > most_bytes:
                raise ValueError(f"its arrays have more than {most_bytes:,} bytes")
        with np.load(path, allow_pickle=False) as file:  # checks the sum of each member that it reads to the end
            arrays = {name: file[name] for name in file.files if name != META}
    return meta, arrays


@contextmanager
def _readable_as(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Turns any error that a damaged file provokes in zlib, zipfile, json or NumPy into a ValueError with its name."""
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"{os.fspath(path)} cannot be read as {kind}: {error}") from error


def _array_bytes(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """The bytes of the array in a member, whose claims are checked before memory is taken for it."""
    with archive.open(member) as file:
        of_version = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = of_version[np.lib.format.read_magic(file)](file)
        if dtype.kind not in KINDS or not dtype.itemsize:
            raise ValueError(f"{member.filename} is {dtype}, which no file of ours holds")
        size = math.prod(shape) * dtype.itemsize
        if size != member.file_size - file.tell():
            raise ValueError(f"{member.filename} is not as long as an array {shape} of {dtype}")
        return size


@contextmanager
def reading(
    path: str | os.PathLike[str], kind: str, what: str, most_bytes: Callable[[JsonObject], int] | None = None
) -> Iterator[tuple[JsonObject, dict[str, Array]]]:
    """The meta data and the arrays that `save_arrays` wrote, for a block that makes something of them.

    Args:
        path: the file.
        kind: the kind of content.
        what: its name in the error, as in "checkpoint of GameTree".
        most_bytes: gives for the meta data the most bytes that the arrays may have; None for `LARGEST`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: as of `load_arrays`; or the block has met something missing or unfit.
    """
    most = LARGEST
    if most_bytes is not None:
        meta = load_meta(path, kind)
        with _usable_as(path, what):
            most = most_bytes(meta)
    content = load_arrays(path, kind, most)
    with _usable_as(path, what):
        yield content


@contextmanager
def _usable_as(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, AttributeError, RuntimeError, OverflowError, ValueError, MemoryError) as error:
        raise ValueError(f"{os.fspath(path)} is not a usable {what}: {error}") from error


def kind_of(path: str | os.PathLike[str]) -> str:
    """The `kind` of a file that `save_arrays` wrote; raises as `load_arrays` does."""
    with _readable_as(path, "an agent"), archive_in(path) as archive:
        return str(json_in(archive, META)["kind"])
