"""N-tuple networks that learn Connect Four by themselves, over seeds: exact strength against games and seconds.

    python benchmarks/learned_ntuple.py                              # some five hours on one core
    python benchmarks/learned_ntuple.py "NTupleTD 3 min" --seeds 3 --models models

A row is so many games of self-play. A run learns on one thread, and its seconds are CPU seconds of that, evaluations
left out; more threads learn the same network, to the bit, in less time. It is judged at points spread over the run,
five of them in its last fifth, always as the network without search under the one-move rule: the exact shares of its
games as first player against perfect play. At the end it is judged as second player against perfect play that errs,
as first against searches, and on positions of known value. Where a result would take too many positions it is
sampled, and the record says within how much it holds. Finished runs are kept in ntuple-runs.jsonl and not run again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import bootstrap, trim_mean

from benchmarks.learned_runs import add_options, complete, publish, runs_in
from benchmarks.learning_curves import Panel
from benchmarks.report import positive
from benchmarks.run_store import Settings
from tictac_agents import NTupleNetwork, NTupleTD
from tictac_env.arena import move_accuracy
from tictac_env.arena.results import seat_result
from tictac_env.games import get_game
from tictac_env.policies import Policy, make_policy

GAME, NAME, SEEDS = "ConnectFour-v0", "ntuple", 10
TITLE = "N-tuple networks"
CHOSEN = {"tuples": 70}
"""The settings of the shortest run."""
ROWS: dict[str, tuple[int, dict[str, Any], int]] = {
    "NTupleTD 3 min": (3_000_000, CHOSEN, SEEDS),
    "NTupleTD 6 min": (5_000_000, {"tuples": 150}, SEEDS),
    "NTupleTD 10 min": (4_000_000, {"tuples": 300}, SEEDS),
}
"""How many games a row has, its settings, and how many seeds. On two idle cores a run takes less than these minutes."""
EARLY = (0.1, 0.2, 0.4, 0.6)
LATE = (0.84, 0.88, 0.92, 0.96, 1.0)
"""The points of a run, as parts of its games: some before its last fifth, and five in it."""
ERRING = ("perfect:0.1", "perfect:0.2", "perfect:0.3")
SEARCHES = ("minimax:2", "minimax:4", "minimax:6")
POSITIONS = {"perfect": 400_000, "erring": 1_000, "searches": 1_000}
"""So many positions are followed exactly; those of perfect play that errs each cost a search to the game's end."""
SAMPLE = 1_000
"""So many games are drawn where there are more."""
SUITE = "C4-Exact-v1"
SETS = ("end_easy", "middle_easy", "middle_medium")
ENDS, SEATS = ("won", "drawn", "lost"), ("first", "second")
COSTS = ("CPU-s", "games", "games per CPU-s")
CONFIDENCE, RESAMPLES = 0.95, 9_999


class Points:
    """A callback of `NTupleTD.learn` that judges the network at the points of a run.

    Args:
        games: how many games the run has.
        shares: the points, as parts of these.
        judge: what a point says of a network.

    Attributes:
        points: a dict for each point: CPU-s (without the judging), games, and what `judge` said. The last one is of the
            end.
    """

    def __init__(self, games: int, shares: Sequence[float], judge: Callable[[NTupleNetwork], dict[str, Any]]) -> None:
        self.due = [round(share * games) for share in shares]
        self.judge = judge
        self.points: list[dict[str, Any]] = []
        self.began = time.process_time()

    def __call__(self, learner: NTupleTD) -> None:
        if self.due and learner.num_games >= self.due[0]:
            now = time.process_time()
            self.due = [games for games in self.due if games > learner.num_games]
            point = {"CPU-s": round(now - self.began, 3), "games": learner.num_games}
            self.points.append(point | self.judge(learner.network))
            self.began += time.process_time() - now


def learned(settings: Settings, shares: Sequence[float]) -> tuple[NTupleTD, list[dict[str, Any]]]:
    """A learner after its run, and the points of this, each with the exact shares of its games against perfect play."""
    rules, perfect = get_game(settings["game"]), make_policy("perfect", settings["game"])

    def judge(network: NTupleNetwork) -> dict[str, Any]:
        return {"perfect, first": against(network, perfect, 0, settings["positions"]["perfect"])}

    NTupleTD(rules, **settings["settings"], seed=0).learn(2, progress_bar=False)  # compiled
    learner = NTupleTD(rules, **settings["settings"], seed=settings["seed"])
    points = Points(settings["games"], shares, judge)
    learner.learn(settings["games"], points, progress_bar=False)
    return learner, points.points


def against(network: NTupleNetwork, opponent: Policy, seat: int, positions: int) -> dict[str, float]:
    """Shares of games in per cent; and half the width of the widest 95 % interval, 0 where the result is exact."""
    limits = {"max_positions": positions, "games": min(SAMPLE, positions)}
    found = seat_result(network, opponent, network.game, seat, **limits)
    within = max(high - low for low, high in found.intervals) / 2
    shares = {end: round(100 * share, 3) for end, share in zip(ENDS, found.shares, strict=True)}
    return shares | {"within": round(100 * within, 3)}


def settings_of(name: str, seed: int, games: int | None = None, positions: int | None = None) -> Settings:
    """All that decides a run of a row of `ROWS`, or of one with so many games, judged on at most so many positions."""
    most, settings, _ = ROWS[name]
    run: Settings = {"game": GAME, "games": games or most, "settings": settings, "points": [*EARLY, *LATE]}
    limits = {what: min(positions or many, many) for what, many in POSITIONS.items()}
    return {"agent": name, "seed": seed, **run, "positions": limits}


def run(settings: Settings, data: Path, models: Path | None) -> dict[str, Any]:
    """Trains one network and judges it, on those sets too that are in the folder `data`; saves it in `models`."""
    learner, points = learned(settings, settings["points"])
    network, seconds = learner.network, points[-1]["CPU-s"]
    if models is not None:
        models.mkdir(parents=True, exist_ok=True)
        network.save(models / f"{settings['agent'].replace(' ', '-')}-{settings['seed']}.npz")
    return {
        "curve": points,
        "CPU-s": seconds,
        "games": learner.num_games,
        "games per CPU-s": round(learner.num_games / seconds),
        "plies": learner.num_plies,
        "perfect, first": points[-1]["perfect, first"],
        **judged(network, settings, data),
    }


def judged(network: NTupleNetwork, settings: Settings, data: Path) -> dict[str, Any]:
    """What a network reaches against opponents that err, and its mistakes in per cent."""
    found: dict[str, Any] = {}
    for names, kind, seat in ((ERRING, "erring", "second"), (SEARCHES, "searches", "first")):
        for name in names:
            opponent, positions = make_policy(name, network.game), settings["positions"][kind]
            found[f"{name}, {seat}"] = against(network, opponent, SEATS.index(seat), positions)
    sets = {name: data / f"connect_four_{name}.csv" for name in SETS}
    for name, positions in {SUITE: SUITE, **{name: path for name, path in sets.items() if path.exists()}}.items():
        found[f"mistakes on {name}"] = round(100 * move_accuracy(network, positions).overall.mistakes.value, 3)
    return found


def last_fifth(points: Sequence[Mapping[str, Any]], end: str) -> float:
    """The mean over the points of the last fifth of a run of the games won, drawn or lost as first against perfect."""
    games = points[-1]["games"]
    return round(fmean(point["perfect, first"][end] for point in points if point["games"] > 0.8 * games), 3)


def results_of(run: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    """The shares of games of a run, by the words of the tables."""
    found: dict[str, Mapping[str, float]] = {
        "as first v perfect, last fifth": {end: last_fifth(run["curve"], end) for end in ENDS} | {"within": 0.0}
    }
    for key, value in run.items():
        opponent, _, seat = key.partition(", ")
        if isinstance(value, Mapping):
            found[f"as {seat} v {opponent}"] = value
    return found


def mistakes_of(run: Mapping[str, Any]) -> dict[str, float]:
    """The mistakes of a run in per cent, by the words of the tables."""
    return {f"{key}, %": value for key, value in run.items() if key.startswith("mistakes on ")}


def middle(values: Sequence[float]) -> str:
    """The interquartile mean over the seeds, with the 95 % interval of a bootstrap over them."""

    def interquartile(values: Any, axis: int) -> Any:
        return trim_mean(values, 0.25, axis=axis)

    mean = float(trim_mean(values, 0.25))
    low = high = mean
    if len(set(values)) > 1:
        limits: dict[str, Any] = {"n_resamples": RESAMPLES, "confidence_level": CONFIDENCE, "method": "percentile"}
        low, high = bootstrap((values,), interquartile, rng=np.random.default_rng(0), **limits).confidence_interval
    return f"{mean:.2f} ({low:.2f}-{high:.2f})"


def column(agent: str, runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """What the runs of a row reached, a line for each measure: means over the seeds, and the interquartile mean."""
    found: dict[str, dict[str, str]] = {}
    results = [results_of(run) for run in runs]
    for name in results[0]:
        means = [f"{fmean(one[name][end] for one in results):.2f}" for end in ENDS]
        within = fmean(one[name]["within"] for one in results)
        sampled = f", within {within:.2f}" if within else ""
        wins = middle([one[name]["won"] for one in results])
        found[f"{name}, W/D/L %"] = {agent: " / ".join(means) + sampled, f"{agent}, IQM of wins": wins}
    for name in mistakes_of(runs[0]):
        values = [mistakes_of(run)[name] for run in runs]
        found[name] = {agent: f"{fmean(values):.2f}", f"{agent}, IQM of wins": ""}
    for name in COSTS:
        mean = fmean(run[name] for run in runs)
        found[name] = {agent: f"{mean:,.0f}", f"{agent}, IQM of wins": ""}
    return found


def tables(runs: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """A line for each run; and `summary`: means over the seeds, and of the games won the interquartile mean with its
    interval. Sampled results say within how much each run's shares hold.
    """
    lines = [
        {"row": run["agent"], "seed": run["seed"]}
        | {f"{name}, {what}, %": share for name, one in results_of(run).items() for what, share in one.items()}
        | mistakes_of(run)
        | {name: run[name] for name in COSTS}
        for run in runs
    ]
    agents = dict.fromkeys(run["agent"] for run in runs)
    columns = [column(agent, [run for run in runs if run["agent"] == agent]) for agent in agents]
    summary: list[dict[str, Any]] = [{"measure": name} for name in columns[0]]
    for row in summary:
        for found in columns:
            row |= found[row["measure"]]
    return {"runs": lines, "summary": summary}


def panels(runs: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """The games won as first against perfect play while they learn."""
    curves: dict[str, list[list[tuple[float, float]]]] = {}
    for run in runs:
        points = [(point["CPU-s"], point["perfect, first"]["won"]) for point in run["curve"]]
        curves.setdefault(run["agent"], []).append(points)
    return [Panel("Won as first against perfect play", "% of games", curves)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, ", ".join(ROWS), ", ".join(f"{row[2]}" for row in ROWS.values()))
    parser.add_argument("--games", type=positive, help="games of each run (default: those of the row)")
    parser.add_argument("--positions", type=positive, help="that a result is made of at most (default: many)")
    parser.set_defaults(models=None)
    options = parser.parse_args()
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    jobs = [
        settings_of(name, seed, options.games, options.positions)
        for name in options.rows or ROWS
        for seed in range(options.seeds or ROWS[name][2])
    ]
    this = sys.modules[run.__module__]
    store = complete(this, jobs, options)
    found = runs_in(store, this, games=options.games, positions=options.positions)
    publish(this, found, {"threads": 1, "points": len(EARLY) + len(LATE)}, options.output)


if __name__ == "__main__":
    main()
