"""The command `tictac play`: games in the terminal and in a window."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TypeVar

from tictac_apps.cli.arguments import (
    add_game_option,
    add_number,
    add_player,
    add_seed,
    chosen_game,
    decimal,
    print_board,
)
from tictac_apps.cli.session import Series, Session, hints
from tictac_env.checks import SEATS
from tictac_env.games import game_name
from tictac_env.policies import load_player
from tictac_env.policies.human import move_range, read_move
from tictac_env.position import Position, format_moves
from tictac_env.render.text import side_name, status
from tictac_env.render.window import WAITING_FPS, Window, WindowClosed, check_screen
from tictac_env.rng import new_state

Answer = TypeVar("Answer")

OPPONENT = "level:5"
"""The default opponent."""

COMMANDS = {
    "hint": "the exact value of every move",
    "undo": "takes your last move back, and the answer to it",
    "moves": "the game so far, as tictac solve and tictac render take it",
    "help": "these lines",
    "quit": "ends the game",
}
"""The words that may be typed instead of a move; their first letters are enough if these are not a move."""
AGAIN = ("yes", "no", "undo", "moves", "quit")
HINT, UNDO, ANOTHER, CLOSE = "f1", "backspace", ("return", "enter"), "escape"
"""The keys of a window that are not moves, by pygame's names."""


def add_play(parser: argparse.ArgumentParser) -> None:
    add_player(
        parser,
        "players",
        nargs="*",
        more=f"; or human, for two people at one keyboard (default: {OPPONENT}). Two players play each other, and the "
        "first one begins",
    )
    add_game_option(parser)
    parser.add_argument(
        "--seat",
        choices=(*SEATS, "alternate"),
        default="alternate",
        help="your seat; alternate changes it after each game (default: %(default)s)",
    )
    parser.add_argument("--position", metavar="MOVES", default="", help="start each game after these moves, such as 51")
    parser.add_argument("--hints", action="store_true", help="show the exact values before each of your moves")
    parser.add_argument("--window", action="store_true", help="play in a window with the mouse (needs the extra human)")
    text = "the pause before each move when two players play each other"
    add_number(parser, "--delay", decimal(0, 60), text, 1.0, "SECONDS")
    add_seed(parser, None)


def run_play(options: argparse.Namespace) -> int:
    """Plays a game: you against any player, or two players against each other.

    Type the number of a cell, or of a column if stones fall. On a 3 x 3 board you can also use the keys q w e, a s d
    and z x c, which lie like the cells. "hint" shows the exact value of every move, "undo" takes back your last move,
    and "quit" ends the game.

    With --window you click a cell or a column, or press its key. Backspace takes back a move, F1 shows the exact
    values in the title, Enter starts a new game, and Esc closes the window.

    Examples:
      tictac play                                      tic-tac-toe against level:5
      tictac play level:3 --game ConnectFour-v0 --seat second
      tictac play q.npz                                your agent, at its game
      tictac play minimax --window --position 51
      tictac play human --game KInARow-v0:5x6-4        two people at one keyboard
      tictac play level:7 rule --delay 0.5             two players, watched
    """
    names = options.players or [OPPONENT]
    start = Position.from_moves(chosen_game(options, *names), options.position)
    if len(names) > 1:
        watched = _watched(options, start)
        (WindowTable() if options.window else TerminalTable()).watch(watched, options.delay)
        return 0
    opponent = None if names == ["human"] else load_player(names[0], start.game)
    series = Series([start], opponent, options.seat, options.seed)
    table = WindowTable(options.hints) if options.window else TerminalTable(options.hints)
    while table.play(series.begin()):
        pass
    return 0


def _watched(options: argparse.Namespace, start: Position) -> Session:
    """The game of two players.

    Raises:
        ValueError: there are more than two players, one is a person, or an option is for games of a person.
    """
    if len(options.players) > 2:
        raise ValueError(f"at most two players play a game, not {len(options.players)}: {', '.join(options.players)}")
    if "human" in options.players or options.hints or options.seat != "alternate":
        raise ValueError("two players are watched; to play yourself, name your opponent alone, with --seat and --hints")
    sides = [load_player(name, start.game) for name in options.players]
    return Session(start, sides, new_state(options.seed))


class Table(ABC):
    """A terminal or a window in which a person plays or watches."""

    @abstractmethod
    def watch(self, session: Session, delay: float) -> None:
        """Shows a game of two players to its end, with a pause of `delay` seconds before each move.

        Raises:
            gymnasium.error.DependencyNotInstalled, KeyboardInterrupt: as `play` does.
        """

    @abstractmethod
    def play(self, session: Session) -> bool:
        """Plays a game to its end; True if the person wants another game.

        Raises:
            gymnasium.error.DependencyNotInstalled: it needs pygame, which is missing.
            KeyboardInterrupt: Ctrl-C was pressed.
        """

    def _play_on(self, session: Session) -> bool:
        """Takes turns until the game ends and stays ended; True if the person wants another game."""
        while True:
            if session.over:
                if (wants := self._after(session)) is not None:
                    return wants
            elif not session.persons_turn:
                self._reply(session)
            elif not self._turn(session):
                return False

    @abstractmethod
    def _turn(self, session: Session) -> bool:
        """Waits until a person has changed the game; False if the person ends it."""

    @abstractmethod
    def _reply(self, session: Session, delay: float = 0) -> None:
        """Plays the move of the player to move, after `delay` seconds. A player that fails forfeits the game."""

    @abstractmethod
    def _after(self, session: Session) -> bool | None:
        """True if the person wants another game, None if this one continues after all."""


class TerminalTable(Table):
    """A terminal at which a person plays.

    Args:
        show_hints: True to show the values of the moves before each of the person's moves.
        ask: prints a question and returns the answer.
        show: shows a text.
    """

    def __init__(
        self, show_hints: bool = False, ask: Callable[[str], str] = input, show: Callable[[str], object] = print_board
    ) -> None:
        self._show_hints = show_hints
        self._ask = ask
        self._show = show

    def play(self, session: Session) -> bool:
        self._show(_who_plays(session))
        try:
            return self._play_on(session)
        except EOFError:
            self._show(f"\nThe input has ended, the game stands at {_moves(session)}.")
            return False

    def watch(self, session: Session, delay: float) -> None:
        self._show(f"{_who_plays(session)}\n\n{session.position}")
        while not session.over:
            self._reply(session, delay)
            self._show(f"\n{session.position}")
        self._show(f"{session.result()} The game: {_moves(session)}")

    def _turn(self, session: Session) -> bool:
        position = session.position
        game = position.game
        self._show(f"\n{position}")
        if self._show_hints:
            self._hint(session)
        while True:
            side = side_name(game, position.seat)
            typed = self._ask(f"{side}, your move ({move_range(game)}, or help): ").strip().lower()
            action = read_move(typed, game)
            if action in position.legal_actions:
                session.play(action)
                return True
            command = "" if action >= 0 else _command(typed, COMMANDS)
            match command:
                case "help":
                    self._show("\n".join(f"  {name:6}{effect}" for name, effect in COMMANDS.items()))
                case "hint":
                    self._hint(session)
                case "undo":
                    if session.take_back():
                        return True
                    self._show("There is no move of yours to take back.")
                case "moves":
                    self._show(_moves(session))
                case "quit":
                    self._show(f"The game stands at {_moves(session)}.")
                    return False
                case _ if action >= 0:
                    legal = ", ".join(format_moves(game, [other]) for other in position.legal_actions)
                    self._show(f"{typed} is {'full' if game.stones_fall else 'taken'}; you can play {legal}.")
                case _:
                    self._show(f"{typed!r} is not a move: type {move_range(game)}, or {_listed(COMMANDS)}.")

    def _reply(self, session: Session, delay: float = 0) -> None:
        seat = session.position.seat
        who = _named(session, seat)
        if on_terminal := sys.stdout.isatty():  # to be written over
            print(thinking := f"{who} thinks ...", end="\r", flush=True)
        time.sleep(delay)
        action = session.reply()
        played = f"{who} fails." if action is None else f"{who} plays {format_moves(session.position.game, [action])}."
        self._show(played.ljust(len(thinking)) if on_terminal else played)

    def _hint(self, session: Session) -> None:
        for line in hints(session.position):
            self._show(f"  {line}")

    def _after(self, session: Session) -> bool | None:
        self._show(f"\n{session.position}\n{session.result()}")
        while True:
            typed = self._ask("Again? (yes, no, undo or moves): ").strip().lower()
            match _command(typed, AGAIN):
                case "yes":
                    return True
                case "no" | "quit":
                    return False
                case "undo":
                    if session.take_back():
                        return None
                    self._show("There is no move of yours to take back.")
                case "moves":
                    self._show(_moves(session))
                case _:
                    self._show(f"{typed!r} is not an answer: type {_listed(AGAIN)}.")


class WindowTable(Table):
    """A window in which a person plays. It stays open after the last move.

    Args:
        show_hints: True to show the values of the moves in the title before each of the person's moves.
    """

    def __init__(self, show_hints: bool = False) -> None:
        self._show_hints = show_hints
        check_screen()
        self._window = Window(cell_size=96)

    def play(self, session: Session) -> bool:
        try:
            return self._play_on(session)
        except WindowClosed:
            return False

    def watch(self, session: Session, delay: float) -> None:
        window = self._window
        try:
            while not session.over:
                self._reply(session, delay)
            window.title = f"{session.result()} - Esc: close"
            while True:
                self._close_if(window.wait_for_key(session.position))
        except WindowClosed:
            pass

    def _reply(self, session: Session, delay: float = 0) -> None:
        def reply() -> None:
            time.sleep(delay)
            session.reply()

        seat = session.position.seat
        self._window.title = f"{_named(session, seat)} thinks ..."
        self._wait_for(session, reply)

    def _turn(self, session: Session) -> bool:
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
                return True
            if key == UNDO and session.take_back():
                return True
            if action is not None and action >= 0:
                move = format_moves(position.game, [action])
                window.title = f"{move} is {'full' if position.game.stones_fall else 'taken'}"
            self._close_if(key)
            wants_hint = key == HINT

    def _after(self, session: Session) -> bool | None:
        window = self._window
        window.title = f"{session.result()} - Enter: again, backspace: undo"
        while True:
            window.show(session.position, WAITING_FPS)
            key = window.pressed_key()
            if key in ANOTHER:
                return True
            if key == UNDO and session.take_back():
                return None
            self._close_if(key)

    def _close_if(self, key: str | None) -> None:
        if key == CLOSE:
            self._window.close()
            raise WindowClosed("the window was closed")

    def _wait_for(self, session: Session, work: Callable[[], Answer]) -> Answer:
        """The result of `work`, which runs in a thread while the window stays responsive.

        If the window is closed, the thread is not waited for.
        """
        results: list[Answer] = []
        errors: list[BaseException] = []

        def do() -> None:
            try:
                results.append(work())
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=do, daemon=True)
        thread.start()
        while thread.is_alive():
            self._window.show(session.position, WAITING_FPS)
            self._close_if(self._window.pressed_key())
        if errors:
            raise errors[0]
        return results[0]


def _who_plays(session: Session) -> str:
    rules = session.position.game
    game, sides = game_name(rules) or rules, [side_name(rules, seat) for seat in (0, 1)]
    if session.hot_seat:
        return f"{game}: {sides[0]} plays first, {sides[1]} second, both at this keyboard."
    if None not in session.sides:
        return f"{game}: {_named(session, 0)} plays first, {_named(session, 1)} second."
    seat = session.sides.index(None)
    return f"{game}: You are {sides[seat]} and play {SEATS[seat]}, against {session.name(1 - seat)}."


def _named(session: Session, seat: int) -> str:
    """The player of a seat with the name of its stones, as in "rule (O)"."""
    return f"{session.name(seat)} ({side_name(session.position.game, seat)})"


def _command(typed: str, commands: Iterable[str]) -> str:
    """The first command that begins with the typed letters, "" if there is none."""
    if typed == "?":
        return "help"
    return next((name for name in commands if typed and name.startswith(typed)), "")


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}"


def _moves(session: Session) -> str:
    return session.position.to_moves() or "the empty board"
