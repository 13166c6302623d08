"""Trainings that the page shows while they run: `python -m tictac_agents.live_training FOLDER [GAME...]`.

The process reads a plan, one line of JSON, from its input, and writes lines of JSON: `{"kind": "row", ...}` for each
point of the curve, "progress", "lesson", and at last "end" or "error". It saves the agent in the folder, as agent.npz
or agent.zip, now and then and at the end. Any further line of input, or its end, asks it to stop: so it ends with the
program that began it. The games are those of the server; of "module:Name-v0" the module is imported.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TextIO

import tictac_agents
from tictac_agents.deep.settings import TUNED
from tictac_agents.tabular.learner import Learner
from tictac_agents.tabular.value_td import ValueTD
from tictac_agents.train import new_agent, settings_class
from tictac_env.arena import play_match, verdict
from tictac_env.checks import flag, one_of, positive, whole
from tictac_env.envs.protocol import PLAY_AS
from tictac_env.games import get_game, shown
from tictac_env.games.registry import import_game
from tictac_env.policies import named_policy
from tictac_env.position import Position, format_moves
from tictac_env.solver.enumerate import SMALL_CELLS

MAIN_SETTINGS = ("learning_rate", "epsilon", "gamma", "initial_value", "verdict_every")
"""The settings of tables that the form offers; any other may be given too."""
FIRST = {"agent": "QLearning", "preset": "self-play"}
"""Which becomes provably unbeatable at tic-tac-toe after some three thousand games."""
MOST_EPISODES = {True: 20_000_000, False: 100_000}
"""Of tables on small games, S0's longest run, and on large ones, where nearly each position is new and takes memory."""
MOST_STEPS = 2_000_000
SHORT_EPISODES, SHORT_STEPS = 5_000, 50_000
POINTS = 40
"""Points of a curve, about."""
SAVE_SECONDS, PROGRESS_SECONDS = 2.0, 0.3
MATCH_GAMES = 100
"""Games that judge a learner if the game is too large for a verdict."""
LARGEST_LESSON = 50_000
"""No game is walked through with a table of more positions, as it would have to be copied for each."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A training.

    Attributes:
        agent: a table; or a network, if torch is installed.
        game: a game's name.
        opponent: a policy's name; None if the agent plays both sides.
        play_as: the learner's seat.
        total: the number of episodes, of networks of steps.
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
        one_of("play_as", self.play_as, PLAY_AS)
        flag("until_proven", self.until_proven)
        whole("seed", self.seed, 2**53)
        rules = get_game(self.game)
        small = rules.cells <= SMALL_CELLS
        positive("total", self.total, MOST_STEPS if self.is_network else MOST_EPISODES[small])
        if not isinstance(self.settings, Mapping) or (self.settings and self.is_network):
            raise ValueError(f"settings must be an object, for networks an empty one, not {shown(self.settings)}")
        if self.until_proven and not small:
            raise ValueError(f"until_proven needs a game of at most {SMALL_CELLS} cells, not {self.game!r}")
        if self.opponent is not None:
            named_policy(self.opponent, rules)  # a plan comes over the web, and must not name code to run
        settings = self.agent_settings()
        if not self.is_network:
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
    def is_network(self) -> bool:
        """True if it is a network that learns."""
        return tictac_agents.AGENTS[self.agent].kind == "network"

    def agent_settings(self) -> Any:
        """The settings of the agent, of networks those tuned for the game."""
        made = settings_class(self.agent)
        if self.is_network:
            base = TUNED.get(self.game, {}).get(self.agent) or made(game=self.game, num_envs=32)
            changes: dict[str, Any] = {"total_timesteps": self.total}
        else:
            base = made(game=self.game)
            for name in self.settings:
                one_of("a setting of the agent", name, tuple(base.keywords()))
            changes = {"total_episodes": self.total, **self.settings}
        if self.rewards is not None:
            changes = {"rewards": self.rewards} | changes
        if self.opponent is not None:
            changes["play_as"] = self.play_as
        return base.changed(opponent=self.opponent, **changes)


def trainable() -> list[str]:
    """The agents that can be trained here: networks only if what they need is installed."""
    found = all(importlib.util.find_spec(name) for name in ("torch", "stable_baselines3", "sb3_contrib"))
    return tictac_agents.trained("table", *(["network"] if found else []))


def menu() -> dict[str, Any]:
    """What a form offers, for JSON.

    Returns:
        `agents`, for each its presets, each a plan, and the defaults of its main settings; `first`, the agent and the
        preset that the form begins with; the seats; and the `most` episodes on small and on large games.
    """
    agents = {}
    for name in trainable():
        if tictac_agents.AGENTS[name].kind == "network":
            plan = Plan(agent=name, opponent=None, total=SHORT_STEPS)
            agents[name] = {"unit": "steps", "presets": {"": plan.to_dict()}, "settings": {}}
            continue
        usual, plans = settings_class(name)(), {"": Plan(agent=name)}
        for preset, (settings, env, episodes) in getattr(tictac_agents, name).PRESETS.items():
            plans[preset] = Plan(
                agent=name,
                total=min(episodes, MOST_EPISODES[True]),
                settings=dict(settings),
                **{"play_as": "first", **env},
            )
        settings = {one: getattr(usual, one) for one in MAIN_SETTINGS if hasattr(usual, one)}
        presets = {preset: plan.to_dict() for preset, plan in plans.items()}
        agents[name] = {"unit": "episodes", "presets": presets, "settings": settings}
    most = {"small": MOST_EPISODES[True], "large": MOST_EPISODES[False]}
    return {"agents": agents, "first": FIRST, "seats": PLAY_AS, "most": most}


class Training:
    """A training that reports; of a table it is the callback of `learn`.

    Args:
        plan: what is trained.
        folder: where the agent is saved.
        output: where the lines are written.
    """

    def __init__(self, plan: Plan, folder: Path, output: TextIO) -> None:
        self.plan, self.settings = plan, plan.agent_settings()
        self.agent = new_agent(plan.agent, self.settings, plan.seed)
        self.path = folder / ("agent.zip" if plan.is_network else "agent.npz")
        unit = plan.settings.get("verdict_every") or 1  # so that a learner with verdicts is not called in between
        self.called_every = unit * max(1, plan.total // POINTS // unit)
        self.stopping = threading.Event()
        self.proven = False
        self._output = output
        self._saved = self._reported = 0.0
        self._due = 0

    def stop_after(self, source: TextIO) -> None:
        """Stops after a further line, or the end, of the input."""

        def wait() -> None:
            source.readline()
            self.stopping.set()

        threading.Thread(target=wait, daemon=True).start()

    def run(self) -> None:
        """Trains the agent."""
        if self.plan.is_network:
            self.agent.learn(self.plan.total, self.on_step)
        else:
            self(self.agent)
            self.agent.learn(total_episodes=self.plan.total, callback=self, progress_bar=False)
        self.judge(last=True)
        self.report("end", stopped=self.stopping.is_set(), proven=self.proven)

    def __call__(self, learner: Learner) -> bool:
        """Judges a table if it is time, and walks through its next game; False if the run is to end."""
        if learner.num_episodes % self.called_every == 0:
            self.judge()
            if len(self.agent) <= LARGEST_LESSON:
                self.report("lesson", **lesson(learner, self.settings.env()))
        return self._continues()

    def on_step(self, local: dict[str, Any], world: dict[str, Any]) -> bool:
        """Judges a network if it is time; False if the run is to end."""
        if self.done >= self._due:
            self._due += self.called_every
            self.judge()
        return self._continues()

    @property
    def done(self) -> int:
        """The number of episodes, of networks of steps, that it has learned from."""
        done: int = self.agent.num_timesteps if self.plan.is_network else self.agent.num_episodes
        return done

    def _continues(self) -> bool:
        """Reports the progress now and then; False if the run is to end."""
        if time.monotonic() - self._reported > PROGRESS_SECONDS:
            self._reported = time.monotonic()
            self.report("progress", done=self.done)
        return not self.stopping.is_set() and not (self.proven and self.plan.until_proven)

    def judge(self, last: bool = False) -> None:
        """Adds a point to the curve; saves the agent if it was not done just now."""
        if last or time.monotonic() - self._saved > SAVE_SECONDS:
            self.agent.save(self.path)
            self._saved = time.monotonic()
        row = self._row()
        self.proven = bool(row["infallible"])
        self.report("row", **row)

    def _row(self) -> dict[str, Any]:
        """A point of the curve, for JSON.

        Returns:
            `at`, the number of episodes or steps; `first` and `second`, the shares of games won, drawn and lost against
            random play from either seat, and `exact`, true if these are exact; `exploitability`, `infallible` and, for
            each seat, the shortest game that beats it, None if not known or if there is none.
        """
        agent = tictac_agents.Snapshot(self.agent) if self.plan.is_network else self.agent  # greedy moves of a network
        row: dict[str, Any] = dict.fromkeys(("exploitability", "infallible", "beaten_first", "beaten_second"))
        if self.settings.is_small:
            found = verdict(agent, self.settings.rules)
            first, second = found.as_first.against_random, found.as_second.against_random
            row = {"exploitability": found.exploitability, "infallible": found.unbeatable}
            row |= {"beaten_first": found.as_first.losing_line, "beaten_second": found.as_second.losing_line}
        else:
            match = play_match(agent, "random", self.settings.rules, MATCH_GAMES)
            first, second = match.as_first, match.as_second
        shares = {name: [count / side.games for count in side] for name, side in (("first", first), ("second", second))}
        return {"at": self.done, "exact": self.settings.is_small, **shares, **row}

    def report(self, kind: str, **content: Any) -> None:
        """Writes a line."""
        self._output.write(json.dumps({"kind": kind, **content}) + "\n")
        self._output.flush()


def lesson(learner: Any, env: Any) -> dict[str, Any]:
    """Walks through a table's next game, as in figure 2 of S1's paper. A copy learns from it in `env`, not the table.

    Returns:
        `moves`, the game; `backups` in the order in which they were made, each with `ply` (the position after so many
        moves), `seat` (whose value it is), `move` (the action's name; None for the value of a position), `before` and
        `after`; and `at`, the number of games before.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "copy.npz"
        learner.save(path)
        copy = type(learner).load(path, env)
    for name in ("epsilon", "learning_rate"):  # as they are now, as the copy's run has one game
        schedule = getattr(learner, name)
        if isinstance(schedule, list):
            setattr(copy, name, learner.scheduled(schedule) if learner.num_episodes else schedule[0])
    copy.compiled = False
    copy.verdict_every = 0  # S0's rule could make it forget what it learns
    played: list[Position] = []
    copy.learn(total_episodes=1, callback=lambda one: played.append(one.env.unwrapped.position), progress_bar=False)
    moves = played[0].moves
    positions = [Position.start(learner.game)]
    for action in moves:
        positions.append(positions[-1].play(action))
    found: list[tuple[dict[str, Any], Any]] = []
    if isinstance(learner, ValueTD):  # the values of the positions, for either seat
        for seat in (1, 0):
            for ply, one in enumerate(positions):
                both = one.stones[seat], one.stones[1 - seat]
                values = [table.value(seat, *both) for table in (learner, copy)]
                found.append(({"ply": ply, "seat": seat, "move": None}, values))
    else:  # the values of the actions played
        for ply, (action, one) in enumerate(zip(moves, positions, strict=False)):
            values = [float(table.values(one.own, one.opp)[action]) for table in (learner, copy)]
            found.append(({"ply": ply, "seat": one.seat, "move": format_moves(one.game, [action])}, values))
    backups = [of | {"before": before, "after": after} for of, (before, after) in found if before != after]
    if getattr(learner, "updates", "backward") == "backward":
        backups.reverse()
    return {"at": learner.num_episodes, "moves": format_moves(learner.game, moves), "backups": backups}


def main(words: list[str] | None = None) -> int:
    """Trains as the first line of input says; returns the exit status."""
    folder, *games = sys.argv[1:] if words is None else words
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)  # who plays comes before what learns
    output, sys.stdout = sys.stdout, sys.stderr  # what agents print is no line of ours
    try:
        for game in games:
            import_game(game)
        training = Training(Plan.from_dict(json.loads(sys.stdin.readline())), Path(folder), output)
        training.stop_after(sys.stdin)
        training.run()
    except Exception as error:
        output.write(json.dumps({"kind": "error", "reason": f"{type(error).__name__}: {error}"[:500]}) + "\n")
        output.flush()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
