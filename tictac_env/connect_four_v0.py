"""Connect Four for PettingZoo, described in `tictac_env.envs.aec.BoardAECEnv`: `env()` and `raw_env()`."""

from functools import partial

from tictac_env.envs.aec import BoardAECEnv

raw_env = partial(BoardAECEnv, "ConnectFour-v0", name="connect_four_v0")
env = partial(raw_env, illegal="lose")
