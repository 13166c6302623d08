"""The vector environment beside Gymnasium's own, which steps single environments one by one: equal in everything."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import COMPILED_GAMES, OBLONG, WIDE, assert_same, breadth, id_and_sizes, playout, title
from gymnasium.vector import AutoresetMode

from tictac_env.envs.vector.boards import OVER, PLAYING, ROWS, StepBuffers, boards_of
from tictac_env.envs.vector.passes import write_observations
from tictac_env.games import GAMES, Game, KInARow
from tictac_env.observation import OBSERVATION_TYPES, Observer
from tictac_env.policies import Policy
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position
from tictac_env.rng import mix

NUM_ENVS, STEPS, SEED = 7, 110, 20
DISABLED, NEXT_STEP, SAME_STEP = AutoresetMode.DISABLED, AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP

UNUSUAL = [
    KInARow.make(31, 1, 5, True),  # a single action
    KInARow.make(1, 1, 1, True),  # planes of two bytes; whoever moves first wins at once
]
MORE_WIDTHS = [KInARow.make(2, 2, 2, False), KInARow.make(3, 4, 2, False), KInARow.make(7, 7, 5, False)]


class Drawing(Policy):
    """Asked, never compiled; a hash of the position and the seed decides."""

    def act(self, position: Position, seed: int) -> int:
        legal = position.legal_actions
        return legal[mix(seed ^ position.own) % len(legal)]


def make_vec(game: Game, **kwargs: Any) -> Any:
    """The native vector environment of any game."""
    return gym.make_vec(**id_and_sizes(game), **kwargs)


def make_sync(game: Game, autoreset_mode: AutoresetMode, **kwargs: Any) -> Any:
    """Gymnasium's own vector environment over the single environments of any game."""
    settings = {"autoreset_mode": autoreset_mode}
    return gym.make_vec(**id_and_sizes(game), vectorization_mode="sync", vector_kwargs=settings, **kwargs)


class Pair:
    """Our environment and Gymnasium's, stepped together and compared in everything they return."""

    def __init__(self, game: Game, mode: AutoresetMode, **kwargs: Any) -> None:
        self.game, self.mode, self.steps = game, mode, 0
        self.ours = make_vec(game, num_envs=NUM_ENVS, autoreset_mode=mode, **kwargs)
        self.theirs = make_sync(game, num_envs=NUM_ENVS, autoreset_mode=mode, **kwargs)
        self.rng = np.random.default_rng(0)
        self.over: npt.NDArray[np.bool_] = np.zeros(NUM_ENVS, np.bool_)
        assert self.ours.observation_space == self.theirs.observation_space
        assert self.ours.action_space == self.theirs.action_space
        assert self.ours.single_observation_space == self.theirs.single_observation_space
        assert self.ours.single_action_space == self.theirs.single_action_space
        assert self.ours.metadata == self.theirs.metadata

    def reset(self, seed: Any = None, options: dict[str, Any] | None = None) -> None:
        given = dict(options or {})
        ours = self.ours.reset(seed=seed, options=None if options is None else given)
        theirs = self.theirs.reset(seed=seed, options=None if options is None else dict(options))
        assert list(given) == list(options or {}), "the caller's options were changed"
        assert_same(ours[0], theirs[0], f"reset after {self.steps} steps")
        assert_same(ours[1], theirs[1], f"reset after {self.steps} steps")
        self.over &= ~given.get("reset_mask", np.ones(NUM_ENVS, np.bool_))
        self.compare_boards()

    def step(self, actions: npt.NDArray[np.int64]) -> None:
        self.steps += 1
        ours, theirs = self.ours.step(actions), self.theirs.step(actions)
        if self.mode == NEXT_STEP:  # which ignores the next action of a board whose game is over: any will do
            theirs[-1]["action_mask"][theirs[2]] = 1
        parts = ("observations", "rewards", "terminations", "truncations", "infos")
        for part, one, other in zip(parts, ours, theirs, strict=True):
            assert_same(one, other, f"{part} of step {self.steps}")
        assert ours[0] in self.ours.observation_space
        self.over = ours[2] & (self.mode != SAME_STEP)
        self.compare_boards()

    def set_opponent(self, opponent: Any) -> None:
        for envs in (self.ours, self.theirs):
            assert envs.call("set_opponent", opponent) == (None,) * NUM_ENVS

    def compare_boards(self) -> None:
        positions = [env.unwrapped.position for env in self.theirs.envs]
        assert [self.ours.batch[i] for i in range(NUM_ENVS)] == positions
        assert self.ours.opponent_names == [env.unwrapped.opponent_name for env in self.theirs.envs]
        masks = np.stack([env.unwrapped.action_masks() for env in self.theirs.envs])
        masks[self.over & (self.mode == NEXT_STEP)] = 1
        assert_same(self.ours.action_masks(), masks, "action_masks()")

    def actions(self, illegal: float) -> npt.NDArray[np.int64]:
        """Random actions, a share of them illegal where there is such; senseless ones where they are ignored."""
        chosen = np.zeros(NUM_ENVS, np.int64)
        for i, mask in enumerate(self.ours.action_masks()):
            wanted = self.rng.random() >= illegal
            fitting = np.flatnonzero(mask == wanted)
            chosen[i] = -99 if self.over[i] else self.rng.choice(fitting if len(fitting) else np.flatnonzero(mask))
        return chosen


def start_positions(game: Game) -> list[Position]:
    """Unfinished positions of all lengths, so that either side begins; without the very last ones."""
    positions = [position for seed in range(3) for position in playout(game, seed)[:-3:2]]
    return positions or [Position.start(game)]


def pool(game: Game) -> OpponentPool:
    return OpponentPool(["random", Drawing(), "rule"], [1, 2, 1])


REPLACED: dict[int, Any] = {
    40: OpponentPool(["random", Drawing(), "rule"], [0, 1, 3]),
    70: OpponentPool(["random", Drawing(), "rule", "random"], [0, 1, 3, 3]),
    71: "random",
    72: "rule",  # by now games against three earlier opponents are under way
    95: Drawing(),
}
"""The opponents that replace others, by the step."""


SETTINGS: dict[str, Callable[[Game], dict[str, Any]]] = {
    "random": lambda game: {"opponent": "random", "play_as": "random"},
    "rule": lambda game: {
        "opponent": "rule",
        "play_as": "alternate",
        "obs_type": "board",
        "rewards": (2, 0.5, -2, 0.25),
    },
    "asked": lambda game: {"opponent": Drawing(), "play_as": "random", "start": start_positions(game)},
    "pool": lambda game: {"opponent": pool(game), "play_as": "second", "obs_type": "board"},
    "pool, starts": lambda game: {"opponent": pool(game), "play_as": "random", "start": start_positions(game)},
    "self-play": lambda game: {"opponent": None, "obs_type": "code" if game.cells <= 39 else "planes"},
    "self-play, starts": lambda game: {"opponent": None, "start": start_positions(game), "rewards": (1, 0.5, -1, -0.1)},
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    ("game", "mode"),
    breadth(product(GAMES.values(), AutoresetMode), product([WIDE, OBLONG, *UNUSUAL], AutoresetMode)),
    ids=lambda value: str(value) if isinstance(value, AutoresetMode) else title(value),
)
def test_every_board_plays_the_game_of_the_single_environment(game: Game, setting: str, mode: AutoresetMode) -> None:
    given = SETTINGS[setting](game)
    opponent = given["opponent"]
    if game.cells < 3 and opponent is not None:
        given["play_as"] = "first"  # the opponent would win before the learner has moved
    pair = Pair(game, mode, **given)
    pair.reset(seed=SEED)
    for step in range(STEPS):
        if mode == DISABLED and pair.over.any():
            pair.reset(options={"reset_mask": pair.over.copy()})
        elif step % 30 == 29:
            mask = pair.over | (pair.rng.random(NUM_ENVS) < 0.4)
            mask[0] = True
            pair.reset(seed=[step, *[None] * (NUM_ENVS - 2), 3], options={"reset_mask": mask})
        if opponent is not None and step in REPLACED:
            pair.set_opponent(REPLACED[step])
        pair.step(pair.actions(illegal=0.05))
    if opponent is not None:
        pair.reset(options={"play_as": "first"})
    positions = start_positions(game)
    pair.reset(options={"position": positions[1 % len(positions)]})
    pair.reset(seed=5)


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("opponent", ["minimax:1", OpponentPool(["minimax:1", "rule", "random"]), "rule"], ids=str)
def test_opponents_that_end_games_early_are_drawn_anew_alike(opponent: Any, mode: AutoresetMode) -> None:
    """From "1425" X wins at once, from "15" it does not: some boards find their game over before the learner moves."""
    pair = Pair(GAMES["TicTacToe-v0"], mode, opponent=opponent, play_as="random", start=["1425", "15", "5", ""])
    pair.reset(seed=SEED)
    for _ in range(60):
        if mode == DISABLED and pair.over.any():
            pair.reset(options={"reset_mask": pair.over.copy()})
        pair.step(pair.actions(illegal=0))


@pytest.mark.parametrize("opponent", ["random", Drawing(), None], ids=str)
@pytest.mark.parametrize(
    ("game", "obs_type"),
    breadth(
        [pair for pair in product(GAMES.values(), OBSERVATION_TYPES) if pair[0].cells <= 39 or pair[1] != "code"],
        product([OBLONG], OBSERVATION_TYPES),
    ),
    ids=lambda value: value if isinstance(value, str) else title(value),
)
def test_observations_of_every_type_are_those_of_the_single_environment(
    game: Game, obs_type: str, opponent: Any
) -> None:
    pair = Pair(game, SAME_STEP, opponent=opponent, obs_type=obs_type)
    pair.reset(seed=SEED)
    for _ in range(60):
        pair.step(pair.actions(illegal=0.1))


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("opponent", ["rule", Drawing()], ids=str)
def test_what_is_given_for_each_board_counts_on_that_board_alone(opponent: Any, mode: AutoresetMode) -> None:
    name = "ConnectFour-v0"
    envs = gym.make_vec(name, num_envs=4, opponent=opponent, autoreset_mode=mode)
    singles = [gym.make(name, opponent=opponent) for _ in range(4)]
    positions: list[Any] = ["44", None, Position.from_moves(name, "123"), "1212121"]  # the last is over, but not reset
    seats = ["second", None, "random", "nonsense"]
    envs.reset(seed=3)
    mask = np.array([True, True, True, False])
    _, infos = envs.reset(seed=[5, 6, 7, 8], options={"position": positions, "play_as": seats, "reset_mask": mask})
    for i, single in enumerate(singles):
        if mask[i]:
            options = {"position": positions[i], **({"play_as": seats[i]} if seats[i] else {})}
            _, info = single.reset(seed=5 + i, options=options)
            assert infos["seat"][i] == info["seat"] and infos["opponent_action"][i] == info["opponent_action"]
        else:
            single.reset(seed=3 + i)
            assert not infos["_seat"][i]
        assert envs.unwrapped.batch[i] == single.unwrapped.position
    for _ in range(2):
        actions = [int(np.flatnonzero(single.unwrapped.action_masks())[0]) for single in singles]
        envs.step(actions)
        for i, single in enumerate(singles):
            single.step(actions[i])
            assert envs.unwrapped.batch[i] == single.unwrapped.position


@pytest.mark.parametrize("opponent", ["random", Drawing(), None], ids=str)
def test_a_board_plays_the_same_however_many_there_are(opponent: Any) -> None:
    """1030 boards are more than two blocks of the compiled loop."""
    many = gym.make_vec("ConnectFour-v0", num_envs=1030, opponent=opponent, autoreset_mode="SameStep")
    few = {first: gym.make_vec("ConnectFour-v0", num_envs=size, opponent=opponent, autoreset_mode="SameStep")
           for first, size in ((0, 1), (508, 9), (1020, 10))}  # fmt: skip
    many.reset(seed=SEED)
    for first, envs in few.items():
        envs.reset(seed=SEED + first)
    for _ in range(40):
        actions = many.unwrapped.sample_actions()
        every = many.step(actions)
        for first, envs in few.items():
            part = slice(first, first + envs.num_envs)
            assert np.array_equal(envs.unwrapped.sample_actions(), actions[part])
            for ours, theirs in zip(envs.step(actions[part])[:4], every[:4], strict=True):
                assert np.array_equal(ours, theirs[part])


@pytest.mark.parametrize("game", breadth(COMPILED_GAMES, [OBLONG, *UNUSUAL, *MORE_WIDTHS]), ids=title)
def test_every_width_of_board_is_shown_as_the_single_environment_shows_it(game: Game) -> None:
    positions = [position for seed in range(4) for position in playout(game, seed)]
    count = len(positions)
    for obs_type in ("planes", "board", "code") if game.cells <= 39 else ("planes", "board"):
        rows = np.zeros((ROWS, count), np.int64)
        boards = boards_of(rows)
        for i, position in enumerate(positions):
            boards.own[i], boards.opp[i], boards.learner[i] = position.own, position.opp, i % 2
            boards.phase[i] = OVER if position.is_over else PLAYING
        output = StepBuffers(game, obs_type, count, with_finals=True)
        arrays = output.arrays
        arrays.cells[:], arrays.codes[:], arrays.masks[:] = 77, 77, 77  # every byte has to be written
        observer = Observer(game, obs_type)
        over_actions = game.choice(0) | game.choice(game.num_actions - 1)
        for shift, shown, of_finished in (
            (0, output.observations, 0),
            (0, output.observations, over_actions),
            (count, output.last_observations, 0),
        ):
            write_observations(game, rows, OBSERVATION_TYPES[obs_type].kernel, of_finished, arrays, shift, 0, count)
            masks = arrays.masks.reshape(-1, game.num_actions)[shift : shift + count]
            for i, position in enumerate(positions):
                if shift and not position.is_over:
                    assert (shown[i] == 77).all(), "a board that goes on has no last observation"
                    continue
                first, second = position.stones
                expected = observer.observe(second, first, 1) if i % 2 else observer.observe(first, second, 0)
                assert np.array_equal(shown[i], expected)
                ends = {0, game.num_actions - 1}  # one, where there is only one action
                legal = ends if position.is_over and of_finished else set(position.legal_actions)
                assert set(np.flatnonzero(masks[i]).tolist()) == legal
                assert masks[i].max() <= 1
