"""Audits as text and as a Markdown page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from examples.hex import Hex
from tictac_env import audit
from tictac_env.arena import Audit
from tictac_env.arena.auditing import CARD, RECORD, save_card
from tictac_env.games import get_game
from tictac_env.render.text import render_game_text

TTT = "TicTacToe-v0"


@pytest.fixture(scope="module")
def rule() -> Audit:
    return audit("rule", TTT, opponents=["random"], games=4, progress=False)


def test_the_text_draws_the_lost_games(rule: Audit) -> None:
    text = str(rule)
    assert rule.verdict is not None
    for name in ("as first", "as second"):
        line = rule.verdict[name]["losing line"]
        drawn = [f"    {row}".rstrip() for row in render_game_text(get_game(TTT), line).splitlines()]
        given_away = rule.verdict[name]["given away"]
        assert "\n".join([f"  {name} it loses {line} ({given_away}):", *drawn]) in text
    assert max(map(len, text.splitlines())) < 160
    assert "it loses" not in str(audit("minimax", TTT, progress=False))


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


def test_a_game_that_is_not_registered_has_no_boards() -> None:
    from tictac_env.games import KInARow

    small = KInARow.make(3, 3, 3, False)
    record = audit("random", small, progress=False)
    known = Audit.from_json(record.to_json().replace(f'"game": {json.dumps(record.game)}', '"game": "Nobody-v0"', 1))
    assert "it loses 123548 (given away at ply 5: 4, better 8)\n" in str(known)
    assert audit("random", Hex.make(2), progress=False).verdict


def test_the_card_holds_the_text_and_the_record_beside_it(rule: Audit, tmp_path: Path) -> None:
    card, record = save_card(rule, tmp_path)
    assert (card, record) == (tmp_path / CARD, tmp_path / RECORD)
    assert Audit.from_json(record.read_text()) == rule
    page = card.read_text()
    assert page.startswith(f"# rule on {TTT}\n") and str(rule) in page
    assert "As second player it can be beaten, by 1564329." in page
    save_card(rule, tmp_path)  # its own files are replaced


@pytest.mark.parametrize("name", [CARD, RECORD])
def test_what_others_wrote_is_left_alone(rule: Audit, name: str, tmp_path: Path) -> None:
    for content in ("# My project\n", "{}", ""):
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=re.escape(f"{tmp_path / name} exists")):
            save_card(rule, tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == content
