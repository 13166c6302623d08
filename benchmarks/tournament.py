"""Every kind of agent on both games: trains the learners, judges all players exactly, and plays a round robin.

    python benchmarks/tournament.py                   # the quick setting, what `make bench` runs
    python benchmarks/tournament.py --full            # more agents, games, positions and seeds
    python benchmarks/tournament.py --no-deep         # without networks, so without torch
    python benchmarks/tournament.py --agents ConnectFour-v0 usual mine.npz mcts:4000

`--agents GAME PLAYER ...` says who plays a game: learners by name, whatever `load_player` accepts (names of policies,
files of agents, "module:name"), or "usual" for the usual players.

The folder of the results gets report.html, the page; results.json, its figures; and what a killed run continues from:
games.sqlite, trainings-runs.jsonl, audits-runs.jsonl, and agents, the files of trained learners.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

# Before torch is imported: networks this small are the fastest on one thread, and a process that is forked from one in
# which torch has several waits for ever.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium as gym
import numpy as np

import tictac_agents
import tictac_env
from benchmarks.records import RESULTS, parser_of, positive
from benchmarks.tournament_report import game_record, page, percent, rating_rows, training_text, truth_rows, truth_text
from tictac_agents.bench.records import RunStore, Settings, as_json, key_of, machine, show
from tictac_agents.deep.settings import tuned
from tictac_agents.settings import Settings as AgentSettings
from tictac_agents.settings import preset_settings, settings_of_class
from tictac_env.arena import Suite, Tournament, audit, ratings, round_robin, suite
from tictac_env.arena.auditing import REPORTING
from tictac_env.arena.play import entrant_of
from tictac_env.cli.arguments import add_workers, chosen_workers
from tictac_env.games import Game, get_game
from tictac_env.jobs import Workers
from tictac_env.policies import Player, load_player
from tictac_env.policies.pool import level_settings
from tictac_env.position_batch import PositionBatch
from tictac_env.storage import save_text

FOLDER = RESULTS / "tournament"
KEPT = ("games.sqlite", "trainings-runs.jsonl", "audits-runs.jsonl", "agents")
OPENING_PLIES = 2


TITLES = {"TicTacToe-v0": "Tic-tac-toe", "ConnectFour-v0": "Connect Four"}
"""The games of the tournament, and what to call them."""
QUICK = {
    "TicTacToe-v0": (
        *("random", "rule", "minimax:2", "level:5", "minimax", "mcts:100", "mcts:1000", "QLearning"),
        *("QLearning infallible", "Sarsa", "MonteCarlo", "ValueTD", "DQN", "MaskablePPO"),
    ),
    "ConnectFour-v0": (
        *("random", "level:2", "rule", "level:4", "minimax:4", "mcts:100", "mcts:1000", "level:9", "perfect"),
    ),
}
FULL = {
    "TicTacToe-v0": (*QUICK["TicTacToe-v0"], "level:3", "level:8", "QLearning self-play"),
    "ConnectFour-v0": (
        *("random", "rule", *(f"level:{number}" for number in range(2, 11)), "minimax:2", "minimax:4", "minimax:8"),
        "perfect",
    ),
}
DEEP = ("DQN", "MaskablePPO")
TABLES = {
    "QLearning": ("QLearning", "S2"),
    "QLearning infallible": ("QLearning", "infallible"),
    "QLearning self-play": ("QLearning", "self-play"),
    "MonteCarlo": ("MonteCarlo", "S3"),
    "ValueTD": ("ValueTD", "S3-improved"),
}
"""Learners with the settings of a preset."""
LEARNERS = {"TicTacToe-v0": (*TABLES, "Sarsa", *DEEP), "ConnectFour-v0": ()}
"""The names that stand for learners, for each game."""
WORTH_COMPILING = 8_000
"""Tables that learn from fewer games need no compiled loop."""
VERDICTS = 20
"""The points of a learning curve, unless a proof ends the training."""


@dataclass(frozen=True)
class Scale:
    """The amount of work on a game.

    Attributes:
        games: of a pair, the seats swapped after each.
        positions: of the reporting suite on which moves are judged.
        max_positions: followed for an exact result against perfect play; beyond that it is sampled.
        exact_games: games sampled then.
        seeds: trainings of each learner.
        shorter: the part of its usual training that a learner gets.
    """

    games: int
    positions: int
    max_positions: int
    exact_games: int
    seeds: int
    shorter: float = 1


QUICKLY = {
    "TicTacToe-v0": Scale(40, 10_000, 100_000, 10_000, 1),
    "ConnectFour-v0": Scale(20, 1_500, 1_000, 200, 1),
}
FULLY = {
    "TicTacToe-v0": Scale(144, 10_000, 100_000, 10_000, 5),
    "ConnectFour-v0": Scale(98, 10_000, 100_000, 10_000, 5),
}


def main() -> None:
    parser, options = parse_arguments()
    began, folder = time.monotonic(), options.output
    scales = {game: scale_of(game, options) for game in TITLES}
    if options.fresh:
        for name in KEPT:
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).unlink(missing_ok=True)
    agents = folder / "agents"
    agents.mkdir(parents=True, exist_ok=True)
    try:
        players = {game: entered(game, names, agents, scales[game], options.seed) for game, names in names_of(options)}
        networks = any(one.training and one.training.algorithm in DEEP for all_ in players.values() for one in all_)
        if networks and importlib.util.find_spec("sb3_contrib") is None:
            raise ValueError('networks need pip install "tictac-env[rl]"; without them: --no-deep')
    except (ValueError, FileNotFoundError) as error:
        parser.error(str(error))
    workers = chosen_workers(options)
    learned = trained(players, folder, workers)
    records = []
    for game, found in players.items():
        judged = audited(game, found, folder, scales[game], options.seed, workers)
        tournament = played(game, found, folder, scales[game].games, options.seed, workers)
        rules = {one.name: one_move_rule(load_player(one.source, game), get_game(game)) for one in found}
        record = game_record(TITLES[game], tournament, ratings(tournament), judged, learned, rules)
        records.append(record | {"settings": vars(scales[game])})
    settings = {"setting": "full" if options.full else "quick", "seed": options.seed, "opening_plies": OPENING_PLIES}
    content = {"schema": 1, "settings": settings, "machine": machine(), "games": records}
    save_text(folder / "results.json", as_json(content))
    save_text(folder / "report.html", page(content))
    for record in records:
        show(f"{record['title']}: ratings, {record['games']:,} games", rating_rows(record))
        show(f"{record['title']}: the exact truth, and mistakes on {record['suite']['name']}", truth_rows(record))
    print(f"{time.monotonic() - began:.0f} s. The report: {folder / 'report.html'}")


def entered(game: str, names: Sequence[str], agents: Path, scale: Scale, seed: int) -> list[Contestant]:
    """The contestants of a game; the errors are those of `contestants`."""
    return contestants(names, game, agents, range(seed, seed + scale.seeds), scale.shorter)


def trained(players: dict[str, list[Contestant]], folder: Path, workers: Workers) -> dict[str, dict[str, Any]]:
    """The trainings of the learners by their names; those that are not kept are done."""
    runs = RunStore(folder / "trainings-runs.jsonl")
    trainings = [one.training for found in players.values() for one in found if one.training]
    runs.remove([job for job in untrained(trainings, runs, folder / "agents") if job in runs])
    names = {str(one.job()): one.name for one in trainings}

    def tell(job: Settings, run: Any) -> None:
        reached = f", exploitability {run['curve'][-1]['value']:.3f}" if run["curve"] else ""
        print(f"{names[str(job)]}: {training_text(run)}{reached}", flush=True)

    jobs = [one.job() for one in trainings]
    # What takes longest first, so that no worker is left with it at the end.
    jobs.sort(key=lambda job: job["algorithm"] not in DEEP)
    runs.complete(jobs, partial(train, folder=folder / "agents"), workers, "trainings", tell)
    return {one.name: runs[one.job()] for one in trainings}


def audited(
    game: str, players: Sequence[Contestant], folder: Path, scale: Scale, seed: int, workers: Workers
) -> dict[str, dict[str, Any]]:
    """The audits of a game's players by their names; those that are not kept are made."""
    runs = RunStore(folder / "audits-runs.jsonl")
    sources = {one.name: str(one.source) for one in players}
    jobs = {one.name: audit_job(game, one, scale, seed) for one in players}

    def tell(job: Settings, found: Any) -> None:
        mistakes = next(m["value"] for m in found["measures"] if (m["name"], m["among"]) == ("mistakes", "all"))
        truth = ", ".join(f"as {seat} {truth_text(found, seat)}" for seat in ("first", "second"))
        print(f"{TITLES[game]}, {job['player']['name']}: {truth}; mistakes {percent(mistakes)} %", flush=True)

    hardest_first = sorted(jobs.values(), key=lambda job: "perfect" not in job["player"]["name"])
    runs.complete(hardest_first, partial(judge, sources=sources), workers, f"{TITLES[game]}: audits", tell)
    return {name: runs[job] for name, job in jobs.items()}


def audit_job(game: str, one: Contestant, scale: Scale, seed: int) -> dict[str, Any]:
    """The settings of an audit; the place of the player's file is no part of them."""
    who = entrant_of(load_player(one.source, game), one.name)
    player = {"name": who.name, "settings": json.loads(who.settings), "checkpoint": who.checkpoint}
    limits = {name: getattr(scale, name) for name in ("positions", "max_positions", "exact_games")}
    version = {"sha256": suite(REPORTING[game]).sha256, "version": tictac_env.__version__}
    return {"player": player, "game": game, "seed": seed} | limits | version


def judge(job: Settings, sources: dict[str, str]) -> dict[str, Any]:
    """The audit of a player, as JSON has it."""
    limits = {name: job[name] for name in ("seed", "max_positions", "exact_games")}
    scored = part_of(suite(REPORTING[job["game"]]), job["positions"])
    found = audit(sources[job["player"]["name"]], job["game"], scored, progress=False, **limits)
    content: dict[str, Any] = json.loads(found.to_json())
    return content


def part_of(whole: Suite, count: int) -> Suite:
    """Some positions of a suite, evenly spread over it; the suite itself if it has no more."""
    if len(whole) <= count:
        return whole
    rows = np.linspace(0, len(whole) - 1, count).round().astype(np.int64)
    some = PositionBatch(whole.game, whole.positions.own[rows], whole.positions.opp[rows])
    return Suite(f"{count:,} of {whole.name}", some, whole.scores[rows])


def played(
    game: str, players: Sequence[Contestant], folder: Path, games: int, seed: int, workers: Workers
) -> Tournament:
    """The tournament of a game, played by all workers."""
    sources = {one.name: str(one.source) for one in players}
    began, store = time.monotonic(), folder / "games.sqlite"
    tournament = round_robin(
        sources, game, games, seed, progress=True, openings=OPENING_PLIES, store=store, workers=workers
    )
    print(f"{TITLES[game]}: {len(tournament.games):,} games in {time.monotonic() - began:.1f} s", flush=True)
    return tournament


@dataclass(frozen=True)
class Training:
    """A learner to be trained.

    Attributes:
        name: in tables.
        algorithm: its class in `tictac_agents`.
        settings: of the learner.
        seed: makes the training reproducible.
    """

    name: str
    algorithm: str
    settings: AgentSettings
    seed: int

    def job(self) -> dict[str, Any]:
        """The settings that identify this training."""
        kept: dict[str, Any] = json.loads(json.dumps(self.settings.to_dict()))
        version = {"version": tictac_env.__version__}
        return {"algorithm": self.algorithm, "seed": self.seed, "settings": kept} | version

    @property
    def file(self) -> str:
        """The name of its file, which the settings tell."""
        digest = hashlib.sha256(key_of(self.job()).encode()).hexdigest()[:10]
        return f"{self.algorithm}-{self.seed}-{digest}.{'zip' if self.algorithm in DEEP else 'npz'}"


@dataclass(frozen=True)
class Contestant:
    """One that plays: under which name, and what `load_player` is to make it of or which training makes it."""

    name: str
    source: Any
    training: Training | None = None


def contestants(
    names: Sequence[str], game: str, folder: Path, seeds: Sequence[int] = (0,), shorter: float = 1
) -> list[Contestant]:
    """The contestants of these names.

    Args:
        names: of learners (see `LEARNERS`), or whatever `load_player` accepts as a string.
        game: the game's name.
        folder: where the files of trained agents are.
        seeds: a learner is trained with each of them.
        shorter: the part of its usual training that a learner gets.

    Raises:
        ValueError: one does not play, or two have the same name.
        FileNotFoundError: one is a file that is not there.
    """
    found: list[Contestant] = []
    for name in names:
        if name in LEARNERS[game]:
            for seed in seeds:
                label = name if len(seeds) == 1 else f"{name}, seed {seed}"
                training = Training(label, *_settings(name, game, shorter), seed)
                found.append(Contestant(label, folder / training.file, training))
        else:
            player = load_player(name, game)
            found.append(Contestant(player.name if player.kind == "file" else name, name))
    labels = [one.name for one in found]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise ValueError(f"two players of {game} are called {twice[0]!r}")
    return found


def train(job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Trains a learner and keeps its file; returns how long it learned, and the learning curve."""
    algorithm = job["algorithm"]
    made = getattr(tictac_agents, algorithm)
    of_class = type(tuned(algorithm)) if algorithm in DEEP else settings_of_class(made)
    training = Training("", algorithm, of_class.from_dict(job["settings"]), job["seed"])
    agent, curve = (_train_network if algorithm in DEEP else _train_table)(made, training)
    agent.save(folder / training.file)
    games = getattr(agent, "num_episodes", None)
    return {"steps": agent.num_timesteps, "games": games, "measure": "exploitability", "curve": curve}


def untrained(trainings: Sequence[Training], runs: RunStore, folder: Path) -> list[dict[str, Any]]:
    """The jobs of those that have no run yet, or whose file is gone."""
    return [one.job() for one in trainings if one.job() not in runs or not (folder / one.file).exists()]


def one_move_rule(player: Player, game: Game) -> str:
    """The rule by which a player wins at once or stops such a win: "on", "in rollouts", "off" or "not stated"."""
    budget = player.budget
    if player.agent == "Level":
        setting = level_settings(game)[int(player.name.partition(":")[2]) - 1]
        budget = load_player(setting.policy, game).budget
    if "one-move rule in rollouts" in budget:
        return "in rollouts"
    if budget == "not stated" and player.kind != "name":
        return "not stated"
    return "on" if "one-move rule" in budget else "off"


def without_networks(names: Sequence[str]) -> list[str]:
    """The names of those that need no torch."""
    return [name for name in names if name not in DEEP and not name.endswith(".zip")]


def _settings(name: str, game: str, shorter: float) -> tuple[str, AgentSettings]:
    """The algorithm and the settings of a learner's name."""
    if name in DEEP:
        settings: Any = tuned(name, game)
        return name, settings.changed(total_timesteps=max(1, round(shorter * settings.total_timesteps)))
    algorithm, preset = TABLES.get(name, (name, ""))
    learner = getattr(tictac_agents, algorithm)
    settings = preset_settings(learner, preset) if preset else settings_of_class(learner)(game=game)
    return algorithm, settings.changed(total_episodes=max(1, round(shorter * settings.total_episodes)))


def _train_table(made: Any, training: Training) -> tuple[Any, list[dict[str, Any]]]:
    settings: Any = training.settings
    env = gym.make(settings.game, **settings.env_keywords())
    curve = tictac_agents.LearningCurve(max(1, settings.total_episodes // VERDICTS))
    learner = made(env, seed=training.seed, **settings.keywords())
    if settings.total_episodes >= WORTH_COMPILING:
        learner.compile()  # beforehand, so that no compiling is in the curve
    learner.learn(total_episodes=settings.total_episodes, callback=curve, progress_bar=False)
    points = [
        {"cpu_seconds": round(row["seconds"], 4), "steps": row["timesteps"], "games": row["episodes"]}
        | {"value": row["exploitability"]}
        for row in curve.rows
    ]
    return learner, points


def _train_network(made: Any, training: Training) -> tuple[Any, list[dict[str, Any]]]:
    """Trains a network until it is proven unbeatable, at most for so long as its settings say."""
    import torch

    torch.set_num_threads(1)  # the fastest for networks this small
    settings: Any = training.settings
    exact = tictac_agents.ExactEvalCallback(max(1, settings.total_timesteps // VERDICTS), stop_when_proven=True)
    model = made.from_settings(settings, training.seed, "cpu")
    model.learn(settings.total_timesteps, exact)
    points = [
        {"cpu_seconds": round(one.cpu_seconds, 4), "steps": one.num_timesteps, "games": None}
        | {"value": one.verdict.exploitability if one.verdict else None}
        for one in exact.judgements
    ]
    return model, points


def names_of(options: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """The players of each game.

    Raises:
        ValueError: `--agents` names no game of the tournament.
    """
    usual = FULL if options.full else QUICK
    named: dict[str, list[str]] = {game: list(names) for game, names in usual.items()}
    for game, *names in options.agents:
        if game not in TITLES:
            raise ValueError(f"--agents: there is no game {game!r}; there are {', '.join(TITLES)}")
        named[game] = [one for name in names for one in (usual[game] if name == "usual" else [name])]
    if options.no_deep:
        named = {game: without_networks(names) for game, names in named.items()}
    return list(named.items())


def scale_of(game: str, options: argparse.Namespace) -> Scale:
    """The amount of work on a game: the setting, with the changes of other options."""
    given = {name: getattr(options, name) for name in ("games", "positions", "seeds", "shorter")}
    return replace((FULLY if options.full else QUICKLY)[game], **{k: v for k, v in given.items() if v is not None})


def parse_arguments() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = parser_of(__doc__)
    parser.epilog = "learners: " + "; ".join(f"{game}: {', '.join(names)}" for game, names in LEARNERS.items() if names)
    parser.add_argument("--full", action="store_true", help="the full setting: an hour or more")
    parser.add_argument("--no-deep", action="store_true", help="leave out what needs torch")
    parser.add_argument("--agents", nargs="+", action="append", default=[], metavar="GAME PLAYER", help="who plays")
    parser.add_argument("--games", type=positive, help="games a pair plays")
    parser.add_argument("--positions", type=positive, help="positions of the reporting suite to judge moves on")
    parser.add_argument("--seeds", type=positive, help="how many times each learner is trained")
    parser.add_argument("--shorter", type=float, metavar="PART", help="the part of its training that a learner gets")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: %(default)s)")
    add_workers(parser, min(2, os.cpu_count() or 1))
    parser.add_argument("--fresh", action="store_true", help="delete what is kept, and begin again")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder for the results (default: %(default)s)")
    return parser, parser.parse_args()


if __name__ == "__main__":
    main()
