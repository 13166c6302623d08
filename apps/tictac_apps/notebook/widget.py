"""The board as a widget for notebooks: the game in the kernel, and the script in the browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from tictac_apps.cli.session import Series
from tictac_apps.web import insight
from tictac_apps.web.export import STATIC, joined_modules
from tictac_apps.web.value_display import Explanation
from tictac_env.checks import flag
from tictac_env.games import shown
from tictac_env.position import Position
from tictac_env.render.text import side_name
from tictac_env.solver.exact import shared_solver

OWN = Path(__file__).parent
SECONDS = 3.0
"""The time for the exact values of a position; values that are not proven by then are shown as unknown."""
SEED = 0
"""The seed of a search for the opponent's thoughts: a position is always shown with the same numbers."""


@dataclass(frozen=True)
class WidgetView:
    """The state of the board that the browser shows.

    Attributes:
        position: as of `board_view`.
        status: the side to move, or the result.
        open: True if the person may move.
        thinking: True while the opponent thinks.
        problem: the message of an error; "" if there is none.
        opponent: its name; None for two people.
        undo: True if a move can be taken back.
        shows: true for each insight that is to be shown.
        thought: the opponent's thoughts; None if they are not shown, or not yet.
        truth: the exact values; None as above.
    """

    position: dict[str, object]
    status: str
    open: bool
    thinking: bool
    problem: str
    opponent: str | None
    undo: bool
    shows: dict[str, bool]
    thought: Explanation | None
    truth: insight.MoveValues | None


class NotebookTable:
    """A board in a notebook, at which a person plays games one after another.

    Args:
        series: the games.
        shows: true for "thoughts" to show the opponent's about each of the person's moves, and for "exact" values.
        send: called with the view whenever it changes: before the opponent thinks, and after.

    Attributes:
        view: the present view.
    """

    view: WidgetView

    def __init__(self, series: Series, shows: dict[str, bool], send: Callable[[WidgetView], object]) -> None:
        self._series, self._shows, self._send = series, shows, send
        self._name = None if series.opponent is None else series.opponent.name
        self.new_game()

    @property
    def position(self) -> Position:
        """The position on the board."""
        return self._session.position

    def play(self, action: int) -> None:
        """Plays a move for the person; the opponent answers.

        Raises:
            ValueError: it is not the person's turn, or `action` is not an action.
            IllegalMove: it is illegal; nothing has changed.
        """
        if not self._session.persons_turn and not self._session.over:
            raise ValueError(f"it is {self._name}'s turn: {self.position!r}; undo, or begin a new game")
        self._session.play(action)
        self._continue()

    def undo(self) -> None:
        """Takes back the person's last move and the reply to it; without a move it does nothing."""
        self._session.take_back()
        self._continue()

    def new_game(self, swap: bool = False) -> None:
        """Begins a game in the person's next seat; with `swap` in the other seat."""
        self._session = self._series.begin(swap)
        self._continue()

    def swap(self) -> None:
        """Begins a game with the seats swapped."""
        self.new_game(swap=True)

    def show(self, thoughts: bool | None = None, exact: bool | None = None) -> None:
        """Shows or hides the opponent's thoughts and the exact values; None makes no change.

        Raises:
            ValueError: one of them is not True, False or None.
        """
        changes = {"thoughts": thoughts, "exact": exact}
        self._shows |= {name: flag(name, on) for name, on in changes.items() if on is not None}
        self._continue()

    def answer(self, request: Any) -> None:
        """Does what the browser requests; an error is reported in the view.

        Args:
            request: a dict with "do": "play" (with the "action", and the "moves" of the position that was clicked),
                "undo", "new", "swap" or "show" (with "thoughts" or "exact").
        """
        try:
            match request:
                case {"do": "play", "action": action, "moves": str(moves)}:
                    if moves == self.position.to_moves():  # otherwise the click was meant for an older board
                        self.play(action)
                case {"do": "undo"}:
                    self.undo()
                case {"do": "new"}:
                    self.new_game()
                case {"do": "swap"}:
                    self.swap()
                case {"do": "show"} if request.keys() <= {"do", *self._shows}:
                    self.show(request.get("thoughts"), request.get("exact"))
                case _:
                    raise ValueError(f"a request must be to play, undo, new, swap or show, not {shown(request)}")
        except ValueError as error:
            self._report(problem=str(error))

    def _continue(self) -> None:
        """Lets the opponent play if it is its turn, then shows the position."""
        session = self._session
        try:
            while not (session.persons_turn or session.over):
                self._report(thinking=True)
                session.reply()
        finally:
            self._report()  # after Ctrl-C too, `thinking` must end
        if session.persons_turn and any(self._shows.values()):
            self._report_insights()

    def _report_insights(self) -> None:
        """Shows the opponent's thoughts about the person's moves and the exact values, as far as they are shown."""
        problem, thought, truth = "", None, None
        position = self.position
        opponent = self._session.sides[1 - position.seat]
        try:
            if self._shows["thoughts"] and opponent is not None:
                thought = insight.thoughts(opponent, position, SEED)
        except Exception as error:
            problem = f"the thoughts of {self._name} failed: {type(error).__name__}: {error}"
        if self._shows["exact"]:
            truth = insight.exact_values(shared_solver(position.game), position, SECONDS)
        self._report(False, problem, thought, truth)

    def _report(
        self,
        thinking: bool = False,
        problem: str = "",
        thought: Explanation | None = None,
        truth: insight.MoveValues | None = None,
    ) -> None:
        session = self._session
        self.view = WidgetView(
            position=insight.board_view(session.position),
            status=self._status(thinking),
            open=session.persons_turn,
            thinking=thinking,
            problem=problem,
            opponent=self._name,
            undo=session.can_take_back,
            shows=dict(self._shows),
            thought=thought,
            truth=truth,
        )
        self._send(self.view)

    def _status(self, thinking: bool) -> str:
        session = self._session
        if session.over:
            return session.result()
        side = side_name(session.position.game, session.position.seat)
        if session.hot_seat:
            return f"{side} to move."
        if session.persons_turn:
            return f"You are {side}: your move, against {self._name}."
        return f"{self._name} ({side}) thinks ..." if thinking else f"{self._name} ({side}) is to move."


def widget_script() -> str:
    """The widget's complete ES module: its styles, the modules of the page that it uses, and its own script."""
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
        table: the game: `table.play(action)`, `table.undo()` and so on do the same as the buttons.
        view: the `WidgetView` that the browser shows, as JSON has it.
    """

    _esm = widget_script()
    view: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)

    def __init__(self, series: Series, shows: dict[str, bool]) -> None:
        super().__init__()
        self.table = NotebookTable(series, shows, lambda view: setattr(self, "view", asdict(view)))
        self.on_msg(lambda _widget, request, _buffers: self.table.answer(request))

    @property
    def position(self) -> Position:
        """The position on the board."""
        return self.table.position

    def __repr__(self) -> str:
        """The text for a front end without widgets."""
        return f"{self.position}\n{self.view['status']}" if self.view else object.__repr__(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget, and a picture of the board for pages that cannot run it, such as an exported notebook."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "text/html": self.position._repr_svg_()}, metadata
