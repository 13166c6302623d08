"""Functions written for other libraries, agents of Kaggle and of PettingZoo, as policies."""

from __future__ import annotations

import random
from abc import abstractmethod
from inspect import Parameter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.games import Game, KInARow, game_name, shown
from tictac_env.policies.adapters import AnyFunction, observer_of, signature_of
from tictac_env.policies.loading import Reading, object_named, run_file
from tictac_env.policies.policy import Policy
from tictac_env.position import Position


class SeededFunction(Policy):
    """A third-party function as a policy. Its draws from `random` and `numpy.random` depend on the seed alone.

    Args:
        function: the function; it gets an argument for each positional parameter, at most two.
        agent: the function or the object that it is a method of, whose name the policy takes.
    """

    def __init__(self, function: AnyFunction, agent: object) -> None:
        self._function = function
        self.name = getattr(agent, "__name__", type(agent).__name__)
        signature = signature_of(function)
        parameters = signature.parameters.values() if signature else ()
        kinds = [parameter.kind for parameter in parameters] if signature else [Parameter.VAR_POSITIONAL]
        positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        self._count = 2 if Parameter.VAR_POSITIONAL in kinds else sum(kind in positional for kind in kinds)

    @abstractmethod
    def arguments(self, position: Position) -> tuple[object, object]:
        """The arguments of the function in a position."""

    def act(self, position: Position, seed: int) -> int:
        arguments = self.arguments(position)[: self._count]
        # The agent draws from the global generators, so these are seeded for it, and given back as they were.
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

KAGGLE_LIMITS = {"actTimeout": 2, "timeout": 2, "agentTimeout": 60, "episodeSteps": 1000}
"""The limits in the competition's configuration. They are not enforced here."""


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

    def __init__(self, agent: AnyFunction, game: Game) -> None:
        if not isinstance(game, KInARow):
            raise ValueError(f"a Kaggle agent plays k in a row, not {game_name(game) or repr(game)}")
        super().__init__(agent, agent)

    def arguments(self, position: Position) -> tuple[Struct, Struct]:
        game: Any = position.game  # of the k-in-a-row family, by the constructor
        observation = Struct(
            board=position.to_array().ravel().tolist(),
            mark=position.seat + 1,
            step=position.ply,
            remainingOverageTime=KAGGLE_LIMITS["agentTimeout"],
        )
        configuration = Struct(rows=game.rows, columns=game.cols, inarow=game.connect, **KAGGLE_LIMITS)
        return observation, configuration


def last_callable(path: Path) -> AnyFunction:
    """The last callable in a Python file: the agent of a submission by Kaggle's rule.

    Names are in the order in which they were first bound; imported names count.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file cannot be run, or has nothing that can be called.
    """
    callables = [value for value in vars(run_file(path)).values() if callable(value)]
    if not callables:
        raise ValueError(f"{path} has nothing that can be called, so it is not a submission")
    agent: AnyFunction = callables[-1]
    return agent


def kaggle_agent(text: str, game: Game, reading: Reading) -> Policy:
    """The agent of the submission "file.py"."""
    policy = KaggleAgent(last_callable(Path(text)), game)
    policy.name = Path(text).stem
    return policy


def kaggle_submission(path: Path, game: Game, reading: Reading) -> tuple[Policy, None]:
    """The agent of a Kaggle submission that is named by its file, without "kaggle:".

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
        ValueError: `agent` is neither.
    """

    def __init__(self, agent: object) -> None:
        function: AnyFunction | None = getattr(agent, "act", agent if callable(agent) else None)
        if isinstance(agent, type) or not callable(function):
            raise ValueError(f"{shown(agent)} is not a PettingZoo agent: give a function, or an object with `act`")
        super().__init__(function, agent)

    def arguments(self, position: Position) -> tuple[dict[str, npt.NDArray[np.int8]], str]:
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
