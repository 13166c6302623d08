"""The page without a server, opened from a folder and driven as people drive it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import PHONE, Visitor
from chromium import needs_chromium

from tictac_env.position import Position
from tictac_env.solver import solve
from tictac_env.web.export import export_page

pytestmark = needs_chromium


class Reader(Visitor):
    """Somebody who opens the folder; whatever is asked for must lie within it."""

    def open(self, link: str = "") -> None:
        self.page.goto(f"{self.address}index.html#{link}")
        self.page.reload()
        self.page.wait_for_selector("html[data-ready]")

    def notes(self, kind: str) -> list[str]:
        """What stands in the boxes of that kind."""
        return [str(text) for text in self.page.locator(f".note .{kind}").all_inner_texts()]

    def wait_for_notes(self, kind: str, count: int) -> None:
        script = "([kind, count]) => document.querySelectorAll(`.note .${kind}`).length === count"
        self.page.wait_for_function(script, arg=[kind, count])

    def wait_for_answer(self, ply: int) -> None:
        """Waits until the move made at `ply` is answered, or the game is over."""
        self.page.wait_for_function(
            """ply => document.getElementById('moves').innerText.split(/\\s+/).filter(Boolean).length > ply
                && /win|lose|draw|Your move/.test(document.getElementById('status').innerText)""",
            arg=ply,
        )


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    target: Path = tmp_path_factory.mktemp("export") / "my site"
    export_page(target)
    return f"{target.as_uri()}/"


@pytest.fixture
def reader(browser: Any, address: str) -> Iterator[Reader]:
    found = Reader(browser, address)
    yield found
    found.close()


def position_of(reader: Reader, game: str) -> Position:
    return Position.from_moves(game, "".join(reader.moves()))


def test_a_game_is_played_from_a_folder(reader: Reader) -> None:
    """Loads, plays, answers, takes back, knows what is true, says who has won, and asks nobody else."""
    game = "TicTacToe-v0"
    reader.open(f"game={game}&opponent=random&seed=4")
    for turn in range(5):
        position = position_of(reader, game)
        assert len(position.moves) == 2 * turn
        reader.wait_for_notes("exact", len(position.legal_actions))
        solution = solve(position)
        signs = [solution.action_scores[action] for action in position.legal_actions]
        assert [note[0] for note in reader.notes("exact")] == [
            "L=W"[(s > 0) - (s < 0) + 1] for s in signs if s is not None
        ]
        reader.click(solution.best_actions[0])
        reader.wait_for_answer(position.ply)
        if "win" in reader.said():
            break
    assert reader.said().endswith("You win!")
    assert reader.page.locator(".board .line").count() >= 3


@pytest.mark.slow
def test_connect_four_by_keys_with_undo_and_another_opponent(reader: Reader) -> None:
    game = "ConnectFour-v0"
    reader.open(f"game={game}&opponent=book&seat=second&seed=1")
    reader.wait_for_moves(1)
    assert reader.moves() == ["4"]  # the one winning move
    reader.wait_for_notes("exact", 7)
    assert "".join(note[0] for note in reader.notes("exact")) == "L" * 7
    reader.page.keyboard.press("1")
    reader.wait_for_moves(3)
    assert int(reader.moves()[2]) - 1 in solve(Position.from_moves(game, "41")).best_actions
    reader.page.keyboard.press("u")
    reader.wait_for_line("[4]")
    reader.page.select_option("select[name=opponent]", "ntuple:4")
    reader.wait_for_answer(0)
    for key in "4415263":
        if "Your move" not in reader.said():
            break
        before = len(reader.moves())
        reader.page.keyboard.press(key)
        reader.wait_for_answer(before)
    assert len(reader.moves()) > 10 or "lose" in reader.said()
    reader.open(f"game={game}&moves=44444432211&opponent=ntuple:4")
    reader.wait_for_notes("thought", 6)
    assert reader.notes("exact") == ["?"] * 6  # beyond the book


@pytest.mark.slow
def test_wrong_links_and_moves_are_told(reader: Reader) -> None:
    reader.open("game=Hex-v0")
    assert "Hex-v0" in reader.page.inner_text("#trouble")
    reader.open("game=ConnectFour-v0&opponent=nobody&moves=444444")
    reader.page.keyboard.press("4")
    reader.wait_for("Column 4 is full.")
    reader.page.fill("#load-moves", "4449")
    reader.page.click("#load button")
    reader.page.wait_for_function("() => /move 4 of/.test(document.getElementById('trouble').innerText)")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_passes_axe(browser: Any, address: str, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    phone = Reader(browser, address, PHONE, color_scheme=scheme)
    for link in ("game=ConnectFour-v0&moves=4453", "game=TicTacToe-v0&moves=15", "game=ConnectFour-v0&moves=1212121"):
        phone.open(f"{link}&opponent=nobody")
        assert phone.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        # axe would else ask for the style sheets, which a browser refuses within a folder
        found = axe.run(phone.page, options={"preload": False}).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    phone.close()
