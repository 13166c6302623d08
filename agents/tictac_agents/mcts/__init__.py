"""Monte Carlo tree search. Begin with `mcts.py`, then `simulation.py`.

- `mcts.py`: the agent `MCTS`, its settings and the presets S2 and S4.
- `simulation.py`: select a leaf, expand the tree, evaluate the leaf, back its value up.
- `selection.py`, `rollouts.py`, `evaluators.py`: the parts of a simulation: UCT and PUCT, games played out, and values
  and priors from elsewhere.
- `search_tree.py`, `root.py`: the tree in flat arrays, and the tree with the position at its root.
- `report.py`: what a search found, as data and as text.
- `game_tree.py`, `seat_tree.py`: `GameTree`, S4's tree that is kept from game to game and grows by self-play.
"""

from tictac_agents.mcts.mcts import MCTS

__all__ = ["MCTS"]

COMPILED_AS = "tree search"
