"""Tree search written as plainly as possible, against which the compiled one is tested: dictionaries and recursion.

It draws the same random numbers in the same order, and computes scores in the same precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tictac_agents.mcts.mcts import MCTS, ROLLOUTS
from tictac_agents.mcts.rollouts import first_state, random_below, rollout
from tictac_agents.mcts.simulation import ROLLOUT_BY_RULE, ROLLOUT_STORED
from tictac_env.position import Position
from tictac_env.rng import mix


@dataclass
class Node:
    """A position with statistics of its moves."""

    position: Position
    visits: dict[int, int] = field(default_factory=dict)
    sums: dict[int, float] = field(default_factory=dict)
    proven: dict[int, int] = field(default_factory=dict)
    children: dict[int, Node] = field(default_factory=dict)

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
        self.rollout = ROLLOUTS[agent.rollout]
        self.root = Node(position)
        self.state = first_state(mix(mix(seed) ^ 0))
        assert agent.simulations is not None
        for played in range(agent.simulations):
            if agent.solver and self.root.outcome() is not None:
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
            elif visited == 0 and self.rollout != ROLLOUT_STORED:
                found, self.state = rollout(
                    after.game, after.own, after.opp, self.rollout == ROLLOUT_BY_RULE, self.state
                )
                value = -found
            else:
                child = node.children.setdefault(action, Node(after))
                value = -self.play(child, visited + 1)
                outcome = child.outcome()
                if self.agent.solver and outcome is not None:
                    node.proven[action] = -outcome
        node.visits[action] = visited + 1
        node.sums[action] = node.sums.get(action, 0.0) + (value if value != 0 else self.agent.draw)
        return value

    def choose(self, node: Node, total: int) -> int:
        """An unvisited action if there is one, else that of the highest UCB1."""
        legal = node.position.legal_actions
        unvisited = [action for action in legal if action not in node.visits]
        if unvisited:
            self.state, index = random_below(self.state, len(unvisited))
            return unvisited[index]
        factor = np.float32(np.float32(self.agent.exploration**2) * np.float32(math.log(total)))
        scores = {}
        for action in legal:
            count = np.float32(node.visits[action])
            scores[action] = (np.float32(node.sums[action]) + np.sqrt(factor * count)) / count + np.float32(1)
        return max(legal, key=lambda action: (scores[action], -action))


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
