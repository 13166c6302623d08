"""The plugin of verifiers, which finds it by this name: `vf-eval tictac-verifiers`."""

from tictac_apps.language_models.adapters.verifiers import BoardGameEnv, BoardGameHarness, BoardGameTaskset

__all__ = ["BoardGameEnv", "BoardGameHarness", "BoardGameTaskset"]
