"""Ops whose operands are all constant, computed by StableHLO's own kernels: also what the hub has no op for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import ComplexType, Op, QuantType, TensorType, Value
from transload.plugin_host import host
from transload.rewrite import Rewriter, RewriteTable

from ..types import shape_of
from .bodies import run_region
from .table import held

__all__ = ["TABLE"]

TABLE = RewriteTable()

LIMIT = 1 << 24
"""Bytes of results that are computed here."""

FOLDED = (
    "bitcast_convert", "cholesky", "clamp", "compare", "convert", "count_leading_zeros", "dynamic_gather", "fft", "gather",
    "map", "popcnt", "reduce_precision", "rng_bit_generator", "scatter", "select", "sort", "triangular_solve")
"""Ops that are computed if their operands are constant; the others fold as ops of the hub."""


@TABLE(*(f"stablehlo.{name}" for name in FOLDED))
def folded(op: Op, rw: Rewriter) -> list[Value] | None:
    """The results as constants, or None."""
    arrays: list[Any] = []
    for value in op.operands:
        array = held(rw, value)
        if array is None:
            return None
        arrays.append(np.asarray(array, order="C"))  # of any rank, 0 too
    size = 0
    for value in (*op.operands, *op.results):
        type_ = value.type
        if not isinstance(type_, TensorType) or not type_.is_static or isinstance(type_.element, QuantType | ComplexType):
            return None
        size += 8 * math.prod(shape_of(type_))
    found = host().kernel(op.name)
    if found is None or size > LIMIT:
        return None

    def run(region: Any, *given: Any) -> list[Any]:
        computed = run_region(region, op, given)
        if computed is None:
            raise Unsupported("its function uses values from around it, or loops")
        return computed

    with np.errstate(all="ignore"):
        computed = found[0](op, *arrays, run=run) if op.regions else found[0](op, *arrays)
    outputs = computed if isinstance(computed, tuple | list) else (computed,)
    return [rw.constant(np.ascontiguousarray(array).reshape(np.shape(array)), result.element)
            for array, result in zip(outputs, op.results, strict=True)]
