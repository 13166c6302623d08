"""The plan of a training: the agent, its settings, the game and the boards it learns on, and for how long."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import gymnasium as gym

import tictac_agents
from tictac_agents import AGENTS
from tictac_agents.settings import Checked, Settings, setting
from tictac_env.checks import one_of
from tictac_env.envs.protocol import REWARDS
from tictac_env.games import Game, did_you_mean, game_of, gym_keywords
from tictac_env.solver.enumerate import SMALL_CELLS

if TYPE_CHECKING:
    from tictac_env.wrappers.sb3_vec_env import SB3VecEnv

UNKNOWN = "unknown"
"""The game of boards that are not ours, and of those that are not known yet."""
UNITS = {"table": "episodes", "games": "games", "network": "timesteps"}
"""The unit of the length of a training, by the kind of agent."""
ENV_KEYWORDS = ("opponent", "play_as", "illegal", "rewards", "start")
OFFERED = {
    "table": ("game", "total", *ENV_KEYWORDS),
    "games": ("game", "total"),
    "network": ("game", "total", *ENV_KEYWORDS, "num_envs", "obs_type"),
}
"""The fields of a plan that mean something to a kind of agent; others keep their defaults."""


@dataclass(frozen=True, kw_only=True)
class Plan(Checked):
    """A training that can be written down.

    Its dictionary is flat: the fields of the plan that mean something to the agent, and those of the agent's settings.

    Raises:
        ValueError: a value is of a wrong type or out of its range; the message names it.

    Attributes:
        agent: the name of the agent in `tictac_agents.AGENTS`.
        settings: the arguments of its constructor.

    Example:
        >>> from tictac_agents.plan import Plan
        >>> plan = Plan.of("QLearning", opponent=None, epsilon=0.5, total=1_000)
        >>> plan.new_agent().learn(total_episodes=plan.total).num_episodes
        1000
    """

    agent: str = setting("QLearning", "the agent's name")
    settings: Settings = setting(Settings(), "the arguments of the agent's constructor", recorded=False)
    game: str | Mapping[str, Any] = setting(
        "TicTacToe-v0",
        "a game's name, such as ConnectFour-v0 or KInARow-v0:5x6-4 (on a command line also module:Hex-v0, whose module "
        'is imported); or, of a family, its "id" and sizes, such as {"id": "KInARow-v0", "rows": 5}',
    )
    total: int | None = setting(
        None, "the length of the training in the agent's unit; None for the agent's usual one", 1
    )
    opponent: str | None = setting("random", "a player's name; None if the agent plays both sides")
    play_as: str | None = setting(
        None,
        'the learner\'s seat, "first", "second", "random" or "alternate"; None for "alternate" against an opponent, '
        "and for both seats if the agent plays both sides",
    )
    illegal: str = setting("lose", "the effect of an illegal action", choices=("lose", "raise"))
    rewards: tuple[float, ...] = setting(
        tuple(map(float, REWARDS)), "for a win, a draw and a loss; a fourth is for each step that does not end the game"
    )
    start: str = setting(
        "empty",
        'the positions in which games begin: "empty", or "reachable" for any unfinished position of a game small '
        'enough to tabulate, each as likely as the others; "random:8" for those after 0 to 8 random moves, each number '
        "as likely as the others",
    )
    num_envs: int = setting(1, "the number of boards stepped together", 1)
    obs_type: str = setting("planes", 'the network\'s observations, "planes" or "board"')

    def __post_init__(self) -> None:
        super().__post_init__()
        kind = settings_class(self.agent)
        if type(self.settings) is not kind:
            raise ValueError(f"{self.agent} takes {kind.__name__}, not {type(self.settings).__name__}")
        # In self-play the next value is the other side's, so the discount carries its sign.
        gamma = getattr(self.settings, "gamma", None)
        if self.kind == "network" and gamma and self.game != UNKNOWN and (gamma < 0) != (self.opponent is None):
            sign, whose = ("most", "other side's") if self.opponent is None else ("least", "agent's own")
            raise ValueError(
                f"gamma must be at {sign} 0 with opponent={self.opponent!r}, as the next value is the {whose}, not "
                f"{gamma}; left out, it follows"
            )

    @classmethod
    def of(cls, agent: str, **values: Any) -> Self:
        """The plan of an agent with these values of the plan and of the agent's settings.

        Raises:
            ValueError: a name is unknown (the message has the near ones), or a value is of a wrong type or range.
        """
        kind = settings_class(agent)
        if AGENTS[agent].kind == "games":
            values = {**kind.usual(values.get("game", kind.GAME)), **values}
        own, run = _parted(agent, kind, values)
        return cls(agent=agent, settings=kind(**own), **{"game": kind.GAME, **run})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The plan whose `to_dict` this is; errors as of `of`."""
        return cls.of(**values)

    def to_dict(self) -> dict[str, Any]:
        """The plan, for JSON."""
        run = {name: getattr(self, name) for name in OFFERED[self.kind]}
        return {"agent": self.agent} | run | self.settings.to_dict()

    def changed(self, **changes: Any) -> Self:
        """This plan with `changes` of its own values or of the settings; errors as of `of`.

        If the agent played both sides and now has an opponent, or the other way round, then what follows from that
        changes too, unless it is given: `play_as`, `start` and the sign of a network's `gamma`.
        """
        if self.kind != "games" and "opponent" in changes and (changes["opponent"] is None) != (self.opponent is None):
            changes = self._following() | changes
        own, run = _parted(self.agent, type(self.settings), changes)
        settings = type(self.settings)(**self.settings.keywords() | own)
        before = {each.name: getattr(self, each.name) for each in fields(self)}
        return type(self)(**{**before, **run, "settings": settings})

    def _following(self) -> dict[str, Any]:
        """The values that follow from the opponent, for games of the other kind."""
        following: dict[str, Any] = {"play_as": None, "start": "empty"}
        gamma = getattr(self.settings, "gamma", None)
        if self.kind == "network" and gamma:
            following["gamma"] = math.copysign(gamma, 1 if self.opponent is None else -1)
        return following

    @property
    def kind(self) -> str:
        """The kind of agent: see `tictac_agents.Agent.kind`."""
        return AGENTS[self.agent].kind

    @property
    def length(self) -> int:
        """The length of the training in the agent's unit."""
        return self.settings.usual_total if self.total is None else self.total

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

    @property
    def seat(self) -> str:
        """`play_as` as `gym.make` takes it."""
        return self.play_as or ("first" if self.opponent is None else "alternate")

    @property
    def discount(self) -> float:
        """The `gamma` of a network, or what follows from the opponent: -1, or 0.99 as in Stable-Baselines3."""
        gamma: float | None = getattr(self.settings, "gamma", None)
        if gamma is not None:
            return gamma
        return -1.0 if self.opponent is None else 0.99

    def env_keywords(self) -> dict[str, Any]:
        """The keywords of `gym.make` besides the game."""
        names = OFFERED[self.kind][2:]
        return {name: getattr(self, name) for name in names if name != "num_envs"} | {"play_as": self.seat}

    def env(self) -> gym.Env[Any, Any]:
        """A single environment as the plan says."""
        game = self.game if isinstance(self.game, Mapping) else gym_keywords(self.game)
        return gym.make(**{**game, **self.env_keywords()})

    def boards(self, **changes: Any) -> SB3VecEnv:
        """The boards that a network learns on; `changes` replace keywords of `SB3VecEnv`."""
        from tictac_env.wrappers.sb3_vec_env import SB3VecEnv

        return SB3VecEnv(self.rules, **{"num_envs": self.num_envs, **self.env_keywords(), **changes})

    def new_agent(self, **keywords: Any) -> Any:
        """An untrained agent; networks are on the processor.

        Raises:
            ValueError: the agent cannot play the game, or a setting does not fit it.
            DependencyNotInstalled: what the agent needs is missing.
        """
        agent = getattr(tictac_agents, self.agent)  # first of all, as it says what to install if torch is missing
        if self.kind == "network":
            one_thread()
            return agent.from_plan(self, device="cpu", **keywords)
        place = self.env() if self.kind == "table" else self.rules
        learner = agent(place, **self.settings.keywords() | keywords)
        if "device" in self.settings.allowed():
            one_thread()
        return learner


def _parted(agent: str, kind: type[Settings], values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of the agent's settings, and those of the plan.

    Raises:
        ValueError: a name is unknown; the message has the near ones.
    """
    own_names = kind.allowed()
    run_names = [name for name in OFFERED[AGENTS[agent].kind] if name not in own_names]
    for name in values:
        if name not in own_names and name not in run_names:
            raise ValueError(f"{agent} has no setting {name!r}; {did_you_mean(name, [*run_names, *own_names])}")
    own = {name: value for name, value in values.items() if name in own_names}
    return own, {name: value for name, value in values.items() if name not in own_names}


def settings_class(agent: str) -> type[Settings]:
    """The dataclass of an agent's settings.

    Raises:
        ValueError: there is no such agent, or it has no settings.
    """
    trained = tictac_agents.trained("table", "games", "network")
    entry = AGENTS[one_of("agent", agent, trained)]
    module = importlib.import_module(f"tictac_agents.{entry.settings or entry.home}")
    kind: type[Settings] = getattr(module, f"{agent}Settings")
    return kind


def presets(agent: str) -> dict[str, Plan]:
    """The presets of an agent by their names."""
    return {name: Plan.of(agent, **values) for name, values in settings_class(agent).PRESETS.items()}


def preset(agent: str, name: str) -> Plan:
    """The preset of that name.

    Raises:
        ValueError: there is none; the message names the near ones.
    """
    presets_of = settings_class(agent).PRESETS
    if name not in presets_of:
        raise ValueError(f"{agent} has no preset {name!r}; {did_you_mean(name, list(presets_of))}")
    return Plan.of(agent, **presets_of[name])


def tuned(agent: str, game: str | None = None) -> Plan:
    """The plan of a training on a game, if nothing else is said: the tuned one, or else the defaults.

    For agents that learn from games of their own this is `Plan.of(agent, game=game)`, and what their constructors take.

    Args:
        agent: the agent's name.
        game: the game's name; None for the agent's usual one.
    """
    kind = settings_class(agent)
    game = kind.GAME if game is None else game
    return Plan.of(agent, **{"game": game, **kind.usual(game)})


def one_thread() -> None:
    """Lets torch use one thread, the fastest for networks this small."""
    import torch  # only now, so that --help is quick

    torch.set_num_threads(1)
