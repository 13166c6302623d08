"""Training on PettingZoo's Connect Four: what the tutorial's scheme misses, and that ours learns."""

from __future__ import annotations

import importlib
import random
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("sb3_contrib")


@pytest.fixture
def tutorial() -> ModuleType:
    """The benchmark, imported as a script finds its neighbours."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    return importlib.import_module("benchmarks.pettingzoo_tutorial")


def last_rewards(env: gym.Env[Any, Any], games: int = 40) -> set[float]:
    """How random games end for the learner."""
    rng, ends = random.Random(0), set()
    for game in range(games):
        env.reset(seed=game)
        over = False
        while not over:
            action = rng.choice(np.flatnonzero(env.unwrapped.action_masks()).tolist())
            _, reward, over, _, _ = env.step(action)
            assert over or reward == 0
        ends.add(float(reward))
    return ends


def test_only_one_of_them_ever_tells_of_a_loss(tutorial: ModuleType) -> None:
    assert last_rewards(tutorial.TutorialEnv()) <= {1, 0}
    assert {1, -1} <= last_rewards(tutorial.ours())


def both_seats(tutorial: ModuleType, model: Any, games: int) -> Any:
    return tutorial.play(model, "first", games) + tutorial.play(model, "second", games)


def learned(tutorial: ModuleType, env: gym.Env[Any, Any], steps: int) -> Any:
    return tutorial.MaskablePPO("MlpPolicy", env, seed=0, device="cpu").learn(steps)


@pytest.mark.slow
def test_ours_learns(tutorial: ModuleType) -> None:
    """In about ten seconds its wins are beyond those of the network it began with; the 95 % intervals are apart."""
    before = both_seats(tutorial, tutorial.MaskablePPO("MlpPolicy", tutorial.ours(), seed=0, device="cpu"), 200)
    after = both_seats(tutorial, learned(tutorial, tutorial.ours(), 10_240), 200)
    assert after.interval(after.wins)[0] > before.interval(before.wins)[1]


@pytest.mark.slow
def test_ours_learns_more_than_the_tutorial(tutorial: ModuleType) -> None:
    ours, theirs = (
        both_seats(tutorial, learned(tutorial, env, 40_960), 500) for env in (tutorial.ours(), tutorial.TutorialEnv())
    )
    assert ours.interval(ours.wins)[0] > theirs.interval(theirs.wins)[1]
