"""The registry of games by name, and the sizes in a name: "KInARow-v0:5x6-4" has 5 rows, 6 columns and lines of 4.

The sizes follow the id of a family and a colon, as in a call of the function that makes its games: values in the order
of its parameters, then parameters by name. Values are separated by "x", "-" or a comma.

    KInARow-v0:5x6-4                 rows=5, cols=6, connect=4
    KInARow-v0:4x4-3,gravity=False   rows=4, cols=4, connect=3, gravity=False
    KInARow-v0:connect=5             all other sizes are the defaults
    Hex-v0:7                         size=7
"""

from __future__ import annotations

import difflib
import inspect
import operator
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tictac_env.games.contract import UNFINISHED, Game
from tictac_env.lazy import import_named
from tictac_env.storage import JsonObject

WORDS = {"true": True, "false": False}
MAX_DIGITS = 9


def read_sizes(name: str, parameters: Sequence[str]) -> dict[str, int | bool]:
    """The sizes after the colon of a game's name. The names of the parameters are not checked."""
    sizes: dict[str, int | bool] = {}
    named = False
    for part in name.partition(":")[2].split(","):
        parameter, equals, value = part.partition("=")
        # "connect=5" names its parameter; "5x6-4" are values in the order of the parameters, before any named one.
        if equals:
            named = True
            pairs = [(parameter.strip(), value)]
        elif named:
            raise ValueError(
                f"{shown(name)}: {shown(part)} follows a size that is given by its name, so it needs a name too"
            )
        else:
            values = re.split("[x-]", part)
            if len(sizes) + len(values) > len(parameters):
                raise ValueError(f"{shown(name)} gives more sizes than there are: {', '.join(parameters)}")
            pairs = list(zip(parameters[len(sizes) :], values, strict=False))
        for parameter, value in pairs:
            if parameter in sizes:
                raise ValueError(f"{shown(name)} gives {parameter:.100} twice")
            sizes[parameter] = _read_value(name, parameter, value.strip())
    return sizes


def write_sizes(sizes: Mapping[str, Any], usual: Mapping[str, Any]) -> str | None:
    """The sizes in the form that `read_sizes` reads, None if a name cannot hold them.

    The first integers are always written, the others only if they differ from `usual`.
    """
    if not all(type(value) in (bool, int) and value >= 0 for value in sizes.values()):
        return None
    text, named = "", False
    for parameter, value in sizes.items():
        named = named or type(value) is bool
        if named:
            text += f",{parameter}={value}" if value != usual[parameter] else ""
        else:
            separator = "x" if parameter == "cols" else "-"
            text += f"{separator if text else ''}{value}"
    return text.removeprefix(",")


def _read_value(name: str, parameter: str, text: str) -> int | bool:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise ValueError(f"{shown(name)}: {parameter:.100} must be an integer, True or False, not {shown(text)}")
    return int(text)


MAX_CELLS = 63
ID = re.compile(r"[A-Za-z][A-Za-z0-9_]*-v[0-9]+")
MODULE_AND_NAME = re.compile(rf"([^\W\d]\w*(?:\.[^\W\d]\w*)*):({ID.pattern}(?::.*)?)")
SIZES = re.compile(r"[0-9] ?[x,-] ?[0-9]")


class Family(NamedTuple):
    """Games of several sizes under one name."""

    make: Callable[..., Game]
    """Builds the game of given sizes; every parameter has a default."""
    default: Game
    """The game of the default sizes."""
    sizes: tuple[str, ...]
    """The names of the parameters of `make`."""


GAMES: dict[str, Game] = {}
"""The games of one size, by name."""
FAMILIES: dict[str, Family] = {}
"""The families of games, by name."""
TITLES = {"TicTacToe-v0": "Tic-tac-toe", "ConnectFour-v0": "Connect Four"}
"""The titles of the two games that are shown by one; others are shown by their names."""
SHORT = reprlib.Repr()
SHORT.maxlevel, SHORT.maxstring, SHORT.maxother = 2, 100, 100


def add_game(name: str, game: Game | Callable[..., Game]) -> None:
    """Adds a game, or a family by the function that makes a game of any size; see `tictac_env.register_game`."""
    if not isinstance(name, str) or not ID.fullmatch(name):
        raise ValueError(f"an id must be a word and a version, such as Hex-v0, not {name!r}")
    if name in GAMES or name in FAMILIES:
        raise ValueError(f"there is a game called {name!r} already")
    if isinstance(game, Game):
        check_board(game)
        GAMES[name] = game
    elif callable(game) and not (inspect.isclass(game) and inspect.isabstract(game)):
        parameters = inspect.signature(game).parameters.values()
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise ValueError(f"{name}: make must have parameters with names, not {parameter}")
            if parameter.default is parameter.empty:
                raise ValueError(f"{name}: {parameter.name} has no default, so the game cannot be made by its name")
        # A name without sizes means the default game, so it must be possible.
        default = game()
        if not isinstance(default, Game):
            raise ValueError(f"{name}: {game!r} must return a Game, got {default!r}")
        check_board(default)
        FAMILIES[name] = Family(game, default, tuple(parameter.name for parameter in parameters))
    else:
        raise ValueError(f"{name}: {game!r} is neither a Game nor a function that makes one")


def check_board(game: Game) -> None:
    """Checks the contract on the empty board; a ValueError names the violation."""
    for name in ("rows", "cols", "cells", "num_actions", "num_symmetries"):
        value: Any = getattr(game, name, None)
        check_int(value, f"{name} of {game!r}", low=1)
    if game.cells != game.rows * game.cols or game.cells > MAX_CELLS:
        raise ValueError(
            f"{game!r}: cells must be rows * cols = {game.rows * game.cols}, and at most {MAX_CELLS}, not {game.cells}"
        )
    if game.num_actions > game.cells:
        raise ValueError(f"{game!r}: there are {game.num_actions} actions, more than the {game.cells} cells")
    # Each cell has a bit of its own, and the choices are the first cells: masks are written like planes.
    bits = [game.cell(row, col) for row in range(game.rows) for col in range(game.cols)]
    for number, bit in enumerate(bits):
        if not 0 < bit < 1 << MAX_CELLS or bit.bit_count() != 1 or bit in bits[:number]:
            cell = divmod(number, game.cols)
            raise ValueError(f"{game!r}: cell {cell} must have a bit of its own below 2**63, not {bit}")
    choices = [game.choice(action) for action in range(game.num_actions)]
    if choices != bits[: game.num_actions]:
        raise ValueError(f"{game!r}: the choices must be the first {game.num_actions} cells, row by row")
    # The empty board is a position to move in.
    own, opp = game.start()
    check_int(game.winning_cells(own, 0), f"winning_cells of {game!r}")
    if own or opp or game.result(own, opp) != UNFINISHED:
        raise ValueError(f"{game!r}: a game must start from the empty board, and not be over there")
    legal = game.legal(own, opp)
    if not legal or legal | sum(choices) != sum(choices):
        raise ValueError(f"{game!r}: the legal actions of the empty board must be some of the choices, not {legal}")
    # Caches and compiled code find a game by its hash.
    try:
        hash(game)
    except TypeError as error:
        raise ValueError(f"{game!r} must be hashable, as frozen dataclasses are: {error}") from None


def check_int(value: object, what: str, low: int = 0) -> None:
    """Checks that a rule's result, named `what`, is an int of at least `low`, not True or False."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or operator.index(value) < low:
        raise ValueError(f"{what} must be an int of at least {low}, not {value!r}")


def get_game(game: str | Game) -> Game:
    """The game called `game`, or `game` itself.

    Args:
        game: a game, or a name, such as "ConnectFour-v0". A family's name may have sizes ("KInARow-v0:5x6-4", see
            `tictac_env.games.registry`); without sizes, it means the game of the default sizes.

    Raises:
        ValueError: there is no game of that name or of these sizes, or `game` is neither a name nor a game.

    Example:
        >>> from tictac_env.games import get_game
        >>> get_game("ConnectFour-v0").num_actions, get_game("KInARow-v0:5x6-4").num_actions
        (7, 6)
    """
    if not isinstance(game, str):
        if not isinstance(game, Game):
            raise ValueError(f"{shown(game)} is neither a Game nor a game's name; {did_you_mean('', known_names())}")
        return game
    # The names as they are registered.
    if game in GAMES:
        return GAMES[game]
    if game in FAMILIES:
        return FAMILIES[game].default
    if match := MODULE_AND_NAME.fullmatch(game):
        raise ValueError(f"no game is called {game!r}: import {match[1]} first, then name the game {match[2]!r}")
    # Otherwise a family's name with sizes; or a mistake, whose message hints at what may have been meant.
    name, sized, _ = game.partition(":")
    if sized and name in FAMILIES:
        return make_game(name, **read_sizes(game, FAMILIES[name].sizes))
    if sized and name in GAMES:
        raise ValueError(f"{name} is of one size, so {shown(game)} is not a game; {_sizes_hint()}")
    hint = f"; {_sizes_hint()}" if sized or SIZES.search(game) else ""
    if ID.fullmatch(name):
        hint += f"; a game of your own is known once its module is imported (--game module:{name} does it)"
    raise ValueError(f"no game is called {shown(game)}; {did_you_mean(name, known_names())}{hint}")


def import_game(text: str) -> str:
    """The name of a game, for `get_game`; for "module:Name-v0", first imports the module, which registers the game.

    For text that a user types, as on a command line. Names in files and requests belong to `get_game`, which imports
    nothing.

    Args:
        text: a game's name, with or without sizes ("Hex-v0", "Hex-v0:4"), or a module, a colon and such a name.

    Raises:
        ValueError: there is no such module, or it registers no game of that name.

    Example:
        >>> from tictac_env.games.registry import import_game
        >>> import_game("KInARow-v0:5x6-4"), import_game("tictac_env:ConnectFour-v0")
        ('KInARow-v0:5x6-4', 'ConnectFour-v0')
    """
    match = MODULE_AND_NAME.fullmatch(text)
    if match is None:
        return text
    module, name = match.groups()
    imported = import_named(module, text)
    if name.partition(":")[0] not in known_names():
        raise ValueError(f"{text!r}: no game is called {name!r} after the import of {imported.__file__ or module}")
    return name


def _sizes_hint() -> str:
    examples = [game_name_of_sizes(name, family.default) for name, family in FAMILIES.items()]
    return f"sizes are given after the name of a family, as in {' or '.join(filter(None, examples))}"


def make_game(name: str, **sizes: object) -> Game:
    """The game with this name, for a family the game of these sizes.

    Raises:
        ValueError: there is no game of that name, it has no such sizes, or no game of these sizes is possible.

    Example:
        >>> from tictac_env.games import make_game
        >>> make_game("KInARow-v0", rows=5, cols=6).cells
        30
    """
    if not sizes:
        return get_game(name)
    allowed = FAMILIES[name].sizes if name in FAMILIES else ()
    if unknown := [size for size in sizes if size not in allowed]:
        get_game(name)
        hint = f"; {did_you_mean(unknown[0], allowed)}" if allowed else ""
        raise ValueError(f"{name} has no {shown(unknown[0])}{hint}")
    return FAMILIES[name].make(**sizes)


def known_names() -> list[str]:
    """The names of all games and families."""
    return [*GAMES, *FAMILIES]


def game_name(game: Game) -> str | None:
    """The name by which `get_game` finds `game`: its own, or its family's with the sizes; None if there is none.

    Example:
        >>> from tictac_env.games import KInARow, game_name
        >>> game_name(KInARow.make(3, 3, 3, gravity=False)), game_name(KInARow.make(5, 6, 4, gravity=True))
        ('TicTacToe-v0', 'KInARow-v0:5x6-4')
    """
    own = _own_name(game)
    family = _family_of(game) if own is None else None
    return own if family is None else game_name_of_sizes(family, game)


def game_name_of_sizes(family: str, game: Game) -> str | None:
    """The name of a game of a family, with its sizes, including default ones; None if a name cannot hold them."""
    parameters = FAMILIES[family].sizes
    arguments = game.arguments
    sizes = write_sizes({size: arguments[size] for size in parameters}, FAMILIES[family].default.arguments)
    return f"{family}:{sizes}" if sizes else None


def _own_name(game: Game) -> str | None:
    """The name under which `game` is registered, a family's for its default sizes; otherwise None."""
    defaults = {name: family.default for name, family in FAMILIES.items()}
    return next((name for name, registered in (GAMES | defaults).items() if registered == game), None)


def _family_of(game: Game) -> str | None:
    for name, family in FAMILIES.items():
        if type(game) is type(family.default) and game.arguments.keys() == set(family.sizes):
            return name
    return None


def describe_game(game: Game) -> str | JsonObject:
    """A description for `game_of` and JSON: the game's name, or its family's "id" and the sizes.

    `gym.make` takes a mapping too: `gym.make(**description)`.

    Raises:
        ValueError: neither the game nor a family of it is registered.

    Example:
        >>> from tictac_env.games import describe_game, get_game
        >>> describe_game(get_game("TicTacToe-v0")), describe_game(get_game("KInARow-v0:5x6-4"))
        ('TicTacToe-v0', {'id': 'KInARow-v0', 'rows': 5, 'cols': 6, 'connect': 4, 'gravity': True})
    """
    name = _own_name(game)
    if name is not None:
        return name
    family = _family_of(game)
    if family is None:
        raise ValueError(f"{game!r} is not registered (see tictac_env.register_game), so it cannot be saved")
    return {"id": family, **game.arguments}


def gym_keywords(name: str) -> dict[str, Any]:
    """The keywords of `gym.make` for the game called `name`: "id" and any sizes in the name.

    Raises:
        ValueError: the name has sizes, and there is no such game.

    Example:
        >>> from tictac_env.games import gym_keywords
        >>> gym_keywords("TicTacToe-v0"), gym_keywords("KInARow-v0:5x6-4")
        ({'id': 'TicTacToe-v0'}, {'id': 'KInARow-v0', 'rows': 5, 'cols': 6, 'connect': 4, 'gravity': True})
    """
    family, sized, _ = name.partition(":")
    return {"id": family, **get_game(name).arguments} if sized and family in FAMILIES else {"id": name}


def game_of(description: str | Mapping[str, Any]) -> Game:
    """The game that `describe_game` described.

    Raises:
        ValueError: no game fits the description.

    Example:
        >>> from tictac_env.games import describe_game, game_of, get_game
        >>> game_of(describe_game(get_game("KInARow-v0:5x6-4"))) == get_game("KInARow-v0:5x6-4")
        True
    """
    if isinstance(description, str):
        return get_game(description)
    try:
        name, sizes = description["id"], {size: value for size, value in description.items() if size != "id"}
        return make_game(name, **sizes)
    except (KeyError, TypeError) as error:
        raise ValueError(f"no game fits {shown(description)}: {error}") from None


def shown(value: object) -> str:
    """The `repr` of a value for an error message: shortened, so that a large value does not flood the terminal.

    Example:
        >>> from tictac_env.games import shown
        >>> shown({state: [0.0] * 9 for state in range(2_000)})[:40]
        '{0: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ...],'
    """
    try:
        return SHORT.repr(value)
    except ValueError:  # it is or holds an int of more digits than Python writes
        return f"a very large {type(value).__name__}"


def did_you_mean(name: str, names: Iterable[str], listed: bool = False) -> str:
    """The end of an error message about an unknown name: similar names, or, unless the message has `listed` them, all.

    Example:
        >>> from tictac_env.games import did_you_mean
        >>> did_you_mean("TicTacTo-v0", ["TicTacToe-v0", "ConnectFour-v0"])
        'did you mean TicTacToe-v0?'
    """
    names = list(names)
    near = difflib.get_close_matches(name, names)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return "" if listed else f"known are {', '.join(names)}"
