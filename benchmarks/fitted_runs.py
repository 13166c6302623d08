"""One run of S4's deep Q-learner on Connect Four: trained batch by batch, and measured as it was after each batch."""

from __future__ import annotations

import copy
import time
from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks.report import processor_features
from tictac_agents import GameTree
from tictac_env.arena import GameRecord, move_accuracy, round_robin
from tictac_env.policies import Policy

if TYPE_CHECKING:
    from tictac_agents import FittedQ

GAME = "ConnectFour-v0"
FROZEN = 600
"""The fixed opponent is the learner itself after so many games, or after its first batch if it ends before."""
CURVE_GAMES = 200
"""How many games against random play each point of the curve has, half of them in each seat."""
FINAL_GAMES = 2_000
TREE_GAMES = 1_000_000
"""How many games the learned tree of the tournament has learned from."""


def run_fitted(preset: str, games: int, seed: int) -> dict[str, Any]:
    """Trains a preset of `FittedQ`, and measures it.

    Against its frozen self and against the tree the games begin from all 49 openings of two plies, as networks do not
    draw; against random play from the empty board.
    """
    import torch  # not before, as most runs need none

    from tictac_agents import FittedQ

    torch.set_num_threads(1)
    learner = FittedQ.preset(preset, seed=seed)
    grown: list[FittedQ] = []
    began = time.process_time()
    learner.learn(games, lambda learner: grown.append(copy.deepcopy(learner)), progress_bar=False)
    spent = time.process_time() - began
    frozen = next((one for one in grown if one.num_games >= FROZEN), grown[0])
    curve = []
    for one in grown:
        row: dict[str, Any] = {"games": one.num_games, "plies in training": round(one.mean_length, 1)}
        for name, opponent, count, openings in (
            ("random", "random", CURVE_GAMES, 0),
            ("frozen", frozen, None, 2),
        ):
            records = round_robin({"learner": one, name: opponent}, GAME, count, seed, openings=openings).games
            row |= {f"v {name}, {key}": value for key, value in of_each_seat(records).items()}
        curve.append(row)
    against_random = round_robin({"learner": learner, "random": "random"}, GAME, FINAL_GAMES, seed)
    tree = GameTree(GAME, seed=seed).learn(TREE_GAMES, progress_bar=False)
    against_tree = round_robin({"learner": learner, "tree": tree}, GAME, seed=seed, openings=2)
    to_random, to_tree = against_random.matches["learner", "random"], against_tree.matches["learner", "tree"]
    return {
        "seed": seed,
        "games": games,
        "CPU-s": round(spent, 2),
        "positions of 627": 0,
        "exploitability": None,
        "infallible": None,
        **{
            f"{seat}: v random": (won.wins / won.games, won.draws / won.games, won.losses / won.games)
            for seat, won in (("first", to_random.as_first), ("second", to_random.as_second))
        },
        "first: v tree": list(to_tree.as_first),
        "second: v tree": list(to_tree.as_second),
        "mistakes": mistakes(learner),
        "processor": processor_features(),
        "curve": curve,
    }


def mistakes(player: Policy) -> float:
    """The share of the positions of C4-Exact-v1 in which a player gives away its result."""
    return round(move_accuracy(player, "C4-Exact-v1").overall.mistakes.value, 4)


def of_each_seat(records: tuple[GameRecord, ...]) -> dict[str, float]:
    """Per cent won by the learner in each seat, and how many plies its games had."""
    found = {}
    for seat, sign in (("first", 1), ("second", -1)):
        played = [one for one in records if (one.fixture.first.name == "learner") == (seat == "first")]
        found[f"{seat}: % won"] = round(100 * mean(one.result == sign for one in played), 1)
        found[f"{seat}: plies"] = round(mean(len(one.positions()) - 1 for one in played), 1)
    return found
