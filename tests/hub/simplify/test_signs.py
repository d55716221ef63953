"""Bits of floats that are read for their sign alone: targets without an operator for bits ask the reciprocal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import I32, Module
from transload.passes.manager import Pipeline

from tests.support.graphs import Graph

LEAST = -(1 << 31)
NUMBERS = np.array([[-0.0, 0.0, -1.0, 2.0, -np.inf, np.inf, np.nan, np.copysign(np.nan, -1.0)]], np.float32)


def greatest(mode: str = "Less", mask: int | None = LEAST) -> Module:
    """Where the greatest number is, 0 being more than -0: as Keras 3 exports `ops.argmax`."""
    g = Graph((1, 8))
    (x,) = g.inputs
    bits: Any = g.Bitcast(x, element=I32)
    if mask is not None:
        bits = g.BitwiseAnd(bits, g.constant(np.array(mask, np.int32)))
    negative = g.Compare(bits, g.constant(np.array(0, np.int32)), mode=mode)
    zero = g.Compare(x, g.constant(np.array(0, np.float32)), mode="Equal")
    return g.done(g.LogicalAnd(zero, negative))


@pytest.mark.parametrize(("mode", "mask"), [("Less", LEAST), ("NotEqual", LEAST), ("Less", None)])
def test_the_sign_bit_of_a_zero_is_that_of_its_reciprocal(mode: str, mask: int | None) -> None:
    module = greatest(mode, mask)
    (wanted,) = transload.run(module, {"x0": NUMBERS}, engine="reference").values()
    assert wanted.tolist() == [[True, *(False,) * 7]]
    Pipeline.parse("canonicalize,dce").run(module)
    assert not any(op.name == "top.Bitcast" for op in module.ops())
    for each in (module, transload.lower(module, "tosa"), transload.lower(module, "onnx")):
        (given,) = transload.run(each, {"x0": NUMBERS}, engine="reference").values()
        np.testing.assert_array_equal(given, wanted)


@pytest.mark.parametrize(("mode", "mask"), [("NotEqual", None), ("Less", 1), ("Greater", LEAST)])
def test_other_bits_are_read(mode: str, mask: int | None) -> None:
    module = greatest(mode, mask)
    Pipeline.parse("canonicalize,dce").run(module)
    assert any(op.name == "top.Bitcast" for op in module.ops())


@pytest.mark.parametrize("wide", ["mask", "zero", "compared"])
def test_what_a_constant_repeats_keeps_its_shape(wide: str) -> None:
    """A mask, or what is compared with, may have more dimensions than the number whose sign it is."""
    g = Graph((1, 8))
    (x,) = g.inputs
    shapes = {name: (2, 1, 8) if name == wide else () for name in ("mask", "zero", "compared")}
    bits = g.BitwiseAnd(g.Bitcast(x, element=I32), g.constant(np.full(shapes["mask"], LEAST, np.int32)))
    negative = g.Compare(bits, g.constant(np.zeros(shapes["zero"], np.int32)), mode="NotEqual")
    zero = g.Compare(x, g.constant(np.zeros(shapes["compared"], np.float32)), mode="Equal")
    module = g.done(g.LogicalAnd(zero, negative))
    (wanted,) = transload.run(module, {"x0": NUMBERS}, engine="reference").values()
    Pipeline.parse("canonicalize,dce").run(module)
    (given,) = transload.run(module, {"x0": NUMBERS}, engine="reference").values()
    np.testing.assert_array_equal(given, wanted, strict=True)
