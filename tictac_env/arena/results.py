"""The truth about a policy, on any game: by every reply to it, or by its results against opponents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from tictac_env.arena.verdicts import BASES, Verdict, basis_of, tabulated_verdict
from tictac_env.arena.walk import GAMES, MAX_POSITIONS, SeatResult, seat_result
from tictac_env.checks import number, positive, whole
from tictac_env.games import Game, game_name
from tictac_env.policies import as_policy, game_for
from tictac_env.progress import progress_bar
from tictac_env.solver.enumerate import TooManyPositions

SEED_LIMIT = 2**63 - 1


@dataclass(frozen=True)
class OpponentResult:
    """How a policy's games against one opponent end.

    Attributes:
        opponent: the opponent's name.
        basis: "probabilities" if the opponent gave its own, "fixed map" if its seed was derived from the position.
        as_first: the policy in the first player's seat.
        as_second: the policy in the second's.

    Example:
        >>> from tictac_env.arena import exact_results
        >>> found = exact_results("minimax", "rule", "TicTacToe-v0")
        >>> found.opponent, found.as_first.shares.losses
        ('rule', 0.0)
    """

    opponent: str
    basis: str
    as_first: SeatResult
    as_second: SeatResult

    def __str__(self) -> str:
        seats = (("first", self.as_first), ("second", self.as_second))
        return "\n".join(f"  v {self.opponent} as {name}: {result}" for name, result in seats)


@dataclass(frozen=True)
class GameResults:
    """How a policy's games against some opponents end.

    Attributes:
        policy: its name.
        game: the game's name, or what makes it.
        basis: "probabilities" if the policy gave its own, "fixed map" if its seed was derived from the position.
        seed: what the seeds were derived from.
        against: the results, one for each opponent.

    Example:
        >>> from tictac_env import verdict
        >>> found = verdict("minimax", "TicTacToe-v0", opponents=["random"])
        >>> round(found["random"].as_first.shares.losses, 3)
        0.0
    """

    policy: str
    game: str
    basis: str
    seed: int
    against: tuple[OpponentResult, ...]

    @property
    def exact(self) -> bool:
        """Whether all results are exact, none sampled."""
        return all(found.as_first.exact and found.as_second.exact for found in self.against)

    def __getitem__(self, opponent: str) -> OpponentResult:
        """The result against the opponent of that name.

        Raises:
            KeyError: there is none.
        """
        for found in self.against:
            if found.opponent == opponent:
                return found
        raise KeyError(f"no opponent was called {opponent!r}; there were {[found.opponent for found in self.against]}")

    def __str__(self) -> str:
        head = f"{self.policy} ({self.basis}) on {self.game}:"
        return "\n".join([head, *map(str, self.against), f"  {BASES[self.basis]}"])

    def _repr_html_(self) -> str:
        from tictac_env.arena.verdict_html import results_html

        return results_html(self)


@overload
def verdict(policy: Any, game: Literal["TicTacToe-v0"], seed: int = ...) -> Verdict: ...


@overload
def verdict(
    policy: Any,
    game: Literal["ConnectFour-v0"],
    seed: int = ...,
    *,
    opponents: Sequence[Any] | None = ...,
    max_positions: int = ...,
    games: int = ...,
    progress: bool = ...,
) -> GameResults: ...


@overload
def verdict(
    policy: Any,
    game: str | Game | None = ...,
    seed: int = ...,
    *,
    opponents: Sequence[Any],
    max_positions: int = ...,
    games: int = ...,
    progress: bool = ...,
) -> GameResults: ...


@overload
def verdict(
    policy: Any,
    game: str | Game | None = ...,
    seed: int = ...,
    *,
    opponents: None = ...,
    max_positions: int = ...,
    games: int = ...,
    progress: bool = ...,
) -> Verdict | Any: ...  # Any, as the game's size says which, and a caller who knows it need not ask


def verdict(
    policy: Any,
    game: str | Game | None = None,
    seed: int = 0,
    *,
    opponents: Sequence[Any] | None = None,
    max_positions: int = MAX_POSITIONS,
    games: int = GAMES,
    progress: bool = True,
) -> Verdict | GameResults:
    """The exact truth about a policy.

    On a game of up to a million positions it is a `Verdict`: every reply to the policy is walked, from both seats. On
    a larger one, or wherever opponents are named, it is a `GameResults`: how the policy's games against each opponent
    end, exactly, from both seats.

    Args:
        policy: whatever `as_policy` accepts. If it has `probabilities`, they are used; otherwise each position's seed
            is derived from the position and `seed`, so that the policy is a fixed map.
        game: a game's name or rule book; None for the agent's own (`own_game`), else tic-tac-toe.
        seed: see above; in [0, 2**63).
        opponents: whatever `as_policy` accepts, each judged as `policy` is; none for a `Verdict` where the game is
            small enough, else for the results against "perfect". Where the solver has no opening book, on boards larger
            than Connect Four's, "perfect" may take hours.
        max_positions: how many positions are followed for one seat against one opponent. Where there are more, the
            result is sampled, and says so.
        games: how many games are drawn then.
        progress: whether to show a progress bar for each result.

    Raises:
        ValueError: an argument is out of its range, or a policy or game is not known.
        IllegalMove: the policy's choice is illegal in a position that it can meet; the message names it.

    Example:
        >>> found = verdict("rule", "ConnectFour-v0")["perfect"].as_first
        >>> round(found.shares.losses, 9), found.exact
        (1.0, True)
    """
    rules = game_for(game, policy)
    player = as_policy(policy, rules)
    if opponents is None:
        try:
            return tabulated_verdict(player, rules, seed)
        except TooManyPositions:
            opponents = ("perfect",)
    results = tuple(
        exact_results(player, opponent, rules, seed, max_positions, games, progress) for opponent in opponents
    )
    return GameResults(str(player), game_name(rules) or repr(rules), basis_of(player, rules), seed, results)


def exact_results(
    policy: Any,
    opponent: Any = "perfect",
    game: str | Game | None = None,
    seed: int = 0,
    max_positions: int = MAX_POSITIONS,
    games: int = GAMES,
    progress: bool = True,
    min_chance: float = 0.0,
) -> OpponentResult:
    """How the games of `policy` against `opponent` end, from both seats; arguments and errors are those of `verdict`.
    A game that neither names nor is asked for is Connect Four.

    All games that the two can play are followed together, each position once (see `tictac_env.arena.walk`).
    Where there are too many, `min_chance` is a way to know more than a sample tells: positions that are reached with
    less chance than this, in [0, 1], are left to the sample; the others are followed, up to `max_positions`.

    Example:
        >>> from tictac_env.arena import exact_results
        >>> [round(share, 3) for share in exact_results("random", "random", "TicTacToe-v0").as_first.shares]
        [0.585, 0.127, 0.288]
    """
    rules = game_for(game, policy, opponent, default="ConnectFour-v0")
    sides = as_policy(policy, rules), as_policy(opponent, rules)
    numbers = whole("seed", seed, SEED_LIMIT), positive("max_positions", max_positions), positive("games", games)
    number("min_chance", min_chance, 0, 1)
    found = []
    for seat in (0, 1):
        title = " v ".join(map(str, sides if seat == 0 else sides[::-1]))
        with progress_bar(rules.cells, title, progress) as update:
            found.append(seat_result(*sides, rules, seat, *numbers, update, min_chance))
    return OpponentResult(str(sides[1]), basis_of(sides[1], rules), *found)
