"""The record of an audit: who was judged, and every figure. It is what JSON can hold."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Measure:
    """One figure with its 95 % interval.

    Attributes:
        name: "mistakes", "perfect" and "regret" (see `Accuracy`); "wins", "speed" and "resistance" (see `Endurance`).
        among: the positions: "all", "critical", or a phase of the game.
        positions: how many there are.
        value: the figure; None where there are no positions.
        low: the lower end of its interval.
        high: the upper end.
        random: what random play reaches on the same positions.

    Example:
        >>> from tictac_env import audit
        >>> measure = audit("rule", exact=False, sample=5, progress=False).measures[0]
        >>> measure.name, measure.among
        ('mistakes', 'all')
    """

    name: str
    among: str
    positions: int
    value: float | None
    low: float | None
    high: float | None
    random: float | None

    @property
    def relative(self) -> float | None:
        """The figure as a multiple of random's; None where that is 0."""
        return None if self.value is None or not self.random else self.value / self.random


@dataclass(frozen=True)
class Audit:
    """How good a player is. Everything in it is what JSON can hold.

    Attributes:
        player: who was judged: `Player.identity`, with the settings, the hash of its file, and its search budget.
        game: the game's name.
        version: the version of this package.
        seed: what seeds and samples were derived from.
        verdict: what `tictac_env.verdict` says, None if it was not asked, or on a large game that has no opening book.
            "method" and "basis" say how it was found. "as first" and "as second" have, by opponent, the shares of games
            won, drawn and lost. On a small game they also say whether the player is infallible there, the shortest game
            it loses, and what the best reply gains; on a large one, after how many plies games are decided and, where
            they had to be sampled, the 95 % "intervals" of the three shares. "given away" says which move lost the
            losing line (None if none did). On a large game "infallible" is None where it is not known, "walked" says
            how far every reply was played ("plies" of the player's, "positions" of them), and "shortest" whether the
            losing line, if there is one, is known to be a shortest one.
        suite: the name, the hash ("sha256") and the number of "positions" of the suite, and by what the moves were
            judged ("basis"); None if there was none. Where every reply was walked, "erring" counts the positions in
            which the player may err, and "erring reached" those of them to which its own play leads in either seat.
        measures: the figures on the suite.
        matches: for each match the "opponent", and "as first" and "as second", games won, drawn and lost.
        seconds: how long it took, by the clock on the wall.

    Example:
        >>> from tictac_env import audit
        >>> found = audit("rule", exact=False, sample=5, progress=False)
        >>> found.game, len(found.measures) > 3
        ('TicTacToe-v0', True)
    """

    player: dict[str, Any]
    game: str
    version: str
    seed: int
    verdict: dict[str, Any] | None
    suite: dict[str, Any] | None
    measures: tuple[Measure, ...]
    matches: tuple[dict[str, Any], ...]
    seconds: float

    def measure(self, name: str, among: str = "all") -> Measure:
        """One of the figures.

        Raises:
            KeyError: there is none of that name among these positions.
        """
        for found in self.measures:
            if (found.name, found.among) == (name, among):
                return found
        raise KeyError(f"no {name!r} among {among!r}; there are {sorted({(m.name, m.among) for m in self.measures})}")

    def to_json(self) -> str:
        """The record as JSON: an object with the attributes above, the measures as a list of objects."""
        return json.dumps(asdict(self), indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Audit:
        """The record that `to_json` wrote.

        Raises:
            ValueError: it is not one.
        """
        try:
            found = json.loads(text)
            measures = tuple(Measure(**one) for one in found.pop("measures"))
            return cls(measures=measures, matches=tuple(found.pop("matches")), **found)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is not the JSON of an audit: {error}") from None

    def __str__(self) -> str:
        from tictac_env.arena.audits.text import audit_text

        return audit_text(self)

    def _repr_html_(self) -> str:
        from tictac_env.arena.audits.html import audit_html

        return audit_html(self)
