"""Fourier transforms with what reads complex numbers, non-maximum suppression, and LiteRT's custom operator of detectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .build import Assembly
from .spec import Case, Tensor, axes, cases, each, f32, i32, number, x


def rfft_model(model: Assembly, value: Tensor, lengths: Tensor, *, part: str) -> None:
    """RFFT2D, and an operator that makes real numbers of its result."""
    main = model.writer
    spectrum = main.add_tensor("spectrum", (), "complex64")
    main.add_operator("RFFT2D", [model.add("in0", value), model.add("in1", lengths)], [spectrum])
    main.outputs = [main.add_tensor("out", (), "float32")]
    main.add_operator(part, [spectrum], main.outputs)


def boxes(count: int) -> Tensor:
    """Boxes that overlap by degrees: corners y1, x1, y2, x2."""
    places = np.linspace(0, 2, count, dtype=np.float32)
    return f32(count, 4, data=np.stack([places, places * 0.5, places + 0.9, places * 0.5 + 0.8], axis=1))


def scores(count: int) -> Tensor:
    return x(count, low=0.0, high=1.0)


def f(value: float) -> Tensor:
    return number(value, "float32")


FOURIER = [
    *(case for op in ("REAL", "IMAG", "COMPLEX_ABS") for case in cases(op, x(2, 4, 8), axes(4, 8), model=rfft_model, part=op)),
    *cases("RFFT2D", each(x(1, 16), x(3, 1, 16)), each(axes(1, 16), axes(1, 8)), model=rfft_model, part=each("REAL", "IMAG")),
]
SUPPRESSION = [
    *cases("NON_MAX_SUPPRESSION_V4", boxes(12), scores(12), each(number(4), number(12)), each(f(0.3), f(0.7)),
           each(f(0.0), f(0.4)), results=[i32(), i32()]),
    *cases("NON_MAX_SUPPRESSION_V5", boxes(12), scores(12), number(6), f(0.5), f(0.2), each(f(0.0), f(0.5)),
           results=[i32(), f32(), i32()]),
]


DETECTOR = {
    "max_detections": 6, "max_classes_per_detection": 1, "detections_per_class": 4, "use_regular_nms": False,
    "nms_score_threshold": 0.2, "nms_iou_threshold": 0.4, "num_classes": 3, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0,
    "w_scale": 5.0,
}
ANCHORS = f32(40, 4, low=0.1, high=0.9).const


def detection(note: str, **options: Any) -> list[Case]:
    """TFLite_Detection_PostProcess: boxes relative to anchors, their scores, and options as a FlexBuffers map."""
    from flatbuffers import flexbuffers

    return cases("TFLite_Detection_PostProcess", x(1, 40, 4, low=-1, high=1), x(1, 40, 4, low=0.0, high=1.0), ANCHORS,
                 results=[f32()] * 4, note=note, custom=bytes(flexbuffers.Dumps({**DETECTOR, **options})))


DETECTION = [
    *detection("fast"),
    *detection("two_classes", max_classes_per_detection=2),
    *detection("regular", use_regular_nms=True),
]

CASES = FOURIER + SUPPRESSION + DETECTION
