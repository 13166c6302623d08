"""Programs in any language as policies.

A program reads positions, one per line, and answers each with a line, its move:

    question    4453 .....................................OX..XO.. X 1203945
    answer      4

A question is one line of four words: the moves that led to the position as a move string ("-" for none), the cells row
by row from the top left ("." empty), the side to move ("X", the first player, or "O"), and an integer below 2**63, the
only seed for a program that draws. The answer is one line with the move as an integer counted from 1: the column, or
without gravity the cell. The program exits at the end of its input.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
import weakref
from typing import IO

from tictac_env.checks import parse_whole
from tictac_env.games import Game, game_name
from tictac_env.policies.loading import Reading
from tictac_env.policies.policy import Policy
from tictac_env.position import Position

LONGEST = 200
"""The bytes that a program's answer may have."""
GRACE = 1.0
"""Seconds after the end of its input in which a program may exit by itself."""


class Program(Policy):
    """A program that answers positions with moves, line by line, as a policy.

    It is started at the first question, not through a shell, and started again after an invalid answer. Questions come
    in any order, not game by game, so the program must not rely on earlier ones. The environment variables TICTAC_GAME,
    TICTAC_ROWS and TICTAC_COLS have the game's name and the size of the board. Its standard error is shown.

    Args:
        command: the program and its arguments, as in a shell: "./bot --depth 4".
        game: the game to play.
        time_limit: seconds for an answer, the program's start included.

    Raises:
        ValueError: the command is empty or has an open quotation mark. At a move: the program has ended, or its answer
            is not a move.
        FileNotFoundError: at the first move, if there is no such program.
        TimeoutError: at a move, if there is no answer in time.
    """

    def __init__(self, command: str, game: Game, time_limit: float = 10.0) -> None:
        try:
            self.words = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"the command {command!r} cannot be read: {error}") from None
        if not self.words:
            raise ValueError('the command of a program is empty; give "program:./bot --depth 4"')
        self.command = self.name = command
        self.time_limit = time_limit
        variables = {"GAME": game_name(game) or repr(game), "ROWS": str(game.rows), "COLS": str(game.cols)}
        self._environment = {**os.environ, **{f"TICTAC_{name}": value for name, value in variables.items()}}
        self._dialogue: _Dialogue | None = None

    def act(self, position: Position, seed: int) -> int:
        question = question_of(position, seed)
        try:
            if self._dialogue is None:
                self._dialogue = _Dialogue(self.words, self._environment)
            answer = self._dialogue.answer(question, self.time_limit)
            move = parse_whole(answer, 1, position.game.num_actions)
            if move is None:
                allowed = f"an integer from 1 to {position.game.num_actions}"
                raise ValueError(f"the answer was {answer!r}, and must be {allowed}")
        # After any error it is stopped, or its late answer would be taken for that to the next question.
        except BaseException as error:  # Ctrl-C too: the program may still be working on this question
            self.close()
            if isinstance(error, (ValueError, TimeoutError)):
                raise type(error)(f"{self}: {error}; the question was {question!r}") from None
            raise
        return move - 1

    def close(self) -> None:
        """Stops the program and all processes that it has started, if it runs. The next move starts it again."""
        if self._dialogue is not None:
            self._dialogue.stop()
            self._dialogue = None

    def __deepcopy__(self, memo: object) -> Program:
        return self


def question_of(position: Position, seed: int) -> str:
    """The question to a program about a position: a line without the line break."""
    cells = "".join(".XO"[stone] for stone in position.to_array().ravel().tolist())
    return f"{position.to_moves() or '-'} {cells} {'XO'[position.seat]} {seed}"


def program(text: str, game: Game, reading: Reading) -> Policy:
    """The program that a command starts."""
    return Program(text, game, reading.time_limit)


class _Dialogue:
    """A running program that answers line by line. A thread reads its output, so that a wait for it can time out."""

    def __init__(self, words: list[str], environment: dict[str, str]) -> None:
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                bufsize=0,
                start_new_session=True,  # so that its own processes can be stopped too
            )
        except OSError as error:
            raise type(error)(f"the program {words[0]!r} cannot be started: {error.strerror}") from None
        self._output: queue.Queue[bytes] = queue.Queue(maxsize=1)
        self._reader = threading.Thread(target=_read, args=(self._process.stdout, self._output), daemon=True)
        self._reader.start()
        self.stop = weakref.finalize(self, _stop, self._process, self._reader, self._output)

    def answer(self, question: str, limit: float) -> str:
        """The program's answer within `limit` seconds: a line without the line break."""
        with contextlib.suppress(OSError):  # it has ended, which its output shows below
            self._process.stdin.write(f"{question}\n".encode())  # type: ignore[union-attr]  # a pipe
        text, end = b"", time.monotonic() + limit
        while b"\n" not in text:
            try:
                part = self._output.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                hint = "a program must flush its output after each answer"
                raise TimeoutError(f"no answer within {limit:g} s ({hint})") from None
            if not part:
                status = self._process.wait(GRACE)
                raise ValueError(f"the program has ended with status {status}")
            text += part
            if len(text) > LONGEST:
                raise ValueError(f"the answer begins with {text[:40]!r} and is longer than {LONGEST} bytes")
        line, _, surplus = text.partition(b"\n")
        if surplus:
            raise ValueError(f"the answer was more than one line: {text!r}")
        return line.decode(errors="replace").strip()


def _read(stream: IO[bytes], output: queue.Queue[bytes]) -> None:
    """Puts a program's output into a queue, at most two parts ahead of the reader, and b"" at its end."""
    with contextlib.suppress(OSError, ValueError):  # it was closed
        while part := stream.read(LONGEST + 1):
            output.put(part)
    output.put(b"")


def _stop(process: subprocess.Popen[bytes], reader: threading.Thread, output: queue.Queue[bytes]) -> None:
    """Closes the input of a program, and a moment later kills it and all processes that it has started."""
    with contextlib.suppress(OSError):
        process.stdin.close()  # type: ignore[union-attr]
    # Give it time to exit. Its output must be read meanwhile: a program that cannot write does not exit.
    end = time.monotonic() + GRACE
    while process.poll() is None and time.monotonic() < end and reader.is_alive():
        with contextlib.suppress(queue.Empty):
            output.get(timeout=0.01)
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    # Read on until the thread sees the end; a process that has left the group may hold the pipe open for longer.
    while reader.is_alive() and time.monotonic() < end + GRACE:
        with contextlib.suppress(queue.Empty):
            output.get(timeout=0.01)
    if not reader.is_alive():
        process.stdout.close()  # type: ignore[union-attr]
