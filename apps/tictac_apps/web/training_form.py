"""Trainings that the page begins: the form that offers them, and what it sends back."""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import tictac_agents
from tictac_agents import AGENTS
from tictac_agents.plan import UNITS, Plan, presets, settings_class, tuned
from tictac_env.checks import flag, one_of, whole
from tictac_env.envs.protocol import PLAY_AS
from tictac_env.games import get_game, shown
from tictac_env.policies import named_policy
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.storage import JsonObject

FIRST = {
    "": {"agent": "QLearning", "preset": "self-play"},
    "ConnectFour-v0": {"agent": "NTupleTD", "preset": ""},
}
"""For a game the agent and the preset that the form sets, "" for all other games: the first becomes provably unbeatable
at tic-tac-toe after some three thousand games, the second learns most in a short time."""
LONGEST_RUNS = {
    "table": {True: 20_000_000, False: 100_000},
    "games": {True: 5_000_000, False: 5_000_000},
    "network": {True: 2_000_000, False: 2_000_000},
}
"""The most games, of networks steps, on small games and on large ones. For tables on small games it is S0's longest
run; on large ones nearly each of their positions is new and takes memory."""
MOST_SEED = 1_000_000_000
SHORT_GAMES, SHORT_STEPS, TUPLE_GAMES = 5_000, 50_000, 300_000
NAMES_OF_UNITS = {"table": "games", "games": "games", "network": "steps"}


LABELS = {
    "learning_rate": "Learning rate",
    "epsilon": "Exploration (epsilon)",
    "gamma": "Discount (gamma)",
    "initial_value": "Value at first",
    "verdict_every": "Games between two verdicts",
    "step": "Step at the beginning",
    "final_step": "Step at the end",
    "trace": "Trace (lambda)",
    "tuples": "Tuples",
    "length": "Cells of a tuple",
}
"""The settings that the form offers, if the agent has them. Tables may be given any other, too."""
AT_MOST = {"tuples": 120, "length": 8, "verdict_every": 1_000_000}
"""Settings whose range is narrower here: what visitors may take of the server's memory and time."""


@dataclass(frozen=True, kw_only=True)
class TrainingRequest:
    """A training that a visitor asks for.

    Attributes:
        agent: a table, `NTupleTD`; or a network, if torch is installed.
        game: a game's name.
        opponent: a policy's name; None if the agent plays both sides, as `NTupleTD` always does.
        play_as: the learner's seat.
        total: the number of games; of networks that of steps, rounded up to whole rollouts.
        seed: makes the run reproducible.
        rewards: for a win, a draw and a loss; None for the usual ones. `ValueTD` has rewards of its own.
        settings: arguments of the learner; none for networks, and only those of `LABELS` for `NTupleTD`.
        until_proven: True to end as soon as nothing beats it.

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
    settings: JsonObject = field(default_factory=dict)
    until_proven: bool = False

    def __post_init__(self) -> None:
        one_of("agent", self.agent, trainable())
        one_of("play_as", self.play_as, PLAY_AS)
        flag("until_proven", self.until_proven)
        whole("seed", self.seed, MOST_SEED)
        rules = get_game(self.game)
        small = rules.cells <= SMALL_CELLS
        whole(f"the number of {self.unit}", self.total, LONGEST_RUNS[self.kind][small], 1)
        self._check_settings()
        if self.until_proven and not small:
            raise ValueError(f"until_proven needs a game of at most {SMALL_CELLS} cells, not {self.game!r}")
        if self.kind == "games" and (self.opponent, self.rewards) != (None, None):
            raise ValueError(f"{self.agent} learns from games against itself: opponent and rewards must be null")
        if self.opponent is not None:
            named_policy(self.opponent, rules)  # a request comes over the web, and must not name code to run
        plan = self.plan
        if self.kind == "network":
            object.__setattr__(self, "total", math.ceil(self.total / rollout_of(plan)) * rollout_of(plan))
        else:
            plan.new_agent()

    def _check_settings(self) -> None:
        """Raises a ValueError for settings that visitors may not change, or not so far."""
        if not isinstance(self.settings, Mapping) or (self.settings and self.kind == "network"):
            raise ValueError(f"settings must be an object, for networks an empty one, not {shown(self.settings)}")
        names = [name for name in settings_class(self.agent).allowed() if name in LABELS or self.kind == "table"]
        for name, value in self.settings.items():
            one_of("a setting of the agent", name, names)
            if name in AT_MOST:
                whole(name, value, AT_MOST[name])

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainingRequest:
        """The request that JSON holds.

        Raises:
            ValueError: it holds something else, or something out of its range.
        """
        for name in values:
            one_of("a setting of the training", name, [each.name for each in fields(cls)])
        rewards = values.get("rewards")
        return cls(**{**values, "rewards": tuple(rewards) if isinstance(rewards, list) else rewards})

    def to_dict(self) -> JsonObject:
        """The request, for JSON."""
        return asdict(self)

    @property
    def kind(self) -> str:
        """The kind of agent (`tictac_agents.Agent.kind`): a key of `LONGEST_RUNS`."""
        return AGENTS[self.agent].kind

    @property
    def unit(self) -> str:
        """The unit of `total`: "games" or "steps"."""
        return NAMES_OF_UNITS[self.kind]

    @property
    def counter(self) -> str:
        """The agent's attribute that counts what it has learned from, in the unit of `total`."""
        return f"num_{UNITS[self.kind]}"

    @property
    def file_name(self) -> str:
        """The name of the agent's file."""
        return "agent.zip" if self.kind == "network" else "agent.npz"

    @functools.cached_property
    def plan(self) -> Plan:
        """The plan of the training; networks have the settings tuned for the game."""
        # Other agents have the values that the form shows, also on a game with defaults of its own (see `_presets`).
        base = tuned(self.agent, self.game) if self.kind == "network" else Plan.of(self.agent).changed(game=self.game)
        if self.kind == "network" and self.game not in type(base.settings).TUNED:
            base = base.changed(num_envs=32)
        values: JsonObject = {"total": self.total, "seed": self.seed, **self.settings}
        if self.kind != "games":
            values["opponent"] = self.opponent
            if self.opponent is not None:
                values["play_as"] = self.play_as
            if self.rewards is not None:
                values["rewards"] = self.rewards
        return base.changed(**values)


def rollout_of(plan: Plan) -> int:
    """The steps of a network between two updates: its run ends with a whole rollout."""
    settings: Any = plan.settings
    return int(settings.rollout(plan.num_envs))


def trainable() -> list[str]:
    """The agents that can be trained here: networks only if what they need is installed."""
    installed = all(importlib.util.find_spec(name) for name in ("torch", "stable_baselines3", "sb3_contrib"))
    return [*tictac_agents.trained("table"), "NTupleTD", *(tictac_agents.trained("network") if installed else [])]


def menu() -> JsonObject:
    """The offers of a form, for JSON.

    Returns:
        `agents`, for each its `kind`, its `unit`, its `presets`, each a plan, its `settings`, each with its `usual`
        value and its `Limit`, the `most` games or steps on "small" and "large" games, and of networks the `rollouts`,
        by the game, "" for all others: the total is a multiple of it; `first` (see `FIRST`); the `seats`; and
        `most_seed`.
    """
    agents = {}
    for name in trainable():
        kind, own = AGENTS[name].kind, settings_class(name)
        offered = [] if kind == "network" else [label for label in LABELS if label in own.allowed()]
        games = [*own.TUNED, ""] if kind == "network" else []
        agents[name] = {
            "kind": kind,
            "unit": NAMES_OF_UNITS[kind],
            "presets": {preset: request.to_dict() for preset, request in _presets(name).items()},
            "settings": {setting: _offer(name, setting) for setting in offered},
            "most": {"small": LONGEST_RUNS[kind][True], "large": LONGEST_RUNS[kind][False]},
            "rollouts": {
                game: rollout_of(TrainingRequest(agent=name, game=game or "KInARow-v0:5x6-4", opponent=None).plan)
                for game in games
            },
        }
    return {"agents": agents, "first": FIRST, "seats": PLAY_AS, "most_seed": MOST_SEED}


def _offer(agent: str, setting: str) -> JsonObject:
    """A setting as the form shows it."""
    own = settings_class(agent)
    allowed = own.allowed()[setting]
    limits = allowed._replace(high=min(allowed.high, AT_MOST.get(setting, math.inf))).range
    return {"usual": getattr(own(), setting), "label": LABELS[setting], "limits": limits}


def _presets(agent: str) -> dict[str, TrainingRequest]:
    """The requests of an agent's presets by their names, "" for the usual one."""
    kind, own = AGENTS[agent].kind, settings_class(agent)
    if kind == "network":
        return {"": TrainingRequest(agent=agent, opponent=None, total=SHORT_STEPS)}
    if kind == "games":
        requests = {"": TrainingRequest(agent=agent, game="ConnectFour-v0", opponent=None, total=TUPLE_GAMES)}
        for game, values in own.TUNED.items():
            settings = {name: value for name, value in values.items() if name in LABELS}
            total = tuned(agent, game).length
            requests[game] = TrainingRequest(agent=agent, game=game, opponent=None, total=total, settings=settings)
        return requests
    requests = {"": TrainingRequest(agent=agent)}
    for name, plan in presets(agent).items():
        values = own.PRESETS[name]
        requests[name] = TrainingRequest(
            agent=agent,
            opponent=plan.opponent,
            play_as=plan.seat,
            total=min(plan.length, LONGEST_RUNS["table"][True]),
            rewards=plan.rewards if "rewards" in values and "rewards" not in own.allowed() else None,
            settings={setting: value for setting, value in values.items() if setting in own.allowed()},
        )
    return requests
