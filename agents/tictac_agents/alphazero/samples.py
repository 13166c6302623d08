"""Games of a network against itself, side by side, and the samples that it learns from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.alphazero.forest import Floats, Ints, SearchSettings, force, search_forest
from tictac_agents.base_learner import Arrays, as_numbers, as_shaped
from tictac_agents.mcts.evaluators import Evaluator
from tictac_env.games import UNFINISHED, Game
from tictac_env.position_batch import PositionBatch

Float32s = npt.NDArray[np.float32]


@dataclass(frozen=True)
class PlaySettings:
    """The settings of the games; `AlphaZero` explains them."""

    search: SearchSettings
    openings: int
    temperature_plies: int
    full: float
    quick: int
    mix: float


class Samples(NamedTuple):
    """N positions of games that are over.

    Attributes:
        own, opp: int64 (N,).
        policies: float32 (N, num_actions): the wanted policy; zeros if the search was a quick one.
        results: float32 (N,): the wanted value for the side to move, in [-1, 1].
    """

    own: Ints
    opp: Ints
    policies: Float32s
    results: Float32s

    @classmethod
    def joined(cls, parts: list[Samples]) -> Samples:
        """All samples of several parts, in their order."""
        arrays: list[Any] = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        return cls(*arrays)

    @classmethod
    def read(cls, game: Game, arrays: Arrays) -> Samples:
        """The samples of a file.

        Raises:
            ValueError: an array has another type or shape; a position is not an unfinished one of the game; or a policy
                or a result is not possible.
        """
        size = len(arrays["own"])
        own, opp = (as_shaped(name, arrays[name], np.zeros(size, np.int64)) for name in ("own", "opp"))
        batch = PositionBatch(game, own, opp)
        batch.check()
        policies = as_numbers("policies", arrays["policies"], np.zeros((size, game.num_actions), np.float32), 0, 1)
        legal = batch.action_masks() != 0
        if not legal.any(axis=1).all() or policies[~legal].any():
            raise ValueError("the positions are not unfinished, or the policies have actions that are not legal")
        return cls(own, opp, policies, as_numbers("results", arrays["results"], np.zeros(size, np.float32), -1, 1))

    def rows(self, chosen: slice | Ints) -> Samples:
        """Some of the samples."""
        return Samples(self.own[chosen], self.opp[chosen], self.policies[chosen], self.results[chosen])


def sample_games(game: Game, evaluator: Evaluator, settings: PlaySettings, games: int, seed: int) -> Samples:
    """Plays games side by side to their ends, and gives the positions that the network chose in."""
    rng = np.random.default_rng(seed)
    batch = PositionBatch(game, *(np.full(games, stones, np.int64) for stones in game.start()))
    rows, results, moves = np.arange(games), np.zeros(games), []
    opening = rng.integers(settings.openings + 1, size=games) * (rng.random(games) < 0.5)
    for ply in range(game.cells):
        chosen, policies, values = moves_of(batch, evaluator, settings, ply < opening[rows], ply, rng)
        moves.append((rows, batch, policies, values, ply >= opening[rows]))
        batch = batch.play(chosen)
        found = batch.results()
        over = found != UNFINISHED
        results[rows[over]] = found[over] * (-1) ** (ply + 1)  # for the first player
        rows, batch = rows[~over], batch.where(~over)
        if not len(rows):
            break
    parts = []
    for ply, (played, positions, policies, values, kept) in enumerate(moves):
        outcomes = results[played] * (-1) ** ply
        wanted = (1 - settings.mix) * outcomes + settings.mix * np.where(np.isnan(values), outcomes, values)
        arrays = positions.own, positions.opp, policies.astype(np.float32), wanted.astype(np.float32)
        parts.append(Samples(*arrays).rows(np.flatnonzero(kept)))
    return Samples.joined(parts)


def moves_of(
    batch: PositionBatch,
    evaluator: Evaluator,
    settings: PlaySettings,
    at_random: npt.NDArray[np.bool_],
    ply: int,
    rng: np.random.Generator,
) -> tuple[Ints, Floats, Floats]:
    """The actions in B positions (B,), the policies to be learned (B, num_actions), and what the searches say the
    positions are worth, NaN without a search (B,).

    Openings are played at random. With tactics, a win or block at once is played without a search, and taught.
    """
    masks = batch.action_masks()
    forced = np.zeros(masks.shape, np.float32)
    if settings.search.tactics and batch.game.knows_wins:
        force(batch.game, batch.own, batch.opp, np.empty(len(batch), np.float32), forced)
        forced[at_random] = 0
    must = np.asarray(forced.any(axis=1))
    allowed = np.where(must[:, None], forced, masks) > 0
    actions = np.where(allowed, rng.random(masks.shape), -1).argmax(axis=1)
    policies, values = forced.astype(np.float64), np.full(len(batch), np.nan)
    searched, full = ~at_random & ~must, rng.random(len(batch)) < settings.full
    for taught, simulations in ((True, settings.search.simulations), (False, settings.quick)):
        rest = np.flatnonzero(searched & (full == taught))
        if not rest.size:
            continue
        found = search_forest(batch.where(rest), evaluator, replace(settings.search, simulations=simulations), rng)
        actions[rest], values[rest] = found.actions, found.values
        if ply < settings.temperature_plies:
            actions[rest] = (found.policies.cumsum(axis=1) > rng.random((len(rest), 1))).argmax(axis=1)
        if taught:
            policies[rest] = found.policies
    return actions, policies, values
