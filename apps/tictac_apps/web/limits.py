"""Server limits, in a module of their own so that the command line need not import the server."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ServerLimits:
    """The limits of a server.

    Attributes:
        body_bytes: the size of a request's body.
        rate: requests a second from one address, in the long run.
        burst: requests that one address may send at once.
        connections: connections that one address may hold: a class behind one router has a few for each visitor.
        read_seconds: the time in which a request must arrive.
        threads: the number of threads that play for opponents, and of those that search for exact values.
        waiting: requests that may wait for a thread; further requests are refused.
        move_seconds: the time of the perfect opponent for a move, waiting included. Outside its book it then plays the
            best move proven so far.
        exact_seconds: the time for the exact values of a position, waiting included.
        review_seconds: the time for the exact values of a whole game, waiting included.
        sizes: sizes of board that may be played, beyond the registered games: each has machine code of its own.
        simulations: simulations of tree search for a move.
        depth: plies of a minimax search.
        trainings: trainings that run at once; further ones wait.
        kept_trainings: trainings that are kept, running and waiting ones included.
        training_seconds: the time that a training may run.
        waits_unasked: seconds without a request after which a training leaves the queue. A page that is open but hidden
            sends one a minute, as browsers slow it down.
        forgotten_after: seconds after its last request until a training is forgotten.
        kept_agents: agents that are kept for a game.
        kept_agent_bytes: the size of a kept agent.
        kept_bytes: the size of all kept agents together.
        keeps_a_minute: agents that are kept for one address in a minute: a class behind one router has one address.
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
