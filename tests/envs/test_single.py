"""The Gymnasium environment: every keyword, every info key, every rule of a game against an opponent or alone."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import ALL_GAMES, make_env, playout, title
from hypothesis import given, settings
from hypothesis import strategies as st

from tictac_env.envs.shipped import TicTacToeEnv
from tictac_env.games import Game, KInARow, get_game
from tictac_env.policies import FunctionPolicy, ModelPolicy, Policy, RandomPolicy, RulePolicy
from tictac_env.position import IllegalMove, Position, PositionBatch
from tictac_env.rng import advance, mix, new_state

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
every_game = pytest.mark.parametrize("game", ALL_GAMES, ids=title)


class Scripted(Policy):
    """Plays the given answers, the n-th as its n-th move of a game, whatever they are."""

    def __init__(self, *answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[Position, int]] = []

    def act(self, position: Position, seed: int) -> int:
        self.asked.append((position, seed))
        answer: int = self.answers[position.ply // 2]
        return answer


def lowest(observation: Any, mask: npt.NDArray[np.int8]) -> int:
    """The lowest legal action."""
    return int(np.flatnonzero(mask)[0])


def play(env: gym.Env[Any, Any], *actions: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """The last of several steps; none of the earlier ones may end the game."""
    for action in actions[:-1]:
        assert env.step(action)[2:4] == (False, False)
    observation, reward, terminated, truncated, info = env.step(actions[-1])
    return observation, float(reward), terminated, truncated, info


def seen(position: Position, seat: int, obs_type: str) -> Any:
    """What `seat` must observe."""
    board = position.to_array()
    mine, theirs = (board == 1 + seat).astype(np.int8), (board == 2 - seat).astype(np.int8)
    return {"planes": np.stack([mine, theirs]), "board": mine - theirs, "code": position.code}[obs_type]


def obs_types(game: Game) -> list[str]:
    return ["planes", "board", "code"] if game.cells <= 39 else ["planes", "board"]


# Observations and masks


@every_game
@given(seed=st.integers(0, 2**32))
@settings(max_examples=10)
def test_observations_show_the_position_to_the_learner(game: Game, seed: int) -> None:
    for obs_type in obs_types(game):
        for play_as in ("first", "second"):
            if game.cells == 1 and play_as == "second":
                continue
            env = make_env(game, obs_type=obs_type, play_as=play_as)
            observation, info = env.reset(seed=seed)
            for choice in range(game.cells + 1):
                position = env.unwrapped.position
                assert observation in env.observation_space
                assert np.array_equal(observation, seen(position, info["seat"], obs_type))
                legal = position.legal_actions
                assert np.flatnonzero(info["action_mask"]).tolist() == list(legal)
                if not legal:
                    break
                observation, *_, info = env.step(legal[(seed + choice) % len(legal)])
            assert position.is_over


@every_game
@given(seed=st.integers(0, 2**32))
@settings(max_examples=5)
def test_observations_are_right_wherever_a_game_begins(game: Game, seed: int) -> None:
    positions = [*playout(game, seed)[:-1], *playout(game, seed + 1)[:-1]]
    random.Random(seed).shuffle(positions)
    for obs_type in obs_types(game):
        env = make_env(game, opponent=None, obs_type=obs_type)
        for position in positions:
            observation, info = env.reset(options={"position": position})
            assert info["seat"] == position.seat
            assert np.array_equal(observation, seen(position, position.seat, obs_type))


def test_spaces() -> None:
    env = gym.make(C4)
    assert env.observation_space == gym.spaces.Box(0, 1, (2, 6, 7), np.int8)
    assert env.action_space == gym.spaces.Discrete(7)
    assert gym.make(C4, obs_type="board").observation_space == gym.spaces.Box(-1, 1, (6, 7), np.int8)
    assert gym.make(TTT, obs_type="code").observation_space == gym.spaces.Discrete(3**9)


def test_codes_that_do_not_fit_are_refused() -> None:
    gym.make("KInARow-v0", rows=3, cols=13, connect=3, obs_type="code")
    with pytest.raises(ValueError, match="at most 39 cells, and this board has 42"):
        gym.make(C4, obs_type="code")
    with pytest.raises(ValueError, match="obs_type 'plane' is unknown; did you mean planes"):
        gym.make(C4, obs_type="plane")


@every_game
@given(seed=st.integers(0, 2**32))
@settings(max_examples=25)
def test_the_mask_is_the_set_of_accepted_moves(game: Game, seed: int) -> None:
    env = make_env(game, opponent=None, illegal="raise")
    for position in playout(game, seed)[:-1]:
        _, info = env.reset(options={"position": position})
        mask = info["action_mask"]
        assert mask.dtype == np.int8 and mask.shape == (game.num_actions,)
        assert set(mask.tolist()) <= {0, 1}
        assert np.array_equal(env.unwrapped.action_masks(), mask)
        for action in range(game.num_actions):
            if mask[action]:
                *_, terminated, _, after = env.step(action)
                assert terminated == (not after["action_mask"].any())
                env.reset(options={"position": position})
            else:
                with pytest.raises(IllegalMove, match=f"action {action}, illegal here"):
                    env.step(action)


def test_the_mask_is_all_zero_before_the_first_reset_and_after_every_end() -> None:
    env = gym.make(TTT, opponent=None)
    assert not env.unwrapped.action_masks().any()
    for moves in ([0, 3, 1, 4, 2], [0, 0]):  # a win, an illegal move
        env.reset()
        info = play(env, *moves)[4]
        assert not info["action_mask"].any()
        assert not env.unwrapped.action_masks().any()


# Seats


@pytest.mark.parametrize(("play_as", "seat"), [("first", 0), ("second", 1)])
def test_fixed_seats(play_as: str, seat: int) -> None:
    env = gym.make(C4, play_as=play_as, opponent=Scripted(4))
    for _ in range(3):
        _, info = env.reset()
        assert info["seat"] == seat
        assert info["opponent_action"] == (4 if seat else -1)
        assert env.unwrapped.position == Position.from_moves(C4, "5" if seat else "")


def test_random_seats_are_drawn_at_each_reset() -> None:
    env = gym.make(TTT, play_as="random")
    seats = [env.reset(seed=7)[1]["seat"], *(env.reset()[1]["seat"] for _ in range(399))]
    assert 150 < sum(seats) < 250
    assert seats == [env.reset(seed=7)[1]["seat"], *(env.reset()[1]["seat"] for _ in range(399))]


def test_alternate_seats_start_again_with_a_seeded_reset() -> None:
    env = gym.make(TTT, play_as="alternate")
    assert [env.reset()[1]["seat"] for _ in range(5)] == [0, 1, 0, 1, 0]
    assert [env.reset(seed=3)[1]["seat"], *(env.reset()[1]["seat"] for _ in range(2))] == [0, 1, 0]
    assert [env.reset(seed=seed)[1]["seat"] for seed in (1, 1, 2)] == [0, 0, 0]


def test_a_seat_may_be_given_for_one_reset() -> None:
    env = gym.make(TTT, play_as="first")
    assert env.reset(options={"play_as": "second"})[1]["seat"] == 1
    assert env.reset()[1]["seat"] == 0
    assert {env.reset(options={"play_as": "random"})[1]["seat"] for _ in range(50)} == {0, 1}


def test_unknown_seats_are_refused() -> None:
    with pytest.raises(ValueError, match=r"play_as must be one of .*'second'.* not 'secnd'; did you mean second"):
        gym.make(TTT, play_as="secnd")
    env = gym.make(TTT)
    with pytest.raises(ValueError, match="play_as must be one of"):
        env.reset(options={"play_as": 1})


# Opponents


class Model:
    """A model with `predict` that plays the lowest legal action of the planes it is shown."""

    def predict(self, observation: Any, deterministic: bool = False) -> tuple[Any, None]:
        assert deterministic
        assert observation.shape == (2, 3, 3)
        return np.array(lowest(None, 1 - observation.sum(0).reshape(-1))), None


class MaskedModel:
    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[Any, None]:
        assert deterministic
        return np.int64(lowest(None, action_masks)), None


class FlatModel:
    """As Stable-Baselines3's models are: with the space it was trained on, here flattened."""

    observation_space = gym.spaces.Box(0, 1, (18,), np.int8)

    def predict(self, observation: Any, deterministic: bool = False) -> tuple[Any, None]:
        assert observation.shape == (18,) and observation.dtype == np.int8
        return np.array(lowest(None, 1 - observation[:9] - observation[9:])), None


class BoardModel:
    observation_space = gym.spaces.Box(-1, 1, (3, 3), np.int8)

    def predict(self, observation: Any, deterministic: bool = False) -> tuple[Any, None]:
        return lowest(None, observation.reshape(-1) == 0), None


class CodeModel:
    observation_space = gym.spaces.Discrete(3**9)

    def predict(self, observation: Any, deterministic: bool = False) -> tuple[Any, None]:
        return Position.from_code(TTT, observation).legal_actions[0], None


@pytest.mark.parametrize(
    "opponent",
    [
        lowest,
        lambda observation, mask: np.argmax(mask),
        lambda observation, mask: np.array(np.argmax(mask)),
        lambda observation, mask: np.int32(np.argmax(mask)),
        FunctionPolicy(lowest),
        Model(),
        MaskedModel(),
        FlatModel(),
        BoardModel(),
        CodeModel(),
        ModelPolicy(Model()),
        Scripted(0, 2, 3),
    ],
)
def test_everything_that_plays_can_be_the_opponent(opponent: Any) -> None:
    env = gym.make(TTT, opponent=opponent, play_as="second")
    _, info = env.reset()
    assert info["opponent_action"] == 0
    assert type(info["opponent_action"]) is int
    for action, reply in ((1, 2), (4, 3)):
        *_, info = env.step(action)
        assert info["opponent_action"] == reply
    assert all(type(stones) is int for stones in env.unwrapped.position.stones)


@pytest.mark.parametrize("policy", [RandomPolicy(), RulePolicy()])
def test_a_name_and_the_policy_of_that_name_play_the_same(policy: Policy) -> None:
    games = []
    for opponent in (policy, str(policy)):
        env = gym.make(C4, opponent=opponent, play_as="random")
        env.reset(seed=5)
        terminated = False
        while not terminated:
            _, _, terminated, _, _ = env.step(int(np.flatnonzero(env.unwrapped.action_masks())[-1]))
        games.append(env.unwrapped.position.to_moves())
    assert games[0] == games[1]


def test_a_policy_derived_from_a_named_one_plays_by_its_own_rule() -> None:
    class Corner(RandomPolicy):
        def act(self, position: Position, seed: int) -> int:
            return position.legal_actions[-1]

    env = gym.make(TTT, opponent=Corner(), play_as="second")
    assert {env.reset(seed=seed)[1]["opponent_action"] for seed in range(5)} == {8}


@pytest.mark.parametrize("obs_type", ["planes", "board", "code"])
def test_a_function_sees_the_board_from_its_own_side(obs_type: str) -> None:
    shown: list[Any] = []

    def spy(observation: Any, mask: npt.NDArray[np.int8]) -> int:
        shown.append((observation, mask))
        return lowest(observation, mask)

    env = gym.make(TTT, opponent=spy, obs_type=obs_type)
    env.reset()
    play(env, 4, 8)
    for (observation, mask), moves in zip(shown, ("5", "519"), strict=True):
        position = Position.from_moves(TTT, moves)
        assert np.array_equal(observation, seen(position, 1, obs_type))
        assert np.flatnonzero(mask).tolist() == list(position.legal_actions)


def test_opponents_see_the_history_and_get_seeds_in_a_fixed_order() -> None:
    """The board's state is advanced for the start, then for the seat, then before each move of the opponent."""
    starts = ["", "44", "4444"]
    for seed in range(12):
        states = [new_state(seed)]
        for _ in range(3):
            states.append(advance(states[-1]))
        for_start, for_seat, for_move = map(mix, states[1:])
        opponent = Scripted(6, 6, 6)
        env = gym.make(C4, opponent=opponent, start=starts, play_as="random")
        _, info = env.reset(seed=seed)
        if info["seat"] == 0:
            env.step(0)
        position, drawn = opponent.asked[0]
        assert position.to_moves() == starts[for_start % 3] + ("1" if info["seat"] == 0 else "")
        assert len(position.moves) == position.ply
        assert info["seat"] == for_seat & 1
        assert drawn == for_move


def test_models_that_see_another_board_are_refused() -> None:
    env = gym.make(C4, opponent=FlatModel(), play_as="second")
    with pytest.raises(ValueError, match=r"no observation of .* fits the model's observation space"):
        env.reset()


@pytest.mark.parametrize("opponent", ["rndom", "chess", object(), 3, ["random"]])
def test_what_does_not_play_is_refused(opponent: Any) -> None:
    with pytest.raises(ValueError, match=r"did you mean random|no policy is called 'chess'|does not play"):
        gym.make(TTT, opponent=opponent)


@pytest.mark.parametrize("answer", [0, 3, 4, 9, 100, -1, 1.0, None, True, "1", np.array([1]), float("nan")], ids=repr)
def test_an_illegal_move_of_the_opponent_raises_naming_it(answer: Any) -> None:
    opponent = Scripted(3, answer)
    opponent.name = "the fool"
    env = gym.make(TTT, opponent=opponent)
    env.reset()
    env.step(4)
    before = repr(env.unwrapped.position), env.unwrapped.action_masks().tolist()
    with pytest.raises(IllegalMove, match="the fool chose"):
        env.step(0)
    assert (repr(env.unwrapped.position), env.unwrapped.action_masks().tolist()) == before
    opponent.answers = (3, 8)
    assert env.step(0)[4]["opponent_action"] == 8


@pytest.mark.parametrize("answer", [7, 9, 100, -1, 1.5, None, True], ids=repr)
def test_an_illegal_first_move_of_the_opponent_leaves_the_last_game(answer: Any) -> None:
    opponent = Scripted(3, 3)
    env = gym.make(C4, opponent=opponent, play_as="second")
    env.reset()
    opponent.answers = (answer, 3)
    with pytest.raises(IllegalMove, match="Scripted chose"):
        env.reset()
    assert repr(env.unwrapped.position) == repr(Position.from_moves(C4, "4"))
    assert env.step(0)[4]["opponent_action"] == 3


# Rewards and ends

WIN, DRAW, LOSS = [0, 1, 2], [4, 1, 6, 5, 8], [0, 1, 8]
OPPONENT = {"win": (3, 4), "draw": (0, 7, 2, 3), "loss": (3, 4, 5)}


@pytest.mark.parametrize(("how", "actions", "outcome"), [("win", WIN, 1), ("draw", DRAW, 0), ("loss", LOSS, -1)])
@pytest.mark.parametrize("rewards", [None, (1, 0, -1), (5, 2, -3), (10, 0.5, -10, -0.25), np.array([3, 2, 1])])
def test_rewards(how: str, actions: list[int], outcome: int, rewards: Any) -> None:
    env = gym.make(TTT, opponent=Scripted(*OPPONENT[how]), **({} if rewards is None else {"rewards": rewards}))
    win, draw, loss, step = (*((1, 0, -1) if rewards is None else rewards), 0)[:4]
    env.reset()
    for action in actions[:-1]:
        _, reward, terminated, truncated, info = env.step(action)
        assert reward == step and not terminated and not truncated
        assert info["opponent_action"] in OPPONENT[how]
        assert set(info) == {"action_mask", "seat", "opponent_action"}
    observation, reward, terminated, truncated, info = env.step(actions[-1])
    assert reward == {1: win, 0: draw, -1: loss}[outcome]
    assert isinstance(reward, float)
    assert terminated is True and truncated is False
    assert info["outcome"] == outcome and info["seat"] == 0
    assert (info["opponent_action"] == -1) == (how != "loss")
    assert "illegal_action" not in info
    assert np.array_equal(observation, seen(env.unwrapped.position, 0, "planes"))


def test_the_second_player_can_win_too() -> None:
    env = gym.make(TTT, opponent=Scripted(0, 1, 8), play_as="second", rewards=(7, 0, -7))
    env.reset()
    _, reward, terminated, _, info = play(env, 3, 4, 5)
    assert (reward, terminated, info["outcome"], info["seat"]) == (7, True, 1, 1)


@pytest.mark.parametrize(
    "rewards", [(), (1,), (1, 0), (1, 0, -1, 0, 0), (1, 0, float("nan")), (1, float("inf"), 0), None, 1, "abc"]
)
def test_bad_rewards_are_refused(rewards: Any) -> None:
    with pytest.raises(ValueError, match=r"rewards must be finite numbers \(win, draw, loss\)"):
        gym.make(TTT, rewards=rewards)


# Illegal moves of the learner


@pytest.mark.parametrize("play_as", ["first", "second"])
def test_an_illegal_move_loses(play_as: str) -> None:
    env = gym.make(TTT, opponent=Scripted(8, 7), play_as=play_as, rewards=(1, 0, -5))
    _, info = env.reset()
    env.step(4)
    before = env.unwrapped.position
    observation, reward, terminated, truncated, info = env.step(4)
    assert (reward, terminated, truncated) == (-5, True, False)
    assert info["outcome"] == -1 and info["illegal_action"] == 4 and info["opponent_action"] == -1
    assert info["seat"] == (play_as == "second")
    assert not info["action_mask"].any()
    assert repr(env.unwrapped.position) == repr(before)
    assert np.array_equal(observation, seen(before, info["seat"], "planes"))
    env.reset()
    assert env.step(4)[2] is False


def test_an_illegal_move_raises_and_changes_nothing() -> None:
    env = gym.make(C4, opponent=Scripted(3, 3, 3, 0, 0), illegal="raise")
    env.reset(seed=0)
    play(env, 3, 3, 3)
    before = env.unwrapped.position
    with pytest.raises(
        IllegalMove, match=r"action 3, illegal here \(legal are 0, 1, 2, 4, 5, 6\): Position.from_moves"
    ):
        env.step(3)
    assert repr(env.unwrapped.position) == repr(before)
    assert env.step(4)[2] is False


def test_unknown_ways_with_illegal_moves_are_refused() -> None:
    with pytest.raises(ValueError, match="illegal must be one of 'lose', 'raise', not 'rise'; did you mean raise"):
        gym.make(TTT, illegal="rise")


# Starting positions

STARTS = ["4", "44", "4453"]


@pytest.mark.parametrize(
    "start",
    [
        STARTS,
        tuple(Position.from_moves(C4, moves) for moves in STARTS),
        PositionBatch.of([Position.from_moves(C4, moves) for moves in STARTS]),
    ],
    ids=["strings", "positions", "batch"],
)
def test_one_of_the_starting_positions_is_drawn_at_each_reset(start: Any) -> None:
    env = gym.make(C4, opponent=None, start=start)
    drawn = []
    for number in range(300):
        env.reset(seed=8 if number in (0, 150) else None)
        drawn.append(env.unwrapped.position)
    counts = Counter(drawn)
    assert set(counts) == {Position.from_moves(C4, moves) for moves in STARTS}
    assert min(counts.values()) > 60
    assert drawn[:150] == drawn[150:]


def test_the_opponent_moves_first_where_it_is_its_turn() -> None:
    env = gym.make(C4, opponent=Scripted(0, 1), start=["4"], play_as="first")
    _, info = env.reset()
    assert (info["seat"], info["opponent_action"]) == (0, 0)
    assert env.unwrapped.position == Position.from_moves(C4, "41")
    _, info = env.reset(options={"play_as": "second"})
    assert (info["seat"], info["opponent_action"]) == (1, -1)
    assert env.unwrapped.position == Position.from_moves(C4, "4")


def test_another_position_is_drawn_where_the_opponent_ends_the_game_at_once() -> None:
    env = gym.make(TTT, opponent="rule", start=["1425", "15"], play_as="second")  # X completes the upper row
    for seed in range(20):
        env.reset(seed=seed)
        assert env.unwrapped.position.ply == 3 and not env.unwrapped.position.is_over
    hopeless = gym.make(TTT, opponent="rule", start=["1425"], play_as="second")
    with pytest.raises(ValueError, match="the opponent ends the game before the learner's first move"):
        hopeless.reset()


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([], "start is empty"),
        ("44", "not one; try start="),
        (Position.start(C4), "not one; try start="),
        (["1212121"], "no game can begin in the finished position"),
        ([Position.start(TTT)], "is not a position of this environment's game"),
        ([3], "a position must be a Position or a move string, not 3"),
        (["48"], "move 2 of '48' is '8'"),
        (["44", "4444444"], "action 3, illegal here"),
        (5, "start must be a sequence"),
    ],
)
def test_impossible_starts_are_refused(start: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.make(C4, start=start)


@pytest.mark.parametrize("position", ["4453", Position.from_moves(C4, "4453")])
def test_a_position_may_be_given_for_one_reset(position: Any) -> None:
    env = gym.make(C4, opponent=None, start=["4"])
    env.reset(options={"position": position})
    assert env.unwrapped.position == Position.from_moves(C4, "4453")
    assert env.unwrapped.position.moves == (3, 3, 4, 2)
    env.reset()
    assert env.unwrapped.position == Position.from_moves(C4, "4")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"postion": "44"}, "options key must be one of .* not 'postion'; did you mean position"),
        ({"position": "1212121"}, "no game can begin in the finished position"),
        ({"position": Position.start(TTT)}, "is not a position of this environment's game"),
        ({"position": "x"}, "move 1 of 'x' is 'x'"),
        ({"position": 12}, "a position must be a Position or a move string, not 12"),
        ({"play_as": "third"}, "play_as must be one of"),
    ],
)
def test_impossible_options_are_refused_and_the_game_goes_on(options: dict[str, Any], message: str) -> None:
    env = gym.make(C4, opponent=Scripted(0, 1))
    env.reset(seed=1)
    env.step(3)
    with pytest.raises(ValueError, match=message):
        env.reset(seed=2, options=options)
    assert repr(env.unwrapped.position) == repr(Position.from_moves(C4, "41"))
    assert env.step(3)[4]["opponent_action"] == 1


# Both sides step


@pytest.mark.parametrize("obs_type", ["planes", "board", "code"])
def test_without_an_opponent_the_reward_is_the_movers_and_the_observation_the_next_players(obs_type: str) -> None:
    env = gym.make(TTT, opponent=None, obs_type=obs_type, rewards=(1, 0, -1, 0.5))
    observation, info = env.reset()
    assert info["seat"] == 0
    for ply, action in enumerate([0, 3, 1, 4, 2], start=1):
        observation, reward, terminated, _, info = env.step(action)
        assert info["seat"] == ply % 2 and info["opponent_action"] == -1
        assert np.array_equal(observation, seen(env.unwrapped.position, ply % 2, obs_type))
        assert reward == (1 if ply == 5 else 0.5)
        assert terminated == (ply == 5)
        assert ("outcome" in info) == terminated
    assert info["outcome"] == 1


def test_without_an_opponent_a_draw_is_one_for_both() -> None:
    env = gym.make(TTT, opponent=None, rewards=(1, 0.25, -1))
    env.reset()
    _, reward, terminated, _, info = play(env, 0, 1, 2, 4, 3, 5, 7, 6, 8)
    assert (reward, terminated, info["outcome"], info["seat"]) == (0.25, True, 0, 1)


def test_without_an_opponent_an_illegal_move_loses_for_the_mover() -> None:
    env = gym.make(TTT, opponent=None)
    env.reset()
    observation, reward, terminated, _, info = play(env, 4, 0, 4)
    assert (reward, terminated) == (-1, True)
    assert (info["outcome"], info["illegal_action"], info["seat"]) == (-1, 4, 1)
    assert np.array_equal(observation, seen(Position.from_moves(TTT, "51"), 1, "planes"))


def test_without_an_opponent_there_is_no_seat_to_choose() -> None:
    for play_as in ("second", "random", "alternate"):
        with pytest.raises(ValueError, match=f"play_as='{play_as}' needs an opponent"):
            gym.make(TTT, opponent=None, play_as=play_as)
        env = gym.make(TTT, opponent=None)
        with pytest.raises(ValueError, match="needs an opponent"):
            env.reset(options={"play_as": play_as})
    assert gym.make(TTT, opponent=None, play_as="first").reset(options={"play_as": "first"})[1]["seat"] == 0
    assert gym.make(TTT, opponent=None).reset(options={"position": "5"})[1]["seat"] == 1


# Sizes and pictures


def test_sizes_of_the_general_game() -> None:
    assert gym.make("KInARow-v0").unwrapped.position == Position.start(C4)
    env = gym.make("KInARow-v0", rows=3, cols=3, connect=3, gravity=False)
    assert env.unwrapped.position == Position.start(TTT)
    assert gym.make("KInARow-v0", rows=4).unwrapped.game == KInARow.make(4, 7, 4, True)
    with pytest.raises(ValueError, match="needs 72 bits"):
        gym.make("KInARow-v0", rows=8, cols=8)


def test_the_ansi_picture_is_the_position_as_text() -> None:
    env = gym.make(C4, opponent=None, render_mode="ansi")
    env.reset()
    env.step(3)
    assert env.render() == str(Position.from_moves(C4, "4"))


def test_the_pixels_are_an_image_that_shows_each_move(game: Game) -> None:
    env = make_env(game, opponent=None, render_mode="rgb_array")
    env.reset()
    before = env.render()
    env.step(0)
    after = env.render()
    for image in (before, after):
        assert isinstance(image, np.ndarray)
        assert image.dtype == np.uint8 and image.shape == before.shape and image.shape[2] == 3
    assert not np.array_equal(before, after)


def test_render_modes() -> None:
    with pytest.raises(ValueError, match="render_mode must be one of 'human', 'ansi', 'rgb_array', not 'ascii'"):
        TicTacToeEnv(get_game(TTT), render_mode="ascii")
    env = gym.make(TTT)
    env.reset()
    with pytest.warns(UserWarning, match="without a render mode"):
        assert env.render() is None
