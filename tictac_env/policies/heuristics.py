"""Opponents that need no search: random play and a rule of thumb.

Their choices are pure functions of a position's bits, written like the rules: sets of actions considered equally good,
as unions of `Game.choice` bits. The single environment calls them without building a `Position`, and compiled code
calls them inside its loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tictac_env.arrays import Floats
from tictac_env.games import LOST, UNFINISHED, Game
from tictac_env.policies.policy import Policy, illegal_choice
from tictac_env.position import Position


def random_choices(game: Game, own: int, opp: int) -> int:
    """All legal actions."""
    return game.legal(own, opp)


def winning_choice(game: Game, own: int, opp: int, seat: int) -> int:
    """The lowest action that wins at once for the owner of `own`, player `seat`, who need not be to move; 0 if none.

    For a game without `knows_wins`, only wins of the player to move are found.
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
    """All actions after which the other side cannot win at once; all legal actions, if there are none."""
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
    """The lowest win if there is one, otherwise the lowest block of an opponent's win, otherwise the most central.

    Distance is measured from the cell (or, with gravity, the column) of an action.
    """
    # A win; else a block, which is where the other side would win if it were to move.
    seat = game.seat(own, opp)
    choice = winning_choice(game, own, opp, seat)
    if choice:
        return choice
    choice = winning_choice(game, opp, own, 1 - seat)
    if choice:
        return choice
    # Else all actions at the least distance: its square, in half cells, is an integer on boards of even size too.
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


class ReflexPolicy(Policy):
    """A policy that draws from a set of actions: plain arithmetic, which compiled code can run too.

    Args:
        choices: returns the actions considered equally good in a position `(game, own, opp)`, as `Game.choice` bits.

    Example:
        >>> from tictac_env import Position
        >>> from tictac_env.policies import ReflexPolicy
        >>> def legal_cells(game, own, opp):
        ...     return game.legal(own, opp)
        >>> ReflexPolicy(legal_cells).act(Position.start("TicTacToe-v0"), seed=4)
        4
    """

    def __init__(self, choices: Callable[[Game, int, int], int]) -> None:
        self.choices = choices
        if type(self).act is ReflexPolicy.act:  # otherwise a subclass plays differently
            self.reflex = choices

    def act(self, position: Position, seed: int) -> int:
        actions = self._actions(position)
        return actions[seed % len(actions)]

    def probabilities(self, position: Position) -> Floats:
        """float64 (num_actions,): the same for each action of the set."""
        return uniform(position.game, self._actions(position))

    def _actions(self, position: Position) -> list[int]:
        game = position.game
        chosen = self.choices(game, position.own, position.opp)
        actions = [action for action in range(game.num_actions) if chosen & game.choice(action)]
        if not actions:
            raise illegal_choice(self, position, None)
        return actions


class RandomPolicy(ReflexPolicy):
    """Every legal action with the same probability: the k-th in ascending order, k = seed mod n.

    Example:
        >>> from tictac_env import Position
        >>> from tictac_env.policies import RandomPolicy
        >>> RandomPolicy().act(Position.from_moves("TicTacToe-v0", "12"), seed=9)  # 9 mod 7 = 2: the third of seven
        4
    """

    name = "random"
    about = "Plays any legal action, each as often."
    budget = "no search"

    def __init__(self) -> None:
        super().__init__(random_choices)


class RulePolicy(ReflexPolicy):
    """Wins if it can, otherwise blocks a win of the opponent, otherwise plays as near to the centre as possible.

    Of several wins or threats it takes the lowest; among equally near actions the seed decides.

    Example:
        >>> from tictac_env import Position
        >>> from tictac_env.policies import RulePolicy
        >>> RulePolicy().act(Position.from_moves("TicTacToe-v0", "1524"), seed=0)  # blocks 4 5 6
        2
    """

    name = "rule"
    about = "Wins if it can, else blocks, else moves near the centre."
    budget = "no search; one-move rule"

    def __init__(self) -> None:
        super().__init__(rule_choices)


def uniform(game: Game, actions: Sequence[int]) -> Floats:
    """The uniform distribution over `actions`: float64 (num_actions,).

    Example:
        >>> from tictac_env.games import get_game
        >>> from tictac_env.policies import uniform
        >>> uniform(get_game("ConnectFour-v0"), [2, 3, 4, 5]).tolist()
        [0.0, 0.0, 0.25, 0.25, 0.25, 0.25, 0.0]
    """
    probabilities = np.zeros(game.num_actions)
    probabilities[list(actions)] = 1 / len(actions)
    return probabilities
