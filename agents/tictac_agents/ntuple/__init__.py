"""N-tuple networks: state values learned from self-play, without torch. Begin with `ntuple_td.py`.

- `ntuple_td.py`: the learner `NTupleTD`; `self_play.py`: its games and what is learned from them, compiled.
- `network.py`: the result, `NTupleNetwork`: a policy, and an evaluator for searches; the shipped networks.
- `values.py`: the cells of each tuple, and values of positions, compiled; `search.py`: alpha-beta search over them.
"""

COMPILED_AS = "n-tuple networks"
