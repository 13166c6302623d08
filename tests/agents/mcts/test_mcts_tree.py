"""Compiled trees are those of a plain interpreted reference, visit by visit, and of files a person can read."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from conftest import compiled_games, playout
from reference_search import MadeUpEvaluator, Node, ReferencePUCT, ReferenceSearch, lines

from tictac_agents import MCTS
from tictac_agents.mcts.mcts import Root
from tictac_agents.mcts.simulation import rollout
from tictac_env.games import GAMES, Game
from tictac_env.position import Position

GOLDEN = Path(__file__).parent / "golden"
SETTINGS = {
    "default": {},
    "random, no solver": {"rollout": "random", "solver": False, "exploration": 1.4},
    "S2": {**MCTS.SETTINGS.PRESETS["S2"]},
    "S4": {**MCTS.SETTINGS.PRESETS["S4"]},
}


def grown(agent: MCTS, position: Position, seed: int) -> Root:
    return agent._search([position], [seed])[0][0]


def as_nodes(root: Root, solver: bool, node: int = 0, position: Position | None = None) -> Node:
    """A compiled tree as nodes of the reference."""
    position = position or root.position
    tree, found = root.tree, Node(position)
    for action in position.legal_actions:
        if visits := int(tree.visits[node, action]):
            found.visits[action] = visits
            found.sums[action] = float(tree.value_sums[node, action])
        if abs(int(tree.proven[node, action])) <= 1:
            found.proven[action] = int(tree.proven[node, action])
        if child := int(tree.children[node, action]):
            found.children[action] = as_nodes(root, solver, child, position.play(action))
    return found


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_compiled_trees_are_those_of_the_reference(settings: dict[str, object], name: str) -> None:
    simulations = 60 if settings.get("rollout") == "stored" else 300
    agent = MCTS(**(settings | {"simulations": simulations}))  # type: ignore[arg-type]
    for seed in range(4):
        position = Position.start(name) if seed == 0 else unfinished(GAMES[name], seed)
        reference = ReferenceSearch(agent, position, seed).root
        compiled = as_nodes(grown(agent, position, seed), agent.settings.solver)
        assert lines(compiled, 1) == lines(reference, 1)
        assert lines(compiled, 1)


@pytest.mark.parametrize("leaves", [1, 3])
@pytest.mark.parametrize("solver", [True, False])
def test_trees_by_priors_are_those_of_the_reference(solver: bool, leaves: int) -> None:
    evaluator = MadeUpEvaluator()
    for seed, (name, exploration) in enumerate([("ConnectFour-v0", 1.0), ("TicTacToe-v0", 2.5), ("TicTacToe-v0", 0.7)]):
        position = Position.start(name) if seed == 0 else unfinished(GAMES[name], seed)
        agent = MCTS(250, evaluator=evaluator, exploration=exploration, solver=solver, leaves=leaves, draw=0.25)
        reference = ReferencePUCT(agent, evaluator, position).root
        compiled = as_nodes(grown(agent, position, seed), solver)
        assert lines(compiled, 1) == lines(reference, 1)
        assert len(lines(compiled, 1)) > 100 or solver


def unfinished(game: Game, seed: int) -> Position:
    positions = [position for position in playout(game, seed, game.cells) if not position.is_over]
    return positions[random.Random(seed).randrange(len(positions))]


@pytest.mark.parametrize(
    ("name", "moves", "least"), [("TicTacToe-v0", "152", 6), ("TicTacToe-v0", "", 25), ("ConnectFour-v0", "4453", 12)]
)
def test_trees_are_those_of_the_golden_files(name: str, moves: str, least: int) -> None:
    """To make a file anew, delete it and run this test twice."""
    root = grown(MCTS(400), Position.from_moves(name, moves), 0)
    text = f"{name} {moves}: 400 games; move: visits, sum of results, what is proven; from {least} visits on\n"
    text += "\n".join(lines(as_nodes(root, True), least)) + "\n"
    path = GOLDEN / f"mcts-{name.split('-')[0]}-{moves or 'start'}.txt"
    if not path.exists():
        path.write_text(text)
        pytest.fail(f"{path} was made; look at it")
    assert text == path.read_text()


@pytest.mark.parametrize(("rule", "name", "won"), [(False, "TicTacToe-v0", 0.5849), (False, "ConnectFour-v0", 0.5559)])
def test_random_games_are_fair(rule: bool, name: str, won: float) -> None:
    """As often won as uniformly random play is, exactly (tic-tac-toe) and in 10**6 games of another program."""
    game, state, wins = GAMES[name], 12345, 0
    for _ in range(20_000):
        value, state = rollout(game, *game.start(), rule, state)
        wins += value == 1
    assert wins / 20_000 == pytest.approx(won, abs=4 * np.sqrt(0.25 / 20_000))


def test_the_rule_wins_and_blocks() -> None:
    game = GAMES["ConnectFour-v0"]
    won = Position.from_moves(game, "112233")
    blocked = Position.from_moves(game, "1122335")  # O has 1, 2 and 3 too, and X cannot stop column 4
    for state in range(1, 200):
        assert rollout(game, won.own, won.opp, True, state)[0] == 1
    assert {rollout(game, blocked.own, blocked.opp, True, state)[0] for state in range(1, 200)} != {1}


@compiled_games
def test_every_game_is_counted_once(game: Game) -> None:
    position = Position.start(game)
    if position.is_over:
        pytest.skip("over at once")
    found = MCTS(200, solver=False).search(position, 3)
    assert sum(move.visits for move in found.moves) == found.simulations == 200
    assert found.action in position.legal_actions
    root = grown(MCTS(200, solver=False), position, 3)

    def check(node: int, visits: int) -> None:
        inside = int(root.tree.visits[node].sum())
        assert inside == visits - 1
        for action in range(game.num_actions):
            if child := int(root.tree.children[node, action]):
                check(child, int(root.tree.visits[node, action]))

    check(0, 201)
