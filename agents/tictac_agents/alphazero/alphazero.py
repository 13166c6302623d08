"""AlphaZero: a network that learns, from games against itself, the moves of a search guided by it."""

from __future__ import annotations

import copy
import functools
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tictac_agents.alphazero.forest import MOST_SIMULATIONS, evaluation, search_forest
from tictac_agents.alphazero.policy_value import PolicyValueTuples
from tictac_agents.alphazero.samples import PlaySettings, Samples, sample_games
from tictac_agents.base_learner import Arrays
from tictac_agents.deep.residual import ResidualNetwork
from tictac_agents.games_learner import GamesLearner
from tictac_agents.mcts.evaluators import Evaluation
from tictac_agents.mcts.simulation import Leaves
from tictac_agents.ntuple.network import MAX_LENGTH, family_game
from tictac_agents.ntuple.values import random_walks
from tictac_agents.predicts import Predicts, allowed_actions
from tictac_agents.settings import setting, takes
from tictac_env.checks import positive, whole
from tictac_env.compiled import in_one_line
from tictac_env.games import Game, KInARow, get_game
from tictac_env.jobs import Cluster, Workers, joined, map_jobs
from tictac_env.observation import read_observation
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

NETWORKS = ("tuples", "residual")
STEPS = {"tuples": 0.1, "residual": 2e-3}
"""The default steps of the networks."""


@dataclass(frozen=True, kw_only=True)
class AlphaZeroSettings(PlaySettings):
    """The settings of `AlphaZero`."""

    GAME = "ConnectFour-v0"
    TOTAL = 100_000
    TUNED: ClassVar = {"TicTacToe-v0": {"tuples": 12, "length": 6, "simulations": 16, "boards": 128, "total": 20_000}}
    network: str | None = setting(
        None,
        '"tuples", for games of the `KInARow` family, or "residual", for any; None for "tuples" if the game '
        'is of this family, else "residual"',
        choices=NETWORKS,
    )
    tuples: int = setting(
        70,
        'of "tuples": their number, at most; the seed draws them as random walks; small boards have fewer',
        1,
        10_000,
    )
    length: int = setting(
        7,
        'of "tuples": the cells of each; a board of fewer cells has tuples of all its cells',
        1,
        MAX_LENGTH,
    )
    blocks: int = setting(2, 'of "residual": the number of residual blocks', 1, 64)
    channels: int = setting(32, 'of "residual": of its convolutions', 1, 1024)
    symmetric: bool = setting(
        True, "True if the network learns a position's images under the board's symmetries with it"
    )
    boards: int = setting(256, "the games of an iteration", 1, 1 << 16)
    window: int = setting(20, "the number of iterations whose positions are learned from", 1, 1 << 16)
    passes: float = setting(2.0, "how often a position is learned from, on average", 0, 100)
    step: float | None = setting(
        None,
        'the step size of the network at the beginning of the run; None for 0.1 of "tuples" (the part of an '
        'error that is removed) and 0.002 of "residual" (Adam)',
        1e-9,
        2,
    )
    final_step: float = setting(
        0.3, "the part of it that is left at the end of the run; the step falls geometrically", 1e-6, 1
    )
    play_simulations: int = setting(
        32, "of each search when it plays; 0 plays the action of the highest probability", 0, MOST_SIMULATIONS
    )
    workers: Workers = setting(
        1,
        "the number of threads that play the games with the newest network while another one learns; or a "
        "`tictac_env.jobs.Cluster`, to whose machines the network is sent; with 1 it plays and learns in "
        "turn, and the same seed gives the same network, to the bit",
        1,
        recorded=False,
    )


class AlphaZero(Predicts, GamesLearner):
    """Learns a policy and a value by self-play: its network guides a search, and learns from the search's moves.

    ## Description

    The network gives a position a policy (a probability of each action) and a value. The search looks ahead with them,
    so that its moves are better than the policy. In an iteration

    1. it plays `boards` games against itself, side by side, each move by a search;
    2. the network learns from positions of the last `window` iterations: the policy from the searches' policies, the
       value from the results of the games;

    and the better network makes the next games better. It uses no opponent, no solver and no values from outside.

    The search by "gumbel" plays the action that looks best after sequential halving of a random sample of actions, and
    teaches the policy softmax(logits + sigma(values)), a policy improvement with few simulations. That by "puct" is
    AlphaZero's own: noise on the priors, and the shares of visits as the policy to learn.

    The network is a sum of table entries for tuples of cells, quick on a processor ("tuples", see `PolicyValueTuples`),
    or a residual network of PyTorch ("residual", see `ResidualNetwork`), as in the papers. Half of the games
    begin with up to `openings` random moves. Moves that win at once, or block such a win, are played without a search
    and taught.

    As an evaluator of `MCTS` it searches for a given time: `MCTS(milliseconds=100, evaluator=agent)`.

    Args:
        game: the game's name, or its rules.
        {settings}

    Attributes:
        num_games: the games it has learned from.
        num_plies: the plies of these games that it has chosen.
        iterations: the number of iterations.
        network_: the network.

    Raises:
        ValueError: an argument is out of range, or the network does not know the game.
        DependencyNotInstalled: the network is "residual", and PyTorch is missing.

    ## References

    D. Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play",
    2018. I. Danihelka, A. Guez, J. Schrittwieser and D. Silver, "Policy improvement by planning with Gumbel", 2022
    (the root, appendix D for the values of unvisited actions). D. Wu, "Accelerating self-play learning in Go", 2019
    (playout-cap randomisation).

    Example:
        >>> from tictac_agents import AlphaZero
        >>> from tictac_env.arena import verdict
        >>> agent = AlphaZero("TicTacToe-v0", seed=0).learn(5_000)
        >>> verdict(agent, "TicTacToe-v0").unbeatable
        True
    """

    settings: AlphaZeroSettings
    priors = True
    compiled: Callable[[Game], Leaves]
    """With tuples, the evaluator of the compiled search of `MCTS`; a residual network has no such attribute."""

    @takes(AlphaZeroSettings)
    def __init__(self, game: str | Game, settings: AlphaZeroSettings) -> None:
        super().__init__(settings)
        self.game = get_game(game)
        self.budget = self._search_budget()
        self.num_plies = self.iterations = 0
        self._rng = np.random.default_rng(settings.seed)
        # Drawn for either network, so that what is drawn after it does not depend on the network.
        drawn = int(self._rng.integers(1 << 31))
        usual = "tuples" if type(self.game) is KInARow else "residual"
        self._kind_of_network = settings.network or usual
        self.network_: PolicyValueTuples | ResidualNetwork
        if self._kind_of_network == "tuples":
            self._set_tuples(random_walks(family_game(self.game), settings.tuples, settings.length, drawn))
        else:
            random = np.random.default_rng(drawn)
            sizes = settings.blocks, settings.channels
            self.network_ = ResidualNetwork(self.game, *sizes, self._first_step, settings.symmetric, random)
        self._window: list[Samples] = []
        self._samples: Generator[tuple[int, Samples]]

    @property
    def _first_step(self) -> float:
        return STEPS[self._kind_of_network] if self.settings.step is None else self.settings.step

    def _set_tuples(self, tuples: Sequence[Sequence[int]]) -> None:
        """Sets an untrained network of these tuples."""
        network = PolicyValueTuples(self.game, tuples, self._first_step, self.settings.symmetric, self.settings.tactics)
        self.network_, self.compiled = network, network.compiled

    def playing_with(self, simulations: int) -> Self:
        """The same agent, with the same network, playing with another number of simulations for each move."""
        other = copy.copy(self)
        other.settings = self.settings.changed(play_simulations=simulations)
        other.budget = other._search_budget()
        return other

    def _search_budget(self) -> str:
        simulations = self.settings.play_simulations
        search = f"{simulations} simulations a move" if simulations else "no search"
        return f"{search}; one-move rule" if self.settings.tactics and self.game.knows_wins else search

    @property
    def batched(self) -> bool:
        return True

    def evaluate(self, batch: PositionBatch) -> Evaluation:
        """The values and priors of B unfinished positions: see `tictac_agents.mcts.evaluators.Evaluator`."""
        return evaluation(self.network_, batch, self.settings.tactics)

    def act(self, position: Position, seed: int) -> int:
        return int(self._chosen(PositionBatch.of([position]))[0][0])

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return self._chosen(batch)[0]

    def chances(self, position: Position) -> dict[int, float]:
        """The policy of its search, or of its network if it does not search: a probability of each legal action."""
        policy = self._chosen(PositionBatch.of([position]))[1][0]
        return {action: float(policy[action]) for action in position.legal_actions}

    def _chosen(self, batch: PositionBatch) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """The actions that it plays in B positions, int64 (B,), and the policies, (B, num_actions)."""
        if batch.game != self.game:
            self._check_game(batch[0])
        if simulations := self.settings.play_simulations:
            return search_forest(batch, self.network_, self.settings, simulations, None)[:2]
        policies = np.asarray(self.evaluate(batch).priors)
        return policies.argmax(axis=1), policies

    def _predicted(self, observation: Any, deterministic: bool, action_masks: npt.ArrayLike | None) -> int:
        position = Position(self.game, *read_observation(self.game, observation))
        actions, policies = self._chosen(PositionBatch.of([position]))
        allowed = allowed_actions(position, action_masks)
        return int(actions[0]) if actions[0] in allowed else max(allowed, key=lambda action: policies[0, action])

    @contextmanager
    def _prepared(self) -> Generator[None]:
        with joined(self.settings.workers), closing(self._played()) as self._samples:
            yield

    def _played(self) -> Generator[tuple[int, Samples]]:
        """Games by the newest network: their number, and their samples."""
        own = self.settings
        begun = self.num_games

        def jobs() -> Iterator[tuple[int, int]]:
            """Numbers of games, and seeds."""
            nonlocal begun
            while games := min(own.boards, self._goal - begun):
                begun += games
                yield games, int(self._rng.integers(1 << 62))

        # On a cluster each job takes the newest weights with it.
        if isinstance(own.workers, Cluster):
            work = functools.partial(played_elsewhere, self.game, self.network_, own.changed(workers=1))
            sent = ((self.network_.arrays(), *job) for job in jobs())
            yield from ((job[1], samples) for job, samples in map_jobs(work, sent, own.workers, batch=1))
            return
        play = functools.partial(sample_games, self.game, self.network_, own)
        if own.workers == 1:
            yield from ((games, play(games, seed)) for games, seed in jobs())
            return
        # Threads play by the network while it learns: a game that is begun later plays better. A new job is submitted
        # before the samples of the last one are learned, so that no thread waits.
        todo = jobs()
        with ThreadPoolExecutor(own.workers) as pool:  # compiled code and PyTorch release the interpreter's lock
            playing = {pool.submit(play, *job): job[0] for job in islice(todo, own.workers)}
            while playing:
                for done in wait(playing, return_when=FIRST_COMPLETED).done:
                    playing |= {pool.submit(play, *job): job[0] for job in islice(todo, 1)}
                    yield playing.pop(done), done.result()

    @in_one_line()
    def _learn_some(self, most: int) -> int:
        try:
            games, fresh = next(self._samples)
        except KeyboardInterrupt:  # a cluster has finished its games
            signal.raise_signal(signal.SIGINT)  # for the run, which ends after this
            return 0
        if not len(fresh.own):  # these few games all ended within their random openings
            return games
        # The window of the last iterations; as many of its positions, drawn with replacement, as `passes` fresh sets.
        self._window = [*self._window, fresh][-self.settings.window :]
        remembered = Samples.joined(self._window)
        count = round(self.settings.passes * len(fresh.own))
        chosen = remembered.rows(self._rng.integers(len(remembered.own), size=count))
        batch = PositionBatch(self.game, chosen.own, chosen.opp)
        self.network_.learn(batch, chosen.policies, chosen.results, self._decay, self._rng)
        self.num_plies += len(fresh.own)
        self.iterations += 1
        return games

    @property
    def _decay(self) -> float:
        part = (self.num_games - self._begun) / max(self._goal - self._begun, 1)
        return float(self.settings.final_step**part)

    @property
    def step_now(self) -> float:
        """The step of the next iteration."""
        return self.network_.step * self._decay

    def _progress_text(self) -> str:
        return f"step {self.step_now:.3g}"

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        meta = {
            "iterations": self.iterations,
            "num_plies": self.num_plies,
            "random_state": self._rng.bit_generator.state,
            "sizes": [len(part.own) for part in self._window],
        }
        if isinstance(self.network_, PolicyValueTuples):
            meta["tuples"] = self.network_.tuples
        # The window is one array a field; `sizes` says where each iteration's part ends.
        samples = Samples.joined(self._window)._asdict() if self._window else {}
        return meta, self.network_.arrays() | {f"window_{name}": array for name, array in samples.items()}

    def _most_growth(self) -> int:
        return (
            self.settings.window * self.settings.boards * self.game.cells * (20 + 4 * self.game.num_actions)
        )  # of the samples

    def _set_state(self, meta: dict[str, Any], arrays: Arrays) -> None:
        if isinstance(self.network_, PolicyValueTuples):
            self._set_tuples(meta["tuples"])
        self.network_.read(arrays)
        self.iterations, self.num_plies = whole("iterations", meta["iterations"]), whole("num_plies", meta["num_plies"])
        self._rng.bit_generator.state = meta["random_state"]
        sizes = [positive("sizes", size) for size in meta["sizes"]]
        if sizes:
            if sum(sizes) != len(arrays["window_own"]):
                raise ValueError(f"the window has {len(arrays['window_own'])} samples, not {sum(sizes)}")
            samples = Samples.read(self.game, {name: arrays[f"window_{name}"] for name in Samples._fields})
            ends = np.cumsum(sizes)
            self._window = [samples.rows(slice(end - size, end)) for size, end in zip(sizes, ends, strict=True)]


def played_elsewhere(
    game: Game, network: PolicyValueTuples | ResidualNetwork, settings: PlaySettings, job: tuple[Arrays, int, int]
) -> Samples:
    """Plays games by a network of another process, whose weights, with the number of games and a seed, are the job."""
    weights, games, seed = job
    network.read(weights)
    return sample_games(game, network, settings, games, seed)
