"""Agents by their names: their settings, their presets, and new agents with these."""

from __future__ import annotations

from typing import Any

import tictac_agents
from tictac_agents import AGENTS
from tictac_agents.deep import settings as deep
from tictac_agents.settings import Settings, preset_settings, settings_of_class


def settings_class(agent: str) -> type[Any]:
    """The class of an agent's settings."""
    if AGENTS[agent].kind == "network":
        found: type[Any] = getattr(deep, f"{agent}Settings")
        return found
    return settings_of_class(getattr(tictac_agents, agent))


def presets(agent: str) -> dict[str, Any]:
    """An agent's presets."""
    if AGENTS[agent].kind == "network":
        return dict(deep.PRESETS.get(agent, {}))
    made = getattr(tictac_agents, agent)
    return {name: preset_settings(made, name) for name in made.PRESETS}


def usual(agent: str, game: str | None = None) -> Any:
    """The settings of an agent on a game, its default game if None: the tuned ones, or else the defaults."""
    made = settings_class(agent)
    game = made().game if game is None else game
    if AGENTS[agent].kind == "network":
        return deep.TUNED.get(str(game), {}).get(agent) or made()
    return made(**getattr(getattr(tictac_agents, agent), "TUNED", {}).get(game, {}))


def new_agent(agent: str, settings: Any, seed: int, **keywords: Any) -> Any:
    """An untrained agent with these settings, on the processor.

    Raises:
        ValueError: a setting is out of its range.
        DependencyNotInstalled: what the agent needs is missing.
    """
    made = getattr(tictac_agents, agent)  # first of all, as it says what to install if torch is missing
    if AGENTS[agent].kind == "network":
        one_thread()
        return made.from_settings(settings, seed, "cpu", **keywords)
    board = settings.env() if isinstance(settings, Settings) else settings.rules
    learner = made(board, seed=seed, **settings.keywords(), **keywords)
    if hasattr(learner, "device"):
        one_thread()
    return learner


def one_thread() -> None:
    """Lets torch use one thread, the fastest for networks this small."""
    import torch  # only now, so that --help is quick

    torch.set_num_threads(1)
