"""Monte Carlo tree search as a policy: perfect where it can be, pure where it says so, true in what it reports."""

from __future__ import annotations

import json
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import breadth, compiled_games, playout
from reference_search import ExactEvaluator, MadeUpEvaluator

from tictac_agents import MCTS
from tictac_agents.mcts import mcts
from tictac_agents.mcts.evaluators import Evaluation, NetworkEvaluator
from tictac_agents.mcts.mcts import MoveReport, SearchReport, Statistics, best_proven, preferred_action
from tictac_agents.mcts.simulation import ILLEGAL_ACTION, UNPROVEN, bytes_per_node, width_of
from tictac_env.arena import verdict
from tictac_env.games import GAMES, Game, KInARow
from tictac_env.policies import check_policy, make_policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.solver.enumerate import tabulate

TIC_TAC_TOE = GAMES["TicTacToe-v0"]


class ExactWithPriors(ExactEvaluator):
    """True values, and priors that prefer the lowest action whatever its worth."""

    priors = True

    def evaluate(self, batch: PositionBatch) -> Evaluation:
        falling = np.linspace(1, 0.2, batch.game.num_actions, dtype=np.float32)
        return Evaluation(super().evaluate(batch).values, np.tile(falling, (len(batch), 1)))


class Counting(MadeUpEvaluator):
    """An evaluator that notes how many positions it is asked about."""

    def __init__(self) -> None:
        self.sizes = list[int]()

    def evaluate(self, batch: PositionBatch) -> Evaluation:
        self.sizes.append(len(batch))
        return super().evaluate(batch)


@pytest.mark.parametrize("seed", range(5))
def test_2000_games_a_move_are_unbeatable_at_tic_tac_toe(seed: int) -> None:
    assert verdict(MCTS(2_000), seed=seed).unbeatable


@pytest.mark.parametrize(
    ("evaluator", "leaves", "solver"),
    breadth(
        [(ExactEvaluator, 4, False), (ExactWithPriors, 1, True)],
        product([ExactEvaluator, ExactWithPriors], [1, 4], [True, False]),
    ),
)
def test_exact_values_make_it_perfect(evaluator: type[ExactEvaluator], leaves: int, solver: bool) -> None:
    agent = MCTS(150, evaluator=evaluator(), leaves=leaves, solver=solver)
    assert verdict(agent).exploitability == 0


def test_what_is_proven_is_true() -> None:
    table = tabulate(TIC_TAC_TOE)
    proven = set()
    for seed in range(60):
        position = playout(TIC_TAC_TOE, seed, seed % 9)[-1]
        if position.is_over:
            continue
        scores = np.sign(table.action_scores([table.index[position.own, position.opp]])[0])
        found = MCTS(300).search(position, seed)
        for move in found.moves:
            assert move.proven in (None, scores[move.action])
        if found.proven is not None:
            proven.add(found.proven)
            assert found.proven == np.sign(table.score[table.index[position.own, position.opp]])
            assert scores[found.action] == found.proven
    assert proven == {-1, 0, 1}


def test_what_is_proven_in_connect_four_agrees_with_the_public_scores(data: Path) -> None:
    """On Pons' endgames: what is proven agrees with the exact scores, and hardly a move is wrong."""
    rows = (data / "connect_four_end_easy.csv").read_text().splitlines()[1:201]
    wrong = proven = 0
    for seed, row in enumerate(rows):
        moves, score, *columns = row.split(",")
        found = MCTS(1_000).search(Position.from_moves("ConnectFour-v0", moves), seed)
        value = np.sign(int(score))
        wrong += np.sign(int(columns[found.action])) < value
        if found.proven is not None:
            proven += 1
            assert found.proven == value
    assert proven > 150
    assert wrong <= 2


@compiled_games
def test_it_is_a_pure_function(game: Game) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "mcts:.* draws but has no `probabilities`")
        check_policy(MCTS(30), game, positions=20)
        check_policy(MCTS(30, threads=2), game, positions=5)


def row_by_row(planes: npt.NDArray[np.int8]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """A made-up network: a fixed random layer, one row at a time."""
    weights = np.random.default_rng(0).normal(size=(planes[0].size, 8)).astype(np.float32)
    out = np.stack([np.tanh(plane.reshape(-1) @ weights) for plane in planes.astype(np.float32)])
    return out[:, 0], np.exp(out[:, 1:8])


@pytest.mark.parametrize("leaves", [1, 5])
def test_results_do_not_depend_on_the_batch_around(leaves: int) -> None:
    positions = [position for seed in range(6) for position in playout(GAMES["ConnectFour-v0"], seed, 9)]
    batch = PositionBatch.of([position for position in positions if not position.is_over][:40])
    seeds = np.arange(40, dtype=np.int64)
    for agent in (MCTS(40), MCTS(40, evaluator=NetworkEvaluator(row_by_row), leaves=leaves)):
        together = agent.act_many(batch, seeds)
        assert together.tolist() == [agent.act(batch[i], i) for i in range(40)]
        assert agent.act_many(PositionBatch.of([batch[7]]), seeds[7:8])[0] == together[7]


def test_several_threads_add_their_trees_up() -> None:
    position = Position.from_moves("ConnectFour-v0", "44")
    agent = MCTS(1_001, threads=3)
    found = agent.search(position, 5)
    assert sum(move.visits for move in found.moves) == found.simulations == 1_001
    again = agent.search(position, 5)
    assert [move.visits for move in found.moves] == [move.visits for move in again.moves]
    assert [move.visits for move in found.moves] != [move.visits for move in MCTS(1_001).search(position, 5).moves]


@pytest.mark.parametrize("leaves", [1, 3])
def test_an_evaluator_is_asked_about_all_trees_at_once(leaves: int) -> None:
    """Once for the priors, and once a round, whether or not a tree is proven in the first one."""
    evaluator = Counting()
    batch = PositionBatch.of([Position.from_moves("TicTacToe-v0", moves) for moves in ("", "15237468", "15", "12")])
    agent = MCTS(12, evaluator=evaluator, leaves=leaves, threads=2)
    agent.act_many(batch, np.arange(4))
    rounds = -(-6 // leaves)
    assert evaluator.sizes[:2] == [8, 6 * leaves] and len(evaluator.sizes) == 1 + rounds
    evaluator.sizes.clear()
    MCTS(1, evaluator=evaluator).act_many(PositionBatch.of([batch[0]] * 300), np.arange(300))
    assert evaluator.sizes == [256, 256, 44, 44]


def test_several_leaves_get_as_many_nodes_as_there_are_positions() -> None:
    """Two simulations of a round may wait at the same leaf."""
    agent = MCTS(120, evaluator=MadeUpEvaluator(), leaves=8)
    (root,) = agent._search([Position.from_moves("TicTacToe-v0", "15")], [0])[0]
    tree = root.tree
    assert tree.size[0] == 1 + np.count_nonzero(tree.children[: tree.size[0]])


class Clock:
    """Time that passes by an eighth of a second whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 0.125
        return self.now


def test_a_search_with_an_evaluator_ends_after_the_first_round_beyond_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for milliseconds, rounds in ((375, 4), (400, 4), (1_250, 11)):
        monkeypatch.setattr(mcts, "time", Clock())
        agent = MCTS(milliseconds=milliseconds, evaluator=MadeUpEvaluator(), leaves=2)
        (root,) = agent._search([Position.start("ConnectFour-v0")], [0])[0]
        assert root.simulations == 2 * rounds


@pytest.mark.parametrize(
    ("settings", "chunks"),
    [
        ({"simulations": 1}, [1]),
        ({"simulations": 70_000}, [1 << 15, 1 << 15, 70_000 - (1 << 16)]),
        ({"milliseconds": 100}, [32]),
        ({"milliseconds": 125}, [32]),
        ({"milliseconds": 500}, [32, 25, 22, 21]),  # as many as are done in 0.1 s: of 32 in 0.125 s, 57 in 0.25 s ...
        ({"milliseconds": 1e9}, [32, 1 << 15]),
    ],
)
def test_it_looks_at_the_clock_more_often_if_time_is_short(
    settings: dict[str, Any], chunks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[int]()

    def simulate(self: mcts.Root, simulations: int, *others: object) -> int:
        asked.append(simulations)
        assert len(asked) <= len(chunks), "it does not end"
        if len(asked) == len(chunks):
            clock.now += 1e6
        return simulations

    clock = Clock()
    monkeypatch.setattr(mcts, "time", clock)
    monkeypatch.setattr(mcts.Root, "simulate", simulate)
    MCTS(**settings)._search([Position.start("ConnectFour-v0")], [0])
    assert asked == chunks


def test_a_tree_has_room_for_its_simulations_or_what_its_memory_allows() -> None:
    game, node = GAMES["ConnectFour-v0"], 8 * 13
    mib = 1 << 20
    for agent, capacity in (
        (MCTS(100), 101),
        (MCTS(100, threads=3), 35),
        (MCTS(100, rollout="stored"), 4_201),
        (MCTS(100_000, memory_mb=1), mib // node),
        (MCTS(100_000, memory_mb=1, threads=3), mib // 3 // node),
        (MCTS(100_000, memory_mb=1, threads=4, rollout="stored"), mib // 4 // node),
        (MCTS(10**7, memory_mb=0.5, evaluator=MadeUpEvaluator()), mib // 2 // (8 * 17)),
        (MCTS(milliseconds=5), 256 * mib // node),
        (MCTS(5, memory_mb=0.01, threads=256), 1),
    ):
        assert agent.capacity(game) == capacity
    agent = MCTS(100, reuse=True)
    nodes = agent.search(Position.start("ConnectFour-v0")).nodes
    assert agent.capacity(game) == 101 + nodes
    assert [width_of(KInARow.make(1, actions, 1, False)) for actions in (1, 8, 9, 16, 17)] == [8, 8, 16, 16, 24]
    assert bytes_per_node(TIC_TAC_TOE) == 16 * 13 and bytes_per_node(TIC_TAC_TOE, True) == 16 * 17


def test_a_budget_says_what_limits_the_search_and_what_its_rollouts_know() -> None:
    budgets = [
        (MCTS(1_000), "1,000 simulations; one-move rule in rollouts"),
        (MCTS(50, rollout="random"), "50 simulations"),
        (MCTS(50, threads=2, rollout="stored"), "50 simulations on 2 trees"),
        (MCTS(milliseconds=1.5, threads=3), "1.5 ms a move on 3 trees; one-move rule in rollouts"),
        (MCTS(5, evaluator=ExactEvaluator()), "5 simulations"),
    ]
    assert [agent.budget for agent, _ in budgets] == [budget for _, budget in budgets]
    assert str(MCTS(milliseconds=1.5)) == "mcts:1.5ms" and str(MCTS.preset("S4")) == "MCTS S4"


def test_time_is_a_budget_too() -> None:
    position = Position.start("ConnectFour-v0")
    few, many = (MCTS(milliseconds=ms).search(position, 0).simulations for ms in (0.01, 60))
    assert 1 <= few < many
    found = MCTS(milliseconds=5, evaluator=ExactEvaluator()).search(Position.start(TIC_TAC_TOE), 0)
    assert found.simulations >= 1


def test_a_full_tree_goes_on_counting() -> None:
    position = Position.start("ConnectFour-v0")
    limit = 20_000 / 2**20
    found = MCTS(3_000, memory_mb=limit).search(position, 0)
    assert found.simulations == 3_000
    assert found.nodes == 20_000 // bytes_per_node(position.game)
    stored = MCTS.preset("S2", memory_mb=limit, simulations=500).search(position, 0)
    assert stored.simulations == 500 and stored.nodes == found.nodes


def test_reuse_goes_on_with_what_was_found() -> None:
    agent = MCTS(500, reuse=True)
    position = Position.from_moves("ConnectFour-v0", "4")
    first = agent.search(position, 1)
    line = first.principal_variation[:2]
    after = position.play(line[0]).play(line[1])
    second = agent.search(after, 1)
    kept = sum(move.visits for move in second.moves) - second.simulations
    assert second.simulations == 500 and kept > 10
    agent.forget()
    fresh = agent.search(after, 1)
    assert sum(move.visits for move in fresh.moves) == 500
    assert [m.visits for m in fresh.moves] == [m.visits for m in MCTS(500).search(after, 1).moves]
    elsewhere = agent.search(Position.from_moves("ConnectFour-v0", "7777"), 1)
    assert sum(move.visits for move in elsewhere.moves) == 500


@pytest.mark.parametrize("plies", [0, 1, 2, 3])
def test_reuse_keeps_the_part_of_a_tree_with_its_priors_for_two_plies(plies: int) -> None:
    agent = MCTS(200, evaluator=MadeUpEvaluator(), reuse=True, exploration=0.5)
    position = Position.from_moves("ConnectFour-v0", "44")
    first = agent.search(position)
    (root,) = agent._kept
    node, later = 0, position
    for action in first.principal_variation[:plies]:
        node, later = int(root.tree.children[node, action]), later.play(action)
    before, priors = root.tree.visits[node, :7].copy(), root.tree.priors[node, :7].copy()
    second = agent.search(later)
    assert second.simulations == 200 and bool(node) == (plies > 0)
    visits = np.array([move.visits for move in second.moves])
    assert visits.sum() == 200 + (before.sum() if plies < 3 else 0)
    assert (visits >= before).all() if plies < 3 else before.sum() > 0
    assert [move.prior for move in second.moves] == priors.tolist()
    assert agent._kept[0].position == later


def test_a_tree_that_is_kept_has_as_many_nodes_as_there_is_room_for() -> None:
    agent = MCTS(300, reuse=True)
    position = Position.start("ConnectFour-v0")
    agent.search(position)
    (root,) = agent._kept
    for capacity in (1, 10, 1_000):
        part = root.reroot(position, capacity, 0)
        assert part is not None and part.tree.size[0] == min(capacity, root.tree.size[0])
        assert part.before == part.simulations == root.simulations == 300
        assert part.tree.children[: part.tree.size[0]].max() == part.tree.size[0] - 1
    assert root.reroot(position, 0, 0) is None
    assert root.reroot(Position.start("TicTacToe-v0"), 10, 0) is None


def test_reuse_works_with_a_time_limit_too() -> None:
    agent, position = MCTS(milliseconds=30, reuse=True), Position.from_moves("ConnectFour-v0", "44")
    first = agent.search(position)
    for action in first.principal_variation[:2]:
        position = position.play(action)
    second = agent.search(position)
    assert sum(move.visits for move in second.moves) > second.simulations > 0


def test_the_value_of_a_search_is_the_mean_of_all_results_of_all_trees() -> None:
    found = MCTS(300, threads=2).search(Position.from_moves("ConnectFour-v0", "4453"), 1)
    results = sum(move.visits * move.value for move in found.moves)
    assert found.value == pytest.approx(results / 300) and found.seconds > 0
    trees = MCTS(300, threads=2)._search([found.position], [1])[0]
    assert found.nodes == sum(int(root.tree.size[0]) for root in trees) > trees[0].tree.size[0]


def test_both_sides_prefer_what_they_visited_most_in_the_principal_variation() -> None:
    position = Position.from_moves("ConnectFour-v0", "4453")
    agent = MCTS(400, solver=False)
    found, (root,) = agent.search(position, 2), agent._search([position], [2])[0]
    node, line = 0, list[int]()
    while (visits := root.tree.visits[node, :7]).any():
        line.append(int(visits.argmax()))
        if not (node := int(root.tree.children[node, line[-1]])):
            break
    assert list(found.principal_variation) == line and len(line) > 4


def test_a_tree_that_has_seen_too_many_simulations_is_not_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcts, "MAX_SIMULATIONS", 250)
    agent, position = MCTS(100, reuse=True, solver=False), Position.start("ConnectFour-v0")
    for visits in (100, 200, 100, 200):
        assert sum(move.visits for move in agent.search(position).moves) == visits
    hurried = MCTS(milliseconds=1e9, reuse=True, solver=False)
    assert [sum(move.visits for move in hurried.search(position).moves) for _ in range(2)] == [250, 250]


def test_a_report_is_a_table_of_the_moves_most_visited_first() -> None:
    position = Position.from_moves("TicTacToe-v0", "1523748")
    loss = MoveReport(action=8, visits=7, value=-0.75, proven=-1, prior=0.25)
    draw = MoveReport(action=5, visits=1234, value=0.5, proven=0, prior=None)
    never = MoveReport(action=5, visits=0, value=float("nan"), proven=None, prior=0.75)
    report = SearchReport(position, 5, 1241, 1000, 0.5, 0.4926, None, (loss, draw), (5, 8))
    assert str(report).splitlines() == [
        "plays 6 (6 9); value +0.493; 1,241 simulations, 1,000 nodes",
        "move    visits   value  proven",
        "   6     1,234  +0.500  draw",
        "   9         7  -0.750  loss  prior 0.250",
    ]
    report = SearchReport(position, 8, 7, 1, 0.5, -0.75, -1, (never, loss), (8,))
    assert str(report).splitlines()[0] == "plays 9 (9); value -0.750, proven loss; 7 simulations, 1 nodes"
    assert str(report).splitlines()[3] == "   6         0       -    prior 0.750"
    found = report.to_dict()
    assert [move["value"] for move in found["moves"]] == [None, -0.75]
    assert found["position"] == position.code and found["proven"] == -1 and found["principal_variation"] == (8,)


def test_a_search_explains_its_choice() -> None:
    position = Position.from_moves("ConnectFour-v0", "435363")
    found = MCTS(1_000).search(position, 0)
    assert found.proven == 1 and found.action == found.principal_variation[0] == 6
    assert next(move for move in found.moves if move.action == 6).proven == 1
    json.dumps(found.to_dict(), allow_nan=False)
    json.dumps(MCTS(1).search(Position.start("TicTacToe-v0")).to_dict(), allow_nan=False)  # eight moves never tried
    text = str(found)
    assert text.startswith("plays 7") and "proven win" in text
    assert len(text.splitlines()) == 2 + len(position.legal_actions)


LIMITS: dict[str, tuple[float, float]] = {
    "simulations": (1, 1 << 24),
    "milliseconds": (0.001, 1e9),
    "exploration": (0.0, 1e6),
    "draw": (-1.0, 1.0),
    "threads": (1, 256),
    "leaves": (1, 4_096),
    "memory_mb": (0.01, 1e6),
}
WRONG: list[tuple[str, Any]] = [
    *(("simulations", 1.5), ("rollout", "rules"), ("choose", "best"), ("leaves", True), ("solver", 1), ("reuse", None)),
    ("evaluator", 3),
    *((name, least - (1 if isinstance(least, int) else 1e-6)) for name, (least, _) in LIMITS.items()),
    *((name, most + (1 if isinstance(most, int) else most * 1e-6)) for name, (_, most) in LIMITS.items()),
]


def test_settings_are_checked_and_names_and_presets_give_them() -> None:
    for name, value in WRONG:
        with pytest.raises(ValueError, match=name):
            MCTS(**{name: value})
    for name, edges in LIMITS.items():
        assert all(getattr(MCTS(**{name: edge}).settings, name) == edge for edge in edges)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not both"):
        MCTS(5, milliseconds=5)
    agent = make_policy("mcts:50", "ConnectFour-v0")
    assert isinstance(agent, MCTS) and agent.settings.simulations == 50 and str(agent) == "mcts:50"
    assert make_policy("mcts").settings.simulations == 1_000  # type: ignore[attr-defined]
    assert MCTS.preset("S4", simulations=9, exploration=2.0).settings.exploration == 2.0
    for wrong in ("mcts:0", "mcts:x", "mcts:-3", "mcts:99999999999"):
        with pytest.raises(ValueError, match="simulations of 'mcts'"):
            make_policy(wrong)
    with pytest.raises(ValueError, match="preset"):
        MCTS.preset("S9")
    with pytest.raises(ValueError, match="the game is over"):
        MCTS(10).act(Position.from_moves("TicTacToe-v0", "14253"), 0)


def test_presets_and_defaults_are_as_described() -> None:
    names = "simulations", "exploration", "rollout", "solver", "choose", "draw"
    settings = {
        MCTS.preset("S2"): (4_000, pytest.approx(2 * np.sqrt(2)), "stored", False, "value", 1.0),
        MCTS.preset("S4"): (1_000, 2.0, "random", False, "visits", 0.5),
        MCTS(): (1_000, 1.0, "rule", True, "visits", 0.0),
        MCTS(milliseconds=1): (None, 1.0, "rule", True, "visits", 0.0),
    }
    assert {agent: tuple(getattr(agent.settings, name) for name in names) for agent in settings} == settings
    own = MCTS().settings
    assert (own.threads, own.leaves, own.memory_mb, own.reuse, own.game) == (1, 1, 256, False, None)
    assert [MCTS(rollout=rollout).params.stored for rollout in ("stored", "rule", "random")] == [True, False, False]
    assert not MCTS(rollout="stored", evaluator=ExactEvaluator()).params.stored


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda planes: (np.full(len(planes), 2.0), np.ones((len(planes), 9))), "gave the value 2"),
        (lambda planes: (np.full(len(planes), np.nan), np.ones((len(planes), 9))), "gave the value nan"),
        (lambda planes: (np.zeros((len(planes), 1)), np.ones((len(planes), 9))), "values of shape"),
        (lambda planes: (np.zeros(len(planes)), np.ones((len(planes), 7))), "priors of shape"),
        (lambda planes: (np.zeros(len(planes)), -np.ones((len(planes), 9))), "not all >= 0"),
    ],
)
def test_an_evaluator_that_errs_is_told_so(answer: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MCTS(10, evaluator=NetworkEvaluator(answer)).act(Position.start(TIC_TAC_TOE), 0)


def test_predict_plays_what_the_search_finds_in_an_observation() -> None:
    agent = MCTS(300, game="ConnectFour-v0")
    position = Position.from_moves("ConnectFour-v0", "435363")  # X has three in a row
    for obs_type in ("planes", "board"):
        env = gym.make("ConnectFour-v0", opponent=None, obs_type=obs_type)
        observation, info = env.reset(options={"position": position})
        assert agent.predict(observation) == (6, None)
        assert agent.predict(observation, action_masks=info["action_mask"], deterministic=False) == (6, None)
    assert agent.predict(observation, action_masks=np.isin(range(7), [0, 1]))[0] in (0, 1)
    with pytest.raises(ValueError, match="no legal action is allowed in Position"):
        agent.predict(observation, action_masks=np.zeros(7))
    made: Any = make_policy("mcts:300", "ConnectFour-v0")
    assert made.predict(observation) == (6, None)
    with pytest.raises(ValueError, match="does not say of which game"):
        MCTS(300).predict(observation)
    with pytest.raises(ValueError, match="no game is called"):
        MCTS(300, game="Chess")


def test_an_action_that_was_never_visited_is_not_the_best_by_its_value() -> None:
    visits, sums = np.array([0, 3, 5]), np.array([0.0, -3, -5])
    found = Statistics((0, 1, 2), visits, sums, proven_actions={}, proven=None, priors=None)
    assert (preferred_action(found, "value"), preferred_action(found, "visits")) == (1, 2)


@pytest.mark.parametrize(
    ("proven", "best"),
    [
        ({}, {"visits": 3, "value": 1}),
        ({2: 1}, {"visits": 2, "value": 2}),
        ({2: 1, 0: 1}, {"visits": 0, "value": 0}),
        ({3: -1, 1: -1}, {"visits": 4, "value": 4}),
        ({3: 0}, {"visits": 3, "value": 1}),
        (dict.fromkeys(range(5), -1), {"visits": 3, "value": 1}),
    ],
    ids=str,
)
def test_a_proven_win_is_played_and_a_proven_loss_never_if_there_is_another_move(
    proven: dict[int, int], best: dict[str, int]
) -> None:
    """Two actions have the most visits (the first of them that is not lost is played), action 2 has none."""
    visits, sums = np.array([4, 2, 0, 5, 5]), np.array([-2.0, 1, 0, -1, -1])
    found = Statistics((0, 1, 2, 3, 4), visits, sums, proven, None, None)
    assert {by: preferred_action(found, by) for by in best} == best


@pytest.mark.parametrize(
    ("results", "proven"),
    [
        ([UNPROVEN, 1], 1),
        ([UNPROVEN, 0, -1], None),
        ([ILLEGAL_ACTION, 0, -1], 0),
        ([-1, ILLEGAL_ACTION, -1], -1),
        ([0, 1, -1], 1),
    ],
)
def test_a_position_is_proven_by_a_win_or_by_all_its_actions(results: list[int], proven: int | None) -> None:
    assert best_proven(results) == proven
