"""What an agent thinks of each move, whatever agent it is: values of tables and networks, visits of tree search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tictac_agents.mcts.mcts import MCTS
from tictac_agents.ntuple.network import NTupleNetwork
from tictac_agents.ntuple.ntuple_td import NTupleTD
from tictac_agents.planning.dynamic_programming import DynamicProgramming
from tictac_agents.published.ariel_tree import GameTree
from tictac_agents.tabular.table_learner import TableLearner
from tictac_agents.value_display import move_values
from tictac_env.policies import ModelPolicy, Policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

NETWORK = "the network's values"


@dataclass(frozen=True)
class Thought:
    """What an agent thinks of one legal action."""

    action: int
    value: float | None = None
    """What it is worth to the side to move, on the agent's own scale: mostly 1 for a win and -1 for a loss."""
    visits: int | None = None
    """How many simulations played it."""
    proven: int | None = None
    """1 for a proven win, 0 for a draw, -1 for a loss, where tree search has proven it."""
    chance: float | None = None
    """How likely it is to be played."""


@dataclass(frozen=True)
class Explanation:
    """What an agent thinks of a position.

    Attributes:
        kind: "visits" of tree search, "values", or "chances".
        text: what the numbers are, in a few words.
        thoughts: of each legal action, in ascending order.
    """

    kind: str
    text: str
    thoughts: tuple[Thought, ...]


def explain(policy: Policy, position: Position, seed: int = 0) -> Explanation | None:
    """What a policy thinks of each legal action of an unfinished position; None where it cannot say.

    Args:
        policy: any policy; those of this package can say.
        position: unfinished.
        seed: of a search, in [0, 2**63): with the seed it plays with, the numbers are those behind that move.

    Raises:
        ValueError: the position is over, or of another game than the policy has learned.

    Example:
        >>> from tictac_agents import QLearning
        >>> agent = QLearning.preset("self-play", seed=0).learn(total_episodes=2_000)
        >>> [round(thought.value, 2) for thought in explain(agent, Position.from_moves("TicTacToe-v0", "152")).thoughts]
        [0.0, -0.88, -0.99, -0.96, -0.96, -0.72]
    """
    if isinstance(policy, MCTS):
        return _search(policy, position, seed)
    agent: Any = policy.model if isinstance(policy, ModelPolicy) else policy
    networks = NTupleNetwork, NTupleTD
    if isinstance(agent, (TableLearner, GameTree, DynamicProgramming, *networks)):
        found = move_values(agent, position)
        text = NETWORK if isinstance(agent, networks) else "its values"
        return _valued(position, [found.get(action) for action in range(position.game.num_actions)], text)
    if hasattr(agent, "values_many"):  # FittedQ, and below S2Network: to know their classes takes torch
        return _valued(position, agent.values_many(PositionBatch.of([position]), position.seat)[0].tolist(), NETWORK)
    if hasattr(agent, "layers"):
        return _valued(position, agent.values(position).tolist(), NETWORK)
    return _network(agent, position) if hasattr(agent, "scores_many") or hasattr(agent, "policy") else None


def _search(agent: MCTS, position: Position, seed: int) -> Explanation:
    report = agent.search(position, seed)
    thoughts = tuple(
        Thought(move.action, move.value if move.visits else None, move.visits, move.proven) for move in report.moves
    )
    return Explanation("visits", f"visits and mean results of {report.simulations:,} simulations", thoughts)


def _network(agent: Any, position: Position) -> Explanation:
    from tictac_agents.deep.callbacks import Snapshot

    copy = agent if isinstance(agent, Snapshot) else Snapshot(agent)
    scores = copy.scores_many(PositionBatch.of([position]))[0]
    if copy.gives_values:
        return _valued(position, scores.tolist(), NETWORK)
    legal = list(position.legal_actions)
    chances = np.exp(scores[legal] - scores[legal].max())
    shares = (chances / chances.sum()).tolist()
    thoughts = (Thought(action, chance=share) for action, share in zip(legal, shares, strict=True))
    return Explanation("chances", "how likely the network holds each move", tuple(thoughts))


def _valued(position: Position, values: list[Any], text: str) -> Explanation:
    return Explanation("values", text, tuple(Thought(action, values[action]) for action in position.legal_actions))
