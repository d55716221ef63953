"""Quantizing that a program computes by arithmetic: the pass `recognize-quantized`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.engine import run_function
from transload.ir import F32, I8, I16, UI8, IntegerType, QuantType, verify
from transload.passes.canonicalize import canonicalize
from transload_hub.recognize.quantized import recognize_quantized

from tests.support.graphs import Graph, op_names

LIMITS: dict[str, Callable[..., Any]] = {
    "clip": lambda g, x, low, high: g.Clip(x, min=low, max=high),
    "max, min": lambda g, x, low, high: g.Min(g.Max(x, low), high),
    "min, max": lambda g, x, low, high: g.Max(g.Min(x, high), low),
}


@pytest.mark.parametrize("simplified", [False, True])
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize(("storage", "point", "low", "high"), [
    (I8, 3, -128, 127), (UI8, 128, 0, 255), (UI8, 0, 0, 255), (UI8, 10, 0, 200), (I8, 0, 0, 127), (I16, 0, -32768, 32767)])
def test_what_is_rounded_and_kept_in_range(
    storage: IntegerType, point: int, low: int, high: int, limits: str, simplified: bool,
) -> None:
    """Whichever ops keep it there: what begins at 0 is a ReLU with a limit, or becomes part of the sum before it."""
    g = Graph((2, 16))
    whole = g.Round(g.MulConst(g.inputs[0], const_val=32.0))
    whole = g.AddConst(whole, const_val=float(point)) if point else whole
    stored = g.builder.emit("top.Cast", LIMITS[limits](g, whole, float(low), float(high)), element=storage)
    real = g.AddConst(g.builder.emit("top.Cast", stored, element=F32), const_val=-float(point))
    module = g.done(g.MulConst(real, const_val=1 / 32))
    if simplified:
        canonicalize(module)
    inputs = {"x0": np.linspace(-9, 9, 32, dtype=np.float32).reshape(2, 16)}
    want = run_function(module, inputs)["y0"]
    assert recognize_quantized(module)
    verify(module)
    kinds = [op.results[0].element for op in module.ops() if op.name == "top.Cast"]
    assert op_names(module) == ["Cast", "Cast"] and isinstance(kinds[0], QuantType), op_names(module)
    assert (kinds[0].storage, kinds[0].zero_point, kinds[0].storage_min, kinds[0].storage_max) == (storage, point, low, high)
    np.testing.assert_array_equal(run_function(module, inputs)["y0"], want)
