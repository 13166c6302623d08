"""A finite Markov decision process as arrays, from Gymnasium's toy-text tables or from a board and an opponent."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from tictac_env.envs import protocol
from tictac_env.envs.single import BoardEnv
from tictac_env.games import DRAWN, LOST, UNFINISHED, WON, Game, game_name, gym_keywords, shown
from tictac_env.policies import Policy, answer
from tictac_env.policies.policy import illegal_choice
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position
from tictac_env.rng import position_seed

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bits = tuple[int, int]
"""A position: the stones of the side to move, and the other side's."""
Transition = tuple[float, int, float, bool]
"""Probability, next state, reward, terminated."""
SEATS = {"first": (0,), "second": (1,), "random": (0, 1), "alternate": (0, 1)}
MAX_TRANSITIONS = 1_000_000

SUM_ERROR = 1e-9
"""The most by which the sum of the probabilities of a state and action may differ from 1."""
LARGEST = 1e100
"""The largest reward: so no sum of discounted rewards overflows, and values can converge."""
COLUMNS = {
    "state_action": np.int64,
    "prob": np.float64,
    "next_state": np.int64,
    "reward": np.float64,
    "terminated": np.bool_,
}


@dataclass(frozen=True, eq=False, repr=False)
class TabularModel:
    """S states, A actions and T transitions, those of one state and action next to each other.

    A state need not have every action; one without any is final. A `terminated` transition ends the episode, and the
    value of the state it leads to does not count. Make a model with `of`.

    Attributes:
        num_states: S.
        num_actions: A.
        state_action: int64 (T,), state * A + action of each transition, ascending.
        prob: float64 (T,), in [0, 1]; those of one state and action add up to 1.
        next_state: int64 (T,), the state it leads to.
        reward: float64 (T,), in [-1e100, 1e100].
        terminated: bool (T,).
        game: the rules if the states are positions, else None.
        positions: int64 (S, 2), the stones (own, opp) of each state; None without a game.

    Raises:
        ValueError: a column has a wrong length or value; the message names the state and the action.

    Example:
        >>> from tictac_agents import TabularModel, gridworld_4x4
        >>> model = TabularModel.of(gridworld_4x4())
        >>> model.num_states, model.num_actions
        (16, 4)
    """

    num_states: int
    num_actions: int
    state_action: Ints
    prob: Floats
    next_state: Ints
    reward: Floats
    terminated: Bools
    game: Game | None = None
    positions: Ints | None = None

    # The transitions as columns, those of a state and action side by side; two states, two actions:
    #
    #     state_action   0     0     1     3           state 0: action 0 (two outcomes), action 1
    #     prob           0.5   0.5   1     1           state 1: action 1 alone
    #     next_state     0     1     1     0
    #     reward         0     1     0     0
    #
    # A sum over the outcomes of each action is one `bincount` by `state_action`.

    @classmethod
    def of(cls, source: Any) -> TabularModel:
        """The model of an environment, or of a table `P[s][a] = [(prob, s', reward, terminated), ...]`.

        On a board of this package the states are positions, as `enumerate_board` describes. The opponent plays by its
        `probabilities` if it has any, else as the fixed map that `position_seed` makes of it; the rewards are the
        environment's; a state has its legal actions only.

        Args:
            source: the table, as dicts or sequences, with every state from 0 on; an environment that has one as `P`
                (FrozenLake, Taxi, CliffWalking), or a board of this package with an opponent, or the id of either
                (wrappers are ignored); or a model.

        Raises:
            ValueError: it is not one of these, a probability or state is wrong, or `enumerate_board` cannot follow the
                board's opponent.
            IllegalMove: the opponent's choice is illegal.
        """
        if isinstance(source, TabularModel):
            return source
        if isinstance(source, str):
            source = gym.make(**gym_keywords(source))
        if not isinstance(source, gym.Env):
            return cls._of_table(source)
        env: Any = source.unwrapped
        if isinstance(env, BoardEnv):
            table, positions = enumerate_board(env)
            return cls._of_table(table, env.game, positions)
        if not hasattr(env, "P"):
            raise ValueError(f"{source} is not a board of this package, and has no table P of its transitions")
        return cls._of_table(env.P)

    @classmethod
    def _of_table(cls, table: Any, game: Game | None = None, positions: Ints | None = None) -> Self:
        pairs: list[tuple[int, int]] = []
        transitions: list[Transition] = []
        states = _numbered(table, "a table P")
        if not states or [state for state, _ in states] != list(range(len(states))):
            raise ValueError(f"a table P lists every state from 0 on, not {[state for state, _ in states][:20]}")
        for state, actions in states:
            for action, outcomes in _numbered(actions, f"P[{state}]"):
                where = f"P[{state}][{action}]"
                if action < 0 or isinstance(outcomes, str) or not isinstance(outcomes, Sequence) or not outcomes:
                    raise ValueError(
                        f"{where} must list tuples (probability, next state, reward, terminated), not {shown(outcomes)}"
                    )
                transitions += [_transition(outcome, where) for outcome in outcomes]
                pairs += [(state, action)] * len(outcomes)
        # A table need not have every action in every state: A is the highest one that occurs, plus 1.
        num_actions = game.num_actions if game else 1 + max((action for _, action in pairs), default=0)
        columns: Any = {"state_action": np.array([state * num_actions + action for state, action in pairs], np.int64)}
        for number, name in enumerate(list(COLUMNS)[1:]):
            columns[name] = np.array([transition[number] for transition in transitions], COLUMNS[name])
        return cls(len(states), num_actions, **columns, game=game, positions=positions)

    def __post_init__(self) -> None:
        # First the shapes; then every index, as NumPy would read a negative one from the end.
        size = self.num_states * self.num_actions
        columns = [getattr(self, name) for name in COLUMNS]
        if min(self.num_states, self.num_actions) < 1 or any(
            column.shape != self.state_action.shape for column in columns
        ):
            raise ValueError(f"a model needs states, actions and columns of one length, not {self}")
        if len(self.state_action) and (
            self.state_action[0] < 0 or self.state_action[-1] >= size or (np.diff(self.state_action) < 0).any()
        ):
            raise ValueError(f"the pairs of state and action must ascend within [0, {size}): {self.state_action}")
        # The comparisons are written so that a nan fails them.
        self._raise_if(~((self.prob >= 0) & (self.prob <= 1)), self.prob, "a probability is not in [0, 1]")
        sums = np.bincount(self.state_action, self.prob, size)[self.state_action]
        self._raise_if(abs(sums - 1) > SUM_ERROR, sums, "the probabilities do not add up to 1")
        outside = (self.next_state < 0) | (self.next_state >= self.num_states)
        self._raise_if(outside, self.next_state, f"a next state is not in [0, {self.num_states})")
        self._raise_if(~(abs(self.reward) <= LARGEST), self.reward, f"a reward is not in [-{LARGEST:g}, {LARGEST:g}]")

    def _raise_if(self, wrong: Bools, column: npt.NDArray[Any], complaint: str) -> None:
        if wrong.any():
            at = int(wrong.argmax())
            state, action = divmod(int(self.state_action[at]), self.num_actions)
            raise ValueError(f"{complaint}: {column[at]}, in state {state} for action {action}")

    def __repr__(self) -> str:
        game = f" of {self.game}" if self.game else ""
        return f"<{self.num_states} states, {self.num_actions} actions, {len(self.state_action)} transitions{game}>"

    @cached_property
    def available(self) -> Bools:
        """True for each action that a state has: bool (S, A)."""
        flat = np.zeros(self.num_states * self.num_actions, np.bool_)
        flat[self.state_action] = True
        return flat.reshape(self.num_states, self.num_actions)

    @cached_property
    def final(self) -> Bools:
        """The states in which no action is rewarded or leads to another state: bool (S,)."""
        happens = (self.prob > 0) & ((self.next_state != self.state_action // self.num_actions) | (self.reward != 0))
        final = np.ones(self.num_states, np.bool_)
        final[self.state_action[happens] // self.num_actions] = False
        return final

    @cached_property
    def _shares(self) -> tuple[Floats, Floats]:
        """The reward of each transition, and the weight of the value of its next state."""
        return self.prob * self.reward, self.prob * ~self.terminated

    @cached_property
    def _begins(self) -> list[int]:
        """The index of the first transition of each state, and T."""
        first = np.arange(self.num_states + 1) * self.num_actions
        return np.searchsorted(self.state_action, first).tolist()  # type: ignore[no-any-return]

    @cached_property
    def _numbers(self) -> dict[Bits, int]:
        positions = [] if self.positions is None else self.positions.tolist()
        return {(own, opp): number for number, (own, opp) in enumerate(positions)}

    def find(self, own: int, opp: int) -> int | None:
        """The state of a position, None if the model lacks it."""
        return self._numbers.get((own, opp))

    def action_values(self, values: Floats, gamma: float = 1.0, state: int | None = None) -> Floats:
        """The value of each action, given the `values` of the states, float64 (S,).

        Returns:
            float64 (S, A), nan if the state has no such action; float64 (A,) for one `state`.
        """
        # Expected reward and discounted value of each transition, summed over those of a state and action.
        begin, end = (0, len(self.state_action)) if state is None else self._begins[state : state + 2]
        income, weight = self._shares
        returns = income[begin:end] + gamma * weight[begin:end] * values[self.next_state[begin:end]]
        if state is None:
            q = np.bincount(self.state_action, returns, self.available.size).reshape(self.available.shape)
            return np.where(self.available, q, np.nan)
        q = np.bincount(self.state_action[begin:end] - state * self.num_actions, returns, self.num_actions)
        return np.where(self.available[state], q, np.nan)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything but the game, for a file."""
        arrays = {name: getattr(self, name) for name in COLUMNS} | {"shape": np.array(self.available.shape, np.int64)}
        return arrays if self.positions is None else arrays | {"positions": self.positions}

    def equals(self, other: TabularModel) -> bool:
        """True if the states, actions, transitions and rewards are the same."""
        mine, theirs = self.arrays(), other.arrays()
        same = mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)
        return same and self.game == other.game

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], game: Game | None, num_states: int) -> Self:
        """The model with these `arrays`, as read from a file.

        Raises:
            KeyError: an array is missing.
            ValueError: no model, or no model of this game, has such arrays.
        """
        for name, dtype in (COLUMNS | {"shape": np.int64}).items():
            if arrays[name].dtype != dtype or arrays[name].ndim != 1:
                raise ValueError(f"its {name!r} is {arrays[name].dtype} {arrays[name].shape}")
        positions = None if game is None else arrays["positions"]
        columns: Any = {name: arrays[name] for name in COLUMNS}
        size, num_actions = arrays["shape"].tolist()
        used = 1 + int((columns["state_action"] % max(num_actions, 1)).max(initial=0))
        expected = num_states, used if game is None else game.num_actions
        if (size, num_actions) != expected:  # before anything of that size is made
            raise ValueError(f"its shape is {(size, num_actions)}, not {expected}")
        model = cls(num_states, num_actions, **columns, game=game, positions=positions)
        if game is None or positions is None:
            return model
        # Of a game: different unfinished or finished positions, each with exactly its legal actions, whose transitions
        # only add stones. So a damaged file cannot make the agent play an illegal move.
        if positions.shape != (num_states, 2) or positions.dtype != np.int64 or len(model._numbers) != num_states:
            raise ValueError(f"its positions are not {num_states} different ones")
        for (own, opp), available in zip(positions.tolist(), model.available, strict=True):
            if own < 0 or opp < 0 or game.status(own, opp):
                raise ValueError(f"({own}, {opp}) is not a position of its game")
            legal = Position(game, own, opp).legal_actions
            if tuple(np.flatnonzero(available).tolist()) != legal:
                raise ValueError(f"its actions in {Position(game, own, opp)!r} are not the legal ones, {legal}")
        stones = positions[:, 0] | positions[:, 1]
        before, after = stones[model.state_action // num_actions], stones[model.next_state]
        back = (before & after != before) | (before == after)
        model._raise_if(back, model.next_state, "the next state has not all stones and one more")
        return model


def gridworld_4x4() -> dict[int, dict[int, list[Transition]]]:
    """The gridworld of Sutton and Barto's Example 4.1 (page 76) as a toy-text table.

    Sixteen cells in reading order; 0 and 15 end the episode, every move costs 1, and one off the grid changes nothing.
    Actions are 0 up, 1 right, 2 down, 3 left.

    Example:
        >>> from tictac_agents import gridworld_4x4
        >>> gridworld_4x4()[1][0]  # (probability, next state, reward, terminated)
        [(1.0, 1, -1.0, False)]
    """
    table: dict[int, dict[int, list[Transition]]] = {}
    for state in range(16):
        table[state] = {}
        for action, (down, right) in enumerate(((-1, 0), (0, 1), (1, 0), (0, -1))):
            row, col = min(max(state // 4 + down, 0), 3), min(max(state % 4 + right, 0), 3)
            cell = 4 * row + col
            table[state][action] = [(1.0, state, 0.0, True) if state in (0, 15) else (1.0, cell, -1.0, cell in (0, 15))]
    return table


def _numbered(table: Any, what: str) -> list[tuple[int, Any]]:
    """The entries of a dict or a sequence with their numbers, ascending."""
    if isinstance(table, Sequence) and not isinstance(table, str):
        return list(enumerate(table))
    if not isinstance(table, Mapping) or any(isinstance(key, bool) or not hasattr(key, "__index__") for key in table):
        raise ValueError(f"{what} must be a sequence, or a dict whose keys are integers, not {table!r:.100}")
    return sorted(((operator.index(key), entry) for key, entry in table.items()), key=operator.itemgetter(0))


def _transition(outcome: Any, where: str) -> Transition:
    try:
        prob, next_state, reward, terminated = outcome
        if isinstance(terminated, (bool, np.bool_)) and not isinstance(next_state, bool):
            return float(prob), operator.index(next_state), float(reward), bool(terminated)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"{where} holds {shown(outcome)}, not (probability, next state, reward, True or False)")


def enumerate_board(board: BoardEnv) -> tuple[list[dict[int, list[Transition]]], Ints]:
    """The transitions of each action of the learner, the opponent's reply included, in every position a game can reach.

    The states are the positions in which the learner is to move, reached from the environment's starts in the learner's
    seat (or seats) against this opponent, and the finished ones, which have no actions. The stones tell whose move it
    is, so one table serves both seats.

    Returns:
        The table, and int64 (S, 2): the stones (own, opp) of each state, the starts first.

    Raises:
        ValueError: there is no opponent, or one drawn for each game (its play does not follow from the position);
            it ends every game before the learner's first move; or there are more than `MAX_TRANSITIONS` transitions.
        IllegalMove: the opponent's choice is illegal.
    """
    opponent, game = board.opponent, board.game
    if opponent is None:
        raise ValueError("a model needs a fixed opponent, and with opponent=None both sides step")
    if isinstance(opponent, OpponentPool):
        raise ValueError(f"a model needs a fixed opponent, and {opponent} draws one for each game; give a Mixture")

    rewards = {
        result: protocol.reward(board.arguments.rewards, result != UNFINISHED, result)
        for result in (WON, DRAWN, LOST, UNFINISHED)
    }
    states: dict[Bits, int] = {}
    positions: list[Bits] = []

    def state_of(position: Bits) -> int:
        if position not in states:
            states[position] = len(positions)
            positions.append(position)
        return states[position]

    @cache
    def replies(position: Bits) -> list[tuple[float, Bits]]:
        return list(_replies(opponent, game, *position))

    def transitions(after: Bits) -> Iterator[Transition]:
        """The transitions after the learner's move that led to `after`."""
        result = game.result(*after)
        if result != UNFINISHED:
            yield 1.0, state_of(after), rewards[-result], True
            return
        for chance, position in replies(after):
            result = game.result(*position)
            yield chance, state_of(position), rewards[result], result != UNFINISHED

    # The states at which the learner can begin, in each of its seats: a start itself, or after the opponent's move.
    starts = board.arguments.start
    for start in [Position.start(game)] if starts is None else (starts[i] for i in range(len(starts))):
        for seat in SEATS[board.arguments.play_as]:
            first = [(start.own, start.opp)]
            if start.seat != seat:
                first = [after for _, after in replies(first[0]) if game.result(*after) == UNFINISHED]
            for position in first:
                state_of(position)
    if not positions:
        raise ValueError(f"{opponent} ends every game before the learner's first move")
    # From there breadth first: `positions` is the queue, which grows while it is read.
    table: list[dict[int, list[Transition]]] = []
    count = 0
    for position in positions:
        table.append({})
        if game.result(*position) != UNFINISHED:
            continue
        for action in range(game.num_actions):
            after = game.play(*position, action)
            if after != position:
                table[-1][action] = list(transitions(after))
                count += len(table[-1][action])
        if count > MAX_TRANSITIONS:
            name = game_name(game) or repr(game)
            raise ValueError(f"{name} has more than {MAX_TRANSITIONS:,} transitions, too many to tabulate")
    return table, np.array(positions, np.int64)


def _replies(opponent: Policy, game: Game, own: int, opp: int) -> Iterator[tuple[float, Bits]]:
    """The positions after the opponent's move, each with its probability."""
    # An opponent without known probabilities is a fixed map: its seed depends on the position alone.
    position = Position(game, own, opp)
    chances = opponent.probabilities(position)
    if chances is None:
        _, *after = answer(opponent, game, own, opp, (), position_seed(own, opp, 0))
        yield 1.0, (after[0], after[1])
        return
    if np.shape(chances) != (game.num_actions,):
        raise ValueError(f"the probabilities of {opponent} must be {game.num_actions}, not {chances}")
    for action in np.flatnonzero(chances).tolist():
        played = game.play(own, opp, action)
        if played == (own, opp):
            raise illegal_choice(opponent, position, action)
        yield float(chances[action]), played
