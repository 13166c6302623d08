"""Pools and mixtures of opponents: what is drawn, how often, and what copies share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from scipy.stats import chisquare

from tictac_env.arena import play_match, verdict
from tictac_env.games import get_game
from tictac_env.policies import Policy, RandomPolicy, check_policy, make_policy
from tictac_env.position import IllegalMove, Position
from tictac_env.rng import mix
from tictac_env.wrappers import Mixture, OpponentPolicyEnv, OpponentPool

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"


class Always(Policy):
    """Plays one column as long as it is open, then the next one."""

    def __init__(self, column: int) -> None:
        self.column = column
        self.name = f"always {column}"

    def act(self, position: Position, seed: int) -> int:
        legal = position.legal_actions
        return min(legal, key=lambda action: (action - self.column) % position.game.num_actions)


def zero(observation: Any, mask: Any) -> int:
    return int(np.argmax(mask))


def first_replies(env: gym.Env[Any, Any], games: int, seed: int | None = None) -> list[int]:
    """The opponent's first moves of some games."""
    return [env.reset(seed=seed if game == 0 else None)[1]["opponent_action"] for game in range(games)]


both = pytest.mark.parametrize("cls", [Mixture, OpponentPool])


# What is drawn


@pytest.mark.parametrize("weights", [None, [1, 1, 1], [0.5, 0.3, 0.2], [1, 0, 3], [1e-9, 2e-9, 1e-9]])
@both
def test_weights_are_respected(cls: type[Mixture], weights: Sequence[float] | None) -> None:
    pool = cls(["random", "rule", zero], weights)
    counts = Counter(pool.draw(mix(seed)) for seed in range(6000))
    shares = np.array(pool.weights) / sum(pool.weights)
    drawn = np.array([counts[number] for number in range(3)])
    assert not drawn[shares == 0].any()
    assert chisquare(drawn[shares > 0], 6000 * shares[shares > 0]).pvalue > 0.001


@both
def test_the_lowest_and_highest_seeds_draw_members(cls: type[Mixture]) -> None:
    pool = cls(["random", "rule", "minimax"], [0, 1, 1])
    assert (pool.draw(0), pool.draw(2**63 - 1)) == (1, 2)


def test_a_mixture_is_drawn_for_each_move() -> None:
    env = gym.make(C4, opponent=Mixture([Always(0), Always(3)]), play_as="second")
    games = set()
    for seed in range(200):
        replies = [env.reset(seed=seed)[1]["opponent_action"]]
        replies += [env.step(column)[4]["opponent_action"] for column in (6, 5)]
        games.add(tuple(replies))
    assert games == {(a, b, c) for a in (0, 3) for b in (0, 3) for c in (0, 3)}


@both
def test_it_is_a_policy(cls: type[Mixture]) -> None:
    check_policy(cls(["random", "rule", "minimax"], [1, 2, 3]))
    check_policy(cls(["random", "rule"]), C4)
    assert isinstance(make_policy("random"), Policy) and issubclass(cls, Policy)
    with pytest.warns(UserWarning, match="no `probabilities`"):
        check_policy(cls([zero, "random"]))


# Members and weights


@pytest.mark.parametrize(
    "weights",
    [[1], [1, 2, 3], [0, 0], [1e308] * 2, 3, [], *([1, one] for one in (-1, float("nan"), float("inf"), "much", None))],
)
@both
def test_impossible_weights_are_refused(cls: type[Mixture], weights: Any) -> None:
    with pytest.raises(ValueError, match=f"a {cls.name} of 2 needs 2 weights, none negative, not all 0"):
        cls(["random", "rule"], weights)


@both
def test_what_would_change_it_is_refused(cls: type[Mixture]) -> None:
    """Environments that play with it would not notice."""
    pool: Any = cls(["random", "rule"], [1, 3])
    with pytest.raises(AttributeError, match="weights"):
        pool.weights = [3, 1]
    pool.weights[0] = 9
    assert pool.weights == [1, 3] and pool.players == ("random", "rule")


@pytest.mark.parametrize(
    "use",
    [
        lambda pool: gym.make(TTT, opponent=pool),
        lambda pool: gym.make_vec(TTT, num_envs=3, opponent=pool),
        lambda pool: OpponentPolicyEnv(aec(), pool),
        lambda pool: play_match(pool, "random", TTT, games=2),
    ],
    ids=["single", "vector", "AEC", "match"],
)
@pytest.mark.parametrize("nest", [list, lambda players: [Mixture(players)], lambda players: [OpponentPool(players)]])
@both
def test_a_wrong_argument_of_an_opponent_is_named_by_its_user(
    cls: type[Mixture], nest: Any, use: Callable[[Mixture], Any]
) -> None:
    """A name may have an argument that only some games allow."""
    with pytest.raises(ValueError, match="'random' takes no argument, not 'x'"):
        use(cls(nest(["random", "random:x"])))


@pytest.mark.parametrize("unknown", ["randm", {0: 1}, 3, RandomPolicy, lambda board: 0])
@both
def test_what_does_not_play_joins_no_pool(cls: type[Mixture], unknown: Any) -> None:
    with pytest.raises(ValueError, match=r"did you mean random|does not play|must take"):
        cls(["random", unknown])


def test_an_illegal_move_names_the_opponent_that_was_drawn() -> None:
    def cheat(observation: Any, mask: Any) -> int:
        return 99

    env = gym.make(TTT, opponent=OpponentPool([zero, cheat], [0, 1]))
    env.reset()
    with pytest.raises(IllegalMove, match="cheat"):
        env.step(4)


def test_a_pool_is_named_after_its_members() -> None:
    class Model:
        def predict(self, observation: Any, deterministic: bool) -> Any: ...

    assert str(OpponentPool(["random", zero, Always(3)])) == "pool(random, zero, always 3)"
    assert str(Mixture([Model(), OpponentPool(["rule"])])) == "mixture(Model, pool(rule))"


def test_a_pool_may_hold_pools() -> None:
    pool = OpponentPool([OpponentPool([Always(0), Always(3)]), Always(5)], [2, 1])
    for env in (gym.make(C4, opponent=pool, play_as="second"), OpponentPolicyEnv(aec(), pool, "second")):
        replies = first_replies(env, 300, seed=1)
        assert chisquare([replies.count(column) for column in (0, 3, 5)]).pvalue > 0.001


NESTS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda function: function,
    "pool": lambda function: OpponentPool([function]),
    "mixture": lambda function: Mixture([function]),
    "pool in a pool": lambda function: OpponentPool([OpponentPool([function])]),
    "mixture in a pool": lambda function: OpponentPool([Mixture([function])]),
    "pool in a mixture": lambda function: Mixture([OpponentPool([function])]),
}


@pytest.mark.parametrize("nest", NESTS)
def test_a_function_sees_the_environments_observations(nest: str) -> None:
    seen: set[tuple[int, ...]] = set()

    def spy(observation: Any, mask: Any) -> int:
        seen.add(np.shape(observation))
        return zero(observation, mask)

    opponent = NESTS[nest](spy)
    for obs_type, shape in (("planes", (2, 6, 7)), ("board", (6, 7)), ("planes", (2, 6, 7))):
        kwargs = {"opponent": opponent, "obs_type": obs_type, "play_as": "second"}
        for env in (gym.make(C4, **kwargs), gym.make_vec(C4, num_envs=2, **kwargs)):
            env.reset()
            assert seen == {shape}
            env.step(3 if env.unwrapped.action_space.shape == () else [3, 3])  # type: ignore[arg-type]
            assert seen == {shape}
            seen.clear()
    for other in (aec(), pettingzoo.make("aec", "classic/connect_four_v3")):
        OpponentPolicyEnv(other, opponent, "second").reset()
        assert seen == {(6, 7, 2)}
        seen.clear()


def aec() -> Any:
    from tictac_env import connect_four_v0

    return connect_four_v0.env()


# Probabilities


def test_probabilities_are_the_weighted_mean() -> None:
    members = [make_policy(name) for name in ("random", "rule", "minimax")]
    mixture = Mixture(members, [1, 2, 5])
    for moves in ("", "5", "51", "1593"):
        position = Position.from_moves(TTT, moves)
        expected = sum(w / 8 * m.probabilities(position) for w, m in zip((1, 2, 5), members, strict=True))  # type: ignore[operator]
        assert mixture.probabilities(position) == pytest.approx(expected)
        drawn = np.bincount([mixture.act(position, mix(seed)) for seed in range(4000)], minlength=9)
        assert not drawn[expected == 0].any()
        assert chisquare(drawn[expected > 0], 4000 * expected[expected > 0]).pvalue > 0.001


def test_who_cannot_say_matters_only_if_it_may_play() -> None:
    position = Position.start(get_game(TTT))
    assert Mixture(["random", zero]).probabilities(position) is None
    chances = Mixture(["random", zero], [1, 0]).probabilities(position)
    assert chances == pytest.approx(np.full(9, 1 / 9))


def test_a_mixture_is_judged_exactly() -> None:
    found = verdict(Mixture(["random", "minimax"], [0.4, 0.6]))
    assert found.basis == "probabilities" and not found.unbeatable
    assert 0 < verdict(Mixture(["random", "minimax"], [0.01, 0.99])).exploitability < 0.2
    for weights, name in (([1, 0], "random"), ([0, 1], "minimax")):
        alone, mixed = verdict(make_policy(name)), verdict(Mixture(["random", "minimax"], weights))
        assert mixed.as_first == alone.as_first and mixed.as_second == alone.as_second
    values = [verdict(Mixture(["random", "minimax"], [1 - w, w])).exploitability for w in (0, 0.5, 1)]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(0.95983, abs=5e-6) and values[-1] == pytest.approx(0, abs=1e-12)


class Noted(Policy):
    """Plays the lowest legal action and notes at which ply."""

    asked_twice = False

    def __init__(self) -> None:
        self.plies: list[int] = []

    def act(self, position: Position, seed: int) -> int:
        self.plies.append(position.ply)
        return position.legal_actions[0]


def test_one_opponent_of_a_pool_plays_a_whole_game_of_a_match() -> None:
    one, other = members = Noted(), Noted()
    play_match(OpponentPool(members), "random", TTT, games=40, seed=0)
    for member in members:
        assert all(after in (0, 1, before + 2) for before, after in pairwise(member.plies))
        assert 10 < sum(ply < 2 for ply in member.plies) < 30
    assert sum(ply < 2 for ply in one.plies + other.plies) == 40
    play_match(Mixture(members), "random", TTT, games=40, seed=0)  # which draws for each move
    assert any(after not in (0, 1, before + 2) for before, after in pairwise(one.plies))
