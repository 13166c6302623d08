"""The first uses of a game, which `tictac warm` makes beforehand so that later uses need not wait for the compiler.

Each is short, but otherwise like a user's; the machine code that it compiles is kept for all later runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

import tictac_agents
from tictac_agents import MCTS, AlphaZero, GameTree, NTupleTD, S2Network
from tictac_agents.mcts.evaluators import NetworkEvaluator
from tictac_agents.tabular.table_learner import FEWEST_ROWS, new_rows
from tictac_env.games import get_game, gym_keywords
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.observation import MAX_CODE_CELLS
from tictac_env.position import Position
from tictac_env.progress import track
from tictac_env.solver import Solver
from tictac_env.solver.alpha_beta import action_scores
from tictac_env.solver.engine import Engine


def use_vector_environment(game: str) -> None:
    """Steps a few boards with each kind of opponent, of each observation type, and in each autoreset mode."""
    settings: list[dict[str, Any]] = [{"opponent": opponent} for opponent in ("random", "rule", None)]
    settings.append({"obs_type": "board"})
    if get_game(game).cells <= MAX_CODE_CELLS:
        settings.append({"obs_type": "code"})
    interpreted = {"opponent": "minimax-first:1", "play_as": "second"}
    for setting in (*settings, *(interpreted | {"autoreset_mode": mode} for mode in AutoresetMode)):
        envs = gym.make_vec(num_envs=2, **gym_keywords(game), **setting)
        envs.reset(seed=0)
        envs.step(envs.sample_actions())  # type: ignore[attr-defined]  # of a BoardVectorEnv


def use_minimax(game: str) -> None:
    """Searches by alpha-beta."""
    rules = get_game(game)
    action_scores(rules, *rules.start(), depth=1)


def use_solver(game: str) -> None:
    """Makes a solver and, if its search is compiled, lets the table grow."""
    engine = Solver(game, table_megabytes=64).engine
    if isinstance(engine, Engine):
        engine.table.grow()


def use_tree_search(game: str) -> None:
    """Searches with rollouts, with an evaluator, and in a tree of an earlier search; learns a tree."""
    start = Position.start(game)
    actions = start.game.num_actions
    evaluator = NetworkEvaluator(lambda planes: (np.zeros(len(planes)), np.ones((len(planes), actions))))
    reusing = MCTS(100, reuse=True)
    for agent in (reusing, MCTS(4, evaluator=evaluator)):
        agent.act(start, 0)
    reusing.act(start.play(reusing.act(start, 0)), 0)
    GameTree(start.game, seed=0).learn(2, progress_bar=False)


def use_tables(game: str) -> None:
    """Learns with each table on one board and on many, and restores what it has learned."""
    for name in tictac_agents.trained("table"):
        for env in (gym.make(**gym_keywords(game)), gym.make_vec(num_envs=2, **gym_keywords(game))):
            agent = getattr(tictac_agents, name)(env, seed=0).compile().learn(total_episodes=2, progress_bar=False)
            agent.set_learned(agent.learned())
    new_rows(2 * FEWEST_ROWS, np.zeros((1, 3), np.int64))


def use_networks(game: str) -> None:
    """Learns with the network that has a compiled loop, on games in which each cell is an action."""
    start = Position.start(game)
    if start.game.num_actions == start.game.cells:
        S2Network(start.game, seed=0).learn(2, progress_bar=False).act(start, 0)


def use_n_tuples(game: str) -> None:
    """Learns an n-tuple network on one thread and on two, plays by it, and searches with it."""
    if type(get_game(game)) is not KInARow:
        return
    start = Position.start(game)
    for threads in (1, 2):
        learner = NTupleTD(game, tuples=1, length=2, threads=threads, seed=0).learn(2, progress_bar=False)
    learner.values(start.own, start.opp)
    ahead = learner.network.looking_ahead(2), learner.network.looking_ahead(milliseconds=0.001)
    zero = AlphaZero(game, tuples=1, length=2, simulations=2, boards=2, seed=0).learn(2, progress_bar=False)
    for agent in (learner, *ahead, MCTS(4, evaluator=learner.network), zero, MCTS(4, evaluator=zero)):
        agent.act(start, 0)


FIRST_USES: dict[str, Callable[[str], None]] = {
    "vector": use_vector_environment,
    "minimax": use_minimax,
    "solver": use_solver,
    "mcts": use_tree_search,
    "tables": use_tables,
    "networks": use_networks,
    "n-tuples": use_n_tuples,
}


def make_first_uses(games: Iterable[str], names: Iterable[str]) -> None:
    """Makes the named first uses of each game; if several names stand for the same game, once.

    Raises:
        ValueError: there is no game of such a name.
    """
    different = {get_game(game): game for game in reversed(list(games))}
    todo = [(name, game) for game in reversed(different.values()) for name in names]
    for (name, game), _ in zip(todo, track([f"{name}, {game}" for name, game in todo], "compiling"), strict=True):
        FIRST_USES[name](game)
