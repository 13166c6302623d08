"""Deep agents on tic-tac-toe: CPU seconds until they are proven unbeatable, over seeds, by the exact verdict.

    python benchmarks/learning.py                 # all rows, 5 seeds each, about 20 minutes on one core
    python benchmarks/learning.py DQN --seeds 3   # some rows

Every finished run is kept in learning-runs.jsonl, and what is there is not run again.
Seconds are those of the process on one thread of torch, without the verdicts. "after the first" counts the verdicts
from the first proof to the end of the run, and how many of them are proofs too. "updates per step" is the
update-to-data ratio: gradient steps for each step of one board.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium as gym
import stable_baselines3 as sb3
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from benchmarks.report import RESULTS, positive, save, show
from benchmarks.run_store import RunStore, Settings
from tictac_agents import DQN, ExactEvalCallback, MaskablePPO, SB3VecEnv
from tictac_agents.deep.tuned import tuned
from tictac_agents.plotting import new_figure, save_figure

GAME = "TicTacToe-v0"
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


def run(settings: Settings) -> dict[str, Any]:
    """Trains one model and says what became of it."""
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


def plot(runs: Sequence[dict[str, Any]], path: Path) -> None:
    """Exploitability against CPU seconds, a line for each seed, of the agents that choose no illegal action."""
    judged = {row["agent"] for row in runs if any(point[1] is not None for point in row["curve"])}
    names = [name for name in ROWS if name in judged]
    if not names:
        return
    figure = new_figure(4 * len(names), 3)
    axes = figure.subplots(1, len(names), sharey=True, squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        for row in runs:
            curve = [point for point in row["curve"] if point[1] is not None]
            if row["agent"] == name and curve:
                axis.plot(*zip(*curve, strict=True), drawstyle="steps-post")
        axis.set(title=name, xlabel="CPU seconds")
    axes[0][0].set_ylabel("exploitability")
    save_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=[], metavar="ROW", help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--seeds", type=positive, default=5, help="runs of each row (default: %(default)s)")
    parser.add_argument("--workers", type=positive, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="run again what is there")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    store = RunStore(options.output / "learning-runs.jsonl")
    jobs = [settings_of(name, seed) for name in options.rows or ROWS for seed in range(options.seeds)]
    if options.fresh:
        store.remove(jobs)
    store.complete(jobs, run, options.workers)
    publish(runs_in(store), options.output)


def runs_in(store: RunStore) -> list[dict[str, Any]]:
    """The runs of the rows as they are now, in their order."""
    found = [run for settings, run in store if settings == settings_of(run["agent"], run["seed"])]
    return sorted(found, key=lambda run: (list(ROWS).index(run["agent"]), run["seed"]))


def publish(runs: Sequence[dict[str, Any]], folder: Path) -> None:
    """Writes and prints the tables, and draws the curves."""
    plain = [{key: value for key, value in row.items() if key != "curve"} for row in runs]
    save("learning", {"game": GAME, "torch threads": 1}, {"runs": plain, "summary": summary(runs)}, folder)
    show("Deep agents on tic-tac-toe", summary(runs))
    plot(runs, folder / "learning.png")


if __name__ == "__main__":
    main()
