"""Seeing what was learned: the values of a position's moves, and what one game teaches."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tictac_agents.curves import new_figure, save_figure
from tictac_agents.mcts.evaluators import HasValues
from tictac_agents.planning.dynamic_programming import DynamicProgramming
from tictac_agents.tabular.value_td import ValueTD
from tictac_env.games import Game, game_name
from tictac_env.position import Position, format_moves
from tictac_env.render.text import NAMES, status

AFTER_POINT = " " * 5
"""Sets a stone below the digit before the point of a value."""


Valued = HasValues | DynamicProgramming


def move_values(learner: Valued, position: Position) -> dict[int, float]:
    """The value of each legal action, for the side to move.

    Raises:
        ValueError: the game is over, another one than the learner's, or its model never comes to the position.
    """
    game = learner.model.game if isinstance(learner, DynamicProgramming) else learner.game
    if position.game != game:
        raise ValueError(f"{learner} has learned {game and (game_name(game) or game)}, and nothing of {position!r}")
    if position.is_over:
        raise ValueError(f"the game is over, there are no moves to show: {position!r}")
    if not isinstance(learner, DynamicProgramming):
        return dict(learner.values(position.own, position.opp))
    row = learner.model.find(position.own, position.opp)
    if row is None:
        raise ValueError(f"the model of {learner} never comes to {position!r}")
    return {action: float(learner.q[row, action]) for action in position.legal_actions}


def values_text(learner: Valued, position: Position) -> str:
    """The values of all moves, laid out as the board, the best ones with a star; stones are X and O.

    Where stones fall there is a line of values, one for each column, above the board.

    Raises:
        ValueError: as `move_values`.

    Example:
        >>> from tictac_agents import QLearning
        >>> agent = QLearning.preset("self-play", seed=0).learn(total_episodes=2_000)
        >>> print(values_text(agent, Position.from_moves("TicTacToe-v0", "152")))
           X        X       +0.000*
          -0.882    O       -0.993
          -0.956   -0.957   -0.715
        O to move
    """
    values = move_values(learner, position)
    best = max(values.values())
    shown = {action: f"{value:+.3f}{' *'[value == best]}" for action, value in values.items()}
    width = max(map(len, shown.values())) + 2
    board = [[mark and NAMES[mark - 1] + AFTER_POINT for mark in row] for row in position.to_array().tolist()]
    cols = position.game.cols
    if position.game.stones_fall:
        top = [shown.get(col, "-" + AFTER_POINT) for col in range(cols)]
        grid = [top, *([cell or "." + AFTER_POINT for cell in row] for row in board)]
    else:
        grid = [[cell or shown[row * cols + col] for col, cell in enumerate(line)] for row, line in enumerate(board)]
    lines = ["".join(cell.rjust(width) for cell in row).rstrip() for row in grid]
    return "\n".join([*lines, status(position)])


def values_picture(learner: Valued, position: Position, path: str | os.PathLike[str]) -> None:
    """The values of all moves as a heat map, the best ones framed, a PNG file.

    Raises:
        ValueError: as `move_values`.
        gymnasium.error.DependencyNotInstalled: matplotlib is missing.
    """
    values = move_values(learner, position)
    best = max(values.values())
    marks = position.to_array()
    rows, cols = marks.shape
    heat = np.full((rows, cols), np.nan)
    figure = new_figure(0.9 * cols + 1.6, 0.9 * rows + 0.9)
    axis = figure.subplots()
    for action, value in values.items():
        row, col = _landing(position, action)
        heat[row, col] = value
        if value == best:
            axis.add_patch(_frame(row, col))
    image = axis.imshow(heat, cmap="YlGn")
    for row, col in np.ndindex(rows, cols):
        if not np.isnan(heat[row, col]):
            dark = image.norm(heat[row, col]) > 0.6
            text = f"{heat[row, col]:+.3f}"
            axis.text(col, row, text, ha="center", va="center", fontsize=9, color="white" if dark else "black")
        elif marks[row, col]:
            axis.text(col, row, NAMES[marks[row, col] - 1], ha="center", va="center", fontsize=20)
    for edge in range(1, cols):
        axis.axvline(edge - 0.5, color="0.8", linewidth=1)
    for edge in range(1, rows):
        axis.axhline(edge - 0.5, color="0.8", linewidth=1)
    actions = list(range(cols)) if position.game.stones_fall else []
    axis.set_xticks(actions, [str(col + 1) for col in actions])
    axis.set_yticks([])
    axis.set_title(f"{learner}, {status(position)}")
    figure.colorbar(image, shrink=0.8)
    save_figure(figure, path)


def game_text(learner: ValueTD, moves: str) -> str:
    """One game, walked forwards, then what it teaches: every value before and after its backup, in their order.

    For `ValueTD.preset("S1")` this is figure 2 of that system. Positions are shown by their base-3 codes. The learner
    does learn from the game (see `ValueTD.learn_game`); to look without learning, show it to a loaded copy.

    Args:
        learner: whose values these are.
        moves: the game, a move string.

    Raises:
        ValueError, IllegalMove: as `ValueTD.learn_game`.

    Example:
        >>> from tictac_agents import ValueTD
        >>> print(game_text(ValueTD.preset("S1", seed=0), "14253"))
        ply  move      position
          0                   0
          1  X 1              1
          2  O 4             55
          3  X 2             58
          4  O 5            220
          5  X 3            229
        X wins with 1 2 3
        <BLANKLINE>
        values of X
            position        before         after
                 220     0.5000000     0.5500000
                  58     0.5000000     0.5050000
                  55     0.5000000     0.5005000
                   1     0.5000000     0.5000500
                   0     0.5000000     0.5000050
        <BLANKLINE>
        values of O
            position        before         after
                 220     0.5000000     0.4500000
                  58     0.5000000     0.4950000
                  55     0.5000000     0.4995000
                   1     0.5000000     0.4999500
                   0     0.5000000     0.4999950
    """
    final = Position.from_moves(learner.game, moves)
    position = Position.start(learner.game)
    lines = [f"ply  move  {'position':>12}", f"{0:3}  {'':4}  {position.code:>12}"]
    for ply, action in enumerate(final.moves, 1):
        move = f"{NAMES[position.seat]} {format_moves(learner.game, [action])}"
        position = position.play(action)
        lines.append(f"{ply:3}  {move:4}  {position.code:>12}")
    backups = learner.learn_game(moves)
    lines.append(status(final))
    for seat, name in enumerate(NAMES):
        lines += ["", f"values of {name}", f"{'position':>12}  {'before':>12}  {'after':>12}"]
        for backup in backups:
            if backup.seat == seat:
                code = _code(learner.game, seat, backup.own, backup.opp)
                lines.append(f"{code:>12}  {backup.before:>12.7f}  {backup.after:>12.7f}")
    return "\n".join(lines)


def _landing(position: Position, action: int) -> tuple[int, int]:
    """The cell that the stone of an action takes."""
    row, col = np.argwhere(position.play(action).to_array() != position.to_array())[0].tolist()
    return row, col


def _frame(row: int, col: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((col - 0.47, row - 0.47), 0.94, 0.94, fill=False, linewidth=2.5, edgecolor="tab:red")


def _code(game: Game, seat: int, own: int, opp: int) -> int:
    """The base-3 code of a position, given the stones of one seat and of the other."""
    first, second = (opp, own) if seat else (own, opp)
    mover = (second, first) if game.seat(first, second) else (first, second)
    return Position(game, *mover).code
