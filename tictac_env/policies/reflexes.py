"""The opponents that need no search, written like the rules: pure functions of a position's bits.

Each gives the set of actions it holds equally good, as the union of their `Game.choice` bits; `pick` draws one of them.
The single environment calls these without building a `Position`, and compiled code plays them inside its loops.
"""

from __future__ import annotations

from tictac_env.games.contract import LOST, UNFINISHED, Game


def pick(game: Game, choices: int, seed: int) -> int:
    """The k-th action of a set in ascending order, k = seed mod n for n actions."""
    return game.nth(choices, seed % choices.bit_count())


def random_choices(game: Game, own: int, opp: int) -> int:
    """All legal actions."""
    return game.legal(own, opp)


def winning_choice(game: Game, own: int, opp: int, seat: int) -> int:
    """The lowest action that wins at once for the owner of `own`, player `seat`, who need not be to move; 0 if none.

    Of a game that does not know its wins: of the player to move only.
    """
    legal = game.legal(own, opp)
    for action in range(game.num_actions):
        choice = legal & game.choice(action)
        if choice:
            after = game.play(own, opp, action)
            if game.knows_wins:
                won = game.has_won(after[1], seat)
            else:
                won = seat == game.seat(own, opp) and game.result(after[0], after[1]) == LOST
            if won:
                return choice
    return 0


def safe_choices(game: Game, own: int, opp: int) -> int:
    """All actions after which the other side cannot win at once; all legal ones, if there are none."""
    legal = game.legal(own, opp)
    safe = 0
    for action in range(game.num_actions):
        choice = legal & game.choice(action)
        if choice:
            after_own, after_opp = game.play(own, opp, action)
            over = game.result(after_own, after_opp) != UNFINISHED
            if over or not winning_choice(game, after_own, after_opp, game.seat(after_own, after_opp)):
                safe |= choice
    return safe or legal


def rule_choices(game: Game, own: int, opp: int) -> int:
    """The lowest win if there is one, else the lowest block of a win of the opponent's, else all nearest the centre.

    How near an action is, is measured from the cell (or, with gravity, the column) it names.
    """
    seat = game.seat(own, opp)
    choice = winning_choice(game, own, opp, seat)
    if choice:
        return choice
    choice = winning_choice(game, opp, own, 1 - seat)
    if choice:
        return choice
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
    return nearest
