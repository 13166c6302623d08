"""The rule books. A new game of the family is one line in `GAMES`; any other game, one file and one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from tictac_env.games.contract import DRAWN, LOST, UNFINISHED, Game
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.games.status import Status

__all__ = [
    "DRAWN",
    "GAMES",
    "LOST",
    "UNFINISHED",
    "Game",
    "KInARow",
    "Status",
    "describe_game",
    "game_name",
    "game_of",
    "get_game",
]

GAMES: dict[str, Game] = {
    "TicTacToe-v0": KInARow.make(rows=3, cols=3, connect=3, gravity=False),
    "ConnectFour-v0": KInARow.make(rows=6, cols=7, connect=4, gravity=True),
}


def get_game(game: str | Game) -> Game:
    """The rule book called `game`, which may be the rule book itself.

    Raises:
        ValueError: there is no game of that name, or it is neither.
    """
    if not isinstance(game, str):
        if not (hasattr(game, "play") and hasattr(game, "num_actions")):  # a Position has the first
            raise ValueError(f"{game!r} is neither a rule book nor a game's name; {did_you_mean('', GAMES)}")
        return game
    try:
        return GAMES[game]
    except KeyError:
        raise ValueError(f"no game is called {game!r}; {did_you_mean(game, GAMES)}") from None


def game_name(game: Game) -> str | None:
    """The name under which `game` is registered, None where it is not."""
    return next((name for name, known in GAMES.items() if known == game), None)


def describe_game(game: Game) -> str | dict[str, Any]:
    """What JSON can hold to build the same game with `game_of`: its name, or the arguments of its size.

    Raises:
        ValueError: the game is neither registered nor of the k-in-a-row family.
    """
    name = game_name(game)
    if name is not None:
        return name
    if isinstance(game, KInARow):
        return game.arguments
    raise ValueError(f"{game!r} has no name in GAMES, so it cannot be saved")


def game_of(description: str | Mapping[str, Any]) -> Game:
    """The game `describe_game` described.

    Raises:
        ValueError: no game fits the description.
    """
    if isinstance(description, str):
        return get_game(description)
    try:
        return KInARow.make(**description)
    except TypeError as error:
        raise ValueError(f"no game fits {description!r}: {error}") from None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error message about an unknown name: the near ones, or all of them."""
    known = list(known)
    near = difflib.get_close_matches(name, known)
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
