"""Many boards of one game, each with its own RNG state, stepped together."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tictac_env.arrays import Array, Bools, Ints
from tictac_env.compiled import machine_code
from tictac_env.envs.protocol import MAX_STARTS, NOT_GIVEN, PLAY_AS
from tictac_env.envs.single import MAX_INT, NOT_SEEDED, OPPONENT_REPLACED, REPLACED, Arguments, why_impossible
from tictac_env.envs.vector import passes
from tictac_env.envs.vector.boards import (
    DEAL,
    OVER,
    PLAYING,
    ROWS,
    WAITING,
    Boards,
    ResetOptions,
    StepBuffers,
    aligned,
    boards_of,
    int64_array,
)
from tictac_env.envs.vector.passes import (
    EXTERNAL,
    NOBODY,
    NOT_WRITTEN,
    RANDOM_POLICY,
    RULE_POLICY,
    CompiledOpponents,
    StepSettings,
    write_observations,
)
from tictac_env.games import UNFINISHED, Game
from tictac_env.observation import Infos, ObservationType, observation_type
from tictac_env.policies import Policy
from tictac_env.policies.adapters import AnyFunction
from tictac_env.policies.heuristics import random_choices, rule_choices
from tictac_env.policies.policy import actions_of, illegal_choice
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import STATES, mix, new_state


class StepFrame:
    """The output, infos and truncations that a step returns, in arrays that the caller may keep and write to.

    A frame is filled again by a later step as soon as nobody holds one of its arrays or a view of it: each has the
    references then that it had at first. New arrays would cost more than the step of a thousand boards.

    Args:
        output: the arrays for the step.

    Attributes:
        output: as the argument.
        truncated: bool (N,), all False.
    """

    def __init__(self, output: StepBuffers) -> None:
        # No local variable may hold an array when references are counted.
        self.output = output
        self._numbers = np.empty((3, len(output.rewards)), np.int64)
        self._flags = np.empty((5, len(output.rewards)), np.bool_)
        self.truncated = self._flags[3]
        self._infos = {
            "action_mask": output.action_masks,
            "seat": self._numbers[0],
            "opponent_action": self._numbers[1],
        }
        self._infos |= {f"_{key}": self._flags[row] for row, key in enumerate(self._infos)}
        self._outcomes = {"outcome": self._numbers[2], "_outcome": self._flags[4]}
        self._arrays = [
            array
            for returned in (
                *(output.observations, output.rewards, output.terminated, output.finals, self.truncated),
                *self._infos.values(),
                *self._outcomes.values(),
            )
            for array in (returned, returned.base)
            if array is not None
        ]
        self._references = self._count_references()

    def _count_references(self) -> int:
        return sum(map(sys.getrefcount, self._arrays))

    @property
    def is_free(self) -> bool:
        """True if nobody else holds one of the arrays, or a view of one."""
        return self._count_references() == self._references

    def infos(self, boards: Boards, with_outcomes: bool) -> Infos:
        """The infos of the step, without illegal actions and final infos."""
        self._flags[:3] = True
        self._flags[3] = False
        self._numbers[0], self._numbers[1] = boards.learner, boards.opponent_action
        if not with_outcomes:
            return self._infos.copy()
        self._numbers[2], self._flags[4] = boards.outcome, self.output.terminated
        return self._infos | self._outcomes


def shared_infos(boards: Boards, output: StepBuffers) -> tuple[Infos, Infos]:
    """The infos of every step without and with outcomes, as read-only views of arrays that each step overwrites."""
    every = np.ones(len(boards.own), np.bool_)
    infos: dict[str, Array] = {
        "action_mask": output.action_masks,
        "seat": boards.learner,
        "opponent_action": boards.opponent_action,
    }
    infos |= {f"_{key}": every for key in infos}
    outcomes: dict[str, Array] = {"outcome": boards.outcome, "_outcome": output.terminated}
    plain, ending = ({key: read_only(array) for key, array in shown.items()} for shown in (infos, infos | outcomes))
    return plain, ending


def illegal_infos(actions: Ints) -> Infos:
    """The infos for int64 (N,) illegal actions that have ended games, -1 for the other boards."""
    illegal = actions >= 0
    return {"illegal_action": np.where(illegal, actions, 0), "_illegal_action": illegal}


def final_infos(output: StepBuffers, num_illegal: int) -> Infos:
    """`final_obs` and `final_info` of the games that have ended in a step."""
    ended = output.terminated.copy()
    seats, replies, outcomes, illegal = output.finals
    final: Infos = {"outcome": outcomes, "_outcome": ended.copy()}
    if num_illegal:
        final |= illegal_infos(np.where(ended, illegal, -1))
    arrays = {"action_mask": np.zeros_like(output.action_masks), "seat": seats, "opponent_action": replies}
    final |= arrays | {f"_{key}": ended.copy() for key in arrays}
    last = np.full(len(ended), None, object)
    for i in np.flatnonzero(ended).tolist():
        observation = output.last_observations[i]
        last[i] = observation.copy() if observation.ndim else int(observation)
    return {"final_obs": last, "_final_obs": ended, "final_info": final, "_final_info": ended.copy()}


def read_only(array: Array) -> Array:
    """A view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


COMPILED: dict[object, int] = {random_choices: RANDOM_POLICY, rule_choices: RULE_POLICY}


class BatchOpponents:
    """The opponents on the boards: a single opponent, the members of a pool, or none.

    Args:
        opponent: a policy, a pool, or None in self-play.
        game: the rules.
        obs_type: the observation type for opponents that are functions.
        replaced: earlier opponents, which still play the games that they have begun.

    Attributes:
        policies: the opponents by number: those of new games, then those replaced.
        count: the number of opponents for new games.
        compiled: the opponents as kernels use them.
        external: True if an opponent is not compiled, so Python has to call it.
    """

    def __init__(
        self, opponent: Policy | None, game: Game, obs_type: str, replaced: Sequence[Policy | None] = ()
    ) -> None:
        self._game = game
        members: Sequence[Policy | None] = [opponent]
        weights: list[float] = []
        if isinstance(opponent, OpponentPool):
            members = [opponent.member(number, game, obs_type) for number in range(len(opponent.players))]
            weights = opponent.cumulative
        self.policies, self.count = [*members, *replaced], len(members)
        kinds = [NOBODY if policy is None else COMPILED.get(policy.reflex, EXTERNAL) for policy in self.policies]
        self.compiled = CompiledOpponents(np.array(kinds, np.int64), np.array(weights, np.float64))
        self.external = EXTERNAL in kinds

    def answers(self, boards: Ints, members: Ints, own: Ints, opp: Ints, seeds: Ints) -> Ints:
        """The actions of the `members` in the positions (own, opp) on these `boards`, all int64 (B,).

        Raises:
            ValueError: a policy does not return B integers.
            IllegalMove: a choice is illegal; the message names the policy, the board, the choice and the position.
        """
        # One call of each policy with all of its boards: a network answers a batch as fast as a single position.
        answers = np.empty(len(members), np.int64)
        for number in np.unique(members).tolist():
            rows = np.flatnonzero(members == number)
            policy = self.policies[number]  # not None: boards without an opponent never wait
            replies = actions_of(policy, PositionBatch(self._game, own[rows], opp[rows]), seeds[rows])
            answers[rows] = replies
            # Checked here, where the policy is known; the pass that plays replies takes them for legal.
            playing = np.full(len(rows), PLAYING)
            wrong = passes.first_invalid(self._game, own[rows], opp[rows], playing, answers[rows], True)
            if wrong >= 0:
                row = rows[wrong]
                position = Position(self._game, int(own[row]), int(opp[row]))
                raise illegal_choice(policy, position, int(replies[wrong]), f" on board {boards[row]}")
        return answers


PADDING = 72
"""Extra numbers in each row, so that the rows of many boards do not all map to the same cache sets."""


class BoardBatch:
    """N boards and their opponents. If anything goes wrong (an opponent's error, Ctrl-C), no board is changed.

    Args:
        arguments: the environment's arguments.
        count: the number of boards.
        threads: the number of threads that share them.
        ignores: True if a step ignores the action of a board whose game is over. Its mask then shows all actions, so
            that an agent that chooses by masks finds one.

    Attributes:
        opponents: the opponents.
        boards: the whole state of the boards, as views.
        were_reset: True after the first reset.
    """

    def __init__(self, arguments: Arguments, count: int, threads: int, ignores: bool) -> None:
        game = arguments.game
        self._game, self._arguments, self._count, self._threads = game, arguments, count, threads
        self.opponents = BatchOpponents(arguments.opponent, game, arguments.obs_type)
        # An observation type of the user's own has no kernel: Python then observes between two passes.
        kernel = observation_type(arguments.obs_type).kernel
        over_actions = sum(game.choice(action) for action in range(game.num_actions)) if ignores else 0
        nowhere = np.full(count, NOT_GIVEN, np.int64)
        self._settings = StepSettings(
            ResetOptions(nowhere, nowhere, np.full(count, PLAY_AS.index(arguments.play_as), np.int64)),
            arguments.setup(int64_array),
            self.opponents.compiled,
            arguments.rewards,
            arguments.illegal == "raise",
            NOT_WRITTEN if kernel is None else kernel,
            over_actions,
        )
        self._rows: Ints = aligned((ROWS, count + PADDING))
        self._bind()
        # Before the first reset: empty boards without a game and without a seed.
        self.boards.own[:], self.boards.opp[:] = game.start()
        self.boards.state[:] = NOT_SEEDED
        self.boards.phase[:] = OVER
        self.boards.illegal[:] = -1
        self.were_reset = False
        self._replies = np.full(count, -1, np.int64)
        # If an opponent can end the game before the learner has moved, a board may never get to the learner's move.
        openings = [game.play(*game.start(), action) for action in range(game.num_actions)]
        self._may_get_stuck = bool(arguments.start) or any(game.result(*opening) != UNFINISHED for opening in openings)

    def _bind(self) -> None:
        """Makes the views and forgets the machine code, which copies cannot share."""
        self.boards = boards_of(self.rows)
        self._step: AnyFunction | None = None  # machine code
        self._sample: AnyFunction | None = None

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name not in ("boards", "_step", "_sample")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

    @property
    def rows(self) -> Ints:
        """The boards as one array, int64 (ROWS, N), whose rows are the fields of `boards`."""
        return self._rows[:, : self._count]

    @property
    def batch(self) -> PositionBatch:
        """The positions on the boards."""
        return PositionBatch(self._game, self.boards.own.copy(), self.boards.opp.copy())

    @property
    def ended(self) -> Bools:
        """True for boards whose game has ended, False also for those that never began one: bool (N,)."""
        over: Bools = (self.boards.phase == OVER) & (self.boards.state != NOT_SEEDED)
        return over

    def set_opponent(self, arguments: Arguments) -> None:
        """Replaces the opponent by that of `arguments`, otherwise the same; games that have begun keep theirs."""
        numbers, places = np.unique(self.boards.member, return_inverse=True)
        replaced = [self.opponents.policies[number] for number in numbers.tolist()]
        self._use(BatchOpponents(arguments.opponent, self._game, arguments.obs_type, replaced))
        self._arguments = arguments
        self.boards.member[:] = self.opponents.count + places

    def save(self) -> Ints:
        """A copy of the state of all boards, with `REPLACED` for opponents that have been replaced."""
        rows = self.rows.copy()
        saved = boards_of(rows)
        replaced = saved.member >= self.opponents.count
        saved.member[replaced] = np.where(saved.phase[replaced] == PLAYING, REPLACED, 0)
        return rows

    def load(self, rows: Ints) -> None:
        """Replaces the state of all boards by `rows`.

        Raises:
            ValueError: a state is impossible, or the opponent of its game had been replaced; the message names the
                first wrong board.
        """
        game = self._game
        if rows.shape != self.rows.shape or rows.dtype != np.int64:
            raise ValueError(f"boards are int64 {self.rows.shape}, not {rows.dtype} {rows.shape}")
        # First the numbers, each within its limits; then the stones, by the rules. Only when all boards are possible is
        # anything replaced.
        loaded = boards_of(rows)
        replaced = np.flatnonzero(loaded.member == REPLACED)
        if len(replaced):
            raise ValueError(f"board {replaced[0]}: {OPPONENT_REPLACED}")
        limits = {
            "learner": (0, 1),
            "state": (NOT_SEEDED, STATES),
            "begun": (0, MAX_INT),
            "member": (0, self.opponents.count - 1),
            "phase": (PLAYING, OVER),
            "sampler": (0, STATES),
            "opponent_action": (-1, game.num_actions - 1),
            "outcome": (-1, 1),
            "illegal": (-1, game.num_actions - 1),
        }
        for name, (low, high) in limits.items():
            numbers = getattr(loaded, name)
            wrong = np.flatnonzero((numbers < low) | (numbers > high))
            if len(wrong):
                raise ValueError(f"{name} of board {wrong[0]} must be in [{low}, {high}], not {numbers[wrong[0]]}")
        fields = [field.tolist() for field in (loaded.own, loaded.opp, loaded.phase, loaded.state, loaded.learner)]
        for board, (own, opp, phase, state, learner) in enumerate(zip(*fields, strict=True)):
            reason = why_impossible(game, own, opp, phase == PLAYING, state, learner)
            if reason:
                raise ValueError(f"board {board} cannot have the stones {own} and {opp}: {reason}")
        self.rows[:] = rows
        self.were_reset = bool(loaded.state[0] != NOT_SEEDED)

    def begin(self, chosen: Bools, seeds: Sequence[int | None], options: ResetOptions) -> None:
        """Begins games.

        Args:
            chosen: bool (N,), the boards to begin on.
            seeds: for each board a seed, or None.
            options: of the reset.

        Raises:
            ValueError: an opponent always ends the game before the learner has moved.
            IllegalMove: an opponent's first move is illegal.
        """
        # An opponent may raise, or Ctrl-C come, at any point: the boards are then put back.
        saved = self.rows.copy()
        try:
            for board in np.flatnonzero(chosen).tolist():
                self._seed(board, seeds[board])
            self.boards.phase[chosen] = DEAL
            self._resolve_opponents(options)
            passes.begin_games(self._rows, 0, self._count)
        except BaseException:
            self._restore(saved)
            raise
        self.were_reset = True

    def step(self, actions: Ints, output: StepBuffers) -> tuple[int, int, int]:
        """Plays an action on each board, and the opponent's answer.

        Args:
            actions: int64 (N,), contiguous.
            output: the buffers to write to.

        Returns:
            The number of the first board whose action is out of range (or illegal, if that raises), otherwise -1; the
            number of illegal actions, and the number of games that have ended.

        Raises:
            IllegalMove: an opponent's choice is illegal.
        """
        game = self._game
        if len(self.opponents.policies) > self.opponents.count:
            self._forget_replaced()
        if output.finals.size:
            output.finals[:] = 0
        # With an opponent or an observation type of Python's, the passes run one by one.
        if self._in_python():
            boards = self.boards
            raises = self._settings.raises
            invalid = passes.first_invalid(game, boards.own, boards.opp, boards.phase, actions, raises)
            return (invalid, 0, 0) if invalid >= 0 else (-1, *self._step_in_python(actions, output, self._count))
        arguments: tuple[object, ...] = (game, self._rows, actions, self._replies, self._settings, output.arrays)
        if self._threads > 1:
            arguments = (*arguments[:4], *self._settings, output.arrays, self._threads)
        # Machine code is looked up once: the types of the arguments never change, and it is called without checking
        # them.
        if self._step is None:
            self._step = machine_code(passes.step_in_threads if self._threads > 1 else passes.step_boards, *arguments)
        counts: tuple[int, int, int] = self._step(*arguments)
        return counts

    def sample(self) -> Ints:
        """Draws a legal action for each board, by its sampler's RNG state: int64 (N,); 0 if its game is over."""
        actions = np.empty(self._count, np.int64)
        self._sample_to(actions)
        return actions

    def _sample_to(self, actions: Ints) -> None:
        shares = (self._threads,) if self._threads > 1 else (0, len(actions))
        arguments = (self._game, self._rows, actions, *shares)
        if self._sample is None:
            kernel = passes.sample_in_threads if self._threads > 1 else passes.sample
            self._sample = machine_code(kernel, *arguments)
        self._sample(*arguments)

    def compile_step(self, output: StepBuffers) -> None:
        """Compiles the kernels of steps with this output, by steps that change nothing; all boards must be playing."""
        invalid = np.full(self._count, -1)
        self.step(invalid, output)  # is refused
        if self._in_python():
            self._step_in_python(invalid, output, 0)
            if output.finals.size:
                passes.store_finals(self._rows, output.finals, 0, 0)
        self._sample_to(invalid[:0])

    def show(self, output: StepBuffers, last: bool = False) -> None:
        """Writes the observations and masks, or the last observations of the games that are over."""
        shift = self._count if last else 0
        over_actions = 0 if last or not self.were_reset else self._settings.over_actions
        write_observations(
            self._game, self._rows, self._settings.obs_type, over_actions, output.arrays, shift, 0, self._count
        )
        if self._settings.obs_type == NOT_WRITTEN:
            chosen = self.boards.phase == OVER if last else np.ones(self._count, np.bool_)
            observations = output.last_observations if last else output.observations
            kind = observation_type(self._arguments.obs_type)
            observations[chosen] = observations_of(kind, self._game, boards_of(self.rows[:, chosen]))

    def _forget_replaced(self) -> None:
        """Forgets the opponents that have been replaced, once new games are on all boards: steps are faster without."""
        arguments = self._arguments
        if self.boards.member.max() < self.opponents.count:
            self._use(BatchOpponents(arguments.opponent, self._game, arguments.obs_type))

    def _use(self, opponents: BatchOpponents) -> None:
        self.opponents = opponents
        self._settings = self._settings._replace(opponents=opponents.compiled)

    def _in_python(self) -> bool:
        """True if Python has to answer or to observe within a step."""
        return self.opponents.external or self._may_get_stuck or self._settings.obs_type == NOT_WRITTEN

    def _step_in_python(self, actions: Ints, output: StepBuffers, count: int) -> tuple[int, int]:
        """The kernel `step` on the first `count` boards, in parts between which Python answers or observes."""
        game, rows, arrays = self._game, self._rows, output.arrays
        saved = self.rows.copy()
        try:
            # The passes of `passes._step`, over all boards at once.
            num_illegal = passes.move(game, rows, actions, self._settings.setup.self_play, True, 0, count)
            self._resolve_opponents(self._settings.options)
            num_ended = passes.write_rewards(rows, self._arguments.rewards, arrays.rewards, arrays.ended, 0, count)
            if output.finals.shape[1] and num_ended:
                self.show(output, last=True)
                passes.store_finals(rows, output.finals, 0, count)
                self._resolve_opponents(self._settings.options)
                passes.begin_games(rows, 0, count)
        except BaseException:
            self._restore(saved)
            raise
        self.show(output)
        return num_illegal, num_ended

    def _resolve_opponents(self, options: ResetOptions) -> None:
        """Lets opponents answer and deals games until no board waits for either."""
        # The kernel does what it can, and stops where a policy of Python's has to answer; its answers go to `_replies`,
        # and the next call plays them. Each call deals at most MAX_STARTS times, for openings that end at once.
        game, boards, opponents = self._game, self.boards, self.opponents
        for _ in range(MAX_STARTS + 1):
            external, stuck = passes.resolve_opponents(
                game, self._rows, self._replies, options, self._settings.setup, opponents.compiled, 0, self._count
            )
            if not external:
                break
            waiting = np.flatnonzero(boards.phase >= WAITING)
            seeds = mix(boards.state[waiting])
            members, own, opp = boards.member[waiting], boards.own[waiting], boards.opp[waiting]
            self._replies[waiting] = opponents.answers(waiting, members, own, opp, seeds)
        else:
            stuck = external
        if stuck:
            board = int(np.flatnonzero(boards.phase >= DEAL)[0])
            raise ValueError(
                f"board {board}: the opponent ends the game before the learner's first move, in {self.batch[board]!r}"
            )

    def _seed(self, board: int, seed: int | None) -> None:
        """Seeds a board, from fresh entropy if it has never had a seed."""
        boards = self.boards
        if seed is None and boards.state[board] != NOT_SEEDED:
            return
        state = new_state(seed)
        boards.state[board] = state
        boards.sampler[board] = mix(state) & STATES
        boards.begun[board] = 0

    def _restore(self, saved: Ints) -> None:
        self.rows[:] = saved
        self._replies[:] = -1


def observations_of(kind: ObservationType, game: Game, boards: Boards) -> Array:
    """The learners' observations of N boards, for a type that no kernel writes: (N, ...)."""
    # Own stones are the learner's: the stones change places where the other side is to move.
    own, opp, learners = boards.own, boards.opp, boards.learner
    movers = np.array([game.seat(*stones) for stones in zip(own.tolist(), opp.tolist(), strict=True)], np.int64)
    waits = movers != learners
    return kind.observe_many(game, np.where(waits, opp, own), np.where(waits, own, opp), learners)
