"""Charts of the benchmark's page show the figures that they are made of, and no name lies over another."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import pytest

from tictac_apps.bench.bench_record import BoardSize, CurvePoint, LosingLine, Rating, SeatShares
from tictac_apps.bench.charts import (
    Point,
    Scale,
    board_of,
    board_parts,
    curve,
    phase_chart,
    rating_axis,
    rating_scale,
    scatter,
    whisker,
)
from tictac_env.arena import WinDrawLoss
from tictac_env.arena.records import Measure

RATING = Rating(elo=500, low=250, high=750)
BAR, LEFT, RIGHT = "M0 -4V4", "M6 -5L0 0L6 5", "M-6 -5L0 0L-6 5"
"""The end of an interval, and the arrows that say that there is none."""


def shapes(text: str, tag: str) -> list[Any]:
    """The elements of a tag in a picture."""
    return list(ElementTree.fromstring(text).iter(tag))


def attributes(text: str, tag: str, *names: str) -> list[tuple[Any, ...]]:
    """Some attributes of the elements of a tag."""
    return [tuple(shape.get(name) for name in names) for shape in shapes(text, tag)]


def words(text: str) -> list[tuple[Any, ...]]:
    """Each text of a picture with its place across and up."""
    return [(shape.text, shape.get("x"), shape.get("y")) for shape in shapes(text, "text")]


@pytest.mark.parametrize(
    ("values", "ticks", "low", "step", "high"),
    [
        ([0, 1], 5, 0, 0.2, 1),
        ([0, 0.97], 5, 0, 0.2, 1),
        ([0, 5], 5, 0, 1, 5),
        ([0, 30], 5, 0, 10, 30),
        ([12, 88], 4, 0, 20, 100),
        ([-30, 1194], 6, -500, 500, 1500),
        ([-41, -39], 2, -41, 1, -39),
        ([0.5, 1], 6, 0.5, 0.1, 1),
    ],
)
def test_a_scale_has_round_numbers(values: list[float], ticks: int, low: float, step: float, high: float) -> None:
    scale = Scale.over(values, ticks)
    assert scale == pytest.approx((low, high, step))
    count = round((high - low) / step)
    assert scale.ticks() == pytest.approx([low + number * step for number in range(count + 1)])
    assert (scale.share(low), scale.share((low + high) / 2), scale.share(high)) == pytest.approx((0, 0.5, 1))


def test_the_scale_of_ratings_goes_over_all_bounds_that_are_known() -> None:
    assert rating_scale([RATING, Rating(low=812)]) == Scale.over([250, 812], 6)
    nobody = rating_scale([Rating()])
    assert nobody.low == 0 < nobody.high == nobody.step
    assert words(rating_axis(Scale(-200, 400, 200))) == [
        ("-200", "0%", "13"), ("0", "33.3%", "13"), ("200", "66.7%", "13"), ("400", "100%", "13")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "line", "tips", "dots"),
    [
        ({}, ("25%", "75%"), [("25%", BAR), ("75%", BAR)], ["50%"]),
        ({"low": None}, ("0%", "75%"), [("0%", LEFT), ("75%", BAR)], ["50%"]),
        ({"high": None}, ("25%", "100%"), [("25%", BAR), ("100%", RIGHT)], ["50%"]),
        ({"high": None, "elo": None}, ("25%", "100%"), [("25%", BAR), ("100%", RIGHT)], []),
        ({"elo": 333}, ("25%", "75%"), [("25%", BAR), ("75%", BAR)], ["33.3%"]),
    ],
)
def test_a_whisker_has_a_bar_at_each_bound_and_an_arrow_for_none(
    change: dict[str, Any], line: tuple[str, str], tips: list[Any], dots: list[str]
) -> None:
    picture = whisker(replace(RATING, **change), Scale(0, 1000, 500))
    assert attributes(picture, "line", "x1", "x2", "y1", "y2") == [(*line, "13", "13")]
    places = [place for place, _ in attributes(picture, "svg", "x", "class")[1:]]
    drawn = [path for (path,) in attributes(picture, "path", "d")]
    assert list(zip(places, drawn, strict=True)) == tips
    assert attributes(picture, "circle", "cx", "cy") == [(dot, "13") for dot in dots]


def test_mistakes_are_bars_with_intervals_beside_random_play() -> None:
    measures = [
        Measure("mistakes", "opening", 9, 0.1, 0.05, 0.2, 0.4),
        Measure("regret", "middle", 9, 0.1, 0.1, 0.1, 0.1),
        Measure("mistakes", "end", 9, 0.5, 0.3, 0.6, 0.2),
    ]
    picture = phase_chart("A & B", measures, highest=0.4)
    assert attributes(picture, "path", "class", "d") == [
        ("bar", "M0.2 1V0.75h.6V1M2.2 1V0h.6V1"),  # no bar is higher than the chart
        ("span", "M0.5 0.875V0.5M2.5 0.25V0"),
        ("random", "M0.1 0h.8M2.1 0.5h.8"),
    ]
    shown = ["10.0\u00a0%", "opening", "none", "middle", "50.0\u00a0%", "end"]
    assert [text for text, _, _ in words(picture)] == shown
    told = "opening 10.0\u00a0% (random play 40.0\u00a0%), end 50.0\u00a0% (random play 20.0\u00a0%)"
    assert shapes(picture, "svg")[0].get("aria-label") == f"A & B: mistakes by phase: {told}"
    assert "no positions" in phase_chart("A", [], highest=1)


def curve_point(games: int, value: float | None, first: Any = None, second: Any = None) -> CurvePoint:
    """A point of a learning curve."""
    shares = first and SeatShares(WinDrawLoss(*first), WinDrawLoss(*second), True)
    return CurvePoint(games / 100, games, None, value, value, shares)


def test_a_learning_curve_shows_the_truth_above_and_the_results_below() -> None:
    half, lost, won = [0.5, 0.25, 0.25], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]
    points = curve_point(100, 0.8, half, lost), curve_point(200, 0.4, half, won), curve_point(400, 0.2)
    picture = curve("A", [*points], "exploitability", highest=0.8)
    assert attributes(picture, "path", "class", "d") == [
        ("curve", "M25 0L50 50L100 75"),
        *(("l", "M0 100V0H50V100"), ("d", "M0 100V25H50V100"), ("w", "M0 100V50H50V100")),  # alike, so one column
        *(("l", "M0 100V0H50V100"), ("d", "M25 100V0H50V100"), ("w", "M25 100V0H50V100")),
    ]
    stretched = attributes(picture, "svg", "y", "height")[1:]
    tops = [(float(y), float(y) + float(height)) for y, height in stretched]
    assert len(tops) == 3 and tops[0][1] < tops[1][0] < tops[1][1] < tops[2][0]
    assert attributes(picture, "circle", "cx", "cy") == [("100%", "88")]  # at the end of the curve
    assert [text for text, _, _ in words(picture)] == ["0.8", "0.4", "as first", "as second", "0", "400 games"]
    heights = [float(y) for _, _, y in words(picture)[2:]]
    assert tops[0][1] < heights[0] < tops[1][0] and tops[1][1] < heights[1] < tops[2][0] and tops[2][1] < heights[2]
    assert shapes(picture, "svg")[0].get("aria-label") == "A: exploitability 0.2 in the end"


def test_a_learning_curve_is_told_in_words_with_the_last_results() -> None:
    last = curve_point(1_500, 0.125, [0.5, 0.25, 0.25], [0.0, 0.1, 0.9])
    told = shapes(curve("A", [last], "mistakes", 1), "svg")[0].get("aria-label")
    assert told.replace("\u00a0", " ") == (
        "A: mistakes 12.5 % in the end; as first won 50 %, drawn 25 %, lost 25 % against perfect play; "
        "as second won 0 %, drawn 10 %, lost 90 % against perfect play"
    )


@pytest.mark.parametrize(
    ("change", "length"),
    [
        ({}, "1,500 games"),
        ({"games": None, "steps": 2_000}, "2,000 steps"),
        ({"games": None}, "15 CPU-seconds"),
        ({"games": None, "cpu_seconds": 0.1234}, "0.123 CPU-seconds"),
    ],
)
def test_the_length_of_a_training_has_its_unit(change: dict[str, Any], length: str) -> None:
    assert words(curve("A", [replace(curve_point(1_500, 0.5), **change)], "mistakes", 1))[-1][0] == length


def test_a_curve_without_a_known_point_has_no_line() -> None:
    picture = curve("A", [curve_point(10, None)], "mistakes", 1)
    assert not shapes(picture, "path") and not shapes(picture, "circle")
    assert "unknown after an illegal move in the end" in picture
    assert [text for text, _, _ in words(picture)] == ["100.0\u00a0%", "50.0\u00a0%", "0", "10 games"]


def pictures(points: list[Point], y_percent: bool = False) -> list[str]:
    """The wide and the narrow picture of a scatter."""
    found = re.findall(r"<svg.*?</svg>", scatter(points, "told", "won", "lost", y_percent, 0.95))
    assert [shapes(one, "svg")[0].get("class") for one in found] == ["wide", "narrow"]
    return found


def test_a_scatter_has_its_points_at_their_shares() -> None:
    points = [Point("low", 0.5, 0.0, False), Point("mid", 0.75, 0.25, False), Point("top", 1.0, 0.5, True)]
    wide, narrow = pictures(points)
    for picture in (wide, narrow):
        circles = attributes(picture, "circle", "cx", "cy", "class")
        (left, bottom), (x, y), (right, top) = ((float(x), float(y)) for x, y, _ in circles)
        assert left < right and top < bottom and (x, y) == ((left + right) / 2, (top + bottom) / 2)
        assert [kind for _, _, kind in circles] == [None, None, "yours"]
        [(begin, width)] = attributes(picture, "rect", "x", "width")
        assert float(begin) == pytest.approx(left + 0.9 * (right - left), abs=0.06)
        assert float(begin) + float(width) == pytest.approx(right + 10, abs=0.11)
        heights = [float(y) for y, kind in attributes(picture, "line", "y1", "class") if kind in ("base", "grid")]
        assert heights == pytest.approx([bottom - tick * (bottom - top) / 5 for tick in range(6)], abs=0.06)
    titles = [shape.text for shape in shapes(wide, "title")]
    assert titles == ["low: 50.0\u00a0%, 0", "mid: 75.0\u00a0%, 0.25", "top: 100.0\u00a0%, 0.5"]
    up = ["95\u00a0% or more", "0", "0.1", "0.2", "0.3", "0.4", "0.5"]
    across = [f"{number}\u00a0%" for number in range(50, 101, 10)]
    assert [text for text, _, _ in words(wide)] == [*up, *across, "low", "mid", "top"]
    assert [text for text, _, _ in words(narrow)] == [*up, *across[::2], "low", "mid", "top"]


def test_shares_are_per_cent_on_both_axes_if_they_are_asked_for() -> None:
    wide, _ = pictures([Point("a", 0.35, 0.55, False)], y_percent=True)
    assert [shape.text for shape in shapes(wide, "title")] == ["a: 35.0\u00a0%, 55.0\u00a0%"]
    assert [text for text, x, _ in words(wide) if x == "36"] == [f"{number}\u00a0%" for number in (0, 20, 40, 60)]


def test_a_name_is_right_of_its_point_or_left_at_the_border_and_shortened_in_the_middle() -> None:
    points = [Point("QLearning infallible, seed 12", 0.5, 0.5, False), Point("next", 0.99, 0.5, True)]
    wide, _ = pictures(points)
    (name, x, _), (border, far, _) = words(wide)[-2:]
    assert (name, border) == ("QLearning i… seed 12", "next")
    places = [float(place) for (place,) in attributes(wide, "circle", "cx")]
    assert places[0] < float(x) < places[0] + 15 and places[1] - 15 < float(far) < places[1]
    assert attributes(wide, "text", "text-anchor", "class")[-2:] == [(None, None), ("end", "yours")]


def boxes(picture: str, names: set[str]) -> list[tuple[str, float, float, float]]:
    """Each name of a scatter from its left to its right end, with the height of its middle."""
    found = []
    for shape in shapes(picture, "text"):
        if shape.text in names:
            x, width = float(shape.get("x")), 8.0 * len(shape.text)
            left = x - width if shape.get("text-anchor") == "end" else x
            found.append((shape.text, left, left + width, float(shape.get("y")) - 4))
    return found


def crowd(kind: str) -> list[Point]:
    """Points that are hard to name: at one place, at one height, in a heap, or anywhere."""
    draw = random.Random(kind)
    places = {
        "place": [(0.9, 0.2)] * 12,
        "height": [(0.5 + number / 40, 0.0) for number in range(14)],
        "heap": [(draw.uniform(0.94, 1), draw.uniform(0, 0.05)) for _ in range(15)] + [(0.5, 1.0)],
        "anywhere": [(draw.uniform(0.4, 1), draw.uniform(0, 1)) for _ in range(18)],
        "top": [(1.0, 1.0)] * 5 + [(0.5, 0.0)],
    }[kind]
    return [Point(f"player {number}", x, y, False) for number, (x, y) in enumerate(places)]


@pytest.mark.parametrize("kind", ["place", "height", "heap", "anywhere", "top"])
def test_no_name_lies_over_another_or_over_a_point_and_no_line_runs_under_one(kind: str) -> None:
    points = crowd(kind)
    for picture, width in zip(pictures(points), (860, 358), strict=True):
        named = boxes(picture, {point.name for point in points})
        assert sorted(name for name, *_ in named) == sorted(point.name for point in points)
        for (_, left, right, y), (_, other_left, other_right, other_y) in combinations(named, 2):
            assert right <= other_left or other_right <= left or abs(y - other_y) >= 16.9
        dots = [(float(x), float(y)) for x, y in attributes(picture, "circle", "cx", "cy")]
        right_border = width - 8 * max(len(point.name) for point in points) - 28
        column = [one for one in named if one[1] > right_border]
        for name, left, right, y in named:
            assert left > 44 and right <= width
            number = next(number for number, point in enumerate(points) if point.name == name)
            for place, (x, dot_y) in enumerate(dots):
                assert place == number or not (left - 8 < x < right + 8 and abs(y - dot_y) < 16)
        leaders = [
            tuple(map(float, place)) for *place, of in attributes(picture, "line", "x1", "y1", "x2", "y2", "class")
            if of == "leader"
        ]  # fmt: skip
        assert len(leaders) == len(column)
        for x1, y1, x2, y2 in leaders:
            assert any(abs(left - 3 - x2) < 0.2 and abs(y - y2) < 0.2 for _, left, _, y in column)
            assert any(abs(x - x1) < 0.2 and abs(y - y1) < 0.2 for x, y in dots)
            for _, left, right, y in named:
                if right < right_border:  # a sampled line: at no part of it is it under a name beside a point
                    places = [(x1 + (x2 - x1) * part / 40, y1 + (y2 - y1) * part / 40) for part in range(41)]
                    assert not any(left <= x <= right and abs(y - place) <= 8 for x, place in places)


def test_names_in_the_column_keep_the_order_of_their_points() -> None:
    """From the lowest up; of equal height the rightmost is the lowest, so that no line crosses another."""
    points = [Point(f"player {number}", 0.5 + number / 100, 0.5 * (number % 2), False) for number in range(24)]
    of = {point.name: point for point in points}
    for picture, width in zip(pictures(points), (860, 358), strict=True):
        column = [one for one in boxes(picture, set(of)) if one[1] > width - 8 * 9 - 28]
        upwards = [of[name] for name, *_ in sorted(column, key=lambda box: -box[3])]
        assert len(upwards) > 5 and upwards == sorted(upwards, key=lambda point: (point.y, -point.x))


def test_the_empty_board_has_a_well_for_each_cell() -> None:
    tiles = board_parts("g1", BoardSize(2, 3, 3, False))
    [(kind, wells)] = attributes(tiles, "path", "class", "d")
    centres = [f"M{column + 0.5} {row + 0.5}" for row in range(2) for column in range(3)]
    assert kind == "tile wells" and re.findall(r"M[\d.]+ [\d.]+", wells) == centres
    discs = board_parts("g2", BoardSize(1, 2, 2, True))
    assert attributes(discs, "path", "class", "d") == [("disc wells", "M0.5 0.5h0M1.5 0.5h0")]
    assert (shapes(tiles, "g")[0].get("id"), shapes(discs, "g")[0].get("id")) == ("g1", "g2")


def test_a_lost_game_is_drawn_stone_by_stone() -> None:
    board = BoardSize(2, 3, 3, False)
    line = LosingLine("15263", (0, 4, 1, 5, 2), (0, 1, 2), "given away at ply 4", True)
    picture = board_of("g1", board, "told", line)
    stones = {"a": "0,0 1,0 2,0", "b": "1,1 2,1", "win": "0,0 1,0 2,0", "wrong": "2,1", "last": ""}
    assert dict(attributes(picture, "polyline", "class", "points")) == stones
    assert shapes(picture, "use")[0].get("href") == "#g1"
    assert shapes(picture, "svg")[0].get("aria-label") == "told"
    unspoilt = board_of("g1", board, "told", replace(line, given_away=None))
    assert attributes(unspoilt, "polyline", "points")[3] == ("",)
    assert not shapes(board_of("g1", board, "told", None), "polyline")
    for cells in ((6,), (-1,)):
        with pytest.raises(ValueError, match="0 to 5"):
            board_of("g1", board, "told", replace(line, cells=cells))


@pytest.mark.parametrize(("told", "ply"), [(None, None), ("", None), ("given away at ply 12", 12), ("nothing", None)])
def test_the_ply_of_a_mistake_is_read_from_its_note(told: str | None, ply: int | None) -> None:
    assert LosingLine("1", (0,), (), told, True).wrong_ply == ply
