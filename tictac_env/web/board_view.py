"""A position as the page gets it: all that it needs to draw the board and to know which moves there are."""

from __future__ import annotations

from typing import Any

from tictac_env.games import Game, game_name
from tictac_env.position import Position, format_moves

TITLES = {"TicTacToe-v0": "Tic-tac-toe", "ConnectFour-v0": "Connect Four"}


def title(game: Game) -> str:
    """What people call a game."""
    name = game_name(game)
    return TITLES.get(str(name), name or repr(game))


def board_view(position: Position) -> dict[str, Any]:
    """A position made from moves, for JSON.

    `history` has the move string of each position from the start to this one, `names` the moves between them. Each
    legal action comes with its name, the cell its stone takes, and the move string after it: so the browser needs no
    rules and no notation.
    """
    game, moves, outcome = position.game, position.moves, position.outcome
    legal = []
    for action in position.legal_actions:
        after = position.play(action)
        legal.append(
            {
                "action": action,
                "name": format_moves(game, [action]),
                "cell": after.last_cell,
                "then": format_moves(game, after.moves),
            }
        )
    return {
        "game": game_name(game),
        "title": title(game),
        "rows": game.rows,
        "cols": game.cols,
        "actions": game.num_actions,
        "falls": game.stones_fall,
        "shift": game.row_shift,
        "cells": position.to_array().tolist(),
        "seat": position.seat,
        "ply": position.ply,
        "moves": format_moves(game, moves),
        "names": [format_moves(game, [move]) for move in moves],
        "history": [format_moves(game, moves[:ply]) for ply in range(len(moves) + 1)],
        "last": position.last_cell,
        "legal": legal,
        "over": outcome is not None,
        "winner": outcome.winner if outcome else None,
        "how": outcome.how if outcome else None,
        "line": outcome.cells if outcome else [],
    }
