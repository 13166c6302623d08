"""A learned player is put right until every reply to it is answered with a win; the shipped corrections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tictac_agents import NTupleTD
from tictac_agents.ntuple.network import load_player, save_player
from tictac_env.arena import play_match, prove
from tictac_env.games import get_game
from tictac_env.policies import Corrected, make_policy
from tictac_env.position_batch import PositionBatch
from tictac_env.solver import Solver
from tools.ship_ntuple import ReplyTree

SMALL = get_game("KInARow-v0:4x4-3")


@pytest.mark.parametrize("plies", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_errors_are_found_and_put_right_until_the_player_is_proven(plies: int, tmp_path: Path) -> None:
    network = NTupleTD(SMALL, tuples=3, length=3, seed=2).learn(40).network.looking_ahead(plies)
    tree, solver = ReplyTree(network, SMALL), Solver(SMALL)
    refuted = prove(network, 0, SMALL, claim="wins", refutations=None)
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
        save_player(network, corrections, tmp_path / "player.npz")
        player = load_player(tmp_path / "player.npz")
    else:
        mirrored = {(SMALL.mirror(own), SMALL.mirror(opp)): 3 - move for (own, opp), move in corrections.items()}
        given = {**corrections, **mirrored}
        own, opp = np.array(list(given), np.int64).T
        player = Corrected(network, PositionBatch(SMALL, own, opp), list(given.values()))
    proof = prove(player, 0, SMALL, claim="wins")
    assert proof.holds, proof
    assert proof.positions < 2 * len(tree)


def test_the_shipped_player_wins_where_it_moves_first() -> None:
    assert play_match("ntuple:proven", "minimax:2", "ConnectFour-v0", 40, seed=1).as_first.wins == 20


@pytest.mark.slow
def test_the_shipped_player_wins_against_every_reply() -> None:
    proof = prove("ntuple:proven", 0, "ConnectFour-v0", claim="wins")
    assert proof.holds and proof.proven == "wins", proof


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    NTupleTD(SMALL, tuples=3, length=3, seed=2).network.save(tmp_path / "network.npz")
    with pytest.raises(ValueError, match=r"holds 'tictac_agents\.NTupleNetwork', not 'tictac_agents\.proven'"):
        load_player(tmp_path / "network.npz")
    with pytest.raises(ValueError, match="there is no shipped network for 'TicTacToe-v0'; there are ConnectFour-v0"):
        make_policy("ntuple:proven", "TicTacToe-v0")
