"""One dataclass of settings for each agent: the same in code, on the command line, on the page and in a checkpoint."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, make_dataclass
from typing import Any, ClassVar, Self

import gymnasium as gym

from tictac_env.games import Game, did_you_mean, game_of, gym_keywords, shown
from tictac_env.solver.enumerate import SMALL_CELLS

ENV_KEYWORDS = ("opponent", "play_as", "illegal", "rewards", "obs_type", "start")


@dataclass(frozen=True, kw_only=True)
class GameSettings:
    """The game, and ways to write and read settings: the base class.

    Raises:
        ValueError: a setting is of a wrong type.

    Attributes:
        game: a game's name, such as ConnectFour-v0 or KInARow-v0:5x6-4 (on a command line also module:Hex-v0, whose
            module is imported); or, of a family, its "id" and sizes, such as {"id": "KInARow-v0", "rows": 5}.
    """

    RUN_SETTINGS: ClassVar[tuple[str, ...]] = ("game",)
    """The settings that are not arguments of the agent's constructor."""
    game: str | Mapping[str, Any] = "TicTacToe-v0"

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, list):  # as JSON has it
                value = tuple(value)
                object.__setattr__(self, one.name, value)
            if not fits(value, hints[one.name]):
                raise ValueError(f"{one.name} must be {one.type}, not {shown(value)}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The settings whose `to_dict` this is.

        Raises:
            ValueError: a name is unknown (the message has the near ones), or a value is of a wrong type.
        """
        names = [one.name for one in fields(cls)]
        if unknown := set(values) - set(names):
            name = min(unknown)
            raise ValueError(f"{cls.__name__} has no {name!r}; {did_you_mean(name, names)}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """All settings, for JSON."""
        return asdict(self)

    def changed(self, **changes: Any) -> Self:
        """These settings with `changes`; the errors are those of `from_dict`."""
        return type(self).from_dict({one.name: getattr(self, one.name) for one in fields(self)} | changes)

    def keywords(self) -> dict[str, Any]:
        """The arguments of the agent's constructor."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in self.RUN_SETTINGS}

    @property
    def rules(self) -> Game:
        """The rules of the game.

        Raises:
            ValueError: there is no such game.
        """
        return game_of(self.game)

    @property
    def is_small(self) -> bool:
        """True if the game is small enough for exact verdicts."""
        return self.rules.cells <= SMALL_CELLS


@dataclass(frozen=True, kw_only=True)
class Settings(GameSettings):
    """The settings of agents that learn in environments; each agent adds its own.

    Raises:
        ValueError: a setting is of a wrong type.

    Attributes:
        opponent: a player's name; None if the agent plays both sides.
        play_as: the learner's seat, "first", "second", "random" or "alternate"; None for "alternate" against an
            opponent, and for both seats if the agent plays both sides.
        illegal: the effect of an illegal action, "lose" or "raise".
        rewards: for a win, a draw and a loss; a fourth is for each step that does not end the game.
        start: the positions in which games begin: "empty", or "reachable" for any unfinished position of a game small
            enough to tabulate, each as likely as the others; "random:8" for those after 0 to 8 random moves, each
            number as likely as the others.
    """

    RUN_SETTINGS = (*GameSettings.RUN_SETTINGS, "opponent", "play_as", "illegal", "rewards", "start")
    opponent: str | None = "random"
    play_as: str | None = None
    illegal: str = "lose"
    rewards: tuple[float, ...] = (1.0, 0.0, -1.0)
    start: str = "empty"

    def changed(self, **changes: Any) -> Self:
        """These settings with `changes`; the errors are those of `from_dict`.

        If the agent played both sides and now has an opponent, or the other way round, then what follows from that
        changes too, unless it is given: `play_as`, `start` and the sign of a deep agent's `gamma`.
        """
        if "opponent" in changes and (changes["opponent"] is None) != (self.opponent is None):
            changes = self._following() | changes
        return super().changed(**changes)

    def _following(self) -> dict[str, Any]:
        """The settings that follow from the opponent, for games of the other kind."""
        return {"play_as": None, "start": Settings.start}

    def env_keywords(self) -> dict[str, Any]:
        """The keywords of `gym.make`, apart from the game."""
        values = {name: getattr(self, name) for name in ENV_KEYWORDS if name in self.RUN_SETTINGS}
        return values | {"play_as": self.seat}

    def env(self) -> gym.Env[Any, Any]:
        """A single environment with these settings."""
        game = self.game if isinstance(self.game, Mapping) else gym_keywords(self.game)
        return gym.make(**{**game, **self.env_keywords()})

    @property
    def seat(self) -> str:
        """`play_as` as `gym.make` takes it."""
        return self.play_as or ("first" if self.opponent is None else "alternate")


@functools.cache
def settings_of_class(agent: Any) -> type[Any]:
    """The dataclass of an agent's settings, made from its constructor: its arguments, which its docstring explains, the
    games it learns from and their number. Its files have the settings under the same names.
    """
    parameters, hints = inspect.signature(agent).parameters, typing.get_type_hints(agent.__init__)
    explained = inspect.cleandoc(agent.__doc__ or "").partition("Args:\n")[2].partition("\n\n")[0]
    base: type[GameSettings]
    own: list[tuple[str, Any, Any]]
    if "env" in parameters:
        base, length, own = Settings, "total_episodes", [("total_episodes", int, field(default=20_000))]
        explained += "\n    total_episodes: the number of games."
    else:
        base, length, own = GameSettings, "total_games", [("total_games", int | None, field(default=None))]
        own.append(("game", str | Mapping[str, Any], field(default=parameters["game"].default)))
        tuned = "".join(f", on {game} {one['total_games']:,}" for game, one in agent.TUNED.items())
        usual = "the run for which the other settings are made" if "games_a_seat" in parameters else f"{agent.RUN:,}"
        explained += f"\n    total_games: the number of games; None for {usual}{tuned}."
    own += [
        (name, hints[name], field(default=one.default))
        for name, one in parameters.items()
        if name not in ("env", "game", "seed", "device", "workers")
    ]
    run = (*(name for name in base.RUN_SETTINGS if name == "game" or name not in parameters), length)
    names = {"__doc__": f"Of `{agent.__name__}`.\n\nAttributes:\n{explained}", "RUN_SETTINGS": run}
    return make_dataclass(f"{agent.__name__}Settings", own, bases=(base,), namespace=names, frozen=True, kw_only=True)


def preset_settings(agent: Any, name: str) -> Any:
    """The settings of a preset of an agent's class.

    Raises:
        KeyError: there is no preset of that name.
    """
    preset, made = agent.PRESETS[name], settings_of_class(agent)
    if isinstance(preset, Mapping):
        return made(**preset)
    # "first" is what `gym.make` takes if nothing is said
    return made(**{"play_as": "first", **preset.env, **preset.settings}, total_episodes=preset.episodes)


def fits(value: Any, hint: Any) -> bool:
    """True if a value is of the annotated type. An int is a float too, and a bool is neither."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return any(fits(value, one) for one in inner)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
        return len(each) == len(value) and all(map(fits, value, each))
    if isinstance(origin, type):  # a Mapping, or a Sequence of numbers
        return isinstance(value, origin) and not isinstance(value, str)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)
