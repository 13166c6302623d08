"""Draws the picture at the top of the README: a tic-tac-toe and a Connect Four position, side by side.

python tools/boards_picture.py [--output docs/images/boards.svg]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tictac_env.position import Position
from tictac_env.render.scene import PAGE, Circle, Line, Rect, Ring, Scene, Shape, scene, scene_to_svg
from tictac_env.storage import save_text

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "boards.svg"
POSITIONS = (
    Position.from_moves("TicTacToe-v0", "5137426"),
    Position.from_moves("ConnectFour-v0", "343521256156611133614"),
)
CELL_SIZE = 44
"""Pixels a cell of Connect Four measures."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=PICTURE)
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    save_text(options.output, scene_to_svg(side_by_side(*map(scene, POSITIONS)), CELL_SIZE))
    print(f"written to {options.output}")


def side_by_side(*pictures: Scene) -> Scene:
    """The pictures from left to right, all as high as the highest."""
    height = max(picture.height for picture in pictures)
    shapes: list[Shape] = []
    left = 0.0
    for picture in pictures:
        scale = height / picture.height
        shapes += [placed(shape, left, scale) for shape in picture.shapes]
        left += picture.width * scale
    return Scene(left, height, PAGE, tuple(shapes))


def placed(shape: Shape, left: float, scale: float) -> Shape:
    """A shape scaled, and moved to the right."""
    match shape:
        case Rect(x, y, width, height, radius, color, role):
            return Rect(left + scale * x, scale * y, scale * width, scale * height, scale * radius, color, role)
        case Circle(x, y, radius, color, role):
            return Circle(left + scale * x, scale * y, scale * radius, color, role)
        case Ring(x, y, radius, width, color, role):
            return Ring(left + scale * x, scale * y, scale * radius, scale * width, color, role)
        case Line(x1, y1, x2, y2, width, color, role):
            ends = (left + scale * x1, scale * y1, left + scale * x2, scale * y2)
            return Line(*ends, scale * width, color, role)


if __name__ == "__main__":
    main()
