"""Players of other frameworks: Kaggle agents, OpenSpiel bots, PettingZoo agents."""

from __future__ import annotations

import importlib
import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tictac_env.games import Game, KInARow, game_name, shown
from tictac_env.policies.adapters import observer_of
from tictac_env.policies.loading import Reading, last_callable, object_named, places
from tictac_env.policies.policy import Policy
from tictac_env.position import Position


@contextmanager
def globally_seeded(seed: int) -> Iterator[None]:
    """Makes what a block draws from `random` and from `numpy.random` depend on `seed` alone, and nothing else on it.

    Args:
        seed: a non-negative integer.
    """
    plain, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002  # what other people's code draws from
    try:
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(numpys)  # noqa: NPY002


# A submission to Kaggle's ConnectX as a policy: `agent(observation, configuration) -> column`.
#
# https://www.kaggle.com/competitions/connectx; the observation and the configuration are those of the environments
# "connectx" and "tictactoe" of kaggle-environments, which need not be installed.


ACT_TIMEOUT, OVERAGE, STEPS = 2, 60, 1000
"""What the competition's configuration says; nothing here measures it."""


class Struct(dict[str, Any]):
    """A dict whose entries are attributes too, as Kaggle's agents use both."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class KaggleAgent(Policy):
    """A Kaggle agent as a policy. What it draws from `random` and `numpy.random` follows from the seed.

    Args:
        agent: takes `observation` (`board`, a list of rows * columns numbers row by row from the top left, 0 empty, 1
            the first player's, 2 the second's; `mark`, 1 or 2; `step`; `remainingOverageTime`) and, if it has a second
            parameter, `configuration` (`rows`, `columns`, `inarow`, ...); returns the column, or the cell where stones
            do not fall.
        game: a game of the k-in-a-row family.

    Raises:
        ValueError: the game is another one.
    """

    def __init__(self, agent: Callable[..., Any], game: Game) -> None:
        if not isinstance(game, KInARow):
            raise ValueError(f"a Kaggle agent plays k in a row, not {game_name(game) or repr(game)}")
        self._agent = agent
        self._given = places(agent, 2)
        self.name = getattr(agent, "__name__", type(agent).__name__)

    def act(self, position: Position, seed: int) -> int:
        game: Any = position.game
        observation = Struct(
            board=position.to_array().ravel().tolist(),
            mark=position.seat + 1,
            step=position.ply,
            remainingOverageTime=OVERAGE,
        )
        configuration = Struct(
            rows=game.rows,
            columns=game.cols,
            inarow=game.connect,
            actTimeout=ACT_TIMEOUT,
            timeout=ACT_TIMEOUT,
            agentTimeout=OVERAGE,
            episodeSteps=STEPS,
        )
        with globally_seeded(seed):
            action: int = self._agent(*(observation, configuration)[: self._given])
        return action


def kaggle_agent(text: str, game: Game, reading: Reading) -> Policy:
    """The agent of a submission, by the path of its file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it cannot be run, or has no agent.
    """
    return KaggleAgent(last_callable(Path(text)), game)


def looks_like_agent(found: Any) -> bool:
    """Whether the second parameter of a callable is a configuration by its name, and no mask."""
    try:
        names = list(inspect.signature(found).parameters)
    except (TypeError, ValueError):
        return False
    return len(names) >= 2 and "conf" in names[1].lower()


ADAPTERS = "tictac_env.openspiel"
"""What makes bots policies; it stands above this package, and is imported when there is a bot."""


def openspiel_bot(text: str, game: Game, reading: Reading) -> Policy:
    """The bot that "module:name" or "file.py:name" names: a `pyspiel.Bot`, or a function that makes one from a seed.

    It reads the states of OpenSpiel's own "tic_tac_toe" or "connect_four", of any size; on other games those of ours.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no such module or name, or it is neither a bot nor a function.
        DependencyNotInstalled: OpenSpiel is not installed.
    """
    adapters: Any = importlib.import_module(ADAPTERS)
    spiel: Any = importlib.import_module("pyspiel")
    bot = object_named(text)
    if isinstance(bot, type) or not (isinstance(bot, spiel.Bot) or callable(bot)):
        raise ValueError(f"{text!r} is no bot of OpenSpiel's, nor a function that makes one from a seed: {bot!r}")
    policy: Policy = adapters.BotPolicy(bot, _spiel_game(game, adapters, spiel), text.rpartition(":")[2])
    return policy


def _spiel_game(game: Game, adapters: Any, spiel: Any) -> Any:
    """The game whose states other people's bots know."""
    if isinstance(game, KInARow) and game.gravity:
        sizes = {"rows": game.rows, "columns": game.cols, "x_in_row": game.connect}
        return spiel.load_game("connect_four", sizes)
    if isinstance(game, KInARow) and (game.rows, game.cols, game.connect) == (3, 3, 3):
        return spiel.load_game("tic_tac_toe")
    return adapters.load_game(game)


AGENTS = ("player_0", "player_1")


class PettingZooAgent(Policy):
    """An agent of PettingZoo's as a policy. What it draws from `random` and `numpy.random` follows from the seed.

    Args:
        agent: a function, or an object with `act`. It takes the dict with "observation", int8 (rows, cols, 2), own
            stones first, and "action_mask", int8 (num_actions,), as `connect_four_v0` (and PettingZoo's
            `connect_four_v3`) shows them; if it has a second parameter, "player_0" or "player_1"; and returns the
            action.

    Raises:
        ValueError: `agent` is neither.
    """

    def __init__(self, agent: Any) -> None:
        function: Callable[..., Any] | None = getattr(agent, "act", agent if callable(agent) else None)
        if isinstance(agent, type) or not callable(function):
            raise ValueError(f"{shown(agent)} is no agent of PettingZoo's: give a function, or an object with `act`")
        self._function = function
        self._given = places(function, 2)
        self.name = getattr(agent, "__name__", type(agent).__name__)

    def act(self, position: Position, seed: int) -> int:
        game = position.game
        observer = observer_of(game, "planes")
        planes = observer.observe(position.own, position.opp, position.seat)
        seen = {
            "observation": np.ascontiguousarray(np.moveaxis(planes, 0, -1)),
            "action_mask": observer.mask(game.legal(position.own, position.opp)),
        }
        with globally_seeded(seed):
            action: int = self._function(*(seen, AGENTS[position.seat])[: self._given])
        return action


def pettingzoo_agent(text: str, game: Game, reading: Reading) -> Policy:
    """The agent that "module:name" or "file.py:name" names.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no such module or name, or it is no agent.
    """
    return PettingZooAgent(object_named(text))
