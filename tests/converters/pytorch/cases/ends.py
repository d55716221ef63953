"""What is no number, infinities and the greatest numbers: what an operator selects by, and what overflows on its way."""

from __future__ import annotations

from .numbers import ANY, POSITIVE, REAL, UNIT
from .spec import Cases, t

__all__ = ["fill"]

_NAN, _INF = float("nan"), float("inf")


def fill(cases: Cases) -> None:
    ends = t(10, values=(_NAN, _INF, -_INF, 0, 0.25, -0.25, 1, -1, 8, -8))
    great = t(4, values=(3e38, -3e38, 1e38, -1e38))
    half = t(6, d="f16", values=(_NAN, _INF, -_INF, 65000, -65000, 20000))
    calls: list[tuple[str, tuple[float | None, ...]]] = [
        *((name, ()) for name in (*ANY, *REAL, *POSITIVE, *UNIT) if name not in ("gelu", "sinc")),
        ("threshold", (0.5, 0.0)), ("threshold", (0.5, 2.0)), ("threshold", (-0.5, 0.0)), ("softshrink", (0.3,)),
        ("hardshrink", (0.3,)), ("hardtanh", (-0.5, 2.0)), ("elu", (0.5, 1.0, 1.0)), ("celu", (0.7,)), ("leaky_relu", (0.2,)),
        ("leaky_relu", (-0.5,)), ("softplus", (2.0, 20.0)), ("softplus", (1.0, 1.0)), ("clamp", (-0.5, 2.0)),
        ("clamp", (None, 2.0)), ("clamp", (-0.5,)), ("clamp_min", (0.5,)), ("clamp_max", (0.5,))]
    for given in (ends, great, half):
        for name, arguments in calls:
            cases.add(f"{name}.default", given, *arguments)
    cases.add("prelu.default", ends, t(1, values=(0.25,)))
    edges = t(4, values=(-1.0, 0.0, 0.0, 1.0))
    for right in (False, True):
        cases.add("bucketize.Tensor", ends, edges, right=right)
        cases.add("searchsorted.Tensor", edges, ends, out_int32=True, right=right)
        cases.add("searchsorted.Scalar", edges, _NAN, right=right)
        cases.add("bucketize.Scalar", _NAN, edges, right=right)
    rows = t(3, 4, values=(_NAN, 1, _NAN, 2, -1, 0, 1, _INF, 3, -_INF, _NAN, 0))
    for name in ("max.dim", "min.dim", "argmax.default", "argmin.default", "cummax.default", "cummin.default", "median.dim"):
        cases.add(name, rows, 1)
    for name in ("max", "min", "median"):
        cases.add(f"{name}.default", rows)
