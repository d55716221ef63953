"""Models trained with FakeQuant nodes become integers: those that the nodes' own formula gives, and LiteRT of what is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import TransloadError
from transload.ir import Module
from transload.passes.manager import Pipeline
from transload_converters.tflite.runtime import open_model

from tests.support.fake_quant import Made, simulated
from tests.support.tensorflow_graphs import T

INDEX = T("int32")


def network() -> Any:
    """All of it rounded: weights by channel and as a whole, a residual, a mean."""
    g = Made()
    x = g.fake("xq", "x", -1.0113, 0.9871)
    c = g.biased("cb", g.conv("c", x, g.weights("w", 3, 3, 3, 8, channels=True)), 8)
    c = g.fake("cq", g.op("cr", "Relu6", c), 0.0, 4.1337)
    d = g.conv("d", c, g.weights("v", 3, 3, 8, 1), kind="DepthwiseConv2dNative")
    d = g.fake("dq", g.biased("db", d, 8), -3.0123, 3.4719)
    a = g.fake("aq", g.op("a", "AddV2", c, d), -2.1717, 5.0321)
    m = g.fake("mq", g.op("m", "Mean", a, np.array([1, 2], np.int32), Tidx=INDEX), -1.0417, 2.0991)
    g.fake("y", g.biased("l", g.op("p", "MatMul", m, g.weights("u", 8, 10)), 10), -3.0771, 3.1)
    return g.done()


def normalized() -> Any:
    """A batch norm behind weights that are rounded before it, with factors below 0 and at 0, and a channel of nothing."""
    g = Made()
    w = g.weights("w", 3, 3, 3, 8, channels=True, dead=2)
    gamma = g.random.uniform(0.5, 1.5, 8).astype(np.float32) * np.array([1, -1, 1, 0, 1, 1, -1, 1], np.float32)
    others = [g.random.uniform(0.1, 2, 8).astype(np.float32) for _ in range(3)]
    c = g.op("b", "FusedBatchNormV3", g.conv("c", g.fake("xq", "x", -1.0113, 0.9871), w, 2), gamma, *others, U=T("float32"),
             epsilon=1e-3, is_training=False)
    c = g.fake("cq", g.op("cr", "Relu", c), 0.0, 2.1337)
    v = g.fake("vq", g.random.normal(0, 0.3, (3, 3, 8, 2)).astype(np.float32), [-1.0, -0.7], [1.0, 0.7], narrow_range=True)
    g.fake("y", g.conv("d", c, v, kind="DepthwiseConv2dNative"), -2.0331, 2.2)
    return g.done()


def of_few_bits() -> Any:
    """4 bits, and 8 without the least, with a maximum between an op and what rounds it."""
    g = Made()
    c = g.op("cr", "Relu6", g.conv("c", g.fake("xq", "x", -1.0, 1.0, narrow_range=True), g.weights("w", 3, 3, 3, 5, num_bits=4)))
    c = g.op("mp", "MaxPool", c, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    c = g.fake("mq", c, 0.0, 2.1337, num_bits=4)
    g.fake("y", g.conv("d", c, g.weights("v", 1, 1, 5, 4), 1), -2.3337, 3.1337, narrow_range=True)
    return g.done()


def of_bytes() -> Any:
    """Weights with a zero point, one scale each, as training for kernels of unsigned bytes has them."""
    g = Made()

    def weights(name: str, *shape: int) -> str:
        return g.fake(name, g.random.normal(0, 0.3, shape).astype(np.float32), -0.51, 0.83, narrow_range=True)

    c = g.conv("c", g.fake("xq", "x", -1.0113, 0.9871), weights("w", 3, 3, 3, 5))
    c = g.fake("cq", g.op("cr", "Relu6", g.biased("cb", c, 5)), 0.0, 3.1313)
    c = g.fake("dq", g.conv("d", c, weights("v", 3, 3, 5, 1), kind="DepthwiseConv2dNative"), -2.177, 2.2)
    m = g.fake("mq", g.op("m", "Mean", c, np.array([1, 2], np.int32), Tidx=INDEX), -1.0417, 1.0991)
    g.op("y", "Softmax", g.fake("lq", g.op("p", "MatMul", m, weights("u", 5, 10)), -2.1, 2.3))
    return g.done()


def of_16_bits() -> Any:
    g = Made()
    c = g.conv("c", g.fake("xq", "x", -1.0, 1.0, num_bits=16), g.weights("w", 3, 3, 3, 5))
    g.fake("y", g.op("cr", "Relu", c), -3.0, 3.0, num_bits=16)
    return g.done()


def left_out() -> Any:
    """Nothing is rounded behind a concatenation, a maximum and a softmax."""
    g = Made()
    x = g.fake("xq", "x", -1.0113, 0.9871)
    c = g.fake("cq", g.op("cr", "Relu", g.conv("c", x, g.weights("w", 1, 1, 3, 5))), 0.0, 2.1337)
    c = g.op("mp", "MaxPool", g.op("cc", "ConcatV2", c, x, np.array(3, np.int32), N=2), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
             padding="VALID")
    flat = g.op("rs", "Reshape", c, np.array([1, 128], np.int32))
    logits = g.fake("lq", g.biased("l", g.op("p", "MatMul", flat, g.weights("u", 128, 6)), 6), -3.0771, 3.1)
    g.op("y", "Softmax", logits)
    return g.done()


def hub_of(graph: Any, **options: Any) -> Module:
    hub = transload.legalize(transload.load(text=graph.SerializeToString(), format="tensorflow"), **options)
    Pipeline.parse("fold-constants,canonicalize").run(hub)
    return hub


def samples(count: int = 4) -> list[np.ndarray]:
    random = np.random.default_rng(5)
    return [random.normal(0, 0.6, (1, 8, 8, 3)).astype(np.float32) for _ in range(count)]


def integers_of(hub: Module, x: np.ndarray) -> dict[str, np.ndarray]:
    held: dict[str, np.ndarray] = {}

    def watch(value: Any, array: np.ndarray) -> None:
        if value.quant is not None and value.name is not None:
            held[value.name] = array

    transload.run(hub, {"x": x}, engine="reference", watch=watch)
    return held


def in_floats(hub: Module) -> list[str]:
    return [op.name for op in hub.ops() if op.results and op.results[0].is_float]


@pytest.mark.parametrize("made", [network, normalized, of_few_bits])
def test_integers_are_those_that_the_nodes_compute(made: Callable[[], Any]) -> None:
    graph = made()
    hub = hub_of(graph, fake_quant="once")
    assert in_floats(hub) == ["top.Cast"]
    seen = 0
    for x in samples():
        _, wanted = simulated(graph, {"x": x})
        held = integers_of(hub, x)
        assert wanted.keys() - held.keys() <= {"w", "v", "u", "vq"}  # weights are constants
        for name in wanted.keys() & held.keys():
            np.testing.assert_array_equal(held[name], wanted[name], err_msg=name)
            seen += wanted[name].size
            assert np.unique(wanted[name]).size > 5
    assert seen >= 1000


@pytest.mark.parametrize("attributes", [{}, {"num_bits": 16}, {"num_bits": 5, "narrow_range": True}], ids=str)
@pytest.mark.parametrize("moved", [False, True])
def test_halves_go_up(moved: bool, attributes: dict[str, Any]) -> None:
    """Those below 0 went down; behind what moves numbers, in front of which they are rounded then, too."""
    most = (1 << attributes.get("num_bits", 8)) - 1
    count, least = most - attributes.get("narrow_range", False), -24 if most > 200 else -8
    g = Made(shape=(1, 8, 8, 3))
    source = g.op("r", "Reshape", "x", np.array([1, 192], np.int32)) if moved else "x"
    g.fake("y", source, least / 16, (count + least) / 16, **attributes)
    graph = g.done()
    x = ((np.arange(192) + 2 * least) / 32).astype(np.float32).reshape(1, 8, 8, 3)
    real, _ = simulated(graph, {"x": x})
    (found,) = transload.run(hub_of(graph), {"x": x}, engine="reference").values()
    np.testing.assert_array_equal(found.reshape(-1), real.reshape(-1))


def test_weights_are_the_integers_of_the_nodes() -> None:
    """Of each channel, turned round where a batch norm has a factor below 0; the integers of a channel of nothing are 0."""
    graph = normalized()
    _, wanted = simulated(graph, {"x": samples(1)[0]})
    convs = [op for op in hub_of(graph).ops() if op.name == "top.Conv"]
    held = convs[0].filter.op.value.numpy().astype(int)
    signs = np.array([1, -1, 1, 0, 1, 1, -1, 1])
    np.testing.assert_array_equal(held, wanted["w"].transpose(3, 0, 1, 2) * signs[:, None, None, None])
    assert np.abs(held).max() == 127 and not held[2].any() and held.dtype.kind == "i"
    depthwise, kind = convs[1].filter.op.value.numpy(), convs[1].filter.element
    np.testing.assert_array_equal(depthwise, wanted["vq"].reshape(3, 3, 1, 16).transpose(3, 0, 1, 2))
    np.testing.assert_allclose(kind.scale_array, np.float32([1.0, 0.7] * 8) / 127, rtol=1e-6)


@pytest.mark.parametrize(("made", "least", "most"), [
    (network, 0.95, 1), (normalized, 0.99, 1), (of_few_bits, 0.95, 1), (of_16_bits, 0.95, 1), (of_bytes, 0.8, 2),
    (left_out, 0.8, 2)])
def test_litert_gives_the_integers_of_the_hub(made: Callable[[], Any], least: float, most: int, tmp_path: Path) -> None:
    """Of what is written, with biases as it adds them. LiteRT rounds twice: few are a step off what the nodes compute."""
    graph = made()
    hub = hub_of(graph)
    assert in_floats(hub) == ["top.Cast"]
    Pipeline.parse("plain-biases").run(hub)
    tosa = transload.lower(hub, "tosa")
    litert = open_model(transload.save(transload.lower(hub, "tfl"), tmp_path / "made.tflite"))
    step = list(hub.ops())[-2].operands[0].quant.scale
    off = []
    for x in samples():
        wanted, _ = simulated(graph, {"x": x})
        (here,), (there,), (theirs,) = (outputs.values() for outputs in (
            transload.run(hub, {"x": x}, engine="reference"), transload.run(tosa, {"x": x}), litert({"x": x})))
        np.testing.assert_array_equal(here, theirs)
        np.testing.assert_array_equal(here, there)
        assert np.unique(here).size > 3
        off.append(np.abs(theirs - wanted).ravel() / step)
    every = np.concatenate(off)
    assert np.mean(every < 0.51) >= least and every.max() < most + 0.51


def test_what_training_left_out_is_said_and_can_be_asked() -> None:
    hub = hub_of(left_out())
    assert any("training rounded nothing behind 'cc', 'y'" in note for note in hub.notes)
    joined = next(op for op in hub.ops() if op.name == "top.Concat")
    kind = joined.results[0].quant
    assert kind.scale * (kind.storage_max - kind.zero_point) == pytest.approx(2.1337, abs=0.02)
    softmax = next(op for op in hub.ops() if op.name == "top.Softmax")
    assert (softmax.results[0].quant.scale, softmax.results[0].quant.zero_point) == (1 / 256, -128)
    assert not hub_of(network()).notes


def test_few_bits_are_held_in_few() -> None:
    hub = hub_of(of_few_bits())
    kinds = [op.filter.quant for op in hub.ops() if op.name == "top.Conv"]
    assert [str(kind.storage) for kind in kinds] == ["i4", "i8"]
    (pooled,) = (op.results[0].quant for op in hub.ops() if op.name == "top.MaxPool")
    assert (pooled.storage_min, pooled.storage_max) == (-8, 7)


@pytest.mark.parametrize(("weights", "bits", "why"), [
    ({"num_bits": 12}, 8, "weights of 8 bits at most"), ({}, 16, "zero points of 0")])
def test_litert_has_no_kernels(weights: dict[str, int], bits: int, why: str) -> None:
    g = Made()
    c = g.conv("c", g.fake("xq", "x", -1.0, 1.0), g.weights("w", 3, 3, 3, 5, **weights))
    g.fake("y", c, 0.0, 3.0, num_bits=bits)
    hub = hub_of(g.done())
    assert in_floats(hub) == ["top.Cast"]
    with pytest.raises(TransloadError, match=why):
        transload.lower(hub, "tfl")


@pytest.mark.parametrize(("low", "high", "zero"), [(-0.5, 2.05, -78), (-2.5, 252.5, -125), (-0.5, 254.5, -127)])
def test_zero_points_are_rounded_away_from_zero(low: float, high: float, zero: int) -> None:
    """As C's `round` does in the kernels: of 2.5 steps below zero it makes three, of half a step one."""
    g = Made()
    g.fake("y", "x", low, high)
    kind = next(op.results[0].quant for op in hub_of(g.done()).ops() if op.name == "top.Cast")
    assert kind.zero_point == zero


def test_weights_alone_that_are_rounded_are_floats() -> None:
    g = Made()
    g.conv("y", "x", g.weights("w", 3, 3, 3, 5))
    graph = g.done()
    hub = hub_of(graph)
    assert in_floats(hub) == ["top.Conv"] or in_floats(hub) == ["top.Weight", "top.Conv"]
    x = samples(1)[0]
    (found,) = transload.run(hub, {"x": x}).values()
    np.testing.assert_allclose(found, simulated(graph, {"x": x})[0], atol=1e-5)


@pytest.mark.parametrize("narrow", [False, True])
def test_channels_that_are_computed_are_the_bits_of_the_kernel_everywhere(narrow: bool) -> None:
    """The kernel multiplies by the inverse of a step; dividing, which TOSA cannot, rounds some numbers otherwise."""
    g = Made((4096, 4))
    g.fake("y", "x", [-1.0113, -0.4, 0.0, -2.0], [0.9871, 1.7, 3.1, 0.0], narrow_range=narrow)
    graph = g.done()
    hub = hub_of(graph)
    step = (np.float32([0.9871, 1.7, 3.1, 0.0]) - np.float32([-1.0113, -0.4, 0.0, -2.0])) / np.float32(255 - narrow)
    middles = (np.arange(4096) % 254 - 127)[:, None].astype(np.float32) * step + step / 2
    x = np.nextafter(middles, np.random.default_rng(0).choice([-9, 9], middles.shape).astype(np.float32))
    wanted = simulated(graph, {"x": x})[0].astype(np.float32)
    for module in (hub, transload.lower(hub, "tosa"), transload.lower(hub, "stablehlo")):
        (found,) = transload.run(module, {"x": x}).values()
        np.testing.assert_allclose(found, wanted, rtol=3e-7)
