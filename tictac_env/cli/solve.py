"""Prints the board, the exact score of each move, the best moves and a line of best play.

A score is +n where the side to move wins with its n-th stone counted from the last one it could place, -n where it
loses so, 0 where the game is drawn.
"""

from __future__ import annotations

import argparse
import time

from tictac_env.games import GAMES
from tictac_env.notation import format_moves
from tictac_env.position import Position
from tictac_env.solver import NotProven, Solver
from tictac_env.solver.enumerate import plies_to_go

EXAMPLES = """examples:

  tictac solve 4453
  tictac solve 15 --game TicTacToe-v0
  tictac solve 3 --game KInARow-v0:5x6-4 --weak
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("moves", nargs="?", default="", help="the moves so far, as in 4453; none: the empty board")
    games = f"{', '.join(GAMES)}, or another size, such as KInARow-v0:5x6-4 or KInARow-v0:4x4-3,gravity=False"
    parser.add_argument("--game", default="ConnectFour-v0", help=f"{games} (default: %(default)s)")
    parser.add_argument("--weak", action="store_true", help="only who wins (1, 0, -1), which is faster")
    parser.add_argument("--seconds", type=float, help="search for at most this many seconds")
    parser.add_argument("--threads", type=int, default=1, help="how many threads search (default: %(default)s)")
    parser.add_argument("--table", type=float, default=64, metavar="MB", help="memory for the search (default: 64)")
    parser.add_argument("--no-book", action="store_true", help="search early positions too")


def run(options: argparse.Namespace) -> int:
    """Solves, and prints what was found; 1 if a limit was reached."""
    began = time.monotonic()
    position = Position.from_moves(options.game, options.moves)
    solver = Solver(position.game, options.table, options.threads, opening_book=not options.no_book)
    print(position)
    try:
        solution = solver.solve(position, options.weak, time_limit=options.seconds)
        nodes, seconds = solver.nodes, solver.seconds
        if solution.best_actions:
            for action, score in enumerate(solution.action_scores):
                if score is not None:
                    best = "  best" if action in solution.best_actions else ""
                    print(f"{format_moves(position.game, [action]):>3} {score:>4}{best}")
        print(f"score {solution.score}: {_in_words(position, solution.score, options.weak)}")
        if not options.weak:
            line = _best_line(solver, position, None if options.seconds is None else began + options.seconds)
            print(f"best play: {line or 'the game is over'}")
        print(f"{nodes:,} nodes, {seconds:.3f} s")
    except NotProven as limit:
        print(f"not proven: in [{limit.bounds.lower}, {limit.bounds.upper}] after {limit.bounds.nodes:,} nodes")
        return 1
    return 0


def _in_words(position: Position, score: int, weak: bool) -> str:
    """What a score means, as in "the second player wins on ply 41"."""
    if score == 0:
        return "a draw"
    winner = ("first", "second")[position.seat if score > 0 else 1 - position.seat]
    if weak or position.is_over:
        return f"the {winner} player {'has won' if position.is_over else 'wins'}"
    ply = position.ply + plies_to_go(position.game, position.ply, score)
    return f"the {winner} player wins on ply {ply}"


def _best_line(solver: Solver, position: Position, end: float | None) -> str:
    """The moves of one line of best play, each side taking the lowest of its best moves; "..." where time is over."""
    played: list[int] = []
    while not position.is_over:
        try:
            left = None if end is None else max(0.0, end - time.monotonic())
            action = solver.best_actions(position, time_limit=left)[0]
        except NotProven:
            return f"{format_moves(position.game, played)}..."
        played.append(action)
        position = position.play(action)
    return format_moves(position.game, played)
