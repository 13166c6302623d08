"""Audits: one record of how good any player is."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

import tictac_env
from tictac_env.arena.audit_record import Audit
from tictac_env.arena.lost_games import UNSEARCHED, lost_game
from tictac_env.arena.records import AuditSuite, AuditVerdict, Measure, SearchedSeat, SeatResult
from tictac_env.arena.results import GAMES, MAX_POSITIONS, OpponentResult, exact_results
from tictac_env.arena.suites import MoveAccuracy, Suite, all_positions, as_suite, move_accuracy, suite
from tictac_env.arena.tournament import play_match
from tictac_env.arena.verdicts import Walk, walk_replies
from tictac_env.checks import flag, positive, whole
from tictac_env.games import Game, game_name
from tictac_env.policies import Player, PlayerLike, Reading, game_for, load_player
from tictac_env.solver.book import opening_book_of
from tictac_env.solver.enumerate import TooManyPositions

REPORTING = {"ConnectFour-v0": "C4-Exact-v1", "TicTacToe-v0": "TTT-Exact-v1"}
"""The suite by which the players of a game are judged."""
MOST_POSITIONS = 10_000
"""Number of positions drawn of a game that has no suite but can be tabulated, if it has more."""


def audit(
    player: PlayerLike,
    game: str | Game | None = None,
    suite: Suite | str | None = None,
    opponents: Sequence[PlayerLike] = (),
    games: int = 100,
    exact: bool = True,
    seed: int = 0,
    progress: bool = True,
    max_positions: int = MAX_POSITIONS,
    exact_games: int = GAMES,
    replies: int = 10_000,
    reading: Reading | None = None,
    symmetric: bool = True,
) -> Audit:
    """Judges any player, and returns one record of it.

    The record has the exact verdict (`verdict`); the mistakes, perfect moves and regret on the game's reporting suite,
    by phase and next to random's (`move_accuracy`); and, if opponents are given, its results in matches (`play_match`).
    Every figure but those of matches is judged by exact values.

    Args:
        player: whatever `load_player` accepts: a policy's name, an agent's file, a zip file of Stable-Baselines3, a
            "module:name", a function, a model, a policy, a third-party network, submission or program.
        game: a game's name or rule book; None for the agent's own (`own_game`), else tic-tac-toe.
        suite: the positions to judge its moves on: a `Suite`, the name of one or a file; None for the game's own
            reporting suite. A game that has none but can be tabulated is judged on all its positions, or on 10,000
            drawn by the seed; on other games these measures are left out.
        opponents: the opponents of matches: whatever `as_policy` accepts.
        games: the number of games in a match, the seats swapped after each.
        exact: find the verdict.
        seed: seeds of moves, samples and matches are derived from it.
        progress: show progress bars.
        max_positions: the number of positions that are followed on a large game, for each seat; beyond that games are
            sampled.
        exact_games: the number of games sampled then.
        replies: on a large game the shortest game that the player loses is sought by playing every reply to it, ply by
            ply (`prove`), up to this number of positions for each seat; if none is found, it plays one game against
            perfect play. 0 for no search.
        reading: how to read a third-party player that does not say it (see `load_player`).
        symmetric: a language model (`TextPolicy`) is asked about one of the positions that are images of each other
            under the symmetries of the board, and plays the image of its answer in the others: about 627 of
            tic-tac-toe's 4,520. False asks about all of them. Other players are asked about all in any case.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the player, the game or the suite is unknown, damaged, or of another game; or an argument is out of
            its range.
        IllegalMove: the player's choice is illegal; the message names it and the position.

    Example:
        >>> record = audit("rule", "TicTacToe-v0", progress=False)
        >>> record.verdict.as_second.losing_line, round(record.measure("mistakes").value, 3)
        ('1564329', 0.054)
    """
    began = time.monotonic()
    rules = game_for(game, player)
    positive("games", games)
    positive("max_positions", max_positions)
    positive("exact_games", exact_games)
    whole("replies", replies)
    flag("symmetric", symmetric)

    entrant = load_player(player, rules, reading)
    scored = _suite_of(rules, suite, seed)
    policy = entrant.policy.under_judgement(seed, symmetric, progress)
    judged = replace(entrant, policy=policy)
    if policy is not entrant.policy and scored is not None:
        # A language model is asked about all positions at once; the verdict then finds its answers.
        policy.act_many(scored.positions, np.zeros(len(scored), np.int64))

    # A game with an opening book has too many positions to walk. Without a book a large game has no verdict: to solve
    # its positions would take too long.
    walk, judgement = None, None
    if exact and opening_book_of(rules) is not None:
        results = exact_results(policy, "perfect", rules, seed, max_positions, exact_games, progress)
        judgement = _searched_verdict(judged, rules, results, replies, progress)
    elif exact:
        with suppress(TooManyPositions):
            walk = walk_replies(policy, rules, seed)
            truth = walk.verdict
            judgement = AuditVerdict(
                "every reply walked", truth.basis, truth.exploitability, truth.as_first, truth.as_second
            )

    accuracy = None if scored is None else move_accuracy(policy, scored, rules, seed=seed, progress=progress)
    matches = [play_match(entrant.policy, opponent, rules, games, seed) for opponent in opponents]
    return Audit(
        player=entrant.identity,
        game=game_name(rules) or repr(rules),
        version=tictac_env.__version__,
        seed=seed,
        verdict=judgement,
        suite=None if accuracy is None else _audit_suite(accuracy, walk),
        measures=() if accuracy is None else _measures(accuracy),
        matches=tuple(matches),
        seconds=round(time.monotonic() - began, 3),
        answers=policy.answers_report(rules),
    )


def _suite_of(game: Game, chosen: Suite | str | None, seed: int) -> Suite | None:
    """The positions to judge moves on; None if the game has too many and no suite."""
    if chosen is not None:
        return as_suite(chosen, game)
    if (reporting := REPORTING.get(game_name(game) or "")) is not None:
        return suite(reporting)
    try:
        scored = all_positions(game)
    except TooManyPositions:
        return None
    if len(scored) <= MOST_POSITIONS:
        return scored
    rows = np.sort(np.random.default_rng(seed).permutation(len(scored))[:MOST_POSITIONS])
    name = f"{MOST_POSITIONS:,} of {scored.name}"
    return Suite(name, scored.positions.where(rows), scored.scores[rows], {"seed": seed})


def _searched_verdict(
    player: Player, game: Game, results: OpponentResult, replies: int, progress: bool
) -> AuditVerdict:
    """The verdict on a large game: results against perfect play, and the shortest game that is lost."""

    def searched(seat: int, result: SeatResult) -> SearchedSeat:
        lost = lost_game(player, game, seat, results.seed, replies, progress) if replies else UNSEARCHED
        return SearchedSeat(
            unbeatable=lost.unbeatable,
            losing_line=lost.losing_line,
            given_away=lost.given_away,
            shortest=lost.shortest,
            against_perfect=result.shares,
            intervals=None if result.exact else result.intervals,
            decided_after=result.plies,
            searched=lost.searched,
        )

    sampled = max(results.as_first.games, results.as_second.games)
    method = f"sampled, {sampled:,} games" if sampled else "all games followed"
    return AuditVerdict(method, results.basis, None, searched(0, results.as_first), searched(1, results.as_second))


def _audit_suite(accuracy: MoveAccuracy, walk: Walk | None) -> AuditSuite:
    """The suite of a record, with the errors that the player's own play leads to if every reply was walked."""
    name, sha256 = accuracy.suite
    suite = AuditSuite(name, sha256, len(accuracy.batch), accuracy.basis)
    if walk is None:
        return suite
    erring = accuracy.batch.where(accuracy.mistake_shares > 0)
    return replace(suite, erring=len(erring), erring_reached=int(walk.reaches(erring).sum()))


def _measures(accuracy: MoveAccuracy) -> tuple[Measure, ...]:
    """The figures of a record: three for all positions, the critical ones, and each phase."""
    measures = []
    for among, rates in {"all": accuracy.overall, "critical": accuracy.critical, **accuracy.by_phase}.items():
        for name in ("mistakes", "perfect", "regret"):
            numbers = (None if math.isnan(number) else float(number) for number in getattr(rates, name))
            measures.append(Measure(name, among, rates.positions, *numbers))
    return tuple(measures)
