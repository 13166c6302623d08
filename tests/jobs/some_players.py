"""Players for workers, in a module of its own so that they can import it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.arena import Tournament, round_robin
from tictac_env.policies import BatchedPolicy

Mask = npt.NDArray[np.int8]
PLAYERS = ("random", "rule", "minimax:2")


def network(planes: Any, masks: Any) -> Any:
    return masks.argmax(axis=1)


def raising(observation: Any, mask: Mask) -> int:
    if mask.sum() < 6:
        raise ZeroDivisionError("a bug")
    return int(mask.argmax())


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


def entered(file: Path, slowly: float = 0) -> dict[str, Any]:
    """All kinds: names, functions, a player that draws, one that is asked for many boards, one that is killed."""
    ours = {"net": BatchedPolicy(network), "raising": raising, "deadly": Deadly(file, slowly)}
    return {**{name: name for name in PLAYERS}, **ours}


def play(file: Path, games: int = 24, slowly: float = 0, **how: Any) -> Tournament:
    """A tournament of all these players, one of whom may take so many seconds for each move."""
    return round_robin(entered(file, slowly), "ConnectFour-v0", games, seed=5, openings=2, **how)


def timeless(records: Any) -> list[tuple[Any, ...]]:
    """Games without the times, and without where the file is that a player writes."""
    return [(*told(record.fixture), record.moves, record.result, record.forfeit) for record in records]


def told(fixture: Any) -> tuple[Any, ...]:
    return (fixture.first.name, fixture.second.name, fixture.opening, fixture.round, fixture.state)
