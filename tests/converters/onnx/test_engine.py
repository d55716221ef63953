"""onnxruntime as an engine: what it computes, what it refuses, and that many threads may use it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import transload
from transload.budget import TimeOver, allowed
from transload.errors import ConversionError, RunError
from transload.ir import Module
from transload.text import parse_module

from tests.core.test_budget import ENDLESS
from tests.support.graphs import Graph

pytest.importorskip("onnxruntime")
SAMPLE = {"x0": np.random.default_rng(1).standard_normal((1, 6, 6, 3)).astype(np.float32)}


@pytest.fixture
def module() -> Module:
    g = Graph((1, 6, 6, 3))
    (x,) = g.inputs
    conv = g.Conv(x, g.random(8, 3, 3, 3), g.random(8), kernel_shape=(3, 3), pads=(1, 1, 1, 1), layout="NHWC", location="conv")
    return g.done(g.Softmax(g.Relu(conv), axis=3, location="shares"), x)


def test_it_computes_what_the_reference_engine_does(module: Module) -> None:
    expected = transload.run(module, SAMPLE, engine="reference")
    actual = transload.run(module, SAMPLE, engine="onnxruntime")
    assert list(actual) == list(expected)
    for name, array in expected.items():
        assert actual[name].dtype == array.dtype
        np.testing.assert_allclose(actual[name], array, rtol=1e-5, atol=1e-6)


def test_a_module_of_another_dialect_goes_through_the_hub(module: Module) -> None:
    lowered = transload.lower(module, "tosa")
    expected = next(iter(transload.run(lowered, SAMPLE, engine="reference").values()))
    np.testing.assert_allclose(
        next(iter(transload.run(lowered, SAMPLE, engine="onnxruntime").values())), expected, rtol=1e-5, atol=1e-6)


def test_threads_may_share_one(module: Module) -> None:
    from transload_converters.onnx.engine import prepare

    execute = prepare(module)
    rng = np.random.default_rng(2)
    samples = [{"x0": rng.standard_normal((1, 6, 6, 3)).astype(np.float32)} for _ in range(24)]
    expected = [next(iter(execute(sample).values())) for sample in samples]
    with ThreadPoolExecutor(4) as pool:
        actual = [next(iter(found.values())) for found in pool.map(execute, samples)]
    np.testing.assert_array_equal(actual, expected)


def test_what_it_cannot_do_is_said(module: Module) -> None:
    with pytest.raises(RunError, match="do not fit"):
        transload.run(module, {"x0": np.zeros((1, 2, 2, 3), np.float32)}, engine="onnxruntime")
    with pytest.raises(RunError, match="outputs alone"):
        transload.run(module, SAMPLE, engine="onnxruntime", keep=True)
    g = Graph((4,))
    strange = g.builder.emit("toy.strange", g.inputs[0], types=[g.inputs[0].type])
    with pytest.raises(ConversionError, match="toy"):
        transload.run(g.done(strange), {"x0": np.zeros(4, np.float32)}, engine="onnxruntime")


def test_a_loop_without_end_ends_with_the_time() -> None:
    """The fuzz's quantizer measured a graph of TensorFlow's with such a loop, for as long as it was let."""
    with allowed(seconds=0.3), pytest.raises(TimeOver, match="without coming to an end"):
        transload.run(parse_module(ENDLESS), {"arg0": np.int32(1)}, engine="onnxruntime")
