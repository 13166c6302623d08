"""The commands that show: solve, render and info."""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import re
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from types import ModuleType
from typing import Any, TypedDict

import gymnasium as gym
import numpy as np
import pettingzoo

import tictac_env
from tictac_apps.cli.arguments import (
    add_file,
    add_forms,
    add_game_option,
    add_moves,
    add_number,
    as_json,
    chosen_game,
    decimal,
    default_of,
    print_board,
    print_fitted,
    print_result,
    prints_text,
    whole_number,
)
from tictac_env.compiled.kernels import CACHE_FOLDER, KEPT, VARIABLE
from tictac_env.games import describe_game, game_name
from tictac_env.games.registry import known_names
from tictac_env.lazy import needing
from tictac_env.policies import POLICIES
from tictac_env.position import Position, format_moves
from tictac_env.render import render_rgb, render_svg
from tictac_env.render.text import side_name
from tictac_env.solver import NotProven, Solution, Solver
from tictac_env.solver.enumerate import moves_in_words, moves_to_win
from tictac_env.storage import csv_of, save_text, writing


def add_solve(parser: argparse.ArgumentParser) -> None:
    add_moves(parser)
    add_game_option(parser, "ConnectFour-v0", of_players=False)
    parser.add_argument("--weak", action="store_true", help="find only the winner (1, 0 or -1), which is faster")
    add_number(parser, "--time-limit", decimal(), "stop the search after this time", metavar="SECONDS")
    add_number(parser, "--threads", whole_number(1, 64), "search on N threads", default_of(Solver, "threads"))
    memory = default_of(Solver, "table_megabytes")
    add_number(parser, "--table", decimal(), "the memory of the search", memory, "MB")
    parser.add_argument("--no-book", action="store_true", help="search, and do not use the opening book")
    add_forms(parser, "the legal moves with their values")


def run_solve(options: argparse.Namespace) -> int:
    """Prints the board, the exact score and the value of each move, the best moves and a line of best play.

    W21 means that the side to move wins with its 21st move from here. L21 means that it loses to the other side's 21st
    move, and = means a draw. The score counts from the end of the game: +1 is a win with the last stone that the side
    to move could place, +2 a win with the stone before it, and so on. -1, -2, ... are losses, and 0 is a draw.

    The game is Connect Four unless --game names another one. The exit status is 1 if a limit ends the search before the
    score is known.

    Examples:
      tictac solve 4453
      tictac solve 15 --game TicTacToe-v0
      tictac solve 3 --game KInARow-v0:5x6-4 --weak
      tictac solve 44 --json
    """
    began = time.monotonic()
    position = Position.from_moves(chosen_game(options), " ".join(options.moves))
    record: dict[str, Any] = {"game": describe_game(position.game), "moves": position.to_moves()}
    board = f"{game_name(position.game) or position.game}\n{position}"
    solver = Solver(position.game, options.table, options.threads, opening_book=not options.no_book)
    if prints_text(options):
        print_board(board)  # before the search, which may take long
    moves = list[dict[str, Any]]()
    try:
        solution = solver.solve_many([position], options.weak, time_limit=options.time_limit)[0]
    except NotProven as limit:
        bounds, status = limit.bounds, 1
        text = f"not proven: in [{bounds.lower}, {bounds.upper}] after {bounds.nodes:,} nodes"
        proven = bounds._asdict() | {"seconds": round(bounds.seconds, 6), "weak": options.weak}
        record |= {"score": None} | proven
    else:
        nodes, seconds, status = solver.nodes, solver.seconds, 0
        end = None if options.time_limit is None else began + options.time_limit
        line = None if options.weak else _best_line(solver, position, end)
        moves = _moves_with_values(position, solution, options.weak)
        lines = [f"{row['move']:>3} {row['score']:>4}  {row['value']:<4}{'  best' * row['best']}" for row in moves]
        lines.append(f"score {solution.score}: {_in_words(position, solution.score, options.weak)}")
        lines += [] if line is None else [f"best play: {line or 'the game is over'}"]
        text = "\n".join([*lines, f"{nodes:,} nodes, {seconds:.3f} s"])
        exact = {**solution._asdict(), "weak": options.weak, "best_play": line}
        record |= exact | {"nodes": nodes, "seconds": round(seconds, 6)}
    forms = {"json": lambda: as_json(record), "csv": lambda: csv_of(MOVE_COLUMNS, moves)}
    print_result(options, f"{board}\n{text}", forms, lambda _: print_fitted(text))
    return status


MOVE_COLUMNS = ("move", "score", "value", "best")
"""The columns of the moves as CSV."""


def _moves_with_values(position: Position, solution: Solution, weak: bool) -> list[dict[str, Any]]:
    """A row for each legal move."""
    rows = list[dict[str, Any]]()
    for action, score in enumerate(solution.action_scores):
        if score is not None:
            number = "" if weak or not score else moves_to_win(position.game, position.ply, score)
            move, value = format_moves(position.game, [action]), f"{'L=W'[np.sign(score) + 1]}{number}"
            cells = move, score, value, action in solution.best_actions
            rows.append(dict(zip(MOVE_COLUMNS, cells, strict=True)))
    return rows


def _in_words(position: Position, score: int, weak: bool) -> str:
    """The meaning of a score, as in "red X wins in 21 moves"."""
    if score == 0:
        return "a draw"
    winner = side_name(position.game, position.seat if score > 0 else 1 - position.seat)
    if weak or position.is_over:
        return f"{winner} {'has won' if position.is_over else 'wins'}"
    return f"{winner} wins in {moves_in_words(position.game, position.ply, score)}"


def _best_line(solver: Solver, position: Position, end: float | None) -> str:
    """A line of best play, in which each side plays its lowest best move; it ends in "..." if time is over."""
    played: list[int] = []
    while not position.is_over:
        try:
            left = None if end is None else max(0.0, end - time.monotonic())
            action = solver.best_actions(position, time_limit=left)[0]
        except NotProven:
            return f"{format_moves(position.game, played)}..."
        played.append(action)
        position = position.play(action)
    return format_moves(position.game, played)


SUFFIXES = (".svg", ".png", ".gif")
LAST = 4
"""The last picture of a GIF is shown this many times as long as the others."""


def add_render(parser: argparse.ArgumentParser) -> None:
    add_moves(parser)
    add_game_option(parser, of_players=False)
    add_file(parser, "-o", "--output", help=f"write a picture to this file, which ends in {', '.join(SUFFIXES)}")
    size = default_of(render_rgb, "cell_size")
    add_number(parser, "--cell-size", whole_number(1, 512), "the width of a cell", size, "PIXELS")
    add_number(parser, "--delay", decimal(0.02, 60), "how long a GIF shows each position", 0.7, "SECONDS")


def run_render(options: argparse.Namespace) -> int:
    """Draws a position or a whole game: as text, SVG, PNG, or a GIF that plays the game move by move.

    The suffix of the file chooses the format: .svg and .png show the last position, .gif shows the whole game. Without
    --output the board is printed as text.

    Examples:
      tictac render 15243
      tictac render 15243 -o position.svg
      tictac render 4453 --game ConnectFour-v0 -o position.png --cell-size 96
      tictac render 15243 -o game.gif --delay 0.5
    """
    position = Position.from_moves(chosen_game(options), " ".join(options.moves))
    game = game_name(position.game) or position.game
    if options.output is None:
        print_board(f"{game}\n{position}")
        return 0
    suffix = options.output.suffix.lower()
    if suffix == ".svg":
        save_text(options.output, render_svg(position, options.cell_size))
    elif suffix == ".png":
        with writing(options.output) as file:
            pillow().fromarray(render_rgb(position, options.cell_size)).save(file, "PNG", optimize=True)
    elif suffix == ".gif":
        save_gif(options.output, position, options.cell_size, options.delay)
    else:
        raise ValueError(f"--output must end in {', '.join(SUFFIXES)}, not {str(options.output)!r}")
    print(f"{options.output} ({game})")
    return 0


def save_gif(path: Path, position: Position, cell_size: int, delay: float) -> None:
    """Writes the game that led to a position as an endless GIF, a picture for each ply, the empty board first.

    Raises:
        ValueError: the position's moves are not known.
        gymnasium.error.DependencyNotInstalled: Pillow is missing.
    """
    pictures = [render_rgb(earlier, cell_size) for earlier in position.history()]
    images = pillow()
    palette = images.fromarray(np.concatenate(pictures)).quantize(256)  # the same for all, so that nothing flickers
    frames = [images.fromarray(pixels).quantize(palette=palette, dither=images.Dither.NONE) for pixels in pictures]
    milliseconds = [round(1000 * delay)] * len(frames)
    milliseconds[-1] *= LAST
    with writing(path) as file:
        frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=milliseconds, loop=0)


def pillow() -> ModuleType:
    """Pillow's module of images.

    Raises:
        gymnasium.error.DependencyNotInstalled: it is missing; the message names the line that installs it.
    """
    with needing("PNG and GIF need Pillow (SVG needs nothing)", "video"):
        from PIL import Image
    return Image


def add_info(parser: argparse.ArgumentParser) -> None:
    add_forms(parser, "the versions of the packages")


def run_info(options: argparse.Namespace) -> int:
    """Lists what is installed: versions, games, environments, players, the cache of machine code, and the machine.

    Examples:
      tictac info
      tictac info --json
    """
    installation = information()
    versions = [
        {"extra": extra, "package": name, "version": number}
        for extra, packages in installation["packages"].items()
        for name, number in packages.items()
    ]
    forms = {
        "json": lambda: as_json(installation),
        "csv": lambda: csv_of(("extra", "package", "version"), versions),
    }
    print_result(options, "\n".join(_lines(installation)), forms)
    return 0


class CacheInfo(TypedDict):
    """The cache of machine code."""

    folder: str
    persistent: bool
    """True if machine code is kept for later runs."""
    megabytes: float
    megabytes_of_other_versions: float


class Installation(TypedDict):
    """The installation, for JSON."""

    version: str
    folder: str
    python: str
    packages: dict[str, dict[str, str | None]]
    """The versions of the packages of each extra, "" for what is always installed; None for a missing package."""
    games: list[str]
    gymnasium: list[str]
    """Environments registered with Gymnasium."""
    pettingzoo: list[str]
    players: list[str]
    cache: CacheInfo
    system: str
    processor: str
    cores: int | None


def information() -> Installation:
    """The installation: what `tictac info` prints."""
    folder = Path(CACHE_FOLDER)
    gymnasium, aec = (
        [name for name, spec in registry.items() if str(spec.entry_point).startswith("tictac_env.")]
        for registry in (gym.registry, pettingzoo.aec_registry)
    )
    return {
        "version": tictac_env.__version__,
        "folder": str(Path(tictac_env.__file__).parent),
        "python": platform.python_version(),
        "packages": _packages(),
        "games": known_names(),
        "gymnasium": gymnasium,
        "pettingzoo": aec,
        "players": list(POLICIES),
        "cache": {
            "folder": str(folder),
            "persistent": KEPT,
            "megabytes": _megabytes(folder),
            "megabytes_of_other_versions": _megabytes(folder.parent) - _megabytes(folder) if KEPT else 0.0,
        },
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _lines(here: Installation) -> Iterator[str]:
    yield f"tictac-env {here['version']}, in {here['folder']}"
    yield f"Python {here['python']}; {here['system']}, {here['processor']}, {here['cores']} cores"
    for extra, packages in here["packages"].items():
        versions = ", ".join(f"{name} {number or 'missing'}" for name, number in packages.items())
        missing = f'; pip install "tictac-env[{extra}]"' if extra and None in packages.values() else ""
        yield f"{extra or 'base'}: {versions}{missing}"
    yield f"games: {', '.join(here['games'])}"
    yield f"gymnasium: {', '.join(here['gymnasium'])}"
    yield f"pettingzoo: {', '.join(here['pettingzoo'])}"
    yield f"players: {', '.join(here['players'])}"
    cache = here["cache"]
    yield f"cache: {cache['folder']}, {cache['megabytes']:.1f} MB" + (
        "" if cache["persistent"] else f"; not kept, set {VARIABLE}"
    )
    if cache["megabytes_of_other_versions"]:
        other = cache["megabytes_of_other_versions"]
        yield f"  other folders next to it belong to other versions, {other:.1f} MB, and may be deleted"


def _packages() -> dict[str, dict[str, str | None]]:
    """The versions of the packages of each extra (see `Installation`)."""
    versions: dict[str, dict[str, str | None]] = {}
    for line in (*(requires("tictac-env") or []), "torch; extra == 'rl'"):  # Stable-Baselines3 requires torch
        name, extra = re.match(r"([\w-]+)(?:.*extra == .(\w+))?", line).groups("")  # type: ignore[union-attr]
        if extra not in ("all", "teach"):  # these extras are made of others
            with contextlib.suppress(PackageNotFoundError):
                versions.setdefault(extra, {})[name] = None
                versions[extra][name] = version(name)
    return versions


def _megabytes(folder: Path) -> float:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return round(size / 1e6, 3)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):  # not Linux
        return platform.processor()
