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


def complex_model(
        model: Assembly, value: Tensor, *more: Tensor, op: str, beside: bool = False, made: str = "",
        **options: Any) -> None:
    """RFFT2D of 4 x 8 numbers, an operator on the complex numbers it makes, and what is real of that.

    `more` are operands behind the complex one, which `beside` gives twice. `made` is the type of a real result; a complex one is
    taken apart.
    """
    main = model.writer
    spectrum = main.add_tensor("spectrum", (2, 4, 5), "complex64")
    main.add_operator("RFFT2D", [model.add("in0", value), model.add("lengths", axes(4, 8))], [spectrum])
    others = [model.add(f"more{index}", tensor) for index, tensor in enumerate(more)]
    result = main.add_tensor("made", (), made or "complex64")
    main.add_operator(op, [spectrum, *([spectrum] if beside else []), *others], [result], options)
    main.outputs = [result] if made else [main.add_tensor(part, (), "float32") for part in ("real", "imag")]
    if not made:
        for part, name in zip(("REAL", "IMAG"), main.outputs, strict=True):
            main.add_operator(part, [result], [name])


def complex_cases(op: str, *more: Tensor, **options: Any) -> list[Case]:
    return cases("COMPLEX_ABS", x(2, 4, 8), *more, note=f"behind-{op.lower()}", model=complex_model, op=op, **options)


def complex_from_real(model: Assembly, value: Tensor) -> None:
    """CAST of real numbers to complex ones, and their length."""
    main = model.writer
    made = main.add_tensor("made", (), "complex64")
    main.add_operator("CAST", [model.add("in0", value)], [made])
    main.outputs = [main.add_tensor("out", (), "float32")]
    main.add_operator("COMPLEX_ABS", [made], main.outputs)


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
NO_MASKS = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
COMPLEX = [
    *(case for made in ("float32", "int32", "bool") for case in complex_cases("CAST", made=made)),
    *complex_cases("CAST"),
    *complex_cases("SHAPE", made="int32", out_type="INT32"),
    *complex_cases("RANK", made="int32"),
    *complex_cases("RESHAPE", axes(4, 10)),
    *complex_cases("EXPAND_DIMS", number(1)),
    *complex_cases("TRANSPOSE", axes(2, 0, 1)),
    *complex_cases("SLICE", axes(0, 1, 0), axes(2, 2, 3)),
    *complex_cases("STRIDED_SLICE", axes(0, 0, 0), axes(2, 4, 5), axes(1, 2, 2), **NO_MASKS),
    *complex_cases("TILE", axes(1, 2, 1)),
    *complex_cases("MUL", beside=True, fused_activation_function="NONE"),
    *complex_cases("MUL", number(2 + 0.5j, "complex64"), fused_activation_function="NONE"),
    *complex_cases("MUL", Tensor((4, 5), "complex64", np.exp(1j * np.arange(20.0)).reshape(4, 5).astype(np.complex64)),
                   fused_activation_function="NONE"),
    *cases("COMPLEX_ABS", x(3, 4), note="behind-cast-to", model=complex_from_real),
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

CASES = FOURIER + COMPLEX + SUPPRESSION + DETECTION
