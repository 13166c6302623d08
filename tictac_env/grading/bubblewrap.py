"""Namespaces of its own for a process, by bubblewrap: other files, processes and networks are not there for it.

See https://github.com/containers/bubblewrap. Containers seldom allow it, so it is tried before it is used.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

HANDED_IN = "/handed-in"
"""The folder in which the process finds what was handed in; it copies it to its scratch folder, which begins empty."""
WHOLE = ("--unshare-all", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL", "--proc", "/proc")
DEVICES = "/dev/"
PROGRAM = Path("/run/tictac-env/program")
"""Where the program lies that runs what was handed in, away from the rest of this package."""


@functools.lru_cache(maxsize=1)
def works() -> bool:
    """Tries bubblewrap: namespaces, a tmpfs of a given size, and a look into it from outside."""
    if not sys.platform.startswith("linux") or shutil.which("bwrap") is None:
        return False
    numbers, number = os.pipe()
    words = ["bwrap", *WHOLE, "--info-fd", str(number), "--ro-bind", "/", "/", "--size", "4096"]
    words += ["--tmpfs", "/tmp", "sh", "-c", "echo; read line"]
    try:
        with (
            open(numbers, "rb") as told,
            subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=[number]
            ) as begun,
        ):
            os.close(number)
            assert begun.stdout is not None
            return begun.stdout.read(1) == b"\n" and os.listdir(files_of(child(told.read()), "/tmp")) == []
    except (OSError, ValueError, KeyError):
        return False


def child(told: bytes) -> int:
    """The number of the process, by what bubblewrap has written."""
    return int(json.loads(told)["child-pid"])


def files_of(process: int, folder: str) -> str:
    """The path of a folder as a process sees it."""
    return f"/proc/{process}/root{folder}"


def program(file: Path) -> Path:
    """Where the process finds a file of the program."""
    return PROGRAM / file.name


def wrapped(
    command: list[str], read: Iterable[str], program: Path, scratch: str, scratch_bytes: int, told: int
) -> list[str]:
    """The command that runs another one in namespaces of its own.

    Args:
        command: what to run.
        read: files and folders that it may see; those that are not there are left out.
        program: the folder of the program, which lies elsewhere for the process.
        scratch: the folder with what was handed in; under its name the process has an empty one, in memory.
        scratch_bytes: the size of that folder.
        told: the descriptor to which bubblewrap writes its number, as JSON: `{"child-pid": 7, ...}`.
    """
    words = ["bwrap", *WHOLE, "--info-fd", str(told)]
    words += [word for one in _mounts(read) for word in one]
    words += ["--ro-bind", str(program), str(PROGRAM), "--ro-bind", scratch, HANDED_IN]
    words += ["--size", str(scratch_bytes), "--tmpfs", scratch]
    return [*words, "--remount-ro", "/", "--chdir", scratch, *command]


def _mounts(read: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Mounts that show these files and folders; of a folder most of which is shown, they hide the rest."""
    folders: dict[str, set[str]] = {}
    sealed: list[str] = []
    for path in read:
        if path.startswith(DEVICES):
            yield "--dev-bind-try", path, path
        elif os.path.lexists(path) and not path.startswith("/proc/"):
            folders.setdefault(os.path.dirname(path), set()).add(os.path.basename(path))
    for folder in sorted(folders):  # a folder comes before those in it
        shown = folders[folder]
        hidden: list[os.DirEntry[str]] | None = None
        with contextlib.suppress(PermissionError), os.scandir(folder) as found:
            hidden = [one for one in found if one.name not in shown and not one.is_symlink()]
        if hidden is None or len(hidden) >= len(shown):
            yield from (("--ro-bind-try", path, path) for path in sorted(os.path.join(folder, name) for name in shown))
            continue
        yield "--ro-bind", folder, folder
        for one in hidden:
            yield ("--tmpfs", one.path) if one.is_dir() else ("--ro-bind", "/dev/null", one.path)
            sealed += [one.path] if one.is_dir() else []
    yield from (("--remount-ro", path) for path in sealed)  # last, as some of what is shown may lie below
