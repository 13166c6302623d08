"""TRL: an environment with a tool that plays, for `GRPOTrainer(environment_factory=...)`."""

from __future__ import annotations

from typing import Any

from tictac_apps.language_models.harness import BoardHarness
from tictac_apps.language_models.session import TextSession
from tictac_env.games import Game

__all__ = ["BoardGameTools"]

INSTRUCTION = "Call the tool `play` with the number of your move."


class BoardGameTools:
    """A game that a model plays by calling the tool `play`; an environment for TRL's `environment_factory`.

    TRL makes it without arguments, so pass the class, or `functools.partial(BoardGameTools, "ConnectFour-v0")`. Each
    row of the data set should have a `seed`: the generations of one row then begin in the same position, against the
    same opponent, and can be compared. A column `position` has a move string to begin with. Other columns are ignored.

    A game that the model does not finish is lost: see `TextSession.forfeit`.

    Args:
        game: a game's name or rule book.
        scaled: True if `get_reward` is `TextSession.score`, in [0, 1]; False for the sum of the answers' rewards.
        **options: further arguments of `TextSession`: opponent, seat, start, reward, retries, history. The harness, if
            one is given, should ask for a call of `play`.

    Raises:
        ValueError: an argument is out of its range, or `opponent` is None: one model would play both seats.

    Example:
        >>> env = BoardGameTools(opponent="minimax-first", seat="first", start=None)
        >>> env.reset(seed=0).splitlines()[-1]
        'Call the tool `play` with the number of your move.'
        >>> for move in (5, 3, 4, 8, 9):
        ...     text = env.play(move)
        >>> text.splitlines()[-1], env.get_reward()
        ('draw', 1.0)
    """

    def __init__(self, game: str | Game = "TicTacToe-v0", scaled: bool = True, **options: Any) -> None:
        options = {"harness": BoardHarness(list_moves=False, instruction=INSTRUCTION)} | options
        self._session = TextSession(game, scaled=scaled, **options)
        if self._session.opponent is None:
            raise ValueError("opponent must be a player, not None: the tools have one seat")

    def reset(self, seed: int | None = None, position: str | None = None, **row: object) -> str:
        """Begins a game; TRL appends the prompt to the row's last message.

        Raises:
            ValueError: no game can begin there.
        """
        return self._session.reset(seed, position).prompt

    def play(self, move: int) -> str:
        """Plays a move. The opponent replies, and you see the board after it.

        Args:
            move: The number of the move.

        Returns:
            The board after the opponent's reply, and the next question, or the result of the game.
        """
        if self._session.turn.done:
            raise ValueError("the game is over: no more moves can be played")
        return self._session.answer(f"Move: {move}").prompt

    def get_reward(self) -> float:
        """The reward of the game; it ends here, as a loss if it is not over."""
        turn = self._session.turn if self._session.turn.done else self._session.forfeit()
        return self._session.returns[turn.seat]
