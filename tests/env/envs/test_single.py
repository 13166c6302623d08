"""The Gymnasium environment: its spaces and observations, who can be the opponent, sizes, pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import ALL_GAMES, lowest, make_env, title
from hypothesis import given, settings
from hypothesis import strategies as st

from tictac_env.envs.shipped import TicTacToeEnv
from tictac_env.games import Game, KInARow, get_game
from tictac_env.policies import Policy, RandomPolicy
from tictac_env.position import Position
from tictac_env.rng import advance, mix, new_state

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"


class Scripted(Policy):
    """Plays the given answers, the n-th as its n-th move of a game, whatever they are."""

    def __init__(self, *answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[Position, int]] = []

    def act(self, position: Position, seed: int) -> int:
        self.asked.append((position, seed))
        answer: int = self.answers[position.ply // 2]
        return answer


def play(env: gym.Env[Any, Any], *actions: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """The last of several steps; none of the earlier ones may end the game."""
    for action in actions[:-1]:
        assert env.step(action)[2:4] == (False, False)
    observation, reward, terminated, truncated, info = env.step(actions[-1])
    return observation, float(reward), terminated, truncated, info


def seen(position: Position, seat: int, obs_type: str) -> Any:
    """What `seat` must observe."""
    board = position.to_array()
    mine, theirs = (board == 1 + seat).astype(np.int8), (board == 2 - seat).astype(np.int8)
    return {"planes": np.stack([mine, theirs]), "board": mine - theirs, "code": position.code}[obs_type]


# Observations and masks


every_game = pytest.mark.parametrize("game", ALL_GAMES, ids=title)


def obs_types(game: Game) -> list[str]:
    return ["planes", "board", "code"] if game.cells <= 39 else ["planes", "board"]


@every_game
@given(seed=st.integers(0, 2**32))
@settings(max_examples=4)
def test_observations_show_the_position_to_the_learner(game: Game, seed: int) -> None:
    for obs_type in obs_types(game):
        for seating in ({"play_as": "first"}, {"play_as": "second"}, {"opponent": None}):
            if game.cells == 1 and seating == {"play_as": "second"}:
                continue
            env = make_env(game, obs_type=obs_type, **seating)
            observation, info = env.reset(seed=seed)
            for choice in range(game.cells + 1):
                position = env.unwrapped.position
                assert observation in env.observation_space
                assert np.array_equal(observation, seen(position, info["seat"], obs_type))
                legal = position.legal_actions
                assert np.flatnonzero(info["action_mask"]).tolist() == list(legal)
                if not legal:
                    break
                observation, *_, info = env.step(legal[(seed + choice) % len(legal)])
            assert position.is_over


def test_spaces_have_the_documented_shapes() -> None:
    env = gym.make(C4)
    assert env.observation_space == gym.spaces.Box(0, 1, (2, 6, 7), np.int8)
    assert env.action_space == gym.spaces.Discrete(7)
    assert gym.make(C4, obs_type="board").observation_space == gym.spaces.Box(-1, 1, (6, 7), np.int8)
    assert gym.make(TTT, obs_type="code").observation_space == gym.spaces.Discrete(3**9)


def test_codes_that_do_not_fit_are_refused() -> None:
    gym.make("KInARow-v0", rows=3, cols=13, connect=3, obs_type="code")
    with pytest.raises(ValueError, match="at most 39 cells, and this board has 42"):
        gym.make(C4, obs_type="code")
    with pytest.raises(ValueError, match="obs_type 'plane' is unknown; did you mean planes"):
        gym.make(C4, obs_type="plane")


# Opponents


def test_a_policy_derived_from_a_named_one_plays_by_its_own_rule() -> None:
    class Corner(RandomPolicy):
        def act(self, position: Position, seed: int) -> int:
            return position.legal_actions[-1]

    env = gym.make(TTT, opponent=Corner(), play_as="second")
    assert {env.reset(seed=seed)[1]["opponent_action"] for seed in range(5)} == {8}


@pytest.mark.parametrize("obs_type", ["planes", "board", "code"])
def test_a_function_sees_the_board_from_its_own_side(obs_type: str) -> None:
    shown: list[Any] = []

    def spy(observation: Any, mask: npt.NDArray[np.int8]) -> int:
        shown.append((observation, mask))
        return lowest(observation, mask)

    env = gym.make(TTT, opponent=spy, obs_type=obs_type)
    env.reset()
    play(env, 4, 8)
    for (observation, mask), moves in zip(shown, ("5", "519"), strict=True):
        position = Position.from_moves(TTT, moves)
        assert np.array_equal(observation, seen(position, 1, obs_type))
        assert np.flatnonzero(mask).tolist() == list(position.legal_actions)


def test_opponents_see_the_history_and_get_seeds_in_a_fixed_order() -> None:
    """The board's state is advanced for the start, then for the seat, then before each move of the opponent."""
    starts = ["", "44", "4444"]
    for seed in range(12):
        states = [new_state(seed)]
        for _ in range(3):
            states.append(advance(states[-1]))
        for_start, for_seat, for_move = map(mix, states[1:])
        opponent = Scripted(6, 6, 6)
        env = gym.make(C4, opponent=opponent, start=starts, play_as="random")
        _, info = env.reset(seed=seed)
        if info["seat"] == 0:
            env.step(0)
        position, drawn = opponent.asked[0]
        assert position.to_moves() == starts[for_start % 3] + ("1" if info["seat"] == 0 else "")
        assert len(position.moves) == position.ply
        assert info["seat"] == for_seat & 1
        assert drawn == for_move


# Sizes and pictures


def test_sizes_of_the_general_game() -> None:
    assert gym.make("KInARow-v0").unwrapped.position == Position.start(C4)
    env = gym.make("KInARow-v0", rows=3, cols=3, connect=3, gravity=False)
    assert env.unwrapped.position == Position.start(TTT)
    assert gym.make("KInARow-v0", rows=4).unwrapped.game == KInARow.make(4, 7, 4, True)
    with pytest.raises(ValueError, match="needs 72 bits"):
        gym.make("KInARow-v0", rows=8, cols=8)


def test_the_pixels_are_an_image_that_shows_each_move(game: Game) -> None:
    env = make_env(game, opponent=None, render_mode="rgb_array")
    env.reset()
    before = env.render()
    env.step(0)
    after = env.render()
    for image in (before, after):
        assert isinstance(image, np.ndarray)
        assert image.dtype == np.uint8 and image.shape == before.shape and image.shape[2] == 3
    assert not np.array_equal(before, after)


def test_an_unknown_render_mode_is_refused_and_none_renders_nothing() -> None:
    with pytest.raises(ValueError, match="render_mode must be one of 'human', 'ansi', 'rgb_array', not 'ascii'"):
        TicTacToeEnv(get_game(TTT), render_mode="ascii")
    env = gym.make(TTT)
    env.reset()
    with pytest.warns(UserWarning, match="without a render mode"):
        assert env.render() is None


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_an_opponent_that_is_assigned_is_refused_with_what_to_write(make: Callable[..., Any]) -> None:
    env = make(TTT, opponent="rule")
    with pytest.raises(AttributeError, match=r"'minimax': call set_opponent"):
        env.unwrapped.opponent = "minimax"
    assert str(env.unwrapped.opponent) == "rule"


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
@pytest.mark.parametrize(("number", "name"), [(0, "first"), (1, "second")])
def test_the_number_of_a_seat_is_answered_with_its_name(make: Callable[..., Any], number: int, name: str) -> None:
    with pytest.raises(ValueError, match=f'write play_as="{name}" for {number}'):
        make(TTT, play_as=number)
    env = make(TTT)
    with pytest.raises(ValueError, match=f'write play_as="{name}" for {number}'):
        env.reset(options={"play_as": number})
