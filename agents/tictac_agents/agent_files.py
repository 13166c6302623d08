"""Loads an agent of any kind from its file: tables, trees, networks, models of Stable-Baselines3."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import tictac_agents
from tictac_agents.plan import UNKNOWN
from tictac_env.checks import one_of
from tictac_env.games import Game, game_name, game_of
from tictac_env.policies.loading import settings_of
from tictac_env.storage import kind_of, load_meta

OURS = "tictac_agents."


def load_agent(path: str | os.PathLike[str], game: Game) -> tuple[Any, dict[str, Any]]:
    """The agent that a file holds, ready to play, and its settings as JSON can hold them.

    Nothing in the file is run. Networks are put on the CPU.

    Args:
        path: an .npz file of an agent of this package, or a .zip file that Stable-Baselines3 or this package saved.
        game: the game it is to play.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, does not hold an agent, or one of another game; the message names the file.
        DependencyNotInstalled: it holds a network, and Stable-Baselines3 is not installed.
    """
    target = Path(path)
    agent, settings, of_game = _network(target, game) if target.suffix == ".zip" else _table(target)
    if of_game is not None and of_game != game:
        own, other = (game_name(rules) or repr(rules) for rules in (of_game, game))
        raise ValueError(f"{os.fspath(path)} holds an agent of the game {own}, not of {other}")
    return agent, settings


def recorded_game(path: str | os.PathLike[str]) -> Game | None:
    """The game that a file records for its agent; None if it records no game, like Stable-Baselines3's own files.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, or the game is not known here.
        DependencyNotInstalled: it holds a network, and Stable-Baselines3 is not installed.
    """
    target = Path(path)
    if target.suffix == ".zip":
        from tictac_agents.deep.sb3_files import read_checkpoint  # needs torch

        record = read_checkpoint(target).record
        described = None if record is None else record["plan"].get("game")
        described = None if described == UNKNOWN else described
    else:
        described = load_meta(target, kind_of(target)).get("game")
    try:
        return None if described is None else game_of(described)
    except TypeError as error:
        raise ValueError(f"{os.fspath(path)} names no game: {error}") from error


def _table(path: Path) -> tuple[Any, dict[str, Any], Game | None]:
    """The agent of an .npz file, its settings, and its game."""
    # The name in the file is looked up among this package's agents, and never imported: a file cannot run code.
    kind = kind_of(path)
    name = kind.removeprefix(OURS)
    ours = kind.startswith(OURS) and name in tictac_agents.AGENTS
    agent_class: Any = getattr(tictac_agents, name) if ours else None
    if not (inspect.isclass(agent_class) and hasattr(agent_class, "load")):
        raise ValueError(
            f"{os.fspath(path)} holds {kind!r}, which is not an agent of tictac_agents; an agent of your own is loaded "
            "by its own class: give the object"
        )
    agent = agent_class.load(path)
    of_game = getattr(agent, "game", None) or getattr(getattr(agent, "model", None), "game", None)
    settings = {"algorithm": name} | settings_of(agent)
    counters = ("num_timesteps", "num_episodes", "num_games", "sweeps")
    return agent, settings | {name: getattr(agent, name) for name in counters if hasattr(agent, name)}, of_game


def _network(path: Path, game: Game) -> tuple[Any, dict[str, Any], Game | None]:
    """The agent of a .zip file, its settings, and its game if the file records it."""
    from tictac_agents.deep.sb3_files import load_model, read_checkpoint  # needs torch
    from tictac_env.policies.snapshot import Snapshot

    # A file of ours says which agent it holds. One of Stable-Baselines3 does not: its model plays as a frozen copy.
    saved = read_checkpoint(path)
    steps = {"num_timesteps": saved.data.get("num_timesteps")}
    if name := saved.agent:
        model = getattr(tictac_agents, one_of("agent", name, tictac_agents.trained("network"))).load(path, device="cpu")
        of_game = None if model.plan.game == UNKNOWN else model.plan.rules
        return model, {"algorithm": name} | settings_of(model) | steps, of_game
    model = load_model(path, game, device="cpu")
    settings = {"algorithm": type(model).__name__} | steps
    return Snapshot(model, path.stem), settings, None
