"""Matrix products against numpy and onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import ShapeError

from tests.support.hub_text import one_op, tensor

SHAPES = [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (6, 4, 5)), ((7, 1, 3, 4), (2, 4, 5)),
          ((3, 4), (2, 4, 5)), ((2, 3, 0), (0, 5)), ((0, 3, 4), (4, 5))]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_matmul(run_op, near, rng, shapes, left, right):
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    bias = rng.standard_normal(5).astype(np.float32)
    expected = np.matmul(a, b)
    x = np.ascontiguousarray(a.swapaxes(-1, -2)) if left else a
    y = np.ascontiguousarray(b.swapaxes(-1, -2)) if right else b
    near(run_op("MatMul", x, y, left_transpose=left, right_transpose=right), expected)
    near(run_op("MatMul", x, y, bias, left_transpose=left, right_transpose=right, do_relu=True), np.maximum(expected + bias, 0))


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (2, 4, 5)), ((2, 3, 4), (4,))])
def test_vectors(run_op, near, rng, shapes):
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    near(run_op("MatMul", a, b), np.matmul(a, b))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_integers_are_exact(run_op, rng, dtype):
    a, b = rng.integers(0, 100, (5, 300)).astype(dtype), rng.integers(0, 100, (300, 4)).astype(dtype)
    np.testing.assert_array_equal(run_op("MatMul", a, b), np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(dtype))


def test_shapes_that_do_not_fit(make_op):
    from transload.ir import F32, TensorType

    with pytest.raises(ShapeError, match="4 columns against 3 rows"):
        make_op("top.MatMul", [TensorType((2, 4), F32), TensorType((3, 5), F32)])
    with pytest.raises(ShapeError, match="do not broadcast"):
        make_op("top.MatMul", [TensorType((2, 2, 4), F32), TensorType((3, 4, 5), F32)])


@pytest.mark.parametrize(("equation", "shapes"), [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("bij,bjk", [(2, 3, 4), (2, 4, 5)]),
    ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("...ij,...jk->...ik", [(7, 1, 2, 3), (5, 3, 4)]),
    ("ii->i", [(4, 4)]),
    ("ii", [(4, 4)]),
    ("i,j->ij", [(3,), (4,)]),
    ("b...->...", [(3, 4, 5)]),
    ("...ij -> ...ji", [(2, 3, 4)]),
    ("abc,cd,de->abe", [(2, 3, 4), (4, 5), (5, 6)]),
    ("ba", [(2, 3)]),
])
def test_einsum(run_op, near, rng, equation, shapes):
    xs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    near(run_op("Einsum", *xs, equation=equation), np.einsum(equation, *xs))


@pytest.mark.parametrize(("equation", "shapes", "message"), [
    ("ij,jk->ik", [(2, 3)], "2 terms for 1 operands"),
    ("ij->i", [(2, 3, 4)], "does not fit"),
    ("ij->ik", [(2, 3)], "no term has"),
    ("ij,jk->ik", [(2, 3), (4, 5)], "subscript 'j'"),
    ("i1->i", [(2, 3)], "other characters"),
    ("ii->i", [(1, 3)], "subscript 'i'"),
])
def test_einsum_refuses(make_op, equation, shapes, message):
    from transload.ir import F32, TensorType

    with pytest.raises(ShapeError, match=message):
        make_op("top.Einsum", [TensorType(shape, F32) for shape in shapes], equation=equation)


@pytest.mark.parametrize("op", ["MatMul", "Conv"])
@pytest.mark.parametrize("of", ["i16", "i64", "ui64"])
def test_integers_wrap_round_before_the_relu_and_the_bias(op: str, of: str) -> None:
    """Sums below 0 came out of a ReLU of narrow integers, 0 out of that of large unsigned ones, and large biases lost digits."""
    dtype = np.dtype(of.replace("i", "int"))
    ends = np.iinfo(dtype)
    bias = np.array([ends.max, ends.max - 1, ends.min + 1, 5, 0], dtype)
    x, w = np.array([[1, 3], [30000, 3], [2, 0]], dtype), np.array([[1, 2], [3, 1], [30000, 3], [7, 0], [1, 1]], dtype)
    wanted = np.maximum(x @ w.T + bias, 0)
    types = {"x": tensor((3, 2), of), "w": tensor((5, 2), of), "b": tensor((5,), of)}
    attributes, shape = "right_transpose = true, do_relu = true", wanted.shape
    if op == "Conv":
        x, w, wanted = x[:, :, None], w[:, :, None], wanted[:, :, None]
        types |= {"x": tensor(x.shape, of), "w": tensor(w.shape, of)}
        attributes, shape = "kernel_shape = array<i64: 1>, do_relu = true", wanted.shape
    module = one_op(f"top.{op}", attributes, types, tensor(shape, of))
    np.testing.assert_array_equal(transload.run(module, {"x": x, "w": w, "b": bias})["r"], wanted, strict=True)
