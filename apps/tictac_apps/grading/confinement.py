"""Confines a submission by bubblewrap, in namespaces of its own with the files that it may read and no others.

See https://github.com/containers/bubblewrap. Containers and some systems forbid it namespaces.
"""

from __future__ import annotations

import errno
import functools
import importlib.util
import json
import os
import re
import shutil
import struct
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import NamedTuple

WITHHELD = ("arena", "solver")
"""Parts of `tictac_env` that no submission sees: they know the truth."""
OWN = "tictac_env"
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
LIBRARY = re.compile(r".*\.so(\.[\d.]+)?|.*-linux-(gnu|musl)\w*|blas|lapack|locale|gconv|ssl|engines-3|ossl-modules")
"""Names of what is shown of these folders; they also hold other programs and environments of Python."""
SYSTEM = ("/etc/ld.so.cache", "/etc/localtime", "/sys/devices/system/cpu", "/usr/share/zoneinfo")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
HANDED_IN = "/handed-in"
"""The folder in which the process finds what was handed in; it copies that to its scratch folder, empty at first."""
PROGRAM = "/run/tictac-env/examinee.py"
"""The path at which the process sees examinee.py, outside of this package's folder."""
OPTIONS = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
    *("--die-with-parent", "--new-session", "--as-pid-1", "--proc", "/proc"),
)
KEY_CALLS = {"x86_64": (0xC000003E, 248), "aarch64": (0xC00000B7, 217)}
"""The kernel's number of a machine, and that of the call `add_key`; `request_key` and `keyctl` have the next two."""
MISSING = "no program bwrap is installed (Debian and Ubuntu: apt-get install bubblewrap)"


class View(NamedTuple):
    """The view that a submission has of this machine."""

    shown: tuple[str, ...]
    """Files and folders that it may read, with all that is in them."""
    hidden: tuple[str, ...]
    """Folders in these that are empty for it, but for what is shown below."""
    path: tuple[str, ...]
    """Folders of its imports, next to the standard library."""


@functools.lru_cache(maxsize=16)
def view_of(packages: tuple[str, ...] = ()) -> View:
    """The view of a submission that may import these packages and the standard library.

    Args:
        packages: names as they are imported; what they require is shown, too. Of "tictac_env" the solver and the exact
            measures are hidden.

    Raises:
        ImportError: one of them is not installed.
    """
    # The system's libraries and Python's, but not the packages installed there.
    python = {"platbase": sys.base_exec_prefix}  # not that of a virtual environment
    standard = {Path(sysconfig.get_path(name, vars=python)) for name in ("stdlib", "platstdlib")}
    shown: list[str | Path] = [*SYSTEM, *standard]
    hidden = [folder / name for folder in standard for name in ("site-packages", "dist-packages")]
    for folder in (*map(Path, LIBRARIES), Path(sys.base_prefix, "lib")):
        if folder.is_dir():
            shown += [entry for entry in folder.iterdir() if LIBRARY.fullmatch(entry.name)]
    # The packages that the rubric names: they may lie in any folder, such as a checkout.
    path: list[Path] = []
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is None or not (spec.submodule_search_locations or spec.origin):
            raise ImportError(f"the assignment allows {package!r}, which is not installed")
        home = Path(next(iter(spec.submodule_search_locations or [str(spec.origin)])))
        shown.append(home)
        hidden += [home / name for name in WITHHELD if package == OWN]
        path.append(home.parent)
    # What these packages require, by the files that pip has recorded.
    for owner in needed(packages):
        names = {str(file).split("/")[0] for file in owner.files or ()}
        folder = Path(str(owner.locate_file("")))
        if plain_name(owner.metadata["Name"]) == plain_name(OWN):  # its agents and programs know the truth, too
            names = {name for name in names if name.endswith(".dist-info")}
        shown += [folder / name for name in names if name not in ("..", ".", "__pycache__")]
        path.append(folder)
    hidden = [folder for folder in hidden if folder.is_dir() and not folder.is_symlink()]
    return View(*(tuple(dict.fromkeys(map(str, paths))) for paths in (shown, hidden, path)))


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
            owner = distribution(name)
        except PackageNotFoundError:  # required on other systems only, for example
            continue
        yield owner
        requirements = (line for line in owner.requires or () if "extra ==" not in line)
        waiting += [re.split(r"[\s\[<>=!~;(]", line, maxsplit=1)[0] for line in requirements]


def plain_name(name: str) -> str:
    """The name of a distribution as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def keyless() -> bytes:
    """The filter of system calls that refuses the kernel's keyrings, which no namespace separates.

    Calls by the machine's 32-bit interfaces are all refused. See seccomp(2) and keyrings(7).

    Raises:
        OSError: the numbers of this machine's calls are not known here.
    """
    if os.uname().machine not in KEY_CALLS:
        raise OSError(f"no filter for {os.uname().machine}; there is one for {', '.join(KEY_CALLS)}")
    machine, first = KEY_CALLS[os.uname().machine]
    load, equal, at_least, answer = 0x20, 0x15, 0x35, 0x06
    instructions = [
        (load, 0, 0, 4),  # the machine
        (equal, 0, 5, machine),  # the two numbers: instructions to skip if it holds, and if not
        (load, 0, 0, 0),  # the number of the call
        (at_least, 3, 0, 0x40000000),  # of x32
        (at_least, 1, 0, first + 3),
        (at_least, 1, 0, first),
        (answer, 0, 0, 0x7FFF0000),  # allowed
        (answer, 0, 0, 0x00050000 | errno.EPERM),
    ]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)


def child(info: bytes) -> int:
    """The number of the process by bubblewrap's report; 0 if that is empty, as it is when bubblewrap has failed."""
    return int(json.loads(info)["child-pid"]) if info else 0


def confined(
    command: Sequence[str], view: View, program: Path, scratch: str, scratch_bytes: int, info: int, rules: int
) -> list[str]:
    """The command that runs another one by bubblewrap.

    Args:
        command: the file to run, and its arguments.
        view: the files that it may see; missing files are left out.
        program: the file of the program, which the process finds at `PROGRAM`.
        scratch: the folder with what was handed in; at this path the process has an empty folder, in memory.
        scratch_bytes: the size of that folder.
        info: the descriptor to which bubblewrap writes what `child` reads.
        rules: the descriptor from which it reads what `keyless` returns.

    Raises:
        FileNotFoundError: bubblewrap is not installed.
    """
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise FileNotFoundError(MISSING)
    mounts = {path: ["--ro-bind-try", path, path] for path in (*view.shown, command[0])}
    mounts |= {path: ["--dev-bind-try", path, path] for path in DEVICES}
    mounts |= {path: ["--tmpfs", path] for path in view.hidden}
    words = [bubblewrap, *OPTIONS, "--info-fd", str(info), "--seccomp", str(rules)]
    for path in sorted(mounts):  # a folder comes before those in it
        words += mounts[path]
    for path in view.hidden:  # after all mounts, as some of what is shown may lie below
        words += ["--remount-ro", path]
    words += ["--ro-bind", str(program), PROGRAM, "--ro-bind", scratch, HANDED_IN]
    words += ["--size", str(scratch_bytes), "--tmpfs", scratch]
    return [*words, "--remount-ro", "/", "--chdir", scratch, *command]
