"""SkyRL's environment: the rewards of its steps are those of a session, and unfinished games are lost."""

from __future__ import annotations

import random
from typing import Any

import pytest

library = pytest.importorskip("skyrl_gym")

import tictac_apps.language_models.adapters.skyrl  # noqa: E402, F401  # registers "tictac"
from tictac_apps.language_models import TextSession  # noqa: E402
from tictac_env.solver import solve  # noqa: E402


def answers(seed: int) -> list[str]:
    return [f"Move: {move}" for move in random.Random(seed).sample(range(1, 10), 9)]


def episode(seed: int, max_turns: int = 99, position: str | None = None, **config: Any) -> tuple[Any, list[Any]]:
    """The environment after an episode, and its steps."""
    row = {"seed": seed, "position": position, "retries": 9, "index": 3}
    env = library.make("tictac", env_config=config, extras={"extra_info": row, "max_turns": max_turns})
    env.init([{"role": "user", "content": "Play."}])
    steps: list[Any] = []
    for answer in answers(seed):
        if not steps or not steps[-1]["done"]:
            steps.append(env.step(answer))
    return env, steps


@pytest.mark.parametrize("reward", ["outcome", "regret", "both"])
@pytest.mark.parametrize("scaled", [True, False])
def test_the_rewards_are_those_of_a_session(reward: str, scaled: bool) -> None:
    session = TextSession(reward=reward, scaled=scaled, retries=9, rules_once=True)
    for seed in range(20):
        env, steps = episode(seed, reward=reward, scaled=scaled)
        turn, expected = session.reset(seed), []
        for answer in answers(seed):
            if not turn.done:
                turn = session.answer(answer)
                expected.append(turn.reward)
        assert [step["reward"] for step in steps] == expected and steps[-1]["done"] and steps[-1]["observations"] == []
        assert not scaled or all(0 <= one <= 1 for one in expected)
        metrics = env.get_metrics()
        assert metrics["score"] == session.score(turn.seat) and metrics["regret"] == session.regrets[turn.seat]
        assert turn.outcomes is not None and metrics["won"] == (turn.outcomes[turn.seat] == 1)
        assert episode(seed, reward=reward, scaled=scaled)[1] == steps  # seeds reproduce


@pytest.mark.parametrize("reward", ["outcome", "regret", "both"])
def test_a_game_that_is_cut_off_is_lost(reward: str) -> None:
    for seed in range(10):
        env, steps = episode(seed, max_turns=1, position="5", reward=reward, scaled=False)
        assert len(steps) == 1 and steps[-1]["done"]
        metrics = env.get_metrics()
        assert (metrics["won"], metrics["drawn"], metrics["score"]) == (0, 0, 0)
        total = sum(step["reward"] for step in steps)
        given_away = {"outcome": 0, "regret": metrics["regret"], "both": metrics["regret"]}[reward]
        assert total == -(reward != "regret") - given_away
        _, steps = episode(seed, max_turns=1, position="5", reward=reward)
        assert all(0 <= step["reward"] <= 1 for step in steps)
        assert reward != "outcome" or steps[-1]["reward"] == 0


def test_the_messages_of_the_row_come_first() -> None:
    env = library.make("tictac", extras={"extra_info": {"seed": 0, "position": "5"}})
    for before, roles in (([], ["user"]), ([{"role": "system", "content": "Hi"}], ["system", "user"])):
        messages, _ = env.init(before)
        assert [message["role"] for message in messages] == roles
    messages, info = env.init([{"role": "user", "content": "Hello!"}])
    assert len(messages) == 1 and messages[0]["content"].startswith("Hello!\n\nThe game is") and info["moves"][0] == "5"


@pytest.mark.parametrize(
    "config", [{"rewards": "regret"}, {"opponent": None, "reward": "both"}, {"max_turns": 0}, {"reward": "win"}]
)
def test_wrong_configurations_are_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        library.make("tictac", env_config=config)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("max_turns", [2, 99])
def test_a_model_plays_itself_and_the_regrets_account_for_the_value(scaled: bool, max_turns: int) -> None:
    for seed in range(20):
        env, steps = episode(seed, max_turns, opponent=None, scaled=scaled)
        session, metrics = env.session, env.get_metrics()
        start = TextSession(opponent=None).reset(seed).position
        value = solve(start, weak=True).score
        value = value if start.seat == 0 else -value  # for the first player
        outcomes = session.turn.outcomes
        assert value - outcomes[0] == metrics["first_regret"] - metrics["second_regret"]
        assert metrics["won"] - (1 - metrics["won"] - metrics["drawn"]) == outcomes[0]
        total = sum(step["reward"] for step in steps)
        assert metrics["score"] == (session.score(0) + session.score(1)) / 2
        assert total == (metrics["score"] if scaled else -metrics["first_regret"] - metrics["second_regret"])


def test_all_episodes_of_a_process_climb_one_ladder_and_the_rules_are_said_once() -> None:
    before = None
    for seed in range(3):
        env, steps = episode(seed, opponent="ladder", reward="both")
        ladder = env.session.ladder
        assert before in (None, ladder.games - 1) and env.get_metrics()["rung"] == 0
        before = ladder.games
        assert not any("The game is" in step["observations"][0]["content"] for step in steps[:-1])
    assert "rung" not in episode(0)[0].get_metrics()
