"""What networks are shown of a board, against a naive board; and networks over it, made, trained, saved and loaded."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ALL_GAMES, HEX, playout, title
from gymnasium import spaces
from naive import NaiveBoard

from tictac_env.arena import move_accuracy
from tictac_env.games import GAMES, KInARow
from tictac_env.position_batch import PositionBatch

pytest.importorskip("sb3_contrib")
import torch
from sb3_pairs import C4, OFF_POLICY, ON_POLICY, TTT, self_play

from tictac_agents import DQN, MaskablePPO, SB3VecEnv, Snapshot
from tictac_agents.deep.networks import LineFeatures
from tictac_agents.plan import tuned

FAMILY = [game for game in ALL_GAMES if isinstance(game, KInARow)]
LINES = {"features_extractor_class": "LineFeatures", "features_extractor_kwargs": {"game": C4}}
CONV = {"features_extractor_class": "ConvFeatures", "features_extractor_kwargs": {"channels": 4}}
KINDS: dict[str, Any] = {
    f"{made.__name__}{', afterstates' * (policy != 'MlpPolicy')}": partial(made, policy, **settings)
    for made, settings in ((DQN, OFF_POLICY | {"learning_starts": 64}), (MaskablePPO, ON_POLICY | {"batch_size": 32}))
    for policy in ("MlpPolicy", "AfterstatePolicy")
}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    torch.set_num_threads(1)


def space_of(game: KInARow, obs_type: str) -> spaces.Box:
    shape = (game.rows, game.cols)
    return spaces.Box(-1, 1, (2, *shape) if obs_type == "planes" else shape, np.int8)


def told_naively(board: NaiveBoard) -> list[int]:
    """The features of a board for the side to move, by the words of the docstring."""
    sides = (board.mark, 3 - board.mark)
    cells = [(row, col) for row in range(board.rows) for col in range(board.cols)]
    windows = list(dict.fromkeys(map(tuple, board.lines)))

    def marks(line: Any) -> list[int]:
        return [board.grid[row][col] for row, col in line]

    def lacks(mark: int, line: Any) -> int | None:
        """How many stones the side lacks, if the window is live for it."""
        return None if 3 - mark in marks(line) else marks(line).count(0)

    def is_threat(mark: int, cell: tuple[int, int]) -> bool:
        return marks([cell]) == [0] and any(cell in line and lacks(mark, line) == 1 for line in windows)

    found = [marks([cell]) == [mark] for mark in sides for cell in cells]
    for count in (2, 1):
        if count < board.connect:
            found += [lacks(mark, line) == count for mark in sides for line in in_order(windows)]
    found += [bool(board.winning_cells(mark)) for mark in sides]
    found += [is_threat(mark, cell) for mark in sides for cell in cells]
    for above in (0, 1) if board.gravity else ():
        for mark in sides:
            for col in range(board.cols):
                lowest = board.landing(col)
                row = -1 if lowest is None else lowest[0] - above
                found.append(row >= 0 and is_threat(mark, (row, col)))
    return [int(one) for one in found]


def in_order(lines: Any) -> list[Any]:
    """The lines as the features have them: upwards, to the right, up-right and down-right, each by its first cell."""

    def key(line: Any) -> tuple[int, tuple[int, int]]:
        if len(line) == 1:
            return 0, line[0]
        (top, left), (next_row, next_col) = line[:2]
        step = (next_row - top, next_col - left)
        direction = [(1, 0), (0, 1), (1, -1), (1, 1)].index(step)
        # A line begins at its lowest cell, but the one that falls to the right at its highest.
        return direction, line[-1] if step in ((1, 0), (1, -1)) else line[0]

    return sorted(lines, key=key)


@pytest.mark.parametrize("game", FAMILY, ids=title)
@pytest.mark.parametrize("obs_type", ["planes", "board"])
def test_features_are_those_of_a_naive_board(game: KInARow, obs_type: str) -> None:
    features = LineFeatures(space_of(game, obs_type), game)
    for seed in range(2):
        positions = playout(game, seed)
        board = NaiveBoard.of(game)
        told = [told_naively(board)]
        for position in positions[1:]:
            board.play(position.last_action)
            told.append(told_naively(board))
        seen = features(torch.as_tensor(PositionBatch.of(positions).observations(obs_type)))
        assert seen.shape == (len(positions), features.features_dim)
        assert np.array_equal(seen.numpy(), np.array(told))


def test_connect_four_has_69_windows_and_474_features() -> None:
    features = LineFeatures(space_of(GAMES[C4], "planes"), C4)
    assert features.features_dim == 2 * (42 + 2 * 69 + 1 + 42 + 2 * 7) == 474
    assert not list(features.parameters()) and not features.state_dict()


@pytest.mark.parametrize("wrong", [HEX, TTT, "KInARow-v0:5x6-4"])
def test_features_of_other_boards_are_an_error(wrong: Any) -> None:
    with pytest.raises(ValueError, match="LineFeatures needs"):
        LineFeatures(space_of(GAMES[C4], "planes"), wrong)


@pytest.mark.parametrize(
    ("kind", "features", "obs_type"),
    [
        *((kind, LINES, "planes") for kind in KINDS),
        ("DQN", CONV, "planes"),
        ("DQN, afterstates", LINES, "board"),
        ("MaskablePPO", LINES, "board"),
        ("MaskablePPO, afterstates", CONV, "board"),
    ],
)
def test_a_model_is_trained_saved_and_loaded(kind: str, features: Any, obs_type: str, tmp_path: Path) -> None:
    envs = self_play(C4, 4, obs_type=obs_type)
    model = KINDS[kind](envs, gamma=-1, policy_kwargs={**features, "net_arch": [8]}).learn(128)
    model.save(tmp_path / "model")
    loaded = type(model).load(tmp_path / "model", device="cpu")
    assert loaded.plan == model.plan.changed(seed=None)
    positions = PositionBatch.of(playout(GAMES[C4])[:-1])
    seeds = np.zeros(len(positions), np.int64)
    played = [Snapshot(one).act_many(positions, seeds) for one in (model, loaded)]
    assert np.array_equal(*played)
    by_predict = [
        int(loaded.predict(seen, deterministic=True, action_masks=mask)[0])
        for seen, mask in zip(positions.observations(obs_type), positions.action_masks(), strict=True)
    ]
    assert by_predict == played[1].tolist()
    assert loaded.learn(64, reset_num_timesteps=False).num_timesteps == 192


def test_the_actor_sees_each_afterstate_and_the_critic_the_position() -> None:
    model = KINDS["MaskablePPO, afterstates"](SB3VecEnv(C4, 4, opponent=None), policy_kwargs={**LINES, "net_arch": [8]})
    board = np.zeros((1, 2, 6, 7), np.int8)
    with torch.no_grad():
        features = model.policy.extract_features(torch.as_tensor(board))
    assert features.shape == (1, 8, 474)
    now, first, *_ = features[0]
    assert not now.any() and first.sum() == 1 and first[5 * 7] == 1


def test_unknown_features_are_an_error() -> None:
    with pytest.raises(ValueError, match="features_extractor_class must be one of 'LineFeatures'"):
        KINDS["DQN"](SB3VecEnv(C4), policy_kwargs={"features_extractor_class": "LineFeature"})


def test_an_afterstate_has_one_value_whichever_way_it_is_asked_for() -> None:
    model = KINDS["DQN, afterstates"](SB3VecEnv(C4, 4, opponent=None), policy_kwargs={**LINES, "net_arch": [8]})
    positions = PositionBatch.of(playout(GAMES[C4], seed=1)[:-1])
    observations = torch.as_tensor(positions.observations("planes"))
    actions = torch.as_tensor(positions.action_masks().argmax(axis=1))[:, None].long()
    with torch.no_grad():
        all_at_once = model.q_net(observations).gather(1, actions)
        assert torch.allclose(model.q_net.values_of(observations, actions), all_at_once, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("made", [DQN, MaskablePPO])
def test_a_short_self_play_learns_connect_four(made: Any) -> None:
    """With the tuned settings, by the exact measure; random play errs in 61 % of these positions."""
    model = made.from_plan(tuned(made.__name__, C4).changed(total=100_000), 0, "cpu")
    model.learn(100_000)
    assert move_accuracy(Snapshot(model), "C4-Choose-v1").overall.mistakes.value < 0.3
