"""Layers of detectors, defined box by box: priors, decoding, suppression of what overlaps, poolings of regions.

Sources: the papers of SSD, Faster R-CNN, R-FCN, YOLO and RetinaFace, and their Caffe. Where a layer of Caffe gives as many
rows as there are boxes, zeros follow here up to the number that is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .definitions import Arrays, define

__all__ = ["base_anchors"]


def _overlap(a: np.ndarray, b: np.ndarray, extra: float = 0.0) -> float:
    """Intersection over union of two boxes; with `extra` 1, corners are pixels that belong to them."""
    width = min(a[2], b[2]) - max(a[0], b[0]) + extra
    height = min(a[3], b[3]) - max(a[1], b[1]) + extra
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0] + extra) * (box[3] - box[1] + extra) for box in (a, b)]
    return width * height / (areas[0] + areas[1] - width * height)


def _suppressed(boxes: np.ndarray, order: list[int], threshold: float, most: int, extra: float = 0.0) -> list[int]:
    """Of boxes, in an order, those that overlap no one before them that was kept by more than the threshold."""
    kept: list[int] = []
    for index in order:
        if len(kept) == most:
            break
        if all(_overlap(boxes[index], boxes[other], extra) <= threshold for other in kept):
            kept.append(index)
    return kept


def _best_first(scores: np.ndarray, wanted: Callable[[float], bool], most: int | None = None) -> list[int]:
    order = [int(index) for index in np.argsort(-scores, kind="stable") if wanted(scores[index])]
    return order[:most]


def _filled(rows: list[list[float]], count: int, width: int) -> np.ndarray:
    y = np.zeros((count, width))
    for place, row in enumerate(rows[:count]):
        y[place] = row
    return y


@define("PriorBox")
def prior_box(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    (height, width), (image_h, image_w) = bottoms[0].shape[2:], bottoms[1].shape[2:]
    image_h, image_w = p.get("img_h", p.get("img_size", image_h)), p.get("img_w", p.get("img_size", image_w))
    step_h, step_w = p.get("step_h", p.get("step", image_h / height)), p.get("step_w", p.get("step", image_w / width))
    ratios: list[float] = []
    for ratio in p.get("aspect_ratio", []):
        for each in (ratio, 1 / ratio) if p.get("flip", True) else (ratio,):
            if all(abs(each - other) > 1e-6 for other in [1.0, *ratios]):
                ratios.append(each)
    boxes = []
    for i, j in np.ndindex(height, width):
        x, y = (j + p.get("offset", 0.5)) * step_w, (i + p.get("offset", 0.5)) * step_h
        for place, least in enumerate(p["min_size"]):
            sizes = [(least, least)]
            if "max_size" in p:
                sizes.append((math.sqrt(least * p["max_size"][place]),) * 2)
            sizes += [(least * math.sqrt(ratio), least / math.sqrt(ratio)) for ratio in ratios]
            boxes += [((x - w / 2) / image_w, (y - h / 2) / image_h, (x + w / 2) / image_w, (y + h / 2) / image_h) for w,
                h in sizes]
    corners = np.array(boxes).reshape(-1)
    corners = np.clip(corners, 0, 1) if p.get("clip") else corners
    variance = p.get("variance", [0.1])
    return [np.stack([corners, np.tile(variance * (4 if len(variance) == 1 else 1), len(boxes))])[None]]


def _decoded(p: Mapping[str, Any], prior: np.ndarray, variance: np.ndarray, offset: np.ndarray) -> np.ndarray:
    v = np.ones(4) if p.get("variance_encoded_in_target") else variance
    width, height = prior[2] - prior[0], prior[3] - prior[1]
    kind = p.get("code_type", "CORNER")
    if kind == "CORNER":
        return prior + v * offset
    if kind == "CORNER_SIZE":
        return prior + v * offset * np.array([width, height, width, height])
    x = v[0] * offset[0] * width + (prior[0] + prior[2]) / 2
    y = v[1] * offset[1] * height + (prior[1] + prior[3]) / 2
    w, h = math.exp(v[2] * offset[2]) * width, math.exp(v[3] * offset[3]) * height
    return np.array([x - w / 2, y - h / 2, x + w / 2, y + h / 2])


@define("DetectionOutput")
def detection_output(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    locations, confidences, priors = bottoms
    batch, classes = locations.shape[0], p["num_classes"]
    corners, variances = (row.reshape(-1, 4) for row in priors[0])
    shared = p.get("share_location", True)
    offsets = locations.reshape(batch, len(corners), 1 if shared else classes, 4)
    scores = confidences.reshape(batch, len(corners), classes)
    nms = p.get("nms_param", {})
    kept = p.get("keep_top_k", -1)
    if kept == -1:  # all that the race of each class has left, which top_k counts of by itself
        labels = sum(label != p.get("background_label_id", 0) for label in range(classes))
        kept = labels * min(nms["top_k"], len(corners))
    least = p.get("confidence_threshold", -math.inf)
    made = []
    for n in range(batch):
        found = []
        for label in range(classes):
            if label == p.get("background_label_id", 0):
                continue
            boxes = np.array([_decoded(p, corners[k], variances[k], offsets[n, k, 0 if shared else label])
                              for k in range(len(corners))])
            order = _best_first(scores[n, :, label], lambda score: score > least, nms.get("top_k"))
            found += [(scores[n, k, label], label, boxes[k])
                      for k in _suppressed(boxes, order, nms.get("nms_threshold", 0.3), len(corners))]
        best = sorted(found, key=lambda entry: -entry[0])[:kept]
        rows = [[n, label, score, *box] for score, label, box in sorted(best, key=lambda entry: (entry[1], -entry[0]))]
        made.append(_filled(rows, kept, 7))
    return [np.concatenate(made)[None, None]]


def base_anchors(base: int, ratios: list[float], scales: list[float]) -> np.ndarray:
    """py-faster-rcnn's `generate_anchors`: ratios of a square, rounded to pixels, each at all scales."""
    centre = 0.5 * (base - 1)
    boxes = []
    for ratio in ratios:
        width = round(math.sqrt(base * base / ratio))
        height = round(width * ratio)
        for scale in scales:
            w, h = width * scale, height * scale
            boxes.append([centre - 0.5 * (w - 1), centre - 0.5 * (h - 1), centre + 0.5 * (w - 1), centre + 0.5 * (h - 1)])
    return np.array(boxes, np.float64)


def _moved(box: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """A box moved and scaled, its corners being pixels of it."""
    width, height = box[2] - box[0] + 1, box[3] - box[1] + 1
    x, y = delta[0] * width + box[0] + 0.5 * width, delta[1] * height + box[1] + 0.5 * height
    w, h = math.exp(delta[2]) * width, math.exp(delta[3]) * height
    return np.array([x - 0.5 * w, y - 0.5 * h, x + 0.5 * w, y + 0.5 * h])


@define("Proposal")
def proposal(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    scores, deltas = bottoms[:2]
    other = "rpn_nms_post_top_n" in p
    height_of, width_of, zoom = (p["net_input_h"], p["net_input_w"], 1) if other else bottoms[2].reshape(-1)[:3]
    anchors = base_anchors(
        p.get("anchor_base_size" if other else "base_size", 16), p.get("ratio", [0.5, 1, 2]), p.get("scale", [8, 16, 32]))
    height, width = scores.shape[2:]
    stride = p.get("feat_stride", 16)
    boxes, held = [], []
    for i, j in np.ndindex(height, width):
        for a, anchor in enumerate(anchors):
            box = _moved(anchor + np.array([j, i, j, i]) * stride, deltas[0, 4 * a : 4 * a + 4, i, j])
            box = np.clip(box, 0, np.array([width_of - 1, height_of - 1] * 2))
            score = scores[0, len(anchors) + a, i, j]
            least = 0 if other else p.get("min_size", 16) * zoom
            if box[2] - box[0] + 1 >= least and box[3] - box[1] + 1 >= least:
                boxes.append(box)
                held.append(score)
    table, numbers = np.array(boxes).reshape(-1, 4), np.array(held)
    count = p.get("rpn_nms_post_top_n", p.get("post_nms_topn", 300))
    order = _best_first(
        numbers, (lambda score: score > p.get("rpn_obj_threshold", 0)) if other else (lambda score: True),
        None if other else p.get("pre_nms_topn", 6000))
    kept = _suppressed(table, order, p.get("rpn_nms_threshold" if other else "nms_thresh", 0.7), count, 1.0)
    rows = _filled([[0, *table[k]] for k in kept], count, 5)
    tops = [rows, _filled([[numbers[k]] for k in kept], count, 1)]
    return [top.reshape(1, 1, *top.shape) if other else top for top in tops][:n_tops]


def _rounded(value: float) -> int:
    return math.floor(value + 0.5)


@define("ROIPooling")
def roi_pooling(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x, rois = bottoms[0], bottoms[1].reshape(-1, 5)
    bins_h, bins_w = p["pooled_h"], p["pooled_w"]
    y = np.zeros((len(rois), x.shape[1], bins_h, bins_w))
    for r, roi in enumerate(rois):
        left, top, right, low = (_rounded(corner * p.get("spatial_scale", 1)) for corner in roi[1:])
        # In single precision, as Caffe has it: where three sevenths times seven lies decides of a pixel.
        size_h, size_w = np.float32(max(low - top + 1, 1)) / np.float32(bins_h), np.float32(max(right - left + 1,
            1)) / np.float32(bins_w)
        for i, j in np.ndindex(bins_h, bins_w):
            rows = range(max(0, math.floor(i * size_h) + top), min(x.shape[2], math.ceil((i + 1) * size_h) + top))
            columns = range(max(0, math.floor(j * size_w) + left), min(x.shape[3], math.ceil((j + 1) * size_w) + left))
            if len(rows) and len(columns):
                y[r, :, i, j] = x[int(roi[0])][:, rows][:, :, columns].max((1, 2))
    return [y]


@define("PSROIPooling")
def psroi_pooling(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x, rois = bottoms[0], bottoms[1].reshape(-1, 5)
    bins, outputs, scale = p["group_size"], p["output_dim"], p["spatial_scale"]
    y = np.zeros((len(rois), outputs, bins, bins))
    for r, roi in enumerate(rois):
        left, top = (np.float32(_rounded(corner)) * np.float32(scale) for corner in roi[1:3])
        right, low = (np.float32(_rounded(corner) + 1) * np.float32(scale) for corner in roi[3:])
        size_h, size_w = (np.float32(max(extent, 0.1)) / np.float32(bins) for extent in (low - top, right - left))
        for c, i, j in np.ndindex(outputs, bins, bins):
            rows, columns = (
                range(min(max(math.floor(place * size + start), 0), limit), min(max(math.ceil((place + 1) * size + start), 0),
                    limit))
                for place, size, start, limit in ((i, size_h, top, x.shape[2]), (j, size_w, left, x.shape[3])))
            part = x[int(roi[0]), (c * bins + i) * bins + j][rows][:, columns]
            y[r, c, i, j] = part.mean() if part.size else 0
    return [y]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max())
    return e / e.sum()


@define("Region")
def region(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    classes, coords, num = p.get("classes", 20), p.get("coords", 4), p.get("num", 5)
    y = x.reshape(x.shape[0], num, coords + 1 + classes, *x.shape[2:]).copy()
    for n, box, i, j in np.ndindex(x.shape[0], num, *x.shape[2:]):
        cell = y[n, box, :, i, j]
        cell[:2], cell[coords] = _sigmoid(cell[:2]), _sigmoid(cell[coords])
        if p.get("softmax", True):
            cell[coords + 1 :] = _softmax(cell[coords + 1 :])
    return [y.reshape(x.shape)]


_YOLO = {
    "v3": "10,13,16,30,33,23,30,61,62,45,59,119,116,90,156,198,373,326",
    "tiny": "10,14,23,27,37,58,81,82,135,169,344,319",
    "v4": "142,110,192,243,459,401,36,75,76,55,72,146,12,16,19,36,40,28"}


@define("YoloDetection")
def yolo_detection(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    text = p.get("anchors") or _YOLO["tiny" if p.get("tiny") else "v4" if p.get("yolo_v4") else "v3"]
    anchors = [float(word) for word in text.split(",")]
    least, kept = p.get("obj_threshold", 0.5), p["keep_topk"]
    made = []
    for n in range(bottoms[0].shape[0]):
        rows = []
        for level, x in enumerate(bottoms):
            cells = x[n].reshape(3, -1, *x.shape[2:])
            for i, j, a in np.ndindex(*x.shape[2:], 3):
                cell = cells[a, :, i, j]
                shares = _softmax(cell[5:])
                score = _sigmoid(cell[4]) * shares.max()
                if score < least:
                    continue
                base = anchors[6 * level + 2 * a : 6 * level + 2 * a + 2]
                rows.append([
                    (_sigmoid(cell[0]) + j) / x.shape[3], (_sigmoid(cell[1]) + i) / x.shape[2],
                    math.exp(cell[2]) * base[0] / p.get("net_input_w", 608), math.exp(cell[3]) * base[1] / p.get("net_input_h",
                        608),
                    int(shares.argmax()), score])
        made.append(_filled(_of_kinds(rows, p.get("nms_threshold", 0.5), kept), kept, 6))
    return [np.stack(made)[:, None]]


def _of_kinds(rows: list[list[float]], threshold: float, most: int) -> list[list[float]]:
    """Rows of centre, size, kind and score, the best first, without those that overlap a better one of their kind."""
    kept: list[list[float]] = []
    for row in sorted(rows, key=lambda entry: -entry[5]):
        corners = [np.array([x - w / 2, y - h / 2, x + w / 2, y + h / 2]) for x, y, w, h, *_ in [row, *kept]]
        if all(other[4] != row[4] or _overlap(corners[0], box) <= threshold for other, box in zip(kept, corners[1:],
            strict=True)):
            kept.append(row)
    return kept[:most]


@define("FrcnDetection")
def frcn_detection(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    classes, kept = p["class_num"], p["keep_topk"]
    rois = bottoms[2].reshape(-1, *bottoms[2].shape[-2:])
    made = []
    for n, regions in enumerate(rois):
        count = len(regions)
        deltas = bottoms[0].reshape(len(rois), count, classes, 4)[n]
        scores = bottoms[1].reshape(len(rois), count, classes)[n]
        rows = []
        for label in range(1, classes):
            boxes = np.array([_moved(regions[k, 1:], deltas[k, label]) for k in range(count)])
            order = _best_first(scores[:, label], lambda score: score > p.get("obj_threshold", 0.6))
            rows += [[*boxes[k], label, scores[k, label]] for k in _suppressed(boxes, order, p.get("nms_threshold", 0.3), count)]
        made.append(_filled(sorted(rows, key=lambda row: -row[5]), kept, 6))
    return [np.stack(made)[:, None]]


@define("RetinaFaceDetection")
def face_detection(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    kept, made = p.get("keep_topk", 100), []
    for n in range(bottoms[0].shape[0]):
        boxes, points, scores = [], [], []
        for level, (stride, scales) in enumerate(((8, [2, 1]), (16, [8, 4]), (32, [32, 16]))):
            probability, box, landmark = bottoms[3 * level : 3 * level + 3]
            for a, i, j in np.ndindex(2, *probability.shape[2:]):
                anchor = base_anchors(16, [1.0], scales)[a] + np.array([j, i, j, i]) * stride
                size = anchor[2:] - anchor[:2] + 1
                middle = anchor[:2] + 0.5 * (size - 1)
                delta = box[n, 4 * a : 4 * a + 4, i, j]
                centre, extent = delta[:2] * size + middle, np.exp(delta[2:]) * size
                boxes.append([*(centre - 0.5 * (extent - 1)), *(centre + 0.5 * (extent - 1))])
                points.append((landmark[n, 10 * a : 10 * a + 10, i, j].reshape(5, 2) * size + middle).reshape(-1))
                scores.append(probability[n, 2 + a, i, j])
        table, numbers = np.array(boxes), np.array(scores)
        order = _best_first(numbers, lambda score: score >= p.get("confidence_threshold", 0.5))
        rows = [[*table[k], numbers[k], *points[k]] for k in _suppressed(table, order, p.get("nms_threshold", 0.4), kept)]
        made.append(_filled(rows, kept, 15))
    return [np.stack(made)[:, None]]
