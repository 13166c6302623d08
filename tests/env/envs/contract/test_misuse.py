"""Misuse in every dialect: the documented error, and nothing has changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dialects import DIALECTS, Board, Single, Vector, Wrapped, against, every_dialect, name_of, registered
from gymnasium.error import ResetNeeded

from tictac_env.games import GAMES, Game
from tictac_env.policies import Policy
from tictac_env.position import IllegalMove, Position

TTT, C4 = GAMES["TicTacToe-v0"], GAMES["ConnectFour-v0"]


class Cheat(Policy):
    """Plays the lowest legal action, or what `answer` holds."""

    name = "the cheat"
    answer: Any = ...

    def act(self, position: Position, seed: int) -> Any:
        return position.legal_actions[0] if self.answer is ... else self.answer


def opposed(dialect: type[Board], opponent: Any = None) -> dict[str, Any]:
    """The keyword `opponent`, where the dialect has one."""
    return {"opponent": opponent or Cheat()} if dialect.against else {"opponent": None}


def go_on(board: Board) -> list[Any]:
    """Everything that is told to the end of the game, the lowest legal actions played."""
    told = [board.step(board.mask.index(1)).listed()]
    while any(board.mask):
        told.append(board.step(board.mask.index(1)).listed())
    return told


# Actions


@every_dialect
@pytest.mark.parametrize(
    "action", [4, np.int64(4), np.int8(4), np.int32(4), np.uint8(4), np.array(4), np.array(4, np.int16)], ids=repr
)
def test_integers_of_every_kind_are_actions(dialect: type[Board], action: Any) -> None:
    board = dialect(TTT, **opposed(dialect))
    board.reset()
    board.step(action)
    assert board.position.to_array()[1, 1] == 1
    assert all(type(stones) is int for stones in board.position.stones)
    assert all(type(move) is int for move in board.position.recent_moves)


NOT_ACTIONS = [
    *(4.0, float("nan"), float("inf"), True, False, None, "4", -1, 9, 2**63, -(2**70), [4], (4,), {}, 4j),
    *(np.array([4]), np.array([[4]]), np.array([], int), np.float32(4), np.array(4.0), np.bool_(True)),
    *(np.int64(-1), np.int64(9), np.array(9)),
]


@every_dialect
@pytest.mark.parametrize("action", NOT_ACTIONS, ids=repr)
@pytest.mark.parametrize("illegal", ["lose", "raise"])
def test_what_is_no_action_raises_and_changes_nothing(dialect: type[Board], illegal: str, action: Any) -> None:
    board, undisturbed = (dialect(TTT, illegal=illegal, **opposed(dialect, "random")) for _ in range(2))
    for one in (board, undisturbed):
        one.reset(seed=1)
        one.step(4)
    before = repr(board.position)
    with pytest.raises(ValueError, match=r"actions? must (be|have)") as error:
        board.step(action)
    assert not isinstance(error.value, IllegalMove)
    assert repr(board.position) == before
    assert go_on(board) == go_on(undisturbed)


# When no game is under way


@every_dialect
@registered
def test_a_step_needs_a_game_under_way(dialect: type[Board], game: Game) -> None:
    board, undisturbed = (dialect(game, **opposed(dialect, "random")) for _ in range(2))
    assert not any(board.mask) and len(board.mask) == game.num_actions
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        board.step(0)
    for one in (board, undisturbed):
        one.reset(seed=1)
        go_on(one)
    position = repr(board.position)
    for _ in range(2):
        with pytest.raises(ResetNeeded):
            board.step(0)
    assert repr(board.position) == position and not any(board.mask)
    for one in (board, undisturbed):
        one.reset()
    assert go_on(board) == go_on(undisturbed)


# Options and arguments


@every_dialect
@pytest.mark.parametrize(
    ("position", "message"),
    [
        ("1212121", "no game can begin in the finished position"),
        (Position.start(TTT), "is not a position of this environment's game"),
        ("x", "move 1 of 'x' is 'x'"),
        ("48", "move 2 of '48' is '8'"),
        ("4444444", "move 7 of '4444444': column 4 is full"),
        (12, "a position must be a Position or a move string, not 12|position must be a single value"),
    ],
)
def test_an_impossible_position_is_refused_and_the_game_goes_on(
    dialect: type[Board], position: Any, message: str
) -> None:
    board, undisturbed = (dialect(C4, **opposed(dialect, "random")) for _ in range(2))
    for one in (board, undisturbed):
        one.reset(seed=1)
        one.step(3)
    with pytest.raises(ValueError, match=message):
        board.reset(seed=2, position=position)
    assert repr(board.position) == repr(undisturbed.position)
    if dialect is Wrapped:
        board.reset(seed=1)  # the environment inside has begun nothing, but the wrapper gives the game up
        board.step(3)
    assert go_on(board) == go_on(undisturbed)


@pytest.mark.parametrize("dialect", [Single, Vector], ids=name_of)
def test_an_unknown_option_is_refused_and_the_game_goes_on(dialect: type[Board]) -> None:
    board, undisturbed = (dialect(C4, opponent="random") for _ in range(2))
    for one in (board, undisturbed):
        one.reset(seed=1)
        one.step(3)
    with pytest.raises(ValueError, match=r"options key must be one of .* not 'postion'; did you mean position"):
        board.reset(seed=2, postion="44")
    assert go_on(board) == go_on(undisturbed)


ARGUMENTS: list[tuple[str, Any, str]] = [
    ("opponent", "rndom", "did you mean random"),
    ("opponent", "chess", "no policy is called 'chess'"),
    *(("opponent", value, "does not play") for value in (object(), 3, ["random"])),
    ("illegal", "rise", "illegal must be one of 'lose', 'raise', not 'rise'; did you mean raise"),
    *(
        ("rewards", value, r"rewards must be finite numbers \(win, draw, loss\)")
        for value in ((), (1,), (1, 0), (1, 0, -1, 0, 0), (1, 0, float("nan")), (1, float("inf"), 0), None, 1, "abc")
    ),
    ("start", [], "start is empty"),
    ("start", "44", "list of positions, not '44'"),
    ("start", "random:", "'random:8' or a list of positions, not 'random:'"),
    ("start", "random:PLIES", "not 'random:PLIES'"),
    ("start", Position.start(C4), "'random:8' or a list of positions, not"),
    ("start", ["1212121"], "no game can begin in the finished position"),
    ("start", [Position.start(TTT)], "is not a position of this environment's game"),
    ("start", [3], "a position must be a Position or a move string, not 3"),
    ("start", ["48"], "move 2 of '48' is '8'"),
    ("start", ["44", "4444444"], "column 4 is full"),
    ("start", 5, "start must be .* not 5"),
]


@pytest.mark.parametrize(
    ("dialect", "name", "value", "message"),
    [
        (dialect, *row)
        for dialect in DIALECTS
        for row in ARGUMENTS
        if row[0] in dialect.settings and (dialect.against or row[0] != "opponent")
    ],
    ids=lambda value: name_of(value) if isinstance(value, type) else None,
)
def test_a_wrong_argument_is_named(dialect: type[Board], name: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dialect(C4, **{name: value})


# Opponents that break the rules


ILLEGAL_ANSWERS = [0, 9, 100, -1, 1.0, None, True, "1", np.array([1]), float("nan")]


@against
@pytest.mark.parametrize("answer", ILLEGAL_ANSWERS, ids=repr)
def test_an_illegal_move_of_the_opponent_raises_naming_it(dialect: type[Board], answer: Any) -> None:
    cheat = Cheat()
    board, undisturbed = dialect(TTT, opponent=cheat), dialect(TTT, opponent=Cheat())
    for one in (board, undisturbed):
        one.reset()
        one.step(4)
    before = repr(board.position), board.mask
    cheat.answer = answer
    with pytest.raises(ValueError, match="the cheat"):
        board.step(8)
    cheat.answer = ...
    if dialect.survives_opponents:
        assert (repr(board.position), board.mask) == before
    else:
        assert not any(board.mask)
        for action in range(9):  # it is not for the learner to play the opponent's move
            with pytest.raises(ResetNeeded):
                board.step(action)
        board.reset()
        board.step(4)
    assert go_on(board) == go_on(undisturbed)


@against
def test_a_game_that_the_opponent_always_ends_at_once_is_refused(dialect: type[Board]) -> None:
    board = dialect(TTT, opponent="rule")
    board.reset()
    with pytest.raises(ValueError, match=r"before the learner's first move"):
        board.reset(position="1425", play_as="second")
    assert board.reset(position="1425", play_as="first").seat == 0
