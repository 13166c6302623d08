"""The policy "ntuple:proven": a learned network, put right where it would throw a win away.

`tools/ship_ntuple.py` makes it; `tictac_env.arena.prove` proves that it wins every line as first player.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tictac_agents.ntuple.network import NTupleNetwork
from tictac_agents.shipped import shipped_file
from tictac_env.games import Game, describe_game, game_of
from tictac_env.policies import Corrected
from tictac_env.position import Symmetry, symmetries
from tictac_env.position_batch import PositionBatch
from tictac_env.storage import reading, save_arrays

PROVEN = Path(__file__).parent / "proven"
KIND = "tictac_agents.proven"


def save_player(
    network: NTupleNetwork, corrections: Mapping[tuple[int, int], int], path: str | os.PathLike[str]
) -> None:
    """Writes a network and its corrections to an .npz file (see `tictac_env.storage`).

    Args:
        network: how the player plays otherwise; how far it looks ahead is not kept.
        corrections: the action for each position `(own, opp)`, and so for its images under the board's symmetries.
        path: the file.
    """
    stones = np.array(sorted(corrections), np.int64).reshape(-1, 2)
    actions = np.array([corrections[own, opp] for own, opp in stones.tolist()], np.int8)
    meta = {"game": describe_game(network.game), "tuples": network.tuples, "symmetric": network.symmetric}
    save_arrays(
        path, KIND, meta, {"weights": network.weights, "own": stones[:, 0], "opp": stones[:, 1], "actions": actions}
    )


def load_player(path: str | os.PathLike[str]) -> Corrected:
    """The player of a file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, or holds something else.
    """
    with reading(path, KIND, "file of a network with corrections") as (meta, arrays):
        game = game_of(meta["game"])
        network = NTupleNetwork(game, meta["tuples"], arrays["weights"], meta["symmetric"])
        every = [
            np.stack([image(symmetry, arrays["own"]), image(symmetry, arrays["opp"]), actions])
            for symmetry in symmetries(game)
            for actions in [np.array(symmetry.actions)[arrays["actions"]]]
        ]
        given = np.concatenate(every, axis=1)
        # A position that is its own mirror image comes twice, with two moves.
        own, opp, actions = given[:, np.unique(given[:2], axis=1, return_index=True)[1]]
        return Corrected(network, PositionBatch(game, own, opp), actions, "ntuple:proven")


def image(symmetry: Symmetry, stones: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """`Symmetry.apply` of many sets of cells."""
    found = np.zeros_like(stones)
    for source, target in symmetry.bits:
        found |= np.where(stones & source, target, 0)
    return found


@functools.lru_cache(maxsize=4)
def proven_player(game: Game) -> Corrected:
    """The player that comes with the package.

    Raises:
        ValueError: there is none for this game; the message says for which there are.
    """
    return load_player(shipped_file(PROVEN, game))
