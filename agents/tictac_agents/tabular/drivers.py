"""How a learner comes by its games: through reset and step of one board or of many, or in a compiled loop."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from tictac_agents.tabular.compiled_games import CompiledGames, can_play
from tictac_agents.tabular.loops import (
    AT,
    BEGUN_NOW,
    DONE,
    GOING,
    OPP_STONES,
    OWN_STONES,
    SEAT,
    STEPS,
    TERMINATED,
    TRUNCATED,
    VIEW_ROWS,
    choose,
    look,
    observe,
)
from tictac_agents.tabular.states import Ints
from tictac_env.checks import whole
from tictac_env.compiled import machine_code
from tictac_env.envs.vector.boards import OPP, OWN
from tictac_env.games import Game, describe_game
from tictac_env.observation import read_observation

if TYPE_CHECKING:
    from tictac_agents.tabular.learner import Learner

Environment = gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any]
Arrays = dict[str, npt.NDArray[Any]]
Bits = tuple[int, int]
Code = Callable[..., Any]
UNCOMPILED = 100
"""How many games of a run go through reset and step in any case: so few need no compiled loop."""
SECONDS = 0.1
"""How long the compiled loop runs at a time, about."""


class Driver(ABC):
    """Plays a learner's games; subclasses say how. Its boards number `num_envs`."""

    def __init__(self, learner: Learner, num_envs: int) -> None:
        self.learner = learner
        self.view: Ints = np.zeros((VIEW_ROWS, num_envs), np.int64)
        self.actions: Ints = np.zeros(num_envs, np.int64)
        self.abandon()

    def abandon(self) -> None:
        """Drops the games under way: all boards begin anew."""
        self.view[AT] = DONE

    @property
    def under_way(self) -> bool:
        """Whether there are games under way."""
        return bool((self.view[AT] != DONE).any())

    def games(self) -> Arrays:
        """The games under way, for the learner's file."""
        if not self.under_way:
            return {}
        games = self.learner.numbered_games(self._arrays())
        return {f"games_{name}": array for name, array in games.items()}

    def set_games(self, arrays: Arrays, board: Mapping[str, Any]) -> None:
        """Takes over what `games` gave, the environment's state being `board`.

        Raises:
            KeyError, TypeError, ValueError: that is not what these arrays are.
        """
        if "games_view" not in arrays:
            return
        wanted = self._arrays()
        saved = {name: arrays[f"games_{name}"] for name in wanted}
        for name, array in wanted.items():
            if saved[name].shape != array.shape or saved[name].dtype != array.dtype:
                raise ValueError(f"its games_{name} are {saved[name].dtype} {saved[name].shape}, not {array.shape}")
        stones = np.bitwise_or(*np.array(board["boards"])[[OWN, OPP]])
        if not self._accepts(saved["view"], stones) or not self.learner.accepts_games(saved, np.bitwise_count(stones)):
            raise ValueError("its games under way are not those on its boards")
        for name, array in wanted.items():
            array[:] = saved[name]

    def _arrays(self) -> Arrays:
        return {name: getattr(self.learner.table, name) for name in self.learner.GAME_ARRAYS} | {"view": self.view}

    def _accepts(self, view: Ints, stones: Ints) -> bool:
        """Whether a view that was read from a file shows boards with these stones, where games are under way."""
        going = view[AT] == GOING
        known = going | (view[AT] == DONE)
        seats = (view[SEAT] == 0) | (view[SEAT] == 1)
        seen = (view[OWN_STONES] | view[OPP_STONES] == stones) & (view[OWN_STONES] & view[OPP_STONES] == 0)
        return bool((known & seats & (seen | ~going) & (view[STEPS] >= 0)).all())

    @abstractmethod
    def play(self, games: int) -> Iterator[None]:
        """Plays on until at least one game is over, or nothing is left to do for now.

        Args:
            games: how many games may end before the learner's callback has to be called.

        Yields:
            After each game, or after several if there may be so many; they are counted then.
        """

    def _count(self, games: int, steps: int) -> None:
        self.learner.num_timesteps += steps
        self.learner.num_episodes += games


class OneBoard(Driver):
    """Plays a game at a time through reset and step, or many in the compiled loop and then one through reset and step.

    That one leaves the environment as it should be after the last game, so that nothing tells the two apart.
    """

    def __init__(self, learner: Learner) -> None:
        super().__init__(learner, 1)
        self._rewards = np.zeros(1)
        self._seen: dict[int | bytes, Bits] = {}
        self._played = self._chunk = 0
        self._code: tuple[Code, Code] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_code": None}  # machine code is this process's

    def abandon(self) -> None:
        super().abandon()
        self._played, self._chunk = 0, 1  # what is begun begins slowly

    def play(self, games: int) -> Iterator[None]:
        if self._played >= UNCOMPILED and games > 1 and self.learner.compiled and can_play(self.learner.env):
            self._play_compiled(min(games, self._chunk) - 1)
        self._count(1, self._play_one())
        self._played += 1
        yield

    def _play_compiled(self, games: int) -> None:
        """Plays at most so many games, and never the last one of a run."""
        learner, began = self.learner, time.monotonic()
        compiled = CompiledGames(learner.env.unwrapped)  # type: ignore[arg-type]  # a BoardEnv: `can_play`
        room = learner.game.cells * learner.most_new
        while games > 0:
            learner.make_room(room)
            most_games, most_steps = learner.until_change()
            play_as, of_this_seat = learner.next_seat()
            most_games = min(games, most_games, of_this_seat)
            played, steps = compiled.play(learner.scheduled_table(), most_games, most_steps, room, play_as)
            self._count(played, steps)
            games -= played
            if not played and len(learner) + room <= learner.capacity:
                break  # the run is about to end, or the next game cannot begin
        took = time.monotonic() - began
        self._chunk = max(
            2, self._chunk * 2 if took < SECONDS else self._chunk // 2 if took > 3 * SECONDS else self._chunk
        )

    def _play_one(self) -> int:
        """Plays a game through reset and step, and returns the number of its steps."""
        learner, game, view, actions, rewards = self.learner, self.learner.game, self.view, self.actions, self._rewards
        learner.make_room(2 * learner.most_new)
        table = learner.scheduled_table()
        if self._code is None:
            of_choose = machine_code(choose, game, table, view, actions)
            self._code = of_choose, machine_code(observe, game, table, view, rewards)
        choose_next, observe_result = self._code
        observation, info = learner.begin_games()
        own, opp = self._read(observation)
        view[: AT + 1, 0] = info["seat"], own, opp, BEGUN_NOW
        over = 0
        while not over:
            choose_next(game, table, view, actions)
            observation, reward, terminated, truncated, info = learner.env.step(int(actions[0]))
            if not terminated or info["opponent_action"] >= 0:  # else it has seen the end itself
                own, opp = self._read(observation)
            at = TERMINATED if terminated else TRUNCATED if truncated else GOING
            view[: AT + 1, 0] = info["seat"], own, opp, at
            rewards[0] = reward
            over = observe_result(game, table, view, rewards)
            if learner.make_room(2 * learner.most_new):
                table = learner.scheduled_table()
        return int(view[STEPS, 0])

    def _read(self, observation: Any) -> Bits:
        """The bits of an observation, remembered."""
        key = observation.tobytes() if isinstance(observation, np.ndarray) else int(observation)
        bits = self._seen.get(key)
        if bits is None:
            bits = self._seen[key] = read_observation(self.learner.game, observation)
        return bits


class ManyBoards(Driver):
    """Plays the boards of a vector environment, a step of them all at a time.

    All boards choose, the environment steps, all boards learn, in their order and from the same table. A game that is
    over begins anew by an explicit reset, whether the environment would have reset it or not.
    """

    def __init__(self, learner: Learner, num_envs: int) -> None:
        super().__init__(learner, num_envs)
        self._all = np.ones(num_envs, np.bool_)
        board: Any = learner.env.unwrapped
        if board.autoreset_mode == AutoresetMode.SAME_STEP:
            raise ValueError(
                "a learner sees the end of a game and then begins the next one itself: give the vector environment "
                f"autoreset_mode NEXT_STEP or DISABLED, not {board.autoreset_mode}"
            )

    def play(self, games: int) -> Iterator[None]:
        learner, game, view = self.learner, self.learner.game, self.view
        over = view[AT] == DONE
        if over.any():
            _, infos = learner.begin_games(None if over.all() else over)
            self._look(infos, over)
            view[AT, over] = BEGUN_NOW
        learner.make_room(2 * len(over) * learner.most_new)
        table = learner.scheduled_table()
        choose(game, table, view, self.actions)
        _, rewards, terminated, truncated, infos = learner.env.step(self.actions)
        self._look(infos, self._all)
        view[AT] = np.where(terminated, TERMINATED, np.where(truncated, TRUNCATED, GOING))
        observe(game, table, view, np.asarray(rewards, np.float64))
        for steps in view[STEPS, view[AT] == DONE].tolist():
            self._count(1, steps)
            yield

    def _look(self, infos: dict[str, Any], chosen: Any) -> None:
        batch = self.learner.env.unwrapped.batch  # type: ignore[union-attr]  # a BoardVectorEnv
        look(self.learner.game, batch.own, batch.opp, np.asarray(infos["seat"]), chosen, self.view)


def default_env(game: Game, described: Mapping[str, Any]) -> Environment:
    """An environment of the game, as wide as the one that was described."""
    known: Any = describe_game(game)
    known = {"id": known} if isinstance(known, str) else known
    if "num_envs" in described:
        return gym.make_vec(num_envs=whole("num_envs", described["num_envs"]), **known)
    return gym.make(**known)
