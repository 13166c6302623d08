"""A small language model learns tic-tac-toe in text from each of the rewards, over seeds, and is proven.

    python -m benchmarks.text_learning                 # 10 seeds with each reward
    python -m benchmarks.text_learning --plot          # only docs/images/language-model.png, from the record

Each run is `examples/language_model.py`. A finished run is in the record at once, and runs in the record are not
repeated. With the option `--one` the regret judges one answer in each position, as the outcome does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks.records import RESULTS, add_output, parser_of, positive, save, save_picture
from examples.language_model import (
    GAME,
    GAMES,
    GROUP,
    REWARDS,
    SUITE,
    Floats,
    LanguageModel,
    Sessions,
    encode,
    judged,
    learn,
)
from tictac_apps.bench.records import Row, show
from tictac_env.arena import move_accuracy, suite, verdict
from tictac_env.solver.enumerate import tabulate

NAME = "language-model"
PICTURE = RESULTS.parents[1] / "docs" / "images" / f"{NAME}.png"
STYLES = {
    ("regret", GROUP): ("regret", "tab:blue"),
    ("both", GROUP): ("both", "tab:green"),
    ("regret", 1): ("regret, one answer judged", "tab:purple"),
    ("outcome", 1): ("outcome", "tab:red"),
}
"""The label and the colour of each reward and number of answers that are judged in each position."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--reward", nargs="+", choices=REWARDS, default=REWARDS, metavar="REWARD", help=str(REWARDS))
    parser.add_argument("--seeds", type=positive, default=10, help="seeds 0, 1, ... (%(default)s)")
    parser.add_argument("--games", type=positive, default=GAMES, help="at most this many in each run (%(default)s)")
    parser.add_argument("--one", action="store_true", help="judge one answer in each position")
    parser.add_argument("--plot", action="store_true", help="draw the picture from the record, and train nothing")
    add_output(parser)
    options = parser.parse_args(arguments)
    path = options.output / f"{NAME}.json"
    runs: list[Row] = json.loads(path.read_text(encoding="utf-8"))["tables"]["runs"] if path.exists() else []
    if options.plot and not runs:
        parser.error(f"there are no runs in {path}")
    for reward in () if options.plot else options.reward:
        group = 1 if options.one or reward == "outcome" else GROUP
        for seed in range(options.seeds):
            key = {"reward": reward, "group": group, "seed": seed, "limit": options.games}
            if all(any(run[name] != value for name, value in key.items()) for run in runs):
                print(key, flush=True)
                runs.append(key | proven_run(reward, group, seed, options.games))
                runs.sort(key=lambda run: (run["reward"], run["group"], run["limit"], run["seed"]))
                keep(runs, options.output)
    keep(runs, options.output)
    show("Proven without a mistake in 4,520 positions", summary(runs))
    plot(runs, PICTURE if options.output == RESULTS else options.output / PICTURE.name)


def keep(runs: Sequence[Row], folder: Path) -> None:
    """Writes the record."""
    tables = {"summary": summary(runs), "runs": runs}
    save(NAME, {"game": GAME, "torch threads": 1, "curve": list(CURVE)}, tables, folder)


CURVE = "games", "mistakes, share of positions", "exploitability", "exploitability, answers sampled"


def proven_run(reward: str, group: int, seed: int, games: int) -> Row:
    """The record of a run; if no mistake is left, with the judgement of what the model answers as text."""
    tokens, curve = Sessions(reward).tokens, []
    moves = encode("123456789")
    for model, run in learn(reward, seed, games, group):
        logs = model.chances(tokens)
        likeliest = np.eye(logs.shape[1])[logs.argmax(1)]
        exploited = [round(exploitability(chances[:, moves]), 5) for chances in (likeliest, np.exp(logs))]
        curve.append([run.games, round(run.mistakes / len(tokens), 5), *exploited])
        print(*curve[-1], f"{run.cpu_seconds} CPU-s", flush=True)
    found = asdict(run)
    row: Row = {name: found[name] for name in ("parameters", "games", "answers", "cpu_seconds", "mistakes")}
    row |= dict.fromkeys(("unbeatable", "exploitability", "mistakes as text", "proven"))
    if run.mistakes == 0:
        row |= judged_as_text(model)
    row["proven"] = bool(row["unbeatable"]) and row["exploitability"] == row["mistakes as text"] == 0
    return row | {"curve": curve}


def judged_as_text(model: LanguageModel) -> Row:
    """The verdict on the model by all replies to it, and its mistakes in all 4,520 positions, asked one by one."""
    player = judged(model)
    found, accuracy = verdict(player, GAME), move_accuracy(player, SUITE).overall
    return {
        "unbeatable": found.unbeatable,
        "exploitability": found.exploitability,
        "mistakes as text": round(accuracy.mistakes.value * accuracy.positions),
    }


def exploitability(chances: Floats) -> float:
    """The mean gain of the best replies to each seat, where an answer that is no legal move loses.

    Args:
        chances: float64 (N, 9), of the moves in all positions of the suite.
    """
    table, found, gains = tabulate(suite(SUITE).game), suite(SUITE).positions, []
    rows = [table.index[stones] for stones in zip(found.own.tolist(), found.opp.tolist(), strict=True)]
    legal, moves = table.children >= 0, np.zeros(table.children.shape)
    moves[rows] = chances * legal[rows]
    for seat in (0, 1):
        worth = np.where(table.seat == seat, 1.0, -1.0) * np.sign(table.score)  # kept if the game is over
        for level in reversed(table.levels[:-1]):
            after = worth[table.children[level]]
            played = (moves[level] * after).sum(1) - (1 - moves[level].sum(1))
            backed = np.where(table.seat[level] == seat, played, np.where(legal[level], after, np.inf).min(1))
            worth[level] = np.where(legal[level].any(1), backed, worth[level])
        gains.append(-worth[0])  # perfect play draws
    return float(np.mean(gains))


def groups(runs: Sequence[Row]) -> dict[tuple[str, int], list[Row]]:
    """The runs of each reward and number of judged answers, in the order of `STYLES`."""
    return {key: of for key in STYLES if (of := [run for run in runs if (run["reward"], run["group"]) == key])}


def summary(runs: Sequence[Row]) -> list[Row]:
    """A row for each reward: how many runs are proven, and what these took."""
    rows: list[Row] = []
    for (reward, group), of in groups(runs).items():
        done = [run for run in of if run["proven"]]
        row: Row = {"reward": reward, "answers judged": group, "games at most": max(run["limit"] for run in of)}
        row |= {"runs": len(of), "proven": len(done)}
        for name, key in (("games", "games"), ("CPU-s", "cpu_seconds")):
            values = sorted(run[key] for run in done)
            low, middle, high = (values[0], round(median(values)), values[-1]) if values else ("", "", "")
            row |= {f"{name}, median": middle, f"{name}, least": low, f"{name}, most": high}
        row["mistakes left"] = round(mean(run["mistakes"] for run in of), 1)
        rows.append(row)
    return rows


def plot(runs: Sequence[Row], path: Path) -> None:
    """Draws the mistakes and the exploitability of the likeliest answers against games: each run thin, the mean of the
    runs of a reward thick. A run that is proven stays at 0.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    axes: Any = figure.subplots(1, 2)
    for axis, title, place in zip(axes, ("Positions with a mistake, %", "Exact exploitability"), (1, 2), strict=True):
        for key, of in groups(runs).items():
            label, colour = STYLES[key]
            games = max((run["curve"] for run in of), key=len)
            values = np.zeros((len(of), len(games)))
            for row, run in zip(values, of, strict=True):
                points = [point[place] * (100 if place == 1 else 1) for point in run["curve"]]
                row[: len(points)], row[len(points) :] = points, points[-1]
                if place == 1:
                    axis.plot([point[0] / 1000 for point in run["curve"]], points, color=colour, lw=0.4, alpha=0.6)
            proven = sum(bool(run["proven"]) for run in of)
            label = f"{label}: {proven} of {len(of)} proven"
            axis.plot([point[0] / 1000 for point in games], values.mean(0), color=colour, lw=2, label=label)
        axis.set(title=title, xlabel="thousand games", xlim=(0, None))
        axis.grid(alpha=0.3)
    axes[0].set_yscale("symlog", linthresh=0.1)
    axes[0].set_ylim(0, 100)
    axes[0].set_yticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
    axes[1].set_ylim(0, 1.05)
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    save_picture(figure, path)


if __name__ == "__main__":
    main()
