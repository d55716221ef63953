"""Inference by itself: unknown sizes, broadcasts, quantized element types, messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transload.errors import ConversionError, ShapeError
from transload.ir import F32, I8, I32, Block, Op, QuantType, TensorType
from transload.ir.build import Builder
from transload_hub.ops.infer import broadcast_shapes

QUANTIZED = QuantType(I8, F32, (0.5,), (3,))


def shape_of(op):
    return op.results[0].type.shape


sizes = st.one_of(st.none(), st.integers(1, 3))


def test_broadcast_with_unknown_sizes():
    """What inference says must hold for every value that the unknown sizes can take."""

    @settings(max_examples=300, deadline=None)
    @given(st.lists(st.lists(sizes, max_size=3), min_size=1, max_size=3), st.lists(st.integers(1, 3), min_size=9, max_size=9))
    def check(shapes, guesses):
        guess = iter(guesses)
        concrete = [[next(guess) if size is None else size for size in shape] for shape in shapes]
        op = Op("top.Add")
        try:
            actual = np.broadcast_shapes(*map(tuple, concrete))
        except ValueError:
            return
        inferred = broadcast_shapes(op, *map(tuple, shapes))
        assert len(inferred) == len(actual)
        assert all(a in (None, b) for a, b in zip(inferred, actual, strict=True))

    check()


def test_broadcast_failure_says_what_and_where():
    block = Block([TensorType((2, 3), F32), TensorType((2, 4), F32)])
    with pytest.raises(ShapeError) as caught:
        Builder(block, location="sum").emit("top.Add", *block.arguments)
    assert isinstance(caught.value, ConversionError)
    text = str(caught.value)
    assert "top.Add at 'sum'" in text and "[2, 3] and [2, 4]" in text
    assert not block.arguments[0].uses  # nothing is left behind


@pytest.mark.parametrize(("name", "shapes", "attributes", "expected"), [
    ("Conv", [(None, 3, None, 8), (4, 3, 3, 3)], {"kernel_shape": (3, 3)}, (None, 4, None, 6)),
    ("Conv", [None, (4, 3, 3, 3)], {"kernel_shape": (3, 3)}, (None, 4, None, None)),
    ("Conv", [(None, 8, 8, 3), (4, 3, 3, 3)], {"kernel_shape": (3, 3), "layout": "NHWC"}, (None, 6, 6, 4)),
    ("MaxPool", [(None, 3, 8, None)], {"kernel_shape": (2, 2), "strides": (2, 2)}, (None, 3, 4, None)),
    ("MatMul", [(None, 3, 4), (4, 5)], {}, (None, 3, 5)),
    ("MatMul", [(None, None, None), (4, 5)], {}, (None, None, 5)),
    ("Reshape", [(None, 3, 4)], {"shape": (-1, 12)}, (None, 12)),
    ("Reshape", [(None, 3, 4)], {"shape": (2, 12)}, (2, 12)),
    ("Concat", [(None, 3), (2, 4)], {"axis": 1}, (2, 7)),
    ("Concat", [(None, 3), (2, 3)], {"axis": 0}, (None, 3)),
    ("Permute", [None], {"order": (1, 0)}, (None, None)),
    ("Slice", [(None, 5)], {"offset": (0, 1), "ends": (1, 9), "steps": (1, 2)}, (None, 2)),
    ("Shape", [(None, 5)], {}, (2,)),
    ("Shape", [None], {}, (None,)),
    ("Gather", [(None, 5), (2,)], {"axis": 1}, (None, 2)),
    ("Interp", [(None, 3, None, None)], {"sizes": (4, 5)}, (None, 3, 4, 5)),
    ("Reduce", [(None, 5, None)], {"axes": (2,), "keepdims": False, "mode": "ReduceSum"}, (None, 5)),
    ("Tile", [(None, 2)], {"tile": (3, 4)}, (None, 8)),
    ("Pad", [(None, 2)], {"paddings": (0, 1, 0, 1)}, (None, 4)),
    ("Depth2Space", [(None, 8, None, 4)], {"block_h": 2, "block_w": 2}, (None, 2, None, 8)),
    ("Einsum", [(None, 2, 3), (None, 3, None)], {"equation": "bij,bjk->bik"}, (None, 2, None)),
])
def test_unknown_sizes(make_op, name, shapes, attributes, expected):
    element = I32 if name == "Gather" else F32
    types = [TensorType(shapes[0], F32), *(TensorType(shape, element) for shape in shapes[1:])]
    assert shape_of(make_op(f"top.{name}", types, **attributes)) == expected


@pytest.mark.parametrize(("name", "shapes", "attributes"), [
    ("Conv", [(1, 3, 8, 8), (4, 2, 3, 3)], {"kernel_shape": (3, 3)}),
    ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3), (5,)], {"kernel_shape": (3, 3)}),
    ("Conv", [(1, 3, 2, 8), (4, 3, 3, 3)], {"kernel_shape": (3, 3)}),
    ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3)], {"kernel_shape": (3, 2)}),
    ("Conv", [(1, 4, 8, 8), (5, 2, 3, 3)], {"kernel_shape": (3, 3), "group": 2}),
    ("Conv", [(3, 8, 8), (4, 3, 3, 3)], {"kernel_shape": (3, 3)}),
    ("Deconv", [(1, 3, 2, 2), (4, 3, 3, 3)], {"kernel_shape": (3, 3)}),
    ("Deconv", [(1, 3, 1, 1), (3, 3, 3, 3)], {"kernel_shape": (3, 3), "pads": (2, 2, 2, 2)}),
    ("MaxPool", [(1, 3, 8)], {"kernel_shape": (2, 2)}),
    ("Softmax", [(1, 3)], {"axis": 2}),
    ("Permute", [(1, 3)], {"order": (0,)}),
    ("Permute", [(1, 3)], {"order": (0, 0)}),
    ("Tile", [(1, 3)], {"tile": (2,)}),
    ("GroupNorm", [(1, 6, 4)], {"num_groups": 4}),
    ("BatchNorm", [(1, 6, 4), (5,), (6,)], {}),
    ("LayerNorm", [(1, 6, 4), (5,)], {}),
    ("LayerNorm", [(1, 6, 1), (4,)], {}),
    ("RMSNorm", [(1, 6, 1), (4,)], {}),
    ("Gather", [(1, 3), (2,)], {"axis": 1, "batch_dims": 2}),
    ("SpaceToBatch", [(1, 3, 4)], {"block_shape": (2,), "pads": (0, 0)}),
    ("BatchToSpace", [(3, 3, 4)], {"block_shape": (2,), "crops": (0, 0)}),
    ("Expand", [(2, 3)], {"shape": (4, 3)}),
    ("PRelu", [(2, 3), (4, 2, 3)], {}),
    ("Unpack", [None], {"axis": 0}),
    ("Arg", [(2, 0)], {"axis": 1, "mode": "ArgMax"}),
])
def test_what_cannot_be(make_op, name, shapes, attributes):
    types = [TensorType(shape, F32) for shape in shapes]
    with pytest.raises(ShapeError) as caught:
        make_op(f"top.{name}", types, **attributes)
    assert caught.value.findings[0].what == f"top.{name}"


def test_quantized_elements_are_kept(make_op):
    x = TensorType((1, 4, 4, 2), QUANTIZED)
    for name, attributes in {
        "Relu": {}, "Softmax": {"axis": -1}, "Reshape": {"shape": (-1,)}, "MaxPool": {"kernel_shape": (2, 2), "layout": "NHWC"},
        "Reduce": {"axes": (1,), "mode": "ReduceMean"}, "Interp": {"sizes": (2, 2), "layout": "NHWC"}, "LRN": {"size": 3},
    }.items():
        assert make_op(f"top.{name}", [x], **attributes).result.element == QUANTIZED
    other = QuantType(I8, F32, (0.25,), (0,))
    op = make_op("top.Add", [x, TensorType((2,), other)], element=other)
    assert op.result.type == TensorType((1, 4, 4, 2), other)


def test_the_quantized_dimension_moves_with_the_others(make_op):
    per_axis = QuantType(I8, F32, (0.1, 0.2, 0.3), (0, 1, 2), axis=1)
    x = TensorType((2, 3, 4), per_axis)

    def axis_after(name, **attributes):
        return make_op(f"top.{name}", [x], **attributes).results[0].element.axis

    assert axis_after("Permute", order=(1, 2, 0)) == 0
    assert axis_after("Reshape", shape=(2, 1, 3, 4)) == 2
    assert axis_after("Reshape", shape=(2, 3, 2, 2)) == 1
    assert axis_after("Unsqueeze", axes=(0,)) == 2
    assert axis_after("Expand", shape=(5, 2, 3, 4)) == 2
    assert axis_after("Reduce", axes=(0,), keepdims=False, mode="ReduceMax") == 0
    sliced = make_op("top.Slice", [x], offset=(0, 2, 0), ends=(2, -1, 4), steps=(1, -2, 1)).result.element
    assert (sliced.scales, sliced.zero_points) == ((0.3, 0.1), (2, 0))
    first, second = make_op("top.Split", [x], axis=1, split_size=(1, 2)).results
    assert (first.element.scales, second.element.scales) == ((0.1,), (0.2, 0.3))
    turned = make_op("top.Reverse", [x], axes=(-2,)).result.element
    assert turned.scales == (0.3, 0.2, 0.1)


def test_options_that_must_be_known():
    block = Block([TensorType((None, 3), F32)])
    builder = Builder(block)
    with pytest.raises(ShapeError, match="not known"):
        builder.emit("top.Unpack", block.arguments[0], axis=0)
    assert len(builder.emit("top.Unpack", block.arguments[0], axis=1)) == 3
