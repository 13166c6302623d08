"""One board in each of its dialects, as the contract tests play on it: every adapter tells the same things."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import ALL_GAMES, breadth, id_and_sizes, make_env, title
from gymnasium.vector import AutoresetMode

from tictac_env.envs.aec import BoardAECEnv
from tictac_env.games import GAMES, Game
from tictac_env.position import Position
from tictac_env.wrappers import OpponentPolicyEnv

Array = npt.NDArray[Any]


class Shown(NamedTuple):
    """What a reset or a step tells of one board, in the words of the single environment."""

    observation: Array
    """int8 (2, rows, cols): the stones of the side shown, then the other's."""
    reward: float
    terminated: bool
    mask: list[int]
    seat: int
    opponent_action: int
    outcome: int | None
    illegal_action: int | None

    def listed(self) -> list[Any]:
        """All of it, so that it compares with ==."""
        return [self.observation.tolist(), *self[1:]]


class Board(ABC):
    """One board. `env` is the environment that a user has; `settings` are the keywords of `gym.make`."""

    against: bool = True
    """Whether an opponent can answer the moves."""
    alone: bool = True
    """Whether both sides can be stepped."""
    settings: frozenset[str] = frozenset({"opponent", "play_as", "illegal", "rewards", "start"})
    """The keywords that the dialect has."""
    tells_outcomes = True
    """Whether the info at the end has `outcome`, and `illegal_action` if it was one."""
    survives_opponents = True
    """Whether an opponent's illegal move leaves the game as it was, to go on with."""

    duplicates = frozenset({"copy", "deepcopy", "pickle"})

    env: Any
    returned: Any = ()
    """What the environment itself returned last."""

    def __init__(self, game: Game, **settings: Any) -> None:
        self.game = game
        self.env = self.make(game, **settings)

    @staticmethod
    @abstractmethod
    def make(game: Game, **settings: Any) -> Any:
        """The environment."""

    @abstractmethod
    def reset(self, seed: int | None = None, **options: Any) -> Shown:
        """Begins a game."""

    @abstractmethod
    def step(self, action: Any) -> Shown:
        """Plays a move, and the opponent's answer."""

    @property
    @abstractmethod
    def position(self) -> Position:
        """The position on the board."""

    @property
    @abstractmethod
    def mask(self) -> list[int]:
        """The action mask as the environment gives it when asked."""

    def twin(self, duplicate: Callable[[Any], Any]) -> Self:
        """The same board over a duplicate of the environment."""
        twin = copy.copy(self)
        twin.env = duplicate(self.env)
        return twin


class Single(Board):
    """`gym.make`."""

    make = staticmethod(make_env)

    def reset(self, seed: int | None = None, **options: Any) -> Shown:
        observation, info = self.env.reset(seed=seed, options=options or None)
        return self._shown(observation, 0.0, False, info)

    def step(self, action: Any) -> Shown:
        observation, reward, terminated, truncated, info = self.env.step(action)
        assert truncated is False and type(terminated) is bool and type(reward) is float
        return self._shown(observation, reward, terminated, info)

    def _shown(self, observation: Array, reward: float, terminated: bool, info: dict[str, Any]) -> Shown:
        self.returned = observation, info
        assert info["action_mask"].dtype == np.int8 and type(info["opponent_action"]) is int
        keys = {"action_mask", "seat", "opponent_action"} | ({"outcome"} if terminated else set())
        assert set(info) - {"illegal_action"} == keys and ("illegal_action" not in info or terminated)
        told = (info["seat"], info["opponent_action"], info.get("outcome"), info.get("illegal_action"))
        return Shown(observation.copy(), reward, terminated, info["action_mask"].tolist(), *told)

    @property
    def position(self) -> Position:
        position: Position = self.env.unwrapped.position
        return position

    @property
    def mask(self) -> list[int]:
        masks: list[int] = self.env.unwrapped.action_masks().tolist()
        return masks


class Vector(Board):
    """The middle one of three boards of `gym.make_vec`; the others play their lowest legal actions beside it."""

    WATCHED = np.array([False, True, False])

    @staticmethod
    def make(game: Game, **settings: Any) -> Any:
        settings = {"num_envs": 3, "autoreset_mode": AutoresetMode.DISABLED} | settings
        return gym.make_vec(**id_and_sizes(game), **settings)

    def __init__(self, game: Game, **settings: Any) -> None:
        super().__init__(game, **settings)
        self.begun = False

    def reset(self, seed: int | None = None, **options: Any) -> Shown:
        given: dict[str, Any] = {"reset_mask": self.WATCHED} if self.begun else {}
        observations, infos = self.env.reset(seed=[None, seed, None], options=options | given)
        self.begun = True
        return self._shown(observations, 0.0, False, infos)

    def step(self, action: Any) -> Shown:
        masks = self.env.action_masks()
        if self.begun and (over := ~masks.any(axis=1) & ~self.WATCHED).any():
            self.env.reset(options={"reset_mask": over})
            masks = self.env.action_masks()
        is_number = isinstance(action, (int, np.integer)) and not isinstance(action, bool)
        actions = [int(masks[0].argmax()), action, int(masks[2].argmax())] if is_number else [action] * 3
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        assert not truncations.any()
        return self._shown(observations, float(rewards[1]), bool(terminations[1]), infos)

    def _shown(self, observations: Array, reward: float, terminated: bool, infos: dict[str, Any]) -> Shown:
        self.returned = observations, infos
        assert infos["action_mask"].dtype == np.int8
        assert infos["_seat"][1] and infos["_opponent_action"][1] and infos["_action_mask"][1]
        told = {key: int(infos[key][1]) if key in infos and infos[f"_{key}"][1] else None for key in TOLD}
        assert (told["outcome"] is not None) == terminated
        return Shown(observations[1].copy(), reward, terminated, infos["action_mask"][1].tolist(), *told.values())  # type: ignore[arg-type]

    @property
    def position(self) -> Position:
        position: Position = self.env.batch[1]
        return position

    @property
    def mask(self) -> list[int]:
        masks: list[int] = self.env.action_masks()[1].tolist()
        return masks


TOLD = ("seat", "opponent_action", "outcome", "illegal_action")


class Wrapped(Single):
    """PettingZoo's environment of the game in an `OpponentPolicyEnv`, which tells nothing of outcomes."""

    alone = False
    settings = frozenset({"opponent", "play_as", "illegal"})
    tells_outcomes = False
    survives_opponents = False

    @staticmethod
    def make(game: Game, illegal: str = "lose", **settings: Any) -> Any:
        return OpponentPolicyEnv(BoardAECEnv(game, illegal=illegal), **settings)

    def _shown(self, observation: Array, reward: float, terminated: bool, info: dict[str, Any]) -> Shown:
        self.returned = observation, info
        assert set(info) == {"action_mask", "seat", "opponent_action"} and info["action_mask"].dtype == np.int8
        planes, mask = np.moveaxis(observation, -1, 0).copy(), info["action_mask"].tolist()
        return Shown(planes, reward, terminated, mask, info["seat"], info["opponent_action"], None, None)

    @property
    def position(self) -> Position:
        position: Position = self.env.env.position
        return position


class TwoAgents(Board):
    """PettingZoo's environment by itself: shown is who is to move, also at the end, paid is who has moved."""

    against = False
    settings = frozenset({"opponent", "illegal"})
    duplicates = frozenset({"deepcopy", "pickle"})
    tells_outcomes = False

    @staticmethod
    def make(game: Game, opponent: None = None, illegal: str = "lose") -> Any:
        return BoardAECEnv(game, illegal=illegal)

    def reset(self, seed: int | None = None, **options: Any) -> Shown:
        self.env.reset(seed=seed, options=options or None)
        return self._shown(self.env.agent_selection, 0.0, None)

    def step(self, action: Any) -> Shown:
        while self.env.agents and self.env.terminations[self.env.agent_selection]:
            self.env.step(None)  # agents that are done leave by it
        mover = self.env.agent_selection
        self.env.step(action)
        [other] = set(self.env.possible_agents) - {mover}
        return self._shown(other, float(self.env.rewards[mover]), self.env.infos[mover].get("illegal_action"))

    def _shown(self, agent: str, reward: float, illegal_action: int | None) -> Shown:
        seen, seat = self.env.observe(agent), self.env.possible_agents.index(agent)
        self.returned = seen
        terminated = self.env.terminations[agent]
        planes = np.moveaxis(seen["observation"], -1, 0).copy()
        return Shown(planes, reward, terminated, seen["action_mask"].tolist(), seat, -1, None, illegal_action)

    @property
    def position(self) -> Position:
        position: Position = self.env.position
        return position

    @property
    def mask(self) -> list[int]:
        masks: list[int] = self.env.observe(self.env.agent_selection)["action_mask"].tolist()
        return masks


DIALECTS: list[type[Board]] = [Single, Vector, Wrapped, TwoAgents]
AGAINST = [dialect for dialect in DIALECTS if dialect.against]
ALONE = [dialect for dialect in DIALECTS if dialect.alone]
WITH_STARTS = [dialect for dialect in DIALECTS if "start" in dialect.settings]


def name_of(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else value if isinstance(value, str) else title(value)


def each(dialects: list[type[Board]], games: Iterable[Game] = ALL_GAMES) -> pytest.MarkDecorator:
    """For each dialect and game; many boards are compiled for few games in `make test`."""
    pairs = [(dialect, game) for dialect in dialects for game in games]
    few = [(dialect, game) for dialect, game in pairs if dialect is not Vector or game in GAMES.values()]
    return pytest.mark.parametrize(("dialect", "game"), breadth(few, pairs), ids=name_of)


against = pytest.mark.parametrize("dialect", AGAINST, ids=name_of)
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=name_of)
registered = pytest.mark.parametrize("game", GAMES.values(), ids=title)
