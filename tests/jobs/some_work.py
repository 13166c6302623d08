"""Work for workers, in a module of its own so that they can import it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import tictac_agents
from tictac_env.arena import verdict


def squared(job: int) -> int:
    return job * job


def told(job: float) -> int:
    """Which process did it, after so many seconds."""
    time.sleep(job)
    return os.getpid()


def refused_from_five(job: int) -> int:
    if job >= 5:
        raise ArithmeticError(f"{job} is too much")
    return job


class Fatal:
    """Kills its worker so many times, at one of the jobs; a file a kill, as workers remember nothing."""

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
    """A learner's curve and verdict, which its seed decides; it takes so many seconds at least."""
    learner = getattr(tictac_agents, settings["agent"])("TicTacToe-v0", seed=settings["seed"])
    learner.learn(total_episodes=2_000, progress_bar=False)
    time.sleep(seconds)
    found = verdict(learner)
    return {"seats": [str(found.as_first), str(found.as_second)]}
