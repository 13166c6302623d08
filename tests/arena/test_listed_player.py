"""The player of a proof: it plays what was listed, and exact results with it are those of the player itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import HEX, breadth, title

from tests.naive import NaiveBoard
from tictac_env.arena import ListedPlayer, exact_results, prove, read_proof
from tictac_env.arena import proof as proving
from tictac_env.arena.reply_layers import layer_files, layer_path
from tictac_env.games import Game, KInARow, get_game
from tictac_env.policies import Policy, make_policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import position_seed
from tictac_env.storage import sha256

TIC_TAC_TOE = get_game("TicTacToe-v0")
GAMES = breadth([TIC_TAC_TOE], [get_game("KInARow-v0:4x4-3"), HEX])


def listed(player: str, seat: int, game: Game, folder: Path) -> ListedPlayer:
    prove(player, seat, game, to_the_end=True, folder=folder)
    return ListedPlayer(folder, otherwise=player)


def failing_positions(policy: Policy, game: Game, seat: int) -> set[tuple[int, int]]:
    """The positions that a policy meets and does not win against every reply, found on plain boards."""
    met: dict[tuple[int, int], bool] = {}

    def wins(moves: list[int]) -> bool:
        board = NaiveBoard.of(game)
        for move in moves:
            board.play(move)
        if board.winner() or not board.legal():
            return board.winner() == seat + 1
        if len(moves) % 2 != seat:
            replies = [wins([*moves, action]) for action in board.legal()]  # all of them, as all are listed
            return all(replies)
        position = Position.from_moves(game, moves)
        both = position.own, position.opp
        if both not in met:
            met[both] = wins([*moves, policy.act(position, position_seed(*both, 0))])
        return met[both]

    wins([])
    return {both for both, won in met.items() if not won}


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", ["rule", "minimax:3", "random"])
@pytest.mark.parametrize("game", GAMES, ids=title)
def test_results_are_those_of_the_player_itself(game: Game, name: str, seat: int, tmp_path: Path) -> None:
    """`random` and the others draw; as the player of a proof they are the fixed map that the proof has asked."""
    player = listed(name, seat, game, tmp_path)

    class AsAsked(Policy):
        def act(self, position: Position, seed: int) -> int:
            return make_policy(name, game).act(position, position_seed(position.own, position.opp, 0))

    seats = ("as_first", "as_second")
    for opponent in ("random", "minimax:2"):
        found = getattr(exact_results(player, opponent, game), seats[seat])
        truth = getattr(exact_results(AsAsked(), opponent, game), seats[seat])
        assert found.exact and tuple(found.shares) == pytest.approx(tuple(truth.shares))
        assert found.positions <= truth.positions


@pytest.mark.parametrize("seat", [0, 1])
def test_it_is_sure_to_win_wherever_no_reply_prevents_it(seat: int, tmp_path: Path) -> None:
    player = listed("rule", seat, TIC_TAC_TOE, tmp_path)
    failing = failing_positions(make_policy("rule", TIC_TAC_TOE), TIC_TAC_TOE, seat)
    assert player.failing == len(failing) > 0
    batch = PositionBatch(TIC_TAC_TOE, *np.array(sorted(failing), np.int64).T)
    assert not player.sure_wins(batch).any()


def test_a_player_that_is_proven_to_win_is_sure_at_once(tmp_path: Path) -> None:
    player = listed("perfect", 0, KInARow.make(3, 4, 3), tmp_path)
    won = exact_results(player, "perfect", player.game).as_first
    assert player.failing == 0 and won.exact
    assert (won.shares.wins, won.positions) == (1.0, 1)


def test_positions_that_are_not_listed_go_to_another_player(tmp_path: Path) -> None:
    prove("minimax-first", 0, TIC_TAC_TOE, to_the_end=True, folder=tmp_path)
    start, other = Position.start(TIC_TAC_TOE), Position.from_moves(TIC_TAC_TOE, "5")
    alone, both = ListedPlayer(tmp_path), ListedPlayer(tmp_path, otherwise="rule")
    assert alone.act(start, 0) == both.act(start, 0) == 0
    assert str(alone) == "minimax-first"
    assert both.act(other, 3) == make_policy("rule", TIC_TAC_TOE).act(other, 3)
    assert not both.sure_wins(PositionBatch.of([other])).any()
    with pytest.raises(ValueError, match=r"the proof of minimax-first does not list Position"):
        alone.act(other, 0)
    with pytest.raises(ValueError, match="the proof of minimax-first is of KInARow"):
        alone.act(Position.start("ConnectFour-v0"), 0)


def test_a_proof_must_be_complete(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ListedPlayer(tmp_path)
    assert not prove("random", 0, TIC_TAC_TOE, folder=tmp_path).complete
    with pytest.raises(ValueError, match="holds a proof that is not complete: give prove to_the_end=True"):
        ListedPlayer(tmp_path)
    proof = prove("random", 0, TIC_TAC_TOE, to_the_end=True, folder=tmp_path)
    assert proof.complete and not proof.holds and len(proof.refutations) == 1
    assert ListedPlayer(tmp_path).failing > 0
    next(tmp_path.glob("ply-04.moves")).write_bytes(b"")
    with pytest.raises(ValueError, match="damaged"):
        ListedPlayer(tmp_path)


def forged(folder: Path, ply: int, rows: slice, move: int | None = None) -> None:
    """Leaves some rows of a ply's lists, or changes the first move; the hashes fit what is there then."""
    path = layer_path(folder, ply)
    for file, kind in zip(layer_files(path), ("<i8", "<i8", "i1"), strict=True):
        content = np.fromfile(file, kind)[rows]
        if move is not None and kind == "i1":
            content[0] = move
        file.write_bytes(content.tobytes())
    fields = json.loads((folder / "proof.json").read_text())
    del fields["sha256"]
    number = [one["ply"] for one in fields["plies"]].index(ply)
    fields["plies"][number] |= {
        "sha256": sha256(*layer_files(path)),
        "positions": path.with_suffix(".moves").stat().st_size,
    }
    (folder / "proof.json").write_text(json.dumps(fields | {"sha256": proving._hash_of(fields)}))
    read_proof(folder)


@pytest.mark.parametrize(
    ("ply", "rows", "move", "named"),
    [
        (3, slice(1, None), None, r"ply-01\.moves is damaged: .* a reply to it is missing in ply-03\.own and \.opp"),
        (3, slice(None), 9, r"ply-03\.moves is damaged: the move 9 of row 0 is illegal"),
        (3, slice(None), 0, r"ply-03\.moves is damaged: the move 0 of row 0 is illegal"),
        (1, slice(1, None), None, r"ply-01\.own and \.opp lack a position"),
    ],
)
def test_a_proof_that_leaves_out_replies_is_refused_whatever_its_hashes(
    ply: int, rows: slice, move: int | None, named: str, tmp_path: Path
) -> None:
    prove("minimax", 1, TIC_TAC_TOE, to_the_end=True, folder=tmp_path)
    forged(tmp_path, ply, rows, move)
    with pytest.raises(ValueError, match=named):
        ListedPlayer(tmp_path)
