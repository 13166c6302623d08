"""Who plays in the tournament: players by name, learners that are trained for it, and files of agents.

A learner is trained once for its settings and seed. Its file lies in a folder, and its run, with the learning curve, in
a `RunStore`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym

import tictac_agents
import tictac_env
from benchmarks.run_store import RunStore, key_of
from tictac_agents.deep.settings import tuned
from tictac_agents.settings import Settings
from tictac_agents.tabular.settings import preset_settings, tabular_settings
from tictac_env.games import Game
from tictac_env.policies import Player, load_player
from tictac_env.policies.pool import level_settings

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
"""How many points a learning curve has, if the training is not ended by a proof."""


@dataclass(frozen=True)
class Training:
    """A learner to be trained.

    Attributes:
        name: what tables call it.
        algorithm: its class in `tictac_agents`.
        settings: all it is made with.
        seed: makes the training reproducible.
    """

    name: str
    algorithm: str
    settings: Settings
    seed: int

    def job(self) -> dict[str, Any]:
        """What tells this training from all others."""
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
    of_class = type(tuned(algorithm)) if algorithm in DEEP else tabular_settings(made)
    training = Training("", algorithm, of_class.from_dict(job["settings"]), job["seed"])
    agent, curve = (_train_network if algorithm in DEEP else _train_table)(made, training)
    agent.save(folder / training.file)
    games = getattr(agent, "num_episodes", None)
    return {"steps": agent.num_timesteps, "games": games, "measure": "exploitability", "curve": curve}


def untrained(trainings: Sequence[Training], runs: RunStore, folder: Path) -> list[dict[str, Any]]:
    """The jobs of those that have no run yet, or whose file is gone."""
    return [one.job() for one in trainings if one.job() not in runs or not (folder / one.file).exists()]


def one_move_rule(player: Player, game: Game) -> str:
    """Whether a rule makes a player win at once, else stop such a win: "on", "in rollouts", "off" or "not stated"."""
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


def _settings(name: str, game: str, shorter: float) -> tuple[str, Settings]:
    """The algorithm and the settings that a learner's name stands for."""
    if name in DEEP:
        settings: Any = tuned(name, game)
        return name, settings.changed(total_timesteps=max(1, round(shorter * settings.total_timesteps)))
    algorithm, preset = TABLES.get(name, (name, ""))
    learner = getattr(tictac_agents, algorithm)
    settings = preset_settings(learner, preset) if preset else tabular_settings(learner)(game=game)
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
