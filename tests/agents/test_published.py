"""The published systems' own agents: S4's tree and deep learner, S2's network. For S0, see test_value_td.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import breadth, compiled_games

from tests.agents.mcts.reference_search import Node, ReferenceSearch
from tictac_agents import FittedQ, GameTree, S2Network
from tictac_agents.mcts.simulation import random_below
from tictac_agents.published.ariel_tree import SAVED, find_row
from tictac_agents.published.nested_q import Way, descend, new_layers, new_scratch
from tictac_env.arena import play_match, verdict
from tictac_env.games import Game, get_game
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.storage import load_arrays, save_arrays

TTT, SMALL, CONNECT_FOUR = "TicTacToe-v0", "KInARow-v0:4x4-3", "ConnectFour-v0"
GAME = get_game(TTT)
QUICK: dict[str, Any] = {"game": SMALL, "batch_games": 6, "epochs": 1, "minibatch": 32, "all_actions": True}
RUNS = {
    "tree": (GameTree, {}, 12_000, 1),
    "network a seat": (FittedQ, QUICK, 15, 12),
    "one action": (FittedQ, QUICK | {"all_actions": False}, 15, 12),
    "other sizes": (FittedQ, QUICK | {"filters": (8,), "widths": (3,), "dense": (16,)}, 15, 12),
    "opponent": (FittedQ, QUICK | {"opponent": "minimax:1"}, 15, 12),
    "S2": (S2Network, {"games_a_seat": 3_000}, 6_000, 3_100),
    "S2, 2 networks": (S2Network, {"games_a_seat": 3_000, "networks": 2, "order": "alternate"}, 6_000, 1),
}
"""An agent, its settings, the length of a run, and how many games it has when it is stopped, at least."""
LEARNERS = pytest.mark.parametrize("name", ["tree", "network a seat", "S2"])


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    pytest.importorskip("torch").set_num_threads(1)


def content(learner: Any, path: Path) -> list[Any]:
    """All that its file has."""
    learner.save(path)
    meta, arrays = load_arrays(path, f"tictac_agents.{type(learner).__name__}")
    return [meta, {name: array.tolist() for name, array in arrays.items()}]


@pytest.mark.parametrize("name", breadth(["tree", "network a seat", "S2"], RUNS))
def test_a_run_continues_to_the_bit(name: str, tmp_path: Path) -> None:
    made, settings, games, least = RUNS[name]
    path, other = tmp_path / "agent.npz", tmp_path / "other.npz"
    whole = made(**settings, seed=3).learn(games, progress_bar=False)
    stopped = made(**settings, seed=3).learn(games, lambda one: one.num_games < least, progress_bar=False)
    assert least <= stopped.num_games < games
    stopped.save(path)
    resumed = made.load(path).resume(progress_bar=False, checkpoint=path)
    assert content(resumed, other) == content(whole, other) == content(made.load(path), other)


DAMAGES: list[tuple[str, str, Any]] = [
    ("tree", "not a position", {"first_own": lambda a: np.where(np.arange(len(a)) == 3, 1 << 40, a)}),
    ("tree", "twice", {f"first_{name}": lambda a: a[:3].repeat(2, 0) for name in SAVED}),
    ("tree", "contradict", {"second_value_sums": lambda a: a + np.float32(1e6)}),
    ("tree", "contradict", {"second_visits": lambda a: np.where(a > 0, np.int32(2**31 - 1), a)}),
    ("tree", "visits must be", {"second_visits": lambda a: a.astype(np.int64)}),
    ("tree", "num_games", -1),
    ("network a seat", "weights must be", {"first_weights_0": lambda a: np.zeros((1, 1))}),
    ("network a seat", "weights must be finite", {"first_weights_0": lambda a: a * np.float32("nan")}),
    ("network a seat", "squares must be finite", {"second_squares_3": lambda a: a - np.float32(1)}),
    ("S2", "across must be finite", {"0_across": lambda a: np.where(np.eye(36), np.inf, a)}),
    ("network a seat", "second_means_3|means_3", {"second_means_3": None}),
    ("network a seat", "random_state|state", "random_state"),
    ("S2", "across must be", {"0_across": lambda a: np.zeros((2, 2))}),
    ("S2", "out must be", {"0_out": lambda a: a.astype(np.float32)}),
    ("S2", "0_into_bias", {"0_into_bias": None}),
    ("S2", "num_games", -1),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of each agent."""
    saved = {name: tmp_path_factory.mktemp("agents") / "agent.npz" for name in ("tree", "network a seat", "S2")}
    for name, path in saved.items():
        made, settings, *_ = RUNS[name]
        made(**{"game": TTT} | settings, seed=0).learn(30, progress_bar=False).save(path)
    return saved


@pytest.mark.parametrize(("name", "named", "damage"), DAMAGES)
def test_damaged_files_are_refused(name: str, named: str, damage: Any, files: dict[str, Path], tmp_path: Path) -> None:
    made, path = RUNS[name][0], tmp_path / "agent.npz"
    kind = f"tictac_agents.{made.__name__}"
    meta, arrays = load_arrays(files[name], kind)
    if isinstance(damage, dict):
        for array, change in damage.items():
            old = arrays.pop(array)
            arrays |= {array: change(old)} if change else {}
    else:
        meta["num_games" if damage == -1 else damage] = -1
    save_arrays(path, kind, meta, arrays)
    with pytest.raises(ValueError, match=f"not a usable checkpoint.*({named})"):
        made.load(path)


@pytest.mark.parametrize(
    ("made", "wrong", "named"),
    [
        (GameTree, {"draw": 2}, "draw"),
        (FittedQ, {"epsilon": 1.5}, "epsilon"),
        (FittedQ, {"batch_games": 0}, "batch_games"),
        (FittedQ, {"rewards": (1, 0)}, "rewards"),
        (FittedQ, {"opponent": "nobody"}, "nobody"),
        (FittedQ, {"filters": (8, 0), "widths": (3, 3)}, "filters"),
        (FittedQ, {"widths": (3,)}, "widths"),
        (FittedQ, {"game": TTT, "all_actions": False}, "all_actions"),
        (S2Network, {"game": CONNECT_FOUR}, "each cell is an action"),
        (S2Network, {"order": "random"}, "order"),
        (S2Network, {"networks": 3}, "networks"),
        (S2Network, {"epsilon": -0.1}, "epsilon"),
    ],
)
def test_settings_that_cannot_be_are_named(made: Any, wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        made(**wrong)


@LEARNERS
def test_another_game_and_impossible_lengths_are_refused(name: str) -> None:
    made, settings, *_ = RUNS[name]
    agent = made(**settings)
    with pytest.raises(ValueError, match="has learned"):
        agent.act(Position.start("KInARow-v0:3x5-3"), 0)
    for games in (0, -1, 2**25, 1.5):
        with pytest.raises(ValueError, match="total_games"):
            agent.learn(games)


# S4's tree.


@compiled_games
def test_the_trees_are_those_of_a_plain_program(game: Game) -> None:
    """Upper confidence bounds in the positions that a seat knows, one more position a game, random moves after it."""
    learner = GameTree(game, seed=2)
    search = object.__new__(ReferenceSearch)
    search.agent, search.state = learner, learner._rng_state  # type: ignore[assignment]
    known: tuple[dict[Position, Node], ...] = ({}, {})
    for _ in range(600):
        position, route, in_tree = Position.start(game), [], [True, True]
        while not position.is_over:
            nodes, node = known[position.seat], None
            if in_tree[position.seat]:
                in_tree[position.seat] = position in nodes
                node = nodes.setdefault(position, Node(position))
                action = search.choose(node, 1 + sum(node.visits.values()))
                after = position.game.play(position.own, position.opp, action)
            else:
                legal = position.game.legal(position.own, position.opp)
                choices = [1 << bit for bit in range(64) if legal >> bit & 1]
                search.state, index = random_below(search.state, len(choices))
                action, after = -1, position.game.play_choice(position.own, position.opp, choices[index])
            route.append((node, action))
            position = Position(game, *after)
        value = -float(position.result or 0)
        for node, action in reversed(route):
            if node is not None:
                node.visits[action] = node.visits.get(action, 0) + 1
                node.sums[action] = node.sums.get(action, 0.0) + (value or learner.settings.draw)
            value = -value
    learner.learn(600, progress_bar=False)
    assert len(learner) == len(known[0]) + len(known[1])
    for nodes, tree in zip(known, learner.seats, strict=True):
        for position, node in nodes.items():
            row = find_row(tree, position.own, position.opp)
            visits = {action: int(count) for action, count in enumerate(tree.visits[row]) if count}
            assert visits == node.visits
            assert {action: float(tree.value_sums[row, action]) for action in visits} == node.sums


def test_memory_stays_below_its_limits() -> None:
    """A position takes less than 100 bytes, and one comes a game; of a full tree the statistics go on."""
    for games in (1_000, 30_000):
        tree = GameTree(seed=1).learn(games, progress_bar=False)
        assert tree.nbytes <= 100 * len(tree)
        assert all(0.9 * games < int(seat.size[0]) <= games for seat in tree.seats)
    tree = GameTree(seed=1, memory_mb=0.1).learn(5_000, progress_bar=False)
    assert tree.nbytes <= 0.1 * 2**20
    assert len(tree) < 2_000 and tree.visits(Position.start(CONNECT_FOUR)).sum() == 5_000


# S4's deep learner.


@pytest.mark.parametrize("name", ["network a seat", "one action"])
def test_the_values_of_all_actions_are_those_of_each_by_itself(name: str) -> None:
    learner = FittedQ(**RUNS[name][1], seed=0)
    position, full = Position.from_moves(SMALL, "1213"), Position.from_moves(SMALL, "1111")
    values, of_full = learner.values_many(PositionBatch.of([position, full]), 0)
    board = PositionBatch.of([position]).observations("board").astype(np.float32)
    one_by_one = [float(learner._seats[0].values(board, np.array([action]))[0]) for action in range(4)]
    assert values.tolist() == pytest.approx(one_by_one, abs=1e-5)
    assert learner.act(position, 0) == int(np.argmax(one_by_one))
    assert of_full[0] == -np.inf and np.isfinite(of_full[1:]).all() and learner.act(full, 0) != 0
    published = FittedQ.preset("S4", seed=0)
    assert [sum(one.numel() for one in net.parameters()) for net in published.networks] == [138_773] * 2


def test_every_move_of_a_game_is_learned_with_its_reward() -> None:
    """The moves, replayed by the rules, are whole games; rewards are those of how they end, targets the formula's."""
    learner = FittedQ(**QUICK | {"batch_games": 20, "epsilon": 1.0}, rewards=(1.0, 0.5, -1.0), seed=4)
    seats = learner._play_batch(20)
    ends: dict[float, int] = {}
    for seat, moves in enumerate(seats):
        last = 0
        for index, ended in enumerate(moves.ended):
            before, reward = moves.before[index], float(moves.rewards[index])
            assert before.seat == seat and moves.actions[index] in before.legal_actions
            reply = before.play(int(moves.actions[index]))
            if ended and reply.is_over:
                assert reply.outcome is not None and reward == (0.5 if reply.outcome.winner is None else 1.0)
            elif ended:
                finals = [reply.play(action) for action in reply.legal_actions]
                results = {0.5 if end.outcome and end.outcome.winner is None else -1.0 for end in finals if end.is_over}
                assert reward in results
            else:
                assert reward == 0 and moves.after[last] in [reply.play(action) for action in reply.legal_actions]
                last += 1
            ends[reward] = ends.get(reward, 0) + 1
        assert last == len(moves.after)
    assert ends[1.0] == ends[-1.0] > 0 and ends[1.0] + ends.get(0.5, 0) / 2 == 20
    moves = seats[0]
    targets, after = learner._targets(0, moves), 0
    for index, ended in enumerate(moves.ended):
        value = learner.values_many(PositionBatch.of([moves.before[index]]), 0)[0, moves.actions[index]]
        wanted = moves.rewards[index]
        if not ended:
            best = learner.values_many(PositionBatch.of([moves.after[after]]), 0).max()
            after += 1
            wanted = value + 0.5 * (best - value)
        assert targets[index] == pytest.approx(wanted, abs=1e-5)


def test_a_file_can_name_no_code_to_run(tmp_path: Path) -> None:
    """Not even as the opponent of the run that it keeps."""
    pytest.importorskip("torch")
    (tmp_path / "evil.py").write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n")
    path, kind = tmp_path / "network.npz", "tictac_agents.FittedQ"
    FittedQ(**QUICK, seed=0).save(path)
    meta, arrays = load_arrays(path, kind)
    meta["settings"] = meta["settings"] | {"opponent": f"{tmp_path / 'evil.py'}:act"}
    save_arrays(path, kind, meta, arrays)
    with pytest.raises(ValueError, match="no policy is called"):
        FittedQ.load(path)
    assert not (tmp_path / "ran").exists()


def test_against_an_opponent_each_seat_learns_its_own_half_of_the_games() -> None:
    learner = FittedQ(**QUICK | {"batch_games": 20, "epsilon": 1.0}, opponent="rule", seed=4)
    for seat, moves in enumerate(learner._play_batch(20)):
        assert {moves.before[index].seat for index in range(len(moves.actions))} == {seat}
        begun = sum(moves.before[index].ply == seat for index in range(len(moves.actions)))
        assert begun == 10 == moves.ended.sum()
        misses = [
            before.play(int(action)).result != -1
            for before, action in zip(moves.before, moves.actions, strict=True)
            if any(before.play(reply).result == -1 for reply in before.legal_actions)
        ]
        assert any(misses), "the moves are those of the opponent, who takes every win"
    learner = FittedQ(**QUICK | {"batch_games": 100, "epochs": 3}, opponent="random", seed=0)
    before = play_match(learner, "random", SMALL, 200).total.wins
    assert play_match(learner.learn(500, progress_bar=False), "random", SMALL, 200).total.wins > before + 20


def test_exploration_falls_and_is_raised_again() -> None:
    seen: list[float] = []
    learner = FittedQ(**QUICK, epsilon=(1.0, 0.2), seed=0)
    learner.learn(24, lambda one: seen.append(one._exploration()), progress_bar=False)
    assert seen == [0.2, 1.0, 0.2, 1.0]


# S2's network.


@pytest.mark.parametrize("legal_only", [False, True])
@pytest.mark.parametrize("moves", ["", "5", "51", "51379"])
def test_a_step_is_that_of_pytorch(moves: str, legal_only: bool) -> None:
    import torch

    position = Position.from_moves(GAME, moves)
    net = new_layers(9, np.random.default_rng(1))
    linear = [torch.nn.Linear(9, 36), torch.nn.Linear(36, 36), torch.nn.Linear(36, 9)]
    model = torch.nn.Sequential(linear[0], torch.nn.ReLU(), linear[1], torch.nn.ReLU(), linear[2], torch.nn.Sigmoid())
    model.double()
    ours = [net.into.T, net.into_bias, net.across.T, net.across_bias, net.out, net.out_bias]
    with torch.no_grad():
        for weights, array in zip(model.parameters(), ours, strict=True):
            weights.copy_(torch.from_numpy(array.copy()))
    stones = {cell: (-1.0) ** ply for ply, cell in enumerate(position.moves)}
    cells = torch.tensor([stones.get(cell, 0.0) for cell in range(9)], dtype=torch.float64)
    action = position.legal_actions[0]
    values = model(cells)
    target = values.detach().clone()
    target[action] = 0.3
    if not legal_only:
        target[[cell for cell in range(9) if cell in stones]] = 0.0
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    torch.nn.functional.mse_loss(values, target).backward()
    optimizer.step()
    way = Way(learning_rate=0.1, epsilon=0.0, legal_only=legal_only, relative=False)
    descend(GAME, net, position.own, position.opp, action, 0.3, way, new_scratch(9))
    for weights, array in zip(model.parameters(), ours, strict=True):
        assert weights.detach().numpy() == pytest.approx(array, abs=1e-12)


@pytest.mark.parametrize(("order", "seats"), [("in turn", [0, 0, 1, 1]), ("alternate", [0, 1, 0, 1])])
def test_each_seat_learns_with_its_network(order: str, seats: list[int]) -> None:
    learner = S2Network(games_a_seat=2, networks=2, order=order, seed=0)
    for seat in seats:
        before = [net.out.copy() for net in learner.layers]
        learner.learn(1, progress_bar=False)
        changed = [not np.array_equal(old, net.out) for old, net in zip(before, learner.layers, strict=True)]
        assert changed == [seat == 0, seat == 1]


def test_s2s_network_learns() -> None:
    learner = S2Network(games_a_seat=20_000, legal_only=True, order="alternate", seed=0).learn(40_000)
    found = play_match(learner, "random", GAME, 400)
    assert found.as_first.wins > 150 and found.as_second.wins > 90


@pytest.mark.slow
def test_s2s_network_reproduces_the_publication() -> None:
    """98.4 and 75.4 % of games won against random play, none lost as the first player."""
    found = verdict(S2Network.preset("S2", seed=0).learn(4_000_000, progress_bar=False), GAME)
    assert found.as_first.against_random.wins == pytest.approx(0.984, abs=0.01)
    assert found.as_second.against_random.wins == pytest.approx(0.754, abs=0.06)
