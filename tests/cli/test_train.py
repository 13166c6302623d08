"""`tictac train`: what `python -m tictac_agents.train` does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from tests.packaging.test_docs import COMMANDS
from tictac_agents import GameTree, NTupleTD, QLearning, S0ValueTD, S2Network, ValueTD, train
from tictac_agents.train import AGENTS
from tictac_env import Position, cli, play_match, verdict
from tictac_env.policies.loading import settings_of

TTT = "TicTacToe-v0"
LITTLE = "--num-envs 16 --learning-starts 500 --batch-size 128"
SHORT = {
    "DQN": [("slow", f"{LITTLE} --total-timesteps 8000", 0.5)],
    "DQN --game ConnectFour-v0 --opponent rule --num-envs 32": [
        ("slow", "--total-timesteps 20000 --learning-starts 1000", "rule"),
        ("", f"--game TicTacToe-v0 {LITTLE} --total-timesteps 5000", "rule"),
    ],
    "DQN --preset S4-prequel --total-timesteps 100000": [("slow", "", 0.5)],
    "DQN --seed 1": [("slow", f"{LITTLE} --total-timesteps 16000", 0.5)],
    "FittedQ --preset S4-all-actions --total-games 3000": [("slow", "--total-games 600", "random")],
    "MaskablePPO --seed 1": [("slow", "--num-envs 128 --batch-size 256 --total-timesteps 60000", 0.5)],
    "NTupleTD": [("", "--game TicTacToe-v0", 0.0)],
    "QLearning --game examples.hex:Hex-v0:3 --total-episodes 20000": [("", "--total-episodes 3000", "random")],
    "QLearning --preset self-play --stop-when-proven": [("", "", 0.0)],
    "S2Network --preset S2": [("slow", "--games-a-seat 100000", "random")],
}
"""What makes each documented training short, and what shows that it has learned: the exploitability that it does not
exceed (of random play 0.96), or the opponent against which it wins (random play against itself 44 % on tic-tac-toe)."""


def test_a_table_is_trained_judged_and_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "q.npz"
    words = ["train", "QLearning", "--seed", "4", "--total-episodes", "300", "--play-as", "first", "--save", str(path)]
    assert cli.main(words) == 0
    out, err = capsys.readouterr()
    assert out.startswith(
        "QLearning on TicTacToe-v0 against random, as the first player: 300 games, start empty, gamma 1\n"
    )
    assert "exploitability" in out and "\r" not in out + err  # no bar: this is no terminal
    assert QLearning.load(path).num_episodes == 300


def test_a_preset_brings_its_stopping_rule_and_its_restarts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, forgotten = tmp_path / "s0.npz", 0

    def forget(learner: S0ValueTD) -> None:
        nonlocal forgotten
        forgotten += 1
        ValueTD.forget(learner)

    monkeypatch.setattr(S0ValueTD, "forget", forget)
    words = ["train", "S0ValueTD", "--preset", "S0", "--stop-when-proven", "--seed", "4", "--save", str(path)]
    assert cli.main(words) == 0
    assert "exploitability 0.0000" in capsys.readouterr().out
    trained = S0ValueTD.load(path)
    assert trained.num_episodes % 20_000 == 0
    assert trained.num_episodes < 20_000_000
    assert (trained.verdict_every, trained.start_afresh) == (20_000, 400_000)  # which `resume` then knows too
    assert forgotten > trained.num_episodes // 400_000 > 0  # once at the beginning


@pytest.mark.parametrize("learner", [pytest.param(S2Network, marks=pytest.mark.slow), GameTree])
def test_agents_that_learn_from_games_of_their_own(
    learner: type[S2Network | GameTree], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The very agent that code makes."""
    path, start = tmp_path / "agent.npz", Position.start(TTT)
    words = ["train", learner.__name__, "--game", TTT, "--total-games", "200", "--seed", "3", "--save", str(path)]
    assert cli.main(words) == 0
    assert capsys.readouterr().out.startswith(f"{learner.__name__} on TicTacToe-v0: 200 games\n")
    trained, wanted = learner.load(path), learner(TTT, seed=3).learn(200, progress_bar=False)
    assert trained.num_games == 200
    shown = "values" if learner is S2Network else "visits"
    assert np.array_equal(getattr(trained, shown)(start), getattr(wanted, shown)(start))


def test_a_network_of_n_tuples_is_trained_with_the_settings_of_its_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tensorboard")
    monkeypatch.setattr("tictac_agents.train.POINTS", 4)
    path, runs = tmp_path / "agent.npz", tmp_path / "runs"
    words = ["--game", TTT, "--seed", "3", "--threads", "2", "--save", str(path), "--tensorboard", str(runs)]
    assert cli.main(["train", "NTupleTD", *words]) == 0
    out = capsys.readouterr().out
    assert out.startswith("NTupleTD on TicTacToe-v0: 20,000 games\n") and "exploitability 0.0000" in out
    assert list(runs.glob("events*"))
    trained = NTupleTD.load(path)
    wanted = NTupleTD(TTT, tuples=12, length=6, threads=2, seed=3).learn(20_000, progress_bar=False)
    assert np.array_equal(trained.network.weights, wanted.network.weights) and trained.threads == 2
    assert cli.main(["audit", str(path), "--quick"]) == 0
    assert capsys.readouterr().out.startswith(f"agent (NTupleTD) on {TTT}")


@pytest.mark.parametrize("learner", [QLearning, GameTree])
def test_a_stopped_run_is_resumed_to_the_bit(
    learner: type[QLearning | GameTree], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stopped as Ctrl-C stops it."""
    first, whole = tmp_path / "first.npz", tmp_path / "whole.npz"
    total = "--total-episodes" if learner is QLearning else "--total-games"
    words = ["train", learner.__name__, "--game", TTT, total, "9000", "--seed", "3"]
    assert cli.main([*words, "--save", str(whole)]) == 0
    if learner is QLearning:
        env = gym.make(TTT, opponent="random", play_as="alternate")
        agent = QLearning(env, **settings_of(QLearning.load(whole)))
        agent.learn(total_episodes=9_000, callback=lambda one: one.num_episodes < 1_000, checkpoint=first)
    else:
        GameTree(TTT, seed=3).learn(9_000, lambda _: False, checkpoint=first)
    assert cli.main([*words, "--resume", str(first), "--save", str(first)]) == 0
    with np.load(first) as resumed, np.load(whole) as unbroken:
        for name in set(unbroken.files) - {"meta"}:
            np.testing.assert_array_equal(resumed[name], unbroken[name])
    for changed, named in (([total, "8000"], "9,000"), (["--seed", "4"], "seed")):
        assert cli.main([*words, *changed, "--resume", str(first)]) == 2
        assert named in capsys.readouterr().err


def test_a_stopped_network_is_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sb3_contrib")
    from tictac_agents import DQN

    path = tmp_path / "dqn.zip"
    words = ["DQN", *LITTLE.split(), "--total-timesteps", "1280"]
    settings = train.chosen(train.parse(words)[1])
    DQN.from_settings(settings, 0, "cpu").learn(640).save(path)  # type: ignore[arg-type]  # settings of a DQN
    assert train.main([*words, "--resume", str(path)]).num_timesteps == 1_280
    assert cli.main(["train", *words, "--resume", str(path), "--gamma", "-0.9"]) == 2
    assert "gamma" in capsys.readouterr().err


def documented() -> set[str]:
    """The trainings that the docs and the module show, without where they are saved."""
    shown = [one for _, one in COMMANDS if one.startswith(("tictac train", "python -m tictac_agents.train"))]
    shown += re.findall(r"^python -m tictac_agents\.train .*", train.__doc__ or "", re.MULTILINE)
    words = [re.sub(r" --(save|tensorboard) \S+", "", shlex.join(shlex.split(one, comments=True))) for one in shown]
    return {re.sub(r"^(tictac train|python -m tictac_agents\.train) ", "", one) for one in words if "--help" not in one}


def test_every_documented_training_is_run() -> None:
    assert set(SHORT) == documented()


@pytest.mark.parametrize(
    ("command", "short", "measure"),
    [
        pytest.param(command, short, measure, marks=[pytest.mark.slow] * (how == "slow"))
        for command, runs in SHORT.items()
        for how, short, measure in runs
    ],
)
def test_a_documented_training_learns(
    command: str, short: str, measure: float | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command.startswith(("DQN", "MaskablePPO", "FittedQ")):
        pytest.importorskip("sb3_contrib")
    monkeypatch.setattr(train, "MATCH_GAMES", 4)
    words = [*command.split(), *short.split()]
    agent = train.main(words)
    if isinstance(measure, float):
        assert verdict(agent).exploitability <= measure
    else:
        assert play_match(agent, measure, train.chosen(train.parse(words)[1]).rules, 200, 0).total.wins >= 130


def test_how_long_a_run_is_if_nothing_says_so() -> None:
    for words, games in (
        (["NTupleTD"], 1_000_000),
        (["NTupleTD", "--game", "ConnectFour-v0"], 1_000_000),
        (["NTupleTD", "--game", TTT], 20_000),
        (["NTupleTD", "--game", TTT, "--total-games", "7"], 7),
        (["GameTree"], 3_000),
    ):
        _, arguments = train.parse(words)
        assert train.chosen(arguments).games == games  # type: ignore[attr-defined]


def test_a_preset_and_changes_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", "S2Network", "--preset", "S2", "--games-a-seat", "60", "--order", "alternate"]) == 0
    assert capsys.readouterr().out.startswith("S2Network on TicTacToe-v0: 120 games\n")


def test_fitted_q_is_trained_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(train, "MATCH_GAMES", 4)
    path = tmp_path / "fitted.npz"
    words = ["--game", "ConnectFour-v0", "--batch-games", "4", "--epochs", "1", "--total-games", "8"]
    assert cli.main(["train", "FittedQ", *words, "--epsilon", "1.0", "0.5", "--save", str(path)]) == 0
    assert capsys.readouterr().out.startswith("FittedQ on ConnectFour-v0 against itself: 8 games\n")
    assert path.is_file()


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_explains_its_settings(agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    if agent == "FittedQ":
        pytest.importorskip("torch")
    with pytest.raises(SystemExit, match="0"):
        cli.main(["train", agent, "--help"])
    out = capsys.readouterr().out
    assert out.startswith(f"usage: tictac train {agent} ") and AGENTS[agent] in " ".join(out.split())
    assert "--game" in out and "(default: " in out


@pytest.mark.parametrize(("agent", "game"), [("DQN", TTT), ("MaskablePPO", TTT), ("NTupleTD", "ConnectFour-v0")])
def test_the_help_shows_the_settings_that_a_run_without_options_has(
    agent: str, game: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["train", agent, "--help"])
    out = " ".join(capsys.readouterr().out.split())
    settings = train.chosen(train.parse([agent])[1]).to_dict()
    assert settings["game"] == game and f"(default: {game})" in out
    assert ("those tuned for TicTacToe-v0" in out) == (game == TTT)
    for name in {"gamma", "start", "num_envs", "policy", "total_timesteps", "step"} & set(settings):
        found = re.search(rf"--{name.replace('_', '-')} VALUE \[VALUE \.\.\.\] (?!\[).*?\(default: (\S+)\)", out)
        assert found is not None and found[1] == str(settings[name])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["QLearning", "--gamma", "9"], "gamma must be a number"),
        (["QLearning", "--preset", "S9"], "QLearning has no preset 'S9'"),
        (["QLearning", "--game", "ConnectFour-v0", "--stop-when-proven"], "--stop-when-proven needs a game of at most"),
        (["S2Network", "--game", "ConnectFour-v0"], "S2's network needs a game in which each cell is an action"),
        (["S2Network", "--total-games", "-5"], "total_games"),
        (["NTupleTD", "--game", TTT, "--length", "10"], "length must be"),
        (["NTupleTD", "--game", "Hex-v0"], "KInARow family"),
        (["GameTree", "--draw", "2"], "draw must be a number in [-1, 1], not 2"),
    ],
)
def test_settings_that_are_wrong_end_with_one_line_and_status_2(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["train", *words]) == 2
    _, err = capsys.readouterr()
    assert told in err and err.count("\n") == 1


@pytest.mark.parametrize("words", [["QLerning"], ["QLearning", "--gama", "1"], ["QLearning", "--seed", "x"]])
def test_options_that_are_wrong_end_with_one_line_and_status_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["train", *words])
    assert capsys.readouterr().err.count("\n") == 1
