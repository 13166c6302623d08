"""Monte Carlo tree search. Begin with `mcts.py`, then `simulation.py`.

- `mcts.py`: the agent `MCTS`, its settings, presets and reports, and the trees that it grows.
- `simulation.py`: select a leaf, expand the tree, evaluate the leaf, back its value up; the tree in flat arrays.
- `evaluators.py`: values and priors from elsewhere.
"""

from tictac_agents.mcts.mcts import MCTS

__all__ = ["MCTS"]

COMPILED_AS = "tree search"
