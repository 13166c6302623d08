"""Settings as options of a command, explained by their docstrings."""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from tictac_agents.settings import GameSettings
from tictac_env.cli.arguments import game_named


def add_arguments(parser: argparse._ActionsContainer, base: GameSettings) -> None:
    """Adds an option for each setting, whose default is that of `base`. The result lacks those that are not given;
    `settings_from` reads it.
    """
    explained = explanations(type(base))
    for one in fields(base):
        parser.add_argument(
            f"--{one.name.replace('_', '-')}",
            nargs="+",
            type=game_named if one.name == "game" else str,
            metavar="VALUE",
            default=argparse.SUPPRESS,
            help=f"{explained[one.name]} (default: {_in_words(getattr(base, one.name))})".replace("%", "%%"),
        )


def settings_from(arguments: argparse.Namespace, base: GameSettings) -> GameSettings:
    """`base` with the changes of the command line.

    Raises:
        ValueError: a value is of a wrong type.
    """
    given = {one.name: _read(getattr(arguments, one.name)) for one in fields(base) if one.name in arguments}
    return base.changed(**given)


def explanations(kind: type[GameSettings]) -> dict[str, str]:
    """The explanation of each setting, from the "Attributes" of the docstrings."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__[:-1]):
        attributes = inspect.cleandoc(one.__doc__ or "").partition("Attributes:\n")[2]
        for entry in re.split(r"^    (?=\w)", attributes, flags=re.MULTILINE)[1:]:
            name, _, text = entry.partition(": ")
            found[name] = " ".join(text.split())
    return found


def _in_words(value: Any) -> str:
    """A value, written as on the command line."""
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    if isinstance(value, str):
        return value
    return "none" if value is None else json.dumps(value)


def _read(words: Sequence[str]) -> Any:
    """A value from the command line: JSON where possible, None for "none", else a str; a tuple of several."""
    values = []
    for word in words:
        try:
            values.append(None if word == "none" else json.loads(word))
        except ValueError:
            values.append(word)
    return tuple(values) if len(values) > 1 else values[0]
