"""Models that are quantized in part: what is quantized stays, the rest gets ranges on samples, and the whole is of integers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import transload
from transload.api import at_hub
from transload.errors import UsageError
from transload.ir import BOOL, F32, I8, UI8, Block, Module, QuantType, Region, TensorType
from transload.ir.build import Builder
from transload.quantization import quantize_at_hub
from transload_converters.tflite.runtime import open_model

from tests.support.fake_quant import Made, simulated
from tests.support.graphs import Graph
from tests.support.tensorflow_graphs import T


def trained() -> Any:
    """FakeQuant nodes left out at the input, behind a convolution before a sum, behind a mean, and at the end."""
    g = Made()
    c = g.biased("cb", g.conv("c", "x", g.weights("w", 3, 3, 3, 8, channels=True)), 8)
    c = g.fake("cq", g.op("cr", "Relu6", c), 0.0, 4.1337)
    d = g.conv("d", c, g.weights("v", 3, 3, 8, 1, num_bits=4), kind="DepthwiseConv2dNative")
    a = g.fake("aq", g.op("a", "AddV2", c, d), -2.1717, 5.0321)
    m = g.op("m", "Mean", a, np.array([1, 2], np.int32), Tidx=T("int32"))
    g.biased("y", g.op("p", "MatMul", m, g.weights("u", 8, 10)), 10)
    return g.done()


def samples(count: int) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(5)
    return [{"x": random.normal(0, 0.6, (1, 8, 8, 3)).astype(np.float32)} for _ in range(count)]


def hub_of(graph: Any) -> Module:
    return at_hub(transload.load(text=graph.SerializeToString(), format="tensorflow"))


def in_floats(hub: Module) -> list[str]:
    return [op.name for op in hub.ops() if op.results and op.results[0].is_float and op.name != "top.Weight"]


def test_what_training_left_out_is_completed(tmp_path: Path) -> None:
    graph = trained()
    hub = hub_of(graph)
    assert {"top.Conv", "top.Add", "top.Reduce", "top.MatMul"} <= set(in_floats(hub))
    made = quantize_at_hub(hub, "int8", samples(16), {})
    assert in_floats(made.module) == ["top.Cast"] and not made.floats
    assert made.report["completed"] == {"tensors": 4}
    assert [note.split("'")[1] for note in made.report["notes"]] == ["x", "d", "m", "y"]
    kinds = {op.origin: op.results[0].quant for op in made.module.ops() if op.results and op.results[0].quant is not None}
    np.testing.assert_allclose([kinds["cq"].scale, kinds["aq"].scale], np.array([4.1337, 2.1717 + 5.0321]) / 255, rtol=1e-6)
    _, wanted = simulated(graph, samples(1)[0])
    convs = [op.filter.op.value.numpy() for op in made.module.ops() if op.name == "top.Conv"]
    np.testing.assert_array_equal(convs[0], wanted["w"].transpose(3, 0, 1, 2))
    np.testing.assert_array_equal(convs[1], wanted["v"].transpose(2, 0, 1, 3))
    litert = open_model(transload.save(transload.lower(made.module, "tfl"), tmp_path / "made.tflite"))
    power = noise = 0.0
    for sample in samples(24)[16:]:
        (found,), (theirs,) = (run.values() for run in (transload.run(made.module, sample, engine="reference"), litert(sample)))
        np.testing.assert_array_equal(found, theirs)
        float_, _ = simulated(graph, sample)
        power, noise = power + np.square(float_).sum(), noise + np.square(float_ - found).sum()
    assert power > 1000 * noise > 0


def test_what_is_named_stays_float() -> None:
    made = quantize_at_hub(hub_of(trained()), "int8", samples(4), {"floats": {"y": "asked"}})
    assert made.floats == {"y": "asked"} and in_floats(made.module) == ["top.Cast", "top.MatMul"]


@pytest.mark.parametrize(("scheme", "given", "options", "why"), [
    ("int16x8", 4, {}, "int16x8 asks for others"), ("int8", 0, {}, "needs samples, or a calibration"),
    ("int8", 4, {"layers": {"y": "INT16"}}, "layers are to have 16")])
def test_what_cannot_be_completed(scheme: str, given: int, options: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        quantize_at_hub(hub_of(trained()), scheme, samples(given) or None, options)


def test_bytes_stay_what_they_are(tmp_path: Path) -> None:
    """Between unsigned bytes come unsigned bytes; an op without a form in integers stays float, and what it gives is rounded."""
    graph = Graph((1, 4, 6))
    kind = QuantType(UI8, F32, (0.02,), (128,))
    x = graph.Cast(graph.Cast(graph.inputs[0], element=kind, location="xq"), element=F32)
    weights = graph.random(6, 5)
    made = graph.MatMul(x, weights, location="layer")
    made = graph.LayerNorm(made, graph.random(5), graph.random(5), axis=2, eps=1e-5, location="norm")
    made = graph.MatMul(made, graph.random(5, 3), location="last")
    hub = at_hub(graph.done(made))
    random = np.random.default_rng(0)
    given = [{"x0": random.normal(0, 1, (1, 4, 6)).astype(np.float32)} for _ in range(8)]
    result = quantize_at_hub(hub, "int8", given, {})
    kinds = {op.origin: op.results[0].quant for op in result.module.ops() if op.results and op.results[0].quant is not None}
    assert {name: str(kinds[name].storage) for name in ("xq", "layer", "norm", "last")} == dict.fromkeys(
        ("xq", "layer", "norm", "last"), "ui8")
    assert set(result.floats) == {"norm"}
    here, there = (transload.run(module, given[0], engine="reference") for module in (hub, result.module))
    (wanted,), (found,) = here.values(), there.values()
    assert 0 < np.square(wanted - found).sum() < np.square(wanted).sum() / 300


def test_what_is_added_to_operators_on_integers_rounds_once_as_they_do(tmp_path: Path) -> None:
    """They come of onnxruntime's quantizer, and so does what it would have made of the rest."""
    helper = onnx.helper
    held = {"s": np.float32(0.02), "z": np.uint8(128), "w": np.random.default_rng(0).normal(0, 0.3, (8, 4)).astype(np.float32)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("QLinearAdd", ["q", "s", "z", "q", "s", "z", "s", "z"], ["a"], domain="com.microsoft"),
        helper.make_node("DequantizeLinear", ["a", "s", "z"], ["d"]),
        helper.make_node("MatMul", ["d", "w"], ["y"])]
    ends = [helper.make_tensor_value_info(name, 1, (3, size)) for name, size in (("x", 8), ("y", 4))]
    graph = helper.make_graph(
        nodes, "g", ends[:1], ends[1:], [onnx.numpy_helper.from_array(np.asarray(each), name) for name, each in held.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    random = np.random.default_rng(5)
    given = [{"x": random.normal(0, 0.6, (3, 8)).astype(np.float32)} for _ in range(4)]
    made = quantize_at_hub(at_hub(transload.load(tmp_path / "m.onnx")), "uint8", given, {})
    words = {op.name: op.attributes.get("rounding") for op in made.module.ops() if op.name in ("top.Add", "top.MatMul")}
    assert words == {"top.Add": "float32", "top.MatMul": "once"}


@pytest.mark.parametrize("inside", ["Relu", "Neg"])
def test_what_a_branch_alone_takes_is_completed(inside: str) -> None:
    """A ReLU behind a layer rounds its own result in the layer's place, but not within a branch: the layer stayed float."""
    g = Graph((5, 4), TensorType((), BOOL))
    given = g.Cast(g.Cast(g.inputs[0], element=QuantType(I8, F32, (0.03,), (0,))), element=F32)
    layer = g.MatMul(g.Sigmoid(given), g.random(4, 8), np.zeros(8, np.float32), location="layer")
    branches = [Region([Block(())]) for _ in range(2)]
    taking, zeros = (Builder(region.block) for region in branches)
    taking.emit("top.Yield", taking.emit(f"top.{inside}", layer))
    zeros.emit("top.Yield", zeros.constant(np.zeros((5, 8), np.float32)))
    module = g.done(g.builder.create("top.If", [g.inputs[1]], [layer.type], regions=branches).results[0])
    given_samples = [{"x0": g.random(5, 4), "x1": np.array(number % 2 == 0)} for number in range(4)]
    made = quantize_at_hub(module, "int8", given_samples, {}).module
    assert [op.result.quant is not None for op in made.body_of_main if op.name == "top.MatMul"] == [True]
    wanted, found = (transload.run(each, given_samples[0])["y0"] for each in (module, made))
    np.testing.assert_allclose(found, wanted, atol=0.05)
