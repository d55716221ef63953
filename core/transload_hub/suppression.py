"""Non-maximum suppression: as often as boxes are wanted, take the best one and drop those that overlap it too much.

The number of boxes is known, so the loop is written out; each step is arithmetic on whole tensors, which any
target can run.

Sources: `tensorflow/lite/kernels/detection_postprocess.cc`, `internal/reference/non_max_suppression.h`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I32, Value
from transload.ir.build import Builder
from transload_hub import tables

__all__ = ["DROPPED", "count_true", "race", "suppressed"]

DROPPED = -1e30
"""Score of a box that is out of the race."""
_MOST_STEPS = 512


def race(
    build: Builder, boxes: Value, running: Value, steps: int, threshold: float, *, inclusive: bool = False,
    floor: float = DROPPED / 2, decay: float = 0.0, kinds: Value | None = None,
) -> tuple[Value, Value, Value]:
    """Race the boxes [N, 4] (two corners) in each row of scores [R, N], those out of it at `DROPPED`.

    Boxes [G, N, 4] are of G groups, as of the images of a batch: as many rows in a row, R / G, are of each. A step takes each
    row's best box and drops those that overlap it by more than `threshold` (or as much, with `inclusive`); with `decay`, the
    others' scores are multiplied by `exp(-decay * overlap^2)`; with `kinds` [G, N], only boxes of the winner's kind are
    dropped. Returns, each [R, steps], which box of its group won, its score, and whether that was above `floor`. Raises
    `Unsupported` where too many are wanted.
    """
    n_rows, count = running.tensor_type.static_shape
    if not 0 < steps <= _MOST_STEPS:
        raise Unsupported(f"the number of boxes wanted would be {steps}; at most {_MOST_STEPS} is supported")
    dropped = _scalar(build, DROPPED)
    groups = math.prod(boxes.tensor_type.static_shape[:-2])
    if groups * count > np.iinfo(np.int32).max:
        raise Unsupported(f"{groups} images of {count} boxes have more than numbers of 32 bits tell apart")
    owners = tables.repeat(tables.arange(groups, dtype=np.int32), n_rows // groups)
    flat = boxes if len(boxes.tensor_type.static_shape) == 2 else build.emit("top.Reshape", boxes, shape=(groups * count, 4))
    columns = build.emit("top.Split", flat, axis=1, split_size=(1,) * 4)
    edges = [_by_row(build, build.emit("top.Reshape", edge, shape=(groups, count)), owners) for edge in columns]
    areas = _area(build, edges)
    own_kinds = None if kinds is None else _by_row(build, kinds, owners)
    starts = None if groups == 1 else build.constant(owners * np.int32(count))
    numbers = build.constant(tables.arange(count, dtype=np.int32)[None])
    places, scores, alive = [], [], []
    for _ in range(steps):
        place = build.emit("top.Arg", running, axis=1, keepdims=True, mode="ArgMax", element=I32)
        best = build.emit("top.Reduce", running, axes=(1,), mode="ReduceMax")
        places.append(place)
        scores.append(best)
        alive.append(build.emit("top.Compare", best, _scalar(build, floor), mode="Greater"))
        chosen = build.emit("top.Reshape", place, shape=(n_rows,))
        if starts is not None:
            chosen = build.emit("top.Add", chosen, starts)
        box = build.emit("top.Gather", flat, chosen)
        overlaps = _overlaps(build, edges, areas, build.emit("top.Split", box, axis=1, split_size=(1,) * 4))
        close = build.emit("top.Compare", overlaps, _scalar(build, threshold), mode="GreaterOrEqual" if inclusive else "Greater")
        if own_kinds is not None:
            kind = build.emit("top.Gather", build.emit("top.Reshape", kinds, shape=(groups * count, 1)), chosen)
            close = build.emit("top.LogicalAnd", close, build.emit("top.Compare", own_kinds, kind, mode="Equal"))
        if decay:
            weights = build.emit("top.Exp", build.emit("top.Mul", build.emit("top.Square", overlaps), _scalar(build, -decay)))
            running = build.emit("top.Mul", running, weights)
        itself = build.emit("top.Compare", numbers, place, mode="Equal")
        running = build.emit("top.Where", build.emit("top.LogicalOr", close, itself), dropped, running)
    if steps == 1:
        return places[0], scores[0], alive[0]
    return tuple(build.emit("top.Concat", *parts, axis=1) for parts in (places, scores, alive))


def _by_row(build: Builder, values: Value, owners: np.ndarray) -> Value:
    """Of values [G, N] each row's [R, N]; those of a single group are broadcast as they are."""
    groups = values.tensor_type.static_shape[0]
    return values if groups in (1, len(owners)) else build.emit("top.Gather", values, build.constant(owners), axis=0)


def suppressed(
    build: Builder, boxes: Value, scores: Value, wanted: int, threshold: float, least: float, sigma: float = 0.0, *,
    inclusive: bool = False,
) -> tuple[Value, Value, Value]:
    """Of boxes [N, 4], each any two opposite corners, with scores [N] above `least`: which are selected, their scores, how many.

    The first two are [wanted], which may be more than there are boxes; places for which no box is left hold zeros. With `sigma`,
    boxes that overlap a selected one lose score. TensorFlow drops those that overlap more than the threshold, TFLite,
    `inclusive`, as much.
    """
    count = boxes.tensor_type.static_shape[0]
    steps = min(wanted, count)
    if steps < 1:
        indices, kept = (build.constant(tables.zeros(wanted, dtype)) for dtype in (np.int32, np.float32))
        return indices, kept, build.constant(np.int32(0))
    corners = [build.emit("top.Slice", boxes, offset=(0, at), ends=(count, at + 2), steps=(1, 1)) for at in (0, 2)]
    low, high = build.emit("top.Min", *corners), build.emit("top.Max", *corners)
    row = build.emit("top.Reshape", scores, shape=(1, count))
    floor = max(least, DROPPED / 2)
    enough = build.emit("top.Compare", row, _scalar(build, floor), mode="Greater")
    places, held, alive = race(
        build, build.emit("top.Concat", low, high, axis=1), build.emit("top.Where", enough, row, _scalar(build, DROPPED)), steps,
        threshold, inclusive=inclusive, floor=floor, decay=0.5 / sigma if sigma > 0 else 0.0)
    mask = build.emit("top.Reshape", alive, shape=(steps,))
    zeros = build.constant(np.int32(0)), _scalar(build, 0.0)
    indices, kept = (
        build.emit("top.Where", mask, build.emit("top.Reshape", part, shape=(steps,)), zero)
        for part, zero in zip((places, held), zeros, strict=True))
    if missing := wanted - steps:
        indices, kept = (build.emit("top.Pad", part, paddings=(0, missing)) for part in (indices, kept))
    return indices, kept, count_true(build, mask, (0,), I32)


def count_true(build: Builder, mask: Value, axes: tuple[int, ...], element: Any = F32) -> Value:
    """How many are true along `axes`, which go."""
    ones = build.emit("top.Cast", mask, element=element)
    return build.emit("top.Reduce", ones, axes=axes, keepdims=False, mode="ReduceSum")


def _area(build: Builder, edges: Any) -> Value:
    top, left, bottom, right = edges
    return build.emit("top.Mul", build.emit("top.Sub", bottom, top), build.emit("top.Sub", right, left))


def _overlaps(build: Builder, edges: Any, areas: Value, chosen: Any) -> Value:
    """Intersection over union of the chosen box of each row [R, 1] with every box [1 or R, N]; 0 where one has no area."""
    zero = _scalar(build, 0.0)
    top, left = (build.emit("top.Max", edge, own) for edge, own in zip(edges[:2], chosen[:2], strict=True))
    bottom, right = (build.emit("top.Min", edge, own) for edge, own in zip(edges[2:], chosen[2:], strict=True))
    height = build.emit("top.Max", build.emit("top.Sub", bottom, top), zero)
    width = build.emit("top.Max", build.emit("top.Sub", right, left), zero)
    shared = build.emit("top.Mul", height, width)
    own_area = _area(build, chosen)
    union = build.emit("top.Sub", build.emit("top.Add", areas, own_area), shared)
    positive = build.emit(
        "top.LogicalAnd", build.emit("top.Compare", areas, zero, mode="Greater"),
        build.emit("top.Compare", own_area, zero, mode="Greater"))
    # Where an area is 0 the union may be, too: divide by 1 there.
    safe = build.emit("top.Where", positive, union, _scalar(build, 1.0))
    return build.emit("top.Where", positive, build.emit("top.Div", shared, safe), zero)


def _scalar(build: Builder, number: float) -> Value:
    return build.constant(np.float32(number))
