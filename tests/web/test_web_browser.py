"""The page, driven as people drive it: by mouse and by keys, in chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import DESKTOP, PHONE, Visitor, served
from chromium import needs_chromium

from tictac_env.arena import round_robin
from tictac_env.policies import make_policy
from tictac_env.position import Position
from tictac_env.solver import solve
from tictac_env.solver.enumerate import tabulate

pytestmark = needs_chromium
VIEWS = ("view=train", "view=tournament")
TRAINED = 300_000
"""Milliseconds for a training: it has a low priority, so it takes long where the machine has other work."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as found:
        yield found


@pytest.fixture
def visitor(browser: Any, address: str) -> Iterator[Visitor]:
    found = Visitor(browser, address)
    yield found
    found.close()


def best(visitor: Visitor, game: str) -> int:
    """A best move in the position on the board."""
    position = Position.from_moves(game, "".join(visitor.moves()))
    if game == "TicTacToe-v0":  # the table, as the compiled solver takes seconds to load
        table = tabulate(position.game)
        return int(table.action_scores([table.index[position.own, position.opp]])[0].argmax())
    return solve(position).best_actions[0]


def worst(visitor: Visitor, game: str) -> int:
    """A move of the least value."""
    position = Position.from_moves(game, "".join(visitor.moves()))
    scores = solve(position).action_scores
    return min(position.legal_actions, key=lambda action: scores[action] or 0)


def play(visitor: Visitor, game: str, choose: Any, by: str) -> None:
    """Plays the visitor's moves until the game is over."""
    for _ in range(42):
        position = Position.from_moves(game, "".join(visitor.moves()))
        action = choose(visitor, game)
        if by == "mouse":
            visitor.click(action)
        else:
            visitor.page.keyboard.press(str(action + 1))
        visitor.page.wait_for_function(
            """ply => { const moves = document.getElementById('moves').innerText.split(/\\s+/).filter(Boolean).length;
                const said = document.getElementById('status').innerText;
                return moves > ply && /win|lose|draw|Your move/.test(said) && !/thinking/.test(said); }""",
            arg=position.ply,
        )
        if "Your move" not in visitor.said():
            return


def test_a_game_is_won_by_mouse(visitor: Visitor) -> None:
    """The quickest look at the page: it loads, plays, answers, says who has won, and asks nobody else."""
    visitor.open("game=TicTacToe-v0&opponent=random&seed=3")
    play(visitor, "TicTacToe-v0", best, "mouse")
    assert visitor.said().endswith("You win!")
    assert visitor.page.locator(".board .line").count() >= 3


@pytest.mark.slow
@pytest.mark.parametrize("by", ["mouse", "keys"])
@pytest.mark.parametrize("game", ["TicTacToe-v0", "ConnectFour-v0"])
def test_both_games_are_won_lost_and_drawn(visitor: Visitor, game: str, by: str) -> None:
    visitor.open(f"game={game}&opponent=random&seed=1")
    play(visitor, game, best, by)
    assert visitor.said().endswith("You win!")
    visitor.open(f"game={game}&opponent=perfect&seed=1&seat=second")
    visitor.wait_for("Your move")
    play(visitor, game, worst, by)
    assert visitor.said().endswith("You lose.")
    # Both sides play perfectly, on Connect Four from a drawn position.
    visitor.open(f"game={game}&opponent=perfect&seed=1&moves={'' if game == 'TicTacToe-v0' else '3'}")
    visitor.wait_for("Your move")
    play(visitor, game, best, by)
    assert "draw" in visitor.said()


@pytest.mark.slow
def test_arrows_and_enter_play_a_move(visitor: Visitor) -> None:
    visitor.open("game=ConnectFour-v0&opponent=rule")
    visitor.page.locator("[data-action='0']").focus()
    for _ in range(3):
        visitor.page.keyboard.press("ArrowRight")
    visitor.page.keyboard.press("Enter")
    visitor.wait_for_moves(2)
    assert visitor.moves()[0] == "4"


@pytest.mark.slow
def test_an_illegal_click_changes_nothing_and_says_why(visitor: Visitor) -> None:
    visitor.open("game=ConnectFour-v0&opponent=nobody&moves=444444")
    visitor.click(3)
    assert visitor.said() == "Column 4 is full."
    visitor.open("game=TicTacToe-v0&opponent=nobody&moves=5")
    visitor.page.keyboard.press("5")
    assert visitor.said() == "Cell 5 is taken."
    assert visitor.moves() == ["5"]
    visitor.open("game=TicTacToe-v0&opponent=nobody&moves=14253")
    visitor.click(8)
    assert visitor.said() == "The game is over."


@pytest.mark.slow
def test_undo_swap_and_a_new_game(visitor: Visitor) -> None:
    visitor.open("game=ConnectFour-v0&opponent=level:2")
    visitor.click(3)
    visitor.wait_for_moves(2)
    visitor.page.keyboard.press("u")
    visitor.wait_for("Taken back")
    assert visitor.moves() == []
    visitor.click(3)
    visitor.wait_for_moves(2)
    visitor.page.click("#swap")
    visitor.wait_for_moves(3)
    visitor.wait_for("you are yellow")
    visitor.page.keyboard.press("r")
    visitor.wait_for_moves(1)  # the opponent, who now plays first, has begun


@pytest.mark.slow
def test_a_link_shares_the_position(visitor: Visitor, browser: Any, address: str) -> None:
    visitor.open("game=ConnectFour-v0&opponent=rule&moves=4453")
    visitor.click(0)
    visitor.wait_for_moves(6)
    visitor.page.click("#share")
    link, moves = visitor.page.url, visitor.moves()
    other = Visitor(browser, address)
    other.open(link.partition("#")[2])
    assert other.moves() == moves
    assert other.page.locator("#setup select[name=opponent]").input_value() == "rule"
    other.close()


@pytest.mark.slow
def test_a_game_is_loaded_and_walked_through(visitor: Visitor) -> None:
    visitor.open("game=ConnectFour-v0&opponent=nobody")
    visitor.page.fill("#load-moves", "445")
    visitor.page.click("#load button")
    visitor.wait_for_moves(3)
    visitor.page.keyboard.press(",")
    visitor.wait_for_line("4 [4] 5")
    assert visitor.page.locator(".board .stone").count() == 2
    visitor.page.click("[data-step=first]")
    visitor.page.wait_for_selector(".board .stone", state="detached")
    visitor.page.fill("#load-moves", "4444444")
    visitor.page.click("#load button")
    visitor.page.wait_for_selector("#trouble:not([hidden])")
    assert "column 4 is full" in visitor.page.inner_text("#trouble")
    assert visitor.moves() == ["4", "4", "5"]
    visitor.wrong.clear()  # the browser logs the refusal


@pytest.mark.slow
def test_exact_values_on_the_board_are_the_solvers(visitor: Visitor) -> None:
    visitor.open("game=ConnectFour-v0&opponent=rule&moves=44531")
    visitor.page.keyboard.press("s")
    visitor.open("game=ConnectFour-v0&opponent=rule&moves=445312")
    visitor.page.keyboard.press("x")
    visitor.page.wait_for_selector(".exact")
    solution = solve(Position.from_moves("ConnectFour-v0", "445312"))
    shown = visitor.page.locator(".exact").all_inner_texts()
    signs = {"W": 1, "=": 0, "L": -1}
    assert [signs[text[0]] for text in shown] == [
        (score > 0) - (score < 0) for score in solution.action_scores if score is not None
    ]
    framed = visitor.page.locator(".note").evaluate_all("notes => notes.map(n => !!n.querySelector('.exact.top'))")
    assert tuple(action for action, top in enumerate(framed) if top) == solution.best_actions
    label = visitor.page.locator("[data-action='0']").get_attribute("aria-label")
    assert "lost in" in label or "won in" in label or "a draw" in label


@pytest.mark.slow
def test_thoughts_and_the_evaluation_are_shown(visitor: Visitor) -> None:
    visitor.open("game=ConnectFour-v0&opponent=mcts:200&moves=4453")
    for key in "txe":  # at once: an answer that comes late must not undo a later one
        visitor.page.keyboard.press(key)
    visitor.page.wait_for_selector(".note:has(.thought):has(.exact)")
    visitor.page.wait_for_selector(".blunders")
    visits = visitor.page.locator(".thought").evaluate_all("all => all.map(one => parseInt(one.firstChild.data))")
    assert sum(visits) == 200
    assert "Move 3, 5 is a blunder" in visitor.page.inner_text(".blunders")
    visitor.page.click(".blunders button")
    visitor.wait_for_line("4 4 [5] 3")


@pytest.mark.slow
def test_two_visitors_play_their_own_games(browser: Any, address: str) -> None:
    one, two = Visitor(browser, address), Visitor(browser, address)
    one.open("game=ConnectFour-v0&opponent=minimax-first:1")
    two.open("game=TicTacToe-v0&opponent=minimax-first")
    one.click(6)
    two.click(8)
    one.wait_for_moves(2)
    two.wait_for_moves(2)
    assert one.moves()[0] == "7"
    assert two.moves()[0] == "9"
    expected = make_policy("minimax-first").act(Position.from_moves("TicTacToe-v0", "9"), 0)
    assert two.moves()[1] == str(expected + 1)
    one.close()
    two.close()


@pytest.mark.slow
@pytest.mark.parametrize("game", ["TicTacToe-v0", "ConnectFour-v0", "KInARow-v0:5x9-4"])
def test_nothing_is_cut_off_at_phone_width(browser: Any, address: str, game: str) -> None:
    visitor = Visitor(browser, address, PHONE, has_touch=True)
    visitor.open(f"game={game}&opponent=nobody")
    for box in ("show-thoughts", "show-exact", "show-review"):
        visitor.page.check(f"#{box}")
    visitor.page.locator("[data-action='1']").tap()
    visitor.wait_for_moves(1)
    visitor.page.wait_for_selector(".blunders")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 360
    visitor.close()


@pytest.mark.slow
def test_an_agent_is_trained_until_nothing_beats_it_and_played(visitor: Visitor) -> None:
    visitor.open("view=train")
    page = visitor.page
    page.get_by_label("Settings to begin with").select_option("self-play")
    page.get_by_label("Stop as soon as").check()
    page.click("#train button.main")
    page.wait_for_function(
        "() => document.querySelector('#train').innerText.includes('Provably unbeatable')", timeout=TRAINED
    )
    page.wait_for_selector("#train button:has-text('Play what was trained').main")
    page.click("#train button:has-text('Play what was trained')")
    visitor.wait_for("Your move")
    play(visitor, "TicTacToe-v0", best, "mouse")
    assert "draw" in visitor.said()  # perfect play against what is infallible


@pytest.mark.slow
def test_fifty_games_are_not_enough_and_the_page_shows_why(visitor: Visitor) -> None:
    visitor.open("view=train")
    page = visitor.page
    page.locator("#train select").nth(0).select_option("ValueTD")
    page.get_by_label("Settings to begin with").select_option("S1")
    page.get_by_label("Games", exact=True).fill("50")
    page.click("#train button.main")
    page.wait_for_selector("#train .status:has-text('over: 50 of 50')", timeout=TRAINED)
    assert "It can be beaten" in page.inner_text("#train")
    first = page.locator("#train tbody tr").first.inner_text().split()
    assert first[-1] in ("0.5500000", "0.4500000")
    page.click("#train a[href*=moves]")
    visitor.wait_for("to move")
    page.click("[data-step=last]")
    visitor.wait_for("you (")
    assert visitor.said().endswith("wins.")


def long_training(visitor: Visitor) -> Any:
    """The page, once a training is under way that does not end by itself."""
    visitor.open("view=train")
    page = visitor.page
    page.get_by_label("Games", exact=True).fill("1000000")
    page.get_by_label("Opponent in training").select_option("minimax")
    page.click("#train button.main")
    page.wait_for_selector("#train .chart", timeout=TRAINED)
    return page


@pytest.mark.slow
def test_a_training_is_stopped(visitor: Visitor) -> None:
    page = long_training(visitor)
    page.click("#train button:has-text('Stop')")
    page.wait_for_selector("#train .status:has-text('Stopped')", timeout=TRAINED)


@pytest.mark.slow
def test_a_training_outlives_a_reload_of_the_page(visitor: Visitor, browser: Any, address: str) -> None:
    """Its progress is shown, it can be stopped, and what it has learned be played; in no other tab."""
    page = long_training(visitor)
    assert page.locator("#train button.main").is_disabled()
    page.reload()
    page.wait_for_selector("#train .chart", timeout=TRAINED)
    assert page.locator("#train button.main").is_disabled()
    other = Visitor(browser, address)
    other.open("view=train")
    assert other.page.locator("#train button:has-text('Stop')").is_disabled()
    other.close()
    page.click("#train button:has-text('Stop')")
    page.wait_for_selector("#train .status:has-text('Stopped')", timeout=TRAINED)
    page.reload()
    page.wait_for_selector("#train .status:has-text('Stopped')", timeout=TRAINED)
    page.click("#train button:has-text('Play what was trained')")
    visitor.wait_for("Your move")


@pytest.mark.slow
def test_a_tournament_is_looked_at_and_a_game_replayed(browser: Any, tmp_path: Path) -> None:
    store = tmp_path / "games.sqlite"
    tournament = round_robin(["random", "rule", "minimax"], games=8, openings=2, store=store)
    with served("--store", str(store)) as address:
        visitor = Visitor(browser, address)
        visitor.open("view=tournament")
        page = visitor.page
        page.wait_for_selector(".cross")
        names = page.locator(".ratings tbody th").all_inner_texts()
        assert names == list(tournament.ratings().names)
        cell = page.locator(f".cross button[title^='{names[0]} against {names[1]}']")
        score = 100 * tournament.matches[names[0], names[1]].total.score
        assert f": {score:.1f} %; won/drawn/lost" in cell.get_attribute("title")
        assert abs(int(cell.inner_text()) - score) <= 0.5
        cell.click()
        page.wait_for_selector(f"text={names[0]} (first) against {names[1]} (second): 4.")
        listed = page.locator(".games a").first.inner_text()
        page.locator(".games a").first.click()
        visitor.wait_for("to move")
        assert page.locator(".board .stone").count() == 2  # the opening
        page.click("[data-step=last]")
        moves = visitor.moves()
        played = [r for r in tournament.games if (r.fixture.first.name, r.fixture.second.name) == (names[0], names[1])]
        assert len(played) == 4
        assert "".join(moves) == listed
        assert listed in [record.moves for record in played]  # the store has them in the order in which they were added
        visitor.close()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, tmp_path: Path, scheme: str) -> None:
    """In every view, at desktop and phone width."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    store = tmp_path / "games.sqlite"
    round_robin(["random", "rule", "minimax"], games=4, store=store)
    with served("--store", str(store)) as address:
        for size in (DESKTOP, PHONE):
            visitor = Visitor(browser, address, size, color_scheme=scheme, bypass_csp=True)
            for link in ("game=ConnectFour-v0&moves=4453&opponent=mcts:100", "game=TicTacToe-v0&moves=14253", *VIEWS):
                visitor.open(link)
                if "moves" in link:
                    for box in ("show-thoughts", "show-exact", "show-review"):
                        visitor.page.check(f"#{box}")
                    visitor.page.wait_for_selector(".blunders")
                if "train" in link:
                    visitor.page.get_by_label("Games", exact=True).fill("20")
                    visitor.page.click("#train button.main")
                    visitor.page.wait_for_selector("#train .status:has-text('over')", timeout=TRAINED)
                if "tournament" in link:
                    visitor.page.wait_for_selector(".games")
                found = axe.run(visitor.page).response["violations"]
                serious = [one for one in found if one["impact"] in ("serious", "critical")]
                told = [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in serious]
                assert not told, (link, size, told)
            visitor.close()
