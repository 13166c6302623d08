"""Errors of a network are found wherever they are, and it learns on from there until none is left."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tictac_agents import NTupleNetwork, NTupleTD
from tictac_env.arena import exact_results, prove
from tictac_env.games import KInARow, get_game
from tictac_env.position import Position
from tictac_env.solver import Solver
from tools import learn_where_refuted
from tools.kept_runs import Files
from tools.refutation_rounds import Found, Rounds, refined, with_tables
from tools.refutations import refutations, value
from tools.ship_ntuple import where_it_throws_its_win_away

DRAWN, WON = get_game("TicTacToe-v0"), get_game("KInARow-v0:4x4-3")


def beginner(game: KInARow, games: int = 40) -> NTupleNetwork:
    return NTupleTD(game, tuples=3, length=3, seed=2).learn(games).network


@pytest.mark.parametrize("best", [False, True])
@pytest.mark.parametrize(("game", "seat"), [(DRAWN, 0), (DRAWN, 1), (WON, 0)])
def test_positions_are_found_in_which_it_gives_away_what_the_game_is_worth(
    game: KInARow, seat: int, best: bool
) -> None:
    network, solver = beginner(game), Solver(game)
    worth = 0 if game is DRAWN else 1
    found, plies = refutations(network, game, seat, most=None, best=best)
    assert found and sum(ply["win or draw lost"] for ply in plies) == len(found)
    for moves in found:
        position = Position.from_moves(game, moves)
        assert position.seat == seat and value(position, solver) >= worth
        assert -value(position.play(network.act(position, 0)), solver) < worth
        for before in range(seat, len(moves), 2):  # the first error of its game
            assert -value(Position.from_moves(game, moves[: before + 1]), solver) >= worth
    sampled, plies = refutations(network, game, seat, most=5, best=best)
    assert {Position.from_moves(game, moves) for moves in sampled} <= {
        Position.from_moves(game, moves) for moves in found
    }
    assert all(ply["positions"] <= 5 for ply in plies[1:])


def test_the_shipped_network_is_shown_errors_after_all_replies_and_after_the_best() -> None:
    network = beginner(WON)
    [found], row = where_it_throws_its_win_away(network, 0)
    after_all = refutations(network, WON, seed=1)[0]
    after_best = refutations(network, WON, seed=1, best=True)[0]
    assert found == after_all + after_best
    assert (row["win lost, all replies"], row["win lost, best replies"]) == (len(after_all), len(after_best))


@pytest.mark.parametrize("seat", [0, 1])
def test_nothing_is_found_in_a_player_that_is_proven(seat: int) -> None:
    network = NTupleTD(DRAWN, tuples=12, length=6, seed=0).learn(20_000).network
    assert prove(network, seat, DRAWN).holds
    assert refutations(network, DRAWN, seat, most=None)[0] == []


def test_a_seat_that_loses_by_force_has_nothing_to_throw_away() -> None:
    with pytest.raises(ValueError, match="seat 1, which has nothing to throw away"):
        refutations(beginner(WON), WON, 1)


def by_perfect_play(network: NTupleNetwork, number: int) -> Found:
    found = [refutations(network, DRAWN, seat, most=None, best=True)[0] for seat in range(2)]
    return found, {"errors": len(found[0]) + len(found[1])}


def test_it_learns_on_until_no_error_is_left(tmp_path: Path) -> None:
    plan, files = Rounds(20, games=2_000, step=0.1, chance=0.5, fall=0.9), Files(tmp_path, "drawn")
    agent = NTupleTD(DRAWN, tuples=12, length=6, seed=0).learn(100)
    network, rows = refined(agent, plan, by_perfect_play, files)
    assert rows[0]["errors"] > 0 and rows[0]["games"] == 100
    assert [row["games"] for row in rows] == [100 + 2_000 * number for number in range(len(rows))]
    for seat in range(2):
        assert not refutations(network, DRAWN, seat, most=None, best=True)[0]
    results = exact_results(network, "perfect", game=DRAWN, progress=False)
    for shares in (results.as_first.shares, results.as_second.shares):
        assert shares.wins == shares.losses == 0

    def not_again(network: NTupleNetwork, number: int) -> Found:
        raise AssertionError(f"round {number} is looked at again")

    agent = NTupleTD(DRAWN, tuples=12, length=6, seed=0).learn(100)
    again, same = refined(agent, plan, not_again, files)
    assert same == rows and np.array_equal(again.weights, network.weights)


def test_each_seat_may_have_the_tables_of_another_network() -> None:
    first, second = beginner(DRAWN, 40), beginner(DRAWN, 80)
    joined = with_tables([first, second])
    start = Position.start(DRAWN)
    assert joined.values(start.own, start.opp) == first.values(start.own, start.opp)
    after = start.play(0)
    assert joined.values(after.own, after.opp) == second.values(after.own, after.opp)
    assert np.array_equal(with_tables([first]).weights, first.weights)


@pytest.mark.slow
def test_the_tool_learns_judges_and_keeps_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn_where_refuted, "GAMES", 2_000)
    monkeypatch.setattr(learn_where_refuted, "ROUNDS", learn_where_refuted.ROUNDS._replace(rounds=1, games=500))
    words = ["--models", str(tmp_path / "models"), "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["learn_where_refuted.py", *words])
    learn_where_refuted.main()
    record = json.loads((tmp_path / "refuted-6x5.json").read_text())
    assert [row["games"] for row in record["tables"]["rounds"]] == [2_000, 2_500]
    assert len(record["tables"]["judged"]) == 2
    network = NTupleNetwork.load(tmp_path / "models" / "refuted-6x5.npz")
    assert len(network.tuples) == record["settings"]["tuples"]
