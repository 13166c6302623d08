"""The exact verdict while a model learns, and what is logged."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tictac_env.arena import verdict

pytest.importorskip("stable_baselines3")
import stable_baselines3 as sb3
from stable_baselines3.common.logger import configure

from tictac_agents import DQN, ExactEvalCallback, GamesCallback, MaskablePPO, SB3VecEnv, SelfPlayCallback
from tictac_env.wrappers import OpponentPool

TTT = "TicTacToe-v0"
SMALL: dict[str, Any] = {"buffer_size": 2_000, "device": "cpu", "policy_kwargs": {"net_arch": [16]}, "seed": 0}


def test_the_best_model_by_exact_verdicts_is_kept(tmp_path: Path) -> None:
    exact = ExactEvalCallback(400, best_model_save_path=tmp_path)
    model = DQN("MlpPolicy", SB3VecEnv(TTT, 8, opponent=None), gamma=-1, **SMALL).learn(2_016, exact)
    assert [one.num_timesteps for one in exact.judgements] == [400, 800, 1200, 1600, 2000]
    seconds = [one.cpu_seconds for one in exact.judgements]
    assert seconds == sorted(seconds) and seconds[0] > 0
    assert exact.best is not None and exact.best.rank == max(one.rank for one in exact.judgements)
    kept = verdict(DQN.load(tmp_path / "best_model", device="cpu"))
    assert exact.best.verdict == kept
    assert exact.judgements[-1].verdict is not None and model.num_timesteps == 2_016


def test_an_infallible_verdict_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    perfect = verdict("minimax")
    monkeypatch.setattr("tictac_agents.deep.callbacks.verdict", lambda *arguments: perfect)
    for stop, steps in ((True, 104), (False, 416)):
        exact = ExactEvalCallback(100, stop_when_proven=stop)
        model = DQN("MlpPolicy", SB3VecEnv(TTT, 8, opponent=None), **SMALL).learn(400, exact)
        assert exact.judgements[0].proven and model.num_timesteps == steps


def test_illegal_play_is_worse_than_any_other(tmp_path: Path) -> None:
    exact = ExactEvalCallback(100)
    model = sb3.DQN("MlpPolicy", SB3VecEnv(TTT, 4), **SMALL)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(200, exact)
    model.logger.close()
    assert [one.verdict for one in exact.judgements] == [None, None]
    assert not exact.judgements[0].proven and exact.judgements[0].rank[0] == -float("inf")


@pytest.mark.parametrize("opponent", ["random", None])
def test_evaluations_are_logged(opponent: str | None, tmp_path: Path) -> None:
    model = DQN("MlpPolicy", SB3VecEnv(TTT, 8, opponent=opponent), learning_starts=64, **SMALL)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(1_200, [ExactEvalCallback(400), GamesCallback(400)], log_interval=None)
    with (tmp_path / "progress.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    model.logger.close()
    assert len(rows) == 3
    last = {key: float(value) for key, value in rows[-1].items() if value}
    assert last["charts/SPS"] > 0 and last["charts/illegal_rate"] == 0
    lengths = (5, 9) if opponent is None else (3, 5)
    assert lengths[0] <= last["charts/episode_length"] <= lengths[1]
    assert 0 <= last[f"charts/win_rate_{opponent or 'self'}_first"] <= 1
    assert {"eval/exploitability", "eval/win_rate_random_second", "rollout/exploration_rate", "train/loss"} <= set(last)


def test_self_play_counts_the_first_seats_wins() -> None:
    """Uniformly random play: the first wins 58.5 %."""
    games = GamesCallback(100_000)
    settings = {"learning_starts": 10_000, "exploration_initial_eps": 1.0}
    DQN("MlpPolicy", SB3VecEnv(TTT, 64, opponent=None), **settings, **SMALL).learn(8_000, games)
    assert list(games._outcomes) == [("self", "first")]
    first = games._outcomes["self", "first"]
    assert first.count(1) / len(first) == pytest.approx(0.585, abs=0.05)
    assert first.count(-1) / len(first) == pytest.approx(0.288, abs=0.05)


SCALARS = {
    *(f"charts/{name}" for name in ("SPS", "return", "episode_length", "illegal_rate")),
    *(f"charts/win_rate_{who}_{seat}" for who in ("random", "minimax", "copies") for seat in ("first", "second")),
    *(f"eval/{name}" for name in ("exploitability", "proven", "illegal")),
    *(f"eval/win_rate_{who}_{seat}" for who in ("random", "best") for seat in ("first", "second")),
}


@pytest.mark.parametrize("algorithm", [DQN, MaskablePPO])
def test_all_that_is_promised_is_in_the_event_file(algorithm: Any, tmp_path: Path) -> None:
    """As TensorBoard itself reads it."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    pool = OpponentPool(["random", "minimax"])
    envs = SB3VecEnv(TTT, 16, opponent=pool, play_as="alternate")
    settings: dict[str, Any] = {"n_steps": 16, "batch_size": 128, "seed": 0, "device": "cpu"}
    if algorithm is DQN:
        settings = {**SMALL, "learning_starts": 64}
    model = algorithm("MlpPolicy", envs, tensorboard_log=str(tmp_path), **settings)
    callbacks = [ExactEvalCallback(1_024), GamesCallback(1_024), SelfPlayCallback(pool, 1_024)]
    model.learn(4_096, callbacks)
    model.logger.close()
    events = EventAccumulator(str(next(tmp_path.iterdir())))
    events.Reload()
    written = set(events.Tags()["scalars"])
    expected = SCALARS | {"train/loss"} | ({"rollout/exploration_rate"} if algorithm is DQN else set())
    assert expected <= written, expected - written
    rates = {tag: [event.value for event in events.Scalars(tag)] for tag in expected}
    assert [event.step for event in events.Scalars("eval/exploitability")] == [1_024, 2_048, 3_072, 4_096]
    assert min(rates["charts/SPS"]) > 0 and max(rates["charts/illegal_rate"]) == 0
    assert all(0 <= rate <= 1 for tag, values in rates.items() if "win_rate" in tag for rate in values)
    assert max(rates["charts/win_rate_minimax_second"]) < max(rates["charts/win_rate_random_second"])
    last = callbacks[0].judgements[-1].verdict
    assert rates["eval/win_rate_random_second"][-1] == pytest.approx(last.as_second.against_random.wins)


def test_the_last_verdict_is_written_when_it_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    perfect = verdict("minimax")
    monkeypatch.setattr("tictac_agents.deep.callbacks.verdict", lambda *arguments: perfect)
    model = DQN("MlpPolicy", SB3VecEnv(TTT, 8, opponent=None), **SMALL)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(400, ExactEvalCallback(100, stop_when_proven=True), log_interval=None)
    model.logger.close()
    with (tmp_path / "progress.csv").open(newline="") as file:
        assert [row["eval/proven"] for row in csv.DictReader(file)] == ["1.0"]


@pytest.mark.parametrize("made", [ExactEvalCallback, GamesCallback])
@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_wrong_intervals_are_named(made: Any, value: Any) -> None:
    with pytest.raises(ValueError, match="_freq must be"):
        made(value)


def test_boards_of_unknown_games_are_refused() -> None:
    with pytest.raises(ValueError, match="which game"):
        sb3.PPO("MlpPolicy", "CartPole-v1", n_steps=64, device="cpu").learn(64, ExactEvalCallback(64))
