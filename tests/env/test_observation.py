"""Observations of many positions are those of one, and a type of observation is one record."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import ALL_GAMES, playout, title
from gymnasium.vector import AutoresetMode

from tictac_env.games import Game
from tictac_env.observation import (
    OBSERVATION_TYPES,
    ObservationType,
    Observer,
    observation_type,
    observation_type_of,
    read_observation,
)
from tictac_env.policies import ModelPolicy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"

every_game = pytest.mark.parametrize("game", ALL_GAMES, ids=title)


def positions_of(game: Game) -> list[Position]:
    """Of some random games, finished ones included."""
    return [position for seed in range(4) for position in playout(game, seed)]


@every_game
@pytest.mark.parametrize("obs_type", OBSERVATION_TYPES)
def test_a_batch_shows_what_each_position_does(game: Game, obs_type: str) -> None:
    positions = positions_of(game)
    batch = PositionBatch.of(positions)
    kind = observation_type(obs_type)
    if obs_type == "code" and game.cells > 39:
        with pytest.raises(ValueError, match="needs at most 39 cells, and this board has"):
            batch.observations(obs_type)
        return
    observations = batch.observations(obs_type)
    space = kind.space(game)
    assert observations.dtype == kind.dtype == space.dtype
    assert observations.shape == (len(positions), *kind.shape(game)) and kind.shape(game) == space.shape
    alone, following = Observer(game, obs_type), copy.deepcopy(Observer(game, obs_type, follow=True))
    for position, observation in zip(positions, observations, strict=True):
        for observer in (alone, following):
            seen = observer.observe(position.own, position.opp, position.seat)
            assert np.array_equal(seen, observation) and seen in space
        assert read_observation(game, observation) == (position.own, position.opp)


@every_game
def test_the_masks_of_a_batch_are_the_legal_actions(game: Game) -> None:
    positions = positions_of(game)
    batch = PositionBatch.of(positions)
    before = batch.own.copy(), batch.opp.copy()
    masks = batch.action_masks()
    assert masks.shape == (len(positions), game.num_actions) and masks.dtype == np.int8 and masks.max() == 1
    for position, mask in zip(positions, masks, strict=True):
        assert tuple(np.flatnonzero(mask).tolist()) == position.legal_actions
    assert np.array_equal(before, (batch.own, batch.opp))


def test_masks_of_rules_that_arrays_cannot_follow() -> None:
    """A game may branch, count and change its own variables in `legal`."""

    class Branching:
        def __init__(self, game: Any) -> None:
            self.game = game

        def __getattr__(self, name: str) -> Any:
            return getattr(self.game, name)

        def legal(self, own: int, opp: int) -> int:
            own |= opp
            return self.game.legal(own, 0) if own else self.game.legal(0, 0)

    positions = positions_of(Position.start(C4).game)
    batch = PositionBatch.of(positions)
    branching = PositionBatch(Branching(batch.game), batch.own.copy(), batch.opp.copy())  # type: ignore[arg-type]
    assert np.array_equal(branching.action_masks(), batch.action_masks())
    assert np.array_equal(branching.own, batch.own)


# A type of our own: how many empty cells there are, and whose stone lies in each cell, seen as numbers


def many_counted(
    game: Game, own: npt.NDArray[np.int64], opp: npt.NDArray[np.int64], seats: npt.NDArray[np.int64] | None
) -> npt.NDArray[np.float32]:
    boards = OBSERVATION_TYPES["board"].observe_many(game, own, opp, seats).reshape(len(own), -1)
    return np.concatenate([(boards == 0).sum(axis=1, keepdims=True), boards], axis=1, dtype=np.float32)


def shape_counted(game: Game) -> tuple[int, ...]:
    return (1 + game.cells,)


COUNTED = ObservationType(
    "counted",
    np.float32,
    shape_counted,
    lambda game: gym.spaces.Box(-1, game.cells, shape_counted(game), np.float32),
    many_counted,
    lambda game, seen: OBSERVATION_TYPES["board"].read(game, seen[1:].reshape(game.rows, game.cols)),
)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(OBSERVATION_TYPES, COUNTED.name, COUNTED)
    return COUNTED.name


@pytest.mark.parametrize("name", [TTT, C4])
def test_a_type_is_one_record(counted: str, name: str) -> None:
    """All else follows: the environment, its copies and pickles, the inverse, and models that see it."""
    env = gym.make(name, obs_type=counted)
    game = env.unwrapped.game  # type: ignore[attr-defined]
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space and observation.tolist() == [game.cells, *[0] * game.cells]
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), env):
        observation, _, _, _, _ = twin.step(2)
        position = twin.unwrapped.position
        assert observation[0] == game.cells - 2 and read_observation(game, observation) == (position.own, position.opp)

    class Model:
        observation_space = env.observation_space

        def predict(self, seen: Any, deterministic: bool) -> tuple[Any, None]:
            assert seen.dtype == np.float32 and seen[0] == game.cells - 1
            return 4, None

    assert observation_type_of(game, env.observation_space) is COUNTED
    assert ModelPolicy(Model()).act(Position.from_moves(name, "1"), 0) == 4
    with pytest.raises(ValueError, match="did you mean counted"):
        gym.make(name, obs_type="count")


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("opponent", ["rule", None, "minimax:1"])
def test_the_vector_environment_shows_a_type_without_a_kernel(counted: str, mode: AutoresetMode, opponent: Any) -> None:
    """It shows what it shows as boards, last observations included."""
    play_as = "first" if opponent is None else "random"
    settings: dict[str, Any] = {"opponent": opponent, "play_as": play_as, "autoreset_mode": mode, "num_envs": 7}
    ours, boards = (gym.make_vec(TTT, obs_type=obs_type, **settings) for obs_type in (counted, "board"))
    ended = 0

    def same(seen: Any, board: Any) -> bool:
        cells = board.reshape(*seen.shape[:-1], -1)
        return np.array_equal(seen[..., 1:], cells) and np.array_equal(seen[..., 0], (cells == 0).sum(axis=-1))

    seen, board = ours.reset(seed=3)[0], boards.reset(seed=3)[0]
    assert seen in ours.observation_space and same(seen, board)
    for _ in range(30):
        actions = ours.sample_actions()  # type: ignore[attr-defined]
        assert np.array_equal(actions, boards.sample_actions())  # type: ignore[attr-defined]
        seen, reward, over, _, info = ours.step(actions)
        board, *others, known = boards.step(actions)
        assert same(seen, board) and np.array_equal(reward, others[0]) and np.array_equal(over, others[1])
        assert np.array_equal(info["action_mask"], known["action_mask"])
        ended += over.sum()
        if "final_obs" in known:
            for last, shown in zip(info["final_obs"], known["final_obs"], strict=True):
                assert (last is None) == (shown is None) and (last is None or same(last, shown))
        if mode == AutoresetMode.DISABLED and over.any():
            seen, board = (envs.reset(options={"reset_mask": over})[0] for envs in (ours, boards))
            assert same(seen, board)
    assert ended > 5


def test_observations_of_other_shapes_and_values_are_refused() -> None:
    game = Position.start(TTT).game
    for shape in ((2, 3), (19,), (10,), (1,)):
        with pytest.raises(ValueError, match=r"an observation of shape .* is not one of"):
            read_observation(game, np.zeros(shape, np.int8))
    assert read_observation(game, np.zeros(math.prod((2, 3, 3)))) == (0, 0)
    for shape, value in (((2, 3, 3), 2), ((2, 3, 3), 0.5), ((3, 3), 2), ((3, 3), float("nan"))):
        observation = np.zeros(shape)
        observation[..., 1] = value
        with pytest.raises(ValueError, match="neither one stone nor none"):
            read_observation(game, observation)
