"""S4's learned tree: it learns, goes on to the bit, stays small, and refuses what is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import compiled_games, playout

from tictac_agents import GameTree
from tictac_agents.published.ariel_tree import find_row
from tictac_env.arena import play_match, verdict
from tictac_env.games import Game
from tictac_env.policies import make_policy
from tictac_env.position import Position
from tictac_env.storage import load_arrays, save_arrays


def content(tree: GameTree) -> list[Any]:
    sizes = [int(seat.size[0]) for seat in tree.seats]
    arrays = [array[:n].tolist() for n, seat in zip(sizes, tree.seats, strict=True) for array in seat[:4]]
    return [tree.num_games, tree._state, *arrays]


def test_more_games_make_a_stronger_player() -> None:
    """By the exact measure on tic-tac-toe, and by games won on Connect Four."""
    before, after = (GameTree("TicTacToe-v0", seed=0).learn(n, progress_bar=False) for n in (100, 50_000))
    for seat in ("as_first", "as_second"):
        early, late = (getattr(verdict(tree), seat).against_random.wins for tree in (before, after))
        assert late > early + 0.1, seat
    tree = GameTree(seed=0).learn(100_000, progress_bar=False)
    assert play_match(tree, "random", game="ConnectFour-v0", games=400).total.wins > 220


def test_it_goes_on_to_the_bit(tmp_path: Path) -> None:
    whole = GameTree("ConnectFour-v0", seed=3).learn(12_000, progress_bar=False)
    stopped = GameTree("ConnectFour-v0", seed=3).learn(12_000, callback=lambda tree: False, progress_bar=False)
    assert 0 < stopped.num_games < 12_000
    stopped.save(tmp_path / "tree.npz")
    resumed = GameTree.load(tmp_path / "tree.npz").resume(progress_bar=False, checkpoint=tmp_path / "tree.npz")
    assert content(resumed) == content(whole) == content(GameTree.load(tmp_path / "tree.npz"))
    parts = GameTree("ConnectFour-v0", seed=3)
    for games in (1, 4_999, 7_000):
        parts.learn(games, progress_bar=False)
    assert content(parts) == content(whole)


def test_a_position_takes_less_than_100_bytes_and_one_comes_a_game() -> None:
    for games in (1_000, 30_000):
        tree = GameTree(seed=1).learn(games, progress_bar=False)
        assert tree.nbytes <= 100 * len(tree)
        assert all(0.9 * games < int(seat.size[0]) <= games for seat in tree.seats)


def test_memory_stays_below_its_limit() -> None:
    tree = GameTree(seed=1, memory_mb=0.1).learn(5_000, progress_bar=False)
    assert tree.nbytes <= 0.1 * 2**20
    assert len(tree) < 2_000 and tree.visits(Position.start("ConnectFour-v0")).sum() == 5_000


@compiled_games
def test_the_statistics_are_those_of_the_games(game: Game) -> None:
    tree = GameTree(game, seed=2).learn(200, progress_bar=False)
    start = Position.start(game)
    assert tree.visits(start).sum() == 200
    for seat, learned in enumerate(tree.seats):
        for row in range(int(learned.size[0])):
            own, opp = int(learned.own[row]), int(learned.opp[row])
            assert game.seat(own, opp) == seat
            assert find_row(learned, own, opp) == row
            played = learned.visits[row] > 0
            assert (np.abs(learned.value_sums[row][played]) <= learned.visits[row][played]).all()


def test_it_plays_any_position() -> None:
    tree = GameTree(seed=0).learn(500, progress_bar=False)
    for seed in range(5):
        for position in playout(tree.game, seed, 42):
            if not position.is_over:
                assert tree.act(position, seed) in position.legal_actions
    with pytest.raises(ValueError, match="has learned ConnectFour-v0"):
        tree.act(Position.start("TicTacToe-v0"), 0)
    assert make_policy("random").act(Position.start("TicTacToe-v0"), 3) == 3


@pytest.mark.parametrize("games", [0, -1, 2**25, 1.5])
def test_impossible_lengths_are_refused(games: Any) -> None:
    with pytest.raises(ValueError, match="total_games"):
        GameTree().learn(games)


def altered(arrays: dict[str, Any], name: str, row: int, value: Any) -> dict[str, Any]:
    changed = dict(arrays)
    changed[name] = arrays[name].copy()
    changed[name][row] = value
    return changed


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tree.npz"
    GameTree("TicTacToe-v0", seed=0).learn(300, progress_bar=False).save(path)
    meta, arrays = load_arrays(path, "tictac_agents.GameTree")
    bad = {
        "not a position": altered(arrays, "first_own", 3, 1 << 40),
        "twice": {name: array[:3].repeat(2, axis=0) for name, array in arrays.items()},
        "contradict": altered(arrays, "second_value_sums", 1, 1e6),
        "visits must be": arrays | {"second_visits": arrays["second_visits"].astype(np.int64)},
    }
    for message, wrong in bad.items():
        save_arrays(path, "tictac_agents.GameTree", meta, wrong)
        with pytest.raises(ValueError, match=message):
            GameTree.load(path)
    save_arrays(path, "tictac_agents.GameTree", meta | {"num_games": -1}, arrays)
    with pytest.raises(ValueError, match="not a usable checkpoint"):
        GameTree.load(path)
