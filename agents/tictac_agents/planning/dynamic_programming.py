"""Dynamic programming: policy evaluation, policy iteration and value iteration over any tabular model.

Sutton and Barto, "Reinforcement Learning: An Introduction" (2nd edition, 2018), chapter 4.
"""

from __future__ import annotations

import math
import operator
import os
import sys
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from tictac_agents.planning.tabular_model import LARGEST, Bools, Floats, Ints, TabularModel
from tictac_agents.predicts import Predicts
from tictac_agents.settings import Checked, Configured, setting, takes
from tictac_env import progress
from tictac_env.checks import one_of, whole
from tictac_env.games import describe_game, game_of, gym_keywords, shown
from tictac_env.observation import read_observation
from tictac_env.policies import Policy
from tictac_env.position import Position
from tictac_env.storage import reading, save_arrays

Callback = Callable[["DynamicProgramming"], bool | None]
TIE_TOLERANCE = 1e-12
"""The most by which the values of equally good actions differ."""
SWEEP_LIMIT = 100_000
"""The number of sweeps after which a run stops if its values need not converge."""
ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""The part of the largest value by which rounding alone can change values in every sweep."""


@dataclass(frozen=True, kw_only=True)
class PlanningSettings(Checked):
    """The settings of policy iteration and value iteration."""

    gamma: float = setting(1.0, "the discount", 0, 1)
    tolerance: float = setting(
        1e-10,
        "the most by which the last sweep changes a value, and by which an action can be better at the end",
        0,
        1e9,
    )
    in_place: bool = setting(
        False,
        "True if a sweep uses each new value at once, from the last state to the first (models tend to be numbered "
        "from the start to the end); False if it uses the values before the sweep",
    )


class DynamicProgramming(Configured, Predicts, Policy):
    """The run over the model, the play and the file of policy and value iteration.

    On boards it is a policy like any other. In a position that the model lacks, because it cannot arise against the
    model's opponent, it plays the lowest legal action. For other models it plays by `predict` only.

    Attributes:
        model: the `TabularModel`, S states and A actions.
        values: float64 (S,), the value of each state; 0 once the episode is over.
        q: float64 (S, A), the value of each action; nan if the state has no such action.
        policy: int64 (S,), the best action, the lowest of those within 1e-12 of it (but see `greedy_policy`); -1 if the
            state has no action.
        sweeps: the number of updates of all states.
        improvements: the number of policy improvements (0 in value iteration).
    """

    budget = "no search; a table"

    @takes(PlanningSettings)
    def __init__(self, env: Any, settings: PlanningSettings) -> None:
        self.settings = settings
        self.model = TabularModel.of(env)
        self.name = type(self).__name__
        self.values: Floats = np.zeros(self.model.num_states)
        self.sweeps = 0
        self.improvements = 0
        self._weights: Floats | None = None  # of the policy a sweep evaluates; None for the best actions
        self._update_policy()
        self._begin()

    def _begin(self) -> None:
        """Prepares the first sweep."""

    @abstractmethod
    def _step(self) -> tuple[float, bool]:
        """Makes one sweep; returns the largest change of a value, and True if the run is finished."""

    def _sweep(self) -> float:
        self.values, change = sweep(self.model, self.values, self._weights, self.settings.gamma, self.settings.in_place)
        self.sweeps += 1
        return change

    def learn(self, callback: Callback | None = None, progress_bar: bool = True) -> Self:
        """Sweeps until the values have converged. Ctrl-C stops after the current sweep; `learn` then continues.

        Args:
            callback: called after each sweep with the agent; returning False ends the run.
            progress_bar: True to show progress.

        Raises:
            ValueError: gamma is 1, and values that need not converge still change after `SWEEP_LIMIT` sweeps; the agent
                keeps them.
        """
        # Each sweep shrinks the change by about the same factor, so progress is measured in powers of ten of it.
        gamma, decades = self.settings.gamma, max(1.0, -math.log10(self.settings.tolerance or 1e-16))
        done, sweeps = False, 0
        with progress.interruptible() as interrupted, progress.progress_bar(decades, str(self), progress_bar) as show:
            while not done:
                change, done = self._step()
                sweeps += 1
                reached = min(decades, max(0.0, -math.log10(change or 1e-16)))
                show(reached, f"sweep {self.sweeps:,}, change {change:.1e}")
                # The greedy policy costs as much as a sweep, so it is computed only if someone looks at it.
                if done or callback is not None:
                    self._update_policy()
                if callback is not None and callback(self) is False:
                    break
                if interrupted() and not done:
                    self._update_policy()
                    print(f"stopped after {self.sweeps:,} sweeps; nothing is lost", file=sys.stderr)
                    break
                if not done and sweeps >= SWEEP_LIMIT and not must_converge(self.model, self._weights, gamma):
                    self._update_policy()
                    raise no_convergence(sweeps, change)
        return self

    def _update_policy(self) -> None:
        self.q = self.model.action_values(self.values, self.settings.gamma)
        self.policy = greedy_policy(self.model, self.values, self.settings.gamma)

    def _predicted(self, observation: Any, deterministic: bool, action_masks: npt.ArrayLike | None) -> int:
        size = self.model.num_actions
        mask = np.ones(size, np.bool_) if action_masks is None else np.asarray(action_masks).reshape(-1) != 0
        if len(mask) != size:
            raise ValueError(f"action_masks must have {size} elements, not {len(mask)}")
        if self.model.game is not None:
            return self._best(Position(self.model.game, *read_observation(self.model.game, observation)), mask)
        # Without a board an observation is the number of a state, as Gymnasium's toy-text environments give it.
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
            "settings": self.settings.to_dict(),
            "sweeps": self.sweeps,
            "improvements": self.improvements,
        }
        save_arrays(path, self._kind(), meta, self.model.arrays() | self._arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: Any = None) -> Self:
        """The agent that was saved; it can continue.

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
            # The file's own model is enough to continue. A given environment must still be the same, to the last
            # transition: another opponent or other rewards make another problem.
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
        {settings}

    Raises:
        ValueError: an argument is out of its range, or there is no model of `env`.

    Example:
        >>> import gymnasium as gym, tictac_env
        >>> from tictac_agents import ValueIteration
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
        learns the play that wins most often against random play, not an unbeatable one.

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
        return change, has_converged(change, self.settings.tolerance, self.values)


class PolicyIteration(DynamicProgramming):
    """Evaluates a policy and improves it, again and again, until no action is better (page 80).

    The first policy leads to an end from every state from which an end can be reached. The evaluation of each further
    policy starts from the values of the one before. Without a discount the result is the best of the policies that end.

    Args:
        env: anything that `TabularModel.of` accepts: an environment, its id, or a table `P`.
        {settings}

    Raises:
        ValueError: an argument is out of its range, or there is no model of `env`.

    Example:
        >>> import gymnasium as gym
        >>> from tictac_agents import PolicyIteration
        >>> plan = PolicyIteration(gym.make("FrozenLake-v1", is_slippery=False), gamma=0.9).learn()
        >>> round(float(plan.values[0]), 4)  # six steps to the goal
        0.5905
    """

    def _begin(self) -> None:
        self._evaluate_next(ending_policy(self.model))

    def _evaluate_next(self, policy: Ints) -> None:
        self._evaluated, self._weights = policy, action_weights(self.model, policy)

    def _step(self) -> tuple[float, bool]:
        # Policy evaluation: sweeps under the current policy until its values have converged.
        change = self._sweep()
        if not has_converged(change, self.settings.tolerance, self.values):
            return change, False
        # Policy improvement: the greedy policy, which keeps the current action among equally good ones, as otherwise
        # two equally good policies could replace each other forever. It is the last one if no value can be gained.
        best, gain = sweep(self.model, self.values, None, self.settings.gamma, in_place=False)
        better = greedy_policy(self.model, self.values, self.settings.gamma, keep=self._evaluated)
        if has_converged(gain, self.settings.tolerance, best) or (better == self._evaluated).all():
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


def policy_evaluation(
    model: Any,
    policy: npt.ArrayLike | None = None,
    gamma: float = 1.0,
    tolerance: float = 1e-10,
    max_sweeps: int | None = None,
    in_place: bool = False,
) -> tuple[Floats, int]:
    """The values of the states under a policy, by sweeps from 0 (iterative policy evaluation, page 75).

    Args:
        model: with S states and A actions: anything that `TabularModel.of` accepts.
        policy: float64 (S, A), the probability of each action, 0 if the state has no such action; or int64 (S,), the
            action itself (any number if the state has none); None for equal probabilities of a state's actions.
        gamma: the discount, in [0, 1].
        tolerance: the last sweep changes no value by more.
        max_sweeps: the most sweeps, even if values still change, as in the book's pictures after k sweeps; None to
            sweep until they have converged.
        in_place: True if a sweep uses each new value at once, from the last state to the first (models tend to be
            numbered from the start to the end); False if it uses the values before the sweep.

    Returns:
        The values, float64 (S,), and the number of sweeps.

    Raises:
        ValueError: an argument is out of its range; or gamma is 1, some state does not lead to an end, `max_sweeps` is
            None, and the values still change after `SWEEP_LIMIT` sweeps.

    Example:
        >>> from tictac_agents import gridworld_4x4, policy_evaluation
        >>> values, sweeps = policy_evaluation(gridworld_4x4())
        >>> values.round(1).reshape(4, 4)[0].tolist()
        [0.0, -14.0, -20.0, -22.0]
    """
    model = TabularModel.of(model)
    weights = action_weights(model, policy)
    PlanningSettings(gamma=gamma, tolerance=tolerance, in_place=in_place)  # checks them
    limit = math.inf if max_sweeps is None else whole("max_sweeps", max_sweeps)
    # Values that need not converge are only given a limited number of sweeps.
    given_up = SWEEP_LIMIT if max_sweeps is None and not must_converge(model, weights, gamma) else math.inf
    values, sweeps = np.zeros(model.num_states), 0
    while sweeps < limit:
        values, change = sweep(model, values, weights, gamma, in_place)
        sweeps += 1
        if has_converged(change, tolerance, values):
            break
        if sweeps >= given_up:
            raise no_convergence(sweeps, change)
    return values, sweeps


def greedy_policy(model: Any, values: Floats, gamma: float = 1.0, keep: Ints | None = None) -> Ints:
    """The best action of each state, given the values of all states (policy improvement, section 4.2).

    Of equally good actions it takes the lowest. Without a discount, though, an action can have the best value and yet
    lead only round in circles, never to the reward that the value promises. If the lowest action does so, another one
    that leads to an end replaces it.

    Args:
        model: with S states: anything that `TabularModel.of` accepts.
        values: float64 (S,).
        gamma: the discount.
        keep: int64 (S,), actions to prefer to equally good ones.

    Returns:
        int64 (S,), -1 if the state has no action.

    Example:
        >>> from tictac_agents import gridworld_4x4, policy_evaluation
        >>> from tictac_agents.planning.dynamic_programming import greedy_policy
        >>> values, sweeps = policy_evaluation(gridworld_4x4(), max_sweeps=3)
        >>> greedy_policy(gridworld_4x4(), values).shape
        (16,)
    """
    # `equal`, bool (S, A), has the actions as good as the best one, rounding aside.
    model = TabularModel.of(model)
    q = np.where(model.available, model.action_values(values, gamma), -np.inf)
    equal = model.available & (q >= q.max(axis=1, keepdims=True) - TIE_TOLERANCE)
    policy = np.where(equal.any(axis=1), equal.argmax(axis=1), -1)
    if keep is not None:
        policy = np.where(_at(equal, keep), keep, policy)
    return _ending(model, policy, equal) if gamma == 1 else policy


def ending_policy(model: TabularModel) -> Ints:
    """A policy that leads to an end from every state that has one: int64 (S,), of the lowest such actions."""
    return _ending(model, np.where(model.available.any(axis=1), model.available.argmax(axis=1), -1), model.available)


def sweep(
    model: TabularModel, values: Floats, weights: Floats | None, gamma: float, in_place: bool
) -> tuple[Floats, float]:
    """The values after an update of all states, and the largest change.

    Args:
        model: S states, A actions.
        values: float64 (S,); not changed.
        weights: float64 (S, A), the policy whose mean each state takes; None for the best action.
        gamma: the discount.
        in_place: see `policy_evaluation`.
    """
    # The Bellman update of every state, the expectation under a policy or the maximum:
    #
    #     q(s, a) = sum over s' of p(s' | s, a) * (r + gamma * v(s'))
    #     v(s)    = sum over a of pi(a | s) * q(s, a)      or      max over a of q(s, a)
    #
    # In place, v(s') may already be this sweep's. States that come late in an episode have high numbers, so the
    # backward order carries a reward from the end to the start in one sweep.
    if in_place:
        updated = values.copy()
        for state in reversed(range(model.num_states)):
            q = model.action_values(updated, gamma, state)
            updated[state] = _state_values(q, None if weights is None else weights[state])
    else:
        updated = _state_values(model.action_values(values, gamma), weights)
    return updated, float(abs(updated - values).max())


def has_converged(change: float, tolerance: float, values: Floats) -> bool:
    """True if the largest change of a sweep is within the tolerance, or no more than rounding."""
    return change <= max(tolerance, ROUNDING * float(abs(values).max()))


def must_converge(model: TabularModel, weights: Floats | None, gamma: float) -> bool:
    """True if sweeps must converge: with a discount, or if the policy leads to an end from every state (page 74).

    Args:
        model: S states, A actions.
        weights: float64 (S, A), the policy; None for the best actions, which may lead round in circles.
        gamma: the discount.
    """
    if gamma < 1:
        return True
    return weights is not None and bool(_leading_to_an_end(model, weights > 0).all())


def no_convergence(sweeps: int, change: float) -> ValueError:
    """The error for values that do not seem to converge."""
    return ValueError(
        f"after {sweeps:,} sweeps values still change by {change:g}: with gamma=1 they may never converge if an "
        "episode can last forever; choose a gamma below 1"
    )


def action_weights(model: TabularModel, policy: npt.ArrayLike | None) -> Floats:
    """A policy as float64 (S, A); arguments and errors as for `policy_evaluation`."""
    available = model.available
    if policy is None:
        evenly: Floats = available / np.maximum(available.sum(axis=1, keepdims=True), 1)
        return evenly
    weights = np.asarray(policy)
    acts = available.any(axis=1)
    if weights.shape == (model.num_states,) and weights.dtype.kind == "i":
        # An action a state, as rows of 0 and 1; in a state without actions any number will do, and becomes zeros.
        chosen = _at(available, weights)
        wrong = acts & ~chosen
        weights = np.eye(model.num_actions)[np.where(chosen, weights, 0)] * available
    elif weights.shape == available.shape and weights.dtype.kind in "fi":
        impossible = ~(weights >= 0) | (weights > 0) & ~available
        wrong = np.asarray(impossible.any(axis=1) | acts & ~np.isclose(weights.sum(axis=1), 1))
    else:
        raise ValueError(
            f"a policy of {model} must be float64 {available.shape} or int64 {available.shape[:1]}, not "
            f"{weights.dtype} {weights.shape}"
        )
    if wrong.any():
        state = int(wrong.argmax())
        actions = np.flatnonzero(available[state]).tolist()
        raise ValueError(f"in state {state}, with the actions {actions}, the policy gives {np.asarray(policy)[state]}")
    return weights.astype(np.float64)


def _state_values(q: Floats, weights: Floats | None) -> Floats:
    """The values of states from those of their actions; 0 for a state without actions."""
    # `fmax` ignores nan, the value of an action that the state does not have; only a state without any keeps it.
    if weights is None:
        best = np.fmax.reduce(q, axis=-1)
        return np.where(np.isnan(best), 0.0, best)
    mean: Floats = np.where(weights > 0, weights * q, 0.0).sum(axis=-1)
    return mean


def _at(table: Bools, actions: Ints) -> Bools:
    """The entries of a table (S, A) at one action for each state, False if that is out of range."""
    inside = (actions >= 0) & (actions < table.shape[1])
    entries: Bools = inside & table[np.arange(len(table)), np.where(inside, actions, 0)]
    return entries


def _ending(model: TabularModel, policy: Ints, equal: Bools) -> Ints:
    """`policy`, with another of the `equal` actions (bool (S, A)) if only that one leads to an end."""
    # `ends`: the states from which the policy reaches an end.
    policy = policy.copy()
    actions = np.arange(model.num_actions) == policy[:, None]
    ends = _leading_to_an_end(model, actions)
    # From there backward: a state that can step into `ends` takes that action, and belongs to `ends` itself. So no
    # circle is closed, and the loop is over after at most S rounds.
    while True:
        better = equal & _leading(model, ends) & ~ends[:, None]
        changed = better.any(axis=1)
        if not changed.any():
            return policy
        policy[changed] = better[changed].argmax(axis=1)
        ends |= changed


def _leading_to_an_end(model: TabularModel, actions: Bools) -> Bools:
    """The states from which some of the `actions` (bool (S, A)) can lead to an end: bool (S,)."""
    # Backward from the final states, one step a round, until no state is added.
    ends = model.final
    while True:
        more = ends | (actions & _leading(model, ends)).any(axis=1)
        if (more == ends).all():
            return more
        ends = more


def _leading(model: TabularModel, ends: Bools) -> Bools:
    """True for the actions that can end the episode at once or lead to one of the states `ends` (S,): bool (S, A)."""
    leading = np.zeros(model.available.size, np.bool_)
    leading[model.state_action[(model.prob > 0) & (model.terminated | ends[model.next_state])]] = True
    return leading.reshape(model.available.shape)
