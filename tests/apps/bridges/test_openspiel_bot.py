"""A bot of OpenSpiel's is named by what makes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tictac_env.games import get_game
from tictac_env.policies import load_player
from tictac_env.position import Position

BOTS = """
import pyspiel

GAME = pyspiel.load_game("{game}")

def search(seed):
    return pyspiel.MCTSBot(GAME, pyspiel.RandomRolloutEvaluator(1, seed), 2.0, 200, 10, True, seed, False)

number = 3
"""


@pytest.mark.parametrize(
    ("game", "theirs", "moves", "wins"),
    [
        ("TicTacToe-v0", "tic_tac_toe", "1425", 2),
        ("ConnectFour-v0", "connect_four", "415161", 6),
        ("KInARow-v0:5x6-3", "connect_four(rows=5,columns=6,x_in_row=3)", "1213", 0),
    ],
)
def test_a_function_that_makes_bots_plays(game: str, theirs: str, moves: str, wins: int, tmp_path: Path) -> None:
    pytest.importorskip("pyspiel")
    pytest.importorskip("tictac_apps.bridges.openspiel")
    (tmp_path / "spiel_bots.py").write_text(BOTS.format(game=theirs))
    rules = get_game(game)
    player = load_player(f"openspiel:{tmp_path / 'spiel_bots.py'}:search", rules)
    assert (player.name, player.kind, player.agent) == ("search", "openspiel", "BotPolicy") and player.checkpoint_sha256
    position = Position.from_moves(rules, moves)
    after = position.play(player.policy.act(position, 1))
    assert wins not in position.legal_actions or after.is_over
    with pytest.raises(ValueError, match="is neither an OpenSpiel bot nor a function"):
        load_player(f"openspiel:{tmp_path / 'spiel_bots.py'}:number", rules)
