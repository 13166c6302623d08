"""Between OpenSpiel's states and our positions, of our games and of OpenSpiel's own tic-tac-toe and Connect Four."""

from __future__ import annotations

from typing import Any

from tictac_env.games import Game, KInARow, game_name, get_game
from tictac_env.openspiel.spiel_games import SpielGame, SpielState
from tictac_env.position import Position, parse_moves

TIC_TAC_TOE = ("tic_tac_toe", "python_tic_tac_toe")
CONNECT_FOUR = "connect_four"


def rules_of(game: Any) -> Game:
    """The rule book of a game of OpenSpiel's: a `SpielGame`, or its own tic-tac-toe or Connect Four (of any size).

    Raises:
        ValueError: it is none of these, or too large for us.

    Example:
        >>> import pyspiel
        >>> rules_of(pyspiel.load_game("connect_four")) == get_game("ConnectFour-v0")
        True
    """
    if isinstance(game, SpielGame):
        return game.rules
    name = game.get_type().short_name
    if name in TIC_TAC_TOE:
        return get_game("TicTacToe-v0")
    if name == CONNECT_FOUR:
        sizes = game.get_parameters()
        return KInARow.make(sizes["rows"], sizes["columns"], sizes["x_in_row"])
    raise ValueError(f"{game} is neither a game of tictac_env nor one of {', '.join((*TIC_TAC_TOE, CONNECT_FOUR))}")


def position_of(state: Any) -> Position:
    """The position of a state, with the moves that led to it.

    Raises:
        ValueError: the state is of a game that we do not play (see `rules_of`).

    Example:
        >>> import pyspiel
        >>> state = pyspiel.load_game("connect_four").new_initial_state()
        >>> state.apply_action(3)
        >>> position_of(state).to_moves()
        '4'
    """
    if isinstance(state, SpielState):
        return state.position
    return Position.from_moves(rules_of(state.get_game()), state.history())


def state_of(position: Position, game: Any) -> Any:
    """The state of a game of OpenSpiel's for a position: its own moves are applied, or some that lead there.

    Args:
        position: the position.
        game: the game of OpenSpiel's (see `rules_of`).

    Raises:
        ValueError: the position is of another game.

    Example:
        >>> import pyspiel
        >>> state_of(Position.from_moves("ConnectFour-v0", "445"), pyspiel.load_game("connect_four")).history()
        [3, 3, 4]
    """
    rules = rules_of(game)
    if position.game != rules:
        known, wanted = (game_name(one) or repr(one) for one in (position.game, rules))
        raise ValueError(f"a position of {known} is no state of {game}, which is {wanted}: {position!r}")
    state = game.new_initial_state()
    for action in parse_moves(rules, position.to_moves()):
        state.apply_action(action)
    return state
