"""Windows whose functions ask in which order elements come: the places of maxima, and functions that do not commute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload

from tests.plugins.stablehlo.raising import raising

COMPARED = """
    %c = stablehlo.compare {direction}, %v, %w, {kind} : (tensor<{t}>, tensor<{t}>) -> tensor<i1>
    %p = stablehlo.select %c, %v, %w : tensor<i1>, tensor<{t}>
    %q = stablehlo.select %c, %i, %j : tensor<i1>, tensor<i32>"""
NOT_COMMUTATIVE = """
    %p = stablehlo.multiply %v, %w : tensor<{t}>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %f = stablehlo.compare NE, %j, %z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %q = stablehlo.select %f, %j, %i : tensor<i1>, tensor<i32>"""
WINDOWS = [
    # sizes, a window, how it moves, and how many there are
    ((2, 2), (2, 2), "", (1, 1)),
    ((4, 5), (2, 3), "window_strides = array<i64: 2, 1>", (2, 3)),
    ((4, 5), (3, 2), "padding = dense<[[1, 1], [0, 2]]> : tensor<2x2xi64>", (4, 6)),
    ((6, 7), (3, 3), "window_dilations = array<i64: 2, 2>", (2, 3)),
    ((3, 4), (3, 3), "base_dilations = array<i64: 2, 2>, window_strides = array<i64: 1, 2>", (3, 3)),
    ((3, 4, 5), (2, 3, 2), "padding = dense<[[1, 0], [0, 1], [1, 1]]> : tensor<3x2xi64>, window_strides = array<i64: 1, 2, 2>",
     (3, 2, 3)),
]


def _program(form: Any, body: str, t: str, first: str) -> Any:
    sizes, window, moves, counts = form
    (a, b), made = (
        [f"tensor<{'x'.join(map(str, shape))}x{element}>" for element in (t, "i32")] for shape in (sizes, counts))
    attributes = ", ".join(filter(None, [f"window_dimensions = array<i64: {', '.join(map(str, window))}>", moves]))
    text = f"""func.func @main(%a: {a}, %b: {b}) -> ({made[0]}, {made[1]}) {{
  %m = stablehlo.constant dense<{first}> : tensor<{t}>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.reduce_window"(%a, %b, %m, %n) ({{
  ^bb0(%v: tensor<{t}>, %i: tensor<i32>, %w: tensor<{t}>, %j: tensor<i32>):{body}
    stablehlo.return %p, %q : tensor<{t}>, tensor<i32>
  }}) {{{attributes}}} : ({a}, {b}, tensor<{t}>, tensor<i32>) -> ({made[0]}, {made[1]})
  return %r#0, %r#1 : {made[0]}, {made[1]}
}}"""
    return raising.load(text)


def _check(module: Any, arrays: list[Any]) -> None:
    want = raising.run(module, arrays)
    top = transload.legalize(module)
    for form in (top, transload.lower(top, "tosa")):
        for mine, theirs in zip(raising.run(form, arrays), want, strict=True):
            np.testing.assert_array_equal(raising.as_dtype(mine, theirs.dtype), theirs)


@pytest.mark.parametrize("form", WINDOWS)
@pytest.mark.parametrize("t", ["f32", "i32"])
def test_of_equal_maxima_the_first_or_last_by_rows(form: Any, t: str) -> None:
    """Elements of a window come in the order of its rows: columns were gone through first."""
    sizes = form[0]
    numbers = np.random.default_rng(0).integers(0, 3, sizes).astype(np.float32 if t == "f32" else np.int32)
    places = np.arange(1, numbers.size + 1, dtype=np.int32).reshape(sizes)
    least, most = ("0xFF800000", "0x7F800000") if t == "f32" else (-(2**31), 2**31 - 1)
    for direction in ("GE", "GT", "LE", "LT"):
        body = COMPARED.format(direction=direction, kind="FLOAT" if t == "f32" else "SIGNED", t=t)
        _check(_program(form, body, t, str(least if direction[0] == "G" else most)), [numbers, places])


@pytest.mark.parametrize("form", WINDOWS)
def test_functions_that_do_not_commute(form: Any) -> None:
    """The last number that is not 0 of a window, which is another one by columns."""
    sizes = form[0]
    places = np.arange(1, int(np.prod(sizes)) + 1, dtype=np.int32).reshape(sizes)
    body = NOT_COMMUTATIVE.format(t="f32")
    for seed in range(3):
        kept = np.random.default_rng(seed).integers(0, 2, sizes).astype(np.int32)
        _check(_program(form, body, "f32", "1.0"), [np.ones(sizes, np.float32), places * kept])
