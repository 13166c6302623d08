"""The opponents that need no search, written like the rules: pure functions of a position's bits and a seed.

The single environment calls them without building a `Position`, and compiled code plays them inside its loops.
"""

from __future__ import annotations

from tictac_env.games.contract import LOST, Game


def random_action(game: Game, own: int, opp: int, seed: int) -> int:
    """The k-th legal action in ascending order, k = seed mod n for n legal ones."""
    legal = game.legal(own, opp)
    return game.nth(legal, seed % legal.bit_count())


def winning_action(game: Game, own: int, opp: int) -> int:
    """The lowest action that wins at once for the owner of `own`, -1 if none does."""
    legal = game.legal(own, opp)
    for action in range(game.num_actions):
        if legal & game.choice(action):
            next_own, next_opp = game.play(own, opp, action)
            if game.result(next_own, next_opp) == LOST:
                return action
    return -1


def rule_action(game: Game, own: int, opp: int, seed: int) -> int:
    """Win at once if that is possible, else take the action that would win for the opponent, else stay near the centre.

    Of several wins or threats the lowest action is taken; of several actions equally near to the centre the k-th,
    k = seed mod n. How near an action is, is measured from the cell (or, with gravity, the column) it names.
    """
    action = winning_action(game, own, opp)
    if action >= 0:
        return action
    action = winning_action(game, opp, own)
    if action >= 0:
        return action
    legal = game.legal(own, opp)
    nearest = 0
    least = -1
    for action in range(game.num_actions):
        choice = legal & game.choice(action)
        if choice:
            down = 2 * (action // game.cols) - (game.num_actions // game.cols - 1)
            across = 2 * (action % game.cols) - (game.cols - 1)
            distance = down * down + across * across
            if least < 0 or distance < least:
                least = distance
                nearest = choice
            elif distance == least:
                nearest |= choice
    return game.nth(nearest, seed % nearest.bit_count())
