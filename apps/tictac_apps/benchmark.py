"""The benchmark as a function: an agent judged by exact values, and rated against opponents that need no training.

`tictac bench` does the same with players in worker processes, trains learners beside them, and writes a page.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tictac_agents.curves import new_figure, save_figure
from tictac_apps.bench.bench_record import AgentRecord, GameResults
from tictac_apps.bench.cast import OPPONENTS, Contestant, cast, one_move_rule, scale_of
from tictac_apps.bench.judgements import GAMES, Judgements, PhaseClock
from tictac_apps.bench.judging import Judged, JudgingSeconds, PlayerJob, judgement
from tictac_apps.bench.results import PHASES, agent_record, game_results, own_lines, scored_suite
from tictac_apps.bench.run import OPENING_PLIES
from tictac_env.arena import ratings, round_robin
from tictac_env.arena.typed_json import read_as
from tictac_env.games import did_you_mean, game_name
from tictac_env.games.registry import known_names
from tictac_env.policies import PlayerIdentity, PlayerLike, game_for, load_player
from tictac_env.storage import read_json

__all__ = ["BenchmarkResult", "benchmark"]


@dataclass(frozen=True)
class BenchmarkResult:
    """An agent's results in the benchmark.

    Attributes:
        name: the agent's name.
        results: all players' results, best first by rating: the agent's and those of its opponents.

    Example:
        >>> from tictac_apps.benchmark import benchmark
        >>> result = benchmark("minimax-first", "TicTacToe-v0")
        >>> result.agent.unbeatable("first"), result.agent.measured("mistakes"), result.place <= 5
        (True, 0.0, True)
    """

    name: str
    results: GameResults

    @property
    def agent(self) -> AgentRecord:
        """The agent's verdict, measures, losing lines and rating."""
        return self.results[self.name]

    @property
    def place(self) -> int:
        """The agent's place by rating, from 1."""
        return self.results.place(self.agent)

    def __str__(self) -> str:
        """The verdict with the games that beat the agent, its mistakes, and its place among the opponents."""
        agent, results = self.agent, self.results
        lines = [f"{self.name} on {results.title}:", *own_lines(agent, results.game, results.suite)]
        lines.append(f"  place {self.place} of {len(results.agents)}, {agent.rating.sentence()}")
        lines += [f"  {place:2} {other.name:16} {results.rating_text(other)}" for place, other in self._places()]
        return "\n".join(lines)

    def _places(self) -> list[tuple[int, AgentRecord]]:
        return list(enumerate(self.results.agents, 1))

    def print(self) -> None:
        """Prints the result."""
        print(self)

    def to_json(self) -> str:
        """The result as JSON: objects of the attributes above and theirs."""
        return json.dumps(asdict(self), indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> BenchmarkResult:
        """The result that `to_json` wrote.

        Raises:
            ValueError: it is not one; the message names the place in it, the value, and what was expected.
        """
        return read_as(cls, read_json(text))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draws the ratings of all players with their intervals, and the agent's mistakes by phase of the game.

        Args:
            path: a PNG file to write the picture to; None for none.

        Returns:
            The `matplotlib.figure.Figure`.

        Raises:
            gymnasium.error.DependencyNotInstalled: matplotlib is missing.
        """
        figure = new_figure(9, 4)
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        for height, agent in enumerate(reversed(self.results.agents)):
            rating, colour = agent.rating, "tab:orange" if agent.name == self.name else "tab:blue"
            ends = [end for end in (rating.low, rating.elo, rating.high) if end is not None]
            left.plot(ends, [height] * len(ends), color=colour, linewidth=2)
            left.plot(ends[len(ends) // 2 :][:1], [height] * min(1, len(ends)), "o", color=colour)
        left.set_yticks(range(len(self.results.agents)), [agent.name for agent in reversed(self.results.agents)])
        left.set(xlabel=f"Elo with 95 % intervals, {self.results.anchor} = 0", title=self.results.title)
        measures = [row for row in self.agent.measures if row.name == "mistakes" and row.among in PHASES]
        shares, random = ([100 * (value or 0) for value in row] for row in _columns(measures))
        right.bar([row.among for row in measures], shares, color="tab:orange", label=self.name)
        right.plot(range(len(measures)), random, "_", color="black", markersize=40, label="random play")
        right.set(title="Mistakes by phase of the game", ylabel="% of moves")
        right.legend()
        if path is not None:
            save_figure(figure, path)
        return figure


def _columns(measures: Any) -> tuple[list[float | None], list[float | None]]:
    return [row.value for row in measures], [row.random for row in measures]


def benchmark(
    agent: PlayerLike, game: str | None = None, *, name: str = "", seed: int = 0, **changes: Any
) -> BenchmarkResult:
    """Judges an agent by exact values, and rates it by a match against each opponent that needs no training.

    The opponents' results among themselves come with the package, so only the agent's own games are played: a function
    in plain Python has its result within seconds. The agent plays in this process.

    Args:
        agent: whatever `load_player` accepts: a function `(observation, action_mask) -> action`, a model of
            Stable-Baselines3, an agent, a policy, a path, a name.
        game: the name of a game; None for the agent's own (`own_game`), else tic-tac-toe.
        name: the agent's name in results; its own unless given.
        seed: of the moves, the samples and the games. The opponents' games that ship have seed 0; with another one
            they are played now, which takes minutes.
        changes: of the amount of work (see `tictac_apps.bench.cast.RunScale`), such as `positions=500` or
            `pair_games=10`.

    Raises:
        ValueError: the game is not registered, an opponent has the agent's name, or the agent does not play the game.
        FileNotFoundError: the agent's file is missing.
        IllegalMove: the agent's choice is illegal; the message names it and the position.

    Example:
        >>> from tictac_apps.benchmark import benchmark
        >>> def lowest(observation, mask):
        ...     return int(mask.argmax())
        >>> result = benchmark(lowest, "TicTacToe-v0")
        >>> result.agent.losing.second.moves, round(result.agent.measured("mistakes"), 3)
        ('12437', 0.413)
    """
    rules = game_for(game, agent)
    title = game_name(rules)
    if title is None:
        raise ValueError(f"{rules!r} is not a registered game; {did_you_mean(repr(rules), known_names())}")
    player = load_player(agent, rules)
    label, opponents, scale = (
        name or player.name,
        OPPONENTS.get(title, ("random", "rule")),
        scale_of(title, False, **changes),
    )
    if label in opponents:
        raise ValueError(f"an opponent is named {label!r}, too; give the agent another name")
    with tempfile.TemporaryDirectory() as folder:
        players = cast(opponents, title, folder, scale, seed, {})
        job = PlayerJob({title: players}, {title: rules}, {title: scale}, Path(folder), seed, None, 1, os.getpid())
        judgements = Judgements(job, PhaseClock(), shipped=True)
        judged = {opponent: record for (_, opponent), record in judgements.of(job.contestants())}
        began = time.process_time()
        audit, v_random = judgement(player, rules, scale, seed)
        seconds = JudgingSeconds(0.0, None, round(time.process_time() - began, 2))
        identity = PlayerIdentity(**vars(player.identity) | {"name": label})
        rule = one_move_rule(player, rules)
        judged[label] = Judged(identity, None, audit, v_random, None, False, rule, seconds)
        sides = {**{opponent: opponent for opponent in opponents}, label: agent}
        settings: Any = {"openings": OPENING_PLIES, "store": Path(folder) / GAMES}
        tournament = round_robin(sides, rules, scale.pair_games, seed, **settings)
    agents = {
        contestant.name: agent_record(contestant, judged[contestant.name], rules)
        for contestant in (*players, Contestant(label, "", yours=True))
    }
    results = game_results(tournament, ratings(tournament), agents, scored_suite(judged.values()), scale)
    return BenchmarkResult(label, results)
