"""Agents that are kept: named, played by everybody, downloaded, rated and judged, and there after a restart."""

from __future__ import annotations

import csv
import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from web_client import Client, visited

from tictac_agents import QLearning
from tictac_env import verdict
from tictac_env.games import get_game
from tictac_env.policies import load_player
from tictac_env.web import league as league_module
from tictac_env.web import results
from tictac_env.web.app import Server
from tictac_env.web.kept import KeptAgents, agent_name
from tictac_env.web.league_player import judged, openings
from tictac_env.web.limits import Limits
from tictac_env.web.requests import Refused

QUICK = Limits(rate=1e6, burst=10**6)
GAME = "TicTacToe-v0"
PLAN = {"agent": "QLearning", "game": GAME, "opponent": "random", "total": 30}
LEAGUE = {"store": "league", "game": GAME}
BEGIN, LOOK, KEEP, REPLY = "/api/training/begin", "/api/training/look", "/api/training/keep", "/api/reply"


def waited_for(found: Callable[[], Any], seconds: float = 120) -> Any:
    """The answer of `found` once it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if seen := found():
            return seen
        time.sleep(0.1)
    raise TimeoutError


def trained(client: Client, **changes: Any) -> str:
    """The token of a training that is over."""
    token: str = client.post(BEGIN, **(PLAN | changes))["token"]
    waited_for(lambda: client.post(LOOK, token=token)["state"] == "done")
    return token


def played(client: Client, pairs: int) -> Any:
    """The table, once so many pairs have played."""
    return waited_for(
        lambda: (found := client.get("/api/league/table", **LEAGUE))["games"] >= 10 * pairs and found, 240
    )


@pytest.fixture(scope="module", name="often", autouse=True)
def looked_at_often() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "SECONDS_BETWEEN_LOOKS", 0.1)
        yield


@pytest.fixture(scope="module", name="folder")
def league_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("league") / "class"


@pytest.fixture(scope="module", name="client")
def league_client(folder: Path) -> Iterator[Client]:
    with visited(Server(QUICK, league=folder)) as http:
        yield Client(http)


@pytest.fixture(scope="module", name="tokens")
def two_agents(client: Client) -> dict[str, str]:
    """The tokens of the trainings of two kept agents, by name."""
    tokens = {name: trained(client, seed=seed) for seed, name in enumerate(("Анна-1", "Bo b"))}
    for name, token in tokens.items():
        assert client.post(KEEP, token=token, name=f" {name.replace(' ', '  ')} ") == {"kept": name}
    return tokens


def test_a_kept_agent_is_an_opponent_for_everybody_and_a_file(client: Client, tokens: dict[str, str]) -> None:
    offered = client.get("/api/opponents", game=GAME)["league"]
    assert offered == [{"name": f"league:{name}", "shown": name} for name in tokens]
    assert client.get("/api/opponents", game="ConnectFour-v0")["league"] == []
    for name, token in tokens.items():
        assert client.post(LOOK, token=token)["kept"] == name
        asked = {"game": GAME, "moves": "5", "seed": 3}
        answers = [
            client.post(REPLY, **asked, opponent=one)["action"] for one in (f"league:{name}", f"training:{token}")
        ]
        assert answers[0] == answers[1]
    assert "Анна-1" in client.refused("POST", REPLY, 404, game="ConnectFour-v0", opponent="league:Анна-1")
    client.refused("POST", BEGIN, 400, **(PLAN | {"opponent": "league:Bo b"}))
    answer = client.http.get("/api/league/agent", params={"game": GAME, "name": "bo B"})
    assert answer.headers["content-disposition"] == "attachment; filename*=utf-8''Bo%20b.npz"
    assert answer.content.startswith(b"PK")


def test_the_league_rates_and_judges_them(client: Client, tokens: dict[str, str], folder: Path) -> None:
    table = played(client, 21)  # two agents and five policies, each pair
    names = [one["name"] for one in table["players"]]
    assert sorted(names) == sorted([*league_module.REFERENCES, *tokens])
    rows = waited_for(
        lambda: (found := by_name(client)) and all(one["unbeatable"] is not None for one in found.values()) and found
    )
    assert rows["perfect"]["unbeatable"] and rows["random"]["elo"] == 0
    for name in tokens:
        policy = load_player(folder / GAME / f"{name}.npz").policy
        truth = verdict(policy)
        assert (rows[name]["beaten_first"], rows[name]["beaten_second"]) == (
            truth.as_first.losing_line,
            truth.as_second.losing_line,
        )
        assert rows[name]["opponent"] == f"league:{name}"
        games = client.get("/api/league/games", **LEAGUE, first=name, second="rule")
        assert games["count"] == 5 and {one["first"] for one in games["games"]} == {name}
    waited_for(lambda: client.get("/api/league")["stores"][0]["games"][0]["waiting"] == 0)
    answer = client.http.get("/api/league/csv", params=LEAGUE)
    listed = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [one["name"] for one in listed] == names
    assert listed[0]["unbeatable"] == str(rows[names[0]]["unbeatable"])


def by_name(client: Client) -> dict[str, Any]:
    return {one["name"]: one for one in client.get("/api/league/table", **LEAGUE)["players"]}


def test_a_restart_keeps_the_league_and_plays_nothing_twice(
    client: Client, tokens: dict[str, str], folder: Path
) -> None:
    before = played(client, 21)
    with visited(Server(QUICK, league=folder, training=False)) as http:
        again = Client(http)
        listed = again.get("/api/league")
        assert listed["lasting"] is True
        assert listed["stores"][0]["games"][0] | {"count": 0, "waiting": 0} == {
            "game": GAME,
            "title": "Tic-tac-toe",
            "count": 0,
            "waiting": 0,
            "agents": 2,
            "failed": [],
        }
        assert again.get("/api/league/table", **LEAGUE)["players"] == before["players"]
        assert again.post(REPLY, game=GAME, moves="1", opponent="league:Bo b")["position"]["ply"] == 2
        again.refused("POST", KEEP, 404, token="x", name="Carl")


def test_another_copy_by_its_owner_takes_its_place(client: Client, tokens: dict[str, str], folder: Path) -> None:
    before = (folder / GAME / "Bo b.npz").stat().st_mtime_ns
    assert client.post(KEEP, token=tokens["Bo b"], name="BO B") == {"kept": "Bo b"}
    assert (folder / GAME / "Bo b.npz").stat().st_mtime_ns > before
    assert "Bo b" in client.refused("POST", KEEP, 409, token=tokens["Анна-1"], name="bo b")


@pytest.mark.parametrize(
    "name",
    ["", "A", "a" * 25, "-ab", "=1+2", "a/b", "a.b", "../x", "rule", "You", "z\u0301\u0301\u0301\u0301a", "a\u202eb"],
)
def test_what_is_no_name_is_refused(client: Client, tokens: dict[str, str], name: str) -> None:
    client.refused("POST", KEEP, 400, token=tokens["Bo b"], name=name)


@pytest.mark.parametrize("name", ["Al", "Zoë", "Zoe\u0308", "李小龍", "अनीता", "M_2 - x", "7b"])
def test_names_of_any_alphabet_are_taken(name: str) -> None:
    assert len(agent_name(name)) <= len(name)


def file_of(path: Path, game: str = GAME) -> Path:
    """The file of an agent that has learned little."""
    path.parent.mkdir(parents=True, exist_ok=True)
    QLearning(game, seed=0).learn(total_episodes=5, progress_bar=False).save(path)
    return path


def test_numbers_and_bytes_are_limited(tmp_path: Path) -> None:
    game, file = get_game(GAME), file_of(tmp_path / "agent.npz")
    size = file.stat().st_size
    for limits, names, status in (
        (Limits(kept_agents=1), ("Al", "Bo"), 409),
        (Limits(kept_agent_bytes=size - 1), ("Al",), 413),
        (Limits(kept_bytes=2 * size - 1), ("Al", "Bo"), 409),
        (Limits(keeps_a_minute=2), ("Al", "Bo", "Cy"), 429),
    ):
        kept = KeptAgents(limits)
        for name in names[:-1]:
            assert kept.keep(name, game, file) == name
        with pytest.raises(Refused) as refused:
            kept.keep(names[-1], game, file)
        assert refused.value.status_code == status
        assert [one.name for one in kept.agents(game)] == list(names[:-1])
        if names[:-1]:
            with pytest.raises(Refused, match="another agent"):  # its owner would say which it replaces
                kept.keep(names[0].lower(), game, file)
        kept.close()
        assert not kept.folder.exists()
    with pytest.raises(Refused):
        KeptAgents(Limits()).keep("Al", game, tmp_path / "none.npz")


def test_damaged_and_foreign_files_are_skipped_and_deleted_ones_are_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = file_of(tmp_path / GAME / "Good.npz")
    whole = good.read_bytes()
    (tmp_path / GAME / "Half.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / GAME / "Flip.npz").write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    (tmp_path / GAME / "rule.npz").write_bytes(whole)
    (tmp_path / "ConnectFour-v0").mkdir()
    (tmp_path / "ConnectFour-v0" / "Other.npz").write_bytes(whole)
    (tmp_path / "Nothing-v0").mkdir()
    (tmp_path / "Nothing-v0" / "Lost.npz").write_bytes(whole)
    kept = KeptAgents(Limits(), tmp_path)
    assert [one.name for one in kept.agents(get_game(GAME))] == ["Good"]
    assert kept.games() == [get_game(GAME)]
    said = capsys.readouterr().err.splitlines()
    assert sorted(line.split()[0] for line in said) == sorted(
        [
            "ConnectFour-v0/Other.npz",
            "Nothing-v0/Lost.npz",
            *(f"{GAME}/{name}.npz" for name in ("Half", "Flip", "rule")),
        ]
    )
    good.unlink()
    assert kept.games() == []


def test_a_damaged_store_is_put_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "league.sqlite").write_bytes(b"no store" * 100)
    (tmp_path / "judged.json").write_text("{")
    with visited(Server(QUICK, league=tmp_path)) as http:
        assert Client(http).get("/api/league")["stores"][0]["games"] == []
    assert (tmp_path / "league.damaged").exists()
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize(
    "judged",
    ["[" * 100_000, "[]", '{"a": 1}', '{"a": {"unbeatable": 1}}', '{"a": {"mistakes": NaN}}', '{"a": {"b": null}}'],
)
def test_damaged_judgements_are_made_again(judged: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "judged.json").write_text(judged)
    with visited(Server(QUICK, league=tmp_path)) as http:
        assert Client(http).get("/api/league")["stores"][0]["games"] == []
    assert "judged.json is damaged" in capsys.readouterr().err


def test_a_member_that_hangs_or_ends_the_process_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is a program of the test, which hangs, dies and answers by the names of the players."""
    (tmp_path / "stand_in.py").write_text(
        "import json, os, sys, time\n"
        "for line in sys.stdin:\n"
        "    names = json.loads(line)['players']\n"
        "    if 'Hangs' in names: time.sleep(600)\n"
        "    if 'Dies' in names: os._exit(3)\n"
        "    print(json.dumps({'mistakes': 0.5}), flush=True)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setattr(league_module, "PROCESS", "stand_in")
    monkeypatch.setattr(league_module, "JOB_SECONDS", 2.0)
    for seed, name in enumerate(("Hangs", "Dies", "Plays")):
        file = file_of(tmp_path / "agents" / GAME / f"{name}.npz")
        QLearning(GAME, seed=seed + 1).learn(total_episodes=5, progress_bar=False).save(file)
    with visited(Server(QUICK, league=tmp_path / "agents")) as http:
        client = Client(http)
        (game,) = waited_for(
            lambda: not (found := client.get("/api/league")["stores"][0]["games"])[0]["waiting"] and found
        )
        assert {one["name"] for one in game["failed"]} == {"Hangs", "Dies"}, game["failed"]
        assert game["agents"] == 3


def test_openings_and_judgements_fit_every_board() -> None:
    for name in ("TicTacToe-v0", "ConnectFour-v0", "KInARow-v0:3x3-2", "KInARow-v0:2x2-2"):
        found = openings(get_game(name))
        assert found[0] == "" and len(set(found)) == len(found) <= 25
    assert judged("rule", get_game("KInARow-v0:6x6-4")) == {}
    assert 0 < judged("rule", get_game("ConnectFour-v0"))["mistakes"] < 0.5


def test_checkpoints_of_another_game_are_not_offered(tmp_path: Path) -> None:
    file_of(tmp_path / "tic.npz")
    file_of(tmp_path / "four.npz", "ConnectFour-v0")
    with visited(Server(QUICK, tmp_path)) as http:
        for game, name in ((GAME, "tic.npz"), ("ConnectFour-v0", "four.npz")):
            assert [one["shown"] for one in Client(http).get("/api/opponents", game=game)["files"]] == [name]


def test_the_address_for_others_is_shown_with_its_code() -> None:
    pytest.importorskip("segno")
    server = Server(QUICK)
    with visited(server) as http:
        assert Client(http).get("/api/about")["address"] is None
        Client(http).refused("GET", "/api/qr", 404)
        server.link = "http://192.168.1.7:8000/"
        about = Client(http).get("/api/about")
        assert (about["address"], about["qr"]) == (server.link, True)
        picture = http.get("/api/qr")
        assert picture.headers["content-type"] == "image/svg+xml" and b"<svg" in picture.content
    server = Server(QUICK)
    server.link = "http://10.0.0.1:8000/"
    with visited(server, "192.168.1.9:81") as http:  # it was reached by that address
        assert Client(http).get("/api/about")["address"] == "http://192.168.1.9:81/"
