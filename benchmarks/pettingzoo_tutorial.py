"""MaskablePPO on PettingZoo's Connect Four: by the scheme of PettingZoo's tutorial, and through OpponentPolicyEnv.

    python benchmarks/pettingzoo_tutorial.py [--steps 10240 20480 40960] [--seeds 3] [--games 500] [--output FOLDER]

Both learn with the default settings. After each of so many environment steps they play deterministically against random
play, in either seat. Every finished run is kept in pettingzoo-tutorial-runs.jsonl and not run again. For the scheme see
https://pettingzoo.farama.org/tutorials/sb3/connect_four/ and `TutorialEnv`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pettingzoo
import torch
from sb3_contrib import MaskablePPO

from benchmarks.report import RESULTS, Row, positive, save, show
from benchmarks.run_store import RunStore, Settings
from tictac_env.arena import WinDrawLoss
from tictac_env.cli.arguments import add_workers, chosen_workers
from tictac_env.wrappers import OpponentPolicyEnv

GAME = "classic/connect_four_v3"
SEATS = ("first", "second")
UNTRAINED = "untrained network"


class TutorialEnv(gym.Env[Any, int]):
    """One network plays both sides: a step is a ply of the side to move.

    The observation is that of the next agent, the reward that of the agent that has just moved. So the last step of a
    game is always the winner's, and the -1 of the loser, who moved one step before, is never returned.
    """

    def __init__(self) -> None:
        self.env = pettingzoo.make("aec", GAME)
        agent = self.env.possible_agents[0]
        self.observation_space = self.env.observation_space(agent)["observation"]
        self.action_space = self.env.action_space(agent)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.env.reset(seed=seed, options=options)
        return self._seen()["observation"], {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        mover = self.env.agent_selection
        self.env.step(action)
        over, cut = self.env.terminations[mover], self.env.truncations[mover]
        return self._seen()["observation"], self.env.rewards[mover], over, cut, self.env.infos[mover]

    def action_masks(self) -> npt.NDArray[np.int8]:
        mask: npt.NDArray[np.int8] = self._seen()["action_mask"]
        return mask

    def _seen(self) -> dict[str, Any]:
        seen: dict[str, Any] = self.env.observe(self.env.agent_selection)
        return seen


def ours() -> OpponentPolicyEnv:
    """The same environment seen by one player, in alternating seats; a step is its ply and random play's answer."""
    return OpponentPolicyEnv(pettingzoo.make("aec", GAME), opponent="random", play_as="alternate")


SCHEMES: dict[str, Callable[[], gym.Env[Any, Any]]] = {
    "PettingZoo's tutorial": TutorialEnv,
    "OpponentPolicyEnv": ours,
}


def main() -> None:
    options = parse_arguments()
    store = RunStore(options.output / "pettingzoo-tutorial-runs.jsonl")
    shared = {"steps": sorted(options.steps), "games": options.games}
    jobs = [
        {"scheme": scheme, "seed": seed, **(shared if scheme != UNTRAINED else shared | {"steps": []})}
        for seed in range(options.seeds)
        for scheme in (UNTRAINED, *SCHEMES)
    ]
    store.complete(jobs, run, chosen_workers(options))
    rows = [row for settings in jobs for row in store[settings]["rows"]]
    table = summary(rows)
    show("Wins against random play, in per cent", table)
    settings = {"steps": options.steps, "seeds": options.seeds, "games": options.games}
    save("pettingzoo-tutorial", settings, {"seeds": rows, "summary": table}, options.output)
    print(f"written to {options.output}")


def run(settings: Settings) -> dict[str, list[Row]]:
    """Trains one network by a scheme, from a seed, and judges it after each number of steps."""
    torch.set_num_threads(1)
    scheme, seed, games = settings["scheme"], settings["seed"], settings["games"]
    model = MaskablePPO("MlpPolicy", SCHEMES.get(scheme, ours)(), seed=seed, device="cpu")
    if not settings["steps"]:
        return {"rows": judge(scheme, seed, model, games)}
    rows: list[Row] = []
    for steps in settings["steps"]:
        model.learn(steps - model.num_timesteps, reset_num_timesteps=False)
        rows += judge(scheme, seed, model, games)
    return {"rows": rows}


def judge(scheme: str, seed: int, model: MaskablePPO, games: int) -> list[Row]:
    """The model's results against random play, a row for each seat."""
    rows: list[Row] = []
    for seat in SEATS:
        tally = play(model, seat, games)
        low, high = tally.interval(tally.wins)
        interval = {"win share, low": round(low, 4), "win share, high": round(high, 4)}
        row = {"scheme": scheme, "steps": model.num_timesteps, "seed": seed, "seat": seat}
        rows.append({**row, **tally._asdict(), **interval})
    return rows


def play(model: MaskablePPO, seat: str, games: int) -> WinDrawLoss:
    """So many games of the model against random play; all models meet the same random numbers."""
    env = OpponentPolicyEnv(pettingzoo.make("aec", GAME), opponent="random", play_as=seat)
    counts = [0, 0, 0]
    for game in range(games):
        observation, info = env.reset(seed=1_000_000 if game == 0 else None)
        terminated = False
        while not terminated:
            action, _ = model.predict(observation, action_masks=info["action_mask"], deterministic=True)
            observation, reward, terminated, _, info = env.step(int(action))
        counts[1 - int(reward)] += 1
    return WinDrawLoss(*counts)


def summary(rows: list[Row]) -> list[Row]:
    """All seeds together: the mean, its Wilson interval over the games, and the range over the seeds."""
    table: list[Row] = []
    for steps, scheme in sorted({(row["steps"], row["scheme"]) for row in rows}, reverse=True):
        line: dict[str, Any] = {"scheme": scheme, "steps": steps}
        for seat in SEATS:
            found = [row for row in rows if (row["scheme"], row["steps"], row["seat"]) == (scheme, steps, seat)]
            tallies = [WinDrawLoss(row["wins"], row["draws"], row["losses"]) for row in found]
            total = sum(tallies, WinDrawLoss(0, 0, 0))
            low, high = total.interval(total.wins)
            shares = [100 * tally.wins / tally.games for tally in tallies]
            line[f"as {seat}"] = f"{100 * total.wins / total.games:.1f} ({100 * low:.1f}-{100 * high:.1f})"
            line[f"seeds, {seat}"] = f"{min(shares):.1f} to {max(shares):.1f}"
        table.append(line)
    return table[::-1]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--steps",
        type=positive,
        nargs="+",
        default=[10_240, 20_480, 40_960],
        help="after how many environment steps to play; PPO rounds up to 2,048 (default: %(default)s)",
    )
    parser.add_argument("--seeds", type=positive, default=3, help="runs of each (default: %(default)s)")
    parser.add_argument("--games", type=positive, default=500, help="games in each seat (default: %(default)s)")
    add_workers(parser)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
