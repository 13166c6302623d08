"""A submission in a process of its own, from the grader's side: it is asked over pipes, timed, limited and ended."""

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
from typing import TYPE_CHECKING

from tictac_apps.grading import confinement
from tictac_apps.grading.rubric import Rubric
from tictac_env.storage import read_json

if TYPE_CHECKING:
    from tictac_apps.grading.examinee import ExamPlan, ExamQuestion, Json  # Windows cannot import it

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
"""Kinds of mapped memory that the limit of the address space does not count once they are unmapped."""
UNPROTECTED = (
    "nothing was run: bubblewrap, which confines submissions, does not work here: {why}; "
    "--unconfined (unconfined=True) runs them with your own rights"
)
NEEDS = "it needs version 0.8 or later, and user namespaces, which containers and some systems forbid"


@dataclass(frozen=True)
class Reply:
    """The answer to one call.

    Attributes:
        value: the answer as JSON has it.
        trouble: why there is no answer; empty if there is one.
        slow: True if the call took too long or ended the process.
    """

    value: Json = None
    trouble: str = ""
    slow: bool = False


class Gone(Exception):
    """The process has ended, or was ended; the message says why."""


class Unprotected(OSError):
    """The submission was not run: this system cannot confine it, or cannot start its process."""


class Process:
    """A process that runs a file and answers.

    Args:
        source: the file to run; the process may write in its folder, the scratch folder.
        rubric: its limits, and what the file may import.
        until: the monotonic time at which its time is over.
        unconfined: run the file within limits but without bubblewrap, with the rights of this process.
        stopped: once it is set, waiting for an answer ends with `KeyboardInterrupt`.

    Raises:
        Unprotected: bubblewrap does not work here, and `unconfined` is False; or Python does not start.

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
        plan: ExamPlan = {
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
            self._looked = 0.0  # from now on code of the submission runs, so it is watched
            self.loaded = self._reply(0, limits.setup_seconds)
        except Gone as error:
            self.loaded = Reply(trouble=str(error), slow=True)
        except BaseException:
            self.stop()
            raise

    def _start(self, view: confinement.View) -> None:
        # A file takes what the submission prints. It is opened twice: a process that shares an open file shares its
        # flags, and with O_DIRECT set by the submission it could not be read here.
        output, name = tempfile.mkstemp()
        self._output, printed = os.fdopen(output, "rb"), open(name, "ab")  # noqa: SIM115  # closed by `stop`, and below
        os.unlink(name)
        # Handles of `ours` stay open unless this fails; those that are passed on are closed here in any case.
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as passed:
            ours.callback(self._output.close)
            passed.enter_context(printed)
            # Three pipes: the program's answers, bubblewrap's report of the process, and the filter of system calls.
            (self._answers, theirs), (infos, info), (rules, ruling) = os.pipe(), os.pipe(), os.pipe()
            for stack, handles in ((ours, (self._answers, infos)), (passed, (theirs, info, rules, ruling))):
                for handle in handles:
                    stack.callback(os.close, handle)
            # By the real path Python finds its own library, not that of a virtual environment.
            program = confinement.PROGRAM if self._confined else str(PROGRAM)
            command = [os.path.realpath(sys.executable), "-P", "-s", "-S", "-B", "-u", program, str(theirs)]
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
        # The process that is watched is bubblewrap's child; its root folder shows its files from outside.
        with open(infos, "rb") as report:
            self._pid = confinement.child(report.read()) if self._confined else self._popen.pid
        self._root = f"/proc/{self._pid}/root" if self._confined else ""
        assert self._popen.stdin is not None
        self._questions = self._popen.stdin
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._answers, selectors.EVENT_READ)
        for handle in (self._answers, self._questions.fileno()):
            os.set_blocking(handle, False)

    def _wait_until_ready(self) -> None:
        """Waits until the program has started, and checks that it can be watched.

        The program has not run any code of the submission yet, so an error here is the system's, not the submission's.

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
        return Unprotected(UNPROTECTED.format(why=why) if self._confined else f"Python does not start: {why}")

    def ask(self, function: str, calls: Sequence[Sequence[Json]], seconds: float) -> Iterator[Reply]:
        """Calls a function several times, and yields each reply as it comes.

        Args:
            function: its name.
            calls: the arguments of each call, as JSON has them.
            seconds: the processor time that a call may take.

        Raises:
            Gone: the process has ended, or was ended; no replies follow those yielded so far.
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

    def _send(self, message: ExamPlan | ExamQuestion) -> None:
        if not self._waiting:
            self._selector.register(self._questions, selectors.EVENT_WRITE)
        self._waiting += json.dumps(message).encode() + b"\n"

    def _reply(self, number: int, seconds: float) -> Reply:
        fields = self._line(seconds)
        if fields.get("n") != number:
            raise Gone(FORGED)
        if fields.get("late"):
            return Reply(trouble=f"took more than {seconds:g} s", slow=True)
        if "error" in fields:
            return Reply(trouble=printable(str(fields["error"])[:400]))
        return Reply(fields.get("answer"))

    def _line(self, seconds: float) -> dict[str, Json]:
        """The fields of the next line that the process writes, for which it may use that processor time."""
        end = time.monotonic() + PATIENCE * seconds + GRACE
        while b"\n" not in self._received:
            now = time.monotonic()
            if self._stopped is not None and self._stopped.is_set():
                raise KeyboardInterrupt
            if now - self._looked >= LOOK:
                self._looked = now
                self._look()
            # Wait for either pipe, and wake up in time to look again. Pipes are read once more after the time is over,
            # so that an answer that is there already counts.
            left = min(end, self._until) - now
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
            fields = read_json(line)
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            raise Gone(FORGED)
        return fields

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            received = os.read(self._answers, 1 << 16)
            if not received:
                raise Gone(self._how_it_ended())
            self._received += received

    def _write(self) -> None:
        try:
            sent = os.write(self._questions.fileno(), self._waiting)
        except BlockingIOError:
            return
        except BrokenPipeError:
            sent = len(self._waiting)  # it has ended, which reading will report
        self._waiting = self._waiting[sent:]
        if not self._waiting:
            self._selector.unregister(self._questions)

    def _how_it_ended(self) -> str:
        try:
            status = self._popen.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            return "it closed the pipe to the grader"
        if self._confined and status > 128:  # bubblewrap's status after a signal
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
        """Checks the limits that the system does not enforce, or not for root.

        Raises:
            Gone: it started processes or many threads, took memory that no limit counts, filled its folder, or hid.
        """
        try:
            # The only number in its own /proc is its own.
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
            except OSError:  # the folder was removed meanwhile
                continue


def printable(text: str) -> str:
    """A third-party message with a question mark for each character that could steer a terminal."""
    return "".join(character if character.isprintable() or character in "\n\t" else "?" for character in text)
