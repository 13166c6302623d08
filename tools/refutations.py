"""Where a player throws away what a game is worth: replies are followed ply by ply.

    python tools/refutations.py ntuple:4 --most 1500
    python tools/refutations.py ntuple --best

After each of the player's moves the solver says whether the win, or the draw, is still there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.report import Row, positive, show
from tictac_env.games import KInARow, get_game
from tictac_env.policies import Policy, load_player
from tictac_env.position import Position, format_moves
from tictac_env.position_batch import PositionBatch
from tictac_env.solver import Solver

MOST = 1_500


class Game(NamedTuple):
    """A position in which a side is to move, and how it came about."""

    moves: tuple[int, ...]
    position: Position


def refutations(
    player: Policy, game: KInARow, seat: int = 0, most: int | None = MOST, seed: int = 0, best: bool = False
) -> tuple[list[str], list[Row]]:
    """Games after which a player plays a move with which it no longer gets what the game is worth.

    Args:
        player: it must play the same in the same position.
        game: one that the player does not lose by force.
        seat: 0 if the player moves first, 1 if second.
        most: how many positions of a ply are looked at; where there are more, so many are drawn. None looks at all.
        seed: of the draws.
        best: whether only those replies are followed that perfect play may give; else all.

    Returns:
        The move strings; and a row for each ply: how many positions were looked at, and in how many the player erred.

    Raises:
        ValueError: the player loses by force, so that there is nothing to throw away.
    """
    rng, solver = np.random.default_rng(seed), Solver(game)
    start = Position.start(game)
    worth = value(start, solver) * (1 - 2 * seat)
    if worth < 0:
        raise ValueError(f"perfect play wins {game!r} against seat {seat}, which has nothing to throw away")
    layer = [Game((), start)] if seat == 0 else list(replies(Game((), start), solver, best))
    found, rows = [], []
    while layer:
        wrong = 0
        actions = player.act_many(PositionBatch.of([one.position for one in layer]), np.zeros(len(layer), np.int64))
        following: dict[tuple[int, int], Game] = {}
        for (moves, position), action in zip(layer, actions.tolist(), strict=True):
            after = position.play(action)
            if after.is_over:
                continue
            if -value(after, solver) < worth:
                wrong += 1
                found.append(format_moves(game, moves))
                continue
            for then in replies(Game((*moves, action), after), solver, best):
                following[then.position.own, then.position.opp] = then
        rows.append({"ply": len(layer[0].moves), "positions": len(layer), "win or draw lost": wrong})
        layer = drawn(list(following.values()), most, rng)
    return found, rows


def replies(game: Game, solver: Solver, best: bool) -> Iterator[Game]:
    """What all actions, or the best, lead to, as far as it is not the end."""
    position = game.position
    for action in solver.best_actions(position) if best else position.legal_actions:
        then = position.play(action)
        if not then.is_over:
            yield Game((*game.moves, action), then)


def drawn(games: Sequence[Game], most: int | None, rng: np.random.Generator) -> list[Game]:
    """So many of some games at most."""
    if most is None or len(games) <= most:
        return list(games)
    return [games[index] for index in sorted(rng.choice(len(games), most, replace=False).tolist())]


def value(position: Position, solver: Solver) -> int:
    """1 if the side to move wins by perfect play, 0 for a draw, -1 if it loses."""
    score = position.result if position.is_over else solver.score(position, weak=True)
    return (score > 0) - (score < 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("player", help="a policy's name or an agent's file")
    parser.add_argument("--most", type=positive, default=MOST, help="positions of a ply (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the draws (default: %(default)s)")
    parser.add_argument("--best", action="store_true", help="follow only the replies of perfect play")
    options = parser.parse_args()
    game = get_game("ConnectFour-v0")
    player = load_player(options.player, game).policy
    found, rows = refutations(player, game, most=options.most, seed=options.seed, best=options.best)
    show("Wins thrown away as first player", rows)
    for moves in found:
        print(moves)


if __name__ == "__main__":
    main()
