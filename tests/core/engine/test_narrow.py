"""Integers of fewer than 8 bits, which numpy computes in bytes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from transload.api import run
from transload.errors import RunError
from transload.ir import TensorType, element_type_of
from transload.testing.models import build_module
from transload.text import parse_type


def test_least_and_greatest_of_four_bits() -> None:
    kind = TensorType((3,), element_type_of(np.dtype(ml_dtypes.int4)))
    x, y = np.array([-8, 3, 7], ml_dtypes.int4), np.array([1, -2, 7], ml_dtypes.int4)
    # TOSA itself has no such mode: what computes it is a kernel of others, too
    for name, wanted in (("minimum", [-8, -2, 7]), ("maximum", [1, 3, 7])):
        module = build_module([kind, kind], lambda b, *values, name=name: b.emit(f"tosa.{name}", *values))
        (array,) = run(module, dict(zip(module.inputs, (x, y), strict=True)), engine="reference").values()
        assert array.astype(int).tolist() == wanted


@pytest.mark.parametrize(("text", "least", "most"), [
    ("tensor<2xi48>", -(1 << 47), (1 << 47) - 1),
    ("tensor<2x!quant.uniform<i8<-127:127>:f32, 0.5>>", -127, 127),
    ("tensor<2x!quant.uniform<i4<-7:7>:f32, 0.5>>", -7, 7)])
def test_inputs_lie_in_the_range_that_their_type_says(text: str, least: int, most: int) -> None:
    kind = parse_type(text)
    module = build_module([kind], lambda b, x: x)
    (name,) = module.inputs
    (array,) = run(module, {name: [least, most]}, engine="reference").values()
    assert array.astype(np.int64).tolist() == [least, most]
    for beyond in (least - 1, most + 1):
        with pytest.raises(RunError, match="the inputs do not fit") as caught:
            run(module, {name: [0, beyond]}, engine="reference")
        assert "holds numbers that" in str(caught.value.findings[0])
