"""Progress is a bar on a terminal and else a line a minute, and Ctrl-C stops work where it is consistent."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading

import pytest

from tictac_env.progress import interruptible, progress_bar, run_bar, track


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


def test_without_a_terminal_there_is_a_line_a_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock, done = 100.0, 0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    with run_bar("learner", 1_000, True, "games", lambda: (done, 10 * done, "epsilon 0.1")) as show:
        for now in (130.0, 159.0, 161.0, 200.0, 290.0):
            clock, done = now, done + 100
            show()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "learner: 30 % after 1 min, 49 games/s, epsilon 0.1",
        "learner: 50 % after 3 min, 26 games/s, epsilon 0.1",
    ]
    with progress_bar(10, "counting", show=False) as update:
        clock = 1_000.0
        update(4, "text")
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
