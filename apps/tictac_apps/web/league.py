"""The league: the agents that visitors keep play each other and some policies, while everybody looks on."""

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
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tictac_apps.web.insight import title
from tictac_apps.web.kept import KeptAgent, KeptAgents
from tictac_apps.web.league_player import GAMES
from tictac_apps.web.opponents import LEAGUE
from tictac_apps.web.requests import Fields, Refused
from tictac_apps.web.results import GamesOfStore, StoreResults, rated
from tictac_apps.web.trainings import Trainings, start_process
from tictac_env.arena import ResultStore
from tictac_env.arena.game_record import Entrant, GameRecord, distinct_games, name_of_game
from tictac_env.games import Game, get_game, shown
from tictac_env.solver.book import opening_book_of
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.storage import read_json, save_text

PERFECT = "perfect"
REFERENCES = ("random", "rule", "level:4", "level:6", PERFECT)
"""The policies that every agent meets."""
OTHERS = 10
"""The agents kept just before it that every agent meets: a thousand play ten times as many games as a hundred."""
RATED_TOGETHER = 30
"""The agents that are rated together, with the references. The time it takes grows with the fourth power."""
RESAMPLES = 200
"""Of the intervals: the table is made anew whenever there are games."""
JOB_SECONDS = 120.0
"""The most that the games of a pair, or the judgement of an agent, may take."""
PROCESS = "tictac_apps.web.league_player"
STORE, JUDGED = "league.sqlite", "judged.json"
TABLE = STORE.partition(".")[0]
"""The name of the store on the page."""
TRUTH = dict.fromkeys(("unbeatable", "beaten_first", "beaten_second", "mistakes"))
"""What is known of a player that is not judged."""

Group = frozenset[tuple[str, str]]
"""Players as `_known_as` says."""
Pair = tuple[str, Group]
"""A game's name, and two players."""


class LeagueJob(NamedTuple):
    """A pair to play, or a player to judge. The least is done first."""

    urgency: int
    """0 for judgements, 1 for games with references, 2 for those of agents, 3 for those of references."""
    number: int
    game: Game
    players: tuple[str, ...]
    """The names of two players, the newcomer first; or of the only one."""


def _checked(judged: Any) -> dict[str, dict[str, Any]]:
    """What was judged, as `JUDGED` holds it: by what is known of a player, the truth about it.

    Raises:
        ValueError: it is something else.
    """
    kinds = {"unbeatable": bool, "beaten_first": str, "beaten_second": str, "mistakes": float}
    if not isinstance(judged, dict):
        raise ValueError(f"it must be an object, not {shown(judged)}")
    for player, truth in judged.items():
        if not isinstance(truth, dict):
            raise ValueError(f"{shown(player)} must have an object, not {shown(truth)}")
        for name, value in truth.items():
            if name not in kinds or not isinstance(value, kinds[name] | None):
                raise ValueError(f"{shown(name)} of {shown(player)} is {shown(value)}")
        if not 0 <= (truth.get("mistakes") or 0) <= 1:
            raise ValueError(f"the mistakes of {shown(player)} must be in [0, 1], not {truth['mistakes']}")
    return judged


class LeagueGames(GamesOfStore):
    """The games of those who are in the league now.

    Args:
        records: the games.
        groups: the agents that are rated together, as `_known_as` says.
        known: the tables of groups, by the group and its number of games; those made here are put there instead.
    """

    def __init__(self, records: list[GameRecord], groups: Sequence[Group], known: dict[tuple[Group, int], Any]) -> None:
        super().__init__(records)
        self._groups, self._known = groups, known

    @cached_property
    def table(self) -> dict[str, Any]:
        """The ratings and the cross table; a reference's are those of the first group."""
        of_group: dict[Group, list[GameRecord]] = {group: [] for group in self._groups}
        group_of = {one: group for group in self._groups for one in group}
        for record in self.records:
            sides = {group_of[side] for side in map(_known_as, record.fixture[1:3]) if side in group_of}
            for group in sides if len(sides) == 1 else () if sides else self._groups:  # references' games are in each
                of_group[group].append(record)
        made: dict[tuple[Group, int], Any] = {}
        for group, records in of_group.items():
            if records:
                key = group, len(records)
                made[key] = self._known.get(key) or rated(records, self.names, RESAMPLES)
        self._known.clear()
        self._known.update(made)
        parts: list[dict[str, Any]] = list(made.values())
        players = {one["name"]: one for part in reversed(parts) for one in part["players"]}
        pairs = {(one["player"], one["opponent"]): one for part in reversed(parts) for one in part["pairs"]}
        best_first = sorted(players.values(), key=_strength, reverse=True)
        counts = {"games": len(self.records), "distinct": distinct_games(self.records)}
        return parts[0] | {"players": best_first, "pairs": list(pairs.values())} | counts


def _strength(player: Mapping[str, Any]) -> tuple[float, float]:
    """The order of players: those without a bound above come first, those without a bound below last."""
    if player["elo"] is not None:
        return player["elo"], player["score"]
    return float("inf") if player["low"] is not None else -float("inf"), player["score"]


class League(StoreResults):
    """The games between kept agents, and what is known of each of them.

    A process of low priority plays the games, which a store in the agents' folder keeps. An agent that fails, whose
    process ends or takes too long, is left out; the others go on.

    Args:
        agents: those kept.
        games: those of the server, as `import_game` takes them.

    Raises:
        OSError: the store cannot be read.
    """

    def __init__(self, agents: KeptAgents, games: Sequence[str] = ()) -> None:
        self.agents = agents
        self._named = games
        self._judged: dict[str, Any] = {}  # by what `_key` says of a player
        self._failed: dict[str, str] = {}
        self._jobs: list[LeagueJob] = []  # a heap
        self._doing: LeagueJob | None = None
        self._numbers = itertools.count()
        self._begun: set[Game] = set()
        self._rated: dict[Game, dict[tuple[Group, int], Any]] = {}
        self._changed = threading.Condition(threading.RLock())
        self._closed = False
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        played = self._recall()
        super().__init__(agents.folder)
        for game in agents.games():
            for agent in agents.agents(game):
                self._enter(game, agent, played)

    def _recall(self) -> set[Pair]:
        """Reads what was judged, and returns the pairs that have played; damaged files are put aside, and made anew."""
        store, judged = self.agents.folder / STORE, self.agents.folder / JUDGED
        played: Counter[Pair] = Counter()
        try:
            if judged.exists():
                self._judged = _checked(read_json(judged.read_text(encoding="utf-8")))
        except ValueError as error:
            print(f"{JUDGED} is damaged, and made anew: {error}", file=sys.stderr)
        try:
            with ResultStore(store) as opened:
                for record in opened:
                    played[record.fixture.game, frozenset(map(_known_as, record.fixture[1:3]))] += 1
        except ValueError as error:
            aside = store.with_suffix(".damaged")
            os.replace(store, aside)
            print(f"{error}; it is now {aside.name}, and the games are played anew", file=sys.stderr)
            played.clear()
        return {pair for pair, games in played.items() if games >= GAMES}

    def keep(self, trainings: Trainings, fields: Fields) -> dict[str, str]:
        """Keeps what the training of a `token` has learned so far under a `name`, as a member of the league.

        Returns:
            `kept`, the name.

        Raises:
            Refused: as of `KeptAgents.keep`, or there is no such training.
        """
        training = trainings.get(fields.text("token"))
        game = get_game(training.request.game)
        name = self.agents.keep(fields.words("name"), game, training.file, training.kept, fields.address)
        training.kept = name
        self._enter(game, self.agents.get(name, game))
        return {"kept": name}

    def _enter(self, game: Game, agent: KeptAgent, played: Collection[Pair] = ()) -> None:
        """Adds the jobs of an agent that meets those before it, and those of the references if it is its game's first.

        Pairs that have `played` do not play again.
        """
        met, name = _references(game), name_of_game(game)
        before = list(itertools.takewhile(lambda one: one.name != agent.name, self.agents.agents(game)))[-OTHERS:]
        jobs: list[tuple[int, tuple[str, ...]]] = []
        for other in [*((one, "") for one in met), *((one.name, one.sha256) for one in before)]:
            if (name, frozenset(((agent.name, agent.sha256), other))) not in played:
                jobs.append((2 if other[1] else 1, (agent.name, other[0])))
        if agent.sha256 not in self._judged:
            jobs.append((0, (agent.name,)))
        with self._changed:
            if game not in self._begun:
                self._begun.add(game)
                for one, two in itertools.combinations(met, 2):
                    if (name, frozenset(((one, ""), (two, "")))) not in played:
                        jobs.append((3, (one, two)))
                unknown = [one for one in met if self._key(game, one) not in self._judged]
                # Perfect play errs nowhere; to see that on a large game takes minutes.
                jobs.extend((3, (one,)) for one in unknown if one != PERFECT or game.cells <= SMALL_CELLS)
            for urgency, players in jobs:
                heapq.heappush(self._jobs, LeagueJob(urgency, next(self._numbers), game, players))
            if self._thread is None and self._jobs:
                self._thread = threading.Thread(target=self._work, daemon=True, name="league")
                self._thread.start()
            self._changed.notify()

    def _key(self, game: Game, player: str) -> str:
        """The hash of an agent's file; of a policy its name and the game's."""
        return f"{name_of_game(game)} {player}" if player in REFERENCES else self.agents.get(player, game).sha256

    def _work(self) -> None:
        """Does the jobs, until the league is closed."""
        while True:
            with self._changed:
                self._doing = None
                self._changed.wait_for(lambda: self._closed or self._jobs)
                if self._closed:
                    return
                self._doing = job = heapq.heappop(self._jobs)
            with contextlib.suppress(Refused):  # it was deleted meanwhile
                self._do(job)

    def _do(self, job: LeagueJob) -> None:
        """Has a job done by the process."""
        game, players = job.game, job.players
        keys = [self._key(game, one) for one in players]
        if self._failed.keys() & keys:
            return
        sources = {one: one if one in REFERENCES else os.fspath(self.agents.get(one, game).path) for one in players}
        found = self._asked({"game": name_of_game(game), "players": sources})
        if self._closed:
            return
        if "failed" in found:
            self._failed[keys[0]] = found["failed"]
        elif len(players) == 1:
            self._judged[keys[0]] = found
            with contextlib.suppress(OSError):  # it is judged again after a restart
                save_text(self.agents.folder / JUDGED, json.dumps(self._judged, indent=1))

    def _asked(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of the process to a job; the process is started anew if it has ended."""
        try:
            with self._changed:
                if self._closed:
                    return {}
                if self._process is None:
                    self._process = start_process(PROCESS, self.agents.folder / STORE, self._named)
                process = self._process
        except OSError as error:
            return {"failed": f"the process of the league cannot be started: {error.strerror}"}
        timer = threading.Timer(JOB_SECONDS, process.kill)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(json.dumps(job) + "\n")  # type: ignore[union-attr]  # they are pipes
            process.stdin.flush()  # type: ignore[union-attr]
            return dict(json.loads(process.stdout.readline()))  # type: ignore[union-attr]
        except (OSError, ValueError):  # it has ended
            pass
        finally:
            timer.cancel()
        self._end_process()
        return {"failed": f"it took longer than {JOB_SECONDS:g} s, or ended its process"}

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

    def listed(self, fields: Fields) -> dict[str, Any]:
        """The games of the league.

        Returns:
            `stores`, as of `StoreResults.listed`, where a game also has `agents`, how many are kept, `waiting`, how
            many of them have games to play, and the `failed`, each `name` and `reason`; and `lasting`, whether the
            agents are there after a restart.
        """
        shown = self._games(TABLE)
        games = []
        for game in self.agents.games():
            name, agents = name_of_game(game), self.agents.agents(game)
            with self._changed:
                jobs = self._jobs + ([self._doing] if self._doing else [])
                left = {job.players[0] for job in jobs if job.game == game and job.urgency < 3}
            failed = [
                {"name": one.name, "reason": self._failed[one.sha256]} for one in agents if one.sha256 in self._failed
            ]
            games.append(
                {
                    "game": name,
                    "title": title(game),
                    "count": len(shown[name].records) if name in shown else 0,
                    "agents": len(agents),
                    "waiting": len(left - {one["name"] for one in failed}),
                    "failed": failed,
                }
            )
        return {"stores": [{"store": TABLE, "games": games}], "lasting": self.agents.lasting}

    def table(self, fields: Fields) -> dict[str, Any]:
        """The table of a `game`, as of `StoreResults.table`.

        Returns:
            Each of the `players` has also `opponent`, its name as an opponent; `unbeatable`, `beaten_first` and
            `beaten_second`, the shortest games that beat it from each seat; and `mistakes`, a share; None if not known.
        """
        game = fields.game
        if name_of_game(game) not in self._games(fields.text("store")):
            return {"players": [], "pairs": [], "games": 0}
        found = super().table(fields)
        return found | {"players": [one | self._known_of(game, one["name"]) for one in found["players"]]}

    def _known_of(self, game: Game, player: str) -> dict[str, Any]:
        """The name of a player as an opponent, and the truth about it."""
        truth = TRUTH | ({"mistakes": 0.0} if player == PERFECT and game.cells > SMALL_CELLS else {})
        with contextlib.suppress(Refused):  # it was deleted meanwhile
            truth |= self._judged.get(self._key(game, player), {})
        return {"opponent": player if player in REFERENCES else LEAGUE + player} | truth

    def _stores(self) -> dict[str, Path]:
        return {TABLE: self.agents.folder / STORE}

    def _changes(self, path: Path) -> Any:
        written = super()._changes(path) if path.exists() else None
        return written, [(game, self.agents.agents(game)) for game in self.agents.games()]

    def _sorted(self, of_game: dict[str, list[GameRecord]]) -> dict[str, GamesOfStore]:
        found: dict[str, GamesOfStore] = {}
        for game in self.agents.games():
            agents = self.agents.agents(game)
            members = {(one.name, one.sha256) for one in agents} | {(one, "") for one in _references(game)}
            records = [
                one
                for one in of_game.get(name_of_game(game), [])
                if members.issuperset(map(_known_as, one.fixture[1:3]))
            ]
            groups = [
                frozenset((one.name, one.sha256) for one in agents[begin : begin + RATED_TOGETHER])
                for begin in range(0, len(agents), RATED_TOGETHER)
            ]
            if records:
                found[name_of_game(game)] = LeagueGames(records, groups, self._rated.setdefault(game, {}))
        return found


def _references(game: Game) -> tuple[str, ...]:
    """The policies that the agents of a game meet: perfect play only if it answers quickly."""
    quick = game.cells <= SMALL_CELLS or opening_book_of(game) is not None
    return REFERENCES if quick else tuple(one for one in REFERENCES if one != PERFECT)


def _known_as(player: Entrant) -> tuple[str, str]:
    """The name of a player, and of an agent the hash of its file: equal plans make equal files."""
    return player.name, "" if player.name in REFERENCES else player.checkpoint
