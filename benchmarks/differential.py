"""The same random games on six implementations: is every set of legal moves, every end and every outcome the same?

    python benchmarks/differential.py [--games 1000000] [--output FOLDER]

- arrays: a board as an array of marks and a list of lines, in NumPy, written for this comparison; it draws the moves;
- interpreted: our rule book, as the single environment runs it;
- compiled: the same in machine code, in the vector environment with both sides stepping;
- OpenSpiel: its own games, in C++;
- PettingZoo: its own environments;
- AEC: our environments under its API.

Many games are played side by side. After each ply everything is compared, and the program fails with the moves that
lead to the first difference. Some twenty minutes.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from benchmarks.records import add_output, parser_of, positive, save
from tictac_apps.bench.records import Row, show
from tictac_env import connect_four_v0, tictactoe_v0
from tictac_env.games import GAMES, LOST, UNFINISHED
from tictac_env.position import format_moves
from tictac_env.progress import progress_bar

SHAPES = {"TicTacToe-v0": (3, 3, 3, False), "ConnectFour-v0": (6, 7, 4, True)}
"""Rows, columns, how many make a line, and whether stones fall."""
THEIRS = {"TicTacToe-v0": "tic_tac_toe", "ConnectFour-v0": "connect_four"}
OURS = {"TicTacToe-v0": tictactoe_v0, "ConnectFour-v0": connect_four_v0}
ZOO = {"TicTacToe-v0": "tictactoe_v3", "ConnectFour-v0": "connect_four_v3"}
BOARDS = 4096
GOES_ON, DRAW = -1, 2
"""Results other than 0 and 1, the seat that has won."""

Results = npt.NDArray[np.int64]
"""int64 (B,), for each board GOES_ON, DRAW, or the seat that has won."""
Bools = npt.NDArray[np.bool_]


class Boards(Protocol):
    """Many boards of one game, from the beginning on; a game that is over is followed by the next."""

    def legal(self) -> Bools:
        """The mask of legal actions: bool (B, num_actions)."""

    def play(self, actions: npt.NDArray[np.int64]) -> Results:
        """Plays an action on each board."""


class ArrayBoards:
    """Arrays of marks: 0 empty, 1 and 2 the players'."""

    def __init__(self, name: str, boards: int) -> None:
        self.rows, self.cols, connect, self.falls = SHAPES[name]
        self.marks = np.zeros((boards, self.rows, self.cols), np.int8)
        self.plies = np.zeros(boards, np.int64)
        lines = []
        for row in range(self.rows):
            for col in range(self.cols):
                for down, across in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    line = [(row + down * i, col + across * i) for i in range(connect)]
                    if all(0 <= r < self.rows and 0 <= c < self.cols for r, c in line):
                        lines.append([r * self.cols + c for r, c in line])
        self.lines = np.array(lines)

    def legal(self) -> Bools:
        legal: Bools = (self.marks[:, 0] if self.falls else self.marks.reshape(len(self.marks), -1)) == 0
        return legal

    def play(self, actions: npt.NDArray[np.int64]) -> Results:
        boards, seats = np.arange(len(actions)), self.plies % 2
        if self.falls:
            row = (self.marks[boards, :, actions] == 0).sum(axis=1) - 1  # the lowest empty one
            self.marks[boards, row, actions] = seats + 1
        else:
            self.marks.reshape(len(actions), -1)[boards, actions] = seats + 1
        self.plies += 1
        flat = self.marks.reshape(len(actions), -1)
        won = (flat[:, self.lines] == (seats + 1)[:, None, None]).all(axis=2).any(axis=1)
        results = np.where(won, seats, np.where((flat != 0).all(axis=1), DRAW, GOES_ON))
        over = results != GOES_ON
        self.marks[over], self.plies[over] = 0, 0
        return results


class InterpretedBoards:
    """Our rule book, run by the interpreter."""

    def __init__(self, name: str, boards: int) -> None:
        self.game = GAMES[name]
        self.start = self.game.start()
        self.positions = [self.start] * boards
        self.choices = [self.game.choice(action) for action in range(self.game.num_actions)]

    def legal(self) -> Bools:
        sets = [self.game.legal(own, opp) for own, opp in self.positions]
        return np.array([[legal & choice != 0 for choice in self.choices] for legal in sets])

    def play(self, actions: npt.NDArray[np.int64]) -> Results:
        results = np.full(len(actions), GOES_ON)
        for board, action in enumerate(actions.tolist()):
            own, opp = self.positions[board]
            after = self.game.play(own, opp, action)
            result = self.game.result(*after)
            if result != UNFINISHED:
                results[board] = self.game.seat(own, opp) if result == LOST else DRAW
                after = self.start
            self.positions[board] = after
        return results


class CompiledBoards:
    """The vector environment."""

    def __init__(self, name: str, boards: int) -> None:
        self.envs: Any = gym.make_vec(
            name, num_envs=boards, opponent=None, copy=False, autoreset_mode=AutoresetMode.SAME_STEP
        )
        _, self.infos = self.envs.reset(seed=0)

    def legal(self) -> Bools:
        legal: Bools = self.infos["action_mask"] != 0
        return legal

    def play(self, actions: npt.NDArray[np.int64]) -> Results:
        seats = self.infos["seat"].copy()
        _, rewards, over, _, self.infos = self.envs.step(actions)
        return np.where(over, np.where(rewards > 0, seats, DRAW), GOES_ON)


class SpielBoards:
    """OpenSpiel's states."""

    def __init__(self, name: str, boards: int) -> None:
        import pyspiel

        self.game = pyspiel.load_game(THEIRS[name])
        self.states = [self.game.new_initial_state() for _ in range(boards)]

    def legal(self) -> Bools:
        return np.array([state.legal_actions_mask() for state in self.states], np.bool_)

    def play(self, actions: npt.NDArray[np.int64]) -> Results:
        results = np.full(len(actions), GOES_ON)
        for board, action in enumerate(actions.tolist()):
            state = self.states[board]
            state.apply_action(action)
            if state.is_terminal():
                first = state.returns()[0]
                results[board] = DRAW if first == 0 else 0 if first > 0 else 1
                self.states[board] = self.game.new_initial_state()
        return results


class AECBoards:
    """Our PettingZoo environments."""

    def __init__(self, name: str, boards: int, module: Any = None, theirs: Sequence[int] = ()) -> None:
        self.envs: list[Any] = [(module or OURS[name]).raw_env() for _ in range(boards)]
        for env in self.envs:
            env.reset(seed=0)
        self.theirs = np.array(theirs or range(GAMES[name].num_actions))
        """Their number of each of our actions."""

    def legal(self) -> Bools:
        masks = np.array([env.observe(env.agent_selection)["action_mask"] for env in self.envs])
        legal: Bools = masks[:, self.theirs] != 0
        return legal

    def play(self, actions: npt.NDArray[np.int64]) -> Results:
        results = np.full(len(actions), GOES_ON)
        for board, action in enumerate(self.theirs[actions].tolist()):
            env = self.envs[board]
            env.step(action)
            if any(env.terminations.values()):
                first = env.rewards[env.possible_agents[0]]
                results[board] = DRAW if first == 0 else 0 if first > 0 else 1
                env.reset()
        return results


def zoo_boards(name: str, boards: int) -> AECBoards:
    """PettingZoo's own environments; its tic-tac-toe counts cells column by column."""
    by_column = (0, 3, 6, 1, 4, 7, 2, 5, 8) if name == "TicTacToe-v0" else ()
    with warnings.catch_warnings():  # that pettingzoo.make is the newer way
        warnings.simplefilter("ignore", DeprecationWarning)
        classic = importlib.import_module(f"pettingzoo.classic.{ZOO[name]}")
    return AECBoards(name, boards, classic, by_column)


KINDS: dict[str, Callable[[str, int], Boards]] = {
    "arrays": ArrayBoards,
    "interpreted": InterpretedBoards,
    "compiled": CompiledBoards,
    "OpenSpiel": SpielBoards,
    "PettingZoo": zoo_boards,
    "AEC": AECBoards,
}


def compare(name: str, games: int, seed: int = 0, boards: int = BOARDS) -> list[Row]:
    """Plays at least a number of random games on all implementations; a row for each.

    Args:
        name: of the game.
        games: how many.
        seed: of the moves.
        boards: how many games are played side by side.

    Raises:
        SystemExit: two of them differ.
    """
    made = {kind: make(name, boards) for kind, make in KINDS.items()}
    random, seconds = np.random.default_rng(seed), dict.fromkeys(KINDS, 0.0)
    histories: list[list[int]] = [[] for _ in range(boards)]
    played = plies = 0

    def all_say(what: Callable[[Boards], npt.NDArray[Any]], label: str) -> npt.NDArray[Any]:
        """The answer of all, which must be the same."""
        said: dict[str, npt.NDArray[Any]] = {}
        for kind, one in made.items():
            began = time.process_time()
            said[kind] = what(one)
            seconds[kind] += time.process_time() - began
        (first, reference), *others = said.items()
        for kind, found in others:
            wrong = (found != reference).reshape(boards, -1).any(axis=1)
            if wrong.any():
                board = int(wrong.argmax())
                moves = format_moves(GAMES[name], histories[board])
                raise SystemExit(f"{name} after {moves!r}: {label}: {first} {reference[board]}, {kind} {found[board]}")
        return reference

    with progress_bar(games, name) as update:
        while played < games:
            legal = all_say(lambda one: one.legal(), "legal moves")
            actions = np.where(legal, random.random(legal.shape), -1).argmax(axis=1)
            for history, action in zip(histories, actions.tolist(), strict=True):
                history.append(action)
            results = all_say(lambda one, actions=actions: one.play(actions), "result")  # type: ignore[misc]
            over = np.flatnonzero(results != GOES_ON)
            for board in over.tolist():
                histories[board].clear()
            played, plies = played + len(over), plies + boards
            update(played)
    return [
        {
            "game": name,
            "implementation": kind,
            "games": played,
            "plies": plies,
            "plies a CPU-second": round(plies / max(seconds[kind], 1e-9)),
            "differences": 0,
        }
        for kind in KINDS
    ]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--games", type=positive, default=1_000_000, help="of each game (default: %(default)s)")
    add_output(parser)
    options = parser.parse_args()
    rows = [row for name in SHAPES for row in compare(name, options.games)]
    show("The same games, without a difference", rows)
    save("differential", {"games": options.games, "boards": BOARDS}, {"games": rows}, options.output)


if __name__ == "__main__":
    main()
