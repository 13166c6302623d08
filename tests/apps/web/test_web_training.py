"""Trainings begun from the page: each its own, stopped, bounded, forgotten, and played against."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from web_client import Client, visited, waited_for

from tictac_apps.web import training_reports as reports
from tictac_apps.web import trainings
from tictac_apps.web.app import Server
from tictac_apps.web.limits import ServerLimits
from tictac_apps.web.opponents import NamedOpponents
from tictac_apps.web.requests import Fields, Refused
from tictac_apps.web.trainings import Training, Trainings
from tictac_apps.web.value_display import Explanation
from tictac_env.games import GAMES

SMALL = {"agent": "QLearning", "game": "TicTacToe-v0", "opponent": "random", "total": 50}
GOING = ("waiting", "running")
LOOK, BEGIN, REPLY = "/api/training/look", "/api/training/begin", "/api/reply"


@pytest.fixture(scope="module", name="trainer")
def training_client() -> Iterator[Client]:
    with visited(Server(ServerLimits(rate=1e6, burst=10**6, trainings=2, kept_trainings=3))) as http:
        yield Client(http)


def finished(client: Client, token: str) -> Any:
    """The report once the training is over."""
    return waited_for(lambda: (report := client.post(LOOK, token=token))["state"] not in GOING and report)


def test_a_table_is_trained_looked_into_and_played(trainer: Client) -> None:
    menu = trainer.get("/api/training/menu")
    for first in menu["first"].values():
        assert first["preset"] in menu["agents"][first["agent"]]["presets"]
    small = {one["name"]: one["small"] for one in trainer.get("/api/server")["games"]}
    assert small["TicTacToe-v0"] and not small["ConnectFour-v0"]
    token = trainer.post(BEGIN, **SMALL)["token"]
    assert len(token) >= 20
    report = finished(trainer, token)
    assert (report["state"], report["done"], report["rows"][-1]["at"]) == ("done", 50, 50)
    assert report["rows"][-1]["unbeatable"] is False
    assert trainer.post(LOOK, token=token, since=len(report["rows"]))["rows"] == []
    number = len(report["lessons"]) - 1
    assert trainer.post("/api/training/lesson", token=token, number=number)["at"] == report["lessons"][number]
    assert "no number" in trainer.refused("POST", "/api/training/lesson", 404, token=token, number=number + 1)
    fields = {"game": "TicTacToe-v0", "moves": "5", "opponent": f"training:{token}"}
    best = max(trainer.post("/api/thoughts", **fields)["moves"], key=lambda move: move["value"])
    assert trainer.post(REPLY, **fields)["action"] == best["action"]
    assert "holds an agent of the game" in trainer.refused("POST", REPLY, **(fields | {"game": "ConnectFour-v0"}))


class Process:
    """A process of a training that reports some lines, and ends once it is told to stop, or killed if it is `deaf`."""

    lines: tuple[str, ...] = ()
    deaf = False
    all: list[Process]

    def __init__(self, command: list[str], **how: Any) -> None:
        self.command, self.env = command, how["env"]
        self.stdin, self.ended, self.killed = io.StringIO(), threading.Event(), False
        self.stdout = self._output()
        Process.all.append(self)

    def _output(self) -> Iterator[str]:
        yield from self.lines
        while not (self.deaf or '"stop"' in self.stdin.getvalue()) and not self.ended.wait(0.005):
            pass
        if self.deaf:
            self.ended.wait(20)

    def kill(self) -> None:
        self.killed = True
        self.ended.set()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        pass


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    monkeypatch.setattr(trainings, "subprocess", SimpleNamespace(Popen=Process, PIPE=None, DEVNULL=None))
    monkeypatch.setattr(Process, "all", [], raising=False)
    monkeypatch.setattr(Process, "lines", ())
    monkeypatch.setattr(Process, "deaf", False)
    return Process.all


PLAN: Any = SimpleNamespace(file_name="agent.npz", total=50, unit="games", to_dict=lambda: {"total": 50})


def started(folder: Path, seconds: float = 60) -> tuple[Training, threading.Event]:
    """A training that has begun, and what is set once its process has ended."""
    training, over = Training(PLAN, folder), threading.Event()
    training.start(seconds, ["Own-v0"], over.set)
    return training, over


def point(at: int) -> reports.CurveReport:
    unknown = dict.fromkeys((field.name for field in fields(reports.CurveReport)), None)
    opinion = reports.WatchedThoughts(at, "5", Explanation("nothing", "", ()))
    return reports.CurveReport(**unknown | {"at": at, "exact": False, "opinion": opinion})


def lines_of(*parts: reports.Report | str) -> tuple[str, ...]:
    return tuple(part if isinstance(part, str) else reports.report_line(part) for part in parts)


def test_a_training_shows_what_its_process_reports(processes: list[Process], tmp_path: Path) -> None:
    points, lessons = [point(at) for at in range(501)], [reports.Lesson(at, "5", ()) for at in range(501)]
    thoughts, level = reports.WatchedThoughts(500, "5", Explanation("nothing", "", ())), reports.BeatenLevel(500, 3)
    Process.lines = lines_of(
        "", "no JSON", "7", '{"no": "kind"}', *points, '{"kind": "CurveReport"}', *lessons,
        reports.Progress(777), thoughts, level, '{"kind": "later"}', '{"kind": "Progress", "done": "many"}', "{}",
    )  # fmt: skip
    training, over = started(tmp_path)
    waited_for(lambda: training.level)
    report = training.report(0)
    assert [row.at for row in report["rows"]] == report["lessons"] == list(range(500))
    assert (report["done"], report["thoughts"], report["level"]) == (777, thoughts, level)
    assert (report["state"], report["reason"], report["kept"], report["saved"]) == ("running", "", "", False)
    assert (report["total"], report["unit"], report["plan"]) == (50, "games", {"total": 50})
    assert training.report(498)["rows"] == points[498:500] and training.lesson(499) == lessons[499]
    with pytest.raises(Refused, match="there are 500 games to walk through, and no number 500") as refused:
        training.lesson(500)
    assert refused.value.status_code == 404
    (process,) = processes
    assert process.command[-2:] == [str(tmp_path), "Own-v0"] and process.env["OMP_NUM_THREADS"] == "1"
    assert process.env["PATH"] == os.environ["PATH"]
    for moves in ("51", "51", "5"):
        training.watch(moves)
    training.stop()
    training.stop()
    assert over.wait(20)
    training.watch("52")
    told = [json.loads(line) for line in process.stdin.getvalue().splitlines()]
    assert told == [{"total": 50}, {"watch": "51"}, {"watch": "5"}, "stop"]
    assert training.report(500)["state"] == "stopped" and not process.killed


@pytest.mark.parametrize(
    ("last", "state", "reason"),
    [
        (reports.End(stopped=False, proven=True), "proven", ""),
        (reports.End(stopped=True, proven=True), "proven", ""),
        (reports.End(stopped=True, proven=False), "stopped", ""),
        (reports.End(stopped=False, proven=False), "done", ""),
        (reports.Failure("no memory"), "failed", "no memory"),
        (reports.Progress(1), "failed", "its process exited without a result"),
    ],
)
def test_a_training_ends_as_its_process_says(
    last: reports.Report, state: str, reason: str, processes: list[Process], tmp_path: Path
) -> None:
    Process.lines = lines_of(last)
    training, over = started(tmp_path)
    processes[0].ended.set()
    assert over.wait(20) and (training.state, training.reason) == (state, reason)
    training.start(60, [], over.clear)  # it is over
    assert len(processes) == 1 and over.is_set()


def test_a_training_is_stopped_after_its_time_and_ended_if_it_does_not_stop(
    processes: list[Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainings, "GRACE", 0.02)
    training, over = started(tmp_path, seconds=0.01)
    assert over.wait(20) and training.state == "stopped" and not processes[0].killed
    Process.deaf = True
    training, over = started(tmp_path, seconds=0.01)
    assert over.wait(20) and training.state == "stopped" and processes[1].killed
    assert processes[1].stdin.getvalue().splitlines()[1:] == ['"stop"']
    assert trainings.GRACE < 1 and training.reason == "its process exited without a result"


def test_a_training_that_waits_or_cannot_begin_has_no_process(
    processes: list[Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for leave in (Training.stop, Training.kill):
        training = Training(PLAN, tmp_path)
        assert training.state == "waiting" and training.report(0)["done"] == 0
        leave(training)
        training.start(60, [], lambda: None)
        assert training.state == "stopped" and not processes

    def refused(*command: Any, **how: Any) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(trainings.subprocess, "Popen", refused)  # that of the fixture
    training, _ = started(tmp_path)
    assert (training.state, training.reason) == ("failed", "its process cannot be started: Cannot allocate memory")


def test_of_trainings_that_are_over_the_one_asked_for_least_recently_makes_room(processes: list[Process]) -> None:
    opponents, limits = NamedOpponents(ServerLimits()), ServerLimits(kept_trainings=3, trainings=2)
    queue = Trainings(limits)

    def begin() -> str:
        return queue.begin(opponents, Fields(SMALL))["token"]

    first, second, third = begin(), begin(), begin()
    states = [queue.get(token).state for token in (first, second, third)]
    assert states == ["running", "running", "waiting"] and len(processes) == 2
    with pytest.raises(Refused, match="1 trainings are waiting") as refused:
        begin()
    assert (refused.value.status_code, refused.value.headers) == (429, {"retry-after": "60"})
    for token in (first, second):
        queue.stop(Fields({"token": token}))
    waited_for(lambda: [queue.get(token).state for token in (third, second, first)] == ["running", *["stopped"] * 2])
    folders = {token: queue.get(token).file.parent for token in (second, third, first)}
    fourth = begin()
    with pytest.raises(Refused) as refused:
        queue.get(second)
    assert refused.value.status_code == 404 and not folders[second].exists() and folders[first].exists()
    assert [queue.get(token).state for token in (first, third, fourth)] == ["stopped", "running", "running"]
    assert len({token[:8] for token in (first, second, third, fourth)}) == 4 and min(map(len, (first, fourth))) == 24
    running = [process for process in processes if not process.ended.is_set()]
    queue.close()
    assert all(process.killed for process in running[-2:]) and not folders[third].parent.exists()


def test_games_of_ones_own_are_offered_played_and_trained(own_game: str) -> None:
    Path("random.py").write_text("raise ImportError('the current folder hides a module of Python')")
    with visited(Server(ServerLimits(rate=1e6, burst=10**6, sizes=0), games=[own_game, "KInARow-v0:3x3-2"])) as http:
        client = Client(http)
        names = [one["name"] for one in client.get("/api/server")["games"]]
        assert names == [*GAMES, "KInARow-v0:3x3-2"] and names[-2] == "Own-v0"
        for name in names[-2:]:
            assert client.post(REPLY, game=name, moves="1", opponent="rule")["position"]["game"] == name
        token = client.post(BEGIN, **(SMALL | {"game": "Own-v0", "total": 2}))["token"]
        assert finished(client, token)["state"] == "done"
        assert "'no_such_module:Own-v0'" in client.refused("POST", REPLY, game="no_such_module:Own-v0", opponent="rule")
    with pytest.raises(ValueError, match="there is no module 'no_such_module'"):
        Server(games=["no_such_module:Own-v0"])


def test_trainings_wait_in_the_order_they_came_and_leave_when_cancelled_or_left(processes: list[Process]) -> None:
    limits = ServerLimits(rate=1e6, burst=10**6, trainings=1, kept_trainings=4, waits_unasked=0.5)
    with visited(Server(limits)) as http:
        client = Client(http)
        running, cancelled, left, last = (client.post(BEGIN, **SMALL)["token"] for _ in range(4))
        assert len({running, cancelled, left, last}) == 4
        assert "3 trainings are waiting" in client.refused("POST", BEGIN, 429, **SMALL)
        reports = [client.post(LOOK, token=token) for token in (running, cancelled, left, last)]
        assert [one["place"] for one in reports] == [0, 1, 2, 3]
        assert [one["state"] for one in reports] == ["running"] + 3 * ["waiting"]
        assert client.post("/api/training/stop", token=cancelled)["state"] == "stopped"
        assert [client.post(LOOK, token=token)["place"] for token in (cancelled, last)] == [0, 2]
        waited_for(lambda: client.post(LOOK, token=last)["place"] == 1)  # its page asks, that of `left` does not
        client.refused("POST", LOOK, 404, token=left)
        client.post("/api/training/stop", token=running)
        waited_for(lambda: client.post(LOOK, token=last)["state"] == "running")
        assert client.post(LOOK, token=running)["state"] == "stopped" and len(processes) == 2


def test_a_position_is_watched_while_an_agent_learns(trainer: Client) -> None:
    token = trainer.post(BEGIN, **(SMALL | {"total": 20_000_000}))["token"]
    deadline = time.monotonic() + 60
    for moves, legal in (("5", 8), ("51", 7)):
        seen: list[str] = []
        while len(set(seen)) < 2:  # its values change as it learns
            found = trainer.post(LOOK, token=token, moves=moves)["thoughts"]
            assert time.monotonic() < deadline
            if found and found["moves"] == moves:
                assert len(found["thoughts"]["moves"]) == legal
                seen.append(str(found["thoughts"]["moves"]))
            time.sleep(0.1)
    assert "is taken" in trainer.refused("POST", LOOK, 422, token=token, moves="55")
    assert "is over" in trainer.refused("POST", LOOK, 422, token=token, moves="14253")
    trainer.post("/api/training/stop", token=token)
    assert finished(trainer, token)["thoughts"]["moves"] == "51"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"total": "many"}, "number of games must be"),
        ({"agent": "os"}, "agent"),
        ({"opponent": "file:x.npz"}, "policy's name"),
        ({"opponent": "mcts:100000000"}, "at most"),
        ({"opponent": 3}, "opponent must be a string"),
        ({"settings": {"epsilon": [[1]]}}, "epsilon"),
        ({"settings": 7}, "settings"),
        ({"folder": "/"}, "folder"),
    ],
)
def test_plans_are_refused_with_a_reason(trainer: Client, fields: dict[str, Any], said: str) -> None:
    assert said in trainer.refused("POST", BEGIN, 400, **(SMALL | fields))


@pytest.mark.parametrize("path", ["look", "stop", "lesson"])
def test_nobody_reaches_a_training_without_its_token(trainer: Client, path: str) -> None:
    for token in ("", "x", "../..", "0" * 24):
        trainer.refused("POST", f"/api/training/{path}", 404, token=token)
    trainer.refused("POST", REPLY, 404, opponent="training:0")


def test_trainings_are_limited_forgotten_or_not_offered(processes: list[Process]) -> None:
    with visited(Server(ServerLimits(forgotten_after=0.2))) as http:
        token = Client(http).post(BEGIN, **SMALL)["token"]
        time.sleep(0.5)
        Client(http).refused("POST", LOOK, 404, token=token)
    with visited(Server(training=False)) as http:
        assert Client(http).get("/api/server")["training"] is False
        Client(http).refused("POST", BEGIN, 404, **SMALL)
        Client(http).refused("POST", REPLY, 404, opponent="training:x")
