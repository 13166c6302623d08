"""The player of a proof as the proof lists it, who knows where it is sure to win."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.arena.proof import read_proof
from tictac_env.arena.reply_layers import (
    MOVES,
    Ints,
    Moves,
    find,
    first_positions,
    layer_path,
    read_numbers,
    read_positions,
    rows_of,
)
from tictac_env.compiled import kernel
from tictac_env.games import LOST, UNFINISHED, WON, Game, game_of
from tictac_env.policies import Policy, as_policy
from tictac_env.policies.policy import actions_of
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

Bools = npt.NDArray[np.bool_]

COMPILED_AS = "proofs"


class Listed(NamedTuple):
    """The positions of a ply, in ascending order of `own`, then of `opp`; and which of them may fail to be won."""

    own: Ints
    opp: Ints
    moves: Moves
    failing_own: Ints
    failing_opp: Ints


NOTHING = np.zeros(0, np.int64)
NONE = Listed(NOTHING, NOTHING, NOTHING.astype(np.int8), NOTHING, NOTHING)


class ListedPlayer(Policy):
    """The player of a proof: plays the moves that `prove` has listed, and knows where it is sure to win.

    A proof lists all positions that its player can meet from its seat, whoever it plays. So in games from that seat
    this is the player itself, at the cost of a look into a file. From most positions it may win against every reply.
    Exact measures follow a game no further than there, so they can tell how often even a player fails that hardly ever
    does, against one that plays nearly anything.

    Args:
        folder: what `prove` has filled, told to go on `to_the_end`.
        otherwise: who plays in positions that are not listed, as those of the other seat are not: whatever `as_policy`
            accepts; None for nobody.

    Attributes:
        game: the rule book.
        seat: the seat from which it plays.
        failing: how many of the listed positions it does not win against every reply.

    Raises:
        FileNotFoundError: there is no certificate in the folder.
        ValueError: it is damaged, a move or a reply is not listed, or the proof is not complete; the message names the
            file. Without `otherwise`, `act` and `act_many` raise it in a position that is not listed.

    Example:
        >>> import tempfile
        >>> from tictac_env.arena import ListedPlayer, exact_results, prove
        >>> folder = tempfile.mkdtemp()
        >>> proof = prove("rule", 0, "TicTacToe-v0", to_the_end=True, folder=folder)
        >>> player = ListedPlayer(folder, otherwise="rule")
        >>> player.failing, proof.positions
        (47, 115)
        >>> exact_results(player, "minimax-first", "TicTacToe-v0").as_first.positions
        9
    """

    batched = True

    def __init__(self, folder: str | os.PathLike[str], otherwise: Any = None) -> None:
        proof = read_proof(folder)
        if not proof.complete:
            raise ValueError(f"{os.fspath(folder)} holds a proof that is not complete: give prove to_the_end=True")
        self.game, self.seat = game_of(proof.game), proof.seat
        self.otherwise = None if otherwise is None else as_policy(otherwise, self.game)
        self.name = str(proof.player["name"])
        self._plies = dict[int, Listed]()
        for ply in reversed(proof.plies):
            path = layer_path(Path(folder), ply.ply)
            own, opp = read_positions(path)
            moves, after = read_numbers(path.with_suffix(MOVES), "i1"), self._plies.get(ply.ply + 2, NONE)
            failing = np.empty(len(own), np.bool_)
            row = mark_failing(self.game, own, opp, moves, *after[:2], after.failing_own, after.failing_opp, failing)
            if row >= 0:
                raise ValueError(
                    f"{path.with_suffix(MOVES)} is damaged: the move {int(moves[row])} of row {row} is illegal, or a "
                    f"reply to it is missing in {layer_path(Path(folder), ply.ply + 2).name}.own and .opp"
                )
            self._plies[ply.ply] = Listed(own, opp, moves, own[failing], opp[failing])
        begin = self._plies.get(self.seat, NONE)
        if (rows_of(begin.own, begin.opp, *first_positions(self.game, self.seat)) < 0).any():
            raise ValueError(
                f"{layer_path(Path(folder), self.seat)}.own and .opp lack a position in which it first moves"
            )
        self.failing = sum(len(listed.failing_own) for listed in self._plies.values())

    def act(self, position: Position, seed: int) -> int:
        return int(self.act_many(PositionBatch.of([position]), np.array([seed]))[0])

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        actions = np.empty(len(batch), np.int64)
        for listed, chosen in self._by_ply(batch):
            rows = rows_of(listed.own, listed.opp, batch.own[chosen], batch.opp[chosen])
            actions[chosen[rows >= 0]] = listed.moves[rows[rows >= 0]]
            if len(others := chosen[rows < 0]):
                if self.otherwise is None:
                    raise ValueError(f"the proof of {self} does not list {batch[int(others[0])]!r}")
                actions[others] = actions_of(self.otherwise, batch.where(others), seeds[others])
        return actions

    def sure_wins(self, batch: PositionBatch) -> Bools:
        sure = np.empty(len(batch), np.bool_)
        for listed, chosen in self._by_ply(batch):
            own, opp = batch.own[chosen], batch.opp[chosen]
            sure[chosen] = rows_of(listed.own, listed.opp, own, opp) >= 0
            sure[chosen] &= rows_of(listed.failing_own, listed.failing_opp, own, opp) < 0
        return sure

    def _by_ply(self, batch: PositionBatch) -> list[tuple[Listed, npt.NDArray[np.intp]]]:
        """The positions of a batch by their ply: what is listed there, and which of them are of it.

        Raises:
            ValueError: they are of another game.
        """
        if batch.game != self.game:
            raise ValueError(f"the proof of {self} is of {self.game!r}, not {batch.game!r}")
        plies = np.array([stones.bit_count() for stones in (batch.own | batch.opp).tolist()])
        return [(self._plies.get(ply, NONE), np.flatnonzero(plies == ply)) for ply in np.unique(plies).tolist()]


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
) -> int:
    """Marks the positions of which the move, or a reply to it, ends the game without a win, or fails later.

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

    Returns:
        The row of a move that is illegal, or to which a reply leads to a position that its next ply lacks; -1 if there
        is none.
    """
    for i in range(len(own)):
        after_own, after_opp = game.play(own[i], opp[i], int(moves[i]))
        if not 0 <= moves[i] < game.num_actions or (after_own == own[i] and after_opp == opp[i]):
            return i
        result = game.result(after_own, after_opp)  # for the side that replies
        failing[i] = result != UNFINISHED and result != LOST
        if result != UNFINISHED:
            continue
        for reply in range(game.num_actions):
            reply_own, reply_opp = game.play(after_own, after_opp, reply)
            if reply_own == after_own and reply_opp == after_opp:
                continue
            result = game.result(reply_own, reply_opp)
            going = result == UNFINISHED
            if going and find(next_own, next_opp, reply_own, reply_opp) < 0:
                return i
            if find(failing_own, failing_opp, reply_own, reply_opp) >= 0 if going else result != WON:
                failing[i] = True
    return -1
