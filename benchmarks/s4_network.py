"""S4's network while it learns: wins and lengths of games against random play and against its earlier self.

    python benchmarks/s4_network.py [--seeds 10] [--games 2000] [--workers 2] [--output FOLDER]

The runs are those of benchmarks/reproduce.py, kept in reproduce-runs.jsonl: what is there is not run again. Writes
s4-network.json, two CSV files and a picture; then run tools/results_tables.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean

from benchmarks.fitted_runs import FROZEN
from benchmarks.published import S4_SEEDS, SYSTEMS, Case
from benchmarks.published_runs import Run, run, settings_of
from benchmarks.report import RESULTS, Row, positive, save, show
from benchmarks.run_store import RunStore
from tictac_agents.curves import new_figure, save_figure
from tictac_env.cli.arguments import add_workers, chosen_workers

SEATS = ("first", "second")


def main() -> None:
    options = parse_arguments()
    store = RunStore(options.output / "reproduce-runs.jsonl")
    jobs = [settings_of(case, seed) for seed in range(options.seeds) for case in cases_of(options.games)]
    store.complete(jobs, run, chosen_workers(options))
    curve, tree = tables(store, options.games, options.seeds)
    show("While it learns: per cent won, and plies a game; means of the seeds", curve)
    show("Against S4's learned tree, from all openings of two plies", tree)
    settings = {"games": options.games, "seeds": options.seeds}
    save("s4-network", settings, {"curve": curve, "tree": tree}, options.output)
    plot(curve, options.output / "s4-network.png")
    print(f"written to {options.output}")


def cases_of(games: int) -> list[Case]:
    """The networks, with runs of so many games."""
    found = [case for case in SYSTEMS if case.run.startswith("FittedQ:")]
    return [case._replace(run=f"{case.run.rpartition(':')[0]}:{games}") for case in found]


def tables(store: RunStore, games: int, seeds: int) -> tuple[list[Row], list[Row]]:
    """What the networks do while they learn, and against the tree."""
    runs = {case.name: [store[settings_of(case, seed)] for seed in range(seeds)] for case in cases_of(games)}
    curve = [row for name, found in runs.items() for row in curve_of(name, found)]
    return curve, [row for name, found in runs.items() for row in against_tree(name, found)]


def curve_of(name: str, runs: list[Run]) -> list[Row]:
    """A row for each batch of games: the means over the seeds."""
    rows: list[Row] = []
    for points in zip(*(found["curve"] for found in runs), strict=True):
        columns = [column for column in points[0] if column != "games"]
        means = {column: round(mean(point[column] for point in points), 1) for column in columns}
        rows.append({"network": name, "games": points[0]["games"]} | means)
    return rows


def against_tree(name: str, runs: list[Run]) -> list[Row]:
    """The network's games against the tree in each seat, all seeds together."""
    rows: list[Row] = []
    for seat in SEATS:
        wins, draws, losses = (sum(found[f"{seat}: v tree"][end] for found in runs) for end in range(3))
        games = wins + draws + losses
        each = [100 * found[f"{seat}: v tree"][0] / sum(found[f"{seat}: v tree"]) for found in runs]
        rows.append(
            {"network": name, "seat": seat, "wins": wins, "draws": draws, "losses": losses}
            | {"% won": round(100 * wins / games, 1), "range of the seeds": f"{min(each):.1f}-{max(each):.1f}"}
        )
    return rows


def plot(curve: list[Row], path: Path) -> None:
    figure = new_figure(11, 4.2)
    for axis, what, label in zip(figure.subplots(1, 2), ("% won", "plies"), ("% won", "plies a game"), strict=True):
        for name, style in zip(dict.fromkeys(row["network"] for row in curve), ("-", ":"), strict=False):
            rows = [row for row in curve if row["network"] == name]
            games = [row["games"] for row in rows]
            for opponent, seat, colour in (
                ("random", "first", "tab:blue"),
                ("random", "second", "tab:cyan"),
                ("frozen", "first", "tab:red"),
                ("frozen", "second", "tab:orange"),
            ):
                title = f"v {opponent}, {seat}" if style == "-" else None
                shares = [row[f"v {opponent}, {seat}: {what}"] for row in rows]
                axis.plot(games, shares, style, color=colour, marker=".", label=title)
        axis.set_xlabel("games of self-play")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axis.legend()
    figure.suptitle(f"S4's network; dotted: all actions in one pass; frozen: itself after {FROZEN} games")
    save_figure(figure, path)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=positive, default=S4_SEEDS, help="(default: %(default)s)")
    parser.add_argument("--games", type=positive, default=2_000, help="of self-play (default: %(default)s)")
    add_workers(parser, 2)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
