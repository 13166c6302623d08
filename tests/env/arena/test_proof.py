"""Proofs: every reply is played, the work survives stops and damage, and its player can be measured further."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import HEX, breadth, title
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.check_proof import check
from tests.naive import NaiveBoard
from tictac_env.arena import ListedPlayer, exact_results, prove, read_proof, reply_layers
from tictac_env.arena import proof as proving
from tictac_env.arena.proof import Asker, Chunk
from tictac_env.arena.reply_layers import layer_files, layer_path
from tictac_env.games import Game, KInARow, get_game
from tictac_env.policies import Policy, load_player, make_policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import position_seed
from tictac_env.storage import sha256

TTT = get_game("TicTacToe-v0")
SMALL = [TTT, get_game("KInARow-v0:3x4-3"), get_game("KInARow-v0:3x3-3"), HEX]


def walked(policy: Policy, game: Game, seat: int, met: dict[tuple[int, int], bool] | None = None) -> list[int]:
    """Counts the games a policy wins, draws and loses, on plain boards; `met` gets the positions that it meets, and if
    it wins them against every reply."""
    met, ends = {} if met is None else met, [0, 0, 0]

    def wins(moves: list[int]) -> bool:
        board = NaiveBoard.of(game)
        for move in moves:
            board.play(move)
        if board.winner() or not board.legal():
            winner = board.winner()
            ends[1 if not winner else 0 if winner == seat + 1 else 2] += 1
            return winner == seat + 1
        if len(moves) % 2 != seat:
            replies = [wins([*moves, action]) for action in board.legal()]  # all of them, as all are met
            return all(replies)
        position = Position.from_moves(game, moves)
        both = position.own, position.opp
        if both not in met:
            met[both] = wins([*moves, policy.act(position, position_seed(*both, 0))])
        return met[both]

    wins([])
    return ends


@pytest.mark.parametrize("name", ["minimax", "rule", "random"])
@pytest.mark.parametrize("game", breadth([SMALL[0], SMALL[-1]], SMALL), ids=str)
def test_a_proof_counts_what_a_plain_walk_meets(game: Game, name: str) -> None:
    policy = make_policy(name, game)
    for seat in (0, 1):
        proof = prove(policy, seat, game, refutations=None)
        met: dict[tuple[int, int], bool] = {}
        ends = walked(policy, game, seat, met)
        assert proof.complete and proof.positions == len(met)
        assert [sum(getattr(ply, end) for ply in proof.plies) for end in ("won", "drawn", "lost")] == ends
        assert len(proof.refutations) == len(set(proof.refutations)) == ends[2]
        assert proof.proven == ("" if ends[2] else "never loses" if ends[1] else "wins")


@pytest.mark.parametrize("claim", ["never loses", "wins"])
def test_refutations_are_games_that_the_player_loses(claim: str) -> None:
    rule = make_policy("rule", get_game("KInARow-v0:3x4-3"))
    for seat in (0, 1):
        proof = prove(rule, seat, "KInARow-v0:3x4-3", claim=claim, refutations=3)
        assert not proof.holds
        assert len(proof.refutations) == 3
        for line in proof.refutations:
            position = Position.from_moves("KInARow-v0:3x4-3", line)
            assert position.outcome is not None
            assert position.outcome.winner == 1 - seat or (claim == "wins" and position.outcome.winner is None)
            for ply in range(seat, len(position.moves), 2):
                before = Position.from_moves("KInARow-v0:3x4-3", position.moves[:ply])
                assert rule.act(before, position_seed(before.own, before.opp, 0)) == position.moves[ply]


@pytest.mark.parametrize("game", breadth(["TicTacToe-v0"], ["KInARow-v0:4x4-3"]))
@pytest.mark.parametrize("seat", [0, 1])
def test_an_independent_checker_agrees(game: str, seat: int, tmp_path: Path) -> None:
    policy = make_policy("perfect", get_game(game))
    proof = prove(policy, seat, game, claim="wins", refutations=None, folder=tmp_path)
    assert check(tmp_path) == (proof.proven or "loses a game")
    assert read_proof(tmp_path) == proof


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    prove("minimax", 1, "TicTacToe-v0", folder=tmp_path)
    return tmp_path


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_a_folder_of_another_proof_is_not_touched(certificate: Path) -> None:
    before = (certificate / "proof.json").read_bytes()
    for other in (("rule", 1, "TicTacToe-v0"), ("minimax", 0, "TicTacToe-v0"), ("minimax", 1, "KInARow-v0:3x4-3")):
        with pytest.raises(ValueError, match=r"proof\.json is of another proof: its (player|seat|game) is"):
            prove(*other, folder=certificate)
    for name, other in {"seed": 1, "claim": "wins"}.items():
        with pytest.raises(ValueError, match=rf"proof\.json is of another proof: its {name} is"):
            prove("minimax", 1, "TicTacToe-v0", folder=certificate, **{name: other})
    assert (certificate / "proof.json").read_bytes() == before


def test_as_many_positions_are_asked_about_as_are_allowed(certificate: Path) -> None:
    positions = read_proof(certificate).positions
    for most in (positions - 1, positions):
        assert prove("minimax", 1, "TicTacToe-v0", max_positions=most).complete == (most == positions)


def test_more_refutations_can_be_asked_for_later(tmp_path: Path) -> None:
    first = prove("rule", 1, "TicTacToe-v0", folder=tmp_path)
    every = prove("rule", 1, "TicTacToe-v0", folder=tmp_path, refutations=None)
    assert not first.complete
    assert every == prove("rule", 1, "TicTacToe-v0", refutations=None)
    assert every.refutations[0] == first.refutations[0]


class Interrupted(Policy):
    """Plays as minimax, and is stopped now and then."""

    name = "minimax"
    asked_twice = False

    def __init__(self) -> None:
        self.random = random.Random(0)
        self.asked = 0

    def act(self, position: Position, seed: int) -> int:
        self.asked += 1
        if self.random.random() < 0.02:
            raise KeyboardInterrupt
        return make_policy("minimax", position.game).act(position, seed)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_proof_that_was_stopped_ends_as_an_unbroken_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "CHUNK", 7)
    stops = 0
    policy = Interrupted()
    while True:
        try:
            prove(policy, 0, "TicTacToe-v0", folder=tmp_path / "broken")
            break
        except KeyboardInterrupt:
            stops += 1
    assert stops > 2
    assert policy.asked <= read_proof(tmp_path / "broken").positions + 7 * stops, "kept answers are asked for again"
    policy.random = random.Random()
    monkeypatch.setattr(policy.random, "random", lambda: 1.0)
    prove(policy, 0, "TicTacToe-v0", folder=tmp_path / "unbroken")
    assert contents(tmp_path / "broken") == contents(tmp_path / "unbroken")


def half_made(folder: Path, stop: int) -> Interrupted:
    """Leaves a proof that was stopped at this question, and returns its player, which plays on without stops."""
    policy, asked = Interrupted(), iter([*[1.0] * stop, 0.0])
    policy.random.random = lambda: next(asked)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        prove(policy, 0, "TicTacToe-v0", folder=folder)
    policy.random.random = lambda: 1.0  # type: ignore[method-assign]
    return policy


def damage(folder: Path, draw: random.Random) -> set[str]:
    """Damages a file of a proof, of any kind, in any way, or exchanges two of a kind; returns their names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    kind = draw.choice(sorted({(path.suffix, path.parent != folder) for path in files}))
    alike = [path for path in files if (path.suffix, path.parent != folder) == kind]
    path, content = (found := draw.choice(alike)), bytearray(found.read_bytes())
    how = draw.randrange(6)
    if how < 2 and content:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    elif how == 2:
        del content[draw.randrange(len(content) or 1) :]
    elif how == 3:
        content += b"\1" * draw.choice([1, 8, 16])
    elif how == 4:
        path.unlink()
        return {path.name}
    else:
        other = draw.choice(alike)
        content[:], before = other.read_bytes(), bytes(content)
        other.write_bytes(before)
        path.write_bytes(content)
        return {path.name, other.name}
    path.write_bytes(content)
    return {path.name}


def test_finished_parts_are_not_asked_about_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "CHUNK", 20)
    policy, asked = half_made(tmp_path, 104), itertools.count()
    policy.random.random = lambda: float(next(asked) >= 0)  # type: ignore[method-assign]
    positions = prove(policy, 0, "TicTacToe-v0", folder=tmp_path).positions
    assert positions - 104 <= next(asked) < positions - 104 + 20


def test_a_worker_asks_no_other_player_of_that_name() -> None:
    game, identity = get_game("TicTacToe-v0"), load_player("rule", "TicTacToe-v0").identity
    chunk = Chunk(0, *reply_layers.first_positions(game, 1))
    assert len(Asker("rule", identity, game, 0)(chunk).moves) == 9
    with pytest.raises(ValueError, match="rule is another player in a worker than here"):
        Asker("rule", replace(identity, checkpoint_sha256="0" * 64), game, 0)(chunk)


@pytest.mark.parametrize("damages", breadth([20], [1000]))
def test_damage_to_a_half_made_proof_changes_no_result(
    damages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends as the unbroken one, or an error names a file of it."""
    monkeypatch.setattr(proving, "CHUNK", 20)
    monkeypatch.setattr("tictac_env.storage.os.fsync", lambda handle: None)
    draw, refused = random.Random(0), 0
    policies = [half_made(tmp_path / f"half-{stop}", stop) for stop in (30, 55, 80)]
    prove(policies[0], 0, "TicTacToe-v0", folder=tmp_path / "unbroken")
    for number in range(damages):
        half, folder = draw.choice([30, 55, 80]), tmp_path / f"damaged-{number}"
        shutil.copytree(tmp_path / f"half-{half}", folder)
        damaged = damage(folder, draw)
        try:
            prove(policies[0], 0, "TicTacToe-v0", folder=folder)
        except (ValueError, FileNotFoundError) as error:
            said = str(error)
        else:
            said = ""
        refused += bool(said)
        if said:
            assert any(name in said for name in damaged), said
        else:
            assert contents(folder) == contents(tmp_path / "unbroken"), damaged
    assert damages / 4 < refused < damages


@pytest.mark.parametrize("damages", breadth([20], [1000]))
def test_damage_to_a_proof_is_refused_by_name(damages: int, certificate: Path, tmp_path: Path) -> None:
    written, draw = contents(certificate), random.Random(1)
    for number in range(damages):
        folder = tmp_path / f"damaged-{number}"
        folder.mkdir()
        for name, content in written.items():
            (folder / name).write_bytes(content)
        damaged = damage(folder, draw)
        if contents(folder) != written:
            for read in (read_proof, ListedPlayer):
                with pytest.raises((ValueError, FileNotFoundError), match="|".join(map(re.escape, damaged))):
                    read(folder)


def test_lists_without_a_certificate_are_not_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers of a player that was stopped are not those of another one."""
    half_made(tmp_path, 5)
    with pytest.raises(ValueError, match=r"proof\.json is of another proof: its player"):
        prove("rule", 0, "TicTacToe-v0", folder=tmp_path)
    (tmp_path / "proof.json").unlink()
    with pytest.raises(ValueError, match=r"proof\.json is missing"):
        prove("rule", 0, "TicTacToe-v0", folder=tmp_path)


PROGRAM = """
import sys
from tictac_env.arena import proof as proving
proving.CHUNK = 100
proving.prove("minimax-first:2", 0, "KInARow-v0:4x4-4", refutations=None, folder=sys.argv[1])
"""


@pytest.mark.slow
def test_a_proof_that_was_killed_ends_as_an_unbroken_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM]
    began = time.monotonic()
    subprocess.run([*command, str(tmp_path / "unbroken")], check=True)
    took, draw = time.monotonic() - began, random.Random(1)
    for _ in range(20):
        process = subprocess.Popen([*command, str(tmp_path / "broken")])
        time.sleep(draw.uniform(0.3, 1) * took)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run([*command, str(tmp_path / "broken")], check=True)
    assert contents(tmp_path / "broken") == contents(tmp_path / "unbroken")


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"claim": "always"}, "always"),
        ({"seat": 2}, "seat"),
        ({"refutations": 0}, "refutations"),
        ({"seed": -1}, "seed"),
    ],
)
def test_impossible_arguments_are_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        prove("rule", **{"game": "TicTacToe-v0", **wrong})


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=30), min_size=1, max_size=4))
def test_layers_are_merged_in_pieces_as_at_once(layers: list[list[tuple[int, int]]]) -> None:
    given_ones = [reply_layers.distinct(*np.array(layer, np.int64).reshape(-1, 2).T) for layer in layers]
    before = reply_layers.PIECE
    try:
        reply_layers.PIECE = 8
        pieces = list(reply_layers.merged(given_ones))
    finally:
        reply_layers.PIECE = before
    found = [(int(a), int(b)) for own, opp in pieces for a, b in zip(own, opp, strict=True)]
    assert found == sorted({position for layer in layers for position in layer})


def listed(player: str, seat: int, game: Game, folder: Path) -> ListedPlayer:
    prove(player, seat, game, to_the_end=True, folder=folder)
    return ListedPlayer(folder, otherwise=player)


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", ["rule", "minimax:3", "random"])
@pytest.mark.parametrize("game", breadth([TTT], [get_game("KInARow-v0:4x4-3"), HEX]), ids=title)
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
def test_it_is_sure_to_win_unless_a_reply_prevents_it(seat: int, tmp_path: Path) -> None:
    player = listed("rule", seat, TTT, tmp_path)
    met: dict[tuple[int, int], bool] = {}
    walked(make_policy("rule", TTT), TTT, seat, met)
    failing = [both for both, won in met.items() if not won]
    assert player.failing == len(failing) > 0
    assert not player.sure_wins(PositionBatch(TTT, *np.array(sorted(failing), np.int64).T)).any()


def test_a_player_that_is_proven_to_win_is_sure_at_once(tmp_path: Path) -> None:
    player = listed("perfect", 0, KInARow.make(3, 4, 3), tmp_path)
    won = exact_results(player, "perfect", player.game).as_first
    assert player.failing == 0 and won.exact
    assert (won.shares.wins, won.positions) == (1.0, 1)


def test_positions_that_are_not_listed_go_to_another_player(tmp_path: Path) -> None:
    prove("minimax-first", 0, TTT, to_the_end=True, folder=tmp_path)
    start, other = Position.start(TTT), Position.from_moves(TTT, "5")
    alone, both = ListedPlayer(tmp_path), ListedPlayer(tmp_path, otherwise="rule")
    assert alone.act(start, 0) == both.act(start, 0) == 0
    assert str(alone) == "minimax-first"
    assert both.act(other, 3) == make_policy("rule", TTT).act(other, 3)
    assert not both.sure_wins(PositionBatch.of([other])).any()
    with pytest.raises(ValueError, match=r"the proof of minimax-first does not list Position"):
        alone.act(other, 0)
    with pytest.raises(ValueError, match="the proof of minimax-first is of KInARow"):
        alone.act(Position.start("ConnectFour-v0"), 0)


def test_a_proof_must_be_complete(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ListedPlayer(tmp_path)
    assert not prove("random", 0, TTT, folder=tmp_path).complete
    with pytest.raises(ValueError, match="holds a proof that is not complete: give prove to_the_end=True"):
        ListedPlayer(tmp_path)
    proof = prove("random", 0, TTT, to_the_end=True, folder=tmp_path)
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
    prove("minimax", 1, TTT, to_the_end=True, folder=tmp_path)
    forged(tmp_path, ply, rows, move)
    with pytest.raises(ValueError, match=named):
        ListedPlayer(tmp_path)
    with pytest.raises((SystemExit, IndexError)):  # the checker that shares nothing with the package finds it too
        check(tmp_path)


def test_the_checker_finds_counts_that_are_not_true(certificate: Path) -> None:
    edit(certificate / "proof.json", lambda content: content["plies"][3].update(drawn=0))
    with pytest.raises(SystemExit, match="won, drawn, lost"):
        check(certificate)
