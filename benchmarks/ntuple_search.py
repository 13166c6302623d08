"""Connect Four by the shipped n-tuple network and a search: mistakes against CPU milliseconds a move.

    python benchmarks/ntuple_search.py                  # about 20 minutes on one core; `--players` for some

Four searches: alpha-beta over the network's values, as `ntuple:100ms` has it; tree search with the network's values at
its leaves; the same with rollouts; and OpenSpiel's, with one random game a leaf and its solver (where it is installed:
`pip install open-spiel`). Alpha-beta looks at the clock of CPU time. The others get the simulations that they make in
that time, measured first on positions of the choosing suite; on those the network's exploration constant was chosen
too, of 0.15, 0.3, 0.6, 1, 2 and 4. A search that is certain of its move stops earlier, so the average CPU time
of a move is given too. The reported figures come from other positions: a sample of the reporting suite, and the set
middle_medium where it is available.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.learned_connect_four import CHOOSE, GAME, PHASES, REPORT
from benchmarks.learned_runs import DATA
from benchmarks.report import RESULTS, Row, positive, save, show
from benchmarks.run_store import RunStore, Settings
from benchmarks.searchers import PEERS, Player, ours, pyspiel
from tictac_agents import NTupleNetwork
from tictac_agents.curves import new_figure, save_figure
from tictac_agents.ntuple.search import ALL, NODES, ROWS_A_MS, SEARCHED, answer, begin, deepen, deepen_until, new_search
from tictac_env.arena import move_accuracy
from tictac_env.arena.suites import Suite, as_suite, phases, suite
from tictac_env.policies import Policy
from tictac_env.position import Position

SET = "middle_medium"
BUDGETS = (1, 3, 10, 30, 100)
"""Milliseconds of CPU time a move."""
EACH = 300
"""How many positions of each phase of the reporting suite are played."""
SAMPLE, MEASURED_MS, TURNS = 40, 10, 5
"""On how many positions speeds are measured, about how long each search is then, and how often it is done."""
ALPHA_BETA = "alpha-beta, n-tuples"
SEARCHES: dict[str, dict[str, Any]] = {
    ALPHA_BETA: {},
    "MCTS, n-tuples": {"exploration": 1.0},
    "MCTS, rollouts": {"exploration": 1.0},
    "OpenSpiel, rollouts": {"exploration": 2.0, "games a leaf": 1, "solve": True},
}
"""What each player searches with."""


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
    """A player at some budget, that counts what it does.

    Attributes:
        seconds: the CPU time of each move.
        seen: how many positions, or simulations, each move looked at.
        plies: how deep each search by alpha-beta was that the time cut short.
    """

    def __init__(self, settings: Settings) -> None:
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
        """What `look_for` does, with the positions that it looked at."""
        game, seconds = network().game, self.settings["ms"] / 1000
        search = new_search(game, ROWS_A_MS * self.settings["ms"], exact=False, timed=True)
        begin(game, self.tables, search, position.own, position.opp)
        deepen(game, self.tables, search, 2, ALL)
        if not deepen_until(game, self.tables, search, seconds, time.process_time):
            self.plies.append(int(search.state[SEARCHED]))
        return answer(game, search, np.empty(game.num_actions, np.int64)), int(search.state[NODES])


def simulations_a_ms() -> dict[str, float]:
    """How many simulations each player makes in a millisecond of CPU time, on the mean over positions.

    The best of some turns, which whatever else the machine does has slowed least.
    """
    positions = [position for position, _ in suite(CHOOSE)]
    chosen = positions[:: len(positions) // SAMPLE]
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


def job(player: str, budget: int, rates: Mapping[str, float], each: int) -> Settings:
    """All that decides a run."""
    settings: dict[str, Any] = {"player": player, "search": SEARCHES[player], "ms": budget, "each": each}
    if player != ALPHA_BETA:
        settings["simulations"] = max(1, round(budget * rates[player]))
    if "n-tuples" in player:
        settings["network"] = hashlib.sha256(network().weights.tobytes()).hexdigest()[:16]
    found: Settings = json.loads(json.dumps(settings))
    return found


def sample(each: int) -> Suite:
    """So many positions of each phase of the reporting suite, evenly spaced."""
    whole = suite(REPORT)
    numbers = [np.flatnonzero(phases(whole.game, whole.plies) == phase) for phase in range(len(PHASES))]
    chosen = np.concatenate([found[:: max(1, len(found) // each)][:each] for found in numbers])
    return Suite.of(f"{REPORT}, {each} of each phase", [whole[int(i)] for i in chosen])


def run(settings: Settings, data: Path) -> dict[str, Any]:
    """Mistakes in per cent with 95 % intervals, and what a move took."""
    found: dict[str, Any] = {}
    Counted(settings).act(Position.start(GAME), 0)  # may compile
    path = data / f"connect_four_{SET}.csv"
    sets = {REPORT: sample(settings["each"])} | ({SET: as_suite(path)} if path.exists() else {})
    for name, positions in sets.items():
        player = Counted(settings)
        accuracy = move_accuracy(player, positions)
        found[name] = told(accuracy.overall.mistakes)
        if name == REPORT:
            found |= {phase: round(100 * one.mistakes.value, 2) for phase, one in accuracy.by_phase.items()}
        found[f"CPU-ms, {name}"] = round(1000 * mean(player.seconds), 2)
        found[f"looked at, {name}"] = round(mean(player.seen))
        if player.plies:
            found[f"plies, {name}"] = round(mean(player.plies), 1)
    return found


def told(rate: Any) -> str:
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
    save_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", nargs="+", type=positive, default=BUDGETS, help="ms a move (default: %(default)s)")
    parser.add_argument("--players", nargs="+", choices=SEARCHES, help="who plays now (default: all that are here)")
    parser.add_argument("--each", type=positive, default=EACH, help="positions of each phase (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the set (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    store = RunStore(options.output / "ntuple-search-runs.jsonl")
    measured: Settings = {
        "measured": "simulations a ms",
        "players": json.loads(json.dumps({name: SEARCHES[name] for name in players_here()})),
    }
    if measured not in store:
        store.add(measured, simulations_a_ms())
    jobs = [
        job(player, budget, store[measured], options.each) for budget in options.budgets for player in players_here()
    ]
    asked = [settings for settings in jobs if settings["player"] in (options.players or SEARCHES)]
    store.complete(asked, functools.partial(run, data=options.data))
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


if __name__ == "__main__":
    main()
