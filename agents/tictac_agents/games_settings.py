"""The settings of the agents that learn from games of their own, as dataclasses made from their constructors."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from typing import Any, ClassVar

from tictac_agents.checkpoint import GamesLearner
from tictac_agents.settings import GameSettings


@dataclass(frozen=True, kw_only=True)
class GamesSettings(GameSettings):
    """How long an agent learns; each one adds the arguments of its constructor.

    Attributes:
        total_games: how many games; None for the run for which the other settings are made.
    """

    RUN_SETTINGS = (*GameSettings.RUN_SETTINGS, "total_games")
    RUN: ClassVar[int]
    """The learner's `RUN`."""
    total_games: int | None = None

    @property
    def games(self) -> int:
        """How many games the run has: `total_games` or, where that is None, both seats' `games_a_seat`, or `RUN`."""
        if self.total_games is not None:
            return self.total_games
        return 2 * self.games_a_seat if hasattr(self, "games_a_seat") else self.RUN


@functools.cache
def games_settings(learner: type[GamesLearner]) -> type[GamesSettings]:
    """The dataclass of an agent's settings: the arguments of its constructor, which its docstring explains."""
    hints = typing.get_type_hints(learner.__init__)
    parameters = inspect.signature(learner).parameters
    own: list[tuple[str, Any, Any]] = [
        (name, hints[name], field(default=one.default))
        for name, one in parameters.items()
        if name not in ("game", "seed", "device")
    ]
    own.append(("game", str | Mapping[str, Any], field(default=parameters["game"].default)))
    explained = inspect.cleandoc(learner.__doc__ or "").partition("Args:\n")[2].partition("\n\n")[0]
    if "games_a_seat" not in parameters:
        tuned = "".join(f", on {game} {one['total_games']:,}" for game, one in learner.TUNED.items())
        explained += f"\n    total_games: how many games; None for {learner.RUN:,}{tuned}."
    made: type[GamesSettings] = make_dataclass(
        f"{learner.__name__}Settings",
        own,
        bases=(GamesSettings,),
        namespace={"__doc__": f"Of `{learner.__name__}`.\n\nAttributes:\n{explained}", "RUN": learner.RUN},
        frozen=True,
        kw_only=True,
    )
    return made
