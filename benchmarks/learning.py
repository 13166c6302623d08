"""Deep agents on tic-tac-toe: CPU seconds until they are proven unbeatable, over seeds, by the exact verdict.

    python benchmarks/learning.py                 # all rows, 5 seeds each, about 20 minutes on one core
    python benchmarks/learning.py DQN --seeds 3   # some rows; the results of the others are kept

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
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium as gym
import stable_baselines3 as sb3
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from benchmarks.report import RESULTS, machine, positive, save, show
from tictac_agents import DQN, ExactEvalCallback, MaskablePPO, SB3VecEnv
from tictac_agents.deep.tuned import tuned
from tictac_agents.plotting import new_figure, save_figure
from tictac_env.storage import save_text

GAME = "TicTacToe-v0"
EVERY = 10_000
GAMES = 10_000
"""How many games tell the share of a model that chooses illegal actions, which no exact verdict is made for."""

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
    boards = SB3VecEnv(GAME, num_envs=4, opponent="random", play_as="alternate")
    model = sb3.DQN("MlpPolicy", boards, learning_starts=1_000, gradient_steps=1, train_freq=1, seed=seed, device="cpu")
    return learned(model, 50_000, EVERY)


ROWS: dict[str, tuple[Callable[[int], Learned], float]] = {
    "DQN": (dqn, tuned("DQN", GAME).update_to_data_ratio),
    "DQN, DummyVecEnv of 1": (dqn_on_one_board, tuned("DQN", GAME).update_to_data_ratio),
    "MaskablePPO": (maskable_ppo, tuned("MaskablePPO", GAME).update_to_data_ratio),
    "SB3's own DQN": (sb3_dqn, 1 / 4),
}


def learned(model: Any, steps: int, every: int, stop: bool = False) -> Learned:
    exact = ExactEvalCallback(every, stop_when_proven=stop)
    model.learn(steps, exact)
    return model, exact


def run(name: str, seed: int) -> dict[str, Any]:
    """Trains one model and says what became of it."""
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


def plot(runs: Sequence[dict[str, Any]]) -> None:
    """Exploitability against CPU seconds, a line for each seed, of the agents that do not choose illegal actions."""
    judged = {row["agent"] for row in runs if any(point[1] is not None for point in row["curve"])}
    names = [name for name in ROWS if name in judged]
    figure = new_figure(4 * len(names), 3)
    axes = figure.subplots(1, len(names), sharey=True, squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        for row in runs:
            curve = [point for point in row["curve"] if point[1] is not None]
            if row["agent"] == name and curve:
                axis.plot(*zip(*curve, strict=True), drawstyle="steps-post")
        axis.set(title=name, xlabel="CPU seconds")
    axes[0][0].set_ylabel("exploitability")
    save_figure(figure, RESULTS / "learning.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=[], metavar="ROW", help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--seeds", type=positive, default=5)
    arguments = parser.parse_args()
    if unknown := set(arguments.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    torch.set_num_threads(1)
    path = RESULTS / "learning-runs.json"
    for name in arguments.rows or ROWS:
        for seed in range(arguments.seeds):
            row = run(name, seed)
            print({key: value for key, value in row.items() if key != "curve"}, flush=True)
            runs = json.loads(path.read_text())["runs"] if path.exists() else []
            runs = [one for one in runs if (one["agent"], one["seed"]) != (name, seed)] + [row]
            save_text(path, json.dumps({"machine": machine(), "runs": runs}, indent=1))
    publish(json.loads(path.read_text())["runs"])


def publish(runs: Sequence[dict[str, Any]]) -> None:
    """Writes and prints the tables, and draws the curves."""
    plain = [{key: value for key, value in row.items() if key != "curve"} for row in runs]
    save("learning", {"game": GAME, "torch threads": 1}, {"runs": plain, "summary": summary(runs)})
    show("Deep agents on tic-tac-toe", summary(runs))
    plot(runs)


if __name__ == "__main__":
    main()
