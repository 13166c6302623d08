"""The page's files, and what the server refuses, always with a reason; no request, however malformed, makes it fail."""

from __future__ import annotations

import asyncio
import inspect
import ipaddress
import json
import math
import os
import random
import re
import socket
import string
import subprocess
import sys
import time
from collections import Counter
from dataclasses import FrozenInstanceError
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from conftest import breadth
from starlette.requests import Request
from web_client import PATIENT, Client, shared_client, visited  # noqa: F401  # the fixture `client`

from tictac_apps import cli
from tictac_apps.web import app, serve
from tictac_apps.web import opponents as opponents_module
from tictac_apps.web.app import STATIC, Server
from tictac_apps.web.limits import ServerLimits
from tictac_apps.web.opponents import NamedOpponents
from tictac_apps.web.requests import HEADERS, MAX_ADDRESSES, Fields, JSONAnswer, Rates, Refused, host_names, unless_left
from tictac_env.arena import round_robin
from tictac_env.games import GAMES, Game, get_game
from tictac_env.policies import POLICIES, Policy, make_policy
from tictac_env.position import Position
from tictac_env.solver.players import Perfect

GET = "about opponents position training/menu tournament tournament/table tournament/games"
POST = "reply thoughts exact review training/begin training/look training/stop training/lesson"
PATHS = ["/solve", "/", "/base.css", *(f"/api/{name}" for name in f"{GET} {POST}".split())]
FILES = [path for path in STATIC.iterdir() if path.is_file()]
REFERENCE = re.compile(r"""(?:src|href|from)[= ]"(?:\./)?([^"#]+)\"""")
ELSEWHERE = re.compile(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[a-z0-9.-]+\.[a-z]{2,}", re.IGNORECASE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_refer_to_files_that_are_there_and_to_nothing_elsewhere(path: Path, client: Client) -> None:
    text = path.read_text(encoding="utf-8")
    assert not ELSEWHERE.findall(text)
    for address in REFERENCE.findall(text):
        assert client.http.get(f"/{address}").status_code == 200, address
    if path.suffix == ".html":  # the content security policy would let nothing run that is inline
        assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon[a-z]+=\"", text)


def test_the_browser_keeps_files_until_they_change(client: Client) -> None:
    first = client.http.get("/base.css")
    assert first.headers["content-type"].startswith("text/css") and first.headers["cache-control"] == "no-cache"
    again = client.http.get("/base.css", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304 and again.content == b""


def test_limits_are_given_by_name_and_do_not_change() -> None:
    limits = ServerLimits()
    assert limits.threads >= 2
    with pytest.raises(FrozenInstanceError):
        limits.rate = 1e9  # type: ignore[misc]
    with pytest.raises(TypeError):
        ServerLimits(1)  # type: ignore[misc]  # of which of them?


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        ("4444444", "move 7 of '4444444': column 4 is full (legal are 1, 2, 3, 5, 6, 7)"),
        ("12121212", "move 8 of '12121212': the game was over before it"),
        ("48", "8"),
        ("4;4", "';'"),
        ("4" * 300, "300 characters"),
        ("é", "printable ASCII"),
    ],
)
def test_moves_are_refused_as_they_are_typed(client: Client, moves: str, said: str) -> None:
    assert said in client.refused("GET", "/api/position", game="ConnectFour-v0", moves=moves)
    assert said in client.refused("GET", "/solve", pos=moves)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"game": "ConnectFive"}, "did you mean ConnectFour-v0?"),
        ({"game": 4}, "game must be a string"),
        ({"game": "KInARow-v0:99x99-4"}, "at most 63"),
        ({"opponent": "human"}, "no opponent is called 'human'"),
        ({"opponent": "os:system"}, "no opponent is called 'os:system'"),
        ({"opponent": "tictac_env.policies:RulePolicy"}, "no opponent is called"),
        ({"opponent": "agent.npz"}, "no opponent is called"),
        ({"opponent": "file:../../etc/passwd"}, "there is no checkpoint"),
        ({"opponent": "training:x"}, ""),
        ({"opponent": "mcts:10000000"}, "at most 100,000 simulations"),
        ({"opponent": "minimax:40"}, "at most"),
        ({"game": "ConnectFour-v0", "opponent": "minimax:11"}, "at most 10 plies"),
        ({"game": "KInARow-v0:4x10-4", "opponent": "minimax:5"}, "at most 4 plies"),
        ({"opponent": "ntuple:11"}, "at most 10 plies"),
        ({"opponent": "ntuple:2000.5ms"}, "or 2000 ms"),
        ({"opponent": "perfect:nan"}, "[0, 1]"),
        ({"opponent": "level:11"}, "from 1 to 10"),
        ({"opponent": None}, "opponent is missing"),
        ({"seed": -1}, "seed must be an integer"),
        ({"seed": 2**53}, "seed must be an integer"),
        ({"seed": True}, "seed must be an integer"),
        ({"moves": "14253"}, "is over"),
    ],
)
def test_fields_are_refused_with_a_reason(client: Client, fields: dict[str, Any], said: str) -> None:
    asked = {"game": "TicTacToe-v0", "moves": "1", "opponent": "rule"} | fields
    assert said in client.refused("POST", "/api/reply", **asked)


@pytest.mark.parametrize("question", ["reply", "thoughts", "exact"])
def test_nothing_is_asked_about_a_game_that_is_over(client: Client, question: str) -> None:
    fields = {"game": "TicTacToe-v0", "moves": "14253", "opponent": "rule"}
    assert client.refused("POST", f"/api/{question}", 422, **fields) == "the game '14253' is over"


@pytest.mark.parametrize("name", ["localhost:8000", "LOCALHOST", "[::1]:8000", "192.168.1.7", "games.example.org:80"])
def test_it_answers_to_its_names_and_to_numbers(name: str) -> None:
    with visited(Server(allowed_hosts=["games.example.org"]), name) as http:
        assert http.get("/api/server").status_code == 200


@pytest.mark.parametrize(
    "name", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8000", "127.1", "1::1]", ""]
)
def test_a_page_whose_name_was_made_to_lead_here_learns_nothing(name: str) -> None:
    with visited(Server(allowed_hosts=["games.example.org"])) as http:
        for method, path in (("GET", "/"), ("GET", "/solve"), ("POST", "/api/training/begin")):
            refused = http.request(method, path, headers={"host": name})
            assert refused.status_code == 400 and "--allowed-host" in refused.json()["error"]
            assert HEADERS.items() <= dict(refused.headers).items()


def test_names_are_compared_in_small_letters_and_without_the_last_dot() -> None:
    names = ["Games.Example.", "pc-7", "10.0.0.1", "::1", "[::1]"]
    assert host_names(names) == {"localhost", "games.example", "pc-7", "10.0.0.1", "::1", "[::1]"}
    assert host_names([]) == {"localhost"}


def test_a_person_who_types_a_name_that_is_not_allowed_reads_a_page() -> None:
    with visited(Server()) as http:
        refused = http.get("/", headers={"accept": "text/html,*/*;q=0.8", "host": "<b>.local"})
    assert refused.status_code == 400 and refused.headers["content-type"].startswith("text/html")
    assert "&lt;b&gt;.local" in refused.text and "<b>" not in refused.text and "--allowed-host" in refused.text


def test_the_address_that_is_shown_can_be_opened(tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    command = [sys.executable, "-m", "tictac_apps", "serve", "--host", "0.0.0.0", "--port", "0", "--open"]
    env = os.environ | {"BROWSER": str(browser)}
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
    try:
        assert program.stdout is not None
        shown = urlsplit(program.stdout.readline().split()[0])
        for _ in range(200):
            if opened.exists() and opened.read_text():
                break
            time.sleep(0.05)
        assert opened.read_text() == f"http://127.0.0.1:{shown.port}/\n"
    finally:
        program.kill()
        program.communicate()
    assert not ipaddress.ip_address(str(shown.hostname)).is_unspecified


def test_a_port_that_is_taken_is_named_and_an_address_of_ipv6_is_bracketed() -> None:
    with serve._listening_to("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert listener.proto == socket.IPPROTO_TCP
        with pytest.raises(OSError, match=rf"cannot listen to 127\.0\.0\.1, port {port}: Address already in use"):
            serve._listening_to("127.0.0.1", port)
    assert (serve._link("::1", 80), serve._link("10.0.0.1", 8000)) == ("http://[::1]:80/", "http://10.0.0.1:8000/")
    assert (serve.HOST, serve.PORT) == ("127.0.0.1", 8000)  # as the documentation says
    assert serve._lan_address() == "" or ipaddress.IPv4Address(serve._lan_address())


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("localhost", False), ("0.0.0.0", True)])
def test_who_serves_to_others_is_warned(
    host: str, warned: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(Server, "warm", lambda server: None)
    # The real one sets up logging, which closes the handlers of pytest's own log.
    monkeypatch.setattr("tictac_apps.web.connections.configured", lambda *arguments: None)
    closing = SimpleNamespace(run=lambda sockets: sockets[0].close())
    monkeypatch.setattr("uvicorn.Server", lambda config: closing)
    serve.serve(host, 0)
    assert ("no passwords" in capsys.readouterr().err) == warned


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--checkpoints", "no-such-folder"),
        ("--trusted-proxy", "proxy.example"),
        *(("--allowed-host", name) for name in ("", "*", "http://a.example", "a:80")),
    ],
)
def test_a_wrong_option_is_refused(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["serve", "--port", "0", option, value]) == 2
    assert repr(value) in capsys.readouterr().err


@pytest.mark.parametrize("number", ["0", "-1", "65"])
def test_a_wrong_number_of_trainings_is_refused(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["serve", "--port", "0", "--trainings", number])
    assert f"must be an integer from 1 to 64, not '{number}'" in capsys.readouterr().err


def test_requests_must_be_json_objects_of_a_bounded_size(client: Client) -> None:
    post = client.http.post
    assert post("/api/reply", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
    for body in (b"", b"[]", b"{", b'"x"', b"\xff", b"[" * 10_000):
        response = post("/api/reply", content=body, headers={"content-type": "application/json"})
        assert response.status_code == 400
        assert response.json()["error"]
    large = json.dumps({"game": "x" * PATIENT.body_bytes}).encode()
    assert post("/api/reply", content=large, headers={"content-type": "application/json"}).status_code == 413
    chunks = (b"x" * 1000 for _ in range(100))  # without a length
    assert post("/api/reply", content=chunks, headers={"content-type": "application/json"}).status_code == 413


def read(parts: list[bytes], most: int, kind: str = "application/json", ends: bool = True) -> Fields:
    """The fields of a POST that comes in parts; the visitor leaves after the last one unless it `ends`."""
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    messages.append({"type": "http.request" if ends else "http.disconnect"})

    async def receive() -> Any:
        return messages.pop(0)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(b"content-type", kind.encode())],
    }
    return asyncio.run(Fields.of(Request(scope | {"server": ("a.example", 80), "scheme": "http"}, receive), most))


def test_a_request_may_come_in_parts_and_be_as_long_as_is_allowed() -> None:
    body = b'{"game": "TicTacToe-v0"}'
    for kind in ("application/json", "Application/JSON ; charset=utf-8"):
        fields = read([body[:5], body[5:]], len(body), kind)
        assert fields == {"game": "TicTacToe-v0"} and (fields.address, fields.site) == ("", "http://a.example/")
    for parts, ends, status in (([body, b" "], True, 413), ([body[:5]], False, 400), ([body[:5]], True, 400)):
        with pytest.raises(Refused) as refused:
            read(parts, len(body), ends=ends)
        assert refused.value.status_code == status


def test_work_for_a_visitor_who_leaves_is_cancelled() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    async def story() -> None:
        messages = [{"type": "http.request"}, {"type": "http.disconnect"}]

        async def receive() -> Any:
            await asyncio.sleep(0)
            return messages.pop(0)

        with pytest.raises(Refused) as refused:
            await unless_left(Request({"type": "http"}, receive), work())
        await asyncio.sleep(0)
        assert refused.value.status_code == 499 and ended == ["cancelled"] and not messages

    asyncio.run(story())


@pytest.mark.parametrize("value", [0, 9, "0", "9", "0" * 16])
def test_integers_come_in_json_or_as_digits(value: Any) -> None:
    assert Fields({"page": value}).integer("page", 9) == int(value) and Fields({}).integer("page", 9) == 0


@pytest.mark.parametrize(
    "value", [-1, 10, "-1", "", "1.5", "²", "٣", "0" * 17, True, False, 1.0, None, [1], math.nan, -math.inf]
)
def test_what_is_no_integer_of_the_range_is_shown(value: Any) -> None:
    shown = "a number that is not finite" if isinstance(value, float) and value != 1.0 else ascii(value)
    with pytest.raises(Refused) as refused:
        Fields({"page": value}).integer("page", 9)
    assert (
        refused.value.detail == f"page must be an integer from 0 to 9, not {shown}" and refused.value.status_code == 400
    )


def test_strings_have_a_longest_length_and_errors_show_their_beginning() -> None:
    for longest, fields in ((96, Fields({"w": "ж" * 96})), (7, Fields({"w": "ж" * 7}))):
        assert fields.words("w", longest=longest) == "ж" * longest
        with pytest.raises(Refused, match=f"w has {longest} characters; at most {longest - 1} are allowed"):
            fields.words("w", longest=longest - 1)
    with pytest.raises(Refused, match="97 characters; at most 96"):
        Fields({"w": "x" * 97}).text("w")
    assert Fields({}).text("w", "default") == "default"
    assert Fields({"seed": 2**53 - 1}).seed == 2**53 - 1 and Fields({}).seed == 0
    for value, shown in (("x" * 58, repr("x" * 58)), ("x" * 59, f"'{'x' * 56}...")):
        with pytest.raises(Refused) as refused:
            Fields({"w": value}).integer("w", 1)
        assert refused.value.detail.endswith(f"not {shown}")
    for fields, told in (
        ({"moves": "1" * 256}, "is taken"),
        ({"moves": "1" * 257}, "at most 256"),
        ({"game": "x" * 65}, "at most 64"),
    ):
        with pytest.raises(Refused, match=told):
            Fields(fields).position()
    with pytest.raises(Refused) as refused:
        Fields({"game": "x" * 64}).position()
    assert refused.value.status_code == 400 and "characters" not in refused.value.detail


def test_answers_are_ascii_and_hold_no_number_that_json_lacks() -> None:
    assert JSONAnswer({"é": "\ud800", "a": [1, None]}).body == b'{"\\u00e9":"\\ud800","a":[1,null]}'
    with pytest.raises(ValueError, match="JSON"):
        JSONAnswer({"value": math.nan})


class Broken(Policy):
    """Fails, or chooses a cell that is taken."""

    def __init__(self, fails: bool) -> None:
        self.fails = fails

    def act(self, position: Position, seed: int) -> int:
        if self.fails:
            raise ValueError("out of order")
        return position.moves[0]

    def probabilities(self, position: Position) -> Any:
        raise ValueError("out of order")


@pytest.mark.parametrize("fails", [True, False])
def test_an_opponent_that_cannot_play_is_an_answer_of_the_server(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(ServerLimits())
    monkeypatch.setattr(server.opponents, "get", lambda *asked: Broken(fails))
    fields = Fields({"game": "TicTacToe-v0", "moves": "5", "opponent": "rule"})
    for answer, told in ((server.reply, "rule cannot play here"), (server.thoughts, "rule has no thoughts here")):
        with pytest.raises(Refused, match=told) as refused:
            answer(fields)
        assert refused.value.status_code == 422
    server.close()


@pytest.mark.parametrize(("waited", "left"), [(0.25, [2.75, 5.75, 2.75]), (1.5, [1.5, 4.5, 1.5]), (60, [0, 0, 0])])
def test_time_that_a_request_has_waited_is_no_time_to_search(
    waited: float, left: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, seconds = Server(ServerLimits()), list[float]()
    for name in ("exact_values", "review", "page_scores"):
        monkeypatch.setattr(app, name, lambda solver, position, time: seconds.append(time))
    monkeypatch.setattr(app, "own_solver", lambda game: None)
    fields = Fields({"game": "ConnectFour-v0", "pos": "44"})
    fields.arrived -= 100
    assert 100 <= fields.waited < 200
    monkeypatch.setattr(Fields, "waited", waited)
    server.exact(fields)
    server.review(fields)
    assert server.solve(fields).status_code == 503
    assert seconds == left
    server.close()


def test_the_server_prepares_what_the_first_visitors_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    server, asked = Server(ServerLimits(), training=False), []

    class Prepared(Policy):
        def act(self, position: Position, seed: int) -> int:
            asked.append((name, position.game, position.ply))
            return 0

    def prepared(opponent: str, game: Any) -> Policy:
        nonlocal name
        name = opponent
        if opponent == "ntuple:2":
            raise Refused("it has no network")
        return Prepared()

    name, solvers = "", list[str]()
    monkeypatch.setattr(server.opponents, "get", prepared)
    monkeypatch.setattr(app, "use_solver", solvers.append)
    server.warm()
    names = ("mcts:10", "minimax:2", "rule", "perfect", "ntuple")
    assert asked == [(one, game, 0) for game in GAMES.values() for one in names] and solvers == list(GAMES)
    server.close()


def test_unknown_addresses_and_methods_are_told_and_every_answer_has_the_headers(client: Client) -> None:
    for path, status in (("/nothing", 404), ("/../app.py", 404), ("/api/nothing", 404), ("/api/reply", 405)):
        assert client.refused("GET", path, status)
    for path in ("/", "/main.js", "/api/server", "/nothing", "/solve?pos=9"):
        assert HEADERS.items() <= dict(client.http.get(path).headers).items()
    assert "unsafe" not in HEADERS["content-security-policy"]


def test_checkpoints_come_from_the_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "secret.npz").write_bytes(b"secret")
    (tmp_path / "agents" / "broken.npz").write_bytes(b"no agent")
    (tmp_path / "agents" / "notes.txt").write_text("no agent")
    with visited(Server(PATIENT, tmp_path / "agents")) as http:
        client = Client(http)
        assert client.get("/api/opponents")["files"] == [{"name": "file:broken.npz", "shown": "broken.npz"}]
        for name in ("../secret.npz", "agents/broken.npz", str(tmp_path / "secret.npz"), "notes.txt", ".", "", "\0"):
            reason = client.refused("POST", "/api/reply", opponent=f"file:{name}", game="TicTacToe-v0")
            assert "secret" not in reason.replace(repr(name), "")
        reason = client.refused("POST", "/api/reply", opponent="file:broken.npz")
        assert "broken.npz" in reason
        assert str(tmp_path) not in reason


def test_one_size_too_many_is_refused() -> None:
    with visited(Server(ServerLimits(sizes=1))) as http:
        client = Client(http)
        client.post("/api/reply", game="KInARow-v0:3x4-3", opponent="random")
        client.post("/api/reply", game="TicTacToe-v0", opponent="random")
        client.post("/api/reply", game="KInARow-v0:3x4-3", opponent="rule")
        assert "KInARow-v0:3x4-3" in client.refused("POST", "/api/reply", 422, game="KInARow-v0:3x3-2", opponent="rule")


def test_the_rate_is_limited_by_address() -> None:
    now = [0.0]
    rates = Rates(2, 3, lambda: now[0])
    assert [rates.wait("a") for _ in range(4)] == [0, 0, 0, pytest.approx(0.5)]
    assert rates.wait("b") == 0
    now[0] = 0.5
    assert rates.wait("a") == 0 < rates.wait("a")
    now[0] = 1000  # a long pause earns no more than one burst
    assert [rates.wait("a") for _ in range(4)] == [0, 0, 0, pytest.approx(0.5)]
    with visited(Server(ServerLimits(rate=0.01, burst=2))) as http:
        assert [http.get("/api/server").status_code for _ in range(3)] == [200, 200, 429]
        assert int(http.get("/api/server").headers["retry-after"]) > 50
    rates = Rates(1, 1, lambda: 0.0)  # of many addresses those silent for longest are forgotten
    assert not any(rates.wait(str(number)) for number in range(MAX_ADDRESSES + 1))
    assert rates.wait(str(MAX_ADDRESSES)) > 0 == rates.wait("0")


def test_time_that_a_request_has_waited_is_no_time_to_think() -> None:
    opponents = NamedOpponents(ServerLimits(move_seconds=2))
    players = [opponents.get("perfect", GAMES["ConnectFour-v0"], waited) for waited in (0, 1.5, 9)]
    assert [player.time_limit for player in players if isinstance(player, Perfect)] == [2, 0.5, 0.05]


@pytest.mark.parametrize(
    ("game", "allowed", "refused"),
    [
        ("TicTacToe-v0", "mcts:100000", "mcts:100001"),
        ("TicTacToe-v0", "minimax:9", "minimax:10"),
        ("KInARow-v0:3x4-3", "minimax:12", "minimax:13"),  # the largest board that is tabulated
        ("ConnectFour-v0", "minimax-first:10", "minimax-first:11"),
        ("KInARow-v0:4x9-4", "minimax:10", "minimax:11"),
        ("KInARow-v0:4x10-4", "minimax:4", "minimax:5"),
        ("ConnectFour-v0", "ntuple:10", "ntuple:11"),
        ("ConnectFour-v0", "ntuple:2000ms", "ntuple:2001ms"),
        ("TicTacToe-v0", "level:1", "level:0"),
    ],
)
def test_opponents_are_as_strong_as_is_allowed(game: str, allowed: str, refused: str) -> None:
    opponents = NamedOpponents(ServerLimits())
    assert isinstance(opponents.get(allowed, get_game(game)), Policy)
    with pytest.raises(Refused):
        opponents.get(refused, get_game(game))


def test_the_menu_has_each_opponent_once_and_the_words_name_them() -> None:
    opponents = NamedOpponents(ServerLimits())
    for game in GAMES.values():
        menu = opponents.menu(game)
        names = [one["name"] for one in menu["opponents"]]
        levels = [name for name in names if name.startswith("level:")]
        assert levels == [f"level:{number}" for number in range(1, 11)] and len(set(names)) == len(names)
        assert {"random", "rule", "ntuple", "perfect:0.1"} <= set(names) and "human" not in names
        for name in ("minimax", "minimax-first"):  # on a large game with its depth
            assert str(make_policy(name, game)) in names and (name in names) == (game.cells == 9)
        assert menu["league"] == menu["files"] == []
        assert (menu["default"], "minimax:8" in names) == (("level:5", False) if game.cells == 9 else ("level:4", True))


def test_nothing_is_opened_and_nothing_is_kept_unasked() -> None:
    usual = {name: parameter.default for name, parameter in inspect.signature(serve.serve).parameters.items()}
    assert (usual["browser"], usual["league"], usual["store"], usual["host"]) == (False, None, None, "127.0.0.1")


def test_an_unknown_name_is_told_all_others() -> None:
    with pytest.raises(Refused, match="no opponent is called 'mctss'") as refused:
        NamedOpponents(ServerLimits()).get("mctss", GAMES["TicTacToe-v0"])
    told = re.findall(r"[\w-]+", refused.value.detail.partition("there are ")[2].partition(", with arguments")[0])
    assert told == [name for name in POLICIES if name != "human"] and refused.value.status_code == 404


def test_files_that_are_missing_or_too_large_are_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded(path: Path, changed: float, game: Game) -> Policy:
        raise ValueError(f"{path} holds no agent")

    monkeypatch.setattr(opponents_module, "_loaded", loaded)
    game = GAMES["TicTacToe-v0"]
    opponents = NamedOpponents(ServerLimits(), tmp_path, lambda token: tmp_path / "none.npz")
    for size, status, told in (
        (256 << 20, 422, "422: large.npz holds"),
        ((256 << 20) + 1, 400, "is too large to load"),
    ):
        with (tmp_path / "large.npz").open("wb") as file:
            file.truncate(size)  # without a byte on the disk
        with pytest.raises(Refused, match=told) as refused:
            opponents.get("file:large.npz", game)
        assert refused.value.status_code == status
    for name, status in (("training:x", 409), ("league:Al", 404), ("file:none.npz", 404)):
        with pytest.raises(Refused) as refused:
            opponents.get(name, game)
        assert refused.value.status_code == status
    with pytest.raises(Refused, match="trains no agents") as refused:
        NamedOpponents(ServerLimits()).get("training:x", game)
    assert refused.value.status_code == 404 and NamedOpponents(ServerLimits()).files() == {}


WORDS = (
    *("", "game", "moves", "opponent", "seed", "pos", "TicTacToe-v0", "ConnectFour-v0", "KInARow-v0:3x3-3", "rule"),
    *("mcts:10", "level:2", "perfect", "random:1", "file:x", "training:x", "KInARow-v0:0x0-0", "4453", "44444444"),
    *("0" * 80, "\x00", "\ud800", "é", "'", '"', "../", "%00", "NaN", "-1", "1e999", "9" * 400, "{}", "[]"),
    *(None, True, 0, -1, 7, 2**53, 2**80, 1.5, float("nan"), float("inf")),
)


def malformed(rng: random.Random) -> tuple[str, str, dict[str, Any]]:
    """A request that is wrong in some way, or by chance is not: method, path, and what else httpx takes."""

    def value(depth: int = 0) -> Any:
        kind = rng.randrange(7 if depth < 2 else 5)
        if kind < 3:
            return rng.choice(WORDS)
        if kind < 5:
            return "".join(rng.choices(string.printable if kind == 3 else "123456789", k=rng.randrange(40)))
        values = [value(depth + 1) for _ in range(rng.randrange(3))]
        return values if kind == 5 else {str(rng.choice(WORDS)): one for one in values}

    method = rng.choice(("GET", "POST", "POST", "PUT", "HEAD"))
    path = rng.choice([*PATHS, "/api/", "/js/", "/%2e%2e/app.py", "/%00", "/" + "x" * 300])
    names = ("game", "moves", "opponent", "seed", "pos", "token", "number", "store", "page", "settings", "agent")
    fields = {name: value() for name in rng.sample(names, rng.randrange(len(names)))}
    if rng.random() < 0.7:
        fields |= {"game": rng.choice(("TicTacToe-v0", "ConnectFour-v0")), "opponent": rng.choice(("rule", "mcts:5"))}
    if path.endswith("begin"):  # otherwise some would begin trainings
        fields["total"] = rng.choice((0, -5, None, "x", 10**9, 1.5, [], True))
    if path.startswith("/api/tournament/") and rng.random() < 0.5:
        fields |= {"store": "games", "page": rng.choice((0, 1, 10**9))}
    keywords: dict[str, Any] = {"headers": {"content-type": rng.choice(("application/json", "application/json", "x"))}}
    if method == "POST":
        body = json.dumps(fields).encode()
        if rng.random() < 0.15:
            at = rng.randrange(len(body))
            body = body[:at] + bytes(rng.choices(range(256), k=3)) + body[at + 1 :]
        return method, path, keywords | {"content": body}
    sendable = {name: str(one).encode("utf-8", "replace").decode() for name, one in fields.items()}
    return method, path, keywords | {"params": sendable}


@pytest.mark.parametrize("requests", breadth([200], [10_000]))
def test_malformed_requests_never_make_the_server_fail(requests: int, tmp_path: Path) -> None:
    """And every refusal is JSON with a reason, and the server is afterwards as it was before."""
    store = tmp_path / "games.sqlite"
    round_robin(["random", "rule"], games=2, store=store)
    kept, rng, statuses = store.read_bytes(), random.Random(0), Counter[int]()
    quick = ServerLimits(rate=1e9, burst=10**9, exact_seconds=0.02, review_seconds=0.02, move_seconds=0.1)
    with visited(Server(quick, store=store)) as http:
        known = {path: http.get(path).json() for path in ("/api/server", "/api/opponents", "/api/training/menu")}
        for _ in range(requests):
            method, path, keywords = malformed(rng)
            response = http.request(method, path, **keywords)
            statuses[response.status_code] += 1
            late = path == "/solve" and response.status_code == 503  # not solved in time, as documented
            assert response.status_code < 500 or late, (method, path, keywords, response.text)
            if response.status_code >= 400 and method != "HEAD":
                assert response.json()["error"]
        assert {path: http.get(path).json() for path in known} == known
        reply = {"game": "ConnectFour-v0", "moves": "112233", "opponent": "rule"}
        assert http.post("/api/reply", json=reply).json()["action"] == 3  # which wins
    assert store.read_bytes() == kept
    assert min(statuses[200], statuses[400]) > requests // 20
