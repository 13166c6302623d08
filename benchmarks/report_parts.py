"""The parts of the report's page, as HTML and SVG: tables with bars, ratings on a scale, learning curves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Any

from benchmarks.tournament_record import percent, rating_text, shares_text, training_text

CLASS = re.compile('<td class="(words|cell|bar)')


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
    """What the colours of `shares_cell` mean."""
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
