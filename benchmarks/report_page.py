"""The report of a tournament: one HTML page made from results.json, which needs nothing beside it.

    python benchmarks/report_page.py    # makes the page anew from the record, after a change of its looks

`report_page.html` is its frame and style, `report_parts.py` has the parts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from benchmarks.report import RESULTS
from benchmarks.report_parts import (
    bar,
    card,
    learning_curves,
    measure_cells,
    number,
    rating_scale,
    score_cell,
    shares_cell,
    shares_key,
    table,
    words,
)
from benchmarks.tournament_record import percent, training_text
from tictac_env.storage import save_text

FRAME = Path(__file__).with_suffix(".html")
PHASES = ("opening", "middle", "end")
Record = Mapping[str, Any]


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
    body = "\n".join([head, *(section(record, settings["opening_plies"]) for record in content["games"])])
    return Template(FRAME.read_text(encoding="utf-8")).substitute(title=escape(title), body=body)


def section(record: Record, plies: int) -> str:
    """All about one game."""
    parts = [players(record), ratings(record, plies), cross_table(record), truth(record), mistakes(record)]
    parts += [learning(record), forfeits(record)]
    return f'<main id="{escape(record["game"])}"><h2>{escape(record["title"])}</h2>{"".join(parts)}</main>'


def players(record: Record) -> str:
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


def ratings(record: Record, plies: int) -> str:
    resampled = record["resampled"]
    what = (
        f"Elo by maximum likelihood (Bradley-Terry with draws), {escape(record['anchor'])} = 0, with 95 % intervals "
        f"from resampling {resampled['number']} {escape(resampled['what'])}. From {record['games']:,} games, of which "
        f"{record['distinct_games']:,} differ, from {record['openings']} openings of {plies} plies, each from both "
        "seats. &gt; means that the games set no upper bound."
    )
    first, draws = record["first_advantage"], record["draws_between_equals"]
    note = f"To play first is worth {interval(first, 1, ' Elo')}. Equals draw {interval(draws, 100, ' %')} of games."
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


def cross_table(record: Record) -> str:
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


def truth(record: Record) -> str:
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
        "Every reply to a player is walked. Infallible: no replies at all make it lose; else the shortest game that "
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
            row += [words("infallible" if told["infallible"] else f"loses {lost}"), shares_cell(told["v random"])]
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


def mistakes(record: Record) -> str:
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


def learning(record: Record) -> str:
    if not any(agent["training"] and agent["training"]["curve"] for agent in record["agents"]):
        return ""
    what = (
        "How good each learner was while it trained, against CPU-seconds of training, those of the verdicts left out; "
        "logarithmic, the same axes for all. Networks end their training once they are proven unbeatable."
    )
    return card("Learning curves", what, learning_curves(record["agents"]))


def forfeits(record: Record) -> str:
    if not record["forfeits"]:
        return ""
    rows = [(one["player"], words(one["moves"]), words(one["reason"])) for one in record["forfeits"][:50]]
    return card(
        "Forfeits", "Games lost by an error or an illegal move; the first 50.", table(("player", "moves", "why"), rows)
    )


def interval(found: Mapping[str, float | None], scale: float, unit: str) -> str:
    """An estimate with its interval, in words."""
    value, low, high = ("no bound" if one is None else f"{scale * one:.0f}" for one in found.values())
    return f"{value}{unit} ({low} to {high})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS / "tournament", help="the folder (default: %(default)s)")
    folder = parser.parse_args().output
    save_text(folder / "report.html", page(json.loads((folder / "results.json").read_text(encoding="utf-8"))))
    print(folder / "report.html")


if __name__ == "__main__":
    main()
