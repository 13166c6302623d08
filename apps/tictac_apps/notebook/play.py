"""`play`: games against anything that plays, on a board in a notebook or as text."""

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
    """Plays against anything that plays. In a notebook it gives a board to click, elsewhere it asks for moves.

    On the board one takes moves back, begins again, swaps sides, and sees what the opponent thinks of each move and the
    exact values. Without a notebook, or if anywidget is not installed, it is what `tictac play` is.

    Args:
        player: an environment of this package: then its opponent plays, as the environment's `play_as` and `start` say,
            or two people if it has none. Otherwise the opponent: whatever `load_player` accepts (a policy's name, an
            agent's file, a policy, a model, a function), or "human" for two people.
        game: a game's name or rules; unless given the environment's, the agent's or the one its file names, otherwise
            "ConnectFour-v0".
        seat: the person's: "first", "second", "random" or "alternate"; an environment's own, otherwise "alternate",
            unless given.
        position: where the games begin: a move string or a `Position`.
        hints: whether to show the exact values of the moves, as far as they are found in a few seconds.
        thoughts: whether the board shows what the opponent thinks of the moves.
        seed: the same seed gives the same games; another one each time unless given.
        widget: whether to make a board: True, False, or None: if there is a notebook and anywidget.

    Returns:
        The widget, which a notebook shows if it is the last line of a cell; None if the games are played as text,
        after the last one.

    Raises:
        ValueError: an argument is not one of these, or the player does not play the game; the message names it.
        FileNotFoundError: there is no such file.
        DependencyNotInstalled: `widget=True`, and anywidget is not installed; or the player's file needs what is not.

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
    ipython = sys.modules.get("IPython")  # a kernel has imported it
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
    starts = [Position.from_moves(one.game, one.to_moves()) for one in starts] or [Position.start(rules)]
    return Series(starts, opponent, "alternate" if seat is None else seat, seed)


def _same_game(own: Game, given: str | Game | None) -> Game:
    if given is not None and get_game(given) != own:
        raise ValueError(f"the environment is of {game_name(own) or own}, not of game={shown(given)}; leave game out")
    return own


def _ask(question: str) -> str:
    try:
        return input(question)
    except (NotImplementedError, OSError) as error:  # a notebook run by a program, or a closed input
        raise EOFError(str(error)) from error
