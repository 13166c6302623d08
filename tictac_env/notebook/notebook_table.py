"""A game on a board that is clicked, as the kernel keeps it: requests come in, views go out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tictac_env.checks import flag
from tictac_env.cli.session import Series
from tictac_env.games import shown
from tictac_env.position import Position
from tictac_env.solver.exact import shared_solver
from tictac_env.web.board_view import board_view
from tictac_env.web.thoughts import thoughts
from tictac_env.web.truth import exact_values

SECONDS = 3.0
"""How long the exact values of a position may take; what is not proven by then is said so."""
SEED = 0
"""Of what an opponent that searches thinks: the same position is always shown with the same numbers."""

View = dict[str, Any]


class NotebookTable:
    """A board in a notebook, at which a person plays games one after another.

    Args:
        series: the games.
        show_thoughts: whether to show what the opponent thinks of each of the person's moves.
        show_exact: whether to show their exact values.
        tell: gets a view, for JSON, whenever there is something new to see: before the opponent thinks, and after.

    Attributes:
        view: the last one. It has the `position` (see `tictac_env.web.board_view`), `status` (who is to move, or who
            has won), `open` (whether the person may move), `thinking`, `problem` (what went wrong, or ""), `opponent`
            (its name, None for two people), `undo` (whether there is a move to take back), `shows`, and, where they are
            shown, `thought` and `truth`.
    """

    def __init__(
        self,
        series: Series,
        show_thoughts: bool = False,
        show_exact: bool = False,
        tell: Callable[[View], object] = lambda view: None,
    ) -> None:
        self._series = series
        self._shows = {"thoughts": flag("thoughts", show_thoughts), "exact": flag("hints", show_exact)}
        self._tell = tell
        self.view: View = {}
        self.new_game()

    @property
    def position(self) -> Position:
        """How the game stands."""
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
        self._go_on()

    def undo(self) -> None:
        """Takes the person's last move back, and the answer to it; nothing happens where there is none."""
        self._session.take_back()
        self._go_on()

    def new_game(self) -> None:
        """Begins a game, in the seat whose turn it is."""
        self._session = self._series.begin()
        self._go_on()

    def swap(self) -> None:
        """Begins a game with the seats swapped."""
        self._session = self._series.begin(swap=True)
        self._go_on()

    def show(self, thoughts: bool | None = None, exact: bool | None = None) -> None:
        """Shows or hides what the opponent thinks, and the exact values; None leaves it as it is.

        Raises:
            ValueError: one is not True, False or None.
        """
        asked = {name: flag(name, on) for name, on in (("thoughts", thoughts), ("exact", exact)) if on is not None}
        self._shows |= asked
        self._go_on()

    def answer(self, request: Any) -> None:
        """Does what the browser asks for; what cannot be done is said in the view.

        Args:
            request: a dict with "do": "play" (with the "action", and the "moves" of the position that was clicked),
                "undo", "new", "swap" or "show" (with "thoughts" or "exact").
        """
        try:
            match request:
                case {"do": "play", "action": action, "moves": str(moves)}:
                    if moves == self.view["position"]["moves"]:  # else the click was meant for an older board
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
            self._say(problem=str(error))

    @property
    def _name(self) -> str | None:
        opponent = self._series.opponent
        return None if opponent is None else opponent.name

    def _go_on(self) -> None:
        """Lets the opponent play while it is its turn, and says how the game stands then."""
        session, problem = self._session, ""
        try:
            while not (session.persons_turn or session.position.is_over):
                self._say(thinking=True)
                session.play(session.choose())
        except Exception as error:  # a policy is anybody's code: the game can be taken back or begun anew
            problem = f"{self._name} failed: {type(error).__name__}: {error}"
        finally:
            self._say(problem=problem)  # after Ctrl-C, too, it thinks no more
        if session.persons_turn and any(self._shows.values()):
            self._say(**self._insight())

    def _insight(self) -> View:
        """What is shown beside the person's moves."""
        found: View = {}
        position = self.position
        opponent = self._session.sides[1 - position.seat]
        try:
            if self._shows["thoughts"] and opponent is not None:
                found["thought"] = thoughts(opponent, position, SEED)
        except Exception as error:
            found["problem"] = f"{self._name} does not say what it thinks: {type(error).__name__}: {error}"
        if self._shows["exact"]:
            found["truth"] = exact_values(shared_solver(position.game), position, SECONDS)
        return found

    def _say(self, thinking: bool = False, problem: str = "", **insight: Any) -> None:
        session = self._session
        self.view = {
            "position": board_view(session.position),
            "status": self._status(thinking),
            "open": session.persons_turn,
            "thinking": thinking,
            "problem": problem,
            "opponent": self._name,
            "undo": session.can_take_back,
            "shows": dict(self._shows),
            **insight,
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
