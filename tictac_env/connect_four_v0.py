"""Connect Four for PettingZoo, described in `tictac_env.envs.aec.BoardAECEnv`: `env()` and `raw_env()`."""

from __future__ import annotations

from functools import partial

from tictac_env.envs.aec import BoardAECEnv
from tictac_env.games import KInARow


def raw_env(
    render_mode: str | None = None,
    illegal: str = "raise",
    name: str = "connect_four_v0",
    *,
    rows: int = 6,
    cols: int = 7,
    connect: int = 4,
    screen_scaling: int = 9,
) -> BoardAECEnv:
    """Connect Four, of another size if wanted; see `BoardAECEnv` for the arguments.

    `screen_scaling`, which PettingZoo's environment has, is ignored.

    Raises:
        ValueError: an argument is not allowed, or no game of these sizes is possible.
    """
    return BoardAECEnv(KInARow.make(rows, cols, connect, gravity=True), render_mode, illegal, name)


env = partial(raw_env, illegal="lose")
