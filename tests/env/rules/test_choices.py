"""Sets of moves as bits: playing one of them, and those that win at once."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt
from conftest import compiled_games, playout
from naive import NaiveBoard

from tictac_env.compiled import kernel
from tictac_env.games import UNFINISHED, Game


@kernel
def both(game: Game, own: int, opp: int, out: npt.NDArray[np.int64]) -> None:
    seat = game.seat(own, opp)
    out[0] = game.winning_choices(own, opp, seat)
    out[1] = game.winning_choices(opp, own, 1 - seat)


@compiled_games
def test_winning_moves_are_the_same_compiled(game: Game) -> None:
    out = np.zeros(2, np.int64)
    for seed in range(10):
        for position in playout(game, seed)[:-1]:
            own, opp = position.own, position.opp
            both(game, own, opp, out)
            seat = position.seat
            assert tuple(out) == (game.winning_choices(own, opp, seat), game.winning_choices(opp, own, 1 - seat))


def test_winning_moves_are_those_of_the_naive_board(game: Game) -> None:
    rng = random.Random(3)
    for _ in range(10 if game.cells < 20 else 3):
        board, (own, opp) = NaiveBoard.of(game), game.start()
        while game.result(own, opp) == UNFINISHED:
            legal = board.legal()
            for mark, found in (
                (board.mark, game.winning_choices(own, opp, board.mark - 1)),
                (3 - board.mark, game.winning_choices(opp, own, 2 - board.mark)),
            ):
                wins = {action for action in legal if board.after(action, mark).winner() == mark}
                assert {action for action in range(game.num_actions) if found & game.choice(action)} == wins
                assert found == sum(game.choice(action) for action in wins)
            for action in legal:
                assert game.play_choice(own, opp, game.choice(action)) == game.play(own, opp, action)
            action = rng.choice(legal)
            board.play(action)
            own, opp = game.play(own, opp, action)
