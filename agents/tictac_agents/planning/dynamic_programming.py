"""Dynamic programming: policy evaluation, policy iteration and value iteration over any tabular model.

Sutton and Barto, "Reinforcement Learning" (2nd edition), chapter 4.
"""

from __future__ import annotations

import math
import operator
import os
import sys
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from tictac_agents.planning.sweeps import (
    SWEEP_LIMIT,
    TIE_TOLERANCE,
    action_weights,
    ending_policy,
    greedy_policy,
    has_converged,
    must_converge,
    no_convergence,
    policy_evaluation,
    sweep,
)
from tictac_agents.planning.tabular_model import LARGEST, Bools, Floats, Ints, TabularModel, gridworld_4x4
from tictac_agents.predicts import Predicts
from tictac_env import progress
from tictac_env.checks import flag, number, one_of, whole
from tictac_env.games import describe_game, game_of, gym_keywords, shown
from tictac_env.observation import read_observation
from tictac_env.policies import Policy
from tictac_env.position import Position
from tictac_env.storage import reading, save_arrays

__all__ = ["PolicyIteration", "TabularModel", "ValueIteration", "greedy_policy", "gridworld_4x4", "policy_evaluation"]

Callback = Callable[["DynamicProgramming"], bool | None]


class DynamicProgramming(Predicts, Policy):
    """What policy and value iteration share: the run over the model, the play and the file.

    On boards it is a policy like any other. In a position that the model lacks, because its opponent never lets it
    arise, it plays the lowest legal action. Elsewhere only `predict` plays.

    Attributes:
        model: the `TabularModel`, S states and A actions.
        values: float64 (S,), the value of each state; 0 once the episode is over.
        q: float64 (S, A), the value of each action; nan where a state has no such action.
        policy: int64 (S,), the best action, the lowest of those within 1e-12 of it (but see `greedy_policy`); -1 where
            a state has none.
        sweeps: how often all states have been updated.
        improvements: how often a better policy was found (0 in value iteration, which keeps none).
    """

    budget = "no search; a table"

    def __init__(self, env: Any, gamma: float = 1.0, tolerance: float = 1e-10, in_place: bool = False) -> None:
        self.gamma = number("gamma", gamma, 0, 1)
        self.tolerance = number("tolerance", tolerance, 0, 1e9)
        self.in_place = flag("in_place", in_place)
        self.model = TabularModel.of(env)
        self.name = type(self).__name__
        self.values: Floats = np.zeros(self.model.num_states)
        self.sweeps = 0
        self.improvements = 0
        self._weights: Floats | None = None  # of the policy a sweep evaluates; None for the best actions
        self._update_policy()

    @abstractmethod
    def _step(self) -> tuple[float, bool]:
        """Makes one sweep; the largest change of a value, and whether the run is finished."""

    def _sweep(self) -> float:
        """Updates all states; the largest change."""
        self.values, change = sweep(self.model, self.values, self._weights, self.gamma, self.in_place)
        self.sweeps += 1
        return change

    def learn(self, callback: Callback | None = None, progress_bar: bool = True) -> Self:
        """Sweeps until the values have converged. Ctrl-C stops after the sweep under way; `learn` then goes on.

        Args:
            callback: called after each sweep with the agent; returning False ends the run.
            progress_bar: whether to show progress.

        Raises:
            ValueError: gamma is 1, and values that need not converge still change after `SWEEP_LIMIT` sweeps; those
                reached are kept.
        """
        decades = max(1.0, -math.log10(self.tolerance or 1e-16))
        done, sweeps = False, 0
        with progress.interruptible() as asked, progress.progress_bar(decades, str(self), progress_bar) as show:
            while not done:
                change, done = self._step()
                sweeps += 1
                show(
                    min(decades, max(0.0, -math.log10(change or 1e-16))), f"sweep {self.sweeps:,}, change {change:.1e}"
                )
                if done or callback is not None:
                    self._update_policy()
                if callback is not None and callback(self) is False:
                    break
                if asked() and not done:
                    self._update_policy()
                    print(f"stopped after {self.sweeps:,} sweeps; nothing is lost", file=sys.stderr)
                    break
                if not done and sweeps >= SWEEP_LIMIT and not must_converge(self.model, self._weights, self.gamma):
                    self._update_policy()
                    raise no_convergence(sweeps, change)
        return self

    def _update_policy(self) -> None:
        """Sets `q` and `policy` by the values."""
        self.q = self.model.action_values(self.values, self.gamma)
        self.policy = greedy_policy(self.model, self.values, self.gamma)

    def _predicted(self, observation: Any, deterministic: bool, action_masks: npt.ArrayLike | None) -> int:
        size = self.model.num_actions
        mask = np.ones(size, np.bool_) if action_masks is None else np.asarray(action_masks).reshape(-1) != 0
        if len(mask) != size:
            raise ValueError(f"action_masks must have {size} elements, not {len(mask)}")
        if self.model.game is not None:
            return self._best(Position(self.model.game, *read_observation(self.model.game, observation)), mask)
        try:
            row = operator.index(observation)
        except TypeError:
            row = -1
        if isinstance(observation, bool) or not 0 <= row < self.model.num_states:
            raise ValueError(
                f"an observation must be a state in [0, {self.model.num_states}), not {shown(observation)}"
            )
        return self._best_of(row, self.model.available[row] & mask, f"state {row}")

    def act(self, position: Position, seed: int) -> int:
        """The best action; the seed does not matter.

        Raises:
            ValueError: the position is of another game, or finished.
        """
        if position.game != self.model.game:
            raise ValueError(f"{self} knows {self.model}, and nothing of {position!r}")
        return self._best(position, np.ones(self.model.num_actions, np.bool_))

    def _best(self, position: Position, mask: Bools) -> int:
        legal = np.isin(np.arange(self.model.num_actions), position.legal_actions) & mask
        return self._best_of(self.model.find(position.own, position.opp), legal, repr(position))

    def _best_of(self, row: int | None, allowed: Bools, where: str) -> int:
        if not allowed.any():
            raise ValueError(f"no action is possible and allowed in {where}")
        if row is None:
            return int(allowed.argmax())
        if allowed[self.policy[row]]:
            return int(self.policy[row])
        q = np.where(allowed, self.q[row], -np.inf)
        return int((q >= q.max() - TIE_TOLERANCE).argmax())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything, the model and the state of a run included, to an .npz file (see `tictac_env.storage`)."""
        meta = {
            "game": None if self.model.game is None else describe_game(self.model.game),
            "settings": {"gamma": self.gamma, "tolerance": self.tolerance, "in_place": self.in_place},
            "sweeps": self.sweeps,
            "improvements": self.improvements,
        }
        save_arrays(path, self._kind(), meta, self.model.arrays() | self._arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: Any = None) -> Self:
        """The agent that was saved; it can go on.

        Args:
            path: the file.
            env: what it was made from, to make sure that it is still the same; without it the file's model is used.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged or holds something else; or `env` differs: in its game, its opponent or rewards.
        """
        with reading(path, cls._kind(), f"file of {cls.__name__}") as (meta, arrays):
            game = None if meta["game"] is None else game_of(meta["game"])
            agent = cls(TabularModel.from_arrays(arrays, game, len(arrays["values"])), **meta["settings"])
            agent.sweeps = whole("sweeps", meta["sweeps"])
            agent.improvements = whole("improvements", meta["improvements"])
            agent._set_arrays(arrays)
            agent._update_policy()
            if env is not None:
                env = gym.make(**gym_keywords(env)) if isinstance(env, str) else env
                same_game = getattr(getattr(env, "unwrapped", env), "game", None) == game
                if not same_game or not agent.model.equals(TabularModel.of(env)):
                    raise ValueError(
                        f"it holds {agent.model}, and the environment differs in its game, seats, opponent or rewards"
                    )
        return agent

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"values": self.values}

    def _set_arrays(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        values = arrays["values"]
        if values.dtype != np.float64 or values.shape != self.values.shape or not (abs(values) <= LARGEST**2).all():
            raise ValueError(f"its values are not {len(self.values)} numbers of at most {LARGEST**2:g}")
        self.values = values

    @classmethod
    def _kind(cls) -> str:
        return f"tictac_agents.{cls.__name__}"


class ValueIteration(DynamicProgramming):
    """Gives each state the value of its best action, again and again, until nothing changes (pages 82-83).

    Args:
        env: anything that `TabularModel.of` accepts: an environment, its id, or a table `P`.
        gamma: the discount, in [0, 1].
        tolerance: the last sweep changes no value by more.
        in_place: whether a sweep uses new values at once; see `policy_evaluation`.

    Raises:
        ValueError: an argument is out of its range, or there is no model of `env`.

    Example:
        >>> import gymnasium as gym, tictac_env
        >>> from tictac_agents.planning.dynamic_programming import ValueIteration
        >>> agent = ValueIteration(gym.make("TicTacToe-v0", opponent="minimax-first")).learn()
        >>> float(agent.values[0]), int(agent.policy[0])
        (0.0, 0)
    """

    @classmethod
    def preset(cls, name: str, env: Any = None, **settings: Any) -> Self:
        """An agent with published settings, not yet trained.

        "S1" is the dynamic programming of Fan Min's MFReinforcement, as far as it is described: plain sweeps over the
        state graph of tic-tac-toe, where a win is worth 1, a loss 0, and a draw, like every state at first, 0.5. The
        opponent is not described; here it is uniformly random, and each state takes the value of the best move. So it
        learns what wins most often against random play, not what cannot be beaten.

        Args:
            name: "S1".
            env: another environment, which must give these rewards itself: rewards=(1, 0.5, 0).
            **settings: settings that replace the published ones.

        Raises:
            ValueError: there is no such preset.
        """
        one_of("preset", name, ("S1",))
        if env is None:
            env = gym.make("TicTacToe-v0", opponent="random", play_as="random", rewards=(1, 0.5, 0))
        agent = cls(env, **settings)
        agent.values[~agent.model.final] = 0.5
        agent._update_policy()
        return agent

    def _step(self) -> tuple[float, bool]:
        change = self._sweep()
        return change, has_converged(change, self.tolerance, self.values)


class PolicyIteration(DynamicProgramming):
    """Evaluates a policy, improves it, and so on until no action is better (page 80).

    It begins with a policy that leads to an end from wherever one does, and evaluates each further one from the values
    of the one before. Without a discount it finds the best of the policies that end.

    Args:
        env: anything that `TabularModel.of` accepts: an environment, its id, or a table `P`.
        gamma: the discount, in [0, 1].
        tolerance: an evaluation's last sweep changes no value by more, and at the end no action is better by more.
        in_place: whether a sweep uses new values at once; see `policy_evaluation`.

    Raises:
        ValueError: an argument is out of its range, or there is no model of `env`.

    Example:
        >>> import gymnasium as gym
        >>> from tictac_agents import PolicyIteration
        >>> plan = PolicyIteration(gym.make("FrozenLake-v1", is_slippery=False), gamma=0.9).learn()
        >>> round(float(plan.values[0]), 4)  # six steps to the goal
        0.5905
    """

    def __init__(self, env: Any, gamma: float = 1.0, tolerance: float = 1e-10, in_place: bool = False) -> None:
        super().__init__(env, gamma, tolerance, in_place)
        self._evaluate_next(ending_policy(self.model))

    def _evaluate_next(self, policy: Ints) -> None:
        """Sets the policy that the next sweeps evaluate."""
        self._evaluated, self._weights = policy, action_weights(self.model, policy)

    def _step(self) -> tuple[float, bool]:
        change = self._sweep()
        if not has_converged(change, self.tolerance, self.values):
            return change, False
        best, gain = sweep(self.model, self.values, None, self.gamma, in_place=False)
        better = greedy_policy(self.model, self.values, self.gamma, keep=self._evaluated)
        if has_converged(gain, self.tolerance, best) or (better == self._evaluated).all():
            return change, True
        self._evaluate_next(better)
        self.improvements += 1
        return change, False

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return super()._arrays() | {"evaluated_policy": self._evaluated}

    def _set_arrays(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        super()._set_arrays(arrays)
        policy = arrays["evaluated_policy"]
        if policy.dtype != np.int64 or policy.shape != self.values.shape:
            raise ValueError("its policy is not one action a state")
        self._evaluate_next(policy)
