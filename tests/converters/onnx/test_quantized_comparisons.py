"""Comparisons of quantized numbers, as TFLite has them, written as ONNX: those of LiteRT, for all pairs of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import transload
from transload_converters.onnx.writer import model_of

from tests.support.onnx_out.operators import outcome_of
from tests.support.onnx_out.roundtrip import run_model
from tests.support.tflite_ops import harness
from tests.support.tflite_ops.build import build
from tests.support.tflite_ops.measure import all_cases
from tests.support.tflite_ops.spec import Case, bools, x, z

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

ALL = np.arange(-128, 128).astype(np.int8)
OPERATORS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
NEAR = ((0.047, 3), (0.031, -9))
UNLIKE = ((0.0121, -40), (0.9, 17))
FINE = ((0.001, 5), (0.001, 5))
"""Steps of a quarter of that in which LiteRT compares: four numbers beside each other are equal."""
LIKE = ((0.047, 3), (0.047, 3))
EDGE = ((2.0**-8, 0), (2.0**-8, 0))
"""Steps of just that in which LiteRT compares."""
HALVES = ((0.5, 3), (0.25, -9))
"""Real numbers are the same in 8 bits of fraction, and yet these are two types."""


def written(operator: str, types: Sequence[tuple[float, int]]) -> tuple[transload.Module, np.ndarray, np.ndarray]:
    """The ONNX module of a comparison, and what onnxruntime and LiteRT say of all pairs of numbers of two types."""
    (a, a_zero), (b, b_zero) = types
    case = Case(operator, "i8", (x(256, 1, scale=a, zero=a_zero), z(1, 256, scale=b, zero=b_zero)), (bools(256, 256),), {})
    built = build(case)
    built.feeds = dict(zip(built.feeds, (ALL.reshape(256, 1), ALL.reshape(1, 256)), strict=True))
    lowered = transload.lower(transload.legalize(harness.loaded(built)), "onnx")
    (ours,) = run_model(model_of(lowered), dict(zip(lowered.inputs, built.feeds.values(), strict=True)))
    (theirs,) = harness.run_litert(built)
    return lowered, ours, theirs


@pytest.mark.parametrize(
    "types", [NEAR, UNLIKE, FINE, LIKE, EDGE, HALVES], ids=["near", "unlike", "fine", "like", "edge", "halves"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_all_pairs_compare_as_litert_has_it(operator: str, types: Sequence[tuple[float, int]]) -> None:
    _, ours, theirs = written(operator, types)
    assert ours.shape == theirs.shape == (256, 256)
    assert np.array_equal(ours, theirs), f"{np.count_nonzero(ours != theirs)} of {ours.size} pairs differ"


@pytest.mark.parametrize("types", [LIKE, EDGE], ids=["like", "edge"])
def test_numbers_of_one_type_are_compared_by_qdq_where_that_is_the_same(types: Sequence[tuple[float, int]]) -> None:
    lowered, _, _ = written("LESS", types)
    assert "onnx.DequantizeLinear" in {op.name for op in lowered.ops()} and not lowered.notes


@pytest.mark.one_in(3)
@pytest.mark.parametrize("operator", [
    "ABS", "ARG_MAX", "CONCATENATION", "EQUAL", "GATHER", "HARD_SWISH", "LESS", "MAXIMUM", "MEAN", "MINIMUM", "NEG", "PRELU",
    "REDUCE_MAX", "SELECT_V2", "SIGN", "SQUARED_DIFFERENCE", "SUM", "TOPK_V2"])
def test_models_of_one_operator_in_the_form_they_get_by_themselves(operator: str) -> None:
    outcomes = {outcome_of(case, form="auto") for case in [case for case in all_cases() if case.op == operator][::5]}
    assert outcomes <= {"same", None}
