"""Openings: all that there are, each once, none finished, and the same by the same seed."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from conftest import title
from naive import NaiveBoard

from tictac_env.arena import all_openings, sampled_openings
from tictac_env.arena import game_record as openings
from tictac_env.arena.game_record import as_openings, starting_positions
from tictac_env.games import GAMES, Game
from tictac_env.position import Position

CONNECT_FOUR, TIC_TAC_TOE = GAMES["ConnectFour-v0"], GAMES["TicTacToe-v0"]
PER_PLY = {
    # Positions by ply: Connect Four's are OEIS A212693, tic-tac-toe's are stones before lines
    "ConnectFour-v0": [1, 7, 49, 238, 1120],
    "TicTacToe-v0": [1, 9, 72, 252, 756],
}


@pytest.mark.parametrize("name", PER_PLY)
def test_all_openings_are_as_many_as_are_known(name: str) -> None:
    for plies, count in enumerate(PER_PLY[name]):
        openings = all_openings(name, plies)
        assert len(openings) == count == len(set(openings))
        assert all(len(opening.moves) == plies and not opening.is_over for opening in openings)


def test_all_openings_are_those_of_a_naive_board(game: Game) -> None:
    if game.cells < 4:
        return
    found = {opening.moves for opening in all_openings(game, 2)}
    expected = {}
    for first in range(game.num_actions):
        for second in range(game.num_actions):
            board = NaiveBoard.of(game)
            legal = first in board.legal() and board.play(first) is not None and second in board.legal()
            if legal and board.play(second) and not Position.from_moves(game, [first, second]).is_over:
                expected.setdefault(str(board.grid), (first, second))
    assert found == set(expected.values()), title(game)


@pytest.mark.parametrize("plies", [4, 10**9])
def test_games_that_are_over_have_no_openings(plies: int) -> None:
    for find in (all_openings, lambda game, plies: sampled_openings(game, plies, 1)):
        with pytest.raises(ValueError, match=rf"openings of {plies} plies"):
            find("KInARow-v0:2x2-2", plies)


def test_too_many_openings_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openings, "MAX_OPENINGS", 238)
    assert len(all_openings(CONNECT_FOUR, 3)) == len(sampled_openings(CONNECT_FOUR, 4, 238)) == 238
    for plies in (4, 10**9):
        with pytest.raises(ValueError, match=rf"more than 238 openings of 4 plies, and {plies} were asked for"):
            all_openings(CONNECT_FOUR, plies)
    with pytest.raises(ValueError, match=r"count must be an integer in \[1, 238\], not 239"):
        sampled_openings(CONNECT_FOUR, 2, 239)


def test_sampled_openings_are_different_unfinished_and_come_back(name: str) -> None:
    openings = sampled_openings(name, 5, 60, seed=3)
    assert len(set(openings)) == 60 and all(opening.ply == 5 and not opening.is_over for opening in openings)
    assert openings == sampled_openings(name, 5, 60, seed=3) != sampled_openings(name, 5, 60, seed=4)
    assert [one.moves for one in sampled_openings(name, 5, 20, seed=3)] == [one.moves for one in openings[:20]]


def test_more_openings_than_there_are_cannot_be_sampled() -> None:
    assert set(sampled_openings("TicTacToe-v0", 2, 72)) == set(all_openings("TicTacToe-v0", 2))
    with pytest.raises(ValueError, match="only 72 openings of 2 plies to be found, not 73"):
        sampled_openings("TicTacToe-v0", 2, 73)


NAMED = {
    ("ConnectFour-v0", "random:8"): "fe8f71acb0cea497",
    ("TicTacToe-v0", "random:4"): "57dc6c26f367730d",
    ("TicTacToe-v0", "reachable"): "be134c83507be5f2",
}
"""The positions that the tuned agents of version 1.0 began from, as the first digits of a hash of their stones."""


@pytest.mark.parametrize(("name", "start"), NAMED)
def test_named_starting_positions_are_always_the_same(name: str, start: str) -> None:
    found = starting_positions(name, start)
    assert found is not None and not any(position.is_over for position in found)
    stones = repr([(position.own, position.opp) for position in found])
    assert hashlib.sha256(stones.encode()).hexdigest().startswith(NAMED[name, start])
    plies = Counter(position.ply for position in found)
    if start == "reachable":
        assert len(set(found)) == len(found) == 4520 and max(plies) == 8
    else:
        assert plies == dict.fromkeys(range(int(start[-1]) + 1), 500)


def test_other_names_of_starting_positions_are_an_error() -> None:
    for wrong in ("random", "random:", "random:-1", "random:x", "random:PLIES", "reachabel", "44"):
        with pytest.raises(ValueError, match=f"start must be .*'random:8'.*, not '{wrong}'"):
            starting_positions("ConnectFour-v0", wrong)
    assert starting_positions("ConnectFour-v0", "empty") is None
    with pytest.raises(ValueError, match="too often over after 3 random moves"):
        starting_positions("KInARow-v0:2x2-2", "random:3")


def test_openings_are_given_as_plies_positions_or_moves() -> None:
    assert as_openings(CONNECT_FOUR, 0) == [Position.start(CONNECT_FOUR)]
    given = [Position.from_moves(CONNECT_FOUR, "44"), "4453", Position.from_code(CONNECT_FOUR, 3**38)]
    openings = as_openings(CONNECT_FOUR, given)
    assert [opening.to_moves() for opening in openings] == ["44", "4453", "4"]
    assert all(len(opening.moves) == opening.ply for opening in openings)


@pytest.mark.parametrize(
    ("openings", "message"),
    [
        ([], "there are no openings"),
        ("44", "positions and move strings, not '44'"),
        (-1, "plies must be an integer"),
        (True, "not True"),
        (2.0, "not 2.0"),
        (["12", "21", "12"], "comes twice"),
        (["1122334"], "it is over"),
        (["48"], "move 2 of '48'"),
        ([Position.start(TIC_TAC_TOE)], "not an opening of this game"),
    ],
)
def test_what_are_no_openings_is_named(openings: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_openings(CONNECT_FOUR, openings)  # type: ignore[arg-type]
