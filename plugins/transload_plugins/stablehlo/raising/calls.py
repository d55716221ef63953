"""Calls to what lies outside of StableHLO: functions that exporters call by name, and those of libraries with a meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import OpenSizes, Unsupported
from transload.ir import I32, Op, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from ..dialect.call_forms import FUNCTIONS, form_of, has_form
from ..dialect.custom_call import directions_of, function_of, gives_back, top_k_of
from .control import refuse_tokens
from .numeric import factored
from .ordering import in_total_order
from .reduction import counts
from .table import cast, like, materialized, static

if TYPE_CHECKING:
    from ..dialect.custom_call import CustomCall

__all__ = ["KNOWN", "LIBRARY", "TABLE", "is_known"]

TABLE = RewriteTable()

_CHLO = {f"chlo.{name}": name for name in (*FUNCTIONS.values(), "square")}


@TABLE(*_CHLO)
def function(op: Op, rw: Rewriter) -> Value:
    """A function of CHLO that the hub has."""
    return rw.emit(f"top.{_CHLO[op.name].capitalize()}", op.operands[0])


@TABLE("chlo.top_k")
def top_k(op: Op, rw: Rewriter) -> tuple[Value, Value]:
    """The greatest elements of the last dimension; of floats in their total order, in which -0 is less than 0."""
    k = op.attributes.get("k")
    if len(op.results) != 2 or not isinstance(k, int) or str(op.results[1].element) != "i32":
        raise Unsupported("is not of the form (values, places of i32)")
    return _best(rw, op.operands[0], k)


def _best(rw: Rewriter, x: Value, k: int, largest: bool = True) -> tuple[Value, Value]:
    """The first elements of the last dimension, and their places, in an order in which -0 is less than 0."""
    return in_total_order(rw, x, x.rank - 1, k, largest)


@TABLE("stablehlo.custom_call")
def custom_call(op: CustomCall, rw: Rewriter) -> Sequence[Value]:
    """The functions that are known by name; any other as `top.Custom`, which a plugin can take up."""
    name = op.call_target_name
    if gives_back(op):
        return op.operands
    known = function_of(op)
    if known is not None:
        return [rw.emit(f"top.{known.capitalize()}", op.operands[0])]
    best = top_k_of(op)
    if best is not None:
        return _best(rw, op.operands[0], *best)
    if name == "ApproxTopK":
        found = _approximate_top_k(op, rw)
        if found is not None:
            return found
    if name in LIBRARY:
        return LIBRARY[name](op, rw)
    if name == "shape_assertion" and has_form(op):
        raise OpenSizes("asserts what sizes are, which are known only at run time")
    if op.has_side_effect or not op.results:
        raise Unsupported(
            f"calls {name!r}, which has effects outside of the program",
            "leave it out, or let a plugin say what it does: Conversion(extends='stablehlo-to-top', table=...)")
    refuse_tokens(op)
    options: dict[str, Any] = {"api_version": op.api_version}
    if op.backend_config is not None:
        options["backend_config"] = op.backend_config
    made = rw.create(
        "top.Custom", [materialized(rw, value) for value in op.operands], [result.type for result in op.results],
        {"name": name, "options": options})
    return list(made.results)


def _approximate_top_k(op: CustomCall, rw: Rewriter) -> Sequence[Value] | None:
    """JAX's approx_max_k and approx_min_k: the exact ones, of which the approximation is allowed to miss some."""
    if not has_form(op) or len(op.called_computations) != 1:
        return None
    values, numbers = op.operands[:2]
    axes = [axis for axis in range(values.rank) if op.results[0].shape[axis] != values.shape[axis]]
    if not axes:  # all are kept, and only the call says of which dimension
        told = _config(op).get("reduction_dim")
        axes = [int(told)] if isinstance(told, int) and 0 <= told < values.rank else []
    directions = directions_of(op)
    if len(axes) != 1 or not counts(rw, numbers, axes[0]) or directions not in (["GT"], ["LT"]):
        return None
    k = op.results[0].shape[axes[0]]
    best, places = rw.emit("top.TopK", values, axis=axes[0], k=k, largest=directions == ["GT"])
    return [best, cast(rw, places, op.results[1].element)]


def _config(op: CustomCall) -> dict[str, Any]:
    """What the implementation is told, by name."""
    config = op.attributes.get("mhlo.backend_config", op.backend_config)
    return config if isinstance(config, dict) else {}


# --- linear algebra, as JAX calls it on a CPU

def _letter(op: CustomCall, name: str, letters: str) -> str:
    """A choice of a LAPACK function, one of some letters: `L` or `R`, `U`, `N`, `T`, `C`."""
    value = _config(op).get(name)
    if value is None:
        raise Unsupported(f"calls {op.call_target_name!r} without saying {name}")
    found = next((each for each in letters if value == each or (isinstance(value, int) and int(value) == ord(each))), None)
    if found is None:
        raise Unsupported(f"calls {op.call_target_name!r} with {name} = {str(value)[:40]}, which is none of {', '.join(letters)}")
    return found


def _matrices(op: CustomCall) -> list[tuple[int, ...]]:
    """The shapes of a LAPACK function's operands. Raises `Unsupported` where they are not those that it has, or not known."""
    _refuse_unless(op, has_form(op))
    return [static(value, "a matrix") for value in op.operands]


def _refuse_unless(op: CustomCall, fits: bool) -> None:
    if not fits:
        raise Unsupported(
            f"calls {op.call_target_name!r} with other operands or results than it has", form_of(op.call_target_name) or "")


def _cholesky(op: CustomCall, rw: Rewriter) -> Sequence[Value]:
    """`potrf`: the factor, and whether it went well: where the matrix is not positive definite some of it are NaN."""
    _matrices(op)
    matrix = op.operands[0]
    factor = rw.create("stablehlo.cholesky", (matrix,), (matrix.type,), {"lower": _letter(op, "uplo", "LU") == "L"}).results[0]
    is_nan = rw.emit("top.Compare", factor, factor, mode="NotEqual")
    failed = rw.emit("top.Reduce", is_nan, axes=(-2, -1), keepdims=False, mode="ReduceAny")
    return [factor, rw.emit("top.Cast", failed, element=I32)]


def _triangular_solve(op: CustomCall, rw: Rewriter) -> Sequence[Value]:
    """`trsm`, which is told in older versions what the right sides are multiplied with."""
    (*_, size), right, *_ = _matrices(op)
    a, b = op.operands[:2]
    left = _letter(op, "side", "LR") == "L"
    _refuse_unless(op, size == right[-2 if left else -1])
    how = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[_letter(op, "trans_x", "NTC")]
    attributes: dict[str, Any] = {
        "left_side": left, "lower": _letter(op, "uplo", "LU") == "L", "unit_diagonal": _letter(op, "diag", "NU") == "U",
        "transpose_a": how}
    for scale in op.operands[2:]:
        b = rw.emit("top.Mul", b, scale)
    return list(rw.create("stablehlo.triangular_solve", (a, b), (b.type,), attributes).results)


def _lu(op: CustomCall, rw: Rewriter) -> Sequence[Value]:
    """`getrf`: the factors, the rows exchanged, counted from 1, and that it went well."""
    ((*batch, _, _),) = _matrices(op)
    factors, pivots = factored(rw, op.operands[0])
    return [factors, rw.emit("top.Add", pivots, like(rw, pivots, 1)), rw.constant(tables.zeros(batch, np.int32))]


LIBRARY = {
    f"lapack_{letter}{name}_ffi": function
    for letter in "sd" for name, function in (("potrf", _cholesky), ("trsm", _triangular_solve), ("getrf", _lu))}
"""Functions of LAPACK that have an op."""


def is_known(op: Op) -> bool:
    """Whether a `custom_call` has a meaning in the hub, which writes it as operations."""
    call: Any = op
    return call.call_target_name in LIBRARY or call.call_target_name == "ApproxTopK" or top_k_of(call) is not None


KNOWN = {"stablehlo.custom_call": is_known}
"""The facts `known-call` of the dialect."""
