"""TRL's environment: what the trainer finds in it, whole games by its tool, and rewards that the session gives."""

from __future__ import annotations

import inspect
import random
from functools import partial
from typing import Any

import pytest
from gymnasium.error import ResetNeeded

from tictac_apps.language_models import TextSession
from tictac_apps.language_models.adapters.trl import BoardGameTools


def game(env: BoardGameTools, seed: int, cut: int = 9) -> tuple[list[str], float]:
    """A game by row of a data set: all that the tool says, and the reward after at most `cut` moves."""
    said, rng = [env.reset(prompt=[{"role": "user", "content": ""}], seed=seed, position=None)], random.Random(seed)
    for move in rng.sample(range(1, 10), 9)[:cut]:
        if "it is your turn" in said[-1]:
            said.append(env.play(move))
    return said, env.get_reward()


def test_the_trainer_finds_one_tool_with_a_schema() -> None:
    found = [name for name, _ in inspect.getmembers(BoardGameTools, inspect.isfunction) if name[0] != "_"]
    assert found == ["get_reward", "play", "reset"]
    utils = pytest.importorskip("transformers.utils")
    schema = utils.get_json_schema(BoardGameTools().play)["function"]
    assert schema["name"] == "play" and schema["parameters"]["properties"]["move"]["type"] == "integer"


@pytest.mark.parametrize("reward", ["outcome", "regret", "both"])
def test_a_game_is_that_of_a_session_and_its_reward_is_in_range(reward: str) -> None:
    env = BoardGameTools("TicTacToe-v0", reward=reward, retries=9)
    plain = BoardGameTools("TicTacToe-v0", reward=reward, retries=9, scaled=False)
    session = TextSession("TicTacToe-v0", reward=reward, retries=9)
    for seed in range(20):
        said, earned = game(env, seed)
        assert (said, earned) == game(env, seed)  # seeds reproduce
        turn, total, rng = session.reset(seed), 0.0, random.Random(seed)
        for move in rng.sample(range(1, 10), 9):
            if not turn.done:
                turn = session.answer(f"Move: {move}")
                total += turn.reward
        assert turn.done and earned == session.score(turn.seat) and 0 <= earned <= 1
        assert game(plain, seed)[1] == total == session.returns[turn.seat]


@pytest.mark.parametrize("reward", ["outcome", "regret", "both"])
@pytest.mark.parametrize("cut", [0, 1])
def test_an_unfinished_game_is_lost(reward: str, cut: int) -> None:
    for seed in range(10):
        assert game(BoardGameTools(reward=reward, start=None), seed, cut)[1] == 0
        _, earned = game(BoardGameTools(reward=reward, start=None, scaled=False), seed, cut)
        assert earned < 0


def test_moves_after_the_end_and_two_seats_are_refused() -> None:
    env = BoardGameTools()
    with pytest.raises(ResetNeeded):
        env.play(1)
    game(env, 0)
    with pytest.raises(ValueError, match="over"):
        env.play(1)
    wrong: Any
    for wrong in (partial(BoardGameTools, opponent=None), partial(BoardGameTools, scaled=1)):
        with pytest.raises(ValueError, match=r"opponent|scaled"):
            wrong()


def test_a_game_begins_where_the_row_says() -> None:
    env = BoardGameTools(opponent="minimax", seat="first")
    env.reset(seed=0, position="1524")
    env.play(3)
    assert env.get_reward() == 1
