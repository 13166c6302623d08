"""The board of models shows what the records say, whatever a model is called, and needs no other file."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_server import legal_in
from chromium import needs_chromium
from conftest import breadth
from html_tags import Tags

from tictac_apps import cli
from tictac_apps.bench.audited_models import models_of, read_audits
from tictac_apps.bench.model_board import board_page, save_board
from tictac_apps.language_models import TextPolicy
from tictac_env import audit
from tictac_env.arena import Audit, Suite, suite
from tictac_env.arena.audit_record import RECORD, save_card
from tictac_env.checks import SEATS

ROOT = Path(__file__).parents[3]
TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
STRANGE = """<img src=x onerror="alert(1)">&'$title </script>"""


def lowest(prompt: str) -> str:
    """A model that names the lowest legal move, but says too much in the centre's favour, and errs in form at times."""
    legal = legal_in(prompt)
    if "5" not in legal and "no move in the form" not in prompt:
        return f"{legal[0]} it is."
    return "Move: 5" if legal[0] == "1" and "which is not legal" not in prompt else f"Move: {legal[0]}"


def few(name: str, number: int) -> Suite:
    """Some positions of a shipped suite."""
    whole = suite(name)
    rows = np.linspace(0, len(whole) - 1, number).astype(int)
    return Suite(f"{number} of {name}", whole.positions.where(rows), whole.scores[rows])


@pytest.fixture(scope="module")
def audits() -> dict[str, Audit]:
    """Records of tic-tac-toe and of Connect Four, by the folders that they are put into."""
    model = TextPolicy(lowest, name="lowest", on_failure="forfeit")
    of_four = {"suite": few("C4-Exact-v1", 90), "replies": 200, "progress": False}
    return {
        "a/lowest": audit(model, TTT, progress=False),
        "rule": audit("rule", TTT, progress=False),
        "perfect": audit("perfect", TTT, progress=False),
        "four/rule": audit("rule", C4, **of_four),
        "four/lowest": audit(model, C4, exact=False, **of_four),
    }


@pytest.fixture
def folder(audits: dict[str, Audit], tmp_path: Path) -> Path:
    for name, record in audits.items():
        save_card(record, tmp_path / name)
    return tmp_path


def page_of(folder: Path) -> str:
    return board_page(models_of(read_audits(folder)))


def text_of(folder: Path) -> str:
    """The text of the page, once its tags and links are checked."""
    page = page_of(folder)
    tags = Tags(page)
    assert all(link.startswith("#") and link[1:] in tags.ids for link in tags.links)
    assert len(set(tags.ids)) == len(tags.ids)
    assert not re.search(r"@import|url\((?!#)", page)
    return " ".join(" ".join(tags.texts).split()).replace("\u00a0", " ")


def table(page: str, kind: str, number: int) -> dict[str, dict[str, str]]:
    """The cells of a game's table by their rows and columns."""
    content = page.split(f'<table class="{kind}">')[number + 1].split("</table>")[0]
    head, *rows = (re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in content.split("<tr>")[1:])
    cells = ([re.sub(r"<small>", " ", cell) for cell in row] for row in rows)
    return {
        re.sub("<.*?>", "", row[0]): {
            name: re.sub("<.*?>", "", cell).replace("\u00a0", " ") for name, cell in zip(head[1:], row[1:], strict=True)
        }
        for row in cells
    }


def rewritten(folder: Path, name: str, change: Callable[[Audit], Audit]) -> None:
    path = folder / name / RECORD
    path.write_text(change(Audit.from_json(path.read_text())).to_json())


def test_the_figures_are_those_of_the_records(folder: Path, audits: dict[str, Audit]) -> None:
    page = page_of(folder)
    for number, names in enumerate((["perfect", "rule", "a/lowest"], ["four/rule", "four/lowest"])):
        board, figures = table(page, "models", number), table(page, "figures", number)
        assert list(board) == list(figures) == [audits[name].player.name for name in names], "best first"
        for name in names:
            record = audits[name]
            row, all_figures = board[record.player.name], figures[record.player.name]
            assert row["mistakes"] == f"{100 * record.measure('mistakes').value:.1f} %"
            assert all_figures["regret"] == f"{record.measure('regret').value:.3f}"
            for phase in ("opening", "middle", "end"):
                assert all_figures[f"{phase} mistakes"] == f"{100 * record.measure('mistakes', phase).value:.1f} %"
            for seat in SEATS:
                if record.verdict is None:
                    assert row[f"as {seat}"] == "not judged"
                elif getattr(record.verdict, f"as_{seat}").unbeatable:
                    assert row[f"as {seat}"] == "unbeatable"
                elif line := (truth := getattr(record.verdict, f"as_{seat}")).losing_line:
                    words = rf"loses in (at most )?{len(line)} plies {line}"
                    if "no legal move" in (truth.given_away or ""):
                        words = f"names no legal move at ply {len(line) + 1} {line}"
                    assert re.fullmatch(words, row[f"as {seat}"])
            if record.answers is None:
                assert row["illegal"] == row["unread"] == all_figures["answers"] == ""
            else:
                counts = record.answers.counts["all"]
                assert row["illegal"] == f"{100 * counts.illegal / counts.answers:.1f} %"
                assert row["unread"] == f"{100 * counts.unparsed / counts.answers:.1f} %"
                assert all_figures["answers"] == f"{counts.answers:,}" and counts.illegal > 0 and counts.unparsed > 0
                assert all_figures["near misses"] == f"{record.answers.near_misses:,}"


def test_the_first_screen_answers_a_newcomer(folder: Path, audits: dict[str, Audit]) -> None:
    small, large = text_of(folder).split("Connect Four Which")
    assert "Which cannot be beaten? perfect Whatever the opponent plays, it never loses. 2 of 3 models" in small
    assert "Which errs least? perfect It gives away a win or a draw in 0.0 % of the positions." in small
    worst = audits["a/lowest"].measure("mistakes").value
    assert worst is not None and f"The most mistakes are made by lowest: {100 * worst:.1f} %." in small
    assert "Do they answer as they are asked? Not always" in small and "are from lowest." in small
    assert "How do we know? Every reply was walked" in small
    assert "cannot be beaten? None is known The first of the table is rule. As first it loses in " in large
    shutil.rmtree(folder / "four" / "lowest")  # which was not judged
    assert "Connect Four Which cannot be beaten? None of them The first" in text_of(folder)


def test_who_cannot_be_beaten_is_not_claimed_without_a_verdict(folder: Path) -> None:
    for name in ("perfect", "rule", "a/lowest", "four/rule"):
        rewritten(folder, name, lambda record: replace(record, verdict=None, answers=None))
    shutil.rmtree(folder / "four" / "lowest")
    text = text_of(folder)
    assert text.count("Which cannot be beaten? Unknown") == 2 and "No lost game is known." in text
    assert "Do they answer" not in text and "unread" not in table(page_of(folder), "models", 0)["rule"]


def test_lost_games_are_drawn_for_each_seat(folder: Path, audits: dict[str, Audit]) -> None:
    page = page_of(folder)
    for record in audits.values():
        for seat in SEATS if record.verdict else ():
            if line := getattr(record.verdict, f"as_{seat}").losing_line:
                assert f'aria-label="{record.player.name} loses as {seat}: {line}' in page
    text = text_of(folder)
    assert "Nothing beats perfect ." in text and "90 positions of 90 of C4-Exact-v1" in text


def test_a_hostile_name_is_only_text(folder: Path) -> None:
    def renamed(record: Audit) -> Audit:
        player = replace(record.player, name=STRANGE, source=STRANGE, settings={STRANGE: {STRANGE: STRANGE}})
        return replace(record, player=player)

    for name in ("a/lowest", "four/rule"):
        rewritten(folder, name, renamed)
    page = page_of(folder)
    assert STRANGE in text_of(folder) and escape(STRANGE) in page and STRANGE not in page and "<img" not in page


def test_models_of_one_name_are_told_apart_by_what_differs(folder: Path) -> None:
    def warmer(record: Audit) -> Audit:
        settings = record.player.settings | {"temperature": 0.7, "system": "x" * 90}
        return replace(record, player=replace(record.player, settings=settings), seed=3)

    shutil.copytree(folder / "a" / "lowest", folder / "b")
    rewritten(folder, "b", warmer)
    names = [model.name for model in models_of(read_audits(folder))[TTT]]
    long = Audit.from_json((folder / "b" / RECORD).read_text()).player.settings | {"system": "x" * 90 + "z"}
    shutil.copytree(folder / "b", folder / "c")
    rewritten(folder, "c", lambda record: replace(record, player=replace(record.player, settings=long)))
    assert len(models_of(read_audits(folder))[TTT]) == 5, "the ends of long settings count"
    assert f"lowest (seed 3, temperature 0.7, system {'x' * 39}…)" in names and "lowest (seed 0)" in names


def test_a_model_at_an_address_is_shown_with_what_was_sent(folder: Path) -> None:
    url = "http://localhost:8000/v1"

    def at_address(record: Audit, **changes: Any) -> Audit:
        settings = {"complete": {"url": url, "system": "", "temperature": 0.5, "max_tokens": None} | changes}
        player = replace(record.player, kind="address", source=f"{url}#lowest", settings=settings)
        return replace(record, player=player)

    shutil.copytree(folder / "a" / "lowest", folder / "b")
    rewritten(folder, "a/lowest", at_address)
    rewritten(folder, "b", lambda record: at_address(record, temperature=0.0, max_tokens=64))
    names = {model.name for model in models_of(read_audits(folder))[TTT]}
    assert names >= {"lowest (temperature 0.5)", "lowest (temperature 0.0, max_tokens 64)"}
    assert f"TextPolicy {url}#lowest: " in text_of(folder) and f"url {url}, temperature 0.5, seed 0" in text_of(folder)


def test_a_board_may_be_of_some_games(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = folder / "four.html"
    assert cli.main(["board", str(folder), "--game", C4, "-o", str(page)]) == 0
    assert capsys.readouterr().out.endswith(": 2 on ConnectFour-v0\n")
    assert "Tic-tac-toe" not in page.read_text()


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says of an error."""
    assert cli.main(["board", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("tictac: ") and err.count("\n") == 1
    return err


def test_what_is_wrong_with_a_folder_is_said(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path_factory.mktemp("empty")
    assert f"{empty} has no verdict.json" in refused([str(empty)], capsys) and not list(empty.iterdir())
    assert "nowhere is not a folder" in refused([str(empty / "nowhere")], capsys)
    assert not (empty / "nowhere").exists()
    assert "no record of KInARow-v0" in refused([str(folder), "--game", "KInARow-v0"], capsys)

    shutil.copytree(folder / "rule", folder / "copy")
    err = refused([str(folder)], capsys)
    assert str(folder / "copy" / RECORD) in err and str(folder / "rule" / RECORD) in err and "'rule'" in err
    shutil.rmtree(folder / "copy")

    record = folder / "rule" / RECORD
    whole = record.read_text()
    for damaged, part in (
        (whole[:500], "JSON"),
        (json.dumps(json.loads(whole) | {"seed": "x"}), "Audit.seed"),
        (json.dumps(json.loads(whole) | {"game": "Own-v0"}), "Own-v0"),
        (re.sub(r'"losing_line": "\d+"', '"losing_line": "55"', whole), "action 4, illegal here"),
    ):
        record.write_text(damaged)
        err = refused([str(folder)], capsys)
        assert str(record) in err and part in err
    record.write_bytes(b"\xff\xfe")
    assert str(record) in refused([str(folder)], capsys)
    assert not (folder / "board.html").exists()


def test_only_a_page_of_its_own_is_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = folder / "board.html"
    for _ in range(2):
        assert cli.main(["board", str(folder)]) == 0
        assert capsys.readouterr().out.startswith(f"{page} (")
        assert page.read_text() == page_of(folder)
        shutil.rmtree(folder / "rule", ignore_errors=True)
    page.write_text("<!doctype html>\nmy own page")
    assert str(page) in refused([str(folder)], capsys)
    assert page.read_text() == "<!doctype html>\nmy own page"
    assert str(folder / "a") in refused([str(folder), "-o", str(folder / "a")], capsys)


def test_ten_models_fit_60_kilobytes(folder: Path, audits: dict[str, Audit]) -> None:
    for name, more in (("a/lowest", 2), ("four/rule", 3)):
        for number in range(more):
            player = replace(audits[name].player, name=f"some-laboratory/model-{number}B-instruct")
            save_card(replace(audits[name], player=player), folder / f"{name}-{number}")
    models = save_board(folder, folder / "board.html")
    assert list(map(len, models.values())) == [5, 5]
    assert (folder / "board.html").stat().st_size < 60_000


def test_the_shipped_page_is_that_of_its_records() -> None:
    records = read_audits(ROOT / "benchmarks" / "results" / "models")
    assert (ROOT / "docs" / "models.html").read_text(encoding="utf-8") == board_page(models_of(records))
    names = {record.player.name for record in records.values()}
    assert names == {"random", "rule", "level:5", "perfect", "language model"}
    assert all(record.answers for record in records.values()), "they are asked in text"


@needs_chromium
@pytest.mark.parametrize(
    ("width", "scheme"),
    breadth(
        [(390, "light"), (1440, "dark")], [(width, one) for width in (1440, 390, 320) for one in ("light", "dark")]
    ),
)
def test_a_visitor_reads_the_page_by_keyboard(
    browser: Any, folder: Path, audits: dict[str, Audit], width: int, scheme: str
) -> None:
    save_board(folder, folder / "board.html")
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    visited, wrong, asked = context.new_page(), list[str](), list[str]()
    visited.on("pageerror", lambda error: wrong.append(str(error)))
    visited.on("console", lambda line: wrong.append(line.text))
    visited.on("request", lambda request: asked.append(request.url))
    visited.goto((folder / "board.html").as_uri())

    verdict = audits["rule"].verdict
    assert verdict is not None and verdict.as_first.losing_line is not None
    plies = len(verdict.as_first.losing_line)
    figure = visited.locator(".line").first
    assert figure.locator("output").inner_text().startswith(f"Ply {plies} of {plies}: lost")
    for _ in range(4):  # two links to the games, the button and the slider
        visited.keyboard.press("Tab")
    visited.keyboard.press("ArrowLeft")
    assert figure.locator("output").inner_text().startswith(f"Ply {plies - 1} of {plies}")
    visited.locator("summary").first.focus()
    visited.keyboard.press("Enter")
    assert visited.get_by_text("near misses").first.is_visible()

    assert visited.evaluate("document.documentElement.scrollWidth") <= width
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(visited, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
    dark = visited.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 21, 26)"
    assert dark == (scheme == "dark")
    context.close()
    assert wrong == [] and asked == [(folder / "board.html").as_uri()]
