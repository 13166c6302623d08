"""Settings as frozen dataclasses, whose fields say what is allowed and what it means.

The constructor of an agent, `tictac train`, the form of the page, the file and the benchmark all read these fields:

    @dataclass(frozen=True, kw_only=True)
    class BoldSettings(Settings):
        boldness: float = setting(0.25, "the chance of a random action", 0, 1)

    class Bold(Learner):
        @takes(BoldSettings)
        def __init__(self, env: Environment | str, settings: BoldSettings) -> None:
            super().__init__(env, settings)

so that `Bold(env, boldness=0.5, seed=0)` works and is completed by editors. `TUNED` has the defaults of games that have
their own.
"""

from __future__ import annotations

import functools
import inspect
import math
import textwrap
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Concatenate, NamedTuple, ParamSpec, Protocol, Self, TypeVar, overload

from tictac_env.checks import flag, number, one_of, whole
from tictac_env.games import Game, did_you_mean, game_name, game_of, get_game, shown

Schedule = float | Sequence[float]
"""A number, or several for equal parts of a run."""
TINY = 1e-6
"""A lower bound of at most this is there to keep a number above 0, and is shown so."""


class Allowed(NamedTuple):
    """The values that a setting may have, and its meaning."""

    help: str
    """A phrase without a full stop at its end; the range and the choices are added to it."""
    low: float
    high: float
    choices: tuple[str, ...]
    recorded: bool
    """True if the setting is in files and among the options; False for what belongs to a machine or cannot be JSON."""

    @property
    def range(self) -> str:
        """The range in words, such as "0 to 1" or "above 0, up to 1"; "" if there is none to mention."""
        if self.low == -math.inf or (self.low <= 0 and self.high == math.inf):
            return ""
        low = "above 0" if 0 < self.low <= TINY else f"{self.low:,.10g}"
        if self.high < math.inf:
            return f"{low}{', up' if low == 'above 0' else ''} to {self.high:,.10g}"
        return low if low == "above 0" else f"at least {low}"

    @property
    def text(self) -> str:
        """The meaning, with the choices if it does not name them, or the range."""
        unnamed = not all(f'"{choice}"' in self.help for choice in self.choices)
        allowed = " or ".join(map(repr, self.choices)) if unnamed else self.range
        return f"{self.help} ({allowed})" if allowed else self.help


def setting(
    default: Any,
    help: str,
    low: float = -math.inf,
    high: float = math.inf,
    choices: Sequence[str] = (),
    recorded: bool = True,
) -> Any:
    """A field of a dataclass of settings; `low` and `high` hold for each number of a sequence too."""
    metadata = {"allowed": Allowed(help, low, high, tuple(choices), recorded)}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A dataclass whose fields are made by `setting`, and checked.

    Raises:
        ValueError: a value is of a wrong type or out of its range; the message names it and what is allowed.
    """

    def __post_init__(self) -> None:
        hints = self._hints()
        for name, allowed in self.allowed().items():
            value = getattr(self, name)
            object.__setattr__(self, name, checked(name, value, hints[name], allowed))

    @classmethod
    @functools.cache  # reading the annotations takes longer than all checks
    def _hints(cls) -> dict[str, Any]:
        return typing.get_type_hints(cls)

    @classmethod
    def allowed(cls) -> dict[str, Allowed]:
        """The meaning and the range of each field."""
        return {each.name: each.metadata["allowed"] for each in fields(cls)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The settings whose `to_dict` this is, perhaps read from JSON.

        Raises:
            ValueError: a name is unknown (the message has the near ones), or a value is of a wrong type or range.
        """
        cls._check_names(values)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The recorded settings, as JSON can hold them."""
        return {name: getattr(self, name) for name, allowed in self.allowed().items() if allowed.recorded}

    def changed(self, **changes: Any) -> Self:
        """These settings with `changes`; the errors are those of `from_dict`."""
        self._check_names(changes)
        return replace(self, **changes)

    @classmethod
    def _check_names(cls, values: Mapping[str, Any]) -> None:
        names = list(cls.allowed())
        if unknown := set(values) - set(names):
            name = min(unknown)
            raise ValueError(f"{cls.__name__} has no {name!r}; {did_you_mean(name, names)}")


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """The arguments of an agent's constructor, except for its game or its boards; each agent adds its own."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """For each preset the values of its `Plan` that differ from the defaults."""
    TUNED: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """For some games the values of a `Plan` that are the defaults there: of a training, and of a constructor that takes
    a game.
    """
    GAME: ClassVar[str] = "TicTacToe-v0"
    """The game of a training if nothing else is said."""
    TOTAL: ClassVar[int] = 20_000
    """The length of a training if nothing else is said, in the agent's unit."""
    seed: int | None = setting(None, "makes the run reproducible; None for fresh entropy", 0)

    @property
    def usual_total(self) -> int:
        """The length of a training if nothing else is said."""
        return self.TOTAL

    @classmethod
    def usual(cls, game: str | Game | Mapping[str, Any]) -> Mapping[str, Any]:
        """The values in `TUNED` for a game.

        Raises:
            ValueError: there is no such game.
        """
        if not cls.TUNED:
            return {}
        rules = game_of(game) if isinstance(game, Mapping) else get_game(game)
        return cls.TUNED.get(game_name(rules) or "", {})

    @classmethod
    def usual_text(cls, name: str) -> str:
        """The defaults of a setting on games that have their own, to follow its meaning."""
        return "".join(f"; on {game} {values[name]}" for game, values in cls.TUNED.items() if name in values)

    def keywords(self) -> dict[str, Any]:
        """All settings, as the constructor takes them."""
        return {name: getattr(self, name) for name in self.allowed()}


def checked(name: str, value: Any, hint: Any, allowed: Allowed) -> Any:
    """`value`, if it is of the annotated type and in its range; sequences come back as tuples.

    Raises:
        ValueError: it is not; the message names it and what is allowed.
    """
    # `kinds`: the alternatives of the annotation, such as float and Sequence[float].
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    if value is None and type(None) in kinds:
        return None
    if allowed.choices:
        return one_of(name, value, allowed.choices)
    # First what is not a number: each element of a sequence by its own annotation and the same range, and objects that
    # need no range, such as a game.
    for kind in kinds:
        origin = typing.get_origin(kind) or kind
        if origin in (tuple, Sequence):
            each = _each(value, typing.get_args(kind))
            if each is not None:
                return tuple(checked(f"{name}[{i}]", part, of, allowed) for i, (part, of) in enumerate(each))
        elif isinstance(origin, type) and origin not in (bool, int, float) and isinstance(value, origin):
            return value
    # Then numbers. A bool is an int for `isinstance`, but not for these checks; an int passes as a float.
    if bool in kinds:
        return flag(name, value)
    if float in kinds:
        return number(name, value, allowed.low, allowed.high)
    if int in kinds:
        return whole(name, value, allowed.high, allowed.low)
    raise ValueError(f"{name} must be {getattr(hint, '__name__', hint)}, not {shown(value)}")


def _each(value: Any, kinds: tuple[Any, ...]) -> list[tuple[Any, Any]] | None:
    """The elements of a sequence, each with its type; None if it is not a sequence, empty, or of another length."""
    if not isinstance(value, (list, tuple)) or not value:
        return None
    if len(kinds) == 1 or kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(value)
    return list(zip(value, kinds, strict=True)) if len(kinds) == len(value) else None


Agent = TypeVar("Agent")
Place = TypeVar("Place")
Own = TypeVar("Own", bound=Checked, covariant=True)
Keywords = ParamSpec("Keywords")


class Taking(Protocol[Keywords, Own]):
    """The decorator that `takes` returns, as type checkers see it."""

    @overload
    def __call__(self, init: Callable[[Agent, Own], None], /) -> Callable[Concatenate[Agent, Keywords], None]: ...
    @overload
    def __call__(
        self, init: Callable[[Agent, Place, Own], None], /
    ) -> Callable[Concatenate[Agent, Place, Keywords], None]: ...


def takes(kind: Callable[Keywords, Own]) -> Taking[Keywords, Own]:
    """Lets a constructor that gets an agent's settings as one object take them as keywords.

    Type checkers and editors see the fields of `kind` as its arguments, and so does `inspect.signature`. Before the
    settings the constructor may take the boards or the game, also by its name; a game that is not given is `kind.GAME`.
    """
    settings_class: Any = kind  # a class, as far as it is called

    def decorate(init: Callable[..., None]) -> Callable[..., None]:
        # The signature that editors see: the agent, its boards or its game, and the settings, the seed last.
        agent, *place, _ = inspect.signature(init).parameters.values()
        takes_game = [parameter.name for parameter in place] == ["game"]
        if takes_game:
            place = [place[0].replace(default=settings_class.GAME)]
        own = sorted(inspect.signature(kind).parameters.values(), key=lambda parameter: parameter.name == "seed")
        signature = inspect.Signature([agent, *place, *own])

        @functools.wraps(init)
        def constructor(*args: Any, **keywords: Any) -> None:
            # `values` has only what the caller gave, so that the defaults of the game come before those of the fields.
            values = signature.bind(*args, **keywords).arguments
            before = [values.pop(parameter.name, parameter.default) for parameter in (agent, *place)]
            usual = settings_class.usual(before[1]) if takes_game else {}
            own_usual = {name: value for name, value in usual.items() if name in settings_class.allowed()}
            init(*before, settings_class(**own_usual | values))

        constructor.__signature__ = signature  # type: ignore[attr-defined]
        constructor.settings_class = kind  # type: ignore[attr-defined]
        return constructor

    return decorate


class Configured:
    """A class whose constructor `takes` settings; their meaning replaces the line "{settings}" of its docstring."""

    SETTINGS: ClassVar[type[Checked]] = Settings
    """The dataclass of its settings, which its constructor takes."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.SETTINGS = getattr(vars(cls).get("__init__"), "settings_class", cls.SETTINGS)
        own: type[Checked] = cls.SETTINGS
        lines = []
        for name, allowed in sorted(own.allowed().items(), key=lambda item: item[0] == "seed"):
            usual = own.usual_text(name) if issubclass(own, Settings) else ""
            lines.append(textwrap.fill(f"        {name}: {allowed.text}{usual}.", 110, subsequent_indent=" " * 12))
        cls.__doc__ = (cls.__doc__ or "").replace("        {settings}", "\n".join(lines)) or None
