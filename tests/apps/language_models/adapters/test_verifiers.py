"""verifiers: its plugin, found by name, plays whole games for one and two seats, with agents that answer at once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import chat_server
import pytest

vf = pytest.importorskip("verifiers.v1")

from verifiers.v1.utils.loaders import load_environment, resolve_env_config  # noqa: E402

from tictac_apps.language_models import Ladder  # noqa: E402
from tictac_apps.language_models.ladder import of_process  # noqa: E402
from tictac_env.games import get_game  # noqa: E402
from tictac_env.position import Position  # noqa: E402
from tictac_env.solver import solve  # noqa: E402


class Talker:
    """An agent in place of a model, with a real trace: it answers some turns, then its limit ends the game."""

    def __init__(self, seed: int, turns: int = 99) -> None:
        self.rng, self.turns, self.traces = random.Random(seed), turns, []

    @asynccontextmanager
    async def interaction(self, task: Any) -> Any:
        config = vf.AgentConfig(model="talker", runtime={"type": "subprocess"})
        trace = vf.Trace(agent={"config": config}, task={"type": "BoardGameTask", "data": task.data})
        self.traces.append(trace)
        yield SimpleNamespace(trace=trace, turn=self.turn)

    async def turn(self, prompt: str) -> Any:
        self.turns -= 1
        if self.turns < 0:
            return SimpleNamespace(terminated=True, last_reply="")
        return SimpleNamespace(terminated=False, last_reply=f"Well.\nMove: {self.rng.randint(1, 9)}")


def played(seed: int, turns: int = 99, **taskset: Any) -> list[Any]:
    """The traces of a game, by seat."""
    config = {"taskset": {"id": "tictac-verifiers", "size": 1, "seed": seed, "retries": 9} | taskset}
    env = load_environment(resolve_env_config(config))
    player, rival = Talker(seed, turns), Talker(seed + 1)
    (task,) = env.taskset
    asyncio.run(env.run(task, SimpleNamespace(player=player, rival=rival)))
    return [*player.traces, *rival.traces]


@pytest.mark.parametrize("reward", ["outcome", "regret", "both"])
def test_rewards_are_in_range_and_seeds_reproduce(reward: str) -> None:
    for seed in range(10):
        (trace,) = played(seed, reward=reward)
        (again,) = played(seed, reward=reward)
        assert 0 <= trace.reward <= 1 and trace.reward == again.reward and trace.info == again.info
        result, regret = (1 + trace.metrics["outcome"]) / 2, 0.5 ** trace.metrics["regret"]
        expected = {"outcome": result, "regret": regret, "both": (result + regret) / 2}[reward]
        assert trace.reward == (0 if trace.metrics["forfeited"] else expected)


def test_the_regrets_of_two_models_account_for_the_value() -> None:
    for seed in range(20):
        traces = played(seed, opponent="", start=None)
        assert len(traces) == 2
        first, second = traces
        if first.metrics["forfeited"] + second.metrics["forfeited"] == 0:
            end = Position.from_moves("TicTacToe-v0", first.info["moves"])
            assert end.is_over
        value = solve(Position.start("TicTacToe-v0"), weak=True).score
        assert first.metrics["outcome"] == -second.metrics["outcome"]
        assert first.metrics["outcome"] == value - first.metrics["regret"] + second.metrics["regret"]


@pytest.mark.parametrize("reward", ["outcome", "regret", "both"])
def test_a_game_that_is_cut_off_is_lost(reward: str) -> None:
    for seed in range(5):
        (trace,) = played(seed, turns=1, reward=reward, start=None)
        assert (trace.reward, trace.metrics["outcome"], trace.metrics["forfeited"]) == (0, -1, 1)


def test_wrong_settings_are_refused() -> None:
    for wrong in ({"game": "Chess-v0"}, {"opponent": "perfekt"}, {"reward": "win"}, {"seat": "third"}):
        with pytest.raises(ValueError):
            played(0, **wrong)


def evaluated(address: str, env: dict[str, Any]) -> list[Any]:
    """The traces of games over verifiers' own rollouts and server."""
    config = {"taskset": {"id": "tictac-verifiers", "size": 3} | env.pop("taskset", {})} | env
    environment = load_environment(resolve_env_config(config))
    context = vf.ModelContext(model="own", client=vf.EvalClientConfig(base_url=address, api_key_var="NO_KEY"))

    async def run() -> list[Any]:
        async with environment.serving():
            return [await environment.run_episode(task, context) for task in environment.taskset]

    episodes = asyncio.run(run())
    assert [episode.errors for episode in episodes] == [[]] * 3 and all(episode.ok for episode in episodes)
    return [trace for episode in episodes for trace in episode.traces]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server whose answers have every field that the interface requires."""

    def completion(content: str) -> dict[str, Any]:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        return {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}

    monkeypatch.setattr(chat_server, "completion", completion)
    with chat_server.serving() as stub:
        stub.script = scripted
        yield stub


def scripted(prompt: str) -> str:
    return f"Well.\nMove: {random.Random(prompt).randint(1, 9)}"


def test_players_converse_in_this_process_and_the_rules_are_said_once(server: Any) -> None:
    traces = evaluated(server.url, {"taskset": {"retries": 9}})
    for trace in traces:
        assert trace.agent.config.harness.id == "tictac-verifiers" and trace.is_completed
        messages = trace.branches[-1].messages
        assert [message.role for message in messages] == ["user", "assistant"] * trace.num_turns
        assert sum("The game is" in message.content for message in messages) == 1
        assert messages[1].content == scripted(messages[0].content)
    assert len(server.asked) == sum(trace.num_turns for trace in traces)
    cut = evaluated(server.url, {"player": {"max_turns": 1}, "taskset": {"start": None}})
    assert [(trace.num_turns, trace.reward, trace.metrics["forfeited"]) for trace in cut] == [(1, 0, 1)] * 3


def test_a_rival_of_another_model_is_frozen(server: Any) -> None:
    both = {"opponent": "", "start": None, "retries": 9}
    rivals: list[tuple[dict[str, str], bool]] = [({}, True), ({"model": "frozen"}, False)]
    for rival, trained in rivals:
        traces = evaluated(server.url, {"taskset": both, "rival": dict(rival)})
        names = {trace.agent.name: (trace.agent.config.model, trace.agent.trainable) for trace in traces}
        assert names == {"player": ("own", True), "rival": (rival.get("model", "own"), trained)}
        for player in (trace for trace in traces if trace.agent.name == "player"):
            seed = player.task.data.seed
            (other,) = (trace for trace in traces if trace.task.data.seed == seed and trace is not player)
            assert player.metrics["outcome"] == other.metrics["regret"] - player.metrics["regret"]


def test_all_games_of_a_process_climb_one_ladder() -> None:
    ladder = of_process("ladder", get_game("TicTacToe-v0"), "outcome")
    assert isinstance(ladder, Ladder)
    before = ladder.games
    for seed in range(3):
        (trace,) = played(seed, opponent="ladder", reward="outcome")
        assert trace.metrics["rung"] == 0 and ladder.games == before + seed + 1
    assert all("rung" not in trace.metrics for trace in played(0))
