"""TD learning of an n-tuple network by self-play."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tictac_agents.checkpoint import Arrays, GamesLearner, as_shaped
from tictac_agents.ntuple.network import MAX_LENGTH, NTupleNetwork, family_game
from tictac_agents.ntuple.self_play import (
    Coherence,
    Teaching,
    learn_batches,
    learn_batches_in_threads,
    new_batch,
)
from tictac_agents.ntuple.values import Ints, Tables, new_tables, random_walks
from tictac_env.checks import flag, number, positive, whole
from tictac_env.compiled import in_one_line
from tictac_env.games import Game
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.position import Position, parse_moves
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import STATES, new_state

MAX_BATCH = 64
"""The most games that are played before the network learns from them."""
TOGETHER = 0.5
"""What the games of a batch may take away of the error of a position that they share; with 2 it would never settle."""
PARTS = 256
"""The parts of a run in which the step falls; fewer if it is short."""
LONGEST = 8_192
"""Games per compiled chunk; small enough to react to Ctrl-C."""
COMPARED = 256
"""The most games by which one thread and several are compared."""


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

    It can also play on from given games: see `start_from`.

    Args:
        game: a game of the `KInARow` family: its name, or its rules.
        tuples: the number of tuples, at most. The seed draws them as random walks; no two of them are images of each
            other, so small boards have fewer.
        length: the number of cells in a tuple, from 1 to 12; a board of fewer cells has tuples of all its cells. Each
            tuple has 2 * 4**length weights of 4 bytes.
        step: the part of an error that an update removes at the beginning of the run, in (0, 2].
        final_step: the part that it removes at the end; the step falls geometrically between them.
        trace: lambda, in [0, 1].
        discount: the discount, in (0, 1]. Below 1, early wins and late losses are worth more, so the agent resists in
            lost positions, too.
        epsilon: the chance of an exploring move, in [0, 1].
        erring: the part of the games in which one side errs, in [0, 1]: it explores with the chance 0.3. So the other
            side learns to win when it can.
        erring_seat: the side that errs, 0 or 1; None draws it in each game. If the side is given, positions before an
            error learn from the results after it: the other side learns to lead it into errors. If it is drawn, they
            do not: errors only show more positions.
        margin: the difference of values up to which a move is played as often as the best one, in [0, 2]. A lost side
            has many such moves, so the other side learns to win against all of them.
        logistic: True for the error of the value, the gradient of the cross-entropy; False for that of its square.
        rule: True if the one-move rule holds in self-play.
        symmetric: True if the images of a tuple under the board's symmetries share its weights; otherwise it has none.
        coherence: True to multiply each weight's step by its temporal coherence: how far its updates so far have one
            sign. This needs 16 bytes more a weight.
        averaging: the last part of the run whose weights are averaged, in [0, 1]; the agent plays with the average.
        threads: the number of threads that learn. Their times are compared now and then, and one thread learns while
            it is faster, as on busy cores.
        seed: of the tuples and of self-play; None for fresh entropy.

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
        >>> agent = NTupleTD("TicTacToe-v0", tuples=12, length=6, seed=0).learn(20_000)
        >>> from tictac_env.arena import verdict
        >>> verdict(agent, "TicTacToe-v0").unbeatable
        True
    """

    game: KInARow
    MAX_GAMES: ClassVar[int] = 1 << 40
    RUN: ClassVar[int] = 1_000_000
    TUNED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "TicTacToe-v0": {"tuples": 12, "length": 6, "total_games": 20_000}
    }

    def __init__(
        self,
        game: str | Game = "ConnectFour-v0",
        tuples: int = 70,
        length: int = 8,
        step: float = 0.25,
        final_step: float = 0.08,
        trace: float = 0.7,
        discount: float = 0.995,
        epsilon: float = 0.04,
        erring: float = 0.0,
        erring_seat: int | None = None,
        margin: float = 0.05,
        logistic: bool = True,
        rule: bool = True,
        symmetric: bool = True,
        coherence: bool = False,
        averaging: float = 0.4,
        threads: int = 1,
        seed: int | None = None,
    ) -> None:
        self.game = family_game(game)
        self.tuples = positive("tuples", tuples, 10_000)
        self.length = positive("length", length, MAX_LENGTH)
        self.step = number("step", step, 1e-6, 2)
        self.final_step = number("final_step", final_step, 1e-6, self.step)
        self.trace = number("trace", trace, 0, 1)
        self.discount = number("discount", discount, 1e-6, 1)
        self.epsilon = number("epsilon", epsilon, 0, 1)
        self.erring = number("erring", erring, 0, 1)
        self.erring_seat = None if erring_seat is None else whole("erring_seat", erring_seat, 1)
        self.margin = number("margin", margin, 0, 2)
        self.logistic = flag("logistic", logistic)
        self.rule = flag("rule", rule)
        self.symmetric = flag("symmetric", symmetric)
        self.coherence = flag("coherence", coherence)
        self.averaging = number("averaging", averaging, 0, 1)
        self.threads = self._fastest = positive("threads", threads, 256)
        self._compares = 0.0
        self.seed = None if seed is None else whole("seed", seed)
        self.name, self.budget = "NTupleTD", "no search; one-move rule"
        self.num_plies = 0
        self._state = new_state(self.seed)
        walks = random_walks(self.game, self.tuples, self.length, self._state)
        size = len(walks) << 2 * len(walks[0]) + 1
        self._weights = np.zeros(size, np.int32)
        self._coherence = Coherence(*(np.zeros(size if coherence else 0, np.int64) for _ in range(2)))
        self._sums: Ints = np.zeros(0, np.int64)
        self._averaged = 0
        self._average: NTupleNetwork | None = None
        self._start_games: tuple[str, ...] = ()
        self._starts: npt.NDArray[np.int8] = np.zeros((0, self.game.cells + 1), np.int8)
        self._start_chance = 0.0
        self._learning = NTupleNetwork(self.game, walks, self._weights, symmetric)

    @property
    def network(self) -> NTupleNetwork:
        """What has been learned, a copy: the averaged weights, if some were averaged."""
        weights = self._sums // self._averaged if self._averaged else self._weights
        return NTupleNetwork(self.game, self._learning.tuples, weights.astype(np.int32), self.symmetric)

    @property
    def learning(self) -> NTupleNetwork:
        """The network that learns, with its weights as they are now; not to be changed."""
        return self._learning

    def start_from(self, games: Sequence[str], chance: float) -> Self:
        """Lets games begin with the moves of given ones, of which nothing is learned, from now on.

        So a learner can be shown more of some positions, such as those in which it was beaten.

        Args:
            games: move strings of unfinished games.
            chance: that a game begins with one of these, drawn evenly; else it begins with the empty board.

        Raises:
            ValueError: a game is over or its moves are not possible, there are none, or `chance` is not in [0, 1].
        """
        number("chance", chance, 0, 1)
        if chance and not games:
            raise ValueError(f"no games are given, from which a share of {chance} is to go on")
        starts = np.zeros((len(games), self.game.cells + 1), np.int8)
        for row, moves in zip(starts, games, strict=True):
            if Position.from_moves(self.game, moves).is_over:
                raise ValueError(f"the game {moves!r} is over, and cannot go on")
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
        """What a search asks: see `tictac_agents.mcts.evaluators.CompiledEvaluator`."""
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
        """The step of the next game, or of the last one of a run that is over."""
        part, parts = self._part
        return float(self.step * (self.final_step / self.step) ** (part / max(parts - 1, 1)))

    @property
    def _part(self) -> tuple[int, int]:
        """The part of the run of the next game, counted from 0, and the number of parts."""
        games = max(self._goal - self._begun, 1)
        parts = min(PARTS, max(1, games // MAX_BATCH))
        return min(parts - 1, ((self.num_games - self._begun + 1) * parts - 1) // games), parts

    def _begin(self, games: int) -> None:
        if self.num_games == self._begun:
            self._sums, self._averaged, self._average = np.zeros(0, np.int64), 0, None

    @in_one_line()
    def _learn_some(self, most: int) -> int:
        (part, parts), games, begin = self._part, self._goal - self._begun, self.num_games
        first, last = (self._begun + one * games // parts for one in (part, part + 1))
        end = min(last, begin + LONGEST - (begin - first) % LONGEST)
        size = min(MAX_BATCH, max(2, int(TOGETHER / self.step_now)))
        tables = new_tables(self._learning.layout, self._weights)
        teaching = Teaching(
            epsilon=float(self.epsilon),  # an int would be compiled for anew
            erring=float(self.erring),
            erring_seat=-1 if self.erring_seat is None else self.erring_seat,
            margin=float(self.margin),
            trace=float(self.trace),
            discount=float(self.discount),
            rule=self.rule,
            logistic=self.logistic,
            start_chance=float(self._start_chance),
            starts=self._starts,
        )

        def learn(threads: int, begin: int, end: int) -> float:
            batch = new_batch(self.game, self._learning.layout, len(self._learning.tuples), MAX_BATCH, threads)
            arguments = self.game, tables, self._coherence, teaching, batch, size, self.step_now, self._state
            began = time.monotonic()
            if threads == 1:
                self.num_plies += learn_batches(*arguments, begin, end)
            else:
                self.num_plies += learn_batches_in_threads(*arguments, begin, end, threads)
            return time.monotonic() - began

        at, half = begin, min(COMPARED, (end - begin) // 2) // size * size  # whole batches, as else they would change
        if self.threads > 1 and half and time.monotonic() >= self._compares:
            seconds = []
            for threads in (self.threads, 1):
                learn(threads, at, at)  # compiled now, if not yet
                seconds.append(learn(threads, at, at + half))
                at += half
            self._fastest = self.threads if seconds[0] <= seconds[1] else 1
            self._compares = time.monotonic() + max(5.0, 20 * sum(seconds))
        learn(self._fastest, at, end)
        if end == last and part >= parts * (1 - self.averaging):
            if not self._averaged:
                self._sums = np.zeros(self._weights.size, np.int64)
            self._sums += self._weights
            self._averaged, self._average = self._averaged + 1, None
        return end - begin

    def _state_in_words(self) -> str:
        return f"step {self.step_now:.3f}"

    def _learned(self) -> tuple[dict[str, Any], Arrays]:
        meta = {
            "tuples": self._learning.tuples,
            "num_plies": self.num_plies,
            "begun": self._begun,
            "state": self._state,
            "averaged": self._averaged,
            "start_games": self._start_games,
            "start_chance": self._start_chance,
        }
        arrays: Arrays = {"weights": self._weights, "sums": self._sums}
        return meta, arrays | self._coherence._asdict()

    def _set_learned(self, meta: dict[str, Any], arrays: Arrays) -> None:
        weights = as_shaped("weights", arrays["weights"], np.broadcast_to(np.int32(0), arrays["weights"].shape))
        self._learning = NTupleNetwork(self.game, meta["tuples"], weights, self.symmetric)
        self._weights = self._learning.weights
        self.num_plies = whole("num_plies", meta["num_plies"])
        self._begun = whole("begun", meta["begun"], self.num_games)
        self._state = whole("state", meta["state"], STATES)
        self._averaged = whole("averaged", meta["averaged"], PARTS)
        self.start_from(meta["start_games"], meta["start_chance"])
        sums = np.broadcast_to(np.int64(0), self._weights.shape)
        self._sums = as_shaped("sums", arrays["sums"], sums if self._averaged else sums[:0])
        entries = sums if self.coherence else sums[:0]
        self._coherence = Coherence(*(as_shaped(one, arrays[one], entries) for one in Coherence._fields))
        if (np.abs(self._coherence.net) > self._coherence.size).any():
            raise ValueError("net and size contradict each other")
