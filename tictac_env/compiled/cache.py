"""Where compiled kernels are kept between runs."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
VARIABLE = "TICTAC_CACHE_DIR"


def _cache_folder() -> tuple[str, bool, str]:
    """The folder of compiled kernels, whether it is kept between runs, and what the user should know, mostly "".

    It is a folder of the user's, named after the source of both packages. Numba itself only looks at the file a kernel
    stands in; after a change to a rule book, or to a constant of another file, it would run the old one.
    """
    agents = PACKAGE.parent / "agents" / "tictac_agents"
    agents = agents if agents.is_dir() else PACKAGE.parent / "tictac_agents"
    digest = hashlib.sha256()
    for path in (*sorted(PACKAGE.rglob("*.py")), *sorted(agents.rglob("*.py"))):
        digest.update(path.read_bytes())
    name = f"tictac-env/{digest.hexdigest()[:16]}"
    refused = []
    for variable in (VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE"):
        if base := os.environ.get(variable):
            folder = Path(base) / (".cache" if variable in ("HOME", "USERPROFILE") else "") / name
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder):
                    pass
                asked = f"{VARIABLE}={os.environ.get(VARIABLE)}"
                elsewhere = f"{asked} cannot be written to; machine code is kept in {folder}"
                return str(folder), True, elsewhere if asked in refused else ""
            except OSError:
                refused.append(f"{variable}={base}")
    temporary = tempfile.mkdtemp(prefix="tictac-env-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    tried = f"{', '.join(refused)} cannot be written to" if refused else "there is no home folder"
    return temporary, False, f"{tried}, so every run compiles anew; set {VARIABLE} to a folder that can be written to"


CACHE_FOLDER, KEPT, WARNING = _cache_folder()
