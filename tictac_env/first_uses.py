"""Compiles beforehand what the first uses of a game would wait for: the command `tictac warm`.

A first use is made, as a user would make it but short; what that compiles is then kept for all later runs.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode

from tictac_env.games import get_game, gym_keywords
from tictac_env.observation import MAX_CODE_CELLS
from tictac_env.progress import track

Use = Callable[[str], object]
AGENTS = "tictac_agents.warm"


def first_uses() -> dict[str, Use]:
    """The uses by name, those of the agents included where they are installed; each takes a game's name."""
    uses: dict[str, Use] = {"vector": use_vector_environment, "minimax": use_minimax, "solver": use_solver}
    if importlib.util.find_spec(AGENTS.split(".")[0]):
        uses |= importlib.import_module(AGENTS).FIRST_USES
    return uses


def make_first_uses(games: Iterable[str], names: Iterable[str]) -> None:
    """Makes the first uses of these names of each game; of games that several names stand for, once.

    Raises:
        ValueError: no game is called so.
    """
    uses, unlike = first_uses(), {get_game(game): game for game in reversed(list(games))}
    todo = [(name, game) for game in reversed(unlike.values()) for name in names]
    for (name, game), _ in zip(todo, track([f"{name}, {game}" for name, game in todo], "compiling"), strict=True):
        uses[name](game)


def use_vector_environment(game: str) -> None:
    """Steps a few boards of each of `vector_environments`."""
    for envs in vector_environments(game):
        envs.reset(seed=0)
        envs.step(envs.sample_actions())  # type: ignore[attr-defined]  # of a BoardVectorEnv


def vector_environments(game: str) -> Iterator[gym.vector.VectorEnv[Any, Any, Any]]:
    """With opponents that are compiled, none, and one that is asked; in each observation type."""
    settings: list[dict[str, Any]] = [{"opponent": opponent} for opponent in ("random", "rule", None)]
    settings.append({"obs_type": "board"})
    if get_game(game).cells <= MAX_CODE_CELLS:
        settings.append({"obs_type": "code"})
    asked: dict[str, Any] = {"opponent": "minimax-first:1", "play_as": "second"}
    settings += [asked | {"autoreset_mode": mode} for mode in AutoresetMode]
    return (gym.make_vec(num_envs=2, **gym_keywords(game), **setting) for setting in settings)


def use_minimax(game: str) -> None:
    """Searches by alpha-beta."""
    from tictac_env.solver.alpha_beta import action_scores

    rules = get_game(game)
    action_scores(rules, *rules.start(), depth=1)


def use_solver(game: str) -> None:
    """Makes a solver and, if its search is compiled, lets the table grow."""
    from tictac_env.solver import Solver
    from tictac_env.solver.engine import Engine

    engine = Solver(game, table_megabytes=64).engine
    if isinstance(engine, Engine):
        engine.table.grow()
