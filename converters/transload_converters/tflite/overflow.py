"""Where LiteRT's scaled sums of products do not fit into 32 bits: nothing can be judged by what it gives.

Of tensors of 16 bits it adds products in 64 bits, and scales the sums there, but hands what becomes of them on in 32, the upper
bits cut off, before they are saturated to 16 (`MultiplyByQuantizedMultiplier(int64_t, ..)` in
`tensorflow/lite/kernels/internal/common.h`). The hub saturates the real number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transload.api import run
from transload.ir import F64, I16, Module, Op, TensorType, Value, is_absent, new_module, set_results
from transload.ir.build import Builder, constant_of

__all__ = ["overflows"]

_MOST = (1 << 31) - 1
_AFTER = ("do_relu", "relu_limit", "rounding")
"""Attributes that say what becomes of sums."""


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
        held = [arguments.get(value) if wanted[value] is None else wanted[value] for value in _given(op)]
        if all(array is not None for array in held) and (most := _greatest(op, held)) > _MOST:
            found.append(f"those of {op.origin or op.name} come to {most:,.0f}")
    return (f"LiteRT hands scaled sums of 16-bit products on in 32 bits, which end at {_MOST:,}: {'; '.join(found[:3])}"
            if found else "")


def _is_of_16_bits(op: Op) -> bool:
    if op.name not in ("top.MatMul", "top.Conv", "top.Deconv"):
        return False
    x, w, y = op.operands[0].quant, op.operands[1].quant, op.results[0].quant
    return x is not None and w is not None and y is not None and x.storage == y.storage == I16 and x.per_tensor and y.per_tensor


def _given(op: Op) -> list[Value]:
    """What it computes with: weights, and a bias where it has one."""
    return [value for value in op.operands if not is_absent(value)]


def _greatest(op: Op, operands: Sequence[Any]) -> float:
    """The greatest sum of products and bias, in steps of the result."""
    x, w, y = op.operands[0].quant, op.operands[1].quant, op.results[0].quant
    assert x is not None and w is not None and y is not None
    module = new_module()
    function = module.add_function("main", [TensorType(value.shape, F64) for value in _given(op)])
    attributes = {key: value for key, value in op.attributes.items() if key not in _AFTER}
    made = Builder(module.body_of_main).emit(op.name, *module.body_of_main.arguments, **attributes)
    set_results(function, [made])
    given = dict(zip(module.inputs, (np.asarray(array).astype(np.float64) for array in operands), strict=True))
    sums = np.abs(next(iter(run(module, given, engine="reference").values())))
    axis = 1 if op.attribute("layout", "NHWC") == "NCHW" else -1
    scales = np.array(w.scales if w.per_axis else w.scales[:1]) * x.scale / y.scale
    return float((np.moveaxis(sums, axis, -1) * scales).max(initial=0.0))
