"""Submissions: files, notebooks and folders as they were handed in, and the copies that are run."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tictac_apps.grading.process import Unprotected, printable
from tictac_env.storage import read_json


class Unusable(ValueError):
    """A submission that cannot be run; the message says why."""


LARGEST, MOST = 20_000_000, 200
"""Bytes and files of a submission."""
NOTEBOOK = ".ipynb"
SCRATCH = "tictac-grade-"
"""Prefix of the names of scratch folders."""
YOUNG = 60.0
"""Seconds after its last change for which a folder is left alone: it may have no lock yet."""
LONGEST_CODE = 100_000
"""Characters of code that a notebook may have."""
TIMED = re.compile(r"\A\s*%%(time|capture|prun)\b.*\n")
"""The first line of a cell that is run, and timed or silenced."""


def main_file(handed_in: Path, name: str) -> Path:
    """The file of a submission that is run.

    Args:
        handed_in: a file (.py, or a notebook), or a folder.
        name: its name by the rubric; a single Python file or notebook of a folder may have another.

    Raises:
        Unusable: there is nothing there, no such file in the folder, a link, or a file of another kind.
    """
    if handed_in.is_symlink():
        raise Unusable(f"{handed_in.name} is a link")
    if handed_in.is_dir():
        if (handed_in / name).is_file() and not (handed_in / name).is_symlink():
            return handed_in / name
        found = [one for one in sorted(handed_in.iterdir()) if one.suffix in (".py", NOTEBOOK) and one.is_file()]
        found = [one for one in found if not one.is_symlink()]
        if len(found) != 1:
            raise Unusable(f"{handed_in.name} has no file {name}")
        return found[0]
    if not handed_in.is_file():
        raise Unusable(f"there is no file {handed_in.name}")
    if handed_in.suffix not in (".py", NOTEBOOK):
        raise Unusable(f"{handed_in.name} is neither Python nor a notebook")
    return handed_in


def is_class(path: Path, name: str) -> bool:
    """Whether a path is a folder of submissions, rather than a submission: it has no file of that name itself."""
    return path.is_dir() and not (path / name).is_file()


def handed_in_by_all(paths: Iterable[Path], name: str) -> dict[str, Path]:
    """The submissions of some paths, by the names of their files or folders.

    Args:
        paths: files and folders of submissions, and folders of these. Folders of nbgrader, which has one for each
            student with one for each assignment, are seen through.
        name: the name of the file to hand in.

    Raises:
        ValueError: a folder has none, or two have the same name; the message names both.
    """
    found: dict[str, Path] = {}
    for path in paths:
        several = list(_handed_in(path)) if is_class(path, name) else [(path.stem, path)]
        if not several:
            raise ValueError(f"there are no submissions in {str(path)!r}")
        for given, one in several:
            whose = clean(given)
            if whose in found:
                both = " and ".join(clean(str(path)) for path in (found[whose], one))
                raise ValueError(f"two submissions are called {whose!r}: {both}")
            found[whose] = one
    return found


def _handed_in(folder: Path) -> Iterator[tuple[str, Path]]:
    for one in sorted(folder.iterdir()):
        if one.name.startswith((".", "_")):
            continue
        if one.is_dir():
            inner = [] if one.is_symlink() else [item for item in one.iterdir() if not item.name.startswith(".")]
            yield one.name, inner[0] if len(inner) == 1 and inner[0].is_dir() else one
        elif one.suffix in (".py", NOTEBOOK):
            yield one.stem, one


def clean(name: str) -> str:
    """A third-party name or message as one line that cannot steer a terminal."""
    return " ".join(printable(name).split())


@contextmanager
def scratch_copy(handed_in: Path, name: str) -> Iterator[Path]:
    """The file to run, in a fresh folder with a copy of what was handed in, which is removed at the end.

    Links are not followed, and left out.

    Raises:
        Unusable: as `main_file`; or it is too large, cannot be read, or is no notebook.
        Unprotected: there is no place for the folder.
    """
    main = main_file(handed_in, name)
    try:
        for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
            with contextlib.suppress(OSError), _locked(left):
                remove(left)
        scratch = Path(tempfile.mkdtemp(prefix=SCRATCH)).resolve()
    except OSError as error:
        raise Unprotected(f"a submission cannot be copied: {error}") from error
    with _locked(scratch, new=True):
        try:
            try:
                _copy(handed_in, scratch)
                source = scratch / main.name
                if main.suffix == NOTEBOOK:
                    source = scratch / f"{main.stem}.py"
                    source.write_text(notebook_source(main), encoding="utf-8")
            except (OSError, RecursionError) as error:  # the latter of folders a thousand deep
                raise Unusable(f"{handed_in.name} cannot be copied: {error}") from error
            yield source
        finally:
            remove(scratch)


@contextmanager
def _locked(folder: Path, new: bool = False) -> Iterator[None]:
    """Holds the lock of a scratch folder, which the system gives up with the process.

    Raises:
        OSError: another process holds it, or, unless it is new, it is not ours or was changed in the last minute.
    """
    import fcntl  # Windows has none, and cannot grade

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(handle)
        if not new and (found.st_uid != os.geteuid() or time.time() - found.st_mtime < YOUNG):
            raise BlockingIOError(f"{folder} may be in use")
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def remove(folder: Path) -> None:
    """Removes a folder with all that is in it, folders that may not be read or are a thousand deep too."""
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder)
    if folder.exists():
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(folder)], check=False, capture_output=True)
        subprocess.run(["rm", "-rf", "--", str(folder)], check=False, capture_output=True)


def notebook_source(path: Path) -> str:
    """The cells of code of a notebook, one after another, as IPython makes Python of "%matplotlib" and "!ls".

    Raises:
        Unusable: it is no notebook, or has more code than people write.
        ImportError: IPython is not installed.
    """
    transform = transformer()
    try:
        cells: Any = read_json(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (KeyError, TypeError, ValueError) as error:
        raise Unusable(f"{path.name} is not a notebook: {error!r}") from None
    if sum(map(len, texts)) > LONGEST_CODE:
        raise Unusable(f"{path.name} has more than {LONGEST_CODE:,} characters of code")
    try:
        return "\n".join(transform(TIMED.sub("", text)) for text in texts)
    except (SyntaxError, RuntimeError) as error:  # the latter of hundreds of magics in a cell
        raise Unusable(f"{path.name} is not Python: {error}") from None


@functools.cache
def transformer() -> Callable[[str], str]:
    """The function by which IPython makes Python of a cell; it runs nothing.

    Raises:
        ImportError: IPython is not installed.
    """
    try:
        found = importlib.import_module("IPython.core.inputtransformer2")
    except ModuleNotFoundError:
        raise ImportError("a notebook needs IPython to be graded: pip install 'tictac-env[notebook]'") from None
    transform: Callable[[str], str] = found.TransformerManager().transform_cell
    return transform


def _copy(handed_in: Path, scratch: Path) -> None:
    files = [handed_in]
    if handed_in.is_dir():
        files = [one for one in handed_in.rglob("*") if one.is_file() and not one.is_symlink()]
        files = [one for one in files if not any(part.startswith(".") for part in one.relative_to(handed_in).parts)]
    if len(files) > MOST or sum(one.stat().st_size for one in files) > LARGEST:
        raise Unusable(f"{handed_in.name} is more than {MOST} files or {LARGEST // 1_000_000} MB")
    for one in files:
        target = scratch / (one.relative_to(handed_in) if handed_in.is_dir() else one.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(one, target, follow_symlinks=False)
