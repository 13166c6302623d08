"""reasoning-gym's data set: the same seed gives the same questions, and the solver's values score the answers."""

from __future__ import annotations

from typing import Any

import pytest

library = pytest.importorskip("reasoning_gym")

from tictac_apps.language_models.adapters.reasoning_gym import BestMoveConfig, BestMoveDataset  # noqa: E402
from tictac_env.position import Position  # noqa: E402
from tictac_env.solver import move_regret, solve  # noqa: E402


@pytest.mark.parametrize(("game", "plies"), [("TicTacToe-v0", 6), ("ConnectFour-v0", 9)])
def test_answers_are_scored_as_the_solver_judges_them(game: str, plies: int) -> None:
    data = library.create_dataset("tictac_best_move", game=game, plies=plies, size=20, seed=3)
    again = BestMoveDataset(BestMoveConfig(game, plies, size=50, seed=3))
    assert len(data) == 20 and [again[i] for i in reversed(range(20))] == list(data)[::-1]
    for entry in data:
        position = Position.from_moves(game, entry["metadata"]["moves"])
        assert position.ply == entry["metadata"]["ply"] <= plies
        assert len({(score > 0) - (score < 0) for score in solve(position).action_scores if score is not None}) > 1
        scores = {move: data.score_answer(f"Move: {move}", entry) for move in range(10)}
        legal = {action + 1: 1 - move_regret(position, action).outcome / 2 for action in position.legal_actions}
        assert scores == dict.fromkeys(range(10), 0.0) | legal
        assert data.score_answer(entry["answer"], entry) == 1


@pytest.mark.parametrize("answer", [None, "", "five", "5 or 6", "Move:", "0", 5])
def test_an_answer_without_a_legal_move_scores_nothing(answer: Any) -> None:
    data = BestMoveDataset(BestMoveConfig(seed=0, decisive=False))
    assert data.score_answer(answer, data[0]) == 0


def test_positions_that_are_alike_have_one_class() -> None:
    found: dict[str, set[tuple[int, ...]]] = {}
    for entry in BestMoveDataset(BestMoveConfig(plies=1, decisive=False, size=60, seed=0)):
        metadata = entry["metadata"]
        found.setdefault(metadata["symmetry_class"], set()).add(tuple(sorted(metadata["values"].values())))
    assert len(found) == 4 and all(len(values) == 1 for values in found.values())  # empty, corner, edge, centre


@pytest.mark.parametrize(
    "settings", [{"game": "Chess-v0"}, {"plies": -1}, {"plies": 2.5}, {"decisive": 1}, {"size": 0}, {"seed": -1}]
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        library.create_dataset("tictac_best_move", **settings)


def test_questions_that_are_not_there_are_refused() -> None:
    data = BestMoveDataset(BestMoveConfig(size=2, seed=0))
    for idx in (-1, 2):
        with pytest.raises(IndexError):
            data[idx]
    alike = BestMoveDataset(BestMoveConfig(plies=0, size=2, seed=0))  # on the empty board every move draws
    with pytest.raises(ValueError, match="same value"):
        alike[0]
