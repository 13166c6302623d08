"""A long run of a tool is kept in files as it goes, what was learned and what was found, so that it can be stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents import NTupleTD
from tictac_env.policies import Policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.solver import Solver
from tictac_env.solver.perfect import Perfect
from tictac_env.storage import load_arrays, save_arrays, save_text


class Files(NamedTuple):
    """Where a run is kept, and how fast it goes."""

    folder: Path
    name: str
    """That of its files, less the number of the round and the suffix."""
    threads: int = 1


def learned(agent: NTupleTD, games: int, files: Files, number: int) -> NTupleTD:
    """An agent after so many games more, or the one of a checkpoint that has already begun to play them."""
    checkpoint = files.folder / f"{files.name}-{number}.npz"
    if checkpoint.exists():
        agent = NTupleTD.load(checkpoint)
    agent.threads = files.threads
    if checkpoint.exists():
        agent.resume(checkpoint=checkpoint)
    else:
        agent.learn(games, checkpoint=checkpoint)
    if not agent.is_done:
        raise SystemExit("stopped; the same command goes on from here")
    return agent


def kept(files: Files, name: str, make: Callable[[], Any]) -> Any:
    """What is made once, and from then on read from a file of that name."""
    file = files.folder / f"{files.name}-{name}.json"
    if not file.exists():
        save_text(file, json.dumps(make()))
    return json.loads(file.read_text(encoding="utf-8"))


class Answers:
    """What was answered about batches of positions: a batch that comes again is not asked about again.

    Args:
        folder: a file for each batch, for one player.
    """

    KIND = "answers about a batch of positions"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    def about(self, batch: PositionBatch, ask: Callable[[PositionBatch], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """The answer of `ask`, int8 (B, ...)."""
        digest = hashlib.blake2b(batch.own.tobytes() + batch.opp.tobytes(), digest_size=16)
        file = self.folder / f"{digest.hexdigest()}.npz"
        if not file.exists():
            save_arrays(file, self.KIND, {}, {"answer": ask(batch).astype(np.int8)})
        return load_arrays(file, self.KIND)[1]["answer"]


class Remembered(Policy):
    """A fixed map that keeps its moves."""

    def __init__(self, policy: Policy, folder: Path) -> None:
        self.policy, self.answers = policy, Answers(folder)

    def act(self, position: Position, seed: int) -> int:
        return self.policy.act(position, seed)

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return self.answers.about(batch, lambda asked: self.policy.act_many(asked, seeds)).astype(np.int64)


class PerfectRemembered(Perfect):
    """The perfect player, which keeps what the best moves are: with any rate of errors these are the same."""

    def __init__(self, error: float, solver: Solver, folder: Path) -> None:
        super().__init__(error, solver=solver)
        self.answers = Answers(folder)

    def best_masks(self, batch: PositionBatch) -> npt.NDArray[np.bool_]:
        return self.answers.about(batch, super().best_masks) != 0
