"""Operators that onnxruntime's optimizer and quantizer write, against onnxruntime; and what it makes of a network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import transload
from transload_converters.onnx.runtime import open_model

from tests.support.judge_versions import newer_onnxruntime
from tests.support.onnx_models import make_model, node

G = np.random.default_rng(6)
MS = {"domain": "com.microsoft"}


def F(*shape: int) -> np.ndarray:
    return G.standard_normal(shape).astype(np.float32)


def Q(*shape: int, dtype: Any = np.uint8) -> np.ndarray:
    info = np.iinfo(dtype)
    return G.integers(info.min, info.max + 1, shape).astype(dtype)


def _tables(half: int) -> dict[str, np.ndarray]:
    angles = np.arange(16)[:, None] * (0.5 ** np.arange(half))[None]
    return {"c": np.cos(angles).astype(np.float32), "s": np.sin(angles).astype(np.float32)}


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize(("x", "heads", "part"), [((2, 5, 24), 3, 0), ((2, 3, 5, 8), 0, 0), ((2, 5, 36), 3, 8)])
@pytest.mark.parametrize("begin", [True, False])
def test_rotary_embedding(
    compare: Callable[..., Any], x: tuple[int, ...], heads: int, part: int, interleaved: int, begin: bool,
) -> None:
    places = np.array([3]) if begin else np.stack([np.arange(5), np.arange(4, 9)])
    more = {"rotary_embedding_dim": part} if part else {}
    rotary = node("RotaryEmbedding", ["x", "p", "c", "s"], ["y"], num_heads=heads, interleaved=interleaved, **more, **MS)
    compare(rotary, {"x": F(*x)}, ("y",), {"p": places, **_tables(4)})


OTHER_WINDOWS = newer_onnxruntime("takes windows of keys to be one longer")


@pytest.mark.parametrize("rotary", [0, 1])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("earlier", "more"), [
    (0, {}), (4, {}), pytest.param(0, {"local_window_size": 2}, marks=OTHER_WINDOWS), (0, {"softcap": 5.0, "scale": 0.3})])
def test_attention_in_groups(compare: Callable[..., Any], earlier: int, more: dict[str, Any], packed: bool, rotary: int) -> None:
    batch, count, heads, groups, size = 2, 1 if earlier else 5, 4, 2, 16
    columns = {"q": heads * size, "k": groups * size, "v": groups * size}
    inputs = {"q": F(batch, count, sum(columns.values()))} if packed else {key: F(batch, count, n) for key, n in columns.items()}
    names = ["q", "", ""] if packed else ["q", "k", "v"]
    if earlier:
        inputs |= {"pk": F(batch, groups, earlier, size), "pv": F(batch, groups, earlier, size)}
    total = earlier + count
    constants = {"n": np.full(batch, total - 1, np.int32), "t": np.int32(total), **(_tables(8) if rotary else {})}
    names += ["pk", "pv"] if earlier else ["", ""]
    names += ["n", "t", "c", "s"] if rotary else ["n", "t"]
    attention = node("GroupQueryAttention", names, ["y", "k2", "v2"], num_heads=heads, kv_num_heads=groups, do_rotary=rotary,
                     **more, **MS)
    compare(attention, inputs, ("y", "k2", "v2"), constants, atol=1e-4)


@pytest.mark.parametrize(("count", "room", "lengths", "total", "more"), [
    (1, 8, (3, 5), 6, {}), (1, 8, (0, 7), 8, {}), (1, 5, (5, 3), 6, {}),
    pytest.param(1, 8, (3, 6), None, {"local_window_size": 3}, marks=OTHER_WINDOWS),
    (4, 8, (3, 3), 4, {}), (3, 7, (5,), 6, {})])
def test_attention_in_groups_with_room_in_its_cache(
    tmp_path: Path, count: int, room: int, lengths: tuple[int, ...], total: int | None, more: dict[str, Any],
) -> None:
    """New keys go behind those that there are, in the room that is given; only the run tells how many, of each of a batch."""
    batch, heads, groups, size = len(lengths), 4, 2, 16
    inputs = {"q": F(batch, count, heads * size), "k": F(batch, count, groups * size), "v": F(batch, count, groups * size),
              "pk": F(batch, groups, room, size), "pv": F(batch, groups, room, size), "n": np.array(lengths, np.int32)}
    known = np.int32(max(lengths) + 1 if total is None else total)
    constants = {"t": known, **_tables(8)}
    attention = node("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "n", "t", "c", "s"], ["y", "k2", "v2"], num_heads=heads,
                     kv_num_heads=groups, do_rotary=1, **more, **MS)
    if total is None:
        inputs["t"] = constants.pop("t")
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model([attention], inputs, ["y", "k2", "v2"], constants).SerializeToString())
    theirs = open_model(file)(inputs)
    ours = transload.run(transload.legalize(transload.load(file)), inputs)
    np.testing.assert_allclose(ours["y"], theirs["y"], rtol=1e-4, atol=1e-4)
    for name in ("k2", "v2"):  # 0 behind the new ones, whatever was there
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("padding", [-1e9, -3e38, float(np.finfo(np.float32).min)])
def test_groups_see_no_later_keys_whatever_a_bias_adds_to_padding(compare: Callable[..., Any], padding: float) -> None:
    bias = np.zeros((1, 1, 4, 4), np.float32)
    bias[..., :2] = padding  # the first queries see nothing but padding
    attention = node("GroupQueryAttention", ["q", "k", "v", "", "", "n", "t", "", "", "", "b"], ["y"],
                     num_heads=4, kv_num_heads=2, **MS)
    constants = {"n": np.array([3], np.int32), "t": np.int32(4), "b": bias}
    compare(attention, {"q": F(1, 4, 32), "k": F(1, 4, 16), "v": F(1, 4, 16)}, ("y",), constants, atol=1e-4)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_of_integers(compare: Callable[..., Any], masked: bool) -> None:
    constants = {"w": Q(12, 36, dtype=np.int8), "b": F(36), "xs": np.float32(0.02), "ws": np.float32(0.01), "xz": np.uint8(120),
                 "wz": np.int8(0), **({"m": np.array([3, 5], np.int32)} if masked else {})}
    attention = node("QAttention", ["x", "w", "b", "xs", "ws", "m" if masked else "", "xz", "wz"], ["y"], num_heads=3, **MS)
    compare(attention, {"x": Q(2, 5, 12)}, ("y",), constants, atol=1e-4)


@pytest.mark.parametrize("last", [0, 1])
def test_quantized_convolution_with_channels_first_or_last(compare: Callable[..., Any], last: int) -> None:
    constants = {"xs": np.float32(0.02), "xz": np.uint8(120), "w": Q(6, 2, 3, 3, dtype=np.int8), "ws": np.float32(0.01),
                 "wz": np.int8(0), "ys": np.float32(0.05), "yz": np.uint8(100), "b": G.integers(-500, 500, 6).astype(np.int32)}
    conv = node("QLinearConv", ["x", *constants], ["y"], channels_last=last, group=2, pads=[1, 1, 1, 1], **MS)
    compare(conv, {"x": Q(1, 7, 6, 4) if last else Q(1, 4, 7, 6)}, ("y",), constants)


def test_greatest_of_windows_with_channels_last(compare: Callable[..., Any]) -> None:
    pool = node("NhwcMaxPool", ["x"], ["y"], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 0, 1], **MS)
    compare(pool, {"x": Q(2, 7, 6, 5)})


def test_floats_quantized_by_their_own_range(compare: Callable[..., Any]) -> None:
    constants = {"w": Q(6, 4, dtype=np.int8), "ws": np.float32(0.02), "wz": np.int8(3), "b": F(4)}
    compare(node("DynamicQuantizeMatMul", ["x", *constants], ["y"], **MS), {"x": F(5, 6)}, ("y",), constants)


def test_a_network_that_was_optimized_for_the_processor_it_runs_on(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    weights = {"w0": F(24, 3, 3, 3), "b0": F(24), "w1": F(24, 1, 3, 3), "w2": F(40, 24, 1, 1), "b2": F(40), "w3": F(24, 40, 1, 1)}
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["a"], pads=[1, 1, 1, 1]), node("Relu", ["a"], ["r"]),
        node("Conv", ["r", "w1"], ["d"], pads=[1, 1, 1, 1], group=24), node("LeakyRelu", ["d"], ["l"], alpha=0.2),
        node("Conv", ["l", "w2", "b2"], ["e"]), node("MaxPool", ["e"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["m", "w3"], ["f"]), node("AveragePool", ["f"], ["y"], kernel_shape=[2, 2])]
    x = {"x": F(1, 3, 8, 8)}
    file, optimized = tmp_path / "model.onnx", tmp_path / "optimized.onnx"
    file.write_bytes(make_model(nodes, x, ["y"], weights).SerializeToString())
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.optimized_model_filepath = str(optimized)
    runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    if not any(each.domain == "com.microsoft.nchwc" for each in onnx.load(str(optimized)).graph.node):
        pytest.skip("onnxruntime has no blocked convolutions for this processor")
    made = transload.run(transload.legalize(transload.load(optimized)), x)
    np.testing.assert_allclose(made["y"], open_model(file)(x)["y"], rtol=1e-4, atol=1e-4)
