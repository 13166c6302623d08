"""A wrapper by which an environment speaks: boards as prompts, answers as actions."""

from __future__ import annotations

import string
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from tictac_apps.language_models.harness import BoardHarness, GameHarness
from tictac_apps.language_models.session import Asking
from tictac_env.checks import whole
from tictac_env.envs import protocol
from tictac_env.games import LOST
from tictac_env.position import Position
from tictac_env.wrappers.observations import RegretInfo

MAX_LENGTH = 1 << 16
"""The most characters of prompts and answers, by the spaces."""


class TextEnv(gym.Wrapper[str, str, Any, Any]):
    r"""The same games in words: an observation is a prompt, an action a language model's whole answer.

    Answers are read strictly. One without a legal move leaves the game as it is: the next observation says what was
    wrong, and the reward is 0. After `retries` further such answers for one move the game is lost.

    `info` also has `answer_status`: "legal", "illegal", "unparsed", or "" after a reset. After the end the observation
    is the board and who has won.

    Args:
        env: an environment of this package of any one board; `info` has regrets if it is, or wraps, a `RegretInfo`.
        harness: makes the prompts and reads the answers; a `BoardHarness` unless given.
        retries: the number of wrong answers that are forgiven for each move.

    Raises:
        ValueError: `env` is not one of this package, or `retries` is no integer.

    Example:
        >>> import gymnasium as gym, tictac_env
        >>> env = TextEnv(gym.make("TicTacToe-v0", opponent="minimax-first"), retries=1)
        >>> prompt, info = env.reset(seed=0)
        >>> prompt, reward, terminated, truncated, info = env.step("I like the middle.")
        >>> info["answer_status"], reward, terminated
        ('unparsed', 0.0, False)
        >>> prompt, reward, terminated, truncated, info = env.step("The middle it is.\nMove: 5")
        >>> info["answer_status"], env.unwrapped.position.to_moves()
        ('legal', '51')
    """

    def __init__(self, env: gym.Env[Any, Any], harness: GameHarness | None = None, retries: int = 2) -> None:
        super().__init__(env)
        if not isinstance(getattr(env.unwrapped, "position", None), Position):
            raise ValueError(f"{env} has no `position`: TextEnv needs an environment of this package")
        self._board: gym.Env[Any, Any] = env  # steps by actions, not by texts
        self._asking = Asking(harness or BoardHarness(), whole("retries", retries))
        self.observation_space = spaces.Text(MAX_LENGTH, charset=string.printable)
        self.action_space = spaces.Text(MAX_LENGTH, charset=string.printable)
        self._info: dict[str, Any] | None = None  # of the last step; None once the game is over

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begins a game, and asks for the first move."""
        _, info = self._board.reset(seed=seed, options=options)
        self._asking, self._info = Asking(self._asking.harness, self._asking.retries), info
        return self._prompt(), info | {"answer_status": ""}

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Plays the move that an answer names.

        Raises:
            ValueError: `action` is no str.
            gymnasium.error.ResetNeeded: no game is under way.
        """
        if self._info is None:
            raise ResetNeeded(f"no game is under way, call reset() first: {self._position!r}")
        said, played = self._asking.read(self._position, action)
        status = {"answer_status": said}
        if played is not None:
            _, reward, terminated, truncated, info = self._board.step(played)
            self._info = None if terminated or truncated else info
            seen = str(self._position) if self._info is None else self._prompt()
            return seen, reward, terminated, truncated, info | status
        if not self._asking.is_lost:
            nothing = {name: 0.0 for name in ("regret", "score_regret") if name in self._info}
            return self._prompt(), 0.0, False, False, self._info | nothing | status
        return self._lose(self._asking.move, status)

    def _lose(self, move: str | None, status: dict[str, str]) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """The end of the game by an answer too many."""
        info = dict(self._info or {}) | status
        info |= {"outcome": LOST, "illegal_action": move, "action_mask": np.zeros_like(info["action_mask"])}
        arguments = self.env.unwrapped.arguments  # type: ignore[attr-defined]
        reward: SupportsFloat = protocol.reward(arguments.rewards, True, LOST)
        judge: gym.Env[Any, Any] = self.env
        while isinstance(judge, gym.Wrapper) and not isinstance(judge, RegretInfo):
            judge = judge.env
        if isinstance(judge, RegretInfo):
            reward, regrets = judge.judge(self._position, None, reward)
            info |= regrets
        self._info = None
        return f"{self._position}\nno legal move was named: the game is lost", reward, True, False, info

    def _prompt(self) -> str:
        text = self._asking.prompt(self._position)
        return "".join(one if one in string.printable else "?" for one in text)

    @property
    def _position(self) -> Position:
        position: Position = self.env.unwrapped.position  # type: ignore[attr-defined]
        return position
