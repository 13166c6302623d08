"""The threads that answer: addresses take turns, too much is refused to whom it belongs to, who leaves is forgotten."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("starlette")

from tictac_apps.web.limits import ServerLimits
from tictac_apps.web.requests import Refused, WorkerThreads


def played(story: Callable[[WorkerThreads, Callable[[str], Any]], Any], waiting: int) -> list[str]:
    """The jobs that were begun, in their order, by one thread that is held until the story has asked for all."""
    begun: list[str] = []
    held = threading.Event()

    async def run() -> None:
        workers = WorkerThreads(ServerLimits(threads=1, waiting=waiting), "test")
        first = asyncio.ensure_future(workers.do(held.wait, "first"))
        await asyncio.sleep(0)

        def ask(name: str) -> asyncio.Future[None]:
            return asyncio.ensure_future(workers.do(lambda: begun.append(name), name[0]))

        try:
            await story(workers, ask)
        finally:
            held.set()
            await first
            for _ in range(waiting):  # each takes its turn after the others
                await workers.do(lambda: None)
            workers.close()

    asyncio.run(run())
    return begun


def test_addresses_take_turns() -> None:
    async def story(workers: WorkerThreads, ask: Callable[[str], Any]) -> None:
        for name in ("a1", "a2", "a3", "b1", "c1", "b2"):
            ask(name)
            await asyncio.sleep(0)

    assert played(story, 10) == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_the_address_that_asks_for_most_is_refused() -> None:
    async def story(workers: WorkerThreads, ask: Callable[[str], Any]) -> None:
        asked = []
        for name in ("a1", "a2", "a3", "b1"):  # one more than may wait
            asked.append(ask(name))
            await asyncio.sleep(0)
        with pytest.raises(Refused) as refused:
            await asked[2]
        assert refused.value.status_code == 429

    assert played(story, 3) == ["a1", "b1", "a2"]


def test_who_leaves_while_waiting_costs_no_work() -> None:
    async def story(workers: WorkerThreads, ask: Callable[[str], Any]) -> None:
        left = ask("a1")
        await asyncio.sleep(0)
        ask("b1")
        await asyncio.sleep(0)
        left.cancel()

    assert played(story, 10) == ["b1"]


def test_closing_begins_no_further_job_and_waits_for_none() -> None:
    begun: list[str] = []
    held = threading.Event()

    async def run() -> None:
        workers = WorkerThreads(ServerLimits(threads=1), "test")
        first = asyncio.ensure_future(workers.do(held.wait, "a"))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(workers.do(lambda: begun.append("second"), "b"))
        await asyncio.sleep(0)
        threading.Timer(20, held.set).start()  # if closing waits
        workers.close()
        assert not held.is_set() and not first.done()
        with pytest.raises(asyncio.CancelledError):
            await second
        held.set()
        assert await first is True

    asyncio.run(run())
    assert begun == []


def test_as_many_jobs_run_as_there_are_threads() -> None:
    together = threading.Barrier(3)

    async def run() -> None:
        workers = WorkerThreads(ServerLimits(threads=3, waiting=1), "test")
        jobs = [asyncio.ensure_future(workers.do(lambda: together.wait(20))) for _ in range(3)]
        assert sorted(await asyncio.gather(*jobs)) == [0, 1, 2]
        workers.close()

    asyncio.run(run())


def test_an_error_of_a_job_is_its_answer_and_the_thread_goes_on() -> None:
    async def story(workers: WorkerThreads, ask: Callable[[str], Any]) -> None:
        failing = asyncio.ensure_future(workers.do(lambda: 1 // 0, "a"))
        await asyncio.sleep(0)
        ask("b1")
        failing.add_done_callback(lambda done: done.exception())

    assert played(story, 10) == ["b1"]
