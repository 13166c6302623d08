"""Seeds, copies, pickles and saved states in every dialect: whoever goes on from there plays the same games."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np
import pytest
from conftest import breadth, highest, lowest
from dialects import (
    AGAINST,
    DIALECTS,
    Board,
    Shown,
    Single,
    Vector,
    Wrapped,
    against,
    each,
    every_dialect,
    name_of,
    registered,
)

from tictac_env.games import GAMES, Game
from tictac_env.policies import ModelPolicy
from tictac_env.wrappers import Mixture, OpponentPool

TTT, C4 = GAMES["TicTacToe-v0"], GAMES["ConnectFour-v0"]


def go_on(board: Board, number: int = 0) -> list[Shown]:
    """What is told to the end of the game, the legal actions played in turn."""
    told: list[Shown] = []
    while any(board.mask):
        legal = np.flatnonzero(board.mask)
        told.append(board.step(int(legal[(number + len(told)) % len(legal)])))
    return told


def transcript(board: Board, seed: int | None = None, games: int = 5) -> list[list[Any]]:
    """Everything that is told in some games."""
    told = []
    for number in range(games):
        told += [board.reset(seed=seed if number == 0 else None), *go_on(board, number)]
    return [shown.listed() for shown in told]


def seated(dialect: type[Board], game: Game, opponent: Any = "random", play_as: str = "random") -> dict[str, Any]:
    """The keywords for games against `opponent`, where the dialect has such and the learner comes to move."""
    return {"opponent": opponent, "play_as": play_as if game.cells > 1 else "first"} if dialect.against else {}


# Seeds


@pytest.mark.parametrize("play_as", ["random", "alternate"])
@each(AGAINST)
def test_a_seed_brings_the_games_back(dialect: type[Board], game: Game, play_as: str) -> None:
    settings = seated(dialect, game, play_as=play_as)
    board = dialect(game, **settings)
    first = transcript(board, seed=11)
    assert transcript(board, seed=11) == first
    assert transcript(dialect(game, **settings), seed=11) == first
    if game.num_actions > 1 and game.cells > 4:
        assert transcript(board, seed=12) != first
        assert transcript(dialect(game, **settings)) != transcript(dialect(game, **settings)), "without a seed"


OPPONENTS = {
    "random": "random",
    "rule": "rule",
    "pool": OpponentPool(["random", "minimax:2"]),
    "mixture": Mixture(["random", "minimax:2", lowest]),
    "pool of mixtures": OpponentPool([OpponentPool(["random", lowest]), Mixture([highest, "rule"])]),
}


@pytest.mark.parametrize("play_as", breadth(["random", "alternate"], ["first", "second"]))
@pytest.mark.parametrize("opponent", OPPONENTS)
@pytest.mark.parametrize("dialect", [dialect for dialect in AGAINST if dialect is not Single], ids=name_of)
@registered
def test_the_same_seed_plays_the_same_games_in_every_dialect(
    game: Game, dialect: type[Board], opponent: str, play_as: str
) -> None:
    single, board = (one(game, opponent=OPPONENTS[opponent], play_as=play_as) for one in (Single, dialect))
    expected, found = (transcript(one, seed=5, games=8) for one in (single, board))
    told = slice(None) if dialect.tells_outcomes else slice(6)
    assert [shown[told] for shown in found] == [shown[told] for shown in expected]


# Another opponent


CHANGES: dict[str, tuple[Any, Any]] = {
    "random to rule": ("random", "rule"),
    "rule to asked": ("rule", lowest),
    "asked to random": (lowest, "random"),
    "pool to random": (OPPONENTS["pool"], "random"),
    "asked to pool": (highest, OPPONENTS["pool of mixtures"]),
    "pool to smaller pool": (OpponentPool(["random", "rule", highest]), OpponentPool([lowest, "rule"], [1, 4])),
}


@pytest.mark.parametrize("change", CHANGES)
@against
def test_a_replaced_opponent_ends_its_game_and_plays_no_other(dialect: type[Board], change: str) -> None:
    earlier, later = CHANGES[change]
    board, unchanged, fresh = (dialect(C4, opponent=player, play_as="random") for player in (earlier, earlier, later))
    for one in (board, unchanged):
        transcript(one, seed=4, games=3)
        one.reset()
        one.step(3)
    board.env.unwrapped.set_opponent(later)
    board.env.unwrapped.set_opponent(later)
    assert [shown.listed() for shown in go_on(board)] == [shown.listed() for shown in go_on(unchanged)]
    assert transcript(board, seed=5) == transcript(fresh, seed=5)


@against
def test_an_opponent_that_does_not_fit_replaces_none(dialect: type[Board]) -> None:
    board, unchanged = (dialect(TTT, opponent=lowest, play_as="second") for _ in range(2))
    for one in (board, unchanged):
        one.reset(seed=0)
    for unknown in (
        "randm",
        "random:x",
        3,
        OpponentPool(["random", "rule:9"]),
        *([None] if dialect is not Wrapped else []),
    ):
        with pytest.raises(ValueError, match=r"did you mean random|takes no argument|does not play|both sides step"):
            board.env.unwrapped.set_opponent(unknown)
    assert [shown.listed() for shown in go_on(board)] == [shown.listed() for shown in go_on(unchanged)]
    assert transcript(board) == transcript(unchanged)


@each([Single, Vector])
def test_the_state_of_a_game_whose_opponent_was_replaced_is_refused(dialect: type[Board], game: Game) -> None:
    if game.cells < 4:
        return
    board = dialect(game, opponent=OpponentPool(["random", "rule"]))
    board.reset(seed=0)
    env = board.env.unwrapped
    playing = env.state_dict()
    env.set_opponent("rule")
    state = env.state_dict()
    with pytest.raises(ValueError, match="set_opponent"):
        env.load_state_dict(state)
    assert env.state_dict() == state
    if dialect is Single:
        go_on(board)
    else:
        env.reset()  # all boards: they seldom end their games together
    env.load_state_dict(env.state_dict())  # no game under way has a replaced opponent
    if dialect is Single:
        env.load_state_dict(playing | {"member": 0})
        assert env.opponent_name == "rule" and "".join(map(str, env.state_dict()["moves"])) == ""


# Copies and pickles


DUPLICATES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


@pytest.mark.parametrize("duplicate", DUPLICATES)
@each(DIALECTS)
def test_a_duplicate_goes_on_with_the_same_game(dialect: type[Board], game: Game, duplicate: str) -> None:
    if duplicate not in dialect.duplicates:
        return
    board = dialect(game, **seated(dialect, game, play_as="alternate"))
    transcript(board, seed=4, games=2)
    for number in range(3):
        board.reset()
        if game.cells > 4:
            board.step(board.position.legal_actions[number % len(board.position.legal_actions)])
        position, mask = repr(board.position), board.mask
        twin = board.twin(DUPLICATES[duplicate])
        assert repr(twin.position) == position and twin.mask == mask
        told = [shown.listed() for shown in go_on(twin)] + transcript(twin)
        assert repr(board.position) == position and board.mask == mask, "the twin's moves are not the board's"
    assert [shown.listed() for shown in go_on(board)] + transcript(board) == told


@pytest.mark.parametrize("duplicate", DUPLICATES)
@pytest.mark.parametrize("opponent", OPPONENTS)
@against
def test_a_duplicate_goes_on_against_any_opponent(dialect: type[Board], opponent: str, duplicate: str) -> None:
    board = dialect(TTT, opponent=OPPONENTS[opponent], play_as="alternate")
    transcript(board, seed=4, games=3)
    board.reset()
    board.step(board.mask.index(1))
    twin = board.twin(DUPLICATES[duplicate])
    told = [shown.listed() for shown in go_on(twin)] + transcript(twin)
    assert [shown.listed() for shown in go_on(board)] + transcript(board) == told


@each([Single, Vector])
def test_a_saved_state_of_any_moment_is_taken_back(dialect: type[Board], game: Game) -> None:
    for settings in (
        {"opponent": None},
        seated(dialect, game, play_as="alternate"),
        seated(dialect, game, OpponentPool(["random", "rule"]), "first"),
    ):
        board, twin = dialect(game, **settings), dialect(game, **settings)
        states = []
        for seed in range(3):
            board.reset(seed=seed)
            states.append(board.env.unwrapped.state_dict())
            while any(board.mask):
                board.step(board.mask.index(1))
                states.append(board.env.unwrapped.state_dict())
        for state in states:
            twin.env.unwrapped.load_state_dict(json.loads(json.dumps(state)))
            assert twin.env.unwrapped.state_dict() == state
        middle = states[len(states) // 2]
        for one in (board, twin):
            one.begun = True  # type: ignore[attr-defined]
            one.env.unwrapped.load_state_dict(middle)
        assert transcript(board) == transcript(twin)


class Locked:
    """A model that can be neither copied nor pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.asked = 0

    def predict(self, observation: Any, deterministic: bool, action_masks: Any) -> tuple[int, None]:
        self.asked += 1
        return int(np.argmax(action_masks)), None


WRAPS: dict[str, Callable[[Any], Any]] = {
    "model": lambda model: model,
    "ModelPolicy": ModelPolicy,
    "pool": lambda model: OpponentPool([model]),
}


@against
@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps], ids=["pickle", "cloudpickle"])
def test_copies_share_the_opponent_and_pickles_say_that_they_cannot(
    dialect: type[Board], dumps: Callable[[Any], Any], wrap: str
) -> None:
    model = Locked()
    board = dialect(TTT, opponent=WRAPS[wrap](model))
    board.reset(seed=0)
    board.step(4)
    asked = model.asked
    twin = board.twin(copy.deepcopy)
    assert twin.step(8).listed() == board.step(8).listed()
    assert model.asked == asked + 2 * (3 if dialect is Vector else 1)
    with pytest.raises(TypeError, match=r"cannot be pickled, because its opponent .* cannot"):
        dumps(board.env)


@against
def test_copies_keep_the_opponent_of_the_game_under_way_and_that_of_the_next(dialect: type[Board]) -> None:
    board = dialect(C4, opponent=(locked := Locked()), play_as="second")
    board.reset(seed=0)
    board.env.unwrapped.set_opponent(OpponentPool([highest]))
    twin = board.twin(copy.deepcopy)
    for one in (board, twin):
        before = locked.asked
        assert one.step(3).opponent_action == 0 and locked.asked > before, "a copy of the model"
        assert one.reset().opponent_action == 6


@against
def test_cloudpickle_takes_functions_of_any_kind(dialect: type[Board]) -> None:
    board = dialect(TTT, opponent=lambda observation, mask: np.argmax(mask))
    board.reset(seed=0)
    twin = board.twin(lambda env: cloudpickle.loads(cloudpickle.dumps(env)))
    assert twin.step(8).listed() == board.step(8).listed()
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(board.env)


# What is returned


def overwrite(returned: Any) -> None:
    """Writes ones into all arrays."""
    if isinstance(returned, np.ndarray):
        returned[...] = 1
    elif isinstance(returned, (tuple, dict)):
        for part in returned.values() if isinstance(returned, dict) else returned:
            overwrite(part)


@every_dialect
def test_what_is_returned_belongs_to_the_caller(dialect: type[Board]) -> None:
    """Nor does an opponent that writes to what it is shown change anything."""

    def spoil(observation: Any, mask: Any) -> int:
        action = lowest(observation, mask)
        observation[:], mask[:] = 1, 0
        return action

    opponents = (lowest, spoil) if dialect.against else (None, None)
    plain, spoiled = (dialect(C4, opponent=opponent) for opponent in opponents)
    assert plain.reset(seed=0).listed() == spoiled.reset(seed=0).listed()
    while any(plain.mask):
        overwrite(spoiled.returned)
        action = plain.mask.index(1)
        assert plain.step(action).listed() == spoiled.step(action).listed()
