"""Tic-tac-toe and Connect Four as Gymnasium and PettingZoo environments, and the exact truth about them.

Importing this package registers the environments; nothing else is loaded until it is used.
"""

from __future__ import annotations

import gymnasium as gym
import pettingzoo

__version__ = "0.1.0"

for _id, _class, _function in (
    ("TicTacToe-v0", "TicTacToeEnv", "tic_tac_toe"),
    ("ConnectFour-v0", "ConnectFourEnv", "connect_four"),
    ("KInARow-v0", "KInARowEnv", "k_in_a_row"),
):
    # The environments check themselves (order, types), so that Gymnasium's two wrappers would only cost time.
    gym.register(
        id=_id,
        entry_point=f"tictac_env.envs.pages:{_class}",
        vector_entry_point=f"tictac_env.envs.vector.vector_env:{_function}",
        order_enforce=False,
        disable_env_checker=True,
    )

for _id in ("connect_four_v0", "tictactoe_v0"):
    pettingzoo.register("aec", f"tictac_env/{_id}", entry_point=f"tictac_env.{_id}:env")
