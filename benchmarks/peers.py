"""Other people's single environments beside ours, played alike: PettingZoo's and OpenSpiel's."""

from __future__ import annotations

import random
import time
from typing import Any

import pettingzoo
from pettingzoo.env_registry.exceptions import FailedToImport

from benchmarks import our_cases
from benchmarks.our_cases import Run, documented, turns

AEC_GAMES = {"Connect Four": "classic/connect_four_v3", "tic-tac-toe": "classic/tictactoe_v3"}
OPEN_SPIEL_GAMES = {"Connect Four": "connect_four", "tic-tac-toe": "tic_tac_toe"}


def aec_cases(game: str) -> tuple[dict[str, Run], dict[str, str]]:
    """What to measure, ours and PettingZoo's in turn, and for each case the one it is compared with.

    Without PettingZoo's games (they need pygame) a note is printed, and ours are compared with our own raw_env.
    """
    ours = our_cases.aec_cases(game)
    try:
        raw, env, looped = (pettingzoo.make("aec", AEC_GAMES[game]) for _ in range(3))
    except FailedToImport as error:
        print(f"PettingZoo's {game} is left out: {error}")
        return ours, dict.fromkeys(ours, "ours, raw_env")
    theirs = {"raw_env": turns(raw.unwrapped), "env": turns(env), "env, documented loop": documented(looped)}
    cases: dict[str, Run] = {}
    compared: dict[str, str] = {}
    for kind, run in theirs.items():
        cases |= {f"PettingZoo, {kind}": run, f"ours, {kind}": ours[f"ours, {kind}"]}
        compared |= dict.fromkeys((f"PettingZoo, {kind}", f"ours, {kind}"), f"PettingZoo, {kind}")
    return cases, compared


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
