"""Agents that learn, plan and search on the boards of `tictac_env`, one readable file per algorithm.

- `tabular/`: Q-learning, Sarsa, Monte Carlo control and TD learning with tables.
- `planning/`: policy iteration and value iteration.
- `mcts/`: Monte Carlo tree search.
- `ntuple/`: n-tuple networks, which learn from self-play without torch.
- `deep/`: DQN and MaskablePPO on Stable-Baselines3, and two published networks.

Import agents from here: `from tictac_agents import MCTS`. Beside the folders, `train.py` is the command line, with the
settings that all agents share (`settings.py`, `command_line.py`); `value_display.py` shows what was learned.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from typing import Any

_HOME = {
    "DQN": "tictac_agents.deep.algorithms",
    "ExactEvalCallback": "tictac_agents.deep.callbacks",
    "FittedQ": "tictac_agents.published.ariel_network",
    "GameTree": "tictac_agents.published.ariel_tree",
    "GamesCallback": "tictac_agents.deep.callbacks",
    "GamesCurve": "tictac_agents.curves",
    "LearningCurve": "tictac_agents.tabular.learning_curve",
    "Learner": "tictac_agents.tabular.learner",
    "MCTS": "tictac_agents.mcts.mcts",
    "MaskablePPO": "tictac_agents.deep.algorithms",
    "ModelPolicy": "tictac_env.policies.adapters",
    "NTupleNetwork": "tictac_agents.ntuple.network",
    "NTupleTD": "tictac_agents.ntuple.ntuple_td",
    "MonteCarlo": "tictac_agents.tabular.monte_carlo",
    "ProgressCallback": "tictac_agents.deep.callbacks",
    "PolicyIteration": "tictac_agents.planning.dynamic_programming",
    "QLearning": "tictac_agents.tabular.q_learning",
    "S0ValueTD": "tictac_agents.published.swan_td",
    "S2Network": "tictac_agents.published.nested_q",
    "SB3VecEnv": "tictac_agents.deep.sb3_vec_env",
    "Sarsa": "tictac_agents.tabular.sarsa",
    "SelfPlayCallback": "tictac_agents.deep.callbacks",
    "Snapshot": "tictac_agents.deep.callbacks",
    "TabularModel": "tictac_agents.planning.tabular_model",
    "UntilProven": "tictac_agents.tabular.until_proven",
    "ValueIteration": "tictac_agents.planning.dynamic_programming",
    "ValueTD": "tictac_agents.tabular.value_td",
    "gridworld_4x4": "tictac_agents.planning.tabular_model",
    "load_model": "tictac_agents.deep.sb3_files",
    "policy_evaluation": "tictac_agents.planning.dynamic_programming",
}

REMOVED = {"LineNetwork": "removed in 1.1.0; use NTupleNetwork, the policy 'ntuple'"}
"""Agents of earlier versions, and what to use instead: for the messages when they are imported or loaded."""


def __getattr__(name: str) -> Any:
    """Imports an agent when it is first asked for (PEP 562), so that one without torch needs no torch."""
    if name == "__all__":
        return _importable()
    if name not in _HOME:
        removed = f": {REMOVED[name]}" if name in REMOVED else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{removed}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])


@functools.cache  # the import system asks several times, and one warning is enough
def _importable() -> list[str]:
    """The names that `from tictac_agents import *` binds: all, or after a warning those that need no torch."""
    from gymnasium.error import DependencyNotInstalled

    try:
        for name in _HOME:
            __getattr__(name)
    except DependencyNotInstalled as error:
        rest = [name for name, home in _HOME.items() if not home.startswith("tictac_agents.deep.")]
        missing = ", ".join(name for name in _HOME if name not in rest)
        warnings.warn(f"{error}; without it there are no {missing}", stacklevel=3)
        return rest
    return list(_HOME)
