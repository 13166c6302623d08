"""Entry points with which Gymnasium and PettingZoo make the environment of a registered game.

Their specs name the function that makes an environment as "module:name", a string that JSON can hold. Here the name
consists of the dialect and the game, "single/Hex-v0", and is looked up when an environment is made; so registering a
game costs nothing, and the specs need no arguments.
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
"""The keywords of the environments, reserved: no size of a game may have such a name."""

PAGES: dict[str, str] = {}
"""For each game with its own environment class (a page of documentation), "module:class"."""


def single(name: str, **keywords: Any) -> Any:
    """The Gymnasium environment of a game; the keywords may include its sizes."""
    module, environment = PAGES.get(name, "tictac_env.envs.single:BoardEnv").split(":")
    return getattr(importlib.import_module(module), environment)(_game(name, keywords), **keywords)


def vector(name: str, num_envs: int = 1, **keywords: Any) -> Any:
    """The Gymnasium vector environment of a game; the keywords may include its sizes."""
    from tictac_env.envs.vector.vector_env import BoardVectorEnv

    return BoardVectorEnv(_game(name, keywords), num_envs, **keywords)


def aec(name: str, illegal: str = "lose", **keywords: Any) -> Any:
    """The PettingZoo environment of a game; the keywords may include its sizes."""
    from tictac_env.envs.aec import BoardAECEnv

    return BoardAECEnv(_game(name, keywords), illegal=illegal, **keywords)


DIALECTS: dict[str, Callable[..., Any]] = {"single": single, "vector": vector, "aec": aec}


def _game(name: str, keywords: dict[str, Any]) -> Game:
    """The game with the sizes among the keywords, which are removed from them.

    Raises:
        ValueError: no game of these sizes is possible, or the game has a fixed size and only its family has others.
    """
    if name in FAMILIES:
        return make_game(name, **{size: keywords.pop(size) for size in FAMILIES[name].sizes if size in keywords})
    game = get_game(name)
    for other, family in FAMILIES.items():
        sizes = [size for size in family.sizes if size in keywords] if type(family.default) is type(game) else ()
        if sizes:
            raise ValueError(f"{name} is of one size and takes no {sizes[0]}; {other} takes {', '.join(family.sizes)}")
    return game


def __getattr__(name: str) -> Any:
    """The function that makes the environment named "dialect/id"."""
    dialect, _, game = name.partition("/")
    if dialect not in DIALECTS or not game:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    get_game(game)
    make: Any = partial(DIALECTS[dialect], game)
    if dialect == "single":
        from tictac_env.envs.single import BoardEnv

        make.metadata = BoardEnv.metadata  # Gymnasium looks here for render modes
    return make
