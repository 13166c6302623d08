"""Callbacks that watch a Stable-Baselines3 model learn."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_agents.curves import CurveRow
from tictac_agents.judge import Judge
from tictac_env.checks import SEATS, flag, number, one_of, positive
from tictac_env.lazy import needing
from tictac_env.policies.adapters import ModelPolicy
from tictac_env.policies.pool import OpponentPool
from tictac_env.policies.snapshot import Snapshot
from tictac_env.progress import run_bar
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.wrappers.sb3_vec_env import unwrapped_boards

with needing("Stable-Baselines3 is missing", "rl"):
    from stable_baselines3.common.callbacks import BaseCallback

SAMPLING = ("uniform", "latest", "prioritised")
LAST_GAMES = 1_000
"""The games, at most, whose share of wins the progress bar shows."""


class ExactEvalCallback(BaseCallback):
    """Judges the model exactly now and then, keeps the best one and can end the run.

    In TensorBoard: `eval/exploitability`, `eval/proven`, and `eval/win_rate_<opponent>_<seat>` for the opponents
    random and perfect and the seats first and second. If a model without masks chooses an illegal action,
    `eval/illegal` is 1, and the model counts as worse than any that plays legally.

    Args:
        eval_freq: the least number of environment steps, of all boards together, between two verdicts.
        best_model_save_path: where the best model so far is saved: a file that ends in ".zip", or a folder, in which it
            is `best_model.zip`; None for nowhere.
        stop_when_proven: True to end the run at the first model that cannot be beaten.
        seed: of the verdicts.
        verbose: as in Stable-Baselines3.

    Attributes:
        rows: a `tictac_agents.curves.CurveRow` for each verdict so far.
        best: the best of them, None before the first.

    Raises:
        ValueError: an argument is out of its range; or at the start of the run, the game is too large for exact
            verdicts or the boards do not say which game they are of.

    Example:
        >>> from tictac_agents import DQN, ExactEvalCallback
        >>> exact = ExactEvalCallback(eval_freq=100)
        >>> _ = DQN("MlpPolicy", "TicTacToe-v0", buffer_size=1_000, seed=0, device="cpu").learn(200, exact)
        >>> [row.timesteps for row in exact.rows], exact.best.judgement.unbeatable
        ([100, 200], False)
    """

    def __init__(
        self,
        eval_freq: int = 10_000,
        best_model_save_path: str | os.PathLike[str] | None = None,
        stop_when_proven: bool = False,
        seed: int = 0,
        verbose: int = 0,
    ) -> None:
        super().__init__(verbose)
        self.eval_freq = positive("eval_freq", eval_freq)
        self.best_model_save_path = best_model_save_path
        self.stop_when_proven = flag("stop_when_proven", stop_when_proven)
        self.seed = seed
        self.rows: list[CurveRow] = []
        self.best: CurveRow | None = None

    def _on_training_start(self) -> None:
        try:
            game = self.training_env.get_attr("game")[0]
        except AttributeError as error:
            raise ValueError(f"the boards do not say which game they are of: {error}") from None
        self._judge = Judge(game)
        if not self._judge.is_exact:
            raise ValueError(f"exact verdicts need a game of at most {SMALL_CELLS} cells, not {game!r}")
        self._judged_at = self.num_timesteps
        self._began = time.process_time()

    def _on_step(self) -> bool:
        if self.num_timesteps - self._judged_at < self.eval_freq:
            return True
        self._judged_at, now = self.num_timesteps, time.process_time()
        judgement = self._judge(ModelPolicy(self.model, masked=False), self.seed)
        row = CurveRow(timesteps=self.num_timesteps, seconds=now - self._began, judgement=judgement)
        self._began += time.process_time() - now
        self.rows.append(row)
        self._log(row)
        if self.best is None or judgement.rank > self.best.judgement.rank:
            self.best = row
            if self.best_model_save_path is not None:
                path = Path(self.best_model_save_path)
                self.model.save(path if path.suffix == ".zip" else path / "best_model.zip")
        return not (self.stop_when_proven and judgement.unbeatable)

    def _on_training_end(self) -> None:
        if "eval/proven" in self.logger.name_to_value:  # the last verdict, which nothing has written yet
            self.logger.dump(self.num_timesteps)

    def _log(self, row: CurveRow) -> None:
        judgement = row.judgement
        self.logger.record("eval/illegal", float(judgement.illegal is not None))
        self.logger.record("eval/proven", float(bool(judgement.unbeatable)))
        if self.verbose and judgement.illegal is not None:
            print(judgement.illegal)
        if judgement.verdict is None:
            return
        self.logger.record("eval/exploitability", judgement.exploitability)
        for opponent, results in (("random", judgement.against_random), ("perfect", judgement.against_perfect)):
            for seat, shares in zip(SEATS, results or (), strict=True):
                self.logger.record(f"eval/win_rate_{opponent}_{seat}", shares.wins)
        if self.verbose:
            print(f"{row.timesteps:,} steps, {row.seconds:.0f} CPU-s\n{judgement.verdict}")


class GamesCallback(BaseCallback):
    """Logs how the games of a run go, every `log_freq` environment steps.

    In TensorBoard: `charts/SPS`, environment steps per second; and over the games ended since the last time
    `charts/return`, `charts/episode_length` (the learner's steps), `charts/illegal_rate`, and
    `charts/win_rate_<opponent>_<seat>`. On an `SB3VecEnv` each opponent of a pool counts by itself, and the learner's
    own copies (`SelfPlayCallback`) count together as "copies". With `opponent=None` there is
    `charts/win_rate_self_first`, of the first seat only. `DQN` logs its exploration itself, as
    `rollout/exploration_rate`.

    Args:
        log_freq: the least number of environment steps, of all boards together, between two lines.
        verbose: as in Stable-Baselines3.

    Raises:
        ValueError: `log_freq` is not an integer of at least 1.

    Example:
        >>> from tictac_agents import GamesCallback
        >>> callback = GamesCallback(log_freq=1_000)  # model.learn(10_000, callback)
        >>> callback.log_freq
        1000
    """

    def __init__(self, log_freq: int = 10_000, verbose: int = 0) -> None:
        super().__init__(verbose)
        self.log_freq = positive("log_freq", log_freq)

    def _on_training_start(self) -> None:
        self._opponent = self.training_env.get_attr("opponent")[0]
        self._boards = unwrapped_boards(self.training_env) if isinstance(self._opponent, OpponentPool) else None
        self._playing = None if self._boards is None else self._boards.opponent_numbers
        self._returns = [0.0] * self.training_env.num_envs
        self._lengths = [0] * self.training_env.num_envs
        self._reset_log()

    def _reset_log(self) -> None:
        self._games: list[tuple[float, int, bool]] = []
        self._outcomes: dict[tuple[str, str], list[int]] = {}
        self._logged_at, self._logged_time = self.num_timesteps, time.perf_counter()

    def _on_step(self) -> bool:
        rewards, dones, infos = last_step(self)
        for board, (reward, done) in enumerate(zip(rewards.tolist(), dones.tolist(), strict=True)):
            self._returns[board] += reward
            self._lengths[board] += 1
            if done:
                info = infos[board]
                self._games.append((self._returns[board], self._lengths[board], "illegal_action" in info))
                seat, outcome = seat_and_outcome(info, self._opponent is None)
                self._outcomes.setdefault((self._opponent_name(board), SEATS[seat]), []).append(outcome)
                self._returns[board], self._lengths[board] = 0.0, 0
        if self._boards is not None and any(dones):
            self._playing = self._boards.opponent_numbers  # the next game's
        if self.num_timesteps - self._logged_at >= self.log_freq and self._games:
            self._log()
            self._reset_log()
        return True

    def _opponent_name(self, board: int) -> str:
        """The name of the opponent in the game that has ended on a board."""
        if self._playing is None:
            return "self" if self._opponent is None else str(self._opponent)
        player = self._opponent.players[self._playing[board]]
        return "copies" if isinstance(player, Snapshot) else str(player)

    def _log(self) -> None:
        elapsed = time.perf_counter() - self._logged_time
        self.logger.record("charts/SPS", (self.num_timesteps - self._logged_at) / elapsed)
        columns = zip(*self._games, strict=True)
        for name, values in zip(("return", "episode_length", "illegal_rate"), columns, strict=True):
            self.logger.record(f"charts/{name}", sum(values) / len(values))
        for (name, seat), outcomes in self._outcomes.items():
            self.logger.record(f"charts/win_rate_{name}_{seat}", outcomes.count(1) / len(outcomes))
        self.logger.dump(self.num_timesteps)


def last_step(callback: BaseCallback) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], list[dict[str, Any]]]:
    """The rewards (num_envs,), the dones (num_envs,) and the infos of the step that a callback is called for."""
    if "dones" in callback.locals:
        return callback.locals["rewards"], callback.locals["dones"], callback.locals["infos"]
    boards: Any = callback.training_env.unwrapped  # ARS does not give them to callbacks
    return boards.buf_rews, boards.buf_dones, boards.buf_infos


def seat_and_outcome(info: Mapping[str, Any], self_play: bool) -> tuple[int, int]:
    """The learner's seat in a game that has ended, and its outcome for the learner; in self-play the first player's."""
    seat, outcome = info["seat"], info["outcome"]
    if self_play:  # the mover's outcome comes with the other side's seat
        return 0, outcome if seat == 1 else -outcome
    return seat, outcome


class SelfPlayCallback(BaseCallback):
    """Lets copies of the learner join the pool it plays against.

    Every `snapshot_freq` steps a copy of the policy, its weights frozen, joins the pool. Until the next one, `share` of
    the games are against it and `active - 1` of the earlier copies, equally often; the others are against the opponents
    that were in the pool at the beginning, by their weights. Copies play greedily. One forward pass answers all boards
    that face the same copy, which is why only some copies are active at a time.

    `GamesCallback` logs how often the learner wins against each of the opponents, and against all copies together.

    Args:
        pool: the opponent on the boards the model learns on, an `SB3VecEnv` or a `DummyVecEnv`.
        snapshot_freq: the least number of environment steps, of all boards together, between two copies.
        sampling: which of the earlier copies are active. "uniform": any; "latest": the last ones; "prioritised": by how
            often they beat the learner, `(losses + 1) / (games + 2)` (prioritised fictitious self-play: Vinyals et al.,
            "Grandmaster level in StarCraft II using multi-agent reinforcement learning", 2019).
        active: the most copies that play at a time.
        share: the share of the games against copies, in [0, 1]; 1 if the pool should hold nothing else.
        seed: for the drawing of copies.
        verbose: as in Stable-Baselines3.

    Attributes:
        games: int64 (M,), how many games ended against each opponent of the pool.
        wins: float64 (M,), how many of them the learner won, a draw counting half.

    Raises:
        ValueError: an argument is out of its range; or at the start of the run, the boards have another opponent (as
            those of a `SubprocVecEnv`, which have a copy of `pool`), or the model is not one that `Snapshot` accepts.

    Example:
        >>> from tictac_agents import MaskablePPO, SB3VecEnv, SelfPlayCallback
        >>> from tictac_env.wrappers import OpponentPool
        >>> pool = OpponentPool(["random"])
        >>> envs = SB3VecEnv("ConnectFour-v0", num_envs=16, opponent=pool, play_as="random")
        >>> model = MaskablePPO("MlpPolicy", envs, n_steps=16, batch_size=64, seed=0, device="cpu")
        >>> _ = model.learn(1_024, SelfPlayCallback(pool, snapshot_freq=256))
        >>> print(pool)
        pool(random, snapshot 256, snapshot 512, snapshot 768, snapshot 1024)
    """

    def __init__(
        self,
        pool: OpponentPool,
        snapshot_freq: int = 20_000,
        sampling: str = "uniform",
        active: int = 4,
        share: float = 0.8,
        seed: int = 0,
        verbose: int = 0,
    ) -> None:
        super().__init__(verbose)
        self.pool = pool
        self.snapshot_freq = positive("snapshot_freq", snapshot_freq)
        self.sampling = one_of("sampling", sampling, SAMPLING)
        self.active = positive("active", active)
        self.share = number("share", share, 0, 1)
        self._random = np.random.default_rng(seed)
        self._fixed = list(pool.weights)
        self.games = np.zeros(len(self._fixed), np.int64)
        self.wins: npt.NDArray[np.float64] = np.zeros(len(self._fixed))

    def _on_training_start(self) -> None:
        boards = self.training_env
        opponents = boards.get_attr("opponent") if boards.has_attr("opponent") else [None]
        if any(opponent is not self.pool for opponent in opponents):
            raise ValueError(
                "the boards must be an SB3VecEnv or a DummyVecEnv whose opponent is the pool of the callback; other "
                "processes, as those of a SubprocVecEnv, have a pool of their own"
            )
        Snapshot(self.model)  # an error now, not after the first games
        self._boards = unwrapped_boards(boards)
        self._playing = self._opponent_numbers()
        self._joined_at = self.num_timesteps

    def _opponent_numbers(self) -> npt.NDArray[np.int64]:
        """The number in the pool of the opponent on each board: int64 (num_envs,)."""
        if self._boards is not None:
            return self._boards.opponent_numbers
        return np.array([state["member"] for state in self.training_env.env_method("state_dict")])

    def _on_step(self) -> bool:
        _, dones, infos = last_step(self)
        ended = np.flatnonzero(dones)
        outcomes = np.array([infos[board]["outcome"] for board in ended])
        np.add.at(self.games, self._playing[ended], 1)
        np.add.at(self.wins, self._playing[ended], (outcomes + 1) / 2)
        self._playing = self._opponent_numbers()  # at each step, as ARS resets the boards in the middle of games
        if self.num_timesteps - self._joined_at >= self.snapshot_freq:
            self._joined_at = self.num_timesteps
            self._join()
        return True

    def _join(self) -> None:
        """Adds a copy of the learner to the pool, and draws the copies that play until the next one joins."""
        self.pool.add(Snapshot(self.model, f"snapshot {self.num_timesteps}"), 0.0)
        self.games, self.wins = np.append(self.games, 0), np.append(self.wins, 0.0)
        first, last = len(self._fixed), len(self.games) - 1
        chosen = [*self._earlier(np.arange(first, last)), last]
        weights = np.zeros(len(self.games))
        weights[:first] = (1 - self.share) * np.array(self._fixed) / sum(self._fixed)
        weights[chosen] = self.share / len(chosen)
        self.pool.weights = weights.tolist()

    def _earlier(self, copies: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        count = min(self.active - 1, len(copies))
        if self.sampling == "latest":
            return copies[len(copies) - count :]
        chances = np.ones(len(copies))
        if self.sampling == "prioritised":
            chances = (self.games[copies] - self.wins[copies] + 1) / (self.games[copies] + 2)
        return self._random.choice(copies, count, replace=False, p=chances / chances.sum()) if count else copies[:0]


class ProgressCallback(BaseCallback):
    """Shows how a run goes: a bar, plies a second, wins in the last games, the last exact verdict. Without a terminal
    it prints a line a minute.

    Plies are those of both sides. With `opponent=None` the wins are X's, the first player's.

    If a run may end by an error or by Ctrl-C, use `contextlib.closing`, otherwise the bar stays on the screen.

    Args:
        exact: the callback whose verdicts are shown; None for none.
        verbose: as in Stable-Baselines3.

    Example:
        >>> from contextlib import closing
        >>> from tictac_agents import DQN, ProgressCallback
        >>> model = DQN("MlpPolicy", "ConnectFour-v0", buffer_size=1_000, seed=0, device="cpu")
        >>> with closing(ProgressCallback()) as progress:
        ...     model.learn(200, progress).num_timesteps
        200
    """

    def __init__(self, exact: ExactEvalCallback | None = None, verbose: int = 0) -> None:
        super().__init__(verbose)
        self._exact = exact
        self._bar = ExitStack()

    def close(self) -> None:
        """Removes the bar."""
        self._bar.close()

    def _on_training_start(self) -> None:
        self._self_play = self.training_env.get_attr("opponent")[0] is None
        self._begin, self._plies = self.model.num_timesteps, 0
        self._outcomes: deque[int] = deque(maxlen=LAST_GAMES)
        total = self.locals["total_timesteps"] - self._begin
        bar = run_bar(type(self.model).__name__, total, True, "plies", self._state)
        self._refresh = self._bar.enter_context(bar)

    def _on_step(self) -> bool:
        _, dones, infos = last_step(self)
        ended = dones.nonzero()[0].tolist()
        begun = self.training_env.unwrapped.reset_infos  # of the games that follow those that have ended
        answered = [*infos, *(begun[board] for board in ended)]
        self._plies += len(infos) + sum(info["opponent_action"] >= 0 for info in answered)
        self._outcomes.extend(seat_and_outcome(infos[board], self._self_play)[1] for board in ended)
        self._refresh()
        return True

    def _on_training_end(self) -> None:
        self.close()

    def _state(self) -> tuple[int, int, str]:
        parts = []
        if games := len(self._outcomes):
            who = "X won" if self._self_play else "won"  # short, as all of it should fit into 80 columns
            parts.append(f"{who} {100 * self._outcomes.count(1) / games:.0f} %")
        if self._exact is not None and self._exact.rows:
            value = self._exact.rows[-1].judgement.exploitability
            parts.append("plays illegal moves" if value is None else f"exploitability {value:.3f}")
        return self.model.num_timesteps - self._begin, self._plies, ", ".join(parts)
