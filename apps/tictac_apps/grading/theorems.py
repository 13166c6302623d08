"""The theorems of a rubric: each asks an exam for replies, and finds how far it holds and an example against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_apps.grading.exam import Exam
from tictac_apps.grading.rubric import Criterion
from tictac_env.checks import SEATS
from tictac_env.games import DRAWN, LOST, WON
from tictac_env.position import Position, format_moves

Bools = npt.NDArray[np.bool_]
VALUES = {1: "won", 0: "drawn", -1: "lost"}
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Finding:
    """How far a theorem holds, a share in [0, 1], with the figures in words; a position in which it fails, and why."""

    share: float
    told: str
    example: Position | None = None
    why: str = ""


def never_illegal(exam: Exam, test: Criterion) -> Finding:
    """It answers each position with a legal move, without an error and in time."""
    rows = exam.counted
    return _counted(exam, rows, exam.moves(rows) >= 0, "legal moves", lambda row, move: "")


def takes_wins(exam: Exam, test: Criterion) -> Finding:
    """If a move wins at once, it plays one that does."""
    wins = exam.questions.wins_at_once
    rows = exam.counted[wins[exam.counted].any(axis=1)]
    return _one_of(exam, rows, wins, "wins taken", "wins at once")


def blocks(exam: Exam, test: Criterion) -> Finding:
    """If it cannot win at once and the other side could, with one move, it plays that move."""
    questions = exam.questions
    threats, counted = questions.threats, exam.counted
    rows = counted[~questions.wins_at_once[counted].any(axis=1) & (threats[counted].sum(axis=1) == 1)]
    return _one_of(exam, rows, threats, "blocks", "blocks")


def _one_of(exam: Exam, rows: Any, wanted: Bools, what: str, does: str) -> Finding:
    """The share of some positions in which it plays one of the moves wanted there."""
    right = _chosen(wanted, rows, exam.moves(rows))
    return _counted(exam, rows, right, what, lambda row, _: f"{_moves(exam, np.flatnonzero(wanted[row]))} {does}")


def keeps_value(exam: Exam, test: Criterion) -> Finding:
    """Its moves do not turn a won position into a drawn or a lost one, nor a drawn one into a lost one.

    Critical positions are those in which one of several moves keeps the value.
    """
    values, rows = exam.questions.values, exam.counted
    keeping = exam.questions.legal & (values == values.max(axis=1, keepdims=True))
    if test.options["among"] == "critical":
        rows = rows[(keeping[rows].sum(axis=1) == 1) & (exam.questions.legal[rows].sum(axis=1) > 1)]

    def why(row: int, move: int) -> str:
        before, after = values[row].max(), values[row, move]
        best = _moves(exam, np.flatnonzero(keeping[row]))
        return f"a position that is {VALUES[int(before)]} is then {VALUES[int(after)]}; better: {best}"

    return _counted(exam, rows, _chosen(keeping, rows, exam.moves(rows)), "values kept", why)


def never_beaten(exam: Exam, test: Criterion) -> Finding:
    """From that seat no legal replies at all make it lose; without a legal move it loses."""
    found = exam.verdict(SEATS.index(test.options["seat"]))
    if found.losing_line is None:
        return Finding(1.0, f"none of the {sum(found.lines):,} games that replies can lead to is lost")
    return Finding(0.0, f"it loses {found.losing_line or 'at once'}", *_lost(exam, found.losing_line))


def low_exploitability(exam: Exam, test: Criterion) -> Finding:
    """The best replies gain no more than `at_most` beyond the value of the game, on average over the seats."""
    found, most = exam.exploitability, test.options["at_most"]
    told = f"exploitability {found:.5f}"
    if found <= most + TOLERANCE:
        return Finding(1.0, told)
    line = next((one for seat in (0, 1) if (one := exam.verdict(seat).losing_line) is not None), None)
    return Finding(0.0, told) if line is None else Finding(0.0, told, *_lost(exam, line))


def beats_random(exam: Exam, test: Criterion) -> Finding:
    """From that seat it scores `at_least` (a draw is half a win) against uniformly random play, exactly."""
    shares = exam.verdict(SEATS.index(test.options["seat"])).against_random
    return Finding(float(shares.score), f"{shares.percentages} won, drawn and lost")


def agrees(exam: Exam, test: Criterion) -> Finding:
    """A function is right about every position.

    Its truth is "legal_moves" (the legal actions in any order, none once the game is over), "result" (1 or -1 if the
    stones of that number have a line, 0 for a draw, None while the game goes on) or "value" (what perfect play makes
    of the position for the side to move: 1, 0 or -1).
    """
    questions = exam.questions
    rows = np.arange(len(questions.batch)) if not exam.rubric.symmetric else np.flatnonzero(questions.different)
    replies = exam.replies(test.options["function"], test.options["arguments"], rows)
    truths = [_truth(exam, test.options["truth"], row) for row in rows.tolist()]
    right = [
        not reply.trouble and _same(reply.value, truth, test.options["truth"])
        for reply, truth in zip(replies, truths, strict=True)
    ]
    told = f"{sum(right):,} of {len(right):,} positions"
    if all(right):
        return Finding(1.0, told)
    wrong = right.index(False)
    reply = replies[wrong]
    said = reply.trouble or f"{test.options['function']} answers {repr(reply.value)[:60]}, not {truths[wrong]}"
    return Finding(sum(right) / len(right), told, questions.batch[int(rows[wrong])], said)


FINDERS: dict[str, Callable[[Exam, Criterion], Finding]] = {
    "never-illegal": never_illegal,
    "takes-wins": takes_wins,
    "blocks": blocks,
    "keeps-value": keeps_value,
    "never-beaten": never_beaten,
    "exploitability": low_exploitability,
    "beats-random": beats_random,
    "agrees": agrees,
}


def mistakes_of(exam: Exam) -> float:
    """The share of the positions in which its move gives value away, or is not legal."""
    values, rows = exam.questions.values, exam.counted
    keeping = values == values.max(axis=1, keepdims=True)
    return float(1 - _chosen(keeping, rows, exam.moves(rows)).mean())


def _counted(exam: Exam, rows: Any, right: Bools, what: str, why: Callable[[int, int], str]) -> Finding:
    """The share of some positions that is right, and the first that is wrong."""
    told = f"{int(right.sum()):,} of {len(right):,} {what}"
    if right.all():
        return Finding(1.0, told)
    row = int(rows[int(np.flatnonzero(~right)[0])])
    (move,) = exam.moves(np.array([row])).tolist()
    position = exam.questions.batch[row]
    if move < 0:
        return Finding(float(right.mean()), told, position, f"there it {exam.trouble(row)}")
    return Finding(float(right.mean()), told, position, f"there it plays {_moves(exam, [move])}; {why(row, move)}")


def _chosen(wanted: Bools, rows: Any, moves: Any) -> Bools:
    """bool: whether the move in each position is one of those wanted."""
    return np.asarray((moves >= 0) & wanted[rows, np.maximum(moves, 0)])


def _moves(exam: Exam, actions: Any) -> str:
    """Moves as boards show them, counted from 1, and as a submission returns them, counted from 0."""
    return " or ".join(f"{format_moves(exam.rubric.game, [int(one)])} (returned as {one})" for one in actions)


def _lost(exam: Exam, line: str) -> tuple[Position, str]:
    """Where a lost game ends, and if the rules did not end it, why it is lost there."""
    position, table = Position.from_moves(exam.rubric.game, line), exam.questions.table
    if position.is_over or table is None:
        return position, ""
    return position, f"there it {exam.trouble(table.index[position.own, position.opp])}"


def _truth(exam: Exam, kind: str, row: int) -> Any:
    questions = exam.questions
    if kind == "legal_moves":
        return np.flatnonzero(questions.legal[row]).tolist()
    if kind == "value":
        table = questions.table
        assert table is not None, "the theorem needs a table"
        return int(np.sign(table.score[row]))
    result = questions.batch[row].result
    return int(result) if result in (WON, DRAWN, LOST) else None


def _same(answer: Any, truth: Any, kind: str) -> bool:
    if kind == "legal_moves":
        if not isinstance(answer, list) or not all(isinstance(one, int) for one in answer):
            return False
        return bool(sorted(answer) == truth)
    if truth is None or answer is None or isinstance(answer, (bool, str, list)):
        return answer is None and truth is None
    return bool(answer == truth)
