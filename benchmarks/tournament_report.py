"""The record of a tournament, results.json, and its report: one HTML page that needs no other file.

    python benchmarks/tournament_report.py    # makes the page again from the record, after a change of its looks

`tournament_report.html` is the page's frame and style.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import ceil, floor, isfinite, log10
from pathlib import Path
from string import Template
from typing import Any

from benchmarks.records import RESULTS, add_output, parser_of
from tictac_agents.bench.records import Row
from tictac_env.arena import Audit, Estimate, MatchResult, Ratings, Tournament
from tictac_env.games import game_name
from tictac_env.storage import save_text

FRAME = Path(__file__).with_suffix(".html")
PHASES = ("opening", "middle", "end")
CLASS = re.compile('<td class="(words|cell|bar)')
Record = Mapping[str, Any]


def game_record(
    title: str,
    tournament: Tournament,
    ratings: Ratings,
    audits: Mapping[str, Mapping[str, Any]],
    trainings: Mapping[str, Mapping[str, Any]],
    rules: Mapping[str, str],
) -> dict[str, Any]:
    """The record of one game's players, best first.

    Args:
        title: of the game.
        tournament: its games.
        ratings: of its players.
        audits: for each player's name its `Audit`, as JSON has it.
        trainings: for each learner that was trained for this how it went (`tournament.train`).
        rules: for each player the state of its one-move rule.
    """
    rated = {row.pop("player"): row for row in ratings.table()}
    agents = []
    for name in ratings.names:
        found = audits[name]
        who = {key: found["player"][key] for key in ("kind", "agent", "settings", "checkpoint_sha256", "budget")}
        run = trainings.get(name)
        training = run and {key: run[key] for key in ("steps", "games", "measure", "curve")}
        shown = {"name": name, **who, "one_move_rule": rules[name], "training": training}
        agents.append(shown | {"rating": rated[name], "verdict": found["verdict"], "measures": found["measures"]})
    first = audits[ratings.names[0]]
    return {
        "game": game_name(tournament.game),
        "title": title,
        "games": len(tournament.games),
        "distinct_games": sum(len(moves) for moves in _moves_by_pair(tournament).values()),
        "openings": len({record.fixture.opening for record in tournament.games}),
        "suite": {key: first["suite"][key] for key in ("name", "sha256", "positions")},
        "anchor": ratings.anchor,
        "first_advantage": _estimate(ratings.first_advantage),
        "draws_between_equals": _estimate(ratings.draws),
        "resampled": {"number": ratings.clusters, "what": ratings.resampled_by},
        "agents": agents,
        "pairs": _pairs(tournament, ratings),
        "forfeits": [
            {"player": record.forfeited_by, "moves": record.moves, "reason": record.forfeit}
            for record in tournament.forfeits
        ],
    }


def _pairs(tournament: Tournament, ratings: Ratings) -> list[dict[str, Any]]:
    """For each ordered pair of players how their games ended for the first of them, and what the ratings expect."""
    found = []
    for row in ratings.cross_table():
        match: MatchResult = tournament.matches[row["player"], row["opponent"]]
        seats = {"as_first": list(match.as_first), "as_second": list(match.as_second)}
        scores = {"score": round(row["score"], 6), "expected": round(row["expected"], 6)}
        found.append({"player": row["player"], "opponent": row["opponent"], "games": row["games"]} | seats | scores)
    return found


def _estimate(one: Estimate) -> dict[str, float | None]:
    """An estimate with its interval, None where there is no bound."""
    ends = ("value", "low", "high")
    return {name: round(number, 6) if isfinite(number) else None for name, number in zip(ends, one, strict=True)}


def rating_rows(record: Mapping[str, Any]) -> list[Row]:
    """The players of a game by their rating, for the terminal."""
    return [
        {
            "player": agent["name"],
            "Elo (95 %)": rating_text(agent["rating"], record["anchor"] == agent["name"]),
            "score %": f"{100 * agent['rating']['score']:.1f}",
            "games": agent["rating"]["games"],
            "different": agent["rating"]["distinct_games"],
            "search": agent["budget"],
            "one-move rule": agent["one_move_rule"],
        }
        for agent in record["agents"]
    ]


def truth_rows(record: Mapping[str, Any]) -> list[Row]:
    """The players of a game by the exact measures, for the terminal."""
    rows: list[Row] = []
    for agent in record["agents"]:
        audit = audit_of(agent, record)
        exact = "exploitability" in (agent["verdict"] or {})
        against = "" if exact else " v perfect, W/D/L %"
        row = {"player": agent["name"]}
        row |= {f"as {seat}{against}": truth_text(agent, seat) for seat in ("first", "second")}
        for among in ("all", "opening", "middle", "end"):
            row["mistakes %" if among == "all" else among] = percent(audit.measure("mistakes", among).value)
        rows.append(row)
    return rows


def audit_of(agent: Mapping[str, Any], record: Mapping[str, Any]) -> Audit:
    """The audit of an agent, from a record."""
    parts = {"player": {}, "game": record["game"], "version": "", "seed": 0, "seconds": 0, "matches": []}
    about = {key: agent[key] for key in ("verdict", "measures")}
    return Audit.from_json(json.dumps(parts | about | {"suite": record["suite"]}))


def training_text(training: Mapping[str, Any]) -> str:
    """The length of a training; the CPU-seconds are without compiling and verdicts."""
    amount = f"{training['games']:,} games" if training["games"] else f"{training['steps']:,} steps"
    return amount + (f", {training['curve'][-1]['cpu_seconds']:.2f} CPU-s" if training["curve"] else "")


def truth_text(agent: Mapping[str, Any], seat: str) -> str:
    """The exact result of an agent in a seat, in words."""
    found = agent["verdict"]
    if found is None:
        return "unknown"
    told = found[f"as {seat}"]
    if "exploitability" in found:  # every reply was walked
        return "unbeatable" if told["infallible"] else f"loses {told['losing line']}"
    sampled = " sampled" if told["intervals"] else ""
    return f"{shares_text(told['v perfect'])}{sampled}"


def shares_text(shares: Sequence[float], digits: int = 1) -> str:
    """Shares won, drawn and lost, in per cent."""
    return " / ".join(f"{100 * share:.{digits}f}" for share in shares)


def percent(share: float | None, digits: int = 1) -> str:
    return "" if share is None else f"{100 * share:.{digits}f}"


def rating_text(rating: Mapping[str, Any], anchor: bool = False) -> str:
    """A rating with its interval; "> +812" where nothing bounds it from above."""
    if anchor:
        return "0"
    low, high = ("no bound" if rating[end] is None else f"{rating[end]:+.0f}" for end in ("low", "high"))
    if rating["elo"] is not None:
        return f"{rating['elo']:+.0f} ({low} to {high})"
    return {"above": f"> {low}", "below": f"< {high}"}.get(rating["unbounded"], "unknown")


def _moves_by_pair(tournament: Tournament) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for record in tournament.games:
        found.setdefault((record.fixture.first.name, record.fixture.second.name), set()).add(record.moves)
    return found


def page(content: Record) -> str:
    """The page that shows a record, the content of results.json."""
    machine, settings = content["machine"], content["settings"]
    title = "Tournament: " + " and ".join(record["title"] for record in content["games"])
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    links = "".join(f'<a href="#{record["game"]}">{escape(record["title"])}</a>' for record in content["games"])
    head = (
        f"<header><h1>{escape(title)}</h1><p>Every player is judged by the exact truth, and plays every other. "
        f"The {escape(settings['setting'])} setting, first seed {settings['seed']}.</p>"
        f'<p class="soft">{escape(machine["date"])}; {escape(machine["processor"])}, {machine["cores"]} cores, '
        f"Python {escape(machine['python'])}; {escape(packages)}</p><nav>{links}</nav></header>"
    )
    body = "\n".join([head, *(_section(record, settings["opening_plies"]) for record in content["games"])])
    return Template(FRAME.read_text(encoding="utf-8")).substitute(title=escape(title), body=body)


def _section(record: Record, plies: int) -> str:
    """All about one game."""
    parts = [_players(record), _ratings(record, plies), _cross_table(record), _truth(record), _mistakes(record)]
    parts += [_learning(record), _forfeits(record)]
    return f'<main id="{escape(record["game"])}"><h2>{escape(record["title"])}</h2>{"".join(parts)}</main>'


def _players(record: Record) -> str:
    what = (
        "How much each searches a move, and whether a one-move rule is on: to win at once, else to stop a win at once. "
        "Trained players say what their training took."
    )
    rows = []
    for agent in record["agents"]:
        training = agent["training"]
        took = training_text(training) if training else ""
        sha = (agent["checkpoint_sha256"] or "")[:12]
        cells = [words(agent["budget"]), words(agent["one_move_rule"]), words(took), number(sha)]
        rows.append((agent["name"], *cells))
    columns = ("player", "search a move", "one-move rule", "training", "sha256 of its file")
    return card("Players", what, table(columns, rows))


def _ratings(record: Record, plies: int) -> str:
    resampled = record["resampled"]
    what = (
        f"Elo by maximum likelihood (Bradley-Terry with draws), {escape(record['anchor'])} = 0, with 95 % intervals "
        f"from resampling {resampled['number']} {escape(resampled['what'])}. From {record['games']:,} games, of which "
        f"{record['distinct_games']:,} differ, from {record['openings']} openings of {plies} plies, each from both "
        "seats. &gt; means that the games set no upper bound."
    )
    first, draws = record["first_advantage"], record["draws_between_equals"]
    note = f"To play first is worth {_interval(first, 1, ' Elo')}. Equals draw {_interval(draws, 100, ' %')} of games."
    rows = [
        (
            agent["name"],
            bar(agent["rating"]["score"], percent(agent["rating"]["score"])),
            *(number(f"{agent['rating'][key]:,}") for key in ("games", "distinct_games", "forfeits")),
        )
        for agent in record["agents"]
    ]
    columns = ("player", "score, %", "games", "different games", "forfeits")
    scale = rating_scale(record["agents"], record["anchor"])
    return card("Ratings", what, scale, f'<p class="note">{escape(note)}.</p>', table(columns, rows))


def _cross_table(record: Record) -> str:
    what = "The score of the row's player against the column's in per cent, a draw counting half; games on hovering."
    found = {(pair["player"], pair["opponent"]): pair for pair in record["pairs"]}
    names = [agent["name"] for agent in record["agents"]]
    rows = []
    for place, one in enumerate(names, 1):
        cells = []
        for two in names:
            pair = found.get((one, two))
            if pair is None:
                cells.append('<td class="cell self"></td>')
                continue
            seats = ", ".join(f"{seat} {'/'.join(map(str, pair[f'as_{seat}']))}" for seat in ("first", "second"))
            title = f"{one} v {two}: W/D/L as {seats}; expected {percent(pair['expected'])} %"
            cells.append(score_cell(pair["score"], title))
        rows.append((f"{place} {one}", *cells))
    return card("Cross table", what, table(["player", *map(str, range(1, len(names) + 1))], rows))


def _truth(record: Record) -> str:
    """Every reply walked where the game is small enough, else the results against perfect play."""
    agents = [agent for agent in record["agents"] if agent["verdict"]]
    if not agents:
        return ""
    if "exploitability" in agents[0]["verdict"]:
        return _every_reply(agents)
    what = (
        "Games won, drawn and lost against perfect play in per cent, from both seats: all games that the two can play, "
        "followed exactly. A result that would take too many positions is sampled, and says so; its 95 % intervals are "
        f"in results.json. Decided: after so many plies the game is over or won for sure. {shares_key()}"
    )
    rows = []
    for agent in agents:
        row = [agent["name"]]
        for seat in ("as first", "as second"):
            told = agent["verdict"][seat]
            row.append(shares_cell(told["v perfect"], "sampled" if told["intervals"] else "exact"))
            row.append(number(f"{told['decided after plies']:.1f}"))
        rows.append((*row, words(agent["verdict"]["basis"])))
    columns = ("player", "as first, W/D/L %", "decided", "as second, W/D/L %", "decided", "judged by")
    return card("Exact results against perfect play", what, table(columns, rows))


def _every_reply(agents: Sequence[Record]) -> str:
    what = (
        "Every reply to a player is walked. Unbeatable: no replies at all make it lose; else the shortest game that "
        "it loses, in cells counted from 1. Exploitability: what perfectly chosen replies gain, the mean of the seats, "
        f"0 for perfect play. Games v random are exact shares in per cent. {shares_key()}"
    )
    rows = []
    for agent in agents:
        verdict = agent["verdict"]
        row = [agent["name"], bar(verdict["exploitability"], f"{verdict['exploitability']:.4f}")]
        for seat in ("as first", "as second"):
            told = verdict[seat]
            lost = told["losing line"]
            row += [words("unbeatable" if told["infallible"] else f"loses {lost}"), shares_cell(told["v random"])]
        rows.append((*row, words(verdict["basis"])))
    columns = (
        "player",
        "exploitability",
        "as first",
        "v random, W/D/L %",
        "as second",
        "v random, W/D/L %",
        "judged by",
    )
    return card("Exact results: every reply", what, table(columns, rows))


def _mistakes(record: Record) -> str:
    suite = record["suite"]
    what = (
        f"Per cent of moves with a worse win/draw/loss value than another, on {escape(suite['name'])} "
        f"({suite['positions']:,} positions of known value, sha256 {suite['sha256'][:12]}), in all and by phase; on "
        "critical positions only one move keeps the value. Regret is the value given away a move (win 1, draw 0, loss "
        "-1); perfect moves also win soonest or resist longest. 95 % intervals on hovering."
    )
    rows = []
    for agent in record["agents"]:
        regret = next(m for m in agent["measures"] if (m["name"], m["among"]) == ("regret", "all"))
        everything = next(m for m in agent["measures"] if (m["name"], m["among"]) == ("mistakes", "all"))
        relative = everything["value"] / everything["random"] if everything["random"] else 0
        cells = measure_cells(agent, "mistakes", ("all", *PHASES, "critical"))
        cells += [number(f"{100 * relative:.0f}"), number(f"{regret['value']:.3f}")]
        rows.append((agent["name"], *cells, *measure_cells(agent, "perfect", ("all",))))
    columns = ("player", "mistakes, %", *PHASES, "critical", "% of random's", "regret", "perfect moves, %")
    return card("Mistakes by phase", what, table(columns, rows))


def _learning(record: Record) -> str:
    if not any(agent["training"] and agent["training"]["curve"] for agent in record["agents"]):
        return ""
    what = (
        "How good each learner was while it trained, against CPU-seconds of training, those of the verdicts left out; "
        "logarithmic, the same axes for all. Networks end their training once they are proven unbeatable."
    )
    return card("Learning curves", what, learning_curves(record["agents"]))


def _forfeits(record: Record) -> str:
    if not record["forfeits"]:
        return ""
    rows = [(one["player"], words(one["moves"]), words(one["reason"])) for one in record["forfeits"][:50]]
    return card(
        "Forfeits", "Games lost by an error or an illegal move; the first 50.", table(("player", "moves", "why"), rows)
    )


def _interval(found: Mapping[str, float | None], scale: float, unit: str) -> str:
    """An estimate with its interval, in words."""
    value, low, high = ("no bound" if one is None else f"{scale * one:.0f}" for one in found.values())
    return f"{value}{unit} ({low} to {high})"


def card(title: str, what: str, *content: str) -> str:
    """A box with a title, what its numbers count, and the numbers."""
    return f'<section class="card"><h3>{escape(title)}</h3><p class="soft">{what}</p>{"".join(content)}</section>'


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells, each `<td>...</td>`; the first of a row is its heading, as text."""
    rows = [list(row) for row in rows]
    kinds = ["words", *(found[1] if (found := CLASS.match(cell)) else "" for cell in rows[0][1:])]
    head = "".join(
        f'<th scope="col" class="{kind}">{escape(name)}</th>' for name, kind in zip(columns, kinds, strict=True)
    )
    body = "".join(f'<tr><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>' for name, *cells in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def number(text: object) -> str:
    return f"<td>{escape(str(text))}</td>"


def words(text: str) -> str:
    return f'<td class="words">{escape(text)}</td>'


def bar(share: float | None, text: str, title: str = "") -> str:
    """A number with a bar of so large a share behind it."""
    if share is None:
        return number("")
    told = f' title="{escape(title)}"' if title else ""
    return f'<td class="bar" style="--share: {100 * min(max(share, 0), 1):.1f}%"{told}>{escape(text)}</td>'


def score_cell(score: float, title: str) -> str:
    """A score in a cross table, coloured from lost to won."""
    kind = "won" if score > 0.5 else "lost"
    shade = f"--share: {200 * abs(score - 0.5):.0f}%"
    return f'<td class="cell {kind}" style="{shade}" title="{escape(title)}">{100 * score:.0f}</td>'


def shares_cell(shares: Sequence[float], note: str = "") -> str:
    """Shares of games won, drawn and lost, as a bar and in words."""
    parts = "".join(
        f'<i class="{kind}" style="width: {100 * share:.2f}%"></i>' for kind, share in zip("wdl", shares, strict=True)
    )
    told = f' <span class="soft">{escape(note)}</span>' if note else ""
    return f'<td>{shares_text(shares)}{told}<div class="wdl">{parts}</div></td>'


def shares_key() -> str:
    """The meaning of the colours of `shares_cell`."""
    kinds = (("w", "won"), ("d", "drawn"), ("l", "lost"))
    return "".join(f'<i class="key {kind}"></i>{word}' for kind, word in kinds)


def rating_scale(agents: Sequence[Mapping[str, Any]], anchor: str) -> str:
    """The players' ratings as points with their intervals on one scale, best first."""
    known = [
        agent["rating"][end] for agent in agents for end in ("elo", "low", "high") if agent["rating"][end] is not None
    ]
    step = _round_step(max(known) - min(known))
    low, high = step * floor(min(known) / step), step * max(ceil(max(known) / step), floor(min(known) / step) + 1)
    ticks = range(int(low), int(high) + 1, step)

    def place(elo: float) -> str:
        return f"{100 * (elo - low) / (high - low):.2f}%"

    grid = "".join(f'<i class="grid" style="left: {place(tick)}"></i>' for tick in ticks)
    rows = []
    for agent in agents:
        rating = agent["rating"]
        left = rating["low"] if rating["low"] is not None else low
        right = rating["high"] if rating["high"] is not None else high
        kind = "span open" if rating["high"] is None else "span"
        shown = f'<i class="{kind}" style="left: {place(left)}; right: calc(100% - {place(right)})"></i>'
        if rating["elo"] is not None:
            shown += f'<i class="dot" style="left: {place(rating["elo"])}"></i>'
        value = rating_text(rating, agent["name"] == anchor)
        rows.append(
            f'<div class="rating"><span>{escape(agent["name"])}</span><div class="track">{grid}{shown}</div>'
            f'<span class="soft value">{escape(value)}</span></div>'
        )
    axis = "".join(f'<b style="left: {place(tick)}">{tick}</b>' for tick in ticks[:: max(1, len(ticks) // 6)])
    rows.append(f'<div class="rating"><span></span><div class="track axis">{axis}</div><span></span></div>')
    return f'<div class="ratings">{"".join(rows)}</div>'


def learning_curves(agents: Sequence[Mapping[str, Any]]) -> str:
    """A curve for each learner on the same axes: what it is judged by against CPU-seconds, on a logarithmic scale."""
    learners = [agent for agent in agents if agent["training"] and agent["training"]["curve"]]
    points = [point for agent in learners for point in agent["training"]["curve"]]
    seconds = [max(point["cpu_seconds"], 1e-3) for point in points]
    begin, end = floor(log10(min(seconds))), ceil(log10(max(seconds)))
    decades = range(begin, max(end, begin + 1) + 1)
    highest = max([1.0, *(point["value"] for point in points if point["value"] is not None)])

    def curve(agent: Mapping[str, Any]) -> str:
        training = agent["training"]
        steps, drawn = "", ""
        for point in training["curve"]:
            if point["value"] is None:
                continue
            x = 100 * (log10(max(point["cpu_seconds"], 1e-3)) - decades[0]) / (decades[-1] - decades[0])
            y = 100 * (1 - point["value"] / highest)
            steps += f"H{x:.2f}V{y:.2f}" if drawn else f"M{x:.2f},{y:.2f}"
            drawn = "yes"
        last = training["curve"][-1]
        reached = "an illegal move" if last["value"] is None else f"{last['value']:.3f}"
        lines = "".join(f'<line x1="0" x2="100" y1="{y}" y2="{y}"/>' for y in (0, 50))
        title = f"{agent['name']}: {training['measure']} while it learns, {reached} at the end"
        svg = (
            f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="{escape(title)}">'
            f'{lines}<path d="{steps}"/></svg>'
        )
        ys = "".join(f"<span>{y:g}</span>" for y in (highest, highest / 2, 0))
        xs = "".join(f"<span>{10.0**x:g} s</span>" for x in decades)
        return (
            f'<figure class="curve"><h3>{escape(agent["name"])}</h3><div class="plot"><div class="ys">{ys}</div>{svg}'
            f'<div class="xs">{xs}</div></div><figcaption>{escape(training["measure"])} {reached} after '
            f"{training_text(training)}</figcaption></figure>"
        )

    return f'<div class="curves">{"".join(map(curve, learners))}</div>'


def measure_cells(agent: Mapping[str, Any], name: str, among: Sequence[str], full: float = 1) -> list[str]:
    """One measure of an agent on several groups of positions, with bars; its interval is shown on hovering."""
    cells = []
    for group in among:
        found = next((m for m in agent["measures"] if (m["name"], m["among"]) == (name, group)), None)
        if found is None or found["value"] is None:
            cells.append(number(""))
            continue
        interval = f"95 %: {percent(found['low'])} to {percent(found['high'])}; {found['positions']:,} positions"
        cells.append(bar(found["value"] / full, percent(found["value"]), interval))
    return cells


def _round_step(spread: float) -> int:
    """A round distance of lines that cuts a spread into some six parts."""
    rough = max(spread, 6) / 6
    power = 10 ** floor(log10(rough))
    return max(1, int(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)))


def main() -> None:
    parser = parser_of(__doc__)
    add_output(parser, RESULTS / "tournament")
    folder = parser.parse_args().output
    save_text(folder / "report.html", page(json.loads((folder / "results.json").read_text(encoding="utf-8"))))
    print(folder / "report.html")


if __name__ == "__main__":
    main()
