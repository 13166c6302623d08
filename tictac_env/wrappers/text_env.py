"""An environment whose observations and actions are texts: to train a language model by reinforcement learning."""

from __future__ import annotations

import string
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from tictac_env.checks import whole
from tictac_env.games import shown
from tictac_env.position import Position
from tictac_env.text_players.harness import BoardHarness, GameHarness
from tictac_env.wrappers.regret_info import RegretInfo

MAX_LENGTH = 1 << 16
"""What the spaces say of the length of prompts and answers."""


class TextEnv(gym.Wrapper[str, str, Any, Any]):
    r"""The same games in words: an observation is a prompt, an action a language model's whole answer.

    Answers are read strictly. One without a legal move leaves the game as it is: the next observation says what was
    wrong, and the reward is 0. After `retries` further such answers for one move the game is lost.

    `info` also has `answer_status`: "legal", "illegal", "unparsed", or "" after a reset. After the end the observation
    is the board and who has won.

    Args:
        env: an environment of this package of any one board; regrets are told of if it is, or wraps, a `RegretInfo`.
        harness: makes the prompts and reads the answers; a `BoardHarness` unless given.
        retries: how many wrong answers are forgiven for each move.

    Raises:
        ValueError: `env` is not one of this package, or `retries` is no whole number.

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
        self.harness = harness or BoardHarness()
        self.retries = whole("retries", retries)
        self.observation_space = spaces.Text(MAX_LENGTH, charset=string.printable)
        self.action_space = spaces.Text(MAX_LENGTH, charset=string.printable)
        self._wrong = 0  # answers for the present move
        self._info: dict[str, Any] | None = None  # of the last step; None once the game is over

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begins a game, and asks for the first move."""
        _, info = self._board.reset(seed=seed, options=options)
        self._wrong, self._info = 0, info
        return self._prompt(), info | {"answer_status": ""}

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Plays the move that an answer names.

        Raises:
            ValueError: `action` is no str.
            gymnasium.error.ResetNeeded: no game is under way.
        """
        if not isinstance(action, str):
            raise ValueError(f"an action must be a str, a language model's answer, not {shown(action)}")
        if self._info is None:
            raise ResetNeeded(f"no game is under way, call reset() first: {self._position!r}")
        legal = {text: number for number, text in self.harness.get_legal_moves(self._position).items()}
        read = self.harness.parse_response(action, list(legal))
        if read.legal_action in legal:
            _, reward, terminated, truncated, info = self._board.step(legal[read.legal_action])
            self._wrong, self._info = 0, None if terminated or truncated else info
            seen = str(self._position) if self._info is None else self._prompt()
            return seen, reward, terminated, truncated, info | {"answer_status": "legal"}
        self._wrong += 1
        status = {"answer_status": "unparsed" if read.raw_action is None else "illegal"}
        if self._wrong <= self.retries:
            nothing = {name: 0.0 for name in ("regret", "score_regret") if name in self._info}
            return self._prompt(action, read.raw_action), 0.0, False, False, self._info | nothing | status
        return self._lose(read.raw_action, status)

    def _lose(self, move: str | None, status: dict[str, str]) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """The end of the game by an answer too many."""
        info = dict(self._info or {}) | status
        info |= {"outcome": -1, "illegal_action": move, "action_mask": np.zeros_like(info["action_mask"])}
        reward: SupportsFloat = self.env.unwrapped.arguments.rewards[2]  # type: ignore[attr-defined]
        if (judge := _regret_info(self.env)) is not None:
            reward, regrets = judge.judge(self._position, None, reward)
            info |= regrets
        self._info = None
        return f"{self._position}\nno legal move was named: the game is lost", reward, True, False, info

    def _prompt(self, answer: str | None = None, move: str | None = None) -> str:
        return self.harness.make_prompt(self._position, [], answer and _printable(answer), move and _printable(move))

    @property
    def _position(self) -> Position:
        position: Position = self.env.unwrapped.position  # type: ignore[attr-defined]
        return position


def _regret_info(env: gym.Env[Any, Any]) -> RegretInfo | None:
    """The `RegretInfo` among an environment's wrappers."""
    while isinstance(env, gym.Wrapper) and not isinstance(env, RegretInfo):
        env = env.env
    return env if isinstance(env, RegretInfo) else None


def _printable(text: str) -> str:
    """A text with ? for characters outside the observation space."""
    return "".join(one if one in string.printable else "?" for one in text)
