"""Deep agents on tic-tac-toe: CPU seconds until they are proven unbeatable, over seeds, by the exact verdict.

`benchmarks/learning.py` runs this. "after the first" counts the verdicts from the first proof to the end of the run,
and how many of them are proofs too. "updates per step" is the update-to-data ratio: gradient steps for each step of
one board.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium as gym
import stable_baselines3 as sb3
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from benchmarks.learning_curves import Panel
from benchmarks.run_store import Settings
from tictac_agents import DQN, ExactEvalCallback, MaskablePPO, SB3VecEnv
from tictac_agents.deep.settings import tuned

GAME, NAME, SEEDS = "TicTacToe-v0", "learning", 5
TITLE = "Deep agents"
EVERY = 10_000
GAMES = 10_000
"""How many games tell the share of a model that chooses illegal actions, which no exact verdict is made for."""

SB3_BOARDS = {"num_envs": 4, "opponent": "random", "play_as": "alternate"}
SB3_DQN = {"learning_starts": 1_000, "gradient_steps": 1, "train_freq": 1}
SB3_STEPS = 50_000

Learned = tuple[Any, ExactEvalCallback]


def dqn(seed: int) -> Learned:
    """Our settings on 64 boards, to the end of the run."""
    chosen = tuned("DQN", GAME)
    return learned(DQN.from_settings(chosen, seed, "cpu"), chosen.total_timesteps, EVERY)


def dqn_on_one_board(seed: int) -> Learned:
    """The same at the same update-to-data ratio on a DummyVecEnv of one environment, until it is proven."""
    chosen = tuned("DQN", GAME)
    boards = DummyVecEnv([lambda: gym.make(GAME, **chosen.env_keywords())])
    once = {"train_freq": round(1 / chosen.update_to_data_ratio), "gradient_steps": 1}
    model = DQN(chosen.policy, boards, seed=seed, device="cpu", **{**chosen.keywords(), **once})
    return learned(model, chosen.total_timesteps, EVERY, stop=True)


def maskable_ppo(seed: int) -> Learned:
    """Our settings on 512 boards, to the end of the run."""
    chosen = tuned("MaskablePPO", GAME)
    return learned(MaskablePPO.from_settings(chosen, seed, "cpu"), chosen.total_timesteps, 5 * EVERY)


def sb3_dqn(seed: int) -> Learned:
    """Stable-Baselines3's DQN as everybody first tries it: against random play, an illegal action loses."""
    boards = SB3VecEnv(GAME, **SB3_BOARDS)  # type: ignore[arg-type]
    return learned(sb3.DQN("MlpPolicy", boards, **SB3_DQN, seed=seed, device="cpu"), SB3_STEPS, EVERY)


ROWS: dict[str, tuple[Callable[[int], Learned], float]] = {
    "DQN": (dqn, tuned("DQN", GAME).update_to_data_ratio),
    "DQN, DummyVecEnv of 1": (dqn_on_one_board, tuned("DQN", GAME).update_to_data_ratio),
    "MaskablePPO": (maskable_ppo, tuned("MaskablePPO", GAME).update_to_data_ratio),
    "SB3's own DQN": (sb3_dqn, 1 / 4),
}


def settings_of(name: str, seed: int) -> Settings:
    """All that decides a run of a row of `ROWS`."""
    chosen: dict[str, Any] = {**SB3_BOARDS, **SB3_DQN, "total_timesteps": SB3_STEPS}
    if name != "SB3's own DQN":
        chosen = tuned(name.split(",")[0], GAME).to_dict()
    settings: Settings = json.loads(json.dumps({"agent": name, "seed": seed, "game": GAME, "settings": chosen}))
    return settings


def learned(model: Any, steps: int, every: int, stop: bool = False) -> Learned:
    exact = ExactEvalCallback(every, stop_when_proven=stop)
    model.learn(steps, exact)
    return model, exact


def run(settings: Settings, data: Path, models: Path) -> dict[str, Any]:
    """Trains one model and says what became of it, which needs neither folder."""
    torch.set_num_threads(1)
    name, seed = settings["agent"], settings["seed"]
    model, exact = ROWS[name][0](seed)
    judgements = exact.judgements
    proofs = [judgement.proven for judgement in judgements]
    first = proofs.index(True) if any(proofs) else None
    last = judgements[-1]
    row: dict[str, Any] = {
        "agent": name,
        "seed": seed,
        "proven at": "" if first is None else judgements[first].num_timesteps,
        "CPU-s to proof": "" if first is None else round(judgements[first].cpu_seconds, 1),
        "steps": last.num_timesteps,
        "CPU-s": round(last.cpu_seconds, 1),
        "proven": "" if first is None else sum(proofs[first + 1 :]),
        "after the first": "" if first is None else len(proofs) - first - 1,
        "exploitability": "" if last.verdict is None else last.verdict.exploitability,
    }
    if last.verdict is None:
        shares, basis = sampled(model), f"{GAMES} games"
    else:
        seats = (last.verdict.as_first.against_random, last.verdict.as_second.against_random)
        shares, basis = tuple(100 * share.wins for share in seats), "exact"
    row |= {"wins as first": round(shares[0], 3), "wins as second": round(shares[1], 3), "wins by": basis}
    row["curve"] = [
        (round(one.cpu_seconds, 1), None if one.verdict is None else one.verdict.exploitability) for one in judgements
    ]
    return row


def sampled(model: Any) -> tuple[float, ...]:
    """Wins against random play as first and as second in per cent, an illegal action losing the game."""
    shares = []
    for seat in ("first", "second"):
        boards = SB3VecEnv(GAME, num_envs=100, opponent="random", play_as=seat)
        boards.seed(0)
        observations, won, over = boards.reset(), 0, 0
        while over < GAMES:
            observations, rewards, dones, _ = boards.step(model.predict(observations, deterministic=True)[0])
            over, won = over + int(dones.sum()), won + int((rewards[dones] == 1).sum())
        shares.append(100 * won / over)
    return tuple(shares)


def summary(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each agent: medians over the seeds, one without a proof taking for ever, and of wins the least."""
    lines = []
    for name, (_, ratio) in ROWS.items():
        rows = [row for row in runs if row["agent"] == name]
        if not rows:
            continue
        seconds = [row["CPU-s to proof"] for row in rows if row["CPU-s to proof"] != ""]
        middle = median([*seconds, *[inf] * (len(rows) - len(seconds))])
        kept = [(row["proven"], row["after the first"]) for row in rows if row["proven"] != ""]
        proven, after = sum(one for one, _ in kept), sum(all_ for _, all_ in kept)
        lines.append(
            {
                "agent": name,
                "proven": f"{len(seconds)} of {len(rows)}",
                "CPU-s to proof, median": round(middle, 1) if middle < inf else "",
                "slowest": max(seconds) if seconds else "",
                "proven after the first": f"{proven} of {after}" if after else "",
                "wins as first, median": round(median(row["wins as first"] for row in rows), 2),
                "least as first": round(min(row["wins as first"] for row in rows), 2),
                "wins as second, median": round(median(row["wins as second"] for row in rows), 2),
                "least as second": round(min(row["wins as second"] for row in rows), 2),
                "CPU-s, median": round(median(row["CPU-s"] for row in rows), 1),
                "updates per step": round(ratio, 4),
            }
        )
    return lines


def tables(runs: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """A line for each run, and `summary`."""
    plain = [{key: value for key, value in row.items() if key != "curve"} for row in runs]
    return {"runs": plain, "summary": summary(runs)}


def panels(runs: Sequence[dict[str, Any]]) -> list[Panel]:
    """Exploitability while they learn, of the agents that choose no illegal action."""
    found = []
    for name in ROWS:
        curves = [[point for point in row["curve"] if point[1] is not None] for row in runs if row["agent"] == name]
        if seen := [curve for curve in curves if curve]:
            found.append(Panel(name, "exploitability", {name: seen}, means=False))
    return found
