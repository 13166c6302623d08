"""verifiers: its plugin, found by name, plays whole games for one and two seats, with agents that answer at once."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

vf = pytest.importorskip("verifiers.v1")

from verifiers.v1.utils.loaders import load_environment, resolve_env_config  # noqa: E402

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
