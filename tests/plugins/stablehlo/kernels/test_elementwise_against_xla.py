# ruff: noqa: E501 - lines of programs
"""Element-wise ops over types and shapes, against XLA."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.xla_oracle import COMPLEX, FLOATS, INTS, SIGNED, Batch, numbers, tensor_type

pytest.importorskip("jaxlib", reason="jaxlib is the oracle")
pytestmark = pytest.mark.slow

SHAPES = ((), (7,), (3, 4), (2, 1, 3, 2), (0, 3))
# Domains where they are not all numbers.
DOMAIN = {"log": (0.05, 8), "log_plus_one": (-0.9, 8), "rsqrt": (0.05, 8), "sqrt": (0, 8), "tan": (-1.2, 1.2)}
UNARY = (
    "abs",
    "cbrt",
    "ceil",
    "cosine",
    "exponential",
    "exponential_minus_one",
    "floor",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tan",
    "tanh",
)
COMPLEX_UNARY = (
    "cosine",
    "exponential",
    "exponential_minus_one",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tan",
    "tanh",
)  # XLA has no cubic root of complex numbers
ALL = ("i1", *INTS, *FLOATS, *COMPLEX)


@pytest.mark.parametrize("element", FLOATS)
def test_unary_of_floats(element: str) -> None:
    rng, batch = np.random.default_rng(1), Batch()
    for name in UNARY:
        for shape in SHAPES:
            x = batch.argument(numbers(rng, shape, element, *DOMAIN.get(name, (-4, 4))), element)
            batch.op(name, [x], batch.type_of(x))
    for name in ("is_finite",):
        values = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0]).astype(numbers(rng, (), element).dtype)
        batch.op(name, [batch.argument(values, element)], "tensor<5xi1>")
    for bits in ((5, 2), (4, 3), (8, 7), (5, 10), (2, 0)):
        x = batch.argument(numbers(rng, (40,), element, -300, 300), element)
        batch.op(
            "reduce_precision",
            [x],
            batch.type_of(x),
            f"exponent_bits = {bits[0]} : i32, mantissa_bits = {bits[1]} : i32",
            tolerance=0,
        )
    assert batch.run() == 101


@pytest.mark.parametrize("element", COMPLEX)
def test_unary_of_complex_numbers(element: str) -> None:
    rng, batch = np.random.default_rng(2), Batch()
    part = element[8:-1]
    for name in COMPLEX_UNARY:
        for shape in SHAPES[:3]:
            x = batch.argument(numbers(rng, shape, element, -1.2, 1.2), element)
            batch.op(name, [x], batch.type_of(x), tolerance=1e-4 if part == "f32" else 1e-8)
    for shape in SHAPES:
        x = batch.argument(numbers(rng, shape, element), element)
        for name in ("abs", "real", "imag"):
            batch.op(name, [x], tensor_type(shape, part))
        a, b = (batch.argument(numbers(rng, shape, part), part) for _ in range(2))
        batch.op("complex", [a, b], tensor_type(shape, element))
        c, d = (batch.argument(numbers(rng, shape, element, 0.5, 2), element) for _ in range(2))
        for name in ("add", "subtract", "multiply", "divide", "power", "maximum", "minimum"):
            batch.op(name, [c, d], tensor_type(shape, element), tolerance=1e-4 if part == "f32" else 1e-8)
    assert batch.run() == 94


@pytest.mark.parametrize("element", COMPLEX)
def test_complex_numbers_at_the_ends(element: str) -> None:
    batch = Batch()
    ends = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan])
    points = np.empty((7, 7), numbers(np.random.default_rng(2), (), element).dtype)
    points.real, points.imag = ends[:, None], ends
    a, b = (batch.argument(each, element) for each in (np.repeat(points.ravel(), 49), np.tile(points.ravel(), 49)))
    for name in ("multiply", "divide", "power"):
        batch.op(name, [a, b], batch.type_of(a), tolerance=1e-6)
    assert batch.run() == 3


@pytest.mark.parametrize("element", INTS)
def test_unary_of_integers(element: str) -> None:
    rng, batch = np.random.default_rng(3), Batch()
    for name in ("abs", "sign", "negate", "not", "popcnt", "count_leading_zeros"):
        if (name in ("abs", "sign") and element not in SIGNED) or (name == "popcnt" and element == "i4"):
            continue  # XLA counts the bits of an i4 with its sign extended to 8
        for shape in (*SHAPES, (20,), (5, 5)):
            x = batch.argument(numbers(rng, shape, element), element)
            batch.op(name, [x], batch.type_of(x))
    assert batch.run() >= 28


@pytest.mark.parametrize("element", FLOATS)
def test_binary_of_floats(element: str) -> None:
    rng, batch = np.random.default_rng(4), Batch()
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", "power", "atan2"):
        for shape in SHAPES:
            low = 0.2 if name == "power" else -4
            a = batch.argument(numbers(rng, shape, element, low, 4), element)
            b = batch.argument(numbers(rng, shape, element, -2, 2), element)
            exact = 0 if name in ("add", "subtract", "multiply", "divide", "maximum", "minimum") else None
            batch.op(name, [a, b], batch.type_of(a), tolerance=exact)
    specials = np.array([np.nan, -1.0, 0.0, -0.0, 2.0]).astype(numbers(rng, (), element).dtype)
    a, b = batch.argument(np.repeat(specials, 5), element), batch.argument(np.tile(specials, 5), element)
    for name in ("maximum", "minimum", "add", "divide"):
        batch.op(name, [a, b], batch.type_of(a), tolerance=0)
    assert batch.run() == 49


@pytest.mark.parametrize("element", INTS)
def test_binary_of_integers(element: str) -> None:
    rng, batch = np.random.default_rng(5), Batch()
    width = int(element.strip("ui"))
    for name in (
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "remainder",
        "power",
        "and",
        "or",
        "xor",
        "shift_left",
        "shift_right_arithmetic",
        "shift_right_logical",
    ):
        for shape in (*SHAPES, (30,)):
            a = numbers(rng, shape, element)
            b = numbers(rng, shape, element)
            if name.startswith("shift") or name == "power":
                b = rng.integers(0, min(width, 7), shape).astype(b.dtype)
            if name in ("divide", "remainder") and shape:
                b[..., -1:] = 0  # by which XLA divides, too
            batch.op(name, [batch.argument(a, element), batch.argument(b, element)], tensor_type(shape, element))
    assert batch.run() == 84


def test_booleans() -> None:
    rng, batch = np.random.default_rng(6), Batch()
    for shape in SHAPES:
        a, b = (batch.argument(numbers(rng, shape, "i1"), "i1") for _ in range(2))
        batch.op("not", [a], batch.type_of(a))
        for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"):
            batch.op(name, [a, b], batch.type_of(a))
    assert batch.run() == 40


@pytest.mark.parametrize("element", ALL)
def test_comparison_and_selection(element: str) -> None:
    rng, batch = np.random.default_rng(7), Batch()
    kinds = (
        ["FLOAT", "TOTALORDER"]
        if element in FLOATS
        else ["FLOAT"]
        if element in COMPLEX
        else ["SIGNED" if element in SIGNED else "UNSIGNED"]
    )
    for shape in ((), (16,), (3, 5)):
        a = numbers(rng, shape, element)
        b = np.where(rng.random(shape) < 0.4, a, numbers(rng, shape, element)).astype(a.dtype)
        if element in FLOATS and shape == (16,):
            a.reshape(-1)[:4] = np.array([np.nan, 0.0, -0.0, np.nan], a.dtype)
            b.reshape(-1)[:4] = np.array([1.0, -0.0, 0.0, np.nan], a.dtype)
        x, y = batch.argument(a, element), batch.argument(b, element)
        for direction in ("EQ", "NE", "GE", "GT", "LE", "LT"):
            if element in COMPLEX and direction not in ("EQ", "NE"):
                continue  # XLA orders no complex numbers
            for kind in kinds:
                batch.op(
                    "compare",
                    [x, y],
                    tensor_type(shape, "i1"),
                    f"comparison_direction = #stablehlo<comparison_direction {direction}>, compare_type = #stablehlo<comparison_type {kind}>",
                )
        p = batch.argument(numbers(rng, shape, "i1"), "i1")
        batch.op("select", [p, x, y], tensor_type(shape, element))
        batch.op("select", [batch.argument(numbers(rng, (), "i1"), "i1"), x, y], tensor_type(shape, element))
        if element not in COMPLEX and element != "i1":
            low, high = np.minimum(a, b), np.maximum(a, b)
            batch.op("clamp", [batch.argument(low, element), x, batch.argument(high, element)], tensor_type(shape, element))
    assert batch.run() >= 12


@pytest.mark.parametrize("source", ALL)
def test_conversion(source: str) -> None:
    """Of numbers that the destination holds, or rounds to: what lies outside is left open by the specification."""
    rng, batch = np.random.default_rng(8), Batch()
    for target in ALL:
        unsigned = target in INTS and target not in SIGNED
        x = numbers(rng, (40,), source, 0 if unsigned else -7, 7)
        if source in INTS and target in INTS + FLOATS + COMPLEX:
            x = rng.integers(0 if unsigned or source not in SIGNED else -7, 7, (40,)).astype(x.dtype)
        batch.op("convert", [batch.argument(x, source)], tensor_type((40,), target), tolerance=0)
    assert batch.run() == len(ALL)
