"""Pictures of positions: plain text, SVG, pixels and a window.

All but the text draw the same `scene.scene(position)`. Pictures are functions of the position alone, and need
nothing beyond NumPy; only the window imports pygame, when it opens.
"""

from tictac_env.render.scene import render_rgb, render_svg
from tictac_env.render.text import render_text
from tictac_env.render.window import Window, WindowClosed

__all__ = ["Window", "WindowClosed", "render_rgb", "render_svg", "render_text"]
