"""Agents that learn and search on the boards of `tictac_env`, one readable file per algorithm."""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "DQN": "tictac_agents.dqn",
    "ExactEvalCallback": "tictac_agents.callbacks",
    "GameTree": "tictac_agents.game_tree",
    "GamesCallback": "tictac_agents.callbacks",
    "LearningCurve": "tictac_agents.curves",
    "MCTS": "tictac_agents.mcts",
    "MaskablePPO": "tictac_agents.maskable_ppo",
    "ModelPolicy": "tictac_env.adapters",
    "MonteCarlo": "tictac_agents.monte_carlo",
    "PolicyIteration": "tictac_agents.dynamic_programming",
    "QLearning": "tictac_agents.q_learning",
    "SB3VecEnv": "tictac_agents.sb3",
    "Sarsa": "tictac_agents.sarsa",
    "SelfPlayCallback": "tictac_agents.self_play",
    "Snapshot": "tictac_agents.self_play",
    "TabularModel": "tictac_agents.tabular_model",
    "UntilProven": "tictac_agents.proof",
    "ValueIteration": "tictac_agents.dynamic_programming",
    "ValueTD": "tictac_agents.value_td",
    "gridworld_4x4": "tictac_agents.tabular_model",
    "load_model": "tictac_agents.sb3_files",
    "policy_evaluation": "tictac_agents.dynamic_programming",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    """Imports an agent when it is first asked for (PEP 562), so that one without torch needs no torch."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
