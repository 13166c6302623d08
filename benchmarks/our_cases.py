"""What `throughput.py` measures of this package: its environments and a learner, each played at random.

Only public names are used, so that `throughput.py --against` can measure an older version of the package by the very
same loops.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import tictac_agents
from tictac_env import connect_four_v0, tictactoe_v0

Run = Callable[[float], tuple[int, float]]
"""Plays for about so many seconds; returns plies (or games) and seconds."""

Batch = Callable[[], int]
"""Draws an action for every board and steps them all; returns how many plies were made."""

IDS = {"Connect Four": "ConnectFour-v0", "tic-tac-toe": "TicTacToe-v0"}
AEC = {"Connect Four": connect_four_v0, "tic-tac-toe": tictactoe_v0}
SINGLE: dict[str, dict[str, Any]] = {
    "ours, opponent=None": {"opponent": None},
    "ours, opponent='random'": {},
    "ours, obs_type='board'": {"opponent": None, "obs_type": "board"},
}


def all_cases(table: str, boards: list[int]) -> dict[tuple[str, int, str], Run]:
    """The cases of a table of `throughput.py` by game, number of boards and name; threads too by CPU time."""
    if table == "learning":
        return {("tic-tac-toe", 1, name): run for name, run in learning_cases().items()}
    found: dict[tuple[str, int, str], Run] = {}
    for game in IDS:
        if table in ("single", "aec"):
            cases = single_cases(game) if table == "single" else aec_cases(game)
            found |= {(game, 1, name): run for name, run in cases.items()}
        elif table == "vector":
            found |= {(game, count, name): run for count in boards for name, run in vector_cases(game, count).items()}
        else:
            cases = thread_cases(game, max(boards), time.process_time)
            found |= {(game, max(boards), name): run for name, run in cases.items()}
    return found


def single_cases(game: str) -> dict[str, Run]:
    """One environment through gym.make."""
    return {name: stepping(gym.make(IDS[game], **keywords)) for name, keywords in SINGLE.items()}


def aec_cases(game: str) -> dict[str, Run]:
    """The PettingZoo environments."""
    module = AEC[game]
    return {
        "ours, raw_env": turns(module.raw_env()),
        "ours, env": turns(module.env()),
        "ours, env, documented loop": documented(module.env()),
    }


def vector_cases(game: str, num_envs: int) -> dict[str, Run]:
    """The native vector environment on one thread."""
    return {f"ours, copy={copy}": timed(batch(game, num_envs, copy=copy), 16) for copy in (False, True)}


def thread_cases(game: str, num_envs: int, clock: Callable[[], float]) -> dict[str, Run]:
    """The native vector environment on one thread and on two."""
    return {
        f"threads={threads}": timed(batch(game, num_envs, copy=False, threads=threads), 16, clock) for threads in (1, 2)
    }


def learning_cases() -> dict[str, Run]:
    """A learner, interpreted and compiled, and the games alone."""
    return {
        "random games": games_of(None),
        "S0 learning": games_of("S0"),
        "S0 learning, compiled": games_of("S0", compiled=True),
    }


def stepping(env: gym.Env[Any, Any]) -> Run:
    """Random legal play through reset and step."""

    def run(seconds: float) -> tuple[int, float]:
        draw = random.Random(0).random
        plies, began = 0, time.process_time()
        _, info = env.reset(seed=0)
        while True:
            for _ in range(200):
                legal = info["action_mask"].tobytes()
                action = int(draw() * len(legal))
                while not legal[action]:
                    action = int(draw() * len(legal))
                _, _, terminated, _, info = env.step(action)
                plies += 2 if info.get("opponent_action", -1) >= 0 else 1
                if terminated:
                    _, info = env.reset()
                    plies += info.get("opponent_action", -1) >= 0
            spent = time.process_time() - began
            if spent > seconds:
                return plies, spent

    return run


def turns(env: Any) -> Run:
    """Random legal play through observe and step, with a cheap draw; each run plays other games."""
    draw = random.Random(0).random

    def run(seconds: float) -> tuple[int, float]:
        plies, began = 0, time.process_time()
        env.reset()
        while True:
            for _ in range(200):
                legal = env.observe(env.agent_selection)["action_mask"].tobytes()
                action = int(draw() * len(legal))
                while not legal[action]:
                    action = int(draw() * len(legal))
                env.step(action)
                plies += 1
                if env.terminations[env.agent_selection]:
                    env.reset()
            spent = time.process_time() - began
            if spent > seconds:
                return plies, spent

    return run


def documented(env: Any) -> Run:
    """The loop of PettingZoo's documentation: agent_iter, last, and a sample of the action space."""
    for seed, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seed)

    def run(seconds: float) -> tuple[int, float]:
        plies, began = 0, time.process_time()
        while True:
            for _ in range(10):
                env.reset()
                for agent in env.agent_iter():
                    observation, _, termination, truncation, _ = env.last()
                    over = termination or truncation
                    env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
                    plies += not over
            spent = time.process_time() - began
            if spent > seconds:
                return plies, spent

    return run


def timed(play: Batch, batches: int = 1, clock: Callable[[], float] = time.process_time) -> Run:
    """Goes on for about so many seconds of `clock`, read once in `batches` batches; the games go on from run to run."""

    def run(seconds: float) -> tuple[int, float]:
        plies, began = 0, clock()
        while True:
            for _ in range(batches):
                plies += play()
            spent = clock() - began
            if spent > seconds:
                return plies, spent

    return run


def batch(game: str, num_envs: int, **keywords: Any) -> Batch:
    """The native vector environment and its sampler."""
    envs: Any = gym.make_vec(IDS[game], num_envs=num_envs, opponent=None, **keywords)
    envs.reset(seed=0)
    step, sample = envs.step, envs.sample_actions
    over = 0

    def play() -> int:
        nonlocal over
        _, _, terminations, _, _ = step(sample())
        plies = num_envs - over  # a board whose game was over is only reset
        over = np.count_nonzero(terminations)
        return plies

    return play


def games_of(preset: str | None, compiled: bool = False) -> Run:
    """Games of tic-tac-toe against random play, from each seat in turn: random ones, or those S0 learns from.

    Those are played through reset and step, or in the compiled loop.
    """
    games_at_once = 20_000 if compiled else 200
    of_s0 = getattr(tictac_agents, "S0ValueTD", None) or tictac_agents.ValueTD  # in folders where S0 had no class
    learner = of_s0.preset(preset or "S0", seed=0)  # kept between runs: a run of S0's is half a million games long
    learner.block = games_at_once // 2  # else a short run would see one seat only
    learner.compiled = compiled
    draw = random.Random(0).random

    def run(seconds: float) -> tuple[int, float]:
        games, began = 0, time.process_time()
        while True:
            if preset:
                learner.learn(total_episodes=games_at_once, progress_bar=False)
            else:
                play_randomly(learner.env, draw, games_at_once)
            games += games_at_once
            spent = time.process_time() - began
            if spent > seconds:
                return games, spent

    return run


def play_randomly(env: gym.Env[Any, Any], draw: Callable[[], float], games: int) -> None:
    for game in range(games):
        _, info = env.reset(options={"play_as": ("first", "second")[game // 100 % 2]})
        terminated = False
        while not terminated:
            legal = info["action_mask"].tobytes()
            action = int(draw() * len(legal))
            while not legal[action]:
                action = int(draw() * len(legal))
            _, _, terminated, _, info = env.step(action)
