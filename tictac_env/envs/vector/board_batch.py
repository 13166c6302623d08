"""Many boards of one game, each with its own randomness, stepped together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tictac_env.envs.arguments import Arguments
from tictac_env.envs.options import NOWHERE
from tictac_env.envs.protocol import PLAY_AS
from tictac_env.envs.vector import kernels, stepping
from tictac_env.envs.vector.boards import (
    BEGUN,
    DEAL,
    LEARNER,
    LEGALITY,
    MEMBER,
    NO_CHECK,
    OPP,
    OPPONENT_ACTION,
    OUTCOME,
    OVER,
    OWN,
    PHASE,
    PLAYING,
    RANGE,
    ROWS,
    SAMPLER,
    STATE,
    WAITING,
    Ints,
    aligned,
)
from tictac_env.envs.vector.buffers import Bools, StepBuffers
from tictac_env.envs.vector.opponents import Opponents
from tictac_env.envs.vector.views import NOT_WRITTEN, observations_of, write_observations
from tictac_env.games import UNFINISHED
from tictac_env.observation import observation_type
from tictac_env.position import PositionBatch
from tictac_env.rng import STATES, advance, mix, new_state

NOT_SEEDED = -1
MAX_INT = int(np.iinfo(np.int64).max)
PADDING = 72
"""Makes rows so much longer that, for many boards, they do not all fall into the same places of the cache."""


class BoardBatch:
    """N boards and who answers on them. If anything goes wrong, an opponent's error or Ctrl-C, no board is changed.

    Args:
        arguments: the environment's.
        count: how many boards.
        threads: how many threads share them.

    Attributes:
        were_reset: whether there was a reset yet.
    """

    def __init__(self, arguments: Arguments, count: int, threads: int) -> None:
        game = arguments.game
        self._game, self._arguments, self._count, self._threads = game, arguments, count, threads
        self._opponents = Opponents(arguments.opponent, game, arguments.obs_type)
        self._observation_type = observation_type(arguments.obs_type)
        kernel = self._observation_type.kernel
        self._writer = NOT_WRITTEN if kernel is None else kernel
        self._raises = arguments.illegal == "raise"
        self._padded: Ints = aligned((ROWS, count + PADDING))
        self.rows[OWN], self.rows[OPP] = game.start()
        self.rows[STATE] = NOT_SEEDED
        self.rows[PHASE] = OVER
        self.were_reset = False
        self._draws = aligned((2, count))
        self._latest = 0  # which of them was given last
        self._draws_ahead = False  # whether the other holds what is to be given next
        self._offset = 0  # how far the sampler's randomness has come since SAMPLER was written
        self._replies = np.full(count, -1, np.int64)
        self._play_as = np.full(count, PLAY_AS.index(arguments.play_as), np.int64)
        starts = arguments.start or ()
        self._starts = np.array([[start.own for start in starts], [start.opp for start in starts]], np.int64)
        # Where an opponent may end the game before the learner has moved, a board may find no beginning.
        openings = [game.play(*game.start(), action) for action in range(game.num_actions)]
        self._may_get_stuck = bool(starts) or any(game.result(*opening) != UNFINISHED for opening in openings)

    @property
    def rows(self) -> Ints:
        """All there is to know of the boards: int64 (ROWS, N), a view; see `tictac_env.envs.vector.boards`."""
        return self._padded[:, : self._count]

    @property
    def drawn(self) -> Ints:
        """What `draw` has given last: int64 (N,)."""
        drawn: Ints = self._draws[self._latest]
        return drawn

    @property
    def batch(self) -> PositionBatch:
        """The positions on the boards."""
        return PositionBatch(self._game, self.rows[OWN].copy(), self.rows[OPP].copy())

    def load(self, rows: Ints) -> None:
        """Takes over the rows of other boards, if these can be such.

        Raises:
            ValueError: they cannot; the message names the first wrong board.
        """
        game, self_rows = self._game, self.rows
        if rows.shape != self_rows.shape or rows.dtype != np.int64:
            raise ValueError(f"boards are int64 {self_rows.shape}, not {rows.dtype} {rows.shape}")
        self._opponents.update()  # one that has joined the pool may play here
        limits = {
            LEARNER: (0, 1),
            STATE: (NOT_SEEDED, STATES),
            BEGUN: (0, MAX_INT),
            MEMBER: (0, len(self._opponents.kinds) - 1),
            PHASE: (PLAYING, OVER),
            SAMPLER: (0, STATES),
            OPPONENT_ACTION: (-1, game.num_actions - 1),
            OUTCOME: (-1, 1),
        }
        for row, (low, high) in limits.items():
            wrong = np.flatnonzero((rows[row] < low) | (rows[row] > high))
            if len(wrong):
                raise ValueError(f"row {row} of board {wrong[0]} must be in [{low}, {high}], not {rows[row, wrong[0]]}")
        for board, (own, opp, phase, state) in enumerate(rows[[OWN, OPP, PHASE, STATE]].T.tolist()):
            reason = game.status(own, opp).explain(game, own, opp)
            if not reason and phase == PLAYING and (state == NOT_SEEDED or game.result(own, opp) != UNFINISHED):
                reason = "the game is over, or never began"
            if reason:
                raise ValueError(f"board {board} cannot have the stones {own} and {opp}: {reason}")
        self_rows[:] = rows
        self._offset, self._draws_ahead = 0, False
        self.were_reset = bool(rows[STATE, 0] != NOT_SEEDED)

    def begin(self, chosen: Bools, seeds: Sequence[int | None], given_starts: Ints, play_as: Ints) -> None:
        """Begins games.

        Args:
            chosen: bool (N,), on which boards.
            seeds: for each board a seed, or None.
            given_starts: where they begin, as `options.read_given_starts` gives it.
            play_as: where the learners sit, as `options.read_play_as` gives it.

        Raises:
            ValueError: an opponent always ends the game before the learner has moved.
            IllegalMove: an opponent's first move is illegal.
        """
        self._opponents.update()
        self.write_sampler()
        saved = self.rows.copy()
        try:
            for board in np.flatnonzero(chosen).tolist():
                self._seed(board, seeds[board])
            self.rows[PHASE, chosen] = DEAL
            self._resolve_opponents(given_starts, play_as)
            kernels.begin_games(self._padded, 0, self._count)
        except BaseException:
            self._restore(saved)
            raise
        self.were_reset = True

    def step(self, actions: Ints, output: StepBuffers, as_drawn: bool) -> tuple[int, int, int]:
        """Plays an action on each board, and the opponent's answer.

        Args:
            actions: int64 (N,), contiguous.
            output: what the step is written to.
            as_drawn: whether the actions are those `drawn` last, and nobody can have changed them. They are in range
                then, and the next ones are drawn along.

        Returns:
            The number of the first board whose action is out of range (or illegal, if that raises), else -1; how many
            actions were illegal, and how many games have ended.

        Raises:
            IllegalMove: an opponent's choice is illegal.
        """
        opponents = self._opponents
        opponents.update()
        if output.finals.size:
            output.finals[:] = 0
        self._draws_ahead = False
        checks = LEGALITY if self._raises else NO_CHECK if as_drawn else RANGE
        if opponents.external or self._may_get_stuck or self._writer == NOT_WRITTEN:
            invalid = kernels.first_invalid(
                self._game, self.rows[OWN], self.rows[OPP], self.rows[PHASE], actions, self._raises
            )
            return (invalid, 0, 0) if invalid >= 0 else (-1, *self._step_and_ask(actions, output))
        # fmt: off
        given = (
            self._game, self._padded, actions, self._replies, self._play_as, self._starts, opponents.kinds,
            opponents.cumulative, self._arguments.rewards, checks, self._writer,
            output.cells, output.codes, output.masks, output.rewards, output.ended, output.finals,
            self._draws[1 - self._latest, : self._count * as_drawn], self._offset,
        )
        # fmt: on
        done = stepping.step_in_threads(*given, self._threads) if self._threads > 1 else stepping.step(*given)
        self._draws_ahead = as_drawn and done[0] < 0
        return done

    def draw(self) -> Ints:
        """A random legal action for each board, int64 (N,); 0 where a game is over. Two draws share two arrays."""
        self._latest = 1 - self._latest
        if self._draws_ahead:
            self._draws_ahead = False
        elif self._threads > 1:
            stepping.sample_in_threads(self._game, self._padded, self.drawn, self._offset, self._threads)
        else:
            stepping.sample(self._game, self._padded, self.drawn, self._offset, 0, self._count)
        self._offset = advance(self._offset)
        return self.drawn

    def write_sampler(self) -> None:
        """Brings the row SAMPLER up to date."""
        self.rows[SAMPLER] = self.rows[SAMPLER] + self._offset & STATES
        self._offset, self._draws_ahead = 0, False

    def show(self, output: StepBuffers, last: bool = False) -> None:
        """Writes the observations and masks, or the last observations of the games that are over."""
        # fmt: off
        write_observations(
            self._game, self._padded, self._writer, output.cells, output.codes, output.masks,
            self._count if last else 0, 0, self._count,
        )
        # fmt: on
        if self._writer == NOT_WRITTEN:
            shown = self.rows[PHASE] == OVER if last else np.ones(self._count, np.bool_)
            observations = output.last_observations if last else output.observations
            observations[shown] = observations_of(self._observation_type, self._game, self.rows[:, shown])

    def _step_and_ask(self, actions: Ints, output: StepBuffers) -> tuple[int, int]:
        """The kernel `step`, piece by piece, as Python has to answer or to observe in between."""
        game, boards, count = self._game, self._padded, self._count
        saved = self.rows.copy()
        try:
            num_illegal = kernels.move(game, boards, actions, self._arguments.opponent is None, True, 0, count)
            self._resolve_opponents(NOWHERE, self._play_as)
            num_ended = kernels.write_rewards(boards, self._arguments.rewards, output.rewards, output.ended, 0, count)
            if output.finals.shape[1] and num_ended:
                self.show(output, last=True)
                kernels.store_finals(boards, output.finals, 0, count)
                self._resolve_opponents(NOWHERE, self._play_as)
                kernels.begin_games(boards, 0, count)
        except BaseException:
            self._restore(saved)
            raise
        self.show(output)
        return num_illegal, num_ended

    def _resolve_opponents(self, given_starts: Ints, play_as: Ints) -> None:
        """Has opponents answer and deals games until no board waits for either."""
        rows, opponents = self.rows, self._opponents
        for _ in range(kernels.MAX_STARTS + 1):
            # fmt: off
            asked, _, stuck = kernels.resolve_opponents(
                self._game, self._padded, self._replies, given_starts, play_as, self._starts, opponents.kinds,
                opponents.cumulative, 0, self._count,
            )
            # fmt: on
            if not asked:
                break
            waiting = np.flatnonzero(rows[PHASE] >= WAITING)
            drawn, own, opp, states = (rows[row, waiting] for row in (MEMBER, OWN, OPP, STATE))
            seeds: Any = mix(states)  # of an array it makes an array
            self._replies[waiting] = opponents.answers(waiting, drawn, own, opp, seeds)
        else:
            stuck = asked
        if stuck:
            board = int(np.flatnonzero(rows[PHASE] >= DEAL)[0])
            raise ValueError(
                f"board {board}: the opponent ends the game before the learner's first move, in {self.batch[board]!r}"
            )

    def _seed(self, board: int, seed: int | None) -> None:
        """Seeds a board, from fresh entropy if there is no seed and never was one."""
        if seed is None and self.rows[STATE, board] != NOT_SEEDED:
            return
        state = new_state(seed)
        self.rows[STATE, board] = state
        self.rows[SAMPLER, board] = mix(state) & STATES
        self.rows[BEGUN, board] = 0

    def _restore(self, saved: Ints) -> None:
        self.rows[:] = saved
        self._replies[:] = -1
