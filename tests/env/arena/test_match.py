"""Matches and tournaments: fair seats, games that a seed brings back, and honest intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from tictac_env.arena import MatchResult, WinDrawLoss, play_match, round_robin
from tictac_env.arena.outcomes import mean_interval, percentage
from tictac_env.arena.play import GameJob, play_games
from tictac_env.games import GAMES
from tictac_env.policies import Policy, RandomPolicy, make_policy
from tictac_env.position import Position
from tictac_env.rng import new_state

TIC_TAC_TOE = GAMES["TicTacToe-v0"]


class Recorder(Policy):
    """Plays the lowest action and keeps what it was asked."""

    name = "recorder"
    asked_twice = False

    def __init__(self) -> None:
        self.seen: list[tuple[Position, int]] = []

    def act(self, position: Position, seed: int) -> int:
        self.seen.append((position, seed))
        return position.legal_actions[0]


def test_the_seats_are_swapped_after_each_game() -> None:
    one, two = Recorder(), Recorder()
    match = play_match(one, two, games=5)
    assert (match.as_first.games, match.as_second.games) == (3, 2)
    begun = [position.seat for position, _ in one.seen if position.ply < 2]
    assert begun == [0, 1, 0, 1, 0]
    assert [position.seat for position, _ in two.seen if position.ply < 2] == [1, 0, 1, 0, 1]


def test_results_are_counted_from_the_side_of_the_first_one_named() -> None:
    """Lowest against lowest: the first player takes 1, 3, 5, 7 and wins by the diagonal 3-5-7."""
    match = play_match(Recorder(), Recorder(), games=7)
    assert (match.as_first, match.as_second) == (WinDrawLoss(4, 0, 0), WinDrawLoss(0, 0, 3))
    assert match.total == WinDrawLoss(4, 0, 3)


@pytest.mark.parametrize("game", GAMES)
def test_a_seed_brings_the_games_back(game: str) -> None:
    assert play_match("random", "random", game, games=40, seed=5) == play_match("random", "random", game, 40, 5)
    matches = [play_match("random", "random", game, games=40, seed=seed) for seed in range(6)]
    assert len({match.total for match in matches}) > 1


def test_a_longer_match_begins_with_the_games_of_a_shorter_one() -> None:
    """So more games sharpen a result and do not replace it."""
    short = play_match("random", "rule", games=20, seed=2)
    longer = play_match("random", "rule", games=21, seed=2)
    assert longer.as_second == short.as_second
    assert sum(longer.as_first) == sum(short.as_first) + 1
    assert all(now >= before for before, now in zip(short.as_first, longer.as_first, strict=True))


def test_openings_make_different_games_of_two_players_that_never_draw() -> None:
    """The same games, from each opening in both seats, as in a tournament of two."""
    match = play_match("minimax-first:2", "minimax-first:1", openings=2)
    assert (match.as_first.games, match.as_second.games) == (72, 72)
    assert match.distinct is not None and match.distinct > 100
    assert match.total == round_robin(["minimax-first:2", "minimax-first:1"], openings=2).total("minimax-first:2")
    few = play_match(
        "minimax-first:2", "minimax-first:1", games=6, openings=["15", Position.from_moves(TIC_TAC_TOE, "51")]
    )
    assert (few.total.games, few.distinct) == (6, 4)
    assert play_match("random", "rule", games=30, seed=2, openings=[""]) == play_match(
        "random", "rule", games=30, seed=2
    )
    with pytest.raises(ValueError, match="openings must be a number of plies"):
        play_match("random", "rule", openings="15")


def test_games_of_a_match_differ_and_policies_see_fresh_seeds() -> None:
    one = Recorder()
    play_match(one, "random", games=30)
    seeds = [seed for _, seed in one.seen]
    assert len(set(seeds)) == len(seeds)
    assert all(type(seed) is int and 0 <= seed < 2**63 for seed in seeds)
    assert all(Position.from_moves(TIC_TAC_TOE, position.moves) == position for position, _ in one.seen)
    job = GameJob((RandomPolicy(), make_policy("minimax")), new_state(0), Position.start(TIC_TAC_TOE))
    (_, first), (_, second) = play_games([job, job])
    assert first.final.is_over and first.final.moves == second.final.moves


def test_the_seats_of_a_match_add_up_to_its_total() -> None:
    assert WinDrawLoss(1, 2, 3) + WinDrawLoss(10, 20, 30) == WinDrawLoss(11, 22, 33)
    assert WinDrawLoss(1, 2, 3).games == 6
    assert WinDrawLoss(2, 1, 1).score == 0.625
    assert WinDrawLoss(1, 2, 1).percentages == "25.000 / 50.000 / 25.000 %"
    exact = WinDrawLoss(0.25, 0.75, 0.0)
    assert str(exact) == "won 25.0 %, drawn 75.0 %, lost 0.0 %"
    assert exact.interval(exact.wins) == (0.25, 0.25) and exact.score_interval() == (exact.score, exact.score)
    assert "20.7-100.0" in str(WinDrawLoss(0, 1, 0))  # one game, drawn
    assert str(WinDrawLoss(81, 0, 182)) == "won 30.8 % (25.5-36.6), drawn 0.0 % (0.0-1.4), lost 69.2 % (63.4-74.5)"
    with pytest.raises(TypeError):
        WinDrawLoss(1, 2, 3) + 1  # type: ignore[operator]


def test_reversed_is_the_match_from_the_other_side() -> None:
    match = MatchResult("one", "two", WinDrawLoss(1, 2, 3), WinDrawLoss(4, 5, 6))
    back = match.reversed()
    assert back == MatchResult("two", "one", WinDrawLoss(6, 5, 4), WinDrawLoss(3, 2, 1))
    assert back.reversed() == match
    assert back.total == WinDrawLoss(*match.total[::-1])
    assert str(match).startswith("one against two, 21 games: won 23.8 %")
    assert str(match).endswith("as first 1/2/3, as second 4/5/6")
    assert str(MatchResult("one", "two", WinDrawLoss(1, 0, 0), WinDrawLoss(0, 0, 0))).endswith("as first 1/0/0")


PLAYERS = ["random", "rule", "minimax:1", "minimax"]


def test_round_robin_plays_every_pair_once_and_shows_it_from_both_sides() -> None:
    tournament = round_robin(PLAYERS, games=6, seed=1)
    assert tournament.names == tuple(PLAYERS)
    assert set(tournament.matches) == {(one, two) for one in PLAYERS for two in PLAYERS if one != two}
    for (one, two), match in tournament.matches.items():
        assert (match.player, match.opponent) == (one, two)
        assert match == tournament.matches[two, one].reversed()
        assert match.total.games == 6
    assert [tournament.total(name).games for name in PLAYERS] == [18] * 4
    for name in PLAYERS:
        won = [sum(g.fixture.first.name == name and g.result == 1 for g in tournament)]
        won.append(sum(g.fixture.second.name == name and g.result == -1 for g in tournament))
        assert [side.wins for side in tournament.seats(name)] == won
        counts = ["/".join(f"{count:.0f}" for count in side) for side in tournament.seats(name)]
        (row,) = [line.split() for line in str(tournament).splitlines() if line[2:].startswith(f"{name} ")]
        assert row[4:6] == counts
    scores = [tournament.total(name).score for name in tournament.standings()]
    assert scores == sorted(scores, reverse=True)
    assert np.mean(scores) == pytest.approx(0.5)
    assert tournament.standings()[-1] == "random"


def test_the_games_of_a_pair_do_not_depend_on_the_other_players() -> None:
    every = round_robin(PLAYERS, games=10, seed=4)
    for pair in (["random", "rule"], ["random", "minimax"], ["rule", "minimax:1"]):
        alone = round_robin(pair, games=10, seed=4)
        assert alone.matches == {key: every.matches[key] for key in alone.matches}


@pytest.mark.parametrize("games", [0, -1, 2.0, True, "10"])
def test_impossible_numbers_of_games_are_refused(games: object) -> None:
    with pytest.raises(ValueError, match="games must be "):
        play_match("random", "random", games=games)  # type: ignore[arg-type]


@pytest.mark.parametrize("players", [[], ["random"], {"one": "random"}])
def test_a_tournament_needs_two_players(players: list[str] | dict[str, str]) -> None:
    with pytest.raises(ValueError, match="two players"):
        round_robin(players)


@pytest.mark.parametrize(("wins", "losses"), [(0, 7), (1, 9), (30, 12), (5, 0), (400, 600)])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_yes_or_no_is_wilsons(wins: int, losses: int, confidence: float) -> None:
    expected = pytest.approx(tuple(binomtest(wins, wins + losses).proportion_ci(confidence, "wilson")))
    assert mean_interval(np.repeat([1.0, 0.0], (wins, losses)), confidence) == expected
    assert WinDrawLoss(wins, 0, losses).score_interval(confidence) == expected
    if confidence == 0.95:
        assert WinDrawLoss(wins, 0, losses).interval(wins) == expected


def test_draws_narrow_the_interval() -> None:
    decided, drawn = WinDrawLoss(70, 0, 30), WinDrawLoss(50, 40, 10)
    assert decided.score == drawn.score == 0.7
    (low, high), (drawn_low, drawn_high) = decided.score_interval(), drawn.score_interval()
    assert low < drawn_low < 0.7 < drawn_high < high


def test_nothing_but_draws_or_nothing_at_all_proves_little() -> None:
    low, high = WinDrawLoss(0, 4, 0).score_interval()
    assert low < 0.2 and high > 0.8
    assert WinDrawLoss(0, 0, 0).score_interval() == (0, 1)


@pytest.mark.parametrize("chances", [(0.5, 0.4, 0.1), (0.2, 0.6, 0.2), (0.02, 0.03, 0.95)])
@pytest.mark.parametrize("games", [50, 300])
def test_the_score_is_held_as_often_as_said(chances: tuple[float, float, float], games: int) -> None:
    rng, trials = np.random.default_rng(0), 1000
    truth = chances[0] + chances[1] / 2
    held = 0
    for counts in rng.multinomial(games, chances, trials):
        low, high = WinDrawLoss(*map(int, counts)).score_interval()
        held += low <= truth <= high
    assert 0.93 < held / trials < 0.98


def test_rounding_does_no_harm() -> None:
    almost = np.full(100, 1.0)
    almost[:50] -= 1e-16
    almost[50:60] += 2.3e-16
    assert mean_interval(almost) == pytest.approx(mean_interval(np.ones(100)))


@pytest.mark.parametrize(
    ("share", "interval", "shown"),
    [
        (0.123, (0.1, 0.2), "12.3 % (10.0-20.0)"),
        (0.9996, (0.999, 0.9998), "99.96 % (99.90-99.98)"),
        (1.0, (0.722, 1.0), "100.0 % (72.2-100.0)"),
        (0.0, (0.0, 0.0003), "0.00 % (0.00-0.03)"),
        (0.0, None, "0.0 %"),
        (0.0004, None, "0.04 %"),
    ],
)
def test_rounding_never_claims_all_or_nothing(share: float, interval: tuple[float, float] | None, shown: str) -> None:
    assert percentage(share, interval) == shown
    assert str(WinDrawLoss(9_996, 3, 1)).startswith("won 99.96 % (99.90-99.98), drawn 0.03 %")
