"""Random openings of Connect Four with exact scores, for `search.py --sets opening_easy opening_medium opening_hard`.

    python tools/openings.py FOLDER [--seed 7]

Like Pascal Pons' beginning sets: fewer than 14 stones; easy, medium or hard by the moves that are left under perfect
play (fewer than 14, fewer than 28, more). BitBully labels them with its book of distances (`pip install bitbully
bitbully-databases`), in less than a minute. It is AGPL and no dependency of this package.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
from pathlib import Path

from bitbully import BitBully, Board

from benchmarks.solver import difficulty
from tictac_env.arena.game_record import random_opening
from tictac_env.games import GAMES
from tictac_env.position import Position
from tictac_env.storage import save_text

GAME = GAMES["ConnectFour-v0"]
WANTED = {"easy": 200, "medium": 500, "hard": 300}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the sets go")
    parser.add_argument("--seed", type=int, default=7, help="of the random games (default: %(default)s)")
    options = parser.parse_args()
    rng, solver = random.Random(options.seed), BitBully(opening_book="12-ply-dist")
    found: dict[str, list[list[object]]] = {name: [] for name in WANTED}
    seen: set[Position] = set()
    while any(len(found[name]) < count for name, count in WANTED.items()):
        opening = random_opening(GAME, rng.randint(1, 13), rng)
        if opening is None or opening in seen:
            continue
        seen.add(opening)
        scores = solver.score_all_moves(Board(list(opening.moves)))
        score = max(scores.values())
        name = difficulty(opening.ply, score)
        if len(found[name]) < WANTED[name]:
            found[name].append([opening.to_moves(), score, *(scores.get(column, "") for column in range(7))])
    for name, rows in found.items():
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(["moves", "score", *(f"column_{column}" for column in range(1, 8))])
        writer.writerows(rows)
        save_text(options.folder / f"connect_four_opening_{name}.csv", table.getvalue())


if __name__ == "__main__":
    main()
