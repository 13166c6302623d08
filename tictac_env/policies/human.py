"""People as policies: at the terminal or in a window."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from tictac_env.checks import parse_whole
from tictac_env.games import Game
from tictac_env.games.contract import MOVE_CHARACTERS
from tictac_env.policies.policy import Policy
from tictac_env.position import Position
from tictac_env.render.text import side_name

if TYPE_CHECKING:
    from tictac_env.render.window import Window


class HumanPolicy(Policy):
    """Shows the board and asks for a move until the answer is legal; after the last move, shows the board again.

    Moves are typed as in move strings: `1` to `9`, then `a` to `z` (or the number, from 10 on); on a 3 x 3 board also
    with the keys q w e, a s d, z x c, which are arranged like the squares.

    Args:
        ask: prints a question and returns the answer; `input` unless given.
        tell: shows a text; `print` unless given.

    Raises:
        EOFError, KeyboardInterrupt: at a move, if the person ends the input or presses Ctrl-C. The game is unchanged.
    """

    name = "human"
    about = "Asks a person at the terminal."
    one_game_at_a_time = True

    def __init__(self, ask: Callable[[str], str] = input, tell: Callable[[str], object] = print) -> None:
        self._ask = ask
        self._tell = tell

    @classmethod
    def from_name(cls, game: Game, argument: str) -> Policy:
        """`window`, for a person who clicks."""
        return WindowPolicy() if argument == "window" else super().from_name(game, argument)

    @classmethod
    def variants(cls, game: Game) -> tuple[str, ...]:
        """None, as a menu is for the person's opponents."""
        return ()

    def act(self, position: Position, seed: int) -> int:
        self._tell(str(position))
        while True:
            question = f"{side_name(position.game, position.seat)}, your move ({move_range(position.game)}): "
            answer = self._ask(question).strip().lower()
            action = read_move(answer, position.game)
            if action in position.legal_actions:
                return action
            if action >= 0:
                self._tell(f"{answer} is {'full' if position.game.stones_fall else 'taken'}.")
            else:
                self._tell(f"{answer!r} is not a move.")

    def game_over(self, final: Position) -> None:
        self._tell(str(final))


class WindowPolicy(Policy):
    """Shows the board in a window and waits for a click; after the last move, waits for a key or the window's closing.

    Raises:
        WindowClosed: at a move, if the person closes the window.
        gymnasium.error.DependencyNotInstalled: at a move, if pygame is missing.
    """

    name = "human:window"
    one_game_at_a_time = True
    _window: Window | None = None

    def act(self, position: Position, seed: int) -> int:
        from tictac_env.render.window import Window

        self._window = self._window or Window()
        return self._window.wait_for_action(position)

    def game_over(self, final: Position) -> None:
        from tictac_env.render.window import WindowClosed

        if self._window is not None:
            with contextlib.suppress(WindowClosed):
                self._window.wait_for_key(final)


def read_move(answer: str, game: Game) -> int:
    """The action for the typed `answer`, -1 if there is none."""
    number = parse_whole(answer, 1, game.num_actions)
    if number is not None:
        return number - 1
    action = (_keypad(game) or MOVE_CHARACTERS).find(answer) if len(answer) == 1 else -1
    return action if action < game.num_actions else -1


def _keypad(game: Game) -> str:
    """The keys arranged like the squares of a 3 x 3 board, "" for other boards."""
    return "qweasdzxc" if (game.rows, game.cols, game.num_actions) == (3, 3, 9) else ""


def move_range(game: Game) -> str:
    """The moves that may be typed, as boards number them: "1-7", "1-9, a-g", or "1-49" if letters do not suffice."""
    actions = game.num_actions
    if not 9 < actions <= len(MOVE_CHARACTERS):
        return f"1-{actions}" + (" or qwe/asd/zxc" if _keypad(game) else "")
    letters = MOVE_CHARACTERS[9:actions]
    return f"1-9, {letters if len(letters) == 1 else f'{letters[0]}-{letters[-1]}'}"
