"""What a board saves to go on later, and the checks of what it is given back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from tictac_env.checks import flag
from tictac_env.games import UNFINISHED, Game, describe_game, shown
from tictac_env.rng import STATES

NOT_SEEDED = -1
"""The state of a board's randomness before its first reset."""
MAX_INT = 2**63 - 1


@dataclass(slots=True)
class BoardState:
    """Where the game on one board stands.

    Attributes:
        own: the stones of the side to move.
        opp: the other side's.
        learner: the seat whose observation is shown.
        over: whether no game is under way.
        random_state: the state of the board's randomness, or `NOT_SEEDED`.
        games_begun: how many games have begun since the last seeded reset.
        member: which opponent of a pool plays; 0 without a pool.
        moves: the actions that led here.
    """

    own: int
    opp: int
    learner: int = 0
    over: bool = True
    random_state: int = NOT_SEEDED
    games_begun: int = 0
    member: int = 0
    moves: list[int] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether a game has ended here, unlike on a board that none has begun on."""
        return self.over and self.random_state != NOT_SEEDED

    def to_json(self, game: Game) -> dict[str, Any]:
        """What `from_json` takes, as JSON can hold it."""
        return {"game": describe_game(game), **asdict(self)}

    @classmethod
    def from_json(cls, saved: Any, game: Game, num_members: int | None) -> Self:
        """The state that was saved.

        Args:
            saved: what `to_json` gave.
            game: the environment's rule book.
            num_members: the size of its pool; None without one: `member` then says nothing.

        Raises:
            ValueError: `saved` is not such a dict, is of another game or a larger pool, or no game can be in it.
        """
        keys = {"game", *cls.__slots__}
        if not isinstance(saved, Mapping) or set(saved) != keys:
            raise ValueError(f"a state is a dict with the keys {sorted(keys)}, not {saved!r:.200}")
        check_game(saved["game"], game)
        limits = {
            "own": (0, MAX_INT),
            "opp": (0, MAX_INT),
            "learner": (0, 1),
            "random_state": (NOT_SEEDED, STATES),
            "games_begun": (0, MAX_INT),
            "member": (0, MAX_INT if num_members is None else num_members - 1),
        }
        for name, (low, high) in limits.items():
            if type(saved[name]) is not int or not low <= saved[name] <= high:
                raise ValueError(
                    f"{name} of a state must be a whole number in [{low}, {high}], not {shown(saved[name])}"
                )
        over, moves = flag("over of a state", saved["over"]), saved["moves"]
        if not isinstance(moves, list) or not all(type(move) is int and 0 <= move < game.num_actions for move in moves):
            raise ValueError(
                f"moves of a state must be a list of numbers in [0, {game.num_actions}), not {moves!r:.200}"
            )
        own, opp = saved["own"], saved["opp"]
        reason = why_impossible(game, own, opp, not over, saved["random_state"])
        if not reason and not over and saved["learner"] != game.seat(own, opp):
            reason = "the learner is not to move"
        if reason:
            raise ValueError(f"a state cannot have the stones {own} and {opp}: {reason}")
        before = own, opp
        for move in reversed(moves):
            after, before = before, game.undo(*before, move)
            if after == before:
                raise ValueError(f"the moves {moves} of a state do not lead to its stones {own} and {opp}")
        return cls(moves=list(moves), **{name: saved[name] for name in (*limits, "over")})


def check_game(saved: Any, game: Game) -> None:
    """Checks that a state is one of `game`.

    Raises:
        ValueError: it is of another game.
    """
    if saved != describe_game(game):
        raise ValueError(f"it is a state of {saved}, not of {describe_game(game)}")


def why_impossible(game: Game, own: int, opp: int, playing: bool, random_state: int) -> str:
    """Why no board can have these stones, "" if one can.

    Args:
        game: the rule book.
        own: the stones of the side to move.
        opp: the other side's.
        playing: whether the board waits for an action.
        random_state: the state of its randomness.
    """
    reason = game.status(own, opp).explain(game, own, opp)
    if not reason and playing and (random_state == NOT_SEEDED or game.result(own, opp) != UNFINISHED):
        reason = "the game is over, or never began"
    return reason
