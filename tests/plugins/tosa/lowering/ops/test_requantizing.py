"""Quantized numbers in another quantized type: rounded as is asked for, to the last number."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, I8, I16, I32, UI8, IntegerType, QuantType, TensorType, dtype_of
from transload.plugin_host import host
from transload.testing import build_module

from tests.support.graphs import op_names

MODES = ("HalfToEven", "HalfToEvenStored", "HalfUp")


def all_of(storage: IntegerType) -> np.ndarray:
    """All integers of a type, or of 32 bits some."""
    least, most = storage.range if storage.width <= 16 else (-5000, 5000)
    return np.arange(least, most + 1).astype(dtype_of(storage))


def by_tosa(x: np.ndarray, source: QuantType, target: QuantType, mode: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """What TOSA makes of numbers, what the cast means, and TOSA's operators."""
    module = build_module([TensorType(x.shape, source)], lambda rw, x: rw.emit("top.Cast", x, element=target, round_mode=mode))
    (op,) = (op for op in module.ops() if op.name == "top.Cast")
    kernel = host().kernel("top.Cast")
    assert kernel is not None
    lowered = transload.lower(module, "tosa")
    return next(iter(transload.run(lowered, {"x0": x}).values())), kernel[0](op, x), op_names(lowered)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", [0, 5])
@pytest.mark.parametrize("ratio", [0.5, 0.75, 1.5, 2.5, 1 / 6, 7 / 6, 1 / 512, 5 / 64, 0.44, 300.5])
@pytest.mark.parametrize(("source", "target"), [(I8, I8), (I8, I16), (I16, I8), (I16, I16), (UI8, UI8), (UI8, I8)], ids=str)
def test_halves_go_where_they_are_asked_to_go(
    source: IntegerType, target: IntegerType, ratio: float, point: int, mode: str,
) -> None:
    """RESCALE took them up whatever was asked for, or with halves up away from zero."""
    unit = np.float32(2.0**-4) if ratio * 6 % 1 else np.float32(6 * 2.0**-4)
    given = QuantType(source, F32, (float(np.float32(ratio * unit)),), (point if source != I16 else 0,))
    wanted = QuantType(target, F32, (float(unit),), (point if target != I16 else 0,))
    made, meant, _ = by_tosa(all_of(source), given, wanted, mode)
    np.testing.assert_array_equal(made, meant)


@pytest.mark.parametrize("mode", ["HalfToEven", "HalfToEvenStored"])
def test_halves_of_32_bits_become_even(mode: str) -> None:
    for ratio, point in ((0.5, 0), (0.25, 3), (1 / 6, 3)):
        given, wanted = QuantType(I32, F32, (ratio * 0.375,), (0,)), QuantType(I8, F32, (0.375,), (point,))
        made, meant, _ = by_tosa(all_of(I32), given, wanted, mode)
        np.testing.assert_array_equal(made, meant, err_msg=f"{ratio} {point}")


@pytest.mark.parametrize("mode", MODES)
def test_what_has_no_halves_is_one_rescale(mode: str) -> None:
    """Most scales are so, and NPUs know the form."""
    *_, names = by_tosa(all_of(I16), QuantType(I16, F32, (0.00313,), (0,)), QuantType(I8, F32, (0.711,), (3,)), mode)
    assert [name for name in names if name != "tosa.const"] == ["tosa.rescale"]


def test_a_fraction_is_not_left_off() -> None:
    source, target = (QuantType(I8, F32, (scale,), (0,)) for scale in (0.5, 1.0))
    with pytest.raises(ConversionError, match="cannot round with 'Trunc'"):
        by_tosa(all_of(I8), source, target, "Trunc")
