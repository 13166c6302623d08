"""Where compiled kernels are kept between runs."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
VARIABLE = "TICTAC_CACHE_DIR"


def _cache_folder() -> tuple[str, bool, str]:
    """The folder of compiled kernels, whether it is kept between runs, and what the user should know, mostly "".

    It is a folder of the user's, named after the source of this sub-package, which decides how kernels are compiled.
    Within it, the code of a kernel is found by the source that the kernel can reach (`game_types.fingerprint`).

    Nobody else may write there: Numba keeps pickles next to the machine code, and loading either runs what is in it.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    name = f"tictac-env/{digest.hexdigest()[:16]}"
    refused: list[str] = []
    for variable in (VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE"):
        if base := os.environ.get(variable):
            folder = Path(base) / (".cache" if variable in ("HOME", "USERPROFILE") else "") / name
            try:
                _make_private(folder)
                with tempfile.TemporaryFile(dir=folder):
                    pass
                elsewhere = f"{', '.join(refused)}; machine code is kept in {folder}" if refused else ""
                return str(folder), True, elsewhere
            except _OpenToOthers as error:
                refused.append(f"{variable}={base} cannot be used, as {error}")
            except OSError:
                refused.append(f"{variable}={base} cannot be written to")
    temporary = tempfile.mkdtemp(prefix="tictac-env-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    tried = ", ".join(refused) or "there is no home folder"
    return temporary, False, f"{tried}, so every run compiles anew; set {VARIABLE} to a folder that can be written to"


class _OpenToOthers(Exception):
    """Somebody else may write into a folder."""


def _make_private(folder: Path) -> None:
    """Makes a folder, in one of the package's, that only this user can enter.

    Raises:
        _OpenToOthers: one of both is another user's, or others could write into the inner one.
        OSError: it cannot be made.
    """
    folder.parent.parent.mkdir(parents=True, exist_ok=True)
    for one, open_to_others in ((folder.parent, 0), (folder, stat.S_IWGRP | stat.S_IWOTH)):
        one.mkdir(mode=0o700, exist_ok=True)
        found = one.stat()
        if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & open_to_others):
            raise _OpenToOthers(f"other users may have written into {one}")
        if found.st_mode & 0o077 and not one.is_symlink():  # what a link leads to is not the package's
            one.chmod(0o700)


CACHE_FOLDER, KEPT, WARNING = _cache_folder()
