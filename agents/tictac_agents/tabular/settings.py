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

    RUN_SETTINGS = (*Settings.RUN_SETTINGS, "total_episodes")
    total_episodes: int = 20_000


@functools.cache
def tabular_settings(learner: type[Learner]) -> type[TabularSettings]:
    """The dataclass of a learner's settings: the arguments of its constructor, which its docstring explains, and the
    games it learns from. Its checkpoints have the settings under the same names.
    """
    hints = typing.get_type_hints(learner.__init__)
    parameters = inspect.signature(learner).parameters
    own = [
        (name, hints[name], field(default=one.default))
        for name, one in parameters.items()
        if name not in ("env", "seed")
    ]
    explained = inspect.cleandoc(learner.__doc__ or "").partition("Args:\n")[2].partition("\n\n")[0]
    run = tuple(name for name in TabularSettings.RUN_SETTINGS if name not in parameters)  # ValueTD has its own rewards
    made: type[TabularSettings] = make_dataclass(
        f"{learner.__name__}Settings",
        own,
        bases=(TabularSettings,),
        namespace={"__doc__": f"Of `{learner.__name__}`.\n\nAttributes:\n{explained}", "RUN_SETTINGS": run},
        frozen=True,
        kw_only=True,
    )
    return made


def preset_settings(learner: type[Learner], name: str) -> TabularSettings:
    """The settings of a learner's preset.

    Raises:
        KeyError: there is no preset of that name.
    """
    preset = learner.PRESETS[name]
    made = {"play_as": "first", **preset.env, **preset.settings}  # "first" is what `gym.make` takes if nothing is said
    return tabular_settings(learner)(**made, total_episodes=preset.episodes)
