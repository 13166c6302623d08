"""Compiled code plays by the very rules that interpreted code plays by, and goes on doing so after a rule is edited."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
from conftest import ALL_GAMES, COMPILED_GAMES, breadth, title

from tictac_env import compiled
from tictac_env.compiled import kernel
from tictac_env.games import UNFINISHED, Game, KInARow
from tictac_env.policies.heuristics import random_choices, rule_choices
from tictac_env.policies.policy import pick
from tictac_env.rng import advance, mix, new_state, position_seed

RANDOM, RULE, MIXED = 0, 1, 2
COLUMNS = 20
LONG_LINE = KInARow.make(5, 7, 6, True)
"""A line longer than `has_line` unrolls."""
LONG_BOARDS = [KInARow.make(*size, gravity=False) for size in ((62, 1, 4), (30, 2, 4), (20, 2, 20))]


@kernel
def play_out(game: Game, state: int, player: int, log: npt.NDArray[np.int64]) -> int:
    """Plays a game and logs, for each ply, everything the rules and the reflexes say: int64 (cells + 1, COLUMNS)."""
    own, opp = game.start()
    ply = 0
    while True:
        result = game.result(own, opp)
        legal = game.legal(own, opp)
        stones = own | opp
        state = advance(state)
        draw = mix(state)
        row, col = ply // game.cols % game.rows, ply % game.cols
        image_row, image_col = game.image(row, col, draw % game.num_symmetries)
        log[ply, 0] = own
        log[ply, 1] = opp
        log[ply, 2] = result
        log[ply, 3] = legal
        log[ply, 4] = game.seat(own, opp)
        log[ply, 5] = stones.bit_count()
        log[ply, 6] = game.winning_cells(own, game.seat(own, opp))
        log[ply, 7] = game.winning_cells(opp, 1 - game.seat(own, opp))
        log[ply, 8] = game.cell(row, col)
        log[ply, 9] = image_row * game.cols + image_col
        log[ply, 10] = state
        log[ply, 11] = draw
        log[ply, 12] = position_seed(own, opp, draw)
        # As it is, and with a stone elsewhere: on another, in the air, off the board.
        log[ply, 18] = game.status(own, opp)
        log[ply, 19] = game.status(own, opp ^ (opp & -opp) ^ 1 << draw % 63)
        log[ply, 13] = -1
        if result != UNFINISHED:
            return ply
        log[ply, 14] = rule_choices(game, own, opp)
        by_rule = player == RULE or (player == MIXED and draw & 64 != 0)
        action = pick(game, log[ply, 14] if by_rule else random_choices(game, own, opp), draw)
        log[ply, 13] = action
        next_own, next_opp = game.play(own, opp, action)
        log[ply, 15], log[ply, 16] = game.undo(next_own, next_opp, action)
        # The same action once more: illegal without gravity, and with it once the column is full.
        same_own, same_opp = game.play(next_own, next_opp, action)
        log[ply, 17] = same_own ^ same_opp
        own, opp = next_own, next_opp
        ply += 1


def logged(function: Any, game: Game, seed: int, player: int) -> tuple[npt.NDArray[np.int64], int]:
    log = np.zeros((game.cells + 1, COLUMNS), np.int64)
    plies = function(game, new_state(seed), player, log)
    return log[: plies + 1], plies


def assert_games_agree(game: Game, seed: int, player: int) -> int:
    """Plays a game compiled and interpreted, asserts that they agree in everything, and returns how long it was."""
    compiled_log, compiled_plies = logged(play_out, game, seed, player)
    log, plies = logged(play_out.py_func, game, seed, player)
    assert compiled_plies == plies
    np.testing.assert_array_equal(compiled_log, log)
    assert (log[:-1, 15] == log[:-1, 0]).all() and (log[:-1, 16] == log[:-1, 1]).all()  # undo takes back
    assert not log[:, 18].any()
    assert log[-1, 2] != UNFINISHED and (log[:-1, 2] == UNFINISHED).all()
    return plies


@pytest.mark.parametrize("player", [RANDOM, RULE, MIXED], ids=["random", "rule", "mixed"])
@pytest.mark.parametrize("game", breadth(COMPILED_GAMES, ALL_GAMES), ids=title)
def test_compiled_games_equal_interpreted_ones(game: Game, player: int) -> None:
    for seed in range(5):
        assert_games_agree(game, seed, player)


@pytest.mark.parametrize("plies", [pytest.param(1_000_000, marks=pytest.mark.slow), 3_000])
@pytest.mark.parametrize("game", breadth(COMPILED_GAMES, [LONG_LINE]), ids=title)
def test_compiled_and_interpreted_rules_agree_over_many_random_plies(game: Game, plies: int) -> None:
    """Random moves, with a move by the rule of thumb now and then: the games end in all ways, and soon or late."""
    played = seed = 0
    while played < plies:
        played += assert_games_agree(game, seed, MIXED if seed % 4 == 0 else RANDOM)
        seed += 1


@kernel
def lines_in(game: Game, stones: int) -> tuple[bool, int, int]:
    return game.has_line(stones), game.winning_cells(stones), game.threats(stones)


def test_no_shift_is_wider_than_machine_code_allows() -> None:
    """A shift by 64 bits or more is zero interpreted and anything compiled."""
    sizes = [
        (rows, cols, connect)
        for rows in range(1, 63)
        for cols in range(1, 63)
        if (8 if max(rows, cols) <= 7 else rows + 1) * cols <= 63
        for connect in range(1, max(rows, cols) + 1)
    ]
    assert len(sizes) > 3_000
    for size in sizes:
        game = KInARow.make(*size)
        assert max(*game.shifts, *game.steps, game.stride * (game.cols - 1) + game.rows) <= 63


@pytest.mark.parametrize("game", breadth([KInARow.make(1, 31, 25, False)], LONG_BOARDS), ids=title)
def test_lines_on_long_boards_are_the_same_compiled(game: KInARow) -> None:
    draws, found = np.random.default_rng(0), set()
    for i in range(200):
        stones = int(draws.integers(1 << 62)) & game.full if i % 2 else game.full & (1 << i % 63) - 1
        assert lines_in(game, stones) == (game.has_line(stones), game.winning_cells(stones), game.threats(stones))
        found.add(game.has_line(stones))
    assert found == {True, False}


PROBE = """
from tictac_env.compiled import kernel
from tictac_env.games import GAMES

@kernel
def result(game, own, opp):
    return game.result(own, opp)

game = GAMES["TicTacToe-v0"]
print(result(game, 0, 0b111), sum(result.stats.cache_hits.values()))
"""
"""Asks compiled code about a position in which three stones stand in the leftmost column."""

RULE_SOURCE = "        if self.has_line(opp):\n            return LOST\n        return DRAWN"


def run_probe(folder: Path, cache: Path) -> tuple[int, bool]:
    """What the probe in `folder` prints: the result, and whether the kernel came from the cache."""
    settings = {"TICTAC_CACHE_DIR": str(cache), "XDG_CACHE_HOME": "", "LOCALAPPDATA": ""}
    settings |= dict.fromkeys(("PYTHONPATH", "TMPDIR", "HOME", "USERPROFILE"), str(folder))
    done = subprocess.run(
        [sys.executable, "probe.py"], cwd=folder, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result, hits = done.stdout.split()
    return int(result), hits == "1"


def cache_files(cache: Path) -> dict[Path, int]:
    """Numba's files in a cache, and when they were last written."""
    return {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb?")}


def test_kernels_follow_an_edit_of_a_rule_and_stay_after_one_that_they_cannot_reach(tmp_path: Path) -> None:
    probe_folder, cache = tmp_path / "probe", tmp_path / "cache"
    package = probe_folder / "tictac_env"
    shutil.copytree(compiled.PACKAGE, package)
    (probe_folder / "probe.py").write_text(PROBE)
    assert run_probe(probe_folder, cache) == (-1, False)
    before = cache_files(cache)
    assert before, "nothing was cached"

    rules = package / "games" / "k_in_a_row.py"
    source = rules.read_text()
    assert source.count(RULE_SOURCE) == 1
    rules.write_text(source.replace(RULE_SOURCE, RULE_SOURCE.replace("LOST", "1")))  # who makes a line loses
    assert run_probe(probe_folder, cache) == (1, False)
    edited = cache_files(cache)
    assert len(edited) > len(before)

    rules.write_text(source)
    for path in (package / "arena" / "play.py", rules, probe_folder / "probe.py"):
        path.write_text("# a comment\n" + path.read_text())
    assert run_probe(probe_folder, cache) == (-1, True)
    assert cache_files(cache) == edited


REACHED = """
import sys
from typing import NamedTuple
import numpy as np
import helpers
from own import Most
from tictac_env.compiled import kernel, kernel_methods

@kernel_methods
class Pair(NamedTuple):
    first: int
    second: int

    def difference(self):
        return self.first - self.second

@kernel
def inner(x):
    return x + 1

@kernel
def outer(pair, x, game):
    return pair.difference() + inner(x) + helpers.plain(x) + int(helpers.LEVEL) + int(game.has_won(0b11, 0))

print(outer(Pair(5, 3), 10, Most()), sum(outer.stats.cache_hits.values()))
"""
HELPERS = """
import numpy as np
LEVEL = np.int64(7)

def plain(x):
    return 2 * x
"""
OWN_GAME = """
from dataclasses import dataclass
from tictac_env.games import PlacementGame
WANTED = 3

@dataclass(frozen=True)
class Most(PlacementGame):
    rows: int = 1
    cols: int = 5

    def winning_cells(self, stones, seat):
        return stones if enough(stones) else 0

def enough(stones):
    return stones.bit_count() >= WANTED
"""
"""A game of a user's, in a file that the cache folder's name knows nothing of."""


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Callable[[], list[str]]]:
    """A package whose kernel is kept, and what its program prints: the result and its hits in the cache."""
    folder = tmp_path_factory.mktemp("reached")
    package = folder / "tictac_agents"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "reached.py").write_text(REACHED.replace("import helpers", "from tictac_agents import helpers"))
    (package / "helpers.py").write_text(HELPERS)
    (folder / "own.py").write_text(OWN_GAME)
    environment = os.environ | {"TICTAC_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder)}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1"}

    def run() -> list[str]:
        command = [sys.executable, "-c", "import tictac_agents.reached"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert run() == ["40", "0"] and run() == ["40", "1"]
    return package, run


@pytest.mark.parametrize(
    ("file", "old", "new", "result"),
    breadth(
        [
            ("reached.py", "first: int\n    second: int", "second: int\n    first: int", 36),
            ("helpers.py", "return 2 * x", "return 3 * x", 50),
        ],
        [
            ("../own.py", "WANTED = 3", "WANTED = 2", 41),
            ("reached.py", "self.first - self.second", "self.first + self.second", 46),
            ("reached.py", "return x + 1", "return x + 2", 41),
            ("helpers.py", "np.int64(7)", "np.int64(8)", 41),
            ("../own.py", ">= WANTED", "< WANTED", 41),
        ],
    ),
)
def test_kernels_follow_an_edit_of_whatever_they_reach(
    file: str, old: str, new: str, result: int, reached: tuple[Path, Callable[[], list[str]]]
) -> None:
    """Fields and methods of records, kernels, plain functions and constants of other modules, and a user's game."""
    package, run = reached
    edited = package / file
    source = edited.read_text()
    edited.write_text(source.replace(old, new))
    try:
        assert run() == [str(result), "0"]
    finally:
        edited.write_text(source)


OWN_RULES = """
import numba
import numpy as np
from tictac_env.games import DRAWN, KInARow, UNFINISHED

VALUE = 1
VALUES = np.array([0, 1])

def plain():
    return 1

@numba.njit
def compiled():
    return 1

class Base(KInARow):
    constant = 1

    @property
    def computed(self):
        return 1

    def of_base(self):
        return 1

class Misere(Base):
    def result(self, own, opp):
        if self.has_line(opp):
            return SAYS
        return DRAWN if own | opp == self.full else UNFINISHED
"""
"""A user's file, in which a game may have the result 1 in many ways."""


@kernel
def result_of(game: Game, own: int, opp: int) -> int:
    return game.result(own, opp)


@pytest.mark.parametrize(
    ("says", "line"),
    [
        ("1", "return 1\n        return DRAWN"),
        ("VALUE", "\nVALUE = 1"),
        ("VALUES[1]", "np.array([0, 1])"),
        ("plain()", "def plain():\n    return 1"),
        ("compiled()", "def compiled():\n    return 1"),
        ("self.constant", "constant = 1"),
        ("self.computed", "def computed(self):\n        return 1"),
        ("self.of_base()", "def of_base(self):\n        return 1"),
    ],
)
def test_compiled_code_follows_an_edit_of_a_users_file(says: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is edited in it: the type of the game, by which machine code is kept, is then another.

    To compile takes a second, so only one of the edits is tried to the end.
    """
    keys = []
    source = OWN_RULES.replace("SAYS", says)
    assert source.count(line) == 1
    for value in ("1", "-1", "1"):
        module = ModuleType("own_rules")
        monkeypatch.setitem(sys.modules, "own_rules", module)
        exec(source.replace(line, line.replace("1", value)), vars(module))
        game = module.Misere.make(3, 3, 3, False)
        assert game.result(0, 0b111) == int(value)
        assert says != "self.computed" or result_of(game, 0, 0b111) == int(value)
        keys.append(numba.typeof(game).name)
    assert keys[0] == keys[2] != keys[1]


# From Python 3.13 on the interpreter prints the error also where Numba's dispatcher only asks if there is an attribute.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_rules_that_use_super_say_why_they_cannot_be_compiled() -> None:
    class Contrary(KInARow):
        def result(self, own: int, opp: int) -> int:
            return -super().result(own, opp)

    with pytest.raises(TypeError, match=r"Contrary\.result uses super\(\), which compiled rules cannot"):
        result_of(Contrary.make(3, 3, 3, False), 0, 0b111)


INTERPRETED = """
import gymnasium as gym
import tictac_env
from tictac_agents import MCTS, AlphaZero, NTupleTD, QLearning
from tictac_env import Position, Solver
from tictac_env.arena import play_match, prove

envs = gym.make_vec("ConnectFour-v0", num_envs=2, opponent="random")
observations, _ = envs.reset(seed=0)
for ply in range(8):
    observations, rewards, *_ = envs.step([ply % 7, 6 - ply % 7])
print(observations.sum(), rewards.tolist())
print(Solver("ConnectFour-v0").solve(Position.from_moves("ConnectFour-v0", "5275331143367744242212143")))
print(MCTS(10).act(Position.start("TicTacToe-v0"), 0))
print(NTupleTD("TicTacToe-v0", tuples=3, length=3, seed=0).learn(20, progress_bar=False).network.weights.sum())
alphazero = AlphaZero("TicTacToe-v0", tuples=1, length=2, simulations=32, boards=256, seed=0)
print(alphazero.learn(4, progress_bar=False).network_.values.sum())
print(QLearning(gym.make_vec("TicTacToe-v0", num_envs=2), seed=0).learn(300, progress_bar=False).num_episodes)
print(prove("rule", 1, "TicTacToe-v0").refutations, play_match("rule", "ntuple:2", "TicTacToe-v0", 2).total)
"""


COMPILED_RESULTS = """\
8 [0.0, 0.0]
Solution(score=9, action_scores=(2, 2, 2, 9, 8, 7, 2), best_actions=(3,))
2
48025200
-8888912
76
('5437129',) won 0.0 % (0.0-65.8), drawn 100.0 % (34.2-100.0), lost 0.0 % (0.0-65.8)
"""


def test_everything_runs_without_the_compiler_too() -> None:
    """NUMBA_DISABLE_JIT=1 runs kernels interpreted, with the results that they have compiled."""
    command = [sys.executable, "-W", "ignore", "-c", INTERPRETED]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == COMPILED_RESULTS
