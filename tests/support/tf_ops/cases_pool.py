"""Poolings."""

from __future__ import annotations

from .spec import cases, each, ints, x

_SAME_VALID = each("SAME", "VALID")
_WINDOWS = [{"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1]}, {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1]},
            {"ksize": [1, 3, 2, 1], "strides": [1, 1, 1, 1]}, {"ksize": [1, 1, 4, 1], "strides": [1, 1, 3, 1]}]

CASES = [
    *cases("MaxPool AvgPool", each(x(1, 6, 7, 3), x(2, 5, 5, 1)), ways=_WINDOWS, padding=_SAME_VALID),
    *cases("MaxPool AvgPool", x(1, 6, 7, 3), ways=_WINDOWS[:2], padding="SAME", types="float16 bfloat16"),
    *cases("MaxPool", x(1, 6, 7, 3), ways=_WINDOWS[:2], padding="SAME", types="int32 uint8 int8"),
    *cases("MaxPool", x(1, 6, 7, 3), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="EXPLICIT",
           explicit_paddings=each([0, 0, 1, 1, 0, 1, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0])),
    *cases("MaxPool AvgPool", x(1, 3, 6, 7), ksize=[1, 1, 3, 3], strides=[1, 1, 2, 2], padding=_SAME_VALID, data_format="NCHW",
           xla=True),
    *cases("MaxPool", x(1, 3, 4, 6), ksize=[1, 1, 1, 3], strides=[1, 1, 1, 3], padding="VALID"),
    *cases("MaxPoolV2", x(1, 6, 7, 3), ints(1, 2, 2, 1), ints(1, 2, 2, 1), padding=_SAME_VALID),
    *cases("MaxPool3D AvgPool3D", x(1, 4, 5, 6, 2), ksize=[1, 2, 2, 3, 1], strides=each([1, 2, 2, 2, 1], [1, 1, 2, 1, 1]),
           padding=_SAME_VALID),
    *cases("MaxPool3D AvgPool3D", x(1, 2, 4, 5, 6), ksize=[1, 1, 2, 2, 3], strides=[1, 1, 2, 2, 2], padding="SAME",
           data_format="NCDHW",
           xla=True),
    *cases("MaxPoolWithArgmax", x(2, 5, 6, 3), ways=_WINDOWS[:3], padding=_SAME_VALID, include_batch_in_index=each(False, True)),
    *cases("MaxPoolWithArgmax", x(1, 4, 4, 2), ways=_WINDOWS[:1], padding="VALID", Targmax="int32"),
    *cases("AvgPoolGrad", ints(2, 6, 7, 3), x(2, 3, 4, 3), ways=_WINDOWS[:2], padding="SAME"),
    *cases("AvgPoolGrad", ints(1, 6, 6, 2), x(1, 3, 3, 2), ways=_WINDOWS[:1], padding="VALID"),
    *cases("AvgPool3DGrad", ints(1, 4, 4, 4, 2), x(1, 2, 2, 2, 2), ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1],
           padding="SAME"),
]
