"""The picture of a position: a list of plain shapes, drawn as SVG or as pixels.

Lengths are in cells, x to the right and y downwards from the top left corner of the picture. The squares of
the board are unit squares, with `MARGIN` of frame around them:

    +---------------------+   height = rows + 2 * MARGIN
    |  frame              |
    |   +---+---+---+     |   the square in row r and column c has its top left corner
    |   |0,0|0,1|0,2|     |   at (MARGIN + c + r * row_shift, MARGIN + r); of most games
    |   +---+---+---+     |   `Game.row_shift` is 0

Pixels are drawn with NumPy alone. Every shape is a core, thickened: a circle is a point with a radius, a line a
segment with half its width, a rounded rectangle the smaller rectangle between the centres of its corners, and a
ring the circle's outline with half its width. So one signed distance draws them all:

    distance(pixel) = (distance from the centre of the pixel to the core) - thickness

and a pixel is covered by clip(1/2 - distance, 0, 1), which smooths the edges. It is evaluated only inside the
shape's bounding box, only once for shapes of a colour that lie whole pixels apart, as most of a board's do, and only
once for the rows of a rectangle that are all alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictac_env.render.text import Drawable

Floats = NDArray[np.float32]

#: The frame, in cells. At 64 pixels a cell every board then measures multiples of 16 pixels, as videos want.
MARGIN = 0.375


class Rect(NamedTuple):
    """A filled rectangle with rounded corners; (x, y) is its top left corner."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    color: str
    role: str = ""


class Circle(NamedTuple):
    """A filled circle around (x, y)."""

    x: float
    y: float
    radius: float
    color: str
    role: str = ""


class Ring(NamedTuple):
    """A circle around (x, y) drawn with a pen of `width`, half of it to either side of `radius`."""

    x: float
    y: float
    radius: float
    width: float
    color: str
    role: str = ""


class Line(NamedTuple):
    """A straight line from (x1, y1) to (x2, y2) with round ends."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float
    color: str
    role: str = ""


Shape = Rect | Circle | Ring | Line


class Scene(NamedTuple):
    """A picture: shapes painted in order, each over those before it.

    Colours are `#rrggbb`. The `role` of a shape says what it stands for, one shape for each thing: `first`
    and `second` a stone of that player, `last` the mark of the last move, `win` that of a cell in a winning
    line, and the empty string anything else. No shape reaches beyond the picture.
    """

    width: float
    height: float
    background: str
    shapes: tuple[Shape, ...]


class StoneColours(NamedTuple):
    """The colours of a player: the face of a stone, and the darker shade of its rim and sign."""

    role: str
    face: str
    shade: str


# Vermilion and yellow differ in lightness too, so they stay apart for every kind of colour vision and in
# grey. The signs, a cross and a ring, say the same once more.
PLAYERS = (StoneColours("first", "#e8503a", "#b8301f"), StoneColours("second", "#ffcf3f", "#d99a10"))
PAGE, FRAME, EDGE, WELL, MARK = "#f6f4ee", "#2f6bd0", "#2354a8", "#1b4488", "#ffffff"


def scene(position: Drawable) -> Scene:
    """The picture of `position`.

    Where stones fall it is an upright rack of discs, else a board of tiles with crosses and rings.
    A white dot with a dark rim marks the last move, a white outline each cell of a winning line.
    """
    rows, cols, shift = position.game.rows, position.game.cols, position.game.row_shift
    draw_cell = _disc_cell if position.game.stones_fall else _tile_cell
    across = cols + (rows - 1) * shift
    board, last, outcome = position.to_array(), position.last_cell, position.outcome
    winning = set(outcome[2]) if outcome else set()
    shapes: list[Shape] = [
        Rect(0.125, 0.1875, across + 0.5, rows + 0.5, 0.28, EDGE),
        Rect(0.125, 0.0625, across + 0.5, rows + 0.5625, 0.28, FRAME),
    ]
    for row in range(rows):
        for col in range(cols):
            x, y = MARGIN + col + row * shift + 0.5, MARGIN + row + 0.5
            stone = int(board[row, col])
            player = PLAYERS[stone - 1] if stone else None
            shapes += draw_cell(x, y, player, (row, col) in winning)
            if (row, col) == last:
                shapes += Circle(x, y, 0.13, WELL), Circle(x, y, 0.085, MARK, "last")
    return Scene(across + 2 * MARGIN, rows + 2 * MARGIN, PAGE, tuple(shapes))


def cell_at(position: Drawable, x: float, y: float) -> tuple[int, int] | None:
    """The (row, col) of the square at the point (x, y) of the picture, None on the frame."""
    row = math.floor(y - MARGIN)
    col = math.floor(x - MARGIN - row * position.game.row_shift)
    inside = 0 <= row < position.game.rows and 0 <= col < position.game.cols
    return (row, col) if inside else None


def _disc_cell(x: float, y: float, player: StoneColours | None, winning: bool) -> Iterator[Shape]:
    """A hole of the rack around (x, y), and the disc in it."""
    if player is None:
        yield Circle(x, y, 0.42, EDGE)
        yield Circle(x, y + 0.02, 0.4, WELL)
        return
    yield Circle(x, y, 0.42, player.shade)
    yield Circle(x, y, 0.37, player.face, player.role)
    yield from _sign(x, y, player, player.shade, reach=0.15, width=0.07)
    if winning:
        yield Ring(x, y, 0.41, 0.08, MARK, "win")


def _tile_cell(x: float, y: float, player: StoneColours | None, winning: bool) -> Iterator[Shape]:
    """A tile around (x, y), and the sign on it."""
    if winning:
        yield Rect(x - 0.47, y - 0.47, 0.94, 0.94, 0.14, MARK, "win")
        yield Rect(x - 0.41, y - 0.41, 0.82, 0.82, 0.09, WELL)
    else:
        yield Rect(x - 0.46, y - 0.46, 0.92, 0.92, 0.13, WELL)
    if player is not None:
        yield from _sign(x, y, player, player.face, reach=0.25, width=0.15, role=player.role)


def _sign(
    x: float, y: float, player: StoneColours, color: str, reach: float, width: float, role: str = ""
) -> Iterator[Shape]:
    """The sign of `player`: a cross for the first, a ring for the second."""
    if player is PLAYERS[1]:
        yield Ring(x, y, reach * 1.12, width, color, role)
        return
    yield Line(x - reach, y - reach, x + reach, y + reach, width, color)
    yield Line(x - reach, y + reach, x + reach, y - reach, width, color, role)


def render_svg(position: Drawable, cell_size: int = 48, background: bool = True) -> str:
    """The picture of `position` as a complete SVG document that refers to nothing outside itself.

    Each shape with a role (see `Scene`) carries it as its class.

    Args:
        position: the position to draw.
        cell_size: the pixels of a cell if the page sets no other size.
        background: True to paint the margin around the board; otherwise the page shows through.

    Raises:
        ValueError: `cell_size` is not positive.

    Example:
        >>> from tictac_env import Position
        >>> from tictac_env.render import render_svg
        >>> render_svg(Position.from_moves("ConnectFour-v0", "44"))[:4]
        '<svg'
    """
    if not cell_size > 0:  # so that NaN is caught too
        raise ValueError(f"cell_size must be positive, not {cell_size!r}")
    return scene_to_svg(scene(position), cell_size, background)


def scene_to_svg(picture: Scene, cell_size: float, background: bool = True) -> str:
    """`picture` as an SVG document, `cell_size` pixels a cell; without its background colour if that is False."""
    width, height = picture.width, picture.height
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"'
        f' width="{width * cell_size:g}" height="{height * cell_size:g}">',
        *([f'<rect width="{width:g}" height="{height:g}" fill="{picture.background}"/>'] if background else []),
        *map(_element, picture.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _element(shape: Shape) -> str:
    attributes: dict[str, float | str] = {"class": shape.role} if shape.role else {}
    match shape:
        case Rect(x, y, width, height, radius, color):
            name = "rect"
            attributes |= {"x": x, "y": y, "width": width, "height": height, "rx": radius, "fill": color}
        case Circle(x, y, radius, color):
            name = "circle"
            attributes |= {"cx": x, "cy": y, "r": radius, "fill": color}
        case Ring(x, y, radius, width, color):
            name = "circle"
            attributes |= {"cx": x, "cy": y, "r": radius, "fill": "none", "stroke": color, "stroke-width": width}
        case Line(x1, y1, x2, y2, width, color):
            name = "line"
            attributes |= {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "stroke": color, "stroke-width": width}
            attributes["stroke-linecap"] = "round"
    # Numbers are rounded to six digits, far below a pixel.
    values = (
        f'{key}="{value}"' if isinstance(value, str) else f'{key}="{value:g}"' for key, value in attributes.items()
    )
    return f"<{name} {' '.join(values)}/>"


def render_rgb(position: Drawable, cell_size: int = 64) -> NDArray[np.uint8]:
    """The picture of `position` in pixels.

    Args:
        position: the position to draw.
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
    # Equal shapes of a colour, such as all stones of a side, are smoothed once.
    bands: dict[tuple[Core, str], list[Band]] = {}
    for shape in picture.shapes:
        core, left, top = _core(shape, cell_size).at_origin()
        key = core, shape.color
        if key not in bands:
            bands[key] = _bands(core, _rgb(shape.color))
        for begin, end, keep, add in bands[key]:
            below = canvas[top + 1 + begin : top + 1 + end, (left + 1) * 3 : (left + 1) * 3 + keep.shape[1]]
            below *= keep
            below += add
    return canvas[1:-1, 3:-3].astype(np.uint8).reshape(height, width, 3)


class Core(NamedTuple):
    """The core of a shape: the segment from (x1, y1) to (x2, y2) or the box with these corners, in pixels.

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
    """The share of each pixel of its bounding box that the shape covers: float32 (height, width) from 0 to 1."""
    x1, y1, x2, y2, radius, pen, segment = core
    reach = radius + pen + 0.5
    x = np.arange(math.ceil(max(x1, x2) + reach), dtype=np.float32) + np.float32(0.5)
    y = np.arange(math.ceil(max(y1, y2) + reach), dtype=np.float32)[:, None] + np.float32(0.5)
    # The vector from the nearest point of the core to the pixel: on a segment the foot of the perpendicular, or an end;
    # in a box the pixel itself if it is inside.
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
