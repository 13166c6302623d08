"""What one server and one request may use."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a server.

    Attributes:
        body_bytes: the most that a request may send.
        rate: requests a second from one address, in the long run.
        burst: how many of them may come at once.
        threads: how many threads answer for opponents, and as many again search for exact values.
        waiting: how many requests may wait for a thread; those beyond are refused.
        move_seconds: the time of the perfect opponent for a move, waiting included. Outside its book it then plays the
            best move proven so far.
        exact_seconds: the time for the exact values of a position, waiting included.
        review_seconds: the time for those of a whole game.
        sizes: how many sizes of board, beyond the registered games, may be played: each has machine code of its own.
        simulations: the most that tree search may run for a move.
        depth: how deep minimax may search.
        trainings: how many trainings may run at once.
        kept_trainings: how many are kept, running ones included.
        training_seconds: how long one may run.
        forgotten_after: how many seconds after it was last asked for a training is forgotten.
    """

    body_bytes: int = 16_384
    rate: float = 60.0
    burst: int = 240
    threads: int = max(2, os.cpu_count() or 1)
    waiting: int = 128
    move_seconds: float = 2.0
    exact_seconds: float = 3.0
    review_seconds: float = 6.0
    sizes: int = 12
    simulations: int = 100_000
    depth: int = 10
    trainings: int = 2
    kept_trainings: int = 32
    training_seconds: float = 900.0
    forgotten_after: float = 3600.0
