"""Says on stderr what is being compiled, and then how long that took: a line for each first use."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tictac_env.compiled.cache import CACHE_FOLDER, WARNING
from tictac_env.compiled.game_types import PACKAGES, GameType
from tictac_env.compiled.numba_names import UNKEPT, watch_compiling
from tictac_env.games import Game, game_name


class _Line:
    """The line that is being written: "tictac_env: compiling <what> for <game> ... <seconds> s".

    What is compiled for the same thing while the line is held goes on with it, and only the end has the seconds.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = 0  # so many blocks want what they compile in one line
        self._of: tuple[str, Game | None] | None = None
        self._compiling = False
        self._began = self._seconds = 0.0
        self._warned = self._told_unkept = False

    def begin(self, what: str, game: Game | None) -> None:
        """Something is about to be compiled."""
        with self._lock:
            if self._of is not None and self._of != (what, game if game is not None else self._of[1]):
                self._end()
            if self._of is None:
                if WARNING and not self._warned:
                    _write(f"tictac_env: {WARNING}\n")
                self._warned = True
                whose = "" if game is None else f" for {game_name(game) or game}"
                _write(f"tictac_env: compiling {what}{whose} ...")
                self._of, self._seconds = (what, game), 0.0
            self._compiling, self._began = True, time.perf_counter()

    def end(self) -> None:
        """It is compiled, or could not be."""
        with self._lock:
            self._compiling = False
            self._seconds += time.perf_counter() - self._began
            if not self._held:
                self._end()

    def hold(self, more: int) -> None:
        """One block more, or less, wants a line."""
        with self._lock:
            self._held += more
            if not self._held and not self._compiling:
                self._end()

    def _end(self) -> None:
        if self._of is not None:
            _write(f" {self._seconds:.1f} s\n")
        self._of = None
        if UNKEPT and not self._told_unkept:
            self._told_unkept = True
            _write(f"tictac_env: {unkept()}, so the next run compiles anew\n")


def unkept() -> str:
    """Why machine code could not be kept, if it could not."""
    return f"machine code cannot be kept in {CACHE_FOLDER}: {UNKEPT[0]}" if UNKEPT else ""


_LINE = _Line()


@contextmanager
def in_one_line() -> Iterator[None]:
    """Announces what is compiled for the same thing within the block as one."""
    _LINE.hold(1)
    try:
        yield
    finally:
        _LINE.hold(-1)


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # a closed pipe or file is no reason not to compile
        if sys.stderr is not None:
            sys.stderr.write(text)
            if not hasattr(sys.stderr, "rich_proxied_file"):  # rich then writes whole lines above a progress bar
                sys.stderr.flush()


def _begin(function: Callable[..., Any], types: Sequence[Any]) -> Callable[[], None] | None:
    """Announces a function that is about to be compiled for arguments of these types, if it is one of ours."""
    module = function.__module__ or ""  # None, if it was made by `exec`
    if module.split(".")[0] not in PACKAGES:
        return None
    _LINE.begin(_what(module), next((one.game for one in types if isinstance(one, GameType)), None))
    return _LINE.end


def _what(module: str) -> str:
    """What the code of a module is for: its `COMPILED_AS`, or that of the nearest package around it."""
    around = module
    while around:
        if what := getattr(sys.modules.get(around), "COMPILED_AS", None):
            return str(what)
        around = around.rpartition(".")[0]
    return module


watch_compiling(_begin)
