"""How many numbers ops compute on the way to their results: windows of a million over a million are no small model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.budget import allowed
from transload.engine.steps import elements_of, is_product, products_of
from transload.errors import RunError
from transload.ir import Module
from transload.plugin_host import host
from transload.text import parse_module
from transload.verification.inputs import random_inputs
from transload.verification.verify import verify_conversion

from tests.support.graphs import Graph
from tests.support.onnx_models import make_model, node, read_model

_BODY = """({^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %u = "stablehlo.maximum"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %v = "stablehlo.add"(%u, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%v) : (tensor<f32>) -> ()})"""


def _program(op: str, result: str) -> Module:
    return parse_module(f"""
        func.func @main(%a: tensor<1000xf32>, %z: tensor<f32>) -> {result} {{
          %b = {op} : (tensor<1000xf32>, tensor<f32>) -> {result}
          return %b : {result} }}""")


_WINDOW = f"""
    "stablehlo.reduce_window"(%a, %z) {_BODY}
    {{window_dimensions = array<i64: 999>, padding = dense<[[499, 499]]> : tensor<1x2xi64>}}"""


def _pooled(size: int, width: int = 512) -> Module:
    graph = Graph((1, 1, 1, width))
    return graph.done(graph.MaxPool(graph.inputs[0], kernel_shape=(1, size), strides=(1, 1), pads=(0, 0, 0, size - 1)))


def test_each_place_of_a_window_counts_and_each_op_that_is_run_there() -> None:
    assert elements_of(_program(_WINDOW, "tensor<1000xf32>")) == 2 * 1000 * 999 + 2
    reduced = f'"stablehlo.reduce"(%a, %z) {_BODY} {{dimensions = array<i64: 0>}}'
    assert elements_of(_program(reduced, "tensor<f32>")) == 2 * 1000 + 2
    assert elements_of(_pooled(7)) == 7 * 512


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_windows_without_end_are_not_run(engine: str) -> None:
    module, given = _program(_WINDOW, "tensor<1000xf32>"), {"a": np.zeros(1000, np.float32), "z": np.float32(0)}
    given = dict(zip(module.inputs, given.values(), strict=True))
    with allowed(elements=2 * 1000 * 999):
        transload.run(module, given, engine=engine)
    with allowed(elements=2 * 1000 * 999 - 1), pytest.raises(RunError, match="compute 1,998,000 numbers for one op") as refused:
        transload.run(module, given, engine=engine)
    assert "TRANSLOAD_BUDGET=elements=1998000" in str(refused.value.hint)


@pytest.mark.parametrize("many", ["source", "result"])
def test_windows_without_end_are_not_verified(many: str, tmp_path: Path) -> None:
    """The judge runs the file, whatever was made of it."""
    path = tmp_path / "m.mlir"
    transload.save(_pooled(500 if many == "source" else 2), path)
    source, result = transload.load(path), _pooled(500 if many == "result" else 2)
    with allowed(elements=500 * 512 - 1):
        verdict = verify_conversion(source, result)
    assert verdict.status == "skipped"
    assert "compute 256,000 numbers, and 255,999 are allowed: TRANSLOAD_BUDGET=elements=256000 allows them" in verdict.why


def test_what_computes_in_windows_says_so() -> None:
    """In every dialect: a pooling without a fact would be taken for as little as what it gives."""
    for dialect in ("onnx", "stablehlo", "tf", "tfl", "top", "tosa"):
        known = host().dialect(dialect)
        assert known is not None
        for name, declaration in known.ops.items():
            if {"kernel", "kernel_shape", "filter_height", "ksize", "window_dimensions"} & set(declaration.attributes):
                counted = is_product(name) or host().fact("steps", name) is not None
                assert counted or name in ("onnx.MaxUnpool", "top.Deconv"), name


@pytest.mark.parametrize(("op", "filter", "attributes", "products"), [
    ("Conv", (16, 8, 3, 3), {}, 16 * 18 * 18 * 8 * 9),
    ("Conv", (8, 1, 3, 3), {"group": 8}, 8 * 18 * 18 * 9),
    ("ConvTranspose", (8, 16, 3, 3), {}, 8 * 20 * 20 * 16 * 9),
])
@pytest.mark.parametrize("to", ["onnx", "top", "tosa", "tfl"])
def test_each_weight_of_a_convolution_counts(
    op: str, filter: tuple[int, ...], attributes: dict[str, int], products: int, to: str,
) -> None:
    """A kernel of a million weights was counted as a thousand."""
    weights = np.zeros(filter, np.float32)
    model = read_model(make_model([node(op, ["x", "w"], ["y"], **attributes)], {"x": np.zeros((1, 8, 20, 20), np.float32)}, ["y"],
                                  {"w": weights}))
    module = transload.lower(model, to)
    assert sum(map(products_of, module.ops())) == products
    with allowed(products=products - 1), pytest.raises(RunError, match="multiply"):
        transload.run(module, dict(random_inputs(module)), engine="reference")
