"""The command `tictac`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tictac_env.checks import one_of
from tictac_env.compiled.cache import VARIABLE
from tictac_env.games import GAMES
from tictac_env.games.registry import known_names
from tictac_env.notation import format_moves
from tictac_env.position import Position
from tictac_env.solver.enumerate import plies_to_go

if TYPE_CHECKING:
    from tictac_env.solver import Solver


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status: 0, 1 if a limit was reached, 2 for bad arguments, 130 after Ctrl-C."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        status: int = options.run(options)
    except ValueError as error:
        print(f"tictac: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tictac: stopped", file=sys.stderr)
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tictac", description="Tic-tac-toe and Connect Four, exactly.")
    commands = parser.add_subparsers(required=True, metavar="command")
    solve = commands.add_parser(
        "solve",
        help="the exact score of a position and of each move",
        description="Prints the board, the exact score of each move (+n: the side to move wins with its n-th stone "
        "counted from the last one it could place; -n: it loses; 0: a draw), the best moves and a line of best play.",
    )
    solve.add_argument("moves", nargs="?", default="", help="the moves so far, as in 4453; none: the empty board")
    games = f"{', '.join(GAMES)}, or another size, such as KInARow-v0:5x6-4 or KInARow-v0:4x4-3,gravity=False"
    solve.add_argument("--game", default="ConnectFour-v0", help=f"{games} (default: %(default)s)")
    solve.add_argument("--weak", action="store_true", help="only who wins (1, 0, -1), which is faster")
    solve.add_argument("--seconds", type=float, help="search for at most this many seconds")
    solve.add_argument("--threads", type=int, default=1, help="how many threads search (default: %(default)s)")
    solve.add_argument("--table", type=float, default=64, metavar="MB", help="memory for the search (default: 64)")
    solve.add_argument("--no-book", action="store_true", help="search early positions too")
    solve.set_defaults(run=_solve)
    compile_ = commands.add_parser(
        "compile",
        help="compile beforehand what first uses would wait for",
        description="Makes a short first use of everything that is compiled, so that no later one waits for the "
        "compiler: for an image of a class-room, say. The machine code is kept in your cache folder, or in the folder "
        f"that the variable {VARIABLE} names; it serves this version of the package, on processors like this one.",
    )
    compile_.add_argument(
        "games", nargs="*", metavar="GAME", help=f"any of {', '.join(known_names())}, with sizes if wanted; none: all"
    )
    compile_.add_argument("--only", nargs="+", metavar="USE", help="any of vector, minimax, solver, mcts, tables")
    compile_.set_defaults(run=_compile)
    return parser


def _compile(options: argparse.Namespace) -> int:
    from tictac_env.compiled import CACHE_FOLDER
    from tictac_env.compiled.cache import KEPT, WARNING
    from tictac_env.first_uses import first_uses, make_first_uses

    if not KEPT:
        raise ValueError(WARNING)
    began = time.monotonic()
    games, uses = options.games or known_names(), list(first_uses())
    names = [one_of("--only", name, uses) for name in options.only or uses]
    make_first_uses(games, names)
    print(f"{', '.join(names)} of {', '.join(games)}: compiled in {time.monotonic() - began:.0f} s, in {CACHE_FOLDER}")
    return 0


def _solve(options: argparse.Namespace) -> int:
    from tictac_env.solver import NotProven, Solver

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
    from tictac_env.solver import NotProven

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


if __name__ == "__main__":
    sys.exit(main())
