"""Networks of PyTorch choose the same moves in a file that knows NumPy only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_submission import GAME, loaded, positions, seen

from tictac_agents.export import submission
from tictac_env.games import get_game
from tictac_env.policies import as_policy
from tictac_env.position import Position

pytest.importorskip("stable_baselines3")

LINES = {"features_extractor_class": "LineFeatures", "features_extractor_kwargs": {"game": GAME}}
CONVS = {"features_extractor_class": "ConvFeatures", "features_extractor_kwargs": {"channels": 4}}


def model(algorithm: str, policy: str, obs_type: str, **policy_kwargs: Any) -> Any:
    """An untrained model, whose weights are as drawn."""
    import tictac_agents

    envs = tictac_agents.SB3VecEnv(GAME, num_envs=2, opponent=None, illegal="raise", obs_type=obs_type)
    given: dict[str, Any] = {"buffer_size": 10} if algorithm == "DQN" else {"n_steps": 4, "batch_size": 8}
    kwargs = {"net_arch": [16], **policy_kwargs}
    return getattr(tictac_agents, algorithm)(policy, envs, policy_kwargs=kwargs, seed=1, device="cpu", **given)


MODELS = [
    ("DQN", "MlpPolicy", "planes", {}),
    ("DQN", "MlpPolicy", "board", {"output": "sigmoid", **LINES}),
    ("DQN", "AfterstatePolicy", "planes", CONVS),
    ("DQN", "AfterstatePolicy", "board", LINES),
    ("MaskablePPO", "MlpPolicy", "board", {}),
    ("MaskablePPO", "AfterstatePolicy", "planes", LINES),
]


@pytest.mark.parametrize(("algorithm", "policy", "obs_type", "kwargs"), MODELS)
def test_a_network_chooses_the_same_moves(algorithm: str, policy: str, obs_type: str, kwargs: dict[str, Any]) -> None:
    """But where two actions are worth the same up to rounding, which differs with the order of a sum."""
    trained = model(algorithm, policy, obs_type, **kwargs)
    names = loaded(submission(trained))
    agent, player = names["agent"], as_policy(trained, get_game(GAME))
    for position in positions(GAME, 30):
        ours, theirs = player.act(position, 0), agent(seen(position), {})
        if ours != theirs:
            values = [worth(names, position, action) for action in (ours, theirs)]
            assert abs(values[0] - values[1]) < 1e-5, position


def worth(names: dict[str, Any], position: Position, action: int) -> float:
    network, stone = names["PLAYER"], names["moves"](position.own, position.opp)[action]
    if network.after:
        return float(network.outputs(position.own | stone, position.opp)[0])
    return float(network.outputs(position.own, position.opp)[action])


def test_a_checkpoint_is_exported_from_its_file(tmp_path: Path) -> None:
    trained = model("DQN", "MlpPolicy", "planes")
    trained.save(tmp_path / "dqn.zip")
    assert (
        submission(tmp_path / "dqn.zip").split("PLAYER: Player = ")[1]
        == submission(trained).split("PLAYER: Player = ")[1]
    )


def test_a_model_of_stable_baselines3_is_exported(tmp_path: Path) -> None:
    import gymnasium as gym
    import stable_baselines3 as sb3

    from tictac_env.policies import load_player

    plain = sb3.DQN("MlpPolicy", gym.make(GAME), buffer_size=10, policy_kwargs={"net_arch": [16]}, seed=0, device="cpu")
    plain.save(tmp_path / "plain.zip")
    agent = loaded(submission(tmp_path / "plain.zip"))["agent"]
    player = load_player(tmp_path / "plain.zip", GAME).policy
    found = [agent(seen(position), {}) for position in positions(GAME, 30)]
    assert found == [player.act(position, 0) for position in positions(GAME, 30)]
