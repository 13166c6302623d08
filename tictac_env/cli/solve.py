"""Prints the board, the exact score of each move, the best moves and a line of best play.

A score is +n where the side to move wins with its n-th stone counted from the last one it could place, -n where it
loses so, 0 where the game is drawn. The exit status is 1 if a limit ends the search before the score is known.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from tictac_env.cli.arguments import add_game, add_json, decimal, print_json, whole_number
from tictac_env.games import describe_game, game_name
from tictac_env.position import Position, format_moves
from tictac_env.solver import NotProven, Solution, Solver
from tictac_env.solver.enumerate import plies_to_go

EXAMPLES = """examples:

  tictac solve 4453
  tictac solve 15 --game TicTacToe-v0
  tictac solve 3 --game KInARow-v0:5x6-4 --weak
  tictac solve 44 --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("moves", nargs="?", default="", help="the moves so far, as in 4453; none: the empty board")
    add_game(parser, "ConnectFour-v0")
    parser.add_argument("--weak", action="store_true", help="only who wins (1, 0, -1), which is faster")
    parser.add_argument("--seconds", type=decimal(), help="search for at most this many seconds")
    parser.add_argument(
        "--threads", type=whole_number(1, 64), default=1, help="how many threads search (default: %(default)s)"
    )
    parser.add_argument(
        "--table", type=decimal(), default=64, metavar="MB", help="memory for the search (default: %(default)s)"
    )
    parser.add_argument("--no-book", action="store_true", help="search early positions too")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Solves, and prints what was found; 1 if a limit was reached."""
    began = time.monotonic()
    position = Position.from_moves(options.game, options.moves)
    solver = Solver(position.game, options.table, options.threads, opening_book=not options.no_book)
    if not options.json:
        print(f"{game_name(position.game) or position.game}\n{position}", flush=True)
    try:
        solution = solver.solve_many([position], options.weak, time_limit=options.seconds)[0]
    except NotProven as limit:
        _print_bounds(position, limit, options)
        return 1
    nodes, seconds = solver.nodes, solver.seconds
    end = None if options.seconds is None else began + options.seconds
    line = None if options.weak else _best_line(solver, position, end)
    if options.json:
        exact: dict[str, Any] = {**solution._asdict(), "weak": options.weak, "best_play": line}
        print_json(_header(position) | exact | {"nodes": nodes, "seconds": round(seconds, 6)})
        return 0
    for text in _score_lines(position, solution):
        print(text)
    print(f"score {solution.score}: {_in_words(position, solution.score, options.weak)}")
    if line is not None:
        print(f"best play: {line or 'the game is over'}")
    print(f"{nodes:,} nodes, {seconds:.3f} s")
    return 0


def _print_bounds(position: Position, limit: NotProven, options: argparse.Namespace) -> None:
    """Prints what a search that was ended has proven."""
    bounds = limit.bounds
    if options.json:
        told = bounds._asdict() | {"seconds": round(bounds.seconds, 6), "weak": options.weak}
        print_json(_header(position) | {"score": None} | told)
    else:
        print(f"not proven: in [{bounds.lower}, {bounds.upper}] after {bounds.nodes:,} nodes")


def _header(position: Position) -> dict[str, Any]:
    return {"game": describe_game(position.game), "moves": position.to_moves()}


def _score_lines(position: Position, solution: Solution) -> list[str]:
    """A line for each legal move; none once the game is over."""
    return [
        f"{format_moves(position.game, [action]):>3} {score:>4}{'  best' if action in solution.best_actions else ''}"
        for action, score in enumerate(solution.action_scores)
        if score is not None
    ]


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
