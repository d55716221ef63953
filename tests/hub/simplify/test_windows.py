"""Convolutions with kernel elements that meet padding alone: the same results of fewer elements."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from transload.ir import F32, I8, I32, QuantType, TensorType
from transload.passes.manager import Pipeline
from transload_hub.simplify.windows import taps_met

from tests.support.graphs import Graph, execute


@pytest.mark.parametrize(("layout", "group"), [("NCHW", 1), ("NHWC", 1), ("NCHW", 4), ("NHWC", 2)])
def test_a_widely_dilated_kernel_is_a_smaller_one(layout: str, group: int) -> None:
    last = layout == "NHWC"
    g = Graph((1, 10, 9, 4) if last else (1, 4, 10, 9))
    filter_ = g.random(8, 3, 3, 4 // group) if last else g.random(8, 4 // group, 3, 3)
    module = g.done(g.Conv(
        g.inputs[0], filter_, g.random(8), kernel_shape=(3, 3), dilations=(12, 4), pads=(12, 4, 12, 4), group=group,
        layout=layout))
    (before,) = execute(module)
    assert Pipeline.parse("canonicalize").run(module)[0].modified
    (conv,) = [op for op in module.ops() if op.name == "top.Conv"]
    assert (conv.attribute("kernel_shape"), conv.attribute("pads")) == ((1, 3), (0, 4, 0, 4))
    np.testing.assert_allclose(execute(module)[0], before, rtol=1e-5, atol=1e-5)


def test_a_quantized_one_keeps_its_scales() -> None:
    g = Graph(TensorType((1, 2, 3, 3), QuantType(I8, F32, (0.1,), (3,))))
    scales = np.array([0.1, 0.2, 0.3])
    filter_ = g.builder.constant(np.arange(54, dtype=np.int8).reshape(3, 2, 3, 3), QuantType(I8, F32, tuple(scales), (0,) * 3, 0))
    bias = g.builder.constant(np.array([5, -6, 7], np.int32), QuantType(I32, F32, tuple(0.1 * scales), (0,) * 3, 0))
    module = g.done(g.Conv(
        g.inputs[0], filter_, bias, kernel_shape=(3, 3), dilations=(3, 3), pads=(3, 3, 3, 3),
        element=QuantType(I8, F32, (0.5,), (1,))))
    (before,) = execute(module)
    assert Pipeline.parse("canonicalize").run(module)[0].modified
    (conv,) = [op for op in module.ops() if op.name == "top.Conv"]
    assert conv.attribute("kernel_shape") == (1, 1) and conv.operands[1].quant == filter_.quant
    np.testing.assert_array_equal(execute(module)[0], before)


def test_padding_of_4_gigabytes_is_none() -> None:
    g = Graph((1, 2, 7))
    module = g.done(g.Conv(
        g.inputs[0], g.random(2, 1, 3), kernel_shape=(3,), strides=(2,), dilations=(2**31 - 1,), pads=(2**31 - 1,) * 2, group=2))
    Pipeline.parse("canonicalize").run(module)
    assert execute(module)[0].shape == (1, 2, 4)


def test_the_same_sums_whatever_the_geometry() -> None:
    """All small ones, against sums over every element of a padded input."""
    fewer = 0
    for size, kernel, stride, dilation, begin, end in itertools.product(
            range(1, 5), range(1, 4), range(1, 4), (1, 2, 3, 5), range(7), range(7)):
        outputs = (size + begin + end - (kernel - 1) * dilation - 1) // stride + 1
        if outputs < 1 or (taps := taps_met(size, kernel, stride, dilation, begin, end)) is None:
            continue
        x, weights = np.arange(1, size + 1), 10 ** np.arange(kernel)
        kept = weights[taps.first : taps.last + 1]
        fewer += len(kept) < kernel
        np.testing.assert_array_equal(
            _sums(np.pad(x, (taps.begin, taps.end)), kept, stride, dilation),
            _sums(np.pad(x, (begin, end)), weights, stride, dilation))
    assert fewer > 1000


def _sums(x: np.ndarray, weights: np.ndarray, stride: int, dilation: int) -> list[int]:
    reach = (len(weights) - 1) * dilation + 1
    return [int(x[at : at + reach : dilation] @ weights) for at in range(0, len(x) - reach + 1, stride)]
