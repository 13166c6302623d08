"""Where compiled kernels are kept between runs."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def _cache_folder() -> str:
    """Where compiled kernels are kept between runs: a folder of the user's, named after the source of both packages.

    Numba itself only looks at the file a kernel stands in; after a change to a rule book, or to a constant of another
    file, it would run the old one.
    """
    agents = PACKAGE.parent / "agents" / "tictac_agents"
    agents = agents if agents.is_dir() else PACKAGE.parent / "tictac_agents"
    digest = hashlib.sha256()
    for path in (*sorted(PACKAGE.rglob("*.py")), *sorted(agents.rglob("*.py"))):
        digest.update(path.read_bytes())
    name = f"tictac-env/{digest.hexdigest()[:16]}"
    for variable in ("TICTAC_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE"):
        if base := os.environ.get(variable):
            folder = Path(base) / (".cache" if variable in ("HOME", "USERPROFILE") else "") / name
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder):
                    return str(folder)
            except OSError:
                continue
    temporary = tempfile.mkdtemp(prefix="tictac-env-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return temporary


CACHE_FOLDER = _cache_folder()
