"""Bits that TFLite has no operators for, and sums and products of `ui32` that are made of them: LiteRT is the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import TransloadError
from transload.ir import I32, TensorType

from tests.support.graphs import Graph

BODY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}
ENDS = np.array([0, 1, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1], np.uint32)


def invoked(path: Path, *given: np.ndarray) -> np.ndarray:
    interpreter = pytest.importorskip("ai_edge_litert.interpreter").Interpreter(model_path=str(path))
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), given, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    found: np.ndarray = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    return found


@pytest.mark.parametrize("name", BODY)
def test_unsigned_arithmetic_wraps_round(name: str, tmp_path: Path) -> None:
    a, b = (each.ravel() for each in np.meshgrid(ENDS, ENDS))
    more = np.random.default_rng(0).integers(0, 2**32, (2, 175), np.uint32)
    a, b = np.concatenate([a, more[0]]), np.concatenate([b, more[1]])
    text = f"""func.func @main(%a: tensor<256xui32>, %b: tensor<256xui32>) -> tensor<256xui32> {{
      %0 = stablehlo.{name} %a, %b : tensor<256xui32>
      return %0 : tensor<256xui32>
    }}"""
    made = transload.convert(transload.load(text=text, format="stablehlo"), "tflite", tmp_path, verify=False)
    (path,) = made.directory.glob("*.tflite")
    np.testing.assert_array_equal(invoked(path, a, b), BODY[name](a, b))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(("name", "number"), [
    ("and", 1), ("and", 255), ("and", 2**30 - 1), ("shift_left", 0), ("shift_left", 7), ("shift_left", 31)])
def test_masks_and_moves(name: str, number: int, dtype: type[np.signedinteger], tmp_path: Path) -> None:
    kind = "i32" if dtype is np.int32 else "i64"
    text = f"""func.func @main(%a: tensor<64x{kind}>) -> tensor<64x{kind}> {{
      %c = stablehlo.constant dense<{number}> : tensor<64x{kind}>
      %0 = stablehlo.{name} %a, %c : tensor<64x{kind}>
      return %0 : tensor<64x{kind}>
    }}"""
    a = np.random.default_rng(1).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 64, dtype)
    made = transload.convert(transload.load(text=text, format="stablehlo"), "tflite", tmp_path, verify=False)
    (path,) = made.directory.glob("*.tflite")
    np.testing.assert_array_equal(invoked(path, a), a & dtype(number) if name == "and" else a << dtype(number))


@pytest.mark.parametrize(("x", "mask"), [((1,), (4,)), ((3, 1), (1, 4)), ((4,), ()), ((4,), (1,))])
@pytest.mark.parametrize("turned", [False, True])
def test_a_mask_may_be_the_larger_one(x: tuple[int, ...], mask: tuple[int, ...], turned: bool, tmp_path: Path) -> None:
    """What is broadcast to the shape of its mask has that shape in the file, too: it kept its own."""
    graph = Graph(TensorType(x, I32))
    operands = graph.inputs[0], graph.constant(np.full(mask, 7, np.int32))
    module = graph.done(graph.BitwiseAnd(*(operands[::-1] if turned else operands)))
    made = transload.convert(module, "tflite", tmp_path, verify=False)
    (path,) = made.directory.glob("*.tflite")
    a = np.arange(-5, 7, dtype=np.int32)[:np.prod(x)].reshape(x)
    np.testing.assert_array_equal(invoked(path, a), a & np.full(mask, 7, np.int32), strict=True)


@pytest.mark.parametrize("name", ["and", "or"])
def test_masks_that_are_none_are_refused(name: str) -> None:
    text = f"""func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {{
      %c = stablehlo.constant dense<5> : tensor<4xi32>
      %0 = stablehlo.{name} %a, %c : tensor<4xi32>
      return %0 : tensor<4xi32>
    }}"""
    with pytest.raises(TransloadError, match=f"Bitwise{name.title()}.*\\n? *.*TFLite has no {name.upper()}"):
        transload.lower(transload.load(text=text, format="stablehlo"), "tfl")


@pytest.mark.parametrize("name", ["and", "or"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("mask", [
    0, 1, 0xf, 0xf0, 0xff, 0x7f00, 0xfffffff0, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1])
def test_neighbouring_bits(mask: int, dtype: Any, name: str, tmp_path: Path) -> None:
    """All but the highest were refused, of which quotients of `ui32` are made, what begins above the lowest, and other widths."""
    width, ends = 8 * np.dtype(dtype).itemsize, np.iinfo(dtype)
    held = np.array([mask & ((1 << width) - 1)], f"u{width // 8}").view(dtype)
    x = np.array([ends.min, ends.min + 1, ends.max // 3, ends.max - 1, 0, 1, 0x12, ends.max], dtype)
    kind = f"tensor<8x{'u' * (ends.min == 0)}i{width}>"
    text = f"""func.func @main(%a: {kind}) -> {kind} {{
      %m = stablehlo.constant dense<{held[0]}> : {kind}
      %0 = stablehlo.{name} %a, %m : {kind}
      return %0 : {kind}
    }}"""
    made = transload.convert(transload.load(text=text, format="stablehlo"), "tflite", tmp_path, verify=False)
    (path,) = made.directory.glob("*.tflite")
    np.testing.assert_array_equal(invoked(path, x), x & held if name == "and" else x | held)
