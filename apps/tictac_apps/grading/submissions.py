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

from tictac_apps.grading.process import Unprotected, printable
from tictac_env.storage import read_json


class Unusable(ValueError):
    """A submission that cannot be run; the message says why."""


LARGEST_SUBMISSION, MOST_HANDED_IN = 20_000_000, 200
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
        name: the name of the file by the rubric. If a folder has a single Python file or notebook, that is taken,
            whatever its name.

    Raises:
        Unusable: there is no file, the folder does not have it, it is a link, or it is of another kind.
    """
    if handed_in.is_symlink():
        raise Unusable(f"{handed_in.name} is a link")
    if handed_in.is_dir():
        if (handed_in / name).is_file() and not (handed_in / name).is_symlink():
            return handed_in / name
        # A link could lead to any file of the grader's, whose content an error message would show.
        files = [path for path in sorted(handed_in.iterdir()) if path.is_file() and not path.is_symlink()]
        sources = [path for path in files if path.suffix in (".py", NOTEBOOK)]
        if len(sources) != 1:
            raise Unusable(f"{handed_in.name} has no file {name}")
        return sources[0]
    if not handed_in.is_file():
        raise Unusable(f"there is no file {handed_in.name}")
    if handed_in.suffix not in (".py", NOTEBOOK):
        raise Unusable(f"{handed_in.name} is neither Python nor a notebook")
    return handed_in


def is_class(path: Path, name: str) -> bool:
    """True if a path is a folder of submissions: it is a folder without a file of that name."""
    return path.is_dir() and not (path / name).is_file()


def handed_in_by_all(paths: Iterable[Path], name: str) -> dict[str, Path]:
    """The submissions of some paths, by the names of their files or folders.

    Args:
        paths: files and folders of submissions, and folders of these. In nbgrader's layout, with a folder for each
            student and in it a folder for each assignment, the inner folder is the submission.
        name: the name of the file to hand in.

    Raises:
        ValueError: a folder has none, or two have the same name; the message names both.
    """
    submissions: dict[str, Path] = {}
    for path in paths:
        named = list(_handed_in(path)) if is_class(path, name) else [(path.stem, path)]
        if not named:
            raise ValueError(f"there are no submissions in {str(path)!r}")
        for label, submission in named:
            student = clean(label)
            if student in submissions:
                both = " and ".join(clean(str(path)) for path in (submissions[student], submission))
                raise ValueError(f"two submissions are called {student!r}: {both}")
            submissions[student] = submission
    return submissions


def _handed_in(folder: Path) -> Iterator[tuple[str, Path]]:
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir():
            inner = [] if entry.is_symlink() else [item for item in entry.iterdir() if not item.name.startswith(".")]
            yield entry.name, inner[0] if len(inner) == 1 and inner[0].is_dir() else entry
        elif entry.suffix in (".py", NOTEBOOK):
            yield entry.stem, entry


def clean(name: str) -> str:
    """A third-party name or message as one line that cannot steer a terminal."""
    return " ".join(printable(name).split())


@contextmanager
def scratch_copy(handed_in: Path, name: str) -> Iterator[Path]:
    """Copies a submission to a fresh folder, yields the file to run there, and removes the folder at the end.

    Links are left out.

    Raises:
        Unusable: as `main_file`; or the submission is too large, cannot be read, or is not a notebook.
        Unprotected: the folder cannot be made.
    """
    main = main_file(handed_in, name)
    try:
        # Folders of graders that were killed: nobody holds their locks.
        for abandoned in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
            with contextlib.suppress(OSError), _locked(abandoned):
                remove(abandoned)
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
    """Holds the lock of a scratch folder; the system releases it when the process ends.

    Raises:
        OSError: another process holds it; or the folder is not new, and belongs to another user or was changed in the
            last minute.
    """
    import fcntl  # Windows has none, and cannot grade

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(handle)
        if not new and (status.st_uid != os.geteuid() or time.time() - status.st_mtime < YOUNG):
            raise BlockingIOError(f"{folder} may be in use")
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def remove(folder: Path) -> None:
    """Removes a folder with all that is in it, even if parts may not be read or are a thousand folders deep."""
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder)
    if folder.exists():
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(folder)], check=False, capture_output=True)
        subprocess.run(["rm", "-rf", "--", str(folder)], check=False, capture_output=True)


def notebook_source(path: Path) -> str:
    """The code cells of a notebook in their order, with magics such as "%matplotlib" and "!ls" turned into Python.

    Raises:
        Unusable: it is not a notebook, or has more code than people write.
        ImportError: IPython is not installed.
    """
    transform = transformer()
    try:
        cells = read_json(path.read_text(encoding="utf-8"))["cells"]
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
    """IPython's function that turns a cell into Python; it runs nothing.

    Raises:
        ImportError: IPython is not installed.
    """
    try:
        module = importlib.import_module("IPython.core.inputtransformer2")
    except ModuleNotFoundError:
        raise ImportError("a notebook needs IPython to be graded: pip install 'tictac-env[notebook]'") from None
    transform: Callable[[str], str] = module.TransformerManager().transform_cell
    return transform


def _copy(handed_in: Path, scratch: Path) -> None:
    files = [handed_in]
    if handed_in.is_dir():
        files = [path for path in handed_in.rglob("*") if path.is_file() and not path.is_symlink()]
        files = [path for path in files if not any(part.startswith(".") for part in path.relative_to(handed_in).parts)]
    if len(files) > MOST_HANDED_IN or sum(file.stat().st_size for file in files) > LARGEST_SUBMISSION:
        raise Unusable(f"{handed_in.name} is more than {MOST_HANDED_IN} files or {LARGEST_SUBMISSION // 1_000_000} MB")
    for file in files:
        target = scratch / (file.relative_to(handed_in) if handed_in.is_dir() else file.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target, follow_symlinks=False)
