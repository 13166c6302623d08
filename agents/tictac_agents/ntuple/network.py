"""N-tuple networks that play: as policies, as evaluators of a search, from the shipped files, and with corrections."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tictac_agents.ntuple.search import MAX_PLIES, look_ahead
from tictac_agents.ntuple.values import (
    Cells,
    Int32s,
    Ints,
    Tables,
    as_value,
    images_of,
    layout_of,
    new_tables,
    score_afterstates,
)
from tictac_agents.predicts import Predicts, allowed_actions
from tictac_env.checks import flag, number, parse_whole, positive
from tictac_env.compiled import in_one_line
from tictac_env.games import Game, describe_game, game_name, game_of, get_game, shown
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.observation import read_observation
from tictac_env.policies import Corrected, Policy
from tictac_env.position import Position, Symmetry, symmetries
from tictac_env.position_batch import PositionBatch
from tictac_env.storage import reading, save_arrays

KIND = "tictac_agents.NTupleNetwork"
PROVEN_KIND = "tictac_agents.proven"
SHIPPED, PROVEN = Path(__file__).parent / "shipped", Path(__file__).parent / "proven"
MILLISECONDS = 0.001, 1e9
"""The least and the longest time of a search."""
MAX_LENGTH = 12
"""A tuple of more cells would have 2**26 weights and more."""


class NTupleNetwork(Predicts, Policy):
    """Plays the action of the highest value, a sum of table entries, one for each tuple of cells.

    ## Description

    An n-tuple network (Lucas 2008) looks at a position through tuples of n cells. The content of a tuple's cells is a
    number, the address of an entry in the tuple's table; the value is tanh of the sum of these entries. A tuple and its
    images under the board's symmetries share a table. Each seat has its own tables.

    `NTupleTD` learns it. The values are those of afterstates: of the position that an action leads to, for
    the side that plays it. By the one-move rule of published agents it takes a win, and lets the other side win at once
    only if it must, whatever the tables say. It is an evaluator for `MCTS` too.

    The policy "ntuple" is the network that comes with the package; "ntuple:4" looks four plies ahead, "ntuple:100ms"
    for 100 milliseconds. "ntuple:proven" plays given moves in positions in which the network would give a win away: as
    first player it wins against every reply, which `tictac_env.arena.prove` proves.

    Args:
        game: a game of the `KInARow` family, by its name or its rule book.
        tuples: the cells of each tuple, all of one length, numbered row by row from the top left.
        weights: int32 (tuples * 4**n * 2,), in units of 2**-26: see `ntuple.values.Tables`.
        symmetric: True if the images of a tuple share its table; False for tuples without images.
        plies: the depth of alpha-beta search, from 1 to 20, not counting forced replies; 1, without `milliseconds`,
            compares the values of the actions.
        milliseconds: wall-clock time for each move, instead: it looks two plies ahead, then one more as long as there
            is time, and stops when the choice is clear. The policy is then not a pure function: the machine's speed and
            load decide how far it looks.

    Raises:
        ValueError: the game is of another family, the tuples or the weights do not fit, or a number is out of range.

    ## References

    S. Lucas, "Learning to play Othello with n-tuple systems", 2008. M. Thill, P. Koch and W. Konen, "Reinforcement
    learning with n-tuples on the game Connect-4", 2012.

    Example:
        >>> from tictac_agents import MCTS, NTupleNetwork
        >>> from tictac_env.position import Position
        >>> network = NTupleNetwork.shipped("ConnectFour-v0")
        >>> start = Position.start("ConnectFour-v0")  # only the middle column wins
        >>> network.act(start, seed=0), MCTS(100, evaluator=network).act(start, seed=0)
        (3, 3)
    """

    about = "Plays by a network that learned in games against itself."

    # From a position to its value, with two of the tuples:
    #
    #     . . . . . . .      tuple 0: cells (36, 35, 28)  ->  address of its content  ->  weights[2 * address + seat]
    #     . . . . . . .      tuple 1: cells (38, 32, 31)  ->  address of its content  ->  weights[2 * address + seat]
    #     . . . . . . .                                                                +  ...
    #     . . . . . . .                                                                ------------------------------
    #     . . . X . . .      value = tanh(sum / 2**26)                                                            sum
    #     . O . X . . .
    #
    # Mirrored tuples, (40, 41, 34) for tuple 0, are two more addends from the same tables. `values.Layout` has the
    # addresses; `seat` is that of the side that has just moved.

    def __init__(
        self,
        game: str | Game,
        tuples: Sequence[Sequence[int]],
        weights: npt.ArrayLike,
        symmetric: bool = True,
        plies: int | None = None,
        *,
        milliseconds: float | None = None,
    ) -> None:
        if plies is not None and milliseconds is not None:
            raise ValueError(f"give plies ({plies}) or milliseconds ({milliseconds}), not both")
        self.game = family_game(game)
        self.tuples = checked_tuples(self.game, tuples)
        self.symmetric = flag("symmetric", symmetric)
        self.plies = positive("plies", 1 if plies is None else plies, MAX_PLIES)
        self.milliseconds = None if milliseconds is None else number("milliseconds", milliseconds, *MILLISECONDS)
        # Two bits for each cell, and a weight for each of the two seats: 4**length * 2 entries a tuple.
        self.weights: Int32s = np.ascontiguousarray(weights, np.int32)
        entries = len(self.tuples) << 2 * len(self.tuples[0]) + 1
        if self.weights.shape != (entries,):
            raise ValueError(f"weights of shape {(entries,)} are needed, not {self.weights.shape}")
        searches = f"{self.plies}" if self.plies > 1 else "" if milliseconds is None else f"{milliseconds:.10g}ms"
        self.name = f"ntuple:{searches}" if searches else "ntuple"
        ahead = "no search" if self.plies == 1 else f"search of {self.plies} plies"
        if milliseconds is not None:
            ahead = f"{milliseconds:.10g} ms of search a move"
        self.budget = f"{ahead}; one-move rule"
        self.layout = layout_of(self.game, self.tuples, symmetric)

    @classmethod
    def shipped(cls, game: str | Game = "ConnectFour-v0") -> Self:
        """The network that comes with the package.

        Raises:
            ValueError: there is no network for this game; the message lists the games that have one.
        """
        return cls.load(shipped_file(SHIPPED, game))

    @classmethod
    def variants(cls, game: Game) -> tuple[str, ...]:
        """Without an argument, on games with a network."""
        return ("",) if shipped_path(SHIPPED, game).exists() else ()

    @classmethod
    def from_name(cls, game: Game, argument: str) -> Policy:
        """A number of plies or a time (`100ms`) to search; `proven` wins each game of Connect Four as first."""
        if argument == "proven":
            return proven_player(game)
        # A number is plies; with "ms" it is a time. The digits are limited, so that no text is read as infinity.
        plies = parse_whole(argument, 1, MAX_PLIES) if argument else 1
        if plies is not None:
            return shared(game, plies, None)
        time = re.fullmatch(r"(\d{1,10}(?:\.\d{1,10})?)ms", argument, re.ASCII)
        low, high = MILLISECONDS
        if time is None or not low <= float(time[1]) <= high:
            raise ValueError(
                f"the plies of 'ntuple' must be an integer from 1 to {MAX_PLIES}, or a time such as '100ms', from "
                f"{low:g} to {high:g}, or 'proven', not {argument!r}"
            )
        return shared(game, None, float(time[1]))

    def looking_ahead(self, plies: int | None = None, *, milliseconds: float | None = None) -> Self:
        """The same network with another search: N plies ahead, or for a time; without either, no search."""
        return type(self)(self.game, self.tuples, self.weights, self.symmetric, plies, milliseconds=milliseconds)

    @property
    def batched(self) -> bool:
        return self.milliseconds is None

    def act(self, position: Position, seed: int) -> int:
        return int(self._searched(PositionBatch.of([position]), exact=False)[1][0])

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return self._searched(batch, exact=False)[1]

    def values(self, own: int, opp: int) -> Mapping[int, float]:
        """The value of each legal action, in [-1, 1]."""
        position = Position(self.game, own, opp)
        scores = self._searched(PositionBatch.of([position]), exact=True)[0][0].tolist()
        return {action: as_value(scores[action]) for action in position.legal_actions}

    def compiled(self, game: Game) -> Tables:
        """The record for a search, with scratch memory of its own: see `mcts.evaluators.CompiledEvaluator`."""
        if game != self.game:
            raise ValueError(f"the network plays {describe_game(self.game)}, not {describe_game(game)}")
        return new_tables(self.layout, self.weights)

    @property
    def images(self) -> list[Cells]:
        """The cells of each tuple and of its images, tuple by tuple."""
        groups = (images_of(self.game, cells) if self.symmetric else [cells] for cells in self.tuples)
        return [image for images in groups for image in images]

    def quantised(self, bits: int = 16) -> tuple[Ints, int]:
        """The weights as integers of N bits, int64, and the power of 2 by which to multiply them."""
        # The unit is the smallest power of two with which the largest weight has bits - 1 bits and a sign.
        most = (1 << bits - 1) - 1
        unit = 1 << max(0, int(np.abs(self.weights.astype(np.int64)).max()).bit_length() + 1 - bits)
        # Rounding may take that weight up to a power of two, which needs one bit more: clip it.
        return ((self.weights.astype(np.int64) + unit // 2) // unit).clip(-most, most), unit

    def rounded(self, bits: int = 16) -> Self:
        """The same network with weights of N bits, which makes its file small."""
        whole, unit = self.quantised(bits)
        plies = self.plies if self.milliseconds is None else None
        return type(self)(self.game, self.tuples, whole * unit, self.symmetric, plies, milliseconds=self.milliseconds)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the network to an .npz file (see `tictac_env.storage`)."""
        meta = {"game": describe_game(self.game), "tuples": self.tuples, "symmetric": self.symmetric}
        save_arrays(path, KIND, meta, {"weights": self.weights})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The network that was saved.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, or holds something else.
        """
        with reading(path, KIND, "file of an NTupleNetwork", _most_bytes) as (meta, arrays):
            if arrays["weights"].dtype != np.int32:
                raise ValueError(f"its weights are {arrays['weights'].dtype}, not int32")
            return cls(game_of(meta["game"]), meta["tuples"], arrays["weights"], meta["symmetric"])

    def _predicted(self, observation: Any, deterministic: bool, action_masks: npt.ArrayLike | None) -> int:
        position = Position(self.game, *read_observation(self.game, observation))
        scores = self._searched(PositionBatch.of([position]), exact=True)[0][0]
        return max(allowed_actions(position, action_masks), key=lambda action: scores[action])

    @in_one_line()
    def _searched(self, batch: PositionBatch, exact: bool) -> tuple[Ints, Ints]:
        """The scores, upper bounds of all but the best unless `exact`, and the actions."""
        tables = self.compiled(batch.game)
        if self.plies > 1 or self.milliseconds is not None:
            return look_ahead(self.game, tables, batch.own, batch.opp, self.plies, self.milliseconds, exact)
        scores = np.empty((len(batch), self.game.num_actions), np.int64)
        score_afterstates(self.game, tables, batch.own, batch.opp, scores)
        return scores, scores.argmax(axis=1)


@functools.lru_cache(maxsize=64)
def shared(game: Game, plies: int | None, milliseconds: float | None) -> NTupleNetwork:
    """The policy of a name, shared in the process: its file takes half a second to read, its weights 37 MB."""
    if plies == 1:
        return NTupleNetwork.shipped(game)
    return shared(game, 1, None).looking_ahead(plies, milliseconds=milliseconds)


def family_game(game: str | Game) -> KInARow:
    """A game of the `KInARow` family.

    Raises:
        ValueError: it is of another family, or has rules of its own.
    """
    rules = get_game(game)
    if type(rules) is not KInARow:
        raise ValueError(f"an n-tuple network needs a game of the KInARow family, not {rules!r}")
    return rules


def _most_bytes(meta: dict[str, Any]) -> int:
    """The bytes of the weights of a network with the tuples that a file names."""
    return 4 * len(meta["tuples"]) << 2 * len(meta["tuples"][0]) + 1


def checked_tuples(game: KInARow, tuples: Sequence[Sequence[int]]) -> tuple[Cells, ...]:
    """Tuples of different cells of the board, all of one length.

    Raises:
        ValueError: they are not.
    """
    copies = tuple(tuple(cells) for cells in tuples)
    if not copies or len({len(cells) for cells in copies}) > 1 or not 1 <= len(copies[0]) <= MAX_LENGTH:
        raise ValueError(f"tuples must all be of one length from 1 to {MAX_LENGTH}, not {shown(copies)}")
    for cells in copies:
        if len(set(cells)) < len(cells) or not all(cell in range(game.cells) for cell in cells):
            raise ValueError(f"a tuple must have different cells from 0 to {game.cells - 1}, not {shown(cells)}")
    return copies


def save_proven(
    network: NTupleNetwork, corrections: Mapping[tuple[int, int], int], path: str | os.PathLike[str]
) -> None:
    """Writes a network and its corrections to an .npz file (see `tictac_env.storage`).

    Args:
        network: the player of all other positions; its search is not saved.
        corrections: the action for each position `(own, opp)`, which also holds for its images under the symmetries.
        path: the file.
    """
    # Sorted, so that the same corrections are the same file.
    stones = np.array(sorted(corrections), np.int64).reshape(-1, 2)
    actions = np.array([corrections[own, opp] for own, opp in stones.tolist()], np.int8)
    meta = {"game": describe_game(network.game), "tuples": network.tuples, "symmetric": network.symmetric}
    arrays: dict[str, npt.NDArray[Any]] = {
        "weights": network.weights,
        "own": stones[:, 0],
        "opp": stones[:, 1],
        "actions": actions,
    }
    save_arrays(path, PROVEN_KIND, meta, arrays)


def load_proven(path: str | os.PathLike[str]) -> Corrected:
    """The player of a file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, or holds something else.
    """
    with reading(path, PROVEN_KIND, "file of a network with corrections") as (meta, arrays):
        game = game_of(meta["game"])
        network = NTupleNetwork(game, meta["tuples"], arrays["weights"], meta["symmetric"])
        # The corrections under every symmetry, as rows own, opp and action.
        images = [
            np.stack([image(symmetry, arrays["own"]), image(symmetry, arrays["opp"]), actions])
            for symmetry in symmetries(game)
            for actions in [np.array(symmetry.actions)[arrays["actions"]]]
        ]
        corrections = np.concatenate(images, axis=1)
        # A position that is its own mirror image comes twice, with two moves: the first one stays.
        own, opp, actions = corrections[:, np.unique(corrections[:2], axis=1, return_index=True)[1]]
        return Corrected(network, PositionBatch(game, own, opp), actions, "ntuple:proven")


def image(symmetry: Symmetry, stones: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """`Symmetry.apply` of many sets of cells."""
    cells = np.zeros_like(stones)
    for source, target in symmetry.bits:
        cells |= np.where(stones & source, target, 0)
    return cells


@functools.lru_cache(maxsize=4)
def proven_player(game: Game) -> Corrected:
    """The policy "ntuple:proven": a network, corrected where it would give a win away (`tools/ship_ntuple.py`).

    Raises:
        ValueError: there is no such file for this game; the message lists the games that have one.
    """
    return load_proven(shipped_file(PROVEN, game))


def shipped_path(folder: Path, game: str | Game) -> Path:
    """The path of a game's file in a folder of the package, if it has one."""
    return folder / f"{game_name(get_game(game))}.npz"


def shipped_file(folder: Path, game: str | Game) -> Path:
    """The file for a game in a folder of the package.

    Raises:
        ValueError: there is no file for this game; the message lists the games that have one.
    """
    rules, path = get_game(game), shipped_path(folder, game)
    if not path.exists():
        names = ", ".join(sorted(file.stem for file in folder.glob("*.npz")))
        raise ValueError(f"there is no shipped network for {game_name(rules) or rules!r}; there are {names}")
    return path
