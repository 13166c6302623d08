"""The program that runs a submission and answers questions about its functions, a line of JSON each.

It is run by its path, `python -P -s -S -B examinee.py FD`: questions come on the standard input, answers go to the
descriptor FD. It uses the standard library alone: importing `tictac_env` takes longer than most submissions play.

It first writes `{"ready": true}`. The first line it reads is the plan (see `Process` in `tictac_apps.grading.process`):
it limits itself, loads the file, and answers `{"n": 0, "answer": null}` or `{"n": 0, "error": "..."}`. Each further
line is a question: `{"function": "choose", "calls": [[[0, 0, ...], [0, 1, ...]], ...], "seconds": 1.0}`. To each call
it answers `{"n": 0, "answer": 4}`, `{"n": 0, "error": "..."}` or `{"n": 0, "late": true}`, n counting from 0.

The grader trusts nothing here: a submission may change everything in this process, and by that only its own answers.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import random
import resource
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, ModuleType
from typing import IO, TypedDict

MODULE = "submission"
LONGEST_ERROR = 300
LONGEST_ANSWER = 2000
DEEPEST = 4
"""Levels of lists that an answer may have."""
OPEN_FILES = 64
CLOCKS = ((signal.SIGPROF, signal.ITIMER_PROF, False), (signal.SIGALRM, signal.ITIMER_REAL, True))
"""The signals and timers of processor time, and of wall-clock time."""

Json = None | bool | int | float | str | Sequence["Json"]
"""An argument or an answer."""


class ExamPlan(TypedDict):
    """The first line that the program reads: the submission, and its limits."""

    source: str
    scratch: str
    """The folder that it may write to."""
    path: Sequence[str]
    """Folders of packages that it may import."""
    packages: Sequence[str]
    """Their names, for messages."""
    arrays: bool
    """True if lists become arrays before they are passed to functions."""
    seconds: float
    """Processor time of loading the file."""
    cpu_seconds: int
    """Processor time of the whole process."""
    memory: int
    file_bytes: int
    threads: int | None
    patience: int
    """The wall-clock time of a call, in multiples of its processor time."""
    handed_in: str
    """The folder from which the submission is copied to the scratch folder; "" if it lies there."""


class ExamQuestion(TypedDict):
    """A line that asks a function: the arguments of each call, and the processor time that each may take."""

    function: str
    calls: Sequence[Sequence[Json]]
    seconds: float


class ExamAnswer(TypedDict, total=False):
    """The result of a call; exactly one of these."""

    answer: Json
    error: str
    late: bool


class OutOfTime(BaseException):
    """Raised within a call that takes too long; not an `Exception`, so that few submissions catch it."""


def answer_all(answers: int) -> None:
    """Reads the plan and the questions from the standard input, and writes to the descriptor `answers`."""
    # What the submission reads from its standard input is empty, not our questions.
    questions = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    write_line(answers, {"ready": True})
    plan: ExamPlan = json.loads(questions.readline())
    sys.path[:0] = [plan["scratch"], *plan["path"]]
    random.seed(0)
    loaded: list[ModuleType] = []

    def begin() -> None:
        if plan["handed_in"]:  # before the limits: a file that is handed in may be larger than one that is written
            shutil.copytree(plan["handed_in"], plan["scratch"], dirs_exist_ok=True)
        limit(plan)
        loaded.append(load(plan["source"]))

    write_line(answers, {"n": 0, **called(begin, plan["seconds"], plan)})
    answer_questions(questions, answers, loaded[0] if loaded else None, plan)


def answer_questions(questions: IO[bytes], answers: int, module: ModuleType | None, plan: ExamPlan) -> None:
    """Calls the functions that are asked for, and answers each call when it returns."""
    for line in questions:
        question: ExamQuestion = json.loads(line)
        function = getattr(module, question["function"], None)
        for number, arguments in enumerate(question["calls"]):
            if not callable(function):
                write_line(answers, {"n": number, "error": f"there is no function {question['function']}"})
                continue
            values = [as_array(value) if plan["arrays"] and isinstance(value, list) else value for value in arguments]
            write_line(
                answers, {"n": number, **called(functools.partial(function, *values), question["seconds"], plan)}
            )


def write_line(answers: int, fields: Mapping[str, object]) -> None:
    """Writes a line of JSON; a pipe may take it in parts."""
    line = json.dumps(fields).encode() + b"\n"
    while line:
        line = line[os.write(answers, line) :]


def load(path: str) -> ModuleType:
    """The module that a file holds."""
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{os.path.basename(path)} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    vars(module).update(get_ipython=lambda: Notebook(vars(module)), display=print)
    spec.loader.exec_module(module)
    return module


class Notebook:
    """A stand-in for IPython in the cells of a notebook: `%time` runs its code, all other magics do nothing."""

    def __init__(self, names: dict[str, object]) -> None:
        self._names = names

    def run_line_magic(self, name: str, line: str, *_: object) -> None:
        """Runs the code behind `%time`."""
        if name == "time":
            exec(line, self._names)

    def __getattr__(self, name: str) -> Callable[..., list[str]]:
        return lambda *arguments, **keywords: []


def as_array(value: list[Json]) -> object:
    """The list as an array of int8, as environments give it."""
    import numpy as np

    return np.array(value, np.int8)


def called(call: Callable[[], object], seconds: float, plan: ExamPlan) -> ExamAnswer:
    """Calls a function, and returns its answer, its error, or that it took too long."""
    try:
        for number, timer, wall_clock in CLOCKS:
            signal.signal(number, _interrupt)
            signal.setitimer(timer, seconds * (plan["patience"] if wall_clock else 1))
        try:
            answer = plain(call())
        finally:
            for _, timer, _ in CLOCKS:
                signal.setitimer(timer, 0)
        if len(json.dumps(answer)) > LONGEST_ANSWER:
            raise ValueError("the answer is too long")
    except OutOfTime:
        return {"late": True}
    except BaseException as error:
        return {"error": described(error, plan)}
    return {"answer": answer}


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise OutOfTime


def plain(value: object, depth: int = 0) -> Json:
    """The answer as JSON has it: numbers, strings, True, False, None, and lists of these.

    Raises:
        TypeError: it is something else.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, (bytes, bytearray)) and depth < DEEPEST:
        return [plain(item, depth + 1) for item in (value if isinstance(value, Sequence) else sorted(value))]
    if hasattr(value, "tolist"):  # NumPy's and torch's
        return plain(value.tolist(), depth + 1)
    raise TypeError(f"the answer is {type(value).__name__}, which is neither a number, a string nor a list of these")


def described(error: BaseException, plan: ExamPlan) -> str:
    """The error in one line, with the number of the submission's line that raised it."""
    try:
        home = getattr(sys.modules.get(MODULE), "__file__", None)
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == home]
        messages = traceback.format_exception_only(error)
        first = messages[-1 if isinstance(error, SyntaxError) else 0].strip().splitlines()[0][:LONGEST_ERROR]
        if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(plan["scratch"]):
            return f"{first} ({os.path.basename(error.filename)}, line {error.lineno})"
        if isinstance(error, ModuleNotFoundError):
            first += f"; allowed here: {', '.join(['the standard library', *plan['packages']])}"
        return first + (f" (line {lines[-1]})" if lines else "")
    except BaseException:
        return f"{type(error).__name__}, whose message cannot be shown"[:LONGEST_ERROR]


def limit(plan: ExamPlan) -> None:
    """Sets the limits that the system enforces, but for those that it does not know or that are lower already."""
    values = {
        "CPU": plan["cpu_seconds"],
        "AS": plan["memory"],
        "FSIZE": plan["file_bytes"],
        "NPROC": plan["threads"],
        "NOFILE": OPEN_FILES,
        "CORE": 0,
        "MSGQUEUE": 0,
    }
    for name, value in values.items():
        if value is not None and (which := getattr(resource, f"RLIMIT_{name}", None)) is not None:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(which, (value, value))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # a system without memory ends this process first


if __name__ == "__main__":
    answer_all(int(sys.argv[1]))
