"""S0, George Swan's tic-tac-toe: TD learning of state values with dead draws, blocks of games and restarts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tictac_agents.curves import LearningCurve
from tictac_agents.settings import setting, takes
from tictac_agents.tabular.learner import Callback, Environment
from tictac_agents.tabular.table_learner import LoopLimits
from tictac_agents.tabular.value_td import StateLearner, StateSettings, ValueTable
from tictac_env.compiled import kernel_methods
from tictac_env.envs.protocol import PLAY_AS
from tictac_env.games import DRAWN, LOST, UNFINISHED, WON, Game
from tictac_env.solver.enumerate import SMALL_CELLS


@kernel_methods
class DeadDrawTable(ValueTable):
    """A `ValueTable` for which a game is drawn as soon as neither side can win."""

    def outcome(self, game: Game, own: int, opp: int) -> int:
        """The result for the owner of the stones `own`, with either side to move."""
        # `ValueTable.outcome` with one more way to draw.
        result, theirs = game.result(own, opp), game.result(opp, own)
        if result == LOST or theirs == WON:
            return LOST
        if theirs == LOST or result == WON:
            return WON
        return DRAWN if result == DRAWN or game.is_dead(own, opp) else UNFINISHED


@dataclass(frozen=True, kw_only=True)
class S0ValueTDSettings(StateSettings):
    """The settings of `S0ValueTD`."""

    PRESETS: ClassVar = {
        "S0": {
            "learning_rate": None,
            "gamma": 0.9,
            "epsilon": 0.95,
            "rewards": (10, 2, -30, -1),
            "initial_value": -1.0,
            "updates": "online",
            "shared": True,
            "dead_draws": True,
            "block": 10_000,
            "verdict_every": 20_000,
            "start_afresh": 400_000,
            "play_as": "first",
            "total": 20_000_000,
        },
    }
    shared: bool = setting(False, "True if both seats share one table")
    dead_draws: bool = setting(
        False, "True if a game ends as a draw once neither side can win; games given to `learn_game` end there, too"
    )
    block: int = setting(0, "the number of games that each seat gets in turn; 0 leaves the seats to the environment", 0)
    verdict_every: int = setting(
        0,
        "the number of games between two exact verdicts; the run ends once the agent is unbeatable; 0 for no verdicts "
        "(a `LearningCurve` with `until_proven` given to `learn` replaces this rule)",
        0,
    )
    start_afresh: int = setting(
        0,
        "the number of games after which a run without success forgets everything, a multiple of `verdict_every`; 0, "
        "or no verdicts, for never",
        0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.verdict_every:
            LearningCurve(self.verdict_every, True, self.start_afresh)  # checks both numbers


class S0ValueTD(StateLearner):
    """`ValueTD` with the additions of George Swan's "Reinforcement Learning: A Tic Tac Toe Example" (S0).

    Presets (`S0ValueTD.preset(name)`):
        S0: one table for both seats, every ply of both sides, 1 / N(s), almost always exploring; a game that neither
            side can win counts as drawn. Blocks of 10,000 games in each seat, then a verdict; after 20 verdicts without
            success it starts again with an empty table.

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        {settings}

    Raises:
        ValueError: an argument is out of its range, or the game is too large for verdicts; the message names it.

    Example:
        >>> from tictac_agents import S0ValueTD
        >>> S0ValueTD.preset("S0", seed=0).learn(total_episodes=200).num_episodes
        200
    """

    settings: S0ValueTDSettings

    @takes(S0ValueTDSettings)
    def __init__(self, env: Environment | str, settings: S0ValueTDSettings) -> None:
        super().__init__(env, settings)
        if settings.verdict_every and self.game.cells > SMALL_CELLS:
            raise ValueError(
                f"verdict_every must be 0 on a game of more than {SMALL_CELLS} cells, not {settings.verdict_every}"
            )

    def resume(self, callback: Callback | None = None, progress_bar: bool = True, **keywords: Any) -> Self:
        """Continues a run: see `Learner.resume`; `verdict_every` holds unless the callback gives verdicts itself."""
        if self.settings.verdict_every and not getattr(callback, "until_proven", False):
            own = self.settings
            callback = LearningCurve(own.verdict_every, True, own.start_afresh, callback=callback)
        return super().resume(callback, progress_bar, **keywords)

    def _table_class(self) -> type[ValueTable]:
        return DeadDrawTable if self.settings.dead_draws else ValueTable

    def _num_parts(self) -> int:
        return 1 if self.settings.shared else 2

    def _reset_options(self) -> dict[str, Any]:
        return {"play_as": self._seat()} if self.settings.block else {}

    def _limits(self) -> LoopLimits:
        # The compiled loop plays one block at most, as the seat changes after it.
        limits = super()._limits()
        if self.settings.block:
            left = self.settings.block - self.num_episodes % self.settings.block
            limits = LoopLimits(min(limits.games, left), limits.steps, self._seat())
        return limits

    def _seat(self) -> str:
        return PLAY_AS[self.num_episodes // self.settings.block % 2]
