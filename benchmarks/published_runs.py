"""One run of a published learner, or of one of ours that answers it: trained, timed, judged by the exact verdict."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import tictac_agents
from benchmarks.fitted_runs import mistakes, run_fitted
from benchmarks.published import DRAWN, OVER_80, SYSTEMS, UNLOST, Case
from benchmarks.report import processor_features
from benchmarks.run_store import Settings
from tictac_agents import MCTS, GameTree, S2Network, UntilProven, ValueTD
from tictac_agents.deep.settings import preset as deep_preset
from tictac_agents.tabular.learner import Learner
from tictac_env.arena import SeatVerdict, play_match, verdict
from tictac_env.policies import Policy, make_policy
from tictac_env.position import Position
from tictac_env.symmetry import canonical

NETWORKS = ("DQN", "FittedQ", "S2Network")
"""What gives the same figures on the same processor only."""

Run = dict[str, Any]
"""The figures of one seed."""
CLAIMS: dict[str, Callable[[Run], bool]] = {
    "unbeatable": lambda found: bool(found["infallible"]),
    "beatable": lambda found: not found["infallible"],
    UNLOST: lambda found: lost_to_minimax(found) == 0,
    DRAWN: lambda found: bool(found["draws itself"]),
    OVER_80: lambda found: min(found[f"{seat}: v random"][0] for seat in ("first", "second")) > 0.8,
}
"""What sources say of their learners: whether it is true of a run."""


def settings_of(case: Case, seed: int) -> Settings:
    """All that decides a run of a case, its preset's settings too."""
    kind, name, *_ = case.run.split(":")
    preset: Any
    if kind == "DQN":
        preset = deep_preset(kind, name).to_dict()
    else:
        preset = getattr(getattr(tictac_agents, kind, None), "PRESETS", {}).get(name, {})
        preset = preset._asdict() if hasattr(preset, "_asdict") else preset
    named = {"system": case.system, "learner": case.name, "run": case.run, "until_proven": [case.until_proven, 0]}
    settings: Settings = json.loads(json.dumps({**named, "preset": preset, "seed": seed}))
    return settings


def is_drawn(case: Case) -> bool:
    """Whether the seed matters."""
    return not case.run.startswith(("policy:", "ValueIteration:"))


def run(settings: Settings) -> Run:
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
        games, positions = 2 * S2Network.PRESETS[name]["games_a_seat"], 0
        policy = S2Network.preset(name, seed).learn(games, progress_bar=False)
    elif kind == "ValueIteration":
        policy, games, positions = getattr(tictac_agents, kind).preset(name).learn(), 0, 0
    else:
        learner: Learner = getattr(tictac_agents, kind).preset(name, seed=seed)
        games = int(rest[0]) if rest else learner.PRESETS[name].episodes
        proof = UntilProven(case.until_proven) if case.until_proven else None
        learner.learn(total_episodes=games, callback=proof, progress_bar=False)
        policy, games, positions = learner, learner.num_episodes, positions_of(learner)
    spent = time.process_time() - began
    found = verdict(policy, "TicTacToe-v0", seed)
    return {
        "seed": seed,
        "games": games,
        "CPU-s": round(spent, 2),
        "positions of 627": positions,
        "exploitability": found.exploitability,
        "infallible": found.infallible,
        **seat_figures("first", found.as_first),
        **seat_figures("second", found.as_second),
        **(training_figures(policy) if isinstance(policy, ValueTD) else {}),
        **({"processor": processor_features()} if kind in NETWORKS else {}),
    }


def training_figures(learner: ValueTD) -> Run:
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
    """A preset of `DQN` after its run, and how many games that was."""
    import torch

    torch.set_num_threads(1)
    model = tictac_agents.DQN.preset(name, seed, "cpu")
    model.learn(model.settings.total_timesteps)
    return tictac_agents.ModelPolicy(model), model._episode_num


def run_tree(game: str, games: int, seed: int) -> Run:
    """Grows S4's tree; on Connect Four its results are sampled, 1,000 games a seat."""
    GameTree(game, seed=seed).learn(5_000, progress_bar=False)  # compiled
    tree = GameTree(game, seed=seed)
    began = time.process_time()
    tree.learn(games, progress_bar=False)
    spent = time.process_time() - began
    found = play_match(tree, "random", game=game, games=2_000, seed=seed)
    seats = {"first": found.as_first, "second": found.as_second}
    return {
        "seed": seed,
        "games": games,
        "CPU-s": round(spent, 2),
        "positions of 627": 0,
        "exploitability": None,
        "infallible": None,
        **{
            f"{seat}: v random": (won.wins / won.games, won.draws / won.games, won.losses / won.games)
            for seat, won in seats.items()
        },
        "games/s": round(games / spent),
        "bytes a node": round(tree.nbytes / len(tree), 1),
        "mistakes": mistakes(tree),
    }


def seat_figures(seat: str, found: SeatVerdict) -> Run:
    return {
        f"{seat}: v random": tuple(found.against_random),
        f"{seat}: v minimax": tuple(found.against_best),
        f"{seat}: v minimax-first": tuple(found.against_first_best),
        f"{seat}: plies to win": round(found.plies_to_win, 3),
        f"{seat}: beaten by": found.losing_line or "",
    }


def positions_of(learner: Any) -> int:
    """How many of the 627 unfinished positions, up to symmetry, the learner has met as the side to move."""
    if isinstance(learner, ValueTD):
        keys = {key for seat, table in enumerate(learner.tables) for key in table if learner.game.seat(*key) == seat}
    else:
        keys = {(own, opp) for own, opp, _ in learner.positions.tolist()}
    folded = {canonical(learner.game, own, opp)[:2] for own, opp in keys}
    met = (Position(learner.game, own, opp) for own, opp in folded if not learner.game.status(own, opp))
    return sum(not position.is_over for position in met)
