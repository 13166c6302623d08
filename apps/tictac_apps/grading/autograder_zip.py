"""The autograder of an assignment as a zip for Gradescope: scripts that install and run it, and the rubric."""

from __future__ import annotations

import importlib.util
import os
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import tictac_env
from tictac_apps.grading.confinement import needed, plain_name
from tictac_apps.grading.rubric import RUBRIC, assignment_folder, load_rubric
from tictac_env.storage import writing

OWN = "tictac-env"
MODULES = ("tictac_env", "tictac_agents", "tictac_apps")
LEFT_OUT = {"__pycache__", "assignments"}
METADATA = ("METADATA", "entry_points.txt")
"""The files of an installed package's metadata that have its version and its players."""

SETUP = """#!/usr/bin/env bash
# Installs what the autograder needs; run once, as root, when the image is made.
set -euo pipefail
ROOT="${{AUTOGRADER_ROOT:-/autograder}}"
SOURCE="$ROOT/source"
PYTHON=""
for name in python3.13 python3.12 python3.11 python3; do
  if command -v "$name" > /dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    PYTHON="$name"
    break
  fi
done
if [ -z "$PYTHON" ]; then
  apt-get update
  apt-get install -y python3.11 python3.11-venv
  PYTHON=python3.11
fi
"$PYTHON" -m venv "$ROOT/venv"
{install}
"$ROOT/venv/bin/python" -c 'import tictac_apps.grading'
"""
INSTALL = '"$ROOT/venv/bin/python" -m pip install {where} -r "$SOURCE/requirements.txt"'
FROM_WHEELS = '--no-index --find-links "$SOURCE/wheels"'
COPY = """PACKAGES="$("$ROOT/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
cp -r "$SOURCE/package/." "$PACKAGES\""""

RUN = """#!/usr/bin/env bash
# Grades the submission, and writes what Gradescope shows.
set -euo pipefail
ROOT="${AUTOGRADER_ROOT:-/autograder}"
PYTHON="${AUTOGRADER_PYTHON:-$ROOT/venv/bin/python}"
mkdir -p "$ROOT/results"
exec "$PYTHON" -P -m tictac_apps grade "$ROOT/submission" --assignment "$ROOT/source/rubric.toml" \\
  --format gradescope --output "$ROOT/results/results.json" --unconfined
"""


def make_zip(
    assignment: str | os.PathLike[str],
    path: str | os.PathLike[str],
    wheels: str | os.PathLike[str] | None = None,
) -> int:
    """Writes the zip of an assignment's autograder; returns its size in bytes.

    At its root lie `setup.sh`, `run_autograder`, the rubric and the requirements: the packages that this one needs, at
    the versions that are installed here. The zip has a copy of this package, unless its wheel is among the wheels.
    Submissions run unconfined (see `grade`), as Gradescope gives each a container of its own.

    Args:
        assignment: the name of an assignment, or the path of a rubric.
        path: the file.
        wheels: a folder with all wheels to install, so that no network is needed (`pip download -r requirements.txt -d
            FOLDER` makes one); None to install from the package index.

    Raises:
        ValueError: there is no such assignment, its rubric is wrong, or a wheel is missing; the message names it.
        FileNotFoundError: there is no such rubric or folder.
        PackageNotFoundError: an ImportError: this package was not installed by pip, so its requirements are not known.
    """
    load_rubric(assignment)
    rubric = Path(assignment)
    if rubric.suffix != ".toml":
        rubric = assignment_folder(os.fspath(assignment)) / RUBRIC
    files = {} if wheels is None else _wheels(Path(wheels))
    pins = {
        plain_name(package.metadata["Name"]): package.version
        for package in needed(("tictac_env", "IPython", *load_rubric(assignment).packages))  # IPython reads notebooks
    }
    distribution(OWN)  # raises if this package was not installed by pip
    own = files.get((OWN, tictac_env.__version__))
    if own is None:
        pins.pop(OWN, None)
    if wheels is not None and (
        missing := [f"{name} {number}" for name, number in pins.items() if (name, number) not in files]
    ):
        raise ValueError(f"{os.fspath(wheels)} has no wheels of {', '.join(sorted(missing))}")
    install = INSTALL.format(where="" if wheels is None else FROM_WHEELS)
    texts = {
        "setup.sh": SETUP.format(install=install if own else f"{install}\n{COPY}"),
        "run_autograder": RUN,
        "rubric.toml": rubric.read_text(encoding="utf-8"),
        "requirements.txt": "".join(f"{name}=={number}\n" for name, number in sorted(pins.items())),
    }
    with writing(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in texts.items():
                info = zipfile.ZipInfo(name)
                info.external_attr = (0o100755 if name in ("setup.sh", "run_autograder") else 0o100644) << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, text)
            for wheel in files.values():
                archive.write(wheel, f"wheels/{wheel.name}", zipfile.ZIP_STORED)
            if own is None:
                _add_package(archive)
        return file.tell()


def _add_package(archive: zipfile.ZipFile) -> None:
    """Adds this package as it is here: its modules, and the metadata that it reads."""
    specs = [importlib.util.find_spec(name) for name in MODULES]
    for home in [Path(spec.origin) for spec in specs if spec is not None and spec.origin is not None]:
        root, sources = home.parent, [home]
        if home.name == "__init__.py":
            root, sources = root.parent, sorted(root.rglob("*"))
        for source in sources:
            inside = source.relative_to(root)
            if source.is_file() and not LEFT_OUT & {*inside.parts}:
                archive.write(source, f"package/{inside.as_posix()}")
    for name in METADATA:
        folder = f"package/tictac_env-{tictac_env.__version__}.dist-info"
        archive.writestr(f"{folder}/{name}", distribution(OWN).read_text(name) or "")


def _wheels(folder: Path) -> dict[tuple[str, str], Path]:
    """The wheels in a folder by name and version."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}")
    parts = {wheel: wheel.name.split("-") for wheel in sorted(folder.glob("*.whl"))}
    return {(plain_name(words[0]), words[1]): wheel for wheel, words in parts.items() if len(words) >= 5}
