"""TRL: an environment with a tool that plays, for `GRPOTrainer(environment_factory=...)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any

from tictac_apps.language_models.harness import BoardHarness
from tictac_apps.language_models.ladder import Ladder, of_process
from tictac_apps.language_models.question import Question
from tictac_apps.language_models.session import OPPONENT, TextSession, frozen_copy
from tictac_env.games import Game, get_game
from tictac_env.policies.loading import PlayerLike

__all__ = ["BoardGameTools", "log_games"]

INSTRUCTION = "Call the tool `play` with the number of your move."


class BoardGameTools:
    """A game that a model plays by calling the tool `play`; an environment for TRL's `environment_factory`.

    TRL makes it without arguments, so pass the class, or `functools.partial(BoardGameTools, "ConnectFour-v0")`. Each
    row of the data set should have a `seed`: the generations of one row then begin in the same position, against the
    same opponent, and can be compared. A column `position` has a move string to begin with. Other columns are ignored.

    A game that the model does not finish is lost: see `TextSession.forfeit`. The rules are said once.

    With `opponent=None` the model plays itself. A trajectory of TRL is one conversation with one reward, and its loop
    gives the result of a call before it lets another conversation generate. So both seats share a conversation, in
    which each question says whose turn it is, and the reward is the mean of the two seats' scores, or their sum without
    `scaled`. `session.returns` and `session.regrets` have those of each. The reward must be "regret": what one seat
    wins the other one loses.

    Args:
        game: a game's name or rule book.
        opponent: as of `TextSession`. A `Ladder` is shared by all environments that get it, and "ladder" stands for one
            of the process. None to play both seats.
        reward: as of `TextSession`.
        scaled: True if `get_reward` is `TextSession.score`, in [0, 1]; False for the sum of the answers' rewards.
        **options: further arguments of `TextSession`: seat, start, retries, history. The harness, if one is given,
            should ask for a call of `play`.

    Attributes:
        session: the `TextSession` of the game.

    Raises:
        ValueError: an argument is out of its range, or `opponent` is None and the reward is not "regret".

    Example:
        >>> env = BoardGameTools(opponent="minimax-first", seat="first", start=None)
        >>> env.reset(seed=0).splitlines()[-1]
        'Call the tool `play` with the number of your move.'
        >>> for move in (5, 3, 4, 8, 9):
        ...     text = env.play(move)
        >>> text.splitlines()[-1], env.get_reward()
        ('draw', 1.0)
    """

    def __init__(
        self,
        game: str | Game = "TicTacToe-v0",
        opponent: PlayerLike | Ladder | None = OPPONENT,
        reward: str = "regret",
        scaled: bool = True,
        **options: Any,
    ) -> None:
        harness = BoardHarness(instruction=INSTRUCTION)
        settings: dict[str, Any] = {
            "harness": harness,
            "rules_once": True,
            "reward": reward,
            "scaled": scaled,
        } | options
        if isinstance(opponent, str):  # a frozen copy has no tool to call
            opponent = frozen_copy(opponent, Question(BoardHarness(), retries=2))
        self.session = TextSession(game, of_process(opponent, get_game(game), reward), **settings)
        if opponent is None and reward != "regret":
            raise ValueError(f"reward must be 'regret' if opponent is None, not {reward!r}: one reward pays both seats")

    def reset(self, seed: int | None = None, position: str | None = None, **row: object) -> str:
        """Begins a game; TRL appends the prompt to the row's last message.

        Raises:
            ValueError: no game can begin there.
        """
        return self.session.reset(seed, position).prompt

    def play(self, move: int) -> str:
        """Plays a move. The opponent replies, and you see the board after it.

        Args:
            move: The number of the move.

        Returns:
            The board after the opponent's reply, and the next question, or the result of the game.
        """
        if self.session.turn.done:
            raise ValueError("the game is over: no more moves can be played")
        return self.session.answer(f"Move: {move}").prompt

    def get_reward(self) -> float:
        """The reward of the game; it ends here, as a loss if it is not over."""
        if not self.session.turn.done:
            self.session.forfeit()
        total = sum(self.session.returns)  # that of an opponent is 0
        return total / 2 if self.session.scaled and self.session.opponent is None else total


def log_games(
    environments: Sequence[BoardGameTools], log_metric: Callable[[str, float], None], **_: object
) -> list[None]:
    """Logs the mean regret of a batch of games and, with a ladder, their mean rung.

    It is for `GRPOTrainer(reward_funcs=...)`, and pays nothing. The metrics are "regret", or "regret of X" and
    "regret of O" if the model plays itself, and "rung". Games that are not over are lost, as for `get_reward`.

    Args:
        environments: the environments of a batch.
        log_metric: TRL's function that logs a metric.

    Example:
        >>> env = BoardGameTools(opponent="ladder", retries=0)
        >>> prompt = env.reset(seed=0)
        >>> logged = {}
        >>> log_games([env], logged.__setitem__)
        [None]
        >>> sorted(logged)
        ['regret', 'rung']
    """
    for env in environments:
        env.get_reward()
    sessions = [env.session for env in environments]
    if sessions[0].opponent is None:
        for side, name in enumerate("XO"):
            log_metric(f"regret of {name}", mean(session.regrets[side] for session in sessions))
    else:
        log_metric("regret", mean(sum(session.regrets) for session in sessions))
    rungs = [session.rung for session in sessions if session.rung is not None]
    if rungs:
        log_metric("rung", mean(rungs))
    return [None] * len(sessions)
