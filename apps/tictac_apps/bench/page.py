"""The page of the main job: one HTML file that shows a record, and needs no other file.

`page.html` is its frame, `page.css` its style, and `page.js` steps through the boards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template

from tictac_apps.bench import charts
from tictac_apps.bench.bench_record import (
    AgentRecord,
    BenchRecord,
    GameResults,
    LosingLine,
    Pair,
    Rating,
)
from tictac_apps.bench.charts import percent
from tictac_apps.bench.results import PHASES, shares_text
from tictac_env.arena.records import FiniteEstimate
from tictac_env.arena.report import V_PERFECT, legend
from tictac_env.checks import SEATS

BAND = 0.95
"""The share of games won against random play from which the scatter is shaded."""
SHARES_KEY = '<p class="key"><i class="w"></i>won <i class="d"></i>drawn <i class="l"></i>lost</p>'
FORFEITS = 50
"""Number of forfeits listed."""


def page(content: BenchRecord) -> str:
    """The page that shows a record.

    Args:
        content: the record.

    Returns:
        An HTML document with its style and script, which loads nothing.

    Raises:
        ValueError: a stone of a losing line lies outside its board.
    """
    records = content.games
    titles = " and ".join(record.title for record in records)
    players, games = sum(len(record.agents) for record in records), sum(record.games for record in records)
    anchors = ((f"#game-{number}", record.title) for number, record in enumerate(records, 1))
    links = "".join(f'<a href="{anchor}">{escape(title)}</a>' for anchor, title in anchors)
    lead = (
        f"{_count(players, 'player')} met in {_count(games, 'game')}. Each was also judged by the exact value of every "
        f"move, so that the page says not only who wins, but who can be beaten, and how."
    )
    here = Path(__file__)
    return Template(here.with_suffix(".html").read_text(encoding="utf-8")).substitute(
        title=escape(f"{titles}: who plays best, and can it be beaten?"),
        heading=escape(titles),
        lead=escape(lead),
        links=links,
        style=here.with_suffix(".css").read_text(encoding="utf-8"),
        script=here.with_suffix(".js").read_text(encoding="utf-8"),
        games="\n".join(_game(record, f"g{number}", number, content) for number, record in enumerate(records, 1)),
        machine=_machine(content),
    )


def _game(record: GameResults, key: str, number: int, content: BenchRecord) -> str:
    """All about one game; `key` begins the ids of its parts."""
    plies = content.settings.opening_plies
    parts = [_first_screen(record, key), _ratings(record, plies), _random_beside_truth(record), _lines(record, key)]
    parts += [_mistakes(record), _learning(record), _cross_table(record), _players(record), _figures(record)]
    parts.append(_forfeits(record))
    title = f"<h2>{escape(record.title)}</h2>"
    return f'<article id="game-{number}">{charts.board_parts(key, record.board)}{title}{"".join(parts)}</article>'


def _first_screen(record: GameResults, key: str) -> str:
    """The answers that a newcomer looks for, first on players of the reader's, and the board of a lost game."""
    yours = [
        _answer("Yours", _name(agent), f"{_place(agent, record)} of {len(record.agents)}. {_seats_sentence(agent)}")
        for agent in record.agents
        if agent.yours
    ]
    best = record.agents[0]
    learner = next((agent for agent in record.agents if agent.training), best)
    if learner is best and best.training:
        answers = [_answer("Best player, and best learner", _name(best), _learner_sentence(best, record))]
    else:
        answers = [_answer("Best player", _name(best), _rating_sentence(best, record))]
        if learner is not best:
            answers.append(_answer("Best learner", _name(learner), _learner_sentence(learner, record)))
    answers.append(_answer("Is the best beatable?", *_beatable(best, record)))
    answers.append(_answer("How do we know?", *_evidence(best, record)))
    return f'<section class="first"><dl>{"".join([*yours, *answers])}</dl>{_picture(record, key)}</section>'


def _answer(question: str, answer: str, why: str) -> str:
    """A question with its answer (HTML), and a sentence (text)."""
    return f"<div><dt>{escape(question)}</dt><dd><strong>{answer}</strong><p>{escape(why)}</p></dd></div>"


def _rating_sentence(agent: AgentRecord, record: GameResults) -> str:
    low = agent.rating.low
    near = [other for other in record.agents if other is not agent and low is not None and _reaches(other.rating, low)]
    sentences = {0: "No other's interval overlaps.", 1: f"The interval of {near[0].name} overlaps." if near else ""}
    overlap = sentences.get(len(near), f"The intervals of {len(near)} others overlap.")
    scored = f"It scores {percent(agent.rating.score, 0)} of the points against all others."
    return f"Elo {agent.rating.text()}. {scored} {overlap}"


def _reaches(rating: Rating, elo: float) -> bool:
    """True if a rating's interval goes up to an Elo number."""
    high: float | None = rating.high
    return rating.unbounded != "below" and (high is None or high >= elo)


def _learner_sentence(agent: AgentRecord, record: GameResults) -> str:
    place = _place(agent, record)
    trained = agent.training.sentence if agent.training else ""
    sentence = f"{trained} {place} of {len(record.agents)} by rating."
    return sentence if place == "1st" else f"{sentence} {_seats_sentence(agent)}"


def _beatable(agent: AgentRecord, record: GameResults) -> tuple[str, str]:
    """The answer to "Is the best beatable?" for the best player, as HTML, and its reason, as text."""
    if agent.failure or not agent.verdict:
        return "Unknown", _seats_sentence(agent)
    seats = {seat: agent.unbeatable(seat) for seat in SEATS}
    beaten = [seat for seat, safe in seats.items() if safe is False]
    if len(beaten) == 2:
        answer = "Yes, from both seats"
    elif beaten:
        answer = f"Yes, {'but only ' if any(seats.values()) else ''}as {beaten[0]}"
    else:
        answer = "No: nothing beats it" if all(seats.values()) else "Nobody has beaten it"
    forced = " Everybody loses that seat to perfect play: the first player can force a win."
    return answer, _seats_sentence(agent) + (forced if beaten == ["second"] and _first_wins(record) else "")


def _first_wins(record: GameResults) -> bool:
    """True if a player wins every game as first against perfect play: the first player can force a win."""
    return any(_won(agent, "first") > 0.9999 and not agent.is_sampled("first") for agent in record.agents)


def _won(agent: AgentRecord, seat: str) -> float:
    """The share of games won against perfect play in a seat; 0 without a verdict."""
    truth = agent.seat(seat)
    return truth.against_perfect.wins if truth else 0.0


def _seats_sentence(agent: AgentRecord) -> str:
    """The truth of a player in both seats."""
    if agent.failure:
        return f"It could not be judged: {agent.failure}."
    if not agent.verdict:
        return "It was not judged."
    first, second = (_seat_words(agent, seat) for seat in SEATS)
    basis = agent.verdict.basis
    draws = f" {legend(basis)}" if basis == "draws its moves" else ""
    if first == second:
        return f"In both seats it {first}.{draws}"
    return f"As first it {first}; as second it {second}.{draws}"


def _seat_words(agent: AgentRecord, seat: str) -> str:
    """The truth of a player in a seat, as the end of a sentence: "loses in 7 plies"."""
    lost, unbeatable = agent.losing.of(seat), agent.unbeatable(seat)
    if unbeatable:
        return "cannot be beaten"
    if lost:
        return f"loses in {'' if lost.shortest else 'at most '}{len(lost.cells)} plies"
    if unbeatable is False:
        return "can be beaten"
    won = _won(agent, seat)
    return f"wins {percent(won, 0)} of games against perfect play" if won else "is not known to lose"


def _evidence(agent: AgentRecord, record: GameResults) -> tuple[str, str]:
    """The kind of evidence, as HTML, and what was done, as text."""
    method = agent.verdict.method if agent.verdict else ""
    evidence, proof = {
        "every reply walked": (
            "Every reply was walked",
            "Each of its games is known, whatever the opponent does: this is a proof. ",
        ),
        "all games followed": ("Every game was followed", "All its games against perfect play are known. "),
        "": ("By games only", ""),
    }.get(method, ("Games were sampled", f"Its games against perfect play: {method}. "))
    return evidence, (
        f"{proof}Moves were checked on {_count(record.suite.positions, 'position')} of known value, and "
        f"{_count(record.games, 'game')} played between all players."
    )


def _picture(record: GameResults, key: str) -> str:
    """The board of a lost game: of the reader's player, else of the best player that has one."""
    for agent in sorted(record.agents, key=lambda agent: not agent.yours):
        for seat in SEATS:
            if lost := agent.losing.of(seat):
                place = f", {_place(agent, record)} by rating,"
                return f'<div class="picture">{_stepper(agent, lost, seat, record, key, place)}</div>'
    empty = charts.board_of(key, record.board, "The empty board", None)
    return f'<div class="picture"><figure>{empty}<figcaption>No lost game is known.</figcaption></figure></div>'


def _stepper(agent: AgentRecord, lost: LosingLine, seat: str, record: GameResults, key: str, place: str = "") -> str:
    """A lost game as a board, to which the script adds the controls; `place` follows the player's name."""
    note, wrong = lost.given_away or "", lost.wrong_ply
    words = f"{agent.name} loses as {seat}: {lost.moves}" + (f"; {note}" if note else "")
    data = f' data-mistake="{wrong}" data-note="{escape(note)}"' if wrong else ""
    board = charts.board_of(key, record.board, words, lost)
    heading = f"<b>{_name(agent)}</b>{place} as {seat} {escape(_seat_words(agent, seat))}"
    return f'<figure class="line"{data}><figcaption>{heading}</figcaption>{board}</figure>'


def _ratings(record: GameResults, plies: int) -> str:
    resampled, scale = record.resampled, charts.rating_scale([agent.rating for agent in record.agents])
    rows = [
        f'<div class="row">{_name(agent)}{charts.whisker(agent.rating, scale)}'
        f'<span class="value">{escape(record.rating_text(agent))}</span></div>'
        for agent in record.agents
    ]
    first, draws = record.first_advantage, record.draws_between_equals
    what = (
        f"Elo from {_count(record.games, 'game')} between all pairs, from {_count(record.openings, 'opening')} "
        f"of {plies} plies and from both seats; {record.anchor} = 0. A line is the 95 % interval, from resampling "
        f"{resampled.number} {resampled.what}; an arrow means that the games set no bound."
    )
    note = f"To play first is worth {_interval(first, 1, ' Elo')}. Equals draw {_interval(draws, 100, ' %')} of games."
    rows.append(f'<div class="row"><span></span>{charts.rating_axis(scale)}</div>')
    chart = f'<div class="ratings" style="--steps: {len(scale.ticks()) - 1}">{"".join(rows)}</div>'
    shipped = [agent for agent in record.agents if agent.origin == "package"]
    notes = f'<p class="soft">{escape(note)}</p>'
    if shipped:
        notes += (
            f'<p class="soft">The verdicts and mistakes of {_names(shipped)} came with the package, and so did their '
            "games against each other. The rest was made in this run.</p>"
        )
    return _section("Ratings", what, chart, notes)


def _interval(estimate: FiniteEstimate, scale: float, unit: str) -> str:
    """An estimate with its 95 % interval."""
    value, low, high = (
        "no bound" if end is None else f"{scale * end:.0f}" for end in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value}{unit} ({low} to {high})"


class _Truth:
    """The measure of truth of a game: exploitability if every reply was walked, else mistakes on the suite."""

    def __init__(self, record: GameResults) -> None:
        verdicts = [agent.verdict for agent in record.agents if agent.verdict]
        self.exact = any(verdict.exploitability is not None for verdict in verdicts)
        self.name = "exploitability" if self.exact else "mistakes"
        self.words = "exploitability" if self.exact else "share of mistakes"

    def of(self, agent: AgentRecord) -> float | None:
        """The value for a player; None if it is not known."""
        if not self.exact:
            return agent.measured("mistakes")
        return agent.verdict.exploitability if agent.verdict else None

    def text(self, value: float) -> str:
        """A value, as people read it."""
        return f"{value:.3g}" if self.exact else percent(value)


def _random_beside_truth(record: GameResults) -> str:
    truth = _Truth(record)
    points = []
    for agent in record.agents:
        value = truth.of(agent)
        if agent.v_random and value is not None:
            rate = sum(agent.v_random.of(seat)[0] for seat in SEATS) / 2
            points.append(charts.Point(agent.name, rate, value, agent.yours))
    if not points:
        return ""
    best = [point.y for point in points if point.x >= BAND]
    sampled = any(agent.v_random and not agent.v_random.exact for agent in record.agents)
    what = f"Games{' (sampled)' * sampled} won against random play, the mean of both seats, beside the truth. "
    if len(best) > 1:
        what += (
            f"{len(best)} players win at least {percent(BAND, 0)} against random play: their {truth.words} goes from "
            f"{truth.text(min(best))} to {truth.text(max(best))}. "
        )
    for better in sorted(points, key=lambda point: (point.y, point.x)):
        fooled = [point for point in points if point.x > better.x + 0.001 and point.y > better.y]
        if fooled:
            worse = max(fooled, key=lambda point: (point.y, point.x))
            what += (
                f"{worse.name} wins {percent(worse.x)} and {better.name} {percent(better.x)}; yet the {truth.words} of "
                f"{worse.name} is {truth.text(worse.y)}, and {truth.text(better.y)} of {better.name}."
            )
            break
    up = "Exploitability: what the best replies gain" if truth.exact else f"Mistakes on {record.suite.name}"
    titles = "Games won against random play", up
    chart = charts.scatter(points, f"{titles[0]}, and {up.lower()}", *titles, not truth.exact, BAND)
    return _section(f"{percent(BAND, 0)} against random play says nothing", what, chart)


def _lines(record: GameResults, key: str) -> str:
    """The lost games of every player."""
    counted = "Columns are" if record.board.gravity else "Cells are counted row by row,"
    what = (
        "Each board ends a game that the player loses. Step through it by the buttons, the slider or the arrow keys. A "
        f"dashed ring marks the move that gave the game away. {counted} numbered from 1."
    )
    agents = record.agents
    boards = "".join(
        _stepper(agent, lost, seat, record, key)
        for agent in agents
        for seat in SEATS
        if (lost := agent.losing.of(seat))
    )
    safe = {seat: [agent for agent in agents if agent.unbeatable(seat)] for seat in SEATS}
    both = [agent for agent in agents if all(agent in safe[seat] for seat in SEATS)]
    notes = [("Nothing beats", both)]
    notes += [(f"As {seat} nothing beats", [agent for agent in safe[seat] if agent not in both]) for seat in SEATS]
    shown = [agent for agent in agents if any(map(agent.losing.of, SEATS))]
    notes.append(("No lost game is known of", [agent for agent in agents if agent not in shown and agent not in both]))
    sentences = "".join(f"<p>{words} {_names(named)}.</p>" for words, named in notes if named)
    return _section("The games that they lose", what, sentences, f'<div class="lines">{boards}</div>')


def _names(agents: Sequence[AgentRecord]) -> str:
    """Names in a row, the last after "and"."""
    names = [_name(agent) for agent in agents]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _mistakes(record: GameResults) -> str:
    suite = record.suite
    shown = [agent for agent in record.agents if agent.measures]
    if not shown:
        return ""
    what = (
        f"Moves that give away a win or a draw, on {_count(suite.positions, 'position')} of {suite.name}, with "
        "95 % intervals. A dashed line shows random play."
    )
    measures = [measure for agent in shown for measure in agent.measures]
    mistakes = [measure for measure in measures if measure.name == "mistakes" and measure.among in PHASES]
    highest = max(filter(None, (end for measure in mistakes for end in (measure.high, measure.random))), default=1.0)
    cards = (_card(agent, charts.phase_chart(agent.name, agent.measures, highest)) for agent in shown)
    return _section("Mistakes by phase of the game", what, f'<div class="small">{"".join(cards)}</div>')


def _learning(record: GameResults) -> str:
    curves = [(agent, agent.training.curve) for agent in record.agents if agent.training and agent.training.curve]
    if not curves:
        return ""
    truth = _Truth(record)
    points = [point for _, curve in curves for point in curve]
    highest = max((getattr(point, truth.name) or 0 for point in points), default=0) or 1.0
    exact = "" if all(point.v_perfect is None or point.v_perfect.exact for point in points) else " (sampled)"
    above = {
        "exploitability": "exact exploitability, what the best replies gain: at 0 nothing beats the player",
        "mistakes": f"the share of moves on {record.suite.name} that give away a win or a draw",
    }[truth.name]
    what = f"Above, {above}. Below, results against perfect play{exact}."
    cards = (_card(agent, charts.curve(agent.name, curve, truth.name, highest)) for agent, curve in curves)
    return _section("Learning curves", what, SHARES_KEY, f'<div class="curves">{"".join(cards)}</div>')


def _cross_table(record: GameResults) -> str:
    what = (
        "The score of the row's player against the column's in per cent; under it the games won/drawn/lost as first "
        "player, then as second."
    )
    pairs = {(pair.player, pair.opponent): pair for pair in record.pairs}
    agents = record.agents
    rows = [(_name(agent), [_score_cell(pairs.get((agent.name, other.name))) for other in agents]) for agent in agents]
    head = (f"<span>{_name(agent)}</span>" for agent in agents)
    return _section("Cross table", what, _table("cross", ["", *head], rows))


def _score_cell(pair: Pair | None) -> str:
    if pair is None:
        return "<td></td>"
    seats = "<br>".join("/".join(map(str, shares)) for shares in (pair.as_first, pair.as_second))
    kind, shade = "won" if pair.score >= 0.5 else "lost", round(200 * abs(pair.score - 0.5))
    return f'<td style="--{kind}:{shade}%"><b>{100 * pair.score:.0f}</b>{seats}</td>'


def _players(record: GameResults) -> str:
    """The learners with their training in one sentence and its command, and the other players in a list."""
    cards, rows = "", ""
    for agent in record.agents:
        training = agent.training
        search = f"Search: {agent.budget}. One-move rule: {agent.one_move_rule}."
        if training:
            effort = f"{training.cpu_seconds:.3g} CPU-seconds. {search} {agent.note}"
            sentence, command = escape(training.sentence), escape(training.command)
            shown = f'<p>{sentence}</p><pre><code>{command}</code></pre><p class="soft">{escape(effort)}</p>'
            cards += _card(agent, shown)
        else:
            rows += f"<div><dt>{_name(agent)}</dt><dd>{escape(agent.note)} <span>{escape(search)}</span></dd></div>"
    what = "A command trains the learner again, with the same result. The other players were not trained in this run."
    shown = f'<div class="players">{cards}</div>' if cards else ""
    return _section("How each was trained", what, shown, f'<dl class="others">{rows}</dl>' if rows else "")


def _figures(record: GameResults) -> str:
    """All figures in one table, which opens on a click."""
    figures = {_name(agent): _figures_of(agent, record) for agent in record.agents}
    head = ["", *map(escape, next(iter(figures.values())))]
    rows = [(name, [f"<td>{escape(cell)}</td>" for cell in row.values()]) for name, row in figures.items()]
    what = (
        "On critical positions only one move keeps the value. Regret is the value given away a move (win 1, draw 0, "
        "loss -1). Perfect moves also win soonest or resist longest. Times are CPU-seconds; of a move, wall-clock."
    )
    if _Truth(record).exact:
        what += f" {V_PERFECT}"
    return f'<details><summary>All figures</summary><p class="soft">{what}</p>{_table("figures", head, rows)}</details>'


def _figures_of(agent: AgentRecord, record: GameResults) -> dict[str, str]:
    """The figures of a player by their titles."""
    rating, truth, v_random = agent.rating, _Truth(record), agent.v_random
    row = {
        "Elo (95 %)": record.rating_text(agent),
        "score": percent(rating.score),
        "games": f"{rating.games:,}",
        "forfeits": str(rating.forfeits),
    }
    if truth.exact:
        row["exploitability"] = _optional(truth.of(agent), ".4f")
    for seat in SEATS:
        exact = agent.seat(seat)
        row[f"as {seat} v perfect, W/D/L %"] = _sampled(
            exact.against_perfect if exact else None, agent.is_sampled(seat)
        )
        row[f"as {seat} v random, W/D/L %"] = _sampled(v_random.of(seat), not v_random.exact) if v_random else ""
    return row | {
        "mistakes": percent(agent.measured("mistakes")),
        "critical mistakes": percent(agent.measured("mistakes", "critical")),
        "perfect moves": percent(agent.measured("perfect")),
        "regret": _optional(agent.measured("regret"), ".3f"),
        "judged, CPU-s": _optional(agent.seconds.judge, ".1f"),
        "ms a move": _optional(agent.seconds.move, ".3g", 1000),
    }


def _sampled(shares: Sequence[float] | None, sampled: bool) -> str:
    """Shares won, drawn and lost, and if they were sampled; "" for None."""
    return f"{shares_text(shares)}{' sampled' * sampled}" if shares else ""


def _optional(value: float | None, form: str, scale: float = 1) -> str:
    return "" if value is None else format(scale * value, form)


def _forfeits(record: GameResults) -> str:
    forfeits = record.forfeits
    if not forfeits:
        return ""
    rows = [
        (escape(forfeit.player), [f"<td>{escape(cell)}</td>" for cell in (forfeit.moves, forfeit.why)])
        for forfeit in forfeits[:FORFEITS]
    ]
    first = f"; the first {FORFEITS}" if len(forfeits) > FORFEITS else ""
    what = f"{_count(len(forfeits), 'game')} lost by an illegal move, an error or the clock{first}."
    return _section("Forfeits", what, _table("forfeits", ["player", "moves", "why"], rows))


def _machine(content: BenchRecord) -> str:
    """When, on what and for how long the job ran."""
    machine, seconds, settings = content.machine, content.seconds, content.settings
    packages = ", ".join(f"{name} {number}" for name, number in machine.packages.items())
    spent = ", ".join(
        f"{name} {time:.1f} s" for name, time in vars(seconds).items() if time is not None and name != "total"
    )
    lines = (
        f"{machine.date}: the {settings.setting} setting, seed {settings.seed}, at most "
        f"{settings.time_limit:g} seconds a move.",
        f"{machine.processor}, {machine.cores} cores, {machine.system}, Python {machine.python}; {packages}.",
        f"{seconds.total:.0f} seconds of wall-clock in all. Its parts: {spent}; compile, train and judge are "
        "CPU-seconds of all processes, which overlap.",
    )
    return "".join(f"<p>{escape(words)}</p>" for words in lines)


def _section(title: str, what: str, *content: str) -> str:
    """A part of the page: its title, what it shows (text), and the content (HTML)."""
    return f'<section><h3>{escape(title)}</h3><p class="lead">{escape(what)}</p>{"".join(content)}</section>'


def _card(agent: AgentRecord, content: str) -> str:
    """A player's name above what is shown of it (HTML)."""
    return f'<div class="card"><h4>{_name(agent)}</h4>{content}</div>'


def _table(kind: str, headings: Sequence[str], rows: Iterable[tuple[str, Iterable[str]]]) -> str:
    """A table that scrolls by itself if it is wider than the screen.

    Args:
        kind: its class.
        headings: of the columns (HTML), "" for none.
        rows: the name of each (HTML), and its cells.
    """
    head = "".join(f'<th scope="col">{heading}</th>' if heading else "<td></td>" for heading in headings)
    body = "\n".join(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>' for name, cells in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{kind}"><table class="{kind}"><thead><tr>{head}'
        f"</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _name(agent: AgentRecord) -> str:
    """A player's name as HTML; players of the reader's are marked."""
    if not agent.yours:
        return f'<span class="name">{escape(agent.name)}</span>'
    return f'<span class="name yours">{escape(agent.name)} <small>yours</small></span>'


def _place(agent: AgentRecord, record: GameResults) -> str:
    """The place of a player by rating, as in "3rd"."""
    place = record.place(agent)
    end = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{end}"


def _count(number: int, noun: str) -> str:
    """A number of things, as in "3,640 games"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
