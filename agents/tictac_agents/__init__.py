"""Agents that learn, plan and search on the boards of `tictac_env`, one readable file per algorithm.

- `tabular/`: Q-learning, Sarsa, Monte Carlo control and TD learning with tables.
- `planning/`: policy iteration and value iteration.
- `mcts/`: Monte Carlo tree search.
- `ntuple/`: n-tuple networks, which learn from self-play without torch.
- `alphazero/`: AlphaZero, with n-tuples or with a residual network of PyTorch.
- `deep/`: DQN and MaskablePPO on Stable-Baselines3.
- `published/`: what the published systems do besides.

Import agents from here: `from tictac_agents import MCTS`. `AGENTS` is the one table of them, and `settings.py`
says what can be set.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from typing import Any, NamedTuple


class Agent(NamedTuple):
    """A line of the table of agents."""

    home: str
    """Its module."""
    kind: str
    """How it is trained: "table" in environments, "games" in games of its own, "network" by Stable-Baselines3; or
    "planner" or "search", which `tictac train` does not train.
    """
    help: str
    settings: str = ""
    """The module of its settings, if that is another: settings are read without torch."""


AGENTS = {
    "QLearning": Agent("tabular.q_learning", "table", "a table of action values, by Q-learning"),
    "Sarsa": Agent("tabular.q_learning", "table", "a table of action values, by Sarsa"),
    "MonteCarlo": Agent("tabular.q_learning", "table", "a table of action values, by Monte Carlo control"),
    "ValueTD": Agent("tabular.value_td", "table", "a table of state values, by temporal differences"),
    "S0ValueTD": Agent("published.swan_td", "table", "a table of state values, by temporal differences (S0)"),
    "ValueIteration": Agent("planning.dynamic_programming", "planner", "value iteration"),
    "PolicyIteration": Agent("planning.dynamic_programming", "planner", "policy iteration"),
    "MCTS": Agent("mcts.mcts", "search", "Monte Carlo tree search"),
    "GameTree": Agent("published.ariel_tree", "games", "a search tree that remembers, grown by self-play (S4)"),
    "NTupleTD": Agent("ntuple.ntuple_td", "games", "an n-tuple network of state values, by TD(lambda) in self-play"),
    "AlphaZero": Agent("alphazero.alphazero", "games", "a network of policies and values, by search in self-play"),
    "NTupleNetwork": Agent("ntuple.network", "search", "an n-tuple network of state values, learned or shipped"),
    "DQN": Agent("deep.algorithms", "network", "deep Q-learning, on Stable-Baselines3", "deep.settings"),
    "MaskablePPO": Agent(
        "deep.algorithms", "network", "masked proximal policy optimisation, on Stable-Baselines3", "deep.settings"
    ),
    "S2Network": Agent("published.nested_q", "games", "a network that learns after each game against random play (S2)"),
    "FittedQ": Agent("published.ariel_network", "games", "deep Q-learning from batches of self-play (S4)"),
}
"""The agents by the names of their classes: what the command line, the page and the documentation offer."""

_HELPERS = {
    "curves": ("LearningCurve",),
    "judge": ("Judge",),
    "deep.masked_choice": ("QRDQN",),
    "deep.callbacks": ("ExactEvalCallback", "GamesCallback", "ProgressCallback", "SelfPlayCallback"),
    "deep.sb3_files": ("load_model",),
    "planning.dynamic_programming": ("policy_evaluation",),
    "planning.tabular_model": ("TabularModel", "gridworld_4x4"),
    "tabular.learner": ("Learner",),
}
HOMES = {name: f"{__name__}.{agent.home}" for name, agent in AGENTS.items()}
"""The module of each public name."""
HOMES |= {name: f"{__name__}.{module}" for module, names in _HELPERS.items() for name in names}
HOMES |= {
    "ModelPolicy": "tictac_env.policies.adapters",
    "SB3VecEnv": "tictac_env.wrappers.sb3_vec_env",
    "Snapshot": "tictac_env.policies.snapshot",
}


def trained(*kinds: str) -> list[str]:
    """The names of the agents of these kinds."""
    return [name for name, agent in AGENTS.items() if agent.kind in kinds]


def __getattr__(name: str) -> Any:
    """Imports an agent at its first use (PEP 562), so that only those that need torch import it."""
    if name == "__all__":
        return _importable()
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *HOMES])


@functools.cache  # the import system calls it several times, and one warning is enough
def _importable() -> list[str]:
    """The names that `from tictac_agents import *` binds: all, or after a warning those that need no torch."""
    from gymnasium.error import DependencyNotInstalled

    missing, reason = [], None
    for name in HOMES:
        try:
            __getattr__(name)
        except DependencyNotInstalled as error:
            missing.append(name)
            reason = reason or error
    if missing:
        warnings.warn(f"{reason}; without it there are no {', '.join(missing)}", stacklevel=3)
    return [name for name in HOMES if name not in missing]
