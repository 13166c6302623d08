"""Progress is a bar or lines; Ctrl-C stops work between two steps; background jobs."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import pytest

from tictac_env import progress as background
from tictac_env.progress import Background, interruptible, lines_every, progress_bar, run_bar, seconds_left, track


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal_for(monkeypatch: pytest.MonkeyPatch) -> FakeTerminal:
    """Standard error as a terminal. Not a fixture, because pytest renews its capture between set-up and test."""
    screen = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


def test_track_gives_every_item_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track([3, 1, 2], "items")) == [3, 1, 2]
    assert list(track([], "items")) == []
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")  # no terminal here


def test_without_a_terminal_there_is_a_line_now_and_then_also_if_the_work_reports_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with lines_every(0.05), progress_bar(10, "counting") as update:
        update(4, "some text")
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2 and set(lines) == {"counting: 40 % after 0:00, about 0:00 left; some text"}
    with lines_every(0.05), progress_bar(10, "counting", show=False) as update:
        update(4, "text")
        time.sleep(0.2)
    with progress_bar(10, "counting") as update:  # a line a minute
        update(4, "text")
        time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_on_a_terminal_progress_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = terminal_for(monkeypatch)
    with progress_bar(10, "counting") as update:
        update(4, "and so on")
        update(10, "nearly there")
    assert "counting" in terminal.getvalue() and "nearly there" in terminal.getvalue()
    assert capsys.readouterr().out == ""  # results may be piped


def test_results_that_are_printed_meanwhile_may_be_piped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = terminal_for(monkeypatch)
    with progress_bar(10, "counting") as update:
        update(5, "half way")
        print("a result")
    assert capsys.readouterr().out == "a result\n" and "a result" not in terminal.getvalue()


def test_a_run_says_how_fast_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, done = 100.0, 0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    terminal = terminal_for(monkeypatch)
    with run_bar("learner", 50, True, "plies", lambda: (done, 7 + 100 * done, "epsilon 0.1")) as show:
        clock, done = 102.0, 50
        show()
    assert "learner" in terminal.getvalue() and "2,500 plies/s, epsilon 0.1" in terminal.getvalue()


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


in_main_thread = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="Python delivers signals to the main thread only"
)


@in_main_thread
def test_an_ignored_ctrl_c_stays_ignored() -> None:
    """A worker gets the Ctrl-C of its terminal too, and must end its job as if nothing were."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible() as asked_to_stop:
            interrupt()
            assert not asked_to_stop() and signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("samples", "seconds"),
    [
        ([(0, 0), (10, 20)], 40),
        ([(0, 0), (30, 0), (60, 5), (90, 20), (120, 25)], 225),  # what was slow in the beginning does not count
        ([(0, 0), (60, 5), (120, 5)], 2280),  # nothing was done since
    ],
)
def test_the_time_left_is_by_the_speed_in_the_latter_half(samples: list[tuple[float, float]], seconds: float) -> None:
    assert seconds_left(samples, 100) == pytest.approx(seconds)


def test_a_long_text_leaves_the_numbers_their_width(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal_for(monkeypatch)
    monkeypatch.setenv("COLUMNS", "80")
    with progress_bar(4, "train and judge") as update:
        update(1, "3 of 15 players; under way: " + "a player of a long name, " * 9)
        time.sleep(0.3)
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]", screen.getvalue())]
    (shown, *_) = (line for line in lines if "25%" in line)
    assert re.search(r"train and judge .*25% -:--:-- 3 of 15 players; ", shown) and len(shown) <= 80


@in_main_thread
def test_the_first_ctrl_c_is_a_request_and_the_second_interrupts() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as asked_to_stop:
        assert not asked_to_stop()
        interrupt()
        assert asked_to_stop()
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        assert asked_to_stop()
    assert signal.getsignal(signal.SIGINT) is before


@in_main_thread
def test_after_the_block_ctrl_c_interrupts_again() -> None:
    with interruptible():
        pass
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    with pytest.raises(RuntimeError), interruptible():
        raise RuntimeError
    with pytest.raises(KeyboardInterrupt):
        interrupt()


@in_main_thread
def test_a_handler_of_the_users_own_comes_back() -> None:
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with interruptible() as asked_to_stop:
            interrupt()
            assert asked_to_stop() and not heard
        interrupt()
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_are_left_alone() -> None:
    before, answers = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with interruptible() as asked_to_stop:
            answers.append(asked_to_stop())
            answers.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert answers == [False, True]


# Work in the background: it ends with its caller's waiting, one job at a time, whenever an interrupt comes.


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
    """Interrupts `use` at the `line`-th line of its module it comes to; False if it never comes to so many."""
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
