"""Trainings: each a process of its own, known by a token that cannot be guessed, and forgotten after a while."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tictac_env.web.asking import Refused
from tictac_env.web.limits import Limits

PLAN, MENU = "tictac_agents.watched.plan:Plan", "tictac_agents.watched.plan:menu"
PROCESS = "tictac_agents.watched.run"
"""What checks a training, what offers them, and the module that runs one; named here, imported when used."""
MOST_POINTS = 500
"""How many points of a curve, and games walked through, are kept."""
GRACE = 60.0
"""How many seconds a training that was asked to stop has for it."""


def _called(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def training_menu() -> dict[str, Any]:
    """What the form of trainings offers."""
    found: dict[str, Any] = _called(MENU)()
    return found


class Training:
    """One training: its process, and what that has told.

    Args:
        plan: what is trained, checked.
        folder: where the agent is saved.
        seconds: how long it may run.
        games: those of the server, whose modules the process imports.
    """

    def __init__(self, plan: Any, folder: Path, seconds: float, games: Sequence[str] = ()) -> None:
        self.plan = plan
        self.file = folder / ("agent.zip" if plan.is_network else "agent.npz")
        self.asked_for = time.monotonic()
        self.done = 0
        self.state = "running"
        self._asked_to_stop = False
        self.reason = ""
        self.rows: list[dict[str, Any]] = []
        self.lessons: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", PROCESS, os.fspath(folder), *games],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        self._write(json.dumps(plan.to_dict()))
        threading.Thread(target=self._listen, daemon=True).start()
        self._timer = threading.Timer(seconds, self.stop)
        self._timer.daemon = True
        self._timer.start()

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        with self._lock:
            return self.state == "running"

    def told(self, since: int) -> dict[str, Any]:
        """What the page shows; of the points of the curve those from number `since` on."""
        with self._lock:
            return {
                "state": self.state,
                "reason": self.reason,
                "done": self.done,
                "total": self.plan.total,
                "unit": "steps" if self.plan.is_network else "games",
                "plan": self.plan.to_dict(),
                "rows": self.rows[since:],
                "lessons": [one["at"] for one in self.lessons],
                "saved": self.file.is_file(),
            }

    def lesson(self, number: int) -> dict[str, Any]:
        """A game walked through.

        Raises:
            Refused: there is none of this number.
        """
        with self._lock:
            if number >= len(self.lessons):
                raise Refused(f"there are {len(self.lessons)} games to walk through, and no number {number}", 404)
            return self.lessons[number]

    def stop(self) -> None:
        """Asks it to stop, and to keep what is learned; ends it where it does not."""
        self._asked_to_stop = True
        self._write("stop")
        end = threading.Timer(GRACE, self.kill)
        end.daemon = True
        end.start()

    def kill(self) -> None:
        """Ends it at once."""
        self._timer.cancel()
        if self._process.poll() is None:
            self._process.kill()

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # it has ended meanwhile
            pipe = self._process.stdin
            if pipe is not None:
                pipe.write(line + "\n")
                pipe.flush()

    def _listen(self) -> None:
        """Takes over what the process tells, until it ends."""
        process = self._process
        if process.stdout is None:
            return
        for line in process.stdout:
            with contextlib.suppress(ValueError, KeyError):
                self._heard(json.loads(line))
        process.wait()
        self._timer.cancel()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        with self._lock:
            if self.state == "running":
                word = "stopped" if self._asked_to_stop else "failed"
                self.state, self.reason = word, "its process ended without a word"

    def _heard(self, told: dict[str, Any]) -> None:
        kind = told.pop("kind")
        with self._lock:
            if kind == "row":
                self.done = told["at"]
                if len(self.rows) < MOST_POINTS:
                    self.rows.append(told)
            elif kind == "lesson" and len(self.lessons) < MOST_POINTS:
                self.lessons.append(told)
            elif kind == "progress":
                self.done = told["done"]
            elif kind == "end":
                self.state = "proven" if told["proven"] else "stopped" if told["stopped"] else "done"
            elif kind == "error":
                self.state, self.reason = "failed", told["reason"]


class Trainings:
    """All trainings of a server.

    Args:
        limits: how many, and how long.
        games: those of the server, as `import_game` takes them.
    """

    def __init__(self, limits: Limits, games: Sequence[str] = ()) -> None:
        self.limits = limits
        self.games = games
        self._of_token: dict[str, Training] = {}
        self._lock = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None  # made when it is needed

    def start(self, plan: Mapping[str, Any]) -> str:
        """Begins a training; its token.

        Raises:
            Refused: the plan is not one, or there are enough trainings already.
        """
        try:
            checked = _called(PLAN).from_dict(plan)
        except (ValueError, TypeError) as error:
            raise Refused(str(error)) from None
        with self._lock:
            self._forget_old()
            running = sum(one.running for one in self._of_token.values())
            if running >= self.limits.trainings:
                told = f"{running} trainings are running, as many as may at once; try again when one has ended"
                raise Refused(told, 429, {"retry-after": "10"})
            if len(self._of_token) >= self.limits.kept_trainings:
                oldest = min(
                    (token for token, one in self._of_token.items() if not one.running),
                    key=lambda token: self._of_token[token].asked_for,
                )
                self._forget(oldest)
            token = secrets.token_urlsafe(18)
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="tictac-trainings-", ignore_cleanup_errors=True)
            folder = Path(self._folder.name) / secrets.token_hex(8)
            folder.mkdir()
            self._of_token[token] = Training(checked, folder, self.limits.training_seconds, self.games)
        return token

    def get(self, token: str) -> Training:
        """The training of a token.

        Raises:
            Refused: there is none, or none any more.
        """
        with self._lock:
            self._forget_old()
            found = self._of_token.get(token)
            if found is None:
                raise Refused("there is no such training here, or none any more", 404)
            found.asked_for = time.monotonic()
            return found

    def file(self, token: str) -> Path:
        """Where the training of a token saves its agent.

        Raises:
            Refused: there is no such training.
        """
        return self.get(token).file

    def close(self) -> None:
        """Ends all trainings and deletes their files."""
        with self._lock:
            for token in list(self._of_token):
                self._forget(token)
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def _forget_old(self) -> None:
        before = time.monotonic() - self.limits.forgotten_after
        for token in [token for token, one in self._of_token.items() if one.asked_for < before]:
            self._forget(token)

    def _forget(self, token: str) -> None:
        training = self._of_token.pop(token)
        training.kill()
        shutil.rmtree(training.file.parent, ignore_errors=True)
