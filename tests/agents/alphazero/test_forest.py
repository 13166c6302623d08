"""The search of many positions at once: against the search of one, a plain sequential halving, and the exact truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import compiled_games, playout
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.mcts.reference_search import ExactEvaluator, MadeUpEvaluator, Node, ReferencePUCT
from tictac_agents import MCTS
from tictac_agents.alphazero.forest import (
    IDLE,
    MAXVISIT,
    Roots,
    SearchSettings,
    evaluation,
    first_actions,
    force,
    search_forest,
    set_roots,
    visit_levels,
)
from tictac_agents.mcts.evaluators import Evaluation
from tictac_agents.mcts.simulation import UNPROVEN, new_tree
from tictac_env.arena import suite
from tictac_env.games import GAMES, Game
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

C4 = "ConnectFour-v0"


def unfinished(game: str | Game, count: int, plies: int = 63) -> PositionBatch:
    """Positions of random games, all different."""
    found: dict[tuple[int, int], Position] = {}
    for seed in range(10 * count):
        if len(found) >= count:
            break
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
    settings = SearchSettings(root="puct", exploration=1.5, tactics=False)
    found = search_forest(batch, evaluator, settings, 60, None)
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


class NoisyPUCT(ReferencePUCT):
    """The reference, with noise on the priors of the root."""

    def __init__(self, agent: MCTS, evaluator: MadeUpEvaluator, position: Position, noise: float, drawn: Any) -> None:
        self.at_root = position, noise, drawn
        super().__init__(agent, evaluator, position)

    def node(self, position: Position) -> Node:
        node, (root, noise, drawn) = super().node(position), self.at_root
        if position == root:
            node.priors = {a: np.float32((1 - noise) * float(one) + noise * drawn[a]) for a, one in node.priors.items()}
        return node


@pytest.mark.parametrize("noise", [0.0, 0.25, 1.0])
def test_the_noise_of_puct_is_dirichlets_with_alpha_10_by_legal_actions(noise: float) -> None:
    """With no noise the trees are those without randomness, with 1 nothing is left of the evaluator's priors."""
    batch, evaluator = unfinished(C4, 12, 3), MadeUpEvaluator()
    settings = SearchSettings(root="puct", noise=noise, tactics=False)
    found = search_forest(batch, evaluator, settings, 40, np.random.default_rng(3))
    legal = batch.action_masks() != 0
    drawn = np.random.default_rng(3).standard_gamma(10 / legal.sum(axis=1, keepdims=True), legal.shape) * legal
    drawn /= drawn.sum(axis=1, keepdims=True)
    agent = MCTS(40, evaluator=evaluator, exploration=settings.exploration, leaves=1)
    for i in range(len(batch)):
        visits = NoisyPUCT(agent, evaluator, batch[i], noise, drawn[i]).root.visits
        shares = {action: round(40 * found.policies[i, action]) for action in batch[i].legal_actions}
        assert {action: count for action, count in shares.items() if count} == visits
    if noise == 0:
        assert np.array_equal(found.actions, search_forest(batch, evaluator, settings, 40, None).actions)


@pytest.fixture
def roots() -> Roots:
    """Three searches of tic-tac-toe, of which the first actions have the same priors, a half and a quarter twice, and
    these statistics: visits, sums of results, and what is proven.
    """
    positions = [Position.from_moves("TicTacToe-v0", moves) for moves in ("", "12", "1")]
    batch, tree = PositionBatch.of(positions), new_tree(GAMES["TicTacToe-v0"], 3, priors=True)
    set_roots(batch.game, tree, batch.own, batch.opp)
    priors = np.zeros((3, 9), np.float32)
    for row, (legal, visits, sums, proven) in enumerate(
        (
            ((0, 1, 2), (3, 1, 0), (1.5, -1, 0), (UNPROVEN, UNPROVEN, UNPROVEN)),
            ((2, 3, 4), (2, 4, 1), (-1.0, 1, 1), (UNPROVEN, UNPROVEN, 1)),
            ((1, 2, 3), (5, 2, 0), (-3.0, 2, 0), (-1, 0, UNPROVEN)),
        )
    ):
        tree.visits[row, list(legal)], tree.proven[row, list(legal)] = visits, proven
        tree.value_sums[row, list(legal)] = sums
        priors[row, list(legal)] = 0.5, 0.25, 0.25
    return Roots(tree, Evaluation(np.array([0.2, -0.4, 0.1], np.float32), priors), scale=0.01)


@pytest.mark.parametrize(
    ("proven", "first"), [((0, -1, -1), IDLE), ((1, UNPROVEN, 0), IDLE), ((UNPROVEN, 0, -1), 2), ((0, UNPROVEN, -1), 4)]
)
def test_a_root_that_is_proven_gets_no_other_simulation(proven: tuple[int, ...], first: int) -> None:
    """Of three actions, the first unproven one has the highest logit."""
    position = Position.from_moves("TicTacToe-v0", "129478")
    tree = new_tree(position.game, 1, priors=True)
    set_roots(position.game, tree, np.array([position.own]), np.array([position.opp]))
    tree.proven[0, list(position.legal_actions)] = proven
    logits, firsts = np.zeros((1, 9)), np.zeros(1, np.int64)
    logits[0, list(position.legal_actions)] = np.array(proven) == UNPROVEN
    first_actions(position.game, tree, logits, np.zeros((1, 9)), np.zeros(1, np.int64), 0.01, firsts)
    assert position.legal_actions == (2, 4, 5) and firsts.tolist() == [first]


def test_the_values_of_actions_are_proven_means_or_the_mixed_value(roots: Roots) -> None:
    """The mixed value: of the evaluator, as one visit, and the mean of visited actions by their priors."""
    values = roots.completed()
    mixed = (0.2 + 4 * (0.5 * 0.5 + 0.25 * -1) / 0.75) / 5
    assert values[0, :4].tolist() == pytest.approx([0.5, -1, mixed, mixed])
    assert values[1, [2, 3, 4]].tolist() == [-0.5, 0.25, 1]
    unvisited = (0.1 + 7 * (0.5 * -1 + 0.25 * 0) / 0.75) / 8
    assert values[2, [1, 2, 3]].tolist() == pytest.approx([-1, 0, unvisited])
    assert roots.done.tolist() == [False, True, False]


def test_a_root_is_worth_what_is_proven_or_expected(roots: Roots) -> None:
    even = np.where(roots.legal, 1 / roots.legal.sum(axis=1, keepdims=True), 0)
    values = roots.completed()
    assert roots.values(even).tolist() == pytest.approx([values[0].mean(), 1, values[2, 1:].mean()])
    roots.proven[2, 1:] = [-1, 0] + [-1] * 6
    assert roots.done.tolist() == [False, True, True] and roots.values(even)[2] == 0
    roots.proven[2, 2] = -1
    assert roots.values(even)[2] == -1


def test_proven_wins_come_first_and_proven_losses_last(roots: Roots) -> None:
    """By visits the shares are those of the visits; a proven win has nearly all, and a proven loss hardly any."""
    actions, shares = roots.by_visits()
    assert actions.tolist() == [0, 4, 2]
    assert shares[0, :3].tolist() == pytest.approx([0.75, 0.25, 0], abs=1e-6) and shares[0, 2] > shares[0, 3]
    assert shares[1, 4] == pytest.approx(1) and shares[2, [1, 2]].tolist() == pytest.approx([0, 1], abs=1e-5)
    assert roots.most_visited(np.zeros((3, 9)))[0].tolist() == [0, 4, 2]
    roots.visits[0, 1] = 3
    noise = np.zeros((3, 9))
    noise[0, 1] = 4
    assert roots.most_visited(noise)[0][0] == 1 and roots.most_visited(np.zeros((3, 9)))[0][0] == 0
    roots.visits[2, 2] = 0
    assert roots.most_visited(noise)[0][2] != 1, "a proven loss comes after what nobody has visited"
    roots.proven[2, 1:] = -1
    assert roots.most_visited(noise)[0][2] in range(1, 9), "the action is legal though all lose"


def test_the_improved_policy_weighs_values_by_the_most_visits(roots: Roots) -> None:
    improved, values = roots.improved(), roots.completed()
    for row, most in enumerate((3, 4, 5)):
        for action in np.flatnonzero(roots.legal[row]):
            logit = float(np.log(max(roots.priors[row, action], np.float32(1e-9))))
            assert improved[row, action] == pytest.approx(logit + (MAXVISIT + most) * 0.01 * values[row, action])
    assert np.isneginf(improved[~roots.legal]).all()
    policies = roots.most_visited(np.zeros((3, 9)))[1]
    ratios = np.exp(improved[0, :3] - improved[0, 0])
    assert policies[0, :3].tolist() == pytest.approx((ratios * policies[0, 0]).tolist())


def test_with_tactics_an_evaluator_knows_wins_and_blocks(wins: Callable[[Position], list[int]]) -> None:
    batch = unfinished("TicTacToe-v0", 60)
    plain, knowing = (evaluation(MadeUpEvaluator(), batch, tactics) for tactics in (False, True))
    assert plain.priors is not None and knowing.priors is not None
    for i in range(len(batch)):
        forced = bool(wins(batch[i]) or wins(Position(batch.game, batch[i].opp, batch[i].own)))
        assert forced == (not np.array_equal(plain.priors[i], knowing.priors[i])) or len(batch[i].legal_actions) == 1


def halved(position: Position, settings: SearchSettings, simulations: int, noise: Any) -> tuple[int, dict[int, float]]:
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
        while len(done) < count and sum(visits.values()) < simulations:
            done.append(max(pool, key=lambda one: noise[one] + score(one, mean(one) if visits[one] else 0)))
            pool = [action for action in pool if action != done[-1]]
            simulate(done[-1])
        return done

    count = min(len(legal), settings.considered)
    left, rounds = list(legal), max(1, int(np.ceil(np.log2(count))))
    while sum(visits.values()) < simulations:
        for _ in range(max(1, simulations // (rounds * count))):
            left = simulate_best(count, left) or left
        count = max(2, count // 2)
    seen = [action for action in legal if visits[action]]
    weighted = sum(root.priors[action] * mean(action) for action in seen) / sum(root.priors[action] for action in seen)
    mixed = (evaluator.value(position) + simulations * weighted) / (1 + simulations)
    scores = {action: score(action, mean(action) if visits[action] else mixed) for action in legal}
    most = [action for action in legal if visits[action] == max(visits.values())]
    chances = {action: np.exp(one - max(scores.values())) for action, one in scores.items()}
    policy = {action: float(chance / sum(chances.values())) for action, chance in chances.items()}
    return max(most, key=lambda action: noise[action] + scores[action]), policy


@pytest.mark.parametrize(("simulations", "considered"), [(4, 2), (16, 16), (32, 4), (33, 7)])
def test_the_root_by_gumbel_is_sequential_halving(simulations: int, considered: int) -> None:
    batch, evaluator = unfinished(C4, 12, 3), MadeUpEvaluator()
    settings = SearchSettings(considered=considered, scale=0.02, tactics=False)
    found = search_forest(batch, evaluator, settings, simulations, np.random.default_rng(5))
    noise = np.random.default_rng(5).gumbel(size=(len(batch), 7))
    for i in range(len(batch)):
        action, policy = halved(batch[i], settings, simulations, noise[i])
        assert found.actions[i] == action
        assert found.policies[i, list(policy)] == pytest.approx(list(policy.values()), rel=1e-3, abs=1e-6)


@given(considered=st.integers(1, 40), simulations=st.integers(1, 200))
def test_halving_gives_those_that_are_left_equally_many_visits(considered: int, simulations: int) -> None:
    levels = visit_levels(considered, simulations)
    assert levels.shape == (considered + 1, simulations)
    for count in range(1, considered + 1):
        visits, left = [0] * count, count
        for want in levels[count]:
            ready = [i for i, seen in enumerate(visits) if seen == want]  # the first are taken for the best
            assert ready and want >= max(visits) - 1
            visits[ready[0]] += 1
            assert len([seen for seen in visits if seen >= want]) <= left or want == 0
        assert sorted(visits, reverse=True) == visits


@pytest.mark.parametrize("root", ["gumbel", "puct"])
@pytest.mark.parametrize("noisy", [False, True])
def test_with_exact_values_no_move_is_a_mistake(root: str, noisy: bool) -> None:
    whole = suite("TTT-Exact-v1")
    settings = SearchSettings(root=root, scale=1.0, noise=0.1)
    rng = np.random.default_rng(0) if noisy and root == "puct" else None
    found = search_forest(whole.positions, ExactWithPriors(), settings, 300, rng)
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
        found = search_forest(batch, MadeUpEvaluator(), SearchSettings(root=root), 12, rng)
        legal = batch.action_masks() != 0
        assert found.policies.sum(axis=1) == pytest.approx(np.ones(len(batch)))
        assert not found.policies[~legal].any() and legal[np.arange(len(batch)), found.actions].all()
        assert (np.abs(found.values) <= 1 + 1e-9).all()


def test_a_position_is_searched_alike_whatever_is_beside_it() -> None:
    batch, evaluator = unfinished(C4, 25), MadeUpEvaluator()
    whole = search_forest(batch, evaluator, SearchSettings(), 20, None)
    for i in range(len(batch)):
        one = search_forest(batch.where(slice(i, i + 1)), evaluator, SearchSettings(), 20, None)
        assert one.actions[0] == whole.actions[i] and np.array_equal(one.policies[0], whole.policies[i])


@pytest.mark.parametrize("name", GAMES)
def test_wins_and_blocks_are_forced(name: str, wins: Callable[[Position], list[int]]) -> None:
    batch = unfinished(name, 150)
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
