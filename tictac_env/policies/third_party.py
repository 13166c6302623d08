"""Third-party players as policies: Kaggle agents, OpenSpiel bots, PettingZoo agents, ONNX networks, programs.

A program in any language reads positions, one per line, and answers each with a line, its move:

    question    4453 .....................................OX..XO.. X 1203945
    answer      4

A question is one line of four words: the moves that led to the position as a move string ("-" for none), the cells row
by row from the top left ("." empty), the side to move ("X", the first player, or "O"), and an integer below 2**63, the
only seed for a program that draws. The answer is one line with the move as an integer counted from 1: the column, or
without gravity the cell. The program ends at the end of its input.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import random
import shlex
import signal
import subprocess
import threading
import time
import weakref
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.checks import parse_whole
from tictac_env.games import Game, KInARow, game_name, shown
from tictac_env.lazy import needing
from tictac_env.observation import OBSERVATION_TYPES, planes_last
from tictac_env.policies.adapters import BatchedPolicy, observer_of, signature_of
from tictac_env.policies.loading import PLANES_LAST, Reading, object_named, run_file
from tictac_env.policies.policy import Policy
from tictac_env.position import Position


class SeededFunction(Policy):
    """A third-party function as a policy: its draws from `random` and `numpy.random` depend on the seed alone.

    Args:
        function: gets as many arguments, at most two, as it has positional parameters.
        agent: the function or its owner, which has the name.
    """

    def __init__(self, function: Callable[..., Any], agent: Any) -> None:
        self._function = function
        self.name = getattr(agent, "__name__", type(agent).__name__)
        signature = signature_of(function)
        parameters = signature.parameters.values() if signature else ()
        kinds = [parameter.kind for parameter in parameters] if signature else [Parameter.VAR_POSITIONAL]
        positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        self._count = 2 if Parameter.VAR_POSITIONAL in kinds else sum(kind in positional for kind in kinds)

    @abstractmethod
    def arguments(self, position: Position) -> tuple[Any, Any]:
        """The arguments of the function in a position."""

    def act(self, position: Position, seed: int) -> int:
        arguments = self.arguments(position)[: self._count]
        python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
        try:
            random.seed(seed)
            np.random.seed(seed % 2**32)  # noqa: NPY002
            action: int = self._function(*arguments)
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)  # noqa: NPY002
        return action


# Kaggle's ConnectX, https://www.kaggle.com/competitions/connectx: the observation and the configuration are those of
# the environments "connectx" and "tictactoe" of kaggle-environments, which need not be installed.

LIMITS = {"actTimeout": 2, "timeout": 2, "agentTimeout": 60, "episodeSteps": 1000}
"""The limits in the competition's configuration; they are not enforced here."""


class Struct(dict[str, Any]):
    """A dict whose entries are also attributes, as Kaggle agents use both."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(name) from None


class KaggleAgent(SeededFunction):
    """A Kaggle agent as a policy. Its draws from `random` and `numpy.random` depend on the seed alone.

    Args:
        agent: takes `observation` (`board`, a list of rows * columns numbers row by row from the top left, 0 empty, 1
            the first player's, 2 the second's; `mark`, 1 or 2; `step`; `remainingOverageTime`) and, if it has a second
            parameter, `configuration` (`rows`, `columns`, `inarow`, ...); returns the column, or without gravity the
            cell.
        game: a game of the k-in-a-row family.

    Raises:
        ValueError: the game is not of this family.
    """

    def __init__(self, agent: Callable[..., Any], game: Game) -> None:
        if not isinstance(game, KInARow):
            raise ValueError(f"a Kaggle agent plays k in a row, not {game_name(game) or repr(game)}")
        super().__init__(agent, agent)

    def arguments(self, position: Position) -> tuple[Any, Any]:
        game: Any = position.game
        observation = Struct(
            board=position.to_array().ravel().tolist(),
            mark=position.seat + 1,
            step=position.ply,
            remainingOverageTime=LIMITS["agentTimeout"],
        )
        configuration = Struct(rows=game.rows, columns=game.cols, inarow=game.connect, **LIMITS)
        return observation, configuration


def last_callable(path: Path) -> Any:
    """The last callable in a Python file, by which Kaggle finds the agent in a submission.

    Names are in the order in which they were first bound; imported names count.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file cannot be run, or has nothing that can be called.
    """
    callables = [value for value in vars(run_file(path)).values() if callable(value)]
    if not callables:
        raise ValueError(f"{path} has nothing that can be called, so it is not a submission")
    return callables[-1]


def kaggle_agent(text: str, game: Game, reading: Reading) -> Policy:
    """The agent of the submission "file.py"."""
    policy = KaggleAgent(last_callable(Path(text)), game)
    policy.name = Path(text).stem
    return policy


def submission(path: Path, game: Game, reading: Reading) -> tuple[Policy, None]:
    """The agent of a Kaggle submission given as a file, without "kaggle:".

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file cannot be run, or its last function does not take Kaggle's observation and configuration.
    """
    agent = last_callable(path)
    names = list(signature.parameters) if (signature := signature_of(agent)) else []
    if len(names) < 2 or "conf" not in names[1].lower():  # a second parameter of another name may be a mask
        name = getattr(agent, "__name__", "NAME")
        raise ValueError(
            f"{path} is not a Kaggle submission: its last function, {name!r}, must take the parameters (observation, "
            f'configuration) of a Kaggle agent; give "{path}:{name}" for a function (observation, mask) -> action, or '
            f'"kaggle:{path}"'
        )
    return KaggleAgent(agent, game), None


class PettingZooAgent(SeededFunction):
    """A PettingZoo agent as a policy. Its draws from `random` and `numpy.random` depend on the seed alone.

    Args:
        agent: a function, or an object with `act`. It takes the dict with "observation", int8 (rows, cols, 2), own
            stones first, and "action_mask", int8 (num_actions,), as in `connect_four_v0` (and PettingZoo's
            `connect_four_v3`); if it has a second parameter, also "player_0" or "player_1"; and returns the action.

    Raises:
        ValueError: `agent` is anything else.
    """

    def __init__(self, agent: Any) -> None:
        function: Callable[..., Any] | None = getattr(agent, "act", agent if callable(agent) else None)
        if isinstance(agent, type) or not callable(function):
            raise ValueError(f"{shown(agent)} is not a PettingZoo agent: give a function, or an object with `act`")
        super().__init__(function, agent)

    def arguments(self, position: Position) -> tuple[Any, Any]:
        game = position.game
        observer = observer_of(game, "planes")
        planes = observer.observe(position.own, position.opp, position.seat)
        observation = {
            "observation": np.ascontiguousarray(np.moveaxis(planes, 0, -1)),
            "action_mask": observer.mask(game.legal(position.own, position.opp)),
        }
        return observation, ("player_0", "player_1")[position.seat]


def pettingzoo_agent(text: str, game: Game, reading: Reading) -> Policy:
    """The agent at "module:name" or "file.py:name"."""
    return PettingZooAgent(object_named(text))


@dataclass(frozen=True)
class NetworkInput:
    """The conversion of observations to a network's input.

    Attributes:
        obs_type: the observation type.
        last: whether the planes are the last axis, as in PettingZoo.
        shape: the shape of the input for one position.
    """

    obs_type: str
    last: bool
    shape: tuple[int, ...]

    def arrays(self, observations: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """The input for B observations, (B, ...): float32 (B, *shape)."""
        ordered = np.moveaxis(observations, 1, -1) if self.last else observations
        return np.ascontiguousarray(ordered, np.float32).reshape(len(observations), *self.shape)

    def __str__(self) -> str:
        return PLANES_LAST if self.last else self.obs_type


def network_input(game: Game, shape: tuple[int, ...], observation: str | None = None) -> NetworkInput:
    """The conversion of an observation of the game to an input of this shape, for one position.

    The input may be the observation unchanged, flattened, with a leading axis (1, rows, cols), or with its planes last,
    (rows, cols, 2). A flat input may have the planes in either order; "planes-last" puts them last.

    Args:
        game: the game.
        shape: the shape of the input for one position.
        observation: "planes", "board", ... or "planes-last"; None for the first type that fits.

    Raises:
        ValueError: no observation fits; the message has the allowed shapes.
    """
    wanted = "planes" if observation == PLANES_LAST else observation
    allowed = []
    for name, kind in OBSERVATION_TYPES.items():
        plain = kind.shape(game)
        if not plain or wanted not in (None, name):
            continue
        last, flat = planes_last(plain), (math.prod(plain),)
        shapes = [form for form in (plain, flat, (1, *plain), last) if form is not None]
        if shape in shapes:
            return NetworkInput(name, shape == last or (shape == flat and observation == PLANES_LAST), shape)
        allowed += [f"{form} ({name})" for form in shapes]
    takes = f"a network for {game_name(game) or repr(game)} takes {', '.join(allowed)} for a position"
    raise ValueError(f"the input {shape} fits no observation; {takes}")


FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
NUMBERS = FLOATS | {"tensor(bool)": np.bool_, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8}
NUMBERS |= {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
AT_ONCE = 64
"""The number of positions in one call of a network; the time limit is for one call."""


class OnnxNetwork(BatchedPolicy):
    """A network in an ONNX file as a policy.

    Its input is an observation of the game, recognised by its shape (see `network_input`); a second input with "mask"
    in its name gets the action mask. The first output of floats (B, num_actions) has the values of the actions; the
    highest legal one is played. Without such an output, the first output of integers, (B,) or (B, 1), has the actions.
    B may be any number or 1.

    Args:
        path: the file.
        game: the game to play.
        observation: the observation type, if the shape is ambiguous (see `Reading`).
        time_limit: the most seconds for up to 64 positions, as networks may contain loops.

    Raises:
        ValueError: the file is not ONNX, or has other inputs or outputs; the message names the file and them.
        TimeoutError: at a move, if the network takes longer.
        DependencyNotInstalled: ONNX Runtime is not installed.
    """

    budget = "no search; one evaluation of a network"

    def __init__(
        self, path: Path, game: Game, observation: str | None = None, time_limit: float = Reading.time_limit
    ) -> None:
        with needing("onnxruntime is missing", "onnx"):
            import onnxruntime
        self._path, self._time_limit, self._run_options = path, time_limit, onnxruntime.RunOptions
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # these networks are small
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime's exception classes cannot be imported
            raise ValueError(f"{path} cannot be read as an ONNX network: {error}") from error
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        masks = [node for node in inputs if "mask" in node.name.lower()]
        boards = [node for node in inputs if node not in masks]
        values = [node for node in outputs if node.type in FLOATS and tuple(node.shape[1:]) == (game.num_actions,)]
        actions = [node for node in outputs if node.type in ("tensor(int64)", "tensor(int32)")]
        if len(boards) != 1 or len(masks) > 1 or not (values or actions):
            nodes = "; ".join(f"{node.name} {node.type} {node.shape}" for node in [*inputs, *outputs])
            raise ValueError(
                f"{path} must have one input besides a mask, and an output of floats (B, {game.num_actions}) or of "
                f"integers (B,); it has {nodes}"
            )
        self._board, self._mask = boards[0], masks[0] if masks else None
        self._output, self.gives = (values[0].name, "values") if values else (actions[0].name, "actions")
        self._at_once = 1 if self._board.shape[0] == 1 else AT_ONCE
        try:
            self._input = network_input(game, tuple(self._board.shape[1:]), observation)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        self.input = f"{self._input} {self._input.shape}"
        super().__init__(self._play, self._input.obs_type)

    def _play(self, observations: npt.NDArray[Any], masks: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        inputs = {self._board.name: self._input.arrays(observations).astype(NUMBERS[self._board.type])}
        if self._mask is not None:
            inputs[self._mask.name] = masks.astype(NUMBERS[self._mask.type])
        starts = range(0, len(masks) or 1, self._at_once)
        parts = [{name: rows[i : i + self._at_once] for name, rows in inputs.items()} for i in starts]
        outputs = np.concatenate([self._run(part) for part in parts])
        if self.gives == "actions":
            return outputs.reshape(len(masks)).astype(np.int64)
        chosen: npt.NDArray[np.int64] = np.where(masks != 0, outputs, -np.inf).argmax(axis=1)
        return chosen

    def _run(self, inputs: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
        options = self._run_options()
        timer = threading.Timer(self._time_limit, setattr, (options, "terminate", True))
        timer.daemon = True
        timer.start()
        try:
            return np.asarray(self._session.run([self._output], inputs, options)[0])
        except Exception:  # see above
            if options.terminate:
                raise TimeoutError(f"{self._path}: no answer within {self._time_limit:g} s") from None
            raise
        finally:
            timer.cancel()


def onnx_network(path: Path, game: Game, reading: Reading) -> tuple[OnnxNetwork, dict[str, Any]]:
    """The network in a file, and its settings; it raises as `OnnxNetwork` does."""
    network = OnnxNetwork(path, game, reading.observation, reading.time_limit)
    return network, {"format": "ONNX", "input": network.input, "gives": network.gives}


LONGEST = 200
"""The most bytes of a program's answer."""
GRACE = 1.0
"""The seconds that a program has to end by itself after its input has ended."""


class Program(Policy):
    """A program that answers positions with moves, line by line, as a policy.

    It is started at the first question, not through a shell, and started again after an invalid answer. Questions come
    in any order, not game by game, so the program must not rely on earlier ones. The environment variables TICTAC_GAME,
    TICTAC_ROWS and TICTAC_COLS have the game's name and the size of the board. Its standard error is shown.

    Args:
        command: the program and its arguments, as in a shell: "./bot --depth 4".
        game: the game to play.
        time_limit: the most seconds for an answer, the program's start included.

    Raises:
        ValueError: the command is empty or has an open quotation mark. At a move: the program ended, or its answer is
            not a move.
        FileNotFoundError: at the first move, if there is no such program.
        TimeoutError: at a move, if there was no answer in time.
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
        except BaseException as error:  # Ctrl-C too: the program may still be working on this question
            self.close()
            if isinstance(error, (ValueError, TimeoutError)):
                raise type(error)(f"{self}: {error}; the question was {question!r}") from None
            raise
        return move - 1

    def close(self) -> None:
        """Stops the program, if it runs, and all processes that it has started. The next move starts it again."""
        if self._dialogue is not None:
            self._dialogue.stop()
            self._dialogue = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        return self


def question_of(position: Position, seed: int) -> str:
    """The question to a program about a position: a line without the line break."""
    cells = "".join(".XO"[stone] for stone in position.to_array().ravel().tolist())
    return f"{position.to_moves() or '-'} {cells} {'XO'[position.seat]} {seed}"


def program(text: str, game: Game, reading: Reading) -> Policy:
    """The program started by a command."""
    return Program(text, game, reading.time_limit)


class _Dialogue:
    """A running program that answers line by line. A thread reads its output, so that waiting has a time limit."""

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
        self._input: Any = self._process.stdin
        self._output: queue.Queue[bytes] = queue.Queue(maxsize=1)
        self._reader = threading.Thread(target=_read, args=(self._process.stdout, self._output), daemon=True)
        self._reader.start()
        self.stop = weakref.finalize(self, _stop, self._process, self._reader, self._output)

    def answer(self, question: str, limit: float) -> str:
        """The program's answer within `limit` seconds: a line without the line break."""
        with contextlib.suppress(OSError):  # it has ended, which its output shows below
            self._input.write(f"{question}\n".encode())
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
        line, _, rest = text.partition(b"\n")
        if rest:
            raise ValueError(f"the answer was more than one line: {text!r}")
        return line.decode(errors="replace").strip()


def _read(stream: Any, output: queue.Queue[bytes]) -> None:
    """Puts a program's output into a queue, at most two parts ahead, and b"" at its end."""
    with contextlib.suppress(OSError, ValueError):  # it was closed
        while part := stream.read(LONGEST + 1):
            output.put(part)
    output.put(b"")


def _stop(process: subprocess.Popen[bytes], reader: threading.Thread, output: queue.Queue[bytes]) -> None:
    """Ends the input of a program, and a moment later kills it and all processes that it has started."""
    with contextlib.suppress(OSError):
        process.stdin.close()  # type: ignore[union-attr]
    end = time.monotonic() + GRACE
    while process.poll() is None and time.monotonic() < end and reader.is_alive():
        with contextlib.suppress(queue.Empty):  # the program must be able to write the rest
            output.get(timeout=0.01)
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    while reader.is_alive() and time.monotonic() < end + GRACE:
        with contextlib.suppress(queue.Empty):
            output.get(timeout=0.01)
    if not reader.is_alive():
        process.stdout.close()  # type: ignore[union-attr]
