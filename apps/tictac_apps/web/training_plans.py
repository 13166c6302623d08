"""Plans of trainings that the page begins: their settings, their limits, and the form that offers them."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

import tictac_agents
from tictac_agents.deep.settings import TUNED
from tictac_agents.factory import new_agent, settings_class
from tictac_env.checks import flag, one_of
from tictac_env.envs.protocol import PLAY_AS
from tictac_env.games import get_game, shown
from tictac_env.policies import named_policy
from tictac_env.solver.enumerate import SMALL_CELLS

FIRST = {
    "": {"agent": "QLearning", "preset": "self-play"},
    "ConnectFour-v0": {"agent": "NTupleTD", "preset": ""},
}
"""For a game the agent and the preset that the form sets, "" for all other games: the first becomes provably unbeatable
at tic-tac-toe after some three thousand games, the second learns most in a short time."""
MOST = {
    "table": {True: 20_000_000, False: 100_000},
    "games": {True: 5_000_000, False: 5_000_000},
    "network": {True: 2_000_000, False: 2_000_000},
}
"""The most games, of networks steps, on small games and on large ones. For tables on small games it is S0's longest
run; on large ones nearly each of their positions is new and takes memory."""
MOST_SEED = 1_000_000_000
SHORT_GAMES, SHORT_STEPS, TUPLE_GAMES = 5_000, 50_000, 300_000
UNITS = {"table": "games", "games": "games", "network": "steps"}


class Limit(NamedTuple):
    """A number of the form: its label, and its least and greatest value."""

    label: str
    low: float
    high: float
    whole: bool = False

    def check(self, value: Any) -> None:
        """Checks a number, or each of several.

        Raises:
            ValueError: one is out of its range; the message says which are not.
        """
        for one in value if isinstance(value, (list, tuple)) and value else [value]:
            kinds = int if self.whole else (int, float)
            if isinstance(one, bool) or not isinstance(one, kinds) or not self.low <= one <= self.high:
                kind = "a whole number" if self.whole else "a number"
                allowed = f"from {self.low:,} to {self.high:,}"
                raise ValueError(f"{self.label} must be {kind} {allowed}, not {shown(one)}")


LIMITS = {
    "learning_rate": Limit("Learning rate", 0.0001, 1),
    "epsilon": Limit("Exploration (epsilon)", 0, 1),
    "gamma": Limit("Discount (gamma)", 0, 1),
    "initial_value": Limit("Value at first", -100, 100),
    "verdict_every": Limit("Games between two verdicts", 0, 1_000_000, True),
    "step": Limit("Step at the beginning", 0.001, 2),
    "final_step": Limit("Step at the end", 0.001, 2),
    "trace": Limit("Trace (lambda)", 0, 1),
    "tuples": Limit("Tuples", 1, 120, True),
    "length": Limit("Cells of a tuple", 1, 8, True),
}
"""The settings that the form offers, if the agent has them. Tables may be given any other, too."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A training.

    Attributes:
        agent: a table, `NTupleTD`; or a network, if torch is installed.
        game: a game's name.
        opponent: a policy's name; None if the agent plays both sides, as `NTupleTD` always does.
        play_as: the learner's seat.
        total: the number of games; of networks that of steps, rounded up to whole rollouts.
        seed: makes the run reproducible.
        rewards: for a win, a draw and a loss; None for the usual ones. `ValueTD` has rewards of its own.
        settings: arguments of the learner; none for networks, and only those of `LIMITS` for `NTupleTD`.
        until_proven: whether to end as soon as nothing beats it.

    Raises:
        ValueError: something is out of its range; the message names it.
    """

    agent: str = "QLearning"
    game: str = "TicTacToe-v0"
    opponent: str | None = "random"
    play_as: str = "alternate"
    total: int = SHORT_GAMES
    seed: int = 0
    rewards: tuple[float, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    until_proven: bool = False

    def __post_init__(self) -> None:
        one_of("agent", self.agent, trainable())
        one_of("play_as", self.play_as, PLAY_AS)
        flag("until_proven", self.until_proven)
        Limit("The seed", 0, MOST_SEED, True).check(self.seed)
        rules = get_game(self.game)
        small = rules.cells <= SMALL_CELLS
        Limit(f"The number of {self.unit}", 1, MOST[self.kind][small], True).check(self.total)
        if not isinstance(self.settings, Mapping) or (self.settings and self.kind == "network"):
            raise ValueError(f"settings must be an object, for networks an empty one, not {shown(self.settings)}")
        for name, value in self.settings.items():
            if name in LIMITS and value is not None:
                LIMITS[name].check(value)
        if self.until_proven and not small:
            raise ValueError(f"until_proven needs a game of at most {SMALL_CELLS} cells, not {self.game!r}")
        if self.kind == "games" and (self.opponent, self.rewards) != (None, None):
            raise ValueError(f"{self.agent} learns from games against itself: opponent and rewards must be null")
        if self.opponent is not None:
            named_policy(self.opponent, rules)  # a plan comes over the web, and must not name code to run
        settings = self.agent_settings()
        if self.kind == "network":
            object.__setattr__(self, "total", math.ceil(self.total / settings.rollout) * settings.rollout)
        else:
            new_agent(self.agent, settings, self.seed)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Plan:
        """The plan that JSON holds.

        Raises:
            ValueError: it holds something else, or something out of its range.
        """
        for name in values:
            one_of("a setting of the training", name, [one.name for one in fields(cls)])
        rewards = values.get("rewards")
        return cls(**{**values, "rewards": tuple(rewards) if isinstance(rewards, list) else rewards})

    def to_dict(self) -> dict[str, Any]:
        """The plan, for JSON."""
        return asdict(self)

    @property
    def kind(self) -> str:
        """The kind of agent (`tictac_agents.Agent.kind`): a key of `MOST`."""
        return tictac_agents.AGENTS[self.agent].kind

    @property
    def unit(self) -> str:
        """The unit of `total`: "games" or "steps"."""
        return UNITS[self.kind]

    @property
    def file_name(self) -> str:
        """The name of the agent's file."""
        return "agent.zip" if self.kind == "network" else "agent.npz"

    def agent_settings(self) -> Any:
        """The settings of the agent, of networks those tuned for the game."""
        made = settings_class(self.agent)
        if self.kind == "network":
            return _network_settings(self.agent, self.game).changed(
                opponent=self.opponent, total_timesteps=self.total, **self._environment()
            )
        base = made(game=self.game)
        for name in self.settings:
            known = base.keywords()
            one_of("a setting of the agent", name, [one for one in known if one in LIMITS or self.kind == "table"])
        if self.kind == "games":
            return base.changed(**{"total_games": self.total, **self.settings})
        changes = {"total_episodes": self.total, **self._environment(), **self.settings}
        return base.changed(opponent=self.opponent, **changes)

    def _environment(self) -> dict[str, Any]:
        found: dict[str, Any] = {} if self.rewards is None else {"rewards": self.rewards}
        return found if self.opponent is None else found | {"play_as": self.play_as}


def _network_settings(agent: str, game: str) -> Any:
    return TUNED.get(game, {}).get(agent) or settings_class(agent)(game=game, num_envs=32)


def trainable() -> list[str]:
    """The agents that can be trained here: networks only if what they need is installed."""
    found = all(importlib.util.find_spec(name) for name in ("torch", "stable_baselines3", "sb3_contrib"))
    return [*tictac_agents.trained("table"), "NTupleTD", *(tictac_agents.trained("network") if found else [])]


def menu() -> dict[str, Any]:
    """The offers of a form, for JSON.

    Returns:
        `agents`, for each its `kind`, its `unit`, its `presets`, each a plan, its `settings`, each with its `usual`
        value and its `Limit`, the `most` games or steps on "small" and "large" games, and of networks the `rollouts`,
        by the game, "" for all others: the total is a multiple of it; `first` (see `FIRST`); the `seats`; and
        `most_seed`.
    """
    agents = {}
    for name in trainable():
        kind, usual, plans = tictac_agents.AGENTS[name].kind, settings_class(name)(), _presets(name)
        settings = {
            one: {"usual": getattr(usual, one), **limit._asdict()}
            for one, limit in LIMITS.items()
            if kind != "network" and hasattr(usual, one)
        }
        games = [*TUNED, ""] if kind == "network" else []
        agents[name] = {
            "kind": kind,
            "unit": UNITS[kind],
            "presets": {preset: plan.to_dict() for preset, plan in plans.items()},
            "settings": settings,
            "most": {"small": MOST[kind][True], "large": MOST[kind][False]},
            "rollouts": {game: _network_settings(name, game).rollout for game in games},
        }
    return {"agents": agents, "first": FIRST, "seats": PLAY_AS, "most_seed": MOST_SEED}


def _presets(agent: str) -> dict[str, Plan]:
    """The plans of an agent by their names, "" for the usual one."""
    kind = tictac_agents.AGENTS[agent].kind
    if kind == "network":
        return {"": Plan(agent=agent, opponent=None, total=SHORT_STEPS)}
    made = getattr(tictac_agents, agent)
    if kind == "games":
        plans = {"": Plan(agent=agent, game="ConnectFour-v0", opponent=None, total=TUPLE_GAMES)}
        for game, tuned in made.TUNED.items():
            settings = {name: value for name, value in tuned.items() if name in LIMITS}
            plans[game] = Plan(agent=agent, game=game, opponent=None, total=tuned["total_games"], settings=settings)
        return plans
    plans = {"": Plan(agent=agent)}
    for preset, (settings, env, games) in made.PRESETS.items():
        total = min(games, MOST["table"][True])
        plans[preset] = Plan(agent=agent, total=total, settings=dict(settings), **{"play_as": "first", **env})
    return plans
