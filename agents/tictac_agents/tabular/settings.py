"""The settings of the tabular learners, as dataclasses made from their constructors."""

from __future__ import annotations

import functools
import inspect
import typing
from dataclasses import dataclass, field, make_dataclass

from tictac_agents.settings import Settings
from tictac_agents.tabular.learner import Learner


@dataclass(frozen=True, kw_only=True)
class TabularSettings(Settings):
    """The games that a table learns from; each learner adds the arguments of its constructor.

    Attributes:
        total_episodes: how many games.
    """

    OF_THE_RUN = (*Settings.OF_THE_RUN, "total_episodes")
    total_episodes: int = 20_000


@functools.cache
def settings_of(learner: type[Learner]) -> type[TabularSettings]:
    """A dataclass of a learner's settings, which its docstring explains: the constructor's arguments, under the names
    that its checkpoints have too, and the games it learns from.
    """
    hints = typing.get_type_hints(learner.__init__)
    parameters = inspect.signature(learner).parameters
    own = [
        (name, hints[name], field(default=one.default))
        for name, one in parameters.items()
        if name not in ("env", "seed")
    ]
    explained = inspect.cleandoc(learner.__doc__ or "").partition("Args:\n")[2].partition("\n\n")[0]
    run = tuple(name for name in TabularSettings.OF_THE_RUN if name not in parameters)  # ValueTD has its own rewards
    made: type[TabularSettings] = make_dataclass(
        f"{learner.__name__}Settings",
        own,
        bases=(TabularSettings,),
        namespace={"__doc__": f"Of `{learner.__name__}`.\n\nAttributes:\n{explained}", "OF_THE_RUN": run},
        frozen=True,
        kw_only=True,
    )
    return made


def preset_of(learner: type[Learner], name: str) -> TabularSettings:
    """A learner's preset.

    Raises:
        KeyError: there is none of that name.
    """
    preset = learner.PRESETS[name]
    return settings_of(learner)(**{**preset.env, **preset.settings, "total_episodes": preset.episodes})
