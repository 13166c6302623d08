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

PROGRAM = Path(__file__).with_name("sandbox.py")
GUARDS = ("namespaces", "files", "calls")
"""What Linux confines a process by: bubblewrap, Landlock and seccomp."""
MEGABYTE = 1_000_000
PATIENCE = 4
"""Wall-clock time of a call, at most, in multiples of its processor time: a busy machine gives it only a part."""
GRACE = 1.0
"""Seconds that a call may last beyond its wall-clock time before the process is killed."""
SPENT = 2.0
"""Seconds of processor time that the program itself may take to begin."""
LOOK = 0.05
"""Seconds between two looks at the scratch folder and the number of threads."""
LONGEST_LINE = 1 << 14
MOST_PRINTED = 1 << 14
MOST_FILES = 1000
"""Files and folders in the scratch folder."""
MOST_THREADS = 32
FORGED = "it wrote answers of its own to where the grader reads"
UNPROTECTED = (
    "nothing was run: to confine submissions, this system needs seccomp, and bubblewrap or Landlock (Linux 6.2); "
    "--unconfined (unconfined=True) runs them all the same"
)


@dataclass(frozen=True)
class Reply:
    """The answer to one call, as JSON has it; or why there is none, and if it took too long or ended the process."""

    value: Any = None
    trouble: str = ""
    slow: bool = False


class Gone(Exception):
    """The process has ended, or was ended; the message says why."""


class Unprotected(OSError):
    """This system cannot keep a submission from this machine, or cannot begin to run it; so it was not run."""


class Process:
    """A process that runs a file and answers.

    Args:
        source: the file to run; the process may write in its folder, the scratch folder.
        rubric: its limits, and what the file may import.
        until: the monotonic time at which its time is over.
        guards: what of Linux to use; fewer are for tests of what other systems have.
        unconfined: whether to run the file also if nothing but limits and Python's audit hook confines it.
        stopped: once it is set, waiting for an answer ends with `KeyboardInterrupt`.

    Raises:
        Unprotected: nothing confines it, and `unconfined` is False; or Python does not begin.

    Attributes:
        layers: what confines it (see `confine` in `tictac_apps.grading.sandbox`).
        loaded: the reply to loading the file.
        printed: after `stop`, what it has printed, cut off.
    """

    def __init__(
        self,
        source: Path,
        rubric: Rubric,
        until: float,
        guards: tuple[str, ...] = GUARDS,
        unconfined: bool = False,
        stopped: threading.Event | None = None,
    ) -> None:
        limits, seen = rubric.limits, confinement.readable(rubric.packages)
        self.source, self._scratch = source, str(source.parent)
        self._cpu_seconds = math.ceil(limits.seconds) + 1
        self._scratch_bytes = limits.scratch_mb * MEGABYTE
        self._until, self._stopped = until, stopped
        self.layers: tuple[str, ...] = ()
        self.loaded = Reply()
        self.printed = ""
        self._received, self._waiting = b"", b""
        self._looked = math.inf
        self._bubblewrap = confinement.bubblewrap() if "namespaces" in guards else None
        try:
            self._start(seen.read)
        except OSError as error:
            raise Unprotected(f"the program that runs submissions cannot be started: {error}") from error
        plan = {
            "source": str(source),
            "scratch": self._scratch,
            **seen._asdict(),
            "packages": rubric.packages,
            "arrays": rubric.arrays,
            "seconds": limits.setup_seconds,
            "cpu_seconds": self._cpu_seconds,
            "memory": limits.memory_mb * MEGABYTE,
            "file_bytes": limits.file_mb * MEGABYTE,
            "threads": MOST_THREADS,
            "patience": PATIENCE,
            "guards": guards,
            "handed_in": confinement.HANDED_IN if self._bubblewrap else "",
        }
        try:
            self._send(plan)
            try:
                self.layers = tuple(self._line(SPENT)["layers"])
            except Gone:
                if self._popen.poll() is None:
                    raise
                why = self._output.read(MOST_PRINTED).decode(errors="replace").strip()
                raise Unprotected(f"the program that runs submissions did not begin: {why}") from None
            if "hook" in self.layers and not unconfined:
                raise Unprotected(UNPROTECTED)
            self._send({"load": True})
            self._looked = 0.0
            self.loaded = self._reply(0, limits.setup_seconds)
        except Gone as error:
            self.loaded = Reply(trouble=str(error), slow=True)
        except BaseException:
            self.stop()
            raise

    def _start(self, read: Sequence[str]) -> None:
        output, name = tempfile.mkstemp()
        # Opened twice: who shares an open file shares its flags, and O_DIRECT would keep it from being read here.
        self._output, printed = os.fdopen(output, "rb"), open(name, "ab")  # noqa: SIM115  # closed by `stop`, and below
        os.unlink(name)
        ours, theirs = os.pipe()
        numbers, number = os.pipe()
        # Python finds its library by its own path; of an environment nothing is there in the namespaces.
        executable = os.path.realpath(sys.executable) if self._bubblewrap else sys.executable
        program = confinement.PROGRAM if self._bubblewrap else str(PROGRAM)
        command = [executable, "-P", "-s", "-S", "-B", "-u", program, str(theirs)]
        if self._bubblewrap:
            seen, size = (*read, executable), self._scratch_bytes
            command = confinement.wrapped(self._bubblewrap, command, seen, PROGRAM, self._scratch, size, number)
        known = {"HOME": self._scratch, "TMPDIR": self._scratch, "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}
        known |= {"PYTHONHASHSEED": "0"} | dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
        )
        try:
            with printed:
                self._popen = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=printed,
                    stderr=subprocess.STDOUT,
                    cwd=self._scratch,
                    env=known,  # none of the grader's own variables
                    pass_fds=[theirs, number],
                    start_new_session=True,
                    bufsize=0,
                )
        except BaseException:
            os.close(ours)
            os.close(numbers)
            self._output.close()
            raise
        finally:
            os.close(theirs)
            os.close(number)
        self._pid = self._popen.pid
        with open(numbers, "rb") as told_by:
            if self._bubblewrap and (told := told_by.read()):
                self._pid = confinement.child(told)
        assert self._popen.stdin is not None
        self._answers, self._questions = ours, self._popen.stdin
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._answers, selectors.EVENT_READ)
        for handle in (self._answers, self._questions.fileno()):
            os.set_blocking(handle, False)

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
            self._look_at_files(now)
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
        if self._bubblewrap and status > 128:  # which is how bubblewrap tells of a signal
            status = 128 - status
        if status >= 0:
            return f"it ended the process, with status {status}"
        number = -status
        if number == signal.SIGXCPU:
            return f"it used more than {self._cpu_seconds} s of processor time"
        if number == signal.SIGKILL and time.monotonic() < self._until:
            return "it was killed by the system: out of memory or of processor time"
        return f"it was ended by signal {signal.Signals(number).name}"

    def _look_at_files(self, now: float) -> None:
        """Ends what fills the disk, and what begins too many threads."""
        if now - self._looked < LOOK:
            return
        self._looked = now
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended, or this is not Linux
            if os.stat(f"/proc/{self._pid}/task").st_nlink - 2 > MOST_THREADS:
                raise Gone(f"it began more than {MOST_THREADS} threads")
        size = count = 0
        folders = [confinement.files_of(self._pid, self._scratch) if self._bubblewrap else self._scratch]
        while folders:
            try:
                with os.scandir(folders.pop()) as found:
                    for one in found:
                        count += 1
                        if one.is_dir(follow_symlinks=False):
                            folders.append(one.path)
                        else:
                            # A folder of bubblewrap's has a size, which it may fill.
                            size += 0 if self._bubblewrap else one.stat(follow_symlinks=False).st_blocks * 512
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
