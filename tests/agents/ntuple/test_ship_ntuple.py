"""The tool that makes the shipped networks: errors are found wherever they are, and it learns on from there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tictac_agents import NTupleNetwork, NTupleTD
from tictac_env.arena import exact_results, prove
from tictac_env.games import KInARow, get_game
from tictac_env.position import Position
from tictac_env.solver import Solver
from tools import ship_ntuple
from tools.ship_ntuple import Files, Rounds, Stage, positions_met, refined, refutations, value, wins_lost

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
