"""S0, George Swan's tic-tac-toe: TD learning of state values with dead draws, blocks of games and restarts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from tictac_agents.curves import UntilProven
from tictac_agents.tabular.learner import Callback, Environment, Preset, Schedule
from tictac_agents.tabular.table_learner import LoopLimits
from tictac_agents.tabular.value_td import ValueTable, ValueTD
from tictac_env.checks import flag, whole
from tictac_env.compiled import kernel_methods
from tictac_env.envs.protocol import PLAY_AS
from tictac_env.games import DRAWN, LOST, UNFINISHED, WON, Game
from tictac_env.solver.enumerate import SMALL_CELLS


@kernel_methods
class DeadDrawTable(ValueTable):
    """A `ValueTable` for which a game is drawn as soon as neither side can win it any more."""

    def outcome(self, game: Game, own: int, opp: int) -> int:
        """The result for the owner of the stones `own`, whoever is to move."""
        result, theirs = game.result(own, opp), game.result(opp, own)
        if result == LOST or theirs == WON:
            return LOST
        if theirs == LOST or result == WON:
            return WON
        return DRAWN if result == DRAWN or game.is_dead(own, opp) else UNFINISHED


class S0ValueTD(ValueTD):
    """`ValueTD` with what George Swan's "Reinforcement Learning: A Tic Tac Toe Example" (S0) does besides.

    Presets (`S0ValueTD.preset(name)`):
        S0: one table for both orders of play, every ply of both sides, 1 / N(s), almost always exploring; a game that
            neither side can win any more counts as drawn. Blocks of 10,000 games a seat, then a verdict; an empty table
            again after every 20 of them that were not enough.

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        learning_rate: the step size, in (0, 1]: a number, or several for equal parts of the run; None for
            1 / N(s), where N counts how often the position was learned.
        gamma: the discount, in [0, 1].
        epsilon: the chance of a random action, in [0, 1]: a number, or several for equal parts of the run.
        rewards: for a win, a draw, a loss and, if given, each ply that does not end the game. They replace the
            environment's rewards.
        initial_value: the value of a position before learning.
        plies: "all" to learn every position of a game; "own" to learn only those after the learner's own moves.
        updates: "online" to learn during the game; "backward" to learn at its end, the last position first.
        trace_decay: lambda, in [0, 1]; a value above 0 needs updates "online".
        learn_exploring: True if the position before an exploring move learns from the position after it.
        shared: True if both seats share one table.
        dead_draws: True if a game ends as a draw once neither side can win. Games given to `learn_game` end there, too.
        block: the number of games that each seat gets in turn; 0 leaves the seats to the environment.
        verdict_every: the number of games between two exact verdicts; the run ends once the agent is unbeatable. 0 for
            no verdicts. (An `UntilProven` given to `learn` replaces this rule.)
        start_afresh: the number of games after which a run without success forgets everything, a multiple of
            `verdict_every`; 0, or no verdicts, for never.
        seed: makes the run reproducible; None for fresh entropy.

    Raises:
        ValueError: an argument is out of its range, or the game is too large for verdicts; the message names it.

    Example:
        >>> from tictac_agents import S0ValueTD
        >>> S0ValueTD.preset("S0", seed=0).learn(total_episodes=200).num_episodes
        200
    """

    PRESETS: ClassVar[dict[str, Preset]] = {
        "S0": Preset(
            {
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
            },
            {"opponent": "random"},
            20_000_000,
        ),
    }

    def __init__(
        self,
        env: Environment | str,
        learning_rate: Schedule | None = 0.1,
        gamma: float = 1.0,
        epsilon: Schedule = 0.1,
        rewards: Sequence[float] = (1.0, 0.5, 0.0),
        initial_value: float = 0.5,
        plies: str = "all",
        updates: str = "backward",
        trace_decay: float = 0.0,
        learn_exploring: bool = True,
        shared: bool = False,
        dead_draws: bool = False,
        block: int = 0,
        verdict_every: int = 0,
        start_afresh: int = 0,
        seed: int | None = None,
    ) -> None:
        self.shared = flag("shared", shared)
        self.dead_draws = flag("dead_draws", dead_draws)
        self.block = whole("block", block)
        self.verdict_every = whole("verdict_every", verdict_every)
        self.start_afresh = whole("start_afresh", start_afresh)
        if self.verdict_every:
            UntilProven(self.verdict_every, self.start_afresh)
        super().__init__(
            env, learning_rate, gamma, epsilon, rewards, initial_value, plies, updates, trace_decay, learn_exploring,
            seed=seed,
        )  # fmt: skip
        if self.verdict_every and self.game.cells > SMALL_CELLS:
            raise ValueError(f"verdict_every must be 0 on a game of more than {SMALL_CELLS} cells, not {verdict_every}")

    def resume(self, callback: Callback | None = None, progress_bar: bool = True, **keywords: Any) -> Self:
        """Continues a run: see `Learner.resume`; the rule of `verdict_every` holds unless the callback has another."""
        if self.verdict_every and not isinstance(callback, UntilProven):
            callback = UntilProven(self.verdict_every, self.start_afresh, callback)
        return super().resume(callback, progress_bar, **keywords)

    def _table_class(self) -> type[ValueTable]:
        return DeadDrawTable if self.dead_draws else ValueTable

    def _num_parts(self) -> int:
        return 1 if self.shared else 2

    def _reset_options(self) -> dict[str, Any]:
        return {"play_as": self._seat()} if self.block else {}

    def _limits(self) -> LoopLimits:
        limits = super()._limits()
        if self.block:
            left = self.block - self.num_episodes % self.block
            limits = LoopLimits(min(limits.games, left), limits.steps, self._seat())
        return limits

    def _seat(self) -> str:
        return PLAY_AS[self.num_episodes // self.block % 2]
