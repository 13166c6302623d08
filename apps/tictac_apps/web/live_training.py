"""Trainings that the page shows while they run: `python -P -m tictac_apps.web.live_training FOLDER [GAME...]`.

The process reads lines of JSON from its input: first the plan, then `{"watch": MOVES}` for each position whose thoughts
are wanted. Any other line, or the end of the input, asks it to stop: so it ends with the program that began it. It
writes a line for each report (see `training_reports`), at last an `End` or a `Failure`. It saves the agent in the
folder, as agent.npz or agent.zip, now and then and at the end. The games are those of the server; of "module:Name-v0"
the module is imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import tictac_agents
from tictac_agents.judge import Judge, Judgement
from tictac_agents.plan import Plan
from tictac_agents.tabular.table_learner import TableLearner
from tictac_agents.tabular.value_td import StateLearner
from tictac_apps.web import training_reports as reports
from tictac_apps.web.insight import telling_position, thoughts
from tictac_apps.web.training_form import TrainingRequest
from tictac_env.arena import WinDrawLoss, play_match
from tictac_env.arena.auditing import REPORTING
from tictac_env.games import game_name
from tictac_env.games.registry import import_game
from tictac_env.lazy import see_current_folder
from tictac_env.policies import Policy, as_policy
from tictac_env.policies.pool import level_settings
from tictac_env.position import Position, format_moves

POINTS = 60
"""Points of a curve, about, unless they would cost too much time."""
SAVE_SECONDS, PROGRESS_SECONDS = 2.0, 0.4
PARTS = {"point": 0.05, "perfect": 0.04, "level": 0.07, "save": 0.04}
"""The part of the time that each kind of work beside the learning may take: a fifth for all."""
SPENT = {"point": 0.0, "perfect": 0.4, "level": 0.5, "save": 0.0}
"""The seconds that count as taken at the beginning, so that some learning is seen before what is slow."""
MATCH_GAMES, LEVEL_GAMES = 100, 20
"""Games that judge a learner, half of them in each seat: against random play if the game is too large for a verdict,
and against each level."""
FOLLOWED, PERFECT_GAMES = 1_000, 50
"""Positions that are followed for the results against perfect play, and games that are drawn if there are more."""
LARGEST_LESSON = 50_000
"""No game is walked through with a table of more positions, as it would have to be copied for each."""


class Allowance:
    """The time that work beside the learning has taken, so that it takes no more than its part.

    The first work of each kind is not counted: most of its time is spent on loading machine code and positions.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._spent = dict(SPENT)
        self._loaded: set[str] = set()

    def allows(self, kind: str) -> bool:
        """True if a kind of work, a key of `PARTS`, has not yet taken its part of the time."""
        return self._spent[kind] <= PARTS[kind] * (time.monotonic() - self._began)

    @contextlib.contextmanager
    def spending(self, kind: str) -> Iterator[None]:
        """Counts the time of a block."""
        began = time.monotonic()
        yield
        if kind in self._loaded:
            self._spent[kind] += time.monotonic() - began
        self._loaded.add(kind)


class LiveTraining:
    """A training that reports; the callback of `learn` of tables and of `NTupleTD`.

    Args:
        request: the training.
        folder: where the agent is saved.
        output: where the lines are written.
    """

    def __init__(self, request: TrainingRequest, folder: Path, output: TextIO) -> None:
        self.request, self.plan = request, request.plan
        self.rules = self.plan.rules
        self.agent = self.plan.new_agent()
        self._known = not self.plan.is_small and game_name(self.rules) in REPORTING
        self._judge = Judge(self.rules, random_games=MATCH_GAMES)
        self._judge_against_perfect = Judge(self.rules, PERFECT_GAMES, FOLLOWED, MATCH_GAMES)
        self.path = folder / request.file_name
        # A learner with verdicts is not called between two of them.
        unit = getattr(self.plan.settings, "verdict_every", 0) or 1
        self.called_every = unit * max(1, request.total // POINTS // unit)
        self.stopping = threading.Event()
        self.proven = False
        at_hand = self.plan.is_small or self._known
        self.filmed = self.watched = telling_position(self.rules) if at_hand else Position.start(self.rules)
        self._output = output
        self._allowance = Allowance()
        self._saved = self._reported = 0.0
        self._due, self._judged = 0, -1

    def listen(self, source: TextIO) -> None:
        """Hears, in another thread, what to watch; any other line, or the end of the input, stops the training."""

        def hear() -> None:
            for line in iter(source.readline, ""):
                with contextlib.suppress(ValueError, TypeError, KeyError):
                    self.watched = Position.from_moves(self.rules, json.loads(line)["watch"])
                    self._reported = 0.0  # it is wanted now
                    continue
                break
            self.stopping.set()

        threading.Thread(target=hear, daemon=True).start()

    def run(self) -> None:
        """Trains the agent."""
        if self.plan.kind == "network":
            self.agent.learn(self.request.total, self)
        else:
            self(self.agent)
            total = self.request.counter.replace("num", "total")
            self.agent.learn(**{total: self.request.total}, callback=self, progress_bar=False)
        self.judge(last=True)
        self.climb(last=True)
        self.show_thoughts()
        self.report(reports.End(self.stopping.is_set(), self.proven))

    @property
    def done(self) -> int:
        """The number of games, of networks of steps, that it has learned from."""
        done: int = getattr(self.agent, self.request.counter)
        return done

    def __call__(self, *_: object) -> bool:
        """Judges and reports if it is time; False if the run is to end."""
        # On small games each point is judged, so that the same seed always ends with the same proof.
        if self.request.total > self.done >= self._due and (self.plan.is_small or self._allowance.allows("point")):
            self._due = (self.done // self.called_every + 1) * self.called_every
            self.judge()
            self.climb()
        if time.monotonic() - self._reported > PROGRESS_SECONDS:
            self._reported = time.monotonic()
            self.report(reports.Progress(self.done))
            self.show_thoughts()
        return not self.stopping.is_set() and not (self.proven and self.request.until_proven)

    def player(self) -> Policy:
        """The agent as it plays: greedy moves of a network."""
        player: Policy = tictac_agents.Snapshot(self.agent) if self.plan.kind == "network" else self.agent
        return player

    def show_thoughts(self) -> None:
        """Reports what the agent thinks now of the moves of the position that is watched."""
        if not self.watched.is_over:
            self.report(self.opinion_of(self.watched))

    def opinion_of(self, position: Position) -> reports.WatchedThoughts:
        """The agent's thoughts about an unfinished position."""
        # The average of an n-tuple network, which plays, is costly: it learns while it is watched.
        agent = self.agent.learning if self.plan.kind == "games" and not self.agent.is_done else self.player()
        opinion = thoughts(as_policy(agent, self.rules), position, 0)
        return reports.WatchedThoughts(self.done, position.to_moves(), opinion)

    def judge(self, last: bool = False) -> None:
        """Adds a point to the curve, walks through the next game of a table; saves the agent if it is time."""
        if last or (time.monotonic() - self._saved > SAVE_SECONDS and self._allowance.allows("save")):
            with self._allowance.spending("save"):
                self.agent.save(self.path)
            self._saved = time.monotonic()
        if last and self.plan.is_small and self._judged == self.done:
            return
        self._judged = self.done
        # Only games with known positions have a solver that is quick; what has learned nothing need not be asked.
        judge, kind = self._judge, "point"
        if self._known and self.done and (last or self._allowance.allows("perfect")):
            judge, kind = self._judge_against_perfect, "perfect"
        with self._allowance.spending(kind):
            judgement = judge(self.player())
        self.proven = bool(judgement.unbeatable)
        self.report(self._point(judgement))
        if self.plan.kind == "table" and not last and len(self.agent) <= LARGEST_LESSON:
            with self._allowance.spending("point"):
                self.report(lesson(self.agent, self.plan))

    def _point(self, judgement: Judgement) -> reports.CurveReport:
        verdict, perfect = judgement.verdict, judgement.against_perfect
        first, second = judgement.against_random or (None, None)
        seats = () if verdict is None else (verdict.as_first, verdict.as_second)
        beaten_first, beaten_second = (seat.losing_line for seat in seats) if seats else (None, None)
        return reports.CurveReport(
            at=self.done,
            exact=verdict is not None,
            first=first,
            second=second,
            exploitability=judgement.exploitability,
            unbeatable=judgement.unbeatable,
            beaten_first=beaten_first,
            beaten_second=beaten_second,
            lines=WinDrawLoss(*map(sum, zip(*(seat.lines for seat in seats), strict=True))) if seats else None,
            mistakes=judgement.mistakes,
            perfect=None if seats or perfect is None else reports.AgainstPerfect(*perfect, judgement.exact),
            opinion=self.opinion_of(self.filmed),
        )

    def climb(self, last: bool = False) -> None:
        """Reports the highest level that the agent beats, from 1 up: of a large game now and then, else at the end."""
        due = self.done and not self.plan.is_small and self._allowance.allows("level")
        if self.stopping.is_set() or not (last or due):
            return
        beaten, agent = 0, self.player()
        with self._allowance.spending("level"):
            for number in range(1, len(level_settings(self.rules)) + 1):
                if play_match(agent, f"level:{number}", self.rules, LEVEL_GAMES).total.score <= 0.5:
                    break
                beaten = number
        self.report(reports.BeatenLevel(self.done, beaten))

    def report(self, report: reports.Report) -> None:
        """Writes the line of a report."""
        self._output.write(reports.report_line(report))
        self._output.flush()


def lesson(learner: TableLearner, plan: Plan) -> reports.Lesson:
    """Walks through a table's next game, as in figure 2 of S1's paper; a copy learns from it, not the table."""
    # The copy is made by a file, as that holds all that the learner is.
    env = plan.env()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "copy.npz"
        learner.save(path)
        copy = type(learner).load(path, env)
    changes: dict[str, float] = {}
    for name in ("epsilon", "learning_rate"):  # as they are now, as the copy's run has one game
        schedule = getattr(learner.settings, name)
        if isinstance(schedule, Sequence):
            changes[name] = learner.scheduled(schedule) if learner.num_episodes else schedule[0]
    if hasattr(learner.settings, "verdict_every"):  # S0's rule could make it forget what it learns
        changes["verdict_every"] = 0
    copy.settings = learner.settings.changed(**changes)
    copy.compiled = False  # so that the game is played on the board that the callback looks at
    played: list[Position] = []
    copy.learn(total_episodes=1, callback=lambda _: played.append(env.get_wrapper_attr("position")), progress_bar=False)
    moves = played[0].moves
    positions = [Position.start(learner.game)]
    for action in moves:
        positions.append(positions[-1].play(action))
    backups: list[reports.ShownBackup] = []
    state_tables = [table for table in (learner, copy) if isinstance(table, StateLearner)]
    if state_tables:  # the values of the positions, for either seat
        for seat in (1, 0):
            for ply, here in enumerate(positions):
                both = here.stones[seat], here.stones[1 - seat]
                before, after = (table.value(seat, *both) for table in state_tables)
                backups.append(reports.ShownBackup(ply, seat, None, before, after))
    else:  # the values of the actions played
        for ply, (action, here) in enumerate(zip(moves, positions, strict=False)):
            before, after = (float(table.values(here.own, here.opp)[action]) for table in (learner, copy))
            backups.append(reports.ShownBackup(ply, here.seat, format_moves(here.game, [action]), before, after))
    # Unless it learns during the game, the last backup comes first: each value follows from the one after it.
    backups = [backup for backup in backups if backup.before != backup.after]
    if not learner.table.online:
        backups.reverse()
    return reports.Lesson(learner.num_episodes, format_moves(learner.game, moves), tuple(backups))


def main(words: list[str] | None = None) -> int:
    """Trains as the first line of input says; returns the exit status."""
    folder, *games = sys.argv[1:] if words is None else words
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)  # who plays comes before what learns
    output, sys.stdout = sys.stdout, sys.stderr  # what agents print is no line of ours
    see_current_folder()
    try:
        for game in games:
            import_game(game)
        request = TrainingRequest.from_dict(json.loads(sys.stdin.readline()))
        training = LiveTraining(request, Path(folder), output)
        training.listen(sys.stdin)
        training.run()
    except Exception as error:
        output.write(reports.report_line(reports.Failure(f"{type(error).__name__}: {error}"[:500])))
        output.flush()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
