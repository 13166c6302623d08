"""Monte Carlo tree search."""

from tictac_agents.mcts.mcts import MCTS

__all__ = ["MCTS"]
