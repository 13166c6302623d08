"""Chooses how Numba is used: by the hooks of `numba_names`, or by its documented interface alone (`numba_public`).

`pyproject.toml` has no upper bound of Numba, and docs/maintaining.md says why.
"""

from __future__ import annotations

import warnings

import numba

NEWEST_TESTED = 0, 68
"""The newest version of Numba that the tests have run with."""

_is_tested = numba.version_info.short <= NEWEST_TESTED


def _warn(trouble: str) -> None:
    newest = ".".join(map(str, NEWEST_TESTED))
    warnings.warn(
        f"Numba {numba.__version__} {trouble}. The newest Numba that tictac_env is tested with is {newest} "
        f'(pip install "numba=={newest}.*"); NUMBA_DISABLE_JIT=1 runs everything interpreted',
        UserWarning,
        stacklevel=3,
    )


# The hooks into Numba's internals halve the time of compiling and keep machine code between runs. A version that the
# tests have not run with has to show that they work before the first kernel is decorated. Later is too late: functions
# that are registered with Numba in one way cannot be registered in the other.
try:
    from tictac_env.compiled import numba_names as hooks

    if not _is_tested:
        from tictac_env.compiled.numba_check import check_hooks

        check_hooks()
except Exception as error:  # a name is missing or does something else: any error may follow
    _warn(
        f"lacks what fast compiling needs ({type(error).__name__}: {error}): results are the same, but every process "
        "compiles again, and takes twice as long for it"
    )
    from tictac_env.compiled import numba_public as hooks  # type: ignore[no-redef]
else:
    if not _is_tested:
        _warn("is newer than any that the tests have run with; the parts that compiling needs work")

__all__ = ["NEWEST_TESTED", "hooks"]
