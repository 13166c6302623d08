"""Runs a file, confined, and answers questions about its functions, a line of JSON each.

The first line that comes is the plan (see `Plan` in `tictac_env.grading.process`), each further one a question:
`{"function": "choose", "calls": [[[0, 0, ...], [0, 1, ...]], ...], "seconds": 1.0}`.

To the plan it answers `{"layers": [...]}`. At the line that follows it loads the file, and answers `{"n": 0, "answer":
null}` or `{"n": 0, "error": "..."}`. To each call of a question it answers `{"n": 0, "answer": 4}`, `{"n": 0, "error":
"..."}` or `{"n": 0, "late": true}`, n counting from 0.

Nothing here is trusted by who asks: what runs in this process may change all of it, and so its own answers, no more.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from tictac_env.grading.apart.hook import refuse_events
from tictac_env.grading.apart.landlock import restrict_files
from tictac_env.grading.apart.limits import give_up_privileges, limit, refuse_processes
from tictac_env.grading.apart.syscalls import refuse_calls

MODULE = "submission"
LONGEST_ERROR = 300
LONGEST_ANSWER = 2000
CLOCKS = ((signal.SIGPROF, signal.ITIMER_PROF, False), (signal.SIGALRM, signal.ITIMER_REAL, True))
"""The signals and timers of processor time, and of the clock on the wall."""
DEEPEST = 4
"""How deep lists may be nested in an answer."""


class OutOfTime(BaseException):
    """Raised within a call that takes too long; no `Exception`, so that few catch it."""


def answer_all(answers: int) -> None:
    """Reads the plan and the questions from the standard input, and writes to the descriptor `answers`."""
    questions = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def tell(**fields: Any) -> None:
        line = json.dumps(fields).encode() + b"\n"
        while line:
            line = line[os.write(answers, line) :]

    plan = json.loads(questions.readline())
    sys.path[:0] = [plan["scratch"], *plan["path"]]
    tempfile.tempdir = plan["scratch"]  # which it would try by removing a file
    uncopied: Exception | None = None
    if plan["handed_in"]:
        try:
            shutil.copytree(plan["handed_in"], plan["scratch"], dirs_exist_ok=True)
        except Exception as error:  # a full disk, or folders a thousand deep
            uncopied = error
    tell(layers=confine(plan))
    if not questions.readline():
        return  # what confines this process does not suffice
    random.seed(0)
    loaded: list[Any] = []

    def begin() -> None:
        if uncopied is not None:
            raise uncopied
        loaded.append(load(plan["source"]))

    tell(n=0, **_told(begin, plan["seconds"], plan))
    module = loaded[0] if loaded else None
    convert = as_array if plan["arrays"] else None
    for line in questions:
        question = json.loads(line)
        function = getattr(module, question["function"], None)
        for number, arguments in enumerate(question["calls"]):
            if not callable(function):
                tell(n=number, error=f"there is no function {question['function']}")
                continue
            given = [convert(one) if convert else one for one in arguments]
            tell(n=number, **_told(functools.partial(function, *given), question["seconds"], plan))


def confine(plan: dict[str, Any]) -> list[str]:
    """Limits this process, by the system where it can; says by what.

    Returns:
        "limits"; of "namespaces", "files" and "calls" those that hold; and "hook" where these do not suffice.
    """
    separate = bool(plan["handed_in"])
    files = (plan["read"], plan["listed"], [plan["scratch"]])
    limit(plan["cpu_seconds"], plan["memory"], plan["file_bytes"], plan["threads"] if separate else None)
    give_up_privileges()
    layers = ["limits", *(["namespaces"] if separate else [])]
    if "files" in plan["guards"] and restrict_files(*files):
        layers.append("files")
    if "calls" in plan["guards"] and refuse_calls(writes=len(layers) > 1, removes=separate):
        layers.append("calls")
    else:
        refuse_processes()
    if "calls" not in layers or len(layers) < 3:
        refuse_events(*files)
        layers.append("hook")
    return layers


def load(path: str) -> Any:
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
    """Answers what cells of a notebook ask of IPython: `%time` runs its code, all else does nothing."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def run_line_magic(self, name: str, line: str, *_: Any) -> None:
        """Runs the code behind `%time`."""
        if name == "time":
            exec(line, self._names)

    def __getattr__(self, name: str) -> Callable[..., list[str]]:
        return lambda *given, **named: []


def as_array(value: Any) -> Any:
    """A list as environments give it: an array of int8."""
    if not isinstance(value, list):
        return value
    import numpy as np

    return np.array(value, np.int8)


def plain(value: Any, depth: int = 0) -> Any:
    """An answer as JSON has it: numbers, words, True, False, None, and lists of these.

    Raises:
        TypeError: it is something else.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, (bytes, bytearray)) and depth < DEEPEST:
        return [plain(one, depth + 1) for one in (value if isinstance(value, Sequence) else sorted(value))]
    if hasattr(value, "tolist"):  # NumPy's and torch's
        return plain(value.tolist(), depth + 1)
    raise TypeError(f"the answer is {type(value).__name__}, which is neither a number, a word nor a list of these")


def _told(call: Callable[[], Any], seconds: float, plan: dict[str, Any]) -> dict[str, Any]:
    """What to tell of a call: its answer, its error, or that it took too long."""
    try:
        for number, timer, by_the_clock in CLOCKS:
            signal.signal(number, _interrupt)
            signal.setitimer(timer, seconds * (plan["patience"] if by_the_clock else 1))
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
        return {"error": _in_words(error, plan)}
    return {"answer": answer}


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise OutOfTime


def _in_words(error: BaseException, plan: dict[str, Any]) -> str:
    """The error in a line, with the line of the submission it comes from."""
    try:
        home = getattr(sys.modules.get(MODULE), "__file__", None)
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == home]
        told = traceback.format_exception_only(error)
        first = told[-1 if isinstance(error, SyntaxError) else 0].strip().splitlines()[0][:LONGEST_ERROR]
        if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(plan["scratch"]):
            return f"{first} ({os.path.basename(error.filename)}, line {error.lineno})"
        if isinstance(error, ModuleNotFoundError):
            first += f"; allowed here: {', '.join(['the standard library', *plan['packages']])}"
        return first + (f" (line {lines[-1]})" if lines else "")
    except BaseException:
        return f"{type(error).__name__}, which cannot be put in words"[:LONGEST_ERROR]
