"""SB3VecEnv: the games and the training that DummyVecEnv gives over single environments, to the last bit."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import breadth
from gymnasium.vector import AutoresetMode

from tictac_env.games import GAMES
from tictac_env.position import IllegalMove, Position
from tictac_env.render import render_rgb
from tictac_env.wrappers import OpponentPool

pytest.importorskip("sb3_contrib")
import sb3_contrib
import stable_baselines3 as sb3
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from sb3_pairs import BOARDS, C4, SMALL, TTT, Cautious, assert_same, choices, dummy, ours
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecFrameStack, VecMonitor, VecNormalize
from stable_baselines3.common.vec_env.base_vec_env import tile_images

from tictac_agents import SB3VecEnv

# As DummyVecEnv


def variants() -> Iterator[Any]:
    seats = ["first", "second", "random", "alternate"]
    for obs_type in ("planes", "board", "code"):
        for opponent in ("random", "rule", "minimax:2", Cautious(), OpponentPool(["random", "rule"], [1, 2])):
            seats = [*seats[1:], seats[0]]
            yield {"id": TTT, "obs_type": obs_type, "opponent": opponent, "play_as": seats[0]}
        yield {"id": TTT, "obs_type": obs_type, "opponent": None}
        yield pytest.param(SMALL | {"obs_type": obs_type, "play_as": "alternate"}, marks=pytest.mark.slow)
    for obs_type, opponent, seat in (
        ("planes", "random", "random"),
        ("board", "minimax:1", "second"),
        ("planes", None, "first"),
    ):
        yield {"id": C4, "obs_type": obs_type, "opponent": opponent, "play_as": seat}
    yield {"id": TTT, "rewards": (2, 0.3, -1.7, -0.1), "start": ["51", "5", "", "1537"], "play_as": "random"}
    yield {"id": TTT, "opponent": OpponentPool(["random", Cautious()]), "start": ["1537"], "play_as": "random"}


@pytest.mark.parametrize("kwargs", list(variants()), ids=lambda kwargs: "-".join(map(str, kwargs.values())))
def test_it_plays_the_games_of_a_dummy_vec_env(kwargs: dict[str, Any]) -> None:
    mine, theirs = ours(**kwargs), dummy(**kwargs)
    assert mine.observation_space == theirs.observation_space and mine.action_space == theirs.action_space
    rng = np.random.default_rng(0)
    assert mine.seed(7) == theirs.seed(7)
    assert_same(mine.reset(), theirs.reset())
    num_ended = 0
    for number in range(60):
        if number == 30:
            assert_same(mine.reset(), theirs.reset())  # unseeded: it goes on
        assert_same(mine.reset_infos, theirs.reset_infos)
        masks = get_action_masks(mine)
        assert_same(masks, get_action_masks(theirs))
        assert mine.get_attr("position") == theirs.get_attr("position")
        actions = choices(masks, rng, illegal=0.05)
        given = mine.step(actions)
        assert_same(given, theirs.step(actions))
        num_ended += given[2].sum()
    assert num_ended > BOARDS


def test_what_is_kept_of_a_step_stays_as_it_is() -> None:
    """Stable-Baselines3 keeps the last observations, and a callback may keep anything."""
    envs = ours(id=TTT)
    envs.seed(0)
    kept: list[Any] = [(envs.reset(), envs.reset_infos)]
    copies = copy.deepcopy(kept)
    for _ in range(30):
        kept.append(envs.step(choices(get_action_masks(envs), np.random.default_rng(0), 0.1)))
        copies.append(copy.deepcopy(kept[-1]))
    kept[0] = kept[0][0], copies[0][1]  # reset_infos are those of the last reset, as in DummyVecEnv
    assert_same(kept, copies)


def test_wrong_steps_are_the_errors_of_the_boards() -> None:
    envs = ours(id=TTT, illegal="raise")
    with pytest.raises(gym.error.ResetNeeded):
        envs.step(np.zeros(BOARDS, np.int64))
    envs.reset()
    envs.step(np.full(BOARDS, 4))
    before = envs.get_attr("position")
    with pytest.raises(IllegalMove, match="board 0"):
        envs.step(np.full(BOARDS, 4))
    for actions in (np.full(BOARDS, 9), np.full(BOARDS, 0.5), np.zeros(3, np.int64), None):
        with pytest.raises(ValueError, match="action"):
            envs.step(actions)
    assert envs.get_attr("position") == before


# Seeds and options


def test_seeds_are_used_once_and_at_the_next_reset() -> None:
    envs, single = ours(id=C4, play_as="second"), gym.make(C4, play_as="second")
    assert envs.seed(5) == [5, 6, 7, 8, 9]
    first = envs.reset()
    assert np.array_equal(first[3], single.reset(seed=8)[0])
    later = [envs.reset() for _ in range(5)]
    assert any(not np.array_equal(first, other) for other in later)
    envs.seed(5)
    assert np.array_equal(envs.reset(), first)
    envs.seed()  # drawn by Stable-Baselines3
    assert envs.reset().shape == first.shape


@pytest.mark.parametrize(
    "options",
    [
        {"position": "51"},
        {"play_as": "second", "position": "519"},
        [{}, {"position": "5"}, {"play_as": "second"}, {"position": "53", "play_as": "first"}, {}],
    ],
    ids=str,
)
def test_options_are_for_the_next_reset_only(options: Any) -> None:
    mine, theirs = ours(id=TTT), dummy(id=TTT)
    for envs in (mine, theirs):
        envs.seed(0)
        envs.set_options(options)
    assert_same(mine.reset(), theirs.reset())
    assert_same(mine.reset_infos, theirs.reset_infos)
    assert_same(mine.reset(), theirs.reset())
    assert_same(mine.reset_infos, theirs.reset_infos)


@pytest.mark.parametrize(
    ("options", "message"), [({"positions": "5"}, "did you mean position"), ([{}, {}], "a list of 5")], ids=str
)
def test_wrong_options_are_refused(options: Any, message: str) -> None:
    envs = ours(id=TTT)
    envs.set_options(options)
    with pytest.raises(ValueError, match=message):
        envs.reset()


# Attributes and methods of boards


def test_masks_may_be_asked_for_some_boards_only() -> None:
    envs = ours(id=TTT)
    wrapped = VecFrameStack(envs, 1)
    assert is_masking_supported(envs) and is_masking_supported(wrapped)
    assert not get_action_masks(envs).any()  # no game is under way
    envs.seed(0)
    envs.reset()
    envs.step(np.arange(BOARDS))
    masks = get_action_masks(wrapped)
    assert masks.dtype == np.int8 and masks.sum(axis=1).tolist() == [7] * BOARDS
    for indices, numbers in ((2, [2]), ([2], [2]), ((0, 4), [0, 4]), (range(1, 3), [1, 2]), (None, range(BOARDS))):
        assert np.array_equal(envs.env_method("action_masks", indices=indices), masks[list(numbers)])
        assert np.array_equal([method() for method in envs.get_attr("action_masks", indices)], masks[list(numbers)])


def test_attributes_are_those_of_the_single_environments() -> None:
    pool = OpponentPool(["random"])
    envs, theirs = ours(id=TTT, opponent=pool), dummy(id=TTT, opponent=pool)
    for name in ("game", "opponent", "render_mode", "observation_space", "action_space", "arguments"):
        assert envs.get_attr(name) == theirs.get_attr(name), name
    assert [spec.id for spec in envs.get_attr("spec")] == [TTT] * BOARDS
    envs.set_attr("level", 3)
    envs.set_attr("level", 4, indices=[1, 2])
    assert envs.get_attr("level") == [3, 4, 4, 3, 3] and envs.get_attr("level", 1) == [4]
    assert envs.has_attr("level") and not envs.has_attr("levels")
    with pytest.raises(AttributeError, match="levels"):
        envs.get_attr("levels")
    with pytest.raises(AttributeError, match="opponent"):  # else it would be silently ignored
        envs.set_attr("opponent", "rule")
    with pytest.raises(AttributeError, match="reset"):
        envs.env_method("reset")
    assert envs.env_is_wrapped(gym.Wrapper) == [False] * BOARDS and envs.env_is_wrapped(gym.Wrapper, 2) == [False]
    assert envs.env_is_wrapped(Monitor) == theirs.env_is_wrapped(Monitor) == [True] * BOARDS


def test_the_opponent_is_replaced_as_on_single_boards() -> None:
    mine, theirs = (made(id=TTT, opponent="rule", play_as="alternate") for made in (ours, dummy))
    rng = np.random.default_rng(0)
    mine.seed(7)
    theirs.seed(7)
    assert_same(mine.reset(), theirs.reset())
    for step in range(60):
        if step % 20 == 11:
            opponent = OpponentPool([Cautious(), "minimax:2"]) if step < 40 else "random"
            for envs in (mine, theirs):
                assert envs.env_method("set_opponent", opponent) == [None] * BOARDS
        actions = choices(get_action_masks(mine), rng, illegal=0.05)
        assert_same(mine.step(actions), theirs.step(actions))
        assert mine.get_attr("opponent_name") == theirs.get_attr("opponent_name")
    VecFrameStack(mine, 1).set_opponent("rule")
    with pytest.raises(ValueError, match="set_opponent"):
        mine.env_method("set_opponent", "rule", indices=[0])
    assert set(map(str, mine.get_attr("opponent"))) == {"rule"}


def test_rendering_shows_the_positions() -> None:
    """Those of the positions: the last move, which a single environment marks, is not known here."""
    envs = ours(id=TTT, render_mode="rgb_array")
    envs.seed(0)
    envs.reset()
    envs.step(np.arange(BOARDS))
    images = [render_rgb(position) for position in envs.get_attr("position")]
    assert_same(envs.get_images(), images)
    assert_same(envs.env_method("render", indices=[3]), images[3:4])
    assert_same(envs.get_attr("render", 3)[0](), images[3])
    assert_same(envs.render(), tile_images(images))
    texts = ours(id=TTT, render_mode="ansi")
    assert texts.env_method("render") == [str(Position.start(TTT))] * BOARDS
    assert texts.render() is None and texts.get_images() == [None] * BOARDS
    texts.close()


def test_copies_go_on_with_the_same_games() -> None:
    envs = ours(id=TTT)
    envs.seed(0)
    envs.reset()
    envs.step(np.arange(BOARDS))
    actions = choices(get_action_masks(envs), np.random.default_rng(0), 0)
    twins = [copy.deepcopy(envs), pickle.loads(pickle.dumps(envs))]
    expected = envs.step(actions)
    for twin in twins:
        assert_same(twin.step(actions), expected)
        assert twin.get_attr("position") == envs.get_attr("position")


# Arguments


def test_it_is_made_from_an_id_a_game_or_a_vector_environment() -> None:
    for name, game in GAMES.items():
        for given in (name, f"tictac_env:{name}", game):
            envs = SB3VecEnv(given, num_envs=3, play_as="second")
            assert (envs.num_envs, envs.envs.game) == (3, game)
            envs.reset()
            assert [info["seat"] for info in envs.reset_infos] == [1, 1, 1]
    boards = gym.make_vec(TTT, num_envs=2, opponent="rule", autoreset_mode=AutoresetMode.SAME_STEP)
    assert SB3VecEnv(boards).envs is boards


@pytest.mark.parametrize(
    ("env", "kwargs", "message"),
    [
        (TTT, {"num_envs": 0}, "num_envs"),
        (TTT, {"copy": False}, "copy"),
        (TTT, {"autoreset_mode": "NextStep"}, "autoreset_mode"),
        (TTT, {"opponent": "rul"}, "rule"),
        (3, {}, "must be the id"),
        (gym.make(TTT), {}, "must be the id"),
        (gym.make_vec(TTT, num_envs=2), {}, "autoreset_mode"),
        (gym.make_vec(TTT, num_envs=2, copy=False, autoreset_mode="SameStep"), {}, "copy"),
        (gym.make_vec(TTT, num_envs=2, autoreset_mode="SameStep"), {"num_envs": 2}, "belong to"),
        (gym.make_vec(TTT, num_envs=2, autoreset_mode="SameStep"), {"opponent": "rule"}, "belong to"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(env: Any, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SB3VecEnv(env, **kwargs)


# Stable-Baselines3's wrappers and algorithms on it


def test_evaluate_policy_takes_the_returns_of_the_games(recwarn: pytest.WarningsRecorder) -> None:
    """And not what a wrapper makes of the rewards."""
    envs = VecNormalize(ours(id=TTT, play_as="alternate"), norm_obs=False)
    model = sb3_contrib.MaskablePPO("MlpPolicy", envs, n_steps=16, seed=0, device="cpu")
    returns, lengths = evaluate_policy(model, envs, n_eval_episodes=20, return_episode_rewards=True)
    assert set(returns) <= {-1.0, 0.0, 1.0} and set(lengths) <= {1, 2, 3, 4, 5}
    assert not recwarn.list


def test_vec_monitor_counts_episodes(tmp_path: Path) -> None:
    """It says, as over any monitored environment, that its figures replace those that are there."""
    with pytest.warns(UserWarning, match="already wrapped with a `Monitor`"):
        envs = VecMonitor(ours(id=TTT), str(tmp_path / "mine"), info_keywords=("outcome", "seat"))
    envs.seed(0)
    envs.reset()
    rng, episodes = np.random.default_rng(0), 0
    for _ in range(20):
        infos = envs.step(choices(get_action_masks(envs), rng, 0.1))[3]
        assert all(("episode" in info) == ("outcome" in info) for info in infos)
        episodes += sum("episode" in info for info in infos)
    envs.close()
    assert len((tmp_path / "mine.monitor.csv").read_text().splitlines()) == 2 + episodes > 2 + BOARDS


ROLLOUTS = {"n_steps": 16, "device": "cpu"}
ALGORITHMS = {
    "DQN": (sb3.DQN, {"learning_starts": 100, "buffer_size": 2000, "device": "cpu"}),
    "PPO": (sb3.PPO, ROLLOUTS),
    "A2C": (sb3.A2C, ROLLOUTS),
    "MaskablePPO": (sb3_contrib.MaskablePPO, ROLLOUTS),
}


@pytest.mark.parametrize(
    ("name", "obs_type"),
    breadth([("MaskablePPO", "planes")], product(ALGORITHMS, ["planes", "board"])),
)
def test_an_algorithm_learns_the_same_as_on_a_dummy_vec_env(name: str, obs_type: str) -> None:
    """To the last bit of the last weight, and no warning is given."""
    algorithm, settings = ALGORITHMS[name]
    kwargs = {"id": TTT, "obs_type": obs_type, "play_as": "alternate"}
    models = [
        algorithm("MlpPolicy", make(num_envs=8, **kwargs), seed=0, **settings).learn(512) for make in (ours, dummy)
    ]
    mine, theirs = (model.policy.state_dict() for model in models)
    untrained = algorithm("MlpPolicy", ours(num_envs=8, **kwargs), seed=0, **settings).policy.state_dict()
    for key, weights in theirs.items():
        assert mine[key].equal(weights)
    assert any(not untrained[key].equal(weights) for key, weights in theirs.items())
    played = [[(episode["r"], episode["l"]) for episode in model.ep_info_buffer] for model in models]
    assert played[0] and played[0] == played[1]
