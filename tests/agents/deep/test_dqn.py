"""The masked DQN: what it may choose, what it learns from, and that it learns, by the exact measure."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tictac_env.arena import verdict
from tictac_env.games import GAMES
from tictac_env.observation import Observer
from tictac_env.policies import check_policy

pytest.importorskip("sb3_contrib")
import sb3_contrib
import stable_baselines3 as sb3
import torch
from sb3_pairs import C4, OFF_POLICY, TTT, self_play
from stable_baselines3.common.vec_env import VecFrameStack, VecNormalize

from tictac_agents import DQN, QRDQN, Snapshot, load_model
from tictac_agents.deep.networks import ILLEGAL_VALUE, MaskedDQNPolicy
from tictac_agents.plan import tuned

SMALL: dict[str, Any] = {**OFF_POLICY, "buffer_size": 4_000, "batch_size": 32}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    torch.set_num_threads(1)


def filled(model: sb3.DQN, rounds: int = 40) -> sb3.DQN:
    """The model with a replay buffer full of random play."""
    model.learning_starts = rounds * model.n_envs + 1
    return model.learn(rounds * model.n_envs)


@pytest.mark.parametrize("obs_type", ["planes", "board"])
def test_the_network_sees_the_mask(name: str, obs_type: str) -> None:
    envs = self_play(name, obs_type=obs_type)
    model = DQN("MlpPolicy", envs, **SMALL)
    envs.seed(0)
    observations = envs.reset()
    rng = np.random.default_rng(0)
    for _ in range(60):
        masks = envs.envs.action_masks()
        values = model.q_net(torch.as_tensor(observations)).detach().numpy()
        assert np.array_equal(values == np.float32(ILLEGAL_VALUE), masks == 0)
        observations, _, _, _ = envs.step((rng.random(masks.shape) * masks).argmax(axis=1))


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_no_illegal_action_is_ever_chosen(name: str, epsilon: float) -> None:
    """Not in warm-up, exploration or greedy play: the boards would raise."""
    settings = {"exploration_initial_eps": epsilon, "exploration_final_eps": epsilon, "learning_starts": 200}
    DQN("MlpPolicy", self_play(name), **settings, **SMALL).learn(1_000)


def test_qr_dqn_chooses_and_learns_from_legal_actions_alone(name: str, tmp_path: Path) -> None:
    envs = self_play(name)
    model = QRDQN("MlpPolicy", envs, gamma=-1.0, learning_starts=200, **SMALL)
    model.learn(1_000)  # the boards would raise
    rng, num_illegal = np.random.default_rng(0), 0
    observations = envs.reset()
    for _ in range(60):
        masks = envs.envs.action_masks()
        num_illegal += np.count_nonzero(masks == 0)
        for network in (model.quantile_net, model.quantile_net_target):
            quantiles = network(torch.as_tensor(observations)).detach().numpy()
            assert np.array_equal((quantiles == np.float32(ILLEGAL_VALUE)).all(axis=1), masks == 0)
        observations, _, _, _ = envs.step((rng.random(masks.shape) * masks).argmax(axis=1))
    assert num_illegal > 0
    observations, masks = envs.reset(), envs.envs.action_masks()
    for deterministic in (True, False):
        allowed = masks * (np.arange(masks.shape[1]) % 2)  # fewer than are legal
        actions = np.concatenate(
            [model.predict(observations, deterministic=deterministic, action_masks=allowed)[0] for _ in range(20)]
        )
        assert (actions % 2 == 1).all()
    model.save(tmp_path / "qr.zip")
    assert type(load_model(tmp_path / "qr.zip", name)) is sb3_contrib.QRDQN
    check_policy(pickle.loads(pickle.dumps(Snapshot(model))), name)


def test_qr_dqn_needs_observations_that_show_the_mask() -> None:
    with pytest.raises(ValueError, match="planes"):
        QRDQN("MlpPolicy", self_play(obs_type="code"), **SMALL)
    with pytest.raises(ValueError, match="norm_obs"):
        QRDQN("MlpPolicy", VecNormalize(self_play()), **SMALL)


def test_exploration_is_uniform_over_the_legal_actions_and_each_boards_own() -> None:
    model = DQN("MlpPolicy", self_play(TTT), **SMALL)
    model.exploration_rate = 1.0
    observation = np.zeros((2, 3, 3), np.int8)
    observation[0, 0, :2] = observation[1, 2, 1:] = 1
    drawn, _ = model.predict(np.repeat(observation[None], 5_000, axis=0))
    counts = np.bincount(drawn, minlength=9)
    assert set(np.flatnonzero(counts)) == {2, 3, 4, 5, 6}
    assert counts[counts > 0].min() > 900
    assert model.predict(observation)[0].shape == ()


@pytest.mark.parametrize("deterministic", [True, False])
def test_predict_obeys_the_mask_too(deterministic: bool) -> None:
    """And what the network sees to be taken stays so."""
    model = DQN("MlpPolicy", self_play(TTT), ema_decay=0.9, **SMALL)
    model.exploration_rate = 0.5
    observation = np.zeros((2, 3, 3), np.int8)
    observation[0, 0, 0] = 1
    for mask in (np.isin(range(9), [0, 2, 7]), [0, 0, 0, 0, 1, 0, 0, 0, 0], np.ones((1, 9), np.int8)):
        action, state = model.predict(observation, action_masks=mask, deterministic=deterministic)
        assert np.ravel(mask)[action] and action != 0 and action.shape == () and state is None
    many = np.repeat(observation[None], 9, axis=0)
    masks = np.eye(9, dtype=np.int8)
    masks[0, 3] = 1
    actions, _ = model.predict(many, action_masks=masks, deterministic=deterministic)
    assert actions.tolist() == [3, 1, 2, 3, 4, 5, 6, 7, 8]
    unmasked = model.predict(many, deterministic=True)[0]
    assert np.array_equal(model.predict(many, action_masks=np.ones((9, 9)), deterministic=True)[0], unmasked)
    for wrong in (np.eye(9)[0], np.zeros(9), np.ones(8), np.ones((2, 9)), 1):
        with pytest.raises(ValueError, match="action_masks"):
            model.predict(observation, action_masks=wrong, deterministic=deterministic)


def test_without_options_it_learns_what_stable_baselines3_learns() -> None:
    """Theirs with our masked networks, from the same replayed steps: the same weights to the last bit."""
    mine = filled(DQN("MlpPolicy", self_play(TTT), gamma=-1, double=False, symmetry=False, **SMALL))
    theirs = sb3.DQN(MaskedDQNPolicy, self_play(TTT), learning_rate=1e-3, gamma=-1, **SMALL)
    theirs._setup_learn(1)
    theirs.replay_buffer = mine.replay_buffer
    theirs.policy.load_state_dict(mine.policy.state_dict())
    for model in (mine, theirs):
        np.random.seed(1)  # noqa: NPY002  which Stable-Baselines3 draws from
        model.train(gradient_steps=5, batch_size=32)
    assert all(torch.equal(*pair) for pair in zip(mine.q_net.parameters(), theirs.q_net.parameters(), strict=True))


@pytest.mark.parametrize("double", [True, False])
def test_the_target_is_that_of_expected_sarsa(double: bool) -> None:
    """By hand: the best action, which with `double` the learning network chooses, or as often as said any legal one."""
    settings = {"gamma": -1, "double": double, "target_epsilon": 0.2}
    model = filled(DQN("MlpPolicy", self_play(TTT), **settings, **SMALL))
    with torch.no_grad():
        for weights in model.q_net_target.parameters():
            weights.add_(0.3 * torch.randn(weights.shape, generator=torch.Generator().manual_seed(0)))
    np.random.seed(1)  # noqa: NPY002  which Stable-Baselines3 draws from
    batch = model.replay_buffer.sample(256)
    with torch.no_grad():
        chosen = model.q_net(batch.observations).gather(1, batch.actions).squeeze(1)
        learning, target = (net(batch.next_observations) for net in (model.q_net, model.q_net_target))
    errors = []
    for row in range(256):
        legal = [action for action in range(9) if target[row, action] != ILLEGAL_VALUE]
        following = 0.0
        if not batch.dones[row]:
            best = max(legal, key=lambda action: float((learning if double else target)[row, action]))
            following = 0.8 * float(target[row, best]) + 0.2 * float(target[row, legal].mean())
        error = abs(float(chosen[row]) - (float(batch.rewards[row]) - following))
        errors.append(error**2 / 2 if error < 1 else error - 0.5)
    np.random.seed(1)  # noqa: NPY002
    model.train(gradient_steps=1, batch_size=256)
    assert model.logger.name_to_value["train/loss"] == pytest.approx(sum(errors) / 256, rel=1e-5)


def test_what_is_replayed_are_steps_of_the_game(name: str) -> None:
    """Under whatever symmetry: the action fills one empty cell, which then is the other side's."""
    game = GAMES[name]
    model = filled(DQN("MlpPolicy", self_play(name), **SMALL))
    observer = Observer(game)
    from tictac_env.observation import read_observation

    batch = model.replay_buffer.sample(300)
    originals = {one.tobytes() for one in model.replay_buffer.observations.reshape(-1, 2, game.rows, game.cols)}
    changed = 0
    for before, action, after in zip(
        *(part.numpy() for part in (batch.observations, batch.actions, batch.next_observations)), strict=True
    ):
        own, opp = read_observation(game, before)
        following = game.play(own, opp, int(action[0]))
        assert np.array_equal(observer.observe(*following, 0), after)
        changed += before.astype(np.int8).tobytes() not in originals
    assert changed


def test_averaged_weights_play_and_the_others_learn() -> None:
    model = DQN("MlpPolicy", self_play(TTT), ema_decay=0.9, **SMALL)
    began = [one.clone() for one in model.q_net.parameters()]
    filled(model).train(1, 32)
    average, raw = model.policy.q_net_ema, model.q_net
    for mean, first, now in zip(average.parameters(), began, raw.parameters(), strict=True):
        assert torch.allclose(mean, 0.9 * first + 0.1 * now, atol=1e-6)
    with torch.no_grad():
        list(average.parameters())[-1].copy_(torch.arange(9.0) * 1e3)
    assert model.predict(np.zeros((2, 3, 3), np.int8), deterministic=True)[0] == 8


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"ema_decay": 1.0}, "ema_decay"),
        ({"ema_decay": True}, "ema_decay"),
        ({"target_epsilon": -0.1}, "target_epsilon"),
        ({"double": 1}, "double"),
        ({"symmetry": None}, "symmetry"),
        ({"n_steps": 3}, "symmetry=False"),
        ({"optimize_memory_usage": True}, "symmetry=False"),
        ({"policy_kwargs": {"output": "tanh"}}, "output"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        DQN("MlpPolicy", self_play(TTT), **settings)


def test_returns_over_several_steps_and_smaller_buffers_are_of_games_as_they_were() -> None:
    smaller = {"optimize_memory_usage": True, "replay_buffer_kwargs": {"handle_timeout_termination": False}}
    for settings in ({"n_steps": 3, "gamma": -1}, smaller):
        DQN("MlpPolicy", self_play(TTT), symmetry=False, **settings, **SMALL).learn(200)


def test_observations_that_show_no_mask_are_refused() -> None:
    with pytest.raises(ValueError, match="obs_type"):
        DQN("MlpPolicy", self_play(TTT, obs_type="code"), buffer_size=10)
    space = gym.spaces.Box(0, 1, (3, 3, 2), np.int8)
    planes_last = gym.wrappers.TransformObservation(gym.make(TTT), lambda planes: np.moveaxis(planes, 0, -1), space)
    for env in (planes_last, VecFrameStack(self_play(TTT), 2), VecFrameStack(self_play(C4, obs_type="board"), 2)):
        with pytest.raises(ValueError, match="obs_type"):
            DQN("MlpPolicy", env, symmetry=False, buffer_size=10)


def test_symmetries_of_an_unknown_game_are_refused() -> None:
    class Theirs(gym.Env[Any, int]):
        observation_space = gym.spaces.Box(-1, 1, (3, 3), np.int8)
        action_space = gym.spaces.Discrete(9)

    with pytest.raises(ValueError, match="symmetry=True"):
        DQN("MlpPolicy", Theirs(), buffer_size=10)
    DQN("MlpPolicy", Theirs(), buffer_size=10, symmetry=False)


def test_a_seed_settles_everything() -> None:
    models = [DQN("MlpPolicy", self_play(TTT), ema_decay=0.9, **SMALL | {"seed": 3}).learn(400) for _ in range(2)]
    weights = [model.policy.state_dict() for model in models]
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


@pytest.mark.parametrize("obs_type", ["planes", "board"])
def test_afterstates_are_the_positions_that_actions_lead_to(name: str, obs_type: str) -> None:
    game, envs = GAMES[name], self_play(name, obs_type=obs_type)
    net = DQN("AfterstatePolicy", envs, **SMALL).q_net
    shown: list[torch.Tensor] = []
    net.q_net.register_forward_pre_hook(lambda module, inputs: shown.append(inputs[0]))
    envs.seed(0)
    observations = envs.reset()
    board = Observer(game, "board")
    rng = np.random.default_rng(0)
    for _ in range(40):
        masks = envs.envs.action_masks()
        values = net(torch.as_tensor(observations)).detach().numpy()
        assert np.array_equal(values == np.float32(ILLEGAL_VALUE), masks == 0)
        for row, position in enumerate(envs.envs.batch):
            for action in position.legal_actions:
                after = position.play(action)
                expected = board.observe(after.opp, after.own, position.seat)
                boards_shown = shown[-1].reshape(*masks.shape, *expected.shape)
                assert np.array_equal(boards_shown[row, action], expected)
        observations, _, _, _ = envs.step((rng.random(masks.shape) * masks).argmax(axis=1))


@pytest.mark.parametrize(
    ("name", "sizes"), [("S2", [9, 36, 36, 9]), ("S2-self-play", [9, 36, 36, 9]), ("S4-prequel", [9, 18, 18, 1])]
)
def test_presets_have_the_published_layers(name: str, sizes: list[int]) -> None:
    net = DQN.preset(name, seed=0, device="cpu").q_net
    layers = [one for one in net.q_net if isinstance(one, torch.nn.Linear)]
    assert [layers[0].in_features, *(layer.out_features for layer in layers)] == sizes
    if name == "S2":
        values = net(torch.zeros(1, 3, 3))
        assert ((values > 0) & (values < 1)).all()


def test_rewards_may_be_normalised() -> None:
    """Games are won or lost by 1; divided by the deviation of the returns, 0.5 here, that is 2."""
    envs = VecNormalize(self_play(TTT), norm_obs=False, training=False)
    envs.ret_rms.var = np.array(0.25)
    model = filled(DQN("MlpPolicy", envs, **SMALL))
    rewards = model.replay_buffer.sample(300, env=envs).rewards.numpy()
    assert np.allclose(np.unique(np.abs(rewards).round(3)), [0, 2])


def test_a_short_run_learns_to_beat_random_play() -> None:
    """A part of the tuned run: it wins nearly all that can be won against random play as first."""
    model = DQN.from_plan(tuned("DQN").changed(learning_starts=1_000, batch_size=128), seed=0, device="cpu")
    before, after = verdict(model), verdict(model.learn(12_000))
    assert after.as_first.against_random.wins > 0.9 > before.as_first.against_random.wins
    assert after.as_second.against_random.wins > 0.75 > before.as_second.against_random.wins


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["DQN", "MaskablePPO"])
def test_it_becomes_unbeatable(algorithm: str) -> None:
    import tictac_agents

    chosen = tuned(algorithm)
    model = getattr(tictac_agents, algorithm).from_plan(chosen, seed=0, device="cpu")
    found = verdict(model.learn(chosen.length))
    assert found.unbeatable
    assert found.as_first.against_random.wins > 0.97
    assert found.as_second.against_random.wins > 0.88
