"""The parts that the pages made from records share: the frame, sections, tables, lost games and mistakes.

`page.html` is the frame, `page.css` its style, and `page.js` steps through the boards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import NamedTuple

from tictac_apps.bench import charts
from tictac_apps.bench.bench_record import BoardSize, LosingLine
from tictac_apps.bench.charts import percent
from tictac_apps.bench.results import PHASES
from tictac_env.arena.records import Measure, SeatRecord

FRAME = Path(__file__).with_name("page.html")
FIRST_WINS = "Everybody loses that seat to perfect play: the first player can force a win."


def document(heading: str, lead: str, games: Sequence[tuple[str, str]], footer: Iterable[str], maker: str) -> str:
    """A page of one article for each game: an HTML document with its style and script, which loads nothing.

    Args:
        heading: its title (text).
        lead: the sentence below it (text).
        games: the title (text) and the article's content (HTML) of each game.
        footer: its lines (text).
        maker: the command that makes it.
    """
    articles, links = [], ""
    for number, (title, content) in enumerate(games, 1):
        articles.append(f'<article id="game-{number}">{content}</article>')
        links += f'<a href="#game-{number}">{escape(title)}</a>'
    return Template(FRAME.read_text(encoding="utf-8")).substitute(
        heading=escape(heading),
        lead=escape(lead),
        links=links,
        maker=escape(maker),
        style=FRAME.with_suffix(".css").read_text(encoding="utf-8"),
        script=FRAME.with_suffix(".js").read_text(encoding="utf-8"),
        games="\n".join(articles),
        footer="".join(f"<p>{escape(line)}</p>" for line in footer),
    )


def question(words: str, reply: str, why: str) -> str:
    """A question with its answer (HTML), and a sentence (text)."""
    return f"<div><dt>{escape(words)}</dt><dd><strong>{reply}</strong><p>{escape(why)}</p></dd></div>"


def section(title: str, what: str, *content: str) -> str:
    """A part of the page: its title, what it shows (text), and the content (HTML)."""
    return f'<section><h3>{escape(title)}</h3><p class="lead">{escape(what)}</p>{"".join(content)}</section>'


def card(name: str, content: str) -> str:
    """A player's name (HTML) above what is shown of it (HTML)."""
    return f'<div class="card"><h4>{name}</h4>{content}</div>'


def table(kind: str, label: str, headings: Sequence[str], rows: Iterable[tuple[str, Iterable[str]]]) -> str:
    """A table that scrolls by itself if it is wider than the screen.

    Args:
        kind: its class.
        label: its name for those who do not see it (text).
        headings: of the columns (HTML), "" for none.
        rows: the name of each (HTML), and its cells.
    """
    head = "".join(f'<th scope="col">{heading}</th>' if heading else "<td></td>" for heading in headings)
    body = "\n".join(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>' for name, cells in rows)
    content = f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">{content}</div>'


def player_name(name: str, yours: bool = False) -> str:
    """A player's name as HTML; players of the reader's are marked."""
    if not yours:
        return f'<span class="name">{escape(name)}</span>'
    return f'<span class="name yours">{escape(name)} <small>yours</small></span>'


def listed(names: Sequence[str]) -> str:
    """Names in a row, the last after "and"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def count(number: int, noun: str) -> str:
    """A number of things, as in "3,640 games"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def seat_words(truth: SeatRecord | None, lost: LosingLine | None) -> str:
    """The truth of a player in a seat, as the end of a sentence: "loses in 7 plies"."""
    unbeatable = truth.unbeatable if truth else None
    if unbeatable:
        return "cannot be beaten"
    if lost and "no legal move" in (lost.given_away or ""):
        return f"names no legal move at ply {lost.wrong_ply}"
    if lost:
        return f"loses in {'' if lost.shortest else 'at most '}{len(lost.cells)} plies"
    if unbeatable is False:
        return "can be beaten"
    won = truth.against_perfect.wins if truth else 0.0
    return f"wins {percent(won, 0)} of games against perfect play" if won else "is not known to lose"


def seats_words(first: str, second: str) -> str:
    """The truth of a player in both seats as a sentence, from the words of each."""
    return f"In both seats it {first}." if first == second else f"As first it {first}; as second it {second}."


def evidence(method: str) -> tuple[str, str]:
    """The kind of evidence of a verdict, by its method, and what was done, as a sentence."""
    return {
        "every reply walked": (
            "Every reply was walked",
            "Each of its games is known, whatever the opponent does: this is a proof.",
        ),
        "all games followed": ("Every game was followed", "All its games against perfect play are known."),
        "": ("By games only", ""),
    }.get(method, ("Games were sampled", f"Its games against perfect play: {method}."))


class LossFigure(NamedTuple):
    """A game that a player loses, to be drawn: the player's name, if it is the reader's, the seat, its truth there."""

    player: str
    yours: bool
    seat: str
    truth: SeatRecord | None
    line: LosingLine


def loss_figure(key: str, board: BoardSize, loss: LossFigure, place: str = "") -> str:
    """A lost game as a board, to which the script adds the controls.

    Args:
        key: of `charts.board_parts`, which must stand on the page before it.
        board: the game's.
        loss: the game.
        place: words that follow the player's name.

    Raises:
        ValueError: a stone lies outside the board.
    """
    line = loss.line
    note, wrong = line.given_away or "", line.wrong_ply
    words = f"{loss.player} loses as {loss.seat}: {line.moves}" + (f"; {note}" if note else "")
    data = f' data-mistake="{wrong}" data-note="{escape(note)}"' if wrong else ""
    picture = charts.board_of(key, board, words, line)
    name = player_name(loss.player, loss.yours)
    heading = f"<b>{name}</b>{escape(place)} as {loss.seat} {escape(seat_words(loss.truth, line))}"
    return f'<figure class="line"{data}><figcaption>{heading}</figcaption>{picture}</figure>'


def first_picture(key: str, board: BoardSize, figure: str | None) -> str:
    """The board of the first screen: a lost game (HTML), or the empty board if none is known."""
    if figure is None:
        empty = charts.board_of(key, board, "The empty board", None)
        figure = f"<figure>{empty}<figcaption>No lost game is known.</figcaption></figure>"
    return f'<div class="picture">{figure}</div>'


def lost_games(key: str, board: BoardSize, losses: Iterable[LossFigure], *, title: str, notes: str = "") -> str:
    """The section of the lost games, below notes (HTML); arguments as of `loss_figure`."""
    counted = "Columns are" if board.gravity else "Cells are counted row by row,"
    what = (
        "Each board ends a game that the player loses. Step through it by the buttons, the slider or the arrow keys. A "
        f"dashed ring marks the move that gave the game away. {counted} numbered from 1."
    )
    boards = "".join(loss_figure(key, board, loss) for loss in losses)
    return section(title, what, notes, f'<div class="lines">{boards}</div>')


def mistakes_by_phase(
    title: str, players: Sequence[tuple[str, bool, Sequence[Measure]]], suite: str, positions: int
) -> str:
    """The section of the mistakes in each phase of the game; "" if nobody's were counted.

    Args:
        title: its title.
        players: the name of each, if it is the reader's, and its measures.
        suite: the name of the positions.
        positions: their number.
    """
    shown = [player for player in players if player[2]]
    if not shown:
        return ""
    what = (
        f"Moves that give away a win or a draw, on {count(positions, 'position')} of {suite}, with "
        "95 % intervals. A dashed line shows random play."
    )
    measures = [measure for _, _, measures in shown for measure in measures]
    mistakes = [measure for measure in measures if measure.name == "mistakes" and measure.among in PHASES]
    highest = max(filter(None, (end for measure in mistakes for end in (measure.high, measure.random))), default=1.0)
    cards = (card(player_name(name, yours), charts.phase_chart(name, rows, highest)) for name, yours, rows in shown)
    return section(title, what, f'<div class="small">{"".join(cards)}</div>')
