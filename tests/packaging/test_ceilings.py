"""What ceilings are learned from: positions apart from all that is reported; and losses that prefer better moves."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from benchmarks.labelled_positions import DEAR, drawn, fresh, key_of
from tictac_env.arena import suite
from tictac_env.arena.suites.suite import Suite
from tictac_env.position import Position

GAME = "ConnectFour-v0"


def mirrored(position: Position) -> Position:
    moves = position.to_moves()
    assert moves is not None
    return Position.from_moves(GAME, "".join(str(8 - int(move)) for move in moves))


def test_positions_are_apart_from_what_is_reported_and_few_where_they_take_long() -> None:
    reported = [position for position, _ in suite("C4-Choose-v1")]
    taken = {key_of(position) for position in reported}
    some = reported[::100]
    assert list(fresh([*some, *map(mirrored, some)], taken)) == []
    new = list(fresh(drawn(60, 7), taken))
    assert len(new) > 500 and not taken & {key_of(position) for position in new}
    assert len({key_of(position) for position in new}) == len(new)
    many = [position for position in drawn(60, 7) if position.ply == 9] * 2
    assert len(list(fresh(many, set()))) == min(len({key_of(position) for position in many}), DEAR[9])


@pytest.mark.parametrize("learns", ["values", "moves"])
def test_what_is_taught_is_learned(learns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sb3_contrib")
    script: Any = importlib.import_module("benchmarks.ceilings")
    whole = suite("C4-Choose-v1")
    taught = Suite("some", whole.positions.where(slice(0, None, 6)), whole.scores[::6])
    make, _, _ = script.NETWORKS["DQN: planes"]
    monkeypatch.setitem(script.NETWORKS, "untaught", (make, learns, 1))
    monkeypatch.setitem(script.NETWORKS, "taught", (make, learns, 40))
    before, after = (script.teach(name, 0, taught)[0] for name in ("untaught", "taught"))
    assert script.mistakes(after, taught) < script.mistakes(before, taught) - 10


def test_a_loss_is_least_for_the_best_moves() -> None:
    """Two of three legal moves win: all probability on them, however it is shared, is no loss."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("sb3_contrib")
    script: Any = importlib.import_module("benchmarks.ceilings")
    outcomes = torch.tensor([[1.0, 1.0, -1.0, -1.0]])
    legal = torch.tensor([[True, True, True, False]])
    found = torch.tensor([[7.0, 9.0, -30.0, 50.0]])
    assert float(script.loss_of_moves(found, outcomes, legal)) == pytest.approx(0, abs=1e-6)
    assert float(script.loss_of_moves(torch.zeros(1, 4), outcomes, legal)) == pytest.approx(np.log(3 / 2))
    assert float(script.loss_of_values(torch.tensor([[1.0, 1.0, -1.0, 9.0]]), outcomes, legal)) == 0
