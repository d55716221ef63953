"""Equalization: floats stay what they are, and integers lose less, wherever factors of channels may go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload.ir import BOOL, F32, Block, Module, Region, TensorType, Type, Value
from transload.ir.build import Builder, constant_of
from transload.metrics import sqnr
from transload_plugins.quantize.equalization import equalized
from transload_plugins.quantize.measure import some_of

from tests.support.graphs import Graph

CHANNELS = 8
REACH = (4.0 ** -np.arange(CHANNELS)).astype(np.float32)
"""How far each channel reaches, of the first."""


def conv(g: Graph, x: Any, out: int, reach: np.ndarray | float = 1.0, weigh: np.ndarray | float = 1.0, **attributes: Any) -> Any:
    """A convolution of 1 x 1 whose channels reach so far, and which weighs its inputs so."""
    weights = g.random(out, x.static_shape[1], 1, 1) * np.reshape(reach, (-1, 1, 1, 1)) * np.reshape(weigh, (1, -1, 1, 1))
    bias = g.random(out) * 0.1 * reach
    return g.Conv(x, weights.astype(np.float32), bias.astype(np.float32), kernel_shape=(1, 1), **attributes)


def between(middle: Callable[[Graph, Any], Any]) -> tuple[Module, list[dict[str, np.ndarray]]]:
    """Two convolutions with ops between; the second weighs the channels so that all count alike."""
    g = Graph((1, 4, 6, 6))
    x = middle(g, conv(g, g.inputs[0], CHANNELS, REACH))
    y = conv(g, x, 4, weigh=1 / REACH if x.static_shape[1] == CHANNELS else 1.0)
    return g.done(y), [{"x0": g.random(1, 4, 6, 6)} for _ in range(12)]


def outputs(module: Module, samples: list[dict[str, np.ndarray]]) -> np.ndarray:
    return np.stack([next(iter(transload.run(module, sample, engine="reference").values())) for sample in samples])


PASSING = {
    "nothing": lambda g, x: x,
    "relu": lambda g, x: g.Relu(x),
    "leaky relu": lambda g, x: g.LeakyRelu(x, alpha=0.1),
    "prelu": lambda g, x: g.PRelu(x, g.random(CHANNELS, 1, 1, positive=True)),
    "pooling": lambda g, x: g.MaxPool(x, kernel_shape=(2, 2), strides=(2, 2)),
    "a residual": lambda g, x: g.Relu(g.Add(x, conv(g, g.Relu(x), CHANNELS, REACH, 1 / REACH))),
    "depthwise": lambda g, x: g.Conv(
        g.Relu(x), g.random(CHANNELS, 1, 3, 3), g.random(CHANNELS) * REACH, kernel_shape=(3, 3), group=CHANNELS),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", PASSING)
def test_floats_stay_and_integers_lose_less(name: str) -> None:
    module, samples = between(PASSING[name])
    wanted = outputs(module, samples)
    better = equalized(module, samples)
    assert sqnr(wanted, outputs(better, samples)) > 100
    plain, even = (
        sqnr(wanted, outputs(transload.quantize(each, "int8-asym", samples, equalization=False, islands="none"), samples))
        for each in (module, better))
    assert even > plain + 6
    assert sqnr(wanted, outputs(transload.quantize(module, "int8-asym", samples, islands="none"), samples)) > plain + 6


STOPPING = {
    "a limit": lambda g, x: g.Relu(x, relu_limit=6.0),
    "sigmoid": lambda g, x: g.Sigmoid(x),
    "a constant added": lambda g, x: g.Add(x, g.random(1, CHANNELS, 6, 6)),
    "another shape": lambda g, x: g.Reshape(x, shape=(1, CHANNELS, 12, 3)),
    "groups": lambda g, x: g.Conv(x, g.random(CHANNELS, CHANNELS // 2, 1, 1), g.random(CHANNELS), kernel_shape=(1, 1), group=2),
    "as many groups as are computed": lambda g, x: g.Conv(
        x, g.random(CHANNELS // 2, 2, 1, 1), g.random(CHANNELS // 2), kernel_shape=(1, 1), group=CHANNELS // 2),
    "as many groups as are taken": lambda g, x: g.Conv(
        x, g.random(2 * CHANNELS, 1, 1, 1), g.random(2 * CHANNELS), kernel_shape=(1, 1), group=CHANNELS),
}


@pytest.mark.parametrize("name", STOPPING)
def test_what_factors_do_not_go_through_is_left_alone(name: str) -> None:
    module, samples = between(STOPPING[name])
    assert transload.text.print_module(equalized(module, samples)) == transload.text.print_module(module)


def region(*operands: Value, give: Callable[[Builder, list[Value]], Value], arguments: Sequence[Type] = ()) -> Region:
    """A region that yields what `give` makes of the operands, which are captured, and of its arguments."""
    block = Block(arguments)
    inner = Builder(block)
    inner.emit("top.Yield", give(inner, [*block.arguments, *operands]))
    return Region([block])


def branched(g: Graph, x: Value) -> Value:
    """The root of a tensor in one branch, itself in the other."""
    return g.builder.create("top.If", [g.inputs[1]], [x.type], regions=[
        region(x, give=lambda inner, values: inner.emit("top.Sqrt", values[0])),
        region(x, give=lambda inner, values: values[0])]).results[0]


def nested(g: Graph, x: Value) -> Value:
    """The root in a branch within each branch."""
    def inside(inner: Builder, values: list[Value]) -> Value:
        return inner.create("top.If", [values[1]], [x.type], regions=[
            region(x, give=lambda inmost, values: inmost.emit("top.Sqrt", values[0])) for _ in range(2)]).results[0]

    return g.builder.create("top.If", [g.inputs[1]], [x.type], regions=[
        region(x, g.inputs[1], give=inside) for _ in range(2)]).results[0]


def looped(g: Graph, x: Value) -> Value:
    """The input, with a tensor added to it until one element is 9."""
    def goes_on(inner: Builder, values: list[Value]) -> Value:
        greatest = inner.emit("top.Reduce", values[0], axes=(0, 1), keepdims=False, mode="ReduceMax")
        return inner.emit("top.Compare", greatest, inner.constant(np.float32(9.0)), mode="Less")

    return g.builder.create("top.While", [g.inputs[2]], [x.type], regions=[
        region(give=goes_on, arguments=[x.type]),
        region(x, give=lambda inner, values: inner.emit("top.Add", *values), arguments=[x.type])]).results[0]


@pytest.mark.parametrize("take", [branched, nested, looped])
def test_a_tensor_that_a_branch_or_a_loop_takes_is_left_alone(take: Callable[[Graph, Value], Value]) -> None:
    """Channels were divided, and what a region computes of the tensor, which it captures and is not given, was another."""
    g = Graph((5, 4), TensorType((), BOOL), (5, CHANNELS))
    hidden = g.Relu(g.MatMul(g.inputs[0], g.random(4, CHANNELS) * REACH, np.ones(CHANNELS, np.float32)))
    module = g.done(g.MatMul(hidden, g.random(CHANNELS, 3) / REACH[:, None], g.random(3)), take(g, hidden))
    samples = [{"x0": g.random(5, 4), "x1": np.array(number % 2 == 0), "x2": np.ones((5, CHANNELS), np.float32)}
               for number in range(8)]
    assert transload.text.print_module(equalized(module, samples)) == transload.text.print_module(module)


def window(*kernel: int, **attributes: Any) -> dict[str, Any]:
    """Attributes of windows that leave a tensor its sizes, where these are odd."""
    pads = tuple(size // 2 for size in kernel)
    return {"kernel_shape": kernel, "pads": (*pads, *pads), **attributes}


RESAMPLED = {
    "one dimension": lambda g, x: g.MaxPool(x, **window(3)),
    "greatest": lambda g, x: g.MaxPool(x, **window(3, 3)),
    "of other sizes": lambda g, x: g.MaxPool(x, kernel_shape=(1, 2), strides=(1, 2)),
    "every other": lambda g, x: g.MaxPool(x, kernel_shape=(1, 1), strides=(1, 2)),
    "mean": lambda g, x: g.AvgPool(x, **window(1, 3)),
    "mean of channels last": lambda g, x: g.AvgPool(x, **window(3, 3, layout="NHWC")),
    "mean of rows": lambda g, x: g.AvgPool(x, **window(3, 1)),
    "resized": lambda g, x: g.Interp(x, sizes=(6, 2 * CHANNELS), mode="linear"),
    "moved": lambda g, x: g.Interp(x, sizes=(6, CHANNELS), scales=(1.0, 0.5), coord_mode="asymmetric"),
}
ALONG = ("mean of channels last", "mean of rows")
"""Those that leave the last dimension alone."""


def behind_a_product(name: str) -> tuple[Module, list[dict[str, np.ndarray]]]:
    """What is resampled between two products of matrices, whose channels the last dimension counts."""
    g = Graph((1, 6, 4) if name == "one dimension" else (1, 2, 6, 4))
    middle = RESAMPLED[name](g, g.MatMul(g.inputs[0], g.random(4, CHANNELS) * REACH, np.zeros(CHANNELS, np.float32)))
    count = middle.static_shape[-1]
    weights = g.random(count, 3) / np.resize(REACH, count)[:, None]
    return g.done(g.MatMul(middle, weights, g.random(3))), [{"x0": g.random(*g.inputs[0].static_shape)} for _ in range(8)]


@pytest.mark.parametrize("name", [name for name in RESAMPLED if name not in ALONG])
def test_factors_do_not_go_through_what_mixes_the_channels(name: str) -> None:
    """Windows along the last dimension, where their layout has no channels, took numbers of unlike factors together."""
    module, samples = behind_a_product(name)
    assert transload.text.print_module(equalized(module, samples)) == transload.text.print_module(module)


@pytest.mark.parametrize("name", ALONG)
def test_factors_go_through_what_takes_each_channel_by_itself(name: str) -> None:
    module, samples = behind_a_product(name)
    better = equalized(module, samples)
    assert sqnr(outputs(module, samples), outputs(better, samples)) > 100
    assert transload.text.print_module(better) != transload.text.print_module(module)


@pytest.mark.parametrize("name", ["Conv", "Add"])
def test_a_limit_within_an_op_stays_where_it_is_on_samples_not_seen(name: str) -> None:
    g = Graph((1, 4, 6, 6))
    limited = {"do_relu": True, "relu_limit": 6.0}
    middle = conv(g, g.inputs[0], CHANNELS, 4 * REACH, **(limited if name == "Conv" else {}))
    if name == "Add":
        middle = g.Add(middle, conv(g, g.inputs[0], CHANNELS, 4 * REACH), **limited)
    module = g.done(conv(g, middle, 4, weigh=1 / REACH))
    seen = [{"x0": g.random(1, 4, 6, 6)} for _ in range(4)]
    farther = [{"x0": 100 * sample["x0"]} for sample in seen]
    assert sqnr(outputs(module, farther), outputs(equalized(module, seen, symmetric=False), farther)) > 100


def test_a_tensor_that_is_an_output_too_is_left_alone() -> None:
    g = Graph((1, 4, 6, 6))
    middle = conv(g, g.inputs[0], CHANNELS, REACH)
    module = g.done(middle, conv(g, middle, 4, weigh=1 / REACH))
    same = equalized(module, [{"x0": g.random(1, 4, 6, 6)}])
    assert transload.text.print_module(same) == transload.text.print_module(module)


def test_channels_that_seldom_speak_are_not_made_as_loud_as_all_others() -> None:
    """Each reaches as far on one sample as it does on all otherwise: brought to a like range, it would saturate on the next."""
    def loudest(module: Module) -> float:
        first = next(op for op in module.ops() if op.name == "top.MatMul")
        return float(constant_of(first.operands[1]).numpy().max())

    g = Graph((1, CHANNELS))
    reach = np.where(np.arange(CHANNELS) == 0, 1.0, 0.1).astype(np.float32)
    middle = g.Relu(g.MatMul(g.inputs[0], np.eye(CHANNELS, dtype=np.float32), np.zeros(CHANNELS, np.float32)))
    module = g.done(g.MatMul(middle, g.random(CHANNELS, 3) / reach[:, None], np.zeros(3, np.float32)))
    steady = [{"x0": reach * (1 + 0.001 * g.random(1, CHANNELS))} for _ in range(CHANNELS)]
    assert loudest(equalized(module, steady)) > 9
    speaks = np.maximum(np.eye(CHANNELS), 0.01).astype(np.float32)
    speaks[:, 0] = 1.0
    seldom = [{"x0": sample["x0"] * row} for sample, row in zip(steady, speaks, strict=True)]
    assert loudest(equalized(module, seldom)) < 2


@pytest.mark.parametrize("transposed", [False, True])
def test_matrix_products(transposed: bool) -> None:
    g = Graph((5, 4))
    first, second = g.random(4, CHANNELS) * REACH, g.random(CHANNELS, 3) / REACH[:, None]
    turn = (lambda weights: np.ascontiguousarray(weights.T)) if transposed else (lambda weights: weights)
    hidden = g.Relu(g.MatMul(g.inputs[0], turn(first), g.random(CHANNELS) * REACH, right_transpose=transposed))
    module = g.done(g.MatMul(hidden, turn(second), g.random(3), right_transpose=transposed))
    samples = [{"x0": g.random(5, 4)} for _ in range(8)]
    better = equalized(module, samples)
    assert sqnr(outputs(module, samples), outputs(better, samples)) > 100
    assert transload.text.print_module(better) != transload.text.print_module(module)


def test_channels_last_and_a_silent_channel() -> None:
    g = Graph((1, 6, 6, 4))
    reach = REACH.copy()
    reach[3] = 0.0
    weights = g.random(CHANNELS, 1, 1, 4) * reach[:, None, None, None]
    middle = g.Relu(g.Conv(g.inputs[0], weights, np.zeros(CHANNELS, np.float32), kernel_shape=(1, 1), layout="NHWC"))
    module = g.done(g.Conv(
        middle, g.random(4, 1, 1, CHANNELS) / REACH, np.zeros(4, np.float32), kernel_shape=(1, 1), layout="NHWC"))
    samples = [{"x0": g.random(1, 6, 6, 4)} for _ in range(8)]
    better = equalized(module, samples)
    assert sqnr(outputs(module, samples), outputs(better, samples)) > 100
    assert transload.text.print_module(better) != transload.text.print_module(module)


def test_a_sample_that_lacks_an_input_is_named() -> None:
    module, samples = between(PASSING["relu"])
    with pytest.raises(UsageError, match="sample 2 has no 'x0'"):
        transload.quantize(module, "int8", [samples[0], {"y": samples[0]["x0"]}])


def test_samples_that_can_be_had_once_are_all_calibrated_on() -> None:
    samples = [{"x": np.full(1, number)} for number in range(5)]
    for given in (samples, iter(samples)):
        some, rest = some_of(given, 2)
        assert len(some) == 2 and list(rest) == samples
    for given in (samples, dict(enumerate(samples)).values()):
        first, second = (sample["x"][0] for sample in some_of(given, 2)[0])
        assert first < 2 <= second
    opened = transload.open_samples([np.full((1,), number, np.float32) for number in range(5)], {"x": TensorType((1,), F32)})
    evenly = [float(sample["x"][0]) for sample in some_of(opened, 2)[0]]
    assert len(evenly) == 2 and evenly[1] >= 2


@pytest.mark.parametrize("target", ["onnx", "tflite", "tosa"])
@pytest.mark.parametrize("name", ["nothing", "relu", "pooling"])
def test_an_artifact_is_compared_with_its_channels_as_they_were(name: str, target: str, tmp_path: Path) -> None:
    """Its report says what they were divided by: each layer would be told as ruined else."""
    pytest.importorskip("onnxruntime")
    g = Graph((1, 4, 6, 6))
    first = conv(g, g.inputs[0], CHANNELS, REACH, location="first")
    module = g.done(conv(g, PASSING[name](g, first), 4, weigh=1 / REACH))
    samples = [{"x0": g.random(1, 4, 6, 6)} for _ in range(12)]
    model = transload.convert(module, "onnx", tmp_path / "floats", verify=False).files[0]
    artifact = transload.convert(model, target, tmp_path / "integers", quantize="int8", data=samples, verify=False)
    assert artifact.report.quantization is not None and artifact.report.quantization.details["scaled"]
    compared = transload.compare(model, artifact.directory, samples[0], per_layer=True)
    found = {tensor.name: tensor.metrics["sqnr"] for tensor in compared.tensors}
    assert len(found) > 1 and min(found.values()) > 20, found


def test_what_ends_with_its_type_is_compared_as_far_as_that_goes(tmp_path: Path) -> None:
    """A ReLU behind a pooling is in the type of what it takes: half of the convolution's numbers are not there."""
    pytest.importorskip("onnxruntime")
    g = Graph((1, 4, 6, 6))
    pooled = g.MaxPool(conv(g, g.inputs[0], CHANNELS, location="first"), kernel_shape=(2, 2), strides=(2, 2), location="pooled")
    module = g.done(conv(g, g.Relu(pooled, location="rectified"), 4))
    samples = [{"x0": g.random(1, 4, 6, 6)} for _ in range(12)]
    model = transload.convert(module, "onnx", tmp_path / "floats", verify=False).files[0]
    artifact = transload.convert(
        model, "onnx", tmp_path / "integers", quantize="int8", quantizer_options={"islands": "none"}, data=samples, verify=False)
    compared = transload.compare(model, artifact.directory, samples[0], per_layer=True)
    found = {tensor.name: tensor.metrics["sqnr"] for tensor in compared.tensors}
    assert "first" in found and min(found.values()) > 20, found
