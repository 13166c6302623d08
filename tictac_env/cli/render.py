"""Draws a position or a whole game: as text, SVG, PNG, or a GIF that plays the game move by move.

What is drawn follows from the suffix of the file: .svg and .png show the last position, .gif the game from its first
move. Without a file the board is printed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from types import ModuleType

import numpy as np
from gymnasium.error import DependencyNotInstalled

from tictac_env.cli.arguments import add_file, add_game, decimal, whole_number
from tictac_env.games import game_name
from tictac_env.position import Position
from tictac_env.render import render_rgb, render_svg
from tictac_env.storage import save_text, writing

SUFFIXES = (".svg", ".png", ".gif")
LAST = 4
"""How many times as long as the others a GIF shows its last position."""

EXAMPLES = """examples:

  tictac render 4453
  tictac render 4453 -o position.svg
  tictac render 15243 --game TicTacToe-v0 -o position.png --cell-size 96
  tictac render 44536271 -o game.gif --seconds 0.5
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("moves", nargs="?", default="", help="the moves, as in 4453; none: the empty board")
    add_game(parser, "ConnectFour-v0")
    add_file(parser, "-o", "--output", metavar="FILE", help=f"a file that ends in {', '.join(SUFFIXES)}")
    parser.add_argument(
        "--cell-size", type=whole_number(1, 512), default=64, metavar="PIXELS", help="of a cell (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=decimal(0.02, 60), default=0.7, help="how long a GIF shows a position (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> int:
    """Draws, and says where."""
    position = Position.from_moves(options.game, options.moves)
    game = game_name(position.game) or position.game
    if options.output is None:
        print(f"{game}\n{position}")
        return 0
    suffix = options.output.suffix.lower()
    if suffix == ".svg":
        save_text(options.output, render_svg(position, options.cell_size))
    elif suffix == ".png":
        with writing(options.output) as file:
            pillow().fromarray(render_rgb(position, options.cell_size)).save(file, "PNG", optimize=True)
    elif suffix == ".gif":
        save_gif(options.output, position, options.cell_size, options.seconds)
    else:
        raise ValueError(f"--output must end in {', '.join(SUFFIXES)}, not {str(options.output)!r}")
    print(f"{options.output} ({game})")
    return 0


def save_gif(path: Path, position: Position, cell_size: int, seconds: float) -> None:
    """Writes the game that led to a position, a picture for each ply from the empty board on; it repeats for ever.

    Raises:
        ValueError: the position's moves are not known.
        gymnasium.error.DependencyNotInstalled: Pillow is missing.
    """
    shown = [Position.start(position.game)]
    for action in position.moves:
        shown.append(shown[-1].play(action))
    pixels = [render_rgb(one, cell_size) for one in shown]
    images = pillow()
    palette = images.fromarray(np.concatenate(pixels)).quantize(256)  # one for all, so that nothing flickers
    frames = [images.fromarray(one).quantize(palette=palette, dither=images.Dither.NONE) for one in pixels]
    milliseconds = [round(1000 * seconds)] * len(frames)
    milliseconds[-1] *= LAST
    with writing(path) as file:
        frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=milliseconds, loop=0)


def pillow() -> ModuleType:
    """Pillow's module of images.

    Raises:
        gymnasium.error.DependencyNotInstalled: it is missing; the message names the line that installs it.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise DependencyNotInstalled(
            'PNG and GIF need Pillow, which is not installed (SVG needs nothing); run: pip install "tictac-env[video]"'
        ) from error
    return Image
