"""Played games as Minari datasets, for offline learning, with the exact score of every move."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector.utils import concatenate, create_empty_array

from tictac_apps.labels import label
from tictac_env.arena.records import SeatResult
from tictac_env.arena.results import GAMES, MAX_POSITIONS, seat_result
from tictac_env.checks import flag, positive, whole
from tictac_env.envs.protocol import PLAY_AS, reward
from tictac_env.envs.single import BoardEnv
from tictac_env.games import DRAWN, LOST, WON, game_name, shown
from tictac_env.lazy import needing
from tictac_env.observation import Infos, Observation, Space
from tictac_env.policies import PlayerLike, Policy, answer, as_policy, make_policy
from tictac_env.position import Position
from tictac_env.progress import track
from tictac_env.rng import STATES, advance, mix
from tictac_env.solver.enumerate import NO_SCORE
from tictac_env.storage import JsonObject
from tictac_env.wrappers.observations import Env

__all__ = ["to_minari"]

if TYPE_CHECKING:
    from minari import MinariDataset
    from minari.data_collector import EpisodeBuffer

CALLERS_METADATA = ("author", "author_email", "code_permalink", "data_format", "description")
"""Metadata that a caller may add; Minari's documentation explains each."""
SMALL = 20
"""On boards of up to this number of cells, all games are followed to their end."""
FOLLOWED, SAMPLED = 300, 1_000
"""On a larger board: the positions followed for a reference score, and the games drawn from where they end."""
INFOS = ("action_mask", "seat", "opponent_action")
"""The environment's infos that every step has; the dataset keeps these."""
Interval = tuple[float, float]
Scores = npt.NDArray[np.int16]


@dataclass(frozen=True)
class ReferenceScores:
    """The mean returns of uniformly random and of perfect play, between which Minari normalises.

    Attributes:
        random: the mean return of `random`.
        perfect: the mean return of `perfect`.
        intervals: a 95 % interval of each, or the mean at both ends if all games were followed to their end.
    """

    random: float
    perfect: float
    intervals: tuple[Interval, Interval]


def to_minari(
    dataset_id: str,
    env: Env,
    policy: PlayerLike = "perfect",
    games: int = 100,
    seed: int = 0,
    *,
    eval_env: Env | None = None,
    scores: bool = True,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = True,
    **metadata: object,
) -> MinariDataset:
    """Plays games in an environment, and saves them as a Minari dataset.

    Each episode has its seed (game i is seeded `seed + i`) and its reset options, so that its actions, played again in
    `dataset.recover_environment()`, give the same episode. Besides Minari's own data there are infos, each with T + 1
    rows for an episode of T steps: `action_mask` int8 (T + 1, num_actions), `seat` and `opponent_action` int64
    (T + 1,), and `action_scores` int16 (T + 1, num_actions): the exact score of every action by the solver
    (`tictac_env.solve`), -16384 if it is illegal, and in the last row, as the game is over there.

    Minari keeps datasets in the folder that MINARI_DATASETS_PATH names. All games are played and solved before anything
    is written; a dataset that cannot be written completely is removed.

    Args:
        dataset_id: Minari's name of the dataset, "(namespace/)name-v0".
        env: `gym.make("ConnectFour-v0", opponent="perfect:0.1", ...)`, observation wrappers allowed. Its opponent is a
            name, so that it can be made again; None for self-play of the policy, with the steps of both sides in an
            episode. With `play_as="alternate"` the seats are swapped after each game.
        policy: the player: whatever `as_policy` accepts ("perfect", "perfect:0.1", an agent, a model, a function).
        games: number of games.
        seed: the same seed gives the same games; at least 0.
        eval_env: the environment of the reference scores (see `reference_scores`). None for `env`, or, if both sides
            step there, for games against `perfect` from both seats. The dataset has no reference scores if games of
            this environment do not begin with the empty board, if steps are rewarded, or if both sides step.
        scores: True to add `action_scores`. Connect Four takes some milliseconds a position.
        cache: a file that keeps the scores as they are found, for the next call (see `tictac_apps.labels.label`).
        progress: if true, shows progress bars.
        **metadata: `description`, `author`, `author_email`, `code_permalink`, `data_format`, for Minari.

    Raises:
        ValueError: an argument is none of these, `dataset_id` is not of Minari's form or is taken, or `env` cannot be
            made again from its spec.
        IllegalMove: the policy's choice is illegal; the message names it.
        DependencyNotInstalled: Minari is missing.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make("TicTacToe-v0", opponent="perfect:0.3", play_as="alternate")
        >>> data = to_minari("tic-tac-toe/perfect-v0", env, "perfect", games=200)  # doctest: +SKIP
        >>> data[0].infos["action_scores"].shape, data.recover_environment().spec.kwargs["opponent"]  # doctest: +SKIP
        ((6, 9), 'perfect:0.3')
    """
    # Check everything first: games take time, and nothing is written yet.
    with needing("Minari, h5py or Pillow is missing", "minari"):
        import h5py  # noqa: F401
        import minari  # noqa: F401
        import PIL  # noqa: F401
    board = _board(env)
    whole("seed", seed)
    positive("games", games)
    flag("scores", scores)
    if unknown := set(metadata) - set(CALLERS_METADATA):
        raise ValueError(f"{min(unknown)!r} is none of {', '.join(CALLERS_METADATA)}")
    player = as_policy(policy, board.game, board.arguments.obs_type)
    path = _new_path(dataset_id)
    # The scores between which Minari normalises are those of one seat, so self-play takes other games for them.
    if eval_env is None and board.opponent is None:
        kwargs = {**(env.spec.kwargs if env.spec else {}), "opponent": "perfect", "play_as": "random"}
        eval_env = gym.make(env.spec, **kwargs)  # type: ignore[arg-type]  # `_board` has checked that it has a spec
    references = reference_scores(env if eval_env is None else eval_env)
    # Play all games, then solve all their positions.
    states = np.random.SeedSequence((seed, 1)).generate_state(games, np.uint64) & np.uint64(STATES)
    episodes = [_play(env, player, i, seed, int(states[i])) for i in track(range(games), "playing", progress)]
    action_scores = _scores_of(episodes, cache, progress) if scores else [None] * games
    space = env.observation_space
    buffers = [episode.buffer(space, rows) for episode, rows in zip(episodes, action_scores, strict=True)]
    # Write the dataset, completely or not at all.
    opponent = "itself" if board.opponent is None else board.opponent
    metadata = {
        "description": f"{games} games of {game_name(board.game)}: {player} against {opponent}",
        "eval_env": eval_env or env,
        "algorithm_name": str(player),
        **metadata,
    }
    try:
        return _write(dataset_id, buffers, env, references, metadata)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def _new_path(dataset_id: str) -> Path:
    """The folder in which Minari will write a dataset; raises a ValueError if the name is wrong or taken."""
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.storage import get_dataset_path

    parse_dataset_id(dataset_id)
    path = Path(get_dataset_path(dataset_id))
    if path.exists():
        raise ValueError(f"there is a dataset {dataset_id!r} already; minari.delete_dataset removes it")
    return path


def _scores_of(episodes: Sequence[_Episode], cache: str | os.PathLike[str] | None, progress: bool) -> list[Scores]:
    """The exact scores in the positions of each episode: int16 (T, num_actions). All are solved in one run."""
    scores = label([position for episode in episodes for position in episode.positions], cache, progress=progress)
    return np.split(scores, np.cumsum([len(episode.steps) for episode in episodes])[:-1])


def _write(
    dataset_id: str,
    buffers: list[EpisodeBuffer],
    env: Env,
    references: ReferenceScores | None,
    metadata: JsonObject,
) -> MinariDataset:
    import minari

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* is set to None", UserWarning)  # metadata that the caller left out
        dataset = minari.create_dataset_from_buffers(
            dataset_id,
            buffers,
            env=env,
            ref_min_score=references and references.random,
            ref_max_score=references and references.perfect,
            requirements=["tictac-env"],
            jpeg_encoding=False,
            **metadata,
        )
        if references:
            dataset.storage.update_metadata({"ref_score_intervals": references.intervals})
    return dataset


def reference_scores(env: Env) -> ReferenceScores | None:
    """The exact mean returns of random and of perfect play in an environment against a named opponent.

    All games are followed together, each position with its probability (see `tictac_env.arena.results`). On boards of
    more than 20 cells only 300 positions are followed so, and 1,000 games are drawn from those that are not decided by
    then. The intervals show the uncertainty of that: against `perfect` on Connect Four less than 0.001.

    Returns:
        The returns; None if both sides step, games do not begin with the empty board, or steps are rewarded.

    Raises:
        ValueError: `env` is not one of this package, or cannot be made again from its spec.

    Example:
        >>> import gymnasium as gym
        >>> import tictac_env
        >>> scores = reference_scores(gym.make("TicTacToe-v0", opponent="random"))
        >>> round(scores.random, 4), round(scores.perfect, 4)
        (0.2968, 0.9678)
    """
    board = _board(env)
    arguments, game = board.arguments, board.game
    if board.opponent is None or arguments.start is not None or arguments.rewards[3]:
        return None
    followed, drawn = (MAX_POSITIONS, GAMES) if game.cells <= SMALL else (FOLLOWED, SAMPLED)
    seats = (0, 1) if arguments.play_as in PLAY_AS[2:] else (PLAY_AS.index(arguments.play_as),)
    pay = tuple(reward(arguments.rewards, True, outcome) for outcome in (WON, DRAWN, LOST))
    means: list[float] = []
    intervals: list[Interval] = []
    for name in ("random", "perfect"):
        player = make_policy(name, game)
        results = [
            seat_result(player, board.opponent, game, seat, max_positions=followed, games=drawn) for seat in seats
        ]
        means.append(fmean(sum(map(mul, pay, result.shares)) for result in results))
        low, high = (fmean(ends) for ends in zip(*(_interval(result, pay) for result in results), strict=True))
        intervals.append((low, high))
    return ReferenceScores(means[0], means[1], (intervals[0], intervals[1]))


def _interval(result: SeatResult, pay: tuple[float, ...]) -> Interval:
    """The interval of the mean return, by the intervals of the shares of games won and lost."""
    win, draw, loss = pay
    wins, _, losses = result.intervals
    # The mean is linear in the two shares, so its extremes are at corners of their rectangle.
    corners = [draw + (win - draw) * won + (loss - draw) * lost for won in wins for lost in losses]
    return min(corners), max(corners)


class _Episode(NamedTuple):
    """A game of T steps: T + 1 observations and infos, and the T positions in which the policy chose.

    A step is an action, its reward, and the flags `terminated` and `truncated`.
    """

    seed: int
    options: dict[str, str] | None
    observations: list[Observation]
    infos: list[Infos]
    steps: list[tuple[int, float, bool, bool]]
    positions: list[Position]

    def buffer(self, space: Space, scores: Scores | None) -> EpisodeBuffer:
        """The episode as Minari takes it, with the scores of its positions if there are any."""
        from minari.data_collector import EpisodeBuffer

        infos = {key: np.array([info[key] for info in self.infos]) for key in INFOS}
        if scores is not None:
            infos["action_scores"] = np.vstack([scores, np.full_like(scores[:1], NO_SCORE)])
        actions, rewards, terminations, truncations = map(np.array, zip(*self.steps, strict=True))
        observations: Observation = create_empty_array(space, len(self.observations))
        return EpisodeBuffer(
            seed=self.seed,
            options=self.options,
            observations=concatenate(space, self.observations, observations),
            actions=actions,
            rewards=rewards,
            terminations=terminations,
            truncations=truncations,
            infos=infos,
        )


def _play(env: Env, player: Policy, number: int, seed: int, state: int) -> _Episode:
    """Plays a game of the environment, seeded `seed + number`; `state` is the RNG state of the player."""
    board = _board(env)
    # A seeded reset always begins with the first seat, so alternate seats are swapped here.
    options = {"play_as": PLAY_AS[number % 2]} if board.arguments.play_as == "alternate" else None
    observation, info = env.reset(seed=seed + number, options=options)
    game = _Episode(seed + number, options, [observation], [info], [], [])
    over = False
    while not over:
        position, state = board.position, advance(state)
        action, _, _ = answer(player, board.game, position.own, position.opp, position.recent_moves, mix(state))
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        game.steps.append((action, float(reward), terminated, truncated))
        game.positions.append(position)
        game.observations.append(observation)
        game.infos.append(info)
    if player.one_game_at_a_time:
        player.game_over(board.position)
    return game


def _board(env: Env) -> BoardEnv:
    """The board within an environment that can be made again from its spec.

    Raises:
        ValueError: it is not such an environment, or the spec has a value that JSON cannot hold, such as an opponent
            that is not a name.
    """
    board = getattr(env, "unwrapped", None)
    if not isinstance(board, BoardEnv) or env.spec is None:
        raise ValueError(f"env must be an environment of this package, made by gym.make, not {shown(env)}")
    for key, value in env.spec.kwargs.items():
        try:
            json.dumps(value)
        except TypeError:
            raise ValueError(
                f"{key}={shown(value)} cannot be written into a dataset, from which the environment is made again; "
                'name it, as in opponent="perfect:0.1"'
            ) from None
    return board
