"""Integers of fewer than 8 bits, which numpy computes in bytes."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from transload.api import run
from transload.ir import TensorType, element_type_of
from transload.testing.models import build_module


def test_least_and_greatest_of_four_bits() -> None:
    kind = TensorType((3,), element_type_of(np.dtype(ml_dtypes.int4)))
    x, y = np.array([-8, 3, 7], ml_dtypes.int4), np.array([1, -2, 7], ml_dtypes.int4)
    # TOSA itself has no such mode: what computes it is a kernel of others, too
    for name, wanted in (("minimum", [-8, -2, 7]), ("maximum", [1, 3, 7])):
        module = build_module([kind, kind], lambda b, *values, name=name: b.emit(f"tosa.{name}", *values))
        (array,) = run(module, dict(zip(module.inputs, (x, y), strict=True)), engine="reference").values()
        assert array.astype(int).tolist() == wanted
