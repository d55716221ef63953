"""The least integer by -1, which no type holds: it wraps round in every runtime, and none ends with its process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import I8, I32, I64, UI32, IntegerType, TensorType, dtype_of
from transload_converters.onnx.runtime import open_model as open_onnx
from transload_converters.tflite.runtime import open_model as open_tflite
from transload_hub.quotients import may_leave_range

from tests.support.graphs import Graph


@pytest.mark.parametrize("name", ["Div", "FloorDiv", "FloorMod", "TruncMod"])
@pytest.mark.parametrize(("dialect", "element"), [("onnx", I32), ("onnx", I64), ("tfl", I32), ("tfl", I64)], ids=str)
def test_the_least_number_by_minus_one(name: str, dialect: str, element: IntegerType, tmp_path: Path) -> None:
    graph = Graph((2,), (2,), element=element)
    hub = graph.done(getattr(graph, name)(*graph.inputs))
    if (dialect, element) == ("tfl", I64) and "Div" in name:
        with pytest.raises(ConversionError, match="no kernel of it for i64"):
            transload.lower(hub, dialect)
        return
    lowered = transload.lower(hub, dialect)
    number, least = dtype_of(element), element.range[0]
    inputs = {"x0": np.array([7, least], number), "x1": np.array([-1, -1], number)}
    (wanted,) = transload.run(hub, inputs, engine="reference").values()
    assert list(wanted) == ([-7, least] if "Div" in name else [0, 0])
    saved = transload.save(lowered, tmp_path / ("made.onnx" if dialect == "onnx" else "made.tflite"))
    (theirs,) = (open_onnx if dialect == "onnx" else open_tflite)(saved)(inputs).values()
    np.testing.assert_array_equal(theirs, wanted)


def test_tosa_says_nothing_of_it_and_onnx_is_made_of_it(tmp_path: Path) -> None:
    graph = Graph((2,), (2,), element=I32)
    tosa = transload.lower(graph.done(graph.Div(*graph.inputs)), "tosa")
    inputs = {"x0": np.array([-(1 << 31), 7], np.int32), "x1": np.array([-1, -1], np.int32)}
    (theirs,) = open_onnx(transload.save(transload.lower(tosa, "onnx"), tmp_path / "made.onnx"))(inputs).values()
    assert list(theirs) == [-(1 << 31), -7]


@pytest.mark.parametrize(("divisor", "dividend", "may"), [
    (3, None, False), (-1, None, True), (None, 5, False), (None, -(1 << 31), True), (None, None, True)])
def test_what_is_guarded(divisor: int | None, dividend: int | None, may: bool) -> None:
    graph = Graph((2,), (2,), element=I32)
    a, b = (value if number is None else graph.constant(np.array([number, 2], np.int32))
            for value, number in zip(graph.inputs, (dividend, divisor), strict=True))
    assert may_leave_range(b, a) is may


def test_what_was_narrower_or_has_no_sign_is_not() -> None:
    graph = Graph(TensorType((2,), I8), TensorType((2,), UI32), TensorType((2,), I32))
    wide = graph.Cast(graph.inputs[0], element=I32)
    assert not may_leave_range(graph.inputs[2], wide) and may_leave_range(wide, graph.inputs[2])
    assert not may_leave_range(graph.inputs[1]) and not may_leave_range(graph.inputs[0])


def test_casts_that_wrap_round_may_be_any_number(tmp_path: Path) -> None:
    graph = Graph(TensorType((2,), I32), TensorType((2,), UI32))
    divisor = graph.Cast(graph.inputs[1], element=I32)
    assert may_leave_range(divisor, graph.inputs[0]) and not may_leave_range(graph.Cast(graph.inputs[1], element=I64))
    lowered = transload.lower(graph.done(graph.Div(graph.inputs[0], divisor)), "tfl")
    inputs = {"x0": np.array([7, -(1 << 31)], np.int32), "x1": np.array([2**32 - 1] * 2, np.uint32)}
    (theirs,) = open_tflite(transload.save(lowered, tmp_path / "made.tflite"))(inputs).values()
    assert list(theirs) == [-7, -(1 << 31)]
