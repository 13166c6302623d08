"""N-tuple networks on Connect Four: how well they learn, and how well a search with the shipped one plays.

    python benchmarks/ntuple.py learn                              # some five hours on one core
    python benchmarks/ntuple.py learn "NTupleTD 3 min" --seeds 3 --models models
    python benchmarks/ntuple.py search                             # about 20 minutes; `--players` for some

learn: self-play without search, over seeds; a row is a number of games. A run learns on one thread, and its seconds are
CPU seconds of that, without evaluations; more threads learn the same network, to the bit, in less time. It is judged at
points spread over the run, five of them in its last fifth, always as the network without search under the one-move
rule: the exact shares of its games as first player against perfect play. At the end it is judged as second player
against perfect play that errs, as first against searches, and on positions of known value. A result that would take too
many positions is sampled, and the record says within how much it holds.

search: mistakes against CPU milliseconds a move of four searches: alpha-beta over the network's values, as
`ntuple:100ms` has it; tree search with the network's values at its leaves; the same with rollouts; and OpenSpiel's,
with one random game a leaf and its solver (if installed: `pip install open-spiel`). Alpha-beta looks at CPU time. The
others get the simulations that they make in that time, measured first on positions of the choosing suite; on those the
network's exploration constant was chosen too, of 0.15, 0.3, 0.6, 1, 2 and 4. A search that is certain of its move stops
earlier, so the mean CPU time of a move is given too. The reported figures come from other positions: a sample of the
reporting suite, and the set middle_medium if it is available.

Finished runs are kept in ntuple-runs.jsonl or ntuple-search-runs.jsonl and not repeated.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, mean
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import bootstrap, trim_mean

from benchmarks.records import (
    DATA,
    Clock,
    Panel,
    Study,
    add_output,
    add_study,
    mistakes,
    parser_of,
    positive,
    save,
    save_picture,
    sets_in,
)
from benchmarks.search import PEERS, Player, ours, pyspiel
from tictac_agents import NTupleNetwork, NTupleTD
from tictac_agents.curves import new_figure
from tictac_agents.ntuple.search import NODES, SEARCHED, chosen_action, search_for
from tictac_apps.bench.records import Results, Row, RunSettings, RunStore, show
from tictac_env.arena import move_accuracy
from tictac_env.arena.results import seat_result
from tictac_env.arena.suites import PHASES, Suite, phases, suite
from tictac_env.checks import SEATS
from tictac_env.games import get_game
from tictac_env.policies import Policy, make_policy
from tictac_env.position import Position

GAME = "ConnectFour-v0"
CHOOSE, REPORT = "C4-Choose-v1", "C4-Exact-v1"
SETS = ("end_easy", "middle_easy", "middle_medium")
ROWS: dict[str, tuple[int, dict[str, Any], int]] = {
    "NTupleTD 3 min": (3_000_000, {"tuples": 70}, 10),
    "NTupleTD 6 min": (5_000_000, {"tuples": 150}, 10),
    "NTupleTD 10 min": (4_000_000, {"tuples": 300}, 10),
}
"""The games of a row, its settings, and its seeds. On two idle cores a run takes less than these minutes."""
EARLY = (0.1, 0.2, 0.4, 0.6)
LATE = (0.84, 0.88, 0.92, 0.96, 1.0)
"""The points of a run, as parts of its games: some before its last fifth, and five in it."""
ERRING = ("perfect:0.1", "perfect:0.2", "perfect:0.3")
MINIMAX = ("minimax:2", "minimax:4", "minimax:6")
POSITIONS = {"perfect": 400_000, "erring": 1_000, "searches": 1_000}
"""The most positions to follow exactly; those of perfect play that errs each cost a search to the game's end."""
SAMPLE = 1_000
"""Games that are drawn if there are more positions."""
ENDS = ("won", "drawn", "lost")
COSTS = ("CPU-s", "games", "games per CPU-s")
CONFIDENCE, RESAMPLES = 0.95, 9_999


def learned(settings: RunSettings, shares: Sequence[float]) -> tuple[NTupleTD, list[dict[str, Any]]]:
    """A learner after its run, and the points of this, each with the exact shares of its games against perfect play."""
    rules, perfect = get_game(settings["game"]), make_policy("perfect", settings["game"])
    NTupleTD(rules, **settings["settings"], seed=0).learn(2, progress_bar=False)  # compiled
    agent = NTupleTD(rules, **settings["settings"], seed=settings["seed"])
    due, points = [round(share * settings["games"]) for share in shares], list[dict[str, Any]]()
    clock = Clock(time.process_time)

    def look(learner: NTupleTD) -> None:
        def judge() -> Row:
            return {"perfect, first": against(learner.network, perfect, 0, settings["positions"]["perfect"])}

        if due and learner.num_games >= due[0]:
            due[:] = [games for games in due if games > learner.num_games]
            points.append({"CPU-s": round(clock(), 3), "games": learner.num_games, **clock.judging(judge)})

    agent.learn(settings["games"], look, progress_bar=False)
    return agent, points


def against(network: NTupleNetwork, opponent: Policy, seat: int, positions: int) -> dict[str, float]:
    """Shares of games in per cent; and half the width of the widest 95 % interval, 0 where the result is exact."""
    limits = {"max_positions": positions, "games": min(SAMPLE, positions)}
    found = seat_result(network, opponent, network.game, seat, **limits)
    within = max(high - low for low, high in found.intervals) / 2
    shares = {end: round(100 * share, 3) for end, share in zip(ENDS, found.shares, strict=True)}
    return shares | {"within": round(100 * within, 3)}


def judged(network: NTupleNetwork, settings: RunSettings, data: Path) -> dict[str, Any]:
    """Results of a network against opponents that err, and its mistakes in per cent."""
    found: dict[str, Any] = {}
    for names, kind, seat in ((ERRING, "erring", "second"), (MINIMAX, "searches", "first")):
        for name in names:
            opponent, positions = make_policy(name, network.game), settings["positions"][kind]
            found[f"{name}, {seat}"] = against(network, opponent, SEATS.index(seat), positions)
    sets = {REPORT: REPORT, **sets_in(data, *SETS)}
    return found | {f"mistakes on {name}": mistakes(network, positions, 3) for name, positions in sets.items()}


def last_fifth(points: Sequence[Mapping[str, Any]], end: str) -> float:
    """The mean over the points of the last fifth of a run of the games won, drawn or lost as first against perfect."""
    games = points[-1]["games"]
    return round(fmean(point["perfect, first"][end] for point in points if point["games"] > 0.8 * games), 3)


def results_of(run: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    """The shares of games of a run, by the names of the tables."""
    found: dict[str, Mapping[str, float]] = {
        "as first v perfect, last fifth": {end: last_fifth(run["curve"], end) for end in ENDS} | {"within": 0.0}
    }
    for key, value in run.items():
        opponent, _, seat = key.partition(", ")
        if isinstance(value, Mapping):
            found[f"as {seat} v {opponent}"] = value
    return found


def mistakes_of(run: Mapping[str, Any]) -> dict[str, float]:
    """The mistakes of a run in per cent, by the names of the tables."""
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
    """The results of a row, a line for each measure: means over the seeds, and the interquartile mean."""
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


class Learning(Study):
    """Networks that learn by themselves.

    Args:
        games: of each run; None for those of the row.
        positions: of a result at most; None for those in `POSITIONS`.
    """

    name, game, title = "ntuple", GAME, "N-tuple networks"

    def __init__(self, games: int | None = None, positions: int | None = None) -> None:
        self.games, self.positions = games, positions
        self.rows = {name: seeds for name, (_, _, seeds) in ROWS.items()}
        self.about = {"threads": 1, "points": len(EARLY) + len(LATE)}

    def settings_of(self, name: str, seed: int) -> RunSettings:
        most, settings, _ = ROWS[name]
        run: RunSettings = {"game": GAME, "games": self.games or most, "settings": settings, "points": [*EARLY, *LATE]}
        limits = {what: min(self.positions or many, many) for what, many in POSITIONS.items()}
        return {"agent": name, "seed": seed, **run, "positions": limits}

    def run(self, settings: RunSettings, data: Path, models: Path | None) -> Results:
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

    def tables(self, runs: Sequence[Results]) -> dict[str, list[dict[str, Any]]]:
        """A line for each run; and means over the seeds, and of the games won the interquartile mean with its interval.

        Sampled results say within how much each run's shares hold.
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

    def panels(self, runs: Sequence[Results]) -> list[Panel]:
        """The games won as first against perfect play while they learn."""
        curves: dict[str, list[list[tuple[float, float]]]] = {}
        for run in runs:
            points = [(point["CPU-s"], point["perfect, first"]["won"]) for point in run["curve"]]
            curves.setdefault(run["agent"], []).append(points)
        return [Panel("Won as first against perfect play", "% of games", curves)]


SET = "middle_medium"
BUDGETS = (1, 3, 10, 30, 100)
"""Milliseconds of CPU time a move."""
EACH = 300
"""Positions of each phase of the reporting suite."""
MEASURED, MEASURED_MS, TURNS = 40, 10, 5
"""Positions on which speeds are measured, the length of each search then, and how often it is done."""
ALPHA_BETA = "alpha-beta, n-tuples"
SEARCHES: dict[str, dict[str, Any]] = {
    ALPHA_BETA: {},
    "MCTS, n-tuples": {"exploration": 1.0},
    "MCTS, rollouts": {"exploration": 1.0},
    "OpenSpiel, rollouts": {"exploration": 2.0, "games a leaf": 1, "solve": True},
}
"""The settings of each player's search."""


@functools.cache
def network() -> NTupleNetwork:
    return NTupleNetwork.shipped(GAME)


def tree_search(player: str) -> Player:
    """A player of simulations."""
    if player.startswith("OpenSpiel"):
        return PEERS["OpenSpiel, solver"]
    evaluator = network() if "n-tuples" in player else None
    return ours(evaluator=evaluator, **SEARCHES[player])


class Counted(Policy):
    """A player at some budget, with counts of its work.

    Attributes:
        seconds: the CPU time of each move.
        seen: the positions, or simulations, of each move.
        plies: the depth of each search by alpha-beta that the time cut short.
    """

    def __init__(self, settings: RunSettings) -> None:
        self.settings = settings
        self.name = f"{settings['player']}, {settings['ms']} ms"
        self.seconds: list[float] = []
        self.seen: list[int] = []
        self.plies: list[int] = []
        self.tables = network().compiled(network().game)
        self.search = None if settings["player"] == ALPHA_BETA else tree_search(settings["player"])

    def act(self, position: Position, seed: int) -> int:
        known = Position.from_moves(position.game, position.to_moves())  # OpenSpiel asks how the position came about
        began = time.process_time()
        if self.search is None:
            action, seen = self._look_ahead(position)
        else:
            action, seen = self.search(known, self.settings["simulations"], seed)
        self.seconds.append(time.process_time() - began)
        self.seen.append(seen)
        return action

    def _look_ahead(self, position: Position) -> tuple[int, int]:
        """The move by alpha-beta, and the positions that it looked at."""
        game, own, opp = network().game, position.own, position.opp
        search, finished = search_for(game, self.tables, own, opp, self.settings["ms"], False, time.process_time)
        if not finished:
            self.plies.append(int(search.state[SEARCHED]))
        return chosen_action(game, search, np.empty(game.num_actions, np.int64)), int(search.state[NODES])


def simulations_a_ms() -> dict[str, float]:
    """The simulations of each player in a millisecond of CPU time, the mean over positions.

    The best of some turns, which other work of the machine has slowed least.
    """
    positions = [position for position, _ in suite(CHOOSE)]
    chosen = positions[:: len(positions) // MEASURED]
    best = dict.fromkeys((player for player in players_here() if player != ALPHA_BETA), 100.0)
    for turn in range(TURNS + 1):
        for player, rate in best.items():
            settings = {"player": player, "ms": MEASURED_MS, "simulations": round(MEASURED_MS * rate)}
            counted = Counted(settings)
            for position in chosen:
                counted.act(position, 0)
            found = sum(counted.seen) / sum(counted.seconds) / 1000
            best[player] = max(best[player], found) if turn else found  # the first turn compiles
    return best


def players_here() -> list[str]:
    """The players; OpenSpiel's where it is installed."""
    return [player for player in SEARCHES if pyspiel is not None or not player.startswith("OpenSpiel")]


def search_settings(player: str, budget: int, rates: Mapping[str, float], each: int) -> RunSettings:
    """All that decides a run."""
    settings: dict[str, Any] = {"player": player, "search": SEARCHES[player], "ms": budget, "each": each}
    if player != ALPHA_BETA:
        settings["simulations"] = max(1, round(budget * rates[player]))
    if "n-tuples" in player:
        settings["network"] = hashlib.sha256(network().weights.tobytes()).hexdigest()[:16]
    found: RunSettings = json.loads(json.dumps(settings))
    return found


def sample(each: int) -> Suite:
    """Some positions of each phase of the reporting suite, evenly spaced."""
    whole = suite(REPORT)
    numbers = [np.flatnonzero(phases(whole.game, whole.plies) == phase) for phase in range(len(PHASES))]
    chosen = np.concatenate([found[:: max(1, len(found) // each)][:each] for found in numbers])
    return Suite.of(f"{REPORT}, {each} of each phase", [whole[int(i)] for i in chosen])


def run_search(settings: RunSettings, data: Path) -> dict[str, Any]:
    """Mistakes in per cent with 95 % intervals, and the costs of a move."""
    found: dict[str, Any] = {}
    Counted(settings).act(Position.start(GAME), 0)  # may compile
    sets: dict[str, Any] = {REPORT: sample(settings["each"]), **sets_in(data, SET)}
    for name, positions in sets.items():
        player = Counted(settings)
        accuracy = move_accuracy(player, positions)
        found[name] = with_interval(accuracy.overall.mistakes)
        if name == REPORT:
            found |= {phase: round(100 * one.mistakes.value, 2) for phase, one in accuracy.by_phase.items()}
        found[f"CPU-ms, {name}"] = round(1000 * mean(player.seconds), 2)
        found[f"looked at, {name}"] = round(mean(player.seen))
        if player.plies:
            found[f"plies, {name}"] = round(mean(player.plies), 1)
    return found


def with_interval(rate: Any) -> str:
    """A rate in per cent with its interval."""
    return f"{100 * rate.value:.1f} ({100 * rate.low:.1f}-{100 * rate.high:.1f})"


def plot(rows: Sequence[Row], path: Path) -> None:
    """Writes the curves to a PNG file: mistakes against milliseconds, both on logarithmic scales."""
    figure = new_figure(9, 3.6)
    names = [name for name in (SET, REPORT) if name in rows[0]]
    for axis, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for player in dict.fromkeys(row["player"] for row in rows):
            points = [(row["ms"], str(row[name])) for row in rows if row["player"] == player]
            values = [float(text.split(" ")[0]) for _, text in points]
            ends = [[float(end) for end in text.split("(")[1].rstrip(")").split("-")] for _, text in points]
            below, above = ([abs(v - end[i]) for v, end in zip(values, ends, strict=True)] for i in (0, 1))
            axis.errorbar([ms for ms, _ in points], values, [below, above], marker="o", capsize=2, label=player)
        axis.set(title=f"Mistakes on {name}", xlabel="CPU milliseconds a move", xscale="log", yscale="log")
        axis.set_xticks(BUDGETS, [str(ms) for ms in BUDGETS])
        shares = (0.2, 0.5, 1, 2, 5, 10, 20, 50)
        axis.set_yticks(shares, [f"{share:g} %" for share in shares])
        axis.minorticks_off()
        axis.legend(fontsize=7)
    save_picture(figure, path)


def search(options: argparse.Namespace) -> None:
    """Plays, prints and writes the table, and draws the curves."""
    store = RunStore(options.output / "ntuple-search-runs.jsonl")
    measured: RunSettings = {
        "measured": "simulations a ms",
        "players": json.loads(json.dumps({name: SEARCHES[name] for name in players_here()})),
    }
    if measured not in store:
        store.add(measured, simulations_a_ms())
    jobs = [
        search_settings(player, budget, store[measured], options.each)
        for budget in options.budgets
        for player in players_here()
    ]
    asked = [settings for settings in jobs if settings["player"] in (options.players or SEARCHES)]
    store.complete(asked, functools.partial(run_search, data=options.data))
    known = [settings for settings in jobs if settings in store]
    rows = [{"ms": settings["ms"], "player": settings["player"], **store[settings]} for settings in known]
    columns = {name: name for name in (SET, REPORT, *PHASES)}
    columns |= {f"CPU-ms, {SET}": "CPU-ms", f"looked at, {SET}": "looked at", f"plies, {SET}": "plies"}
    table = [
        {"ms": row["ms"], "player": row["player"]} | {shown: row.get(name, "") for name, shown in columns.items()}
        for row in rows
    ]
    show("Mistakes in per cent", table)
    save("ntuple-search", {"positions of each phase": options.each}, {"mistakes": table}, options.output)
    plot(rows, options.output / "ntuple-search.png")


def main() -> None:
    parser = parser_of(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    learning = commands.add_parser("learn", help="self-play over seeds")
    add_study(learning, Learning())
    learning.add_argument("--games", type=positive, help="games of each run (default: those of the row)")
    learning.add_argument("--positions", type=positive, help="of a result at most (default: many)")
    learning.set_defaults(models=None)
    searching = commands.add_parser("search", help="searches with the shipped network")
    searching.add_argument("--budgets", nargs="+", type=positive, default=BUDGETS, help="ms a move")
    searching.add_argument("--players", nargs="+", choices=SEARCHES, help="who plays now (default: all that are here)")
    searching.add_argument("--each", type=positive, default=EACH, help="positions of each phase (default: %(default)s)")
    searching.add_argument("--data", type=Path, default=DATA, help="folder of the set (default: %(default)s)")
    add_output(searching)
    options = parser.parse_args()
    if options.command == "search":
        search(options)
        return
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    Learning(options.games, options.positions).complete(options)


if __name__ == "__main__":
    main()
