"""Integers that saturate where they become others: each target's form of the cast gives what the hub's does."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import dtype_of
from transload.text import parse_module, parse_type

TYPES = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")


@pytest.mark.parametrize("target", ["tosa", "stablehlo", "onnx", "tfl"])
@pytest.mark.parametrize("source", TYPES)
def test_integers_that_saturate(source: str, target: str) -> None:
    """TFLite's CAST drops the high bits, and of TOSA's integers with a sign unsigned ones had the bits."""
    numbers = np.array([-5, 3, 100, -128, 127, 255, 30000], np.int64)
    x = (np.abs(numbers) if source == "ui64" else numbers).astype(dtype_of(parse_type(source)))
    converted = 0
    for to in TYPES:
        text = f"""
            func.func @main(%x: tensor<7x{source}>) -> tensor<7x{to}> {{
              %y = "top.Cast"(%x) <{{saturate = true}}> : (tensor<7x{source}>) -> tensor<7x{to}>
              return %y : tensor<7x{to}>
            }}"""
        module = parse_module(text)
        (wanted,) = transload.run(module, dict.fromkeys(module.inputs, x), engine="reference").values()
        try:
            lowered = transload.lower(parse_module(text), target)
        except ConversionError:  # integers of 64 bits that 32 may not hold, and those that LiteRT has not
            continue
        (found,) = transload.run(lowered, dict.fromkeys(lowered.inputs, x)).values()
        np.testing.assert_array_equal(found.astype(wanted.dtype), wanted, err_msg=f"{source} to {to}")
        converted += 1
    assert converted >= (1 if source in ("ui32", "ui64") else 5)


@pytest.mark.parametrize("target", ["tosa", "stablehlo", "onnx", "tfl"])
@pytest.mark.parametrize("to", ["i8", "ui8"])
def test_floats_that_wrap_round(to: str, target: str) -> None:
    """LiteRT's CAST of floats saturates: it goes by integers of 32 bits, whose high bits are dropped."""
    text = f"""
        func.func @main(%x: tensor<4xf32>) -> tensor<4x{to}> {{
          %y = "top.Cast"(%x) : (tensor<4xf32>) -> tensor<4x{to}>
          return %y : tensor<4x{to}>
        }}"""
    x = np.array([-3.5, 3.5, 300.0, -200.0], np.float32)
    module, lowered = parse_module(text), transload.lower(parse_module(text), target)
    (wanted,), (found,) = (transload.run(each, dict.fromkeys(each.inputs, x)).values() for each in (module, lowered))
    np.testing.assert_array_equal(found.astype(wanted.dtype), wanted)
