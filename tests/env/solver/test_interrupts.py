"""Ctrl-C in searches, at any moment and any number of times: they end, and the solver can be used again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import playout

from tictac_env.games import GAMES
from tictac_env.position import Position
from tictac_env.solver import Solver

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts")

STRESS = """
import random, signal, sys, threading, time
from tictac_env.position import Position
from tictac_env.solver import Solver

def ring(number, frame):
    raise KeyboardInterrupt

seconds, threads, known = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
scores = {moves: int(score) for moves, score in (pair.split("=") for pair in known)}
hard, rng = Position.from_moves("ConnectFour-v0", "4"), random.Random(0)
solver = Solver(opening_book=False, threads=threads, table_megabytes=16)
table, sizes, interrupts = solver.engine.table, set(), 0
signal.signal(signal.SIGALRM, ring)
end = time.monotonic() + seconds
while time.monotonic() < end:
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 0.03), rng.uniform(2e-4, 4e-3))
        solver.score(hard)
    except KeyboardInterrupt:
        interrupts += 1
    while True:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            break
        except KeyboardInterrupt:
            continue
    sizes.add(table.log_buckets)
    moves = rng.choice(list(scores))
    found = solver.score(Position.from_moves("ConnectFour-v0", moves))
    if found != scores[moves]:
        sys.exit(f"{found} instead of {scores[moves]}: {moves}, after {interrupts} interrupted searches")
    if rng.random() < 0.1:
        solver.clear()
patience = time.monotonic() + 5
while threading.active_count() > 1 and time.monotonic() < patience:
    time.sleep(0.001)
print(interrupts, threading.active_count(), len(sizes))
"""


def known_scores(count: int) -> list[str]:
    """Positions that take some thousand nodes, with their scores."""
    solver, found, seed = Solver(opening_book=False), list[str](), 0
    while len(found) < count:
        position: Position = playout(GAMES["ConnectFour-v0"], seed, 14)[-1]
        seed += 1
        if not position.is_over:
            score = solver.score(position)
            if solver.nodes > 1_000:
                found.append(f"{position.to_moves()}={score}")
    return found


@pytest.mark.parametrize("threads", [2, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seconds", [0.5, pytest.param(60, marks=pytest.mark.slow)])
def test_a_search_after_interrupted_ones_is_right(seconds: float, threads: int) -> None:
    """A shower of interrupts in each search, in a process of its own: it used to crash."""
    root = Path(__file__).parents[3]
    path = os.pathsep.join((str(root), os.environ.get("PYTHONPATH", "")))
    done = subprocess.run(
        [sys.executable, "-c", STRESS, str(seconds), str(threads), *known_scores(10)],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    interrupts, running, sizes = map(int, done.stdout.split())
    assert running == 1, "threads are left over"
    assert interrupts > 3 * seconds
    assert sizes > 1 or seconds < 10, "the table never grew in a search that was interrupted"
