"""Deep agents while they learn, over seeds: strength against CPU seconds, on tic-tac-toe or on Connect Four.

    python benchmarks/learning.py                             # tic-tac-toe: 5 seeds, about 20 minutes on one core
    python benchmarks/learning.py DQN --seeds 3               # some agents
    python benchmarks/learning.py --game ConnectFour-v0       # 3 seeds, about 35 minutes

Finished runs are kept in learning-runs.jsonl or connect-four-runs.jsonl and not repeated. Seconds are those of the
process on one thread of torch, without evaluations.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from statistics import mean, median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium as gym
import stable_baselines3 as sb3
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

import tictac_agents
from benchmarks.records import (
    Clock,
    Panel,
    Study,
    add_study,
    half_width,
    mistakes,
    mistakes_by_phase,
    parser_of,
    sets_in,
)
from tictac_agents import DQN, ExactEvalCallback, MaskablePPO, SB3VecEnv, Snapshot
from tictac_agents.plan import Plan, tuned
from tictac_apps.bench.records import Results, RunSettings
from tictac_env.arena import exact_results, round_robin
from tictac_env.arena.suites import PHASES
from tictac_env.checks import SEATS

Trained = tuple[Any, ExactEvalCallback]


class TicTacToe(Study):
    """CPU seconds until agents are proven unbeatable, by the exact verdict.

    "after the first" counts the verdicts from the first proof to the end of the run, and how many of them are proofs
    too. "updates per step" is the update-to-data ratio: gradient steps for each step of one board.
    """

    name, game, title, about = "learning", "TicTacToe-v0", "Deep agents", {"torch threads": 1}
    rows = dict.fromkeys(("DQN", "DQN, DummyVecEnv of 1", "MaskablePPO", "SB3's own DQN"), 5)
    every = 10_000
    games = 10_000
    """Games that measure a model that chooses illegal actions, for which there is no exact verdict."""
    sb3_boards: Mapping[str, Any] = {"num_envs": 4, "opponent": "random", "play_as": "alternate"}
    sb3_dqn: Mapping[str, Any] = {"learning_starts": 1_000, "gradient_steps": 1, "train_freq": 1}
    sb3_steps = 50_000

    def settings_of(self, name: str, seed: int) -> RunSettings:
        chosen: dict[str, Any] = {**self.sb3_boards, **self.sb3_dqn, "total": self.sb3_steps}
        if name != "SB3's own DQN":
            chosen = tuned(name.split(",")[0], self.game).to_dict()
        return _plain({"agent": name, "seed": seed, "game": self.game, "settings": chosen})

    def trained(self, name: str, seed: int) -> Trained:
        """A row's model after its run, and the verdicts on the way."""
        if name == "SB3's own DQN":  # as everybody first tries it: against random play, an illegal action loses
            boards = SB3VecEnv(self.game, **self.sb3_boards)
            model = sb3.DQN("MlpPolicy", boards, **self.sb3_dqn, seed=seed, device="cpu")
            return _learned(model, self.sb3_steps, self.every)
        plan = tuned(name.split(",")[0], self.game)
        if name == "MaskablePPO":
            return _learned(MaskablePPO.from_plan(plan, seed, "cpu"), plan.length, 5 * self.every)
        if name == "DQN":
            return _learned(DQN.from_plan(plan, seed, "cpu"), plan.length, self.every)
        # The same at the same update-to-data ratio on one environment, until it is proven.
        one = DummyVecEnv([lambda: gym.make(self.game, **plan.env_keywords())])
        settings: Any = plan.settings
        once = {
            "train_freq": round(1 / settings.update_to_data_ratio(plan.num_envs)),
            "gradient_steps": 1,
            "seed": seed,
        }
        keywords = {**settings.keywords(), **once}
        model = DQN(keywords.pop("policy"), one, device="cpu", **keywords)
        return _learned(model, plan.length, self.every, stop=True)

    def ratio(self, name: str) -> float:
        """The gradient steps for each step of one board."""
        if name == "SB3's own DQN":
            return 1 / 4
        plan = tuned(name.split(",")[0], self.game)
        settings: Any = plan.settings
        return float(settings.update_to_data_ratio(plan.num_envs))

    def run(self, settings: RunSettings, data: Path, models: Path) -> Results:
        torch.set_num_threads(1)
        name, seed = settings["agent"], settings["seed"]
        model, exact = self.trained(name, seed)
        proofs = [bool(point.judgement.unbeatable) for point in exact.rows]
        first = proofs.index(True) if any(proofs) else None
        last = exact.rows[-1]
        truth = last.judgement.verdict
        row: dict[str, Any] = {
            "agent": name,
            "seed": seed,
            "proven at": "" if first is None else exact.rows[first].timesteps,
            "CPU-s to proof": "" if first is None else round(exact.rows[first].seconds, 1),
            "steps": last.timesteps,
            "CPU-s": round(last.seconds, 1),
            "proven": "" if first is None else sum(proofs[first + 1 :]),
            "after the first": "" if first is None else len(proofs) - first - 1,
            "exploitability": "" if truth is None else truth.exploitability,
        }
        if truth is None:
            shares, basis = self.sampled(model), f"{self.games} games"
        else:
            seats = truth.as_first.against_random, truth.as_second.against_random
            shares, basis = tuple(100 * share.wins for share in seats), "exact"
        row |= {"wins as first": round(shares[0], 3), "wins as second": round(shares[1], 3), "wins by": basis}
        row["curve"] = [(round(point.seconds, 1), point.judgement.exploitability) for point in exact.rows]
        return row

    def sampled(self, model: Any) -> tuple[float, ...]:
        """Wins against random play as first and as second in per cent, an illegal action losing the game."""
        shares = []
        for seat in SEATS:
            boards = SB3VecEnv(self.game, num_envs=100, opponent="random", play_as=seat)
            boards.seed(0)
            observations, won, over = boards.reset(), 0, 0
            while over < self.games:
                observations, rewards, dones, _ = boards.step(model.predict(observations, deterministic=True)[0])
                over, won = over + int(dones.sum()), won + int((rewards[dones] == 1).sum())
            shares.append(100 * won / over)
        return tuple(shares)

    def summary(self, name: str, rows: Sequence[Results]) -> dict[str, Any]:
        """The medians of an agent over the seeds, a seed without a proof counting as endless, and the fewest wins."""
        seconds = [row["CPU-s to proof"] for row in rows if row["CPU-s to proof"] != ""]
        middle = median([*seconds, *[inf] * (len(rows) - len(seconds))])
        kept = [(row["proven"], row["after the first"]) for row in rows if row["proven"] != ""]
        proven, after = sum(one for one, _ in kept), sum(all_ for _, all_ in kept)
        return {
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
            "updates per step": round(self.ratio(name), 4),
        }

    def tables(self, runs: Sequence[Results]) -> dict[str, list[dict[str, Any]]]:
        plain = [{key: value for key, value in row.items() if key != "curve"} for row in runs]
        found = {name: [row for row in runs if row["agent"] == name] for name in self.rows}
        return {"runs": plain, "summary": [self.summary(name, rows) for name, rows in found.items() if rows]}

    def panels(self, runs: Sequence[Results]) -> list[Panel]:
        """Exploitability while they learn, of the agents that choose no illegal action."""
        found = []
        for name in self.rows:
            curves = [[point for point in row["curve"] if point[1] is not None] for row in runs if row["agent"] == name]
            if seen := [curve for curve in curves if curve]:
                found.append(Panel(name, "exploitability", {name: seen}, means=False))
        return found


def _plain(settings: RunSettings) -> RunSettings:
    """Settings as they are read back from JSON."""
    found: RunSettings = json.loads(json.dumps(settings))
    return found


def _learned(model: Any, steps: int, every: int, stop: bool = False) -> Trained:
    exact = ExactEvalCallback(every, stop_when_proven=stop, masked=False)
    model.learn(steps, exact)
    return model, exact


CHOOSE, REPORT = "C4-Choose-v1", "C4-Exact-v1"
SETS = ("end_easy", "middle_easy", "middle_medium")
OPPONENTS = ("random", "rule", "minimax:2", "minimax:4")
POINTS, SELDOM = 20, 4
"""The points of a curve, and at which of them games against perfect play are followed: each fourth."""


class Curve(BaseCallback):
    """Judges a run of `steps` steps on the way, and saves the model that errs least on the choosing suite.

    A point has the CPU seconds without evaluations, the steps, the mistakes on the choosing suite and on the reporting
    suite, which chooses nothing, and at every `SELDOM`-th point the shares of games won and drawn as first player
    against perfect play.
    """

    def __init__(self, steps: int, best: Path) -> None:
        super().__init__()
        self.every = steps // POINTS
        self.best = best
        self.points: list[dict[str, Any]] = []

    def _on_training_start(self) -> None:
        self.clock = Clock(time.process_time)

    def _on_step(self) -> bool:
        if self.num_timesteps >= self.every * (len(self.points) + 1):
            about = {"CPU-s": round(self.clock(), 1), "steps": self.num_timesteps}
            self.points.append(about | self.clock.judging(self._judged))
        return True

    def _judged(self) -> dict[str, Any]:
        player = Snapshot(self.model)
        point: dict[str, Any] = {suite: mistakes(player, suite) for suite in (CHOOSE, REPORT)}
        if len(self.points) % SELDOM == SELDOM - 1:
            exact = exact_results(
                player, "perfect", ConnectFour.game, max_positions=10_000, games=1_000, progress=False
            )
            point["perfect, first"] = [round(100 * share, 2) for share in exact.as_first.shares[:2]]
        if all(point[CHOOSE] < earlier[CHOOSE] for earlier in self.points):
            self.model.save(self.best)
        return point


class ConnectFour(Study):
    """Agents with the tuned settings: mistakes, games and results against perfect play.

    Of the points of a run the model is kept, and reported, that errs least on the suite `C4-Choose-v1`, on which
    settings were chosen too; everything reported is on other positions. Games begin from all openings of two plies, in
    both seats. The best and the last model of each run are saved.
    """

    name, game, title, about = "connect-four", "ConnectFour-v0", "Deep agents", {"torch threads": 1}
    rows = dict.fromkeys(("DQN", "MaskablePPO"), 3)
    games = 400

    def settings_of(self, name: str, seed: int) -> RunSettings:
        return _plain({"agent": name, "seed": seed, "settings": tuned(name, self.game).to_dict()})

    def run(self, settings: RunSettings, data: Path, models: Path) -> Results:
        torch.set_num_threads(1)
        models.mkdir(parents=True, exist_ok=True)
        algorithm, seed = getattr(tictac_agents, settings["agent"]), settings["seed"]
        plan = Plan.from_dict(settings["settings"])
        model = algorithm.from_plan(plan, seed, "cpu")
        last, best = (models / f"{self.name}-{settings['agent']}-{seed}{which}.zip" for which in ("", "-best"))
        curve = Curve(plan.length, best)
        model.learn(plan.length, curve)
        model.save(last)
        chosen_model = algorithm.load(best, device="cpu")
        return {
            "curve": curve.points,
            "steps": model.num_timesteps,
            "best": {"steps": chosen_model.num_timesteps, **self.judged(Snapshot(chosen_model, "network"), data)},
            "last": {"steps": model.num_timesteps, **self.judged(Snapshot(model, "network"), data)},
        }

    def judged(self, player: Snapshot, data: Path) -> dict[str, Any]:
        """Mistakes in per cent, games and exact results of a player."""
        found: dict[str, Any] = {name: mistakes(player, path) for name, path in sets_in(data, *SETS).items()}
        found |= mistakes_by_phase(player, REPORT)
        for opponent in OPPONENTS:
            pair = {"network": player, opponent: opponent}
            match = round_robin(pair, self.game, self.games, openings=2).matches["network", opponent]
            for seat, result in zip(SEATS, (match.as_first, match.as_second), strict=True):
                found[f"{opponent}, {seat}"] = round(100 * result.wins / result.games, 2)
            found[f"{opponent}, distinct"] = match.distinct
        exact = exact_results(player, "perfect", self.game, progress=False)
        for seat, result in zip(SEATS, (exact.as_first, exact.as_second), strict=True):
            found[f"perfect, {seat}"] = [round(100 * share, 2) for share in result.shares]
            found[f"perfect, {seat}, exact"] = result.exact
        return found

    def tables(self, runs: Sequence[Results]) -> dict[str, list[dict[str, Any]]]:
        """A row for each model; and for each measure the mean over the seeds, in per cent with its interval (Student's
        t, 95 %), of the best models and of the last.
        """
        lines = [
            {"agent": run["agent"], "seed": run["seed"], "model": which, "CPU-s": seconds_at(run, run[which]["steps"])}
            | measures(run[which])
            for run in runs
            for which in ("best", "last")
        ]
        summary = []
        for name in list(lines[0])[3:]:
            row = {"measure": name}
            for agent, which in dict.fromkeys((line["agent"], line["model"]) for line in lines):
                values = [line[name] for line in lines if (line["agent"], line["model"]) == (agent, which)]
                row[f"{agent}, {which}"] = (
                    f"{mean(values):.1f} ± {half_width(values):.1f}" if name.endswith("%") else f"{mean(values):,.0f}"
                )
            summary.append(row)
        return {"runs": lines, "summary": summary}

    def panels(self, runs: Sequence[Results]) -> list[Panel]:
        """Mistakes while they learn, and the games against perfect play that they do not lose as first player."""
        agents = list(dict.fromkeys(run["agent"] for run in runs))
        errs, holds = {}, {}
        for agent in agents:
            curves = [run["curve"] for run in runs if run["agent"] == agent]
            errs[agent] = [[(point["CPU-s"], point[REPORT]) for point in curve] for curve in curves]
            holds[agent] = [
                [(point["CPU-s"], sum(point["perfect, first"])) for point in curve if "perfect, first" in point]
                for curve in curves
            ]
        return [
            Panel(f"Mistakes on {REPORT}", "%", errs),
            Panel("Not lost as first against perfect play", "% of games", holds),
        ]


def measures(found: Mapping[str, Any]) -> dict[str, float]:
    """The results of a model, by the names of the table."""
    rows = {"plies": found["steps"]}
    rows |= {f"mistakes on {name}, %": found[name] for name in SETS if name in found}
    rows |= {f"mistakes on {REPORT}, %": found[REPORT]}
    rows |= {f"{REPORT}, {phase}, %": found[phase] for phase in PHASES}
    for opponent in OPPONENTS:
        rows |= {f"won against {opponent} {seat}, %": found[f"{opponent}, {seat}"] for seat in SEATS}
        rows[f"different games against {opponent}"] = found[f"{opponent}, distinct"]
    for seat in SEATS:
        won, drawn, _ = found[f"perfect, {seat}"]
        rows |= {f"won against perfect play {seat}, %": won, f"drawn against perfect play {seat}, %": drawn}
    return rows


def seconds_at(run: Mapping[str, Any], steps: int) -> float:
    """CPU seconds of a run until a number of steps, by its points."""
    return max(float(point["CPU-s"]) for point in run["curve"] if point["steps"] <= steps)


STUDIES: dict[str, Study] = {study.game: study for study in (TicTacToe(), ConnectFour())}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--game", choices=list(STUDIES), default="TicTacToe-v0", help="(default: %(default)s)")
    add_study(parser, *STUDIES.values())
    options = parser.parse_args()
    study = STUDIES[options.game]
    if unknown := set(options.rows) - set(study.rows):
        parser.error(f"unknown rows: {', '.join(unknown)}; there are {', '.join(study.rows)}")
    study.complete(options)


if __name__ == "__main__":
    main()
