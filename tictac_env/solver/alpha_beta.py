"""Alpha-beta search to a fixed depth: what a player who looks that far ahead knows."""

from __future__ import annotations

import functools

from tictac_env.games import UNFINISHED, Game
from tictac_env.solver.enumerate import loss_score


def search(game: Game, own: int, opp: int, depth: int, alpha: int, beta: int) -> int:
    """The score of a position as far as `depth` plies tell: exact if the game is decided by then, else 0.

    Scores outside (alpha, beta) are bounds: at most alpha, an upper bound; at least beta, a lower one (fail-soft
    negamax; Knuth and Moore, "An analysis of alpha-beta pruning", 1975).
    """
    result = game.result(own, opp)
    if result != UNFINISHED:
        return -result * loss_score(game, (own | opp).bit_count())
    if depth == 0:
        return 0
    best = -game.cells
    for action in middle_out(game):
        after = game.play(own, opp, action)
        if after != (own, opp):
            best = max(best, -search(game, *after, depth - 1, -beta, -max(alpha, best)))
            if best >= beta:
                break
    return best


def action_scores(game: Game, own: int, opp: int, depth: int) -> list[int | None]:
    """The score of each action in an unfinished position after a search of `depth` plies, None where it is illegal."""
    scores: list[int | None] = []
    for action in range(game.num_actions):
        after = game.play(own, opp, action)
        legal = after != (own, opp)
        scores.append(-search(game, *after, depth - 1, -game.cells, game.cells) if legal else None)
    return scores


@functools.lru_cache(maxsize=64)
def middle_out(game: Game) -> tuple[int, ...]:
    """The actions, those in the middle of the board first, which tend to be better and so prune more."""
    middle = (game.num_actions - 1) / 2
    return tuple(sorted(range(game.num_actions), key=lambda action: abs(action - middle)))
