"""`play`: games against anything that plays, on a board in a notebook or as text."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gymnasium.error import DependencyNotInstalled

from tictac_env.checks import flag
from tictac_env.cli.play import TerminalTable
from tictac_env.cli.session import Series
from tictac_env.envs.arguments import Arguments, unfinished
from tictac_env.games import Game, game_name, get_game, shown
from tictac_env.policies import Player, game_for, load_player
from tictac_env.position import Position
from tictac_env.solver.exact import shared_solver
from tictac_env.web import insight

if TYPE_CHECKING:
    from tictac_env.notebook.widget import BoardWidget

DEFAULT_GAME = "ConnectFour-v0"
INSTALL = 'pip install "tictac-env[notebook]"'
SECONDS = 3.0
"""The time for the exact values of a position; what is not proven by then is shown as unknown."""
SEED = 0
"""Of the thoughts of an opponent that searches: the same position is always shown with the same numbers."""


def play(
    player: Any = "level:5",
    game: str | Game | None = None,
    *,
    seat: str | None = None,
    position: str | Position | None = None,
    hints: bool = False,
    thoughts: bool = False,
    seed: int | None = None,
    widget: bool | None = None,
) -> BoardWidget | None:
    """Plays against anything that plays. In a notebook it gives a board to click, elsewhere it asks for moves.

    On the board one takes moves back, begins anew, swaps sides, and sees what the opponent thinks of each move and the
    exact values. Without a notebook, or if anywidget is not installed, it is what `tictac play` is.

    Args:
        player: an environment of this package: then its opponent plays, as the environment's `play_as` and `start` say,
            or two people if it has none. Otherwise the opponent: whatever `load_player` accepts (a policy's name, an
            agent's file, a policy, a model, a function), or "human" for two people.
        game: a game's name or rules; unless given the environment's, the agent's or the one its file names, otherwise
            "ConnectFour-v0".
        seat: the person's: "first", "second", "random" or "alternate"; an environment's own, otherwise "alternate",
            unless given.
        position: where the games begin: a move string or a `Position`.
        hints: whether to show the exact values of the moves, as far as they are found in a few seconds.
        thoughts: whether the board shows what the opponent thinks of the moves.
        seed: the same seed gives the same games; another one each time unless given.
        widget: whether to make a board: True, False, or None: if there is a notebook and anywidget.

    Returns:
        The widget, which a notebook shows if it is the last line of a cell; None if the games are played as text,
        after the last one.

    Raises:
        ValueError: an argument is not one of these, or the player does not play the game; the message names it.
        FileNotFoundError: there is no such file.
        DependencyNotInstalled: `widget=True`, and anywidget is not installed; or the player's file needs what is not.

    Example:
        >>> play("rule", "TicTacToe-v0")  # doctest: +SKIP
    """
    for name, value in (("hints", hints), ("thoughts", thoughts)):
        flag(name, value)
    series = _series(player, game, seat, position, seed)
    if _wants_widget(widget):
        from tictac_env.notebook.widget import BoardWidget

        return BoardWidget(series, thoughts, hints)
    table = TerminalTable(hints, ask=_ask)
    while table.play(series.begin()):
        pass
    return None


def _wants_widget(widget: bool | None) -> bool:
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    shell = ipython.get_ipython() if ipython is not None else None
    in_notebook = getattr(shell, "kernel", None) is not None
    if widget is not None and not flag("widget", widget):
        return False
    if importlib.util.find_spec("anywidget") is not None:
        return bool(widget) or in_notebook
    if widget:
        raise DependencyNotInstalled(f"a board in a notebook needs anywidget: {INSTALL}")
    if in_notebook:
        print(f"For a board to click: {INSTALL}")
    return False


def _series(
    player: Any, game: str | Game | None, seat: str | None, position: str | Position | None, seed: int | None
) -> Series:
    starts: Sequence[Position] = ()
    opponent: Player | None = None
    environment = getattr(player, "unwrapped", None)
    arguments = getattr(environment, "arguments", None)
    board = getattr(environment, "position", None)
    if isinstance(arguments, Arguments):
        rules = _same_game(arguments.game, game)
        opponent = None if arguments.opponent is None else load_player(arguments.opponent, rules)
        seat = arguments.play_as if seat is None else seat
        starts = arguments.start or ()
    elif isinstance(board, Position):  # PettingZoo's: two agents, and so two people
        rules = _same_game(board.game, game)
    else:
        rules = game_for(game, player, default=DEFAULT_GAME)
        opponent = None if player == "human" else load_player(player, rules)
    if position is not None:
        starts = (unfinished(position, rules),)
    starts = [Position.from_moves(one.game, one.to_moves()) for one in starts] or [Position.start(rules)]
    return Series(starts, opponent, "alternate" if seat is None else seat, seed)


def _same_game(own: Game, given: str | Game | None) -> Game:
    if given is not None and get_game(given) != own:
        raise ValueError(f"the environment is of {game_name(own) or own}, not of game={shown(given)}; leave game out")
    return own


def _ask(question: str) -> str:
    try:
        return input(question)
    except (NotImplementedError, OSError) as error:  # a notebook run by a program, or a closed input
        raise EOFError(str(error)) from error


class NotebookTable:
    """A board in a notebook, at which a person plays games one after another.

    Args:
        series: the games.
        show_thoughts: whether to show what the opponent thinks of each of the person's moves.
        show_exact: whether to show their exact values.
        tell: gets a view, for JSON, whenever there is something new to see: before the opponent thinks, and after.

    Attributes:
        view: the last one: `position` (as of `board_view`), `status` (who is to move, or who has won), `open` (whether
            the person may move), `thinking`, `problem` ("" if nothing went wrong), `opponent` (its name, None for two
            people), `undo` (whether a move can be taken back), `shows`, and, if they are shown, `thought` and `truth`.
    """

    def __init__(
        self,
        series: Series,
        show_thoughts: bool = False,
        show_exact: bool = False,
        tell: Callable[[dict[str, Any]], object] = lambda view: None,
    ) -> None:
        self._series = series
        self._shows = {"thoughts": show_thoughts, "exact": show_exact}
        self._tell = tell
        self._name = None if series.opponent is None else series.opponent.name
        self.view: dict[str, Any] = {}
        self.new_game()

    @property
    def position(self) -> Position:
        """The position on the board."""
        return self._session.position

    def play(self, action: int) -> None:
        """Plays a move for the person; the opponent answers.

        Raises:
            ValueError: it is not the person's turn, or `action` is no action.
            IllegalMove: it is illegal; nothing has changed.
        """
        if not self._session.persons_turn and not self.position.is_over:
            raise ValueError(f"it is {self._name}'s turn: {self.position!r}; undo, or begin a new game")
        self._session.play(action)
        self._continue()

    def undo(self) -> None:
        """Takes the person's last move back, and the answer to it; nothing happens if there is none."""
        self._session.take_back()
        self._continue()

    def new_game(self, swap: bool = False) -> None:
        """Begins a game, in the seat whose turn it is; with `swap` in the other seat."""
        self._session = self._series.begin(swap)
        self._continue()

    def swap(self) -> None:
        """Begins a game with the seats swapped."""
        self.new_game(swap=True)

    def show(self, thoughts: bool | None = None, exact: bool | None = None) -> None:
        """Shows or hides what the opponent thinks, and the exact values; None leaves it as it is.

        Raises:
            ValueError: one is not True, False or None.
        """
        self._shows |= {
            name: flag(name, on) for name, on in (("thoughts", thoughts), ("exact", exact)) if on is not None
        }
        self._continue()

    def answer(self, request: Any) -> None:
        """Does what the browser asks for; what cannot be done is reported in the view.

        Args:
            request: a dict with "do": "play" (with the "action", and the "moves" of the position that was clicked),
                "undo", "new", "swap" or "show" (with "thoughts" or "exact").
        """
        try:
            match request:
                case {"do": "play", "action": action, "moves": str(moves)}:
                    if moves == self.view["position"]["moves"]:  # otherwise the click was meant for an older board
                        self.play(action)
                case {"do": "undo"}:
                    self.undo()
                case {"do": "new"}:
                    self.new_game()
                case {"do": "swap"}:
                    self.swap()
                case {"do": "show", **rest} if rest.keys() <= self._shows.keys():
                    asked: Any = rest
                    self.show(**asked)
                case _:
                    raise ValueError(f"a request must be to play, undo, new, swap or show, not {shown(request)}")
        except ValueError as error:
            self._report(problem=str(error))

    def _continue(self) -> None:
        """Lets the opponent play while it is its turn, and shows the position then."""
        session, problem = self._session, ""
        try:
            while not (session.persons_turn or session.position.is_over):
                self._report(thinking=True)
                session.play(session.choose())
        except Exception as error:  # a policy is anybody's code: the game can be taken back or begun again
            problem = f"{self._name} failed: {type(error).__name__}: {error}"
        finally:
            self._report(problem=problem)  # after Ctrl-C, too, it thinks no more
        if session.persons_turn and any(self._shows.values()):
            self._report(**self._insight())

    def _insight(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        position = self.position
        opponent = self._session.sides[1 - position.seat]
        try:
            if self._shows["thoughts"] and opponent is not None:
                found["thought"] = insight.thoughts(opponent, position, SEED)
        except Exception as error:
            found["problem"] = f"{self._name} does not say what it thinks: {type(error).__name__}: {error}"
        if self._shows["exact"]:
            found["truth"] = insight.exact_values(shared_solver(position.game), position, SECONDS)
        return found

    def _report(self, thinking: bool = False, problem: str = "", **insights: Any) -> None:
        session = self._session
        self.view = {
            "position": insight.board_view(session.position),
            "status": self._status(thinking),
            "open": session.persons_turn,
            "thinking": thinking,
            "problem": problem,
            "opponent": self._name,
            "undo": session.can_take_back,
            "shows": dict(self._shows),
            **insights,
        }
        self._tell(self.view)

    def _status(self, thinking: bool) -> str:
        session = self._session
        if session.position.is_over:
            return session.result()
        side = "XO"[session.position.seat]
        if session.hot_seat:
            return f"{side} to move."
        if session.persons_turn:
            return f"You are {side}: your move, against {self._name}."
        return f"{self._name} ({side}) thinks ..." if thinking else f"{self._name} ({side}) is to move."
