"""Stable-Baselines3's models as opponents and as players: observations, masks, specs and copies."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from gymnasium.wrappers import (
    DtypeObservation,
    FlattenObservation,
    FrameStackObservation,
    NormalizeObservation,
    RescaleObservation,
)

import tictac_agents
from tictac_env import connect_four_v0
from tictac_env.arena import move_accuracy, play_match, round_robin, verdict
from tictac_env.observation import Observer
from tictac_env.policies import ModelPolicy, Policy, load_player
from tictac_env.position import IllegalMove, Position
from tictac_env.position_batch import PositionBatch
from tictac_env.wrappers import MaskedObservation, OpponentPolicyEnv, OpponentPool

pytest.importorskip("sb3_contrib")
import sb3_contrib
import stable_baselines3 as sb3
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
TINY = {"net_arch": [4]}


def dqn(env: gym.Env[Any, Any]) -> Any:
    return sb3.DQN("MlpPolicy", env, buffer_size=1, policy_kwargs=TINY, seed=0, device="cpu")


def ppo(env: gym.Env[Any, Any]) -> Any:
    return sb3.PPO("MlpPolicy", env, n_steps=8, batch_size=8, policy_kwargs=TINY, seed=0, device="cpu")


def maskable(env: gym.Env[Any, Any]) -> Any:
    return sb3_contrib.MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=8, policy_kwargs=TINY, seed=0, device="cpu")


def one_sided(name: str, obs_type: str) -> gym.Env[Any, Any]:
    """An environment to make a model for; "flat" is planes, flattened, and "last" planes of PettingZoo's layout."""
    if obs_type == "last":
        return OpponentPolicyEnv(connect_four_v0.env())
    if obs_type == "flat":
        return FlattenObservation(gym.make(name, opponent=None))
    return gym.make(name, opponent=None, obs_type=obs_type)


def what_it_sees(position: Position, obs_type: str) -> Any:
    observer = Observer(position.game, {"flat": "planes", "last": "planes"}.get(obs_type, obs_type))
    observation = observer.observe(position.own, position.opp, position.seat)
    if obs_type == "last":
        return np.moveaxis(observation, 0, -1)
    return observation.reshape(-1) if obs_type == "flat" else observation


@pytest.mark.parametrize(
    ("name", "obs_type"),
    [(TTT, "planes"), (TTT, "board"), (TTT, "code"), (TTT, "flat"), (C4, "planes"), (C4, "board"), (C4, "last")],
)
@pytest.mark.parametrize("make", [dqn, ppo, maskable])
def test_a_model_sees_what_it_was_made_for(make: Callable[..., Any], name: str, obs_type: str) -> None:
    """Whatever the learner sees, as an opponent, as a player and in a pool."""
    model = make(one_sided(name, obs_type))
    position = Position.start(name)
    masks = {"action_masks": np.ones(position.game.num_actions, np.int8)} if make is maskable else {}
    expected = int(model.predict(what_it_sees(position, obs_type), deterministic=True, **masks)[0])
    policy = ModelPolicy(model, masked=False)
    assert policy.act(position, seed=0) == expected
    for opponent in (policy, OpponentPool([policy])):
        for learners in ("planes", "board"):
            env = gym.make(name, opponent=opponent, play_as="second", obs_type=learners)
            assert env.reset(seed=0)[1]["opponent_action"] == expected
    for moves in ("5", "51", "3524"):
        position = Position.from_moves(name, moves)
        if make is maskable:
            masks = {"action_masks": Observer(position.game).mask(position.game.legal(position.own, position.opp))}
        seen = what_it_sees(position, obs_type)
        assert policy.act(position, seed=0) == int(model.predict(seen, deterministic=True, **masks)[0])


@pytest.mark.parametrize("make", [sb3.DQN, sb3_contrib.MaskablePPO])
def test_a_model_of_masked_observations_sees_observation_and_mask(make: Any) -> None:
    env = MaskedObservation(FlattenObservation(gym.make(TTT, opponent=None)), dtype=np.float32)
    sizes: dict[str, Any] = {"buffer_size": 1} if make is sb3.DQN else {"n_steps": 8, "batch_size": 8}
    model = make("MultiInputPolicy", env, policy_kwargs=TINY, seed=0, device="cpu", **sizes)
    policy = ModelPolicy(model, masked=False)
    positions = [Position.from_moves(TTT, moves) for moves in ("", "5", "51", "3524")]
    expected = []
    for position in positions:
        mask = Observer(position.game).mask(position.game.legal(position.own, position.opp))
        seen = {"observation": what_it_sees(position, "flat"), "action_mask": mask.astype(np.float32)}
        masks = {} if make is sb3.DQN else {"action_masks": mask}
        expected.append(int(model.predict(seen, deterministic=True, **masks)[0]))
        assert policy.act(position, seed=0) == expected[-1]
    seeds = np.zeros(4, np.int64)
    assert policy.act_many(PositionBatch.of(positions), seeds).tolist() == expected
    assert play_match(model, "random", TTT, games=4).total.games == 4


def test_a_maskable_model_plays_legal_moves_to_the_end() -> None:
    model = maskable(one_sided(C4, "planes"))
    for player in (model, ModelPolicy(model)):
        assert play_match(player, "random", C4, games=10).total.games == 10
        env = gym.make(C4, opponent=ModelPolicy(model), play_as="random")
        for seed in range(5):
            _, info = env.reset(seed=seed)
            over = False
            while not over:
                _, _, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
    table = round_robin({"model": model, "random": "random", "rule": "rule"}, C4, games=2)
    assert set(table.names) == {"model", "random", "rule"}


def test_a_model_without_masks_that_plays_an_illegal_move_is_named() -> None:
    """Wherever it happens."""
    model = ModelPolicy(dqn(one_sided(TTT, "planes")), masked=False)
    envs = gym.make_vec(TTT, num_envs=8, opponent=model, play_as="second", illegal="raise")

    def play() -> None:
        envs.reset(seed=0)
        while True:
            envs.step(envs.sample_actions())

    message = r"DQN.* illegal here .*takes no action_masks"
    for fails in (lambda: verdict(model), play):
        with pytest.raises(IllegalMove, match=message):
            fails()
    match = play_match(model, "random", TTT, games=100)
    assert match.forfeits and all(re.search(message, forfeit.why) for forfeit in match.forfeits)


# Observation spaces


@pytest.mark.parametrize(
    ("space", "obs_type"),
    [
        (spaces.Box(0, 1, (2, 3, 3), np.int8), "planes"),
        (spaces.Box(0, 1, (18,), np.int8), "planes"),
        (spaces.Box(0, 1, (18,), np.float32), "planes"),
        (spaces.Box(0, 1, (2, 3, 3), np.float32), "planes"),
        (spaces.Box(0, 1, (3, 3, 2), np.int8), "planes, last"),
        (spaces.Box(0, 1, (3, 3, 2), np.float32), "planes, last"),
        (spaces.Box(-1, 1, (3, 3), np.int8), "board"),
        (spaces.Box(-1, 1, (9,), np.int8), "board"),
        (spaces.Box(-1, 1, (3, 3), np.float32), "board"),
        (spaces.Box(-1, 1, (9,), np.float64), "board"),
        (spaces.Discrete(3**9), "code"),
        (None, "planes"),
    ],
    ids=str,
)
def test_the_observation_space_says_what_a_model_sees(space: Any, obs_type: str) -> None:
    shown = []

    class Model:
        def predict(self, observation: Any, deterministic: bool) -> tuple[int, None]:
            shown.append(observation)
            return 0, None

    model = Model()
    if space is not None:
        model.observation_space = space  # type: ignore[attr-defined]
    position = Position.from_moves(TTT, "51")
    ModelPolicy(model).act(position, 0)
    expected = what_it_sees(position, "last" if obs_type == "planes, last" else obs_type)
    assert np.array_equal(shown[0], np.reshape(expected, np.shape(shown[0])))
    if space is not None:
        assert np.shape(shown[0]) == space.shape and np.asarray(shown[0]).dtype == space.dtype


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0, 1, (2, 6, 7), np.int8),
        spaces.Box(0, 1, (17,), np.int8),
        spaces.Box(0, 255, (2, 3, 3), np.uint8),
        spaces.Box(-1, 1, (2, 3, 3), np.float32),  # rescaled, or two boards
        spaces.Box(-np.inf, np.inf, (9,), np.float64),
        spaces.Discrete(5),
        spaces.Dict(),
    ],
    ids=str,
)
def test_other_spaces_are_refused(space: Any) -> None:
    class Model:
        observation_space = space

        def predict(self, observation: Any, deterministic: bool) -> tuple[int, None]:
            raise AssertionError("it is not asked")

    with pytest.raises(ValueError, match=r"no observation of .* fits the model's observation space"):
        ModelPolicy(Model()).act(Position.start(TTT), 0)
    with pytest.raises(ValueError, match=r"no observation of .* fits"):
        gym.make(TTT, opponent=ModelPolicy(Model()), play_as="second")


def floats(name: str = TTT, obs_type: str = "planes") -> gym.Env[Any, Any]:
    return DtypeObservation(gym.make(name, obs_type=obs_type), np.float32)


CHANGED: dict[str, Callable[[], Any]] = {
    "RescaleObservation": lambda: RescaleObservation(floats(), np.float32(-1), np.float32(1)),
    "NormalizeObservation": lambda: NormalizeObservation(gym.make(C4, obs_type="board")),
    "FrameStackObservation": lambda: FrameStackObservation(gym.make(TTT, obs_type="board"), 2),  # of the planes' shape
    "VecFrameStack": lambda: VecFrameStack(DummyVecEnv([lambda: gym.make(C4)]), 2),
}


@pytest.mark.parametrize("wrapper", CHANGED)
def test_a_model_of_changed_observations_is_refused_by_the_name_of_the_wrapper(wrapper: str, tmp_path: Path) -> None:
    """Everywhere: it would see boards that it has never seen, and be judged for what it does there."""
    model = ppo(CHANGED[wrapper]())
    game = C4 if model.action_space.n == 7 else TTT
    model.save(tmp_path / "model.zip")
    for use in (
        lambda: play_match(model, "random", game, games=1),
        lambda: move_accuracy(model, "C4-Choose-v1") if game == C4 else verdict(model),
        lambda: tictac_agents.Snapshot(model),
        lambda: round_robin([model, "random"], game),
        lambda: gym.make(game, opponent=model, play_as="second").reset(),
        lambda: gym.make_vec(game, num_envs=2, opponent=model, play_as="second").reset(),
        lambda: load_player(tmp_path / "model.zip", game),
    ):
        with pytest.raises(ValueError, match=f"no observation of .* observation space .*{wrapper}"):
            use()


@pytest.mark.parametrize("make", [dqn, ppo, maskable])
def test_a_model_sees_the_boards_through_its_vec_normalize(make: Callable[..., Any]) -> None:
    """And a snapshot through a copy of it, which no longer changes."""
    boards = VecNormalize(DummyVecEnv([lambda: floats(obs_type="board")]))
    boards.obs_rms.mean[:] = np.linspace(-9, 9, 9).reshape(3, 3)
    model = make(boards)
    batch = PositionBatch.of([Position.from_moves(TTT, moves) for moves in ("", "5", "51", "3524")])
    seeds = np.zeros(4, np.int64)
    masks = {"action_masks": batch.action_masks()} if make is maskable else {}

    def predicted(observations: Any) -> list[int]:
        return model.predict(observations, deterministic=True, **masks)[0].tolist()  # type: ignore[no-any-return]

    expected = predicted(boards.normalize_obs(batch.observations("board")))
    assert expected != predicted(batch.observations("board"))
    policy = ModelPolicy(model, masked=False)
    assert policy.act_many(batch, seeds).tolist() == [policy.act(position, 0) for position in batch] == expected
    snapshot, before = tictac_agents.Snapshot(model), ModelPolicy(model).act_many(batch, seeds).tolist()
    boards.obs_rms.mean[:] *= -1
    assert snapshot.act_many(batch, seeds).tolist() == before != ModelPolicy(model).act_many(batch, seeds).tolist()


@pytest.mark.parametrize("obs_type", ["planes", "board"])
def test_a_file_without_the_statistics_of_its_vec_normalize_is_refused(obs_type: str, tmp_path: Path) -> None:
    for single in (lambda: gym.make(TTT, obs_type=obs_type), lambda: floats(obs_type=obs_type)):
        boards = VecNormalize(DummyVecEnv([single]))
        ppo(boards).learn(8).save(tmp_path / "model.zip")
        with pytest.raises(ValueError, match=r"model\.zip .* learned through VecNormalize"):
            load_player(tmp_path / "model.zip", TTT)
        alone = sb3.PPO.load(tmp_path / "model.zip", device="cpu")
        for use in (lambda: verdict(alone), lambda: tictac_agents.Snapshot(alone)):  # noqa: B023
            with pytest.raises(ValueError, match="PPO has learned through VecNormalize"):
                use()
        assert verdict(sb3.PPO.load(tmp_path / "model.zip", boards, device="cpu")).as_first
    boards.norm_obs = False  # which normalises rewards only
    ppo(boards).learn(8).save(tmp_path / "model.zip")
    assert verdict(load_player(tmp_path / "model.zip", TTT).policy).as_first


def test_a_model_trained_on_pettingzoos_game_plays_ours() -> None:
    model = maskable(OpponentPolicyEnv(pettingzoo.make("aec", "classic/connect_four_v3")))
    assert play_match(model, "random", C4, games=6).total.games == 6
    env = OpponentPolicyEnv(pettingzoo.make("aec", "classic/connect_four_v3"), model, "second")
    ours = gym.make(C4, opponent=ModelPolicy(model), play_as="second")
    for action in (0, 1, 0, 1):
        assert env.reset()[1]["opponent_action"] == ours.reset()[1]["opponent_action"]
        assert env.step(action)[4]["opponent_action"] == ours.step(action)[4]["opponent_action"]


def test_a_model_of_changed_observations_plays_no_other_packages_boards() -> None:
    model = maskable(NormalizeObservation(OpponentPolicyEnv(connect_four_v0.env())))
    for aec in (connect_four_v0.env(), pettingzoo.make("aec", "classic/connect_four_v3")):
        for opponent in (model, OpponentPool([model])):
            with pytest.raises(ValueError, match=r"no observation of .* fits .* observation space"):
                OpponentPolicyEnv(aec, opponent, "second").reset()


# Specs and copies


def test_the_spec_stays_whole_and_does_not_copy_the_model() -> None:
    model = maskable(one_sided(TTT, "planes"))
    policy = tictac_agents.ModelPolicy(model)
    assert type(policy) is ModelPolicy
    env = FlattenObservation(gym.make(TTT, opponent=policy, play_as="second"))
    assert env.spec is not None and env.unwrapped.spec is not None
    assert env.spec.kwargs == {"opponent": policy, "play_as": "second"}
    for spec in (copy.deepcopy(env.spec), copy.copy(env.unwrapped.spec)):
        assert spec.kwargs["opponent"] is policy
        twin = gym.make(spec)
        assert twin.unwrapped.opponent is policy and twin.unwrapped.opponent.model is model
    assert gym.make(env.spec).reset(seed=0)[1]["seat"] == 1


def test_copies_of_learners_play_as_they_did() -> None:
    """And not as what they learn later; a model as a `Snapshot`."""
    learner = tictac_agents.QLearning(TTT, seed=0).learn(total_episodes=20, progress_bar=False)
    model = sb3.A2C("MlpPolicy", gym.make(TTT), policy_kwargs=dict(TINY), seed=0, device="cpu")  # which A2C adds to
    pool = OpponentPool(["random", copy.deepcopy(learner), tictac_agents.Snapshot(model, "A2C")])
    assert str(pool) == "pool(random, QLearning, A2C)"
    positions = [Position.from_moves(TTT, moves) for moves in ("", "1", "5", "15", "51", "159", "537")]

    def moves_of(player: Policy) -> list[int]:
        return [player.act(position, 0) for position in positions]

    members = [pool.member(number, positions[0].game) for number in (1, 2)]
    before = [moves_of(member) for member in members]
    learner.learn(total_episodes=400, progress_bar=False)
    model.policy.action_net.weight.data.neg_()
    assert [moves_of(member) for member in members] == before
    assert moves_of(learner) not in before and moves_of(ModelPolicy(model)) not in before
