"""Verdicts as notebooks show them: a small table, and below it the shortest lost game, board by board.

Text and lines have no colours of their own but the notebook's, so that they can be read in light and in dark ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from tictac_env.arena.outcomes import percentage
from tictac_env.arena.verdicts import BASES, V_BEST
from tictac_env.games import Game
from tictac_env.position import Position
from tictac_env.render.scene import render_svg
from tictac_env.render.text import move_caption

if TYPE_CHECKING:
    from tictac_env.arena.results import GameResults
    from tictac_env.arena.verdicts import Verdict
    from tictac_env.arena.walk import SeatResult


CELL_SIZE = 18
"""Pixels a cell of the small boards measures."""
RULE = "1px solid rgba(128, 128, 128, 0.5)"
CELL = "padding: 3px 12px 3px 0; text-align: {}; font-variant-numeric: tabular-nums"


def verdict_html(found: Verdict) -> str:
    """A verdict as HTML: its numbers for each seat, and the shortest game that it loses from it as boards."""
    seats = (("first", found.as_first), ("second", found.as_second))
    title = f"{found.policy} ({found.basis}): exploitability {found.exploitability:.5f}"
    heads = ("plays", "can be beaten", "v random, W/D/L", "v best, W/D/L", "best reply gains")
    rows = [
        (
            name,
            beaten_by(seat.losing_line, seat.given_away),
            seat.against_random.percentages,
            seat.against_best.percentages,
            f"{seat.gain:.5f}",
        )
        for name, seat in seats
    ]
    legend = f"<p>{escape(f'{BASES[found.basis]}; {V_BEST}')}</p>"
    games = [lost_game(name, seat.losing_line, found.game) for name, seat in seats]
    return page(title, heads, rows, [legend, *games])


def beaten_by(line: str | None, given_away: str | None) -> str:
    """Whether a seat can be beaten, by which game, and which move lost that."""
    return "no: infallible" if line is None else f"yes, by {line}" + (f" ({given_away})" if given_away else "")


def results_html(found: GameResults) -> str:
    """The results of games against some opponents as HTML: a row for each opponent and seat."""
    heads = ("against", "plays", "won %", "drawn %", "lost %", "", "decided after")
    rows = [
        (one.opponent, name, *_shares(seat), _how_known(seat), f"{seat.plies:.1f} plies")
        for one in found.against
        for name, seat in (("first", one.as_first), ("second", one.as_second))
    ]
    return page(f"{found.policy} ({found.basis}) on {found.game}", heads, rows)


def _shares(seat: SeatResult) -> list[str]:
    if seat.exact:
        return [f"{100 * share:.3f}" for share in seat.shares]
    both = zip(seat.shares, seat.intervals, strict=True)
    return [percentage(share, interval).replace(" %", "") for share, interval in both]


def _how_known(seat: SeatResult) -> str:
    return "exact" if seat.exact else f"sampled, {seat.games:,} games"


def page(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], below: Iterable[str] = ()) -> str:
    """A title, a table, and what stands below it."""
    parts = [
        f'<div class="tictac-verdict"><p style="margin: 4px 0"><b>{escape(title)}</b></p>',
        table(heads, rows),
        *below,
        "</div>",
    ]
    return "\n".join(part for part in parts if part)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    parts = [
        '<table style="border-collapse: collapse; margin: 0; background: none; color: inherit; font-size: inherit">',
        _row("th", heads),
        *(_row("td", row) for row in rows),
        "</table>",
    ]
    return "\n".join(parts)


def _row(tag: str, cells: Sequence[str]) -> str:
    style = CELL.format("left")
    inner = "".join(f'<{tag} style="{style}">{escape(cell)}</{tag}>' for cell in cells)
    return f'<tr style="border-bottom: {RULE}; background: none">{inner}</tr>'


def lost_game(name: str, line: str | None, game: Game) -> str:
    """The boards of a game lost as `name` ("first" or "second"), a board for each move; nothing if there is none."""
    if line is None:
        return ""
    moves = Position.from_moves(game, line).moves
    boards = "\n".join(_board(game, moves[: ply + 1]) for ply in range(len(moves)))
    told = escape(f"As {name} it loses {line}:")
    return (
        f'<p style="margin: 8px 0 2px">{told}</p>\n'
        f'<div style="display: flex; flex-wrap: wrap; gap: 4px 8px">\n{boards}\n</div>'
    )


def _board(game: Game, moves: tuple[int, ...]) -> str:
    """The board after some moves, with the number of the last one and its name below it."""
    picture = render_svg(Position.from_moves(game, moves), CELL_SIZE, background=False)
    return (
        f'<figure style="margin: 0; text-align: center">{picture}'
        f'<figcaption style="font-size: 85%">{move_caption(game, moves)}</figcaption></figure>'
    )
