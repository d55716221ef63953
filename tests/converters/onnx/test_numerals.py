"""Constant texts that are cast to numbers: those that all runtimes read alike are, others are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import transload
from transload.errors import ConversionError

from tests.support.onnx_models import make_model, node, op_names, read_model

X = np.array([[1.5, -2, 3]], np.float32)
FLOATS = ["1.5", "-inf", "3e2", "+INF", "NaN", ".5", "5.", "-0", "1E-3", " 7 "]


def texts(*held: str, shape: Sequence[int] | None = None) -> Any:
    written: Any = [text.encode() for text in held]
    return helper.make_tensor("s", TensorProto.STRING, [len(held)] if shape is None else shape, written)


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16])
def test_floats(compare: Callable[..., Any], kind: int) -> None:
    hub = compare(node("Cast", ["s"], ["y"], to=kind), {}, ("y",), {"s": texts(*FLOATS, "0.1", "70000", shape=(3, 4))})
    assert not op_names(hub)


@pytest.mark.parametrize(("kind", "held"), [
    (TensorProto.INT64, ("42", "-3", "+4", "9223372036854775807")), (TensorProto.UINT64, ("18446744073709551615",)),
    (TensorProto.INT8, ("-128", "007")), (TensorProto.INT32, ())])
def test_whole_numbers(compare: Callable[..., Any], kind: int, held: tuple[str, ...]) -> None:
    compare(node("Cast", ["s"], ["y"], to=kind), {}, ("y",), {"s": texts(*held)})


@pytest.mark.parametrize("attributes", [
    {"value": texts("1.5", "2", "-3", shape=(1, 3))}, {"value_strings": ["1.5", "2", "-3"]}, {"value_string": "2.5"}])
def test_texts_of_an_operator_that_are_used(compare: Callable[..., Any], attributes: dict[str, Any]) -> None:
    compare([node("Constant", [], ["s"], **attributes), node("Cast", ["s"], ["k"], to=TensorProto.FLOAT),
             node("Mul", ["x", "k"], ["y"])], {"x": X})


@pytest.mark.parametrize(("kind", "held", "why"), [
    (TensorProto.FLOAT, "abc", "'abc' to f32"), (TensorProto.FLOAT, "1_0", "'1_0'"), (TensorProto.FLOAT, "0x10", "'0x10'"),
    (TensorProto.FLOAT, "", "''"), (TensorProto.INT32, "1.5", r"'1\.5' to i32"), (TensorProto.UINT8, "300", "has 0 to 255"),
    (TensorProto.UINT8, "-1", "has 0 to 255"), (TensorProto.BOOL, "1", "only numbers"),
    (TensorProto.STRING, "1", "only numbers")])
def test_texts_that_runtimes_read_otherwise_are_refused(kind: int, held: str, why: str) -> None:
    """onnxruntime takes 1 of "1_0", 44 of "300", and fails at "abc"; ONNX's reference takes 10, and fails at "300"."""
    model = make_model([node("Cast", ["s"], ["y"], to=kind)], {}, ["y"], {"s": texts(held)})
    with pytest.raises(ConversionError, match=why):
        transload.legalize(read_model(model))


def test_casts_to_the_type_of_another_tensor(compare: Callable[..., Any]) -> None:
    compare([node("CastLike", ["s", "x"], ["k"]), node("Mul", ["x", "k"], ["y"])], {"x": X}, ("y",), {"s": texts("2")})


def test_texts_that_something_else_reads_too_are_refused() -> None:
    model = make_model([node("Cast", ["s"], ["y"], to=1), node("Identity", ["s"], ["z"])], {}, ["y", "z"], {"s": texts("1")})
    with pytest.raises(ConversionError, match="holds text"):
        transload.legalize(read_model(model))
