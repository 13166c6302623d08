"""The board as a widget, for every notebook that shows widgets: the game as the kernel keeps it, and its script."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from tictac_apps.cli.session import Series
from tictac_apps.web import insight
from tictac_apps.web.export import STATIC, joined_modules
from tictac_env.checks import flag
from tictac_env.games import shown
from tictac_env.position import Position
from tictac_env.render.text import side_name
from tictac_env.solver.exact import shared_solver

OWN = Path(__file__).parent
SECONDS = 3.0
"""The time for the exact values of a position; what is not proven by then is shown as unknown."""
SEED = 0
"""Of the thoughts of an opponent that searches: the same position is always shown with the same numbers."""


class NotebookTable:
    """A board in a notebook, at which a person plays games one after another.

    Args:
        series: the games.
        shows: whether to show the "thoughts" of the opponent about each of the person's moves, and "exact" values.
        tell: gets a view, for JSON, whenever there is something new to see: before the opponent thinks, and after.

    Attributes:
        view: the last one: `position` (as of `board_view`), `status` (who is to move, or who has won), `open` (whether
            the person may move), `thinking`, `problem` ("" if nothing went wrong), `opponent` (its name, None for two
            people), `undo` (whether a move can be taken back), `shows`, and, if they are shown, `thought` and `truth`.
    """

    def __init__(self, series: Series, shows: dict[str, bool], tell: Callable[[dict[str, Any]], object]) -> None:
        self._series, self._shows, self._tell = series, shows, tell
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
        wanted = {"thoughts": thoughts, "exact": exact}
        self._shows |= {name: flag(name, on) for name, on in wanted.items() if on is not None}
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
        if not session.persons_turn or not any(self._shows.values()):
            return
        found: dict[str, Any] = {}
        position = self.position
        opponent = session.sides[1 - position.seat]
        try:
            if self._shows["thoughts"] and opponent is not None:
                found["thought"] = insight.thoughts(opponent, position, SEED)
        except Exception as error:
            found["problem"] = f"{self._name} does not say what it thinks: {type(error).__name__}: {error}"
        if self._shows["exact"]:
            found["truth"] = insight.exact_values(shared_solver(position.game), position, SECONDS)
        self._report(**found)

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
        side = side_name(session.position.game, session.position.seat)
        if session.hot_seat:
            return f"{side} to move."
        if session.persons_turn:
            return f"You are {side}: your move, against {self._name}."
        return f"{self._name} ({side}) thinks ..." if thinking else f"{self._name} ({side}) is to move."


def widget_script() -> str:
    """The widget's ES module, complete: its styles, the page's modules that it uses, and itself."""
    style = "".join((STATIC / name).read_text(encoding="utf-8") for name in ("base.css", "board.css"))
    style = re.sub(r":root(\[[^\]]*\])", r":host(\1)", style).replace(":root", ":host")  # for the shadow root
    style += (OWN / "widget.css").read_text(encoding="utf-8")
    modules = (*(STATIC / f"{name}.js" for name in ("base", "board", "insight")), OWN / "widget.js")
    return f"const STYLE = {json.dumps(style)};\n{joined_modules(modules)}export default {{ render }};\n"


class BoardWidget(anywidget.AnyWidget):
    """A board to click; `play` makes it.

    Args:
        series: the games.
        shows: as of `NotebookTable`.

    Attributes:
        table: the game: `table.play(action)`, `table.undo()` and so on do what the buttons do.
        view: what the browser shows (see `NotebookTable`).
    """

    _esm = widget_script()
    view: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)

    def __init__(self, series: Series, shows: dict[str, bool]) -> None:
        super().__init__()
        self.table = NotebookTable(series, shows, lambda view: setattr(self, "view", view))
        self.on_msg(lambda _widget, request, _buffers: self.table.answer(request))

    @property
    def position(self) -> Position:
        """The position on the board."""
        return self.table.position

    def __repr__(self) -> str:
        """The text for a front end without widgets."""
        return f"{self.position}\n{self.view['status']}" if self.view else object.__repr__(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget, and for pages that cannot run it, such as an exported notebook, a picture of the board."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "text/html": self.position._repr_svg_()}, metadata
