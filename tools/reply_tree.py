"""The positions that a player who moves first has to answer, whatever the replies; and where it throws its win away.

`prove` lists the same positions in files, and trusts nothing. Here they are kept in memory, of mirror images one, so
that a player can be corrected again and again; only what a correction leads to is then asked anew. Where a player
plays otherwise in the mirror image, as two moves are worth the same to it, it is told which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tictac_agents import NTupleNetwork
from tictac_env.arena.reply_layers import Moves, distinct, find, mark_failing, merged, rows_of
from tictac_env.checks import Ints
from tictac_env.compiled import borrowing_kernel, kernel
from tictac_env.games import DRAWN, LOST, UNFINISHED
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import progress_bar
from tictac_env.solver import Solver

COMPILED_AS = "trees of replies"
CHUNK = 1 << 16
"""So many positions the player is asked about at a time."""


class Layer(NamedTuple):
    """The positions after so many stones, in ascending order of `own`, then of `opp`; and the player's moves."""

    own: Ints
    opp: Ints
    moves: Moves


NONE = Layer(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int8))


class ReplyTree:
    """The positions that a player who moves first meets, of mirror images the lesser one.

    Args:
        player: a network, which may look ahead by plies.
        game: one with gravity, that the first player wins.
        progress: whether to show progress (only on a terminal).

    Attributes:
        layers: the positions and moves by the number of stones; some of them may no longer be met.
        corrections: the moves that were put right or settled, by position, and so for its mirror image.
        asked: how many positions the player was asked about.
    """

    def __init__(self, player: NTupleNetwork, game: KInARow, progress: bool = True) -> None:
        self.player, self.game, self.progress = player, game, progress
        self.layers: dict[int, Layer] = {}
        self.corrections: dict[tuple[int, int], int] = {}
        self.asked = 0
        own, opp = game.start()
        self._grow(0, np.array([own]), np.array([opp]))

    def __len__(self) -> int:
        return sum(len(layer.own) for layer in self.layers.values())

    def errors(self, solver: Solver) -> Iterator[Position]:
        """The positions, reached without an error, in which the player's move does not keep the win."""
        failing = self._failing()
        positions, ply = set(pairs(failing[0].own, failing[0].opp)), 0
        while positions:
            here, following = failing[ply], failing.get(ply + 2, NONE)
            then: set[tuple[int, int]] = set()
            for own, opp in sorted(positions):
                position = Position(self.game, own, opp)
                after = position.play(int(here.moves[find(here.own, here.opp, own, opp)]))
                if not keeps_win(after, solver):
                    yield position
                    continue
                replies = (after.play(reply) for reply in after.legal_actions)
                images = (lesser(self.game, reply.own, reply.opp) for reply in replies if not reply.is_over)
                then |= {(own, opp) for own, opp in images if find(following.own, following.opp, own, opp) >= 0}
            positions, ply = then, ply + 2

    def correct(self, positions: Iterable[Position], solver: Solver) -> None:
        """Gives the player another move in each position: of those that keep the win the one it likes best.

        What it likes is told by its `values`.
        """
        by_ply: dict[int, list[tuple[int, int]]] = {}
        for position in positions:
            values = self.player.values(position.own, position.opp)
            winning = [action for action in position.legal_actions if keeps_win(position.play(action), solver)]
            own, opp = position.own, position.opp
            self.corrections[own, opp] = max(winning, key=values.__getitem__)
            by_ply.setdefault((own | opp).bit_count(), []).append((own, opp))
        for ply, corrected in by_ply.items():
            own, opp = distinct(*np.array(corrected, np.int64).T)
            moves = np.array([self.corrections[both] for both in pairs(own, opp)], np.int8)
            layer = self.layers[ply]
            layer.moves[[find(layer.own, layer.opp, *both) for both in pairs(own, opp)]] = moves
            self._grow(ply + 2, *self._replies(Layer(own, opp, moves)))

    def needed(self) -> dict[tuple[int, int], int]:
        """The corrections of positions that are still met, now that earlier ones are put right."""
        found, corrections = {}, sorted(self.corrections.items())
        own, opp = (np.array([stones]) for stones in self.game.start())
        for ply in range(0, self.game.cells, 2):
            here = [(both, move) for both, move in corrections if (both[0] | both[1]).bit_count() == ply]
            found.update((both, move) for both, move in here if find(own, opp, *both) >= 0)
            layer = self.layers.get(ply, NONE)
            own, opp = self._replies(Layer(own, opp, layer.moves[rows_of(layer.own, layer.opp, own, opp)]))
        return found

    def _grow(self, ply: int, own: Ints, opp: Ints) -> None:
        """Asks about positions with so many stones that are new, and about all that follow."""
        while len(own):
            old = self.layers.get(ply, NONE)
            new = rows_of(old.own, old.opp, own, opp) < 0
            own, opp = own[new], opp[new]
            moves = self._asked(ply, own, opp)
            every = Layer(np.append(old.own, own), np.append(old.opp, opp), np.append(old.moves, moves))
            order = np.lexsort((every.opp, every.own))
            self.layers[ply] = Layer(*(column[order] for column in every))
            own, opp = self._replies(Layer(own, opp, moves))
            ply += 2

    def _asked(self, ply: int, own: Ints, opp: Ints) -> Moves:
        """The player's moves. Where it plays otherwise in the mirror image, its move becomes a correction."""
        moves = np.empty(len(own), np.int8)
        self.asked += len(own)
        with progress_bar(len(own), f"ply {ply}: {len(own):,} positions", self.progress) as update:
            for begin in range(0, len(own), CHUNK):
                some = slice(begin, begin + CHUNK)
                moves[some] = self._moves(own[some], opp[some])
                mirrored = mirror(self.game, own[some]), mirror(self.game, opp[some])
                order = np.lexsort(mirrored[::-1])  # positions that are like each other take less time
                others = np.empty_like(moves[some])
                others[order] = self.game.num_actions - 1 - self._moves(*(side[order] for side in mirrored))
                its_own = (mirrored[0] == own[some]) & (mirrored[1] == opp[some])
                for i in begin + np.flatnonzero((others != moves[some]) & ~its_own):
                    both, move = (int(own[i]), int(opp[i])), int(moves[i])
                    if self.game.result(*self.game.play(*both, move)) == UNFINISHED:
                        self.corrections[both] = move
                update(min(begin + CHUNK, len(own)), "")
        return moves

    def _moves(self, own: Ints, opp: Ints) -> Moves:
        batch = PositionBatch(self.game, own, opp)
        return self.player.act_many(batch, np.zeros(len(batch), np.int64)).astype(np.int8)

    def _replies(self, layer: Layer) -> tuple[Ints, Ints]:
        """The positions after the moves and every reply, in order."""
        pieces = []
        for begin in range(0, len(layer.own), CHUNK):
            some = Layer(*(column[begin : begin + CHUNK] for column in layer))
            following = np.empty((2, len(some.own) * self.game.num_actions), np.int64)
            count = replies_to(self.game, *some, *following)
            pieces.append(distinct(*following[:, :count]))
        whole = list(merged(pieces))
        own, opp = (np.concatenate([piece[side] for piece in whole] or [NONE.own]) for side in range(2))
        return own, opp

    def _with_images(self, layer: Layer) -> tuple[Ints, Ints]:
        images = mirror(self.game, layer.own), mirror(self.game, layer.opp)
        return distinct(*map(np.append, (layer.own, layer.opp), images))

    def _failing(self) -> dict[int, Layer]:
        """The part of each layer from which some replies lead to a draw or a loss."""
        failing: dict[int, Layer] = {}
        for ply in sorted(self.layers, reverse=True):
            layer = self.layers[ply]
            wrong = np.empty(len(layer.own), np.bool_)
            after = (self._with_images(layers.get(ply + 2, NONE)) for layers in (self.layers, failing))
            mark_failing(self.game, *layer, *next(after), *next(after), wrong, DRAWN)
            failing[ply] = Layer(*(column[wrong] for column in layer))
        return failing


def keeps_win(after: Position, solver: Solver) -> bool:
    """Whether the side that has just moved has won, or will."""
    return after.result == LOST if after.is_over else solver.score(after, weak=True) < 0


def pairs(own: Ints, opp: Ints) -> list[tuple[int, int]]:
    """The positions of a layer, one by one."""
    return list(zip(own.tolist(), opp.tolist(), strict=True))


@borrowing_kernel
def lesser(game: KInARow, own: int, opp: int) -> tuple[int, int]:
    """The lesser of a position and its mirror image."""
    mirrored_own, mirrored_opp = game.mirror(own), game.mirror(opp)
    if mirrored_own < own or (mirrored_own == own and mirrored_opp < opp):
        return mirrored_own, mirrored_opp
    return own, opp


@kernel
def mirror(game: KInARow, stones: Ints) -> Ints:
    """The mirror image of each of some sets of cells."""
    mirrored = np.empty_like(stones)
    for i in range(len(stones)):
        mirrored[i] = game.mirror(stones[i])
    return mirrored


@kernel
def replies_to(game: KInARow, own: Ints, opp: Ints, moves: Moves, next_own: Ints, next_opp: Ints) -> int:
    """Fills in the positions after the moves and every reply that does not end the game; returns how many."""
    count = 0
    for i in range(len(own)):
        after_own, after_opp = game.play(own[i], opp[i], moves[i])
        if game.result(after_own, after_opp) != UNFINISHED:
            continue
        for reply in range(game.num_actions):
            reply_own, reply_opp = game.play(after_own, after_opp, reply)
            legal = reply_own != after_own or reply_opp != after_opp
            if legal and game.result(reply_own, reply_opp) == UNFINISHED:
                next_own[count], next_opp[count] = lesser(game, reply_own, reply_opp)
                count += 1
    return count
