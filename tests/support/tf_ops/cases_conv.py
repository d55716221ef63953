"""Convolutions, their gradients, morphology."""

from __future__ import annotations

from .spec import cases, each, ints, x

_SAME_VALID = each("SAME", "VALID")


def _nchw(values: list[int]) -> list[int]:
    """Entries of all dimensions with the channels second."""
    return [values[0], values[-1], *values[1:-1]]


_PLACES = [{"strides": [1, 1, 1, 1]}, {"strides": [1, 2, 2, 1]}, {"strides": [1, 2, 1, 1]},
           {"strides": [1, 1, 1, 1], "dilations": [1, 2, 2, 1]}, {"strides": [1, 1, 1, 1], "dilations": [1, 1, 3, 1]}]
_SECOND = [{key: _nchw(entries) for key, entries in way.items()} for way in _PLACES]
_EXPLICIT = {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0]}

CASES = [
    *cases("Conv2D", each(x(1, 7, 8, 3), x(2, 6, 7, 3)), each(x(3, 3, 3, 4).const, x(2, 3, 3, 2)), ways=_PLACES,
           padding=_SAME_VALID),
    *cases("Conv2D", x(1, 5, 6, 3), x(1, 1, 3, 5).const, ways=_PLACES[:2], padding="VALID", types="float32 float16 bfloat16"),
    *cases("Conv2D", x(1, 7, 8, 3), x(3, 3, 3, 2).const, ways=_PLACES[:4], **_EXPLICIT),
    *cases("Conv2D", x(1, 6, 6, 4), x(3, 3, 2, 6).const, ways=_PLACES[:2], padding=_SAME_VALID, note="grouped"),
    *cases("Conv2D", x(1, 3, 7, 8), x(3, 3, 3, 4).const, ways=_SECOND, padding=_SAME_VALID, data_format="NCHW", xla=True),
    *cases("Conv2D", x(1, 3, 7, 8), x(3, 3, 3, 4).const, strides=[1, 1, 1, 1], padding="EXPLICIT", data_format="NCHW",
           explicit_paddings=[0, 0, 0, 0, 1, 2, 0, 1], xla=True),
    *cases("DepthwiseConv2dNative", x(2, 6, 7, 3), each(x(3, 3, 3, 1).const, x(2, 3, 3, 2)),
           ways=_PLACES[:2], padding=_SAME_VALID),
    *cases("DepthwiseConv2dNative", x(2, 6, 7, 3), x(3, 3, 3, 1).const, ways=_PLACES[3:], padding=_SAME_VALID, xla=True),
    *cases("DepthwiseConv2dNative", x(1, 6, 7, 2), x(3, 3, 2, 2).const, strides=[1, 1, 1, 1], **_EXPLICIT),
    *cases("DepthwiseConv2dNative", x(1, 3, 6, 7), x(3, 3, 3, 2).const, ways=_SECOND[:2], padding=_SAME_VALID,
           data_format="NCHW", xla=True),
    *cases("Conv3D", x(1, 5, 6, 4, 2), x(2, 3, 2, 2, 3).const, strides=each([1, 1, 1, 1, 1], [1, 2, 2, 1, 1]),
           padding=_SAME_VALID),
    *cases("Conv3D", x(1, 2, 5, 6, 4), x(2, 3, 2, 2, 3).const, strides=[1, 1, 1, 2, 1], padding=_SAME_VALID,
           data_format="NCDHW", xla=True),
    *cases("Conv", x(1, 5, 6, 2), x(3, 3, 2, 4).const, strides=[1, 2, 1, 1], padding=_SAME_VALID),
    *cases("Conv", x(2, 3, 5, 6, 2), x(3, 3, 2, 4).const, strides=[1, 2, 1, 1], padding=_SAME_VALID, batch_dims=2),
    # gradients
    *cases("Conv2DBackpropInput", on=[
        (ints(1, 6, 8, 3), x(3, 3, 3, 4).const, x(1, 6, 8, 4)), (ints(2, 4, 5, 2), x(2, 2, 2, 3).const, x(2, 4, 5, 3))],
        strides=[1, 1, 1, 1], padding="SAME"),
    *cases("Conv2DBackpropInput", ints(1, 8, 7, 3), x(3, 3, 3, 4).const, x(1, 4, 4, 4), strides=[1, 2, 2, 1], padding="SAME"),
    *cases("Conv2DBackpropInput", each(ints(1, 9, 7, 3), ints(1, 10, 8, 3), ints(9, 7)), x(3, 3, 3, 4).const, x(1, 4, 3, 4),
           strides=[1, 2, 2, 1], padding="VALID"),
    *cases("Conv2DBackpropInput", ints(1, 8, 8, 3), x(3, 2, 3, 2), x(1, 4, 4, 2), strides=[1, 2, 2, 1], padding="SAME",
           note="filter"),
    *cases("Conv2DBackpropInput", ints(1, 4, 5, 2), x(2, 2, 2, 3).const, x(1, 4, 5, 3), strides=[1, 1, 1, 1], padding="EXPLICIT",
           explicit_paddings=[0, 0, 0, 1, 1, 0, 0, 0]),
    *cases("Conv2DBackpropInput", ints(1, 3, 8, 7), x(3, 3, 3, 4).const, x(1, 4, 4, 4), strides=[1, 1, 2, 2], padding="SAME",
           data_format="NCHW", xla=True),
    *cases("DepthwiseConv2dNativeBackpropInput", ints(1, 6, 8, 3), x(3, 3, 3, 2).const, x(1, 3, 4, 6), strides=[1, 2, 2, 1],
           padding="SAME"),
    *cases("DepthwiseConv2dNativeBackpropInput", ints(1, 6, 8, 3), x(3, 3, 3, 1).const, x(1, 4, 6, 3), strides=[1, 1, 1, 1],
           padding="VALID"),
    *cases("Conv3DBackpropInputV2", ints(1, 4, 5, 4, 2), x(2, 3, 2, 2, 3).const, x(1, 2, 3, 2, 3), strides=[1, 2, 2, 2, 1],
           padding="SAME"),
    *cases("Conv3DBackpropInputV2", ints(1, 3, 4, 3, 2), x(2, 3, 2, 2, 3).const, x(1, 2, 2, 2, 3), strides=[1, 1, 1, 1, 1],
           padding="VALID"),
    *cases("Conv3DBackpropInput", x(1, 3, 4, 3, 2), x(2, 3, 2, 2, 3).const, x(1, 2, 2, 2, 3), strides=[1, 1, 1, 1, 1],
           padding="VALID"),
    *cases("Conv2DBackpropFilter", x(2, 6, 7, 3), ints(3, 3, 3, 4), x(2, 6, 7, 4), strides=[1, 1, 1, 1], padding="SAME"),
    *cases("Conv2DBackpropFilter", x(2, 6, 7, 3), ints(3, 2, 3, 4), x(2, 3, 4, 4), strides=[1, 2, 2, 1], padding="SAME"),
    *cases("Conv2DBackpropFilter", x(2, 6, 7, 3), ints(3, 2, 3, 4), x(2, 2, 3, 4), strides=[1, 2, 2, 1], padding="VALID"),
    *cases("Conv3DBackpropFilterV2", x(1, 4, 4, 4, 2), ints(2, 2, 2, 2, 3), x(1, 2, 2, 2, 3), strides=[1, 2, 2, 2, 1],
           padding="VALID"),
    *cases("DepthwiseConv2dNativeBackpropFilter", x(2, 5, 6, 3), ints(3, 3, 3, 2), x(2, 5, 6, 6), strides=[1, 1, 1, 1],
           padding="SAME"),
    *cases("DepthwiseConv2dNativeBackpropFilter", x(2, 5, 6, 3), ints(3, 3, 3, 1), x(2, 2, 2, 3), strides=[1, 2, 2, 1],
           padding="VALID"),
    # morphology
    *cases("Dilation2D", x(1, 6, 7, 2), x(3, 2, 2), strides=each([1, 1, 1, 1], [1, 2, 2, 1]), rates=each([1, 1, 1, 1], [1, 2, 1,
           1]),
           padding=_SAME_VALID),
    *cases("Dilation2D", x(1, 3, 4, 2, low=0, high=100), each(x(3, 3, 2, low=-100, high=0), x(2, 2, 2, low=-100, high=100)),
           types="int8 int16 int32 int64", strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="SAME"),
    *cases("Dilation2D", x(1, 3, 3, 1, low=0, high=100), x(3, 3, 1, low=0, high=100), types="uint8 uint16", strides=[1, 2, 1, 1],
           rates=[1, 1, 1, 1], padding="SAME"),
]

