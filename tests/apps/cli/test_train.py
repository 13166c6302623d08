"""`tictac train`: trains, resumes, judges and saves, by an agent's settings."""

from __future__ import annotations

import _thread
import json
import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tictac_agents
from tests.packaging.test_docs import COMMANDS
from tictac_agents import AGENTS, S0ValueTD, ValueTD, trained
from tictac_agents.plan import UNITS, Plan, preset, tuned
from tictac_apps import cli
from tictac_apps.cli import train
from tictac_apps.cli.main import make_parser
from tictac_env import play_match, verdict
from tictac_env.policies.loading import settings_of

TTT = "TicTacToe-v0"
LITTLE = "--num-envs 16 --learning-starts 500 --batch-size 128"
SHORT = {
    "AlphaZero --game TicTacToe-v0 --stop-when-proven": [("slow", "", 0.0)],
    "AlphaZero --total-games 1000000 --workers 2": [("slow", "--game TicTacToe-v0 --total-games 8000", 0.5)],
    "DQN --game ConnectFour-v0 --opponent rule --num-envs 32": [
        ("slow", "--total-timesteps 20000 --learning-starts 1000", "rule"),
    ],
    "DQN --preset S4-prequel --total-timesteps 100000": [("slow", "", 0.5)],
    "DQN --seed 1": [("slow", f"{LITTLE} --total-timesteps 16000", 0.5)],
    "FittedQ --preset S4-all-actions --total-games 3000": [("slow", "--total-games 600", "random")],
    "MaskablePPO --seed 1": [("slow", "--num-envs 128 --batch-size 256 --total-timesteps 60000", 0.5)],
    "NTupleTD": [("slow", "--game TicTacToe-v0", 0.0)],
    "QLearning --game examples.hex:Hex-v0:3 --total-episodes 20000": [("slow", "--total-episodes 3000", "random")],
    "QLearning --preset self-play --stop-when-proven": [("", "", 0.0)],
    "S2Network --preset S2": [("slow", "--games-a-seat 100000", "random")],
}
"""The options that make each documented training short, and the measure of what it has learned: the exploitability that
it does not exceed (of random play 0.96), or the opponent that it beats (random play wins 44 % against itself)."""
TABLE_RUN: dict[str, Any] = {"total": 300, "epsilon": (0.5, 0.1), "play_as": "alternate"}
RUNS: dict[str, dict[str, Any]] = {
    "AlphaZero": {"game": TTT, "tuples": 5, "length": 4, "simulations": 4, "boards": 20, "total": 60},
    "FittedQ": {"game": TTT, "batch_games": 4, "epochs": 1, "total": 8, "all_actions": True},
    "GameTree": {"game": TTT, "total": 200},
    "NTupleTD": {"game": TTT, "tuples": 5, "length": 4, "threads": 2, "total": 200},
    "S2Network": {"game": TTT, "total": 200, "order": "alternate"},
    "DQN": {"learning_starts": 64, "batch_size": 16},
    "MaskablePPO": {"n_steps": 16},
}
TINY: dict[str, Any] = {"num_envs": 8, "total": 256, "policy_kwargs": {"net_arch": [8]}}


def words_of(agent: str, run: dict[str, Any]) -> list[str]:
    """A command line with these settings."""
    words = [agent]
    for name, value in run.items():
        values = value if isinstance(value, tuple) else (value,)
        words += [train.option(agent, name), *(one if isinstance(one, str) else json.dumps(one) for one in values)]
    return words


def plan_of(*words: str) -> Plan:
    """The plan of a command line."""
    return train.chosen(make_parser().parse_args(["train", *words]))


def agent_of(*words: str) -> Any:
    """The agent that a command line trains."""
    return train.train(make_parser().parse_args(["train", *words]))


@pytest.mark.parametrize("name", trained("games", "table"))
def test_the_agent_is_the_one_that_code_trains(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if name == "FittedQ":
        pytest.importorskip("torch")
    run, made = RUNS.get(name, TABLE_RUN), getattr(tictac_agents, name)
    assert cli.main(["train", *words_of(name, run), "--seed", "3", "--save", str(tmp_path / "agent.npz")]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{name} on {run.get('game', TTT)}") and "\r" not in out + err  # no bar: this is no terminal
    own = {option: value for option, value in run.items() if option not in ("game", "play_as", "total")}
    game = run["game"] if "game" in run else gym.make(TTT, play_as="alternate")
    wanted = made(game, seed=3, **own).learn(**{f"total_{UNITS[AGENTS[name].kind]}": run["total"]}, progress_bar=False)
    wanted.save(tmp_path / "wanted.npz")
    assert settings_of(made.load(tmp_path / "agent.npz")) == settings_of(wanted)
    assert_same_arrays(tmp_path / "agent.npz", tmp_path / "wanted.npz")


def assert_same_arrays(one: Path, other: Path) -> None:
    with np.load(one) as first, np.load(other) as second:
        assert set(first.files) == set(second.files)
        for name in (name for name in first.files if not name.startswith("meta")):
            np.testing.assert_array_equal(first[name], second[name])


def test_a_preset_brings_its_stopping_rule_and_its_restarts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, forgotten = tmp_path / "s0.npz", []
    monkeypatch.setattr(S0ValueTD, "forget", lambda learner: forgotten.append(ValueTD.forget(learner)))
    words = ["train", "S0ValueTD", "--preset", "S0", "--stop-when-proven", "--seed", "4", "--save", str(path)]
    assert cli.main(words) == 0
    made = S0ValueTD.load(path)
    assert made.num_episodes % 20_000 == 0 and made.num_episodes < 20_000_000 and verdict(made).unbeatable
    assert (made.settings.verdict_every, made.settings.start_afresh) == (
        20_000,
        400_000,
    )  # which `resume` knows
    assert len(forgotten) > made.num_episodes // 400_000 > 0  # once at the beginning


def test_a_curve_is_written_for_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    monkeypatch.setattr(train, "POINTS", 4)
    assert cli.main(["train", *words_of("NTupleTD", RUNS["NTupleTD"]), "--tensorboard", str(tmp_path)]) == 0
    assert list(tmp_path.glob("events*"))


@pytest.mark.parametrize(("name", "length"), [("QLearning", "total_episodes"), ("GameTree", "total_games")])
def test_a_stopped_run_is_resumed_to_the_bit(
    name: str, length: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stopped as Ctrl-C stops it."""
    first, whole = tmp_path / "first.npz", tmp_path / "whole.npz"
    words = words_of(name, {"game": TTT, "total": 9_000, "seed": 3})
    assert cli.main(["train", *words, "--save", str(whole)]) == 0
    begun = plan_of(*words).new_agent()
    begun.learn(**{length: 9_000}, callback=lambda one: False, checkpoint=first)
    assert cli.main(["train", *words, "--resume", str(first), "--save", str(first)]) == 0
    assert_same_arrays(first, whole)
    for changed, named in (({"total": 8_000}, "9,000"), ({"seed": 4}, "seed")):
        assert cli.main(["train", *words, *words_of(name, changed)[1:], "--resume", str(first)]) == 2
        assert named in capsys.readouterr().err


def test_a_stopped_network_is_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sb3_contrib")
    path, words = tmp_path / "dqn.zip", words_of("DQN", TINY | RUNS["DQN"])
    plan_of(*words).new_agent().learn(128).save(path)
    assert agent_of(*words, "--resume", str(path)).num_timesteps == 256
    assert cli.main(["train", *words, "--resume", str(path), "--gamma", "-0.9"]) == 2
    assert "gamma" in capsys.readouterr().err


@pytest.mark.parametrize("algorithm", trained("network"))
def test_a_network_is_trained_with_the_settings_it_names(
    algorithm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sb3_contrib")
    torch = pytest.importorskip("torch")
    torch.set_num_threads(2)
    run = TINY | RUNS[algorithm] | {"learning_rate": (1e-3, 1e-4)}
    words = [*words_of(algorithm, run), "--eval-freq", "128", "--tensorboard", str(tmp_path / "runs"), "--save"]
    for name in ("one", "two.zip"):  # a second training in the same folder overwrites nothing
        assert agent_of(*words, str(tmp_path / name)).num_timesteps == 256
    assert torch.get_num_threads() == 1  # on two cores torch's own choice takes ten times as long
    out = capsys.readouterr().out
    told = "256 steps on 8 boards, one thread of torch's, start reachable, gamma -1\n"
    assert f"{algorithm} on TicTacToe-v0 against itself: {told}" in out
    assert out.count("exploitability") == 4  # of each run two: the last step is not judged twice
    files = {path.name for path in tmp_path.glob("*.zip")}
    assert files == {"one.zip", "one-best.zip", "two.zip", "two-best.zip"} and list((tmp_path / "runs").iterdir())
    for name in files:
        made = getattr(tictac_agents, algorithm).load(tmp_path / name, device="cpu")
        assert made.plan == tuned(algorithm).changed(**run)


@pytest.mark.parametrize("agent", ["MaskablePPO", "ValueTD"])
def test_on_a_large_game_a_match_says_how_good_the_agent_is(
    agent: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sb3_contrib")
    monkeypatch.setattr(train, "MATCH_GAMES", 6)
    run = TINY | RUNS[agent] if agent in RUNS else {"total": 3}
    made = agent_of(*words_of(agent, run | {"game": "ConnectFour-v0", "seed": 5}))
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{agent} on ConnectFour-v0 against ")
    assert said[1].startswith("ended after ") and said[2].startswith("not saved: give --save")
    assert said[3:] == [str(play_match(made, who, "ConnectFour-v0", 6, 5)) for who in ("random", "rule")]


@pytest.mark.parametrize(
    ("words", "ended"),
    [
        ("QLearning --total-episodes 50", "50 of 50 games, S s: all of the run"),
        ("QLearning --preset self-play --stop-when-proven", "4,000 of 9,000 games, S s: proven unbeatable"),
        ("GameTree --game TicTacToe-v0 --total-games 40", "40 of 40 games, S s: all of the run"),
        ("DQN --num-envs 8 --total-timesteps 64", "64 of 64 steps, S s: all of the run"),
    ],
)
def test_the_end_says_when_and_why_and_what_is_saved(
    words: str, ended: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if words.startswith("DQN"):
        pytest.importorskip("sb3_contrib")
    path = tmp_path / "agent"
    saved = path.with_suffix(".zip" if words.startswith("DQN") else ".npz")
    assert cli.main(["train", *words.split(), "--save", str(path if words.startswith("DQN") else saved)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (at,) = (number for number, line in enumerate(lines) if line.startswith("ended after"))
    assert re.sub(r"\d+\.\d s", "S s", lines[at]) == f"ended after {ended}"
    assert lines[at + 1] == f"saved in {saved}" and saved.exists()


@pytest.mark.parametrize("agent", ["QLearning", "DQN"])
def test_ctrl_c_is_named_as_the_reason_and_how_to_continue(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if agent == "DQN":
        pytest.importorskip("sb3_contrib")
        monkeypatch.setattr(tictac_agents.DQN, "learn", lambda *words, **more: signal.raise_signal(signal.SIGINT))
    else:
        monkeypatch.setattr(train, "announce", lambda *words: threading.Timer(1.0, _thread.interrupt_main).start())
    path = tmp_path / f"agent{'.zip' if agent == 'DQN' else '.npz'}"
    length = "--total-timesteps" if agent == "DQN" else "--total-episodes"
    assert cli.main(["train", agent, length, "1000000000", "--save", str(path)]) == 0
    out = capsys.readouterr().out
    assert "s: Ctrl-C or SIGTERM\n" in out and f"saved in {path}; --resume continues the run\n" in out


def test_without_an_agent_the_agents_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train"]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(trained("network", "games", "table"))
    assert all(line.endswith(AGENTS[line.split()[0]].help) and len(line) <= 80 for line in lines)
    with pytest.raises(SystemExit, match="2"):
        cli.main(["train", "Qlearning"])


@pytest.mark.parametrize(
    ("words", "seat", "said"),
    [
        ("", "alternate", "random, first and second in turn: 20 games"),
        ("--seat second --opponent rule", "second", "rule, as the second player: 20 games"),
        ("--opponent none", "first", "itself: 20 games"),
    ],
)
def test_both_seats_are_trained_if_nothing_else_is_said(
    words: str, seat: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    board = agent_of("QLearning", "--total-episodes", "20", *words.split()).env.unwrapped
    assert board.arguments.play_as == seat and (board.opponent is None) == ("none" in words)
    assert capsys.readouterr().out.startswith(f"QLearning on TicTacToe-v0 against {said}")


def test_presets_and_other_games_have_plans() -> None:
    found = plan_of("DQN", "--preset", "S2", "--opponent", "none", "--double", "true")
    assert found == preset("DQN", "S2").changed(opponent=None, double=True, seed=0)
    for game in ("ConnectFour-v0", TTT):
        assert plan_of("MaskablePPO", "--opponent", "rule", "--game", game) == tuned("MaskablePPO", game).changed(
            opponent="rule", seed=0
        )
    wanted = Plan.of("MaskablePPO", game="KInARow-v0:5x6-4", opponent="minimax:2", seed=0)
    assert plan_of("MaskablePPO", "--opponent", "minimax:2", "--game", "KInARow-v0:5x6-4") == wanted
    found = plan_of("S2Network", "--preset", "S2", "--games-a-seat", "60")
    assert found == preset("S2Network", "S2").changed(games_a_seat=60, seed=0) and found.length == 120


@pytest.mark.parametrize(
    ("words", "games"), [("NTupleTD", None), (f"NTupleTD --game {TTT}", 20_000), (f"NTupleTD --total-games {7}", 7)]
)
def test_how_long_a_run_is_if_nothing_says_so(words: str, games: int | None) -> None:
    assert plan_of(*words.split()).total == games
    usual = [tuned(name).length for name in ("NTupleTD", "GameTree")]
    assert [*usual, Plan.of("S2Network", games_a_seat=30).length] == [1_000_000, 3_000, 60]


WITHOUT_TORCH = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "stable_baselines3", "sb3_contrib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from tictac_apps import cli
statuses = [cli.main(["train", *words.split()]) for words in ("DQN", "FittedQ --preset S4-all-actions")]
from tictac_agents import *
print(*statuses, QLearning.__name__, MCTS.__name__, "DQN" in dir())
"""


def test_what_is_missing_is_named() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=True)
    assert done.stdout == "2 2 QLearning MCTS False\n"
    told = done.stderr.splitlines()
    missing = ("Stable-Baselines3 is missing", "PyTorch is missing", "without it there are no DQN, ")
    for line, words in zip([*told[:2], done.stderr.partition(told[1])[2]], missing, strict=True):
        assert words in line and 'pip install "tictac-env[rl]"' in line


@pytest.mark.parametrize("agent", trained("network", "games", "table"))
def test_the_help_explains_the_settings_of_a_run_without_options(
    agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["train", agent, "--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith(f"usage: tictac train {agent} ") and AGENTS[agent].help in out
    plan = plan_of(agent)
    found = plan.to_dict() | {"total": plan.length}
    assert f"(default: {found['game']})" in out
    assert ("are tuned for TicTacToe-v0" in out) == (agent in trained("network"))
    for name in {"gamma", "start", "num_envs", "policy", "total", "step"} & set(found):
        default = re.search(rf"{train.option(agent, name)} VALUE \[VALUE \.\.\.\] (?!\[).*?\(default: (\S+)\)", out)
        assert default is not None and default[1].rstrip("0.") == str(found[name]).rstrip("0.").replace("None", "none")


def documented() -> set[str]:
    """The trainings that the docs show, without where they are saved."""
    shown = [one for _, one in COMMANDS if one.startswith("tictac train")]
    words = [re.sub(r" --(save|tensorboard) \S+", "", shlex.join(shlex.split(one, comments=True))) for one in shown]
    return {one.removeprefix("tictac train ") for one in words if "--help" not in one}


def test_every_documented_training_is_run() -> None:
    assert documented() <= set(SHORT)


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
    agent = agent_of(*words)
    if isinstance(measure, float):
        assert verdict(agent).exploitability <= measure
    else:
        assert play_match(agent, measure, plan_of(*words).rules, 200, 0).total.wins >= 130
