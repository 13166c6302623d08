"""How good a learner is at a moment of its training, as a point of its curve."""

from __future__ import annotations

from typing import Any

from tictac_env.arena import WinDrawLoss, play_match, verdict
from tictac_env.games import Game

MATCH_GAMES = 100
"""How many games judge a learner where the game is too large for a verdict."""


def judged(agent: Any, game: Game, small: bool, at: int) -> dict[str, Any]:
    """A point of the curve, for JSON.

    Args:
        agent: whatever plays.
        game: its game.
        small: whether the game can be tabulated, so that the verdict is exact; else a match against random play judges.
        at: how many episodes or steps it has learned from.

    Returns:
        `at`; `first` and `second`, the shares of games won, drawn and lost against random play from either seat, and
        `exact`, whether these are exact; `exploitability`, `infallible` and, for each seat, the shortest game that
        beats it (`beaten_first`, `beaten_second`), all None where they are not known or there is none.
    """
    if small:
        found = verdict(agent, game)
        sides = found.as_first, found.as_second
        lines = {f"beaten_{name}": side.losing_line for name, side in zip(("first", "second"), sides, strict=True)}
        truth = {"exploitability": found.exploitability, "infallible": found.infallible, **lines}
        return _row(at, True, sides[0].against_random, sides[1].against_random) | truth
    match = play_match(agent, "random", game, MATCH_GAMES)
    unknown = dict.fromkeys(("exploitability", "infallible", "beaten_first", "beaten_second"))
    return _row(at, False, match.as_first, match.as_second) | unknown


def _row(at: int, exact: bool, first: WinDrawLoss, second: WinDrawLoss) -> dict[str, Any]:
    shares = {name: [count / side.games for count in side] for name, side in (("first", first), ("second", second))}
    return {"at": at, "exact": exact, **shares}
