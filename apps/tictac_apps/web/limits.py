"""The limits of a server, apart from what it is made with, so that the command line need not import that."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ServerLimits:
    """The limits of a server.

    Attributes:
        body_bytes: the most that a request may send.
        rate: requests a second from one address, in the long run.
        burst: how many of them may come at once.
        connections: how many connections one address may hold: a class behind one router has a few for each visitor.
        read_seconds: how long a request may take to arrive.
        threads: the number of threads that answer for opponents, and of those that search for exact values.
        waiting: how many requests may wait for a thread; those beyond are refused.
        move_seconds: the time of the perfect opponent for a move, waiting included. Outside its book it then plays the
            best move proven so far.
        exact_seconds: the time for the exact values of a position, waiting included.
        review_seconds: the time for those of a whole game.
        sizes: how many sizes of board, beyond the registered games, may be played: each has machine code of its own.
        simulations: the most that tree search may run for a move.
        depth: how deep minimax may search.
        trainings: how many trainings may run at once; further ones wait.
        kept_trainings: how many are kept, running and waiting ones included.
        training_seconds: how long one may run.
        waits_unasked: after how many seconds without a question a training leaves the queue. A page that is open but
            hidden asks once a minute, as browsers slow it down.
        forgotten_after: how many seconds after it was last asked for a training is forgotten.
        kept_agents: how many agents are kept for a game.
        kept_agent_bytes: how large each may be.
        kept_bytes: how large all of them together.
        keeps_a_minute: how many are kept for one address in a minute: a class behind one router has one.
    """

    body_bytes: int = 16_384
    rate: float = 60.0
    burst: int = 240
    connections: int = 200
    read_seconds: float = 10.0
    threads: int = max(2, os.cpu_count() or 1)
    waiting: int = 128
    move_seconds: float = 2.0
    exact_seconds: float = 3.0
    review_seconds: float = 6.0
    sizes: int = 12
    simulations: int = 100_000
    depth: int = 10
    trainings: int = 2
    kept_trainings: int = 64
    training_seconds: float = 900.0
    waits_unasked: float = 75.0
    forgotten_after: float = 3600.0
    kept_agents: int = 1000
    kept_agent_bytes: int = 64 << 20
    kept_bytes: int = 4 << 30
    keeps_a_minute: int = 30
