"""The function `play`: games against any player, on a board in a notebook or as text."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gymnasium.error import DependencyNotInstalled

from tictac_apps.cli.play import OPPONENT, TerminalTable
from tictac_apps.cli.session import Series
from tictac_env.checks import flag
from tictac_env.envs.single import Arguments, unfinished
from tictac_env.games import Game, game_name, get_game, shown
from tictac_env.policies import Player, game_for, load_player
from tictac_env.position import Position

__all__ = ["play"]

if TYPE_CHECKING:
    from tictac_apps.notebook.widget import BoardWidget

DEFAULT_GAME = "ConnectFour-v0"
INSTALL = 'pip install "tictac-env[notebook]"'


def play(
    player: Any = OPPONENT,
    game: str | Game | None = None,
    *,
    seat: str | None = None,
    position: str | Position | None = None,
    hints: bool = False,
    thoughts: bool = False,
    seed: int | None = None,
    widget: bool | None = None,
) -> BoardWidget | None:
    """Plays against any player. In a notebook it gives a board to click, elsewhere it asks for moves.

    The board has buttons to take moves back, to begin again and to swap sides, and shows the opponent's thoughts about
    each move and the exact values. Without a notebook, or without anywidget, games are played as in `tictac play`.

    Args:
        player: the opponent: whatever `load_player` accepts (a policy's name, an agent's file, a policy, a model, a
            function), or "human" for two people. Or an environment of this package: then its opponent plays, by its
            `play_as` and `start`; without an opponent two people play.
        game: a game's name or rules; None for that of the environment, the agent or its file, otherwise
            "ConnectFour-v0".
        seat: the person's seat: "first", "second", "random" or "alternate"; None for an environment's own, otherwise
            "alternate".
        position: the first position of the games: a move string or a `Position`.
        hints: True to show the exact values of the moves, if they are found in a few seconds.
        thoughts: True to show the opponent's thoughts about the moves on the board.
        seed: the same seed gives the same games; None draws one.
        widget: True to make a board, False to play as text; None for a board in a notebook with anywidget.

    Returns:
        The widget, which a notebook shows if it is the last line of a cell; None after the last game if the games are
        played as text.

    Raises:
        ValueError: an argument is not one of these, or the player does not play the game; the message names it.
        FileNotFoundError: there is no such file.
        DependencyNotInstalled: `widget=True` and anywidget is not installed, or a package that the player needs is not.

    Example:
        >>> play("rule", "TicTacToe-v0")  # doctest: +SKIP
    """
    for name, value in (("hints", hints), ("thoughts", thoughts)):
        flag(name, value)
    series = _series(player, game, seat, position, seed)
    if _wants_widget(widget):
        from tictac_apps.notebook.widget import BoardWidget

        return BoardWidget(series, {"thoughts": thoughts, "exact": hints})
    table = TerminalTable(hints, ask=_ask)
    while table.play(series.begin()):
        pass
    return None


def _wants_widget(widget: bool | None) -> bool:
    ipython = sys.modules.get("IPython")  # in a notebook, the kernel has imported it
    shell = ipython.get_ipython() if ipython is not None else None
    in_notebook = getattr(shell, "kernel", None) is not None
    if widget is not None and not flag("widget", widget):
        return False
    if importlib.util.find_spec("anywidget") is not None:
        return bool(widget) or in_notebook
    if widget:
        raise DependencyNotInstalled(f"a board in a notebook needs anywidget: {INSTALL}")
    if in_notebook:
        print(f"For a board to click: {INSTALL}")
    return False


def _series(
    player: Any, game: str | Game | None, seat: str | None, position: str | Position | None, seed: int | None
) -> Series:
    starts: Sequence[Position] = ()
    opponent: Player | None = None
    environment = getattr(player, "unwrapped", None)
    arguments = getattr(environment, "arguments", None)
    board = getattr(environment, "position", None)
    if isinstance(arguments, Arguments):
        rules = _same_game(arguments.game, game)
        opponent = None if arguments.opponent is None else load_player(arguments.opponent, rules)
        seat = arguments.play_as if seat is None else seat
        starts = arguments.start or ()
    elif isinstance(board, Position):  # PettingZoo's: two agents, and so two people
        rules = _same_game(board.game, game)
    else:
        rules = game_for(game, player, default=DEFAULT_GAME)
        opponent = None if player == "human" else load_player(player, rules)
    if position is not None:
        starts = (unfinished(position, rules),)
    starts = [Position.from_moves(start.game, start.to_moves()) for start in starts] or [Position.start(rules)]
    return Series(starts, opponent, "alternate" if seat is None else seat, seed)


def _same_game(own: Game, game: str | Game | None) -> Game:
    """The game of an environment; raises a ValueError if the argument `game` is another one."""
    if game is not None and get_game(game) != own:
        raise ValueError(f"the environment is of {game_name(own) or own}, not of game={shown(game)}; leave game out")
    return own


def _ask(question: str) -> str:
    try:
        return input(question)
    except (NotImplementedError, OSError) as error:  # a notebook run by a program, or a closed input
        raise EOFError(str(error)) from error
