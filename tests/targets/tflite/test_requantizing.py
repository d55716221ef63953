"""Casts between quantized types: QUANTIZE rounds in its own way, which is not always the one that is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, I8, I16, UI8, IntegerType, Module, QuantType, TensorType, dtype_of
from transload.testing import build_module
from transload_converters.tflite.runtime import open_model
from transload_hub.requantizing import meant, numbers_of


def cast_of(source: QuantType, target: QuantType, mode: str, **attributes: str) -> Module:
    shape = (1, 1 << source.storage.width)
    return build_module([TensorType(shape, source)], lambda rw, x: rw.emit(
        "top.Cast", x, element=target, round_mode=mode, **attributes))


def by_litert(module: Module, source: QuantType, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """What LiteRT makes of all numbers of the operand's type, and what the cast means."""
    pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    (op,) = (op for op in module.ops() if op.name == "top.Cast")
    x = numbers_of(source).astype(dtype_of(source)).reshape(1, -1)
    path = transload.save(transload.lower(module, "tfl"), folder / "made.tflite")
    return open_model(path)({"x0": x})["y"].ravel(), meant(op)


@pytest.mark.parametrize("ratio", [0.5, 0.75, 1.5, 1 / 6, 0.44])
@pytest.mark.parametrize(("source", "target"), [(I8, I8), (I8, I16), (I16, I8), (UI8, UI8), (UI8, I8)], ids=str)
def test_halves_go_up(source: IntegerType, target: IntegerType, ratio: float, tmp_path: Path) -> None:
    """QUANTIZE takes those below 0 down, and by its double rounding others up."""
    given = QuantType(source, F32, (ratio,), (0 if source == I16 else 7,))
    wanted = QuantType(target, F32, (1.0,), (0 if target == I16 else 5,))
    made, right = by_litert(cast_of(given, wanted, "HalfUp"), given, tmp_path)
    np.testing.assert_array_equal(made, right)


def test_a_shift_goes_up_where_that_is_asked_for(tmp_path: Path) -> None:
    """The subtraction that shifts takes halves away from zero."""
    given, wanted = (QuantType(I16, F32, (scale,), (0,)) for scale in (0.5, 1.0))
    made, right = by_litert(cast_of(given, wanted, "HalfUp", rounding="exact"), given, tmp_path)
    np.testing.assert_array_equal(made, right)


@pytest.mark.parametrize("mode", ["HalfToEven", "HalfToEvenStored", "Trunc"])
def test_other_halves_are_refused(mode: str) -> None:
    given, wanted = QuantType(I8, F32, (0.5,), (-3,)), QuantType(I8, F32, (1.0,), (5,))
    module = cast_of(given, wanted, mode)
    with pytest.raises(ConversionError, match=f"it rounds {mode}, and LiteRT's QUANTIZE twice") as refused:
        transload.lower(module, "tfl")
    assert "rounding=litert" in str(refused.value)
    names = [op.name for op in transload.lower(module, "tfl", rounding="litert").ops() if op.dialect == "tfl"]
    assert names == ["tfl.quantize"]


@pytest.mark.parametrize("mode", ["HalfToEven", "HalfToEvenStored"])
def test_quantize_does_where_it_makes_the_same_of_each_number(mode: str, tmp_path: Path) -> None:
    """It was refused for the word by which it is rounded."""
    given, wanted = QuantType(I8, F32, (0.0313,), (-3,)), QuantType(I16, F32, (0.000711,), (0,))
    made, right = by_litert(cast_of(given, wanted, mode, rounding="once"), given, tmp_path)
    np.testing.assert_array_equal(made, right)
