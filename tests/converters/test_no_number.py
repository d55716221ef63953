"""A constant without elements, where an operator takes one number, is refused in words and ends no rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import TransloadError

from tests.support.onnx_models import make_model, node
from tests.support.tflite_models import write_operator

X, NONE = ((2, 3), "float32"), ((0,), "float32", np.zeros(0, np.float32))


def number(value: float, dtype: str) -> tuple[Any, ...]:
    return (), dtype, np.array(value, dtype)


NO_INTEGER, FIVE, ONE = ((0,), "int32", np.zeros(0, np.int32)), number(5, "int32"), number(1, "int32")
BOXES = [((6, 4), "float32"), ((6,), "float32"), number(3, "int32"), *(number(0.5, "float32") for _ in range(3))]
CHOSEN = [((3,), "int32"), ((3,), "float32"), ((), "int32")]


@pytest.mark.parametrize(("operator", "operands", "results"), [
    ("PADV2", [X, ((2, 2), "int32", np.array([[1, 0], [0, 0]], np.int32)), NONE], [((3, 3), "float32")]),
    ("RANGE", [NO_INTEGER, FIVE, ONE], [((5,), "int32")]),
    *[("NON_MAX_SUPPRESSION_V5", [*BOXES[:place], NONE, *BOXES[place + 1:]], CHOSEN) for place in (3, 4, 5)]])
def test_tflite(operator: str, operands: list[Any], results: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "model.tflite"
    file.write_bytes(write_operator(operator, operands, results))
    with pytest.raises(TransloadError) as caught:
        transload.lower(transload.load(file), "top")
    assert "number" in str(caught.value) and "failed" not in str(caught.value)


def test_subscripts_of_floats(tmp_path: Path) -> None:
    """They ended in a TypeError."""
    file = tmp_path / "model.tflite"
    subscripts = ((5, 2), "float16", np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]], np.float16))
    file.write_bytes(write_operator("EMBEDDING_LOOKUP_SPARSE", [
        ((5,), "int32"), subscripts, ((2,), "int32", np.array([2, 3], np.int32)), ((5,), "float32"), ((6, 3), "float32")],
        [((2, 3), "float32")], {"combiner": "MEAN"}))
    with pytest.raises(TransloadError, match="both are integers"):
        transload.lower(transload.load(file), "top")


@pytest.mark.parametrize(("operator", "constants"), [
    ("Pad", [np.array([1, 0, 0, 0]), np.zeros(0, np.float32)]), ("Dropout", [np.zeros(0, np.float32), np.array([True])]),
    ("QuantizeLinear", [np.zeros(0, np.float32), np.zeros(0, np.uint8)]),
    ("QuantizeLinear", [np.array(0.1, np.float32), np.zeros(0, np.uint8)])])
def test_onnx(operator: str, constants: list[np.ndarray], tmp_path: Path) -> None:
    held = {f"c{place}": array for place, array in enumerate(constants)}
    model = make_model([node(operator, ["x", *held], ["y"])], {"x": np.zeros((2, 3), np.float32)}, ["y"], held)
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    with pytest.raises(TransloadError) as caught:
        transload.lower(transload.load(file), "top")
    assert ("number" in str(caught.value) or "scales" in str(caught.value)) and "failed" not in str(caught.value)
