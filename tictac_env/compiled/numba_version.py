"""The newest version of Numba that the tests have run with, and a warning about newer ones.

`pyproject.toml` has no upper bound, and docs/maintaining.md says why.
"""

from __future__ import annotations

import warnings

import numba

NEWEST_TESTED = 0, 68

if numba.version_info.short > NEWEST_TESTED:
    tested = ".".join(map(str, NEWEST_TESTED))
    warnings.warn(
        f"Numba {numba.__version__} is newer than {tested}, the newest that tictac_env is tested with. If it fails, "
        f'pip install "numba=={tested}.*"; if only compiling fails, NUMBA_DISABLE_JIT=1 runs everything interpreted',
        UserWarning,
        stacklevel=2,
    )
