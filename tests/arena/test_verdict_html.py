"""What a notebook shows of verdicts: the numbers of their text, and the lost games as boards."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tictac_env.arena import verdict
from tictac_env.position import Position

SVG = "{http://www.w3.org/2000/svg}"


def page(found: object) -> ElementTree.Element:
    """The HTML of a verdict, read strictly: every tag is closed, every sign escaped."""
    html: str = found._repr_html_()  # type: ignore[attr-defined]
    return ElementTree.fromstring(html)


def cells(root: ElementTree.Element) -> list[list[str]]:
    return [[cell.text or "" for cell in row] for row in root.iter("tr")]


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+\.\d+", text))


def test_a_verdict_is_a_table_of_its_numbers_and_the_boards_of_the_lost_games() -> None:
    found = verdict("rule")
    root = page(found)
    shown = " ".join(root.itertext())
    assert "rule (probabilities): exploitability 1.00000" in shown
    assert numbers(str(found)) <= numbers(shown)
    heads, first, second = cells(root)
    assert len(heads) == len(first) == len(second)
    assert first[:2] == ["first", f"yes, by 52468319 ({found.as_first.given_away})"]
    assert second[:2] == ["second", f"yes, by 1564329 ({found.as_second.given_away})"]
    assert "v best: against any move" in shown

    pictures = list(root.iter(f"{SVG}svg"))
    assert len(pictures) == len("52468319") + len("1564329")
    captions = [caption.text for caption in root.iter("figcaption")]
    assert captions[:3] == ["1. X 5", "2. O 2", "3. X 4"] and captions[-1] == "7. X 9"
    ends = [[shape.get("class") for shape in picture].count("win") for picture in pictures]
    assert [count for count in ends if count] == [3, 3] and ends[7] == ends[14] == 3
    stones = [sum(shape.get("class") in ("first", "second") for shape in picture) for picture in pictures]
    assert stones == [*range(1, 9), *range(1, 8)]


def test_what_cannot_be_beaten_has_no_boards() -> None:
    root = page(verdict("minimax"))
    assert [row[1] for row in cells(root)[1:]] == ["no: infallible"] * 2
    assert not list(root.iter(f"{SVG}svg"))


def test_lost_games_of_larger_boards_are_drawn_on_them() -> None:
    found = verdict("minimax:2", game="KInARow-v0:3x4-3")
    line = found.as_first.losing_line
    assert line is not None
    last = Position.from_moves("KInARow-v0:3x4-3", line)
    picture = list(page(found).iter(f"{SVG}svg"))[len(line) - 1]
    assert (float(picture.get("width", 0)) > float(picture.get("height", 0))) and last.is_over
    assert sum(shape.get("class") == "win" for shape in picture) == 3


def test_results_against_opponents_have_a_row_for_each_seat() -> None:
    found = verdict("random", opponents=["rule", "minimax"], max_positions=30, games=200)
    root = page(found)
    rows = cells(root)[1:]
    assert [row[:2] for row in rows] == [[name, seat] for name in ("rule", "minimax") for seat in ("first", "second")]
    assert numbers(str(found)) <= numbers(" ".join(root.itertext()))
    assert all(row[5] == "sampled, 200 games" for row in rows)
    exact = verdict("random", opponents=["rule"])
    assert [row[5] for row in cells(page(exact))[1:]] == ["exact", "exact"]
    assert numbers(str(exact)) <= numbers(" ".join(page(exact).itertext()))


@pytest.mark.parametrize("opponents", [None, ["random"]])
def test_names_are_text_and_colours_are_the_notebooks(opponents: list[str] | None) -> None:
    from tictac_env.policies import RandomPolicy

    policy = RandomPolicy()
    policy.name = "<script>alert('1 & 2')</script>"
    found = verdict(policy, opponents=opponents)  # type: ignore[call-overload]
    root = page(found)
    assert not list(root.iter("script")) and policy.name in " ".join(root.itertext())
    styles = "; ".join(element.get("style", "") for element in root.iter())
    assert set(re.findall(r"(?:^|; )(?:color|background): (\w+)", styles)) <= {"inherit", "none"}
    for picture in root.iter(f"{SVG}svg"):
        assert picture[0].get("width") != picture.get("viewBox", "").split()[2], "a board has no ground of its own"
