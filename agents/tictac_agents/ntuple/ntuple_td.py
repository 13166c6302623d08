"""TD learning of an n-tuple network by self-play."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tictac_agents.base_learner import Arrays, as_shaped
from tictac_agents.games_learner import GamesLearner
from tictac_agents.ntuple.network import MAX_LENGTH, NTupleNetwork, family_game
from tictac_agents.ntuple.self_play import Coherence, Teaching, learn_batches, learn_batches_in_threads, new_batch
from tictac_agents.ntuple.values import Ints, Tables, new_tables, random_walks
from tictac_agents.settings import Settings, setting, takes
from tictac_env.checks import number, whole
from tictac_env.compiled import in_one_line
from tictac_env.games import Game
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.position import Position, parse_moves
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import STATES, new_state

MAX_BATCH = 64
"""The most games that are played before the network learns from them."""
TOGETHER = 0.5
"""The part of a shared position's error that the games of a batch may remove together; from 2 on it would diverge."""
PARTS = 256
"""The parts of a run in which the step falls; fewer if it is short."""
LONGEST = 8_192
"""Games per compiled chunk; small enough to react to Ctrl-C."""
COMPARED = 256
"""The most games by which one thread and several are compared."""


@dataclass(frozen=True, kw_only=True)
class NTupleTDSettings(Settings):
    """The settings of `NTupleTD`."""

    GAME = "ConnectFour-v0"
    TOTAL = 1_000_000
    TUNED: ClassVar = {"TicTacToe-v0": {"tuples": 12, "length": 6, "total": 20_000}}
    tuples: int = setting(
        70,
        "the number of tuples, at most; the seed draws them as random walks, and no two of them are images of each "
        "other, so small boards have fewer",
        1,
        10_000,
    )
    length: int = setting(
        8,
        "the number of cells in a tuple; a board of fewer cells has tuples of all its cells; each tuple has "
        "2 * 4**length weights of 4 bytes",
        1,
        MAX_LENGTH,
    )
    step: float = setting(0.25, "the part of an error that an update removes at the beginning of the run", 1e-6, 2)
    final_step: float = setting(
        0.08, "the part that it removes at the end, at most `step`; the step falls geometrically between them", 1e-6, 2
    )
    trace: float = setting(0.7, "lambda", 0, 1)
    discount: float = setting(
        0.995,
        "the discount; below 1, early wins and late losses are worth more, so the agent resists in lost positions, too",
        1e-6,
        1,
    )
    epsilon: float = setting(0.04, "the chance of an exploring move", 0, 1)
    erring: float = setting(
        0.0,
        "the part of the games in which one side errs: it explores with the chance 0.3, so that the other side learns "
        "to win when it can",
        0,
        1,
    )
    erring_seat: int | None = setting(
        None,
        "the side that errs; None draws it in each game; if the side is given, positions before an error learn from "
        "the results after it, and the other side learns to lead it into errors; if it is drawn, they do not: errors "
        "only show more positions",
        0,
        1,
    )
    margin: float = setting(
        0.05,
        "the difference of values up to which a move is played as often as the best one; a lost side has many such "
        "moves, so the other side learns to win against all of them",
        0,
        2,
    )
    logistic: bool = setting(
        True, "True for the error of the value, the gradient of the cross-entropy; False for that of its square"
    )
    rule: bool = setting(True, "True if the one-move rule holds in self-play")
    symmetric: bool = setting(
        True, "True if the images of a tuple under the board's symmetries share its weights; otherwise it has none"
    )
    coherence: bool = setting(
        False,
        "True to multiply each weight's step by its temporal coherence: how far its updates so far have one sign; this "
        "needs 16 bytes more a weight",
    )
    averaging: float = setting(
        0.4, "the last part of the run whose weights are averaged; the agent plays with the average", 0, 1
    )
    threads: int = setting(
        1,
        "the number of threads that learn; their times are compared now and then, and one thread learns while it is "
        "faster, as on busy cores",
        1,
        256,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        number("final_step", self.final_step, 1e-6, self.step)


class NTupleTD(GamesLearner):
    """Learns the values of positions by self-play, with TD(lambda) and an n-tuple network.

    ## Description

    Each move leads to an afterstate: a position and the side that has moved. The network (`NTupleNetwork`) gives it a
    value from -1 to 1 for that side. Both sides play the action whose afterstate has the highest value, or one worth
    less by at most `margin`, and with the chance `epsilon` a random one. After the game the value of each afterstate
    moves towards

        target = -discount * (trace * target of the next + (1 - trace) * value of the next)

    and that of the last towards the result. If the next move was not the best, the target is -discount * the value of
    the best one instead: later results do not credit this position (but see `erring_seat`). Every entry in the sum gets
    the same share of `step` times the error, so that an update takes away this part of it.

    The error is that of the value, the gradient of the cross-entropy of (1 + value) / 2, a logistic function of the
    sum. With `logistic=False` it is that of the squared error, which is smaller by the factor 1 - value**2, so that
    extreme values hardly change.

    By the one-move rule (`rule`) each side takes a win, blocks the other side's, and opens none to it. Positions
    in which this decides the game are ends, and never learned.

    Games are played in batches of 2 to 64 by the weights as they are, the smaller the step the larger. All sums are
    integers. So the same seed gives the same network, to the bit, for any number of threads.

    Games can also begin with given openings: see `start_from`.

    Args:
        game: a game of the `KInARow` family: its name, or its rules.
        {settings}

    Attributes:
        num_games: the games it has learned from.
        num_plies: the plies of these games.
        network: the network that plays.

    Raises:
        ValueError: an argument is out of range, or the game is of another family.

    ## References

    S. Lucas, "Learning to play Othello with n-tuple systems", 2008. M. Thill, P. Koch and W. Konen, "Reinforcement
    learning with n-tuples on the game Connect-4", 2012. M. Thill, S. Bagheri, P. Koch and W. Konen, "Temporal
    difference learning with eligibility traces for the game Connect Four", 2014. S. Bagheri, M. Thill, P. Koch and
    W. Konen, "Online adaptable learning rates for the game Connect-4", 2016. D. Beal and M. Smith, "Temporal coherence
    and prediction decay in TD learning", 1999.

    Example:
        >>> agent = NTupleTD("TicTacToe-v0", seed=0).learn(20_000)
        >>> from tictac_env.arena import verdict
        >>> verdict(agent, "TicTacToe-v0").unbeatable
        True
    """

    MOST: ClassVar[int] = 1 << 40
    settings: NTupleTDSettings
    game: KInARow
    budget = "no search; one-move rule"

    @takes(NTupleTDSettings)
    def __init__(self, game: str | Game, settings: NTupleTDSettings) -> None:
        super().__init__(settings)
        self.game = family_game(game)
        self._fastest = settings.threads
        self._compares = 0.0
        self.num_plies = 0
        self._rng_state = new_state(settings.seed)
        # The seed draws the tuples too; an address has two bits for each cell, and a weight for each seat.
        walks = random_walks(self.game, settings.tuples, settings.length, self._rng_state)
        size = len(walks) << 2 * len(walks[0]) + 1
        self._weights = np.zeros(size, np.int32)
        self._coherence = Coherence(*(np.zeros(size if settings.coherence else 0, np.int64) for _ in range(2)))
        self._sums: Ints = np.zeros(0, np.int64)
        self._averaged = 0
        self._average: NTupleNetwork | None = None
        self._start_games: tuple[str, ...] = ()
        self._starts: npt.NDArray[np.int8] = np.zeros((0, self.game.cells + 1), np.int8)
        self._start_chance = 0.0
        self._learning = NTupleNetwork(self.game, walks, self._weights, settings.symmetric)

    @property
    def network(self) -> NTupleNetwork:
        """The learned network, a copy: with the averaged weights, if some were averaged."""
        weights = self._sums // self._averaged if self._averaged else self._weights
        return NTupleNetwork(self.game, self._learning.tuples, weights.astype(np.int32), self.settings.symmetric)

    @property
    def learning(self) -> NTupleNetwork:
        """The network that learns, with its weights as they are now; not to be changed."""
        return self._learning

    def start_from(self, games: Sequence[str], chance: float) -> Self:
        """Lets future games begin with given openings, whose moves are not learned.

        So a learner sees more of some positions, such as those in which it lost.

        Args:
            games: the openings, move strings of unfinished games.
            chance: the probability that a game begins with one of these, drawn evenly; else with the empty board.

        Raises:
            ValueError: a game is over or its moves are not possible, there are no games, or `chance` is not in [0, 1].
        """
        number("chance", chance, 0, 1)
        if chance and not games:
            raise ValueError(f"no games are given, from which a share of {chance} is to begin")
        # Each row, for the compiled games: the number of stones, then the bit's number of each, in their order.
        starts = np.zeros((len(games), self.game.cells + 1), np.int8)
        for row, moves in zip(starts, games, strict=True):
            if Position.from_moves(self.game, moves).is_over:
                raise ValueError(f"the game {moves!r} is over, and cannot begin another")
            own, opp = self.game.start()
            for ply, action in enumerate(parse_moves(self.game, moves)):
                row[0], row[ply + 1] = ply + 1, self.game.stone(own, opp, action).bit_length() - 1
                own, opp = self.game.play(own, opp, action)
        self._start_games, self._starts, self._start_chance = tuple(games), starts, chance
        return self

    def act(self, position: Position, seed: int) -> int:
        return self._player.act(position, seed)

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return self._player.act_many(batch, seeds)

    @property
    def batched(self) -> bool:
        return True

    def values(self, own: int, opp: int) -> Mapping[int, float]:
        """The value of each legal action, in [-1, 1]."""
        return self._player.values(own, opp)

    def compiled(self, game: Game) -> Tables:
        """The record for a search: see `tictac_agents.mcts.evaluators.CompiledEvaluator`."""
        return self._player.compiled(game)

    @property
    def _player(self) -> NTupleNetwork:
        if not self._averaged:
            return self._learning
        if self._average is None:
            self._average = self.network
        return self._average

    @property
    def step_now(self) -> float:
        """The step of the next game, or of the last game of a run that is over."""
        part, parts = self._part
        step = self.settings.step
        return float(step * (self.settings.final_step / step) ** (part / max(parts - 1, 1)))

    @property
    def _part(self) -> tuple[int, int]:
        """The part of the run of the next game, counted from 0, and the number of parts."""
        games = max(self._goal - self._begun, 1)
        parts = min(PARTS, max(1, games // MAX_BATCH))
        return min(parts - 1, ((self.num_games - self._begun + 1) * parts - 1) // games), parts

    @contextmanager
    def _prepared(self) -> Generator[None]:
        if self.num_games == self._begun:  # a new run averages only its own weights
            self._sums, self._averaged, self._average = np.zeros(0, np.int64), 0, None
        yield

    @in_one_line()
    def _learn_some(self, most: int) -> int:
        own = self.settings
        (part, parts), games, begin = self._part, self._goal - self._begun, self.num_games
        first, last = (self._begun + number * games // parts for number in (part, part + 1))
        end = min(last, begin + LONGEST - (begin - first) % LONGEST)
        size = min(MAX_BATCH, max(2, int(TOGETHER / self.step_now)))
        tables = new_tables(self._learning.layout, self._weights)
        teaching = Teaching(
            epsilon=float(own.epsilon),  # an int would be compiled again
            erring=float(own.erring),
            erring_seat=-1 if own.erring_seat is None else own.erring_seat,
            margin=float(own.margin),
            trace=float(own.trace),
            discount=float(own.discount),
            rule=own.rule,
            logistic=own.logistic,
            start_chance=float(self._start_chance),
            starts=self._starts,
        )

        def learn(threads: int, begin: int, end: int) -> float:
            batch = new_batch(self.game, self._learning.layout, len(self._learning.tuples), MAX_BATCH, threads)
            arguments = self.game, tables, self._coherence, teaching, batch, size, self.step_now, self._rng_state
            began = time.monotonic()
            if threads == 1:
                self.num_plies += learn_batches(*arguments, begin, end)
            else:
                self.num_plies += learn_batches_in_threads(*arguments, begin, end, threads)
            return time.monotonic() - began

        # Now and then a few games by all threads and as many by one are timed, and the faster way learns the others.
        # Both learn whole batches, so the weights are the same whichever is faster.
        at, half = begin, min(COMPARED, (end - begin) // 2) // size * size
        if own.threads > 1 and half and time.monotonic() >= self._compares:
            seconds = []
            for threads in (own.threads, 1):
                learn(threads, at, at)  # no game: compiles, if need be, before the clock starts
                seconds.append(learn(threads, at, at + half))
                at += half
            self._fastest = own.threads if seconds[0] <= seconds[1] else 1
            self._compares = time.monotonic() + max(5.0, 20 * sum(seconds))
        learn(self._fastest, at, end)
        # The last parts of the run are averaged, by a sum of the weights after each.
        if end == last and part >= parts * (1 - own.averaging):
            if not self._averaged:
                self._sums = np.zeros(self._weights.size, np.int64)
            self._sums += self._weights
            self._averaged, self._average = self._averaged + 1, None
        return end - begin

    def _progress_text(self) -> str:
        return f"step {self.step_now:.3f}"

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        meta = {
            "tuples": self._learning.tuples,
            "num_plies": self.num_plies,
            "rng_state": self._rng_state,
            "averaged": self._averaged,
            "start_games": self._start_games,
            "start_chance": self._start_chance,
        }
        arrays: Arrays = {"weights": self._weights, "sums": self._sums}
        return meta, arrays | self._coherence._asdict()

    def _set_state(self, meta: dict[str, Any], arrays: Arrays) -> None:
        weights = as_shaped("weights", arrays["weights"], np.broadcast_to(np.int32(0), arrays["weights"].shape))
        self._learning = NTupleNetwork(self.game, meta["tuples"], weights, self.settings.symmetric)
        self._weights = self._learning.weights
        self.num_plies = whole("num_plies", meta["num_plies"])
        self._rng_state = whole("rng_state", meta["rng_state"], STATES)
        self._averaged = whole("averaged", meta["averaged"], PARTS)
        self.start_from(meta["start_games"], meta["start_chance"])
        sums = np.broadcast_to(np.int64(0), self._weights.shape)
        # Both are empty if they are not used: the same checks with an expected length of 0.
        self._sums = as_shaped("sums", arrays["sums"], sums if self._averaged else sums[:0])
        entries = sums if self.settings.coherence else sums[:0]
        self._coherence = Coherence(*(as_shaped(name, arrays[name], entries) for name in Coherence._fields))
        if (np.abs(self._coherence.net) > self._coherence.size).any():
            raise ValueError("net and size contradict each other")
