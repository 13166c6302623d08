"""Tic-tac-toe and Connect Four as Gymnasium and PettingZoo environments, and the exact truth about them.

Importing this package registers the environments; nothing else is loaded until it is used.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

import gymnasium as gym
import pettingzoo

from tictac_env.envs.entry_points import KEYWORDS, PAGES
from tictac_env.games import Game, KInARow
from tictac_env.games.registry import add_game
from tictac_env.lazy import lazily

if TYPE_CHECKING:
    from tictac_env.arena import audit, move_accuracy, play_match, round_robin, verdict
    from tictac_env.policies import OpponentPool, Policy, check_policy, make_policy
    from tictac_env.position import Position
    from tictac_env.solver import Solver, solve

__version__ = "1.1.0"
__all__ = [
    "OpponentPool",
    "Policy",
    "Position",
    "Solver",
    "audit",
    "check_policy",
    "make_policy",
    "move_accuracy",
    "play_match",
    "register_game",
    "round_robin",
    "solve",
    "verdict",
]

HOMES = {
    "tictac_env.arena": ("audit", "move_accuracy", "play_match", "round_robin", "verdict"),
    "tictac_env.policies": ("OpponentPool", "Policy", "check_policy", "make_policy"),
    "tictac_env.position": ("Position",),
    "tictac_env.solver": ("Solver", "solve"),
}
"""Where the names in `__all__` live that are imported when they are first used; type checkers read them above."""

ENTRY_POINTS = "tictac_env.envs.entry_points"


def register_game(id: str, game: Game | Callable[..., Game], page: str | None = None) -> None:
    """Makes a game known by name to everything: environments, policies, agents, the solver, measures and pictures.

    `gym.make(id)`, `gym.make_vec(id)` and `pettingzoo.make("aec", f"tictac_env/{id}")` then make its environments, and
    `id` stands for it wherever a game's name is taken. Importing the file that calls this is all that a program has to
    do. Only what a look at the empty board shows is checked here; `tictac_env.check_game` plays the rules.

    Args:
        id: the name and a version, such as "Hex-v0".
        game: a rule book; or a function that makes one of any size (all its parameters with defaults), whose parameters
            are then keywords of `gym.make`.
        page: "module:class" of a subclass of `BoardEnv` whose docstring is the page of the environment; None for none.

    Raises:
        ValueError: the id is taken or not of that form; the game breaks the contract (see `tictac_env.games.Game`); or
            a parameter is called like a keyword of the environments. The message says which; nothing is registered.

    Example:
        >>> from tictac_env.games import KInARow
        >>> register_game("Gomoku7-v0", KInARow.make(7, 7, connect=5, gravity=False))  # doctest: +SKIP
        >>> gym.make("Gomoku7-v0", opponent="mcts:100").action_space  # doctest: +SKIP
        Discrete(49)
    """
    if isinstance(id, str) and id in gym.registry:
        raise ValueError(f"there is an environment called {id!r} already")
    if page is not None and (not isinstance(page, str) or page.count(":") != 1):
        raise ValueError(f'page must be "module:class", not {page!r}')
    sizes = () if isinstance(game, Game) or not callable(game) else inspect.signature(game).parameters
    if taken := [name for name in sizes if name in KEYWORDS]:
        raise ValueError(f"{id}: {taken[0]!r} is a keyword of all environments already; call the parameter otherwise")
    add_game(id, game)
    if page is not None:
        PAGES[id] = page
    # The environments check themselves (order, types), so that Gymnasium's two wrappers would only cost time.
    gym.register(
        id=id,
        entry_point=f"{ENTRY_POINTS}:single/{id}",
        vector_entry_point=f"{ENTRY_POINTS}:vector/{id}",
        order_enforce=False,
        disable_env_checker=True,
    )
    pettingzoo.register("aec", f"tictac_env/{id}", entry_point=f"{ENTRY_POINTS}:aec/{id}")


_tic_tac_toe = KInARow.make(rows=3, cols=3, connect=3, gravity=False)
_connect_four = KInARow.make(rows=6, cols=7, connect=4, gravity=True)
_shipped: tuple[tuple[str, Game | Callable[..., Game], str], ...] = (
    ("TicTacToe-v0", _tic_tac_toe, "TicTacToeEnv"),
    ("ConnectFour-v0", _connect_four, "ConnectFourEnv"),
    ("KInARow-v0", KInARow.make, "KInARowEnv"),
)
for _id, _game, _class in _shipped:
    register_game(_id, _game, page=f"tictac_env.envs.shipped:{_class}")

for _id in ("connect_four_v0", "tictactoe_v0"):  # PettingZoo's own names
    pettingzoo.register("aec", f"tictac_env/{_id}", entry_point=f"tictac_env.{_id}:env")

if not TYPE_CHECKING:  # so that type checkers go on knowing which names there are
    __getattr__ = lazily(__name__, HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
