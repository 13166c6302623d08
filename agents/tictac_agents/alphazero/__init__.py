"""AlphaZero. Begin with `alphazero.py`, then `samples.py` and `forest.py`.

- `alphazero.py`: the agent `AlphaZero`: its settings, its runs and its file.
- `samples.py`: games of a network against itself, and what is learned from them.
- `forest.py`: its search, of many positions at once, with the trees of `mcts/simulation.py`.
- `policy_value.py`: its network of n-tuples; the other one is `deep/residual.py`.
"""

COMPILED_AS = "AlphaZero"
