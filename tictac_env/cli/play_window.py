"""Games in a window, by clicks and keys (`tictac play --window`)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from tictac_env.cli.session import Session, hints
from tictac_env.policies.human import read_move
from tictac_env.position import format_moves
from tictac_env.render.text import status
from tictac_env.render.window import WAITING_FPS, Window, WindowClosed

Answer = TypeVar("Answer")

HINT, UNDO, AGAIN, CLOSE = "f1", "backspace", ("return", "enter"), "escape"
"""The keys that are no moves, by pygame's names."""


class WindowTable:
    """A window in which a person plays. It stays open after the last move.

    Args:
        show_hints: whether to show the values of the moves in the title before each of the person's.
    """

    def __init__(self, show_hints: bool = False) -> None:
        self._show_hints = show_hints
        self._window = Window(cell_size=96)

    def play(self, session: Session) -> bool:
        """Plays a game to its end; True if the person wants another one, False once the window is closed.

        Raises:
            IllegalMove: a policy's choice is illegal.
            gymnasium.error.DependencyNotInstalled: pygame is missing.
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        try:
            while True:
                if session.position.is_over:
                    if self._after(session):
                        return True
                elif session.persons_turn:
                    self._turn(session)
                else:
                    seat = session.position.seat
                    self._window.title = f"{session.name(seat)} ({'XO'[seat]}) thinks ..."
                    session.play(self._wait_for(session, session.choose))
        except WindowClosed:
            return False

    def _turn(self, session: Session) -> None:
        """Waits until a person has changed the game."""
        position, window = session.position, self._window
        window.title = f"{status(position)} - F1: hint, backspace: undo"
        wants_hint = self._show_hints
        while True:
            if wants_hint:
                window.title = "solving ..."
                window.title = " | ".join(self._wait_for(session, lambda: hints(position)))
            window.show(position, WAITING_FPS)
            action, key = window.clicked_action(position), window.pressed_key()
            if action is None and key is not None:
                action = read_move(key, position.game)
            if action in position.legal_actions:
                session.play(int(action))
                return
            if key == UNDO and session.take_back():
                return
            if action is not None and action >= 0:
                move = format_moves(position.game, [action])
                window.title = f"{move} is {'full' if position.game.stones_fall else 'taken'}"
            self._close_if(key)
            wants_hint = key == HINT

    def _after(self, session: Session) -> bool:
        """Waits until the person wants another game (True), or has taken back a move (False)."""
        window = self._window
        window.title = f"{session.result()} - Enter: again, backspace: undo"
        while True:
            window.show(session.position, WAITING_FPS)
            key = window.pressed_key()
            if key in AGAIN:
                return True
            if key == UNDO and session.take_back():
                return False
            self._close_if(key)

    def _close_if(self, key: str | None) -> None:
        if key == CLOSE:
            self._window.close()
            raise WindowClosed("the window was closed")

    def _wait_for(self, session: Session, work: Callable[[], Answer]) -> Answer:
        """The result of `work`, done in a thread while the window answers; closing it does not wait for the thread."""
        found: list[Answer] = []
        errors: list[BaseException] = []

        def do() -> None:
            try:
                found.append(work())
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=do, daemon=True)
        thread.start()
        while thread.is_alive():
            self._window.show(session.position, WAITING_FPS)
            self._close_if(self._window.pressed_key())
        if errors:
            raise errors[0]
        return found[0]
