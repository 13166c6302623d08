"""Checkpoints of deep agents: whole, and read without running what is in them."""

from __future__ import annotations

import base64
import io
import json
import math
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import breadth

from tictac_agents.plan import Plan
from tictac_env.arena import play_match, verdict
from tictac_env.wrappers import OpponentPool

pytest.importorskip("sb3_contrib")
import sb3_contrib
import stable_baselines3 as sb3
import torch
from sb3_pairs import C4, TTT
from stable_baselines3.common.vec_env import VecFrameStack, VecNormalize

from tictac_agents import DQN, MaskablePPO, SB3VecEnv, load_model

DEEP = {"buffer_size": 1_000, "learning_starts": 50, "device": "cpu", "policy_kwargs": {"net_arch": [8]}}
ON_POLICY = {"n_steps": 16, "device": "cpu", "policy_kwargs": {"net_arch": [8]}}


def boards(name: str = TTT, **kwargs: Any) -> SB3VecEnv:
    return SB3VecEnv(name, 4, opponent=None, **kwargs)


MADE = {
    "DQN": lambda envs: DQN("MlpPolicy", envs, seed=0, ema_decay=0.9, learning_rate=[1e-3, 1e-4], **DEEP),
    "MaskablePPO": lambda envs: MaskablePPO(
        "MlpPolicy", envs, seed=0, learning_rate=[1e-3, 1e-4], batch_size=16, **ON_POLICY
    ),
}


def with_entry(path: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    """A copy of a checkpoint with one entry changed."""
    target = path.with_name("changed.zip")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as archive:
        for entry in source.namelist():
            archive.writestr(entry, change(source.read(entry)) if entry == name else source.read(entry))
    return target


def with_data(path: Path, change: dict[str, Any]) -> Path:
    """A copy of a checkpoint with some entries of its JSON changed."""
    return with_entry(path, "data", lambda content: json.dumps(json.loads(content) | change).encode())


def with_plan(path: Path, change: dict[str, Any]) -> Path:
    """A copy of a checkpoint of ours with some entries of its plan changed."""

    def changed(content: bytes) -> bytes:
        record = json.loads(content)
        return json.dumps(record | {"plan": record["plan"] | change}).encode()

    return with_entry(path, "plan.json", changed)


class Bomb:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (self.folder,)


@pytest.mark.parametrize("algorithm", MADE)
@pytest.mark.parametrize("obs_type", breadth(["planes"], ["board"]))
def test_a_model_comes_back_as_it_was(algorithm: str, obs_type: str, tmp_path: Path) -> None:
    model = MADE[algorithm](boards(obs_type=obs_type)).learn(200)
    model.save(tmp_path / "model")
    back = type(model).load(tmp_path / "model", device="cpu")
    assert back.observation_space == model.observation_space
    assert back.plan == model.plan.changed(seed=None) and back.num_timesteps == model.num_timesteps
    if algorithm == "DQN":
        assert back.exploration_rate == model.exploration_rate > 0
        with pytest.raises(ValueError, match="exploration_rate"):
            DQN.load(with_data(tmp_path / "model.zip", {"exploration_rate": 7}), device="cpu")
        (tmp_path / "changed.zip").unlink()
    for key, weights in model.policy.state_dict().items():
        assert torch.equal(weights, back.policy.state_dict()[key])
    mine, theirs = (one.policy.optimizer.state_dict()["state"] for one in (model, back))
    assert mine.keys() == theirs.keys() and all(torch.equal(mine[i]["exp_avg"], theirs[i]["exp_avg"]) for i in mine)
    assert verdict(model) == verdict(back)
    resumed = type(model).load(tmp_path / "model", boards(obs_type=obs_type), device="cpu")
    assert resumed.learn(200, reset_num_timesteps=False).num_timesteps >= model.num_timesteps + 200
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.zip"]


@pytest.mark.parametrize(
    ("algorithm", "shape"),
    [
        *((name, kind) for name in ("DQN", "MaskablePPO") for kind in ("planes", "board", "code")),
        *(("PPO", "board"), ("A2C", "code"), ("MaskablePPO", "flat"), ("MaskablePPO", "planes last")),
    ],
)
def test_models_trained_elsewhere_are_judged_and_played_against(algorithm: str, shape: str, tmp_path: Path) -> None:
    """On our boards, flattened by Gymnasium's wrapper, or with the planes last as PettingZoo has them."""
    env: Any = gym.make(TTT, obs_type=shape if shape in ("planes", "board", "code") else "planes")
    if shape == "flat":
        env = gym.wrappers.FlattenObservation(env)
    elif shape == "planes last":
        space = gym.spaces.Box(0, 1, (3, 3, 2), np.int8)
        env = gym.wrappers.TransformObservation(env, lambda planes: np.moveaxis(planes, 0, -1), space)
    made = getattr(sb3, algorithm, None) or getattr(sb3_contrib, algorithm)
    settings: dict[str, Any] = DEEP if algorithm == "DQN" else {"n_steps": 64, "device": "cpu"}
    model = made("MlpPolicy", env, seed=0, **settings | {"policy_kwargs": {"net_arch": [8]}})  # which A2C adds to
    model.save(tmp_path / "model")
    back = load_model(tmp_path / "model", TTT, device="cpu")
    observation, _ = env.reset(seed=0)
    for action in (4, 0, 8):
        assert back.predict(observation, deterministic=True)[0] == model.predict(observation, deterministic=True)[0]
        observation = env.step(action)[0]
    if algorithm == "MaskablePPO":
        assert verdict(back) == verdict(model)
        assert play_match(back, "random", TTT, games=4).total.games == 4
        gym.make(TTT, opponent=back).reset(seed=0)


@pytest.mark.parametrize("place", ["observation_space", "policy_kwargs", "_last_obs", "verbose"])
def test_pickles_are_never_run(place: str, tmp_path: Path) -> None:
    folder = tmp_path / "exploded"
    bomb = {
        ":type:": "dict",
        ":serialized:": base64.b64encode(pickle.dumps(Bomb(folder))).decode(),
        "_shape": [2, 3, 3],
        "dtype": "int8",
        "low": str(np.zeros((2, 3, 3))),
        "high": str(np.ones((2, 3, 3))),
        "net_arch": "<class 'nobody.knows'>",
    }
    for model, load in (
        (MADE["DQN"](boards()), lambda path: DQN.load(path, device="cpu")),
        (sb3.DQN("MlpPolicy", boards(), **DEEP), lambda path: load_model(path, TTT, device="cpu")),
    ):
        model.save(tmp_path / "model.zip")
        changed = with_data(tmp_path / "model.zip", {place: bomb})
        if place == "policy_kwargs" and type(model) is sb3.DQN:
            with pytest.raises(ValueError, match="pickled"):
                load(changed)
        else:
            load(changed)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("code", ""),
        ("old", "format of PyTorch 1.6"),
        ("bomb", r"unpacks to more than [\d,]+ bytes"),
        ("NaN", "not a finite number"),
    ],
)
def test_weights_that_are_more_than_tensors_of_this_file_are_refused(kind: str, told: str, tmp_path: Path) -> None:
    """They hold code, are of a format that may ask for any amount of memory, unpack to too much, or are not numbers."""
    MADE["DQN"](boards()).save(tmp_path / "model.zip")
    held: Any = Bomb(tmp_path / "exploded") if kind == "code" else torch.full((9,), math.nan if kind == "NaN" else 0.0)
    content = io.BytesIO()
    torch.save({"weights": held}, content, _use_new_zipfile_serialization=kind != "old")
    if kind == "bomb":
        with zipfile.ZipFile(content) as plain, zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_BZIP2) as bomb:
            for name in plain.namelist():
                bomb.writestr(name, plain.read(name) + bytes(10**7 if name.endswith("data/0") else 0))
        content = packed
    changed = with_entry(tmp_path / "model.zip", "policy.pth", lambda before: content.getvalue())
    with pytest.raises(ValueError, match=f"cannot be read as a checkpoint of JSON and tensors.*{told}"):
        DQN.load(changed)
    assert not (tmp_path / "exploded").exists()


def test_a_model_may_be_packed_again_but_not_unpack_to_much(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    MADE["DQN"](boards()).save(path)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    torch.save({"weights": torch.zeros(10**7)}, zeros := io.BytesIO())
    for weights in (content["policy.pth"], zeros.getvalue()):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, entry in (content | {"policy.pth": weights}).items():
                archive.writestr(name, entry)
        if weights == content["policy.pth"]:
            DQN.load(path)
    with pytest.raises(ValueError, match=r"model\.zip cannot be read .*unpacks to more than [\d,]+ bytes"):
        DQN.load(path)


@pytest.mark.parametrize("net_arch", [[8, 10**6], {"qf": [[20_000, 20_000]]}, [10**9]], ids=str)
def test_settings_that_ask_for_more_than_the_weights_are_refused(net_arch: Any, tmp_path: Path) -> None:
    MADE["DQN"](boards()).save(tmp_path / "ours.zip")
    changed = with_plan(tmp_path / "ours.zip", {"policy_kwargs": {"net_arch": net_arch}})
    with pytest.raises(ValueError, match=r"changed\.zip .* need [\d,]+ weights or more, and it holds [\d,]+"):
        DQN.load(changed)
    sb3.DQN("MlpPolicy", boards(), **DEEP).save(tmp_path / "theirs.zip")
    changed = with_data(tmp_path / "theirs.zip", {"policy_kwargs": {"net_arch": net_arch}})
    with pytest.raises(ValueError, match=r"changed\.zip .* need [\d,]+ weights or more"):
        load_model(changed, TTT)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        DQN.load(tmp_path / "nothing.zip")
    (tmp_path / "text.zip").write_text("no archive")
    with pytest.raises(ValueError, match="cannot be read"):
        DQN.load(tmp_path / "text.zip")
    sb3.DQN("MlpPolicy", boards(), **DEEP).save(tmp_path / "theirs.zip")
    with pytest.raises(ValueError, match="load_model"):
        DQN.load(tmp_path / "theirs.zip")
    with pytest.raises(ValueError, match="no observation of"):
        load_model(tmp_path / "theirs.zip", C4)
    MADE["DQN"](boards()).save(tmp_path / "ours.zip")
    with pytest.raises(ValueError, match=r"ours\.zip cannot be loaded as .*: use DQN\.load"):
        load_model(tmp_path / "ours.zip", TTT)
    for activation in (torch.nn.ReLU, torch.nn.Hardtanh):
        sb3.PPO("MlpPolicy", boards(), device="cpu", policy_kwargs={"activation_fn": activation}).save(tmp_path / "p")
        if activation is torch.nn.ReLU:
            assert load_model(tmp_path / "p", TTT, device="cpu").policy.activation_fn is activation
    with pytest.raises(ValueError, match="give policy_kwargs yourself"):
        load_model(tmp_path / "p", TTT)
    assert load_model(tmp_path / "p", TTT, {"activation_fn": torch.nn.Hardtanh}, device="cpu")


TANH = {"policy_kwargs": {"net_arch": [8], "activation_fn": torch.nn.Tanh}}


@pytest.mark.parametrize("given", [TANH, {"learning_rate": lambda left: 1e-3 * left}], ids=["class", "function"])
@pytest.mark.parametrize("algorithm", [DQN, MaskablePPO])
def test_what_json_cannot_hold_is_given_again_and_everything_else_comes_back(
    algorithm: Any, given: dict[str, Any], tmp_path: Path
) -> None:
    """And no training is lost by it."""
    other: dict[str, Any] = {"clip_range_vf": 0.2, "batch_size": None, "n_steps": np.int64(16)}
    if algorithm is DQN:
        other = {"replay_buffer_kwargs": {"handle_timeout_termination": False}}
    model = algorithm("MlpPolicy", boards(), **{"device": "cpu", "policy_kwargs": {"net_arch": [8]}, **given, **other})
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=f"JSON cannot hold its {next(iter(given))}"):
        algorithm.load(tmp_path / "model", device="cpu")
    back = algorithm.load(tmp_path / "model", device="cpu", **given)
    assert verdict(back) == verdict(model) and back.plan == model.plan.changed(seed=None)
    if algorithm is DQN:
        assert not back.replay_buffer.handle_timeout_termination
    else:
        assert (back.clip_range_vf(1.0), back.batch_size, back.n_steps) == (0.2, None, 16)


@pytest.mark.parametrize("algorithm", MADE)
@pytest.mark.parametrize("obs_type", ["planes", "board"])
def test_boards_that_normalise_observations_are_refused(algorithm: str, obs_type: str, tmp_path: Path) -> None:
    """At once and in every way to give them; and the model and its boards stay as they are."""
    model: Any = MADE[algorithm](own := boards(obs_type=obs_type))
    model.save(tmp_path / "model")
    wrapped = VecFrameStack(VecNormalize(boards(obs_type=obs_type)), 1)
    for use in (MADE[algorithm], model.set_env, lambda env: type(model).load(tmp_path / "model", env, device="cpu")):
        with pytest.raises(ValueError, match="norm_obs=False"):
            use(wrapped)
    assert model.get_env() is own
    rewards_only = VecNormalize(boards(obs_type=obs_type), norm_obs=False)
    assert type(model).load(tmp_path / "model", rewards_only, device="cpu").learn(64).num_timesteps >= 64


@pytest.mark.parametrize("wrapper", ["normalised", "planes last", "flat"])
def test_a_file_is_not_loaded_on_boards_that_show_something_else(wrapper: str, tmp_path: Path) -> None:
    space = gym.spaces.Box(0, 1, (3, 3, 2), np.int8)
    env: Any = {
        "normalised": gym.wrappers.NormalizeObservation,
        "planes last": lambda env: gym.wrappers.TransformObservation(env, lambda x: np.moveaxis(x, 0, -1), space),
        "flat": gym.wrappers.FlattenObservation,
    }[wrapper](gym.make(TTT, opponent=None))
    model = MaskablePPO("MlpPolicy", env, batch_size=16, **ON_POLICY)
    model.save(tmp_path / "model")
    assert MaskablePPO.load(tmp_path / "model", env, device="cpu").observation_space == env.observation_space
    if wrapper == "flat":  # which networks do by themselves
        assert verdict(MaskablePPO.load(tmp_path / "model", device="cpu")) == verdict(model)
        return
    for given in (None, boards()):
        with pytest.raises(ValueError, match=r"model cannot be loaded .* learned on observations of Box"):
            MaskablePPO.load(tmp_path / "model", given, device="cpu")


@pytest.mark.parametrize("algorithm", MADE)
def test_the_boards_are_those_of_the_settings(algorithm: str, tmp_path: Path) -> None:
    """The file's or those given to `load`, and never others in silence."""
    made = {"DQN": DQN, "MaskablePPO": MaskablePPO}[algorithm]
    self_play = Plan.of(algorithm, opponent=None, start="reachable", num_envs=3, gamma=-1.0, total=300)
    made.from_plan(self_play, device="cpu").save(tmp_path / "model")

    back = made.load(tmp_path / "model", device="cpu")
    arguments = back.get_env().get_attr("arguments")[0]
    assert arguments.opponent is None and len(arguments.start) == 4520 and back.n_envs == 3
    other = made.load(tmp_path / "model", device="cpu", opponent="rule", play_as="second", num_envs=2)
    arguments = other.get_env().get_attr("arguments")[0]
    assert (str(arguments.opponent), arguments.play_as, other.n_envs) == ("rule", "second", 2)
    assert other.plan == self_play.changed(opponent="rule", play_as="second", num_envs=2)

    given = made.load(tmp_path / "model", SB3VecEnv(TTT, 5, opponent="minimax"), device="cpu").plan
    assert (given.opponent, given.num_envs, given.start, given.total) == ("minimax", 5, "empty", 300)
    with pytest.raises(ValueError, match="opponent cannot be set"):
        made.load(tmp_path / "model", boards(), device="cpu", opponent="rule")


@pytest.mark.parametrize("algorithm", MADE)
def test_the_sign_of_gamma_follows_when_a_model_learns_on_with_an_opponent(algorithm: str, tmp_path: Path) -> None:
    model: Any = MADE[algorithm](boards())
    made = type(model)
    model.save(tmp_path / "model")
    for given in ({"env": SB3VecEnv(TTT, 4, opponent="rule")}, {"opponent": "rule"}):
        lesson = made.load(tmp_path / "model", device="cpu", **given)
        assert (lesson.gamma, lesson.plan.opponent) == (0.99, "rule")
    lesson.save(tmp_path / "lesson")
    assert made.load(tmp_path / "lesson", boards(), device="cpu", gamma=-0.9).gamma == -0.9


@pytest.mark.parametrize("algorithm", MADE)
@pytest.mark.parametrize(("opponent", "gamma"), [("rule", -1.0), (None, 0.99)])
def test_a_file_whose_gamma_contradicts_its_opponent_is_refused(
    algorithm: str, opponent: str | None, gamma: float, tmp_path: Path
) -> None:
    model: Any = MADE[algorithm](SB3VecEnv(TTT, 4, opponent=opponent))
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=rf"changed\.zip .*gamma.*{gamma}"):
        type(model).load(with_plan(tmp_path / "model.zip", {"gamma": gamma}), device="cpu")
    of_other_boards = with_plan(tmp_path / "model.zip", {"gamma": gamma, "game": "unknown"})
    with pytest.raises(ValueError, match="unknown"):  # there the boards are to be given
        type(model).load(of_other_boards, device="cpu")
    if opponent is not None:  # the default of boards that are not ours, which may have been self-play
        assert type(model).load(of_other_boards, boards(), device="cpu").gamma == -1


def rule(observation: Any, mask: Any) -> int:
    """A function that is called what a policy is called."""
    return int(mask.argmax())


@pytest.mark.parametrize("opponent", [OpponentPool(["random", "rule"]), rule], ids=["pool", "function"])
@pytest.mark.parametrize("algorithm", MADE)
def test_opponents_that_names_do_not_make_are_asked_for(algorithm: str, opponent: Any, tmp_path: Path) -> None:
    """Before any learning; to be judged, a model needs none."""
    envs = SB3VecEnv(TTT, 4, opponent=opponent)
    model = MADE[algorithm](envs)
    model.save(tmp_path / "model")
    back = type(model).load(tmp_path / "model", device="cpu")
    assert back.plan == model.plan.changed(seed=None) and verdict(back) == verdict(model)
    with pytest.raises(ValueError, match="the boards cannot be made from opponent="):
        back.learn(10)
    assert type(model).load(tmp_path / "model", device="cpu", opponent="random").learn(64).num_timesteps >= 64
    back.set_env(SB3VecEnv(TTT, 4, opponent="minimax"))
    assert back.learn(64).plan.opponent == "minimax"


def test_what_a_file_calls_its_opponent_runs_nothing(tmp_path: Path) -> None:
    """A file from elsewhere may name a module, a program or another file there."""
    trap = tmp_path / "trap.py"
    trap.write_text(f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\nact = max\n")
    MADE["DQN"](boards()).save(tmp_path / "model")
    for name in (f"{trap}:act", f"kaggle:{trap}", f"program:touch {tmp_path / 'ran'}", str(tmp_path / "model.zip")):
        back = DQN.load(with_plan(tmp_path / "model.zip", {"opponent": name}))
        assert back.env is None and back.plan.opponent == name
    assert not (tmp_path / "ran").exists()
