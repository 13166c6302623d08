"""Games of a network against itself, side by side, and the samples that it learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.alphazero.forest import MOST_SIMULATIONS, Floats, Ints, SearchSettings, force, search_forest
from tictac_agents.base_learner import Arrays, as_numbers, as_shaped
from tictac_agents.mcts.evaluators import Evaluator
from tictac_agents.settings import setting
from tictac_env.games import UNFINISHED, Game
from tictac_env.position_batch import PositionBatch

Float32s = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class PlaySettings(SearchSettings):
    """The settings of the games that a network plays against itself."""

    simulations: int = setting(32, "of each search in training", 1, MOST_SIMULATIONS)
    openings: int = setting(6, "the most random moves at the beginning of a game", 0, 1 << 16)
    temperature_plies: int | None = setting(
        None,
        "the moves at the beginning of a game that are drawn from the policy to be learned; after them the "
        'best one is played; None for 0 with "gumbel", whose samples differ anyway, and 10 with "puct"',
        0,
    )
    full: float = setting(
        1.0,
        "the chance of a move to have a full search; the others have `quick` simulations, and the policy does "
        "not learn from them (playout-cap randomisation)",
        0,
        1,
    )
    quick: int = setting(8, "the simulations of a quick search", 1, MOST_SIMULATIONS)
    mix: float = setting(
        0.5, "the part of the value's target that is the value by the search; the rest is the game's result", 0, 1
    )

    @property
    def drawn_plies(self) -> int:
        """The number of moves at the beginning of a game that are drawn."""
        return 10 * (self.root == "puct") if self.temperature_plies is None else self.temperature_plies


class Samples(NamedTuple):
    """N positions of games that are over.

    Attributes:
        own, opp: int64 (N,).
        policies: float32 (N, num_actions): the target of the policy; zeros if the search was a quick one.
        results: float32 (N,): the target of the value, for the side to move, in [-1, 1].
    """

    own: Ints
    opp: Ints
    policies: Float32s
    results: Float32s

    @classmethod
    def joined(cls, parts: list[Samples]) -> Samples:
        """The samples of several parts together, in their order."""
        arrays: list[Any] = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        return cls(*arrays)

    @classmethod
    def read(cls, game: Game, arrays: Arrays) -> Samples:
        """The samples of a file.

        Raises:
            ValueError: an array has another type or shape; a position is not an unfinished one of the game; or a policy
                or a result is not possible.
        """
        # A file may have been changed, so everything is checked that kernels rely on: they check no index.
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
    """Plays games side by side to their ends; returns the positions in which the network chose the move."""
    rng = np.random.default_rng(seed)
    # The games that are still played: `batch` has their positions, `rows` their numbers.
    batch = PositionBatch(game, *(np.full(games, stones, np.int64) for stones in game.start()))
    rows, results, moves = np.arange(games), np.zeros(games), []
    # Half of the games begin with random moves, 0 to `openings` of them.
    opening = rng.integers(settings.openings + 1, size=games) * (rng.random(games) < 0.5)
    for ply in range(game.cells):
        # A ply of all games: their searches share each pass of the network.
        chosen, policies, values = moves_of(batch, evaluator, settings, ply < opening[rows], ply, rng)
        moves.append((rows, batch, policies, values, ply >= opening[rows]))
        # Finished games leave the batch. A result is for the side to move; the first player's is kept.
        batch = batch.play(chosen)
        statuses = batch.results()
        over = statuses != UNFINISHED
        results[rows[over]] = statuses[over] * (-1) ** (ply + 1)
        rows, batch = rows[~over], batch.where(~over)
        if not len(rows):
            break
    # Now that all results are known, each ply gives its samples; the random opening moves give none.
    parts = []
    for ply, (played, positions, policies, values, sampled) in enumerate(moves):
        # The target of the value: between the game's result, for the side to move, and the value by the search. The
        # first is unbiased but noisy; the second is the reverse. A move without a search has the result alone.
        outcomes = results[played] * (-1) ** ply
        targets = (1 - settings.mix) * outcomes + settings.mix * np.where(np.isnan(values), outcomes, values)
        arrays = positions.own, positions.opp, policies.astype(np.float32), targets.astype(np.float32)
        parts.append(Samples(*arrays).rows(np.flatnonzero(sampled)))
    return Samples.joined(parts)


def moves_of(
    batch: PositionBatch,
    evaluator: Evaluator,
    settings: PlaySettings,
    at_random: npt.NDArray[np.bool_],
    ply: int,
    rng: np.random.Generator,
) -> tuple[Ints, Floats, Floats]:
    """Chooses the actions in B positions.

    Openings are played at random. With tactics, a win or block at once is played without a search, and learned.

    Returns:
        The actions (B,), the policies to be learned (B, num_actions), and the values by the searches (B,), NaN without
        a search.
    """
    # Forced moves: the policy to be learned is shared by the actions that win, or else by those that block.
    masks = batch.action_masks()
    forced = np.zeros(masks.shape, np.float32)
    if settings.tactics and batch.game.knows_wins:
        force(batch.game, batch.own, batch.opp, np.empty(len(batch), np.float32), forced)
        forced[at_random] = 0
    # Positions without a search play a random action: a forced one, or in the opening any legal one. The highest of
    # uniform numbers makes each allowed action as likely as the others.
    must = np.asarray(forced.any(axis=1))
    allowed = np.where(must[:, None], forced, masks) > 0
    actions = np.where(allowed, rng.random(masks.shape), -1).argmax(axis=1)
    policies, values = forced.astype(np.float64), np.full(len(batch), np.nan)
    # All others are searched, some fully, some quickly (playout-cap randomisation). A quick search plays well enough to
    # give many games and results, but not well enough for the policy to learn from.
    searched, full = ~at_random & ~must, rng.random(len(batch)) < settings.full
    for learned, simulations in ((True, settings.simulations), (False, settings.quick)):
        rows = np.flatnonzero(searched & (full == learned))
        if not rows.size:
            continue
        search = search_forest(batch.where(rows), evaluator, settings, simulations, rng)
        actions[rows], values[rows] = search.actions, search.values
        # Early moves are drawn by the policy: the first action at which its cumulative sum exceeds a uniform number.
        if ply < settings.drawn_plies:
            actions[rows] = (search.policies.cumsum(axis=1) > rng.random((len(rows), 1))).argmax(axis=1)
        if learned:
            policies[rows] = search.policies
    return actions, policies, values
