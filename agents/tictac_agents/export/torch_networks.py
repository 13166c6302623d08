"""What a deep agent's PyTorch modules are as arrays: `export.networks` evaluates them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.dqn.policies import DQNPolicy

from tictac_agents.deep.actor_critic import AfterstateActorCritic
from tictac_agents.deep.features import ConvFeatures, LineFeatures, cell_bits, window_bits
from tictac_agents.deep.networks import AfterstateQNetwork
from tictac_agents.export.networks import DeepNetwork, Layer, LineWeights
from tictac_env.games import Game
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.observation import observation_type_of

ACTIVATIONS = ("ReLU", "LeakyReLU", "ELU", "SiLU", "Sigmoid", "Tanh")


def deep_network(policy: Any, space: Any, game: Game) -> DeepNetwork:
    """A policy of Stable-Baselines3's, of sb3-contrib's or of ours as arrays.

    Args:
        policy: the `policy` of a model: DQN's, PPO's, A2C's or MaskablePPO's.
        space: what it observes.
        game: the game it plays.

    Raises:
        ValueError: it has a part that `export.networks` does not know, or sees something else than planes or boards.
    """
    kind = observation_type_of(game, space).name
    if kind not in ("planes", "board"):
        raise ValueError(f"a network that sees {kind!r} cannot be exported; planes and boards can")
    sees = "planes last" if space.shape == (game.rows, game.cols, 2) != (2, game.rows, game.cols) else kind
    if isinstance(policy, DQNPolicy):
        net: Any = getattr(policy, "q_net_ema", policy.q_net)
        after, features, head = isinstance(net, AfterstateQNetwork), net.features_extractor, list(net.q_net)
        head += [torch.nn.Sigmoid()] if getattr(net, "squashed", False) else []
    else:
        after, features = isinstance(policy, AfterstateActorCritic), policy.pi_features_extractor
        head = [*policy.mlp_extractor.policy_net, *_parts(policy.action_net)]
        features = features.of_board if after else features
    body: list[Any] = []
    lines = None
    if isinstance(features, ConvFeatures):
        body = list(features.layers)
    elif isinstance(features, LineFeatures):
        lines = _line_weights(features.game, features.features_dim)
    elif not isinstance(features, FlattenExtractor):
        raise ValueError(f"features by {type(features).__name__} cannot be exported")
    return DeepNetwork(sees, after, lines, _layers([*body, *head]))


def _parts(module: Any) -> list[Any]:
    return list(module) if isinstance(module, torch.nn.Sequential) else [module]


def _layers(modules: list[Any]) -> tuple[Layer, ...]:
    """The layers of a row of modules, each with the function after it.

    Raises:
        ValueError: a module is neither a layer nor a function that is known.
    """
    layers: list[Layer] = []
    for module in modules:
        name = type(module).__name__
        if isinstance(module, (torch.nn.Linear, torch.nn.Conv2d)):
            parts: Any = module.weight, module.bias
            weights, biases = (one.detach().cpu().numpy().copy() for one in parts)
            layers.append(Layer(weights, biases, ""))
        elif name in ACTIVATIONS and layers:
            layers[-1] = layers[-1]._replace(activation=name)
        elif name not in ("Flatten", "Identity"):
            raise ValueError(f"a network with a part {name} cannot be exported")
    return tuple(layers)


def _line_weights(game: KInARow, features: int) -> LineWeights:
    """What finds the features of lines, without a network."""
    return LineWeights(
        cells=np.array(cell_bits(game), np.int64),
        lines=np.array(window_bits(game), np.int64),
        active=np.zeros(features + 1, np.int64),
    )
