"""One set of settings in code, on the command line and in the checkpoint."""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

pytest.importorskip("sb3_contrib")
import sb3_contrib
import stable_baselines3 as sb3
from conftest import ALL_GAMES
from stable_baselines3.common.vec_env import DummyVecEnv

import tictac_agents
from tictac_agents import AGENTS, DQN, MaskablePPO, SB3VecEnv, trained
from tictac_agents.deep.settings import DQNSettings, MaskablePPOSettings
from tictac_agents.plan import Plan, preset, presets, settings_class, tuned
from tictac_agents.settings import Allowed
from tictac_apps.cli.train import offered
from tictac_env.arena import verdict
from tictac_env.games import Game, KInARow, describe_game, get_game

KINDS = {"DQN": DQNSettings, "MaskablePPO": MaskablePPOSettings}
THEIRS = {"DQN": sb3.DQN, "MaskablePPO": sb3_contrib.MaskablePPO}
OURS = {"DQN": {"double", "symmetry", "target_epsilon", "ema_decay"}, "MaskablePPO": set()}
BOTH = pytest.mark.parametrize("algorithm", KINDS)


@BOTH
def test_what_is_not_given_is_as_in_stable_baselines3(algorithm: str) -> None:
    theirs = inspect.signature(THEIRS[algorithm]).parameters
    own = {name: value for name, value in KINDS[algorithm]().keywords().items() if name != "policy"}
    differ = {name for name, value in own.items() if name in theirs and value != theirs[name].default}
    assert differ == {"policy_kwargs", "gamma"} | ({"learning_rate"} if algorithm == "DQN" else set())
    assert Plan.of(algorithm).discount == theirs["gamma"].default
    assert set(own) - set(theirs) == OURS[algorithm]


@pytest.mark.parametrize("agent", trained("network", "games", "table"))
def test_every_setting_is_explained(agent: str) -> None:
    explained = offered(agent)
    assert all(allowed.help and not allowed.help.endswith(".") for allowed in explained.values())
    assert set(explained) == set(tuned(agent).to_dict()) - {"agent", "seed"}
    constructor = inspect.signature(getattr(tictac_agents, agent)).parameters
    own = settings_class(agent).allowed()
    assert AGENTS[agent].kind == "network" or list(own) == [*list(constructor)[-1:], *list(constructor)[1:-1]]
    if AGENTS[agent].kind != "network":
        assert all(f"        {name}: " in getattr(tictac_agents, agent).__doc__ for name in own)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1e-9, 1, "above 0, up to 1"), (0, 1, "0 to 1"), (-1, 1e6, "-1 to 1,000,000"), (0.01, 2, "0.01 to 2"),
        (1, math.inf, "at least 1"), (1e-6, math.inf, "above 0"), (0, math.inf, ""), (-math.inf, math.inf, ""),
    ],
)  # fmt: skip
def test_a_range_is_written_as_people_write_it(low: float, high: float, words: str) -> None:
    allowed = Allowed("a number", low, high, (), True)
    assert allowed.range == words and allowed.text == (f"a number ({words})" if words else "a number")


REFUSED = {
    "NTupleTD": (lambda game: not isinstance(game, KInARow), "needs a game of the KInARow family"),
    "S2Network": (lambda game: game.num_actions < game.cells, "needs a game in which each cell is an action"),
}
"""The games that an agent cannot play, and what it says."""


@pytest.mark.parametrize("agent", trained("network", "games", "table"))
def test_an_agent_needs_nothing_but_its_game(agent: str) -> None:
    """From the smallest to 63 bits, and on a game outside the family."""
    cannot, message = REFUSED.get(agent, (lambda game: False, ""))
    for game in ALL_GAMES:
        plan = Plan.of(agent, game=describe_game(game))
        if cannot(game):
            with pytest.raises(ValueError, match=message):
                plan.new_agent()
        else:
            plan.new_agent()


@pytest.mark.parametrize("agent", ["NTupleTD", "AlphaZero"])
def test_tuples_fit_a_small_board_and_learn_it(agent: str) -> None:
    learner = getattr(tictac_agents, agent)("TicTacToe-v0", seed=0).learn(512, progress_bar=False)
    assert verdict(learner, "TicTacToe-v0").unbeatable


@pytest.mark.parametrize("agent", ["NTupleTD", "AlphaZero"])
@pytest.mark.parametrize("game", ["TicTacToe-v0", get_game("TicTacToe-v0"), "ConnectFour-v0", "KInARow-v0:4x5-4"])
def test_a_constructor_takes_the_defaults_of_its_game(agent: str, game: str | Game, tmp_path: Path) -> None:
    learner, plan = getattr(tictac_agents, agent)(game, seed=3), tuned(agent, describe_game(get_game(game)))
    own = {name: value for name, value in settings_class(agent).TUNED["TicTacToe-v0"].items() if name != "total"}
    usual = {name: own[name] if plan.rules.cells == 9 else getattr(settings_class(agent)(), name) for name in own}
    assert {name: getattr(learner.settings, name) for name in usual} == usual
    assert learner.settings == plan.changed(seed=3).settings == Plan.of(agent, game=plan.game, seed=3).settings
    assert getattr(tictac_agents, agent)(game, seed=3, tuples=5).settings == learner.settings.changed(tuples=5)
    learner.save(tmp_path / "agent.npz")
    assert type(learner).load(tmp_path / "agent.npz").settings == learner.settings


@BOTH
@pytest.mark.parametrize("game", ["TicTacToe-v0", "ConnectFour-v0", "KInARow-v0:4x5-4"])
def test_gamma_seat_and_start_follow_from_the_opponent(algorithm: str, game: str) -> None:
    plain = Plan.of(algorithm, game=game, opponent=None)
    assert (plain.discount, plain.seat, plain.changed(opponent="rule").discount) == (-1.0, "first", 0.99)
    if game in KINDS[algorithm].TUNED:
        self_play = tuned(algorithm, game)
        lesson = self_play.changed(opponent="rule")
        assert (lesson.discount, lesson.seat, lesson.start) == (1.0, "alternate", "empty")
        given = self_play.changed(opponent="rule", gamma=0.9, play_as="second", start="random:2")
        assert (given.discount, given.seat, given.start) == (0.9, "second", "random:2")
        assert lesson.changed(opponent=None, start=self_play.start) == self_play.changed(play_as=None)
        assert lesson.changed(opponent="minimax:2").discount == 1.0


@BOTH
def test_a_model_takes_the_sign_of_gamma_from_its_boards(algorithm: str) -> None:
    made, small = getattr(tictac_agents, algorithm), {"device": "cpu", "policy_kwargs": {"net_arch": [8]}}
    small |= {"buffer_size": 100} if algorithm == "DQN" else {"n_steps": 8}
    self_play, lesson = SB3VecEnv("TicTacToe-v0", 2, opponent=None), SB3VecEnv("TicTacToe-v0", 2, opponent="rule")
    model = made("MlpPolicy", self_play, **small)
    assert model.gamma == model.plan.discount == -1
    assert algorithm == "DQN" or model.rollout_buffer.gamma == -1
    assert made("MlpPolicy", self_play, gamma=-0.9, **small).gamma == -0.9
    assert made("MlpPolicy", lesson, **small).gamma == 0.99
    with pytest.raises(ValueError, match="gamma must be at least 0 with opponent='rule'"):
        model.set_env(lesson)
    assert model.env is self_play and model.plan.opponent is None
    for boards, gamma in ((self_play, 0.99), (lesson, -1)):
        with pytest.raises(ValueError, match=f"gamma must be .* not {gamma}"):
            made("MlpPolicy", boards, gamma=gamma, **small)
        with pytest.raises(ValueError, match=f"gamma must be .* not {gamma}"):
            Plan.of(algorithm, opponent=None if boards is self_play else "rule", gamma=gamma)


@pytest.mark.parametrize("agent", trained("network", "games", "table"))
def test_plans_come_back_from_json(agent: str) -> None:
    for plan in (tuned(agent), *presets(agent).values(), *(tuned(agent, game) for game in settings_class(agent).TUNED)):
        assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"gama": 0.9}, "did you mean gamma"),
        ({"batch_size": "many"}, "batch_size must be an integer"),
        ({"batch_size": True}, "batch_size must be an integer"),
        ({"learning_rate": (1e-3, 1e-4, 1e-5)}, "learning_rate must be a number"),
        ({"policy_kwargs": [64]}, "policy_kwargs must be .*Mapping"),
        ({"opponent": 3}, "opponent must be str"),
        ({"learning_rate": (1e-3, -1e-4)}, r"learning_rate\[1\] must be a number in \[0, inf\]"),
        ({"gamma": 9.0}, r"gamma must be a number in \[-1, 1\]"),
        ({"gamma": float("nan")}, "gamma must be a number"),
        ({"ema_decay": 1.0}, "ema_decay must be below 1"),
        ({"exploration_final_eps": 2.0}, "exploration_final_eps must be a number"),
        ({"buffer_size": 0}, "buffer_size must be an integer"),
        ({"gradient_steps": -2}, "gradient_steps must be an integer"),
        ({"train_freq": 0}, "train_freq must be an integer in \\[1, inf\\]"),
        ({"train_freq": (4, "steps")}, "the unit of train_freq must be one of 'step', 'episode'"),
        ({"num_envs": 0}, "num_envs must be an integer"),
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Plan.of("DQN", **wrong)
    with pytest.raises(ValueError, match=message):
        tuned("DQN").changed(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"clip_range": -0.1}, {"gae_lambda": 1.5}, {"n_epochs": 0}, {"learning_rate": [1e-3]}]
)
def test_wrong_keywords_of_a_model_are_named(wrong: dict[str, Any]) -> None:
    name = next(iter(wrong))
    with pytest.raises(ValueError, match=name):
        MaskablePPOSettings(**wrong)
    with pytest.raises(ValueError, match=name):
        MaskablePPO("MlpPolicy", "TicTacToe-v0", **wrong)


def test_wrong_boards_are_named() -> None:
    with pytest.raises(ValueError, match=r"not .anywhere."):
        Plan.of("DQN", start="anywhere").boards()
    with pytest.raises(ValueError, match="a plan of DQN"):
        DQN.from_plan(Plan.of("MaskablePPO"))
    with pytest.raises(ValueError, match="optimizer_class"):
        DQN.from_plan(Plan.of("DQN", policy_kwargs={"optimizer_class": "os.system"}))


def test_the_tuned_settings_and_presets_are_found_by_name() -> None:
    assert DQN.preset("S4-prequel", seed=0, device="cpu").plan == preset("DQN", "S4-prequel").changed(seed=0)
    assert DQN.preset("S2", device="cpu", num_envs=2).n_envs == 2
    for find in (lambda: tuned("DQM"), lambda: preset("DQN", "S5"), lambda: MaskablePPO.preset("S2")):
        with pytest.raises(ValueError, match=r"DQM|has no preset .S"):
            find()


@pytest.mark.parametrize(
    ("plan", "ratio"),
    [
        (tuned("DQN"), 1 / 16),
        (tuned("MaskablePPO"), 4 / 1024),
        (Plan.of("MaskablePPO", batch_size=None, n_steps=8, n_epochs=4, num_envs=2), 4 / 16),
        (Plan.of("DQN", train_freq=(4, "step"), gradient_steps=2, num_envs=2), 1 / 4),
        (Plan.of("DQN", train_freq=(1, "episode"), gradient_steps=-1), 1),
    ],
)
def test_gradient_steps_are_counted(plan: Any, ratio: float) -> None:
    assert plan.settings.update_to_data_ratio(plan.num_envs) == ratio
    with pytest.raises(ValueError, match="train_freq"):
        DQNSettings(train_freq=(1, "episode")).update_to_data_ratio(1)


def test_the_boards_are_those_described() -> None:
    boards = tuned("DQN").boards()
    assert boards.num_envs == 64 and boards.get_attr("opponent")[0] is None
    assert len(boards.get_attr("arguments")[0].start) == 4520
    sizes = {"id": "KInARow-v0", "rows": 3, "cols": 4, "connect": 3, "gravity": True}
    assert Plan.of("DQN", game=sizes).boards(num_envs=2).get_attr("game")[0].cols == 4
    for opponent, seat in (("rule", "alternate"), (None, "first")):
        assert Plan.of("DQN", opponent=opponent).boards().get_attr("arguments")[0].play_as == seat
    assert DQN("MlpPolicy", "TicTacToe-v0", buffer_size=10).plan.seat == "alternate"
    env = DummyVecEnv([lambda: gym.make("TicTacToe-v0", opponent="minimax", obs_type="board")])
    plan = DQN("MlpPolicy", env, buffer_size=10).plan
    assert (plan.opponent, plan.obs_type, plan.num_envs) == ("minimax", "board", 1)


@BOTH
def test_the_checkpoint_holds_the_plan(algorithm: str, tmp_path: Path) -> None:
    """All of them if the model was made from settings, otherwise those that its boards and keywords give."""
    made = getattr(tictac_agents, algorithm)
    plan = tuned(algorithm).changed(num_envs=8, policy_kwargs={"net_arch": [8], "activation_fn": "Tanh"})
    model = made.from_plan(plan, seed=3, device="cpu")
    assert model.plan == plan.changed(seed=3)
    model.save(tmp_path / "model")
    assert made.load(tmp_path / "model", device="cpu").plan == plan, "a run that is continued is seeded anew"
    assert made.load(tmp_path / "model", device="cpu", gamma=-0.5).plan == plan.changed(gamma=-0.5)
    boards = {"opponent": "rule", "play_as": "second"}
    of_keywords = made("MlpPolicy", SB3VecEnv("ConnectFour-v0", 4, **boards), gamma=0.9).plan
    rewards = (1.0, 0.0, -1.0, 0.0)
    assert of_keywords == Plan.of(algorithm, game="ConnectFour-v0", num_envs=4, gamma=0.9, rewards=rewards, **boards)


@pytest.mark.parametrize("name", trained("table"))
def test_presets_of_tables_are_settings(name: str) -> None:
    learner = getattr(tictac_agents, name)
    for of, plan in presets(name).items():
        one, other = learner.preset(of, seed=0), plan.changed(seed=0).new_agent()
        assert one.settings == other.settings == plan.settings.changed(seed=0)
        assert one.env.unwrapped.describe() == other.env.unwrapped.describe()


def test_sizes_of_a_family_are_a_game() -> None:
    plan = Plan.of("QLearning", game={"id": "KInARow-v0", "rows": 3, "cols": 4, "connect": 3})
    assert plan.env().unwrapped.game == plan.rules and plan.rules.cells == 12 and plan.is_small
