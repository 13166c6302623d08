"""Pictures of positions: plain text, SVG, pixels and a window.

All but the text draw the same `scene.scene(position)`. Pictures are functions of the position alone, and need
nothing beyond NumPy; only the window imports pygame, when it opens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tictac_env.render.pixels import render_rgb
from tictac_env.render.scene import render_svg
from tictac_env.render.text import render_text

if TYPE_CHECKING:
    from tictac_env.render.window import Window, WindowClosed

__all__ = ["Window", "WindowClosed", "render_rgb", "render_svg", "render_text"]


def __getattr__(name: str) -> Any:
    """The window's names, imported when used (PEP 562)."""
    if name in ("Window", "WindowClosed"):
        from tictac_env.render import window

        return getattr(window, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
