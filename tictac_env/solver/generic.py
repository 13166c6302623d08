"""A plain alpha-beta search for any game that keeps the contract of `tictac_env.games`, right and slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tictac_env.games import UNFINISHED, Game
from tictac_env.solver.engine import AT_LEAST, AT_MOST, Batch
from tictac_env.solver.enumerate import loss_score

if TYPE_CHECKING:
    from tictac_env.solver.engine import Budget, Update


class OutOfBudget(Exception):
    """Ends a search from within."""


class GenericEngine:
    """Depth-first search with a dictionary of bounds; it asks nothing of a game but its rules.

    Args:
        game: the rule book.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.nodes = 0
        self._known: dict[tuple[int, int], tuple[int, int]] = {}
        middle = (game.num_actions - 1) / 2
        self._actions = sorted(range(game.num_actions), key=lambda action: abs(action - middle))

    def clear(self) -> None:
        """Forgets all bounds."""
        self._known.clear()

    def run(self, batch: Batch, budget: Budget, update: Update | None) -> None:
        """Narrows the bounds of the positions of a batch until they are settled or the budget ends."""
        self.nodes = 0
        self._budget = budget
        for index, (mine, theirs, low, high, least, most, guess) in enumerate(batch.tolist()):
            if update:
                update(index)
            low, high = max(low, least), min(high, most)
            while low < high:
                alpha = guess
                if not low <= alpha < high:
                    alpha = 0 if low <= 0 < high else -1 if high == 0 else low if low > 0 else high - 1
                try:
                    value = self._search(mine, theirs, alpha)
                except OutOfBudget:
                    return
                if value > alpha:
                    batch[index, AT_LEAST] = value
                    low = min(high, value)
                else:
                    batch[index, AT_MOST] = value
                    high = max(low, value)

    def _search(self, own: int, opp: int, alpha: int) -> int:
        """A lower bound of the score if it is above alpha, else an upper bound."""
        game = self.game
        result = game.result(own, opp)
        if result != UNFINISHED:
            return -result * loss_score(game, (own | opp).bit_count())
        limit = (game.cells + 1) // 2
        low, high = self._known.get((own, opp), (-limit, limit))
        if low > alpha:
            return low
        if high <= alpha:
            return high
        if self.nodes >= self._budget.nodes or (self.nodes & 255 == 0 and self._budget.is_late):
            raise OutOfBudget
        self.nodes += 1
        ply, seat = (own | opp).bit_count(), game.seat(own, opp)
        if game.knows_wins and game.winning_choices(own, opp, seat):
            return -loss_score(game, ply + 1)
        # Where the other side threatens to win at once, no move is better than one that prevents it.
        blocks = game.winning_choices(opp, own, 1 - seat) if game.knows_wins else 0
        sensible = blocks or game.legal(own, opp)
        best = -limit
        for action in self._actions:
            if sensible & game.choice(action):
                after = game.play(own, opp, action)
                best = max(best, -self._search(*after, -alpha - 1))
                if best > alpha:
                    break
        self._known[own, opp] = (max(low, best), high) if best > alpha else (low, min(high, best))
        return best
