"""Installs a wheel into an empty environment and runs a part of the tests against it, from outside the tree.

    python tools/check_wheel.py build/dist/*.whl                       # with the versions of constraints.txt
    python tools/check_wheel.py build/dist/*.whl --python python3.13   # with another interpreter
    python tools/check_wheel.py build/dist/*.whl --lowest              # with the oldest versions that it allows
    python tools/check_wheel.py build/dist/*.whl --newest              # with the newest versions, pinned or not
    python tools/check_wheel.py build/dist/*.whl --lowest --extra rl --with torch==2.13.0

The environment and a copy of the tests are in a temporary folder, so that nothing of the tree can be imported by
accident. The command `tictac` is run, then the tests. --only leaves the tests at those named. It takes minutes, as all
machine code is compiled again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
NAME = "tictac-env"
RUNNER = ["pytest", "hypothesis"]
TESTS = [
    "tests/env/test_storage.py",
    "tests/env/rules/test_position.py",
    "tests/env/envs/test_single.py",
    "tests/env/envs/test_aec.py",
    "tests/env/policies/test_policies.py",
    "tests/apps/cli/test_solve.py",
]
"""Their other needs are in `COPIED` and `RUNNER`."""
OF_NEWEST = ["-W", "default:Numba", "tests/env/rules/test_numba_names.py"]
"""With the newest versions: a warning about an untested Numba is no error, and what Numba does not promise is tried."""
COPIED = ["tests", "examples", "pyproject.toml"]
FOUND = """
import tictac_agents, tictac_apps, tictac_env
print(tictac_env.__file__, tictac_agents.__file__, tictac_apps.__file__)
"""


def requirements(project: Path, extras: Sequence[str] = ()) -> list[Requirement]:
    """The requirements of a pyproject.toml: its dependencies, and those of the extras.

    Raises:
        ValueError: there is no such extra.
    """
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    known = table["optional-dependencies"]
    for extra in extras:
        if extra not in known:
            raise ValueError(f"there is no extra {extra!r}, only {', '.join(known)}")
    return [
        Requirement(line) for lines in (table["dependencies"], *(known[extra] for extra in extras)) for line in lines
    ]


def lowest(wanted: Sequence[Requirement]) -> list[str]:
    """The lower bound of each requirement, as the only version that is allowed.

    Raises:
        ValueError: a requirement has no lower bound.
    """
    pinned = []
    for one in wanted:
        bounds = [bound.version for bound in one.specifier if bound.operator in (">=", "==")]
        if len(bounds) != 1:
            raise ValueError(f"{one} has no lower bound: give it one with >=")
        pinned.append(f"{one.name}=={bounds[0]}")
    return pinned


def check(wheel: Path, options: argparse.Namespace, folder: Path) -> None:
    """Installs the wheel and runs the tests in an empty folder.

    Raises:
        subprocess.CalledProcessError: it cannot be installed, a test fails, or what is imported is not the wheel.
    """
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    constraints = ROOT / "constraints.txt"
    if options.lowest:
        constraints = folder / "lowest.txt"
        constraints.write_text("\n".join(lowest(requirements(ROOT / "pyproject.toml", options.extra))) + "\n")
        print(constraints.read_text().strip())
    subprocess.run([options.python, "-m", "venv", folder / "venv"], check=True)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    extras = f"[{','.join(options.extra)}]" if options.extra else ""
    install = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    wanted = [f"{NAME}{extras} @ {wheel.resolve().as_uri()}", *RUNNER, *options.packages]
    subprocess.run([*install, *([] if options.newest else ["-c", constraints]), *wanted], check=True)

    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = inherited | {"TICTAC_CACHE_DIR": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    found = subprocess.run(
        [python, "-c", FOUND], cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout
    for file in found.split():
        if not Path(file).is_relative_to(folder / "venv"):
            raise ValueError(f"{file} was imported, which is not the wheel's")
    subprocess.run([programs / "tictac", "info"], cwd=folder, env=environment, check=True)
    chosen = options.only or [*TESTS, *(OF_NEWEST if options.newest else [])]
    tests = [python, "-m", "pytest", "-x", "-m", "not slow", "-p", "no:cacheprovider", *chosen]
    subprocess.run(tests, cwd=folder, env=environment, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="the wheel, as `make wheel` leaves it in build/dist")
    parser.add_argument("--python", default=sys.executable, help="the interpreter (default: this one)")
    versions = parser.add_mutually_exclusive_group()
    versions.add_argument("--lowest", action="store_true", help="with the lower bounds of pyproject.toml")
    versions.add_argument("--newest", action="store_true", help="with the newest versions, pinned or not")
    parser.add_argument("--extra", action="append", default=[], help="an extra to install too; may be repeated")
    parser.add_argument(
        "--with", action="append", default=[], dest="packages", metavar="PACKAGE", help="install this too"
    )
    parser.add_argument("--only", action="append", metavar="TEST", help="run this file of tests; may be repeated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tictac-wheel-") as folder:
        check(options.wheel, options, Path(folder))


if __name__ == "__main__":
    main()
