"""The search of AlphaZero: a forest of trees for many positions, whose leaves are evaluated together.

The trees share the arrays of one `SearchTree`: their roots are its nodes 0 to B - 1. In each round every tree begins a
simulation, the evaluator gets the leaves of all of them, and the simulations end.
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
from tictac_agents.settings import Settings, setting
from tictac_env.compiled import borrowing_kernel, kernel
from tictac_env.games import Game
from tictac_env.position_batch import PositionBatch

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
IDLE = -2
"""In place of a first action: there is no simulation, as the root is proven."""
MOST_SIMULATIONS = 4096
"""The most simulations of a search."""
MAXVISIT = 50.0
"""A constant of the paper's sigma: (50 + the most visits of an action) * scale * value."""


@dataclass(frozen=True, kw_only=True)
class SearchSettings(Settings):
    """The settings of a search."""

    root: str = setting("gumbel", 'the choice of the first action, "gumbel" or "puct"', choices=("gumbel", "puct"))
    considered: int = setting(
        16, 'of "gumbel": the actions that sequential halving begins with, at most', 1, MOST_SIMULATIONS
    )
    scale: float = setting(0.5, 'of "gumbel": the weight of values against logits', 0, 100)
    exploration: float = setting(1.25, "the constant of PUCT", 0, 1e6)
    noise: float = setting(
        0.25,
        'of "puct": the part of the priors at the root that is Dirichlet noise, with alpha 10 / legal actions',
        0,
        1,
    )
    tactics: bool = setting(True, "True if wins and blocks at once are played without a search")


class SearchResults(NamedTuple):
    """The results of B searches.

    Attributes:
        actions: int64 (B,): the action to play.
        policies: float64 (B, num_actions): the improved policy, the target of a network's policy.
        values: float64 (B,): the value of each position by its search, for the side to move.
    """

    actions: Ints
    policies: Floats
    values: Floats


@kernel
def set_roots(game: Game, tree: SearchTree, own: Ints, opp: Ints) -> None:
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
    """Begins a simulation from each root, with the given first actions. Proven results are backed up at once.

    Returns:
        The number of those that wait for an evaluation: their `paths` and `leaves` are filled as by
        `simulation.select_leaves`.
    """
    # A tree has one simulation at a time, so its virtual loss diverts no other; but `backup_leaf` takes it back.
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
    game: Game, tree: SearchTree, logits: Floats, noise: Floats, levels: Ints, scale: float, firsts: Ints
) -> None:
    """Fills in the first action of the next simulation from each root (sequential halving).

    Of the actions with as many visits as `levels`, int64 (B,), says, it is the one of the highest noise + logit +
    sigma(value); for a root that is proven it is `IDLE`.
    """
    # `visit_levels` says how many visits the next action has already. So the halving needs no list of the actions that
    # are left: the worse half simply stays at a lower number of visits.
    for i in range(len(firsts)):
        # Is the root proven? A win decides it, or the results of all actions.
        won, most, unproven = False, 0, False
        for action in range(game.num_actions):
            proven = tree.proven[i, action]
            if proven != ILLEGAL_ACTION:
                won |= proven == 1
                unproven |= proven == UNPROVEN
                most = max(most, tree.visits[i, action])
        firsts[i] = IDLE
        if won or not unproven:
            continue
        # sigma grows with the visits, so that values outweigh noise and logits the better they are known.
        sigma = (MAXVISIT + most) * scale
        highest = -np.inf
        for action in range(game.num_actions):
            proven = tree.proven[i, action]
            visits = tree.visits[i, action]
            if proven == ILLEGAL_ACTION or visits != levels[i]:
                continue
            score = noise[i, action] + logits[i, action]
            if visits:  # actions without visits all have the same value
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
    """Ends the simulations that wait: values (W,) and priors (W, num_actions) are those of the `leaves` (W, 3)."""
    for row in range(len(leaves)):
        backup_leaf(game, tree, paths[row], leaves[row], values[row], priors[row], params)


class Roots:
    """The roots of a forest, nodes 0 to B - 1, with the statistics of their actions.

    Args:
        tree: the forest.
        evaluation: the evaluator's answer for the roots.
        scale: the weight of values against logits.

    Attributes:
        legal: bool (B, num_actions).
        visits, proven, priors: views of the tree's arrays, (B, num_actions).
        logits: float64 (B, num_actions), of the evaluator's priors.
    """

    def __init__(self, tree: SearchTree, evaluation: Evaluation, scale: float) -> None:
        # Views of the first rows: the search changes them, and the properties below see it.
        count, actions = len(evaluation.values), len(tree.action_bits)
        self.visits, self.proven = tree.visits[:count, :actions], tree.proven[:count, :actions]
        self._sums = tree.value_sums[:count, :actions]
        self.legal = self.proven != ILLEGAL_ACTION
        tree.priors[:count, actions:] = 0
        self.priors = tree.priors[:count, :actions]
        self.priors[:] = evaluation.priors
        # A softmax of these logits is the priors again, so the evaluator need not give logits.
        self.logits = np.log(np.maximum(self.priors, 1e-9).astype(np.float64))
        self._values, self._scale = evaluation.values.astype(np.float64), scale

    @property
    def done(self) -> npt.NDArray[np.bool_]:
        """True for each root whose result is proven: an action wins, or all actions are proven."""
        done: npt.NDArray[np.bool_] = (self.proven == 1).any(axis=1) | (self.proven != UNPROVEN).all(axis=1)
        return done

    def completed(self) -> Floats:
        """The value of each action: proven, the mean of its simulations, or without any the mixed value of the root.

        The mixed value is a mean of the evaluator's value and the values of the visited actions, these weighted by
        their priors (Danihelka et al., 2022, appendix D).
        """
        # The values of the actions that have one: float64 (B, num_actions).
        proven = (self.proven != UNPROVEN) & self.legal
        visited = (self.visits > 0) & self.legal
        means = np.where(proven, self.proven, np.where(visited, self._sums, 0) / np.maximum(self.visits, 1))
        # The mixed value (B,): N visits weigh N times as much as the evaluator's own value. Without visited actions it
        # is the evaluator's value alone.
        weights = np.where(visited, self.priors, 0).astype(np.float64)
        total, count = weights.sum(axis=1), self.visits.sum(axis=1)
        mean = np.where(total > 0, (weights * means).sum(axis=1) / np.maximum(total, 1e-12), self._values)
        mixed = (self._values + count * mean) / (1 + count)
        return np.where(visited | proven, means, mixed[:, None])

    def improved(self) -> Floats:
        """Logit + sigma(value) of each action, -inf if illegal; its softmax is the improved policy."""
        sigma = (MAXVISIT + self.visits.max(axis=1, keepdims=True)) * self._scale
        return np.where(self.legal, self.logits + sigma * self.completed(), -np.inf)

    def values(self, policies: Floats) -> Floats:
        """The value of each position: the proven one, or the expectation under a policy."""
        # A proven root has the best of its proven results; illegal and unproven actions count as a loss here.
        proven = np.where(self.legal & (self.proven != UNPROVEN), self.proven, -1).max(axis=1)
        expected: Floats = (policies * np.where(self.legal, self.completed(), 0)).sum(axis=1)
        return np.where(self.done, proven, expected)

    def most_visited(self, noise: Floats) -> tuple[Ints, Floats]:
        """The action of the most visits, and the improved policies.

        Proven wins come before all other actions and proven losses after them; among equals the action is the one of
        the highest noise + logit + sigma(value).
        """
        # The softmax of the improved logits; the highest is subtracted so that no power overflows.
        improved = self.improved()
        policies = np.exp(improved - improved.max(axis=1, keepdims=True))
        # The rank: a win above any number of visits, a loss below no visit, an illegal action last. The survivors of
        # the last round of sequential halving have equally many visits, so the score decides between them.
        order = np.where(self.proven == 1, 1 << 20, np.where(self.proven == -1, -1, self.visits))
        order = np.where(self.legal, order, -2)
        best = order == order.max(axis=1, keepdims=True)
        actions = np.where(best, noise + improved, -np.inf).argmax(axis=1)
        return actions, policies / policies.sum(axis=1, keepdims=True)

    def by_visits(self) -> tuple[Ints, Floats]:
        """The action of the most visits, proven wins before and proven losses after all others; and visit shares."""
        # A proven loss keeps a millionth of its visits, and the priors, a billionth, decide if no action has any.
        counts = np.where(self.proven == 1, 1e9, np.where(self.proven == -1, 1e-6, 1) * self.visits)
        counts = np.where(self.legal, counts + 1e-9 * self.priors, 0)
        return counts.argmax(axis=1), counts / counts.sum(axis=1, keepdims=True)


def search_forest(
    batch: PositionBatch,
    evaluator: Evaluator,
    settings: SearchSettings,
    simulations: int,
    rng: np.random.Generator | None,
) -> SearchResults:
    """Searches from each of B unfinished positions.

    Args:
        batch: the positions.
        evaluator: gives values and priors, as `evaluators.evaluated` needs them.
        settings: the settings of the search.
        simulations: the number from each root; fewer if it is proven.
        rng: draws the noise at the roots: Gumbel's, or Dirichlet's for PUCT. None for no noise.
    """
    # Grow: a root for each position, with the evaluator's priors. Each simulation adds at most one node.
    game, count = batch.game, len(batch)
    params = SearchParams(exploration=float(settings.exploration), draw=0.0, solver=True, stored=False)
    tree = new_tree(game, count * (simulations + 1), priors=True)
    set_roots(game, tree, batch.own, batch.opp)
    roots = Roots(tree, evaluation(evaluator, batch, settings.tactics), settings.scale)
    # Noise: the k actions of the highest Gumbel + logit are a sample without replacement by the policy, those that
    # sequential halving begins with. PUCT mixes Dirichlet noise (normalised gamma variates) into the priors.
    gumbel, noise = settings.root == "gumbel", np.zeros(roots.logits.shape)
    if rng is not None and gumbel:
        noise = rng.gumbel(size=noise.shape)
    elif rng is not None:
        drawn = rng.standard_gamma(10 / roots.legal.sum(axis=1, keepdims=True), noise.shape) * roots.legal
        drawn /= drawn.sum(axis=1, keepdims=True)
        roots.priors[:] = (1 - settings.noise) * roots.priors + settings.noise * drawn
    # Each root has its own plan of halving, by the number of its legal actions.
    levels = visit_levels(min(settings.considered, game.num_actions), simulations)
    considered = np.minimum(roots.legal.sum(axis=1), len(levels) - 1)
    paths, leaves = np.empty((count, game.cells + 1, 2), np.int32), np.empty((count, 3), np.int64)
    firsts = np.full(count, BY_FORMULA)
    for number in range(simulations):
        # Select: at the roots by sequential halving or PUCT, below them by PUCT.
        if gumbel:
            first_actions(game, tree, roots.logits, noise, levels[considered, number], settings.scale, firsts)
        else:
            firsts[roots.done] = IDLE
        waiting = select_each(game, tree, batch.own, batch.opp, firsts, params, paths, leaves)
        # Evaluate the leaves of all trees together, expand them and back their values up.
        if waiting:
            reached = PositionBatch(game, leaves[:waiting, 1].copy(), leaves[:waiting, 2].copy())
            answer = evaluation(evaluator, reached, settings.tactics)
            backup_each(game, tree, paths, leaves[:waiting], *answer, params)
    actions, policies = roots.most_visited(noise) if gumbel else roots.by_visits()
    return SearchResults(actions, policies, roots.values(policies))


@functools.lru_cache(maxsize=64)
def visit_levels(considered: int, simulations: int) -> Ints:
    """The visits that the action of each simulation has before it, by the number of actions: sequential halving.

    The simulations are shared evenly among about log2(actions) rounds. In each round the actions that are left get
    equally many simulations, and the better half is kept (Karnin, Koren and Somekh, "Almost optimal exploration in
    multi-armed bandits", 2013).

    Returns:
        int64 (considered + 1, simulations).
    """
    # Four actions, 16 simulations, two rounds:
    #
    #     simulation   0 1 2 3   4 5 6 7   8 9   10 11   12 13   14 15
    #     visits       0 0 0 0   1 1 1 1   2 2    3  3    4  4    5  5
    #                  four actions        the two of the highest score
    #
    # An action that gets a simulation leaves its level. So within a level each action comes once, the best first, and
    # at level 2 only the best two have a turn.
    table = np.zeros((considered + 1, simulations), np.int64)
    # One action gets all simulations.
    table[:2] = np.arange(simulations)
    for count in range(2, considered + 1):
        rounds, left, visits, order = (count - 1).bit_length(), count, 0, list[int]()
        while len(order) < simulations:
            # A round: each of the actions left gets the same number of simulations, at least one.
            for _ in range(max(1, simulations // (rounds * left))):
                order += [visits] * left
                visits += 1
            left = max(2, left // 2)
        table[count] = order[:simulations]
    return table


def evaluation(evaluator: Evaluator, batch: PositionBatch, tactics: bool) -> Evaluation:
    """The evaluator's answer, float32; with `tactics` corrected by the one-move rule."""
    answer = evaluated(evaluator, batch)
    if tactics and batch.game.knows_wins:
        force(batch.game, batch.own, batch.opp, answer.values, answer.priors)
    return answer


@kernel
def force(game: Game, own: Ints, opp: Ints, values: Any, priors: Any) -> None:
    """Corrects values and priors, float32 (B,) and (B, num_actions), of positions with a win or a block at once."""
    for i in range(len(own)):
        forced, result = forced_choices(game, own[i], opp[i])
        if result:
            values[i] = result
        force_one(game, forced, priors[i])


@borrowing_kernel
def forced_choices(game: Game, own: int, opp: int) -> tuple[int, int]:
    """The actions that win at once, or else those that block such a win; and the result if that decides the game.

    Returns:
        The actions, a set of `Game.choice` bits; and 1 for a win, -1 if the other side has two wins, else 0.
    """
    seat = game.seat(own, opp)
    wins = game.winning_choices(own, opp, seat)
    if wins:
        return wins, 1
    # x & (x - 1) is not 0 if x has two bits or more: only one of two wins can be blocked.
    blocks = game.winning_choices(opp, own, 1 - seat)
    return blocks, -1 if blocks & blocks - 1 else 0


@borrowing_kernel
def force_one(game: Game, forced: int, priors: Any) -> None:
    """Gives the forced actions equal priors and all others 0, if there are forced actions."""
    if forced:
        share = np.float32(1 / forced.bit_count())
        for action in range(game.num_actions):
            priors[action] = share if forced & game.choice(action) else 0
