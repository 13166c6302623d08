"""What a game tells in every dialect: boards, masks, rewards, outcomes, seats and beginnings, by recorded games."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import ALL_GAMES, playout
from dialects import (
    AGAINST,
    ALONE,
    WITH_STARTS,
    Board,
    Shown,
    Single,
    Vector,
    against,
    each,
    every_dialect,
    name_of,
    registered,
)
from gymnasium.error import ResetNeeded

from tictac_env.arena.game_record import starting_positions
from tictac_env.games import GAMES, Game
from tictac_env.policies import Policy
from tictac_env.position import IllegalMove, Position
from tictac_env.position_batch import PositionBatch

TTT, C4 = GAMES["TicTacToe-v0"], GAMES["ConnectFour-v0"]


class Recorded(Policy):
    """Plays on as it was played in a recorded game, elsewhere the lowest legal action."""

    def __init__(self, line: list[Position]) -> None:
        moves = line[-1].moves[line[0].ply :]
        self.moves = {(before.own, before.opp): move for before, move in zip(line, moves, strict=False)}

    def act(self, position: Position, seed: int) -> int:
        return self.moves.get((position.own, position.opp), position.legal_actions[0])


class Scripted(Policy):
    """Plays the given actions, the n-th as its n-th move of a game; where that cannot be, the lowest legal one."""

    def __init__(self, *actions: int) -> None:
        self.actions = actions

    def act(self, position: Position, seed: int) -> int:
        planned = self.actions[position.ply // 2 : position.ply // 2 + 1]
        return next((action for action in planned if action in position.legal_actions), position.legal_actions[0])


def stones(position: Position, seat: int) -> npt.NDArray[np.int8]:
    """The planes that `seat` must see."""
    board = position.to_array()
    return np.stack([board == 1 + seat, board == 2 - seat]).astype(np.int8)


def assert_told(
    board: Board, shown: Shown, position: Position, seat: int, paid_to: int, reply: int, rewards: tuple[float, ...]
) -> None:
    """Asserts that everything is told as it must be on `position`, `paid_to` having stepped last."""
    ended = position.outcome
    result = None if ended is None else 0 if ended.winner is None else 1 if ended.winner == paid_to else -1
    mask = np.isin(range(board.game.num_actions), position.legal_actions).astype(int).tolist()
    assert board.position == position
    assert isinstance(board, Vector) or board.position.moves == position.moves
    assert shown.observation.dtype == np.int8 and np.array_equal(shown.observation, stones(position, seat))
    assert shown.terminated == position.is_over
    assert shown.reward == (rewards[3] if result is None else rewards[1 - result])
    assert shown.mask == board.mask == mask
    assert (shown.seat, shown.opponent_action, shown.illegal_action) == (seat, reply, None)
    assert shown.outcome == (result if board.tells_outcomes else None)


REWARDS = [(1, 0, -1, 0), (5, 2, -3), (10, 0.5, -10, -0.25), np.array([3.0, 2, 1])]


def test_the_recorded_games_end_in_every_way() -> None:
    """Else the tests below would say little."""
    for game in GAMES.values():
        ends = [playout(game, number)[-1].outcome for number in range(4)]
        assert {end.winner for end in ends if end} >= {0, 1}
    drawn = [playout(game, number)[-1].outcome for game in ALL_GAMES for number in range(4)]
    assert any(end is not None and end.winner is None for end in drawn)


@pytest.mark.parametrize("play_as", ["first", "second"])
@each(AGAINST)
def test_a_recorded_game_is_told_move_by_move(dialect: type[Board], game: Game, play_as: str) -> None:
    for number in range(4):
        line = playout(game, number)
        moves, seat = line[-1].moves, int(play_as == "second")
        if line[seat].is_over:
            continue
        paying = {"rewards": REWARDS[number]} if "rewards" in dialect.settings else {}
        rewards = (*paying.get("rewards", REWARDS[0]), 0)[:4]
        board = dialect(game, opponent=Recorded(line), play_as=play_as, **paying)
        shown, ply = board.reset(seed=number), seat
        assert_told(board, shown, line[ply], seat, seat, moves[0] if seat else -1, (0, 0, 0, 0))
        while not line[ply].is_over:
            shown, before, ply = board.step(moves[ply]), ply, min(ply + 2, len(moves))
            reply = moves[ply - 1] if ply == before + 2 else -1
            assert_told(board, shown, line[ply], seat, seat, reply, rewards)


@each(ALONE)
def test_both_sides_of_a_recorded_game_are_told_move_by_move(dialect: type[Board], game: Game) -> None:
    """The reward is the mover's, and what is shown is the next player's, also at the end."""
    for number in range(4):
        line = playout(game, number)
        paying = {"rewards": REWARDS[number]} if "rewards" in dialect.settings else {}
        rewards = (*paying.get("rewards", REWARDS[0]), 0)[:4]
        board = dialect(game, opponent=None, **paying)
        shown = board.reset(seed=number)
        assert_told(board, shown, line[0], 0, 0, -1, (0, 0, 0, 0))
        for ply, move in enumerate(line[-1].moves, start=1):
            shown = board.step(move)
            assert_told(board, shown, line[ply], ply % 2, 1 - ply % 2, -1, rewards)


@each(ALONE)
def test_the_mask_is_the_set_of_accepted_moves(dialect: type[Board], game: Game) -> None:
    board = dialect(game, opponent=None, illegal="raise")
    for position in (position for seed in range(2) for position in playout(game, seed)[:-1]):
        shown = board.reset(position=position)
        for action in range(game.num_actions):
            if shown.mask[action]:
                after = board.step(action)
                assert after.terminated == (not any(after.mask)) == (not any(board.mask))
                board.reset(position=position)
            else:
                with pytest.raises(IllegalMove, match=rf"action {action}, illegal here \(legal are .*: Position.from_"):
                    board.step(action)
                assert board.position == position and board.mask == shown.mask


# Illegal moves


def illegal_actions(line: list[Position], seat: int) -> list[tuple[int, int]]:
    """Where `seat` can err in a recorded game: the ply, and the highest illegal action."""
    found = []
    for ply in range(2 + seat, len(line) - 1, 2):
        illegal = set(range(line[ply].game.num_actions)) - set(line[ply].legal_actions)
        found += [(ply, max(illegal))] if illegal else []
    return found


def recorded_errors(game: Game) -> list[Position] | None:
    """A recorded game in which both sides can err, if there is one."""
    lines = (playout(game, seed) for seed in range(30))
    return next((line for line in lines if illegal_actions(line, 0) and illegal_actions(line, 1)), None)


CAN_ERR = [game for game in ALL_GAMES if recorded_errors(game)]


@pytest.mark.parametrize("play_as", ["first", "second"])
@each(AGAINST, CAN_ERR)
def test_an_illegal_move_loses(dialect: type[Board], game: Game, play_as: str) -> None:
    line, seat = recorded_errors(game) or [], int(play_as == "second")
    last, illegal = illegal_actions(line, seat)[0]
    paying = {"rewards": (1, 0, -5)} if "rewards" in dialect.settings else {}
    board = dialect(game, opponent=Recorded(line), play_as=play_as, **paying)
    for _ in range(2):
        board.reset()
        for ply in range(seat, last, 2):
            board.step(line[-1].moves[ply])
        shown = board.step(illegal)
        told = (-1, illegal) if dialect.tells_outcomes else (None, None)
        nothing = [0] * game.num_actions
        loss = -5 if paying else -1
        assert shown.listed()[1:] == [loss, True, nothing, seat, -1, *told]
        assert np.array_equal(shown.observation, stones(line[last], seat))
        assert board.position == line[last] and board.mask == nothing
        with pytest.raises(ResetNeeded):
            board.step(line[last].legal_actions[0])


@each(ALONE, CAN_ERR)
def test_an_illegal_move_loses_for_the_mover_where_both_sides_step(dialect: type[Board], game: Game) -> None:
    line = recorded_errors(game) or []
    for seat in (0, 1):
        last, illegal = illegal_actions(line, seat)[0]
        board = dialect(game, opponent=None)
        board.reset()
        for move in line[last].moves:
            board.step(move)
        shown = board.step(illegal)
        outcome = -1 if dialect.tells_outcomes else None
        assert shown.listed()[1:] == [-1, True, [0] * game.num_actions, 1 - seat, -1, outcome, illegal]
        assert np.array_equal(shown.observation, stones(line[last], 1 - seat))
        assert board.position == line[last] and not any(board.mask)
        with pytest.raises(ResetNeeded):
            board.step(line[last].legal_actions[0])
        board.reset()
        assert not board.step(line[0].legal_actions[0]).terminated


@each(AGAINST, CAN_ERR)
def test_an_illegal_move_raises_and_changes_nothing(dialect: type[Board], game: Game) -> None:
    line = recorded_errors(game) or []
    last, illegal = illegal_actions(line, 0)[0]
    board, undisturbed = (dialect(game, opponent=Recorded(line), illegal="raise") for _ in range(2))
    for one in (board, undisturbed):
        one.reset(seed=2)
        for ply in range(0, last, 2):
            one.step(line[-1].moves[ply])
    for _ in range(2):
        with pytest.raises(IllegalMove, match=rf"action {illegal}, illegal here .*: Position.from_"):
            board.step(illegal)
        assert board.position == line[last] and board.mask == undisturbed.mask
    for ply in range(last, len(line) - 1, 2):
        assert board.step(line[-1].moves[ply]).listed() == undisturbed.step(line[-1].moves[ply]).listed()


# Seats


@against
@registered
def test_random_seats_are_drawn_at_each_reset(dialect: type[Board], game: Game) -> None:
    board = dialect(game, opponent="random", play_as="random")
    seats = [board.reset(seed=7).seat, *(board.reset().seat for _ in range(299))]
    assert 110 < sum(seats) < 190
    assert seats == [board.reset(seed=7).seat, *(board.reset().seat for _ in range(299))]


@against
@registered
def test_alternate_seats_start_again_with_a_seeded_reset(dialect: type[Board], game: Game) -> None:
    board = dialect(game, opponent="random", play_as="alternate")
    assert [board.reset().seat for _ in range(5)] == [0, 1, 0, 1, 0]
    assert [board.reset(seed=3).seat, *(board.reset().seat for _ in range(2))] == [0, 1, 0]
    assert [board.reset(seed=seed).seat for seed in (1, 1, 2)] == [0, 0, 0]


@against
@registered
def test_a_seat_may_be_given_for_one_reset(dialect: type[Board], game: Game) -> None:
    for play_as, seat in (("first", 0), ("second", 1)):
        board = dialect(game, opponent="random", play_as=play_as)
        for _ in range(3):
            shown = board.reset()
            assert shown.seat == seat and (shown.opponent_action >= 0) == (seat == 1)
        given = board.reset(play_as="first" if seat else "second")
        assert given.seat == 1 - seat and board.position.ply == given.seat
        assert board.reset().seat == seat
        assert {board.reset(play_as="random").seat for _ in range(50)} == {0, 1}


@against
def test_an_unknown_seat_is_refused_and_the_game_goes_on(dialect: type[Board]) -> None:
    with pytest.raises(ValueError, match=r"play_as must be one of .*'second'.* not 'secnd'; did you mean second"):
        dialect(TTT, play_as="secnd")
    board = dialect(TTT, opponent=Scripted(0, 1))
    board.reset()
    board.step(4)
    for play_as in ("third", "", 1):
        with pytest.raises(ValueError, match="play_as must be"):
            board.reset(play_as=play_as)
    assert board.step(8).opponent_action == 1


@pytest.mark.parametrize("dialect", [Single, Vector], ids=name_of)
def test_where_both_sides_step_there_is_no_seat_to_choose(dialect: type[Board]) -> None:
    for play_as in ("second", "random", "alternate"):
        with pytest.raises(ValueError, match=f"play_as='{play_as}' needs an opponent"):
            dialect(TTT, opponent=None, play_as=play_as)
        with pytest.raises(ValueError, match="needs an opponent"):
            dialect(TTT, opponent=None).reset(play_as=play_as)
    assert dialect(TTT, opponent=None, play_as="first").reset(play_as="first").seat == 0


# Beginnings


@every_dialect
@pytest.mark.parametrize("given", ["4453", Position.from_moves(C4, "4453")], ids=["string", "position"])
def test_a_position_may_be_given_for_one_reset(dialect: type[Board], given: Any) -> None:
    board = dialect(C4, opponent=Recorded([Position.start(C4)]) if dialect.against else None)
    shown = board.reset(position=given)
    position = Position.from_moves(C4, "4453")
    assert_told(board, shown, position, 0, 0, -1, (0, 0, 0, 0))
    board.reset()
    assert board.position == Position.start(C4)
    if dialect.alone:
        assert dialect(C4, opponent=None).reset(position="445").seat == 1
    if dialect.against:
        shown = board.reset(position="445")  # it is the other side's turn
        assert_told(board, shown, Position.from_moves(C4, "4451"), 0, 0, 0, (0, 0, 0, 0))
        assert board.reset(position="4453", play_as="second").opponent_action == 0
        assert board.position == Position.from_moves(C4, "44531")


STARTS = ["4", "44", "4453"]


@pytest.mark.parametrize("dialect", WITH_STARTS, ids=name_of)
@pytest.mark.parametrize(
    "start",
    [
        STARTS,
        tuple(Position.from_moves(C4, moves) for moves in STARTS),
        PositionBatch.of([Position.from_moves(C4, moves) for moves in STARTS]),
    ],
    ids=["strings", "positions", "batch"],
)
def test_one_of_the_starting_positions_is_drawn_at_each_reset(dialect: type[Board], start: Any) -> None:
    board = dialect(C4, opponent=None, start=start)
    drawn = []
    for number in range(300):
        board.reset(seed=8 if number in (0, 150) else None)
        drawn.append(board.position)
    counts = Counter(drawn)
    assert set(counts) == {Position.from_moves(C4, moves) for moves in STARTS}
    assert min(counts.values()) > 60
    assert drawn[:150] == drawn[150:]
    board.reset(position="7")
    assert board.position == Position.from_moves(C4, "7"), "a given position comes before"


@pytest.mark.parametrize("dialect", WITH_STARTS, ids=name_of)
@pytest.mark.parametrize(("game", "start"), [(C4, "random:3"), (TTT, "reachable"), (C4, "empty")])
def test_starting_positions_may_be_given_by_name(dialect: type[Board], game: Game, start: str) -> None:
    named = dialect(game, opponent=None, start=start)
    listed = dialect(game, opponent=None, start=starting_positions(game, start))
    for seed in range(5):
        assert named.reset(seed=seed).listed() == listed.reset(seed=seed).listed()
    assert named.position == listed.position


@pytest.mark.parametrize("dialect", WITH_STARTS, ids=name_of)
def test_the_opponent_moves_first_where_it_is_its_turn(dialect: type[Board]) -> None:
    board = dialect(C4, opponent=Scripted(0, 1), start=["4"], play_as="first")
    assert board.reset()[4:6] == (0, 0)
    assert board.position == Position.from_moves(C4, "41")
    assert board.reset(play_as="second")[4:6] == (1, -1)
    assert board.position == Position.from_moves(C4, "4")


@pytest.mark.parametrize("dialect", WITH_STARTS, ids=name_of)
def test_another_position_is_drawn_where_the_opponent_ends_the_game_at_once(dialect: type[Board]) -> None:
    board = dialect(TTT, opponent="rule", start=["1425", "15"], play_as="second")  # X completes the upper row
    for seed in range(20):
        board.reset(seed=seed)
        assert board.position.ply == 3 and not board.position.is_over
    with pytest.raises(ValueError, match="the opponent ends the game before the learner's first move"):
        dialect(TTT, opponent="rule", start=["1425"], play_as="second").reset()
