"""Where LiteRT's integers do not fit what it counts with: nothing can be judged by what it gives there.

Of products of 16 bits it adds in 64 bits, and scales the sums there, but hands what becomes of them on in 32, the upper bits cut
off, before they are saturated to 16 (`MultiplyByQuantizedMultiplier(int64_t, ..)` in
`tensorflow/lite/kernels/internal/common.h`). The hub saturates the real number.

A quotient of 8 bits it scales by shifts to the right, of more than 31 places where it is less than half a step: these have no
meaning, and the least or the greatest number comes of most such quotients (`RoundingDivideByPOT` in
`tensorflow/lite/kernels/internal/reference/div.h`; measured with LiteRT 2.3). The hub rounds them to 0.
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
    """The products and quotients of a model of which LiteRT's integers overflow on these inputs, in words; nothing where there
    are none."""
    ops = [op for op in hub.body_of_main if _is_of_16_bits(op) or _is_quotient(op)] if hub is not None else []
    if hub is None or not ops:
        return ""
    held = _held(hub, given, ops)
    large = [
        f"those of {op.origin or op.name} come to {most:,.0f}" for op in ops
        if op in held and _is_of_16_bits(op) and (most := _greatest(op, held[op])) > _MOST]
    small = [str(op.origin or op.name) for op in ops if op in held and _is_quotient(op) and _has_small(op, *held[op])]
    found = [f"LiteRT hands scaled sums of 16-bit products on in 32 bits, which end at {_MOST:,}: {'; '.join(large[:3])}"] \
        if large else []
    found += [f"LiteRT's quotients of less than half a step are any number: {', '.join(small[:3])} has such"] if small else []
    return "; ".join(found)


def _held(hub: Module, given: Mapping[str, Any], ops: Sequence[Op]) -> dict[Op, list[Any]]:
    """What some ops computed with, on these inputs; of those that were executed."""
    wanted: dict[Value, Any] = {value: None for op in ops for value in op.operands}
    for value in wanted:
        if (dense := constant_of(value)) is not None:
            wanted[value] = dense.numpy()

    def keep(value: Value, array: np.ndarray) -> None:
        if value in wanted:
            wanted[value] = array

    arguments = dict(zip(hub.body_of_main.arguments, given.values(), strict=False))
    run(hub, dict(given), engine="reference", watch=keep)
    held = {op: [arguments.get(value) if wanted[value] is None else wanted[value] for value in _given(op)] for op in ops}
    return {op: arrays for op, arrays in held.items() if all(array is not None for array in arrays)}


def _is_of_16_bits(op: Op) -> bool:
    if op.name not in ("top.MatMul", "top.Conv", "top.Deconv"):
        return False
    x, w, y = op.operands[0].quant, op.operands[1].quant, op.results[0].quant
    return x is not None and w is not None and y is not None and x.storage == y.storage == I16 and x.per_tensor and y.per_tensor


def _is_quotient(op: Op) -> bool:
    return op.name == "top.Div" and all(value.quant is not None and value.quant.per_tensor for value in (*op.operands, op.result))


def _has_small(op: Op, a: Any, b: Any) -> bool:
    """Whether a quotient is less than half a step, and not 0."""
    (x, y), made = [operand.quant for operand in op.operands], op.result.quant
    assert x is not None and y is not None and made is not None
    top = np.abs(np.asarray(a, np.float64) - x.zero_point) * x.scale
    half = np.abs(np.asarray(b, np.float64) - y.zero_point) * y.scale * (made.scale / 2)
    return bool(((top > 0.0) & (top < half)).any())


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
