"""The search of many positions at once: against the search of one, a plain sequential halving, and the exact truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import compiled_games, playout
from hypothesis import given
from hypothesis import strategies as st
from reference_search import MadeUpEvaluator, ReferencePUCT

from tictac_agents import MCTS
from tictac_agents.mcts.evaluators import Evaluation, ExactEvaluator
from tictac_agents.mcts.forest import MAXVISIT, SearchSettings, force, search, visits_wanted
from tictac_env.arena import suite
from tictac_env.games import GAMES, Game
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

C4 = "ConnectFour-v0"


def unfinished(game: str | Game, count: int, plies: int = 63) -> PositionBatch:
    """Positions of random games, all different."""
    found: dict[tuple[int, int], Position] = {}
    for seed in range(10 * count):
        for position in playout(Position.start(game).game, seed, plies):
            if not position.is_over:
                found.setdefault((position.own, position.opp), position)
    return PositionBatch.of(list(found.values())[:count])


class ExactWithPriors(ExactEvaluator):
    """Exact values, and the same prior for all actions."""

    priors = True

    def evaluate(self, batch: PositionBatch) -> Evaluation:
        return Evaluation(super().evaluate(batch).values, batch.action_masks())


def test_each_tree_by_puct_is_that_of_a_search_for_one_position() -> None:
    batch, evaluator = unfinished(C4, 40), MadeUpEvaluator()
    settings = SearchSettings(60, "puct", exploration=1.5, tactics=False)
    found = search(batch, evaluator, settings, None)
    agent, compared = MCTS(60, evaluator=evaluator, exploration=1.5, leaves=1), 0
    for i in range(len(batch)):
        root = ReferencePUCT(agent, evaluator, batch[i]).root
        if root.proven or any(child.outcome() is not None for child in root.children.values()):
            assert root.outcome() in (None, round(found.values[i]))
            continue
        compared += 1
        visits = {action: count / 60 for action, count in root.visits.items()}
        shares = {action: found.policies[i, action] for action in batch[i].legal_actions}
        assert {action: round(share, 6) for action, share in shares.items() if share > 1e-6} == {
            action: round(share, 6) for action, share in visits.items()
        }
        assert found.actions[i] == max(sorted(visits), key=lambda action: visits[action])
    assert compared > 20


def halved(position: Position, settings: SearchSettings, noise: Any) -> tuple[int, dict[int, float]]:
    """The action and the improved policy by sequential halving (Danihelka et al., 2022, algorithm 2, appendix D)."""
    evaluator = MadeUpEvaluator()
    tree = ReferencePUCT(MCTS(1, evaluator=evaluator, exploration=settings.exploration), evaluator, position)
    tree.root = root = tree.node(position)
    legal, logits = position.legal_actions, {action: float(np.log(prior)) for action, prior in root.priors.items()}
    visits = dict.fromkeys(legal, 0)

    def mean(action: int) -> float:
        return root.sums[action] / visits[action]

    def score(action: int, value: float) -> float:
        return logits[action] + (MAXVISIT + max(visits.values())) * settings.scale * value

    def simulate(action: int) -> None:
        path, leaf, proven = tree.select(action)
        assert proven is None
        tree.add(path, -evaluator.value(leaf))
        path[-1][0].children.setdefault(path[-1][1], tree.node(leaf))
        visits[action] += 1

    def simulate_best(count: int, pool: list[int]) -> list[int]:
        """A simulation of each of the best `count` actions of a pool, the best one first; returns these actions."""
        done = []
        while len(done) < count and sum(visits.values()) < settings.simulations:
            done.append(max(pool, key=lambda one: noise[one] + score(one, mean(one) if visits[one] else 0)))
            pool = [action for action in pool if action != done[-1]]
            simulate(done[-1])
        return done

    count = min(len(legal), settings.considered)
    left, rounds = list(legal), max(1, int(np.ceil(np.log2(count))))
    while sum(visits.values()) < settings.simulations:
        for _ in range(max(1, settings.simulations // (rounds * count))):
            left = simulate_best(count, left) or left
        count = max(2, count // 2)
    seen = [action for action in legal if visits[action]]
    weighted = sum(root.priors[action] * mean(action) for action in seen) / sum(root.priors[action] for action in seen)
    mixed = (evaluator.value(position) + settings.simulations * weighted) / (1 + settings.simulations)
    scores = {action: score(action, mean(action) if visits[action] else mixed) for action in legal}
    most = [action for action in legal if visits[action] == max(visits.values())]
    chances = {action: np.exp(one - max(scores.values())) for action, one in scores.items()}
    policy = {action: float(chance / sum(chances.values())) for action, chance in chances.items()}
    return max(most, key=lambda action: noise[action] + scores[action]), policy


@pytest.mark.parametrize(("simulations", "considered"), [(4, 2), (16, 16), (32, 4), (33, 7)])
def test_the_root_by_gumbel_is_sequential_halving(simulations: int, considered: int) -> None:
    batch, evaluator = unfinished(C4, 12, 3), MadeUpEvaluator()
    settings = SearchSettings(simulations, considered=considered, scale=0.02, tactics=False)
    found = search(batch, evaluator, settings, np.random.default_rng(5))
    noise = np.random.default_rng(5).gumbel(size=(len(batch), 7))
    for i in range(len(batch)):
        action, policy = halved(batch[i], settings, noise[i])
        assert found.actions[i] == action
        assert found.policies[i, list(policy)] == pytest.approx(list(policy.values()), rel=1e-3, abs=1e-6)


@given(considered=st.integers(1, 40), simulations=st.integers(1, 200))
def test_halving_gives_those_that_are_left_equally_many_visits(considered: int, simulations: int) -> None:
    wanted = visits_wanted(considered, simulations)
    assert wanted.shape == (considered + 1, simulations)
    for count in range(1, considered + 1):
        visits, left = [0] * count, count
        for want in wanted[count]:
            ready = [i for i, seen in enumerate(visits) if seen == want]  # the first are taken for the best
            assert ready and want >= max(visits) - 1
            visits[ready[0]] += 1
            assert len([seen for seen in visits if seen >= want]) <= left or want == 0
        assert sorted(visits, reverse=True) == visits


@pytest.mark.parametrize("root", ["gumbel", "puct"])
@pytest.mark.parametrize("noisy", [False, True])
def test_with_exact_values_no_move_is_a_mistake(root: str, noisy: bool) -> None:
    whole = suite("TTT-Exact-v1")
    settings = SearchSettings(300, root, scale=1.0, noise=0.1)
    rng = np.random.default_rng(0) if noisy and root == "puct" else None
    found = search(whole.positions, ExactWithPriors(), settings, rng)
    chosen = whole.scores[np.arange(len(whole)), found.actions]
    assert np.array_equal(np.sign(chosen), np.sign(whole.scores.max(axis=1)))
    assert np.array_equal(np.round(found.values).astype(int), np.sign(whole.scores.max(axis=1)))


@compiled_games
@pytest.mark.parametrize("root", ["gumbel", "puct"])
def test_policies_are_of_legal_actions(game: Game, root: str) -> None:
    if Position.start(game).is_over:
        pytest.skip("over at once")
    batch = unfinished(game, 30)
    for rng in (None, np.random.default_rng(1)):
        found = search(batch, MadeUpEvaluator(), SearchSettings(12, root), rng)
        legal = batch.action_masks() != 0
        assert found.policies.sum(axis=1) == pytest.approx(np.ones(len(batch)))
        assert not found.policies[~legal].any() and legal[np.arange(len(batch)), found.actions].all()
        assert (np.abs(found.values) <= 1 + 1e-9).all()


def test_a_position_is_searched_alike_whatever_is_beside_it() -> None:
    batch, evaluator = unfinished(C4, 25), MadeUpEvaluator()
    whole = search(batch, evaluator, SearchSettings(20), None)
    for i in range(len(batch)):
        one = search(batch.where(slice(i, i + 1)), evaluator, SearchSettings(20), None)
        assert one.actions[0] == whole.actions[i] and np.array_equal(one.policies[0], whole.policies[i])


@pytest.mark.parametrize("name", GAMES)
def test_wins_and_blocks_are_forced(name: str, wins: Callable[[Position], list[int]]) -> None:
    batch = unfinished(name, 300)
    values, priors = np.full(len(batch), 0.25, np.float32), batch.action_masks().astype(np.float32)
    force(batch.game, batch.own, batch.opp, values, priors)
    kinds = set()
    for i in range(len(batch)):
        position = batch[i]
        mine, theirs = wins(position), wins(Position(position.game, position.opp, position.own))
        forced = mine or theirs
        kinds.add((bool(mine), min(len(theirs), 2)))
        assert values[i] == (1 if mine else -1 if len(theirs) > 1 else np.float32(0.25))
        wanted = forced or list(position.legal_actions)
        share = 1 / len(forced) if forced else 1
        assert {a: priors[i, a] for a in range(batch.game.num_actions) if priors[i, a]} == {
            a: np.float32(share) for a in wanted
        }
    assert len(kinds) >= 4


@pytest.fixture
def wins() -> Callable[[Position], list[int]]:
    """The actions that win at once, for the side whose stones are `own`, whoever is to move by the counts."""

    def find(position: Position) -> list[int]:
        game, found = position.game, []
        for action in range(game.num_actions):
            stone = game.stone(position.own, position.opp, action)
            after = position.own | stone
            lines = any(
                all(0 <= row + k * down < game.rows and 0 <= col + k * right < game.cols for k in (0, game.connect - 1))
                and all(after & game.cell(row + k * down, col + k * right) for k in range(game.connect))
                for row in range(game.rows)
                for col in range(game.cols)
                for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
            )
            if stone and lines:
                found.append(action)
        return found

    return find
