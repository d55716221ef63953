"""Which operators functions become that LiteRT has no operator for: those of tflite-micro, which is not needed to ask this."""

from __future__ import annotations

from typing import Any

import pytest

import transload
from transload.ir import F32, TensorType
from transload.testing import build_module
from transload_targets.tflm.kernels import write_otherwise

THERE = frozenset({
    "abs", "add", "broadcast_to", "cos", "div", "elu", "exp", "floor_mod", "less", "log", "maximum", "minimum", "mul", "neg",
    "relu", "select_v2", "sin", "sub", "tanh"})
"""Those of micro_mutable_op_resolver.h that these functions need."""


@pytest.mark.parametrize(("name", "lacking"), [
    ("Sinh", set()), ("Cosh", set()), ("Softplus", set()), ("Mish", set()), ("Log1p", set()), ("Tan", set()),
    ("TruncMod", set()), ("Erf", {"gelu"}), ("Atan", {"atan2"})])
def test_composed_functions_are_of_operators_that_it_has(name: str, lacking: set[str]) -> None:
    """All but the exact GELU and the arc tangent."""
    def make(builder: Any, *values: Any) -> Any:
        return builder.emit(f"top.{name}", *values)

    inputs = [TensorType((4,), F32)] * (2 if name == "TruncMod" else 1)
    module = transload.lower(build_module(inputs, make), "tfl")
    write_otherwise(module)
    names = {op.name.removeprefix("tfl.") for op in module.ops() if op.dialect == "tfl"}
    assert names - THERE - {"pseudo_const"} == lacking
