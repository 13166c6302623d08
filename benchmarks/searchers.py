"""The players of `search.py`: our tree search and OpenSpiel's, each with a number of simulations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tictac_agents import MCTS
from tictac_env.policies import Policy
from tictac_env.position import Position

try:
    import pyspiel
except ImportError:
    pyspiel = None

GAMES = {"Connect Four": ("ConnectFour-v0", "connect_four"), "tic-tac-toe": ("TicTacToe-v0", "tic_tac_toe")}
Player = Callable[[Position, int, int], tuple[int, int]]
"""From a position, a number of simulations and a seed to the action, and how many simulations were played."""


def ours(**settings: Any) -> Player:
    def play(position: Position, simulations: int, seed: int) -> tuple[int, int]:
        found = MCTS(simulations, **settings).search(position, seed)
        return found.action, found.simulations

    return play


def open_spiel(solve: bool) -> Player:
    """OpenSpiel's C++ MCTSBot with one random game a leaf and the exploration constant of its examples, 2."""

    def play(position: Position, simulations: int, seed: int) -> tuple[int, int]:
        game = pyspiel.load_game(next(theirs for name, theirs in GAMES.values() if is_of(position, name)))
        state = game.new_initial_state()
        for action in position.moves:
            state.apply_action(action)
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed & 0x7FFFFFFF)
        bot = pyspiel.MCTSBot(game, evaluator, 2.0, simulations, 4096, solve, seed & 0x7FFFFFFF, False)
        root = bot.mcts_search(state)
        return root.best_child().action, root.explore_count

    return play


def is_of(position: Position, name: str) -> bool:
    return position.game == Position.start(name).game


OURS: dict[str, dict[str, Any]] = {
    "ours": {"rollout": "rule", "solver": True},
    "ours, no solver": {"rollout": "rule", "solver": False},
    "ours, random games": {"rollout": "random", "solver": True},
    "ours, random games, no solver": {"rollout": "random", "solver": False},
}
THEIRS: dict[str, dict[str, Any]] = {"OpenSpiel": {"solve": False}, "OpenSpiel, solver": {"solve": True}}
SETTINGS = {name: {"exploration": 1.0, **found} for name, found in OURS.items()}
SETTINGS |= {name: {"exploration": 2.0, "games a leaf": 1, **found} for name, found in THEIRS.items()}
"""What each player searches with."""
PLAYERS: dict[str, Player] = {name: ours(**SETTINGS[name]) for name in OURS}
PEERS = {name: open_spiel(**found) for name, found in THEIRS.items()}
if pyspiel is not None:
    PLAYERS |= PEERS


def acting(**settings: Any) -> Player:
    """Ours without the explanation; for positions that are not proven within the simulations."""

    def play(position: Position, simulations: int, seed: int) -> tuple[int, int]:
        return MCTS(simulations, **settings).act(position, seed), simulations

    return play


FASTEST = {
    "ours, random games": acting(rollout="random"),
    "ours, random games, no solver": acting(rollout="random", solver=False),
} | (PEERS if pyspiel is not None else {})


class Searcher(Policy):
    """A player with a number of simulations, as a policy that counts what it does.

    Attributes:
        games: how many simulations it has played.
        seconds: the CPU time its moves have taken.
    """

    def __init__(self, player: str, simulations: int) -> None:
        self.name = f"{player}, {simulations:,} simulations"
        self.player = player
        self.simulations = simulations
        self.forget()

    def forget(self) -> None:
        """Counts from 0 again."""
        self.games, self.seconds = 0, 0.0

    def act(self, position: Position, seed: int) -> int:
        known = Position.from_moves(position.game, position.to_moves())  # OpenSpiel asks how the position came about
        began = time.process_time()
        action, games = PLAYERS[self.player](known, self.simulations, seed)
        self.seconds += time.process_time() - began
        self.games += games
        return action
