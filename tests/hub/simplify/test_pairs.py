"""Sums and products of several as ones of two: the same numbers, and nothing is left to do behind that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import F32, I32, TensorType
from transload.testing import build_module
from transload_hub.simplify.pairs import write_out_pairs


@pytest.mark.parametrize(("name", "attributes"), [
    ("Add", {}), ("Add", {"coeff": (2.0, -1.0, 0.5), "do_relu": True, "relu_limit": 3.0}), ("Mul", {"do_relu": True})])
def test_they_compute_the_same(name: str, attributes: dict[str, Any]) -> None:
    module = build_module([TensorType((2, 3), F32)] * 3, lambda build, *values: build.emit(f"top.{name}", *values, **attributes))
    copy = module.clone()
    assert write_out_pairs(copy) and not write_out_pairs(copy)
    assert [len(op.operands) for op in copy.ops() if op.name == f"top.{name}"] == [2, 2]
    drawn = np.random.default_rng(0)
    given = {each: drawn.normal(scale=3.0, size=(2, 3)).astype(np.float32) for each in module.inputs}
    (wanted,), (found,) = transload.run(module, given).values(), transload.run(copy, given).values()
    np.testing.assert_array_equal(found, wanted)


def test_integers_stay_as_they_are() -> None:
    assert not write_out_pairs(build_module([TensorType((2,), I32)] * 3, lambda build, *values: build.emit("top.Add", *values)))
