"""Rows of prompts: their values are the truth, no class is in both splits, and the same seed gives the same rows."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from random import Random
from unittest.mock import Mock

import pytest
from gymnasium.error import DependencyNotInstalled
from oracle import Oracle, board_of

from tictac_apps import cli
from tictac_apps.language_models import BoardHarness, prompts
from tictac_apps.language_models.prompts import prompt_rows, save_rows
from tictac_env import solve
from tictac_env.games import KInARow, get_game
from tictac_env.position import Position
from tictac_env.solver.enumerate import TooManyPositions

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"


@pytest.mark.parametrize("first", [0, 1])
def test_values_are_those_of_a_plain_search(first: int) -> None:
    game = get_game(TTT)
    assert isinstance(game, KInARow)
    oracle = Oracle(game)
    harness = BoardHarness(list_moves=False, first_number=first)
    for row in prompt_rows(TTT, 60, seed=3, harness=harness):
        position = Position.from_moves(TTT, row["moves"])
        solution = solve(position)
        actions = [int(text) - first for text in row["legal"]]
        assert actions == list(position.legal_actions)
        assert row["scores"] == [solution.action_scores[action] for action in actions]
        for action, value in zip(actions, row["values"], strict=True):
            assert value == -oracle.value(board_of(position.play(action)))
        assert [int(text) - first for text in row["best"]] == list(solution.best_actions)
        assert row["prompt"] == harness.make_prompt(position)
        assert (row["ply"], row["seat"], row["game"]) == (position.ply, position.seat, TTT)


def test_no_class_is_in_both_splits_and_all_positions_are_there() -> None:
    rows = prompt_rows(TTT, seed=1, test=0.3)
    splits, classes = defaultdict(set), defaultdict(set)
    for row in rows:
        splits[row["class"]].add(row["split"])
        classes[row["class"]].add(row["moves"])
    for row in rows[::7]:
        images = Position.from_moves(TTT, row["moves"]).symmetric()
        assert row["class"] in {str(image.code) for image in images}
    assert len(rows) == len({row["prompt"] for row in rows}) == 4520 and len(classes) == 627
    assert all(len(found) == 1 for found in splits.values())
    assert 0.2 < sum(found == {"test"} for found in splits.values()) / 627 < 0.4
    some = prompt_rows(TTT, 50, seed=1, test=0.3)
    assert some == prompt_rows(TTT, 50, seed=1, test=0.3) != prompt_rows(TTT, 50, seed=2, test=0.3)
    assert all(splits[row["class"]] == {row["split"]} for row in some)
    for test, split in ((0, "train"), (1, "test")):
        assert {row["split"] for row in prompt_rows(TTT, 30, test=test)} == {split}


def test_large_games_are_drawn_from_random_games_and_continue_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = BoardHarness(board="moves")
    rows = prompt_rows(C4, 10, seed=4, harness=harness, cache=tmp_path / "scores")
    assert len({row["ply"] for row in rows}) > 5 and len({row["moves"] for row in rows}) == 10
    for row in rows[:5]:
        position = Position.from_moves(C4, row["moves"])
        assert row["values"] == [
            (score > 0) - (score < 0) for score in solve(position, weak=True).action_scores if score is not None
        ]
        assert row["ply"] == 0 or f"The moves so far: {' '.join(row['moves'])}\n" in row["prompt"]
    monkeypatch.setattr("tictac_env.solver.Solver.solve_many", None)  # nothing is solved again
    monkeypatch.setattr(prompts, "all_positions", Mock(side_effect=TooManyPositions))  # to see that takes a second
    assert prompt_rows(C4, 10, seed=4, harness=harness, cache=tmp_path / "scores") == rows


def test_positions_are_drawn_until_there_are_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two columns of two cells, where two in a row win: one without stones, two with one, and four with two."""
    monkeypatch.setattr(prompts, "ATTEMPTS", 300)
    game = get_game("KInARow-v0:2x2-2")
    positions = prompts._random_positions(game, 7, Random(0))
    assert len({(one.own, one.opp) for one in positions}) == 7 and {one.ply for one in positions} == {0, 1, 2}
    with pytest.raises(ValueError, match="only 7 positions of KInARow-v0:2x2-2 are found, not 1,800"):
        prompts._random_positions(game, 1800, Random(0))


def test_seeds_and_shares_have_a_range() -> None:
    for wrong in ({"seed": -1}, {"seed": 2**63}, {"test": -0.1}, {"test": 1.1}, {"rows": 0}, {"progress": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            prompt_rows(TTT, **wrong)  # type: ignore[arg-type]
    assert len(prompt_rows(TTT, 1, seed=2**63 - 1)) == 1


def test_the_command_writes_lines_of_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["dataset", "prompts", "out.jsonl", "--rows", "40", "--seed", "2", "--prompt", "legal-moves", "--game", TTT]
    assert cli.main(words) == 0
    wanted = prompt_rows(TTT, 40, seed=2, harness=BoardHarness(list_moves=True))
    assert [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()] == wanted
    tested = sum(row["split"] == "test" for row in wanted)
    assert f"40 positions of {TTT}, {tested} of them in the split test" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    for wrong, told in (
        (["out.csv"], "must end in .jsonl or .parquet, not 'out.csv'"),
        (["out.jsonl", "--rows", "5000"], "rows must be at most 4,520"),
        (["out.jsonl", "--game", C4], "too many positions for all of them"),
    ):
        assert cli.main(["dataset", "prompts", *wrong]) == 2
        assert told in capsys.readouterr().err


def test_parquet_has_the_same_rows(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = prompt_rows(TTT, 30)
    save_rows(tmp_path / "out.parquet", rows)
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist() == rows


def test_without_pyarrow_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "tictac-env\[llm\]"'):
        save_rows(tmp_path / "out.parquet", prompt_rows(TTT, 3))
    assert not list(tmp_path.iterdir())
