"""Move strings: a game as the actions played, counted from 1."""

from __future__ import annotations

from collections.abc import Iterable

from tictac_env.checks import parse_whole
from tictac_env.games import Game

MOVE_CHARACTERS = "123456789abcdefghijklmnopqrstuvwxyz"


def parse_moves(game: Game, moves: str) -> list[int]:
    """The actions of a move string (see `Position.from_moves`).

    Raises:
        ValueError: a character is not a move of this game.
    """
    numbered = game.num_actions > len(MOVE_CHARACTERS)
    actions = []
    for ply, token in enumerate(moves.split("-") if numbered and moves else moves):
        action = (parse_whole(token) or 0) - 1 if numbered else MOVE_CHARACTERS.find(token)
        if not 0 <= action < game.num_actions:
            allowed = f"1 to {game.num_actions}" if numbered else MOVE_CHARACTERS[: game.num_actions]
            raise ValueError(f"move {ply + 1} of {moves!r} is {token!r}; moves of this game are {allowed}")
        actions.append(action)
    return actions


def format_moves(game: Game, actions: Iterable[int]) -> str:
    """The move string of `actions` (see `Position.from_moves`)."""
    if game.num_actions > len(MOVE_CHARACTERS):
        return "-".join(str(action + 1) for action in actions)
    return "".join(MOVE_CHARACTERS[action] for action in actions)
