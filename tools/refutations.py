"""Where a player throws its win away: replies are followed ply by ply, some of them where they are too many.

    python tools/refutations.py ntuple:4 --most 1500
    python tools/refutations.py ntuple --best

After each of the player's moves the solver says whether the win is still there.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.report import Row, positive, show
from tictac_env.games import KInARow, get_game
from tictac_env.notation import format_moves
from tictac_env.policies import Policy, load_player
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.solver import Solver

MOST = 1_500


class Game(NamedTuple):
    """A position in which the player is to move, and how it came about."""

    moves: tuple[int, ...]
    position: Position


def refutations(
    player: Policy, game: KInARow, most: int = MOST, seed: int = 0, best: bool = False
) -> tuple[list[str], list[Row]]:
    """Games after which a player that moves first, and has a win, plays a move that does not keep it.

    Args:
        player: it must play the same in the same position.
        game: one that the first player wins.
        most: how many positions of a ply are looked at; where there are more, so many are drawn.
        seed: of the draws.
        best: whether only those replies are followed that delay the loss longest, as perfect play does; else all.

    Returns:
        The move strings; and a row for each ply: how many positions were looked at, and in how many the win was lost.
    """
    rng, solver = np.random.default_rng(seed), Solver(game)
    layer, found, rows = [Game((), Position.start(game))], [], []
    while layer:
        wrong = 0
        actions = player.act_many(PositionBatch.of([one.position for one in layer]), np.zeros(len(layer), np.int64))
        replies: dict[tuple[int, int], Game] = {}
        for (moves, position), action in zip(layer, actions.tolist(), strict=True):
            after = position.play(action)
            if after.is_over:
                continue
            if solver.score(after, weak=True) >= 0:
                wrong += 1
                found.append(format_moves(game, moves))
                continue
            for reply in solver.best_actions(after) if best else after.legal_actions:
                then = after.play(reply)
                if not then.is_over:
                    replies[then.own, then.opp] = Game((*moves, action, reply), then)
        rows.append({"ply": len(layer[0].moves), "positions": len(layer), "win lost": wrong})
        layer = drawn(list(replies.values()), most, rng)
    return found, rows


def drawn(games: Sequence[Game], most: int, rng: np.random.Generator) -> list[Game]:
    """So many of some games at most."""
    if len(games) <= most:
        return list(games)
    return [games[index] for index in sorted(rng.choice(len(games), most, replace=False).tolist())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("player", help="a policy's name or an agent's file")
    parser.add_argument("--most", type=positive, default=MOST, help="positions of a ply (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the draws (default: %(default)s)")
    parser.add_argument("--best", action="store_true", help="follow only the replies of perfect play")
    options = parser.parse_args()
    game = get_game("ConnectFour-v0")
    found, rows = refutations(load_player(options.player, game).policy, game, options.most, options.seed, options.best)
    show("Wins thrown away as first player", rows)
    for moves in found:
        print(moves)


if __name__ == "__main__":
    main()
