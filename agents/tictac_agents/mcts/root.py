"""A search tree with the position at its root: grown, read, and followed into the game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts import uct
from tictac_agents.mcts.evaluators import Evaluator, checked
from tictac_agents.mcts.playouts import first_state
from tictac_agents.mcts.search_tree import ILLEGAL, OPEN, SearchTree, add_node, new_tree, transplant
from tictac_agents.mcts.uct import Rules
from tictac_env.position import Position, PositionBatch


class Statistics(NamedTuple):
    """What the trees of one position say together."""

    legal: tuple[int, ...]
    visits: npt.NDArray[np.int64]
    """(num_actions,)"""
    values: npt.NDArray[np.float64]
    """(num_actions,): the sums; 0 where an action was not visited."""
    proven: Mapping[int, int]
    """The actions of which something is certain: -1, 0 or 1."""
    outcome: int | None
    """What is certain of the position."""
    priors: npt.NDArray[np.float32] | None


@dataclass
class Root:
    """A tree, and where it stands.

    Attributes:
        position: the root's.
        tree: its root is node 0.
        state: of the randomness.
        waiting: the games that wait for an evaluator: their ways and ends.
    """

    position: Position
    tree: SearchTree
    state: int
    waiting: tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]] | None = None

    @classmethod
    def plant(cls, position: Position, capacity: int, seed: int, priors: bool) -> Root:
        """A tree of one node."""
        tree = new_tree(position.game, capacity, priors)
        add_node(position.game, tree, position.own, position.opp)
        if priors:
            tree.priors[0] = 0
        return cls(position, tree, first_state(seed))

    def __len__(self) -> int:
        return int(self.tree.size[0])

    @property
    def games(self) -> int:
        """How many games went into the tree."""
        return int(self.tree.visits[0].sum())

    @property
    def outcome(self) -> int | None:
        """What is certain of the root's position, None if nothing is."""
        return outcome_of(self.tree.proven[0].tolist())

    def simulate(self, simulations: int, rules: Rules) -> int:
        """Grows the tree by so many games, fewer if it is proven, and says by how many."""
        at = self.position
        played, self.state = uct.simulate(at.game, self.tree, at.own, at.opp, simulations, rules, self.state)
        return played

    def collect(self, games: int, rules: Rules) -> int:
        """Plays so many games as far as the tree goes; `deliver` ends those that then wait. Says how many it played."""
        at = self.position
        paths, leaves = np.empty((games, at.game.cells + 1, 2), np.int32), np.empty((games, 3), np.int64)
        played, waiting, self.state = uct.collect(
            at.game, self.tree, at.own, at.opp, games, rules, self.state, paths, leaves
        )
        self.waiting = paths[:waiting], leaves[:waiting]
        return played

    @staticmethod
    def deliver(roots: Sequence[Root], evaluator: Evaluator, rules: Rules) -> None:
        """Has all waiting games of these trees evaluated together, and ends them."""
        ends = [(root, path, leaf) for root in roots if root.waiting for path, leaf in zip(*root.waiting, strict=True)]
        if not ends:
            return
        game = ends[0][0].position.game
        leaves = np.array([leaf for _, _, leaf in ends])
        batch = PositionBatch(game, leaves[:, 1], leaves[:, 2])
        found = checked(evaluator.evaluate(batch), batch, evaluator.priors, type(evaluator).__name__)
        none = np.zeros(0, np.float32)
        for i, (root, path, leaf) in enumerate(ends):
            priors = none if found.priors is None else np.asarray(found.priors[i], np.float32)
            uct.deliver(game, root.tree, path, leaf, float(found.values[i]), priors, rules)

    @staticmethod
    def ask_priors(roots: Sequence[Root], evaluator: Evaluator) -> None:
        """Gives each root its priors."""
        if not evaluator.priors:
            return
        batch = PositionBatch.of([root.position for root in roots])
        found = checked(evaluator.evaluate(batch), batch, True, type(evaluator).__name__)
        for root, priors in zip(roots, found.priors if found.priors is not None else (), strict=True):
            root.tree.priors[0, : len(priors)] = priors

    def follow(self, position: Position, capacity: int, seed: int) -> Root | None:
        """The part of the tree below a position at most two plies on, as a tree of its own; None if it has none."""
        node = self._find(position, 0, self.position.own, self.position.opp, 2)
        if node is None or capacity < 1:
            return None
        fresh = new_tree(position.game, capacity, len(self.tree.priors) > 0)
        transplant(self.tree, node, fresh)
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

    def variation(self, action: int, solver: bool) -> tuple[int, ...]:
        """The moves that both sides prefer, beginning with `action`."""
        position, node, line = self.position, 0, [action]
        while node := int(self.tree.children[node, line[-1]]):
            position = position.play(line[-1])
            below = statistics(self.tree, node, solver)
            if not below.visits.any():
                break
            line.append(chosen_action(below, "visits"))
        return tuple(line)


def statistics(tree: SearchTree, node: int, solver: bool) -> Statistics:
    """What a node says; nothing counts as certain unless `solver`."""
    count = len(tree.choices)
    certain = tree.proven[node, :count].tolist()
    legal = tuple(action for action, known in enumerate(certain) if known != ILLEGAL)
    proven = {action: certain[action] for action in legal if certain[action] != OPEN} if solver else {}
    visits = tree.visits[node, :count].astype(np.int64)
    values = np.where(visits > 0, tree.values[node, :count], 0).astype(np.float64)
    priors = tree.priors[node, :count] if len(tree.priors) else None
    return Statistics(legal, visits, values, proven, outcome_of(certain) if solver else None, priors)


def merged(roots: Sequence[Root], solver: bool) -> Statistics:
    """What the trees of one position say together: visits and values are added up, what one has proven is proven."""
    every = [statistics(root.tree, 0, solver) for root in roots]
    first = every[0]
    if len(every) == 1:
        return first
    proven = {action: known for one in every for action, known in one.proven.items()}
    known = [proven.get(action, OPEN) for action in first.legal]
    return Statistics(
        first.legal,
        np.sum([one.visits for one in every], axis=0),
        np.sum([one.values for one in every], axis=0),
        proven,
        outcome_of(known) if solver else None,
        first.priors,
    )


def outcome_of(certain: Sequence[int]) -> int | None:
    """What is certain of a position by what is certain of its actions, as in `SearchTree.proven`."""
    if 1 in certain:
        return 1
    return None if OPEN in certain else max(known for known in certain if known != ILLEGAL)


def chosen_action(found: Statistics, by: str) -> int:
    """A proven win if there is one, else the best of the actions that are not proven losses, the lowest among equals.

    Best is most visited, or of the highest mean (`by` "visits" or "value").
    """
    wins = [action for action in found.legal if found.proven.get(action) == 1]
    safe = [action for action in found.legal if found.proven.get(action) != -1]
    score = found.visits if by == "visits" else found.values / np.maximum(found.visits, 1) - 2 * (found.visits == 0)
    return max(wins or safe or found.legal, key=lambda action: (score[action], -action))
