"""What a submission sees of this machine: files it may read, and namespaces of its own by bubblewrap.

See https://github.com/containers/bubblewrap. Containers seldom allow it, so it is tried before it is used.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import NamedTuple

WITHHELD = {"arena", "cli", "grading", "notebook", "solver", "web"}
"""Parts of `tictac_env` that no submission sees: they know the truth, or grade."""
OWN = "tictac_env"
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
LIBRARY = re.compile(
    r".*(\.so(\.[\d.]+)?|\.dylib)|.*-linux-(gnu|musl)\w*|blas|lapack|locale|gconv|ssl|engines-3|ossl-modules"
)
"""What is read of these folders, which also hold other programs, environments of Python among them."""
SYSTEM = (
    *("/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/self/maps", "/proc/self/stat", "/proc/self/statm", "/proc/self/status"),
    *("/proc/sys/vm", "/sys/devices/system/cpu", "/usr/share/zoneinfo", "/System/Library"),
)
HANDED_IN = "/handed-in"
"""The folder in which the process finds what was handed in; it copies it to its scratch folder, which begins empty."""
PROGRAM = "/run/tictac-env/sandbox.py"
"""Where the program lies that runs what was handed in, away from the rest of this package."""
WHOLE = ("--unshare-all", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL", "--proc", "/proc")


class Readable(NamedTuple):
    """What a submission may see."""

    read: tuple[str, ...]
    """Files and folders that it may read, with all that is in them."""
    listed: tuple[str, ...]
    """Folders of which it may see the names of what is in them."""
    path: tuple[str, ...]
    """Folders of its imports, next to the standard library."""


@functools.lru_cache(maxsize=16)
def readable(packages: tuple[str, ...] = ()) -> Readable:
    """What a submission may see that may import these packages and the standard library.

    Args:
        packages: names as they are imported; what they need comes with them. Of "tictac_env" the solver, the exact
            measures and the grader are left out.

    Raises:
        ImportError: one of them is not installed.
    """
    read: list[str | Path] = list(SYSTEM)
    for folder in {Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("platstdlib"))}:
        read += _entries(folder, {"site-packages", "dist-packages"})
    base = Path(sys.base_prefix)
    read.append(base / "bin")
    for folder in (*map(Path, LIBRARIES), base / "lib"):
        read += [one for one in _entries(folder) if LIBRARY.fullmatch(one.name)]
    listed = [path for path in (sysconfig.get_path("stdlib"), *LIBRARIES) if path]
    path: list[str] = []
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is None or not (spec.submodule_search_locations or spec.origin):
            raise ImportError(f"the assignment allows {package!r}, which is not installed")
        home = Path(next(iter(spec.submodule_search_locations or [str(spec.origin)])))
        read += _entries(home, WITHHELD) if package == OWN else [home]
        listed += [str(home), str(home.parent)]
        path.append(str(home.parent))
    for found in needed(packages):
        files = {str(file).split("/")[0] for file in found.files or ()}
        folder = Path(str(found.locate_file("")))
        read += [folder / name for name in files if name not in ("..", ".", OWN, "tictac_agents", "__pycache__")]
        listed.append(str(folder))
        path.append(str(folder))
    return Readable(*(tuple(dict.fromkeys(map(str, found))) for found in (read, listed, path)))


def _entries(folder: Path, without: Iterable[str] = ()) -> list[Path]:
    try:
        return [one for one in sorted(folder.iterdir()) if one.name not in without]
    except OSError:
        return []


def needed(packages: Sequence[str]) -> Iterator[Distribution]:
    """The distributions of these packages and all that they require, without extras."""
    owners = packages_distributions() if packages else {}
    waiting = [name for package in packages for name in owners.get(package, [package])]
    seen: set[str] = set()
    while waiting:
        name = plain_name(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:  # of another system, say
            continue
        yield found
        requirements = (one for one in found.requires or () if "extra ==" not in one)
        waiting += [re.split(r"[\s\[<>=!~;(]", one, maxsplit=1)[0] for one in requirements]


def plain_name(name: str) -> str:
    """The name of a distribution as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@functools.lru_cache(maxsize=1)
def bubblewrap() -> str | None:
    """The path of bubblewrap; None unless namespaces, a tmpfs of a given size and a look into it from outside work."""
    program = shutil.which("bwrap") if sys.platform.startswith("linux") else None
    if program is None:
        return None
    program = os.path.abspath(program)
    numbers, number = os.pipe()
    words = [program, *WHOLE, "--info-fd", str(number), "--ro-bind", "/", "/", "--size", "4096"]
    words += ["--tmpfs", "/tmp", "sh", "-c", "echo; read line"]
    pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
    try:
        with (
            open(numbers, "rb") as told,
            subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=quiet, pass_fds=[number]) as begun,
        ):
            os.close(number)
            assert begun.stdout is not None
            works = begun.stdout.read(1) == b"\n" and os.listdir(files_of(child(told.read()), "/tmp")) == []
    except (OSError, ValueError, KeyError):
        return None
    return program if works else None


def child(told: bytes) -> int:
    """The number of the process, by what bubblewrap has written."""
    return int(json.loads(told)["child-pid"])


def files_of(process: int, folder: str) -> str:
    """The path of a folder as a process sees it."""
    return f"/proc/{process}/root{folder}"


def wrapped(
    bubblewrap: str, command: list[str], read: Iterable[str], program: Path, scratch: str, scratch_bytes: int, told: int
) -> list[str]:
    """The command that runs another one in namespaces of its own.

    Args:
        bubblewrap: the path of the program.
        command: what to run.
        read: files and folders that it may see; missing ones are left out.
        program: the file of the program, which the process finds at `PROGRAM`.
        scratch: the folder with what was handed in; under its name the process has an empty one, in memory.
        scratch_bytes: the size of that folder.
        told: the descriptor to which bubblewrap writes its number, as JSON: `{"child-pid": 7, ...}`.
    """
    words = [bubblewrap, *WHOLE, "--info-fd", str(told), *(word for one in _mounts(read) for word in one)]
    words += ["--ro-bind", str(program), PROGRAM, "--ro-bind", scratch, HANDED_IN]
    words += ["--size", str(scratch_bytes), "--tmpfs", scratch]
    return [*words, "--remount-ro", "/", "--chdir", scratch, *command]


def _mounts(read: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Mounts that show these files and folders; of a folder most of which is shown, they hide the rest."""
    folders: dict[str, set[str]] = {}
    sealed: list[str] = []
    for path in read:
        if path.startswith("/dev/"):
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
