"""Small games solved as plainly as possible, against which the solver and the exact measures are tested.

Boards are strings, one character a cell row by row from the top left: `.` empty, `X` the first player's, `O` the
second's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conftest import playout
from naive import NaiveBoard

from tictac_env.games import KInARow
from tictac_env.position import Position
from tictac_env.solver import Bounds, NotProven, Solver

Chances = Callable[[str], dict[int, float]]
"""A player: the chance of each action it may choose on a board."""


class Oracle:
    """One game: its moves, its winners and the exact value of every board, all remembered."""

    def __init__(self, game: KInARow) -> None:
        self.game = game
        self.start = "." * game.cells
        self._lines = [[row * game.cols + col for row, col in line] for line in NaiveBoard.of(game).all_lines()]
        self._scores: dict[str, int] = {}
        self._moves: dict[str, dict[int, str]] = {}

    def stones(self, board: str) -> int:
        return len(board) - board.count(".")

    def mover(self, board: str) -> str:
        return "XO"[self.stones(board) % 2]

    def winner(self, board: str) -> str | None:
        return next(
            (mark for mark in "XO" if any(all(board[cell] == mark for cell in line) for line in self._lines)), None
        )

    def over(self, board: str) -> bool:
        return "." not in board or self.winner(board) is not None

    def landing(self, board: str, action: int) -> int | None:
        """The cell in which a stone played as `action` comes to lie."""
        cells = range(action, len(board), self.game.cols) if self.game.gravity else [action]
        empty = [cell for cell in cells if board[cell] == "."]
        return empty[-1] if empty else None

    def moves(self, board: str) -> dict[int, str]:
        """The board after each legal action; none once the game is over."""
        if board not in self._moves:
            found = {}
            if not self.over(board):
                for action in range(self.game.cols if self.game.gravity else self.game.cells):
                    cell = self.landing(board, action)
                    if cell is not None:
                        found[action] = board[:cell] + self.mover(board) + board[cell + 1 :]
            self._moves[board] = found
        return self._moves[board]

    def end_score(self, board: str) -> int:
        """The score of a finished game, for the player who would be to move.

        The winner of a game of c cells can place c // 2 stones, the first player one more if c is odd. One who wins
        with the last of them scores 1, with the last but one 2, and so on.
        """
        winner = self.winner(board)
        if winner is None:
            return 0
        most = (len(board) + (winner == "X")) // 2
        distance = most - board.count(winner) + 1
        return distance if winner == self.mover(board) else -distance

    def score(self, board: str) -> int:
        """The exact score, for the player to move."""
        if board not in self._scores:
            moves = self.moves(board).values()
            self._scores[board] = max(-self.score(after) for after in moves) if moves else self.end_score(board)
        return self._scores[board]

    def value(self, board: str) -> int:
        """1 won, 0 drawn, -1 lost for the player to move, if both play perfectly."""
        score = self.score(board)
        return (score > 0) - (score < 0)

    def keeping(self, board: str) -> list[int]:
        """The actions that keep the value of the game."""
        return [action for action, after in self.moves(board).items() if -self.value(after) == self.value(board)]

    def boards(self) -> list[str]:
        """Every board that can be reached, the earlier plies first."""
        levels, level = [], {self.start}
        while level:
            levels.extend(sorted(level))
            level = {after for board in level for after in self.moves(board).values()}
        return levels

    def bits(self, board: str) -> tuple[int, int]:
        """The rule book's (own, opp)."""
        stones = {"X": 0, "O": 0}
        for cell, mark in enumerate(board):
            if mark != ".":
                stones[mark] |= self.game.cell(*divmod(cell, self.game.cols))
        own = self.mover(board)
        return stones[own], stones["XO"[own == "X"]]

    def position(self, board: str) -> Position:
        return Position(self.game, *self.bits(board))

    def expected(
        self, first: Chances, second: Chances, worth: Callable[[str], float] = lambda board: 1.0
    ) -> tuple[float, float, float]:
        """The chances that the first player wins, draws and loses, each end counted as often as it is `worth`."""
        known: dict[str, tuple[float, float, float]] = {}

        def shares(board: str) -> tuple[float, float, float]:
            if board not in known:
                if self.over(board):
                    winner = self.winner(board)
                    won, drawn, lost = (worth(board) * (winner == who) for who in ("X", None, "O"))
                    known[board] = won, drawn, lost
                else:
                    player = first if self.mover(board) == "X" else second
                    parts = [
                        (chance, shares(self.moves(board)[action]))
                        for action, chance in player(board).items()
                        if chance
                    ]
                    win, draw, loss = (sum(chance * part[i] for chance, part in parts) for i in range(3))
                    known[board] = (win, draw, loss)
            return known[board]

        return shares(self.start)

    def best_reply(self, player: Chances, seat: str) -> float:
        """What the best possible opponent of `player`, who has the stones `seat`, earns: wins less losses."""
        known: dict[str, float] = {}

        def earned(board: str) -> float:
            if board not in known:
                moves = self.moves(board)
                if not moves:
                    winner = self.winner(board)
                    known[board] = 0.0 if winner is None else -1.0 if winner == seat else 1.0
                elif self.mover(board) == seat:
                    known[board] = sum(chance * earned(moves[a]) for a, chance in player(board).items() if chance)
                else:
                    known[board] = max(earned(after) for after in moves.values())
            return known[board]

        return earned(self.start)

    def games_of(self, player: Chances, seat: str) -> list[tuple[tuple[int, ...], str | None]]:
        """Every complete game in which `seat` plays what `player` may choose and the other side plays anything: the
        actions, and who won."""
        finished = []

        def walk(board: str, actions: tuple[int, ...]) -> None:
            moves = self.moves(board)
            if not moves:
                finished.append((actions, self.winner(board)))
            elif self.mover(board) == seat:
                for action, chance in player(board).items():
                    if chance:
                        walk(moves[action], (*actions, action))
            else:
                for action, after in moves.items():
                    walk(after, (*actions, action))

        walk(self.start, ())
        return finished

    def uniform(self, board: str) -> dict[int, float]:
        """Plays every legal action alike."""
        moves = self.moves(board)
        return dict.fromkeys(moves, 1 / len(moves))

    def uniform_best(self, board: str) -> dict[int, float]:
        """Plays every action alike that keeps the value."""
        keeping = self.keeping(board)
        return dict.fromkeys(keeping, 1 / len(keeping))

    def first_best(self, board: str) -> dict[int, float]:
        """Plays the lowest action that keeps the value."""
        return {min(self.keeping(board)): 1.0}


class Hurried(Solver):
    """A solver of tic-tac-toe that has proven no more of the actions than some bounds, and that no action is best."""

    def __init__(self, known: dict[int, tuple[int, int]]) -> None:
        super().__init__("TicTacToe-v0")
        self._known = tuple(Bounds(*known[action], 1, 0.0) if action in known else None for action in range(9))

    def action_bounds(self, *arguments: Any, **limits: Any) -> tuple[Bounds | None, ...]:
        return self._known

    def best_actions(self, position: Position, time_limit: float | None = None) -> tuple[int, ...]:
        raise NotProven(position, Bounds(-5, 5, 1, 0.0))


def looked_ahead(truth: Oracle, board: str, depth: int) -> int:
    """Full-width minimax: the score if the game is decided within `depth` plies, else 0."""
    if truth.over(board):
        return truth.end_score(board)
    if depth == 0:
        return 0
    return max(-looked_ahead(truth, after, depth - 1) for after in truth.moves(board).values())


def board_of(position: Position) -> str:
    """The position as a string."""
    return "".join(".XO"[mark] for mark in position.to_array().reshape(-1))


def sampled(game: KInARow, games: int) -> list[Position]:
    """Unfinished positions of random games: every other one a few plies before the end, the rest at any stage."""
    found = []
    for seed in range(games):
        positions = playout(game, seed)[:-1]
        late = max(0, len(positions) - 1 - seed // 2)
        found.append(positions[late if seed % 2 else len(positions) * seed // games])
    return found
