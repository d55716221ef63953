"""What is no number, infinities and the greatest numbers: what an operator selects by, and what overflows on its way."""

from __future__ import annotations

from .numbers import ANY, POSITIVE, REAL, UNIT
from .spec import Cases, Dt, T, t

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
    _rounded_once(cases)
    _nearly_whole(cases)
    _orders(cases)
    for name in ("any.dims", "all.dims", "squeeze.dims"):  # an empty list of dimensions is none; for sums, and others, all
        cases.add(name, t(1, 3, 1), [])
        cases.add(name, t(2, 1, 3), [1, 2])
    for name in ("any.dims", "all.dims", "sum.dim_IntList", "nanmean.default", "count_nonzero.dim_IntList"):
        cases.add(name, t(2, 1, 3), [])
    for d in ("f32", "f64", "f16"):
        rows = t(3, 4, d="f32", values=(_NAN, 1, _NAN, 2, -1, 0, 1, 3, 3, 5, _NAN, 0))
        cases.add("nanmean.default", rows, [1], dtype=Dt(d))
        cases.add("nansum.default", rows, [1], dtype=Dt(d))
    cases.add("nanmean.default", t(2, d="f16", values=(60000, 60000)), [0], dtype=Dt("f32"))
    for d in ("f32", "f16"):
        one = t(8, d=d, values=(_NAN, _NAN, 1, 1, _INF, _INF, _INF, 1))
        other = t(8, d=d, values=(_NAN, 1, _NAN, 1.5, 1, _INF, -_INF, _INF))
        for same in (False, True):
            cases.add("isclose.default", one, other, 0.5, 0.25, same)
            cases.add("isclose.default", one, other, 0.0, 0.5, same)
    for d in ("f64", "f32", "f16", "bf16"):  # eps is that of the floats computed in
        cases.add("rms_norm.default", t(3, 4, d=d, lo=-1e-4, hi=1e-4), [4])


def _orders(cases: Cases) -> None:
    """Norms of orders that are no powers: how many are not zero, the greatest and the least."""
    one, other = (t(3, 4, d="f32", values=(0, 1, -2, 3, 4, 5, -6, 7, 0, 0, last, 1)) for last in (2, 0.5))
    for order in (0.0, _INF, -_INF):
        cases.add("dist.default", one, other, order)
        cases.add("dist.default", t(3, d="f16"), t(3, d="f16"), order)
        cases.add("pairwise_distance.default", one, other, order)
        cases.add("pairwise_distance.default", one, other, order, 0.0, keepdim=True)
        cases.add("linalg_vector_norm.default", one, order, [1])
    for order in (0.0, _INF):
        cases.add("_cdist_forward.default", one, other, order, None)
        cases.add("_pdist_forward.default", one, order)


def _rounded_once(cases: Cases) -> None:
    """Of 16-bit floats what is out of range, or rounded to another whole number, only on the way; and ends of f32."""
    def half(*values: float, d: str = "f16") -> T:
        return t(len(values), d=d, values=values)

    def full(*values: float) -> T:
        return half(*values, d="f32")

    cases.add("hypot.default", half(300, 40000, -0.25, 0, _NAN, -_INF), half(400, -30000, 0, 0, 1, _NAN))
    cases.add("hypot.default", half(3e20, -1e38, 1, d="bf16"), half(4e20, 1e38, 0, d="bf16"))
    cases.add("hypot.default", full(3e20, 0, _INF, _NAN, -_INF, 1), full(4e20, 0, _INF, _INF, _NAN, _NAN))
    cases.add("hypot.default", full(3, 0, _NAN), full(-4, 0, 1))
    for name in ("sinc", "special_sinc"):
        cases.add(f"{name}.default", half(21000, -65000, 0))
    cases.add("special_exp2.default", half(30.125, 29.75, d="bf16"))
    cases.add("round.decimals", half(700.5, -1.25, 0), decimals=2)
    cases.add("addcmul.default", half(-60000, 1), half(300, 2), half(400, 3), value=0.5)
    cases.add("addcdiv.default", half(-60000, 1), half(30000, 2), half(0.25, 3), value=0.5)
    cases.add("addmm.default", t(2, 2, d="f16"), t(2, 3, d="f16", lo=200, hi=300), t(3, 2, d="f16", lo=200, hi=300), alpha=0.125)
    cases.add("baddbmm.default", t(1, 2, 2, d="f16"), t(1, 2, 3, d="f16", lo=200, hi=300), t(1, 3, 2, d="f16", lo=200, hi=300),
              beta=0.5, alpha=0.125)
    cases.add("floor_divide.default", half(4404, -2000), half(49.5, 3))
    cases.add("floor_divide.default", full(_INF, -_INF, _NAN, _INF, _INF, 1, 7, -7), full(2, 3, 1, _INF, 0, _NAN, 2, 2))
    cases.add("div.Tensor_mode", full(_INF, -_INF, 9), full(2, -3, 2), rounding_mode="floor")
    for weight in (0.25, 0.5, 1.0, -1.0):
        cases.add("lerp.Scalar", half(60000, 1), half(-60000, 2), weight)
    cases.add("lerp.Scalar", full(3e8, -3e8), full(1, 3), 1.0)
    cases.add("lerp.Tensor", full(3e8, 1, 2, 3e8), full(1, 2, 3, 7), full(1, 0.25, 0.5, 1))
    cases.add("lerp.Tensor", full(3e8, -3e8), full(1, 3), full(1, 1))
    for name in ("_weight_norm", "_weight_norm_interface"):
        cases.add(f"{name}.default", t(2, 40, d="f16", lo=2e4, hi=4e4), t(2, 1, d="f16", lo=500, hi=900), 0)


def _nearly_whole(cases: Cases) -> None:
    """Quotients a little below a whole number, to which they are rounded, and by which division rounds down before."""
    numbers = (6, 3, 0.9, 1.2, 12, -6, -0.9, 0)
    for d in ("f32", "f16", "bf16"):
        x = t(8, d=d, values=numbers)
        for divisor in (0.3, 0.1, -0.3):
            cases.add("floor_divide.default", x, t(1, d=d, values=(divisor,)))
            cases.add("floor_divide.Scalar", x, divisor)
            cases.add("div.Scalar_mode", x, divisor, rounding_mode="floor")
            cases.add("remainder.Scalar", x, divisor)
    cases.add("floor_divide.default", t(6, values=(1, -1, 0, _INF, -_INF, _NAN)), t(1, values=(0,)))
    cases.add("floor_divide.default", t(4, values=(1, -1, 0, _INF)), t(1, values=(_INF,)))
    _rounded_down_and_off(cases)


def _rounded_down_and_off(cases: Cases) -> None:
    """Quotients of 16-bit floats that are rounded at each step, of tensors, or once, by one number; and by powers of two."""
    for d in ("f16", "bf16"):
        x, y = t(64, d=d, lo=0.25, hi=60), t(64, d=d, lo=0.0002, hi=0.03)
        for mode in ("floor", "trunc"):
            for other in (y, t(1, d=d, values=(0.0137,)), t(d=d, values=(0.0137,))):
                cases.add("div.Tensor_mode", x, other, rounding_mode=mode)
            cases.add("div.Scalar_mode", x, 0.0137, rounding_mode=mode)
    ends = (6.5, -6.5, 0.25, -0.25, 0, _INF, -_INF, _NAN)
    for d in ("f32", "f16", "bf16"):
        for divisor in (2.0, -0.25):
            cases.add("floor_divide.Scalar", t(8, d=d, values=ends), divisor)
