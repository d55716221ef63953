"""Where LiteRT's scaled sums of products do not fit into 32 bits: nothing can be judged by what it gives.

Of tensors of 16 bits it adds products in 64 bits, and scales the sums there, but hands what becomes of them on in 32, the upper
bits cut off, before they are saturated to 16 (`MultiplyByQuantizedMultiplier(int64_t, ..)` in
`tensorflow/lite/kernels/internal/common.h`). The hub saturates the real number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transload.api import run
from transload.ir import I16, Module, Op, Value
from transload.ir.build import constant_of

__all__ = ["overflows"]

_MOST = (1 << 31) - 1


def overflows(hub: Module | None, given: Mapping[str, Any]) -> str:
    """The products of a model of which LiteRT's sums overflow on these inputs, in words; nothing where there are none."""
    products = [op for op in hub.body_of_main if _is_of_16_bits(op)] if hub is not None else []
    if hub is None or not products:
        return ""
    wanted: dict[Value, Any] = {value: None for op in products for value in op.operands}
    for value in wanted:
        if (dense := constant_of(value)) is not None:
            wanted[value] = dense.numpy()

    def keep(value: Value, array: np.ndarray) -> None:
        if value in wanted:
            wanted[value] = array

    arguments = dict(zip(hub.body_of_main.arguments, given.values(), strict=False))
    run(hub, dict(given), engine="reference", watch=keep)
    found = []
    for op in products:
        left, right = (arguments.get(value) if wanted[value] is None else wanted[value] for value in op.operands[:2])
        if left is not None and right is not None and (most := _greatest(op, left, right)) > _MOST:
            found.append(f"those of {op.origin or op.name} come to {most:,.0f}")
    return (f"LiteRT hands scaled sums of 16-bit products on in 32 bits, which end at {_MOST:,}: {'; '.join(found[:3])}"
            if found else "")


def _is_of_16_bits(op: Op) -> bool:
    quants = [value.quant for value in (*op.operands[:2], *op.results)]
    return op.name == "top.MatMul" and all(quant is not None and quant.storage == I16 and quant.per_tensor for quant in quants)


def _greatest(op: Op, left: Any, right: Any) -> float:
    """The greatest sum of products, in steps of the result."""
    a, b = np.asarray(left).astype(np.float64), np.asarray(right).astype(np.float64)
    a = np.swapaxes(a, -1, -2) if op.attributes.get("left_transpose") and a.ndim > 1 else a
    b = np.swapaxes(b, -1, -2) if op.attributes.get("right_transpose") and b.ndim > 1 else b
    scales = [value.quant.scale for value in (*op.operands[:2], *op.results) if value.quant is not None]
    return float(np.abs(np.matmul(a, b)).max(initial=0.0)) * (scales[0] * scales[1] / scales[2])
