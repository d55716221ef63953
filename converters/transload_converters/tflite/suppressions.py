"""Boxes of which LiteRT's non-maximum suppression selects any: equal scores, and boxes without an area.

It takes scores from a heap, which gives equal ones in no order, and puts a box that it selected back until the box overlaps with
itself, which one without an area never does: it is selected again and again. Source: `NonMaxSuppression` in
`tensorflow/lite/kernels/internal/reference/non_max_suppression.h`; measured with LiteRT 2.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transload.api import run
from transload.ir import Module, Op, Value
from transload.ir.build import constant_of

__all__ = ["open_selections"]

_SUPPRESSIONS = ("tfl.non_max_suppression_v4", "tfl.non_max_suppression_v5")


def open_selections(source: Module, hub: Module | None, given: Mapping[str, Any]) -> str:
    """The operators of a model that select any of some boxes on these inputs, in words; nothing where there are none."""
    ops = [op for op in source.body_of_main if op.name in _SUPPRESSIONS]
    if hub is None or not ops:
        return ""
    named = {value.name: value for op in ops for value in op.operands[:2]}
    seen: dict[Value, np.ndarray] = {}

    def keep(value: Value, array: np.ndarray) -> None:
        wanted = named.get(value.name)
        if wanted is not None and array.shape == wanted.shape:
            seen[wanted] = array

    for value, array in zip(source.body_of_main.arguments, given.values(), strict=False):
        seen[value] = np.asarray(array)
    run(hub, dict(given), engine="reference", watch=keep)
    told = [f"{op.origin or op.name}: LiteRT selects {why}" for op in ops if (why := _why(op, seen))]
    return "; ".join(told[:3])


def _why(op: Op, seen: Mapping[Value, np.ndarray]) -> str:
    boxes, scores, least = (_array(op.operands[place], seen) for place in (0, 1, 4))
    if boxes is None or scores is None or least is None:
        return ""
    taken = scores > float(least.reshape(-1)[0])
    if (((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]) == 0) & taken).any():
        return "a box without an area again and again"
    return "boxes of equal scores in no order" if np.unique(scores[taken]).size < taken.sum() else ""


def _array(value: Value, seen: Mapping[Value, np.ndarray]) -> np.ndarray | None:
    dense = constant_of(value)
    return seen.get(value) if dense is None else dense.numpy()
