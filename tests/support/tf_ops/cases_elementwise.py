"""Arithmetic, comparison, logic and functions."""

from __future__ import annotations

from .spec import cases, each, scalar, values, x

_FLOATS = "float32 float16 bfloat16"
_INTS = "int32 int64 int8 int16 uint8"
_PAIRS = [(x(2, 3), x(2, 3)), (x(2, 3), x(3)), (x(2, 1, 3), x(4, 1)), (x(2, 3), x(1).const)]
_POSITIVE = {"low": 0.1, "high": 4.0}
_SPECIAL = [float("inf"), float("-inf"), float("nan"), 0.0, 1.5, -2.5]

CASES = [
    # functions
    *cases("Abs Neg Sign Square", x(2, 3, 4), types=f"{_FLOATS} int32 int64 int8 int16"),
    *cases("Floor Ceil Round", x(2, 3, 4, low=-9.0, high=9.0), types=_FLOATS),
    *cases("Round Rint", values([0.5, 1.5, 2.5, -0.5, -1.5, -2.5]), note="halves"),
    *cases("Exp Expm1 Sin Cos Tanh Sigmoid Erf Erfc Sinh Cosh Tan Atan Asinh", x(3, 5), types=_FLOATS),
    *cases("Expm1", x(8, low=-0.01, high=0.01)),
    *cases("Log Log1p Sqrt Rsqrt Reciprocal Inv Lgamma", x(3, 5, **_POSITIVE), types="float32 float16"),
    *cases("Lgamma", x(16, low=-5.3, high=9.0)),
    *cases("Log Sqrt Rsqrt", x(4, **_POSITIVE), types="float64"),
    *cases("Asin Acos Atanh", x(3, 5, low=-0.9, high=0.9), types="float32 float16"),
    *cases("Acosh", x(3, 5, low=1.1, high=5.0)),
    *cases("IsNan IsInf IsFinite", values(_SPECIAL), types="float32 float16"),
    *cases("LogicalNot", x(3, 4), types="bool"),
    *cases("Invert", x(3, 4), types=f"{_INTS} uint16"),
    *cases("PopulationCount", x(3, 4, low=0, high=100), types="int32 int16 uint8 int8"),
    # arithmetic
    *cases("Add AddV2 Sub Mul Maximum Minimum SquaredDifference", on=_PAIRS, types=f"{_FLOATS} int32 int64"),
    *cases("AddV2 Sub Mul", x(2, 3), x(3), types="int8 int16 uint8 float64"),
    *cases("RealDiv Div", x(2, 3), each(x(2, 3, low=0.5, high=3.0), x(3, low=-3.0, high=-0.5)), types=_FLOATS),
    *cases("Div TruncateDiv FloorDiv FloorMod Mod TruncateMod", x(4, 5, low=-50, high=50),
           each(values([3, -3, 7, -4, 5]), values([[2], [-5], [9], [-1]])), types="int32 int64"),
    *cases("TruncateDiv FloorDiv FloorMod", x(4, 5, low=-50, high=50), values([3, -3, 7, -4, 5]), types="int8 int16"),
    *cases("FloorDiv TruncateDiv FloorMod", x(4, 5, low=0, high=200), values([3, 200, 7, 4, 5]), types="uint8"),
    *cases("FloorDiv FloorMod Mod TruncateMod", x(4, 5, low=-9.0, high=9.0), values([3.0, -2.0, 0.7, -1.5, 5.0])),
    *cases("DivNoNan MulNoNan", values([[1.0, -2.0, float("inf")], [0.0, 3.0, 5.0]]), values([0.0, 2.0, 4.0])),
    *cases("Xdivy Xlogy Xlog1py", values([0.0, 1.0, -2.0, 0.0]), values([0.0, 2.0, 0.5, 3.0])),
    *cases("Pow", x(2, 3, **_POSITIVE), each(x(2, 3), scalar(2.0, "float32"), scalar(0.5, "float32"), scalar(-1.0, "float32"))),
    *cases("Pow", x(2, 3), values([0.0, 2.0, 3.0]), note="whole"),
    *cases("Pow", x(2, 3), values([0, 2, 3]), types="int32 int64"),
    *cases("Atan2", x(3, 4), x(3, 4)),
    *cases("AddN", on=[(x(2, 3),), (x(2, 3), x(2, 3)), (x(2, 3),) * 4], types="float32 int32"),
    *cases("ApproximateEqual", values([1.0, 2.0, 3.0]), values([1.000001, 2.1, 3.0]), tolerance=each(1e-5, 0.2)),
    # bits
    *cases("BitwiseAnd BitwiseOr BitwiseXor", on=[(x(2, 3), x(2, 3)), (x(2, 3), x(3))], types=f"{_INTS} uint16 uint32"),
    *cases("LeftShift RightShift", x(2, 5), values([0, 1, 3, 40, 7]), types="int32 int8 int16 uint8"),
    *cases("LeftShift RightShift", x(2, 5), values([0, 1, 3, 9, 7]), types="int64"),
    *cases("LeftShift RightShift", x(2, 5), x(2, 5, low=-2, high=34), types="int32"),
    # comparison and logic
    *cases("Equal NotEqual Greater GreaterEqual Less LessEqual", on=_PAIRS[:3], types="float32 int32 int64 uint8"),
    *cases("Greater LessEqual Equal", x(2, 3), x(3), types="float16 bfloat16 int8 int16"),
    *cases("Equal NotEqual", x(2, 3), x(3), types="bool"),
    *cases("Equal NotEqual", x(2, 3), each(x(2), x(3), x(1, 1)), incompatible_shape_error=False),
    *cases("LogicalAnd LogicalOr", on=_PAIRS[:3], types="bool"),
    *cases("Select", on=[(x(2, 3, dtype="bool"), x(2, 3), x(2, 3)), (x(2, dtype="bool"), x(2, 3, 2), x(2, 3, 2)),
                         (values(True, "bool"), x(2, 3), x(2, 3))], types="float32 int32 int64 bool"),
    *cases("SelectV2", on=[(x(2, 3, dtype="bool"), x(2, 3), x(2, 3)), (x(3, dtype="bool"), x(2, 3), x(2, 1)),
                           (x(2, 1, dtype="bool"), x(3), scalar(0.0, "float32"))]),
    *cases("SelectV2", x(2, 3, dtype="bool"), x(3), x(2, 3), types="int32 bool uint8"),
    *cases("ClipByValue", x(3, 4), values(-0.5), values(0.7)),
    *cases("ClipByValue", x(3, 4), scalar(-3), scalar(4), types="int32"),
    *cases("BiasAdd", x(2, 3, 4, 5), x(5), types=_FLOATS),
    *cases("BiasAdd", on=[(x(2, 4), x(4)), (x(2, 3, 4), x(4)), (x(2, 3, 3, 2, 4), x(4))]),
    *cases("BiasAdd", on=[(x(2, 3, 4, 5), x(3)), (x(2, 3, 4), x(3))], data_format="NCHW"),
    *cases("BiasAddV1", x(2, 3, 4), x(4)),
    *cases("BiasAddGrad", x(2, 3, 4, 5), data_format=each("NHWC", "NCHW")),
    # types
    *[case for source in ("float32", "float16", "bfloat16", "int32", "int64", "int8", "uint8", "int16", "bool", "float64")
      for target in ("float32", "float16", "bfloat16", "int32", "int64", "int8", "uint8", "int16", "bool",
          "float64") if source != target
      for case in cases("Cast", x(2, 3, low=0 if "u" in source + target else -7, high=8), types=source, DstT=target)],
    *cases("Bitcast", x(2, 3), types="float32", type="int32", hub_only=True),
    *cases("Bitcast", x(2, 3), types="int32", type="float32", hub_only=True),
    *cases("Bitcast", x(2, 3).const, types="float32", type="int32"),
    *cases("Bitcast", x(2, 4).const, types="int32", type="uint8"),
    *cases("Bitcast", x(2, 4, low=0).const, types="uint8", type="int32"),
    *cases("Bitcast", x(2, 3), types="int32", type="uint32"),
    *cases("Bitcast", x(2, 3), types="uint8", type="int8"),
]
