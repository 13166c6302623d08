"""Jobs on a real Ray cluster of three machines, as Ray makes believe on one: results are those of one process.

Machines are killed, and the program that asked. Needs Ray, some minutes, and 3 GB of memory.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from some_players import entered, play, timeless
from some_work import Fatal, Loading, refused_from_five, squared, told, trained

from benchmarks.run_store import RunStore
from tictac_env.arena import ResultStore, prove, sampled_openings
from tictac_env.arena.suite_making import label
from tictac_env.games import get_game
from tictac_env.jobs import Cluster, WorkerLost, joined, map_jobs
from tictac_env.jobs.ray_pool import ENVIRONMENT

pytestmark = pytest.mark.slow
pytest.importorskip("ray")

ROOT = Path(__file__).parents[2]
SMALL: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 << 20}


class Machines:
    """A cluster of a head and two machines that can be killed, each with one CPU."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster as Nodes

        os.environ.update(ENVIRONMENT)
        self.nodes = Nodes(initialize_head=True, head_node_args={**SMALL, "include_dashboard": False})
        self.others: list[Any] = []
        self.complete()

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.nodes.address)

    def complete(self) -> None:
        """Puts new machines in the place of those that were killed."""
        while len(self.others) < 2:
            self.others.append(self.nodes.add_node(**SMALL))

    def kill_one(self) -> None:
        self.nodes.remove_node(self.others.pop(), allow_graceful=False)


@pytest.fixture(scope="module")
def running() -> Iterator[Machines]:
    machines = Machines()
    with joined(machines.cluster):
        yield machines
    machines.nodes.shutdown()


@pytest.fixture
def machines(running: Machines) -> Machines:
    running.complete()
    return running


def once(condition: Callable[[], bool], action: Callable[[], None]) -> threading.Thread:
    """Does something in a thread when a condition first holds."""

    def watch() -> None:
        while not condition():
            time.sleep(0.05)
        action()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def test_each_job_has_its_result_once(machines: Machines, tmp_path: Path) -> None:
    for batch in (None, 1, 7):
        found = list(map_jobs(squared, range(100), machines.cluster, batch=batch))
        assert sorted(found) == [(job, job * job) for job in range(100)]
    processes = {process for _, process in map_jobs(told, [0.3] * 20, machines.cluster)}
    assert len(processes) >= 3 and os.getpid() not in processes
    list(map_jobs(Loading(tmp_path), range(60), machines.cluster, batch=1))
    assert all(file.read_text() == "loaded\n" for file in tmp_path.iterdir())


@pytest.mark.parametrize("batch", [1, 4, 50])
def test_an_error_comes_after_the_results_before_it(machines: Machines, batch: int) -> None:
    found: list[tuple[int, int]] = []
    cluster = Cluster(machines.nodes.address, workers=1)
    with pytest.raises(ArithmeticError, match="5 is too much") as raised:
        found.extend(map_jobs(refused_from_five, range(50), cluster, batch=batch))
    assert found == [(job, job) for job in range(5)] and type(raised.value) is ArithmeticError
    assert "refused_from_five" in "".join(raised.value.__notes__), "the worker's traceback is not told"


def test_what_a_killed_process_did_is_done_again(machines: Machines, tmp_path: Path) -> None:
    found = list(map_jobs(Fatal(tmp_path, at=7, times=2), range(20), machines.cluster))
    assert sorted(found) == [(job, job * job) for job in range(20)]
    assert len(list(tmp_path.glob("killed *"))) == 2


def test_jobs_that_kill_every_process_are_named(machines: Machines, tmp_path: Path) -> None:
    with pytest.raises(WorkerLost, match=r"3 workers ended without a result .* while they did 7"):
        list(map_jobs(Fatal(tmp_path, at=7, times=99), range(20), machines.cluster, batch=1))


def test_a_tournament_outlives_a_machine(machines: Machines, tmp_path: Path) -> None:
    file, path = tmp_path / "killed", tmp_path / "games.sqlite"
    some = once(lambda: path.exists() and len(ResultStore(path)) > 30, machines.kill_one)
    by_workers = play(file, store=path, workers=machines.cluster, slowly=0.02)
    assert not some.is_alive() and file.exists(), "nobody was killed"
    alone = play(file)
    assert timeless(by_workers) == timeless(alone) and str(by_workers) == str(alone)
    with ResultStore(path) as store:
        assert len(store) == len(alone.games)
        assert sorted(timeless(store)) == sorted(timeless(alone))


SWEEP = [{"agent": agent, "seed": seed} for agent in ("QLearning", "Sarsa") for seed in range(8)]


def test_a_sweep_outlives_a_machine(machines: Machines, tmp_path: Path) -> None:
    kept: list[Any] = []

    def tell(settings: Any, results: Any) -> None:
        kept.append(settings)
        if len(kept) == 3:
            machines.kill_one()

    by_workers, alone = RunStore(tmp_path / "workers-runs.jsonl"), RunStore(tmp_path / "alone-runs.jsonl")
    by_workers.complete(SWEEP, partial(trained, seconds=0.5), machines.cluster, tell=tell)
    assert len(machines.others) == 1 and sorted(map(str, kept)) == sorted(map(str, SWEEP))
    alone.complete(SWEEP, partial(trained, seconds=0.0))
    assert len((tmp_path / "workers-runs.jsonl").read_text().splitlines()) == len(SWEEP)
    for settings in SWEEP:
        assert by_workers[settings] == alone[settings]
    assert len({json.dumps(results) for _, results in alone}) > len(SWEEP) / 2, "the seeds make no difference"


def test_labels_and_proofs(machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    positions = sampled_openings(get_game("ConnectFour-v0"), 30, 200)
    assert (label(positions, tmp_path / "scores.sqlite", workers=machines.cluster) == label(positions)).all()
    monkeypatch.setattr("tictac_env.arena.proof.CHUNK", 32)
    player = entered(tmp_path / "killed")["deadly"]
    for folder, workers in (("workers", machines.cluster), ("alone", 1)):
        proof = prove(player, 1, "TicTacToe-v0", refutations=None, folder=tmp_path / folder, workers=workers)
        assert proof.positions > 100 and (tmp_path / "killed").exists()
    for file in (tmp_path / "alone").iterdir():
        assert (tmp_path / "workers" / file.name).read_bytes() == file.read_bytes()


def killed_at(command: list[str], begun: Callable[[], bool]) -> None:
    """Runs a program and kills it, and it alone, when something has begun."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not begun():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def output_of(command: list[str]) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=150).stdout


def test_a_tournament_whose_program_is_killed_goes_on(machines: Machines, tmp_path: Path) -> None:
    path = tmp_path / "games.sqlite"
    words = ["tournament", "mcts:5000", "rule", "minimax:4", "--game", "ConnectFour-v0", "--openings", "2", "--csv"]
    command = [sys.executable, "-m", "tictac_env", *words, "--games", "40"]
    on_the_cluster = [*command, "--store", str(tmp_path), "--ray", machines.nodes.address]
    counts = []
    for more in (5, 20):
        before = len(ResultStore(path))
        killed_at(on_the_cluster, lambda goal=before + more: path.exists() and len(ResultStore(path)) >= goal)
        with ResultStore(path) as store:
            games = list(store)
        counts.append(len(games))
        assert len({game.fixture for game in games}) == len(games) < 120
    assert counts[1] > counts[0]
    assert output_of(on_the_cluster) == output_of(command)
    assert len(ResultStore(path)) == 120


def test_a_sweep_whose_program_is_killed_goes_on(machines: Machines, tmp_path: Path) -> None:
    """The reproduction of published learners, which is compared with its record."""
    runs = tmp_path / "reproduce-runs.jsonl"
    command = [sys.executable, "benchmarks/reproduce.py", "--check", "--system", "S1", "--seeds", "4"]
    command += ["--output", str(tmp_path), "--ray", machines.nodes.address]
    killed_at(command, lambda: runs.exists() and runs.read_bytes().count(b"\n") >= 2)
    kept = runs.read_text().splitlines()
    assert "the same to the bit as the record" in output_of(command)
    lines = runs.read_text().splitlines()
    assert lines[: len(kept)] == kept and len(lines) == len(
        {json.dumps(json.loads(line)["settings"]) for line in lines}
    )


BUILD = """
import runpy, sys
from tictac_env.games import GAMES, KInARow
GAMES["ConnectFour-v0"] = KInARow.make(4, 4, 3)
runpy.run_path("tools/build_book.py", run_name="__main__")
"""
"""Builds a book of a game that is solved in a moment, as the script itself does."""


def test_a_book_is_built_and_players_are_judged_by_scripts(machines: Machines, tmp_path: Path) -> None:
    """What a script does is sent to workers that have another `__main__`."""
    there = ["--ray", machines.nodes.address]
    for folder, words in (("cluster", there), ("alone", [])):
        out = str(tmp_path / folder)
        output_of([sys.executable, "-c", BUILD, "--plies", "5", "--folder", out, "--out", out, *words])
        command = [sys.executable, "benchmarks/exact_results.py", "--policies", "rule", "--maps", "2"]
        output_of([*command, "--output", out, *words])
    books, results = (
        [(tmp_path / folder / name).read_bytes() for folder in ("cluster", "alone")]
        for name in ("ConnectFour-v0.npz", "exact-results-perfect.csv")
    )
    assert books[0] == books[1]
    assert results[0].rpartition(b",")[0] == results[1].rpartition(b",")[0]  # the last is the CPU time


def test_a_cluster_is_started_where_there_is_none(tmp_path: Path) -> None:
    words = ["tournament", "random", "rule", "minimax", "--games", "20", "--csv"]
    command = [sys.executable, "-m", "tictac_env", *words]
    assert output_of([*command, "--ray", "--workers", "2"]) == output_of(command)
    began = time.monotonic()
    missing = subprocess.run([*command, "--ray", "127.0.0.1:1"], capture_output=True, text=True, check=False)
    assert missing.returncode == 2 and time.monotonic() - began < 60
    assert missing.stderr.splitlines()[-1].startswith("tictac: no Ray cluster can be reached at 127.0.0.1:1: ")
