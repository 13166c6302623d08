"""Networks of other people play from their files as they do in their own code, and no code in a file is run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tictac_apps.bridges.onnx import network_input
from tictac_env import verdict
from tictac_env.games import get_game
from tictac_env.policies import BatchedPolicy, load_player
from tictac_env.policies.loading import Reading
from tictac_env.position import Position

TTT, C4 = get_game("TicTacToe-v0"), get_game("ConnectFour-v0")


def flat(observations: Any) -> Any:
    return observations.reshape(len(observations), -1)


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
