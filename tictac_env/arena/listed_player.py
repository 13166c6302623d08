"""The player of a proof, which plays the moves that the proof has listed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.arena.proof import read_proof
from tictac_env.arena.reply_layers import (
    MOVES,
    NOWHERE,
    Moves,
    first_positions,
    layer_path,
    mark_failing,
    read_numbers,
    read_positions,
    rows_of,
)
from tictac_env.arrays import Bools, Ints
from tictac_env.games import DRAWN, game_of
from tictac_env.policies import PlayerLike, Policy, as_policy
from tictac_env.policies.policy import actions_of
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch


class Listed(NamedTuple):
    """The positions of a ply, in ascending order of `own`, then of `opp`; and those of them that may not be won."""

    own: Ints
    opp: Ints
    moves: Moves
    failing_own: Ints
    failing_opp: Ints


NONE = Listed(*NOWHERE, np.zeros(0, np.int8), *NOWHERE)


class ListedPlayer(Policy):
    """The player of a proof: plays the moves that `prove` has listed, and knows in which positions it is sure to win.

    A proof lists all positions that its player can meet from its seat, whoever the opponent is. So in games from that
    seat this is the player itself, at the cost of a look into a file. From most positions it may win against every
    reply. Exact measures follow a game no further than these, so they can tell how often a player fails that hardly
    ever does, even against an opponent that plays nearly anything.

    Args:
        folder: a folder that `prove` has filled, with `to_the_end=True`.
        otherwise: the player of positions that are not listed, such as those of the other seat: whatever `as_policy`
            accepts; None for none.

    Attributes:
        game: the rule book.
        seat: the seat from which it plays.
        failing: the number of listed positions that it does not win against every reply.

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

    def __init__(self, folder: str | os.PathLike[str], otherwise: PlayerLike | None = None) -> None:
        proof = read_proof(folder)
        if not proof.complete:
            raise ValueError(f"{os.fspath(folder)} holds a proof that is not complete: give prove to_the_end=True")
        self.game, self.seat = game_of(proof.game), proof.seat
        self.otherwise = None if otherwise is None else as_policy(otherwise, self.game)
        self.name = proof.player.name
        self._plies = dict[int, Listed]()
        for ply in reversed(proof.plies):
            path = layer_path(Path(folder), ply.ply)
            own, opp = read_positions(path)
            moves, after = read_numbers(path.with_suffix(MOVES), "i1"), self._plies.get(ply.ply + 2, NONE)
            failing = np.empty(len(own), np.bool_)
            following = *after[:2], after.failing_own, after.failing_opp
            row = mark_failing(self.game, own, opp, moves, *following, failing, DRAWN)
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

    def act_many(self, batch: PositionBatch, seeds: Ints) -> Ints:
        actions = np.empty(len(batch), np.int64)
        for listed, chosen in self._by_ply(batch):
            rows = rows_of(listed.own, listed.opp, batch.own[chosen], batch.opp[chosen])
            actions[chosen[rows >= 0]] = listed.moves[rows[rows >= 0]]
            if len(unlisted := chosen[rows < 0]):
                if self.otherwise is None:
                    raise ValueError(f"the proof of {self} does not list {batch[int(unlisted[0])]!r}")
                actions[unlisted] = actions_of(self.otherwise, batch.where(unlisted), seeds[unlisted])
        return actions

    def sure_wins(self, batch: PositionBatch) -> Bools:
        sure = np.empty(len(batch), np.bool_)
        for listed, chosen in self._by_ply(batch):
            own, opp = batch.own[chosen], batch.opp[chosen]
            sure[chosen] = rows_of(listed.own, listed.opp, own, opp) >= 0
            sure[chosen] &= rows_of(listed.failing_own, listed.failing_opp, own, opp) < 0
        return sure

    def _by_ply(self, batch: PositionBatch) -> list[tuple[Listed, npt.NDArray[np.intp]]]:
        """The positions of a batch by their ply: what is listed there, and their rows in the batch."""
        if batch.game != self.game:
            raise ValueError(f"the proof of {self} is of {self.game!r}, not {batch.game!r}")
        plies = batch.plies
        return [(self._plies.get(ply, NONE), np.flatnonzero(plies == ply)) for ply in np.unique(plies).tolist()]
