"""Everything that plays: what a policy is, and the policies known by name."""

from __future__ import annotations

import functools
import importlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tictac_env.games import Game, did_you_mean, get_game
from tictac_env.observation import OBS_TYPES, Observer
from tictac_env.position import Position, PositionBatch, as_action, illegal_move
from tictac_env.reflexes import random_action, rule_action

POLICIES: dict[str, str] = {
    "random": "tictac_env.policies:RandomPolicy",
    "rule": "tictac_env.policies:RulePolicy",
    "minimax": "tictac_env.solver.minimax:Minimax",
    "minimax-first": "tictac_env.solver.minimax:MinimaxFirst",
    "human": "tictac_env.human:HumanPolicy",
}
"""Where each named policy lives; it is imported when it is first used."""


class Policy(ABC):
    """Anything that plays: a pure function of a position and a seed.

    To write your own, subclass this and give `act`; override the other methods where you can do better. Then
    `check_policy` says whether it keeps its promises.

    A policy that draws may also define `probabilities(position) -> float64 (num_actions,)`, the chance of each action;
    exact measures then use it.
    """

    name: str = ""
    """How tables and error messages call the policy; the class's name if empty."""

    @classmethod
    def from_name(cls, game: Game, argument: str) -> Policy:
        """The policy `make_policy` returns for "<name>:<argument>"; `argument` is "" if there is none.

        Raises:
            ValueError: `argument` is not one this policy knows.
        """
        if argument:
            raise ValueError(f"the policy {cls.name!r} takes no argument, and not {argument!r}")
        return cls()

    @abstractmethod
    def act(self, position: Position, seed: int) -> int:
        """The action in an unfinished `position`.

        Args:
            position: the position, the policy being the side to move.
            seed: an integer in [0, 2**63), the only source of randomness.
        """

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The actions in B positions: int64 (B,), each as `act` with its own seed gives it.

        Args:
            batch: B unfinished positions.
            seeds: int64 (B,), each in [0, 2**63).
        """
        return np.array([self.act(batch[i], int(seeds[i])) for i in range(len(batch))], np.int64)

    def __str__(self) -> str:
        return self.name or type(self).__name__


class ReflexPolicy(Policy):
    """A policy that is one function of `tictac_env.reflexes`: plain arithmetic, which compiled code can play too."""

    def __init__(self, reflex: Callable[[Game, int, int, int], int]) -> None:
        self.reflex = reflex

    def act(self, position: Position, seed: int) -> int:
        return self.reflex(position.game, position.own, position.opp, seed)


class RandomPolicy(ReflexPolicy):
    """Every legal action with the same probability: the k-th in ascending order, k = seed mod n."""

    name = "random"

    def __init__(self) -> None:
        super().__init__(random_action)

    def probabilities(self, position: Position) -> npt.NDArray[np.float64]:
        """float64 (num_actions,): 1/n for each of the n legal actions."""
        return uniform(position.game, position.legal_actions)


class RulePolicy(ReflexPolicy):
    """Wins if it can, else blocks a win of the opponent's, else plays as near to the centre as possible."""

    name = "rule"

    def __init__(self) -> None:
        super().__init__(rule_action)


class FunctionPolicy(Policy):
    """A function `(observation, action_mask) -> action` as a policy. Copies share the function.

    Args:
        function: gets the observation of the side to move, and the mask int8 (num_actions,).
        obs_type: which observation it gets; see `tictac_env.observation`.
    """

    def __init__(self, function: Callable[[Any, npt.NDArray[np.int8]], Any], obs_type: str = "planes") -> None:
        self.function = function
        self.obs_type = obs_type
        self.name = getattr(function, "__name__", type(function).__name__)

    def act(self, position: Position, seed: int) -> int:
        observer = observer_of(position.game, self.obs_type)
        mask = observer.mask(position.game.legal(position.own, position.opp))
        action: int = self.function(observer.observe(position.own, position.opp, position.seat), mask)
        return action

    def __deepcopy__(self, memo: dict[int, Any]) -> FunctionPolicy:
        return self


class ModelPolicy(FunctionPolicy):
    """A model with `predict`, Stable-Baselines3's or one of `tictac_agents`, as a policy that copies share.

    Args:
        model: its `predict(observation, deterministic=True)` returns `(action, state)`. If `predict` has a parameter
            `action_masks`, it gets the mask.
        obs_type: which observation it gets; None chooses the one its `observation_space` fits, flattened or not.

    Raises:
        ValueError: at the first move, if no type of observation of the game fits the model's observation space.
    """

    def __init__(self, model: Any, obs_type: str | None = None) -> None:
        super().__init__(self._predict, obs_type or "")
        self.model = model
        self.name = type(model).__name__
        self._masked = "action_masks" in inspect.signature(model.predict).parameters
        self._shape: tuple[int, ...] | None = None

    def act(self, position: Position, seed: int) -> int:
        if not self.obs_type:
            self.obs_type = self._fitting_type(position.game)
        return super().act(position, seed)

    def _fitting_type(self, game: Game) -> str:
        wanted = getattr(self.model, "observation_space", None)
        if wanted is None:
            return OBS_TYPES[0]
        for obs_type in OBS_TYPES:
            try:
                space = observer_of(game, obs_type).space
            except ValueError:
                continue
            if wanted == space:
                return obs_type
            if isinstance(space, spaces.Box) and wanted.shape == (int(np.prod(space.shape)),):
                self._shape = wanted.shape
                return obs_type
        raise ValueError(f"no observation of {game!r} fits the model's observation space {wanted}")

    def _predict(self, observation: Any, mask: npt.NDArray[np.int8]) -> int:
        if self._shape is not None:
            observation = np.reshape(observation, self._shape)
        masks = {"action_masks": mask} if self._masked else {}
        action, _ = self.model.predict(observation, deterministic=True, **masks)
        return int(action)


@functools.lru_cache(maxsize=64)
def observer_of(game: Game, obs_type: str) -> Observer:
    """The `Observer` of a game, made once."""
    return Observer(game, obs_type)


def uniform(game: Game, actions: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """The uniform distribution over `actions`: float64 (num_actions,)."""
    probabilities = np.zeros(game.num_actions)
    probabilities[list(actions)] = 1 / len(actions)
    return probabilities


def make_policy(name: str, game: str | Game = "TicTacToe-v0") -> Policy:
    """The policy called `name`, for `game`.

    Args:
        name: "random", "rule", "minimax:4", ...: a name of `POLICIES`, for some with an argument after a colon.
        game: a game's name or rule book.

    Raises:
        ValueError: there is no policy or game of that name, or the argument is not one the policy knows.
    """
    rules = get_game(game)
    if not isinstance(name, str):
        raise ValueError(f"a policy's name must be a string, not {name!r}")
    base, _, argument = name.partition(":")
    if base not in POLICIES:
        raise ValueError(f"no policy is called {name!r}; {did_you_mean(base, POLICIES)}")
    module, _, attribute = POLICIES[base].partition(":")
    cls: type[Policy] = getattr(importlib.import_module(module), attribute)
    return cls.from_name(rules, argument)


def as_policy(player: Any, game: Game, obs_type: str = "planes") -> Policy:
    """Anything that plays, as a policy: a name, a policy, a model with `predict`, or `(observation, mask) -> action`.

    Args:
        player: the player.
        game: for which game.
        obs_type: which observation a function gets.

    Raises:
        ValueError: `player` is none of these, or a name that is not known.
    """
    if isinstance(player, str):
        return make_policy(player, game)
    if isinstance(player, Policy):
        return player
    if hasattr(player, "predict"):
        return ModelPolicy(player)
    if callable(player):
        return FunctionPolicy(player, obs_type)
    raise ValueError(
        f"{player!r} does not play: give a policy's name ({', '.join(POLICIES)}), a Policy, a model with `predict`, or "
        "a function of observation and mask"
    )


def answer(policy: Policy, game: Game, own: int, opp: int, moves: Sequence[int], seed: int) -> tuple[int, int, int]:
    """What `policy` plays, and the position after it.

    Args:
        policy: the side to move.
        game: the rule book.
        own: the stones of the side to move.
        opp: the other side's.
        moves: the last actions, for the `Position` the policy sees.
        seed: in [0, 2**63).

    Returns:
        The action, and `own` and `opp` after it as the next player sees them.

    Raises:
        IllegalMove: the policy's choice is illegal; the message names the policy, the choice and the position.
    """
    if isinstance(policy, ReflexPolicy):
        action = policy.reflex(game, own, opp, seed)
    else:
        position = Position(game, own, opp, tuple(moves))
        choice = policy.act(position, seed)
        try:
            action = as_action(choice, game.num_actions)
        except ValueError:
            raise illegal_move(position, choice, str(policy)) from None
    after = game.play(own, opp, action)
    if after == (own, opp):
        raise illegal_move(Position(game, own, opp, tuple(moves)), action, str(policy))
    return action, *after
