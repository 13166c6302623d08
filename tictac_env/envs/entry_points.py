"""How Gymnasium and PettingZoo make the environment of a registered game.

Their specs name what makes an environment as "module:name", text that JSON can hold. Here the name is that of the
dialect and of the game, "single/Hex-v0", and is looked up when an environment is made; so registering a game costs
nothing, and the specs need no arguments of their own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from tictac_env.games import FAMILIES, Game, get_game, make_game

KEYWORDS = (
    *("game", "name", "opponent", "play_as", "obs_type", "illegal", "rewards", "start", "render_mode"),
    *("num_envs", "copy", "autoreset_mode", "threads"),
)
"""The keywords of the environments, which no size of a game may be called."""

PAGES: dict[str, str] = {}
"""By the name of a game "module:class" of its environment, where it has one of its own: a page of documentation."""


def single(name: str, **keywords: Any) -> Any:
    """The Gymnasium environment of a game, of the sizes among the keywords."""
    module, environment = PAGES.get(name, "tictac_env.envs.single:BoardEnv").split(":")
    return getattr(importlib.import_module(module), environment)(_game(name, keywords), **keywords)


def vector(name: str, num_envs: int = 1, **keywords: Any) -> Any:
    """The Gymnasium vector environment of a game, of the sizes among the keywords."""
    from tictac_env.envs.vector.vector_env import BoardVectorEnv

    return BoardVectorEnv(_game(name, keywords), num_envs, **keywords)


def aec(name: str, illegal: str = "lose", **keywords: Any) -> Any:
    """The PettingZoo environment of a game, of the sizes among the keywords."""
    from tictac_env.envs.aec import BoardAECEnv

    return BoardAECEnv(_game(name, keywords), illegal=illegal, **keywords)


DIALECTS: dict[str, Callable[..., Any]] = {"single": single, "vector": vector, "aec": aec}


def _game(name: str, keywords: dict[str, Any]) -> Game:
    """The game of the sizes among the keywords, which are taken out.

    Raises:
        ValueError: no game of these sizes is possible, or the game is of one size and only its family has others.
    """
    if name in FAMILIES:
        return make_game(name, **{size: keywords.pop(size) for size in FAMILIES[name].sizes if size in keywords})
    game = get_game(name)
    for family, known in FAMILIES.items():
        given = [size for size in known.sizes if size in keywords] if type(known.default) is type(game) else ()
        if given:
            raise ValueError(f"{name} is of one size and takes no {given[0]}; {family} takes {', '.join(known.sizes)}")
    return game


def __getattr__(name: str) -> Any:
    """What makes the environment called "dialect/id"."""
    dialect, _, game = name.partition("/")
    if dialect not in DIALECTS or not game:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    get_game(game)
    make: Any = partial(DIALECTS[dialect], game)
    if dialect == "single":
        from tictac_env.envs.single import BoardEnv

        make.metadata = BoardEnv.metadata  # Gymnasium looks here for render modes
    return make
