"""The published learners S0 to S4, reproduced: their figures beside ours, over seeds, and the exact verdict.

    python benchmarks/reproduce.py [--system S0 ...] [--seeds 3] [--full] [--workers 2] [--fresh] [--output FOLDER]

Every finished run is kept in reproduce-runs.json, and what is there is not run again, so that a stopped run of this
program goes on where it was. Writes reproduce.json, two CSV files and a picture; then run tools/results_tables.py.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import median
from typing import Any

import tictac_agents
from benchmarks.published import SYSTEMS, Case
from benchmarks.report import RESULTS, Row, positive, save, show
from tictac_agents import MCTS, GameTree, UntilProven, ValueTD
from tictac_agents.plotting import new_figure, save_figure
from tictac_agents.tabular.learner import Learner
from tictac_env.arena import SeatVerdict, play_match, verdict
from tictac_env.policies import Policy, make_policy
from tictac_env.position import Position
from tictac_env.progress import progress_bar
from tictac_env.storage import save_text
from tictac_env.symmetry import canonical

Run = dict[str, Any]
"""The figures of one seed."""
CEILINGS = (
    "The most an infallible player can win against random play is 99.479 % as the first and 91.640 % as the second."
)


def main() -> None:
    options = parse_arguments()
    runs = run_all([case for case in SYSTEMS if not options.system or case.system in options.system], options)
    rows = [summary(case, runs.get(label(case), [])) for case in SYSTEMS]
    show("Won / drawn / lost against random play in per cent: published, ours (median of the seeds)", rows)
    print(CEILINGS)
    every = [{"case": name, **run} for name, found in runs.items() for run in found]
    columns = dict.fromkeys(column for row in every for column in row)
    every = [{column: row.get(column, "") for column in columns} for row in every]
    settings = {"seeds": max(map(len, runs.values()))}
    save("reproduce", settings, {"summary": rows, "runs": every}, options.output)
    plot(runs, options.output / "reproduce.png")
    print(f"written to {options.output}")


def label(case: Case) -> str:
    return f"{case.system} {case.name}"


def run_all(cases: Sequence[Case], options: argparse.Namespace) -> dict[str, list[Run]]:
    """The runs of `cases`, of those seeds that are not in the file, and all that are in it, also of other cases."""
    path = options.output / "reproduce-runs.json"
    kept: dict[str, dict[str, Run]] = {}
    if path.exists():
        kept = json.loads(path.read_text())
    if options.fresh:
        kept = {name: found for name, found in kept.items() if name not in map(label, cases)}
    wanted = {
        label(case): [str(seed) for seed in range(min(options.seeds, case.most_seeds) if is_drawn(case) else 1)]
        for case in cases
        if case.run
    }
    todo = [
        (case, seed)
        for case in cases
        if case.run
        for seed in wanted[label(case)]
        if seed not in kept.get(label(case), {})
    ]
    with ProcessPoolExecutor(options.workers) as pool, progress_bar(len(todo), "runs") as update:
        futures = {pool.submit(run, case, int(seed)): (case, seed) for case, seed in todo}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                case, seed = futures[future]
                kept.setdefault(label(case), {})[seed] = future.result()
                save_text(path, json.dumps(kept, indent=1) + "\n")
                update(done, f"{label(case)}, seed {seed}")
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return {
        name: [kept[name][seed] for seed in sorted(kept[name], key=int)] for name in map(label, SYSTEMS) if name in kept
    }


def is_drawn(case: Case) -> bool:
    """Whether the seed matters."""
    return not case.run.startswith(("policy:", "ValueIteration:"))


def run(case: Case, seed: int) -> Run:
    """Trains and judges one learner."""
    kind, name, *rest = case.run.split(":")
    if kind == "GameTree":
        return run_tree(name, int(rest[0]), seed)
    if is_tabular(kind):
        getattr(tictac_agents, kind).preset(name, seed=seed).learn(total_episodes=1_000, progress_bar=False)  # compiled
    began = time.process_time()
    policy: Policy
    if kind == "policy":
        policy, games, positions = make_policy(name), 0, 0
    elif kind == "MCTS":
        policy, games, positions = MCTS.preset(name), 0, 0
    elif kind == "DQN":
        policy, games, positions = *trained_network(name, seed), 0
    elif kind == "ValueIteration":
        policy, games, positions = getattr(tictac_agents, kind).preset(name).learn(), 0, 0
    else:
        learner: Learner = getattr(tictac_agents, kind).preset(name, seed=seed)
        games = int(rest[0]) if rest else learner.PRESETS[name].episodes
        every, afresh = case.until_proven
        learner.learn(total_episodes=games, callback=UntilProven(every, afresh) if every else None, progress_bar=False)
        policy, games, positions = learner, learner.num_episodes, positions_of(learner)
    spent = time.process_time() - began
    found = verdict(policy, "TicTacToe-v0", seed)
    return {
        "seed": seed,
        "games": games,
        "CPU-s": round(spent, 2),
        "positions of 627": positions,
        "exploitability": found.exploitability,
        "infallible": found.infallible,
        **seat_figures("first", found.as_first),
        **seat_figures("second", found.as_second),
    }


def is_tabular(kind: str) -> bool:
    return kind not in ("policy", "MCTS", "DQN", "ValueIteration")


def trained_network(name: str, seed: int) -> tuple[Policy, int]:
    """A preset of `DQN` after its run, and how many games that was."""
    import torch

    torch.set_num_threads(1)
    model = tictac_agents.DQN.preset(name, seed, "cpu")
    model.learn(model.settings.total_timesteps)
    return tictac_agents.ModelPolicy(model), model._episode_num


def run_tree(game: str, games: int, seed: int) -> Run:
    """Grows S4's tree; on Connect Four its results are sampled, 1,000 games a seat."""
    GameTree(game, seed=seed).learn(5_000, progress_bar=False)  # compiled
    tree = GameTree(game, seed=seed)
    began = time.process_time()
    tree.learn(games, progress_bar=False)
    spent = time.process_time() - began
    found = play_match(tree, "random", game=game, games=2_000, seed=seed)
    seats = {"first": found.as_first, "second": found.as_second}
    return {
        "seed": seed,
        "games": games,
        "CPU-s": round(spent, 2),
        "positions of 627": 0,
        "exploitability": None,
        "infallible": None,
        **{
            f"{seat}: v random": (won.wins / won.games, won.draws / won.games, won.losses / won.games)
            for seat, won in seats.items()
        },
        "games/s": round(games / spent),
        "bytes a node": round(tree.nbytes / len(tree), 1),
    }


def seat_figures(seat: str, found: SeatVerdict) -> Run:
    return {
        f"{seat}: v random": tuple(found.against_random),
        f"{seat}: v minimax": tuple(found.against_best),
        f"{seat}: v minimax-first": tuple(found.against_first_best),
        f"{seat}: plies to win": round(found.plies_to_win, 3),
        f"{seat}: beaten by": found.losing_line or "",
    }


def positions_of(learner: Any) -> int:
    """How many of the 627 unfinished positions, up to symmetry, the learner has met as the side to move."""
    if isinstance(learner, ValueTD):
        keys = {key for seat, table in enumerate(learner.tables) for key in table if learner.game.seat(*key) == seat}
    else:
        keys = {(own, opp) for own, opp, _ in learner.positions.tolist()}
    folded = {canonical(learner.game, own, opp)[:2] for own, opp in keys}
    met = (Position(learner.game, own, opp) for own, opp in folded if not learner.game.status(own, opp))
    return sum(not position.is_over for position in met)


def summary(case: Case, runs: Sequence[Run]) -> Row:
    """One line of the table: what was published, and the medians of ours with their ranges."""
    row = {
        "system": case.system,
        "learner": case.name,
        "published, first": case.as_first,
        "published, second": case.as_second,
    }
    if not runs:
        return row | {
            "ours, first": "not yet",
            "ours, second": "",
            "infallible": "",
            "exploitability": "",
            "games": "",
            "CPU-s": "",
            "published besides": case.note,
        }
    return row | {
        "ours, first": shares(runs, "first"),
        "ours, second": shares(runs, "second"),
        "infallible": f"{sum(found['infallible'] for found in runs)} of {len(runs)}" if judged(runs) else "",
        "exploitability": spread([found["exploitability"] for found in runs], ".3f") if judged(runs) else "",
        "games": spread([found["games"] for found in runs], ",.0f"),
        "CPU-s": spread([found["CPU-s"] for found in runs], ".2f"),
        "published besides": case.note + tree_figures(runs),
    }


def tree_figures(runs: Sequence[Run]) -> str:
    """What stands beside S4's published rate and size."""
    if "games/s" not in runs[0]:
        return ""
    rate, size = (median(found[key] for found in runs) for key in ("games/s", "bytes a node"))
    return f"; ours: {rate:,.0f} games/s, {size:.0f} bytes; 1,000 games a seat, sampled"


def judged(runs: Sequence[Run]) -> bool:
    """Whether there is an exact verdict; on Connect Four there is none."""
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
        colours = ["#2a7f3f" if one["infallible"] else "#c8442e" for one in found]
        left.scatter([one["exploitability"] for one in found], spots, c=colours, s=22)
        right.scatter([100 * one["second: v random"][0] for one in found], spots, c=colours, s=22)
    left.set_yticks(range(len(runs)), list(reversed(runs)))
    left.set_xlabel("exact exploitability (0: cannot be exploited)")
    right.set_xlabel("% won v random as the second player")
    right.axvline(91.640, color="grey", lw=0.8, ls="--")
    figure.suptitle("Each dot a seed; green: proven infallible from both seats")
    save_figure(figure, path)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", nargs="+", choices=sorted({case.system for case in SYSTEMS}), help="only these")
    parser.add_argument("--seeds", type=positive, default=3, help="seeds of each learner (default: %(default)s)")
    parser.add_argument(
        "--full", action="store_true", help="20 seeds of each learner, 3 of the networks: about half an hour"
    )
    parser.add_argument("--workers", type=positive, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="run again what is there")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    if options.full:
        options.seeds = 20
    return options


if __name__ == "__main__":
    main()
