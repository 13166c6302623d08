# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "skyrl-gym>=0.4"]
# ///
"""SkyRL: episodes of skyrl-gym with an exact reward for each game, played by three scripts in place of a model."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import skyrl_gym
from skyrl_gym.metrics import aggregate_for_environment

import tictac_apps.language_models.adapters.skyrl  # noqa: F401  # registers "tictac"
from tictac_env import make_policy
from tictac_env.position import Position

drawn = random.Random(0)


def perfect(question: str, moves: str) -> str:
    """A best move, as the solver sees it."""
    return f"I know.\nMove: {make_policy('perfect').act(Position.from_moves('TicTacToe-v0', moves), 0) + 1}"


def empty(question: str, moves: str) -> str:
    """An empty cell, drawn."""
    board = "".join(re.findall(r"^ [.XO]  [.XO]  [.XO]$", question, re.MULTILINE)).replace(" ", "")
    return f"Move: {drawn.choice([cell for cell, stone in enumerate(board, 1) if stone == '.'])}"


def chatty(question: str, moves: str) -> str:
    """A move, or none in the form that is asked for."""
    return drawn.choice([empty(question, moves), "Well, what a question!"])


def episode(answerer: Callable[[str, str], str], row: dict, max_turns: int, opponent: str | None) -> dict:
    """An episode as SkyRL's generator plays it; a row of the data set comes as `extras`."""
    config = {"opponent": opponent, "reward": "regret"}
    env = skyrl_gym.make("tictac", env_config=config, extras={"max_turns": max_turns, "extra_info": row})
    messages, info = env.init([{"role": "system", "content": "You play well."}])
    moves, rewards, done = info["moves"], [], False
    while not done:
        out = env.step(answerer(messages[-1]["content"], moves))
        messages, moves, done = messages + out["observations"], out["metadata"]["moves"], out["done"]
        rewards.append(out["reward"])
    if row["seed"] == 0:
        print(f"  rewards of the first game: {rewards}")
    return env.get_metrics()


CASES = ((perfect, 30, "perfect:0.5"), (empty, 30, "perfect:0.5"), (chatty, 30, "perfect:0.5"))
CASES += ((perfect, 2, "perfect:0.5"), (perfect, 30, "ladder"), (empty, 30, None))
for answerer, max_turns, opponent in CASES:
    print(f"{answerer.__name__} v {opponent or 'itself'}, at most {max_turns} answers")
    metrics = [episode(answerer, {"seed": seed}, max_turns, opponent) for seed in range(100)]
    means = aggregate_for_environment("tictac", metrics)
    print("  means of 100 games:", ", ".join(f"{name} {mean:.2f}" for name, mean in means.items()))
