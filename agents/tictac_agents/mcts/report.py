"""What a search found, as data and as text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tictac_env.notation import format_moves
from tictac_env.position import Position

RESULTS = {1: "win", 0: "draw", -1: "loss", None: ""}


@dataclass(frozen=True)
class MoveReport:
    """What a search found out about one legal action. Results are those of the side to move."""

    action: int
    visits: int
    """How many simulations played it."""
    value: float
    """The mean of their results, in [-1, 1]; nan if there were none."""
    proven: int | None
    """1 for a proven win, 0 for a draw, -1 for a loss; None if nothing is proven."""
    prior: float | None
    """The evaluator's probability of it, None without one."""


@dataclass(frozen=True)
class SearchReport:
    """What a search found.

    Attributes:
        position: where it began.
        action: the move it chose.
        simulations: how many simulations it ran; fewer than it was allowed if the position was proven before.
        nodes: how many nodes its trees had at the end.
        seconds: how long it took, by the clock.
        value: the mean of all results, for the side to move.
        proven: the proven result of the position, None if there is none.
        moves: a report on each legal action, in ascending order.
        principal_variation: the moves that both sides prefer, the chosen one first.

    Example:
        >>> from tictac_agents import MCTS
        >>> print(MCTS(1_000).search(Position.from_moves("TicTacToe-v0", "15"), seed=0))
        plays 4 (4 7 3 2 8 6 9); value -0.012; 1,000 simulations, 175 nodes
        move    visits   value  proven
           4       289  +0.035
           8       220  +0.014
           3       206  +0.010
           2       175  -0.006
           7        65  -0.138
           9        27  -0.333
           6        18  -0.444
    """

    position: Position
    action: int
    simulations: int
    nodes: int
    seconds: float
    value: float
    proven: int | None
    moves: tuple[MoveReport, ...]
    principal_variation: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it; the position as its base-3 code, None for the value of an unvisited move."""
        found = asdict(self) | {"position": self.position.code}
        found["moves"] = [asdict(move) | {"value": move.value if move.visits else None} for move in self.moves]
        return found

    def __str__(self) -> str:
        """A line about the whole, and below it one for each action, most visited first."""
        name = self._name
        variation = " ".join(name(action) for action in self.principal_variation)
        proven = f", proven {RESULTS[self.proven]}" if self.proven is not None else ""
        head = f"plays {name(self.action)} ({variation}); value {self.value:+.3f}{proven}"
        rows = [f"{head}; {self.simulations:,} simulations, {self.nodes:,} nodes", "move    visits   value  proven"]
        for move in sorted(self.moves, key=lambda move: -move.visits):
            value = f"{move.value:+.3f}" if move.visits else "-"
            prior = "" if move.prior is None else f"  prior {move.prior:.3f}"
            row = f"{name(move.action):>4} {move.visits:>9,} {value:>7}  {RESULTS[move.proven]}{prior}"
            rows.append(row.rstrip())
        return "\n".join(rows)

    def _name(self, action: int) -> str:
        return format_moves(self.position.game, [action])
