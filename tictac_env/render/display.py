"""What an environment's render modes show; imports nothing before it has to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym

from tictac_env.checks import one_of

if TYPE_CHECKING:
    from tictac_env.position import Position
    from tictac_env.render.window import Window

RENDER_MODES = ("human", "ansi", "rgb_array")
RENDER_FPS = 2


class Display:
    """Shows the positions of one environment.

    Args:
        mode: "human" (a window), "ansi", "rgb_array" or None.
        title: the window's.

    Raises:
        ValueError: there is no such mode.
    """

    def __init__(self, mode: str | None, title: str) -> None:
        self._mode = None if mode is None else one_of("render_mode", mode, RENDER_MODES)
        self._title = title
        self._window: Window | None = None

    def render(self, position: Position, over: bool) -> Any:
        """The board: "ansi" a str, "rgb_array" uint8 (H, W, 3), "human" None.

        Args:
            position: what to show.
            over: whether a game has ended there, be it by an illegal move, which only text tells.

        Raises:
            tictac_env.render.WindowClosed: the person closed the window.
            gymnasium.error.DependencyNotInstalled: pygame is missing.
        """
        if self._mode == "ansi":
            from tictac_env.render import render_text

            return render_text(position, over)
        if self._mode == "rgb_array":
            from tictac_env.render import render_rgb

            return render_rgb(position)
        if self._mode == "human":
            if self._window is None:
                from tictac_env.render import Window

                self._window = Window(self._title)
            self._window.show(position, RENDER_FPS)
            return None
        gym.logger.warn("render() without a render mode does nothing; give one as render_mode=...")
        return None

    def close(self) -> None:
        """Closes the window, if there is one; it opens again if something is shown."""
        if self._window is not None:
            self._window.close()

    def __reduce__(self) -> tuple[type[Display], tuple[str | None, str]]:
        """A copy opens its own window."""
        return type(self), (self._mode, self._title)
