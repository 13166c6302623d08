"""One set of settings in code, on the command line and in the checkpoint."""

from __future__ import annotations

import dataclasses
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from tictac_agents.command_line import explanations
from tictac_agents.deep.settings import PRESETS, TUNED, DQNSettings, MaskablePPOSettings, preset, tuned
from tictac_agents.games_settings import games_settings
from tictac_agents.settings import GameSettings, Settings
from tictac_agents.tabular.settings import preset_settings, tabular_settings

pytest.importorskip("sb3_contrib")
import sb3_contrib
import stable_baselines3 as sb3
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

import tictac_agents
from tictac_agents import (
    DQN,
    FittedQ,
    GameTree,
    MaskablePPO,
    MonteCarlo,
    NTupleTD,
    QLearning,
    S0ValueTD,
    S2Network,
    Sarsa,
    SB3VecEnv,
    ValueTD,
    train,
)
from tictac_env.arena import play_match, verdict

KINDS = {"DQN": DQNSettings, "MaskablePPO": MaskablePPOSettings}
LEARNERS = (MonteCarlo, QLearning, S0ValueTD, Sarsa, ValueTD)
THEIRS = {"DQN": sb3.DQN, "MaskablePPO": sb3_contrib.MaskablePPO}
ALL = [settings for table in (*TUNED.values(), *PRESETS.values()) for settings in table.values()]
TINY = ["--num-envs", "8", "--total-timesteps", "256", "--policy-kwargs", '{"net_arch": [8]}']
SHORT = {"DQN": ["--learning-starts", "64", "--batch-size", "16"], "MaskablePPO": ["--n-steps", "16"]}


@pytest.mark.parametrize("algorithm", KINDS)
def test_what_is_not_given_is_as_in_stable_baselines3(algorithm: str) -> None:
    kind = KINDS[algorithm]
    theirs = inspect.signature(THEIRS[algorithm]).parameters
    own = kind().keywords()
    differ = {name for name, value in own.items() if name in theirs and value != theirs[name].default}
    assert differ == {"policy_kwargs", "gamma"} | ({"learning_rate"} if algorithm == "DQN" else set())
    assert kind().discount == theirs["gamma"].default
    assert set(own) - set(theirs) == (
        {"double", "symmetry", "target_epsilon", "ema_decay"} if algorithm == "DQN" else set()
    )


EXPLAINED = [
    *KINDS.values(),
    *(tabular_settings(learner) for learner in LEARNERS),
    *(games_settings(learner) for learner in (FittedQ, GameTree, NTupleTD, S2Network)),
]


@pytest.mark.parametrize("kind", EXPLAINED)
def test_every_setting_is_explained(kind: type[GameSettings]) -> None:
    said = explanations(kind)
    names = [one.name for one in dataclasses.fields(kind)]
    assert set(names) <= set(said)
    assert all(said[name].endswith((".", ".)")) for name in names)


@pytest.mark.parametrize("algorithm", KINDS)
def test_gamma_seat_and_start_follow_from_the_opponent(algorithm: str) -> None:
    for game in TUNED:
        self_play, words = tuned(algorithm, game), [algorithm, "--game", game, "--opponent"]
        _, arguments = train.parse([*words, "rule"])
        lesson: Any = train.chosen(arguments)
        assert lesson == self_play.changed(opponent="rule")
        assert (lesson.discount, lesson.seat, lesson.start) == (1.0, "alternate", "empty")
        _, arguments = train.parse([*words, "rule", "--gamma", "0.9", "--play-as", "second", "--start", "random:2"])
        given: Any = train.chosen(arguments)
        assert (given.discount, given.seat, given.start) == (0.9, "second", "random:2")
        back = lesson.changed(opponent=None, start=self_play.start)
        assert back == self_play.changed(play_as=None) and back.seat == "first"
        assert lesson.changed(opponent="minimax:2").gamma == 1.0
    _, arguments = train.parse([algorithm, "--game", "KInARow-v0:4x5-4", "--opponent", "none"])
    untuned: Any = train.chosen(arguments)
    assert (untuned.opponent, untuned.discount, untuned.seat) == (None, -1.0, "first")
    assert untuned.changed(opponent="rule").discount == KINDS[algorithm]().discount == 0.99


@pytest.mark.parametrize("algorithm", KINDS)
def test_a_model_takes_the_sign_of_gamma_from_its_boards(algorithm: str) -> None:
    made, small = getattr(tictac_agents, algorithm), {"device": "cpu", "policy_kwargs": {"net_arch": [8]}}
    small |= {"buffer_size": 100} if algorithm == "DQN" else {"n_steps": 8}
    self_play, lesson = SB3VecEnv("TicTacToe-v0", 2, opponent=None), SB3VecEnv("TicTacToe-v0", 2, opponent="rule")
    model = made("MlpPolicy", self_play, **small)
    assert model.gamma == model.settings.discount == -1
    assert algorithm == "DQN" or model.rollout_buffer.gamma == -1
    assert made("MlpPolicy", self_play, gamma=-0.9, **small).gamma == -0.9
    assert made("MlpPolicy", lesson, **small).gamma == made.SETTINGS().discount == 0.99
    with pytest.raises(ValueError, match="gamma must be at least 0 with opponent='rule'"):
        model.set_env(lesson)
    assert model.env is self_play and model.settings.opponent is None
    for boards, gamma in ((self_play, 0.99), (lesson, -1)):
        with pytest.raises(ValueError, match=f"gamma must be .* not {gamma}"):
            made("MlpPolicy", boards, gamma=gamma, **small)
        with pytest.raises(ValueError, match=f"gamma must be .* not {gamma}"):
            made.SETTINGS(opponent=None if boards is self_play else "rule", gamma=gamma)


def test_agents_that_make_their_own_boards_alternate_their_seat(tmp_path: Path) -> None:
    assert DQN("MlpPolicy", "TicTacToe-v0", buffer_size=10).settings.seat == "alternate"
    agent = QLearning("TicTacToe-v0", seed=0)
    agent.learn(total_episodes=2_000, callback=lambda learner: learner.num_episodes < 500, progress_bar=False)
    agent.save(tmp_path / "q.npz")
    resumed = QLearning.load(tmp_path / "q.npz").resume(progress_bar=False)
    assert verdict(resumed) == verdict(train.main(["QLearning", "--total-episodes", "2000"]))


@pytest.mark.parametrize("settings", ALL)
def test_settings_come_back_from_json(settings: Settings) -> None:
    assert type(settings).from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"gama": 0.9}, "did you mean gamma"),
        ({"batch_size": "many"}, "batch_size must be int"),
        ({"batch_size": True}, "batch_size must be int"),
        ({"learning_rate": (1e-3, 1e-4, 1e-5)}, "learning_rate must be float"),
        ({"policy_kwargs": [64]}, "policy_kwargs must be Mapping"),
        ({"opponent": 3}, "opponent must be str"),
        ({"learning_rate": (1e-3,)}, "learning_rate must be float"),
        ({"learning_rate": (1e-3, -1e-4)}, r"learning_rate\[1\] must be a number in \[0, inf\]"),
        ({"gamma": 9.0}, r"gamma must be a number in \[-1, 1\]"),
        ({"gamma": float("nan")}, "gamma must be a number"),
        ({"ema_decay": 1.0}, "ema_decay must be below 1"),
        ({"exploration_final_eps": 2.0}, "exploration_final_eps must be a number"),
        ({"buffer_size": 0}, "buffer_size must be a number"),
        ({"batch_size": -3}, "batch_size must be a number"),
        ({"target_update_interval": -2}, "target_update_interval must be a number"),
        ({"gradient_steps": -2}, "gradient_steps must be a number"),
        ({"train_freq": 0}, "train_freq must be at least 1"),
        ({"train_freq": (4, "steps")}, "the unit of train_freq must be one of 'step', 'episode'"),
        ({"num_envs": 0}, "num_envs must be a number"),
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DQNSettings.from_dict(wrong)
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
        DQNSettings(start="anywhere").boards()
    with pytest.raises(ValueError, match="DQNSettings"):
        DQN.from_settings(MaskablePPOSettings())
    with pytest.raises(ValueError, match="optimizer_class"):
        DQN.from_settings(DQNSettings(policy_kwargs={"optimizer_class": "os.system"}))


def test_the_tuned_settings_are_found_by_name() -> None:
    assert tuned("DQN").update_to_data_ratio == 1 / 16
    assert tuned("MaskablePPO").update_to_data_ratio == 4 / 1024
    assert MaskablePPOSettings(batch_size=None, n_steps=8, n_epochs=4, num_envs=2).update_to_data_ratio == 4 / 16
    assert DQNSettings(train_freq=(4, "step"), gradient_steps=2, num_envs=2).update_to_data_ratio == 1 / 4
    assert DQNSettings(train_freq=(1, "episode"), gradient_steps=-1).update_to_data_ratio == 1
    for wrong in (lambda: tuned("DQM"), lambda: preset("DQN", "S5"), lambda: tuned("DQN", "TicTacToe-v1")):
        with pytest.raises(ValueError, match=r"there are no settings for .*(did you mean|known are)"):
            wrong()
    with pytest.raises(ValueError, match="train_freq"):
        _ = DQNSettings(train_freq=(1, "episode")).update_to_data_ratio


def test_the_boards_are_those_described() -> None:
    boards = tuned("DQN").boards()
    assert boards.num_envs == 64 and boards.get_attr("opponent")[0] is None
    assert len(boards.get_attr("arguments")[0].start) == 4520
    sizes = {"id": "KInARow-v0", "rows": 3, "cols": 4, "connect": 3, "gravity": True}
    assert DQNSettings(game=sizes).boards(num_envs=2).get_attr("game")[0].cols == 4


@pytest.mark.parametrize("algorithm", KINDS)
def test_the_checkpoint_holds_the_settings(algorithm: str, tmp_path: Path) -> None:
    """Whole if the model was made from them, else what can be told."""
    made = getattr(tictac_agents, algorithm)
    settings = tuned(algorithm).changed(num_envs=8, policy_kwargs={"net_arch": [8], "activation_fn": "Tanh"})
    model = made.from_settings(settings, seed=0, device="cpu")
    assert model.settings == settings
    model.save(tmp_path / "model")
    assert made.load(tmp_path / "model", device="cpu").settings == settings
    assert made.load(tmp_path / "model", device="cpu", gamma=-0.5).settings == settings.changed(gamma=-0.5)

    told = made("MlpPolicy", SB3VecEnv("ConnectFour-v0", 4, opponent="rule", play_as="second"), gamma=0.9).settings
    assert told == KINDS[algorithm](
        game="ConnectFour-v0",
        num_envs=4,
        opponent="rule",
        play_as="second",
        gamma=0.9,
        rewards=(1.0, 0.0, -1.0, 0.0),
    )


def test_a_single_environment_is_told_too() -> None:
    env = DummyVecEnv([lambda: gym.make("TicTacToe-v0", opponent="minimax", obs_type="board")])
    settings = DQN("MlpPolicy", env, buffer_size=10).settings
    assert (settings.opponent, settings.obs_type, settings.num_envs) == ("minimax", "board", 1)


@pytest.mark.parametrize("algorithm", KINDS)
def test_the_command_line_trains_with_the_settings_it_names(
    algorithm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [algorithm, *TINY, *SHORT[algorithm], "--learning-rate", "1e-3", "1e-4", "--eval-freq", "128"]
    model = train.main([*words, "--save", str(tmp_path / "model"), "--tensorboard", str(tmp_path / "runs")])
    assert model.num_timesteps == 256
    back = getattr(tictac_agents, algorithm).load(tmp_path / "model", device="cpu")
    expected = tuned(algorithm).changed(num_envs=8, total_timesteps=256, policy_kwargs={"net_arch": [8]})
    assert back.settings.learning_rate == (1e-3, 1e-4)
    assert back.settings.opponent is None and back.settings.start == expected.start == "reachable"
    assert back.settings.gamma == -1 and back.settings.policy_kwargs == {"net_arch": [8]}
    assert list((tmp_path / "runs").iterdir())
    said = capsys.readouterr().out
    run = "256 steps on 8 boards, one thread of torch's, start reachable, gamma -1\n"
    assert f"{algorithm} on TicTacToe-v0 against itself: {run}" in said
    assert said.count("exploitability") == 2  # the last step is not judged twice


def test_files_are_named_after_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So that a second training in the same folder overwrites nothing."""
    for name in ("one", "two.zip"):
        train.main(["DQN", *TINY, *SHORT["DQN"], "--eval-freq", "128", "--save", str(tmp_path / name)])
        assert str(tmp_path / name.replace(".zip", "")) + "-best.zip" in capsys.readouterr().out
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"one.zip", "one-best.zip", "two.zip", "two-best.zip"}
    assert all(DQN.load(tmp_path / name, device="cpu").num_timesteps in (128, 256) for name in files)


@pytest.mark.parametrize("agent", ["MaskablePPO", "ValueTD"])
def test_on_a_large_game_a_match_says_how_good_the_agent_is(
    agent: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "MATCH_GAMES", 6)
    length = [*TINY, *SHORT[agent]] if agent in SHORT else ["--total-episodes", "3"]
    trained = train.main([agent, "--game", "ConnectFour-v0", *length, "--seed", "5"])
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{agent} on ConnectFour-v0 against ")
    assert said[1:] == [str(play_match(trained, who, "ConnectFour-v0", 6, 5)) for who in ("random", "rule")]


def test_both_seats_are_trained_if_nothing_else_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    agent = train.main(["QLearning", "--total-episodes", "20"])
    assert agent.env.unwrapped.arguments.play_as == "alternate"
    assert capsys.readouterr().out.startswith("QLearning on TicTacToe-v0 against random, first and second in turn: 20")
    agent = train.main(["QLearning", "--total-episodes", "20", "--play-as", "second", "--opponent", "rule"])
    assert agent.env.unwrapped.arguments.play_as == "second"
    assert "against rule, as the second player: 20 games" in capsys.readouterr().out
    assert train.main(["QLearning", "--total-episodes", "20", "--opponent", "none"]).env.unwrapped.opponent is None
    assert DQNSettings(opponent="rule").boards().get_attr("arguments")[0].play_as == "alternate"
    assert DQNSettings(opponent=None).boards().get_attr("arguments")[0].play_as == "first"


def test_training_takes_one_thread() -> None:
    """On two cores torch's own choice takes ten times as long."""
    torch.set_num_threads(2)
    train.main(["DQN", *TINY, *SHORT["DQN"]])
    assert torch.get_num_threads() == 1


WITHOUT_TORCH = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "stable_baselines3", "sb3_contrib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""


def without_torch(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT_TORCH + script], capture_output=True, text=True, check=False)


def test_the_command_line_says_what_to_install() -> None:
    done = without_torch("from tictac_agents import train; train.main(['DQN'])")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == 'Stable-Baselines3 is missing: pip install "tictac-env[rl]"\n'


def test_what_learns_without_stable_baselines3_says_that_torch_is_missing() -> None:
    done = without_torch("from tictac_agents import train; train.main(['FittedQ', '--total-games', '1'])")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == 'PyTorch is missing: pip install "tictac-env[rl]"\n'


def test_all_names_are_imported_but_those_that_need_what_is_missing() -> None:
    done = without_torch("from tictac_agents import *\nprint(QLearning.__name__, MCTS.__name__, 'DQN' in dir())")
    assert done.returncode == 0 and done.stdout == "QLearning MCTS False\n"
    assert done.stderr.count('pip install "tictac-env[rl]"; without it there are no DQN, ') == 1
    bound: dict[str, Any] = {}
    exec("from tictac_agents import *", bound)
    assert {"DQN", "QLearning", "MCTS", "load_model"} <= set(bound)


def test_the_command_line_knows_presets_and_other_games() -> None:
    _, arguments = train.parse(["DQN", "--preset", "S2", "--opponent", "none", "--double", "true"])
    assert train.chosen(arguments) == preset("DQN", "S2").changed(opponent=None, double=True)
    _, arguments = train.parse(["MaskablePPO", "--game", "ConnectFour-v0", "--opponent", "minimax:2"])
    assert train.chosen(arguments) == tuned("MaskablePPO", "ConnectFour-v0").changed(opponent="minimax:2")
    _, arguments = train.parse(["MaskablePPO", "--game", "KInARow-v0:5x6-4", "--opponent", "minimax:2"])
    wanted = MaskablePPOSettings(game="KInARow-v0:5x6-4", opponent="minimax:2", total_timesteps=train.SHORT_RUN)
    assert train.chosen(arguments).changed(total_timesteps=train.SHORT_RUN) == wanted


@pytest.mark.parametrize("learner", LEARNERS)
def test_tabular_learners_have_settings_too(learner: Any, tmp_path: Path) -> None:
    """The command line trains the very table that code does, and the checkpoint has the settings under their names."""
    settings = tabular_settings(learner)(epsilon=(0.5, 0.1), play_as="alternate", total_episodes=300)
    env = gym.make("TicTacToe-v0", play_as="alternate")
    made = learner(env, seed=3, epsilon=(0.5, 0.1)).learn(total_episodes=300)
    words = ["--seed", "3", "--epsilon", "0.5", "0.1", "--play-as", "alternate", "--total-episodes", "300", "--save"]
    trained = train.main([learner.__name__, *words, str(tmp_path / "table.npz")])
    _, arguments = train.parse([learner.__name__, *words, "x"])
    assert train.chosen(arguments) == settings
    back = learner.load(tmp_path / "table.npz")
    again = learner(env, seed=3, **settings.keywords())
    assert all(getattr(back, name) == getattr(again, name) for name in settings.keywords())
    assert verdict(trained) == verdict(back) == verdict(made)


@pytest.mark.parametrize("learner", LEARNERS)
def test_presets_of_tables_are_settings(learner: Any) -> None:
    for name in learner.PRESETS:
        settings = preset_settings(learner, name)
        one = learner.preset(name, seed=0)
        other = learner(gym.make("TicTacToe-v0", **settings.env_keywords()), seed=0, **settings.keywords())
        assert all(getattr(one, key) == getattr(other, key) for key in settings.keywords())
        assert one.env.unwrapped.describe() == other.env.unwrapped.describe()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["DQN", "--batch-size", "many"], "batch_size must be int"),
        (["DQN", "--preset", "S9"], "DQN has no preset 'S9'"),
        (["DQN", "--target-epsilon", "2"], "target_epsilon must be a number"),
        (["DQN", "--gamma", "1"], "gamma must be at most 0 with opponent=None"),
        (["MaskablePPO", "--opponent", "rule", "--gamma", "-1"], "gamma must be at least 0 with opponent='rule'"),
        (["DQN", "--game", "Chess-v0"], "Chess-v0"),
        (["QLearning", "--game", "Chess-v0"], "Chess-v0"),
        (["DQN", "--game", "ConnectFour-v0", "--stop-when-proven"], "--stop-when-proven needs a game of at most 12"),
        (["ValueTD", "--game", "ConnectFour-v0", "--stop-when-proven"], "--stop-when-proven needs a game of at most"),
        (["PPO"], "invalid choice"),
    ],
)
def test_the_command_line_names_what_is_wrong(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        train.main(words)
    assert message in capsys.readouterr().err


def test_models_of_both_kinds_are_made_from_presets() -> None:
    assert DQN.preset("S4-prequel", seed=0, device="cpu").settings == preset("DQN", "S4-prequel")
    assert DQN.preset("S2", device="cpu", num_envs=2).n_envs == 2
    with pytest.raises(ValueError, match="no settings"):
        MaskablePPO.preset("S2")
