"""A ladder of opponents, from weak to perfect, which a model in training climbs by its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from threading import Lock

from tictac_env.arena.typed_json import read_as
from tictac_env.checks import number, positive, whole
from tictac_env.games import Game, shown
from tictac_env.policies.loading import PlayerLike
from tictac_env.storage import JsonObject

LADDER = "ladder"
"""The name of a ladder with the default arguments."""
RUNGS = (*(f"perfect:{tenths / 10}" for tenths in range(9, 0, -1)), "perfect")
"""The default rungs: perfect play with fewer and fewer random moves."""


@dataclass(frozen=True)
class LadderState:
    """The state of a `Ladder`: its rung, the scores since it came there, and the number of games counted so far."""

    rung: int
    scores: tuple[float, ...]
    games: int


class Ladder:
    """Opponents in ascending strength; the scores of the last games decide which of them the next game is against.

    Give it as `opponent` to a `TextSession`, or to many, whose results then count together. A game keeps the opponent
    with which it began. At its end its score in [0, 1] counts, if the ladder is still, or again, on its rung. As soon
    as `window` scores have come in on a rung, the mean of the last `window` decides: at `up` or more the ladder climbs,
    at `down` or less it descends, and counts from the beginning on the new rung.

    Which score a game has depends on the session's reward (`TextSession.score`). With "regret" a model without mistakes
    has 1 on every rung. With "outcome" nobody wins most games on the upper rungs, so choose a lower `up`.

    One session alone climbs in the same way for the same seeds and answers. Several at once do if their games end in
    the same order. Threads of a program may share a ladder; processes cannot.

    Args:
        rungs: the opponents, the weakest first; by default "perfect:0.9", "perfect:0.8" and so on up to "perfect".
        window: the number of games that decide.
        up: the mean score from which the ladder climbs.
        down: the mean score up to which it descends, less than `up`; None to never descend.

    Raises:
        ValueError: there is no rung, or an argument is out of its range.

    Example:
        >>> from tictac_apps.language_models import Ladder, TextSession
        >>> ladder = Ladder(["random", "perfect:0.5", "perfect"], window=2)
        >>> sessions = [TextSession("TicTacToe-v0", ladder, start=None) for _ in range(2)]
        >>> for session in sessions:
        ...     turn = session.reset(seed=0)
        ...     while not turn.done:
        ...         turn = session.answer(max(turn.values(), key=turn.values().get))
        >>> ladder.rung, str(sessions[0].opponent), str(ladder.opponent)
        (1, 'random', 'perfect:0.5')
    """

    def __init__(
        self, rungs: Sequence[PlayerLike] = RUNGS, window: int = 50, up: float = 0.8, down: float | None = 0.3
    ) -> None:
        if isinstance(rungs, str) or not len(rungs):
            raise ValueError(f"rungs must be one or more players, such as {RUNGS[:2]}, not {shown(rungs)}")
        self.rungs = tuple(rungs)
        self.window = positive("window", window)
        self.up = number("up", up, 0, 1)
        self.down = None if down is None else number("down", down, 0, 1)
        if self.down is not None and self.down >= self.up:
            raise ValueError(f"down must be less than up, {self.up}, not {self.down}")
        self._state = LadderState(0, (), 0)
        self._lock = Lock()

    @property
    def rung(self) -> int:
        """The rung of the next game, 0 for the weakest opponent."""
        return self._state.rung

    @property
    def games(self) -> int:
        """The number of games counted so far."""
        return self._state.games

    @property
    def opponent(self) -> PlayerLike:
        """The opponent of the next game."""
        return self.rungs[self.rung]

    def record(self, rung: int, score: float) -> None:
        """Counts the score of a game that began on a rung; if the ladder is on another one by now, only the game.

        Raises:
            ValueError: there is no such rung, or the score is not in [0, 1].
        """
        whole("rung", rung, len(self.rungs) - 1)
        number("score", score, 0, 1)
        with self._lock:
            state = self._state
            here = (*state.scores, score)[-self.window :] if rung == state.rung else state.scores
            to = state.rung
            if len(here) == self.window:
                mean = sum(here) / self.window
                to += (mean >= self.up) - (self.down is not None and mean <= self.down)
            to = min(max(to, 0), len(self.rungs) - 1)
            self._state = LadderState(to, here if to == state.rung else (), state.games + 1)

    def snapshot(self) -> JsonObject:
        """The state for JSON."""
        state = asdict(self._state)
        return {**state, "scores": list(state["scores"])}

    def restore(self, state: Mapping[str, object]) -> None:
        """Continues from a state of `snapshot`.

        Raises:
            ValueError: `state` is not that of a ladder with these arguments. Then nothing changes.
        """
        saved = self.check(read_as(LadderState, state))
        with self._lock:
            self._state = saved

    def check(self, state: LadderState) -> LadderState:
        """The state, if this ladder can have it.

        Raises:
            ValueError: it cannot.
        """
        whole("rung of a ladder", state.rung, len(self.rungs) - 1)
        whole("the number of scores of a ladder", len(state.scores), self.window)
        whole("games of a ladder", state.games, low=len(state.scores))
        for score in state.scores:
            number("a score of a ladder", score, 0, 1)
        return state

    def catch_up(self, state: LadderState) -> None:
        """Takes a state over if it counts more games than this ladder has; of several states the latest stays.

        Raises:
            ValueError: as `check` does. Then nothing changes.
        """
        self.check(state)
        with self._lock:
            if state.games > self._state.games:
                self._state = state


def of_process(opponent: PlayerLike | Ladder | None, game: Game, reward: str) -> PlayerLike | Ladder | None:
    """The process's one ladder for a game and a reward if the opponent is "ladder"; any other opponent as it is.

    For libraries that make an environment for each game, or name opponents in files.
    """
    return _ladder_of(game, reward) if isinstance(opponent, str) and opponent == LADDER else opponent


@cache
def _ladder_of(game: Game, reward: str) -> Ladder:
    return Ladder()
