"""TD on state values: its arithmetic, its published presets, and that it learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tictac_agents import S0ValueTD, ValueTD
from tictac_agents.tabular.learner import Learner
from tictac_env.arena import play_match, verdict
from tictac_env.position import Position

ROUTE = "732689"
"""Worked example 5: states 0, 729, 747, 750, 1236, 3423, 16545; the second player wins."""


def self_play(**settings: Any) -> ValueTD:
    return ValueTD(gym.make("TicTacToe-v0", opponent=None), seed=0, **settings)


def value_of(agent: ValueTD, seat: int, moves: str) -> float:
    position = Position.from_moves("TicTacToe-v0", moves)
    return agent.value(seat, *(position.stones if seat == 0 else position.stones[::-1]))


def test_both_walk_the_route_backwards() -> None:
    agent = ValueTD.preset("S1", seed=0)
    agent.learn_game(ROUTE)
    lengths = range(5, -1, -1)
    first = [value_of(agent, 0, ROUTE[:length]) for length in lengths]
    second = [value_of(agent, 1, ROUTE[:length]) for length in lengths]
    assert first == pytest.approx([0.45, 0.495, 0.4995, 0.49995, 0.499995, 0.4999995], abs=1e-12)
    assert second == pytest.approx([0.55, 0.505, 0.5005, 0.50005, 0.500005, 0.5000005], abs=1e-12)
    assert (value_of(agent, 0, ROUTE), value_of(agent, 1, ROUTE)) == (0.0, 1.0)


def test_online_steps_see_only_what_follows() -> None:
    agent = self_play(updates="online")
    agent.learn_game(ROUTE)
    assert value_of(agent, 0, ROUTE[:5]) == pytest.approx(0.45)
    assert value_of(agent, 0, ROUTE[:4]) == 0.5  # 0.5 towards 0.5: the result has not come that far yet


@pytest.mark.parametrize("trace", [0.3, 0.9, 1.0])
def test_traces_hand_the_last_error_back(trace: float) -> None:
    """Only the last step has an error, -0.5; a position k plies before gets 0.1 * trace**k of it."""
    agent = self_play(updates="online", trace_decay=trace)
    agent.learn_game(ROUTE)
    for k in range(6):
        assert value_of(agent, 0, ROUTE[: 5 - k]) == pytest.approx(0.5 - 0.1 * 0.5 * trace**k)


def test_s0_learns_by_the_mean_of_what_followed() -> None:
    """v += (-1 + 0.9 v' - v) / N: the first visit replaces the value, the second takes the mean."""
    agent = S0ValueTD.preset("S0", seed=0)
    agent.learn_game(ROUTE)  # lost for X: as seen by X the last position is worth -30, by O 10
    assert value_of(agent, 0, ROUTE[:5]) == -30  # the result itself
    assert value_of(agent, 1, ROUTE[:5]) == 10
    before = value_of(agent, 0, ROUTE[:4])
    assert before == pytest.approx(-1 + 0.9 * -1)
    agent.learn_game(ROUTE)
    assert value_of(agent, 0, ROUTE[:4]) == pytest.approx((before + -1 + 0.9 * -30) / 2)


def test_a_dead_game_is_drawn() -> None:
    dead = "19758463"  # every line holds stones of both, one square is left
    assert not Position.from_moves("TicTacToe-v0", dead).is_over
    assert value_of(S0ValueTD.preset("S0", seed=0), 0, dead) == 2
    assert value_of(self_play(), 0, dead) == 0.5


def test_only_positions_after_ones_own_moves_are_learned() -> None:
    agent = self_play(plies="own")
    agent.learn_game(ROUTE)
    assert value_of(agent, 1, ROUTE[:4]) == pytest.approx(0.55)  # after O's move, then O wins
    assert value_of(agent, 0, ROUTE[:5]) == pytest.approx(0.45)
    assert all(value_of(agent, 0, ROUTE[:ply]) == 0.5 for ply in (0, 2, 4))


def test_exploring_moves_are_not_learned_from() -> None:
    learned = self_play(epsilon=1.0, learn_exploring=False).learn(total_episodes=50, progress_bar=False)
    values = [node.value for table in learned.tables for node in table.values() if not node.final]
    assert values
    assert all(node.visits == 0 for node in learned.tables[0].values() if learned.game.seat(*node.key) == 0)


def test_seats_come_in_blocks() -> None:
    agent = S0ValueTD("TicTacToe-v0", block=3, seed=0)
    seats: list[int] = []
    agent.learn(total_episodes=12, progress_bar=False, callback=lambda learner: seats.append(seat_of(learner)))
    assert seats == [0] * 3 + [1] * 3 + [0] * 3 + [1] * 3


def seat_of(learner: Learner) -> int | None:
    state = learner.env.unwrapped.state_dict()  # type: ignore[attr-defined]
    return int(state["learner"])


def test_one_table_whoever_begins() -> None:
    agent = S0ValueTD.preset("S0", seed=0).learn(total_episodes=300, progress_bar=False)
    assert agent.tables[0] == agent.tables[1]
    other = S0ValueTD("TicTacToe-v0", seed=0, block=10).learn(total_episodes=300, progress_bar=False)
    assert other.tables[0] != other.tables[1]


def test_s1_draws_most_of_its_training_games_and_itself() -> None:
    both = ValueTD.preset("S1", seed=0).learn(progress_bar=False)
    assert both.results.sum() == 10_000
    assert 6_000 <= both.results[1] <= 7_200  # a published rerun: 8,250 to 8,295
    assert play_match(both, both, games=2).total.draws == 2  # one's vector against the other's


@pytest.mark.parametrize("opponent", [None, "random"])
@pytest.mark.parametrize("kind", [ValueTD, S0ValueTD])
def test_the_results_of_training_games_are_counted(kind: type[ValueTD], opponent: str | None, tmp_path: Path) -> None:
    """As the boards show them, in games through reset and step and in the compiled loop."""
    seen = np.zeros(3, np.int64)

    def count(learner: Learner) -> None:
        outcome = learner.env.unwrapped.position.outcome  # type: ignore[attr-defined]
        seen[1 if outcome.winner is None else 2 * outcome.winner] += 1

    settings: dict[str, Any] = {} if opponent is None else {"play_as": "random"}
    made = [kind(gym.make("TicTacToe-v0", opponent=opponent, **settings), seed=1) for _ in range(2)]
    made[0].learn(total_episodes=300, callback=count, progress_bar=False)
    made[1].compile().learn(total_episodes=300, progress_bar=False)
    assert seen.all()
    for agent in made:
        assert np.array_equal(agent.results, seen)
        agent.learn_game(ROUTE)
    made[0].save(tmp_path / "v.npz")
    assert np.array_equal(kind.load(tmp_path / "v.npz").results, seen)


@pytest.mark.parametrize(
    "settings", [{}, {"updates": "online", "trace_decay": 0.5}, {"plies": "own"}, {"learning_rate": None}]
)
def test_self_play_learns_to_beat_random_play(settings: dict[str, Any]) -> None:
    agent = self_play(epsilon=0.2, **settings).learn(total_episodes=6_000, progress_bar=False)
    found = verdict(agent)
    assert found.as_first.against_random.wins > 0.93
    assert found.as_second.against_random.wins > 0.70


@pytest.mark.parametrize(
    "settings",
    [
        {"learning_rate": 2},
        {"gamma": -1},
        {"epsilon": 1.5},
        {"rewards": (1, 2)},
        {"plies": "some"},
        {"updates": "sideways"},
        {"trace_decay": 0.5, "updates": "backward"},
        {"block": -1},
        {"verdict_every": -1},
        {"start_afresh": 3, "verdict_every": 2},
        {"shared": 1},
    ],
)
def test_impossible_settings_are_named(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        S0ValueTD("TicTacToe-v0", **settings)


@pytest.mark.parametrize(
    "settings", [{"learn_explored": 1}, {"set_last": 2, "plies": "own"}, {"set_last": True}, {"know_results": "no"}]
)
def test_impossible_settings_of_s3_are_named(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        ValueTD("TicTacToe-v0", **settings)


def test_verdicts_need_a_small_game() -> None:
    with pytest.raises(ValueError, match="verdict_every"):
        S0ValueTD("ConnectFour-v0", verdict_every=10)


def test_the_last_position_is_set_to_the_result() -> None:
    agent = ValueTD.preset("S3", seed=0)
    agent.learn_game(ROUTE)  # O wins
    assert value_of(agent, 1, ROUTE) == 1
    assert value_of(agent, 1, ROUTE[:4]) == 0.1  # from 0 towards 1
    assert [value_of(agent, 0, ROUTE[:ply]) for ply in (1, 3, 5)] == [0, 0, 0]
    agent = ValueTD.preset("S3", seed=0, initial_value=0.6)
    backups = agent.learn_game(ROUTE)
    assert (backups[0].before, backups[0].after) == (0.6, 0.0)
    assert value_of(agent, 0, ROUTE[:3]) == pytest.approx(0.54)


def test_a_result_is_unknown_until_a_game_ends_there() -> None:
    agent = self_play(know_results=False)
    assert value_of(agent, 1, ROUTE) == 0.5
    agent.learn_game(ROUTE)
    assert value_of(agent, 1, ROUTE) == 1


def test_a_preset_knows_its_run() -> None:
    assert ValueTD.preset("S1", seed=0).learn(progress_bar=False).num_episodes == 10_000
    assert ValueTD.preset("S1", seed=0).learn(total_episodes=7, progress_bar=False).num_episodes == 7
    with pytest.raises(ValueError, match="total_timesteps or total_episodes"):
        self_play().learn()


def test_s0_stops_and_begins_afresh_by_its_own_rule() -> None:
    seen: list[tuple[int, int]] = []
    agent = S0ValueTD.preset("S0", seed=0, block=50, verdict_every=100, start_afresh=200)
    agent.learn(total_episodes=400, callback=lambda learner: seen.append((learner.num_episodes, len(agent))))
    assert [count for count, _ in seen] == [*range(1, 401)]
    sizes = dict(seen)
    assert sizes[200] > 4 * sizes[201] > 0
