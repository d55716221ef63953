"""Reductions, extremes, running sums and order."""

from __future__ import annotations

from .spec import cases, each, ints, scalar, values, x

_OVER = [(x(2, 3, 4), ints(0)), (x(2, 3, 4), ints(-1)), (x(2, 3, 4), ints(0, 2)), (x(2, 3, 4), scalar(1)), (x(5), ints(0)),
         (x(2, 3, 4), ints()), (x(2, 3, 4), ints(2, 1, dtype="int64"))]
_WALK = [{"exclusive": False, "reverse": False}, {"exclusive": True, "reverse": False}, {"exclusive": False, "reverse": True},
         {"exclusive": True, "reverse": True}]

CASES = [
    *cases("Sum Mean Max Min Prod", on=_OVER, keep_dims=each(False, True)),
    *cases("Sum Max Min", on=_OVER[:4], types="int32 int64 float16"),
    *cases("Sum Max Min Mean", x(2, 3, 4), ints(1), types="bfloat16 float64"),
    *cases("Max Min", x(2, 3, 4), ints(1), types="int8 uint8 int16"),
    *cases("Prod", x(2, 3, low=-3, high=4), ints(1), types="int32 int64"),
    *cases("Mean", x(3, 4, low=-20, high=20), ints(1), types="int32"),
    *cases("EuclideanNorm", on=_OVER[:4], keep_dims=each(False, True)),
    *cases("All Any", on=_OVER[:5], types="bool", keep_dims=each(False, True)),
    *cases("ArgMax ArgMin", on=[(x(3, 4), scalar(0)), (x(3, 4), scalar(-1)), (x(2, 3, 4), scalar(1, "int64"))],
           types="float32 int32 float16 uint8", output_type=each("int64", "int32")),
    *cases("ArgMax ArgMin", values([[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]]), scalar(1), note="ties"),
    *cases("Cumsum Cumprod", on=[(x(2, 5), scalar(1)), (x(3, 2, 2), scalar(0)), (x(4), scalar(-1))], ways=_WALK),
    *cases("Cumsum Cumprod", x(2, 5, low=-3, high=4), scalar(1), types="int32 int64", ways=_WALK[:2]),
    *cases("CumulativeLogsumexp", on=[(x(2, 5), scalar(1)), (x(3, 2), scalar(0))], ways=_WALK),
    *cases("TopKV2", each(x(6), x(2, 7)), scalar(3), types="float32 int32 float16", sorted=True),
    *cases("TopKV2", values([[2.0, 3.0, 3.0, 1.0]]), scalar(3), note="ties"),
    *cases("TopKV2", x(2, 5), scalar(5)),
    *cases("NthElement", x(3, 6), scalar(2), types="float32 int32", reverse=each(False, True)),
    *cases("InTopK", x(4, 6), values([0, 5, 2, 1], "int32"), k=each(1, 3)),
    *cases("InTopKV2", x(4, 6), values([0, 5, 2, 1], "int32"), each(scalar(2), scalar(4))),
]
