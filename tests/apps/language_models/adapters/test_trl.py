"""TRL's environment: what the trainer finds in it, whole games by its tool, and rewards that the session gives."""

from __future__ import annotations

import inspect
import random
from typing import Any

import pytest
from chat_server import serving
from gymnasium.error import ResetNeeded
from hypothesis import given
from hypothesis import strategies as st

from tictac_apps.language_models import Ladder, TextSession
from tictac_apps.language_models.adapters.trl import BoardGameTools, log_games
from tictac_env.position import Position
from tictac_env.solver import solve


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


def test_moves_after_the_end_and_wrong_arguments_are_refused() -> None:
    env = BoardGameTools()
    with pytest.raises(ResetNeeded):
        env.play(1)
    game(env, 0)
    with pytest.raises(ValueError, match="over"):
        env.play(1)
    wrong: Any
    for wrong in ({"opponent": None, "reward": "outcome"}, {"opponent": None, "reward": "both"}, {"scaled": 1}):
        with pytest.raises(ValueError, match=r"reward|scaled"):
            BoardGameTools(**wrong)


def test_a_game_begins_where_the_row_says() -> None:
    env = BoardGameTools(opponent="minimax", seat="first")
    env.reset(seed=0, position="1524")
    env.play(3)
    assert env.get_reward() == 1


def test_the_rules_are_said_once() -> None:
    for seed in range(5):
        said, _ = game(BoardGameTools(retries=9), seed)
        assert len(said) > 2 and [text.count("The game is") for text in said] == [1] + [0] * (len(said) - 1)


@given(seed=st.integers(0, 2**31), moves=st.integers(0, 9), scaled=st.booleans())
def test_a_model_plays_itself_and_the_regrets_account_for_the_value(seed: int, moves: int, scaled: bool) -> None:
    env = BoardGameTools(opponent=None, scaled=scaled, retries=9)
    said, earned = game(env, seed, moves)
    session = env.session
    seats = [text.partition("You are ")[2][:1] for text in said if "it is your turn" in text]
    assert len(seats) > 1 or moves == 0 or session.turn.done
    start = session.turn.position
    value = solve(Position.from_moves("TicTacToe-v0", start.moves[: start.ply - played(said)]), weak=True).score
    value = value if (start.ply - played(said)) % 2 == 0 else -value  # for the first player
    outcomes = session.turn.outcomes
    assert outcomes is not None
    assert value - outcomes[0] == session.regrets[0] - session.regrets[1]
    regrets = session.regrets
    assert earned == ((session.score(0) + session.score(1)) / 2 if scaled else -sum(regrets))


def played(said: list[str]) -> int:
    """The number of legal moves in a game, by what the tool says."""
    return sum("which is not legal" not in text for text in said[1:])


def test_environments_share_a_ladder_and_its_rung_is_logged() -> None:
    ladder = Ladder(["random", "perfect"], window=2, up=0.1, down=None)
    envs = [BoardGameTools(opponent=ladder, start=None, seat="first", reward="outcome") for _ in range(2)]
    logged: list[tuple[str, float]] = []
    for _ in range(2):
        for env in envs:
            env.reset(seed=0)
            for move in (5, 1, 2, 3, 4, 6, 7, 8, 9):
                if not env.session.turn.done:
                    env.play(move)
        assert log_games(envs, lambda *metric: logged.append(metric)) == [None, None]
    assert dict(logged[:2]).keys() == {"regret", "rung"}
    assert [value for name, value in logged if name == "rung"] == [0, 1] and ladder.games == 4
    both = [BoardGameTools(opponent=None) for _ in range(2)]
    for env in both:
        env.reset(seed=1)
    log_games(both, lambda *metric: logged.append(metric))  # they are lost
    assert [name for name, _ in logged[4:]] == ["regret of X", "regret of O"]
    named = [BoardGameTools(opponent="ladder", reward="both").session.ladder for _ in range(2)]
    assert named[0] is named[1] is not BoardGameTools(opponent="ladder").session.ladder


def test_a_frozen_copy_is_asked_for_text_and_not_for_a_call() -> None:
    with serving() as server:
        server.script = lambda prompt: "Move: 5"
        env = BoardGameTools(opponent=f"{server.url}#frozen", seat="second", start=None)
        assert " .  X  .\n" in env.reset(seed=0)
        assert "Move: <number>" in server.prompts[0] and "`play`" not in server.prompts[0]
