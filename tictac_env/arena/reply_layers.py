"""Layers: the distinct positions that a fixed map has to answer, ply by ply, kept in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.arrays import Array, Bools, Bytes, Ints
from tictac_env.compiled import borrowing_kernel, kernel
from tictac_env.games import LOST, UNFINISHED, WON, Game
from tictac_env.position import format_moves
from tictac_env.storage import writing

Moves = npt.NDArray[np.int8]

PIECE = 1 << 22
"""Number of positions merged at a time, about: some 200 MB."""
ENDINGS, MOVES = (".own", ".opp"), ".moves"
NOWHERE = (np.zeros(0, np.int64), np.zeros(0, np.int64))
"""No positions."""

COMPILED_AS = "proofs and exact results"


class Expansion(NamedTuple):
    """The outcome of some moves: the number of replies after which the game continues; the number of games that the
    moves and the replies end as won, drawn and lost for the side that moves; the row of an illegal move, -1 if there is
    none.
    """

    going: int
    won: int
    drawn: int
    lost: int
    illegal: int


@kernel
def replies_of(game: Game, own: Ints, opp: Ints, moves: Moves, next_own: Ints, next_opp: Ints) -> Expansion:
    """Plays the moves, int8 (N,), in N unfinished positions, and every reply to them.

    `next_own` and `next_opp`, int64 (N * num_actions,), are filled with the unfinished positions after the replies.
    """
    going = won = drawn = lost = 0
    for i in range(len(own)):
        if moves[i] < 0:
            return Expansion(going, won, drawn, lost, i)
        after_own, after_opp = game.play(own[i], opp[i], int(moves[i]))
        if after_own == own[i] and after_opp == opp[i]:
            return Expansion(going, won, drawn, lost, i)
        result = game.result(after_own, after_opp)  # for the side that replies
        won += result == LOST
        lost += result == WON
        drawn += result != UNFINISHED and result != LOST and result != WON
        if result != UNFINISHED:
            continue
        for reply in range(game.num_actions):
            reply_own, reply_opp = game.play(after_own, after_opp, reply)
            if reply_own == after_own and reply_opp == after_opp:
                continue
            result = game.result(reply_own, reply_opp)
            if result == UNFINISHED:
                next_own[going], next_opp[going] = reply_own, reply_opp
                going += 1
            else:
                won += result == WON
                lost += result == LOST
                drawn += result != LOST and result != WON
    return Expansion(going, won, drawn, lost, -1)


def first_positions(game: Game, seat: int) -> tuple[Ints, Ints]:
    """The positions in which a player first moves from this seat."""
    positions = [game.start()]
    if seat:
        after = (game.play(*positions[0], action) for action in range(game.num_actions))
        positions = [
            position for position in after if position != positions[0] and game.result(*position) == UNFINISHED
        ]
    own, opp = np.array(positions, np.int64).reshape(-1, 2).T
    return distinct(own, opp)


def distinct(own: Ints, opp: Ints) -> tuple[Ints, Ints]:
    """The distinct ones of the positions, in ascending order of `own`, then of `opp`."""
    order = np.lexsort((opp, own))
    own, opp = own[order], opp[order]
    new = np.ones(len(own), np.bool_)
    new[1:] = (own[1:] != own[:-1]) | (opp[1:] != opp[:-1])
    return own[new], opp[new]


@borrowing_kernel
def row_of(owns: Ints, opps: Ints, own: int, opp: int) -> int:
    """The row of a position in a layer, -1 if it is not there."""
    low, high = 0, len(owns)
    while low < high:
        middle = (low + high) >> 1
        if owns[middle] < own or (owns[middle] == own and opps[middle] < opp):
            low = middle + 1
        else:
            high = middle
    return low if low < len(owns) and owns[low] == own and opps[low] == opp else -1


@kernel
def rows_of(owns: Ints, opps: Ints, own: Ints, opp: Ints) -> Ints:
    """The rows of positions in a layer, -1 if it is missing."""
    rows = np.empty(len(own), np.int64)
    for i in range(len(own)):
        rows[i] = row_of(owns, opps, own[i], opp[i])
    return rows


def layer_path(folder: Path, ply: int) -> Path:
    """The path of a ply's files without their endings."""
    return folder / f"ply-{ply:02}"


def position_files(path: Path) -> list[Path]:
    """The two files of positions: `path` with the endings ".own" and ".opp"."""
    return [path.with_suffix(ending) for ending in ENDINGS]


def layer_files(layer: Path) -> list[Path]:
    """The files of a ply: its positions, and the player's moves (int8)."""
    return [*position_files(layer), layer.with_suffix(MOVES)]


def read_positions(path: Path) -> tuple[Ints, Ints]:
    """The positions in two files, as arrays that lie in these files."""
    own, opp = (read_numbers(file, "<i8") for file in position_files(path))
    return own, opp


def write_positions(path: Path, pieces: Iterable[tuple[Ints, Ints]]) -> None:
    """Writes positions that come in pieces into such files, as little-endian int64."""
    with writing(path.with_suffix(ENDINGS[0])) as owns, writing(path.with_suffix(ENDINGS[1])) as opps:
        for own, opp in pieces:
            owns.write(own.astype("<i8", copy=False).tobytes())
            opps.write(opp.astype("<i8", copy=False).tobytes())


def read_numbers(path: Path, dtype: str) -> Array:
    """A file of numbers as an array that lies in it.

    Raises:
        FileNotFoundError: there is no such file.
    """
    return np.memmap(path, dtype, "r") if path.stat().st_size else np.zeros(0, dtype)


def merged(layers: Sequence[tuple[Ints, Ints]]) -> Iterator[tuple[Ints, Ints]]:
    """The distinct positions of several layers, in ascending order and in pieces that fit into memory."""
    total = sum(len(own) for own, _ in layers)
    every = max(1, PIECE // 16)
    sample = np.sort(np.concatenate([own[::every] for own, _ in layers])) if total else np.zeros(0, np.int64)
    bounds = np.unique(sample[:: max(1, PIECE // every)])[1:]
    begins = [0] * len(layers)
    for bound in (*bounds.tolist(), None):
        ends = [len(own) if bound is None else int(np.searchsorted(own, bound)) for own, _ in layers]
        some = [(own[a:b], opp[a:b]) for (own, opp), a, b in zip(layers, begins, ends, strict=True)]
        if any(len(own) for own, _ in some):
            yield distinct(np.concatenate([own for own, _ in some]), np.concatenate([opp for _, opp in some]))
        begins = ends


def refuting_games(game: Game, folder: Path, plies: Sequence[int], worst: int) -> Iterator[str]:
    """A game, as a move string, for each way in which one ends no better than `worst` at one of these plies."""
    for ply in plies:
        own, opp, moves = _read(folder, ply)
        failing = np.empty(len(own), np.bool_)
        mark_failing(game, own, opp, moves, *read_positions(layer_path(folder, ply + 2)), *NOWHERE, failing, worst)
        for row in np.flatnonzero(failing):
            begin, move = _moves_to(game, folder, ply, int(own[row]), int(opp[row])), int(moves[row])
            after = game.play(int(own[row]), int(opp[row]), move)
            if game.result(*after) != UNFINISHED:
                yield format_moves(game, [*begin, move])
                continue
            for reply in range(game.num_actions):
                end = game.play(*after, reply)
                if end != after and game.result(*end) <= worst:
                    yield format_moves(game, [*begin, move, reply])


@kernel
def mark_failing(
    game: Game,
    own: Ints,
    opp: Ints,
    moves: Moves,
    next_own: Ints,
    next_opp: Ints,
    failing_own: Ints,
    failing_opp: Ints,
    failing: Bools,
    worst: int,
) -> int:
    """Marks the positions whose move, or a reply to it, ends the game no better than `worst`, or fails later.

    Args:
        game: the rule book.
        own: int64 (N,), the stones of the side that moves, in unfinished positions.
        opp: int64 (N,), the other side's.
        moves: int8 (N,), its moves.
        next_own: int64 (L,), the positions of its next ply, in ascending order.
        next_opp: the same.
        failing_own: int64 (M,), those of them that fail, in ascending order.
        failing_opp: the same.
        failing: bool (N,), to be filled.
        worst: DRAWN or LOST, for the side that moves.

    Returns:
        The row of a move that is illegal, or to which a reply leads to a position that its next ply lacks; -1 if there
        is none.
    """
    for i in range(len(own)):
        after_own, after_opp = game.play(own[i], opp[i], int(moves[i]))
        if not 0 <= moves[i] < game.num_actions or (after_own == own[i] and after_opp == opp[i]):
            return i
        result = game.result(after_own, after_opp)  # for the side that replies
        failing[i] = result != UNFINISHED and -result <= worst
        if result != UNFINISHED:
            continue
        for reply in range(game.num_actions):
            reply_own, reply_opp = game.play(after_own, after_opp, reply)
            if reply_own == after_own and reply_opp == after_opp:
                continue
            result = game.result(reply_own, reply_opp)
            going = result == UNFINISHED
            if going and row_of(next_own, next_opp, reply_own, reply_opp) < 0:
                return i
            if row_of(failing_own, failing_opp, reply_own, reply_opp) >= 0 if going else result <= worst:
                failing[i] = True
    return -1


def _moves_to(game: Game, folder: Path, ply: int, own: int, opp: int) -> list[int]:
    actions = range(game.num_actions)
    if ply < 2:
        return [action for action in actions if game.play(*game.start(), action) == (own, opp)]
    owns, opps, moves = _read(folder, ply - 2)
    for reply in actions:
        after = game.undo(own, opp, reply)
        if after == (own, opp) or game.result(*after) != UNFINISHED:
            continue
        for move in actions:
            before = game.undo(*after, move)
            row = -1 if before == after else row_of(owns, opps, *before)
            if row >= 0 and moves[row] == move:
                return [*_moves_to(game, folder, ply - 2, *before), move, reply]
    raise ValueError(f"{layer_path(folder, ply - 2)} is damaged: nothing in it leads to a position of the next ply")


def _read(folder: Path, ply: int) -> tuple[Ints, Ints, Moves]:
    layer = layer_path(folder, ply)
    return *read_positions(layer), read_numbers(layer.with_suffix(MOVES), "i1")


@kernel
def find_results(game: Game, own: Ints, opp: Ints, results: Bytes) -> None:
    """Writes how each of B games stands into `results`, int8 (B,): `PositionBatch.results`, compiled."""
    for i in range(len(own)):
        results[i] = game.result(own[i], opp[i])
