"""AlphaZero. Begin with `alphazero.py`, then `self_play.py`.

- `alphazero.py`: the agent `AlphaZero`: its settings, its runs and its file.
- `self_play.py`: games of a network against itself, and what is learned from them.

The search is `mcts/forest.py`; the networks are `ntuple/policy_value.py` and `deep/residual.py`.
"""
