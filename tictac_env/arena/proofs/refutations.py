"""The games that refute a claim of a player, read off the positions and moves that a proof has listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tictac_env.arena.proofs.reply_layers import MOVES, Ints, Moves, find, layer_path, read_numbers, read_positions
from tictac_env.compiled import kernel
from tictac_env.games import UNFINISHED, Game
from tictac_env.notation import format_moves


def refuting_games(game: Game, folder: Path, plies: Sequence[int], worst: int) -> Iterator[str]:
    """A game, as a move string, for each way in which one ends no better than `worst` at one of these plies."""
    for ply in plies:
        own, opp, moves = _read(folder, ply)
        row, reply = find_end(game, own, opp, moves, 0, 0, worst)
        while row >= 0:
            end = [int(moves[row])] if reply < 0 else [int(moves[row]), int(reply)]
            yield format_moves(game, _moves_to(game, folder, ply, int(own[row]), int(opp[row])) + end)
            begin, first_reply = (row + 1, 0) if reply < 0 else (row, reply + 1)
            row, reply = find_end(game, own, opp, moves, begin, first_reply, worst)


@kernel
def find_end(
    game: Game, own: Ints, opp: Ints, moves: Moves, begin: int, first_reply: int, worst: int
) -> tuple[int, int]:
    """The first of the positions from `begin` on whose move, or a reply to it, ends the game no better than `worst`.

    Of the first position only the replies from `first_reply` on are tried.

    Returns:
        Its index and the reply, -1 if the move itself ends the game; -1 and -1 if there is none.
    """
    for i in range(begin, len(own)):
        after_own, after_opp = game.play(own[i], opp[i], moves[i])
        result = game.result(after_own, after_opp)
        if result != UNFINISHED:
            if -result <= worst:
                return i, -1
            continue
        for reply in range(first_reply if i == begin else 0, game.num_actions):
            reply_own, reply_opp = game.play(after_own, after_opp, reply)
            if reply_own != after_own or reply_opp != after_opp:
                result = game.result(reply_own, reply_opp)
                if result != UNFINISHED and result <= worst:
                    return i, reply
    return -1, -1


def _moves_to(game: Game, folder: Path, ply: int, own: int, opp: int) -> list[int]:
    """The moves of a game that leads to a position that the player met at that ply."""
    actions = range(game.num_actions)
    if ply < 2:
        return [action for action in actions if game.play(*game.start(), action) == (own, opp)]
    owns, opps, moves = _read(folder, ply - 2)
    for reply in actions:
        after = game.undo(own, opp, reply)
        if after == (own, opp) or game.result(*after) != UNFINISHED:
            continue
        for move in actions:
            before = game.undo(*after, move)
            row = -1 if before == after else find(owns, opps, *before)
            if row >= 0 and moves[row] == move:
                return [*_moves_to(game, folder, ply - 2, *before), move, reply]
    raise ValueError(f"{layer_path(folder, ply - 2)} is damaged: nothing in it leads to a position of the next ply")


def _read(folder: Path, ply: int) -> tuple[Ints, Ints, Moves]:
    layer = layer_path(folder, ply)
    return *read_positions(layer), read_numbers(layer.with_suffix(MOVES), "i1")
