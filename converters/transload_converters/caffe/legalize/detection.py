"""SSD's boxes: priors, which depend on sizes alone, and the best kept of those that overlap (`transload_hub.suppression`).

Shapes being static, places for which no box is left hold zeros, as in OpenCV's layer.
Source: W. Liu et al., "SSD: Single Shot MultiBox Detector", and its Caffe.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.suppression import DROPPED, race

from ..geometry import boxes_kept, prior_counts
from .common import CaffeTable, cast, flags, joined, number, permute, reshape, shape_of, slab

__all__ = ["TABLE", "above", "centred", "columns", "kept_rows", "picked", "raced"]

TABLE = CaffeTable()
_EXACT = 1 << 24
"""Whole numbers up to this are floats, too."""


@TABLE("PriorBox")
def prior_box(op: Any, rw: Rewriter) -> Value:
    """Of each pixel's centre: a square of each min_size, one between it and max_size, and the other ratios.

    They are no more than `MOST_PRIORS`, as its shape was looked at.
    """
    height, width = shape_of(op.operands[0], 4)[2:]
    image = shape_of(op.operands[1], 4)[2:]
    image_h = op.img_h or op.img_size or image[0]
    image_w = op.img_w or op.img_size or image[1]
    step_h = op.step_h or op.step or image_h / height
    step_w = op.step_w or op.step or image_w / width
    ratios, _ = prior_counts(op)
    if min(image_h, image_w) < 1:
        raise Unsupported("its boxes cannot be made")
    least, roots = np.array(op.min_size, np.float64)[:, None], np.sqrt(np.array(ratios[1:], np.float64))
    between = [np.sqrt(least * np.array(op.max_size, np.float64)[:, None])] if op.max_size else []
    sizes = np.stack([
        np.concatenate([least, *between, rest], axis=1).reshape(-1) / 2 for rest in (least * roots, least / roots)], axis=1)
    x = ((tables.arange(width) + op.offset) * step_w)[None, :, None]
    y = ((tables.arange(height) + op.offset) * step_h)[:, None, None]
    corners = [(x - sizes[:, 0]) / image_w, (y - sizes[:, 1]) / image_h, (x + sizes[:, 0]) / image_w, (y + sizes[:, 1]) / image_h]
    boxes = np.stack(np.broadcast_arrays(*corners), axis=-1).astype(np.float32)
    if op.clip:
        boxes = np.clip(boxes, 0, 1)
    variance = tuple(op.variance or (0.1,))
    if len(variance) not in (1, 4):
        raise Unsupported(f"has {len(variance)} variances, and needs one or four")
    variances = np.resize(np.array(variance, np.float32), boxes.shape)
    return rw.constant(np.stack([boxes.reshape(-1), variances.reshape(-1)])[None])


@TABLE("DetectionOutput")
def detection_output(op: Any, rw: Rewriter) -> Value:
    """Each image by itself: its boxes are decoded, raced for each class, and the best of all classes kept, class by class."""
    locations, confidences, priors = op.operands[:3]
    batch, classes = shape_of(locations)[0], op.num_classes or 0
    n_priors = math.prod(shape_of(priors)) // 8
    sets = 1 if op.share_location else classes
    if classes < 1 or shape_of(priors)[0] != 1 or math.prod(shape_of(locations)[1:]) != n_priors * sets * 4 \
            or math.prod(shape_of(confidences)) != batch * n_priors * classes:
        raise Unsupported(
            f"locations {list(shape_of(locations))}, confidences {list(shape_of(confidences))} and priors "
            f"{list(shape_of(priors))} are not of {classes} classes")
    if op.eta != 1:
        raise Unsupported("lowers its threshold as it goes (eta), which is not written out here")
    labels = [label for label in range(classes) if label != op.background_label_id]
    if not labels:
        raise Unsupported("has no class but the background")
    top = op.attribute("top_k") or -1
    kept = boxes_kept(op, n_priors)
    candidates = min(top, n_priors) if top > 0 else n_priors
    steps = min(candidates, kept)
    offsets = permute(rw, reshape(rw, locations, (batch, n_priors, sets, 4)), (0, 2, 1, 3))
    scores = permute(rw, reshape(rw, confidences, (batch, n_priors, classes)), (0, 2, 1))
    flat = reshape(rw, priors, (2, n_priors, 4))
    prior, variance = (reshape(rw, slab(rw, flat, 0, row, row + 1), (1, 1, n_priors, 4)) for row in (0, 1))
    # A class has boxes of its own, or all have the same.
    own = offsets if op.share_location else _of_labels(rw, offsets, labels)
    groups = batch * shape_of(own)[1]
    boxes = reshape(rw, _decoded(op, rw, own, prior, variance), (groups, n_priors, 4))
    chosen = reshape(rw, _of_labels(rw, scores, labels), (batch * len(labels), n_priors))
    running = _running(rw, chosen, op.attribute("confidence_threshold"), candidates)
    places, held = raced(rw, boxes, running, steps, op.nms_threshold)
    total = len(labels) * steps
    found = reshape(rw, picked(rw, boxes, reshape(rw, places, (groups, batch * total // groups))), (batch, total, 4))
    made = _by_label(rw, found, reshape(rw, held, (batch, total)), tables.repeat(np.array(labels, np.float32), steps), kept)
    return reshape(rw, made, (1, 1, batch * kept, 7))


def _of_labels(rw: Rewriter, value: Value, labels: list[int]) -> Value:
    """Of values [B, classes, ...] those of some classes in a row, of which one may be left out."""
    gaps = [place for place in range(1, len(labels)) if labels[place] != labels[place - 1] + 1]
    starts, ends = [0, *gaps], [*gaps, len(labels)]
    return joined(
        rw, [slab(rw, value, 1, labels[start], labels[end - 1] + 1) for start, end in zip(starts, ends, strict=True)], axis=1)


def _running(rw: Rewriter, scores: Value, threshold: float | None, candidates: int) -> Value:
    """The scores with those below the threshold, and those that are not among the best of their class, out of the race."""
    if candidates < shape_of(scores)[1]:
        best, _ = rw.emit("top.TopK", scores, axis=1, k=candidates)
        last = slab(rw, best, 1, candidates - 1, candidates)
        scores = rw.emit("top.Where", flags(rw, scores, "GreaterOrEqual", last), scores, number(rw, DROPPED))
    return scores if threshold is None else above(rw, scores, threshold)


def above(rw: Rewriter, scores: Value, threshold: float, mode: str = "Greater") -> Value:
    """Scores with those that are not above a threshold out of the race."""
    return rw.emit("top.Where", flags(rw, scores, mode, number(rw, threshold)), scores, number(rw, DROPPED))


def raced(
    rw: Rewriter, boxes: Value, scores: Value, steps: int, threshold: float, kinds: Value | None = None,
) -> tuple[Value, Value]:
    """`race`: which of the boxes [G, N, 4] won, and by what score, each [R, steps]; `DROPPED` where none was left to win."""
    places, held, alive = race(rw, boxes, scores, steps, threshold, kinds=kinds)
    return places, rw.emit("top.Where", alive, held, number(rw, DROPPED))


def picked(rw: Rewriter, rows: Value, places: Value) -> Value:
    """Of rows [B, N, m] those at places [B, k], each of its own image: [B, k, m]."""
    batch, count, width = shape_of(rows)
    taken = shape_of(places)[1]
    if batch > 1:
        starts = tables.arange(batch, dtype=np.int32) * np.int32(count)
        places = rw.emit("top.Add", places, rw.constant(starts[:, None]))
    flat = rw.emit("top.Gather", reshape(rw, rows, (batch * count, width)), reshape(rw, places, (batch * taken,)))
    return reshape(rw, flat, (batch, taken, width))


def columns(rw: Rewriter, boxes: Value) -> list[Value]:
    """The columns of [..., N, 4]."""
    shape = shape_of(boxes)
    return list(rw.emit("top.Split", boxes, axis=len(shape) - 1, split_size=(1,) * shape[-1]))


def centred(rw: Rewriter, x: Value, y: Value, width: Value, height: Value) -> Value:
    """Corners [..., N, 4] of boxes by their centres and sizes."""
    halves = [rw.emit("top.MulConst", size, const_val=0.5) for size in (width, height)]
    corners = [rw.emit("top.Sub", place, half) for place, half in zip((x, y), halves, strict=True)]
    corners += [rw.emit("top.Add", place, half) for place, half in zip((x, y), halves, strict=True)]
    return rw.emit("top.Concat", *corners, axis=len(shape_of(x)) - 1)


def _decoded(op: Any, rw: Rewriter, offsets: Value, prior: Value, variance: Value) -> Value:
    """Corners [B, L, N, 4] of boxes that are given relative to priors [1, 1, N, 4]."""
    if not op.variance_encoded_in_target:
        offsets = rw.emit("top.Mul", offsets, variance)
    if op.code_type == "CORNER":
        return rw.emit("top.Add", prior, offsets)
    left, top, right, bottom = columns(rw, prior)
    sizes = [rw.emit("top.Sub", right, left), rw.emit("top.Sub", bottom, top)]
    if op.code_type == "CORNER_SIZE":
        both = rw.emit("top.Concat", *sizes, *sizes, axis=3)
        return rw.emit("top.Add", prior, rw.emit("top.Mul", offsets, both))
    moves = columns(rw, offsets)
    centres = [
        rw.emit("top.Add", rw.emit("top.Mul", move, size), rw.emit("top.MulConst", rw.emit("top.Add", low, high), const_val=0.5))
        for move, size, low, high in zip(moves[:2], sizes, (left, top), (right, bottom), strict=True)]
    grown = [rw.emit("top.Mul", rw.emit("top.Exp", move), size) for move, size in zip(moves[2:], sizes, strict=True)]
    return centred(rw, *centres, *grown)


def _by_label(rw: Rewriter, boxes: Value, held: Value, names: np.ndarray, kept: int) -> Value:
    """[B, kept, 7]: of boxes [B, N, 4] the best by scores [B, N], in the order of labels [N], and of each the best first."""
    batch, total = shape_of(held)
    taken = min(kept, total)
    best, where = rw.emit("top.TopK", held, axis=1, k=taken)
    labels = rw.emit("top.Gather", rw.constant(names), where)
    if (float(names.max()) + 2) * taken >= _EXACT:
        raise Unsupported(f"keeps {taken} boxes of {int(names.max()) + 1} classes")
    order = rw.emit("top.Add", rw.emit("top.MulConst", labels, const_val=float(taken)), rw.constant(
        tables.arange(taken, dtype=np.float32)[None]))
    some = flags(rw, best, "Greater", number(rw, DROPPED / 2))
    behind = tables.arange(taken, dtype=np.float32)[None] + (float(names.max()) + 1) * taken
    order = rw.emit("top.Where", some, order, rw.constant(behind))
    _, turn = rw.emit("top.TopK", order, axis=1, k=taken, largest=False)
    images = tables.repeat(tables.arange(batch, dtype=np.float32), taken).reshape(batch, taken, 1)
    rows = rw.emit(
        "top.Concat", rw.constant(images), *(reshape(rw, part, (batch, taken, 1)) for part in (labels, best)),
        picked(rw, boxes, where), axis=2)
    mask = picked(rw, reshape(rw, cast(rw, some, F32), (batch, taken, 1)), turn)
    return _masked(rw, picked(rw, rows, turn), mask, kept)


def _masked(rw: Rewriter, rows: Value, mask: Value, kept: int) -> Value:
    """Rows [B, N, m] with zeros where the mask, [B, N, 1] of 0 and 1, is 0, and zeros behind up to `kept`."""
    taken = shape_of(rows)[1]
    made = rw.emit("top.Where", flags(rw, mask, "Greater", number(rw, 0.5)), rows, number(rw, 0.0))
    return made if taken == kept else rw.emit("top.Pad", made, paddings=(0, 0, 0, 0, kept - taken, 0))


def kept_rows(rw: Rewriter, rows: Value, scores: Value, kept: int) -> Value:
    """[B, kept, m]: of rows [B, N, m] those of the best scores [B, N], the best first, zeros where one is out of the race."""
    batch, count = shape_of(scores)
    taken = min(kept, count)
    best, where = rw.emit("top.TopK", scores, axis=1, k=taken)
    some = reshape(rw, cast(rw, flags(rw, best, "Greater", number(rw, DROPPED / 2)), F32), (batch, taken, 1))
    return _masked(rw, picked(rw, rows, where), some, kept)
