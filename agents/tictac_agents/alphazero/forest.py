"""The search of AlphaZero: a forest of trees, for many positions, all of whose leaves are evaluated together.

The trees share the arrays of one `SearchTree`: their roots are its nodes 0 to B - 1. In each round every tree begins a
simulation, the evaluator is asked about all leaves that were reached, and the simulations end.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts.evaluators import Evaluation, Evaluator, evaluated
from tictac_agents.mcts.simulation import (
    BY_FORMULA,
    ILLEGAL_ACTION,
    UNPROVEN,
    SearchParams,
    SearchTree,
    add_node,
    add_virtual_loss,
    backup,
    backup_leaf,
    backup_proven,
    new_tree,
    select_leaf,
    visits_of,
)
from tictac_env.compiled import borrowing_kernel, kernel
from tictac_env.games import Game
from tictac_env.position_batch import PositionBatch

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
IDLE = -2
"""In place of a first action: no simulation, as the root is proven."""
ROOTS = ("gumbel", "puct")
MAXVISIT = 50.0
"""Of the paper's sigma: (50 + the most visits of an action) * scale * value."""


@dataclass(frozen=True)
class SearchSettings:
    """The settings of a search.

    Attributes:
        simulations: the number from each root; fewer if it is proven.
        root: the choice of the first action, "gumbel" or "puct".
        considered: of "gumbel": the actions that sequential halving begins with, at most.
        scale: of "gumbel": the weight of values against logits.
        exploration: the constant of PUCT.
        noise: of "puct": the part of the priors at the root that is Dirichlet noise.
        tactics: True if each side wins at once when it can, and else blocks such a win, as if its prior said so.
    """

    simulations: int = 32
    root: str = "gumbel"
    considered: int = 16
    scale: float = 0.5
    exploration: float = 1.25
    noise: float = 0.25
    tactics: bool = True


class Found(NamedTuple):
    """The results of B searches.

    Attributes:
        actions: int64 (B,): the action to play.
        policies: float64 (B, num_actions): the improved policy, what a network is to learn.
        values: float64 (B,): the value of each position by its search, for the side to move.
    """

    actions: Ints
    policies: Floats
    values: Floats


@kernel
def plant(game: Game, tree: SearchTree, own: Ints, opp: Ints) -> None:
    """Empties the tree and gives it a root for each of B positions, the nodes 0 to B - 1."""
    tree.size[0] = 0
    for i in range(len(own)):
        add_node(game, tree, own[i], opp[i])


@kernel
def select_each(
    game: Game,
    tree: SearchTree,
    own: Ints,
    opp: Ints,
    firsts: Ints,
    params: SearchParams,
    paths: npt.NDArray[np.int32],
    leaves: Ints,
) -> int:
    """Begins a simulation from each root, with the given first actions. Certain results are backed up at once.

    Returns:
        How many wait for an evaluation: their `paths` and `leaves` are filled as by `simulation.select_leaves`.
    """
    waiting = 0
    for i in range(len(own)):
        if firsts[i] == IDLE:
            continue
        leaf, _ = select_leaf(game, tree, i, own[i], opp[i], visits_of(game, tree, i), firsts[i], params, 0)
        if leaf.proven == UNPROVEN:
            leaves[waiting, 0], leaves[waiting, 1], leaves[waiting, 2] = leaf.depth, leaf.own, leaf.opp
            paths[waiting, : leaf.depth] = tree.path[: leaf.depth]
            add_virtual_loss(tree, leaf.depth)
            waiting += 1
        else:
            backup(tree, tree.path, leaf.depth, float(leaf.proven), params.draw, 0.0)
            backup_proven(game, tree, tree.path, leaf.depth)
    return waiting


@kernel
def first_actions(
    game: Game, tree: SearchTree, logits: Floats, noise: Floats, wanted: Ints, scale: float, firsts: Ints
) -> None:
    """Fills in the first action of the next simulation from each root: of those with the wanted number of visits, the
    one of the highest noise + logit + sigma(value). `IDLE` for a root that is proven.
    """
    for i in range(len(firsts)):
        won, most, unknown = False, 0, False
        for action in range(game.num_actions):
            proven = tree.proven[i, action]
            if proven != ILLEGAL_ACTION:
                won |= proven == 1
                unknown |= proven == UNPROVEN
                most = max(most, tree.visits[i, action])
        firsts[i] = IDLE
        if won or not unknown:
            continue
        sigma = (MAXVISIT + most) * scale
        highest = -np.inf
        for action in range(game.num_actions):
            proven = tree.proven[i, action]
            visits = tree.visits[i, action]
            if proven == ILLEGAL_ACTION or visits != wanted[i]:
                continue
            score = noise[i, action] + logits[i, action]
            if visits:  # among those without visits the value is the same
                mean = float(proven) if proven != UNPROVEN else tree.value_sums[i, action] / visits
                score += sigma * mean
            if score > highest:
                highest, firsts[i] = score, action


@kernel
def backup_each(
    game: Game,
    tree: SearchTree,
    paths: npt.NDArray[np.int32],
    leaves: Ints,
    values: Any,
    priors: Any,
    params: SearchParams,
) -> None:
    """Ends the simulations that wait."""
    for row in range(len(leaves)):
        backup_leaf(game, tree, paths[row], leaves[row], values[row], priors[row], params)


class Roots:
    """The roots of a forest, nodes 0 to B - 1, and what is known of their actions.

    Args:
        tree: the forest.
        found: the evaluator's answer for the roots.
        scale: the weight of values against logits.

    Attributes:
        legal: bool (B, num_actions).
        visits, proven, priors: views of the tree's, (B, num_actions).
        logits: float64 (B, num_actions), of the evaluator's priors.
    """

    def __init__(self, tree: SearchTree, found: Evaluation, scale: float) -> None:
        count, actions = len(found.values), len(tree.action_bits)
        self.visits, self.proven = tree.visits[:count, :actions], tree.proven[:count, :actions]
        self._sums = tree.value_sums[:count, :actions]
        self.legal = self.proven != ILLEGAL_ACTION
        tree.priors[:count, actions:] = 0
        self.priors = tree.priors[:count, :actions]
        self.priors[:] = found.priors
        self.logits = np.log(np.maximum(self.priors, 1e-9).astype(np.float64))
        self._values, self._scale = found.values.astype(np.float64), scale

    @property
    def done(self) -> npt.NDArray[np.bool_]:
        """True for each root whose result is proven: a win is found, or all actions are proven."""
        done: npt.NDArray[np.bool_] = (self.proven == 1).any(axis=1) | (self.proven != UNPROVEN).all(axis=1)
        return done

    def completed(self) -> Floats:
        """The value of each action: proven, the mean of its simulations, or without any the mixed value of the root.

        That is the evaluator's value and, weighted by the priors, those of the visited actions (Danihelka et al., 2022,
        appendix D).
        """
        certain = (self.proven != UNPROVEN) & self.legal
        seen = (self.visits > 0) & self.legal
        means = np.where(certain, self.proven, np.where(seen, self._sums, 0) / np.maximum(self.visits, 1))
        weights = np.where(seen, self.priors, 0).astype(np.float64)
        total, count = weights.sum(axis=1), self.visits.sum(axis=1)
        mean = np.where(total > 0, (weights * means).sum(axis=1) / np.maximum(total, 1e-12), self._values)
        mixed = (self._values + count * mean) / (1 + count)
        return np.where(seen | certain, means, mixed[:, None])

    def improved(self) -> Floats:
        """Logit + sigma(value) of each action: a softmax of it is the improved policy; -inf if illegal."""
        sigma = (MAXVISIT + self.visits.max(axis=1, keepdims=True)) * self._scale
        return np.where(self.legal, self.logits + sigma * self.completed(), -np.inf)

    def values(self, policies: Floats) -> Floats:
        """The values of the positions, proven or expected by a policy."""
        proven = np.where(self.legal & (self.proven != UNPROVEN), self.proven, -1).max(axis=1)
        expected: Floats = (policies * np.where(self.legal, self.completed(), 0)).sum(axis=1)
        return np.where(self.done, proven, expected)

    def most_visited(self, noise: Floats) -> tuple[Ints, Floats]:
        """The action of the most visits, the highest noise + logit + sigma(value) among equals, proven wins before and
        proven losses after all others; and the improved policies.
        """
        improved = self.improved()
        policies = np.exp(improved - improved.max(axis=1, keepdims=True))
        order = np.where(self.proven == 1, 1 << 20, np.where(self.proven == -1, -1, self.visits))
        order = np.where(self.legal, order, -2)
        best = order == order.max(axis=1, keepdims=True)
        actions = np.where(best, noise + improved, -np.inf).argmax(axis=1)
        return actions, policies / policies.sum(axis=1, keepdims=True)

    def by_visits(self) -> tuple[Ints, Floats]:
        """The action of the most visits, proven wins before and proven losses after all others; and the shares of
        visits.
        """
        counts = np.where(self.proven == 1, 1e9, np.where(self.proven == -1, 1e-6, 1) * self.visits)
        counts = np.where(self.legal, counts + 1e-9 * self.priors, 0)
        return counts.argmax(axis=1), counts / counts.sum(axis=1, keepdims=True)


def search_forest(
    batch: PositionBatch, evaluator: Evaluator, settings: SearchSettings, rng: np.random.Generator | None
) -> Found:
    """Searches from each of B unfinished positions.

    Args:
        batch: the positions.
        evaluator: gives values and priors, as `evaluators.evaluated` wants them.
        settings: of the search.
        rng: of the noise at the roots: Gumbel's, or Dirichlet's for PUCT. None for none.
    """
    game, count = batch.game, len(batch)
    params = SearchParams(exploration=float(settings.exploration), draw=0.0, solver=True, stored=False)
    tree = new_tree(game, count * (settings.simulations + 1), priors=True)
    plant(game, tree, batch.own, batch.opp)
    roots = Roots(tree, evaluation(evaluator, batch, settings.tactics), settings.scale)
    gumbel, noise = settings.root == "gumbel", np.zeros(roots.logits.shape)
    if rng is not None and gumbel:
        noise = rng.gumbel(size=noise.shape)
    elif rng is not None:
        drawn = rng.standard_gamma(10 / roots.legal.sum(axis=1, keepdims=True), noise.shape) * roots.legal
        drawn /= drawn.sum(axis=1, keepdims=True)
        roots.priors[:] = (1 - settings.noise) * roots.priors + settings.noise * drawn
    wanted = visits_wanted(min(settings.considered, game.num_actions), settings.simulations)
    considered = np.minimum(roots.legal.sum(axis=1), len(wanted) - 1)
    paths, leaves = np.empty((count, game.cells + 1, 2), np.int32), np.empty((count, 3), np.int64)
    firsts = np.full(count, BY_FORMULA)
    for number in range(settings.simulations):
        if gumbel:
            first_actions(game, tree, roots.logits, noise, wanted[considered, number], settings.scale, firsts)
        else:
            firsts[roots.done] = IDLE
        waiting = select_each(game, tree, batch.own, batch.opp, firsts, params, paths, leaves)
        if waiting:
            reached = PositionBatch(game, leaves[:waiting, 1].copy(), leaves[:waiting, 2].copy())
            answer = evaluation(evaluator, reached, settings.tactics)
            backup_each(game, tree, paths, leaves[:waiting], *answer, params)
    actions, policies = roots.most_visited(noise) if gumbel else roots.by_visits()
    return Found(actions, policies, roots.values(policies))


@functools.lru_cache(maxsize=64)
def visits_wanted(considered: int, simulations: int) -> Ints:
    """For each number of actions, and each simulation, the visits that its action must have: sequential halving.

    The simulations are shared evenly among about log2 rounds. In each the actions that are left have equally many, and
    the better half is kept (Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits",
    2013).

    Returns:
        int64 (considered + 1, simulations).
    """
    table = np.zeros((considered + 1, simulations), np.int64)
    table[:2] = np.arange(simulations)
    for count in range(2, considered + 1):
        rounds, left, visits, order = (count - 1).bit_length(), count, 0, list[int]()
        while len(order) < simulations:
            for _ in range(max(1, simulations // (rounds * left))):
                order += [visits] * left
                visits += 1
            left = max(2, left // 2)
        table[count] = order[:simulations]
    return table


def evaluation(evaluator: Evaluator, batch: PositionBatch, tactics: bool) -> Evaluation:
    """The evaluator's answer, float32; with `tactics` as if it knew wins and losses at once."""
    found = evaluated(evaluator, batch)
    if tactics and batch.game.knows_wins:
        force(batch.game, batch.own, batch.opp, found.values, found.priors)
    return found


@kernel
def force(game: Game, own: Ints, opp: Ints, values: Any, priors: Any) -> None:
    """Corrects values and priors, float32 (B,) and (B, num_actions), of positions with a win or a block at once."""
    for i in range(len(own)):
        forced, certain = forced_choices(game, own[i], opp[i])
        if certain:
            values[i] = certain
        force_one(game, forced, priors[i])


@borrowing_kernel
def forced_choices(game: Game, own: int, opp: int) -> tuple[int, int]:
    """The actions that win at once, or else those that block such a win, a set of bits as of `Game.choice`; and the
    result that is certain then: 1, -1 if the other side has two such wins, else 0 for none.
    """
    seat = game.seat(own, opp)
    wins = game.winning_choices(own, opp, seat)
    if wins:
        return wins, 1
    blocks = game.winning_choices(opp, own, 1 - seat)
    return blocks, -1 if blocks & blocks - 1 else 0


@borrowing_kernel
def force_one(game: Game, forced: int, priors: Any) -> None:
    """Shares the priors among the forced actions, if there are any."""
    if forced:
        share = np.float32(1 / forced.bit_count())
        for action in range(game.num_actions):
            priors[action] = share if forced & game.choice(action) else 0
