"""Networks that come with the package: a folder of files, each named after its game."""

from __future__ import annotations

from pathlib import Path

from tictac_env.games import Game, game_name, get_game


def shipped_file(folder: Path, game: str | Game) -> Path:
    """The file in a folder for a game.

    Raises:
        ValueError: there is none for this game; the message says for which there are.
    """
    rules = get_game(game)
    path = folder / f"{game_name(rules)}.npz"
    if not path.exists():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.npz")))
        raise ValueError(f"there is no shipped network for {game_name(rules) or rules!r}; there are {known}")
    return path
