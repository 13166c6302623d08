"""tinker-cookbook's groups: its own rollouts play them, each seat is paid its own, and no seat waits forever."""

from __future__ import annotations

import asyncio
import random
from types import SimpleNamespace
from typing import Any

import pytest

library = pytest.importorskip("tinker_cookbook")

import tinker  # noqa: E402
from tinker_cookbook.completers import TokensWithLogprobs  # noqa: E402
from tinker_cookbook.rl.rollouts import do_group_rollout  # noqa: E402

from tictac_apps.language_models import TextSession  # noqa: E402
from tictac_apps.language_models.adapters.tinker_cookbook import BoardGameGroup, BoardGameGroups  # noqa: E402
from tictac_env.solver import solve  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # of its dependencies


class Renderer:
    """Tokens are the code points of the text."""

    def get_stop_sequences(self) -> list[str]:
        return ["|"]

    def build_generation_prompt(self, messages: list[dict[str, str]]) -> Any:
        return tinker.ModelInput.from_ints([ord(letter) for message in messages for letter in message["content"]])

    def parse_response(self, tokens: list[int]) -> tuple[dict[str, str], Any]:
        text = "".join(map(chr, tokens))
        clean = text.endswith("|")
        return {"role": "assistant", "content": text.rstrip("|")}, SimpleNamespace(is_clean=clean)


class Player:
    """A policy that draws moves; after some answers they have no end."""

    def __init__(self, seed: int, answers: int = 99) -> None:
        self.rng, self.answers = random.Random(seed), answers

    async def __call__(self, prompt: Any, stop: Any, *, max_tokens: int | None = None) -> TokensWithLogprobs:
        await asyncio.sleep(0)
        self.answers -= 1
        text = f"Move: {self.rng.randint(1, 9)}" + "|" * (self.answers >= 0)
        return TokensWithLogprobs(tokens=[ord(letter) for letter in text], maybe_logprobs=[0.0] * len(text))


def rollout(group: BoardGameGroup, player: Player) -> tuple[list[float], list[dict[str, Any]]]:
    """The rewards of the environments of a group, and their last metrics."""
    found = asyncio.run(asyncio.wait_for(do_group_rollout(group, player), timeout=60))
    assert not found.rollout_errors
    last = [trajectory.transitions[-1] for trajectory in found.trajectories_G]
    assert all(transition.episode_done for transition in last)
    return found.get_total_rewards(), [transition.metrics for transition in last]


@pytest.mark.parametrize("answers", [0, 3, 99])
@pytest.mark.parametrize("scaled", [True, False])
def test_a_model_plays_itself_and_the_regrets_account_for_the_value(scaled: bool, answers: int) -> None:
    for seed in range(10):
        options = {"opponent": None, "scaled": scaled, "retries": 9}
        rewards, metrics = rollout(BoardGameGroup(Renderer(), seed, games=3, options=options), Player(seed, answers))
        assert len(rewards) == 6
        start = TextSession(opponent=None).reset(seed).position
        value = solve(start, weak=True).score
        value = value if start.seat == 0 else -value  # for the first player
        for first, second in zip(metrics[::2], metrics[1::2], strict=True):
            assert first["outcome"] == -second["outcome"]
            assert value - first["outcome"] == first["regret"] - second["regret"]
        assert rewards == [one["score"] if scaled else -one["regret"] for one in metrics]
        assert answers < 99 or any(one["outcome"] for one in metrics) or all(0 <= reward <= 1 for reward in rewards)


def test_games_against_a_ladder_have_its_rung_and_cut_off_answers_lose() -> None:
    options = {"opponent": "ladder", "reward": "both"}
    ladder = BoardGameGroup(Renderer(), 0, options=options).session().ladder
    assert ladder is not None
    before = ladder.games
    rewards, metrics = rollout(BoardGameGroup(Renderer(), 1, games=4, options=options), Player(0))
    assert ladder.games == before + 4 and [one["rung"] for one in metrics] == [0] * 4
    assert rewards == [one["score"] for one in metrics]
    for limits, answers in (({}, 0), ({"max_trajectory_tokens": 500, "max_generation_tokens": 10}, 99)):
        rewards, metrics = rollout(BoardGameGroup(Renderer(), 1, games=2, limits=limits), Player(0, answers))
        lost = [one for one in metrics if "parse_error" in one or "context_overflow" in one]
        assert all((one["outcome"], one["score"]) == (-1, 0) for one in lost) and (lost or limits)


def test_batches_have_seeds_of_their_own_and_wrong_arguments_are_refused() -> None:
    data = BoardGameGroups(Renderer(), batches=3, batch_size=4, seed=5, group={"games": 2})
    assert [group.seed for index in range(len(data)) for group in data.get_batch(index)] == list(range(5, 17))
    wrong: Any
    for wrong in ({"games": 0}, {"options": {"opponent": "perfekt"}}, {"options": {"reward": "win"}}):
        with pytest.raises(ValueError, match=r"games|perfekt|reward"):
            BoardGameGroups(Renderer(), batches=1, group=wrong)
    with pytest.raises(ValueError, match="index"):
        data.get_batch(3)
