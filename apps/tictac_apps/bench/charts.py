"""Charts as inline SVG: ratings, mistakes by phase, learning curves, a labelled scatter, and boards.

Colours are CSS classes of `page.css`, so that light and dark need one drawing. Most charts are as wide as their place:
they measure across in per cent and upwards in pixels, so their text has one size on every screen. `scatter` places
labels by their width, so it is drawn for a wide and for a narrow screen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby, pairwise
from typing import NamedTuple

from tictac_apps.bench.bench_record import BoardSize, CurvePoint, LosingLine, Rating
from tictac_apps.bench.results import PHASES
from tictac_env.arena.records import Measure

BARS = 72
"""Pixels of the highest bar of `phase_chart`."""
CURVE = 96
"""Pixels of the highest point of `curve`."""
LEFT, TOP = 44.0, 34.0
"""Pixels from the left and upper ends of a `scatter` to its plot."""
GAP = 17.0
"""Pixels from label to label of `scatter`."""
CHARACTER = 8.0
"""Pixels of a character of a label, on average, in the widest of the usual fonts."""
LONGEST = 20
"""Characters of a label; longer names lose their middle, as names often differ in the seed at their end."""


def percent(share: float | None, digits: int = 1) -> str:
    """A share as per cent, as in "95.1 %"; "" for None."""
    return "" if share is None else f"{100 * share:.{digits}f}\u00a0%"


def svg(kind: str, told: str, size: str, *shapes: str) -> str:
    """A picture of a kind (its class), told in words to those who do not see it, of a size (attributes of SVG)."""
    return f'<svg class="{kind}" role="img" aria-label="{escape(told)}" {size}>{"".join(shapes)}</svg>'


def text(x: float | str, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Words at a place; `anchor` says which part of them is there: start, middle or end."""
    class_ = f' class="{kind}"' if kind else ""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{_short(x)}" y="{_short(y)}"{where}{class_}>{escape(words)}</text>'


def line(x1: float | str, y1: float, x2: float | str, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{_short(x1)}" y1="{_short(y1)}" x2="{_short(x2)}" y2="{_short(y2)}" class="{kind}"/>'


def path(kind: str, drawn: str) -> str:
    """A path by its commands."""
    return f'<path class="{kind}" d="{drawn}"/>'


def dot(x: float | str, y: float, radius: float, kind: str = "", told: str = "") -> str:
    """A filled circle; `told` is shown while the pointer is on it."""
    of_kind = f' class="{kind}"' if kind else ""
    circle = f'<circle cx="{_short(x)}" cy="{_short(y)}" r="{radius}"{of_kind}'
    return f"{circle}><title>{escape(told)}</title></circle>" if told else f"{circle}/>"


def _short(number: float | str) -> str:
    """A coordinate to a tenth of a pixel; a string, as in "50%", stays as it is."""
    return number if isinstance(number, str) else f"{number:.1f}".removesuffix(".0")


def _across(share: float) -> str:
    return f"{100 * share:.3g}%"


class Scale(NamedTuple):
    """An axis from `low` to `high` with a tick every `step`."""

    low: float
    high: float
    step: float

    @classmethod
    def over(cls, values: Sequence[float], ticks: int) -> Scale:
        """The scale over all values, its ends and at most about `ticks` steps round numbers."""
        low, high = min(values), max(values)
        rough = max(high - low, 1e-9) / ticks
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
        begin, end = step * math.floor(low / step + 1e-9), -step * math.floor(-high / step + 1e-9)
        return cls(begin, max(end, begin + step), step)

    def share(self, value: float) -> float:
        """The place of a value: 0 at the low end, 1 at the high end."""
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """The values with a tick, ascending."""
        return [self.low + number * self.step for number in range(round((self.high - self.low) / self.step) + 1)]


def rating_scale(ratings: Sequence[Rating]) -> Scale:
    """The scale over the ratings and their bounds."""
    values = [end for rating in ratings for end in (rating.elo, rating.low, rating.high) if end is not None]
    return Scale.over(values or [0], 6)


def whisker(rating: Rating, scale: Scale) -> str:
    """A rating as a dot, its 95 % interval as a line; an arrow where the games set no bound."""
    left = 0.0 if rating.low is None else scale.share(rating.low)
    right = 1.0 if rating.high is None else scale.share(rating.high)
    shapes = [line(_across(left), 13, _across(right), 13, "span")]
    for end, place, turn in ((rating.low, left, 1), (rating.high, right, -1)):
        arrow = f"M{turn * 6} -5L0 0L{turn * 6} 5" if end is None else "M0 -4V4"
        shapes.append(f'<svg x="{_across(place)}" y="13" class="tip"><path d="{arrow}"/></svg>')
    if rating.elo is not None:
        shapes.append(dot(_across(scale.share(rating.elo)), 13, 5.5))
    return f'<svg class="whisker" aria-hidden="true" height="26">{"".join(shapes)}</svg>'


def rating_axis(scale: Scale) -> str:
    """The numbers below the whiskers."""
    anchors = {0: "start", len(scale.ticks()) - 1: "end"}
    ticks = (
        text(_across(scale.share(tick)), 13, f"{tick:.0f}", anchor=anchors.get(place, "middle"))
        for place, tick in enumerate(scale.ticks())
    )
    return f'<svg class="axis" aria-hidden="true" height="18">{"".join(ticks)}</svg>'


def phase_chart(name: str, measures: Sequence[Measure], highest: float) -> str:
    """The mistakes of a player in each phase of the game, with 95 % intervals; dashed, those of random play.

    Args:
        name: the player's.
        measures: the player's.
        highest: the share of mistakes, above 0, that is as high as the chart.
    """
    paths, words, shares = {"bar": "", "span": "", "random": ""}, "", []
    mistakes = {measure.among: measure for measure in measures if measure.name == "mistakes"}
    for place, phase in enumerate(PHASES):
        measure = mistakes.get(phase)
        middle, share = _across((place + 0.5) / 3), None if measure is None else measure.value
        words += text(middle, BARS + 18, percent(share) or "none") + text(middle, BARS + 34, phase, "soft")
        if measure is None or share is None:
            continue
        top, low, high, level = (
            f"{1 - min(height or 0, highest) / highest:.3g}"
            for height in (share, measure.low, measure.high, measure.random)
        )
        paths["bar"] += f"M{place + 0.2:.1f} 1V{top}h.6V1"
        paths["span"] += f"M{place + 0.5:.1f} {low}V{high}"
        paths["random"] += f"M{place + 0.1:.1f} {level}h.8"
        shares.append(f"{phase} {percent(share)} (random play {percent(measure.random)})")
    shown = _stretched(0, BARS, 3, 1, *map(path, paths, paths.values()))
    in_words = f"{name}: mistakes by phase: {', '.join(shares) or 'no positions'}"
    return svg("phases", in_words, f'height="{BARS + 40}"', line("0", BARS, "100%", BARS, "base"), shown, words)


def curve(name: str, points: Sequence[CurvePoint], measure: str, highest: float) -> str:
    """A learning curve: the truth above, the results against perfect play from both seats below.

    Args:
        name: the player's.
        points: of the curve, at least one.
        measure: the key of the curve's points that is drawn, "exploitability" or "mistakes".
        highest: its value, above 0, that is as high as the chart.
    """
    unit = next((unit for unit in ("games", "steps") if getattr(points[-1], unit)), "cpu_seconds")
    ends = [getattr(point, unit) / (getattr(points[-1], unit) or 1) for point in points]
    shown = (lambda value: f"{value:.3g}") if measure == "exploitability" else percent
    shapes = []
    for level in (1, 0.5, 0):
        y = 16 + CURVE * (1 - level)
        shapes += [line("0", y, "100%", y, "base" if level == 0 else "grid")]
        shapes += [text("0", y - 4, shown(level * highest), "soft")] if level else []
    corners = [
        (end, 1 - min(value, highest) / highest)
        for end, value in zip(ends, (getattr(point, measure) for point in points), strict=True)
        if value is not None
    ]
    if corners:
        drawn = "L".join(f"{100 * x:.3g} {100 * y:.3g}" for x, y in corners)
        shapes.append(_stretched(16, CURVE, 100, 100, path("curve", f"M{drawn}")))
        x, y = corners[-1]
        shapes.append(dot(_across(x), 16 + CURVE * y, 4))
    bottom = CURVE + 16
    last = getattr(points[-1], measure)
    words = [f"{measure} {'unknown after an illegal move' if last is None else shown(last)} in the end"]
    for seat in ("first", "second"):
        if not any(point.v_perfect for point in points):
            break
        shapes.append(text("0", bottom + 22, f"as {seat}", "soft"))
        shapes.append(_stretched(bottom + 28, 26, 100, 100, *_columns(points, ends, seat)))
        bottom += 54
        if result := points[-1].v_perfect:
            won, drawn, lost = (percent(share, 0) for share in result.of(seat))
            words.append(f"as {seat} won {won}, drawn {drawn}, lost {lost} against perfect play")
    total = getattr(points[-1], unit)
    length = f"{total:,} {unit}" if unit != "cpu_seconds" else f"{total:.3g} CPU-seconds"
    shapes += [text("0", bottom + 18, "0", "soft"), text("100%", bottom + 18, length, "soft", "end")]
    return svg("learning", f"{name}: {'; '.join(words)}", f'height="{bottom + 24}"', *shapes)


def _stretched(y: float, height: float, across: int, upwards: int, *shapes: str) -> str:
    """Shapes in units across and upwards, stretched over the chart's width and `height` pixels."""
    size = f'y="{y}" height="{height}" viewBox="0 0 {across} {upwards}" preserveAspectRatio="none"'
    return f"<svg {size}>{''.join(shapes)}</svg>"


def _columns(points: Sequence[CurvePoint], ends: Sequence[float], seat: str) -> Iterator[str]:
    """The shares of a seat as columns, each as wide as the training before its point: won below, lost above."""
    for kind, results in (("l", 3), ("d", 2), ("w", 1)):
        heights = [
            f"{100 * (1 - sum(point.v_perfect.of(seat)[:results])):.3g}" if point.v_perfect else "100"
            for point in points
        ]
        columns = zip(heights, pairwise([0.0, *ends]), strict=True)
        drawn = ""
        for height, alike in groupby(columns, key=lambda column: column[0]):
            edges = [edge for _, pair in alike for edge in pair]
            if height != "100":
                drawn += f"M{100 * edges[0]:.3g} 100V{height}H{100 * edges[-1]:.3g}V100"
        yield path(kind, drawn)


class Point(NamedTuple):
    """A point of a scatter: its name, its place, and if it is marked out."""

    name: str
    x: float
    y: float
    marked: bool


def scatter(points: Sequence[Point], told: str, x_title: str, y_title: str, y_percent: bool, band: float) -> str:
    """Points with their names, drawn for a wide and for a narrow screen; no label lies over another or over a point.

    Args:
        points: at least one; across they are shares.
        told: the chart in words.
        x_title: of the axis across.
        y_title: of the axis up, which begins at 0.
        y_percent: whether its values are shares, shown as per cent.
        band: shares across from which the chart is shaded.
    """
    across = Scale.over([*(point.x for point in points), 1.0], 6)
    upwards = Scale.over([0.0, *(point.y for point in points)], 5)
    longest = CHARACTER * min(LONGEST, max(len(point.name) for point in points))
    shown = "".join(
        svg(kind, told, size, *_plot(points, across, upwards, width - longest - 28, height - 28, y_percent, band))
        for kind, width, height in (("wide", 860, 470), ("narrow", 358, 500))
        for size in [f'viewBox="0 0 {width} {height}"']
    )
    titles = f'<p class="up">↑ {escape(y_title)}</p>', f'<p class="across">{escape(x_title)} →</p>'
    return f'<div class="scatter">{titles[0]}{shown}{titles[1]}</div>'


class Label(NamedTuple):
    """A name, from `x` to `end` at the middle height `y`; and the point that it names."""

    x: float
    end: float
    y: float
    point: tuple[float, float]
    of: Point

    def covers(self, x: float, y: float, margin: float = 0) -> bool:
        """True if a place lies under the label, or at most `margin` pixels beside it."""
        return self.x - margin <= x <= self.end + margin and abs(y - self.y) <= GAP / 2 + margin


def _plot(
    points: Sequence[Point], across: Scale, upwards: Scale, right: float, bottom: float, y_percent: bool, band: float
) -> Iterator[str]:
    """The shapes of a scatter, whose plot ends at `right` and `bottom`."""

    def x_of(share: float) -> float:
        return LEFT + (right - LEFT) * across.share(share)

    def y_of(value: float) -> float:
        return bottom - (bottom - TOP) * upwards.share(value)

    begin = x_of(max(band, across.low))
    shade = f'width="{right - begin + 10:.1f}" height="{bottom - TOP + 10:.1f}"'
    yield f'<rect class="band" x="{begin:.1f}" y="{TOP - 10}" {shade}/>'
    yield text(right + 10, TOP - 17, f"{percent(band, 0)} or more", "soft", "end")
    for tick in upwards.ticks():
        y = y_of(tick)
        yield line(LEFT, y, right + 10, y, "grid" if tick else "base")
        yield text(LEFT - 8, y + 4, percent(tick, 0) if y_percent else f"{tick:.3g}", "soft", "end")
    for tick in across.ticks()[:: 1 if right > 500 else 2]:
        yield text(x_of(tick), bottom + 22, percent(tick, 0), "soft", "middle")
    placed = [((x_of(point.x), y_of(point.y)), point) for point in points]
    labels = _labels(placed, right)
    for label in labels:
        if label.x > right:
            yield line(*label.point, label.x - 3, label.y, "leader")
    for (x, y), point in placed:
        caption = f"{point.name}: {percent(point.x)}, {percent(point.y) if y_percent else f'{point.y:.3g}'}"
        yield dot(x, y, 5, "yours" if point.marked else "", caption)
    for label in labels:
        name = label.of.name
        if len(name) > LONGEST:
            name = f"{name[: LONGEST - 9]}…{name[-8:]}"
        left = label.x < label.point[0]
        x, anchor = (label.end, "end") if left else (label.x, "start")
        yield text(x, label.y + 4, name, "yours" if label.of.marked else "", anchor)


def _labels(placed: Sequence[tuple[tuple[float, float], Point]], right: float) -> list[Label]:
    """A label for each point: beside it if there is room, else in the column right of the plot, joined by a line."""
    beside: list[Label] = []
    for (x, y), point in placed:
        width = CHARACTER * min(len(point.name), LONGEST)
        for begin in (x + 10, x - 10 - width):
            label = Label(begin, begin + width, y, (x, y), point)
            inside = begin > LEFT and label.end < right
            over = any(abs(near.y - y) < GAP and near.x < label.end and begin < near.end for near in beside)
            if inside and not over and not any(label.covers(*at, 8) for at, other in placed if other is not point):
                beside.append(label)
                break
    while True:
        named = {label.of for label in beside}
        column = _column([(place, point) for place, point in placed if point not in named], right)
        crossed = [label for label in beside if any(_crosses(joined, label) for joined in column)]
        if not crossed:
            return beside + column
        beside.remove(crossed[0])


def _column(placed: Sequence[tuple[tuple[float, float], Point]], right: float) -> list[Label]:
    """The labels of these points in a column: from the lowest up, and of equal height the rightmost first.

    In this order no line from one of several points at one height crosses another.
    """
    ordered = sorted(placed, key=lambda one: (-one[0][1], -one[0][0]))
    heights: list[float] = []
    for (_, y), _ in ordered:
        heights.append(min(y, heights[-1] - GAP) if heights else y)
    for place in reversed(range(len(heights))):  # those pushed out at the top push the others down
        least = heights[place + 1] + GAP if place + 1 < len(heights) else TOP - 20
        heights[place] = max(heights[place], least)
    begin, end = right + 24, math.inf
    return [Label(begin, end, height, place, point) for height, (place, point) in zip(heights, ordered, strict=True)]


def _crosses(led: Label, label: Label) -> bool:
    """True if the line from a label's point to the label runs under another label."""
    (x, y), parts = led.point, 40
    return any(
        label.covers(x + (led.x - x) * part / parts, y + (led.y - y) * part / parts) for part in range(parts + 1)
    )


def board_parts(key: str, board: BoardSize) -> str:
    """The empty board of a game, which every `board_of` with the same key shows."""
    rows, columns = board.rows, board.columns
    plate = f'<rect class="plate" x="-.14" y="-.14" width="{columns + 0.28}" height="{rows + 0.28}" rx=".3"/>'
    well = "h0" if board.gravity else "m-.34 -.34h.68v.68h-.68z"
    wells = "".join(f"M{column + 0.5} {row + 0.5}{well}" for row in range(rows) for column in range(columns))
    kind = "disc" if board.gravity else "tile"
    empty = f'<g id="{key}">{plate}<path class="{kind} wells" d="{wells}"/></g>'
    return f'<svg class="parts" width="0" height="0" aria-hidden="true"><defs>{empty}</defs></svg>'


def board_of(key: str, board: BoardSize, told: str, found: LosingLine | None) -> str:
    """A board with the stones of a losing line; empty without one.

    The stones of a player, the winning line and the move that gave the game away are the points of a polyline, at each
    of which the style sheet draws a marker of `page.html`.

    Args:
        key: of `board_parts`, which must stand on the page before it.
        board: the record's.
        told: the picture in words.
        found: the record's losing line: the cells of the stones and those of the winning line, counted from 0.

    Raises:
        ValueError: a stone lies outside the board.
    """
    columns, kind, shown = board.columns, "disc" if board.gravity else "tile", ""
    if found:
        cells, wrong = found.cells, found.wrong_ply
        if any(not 0 <= cell < board.rows * columns for cell in cells):
            raise ValueError(f"cells are {cells}; allowed are 0 to {board.rows * columns - 1}")
        groups: dict[str, Sequence[int]] = {"a": cells[::2], "b": cells[1::2], "win": found.winning_cells}
        groups |= {"wrong": cells[wrong - 1 : wrong] if wrong else [], "last": []}
        for name, group in groups.items():
            points = " ".join(f"{cell % columns},{cell // columns}" for cell in group)
            shown += f'<polyline class="{name}" points="{points}"/>'
    size = f'viewBox="-.2 -.2 {columns + 0.4} {board.rows + 0.4}"'
    return svg(f"board {kind}", told, size, f'<use href="#{key}"/>{shown}')
