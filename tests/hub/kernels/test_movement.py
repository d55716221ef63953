"""Ops that move elements, against numpy and onnxruntime; slicing and padding by hypothesis."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transload.errors import ShapeError
from transload.ir import F32, I8, QuantType, TensorType

DTYPES = [np.float32, np.int64, np.bool_, np.uint8, ml_dtypes.bfloat16, ml_dtypes.int4]


def numbers(shape, dtype=np.float32):
    return (np.arange(int(np.prod(shape))) % 7).astype(np.int8).astype(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_element_types(run_op, dtype):
    x = numbers((2, 3, 4), dtype)
    np.testing.assert_array_equal(run_op("Permute", x, order=(2, 0, 1)), x.transpose(2, 0, 1))
    np.testing.assert_array_equal(run_op("Concat", x, x, axis=1), np.concatenate([x, x], 1))
    np.testing.assert_array_equal(run_op("Slice", x, offset=(0, 1, 0), ends=(2, 3, 4), steps=(1, 1, 2)), x[:, 1:, ::2])
    np.testing.assert_array_equal(run_op("Tile", x, tile=(1, 2, 0)), np.tile(x, (1, 2, 0)))
    np.testing.assert_array_equal(run_op("Gather", x, np.array([2, 0]), axis=1), x[:, [2, 0]])
    padded = run_op("Pad", x, paddings=(0, 1, 0, 0, 0, 2), val=1.0)
    assert padded.dtype == x.dtype
    np.testing.assert_array_equal(padded[:, 1:, :4], x)
    np.testing.assert_array_equal(padded[:, :, 4:], np.ones((2, 4, 2), dtype))


@pytest.mark.parametrize(("before", "shape", "after"), [
    ((2, 3, 4), (6, 4), (6, 4)), ((2, 3, 4), (-1,), (24,)), ((2, 3, 4), (4, -1, 2), (4, 3, 2)), ((), (1, 1), (1, 1)),
    ((0, 3), (-1, 5), (0, 5)), ((0, 3), (0, -1), (0, 0)), ((1,), (), ()),
])
def test_reshape(run_op, before, shape, after):
    x = numbers(before)
    np.testing.assert_array_equal(run_op("Reshape", x, shape=shape), x.reshape(after))


@pytest.mark.parametrize("shape", [(5, 5), (7, -1), (-1, -1), (-2, 12)])
def test_reshape_refuses(make_op, shape):
    with pytest.raises(ShapeError):
        make_op("top.Reshape", [TensorType((2, 3, 4), F32)], shape=shape)


def test_squeeze_and_unsqueeze(run_op, make_op):
    x = numbers((1, 3, 1, 2))
    assert run_op("Squeeze", x, axes=(0, -2)).shape == (3, 2)
    assert run_op("Squeeze", x, axes=()).shape == x.shape
    assert run_op("Unsqueeze", x, axes=(0, -1)).shape == (1, 1, 3, 1, 2, 1)
    assert run_op("Unsqueeze", numbers(()), axes=(0,)).shape == (1,)
    with pytest.raises(ShapeError, match="size 3, not 1"):
        make_op("top.Squeeze", [TensorType((1, 3), F32)], axes=(1,))
    with pytest.raises(ShapeError, match="twice"):
        make_op("top.Unsqueeze", [TensorType((1, 3), F32)], axes=(0, -4))


def test_expand(run_op):
    x = numbers((3, 1))
    for shape in ((2, 3, 4), (3, 4), (1, 1), (4,), (1, 3, 1)):
        np.testing.assert_array_equal(run_op("Expand", x, shape=shape), x * np.ones(shape, np.float32))


def test_split_pack_unpack(run_op, make_op):
    x = numbers((2, 6, 3))
    for parts, (axis, sizes) in {(0, 1): (0, (1, 1)), (0, 1, 2): (-2, (1, 2, 3)), (0,): (2, (3,))}.items():
        pieces = run_op("Split", x, axis=axis, split_size=sizes)
        assert len(pieces) == len(parts)
        np.testing.assert_array_equal(np.concatenate(pieces, axis), x)
    for axis in (0, 1, -1):
        pieces = run_op("Unpack", x, axis=axis)
        np.testing.assert_array_equal(np.stack(pieces, axis), x)
        np.testing.assert_array_equal(run_op("Pack", *pieces, axis=axis), x)
    with pytest.raises(ShapeError, match="sum of split_size"):
        make_op("top.Split", [TensorType((2, 6), F32)], axis=1, split_size=(3, 4))


def test_concat(run_op, make_op):
    a, b = numbers((2, 3)) - 3, numbers((2, 4))
    np.testing.assert_array_equal(run_op("Concat", a, b, axis=-1), np.concatenate([a, b], 1))
    np.testing.assert_array_equal(run_op("Concat", a, axis=0, do_relu=True), np.maximum(a, 0))
    with pytest.raises(ShapeError, match="dimension 0"):
        make_op("top.Concat", [TensorType((2, 3), F32), TensorType((3, 3), F32)], axis=1)


@st.composite
def slices(draw):
    shape = tuple(draw(st.lists(st.integers(0, 6), min_size=1, max_size=3)))
    parts = []
    for size in shape:
        step = draw(st.sampled_from([1, 2, 3, -1, -2]))
        offset = draw(st.integers(0, max(size - 1, 0)))
        end = draw(st.integers(offset, size) if step > 0 else st.integers(-1, offset))
        parts.append((offset, end, step))
    return shape, parts


def test_slice(run_op):
    @settings(max_examples=150, deadline=None)
    @given(slices())
    def check(drawn):
        shape, parts = drawn
        x = numbers(shape)
        offset, ends, steps = zip(*parts, strict=True)
        expected = x
        for axis, part in enumerate(parts):
            expected = np.take(expected, [i for i in range(*part) if i < shape[axis]], axis=axis)
        np.testing.assert_array_equal(run_op("Slice", x, offset=offset, ends=ends, steps=steps), expected)

    check()


def test_slice_ends_beyond(run_op, make_op):
    np.testing.assert_array_equal(run_op("Slice", numbers((5,)), offset=(1,), ends=(2**31 - 1,), steps=(1,)), [1, 2, 3, 4])
    assert run_op("Slice", numbers((5,)), offset=(7,), ends=(9,), steps=(1,)).shape == (0,)
    with pytest.raises(ShapeError, match="do not fit"):
        make_op("top.Slice", [TensorType((5,), F32)], offset=(-1,), ends=(2,), steps=(1,))


@pytest.mark.parametrize("mode", ["constant", "reflect", "symmetric", "edge"])
def test_pad(run_op, mode):
    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.tuples(st.integers(1, 5), st.integers(-1, 4), st.integers(0, 4)), min_size=1, max_size=3))
    def check(dims):
        most = {"reflect": lambda size: size - 1, "symmetric": lambda size: size}.get(mode, lambda size: 9)
        dims = [(size, min(begin, most(size)), min(end, most(size))) for size, begin, end in dims]
        x = numbers([size for size, _, _ in dims])
        paddings = (*(begin for _, begin, _ in dims), *(end for _, _, end in dims))
        extra = {"constant_values": 2.5} if mode == "constant" else {}
        expected = np.pad(x, [(max(begin, 0), end) for _, begin, end in dims], mode=mode, **extra)
        expected = expected[tuple(slice(max(-begin, 0), None) for _, begin, _ in dims)]
        np.testing.assert_array_equal(run_op("Pad", x, paddings=paddings, mode=mode, val=2.5), expected)

    check()
    assert run_op("Pad", numbers(()), paddings=(), mode=mode).shape == ()


def test_pad_of_quantized(run_op):
    type_ = QuantType(I8, F32, (0.5,), (-3,))
    x = np.array([1, 2], np.int8)
    np.testing.assert_array_equal(run_op("Pad", (x, type_), paddings=(1, 2)), [-3, 1, 2, -3, -3])
    np.testing.assert_array_equal(run_op("Pad", (x, type_), paddings=(1, 0), val=2.0), [1, 1, 2])
    value = (np.array(9, np.int8), type_)
    np.testing.assert_array_equal(run_op("Pad", (x, type_), value, paddings=(1, 0)), [9, 1, 2])
    per_axis = QuantType(I8, F32, (0.5, 0.25), (1, 2), axis=0)
    y = np.array([[5], [6]], np.int8)
    np.testing.assert_array_equal(run_op("Pad", (y, per_axis), paddings=(0, 1, 0, 1), val=1.0), [[3, 5, 3], [6, 6, 6]])


def test_pad_refuses(make_op):
    for paddings, mode in (((3, 0), "reflect"), ((4, 0), "symmetric"), ((-2, -2), "constant"), ((1,), "constant")):
        with pytest.raises(ShapeError):
            make_op("top.Pad", [TensorType((3,), F32)], paddings=paddings, mode=mode)


def test_order(run_op, rng):
    x = numbers((3, 4, 5))
    np.testing.assert_array_equal(run_op("Reverse", x, axes=(0, -1)), x[::-1, :, ::-1])
    np.testing.assert_array_equal(run_op("Reverse", x, axes=()), x)
    np.testing.assert_array_equal(run_op("Roll", x, shifts=(1, -2), axes=(0, 2)), np.roll(x, (1, -2), (0, 2)))
    np.testing.assert_array_equal(run_op("Input", x), x)


@pytest.mark.parametrize(("batch", "time"), [(0, 1), (1, 0)])
def test_reverse_sequence(run_op, onnx_op, batch, time):
    x = numbers((4, 4, 2))
    lengths = np.array([1, 2, 4, 3])
    expected = onnx_op("ReverseSequence", x, lengths, batch_axis=batch, time_axis=time)
    np.testing.assert_array_equal(run_op("ReverseSequence", x, lengths, batch_axis=batch, seq_axis=time), expected)


def test_reverse_sequence_of_other_axes(run_op):
    x = numbers((2, 5, 3))
    result = run_op("ReverseSequence", x, np.array([5, 0, 2], np.int32), batch_axis=2, seq_axis=-2)
    expected = x.copy()
    expected[:, :5, 0], expected[:, :2, 2] = x[:, 4::-1, 0], x[:, 1::-1, 2]
    np.testing.assert_array_equal(result, expected)


# --- space and depth, space and batch

@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(run_op, onnx_op, mode):
    x = np.arange(2 * 12 * 3 * 4, dtype=np.float32).reshape(2, 12, 3, 4)
    expected = onnx_op("DepthToSpace", x, blocksize=2, mode=mode)
    attributes = {"block_h": 2, "block_w": 2, "is_CRD": mode == "CRD"}
    np.testing.assert_array_equal(run_op("Depth2Space", x, **attributes), expected)
    last = run_op("Depth2Space", np.moveaxis(x, 1, -1), layout="NHWC", **attributes)
    np.testing.assert_array_equal(np.moveaxis(last, -1, 1), expected)
    np.testing.assert_array_equal(run_op("Depth2Space", expected, is_inversed=True, **attributes), x)


def test_space_to_depth(run_op, onnx_op, make_op):
    x = np.arange(2 * 3 * 4 * 6, dtype=np.float32).reshape(2, 3, 4, 6)
    attributes = {"block_h": 2, "block_w": 2, "is_inversed": True}
    np.testing.assert_array_equal(run_op("Depth2Space", x, **attributes), onnx_op("SpaceToDepth", x, blocksize=2))
    assert run_op("Depth2Space", x, block_h=2, block_w=3, is_inversed=True).shape == (2, 18, 2, 2)
    with pytest.raises(ShapeError, match="cannot be split by 5"):
        make_op("top.Depth2Space", [TensorType((1, 3, 4, 6), F32)], block_h=2, block_w=5, is_inversed=True)


@pytest.mark.parametrize(("shape", "block", "pads"), [
    ((2, 4, 6, 3), (2, 3), (0, 0, 0, 0)), ((1, 3, 5, 2), (2, 3), (1, 0, 0, 1)), ((3, 5, 2), (2,), (0, 1)),
    ((2, 2, 3, 4, 2), (2, 1, 2), (0, 0, 1, 0, 0, 1)), ((2, 4, 6), (2, 3), (0, 0, 0, 0)),
])
def test_space_to_batch(run_op, shape, block, pads):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    n = len(block)
    padded = np.pad(x, [(0, 0), *((pads[i], pads[n + i]) for i in range(n)), *((0, 0),) * (x.ndim - n - 1)])
    steps = [tuple(slice(p, None, b) for p, b in zip(place, block, strict=True)) for place in np.ndindex(*block)]
    expected = np.concatenate([padded[(slice(None), *step)] for step in steps])
    np.testing.assert_array_equal(run_op("SpaceToBatch", x, block_shape=block, pads=pads), expected)
    np.testing.assert_array_equal(run_op("BatchToSpace", expected, block_shape=block, crops=pads), x)


def test_space_to_batch_pads_with_the_zero_point(run_op):
    type_ = QuantType(I8, F32, (0.5,), (-3,))
    x = np.array([[[7]]], np.int8)
    np.testing.assert_array_equal(run_op("SpaceToBatch", (x, type_), block_shape=(2,), pads=(0, 1)), [[[7]], [[-3]]])


def test_upsample(run_op):
    x = np.array([[[[-1, 2], [3, -4]]]], np.float32)
    expected = np.kron(np.maximum(x, 0), np.ones((1, 1, 2, 3), np.float32))
    np.testing.assert_array_equal(run_op("Upsample", x, scale_h=2, scale_w=3, do_relu=True), expected)
    last = run_op("Upsample", np.moveaxis(x, 1, -1), scale_h=2, scale_w=3, layout="NHWC", do_relu=True)
    np.testing.assert_array_equal(np.moveaxis(last, -1, 1), expected)
