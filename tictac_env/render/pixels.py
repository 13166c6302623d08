"""A scene as an array of pixels, with NumPy alone.

Every shape is a core, thickened: a circle is a point with a radius, a line a segment with half its width, a
rounded rectangle the smaller rectangle between the centres of its corners, and a ring the circle's outline
with half its width. So one signed distance draws them all:

    distance(pixel) = (distance from the centre of the pixel to the core) - thickness

and a pixel is covered by clip(1/2 - distance, 0, 1), which is what smooths the edges. It is evaluated only
inside the shape's bounding box, only once for shapes of a colour that lie whole pixels apart, as most of a
board's do, and only once for the rows of a rectangle that are all alike.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictac_env.render.scene import Circle, Line, Rect, Ring, Scene, Shape, scene

if TYPE_CHECKING:
    from tictac_env.position import Position

Floats = NDArray[np.float32]


def render_rgb(position: Position, cell_size: int = 64) -> NDArray[np.uint8]:
    """The picture of `position` in pixels.

    Args:
        position: what to draw.
        cell_size: pixels a cell, at least 1; below about 12 the marks blur.

    Returns:
        uint8 (height, width, 3), red, green and blue from 0 to 255, row 0 at the top: a new array at each
        call, which the caller may change. At 64 pixels a cell Connect Four is (432, 496, 3), tic-tac-toe
        (240, 240, 3).

    Raises:
        ValueError: `cell_size` is below 1.

    Example:
        >>> from tictac_env import Position
        >>> from tictac_env.render import render_rgb
        >>> render_rgb(Position.from_moves("ConnectFour-v0", "44"), cell_size=32).shape
        (216, 248, 3)
    """
    if not cell_size >= 1:  # so that NaN is caught too
        raise ValueError(f"cell_size must be at least 1, not {cell_size!r}")
    return scene_to_rgb(scene(position), cell_size)


def scene_to_rgb(picture: Scene, cell_size: float) -> NDArray[np.uint8]:
    """`picture` as uint8 (height, width, 3), `cell_size` pixels a cell, the size rounded up."""
    height, width = math.ceil(picture.height * cell_size), math.ceil(picture.width * cell_size)
    # A row holds the three colours of each pixel side by side: NumPy is fast along long rows. The pixel
    # around the picture takes what the smoothed edges of shapes at its border cover outside it.
    canvas = np.empty((height + 2, (width + 2) * 3), np.float32)
    canvas[:] = np.tile(_rgb(picture.background), width + 2)
    known: dict[tuple[Core, str], list[Band]] = {}
    for shape in picture.shapes:
        core, left, top = _core(shape, cell_size).at_origin()
        key = core, shape.color
        if key not in known:
            known[key] = _bands(core, _rgb(shape.color))
        for begin, end, keep, add in known[key]:
            below = canvas[top + 1 + begin : top + 1 + end, (left + 1) * 3 : (left + 1) * 3 + keep.shape[1]]
            below *= keep
            below += add
    return canvas[1:-1, 3:-3].astype(np.uint8).reshape(height, width, 3)


class Core(NamedTuple):
    """What is thickened: the segment from (x1, y1) to (x2, y2) or the box with these corners, in pixels.

    The shape is what lies within `radius` of the core; with a `pen` above 0, what lies within `pen` of that
    outline.
    """

    x1: float
    y1: float
    x2: float
    y2: float
    radius: float
    pen: float = 0.0
    segment: bool = False

    def at_origin(self) -> tuple[Core, int, int]:
        """The shape moved by whole pixels to where its bounding box begins at (0, 0), and from where."""
        reach = self.radius + self.pen + 0.5
        left = math.floor(min(self.x1, self.x2) - reach)
        top = math.floor(min(self.y1, self.y2) - reach)
        # Rounded, so that equal shapes whole pixels apart become equal in spite of floating point.
        x1, x2 = round(self.x1 - left, 3), round(self.x2 - left, 3)
        y1, y2 = round(self.y1 - top, 3), round(self.y2 - top, 3)
        return self._replace(x1=x1, y1=y1, x2=x2, y2=y2), left, top


def _core(shape: Shape, scale: float) -> Core:
    """The core of `shape`, at `scale` pixels a cell."""
    match shape:
        case Rect(x, y, width, height, radius):
            radius = max(radius, 0.5 / scale)  # the core must be half a pixel inside to be covered whole
            left, top, right, bottom = x + radius, y + radius, x + width - radius, y + height - radius
            return Core(left * scale, top * scale, right * scale, bottom * scale, radius * scale)
        case Circle(x, y, radius):
            return Core(x * scale, y * scale, x * scale, y * scale, radius * scale)
        case Ring(x, y, radius, width):
            return Core(x * scale, y * scale, x * scale, y * scale, radius * scale, pen=width / 2 * scale)
        case Line(x1, y1, x2, y2, width):
            return Core(x1 * scale, y1 * scale, x2 * scale, y2 * scale, width / 2 * scale, segment=True)


class Band(NamedTuple):
    """Rows `begin` to `end` of a shape's bounding box, ready to be painted.

    The pixels below are multiplied by `keep`, then `add` is added. Both are float32 (end - begin, width * 3),
    or (1, width * 3) where these rows are all alike.
    """

    begin: int
    end: int
    keep: Floats
    add: Floats


def _bands(core: Core, color: Floats) -> list[Band]:
    """How to paint the shape around `core` in `color`."""
    # The rows beside the core of a high box are alike: all but one or two are left out, then repeated.
    repeats = 0 if core.segment else max(0, math.floor(core.y2 - core.y1) - 1)
    cover = np.repeat(_coverage(core._replace(y2=core.y2 - repeats)), 3, axis=1)
    keep, add = 1 - cover, cover * np.tile(color, cover.shape[1] // 3)
    if not repeats:
        return [Band(0, len(keep), keep, add)]
    row = math.ceil(core.y1 - 0.5)  # the first whose middle is beside the core
    after = row + 1 + repeats
    return [
        Band(0, row, keep[:row], add[:row]),
        Band(row, after, keep[row : row + 1], add[row : row + 1]),
        Band(after, len(keep) + repeats, keep[row + 1 :], add[row + 1 :]),
    ]


def _coverage(core: Core) -> Floats:
    """How much of each pixel of its bounding box the shape covers: float32 (height, width) from 0 to 1."""
    x1, y1, x2, y2, radius, pen, segment = core
    reach = radius + pen + 0.5
    x = np.arange(math.ceil(max(x1, x2) + reach), dtype=np.float32) + np.float32(0.5)
    y = np.arange(math.ceil(max(y1, y2) + reach), dtype=np.float32)[:, None] + np.float32(0.5)
    if segment:
        run, rise = x2 - x1, y2 - y1
        along = np.clip(((x - x1) * run + (y - y1) * rise) / (run * run + rise * rise), 0, 1)
        dx, dy = x - x1 - along * run, y - y1 - along * rise
    else:
        dx, dy = x - np.clip(x, x1, x2), y - np.clip(y, y1, y2)
    distance = np.sqrt(dx * dx + dy * dy) - radius
    if pen:
        distance = np.abs(distance) - pen
    coverage: Floats = np.clip(0.5 - distance, 0, 1)
    return coverage


def _rgb(color: str) -> Floats:
    """`#rrggbb` as float32 (3,), and a half more, so that cutting off the fraction of a blend rounds it."""
    return np.array(list(bytes.fromhex(color[1:])), np.float32) + np.float32(0.5)
