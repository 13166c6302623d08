"""What may be trained while somebody watches: agents, their presets and main settings, within bounds."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

import tictac_agents
from tictac_agents.deep.settings import TUNED, DQNSettings, MaskablePPOSettings
from tictac_agents.tabular.learner import Learner
from tictac_agents.tabular.settings import preset_settings, tabular_settings
from tictac_env.checks import flag, one_of, positive, whole
from tictac_env.games import Game, get_game, gym_keywords, shown
from tictac_env.policies import named_policy
from tictac_env.solver.enumerate import SMALL_CELLS

TABLES = ("QLearning", "Sarsa", "MonteCarlo", "ValueTD", "S0ValueTD")
NETWORKS: dict[str, Any] = {"DQN": DQNSettings, "MaskablePPO": MaskablePPOSettings}
SEATS = ("first", "second", "random", "alternate")
MAIN_SETTINGS = ("learning_rate", "epsilon", "gamma", "initial_value", "verdict_every")
"""The settings of tables that a form offers; any other may be given too."""
MOST_EPISODES = {True: 20_000_000, False: 100_000}
"""Of tables on small games, S0's longest run, and on large ones, where nearly each position is new and takes memory."""
MOST_STEPS = 2_000_000
"""Of networks."""
SHORT_EPISODES, SHORT_STEPS = 5_000, 50_000


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A training.

    Attributes:
        agent: one of `TABLES`, or of `NETWORKS` where torch is installed.
        game: a game's name.
        opponent: a policy's name; None if the agent plays both sides.
        play_as: the learner's seat.
        total: how many episodes, of networks how many steps.
        seed: makes the run reproducible.
        rewards: for a win, a draw and a loss; None for the usual ones. `ValueTD` has rewards of its own.
        settings: arguments of the learner, for tables.
        until_proven: whether to end as soon as nothing beats it.

    Raises:
        ValueError: something is out of its range; the message names it.
    """

    agent: str = "QLearning"
    game: str = "TicTacToe-v0"
    opponent: str | None = "random"
    play_as: str = "alternate"
    total: int = SHORT_EPISODES
    seed: int = 0
    rewards: tuple[float, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    until_proven: bool = False

    def __post_init__(self) -> None:
        one_of("agent", self.agent, trainable())
        one_of("play_as", self.play_as, SEATS)
        flag("until_proven", self.until_proven)
        whole("seed", self.seed, 2**53)
        positive("total", self.total, MOST_STEPS if self.is_network else MOST_EPISODES[self.is_small])
        if not isinstance(self.settings, Mapping) or (self.settings and self.is_network):
            raise ValueError(f"settings must be an object, for networks an empty one, not {shown(self.settings)}")
        if self.until_proven and not self.is_small:
            raise ValueError(f"until_proven needs a game of at most {SMALL_CELLS} cells, not {self.game!r}")
        if self.opponent is not None:
            named_policy(self.opponent, self.rules)  # a plan comes over the web, and must not name code to run
        if self.is_network:
            self.network_settings()
        else:
            self.learner()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Plan:
        """The plan that JSON holds.

        Raises:
            ValueError: it holds something else, or something out of its range.
        """
        names = tuple(cls.__dataclass_fields__)
        for name in values:
            one_of("a setting of the training", name, names)
        given = dict(values)
        if isinstance(given.get("rewards"), list):
            given["rewards"] = tuple(given["rewards"])
        try:
            return cls(**given)
        except TypeError as error:
            raise ValueError(str(error)) from None

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def is_network(self) -> bool:
        """Whether it is a network that learns."""
        return self.agent in NETWORKS

    @property
    def rules(self) -> Game:
        """The game's rule book."""
        return get_game(self.game)

    @property
    def is_small(self) -> bool:
        """Whether the game is small enough for exact verdicts."""
        return self.rules.cells <= SMALL_CELLS

    def env(self) -> gym.Env[Any, Any]:
        """The environment it learns in."""
        given: dict[str, Any] = {} if self.rewards is None or "rewards" in self.settings else {"rewards": self.rewards}
        seat = "first" if self.opponent is None else self.play_as
        return gym.make(**gym_keywords(self.game), opponent=self.opponent, play_as=seat, **given)

    def learner(self) -> Learner:
        """A new table.

        Raises:
            ValueError: a setting is unknown, or out of its range.
        """
        made = getattr(tictac_agents, self.agent)
        settings = dict(self.settings)
        if self.rewards is not None and "rewards" in tabular_settings(made).__dataclass_fields__:
            own = "rewards" not in tabular_settings(made).RUN_SETTINGS
            settings |= {"rewards": self.rewards} if own and "rewards" not in settings else {}
        keywords = tabular_settings(made).from_dict(settings).keywords() if settings else {}
        learner: Learner = made(self.env(), seed=self.seed, **{name: keywords[name] for name in settings})
        return learner

    def network_settings(self) -> Any:
        """The settings of the network: those tuned for the game, in these games."""
        base = TUNED.get(self.game, {}).get(self.agent) or NETWORKS[self.agent](game=self.game, num_envs=32)
        given: dict[str, Any] = {} if self.rewards is None else {"rewards": self.rewards}
        if self.opponent is not None:
            given["play_as"] = self.play_as
        return base.changed(total_timesteps=self.total, opponent=self.opponent, **given)


def trainable() -> list[str]:
    """The agents that can be trained here: networks only where what they need is installed."""
    found = all(importlib.util.find_spec(name) for name in ("torch", "stable_baselines3", "sb3_contrib"))
    return [*TABLES, *(NETWORKS if found else ())]


def menu() -> dict[str, Any]:
    """What a form offers, for JSON: for each agent its presets, each a plan, and the defaults of its main settings."""
    agents = {}
    for name in trainable():
        if name in NETWORKS:
            plan = Plan(agent=name, opponent=None, total=SHORT_STEPS)
            agents[name] = {"unit": "steps", "presets": {"": plan.to_dict()}, "settings": {}}
            continue
        made = getattr(tictac_agents, name)
        usual = tabular_settings(made)()
        presets = {"": Plan(agent=name).to_dict()}
        presets |= {preset: _of_preset(name, preset) for preset in made.PRESETS}
        settings = {one: getattr(usual, one) for one in MAIN_SETTINGS if hasattr(usual, one)}
        agents[name] = {"unit": "episodes", "presets": presets, "settings": settings}
    return {"agents": agents, "seats": SEATS, "most": {"small": MOST_EPISODES[True], "large": MOST_EPISODES[False]}}


def _of_preset(agent: str, name: str) -> dict[str, Any]:
    """The plan of a preset of a table's."""
    made = getattr(tictac_agents, agent)
    preset, full = made.PRESETS[name], preset_settings(made, name)
    env = dict(preset.env)
    return Plan(
        agent=agent,
        opponent=full.opponent,
        play_as=env.get("play_as", "first"),
        total=min(full.total_episodes, MOST_EPISODES[True]),
        rewards=env.get("rewards"),
        settings=dict(preset.settings),
    ).to_dict()
