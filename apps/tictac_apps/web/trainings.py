"""Trainings: a queue of processes, each known by a token that cannot be guessed, and forgotten after a while."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tictac_apps.web import training_form
from tictac_apps.web import training_reports as reports
from tictac_apps.web.limits import ServerLimits
from tictac_apps.web.opponents import FILES, NamedOpponents
from tictac_apps.web.requests import Fields, Refused

PROCESS = "tictac_apps.web.live_training"
"""The module that a training runs."""
MOST_POINTS = 500
"""The most points of a curve, and games walked through, that are kept."""
GRACE = 60.0
"""The seconds that a training has to stop."""
UNFINISHED = ("waiting", "running")


def start_process(module: str, path: Path, games: Sequence[str]) -> subprocess.Popen[str]:
    """Starts a module as a process that answers by lines, and imports nothing unasked from the current folder.

    Args:
        module: its name; it calls `see_current_folder` for the modules of `games`.
        path: its first argument.
        games: its further arguments, the games of the server.

    Raises:
        OSError: it cannot be started.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, os.fspath(path), *games],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


class Training:
    """One training: its process, once it has begun, and what that has reported.

    Args:
        request: the training asked for, checked.
        folder: where the agent is saved.

    Attributes:
        state: "waiting", "running", and in the end "done", "proven", "stopped" or "failed".
        kept: the name under which its agent was kept last; "" if it was not.
    """

    def __init__(self, request: training_form.TrainingRequest, folder: Path) -> None:
        self.request = request
        self.file = folder / request.file_name
        self.asked_for = time.monotonic()
        self.state, self.reason, self.done, self.kept = "waiting", "", 0, ""
        self.rows: list[reports.CurveReport] = []
        self.lessons: list[reports.Lesson] = []
        self.thoughts: reports.WatchedThoughts | None = None
        self.level: reports.BeatenLevel | None = None
        self._watched = ""
        self._asked_to_stop = False
        self._lock = threading.RLock()
        self._process: subprocess.Popen[str] | None = None
        self._timer: threading.Timer | None = None

    def start(self, seconds: float, games: Sequence[str], ended: Callable[[], None]) -> None:
        """Starts the process, unless the training was stopped while it waited.

        Args:
            seconds: how long it may run.
            games: those of the server, whose modules the process imports.
            ended: called in another thread when the process has ended.
        """
        with self._lock:
            if self.state != "waiting":
                return
            try:
                self._process = start_process(PROCESS, self.file.parent, games)
            except OSError as error:
                self.state, self.reason = "failed", f"its process cannot be started: {error.strerror}"
                return
            self.state = "running"
            self._write(json.dumps(self.request.to_dict()))
            threading.Thread(target=self._listen, args=(self._process, ended), daemon=True).start()
            self._end_after(seconds, self.stop)

    def _end_after(self, seconds: float, action: Callable[[], None]) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, action)
        self._timer.daemon = True
        self._timer.start()

    def report(self, since: int) -> dict[str, object]:
        """Progress for the page; the points of the curve are those from number `since` on."""
        with self._lock:
            return {
                "state": self.state,
                "reason": self.reason,
                "done": self.done,
                "total": self.request.total,
                "unit": self.request.unit,
                "plan": self.request.to_dict(),
                "rows": self.rows[since:],
                "thoughts": self.thoughts,
                "level": self.level,
                "lessons": [lesson.at for lesson in self.lessons],
                "saved": self.file.is_file(),
                "kept": self.kept,
            }

    def lesson(self, number: int) -> reports.Lesson:
        """A game walked through.

        Raises:
            Refused: there is none of this number.
        """
        with self._lock:
            if number >= len(self.lessons):
                raise Refused(f"there are {len(self.lessons)} games to walk through, and no number {number}", 404)
            return self.lessons[number]

    def watch(self, moves: str) -> None:
        """Asks the process for its thoughts about the position after these moves, from now on."""
        with self._lock:
            if moves != self._watched and self.state == "running":
                self._watched = moves
                self._write(json.dumps({"watch": moves}))

    def stop(self) -> None:
        """Leaves the queue, or asks the process to stop and to keep what is learned; ends it if it does not."""
        with self._lock:
            if self.state == "waiting":
                self.state = "stopped"
            elif not self._asked_to_stop:
                self._asked_to_stop = True
                self._write(json.dumps("stop"))
                self._end_after(GRACE, self.kill)

    def kill(self) -> None:
        """Ends the training at once."""
        with self._lock:
            if self.state == "waiting":
                self.state = "stopped"
            if self._timer:
                self._timer.cancel()
            if self._process:
                self._process.kill()

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the process has ended meanwhile
            if self._process and self._process.stdin:
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()

    def _listen(self, process: subprocess.Popen[str], ended: Callable[[], None]) -> None:
        """Reads what the process reports, until it ends."""
        with contextlib.suppress(OSError), process:  # which closes the pipes, and waits
            for line in process.stdout or ():
                with contextlib.suppress(ValueError), self._lock:  # what an agent printed is not a report
                    self._heard(reports.read_report(line))
        with self._lock:
            if self._timer:
                self._timer.cancel()
            if self.state == "running":
                self.state = "stopped" if self._asked_to_stop else "failed"
                self.reason = "its process exited without a result"
        ended()

    def _heard(self, report: reports.Report) -> None:
        match report:
            case reports.CurveReport():
                self.done = report.at
                if len(self.rows) < MOST_POINTS:
                    self.rows.append(report)
            case reports.Lesson():
                if len(self.lessons) < MOST_POINTS:
                    self.lessons.append(report)
            case reports.Progress():
                self.done = report.done
            case reports.WatchedThoughts():
                self.thoughts = report
            case reports.BeatenLevel():
                self.level = report
            case reports.End():
                self.state = "proven" if report.proven else "stopped" if report.stopped else "done"
            case reports.Failure():
                self.state, self.reason = "failed", report.reason


class Trainings:
    """All trainings of a server; what visitors ask of them. Those that may not run yet wait, in the order they came.

    Args:
        limits: how many, and how long.
        games: those of the server, as `import_game` takes them.
    """

    def __init__(self, limits: ServerLimits, games: Sequence[str] = ()) -> None:
        self.limits = limits
        self.games = games
        self._of_token: dict[str, Training] = {}
        self._lock = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None  # made when it is needed

    def menu(self, fields: Fields) -> dict[str, object]:
        """What the form of trainings offers."""
        return training_form.menu()

    def begin(self, opponents: NamedOpponents, fields: Fields) -> dict[str, str]:
        """Begins a training by the plan that the fields are, or lets it wait for others to end; its token.

        Raises:
            Refused: they are not a plan, or too many trainings wait already.
        """
        game = fields.game
        opponents.admit(game)
        if fields.get("opponent") is not None:
            opponent = fields.text("opponent")
            if opponent.startswith(FILES):
                raise Refused("in a training the opponent must be a policy's name, not a file")
            opponents.get(opponent, game)
        try:
            request = training_form.TrainingRequest.from_dict(fields)
        except (ValueError, TypeError) as error:
            raise Refused(str(error)) from None
        with self._lock:
            # If all places are taken, the training that was asked for longest ago, and is over, makes room.
            self._forget_old()
            if len(self._of_token) >= self.limits.kept_trainings:
                finished = {
                    token: training.asked_for
                    for token, training in self._of_token.items()
                    if training.state not in UNFINISHED
                }
                if not finished:
                    reason = f"{len(self._waiting())} trainings are waiting, as many as may; try again in a minute"
                    raise Refused(reason, 429, {"retry-after": "60"})
                self._forget(min(finished, key=finished.__getitem__))
            token = secrets.token_urlsafe(18)
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="tictac-trainings-", ignore_cleanup_errors=True)
            folder = Path(self._folder.name) / secrets.token_hex(8)
            folder.mkdir()
            self._of_token[token] = Training(request, folder)
            self._start_next()
        return {"token": token}

    def look(self, fields: Fields) -> dict[str, object]:
        """The progress of the training of a token, and the points of its curve from number `since` on.

        Its `place` in the queue is 1 if it is the next to begin, and 0 if it does not wait. With `moves` the position
        after them is watched: its `thoughts` come with a later progress. They name the moves that they are about.

        Raises:
            Refused: there is no such training, or the moves lead to no unfinished position.
        """
        training = self.get(fields.text("token"))
        if "moves" in fields:
            position = Fields({"game": training.request.game, "moves": fields["moves"]}).position(unfinished=True)
            training.watch(position.to_moves())
        with self._lock:
            waiting = self._waiting()
        place = waiting.index(training) + 1 if training in waiting else 0
        return {"place": place} | training.report(fields.integer("since", MOST_POINTS))

    def stop(self, fields: Fields) -> dict[str, object]:
        """Stops the training of a token, or takes it out of the queue."""
        training = self.get(fields.text("token"))
        training.stop()
        return training.report(MOST_POINTS)

    def lesson(self, fields: Fields) -> reports.Lesson:
        """A game of the training of a token, walked through."""
        return self.get(fields.text("token")).lesson(fields.integer("number", MOST_POINTS))

    def get(self, token: str) -> Training:
        """The training of a token.

        Raises:
            Refused: there is none, or none any more.
        """
        with self._lock:
            self._forget_old()
            training = self._of_token.get(token)
            if training is None:
                raise Refused("unknown or expired training", 404)
            training.asked_for = time.monotonic()
            return training

    def close(self) -> None:
        """Ends all trainings and deletes their files."""
        with self._lock:
            for token in list(self._of_token):
                self._forget(token)
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def _waiting(self) -> list[Training]:
        return [training for training in self._of_token.values() if training.state == "waiting"]

    def _start_next(self) -> None:
        """Starts those that have waited longest, as many as may run."""
        for training in self._waiting():
            if sum(other.state == "running" for other in self._of_token.values()) < self.limits.trainings:
                training.start(self.limits.training_seconds, self.games, self._start_after_end)

    def _start_after_end(self) -> None:
        with self._lock:
            self._forget_old()
            self._start_next()

    def _forget_old(self) -> None:
        now, limits = time.monotonic(), self.limits
        for token, training in list(self._of_token.items()):
            if now - training.asked_for > (
                limits.waits_unasked if training.state == "waiting" else limits.forgotten_after
            ):
                self._forget(token)

    def _forget(self, token: str) -> None:
        training = self._of_token.pop(token)
        training.kill()
        shutil.rmtree(training.file.parent, ignore_errors=True)
