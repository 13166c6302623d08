"""Mixtures of policies, drawn for each game or each move, and the levels, mixtures of calibrated strength."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np

from tictac_env.arrays import Floats, Ints
from tictac_env.checks import parse_whole
from tictac_env.games import Game, game_name, shown
from tictac_env.policies.loading import Player, PlayerLike, as_policy, check_player
from tictac_env.policies.policy import Policy, actions_of
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import mix, weighted


class Mixture(Policy):
    """Policies with weights, of which one is drawn for each move.

    `Mixture(["random", "minimax"], [0.6, 0.4])` errs now and then and is otherwise perfect: a good teacher.

    Args:
        policies: players that `as_policy` accepts, at least one. It is checked that they play a game once it is known.
        weights: non-negative, one for each, not all zero; by default equal.

    Raises:
        ValueError: there are no policies, a policy does not play or is an unknown name, or the weights are invalid.

    Example:
        >>> from tictac_env import Position
        >>> from tictac_env.policies import Mixture
        >>> teacher = Mixture(["random", "minimax-first"], [0.4, 0.6])
        >>> teacher.probabilities(Position.from_moves("TicTacToe-v0", "1234")).round(2).tolist()
        [0.0, 0.0, 0.0, 0.0, 0.68, 0.08, 0.08, 0.08, 0.08]
    """

    name = "mixture"
    obs_type = "planes"
    """The observation type of its functions; see `seeing`."""

    def __init__(self, policies: Sequence[PlayerLike], weights: Sequence[float] | None = None) -> None:
        self.players = tuple(policies)
        if not self.players:
            raise ValueError(f"a {self.name} needs at least one policy")
        for player in self.players:
            check_player(player)
        self._members: dict[tuple[int, Game, str], Policy] = {}
        self._weights = self._check_weights([1.0] * len(self.players) if weights is None else weights)
        self.cumulative = list(accumulate(self._weights))

    @property
    def weights(self) -> list[float]:
        """The relative probability of each policy."""
        return list(self._weights)

    def draw(self, seed: int) -> int:
        """The number of a policy, drawn by `seed` in [0, 2**63)."""
        return weighted(self.cumulative, seed)

    def seeing(self, game: Game, obs_type: str) -> Self:
        """The same mixture with observations of this type for its functions, unless it already has a type.

        Raises:
            ValueError: a policy does not play `game`.
        """
        twin = self
        if self.obs_type == "planes" and obs_type != "planes":
            twin = copy.copy(self)
            twin.obs_type = obs_type
        for number in range(len(self.players)):
            twin.member(number, game)
        return twin

    def member(self, number: int, game: Game, obs_type: str | None = None) -> Policy:
        """The policy with this number, for `game`; a function gets observations of `obs_type`, or the mixture's.

        Raises:
            ValueError: the policy does not play `game`.
        """
        key = number, game, obs_type or self.obs_type
        if key not in self._members:
            self._members[key] = as_policy(self.players[number], *key[1:])
        return self._members[key]

    def _check_weights(self, weights: Sequence[float]) -> list[float]:
        count = len(self.players)
        try:
            numbers = [float(weight) for weight in weights]
        except (TypeError, ValueError):
            numbers = []
        if len(numbers) != count or not min(numbers) >= 0 or not 0 < sum(numbers) < inf:
            raise ValueError(
                f"a {self.name} of {count} needs {count} weights, none negative, not all 0; not {shown(weights)}"
            )
        return numbers

    def act(self, position: Position, seed: int) -> int:
        return self.member(self.draw(seed), position.game).act(position, mix(seed))

    def act_many(self, batch: PositionBatch, seeds: Ints) -> Ints:
        """int64 (B,); each member is called once, for all positions for which it is drawn."""
        # The same draws as in `act`: the seed chooses the member, and mixed once more it is the member's seed.
        drawn = np.array([self.draw(seed) for seed in seeds.tolist()])
        actions = np.empty(len(batch), np.int64)
        for number in np.unique(drawn).tolist():
            rows = np.flatnonzero(drawn == number)
            member_seeds = mix(seeds[rows])
            actions[rows] = actions_of(self.member(number, batch.game), batch.where(rows), member_seeds)
        return actions

    @property
    def batched(self) -> bool:
        return any(member.batched for member in self._members.values())

    @property
    def asked_twice(self) -> bool:
        return all(member.asked_twice for member in self._members.values())

    @property
    def one_game_at_a_time(self) -> bool:
        return any(member.one_game_at_a_time for member in self._members.values())

    def probabilities(self, position: Position) -> Floats | None:
        """float64 (num_actions,): the weighted mean over the members, None if a member has no probabilities."""
        return self._mean(position.game, (), lambda member: member.probabilities(position))

    def probabilities_many(self, batch: PositionBatch) -> Floats | None:
        """float64 (B, num_actions); each member is called once, for all positions."""
        return self._mean(batch.game, (len(batch),), lambda member: member.probabilities_many(batch))

    def _mean(self, game: Game, shape: tuple[int, ...], chances_of: Callable[[Policy], Floats | None]) -> Floats | None:
        mean = np.zeros((*shape, game.num_actions))
        for number, weight in enumerate(self._weights):
            if weight > 0:
                if (chances := chances_of(self.member(number, game))) is None:
                    return None
                mean += weight / self.cumulative[-1] * chances
        return mean

    def __str__(self) -> str:
        named = (str, Policy, Player)
        titles = (
            str(player) if isinstance(player, named) else getattr(player, "__name__", type(player).__name__)
            for player in self.players
        )
        return f"{self.name}({', '.join(titles)})"


class OpponentPool(Mixture):
    """Opponents with weights, of which the board's RNG state draws one for each game, at the reset.

    A pool can be used wherever an opponent can. It does not change: `set_opponent` gives running environments another
    one, with more opponents or other weights.

    Environments and `play_match` draw once for each game: at the reset, or before the first move. As a policy (`act`,
    `probabilities`, the exact measures) a pool is a function of the position alone: there, and as a member of another
    mixture, it draws for each move, as a `Mixture` does.

    Arguments and errors are those of `Mixture`.

    Example:
        >>> from tictac_env import OpponentPool, play_match
        >>> pool = OpponentPool(["random", "rule"], weights=[1, 3])
        >>> larger = OpponentPool([*pool.players, "minimax:2"], [*pool.weights, 1])
        >>> print(larger, larger.weights)
        pool(random, rule, minimax:2) [1.0, 3.0, 1.0]
    """

    name = "pool"


class Setting(NamedTuple):
    """The settings of a level: a policy, and the share of moves drawn from all legal ones instead."""

    policy: str
    random: float = 0.0

    @property
    def words(self) -> str:
        """The setting in words, such as "looks 4 moves ahead, 7 % random"."""
        name, _, argument = self.policy.partition(":")
        share = float(argument or 0) if name == "perfect" else self.random
        if name == "random":
            return "moves at random"
        manner = {
            "rule": "wins and blocks",
            "minimax": f"looks {argument} moves ahead" if argument else "sees to the end",
            "mcts": f"plays {argument} games in its head",
            "perfect": "plays perfectly",
        }[name]
        return manner + (f", {share:.0%} random".replace("%", " %") if share else "")


SMALL_GAMES = (
    Setting("random"),
    *(Setting("minimax", share) for share in (0.7, 0.55, 0.42, 0.32, 0.22, 0.14, 0.08, 0.03, 0.0)),
)
LARGE_GAMES = (
    Setting("random"),
    Setting("rule", 0.75),
    Setting("rule", 0.38),
    Setting("minimax:4", 0.07),
    *(Setting(f"mcts:{simulations}") for simulations in (40, 100, 300, 1000, 4000, 16000)),
)
LEVELS = {"TicTacToe-v0": SMALL_GAMES, "ConnectFour-v0": (*LARGE_GAMES[:9], Setting("perfect:0.1"))}
"""The settings of the levels, weakest first; `tools/calibrate_levels.py` measures them."""


class Level(Mixture):
    """A calibrated strength, from 1 (random play) to 10.

    On tic-tac-toe each level is harder to exploit than the level below, and level:10 cannot be beaten. On Connect Four
    each scores 60 to 80 % against the level below (a draw counts half, both seats equally); level:9 searches about a
    millisecond per move, and level:10 is the exact solver with one random move in ten. Boards of up to 12 cells have
    tic-tac-toe's settings, larger ones Connect Four's with a longer search at the top, as only Connect Four has an
    opening book; there the strengths rise too, by amounts that have not been measured.

    Args:
        number: 1 to 10.
        game: the game.

    Raises:
        ValueError: there is no such level.
    """

    name = "level"
    about = "Plays at a calibrated strength, from 1 (random play) to 10."

    def __init__(self, number: int, game: Game) -> None:
        settings = level_settings(game)
        if type(number) is not int or not 1 <= number <= len(settings):
            raise ValueError(f"a level must be an integer from 1 to {len(settings)}, not {shown(number)}")
        setting = settings[number - 1]
        # By name, as a mixture makes its policies at their first use: naming a level loads no search.
        super().__init__([setting.policy, "random"], [1 - setting.random, setting.random])
        self.name = f"level:{number}"
        self.budget = f"plays {setting.policy}" + (f", {100 * setting.random:g} % random" if setting.random else "")

    @classmethod
    def from_name(cls, game: Game, argument: str) -> Level:
        """A number from 1 to 10."""
        number = parse_whole(argument)
        wrong: Any = argument  # the error shows it
        return cls(wrong if number is None else number, game)

    @classmethod
    def variants(cls, game: Game) -> tuple[str, ...]:
        """All levels."""
        return tuple(map(str, range(1, len(level_settings(game)) + 1)))

    def __str__(self) -> str:
        return self.name


def level_settings(game: Game) -> tuple[Setting, ...]:
    """The settings of a game's levels, weakest first."""
    from tictac_env.solver.enumerate import SMALL_CELLS

    return LEVELS.get(game_name(game) or "", SMALL_GAMES if game.cells <= SMALL_CELLS else LARGE_GAMES)
