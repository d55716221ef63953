"""COCO's mean average precision, computed by `faster-coco-eval`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..errors import UsageError
from .seen import need_alike, seen, window_of

__all__ = ["TWELVE", "available", "average_precision", "detections", "twelve_numbers"]

TWELVE = (
    "AP", "AP50", "AP75", "AP small", "AP medium", "AP large", "AR 1", "AR 10", "AR 100", "AR small", "AR medium", "AR large")
"""COCO's twelve numbers, in the order in which its evaluation gives them."""


MISSING = "the package faster-coco-eval is not installed: pip install 'transload[coco]'"


_SHARES = 2.0
"""Edges in shares of a picture are below, though objects reach out of it."""


def available() -> str | None:
    return None if find_spec("faster_coco_eval") is not None else MISSING


def detections(outputs: Mapping[str, np.ndarray], label: Any, reference: Any) -> list[list[list[float]]]:
    """The objects of one image that were found, and those that are there.

    `outputs` are those of TFLite's detection post-processing: boxes [1, N, 4] as upper, left, lower, right edge, from 0 to 1;
    classes [1, N]; scores [1, N]; how many. Edges are of what the model sees, and are put back into the picture. Found: [image,
    class + 1, score, x, y, width, height]; there: [image, class, x, y, width, height, area, crowd].
    """
    arrays = [np.asarray(array, np.float64) for array in outputs.values()]
    if len(arrays) != 4 or arrays[0].shape[-1:] != (4,):
        raise UsageError("map needs a detector with four outputs: boxes, classes, scores, and how many")
    known = seen(label)
    label = known.label
    if not isinstance(label, Mapping) or "objects" not in label:
        raise UsageError("map needs COCO's annotations as labels", hint="--labels instances.json")
    boxes, classes, scores = arrays[0].reshape(-1, 4), arrays[1].ravel(), arrays[2].ravel()
    count, image = int(arrays[3].ravel()[0]), label["image_id"]
    usual = np.median(boxes[:count].max(axis=-1)) if count > 0 and len(boxes) else 0.0
    if usual > _SHARES:
        raise UsageError(
            f"boxes with edges like {usual:g} are in pixels, and map takes shares of the picture, from 0 to 1",
            hint="edges divided by the height and width of the input, as upper, left, lower, right; or --metric python:FILE:NAME")
    need_alike(known, (label["height"], label["width"]), "annotations")
    upper, left, height, width = window_of(known.shown, label["height"], label["width"])
    found = []
    placed = boxes * np.array([height, width] * 2) + np.array([upper, left] * 2)
    for box, kind, score in zip(placed[:count], classes, scores, strict=False):
        upper, left, lower, right = box
        found.append([image, int(kind) + 1, float(score), float(left), float(upper), float(right - left), float(lower - upper)])
    there = [
        [image, each["category_id"], *map(float, each["bbox"]), float(each.get("area", 0)), int(each.get("iscrowd", 0))]
        for each in label["objects"]]
    return [found, there]


def average_precision(rows: Any) -> float:
    """COCO's AP: the mean over overlaps from 0.5 to 0.95 and over classes."""
    return twelve_numbers(rows)["AP"]


def twelve_numbers(rows: Any) -> dict[str, float]:
    """COCO's twelve numbers of what `detections` gave of all images."""
    try:
        from faster_coco_eval import COCO, COCOeval_faster
    except ImportError:
        raise UsageError(f"map cannot be measured: {MISSING}") from None
    found = [each for sample in rows for each in sample[0]]
    there = [each for sample in rows for each in sample[1]]
    images = sorted({int(each[0]) for each in (*found, *there)})
    truth = COCO({
        "images": [{"id": image} for image in images],
        "categories": [{"id": kind, "name": str(kind)} for kind in sorted({int(each[1]) for each in (*found, *there)})],
        "annotations": [
            {"id": number, "image_id": int(image), "category_id": int(kind), "bbox": box, "area": area, "iscrowd": int(crowd)}
            for number, (image, kind, *box, area, crowd) in enumerate(there, 1)]})
    results = [
        {"image_id": int(image), "category_id": int(kind), "score": score, "bbox": box} for image, kind, score, *box in found]
    if not results:
        return dict.fromkeys(TWELVE, 0.0)
    run = COCOeval_faster(truth, truth.loadRes(results), "bbox", print_function=lambda *said: None)
    run.evaluate()
    run.accumulate()
    run.summarize()
    return {name: float(number) for name, number in zip(TWELVE, run.stats, strict=False)}
