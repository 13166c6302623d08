"""Reports of a training to the server: lines of JSON, which are read back by the types of their fields."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import get_args

from tictac_apps.web.value_display import Explanation
from tictac_env.arena import WinDrawLoss
from tictac_env.arena.typed_json import read_as
from tictac_env.storage import read_json


@dataclass(frozen=True)
class AgainstPerfect:
    """The shares of games won, drawn and lost against perfect play from either seat; `exact` if all were followed."""

    first: WinDrawLoss
    second: WinDrawLoss
    exact: bool


@dataclass(frozen=True)
class WatchedThoughts:
    """The agent's thoughts after `at` games or steps about the position after `moves`."""

    at: int
    moves: str
    thoughts: Explanation


@dataclass(frozen=True)
class CurveReport:
    """A point of the curve; what is not measured, or not known, is None.

    Attributes:
        at: the number of games, of networks of steps.
        exact: True if the game is small, so that the figures are exact.
        first: the shares of games won, drawn and lost against random play as the first player.
        second: as the second player.
        exploitability: of a small game.
        unbeatable: of a small game.
        beaten_first: of a small game the shortest game that beats it as the first player.
        beaten_second: as the second player.
        lines: of a small game how many games it can win, draw and lose, over all replies from both seats.
        mistakes: of a large game the share of mistakes on known positions.
        perfect: of a large game the results against perfect play.
        opinion: the agent's thoughts about the position of the film.
    """

    at: int
    exact: bool
    first: WinDrawLoss | None
    second: WinDrawLoss | None
    exploitability: float | None
    unbeatable: bool | None
    beaten_first: str | None
    beaten_second: str | None
    lines: WinDrawLoss | None
    mistakes: float | None
    perfect: AgainstPerfect | None
    opinion: WatchedThoughts


@dataclass(frozen=True)
class ShownBackup:
    """A value before and after a backup: that of `seat` for the position after `ply` moves, or for a `move` there."""

    ply: int
    seat: int
    move: str | None
    before: float
    after: float


@dataclass(frozen=True)
class Lesson:
    """A game walked through after `at` games, with its backups in the order in which they were made."""

    at: int
    moves: str
    backups: tuple[ShownBackup, ...]


@dataclass(frozen=True)
class BeatenLevel:
    """The highest level that the agent beats after `at` games or steps; 0 if it beats none."""

    at: int
    level: int


@dataclass(frozen=True)
class Progress:
    """The number of games or steps so far."""

    done: int


@dataclass(frozen=True)
class End:
    """The end of a training: it was `stopped`, or the agent is `proven` unbeatable."""

    stopped: bool
    proven: bool


@dataclass(frozen=True)
class Failure:
    """An error that ended the training."""

    reason: str


Report = CurveReport | Lesson | WatchedThoughts | BeatenLevel | Progress | End | Failure
KINDS: dict[str, type[Report]] = {kind.__name__: kind for kind in get_args(Report)}


def report_line(report: Report) -> str:
    """The line of a report."""
    return json.dumps({"kind": type(report).__name__, **asdict(report)}) + "\n"


def read_report(line: str) -> Report:
    """The report of a line.

    Raises:
        ValueError: the line is not a report; the message has the place of the damage.
    """
    content = read_json(line)
    if not isinstance(content, dict) or content.get("kind") not in KINDS:
        raise ValueError(f"a report must be an object of a kind among {', '.join(KINDS)}, not {line[:100]!r}")
    return read_as(KINDS[content.pop("kind")], content)
