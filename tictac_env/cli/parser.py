"""The parser of a command: filled when it is first used, and brief about errors."""

from __future__ import annotations

import argparse
import contextlib
import textwrap
from collections.abc import Callable
from typing import Any

from gymnasium.error import DependencyNotInstalled

WRONG = 2
"""The exit status after an error."""


class CommandParser(argparse.ArgumentParser):
    """A parser that is filled when it is first used, and tells errors in one line.

    Args:
        fill: adds the description and the arguments, when the parser is first used; None where they are there already.
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
        """As the base class's, but words that nothing stands for are told by the parser they were given to."""
        self.fill()
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> Any:
        """Tells what is wrong in one line, and ends the program with status 2."""
        self.exit(WRONG, f"{self.prog}: {message}; see {self.prog} --help\n")


class _Formatter(argparse.HelpFormatter):
    """Wraps paragraphs to the width of the terminal, but leaves indented ones (examples) as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join(
            paragraph if paragraph.startswith(" ") else textwrap.fill(paragraph, width) for paragraph in paragraphs
        )
