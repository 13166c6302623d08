"""Other people's single environments beside ours, played alike: PettingZoo's and OpenSpiel's."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pettingzoo
from pettingzoo.env_registry.exceptions import FailedToImport

from tictac_env import connect_four_v0, tictactoe_v0

Run = Callable[[float], tuple[int, float]]
"""Plays for about so many CPU-seconds; returns plies and CPU-seconds."""

AEC_GAMES = {
    "Connect Four": (connect_four_v0, "classic/connect_four_v3"),
    "tic-tac-toe": (tictactoe_v0, "classic/tictactoe_v3"),
}

OPEN_SPIEL_GAMES = {"Connect Four": "connect_four", "tic-tac-toe": "tic_tac_toe"}


def aec_cases(game: str) -> tuple[dict[str, Run], dict[str, str]]:
    """What to measure, ours and PettingZoo's in turn, and for each case the one it is compared with.

    Without PettingZoo's games (they need pygame) a note is printed, and ours are compared with our own raw_env.
    """
    module, peer = AEC_GAMES[game]
    kinds = {"raw_env": turns, "env": turns, "env, documented loop": documented}
    ours = {"raw_env": module.raw_env, "env": module.env, "env, documented loop": module.env}
    cases: dict[str, Run] = {}
    compared: dict[str, str] = {}
    try:
        pettingzoo.make("aec", peer)
    except FailedToImport as error:
        print(f"PettingZoo's {game} is left out: {error}")
        cases = {f"ours, {kind}": run(ours[kind]()) for kind, run in kinds.items()}
        return cases, dict.fromkeys(cases, "ours, raw_env")
    for kind, run in kinds.items():
        theirs = pettingzoo.make("aec", peer)
        cases[f"PettingZoo, {kind}"] = run(theirs.unwrapped if kind == "raw_env" else theirs)
        cases[f"ours, {kind}"] = run(ours[kind]())
        compared |= dict.fromkeys((f"PettingZoo, {kind}", f"ours, {kind}"), f"PettingZoo, {kind}")
    return cases, compared


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


def open_spiel_cases(game: str) -> dict[str, Run]:
    """OpenSpiel's game in C++, a state at a time; none, and a note, where it is not installed."""
    try:
        import pyspiel
    except ImportError as error:
        print(f"OpenSpiel's {game} is left out: {error}")
        return {}
    rules = pyspiel.load_game(OPEN_SPIEL_GAMES[game])
    return {
        "OpenSpiel, rules only": spiel(rules, False),
        "OpenSpiel, observation and mask lists": spiel(rules, True),
    }


def spiel(rules: Any, observed: bool) -> Run:
    """Random legal play: from the list of legal actions, or with the mover's observation and mask made at every ply."""

    def run(seconds: float) -> tuple[int, float]:
        draw = random.Random(0).random
        plies, began = 0, time.process_time()
        state = rules.new_initial_state()
        while True:
            for _ in range(200):
                if observed:
                    state.observation_tensor()
                    legal = state.legal_actions_mask()
                    action = int(draw() * len(legal))
                    while not legal[action]:
                        action = int(draw() * len(legal))
                else:
                    legal = state.legal_actions()
                    action = legal[int(draw() * len(legal))]
                state.apply_action(action)
                plies += 1
                if state.is_terminal():
                    state.returns()
                    state = rules.new_initial_state()
            spent = time.process_time() - began
            if spent > seconds:
                return plies, spent

    return run
