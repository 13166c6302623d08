"""Which files of this machine a submission may read: the standard library, and the packages its assignment allows."""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import NamedTuple

WITHHELD = {"arena", "cli", "grading", "notebook", "solver", "web"}
"""What a submission sees nothing of where it may use `tictac_env`: what knows the truth, and what it is graded by."""
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
INSTALLED = ("site-packages", "dist-packages")


class Readable(NamedTuple):
    """What a submission may see."""

    read: tuple[str, ...]
    """Files and folders that it may read, with all that is in them."""
    listed: tuple[str, ...]
    """Folders of which it may see the names of what is in them."""
    path: tuple[str, ...]
    """Where its imports are looked for, beside the standard library."""


@functools.lru_cache(maxsize=16)
def readable(packages: tuple[str, ...] = ()) -> Readable:
    """What a submission may see that may import these packages beside the standard library.

    Args:
        packages: names as they are imported; what they need comes with them. Of "tictac_env" the solver, the exact
            measures and the grader are left out.

    Raises:
        ImportError: one of them is not installed.
    """
    read = [*SYSTEM, *_standard_library()]
    listed = [path for path in (sysconfig.get_path("stdlib"), *LIBRARIES) if path]
    path: list[str] = []
    for package in packages:
        home = _home(package)
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


def _standard_library() -> Iterator[Path]:
    """The library of this Python, without the packages that are installed in it, and those of the system."""
    base = Path(sys.base_prefix)
    for folder in {Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("platstdlib"))}:
        yield from _entries(folder, {*INSTALLED})
    yield base / "bin"
    for folder in (*map(Path, LIBRARIES), base / "lib"):
        yield from (one for one in _entries(folder, set()) if LIBRARY.fullmatch(one.name))


def _entries(folder: Path, without: set[str]) -> list[Path]:
    try:
        return [one for one in sorted(folder.iterdir()) if one.name not in without]
    except OSError:
        return []


def _home(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not (spec.submodule_search_locations or spec.origin):
        raise ImportError(f"the assignment allows {package!r}, which is not installed")
    return Path(next(iter(spec.submodule_search_locations or [str(spec.origin)])))


def needed(packages: Sequence[str]) -> Iterator[Distribution]:
    """The distributions of these packages and all that they require, without extras."""
    owners = packages_distributions() if packages else {}
    waiting = [name for package in packages for name in owners.get(package, [package])]
    seen: set[str] = set()
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
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
