"""A window that shows positions and takes clicks and keys, and the display of an environment's render modes.

pygame-ce (or pygame) is imported when a window opens.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

import gymnasium as gym

from tictac_env.checks import one_of
from tictac_env.lazy import needing
from tictac_env.render.scene import cell_at, render_rgb, scene, scene_to_rgb
from tictac_env.render.text import Drawable, render_text

#: How often a window that waits for a click looks for one, in times a second.
WAITING_FPS = 30


class WindowClosed(KeyboardInterrupt):
    """The person closed the window.

    A `KeyboardInterrupt`, since it means what Ctrl-C means: code that handles that (such as a training run, which
    keeps what it has learned) handles this, and `except Exception` does not swallow it.

    Example:
        >>> from tictac_env.render import WindowClosed
        >>> issubclass(WindowClosed, KeyboardInterrupt)
        True
    """


class Window:
    """A window that shows one position at a time and tells which action was clicked, or which key pressed.

    It opens at the first call that needs it, takes the size of the board shown, and opens again if it is used
    after `close`. pygame has one window in a process, so several of these share it, the last one shown being
    seen.

    Without a screen, set the environment variable SDL_VIDEODRIVER to dummy.

    Args:
        title: what the title bar says.
        cell_size: pixels a cell; less where the board would not fit on the screen.

    Example:
        >>> window = Window()  # doctest: +SKIP
        >>> position = position.play(window.wait_for_action(position))  # doctest: +SKIP
    """

    def __init__(self, title: str = "tictac", cell_size: int = 64) -> None:
        self.title = title
        self.cell_size = cell_size
        self._pygame: ModuleType | None = None
        self._clock: Any = None
        self._shown: Drawable | None = None
        self._scale = float(cell_size)
        self._click: tuple[int, int] | None = None
        self._key: str | None = None

    def show(self, position: Drawable, fps: float = 0) -> None:
        """Draws `position` and answers the window system.

        Args:
            position: what to draw. A click or key that was meant for another position is forgotten.
            fps: the most calls a second that return; the rest of the time is slept. 0 for no limit.

        Raises:
            WindowClosed: the person closed the window; it is gone when this is raised.
            gymnasium.error.DependencyNotInstalled: pygame is missing.
        """
        pygame = self._open()
        self._handle_events(pygame)
        if position != self._shown:
            self._shown, self._click, self._key = position, None, None
        self._draw(pygame, position)
        if fps > 0:
            self._clock.tick(fps)

    def clicked_action(self, position: Drawable) -> int | None:
        """The legal action of `position` that was clicked since it was first shown, None if there was none.

        Where stones fall, a click anywhere in a column plays it, elsewhere a click on a cell. It does not wait,
        shows `position` if another one was seen, and gives each click once, the latest if there were several.

        Raises:
            WindowClosed, gymnasium.error.DependencyNotInstalled: as `show` does.
        """
        if position != self._shown:
            self.show(position)
        self._handle_events(self._open())
        click, self._click = self._click, None
        if click is None:
            return None
        cell = cell_at(position, click[0] / self._scale, click[1] / self._scale)
        if cell is None:
            return None
        row, col = cell
        action = col if position.game.stones_fall else row * position.game.cols + col
        return action if action in position.legal_actions else None

    def pressed_key(self) -> str | None:
        """The key pressed since the position was first shown, by pygame's name ("5", "escape"); None if there was none.

        It does not wait, and gives each key once, the latest if there were several.

        Raises:
            WindowClosed, gymnasium.error.DependencyNotInstalled: as `show` does.
        """
        self._handle_events(self._open())
        key, self._key = self._key, None
        return key

    def wait_for_action(self, position: Drawable) -> int:
        """Shows `position` until a legal action is clicked, and returns it.

        Raises:
            ValueError: `position` has no legal action.
            WindowClosed, gymnasium.error.DependencyNotInstalled: as `show` does.
        """
        if not position.legal_actions:
            raise ValueError(f"there is nothing to click, the game is over: {position!r}")
        while True:
            self.show(position, WAITING_FPS)
            action = self.clicked_action(position)
            if action is not None:
                return action

    def wait_for_key(self, position: Drawable) -> str:
        """Shows `position` until a key is pressed, and returns it as `pressed_key` does.

        Raises:
            WindowClosed, gymnasium.error.DependencyNotInstalled: as `show` does.
        """
        while True:
            self.show(position, WAITING_FPS)
            key = self.pressed_key()
            if key is not None:
                return key

    def close(self) -> None:
        """Closes the window. Doing so again, or before it opened, does nothing."""
        if self._pygame is not None:
            self._pygame.display.quit()
        self._pygame = self._shown = self._click = self._key = None

    def _open(self) -> ModuleType:
        if self._pygame is None:
            self._pygame = import_pygame()
            self._clock = self._pygame.time.Clock()
        # Another user of pygame in this process may have closed the display.
        if not self._pygame.display.get_init():
            self._pygame.display.init()
        return self._pygame

    def _draw(self, pygame: ModuleType, position: Drawable) -> None:
        picture = scene(position)
        # The sizes of the screens, of which 90 % leaves room for bars and borders.
        screen_width, screen_height = pygame.display.get_desktop_sizes()[0]
        room = min(0.9 * screen_width / picture.width, 0.9 * screen_height / picture.height)
        self._scale = max(1.0, min(float(self.cell_size), room))
        pixels = scene_to_rgb(picture, self._scale)
        height, width = pixels.shape[:2]
        surface = pygame.display.get_surface()
        if surface is None or surface.get_size() != (width, height):
            surface = pygame.display.set_mode((width, height))
        pygame.display.set_caption(self.title)
        surface.blit(pygame.image.frombuffer(pixels.tobytes(), (width, height), "RGB"), (0, 0))
        pygame.display.flip()

    def _handle_events(self, pygame: ModuleType) -> None:
        """Empties the event queue, remembering the latest click of the left button and the latest key."""
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                self.close()
                raise WindowClosed("the window was closed")
            if event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
                self._click = event.pos
            if event.type == pygame.KEYDOWN:
                self._key = pygame.key.name(event.key).strip("[]")  # "[5]" is that of the number pad


def check_screen() -> None:
    """Looks for a screen: SDL draws into memory if there is none, and a person would wait for a window for ever.

    Raises:
        OSError: there is no screen, or it cannot be used.
        gymnasium.error.DependencyNotInstalled: pygame is missing.
    """
    pygame = import_pygame()
    is_chosen = bool(os.environ.get("SDL_VIDEODRIVER"))
    screens = "DISPLAY", "WAYLAND_DISPLAY"
    if is_chosen or sys.platform != "linux" or any(map(os.environ.get, screens)):
        try:
            pygame.display.init()
        except pygame.error as error:
            raise OSError(f"no window can be opened: {error}") from None
        if is_chosen or pygame.display.get_driver() not in ("offscreen", "dummy"):
            return
        pygame.display.quit()
    raise OSError("no window can be opened: there is no screen (to draw into memory, set SDL_VIDEODRIVER=dummy)")


def import_pygame() -> ModuleType:
    """The module pygame, from pygame-ce or from pygame.

    Raises:
        gymnasium.error.DependencyNotInstalled: it is missing; the message names the line that installs it.
    """
    with needing("a window needs pygame-ce", "human"):
        import pygame
    return pygame


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

    def render(self, position: Drawable, over: bool) -> Any:
        """The board: "ansi" a str, "rgb_array" uint8 (H, W, 3), "human" None.

        Args:
            position: what to show.
            over: True if a game has ended there, also by an illegal move, which only text shows.

        Raises:
            tictac_env.render.WindowClosed: the person closed the window.
            gymnasium.error.DependencyNotInstalled: pygame is missing.
        """
        if self._mode == "ansi":
            return render_text(position, over)
        if self._mode == "rgb_array":
            return render_rgb(position)
        if self._mode == "human":
            if self._window is None:
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
