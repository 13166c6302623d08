"""A submission in a process of its own, seen from here: it is asked over pipes, timed, limited and ended."""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tictac_apps.grading import confinement
from tictac_apps.grading.rubric import Rubric
from tictac_env.storage import read_json

PROGRAM = Path(__file__).with_name("examinee.py")
MEGABYTE = 1_000_000
PATIENCE = 4
"""Wall-clock time of a call, at most, in multiples of its processor time: a busy machine gives it only a part."""
GRACE = 1.0
"""Seconds that a call may last beyond its wall-clock time before the process is killed."""
SPENT = 2.0
"""Seconds of processor time that the program itself may take to begin."""
LOOK = 0.05
"""Seconds between two looks at the process and its scratch folder."""
LONGEST_LINE = 1 << 14
MOST_PRINTED = 1 << 14
MOST_FILES = 1000
"""Files and folders in the scratch folder."""
MOST_THREADS = 32
VARIABLES = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"} | dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
"""The environment variables, none of them the grader's own."""
FORGED = "it wrote answers of its own to where the grader reads"
SHARED = (b"/memfd:", b"/dev/zero (deleted)", b"/SYSV")
"""Mappings of memory that stays in use when it is no longer in the address space, which has a limit."""
UNPROTECTED = (
    "nothing was run: bubblewrap, which confines submissions, does not work here: {why}; "
    "--unconfined (unconfined=True) runs them with your own rights"
)
NEEDS = "it needs version 0.8 or later, and user namespaces, which containers and some systems forbid"


@dataclass(frozen=True)
class Reply:
    """The answer to one call, as JSON has it; or why there is none, and if it took too long or ended the process."""

    value: Any = None
    trouble: str = ""
    slow: bool = False


class Gone(Exception):
    """The process has ended, or was ended; the message says why."""


class Unprotected(OSError):
    """This system cannot confine a submission, or cannot begin to run it; so it was not run."""


class Process:
    """A process that runs a file and answers.

    Args:
        source: the file to run; the process may write in its folder, the scratch folder.
        rubric: its limits, and what the file may import.
        until: the monotonic time at which its time is over.
        unconfined: run the file with the rights of this process, within limits; without bubblewrap.
        stopped: once it is set, waiting for an answer ends with `KeyboardInterrupt`.

    Raises:
        Unprotected: bubblewrap does not work here, and `unconfined` is False; or Python does not begin.

    Attributes:
        loaded: the reply to loading the file.
        printed: after `stop`, what it has printed, cut off.
    """

    def __init__(
        self,
        source: Path,
        rubric: Rubric,
        until: float,
        unconfined: bool = False,
        stopped: threading.Event | None = None,
    ) -> None:
        limits, view = rubric.limits, confinement.view_of(rubric.packages)
        self.source, self._scratch, self._confined = source, str(source.parent), not unconfined
        self._cpu_seconds = math.ceil(limits.seconds) + 1
        self._scratch_bytes = limits.scratch_mb * MEGABYTE
        self._until, self._stopped = until, stopped
        self.loaded = Reply()
        self.printed = ""
        self._received, self._waiting = b"", b""
        self._looked = math.inf
        plan = {
            "source": str(source),
            "scratch": self._scratch,
            "path": view.path,
            "packages": rubric.packages,
            "arrays": rubric.arrays,
            "seconds": limits.setup_seconds,
            "cpu_seconds": self._cpu_seconds,
            "memory": limits.memory_mb * MEGABYTE,
            "file_bytes": limits.file_mb * MEGABYTE,
            "threads": MOST_THREADS if self._confined else None,  # else the system counts all threads of this user
            "patience": PATIENCE,
            "handed_in": confinement.HANDED_IN if self._confined else "",
        }
        try:
            self._start(view)
        except OSError as error:
            raise self._unprotected(str(error)) from error
        try:
            self._wait_until_ready()
            self._send(plan)
            self._looked = 0.0
            self.loaded = self._reply(0, limits.setup_seconds)
        except Gone as error:
            self.loaded = Reply(trouble=str(error), slow=True)
        except BaseException:
            self.stop()
            raise

    def _start(self, view: confinement.View) -> None:
        output, name = tempfile.mkstemp()
        # Opened twice: who shares an open file shares its flags, and O_DIRECT would keep it from being read here.
        self._output, printed = os.fdopen(output, "rb"), open(name, "ab")  # noqa: SIM115  # closed by `stop`, and below
        os.unlink(name)
        executable = os.path.realpath(sys.executable)  # by which Python finds its library, not that of an environment
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as passed:
            ours.callback(self._output.close)
            passed.enter_context(printed)
            (self._answers, theirs), (infos, info), (rules, ruling) = os.pipe(), os.pipe(), os.pipe()
            for stack, handles in ((ours, (self._answers, infos)), (passed, (theirs, info, rules, ruling))):
                for handle in handles:
                    stack.callback(os.close, handle)
            program = confinement.PROGRAM if self._confined else str(PROGRAM)
            command = [executable, "-P", "-s", "-S", "-B", "-u", program, str(theirs)]
            if self._confined:
                size = self._scratch_bytes
                command = confinement.confined(command, view, PROGRAM, self._scratch, size, info, rules)
                os.write(ruling, confinement.keyless())
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=printed,
                stderr=subprocess.STDOUT,
                cwd=self._scratch,
                env={**VARIABLES, "HOME": self._scratch, "TMPDIR": self._scratch},
                pass_fds=[theirs, info, rules],
                start_new_session=True,
                bufsize=0,
            )
            ours.pop_all()
        with open(infos, "rb") as written:
            self._pid = confinement.child(written.read()) if self._confined else self._popen.pid
        self._root = f"/proc/{self._pid}/root" if self._confined else ""
        assert self._popen.stdin is not None
        self._questions = self._popen.stdin
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._answers, selectors.EVENT_READ)
        for handle in (self._answers, self._questions.fileno()):
            os.set_blocking(handle, False)

    def _wait_until_ready(self) -> None:
        """Waits for the program, which runs nothing of the submission yet: so this shows if it is confined and watched.

        Raises:
            Unprotected: the program has ended, or its folder cannot be seen from here.
            Gone: the time was used up.
        """
        try:
            self._line(SPENT)
            os.listdir(self._root + self._scratch)
        except Gone:
            if self._popen.poll() is None:
                raise
            why = " ".join(self._output.read(MOST_PRINTED).decode(errors="replace").split())
            raise self._unprotected(f"{printable(why)} ({NEEDS})") from None
        except OSError as error:
            raise self._unprotected(str(error)) from error

    def _unprotected(self, why: str) -> Unprotected:
        return Unprotected(UNPROTECTED.format(why=why) if self._confined else f"Python does not begin: {why}")

    def ask(self, function: str, calls: Sequence[Sequence[Any]], seconds: float) -> Iterator[Reply]:
        """Calls a function several times, and yields each reply as it comes.

        Args:
            function: its name.
            calls: the arguments of each call, as JSON has them.
            seconds: what a call may take, of processor time.

        Raises:
            Gone: the process has ended, or was ended; what has come before is all there is.
        """
        self._send({"function": function, "calls": calls, "seconds": seconds})
        for number in range(len(calls)):
            yield self._reply(number, seconds)

    def stop(self) -> None:
        """Ends the process, and all of its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.kill()
        self._popen.wait()
        self._selector.close()
        with contextlib.suppress(OSError):
            self._questions.close()
        os.close(self._answers)
        self.printed = printable(self._output.read(MOST_PRINTED).decode(errors="replace"))
        self._output.close()

    def _send(self, message: dict[str, Any]) -> None:
        if not self._waiting:
            self._selector.register(self._questions, selectors.EVENT_WRITE)
        self._waiting += json.dumps(message).encode() + b"\n"

    def _reply(self, number: int, seconds: float) -> Reply:
        told = self._line(seconds)
        if told.get("n") != number:
            raise Gone(FORGED)
        if told.get("late"):
            return Reply(trouble=f"took more than {seconds:g} s", slow=True)
        if "error" in told:
            return Reply(trouble=printable(str(told["error"])[:400]))
        return Reply(told.get("answer"))

    def _line(self, seconds: float) -> dict[str, Any]:
        """The next line that the process writes, after so many seconds of processor time at most."""
        end = time.monotonic() + PATIENCE * seconds + GRACE
        while b"\n" not in self._received:
            now = time.monotonic()
            if self._stopped is not None and self._stopped.is_set():
                raise KeyboardInterrupt
            left = min(end, self._until) - now  # what has come meanwhile is read also when there is none left
            if now - self._looked >= LOOK:
                self._looked = now
                self._look()
            for key, _ in self._selector.select(max(0.0, min(LOOK, left))):
                self._read() if key.fd == self._answers else self._write()
            if len(self._received) > LONGEST_LINE and b"\n" not in self._received[:LONGEST_LINE]:
                raise Gone(FORGED)
            if left <= 0 and b"\n" not in self._received:
                if now >= self._until:
                    raise Gone("the time for all was used up")
                raise Gone(f"took more than {seconds:g} s, and could not be interrupted")
        line, _, self._received = self._received.partition(b"\n")
        try:
            told = read_json(line)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            raise Gone(FORGED)
        return told

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            found = os.read(self._answers, 1 << 16)
            if not found:
                raise Gone(self._how_it_ended())
            self._received += found

    def _write(self) -> None:
        try:
            sent = os.write(self._questions.fileno(), self._waiting)
        except BlockingIOError:
            return
        except BrokenPipeError:
            sent = len(self._waiting)  # it has ended, which reading tells
        self._waiting = self._waiting[sent:]
        if not self._waiting:
            self._selector.unregister(self._questions)

    def _how_it_ended(self) -> str:
        try:
            status = self._popen.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            return "it closed the pipe to the grader"
        if self._confined and status > 128:  # which is how bubblewrap tells of a signal
            status = 128 - status
        if status >= 0:
            return f"it ended the process, with status {status}"
        number = -status
        if number == signal.SIGXCPU:
            return f"it used more than {self._cpu_seconds} s of processor time"
        if number == signal.SIGKILL and time.monotonic() < self._until:
            return "it was killed by the system: out of memory or of processor time"
        return f"it was ended by signal {signal.Signals(number).name}"

    def _look(self) -> None:
        """Ends what exceeds limits that the system does not keep, or not for root.

        Raises:
            Gone: it began processes or many threads, took memory that no limit counts, filled its folder, or hid.
        """
        try:
            if self._confined and sum(map(str.isdigit, os.listdir(f"{self._root}/proc"))) > 1:
                raise Gone("it began another process")
            if os.stat(f"/proc/{self._pid}/task").st_nlink - 2 > MOST_THREADS:
                raise Gone(f"it began more than {MOST_THREADS} threads")
            mappings = Path(f"/proc/{self._pid}/maps").read_bytes()
            if any(kind in mappings for kind in SHARED):
                raise Gone("it took shared memory")
        except (FileNotFoundError, ProcessLookupError):  # it has ended, or this is not Linux
            pass
        except PermissionError:
            raise Gone("it hid from the grader") from None
        self._look_at_files()

    def _look_at_files(self) -> None:
        size = count = 0
        folders = [self._root + self._scratch]
        while folders:
            try:
                with os.scandir(folders.pop()) as entries:
                    for entry in entries:
                        count += 1
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
                        elif not self._confined:  # else the folder has a size, which may be used up
                            size += entry.stat(follow_symlinks=False).st_blocks * 512
                        if count > MOST_FILES or size > self._scratch_bytes:
                            allowed = f"{MOST_FILES} files or {self._scratch_bytes // MEGABYTE} MB"
                            raise Gone(f"it filled its folder with more than {allowed}")
            except PermissionError:
                raise Gone("it made a folder that hides what is in it") from None
            except OSError:  # it was removed meanwhile
                continue


def printable(text: str) -> str:
    """A third-party text with a question mark for each character that could steer a terminal."""
    return "".join(one if one.isprintable() or one in "\n\t" else "?" for one in text)
