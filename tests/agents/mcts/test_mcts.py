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

from tictac_agents import MCTS, QLearning
from tictac_agents.mcts.evaluators import Evaluation, ExactEvaluator, NetworkEvaluator, TableEvaluator
from tictac_agents.mcts.mcts import Statistics, best_action
from tictac_agents.mcts.simulation import bytes_per_node
from tictac_env.arena import verdict
from tictac_env.games import GAMES, Game
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


def test_a_learned_table_can_evaluate_leaves() -> None:
    learner = QLearning.preset("self-play", seed=0).learn(total_episodes=3_500, progress_bar=False)
    assert verdict(MCTS(100, evaluator=TableEvaluator(learner), solver=False)).exploitability == 0


def test_several_threads_add_their_trees_up() -> None:
    position = Position.from_moves("ConnectFour-v0", "44")
    agent = MCTS(1_001, threads=3)
    found = agent.search(position, 5)
    assert sum(move.visits for move in found.moves) == found.simulations == 1_001
    again = agent.search(position, 5)
    assert [move.visits for move in found.moves] == [move.visits for move in again.moves]
    assert [move.visits for move in found.moves] != [move.visits for move in MCTS(1_001).search(position, 5).moves]


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


def test_reuse_works_with_a_time_limit_too() -> None:
    agent, position = MCTS(milliseconds=30, reuse=True), Position.from_moves("ConnectFour-v0", "44")
    first = agent.search(position)
    for action in first.principal_variation[:2]:
        position = position.play(action)
    second = agent.search(position)
    assert sum(move.visits for move in second.moves) > second.simulations > 0


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


WRONG: list[tuple[str, Any]] = [
    *(("simulations", value) for value in (0, 2**24 + 1, 1.5)),
    *(("milliseconds", -1), ("exploration", -1), ("rollout", "rules"), ("choose", "best"), ("threads", 0)),
    *(("leaves", True), ("memory_mb", 0), ("draw", 2), ("solver", 1), ("reuse", None)),
]


def test_settings_are_checked_and_names_and_presets_give_them() -> None:
    for name, value in WRONG:
        with pytest.raises(ValueError, match=name):
            MCTS(**{name: value})
    with pytest.raises(ValueError, match="not both"):
        MCTS(5, milliseconds=5)
    agent = make_policy("mcts:50", "ConnectFour-v0")
    assert isinstance(agent, MCTS) and agent.simulations == 50 and str(agent) == "mcts:50"
    assert make_policy("mcts").simulations == 1_000  # type: ignore[attr-defined]
    assert MCTS.preset("S2").simulations == 4_000
    assert MCTS.preset("S4", simulations=9, exploration=2.0).exploration == 2.0
    for wrong in ("mcts:0", "mcts:x", "mcts:-3", "mcts:99999999999"):
        with pytest.raises(ValueError, match="simulations of 'mcts'"):
            make_policy(wrong)
    with pytest.raises(ValueError, match="preset"):
        MCTS.preset("S9")
    with pytest.raises(ValueError, match="the game is over"):
        MCTS(10).act(Position.from_moves("TicTacToe-v0", "14253"), 0)


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
    visits, sums = np.array([0, 3, 5]), np.array([0.0, -2.5, -4.5])
    found = Statistics((0, 1, 2), visits, sums, proven_actions={}, proven=None, priors=None)
    assert (best_action(found, "value"), best_action(found, "visits")) == (1, 2)
