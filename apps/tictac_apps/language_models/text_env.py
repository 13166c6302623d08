"""A wrapper that turns an environment into text: observations are prompts, actions are answers."""

from __future__ import annotations

import string
from typing import SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from tictac_apps.language_models.harness import PROMPT, GameHarness, in_text
from tictac_apps.language_models.question import Question
from tictac_env.checks import whole
from tictac_env.envs import protocol
from tictac_env.games import LOST
from tictac_env.observation import Infos, Observation
from tictac_env.position import Position
from tictac_env.storage import JsonObject
from tictac_env.wrappers.observations import Env, RegretInfo

MAX_LENGTH = 1 << 16
"""The longest prompts and answers of the spaces, in characters."""


class TextEnv(gym.Wrapper[str, str, Observation, int]):
    r"""The same games as text: an observation is a prompt, an action the whole answer of a language model.

    Answers are read strictly. After an answer without a legal move the game stays as it is, the next observation says
    what was wrong, and the reward is 0. After `retries` further such answers for one move the game is lost.

    `info` also has `answer_status`: "legal", "illegal", "unparsed", or "" after a reset. Once the game is over, the
    observation is the board and the result.

    Args:
        env: an environment of this package with a single board; `info` has regrets if it is, or wraps, a `RegretInfo`.
        harness: makes the prompts and reads the answers; or the name of a prompt (see `TextPolicy`), but not "image".
        retries: the number of wrong answers that are forgiven for each move.

    Raises:
        ValueError: `env` is not one of this package, or `retries` is not an integer of at least 0.

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

    def __init__(self, env: Env, harness: GameHarness | str = PROMPT, retries: int = 2) -> None:
        super().__init__(env)
        if not isinstance(getattr(env.unwrapped, "position", None), Position):
            raise ValueError(f"{env} has no `position`: TextEnv needs an environment of this package")
        self._board: Env = env  # steps by actions, not by texts
        self._question = Question(in_text(harness), whole("retries", retries))
        self.observation_space = spaces.Text(MAX_LENGTH, charset=string.printable)
        self.action_space = spaces.Text(MAX_LENGTH, charset=string.printable)
        self._info: Infos | None = None  # of the last step; None once the game is over

    def reset(self, *, seed: int | None = None, options: JsonObject | None = None) -> tuple[str, Infos]:
        """Begins a game, and asks for the first move."""
        _, info = self._board.reset(seed=seed, options=options)
        self._question, self._info = Question(self._question.harness, self._question.retries), info
        return self._prompt(), info | {"answer_status": ""}

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, Infos]:
        """Plays the move that an answer names.

        Raises:
            ValueError: `action` is not a str.
            gymnasium.error.ResetNeeded: no game is under way.
        """
        if self._info is None:
            raise ResetNeeded(f"no game is under way, call reset() first: {self._position!r}")
        answer_status, move = self._question.read(self._position, action)
        status = {"answer_status": answer_status}
        if move is not None:
            _, reward, terminated, truncated, info = self._board.step(move)
            self._info = None if terminated or truncated else info
            text = str(self._position) if self._info is None else self._prompt()
            return text, reward, terminated, truncated, info | status
        if not self._question.is_lost:
            no_regrets = {name: 0.0 for name in ("regret", "score_regret") if name in self._info}
            return self._prompt(), 0.0, False, False, self._info | no_regrets | status
        return self._lose(self._question.move, status)

    def _lose(self, move: str | None, status: dict[str, str]) -> tuple[str, SupportsFloat, bool, bool, Infos]:
        """Ends the game after one wrong answer too many."""
        info = dict(self._info or {}) | status
        info |= {"outcome": LOST, "illegal_action": move, "action_mask": np.zeros_like(info["action_mask"])}
        arguments = self.env.unwrapped.arguments  # type: ignore[attr-defined]
        reward: SupportsFloat = protocol.reward(arguments.rewards, True, LOST)
        judge: Env = self.env
        while isinstance(judge, gym.Wrapper) and not isinstance(judge, RegretInfo):
            judge = judge.env
        if isinstance(judge, RegretInfo):
            reward, regrets = judge.judge(self._position, None, reward)
            info |= regrets
        self._info = None
        return f"{self._position}\nno legal move was named: the game is lost", reward, True, False, info

    def _prompt(self) -> str:
        text = self._question.prompt(self._position)
        return "".join(character if character in string.printable else "?" for character in text)

    @property
    def _position(self) -> Position:
        position: Position = self.env.unwrapped.position  # type: ignore[attr-defined]
        return position
