"""Corners of operators: element types that meet, the ends of types, tensors of no dimension and of no numbers."""

from __future__ import annotations

from .spec import Cases, t

__all__ = ["fill"]

_NAN, _INF = float("nan"), float("inf")


def fill(cases: Cases) -> None:
    _types_that_meet(cases)
    _places(cases)


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
