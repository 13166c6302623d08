"""reasoning-gym's data set: the same seed gives the same questions, and the solver's values score the answers."""

from __future__ import annotations

from typing import Any

import pytest

library = pytest.importorskip("reasoning_gym")

from reasoning_gym import factory  # noqa: E402

from tictac_apps.language_models.adapters.reasoning_gym import (  # noqa: E402
    BestMoveConfig,
    BestMoveCurriculum,
    BestMoveDataset,
)
from tictac_env.position import Position  # noqa: E402
from tictac_env.solver import move_regret, solve  # noqa: E402


@pytest.mark.parametrize(("game", "plies"), [("TicTacToe-v0", 6), ("ConnectFour-v0", 9)])
def test_answers_are_scored_as_the_solver_judges_them(game: str, plies: int) -> None:
    data = library.create_dataset("tictac_best_move", game=game, max_plies=plies, size=20, seed=3)
    again = BestMoveDataset(BestMoveConfig(game, max_plies=plies, size=50, seed=3))
    assert len(data) == 20 and [again[i] for i in reversed(range(20))] == list(data)[::-1]
    for entry in data:
        position = Position.from_moves(game, entry["metadata"]["moves"])
        assert position.ply == entry["metadata"]["ply"] <= plies
        assert len({(score > 0) - (score < 0) for score in solve(position).action_scores if score is not None}) > 1
        scores = {move: data.score_answer(f"Move: {move}", entry) for move in range(10)}
        legal = {action + 1: 1 - move_regret(position, action).outcome / 2 for action in position.legal_actions}
        assert scores == dict.fromkeys(range(10), 0.0) | legal
        assert data.score_answer(entry["answer"], entry) == 1


@pytest.mark.parametrize("answer", [None, "", "five", "5 or 6", "5 or 6.", "Move:", "0", "5.5", ".", 5])
def test_an_answer_without_a_legal_move_scores_nothing(answer: Any) -> None:
    data = BestMoveDataset(BestMoveConfig(seed=0, decisive=False))
    assert data.score_answer(answer, data[0]) == 0


def test_positions_that_are_alike_have_one_class() -> None:
    found: dict[str, set[tuple[int, ...]]] = {}
    for entry in BestMoveDataset(BestMoveConfig(max_plies=1, decisive=False, size=60, seed=0)):
        metadata = entry["metadata"]
        found.setdefault(metadata["symmetry_class"], set()).add(tuple(sorted(metadata["values"].values())))
    assert len(found) == 4 and all(len(values) == 1 for values in found.values())  # empty, corner, edge, centre


@pytest.mark.parametrize(
    "settings",
    [
        {"game": "Chess-v0"},
        {"max_plies": -1},
        {"max_plies": 2.5},
        {"min_plies": 7},
        {"decisive": 1},
        {"size": 0},
        {"seed": -1},
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        library.create_dataset("tictac_best_move", **settings)


def test_questions_that_are_not_there_are_refused() -> None:
    data = BestMoveDataset(BestMoveConfig(size=2, seed=0))
    for idx in (-1, 2):
        with pytest.raises(IndexError):
            data[idx]
    alike = BestMoveDataset(BestMoveConfig(max_plies=0, size=2, seed=0))  # on the empty board every move draws
    with pytest.raises(ValueError, match="same value"):
        alike[0]


def test_an_answer_may_have_marks_and_a_full_stop() -> None:
    data = BestMoveDataset(BestMoveConfig(seed=0))
    for entry in list(data)[:20]:
        for move in entry["metadata"]["values"]:
            forms = (move, f"{move}.", f"**{move}**", f"`{move}`", f"I think.\n**Move: {move}.**", f"Move: _{move}_ ")
            assert len({data.score_answer(form, entry) for form in forms}) == 1


@pytest.mark.parametrize(("max_plies", "boards"), [(6, 400), (1, 10)])
def test_boards_are_distinct_as_long_as_there_are_new_ones(max_plies: int, boards: int) -> None:
    entries = list(BestMoveDataset(BestMoveConfig(max_plies=max_plies, decisive=False, size=400, seed=0)))
    stones = [Position.from_moves("TicTacToe-v0", entry["metadata"]["moves"]).to_array().tobytes() for entry in entries]
    assert len(set(stones[:boards])) == len(set(stones)) == boards
    fewer = BestMoveDataset(BestMoveConfig(max_plies=max_plies, decisive=False, size=30, seed=0))
    assert list(fewer) == entries[:30]


@pytest.mark.parametrize(("game", "plies"), [("TicTacToe-v0", 6), ("ConnectFour-v0", 28)])
def test_the_curriculum_goes_from_late_positions_to_early_ones(game: str, plies: int) -> None:
    curriculum = BestMoveCurriculum(game)
    assert isinstance(factory.create_curriculum("tictac_best_move"), BestMoveCurriculum)
    least = []
    while True:
        config = curriculum.generate_configuration({"size": 3, "seed": 0})
        assert config.game == game and config.max_plies == plies
        data = library.create_dataset("tictac_best_move", **vars(config))
        assert all(config.min_plies <= entry["metadata"]["ply"] <= plies for entry in data)
        least.append(config.min_plies)
        if not curriculum.increment_attr_level("plies"):
            break
    assert least == sorted(set(least), reverse=True) and least[0] == plies and len(least) >= 6
