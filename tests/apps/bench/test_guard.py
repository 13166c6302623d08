"""A player under guard: its moves have a time, it is loaded in each process, and it ends no process but its own."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tictac_apps.bench import guard
from tictac_apps.bench.guard import Guarded, TooSlow, guarded
from tictac_env.games import GAMES
from tictac_env.policies import Policy, load_player
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

TTT = GAMES["TicTacToe-v0"]
START = Position.start(TTT)
BOTS = "def lowest(observation, mask):\n    return int(mask.argmax())\n"


class Thinker(Policy):
    """Plays the lowest action, for which it needs `seconds`."""

    name = "thinker"

    def __init__(self, clock: Clock) -> None:
        self.clock, self.seconds, self.moves = clock, 0.0, 0
        self.batched = True

    def act(self, position: Position, seed: int) -> int:
        self.clock.now += self.seconds
        self.moves += 1
        return position.legal_actions[0]

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.array([self.act(batch[i], 0) for i in range(len(batch))])


class Clock:
    now = 100.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(guard, "time", SimpleNamespace(monotonic=lambda: found.now, sleep=lambda seconds: None))
    return found


def thinker(clock: Clock, time_limit: float = 2.0) -> tuple[Thinker, Guarded]:
    policy = Thinker(clock)
    return policy, Guarded(load_player(policy, TTT), "unused", TTT, time_limit, os.getpid())


def test_after_three_moves_that_took_too_long_no_other_is_asked_for(clock: Clock) -> None:
    policy, player = thinker(clock)
    for policy.seconds in (2.0, 2.5, 1.0, 2.0, 9.0, 2.01):  # exactly its time is not too long
        assert player.act(START, 0) == 0
    with pytest.raises(TooSlow, match="thinker took more than 2 s for a move 3 times"):
        player.act(START, 0)
    assert policy.moves == 6


def test_positions_that_are_asked_together_have_their_time_together(clock: Clock) -> None:
    policy, player = thinker(clock)
    batch, seeds = PositionBatch.of([START] * 5), np.zeros(5, np.int64)
    for policy.seconds in (2.0, 2.1, 2.1, 2.1):
        assert player.act_many(batch, seeds).tolist() == [0] * 5
    with pytest.raises(TooSlow):
        player.act_many(batch, seeds)
    policy, _ = thinker(clock)
    policy.batched, policy.seconds = False, 2.1
    with pytest.raises(TooSlow):  # then each has its own
        Guarded(load_player(policy, TTT), "unused", TTT, 2.0, os.getpid()).act_many(batch, seeds)
    assert policy.moves == 3


def test_a_worker_ends_in_failure_once_a_move_took_three_times_its_time(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code outside Python is not interrupted. In the program's own process nothing ends."""
    timers: list[Any] = []
    timer = SimpleNamespace(
        dump_traceback_later=lambda seconds, exit: timers.append((seconds, exit)),
        cancel_dump_traceback_later=lambda: timers.append("cancelled"),
    )
    monkeypatch.setattr(guard, "faulthandler", timer)
    policy, player = thinker(clock)
    player.act(START, 0)
    assert timers == []
    worker = Guarded(load_player(policy, TTT), "unused", TTT, 2.0, program=-1)  # as in another process
    worker.act(START, 0)
    worker.act_many(PositionBatch.of([START] * 4), np.zeros(4, np.int64))
    assert timers == [(6.0, True), "cancelled", (24.0, True), "cancelled"]


def test_a_players_file_is_loaded_in_each_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bots.py").write_text(BOTS)
    player = guarded("bots.py:lowest", "mine", TTT, 2.5, os.getpid(), tmp_path / "log.txt")
    assert (player.name, player.policy.name) == ("mine", "mine")
    policy: Any = player.policy
    policy._strikes = 3
    copied = pickle.loads(pickle.dumps(policy))
    assert copied._loaded is None and copied.clock is None
    assert (copied.name, copied.time_limit, copied.budget) == ("mine", 2.5, policy.budget)
    assert copied.act(START, 0) == 0 and copied._loaded is not None  # the strikes were those of the other process


def test_what_a_player_prints_is_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("talkers.py").write_text("print('loaded')\n" + BOTS.replace("return", "print('thinking')\n    return"))
    player = guarded("talkers.py:lowest", "mine", TTT, 2.5, os.getpid(), tmp_path / "log.txt")
    assert player.policy.act(START, 0) == 0
    assert capsys.readouterr().out == "" and Path("log.txt").read_text() == "loaded\nthinking\n"
