"""The five published systems: what each reported, and the runs of ours: trained, timed, judged by the exact verdict.

S0  George Swan, "Reinforcement Learning: A Tic Tac Toe Example"
S1  Fan Min, MFReinforcement
S2  nestedsoftware, tictac
S3  Monte Carlo self-play, and dynamic programming, after Sutton and Barto
S4  Gilad Ariel, Connect Four by deep Q-learning and Monte Carlo tree search
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

import tictac_agents
from tictac_agents import MCTS, GameTree, LearningCurve, S2Network
from tictac_agents.plan import preset, settings_class
from tictac_agents.tabular.learner import Learner
from tictac_agents.tabular.value_td import StateLearner
from tictac_apps.bench.records import RunSettings, processor_features
from tictac_env.arena import GameRecord, MatchResult, SeatVerdict, move_accuracy, play_match, round_robin, verdict
from tictac_env.policies import Policy, make_policy
from tictac_env.position import Position, canonical

if TYPE_CHECKING:
    from tictac_agents import FittedQ


class Case(NamedTuple):
    """One published learner or player, or one of ours that answers it."""

    system: str
    name: str
    run: str
    """`Learner:preset`, `Learner:preset:episodes`, `DQN:preset`, `S2Network:preset`, `FittedQ:preset:games`,
    `MCTS:preset`, `GameTree:game:games` or `policy:name`."""
    as_first: str = ""
    """Published per cent won, drawn, lost against random play as the first player."""
    as_second: str = ""
    note: str = ""
    """Other published figures, or a description of ours."""
    claim: str = ""
    """The source's claim, a key of `CLAIMS`."""
    until_proven: int = 0
    """Ends when proven: the games between verdicts. (S0's preset has its own rule.)"""
    most_seeds: int = 1_000
    """The most seeds, if one takes minutes."""


FEW, S4_SEEDS = 3, 10
UNLOST, DRAWN, OVER_80 = "never loses to minimax", "draws against itself", "wins over 80 % v random"

SYSTEMS: tuple[Case, ...] = (
    Case(
        "S0",
        "TD until proven unbeatable",
        "S0ValueTD:S0",
        note="unbeatable, usually within a minute (a rerun: 4 of 6 seeds within one, after 240,000-1,240,000 games)",
        claim="unbeatable",
    ),
    Case("S1", "two value vectors, 50 games", "ValueTD:S1:50", note="no figure", claim="beatable"),
    Case(
        "S1",
        "two value vectors, 10,000 games",
        "ValueTD:S1",
        note="8,250-8,295 training games drawn; opens in the centre",
        claim="unbeatable",
    ),
    Case("S1", "two value vectors, 100,000 games", "ValueTD:S1:100000", note="ours: ten times as many games"),
    Case(
        "S1",
        "two value vectors, 1,000,000 games",
        "ValueTD:S1:1000000",
        note="ours: a hundred times as many games",
        most_seeds=FEW,
    ),
    Case("S1", "dynamic programming", "ValueIteration:S1", note="no figure"),
    Case("S2", "Q, trained v random", "QLearning:S2", "99.1 / 0.9 / 0", "92.6 / 7.4 / 0", claim=UNLOST),
    Case("S2", "double Q", "QLearning:S2-double", note="no better", claim=UNLOST),
    Case(
        "S2",
        "Q, trained v randomised minimax",
        "QLearning:S2-minimax",
        "81.6 / 6.8 / 11.6",
        "50.0 / 27.3 / 22.7",
        "355 of 627 positions",
        UNLOST,
    ),
    Case("S2", "Q, draw = 1", "QLearning:S2-draw", "~95 won", "~70 won", claim=UNLOST),
    Case("S2", "minimax, deterministic", "policy:minimax-first", "99.4 / 0.6 / 0", "79.7 / 20.3 / 0", claim=UNLOST),
    Case("S2", "random", "policy:random", "60.1 / 11.0 / 28.9", "28.9 / 11.0 / 60.1"),
    Case("S2", "MCTS, 4,000 playouts", "MCTS:S2", "83.4 / 16.6 / 0", "61 / 39 / 0", claim=UNLOST),
    Case(
        "S2",
        "network 9-36-36-9",
        "S2Network:S2",
        "98.4 / 1.6 / 0",
        "75.4 / 24.6 / 0",
        "2,000,000 games a seat, over an hour",
        UNLOST,
        most_seeds=FEW,
    ),
    Case("S2", "the same in batches, by DQN", "DQN:S2", note="ours: Stable-Baselines3's replay", most_seeds=FEW),
    Case(
        "S3",
        "afterstates, as published",
        "ValueTD:S3",
        note="1,000 greedy games all drawn; its own program loses 16.3, 23.1, 25.0 % as O (three seeds)",
        claim=DRAWN,
    ),
    Case("S3", "afterstates, improved", "ValueTD:S3-improved", note="ours", claim=DRAWN),
    Case("S3", "true Monte Carlo, 100,000 games", "MonteCarlo:S3", note="ours: what S3 was called"),
    Case("S4", "prequel: TD(0) table", "ValueTD:S4-prequel", note="3,375 and 3,054 entries"),
    Case("S4", "prequel: network 9-18-18-1", "DQN:S4-prequel", note="no figure", most_seeds=FEW),
    Case(
        "S4",
        "network, Connect Four, 2,000 games",
        "FittedQ:S4:2000",
        "96.0 won",
        "73.3 won",
        "over 80 won within 2,000 games; 96.0 and 73.3 are those of a rerun of the shipped networks",
        OVER_80,
        most_seeds=S4_SEEDS,
    ),
    Case(
        "S4",
        "network, all actions in one pass",
        "FittedQ:S4-all-actions:2000",
        note="ours: the same network, 2,000 games",
        claim=OVER_80,
        most_seeds=S4_SEEDS,
    ),
    Case("S4", "MCTS tree, 1M games", "GameTree:ConnectFour-v0:1000000", note="about 230 games/s, 1 KB a node"),
    Case("ours", "Q, self-play until proven", "QLearning:self-play", until_proven=500),
    Case("ours", "S2's network, self-play", "DQN:S2-self-play", note="S2's network surpassed", most_seeds=FEW),
    Case("ours", "Q, a loss counting ten times", "QLearning:infallible", note="S2 cured"),
)

NETWORKS = ("DQN", "FittedQ", "S2Network")
"""Learners with the same figures on the same processor only."""

Run = dict[str, Any]
"""The figures of one seed."""
CLAIMS: dict[str, Callable[[Run], bool]] = {
    "unbeatable": lambda found: bool(found["unbeatable"]),
    "beatable": lambda found: not found["unbeatable"],
    UNLOST: lambda found: lost_to_minimax(found) == 0,
    DRAWN: lambda found: bool(found["draws itself"]),
    OVER_80: lambda found: min(found[f"{seat}: v random"][0] for seat in ("first", "second")) > 0.8,
}
"""The claims of sources, and the tests of a run by them."""


def settings_of(case: Case, seed: int) -> RunSettings:
    """All that decides a run of a case, its preset's settings too."""
    kind, name, *_ = case.run.split(":")
    if kind in tictac_agents.trained("table", "games", "network"):
        values: Any = preset(kind, name).to_dict() if name in settings_class(kind).PRESETS else {}
    else:
        values = getattr(getattr(getattr(tictac_agents, kind, None), "SETTINGS", None), "PRESETS", {}).get(name, {})
    named = {"system": case.system, "learner": case.name, "run": case.run, "until_proven": [case.until_proven, 0]}
    settings: RunSettings = json.loads(json.dumps({**named, "preset": values, "seed": seed}))
    return settings


def is_drawn(case: Case) -> bool:
    """True if the seed matters."""
    return not case.run.startswith(("policy:", "ValueIteration:"))


def run(settings: RunSettings) -> Run:
    """Trains and judges one learner."""
    case = next(one for one in SYSTEMS if (one.system, one.name) == (settings["system"], settings["learner"]))
    seed = settings["seed"]
    kind, name, *rest = settings["run"].split(":")
    if kind == "GameTree":
        return run_tree(name, int(rest[0]), seed)
    if kind == "FittedQ":
        return run_fitted(name, int(rest[0]), seed)
    if kind == "S2Network":
        S2Network(games_a_seat=10).learn(20, progress_bar=False)  # compiled
    if is_tabular(kind):
        getattr(tictac_agents, kind).preset(name, seed=seed).learn(total_episodes=1_000, progress_bar=False)  # compiled
    began = time.process_time()
    policy: Policy
    if kind == "policy":
        policy, games, positions = make_policy(name), 0, 0
    elif kind == "MCTS":
        policy, games, positions = MCTS.preset(name), 0, 0
    elif kind == "DQN":
        policy, games, positions = *trained_network(name, seed), 0
    elif kind == "S2Network":
        games, positions = preset(kind, name).length, 0
        policy = S2Network.preset(name, seed).learn(games, progress_bar=False)
    elif kind == "ValueIteration":
        policy, games, positions = getattr(tictac_agents, kind).preset(name).learn(), 0, 0
    else:
        learner: Learner = getattr(tictac_agents, kind).preset(name, seed=seed)
        games = int(rest[0]) if rest else preset(kind, name).length
        proof = LearningCurve(case.until_proven, until_proven=True) if case.until_proven else None
        learner.learn(total_episodes=games, callback=proof, progress_bar=False)
        policy, games, positions = learner, learner.num_episodes, positions_of(learner)
    spent = time.process_time() - began
    found = verdict(policy, "TicTacToe-v0", seed)
    row = figures(seed, games, spent) | {"positions of 627": positions}
    row |= {"exploitability": found.exploitability, "unbeatable": found.unbeatable}
    row |= seat_figures("first", found.as_first) | seat_figures("second", found.as_second)
    row |= training_figures(policy) if isinstance(policy, StateLearner) else {}
    return row | ({"processor": processor_features()} if kind in NETWORKS else {})


def figures(seed: int, games: int, seconds: float) -> Run:
    """The figures that all runs have, so far as they are known without a verdict."""
    unknown = {"positions of 627": 0, "exploitability": None, "unbeatable": None}
    return {"seed": seed, "games": games, "CPU-s": round(seconds, 2), **unknown}


def shares_against_random(match: MatchResult) -> Run:
    """The shares of games won, drawn and lost in each seat."""
    seats = {"first": match.as_first, "second": match.as_second}
    return {f"{seat}: v random": tuple(count / found.games for count in found) for seat, found in seats.items()}


def training_figures(learner: StateLearner) -> Run:
    """The results of the training games, and how the learner opens and plays against itself."""
    itself = play_match(learner, learner, games=1).total
    return {
        "training: won, drawn, lost by the first": learner.results.tolist(),
        "draws itself": bool(itself.draws),
        "opens with": learner.act(Position.start(learner.game), 0),
    }


def lost_to_minimax(found: Run) -> float:
    """The share of games that a run's player loses to the minimax player that draws among its best moves."""
    return float(max(found[f"{seat}: v minimax"][2] for seat in ("first", "second")))


def is_tabular(kind: str) -> bool:
    return kind not in ("policy", "MCTS", "ValueIteration", *NETWORKS)


def trained_network(name: str, seed: int) -> tuple[Policy, int]:
    """A preset of `DQN` after its run, and the number of games."""
    import torch

    torch.set_num_threads(1)
    model = tictac_agents.DQN.preset(name, seed, "cpu")
    model.learn(model.plan.length)
    return tictac_agents.ModelPolicy(model), model._episode_num


def run_tree(game: str, games: int, seed: int) -> Run:
    """Grows S4's tree; on Connect Four its results are sampled, 1,000 games a seat."""
    GameTree(game, seed=seed).learn(5_000, progress_bar=False)  # compiled
    tree = GameTree(game, seed=seed)
    began = time.process_time()
    tree.learn(games, progress_bar=False)
    spent = time.process_time() - began
    row = figures(seed, games, spent)
    row |= shares_against_random(play_match(tree, "random", game=game, games=2_000, seed=seed))
    row |= {"games/s": round(games / spent), "bytes a node": round(tree.nbytes / len(tree), 1)}
    return row | {"mistakes": mistakes(tree)}


def seat_figures(seat: str, found: SeatVerdict) -> Run:
    return {
        f"{seat}: v random": tuple(found.against_random),
        f"{seat}: v minimax": tuple(found.against_perfect),
        f"{seat}: v minimax-first": tuple(found.against_minimax_first),
        f"{seat}: plies to win": round(found.plies_to_win, 3),
        f"{seat}: beaten by": found.losing_line or "",
    }


def positions_of(learner: Any) -> int:
    """The number of the 627 unfinished positions, up to symmetry, that the learner has met as the side to move."""
    if isinstance(learner, StateLearner):
        keys = {key for seat, table in enumerate(learner.tables) for key in table if learner.game.seat(*key) == seat}
    else:
        keys = {(own, opp) for own, opp, _ in learner.positions.tolist()}
    folded = {canonical(learner.game, own, opp)[:2] for own, opp in keys}
    met = (Position(learner.game, own, opp) for own, opp in folded if not learner.game.status(own, opp))
    return sum(not position.is_over for position in met)


CONNECT_FOUR = "ConnectFour-v0"
FROZEN = 600
"""The fixed opponent is the learner itself after this number of games, or after its first batch if it ends before."""
CURVE_GAMES = 200
"""Games against random play at each point of the curve, half of them in each seat."""
FINAL_GAMES = 2_000
TREE_GAMES = 1_000_000
"""Games that the learned tree has learned from."""


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
            records = round_robin({"learner": one, name: opponent}, CONNECT_FOUR, count, seed, openings=openings).games
            row |= {f"v {name}, {key}": value for key, value in of_each_seat(records).items()}
        curve.append(row)
    against_random = round_robin({"learner": learner, "random": "random"}, CONNECT_FOUR, FINAL_GAMES, seed)
    tree = GameTree(CONNECT_FOUR, seed=seed).learn(TREE_GAMES, progress_bar=False)
    against_tree = round_robin({"learner": learner, "tree": tree}, CONNECT_FOUR, seed=seed, openings=2)
    to_tree = against_tree.matches["learner", "tree"]
    row = figures(seed, games, spent) | shares_against_random(against_random.matches["learner", "random"])
    row |= {"first: v tree": list(to_tree.as_first), "second: v tree": list(to_tree.as_second)}
    return row | {"mistakes": mistakes(learner), "processor": processor_features(), "curve": curve}


def mistakes(player: Policy) -> float:
    """The share of the positions of C4-Exact-v1 in which a player gives away its result."""
    return round(move_accuracy(player, "C4-Exact-v1").overall.mistakes.value, 4)


def of_each_seat(records: tuple[GameRecord, ...]) -> dict[str, float]:
    """Per cent won by the learner in each seat, and the plies of its games."""
    found = {}
    for seat, sign in (("first", 1), ("second", -1)):
        played = [one for one in records if (one.fixture.first.name == "learner") == (seat == "first")]
        found[f"{seat}: % won"] = round(100 * mean(one.result == sign for one in played), 1)
        found[f"{seat}: plies"] = round(mean(len(one.positions()) - 1 for one in played), 1)
    return found
