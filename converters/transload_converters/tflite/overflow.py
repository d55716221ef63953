"""Where LiteRT's integers do not fit what it counts with: nothing can be judged by what it gives there.

It scales sums by shifts and products of 32 bits, and saturates to the type afterwards. What is thousands of times beyond the type
does not fit (`MultiplyByQuantizedMultiplier` in `tensorflow/lite/kernels/internal/common.h`, and `(int64_t, ..)` beside it, which
cuts the upper bits off): any number comes of it. Neither do entries of a table, the exponentials of an int16 that are infinite,
nor products of many numbers. The hub saturates the real number. Of 14,000 forms with other scales and zero points, LiteRT 2.3
gave another number in 164, each beyond `_FAR`.

Sums of products of 8 bits it keeps in 32 bits, which wrap round where they come to 2^31; other runtimes and chips saturate.

A quotient of 8 bits it scales by shifts to the right, of more than 31 places where it is less than half a step: these have no
meaning, and the least or the greatest number comes of most such quotients (`RoundingDivideByPOT` in
`tensorflow/lite/kernels/internal/reference/div.h`). The hub rounds them to 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transload.ir import I16, Module, Op, QuantType
from transload.ir.build import constant_of
from transload_hub.far import PRODUCTS, greatest, is_counted, is_power_beyond, is_whole_power, looked_at, real_of, steps_of

__all__ = ["overflows"]

_MOST = (1 << 31) - 1
_FAR, _FAR_SUMS = 1 << 29, 1 << 19
"""Steps of a result from which on LiteRT may not count any more; the second of sums, whose operands it shifts at first."""
_SUMS = ("top.Add", "top.Sub")
_TABLES = ("top.Exp", "top.GELU", "top.Log", "top.Rsqrt")
"""Functions that LiteRT looks up in tables of 16 bits."""


def overflows(hub: Module | None, given: Mapping[str, Any]) -> str:
    """The ops of a model of which LiteRT's integers overflow on these inputs, in words; nothing where there are none."""
    ops = [op for op in hub.walk() if is_whole_power(op)] if hub is not None else []
    ops += [op for op in hub.body_of_main if is_counted(op)] if hub is not None else []
    if hub is None or not ops:
        return ""

    def look(op: Op, operands: list[Any]) -> tuple[float, bool]:
        if is_whole_power(op):
            return 0.0, is_power_beyond(op, operands)
        return greatest(op, operands, _most_steps(op)), op.name == "top.Div" and _has_small(op, *operands)

    found = looked_at(hub, given, ops, look)
    far = [f"those of {op.origin or op.name} come to {most:,.0f}" for op, (most, _) in found.items() if most > _most_steps(op)]
    said = [op for op, (_, is_said) in found.items() if is_said]
    raised = [str(op.origin or op.name) for op in said if op.name == "top.Pow"]
    small = [str(op.origin or op.name) for op in said if op.name == "top.Div"]
    steep = [str(op.origin or op.name) for op in ops if op.name in _TABLES and _is_steep(op)]
    told = [f"LiteRT makes integers of powers of doubles, and those of {', '.join(raised[:3])} are beyond them"] if raised else []
    told += [f"LiteRT counts steps in 32 bits, which end at {_MOST:,}: {'; '.join(far[:3])}"] if far else []
    told += [f"LiteRT's quotients of less than half a step are any number: {', '.join(small[:3])} has such"] if small else []
    told += [f"LiteRT looks {', '.join(steep[:3])} up in a table of 16 bits, for which it rises too fast"] if steep else []
    return "; ".join(told)


def _most_steps(op: Op) -> float:
    """Steps of a result from which on LiteRT may not count any more; of products also those that the sum in 32 bits comes to."""
    x, made = op.operands[0].quant, op.results[0].quant
    if op.name not in PRODUCTS or x is None or made is None or x.storage.width > 8 or (weights := op.operands[1].quant) is None:
        return _FAR_SUMS if op.name in _SUMS else _FAR
    if _sums_fit(op, x, weights):
        return _FAR
    return min(_FAR, _MOST * x.scale * min(weights.scales) / made.scale)


def _sums_fit(op: Op, x: QuantType, weights: QuantType) -> bool:
    """Whether no sum of a channel with a scale of its own comes to 2^31, whatever its 8-bit input is: one whose weights are next
    to nothing has a tiny scale, of which the sums of others would be too many."""
    held = [constant_of(operand) for operand in op.operands[1:3]]
    if weights.axis is None or None in held:
        return False
    size, *bias = (np.abs(dense.numpy().astype(np.float64)) for dense in held if dense is not None)
    others = tuple(axis for axis in range(size.ndim) if axis != weights.axis)
    low, high = x.storage.range
    sums = size.sum(others) * (high - low)
    return bool((sums + sum(each.ravel() for each in bias) <= _MOST).all())


def _is_steep(op: Op) -> bool:
    """Whether a function of int16 rises or falls too fast for the 513 entries of its table, between which LiteRT interpolates.

    What it adds to entries so that the middle between two is right is up to half of their difference, which int16 has to hold.
    """
    given, made = op.operands[0].quant, op.result.quant
    if given is None or made is None or given.storage != I16 or made.storage != I16:
        return False
    places = np.minimum(np.arange(-32768, 32769, 128), 32767).astype(np.int16)
    entries = np.clip(np.nan_to_num(steps_of(op, [real_of(given, places)])), -1e9, 1e9)
    in_range = np.minimum(np.abs(entries[1:]), np.abs(entries[:-1])) < 32768
    return bool((np.abs(np.diff(entries))[in_range] > 16384).any())


def _has_small(op: Op, a: Any, b: Any) -> bool:
    """Whether a quotient is less than half a step; one of 0, which may come out as 1, where that of the least number above is."""
    given, made = op.operands[0].quant, op.result.quant
    assert given is not None and made is not None
    top, half = np.abs(real_of(given, a)), np.abs(real_of(op.operands[1].quant, b)) * (made.scale / 2)
    return bool((np.maximum(top, given.scale) < half).any())
