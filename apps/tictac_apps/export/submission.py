"""Players as one file: the parts of `agent_template.py` that a player needs, and its weights."""

from __future__ import annotations

import base64
import io
import json
import lzma
import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_agents.ntuple.network import NTupleNetwork, image
from tictac_agents.ntuple.ntuple_td import NTupleTD
from tictac_agents.tabular.q_learning import ActionLearner
from tictac_agents.tabular.value_td import StateLearner, ValueTable
from tictac_apps.export.agent_template import Network
from tictac_env.arena.basis import fixed_actions
from tictac_env.arrays import Array, Ints
from tictac_env.checks import whole
from tictac_env.games import Game, game_name
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.policies import POLICIES, ModelPolicy, PlayerLike, Policy, game_for, load_player
from tictac_env.policies.adapters import normalizer_of, seen_type
from tictac_env.policies.heuristics import RandomPolicy, RulePolicy
from tictac_env.policies.human import HumanPolicy
from tictac_env.policies.loading import policy_class
from tictac_env.policies.pool import Mixture
from tictac_env.position import symmetries
from tictac_env.position_batch import PositionBatch
from tictac_env.solver.enumerate import tabulate
from tictac_env.solver.players import Minimax, MinimaxFirst
from tictac_env.storage import save_text

TEMPLATE = Path(__file__).parent / "agent_template.py"
SMALL_CELLS = 9
"""On boards of up to this many cells every player is exported, as the table of its moves."""
SEED_LIMIT = 2**63 - 1
PLAIN = (RandomPolicy, RulePolicy, Minimax, MinimaxFirst, NTupleNetwork)
"""The classes of named policies that the template has; levels and mixtures of these are exported too."""

TITLE = '''"""An agent for {game}: {player}.

{budget}It needs NumPy only. `agent`, at the end, takes an observation with the cells of the board, row by row (0 empty,
1 and 2 the players' stones), and the mark of the player to move, as Kaggle's ConnectX gives them, and returns {action}.

Written by tictac-env {version} (MIT licence).
"""'''


def export_agent(
    player: PlayerLike, path: str | os.PathLike[str], game: str | Game | None = None, seed: int = 0
) -> int:
    """Writes a player as one Python file; arguments and errors are those of `submission`.

    Args:
        player: see `submission`.
        path: the file, which is replaced atomically if it exists.
        game: see `submission`.
        seed: see `submission`.

    Returns:
        The size of the file in bytes.

    Raises:
        OSError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> from tictac_apps.export import export_agent
        >>> export_agent("rule", tempfile.mkdtemp() + "/submission.py") > 1_000
        True
    """
    text = submission(player, game, seed)
    save_text(path, text)
    return len(text.encode())


def submission(player: PlayerLike, game: str | Game | None = None, seed: int = 0) -> str:
    """Returns a player as the source of one file that needs only NumPy, and defines the function `agent` last.

    The file is the fixed map that the exact measures judge: the seed of a move is derived from the position and `seed`.
    A pure function of position and seed chooses the same moves in the file, though more slowly; a search that does not
    end within three quarters of the time for a move plays its best move so far.

    Args:
        player: whatever `load_player` accepts.
        game: a game's name or rules; None for the agent's own (`own_game`), else Connect Four.
        seed: in [0, 2**63).

    Raises:
        ValueError: the player cannot be exported; the message lists the players that can.

    Example:
        >>> text = submission("rule")
        >>> file = {}
        >>> exec(text, file)
        >>> file["agent"]({"board": [0] * 42, "mark": 1}, {"rows": 6, "columns": 7, "inarow": 4, "actTimeout": 2})
        3
    """
    import tictac_env

    rules = game_for(game, player, default="ConnectFour-v0")
    loaded = load_player(player, rules)
    policy = loaded.policy
    whole("seed", seed, SEED_LIMIT)
    # The player as a call of a class of the template.
    call = None
    if rules.cells <= SMALL_CELLS and not isinstance(policy, HumanPolicy):
        call = _moves_of_small_game(policy, rules, seed)
    elif type(rules) is KInARow:
        call = _player(policy, rules)
    if call is None:
        raise ValueError(
            f"{policy} ({type(policy).__name__}) cannot be exported for {game_name(rules) or repr(rules)}; "
            f"can: {_allowed()}"
        )
    title = TITLE.format(
        game=game_name(rules) or repr(rules),
        player=_quoted(loaded.name),
        budget=f"How much it searches a move: {_quoted(loaded.budget)}.\n" if loaded.budget else "",
        action="a column from the left, from 0" if rules.stones_fall else "a cell, row by row, from 0",
        version=tictac_env.__version__,
    )
    # The sections of the template that the call needs, with the settings of the game in the first.
    connect, gravity = (rules.connect, rules.gravity) if isinstance(rules, KInARow) else (0, False)
    common, *parts = re.split("^# ---- (.+)\n", TEMPLATE.read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    end = sections.pop("The end").replace("PLAYER: Player = Rule()", f"PLAYER: Player = {call}")
    used = [text.strip("\n") + "\n\n\n" for name, text in sections.items() if f"{name}(" in call]
    settings = f"{(rules.rows, rules.cols, connect, gravity, seed)}".strip("()")
    common = re.sub(r"(?<=CONNECT, GRAVITY, SEED = ).*", settings, title + common.split('"""', 2)[2])
    return common + "".join(used) + end.lstrip("\n")


def _allowed() -> str:
    """The players that can be exported, for an error message."""
    names = [name for name in POLICIES if policy_class(name) in PLAIN]
    return (
        f"{', '.join(names)} with their arguments, levels and mixtures of these; files of QLearning, Sarsa, "
        "MonteCarlo, ValueTD, of n-tuple networks and of DQN, PPO, A2C and MaskablePPO; for games of the KInARow "
        f"family; on boards of up to {SMALL_CELLS} cells every player but people"
    )


def _quoted(text: str) -> str:
    """The text with quotation marks escaped for a docstring: a player's name may be a file's, with any characters."""
    return json.dumps(text)[1:-1]


def _player(policy: Any, game: KInARow) -> str | None:
    """The call for a policy or a model; None if the template has no class that plays the same moves."""
    player = policy.model if isinstance(policy, ModelPolicy) else policy
    if type(player) in (RandomPolicy, RulePolicy):
        return "Random()" if type(player) is RandomPolicy else "Rule()"
    if type(player) in (Minimax, MinimaxFirst):
        depth = game.cells if player.depth is None else player.depth
        return _call("Minimax", depth=depth, first=type(player) is MinimaxFirst, signs=player.depth is None)
    if isinstance(player, NTupleTD):
        player = player.network
    if isinstance(player, NTupleNetwork):
        return _n_tuples(player) if player.game == game else None
    if isinstance(player, (ActionLearner, StateLearner)) and player.game == game:
        return _table(player)
    if isinstance(player, Mixture):
        drawn = [(player.member(i, game), weight) for i, weight in enumerate(player.weights)]
        members = [_player(member, game) if weight else "Random()" for member, weight in drawn]
        weights = tuple(map(float, player.cumulative))
        return None if None in members else f"Mixture([{', '.join(map(str, members))}], {weights})"
    return _network(player, game)


def _call(name: str, arrays: Mapping[str, Any] | None = None, **settings: object) -> str:
    """The source of a call, with numbers and strings as literals and arrays compressed."""
    arguments = [f"{name}={value!r}" for name, value in settings.items()]
    if arrays:
        file = io.BytesIO()
        np.savez(file, **arrays)
        text = base64.encodebytes(lzma.compress(file.getvalue(), preset=2)).decode()
        arguments.append(f'**unpacked("""\n{text}""")')
    return f"{name}({', '.join(arguments)})"


def _moves_of_small_game(policy: Policy, game: Game, seed: int) -> str:
    """The call for the move in every position of a game, of any family."""
    table = tabulate(game)
    rows = np.flatnonzero((table.children >= 0).any(axis=1))
    batch = PositionBatch(game, table.own[rows], table.opp[rows])
    return _moves(game, np.stack([batch.own, batch.opp], axis=1), fixed_actions(policy, batch, seed), strict=True)


def _moves(game: Game, positions: Ints, actions: Ints, strict: bool) -> str:
    """The call for N positions, int64 (N, 2), and a move in each."""
    template = KInARow.make(game.rows, game.cols, 1, gravity=False)  # which numbers the cells as the template does
    translated = np.zeros_like(positions)
    for cell in np.ndindex(game.rows, game.cols):
        translated |= np.where(positions & game.cell(*cell), template.cell(*cell), 0)
    return _call("Moves", {"positions": translated, "actions": actions.astype(np.int8)}, strict=strict)


def _table(learner: ActionLearner | StateLearner) -> str | None:
    """The call for a learned table: its state values, or the best move in each position that has action values."""
    if isinstance(learner, StateLearner):
        table = learner.table
        if type(table) is not ValueTable:
            return None
        arrays = {"positions": learner.positions, "values": table.values[: len(learner)]}
        new = {"win": float(table.win), "other": float(table.initial_value)}
        return _call("StateValues", arrays, tables=tuple(table.parts.tolist()), **new)
    # A table that folds images holds one of each; the file looks its positions up as they are, so it gets all.
    game, stored = learner.game, learner.positions[:, :2]
    shown = symmetries(game) if learner.settings.symmetry else symmetries(game)[:1]
    positions = np.unique(np.concatenate([image(symmetry, stored) for symmetry in shown]), axis=0)
    batch = PositionBatch(game, positions[:, 0].copy(), positions[:, 1].copy())
    return _moves(game, positions, learner.act_many(batch, np.zeros(len(positions), np.int64)), strict=False)


def _n_tuples(network: NTupleNetwork) -> str:
    images = network.images
    length = len(network.tuples[0])
    number = np.repeat(np.arange(len(network.tuples)), len(images) // len(network.tuples))
    weights = network.weights.reshape(-1, 2)
    arrays = {"cells": np.array(images, np.int64), "begins": number << 2 * length, "weights": weights}
    if network.milliseconds is None:
        return _call("NTuples", arrays, plies=network.plies, seconds=math.inf)
    return _call("NTuples", arrays, plies=network.game.cells, seconds=network.milliseconds / 1000)


def _network(model: Any, game: KInARow) -> str | None:
    """The call for a model of Stable-Baselines3, or for a `Snapshot` of one; None for anything else.

    Raises:
        ValueError: the network has a layer that the template does not have, or its observations are neither planes nor
            boards, or are normalised.
    """
    policy = getattr(model, "policy", getattr(model, "_policy", None))
    space = getattr(model, "observation_space", getattr(model, "_space", None))
    if policy is None or space is None or not (hasattr(policy, "q_net") or hasattr(policy, "mlp_extractor")):
        return None
    normalizer = normalizer_of(model) or getattr(model, "_normalizer", None)
    if normalizer is not None and normalizer.norm_obs:
        raise ValueError("a network that sees boards through VecNormalize cannot be exported")
    from stable_baselines3.common.torch_layers import FlattenExtractor  # needs torch, as the others here

    from tictac_agents.deep.networks import (
        AfterstateActorCritic,
        AfterstateQNetwork,
        ConvFeatures,
        LineFeatures,
        windows,
    )

    # The form of its observations.
    kind = seen_type(game, space)
    if kind not in ("planes", "board"):
        raise ValueError(f"a network that sees {kind!r} cannot be exported; planes and boards can")
    sees = "planes last" if space.shape == (game.rows, game.cols, 2) != (2, game.rows, game.cols) else kind
    # The network that chooses the action: the Q-network of DQN, or the actor of PPO and A2C.
    if hasattr(policy, "q_net"):
        net = getattr(policy, "q_net_ema", policy.q_net)
        after, features, modules = isinstance(net, AfterstateQNetwork), net.features_extractor, list(net.q_net)
    else:
        net, after, features = policy, isinstance(policy, AfterstateActorCritic), policy.pi_features_extractor
        last = policy.action_net
        modules = [*policy.mlp_extractor.policy_net, *(last if after else [last])]
        features = features.of_board if after else features
    # Its features: the template computes those of lines itself, and convolutions are its first layers.
    arrays: dict[str, Array] = {}
    if isinstance(features, ConvFeatures):
        modules = [*features.layers, *modules]
    elif isinstance(features, LineFeatures):
        arrays["windows"] = windows(features.game)
    elif not isinstance(features, FlattenExtractor):
        raise ValueError(f"features by {type(features).__name__} cannot be exported")
    layers, activations = _layers(modules)
    if getattr(net, "squashed", False):
        activations[-1] = "Sigmoid"
    return _call("Network", arrays | layers, sees=sees, after=after, activations=tuple(activations))


def _layers(modules: Iterable[Any]) -> tuple[dict[str, npt.NDArray[np.float32]], list[str]]:
    """The weights and biases of the layers of a network, by name and number, and the function after each layer."""
    arrays: dict[str, npt.NDArray[np.float32]] = {}
    activations: list[str] = []
    for module in modules:
        name = type(module).__name__
        if name in ("Linear", "Conv2d"):
            for part in ("weight", "bias"):
                arrays[f"{part}_{len(activations)}"] = getattr(module, part).detach().cpu().numpy()
            activations.append("")
        elif name in Network.ACTIVATIONS and activations:
            activations[-1] = name
        elif name not in ("Flatten", "Identity"):
            raise ValueError(f"a network with a part {name} cannot be exported")
    return arrays, activations
