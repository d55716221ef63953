"""Cases of functions of numbers: one, two or several tensors, element by element; reductions and order."""

from __future__ import annotations

from .spec import Cases, Dt, t

__all__ = ["ANY", "POSITIVE", "REAL", "UNIT", "fill"]

ANY = ["abs", "ceil", "floor", "neg", "sign", "sgn", "square", "trunc", "round", "relu"]
REAL = [
    "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "erf", "erfc", "exp", "exp2", "expm1", "sigmoid", "silu",
    "mish", "hardswish", "frac", "sinc", "deg2rad", "rad2deg", "isnan", "isinf", "isfinite", "logical_not", "hardsigmoid",
    "selu", "celu", "elu", "softplus", "leaky_relu", "relu6", "hardtanh", "gelu", "log_sigmoid", "hardshrink", "softshrink",
    "signbit", "nan_to_num", "positive", "isposinf", "isneginf", "clone", "alias"]
POSITIVE = ["sqrt", "rsqrt", "log", "log2", "log10", "log1p", "reciprocal", "special_entr", "acosh"]
NORMAL = ["special_ndtr", "special_log_ndtr"]
UNIT = ["asin", "acos", "atanh", "logit"]


def fill(cases: Cases) -> None:
    _unary(cases)
    _binary(cases)
    _more(cases)
    _reductions(cases)
    _order(cases)
    _pythons_operators(cases)


def _unary(cases: Cases) -> None:
    for name in (*ANY, *REAL):
        op = f"{name}.default"
        cases.add(op, t(2, 7, d="bf16", lo=-3, hi=3))
        for shape in ((7,), (2, 3, 4), ()):
            cases.add(op, t(*shape, lo=-3.5, hi=3.5))
        cases.add(op, t(3, 5, d="f16", lo=-3, hi=3))
    for name in ANY:
        cases.add(f"{name}.default", t(3, 5, d="i32"))
    for name in POSITIVE:
        for shape in ((7,), (2, 3, 4)):
            cases.add(f"{name}.default", t(*shape, lo=1.05, hi=4))
        cases.add(f"{name}.default", t(3, 5, d="f16", lo=1.05, hi=3))
    for name in NORMAL:
        for lo, hi in ((-3, 3), (-8, -2), (2, 5)):
            cases.add(f"{name}.default", t(3, 7, lo=lo, hi=hi))
        cases.add(f"{name}.default", t(2, 5, d="i32", lo=-4, hi=4))
    for name in UNIT:
        for shape in ((7,), (2, 3, 4)):
            cases.add(f"{name}.default", t(*shape, lo=0.05, hi=0.95))
    for name in ("sin", "exp", "tanh", "sigmoid", "erf", "cos", "atan"):  # of integers, floats
        cases.add(f"{name}.default", t(2, 5, d="i32", lo=-4, hi=4))
        cases.add(f"{name}.default", t(2, 5, d="bf16"))
    for name in ("bitwise_not", "logical_not"):
        for d in ("i32", "i8", "i1", "ui8"):
            cases.add(f"{name}.default", t(3, 4, d=d))
    for decimals in (1, 2, -1):
        cases.add("round.decimals", t(4, 5, lo=-30, hi=30), decimals=decimals)
    cases.add("gelu.default", t(5, 6), approximate="tanh")
    for alpha, scale, inner in ((0.5, 1.0, 1.0), (1.0, 2.0, 1.0)):
        cases.add("elu.default", t(4, 5), alpha, scale, inner)
    for low, high in ((-1.0, 1.0), (0.0, 6.0), (-0.5, 2.0)):
        cases.add("hardtanh.default", t(4, 5), low, high)
    for beta, threshold in ((2.0, 20.0), (1.0, 1.0)):
        cases.add("softplus.default", t(4, 5), beta, threshold)
    cases.add("leaky_relu.default", t(4, 5), 0.2)
    cases.add("threshold.default", t(4, 5), 0.5, 0.0)
    cases.add("threshold.default", t(4, 5), 0.5, -1.0)
    cases.add("celu.default", t(4, 5), 0.7)
    cases.add("logit.default", t(4, 5, lo=-0.2, hi=1.2), 0.1)
    for shape, weight in (((2, 3, 4), (3,)), ((2, 3, 4), (1,)), ((5,), (1,))):
        cases.add("prelu.default", t(*shape), t(*weight))
    for dim in (0, 1, -1):
        cases.add("glu.default", t(4, 6, 8), dim)
    for op in ("_softmax.default", "_log_softmax.default"):
        for shape, dim in (((3, 5), 1), ((2, 3, 4), 0), ((2, 3, 4), -1), ((5,), 0)):
            cases.add(op, t(*shape, lo=-5, hi=5), dim, False)
    for op in ("softmax.int", "log_softmax.int"):
        for shape, dim in (((3, 5), 1), ((2, 3, 4), 1), ((2, 3, 4), -2)):
            cases.add(op, t(*shape, lo=-5, hi=5), dim)
        cases.add(op, t(3, 5, d="f16"), 1, Dt("f32"))
    cases.add("dropout.default", t(3, 4), 0.5, False)
    cases.add("native_dropout.default", t(3, 4), 0.0, True)


def _binary(cases: Cases) -> None:
    shapes = (((3, 4), (3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)), ((3, 4), ()))
    for name in ("add", "sub", "mul", "div", "maximum", "minimum", "atan2", "remainder", "fmod", "fmax", "fmin"):
        op = f"{name}.{'default' if name in ('maximum', 'minimum', 'atan2', 'fmax', 'fmin') else 'Tensor'}"
        for a, b in shapes:
            cases.add(op, t(*a), t(*b, lo=0.5, hi=3))
        cases.add(op, t(2, 3, 1, 4), t(3, 2, 1, lo=0.5, hi=3))
        if name not in ("fmin", "fmax"):
            cases.add(op, t(3, 4, d="bf16"), t(3, 1, d="bf16", lo=0.5, hi=3))
            cases.add(op, t(3, 4, d="f16"), t(4, d="f16", lo=0.5, hi=3))
        if name not in ("atan2",):
            cases.add(op, t(3, 4, d="i32"), t(4, d="i32", lo=1, hi=5))
            cases.add(op, t(3, 4, d="i64"), t(3, 4, d="i64", lo=1, hi=5))
        if name not in ("fmin", "fmax", "atan2"):
            cases.add(op, t(3, 4, d="i32"), t(4, lo=0.5, hi=3))
    for name in ("add", "sub", "rsub"):
        for alpha in (2, -1):
            cases.add(f"{name}.Tensor", t(3, 4), t(4), alpha=alpha)
    for name in ("add", "sub", "mul", "div", "remainder", "fmod", "rsub"):
        for number in (2.5, -1.5):
            cases.add(f"{name}.Scalar", t(3, 4), number)
        cases.add(f"{name}.Scalar", t(3, 4, d="i32"), 3)
        cases.add(f"{name}.Scalar", t(3, 4), 3)
    for mode in ("floor", "trunc"):
        for d in ("f32", "i32"):
            cases.add("div.Tensor_mode", t(3, 4, d=d, lo=-9, hi=9), t(4, d=d, lo=1, hi=4), rounding_mode=mode)
            cases.add("div.Scalar_mode", t(3, 4, d=d, lo=-9, hi=9), 2, rounding_mode=mode)
    for d in ("f32", "i32"):
        cases.add("floor_divide.default", t(3, 4, d=d, lo=-9, hi=9), t(4, d=d, lo=1, hi=4))
    for number in (2, 3, 0.5, -0.5, -1, 1, 1.7, -2.0):
        cases.add("pow.Tensor_Scalar", t(3, 4, lo=0.2, hi=3), number)
    cases.add("pow.Tensor_Scalar", t(3, 4), 2)
    cases.add("pow.Tensor_Scalar", t(3, 4, d="i32", lo=-3, hi=3), 3)
    cases.add("pow.Tensor_Tensor", t(3, 4, lo=0.2, hi=3), t(4))
    cases.add("pow.Tensor_Tensor", t(3, 4, d="i32", lo=1, hi=3), t(4, d="i32", lo=0, hi=3))
    cases.add("pow.Scalar", 2.5, t(3, 4))
    for name in ("eq", "ne", "gt", "ge", "lt", "le"):
        for d in ("f32", "i32", "i64"):
            cases.add(f"{name}.Tensor", t(4, 5, d=d, lo=-2, hi=2), t(5, d=d, lo=-2, hi=2))
        cases.add(f"{name}.Tensor", t(4, 5, d="i32", lo=-2, hi=2), t(5, lo=-2, hi=2))
        cases.add(f"{name}.Tensor", t(4, 5, d="i1"), t(5, d="i1"))
        cases.add(f"{name}.Scalar", t(4, 5), 0.5)
        cases.add(f"{name}.Scalar", t(4, 5, d="i32"), 1)
        cases.add(f"{name}.Scalar", t(4, 5, d="i32"), 0.5)
    for name in ("logical_and", "logical_or", "logical_xor"):
        for d in ("i1", "f32", "i32"):
            cases.add(f"{name}.default", t(4, 5, d=d, lo=-1, hi=1), t(5, d=d, lo=-1, hi=1))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        for d in ("i32", "i8", "i1"):
            cases.add(f"{name}.Tensor", t(4, 5, d=d), t(5, d=d))
        cases.add(f"{name}.Scalar", t(4, 5, d="i32"), 6)
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        cases.add(f"{name}.Tensor", t(4, 5, d="i32"), t(5, d="i32", lo=0, hi=4))
        cases.add(f"{name}.Tensor_Scalar", t(4, 5, d="i32"), 2)


def _more(cases: Cases) -> None:
    for a, b, c in (((3, 4), (3, 4), (3, 4)), ((4,), (3, 1), ()), ((2, 1, 4), (3, 4), (1,))):
        cases.add("where.self", t(*a, d="i1"), t(*b), t(*c))
    cases.add("where.self", t(3, 4, d="i1"), t(3, 4, d="i32"), t(4, d="i32"))
    cases.add("where.ScalarOther", t(3, 4, d="i1"), t(3, 4), 1.5)
    cases.add("where.ScalarSelf", t(3, 4, d="i1"), 1.5, t(3, 4))
    for number in (1.5, float("-inf"), -1e9):
        cases.add("masked_fill.Scalar", t(3, 4), t(4, d="i1"), number)
    cases.add("masked_fill.Scalar", t(3, 4, d="i32"), t(4, d="i1"), 5)
    cases.add("masked_fill.Tensor", t(3, 4), t(3, 1, d="i1"), t())
    for low, high in ((-1.0, 1.0), (None, 0.5), (-0.5, None)):
        cases.add("clamp.default", t(4, 5), low, high)
        cases.add("clamp.default", t(4, 5, d="i32"), None if low is None else -3, None if high is None else 4)
    cases.add("clamp.Tensor", t(4, 5), t(5, lo=-1, hi=0), t(5, lo=0, hi=1))
    cases.add("clamp.Tensor", t(4, 5), t(5, lo=-1, hi=0), None)
    cases.add("clamp_min.default", t(4, 5), 0.1)
    cases.add("clamp_max.default", t(4, 5), 0.1)
    for value in (1, 0.5):
        cases.add("addcmul.default", t(3, 4), t(3, 4), t(4), value=value)
        cases.add("addcdiv.default", t(3, 4), t(3, 4), t(4, lo=1, hi=2), value=value)
    cases.add("lerp.Scalar", t(3, 4), t(3, 4), 0.3)
    cases.add("lerp.Tensor", t(3, 4), t(3, 4), t(4, lo=0, hi=1))
    cases.add("xlogy.Tensor", t(3, 4), t(3, 4, lo=0.1, hi=3))
    cases.add("hypot.default", t(3, 4), t(3, 4))
    cases.add("copysign.Tensor", t(3, 4), t(3, 4))
    cases.add("copysign.Scalar", t(3, 4), -1.0)
    for name in ("logaddexp", "logaddexp2", "heaviside"):
        cases.add(f"{name}.default", t(3, 4), t(3, 4))
    cases.add("isclose.default", t(3, 4, d="i32", lo=-2, hi=2), t(3, 4, d="i32", lo=-2, hi=2))


def _reductions(cases: Cases) -> None:
    shapes = (((3, 4, 5), [1], False), ((3, 4, 5), [0, 2], True), ((3, 4, 5), [-1], True), ((6,), [0], False),
              ((2, 3), [0, 1], False))
    for shape, dims, keep in shapes:
        for op in ("sum.dim_IntList", "mean.dim", "amax.default", "amin.default", "logsumexp.default"):
            cases.add(op, t(*shape), dims, keep)
        for op in ("any.dims", "all.dims"):
            cases.add(op, t(*shape, d="i1"), dims, keep)
        for op in ("var.correction", "std.correction"):
            cases.add(op, t(*shape), dims, correction=1, keepdim=keep)
            cases.add(op, t(*shape), dims, correction=0, keepdim=keep)
        cases.add("var_mean.correction", t(*shape), dims, correction=1, keepdim=keep)
        for order in (2, 1, float("inf"), 3, 0):
            cases.add("linalg_vector_norm.default", t(*shape), order, dims, keep)
        if len(dims) == 1:
            for op in ("prod.dim_int", "any.dim", "all.dim", "argmax.default", "argmin.default", "max.dim", "min.dim"):
                cases.add(op, t(*shape, distinct=op.startswith(("arg", "max", "min"))), dims[0], keep)
    for op in ("sum.default", "mean.default", "prod.default", "max.default", "min.default", "any.default", "all.default",
               "argmax.default", "argmin.default", "var.default", "std.default", "count_nonzero.default"):
        if op.startswith("count"):
            op = "count_nonzero.dim_IntList"
            cases.add(op, t(3, 4, d="i32", lo=-1, hi=1), [1])
            continue
        cases.add(op, t(3, 4))
        if not op.startswith(("mean", "var", "std")):
            cases.add(op, t(3, 4, d="i32"))
    cases.add("sum.dim_IntList", t(3, 4, d="i32"), [1])
    cases.add("sum.dim_IntList", t(3, 4, d="i1"), [1])
    cases.add("sum.dim_IntList", t(3, 4, d="f16"), [1])
    cases.add("mean.dim", t(3, 4, d="bf16"), [1])
    for unbiased in (True, False):
        cases.add("var.dim", t(3, 4, 5), [1], unbiased)
        cases.add("std.dim", t(3, 4, 5), [1, 2], unbiased, True)
    for p in (2.0, 1.0, 3.0, float("inf")):
        cases.add("_cdist_forward.default", t(2, 3, 4), t(2, 5, 4), p, None)
        cases.add("_pdist_forward.default", t(4, 3), p)
    cases.add("cosine_similarity.default", t(3, 4), t(3, 4), 1)
    cases.add("nansum.default", t(3, 4), [1])
    cases.add("aminmax.default", t(3, 4), dim=1)


def _order(cases: Cases) -> None:
    for shape, dim in (((6,), 0), ((3, 5), 1), ((3, 5), 0), ((2, 3, 4), -2)):
        cases.add("cumsum.default", t(*shape), dim)
        for name in ("cumprod", "logcumsumexp", "cummax", "cummin"):
            cases.add(f"{name}.default", t(*shape, distinct=name in ("cummax", "cummin")), dim)
        for descending in (False, True):
            cases.add("sort.default", t(*shape, distinct=True), dim, descending)
            cases.add("argsort.default", t(*shape, distinct=True), dim, descending)
        for largest in (True, False):
            cases.add("topk.default", t(*shape, distinct=True), 2, dim, largest)
        cases.add("median.dim", t(*shape, distinct=True), dim)
        cases.add("kthvalue.default", t(*shape, distinct=True), 2, dim)
    cases.add("cumsum.default", t(3, 5, d="i32"), 1)
    cases.add("sort.default", t(3, 5, d="i32", distinct=True), 1)
    cases.add("topk.default", t(3, 5, d="i64", distinct=True), 3, 1)
    for right in (False, True):
        cases.add("bucketize.Tensor", t(3, 4), t(4, values=(-1.5, -0.5, 0.5, 1.5)), right=right)
        cases.add("searchsorted.Tensor", t(4, values=(-1.5, -0.5, 0.5, 1.5)), t(3, 4), right=right)
    cases.add("isin.Tensor_Tensor", t(3, 4, d="i32", lo=0, hi=5), t(3, d="i32", lo=0, hi=5))


def _pythons_operators(cases: Cases) -> None:
    """`&`, `|`, `^`, `<<` and `>>` of tensors, whose operators end in underscores and overwrite nothing."""
    for name in ("__and__", "__or__", "__xor__"):
        for form in ("i1", "i32", "ui8"):
            cases.add(f"{name}.Tensor", t(3, 4, d=form), t(4, d=form))
        cases.add(f"{name}.Scalar", t(3, 4, d="i32"), 5)
    for name in ("__lshift__", "__rshift__"):
        cases.add(f"{name}.Tensor", t(3, 4, d="i32"), t(4, d="i32", lo=0, hi=5))
        cases.add(f"{name}.Scalar", t(3, 4, d="i32"), 2)
