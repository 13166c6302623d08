"""Jobs done by processes: every result comes once, whatever becomes of the workers."""

from __future__ import annotations

import os
import signal
import time
from itertools import count, pairwise
from pathlib import Path

import pytest
from some_work import Fatal, Loading, refused_from_five, squared, told

from tictac_env.jobs import Cluster, WorkerLost, map_jobs

posix = pytest.mark.skipif(os.name != "posix", reason="processes are killed by SIGKILL")


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("batch", [None, 1, 7])
def test_each_job_has_its_result_once(workers: int, batch: int | None) -> None:
    found = list(map_jobs(squared, range(40), workers, batch=batch))
    assert sorted(found) == [(job, job * job) for job in range(40)]


def test_no_jobs_need_no_process() -> None:
    assert list(map_jobs(squared, [], 3)) == []


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2"])
def test_impossible_numbers_of_workers_are_refused(workers: object) -> None:
    with pytest.raises(ValueError, match="workers"):
        list(map_jobs(squared, [1], workers))  # type: ignore[arg-type]


@pytest.mark.parametrize("address", ["", "random", "10.0.0.1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="is no address of a Ray cluster"):
        Cluster(address)


def test_as_many_processes_as_were_asked_for() -> None:
    found = {process for _, process in map_jobs(told, [0.05] * 12, 3, batch=1)}
    assert len(found) == 3 and os.getpid() not in found


def test_jobs_are_begun_only_when_a_worker_is_free() -> None:
    begun = count()
    results = map_jobs(squared, (next(begun) for _ in range(1000)), 2, batch=1)
    next(results)
    assert next(begun) <= 4
    results.close()


def test_short_jobs_are_sent_together_and_long_ones_alone() -> None:
    taken: list[float] = []

    def jobs(seconds: float, number: int) -> object:
        for _ in range(number):
            taken.append(time.monotonic())
            yield seconds

    list(map_jobs(told, jobs(0.0, 3000), 1))
    together = sum(after - before < 1e-4 for before, after in pairwise(taken))
    assert together > 2000
    taken.clear()
    list(map_jobs(told, jobs(0.06, 5), 1))
    assert all(after - before > 0.05 for before, after in pairwise(taken))


def test_work_is_sent_to_a_worker_once(tmp_path: Path) -> None:
    list(map_jobs(Loading(tmp_path), range(30), 2, batch=1))
    assert 1 <= len(files := list(tmp_path.iterdir())) <= 2
    assert all(file.read_text() == "loaded\n" for file in files)


@pytest.mark.parametrize("batch", [1, 4, 50])
def test_an_error_comes_after_the_results_before_it(batch: int) -> None:
    found: list[tuple[int, int]] = []
    with pytest.raises(ArithmeticError, match="5 is too much") as raised:
        found.extend(map_jobs(refused_from_five, range(50), 1, batch=batch))
    assert found == [(job, job) for job in range(5)] and str(raised.value) == "5 is too much"
    assert "refused_from_five" in "".join(raised.value.__notes__), "the worker's traceback is not told"


@posix
@pytest.mark.parametrize("batch", [1, 6])
def test_what_a_killed_worker_did_is_done_again(batch: int, tmp_path: Path) -> None:
    found = list(map_jobs(Fatal(tmp_path, at=7, times=2), range(20), 2, batch=batch))
    assert sorted(found) == [(job, job * job) for job in range(20)]
    assert len(list(tmp_path.glob("killed *"))) == 2
    again = sum(len(list(tmp_path.glob(f"done {job} by *"))) > 1 for job in range(20))
    assert again <= batch - 1, "jobs of other workers were done again"


@posix
def test_jobs_that_kill_every_worker_are_named(tmp_path: Path) -> None:
    found: list[tuple[int, int]] = []
    with pytest.raises(WorkerLost, match=r"3 workers ended without a result .* while they did 7"):
        found.extend(map_jobs(Fatal(tmp_path, at=7, times=99), range(20), 1, batch=1))
    assert [job for job, _ in found] == list(range(7)) and len(list(tmp_path.glob("killed *"))) == 3


@posix
def test_a_worker_that_is_killed_while_it_waits_is_replaced() -> None:
    results = map_jobs(told, [0.0] * 6, 1, batch=1)
    _, first = next(results)
    os.kill(first, signal.SIGKILL)
    time.sleep(0.1)
    rest = {process for _, process in results}
    assert len(rest) == 1 and first not in rest


def test_who_stops_listening_leaves_no_process(tmp_path: Path) -> None:
    results = map_jobs(told, [0.0, 60.0, 60.0], 2, batch=1)
    began = time.monotonic()
    _, process = next(results)
    results.close()
    assert time.monotonic() - began < 20
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
