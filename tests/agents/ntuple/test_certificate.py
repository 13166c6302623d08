"""A list of positions and a rule that win every line together: the search for a small list, and the player of one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tictac_agents import NTupleTD
from tictac_env.arena import prove
from tictac_env.games import KInARow
from tictac_env.policies import Policy, make_policy
from tictac_env.position import Position
from tools.certificate_player import FILE, CertificatePlayer
from tools.certificate_rule import WHOLE, rule_cell
from tools.certificate_search import CertificateSearch

GAME = KInARow.make()


def wins(player: Policy, position: Position) -> bool:
    """Whether a player wins from a position whatever the replies."""
    todo, met = [position], {position}
    while todo:
        here = todo.pop()
        after = here.play(player.act(here, 0))
        if after.is_over:
            if after.result == 0:
                return False
            continue
        for reply in map(after.play, after.legal_actions):
            if reply.is_over:
                return False
            if reply not in met:
                met.add(reply)
                todo.append(reply)
    return True


@pytest.mark.parametrize(
    ("moves", "entries", "listed"), [("44444366755356553362", 2, 1), ("41536767667675557762", 2, 2)]
)
def test_the_list_wins_every_line_and_each_entry_is_needed(
    moves: str, entries: int, listed: int, tmp_path: Path
) -> None:
    network = make_policy("ntuple:proven", GAME).policy  # type: ignore[attr-defined]
    search = CertificateSearch(GAME, network, table_bits=16)
    position = Position.from_moves(GAME, moves)
    assert search.entries(position.own, position.opp) == entries
    cells, decided = search.listed(position.own, position.opp)
    assert len(cells) == listed <= decided
    player = CertificatePlayer.of(GAME, cells)
    player.save(tmp_path / "list.npz")
    player = CertificatePlayer.load(tmp_path / "list.npz")
    assert player.budget == f"no search; {listed} positions listed"
    mirrored = Position(GAME, GAME.mirror(position.own), GAME.mirror(position.opp))
    assert wins(player, position) and wins(player, mirrored)
    for entry in cells:
        fewer = CertificatePlayer.of(GAME, {other: cell for other, cell in cells.items() if other != entry})
        assert not wins(fewer, position)
    lost = Position.from_moves(GAME, moves + "1")
    with pytest.raises(ValueError, match="no win is known"):
        search.listed(lost.own, lost.opp)


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 1, 100])
def test_a_list_from_the_empty_board_is_proven(most: int) -> None:
    """With the least of the rule, as the whole of it wins this game alone; from the top, and searched for whole."""
    small = KInARow.make(rows=4, cols=5, connect=3, gravity=True)
    network = NTupleTD(small, tuples=2, length=3, seed=0).network
    cells, decided = CertificateSearch(small, network, parts=0, table_bits=12).listed(*small.start(), most)
    assert 1 <= len(cells) <= decided
    assert prove(CertificatePlayer.of(small, cells, 0), 0, small, claim="wins").holds
    nothing = np.zeros(0, np.int64)
    assert prove(CertificatePlayer(small, nothing, nothing, np.zeros(0, np.int8)), 0, small, claim="wins").holds


def test_the_rule_takes_wins_blocks_and_makes_two_wins_at_once() -> None:
    def played(moves: str) -> int:
        position = Position.from_moves(GAME, moves)
        return rule_cell(GAME, position.own, position.opp, WHOLE).bit_length() // GAME.stride + 1

    assert played("11223") == 4 and played("112233") == 4  # blocks, wins
    assert played("445") in (3, 6)  # keeps three of the bottom row, open on both sides, from the other
    assert played("4455") in (3, 6)  # makes them


@pytest.mark.slow
def test_the_certificate_of_connect_four_wins_every_line() -> None:
    assert prove(CertificatePlayer.load(FILE), 0, GAME, claim="wins").holds


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"list\.npz"):
        CertificatePlayer.load(tmp_path / "list.npz")
