"""Parts computed of what the rules say that they need are parts of the whole result."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transload_targets.tensor_processor.regions import RULES, cut, whole
from transload_targets.tensor_processor.regions.boxes import extent, hull, inside
from transload_targets.tensor_processor.regions.rules import window

from .networks import Maker


def convolve(x, filters, bias, strides, pads, dilations, groups):
    """A convolution as its definition has it."""
    padded = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    kernel = filters.shape[2:]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    rows, columns = ((padded.shape[2 + i] - reach[i]) // strides[i] + 1 for i in range(2))
    result = np.zeros((x.shape[0], filters.shape[0], rows, columns), np.int64)
    per_out, per_in = filters.shape[0] // groups, filters.shape[1]
    for channel in range(filters.shape[0]):
        first = channel // per_out * per_in
        for i in range(kernel[0]):
            for j in range(kernel[1]):
                top, left = i * dilations[0], j * dilations[1]
                seen = padded[:, first:first + per_in, top:top + (rows - 1) * strides[0] + 1:strides[0],
                              left:left + (columns - 1) * strides[1] + 1:strides[1]]
                result[:, channel] += np.einsum("nchw,c->nhw", seen, filters[channel, :, i, j])
    return result + bias.reshape(1, -1, 1, 1)


def taken(array, box):
    return array[tuple(slice(low, high) for low, high in box)]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_part_of_a_convolution_is_computed_of_the_parts_that_it_needs(data):
    draw = data.draw
    kernel, dilation, stride = draw(st.integers(1, 4)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    group = draw(st.sampled_from([1, 1, 2, 4]))
    reach = (kernel - 1) * dilation + 1
    pads = tuple(draw(st.integers(0, reach - 1)) for _ in range(4))
    made = Maker()
    size = [draw(st.integers(max(reach - pads[i] - pads[i + 2], 1), 12)) for i in range(2)]
    channels = group * draw(st.integers(1, 2))
    x = made.tensor((draw(st.integers(1, 2)), group * draw(st.integers(1, 2)), *size))
    filters, bias = 1, 2
    result = made.conv(x, channels, kernel, stride, group, pads, dilation)
    node = made.nodes[0]
    random = np.random.default_rng(0)
    arrays = [random.integers(-8, 8, made.tensors[each].shape) for each in (x, filters, bias)]
    expected = convolve(*arrays, **node.attributes)
    assert expected.shape == made.tensors[result].shape
    part = tuple((low, draw(st.integers(low + 1, extent_))) for extent_ in node.result_shape
                 for low in [draw(st.integers(0, extent_ - 1))])
    need = RULES["tpu.conv2d"](node, part)
    if need is None:
        assert group > 1 or reach > 1  # a window in the padding alone, or channels of groups that are cut
        return
    assert all(inside(box, whole(made.tensors[each].shape)) for box, each in zip(need.operands, (x, filters, bias), strict=True))
    found = convolve(*(taken(array, box) for array, box in zip(arrays, need.operands, strict=True)),
                     **{**node.attributes, **need.attributes})
    np.testing.assert_array_equal(found, taken(expected, part))


def test_rows_at_the_border_have_the_padding_and_rows_inside_have_none():
    assert window((0, 4), 16, 1, 3, 1, 1) == ((0, 5), 1, 0)
    assert window((4, 8), 16, 1, 3, 1, 1) == ((3, 9), 0, 0)
    assert window((12, 16), 16, 1, 3, 1, 1) == ((11, 16), 0, 1)
    assert window((0, 1), 16, 1, 3, 1, 4) is None  # this row is of the padding alone


def test_sums_need_one_element_of_what_is_broadcast():
    made = Maker()
    x, y = made.tensor((1, 4, 8, 8)), made.tensor((1, 4, 1, 1))
    made.add(x, y)
    part = ((0, 1), (1, 3), (2, 5), (0, 8))
    assert RULES["tpu.add"](made.nodes[0], part).operands == (part, ((0, 1), (1, 3), (0, 1), (0, 1)))


@pytest.mark.parametrize("size, count", [(10, 3), (7, 7), (224, 12)])
def test_parts_cover_a_dimension_and_differ_by_one_at_most(size, count):
    ranges = cut(size, count)
    assert [number for low, high in ranges for number in range(low, high)] == list(range(size))
    assert {high - low for low, high in ranges} <= {size // count, -(-size // count)}


def test_the_hull_of_boxes():
    a, b = ((0, 1), (0, 4), (2, 5), (0, 8)), ((0, 1), (2, 6), (4, 9), (0, 8))
    assert hull(a, b) == ((0, 1), (0, 6), (2, 9), (0, 8)) and hull(None, a) == a and extent(hull(a, b)) == (1, 6, 7, 8)
