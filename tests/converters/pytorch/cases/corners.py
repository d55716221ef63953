"""Corners of operators: element types that meet, the ends of types, tensors of no dimension and of no numbers."""

from __future__ import annotations

from .spec import Cases, Dt, t

__all__ = ["fill"]

_NAN, _INF = float("nan"), float("inf")


def fill(cases: Cases) -> None:
    _types_that_meet(cases)
    _places(cases)
    _scalars(cases)
    _numbers_outside(cases)
    _nothing(cases)
    _truths(cases)
    _mixed(cases)


def _types_that_meet(cases: Cases) -> None:
    """Integers with a sign and without one, and numbers that the tensor's own type does not hold."""
    bytes_, signed = t(4, d="ui8", values=(2, 254, 200, 0)), t(4, d="i8", values=(-2, -2, -56, 0))
    for name in ("lt", "eq", "ge", "ne"):
        cases.add(f"{name}.Tensor", bytes_, signed)
        cases.add(f"{name}.Tensor", signed, bytes_)
    cases.add("lt.Tensor", bytes_, t(d="i8", values=(-1,)))
    for right in (False, True):
        cases.add("searchsorted.Tensor", t(3, d="i8", values=(-2, -1, 100)), bytes_, right=right)
        cases.add("searchsorted.Tensor", t(3, d="i8", values=(-2, 3, 100)), t(2, d="i16", values=(259, 3)), right=right)
        cases.add("bucketize.Tensor", signed, t(2, d="ui8", values=(0, 200)), right=right)
        cases.add("searchsorted.Scalar", t(3, d="i32", values=(1, 2, 3)), 2.5, right=right)
        cases.add("bucketize.Scalar", 2.5, t(3, d="i32", values=(1, 2, 3)), right=right)
    whole = t(3, d="i32", values=(1, 2, 3))
    for invert in (False, True):
        cases.add("isin.Tensor_Tensor", whole, t(2, values=(2.5, 3)), invert=invert)
        cases.add("isin.Tensor_Tensor", t(3, d="i8", values=(1, 2, 3)), t(2, d="i16", values=(258, 1)), invert=invert)
        cases.add("isin.Tensor_Tensor", bytes_, signed, invert=invert)
        cases.add("isin.Tensor_Scalar", whole, 2.5, invert=invert)
        cases.add("isin.Tensor_Scalar", t(3, values=(1, 2.5, 3)), 2.5, invert=invert)
        cases.add("isin.Tensor_Scalar", whole, 2, invert=invert)


def _places(cases: Cases) -> None:
    """Where running extremes are that are the ends of their type, and the most frequent number beside NaN."""
    rows = [t(2, 4, values=(-_INF, -_INF, 1, -_INF, _INF, _INF, _NAN, -_INF)), t(2, 4, values=(_NAN, _NAN, 1, _NAN, 3, 3, 2, 3)),
            t(2, 4, d="f16", values=(-_INF, -_INF, 1, 1, _INF, _INF, 2, -_INF)),
            t(4, d="i8", values=(-128, -128, 1, -128)), t(4, d="i8", values=(127, 127, 1, 127)),
            t(4, d="ui8", values=(0, 0, 1, 0)), t(4, d="i1", values=(0, 0, 1, 0)), t(4, d="i1", values=(1, 1, 0, 1))]
    for each in rows:
        for name in ("cummax", "cummin"):
            cases.add(f"{name}.default", each, -1)
    cases.add("cummax.default", t(4, 3, d="i8", lo=-1, hi=1), 0)
    cases.add("mode.default", t(2, 4, values=(1, 1, 2, _NAN, 3, 2, 3, _NAN)))
    cases.add("mode.default", t(2, values=(_NAN, _NAN)))


def _scalars(cases: Cases) -> None:
    """Tensors of no dimension, and subscripts of none."""
    for d in ("f32", "f16", "i64", "i8"):
        one = t(d=d, values=(3,))
        for name in ("msort.default", "median.default"):
            cases.add(name, one)
        for name in ("sort.default", "argsort.default", "median.dim", "cummax.default", "cumprod.default", "cumsum.default"):
            cases.add(name, one, *(() if "sort" in name else (0,)))
        cases.add("kthvalue.default", one, 1)
        cases.add("median.default", t(1, d=d))
        cases.add("index_add.default", one, 0, t(1, d="i64", values=(0,)), one)
        cases.add("index_add.default", one, 0, t(d="i64", values=(0,)), one, alpha=2)
        cases.add("index_copy.default", one, 0, t(1, d="i64", values=(0,)), t(d=d, values=(5,)))
        cases.add("index_fill.int_Scalar", one, -1, t(1, d="i64", values=(0,)), 7)
        cases.add("index_fill.int_Tensor", one, 0, t(d="i64", values=(0,)), t(d=d, values=(7,)))
        cases.add("gather.default", t(3, d=d), 0, t(d="i64", values=(2,)))
        cases.add("scatter.value", t(3, d=d), 0, t(d="i64", values=(2,)), 5)
        cases.add("scatter.src", t(3, d=d), 0, t(d="i64", values=(2,)), one)
        cases.add("scatter_add.default", t(3, d=d), 0, t(d="i64", values=(1,)), one)
        cases.add("scatter.src", one, 0, t(d="i64", values=(0,)), one)
    for d in ("f32", "f16"):
        for name in ("softmax.int", "log_softmax.int"):
            cases.add(name, t(d=d, values=(3,)), 0)
        cases.add("_softmax.default", t(d=d, values=(_NAN,)), 0, False)
        cases.add("_safe_softmax.default", t(d=d, values=(-_INF,)), 0)
    cases.add("cummin.default", t(d="i1", values=(1,)), 0)
    cases.add("softmax.int", t(d="f16", values=(3,)), 0, dtype=Dt("f32"))


def _numbers_outside(cases: Cases) -> None:
    """Numbers that a tensor of integers does not hold, which PyTorch takes as what its type makes of them."""
    bytes_, signed = t(4, d="ui8", values=(44, 0, 1, 253)), t(4, d="i8", values=(-1, 5, 44, -128))
    for name in ("eq", "ne", "lt", "ge"):
        for number in (300, -3, True):
            cases.add(f"{name}.Scalar", bytes_, number)
        cases.add(f"{name}.Scalar", signed, 255)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__"):
        cases.add(f"{name}.Scalar", signed, 255)
        cases.add(f"{name}.Scalar", bytes_, -2)
    for name in ("rsub", "add", "sub", "mul"):
        cases.add(f"{name}.Scalar", bytes_, -3)
        cases.add(f"{name}.Scalar", signed, 200)
    cases.add("sub.Tensor", bytes_, t(4, d="ui8"), alpha=-1)
    cases.add("masked_fill.Scalar", bytes_, t(4, d="i1"), -1)
    cases.add("masked_fill.Scalar", t(4, d="i64"), t(4, d="i1"), 2.5)
    cases.add("masked_fill.Scalar", t(4, d="i1"), t(4, d="i1"), 2.5)
    cases.add("threshold.default", t(4, d="i32", values=(-1, 5, 1, 0)), 0.5, 0.0)
    cases.add("threshold.default", t(4, d="i32", values=(-1, 5, 1, 0)), 1.5, -2.5)
    cases.add("scatter.value", bytes_, 0, t(2, d="i64", values=(0, 1)), -1)
    cases.add("index_fill.int_Scalar", bytes_, 0, t(2, d="i64", values=(0, 1)), -1)
    cases.add("full_like.default", bytes_, -1)
    cases.add("constant_pad_nd.default", bytes_, [1, 1], -1)
    cases.add("clamp.default", bytes_, -1, 50)
    cases.add("where.ScalarOther", t(4, d="i1"), bytes_, -1)


def _nothing(cases: Cases) -> None:
    """What is made of no numbers, or of one less than there are."""
    for d in ("f32", "f16"):
        none, one = t(3, 0, d=d), t(1, d=d, values=(1.5,))
        cases.add("mean.dim", none, [1])
        cases.add("mean.dim", none, [0, 1], True)
        cases.add("mean.default", none)
        cases.add("mean.dim", none, [0])
        cases.add("median.default", t(0, d=d))
        for name in ("var", "std", "var_mean", "std_mean"):
            cases.add(f"{name}.dim", none, [1])
            cases.add(f"{name}.dim", none, [1], True, True)
            cases.add(f"{name}.dim", one, [0])
            cases.add(f"{name}.correction", t(2, 3, d=d), [0], correction=2)
            cases.add(f"{name}.correction", t(2, 3, d=d), [0], correction=3, keepdim=True)
            cases.add(f"{name}.correction", t(d=d, values=(2,)))
    attention = "scaled_dot_product_attention.default"
    cases.add(attention, t(1, 3, 0), t(1, 3, 0), t(1, 3, 0))
    blind = (1, 0, 0, 0, 0, 1)
    cases.add(attention, t(1, 3, 4), t(1, 2, 4), t(1, 2, 4), t(3, 2, d="i1", values=blind))
    cases.add(attention, t(1, 3, 4), t(1, 2, 4), t(1, 2, 4), t(3, 2, values=tuple(0.5 if each else -_INF for each in blind)))
    cases.add("logcumsumexp.default", t(6, values=(-_INF, -_INF, 1, -2, _INF, 3)), 0)
    cases.add("logcumsumexp.default", t(2, 600), 1)
    cases.add("chunk.default", t(0, 3), 2, 0)
    cases.add("chunk.default", t(3, 0), 3, 1)
    cases.add("chunk.default", t(3, 2), 3, 1)


def _truths(cases: Cases) -> None:
    """Truth values where numbers are usual."""
    one, other = t(4, d="i1", values=(1, 0, 1, 0)), t(4, d="i1", values=(1, 1, 0, 0))
    for name in ("sign", "sgn", "square"):
        cases.add(f"{name}.default", one)
    for name in ("outer", "ger"):
        cases.add(f"{name}.default", one, other)
    cases.add("addr.default", t(4, 4, d="i1"), one, other)
    for low, high in ((other, None), (None, other)):
        cases.add("clamp.Tensor", one, low, high)
    cases.add("clamp_min.Tensor", one, other)
    cases.add("clamp_max.Tensor", one, other)
    cases.add("pow.Tensor_Scalar", one, 2)


def _mixed(cases: Cases) -> None:
    """Tensors of one type with those of another, and integers where floats are usual."""
    whole, half, full = t(4, d="i64"), t(4, d="f16"), t(4)
    cases.add("nansum.default", t(3, 4, d="i64"), [1])
    cases.add("nansum.default", t(3, 4, d="i1"))
    cases.add("angle.default", t(4, d="i64", values=(1, -2, 0, 5)))
    cases.add("angle.default", t(4, d="i1"))
    cases.add("pairwise_distance.default", t(2, 4, d="i64"), t(2, 4, d="i64"))
    cases.add("pairwise_distance.default", t(2, 4, d="i64"), t(2, 4, d="f16"))
    cases.add("dist.default", half, full)
    cases.add("dist.default", full, half, 3.0)
    cases.add("outer.default", whole, half)
    cases.add("addr.default", t(4, 4), whole, full)
    cases.add("view.dtype", t(2, 4, d="ui8"), Dt("i16"))
    cases.add("view.dtype", t(2, 4, d="i8"), Dt("i32"))
    cases.add("view.dtype", t(2, 3, d="i32", lo=-2**31, hi=2**31 - 1), Dt("i16"))
    cases.add("view.dtype", t(2, 3, d="i16", lo=-2**15, hi=2**15 - 1), Dt("ui8"))
    cases.add("view.dtype", t(2, 3, d="i8"), Dt("ui8"))
