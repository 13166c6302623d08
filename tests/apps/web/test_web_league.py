"""Agents that are kept: named, played by everybody, downloaded, rated and judged, and there after a restart."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import shutil
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from web_client import Client, visited, waited_for

from tictac_agents import QLearning
from tictac_apps.web import league as league_module
from tictac_apps.web import league_player, results
from tictac_apps.web.app import Server
from tictac_apps.web.kept import KeptAgents, agent_name
from tictac_apps.web.league import REFERENCES, League, LeagueGames
from tictac_apps.web.league_player import JobAnswer, JobRequest, Truth, judged, openings
from tictac_apps.web.limits import ServerLimits
from tictac_apps.web.requests import Fields, Refused
from tictac_env import verdict
from tictac_env.arena import Entrant, Fixture, GameRecord, ResultStore
from tictac_env.arena.records import RatingRow
from tictac_env.games import GAMES, Game, get_game
from tictac_env.policies import load_player
from tictac_env.solver.enumerate import SMALL_CELLS

QUICK = ServerLimits(rate=1e6, burst=10**6)
GAME = "TicTacToe-v0"
PLAN = {"agent": "QLearning", "game": GAME, "opponent": "random", "total": 30}
NAMES = ("Bo b", "Анна B-1")
"""The agents of the league, in the order in which they were kept."""
LEAGUE = {"store": "league", "game": GAME}
BEGIN, LOOK, KEEP, REPLY = "/api/training/begin", "/api/training/look", "/api/training/keep", "/api/reply"


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
    """A server that finds one agent in its folder."""
    file_of(folder / GAME / "Bo b.npz")
    with visited(Server(QUICK, league=folder)) as http:
        yield Client(http)


@pytest.fixture(scope="module", name="token")
def kept_token(client: Client) -> str:
    """The token of a training whose agent is kept, too."""
    token = trained(client)
    assert client.post(KEEP, token=token, name=" Анна   B-1 ") == {"kept": "Анна B-1"}
    return token


def test_a_kept_agent_is_an_opponent_for_everybody_and_a_file(client: Client, token: str) -> None:
    offered = client.get("/api/opponents", game=GAME)["league"]
    assert offered == [{"name": f"league:{name}", "shown": name} for name in NAMES]
    assert client.get("/api/opponents", game="ConnectFour-v0")["league"] == []
    assert client.post(LOOK, token=token)["kept"] == "Анна B-1"
    asked = {"game": GAME, "moves": "5", "seed": 3}
    answers = [client.post(REPLY, **asked, opponent=one)["action"] for one in ("league:Анна B-1", f"training:{token}")]
    assert answers[0] == answers[1]
    assert "Анна B-1" in client.refused("POST", REPLY, 404, game="ConnectFour-v0", opponent="league:Анна B-1")
    client.refused("POST", BEGIN, 400, **(PLAN | {"opponent": "league:Bo b"}))
    answer = client.http.get("/api/league/agent", params={"game": GAME, "name": "bo B"})
    assert answer.headers["content-disposition"] == "attachment; filename*=utf-8''Bo%20b.npz"
    assert answer.content.startswith(b"PK")


def test_the_league_rates_and_judges_them(client: Client, token: str, folder: Path) -> None:
    table = played(client, 21)  # two agents and five policies, each pair
    names = [one["player"] for one in table["players"]]
    assert sorted(names) == sorted([*REFERENCES, *NAMES])
    rows = waited_for(
        lambda: (found := by_name(client)) and all(one["unbeatable"] is not None for one in found.values()) and found
    )
    assert rows["perfect"]["unbeatable"] and rows["rule"]["elo"] == 0
    for name in NAMES:
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
    assert [one["player"] for one in listed] == names
    assert listed[0]["unbeatable"] == str(rows[names[0]]["unbeatable"])


def by_name(client: Client) -> dict[str, Any]:
    return {one["player"]: one for one in client.get("/api/league/table", **LEAGUE)["players"]}


def test_a_restart_keeps_the_league_and_plays_nothing_twice(client: Client, token: str, folder: Path) -> None:
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


def test_another_copy_by_its_owner_takes_its_place(client: Client, token: str, folder: Path) -> None:
    file = folder / GAME / "Анна B-1.npz"
    before = file.stat().st_mtime_ns
    assert client.post(KEEP, token=token, name="АННА b-1") == {"kept": "Анна B-1"}
    assert file.stat().st_mtime_ns > before
    assert "Bo b" in client.refused("POST", KEEP, 409, token=token, name="bo b")


@pytest.mark.parametrize(
    "name",
    ["", "A", "a" * 25, "-ab", "=1+2", "a/b", "a.b", "../x", "rule", "You", "z\u0301\u0301\u0301\u0301a", "a\u202eb"],
)
def test_what_is_no_name_is_refused(client: Client, token: str, name: str) -> None:
    client.refused("POST", KEEP, 400, token=token, name=name)


@pytest.mark.parametrize("name", ["Al", "a" * 24, "Zoë", "Zoe\u0308", "李小龍", "अनीता", "M_2 - x", "7b"])
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
        (ServerLimits(kept_agents=1), ("Al", "Bo"), 409),
        (ServerLimits(kept_agent_bytes=size - 1), ("Al",), 413),
        (ServerLimits(kept_bytes=2 * size - 1), ("Al", "Bo"), 409),
        (ServerLimits(keeps_a_minute=2), ("Al", "Bo", "Cy"), 429),
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
        KeptAgents(ServerLimits()).keep("Al", game, tmp_path / "none.npz")


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
    for silent in ("notes.txt", ".Good.npz"):
        (tmp_path / GAME / silent).write_bytes(whole)
    kept = KeptAgents(ServerLimits(), tmp_path)
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
    with pytest.raises(Refused, match="no agent called 'good' is kept here for Tic-tac-toe") as refused:
        kept.get("good", get_game(GAME))
    assert refused.value.status_code == 404


def test_agents_are_listed_in_the_order_in_which_they_were_kept(tmp_path: Path) -> None:
    for seconds, name in enumerate(("Zoe", "Al", "Mo")):
        os.utime(file_of(tmp_path / GAME / f"{name}.npz"), (seconds, seconds))
    kept, game = KeptAgents(ServerLimits(), tmp_path), get_game(GAME)
    assert [one.name for one in kept.agents(game)] == ["Zoe", "Al", "Mo"] and kept.lasting
    content = kept.get("Al", game).path.read_bytes()
    assert kept.keep("al", game, kept.get("Zoe", game).path, earlier="Al") == "Al"
    assert [one.name for one in kept.agents(game)] == ["Zoe", "Mo", "Al"]
    assert kept.get("AL", game).path.read_bytes() == content  # of an equal plan


def test_the_file_of_an_agent_is_named_by_its_game_and_its_name(tmp_path: Path) -> None:
    file, game = tmp_path / "agent.zip", get_game("KInARow-v0:5x6-4")
    file.write_bytes(b"learned")
    kept = KeptAgents(ServerLimits(keeps_a_minute=1))
    assert not kept.lasting and kept.keep("Ann B", game, file, address="10.0.0.1") == "Ann B"
    path = kept.get("ann b", game).path
    assert path == kept.folder / "KInARow-v0%3A5x6-4" / "Ann B.zip" and path.read_bytes() == b"learned"
    with pytest.raises(Refused, match="try again in 60 s") as refused:
        kept.keep("Bo", game, file, address="10.0.0.1")
    assert (refused.value.status_code, refused.value.headers) == (429, {"retry-after": "60"})
    assert kept.keep("Bo", game, file, address="10.0.0.2") == "Bo"
    kept.close()


def test_a_temporary_folder_may_be_gone_at_the_end() -> None:
    kept = KeptAgents(ServerLimits())
    shutil.rmtree(kept.folder)
    kept.close()
    assert not kept.folder.exists()


def test_a_damaged_store_is_put_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "league.sqlite").write_bytes(b"no store" * 100)
    (tmp_path / "judged.json").write_text("{")
    with visited(Server(QUICK, league=tmp_path)) as http:
        assert {game["agents"] for game in Client(http).get("/api/league")["stores"][0]["games"]} == {0}
    assert (tmp_path / "league.damaged").exists()
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize(
    "judged",
    [
        *("[" * 100_000, "[]", '{"a": 1}', '{"a": {"unbeatable": 1}}', '{"a": {"b": null}}'),
        *('{"a": {"mistakes": NaN}}', '{"a": {"mistakes": 1.01}}', '{"a": {"mistakes": -0.01}}'),
    ],
)
def test_damaged_judgements_are_made_again(judged: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "judged.json").write_text(judged)
    with visited(Server(QUICK, league=tmp_path)) as http:
        assert {game["agents"] for game in Client(http).get("/api/league")["stores"][0]["games"]} == {0}
    assert "judged.json is damaged" in capsys.readouterr().err


class Followed(League):
    """A league that writes its jobs down instead of doing them, once it is released; some of them fail.

    Attributes:
        jobs: the players of each job.
        waiting: the number of agents that have games to play during each of the first 24.
    """

    def __init__(self, agents: KeptAgents, failing: Collection[tuple[str, ...]] = ()) -> None:
        self.jobs: list[tuple[str, ...]] = []
        self.waiting: list[int] = []
        self.failing, self.released = failing, threading.Event()
        super().__init__(agents)

    def _answer(self, job: JobRequest) -> JobAnswer:
        self.released.wait()
        players = tuple(job.players)
        self.jobs.append(players)
        if len(self.waiting) < 24:
            self.waiting.append(self.shown["waiting"])
        if players in self.failing:
            return JobAnswer(failed="it broke")
        return JobAnswer(Truth(mistakes=0.5) if len(players) == 1 else None)

    @property
    def shown(self) -> Any:
        return self._listed_game((self.agents.games() or self._games_shown())[0])

    def all_jobs(self) -> list[tuple[str, ...]]:
        """All jobs, in their order."""
        self.released.set()
        waited_for(lambda: not self._jobs and not self._current)
        return self.jobs

    def close(self) -> None:
        self.released.set()
        super().close()


def kept_under(names: Collection[str], folder: Path, game: str = GAME) -> KeptAgents:
    """Agents whose files differ, and hold nothing."""
    kept = KeptAgents(ServerLimits(), folder)
    for name in names:
        (folder / "agent.npz").write_text(name)
        kept.keep(name, get_game(game), folder / "agent.npz")
    return kept


def game_of(game: str, first: Entrant, second: Entrant, result: int, number: int = 0) -> GameRecord:
    return GameRecord(Fixture(game, first, second, "", number), "1", result)


@pytest.mark.parametrize(
    ("game", "perfect"), [(GAME, True), ("ConnectFour-v0", True), ("KInARow-v0:6x6-4", False)]
)  # without a book perfect play is slow
def test_newcomers_are_judged_first_then_meet_policies_then_agents(game: str, perfect: bool, tmp_path: Path) -> None:
    met = REFERENCES if perfect else REFERENCES[:-1]
    judged = [(one,) for one in met if one != "perfect" or get_game(game).cells <= SMALL_CELLS]
    names = ("Al", "Bo", "Cy")
    singles, agents = [(name,) for name in names], [("Bo", "Al"), ("Cy", "Al"), ("Cy", "Bo")]
    newcomers = [*((name, one) for name in names for one in met), *agents]
    waiting = [3] * (len(singles) + len(met)) + [2] * (2 * len(met) + 1) + [1, 1]
    pairs = list(itertools.combinations(met, 2))
    kept = kept_under(names, tmp_path, game)
    threads = threading.enumerate()
    with closing(Followed(kept)) as league:
        assert league.all_jobs() == [*singles, *newcomers, *pairs, *judged]
        assert league.waiting == [*waiting, *(0 for _ in pairs)][:24]
        (thread,) = (one for one in threading.enumerate() if one.name == "league" and one not in threads)
        assert thread.daemon, "the program would not end before the last game"
    assert not thread.is_alive()
    hashes = [kept.get(name, get_game(game)).sha256 for name in names]
    truth = json.loads((tmp_path / "judged.json").read_text())
    assert truth == {key: asdict(Truth(mistakes=0.5)) for key in (*hashes, *(f"{game} {one}" for (one,) in judged))}

    one, two, rule = Entrant("Al", "{}", hashes[0]), Entrant("Bo", "{}", hashes[1]), Entrant("rule")
    with ResultStore(tmp_path / "league.sqlite") as store:
        for pair, games in (((one, rule), 10), ((two, one), 10), ((two, rule), 9), ((rule, Entrant("random")), 10)):
            store.add(game_of(game, *pair, 0, number) for number in range(games))
    with closing(Followed(kept)) as league:
        played = {("Al", "rule"), ("Bo", "Al"), ("random", "rule")}
        assert league.all_jobs() == [pair for pair in (*newcomers, *pairs) if pair not in played]


def test_the_references_play_once_somebody_looks(tmp_path: Path) -> None:
    pairs = list(itertools.combinations(REFERENCES, 2))
    with closing(Followed(KeptAgents(ServerLimits(), tmp_path))) as league:
        assert league.all_jobs() == []
        for _ in range(2):
            (store,) = cast("Any", league.listed(Fields({})))["stores"]
            assert [game["game"] for game in store["games"]] == list(GAMES)
            assert all(game["waiting"] == 0 for game in store["games"])
        judged = [[(one,) for one in REFERENCES], [(one,) for one in REFERENCES if one != "perfect"]]
        assert league.all_jobs() == [*pairs, *judged[0], *pairs, *judged[1]]


def test_everybody_sees_the_training_of_a_kept_agent(client: Client, token: str, folder: Path) -> None:
    asked = {"game": GAME, "name": "Анна B-1"}
    shown, own = client.get("/api/league/training", **asked), client.post(LOOK, token=token)
    assert token not in json.dumps(shown)
    assert [shown[key] for key in ("state", "done", "plan", "rows")] == [
        own[key] for key in ("state", "done", "plan", "rows")
    ]
    assert shown["rows"][0]["opinion"]["moves"] == client.get("/api/training/position", game=GAME)["moves"]
    assert shown["lessons"] == [] and (shown["saved"], shown["kept"]) == (True, "")
    client.refused("GET", "/api/league/training", 404, game=GAME, name="Bo b")  # a file put there by hand
    client.refused("GET", "/api/league/training", 404, game=GAME, name="Carl")


def test_an_agent_that_fails_plays_no_more_and_the_others_do(tmp_path: Path) -> None:
    with closing(Followed(kept_under(("Al", "Bo"), tmp_path), [("Al",), ("Bo", "rule")])) as league:
        jobs = league.all_jobs()
        assert jobs[:4] == [("Al",), ("Bo",), ("Bo", "random"), ("Bo", "rule")]
        assert jobs[4:14] == list(itertools.combinations(REFERENCES, 2)) and len(jobs) == 14 + len(REFERENCES)
        assert league.waiting[:5] == [2, 1, 1, 1, 0]
        failed = [{"name": name, "reason": "it broke"} for name in ("Al", "Bo")]
        assert (league.shown["failed"], league.shown["agents"], league.shown["count"]) == (failed, 2, 0)


def test_an_agent_meets_the_ten_before_it_whether_they_were_there_or_came(tmp_path: Path) -> None:
    names = [f"A{number:02}" for number in range(13)]
    pairs = {(name, other) for place, name in enumerate(names) for other in names[max(0, place - 10) : place]}
    with closing(Followed(kept_under(names, tmp_path / "there"))) as league:
        assert {pair for pair in league.all_jobs() if set(pair) <= set(names) and len(pair) == 2} == pairs
    request, file = SimpleNamespace(game=GAME), tmp_path / "agent.npz"
    training = SimpleNamespace(request=request, file=file, kept="", report=lambda since: {})
    trainings: Any = SimpleNamespace(get=lambda token: training)
    with closing(Followed(KeptAgents(ServerLimits(), tmp_path / "come"))) as league:
        for name in names:
            training.kept = ""
            training.file.write_text(name)
            assert league.keep(trainings, Fields({"token": "x", "name": name})) == {"kept": name}
            assert training.kept == name
        assert {pair for pair in league.all_jobs() if set(pair) <= set(names) and len(pair) == 2} == pairs
        league.jobs.clear()
        training.kept = "A00"
        training.file.write_text("it has learned more")
        league.keep(trainings, Fields({"token": "x", "name": "A00"}))
        again = league.all_jobs()
        assert again == [("A00",), *(("A00", one) for one in (*REFERENCES, *names[3:]))]


def test_agents_are_rated_in_groups_and_references_in_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(league_module, "RESAMPLES", 20)
    one, two, rule, random = Entrant("Al", "{}", "a1"), Entrant("Bo", "{}", "b2"), Entrant("rule"), Entrant("random")
    met = [(one, random, 1), (random, two, -1), (two, random, 0), (rule, random, 1), (random, rule, 0), (two, one, 1)]
    met += [(one, rule, 1), (rule, one, -1)]
    records = [game_of(GAME, *pair, number) for number in range(4) for pair in met]
    groups = [frozenset({("Al", "a1")}), frozenset({("Bo", "b2")}), frozenset({("Cy", "c3")})]
    known: dict[Any, Any] = {}
    table = LeagueGames(records, groups, known).table
    assert (table.games, table.distinct, table.anchor) == (32, len(met), "rule")
    assert [row.player for row in table.players] == ["Al", "Bo", "rule", "random"]
    assert {(pair.player, pair.opponent) for pair in table.pairs} == {
        *itertools.permutations(("Al", "rule", "random"), 2),
        *itertools.permutations(("Bo", "random"), 2),
    }
    assert {key: made.games for key, made in known.items()} == {
        (groups[0], 20): 20, (groups[1], 16): 16, (groups[2], 8): 8
    }  # fmt: skip
    first = known[groups[0], 20]
    of_rule = next(row for row in first.players if row.player == "rule")
    assert of_rule in table.players and first.first_advantage == table.first_advantage

    before = dict(known)
    more = [*records, game_of(GAME, one, rule, 0, 9)]
    table = LeagueGames(more, groups, known).table
    assert known.keys() == {(groups[0], 21), (groups[1], 16), (groups[2], 8)} and table.games == 33
    assert all(known[key] is before[key] for key in known.keys() & before.keys())


def test_an_agent_alone_is_rated_with_the_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(league_module, "RESAMPLES", 20)
    kept = kept_under(("Al",), tmp_path)
    players = [Entrant("Al", "{}", kept.get("Al", get_game(GAME)).sha256), Entrant("random")]
    with ResultStore(tmp_path / "league.sqlite") as store:
        for number, pair in enumerate(itertools.permutations(players)):
            store.add([game_of(GAME, *pair, 0, number)])
    with closing(Followed(kept)) as league:
        table = league.table(Fields(LEAGUE))
        assert {row.player for row in table.players} == {"Al", "random"} and table.games == 2


@pytest.mark.parametrize("game", list(GAMES.values()), ids=list(GAMES))
def test_the_table_says_what_is_known_of_each_player(
    game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(league_module, "RESAMPLES", 20)
    name = next(name for name, one in GAMES.items() if one == game)
    kept = kept_under(("Al", "Bo"), tmp_path, name)
    players = [Entrant("Al", "{}", kept.get("Al", game).sha256), Entrant("random"), Entrant("perfect")]
    strangers = [Entrant("Al", "{}", "of another file"), Entrant("minimax")]
    with ResultStore(tmp_path / "league.sqlite") as store:
        for first, second in itertools.permutations([*players, *strangers], 2):
            store.add([game_of(name, first, second, 0)])
    asked = Fields({"store": "league", "game": name})
    with closing(Followed(kept)) as league:
        table = league.table(asked)
        unknown, perfect = Truth(), Truth(mistakes=None if game.cells <= SMALL_CELLS else 0.0)
        rows: list[Any] = list(table.players)
        assert {row.player: (row.opponent, *(getattr(row, name) for name in vars(unknown))) for row in rows} == {
            "Al": ("league:Al", *vars(unknown).values()),
            "random": ("random", *vars(unknown).values()),
            "perfect": ("perfect", *vars(perfect).values()),
        }
        assert table.games == league.shown["count"] == 6
        league.all_jobs()
        assert {row.player: row.mistakes for row in cast("list[Any]", league.table(asked).players)} == {
            "Al": 0.5, "random": 0.5, "perfect": 0.5 if game.cells <= SMALL_CELLS else 0.0
        }  # fmt: skip
        other = next(one for one in GAMES if one != name)
        assert league.table(Fields({"store": "league", "game": other})) == results.ResultTable()
        kept.get("Al", game).path.unlink()
        assert league._member(game, RatingRow("Al", None, None, None, "", 0.5, 6, 6, 0)).mistakes is None


def test_the_process_answers_each_line_with_one_whatever_players_print(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def done(job: JobRequest, store: Path) -> JobAnswer:
        print("a player prints")
        return JobAnswer(failed=f"{job.game} {store}")

    lowered: list[int] = []
    monkeypatch.setattr(os, "nice", lowered.append)
    monkeypatch.setattr(league_player, "do_job", done)
    monkeypatch.setattr(sys, "argv", ["league_player", "games.sqlite", "KInARow-v0:3x3-2"])
    monkeypatch.setattr(
        sys, "stdin", io.StringIO("".join(json.dumps({"game": game, "players": {}}) + "\n" for game in "ab"))
    )
    output = sys.stdout
    assert league_player.main() == 0
    monkeypatch.setattr(sys, "stdout", output)
    told = capsys.readouterr()
    assert list(map(json.loads, told.out.splitlines())) == [
        asdict(JobAnswer(failed=f"{game} games.sqlite")) for game in "ab"
    ]
    assert told.err == 2 * "a player prints\n" and lowered[0] > 0
    monkeypatch.setattr(sys, "argv", ["league_player", "games.sqlite", "no_such_module:Own-v0"])
    with pytest.raises(ValueError, match="no_such_module"):
        league_player.main()


def test_a_job_is_ten_games_or_a_judgement_or_the_reason_why_not(tmp_path: Path) -> None:
    store = tmp_path / "league.sqlite"
    assert league_player.do_job(JobRequest(GAME, {"rule": "rule", "random": "random"}), store) == JobAnswer()
    with ResultStore(store) as kept:
        records = list(kept)
    assert len(records) == 10 and len({record.fixture.opening for record in records}) == 5
    assert sum(record.fixture.first.name == "rule" for record in records) == 5
    rule = verdict("rule")
    truth = league_player.do_job(JobRequest(GAME, {"rule": "rule"}), store).truth
    assert truth == Truth(rule.unbeatable, rule.as_first.losing_line, rule.as_second.losing_line)
    broken = league_player.do_job(JobRequest(GAME, {"Al": str(tmp_path / ("x" * 400 + ".npz"))}), store).failed
    assert len(broken) == 300 and ": " in broken


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
        "    print(json.dumps({'truth': None, 'failed': ''}), flush=True)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setattr(league_module, "PROCESS", "stand_in")
    monkeypatch.setattr(league_module, "JOB_SECONDS", 2.0)
    for seed, name in enumerate(("Hangs", "Dies", "Plays")):
        file = file_of(tmp_path / "agents" / GAME / f"{name}.npz")
        QLearning(GAME, seed=seed + 1).learn(total_episodes=5, progress_bar=False).save(file)
    with visited(Server(QUICK, league=tmp_path / "agents")) as http:
        client = Client(http)
        game = waited_for(
            lambda: not (found := client.get("/api/league")["stores"][0]["games"][0])["waiting"] and found
        )
        assert {one["name"] for one in game["failed"]} == {"Hangs", "Dies"}, game["failed"]
        assert game["agents"] == 3


def test_openings_and_judgements_fit_every_board() -> None:
    for name in ("TicTacToe-v0", "ConnectFour-v0", "KInARow-v0:3x3-2", "KInARow-v0:2x2-2"):
        found = openings(get_game(name))
        assert found[0] == "" and len(set(found)) == len(found) <= 25
        plies = {2, 4} if get_game(name).cells <= SMALL_CELLS else {4, 6}
        assert name not in GAMES or (len(found) == 25 and set(map(len, found[1:])) == plies)
    assert judged("rule", get_game("KInARow-v0:6x6-4")) == Truth()
    assert 0 < (judged("rule", get_game("ConnectFour-v0")).mistakes or 0) < 0.5


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
        about = Client(http).get("/api/server")
        assert about["address"] is None and about["league"] is True
        Client(http).refused("GET", "/api/qr", 404)
        server.link = "http://192.168.1.7:8000/"
        about = Client(http).get("/api/server")
        assert (about["address"], about["qr"]) == (server.link, True)
        picture = http.get("/api/qr")
        assert picture.headers["content-type"] == "image/svg+xml" and b"<svg" in picture.content
    server = Server(QUICK)
    server.link = "http://10.0.0.1:8000/"
    with visited(server, "192.168.1.9:81") as http:  # it was reached by that address
        assert Client(http).get("/api/server")["address"] == "http://192.168.1.9:81/"
