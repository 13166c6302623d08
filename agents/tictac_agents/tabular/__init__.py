"""Learners with tables. Begin with `q_learning.py`; each algorithm is in the file that bears its name.

- `q_learning.py`, `sarsa.py`, `monte_carlo.py`: values of actions; `action_values.py` is what they share.
- `value_td.py`, `value_table.py`: TD(lambda) on values of states; `s0.py`: what the published system S0 adds to it.
- `learner.py`, `run.py`: the base class of all learners, for plain Python too, and a training run.
- `trained_policy.py`, `table_learner.py`: a policy that plays what was learned; learners whose tables are arrays.
- `rollout.py`, `vector_rollout.py`, `compiled_games.py`: games through `reset` and `step`, on many boards, and in one
  compiled loop. They give the same results to the bit.
- `rows.py`, `draws.py`: the row of a position in a table, and a learner's own randomness.
- `learning_curve.py`, `until_proven.py`: exact verdicts while a table learns.
- `settings.py`: the learners' settings as dataclasses, for the command line.
"""

COMPILED_AS = "learning with a table"
