"""A board written as plainly as possible, against which the rule books are tested: lists, loops and no bits."""

from __future__ import annotations

import copy

from examples.hex import Hex
from tictac_env.games import Game, KInARow

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


class NaiveBoard:
    """K in a row on a list of lists: 0 empty, 1 the first player's stone, 2 the second's; row 0 at the top."""

    def __init__(self, rows: int, cols: int, connect: int, gravity: bool) -> None:
        self.rows, self.cols, self.connect, self.gravity = rows, cols, connect, gravity
        self.grid = [[0] * cols for _ in range(rows)]
        self.mark = 1
        self.lines = self.all_lines()

    @classmethod
    def of(cls, game: Game) -> NaiveBoard:
        """The empty board of a game."""
        if isinstance(game, Hex):
            return NaiveHex(game.size)
        assert isinstance(game, KInARow)
        return cls(game.rows, game.cols, game.connect, game.gravity)

    def all_lines(self) -> list[list[tuple[int, int]]]:
        """Every `connect` cells in a straight line."""
        lines = []
        for row in range(self.rows):
            for col in range(self.cols):
                for down, across in DIRECTIONS:
                    line = [(row + down * i, col + across * i) for i in range(self.connect)]
                    if 0 <= line[-1][0] < self.rows and 0 <= line[-1][1] < self.cols:
                        lines.append(line)
        return lines

    def landing(self, action: int) -> tuple[int, int] | None:
        """The cell that a stone played as `action` comes to lie on, None if there is no room."""
        if not self.gravity:
            row, col = divmod(action, self.cols)
            return None if self.grid[row][col] else (row, col)
        empty = [row for row in range(self.rows) if not self.grid[row][action]]
        return (empty[-1], action) if empty else None

    def legal(self) -> list[int]:
        """The actions with room for a stone, whether or not the game is over."""
        actions = range(self.cols if self.gravity else self.rows * self.cols)
        return [action for action in actions if self.landing(action)]

    def play(self, action: int) -> tuple[int, int]:
        """Places a stone of the player to move, and returns its cell."""
        cell = self.landing(action)
        assert cell is not None
        self.grid[cell[0]][cell[1]] = self.mark
        self.mark = 3 - self.mark
        return cell

    def after(self, action: int, mark: int | None = None) -> NaiveBoard:
        """A new board after `action` of the player to move, or of player `mark`."""
        board = copy.copy(self)
        board.grid = [list(row) for row in self.grid]
        board.mark = mark or board.mark
        board.play(action)
        return board

    def winning_cells(self, mark: int) -> list[tuple[int, int]]:
        """The cells of all lines of player `mark`, in order."""
        won = [line for line in self.lines if all(self.grid[row][col] == mark for row, col in line)]
        return sorted({cell for line in won for cell in line})

    def winner(self) -> int:
        """1 or 2 if that player has a line, else 0."""
        return next((mark for mark in (1, 2) if self.winning_cells(mark)), 0)

    def full(self) -> bool:
        """Whether every cell is taken."""
        return all(all(row) for row in self.grid)

    def over(self) -> bool:
        """Whether the game has ended."""
        return bool(self.winner()) or self.full()


class NaiveHex(NaiveBoard):
    """Hex by union-find: chains of stones, one of which may reach from edge to edge."""

    def __init__(self, size: int) -> None:
        super().__init__(size, size, 1, gravity=False)

    def winning_cells(self, mark: int) -> list[tuple[int, int]]:
        """The cells of the chains of player `mark` that connect both edges, in order; the first has top and bottom."""
        cells = [(row, col) for row in range(self.rows) for col in range(self.cols) if self.grid[row][col] == mark]
        parent = {cell: cell for cell in cells}

        def chain(cell: tuple[int, int]) -> tuple[int, int]:
            while parent[cell] != cell:
                cell = parent[cell]
            return cell

        for row, col in cells:
            for neighbour in ((row, col + 1), (row + 1, col), (row + 1, col - 1)):  # which has the others as its own
                if neighbour in parent:
                    parent[chain((row, col))] = chain(neighbour)
        reached = {edge: {chain(cell) for cell in cells if cell[mark - 1] == edge} for edge in (0, self.rows - 1)}
        return [cell for cell in cells if chain(cell) in reached[0] & reached[self.rows - 1]]
