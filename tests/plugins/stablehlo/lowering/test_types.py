"""Ops on every element type they have, many in one program, and on tensors of every rank, empty ones too."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from transload.api import run

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
SIGNED = INTEGERS[:4]

SOME_FLOATS = [pytest.param(np.float16, marks=pytest.mark.slow), *FLOATS[1:3], pytest.param(np.float64, marks=pytest.mark.slow)]
SOME_INTEGERS = [
    *INTEGERS[:1], *(pytest.param(dtype, marks=pytest.mark.slow) for dtype in INTEGERS[1:3]), *INTEGERS[3:5],
    *(pytest.param(dtype, marks=pytest.mark.slow) for dtype in INTEGERS[5:7]), *INTEGERS[7:]]
"""Long programs are compiled for some types in a quick run."""

FUNCTIONS = {
    "Abs": {}, "Neg": {}, "Exp": {}, "Log1p": {}, "Sqrt": {}, "Rsqrt": {}, "Reciprocal": {}, "Floor": {}, "Ceil": {}, "Round": {},
    "Sign": {}, "Sin": {}, "Cos": {}, "Asin": {}, "Acos": {}, "Atan": {}, "Sinh": {}, "Cosh": {}, "Tanh": {}, "Asinh": {},
    "Atanh": {}, "Erf": {}, "Square": {}, "Relu": {"relu_limit": 0.5}, "LeakyRelu": {"alpha": 0.25}, "Sigmoid": {"scale": 2.0},
    "SiLU": {}, "HardSigmoid": {}, "HardSwish": {}, "GELU": {}, "Elu": {}, "Selu": {}, "Celu": {"alpha": 2.0}, "Softplus": {},
    "Softsign": {}, "Mish": {}, "Clip": {"min": -0.5, "max": 0.25}, "IsNaN": {}, "IsInf": {}, "Shrink": {"lambd": 0.25},
    "ThresholdedRelu": {"alpha": 0.25}, "Softmax": {"axis": -1}, "LayerNorm": {}, "RMSNorm": {}, "Normalize": {"axes": (1,)},
    "AddConst": {"const_val": 0.5}, "MulConst": {"const_val": -1.5}, "CumSum": {"axis": 0}, "TopK": {"k": 2},
    "Arg": {"axis": 1, "mode": "ArgMax"},
}  # fmt: skip


def many(builder, names, x):
    """The results of all these ops, of `x`."""
    made = []
    for name, attributes in names.items():
        values = builder.emit(f"top.{name}", x, **attributes)
        made.extend(values if isinstance(values, tuple) else (values,))
    return made


@pytest.mark.parametrize("dtype", SOME_FLOATS)
def test_functions_of_floats(same, rng, dtype):
    x = rng.uniform(0.05, 0.95, (3, 5)).astype(np.float32).astype(dtype)
    same(lambda builder, x: many(builder, FUNCTIONS, x), x)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", FLOATS)
def test_special_numbers(same, dtype):
    """Infinities, zeros of both signs, NaN, and numbers where functions change."""
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 20.0, -20.0, 90.0, -90.0, 1e-5, 6e4], np.float32).astype(dtype)
    names = (
        "Abs", "Neg", "Exp", "Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Floor", "Round", "Asin", "Acos", "Atan", "Cosh",
        "Tanh", "Asinh", "Acosh", "Atanh", "Erf", "Relu", "Sigmoid", "Softplus", "HardSigmoid", "Elu", "Celu", "IsNaN",
        "IsInf")
    same(lambda builder, x: many(builder, {name: {} for name in names}, x), x)


INTEGER_FUNCTIONS = {
    "Abs": {}, "Neg": {}, "Sign": {}, "Square": {}, "Floor": {}, "BitwiseNot": {}, "Relu": {"relu_limit": 6.0},
    "Clip": {"min": 1.5, "max": 9.5}, "AddConst": {"const_val": 3.0}, "MulConst": {"const_val": 2.0}, "CumSum": {"axis": -1},
    "TopK": {"k": 3, "largest": False},
}  # fmt: skip
REDUCTIONS = [
    "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceSumSquare", "ReduceL2"]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", SOME_INTEGERS)
def test_integers(same, rng, dtype):
    """Over the whole range: results wrap round as those of the kernels do."""
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, (4, 5), dtype=dtype, endpoint=True)
    y = rng.integers(info.min, info.max, (4, 5), dtype=dtype, endpoint=True)
    y[0], y[1, 0], x[0, 0], x[1, 0] = 0, 3, info.min, info.max
    places = rng.integers(0, info.bits + 3, (4, 5)).astype(dtype)
    if info.min < 0:
        y[1, 1], x[1, 1] = -1, info.min

    def make(builder, x, y, places):
        made = many(builder, INTEGER_FUNCTIONS, x)
        for name in ("Add", "Sub", "Mul", "Div", "Max", "Min", "FloorDiv", "FloorMod", "TruncMod", "SquaredDifference",
                     "BitwiseAnd", "BitwiseOr", "BitwiseXor"):  # fmt: skip
            made.append(builder.emit(f"top.{name}", x, y))
        made += [builder.emit(f"top.Shift{way}", x, places) for way in ("Left", "Right")]
        for mode in ("Equal", "Greater", "LessOrEqual"):
            made.append(builder.emit("top.Compare", x, y, mode=mode))
        for mode in REDUCTIONS[:-1]:
            made.append(builder.emit("top.Reduce", x, axes=(0,), mode=mode))
        for mode, last in (("ArgMax", False), ("ArgMin", True)):
            made.append(builder.emit("top.Arg", x, axis=1, mode=mode, select_last_index=last))
        return made

    same(make, x, y, places)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint16, np.int64])
def test_integers_wrap_round_before_a_relu(same, dtype):
    """A ReLU is none of sums beyond their type: what wraps to below 0 is 0."""
    top = np.iinfo(dtype).max
    x, y = np.array([[top, 3], [5, top // 2]], dtype), np.array([[2, 7], [3, 100]], dtype)

    def make(builder, x, y):
        return [builder.emit(f"top.{name}", x, y, do_relu=True, **limit)
                for name in ("Add", "Mul", "MatMul") for limit in ({}, {"relu_limit": 6.0})]

    same(make, x, y)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_powers(same, rng, dtype):
    base = rng.integers(0 if np.dtype(dtype).kind == "u" else -4, 5, (3, 7)).astype(dtype)
    exponent = rng.integers(0, 9, (7,)).astype(dtype)
    same(lambda builder, a, b: builder.emit("top.Pow", a, b), base, exponent)
    if np.dtype(dtype).kind == "i":
        base[base == 0] = 1
        same(lambda builder, a, b: builder.emit("top.Pow", a, b), base, np.array([-3, -2, -1, 0, 1, 2, 3], dtype))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", [*FLOATS, *SIGNED])
def test_products(same, rng, dtype):
    """Convolutions and matrix products: narrow integers are summed without loss before they wrap round."""
    def numbers(*shape):
        return (rng.standard_normal(shape) * 3).astype(np.float32).astype(dtype)

    def make(builder, x, w, b, left, right, row):
        return [
            builder.emit("top.Conv", x, w, b, kernel_shape=(3, 3), pads=(1, 0, 1, 2), strides=(2, 1)),
            builder.emit("top.Deconv", x, w, kernel_shape=(3, 3), strides=(2, 2), output_padding=(1, 0)),
            builder.emit("top.MatMul", left, right, row),
            builder.emit("top.Einsum", left, right, equation="bij,jk->bki"),
        ]

    same(make, numbers(2, 4, 6, 5), numbers(4, 4, 3, 3), numbers(4), numbers(2, 3, 5), numbers(5, 4), numbers(4),
         tolerance=1e-4 if dtype == np.float32 else None)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, np.bool_])
def test_movement(same, rng, dtype):
    x = (rng.standard_normal((2, 3, 4)) * 20 > 0) if dtype is np.bool_ else (rng.uniform(0, 99, (2, 3, 4))).astype(dtype)
    indices = np.array([[1, 0], [2, -1]], np.int64)

    def make(builder, x):
        places = builder.constant(indices)
        parts = builder.emit("top.Split", x, axis=2, split_size=(1, 3))
        return [
            builder.emit("top.Permute", x, order=(2, 0, 1)), builder.emit("top.Tile", x, tile=(2, 1, 3)), *parts,
            builder.emit("top.Pad", x, paddings=(0, 1, 2, 1, 0, -1), val=1.0),
            builder.emit("top.Pad", x, paddings=(0, 1, 2, 1, 0, 3), mode="reflect"),
            builder.emit("top.Slice", x, offset=(1, 0, 3), ends=(-1, 3, 0), steps=(-1, 2, -1)),
            builder.emit("top.Gather", x, places, axis=1), builder.emit("top.Reverse", x, axes=(0, 2)),
            builder.emit("top.Roll", x, shifts=(1, -2), axes=(0, 2)), builder.emit("top.Trilu", x, k=1),
            builder.emit("top.Concat", x, x, axis=1), builder.emit("top.Expand", x, shape=(5, 1, 3, 4)),
        ]

    same(make, x)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("source", [*FLOATS, *SOME_INTEGERS, np.bool_])
def test_casts(same, rng, source):
    """To every type, with every rounding, saturating and not."""
    from transload.ir import element_type_of

    floats = np.dtype(source).kind == "f" or source is ml_dtypes.bfloat16
    x = rng.uniform(-3, 3, 40) if floats else rng.integers(0, 2, 40)
    x = x.astype(np.float32).astype(source) if floats else x.astype(source)
    if floats:
        x[:12] = np.array([0.5, 1.5, -0.5, -1.5, 127.5, -128.5, 255.7, 300, -300, 6e4, -6e4, 4e4], np.float32).astype(source)
    elif source is not np.bool_:
        info = np.iinfo(source)
        x[:8] = np.array([info.min, info.max, info.max - 1, 100, 127, 7, 11, 99], source)

    def make(builder, x):
        made = []
        for target in [*FLOATS, *INTEGERS, np.bool_]:
            element = element_type_of(np.dtype(target))
            if not floats or target is np.bool_ or target in FLOATS:
                ways = [{}, {"saturate": True}]
            else:
                modes = ("Trunc", "HalfAwayFromZero", "HalfToEven")
                ways = [{"round_mode": mode, "saturate": saturate} for mode in modes for saturate in (False, True)]
            made += [builder.emit("top.Cast", x, element=element, **way) for way in ways]
        return made

    same(make, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_casts_of_what_is_out_of_range(same, dtype):
    """Floats beyond a type's range wrap round, or saturate; infinities and NaN have their integers, too."""
    from transload.ir import element_type_of

    x = np.array([2.0**31, -(2.0**31), 2.0**32 + 2**12, 2.0**62, -(2.0**62), 3e9, 2147483520.0, np.inf, -np.inf, np.nan], dtype)

    def make(builder, x):
        targets = [element_type_of(np.dtype(target)) for target in INTEGERS[:7]]
        wrapped = [builder.emit("top.Cast", x, element=element) for element in targets]
        return wrapped + [builder.emit("top.Cast", x, element=element, saturate=True) for element in targets]

    same(make, x)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("rank", range(7))
def test_ranks(same, rng, rank):
    """Broadcasts, reductions and movement in every rank, each axis from both ends."""
    shape = tuple(rng.integers(1, 4, rank))
    x = rng.standard_normal(shape).astype(np.float32)
    y = rng.standard_normal(tuple(size if i % 2 else 1 for i, size in enumerate(shape))).astype(np.float32)

    def make(builder, x, y):
        made = [builder.emit("top.Add", x, y), builder.emit("top.Where", builder.emit("top.Compare", x, y, mode="Less"), y, x)]
        made.append(builder.emit("top.Reshape", x, shape=(-1, 1)))
        made.append(builder.emit("top.Permute", x, order=tuple(reversed(range(rank)))))
        for axis in range(-rank, rank):
            made.append(builder.emit("top.Reduce", x, axes=(axis,), keepdims=bool(axis % 2), mode="ReduceMean"))
            made.append(builder.emit("top.Softmax", x, axis=axis))
            made.append(builder.emit("top.Arg", x, axis=axis, mode="ArgMin", keepdims=False))
            made.append(builder.emit("top.Concat", x, x, axis=axis))
            made.append(builder.emit("top.Unsqueeze", x, axes=(axis,)))
            made.append(builder.emit("top.CumSum", x, axis=axis, exclusive=True, reverse=bool(axis % 2)))
        made.append(builder.emit("top.Reduce", x, axes=tuple(range(rank)), mode="ReduceSum", keepdims=False))
        return made

    same(make, x, y)


def test_empty_tensors(same):
    """Sizes of 0: sums are 0, extremes the least and greatest, and nothing moves."""
    x = np.zeros((2, 0, 3), np.float32)

    def make(builder, x):
        modes = ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd")
        made = [builder.emit("top.Reduce", x, axes=(1,), mode=mode) for mode in modes]
        made += [builder.emit("top.Add", x, x), builder.emit("top.Permute", x, order=(2, 1, 0))]
        made += [builder.emit("top.Pad", x, paddings=(0, 1, 0, 0, 2, 0)), builder.emit("top.Concat", x, x, axis=1)]
        made += [builder.emit("top.Slice", x, offset=(0, 0, 1), ends=(2, 0, 3), steps=(1, 1, 1))]
        made += [builder.emit("top.Softmax", x, axis=2), builder.emit("top.Tile", x, tile=(1, 2, 2))]
        return made

    same(make, x)


@pytest.mark.parametrize("dtype", [
    ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz])
def test_extremes_of_small_floats(same, dtype):
    """They start from infinity, or from the greatest number where there is none: what stood for it was NaN, and so was all."""
    x = np.array([[1, -2, 3], [0.5, -16, -8]], np.float32).astype(dtype)
    same(lambda builder, x: builder.emit("top.Reduce", x, axes=(1,), mode="ReduceMax"), x, engines=("reference",), tolerance=0)
    same(lambda builder, x: builder.emit("top.Reduce", x, axes=(0,), mode="ReduceMin"), x, engines=("reference",), tolerance=0)
    for pads in ((0, 0, 0, 0), (1, 1, 1, 1)):
        lowered = same(
            lambda builder, x, pads=pads: builder.emit("top.MaxPool", x, kernel_shape=(2, 2), pads=pads, layout="NHWC"),
            x.reshape(1, 2, 3, 1), engines=("reference",), tolerance=0)
        (made,) = run(lowered, {"x0": x.reshape(1, 2, 3, 1)}).values()
        assert np.isfinite(made.astype(np.float32)).all()
