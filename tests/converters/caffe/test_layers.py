"""Layers through the hub and TOSA against their definitions: a sample of the generated cases (`make coverage` runs all)."""

from __future__ import annotations

import time
from collections import Counter
from itertools import groupby

import numpy as np
import pytest

pytest.importorskip("google.protobuf", reason="the package 'protobuf' is not installed")

import transload
from transload.coverage_report import evidence
from transload.errors import ConversionError, ReadError
from transload.plugin_host import host

from tests.support.caffe_files import net_text
from tests.support.caffe_layers.cases import all_cases
from tests.support.caffe_layers.harness import Case, content_of, difference, lowered
from tests.support.caffe_layers.measure import FORMATS, NEAR, op_of

CASES = all_cases()
EVERY = 14
RNG = np.random.default_rng(0)
SAMPLE = sorted(
    {id(case): case for case in [*CASES[::EVERY], *(next(group) for _, group in groupby(CASES, op_of))]}.values(),
    key=lambda case: case.name)


def test_there_are_cases_of_every_layer() -> None:
    dialect = transload.load(text=content_of(CASES[0]), format="caffe") and host().dialects["caffe"].load
    declared = {name for name in transload.plugin.resolve(dialect).ops if not name.endswith(("Blob", "NoValue", "Filter"))}
    assert {op_of(case) for case in CASES} == declared and len(CASES) >= 600


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name[:90])
def test_a_layer_computes_what_it_is_defined_to(case: Case) -> None:
    assert difference(case, lowered(case)) <= NEAR


def test_the_evidence_is_of_the_cases_that_there_are() -> None:
    record = evidence("caffe", "tosa")
    counts = {op: cells["f32"]["cases"] for op, cells in record["results"].items()}
    by_layer = Counter(map(op_of, CASES))
    assert counts == by_layer, "run `make coverage`"
    assert record["formats"] == FORMATS


DROPOUT = 'layer { name: "d" type: "Dropout" bottom: "x" top: "y" dropout_param { dropout_ratio: 0.75 %s } }'
OLD_DROPOUT = 'layers { name: "d" type: DROPOUT bottom: "x" top: "y" dropout_param { dropout_ratio: 0.75 scale_train: false } }'


@pytest.mark.parametrize(("text", "factor"), [
    (DROPOUT % "", 1), (DROPOUT % "scale_train: true", 1), (DROPOUT % "scale_train: false", 0.25), (OLD_DROPOUT, 0.25),
    (DROPOUT % "sample_weights_test: false", 1),
])
def test_dropout_makes_up_for_what_training_did_not(text: str, factor: float) -> None:
    x = np.arange(6, dtype=np.float32).reshape(1, 6)
    old = 'name: "n" input: "x" input_shape { dim: 1 dim: 6 } ' + text
    module = transload.load(text=old, format="caffe")
    (y,) = transload.run(transload.lower(module, to="top"), {"x": x}).values()
    np.testing.assert_allclose(y, factor * x)


def test_dropout_at_random_is_refused() -> None:
    module = transload.load(text=net_text(DROPOUT % "sample_weights_test: true", x=(1, 6)), format="caffe")
    with pytest.raises(ConversionError, match="drops at random in inference, too"):
        transload.lower(module, to="top")


@pytest.mark.parametrize(("sizes", "noted"), [("min_size: 30.8", 1), ("min_size: 30 max_size: 60.5", 1), ("min_size: 30.0", 0)])
def test_sizes_with_fractions_are_noted(sizes: str, noted: int) -> None:
    layer = f'layer {{ name: "p" type: "PriorBox" bottom: "x" bottom: "i" top: "y" prior_box_param {{ {sizes} variance: 0.1 }} }}'
    notes = transload.load(text=net_text(layer, x=(1, 1, 2, 2), i=(1, 3, 100, 100)), format="caffe").notes
    assert sum("cuts the fractions off" in note for note in notes) == noted


def test_regions_far_beyond_the_image_are_pooled_in_full() -> None:
    pixels = (np.arange(2 * 3 * 8 * 10) * 37 % 101).astype(np.float32).reshape(2, 3, 8, 10)
    around = np.array([[0, -8, -30, 17, 30], [1, -400, -5, 9, 300], [1, 4, 12, 8, 20], [0, 5, 4, 1, 2]], np.float32)
    said = {"roi_pooling_param": {"pooled_h": 2, "pooled_w": 3, "spatial_scale": 1.0}}
    case = Case("ROIPooling", said, [pixels, around], [], 1)
    assert difference(case, lowered(case)) == 0


REFUSED = {
    'type: "Filter" bottom: "x" bottom: "x" top: "y"': "gives as many samples as its data say",
    'type: "Eltwise" bottom: "x" bottom: "x" top: "y" eltwise_param { coeff: 1 }': "1 coefficients for 2 bottoms",
    'type: "LRN" bottom: "x" top: "y" lrn_param { local_size: 4 }': "must be odd",
    'type: "Clip" bottom: "x" top: "y"': "no min or no max",
    'type: "Exp" bottom: "x" top: "y" exp_param { base: -3 }': "must be positive, or -1",
    'type: "Pooling" bottom: "x" top: "y" top: "m" pooling_param { pool: AVE kernel_size: 2 }': "gives a mask",
    'type: "Pooling" bottom: "x" top: "y" top: "m" pooling_param { pool: STOCHASTIC kernel_size: 2 }': "gives a mask",
    'type: "Crop" bottom: "x" bottom: "x" top: "y" crop_param { offset: 1 }': "takes 6 from 1 on",
    'type: "DetectionOutput" bottom: "x" bottom: "x" bottom: "x" top: "y" '
    "detection_output_param { num_classes: 2 keep_top_k: 3 }": "are not of 2 classes",
}


@pytest.mark.parametrize("layer", REFUSED)
def test_what_cannot_be_converted_says_why(layer: str) -> None:
    module = transload.load(text=net_text(f'layer {{ name: "l" {layer} }}', x=(1, 2, 6, 6)), format="caffe")
    with pytest.raises(ConversionError, match=r"l'|y'") as caught:
        transload.lower(module)
    assert REFUSED[layer] in str(caught.value)


@pytest.mark.parametrize(("layer", "shapes"), [
    ('type: "DetectionOutput" bottom: "x" bottom: "x" bottom: "z" top: "y" '
     "detection_output_param { num_classes: 2 keep_top_k: 3 }", [(1, 8), ()]),
    ('type: "LSTMUnit" bottom: "z" bottom: "x" bottom: "x" top: "y" top: "h"', [(1, 8), (1,)]),
])
def test_bottoms_of_too_few_dimensions(layer: str, shapes: list[tuple[int, ...]]) -> None:
    text = net_text(f'layer {{ name: "l" {layer} }}', x=shapes[0], z=shapes[1])
    with pytest.raises(ConversionError, match="has bottoms of fewer dimensions than it needs: tensor<"):
        transload.lower(transload.load(text=text, format="caffe"))


def test_a_pyramid_of_one_level_is_a_pooling() -> None:
    """Caffe hands on what it pools as it is, and makes more levels flat, each of them."""
    x = np.arange(48, dtype=np.float32).reshape(1, 3, 4, 4)
    for levels, shape in ((1, (1, 3, 1, 1)), (2, (1, 15))):
        said = f'layer {{ name: "p" type: "SPP" bottom: "x" top: "y" spp_param {{ pyramid_height: {levels} }} }}'
        module = transload.load(text=net_text(said, x=x.shape), format="caffe")
        for dialect in ("top", "tosa"):
            made = transload.run(transload.lower(module, dialect), {"x": x})["y"]
            assert made.shape == shape and list(made.reshape(-1)[:3]) == [15, 31, 47]


def test_windows_that_begin_behind_the_image_are_no_numbers() -> None:
    text = net_text('layer { name: "p" type: "Pooling" bottom: "x" top: "y" pooling_param { kernel_size: 2 stride: 3 } }', x=(1,
        1, 6, 6))
    with pytest.raises(ReadError, match="begin behind an image of 6 x 6"):
        transload.load(text=text, format="caffe")


@pytest.mark.parametrize("sizes", [
    "min_size: 1 max_size: -2", "min_size: 0", "min_size: nan", "min_size: 3 max_size: 2", "min_size: 1 aspect_ratio: nan",
    "min_size: 1 aspect_ratio: 0", "min_size: 1 aspect_ratio: inf"])
def test_boxes_of_no_size(sizes: str) -> None:
    text = net_text(f'layer {{ name: "p" type: "PriorBox" bottom: "x" bottom: "x" top: "y" prior_box_param {{ {sizes} }} }}',
                    x=(1, 1, 6, 6))
    with pytest.raises(ReadError, match="must be positive"):
        transload.load(text=text, format="caffe")


@pytest.mark.parametrize(("sizes", "ratios", "pixels", "refused"), [
    (6000, 1500, 8, ReadError), (1, 5000, 1, ReadError), (20_000, 1, 20, ReadError), (100, 4000, 1, None)])
def test_boxes_are_counted_before_they_are_made(sizes: int, ratios: int, pixels: int, refused: type | None) -> None:
    said = " ".join([f"min_size: {size + 1}" for size in range(sizes)] + [f"aspect_ratio: {1.5 + n / 64}" for n in range(ratios)])
    text = net_text(f'layer {{ name: "p" type: "PriorBox" bottom: "x" bottom: "x" top: "y" prior_box_param {{ {said} }} }}',
                    x=(1, 1, pixels, pixels))
    start = time.process_time()
    if refused is None:
        made = transload.lower(transload.load(text=text, format="caffe"), "top")
        assert str(made.outputs["y"]) == f"tensor<1x2x{pixels * pixels * sizes * (2 * ratios + 1) * 4}xf32>"
    else:
        with pytest.raises(refused, match="5,000 aspect ratios" if ratios == 5000 else "boxes, more than"):
            transload.load(text=text, format="caffe")
    assert time.process_time() - start < 12


def test_ratios_that_are_there_are_not_taken_again() -> None:
    from types import SimpleNamespace

    from transload_converters.caffe.geometry import prior_counts

    def made(flip: bool, *ratios: float) -> list[float]:
        return prior_counts(SimpleNamespace(aspect_ratio=ratios, flip=flip, min_size=(1.0,), max_size=()))[0]

    assert made(True, 2, 0.5, 2 + 5e-7, 3, 1, 1 - 9e-7) == [1, 2, 0.5, 3, 1 / 3]
    assert made(False, 2, 0.5, 2 - 2e-6) == [1, 2, 0.5, 2 - 2e-6]


@pytest.mark.parametrize(("said", "classes", "rows"), [
    ("", 3, 2 * 4), ("keep_top_k: -1 background_label_id: -1", 3, 3 * 4), ("background_label_id: 7", 2, 2 * 4),
    ("keep_top_k: 5", 3, 5), ("nms_param { top_k: 100 }", 3, 2 * 6)])
def test_boxes_are_counted_for_each_class_where_not_all_together(said: str, classes: int, rows: int) -> None:
    """SSD's default keeps what each class has left of its top_k; apart from each other, all of these are left."""
    lefts = np.arange(6, dtype=np.float32) * 0.125
    boxes = np.stack([lefts, lefts, lefts + 0.0625, lefts + 0.0625], axis=1).reshape(-1)
    inputs = {
        "l": np.zeros((1, 24), np.float32), "c": RNG.permutation(np.linspace(0.1, 0.9, 6 * classes)).astype(np.float32)[None],
        "p": np.stack([boxes, np.ones(24, np.float32)])[None]}
    nms = "" if "nms_param" in said else "nms_param { top_k: 4 }"
    text = net_text(
        f'layer {{ name: "o" type: "DetectionOutput" bottom: "l" bottom: "c" bottom: "p" top: "y" detection_output_param {{ '
        f"num_classes: {classes} {nms} {said} }} }}", **{name: value.shape for name, value in inputs.items()})
    for dialect in ("top", "tosa"):
        (found,) = transload.run(transload.lower(transload.load(text=text, format="caffe"), dialect), inputs).values()
        assert found.shape == (1, 1, rows, 7) and (found[..., 2] > 0).all()


@pytest.mark.parametrize("said", ["ratio: 0", "ratio: -1", "ratio: nan", "scale: -1", "scale: inf"])
def test_regions_of_no_size(said: str) -> None:
    inputs = {"s": (1, 2, 4, 4), "d": (1, 4, 4, 4), "i": (1, 3)}
    text = net_text(f'layer {{ name: "p" type: "Proposal" bottom: "s" bottom: "d" bottom: "i" top: "y" '
                    f'proposal_param {{ {said} }} }}', **inputs)
    with pytest.raises(ConversionError, match="both must be positive") as caught:
        transload.lower(transload.load(text=text, format="caffe"))
    assert caught.value.__cause__ is None


def test_a_power_of_a_half_is_no_root_of_what_is_below_zero() -> None:
    """Caffe raises by `pow`, which is infinite of -infinity, where a root is NaN."""
    text = net_text('layer { name: "p" type: "Power" bottom: "x" top: "y" power_param { power: 0.5 } }', x=(1, 4))
    x = np.array([[4, -np.inf, 0, -1]], np.float32)
    for dialect in ("top", "tosa"):
        made = transload.run(transload.lower(transload.load(text=text, format="caffe"), dialect), {"x": x})["y"]
        np.testing.assert_array_equal(made, np.array([[2, np.inf, 0, np.nan]], np.float32))


@pytest.mark.parametrize(("said", "number"), [
    ("power: 0", 1), ("power: 0 shift: 3 scale: 2", 1), ("power: 2 scale: 0 shift: 3", 9), ("scale: 0", 0),
    ("power: -1 scale: 0", np.inf), ("power: 0.5 scale: 0 shift: -1", np.nan), ("power: 1 scale: 0 shift: 4", 4)])
def test_a_power_that_no_input_changes_is_one_number(said: str, number: float) -> None:
    """Of infinity and NaN, too: Caffe writes the number and does not multiply."""
    text = net_text(f'layer {{ name: "p" type: "Power" bottom: "x" top: "y" power_param {{ {said} }} }}', x=(1, 4))
    x = np.array([[4, -np.inf, np.nan, 0]], np.float32)
    for dialect in ("top", "tosa"):
        made = transload.run(transload.lower(transload.load(text=text, format="caffe"), dialect), {"x": x})["y"]
        np.testing.assert_array_equal(made, np.full((1, 4), number, np.float32))


@pytest.mark.parametrize("power", ["inf", "-inf", "nan"])
def test_powers_that_are_no_numbers_are_converted_or_refused(power: str) -> None:
    text = net_text(f'layer {{ name: "p" type: "Power" bottom: "x" top: "y" power_param {{ power: {power} }} }}', x=(1, 4))
    try:
        transload.lower(transload.load(text=text, format="caffe"), "tosa")
    except ConversionError as error:
        assert "power" in str(error).lower() or "finite" in str(error)
