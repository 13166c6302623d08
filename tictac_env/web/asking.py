"""What a request asks for: its fields, each checked; and the refusal of one that cannot be answered."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from tictac_env.games import Game, get_game
from tictac_env.position import IllegalMove, Position

MAX_GAME, MAX_MOVES, MAX_WORD = 64, 256, 96
MAX_SEED = 2**53
"""Whole numbers below this are exact in JavaScript."""

Fields = Mapping[str, Any]


class Refused(HTTPException):
    """A request that is not answered: its status, 4xx, and why."""

    def __init__(self, reason: str, status: int = 400, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, reason, dict(headers or {}))


async def fields_of(request: Request) -> Fields:
    """The fields of a request: of a GET those of its address, else those of the JSON object it sends.

    Raises:
        Refused: it sends anything else.
    """
    if request.method in ("GET", "HEAD"):
        return dict(request.query_params)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # which a page of another site cannot send unasked
        raise Refused(f"the content type must be application/json, not {kind[:MAX_WORD]!r}", 415)
    body = await request.body()
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the body is no JSON: {str(error)[:200]}") from None
    if not isinstance(found, dict):
        raise Refused(f"the body must be a JSON object, not {type(found).__name__}")
    return found


def text(fields: Fields, name: str, default: str | None = None, longest: int = MAX_WORD) -> str:
    """A field that is a string of printable ASCII.

    Raises:
        Refused: it is missing, something else, or too long.
    """
    value = fields.get(name, default)
    if value is None:
        raise Refused(f"{name} is missing")
    if not isinstance(value, str):
        raise Refused(f"{name} must be a string, not {_shown(value)}")
    if len(value) > longest:
        raise Refused(f"{name} has {len(value)} characters; at most {longest} are allowed")
    if not (value.isascii() and value.isprintable()):
        raise Refused(f"{name} must be printable ASCII, not {_shown(value)}")
    return value


def whole(fields: Fields, name: str, default: int, low: int, high: int) -> int:
    """A field that is a whole number in [low, high], in JSON or as digits.

    Raises:
        Refused: it is something else.
    """
    value = fields.get(name, default)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Refused(f"{name} must be a whole number from {low} to {high}, not {_shown(value)}")
    return value


def game_in(fields: Fields) -> Game:
    """The game that the fields name.

    Raises:
        Refused: there is none of that name.
    """
    try:
        return get_game(text(fields, "game", "TicTacToe-v0", MAX_GAME))
    except ValueError as error:
        raise Refused(str(error)) from None


def position_in(fields: Fields, unfinished: bool = False) -> Position:
    """The position after the `moves` of a `game`.

    Args:
        fields: the request's.
        unfinished: whether the game must still be on.

    Raises:
        Refused: there is no such game, a move is none of it or illegal, or the game is over.
    """
    game, moves = game_in(fields), text(fields, "moves", "", MAX_MOVES)
    try:
        position = Position.from_moves(game, moves)
    except IllegalMove as error:
        raise Refused(_counted_from_one(game, moves) or str(error), 422) from None
    except ValueError as error:
        raise Refused(str(error)) from None
    if unfinished and position.is_over:
        raise Refused(f"the game {moves!r} is over", 422)
    return position


def seed_in(fields: Fields) -> int:
    """The seed of the game, 0 unless given.

    Raises:
        Refused: it is no whole number below 2**53.
    """
    return whole(fields, "seed", 0, 0, MAX_SEED - 1)


def _counted_from_one(game: Game, moves: str) -> str:
    """What is wrong with illegal moves, counted as they are typed; "" if nothing is."""
    from tictac_env.position import format_moves, parse_moves

    position = Position.start(game)
    for ply, action in enumerate(parse_moves(game, moves), 1):
        name = format_moves(game, [action])
        if position.is_over:
            return f"move {ply} of {moves!r}, {name}, comes after the end of the game"
        if action not in position.legal_actions:
            what = f"column {name} is full" if game.stones_fall else f"cell {name} is taken"
            return f"move {ply} of {moves!r} is illegal: {what}"
        position = position.play(action)
    return ""


def _shown(value: Any) -> str:
    """A value as an error shows it: in ASCII, and not too long."""
    if isinstance(value, float) and not math.isfinite(value):
        return "a number that is not finite"
    told = ascii(value)
    return told if len(told) <= 60 else f"{told[:57]}..."
