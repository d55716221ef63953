"""Shapes, constants of a shape, ops that pass on what they get."""

from __future__ import annotations

from .spec import cases, each, ints, scalar, values, x

_KINDS = "float32 int32 bool uint8"

CASES = [
    *cases("Identity StopGradient PreventGradient Snapshot DeepCopy", x(2, 3), types="float32 int32"),
    *cases("CheckNumerics", x(2, 3), message="bad"),
    *cases("IdentityN", x(2, 3), x(4, dtype="int32")),
    *cases("EnsureShape", x(2, 3), shape=each((2, None), (2, 3))),
    *cases("Shape Size Rank", each(x(2, 3), x(), x(2, 0, 4)), types=_KINDS),
    *cases("Shape", x(2, 3), out_type="int64"),
    *cases("ShapeN", on=[(x(2, 3), x(4)), (x(2, 3),)]),
    *cases("BroadcastArgs", each(ints(2, 1, 3), ints(3)), ints(4, 3)),
    *cases("BroadcastGradientArgs", on=[(ints(2, 1, 3), ints(4, 3)), (ints(2, 3), ints(2, 3)), (ints(3), ints(2, 1)), (ints(),
           ints(2))]),
    *cases("ConcatOffset", scalar(1), ints(2, 3, 4), ints(2, 5, 4)),
    *cases("InvertPermutation", on=[(ints(2, 0, 1),), (values([3, 0, 1, 2], "int32"),)]),
    *cases("Reshape", on=[(x(2, 6), ints(3, 4)), (x(2, 6), ints(-1)), (x(2, 6), ints(2, -1, 3, dtype="int64")), (x(1), ints()),
                          (x(2, 6), ints(2, 6))], types=_KINDS),
    *cases("Squeeze", x(1, 2, 1, 3), squeeze_dims=each([], [0], [-2, 0], [2])),
    *cases("Squeeze", x(2, 3)),
    *cases("ExpandDims", x(2, 3), each(scalar(0), scalar(1), scalar(-1), scalar(2, "int64")), types=_KINDS),
    *cases("Transpose ConjugateTranspose", on=[(x(2, 3, 4), ints(2, 0, 1)), (x(2, 3), ints(1, 0)), (x(2, 3, 4), ints(0, 2, 1,
           dtype="int64"))],
           types=_KINDS),
    *cases("BroadcastTo", on=[(x(3), ints(2, 3)), (x(2, 1), ints(2, 4)), (x(), ints(3)), (x(2, 3), ints(2, 3))], types=_KINDS),
    *cases("Tile", on=[(x(2, 3), ints(2, 1)), (x(2, 3), ints(1, 3)), (x(3), ints(4, dtype="int64")), (x(2, 3), ints(1, 1))],
           types=_KINDS),
    *cases("Fill", ints(2, 3), each(values(1.5), scalar(-2.0, "float32"))),
    *cases("Fill", ints(4), scalar(7), types="int32"),
    *cases("Fill", ints(2, 2), values(True), types="bool"),
    *cases("ZerosLike OnesLike", x(2, 3), types=_KINDS),
    *cases("Range", on=[(scalar(0), scalar(7), scalar(2)), (scalar(5), scalar(-3), scalar(-3))]),
    *cases("Range", *(scalar(number, "float32") for number in (0.0, 1.0, 0.3))),
    *cases("Range", *(scalar(number, "int64") for number in (2, 9, 3))),
    *cases("LinSpace", on=[(scalar(0.0, "float32"), scalar(1.0, "float32"), scalar(5)), (values(-1.0), values(3.0), scalar(4)),
                           (scalar(2.0, "float32"), scalar(9.0, "float32"), scalar(1))]),
    *cases("OneHot", values([0, 2, -1, 5, 1], "int32"), scalar(4), scalar(1.0, "float32"), scalar(0.0, "float32"), axis=each(-1,
           0, 1)),
    *cases("OneHot", values([[0, 2], [1, 3]], "int64"), scalar(3), values(5.0), values(-1.0), axis=each(-1, 0, 1)),
    *cases("OneHot", values([0, 2, 1], "uint8"), scalar(3), scalar(True, "bool"), scalar(False, "bool")),
    *cases("OneHot", values([0, 2, 1], "int32"), scalar(3), scalar(7), scalar(-7)),
    *cases("Diag", each(x(3), x(2, 2)), types="float32 int32"),
    *cases("DiagPart", each(x(3, 3), x(2, 2, 2, 2)), types="float32 int32"),
]
