"""The picture of a position, once: a list of plain shapes that SVG, pixels and the window all draw.

Lengths are in cells, x to the right and y downwards from the top left corner of the picture. The squares of
the board are unit squares, with `MARGIN` of frame around them:

    +---------------------+   height = rows + 2 * MARGIN
    |  frame              |
    |   +---+---+---+     |   the square in row r and column c has its top left corner
    |   |0,0|0,1|0,2|     |   at (MARGIN + c + r * row_shift, MARGIN + r); of most games
    |   +---+---+---+     |   `Game.row_shift` is 0
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tictac_env.position import Position


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


class Player(NamedTuple):
    """The colours of a player: the face of a stone, and the darker one of its rim and of the sign on it."""

    role: str
    face: str
    shade: str


# Vermilion and yellow differ in lightness too, so they stay apart for every kind of colour vision and in
# grey. The signs, a cross and a ring, say the same once more.
PLAYERS = (Player("first", "#e8503a", "#b8301f"), Player("second", "#ffcf3f", "#d99a10"))
PAGE, FRAME, EDGE, WELL, MARK = "#f6f4ee", "#2f6bd0", "#2354a8", "#1b4488", "#ffffff"


def scene(position: Position) -> Scene:
    """The picture of `position`.

    Where stones fall it is an upright rack of discs, else a board of tiles with crosses and rings.
    A white dot with a dark rim marks the last move, a white outline each cell of a winning line.
    """
    rows, cols, shift = position.game.rows, position.game.cols, position.game.row_shift
    draw_cell = _disc_cell if position.game.stones_fall else _tile_cell
    across = cols + (rows - 1) * shift
    board, last, outcome = position.to_array(), position.last_cell, position.outcome
    winning = set(outcome.cells) if outcome else set()
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


def cell_at(position: Position, x: float, y: float) -> tuple[int, int] | None:
    """The (row, col) of the square at the point (x, y) of the picture, None on the frame."""
    row = math.floor(y - MARGIN)
    col = math.floor(x - MARGIN - row * position.game.row_shift)
    inside = 0 <= row < position.game.rows and 0 <= col < position.game.cols
    return (row, col) if inside else None


def _disc_cell(x: float, y: float, player: Player | None, winning: bool) -> Iterator[Shape]:
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


def _tile_cell(x: float, y: float, player: Player | None, winning: bool) -> Iterator[Shape]:
    """A tile around (x, y), and the sign on it."""
    if winning:
        yield Rect(x - 0.47, y - 0.47, 0.94, 0.94, 0.14, MARK, "win")
        yield Rect(x - 0.41, y - 0.41, 0.82, 0.82, 0.09, WELL)
    else:
        yield Rect(x - 0.46, y - 0.46, 0.92, 0.92, 0.13, WELL)
    if player is not None:
        yield from _sign(x, y, player, player.face, reach=0.25, width=0.15, role=player.role)


def _sign(
    x: float, y: float, player: Player, color: str, reach: float, width: float, role: str = ""
) -> Iterator[Shape]:
    """The sign of `player`: a cross for the first, a ring for the second."""
    if player is PLAYERS[1]:
        yield Ring(x, y, reach * 1.12, width, color, role)
        return
    yield Line(x - reach, y - reach, x + reach, y + reach, width, color)
    yield Line(x - reach, y + reach, x + reach, y - reach, width, color, role)


def render_svg(position: Position, cell_size: int = 48, background: bool = True) -> str:
    """The picture of `position` as a complete SVG document that refers to nothing outside itself.

    Each shape with a role (see `Scene`) carries it as its class.

    Args:
        position: what to draw.
        cell_size: the pixels a cell measures where the page sets no other size.
        background: whether the margin around the board is painted; else the page shows through.

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
    """`picture` as an SVG document, `cell_size` pixels a cell; on nothing where `background` is False."""
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
    """The SVG element that draws `shape`."""
    match shape:
        case Rect(x, y, width, height, radius, color):
            return _tag("rect", shape, x=x, y=y, width=width, height=height, rx=radius, fill=color)
        case Circle(x, y, radius, color):
            return _tag("circle", shape, cx=x, cy=y, r=radius, fill=color)
        case Ring(x, y, radius, width, color):
            return _tag("circle", shape, cx=x, cy=y, r=radius, fill="none", stroke=color, stroke_width=width)
        case Line(x1, y1, x2, y2, width, color):
            ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
            return _tag("line", shape, **ends, stroke=color, stroke_width=width, stroke_linecap="round")


def _tag(name: str, shape: Shape, **attributes: float | str) -> str:
    """An empty element called `name`; numbers are rounded to six digits, far below a pixel."""
    if shape.role:
        attributes = {"class": shape.role, **attributes}
    values = ((key, value if isinstance(value, str) else f"{value:g}") for key, value in attributes.items())
    return f"<{name} " + " ".join(f'{key.replace("_", "-")}="{value}"' for key, value in values) + "/>"
