"""Planning: dynamic programming over a model that is known. Begin with `dynamic_programming.py`.

- `dynamic_programming.py`: the agents `PolicyIteration` and `ValueIteration`, with the preset S1.
- `sweeps.py`: policy evaluation and policy improvement, one sweep over all states at a time.
- `tabular_model.py`: the model as arrays, from any table of Gymnasium's toy-text or from a board.
- `board_model.py`: the model of a board and a fixed opponent.
"""
