"""Non-maximum suppression that wants more boxes than there are, or none, against LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload_converters.tflite.undefined import undefined
from transload_converters.tflite.writer import ModelWriter

from tests.support.litert import run_litert
from tests.support.tflite_models import read_bytes, write_operator

pytest.importorskip("ai_edge_litert")


@pytest.mark.parametrize("operator", ["NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"])
@pytest.mark.parametrize("wanted", [0, 3, 5, 9])
@pytest.mark.parametrize("options", [{}, {"postprocess": "custom"}])
def test_places_for_which_there_is_no_box_hold_zeros(operator: str, wanted: int, options: dict[str, Any]) -> None:
    """More boxes than there are were refused, and none."""
    generator = np.random.default_rng(3)
    corner = generator.uniform(0, 1, (5, 2))
    boxes = np.concatenate([corner, corner + generator.uniform(0.1, 0.5, (5, 2))], 1).astype(np.float32)
    given = {"in0": boxes, "in1": generator.uniform(0, 1, 5).astype(np.float32)}
    thresholds = [0.5, 0.1, *([0.0] if operator.endswith("5") else [])]
    scores = [((wanted,), "float32")] if operator.endswith("5") else []
    content = write_operator(
        operator, [((5, 4), "float32"), ((5,), "float32"), ((), "int32", np.array(wanted, np.int32)), *(
            ((), "float32", np.array(each, np.float32)) for each in thresholds)],
        [((wanted,), "int32"), *scores, ((), "int32")])
    ours = transload.run(transload.lower(read_bytes(content), "top", **options), given).values()
    for mine, theirs in zip(ours, run_litert(content, given, True), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


@pytest.mark.parametrize(("tied", "flat", "why"), [
    (False, False, ""), (True, False, "boxes of equal scores in no order"),
    (False, True, "a box without an area again and again")])
def test_boxes_of_which_litert_selects_any(tied: bool, flat: bool, why: str) -> None:
    """Behind a sigmoid that saturates its verification failed."""
    generator = np.random.default_rng(3)
    corner = generator.uniform(0, 1, (9, 2))
    boxes = np.concatenate([corner, corner + generator.uniform(0.1, 0.5, (9, 2))], 1).astype(np.float32)
    scores = generator.uniform(0.2, 1, 9).astype(np.float32)
    if tied:
        scores[:] = 1
    if flat:
        boxes[4, 2] = boxes[4, 0]
        scores[4] = 1
    model = ModelWriter()
    given = [model.add_tensor("boxes", (9, 4), "float32"), model.add_tensor("scores", (9,), "float32")]
    held = [model.add_tensor(name, (), type_, np.array(number, type_)) for name, type_, number in (
        ("most", "int32", 6), ("iou", "float32", 0.5), ("least", "float32", 0.1), ("sigma", "float32", 0))]
    boxes_again = model.add_tensor("b", (9, 4), "float32")
    model.add_operator("ABS", [given[0]], [boxes_again])
    made = [model.add_tensor("i", (6,), "int32"), model.add_tensor("s", (6,), "float32"), model.add_tensor("n", (), "int32")]
    model.add_operator("NON_MAX_SUPPRESSION_V5", [boxes_again, given[1], *held], made)
    model.inputs, model.outputs = given, made
    module = read_bytes(model.finish())
    hub, inputs = transload.lower(module, "top"), {"boxes": boxes, "scores": scores}
    said = undefined(module, hub, inputs)
    assert said == (f"i: LiteRT selects {why}" if why else "")
    ours, theirs = transload.run(hub, inputs).values(), run_litert(model.finish(), inputs, True)
    assert all(np.allclose(*pair) for pair in zip(ours, theirs, strict=True)) == (not why)


def test_options_of_detections_are_numbers_and_unfold_no_more() -> None:
    """60 vectors, each of which names the one before it twice, were unfolded; a text was taken as true."""
    from flatbuffers import flexbuffers

    from transload.errors import ConversionError

    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("max_detections")
        builder.Int(3)
        builder.Key("use_regular_nms")
        builder.String("x")
    numbers = [((1, 5, 4), "float32"), ((1, 5, 3), "float32"), ((5, 4), "float32", np.ones((5, 4), np.float32))]
    results = [((1, 3, 4), "float32"), ((1, 3), "float32"), ((1, 3), "float32"), ((1,), "float32")]
    content = write_operator("TFLite_Detection_PostProcess", numbers, results, custom_options=bytes(builder.Finish()))
    with pytest.raises(ConversionError) as raised:
        transload.lower(read_bytes(content), "top")
    assert "use_regular_nms what is no number" in str(raised.value.findings)
