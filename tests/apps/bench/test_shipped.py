"""The opponents' results that ship: they are those of games and judgements made now, and rate a player alike."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from conftest import breadth

from tictac_apps.bench.cast import OPPONENTS, cast, scale_of
from tictac_apps.bench.guard import TIME_LIMIT
from tictac_apps.bench.judgements import Judgements, PhaseClock
from tictac_apps.bench.judging import PlayerJob
from tictac_apps.bench.run import OPENING_PLIES
from tictac_apps.bench.shipped import ShippedResults, shipped_results
from tictac_env.arena import ratings, round_robin
from tictac_env.games import get_game

TTT, C4 = OPPONENTS
FAST = ("random", "rule", "minimax:2", "level:4", "level:5", "minimax:4", "minimax", "ntuple")
"""Opponents that take no time."""


def shipped(game: str) -> ShippedResults:
    results = shipped_results(game)
    assert results is not None
    return results


def job_of(game: str, folder: Path, **changes: Any) -> PlayerJob:
    scale = replace(scale_of(game, False), **changes)
    players = cast(OPPONENTS[game], game, str(folder), scale, 0, {})
    return PlayerJob({game: players}, {game: get_game(game)}, {game: scale}, folder, 0, TIME_LIMIT, 1, os.getpid())


@pytest.mark.parametrize("game", OPPONENTS)
def test_every_opponent_is_there_as_it_is_now_and_has_met_every_other(game: str, tmp_path: Path) -> None:
    """If this fails, an opponent has changed since: run `python tools/ship_opponents.py`."""
    results, job = shipped(game), job_of(game, tmp_path)
    assert [player.name for player in results.players] == list(OPPONENTS[game])
    assert (results.game, results.seed, results.opening_plies) == (game, 0, OPENING_PLIES)
    for player in job.players[game]:
        judged = results.judged(job.settings_of(game, player))
        assert judged is not None, player.name
        assert judged.origin == "package" and judged.player.name == player.name and judged.failure is None
    count = len(results.players)
    assert len(results.games) == job.scales[game].pair_games * count * (count - 1) // 2
    assert Judgements(job, PhaseClock(), shipped=True).missing(job.contestants()) == []
    assert len(Judgements(job, PhaseClock(), shipped=False).missing(job.contestants())) == count


@pytest.mark.parametrize("game", OPPONENTS)
def test_a_sample_of_the_games_is_played_again_to_the_bit(game: str) -> None:
    results, names = shipped(game), [name for name in OPPONENTS[game] if name in FAST]
    again = round_robin(names, game, 4, results.seed, openings=OPENING_PLIES, time_limit=TIME_LIMIT)
    expected = {record.fixture: (record.moves, record.result) for record in results.records(TIME_LIMIT)}
    assert len(again.games) == 4 * len(list(combinations(names, 2))) >= 40
    for record in again.games:
        assert expected[record.fixture] == (record.moves, record.result)


@pytest.mark.parametrize(("game", "name"), [(TTT, "level:5"), (C4, "rule")])
def test_a_judgement_is_made_again_alike(game: str, name: str, tmp_path: Path) -> None:
    job = job_of(game, tmp_path)
    kept = Judgements(job, PhaseClock(), shipped=True).kept((game, name))
    again = job.judge((game, name))
    assert kept.audit is not None and again.audit is not None
    assert (again.audit.verdict, again.audit.measures) == (kept.audit.verdict, kept.audit.measures)
    assert again.v_random == kept.v_random


def test_what_has_changed_does_not_count(tmp_path: Path) -> None:
    results, job = shipped(TTT), job_of(TTT, tmp_path, positions=30)
    assert all(results.judged(job.settings_of(TTT, player)) is None for player in job.players[TTT])


PLAYERS = {TTT: ("minimax-first", "level:6", "mcts:30"), C4: ("minimax:3", "level:3", "mcts:30", "minimax-first:2")}


@pytest.mark.slow
@pytest.mark.parametrize("game", breadth([TTT], [TTT, C4]))
def test_a_match_against_each_rates_a_player_as_a_full_round_robin_does(game: str) -> None:
    results, names = shipped(game), PLAYERS[game]
    options: Any = {"game": game, "openings": OPENING_PLIES, "time_limit": TIME_LIMIT}
    games = scale_of(game, False).pair_games
    opponents = [name for name in OPPONENTS[game] if name in FAST]
    known = [
        record
        for record in results.records(TIME_LIMIT)
        if record.fixture.first.name in opponents and record.fixture.second.name in opponents
    ]
    everyone = round_robin([*opponents, *names], games=games, **options)
    full = ratings(everyone, anchor="random")
    for name in names:
        own = [record for record in everyone if name in (record.fixture.first.name, record.fixture.second.name)]
        met = [r for r in own if {r.fixture.first.name, r.fixture.second.name} <= {name, *opponents}]
        alone, among = ratings([*known, *met], anchor="random")[name].elo, full[name].elo
        assert alone.low <= among.value <= alone.high and among.low <= alone.value <= among.high
