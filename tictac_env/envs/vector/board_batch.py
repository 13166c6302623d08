"""Many boards of one game, each with its own randomness, stepped together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import machine_code
from tictac_env.envs.protocol import MAX_STARTS, NOT_GIVEN, PLAY_AS
from tictac_env.envs.single import MAX_INT, NOT_SEEDED, Arguments, why_impossible
from tictac_env.envs.vector import kernels
from tictac_env.envs.vector.boards import (
    DEAL,
    LEGALITY,
    NO_CHECK,
    OVER,
    PLAYING,
    RANGE,
    ROWS,
    WAITING,
    Boards,
    Bools,
    Given,
    Ints,
    StepBuffers,
    aligned,
    boards_of,
    int64_array,
)
from tictac_env.envs.vector.kernels import (
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
from tictac_env.observation import ObservationType, observation_type
from tictac_env.policies import Policy
from tictac_env.policies.heuristics import random_choices, rule_choices
from tictac_env.policies.policy import actions_of, illegal_choice
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import STATES, advance, mix, new_state

Infos = dict[str, Any]


class LentInfos:
    """The infos of steps that all write to the same arrays: read-only views of these, made once."""

    def __init__(self, boards: Boards, output: StepBuffers) -> None:
        every = read_only(np.ones(len(boards.own), np.bool_))
        shown = {
            "action_mask": read_only(output.action_masks),
            "seat": read_only(boards.learner),
            "opponent_action": read_only(boards.opponent_action),
        }
        self._infos = shown | {f"_{key}": every for key in shown}
        self._ending = {"outcome": read_only(boards.outcome), "_outcome": read_only(output.terminated)}

    def of_step(self, with_outcomes: bool) -> Infos:
        """The infos of the last step, without illegal actions and final infos."""
        return self._infos | self._ending if with_outcomes else self._infos.copy()


def fresh_infos(boards: Boards, output: StepBuffers, with_outcomes: bool) -> Infos:
    """The infos of `LentInfos.of_step` in arrays of their own; the mask is that of `output`."""
    every = np.ones(len(boards.own), np.bool_)
    shown = {
        "action_mask": output.action_masks,
        "seat": boards.learner.copy(),
        "opponent_action": boards.opponent_action.copy(),
    }
    infos: Infos = shown | {f"_{key}": every.copy() for key in shown}
    if with_outcomes:
        infos |= {"outcome": boards.outcome.copy(), "_outcome": output.terminated.copy()}
    return infos


def illegal_infos(actions: Ints) -> Infos:
    """The illegal actions that have ended games, of int64 (N,) with -1 where none has."""
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


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


COMPILED: dict[object, int] = {random_choices: RANDOM_POLICY, rule_choices: RULE_POLICY}


class Opponents:
    """The opponents on the boards: one, the members of a pool, or none.

    Attributes:
        compiled: what the kernels know of them.
        external: whether one of them is not compiled and has to be asked.
    """

    def __init__(self, opponent: Policy | None, game: Game, obs_type: str) -> None:
        self._opponent, self._game, self._obs_type = opponent, game, obs_type
        self._weights: list[float] | None = None
        self._read(list(opponent.cumulative) if isinstance(opponent, OpponentPool) else [])

    def update(self) -> None:
        """Takes note of new members of the pool, and of changed weights."""
        if isinstance(self._opponent, OpponentPool) and self._opponent.cumulative != self._weights:
            self._read(list(self._opponent.cumulative))

    def policy(self, member: int) -> Policy | None:
        """The opponent of this number; without a pool there is only number 0."""
        if isinstance(self._opponent, OpponentPool):
            return self._opponent.member(member, self._game, self._obs_type)
        return self._opponent

    def answers(self, boards: Ints, members: Ints, own: Ints, opp: Ints, seeds: Ints) -> Ints:
        """The actions of the `members` in the positions (own, opp) on these `boards`, all int64 (B,).

        Raises:
            ValueError: a policy does not answer with B integers.
            IllegalMove: its choice is illegal; the message names it, the board, the choice and the position.
        """
        answers = np.empty(len(members), np.int64)
        for number in np.unique(members).tolist():
            asked = np.flatnonzero(members == number)
            policy = self.policy(number)
            replies = actions_of(policy, PositionBatch(self._game, own[asked], opp[asked]), seeds[asked])  # type: ignore[arg-type]  # nobody is never asked
            answers[asked] = replies
            playing = np.full(len(asked), PLAYING)
            wrong = kernels.first_invalid(self._game, own[asked], opp[asked], playing, answers[asked], True)
            if wrong >= 0:
                board = asked[wrong]
                position = Position(self._game, int(own[board]), int(opp[board]))
                raise illegal_choice(policy, position, int(replies[wrong]), f" on board {boards[board]}")  # type: ignore[arg-type]
        return answers

    def _read(self, weights: list[float]) -> None:
        policies = [self.policy(number) for number in range(max(1, len(weights)))]
        kinds = [NOBODY if policy is None else COMPILED.get(policy.reflex, EXTERNAL) for policy in policies]
        self.compiled = CompiledOpponents(np.array(kinds, np.int64), np.array(weights, np.float64))
        self.external = EXTERNAL in kinds
        self._weights = weights


PADDING = 72
"""Makes rows so much longer that, for many boards, they do not all fall into the same places of the cache."""


class BoardBatch:
    """N boards and their opponents. If anything goes wrong (an opponent's error, Ctrl-C), no board is changed.

    Args:
        arguments: the environment's.
        count: how many boards.
        threads: how many threads share them.
        lends: whether the sampler lends its actions; see `Sampler`.
        ignores: whether a step ignores the action of a board whose game is over. Its mask then shows all actions, so
            that whoever chooses by masks finds one.

    Attributes:
        boards: their whole state, as views.
        sampler: draws random actions for them.
        were_reset: whether there was a reset yet.
    """

    def __init__(self, arguments: Arguments, count: int, threads: int, lends: bool, ignores: bool) -> None:
        game = arguments.game
        self._game, self._arguments, self._count, self._threads = game, arguments, count, threads
        self._opponents = Opponents(arguments.opponent, game, arguments.obs_type)
        kernel = observation_type(arguments.obs_type).kernel
        self._writer = NOT_WRITTEN if kernel is None else kernel
        self._rows: Ints = aligned((ROWS, count + PADDING))
        self._bind()
        self.boards.own[:], self.boards.opp[:] = game.start()
        self.boards.state[:] = NOT_SEEDED
        self.boards.phase[:] = OVER
        self.boards.illegal[:] = -1
        self.were_reset = False
        self.sampler = Sampler(game, self._rows, count, threads, lends)
        self._replies = np.full(count, -1, np.int64)
        self._setup = arguments.setup(int64_array)
        nowhere = np.full(count, NOT_GIVEN, np.int64)
        self._nothing_given = Given(nowhere, nowhere, np.full(count, PLAY_AS.index(arguments.play_as), np.int64))
        self._over_actions = sum(game.choice(action) for action in range(game.num_actions)) if ignores else 0
        # Where an opponent may end the game before the learner has moved, a board may find no beginning.
        openings = [game.play(*game.start(), action) for action in range(game.num_actions)]
        self._may_get_stuck = bool(arguments.start) or any(game.result(*opening) != UNFINISHED for opening in openings)

    def _bind(self) -> None:
        """Makes the views and the machine code, which copies cannot share."""
        self.boards = boards_of(self.rows)
        self._step: Callable[..., Any] | None = None  # machine code

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("boards", "_step")}

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
        """On which boards a game has ended, unlike those that none has begun on: bool (N,)."""
        over: Bools = (self.boards.phase == OVER) & (self.boards.state != NOT_SEEDED)
        return over

    def load(self, rows: Ints) -> None:
        """Takes over the rows of other boards.

        Raises:
            ValueError: they are impossible; the message names the first wrong board.
        """
        game = self._game
        if rows.shape != self.rows.shape or rows.dtype != np.int64:
            raise ValueError(f"boards are int64 {self.rows.shape}, not {rows.dtype} {rows.shape}")
        self._opponents.update()  # one that has joined the pool may play here
        limits = {
            "learner": (0, 1),
            "state": (NOT_SEEDED, STATES),
            "begun": (0, MAX_INT),
            "member": (0, len(self._opponents.compiled.kinds) - 1),
            "phase": (PLAYING, OVER),
            "sampler": (0, STATES),
            "opponent_action": (-1, game.num_actions - 1),
            "outcome": (-1, 1),
            "illegal": (-1, game.num_actions - 1),
        }
        given = boards_of(rows)
        for name, (low, high) in limits.items():
            numbers = getattr(given, name)
            wrong = np.flatnonzero((numbers < low) | (numbers > high))
            if len(wrong):
                raise ValueError(f"{name} of board {wrong[0]} must be in [{low}, {high}], not {numbers[wrong[0]]}")
        stones = zip(given.own.tolist(), given.opp.tolist(), given.phase.tolist(), given.state.tolist(), strict=True)
        for board, (own, opp, phase, state) in enumerate(stones):
            reason = why_impossible(game, own, opp, phase == PLAYING, state)
            if reason:
                raise ValueError(f"board {board} cannot have the stones {own} and {opp}: {reason}")
        self.rows[:] = rows
        self.sampler.restart()
        self.were_reset = bool(given.state[0] != NOT_SEEDED)

    def begin(self, chosen: Bools, seeds: Sequence[int | None], given: Given) -> None:
        """Begins games.

        Args:
            chosen: bool (N,), on which boards.
            seeds: for each board a seed, or None.
            given: what the reset says of them.

        Raises:
            ValueError: an opponent always ends the game before the learner has moved.
            IllegalMove: an opponent's first move is illegal.
        """
        self._opponents.update()
        self.sampler.write_states()
        saved = self.rows.copy()
        try:
            for board in np.flatnonzero(chosen).tolist():
                self._seed(board, seeds[board])
            self.boards.phase[chosen] = DEAL
            self._resolve_opponents(given)
            kernels.begin_games(self._rows, 0, self._count)
        except BaseException:
            self._restore(saved)
            raise
        self.were_reset = True

    def step(self, actions: Ints, output: StepBuffers, as_lent: bool) -> tuple[int, int, int]:
        """Plays an action on each board, and the opponent's answer.

        Args:
            actions: int64 (N,), contiguous.
            output: what the step is written to.
            as_lent: whether the actions are those that the sampler has lent last. They are legal then, and the next
                ones are drawn along.

        Returns:
            The number of the first board whose action is out of range (or illegal, if that raises), else -1; how many
            actions were illegal, and how many games have ended.

        Raises:
            IllegalMove: an opponent's choice is illegal.
        """
        game, opponents, raises = self._game, self._opponents, self._arguments.illegal == "raise"
        opponents.update()
        if output.finals.size:
            output.finals[:] = 0
        in_python = self._in_python()
        draws = self.sampler.ahead(as_lent and not in_python)
        if in_python:
            boards = self.boards
            invalid = kernels.first_invalid(game, boards.own, boards.opp, boards.phase, actions, raises)
            return (invalid, 0, 0) if invalid >= 0 else (-1, *self._step_in_python(actions, output, self._count))
        checks = LEGALITY if raises else NO_CHECK if as_lent else RANGE
        settings = StepSettings(checks, self._writer, self._over_actions, self.sampler.offset)
        # fmt: off
        given: Any = (
            game, self._rows, actions, self._replies, self._nothing_given, self._setup, opponents.compiled,
            self._arguments.rewards, settings, output.arrays, draws,
        )
        # fmt: on
        if self._threads > 1:
            given = (*given, self._threads)
        if self._step is None:
            self._step = machine_code(kernels.step_in_threads if self._threads > 1 else kernels.step, *given)
        done: tuple[int, int, int] = self._step(*given)
        if len(draws) and done[0] < 0:
            self.sampler.drawn_ahead()
        return done

    def compile_step(self, output: StepBuffers) -> None:
        """Compiles the kernels of steps with this output, by steps that change nothing; all boards must be playing."""
        invalid = np.full(self._count, -1)
        self.step(invalid, output, as_lent=False)  # which is refused
        if self._in_python():
            self._step_in_python(invalid, output, 0)
            if output.finals.size:
                kernels.store_finals(self._rows, output.finals, 0, 0)
        self.sampler.compile()

    def show(self, output: StepBuffers, last: bool = False) -> None:
        """Writes the observations and masks, or the last observations of the games that are over."""
        shift = self._count if last else 0
        over_actions = 0 if last or not self.were_reset else self._over_actions
        write_observations(self._game, self._rows, self._writer, over_actions, output.arrays, shift, 0, self._count)
        if self._writer == NOT_WRITTEN:
            shown = self.boards.phase == OVER if last else np.ones(self._count, np.bool_)
            observations = output.last_observations if last else output.observations
            kind = observation_type(self._arguments.obs_type)
            observations[shown] = observations_of(kind, self._game, boards_of(self.rows[:, shown]))

    def _in_python(self) -> bool:
        """Whether Python has to answer or to observe within a step."""
        return self._opponents.external or self._may_get_stuck or self._writer == NOT_WRITTEN

    def _step_in_python(self, actions: Ints, output: StepBuffers, count: int) -> tuple[int, int]:
        """The kernel `step` on the first `count` boards in pieces, as Python answers or observes in between."""
        game, rows, arrays = self._game, self._rows, output.arrays
        saved = self.rows.copy()
        try:
            num_illegal = kernels.move(game, rows, actions, self._setup.self_play, True, 0, count)
            self._resolve_opponents(self._nothing_given)
            num_ended = kernels.write_rewards(rows, self._arguments.rewards, arrays.rewards, arrays.ended, 0, count)
            if output.finals.shape[1] and num_ended:
                self.show(output, last=True)
                kernels.store_finals(rows, output.finals, 0, count)
                self._resolve_opponents(self._nothing_given)
                kernels.begin_games(rows, 0, count)
        except BaseException:
            self._restore(saved)
            raise
        self.show(output)
        return num_illegal, num_ended

    def _resolve_opponents(self, given: Given) -> None:
        """Has opponents answer and deals games until no board waits for either."""
        game, boards, opponents = self._game, self.boards, self._opponents
        for _ in range(MAX_STARTS + 1):
            external, _, stuck = kernels.resolve_opponents(
                game, self._rows, self._replies, given, self._setup, opponents.compiled, 0, self._count
            )
            if not external:
                break
            waiting = np.flatnonzero(boards.phase >= WAITING)
            seeds: Any = mix(boards.state[waiting])  # type: ignore[arg-type]  # of an array it makes an array
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


class Sampler:
    """Draws a legal action for each of N boards, by a randomness of its own on each.

    A step that is handed the very array that was lent last can have the next actions drawn along. The states on the
    boards are written only when they are asked for: until then all have moved on by the same offset.

    Args:
        game: the rule book.
        rows: the boards, as `boards_of` takes them.
        count: N.
        threads: how many threads draw.
        lends: whether what is given are read-only views of two arrays in turn, not arrays of the caller's own.

    Attributes:
        offset: how far the randomness has come since the states on the boards were written.
    """

    def __init__(self, game: Game, rows: Ints, count: int, threads: int, lends: bool) -> None:
        self._game, self._rows, self._count, self._threads, self._lends = game, rows, count, threads, lends
        self._draws = aligned((2, count))
        self._latest = 0  # which of the two was given last
        self._ahead = False  # whether the other holds what is to be given next
        self._lent: Ints | None = None
        self.offset = 0

    def __getstate__(self) -> dict[str, Any]:
        """Copies have lent nothing: a copy of lent actions can be written to."""
        return self.__dict__ | {"_lent": None}

    @property
    def latest(self) -> Ints:
        """What was given last: int64 (N,)."""
        latest: Ints = self._draws[self._latest]
        return latest

    def draw(self) -> Ints:
        """A legal action for each board, int64 (N,); 0 where a game is over."""
        self._latest = 1 - self._latest
        if self._ahead:
            self._ahead = False
        else:
            self._draw_to(self.latest)
        self.offset = advance(self.offset)
        if not self._lends:
            return self.latest.copy()
        self._lent = read_only(self.latest)
        return self._lent

    def compile(self) -> None:
        """Compiles the kernel that draws. Nothing must be drawn ahead: this writes there."""
        self._draw_to(self._draws[1 - self._latest])

    def _draw_to(self, actions: Ints) -> None:
        if self._threads > 1:
            kernels.sample_in_threads(self._game, self._rows, actions, self.offset, self._threads)
        else:
            kernels.sample(self._game, self._rows, actions, self.offset, 0, self._count)

    def has_lent(self, actions: Any) -> bool:
        """Whether these are the actions lent last. They are legal then, as nobody can have changed them."""
        return self._lent is not None and actions is self._lent

    def ahead(self, wanted: bool) -> Ints:
        """Where a step draws the next actions along: int64 (N,), or (0,) if that is not `wanted`."""
        self._ahead = False
        ahead: Ints = self._draws[1 - self._latest, : self._count * wanted]
        return ahead

    def drawn_ahead(self) -> None:
        """Records that this step has already drawn the actions."""
        self._ahead = True

    def write_states(self) -> None:
        """Brings the states on the boards up to date, and forgets what was drawn ahead: the boards are to change."""
        states = boards_of(self._rows).sampler
        states[:] = states + self.offset & STATES
        self.offset, self._ahead = 0, False

    def restart(self) -> None:
        """Forgets everything but the states on the boards, which are new."""
        self.offset, self._ahead = 0, False


def observations_of(kind: ObservationType, game: Game, boards: Boards) -> npt.NDArray[Any]:
    """The learners' observations of N boards, of a type that no kernel writes: (N, ...)."""
    own, opp, learners = boards.own, boards.opp, boards.learner
    movers = np.array([game.seat(*stones) for stones in zip(own.tolist(), opp.tolist(), strict=True)], np.int64)
    waits = movers != learners
    return kind.observe_many(game, np.where(waits, opp, own), np.where(waits, own, opp), learners)
