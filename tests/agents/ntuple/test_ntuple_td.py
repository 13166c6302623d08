"""Learning with n-tuple networks: against a plain loop, in threads, stopped and resumed, and what it has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.ntuple.plain_loop import PlainLoop
from tictac_agents import NTupleTD
from tictac_agents.ntuple import ntuple_td
from tictac_agents.ntuple.self_play import learn_batches, learn_batches_in_threads
from tictac_env.arena import exact_results, verdict
from tictac_env.position import Position

SMALL: dict[str, Any] = {"tuples": 10, "length": 5, "seed": 3}
KINDS: list[dict[str, Any]] = [
    {"game": "ConnectFour-v0"},
    {"game": "ConnectFour-v0", "coherence": True, "margin": 0.1},
    {"game": "ConnectFour-v0", "rule": False, "symmetric": False, "logistic": False, "epsilon": 0.5},
    {"game": "TicTacToe-v0", "trace": 1.0},
    {"game": "TicTacToe-v0", "coherence": True, "trace": 0.0, "discount": 0.9, "erring": 0.5},
    {"game": "ConnectFour-v0", "erring": 0.7, "erring_seat": 0},
    {"game": "TicTacToe-v0", "erring": 1.0, "erring_seat": 1},
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_it_learns_what_a_plain_loop_over_reset_and_step_learns(kind: dict[str, Any]) -> None:
    agent = NTupleTD(**SMALL | {"step": 0.1, "final_step": 0.1} | kind)
    plain = PlainLoop(agent)
    agent.learn(24)
    plain.learn(24, 0.1)
    assert np.abs(agent._weights).max() > 0
    assert np.array_equal(agent._weights, plain.flat_weights())


def test_one_thread_learns_while_several_are_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    games, now = {1: 0, 2: 0}, 0.0

    def counted(learn: Any, threads: int, seconds: float) -> Any:
        def counting(*arguments: Any) -> int:
            nonlocal now
            begin, end = arguments[8:10]
            now += seconds * (end - begin)
            games[threads] += end - begin
            return int(learn(*arguments))

        return counting

    monkeypatch.setattr(ntuple_td.time, "monotonic", lambda: now)
    for several in (0.1, 0.001):  # seconds a game; of one thread 0.01
        games.update(dict.fromkeys(games, 0))
        monkeypatch.setattr(ntuple_td, "learn_batches_in_threads", counted(learn_batches_in_threads, 2, several))
        monkeypatch.setattr(ntuple_td, "learn_batches", counted(learn_batches, 1, 0.01))
        agent = NTupleTD(**SMALL, threads=2).learn(600, progress_bar=False)
        assert sum(games.values()) == 600
        assert games[2 if several == 0.1 else 1] <= 100
    assert np.array_equal(agent.network.weights, NTupleTD(**SMALL).learn(600, progress_bar=False).network.weights)


@pytest.mark.parametrize("coherence", [False, True])
def test_the_number_of_threads_changes_nothing(coherence: bool) -> None:
    made = [NTupleTD(**SMALL, threads=threads, coherence=coherence) for threads in (1, 2, 3)]
    for agent in made:
        agent._compares = np.inf  # all threads learn, even if one alone is faster
        agent.learn(400)
    assert np.abs(made[0]._weights).max() > 0
    assert all(np.array_equal(made[0]._weights, other._weights) for other in made)
    assert made[0].num_plies == made[1].num_plies > 400 * 7


def test_a_run_that_was_stopped_saved_and_resumed_ends_as_an_unbroken_one(tmp_path: Path) -> None:
    settings = SMALL | {"coherence": True, "averaging": 0.5, "seed": None}
    stopped = NTupleTD(**settings).start_from(["4444", "12"], 0.25)
    stopped.learn(4_000, callback=lambda agent: agent.num_games < 1_500, checkpoint=tmp_path / "a.npz")
    assert 1_500 <= stopped.num_games < 4_000
    resumed = NTupleTD.load(tmp_path / "a.npz").resume()
    stopped.resume()
    assert resumed.num_games == stopped.num_games == 4_000
    assert np.array_equal(resumed._weights, stopped._weights)
    assert np.array_equal(resumed.network.weights, stopped.network.weights)
    assert not np.array_equal(resumed.network.weights, resumed._weights), "an average plays"


def test_the_average_that_plays_is_that_of_the_last_run() -> None:
    agent, start = NTupleTD(**SMALL, averaging=0.5).learn(500), Position.start("ConnectFour-v0")
    for _ in range(2):
        assert agent.values(start.own, start.opp) == agent.network.values(start.own, start.opp)
        agent.learn(500)
    assert agent.values(start.own, start.opp) == agent.network.values(start.own, start.opp)


def test_it_cannot_be_beaten_at_tic_tac_toe() -> None:
    agent = NTupleTD("TicTacToe-v0", tuples=12, length=6, seed=0).learn(20_000)
    found = verdict(agent, "TicTacToe-v0")
    assert found.unbeatable
    assert agent.step_now == pytest.approx(0.08)


@pytest.mark.parametrize(("seat", "missed"), [(0, 0.01), (1, 0.0)])
def test_it_learns_to_win_nearly_all_that_can_be_won_from_a_side_that_errs(seat: int, missed: float) -> None:
    """It keeps the draw and leads the other side into errors. Errors that do not count only show how to use them."""
    earned = []
    for erring_seat in (1 - seat, None):
        settings = {"tuples": 12, "length": 6, "erring": 1.0, "erring_seat": erring_seat, "seed": 0}
        agent = NTupleTD("TicTacToe-v0", **settings).learn(20_000)
        results = exact_results(agent, "perfect:0.3", game="TicTacToe-v0", progress=False)
        shares = (results.as_second if seat else results.as_first).shares
        assert shares.losses == 0
        earned.append(shares.wins)
    erring = verdict("perfect:0.3")
    ceiling = (erring.as_first if seat else erring.as_second).gain
    assert ceiling - missed - 1e-9 <= earned[0] <= ceiling + 1e-9
    assert earned[1] < 0.5 * ceiling


def test_games_can_begin_with_the_moves_of_given_ones() -> None:
    agent = NTupleTD(**SMALL).start_from(["444444"], 1.0).learn(500)
    learned = agent._weights.reshape(SMALL["tuples"], -1).any(axis=1)
    assert learned.all()
    network = agent.network
    middle = [number for number, cells in enumerate(network.tuples) if any(cell % 7 == 3 for cell in cells)]
    empty = [int(network.layout.empty[2 * number]) for number in middle]
    assert empty
    assert not any(agent._weights[2 * one : 2 * one + 2].any() for one in empty), "nothing is learned of an empty board"
    with pytest.raises(ValueError, match="the game '1213141' is over"):
        agent.start_from(["1213141"], 0.5)
    with pytest.raises(ValueError, match="no games are given"):
        agent.start_from([], 0.5)
    assert len(agent._starts) == 1, "an error changes nothing"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game": "Hex-v0"}, "KInARow family"),
        ({"tuples": 0}, "tuples"),
        ({"length": 13}, "length"),
        ({"step": 0.0}, "step"),
        ({"final_step": 1.5}, "final_step"),
        ({"trace": 1.5}, "trace"),
        ({"discount": 0.0}, "discount"),
        ({"margin": -0.1}, "margin"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"erring_seat": 2}, "erring_seat"),
        ({"rule": 1}, "rule"),
        ({"seed": -1}, "seed"),
    ],
    ids=str,
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NTupleTD(**settings)


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    from tictac_env.storage import load_arrays, save_arrays

    path = tmp_path / "a.npz"
    NTupleTD(**SMALL).learn(100, checkpoint=path)
    meta, arrays = load_arrays(path, "tictac_agents.NTupleTD")
    for name, wrong in (("weights", np.zeros(3, np.int32)), ("net", np.zeros(3, np.int64))):
        save_arrays(path, "tictac_agents.NTupleTD", meta, arrays | {name: wrong})
        with pytest.raises(ValueError, match="not a usable checkpoint of NTupleTD"):
            NTupleTD.load(path)
    for games in (["1111111"], ["8"], [5], None):
        save_arrays(path, "tictac_agents.NTupleTD", meta | {"start_games": games, "start_chance": 0.5}, arrays)
        with pytest.raises(ValueError, match="not a usable checkpoint of NTupleTD"):
            NTupleTD.load(path)
