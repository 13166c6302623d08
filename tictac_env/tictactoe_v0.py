"""Tic-tac-toe for PettingZoo, described in `tictac_env.envs.aec.BoardAECEnv`: `env()` and `raw_env()`."""

from __future__ import annotations

from functools import partial

from tictac_env.envs.aec import BoardAECEnv
from tictac_env.games import KInARow


def raw_env(
    render_mode: str | None = None,
    illegal: str = "raise",
    name: str = "tictactoe_v0",
    *,
    rows: int = 3,
    cols: int = 3,
    connect: int = 3,
    screen_height: int | None = 1000,
) -> BoardAECEnv:
    """Tic-tac-toe, of another size if wanted; see `BoardAECEnv` for the arguments.

    `screen_height`, which PettingZoo's environment has, is ignored.

    Raises:
        ValueError: an argument is not allowed, or no game of these sizes is possible.
    """
    return BoardAECEnv(KInARow.make(rows, cols, connect, gravity=False), render_mode, illegal, name)


env = partial(raw_env, illegal="lose")
