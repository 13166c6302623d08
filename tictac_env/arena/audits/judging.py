"""One record of how good a player is: the exact verdict, its moves on a frozen suite, its resistance, quick matches."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tictac_env
from tictac_env.arena.accuracy import MoveAccuracy, Rate, move_accuracy
from tictac_env.arena.audits.lost_games import lost_game
from tictac_env.arena.audits.record import Audit, Measure
from tictac_env.arena.endurance import NoWonPositions, resistance
from tictac_env.arena.results import OpponentResult, exact_results
from tictac_env.arena.suites import Suite, all_positions, as_suite, suite
from tictac_env.arena.tournament import play_match
from tictac_env.arena.verdicts import Strategy, basis_of, strategy_of, verdict_of
from tictac_env.arena.walk import GAMES, MAX_POSITIONS
from tictac_env.checks import positive, whole
from tictac_env.games import Game, game_name
from tictac_env.policies import Player, Policy, game_for, load_player
from tictac_env.policies.loading import Reading
from tictac_env.position_batch import PositionBatch
from tictac_env.solver.book import opening_book_of
from tictac_env.solver.enumerate import TooManyPositions

REPORTING = {"ConnectFour-v0": "C4-Exact-v1", "TicTacToe-v0": "TTT-Exact-v1"}
"""The suite that a game's players are judged by."""
MOST_POSITIONS = 10_000
"""Of a game that has no suite but can be tabulated so many positions are drawn, if it has more."""
REPLIES = 10_000
"""About so many positions a player is asked in search of the shortest game it loses on a large game."""


def audit(
    player: Any,
    game: str | Game | None = None,
    suite: Suite | str | None = None,
    sample: int = 150,
    opponents: Sequence[Any] = (),
    games: int = 100,
    exact: bool = True,
    seed: int = 0,
    progress: bool = True,
    max_positions: int = MAX_POSITIONS,
    exact_games: int = GAMES,
    replies: int = REPLIES,
    reading: Reading | None = None,
) -> Audit:
    """Judges any player, and returns one record of it.

    The record has the exact verdict (`verdict`); the mistakes, perfect moves and regret on the game's reporting suite,
    by phase and beside random's (`move_accuracy`); how soon it wins what is won and how long it holds what is lost
    (`resistance`); and, if wanted, its results in matches (`play_match`). Every figure but those of matches is judged
    by exact values.

    Args:
        player: whatever `load_player` accepts: a policy's name, an agent's file, a zip file of Stable-Baselines3, a
            "module:name", a function, a model, a policy, somebody else's network, submission or program.
        game: a game's name or rule book; None for the agent's own (`own_game`), else tic-tac-toe.
        suite: which positions to judge its moves on: a `Suite`, the name of one or a file; None for the game's own
            reporting suite. A game that has none but can be tabulated is judged on all its positions, or on 10,000
            drawn by the seed; on other games these measures are left out.
        sample: how many positions are played on against perfect play (see `resistance`); 0 for none.
        opponents: against whom to play matches: whatever `as_policy` accepts.
        games: how many games a match has, the seats swapped after each.
        exact: whether to ask for the verdict.
        seed: seeds of moves, samples and matches are derived from it.
        progress: whether to show progress bars.
        max_positions: how many positions the verdict follows on a large game, for each seat; beyond it is sampled.
        exact_games: how many games are drawn then.
        replies: on a large game the shortest game that the player loses is sought by playing every reply to it, ply by
            ply (`prove`), up to so many positions for each seat; if none is found, it plays one game against perfect
            play. 0 for no search.
        reading: how the player is to be read where it does not say so itself (see `load_player`).

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
    rules = game_for(game, player)
    whole("sample", sample)
    positive("games", games)
    limits = positive("max_positions", max_positions), positive("exact_games", exact_games), whole("replies", replies)
    judged = load_player(player, rules, reading)
    policy = judged.policy
    walked = _walked(policy, rules, seed) if exact else ()
    truth = _verdict(judged, rules, seed, walked, *limits, progress) if exact else None
    scored = _suite_of(rules, suite, seed)
    about, measures = None, []
    if scored is not None:
        accuracy = move_accuracy(policy, scored, rules, seed=seed, progress=progress)
        about = {"name": scored.name, "sha256": scored.sha256, "positions": len(scored), "basis": accuracy.basis}
        if walked:
            about |= _erring(accuracy, walked)
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


def _walked(policy: Policy, game: Game, seed: int) -> tuple[Strategy, ...]:
    """What a policy plays from both seats; nothing on a game too large to tabulate."""
    try:
        return tuple(strategy_of(policy, game, seat, seed) for seat in (0, 1))
    except TooManyPositions:
        return ()


def _erring(accuracy: MoveAccuracy, walked: Sequence[Strategy]) -> dict[str, int]:
    """In how many positions a policy may err, and how many of them it comes to when it plays both seats itself."""
    table, batch = walked[0].table, accuracy.batch.where(accuracy.mistake_shares > 0)
    rows = [table.index[stones] for stones in zip(batch.own.tolist(), batch.opp.tolist(), strict=True)]
    reached = sum(bool(walked[table.seat[row]].reached[row]) for row in rows)
    return {"erring": len(rows), "erring reached": reached}


def _verdict(
    judged: Player,
    game: Game,
    seed: int,
    walked: Sequence[Strategy],
    max_positions: int,
    games: int,
    replies: int,
    progress: bool,
) -> dict[str, Any] | None:
    """What `verdict` says, as JSON can hold it; None on a large game that has no opening book, without which perfect
    play may take hours.
    """
    policy = judged.policy
    if not walked:
        if opening_book_of(game) is None:
            return None
        found = exact_results(policy, "perfect", game, seed, max_positions, games, progress)
        told = _results(found, basis_of(policy, game))
        for seat, name in enumerate(("as first", "as second") if replies else ()):
            told[name] |= lost_game(judged, game, seat, seed, replies, progress)
        return told
    truth = verdict_of(policy, *walked)
    seats = {
        name: {
            "infallible": seat.infallible,
            "losing line": seat.losing_line,
            "given away": seat.given_away,
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
