"""The plugin of verifiers, which finds it by this name: `vf-eval tictac-verifiers`."""

from tictac_env.text_players.adapters.verifiers import BoardGameEnv, BoardGameTaskset

__all__ = ["BoardGameEnv", "BoardGameTaskset"]
