"""Resizes, crops, colours, suppression."""

from __future__ import annotations

import numpy as np

from .spec import cases, each, ints, scalar, values, x

_WAYS = [{"align_corners": False, "half_pixel_centers": False}, {"align_corners": True, "half_pixel_centers": False},
         {"align_corners": False, "half_pixel_centers": True}]
_SIZES = each(ints(8, 10), ints(7, 4), ints(2, 3), ints(4, 5), ints(1, 1))
_COLOURS = {"low": 0.0, "high": 1.0}

_BOXES = values([[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, -0.1, 1.0, 0.9], [0.0, 10.0, 1.0, 11.0], [0.0, 10.1, 1.0,
    11.1],
                 [1.0, 101.0, 0.0, 100.0]], "float32")
_SCORES = values([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], "float32")
_TWO = values(np.tile(np.asarray(_BOXES.data, np.float32)[None, :, None], (2, 1, 1, 1)) / 100, "float32")
_LIMITS = (scalar(0.5, "float32"), scalar(0.4, "float32"))

CASES = [
    *cases("ResizeBilinear ResizeNearestNeighbor", x(1, 4, 5, 3), _SIZES, ways=_WAYS),
    *cases("ResizeBilinear", x(2, 4, 5, 1), ints(6, 6), ways=_WAYS, types="uint8 int32 float16"),
    *cases("ResizeNearestNeighbor", x(2, 4, 5, 1), ints(6, 6), ways=_WAYS, types="uint8 int32"),
    *cases("ResizeBicubic", x(1, 5, 6, 2), each(ints(8, 10), ints(3, 4)), ways=_WAYS),
    *cases("ResizeArea", x(1, 5, 6, 2), each(ints(3, 2), ints(10, 12), ints(4, 5)), align_corners=each(False, True)),
    *cases("ScaleAndTranslate", x(1, 5, 6, 2), ints(8, 4), values([1.6, 0.7], "float32").const, values([0.0, 0.5],
           "float32").const,
           kernel_type=each("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"),
           antialias=each(True, False)),
    *cases("CropAndResize", x(2, 6, 7, 3), values([[0.1, 0.2, 0.9, 0.8], [0.0, 0.0, 1.0, 1.0], [-0.2, 0.5, 0.6, 1.3]], "float32"),
           values([0, 1, 0], "int32"), each(ints(4, 3), ints(1, 1)), method=each("bilinear", "nearest"),
               extrapolation_value=each(0.0, -5.0)),
    *cases("RGBToHSV HSVToRGB", x(2, 3, 3, **_COLOURS)),
    *cases("RGBToHSV", values([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.5, 0.5, 0.2], [0.2, 0.7, 0.7]])),
    *cases("AdjustContrastv2", x(2, 3, 4, 3, **_COLOURS), each(values(0.5), values(2.0))),
    *cases("AdjustSaturation", x(3, 4, 3, **_COLOURS), each(values(0.5), values(3.0))),
    *cases("AdjustHue", x(3, 4, 3, **_COLOURS), each(values(0.3), values(-0.4))),
    # suppression
    *cases("NonMaxSuppressionV4", _BOXES, _SCORES, each(scalar(3), scalar(8)), scalar(0.5, "float32"), each(*(scalar(
        number, "float32") for number in (0.0, 0.55))), pad_to_max_output_size=True),
    *cases("NonMaxSuppressionV5", _BOXES, _SCORES, scalar(6), scalar(0.5, "float32"), scalar(0.2, "float32"),
           each(scalar(0.0, "float32"), scalar(0.5, "float32")), pad_to_max_output_size=True),
    *cases("NonMaxSuppression", _BOXES.const, _SCORES.const, scalar(3), iou_threshold=each(0.5, 0.95)),
    *cases("NonMaxSuppressionV2", _BOXES.const, _SCORES.const, scalar(5), scalar(0.5, "float32")),
    *cases("NonMaxSuppressionV3", _BOXES.const, _SCORES.const, scalar(5), *_LIMITS),
    *cases("NonMaxSuppressionV4", _BOXES.const, _SCORES.const, scalar(5), *_LIMITS, note="unpadded"),
    *cases("CombinedNonMaxSuppression", _TWO, x(2, 6, 2, low=0.3, high=1.0, dtype="float32"), scalar(3), each(scalar(4),
           scalar(9)), *_LIMITS,
           pad_per_class=each(False, True)),
    *cases("CombinedNonMaxSuppression", _TWO, x(2, 6, 1, low=0.3, high=1.0, dtype="float32"), scalar(2), scalar(2), *_LIMITS,
           clip_boxes=False),
    *cases("CombinedNonMaxSuppression", x(2, 6, 3, 4, low=0.0, high=1.0, dtype="float32"),
           x(2, 6, 3, low=0.3, high=1.0, dtype="float32"), scalar(2), each(scalar(4), scalar(9)), *_LIMITS,
           pad_per_class=each(False, True), note="boxes of each class"),
]
