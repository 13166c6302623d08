"""Tic-tac-toe for PettingZoo, described in `tictac_env.envs.aec.BoardAECEnv`: `env()` and `raw_env()`."""

from functools import partial

from tictac_env.envs.aec import BoardAECEnv

raw_env = partial(BoardAECEnv, "TicTacToe-v0", name="tictactoe_v0")
env = partial(raw_env, illegal="lose")
