"""Sums of numbers whose steps are far coarser than the result's: LiteRT asserts that they are not, and ends the process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, I8, I16, IntegerType, QuantType, TensorType
from transload.worker import ChildEnded
from transload_converters.tflite.runtime import open_model

from tests.support.graphs import Graph
from tests.support.tflite_models import write_operator


@pytest.mark.parametrize(("name", "operator", "storage", "finest"), [
    ("Add", "ADD", I8, 0.5 / 2**19), ("Add", "ADD", I16, 0.5 / 2**14),
    ("SquaredDifference", "SQUARED_DIFFERENCE", I8, 1 / 2**14)])
def test_what_ends_litert_is_refused_and_nothing_else(
    name: str, operator: str, storage: IntegerType, finest: float, tmp_path: Path,
) -> None:
    dtype = f"int{storage.width}"
    for step, taken in ((finest * 0.999, False), (finest * 1.001, True)):
        scales = [0.5, 0.25, step]
        types = [((1, 4), dtype, None, ([scale], [0], 0)) for scale in scales]
        path = tmp_path / f"{name}_{taken}.tflite"
        path.write_bytes(write_operator(operator, types[:2], types[2:], {"pot_scale_int16": False} if name == "Add" else {}))
        zeros = {each: np.zeros((1, 4), dtype) for each in ("in0", "in1")}
        graph = Graph(*(TensorType((1, 4), QuantType(storage, F32, (scale,), (0,))) for scale in scales[:2]))
        element = QuantType(storage, F32, (step,), (0,))
        module = graph.done(graph.emit(name, *graph.inputs, types=[TensorType((1, 4), element)]))
        if taken:
            open_model(path)(zeros)
            assert [op.name for op in transload.lower(module, "tfl").ops()] == [f"tfl.{operator.lower()}", "func.return"]
        else:
            with pytest.raises(ChildEnded):
                open_model(path)(zeros)
            with pytest.raises(ConversionError, match=r"a step of 0\.5 beside .* LiteRT takes no such scales"):
                transload.lower(module, "tfl")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "operator", "scales", "taken"), [
    ("Add", "ADD", (2.0**100, 0.25, 2.0**108), False), ("Add", "ADD", (2.0**100, 0.25, 2.0**107), True),
    ("Sub", "SUB", (2.0**118, 0.25, 2.0**118), False), ("Sub", "SUB", (0.25, 2.0**107, 2.0**107), True),
    ("Sub", "SUB", (2.0**19, 0.25, 1.0), False), ("Sub", "SUB", (2.0**20, 0.25, 1.0), True),
    ("SquaredDifference", "SQUARED_DIFFERENCE", (2.0**56, 0.25, 2.0**114), False),
    ("SquaredDifference", "SQUARED_DIFFERENCE", (2.0**56, 0.25, 2.0**113), True)])
def test_factors_that_float32_does_not_hold_are_refused(
    name: str, operator: str, scales: tuple[float, float, float], taken: bool, tmp_path: Path,
) -> None:
    """A start of -1e38 for a running maximum, and what is subtracted from it."""
    types = [((1, 4), "int8", None, ([scale], [0], 0)) for scale in scales]
    path = tmp_path / "one.tflite"
    options = {"pot_scale_int16": False} if operator != "SQUARED_DIFFERENCE" else {}
    path.write_bytes(write_operator(operator, types[:2], types[2:], options))
    zeros = {each: np.zeros((1, 4), "int8") for each in ("in0", "in1")}
    graph = Graph(*(TensorType((1, 4), QuantType(I8, F32, (scale,), (0,))) for scale in scales[:2]))
    element = QuantType(I8, F32, scales[2:], (0,))
    module = graph.done(graph.emit(name, *graph.inputs, types=[TensorType((1, 4), element)]))
    if taken:
        open_model(path)(zeros)
        transload.lower(module, "tfl")
    else:
        with pytest.raises(ChildEnded):
            open_model(path)(zeros)
        with pytest.raises(ConversionError, match=r"LiteRT takes no such scales"):
            transload.lower(module, "tfl")


@pytest.mark.parametrize(("scale", "in_integers"), [(2.0**-26, False), (2.0**-25, True)])
def test_exponents_too_fine_for_litert_are_taken_in_floats(scale: float, in_integers: bool, tmp_path: Path) -> None:
    """Of bytes whose steps are 2^-26 or less LiteRT's SOFTMAX ends the process."""
    path = tmp_path / "softmax.tflite"
    path.write_bytes(write_operator(
        "SOFTMAX", [((1, 4), "int8", None, ([scale], [0], 0))], [((1, 4), "int8", None, ([1 / 256], [-128], 0))], {"beta": 1.0}))
    numbers = np.array([[-128, 0, 5, 127]], np.int8)
    if in_integers:
        open_model(path)({"in0": numbers})
    else:
        with pytest.raises(ChildEnded):
            open_model(path)({"in0": numbers})
    graph = Graph(TensorType((1, 4), QuantType(I8, F32, (scale,), (0,))))
    element = QuantType(I8, F32, (1 / 256,), (-128,))
    module = graph.done(graph.emit("Softmax", *graph.inputs, axis=1, types=[TensorType((1, 4), element)]))
    assert ("tfl.dequantize" not in [op.name for op in transload.lower(module, "tfl").ops()]) == in_integers
    transload.convert(module, "tflite", tmp_path / "out")
    made = open_model(next((tmp_path / "out").glob("*.tflite")))({"x0": numbers})
    np.testing.assert_array_equal(next(iter(made.values())), np.full((1, 4), 64 - 128))


@pytest.mark.parametrize("scheme", ["int8", "int8-asym", "int16x8"])
@pytest.mark.parametrize("name", ["Add", "Sub", "SquaredDifference"])
def test_what_was_zero_on_all_samples_has_the_scale_of_what_is_beside_it(name: str, scheme: str, tmp_path: Path) -> None:
    """As the imaginary parts of products with numbers that are real: such had a scale of 1."""
    graph = Graph((1, 8), (1, 8))
    x, zero = graph.inputs
    parts = graph.Mul(x, x), graph.Add(graph.Mul(x, zero, location="parts"), zero)
    module = graph.done(getattr(graph, name)(*parts))
    numbers = np.random.default_rng(8)
    samples = [{"x0": 0.01 * numbers.standard_normal((1, 8)).astype(np.float32), "x1": np.zeros((1, 8), np.float32)}
               for _ in range(4)]
    result = transload.convert(
        module, "tflite", tmp_path, quantize=scheme, data=samples,
        quantizer_options={"quant_input": "all", "quant_output": "all"})
    assert result.verification is not None and result.verification.status == "passed", result.verification
