"""Pads in front of sliding windows, as the padding of the windows themselves, where that is what these hold anyway.

A pad is a fill and a copy, for which computing waits; a window's own padding is nothing. It is the zero point of a convolution,
0 of floats; of a maximum it is less than all elements; a mean counts it among its elements, as it did the pad's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.ir import Block, Op, Value, dtype_of

from ..chip import Chip

__all__ = ["pad_windows"]

Pads = tuple[int, int, int, int]
"""Top, left, bottom, right."""


def pad_windows(block: Block, chip: Chip) -> bool:
    """Let windows pad what they read as the op before did."""
    changed = False
    for op in list(block):
        rule = _RULES.get(op.name)
        pad = op.operands[0].op if rule is not None else None
        if rule is None or pad is None or pad.name != "tpu.pad":
            continue
        before_n, before_c, top, left, after_n, after_c, bottom, right = pad.attribute("pads")
        attributes = rule(op, pad.operands[0], pad.attribute("value"), (top, left, bottom, right))
        if attributes is None or before_n or before_c or after_n or after_c:
            continue
        op.set_operand(0, pad.operands[0])
        op.attributes.update(attributes)
        changed = True
    return changed


def _sum(op: Op, source: Value, value: float, pads: Pads) -> dict[str, Any] | None:
    """A convolution pads with its zero point."""
    together = _together(op.attribute("pads"), pads)
    extents = op.operands[1].static_shape[2:]
    if not _is_zero(value, op, source) or not _sees_elements(source, together, extents, op):
        return None
    return {"pads": together}


def _greatest(op: Op, source: Value, value: float, pads: Pads) -> dict[str, Any] | None:
    """A maximum leaves its padding out: that is so where no element is less than the pad's."""
    together = _together(op.attribute("pads"), pads)
    least = -np.inf if source.is_float else np.iinfo(dtype_of(source.stored_element)).min  # type: ignore[arg-type]
    maker = source.op
    low = None if maker is None or maker.dialect != "tpu" else maker.attribute("low")
    if value > (least if low is None else max(least, low)):
        return None
    return {"pads": together} if _sees_elements(source, together, op.attribute("kernel"), op) else None


def _mean(op: Op, source: Value, value: float, pads: Pads) -> dict[str, Any] | None:
    """A mean counts what is `padded`, within which other padding is none."""
    padded = op.attribute("padded")
    if not _is_zero(value, op, source) or not _sees_elements(source, _together(pads, padded), op.attribute("kernel"), op):
        return None
    return {"padded": _together(pads, padded)} if not any(op.attribute("pads")) else None


_RULES = {"tpu.conv2d": _sum, "tpu.max_pool2d": _greatest, "tpu.avg_pool2d": _mean}


def _together(one: Any, other: Any) -> Pads:
    top, left, bottom, right = (sum(pair) for pair in zip(one, other, strict=True))
    return top, left, bottom, right


def _is_zero(value: float, op: Op, source: Value) -> bool:
    """Whether a pad holds what the op's own padding does: of floats 0, with its sign."""
    return bool(value == op.attribute("input_zero")) and not (source.is_float and np.signbit(value))


def _sees_elements(source: Value, pads: Pads, extents: Any, op: Op) -> bool:
    """Whether no window lies in the padding alone."""
    strides, dilations = op.attribute("strides"), op.attribute("dilations", (1, 1))
    for axis, size in enumerate(source.static_shape[2:]):
        reach = (extents[axis] - 1) * dilations[axis] + 1
        last = (size + pads[axis] + pads[axis + 2] - reach) // strides[axis] * strides[axis]
        if pads[axis] >= reach or last >= pads[axis] + size:
            return False
    return True
