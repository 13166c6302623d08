"""One record of how good a player is: the exact verdict, its moves on a frozen suite, its resistance, quick matches."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import tictac_env
from tictac_env.arena.accuracy import Rate, move_accuracy
from tictac_env.arena.action_probabilities import basis_of
from tictac_env.arena.endurance import NoWonPositions, resistance
from tictac_env.arena.exact.tabulated import tabulated_verdict
from tictac_env.arena.exact.verdict import OpponentResult, exact_results
from tictac_env.arena.exact.walk import GAMES, MAX_POSITIONS
from tictac_env.arena.suites.suite import Suite, all_positions, as_suite, suite
from tictac_env.arena.tournaments.match import play_match
from tictac_env.checks import positive, whole
from tictac_env.games import Game, game_name, get_game
from tictac_env.policies import Policy, load_player
from tictac_env.position_batch import PositionBatch
from tictac_env.solver.book import opening_book_of
from tictac_env.solver.enumerate import TooManyPositions

REPORTING = {"ConnectFour-v0": "C4-Exact-v1", "TicTacToe-v0": "TTT-Exact-v1"}
"""The suite that a game's players are judged by."""
MOST_POSITIONS = 10_000
"""Of a game that has no suite but can be tabulated so many positions are drawn, if it has more."""


@dataclass(frozen=True)
class Measure:
    """One figure with its 95 % interval.

    Attributes:
        name: "mistakes", "perfect" and "regret" (see `Accuracy`); "wins", "speed" and "resistance" (see `Endurance`).
        among: the positions: "all", "critical", or a phase of the game.
        positions: how many there are.
        value: the figure; None where there are no positions.
        low: the lower end of its interval.
        high: the upper end.
        random: what random play reaches on the same positions.
    """

    name: str
    among: str
    positions: int
    value: float | None
    low: float | None
    high: float | None
    random: float | None

    @property
    def relative(self) -> float | None:
        """The figure as a multiple of random's; None where that is 0."""
        return None if self.value is None or not self.random else self.value / self.random


@dataclass(frozen=True)
class Audit:
    """How good a player is. Everything in it is what JSON can hold.

    Attributes:
        player: who was judged: `Player.identity`, with the settings, the hash of its file, and its search budget.
        game: the game's name.
        version: the version of this package.
        seed: what seeds and samples were derived from.
        verdict: what `tictac_env.verdict` says, None if it was not asked, or on a large game that has no opening book.
            "method" and "basis" say how it was found. "as first" and "as second" have, by opponent, the shares of games
            won, drawn and lost. On a small game they also say whether the player is infallible there, the shortest game
            it loses, and what the best reply gains; on a large one, after how many plies games are decided and, where
            they had to be sampled, the 95 % "intervals" of the three shares.
        suite: the name, the hash ("sha256") and the number of "positions" of the suite, and by what the moves were
            judged ("basis"); None if there was none.
        measures: the figures on the suite.
        matches: for each match the "opponent", and "as first" and "as second", games won, drawn and lost.
        seconds: how long it took, by the clock on the wall.
    """

    player: dict[str, Any]
    game: str
    version: str
    seed: int
    verdict: dict[str, Any] | None
    suite: dict[str, Any] | None
    measures: tuple[Measure, ...]
    matches: tuple[dict[str, Any], ...]
    seconds: float

    def measure(self, name: str, among: str = "all") -> Measure:
        """One of the figures.

        Raises:
            KeyError: there is none of that name among these positions.
        """
        for found in self.measures:
            if (found.name, found.among) == (name, among):
                return found
        raise KeyError(f"no {name!r} among {among!r}; there are {sorted({(m.name, m.among) for m in self.measures})}")

    def to_json(self) -> str:
        """The record as JSON: an object with the attributes above, the measures as a list of objects."""
        return json.dumps(asdict(self), indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Audit:
        """The record that `to_json` wrote.

        Raises:
            ValueError: it is not one.
        """
        try:
            found = json.loads(text)
            measures = tuple(Measure(**one) for one in found.pop("measures"))
            return cls(measures=measures, matches=tuple(found.pop("matches")), **found)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is not the JSON of an audit: {error}") from None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        player = self.player
        yield f"{player['name']} ({player['agent']}) on {self.game}; tictac-env {self.version}"
        yield f"  search: {player['budget']}"
        if player["checkpoint_sha256"]:
            yield f"  file: {player['source']}, sha256 {player['checkpoint_sha256'][:16]}"
        if self.verdict:
            yield f"  verdict ({self.verdict['method']}; {self.verdict['basis']}):"
            for seat in ("as first", "as second"):
                told = {name: value for name, value in self.verdict[seat].items() if name != "intervals"}
                known = (f"{name} {_told(value)}" for name, value in told.items() if value is not None)
                yield f"    {seat}: {'; '.join(known)}"
            if "exploitability" in self.verdict:
                yield f"    exploitability {self.verdict['exploitability']:.5f}"
        if self.suite:
            yield f"  {self.suite['name']}, sha256 {self.suite['sha256'][:16]}; {self.suite['basis']}:"
            yield from _table(self.measures)
        for match in self.matches:
            seats = ", ".join(f"{seat} {'/'.join(map(str, match[seat]))}" for seat in ("as first", "as second"))
            yield f"  games won/drawn/lost v {match['opponent']}: {seats}"
        yield f"  {self.seconds:.1f} s"


def audit(
    player: Any,
    game: str | Game = "TicTacToe-v0",
    suite: Suite | str | None = None,
    sample: int = 150,
    opponents: Sequence[Any] = (),
    games: int = 100,
    exact: bool = True,
    seed: int = 0,
    progress: bool = True,
    max_positions: int = MAX_POSITIONS,
    exact_games: int = GAMES,
) -> Audit:
    """Judges any player, and returns one record of it.

    The record has the exact verdict (`verdict`); the mistakes, perfect moves and regret on the game's reporting suite,
    by phase and beside random's (`move_accuracy`); how soon it wins what is won and how long it holds what is lost
    (`resistance`); and, if wanted, its results in matches (`play_match`). Every figure but those of matches is judged
    by exact values.

    Args:
        player: whatever `load_player` accepts: a policy's name, an agent's file, a zip file of Stable-Baselines3, a
            "module:name", a function, a model, a policy.
        game: a game's name or rule book.
        suite: which positions to judge its moves on: a `Suite`, the name of one or a file; None for the game's own
            reporting suite. A game that has none but can be tabulated is judged on all its positions, or on 10,000
            drawn by the seed; on other games these measures are left out.
        sample: how many positions are played on against perfect play (see `resistance`); 0 for none.
        opponents: against whom to play matches: whatever `as_policy` accepts.
        games: how many games a match has, the seats swapped after each.
        exact: whether to ask for the verdict.
        seed: seeds of moves, samples and matches are derived from it.
        progress: whether to show progress bars (only on a terminal).
        max_positions: how many positions the verdict follows on a large game, for each seat; beyond it is sampled.
        exact_games: how many games are drawn then.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the player, the game or the suite is not known, damaged, or of another game; or an argument is out
            of its range.
        IllegalMove: the player's choice is illegal; the message names it and the position.

    Example:
        >>> found = audit("rule", "TicTacToe-v0", progress=False)
        >>> found.verdict["as second"]["losing line"], round(found.measure("mistakes").value, 3)
        ('1564329', 0.054)
    """
    began = time.monotonic()
    rules = get_game(game)
    whole("sample", sample)
    positive("games", games)
    judged = load_player(player, rules)
    policy = judged.policy
    limits = positive("max_positions", max_positions), positive("exact_games", exact_games)
    truth = _verdict(policy, rules, seed, *limits, progress) if exact else None
    scored = _suite_of(rules, suite, seed)
    about, measures = None, []
    if scored is not None:
        accuracy = move_accuracy(policy, scored, rules, seed=seed, progress=progress)
        about = {"name": scored.name, "sha256": scored.sha256, "positions": len(scored), "basis": accuracy.basis}
        for among, rates in {"all": accuracy.overall, "critical": accuracy.critical, **accuracy.by_phase}.items():
            named = {"mistakes": rates.mistakes, "perfect": rates.perfect, "regret": rates.regret}
            measures += [_measure(name, among, rates.positions, rate) for name, rate in named.items()]
        if sample:
            measures += _endurance(policy, scored, sample, seed, progress)
    matches = [play_match(policy, opponent, rules, games, seed) for opponent in opponents]
    return Audit(
        player=judged.identity,
        game=game_name(rules) or repr(rules),
        version=tictac_env.__version__,
        seed=seed,
        verdict=truth,
        suite=about,
        measures=tuple(measures),
        matches=tuple(
            {"opponent": m.opponent, "as first": list(m.as_first), "as second": list(m.as_second)} for m in matches
        ),
        seconds=round(time.monotonic() - began, 3),
    )


def _suite_of(game: Game, given: Suite | str | None, seed: int) -> Suite | None:
    if given is not None:
        return as_suite(given, game)
    if (known := REPORTING.get(game_name(game) or "")) is not None:
        return suite(known)
    try:
        found = all_positions(game)
    except TooManyPositions:
        return None
    if len(found) <= MOST_POSITIONS:
        return found
    rows = np.sort(np.random.default_rng(seed).permutation(len(found))[:MOST_POSITIONS])
    some = PositionBatch(game, found.positions.own[rows], found.positions.opp[rows])
    return Suite(f"{MOST_POSITIONS:,} of {found.name}", some, found.scores[rows], {"seed": seed})


def _verdict(
    policy: Policy, game: Game, seed: int, max_positions: int, games: int, progress: bool
) -> dict[str, Any] | None:
    """What `verdict` says, as JSON can hold it; None on a large game that has no opening book, without which perfect
    play may take hours.
    """
    try:
        truth = tabulated_verdict(policy, game, seed)
    except TooManyPositions:
        if opening_book_of(game) is None:
            return None
        found = exact_results(policy, "perfect", game, seed, max_positions, games, progress)
        return _results(found, basis_of(policy, game))
    seats = {
        name: {
            "infallible": seat.infallible,
            "losing line": seat.losing_line,
            "v random": list(seat.against_random),
            "v best": list(seat.against_best),
            "gain": seat.gain,
        }
        for name, seat in (("as first", truth.as_first), ("as second", truth.as_second))
    }
    method = {"method": "every reply walked", "basis": truth.basis, "exploitability": truth.exploitability}
    return method | seats


def _results(found: OpponentResult, basis: str) -> dict[str, Any]:
    seats = {"as first": found.as_first, "as second": found.as_second}
    games = max(seat.games for seat in seats.values())
    method = f"sampled, {games:,} games" if games else "all games followed"
    told = {
        name: {
            f"v {found.opponent}": list(seat.shares),
            "intervals": None if seat.exact else [list(interval) for interval in seat.intervals],
            "decided after plies": seat.plies,
        }
        for name, seat in seats.items()
    }
    return {"method": method, "basis": basis} | told


def _endurance(policy: Policy, scored: Suite, sample: int, seed: int, progress: bool) -> Iterator[Measure]:
    try:
        found = resistance(policy, scored, scored.game, sample, seed, progress)
    except NoWonPositions:
        return
    for among, rates in {"all": found.overall, **found.by_phase}.items():
        named = {"wins": rates.wins, "speed": rates.speed, "resistance": rates.resistance}
        yield from (_measure(name, among, rates.positions, rate) for name, rate in named.items())


def _measure(name: str, among: str, positions: int, rate: Rate) -> Measure:
    value, low, high, random = (None if math.isnan(number) else float(number) for number in rate)
    return Measure(name, among, positions, value, low, high, random)


def _told(value: Any) -> str:
    if isinstance(value, list):
        return " / ".join(f"{100 * share:.3f}" for share in value) + " %"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(measures: Sequence[Measure]) -> Iterator[str]:
    """The measures as lines, the groups of positions down and the names across; in parentheses the 95 % interval."""
    for names in (("mistakes", "perfect", "regret"), ("wins", "speed", "resistance")):
        found: Mapping[tuple[str, str], Measure] = {(m.among, m.name): m for m in measures if m.name in names}
        if not found:
            continue
        yield f"    {'':10}{'positions':>10}" + "".join(f"{name:>22}{'x random':>9}" for name in names)
        for among in dict.fromkeys(key[0] for key in found):
            row = [found[among, name] for name in names]
            yield f"    {among:10}{row[0].positions:>10,}" + "".join(_cells(one) for one in row)


def _cells(measure: Measure) -> str:
    if measure.value is None or measure.low is None or measure.high is None:
        return f"{'-':>22}{'-':>9}"
    scale, unit, digits = (1.0, "", 3) if measure.name == "regret" else (100.0, " %", 1)
    value, low, high = (f"{scale * number:.{digits}f}" for number in (measure.value, measure.low, measure.high))
    relative = "-" if measure.relative is None else f"{measure.relative:.2f}"
    return f"{f'{value}{unit} ({low}-{high})':>22}{relative:>9}"
