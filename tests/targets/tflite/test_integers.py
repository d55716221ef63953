"""Integers of 64 bits where LiteRT has kernels of 32 alone: computed there where the numbers are known to lie in them."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import I32, I64, TensorType, Value
from transload.ir.build import Builder

from .test_scatter import operators
from .test_target import network

MANY = TensorType((2, 3), I64)


def _limited(b: Builder, x: Value, low: int, high: int) -> Value:
    return b.emit("top.Clip", x, min=float(low), max=float(high))


@pytest.mark.parametrize("name", ["Div", "FloorDiv", "Pow", "BitwiseXor", "ShiftRight"])
def test_what_lies_in_32_bits_is_computed_there(name: str) -> None:
    module = network(lambda b, x, y: b.emit(f"top.{name}", _limited(b, x, -30, 30), _limited(b, y, 1, 5)), MANY, MANY)
    used = operators(module, np.array([[-17, 17, 3], [0, 90, -90]]), np.array([[2, 2, 9], [1, 4, 3]]))
    assert used.count("cast") == 3


@pytest.mark.parametrize("name", ["Div", "FloorDiv"])
def test_the_place_of_a_maximum_is_divided(name: str) -> None:
    """A place in a flattened map, as row: by the width."""
    module = network(
        lambda b, x: b.emit(f"top.{name}", b.emit("top.Arg", x, axis=1, mode="ArgMax", keepdims=False, element=I64),
                            b.constant(np.array(8, np.int64))), TensorType((2, 64), I32))
    operators(module, np.random.default_rng(1).permutation(128).reshape(2, 64).astype(np.int32))


@pytest.mark.parametrize("name", ["Div", "FloorDiv", "BitwiseXor"])
def test_what_may_be_larger_is_refused(name: str) -> None:
    """As may the one number that is no quotient of 32 bits, and what is more than they hold."""
    for low, high in ((-(1 << 31), 5), (0, 1 << 31)):
        module = network(lambda b, x, y, ends=(low, high): b.emit(f"top.{name}", _limited(b, x, *ends), y), MANY, MANY)
        with pytest.raises(ConversionError, match=r"no kernel of it for i64[^→]*→ limit them"):
            transload.lower(module, "tfl")


def test_magnitudes_of_64_bits_are_summed() -> None:
    module = network(lambda b, x: b.emit("top.Reduce", x, axes=(1,), keepdims=False, mode="ReduceL1"), MANY)
    operators(module, np.array([[-17 << 40, 17, 3], [0, 90, -90]]))


@pytest.mark.parametrize("places", [0, 1, 31, 32, 33, 63, 64, [0, 31, 45], [40, 32, 63]], ids=str)
def test_numbers_of_64_bits_are_moved_down(places: int | list[int]) -> None:
    """By their halves: RIGHT_SHIFT has 32 bits."""
    module = network(lambda b, x: b.emit("top.ShiftRight", x, b.constant(np.array(places, np.int64))), MANY)
    operators(module, np.array([[-(1 << 63), (1 << 63) - 1, -1], [0x123456789ABCDEF, -0x123456789ABCDEF, 0]]))


def test_numbers_of_64_bits_are_not_moved_by_computed_places() -> None:
    module = network(lambda b, x, y: b.emit("top.ShiftRight", x, y), MANY, MANY)
    with pytest.raises(ConversionError, match="by constant numbers of places alone"):
        transload.lower(module, "tfl")
