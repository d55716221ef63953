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

from ..geometry import prior_counts
from .common import CaffeTable, cast, flags, number, permute, reshape, shape_of, slab

__all__ = ["TABLE", "above", "centred", "columns", "kept_rows"]

TABLE = CaffeTable()
_MOST_PRIORS = 1 << 22
_EXACT = 1 << 24
"""Whole numbers up to this are floats, too."""


@TABLE("PriorBox")
def prior_box(op: Any, rw: Rewriter) -> Value:
    """Of each pixel's centre: a square of each min_size, one between it and max_size, and the other ratios."""
    height, width = shape_of(op.operands[0], 4)[2:]
    image = shape_of(op.operands[1], 4)[2:]
    image_h = op.img_h or op.img_size or image[0]
    image_w = op.img_w or op.img_size or image[1]
    step_h = op.step_h or op.step or image_h / height
    step_w = op.step_w or op.step or image_w / width
    ratios, count = prior_counts(op)
    halves = []
    for place, least in enumerate(op.min_size):
        halves.append((least / 2, least / 2))
        if op.max_size:
            middle = math.sqrt(least * op.max_size[place])
            halves.append((middle / 2, middle / 2))
        halves += [(least * math.sqrt(ratio) / 2, least / math.sqrt(ratio) / 2) for ratio in ratios[1:]]
    sizes = np.array(halves, np.float64)
    if len(sizes) != count or min(image_h, image_w) < 1:
        raise Unsupported("its boxes cannot be made")
    if height * width * count > _MOST_PRIORS:
        raise Unsupported(f"makes {height * width * count:,} boxes, more than {_MOST_PRIORS:,}")
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
    offsets = reshape(rw, locations, (batch, n_priors, sets, 4))
    scores = permute(rw, reshape(rw, confidences, (batch, n_priors, classes)), (0, 2, 1))
    flat = reshape(rw, priors, (2, n_priors, 4))
    prior, variance = (reshape(rw, slab(rw, flat, 0, row, row + 1), (n_priors, 4)) for row in (0, 1))
    images = [
        _of_image(op, rw, image, reshape(rw, slab(rw, offsets, 0, image, image + 1), (n_priors, sets, 4)),
                  reshape(rw, slab(rw, scores, 0, image, image + 1), (classes, n_priors)), prior, variance)
        for image in range(batch)]
    made = images[0] if batch == 1 else rw.emit("top.Concat", *images, axis=0)
    return reshape(rw, made, (1, 1, shape_of(made)[0], 7))


def _of_image(op: Any, rw: Rewriter, image: int, offsets: Value, scores: Value, prior: Value, variance: Value) -> Value:
    """[keep_top_k, 7] of one image."""
    classes, n_priors = shape_of(scores)
    labels = [label for label in range(classes) if label != op.background_label_id]
    top = op.attribute("top_k") or -1
    kept = op.keep_top_k if op.keep_top_k != -1 else top
    candidates = min(top, n_priors) if top > 0 else n_priors
    steps = min(candidates, kept)
    threshold = op.attribute("confidence_threshold")
    rows = []
    if op.share_location:
        boxes = _decoded(op, rw, reshape(rw, offsets, (n_priors, 4)), prior, variance)
        chosen = rw.emit("top.Concat", *(slab(rw, scores, 0, label, label + 1) for label in labels), axis=0) \
            if len(labels) > 1 else slab(rw, scores, 0, labels[0], labels[0] + 1)
        places, held, alive = race(rw, boxes, _running(rw, chosen, threshold, candidates), steps, op.nms_threshold)
        rows.append((rw.emit("top.Gather", boxes, reshape(rw, places, (len(labels) * steps,))), held, alive))
    else:
        for label in labels:
            own = reshape(rw, slab(rw, offsets, 1, label, label + 1), (n_priors, 4))
            boxes = _decoded(op, rw, own, prior, variance)
            running = _running(rw, slab(rw, scores, 0, label, label + 1), threshold, candidates)
            places, held, alive = race(rw, boxes, running, steps, op.nms_threshold)
            rows.append((rw.emit("top.Gather", boxes, reshape(rw, places, (steps,))), held, alive))
    total = len(labels) * steps
    boxes, held, alive = (
        reshape(rw, parts[0] if len(parts) == 1 else rw.emit("top.Concat", *parts, axis=0), shape)
        for parts, shape in zip(zip(*rows, strict=True), ((total, 4), (total,), (total,)), strict=True))
    names = tables.repeat(np.array(labels, np.float32), steps)
    return _by_label(rw, image, boxes, held, alive, names, kept)


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


def columns(rw: Rewriter, boxes: Value) -> list[Value]:
    """The columns of [N, 4]."""
    return list(rw.emit("top.Split", boxes, axis=1, split_size=(1,) * shape_of(boxes)[1]))


def centred(rw: Rewriter, x: Value, y: Value, width: Value, height: Value) -> Value:
    """Corners [N, 4] of boxes by their centres and sizes."""
    halves = [rw.emit("top.MulConst", size, const_val=0.5) for size in (width, height)]
    corners = [rw.emit("top.Sub", place, half) for place, half in zip((x, y), halves, strict=True)]
    corners += [rw.emit("top.Add", place, half) for place, half in zip((x, y), halves, strict=True)]
    return rw.emit("top.Concat", *corners, axis=1)


def _decoded(op: Any, rw: Rewriter, offsets: Value, prior: Value, variance: Value) -> Value:
    """Corners [N, 4] of boxes that are given relative to priors."""
    if not op.variance_encoded_in_target:
        offsets = rw.emit("top.Mul", offsets, variance)
    if op.code_type == "CORNER":
        return rw.emit("top.Add", prior, offsets)
    left, top, right, bottom = columns(rw, prior)
    sizes = [rw.emit("top.Sub", right, left), rw.emit("top.Sub", bottom, top)]
    if op.code_type == "CORNER_SIZE":
        both = rw.emit("top.Concat", *sizes, *sizes, axis=1)
        return rw.emit("top.Add", prior, rw.emit("top.Mul", offsets, both))
    moves = columns(rw, offsets)
    centres = [
        rw.emit("top.Add", rw.emit("top.Mul", move, size), rw.emit("top.MulConst", rw.emit("top.Add", low, high), const_val=0.5))
        for move, size, low, high in zip(moves[:2], sizes, (left, top), (right, bottom), strict=True)]
    grown = [rw.emit("top.Mul", rw.emit("top.Exp", move), size) for move, size in zip(moves[2:], sizes, strict=True)]
    return centred(rw, *centres, *grown)


def _by_label(
    rw: Rewriter, image: int, boxes: Value, held: Value, alive: Value, names: np.ndarray, kept: int,
) -> Value:
    """[kept, 7]: the best of all, in the order of labels, and of each label the best first."""
    total = len(names)
    taken = min(kept, total)
    ranked = rw.emit("top.Where", alive, held, number(rw, DROPPED))
    best, where = rw.emit("top.TopK", ranked, axis=0, k=taken)
    labels = rw.emit("top.Gather", rw.constant(names), where)
    if (float(names.max()) + 2) * taken >= _EXACT:
        raise Unsupported(f"keeps {taken} boxes of {int(names.max()) + 1} classes")
    order = rw.emit("top.Add", rw.emit("top.MulConst", labels, const_val=float(taken)), rw.constant(
        tables.arange(taken, dtype=np.float32)))
    some = flags(rw, best, "Greater", number(rw, DROPPED / 2))
    behind = tables.arange(taken, dtype=np.float32) + (float(names.max()) + 1) * taken
    order = rw.emit("top.Where", some, order, rw.constant(behind))
    _, turn = rw.emit("top.TopK", order, axis=0, k=taken, largest=False)
    chosen = rw.emit("top.Gather", where, turn)
    parts = [
        rw.constant(tables.full((taken, 1), image, np.float32)), reshape(rw, rw.emit("top.Gather", labels, turn), (taken, 1)),
        reshape(rw, rw.emit("top.Gather", best, turn), (taken, 1)), rw.emit("top.Gather", boxes, chosen)]
    mask = reshape(rw, rw.emit("top.Gather", cast(rw, some, F32), turn), (taken, 1))
    return _masked(rw, rw.emit("top.Concat", *parts, axis=1), mask, kept)


def _masked(rw: Rewriter, rows: Value, mask: Value, kept: int) -> Value:
    """Rows with zeros where the mask, [N, 1] of 0 and 1, is 0, and zeros behind up to `kept`."""
    taken = shape_of(rows)[0]
    made = rw.emit("top.Where", flags(rw, mask, "Greater", number(rw, 0.5)), rows, number(rw, 0.0))
    return made if taken == kept else rw.emit("top.Pad", made, paddings=(0, 0, kept - taken, 0))


def kept_rows(rw: Rewriter, columns_of: list[Value], scores: Value, kept: int) -> Value:
    """[kept, n]: of columns [N, m] those of the best scores [N], the best first, zeros where a score is out of the race."""
    taken = min(kept, shape_of(scores)[0])
    best, where = rw.emit("top.TopK", scores, axis=0, k=taken)
    rows = [rw.emit("top.Gather", column, where) for column in columns_of]
    some = reshape(rw, cast(rw, flags(rw, best, "Greater", number(rw, DROPPED / 2)), F32), (taken, 1))
    return _masked(rw, rw.emit("top.Concat", *rows, axis=1) if len(rows) > 1 else rows[0], some, kept)
