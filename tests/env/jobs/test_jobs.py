"""Jobs done by processes, and by a real Ray cluster of three machines as Ray makes believe on one.

Every result comes once and is that of one process, whatever becomes of workers, machines and the program itself. The
tests of the cluster are slow: they need Ray, some minutes, and 3 GB of memory.
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
from dataclasses import FrozenInstanceError
from functools import partial
from itertools import count, pairwise
from math import inf
from pathlib import Path
from typing import Any

import pytest
from conftest import breadth
from some_work import (
    Deadly,
    Fatal,
    Loading,
    Mask,
    play,
    process_after,
    raising_at_once,
    refused_from_five,
    squared,
    timeless,
    trained,
)

from tictac_apps.bench.records import RunStore
from tictac_apps.cli import main
from tictac_apps.labels import LabelStore, label
from tictac_env.arena import ResultStore, prove, round_robin, sampled_openings
from tictac_env.games import get_game
from tictac_env.jobs import RAY_ENVIRONMENT, Cluster, WorkerLost, Workers, finishing_within, joined, map_jobs
from tictac_env.position import canonical
from tictac_env.solver import Solver
from tools.build_suites import Games, make_suite

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are killed by SIGKILL")
ROOT = Path(__file__).parents[3]
SMALL: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 << 20}
TTT = get_game("TicTacToe-v0")


class Machines:
    """A cluster of a head and two machines that can be killed, each with one CPU."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster as Nodes

        os.environ.update(RAY_ENVIRONMENT)
        self.nodes = Nodes(initialize_head=True, head_node_args={**SMALL, "include_dashboard": False})
        self.others: list[Any] = []
        self.cluster = Cluster(self.nodes.address)

    def complete(self) -> None:
        """Puts new machines in the place of those that were killed."""
        while len(self.others) < 2:
            self.others.append(self.nodes.add_node(**SMALL))

    def kill_one(self) -> None:
        self.nodes.remove_node(self.others.pop(), allow_graceful=False)


@pytest.fixture(scope="module")
def running() -> Iterator[Machines]:
    pytest.importorskip("ray")
    machines = Machines()
    with joined(machines.cluster):
        yield machines
    machines.nodes.shutdown()


@pytest.fixture
def machines(running: Machines) -> Machines:
    running.complete()
    return running


EVERYWHERE = pytest.mark.parametrize("kind", ["processes", pytest.param("cluster", marks=pytest.mark.slow)])


@pytest.fixture
def workers(kind: str, request: pytest.FixtureRequest) -> Workers:
    """Two processes, or the cluster."""
    return 2 if kind == "processes" else request.getfixturevalue("machines").cluster


@EVERYWHERE
@pytest.mark.parametrize("batch", breadth([None], [1, 7]))
def test_each_job_has_its_result_once(workers: Workers, batch: int | None) -> None:
    found = list(map_jobs(squared, range(100), workers, batch=batch))
    assert sorted(found) == [(job, job * job) for job in range(100)]
    assert list(map_jobs(squared, [], workers)) == []


def test_as_many_processes_as_were_asked_for() -> None:
    found = {process for _, process in map_jobs(process_after, [0.3] * 6, 3, batch=1)}
    assert len(found) == 3 and os.getpid() not in found


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2"])
def test_impossible_numbers_of_workers_are_refused(workers: object) -> None:
    with pytest.raises(ValueError, match="workers"):
        list(map_jobs(squared, [1], workers))  # type: ignore[arg-type]


@pytest.mark.parametrize("address", ["", "random", "10.0.0.1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="address of a Ray cluster"):
        Cluster(address)


def test_a_cluster_is_named_by_an_address_or_found_and_stays_as_it_is() -> None:
    for address in (None, "auto", "10.0.0.1:6379"):
        for workers in (None, 1, 64):
            cluster = Cluster(address, workers)
            with pytest.raises(FrozenInstanceError):
                cluster.workers = 2  # type: ignore[misc]
    with pytest.raises(ValueError, match="workers"):
        Cluster(workers=0)


def test_jobs_are_begun_only_when_a_worker_is_free() -> None:
    begun = count()
    results = map_jobs(squared, (next(begun) for _ in range(1000)), 2, batch=1)
    next(results)
    assert next(begun) <= 4
    results.close()
    jobs = iter(range(10))
    assert list(map_jobs(squared, jobs, 2, seconds=0)) == [] and next(jobs) == 0, "its time is over"


def test_short_jobs_are_sent_together_and_long_ones_alone() -> None:
    taken: list[float] = []

    def jobs(seconds: float, number: int) -> Iterator[float]:
        for _ in range(number):
            taken.append(time.monotonic())
            yield seconds

    list(map_jobs(process_after, jobs(0.0, 3000), 1))
    assert sum(after - before < 1e-4 for before, after in pairwise(taken)) > 2000
    taken.clear()
    list(map_jobs(process_after, jobs(0.06, 5), 1))
    assert all(after - before > 0.05 for before, after in pairwise(taken))


@EVERYWHERE
def test_work_is_sent_to_a_worker_once(workers: Workers, tmp_path: Path) -> None:
    list(map_jobs(Loading(tmp_path), range(60), workers, batch=1))
    assert 1 <= len(files := list(tmp_path.iterdir())) <= 3
    assert all(file.read_text() == "loaded\n" for file in files)


@EVERYWHERE
@pytest.mark.parametrize("batch", breadth([4], [1, 50]))
def test_an_error_comes_after_the_results_before_it(workers: Workers, batch: int) -> None:
    found: list[tuple[int, int]] = []
    one = 1 if isinstance(workers, int) else Cluster(workers.address, workers=1)
    with pytest.raises(ArithmeticError, match="5 is too much") as raised:
        found.extend(map_jobs(refused_from_five, range(50), one, batch=batch))
    assert found == [(job, job) for job in range(5)] and type(raised.value) is ArithmeticError
    assert "refused_from_five" in "".join(raised.value.__notes__), "the worker's traceback is missing"


@EVERYWHERE
@pytest.mark.parametrize("batch", breadth([6], [1]))
def test_what_a_killed_process_did_is_done_again(workers: Workers, batch: int, tmp_path: Path) -> None:
    found = list(map_jobs(Fatal(tmp_path, at=7, times=2), range(20), workers, batch=batch))
    assert sorted(found) == [(job, job * job) for job in range(20)]
    assert len(list(tmp_path.glob("killed *"))) == 2
    again = sum(len(list(tmp_path.glob(f"done {job} by *"))) > 1 for job in range(20))
    assert again <= batch - 1, "jobs of other workers were done again"


@EVERYWHERE
def test_jobs_that_kill_every_process_are_named(workers: Workers, tmp_path: Path) -> None:
    found: list[tuple[int, int]] = []
    with pytest.raises(WorkerLost, match=r"3 workers ended .* while they did 7"):
        found.extend(map_jobs(Fatal(tmp_path, at=7, times=99), range(20), workers, batch=1))
    assert {job for job, _ in found} >= set(range(6)) and len(list(tmp_path.glob("killed *"))) == 3


def test_jobs_sent_with_one_that_kills_every_process_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tictac_env.jobs.ATTEMPTS", 1)
    with pytest.raises(WorkerLost, match="while they did 6 or one of the 2 jobs sent with it"):
        list(map_jobs(Fatal(tmp_path, at=7, times=99), range(6, 9), 1, batch=3))


def test_a_worker_that_is_killed_while_it_waits_is_replaced() -> None:
    results = map_jobs(process_after, [0.0] * 6, 1, batch=1)
    _, first = next(results)
    os.kill(first, signal.SIGKILL)
    time.sleep(0.1)
    rest = {process for _, process in results}
    assert len(rest) == 1 and first not in rest


def test_files_of_the_current_folder_hide_no_module_of_python(tmp_path: Path) -> None:
    """In a process of its own, as multiprocessing's helpers run in this one already."""
    for name in ("random", "types", "signal"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('this is not {name} of Python')")
    (tmp_path / "bots.py").write_text("import os\ndef safe_path(_): return os.environ.get('PYTHONSAFEPATH', 'unset')")
    code = (
        "import sys; sys.path.append('.'); import bots; from tictac_env.jobs import map_jobs\n"
        "print(*map_jobs(bots.safe_path, [1], 1))"
    )
    program = tmp_path / "program" / "main.py"  # not -P, which multiprocessing would pass on
    program.parent.mkdir()
    program.write_text(code)
    words = [sys.executable, "-W", "error", str(program)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("(1, 'unset')\n", "")


def test_closing_the_results_leaves_no_process() -> None:
    results = map_jobs(process_after, [0.0, 60.0, 60.0], 2, batch=1)
    began = time.monotonic()
    _, process = next(results)
    results.close()
    assert time.monotonic() - began < 20
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def once(condition: Callable[[], bool], action: Callable[[], None]) -> threading.Thread:
    """Does something in a thread when a condition first holds."""

    def watch() -> None:
        while not condition():
            time.sleep(0.05)
        action()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


@EVERYWHERE
def test_a_tournament_outlives_a_process_and_a_machine(kind: str, workers: Workers, tmp_path: Path, request) -> None:
    file, path = tmp_path / "killed", tmp_path / "games.sqlite"
    if kind == "cluster":
        kill_one = request.getfixturevalue("machines").kill_one
        killing = once(lambda: path.exists() and len(ResultStore(path)) > 30, kill_one)
    by_workers = play(file, store=path, workers=workers, slowly=0.02 * (kind == "cluster"))
    assert file.exists() and (kind == "processes" or not killing.is_alive()), "nobody was killed"
    alone = play(file)
    assert timeless(by_workers.games) == timeless(alone.games) and str(by_workers) == str(alone)
    assert any(record.forfeit for record in alone.games)
    with ResultStore(path) as store:
        assert len(store) == len(alone.games)
        assert sorted(timeless(store)) == sorted(timeless(alone.games))


def test_a_tournament_by_workers_is_that_of_one_process(tmp_path: Path) -> None:
    path = tmp_path / "games.sqlite"
    first = round_robin(["random", "rule"], games=10, store=path, workers=2)
    assert round_robin(["random", "rule"], games=10, store=path, workers=2) == first  # the times, too
    longer = round_robin(["random", "rule"], games=30, store=path)
    assert longer.games[:10] == first.games and len(ResultStore(path)) == 30

    def asleep(observation: object, mask: Mask) -> int:
        while mask.sum() < 9:  # it is asked about the empty board before its time counts
            pass
        return 0

    players = {"asleep": asleep, "random": "random", "raising": raising_at_once}
    limited = round_robin(players, games=4, time_limit=0.05, workers=2)
    lost = {name: [record for record in limited.forfeits if record.forfeited_by == name] for name in players}
    assert len(lost["asleep"]) + len(lost["raising"]) == 12 and min(len(lost["asleep"]), len(lost["raising"])) >= 4
    assert all(0.05 < sum(record.seconds) < 1 for record in lost["asleep"])


def test_a_player_that_is_another_one_in_a_worker_is_refused(tmp_path: Path) -> None:
    source = (
        "from tictac_env.policies import RandomPolicy\nwith open(__file__, 'a') as file:\n    file.write('# more\\n')"
    )
    (tmp_path / "players.py").write_text(source + "\n")
    players = {"changing": f"{tmp_path / 'players.py'}:RandomPolicy", "random": "random"}
    assert len(round_robin(players, games=4).games) == 4
    with pytest.raises(ValueError, match="changing is another player in a worker than here"):
        round_robin(players, games=4, workers=2)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["tournament", "random", "rule", "--games", "6", "--csv"]
    assert main(words) == 0
    alone = capsys.readouterr().out
    assert main([*words, "--workers", "2", "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out == alone
    assert main(["tournament", "--ray", "random", "rule", "minimax"]) == 2
    assert "'random' is not the address of a Ray cluster" in capsys.readouterr().err
    monkeypatch.setattr("tictac_env.jobs.ATTEMPTS", 1)
    (tmp_path / "dies.py").write_text("import os\ndef dies(observation, mask):\n    os.kill(os.getpid(), 9)\n")
    assert main(["tournament", f"{tmp_path / 'dies.py'}:dies", "random", "--games", "4", "--workers", "2"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("tictac: 1 workers ended without a result") and " v " in last and "dies" in last


@EVERYWHERE
def test_labels_and_proofs(workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    positions = sampled_openings(TTT, 4, 200)
    cache = tmp_path / "scores.sqlite"
    assert (label(positions, cache, workers=workers) == label(positions)).all()
    assert len(LabelStore(cache, TTT)) == len({canonical(TTT, one.own, one.opp)[:2] for one in positions})
    with pytest.raises(ValueError, match="workers have solvers of their own"):
        label(positions, solver=Solver(TTT, 1), workers=2)
    monkeypatch.setattr("tictac_env.arena.proof.CHUNK", 8)
    # Two plies, as each begins new workers.
    settings: dict[str, Any] = {"game": "TicTacToe-v0", "refutations": None, "max_positions": 50}
    player = Deadly(tmp_path / "killed")
    proofs = [prove(player, 1, folder=tmp_path / str(some), workers=some, **settings) for some in (workers, 1)]
    assert (tmp_path / "killed").exists(), "nobody was killed"
    assert proofs[0] == proofs[1] and proofs[0].positions > 40
    for file in (tmp_path / "1").iterdir():
        assert (tmp_path / str(workers) / file.name).read_bytes() == file.read_bytes()
    with pytest.raises(ZeroDivisionError, match="a bug"):
        prove(raising_at_once, 1, folder=tmp_path / "raising", workers=workers, **settings)


@pytest.mark.slow
def test_a_suite_made_by_workers_is_that_of_one_process() -> None:
    sources = [Games("random", random_plies=0), Games("rule")]
    made = [make_suite("ours", sources, 60, 3, "TicTacToe-v0", workers=workers) for workers in (1, 2)]
    assert made[0].sha256 == made[1].sha256 and made[0].origin == made[1].origin


SWEEP = [{"agent": agent, "seed": seed} for agent in ("QLearning", "Sarsa") for seed in range(8)]


@pytest.mark.slow
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
    assert all(by_workers[settings] == alone[settings] for settings in SWEEP)
    assert len({json.dumps(results) for _, results in alone}) > len(SWEEP) / 2, "the seeds make no difference"


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


def test_no_process_outlives_a_killed_program(tmp_path: Path) -> None:
    code = "import sys, time, pathlib, os\nfrom tictac_env.jobs import map_jobs\ndef work(folder):\n"
    code += "    (pathlib.Path(folder) / str(os.getpid())).touch()\n    time.sleep(60)\n"
    code += "list(map_jobs(work, [sys.argv[1]] * 2, 2))\n"
    killed_at([sys.executable, "-c", code, str(tmp_path)], lambda: len(list(tmp_path.iterdir())) == 2)
    end = time.monotonic() + 20
    while any(Path("/proc", one.name).exists() for one in tmp_path.iterdir()):
        assert time.monotonic() < end, "a worker has outlived its program"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_tournament_whose_program_is_killed_goes_on(machines: Machines, tmp_path: Path) -> None:
    path = tmp_path / "games.sqlite"
    words = ["tournament", "mcts:5000", "rule", "minimax:4", "--game", "ConnectFour-v0", "--openings", "2", "--csv"]
    command = [sys.executable, "-m", "tictac_apps", *words, "--games", "120"]
    on_the_cluster = [*command, "--store", str(tmp_path), "--ray", machines.nodes.address]
    counts = []
    for more in (5, 20):
        before = len(ResultStore(path))
        killed_at(on_the_cluster, lambda goal=before + more: path.exists() and len(ResultStore(path)) >= goal)
        with ResultStore(path) as store:
            games = list(store)
        counts.append(len(games))
        assert len({game.fixture for game in games}) == len(games) < 360
    assert counts[1] > counts[0]
    assert output_of(on_the_cluster) == output_of(command)
    assert len(ResultStore(path)) == 360


@pytest.mark.slow
def test_a_sweep_whose_program_is_killed_goes_on(machines: Machines, tmp_path: Path) -> None:
    """The reproduction of published learners, which is compared with its record."""
    runs = tmp_path / "reproduce-runs.jsonl"
    command = [sys.executable, "benchmarks/reproduce.py", "--check", "--system", "S1", "--seeds", "4"]
    command += ["--output", str(tmp_path), "--ray", machines.nodes.address]
    killed_at(command, lambda: runs.exists() and runs.read_bytes().count(b"\n") >= 2)
    kept = runs.read_text().splitlines()
    assert "the same to the bit as the record" in output_of(command)
    lines = runs.read_text().splitlines()
    settings = {json.dumps(json.loads(line)["settings"]) for line in lines}
    assert lines[: len(kept)] == kept and len(lines) == len(settings)


BUILD = """
import runpy, sys
from tictac_env.games import GAMES, KInARow
GAMES["ConnectFour-v0"] = KInARow.make(4, 4, 3)
runpy.run_path("tools/build_book.py", run_name="__main__")
"""
"""Builds a book of a game that is solved in a moment, as the script itself does."""


@pytest.mark.slow
def test_a_book_is_built_and_players_are_judged_by_scripts(machines: Machines, tmp_path: Path) -> None:
    """A script's functions are sent to workers that have another `__main__`."""
    there = ["--ray", machines.nodes.address]
    for folder, words in (("cluster", there), ("alone", [])):
        out = str(tmp_path / folder)
        output_of([sys.executable, "-c", BUILD, "--plies", "5", "--folder", out, "--out", out, *words])
        command = [sys.executable, "benchmarks/exact_results.py", "--policies", "rule", "--maps", "2"]
        output_of([*command, "--output", out, *words])
    folders = [tmp_path / "cluster", tmp_path / "alone"]
    books = [(folder / "ConnectFour-v0.npz").read_bytes() for folder in folders]
    assert books[0] == books[1]
    records = [json.loads((folder / "exact-results.json").read_text())["tables"]["perfect"] for folder in folders]
    results = [[{**row, "CPU-s": None} for row in rows] for rows in records]
    assert results[0] == results[1]


@pytest.mark.slow
def test_a_cluster_is_started_if_there_is_none() -> None:
    pytest.importorskip("ray")
    command = [sys.executable, "-m", "tictac_apps", "tournament", "random", "rule", "minimax", "--games", "20", "--csv"]
    assert output_of([*command, "--ray", "--workers", "2"]) == output_of(command)
    began = time.monotonic()
    missing = subprocess.run([*command, "--ray", "127.0.0.1:1"], capture_output=True, text=True, check=False)
    assert missing.returncode == 2 and time.monotonic() - began < 60
    assert missing.stderr.splitlines()[-1].startswith("tictac: no Ray cluster can be reached at 127.0.0.1:1: ")


@pytest.mark.parametrize(("seconds", "limit"), [(0.2, ", at most 0.2 s"), (inf, "")])
def test_after_ctrl_c_jobs_under_way_may_have_a_time_to_end(
    seconds: float, limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    slept, ended = list[float](), 60.0 if seconds < inf else 4.0
    began = time.monotonic()

    def sleep() -> None:
        for job, _ in map_jobs(time.sleep, [0.0, ended, 0.0], 2, batch=1):
            slept.append(job)
            if len(slept) == 1:
                os.kill(os.getpid(), signal.SIGINT)

    with finishing_within(seconds), pytest.raises(KeyboardInterrupt):
        sleep()
    assert slept == ([0.0] if seconds < inf else [0.0, ended]) and time.monotonic() - began < 50
    words = capsys.readouterr().err
    assert words == f"finishing 1 job{limit}; press Ctrl-C again to stop now\n"
