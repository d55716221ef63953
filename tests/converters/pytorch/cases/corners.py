"""Corners of operators: element types that meet, the ends of types, tensors of no dimension and of no numbers."""

from __future__ import annotations

from .spec import Cases, t

__all__ = ["fill"]

_NAN, _INF = float("nan"), float("inf")


def fill(cases: Cases) -> None:
    _types_that_meet(cases)


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
