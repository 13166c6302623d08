"""What an audit looks like: as text, as a page, and as a model card that hubs can read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from examples.hex import Hex
from tictac_env import audit
from tictac_env.arena import Audit
from tictac_env.arena.audits.card import CARD, RECORD, model_card, save_card
from tictac_env.arena.audits.html import audit_page
from tictac_env.arena.audits.text import in_words
from tictac_env.games import get_game
from tictac_env.policies import RandomPolicy
from tictac_env.render.text import render_game_text

TTT = "TicTacToe-v0"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def rule() -> Audit:
    return audit("rule", TTT, sample=5, opponents=["random"], games=4, progress=False)


def page(found: Audit) -> ElementTree.Element:
    return ElementTree.fromstring(audit_page(found).replace("<!DOCTYPE html>", "").replace('<meta charset="utf-8">', "")
                                  .replace('initial-scale=1">', 'initial-scale=1"/>'))  # fmt: skip


def test_the_text_draws_the_lost_games(rule: Audit) -> None:
    text = str(rule)
    assert rule.verdict is not None
    for name in ("as first", "as second"):
        line = rule.verdict[name]["losing line"]
        drawn = [f"    {row}".rstrip() for row in render_game_text(get_game(TTT), line).splitlines()]
        given_away = rule.verdict[name]["given away"]
        assert "\n".join([f"  {name} it loses {line} ({given_away}):", *drawn]) in text
    assert max(map(len, text.splitlines())) < 160
    assert "it loses" not in str(audit("minimax", TTT, sample=0, progress=False))


def test_the_boards_of_a_game_stand_side_by_side() -> None:
    game = get_game("ConnectFour-v0")
    wide, narrow = (render_game_text(game, "1212121", width).splitlines() for width in (200, 50))
    assert len(wide) == 8 + 1 and len(narrow) == 4 * 8 + 3 + 1
    assert [word for word in wide[0].split() if word.endswith(".")] == [f"{ply}." for ply in range(1, 8)]
    assert wide[0].split()[:6] == ["1.", "X", "1", "2.", "O", "2"]
    assert wide[-1] == narrow[-1] == "X wins in column 1"
    assert max(map(len, narrow)) <= 50
    assert render_game_text(game, "4", 1).splitlines()[0] == "1. X 4"
    with pytest.raises(ValueError, match="without moves"):
        render_game_text(game, "")


def test_the_page_has_every_figure_and_the_boards(rule: Audit) -> None:
    root = page(rule)
    shown = " ".join(root.itertext())
    assert rule.verdict is not None
    boards = sum(len(rule.verdict[name]["losing line"]) for name in ("as first", "as second"))
    assert len(list(root.iter(f"{SVG}svg"))) == boards
    assert {in_words(measure) for measure in rule.measures} <= {cell.text for cell in root.iter("td")} | {"-"}
    assert "exploitability 1.00000" in shown and "yes, by 1564329" in shown and "random" in shown
    assert not list(root.iter("script")) and not re.search(r"https?://(?!www\.w3\.org)", audit_page(rule))


def test_names_are_text_on_the_page_and_in_the_card() -> None:
    policy = RandomPolicy()
    policy.name = "<script>alert('1 | 2')</script>\n---"
    found = audit(policy, TTT, sample=0, progress=False)
    root = page(found)
    assert not list(root.iter("script")) and "alert('1 | 2')" in " ".join(root.itertext())
    assert json.dumps(policy.name) in model_card(found)


def test_a_game_that_is_not_registered_has_no_boards() -> None:
    from tictac_env.games import KInARow

    small = KInARow.make(3, 3, 3, False)
    record = audit("random", small, sample=0, progress=False)
    known = Audit.from_json(record.to_json().replace(f'"game": {json.dumps(record.game)}', '"game": "Nobody-v0"', 1))
    assert "it loses 123548 (given away at ply 5: 4, better 8)\n" in str(known) and not list(
        page(known).iter(f"{SVG}svg")
    )
    assert audit("random", Hex.make(2), sample=0, progress=False).verdict


def test_the_card_is_one_that_hubs_read(rule: Audit, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    card, record = save_card(rule, tmp_path)
    assert (card, record) == (tmp_path / CARD, tmp_path / RECORD)
    assert Audit.from_json(record.read_text()) == rule
    _, head, body = card.read_text().split("---\n", 2)
    found = yaml.safe_load(head)
    assert found["library_name"] == "tictac-env" and {"reinforcement-learning", TTT} <= set(found["tags"])
    index = found["model-index"][0]
    assert index["name"] == "rule" and index["results"][0]["dataset"] == {"type": TTT, "name": TTT}
    metrics = {one["name"]: one for one in index["results"][0]["metrics"]}
    assert all({"type", "name", "value", "verified"} == set(one) for one in metrics.values())
    assert rule.verdict is not None
    assert metrics["exploitability"]["value"] == rule.verdict["exploitability"]
    won = rule.verdict["as second"]["v random"][0]
    assert metrics["won v random as second"]["value"] == pytest.approx(won, abs=1e-6)
    assert metrics["mistakes, opening"]["type"] == "mistakes"
    assert metrics["mistakes"]["value"] == pytest.approx(rule.measure("mistakes").value, abs=1e-6)
    assert "As second player it can be beaten, by 1564329." in body and str(rule) in body
    save_card(rule, tmp_path)  # its own files are replaced


@pytest.mark.parametrize("name", [CARD, RECORD])
def test_what_others_wrote_is_left_alone(rule: Audit, name: str, tmp_path: Path) -> None:
    for content in ("# My project\n", "{}", ""):
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=re.escape(f"{tmp_path / name} is there and is no")):
            save_card(rule, tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == content
