"""Checks a proof by rules of its own: every move and every reply that a certificate lists is played on plain boards.

    python benchmarks/check_proof.py FOLDER

FOLDER is one that `tictac_env.arena.prove` has filled. Nothing of the package is imported: a board is an array of cells
(1 the player's stone, -1 the other side's), and a win is a line of it. The check passes if

- the lists begin with the positions in which the player moves first, and have the hashes that the certificate names;
- the player's move is legal in each listed position, and each reply ends the game or leads into the next list;
- something leads to each position of a list, and as many games are won, drawn and lost as the certificate says.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array, CHUNK = npt.NDArray[Any], 200_000
NAMES = ("rows", "cols", "connect", "gravity")
SIZES = {"TicTacToe-v0": (3, 3, 3, False), "ConnectFour-v0": (6, 7, 4, True)}


class Rules:
    """A game of k in a row on boards (N, cells), cells row by row from the top left."""

    def __init__(self, certificate: dict[str, Any]) -> None:
        game = certificate["game"]
        if isinstance(game, str) and game not in SIZES:
            raise SystemExit(f"this checker knows no game {game!r}")
        self.rows, self.cols, self.connect, self.gravity = SIZES.get(str(game)) or map(game.get, NAMES)
        self.actions = self.cols if self.gravity else self.rows * self.cols
        self.weights = 1 << np.array(certificate["cell_bits"], np.int64).ravel()

    def boards(self, own: Array, opp: Array) -> Array:
        return ((own[:, None] & self.weights) != 0).astype(np.int8) - ((opp[:, None] & self.weights) != 0)

    def numbers(self, boards: Array) -> tuple[Array, Array]:
        return (boards == 1) @ self.weights, (boards == -1) @ self.weights

    def play(self, boards: Array, actions: Array, stone: int) -> tuple[Array, Array]:
        """The boards after the actions, and which of these are legal."""
        n = np.arange(len(boards))
        if self.gravity:
            empty = (boards.reshape(-1, self.rows, self.cols)[n, :, actions] == 0).sum(axis=1)
            cells = np.maximum(empty - 1, 0) * self.cols + actions
        else:
            empty, cells = boards[n, actions] == 0, actions
        after = boards.copy()
        after[n, cells] = stone
        return after, empty > 0

    def over(self, boards: Array, stone: int) -> tuple[Array, Array]:
        """Masks of the boards with a line of `stone`, and of the full ones without."""
        stones, last = boards.reshape(-1, self.rows, self.cols) == stone, self.connect - 1
        won = np.zeros(len(boards), bool)
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            high, wide = self.rows - last * down, self.cols - last * abs(right)
            if high > 0 and wide > 0:  # where lines in this direction can begin
                lines = np.ones((len(boards), high, wide), bool)
                for i in range(self.connect):
                    row, col = i * down, i if right == 1 else (last - i) * -right
                    lines &= stones[:, row : row + high, col : col + wide]
                won |= lines.any(axis=(1, 2))
        return won, ~won & (boards != 0).all(axis=1)


def rows_of(own: Array, opp: Array, owns: Array, opps: Array) -> Array:
    """The row of each position in lists that ascend by own, then by opp; -1 where it is not there."""
    low, high, end = (np.searchsorted(owns, own, side) for side in ("left", "right", "right"))
    while (low < high).any():
        middle = (low + high) // 2
        less = (low < high) & (opps[np.minimum(middle, len(opps) - 1)] < opp)
        low, high = np.where(less, middle + 1, low), np.where(less | (low >= high), high, middle)
    found = low < end
    found[found] = opps[low[found]] == opp[found]
    return np.where(found, low, -1)


def check(folder: Path, workers: int = 1) -> str:
    """The proven result; SystemExit describes a fault."""
    certificate = json.loads((folder / "proof.json").read_text())
    rules, seat, plies = Rules(certificate), certificate["seat"], certificate["plies"]
    empty = np.zeros((rules.actions if seat else 1, rules.rows * rules.cols), np.int8)
    empty = rules.play(empty, np.arange(rules.actions), -1)[0] if seat else empty
    expected = np.unique(np.stack(rules.numbers(empty), 1), axis=0)
    if not np.array_equal(np.stack(read(folder, seat), 1), expected):
        raise SystemExit(f"the first list, of ply {seat}, is not where the player begins")
    if [ply["ply"] for ply in plies] != list(range(seat, seat + 2 * len(plies), 2)):
        raise SystemExit("the certificate leaves out a ply")
    with ThreadPoolExecutor(workers) as pool:
        totals = np.sum(list(pool.map(check_ply, repeat(folder), repeat(rules), plies)), axis=0)
    if len(read(folder, seat + 2 * len(plies))[0]) or not certificate["complete"]:
        raise SystemExit("the proof is not complete")
    return "loses a game" if totals[2] else "never loses" if totals[1] else "wins"


def check_ply(folder: Path, rules: Rules, ply: dict[str, Any]) -> Array:
    """Checks one list against the next one: int64 (3,), how many games are won, drawn and lost there."""
    number, counts = ply["ply"], np.zeros(3, int)
    (owns, opps), (next_owns, next_opps) = read(folder, number), read(folder, number + 2)
    moves = np.fromfile(folder / f"ply-{number:02}.moves", np.int8)
    found = hashlib.sha256(owns.tobytes() + opps.tobytes() + moves.tobytes()).hexdigest()
    if found != ply["sha256"] or len(moves) != len(owns):
        raise SystemExit(f"the list of ply {number} is not that of the certificate")
    met = np.zeros(len(next_owns), bool)
    for begin in range(0, len(owns), CHUNK):
        some = slice(begin, begin + CHUNK)
        boards, legal = rules.play(rules.boards(owns[some], opps[some]), moves[some].astype(int), 1)
        if not legal.all():
            raise SystemExit(f"an illegal move in the list of ply {number}, row {begin + int(legal.argmin())}")
        won, drawn = rules.over(boards, 1)
        boards = boards[~won & ~drawn]
        counts[:2] += won.sum(), drawn.sum()
        for reply in range(rules.actions):
            after, legal = rules.play(boards, np.full(len(boards), reply), -1)
            lost, drawn = rules.over(after := after[legal], -1)
            counts[1:] += drawn.sum(), lost.sum()
            rows = rows_of(*rules.numbers(after[~lost & ~drawn]), next_owns, next_opps)
            if (rows < 0).any():
                raise SystemExit(f"a reply {reply} at ply {number} leads to a position that the next list lacks")
            met[rows] = True
    if not met.all():
        raise SystemExit(f"nothing leads to row {int(met.argmin())} of the list of ply {number + 2}")
    if [len(owns), *counts] != [ply[name] for name in ("positions", "won", "drawn", "lost")]:
        raise SystemExit(f"ply {number}: {len(owns)} positions, {counts} won, drawn, lost; listed: {ply}")
    return counts


def read(folder: Path, ply: int) -> tuple[Array, ...]:
    return tuple(np.fromfile(folder / f"ply-{ply:02}.{end}", "<i8") for end in ("own", "opp"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=1, help="threads (default: %(default)s)")
    print(check(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
