"""The board as a widget, for every notebook that shows widgets."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from tictac_env.cli.series import Series
from tictac_env.notebook.bundle import widget_script
from tictac_env.notebook.notebook_table import NotebookTable
from tictac_env.position import Position


class BoardWidget(anywidget.AnyWidget):
    """A board to click; `tictac_env.play` makes it.

    Args:
        series: the games.
        show_thoughts: whether to show what the opponent thinks.
        show_exact: whether to show exact values.

    Attributes:
        table: the game: `table.play(action)`, `table.undo()` and so on do what the buttons do.
        view: what the browser shows (see `NotebookTable`).
    """

    _esm = widget_script()
    view: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)

    def __init__(self, series: Series, show_thoughts: bool = False, show_exact: bool = False) -> None:
        super().__init__()
        self.table = NotebookTable(series, show_thoughts, show_exact, self._show)
        self.on_msg(lambda _widget, request, _buffers: self.table.answer(request))

    @property
    def position(self) -> Position:
        """How the game stands."""
        return self.table.position

    def _show(self, view: dict[str, Any]) -> None:
        self.view = view

    def __repr__(self) -> str:
        """What a front end shows that has no widgets."""
        return f"{self.position}\n{self.view['status']}" if self.view else object.__repr__(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget, and for pages that cannot run it, such as an exported notebook, a picture of the board."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "text/html": self.position._repr_svg_()}, metadata
