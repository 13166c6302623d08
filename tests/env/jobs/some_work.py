"""Work and players for workers, in a module of its own so that they can import it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tictac_agents
from tictac_env.arena import Tournament, round_robin, verdict
from tictac_env.policies import BatchedPolicy

Mask = npt.NDArray[np.int8]


def squared(job: int) -> int:
    return job * job


def process_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def refused_from_five(job: int) -> int:
    if job >= 5:
        raise ArithmeticError(f"{job} is too much")
    return job


class Fatal:
    """Kills its worker a few times, at one of the jobs; a file a kill, as workers remember nothing."""

    def __init__(self, folder: Path, at: int, times: int) -> None:
        self.folder, self.at, self.times = folder, at, times

    def __call__(self, job: int) -> int:
        killed = len(list(self.folder.glob("killed *")))
        if job == self.at and killed < self.times:
            (self.folder / f"killed {killed}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        (self.folder / f"done {job} by {os.getpid()}").touch()
        return job * job


class Loading:
    """Loads once in each worker, and says so in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loaded: Any = None

    def __call__(self, job: int) -> int:
        if self.loaded is None:
            self.loaded = True
            with (self.folder / str(os.getpid())).open("a") as file:
                file.write("loaded\n")
        return job


def trained(settings: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The verdict on a learner, which its seed decides; it takes this long at least."""
    learner = getattr(tictac_agents, settings["agent"])("TicTacToe-v0", seed=settings["seed"])
    learner.learn(total_episodes=2_000, progress_bar=False)
    time.sleep(seconds)
    found = verdict(learner)
    return {"seats": [str(found.as_first), str(found.as_second)]}


def network(planes: Any, masks: Any) -> Any:
    return masks.argmax(axis=1)


def raising(observation: Any, mask: Mask) -> int:
    if mask.sum() < 6:
        raise ZeroDivisionError("a bug")
    return int(mask.argmax())


def raising_at_once(observation: Any, mask: Mask) -> int:
    raise ZeroDivisionError("a bug")


class Deadly:
    """Plays the first legal action; once it kills its process instead, and leaves a file that says so."""

    def __init__(self, file: Path, seconds: float = 0) -> None:
        self.file = file
        self.seconds = seconds

    def __call__(self, observation: Any, mask: Mask) -> int:
        time.sleep(self.seconds)
        if mask.sum() < 7 and not self.file.exists():
            self.file.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return int(mask.argmax())


def play(file: Path, slowly: float = 0, **how: Any) -> Tournament:
    """A tournament of all kinds: names, functions, a player that draws, one asked for many boards, one killed."""
    players = {name: name for name in ("random", "rule")}
    ours = {"net": BatchedPolicy(network), "raising": raising, "deadly": Deadly(file, slowly)}
    return round_robin({**players, **ours}, "ConnectFour-v0", 12, seed=5, openings=2, **how)


def timeless(records: Any) -> list[tuple[Any, ...]]:
    """Games without the times, and without the path of the file that a player writes."""
    return [
        (one._replace(first=one.first.name, second=one.second.name), record.moves, record.result, record.forfeit)
        for record in records
        for one in [record.fixture]
    ]
