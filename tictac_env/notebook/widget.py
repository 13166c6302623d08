"""The board as a widget, for every notebook that shows widgets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from tictac_env.cli.session import Series
from tictac_env.notebook.play import NotebookTable
from tictac_env.position import Position
from tictac_env.web.export import STATIC, joined

OWN = Path(__file__).parent


def widget_script() -> str:
    """The widget's ES module, complete: its styles, the page's modules that it uses, and itself."""
    style = "".join((STATIC / name).read_text(encoding="utf-8") for name in ("base.css", "board.css"))
    style = re.sub(r":root(\[[^\]]*\])", r":host(\1)", style).replace(":root", ":host")  # it stands in a shadow root
    style += (OWN / "widget.css").read_text(encoding="utf-8")
    modules = (*(STATIC / f"{name}.js" for name in ("base", "board", "insight")), OWN / "widget.js")
    return f"const STYLE = {json.dumps(style)};\n{joined(modules)}export default {{ render }};\n"


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
        self.table = NotebookTable(series, show_thoughts, show_exact, lambda view: setattr(self, "view", view))
        self.on_msg(lambda _widget, request, _buffers: self.table.answer(request))

    @property
    def position(self) -> Position:
        """The position on the board."""
        return self.table.position

    def __repr__(self) -> str:
        """What a front end shows that has no widgets."""
        return f"{self.position}\n{self.view['status']}" if self.view else object.__repr__(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget, and for pages that cannot run it, such as an exported notebook, a picture of the board."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "text/html": self.position._repr_svg_()}, metadata
