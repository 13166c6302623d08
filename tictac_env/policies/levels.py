"""Opponents of rising strength: `level:1` to `level:10`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tictac_env.checks import parse_whole
from tictac_env.games import Game, game_name, shown
from tictac_env.policies.pool import Mixture
from tictac_env.solver.minimax import SMALL_CELLS


class Setting(NamedTuple):
    """What a level plays."""

    policy: str
    random: float = 0.0
    """The share of its moves that are drawn from all legal ones instead."""


SMALL_GAMES = (
    Setting("random"),
    Setting("minimax", 0.7),
    Setting("minimax", 0.55),
    Setting("minimax", 0.42),
    Setting("minimax", 0.32),
    Setting("minimax", 0.22),
    Setting("minimax", 0.14),
    Setting("minimax", 0.08),
    Setting("minimax", 0.03),
    Setting("minimax"),
)
LARGE_GAMES = (
    Setting("random"),
    Setting("rule", 0.75),
    Setting("rule", 0.38),
    Setting("minimax:4", 0.07),
    Setting("mcts:40"),
    Setting("mcts:100"),
    Setting("mcts:300"),
    Setting("mcts:1000"),
    Setting("mcts:4000"),
    Setting("mcts:16000"),
)
LEVELS = {"TicTacToe-v0": SMALL_GAMES, "ConnectFour-v0": (*LARGE_GAMES[:9], Setting("perfect:0.1"))}
"""The settings of the levels, weakest first; `tools/calibrate_levels.py` measures them."""


class Level(Mixture):
    """A calibrated strength, from 1 (random play) to 10.

    On tic-tac-toe each level is harder to exploit than the one below, and level 10 cannot be beaten. On Connect Four
    each scores 60 to 80 % against the one below (a draw counts half, both seats alike); level 9 searches about a
    millisecond a move, and level 10 is the exact solver, but for a random move in ten. Boards of up to 12 cells have
    tic-tac-toe's settings, larger ones Connect Four's with a longer search at the top, as only Connect Four has an
    opening book; there the strengths rise too, but by how much has not been measured.

    Args:
        number: 1 to 10.
        game: for which game.

    Raises:
        ValueError: there is no such level.
    """

    name = "level"

    def __init__(self, number: int, game: Game) -> None:
        settings = level_settings(game)
        if type(number) is not int or not 1 <= number <= len(settings):
            raise _no_level(number, settings)
        setting = settings[number - 1]
        # By name, as a mixture makes its policies when they are first asked: naming a level loads no search.
        super().__init__([setting.policy, "random"], [1 - setting.random, setting.random])
        self.name = f"level:{number}"
        self.budget = f"plays {setting.policy}" + (f", {100 * setting.random:g} % random" if setting.random else "")

    @classmethod
    def from_name(cls, game: Game, argument: str) -> Level:
        """`level:<number>`."""
        number = parse_whole(argument)
        if number is None:
            raise _no_level(argument, level_settings(game))
        return cls(number, game)

    def __str__(self) -> str:
        return self.name


def level_settings(game: Game) -> tuple[Setting, ...]:
    """The settings of a game's levels, weakest first."""
    name = game_name(game)
    if name in LEVELS:
        return LEVELS[name]
    return SMALL_GAMES if game.cells <= SMALL_CELLS else LARGE_GAMES


def _no_level(given: object, settings: Sequence[Setting]) -> ValueError:
    return ValueError(f"a level must be a whole number from 1 to {len(settings)}, not {shown(given)}")
