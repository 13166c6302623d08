"""Callbacks: exact verdicts while a model learns, what is logged and shown, pools of its earlier selves."""

from __future__ import annotations

import csv
import io
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import breadth

from tictac_env.arena import move_accuracy, suite, verdict
from tictac_env.arena.auditing import REPORTING
from tictac_env.policies import ModelPolicy, check_policy
from tictac_env.position import IllegalMove, Position
from tictac_env.wrappers import OpponentPool

pytest.importorskip("sb3_contrib")
import sb3_contrib
import stable_baselines3 as sb3
import torch
from sb3_pairs import C4, OFF_POLICY, ON_POLICY, TTT, dummy, self_play
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import SubprocVecEnv, VecFrameStack

from tictac_agents import (
    DQN,
    ExactEvalCallback,
    GamesCallback,
    MaskablePPO,
    ProgressCallback,
    SB3VecEnv,
    SelfPlayCallback,
    Snapshot,
)
from tictac_agents.judge import part_of

# Exact verdicts


def test_the_best_model_by_exact_verdicts_is_kept(tmp_path: Path) -> None:
    exact = ExactEvalCallback(400, best_model_save_path=tmp_path)
    DQN("MlpPolicy", self_play(), **OFF_POLICY).learn(2_016, exact)
    assert [row.timesteps for row in exact.rows] == [400, 800, 1200, 1600, 2000]
    seconds = [row.seconds for row in exact.rows]
    assert seconds == sorted(seconds) and seconds[0] > 0
    assert exact.best is not None
    assert exact.best.judgement.rank == max(row.judgement.rank for row in exact.rows)
    assert exact.best.judgement.verdict == verdict(DQN.load(tmp_path / "best_model", device="cpu"))


@pytest.mark.parametrize(("stop", "steps"), [(True, 104), (False, 416)])
def test_a_verdict_that_cannot_be_beaten_may_end_the_run_and_is_written(
    stop: bool, steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    perfect = verdict("minimax")
    monkeypatch.setattr("tictac_agents.judge.verdict", lambda *arguments: perfect)
    exact = ExactEvalCallback(100, stop_when_proven=stop)
    model = DQN("MlpPolicy", self_play(), **OFF_POLICY)
    assert logged(model, 400, exact, tmp_path)[-1]["eval/proven"] == 1
    assert exact.rows[0].judgement.unbeatable and model.num_timesteps == steps


def logged(model: Any, steps: int, callback: Any, folder: Path) -> list[dict[str, float]]:
    """The rows of the log of a run."""
    model.set_logger(configure(str(folder), ["csv"]))
    model.learn(steps, callback, log_interval=None)
    model.logger.close()
    with (folder / "progress.csv").open(newline="") as file:
        return [{key: float(value) for key, value in row.items() if value} for row in csv.DictReader(file)]


def test_self_play_counts_the_first_seats_wins() -> None:
    """Uniformly random play: the first wins 58.5 %."""
    games = GamesCallback(100_000)
    settings = {"learning_starts": 10_000, "exploration_initial_eps": 1.0}
    DQN("MlpPolicy", self_play(num_envs=64), **settings, **OFF_POLICY).learn(8_000, games)
    assert list(games._outcomes) == [("self", "first")]
    first = games._outcomes["self", "first"]
    assert first.count(1) / len(first) == pytest.approx(0.585, abs=0.05)
    assert first.count(-1) / len(first) == pytest.approx(0.288, abs=0.05)


SCALARS = {
    *(f"charts/{name}" for name in ("SPS", "return", "episode_length", "illegal_rate")),
    *(f"charts/win_rate_{who}_{seat}" for who in ("random", "minimax", "copies") for seat in ("first", "second")),
    *(f"eval/{name}" for name in ("exploitability", "proven", "illegal", "mistakes")),
    *(f"eval/win_rate_{who}_{seat}" for who in ("random", "perfect") for seat in ("first", "second")),
}


@pytest.mark.parametrize("algorithm", [DQN, MaskablePPO])
def test_all_that_is_promised_is_in_the_event_file(algorithm: Any, tmp_path: Path) -> None:
    """As TensorBoard itself reads it."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    pool = OpponentPool(["random", "minimax"])
    envs = SB3VecEnv(TTT, 16, opponent=pool, play_as="alternate")
    settings = OFF_POLICY | {"learning_starts": 64} if algorithm is DQN else ON_POLICY
    model = algorithm("MlpPolicy", envs, tensorboard_log=str(tmp_path), **settings)
    callbacks = [ExactEvalCallback(256), GamesCallback(256), SelfPlayCallback(256)]
    model.learn(1_024, callbacks)
    model.logger.close()
    events = EventAccumulator(str(next(tmp_path.iterdir())))
    events.Reload()
    written = set(events.Tags()["scalars"])
    expected = SCALARS | {"train/loss"} | ({"rollout/exploration_rate"} if algorithm is DQN else set())
    assert expected <= written, expected - written
    rates = {tag: [event.value for event in events.Scalars(tag)] for tag in expected}
    assert [event.step for event in events.Scalars("eval/exploitability")] == [256, 512, 768, 1_024]
    assert all(0 <= rate <= 1 for tag, values in rates.items() if "win_rate" in tag for rate in values)
    assert max(rates["charts/win_rate_minimax_second"]) < max(rates["charts/win_rate_random_second"])
    assert not any(rates["charts/illegal_rate"]) and all(3 <= mean <= 5 for mean in rates["charts/episode_length"])
    last = callbacks[0].rows[-1].judgement.verdict
    assert rates["eval/win_rate_random_second"][-1] == pytest.approx(last.as_second.against_random.wins)
    assert not any(rates["eval/illegal"]) and all(0 < rate < 1 for rate in rates["eval/mistakes"])


class Copied(BaseCallback):
    """Keeps a copy of the model, as it is before the updates that follow the last step."""

    def _on_step(self) -> bool:
        self.last = Snapshot(self.model)
        return True


@pytest.mark.parametrize(("name", "masked"), breadth([(TTT, True), (TTT, False), (C4, True)], [(C4, False)]))
def test_plain_ppo_on_plain_boards_is_judged_in_a_line(
    name: str, masked: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    boards = make_vec_env(f"tictac_env:{name}", 4, env_kwargs={"opponent": "rule", "play_as": "random"})
    exact = ExactEvalCallback(256, masked=masked, best_model_save_path=tmp_path / "best.zip", verbose=1)
    model = sb3.PPO("MlpPolicy", boards, **ON_POLICY | {"batch_size": 64})
    *_, row = logged(model, 512, [exact, copied := Copied()], tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 == len(exact.rows) and lines[1].startswith("512 steps")
    policy, judgement = copied.last, exact.rows[-1].judgement
    assert 0 < row["eval/illegal"] < 1 and ("no verdict" in lines[1]) == (not masked) == bool(judgement.illegal)
    if masked and name == TTT:
        assert judgement.verdict is not None and judgement.verdict.as_first == verdict(policy).as_first
        assert row["eval/exploitability"] == judgement.exploitability == verdict(policy).exploitability
        assert f"exploitability {judgement.exploitability:.5f}, as first loses " in lines[1]
    if masked:
        positions = 500 if name == C4 else 4_520
        accuracy = move_accuracy(policy, part_of(suite(REPORTING[name]), positions))
        assert accuracy.overall.positions == positions and 0 < row["eval/mistakes"] < 1
        assert row["eval/mistakes"] == judgement.mistakes == pytest.approx(accuracy.overall.mistakes.value)
        fewest = [row.judgement.mistakes for row in exact.rows]
        assert name == TTT or exact.best is exact.rows[fewest.index(min(fewest))]  # type: ignore[type-var]
    assert (tmp_path / "best.zip").exists()


@pytest.mark.parametrize(
    ("made", "named"),
    [
        *((lambda value=value: ExactEvalCallback(value), "eval_freq") for value in (0, -1, 1.5, True)),
        (lambda: GamesCallback(0), "log_freq"),
        (lambda: SelfPlayCallback(snapshot_freq=0), "snapshot_freq"),
        (lambda: SelfPlayCallback(active=1.5), "active"),  # type: ignore[arg-type]
        (lambda: SelfPlayCallback(share=1.1), "share"),
        (lambda: SelfPlayCallback(sampling="oldest"), "sampling"),
    ],
)
def test_wrong_arguments_are_named(made: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        made()


def test_other_boards_are_refused() -> None:
    for callback, named in (
        (ExactEvalCallback(64), "which game"),
        (SelfPlayCallback(), "of this package"),
        (GamesCallback(), "of this package"),
    ):
        with pytest.raises(ValueError, match=named):
            sb3.PPO("MlpPolicy", "CartPole-v1", n_steps=64, device="cpu").learn(64, callback)
    large = SB3VecEnv("KInARow-v0", rows=5, cols=5, connect=4)
    with pytest.raises(ValueError, match="known positions"):
        MaskablePPO("MlpPolicy", large, **ON_POLICY).learn(128, ExactEvalCallback())
    with pytest.raises(ValueError, match="opponent=None"):
        MaskablePPO("MlpPolicy", self_play(), **ON_POLICY).learn(128, SelfPlayCallback())


# The progress bar


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Makes standard error a terminal, and each step of a run take a second, so that each is shown."""
    screen, seconds = io.StringIO(), iter(range(1_000_000))
    screen.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("tictac_env.progress.time.monotonic", lambda: float(next(seconds)))
    return screen


@pytest.mark.parametrize("legal", [True, False])
def test_speed_wins_and_the_last_verdict_are_shown(legal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    screen, exact = on_terminal(monkeypatch), ExactEvalCallback(32, masked=False)
    model = (
        DQN("MlpPolicy", self_play(), **OFF_POLICY) if legal else sb3.DQN("MlpPolicy", SB3VecEnv(TTT, 4), **OFF_POLICY)
    )
    model.learn(160, [exact, ProgressCallback(exact)])
    shown, last = screen.getvalue(), exact.rows[-1].judgement.verdict
    assert "DQN" in shown and "100%" in shown and ("plies/s, X won " in shown) == legal
    assert (f"exploitability {last.exploitability:.3f}" if last else "plays illegal moves") in shown
    if last is None:  # which is worse than any other play
        judgement = exact.best.judgement if exact.best is not None else None
        assert judgement is not None and judgement.illegal and judgement.rank[0] == -float("inf")


def test_nothing_is_shown_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    DQN("MlpPolicy", SB3VecEnv(TTT, 4), **OFF_POLICY).learn(64, ProgressCallback())
    assert capsys.readouterr() == ("", "")


class Stones(BaseCallback):
    """Counts the stones of the games that have ended."""

    ended = 0

    def _on_step(self) -> bool:
        finals = [info["terminal_observation"] for info in self.locals["infos"] if "terminal_observation" in info]
        self.ended += sum(int(np.count_nonzero(final)) for final in finals)
        return True


@pytest.mark.parametrize("made", [SB3VecEnv, dummy], ids=["many boards", "single boards"])
@pytest.mark.parametrize("kwargs", [{"opponent": None}, {"opponent": "rule", "play_as": "second"}], ids=str)
def test_the_plies_of_both_sides_are_counted(made: Any, kwargs: dict[str, Any]) -> None:
    envs = SB3VecEnv(TTT, 4, **kwargs) if made is SB3VecEnv else dummy(4, id=TTT, **kwargs)
    stones, progress = Stones(), ProgressCallback()
    DQN("MlpPolicy", envs, **OFF_POLICY).learn(208, [stones, progress])
    on_boards = sum(position.ply for position in envs.get_attr("position"))
    openings = 0 if kwargs["opponent"] is None else 4  # before the run began
    assert progress._state()[:2] == (208, stones.ended + on_boards - openings)


def test_the_bar_goes_when_a_run_breaks_off(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    before = set(threading.enumerate())
    model = sb3.DQN("MlpPolicy", SB3VecEnv(TTT, 4, illegal="raise"), learning_starts=0, **OFF_POLICY)
    with pytest.raises(IllegalMove), closing(ProgressCallback()) as progress:
        model.learn(5_000, progress)
    for drawing in set(threading.enumerate()) - before:
        drawing.join(10)
        assert not drawing.is_alive()


# Copies of a model


def model_of(algorithm: Any, name: str = TTT, obs_type: str = "planes") -> Any:
    off_policy = "DQN" in algorithm.__name__
    plain = {"device": "cpu", "seed": 0}
    settings = OFF_POLICY if off_policy else plain if algorithm in (sb3.A2C, sb3_contrib.ARS) else ON_POLICY
    return algorithm("MlpPolicy", SB3VecEnv(name, 8, obs_type=obs_type), **settings)


@pytest.mark.parametrize("name", [TTT, C4])
@pytest.mark.parametrize("obs_type", ["planes", "board"])
@pytest.mark.parametrize("algorithm", [DQN, MaskablePPO])
def test_a_snapshot_plays_as_the_model_did(algorithm: Any, obs_type: str, name: str) -> None:
    model = model_of(algorithm, name, obs_type)
    snapshot = Snapshot(model)
    check_policy(snapshot, name)
    if name == TTT:
        before = verdict(ModelPolicy(model))
        model.learn(256)
        found = verdict(snapshot)
        assert before.as_first == found.as_first != verdict(ModelPolicy(model)).as_first
        assert before.as_second == found.as_second


WITHOUT_MASKS = [sb3.DQN, sb3_contrib.QRDQN, sb3.PPO, sb3.A2C, sb3_contrib.TRPO, sb3_contrib.ARS]


@pytest.mark.parametrize("algorithm", WITHOUT_MASKS)
def test_illegal_actions_of_a_model_without_masks_are_left_out(algorithm: Any, tmp_path: Path) -> None:
    """Of the object, of its file and of its snapshot alike; and where it chooses a legal action, that is played."""
    model = model_of(algorithm)
    for weights in model.policy.parameters():  # ARS begins with zeros
        weights.data.copy_(torch.randn(weights.shape, generator=torch.Generator().manual_seed(weights.numel())))
    model.save(tmp_path / "model.zip")
    check_policy(Snapshot(model), TTT)
    judged = [verdict(player) for player in (model, tmp_path / "model.zip", Snapshot(model))]
    assert judged[0].as_first == judged[1].as_first == judged[2].as_first
    assert judged[0].as_second == judged[1].as_second == judged[2].as_second
    positions = [Position.from_moves(TTT, moves) for moves in ("", "1", "9", "37", "42", "159", "753", "1234")]
    raw = [ModelPolicy(model, masked=False).act(position, 0) for position in positions]
    played = [ModelPolicy(model).act(position, 0) for position in positions]
    legal = [action in position.legal_actions for action, position in zip(raw, positions, strict=True)]
    assert legal[0] and all(mine == its for mine, its, fits in zip(played, raw, legal, strict=True) if fits)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("algorithm", [sb3_contrib.QRDQN, sb3_contrib.ARS, sb3.PPO])
def test_copies_of_any_algorithm_play_on_boards_of_any_kind(algorithm: Any) -> None:
    """The same games, which are counted alike; other processes are started for plain PPO only."""
    settings: dict[type, dict[str, Any]] = {
        sb3_contrib.QRDQN: OFF_POLICY,
        sb3_contrib.ARS: {"n_delta": 1, "device": "cpu", "seed": 0},
        sb3.PPO: ON_POLICY | {"batch_size": 32},
    }
    keywords = {"opponent": OpponentPool(["random", "rule"], [2, 1]), "play_as": "alternate"}
    kinds: list[Any] = [
        lambda: SB3VecEnv(TTT, 2, **keywords),
        lambda: make_vec_env(f"tictac_env:{TTT}", 2, env_kwargs=keywords),
    ]
    if algorithm is sb3.PPO:
        processes = {"vec_env_cls": SubprocVecEnv, "vec_env_kwargs": {"start_method": "fork"}}
        kinds.append(lambda: make_vec_env(f"tictac_env:{TTT}", 2, env_kwargs=keywords, **processes))
    counted = []
    for kind in kinds:
        boards, callback, games = kind(), SelfPlayCallback(64), GamesCallback(10_000)
        algorithm("MlpPolicy", boards, **settings[algorithm]).learn(192, [callback, games, ProgressCallback()])
        weights = boards.get_attr("opponent")[0].weights
        counted.append((callback.names, callback.games.tolist(), callback.wins.tolist(), games._outcomes, weights))
        boards.close()
    assert all(counts == counted[0] for counts in counted)
    names, ended, *_ = counted[0]
    assert names[:4] == ["random", "rule", "snapshot 64", "snapshot 128"] and min(ended[:3]) > 0


def test_a_model_that_remembers_is_refused_by_name() -> None:
    model = sb3_contrib.RecurrentPPO("MlpLstmPolicy", SB3VecEnv(TTT), n_steps=8, batch_size=8, device="cpu")
    for use in (Snapshot, verdict, lambda model: OpponentPool([model])):
        with pytest.raises(ValueError, match="RecurrentPPO"):
            use(model)
    with pytest.raises(ValueError, match="RecurrentPPO"):
        model.learn(8, SelfPlayCallback())
    assert model.num_timesteps == 0


@pytest.mark.parametrize("algorithm", [sb3.DQN, sb3_contrib.MaskablePPO])
def test_a_snapshot_may_see_the_planes_last(algorithm: Any) -> None:
    space = gym.spaces.Box(0, 1, (6, 7, 2), np.int8)
    env = gym.wrappers.TransformObservation(gym.make(C4), lambda planes: np.moveaxis(planes, 0, -1), space)
    model = algorithm("MlpPolicy", env, **(OFF_POLICY if algorithm is sb3.DQN else ON_POLICY))
    snapshot = Snapshot(model)
    check_policy(snapshot, C4)
    for moves in ("", "1", "44", "4435"):
        position = Position.from_moves(C4, moves)
        assert snapshot.act(position, 0) == ModelPolicy(model).act(position, 0)


def test_models_that_see_something_else_are_refused() -> None:
    check_policy(Snapshot(model_of(sb3.PPO, obs_type="code")), TTT)
    with pytest.raises(ValueError, match=r"no observation of .* VecFrameStack has changed them"):
        Snapshot(sb3.PPO("MlpPolicy", VecFrameStack(SB3VecEnv(TTT), 2, "first"), device="cpu"))
    with pytest.raises(ValueError, match=r"no observation of .* fits .*\(2, 3, 3\)"):
        Snapshot(model_of(sb3.PPO)).act(Position.from_moves(C4, ""), 0)


@pytest.mark.parametrize("sampling", breadth(["latest"], ["uniform", "prioritised"]))
def test_snapshots_join_and_share_the_games(sampling: str) -> None:
    envs = SB3VecEnv(TTT, 16, opponent=OpponentPool(["random", "rule"], [1, 3]), play_as="random")
    callback = SelfPlayCallback(256, sampling, active=3, share=0.6)
    model = MaskablePPO("MlpPolicy", envs, **ON_POLICY).learn(256 * 6, callback)
    assert callback.names == ["random", "rule", *(f"snapshot {256 * (i + 1)}" for i in range(6))]
    pool = envs.get_attr("opponent")[0]
    assert pool.weights == pytest.approx([0.1, 0.3, 0.2, 0.2, 0.2])
    playing = [str(player) for player in pool.players]
    assert playing[-1] == "snapshot 1536" and set(playing) <= set(callback.names)
    if sampling == "latest":
        assert playing == ["random", "rule", "snapshot 1024", "snapshot 1280", "snapshot 1536"]
    assert callback.games.sum() > 250 and (callback.games[:7] > 0).all()
    assert ((callback.wins >= 0) & (callback.wins <= callback.games)).all()
    model.learn(256, callback)
    assert callback.names[-1] == "snapshot 256'", "the second of that name"


def test_games_are_counted_for_the_opponent_that_played_them() -> None:
    """One that never loses and one that mostly does: their counts cannot be mixed up."""
    callback = SelfPlayCallback(10_000)
    envs = SB3VecEnv(TTT, 16, opponent=OpponentPool(["minimax", "random"]), play_as="random")
    MaskablePPO("MlpPolicy", envs, **ON_POLICY).learn(2_048, callback)
    rates = callback.wins / callback.games
    assert callback.games.min() > 150
    assert rates[0] < 0.2 and rates[1] > 0.4


def test_prioritised_sampling_prefers_those_that_beat_the_learner() -> None:
    callback = SelfPlayCallback(sampling="prioritised", active=2)
    callback.games, callback.wins = np.array([0, 98, 98]), np.array([0.0, 98.0, 0.0])
    drawn = np.concatenate([callback._earlier(np.array([1, 2])) for _ in range(300)])
    assert np.count_nonzero(drawn == 2) > 280
