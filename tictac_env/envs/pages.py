"""The environments by name. Each docstring is the environment's page of the documentation."""

from __future__ import annotations

from typing import Any

from tictac_env.envs.single import BoardEnv
from tictac_env.games import GAMES, KInARow


class TicTacToeEnv(BoardEnv):
    """PLACEHOLDER"""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(GAMES["TicTacToe-v0"], **kwargs)


class ConnectFourEnv(BoardEnv):
    """PLACEHOLDER"""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(GAMES["ConnectFour-v0"], **kwargs)


class KInARowEnv(BoardEnv):
    """PLACEHOLDER"""

    def __init__(self, rows: int = 6, cols: int = 7, connect: int = 4, gravity: bool = True, **kwargs: Any) -> None:
        super().__init__(KInARow.make(rows, cols, connect, gravity), **kwargs)
