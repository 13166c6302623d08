"""Networks of other people play from their files as they do in their own code, and no code in a file is run."""

from __future__ import annotations

import math
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tictac_env import verdict
from tictac_env.games import get_game
from tictac_env.policies import BatchedPolicy, load_player
from tictac_env.policies.loading import Reading
from tictac_env.policies.third_party import network_input
from tictac_env.position import Position

torch = pytest.importorskip("torch")
TTT, C4 = get_game("TicTacToe-v0"), get_game("ConnectFour-v0")


def network(activation: type[Any], inputs: int, *sizes: int) -> Any:
    """Layers in a row, as in CleanRL's scripts."""
    torch.manual_seed(len(sizes))
    layers: list[Any] = []
    for size in sizes:
        layers += [activation()] if layers else []
        layers.append(torch.nn.Linear(inputs, size))
        inputs = size
    return torch.nn.Sequential(*layers)


def played_by(model: Any, prepare: Any) -> BatchedPolicy:
    """The policy that a user writes for a network of theirs."""

    def choose(observations: Any, masks: Any) -> Any:
        with torch.no_grad():
            values = model(torch.as_tensor(prepare(observations), dtype=torch.float32)).numpy()
        return np.where(masks != 0, values, -np.inf).argmax(axis=1)

    return BatchedPolicy(choose)


class QNetwork(torch.nn.Module):  # type: ignore[misc]
    """As in cleanrl/dqn.py."""

    def __init__(self) -> None:
        super().__init__()
        self.network = network(torch.nn.ReLU, 18, 24, 16, 9)


class Agent(torch.nn.Module):  # type: ignore[misc]
    """As in cleanrl/ppo.py."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = network(torch.nn.Tanh, 18, 16, 1)
        self.actor = network(torch.nn.Tanh, 18, 16, 16, 9)


class Named(torch.nn.Module):  # type: ignore[misc]
    """As many tutorials have it."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, _, self.fc2 = network(torch.nn.ReLU, 18, 20, 9)


def flat(observations: Any) -> Any:
    return observations.reshape(len(observations), -1)


def last(observations: Any) -> Any:
    return np.moveaxis(observations, 1, -1).reshape(len(observations), -1)


@pytest.mark.parametrize("name", ["dqn.cleanrl_model", "ppo.pt", "fc.pth", "nested.pt"])
def test_weights_play_as_the_network_they_are_of(name: str, tmp_path: Path) -> None:
    made: dict[str, tuple[Any, Any, str]] = {
        "dqn.cleanrl_model": (QNetwork(), lambda model: model.network, "18-24-16-9, relu (assumed)"),
        "ppo.pt": (Agent(), lambda model: model.actor, "18-16-16-9, tanh (assumed)"),
        "fc.pth": (
            Named(),
            lambda model: torch.nn.Sequential(model.fc1, torch.nn.ReLU(), model.fc2),
            "18-20-9, relu (assumed)",
        ),
        "nested.pt": (QNetwork(), lambda model: model.network, "18-24-16-9, relu (assumed)"),
    }
    model, chooser, told = made[name]
    weights = model.state_dict()
    torch.save({"step": 3, "model": weights} if name == "nested.pt" else weights, tmp_path / name)
    player = load_player(tmp_path / name, TTT)
    assert told in player.budget and player.agent == "TorchNetwork" and player.checkpoint_sha256
    found, wanted = verdict(player.policy), verdict(played_by(chooser(model), flat))
    assert (found.as_first, found.as_second) == (wanted.as_first, wanted.as_second)


def test_what_weights_do_not_say_can_be_said(tmp_path: Path) -> None:
    model = QNetwork()
    model.network[1] = torch.nn.Tanh()
    model.network[3] = torch.nn.Tanh()
    torch.save(model.state_dict(), tmp_path / "q.pt")
    for prepare, observation in ((flat, "planes"), (last, "planes-last")):
        player = load_player(tmp_path / "q.pt", TTT, Reading(observation=observation, activation="tanh"))
        assert player.budget.endswith(f"tanh, seeing {observation}")
        assert verdict(player.policy).as_first == verdict(played_by(model.network, prepare)).as_first
    assert verdict(load_player(tmp_path / "q.pt", TTT).policy).as_first != verdict(player.policy).as_first


def test_weights_of_another_game_or_kind_say_what_they_are(tmp_path: Path) -> None:
    torch.save(QNetwork().state_dict(), tmp_path / "q.pt")
    torch.save(torch.nn.Conv2d(2, 9, 3).state_dict(), tmp_path / "conv.pt")
    torch.save({"a.0.weight": torch.zeros(9, 18), "b.0.weight": torch.zeros(9, 18)}, tmp_path / "two.pt")
    torch.save({"net.0.weight": torch.zeros(9, 17)}, tmp_path / "wide.pt")
    torch.save(3, tmp_path / "three.pt")
    (tmp_path / "text.pt").write_text("hello")
    for name, game, match in (
        ("q.pt", C4, r"q\.pt: it holds no network .* with 7 outputs, but network\.0\.weight \(24, 18\)"),
        ("conv.pt", TTT, r"conv\.pt: it holds no network .*; a network of another kind plays as \"file\.py:name\""),
        ("two.pt", TTT, r"several networks, 'a\.', 'b\.'"),
        ("wide.pt", TTT, r"the input \(17,\) fits no observation; .*\(2, 3, 3\) \(planes\), \(18,\) \(planes\)"),
        ("three.pt", TTT, "no tensors"),
        ("text.pt", TTT, r"text\.pt cannot be read as weights of PyTorch"),
    ):
        with pytest.raises(ValueError, match=match):
            load_player(tmp_path / name, game)


class Evil:
    """Runs a command when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


def test_code_in_weights_is_not_run(tmp_path: Path) -> None:
    torch.save({"network.0.weight": torch.zeros(9, 18), "more": Evil(tmp_path / "ran")}, tmp_path / "evil.pt")
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(Evil(tmp_path / "ran")))
    for name in ("evil.pt", "plain.pt"):
        with pytest.raises(ValueError, match="without running what is in it"):
            load_player(tmp_path / name, TTT)
    assert not (tmp_path / "ran").exists()
    torch.load(tmp_path / "evil.pt", weights_only=False)  # it would have
    assert (tmp_path / "ran").exists()


def test_weights_that_ask_for_more_than_the_file_holds_are_refused(tmp_path: Path) -> None:
    weights = {"network.0.weight": torch.zeros(9, 18)}
    torch.save(weights, tmp_path / "old.pt", _use_new_zipfile_serialization=False)  # which says how much it will be
    torch.save(weights, tmp_path / "plain.pt")
    torch.save({"network.0.weight": torch.zeros(1).half().expand(9, 10**9)}, tmp_path / "one.pt")
    torch.save({"network.0.weight": torch.zeros(9, 18, device="meta")}, tmp_path / "shape.pt")
    with (
        zipfile.ZipFile(tmp_path / "plain.pt") as plain,
        zipfile.ZipFile(tmp_path / "bomb.pt", "w", zipfile.ZIP_BZIP2) as bomb,
    ):
        for name in plain.namelist():
            bomb.writestr(name, plain.read(name) + bytes(10**7 if name.endswith("data/0") else 0))
    for name, match in (
        ("old.pt", "not in the format of PyTorch 1.6 and later"),
        ("one.pt", "no tensors"),
        ("shape.pt", "no tensors"),
        ("bomb.pt", r"unpacks to more than [\d,]+ bytes"),
    ):
        with pytest.raises(ValueError, match=rf"{name}.*{match}"):
            load_player(tmp_path / name, TTT)
    assert load_player(tmp_path / "plain.pt", TTT).agent == "TorchNetwork"


@pytest.mark.parametrize(
    ("shape", "observation", "name", "order"),
    [
        ((2, 3, 3), None, "planes", "as it is"),
        ((18,), None, "planes", "flat"),
        ((3, 3, 2), None, "planes-last", "last"),
        ((18,), "planes-last", "planes-last", "last"),
        ((3, 3), None, "board", "as it is"),
        ((1, 3, 3), None, "board", "as it is"),
        ((9,), "board", "board", "flat"),
    ],
)
def test_the_shape_of_an_input_tells_what_it_sees(
    shape: tuple[int, ...], observation: str | None, name: str, order: str
) -> None:
    from tictac_env.position_batch import PositionBatch

    found = network_input(TTT, shape, observation)
    assert str(found) == name
    batch = PositionBatch.of([Position.from_moves(TTT, "152"), Position.from_moves(TTT, "9")])
    seen = batch.observations(found.obs_type)
    array = found.arrays(seen)
    assert array.shape == (2, *shape) and array.dtype == np.float32
    assert np.array_equal(array.ravel(), (np.moveaxis(seen, 1, -1) if order == "last" else seen).ravel())
    assert math.prod(shape) == seen[0].size


def onnx_file(path: Path, weights: Any, batch: int | str, inputs: tuple[str, ...], gives: str) -> None:
    """A linear layer on flattened planes; with a mask it gives illegal actions -100; or it gives the best action."""
    onnx = pytest.importorskip("onnx")
    make, kinds = onnx.helper, onnx.TensorProto
    nodes = [
        make.make_node("Flatten", ["board"], ["flat"], axis=1),
        make.make_node("MatMul", ["flat", "weights"], ["values" if len(inputs) == 1 else "raw"]),
    ]
    initial = [onnx.numpy_helper.from_array(weights.astype(np.float32), "weights")]
    shown = [make.make_tensor_value_info("board", kinds.FLOAT, [batch, 2, 3, 3])]
    if len(inputs) == 2:
        shown.append(make.make_tensor_value_info("action_mask", kinds.FLOAT, [batch, 9]))
        initial.append(onnx.numpy_helper.from_array(np.array([100], np.float32), "hundred"))
        nodes += [
            make.make_node("Mul", ["action_mask", "hundred"], ["more"]),
            make.make_node("Add", ["raw", "more"], ["values"]),
        ]
    out = make.make_tensor_value_info("values", kinds.FLOAT, [batch, 9])
    if gives == "actions":
        nodes.append(make.make_node("ArgMax", ["values"], ["actions"], axis=1, keepdims=0))
        out = make.make_tensor_value_info("actions", kinds.INT64, [batch])
    graph = make.make_graph(nodes, "net", shown, [out], initial)
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(path))


@pytest.mark.parametrize(
    ("batch", "inputs", "gives"),
    [
        ("B", ("board",), "values"),
        (1, ("board",), "values"),
        ("B", ("board", "mask"), "actions"),
        (1, ("board", "mask"), "actions"),
    ],
)
def test_an_onnx_network_plays_as_it_does(batch: Any, inputs: Any, gives: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    weights = np.random.default_rng(1).normal(size=(18, 9))
    onnx_file(tmp_path / "net.onnx", weights, batch, inputs, gives)
    player = load_player(tmp_path / "net.onnx", TTT)
    assert player.settings == {"format": "ONNX", "input": "planes (2, 3, 3)", "gives": gives}

    def choose(observations: Any, masks: Any) -> Any:
        values = flat(observations).astype(np.float32) @ weights.astype(np.float32)
        return np.where(masks != 0, values, -np.inf).argmax(axis=1)

    found, wanted = verdict(player.policy), verdict(BatchedPolicy(choose))
    assert (found.as_first, found.as_second) == (wanted.as_first, wanted.as_second)
    with pytest.raises(ValueError, match=r"net\.onnx must have one input besides a mask|fits no observation"):
        load_player(tmp_path / "net.onnx", C4)


@pytest.mark.parametrize("batch", ["B", 1])
def test_an_onnx_network_that_loops_is_stopped(batch: int | str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    make, kinds = onnx.helper, onnx.TensorProto
    body = make.make_graph(
        [make.make_node("Identity", ["on"], ["still"]), make.make_node("Identity", ["x"], ["y"])],
        "body",
        [
            make.make_tensor_value_info("i", kinds.INT64, []),
            make.make_tensor_value_info("on", kinds.BOOL, []),
            make.make_tensor_value_info("x", kinds.FLOAT, None),
        ],
        [make.make_tensor_value_info("still", kinds.BOOL, []), make.make_tensor_value_info("y", kinds.FLOAT, None)],
    )
    nodes = [
        make.make_node("Loop", ["many", "true", "board"], ["same"], body=body),
        make.make_node("Flatten", ["same"], ["flat"], axis=1),
        make.make_node("MatMul", ["flat", "weights"], ["values"]),
    ]
    initial = [
        onnx.numpy_helper.from_array(np.array(2**62), "many"),
        onnx.numpy_helper.from_array(np.array(True), "true"),
        onnx.numpy_helper.from_array(np.zeros((18, 9), np.float32), "weights"),
    ]
    shown = make.make_tensor_value_info("board", kinds.FLOAT, [batch, 2, 3, 3])
    out = make.make_tensor_value_info("values", kinds.FLOAT, [batch, 9])
    graph = make.make_graph(nodes, "net", [shown], [out], initial)
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9), tmp_path / "loop.onnx")
    player = load_player(tmp_path / "loop.onnx", TTT, Reading(time_limit=0.2))
    with pytest.raises(TimeoutError, match=r"loop\.onnx: no answer within 0\.2 s"):
        player.policy.act(Position.start(TTT), 0)


def test_what_is_no_onnx_network_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        with pytest.raises(Exception, match=r'onnxruntime is missing: pip install "tictac-env\[onnx\]"'):
            load_player(tmp_path / "bad.onnx", TTT)
    else:
        with pytest.raises(ValueError, match=r"bad\.onnx cannot be read as an ONNX network"):
            load_player(tmp_path / "bad.onnx", TTT)
