"""OpenEnv's environment: its rewards are those of a session, and the server gives them to its client."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from gymnasium.error import ResetNeeded

pytest.importorskip("openenv.core")

from tictac_apps.language_models import TextSession
from tictac_apps.language_models.adapters.openenv import (
    BoardGameAction,
    BoardGameClient,
    BoardGameEnvironment,
    make_app,
)

pytestmark = pytest.mark.filterwarnings("default")  # of its dependencies


def answers(seed: int) -> list[str]:
    return [f"Move: {move}" for move in random.Random(seed).sample(range(1, 10), 9)]


@pytest.mark.parametrize("reward", ["outcome", "regret", "both"])
def test_the_rewards_are_those_of_a_session(reward: str) -> None:
    env = BoardGameEnvironment(reward=reward, retries=9)
    session = TextSession(reward=reward, retries=9, scaled=True, rules_once=True)
    for seed in range(20):
        games = []
        for _ in range(2):  # seeds reproduce
            games.append([env.reset(seed=seed)])
            for answer in answers(seed):
                if not games[-1][-1].done:
                    games[-1].append(env.step(BoardGameAction(answer=answer)))
        assert games[0] == games[1]
        turns = [session.reset(seed)]
        for answer in answers(seed):
            if not turns[-1].done:
                turns.append(session.answer(answer))
        seen = [(one.prompt, one.reward, one.done, one.status) for one in games[0][1:]]
        assert seen == [(turn.prompt, turn.reward, turn.done, turn.status) for turn in turns[1:]]
        assert all(0 <= one.reward <= 1 for one in games[0][1:]) and games[0][0].reward is None
        end = turns[-1]
        assert end.outcomes is not None and games[0][-1].outcome == end.outcomes[end.seat]
        state = env.state
        assert (state.moves, state.score) == (end.position.to_moves(), session.score(end.seat))
        assert state.step_count == len(turns) - 1


@pytest.mark.parametrize("reward", ["outcome", "regret", "both"])
def test_an_unfinished_game_counts_as_lost(reward: str) -> None:
    env = BoardGameEnvironment(reward=reward)
    assert env.state.score == 0
    with pytest.raises(ResetNeeded):
        env.step(BoardGameAction(answer="5"))
    shown = [env.reset(seed=0, episode_id="mine", position="1"), env.step(BoardGameAction(answer="5"))]
    for one in shown:
        assert (one.done, one.outcome) == (False, None)
    assert (env.state.score, env.state.episode_id) == (0, "mine")
    assert reward != "outcome" or shown[-1].reward == 0  # a draw would earn 0.5


def test_wrong_arguments_are_refused_before_the_server_begins() -> None:
    wrong: Any
    for wrong in ({"game": "Chess-v0"}, {"opponent": "perfekt"}, {"reward": "win"}, {"scaled": 1}, {"opponent": None}):
        with pytest.raises(ValueError):
            make_app(**wrong)


def test_clients_play_on_the_server_each_a_game_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    monkeypatch.setenv("ENABLE_WEB_INTERFACE", "false")
    server = uvicorn.Server(uvicorn.Config(make_app(), port=0, log_level="error"))
    serving = threading.Thread(target=server.run, daemon=True)
    serving.start()
    end = time.monotonic() + 60
    while not server.started and time.monotonic() < end:
        time.sleep(0.05)
    address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    env = BoardGameEnvironment()
    with BoardGameClient(base_url=address).sync() as one, BoardGameClient(base_url=address).sync() as other:
        clients = {1: one, 2: other}
        shown = {seed: client.reset(seed=seed, position="15") for seed, client in clients.items()}
        for seed, client in clients.items():
            assert shown[seed].observation == env.reset(seed=seed, position="15")
            for answer in answers(seed):
                if not shown[seed].done:
                    shown[seed] = client.step(BoardGameAction(answer=answer))
                    assert shown[seed].observation == env.step(BoardGameAction(answer=answer))
            assert client.state().moves == env.state.moves
    server.should_exit = True
    serving.join(timeout=20)


def test_the_manifest_is_valid() -> None:
    yaml = pytest.importorskip("yaml")
    validation = pytest.importorskip("openenv.validation")
    package = Path(__file__).parents[4] / "examples" / "openenv_tictac"
    manifest = yaml.safe_load((package / "openenv.yaml").read_text())
    assert manifest["validation"]["reward"]["range"] == [0, 1]
    report = validation.run_validation(package, max_level=validation.Level.STATIC, skip_build=True)
    assert report.verdict is not validation.Verdict.FAIL
    assert {result.check_id: result.status.value for result in report.results}["static.manifest"] == "pass"


def test_sessions_of_a_process_climb_one_ladder_and_the_rules_are_said_once() -> None:
    envs = [BoardGameEnvironment(opponent="ladder", reward="both", start=None, seat="first") for _ in range(2)]
    for games, env in enumerate(envs, 1):
        prompts = [env.reset(seed=0).prompt]
        for answer in answers(0):
            if env.state.score == 0:
                prompts.append(env.step(BoardGameAction(answer=answer)).prompt)
        assert [prompt.count("The game is") for prompt in prompts] == [1] + [0] * (len(prompts) - 1)
        assert env.state.rung == 0 and env._session.ladder.games == games  # type: ignore[union-attr]
    assert BoardGameEnvironment().state.rung is None
