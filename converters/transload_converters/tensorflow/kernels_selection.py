"""Ops in the reference engine whose results are as long as there are such elements: non-maximum suppression of many boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.ir import Op
from transload.plugin import KernelTable

__all__ = ["add_selection"]


def add_selection(kernels: KernelTable) -> None:
    """Enter these kernels into a table."""
    kernels("tf.NonMaxSuppression", "tf.NonMaxSuppressionV2", "tf.NonMaxSuppressionV3", quantized="native")(_suppress)


def _suppress(op: Op, boxes: Any, scores: Any, wanted: Any, overlap: Any = 0.5, least: Any = None) -> Any:
    """The boxes that are kept, the best first: of two that overlap by more than `overlap`, the one with the greater score.

    Source: tensorflow/core/kernels/image/non_max_suppression_op.cc; corners may be given in any order.
    """
    overlap = op.attribute("iou_threshold", 0.5) if op.name == "tf.NonMaxSuppression" else float(overlap)
    corners = np.asarray(boxes, np.float32)
    low, high = np.minimum(corners[:, :2], corners[:, 2:]), np.maximum(corners[:, :2], corners[:, 2:])
    areas = np.prod(high - low, axis=1)
    order = [place for place in np.argsort(-np.asarray(scores, np.float32), kind="stable").tolist()
             if least is None or scores[place] > least]
    kept: list[int] = []
    for place in order:
        if len(kept) >= int(wanted):
            break
        if kept:
            common = np.prod(np.maximum(np.minimum(high[kept], high[place]) - np.maximum(low[kept], low[place]), 0), axis=1)
            both = areas[kept] + areas[place] - common
            share = np.where((areas[kept] > 0) & (areas[place] > 0), common / np.where(both > 0, both, 1), 0)
            if np.any(share > overlap):
                continue
        kept.append(place)
    return np.array(kept, np.int32)
