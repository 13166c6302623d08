"""N-tuple networks: state values learned from self-play, without torch. Begin with `ntuple_td.py`.

- `ntuple_td.py`: the learner `NTupleTD`.
- `network.py`: what it has learned, `NTupleNetwork`: a policy, and an evaluator for searches.
- `tuples.py`: which cells each tuple looks at, and what a stone changes.
- `kernels.py`: values of positions, compiled; `self_play.py` and `updates.py`: the games and what is learned from them.
- `shipped/`: the network that comes with the package; `tools/ship_ntuple.py` makes it.
"""

COMPILED_AS = "n-tuple networks"
