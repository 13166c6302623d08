"""Pictures of positions: every backend draws the same scene, and every size of board looks right."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import pixels_shown

from tictac_env import render
from tictac_env.games import KInARow
from tictac_env.position import Position
from tictac_env.render.scene import MARGIN, Circle, Line, Rect, Ring, Scene, Shape, cell_at, scene, scene_to_rgb
from tictac_env.render.text import render_game_text

Board = tuple[int, int, int, bool]

TIC_TAC_TOE: Board = (3, 3, 3, False)
CONNECT_FOUR: Board = (6, 7, 4, True)
FLAT: list[Board] = [TIC_TAC_TOE, (1, 1, 1, False), (3, 5, 3, False), (6, 7, 4, False), (5, 5, 4, False)]
UPRIGHT: list[Board] = [CONNECT_FOUR, (1, 1, 1, True), (1, 31, 3, True), (9, 4, 4, True), (2, 12, 4, True)]

every_board = pytest.mark.parametrize("board", FLAT + UPRIGHT)
both_games = pytest.mark.parametrize("board", [TIC_TAC_TOE, CONNECT_FOUR])


def random_game(board: Board, seed: int = 0) -> Iterator[Position]:
    """Every position of a random game on `board`."""
    rng = np.random.default_rng(seed)
    position = Position.start(KInARow.make(*board))
    yield position
    while not position.is_over:
        position = position.play(int(rng.choice(position.legal_actions)))
        yield position


def won(board: Board) -> Position:
    """The end of a random game that somebody won."""
    ends = (list(random_game(board, seed))[-1] for seed in range(100))
    return next(end for end in ends if end.outcome and end.outcome.cells)


def expected_roles(position: Position) -> Counter[str]:
    """How many shapes of each role a picture of `position` must have."""
    stones, cells = position.to_array(), position.outcome.cells if position.outcome else ()
    first, second = np.bincount(stones.ravel(), minlength=3)[1:].tolist()
    return +Counter(first=first, second=second, last=int(position.ply > 0), win=len(cells))


def middle(row: int, col: int) -> tuple[float, float]:
    """The (x, y) of the middle of a cell, in cells."""
    return MARGIN + col + 0.5, MARGIN + row + 0.5


# ---- The scene


@every_board
def test_the_scene_tells_stones_last_move_and_winning_cells(board: Board) -> None:
    for position in [*random_game(board), won(board)]:
        roles = Counter(shape.role for shape in scene(position).shapes if shape.role)
        assert roles == expected_roles(position)


def test_a_position_without_known_moves_has_no_last_mark() -> None:
    played = Position.from_moves("ConnectFour-v0", "1213141")
    position = Position.from_array("ConnectFour-v0", played.to_array())
    assert all(shape.role != "last" for shape in scene(position).shapes)
    text = render.render_text(position)
    assert text.count("*X*") == 4 and "[" not in text and text.endswith("\nred X wins")


def test_the_players_differ_in_shape_and_in_lightness() -> None:
    shapes = {shape.role: shape for shape in scene(Position.from_moves("TicTacToe-v0", "51")).shapes}
    assert isinstance(shapes["first"], Line) and isinstance(shapes["second"], Ring)
    first, second = (sum(bytes.fromhex(shapes[role].color[1:])) / 3 for role in ("first", "second"))
    assert second - first > 40


@every_board
def test_cell_at_inverts_the_layout(board: Board) -> None:
    position, (rows, cols, _, _) = next(random_game(board)), board
    for row, col in np.ndindex(rows, cols):
        x, y = middle(row, col)
        corners = {cell_at(position, x + dx, y + dy) for dx in (-0.49, 0.49) for dy in (-0.49, 0.49)}
        assert corners == {(row, col)}
    right, bottom = cols + 2 * MARGIN, rows + 2 * MARGIN
    for x, y in ((0.1, 1), (1, 0.1), (right - 0.1, 1), (1, bottom - 0.1), (-5, 1), (1, 99)):
        assert cell_at(position, x, y) is None


# ---- SVG


@every_board
def test_svg_is_xml_with_one_sign_for_each_stone(board: Board) -> None:
    for position in [*random_game(board), won(board)]:
        root = ElementTree.fromstring(render.render_svg(position))
        assert Counter(e.attrib["class"] for e in root if "class" in e.attrib) == expected_roles(position)
    assert root.get("viewBox") == f"0 0 {board[1] + 2 * MARGIN:g} {board[0] + 2 * MARGIN:g}"
    assert not any("href" in name or "url(" in value for e in root for name, value in e.items())


def test_svg_has_one_disc_for_each_stone_at_its_place() -> None:
    position = Position.from_moves("ConnectFour-v0", "4453")
    root = ElementTree.fromstring(render.render_svg(position))
    for role, stone in (("first", 1), ("second", 2)):
        discs = [e for e in root.iter("{http://www.w3.org/2000/svg}circle") if e.get("class") == role]
        places = {(float(disc.get("cx", "")), float(disc.get("cy", ""))) for disc in discs}
        assert places == {middle(row, col) for row, col in np.argwhere(position.to_array() == stone)}


# ---- Pixels


@every_board
@pytest.mark.parametrize("cell_size", [1, 7, 64])
def test_pixels_have_the_documented_shape(board: Board, cell_size: int) -> None:
    pixels = render.render_rgb(won(board), cell_size)
    height, width = (int(np.ceil((cells + 2 * MARGIN) * cell_size)) for cells in board[:2])
    assert pixels.dtype == np.uint8 and pixels.shape == (height, width, 3)
    assert pixels.flags.writeable and pixels.flags.c_contiguous


@pytest.mark.parametrize("cell_size", [20, 64, 33.3])
@pytest.mark.parametrize(
    ("shape", "area"),
    [
        (Circle(1, 1, 0.8, "#ffffff"), np.pi * 0.8**2),
        (Rect(0.25, 0.5, 1.5, 3, 0.2, "#ffffff"), 1.5 * 3 - (4 - np.pi) * 0.2**2),
        (Rect(0.3, 0.31, 1.37, 1.53, 0.09, "#ffffff"), 1.37 * 1.53 - (4 - np.pi) * 0.09**2),
        (Ring(1, 2, 0.6, 0.2, "#ffffff"), np.pi * (0.7**2 - 0.5**2)),
        (Line(0.5, 1, 1.5, 3, 0.4, "#ffffff"), np.hypot(1, 2) * 0.4 + np.pi * 0.2**2),
    ],
)
def test_smooth_edges_make_up_the_exact_area(shape: Shape, area: float, cell_size: float) -> None:
    levels = scene_to_rgb(Scene(2, 4, "#000000", (shape,)), cell_size)[:, :, 0]
    assert levels.min() == 0 and levels.max() == 255 and len(np.unique(levels)) > 4
    assert levels.sum() / 255 / cell_size**2 == pytest.approx(area, rel=3e-3)


@pytest.mark.parametrize("cell_size", [31, 64])
def test_a_shape_is_painted_the_same_wherever_it_lies(cell_size: int) -> None:
    """Shapes that lie whole pixels apart share one computation; it must be the right one."""
    tile = Rect(0.1, 0.1, 0.7, 0.8, 0.1, "#102030")
    pair = scene_to_rgb(Scene(2, 3, "#ffffff", (tile, tile._replace(x=1.1, y=2.1))), cell_size)
    alone = scene_to_rgb(Scene(1, 1, "#ffffff", (tile,)), cell_size)
    assert np.array_equal(pair[:cell_size, :cell_size], alone)
    assert np.array_equal(pair[2 * cell_size :, cell_size:], alone)


@both_games
def test_the_winning_line_and_the_last_move_are_white_in_the_pixels(board: Board) -> None:
    position = won(board)
    white = (render.render_rgb(position, 64) == 255).all(axis=2)
    assert position.outcome is not None
    for row, col in np.ndindex(board[:2]):
        top, left = int((MARGIN + row) * 64), int((MARGIN + col) * 64)
        assert white[top : top + 64, left : left + 8].any() == ((row, col) in position.outcome.cells)
        assert white[top + 30 : top + 34, left + 30 : left + 34].all() == ((row, col) == position.last_cell)


@both_games
def test_pixels_and_svg_have_the_same_colours(board: Board) -> None:
    """Where a stone's cross, ring or disc begins, the pixel has the colour of that element."""
    position = won(board)
    pixels = render.render_rgb(position, 64)
    for element in ElementTree.fromstring(render.render_svg(position)):
        if element.get("class") in ("first", "second"):
            x1, y1, cx, cy, r = (float(element.get(name, 0)) for name in ("x1", "y1", "cx", "cy", "r"))
            pixel = pixels[int((y1 or cy) * 64), int((x1 or cx - r + 0.02) * 64)]
            assert "#" + bytes(pixel).hex() == element.get("stroke", element.get("fill"))


@pytest.mark.parametrize("cell_size", [0, -1, float("nan")])
def test_impossible_cell_sizes_are_refused(cell_size: Any) -> None:
    for draw in (render.render_rgb, render.render_svg):
        with pytest.raises(ValueError, match="cell_size"):
            draw(Position.start("TicTacToe-v0"), cell_size)


# ---- Text


@pytest.mark.parametrize(
    ("game", "moves", "end"),
    [
        ("TicTacToe-v0", "513", " O  2 [X]/ 4  X  6/ 7  8  9/O to move"),
        ("TicTacToe-v0", "12539", "*X* O  O/ 4 *X* 6/ 7  8 [X]/X wins with 1 5 9"),
        ("TicTacToe-v0", "415273", "*O**O*[O]/ X  X  6/ X  8  9/O wins with 1 2 3"),
        ("TicTacToe-v0", "512837469", " O  X  X/ X  X  O/ O  O [X]/draw"),
        ("ConnectFour-v0", "4453", " .  . [O] X  X  .  ./ 1  2  3  4  5  6  7/red X to move"),
        ("ConnectFour-v0", "1213141", "*X* O  O  O  .  .  ./ 1  2  3  4  5  6  7/red X wins in column 1"),
    ],
)
def test_text_shows_the_documented_board(game: str, moves: str, end: str) -> None:
    text = render.render_text(Position.from_moves(game, moves))
    assert text.endswith(end.replace("/", "\n"))


@every_board
def test_text_columns_line_up(board: Board) -> None:
    rows, cols, _, gravity = board
    for position in random_game(board):
        lines = render.render_text(position).splitlines()
        assert len(lines) == rows + gravity + 1
        ends = [[match.end() for match in re.finditer(r"\w+|\.", line)] for line in lines[:-1]]
        assert len(ends[0]) == cols and all(line_ends == ends[0] for line_ends in ends)
        if gravity:
            assert lines[-2].split() == [str(col + 1) for col in range(cols)]


def test_positions_show_themselves_by_their_pictures() -> None:
    position = Position.from_moves("ConnectFour-v0", "4453")
    assert str(position) == render.render_text(position)
    assert position._repr_svg_() == render.render_svg(position)


# ---- The window


@pytest.fixture
def window(pygame: Any) -> Iterator[render.Window]:
    window = render.Window()
    yield window
    window.close()


def post(kind: str, **attributes: Any) -> None:
    pygame = pytest.importorskip("pygame")
    pygame.event.post(pygame.event.Event(getattr(pygame, kind), **attributes))


def click(row: int, col: int, button: int = 1, scale: float = 64) -> None:
    post("MOUSEBUTTONDOWN", button=button, pos=tuple(int(length * scale) for length in middle(row, col)))


def test_the_window_shows_the_pixels(window: render.Window) -> None:
    for position in (won(CONNECT_FOUR), won(TIC_TAC_TOE)):
        window.show(position)
        assert np.array_equal(pixels_shown(), render.render_rgb(position))


def test_a_click_on_a_cell_or_in_a_column_is_its_action(window: render.Window) -> None:
    for position, action in ((Position.start("TicTacToe-v0"), 7), (Position.start("ConnectFour-v0"), 1)):
        window.show(position)
        assert window.clicked_action(position) is None
        click(2, 1)
        window.show(position)
        assert window.clicked_action(position) == action
        assert window.clicked_action(position) is None
        click(2, 1)
        assert window.wait_for_action(position) == action


def test_clicks_that_play_nothing_are_ignored(window: render.Window) -> None:
    flat, upright = Position.from_moves("TicTacToe-v0", "5"), Position.from_moves("ConnectFour-v0", "444444")
    for position, row, col, button in ((flat, 1, 1, 1), (flat, 0, 3, 1), (flat, 2, 2, 3), (upright, 0, 3, 1)):
        window.show(position)
        click(row, col, button)
        assert window.clicked_action(position) is None
    click(0, 0)
    assert window.clicked_action(flat) is None  # it was made on the position shown before
    with pytest.raises(ValueError, match="the game is over"):
        window.wait_for_action(won(TIC_TAC_TOE))


def test_a_large_board_fits_on_the_screen_and_takes_clicks(window: render.Window) -> None:
    window.cell_size, position = 4000, next(random_game((1, 31, 3, True)))
    window.show(position)
    click(0, 30, scale=pixels_shown().shape[1] / (31 + 2 * MARGIN))
    assert window.clicked_action(position) == 30


def test_closing_the_window_interrupts(window: render.Window) -> None:
    position = Position.start("TicTacToe-v0")
    for use in (window.show, window.clicked_action, window.wait_for_action):
        window.show(position)
        post("QUIT")
        with pytest.raises(KeyboardInterrupt) as raised:
            use(position)
        assert raised.type is render.WindowClosed


def test_a_wrong_move_is_marked_wherever_its_board_stands() -> None:
    game = Position.from_moves("ConnectFour-v0", "4434251")
    for ply, column in enumerate("4434251", 1):
        text = render_game_text(game, wrong_ply=ply)
        assert f"{ply}. {'OX'[ply % 2]} {column} ??" in text and text.count("??") == 1
