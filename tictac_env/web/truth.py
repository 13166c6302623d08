"""The exact value of each move, of each position of a game, and the answer of the well-known solver page."""

from __future__ import annotations

import time
from typing import Any

from tictac_env.games import Game
from tictac_env.position import Position
from tictac_env.solver import Bounds, Solver
from tictac_env.solver.enumerate import plies_to_go
from tictac_env.web.solvers import proven

FULL = 100
"""What the well-known solver page gives for a column that cannot be played."""


def exact_values(solver: Solver, position: Position, seconds: float) -> dict[str, Any]:
    """What is proven of each legal action of an unfinished position, for its side to move.

    Returns:
        `moves`: for each legal action its `action`, `score` (None if not proven), `outcome` ("win", "draw", "loss", or
        None), `in` (how many stones of the winner's it takes, None if not proven), `text`, and whether it is `best`;
        `complete`: whether all scores are proven.
    """
    end = time.monotonic() + seconds
    found = solver.action_bounds(position, time_limit=seconds)
    unknown = [action for action, bounds in enumerate(found) if bounds is not None and not bounds.proven]
    if unknown and time.monotonic() < end:  # what the quick ones left over is for the slow ones
        again = solver.action_bounds(position, time_limit=end - time.monotonic())
        found = tuple(new if new is not None and new.proven else old for new, old in zip(again, found, strict=True))
    known = [bounds for bounds in found if bounds is not None]
    complete = all(bounds.proven for bounds in known)
    best = max(bounds.lower for bounds in known)
    sure = all(bounds.proven or bounds.upper < best for bounds in known)
    moves = []
    for action, bounds in enumerate(found):
        if bounds is not None:
            told = _told(position.game, position.ply, bounds)
            moves.append({"action": action, **told, "best": sure and bounds.proven and bounds.lower == best})
    return {"moves": moves, "complete": complete}


def _told(game: Game, ply: int, bounds: Bounds) -> dict[str, Any]:
    """What the bounds of a score at `ply` say."""
    if bounds.proven:
        return scored(game, ply, bounds.lower)
    outcome, text = None, "not known in the time there is"
    if bounds.lower > 0:
        outcome, text = "win", "a win"
    elif bounds.upper < 0:
        outcome, text = "loss", "a loss"
    elif bounds.lower == 0:
        text = "at least a draw"
    elif bounds.upper == 0:
        text = "at most a draw"
    return {"score": None, "outcome": outcome, "in": None, "text": text}


def scored(game: Game, ply: int, score: int) -> dict[str, Any]:
    """What an exact score at `ply` means to the side to move."""
    if score == 0:
        return {"score": 0, "outcome": "draw", "in": None, "text": "a draw"}
    stones = (plies_to_go(game, ply, score) + 1) // 2
    outcome, verb = ("win", "won") if score > 0 else ("loss", "lost")
    return {"score": score, "outcome": outcome, "in": stones, "text": f"{verb} in {stones}"}


def review(solver: Solver, final: Position, seconds: float) -> dict[str, Any]:
    """The exact value of each position of a game, and the moves that gave something away.

    The last positions are solved first: they are the easiest, and what is found of them helps with those before.

    Args:
        solver: of the game.
        final: the last position, made from moves.
        seconds: for all together.

    Returns:
        `plies`: for each position from the start its `ply`, `score` (for the first player; None if it is not known in
        the time there is), `outcome` for the first player (1, 0, -1 or None), `text`, and whether the move to it was a
        `blunder`: gave away a win or a draw. `complete`: whether all are known.
    """
    end = time.monotonic() + seconds
    positions = [Position.start(final.game)]
    for action in final.moves:
        positions.append(positions[-1].play(action))
    scores: list[int | None] = []
    for position in reversed(positions):
        scores.append(proven(solver, position, end - time.monotonic()))
    scores.reverse()
    plies: list[dict[str, Any]] = []
    for position, score in zip(positions, scores, strict=True):
        side = 1 if position.seat == 0 else -1
        blunder = False
        if plies and score is not None and plies[-1]["outcome"] is not None:
            blunder = plies[-1]["outcome"] * -side > -_sign(score)  # for whoever moved
        row: dict[str, Any] = {
            "ply": position.ply,
            "score": None,
            "outcome": None,
            "text": "not known in the time there is",
        }
        if score is not None:
            row |= {"score": side * score, "outcome": side * _sign(score), "text": _in_words(position, score)}
        plies.append(row | {"blunder": blunder})
    return {"plies": plies, "complete": None not in scores}


def _in_words(position: Position, score: int) -> str:
    """What a position's score means, as in "the second player wins in 4"."""
    if score == 0:
        return "a draw"
    winner = ("first", "second")[position.seat if score > 0 else 1 - position.seat]
    if position.is_over:
        return f"the {winner} player has won"
    return f"the {winner} player wins in {scored(position.game, position.ply, score)['in']}"


def page_scores(solver: Solver, position: Position, seconds: float) -> list[int] | None:
    """The scores of all actions as the well-known solver page gives them, `FULL` where none is possible; None if they
    are not all proven in time.
    """
    scores = [FULL] * position.game.num_actions
    if position.is_over:
        return scores
    for action, bounds in enumerate(solver.action_bounds(position, time_limit=seconds)):
        if bounds is not None:
            if not bounds.proven:
                return None
            scores[action] = bounds.lower
    return scores


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
