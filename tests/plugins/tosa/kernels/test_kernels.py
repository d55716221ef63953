"""Kernels against the TOSA reference model: integers bit for bit, floats near."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from transload.engine import run_function
from transload.errors import RunError
from transload.ir import I4, I8, I32, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload_plugins.tosa import build
from transload_plugins.tosa.flatbuffer.reader import read_bytes
from transload_plugins.tosa.flatbuffer.writer import serialize

USUAL = {1: 0.0, 2: 2e-3, 4: 1e-5}
"""Greatest relative error of floats by their bytes; bf16 has three digits."""


def compare(case: Any, ours: np.ndarray, theirs: np.ndarray) -> None:
    """Fails where the results of one output differ more than they may."""
    assert ours.shape == theirs.shape
    if theirs.dtype != ours.dtype:
        theirs = theirs.view(ours.dtype)
    if ours.dtype.kind in "iub":
        np.testing.assert_array_equal(ours, theirs)
        return
    tolerance = case.tolerance
    if tolerance is None:
        tolerance = 1e-2 if ours.dtype.name == "bfloat16" else USUAL[ours.dtype.itemsize]
    x, y = ours.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(all="ignore"):
        size = np.abs(y).max(initial=0) if case.to_greatest else np.abs(y)
        near = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= tolerance * size)
    assert near.all(), f"{x[~near][:5]} where the reference model has {y[~near][:5]}"


def test_kernel_agrees_with_the_reference_model(case: Any, built: Any, reference_model: Any) -> None:
    module, inputs = built(case)
    data = serialize(module, case.version)
    ours = run_function(module, {f"x{index}": array for index, array in enumerate(inputs)})
    for a, b in zip(ours.values(), reference_model(data, inputs), strict=True):
        compare(case, a, b)


def test_file_reads_back_as_written(case: Any, built: Any) -> None:
    module, _ = built(case)
    data = serialize(module, case.version)
    again = read_bytes(data)
    assert serialize(again, case.version) == data
    before = [(op.name, [str(v.type) for v in op.results], op.attributes) for op in module.ops()]
    for name, types, attributes in before:
        match = [op for op in again.ops() if op.name == name and [str(v.type) for v in op.results] == types]
        assert match, f"{name} is lost"
        kept = [all(op.attribute(key) == value for key, value in attributes.items()) for op in match]
        assert any(kept), f"attributes of {name} changed"


def test_inexact_rounding_is_within_one(cases: list[Any], built: Any, reference_model: Any) -> None:
    """INEXACT_ROUND lets an implementation round either way; the reference model does it in floating point."""
    chosen = [case for case in cases if case.op == "tosa.rescale" and case.note == "SINGLE_ROUND-33"]
    assert len(chosen) == 9
    for case in chosen:
        module, inputs = built(type(case)(
            case.op, case.operands, case.element, {**case.attributes, "rounding_mode": "INEXACT_ROUND"}))
        (ours,) = run_function(module, {"x0": inputs[0]}).values()
        theirs = reference_model(serialize(module), inputs)[0]
        difference = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
        assert (difference <= np.maximum(1, np.abs(theirs.astype(np.int64)) >> 22)).all()


@pytest.mark.parametrize(("dtype", "least"), [(np.int32, -(2**31)), (np.int8, -128), (np.int16, -32768)])
def test_the_least_integer_saturates(dtype: Any, least: int, built: Any, cases: list[Any]) -> None:
    """Where TOSA leaves the result open (the reference model refuses), abs and negate saturate."""
    negate = next(case for case in cases if case.op == "tosa.negate" and case.operands[0].dtype == dtype)
    module, _ = built(type(negate)("tosa.negate", [np.array([least, 1], dtype), *negate.operands[1:]]))
    (out,) = run_function(module, {"x0": np.array([least, 1], dtype)}).values()
    assert out.tolist() == [-least - 1, -1]


@pytest.mark.parametrize(("least", "fits"), [(-7, True), (-8, False)])
def test_no_weight_of_four_bits_that_is_given_is_minus_eight(least: int, fits: bool) -> None:
    """What is computed with it is anything, by the specification: none of our numbers may stand for another's."""
    module = new_module()
    module.add_function("main", [TensorType((1, 2, 2, 2), I8), TensorType((1, 1, 1, 2), I4)], ["x", "w"])
    block = module.body_of_main
    x, weight = block.arguments
    builder = Builder(block)
    bias, zero = build.const(builder, np.zeros(1, np.int32)), build.zero_point(builder, 0, I8)
    made = builder.emit("tosa.conv2d", x, weight, bias, zero, build.zero_point(builder, 0, I4),
                        pad=(0,) * 4, stride=(1, 1), dilation=(1, 1), acc_type=I32)
    set_results(module.main, [made], ["y"])
    given = {"x": np.ones((1, 2, 2, 2), np.int8), "w": np.array([[[[3, least]]]], ml_dtypes.int4)}
    with nullcontext() if fits else pytest.raises(RunError, match="int4_t ends at -7"):
        assert (run_function(module, given)["y"] == 3 + least).all()
