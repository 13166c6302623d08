"""A learned network of state values that plays without torch. Begin with `network.py`.

- `network.py`: the agent `LineNetwork`, which is also the policy "network" and an evaluator for searches.
- `kernels.py`: what the network is shown of a position, and its answer, compiled.
- `lines.py`: the lines of a board, which `tictac_agents.deep.features` looks at too.
- `shipped/`: the networks that come with the package; `tools/ship_networks.py` makes them.
"""

COMPILED_AS = "networks"
