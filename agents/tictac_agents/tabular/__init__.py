"""Learners with tables. Begin with `q_learning.py`: Q-learning, Sarsa and Monte Carlo control on values of actions.

- `value_td.py`: TD(lambda) on values of states.
- `table_learner.py`: learners whose values are arrays, on one board or many, interpreted or compiled.
- `learner.py`: the base class of all learners, for plain Python too: the run, its checkpoints, and the file.
"""

COMPILED_AS = "learning with a table"
