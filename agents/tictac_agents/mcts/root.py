"""A search tree with the position at its root: grown, read, and kept for the next position of the game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts import simulation
from tictac_agents.mcts.evaluators import Evaluator, checked
from tictac_agents.mcts.simulation import (
    ILLEGAL_ACTION,
    UNPROVEN,
    Leaves,
    SearchParams,
    SearchTree,
    add_node,
    copy_subtree,
    first_state,
    new_tree,
)
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch


@dataclass
class Root:
    """A tree and the position at its root. Make one with `new_root`.

    Attributes:
        position: the root's.
        tree: its root is node 0.
        state: of the randomness.
        waiting: the simulations that wait for an evaluator: their paths, int32 (n, cells + 1, 2), and leaves, int64
            (n, 3), as `simulation.select_leaves` fills them.
    """

    position: Position
    tree: SearchTree
    state: int
    waiting: tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]] | None = None

    def __len__(self) -> int:
        """How many nodes the tree has."""
        return int(self.tree.size[0])

    @property
    def simulations(self) -> int:
        """How many simulations the tree has seen."""
        return int(self.tree.visits[0].sum())

    @property
    def proven(self) -> int | None:
        """The result of the root's position if it is proven, else None."""
        return best_proven(self.tree.proven[0].tolist())

    def simulate(self, simulations: int, params: SearchParams, leaves: Leaves) -> int:
        """Runs `simulations`, fewer if the root is proven, and returns how many."""
        root = self.position
        done, self.state = simulation.simulate(
            root.game, self.tree, root.own, root.opp, simulations, params, leaves, self.state
        )
        return done

    def select_leaves(self, wanted: int, params: SearchParams) -> int:
        """Begins `wanted` simulations, fewer if the root is proven, and returns how many; `backup_leaves` ends them."""
        root = self.position
        paths, leaves = np.empty((wanted, root.game.cells + 1, 2), np.int32), np.empty((wanted, 3), np.int64)
        begun, waiting, self.state = simulation.select_leaves(
            root.game, self.tree, root.own, root.opp, wanted, params, self.state, paths, leaves
        )
        self.waiting = paths[:waiting], leaves[:waiting]
        return begun

    def reroot(self, position: Position, capacity: int, seed: int) -> Root | None:
        """The subtree of a position at most two plies on, as a tree of its own; None if the position has no node."""
        node = self._find(position, 0, self.position.own, self.position.opp, 2)
        if node is None or capacity < 1:
            return None
        fresh = new_tree(position.game, capacity, len(self.tree.priors) > 0)
        copy_subtree(self.tree, node, fresh)
        return Root(position, fresh, first_state(seed))

    def _find(self, position: Position, node: int, own: int, opp: int, plies: int) -> int | None:
        if (own, opp) == (position.own, position.opp) and position.game == self.position.game:
            return node
        if plies == 0 or position.game != self.position.game:
            return None
        for action in range(position.game.num_actions):
            child = int(self.tree.children[node, action])
            if child:
                found = self._find(position, child, *position.game.play(own, opp, action), plies - 1)
                if found is not None:
                    return found
        return None

    def principal_variation(self, action: int, solver: bool) -> tuple[int, ...]:
        """The moves that both sides prefer, beginning with `action`."""
        node, line = 0, [action]
        while node := int(self.tree.children[node, line[-1]]):
            statistics = node_statistics(self.tree, node, solver)
            if not statistics.visits.any():
                break
            line.append(best_action(statistics, "visits"))
        return tuple(line)


def new_root(position: Position, capacity: int, seed: int, priors: bool) -> Root:
    """A tree of one node, with room for `capacity`; `priors` says whether an evaluator will give any."""
    tree = new_tree(position.game, capacity, priors)
    add_node(position.game, tree, position.own, position.opp)
    if priors:
        tree.priors[0] = 0
    return Root(position, tree, first_state(seed))


def set_priors(roots: Sequence[Root], evaluator: Evaluator) -> None:
    """Gives each root the evaluator's priors, if it has any."""
    if not evaluator.priors:
        return
    batch = PositionBatch.of([root.position for root in roots])
    found = checked(evaluator.evaluate(batch), batch, True, type(evaluator).__name__)
    for root, priors in zip(roots, found.priors if found.priors is not None else (), strict=True):
        root.tree.priors[0, : len(priors)] = priors


def backup_leaves(roots: Sequence[Root], evaluator: Evaluator, params: SearchParams) -> None:
    """Evaluates all leaves that wait in these trees together, and ends their simulations."""
    waiting = [(root, path, leaf) for root in roots if root.waiting for path, leaf in zip(*root.waiting, strict=True)]
    if not waiting:
        return
    game = waiting[0][0].position.game
    leaves = np.array([leaf for _, _, leaf in waiting])
    batch = PositionBatch(game, leaves[:, 1], leaves[:, 2])
    found = checked(evaluator.evaluate(batch), batch, evaluator.priors, type(evaluator).__name__)
    none = np.zeros(0, np.float32)
    for i, (root, path, leaf) in enumerate(waiting):
        priors = none if found.priors is None else np.asarray(found.priors[i], np.float32)
        simulation.backup_leaf(game, root.tree, path, leaf, float(found.values[i]), priors, params)


class Statistics(NamedTuple):
    """What a search found out about a position, by one tree or several."""

    legal: tuple[int, ...]
    """The legal actions, ascending."""
    visits: npt.NDArray[np.int64]
    """(num_actions,): how often each was played."""
    value_sums: npt.NDArray[np.float64]
    """(num_actions,): the sums of the results that followed; 0 where an action was not visited."""
    proven_actions: Mapping[int, int]
    """The certain results, -1, 0 or 1, by action."""
    proven: int | None
    """The certain result of the position, None if it is not proven."""
    priors: npt.NDArray[np.float32] | None
    """(num_actions,): an evaluator's probabilities of the actions, None without them."""


def node_statistics(tree: SearchTree, node: int, solver: bool) -> Statistics:
    """The statistics of a node; nothing counts as proven unless `solver`."""
    count = len(tree.action_bits)
    results = tree.proven[node, :count].tolist()
    visits = tree.visits[node, :count].astype(np.int64)
    legal = tuple(action for action, result in enumerate(results) if result != ILLEGAL_ACTION)
    return Statistics(
        legal=legal,
        visits=visits,
        value_sums=np.where(visits > 0, tree.value_sums[node, :count], 0).astype(np.float64),
        proven_actions={a: results[a] for a in legal if results[a] != UNPROVEN} if solver else {},
        proven=best_proven(results) if solver else None,
        priors=tree.priors[node, :count] if len(tree.priors) else None,
    )


def root_statistics(roots: Sequence[Root], solver: bool) -> Statistics:
    """The statistics of all trees of one position: visits and values are added up, what one has proven is proven."""
    each = [node_statistics(root.tree, 0, solver) for root in roots]
    first = each[0]
    if len(each) == 1:
        return first
    proven_actions = {action: result for one in each for action, result in one.proven_actions.items()}
    results = [proven_actions.get(action, UNPROVEN) for action in first.legal]
    return Statistics(
        legal=first.legal,
        visits=np.sum([one.visits for one in each], axis=0),
        value_sums=np.sum([one.value_sums for one in each], axis=0),
        proven_actions=proven_actions,
        proven=best_proven(results) if solver else None,
        priors=first.priors,
    )


def best_proven(results: Sequence[int]) -> int | None:
    """The certain result of a position by those of its actions, as in `SearchTree.proven`; None if it is not proven."""
    if 1 in results:
        return 1
    return None if UNPROVEN in results else max(result for result in results if result != ILLEGAL_ACTION)


def best_action(found: Statistics, by: str) -> int:
    """A proven win if there is one, else the best of the actions that are not proven losses, the lowest among equals.

    Best is most visited, or of the highest mean (`by` "visits" or "value").
    """
    wins = [action for action in found.legal if found.proven_actions.get(action) == 1]
    safe = [action for action in found.legal if found.proven_actions.get(action) != -1]
    scores = found.visits
    if by == "value":
        scores = found.value_sums / np.maximum(found.visits, 1) - 2 * (found.visits == 0)
    return max(wins or safe or found.legal, key=lambda action: (scores[action], -action))
