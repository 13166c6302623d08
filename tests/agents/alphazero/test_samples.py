"""Games of a network against itself: their openings, their moves, and what is to be learned from them, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tictac_agents.alphazero.forest import SearchResults
from tictac_agents.alphazero.samples import PlaySettings, Samples, moves_of, sample_games
from tictac_env.games import GAMES
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

TTT = GAMES["TicTacToe-v0"]
LOWEST = PlaySettings(
    simulations=4, tactics=False, openings=0, temperature_plies=0, full=1.0, quick=2, mix=0.0
)  # with the search below: always the lowest action

Searches = list[tuple[int, int]]


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Searches:
    """The number of positions and of simulations of each search, which finds the lowest action best, teaches the same
    for all legal ones, and values the side to move at 0.5.
    """
    done: Searches = []

    def search_forest(
        batch: PositionBatch, evaluator: object, settings: object, simulations: int, rng: object
    ) -> SearchResults:
        done.append((len(batch), simulations))
        legal = batch.action_masks() != 0
        return SearchResults(legal.argmax(axis=1), legal / legal.sum(axis=1, keepdims=True), np.full(len(batch), 0.5))

    monkeypatch.setattr("tictac_agents.alphazero.samples.search_forest", search_forest)
    return done


def unused(*arguments: Any) -> Any:
    raise AssertionError("no evaluator is asked")


def play(settings: PlaySettings, games: int = 2, seed: int = 0) -> Samples:
    return sample_games(TTT, unused, settings, games, seed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mix", "results"),
    [(0.0, [1, -1, 1, -1, 1, -1, 1]), (0.25, [0.875, -0.625] * 3 + [0.875]), (1.0, [0.5] * 7)],
)
def test_each_position_has_the_result_for_its_side_mixed_with_the_value(
    searches: Searches, mix: float, results: list[float]
) -> None:
    """X plays 1, 3, 5 and 7, the diagonal that wins; O plays 2, 4 and 6."""
    found = play(replace(LOWEST, mix=mix))
    game = [Position.from_moves(TTT, "123456"[:ply]) for ply in range(7)]
    assert [array.dtype for array in found] == [np.int64, np.int64, np.float32, np.float32]
    assert found.own.tolist() == [position.own for position in game for _ in range(2)]
    assert found.opp.tolist() == [position.opp for position in game for _ in range(2)]
    assert found.results.tolist() == [result for result in results for _ in range(2)]
    assert found.policies[-1].tolist() == pytest.approx([0] * 6 + [1 / 3] * 3)
    assert searches == [(2, 4)] * 7


def test_a_search_is_full_or_quick_by_chance_and_the_policy_learns_from_the_full_ones(searches: Searches) -> None:
    for full, least, most in ((0.0, 0, 0), (0.25, 60, 140), (1.0, 400, 400)):
        searches.clear()
        policies = play(replace(LOWEST, full=full), 400).policies[:400]
        taught = int(policies.any(axis=1).sum())
        assert least <= taught <= most
        first = [(number, simulations) for number, simulations in ((taught, 4), (400 - taught, 2)) if number]
        assert searches[: len(first)] == first


@pytest.mark.parametrize(("ply", "drawn"), [(0, True), (2, True), (3, False), (8, False)])
def test_moves_are_drawn_from_the_policy_before_a_ply_and_the_best_after(
    searches: Searches, ply: int, drawn: bool
) -> None:
    batch = PositionBatch.of([Position.from_moves(TTT, "15")] * 700)
    settings, nowhere = replace(LOWEST, temperature_plies=3), np.zeros(700, bool)
    actions, policies, values = moves_of(batch, unused, settings, nowhere, ply, np.random.default_rng(0))  # type: ignore[arg-type]
    counts = np.bincount(actions, minlength=9).tolist()
    if drawn:
        assert counts[0] == counts[4] == 0 and min(count for count in counts if count) > 70
    else:
        assert counts == [0, 700, 0, 0, 0, 0, 0, 0, 0]
    assert policies[0].tolist() == pytest.approx([0, 1 / 7, 1 / 7, 1 / 7, 0, 1 / 7, 1 / 7, 1 / 7, 1 / 7])
    assert (values == 0.5).all()


@pytest.mark.parametrize("tactics", [True, False])
def test_openings_are_random_and_forced_moves_are_taught_without_a_search(searches: Searches, tactics: bool) -> None:
    """X wins with 3; O blocks with 3; a position with neither; and one within its opening in which X could win."""
    texts = ["1425", "142", "1", "1425"]
    batch = PositionBatch.of([Position.from_moves(TTT, text) for text in texts for _ in range(100)])
    at_random = np.repeat([False, False, False, True], 100)
    settings = replace(LOWEST, tactics=tactics)
    actions, policies, values = moves_of(batch, unused, settings, at_random, 0, np.random.default_rng(0))  # type: ignore[arg-type]
    won, blocked, quiet, opening = actions.reshape(4, 100)
    third = [0, 0, 1, 0, 0, 0, 0, 0, 0]
    if tactics:
        assert set(won) == set(blocked) == {2}
        assert policies[0].tolist() == policies[100].tolist() == third
        assert np.isnan(values[:200]).all() and searches == [(100, 4)]
    else:
        assert policies[0].tolist() == pytest.approx([0, 0, 0.2, 0, 0, 0.2, 0.2, 0.2, 0.2])
        assert (values[:200] == 0.5).all() and searches == [(300, 4)]
    assert set(quiet) == {1} and (values[200:300] == 0.5).all()
    assert set(opening) == {2, 5, 6, 7, 8}
    assert not policies[300:].any() and np.isnan(values[300:]).all()


def test_half_of_the_games_begin_with_random_moves_as_many_as_allowed_at_most(searches: Searches) -> None:
    """Of 1,000 games 600 have no opening: half, and of the others a fifth; 1 to 4 moves have 100 games each."""
    found = play(replace(LOWEST, openings=4), 1_000)
    plies = np.bitwise_count(found.own | found.opp)
    assert np.bincount(plies)[:5].tolist() == pytest.approx([600, 700, 800, 900, 1_000], abs=50)
    assert np.bincount(plies)[4] == 1_000
    without = play(LOWEST, 50)
    assert np.bincount(np.bitwise_count(without.own | without.opp)).tolist() == [50] * 7


def test_games_by_another_seed_are_others(searches: Searches) -> None:
    one, same, other = (play(replace(LOWEST, openings=4), 50, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.own, same.own) and not np.array_equal(one.own, other.own)


def samples(size: int) -> dict[str, Any]:
    return {
        "own": np.zeros(size, np.int64),
        "opp": np.zeros(size, np.int64),
        "policies": np.full((size, 9), 1 / 9, np.float32),
        "results": np.linspace(-1, 1, size).astype(np.float32),
    }


def test_samples_are_joined_and_chosen_row_by_row() -> None:
    part = Samples(**samples(3))
    both = Samples.joined([part, part.rows(slice(1, 2))])
    assert both.results.tolist() == [-1, 0, 1, 0] and both.policies.shape == (4, 9)
    assert both.rows(np.array([3, 0])).results.tolist() == [0, -1]
    assert len(both.rows(slice(0, 0)).own) == 0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("own", lambda one: one + 0b111),
        ("opp", lambda one: one.astype(np.int32)),
        ("opp", lambda one: one[:-1]),
        ("policies", lambda one: one[:, :-1]),
        ("policies", lambda one: one * 10),
        ("policies", lambda one: -one),
        ("results", lambda one: one * 1.01),
        ("results", lambda one: one[:, None]),
    ],
)
def test_impossible_samples_are_refused(name: str, wrong: Callable[[Any], Any]) -> None:
    arrays = samples(3)
    read = Samples.read(TTT, arrays)
    assert all(np.array_equal(getattr(read, key), array) for key, array in arrays.items())
    with pytest.raises(ValueError, match=r"own|opp|polic|result|position|stones"):
        Samples.read(TTT, arrays | {name: wrong(arrays[name])})


def test_a_policy_of_an_illegal_action_is_refused() -> None:
    arrays = samples(1) | {"own": np.array([0]), "opp": np.array([TTT.choice(4)])}
    with pytest.raises(ValueError, match="not legal"):
        Samples.read(TTT, arrays)
    arrays["policies"][0, 4] = 0
    assert Samples.read(TTT, arrays).own.tolist() == [0]
