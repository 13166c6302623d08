"""The league: agents that visitors have kept play each other and some policies, and the page shows their ratings."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from tictac_apps.web.insight import title
from tictac_apps.web.kept import KeptAgent, KeptAgents
from tictac_apps.web.league_player import PAIR_GAMES, JobAnswer, JobRequest, Truth
from tictac_apps.web.opponents import LEAGUE
from tictac_apps.web.requests import Fields, Refused
from tictac_apps.web.results import GamesOfStore, ResultTable, StoreResults, rated
from tictac_apps.web.trainings import Trainings, start_process
from tictac_env.arena import ResultStore
from tictac_env.arena.game_record import Entrant, GameRecord, distinct_games, name_of_game
from tictac_env.arena.records import RatingRow
from tictac_env.arena.typed_json import read_as
from tictac_env.games import GAMES, Game, get_game
from tictac_env.solver.book import opening_book_of
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.storage import read_json, save_text

PERFECT = "perfect"
ANCHOR = "rule"
"""The policy whose rating is 0. `random` may lose all its games, and then bounds no rating from above."""
REFERENCES = ("random", ANCHOR, "level:4", "level:6", PERFECT)
"""The policies that every agent meets."""
EARLIER = 10
"""The number of agents kept just before it that every agent meets, so that games grow in proportion to agents."""
RATED_TOGETHER = 30
"""The number of agents that are rated together, with the references. The time grows with its fourth power."""
RESAMPLES = 200
"""The resamples of the intervals; few, as the table is computed again after every game."""
JOB_SECONDS = 120.0
"""The longest time for the games of a pair, or for the judgement of an agent."""
PROCESS = "tictac_apps.web.league_player"
STORE, JUDGED = "league.sqlite", "judged.json"
TABLE = STORE.partition(".")[0]
"""The name of the store on the page."""

PlayerKey = tuple[str, str]
"""A player's name, and the hash of its file: see `_player_key`."""
Group = frozenset[PlayerKey]
"""Players that are rated together."""
Pair = tuple[str, Group]
"""A game's name, and two players."""
Tables = dict[tuple[Group, int], ResultTable]
"""The tables of groups after a number of games."""
UrgentPlayers = tuple[int, tuple[str, ...]]
"""The urgency and the players of a job."""


@dataclass(frozen=True)
class MemberRow(Truth, RatingRow):
    """A player of the table: its rating, and the truth about it."""

    opponent: str = ""
    """Its name as an opponent on the page."""


class LeagueJob(NamedTuple):
    """A pair to play, or a player to judge. Jobs are ordered: the smallest is done first."""

    urgency: int
    """0 for judgements of agents, 1 for games against references, 2 for games between agents, 3 for jobs of references
    alone.
    """
    number: int
    """Counts jobs, so that those of equal urgency are done in the order in which they were added."""
    game: Game
    players: tuple[str, ...]
    """The names of two players, the newcomer first; or of one player to judge."""


class LeagueGames(GamesOfStore):
    """The games of the current members of the league.

    Args:
        records: the games.
        groups: the agents that are rated together.
        cache: tables of groups, by the group and its number of games; those that are used here replace its content.
    """

    def __init__(self, records: list[GameRecord], groups: Sequence[Group], cache: Tables) -> None:
        super().__init__(records)
        self._groups, self._cache = groups, cache

    @cached_property
    def table(self) -> ResultTable:
        """The ratings and the cross table; a reference's are those of the first group."""
        tables: Tables = {}
        for group, records in self._records_of_groups().items():
            if records:
                # Games are only ever added, so their number tells if a table is still right.
                key = group, len(records)
                anchor = ANCHOR if any(ANCHOR in self.players(record) for record in records) else None
                tables[key] = self._cache.get(key) or rated(records, self.names, RESAMPLES, anchor)
        self._cache.clear()
        self._cache.update(tables)
        # The references are in every table. Reversed, so that the first group's rows come last and stay.
        parts = list(tables.values())
        players = {row.player: row for part in reversed(parts) for row in part.players}
        return replace(
            parts[0],
            players=sorted(players.values(), key=_strength, reverse=True),
            pairs=list({(row.player, row.opponent): row for part in reversed(parts) for row in part.pairs}.values()),
            games=len(self.records),
            distinct=distinct_games(self.records),
        )

    def _records_of_groups(self) -> dict[Group, list[GameRecord]]:
        """The games that rate each group: its agents' with each other and with references, and those of references.

        Games between agents of two groups rate neither, so that a group's table depends on its own games alone.
        """
        records_of: dict[Group, list[GameRecord]] = {group: [] for group in self._groups}
        group_of = {player: group for group in self._groups for player in group}
        for record in self.records:
            groups = {group_of[player] for player in map(_player_key, record.fixture[1:3]) if player in group_of}
            for group in groups if len(groups) == 1 else () if groups else self._groups:
                records_of[group].append(record)
        return records_of


def _strength(player: RatingRow) -> tuple[float, float]:
    """The sort key of players: those without an upper bound are strongest, those without a lower bound weakest."""
    if player.elo is not None:
        return player.elo, player.score
    return float("inf") if player.low is not None else -float("inf"), player.score


class League(StoreResults):
    """The games between kept agents, and the exact truth about each of them.

    A process of low priority plays the games; a store in the agents' folder keeps them. An agent that fails, ends the
    process or takes too long plays no more; the other agents do.

    Args:
        agents: the kept agents.
        games: the games of the server, as `import_game` takes them.

    Raises:
        OSError: the store cannot be read.
    """

    def __init__(self, agents: KeptAgents, games: Sequence[str] = ()) -> None:
        self.agents = agents
        self._named = games
        self._judged: dict[str, Truth] = {}  # by `_judged_key`
        self._failed: dict[str, str] = {}
        self._jobs: list[LeagueJob] = []  # a heap
        self._current: LeagueJob | None = None
        self._numbers = itertools.count()
        self._begun: set[Game] = set()  # games whose references have their jobs
        self._played: set[Pair] = set()  # before the server started
        self._tables: dict[Game, Tables] = {}
        self._changed = threading.Condition(threading.RLock())
        self._closed = False
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._recall()
        super().__init__(agents.folder)
        for game in agents.games():
            for agent in agents.agents(game):
                self._add_agent(game, agent)

    def _recall(self) -> None:
        """Reads the judgements, and the pairs that have played.

        Damaged judgements are dropped, and a damaged store is renamed; both are then made again.
        """
        store, judged = self.agents.folder / STORE, self.agents.folder / JUDGED
        played: Counter[Pair] = Counter()
        try:
            if judged.exists():
                self._judged = read_as(dict[str, Truth], read_json(judged.read_text(encoding="utf-8")))
        except ValueError as error:
            print(f"{JUDGED} is damaged, so the agents are judged again: {error}", file=sys.stderr)
        try:
            with ResultStore(store) as opened:
                for record in opened:
                    played[record.fixture.game, frozenset(map(_player_key, record.fixture[1:3]))] += 1
        except ValueError as error:
            aside = store.with_suffix(".damaged")
            os.replace(store, aside)
            print(f"{error}; it is now {aside.name}, and the games are played again", file=sys.stderr)
            played.clear()
        self._played = {pair for pair, games in played.items() if games >= PAIR_GAMES}

    def keep(self, trainings: Trainings, fields: Fields) -> dict[str, str]:
        """Keeps the present agent of the training with a `token` under a `name`, as a member of the league.

        Returns:
            `kept`, the name.

        Raises:
            Refused: as of `KeptAgents.keep`, or there is no such training.
        """
        training = trainings.get(fields.text("token"))
        game = get_game(training.request.game)
        # Others are shown its curve and its film; the lessons are the owner's alone.
        report = training.report(0) | {"lessons": [], "thoughts": None, "kept": ""}
        name = self.agents.keep(fields.words("name"), game, training.file, training.kept, fields.address, report)
        training.kept = name
        self._add_agent(game, self.agents.get(name, game))
        return {"kept": name}

    def _add_agent(self, game: Game, agent: KeptAgent) -> None:
        """Adds the jobs of an agent, and those of the references of its game."""
        self._add_jobs(game, self._jobs_of_agent(game, agent))
        self._add_references(game)

    def _add_references(self, game: Game) -> None:
        """Adds the jobs of the references of a game, once."""
        with self._changed:
            if game not in self._begun:
                self._begun.add(game)
                self._add_jobs(game, self._jobs_of_references(game))

    def _add_jobs(self, game: Game, jobs: list[UrgentPlayers]) -> None:
        with self._changed:
            for urgency, players in jobs:
                heapq.heappush(self._jobs, LeagueJob(urgency, next(self._numbers), game, players))
            if self._thread is None and self._jobs:
                self._thread = threading.Thread(target=self._work, daemon=True, name="league")
                self._thread.start()
            self._changed.notify()

    def _jobs_of_agent(self, game: Game, agent: KeptAgent) -> list[UrgentPlayers]:
        """The jobs of an agent: games with references and with earlier agents, and a judgement."""
        earlier = itertools.takewhile(lambda other: other.name != agent.name, self.agents.agents(game))
        opponents = [(reference, "") for reference in _references(game)]
        opponents += [(other.name, other.sha256) for other in list(earlier)[-EARLIER:]]
        jobs: list[UrgentPlayers] = [
            (2 if sha256 else 1, (agent.name, opponent))
            for opponent, sha256 in opponents
            if (name_of_game(game), frozenset(((agent.name, agent.sha256), (opponent, sha256)))) not in self._played
        ]
        if agent.sha256 not in self._judged:
            jobs.append((0, (agent.name,)))
        return jobs

    def _jobs_of_references(self, game: Game) -> list[UrgentPlayers]:
        """The jobs of the references: games between every two, and judgements."""
        references = _references(game)
        jobs: list[UrgentPlayers] = [
            (3, (first, second))
            for first, second in itertools.combinations(references, 2)
            if (name_of_game(game), frozenset(((first, ""), (second, "")))) not in self._played
        ]
        for reference in references:
            # Perfect play makes no mistakes; to see that on a large game takes minutes.
            if self._judged_key(game, reference) not in self._judged and (
                reference != PERFECT or game.cells <= SMALL_CELLS
            ):
                jobs.append((3, (reference,)))
        return jobs

    def _judged_key(self, game: Game, player: str) -> str:
        """The key of a player in `_judged`: the hash of an agent's file, or the names of the game and the policy."""
        return f"{name_of_game(game)} {player}" if player in REFERENCES else self.agents.get(player, game).sha256

    def _work(self) -> None:
        """Does the jobs, until the league is closed."""
        while True:
            with self._changed:
                self._current = None
                self._changed.wait_for(lambda: self._closed or self._jobs)
                if self._closed:
                    return
                self._current = job = heapq.heappop(self._jobs)
            with contextlib.suppress(Refused):  # it was deleted meanwhile
                self._do(job)

    def _do(self, job: LeagueJob) -> None:
        """Gives a job to the process, and records the answer."""
        # A player that has failed plays no more; its jobs are dropped as they come.
        game, players = job.game, job.players
        keys = [self._judged_key(game, player) for player in players]
        if self._failed.keys() & keys:
            return
        sources = {
            player: player if player in REFERENCES else os.fspath(self.agents.get(player, game).path)
            for player in players
        }
        answer = self._answer(JobRequest(name_of_game(game), sources))
        if self._closed:  # the process was killed, which is no fault of the players
            return
        # Of a pair only the newcomer is blamed: the other one has played before.
        if answer.failed:
            self._failed[keys[0]] = answer.failed
        elif answer.truth is not None:
            self._judged[keys[0]] = answer.truth
            with contextlib.suppress(OSError):  # it is judged again after a restart
                save_text(self.agents.folder / JUDGED, json.dumps(self._judged, default=asdict, indent=1))

    def _answer(self, job: JobRequest) -> JobAnswer:
        """The answer of the process to a job; if the process has ended, a new one is started."""
        try:
            with self._changed:
                if self._closed:
                    return JobAnswer()
                if self._process is None:
                    self._process = start_process(PROCESS, self.agents.folder / STORE, self._named)
                process = self._process
        except OSError as error:
            return JobAnswer(failed=f"the process of the league cannot be started: {error.strerror}")
        timer = threading.Timer(JOB_SECONDS, process.kill)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(json.dumps(asdict(job)) + "\n")  # type: ignore[union-attr]  # they are pipes
            process.stdin.flush()  # type: ignore[union-attr]
            return read_as(JobAnswer, read_json(process.stdout.readline()))  # type: ignore[union-attr]
        except (OSError, ValueError):  # it has ended
            pass
        finally:
            timer.cancel()
        self._end_process()
        return JobAnswer(failed=f"it took longer than {JOB_SECONDS:g} s, or ended its process")

    def _end_process(self) -> None:
        if self._process is not None:
            with contextlib.suppress(OSError), self._process as process:  # which closes the pipes, and waits
                process.kill()
            self._process = None

    def close(self) -> None:
        """Ends the process, and deletes the agents if they do not last."""
        with self._changed:
            self._closed = True
            if self._process is not None:
                self._process.kill()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        self._end_process()
        self.agents.close()

    def listed(self, fields: Fields) -> dict[str, object]:
        """The games of the league. The references begin to play at the first look, so that no table is empty.

        Returns:
            `stores`, as of `StoreResults.listed`, but a game also has `agents`, the number kept; `waiting`, the number
            of agents that have games to play; and `failed`, a `name` and a `reason` for each agent that failed. And
            `lasting`, true if the agents outlast the server.
        """
        for game in self._games_shown():
            self._add_references(game)
        games = [self._listed_game(game) for game in self._games_shown()]
        return {"stores": [{"store": TABLE, "games": games}], "lasting": self.agents.lasting}

    def _games_shown(self) -> list[Game]:
        """The two games, and further ones that have agents."""
        return list(dict.fromkeys((*GAMES.values(), *self.agents.games())))

    def _listed_game(self, game: Game) -> dict[str, object]:
        name, agents, played = name_of_game(game), self.agents.agents(game), self._games(TABLE)
        with self._changed:
            jobs = self._jobs + ([self._current] if self._current else [])
            waiting = {job.players[0] for job in jobs if job.game == game and job.urgency < 3}
        failed = {agent.name: self._failed[agent.sha256] for agent in agents if agent.sha256 in self._failed}
        return {
            "game": name,
            "title": title(game),
            "count": len(played[name].records) if name in played else 0,
            "agents": len(agents),
            "waiting": len(waiting - failed.keys()),
            "failed": [{"name": agent, "reason": reason} for agent, reason in failed.items()],
        }

    def table(self, fields: Fields) -> ResultTable:
        """The table of a `game`, as of `StoreResults.table`; its players are `MemberRow`s."""
        game = fields.game
        if name_of_game(game) not in self._games(fields.text("store")):
            return ResultTable()
        table = super().table(fields)
        return replace(table, players=[self._member(game, row) for row in table.players])

    def _member(self, game: Game, row: RatingRow) -> MemberRow:
        """The row of a player, with the truth about it as far as it is known."""
        truth = Truth(mistakes=0.0 if row.player == PERFECT and game.cells > SMALL_CELLS else None)
        with contextlib.suppress(Refused):  # it was deleted meanwhile
            truth = self._judged.get(self._judged_key(game, row.player), truth)
        opponent = row.player if row.player in REFERENCES else LEAGUE + row.player
        return MemberRow(**vars(truth), **vars(row), opponent=opponent)

    def _stores(self) -> dict[str, Path]:
        return {TABLE: self.agents.folder / STORE}

    def _changes(self, path: Path) -> object:
        written = super()._changes(path) if path.exists() else None
        return written, [(game, self.agents.agents(game)) for game in self._games_shown()]

    def _sorted(self, of_game: dict[str, list[GameRecord]]) -> dict[str, GamesOfStore]:
        games: dict[str, GamesOfStore] = {}
        for game in self._games_shown():
            agents = [(agent.name, agent.sha256) for agent in self.agents.agents(game)]
            members = {*agents, *((reference, "") for reference in _references(game))}
            records = [
                record
                for record in of_game.get(name_of_game(game), [])
                if members.issuperset(map(_player_key, record.fixture[1:3]))
            ]
            groups = [
                frozenset(agents[begin : begin + RATED_TOGETHER])
                for begin in range(0, len(agents) or 1, RATED_TOGETHER)
            ]
            if records:
                games[name_of_game(game)] = LeagueGames(records, groups, self._tables.setdefault(game, {}))
        return games


def _references(game: Game) -> tuple[str, ...]:
    """The policies that the agents of a game meet: perfect play only if it answers quickly."""
    quick = game.cells <= SMALL_CELLS or opening_book_of(game) is not None
    return REFERENCES if quick else tuple(reference for reference in REFERENCES if reference != PERFECT)


def _player_key(player: Entrant) -> PlayerKey:
    """The name of a player, and the hash of an agent's file: both, as agents of equal plans have equal files."""
    return player.name, "" if player.name in REFERENCES else player.checkpoint
