"""The best replies to random and to erring play, worked out in exact fractions: what can be won, and at what risk."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import breadth
from oracle import Chances, Oracle

from tictac_env.arena import exploitability, verdict
from tictac_env.games import GAMES
from tictac_env.policies import Policy, make_policy
from tictac_env.position import Position

TRUTH = Oracle(GAMES["TicTacToe-v0"])


def board_of(position: Position) -> str:
    return "".join(".XO"[mark] for mark in position.to_array().reshape(-1))


class Given(Policy):
    """Plays the chances of a player of `Oracle`."""

    name = "given"

    def __init__(self, chances: Chances) -> None:
        self.chances = chances

    def act(self, position: Position, seed: int) -> int:
        likely = [action for action, chance in self.chances(board_of(position)).items() if chance]
        return likely[seed % len(likely)]

    def probabilities(self, position: Position) -> npt.NDArray[np.float64]:
        chances = np.zeros(position.game.num_actions)
        for action, chance in self.chances(board_of(position)).items():
            chances[action] = chance
        return chances


def best_against(
    chances: Callable[[str], dict[int, Any]], seat: str, safe: bool = False, wins: bool = False
) -> Chances:
    """A best reply of `seat` to a player, in exact fractions: the most wins less losses, or (`wins`) the most wins;
    with `safe` among the moves only that keep a draw in hand."""
    earned: dict[str, Fraction] = {}
    chosen: dict[str, int] = {}

    def earn(board: str) -> Fraction:
        if board not in earned:
            moves = TRUTH.moves(board)
            if not moves:
                winner = TRUTH.winner(board)
                earned[board] = Fraction((winner == seat) - (winner not in (None, seat) and not wins))
            elif TRUTH.mover(board) == seat:
                values = {a: earn(after) for a, after in moves.items() if not safe or TRUTH.value(after) <= 0}
                if not values:  # lost already, so a safe player does not come here
                    return Fraction(-1)
                earned[board] = max(values.values())
                chosen[board] = next(action for action, value in values.items() if value == earned[board])
            else:
                earned[board] = sum((chance * earn(moves[a]) for a, chance in chances(board).items()), Fraction(0))
        return earned[board]

    earn(TRUTH.start)
    return lambda board: {chosen[board]: 1.0}


def erring(error: Fraction) -> Callable[[str], dict[int, Fraction]]:
    """Uniformly random with probability `error`, else uniform over the moves that keep the value."""

    def chances(board: str) -> dict[int, Fraction]:
        legal, keeping = TRUTH.moves(board), TRUTH.keeping(board)
        return {a: error / len(legal) + (a in keeping) * (1 - error) / len(keeping) for a in legal}

    return chances


def verdicts_of_best(chances: Callable[[str], dict[int, Any]], **constraints: bool) -> tuple[Any, Any]:
    """The verdicts on the best replies to a player, as first and as second."""
    as_first, as_second = (Given(best_against(chances, seat, **constraints)) for seat in "XO")
    return verdict(Seated(as_first, 0)).as_first, verdict(Seated(as_second, 1)).as_second


class Seated(Policy):
    """A player for one seat, who plays minimax in the other."""

    def __init__(self, player: Policy, seat: int) -> None:
        self.players = [make_policy("minimax-first"), make_policy("minimax-first")]
        self.players[seat] = player

    def act(self, position: Position, seed: int) -> int:
        return self.players[position.seat].act(position, seed)


def percent(share: float) -> float:
    return round(100 * share, 3)


def test_the_ceilings_against_random() -> None:
    """The most that an infallible player can win against random play, and the most that anyone can."""
    fully_random = erring(Fraction(1))
    first, second = verdicts_of_best(fully_random, safe=True)
    assert first.infallible and second.infallible
    assert percent(first.against_random.wins) == 99.479
    assert percent(second.against_random.wins) == 91.640
    first, second = verdicts_of_best(fully_random, wins=True)
    assert percent(first.against_random.wins) == 99.479
    assert percent(second.against_random.wins) == 93.862
    assert not second.infallible


@pytest.mark.parametrize(
    ("error", "first_wins", "second_wins"),
    breadth(
        [("0.5", 99.479, 91.640), ("0.9", 99.479, 92.910)],
        [
            ("0.1", 98.958, 91.640),
            ("0.3", 98.958, 91.640),
            ("0.6", 99.479, 91.640),
            ("0.7", 99.479, 91.640),
            ("0.8", 99.479, 92.910),
        ],
    ),
)
def test_the_best_reply_to_an_erring_opponent(error: str, first_wins: float, second_wins: float) -> None:
    """What a learner comes to that trains against such an opponent."""
    first, second = verdicts_of_best(erring(Fraction(error)))
    assert percent(first.against_random.wins) == first_wins
    assert percent(second.against_random.wins) == second_wins
    assert first.infallible
    assert second.infallible == (Fraction(error) < Fraction("0.8"))


@pytest.mark.parametrize("error", breadth(["0.6"], ["0.1", "1"]))
def test_what_the_best_reply_earns_is_what_can_be_exploited(error: str) -> None:
    chances = erring(Fraction(error))
    found = exploitability(Given(chances))
    assert found.first == pytest.approx(TRUTH.best_reply(chances, "X"))
    assert found.second == pytest.approx(TRUTH.best_reply(chances, "O"))
    reply = best_against(chances, "O")
    win, draw, loss = TRUTH.expected(chances, reply)
    assert (win + draw + loss, loss - win) == (pytest.approx(1), pytest.approx(found.first))
