"""The published learners S0 to S4, reproduced: their figures and ours, over seeds, and the exact verdict.

    python benchmarks/reproduce.py [--system S0 ...] [--seeds 3] [--full] [--workers 2] [--fresh] [--output FOLDER]
    python benchmarks/reproduce.py --check --output NEW_FOLDER [--system S0 ...]

Finished runs are kept in reproduce-runs.jsonl and not repeated, so a stopped program continues. With --check only the
runs are written: they are compared with the record, and differences are printed; networks only on the processor of the
record. Writes reproduce.json and two pictures; then run tools/results_tables.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median

from benchmarks.published import CLAIMS, FROZEN, SYSTEMS, UNLOST, Case, Run, is_drawn, lost_to_minimax, run, settings_of
from benchmarks.records import RESULTS, add_output, parser_of, positive, save, save_picture
from tictac_agents.curves import new_figure
from tictac_apps.bench.records import Row, RunSettings, RunStore, processor_features, show
from tictac_apps.cli.arguments import add_workers, chosen_workers

TIMED = ("CPU-s", "games/s", "processor")
"""Results that differ from run to run."""
CEILINGS = (
    "The most an unbeatable player can win against random play is 99.479 % as the first and 91.640 % as the second."
)


def main() -> None:
    options = parse_arguments()
    store = RunStore(options.output / "reproduce-runs.jsonl")
    jobs = jobs_of([case for case in SYSTEMS if not options.system or case.system in options.system], options.seeds)
    if options.check:
        jobs = comparable(jobs)
    if options.fresh:
        store.remove(jobs)
    store.complete(jobs, run, chosen_workers(options))
    if options.check:
        if different := compare(jobs, store, RunStore(RESULTS / store.path.name)):
            raise SystemExit("\n".join(different))
        print(f"{len(jobs)} runs: the same to the bit as the record, seconds apart")
        return
    runs = {label(case): runs_of(case, store) for case in SYSTEMS}
    runs = {name: found for name, found in runs.items() if found}
    rows = [summary(case, runs[label(case)]) for case in SYSTEMS if label(case) in runs]
    show("Won / drawn / lost against random play in per cent: published, ours (median of the seeds)", rows)
    print(CEILINGS)
    tables: dict[str, list[Row]] = {"summary": rows}
    if networks := {name: found for name, found in runs.items() if "curve" in found[0]}:
        tables["network curve"] = [row for name, found in networks.items() for row in curve_of(name, found)]
        tables["network against tree"] = [row for name, found in networks.items() for row in against_tree(name, found)]
        show("Against S4's learned tree, from all openings of two plies", tables["network against tree"])
        plot_networks(tables["network curve"], options.output / "s4-network.png")
    save("reproduce", {"seeds": max(map(len, runs.values()))}, tables, options.output)
    plot(runs, options.output / "reproduce.png")
    print(f"written to {options.output}")


def label(case: Case) -> str:
    return f"{case.system} {case.name}"


def jobs_of(cases: Sequence[Case], seeds: int) -> list[RunSettings]:
    """The settings of the runs of some cases: one seed if no seed matters."""
    return [
        settings_of(case, seed)
        for case in cases
        for seed in range(min(seeds, case.most_seeds) if is_drawn(case) else 1)
    ]


def runs_of(case: Case, store: RunStore) -> list[Run]:
    """The runs of a case that are in the store, in the order of their seeds."""
    found = {run["seed"]: run for settings, run in store if settings == settings_of(case, run["seed"])}
    return [found[seed] for seed in sorted(found)]


def comparable(jobs: Sequence[RunSettings]) -> list[RunSettings]:
    """The jobs whose runs can be compared with the record: not those of networks recorded on another processor."""
    record, here = RunStore(RESULTS / "reproduce-runs.jsonl"), processor_features()
    elsewhere = {(of["learner"], of["seed"]): run["processor"] for of, run in record if "processor" in run}
    same = [job for job in jobs if elsewhere.get((job["learner"], job["seed"]), here) == here]
    if len(same) < len(jobs):
        print(
            f"{len(jobs) - len(same)} runs of networks are not compared: their sums depend on the processor, and the "
            f"record was made on another ({', '.join(sorted(set(elsewhere.values()) - {here}))})"
        )
    return same


def compare(jobs: Sequence[RunSettings], new: RunStore, record: RunStore) -> list[str]:
    """The differences of the new runs, a line each, except for times."""
    recorded = {(of["system"], of["learner"], of["seed"]): run for of, run in record}
    lines = []
    for settings in jobs:
        key = settings["system"], settings["learner"], settings["seed"]
        run, old = new[settings], recorded.get(key, {})
        lines += [
            f"{key}: {name} is {run.get(name)!r}, recorded {old.get(name)!r}"
            for name in run | old
            if name not in TIMED and run.get(name) != old.get(name)
        ]
    return lines


def summary(case: Case, runs: Sequence[Run]) -> Row:
    """One line of the table: what was published, and the medians of ours with their ranges."""
    return {
        "system": case.system,
        "learner": case.name,
        "published, first": case.as_first,
        "published, second": case.as_second,
        "ours, first": shares(runs, "first"),
        "ours, second": shares(runs, "second"),
        "unbeatable": f"{sum(found['unbeatable'] for found in runs)} of {len(runs)}" if judged(runs) else "",
        "source's claim": case.claim,
        "fails in": failures(case.claim, runs) if case.claim else "",
        "exploitability": spread([found["exploitability"] for found in runs], ".3f") if judged(runs) else "",
        "games": spread([found["games"] for found in runs], ",.0f"),
        "CPU-s": spread([found["CPU-s"] for found in runs], ".2f"),
        "published besides": case.note + training_figures(runs) + tree_figures(runs) + network_figures(runs),
    }


def failures(claim: str, runs: Sequence[Run]) -> str:
    """The number of runs that contradict a source's claim; of those that lose to minimax, how much."""
    count = sum(not CLAIMS[claim](found) for found in runs)
    text = f"{count} of {len(runs)}"
    if claim != UNLOST or not count:
        return text
    lost = [lost_to_minimax(found) for found in runs]
    return f"{text}: up to {100 * max(lost):.0f} % lost, 40 % or more in {sum(share >= 0.4 for share in lost)}"


def training_figures(runs: Sequence[Run]) -> str:
    """The drawn training games, if they were counted, and the players that open in the centre."""
    if "opens with" not in runs[0]:
        return ""
    drawn = spread([found["training: won, drawn, lost by the first"][1] for found in runs], ",.0f")
    centre = sum(found["opens with"] == 4 for found in runs)
    return f"; ours: {drawn} drawn, the centre first in {centre} of {len(runs)}"


def tree_figures(runs: Sequence[Run]) -> str:
    """The rate and size of our tree."""
    if "games/s" not in runs[0]:
        return ""
    rate, size = (median(found[key] for found in runs) for key in ("games/s", "bytes a node"))
    return f"; ours: {rate:,.0f} games/s, {size:.0f} bytes{errors(runs)}; 1,000 games a seat, sampled"


def network_figures(runs: Sequence[Run]) -> str:
    """The results of S4's network against its learned tree."""
    if "first: v tree" not in runs[0]:
        return ""
    won = [sum(found[f"{seat}: v tree"][0] for found in runs) for seat in ("first", "second")]
    games = [sum(sum(found[f"{seat}: v tree"]) for found in runs) for seat in ("first", "second")]
    shares = (f"{100 * part / whole:.0f} %" for part, whole in zip(won, games, strict=True))
    return f"; ours: {' and '.join(shares)} won against the tree{errors(runs)}; 1,000 games a seat, sampled"


def errors(runs: Sequence[Run]) -> str:
    """The share of mistakes on the reporting suite, in the runs that were judged by it."""
    shares = [100 * found["mistakes"] for found in runs if "mistakes" in found]
    return f"; mistakes {spread(shares, '.1f')} %" if shares else ""


def judged(runs: Sequence[Run]) -> bool:
    """True if there is an exact verdict; on Connect Four there is not."""
    return runs[0]["exploitability"] is not None


def shares(runs: Sequence[Run], seat: str) -> str:
    """The medians of wins, draws and losses against random play in per cent, and the range of the wins."""
    found = [found[f"{seat}: v random"] for found in runs]
    middle = " / ".join(f"{100 * median(share[end] for share in found):.1f}" for end in range(3))
    wins = [100 * share[0] for share in found]
    return middle if len(runs) == 1 else f"{middle} ({min(wins):.1f}-{max(wins):.1f})"


def spread(values: Sequence[float], form: str) -> str:
    """The median, and the range if there are several."""
    low, high = min(values), max(values)
    return f"{median(values):{form}}" + (f" ({low:{form}}-{high:{form}})" if low != high else "")


def plot(runs: dict[str, list[Run]], path: Path) -> None:
    """Every seed's exact exploitability, and its wins against random play as the second player."""
    runs = {name: found for name, found in runs.items() if judged(found)}
    figure = new_figure(12, 0.42 * len(runs) + 1.2)
    left, right = figure.subplots(1, 2, sharey=True)
    for height, found in enumerate(reversed(runs.values())):
        spots = [height + 0.25 * (i / max(len(found) - 1, 1) - 0.5) for i in range(len(found))]
        colours = ["#2a7f3f" if one["unbeatable"] else "#c8442e" for one in found]
        left.scatter([one["exploitability"] for one in found], spots, c=colours, s=22)
        right.scatter([100 * one["second: v random"][0] for one in found], spots, c=colours, s=22)
    left.set_yticks(range(len(runs)), list(reversed(runs)))
    left.set_xlabel("exact exploitability (0: cannot be exploited)")
    right.set_xlabel("% won v random as the second player")
    right.axvline(91.640, color="grey", lw=0.8, ls="--")
    figure.suptitle("Each dot a seed; green: proven unbeatable from both seats")
    save_picture(figure, path)


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
    for seat in ("first", "second"):
        wins, draws, losses = (sum(found[f"{seat}: v tree"][end] for found in runs) for end in range(3))
        games = wins + draws + losses
        each = [100 * found[f"{seat}: v tree"][0] / sum(found[f"{seat}: v tree"]) for found in runs]
        rows.append(
            {"network": name, "seat": seat, "wins": wins, "draws": draws, "losses": losses}
            | {"% won": round(100 * wins / games, 1), "range of the seeds": f"{min(each):.1f}-{max(each):.1f}"}
        )
    return rows


def plot_networks(curve: list[Row], path: Path) -> None:
    """S4's networks while they learn: wins and lengths of games against random play and their earlier self."""
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
    save_picture(figure, path)


def parse_arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--system", nargs="+", choices=sorted({case.system for case in SYSTEMS}), help="only these")
    parser.add_argument("--seeds", type=positive, default=3, help="seeds of each learner (default: %(default)s)")
    parser.add_argument("--full", action="store_true", help="20 seeds of each learner, 3 to 10 of the networks: hours")
    add_workers(parser, 2)
    parser.add_argument("--fresh", action="store_true", help="repeat finished runs")
    add_output(parser)
    parser.add_argument("--check", action="store_true", help="compare the runs in --output with the record")
    options = parser.parse_args()
    if options.check and options.output == RESULTS:
        parser.error("--check compares the runs of a new folder with the record; name it with --output")
    if options.full:
        options.seeds = 20
    return options


if __name__ == "__main__":
    main()
