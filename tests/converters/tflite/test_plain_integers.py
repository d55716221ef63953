"""Integers that no scale belongs to, and those whose scale LiteRT does not look at, against LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from transload.ir import Module
from transload_converters.tflite.writer import ModelWriter

pytest.importorskip("ai_edge_litert")


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
@pytest.mark.parametrize(("sizes", "way"), [
    ((5, 9), "half_pixel_centers"), ((2, 2), "half_pixel_centers"), ((4, 7), "align_corners"), ((6, 8), "")])
def test_what_comes_between_pixels_is_rounded(
    judge: Callable[..., Module], write: Callable[..., bytes], dtype: str, sizes: tuple[int, int], way: str,
) -> None:
    """It was cut off, where no scale was said."""
    size = ((2,), "int32", np.array(sizes, np.int32))
    options = {way: True} if way else {}
    content = write("RESIZE_BILINEAR", [((1, 3, 4, 2), dtype), size], [((1, *sizes, 2), dtype)], options, version=4)
    limits = np.iinfo(dtype)
    image = np.random.default_rng(1).integers(limits.min, limits.max, (1, 3, 4, 2), dtype, endpoint=True)
    judge(content, {"in0": image})


NUMBERS, OTHERS = np.array([3, -4, 7], np.int32), np.array([2, 2, -5], np.int32)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("scales", [(0.5, None, None), (None, 0.5, None), (None, None, 0.5), (0.5, 0.25, 0.125), (0, None, 0)])
@pytest.mark.parametrize("operator", ["ADD", "MUL", "MAXIMUM", "SUB", "LESS", "CONCATENATION", "SELECT_V2"])
def test_a_scale_of_wide_integers_is_not_looked_at(
    judge: Callable[..., Module], write: Callable[..., bytes], dtype: str, scales: Sequence[float | None], operator: str,
) -> None:
    """Operands of which one had a scale were refused, and results of other scales were other numbers."""
    a, b, made = (None if scale is None else ((scale,), (0,)) for scale in scales)
    chosen = [((3,), "bool")] if operator == "SELECT_V2" else []
    size = (6,) if operator == "CONCATENATION" else (3,)
    result = (size, "bool") if operator == "LESS" else (size, dtype, None, made)
    content = write(
        operator, [*chosen, ((3,), dtype, None, a), ((3,), dtype, OTHERS.astype(dtype), b)], [result],
        {"axis": 0} if operator == "CONCATENATION" else {}, version=2 if operator == "MUL" else 1)
    given = [*([np.array([True, False, True])] if chosen else []), NUMBERS.astype(dtype)]
    judge(content, dict(zip(("in0", "in1"), given, strict=False)))


@pytest.mark.parametrize(("operator", "more", "shape"), [
    ("RESHAPE", [((2,), "int32", np.array([3, 1], np.int32), ((0.5,), (0,)))], (3, 1)),
    ("GATHER", [((2,), "int32", np.array([2, 0], np.int32), ((0.5,), (0,)))], (2,)),
    ("SUM", [((1,), "int32", np.array([0], np.int32), ((0.5,), (0,)))], ()),
    ("ABS", [], (3,)), ("NEG", [], (3,)), ("CUMSUM", [((), "int32", np.array(0, np.int32), ((0.5,), (0,)))], (3,))])
def test_a_scale_of_wide_integers_beside_indices(
    judge: Callable[..., Module], write: Callable[..., bytes], operator: str, more: Any, shape: tuple[int, ...],
) -> None:
    content = write(operator, [((3,), "int32", None, ((0.5,), (0,))), *more], [(shape, "int32", None, ((0.25,), (0,)))], {})
    judge(content, {"in0": NUMBERS})


@pytest.mark.parametrize("scales", [(None, None, None), ((0.5, 3), (0.25, -7), None), ((0.5, 3), None, (0.125, 0))])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("constant", [False, True])
def test_sums_of_products_in_int32(
    judge: Callable[..., Module], write: Callable[..., bytes], scales: Sequence[Any], turned: bool, constant: bool,
) -> None:
    """The file was said to contradict itself."""
    random = np.random.default_rng(0)
    a, b, made = (None if each is None else ((each[0],), (each[1],)) for each in scales)
    shapes = ((2, 4, 3), (5, 4)) if turned else ((2, 3, 4), (4, 5))
    left, right = (random.integers(-128, 128, shape, np.int8) for shape in shapes)
    left[0] = -128
    content = write(
        "BATCH_MATMUL", [(left.shape, "int8", None, a), (right.shape, "int8", right if constant else None, b)],
        [((2, 3, 5), "int32", None, made)], {"adj_x": turned, "adj_y": turned})
    judge(content, {"in0": left} if constant else {"in0": left, "in1": right})


def test_a_bias_keeps_its_scale_beside_a_sum(judge: Callable[..., Module]) -> None:
    """One constant, which LiteRT takes for a bias in steps, and for plain numbers; and a product of 16 bits made wider."""
    model = ModelWriter()
    x = model.add_tensor("x", (1, 2), "int8", None, ((0.5,), (0,)))
    weights = model.add_tensor("w", (3, 2), "int8", np.array([[1, 2], [-3, 4], [5, -6]], np.int8), ((0.25,), (0,)))
    bias = model.add_tensor("b", (3,), "int32", np.array([8, 16, -24], np.int32), ((0.125,), (0,)))
    y = model.add_tensor("y", (1, 3), "int8", None, ((0.25,), (1,)))
    n = model.add_tensor("n", (3,), "int32", None, ((0.5,), (0,)))
    total = model.add_tensor("total", (3,), "int32", None, ((0.25,), (0,)))
    v = model.add_tensor("v", (3,), "int16", None, ((0.5,), (0,)))
    wide = model.add_tensor("wide", (3,), "int32", None, ((0.25,), (0,)))
    both = model.add_tensor("both", (3,), "int32")
    model.add_operator("FULLY_CONNECTED", [x, weights, bias], [y])
    model.add_operator("ADD", [n, bias], [total])
    model.add_operator("QUANTIZE", [v], [wide])
    model.add_operator("MUL", [wide, total], [both])
    model.inputs, model.outputs = [x, n, v], [y, total, wide, both]
    judge(model.finish(), {
        "x": np.array([[10, -20]], np.int8), "n": NUMBERS, "v": np.array([100, -3, 5], np.int16)})


@pytest.mark.parametrize("of", ["inputs", "constant"])
@pytest.mark.parametrize("operator", ["RESHAPE", "ADD"])
def test_what_is_computed_for_a_bias_is_of_plain_numbers(judge: Callable[..., Module], operator: str, of: str) -> None:
    """All that takes it looks at its scale: it kept that beside plain operands, which was refused, or folded to other numbers."""
    model, step = ModelWriter(), ((0.125,), (0,))
    x = model.add_tensor("x", (1, 2), "int8", None, ((0.5,), (0,)))
    weights = model.add_tensor("w", (3, 2), "int8", np.array([[1, 2], [-3, 4], [5, -6]], np.int8), ((0.25,), (0,)))
    held = np.array([8, 16, -24], np.int32)
    given = model.add_tensor("b", (3,), "int32", held if of == "constant" else None, step)
    bias = model.add_tensor("made", (3,), "int32", None, step)
    y = model.add_tensor("y", (1, 3), "int8", None, ((0.25,), (1,)))
    more = given if operator == "ADD" else model.add_tensor("shape", (1,), "int32", np.array([3], np.int32))
    model.add_operator(operator, [given, more], [bias])
    model.add_operator("FULLY_CONNECTED", [x, weights, bias], [y])
    model.inputs, model.outputs = [x, *([given] if of == "inputs" else [])], [y]
    judge(model.finish(), {"x": np.array([[10, -20]], np.int8), **({"b": held} if of == "inputs" else {})})


def test_a_state_whose_steps_are_requantized(judge: Callable[..., Module]) -> None:
    """`for _ in range(3): v = quantized(quantized(v))`, and once behind it: plain numbers were given to what looks at a scale."""
    model = ModelWriter()
    i, count = model.add_tensor("i", (), "int32", 0), model.add_tensor("count", (), "int32")
    v, last = (model.add_tensor(name, (3,), "int32", None, ((0.5,), (0,))) for name in ("v", "last"))
    cond, body = model.add_subgraph("cond"), model.add_subgraph("body")
    for part in (cond, body):
        part.inputs = [part.add_tensor("i", (), "int32"), part.add_tensor("v", (3,), "int32", None, ((0.5,), (0,)))]
    cond.outputs = [cond.add_tensor("flag", (), "bool")]
    cond.add_operator("LESS", [cond.inputs[0], cond.add_tensor("limit", (), "int32", 3)], cond.outputs)
    narrow = body.add_tensor("narrow", (3,), "int16", None, ((0.25,), (0,)))
    body.outputs = [body.add_tensor("next", (), "int32"), body.add_tensor("wide", (3,), "int32", None, ((0.5,), (0,)))]
    body.add_operator("ADD", [body.inputs[0], body.add_tensor("one", (), "int32", 1)], body.outputs[:1])
    body.add_operator("QUANTIZE", [body.inputs[1]], [narrow])
    body.add_operator("QUANTIZE", [narrow], body.outputs[1:])
    model.add_operator("WHILE", [i, v], [count, last], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    made = model.add_tensor("made", (3,), "int16", None, ((0.25,), (0,)))
    model.add_operator("QUANTIZE", [last], [made])
    model.inputs, model.outputs = [v], [made]
    judge(model.finish(), {"v": NUMBERS})
