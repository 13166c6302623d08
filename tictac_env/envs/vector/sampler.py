"""Random legal actions for many boards."""

from __future__ import annotations

from typing import Any

from tictac_env.envs.vector import stepping
from tictac_env.envs.vector.boards import Ints, aligned, boards_of
from tictac_env.envs.vector.infos import read_only
from tictac_env.games import Game
from tictac_env.rng import STATES, advance


class Sampler:
    """Draws a legal action for each of N boards, by a randomness of its own on each.

    A step that is handed the very array that was lent last can have the next actions drawn along. The states on the
    boards are written only when they are asked for: until then all have moved on by the same offset.

    Args:
        game: the rule book.
        rows: the boards, as `boards_of` takes them.
        count: N.
        threads: how many threads draw.
        lends: whether what is given are read-only views of two arrays in turn, not arrays of the caller's own.

    Attributes:
        offset: how far the randomness has come since the states on the boards were written.
    """

    def __init__(self, game: Game, rows: Ints, count: int, threads: int, lends: bool) -> None:
        self._game, self._rows, self._count, self._threads, self._lends = game, rows, count, threads, lends
        self._draws = aligned((2, count))
        self._latest = 0  # which of the two was given last
        self._ahead = False  # whether the other holds what is to be given next
        self._lent: Ints | None = None
        self.offset = 0

    def __getstate__(self) -> dict[str, Any]:
        """Copies have lent nothing: a copy of lent actions can be written to."""
        return self.__dict__ | {"_lent": None}

    @property
    def latest(self) -> Ints:
        """What was given last: int64 (N,)."""
        latest: Ints = self._draws[self._latest]
        return latest

    def draw(self) -> Ints:
        """A legal action for each board, int64 (N,); 0 where a game is over."""
        self._latest = 1 - self._latest
        if self._ahead:
            self._ahead = False
        else:
            self._draw_to(self.latest)
        self.offset = advance(self.offset)
        if not self._lends:
            return self.latest.copy()
        self._lent = read_only(self.latest)
        return self._lent

    def compile(self) -> None:
        """Compiles what draws. Nothing must be drawn ahead: this writes where that would be."""
        self._draw_to(self._draws[1 - self._latest])

    def _draw_to(self, actions: Ints) -> None:
        if self._threads > 1:
            stepping.sample_in_threads(self._game, self._rows, actions, self.offset, self._threads)
        else:
            stepping.sample(self._game, self._rows, actions, self.offset, 0, self._count)

    def has_lent(self, actions: Any) -> bool:
        """Whether these are the actions lent last. They are legal then, as nobody can have changed them."""
        return self._lent is not None and actions is self._lent

    def ahead(self, wanted: bool) -> Ints:
        """Where a step draws the next actions along: int64 (N,), or (0,) if that is not `wanted`."""
        self._ahead = False
        ahead: Ints = self._draws[1 - self._latest, : self._count * wanted]
        return ahead

    def drawn_ahead(self) -> None:
        """Says that a step has done so."""
        self._ahead = True

    def write_states(self) -> None:
        """Brings the states on the boards up to date, and forgets what was drawn ahead: the boards are to change."""
        states = boards_of(self._rows).sampler
        states[:] = states + self.offset & STATES
        self.offset, self._ahead = 0, False

    def restart(self) -> None:
        """Forgets everything but the states on the boards, which are new."""
        self.offset, self._ahead = 0, False
