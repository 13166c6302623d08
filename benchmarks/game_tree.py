"""S4's learned tree on Connect Four: its results over training games, against random play and an earlier self.

    python benchmarks/game_tree.py [--games 1000000] [--frozen 10000] [--matches 1000] [--seed 0] [--output FOLDER]

Writes game-tree.json, a CSV file and a picture. The frozen tree is the learner as it was after so many games.
"""

from __future__ import annotations

import argparse
import copy
import time
from pathlib import Path

from benchmarks.report import RESULTS, Row, positive, save, show
from tictac_agents import GameTree
from tictac_agents.curves import new_figure, save_figure
from tictac_env.arena import play_match
from tictac_env.policies import Policy

GAME = "ConnectFour-v0"


def main() -> None:
    options = parse_arguments()
    tree = GameTree(GAME, seed=options.seed)
    points = sorted({*(10**k for k in range(2, 8)), *(3 * 10**k for k in range(2, 7)), options.frozen, options.games})
    points = [point for point in points if point <= options.games]
    GameTree(GAME).learn(5_000)  # compiled
    grown: list[GameTree] = []
    spent = 0.0
    rows: list[Row] = []
    for point in points:
        began = time.process_time()
        tree.learn(point - tree.num_games)
        spent += time.process_time() - began
        grown.append(copy.deepcopy(tree))
        rows.append({"games": point, "positions": len(tree), "bytes a position": round(tree.nbytes / len(tree), 1)})
    frozen = grown[points.index(min(options.frozen, options.games))]
    for row, learner in zip(rows, grown, strict=True):
        row |= against(learner, "random", "random", options) | against(learner, frozen, "frozen", options)  # type: ignore[operator]
    rate = round(tree.num_games / spent)
    show(f"S4's tree: {rate:,} games per CPU-second, resizing included", rows)
    settings = {"games": options.games, "frozen": options.frozen, "matches": options.matches, "seed": options.seed}
    save("game-tree", settings | {"games per CPU-second": rate}, {"curve": rows}, options.output)
    plot(rows, options.frozen, options.output / "game-tree.png")
    print(f"written to {options.output}")


def against(tree: GameTree, opponent: Policy | str, name: str, options: argparse.Namespace) -> dict[str, float]:
    """Per cent won of so many games in each seat."""
    found = play_match(tree, opponent, game=GAME, games=2 * options.matches, seed=options.seed)
    seats = {"first": found.as_first, "second": found.as_second}
    return {f"v {name}, {seat}": round(100 * tally.wins / tally.games, 1) for seat, tally in seats.items()}


def plot(rows: list[Row], frozen: int, path: Path) -> None:
    figure = new_figure(8, 4.5)
    axis = figure.subplots()
    games = [row["games"] for row in rows]
    for name, label, colour in (
        ("random", "random play", "tab:blue"),
        ("frozen", f"itself after {frozen:,} games", "tab:red"),
    ):
        for seat, style in (("first", "-"), ("second", ":")):
            shares = [row[f"v {name}, {seat}"] for row in rows]
            axis.plot(games, shares, style, color=colour, marker=".", label=f"v {label}, as {seat}")
    axis.set_xscale("log")
    axis.set_xlabel("games of self-play")
    axis.set_ylabel("% won")
    axis.grid(alpha=0.3)
    axis.legend()
    save_figure(figure, path)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=positive, default=1_000_000, help="(default: %(default)s)")
    parser.add_argument("--frozen", type=positive, default=10_000, help="(default: %(default)s)")
    parser.add_argument("--matches", type=positive, default=1_000, help="games a seat (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
