"""Which record plays as a policy does, and the file that is made of it."""

from __future__ import annotations

import json
import math
import os
from typing import Any, NamedTuple

import numpy as np

from tictac_agents.export import packing, players
from tictac_agents.export.bundle import RULES, Bundle
from tictac_agents.mcts.evaluators import CompiledEvaluator
from tictac_agents.mcts.leaves import Rollouts
from tictac_agents.mcts.mcts import MAX_SIMULATIONS, MCTS
from tictac_agents.ntuple.network import NTupleNetwork
from tictac_agents.ntuple.ntuple_td import NTupleTD
from tictac_agents.tabular.table_learner import TableLearner
from tictac_env.arena.action_probabilities import fixed_actions
from tictac_env.checks import whole
from tictac_env.games import Game, game_name
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.policies import ModelPolicy, Policy, game_for, load_player
from tictac_env.policies.human import HumanPolicy
from tictac_env.policies.pool import Mixture
from tictac_env.policies.reflex_policies import RandomPolicy, RulePolicy
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import position_seed
from tictac_env.solver.enumerate import tabulate
from tictac_env.solver.minimax import Minimax, MinimaxFirst
from tictac_env.storage import save_text

SMALL_CELLS = 9
"""On boards of so many cells every player is exported, as the table of its moves."""
SHARE = 0.75
"""How much of the time for a move a search may take."""
MAX_NODES = 1 << 17
"""Of a tree that grows by the clock; interpreted search adds some thousand a second."""
SEED_LIMIT = 2**63 - 1
WHAT_AGENTS_CALL = (
    packing.unpack,
    packing.scattered,
    players.read_board,
    players.check_configuration,
    players.time_limit,
)
ALLOWED = (
    "random, rule, minimax[:plies], minimax-first[:plies], mcts[:simulations], ntuple[:plies or :ms], "
    "level:1 to level:9, and the files of learned tables (QLearning, Sarsa, MonteCarlo, ValueTD), of n-tuple networks "
    f"and of DQN, PPO, A2C and MaskablePPO; on boards of up to {SMALL_CELLS} cells everybody but people"
)
"""Who can be exported, in words."""

FILE = '''"""An agent for {name}: {player}.

{told}
It needs NumPy only. `agent`, at the end, takes an observation with the cells of the board, row by row (0 empty, 1 and 2
the players' stones), and the mark of the player to move, as Kaggle's ConnectX gives them, and returns {action}.

Written by tictac-env {version} (MIT licence), from its own source.
"""

from __future__ import annotations

{source}

GAME = {rules}()
SIZES = {sizes!r}
SEED = {seed}
SHARE = {share}
PLAYER = {record}


def agent(observation, configuration):
    """The action for an observation, within the time that the configuration gives."""
    end = time_limit(configuration, SHARE)
    check_configuration(SIZES, configuration)
    own, opp = read_board(GAME, observation["board"], observation["mark"])
    with np.errstate(all="ignore"):
        return int(PLAYER.choose(GAME, own, opp, position_seed(own, opp, SEED), end))
'''


def export_agent(player: Any, path: str | os.PathLike[str], game: str | Game | None = None, seed: int = 0) -> int:
    """Writes a player as one Python file; arguments and errors are those of `submission`.

    Args:
        player: see `submission`.
        path: the file, which is replaced if it is there, whole or not at all.
        game: see `submission`.
        seed: see `submission`.

    Returns:
        How many bytes the file has.

    Raises:
        OSError: it cannot be written.

    Example:
        >>> import tempfile
        >>> from tictac_agents.export import export_agent
        >>> export_agent("rule", tempfile.mkdtemp() + "/submission.py") > 1_000
        True
    """
    text = submission(player, game, seed)
    save_text(path, text)
    return len(text.encode())


def submission(player: Any, game: str | Game | None = None, seed: int = 0) -> str:
    """A player as the source of one file that needs NumPy only, and defines the function `agent` last.

    It is the fixed map that the exact measures judge: the seed of a move is derived from the position and `seed`. What
    is a pure function of position and seed chooses the same moves in the file, however slower it is there; a search
    that does not end in the time it is given answers by what it has found so far.

    Args:
        player: whatever `load_player` accepts.
        game: a game's name or rule book; None for the agent's own (`own_game`), else Connect Four.
        seed: in [0, 2**63).

    Raises:
        ValueError: the player cannot be exported; the message says which can.

    Example:
        >>> text = submission("rule")
        >>> file = {}
        >>> exec(text, file)
        >>> file["agent"]({"board": [0] * 42, "mark": 1}, {"rows": 6, "columns": 7, "inarow": 4, "actTimeout": 2})
        3
    """
    import tictac_env

    rules = game_for(game, player, default="ConnectFour-v0")
    found = load_player(player, rules)
    whole("seed", seed, SEED_LIMIT)
    record = record_of(found.policy, rules, seed)
    bundle = Bundle(rules)
    for kind in dict.fromkeys([*packing.records_in(record)]):
        bundle.add(kind)
    for function in (*WHAT_AGENTS_CALL, position_seed):
        bundle.add(function)
    sizes = {"rows": rules.rows, "columns": rules.cols}
    if isinstance(rules, KInARow):
        sizes["inarow"] = rules.connect
    return FILE.format(
        name=game_name(rules) or repr(rules),
        player=_quoted(found.name),
        told=_told(found.budget),
        action="a column from the left, from 0" if rules.stones_fall else "a cell, row by row, from 0",
        version=tictac_env.__version__,
        source=bundle.text(),
        rules=RULES,
        sizes=sizes,
        seed=seed,
        share=SHARE,
        record=packing.source_of(record),
    )


def _told(budget: str) -> str:
    return f"How much it searches a move: {_quoted(budget)}." if budget else ""


def _quoted(text: str) -> str:
    """Text that ends no docstring: a player's name may be that of a file, which anybody chose."""
    return json.dumps(text)[1:-1]


def record_of(policy: Policy, game: Game, seed: int = 0) -> NamedTuple:
    """The record of `export.players` that plays as `policy` does.

    Raises:
        ValueError: there is none; the message says which policies have one.
    """
    if not isinstance(policy, HumanPolicy) and game.cells <= SMALL_CELLS:
        return _known_moves(policy, game, seed)
    record = _record(policy.model if isinstance(policy, ModelPolicy) else policy, game)
    if record is None:
        raise ValueError(f"{policy} ({type(policy).__name__}) cannot be exported for {game_name(game)}; can: {ALLOWED}")
    return record


def _known_moves(policy: Policy, game: Game, seed: int) -> players.KnownMoves:
    table = tabulate(game)
    rows = np.flatnonzero((table.children >= 0).any(axis=1))
    batch = PositionBatch(game, table.own[rows], table.opp[rows])
    moves = np.full(3**game.cells, -1, np.int8)
    moves[[batch[i].code for i in range(len(batch))]] = fixed_actions(policy, batch, seed)
    return players.KnownMoves(moves)


def _record(player: Any, game: Game) -> NamedTuple | None:
    """The record of a policy or of a model; None if there is none."""
    if type(player) in (RandomPolicy, RulePolicy):
        return players.Reflex(type(player) is RulePolicy)
    if type(player) in (Minimax, MinimaxFirst):
        exact = player.depth is None
        return players.AlphaBeta(game.cells if exact else player.depth, type(player) is MinimaxFirst, exact)
    if isinstance(player, MCTS):
        return _tree_search(player, game)
    if isinstance(player, NTupleTD):
        player = player.network
    if isinstance(player, NTupleNetwork):
        seconds = math.inf if player.milliseconds is None else player.milliseconds / 1000
        timed = player.milliseconds is not None
        return players.NTuples(player.compiled(game), game.cells if timed else player.plies, seconds, timed)
    if isinstance(player, TableLearner):
        return players.TableValues(player.table) if player.game == game else None
    if isinstance(player, Mixture):
        return _mixed(player, game)
    return _deep(player, game)


def _mixed(player: Mixture, game: Game) -> NamedTuple | None:
    members = [_record(player.member(number, game), game) for number in range(len(player.players))]
    used = [members[i] is not None or player.weights[i] == 0 for i in range(len(members))]
    if not all(used):
        return None
    return players.Mixed(tuple(members), tuple(float(one) for one in player.cumulative))


def _tree_search(player: MCTS, game: Game) -> NamedTuple | None:
    """None if it has a memory, several trees, or an evaluator that is asked in Python."""
    compiled = isinstance(player.evaluator, CompiledEvaluator)
    if player.threads > 1 or player.reuse or not (player.evaluator is None or compiled):
        return None
    simulations = MAX_SIMULATIONS if player.simulations is None else player.simulations
    leaves: Any = player.evaluator.compiled(game) if compiled else Rollouts(player.rollout == "rule")  # type: ignore[union-attr]
    return players.TreeSearch(
        simulations=simulations,
        seconds=math.inf if player.milliseconds is None else player.milliseconds / 1000,
        nodes=player.capacity(game) if player.milliseconds is None else MAX_NODES,
        by_value=player.choose == "value",
        params=player.params,
        leaves=leaves,
    )


def _deep(player: Any, game: Game) -> NamedTuple | None:
    """The record of a model of Stable-Baselines3's, or of a `Snapshot` of one; None if it is none."""
    policy = getattr(player, "policy", getattr(player, "_policy", None))
    space = getattr(player, "observation_space", getattr(player, "_space", None))
    if policy is None or space is None or not hasattr(policy, "set_training_mode"):
        return None
    from tictac_agents.export.torch_networks import deep_network  # needs torch

    return deep_network(policy, space, game)
