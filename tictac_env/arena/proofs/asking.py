"""A player asked for its moves in some positions, and every reply played: a piece of a proof, for any worker."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tictac_env.arena.proofs.reply_layers import Ints, Moves, distinct, expand
from tictac_env.games import Game
from tictac_env.policies import Policy, load_player
from tictac_env.policies.policy import actions_of, illegal_choice
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import position_seed


class Chunk(NamedTuple):
    """Positions of a ply."""

    begin: int
    """Where in the ply they begin."""
    own: Ints
    opp: Ints


class Answers(NamedTuple):
    """What follows from a chunk."""

    moves: Moves
    """int8, the player's, one for each position."""
    own: Ints
    """The distinct positions after the replies, in ascending order."""
    opp: Ints
    ends: tuple[int, int, int]
    """How many games end won, drawn and lost."""


def asked(game: Game, policy: Policy, seed: int, chunk: Chunk) -> Answers:
    """Asks a policy about a chunk.

    Raises:
        IllegalMove: its choice is illegal; the message names it and the position.
    """
    batch = PositionBatch(game, np.array(chunk.own), np.array(chunk.opp))
    seeds: Any = position_seed(batch.own, batch.opp, seed)  # type: ignore[arg-type]  # as of arrays
    moves = actions_of(policy, batch, seeds)
    wrong = np.flatnonzero((moves < 0) | (moves >= game.num_actions)).tolist()
    if not wrong:
        replies = np.empty((2, len(batch) * game.num_actions), np.int64)
        found = expand(game, batch.own, batch.opp, moves.astype(np.int8), *replies)
        wrong = [found.illegal] if found.illegal >= 0 else []
    if wrong:
        raise illegal_choice(policy, batch[wrong[0]], int(moves[wrong[0]]))
    own, opp = distinct(*replies[:, : found.going])
    return Answers(moves.astype(np.int8), own, opp, (int(found.won), int(found.drawn), int(found.lost)))


class AskedByWorker:
    """Asks about chunks in a worker, where it loads the player at the first.

    Args:
        player: whatever `load_player` accepts.
        identity: who it is, so that no worker asks another player.
        game: the rule book.
        seed: with it each position's seed is derived.
    """

    def __init__(self, player: Any, identity: dict[str, Any], game: Game, seed: int) -> None:
        self._player, self._identity, self._game, self._seed = player, identity, game, seed
        self._policy: Policy | None = None

    def __call__(self, chunk: Chunk) -> Answers:
        if self._policy is None:
            who = load_player(self._player, self._game)
            if who.identity != self._identity:
                raise ValueError(f"{who} is another player in a worker than here: {who.identity}, not {self._identity}")
            self._policy = who.policy
        return asked(self._game, self._policy, self._seed, chunk)
