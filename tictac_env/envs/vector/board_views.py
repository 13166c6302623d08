"""The boards of a vector environment one by one, for callers that expect an environment for each."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.position import Position

CALLED_ONCE = ("action_masks", "render")
"""Methods that the vector environment answers for all boards at once."""


class BoardView:
    """One board of many, with the attributes of an environment of its own.

    Attributes:
        position: the position on it.
    """

    game = property(attrgetter("_envs.game"))
    opponent = property(attrgetter("_envs.opponent"))
    arguments = property(attrgetter("_envs.arguments"))
    spec = property(attrgetter("_envs.spec"))
    metadata = property(attrgetter("_envs.metadata"))
    render_mode = property(attrgetter("_envs.render_mode"))
    observation_space = property(attrgetter("_envs.single_observation_space"))
    action_space = property(attrgetter("_envs.single_action_space"))

    def __init__(self, envs: HasBoardViews, number: int) -> None:
        self._envs: Any = envs
        self._number = number

    @property
    def position(self) -> Position:
        position: Position = self._envs.batch[self._number]
        return position

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The board's action mask, int8 (num_actions,), as `BoardVectorEnv.action_masks` gives it."""
        mask: npt.NDArray[np.int8] = self._envs.action_masks()[self._number]
        return mask

    def render(self) -> Any:
        """The board as "ansi" (str) or "rgb_array" (uint8 (H, W, 3)); None for "human", which shows the first board."""
        frames = self._envs.render()
        return None if frames is None else frames[self._number]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a board of a vector environment has no {name!r}: boards are reset, stepped and closed together. It has"
            f" {', '.join(known for known in vars(BoardView) if known[0] != '_')}, and what set_attr has set. "
            'gym.make_vec(..., vectorization_mode="sync") makes an environment for each, which is much slower'
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name):
            raise AttributeError(
                f"{name!r} of a board cannot be set. What boards share is an argument of the environment; an "
                "OpponentPool lets opponents join and leave, and reset(options=...) sets positions"
            )
        super().__setattr__(name, value)


class HasBoardViews:
    """What a vector environment asks of its boards one by one, as Gymnasium's `SyncVectorEnv` does."""

    num_envs: int
    _views: list[BoardView] | None = None

    @property
    def board_views(self) -> list[BoardView]:
        """The boards one by one."""
        if self._views is None:
            self._views = [BoardView(self, number) for number in range(self.num_envs)]
        return self._views

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """What a method of each board returns, or the value of an attribute: a tuple of num_envs.

        Raises:
            AttributeError: boards have no such method or attribute; the message says what they have.
        """
        if name in CALLED_ONCE:
            results = getattr(self, name)(*args, **kwargs)
            return (None,) * self.num_envs if results is None else tuple(results)
        found = [getattr(board, name) for board in self.board_views]
        return tuple(one(*args, **kwargs) if callable(one) else one for one in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each board, such as "position": a tuple of num_envs. A method is called, as in Gymnasium.

        Raises:
            AttributeError: as for `call`.
        """
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of your own on each board, for `get_attr`.

        Args:
            name: its name.
            values: a list or tuple of num_envs, one for each; anything else is for all.

        Raises:
            ValueError: there are more or fewer values.
            AttributeError: it is an attribute that boards have by themselves.
        """
        each = values if isinstance(values, (list, tuple)) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise ValueError(f"{name} needs a value, or a list of {self.num_envs}, not of {len(each)}: {values!r:.200}")
        for board, value in zip(self.board_views, each, strict=True):
            setattr(board, name, value)
