"""The progress bar of a Stable-Baselines3 model that learns on these boards."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from gymnasium.error import DependencyNotInstalled

from tictac_agents.deep.callbacks import ExactEvalCallback, seat_and_outcome
from tictac_env.progress import run_bar

try:
    from stable_baselines3.common.callbacks import BaseCallback
except ImportError as error:
    raise DependencyNotInstalled('Stable-Baselines3 is missing: pip install "tictac-env[rl]"') from error

LAST_GAMES = 1_000
"""Of how many games, at most, the share of wins is shown."""


class ProgressCallback(BaseCallback):
    """Shows how a run goes: a bar, plies a second, wins in the last games, the last exact verdict. Where there is no
    terminal, these are a line a minute.

    Plies are those of both sides. With `opponent=None` the wins are X's, the first player's.

    Where a run may end by an error or by Ctrl-C, use `contextlib.closing`, else the bar stays on the screen.

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
        """Removes the bar, if there is one."""
        self._bar.close()

    def _on_training_start(self) -> None:
        self._self_play = self.training_env.get_attr("opponent")[0] is None
        self._begin, self._plies = self.model.num_timesteps, 0
        self._outcomes: deque[int] = deque(maxlen=LAST_GAMES)
        total = self.locals["total_timesteps"] - self._begin
        bar = run_bar(type(self.model).__name__, total, True, "plies", self._state)
        self._refresh = self._bar.enter_context(bar)

    def _on_step(self) -> bool:
        infos, ended = self.locals["infos"], self.locals["dones"].nonzero()[0].tolist()
        begun = self.training_env.unwrapped.reset_infos  # of the games that follow those that have ended
        self._plies += len(infos) + _answers(infos) + _answers(begun[board] for board in ended)
        self._outcomes.extend(seat_and_outcome(infos[board], self._self_play)[1] for board in ended)
        self._refresh()
        return True

    def _on_training_end(self) -> None:
        self.close()

    def _state(self) -> tuple[int, int, str]:
        """What the bar shows."""
        said = []
        if games := len(self._outcomes):
            who = "X won" if self._self_play else "won"  # short, as all of it should fit into 80 columns
            said.append(f"{who} {100 * self._outcomes.count(1) / games:.0f} %")
        if self._exact is not None and self._exact.judgements:
            truth = self._exact.judgements[-1].verdict
            said.append("plays illegal moves" if truth is None else f"exploitability {truth.exploitability:.3f}")
        return self.model.num_timesteps - self._begin, self._plies, ", ".join(said)


def _answers(infos: Iterable[Mapping[str, Any]]) -> int:
    """In how many of the infos an opponent has played."""
    return sum(info["opponent_action"] >= 0 for info in infos)
