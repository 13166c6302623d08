"""The tool that makes the shipped networks: errors are found wherever they are, and it learns on from there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tictac_agents import NTupleNetwork, NTupleTD
from tictac_agents.ntuple.network import load_proven, save_proven
from tictac_env.arena import exact_results, play_match, prove
from tictac_env.games import KInARow, get_game
from tictac_env.policies import Corrected, make_policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.solver import Solver
from tools import ship_ntuple
from tools.ship_ntuple import Files, ReplyTree, Rounds, Stage, positions_met, refined, refutations, value, wins_lost

DRAWN, WON = get_game("TicTacToe-v0"), get_game("KInARow-v0:4x4-3")


def beginner(game: KInARow) -> NTupleNetwork:
    return NTupleTD(game, tuples=3, length=3, seed=2).learn(40).network


def again(*_: object) -> None:
    raise AssertionError("what is kept is made again")


@pytest.mark.parametrize("best", [False, True])
@pytest.mark.parametrize("game", [DRAWN, WON])
def test_positions_are_found_in_which_it_gives_away_the_value_of_the_game(game: KInARow, best: bool) -> None:
    network, solver, worth = beginner(game), Solver(game), 0 if game is DRAWN else 1
    found, positions = refutations(network, game, most=None, best=best)
    assert 0 < len(found) < positions
    for moves in found:
        position = Position.from_moves(game, moves)
        assert position.seat == 0 and value(position, solver) >= worth
        assert -value(position.play(network.act(position, 0)), solver) < worth
        for before in range(0, len(moves), 2):  # the first error of its game
            assert -value(Position.from_moves(game, moves[: before + 1]), solver) >= worth
    sampled, fewer = refutations(network, game, most=5, best=best)
    assert fewer <= positions
    assert {Position.from_moves(game, moves) for moves in sampled} <= {
        Position.from_moves(game, moves) for moves in found
    }


def test_nothing_is_found_in_a_player_that_is_proven() -> None:
    network = NTupleTD(DRAWN, tuples=12, length=6, seed=0).learn(20_000).network
    assert prove(network, 0, DRAWN).holds
    assert refutations(network, DRAWN, most=None)[0] == []


def test_errors_are_looked_for_after_all_replies_and_after_the_best() -> None:
    network = beginner(WON)
    found, row = wins_lost(network, 0)
    after_all, after_best = (refutations(network, WON, seed=1, best=best)[0] for best in (False, True))
    assert found == after_all + after_best
    assert (row["win lost, all replies"], row["win lost, best replies"]) == (len(after_all), len(after_best))


def test_it_learns_on_until_no_error_is_left_and_continues_from_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, files = Rounds(20, games=2_000, step=0.1, chance=0.5), Files(tmp_path, "drawn")
    network = refined(NTupleTD(DRAWN, tuples=12, length=6, seed=0).learn(2), plan, files)
    errors = [
        len(json.loads((tmp_path / f"drawn-{n}.json").read_text())[0]) for n in range(len([*tmp_path.glob("*.json")]))
    ]
    assert len(errors) > 1 and errors[0] > 0 == errors[-1]
    assert refutations(network, DRAWN)[0] == refutations(network, DRAWN, best=True)[0] == []
    monkeypatch.setattr(ship_ntuple, "wins_lost", again)
    same = refined(NTupleTD(DRAWN, tuples=12, length=6, seed=0).learn(2), plan, files)
    assert np.array_equal(same.weights, network.weights)


def test_starts_of_the_second_seat_are_positions_of_its_games() -> None:
    network = beginner(WON)
    met = positions_met(network, 20, seed=0)
    assert met == positions_met(network, 20, seed=0) != positions_met(network, 20, seed=20)
    for moves in met:
        position = Position.from_moves(WON, moves)
        assert position.seat == 1 and not position.is_over
        before = Position.from_moves(WON, moves[:-2])
        assert network.act(before, 0) == int(moves[-2]) - 1, "its own moves led there"


def test_the_second_seat_is_learned_judged_and_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = (Stage(1_000, None, 0.2, 0.1), Stage(500, 0, 0.1, 0.05), Stage(500, 0, 0.1, 0.05, met=3))
    monkeypatch.setattr(ship_ntuple, "STAGES", stages)
    monkeypatch.setattr(ship_ntuple, "SECOND_SEAT", {"tuples": 3, "length": 4, "erring": 1.0, "seed": 0})
    files = Files(tmp_path, "learned-second-seat")
    ship_ntuple.learn_second_seat(files, tmp_path, "KInARow-v0:4x4-3")
    record = json.loads((tmp_path / "learned-second-seat.json").read_text())
    assert [row["games"] for row in record["tables"]["stages"]] == [1_000] * 3 + [1_500] * 3 + [2_000] * 3
    network = NTupleNetwork.load(tmp_path / "learned-second-seat.npz")
    for row, error in zip(record["tables"]["exactly"], ship_ntuple.ERRORS, strict=True):
        found = exact_results(network, f"perfect:{error}", network.game, max_positions=1 << 30).as_second
        assert found.exact and row["opponent"] == f"perfect:{error}" and row["positions"] == found.positions
        shares = [round(100 * share, 2) for share in found.shares]
        assert [row["won, %"], row["drawn, %"], row["lost, %"]] == shares
    monkeypatch.setattr(ship_ntuple, "as_second", again)
    monkeypatch.setattr(ship_ntuple, "positions_met", again)
    ship_ntuple.learn_second_seat(files, tmp_path, "KInARow-v0:4x4-3")
    assert json.loads((tmp_path / "learned-second-seat.json").read_text())["tables"] == record["tables"]


# The player that is proven: corrections until every reply is answered with a win


@pytest.mark.parametrize("plies", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_errors_are_found_and_put_right_until_the_player_is_proven(plies: int, tmp_path: Path) -> None:
    network = NTupleTD(WON, tuples=3, length=3, seed=2).learn(40).network.looking_ahead(plies)
    tree, solver = ReplyTree(network, WON), Solver(WON)
    refuted = prove(network, 0, WON, claim="wins", refutations=None)
    assert not refuted.holds
    rounds = 0
    while errors := list(tree.errors(solver)):
        for error in errors:
            assert solver.score(error, weak=True) == 1
            assert solver.score(error.play(network.act(error, 0)), weak=True) >= 0
        tree.correct(errors, solver)
        rounds += 1
    assert rounds >= 1
    corrections = tree.needed()
    assert corrections.items() <= tree.corrections.items()
    if plies == 1:
        save_proven(network, corrections, tmp_path / "player.npz")
        player = load_proven(tmp_path / "player.npz")
    else:
        mirrored = {(WON.mirror(own), WON.mirror(opp)): 3 - move for (own, opp), move in corrections.items()}
        given = {**corrections, **mirrored}
        own, opp = np.array(list(given), np.int64).T
        player = Corrected(network, PositionBatch(WON, own, opp), list(given.values()))
    proof = prove(player, 0, WON, claim="wins")
    assert proof.holds, proof
    assert proof.positions < 2 * len(tree)


def test_the_shipped_player_wins_where_it_moves_first() -> None:
    assert play_match("ntuple:proven", "minimax:2", "ConnectFour-v0", 40, seed=1).as_first.wins == 20


@pytest.mark.slow
def test_the_shipped_player_wins_against_every_reply() -> None:
    proof = prove("ntuple:proven", 0, "ConnectFour-v0", claim="wins")
    assert proof.holds and proof.proven == "wins", proof


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    NTupleTD(WON, tuples=3, length=3, seed=2).network.save(tmp_path / "network.npz")
    with pytest.raises(ValueError, match=r"holds 'tictac_agents\.NTupleNetwork', not 'tictac_agents\.proven'"):
        load_proven(tmp_path / "network.npz")
    with pytest.raises(ValueError, match="there is no shipped network for 'TicTacToe-v0'; there are ConnectFour-v0"):
        make_policy("ntuple:proven", "TicTacToe-v0")
