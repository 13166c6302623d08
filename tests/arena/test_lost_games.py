"""Where the whole game cannot be tabulated, the game that beats a player is a shortest one, or one to perfect play."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import breadth

from tictac_env import audit, verdict
from tictac_env.arena import auditing
from tictac_env.arena.auditing import lost_game
from tictac_env.games import Game, get_game
from tictac_env.policies import Policy, load_player, make_policy
from tictac_env.policies.policy import action_of
from tictac_env.position import Position
from tictac_env.rng import position_seed

TTT = get_game("TicTacToe-v0")


class FixedRule(Policy):
    """`rule`, drawing by the seed without saying so."""

    def act(self, position: Position, seed: int) -> int:
        return make_policy("rule", position.game).act(position, seed)


def replayed(policy: Policy, game: Game, seat: int, line: str, seed: int) -> Position:
    """The end of a game, after the policy was seen to play its moves of it."""
    moves = Position.from_moves(game, line).moves
    for ply in range(seat, len(moves), 2):
        before = Position.from_moves(game, moves[:ply])
        assert action_of(policy, before, position_seed(before.own, before.opp, seed)) == moves[ply]
    return Position.from_moves(game, moves)


@pytest.mark.parametrize("seed", breadth([0], range(5)))
@pytest.mark.parametrize("seat", [0, 1])
def test_it_is_as_short_as_the_verdict_says(seat: int, seed: int) -> None:
    truth = verdict(FixedRule(), TTT, seed)
    line = (truth.as_first, truth.as_second)[seat].losing_line
    found = lost_game(load_player(FixedRule(), TTT), TTT, seat, seed, 10_000, False)
    assert found["infallible"] == (line is None)
    if line is not None:
        assert found["shortest"] and len(found["losing line"]) == len(line)
        end = replayed(FixedRule(), TTT, seat, found["losing line"], seed)
        assert end.outcome is not None and end.outcome.winner == 1 - seat


def test_what_never_loses_is_said_to() -> None:
    found = lost_game(load_player("minimax", TTT), TTT, 1, 0, 10_000, False)
    assert found == {
        "infallible": True,
        "losing line": None,
        "given away": None,
        "shortest": False,
        "walked": {"plies": 4, "positions": 477},
    }


def test_where_the_search_must_end_a_game_against_perfect_play_is_looked_at() -> None:
    lost = {}
    for seed in (2, 3):
        found = lost_game(load_player(FixedRule(), TTT), TTT, 1, seed, 20, False)
        assert found["walked"]["positions"] <= 20 and not found["shortest"]
        assert found["infallible"] is (False if found["losing line"] else None)
        if found["losing line"]:
            end = replayed(FixedRule(), TTT, 1, found["losing line"], seed)
            assert end.outcome is not None and end.outcome.winner == 0
        lost[seed] = found["losing line"] is not None
    assert len(set(lost.values())) == 2  # some are beaten by perfect play, and some are not


def test_a_large_game_has_its_lost_games_in_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of a small game in place of Connect Four's, whose proofs take long to compile."""
    from tictac_env.solver.enumerate import TooManyPositions

    def too_many(*arguments: Any) -> Any:
        raise TooManyPositions("too many")

    monkeypatch.setattr(auditing, "strategy_of", too_many)
    monkeypatch.setattr(auditing, "opening_book_of", lambda game: object())
    record = auditing.audit("rule", TTT, progress=False)
    assert record.verdict is not None
    seat = record.verdict["as second"]
    assert seat["infallible"] is False and seat["shortest"] and seat["losing line"] == "5437129"
    text = str(record)
    told = "given away at ply 2: 4, better 1, 3, 7, 9"
    assert f"as second it loses 5437129 ({told}; no shorter game beats it):" in text and "O wins" in text
    assert seat["given away"] == told and "leads to" not in text
    assert "walked" not in text and auditing.Audit.from_json(record.to_json()) == record
    assert "losing line" not in auditing.audit("rule", TTT, replies=0, progress=False).verdict["as first"]  # type: ignore[index]
    monkeypatch.setattr(auditing, "_lost_to_perfect_play", lambda *arguments: None)
    few = auditing.audit("rule", TTT, replies=1, progress=False)
    assert "as first: no game lost: every reply to its first 1 moves played, 1 positions, and one game" in str(few)


@pytest.mark.slow  # proofs are compiled for Connect Four, and perfect play searches
@pytest.mark.parametrize("player", ["rule", "mcts:100"])
def test_on_connect_four_players_are_shown_how_they_lose(player: str) -> None:
    record = audit(player, "ConnectFour-v0", replies=2_000, progress=False)
    assert record.verdict is not None
    for seat, name in enumerate(("as first", "as second")):
        line = record.verdict[name]["losing line"]
        end = replayed(make_policy(player, "ConnectFour-v0"), get_game("ConnectFour-v0"), seat, line, 0)
        assert end.outcome is not None and end.outcome.winner == 1 - seat
        assert line in str(record)
