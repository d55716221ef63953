"""Tensors made from shapes and numbers; how shape arithmetic folds."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import RunError, ShapeError
from transload.ir import F32, I32, UI8, Block, QuantType, TensorType
from transload.ir.build import Builder, constant_of
from transload.passes.fold import fold_constants
from transload.testing import build_op


def scalar(value, dtype):
    return np.array(value, dtype)


@pytest.mark.parametrize(("start", "limit", "delta"), [(0, 10, 3), (5, 0, -2), (3, 3, 1), (0, 5, -1), (-4, 4, 1)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_range(run_op, start, limit, delta, dtype):
    result = run_op("Range", scalar(start, dtype), scalar(limit, dtype), scalar(delta, dtype))
    np.testing.assert_array_equal(result, np.arange(start, limit, delta, dtype=dtype))


def test_range_of_fractions(run_op, onnx_op, near):
    bounds = [scalar(v, np.float32) for v in (0.5, 2.0, 0.3)]
    near(run_op("Range", *bounds), onnx_op("Range", *bounds))


def test_range_refuses(run_op, make_op):
    with pytest.raises(RunError, match="step is 0"):
        run_op("Range", scalar(1, np.int32), scalar(2, np.int32), scalar(0, np.int32))
    block = Block()
    builder = Builder(block)
    with pytest.raises(ShapeError, match="step is 0"):
        builder.emit("top.Range", *(builder.constant(scalar(v, np.int32)) for v in (1, 2, 0)))


@pytest.mark.parametrize("bounds", [(0, np.nan, 1), (np.nan, 1, 1), (0, 1, np.nan), (0, np.inf, 1), (0, 1, np.inf),
                                    (-1e308, 1e308, 1)])
def test_range_of_what_is_no_number(run_op, bounds):
    given = [scalar(v, np.float64) for v in bounds]
    with pytest.raises(RunError, match="no numbers that can be counted"):
        run_op("Range", *given)
    builder = Builder(Block())
    with pytest.raises(ShapeError, match="no numbers that can be counted"):
        builder.emit("top.Range", *map(builder.constant, given))


def test_range_of_constants_has_a_known_size():
    builder = Builder(Block())
    value = builder.emit("top.Range", *(builder.constant(scalar(v, np.int64)) for v in (2**62, 2**62 + 7, 2)))
    assert value.type.shape == (4,)


def test_shape_fill_eye(run_op):
    x = np.zeros((2, 0, 3), np.float32)
    np.testing.assert_array_equal(run_op("Shape", x), [2, 0, 3])
    assert run_op("Shape", x, element=I32).dtype == np.int32
    np.testing.assert_array_equal(run_op("Fill", scalar(7, np.int8), shape=(2, 3)), np.full((2, 3), 7))
    assert run_op("Fill", np.array([1.5], np.float32), shape=()).shape == ()
    np.testing.assert_array_equal(run_op("EyeLike", np.zeros((3, 4), np.int32), k=1, element=F32), np.eye(3, 4, 1))


def test_an_eye_of_quantized_ones_folds_to_what_it_is() -> None:
    """It folded to 1 and 0, stored, in every target."""
    q = QuantType(UI8, F32, (0.1,), (131,))
    module = build_op("top.EyeLike", np.full((2, 3), 140, np.uint8), input_elements=[q])
    given = {"x0": np.full((2, 3), 140, np.uint8)}
    (wanted,) = transload.run(module, given).values()
    assert wanted.tolist() == [[141, 131, 131], [131, 141, 131]]
    fold_constants(module)
    assert [op.name for op in module.ops()] == ["top.Weight", "func.return"]
    np.testing.assert_array_equal(next(iter(transload.run(module, given).values())), wanted)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("k", [-2, -1, 0, 1, 2, 9])
def test_trilu(run_op, rng, upper, k):
    x = rng.standard_normal((2, 3, 4)).astype(np.float32)
    np.testing.assert_array_equal(run_op("Trilu", x, upper=upper, k=k), np.triu(x, k) if upper else np.tril(x, k))


def test_non_zero(run_op, onnx_op):
    x = np.array([[0, 2, 0], [3, 0, -1]], np.int32)
    np.testing.assert_array_equal(run_op("NonZero", x), onnx_op("NonZero", x))
    assert run_op("NonZero", np.array(5.0, np.float32)).shape == (1, 1)


def test_shape_arithmetic_folds():
    """Shape -> Slice -> Pack -> Reshape's shape, all constants as it goes."""
    block = Block([TensorType((2, 3, 4), F32)])
    builder = Builder(block, fold=True)
    shape = builder.emit("top.Shape", block.arguments[0], element=I32)
    rows = builder.emit("top.Slice", shape, offset=(0,), ends=(1,), steps=(1,))
    others = builder.emit("top.Slice", shape, offset=(1,), ends=(3,), steps=(1,))
    rest = builder.emit("top.Reduce", others, axes=(0,), mode="ReduceProd")
    joined = builder.emit("top.Concat", rows, rest, axis=0)
    half = builder.emit("top.FloorDiv", joined, builder.constant(np.array(2, np.int32)))
    np.testing.assert_array_equal(constant_of(half).numpy(), [1, 6])
    assert constant_of(half).numpy().dtype == np.int32
