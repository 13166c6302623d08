"""S4's deep Q-learner: its targets, its networks, runs that go on to the bit, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tictac_agents import FittedQ  # noqa: E402
from tictac_agents.agent_files import load_agent  # noqa: E402
from tictac_env.arena import play_match  # noqa: E402
from tictac_env.games import get_game  # noqa: E402
from tictac_env.position import Position  # noqa: E402
from tictac_env.position_batch import PositionBatch  # noqa: E402
from tictac_env.storage import load_arrays, save_arrays  # noqa: E402

SMALL = "KInARow-v0:4x4-3"
QUICK: dict[str, Any] = {"game": SMALL, "batch_games": 6, "epochs": 1, "minibatch": 32, "all_actions": True}
BOTH = pytest.mark.parametrize("all_actions", [False, True])


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def content(learner: FittedQ) -> list[Any]:
    weights = [array.tolist() for network in learner.networks for array in network.state_dict().values()]
    return [learner.num_games, learner._rng.bit_generator.state, *weights]


def test_the_published_network_has_138_773_weights() -> None:
    learner = FittedQ.preset("S4", seed=0)
    assert [sum(weights.numel() for weights in network.parameters()) for network in learner.networks] == [138_773] * 2


@BOTH
def test_the_values_of_all_actions_are_those_of_each_by_itself(all_actions: bool) -> None:
    learner = FittedQ(**QUICK | {"all_actions": all_actions}, seed=0)
    position = Position.from_moves(SMALL, "1213")
    (values,) = learner.values_many(PositionBatch.of([position]), 0)
    board = PositionBatch.of([position]).observations("board").astype(np.float32)
    one_by_one = [float(learner._seats[0].values(board, np.array([action]))[0]) for action in range(4)]
    assert values.tolist() == pytest.approx(one_by_one, abs=1e-5)
    assert learner.act(position, 0) == int(np.argmax(one_by_one))


def test_full_columns_are_never_played() -> None:
    learner = FittedQ(**QUICK, seed=0)
    position = Position.from_moves(SMALL, "1111")
    (values,) = learner.values_many(PositionBatch.of([position]), 0)
    assert values[0] == -np.inf and np.isfinite(values[1:]).all() and learner.act(position, 0) != 0


def test_every_move_of_a_game_is_learned_with_its_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    """The moves, replayed by the rules, are whole games; rewards are those of how they end, targets the formula's."""
    learner = FittedQ(**QUICK | {"batch_games": 20, "epsilon": 1.0}, rewards=(1.0, 0.5, -1.0), seed=4)
    seats = learner._play(20)
    ends: dict[float, int] = {}
    for seat, moves in enumerate(seats):
        last = 0
        for index, ended in enumerate(moves.ended):
            before = moves.before[index]
            assert before.seat == seat and moves.actions[index] in before.legal_actions
            reply = before.play(int(moves.actions[index]))
            if ended and reply.is_over:
                outcome = reply.outcome
                assert outcome is not None
                assert moves.rewards[index] == (0.5 if outcome.winner is None else 1.0)
            elif ended:
                finals = [reply.play(action) for action in reply.legal_actions]
                results = {0.5 if end.outcome and end.outcome.winner is None else -1.0 for end in finals if end.is_over}
                assert moves.rewards[index] in results
            else:
                after = moves.after[last]
                last += 1
                assert moves.rewards[index] == 0
                assert after in [reply.play(action) for action in reply.legal_actions]
            ends[float(moves.rewards[index])] = ends.get(float(moves.rewards[index]), 0) + 1
        assert last == len(moves.after)
    assert ends[1.0] == ends[-1.0] > 0 and ends[1.0] + ends.get(0.5, 0) / 2 == 20
    moves = seats[0]
    targets, after = learner._targets(0, moves), 0
    for index, ended in enumerate(moves.ended):
        value = learner.values_many(PositionBatch.of([moves.before[index]]), 0)[0, moves.actions[index]]
        wanted = moves.rewards[index]
        if not ended:
            best = learner.values_many(PositionBatch.of([moves.after[after]]), 0).max()
            after += 1
            wanted = value + 0.5 * (best - value)
        assert targets[index] == pytest.approx(wanted, abs=1e-5)


def test_against_an_opponent_each_seat_learns_its_own_half_of_the_games(tmp_path: Path) -> None:
    learner = FittedQ(**QUICK | {"batch_games": 20, "epsilon": 1.0}, opponent="minimax:1", seed=4)
    for seat, moves in enumerate(learner._play(20)):
        assert {moves.before[index].seat for index in range(len(moves.actions))} == {seat}
        begun = sum(moves.before[index].ply == seat for index in range(len(moves.actions)))
        assert begun == 10 == moves.ended.sum()
    whole = learner.learn(40, progress_bar=False)
    whole.save(tmp_path / "network.npz")
    assert FittedQ.load(tmp_path / "network.npz").opponent == "minimax:1"


def test_it_learns_to_beat_its_opponent() -> None:
    settings = QUICK | {"batch_games": 100, "epochs": 3}
    learner = FittedQ(**settings, opponent="random", seed=0).learn(1_000, progress_bar=False)
    found, before = (play_match(one, "random", SMALL, 200).total for one in (learner, FittedQ(**settings, seed=0)))
    assert found.wins > before.wins + 40


def test_another_network_is_a_setting(tmp_path: Path) -> None:
    learner = FittedQ(**QUICK, filters=(8,), widths=(3,), dense=(16,), seed=0).learn(6, progress_bar=False)
    assert [array.shape for array in learner.networks[0].parameters()][::2] == [(8, 1, 3, 3), (16, 128), (4, 16)]
    learner.save(tmp_path / "network.npz")
    assert content(FittedQ.load(tmp_path / "network.npz")) == content(learner)


def test_exploration_falls_and_is_raised_again() -> None:
    learner = FittedQ(**QUICK, epsilon=(1.0, 0.2), seed=0)
    seen = []
    learner.learn(24, lambda one: seen.append(one._exploration()), progress_bar=False)
    assert seen == [0.2, 1.0, 0.2, 1.0]


@BOTH
def test_it_goes_on_to_the_bit(all_actions: bool, tmp_path: Path) -> None:
    settings = QUICK | {"all_actions": all_actions}
    whole = FittedQ(**settings, seed=3).learn(15, progress_bar=False)
    stopped = FittedQ(**settings, seed=3).learn(15, lambda one: one.num_games < 12, progress_bar=False)
    assert stopped.num_games == 12
    stopped.save(tmp_path / "network.npz")
    resumed = FittedQ.load(tmp_path / "network.npz").resume(progress_bar=False, checkpoint=tmp_path / "network.npz")
    assert content(resumed) == content(whole) == content(FittedQ.load(tmp_path / "network.npz"))


def test_its_file_plays_by_its_path(tmp_path: Path) -> None:
    FittedQ(**QUICK, seed=0).learn(6, progress_bar=False).save(tmp_path / "network.npz")
    agent, settings = load_agent(tmp_path / "network.npz", get_game(SMALL))
    assert isinstance(agent, FittedQ) and settings["num_games"] == 6 and settings["all_actions"] is True
    assert play_match(agent, "random", SMALL, 4).total.games == 4


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"epsilon": 1.5}, "epsilon"),
        ({"batch_games": 0}, "batch_games"),
        ({"rewards": (1, 0)}, "rewards"),
        ({"opponent": "nobody"}, "nobody"),
        ({"filters": (8, 0), "widths": (3, 3)}, "filters"),
        ({"widths": (3,)}, "widths"),
        ({"game": "TicTacToe-v0", "all_actions": False}, "all_actions"),
    ],
)
def test_settings_that_cannot_be_are_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        FittedQ(**QUICK | changes)


def test_another_game_and_damaged_files_are_refused(tmp_path: Path) -> None:
    learner = FittedQ(**QUICK, seed=0)
    with pytest.raises(ValueError, match="has learned"):
        learner.act(Position.start("TicTacToe-v0"), 0)
    path = tmp_path / "network.npz"
    learner.learn(6, progress_bar=False).save(path)
    meta, arrays = load_arrays(path, "tictac_agents.FittedQ")
    for wrong_meta, wrong in (
        (meta, arrays | {"first_weights_0": np.zeros((1, 1))}),
        (meta, {name: array for name, array in arrays.items() if name != "second_means_3"}),
        (meta | {"num_games": -1}, arrays),
        (meta | {"random_state": 3}, arrays),
    ):
        save_arrays(path, "tictac_agents.FittedQ", wrong_meta, wrong)
        with pytest.raises(ValueError, match="not a usable checkpoint"):
            FittedQ.load(path)


@pytest.mark.slow
def test_it_learns_connect_four() -> None:
    """80 % against random play within 2,000 games was published."""
    learner = FittedQ.preset("S4-all-actions", seed=0).learn(600, progress_bar=False)
    found = play_match(learner, "random", "ConnectFour-v0", 200)
    assert found.as_first.wins > 75 and found.as_second.wins > 70
