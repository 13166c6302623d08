"""Policies and values by n-tuple networks: sums of table entries in place of layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.alphazero.forest import force_one, forced_choices
from tictac_agents.base_learner import Arrays, as_shaped
from tictac_agents.mcts.evaluators import Evaluation
from tictac_agents.ntuple.network import checked_tuples, family_game
from tictac_agents.ntuple.values import ONE, TWO, Int32s, Layout, layout_of, squash
from tictac_env.compiled import borrowing_kernel, kernel, kernel_methods
from tictac_env.games import Game, describe_game
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.position_batch import PositionBatch

Ints = npt.NDArray[np.int64]
Float32s = npt.NDArray[np.float32]
Addresses = npt.NDArray[np.uint32]
POLICY = 5.0
"""The step of the policy, in steps of the value: a logit has to move further than a value's sum."""
LOWEST = np.float32(-1e9)
"""The logit of an illegal action."""


class PolicyValueTuples:
    """An n-tuple network with two kinds of tables: values, as in `NTupleNetwork`, and logits.

    A stone on a cell changes the content of the tuples through this cell. The logit of an action is the sum of the
    entries that the tables of logits then have for these tuples; the policy is the softmax of the logits. The value is
    that of the position for the side that has just moved, with its sign changed.

    The entries follow the gradient of the cross-entropy, of the policy and of the value; all entries of a sum get the
    same share of the step: `step` is the part of the value's error that an update removes.

    Args:
        game: a game of the `KInARow` family.
        tuples: for each tuple its cells, numbered row by row from the top left, the same number of them for each tuple.
            A tuple of N cells has 4 * 4**N entries of 4 bytes.
        step: in (0, 2].
        symmetric: True if the images of a tuple under the board's symmetries share its entries; False for no images.
        tactics: True if the compiled search corrects values and priors by `forest.force_one`.

    Raises:
        ValueError: the game is of another family, or the tuples are not such cells.
    """

    priors = True

    def __init__(
        self, game: Game, tuples: Sequence[Sequence[int]], step: float, symmetric: bool, tactics: bool = False
    ) -> None:
        self.game, self.step, self.tactics = family_game(game), step, tactics
        self.tuples = checked_tuples(self.game, tuples)
        self.layout = layout_of(self.game, self.tuples, symmetric)
        size = len(self.tuples) << 2 * len(self.tuples[0]) + 1
        self.values: Int32s = np.zeros(size, np.int32)
        self.logits: Int32s = np.zeros(size, np.int32)

    def evaluate(self, batch: PositionBatch) -> Evaluation:
        """Values float32 (B,) and priors float32 (B, num_actions) of B unfinished positions."""
        values = np.empty(len(batch), np.float32)
        priors = np.empty((len(batch), self.game.num_actions), np.float32)
        evaluate_all(self.game, self.layout, self.values, self.logits, batch.own, batch.opp, values, priors)
        return Evaluation(values, priors)

    def compiled(self, game: Game) -> PolicyValueLeaves:
        """The record for a search: see `mcts.evaluators.CompiledEvaluator`.

        Raises:
            ValueError: it is another game.
        """
        if game != self.game:
            raise ValueError(f"the network plays {describe_game(self.game)}, not {describe_game(game)}")
        scratch = np.zeros(len(self.layout.empty), np.uint32)
        return PolicyValueLeaves(self.layout, self.values, self.logits, scratch, self.tactics)

    def learn(
        self, batch: PositionBatch, policies: Float32s, results: Float32s, decay: float, rng: np.random.Generator
    ) -> None:
        """Learns from B unfinished positions, one after the other.

        Args:
            batch: the positions.
            policies: (B, num_actions), the target policies; zeros for a position of which only the value is learned.
            results: (B,), the target values, in [-1, 1].
            decay: the factor of the step.
            rng: not used.
        """
        learn_all(
            self.game, self.layout, self.values, self.logits, batch.own, batch.opp, policies, results,
            self.step * decay, POLICY * self.step * decay,
        )  # fmt: skip

    def arrays(self) -> Arrays:
        """Copies of the learned tables."""
        return {"values": self.values.copy(), "logits": self.logits.copy()}

    def read(self, arrays: Arrays) -> None:
        """Restores the `arrays` of another network of this shape.

        Raises:
            KeyError: an array is missing.
            ValueError: an array has another type or shape.
        """
        self.values, self.logits = (as_shaped(name, arrays[name], self.values).copy() for name in ("values", "logits"))


@borrowing_kernel
def show_to(layout: Layout, own: int, opp: int, seat: int, addresses: Addresses) -> None:
    """Fills in the address of each image in a position in which `seat` is to move."""
    for image in range(len(addresses)):
        addresses[image] = layout.empty[image]
    stones = own
    for owner in (seat, 1 - seat):
        while stones:
            # x & (x - 1) clears the lowest bit, 1 << n, and (1 << n) - 1 has n bits. See the pictures in `Layout`.
            higher = stones & stones - 1
            bit = ((stones ^ higher) - 1).bit_count()
            for entry in range(layout.begins[bit], layout.begins[bit + 1]):
                addresses[layout.touched[entry]] ^= layout.changes[owner, entry]
            stones = higher
        stones = opp


@borrowing_kernel
def sum_of(values: Int32s, seat: int, addresses: Addresses) -> int:
    """The sum of the values' entries at these addresses, for a position after a move of `seat`."""
    total = 0
    for image in range(len(addresses)):
        total += values[TWO * addresses[image] + np.uint32(seat)]
    return total


@borrowing_kernel
def policy_of(
    game: KInARow, layout: Layout, logits: Int32s, own: int, opp: int, seat: int, addresses: Addresses, policy: Float32s
) -> None:
    """Fills in the probability of each action, a softmax of the logits."""
    # The logit of an action sums over the images that its stone touches, at the addresses that they would then have.
    highest = LOWEST
    for action in range(game.num_actions):
        stone = game.stone(own, opp, action)
        policy[action] = LOWEST
        if stone:
            bit = (stone - 1).bit_count()
            total = 0
            for entry in range(layout.begins[bit], layout.begins[bit + 1]):
                address = addresses[layout.touched[entry]] ^ layout.changes[seat, entry]
                total += logits[TWO * address + np.uint32(seat)]
            policy[action] = np.float32(total / ONE)
            highest = max(highest, policy[action])
    # The highest logit is subtracted, so that no power overflows.
    total_chance = np.float32(0)
    for action in range(game.num_actions):
        policy[action] = np.exp(policy[action] - highest) if policy[action] > LOWEST else np.float32(0)
        total_chance += policy[action]
    for action in range(game.num_actions):
        policy[action] /= total_chance


@kernel_methods
class PolicyValueLeaves(NamedTuple):
    """The network as `mcts.simulation.Leaves`; no two threads may share `addresses`, which is scratch."""

    layout: Layout
    values: Int32s
    logits: Int32s
    addresses: Addresses
    tactics: bool

    def leaf_value(self, game: Any, own: int, opp: int, state: int) -> tuple[float, int]:
        """The value of an unfinished position for the side to move, in [-1, 1]; see `mcts.simulation.Leaves`."""
        seat = game.seat(own, opp)
        show_to(self.layout, own, opp, seat, self.addresses)
        value = -squash(sum_of(self.values, 1 - seat, self.addresses))
        if self.tactics:
            _, result = forced_choices(game, own, opp)
            value = float(result) if result else value
        return value, state

    def leaf_priors(self, game: Any, own: int, opp: int, priors: Float32s) -> None:
        """Fills in the priors of that position."""
        seat = game.seat(own, opp)
        policy_of(game, self.layout, self.logits, own, opp, seat, self.addresses, priors)
        if self.tactics:
            force_one(game, forced_choices(game, own, opp)[0], priors)


@kernel
def evaluate_all(
    game: KInARow, layout: Layout, weights: Int32s, logits: Int32s, own: Ints, opp: Ints, values: Float32s,
    priors: Float32s,
) -> None:  # fmt: skip
    """Fills in the values and priors of B positions."""
    addresses = np.empty(len(layout.empty), np.uint32)
    for i in range(len(own)):
        seat = game.seat(own[i], opp[i])
        show_to(layout, own[i], opp[i], seat, addresses)
        values[i] = -squash(sum_of(weights, 1 - seat, addresses))
        policy_of(game, layout, logits, own[i], opp[i], seat, addresses, priors[i])


@kernel
def learn_all(
    game: KInARow, layout: Layout, values: Int32s, logits: Int32s, own: Ints, opp: Ints, policies: Float32s,
    results: Float32s, step: float, policy_step: float,
) -> None:  # fmt: skip
    """Updates the entries of B positions, position by position; arguments as of `PolicyValueTuples.learn`."""
    addresses = np.empty(len(layout.empty), np.uint32)
    policy = np.empty(game.num_actions, np.float32)
    for i in range(len(own)):
        seat = game.seat(own[i], opp[i])
        show_to(layout, own[i], opp[i], seat, addresses)
        # The value: the table has it for the side that has just moved, hence the sign. Each image gets the same share.
        error = -results[i] - squash(sum_of(values, 1 - seat, addresses))
        amount = np.int32(round(step * error * ONE / len(addresses)))
        for image in range(len(addresses)):
            values[TWO * addresses[image] + np.uint32(1 - seat)] += amount
        # The policy: the gradient of the cross-entropy by a logit is the probability minus its target.
        wanted = 0.0
        for action in range(game.num_actions):
            wanted += policies[i, action]
        if wanted == 0:
            continue
        policy_of(game, layout, logits, own[i], opp[i], seat, addresses, policy)
        for action in range(game.num_actions):
            stone = game.stone(own[i], opp[i], action)
            if stone:
                bit = (stone - 1).bit_count()
                begin, end = layout.begins[bit], layout.begins[bit + 1]
                if begin == end:  # no tuple has this cell
                    continue
                amount = np.int32(round(policy_step * (policies[i, action] - policy[action]) * ONE / (end - begin)))
                for entry in range(begin, end):
                    address = addresses[layout.touched[entry]] ^ layout.changes[seat, entry]
                    logits[TWO * address + np.uint32(seat)] += amount
