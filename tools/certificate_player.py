"""A first player's whole win as a list of positions with a move each, and a rule for all other positions.

    tictac prove tools/certificate_player.py:CertificatePlayer --game ConnectFour-v0 --claim wins --folder proof

proves it: nothing of the search that made the list is used. Of a position and its mirror image the list has the lesser
one, and the rule looks at that one, too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from tictac_env.arena.proofs.reply_layers import Ints, Moves, find
from tictac_env.compiled import kernel
from tictac_env.games import Game, describe_game, game_of
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.policies import Policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.storage import reading, save_arrays
from tools.certificate_rule import WHOLE, rule_cell
from tools.reply_tree import lesser

FILE = Path(__file__).parents[1] / "benchmarks" / "results" / "proofs" / "small-certificate-connect-four.npz"
KIND = "certificate of a win"
COMPILED_AS = "the player of a certificate"


class CertificatePlayer(Policy):
    """Plays the listed moves, and by the rule elsewhere; a pure function of the position, the same in mirror images.

    Args:
        game: one with gravity.
        own: int64 (N,), the stones of the side to move in the listed positions, of mirror images the lesser one.
        opp: int64 (N,), the other side's.
        actions: int8 (N,), what to play there.
        parts: of the rule (`certificate_rule`).
    """

    name = "certificate"
    batched = True

    def __init__(self, game: KInARow, own: Ints, opp: Ints, actions: Moves, parts: int = WHOLE) -> None:
        order = np.lexsort((opp, own))
        self.game, self.parts = game, parts
        self.own, self.opp, self.actions = own[order], opp[order], actions[order].astype(np.int8)
        self.budget = f"no search; {len(own):,} positions listed"

    @classmethod
    def from_name(cls, game: Game, argument: str) -> Self:
        """The certificate in the repository's records."""
        return cls.load(FILE)

    @classmethod
    def of(cls, game: KInARow, cells: dict[tuple[int, int], int], parts: int = WHOLE) -> Self:
        """The player of a list of cells to fill by position."""
        own, opp = np.array(sorted(cells), np.int64).reshape(-1, 2).T
        columns = [(cells[both].bit_length() - 1) // game.stride for both in sorted(cells)]
        return cls(game, own, opp, np.array(columns, np.int8), parts)

    def act(self, position: Position, seed: int) -> int:
        return int(self.act_many(PositionBatch.of([position]), np.zeros(1, np.int64))[0])

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        found = np.empty(len(batch), np.int64)
        choose(self.game, self.own, self.opp, self.actions, self.parts, batch.own, batch.opp, found)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the list to an .npz file.

        Positions are keys (`KInARow.key`) in ascending order, as differences, of which byte by byte the lowest come
        first: so they take least when compressed.
        """
        keys = np.array([self.game.key(*both) for both in zip(self.own.tolist(), self.opp.tolist(), strict=True)])
        order = np.argsort(keys)
        steps = np.diff(keys[order], prepend=0).astype("<i8").view(np.uint8).reshape(-1, 8).T
        meta = {"game": describe_game(self.game), "parts": self.parts}
        save_arrays(path, KIND, meta, {"steps": np.ascontiguousarray(steps), "actions": self.actions[order]})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The player of a file.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, or holds something else.
        """
        with reading(path, KIND, "file of a certificate") as (meta, arrays):
            game = game_of(meta["game"])
            if type(game) is not KInARow or not game.gravity:
                raise ValueError(f"its game is {game!r}, not one of the KInARow family with gravity")
            keys = np.cumsum(np.ascontiguousarray(arrays["steps"].T).view("<i8").ravel())
            return cls(game, *positions_of(game, keys), arrays["actions"], int(meta["parts"]))


def positions_of(game: KInARow, keys: Ints) -> tuple[Ints, Ints]:
    """The positions of some keys: in each column the highest bit of a key marks the height, those below are `own`."""
    own, both = np.zeros_like(keys), np.zeros_like(keys)
    for shift in range(0, game.cols * game.stride, game.stride):
        column = keys >> shift & (1 << game.rows + 1) - 1
        marks = 1 << np.log2(np.maximum(column, 1)).astype(np.int64)
        own |= (column ^ marks) << shift
        both |= marks - 1 << shift
    return own, both ^ own


@kernel
def choose(
    game: KInARow, owns: Ints, opps: Ints, actions: Moves, parts: int, own: Ints, opp: Ints, found: Ints
) -> None:
    """Fills in the action in each position `own`, `opp`: the one listed, else the rule's."""
    for i in range(len(own)):
        least_own, least_opp = lesser(game, own[i], opp[i])
        row = find(owns, opps, least_own, least_opp)
        action = int(actions[row]) if row >= 0 else 0
        if row < 0:
            cell = rule_cell(game, least_own, least_opp, parts)
            while not cell & game.column << action * game.stride:
                action += 1
        mirrored = least_own != own[i] or least_opp != opp[i]
        found[i] = game.cols - 1 - action if mirrored else action
