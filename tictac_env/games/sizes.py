"""The sizes in a game's name: "KInARow-v0:5x6-4" has 5 rows, 6 columns and lines of 4.

After the id of a family and a colon stand the sizes, as in a call of the function that makes its games: values in the
order of its parameters, then parameters by name. Between values stands "x", "-" or a comma, whichever reads best.

    KInARow-v0:5x6-4                 rows=5, cols=6, connect=4
    KInARow-v0:4x4-3,gravity=False   rows=4, cols=4, connect=3, gravity=False
    KInARow-v0:connect=5             all else as usual
    Hex-v0:7                         size=7
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

WORDS = {"true": True, "false": False}
MAX_DIGITS = 9


def read_sizes(name: str, parameters: Sequence[str]) -> dict[str, int | bool]:
    """The sizes that a game's name gives after the colon, by the parameters of its family.

    Raises:
        ValueError: it does not give sizes so. Whether the family has parameters of these names is not checked.
    """
    sizes: dict[str, int | bool] = {}
    named = False
    for part in name.partition(":")[2].split(","):
        parameter, equals, value = part.partition("=")
        if equals:
            named = True
            pairs = [(parameter.strip(), value)]
        elif named:
            raise ValueError(f"{name!r}: {part!r} stands after a size that is given by its name, and so needs one too")
        else:
            values = re.split("[x-]", part)
            if len(sizes) + len(values) > len(parameters):
                raise ValueError(f"{name!r} gives more sizes than there are: {', '.join(parameters)}")
            pairs = list(zip(parameters[len(sizes) :], values, strict=False))
        for parameter, value in pairs:
            if parameter in sizes:
                raise ValueError(f"{name!r} gives {parameter} twice")
            sizes[parameter] = _read_value(name, parameter, value.strip())
    return sizes


def write_sizes(sizes: Mapping[str, Any], usual: Mapping[str, Any]) -> str | None:
    """What `read_sizes` reads so; None if these are not whole numbers, True and False.

    The whole numbers that come first are written in any case, the others only where they are not as `usual`.
    """
    if not all(type(value) in (bool, int) and value >= 0 for value in sizes.values()):
        return None
    text, named = "", False
    for parameter, value in sizes.items():
        named = named or type(value) is bool
        if named:
            text += f",{parameter}={value}" if value != usual[parameter] else ""
        else:
            between = "x" if parameter == "cols" else "-"
            text += f"{between if text else ''}{value}"
    return text.removeprefix(",")


def _read_value(name: str, parameter: str, text: str) -> int | bool:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise ValueError(f"{name!r}: {parameter} must be a whole number, True or False, not {text!r}")
    return int(text)
