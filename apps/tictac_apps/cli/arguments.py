"""The parser of a command, and the arguments that several commands take."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import math
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gymnasium.error import DependencyNotInstalled

from tictac_apps.command import WRONG
from tictac_env.checks import parse_whole
from tictac_env.games import Game, game_name
from tictac_env.games.registry import import_game, known_names
from tictac_env.jobs import Cluster, Workers
from tictac_env.policies import POLICIES, game_for
from tictac_env.policies.loading import ACCEPTED
from tictac_env.storage import check_writable, save_text

COMPLETE = "complete"
"""The attribute in which `shtab` looks for how an argument is completed."""


class CommandParser(argparse.ArgumentParser):
    """A parser that is filled when it is first used, and reports an error in one line.

    Args:
        fill: adds the description and the arguments, when the parser is first used; None if they are there already.
        keywords: those of `argparse.ArgumentParser`.
    """

    def __init__(self, *, fill: Callable[[CommandParser], None] | None = None, **keywords: Any) -> None:
        super().__init__(formatter_class=_Formatter, **keywords)
        self._fill = fill

    def fill(self) -> None:
        """Adds what is to be added, once."""
        fill, self._fill = self._fill, None
        if fill is not None:
            fill(self)

    def fill_all(self) -> None:
        """Fills the parser and those of its commands, as far as what they need is installed."""
        with contextlib.suppress(DependencyNotInstalled):
            self.fill()
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for command in action.choices.values():
                    command.fill_all()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As the base class's, but the command's own parser reports unknown arguments."""
        self.fill()
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> Any:
        """Reports the error in one line, with the choices for a missing word, and ends the program with status 2."""
        for action in self._actions:
            if action.choices and message.endswith(f"required: {action.metavar or action.dest}"):
                message += f", one of {', '.join(action.choices)}"
        self.exit(WRONG, f"{self.prog}: {message}; see {self.prog} --help\n")


class _Formatter(argparse.HelpFormatter):
    """Wraps paragraphs to the terminal's width, but leaves indented ones (examples) as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join(
            paragraph if paragraph.startswith(" ") else textwrap.fill(paragraph, width) for paragraph in paragraphs
        )


def add_game_option(parser: argparse.ArgumentParser, default: str = "TicTacToe-v0", of_players: bool = True) -> None:
    """Adds `--game`; `chosen_game` says which game it asks for, also if it is not given."""
    games = (
        f"{', '.join(known_names())}; with sizes, such as KInARow-v0:5x6-4 or KInARow-v0:4x4-3,gravity=False; or "
        "your own game as module:Name-v0 (the module is imported)"
    )
    otherwise = f"the game of the player's file, or else {default}" if of_players else default
    game = parser.add_argument("--game", type=game_named, metavar="GAME", help=f"{games} (default: {otherwise})")
    parser.set_defaults(default_game=default)
    complete_words(game, "games", known_names())


def game_named(text: str) -> str:
    """The name of a game as a command line gives it; the module of "module:Name-v0" is imported."""
    try:
        return import_game(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def chosen_game(options: argparse.Namespace, *players: str) -> Game:
    """The game of `--game`, else the one that the players' files name, else the command's default. If it is not given
    and the output is for programs, stderr names it.
    """
    game = game_for(options.game, *players, default=options.default_game)
    if options.game is None and any(vars(options).get(form) for form in ("json", "csv", "csv_games")):
        print(game_name(game) or game, file=sys.stderr)
    return game


def add_moves(parser: argparse.ArgumentParser) -> None:
    """Adds `moves`, which may be several words: "4453", or "4 4 5 3" without quotes."""
    told = "the moves so far, such as 4453, 4 4 5 3 or 4,4,5,3 (default: none, the empty board)"
    parser.add_argument("moves", nargs="*", metavar="MOVES", help=told)


def add_player(parser: argparse.ArgumentParser, *names: str, more: str = "", **keywords: Any) -> None:
    """Adds an argument that is a player; `more` ends its help, after the accepted forms."""
    player = parser.add_argument(*names, metavar="PLAYER", help=f"{ACCEPTED}{more}", **keywords)
    complete_words(player, "players", list(POLICIES), files=True)


def add_file(parser: argparse._ActionsContainer, *names: str, folder: bool = False, **keywords: Any) -> None:
    """Adds an argument that is a file, or a folder."""
    path = parser.add_argument(*names, **{"type": Path, "metavar": "FOLDER" if folder else "FILE", **keywords})
    setattr(path, COMPLETE, "directory" if folder else "file")


def complete_words(action: argparse.Action, name: str, words: Sequence[str], files: bool = False) -> None:
    """Has shells complete an argument by some words, and files if wanted, and allows all others."""
    listed = " ".join(words)
    bash, zsh = f'compgen -W "{listed}" -- "$1"', f"compadd -- {listed}"
    if files:
        bash, zsh = f'{bash}; compgen -f -- "$1"', f"{zsh}; _files"
    completed = {
        "bash": f"_tictac_{name}",
        "zsh": f"_tictac_{name}",
        "fish": listed + " (__fish_complete_path (commandline -ct))" * files,
        "preamble": {"bash": f"_tictac_{name}() {{ {bash}; }}", "zsh": f"_tictac_{name}() {{ {zsh} }}"},
    }
    setattr(action, COMPLETE, completed)


def add_json(parser: argparse._ActionsContainer) -> None:
    """Adds `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def add_forms(parser: argparse.ArgumentParser, **tables: str) -> argparse._ActionsContainer:
    """Adds the forms of a result, of which only one may be given, and `--output`; returns the group of the forms.

    The forms are `--json`, and a table for each keyword: `csv="the ratings"` adds `--csv`. `print_result` obeys them.
    """
    forms = parser.add_mutually_exclusive_group()
    add_json(forms)
    for name, rows in tables.items():
        forms.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=f"print {rows} as CSV")
    add_file(parser, "-o", "--output", type=_writable, help="also write the result to this file")
    return forms


def _writable(text: str) -> Path:
    """A path at which a file can be written, found out now and not after an hour."""
    path = Path(text)
    check_writable(path)
    return path


def print_result(
    options: argparse.Namespace,
    text: str,
    forms: Mapping[str, Callable[[], str]],
    show: Callable[[str], None] = print,
) -> None:
    """Prints or writes a result in the form that the options name.

    Args:
        options: those of `add_forms`.
        text: the result for people; it is also printed if a file is written.
        forms: the functions that make the other forms, by the names of their options.
        show: prints the text.
    """
    form = next((make().rstrip("\n") for name, make in forms.items() if vars(options)[name]), None)
    if options.output is None and form is not None:
        print(form, flush=True)
        return
    show(text)  # first, so that it is not lost if the file cannot be written
    sys.stdout.flush()
    if options.output is not None:
        save_text(options.output, (text if form is None else form) + "\n")
        print(options.output)


def add_workers(parser: argparse._ActionsContainer, default: int = 1) -> None:
    """Adds `--workers` and `--ray`; `chosen_workers` says what they ask for."""
    told = f"use N processes (default: {default}); with --ray, use N CPUs of the cluster (default: all)"
    add_number(parser, "--workers", whole_number(1), told)
    parser.add_argument(
        "--ray",
        nargs="?",
        const="",
        metavar="HOST:PORT",
        help="use the Ray cluster at this address (auto finds it); without an address, start a cluster here",
    )
    parser.set_defaults(default_workers=default)


def chosen_workers(options: argparse.Namespace) -> Workers:
    """The workers of `--workers` and `--ray`.

    Raises:
        ValueError: the address is invalid.
    """
    if options.ray is None:
        return int(options.workers or options.default_workers)
    return Cluster(options.ray or None, options.workers)


def add_number(
    parser: argparse._ActionsContainer,
    name: str,
    kind: Callable[[str], float],
    told: str,
    default: float | None = None,
    metavar: str = "N",
) -> None:
    """Adds an option that is a number (`whole_number`, `decimal`); its help ends with the default, if there is one."""
    told += "" if default is None else " (default: %(default)g)"
    parser.add_argument(name, type=kind, default=default, metavar=metavar, help=told)


def default_of(function: Callable[..., Any], parameter: str) -> Any:
    """The default of a function's parameter, for an option of the same meaning."""
    return inspect.signature(function).parameters[parameter].default


def add_seed(parser: argparse._ActionsContainer, default: int | None = 0) -> None:
    """Adds `--seed`."""
    shown = "a new seed each time" if default is None else str(default)
    told = f"the same seed gives the same results (default: {shown})"
    parser.add_argument("--seed", type=whole_number(), default=default, metavar="N", help=told)


@contextlib.contextmanager
def continuing(path: Path | None, what: str) -> Iterator[None]:
    """Work that a file keeps, if it is not None: where it is interrupted, stderr says that it can continue."""
    try:
        yield
    except (KeyboardInterrupt, ConnectionError):
        if path is not None and path.exists():
            print(f"\n{what} so far are in {path}; the same command continues from there", file=sys.stderr)
        raise


def as_json(value: Any) -> str:
    """A value as JSON that any program can read: no NaN, no infinities."""
    return json.dumps(value, indent=1, allow_nan=False)


def whole_number(low: int = 0, high: float = math.inf) -> Callable[[str], int]:
    """The type of an option whose value is an integer in [low, high]."""

    def read(text: str) -> int:
        found = parse_whole(text, low, high)
        if found is None:
            raise argparse.ArgumentTypeError(f"must be an integer {_range(low, high)}, not {text!r}")
        return found

    return read


def decimal(low: float = 0, high: float = math.inf) -> Callable[[str], float]:
    """The type of an option whose value is a finite number in [low, high]."""

    def read(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not (low <= found <= high and math.isfinite(found)):
            raise argparse.ArgumentTypeError(f"must be a number {_range(low, high)}, not {text!r}")
        return found

    return read


def _range(low: float, high: float) -> str:
    return f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
