"""Tree search written as plainly as possible, against which the compiled one is tested: dictionaries, no arrays.

It draws the same random numbers in the same order, and computes scores in the same precision. `ReferenceSearch` is UCT
with rollouts, `ReferencePUCT` the search with an evaluator's values and priors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tictac_agents.mcts.evaluators import Evaluation
from tictac_agents.mcts.mcts import MCTS
from tictac_agents.mcts.simulation import first_state, random_below, rollout
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import mix
from tictac_env.solver.enumerate import tabulate


@dataclass
class Node:
    """A position with statistics of its moves."""

    position: Position
    visits: dict[int, int] = field(default_factory=dict)
    sums: dict[int, float] = field(default_factory=dict)
    proven: dict[int, int] = field(default_factory=dict)
    children: dict[int, Node] = field(default_factory=dict)
    priors: dict[int, np.float32] = field(default_factory=dict)

    def outcome(self) -> int | None:
        """What is certain of the position."""
        known = [self.proven.get(action) for action in self.position.legal_actions]
        if 1 in known:
            return 1
        return None if None in known else max(value for value in known if value is not None)


class ReferenceSearch:
    """The search of an `MCTS` with one thread and no evaluator."""

    def __init__(self, agent: MCTS, position: Position, seed: int) -> None:
        self.agent = agent
        self.rollout = agent.settings.rollout
        self.root = Node(position)
        self.state = first_state(mix(mix(seed) ^ 0))
        assert agent.settings.simulations is not None
        for played in range(agent.settings.simulations):
            if agent.settings.solver and self.root.outcome() is not None:
                break
            self.play(self.root, played + 1)

    def play(self, node: Node, total: int) -> int:
        """Plays one game from a node; its value for the side to move there."""
        action = self.choose(node, total)
        visited = node.visits.get(action, 0)
        if action in node.proven:
            value = node.proven[action]
        else:
            after = node.position.play(action)
            if visited == 0 and after.is_over:
                value = node.proven[action] = -after.result
            elif visited == 0 and self.rollout != "stored":
                found, self.state = rollout(after.game, after.own, after.opp, self.rollout == "rule", self.state)
                value = -found
            else:
                child = node.children.setdefault(action, Node(after))
                value = -self.play(child, visited + 1)
                outcome = child.outcome()
                if self.agent.settings.solver and outcome is not None:
                    node.proven[action] = -outcome
        node.visits[action] = visited + 1
        node.sums[action] = node.sums.get(action, 0.0) + (value if value != 0 else self.agent.settings.draw)
        return value

    def choose(self, node: Node, total: int) -> int:
        """An unvisited action if there is one, else that of the highest UCB1."""
        legal = node.position.legal_actions
        unvisited = [action for action in legal if action not in node.visits]
        if unvisited:
            self.state, index = random_below(self.state, len(unvisited))
            return unvisited[index]
        factor = np.float32(np.float32(self.agent.settings.exploration**2) * np.float32(math.log(total)))
        scores = {}
        for action in legal:
            count = np.float32(node.visits[action])
            scores[action] = (np.float32(node.sums[action]) + np.sqrt(factor * count)) / count + np.float32(1)
        return max(legal, key=lambda action: (scores[action], -action))


class MadeUpEvaluator:
    """Values in [-1, 1] and priors that say nothing true, but differ from position to position.

    Values are multiples of 1/64, so that their sums are exact in whatever order they are added up.
    """

    priors = True

    def value(self, position: Position) -> float:
        return (mix(mix(position.own) ^ position.opp) % 129 - 64) / 64

    def weight(self, position: Position, action: int) -> int:
        return 1 + mix(mix(mix(position.own) ^ position.opp) ^ action) % 30

    def evaluate(self, batch: PositionBatch) -> Evaluation:
        positions = [batch[i] for i in range(len(batch))]
        weights = [[self.weight(position, a) for a in range(batch.game.num_actions)] for position in positions]
        return Evaluation(np.array([self.value(position) for position in positions]), np.array(weights))


class ExactEvaluator:
    """The exact values of games small enough to tabulate."""

    priors = False

    def evaluate(self, batch: PositionBatch) -> Evaluation:
        table = tabulate(batch.game)
        rows = [table.index[key] for key in zip(batch.own.tolist(), batch.opp.tolist(), strict=True)]
        return Evaluation(np.sign(table.score[rows]).astype(np.float32))


class ReferencePUCT:
    """The search of an `MCTS` with one thread and a `MadeUpEvaluator`, which is asked about `leaves` at a time."""

    def __init__(self, agent: MCTS, evaluator: MadeUpEvaluator, position: Position) -> None:
        self.agent, self.evaluator = agent, evaluator
        self.root = self.node(position)
        assert agent.settings.simulations is not None
        left = agent.settings.simulations
        while left and not self.is_proven():
            waiting = []
            for _ in range(min(agent.settings.leaves, left)):
                left -= 1
                path, leaf, proven = self.select()
                if proven is None:
                    waiting.append((path, leaf))
                    self.add_to_all(path, 1, -1)  # the virtual loss
                    continue
                self.add(path, proven)
                if self.agent.settings.solver:
                    self.prove(path)
                if self.is_proven():
                    break
            for path, leaf in waiting:
                self.add_to_all(path, -1, 1)
                self.add(path, -self.evaluator.value(leaf))
                node, action = path[-1]
                node.children.setdefault(action, self.node(leaf))

    def node(self, position: Position) -> Node:
        weights = {action: self.evaluator.weight(position, action) for action in position.legal_actions}
        total = np.float32(sum(weights.values()))
        return Node(position, priors={action: np.float32(weight) / total for action, weight in weights.items()})

    def is_proven(self) -> bool:
        return self.agent.settings.solver and self.root.outcome() is not None

    def select(self, first: int | None = None) -> tuple[list[tuple[Node, int]], Position, int | None]:
        """The moves to a leaf, the first of them chosen or given; the leaf; and its result for the side that played the
        last move if it is certain.
        """
        node, path, visits_of_node = self.root, [], 1 + sum(self.root.visits.values())
        while True:
            action = self.choose(node, visits_of_node) if first is None or path else first
            path.append((node, action))
            after = node.position.play(action)
            if after.is_over:
                node.proven[action] = -after.result
            if action in node.proven or action not in node.children:
                return path, after, node.proven.get(action)
            visits_of_node = node.visits[action] + 1
            node = node.children[action]

    def choose(self, node: Node, visits_of_node: int) -> int:
        """PUCT: mean + c * prior * sqrt(N) / (1 + n), the lowest action among equals."""
        factor = np.float32(self.agent.settings.exploration * math.sqrt(visits_of_node))
        scores = {}
        for action in node.position.legal_actions:
            visits = node.visits.get(action, 0)
            mean = np.float32(node.sums[action]) / np.float32(visits) if visits else np.float32(0)
            scores[action] = mean + factor * node.priors[action] / np.float32(1 + visits)
        return max(scores, key=lambda action: (scores[action], -action))

    def add(self, path: list[tuple[Node, int]], value: float) -> None:
        """Adds the result of the last move to all moves, turned around from ply to ply; a draw counts the same."""
        for node, action in reversed(path):
            node.visits[action] = node.visits.get(action, 0) + 1
            node.sums[action] = node.sums.get(action, 0.0) + (value or self.agent.settings.draw)
            value = -value

    def add_to_all(self, path: list[tuple[Node, int]], visits: int, value: float) -> None:
        for node, action in path:
            node.visits[action] = node.visits.get(action, 0) + visits
            node.sums[action] = node.sums.get(action, 0.0) + value

    def prove(self, path: list[tuple[Node, int]]) -> None:
        """Passes up what the certain result of the last move decides."""
        for (node, action), (child, _) in zip(path[-2::-1], path[:0:-1], strict=True):
            outcome = child.outcome()
            if outcome is None:
                return
            node.proven[action] = -outcome


def lines(node: Node, least: int, depth: int = 0) -> list[str]:
    """The tree as text, one line a move, moves of fewer than `least` visits left out."""
    found = []
    for action in node.position.legal_actions:
        visits = node.visits.get(action, 0)
        if visits >= least:
            certain = {1: " win", 0: " draw", -1: " loss"}.get(node.proven.get(action, 9), "")
            found.append(f"{'    ' * depth}{action + 1}: {visits} {node.sums[action]:+g}{certain}")
            if action in node.children:
                found += lines(node.children[action], least, depth + 1)
    return found
