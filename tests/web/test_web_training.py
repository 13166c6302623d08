"""Trainings begun from the page: each its own, stopped, bounded, forgotten, and played against."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from web_client import Client, visited

from tictac_env.games import GAMES
from tictac_env.web.app import Server
from tictac_env.web.limits import Limits

SMALL = {"agent": "QLearning", "game": "TicTacToe-v0", "opponent": "random", "total": 50}
LOOK, BEGIN, REPLY = "/api/training/look", "/api/training/begin", "/api/reply"


@pytest.fixture(scope="module", name="trainer")
def training_client() -> Iterator[Client]:
    with visited(Server(Limits(rate=1e6, burst=10**6, trainings=2, kept_trainings=3))) as http:
        yield Client(http)


def finished(client: Client, token: str) -> Any:
    """The report once the training is over."""
    for _ in range(1200):
        report = client.post(LOOK, token=token)
        if report["state"] not in ("waiting", "running"):
            return report
        time.sleep(0.1)
    raise TimeoutError(report)


def test_a_table_is_trained_looked_into_and_played(trainer: Client) -> None:
    menu = trainer.get("/api/training/menu")
    for first in menu["first"].values():
        assert first["preset"] in menu["agents"][first["agent"]]["presets"]
    small = {one["name"]: one["small"] for one in trainer.get("/api/about")["games"]}
    assert small["TicTacToe-v0"] and not small["ConnectFour-v0"]
    token = trainer.post(BEGIN, **SMALL)["token"]
    assert len(token) >= 20
    report = finished(trainer, token)
    assert (report["state"], report["done"], report["rows"][-1]["at"]) == ("done", 50, 50)
    assert report["rows"][-1]["infallible"] is False
    assert trainer.post(LOOK, token=token, since=len(report["rows"]))["rows"] == []
    number = len(report["lessons"]) - 1
    assert trainer.post("/api/training/lesson", token=token, number=number)["at"] == report["lessons"][number]
    assert "no number" in trainer.refused("POST", "/api/training/lesson", 404, token=token, number=number + 1)
    fields = {"game": "TicTacToe-v0", "moves": "5", "opponent": f"training:{token}"}
    best = max(trainer.post("/api/thoughts", **fields)["moves"], key=lambda move: move["value"])
    assert trainer.post(REPLY, **fields)["action"] == best["action"]
    assert "holds an agent of the game" in trainer.refused("POST", REPLY, **(fields | {"game": "ConnectFour-v0"}))


def test_games_of_ones_own_are_offered_played_and_trained(own_game: str) -> None:
    Path("random.py").write_text("raise ImportError('the current folder hides a module of Python')")
    with visited(Server(Limits(rate=1e6, burst=10**6, sizes=0), games=[own_game, "KInARow-v0:3x3-2"])) as http:
        client = Client(http)
        names = [one["name"] for one in client.get("/api/about")["games"]]
        assert names == [*GAMES, "KInARow-v0:3x3-2"] and names[-2] == "Own-v0"
        for name in names[-2:]:
            assert client.post(REPLY, game=name, moves="1", opponent="rule")["position"]["game"] == name
        token = client.post(BEGIN, **(SMALL | {"game": "Own-v0", "total": 2}))["token"]
        assert finished(client, token)["state"] == "done"
        assert "'no_such_module:Own-v0'" in client.refused("POST", REPLY, game="no_such_module:Own-v0", opponent="rule")
    with pytest.raises(ValueError, match="there is no module 'no_such_module'"):
        Server(games=["no_such_module:Own-v0"])


def until(client: Client, token: str, state: str) -> Any:
    """The report once the training is in this state."""
    for _ in range(600):
        report = client.post(LOOK, token=token)
        if report["state"] == state:
            return report
        time.sleep(0.05)
    raise TimeoutError(report)


def test_trainings_wait_in_the_order_they_came_and_leave_when_cancelled_or_left() -> None:
    endless = SMALL | {"total": 1_000_000, "opponent": "minimax"}
    limits = Limits(rate=1e6, burst=10**6, trainings=1, kept_trainings=4, waits_unasked=1.5)
    with visited(Server(limits)) as http:
        client = Client(http)
        running, cancelled, left, last = (client.post(BEGIN, **endless)["token"] for _ in range(4))
        assert len({running, cancelled, left, last}) == 4
        assert "3 trainings are waiting" in client.refused("POST", BEGIN, 429, **endless)
        reports = [client.post(LOOK, token=token) for token in (running, cancelled, left, last)]
        assert [one["place"] for one in reports] == [0, 1, 2, 3]
        assert [one["state"] for one in reports] == ["running"] + 3 * ["waiting"]
        assert client.post("/api/training/stop", token=cancelled)["state"] == "stopped"
        assert [client.post(LOOK, token=token)["place"] for token in (cancelled, last)] == [0, 2]
        deadline = time.monotonic() + 30
        while client.post(LOOK, token=last)["place"] == 2 and time.monotonic() < deadline:
            time.sleep(0.1)  # its page asks, that of `left` does not
        assert client.post(LOOK, token=last)["place"] == 1
        client.refused("POST", LOOK, 404, token=left)
        client.post("/api/training/stop", token=running)
        while client.post(LOOK, token=running)["state"] == "running":
            client.post(LOOK, token=last)
            time.sleep(0.1)
        assert until(client, running, "stopped")["saved"]
        assert until(client, last, "running")["place"] == 0


def test_a_position_is_watched_while_an_agent_learns(trainer: Client) -> None:
    token = trainer.post(BEGIN, **(SMALL | {"total": 20_000_000}))["token"]
    deadline = time.monotonic() + 60
    for moves, legal in (("", 9), ("51", 7)):
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


def test_trainings_are_limited_forgotten_or_not_offered() -> None:
    with visited(Server(Limits(forgotten_after=0.2))) as http:
        token = Client(http).post(BEGIN, **SMALL)["token"]
        time.sleep(0.5)
        Client(http).refused("POST", LOOK, 404, token=token)
    with visited(Server(training=False)) as http:
        assert Client(http).get("/api/about")["training"] is False
        Client(http).refused("POST", BEGIN, 404, **SMALL)
        Client(http).refused("POST", REPLY, 404, opponent="training:x")
