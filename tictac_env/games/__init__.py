"""Rules of games: the contract `Game`, the k-in-a-row family, and the registry of games by name.

To add a game, write a class and call `tictac_env.register_game`.
"""

from __future__ import annotations

from tictac_env.games.contract import DRAWN, LOST, UNFINISHED, WON, Game, PlacementGame, Status
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.games.registry import (
    FAMILIES,
    GAMES,
    describe_game,
    did_you_mean,
    game_name,
    game_of,
    get_game,
    gym_keywords,
    make_game,
    shown,
)

__all__ = [
    "DRAWN",
    "FAMILIES",
    "GAMES",
    "LOST",
    "UNFINISHED",
    "WON",
    "Game",
    "KInARow",
    "PlacementGame",
    "Status",
    "describe_game",
    "did_you_mean",
    "game_name",
    "game_of",
    "get_game",
    "gym_keywords",
    "make_game",
    "shown",
]
