"""Work in the background: it ends with its caller's waiting, one job at a time, whenever an interrupt comes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import pytest

from tictac_env import progress as background
from tictac_env.progress import Background


class Diary:
    """Jobs that write down when they run, and notice if another one does."""

    def __init__(self) -> None:
        self.running = 0
        self.most_running = 0
        self.ended = 0

    def job(self, steps: int) -> Generator[int]:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            for step in range(steps):
                time.sleep(0.0005)
                yield step
        finally:
            time.sleep(0.001)
            self.ended += 1
            self.running -= 1


def interrupted(use: Callable[[], object], line: int) -> bool:
    """Interrupts `use` at the `line`-th line of `background.py` it comes to; False if it never comes to so many."""
    passed = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal passed
        if frame.f_code.co_filename != background.__file__:
            return None
        passed += event == "line"
        if event == "line" and passed == line:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        use()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_a_job_tells_its_caller_everything_where_it_waits() -> None:
    told: list[tuple[int, threading.Thread]] = []
    Background().run(Diary().job(5), lambda step: told.append((step, threading.current_thread())))
    assert told == [(step, threading.current_thread()) for step in range(5)]


def test_an_interrupt_at_any_line_leaves_nothing_that_disturbs_the_next_job() -> None:
    line, diary, jobs = 0, Diary(), Background()
    while interrupted(lambda: jobs.run(diary.job(4), lambda step: None), line := line + 1):
        told: list[int] = []
        jobs.run(diary.job(3), told.append)
        assert told == [0, 1, 2]
        assert diary.most_running == 1
    assert line > 10
    jobs.wait()
    assert diary.running == 0


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_job_has_ended_when_what_interrupts_its_caller_is_raised(error: type[BaseException]) -> None:
    diary, jobs = Diary(), Background()

    def tell(step: int) -> None:
        if step == 2:
            raise error("enough")

    with pytest.raises(error, match="enough"):
        jobs.run(diary.job(1_000_000), tell)
    assert (diary.ended, diary.running) == (1, 0)


def test_a_second_interrupt_waits_for_the_end_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    diary, jobs, naps = Diary(), Background(), [KeyboardInterrupt("second"), KeyboardInterrupt("third")]

    class Restless:
        @staticmethod
        def sleep(seconds: float) -> None:
            if naps:
                raise naps.pop(0)
            time.sleep(seconds)

    def tell(step: int) -> None:
        monkeypatch.setattr(background, "time", Restless)
        raise KeyboardInterrupt("first")

    with pytest.raises(KeyboardInterrupt, match="third"):
        jobs.run(diary.job(1_000_000), tell)
    assert not naps
    assert (diary.ended, diary.running) == (1, 0)


def test_what_a_job_raises_its_caller_gets() -> None:
    def job() -> Generator[int]:
        yield 1
        raise ZeroDivisionError("in the job")

    told: list[int] = []
    jobs = Background()
    with pytest.raises(ZeroDivisionError, match="in the job"):
        jobs.run(job(), told.append)
    assert told == [1]
    jobs.run(Diary().job(1), told.append)
    assert told == [1, 0]


def test_several_callers_wait_for_each_other() -> None:
    diary, jobs = Diary(), Background()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda steps: jobs.run(diary.job(steps), lambda step: None), range(8)))
    assert (diary.ended, diary.most_running) == (8, 1)
