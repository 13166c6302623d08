"""What came of grading a submission: a record that JSON can hold, and how people read it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

PAGE = "http://127.0.0.1:8000/"
"""Where `tictac serve` shows games."""
CONFINED = {
    "limits": "limits of time, memory and files",
    "namespaces": "other files, processes and networks are not there for it, by bubblewrap",
    "files": "no files but its own, by Landlock",
    "calls": "no network and no other processes, by seccomp",
    "hook": "unconfined: Python's audit hook alone keeps it from the rest, which is no sandbox",
}
"""What each layer keeps a submission to, in words."""


@dataclass(frozen=True)
class Result:
    """What came of one line of a rubric.

    Attributes:
        name: the theorem.
        title: what it says.
        points: what it is worth.
        earned: what the submission gets for it.
        share: in [0, 1], how far it holds.
        told: the figures, in words.
        why: what is wrong in the example, or why it could not be found out.
        moves: the game that leads to the example, as a move string; None where there is none.
        board: the example as text.
        link: where the game can be replayed.
        cell: the `grade_id` of nbgrader's cell.
        visibility: Gradescope's.

    Example:
        >>> from tictac_env.grading import Result
        >>> told = "it loses 12437"
        >>> result = Result("unbeaten", "no reply beats it", 15, 0, 0.0, told, "", "12437", "", "", "", "visible")
        >>> result.moves
        '12437'
    """

    name: str
    title: str
    points: float
    earned: float
    share: float
    told: str
    why: str
    moves: str | None
    board: str
    link: str
    cell: str
    visibility: str

    @property
    def passed(self) -> bool:
        """Whether it earned all points."""
        return self.earned >= self.points

    @property
    def output(self) -> str:
        """All that is to be said of it, in lines."""
        lines = [self.told, *([self.why] if self.why else [])]
        return "\n".join([*lines, *([self.board] if self.board else []), *([self.link] if self.link else [])])


@dataclass(frozen=True)
class Grade:
    """What came of grading a submission. Everything in it is what JSON can hold.

    Attributes:
        submission: whose it is, or the name of its file.
        assignment: the name of the assignment.
        game: the name of the game.
        version: the version of this package.
        score: the points earned.
        points: the points there are.
        results: one for each line of the rubric, in its order.
        exploitability: what the best replies gain, see `tictac_env.exploitability`; None where nothing plays, or the
            game is too large.
        mistakes: the share of positions in which its move gives value away or is not legal; None where nothing plays.
        trouble: what went wrong apart from the theorems: it could not be run, was given up, or its training failed.
        layers: what the system kept it from, see `CONFINED`.
        seconds: how long it took, by the clock.
        printed: what it has printed, cut off.
        moves: what it plays, -1 for nothing legal, by the number of the position; not part of the JSON.

    Example:
        >>> from tictac_env.grading import Grade
        >>> found = Grade("ann.py", "rules", "TicTacToe-v0", "0.1.0", 12.0, 20.0, (), None, None, "", (), 0.5, "")
        >>> f"{found.submission}: {found.score:g} of {found.points:g} points"
        'ann.py: 12 of 20 points'
    """

    submission: str
    assignment: str
    game: str
    version: str
    score: float
    points: float
    results: tuple[Result, ...]
    exploitability: float | None
    mistakes: float | None
    trouble: str
    layers: tuple[str, ...]
    seconds: float
    printed: str
    moves: dict[int, int] = field(default_factory=dict, repr=False, compare=False)

    @property
    def reason(self) -> str:
        """Reason for missing points: the trouble, or the first thing that is wrong; empty if none is missing."""
        if self.score >= self.points:
            return self.trouble
        return self.trouble or next((result.why for result in self.results if not result.passed and result.why), "")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON has it."""
        found = asdict(self)
        del found["moves"]
        return found

    def to_json(self) -> str:
        """The record as JSON: an object with the attributes above, but for `moves`."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.submission}: {self.assignment}, {self.score:g} of {self.points:g} points"
        if self.trouble:
            yield f"  {self.trouble}"
        for result in self.results:
            mark = "+" if result.passed else "-"
            yield f"  {mark} {result.earned:g}/{result.points:g}  {result.title}: {result.told}"
            if not result.passed:
                shown = [result.why, *result.board.splitlines(), result.link]
                yield from (f"        {line}" for line in shown if line)
        if self.mistakes is not None:
            told = "" if self.exploitability is None else f"exploitability {self.exploitability:.5f}, "
            yield f"  {told}mistakes {100 * self.mistakes:.2f} %"
        yield f"  {self.seconds:.1f} s; {confined(self.layers)}"


def confined(layers: Sequence[str]) -> str:
    """Words for what some layers keep a submission to."""
    return "; ".join(CONFINED[layer] for layer in layers if layer in CONFINED) or "it was not run"


def replay_link(page: str, game: str, moves: str) -> str:
    """The address at which the page shows a game (see `tictac serve`), from its first move on."""
    return f"{page}#view=play&game={quote(game, safe=':,')}&moves={moves}&opponent=nobody"
