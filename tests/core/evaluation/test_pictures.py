"""Scores of pictures: where classes lie, and what a model sees of a picture put back into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload import Preprocess
from transload.errors import ReadError, UsageError
from transload.evaluation.detection import detections
from transload.evaluation.labels import labels_of
from transload.evaluation.pictures import classes_of, overlaps, pixels
from transload.evaluation.scores import cosine, energies, squared_error
from transload.evaluation.seen import Seen, Shown, shown_of, window_of
from transload.ir import F32, TensorType, set_results

from tests.support.graphs import Graph


@pytest.mark.parametrize("sizes", [(16, 16), (30, 12)])
def test_more_classes_than_rows_are_found_by_what_is_known(sizes: tuple[int, int]) -> None:
    """[1, 21, 16, 16] was taken for 21 rows, as there are fewer columns than that."""
    scores = np.random.default_rng(0).normal(size=(1, 21, *sizes))
    wanted = scores[0].argmax(axis=0)
    last = np.moveaxis(scores, 1, -1)
    for given in (scores, last):
        assert (classes_of(given, [sizes]) == wanted).all()
        assert pixels({"y": given}, None, {"y": scores if given is last else last}) == 1.0, "the other model's output tells"
        assert {row[1] == row[2] for row in overlaps({"y": given}, wanted, None)} == {True}
    assert (classes_of(last, layout="nhwc") == wanted).all()
    with pytest.raises(UsageError, match=r"nothing says whether classes come first or last in an output of shape \(1, 21"):
        classes_of(scores)


@pytest.mark.parametrize("shape", [(1, 2, 16, 16), (1, 16, 16, 13)])
def test_rows_and_columns_of_an_input_of_other_channels_tell_where_classes_lie(shape: tuple[int, ...]) -> None:
    """Two models of one kind: nothing else tells, of arrays."""
    of = shown_of({"x": TensorType(shape, F32)}, {})
    random = np.random.default_rng(0)
    for axis in (1, -1):
        ours, theirs = (np.moveaxis(random.normal(size=(1, 5, 16, 16)), 1, axis) for _ in range(2))
        wanted = (ours.argmax(axis) == theirs.argmax(axis)).mean()
        assert pixels({"y": ours}, Seen(None, of, of), {"y": theirs}) == wanted


def test_a_share_of_one_class_is_one_from_a_half_on() -> None:
    share = np.array([[[[0.2, 0.99], [0.5, 0.51]]]], np.float32)
    assert classes_of(share).tolist() == [[0, 1], [0, 1]]
    assert classes_of(np.log(share + 0.01) - np.log(1.01 - share)).tolist() == [[0, 1], [0, 1]], "logits"
    assert classes_of(np.array([[[[0.2, 3.5], [np.nan, 0.4]]]], np.float32)).tolist() == [[1, 1], [0, 1]], "no share is above 1"
    assert classes_of(np.array([[[[-0.3, np.nan], [0.1, 0.4]]]], np.float32)).tolist() == [[0, 0], [1, 1]]
    assert classes_of(np.array([[[[-0.1, 0.3], [1.1, 0.6]]]], np.float32)).tolist() == [[0, 0], [1, 1]], "shares, enlarged"
    assert classes_of(np.array([[[0.0, 3.0], [1.0, 255.0]]], np.float32)).tolist() == [[0, 3], [1, 255]]
    assert classes_of(np.array([[[0, 3]]], np.int8)).tolist() == [[0, 3]]


def test_pictures_of_other_sizes_are_not_compared_pixel_by_pixel() -> None:
    with pytest.raises(UsageError, match="16x16 pixels cannot be compared with one of 8x8"):
        pixels({"y": np.zeros((1, 1, 16, 16))}, None, {"y": np.zeros((1, 1, 8, 8))})


@pytest.mark.parametrize("of", [
    {}, {"resize_dims": (40, 50)}, {"keep_aspect_ratio": True}, {"keep_aspect_ratio": True, "pad_type": "normal"},
    {"keep_aspect_ratio": True, "keep_ratio_mode": "short_side_scale"}, {"keep_aspect_ratio": True, "resize_dims": (60, 44)},
    {"keep_aspect_ratio": True, "keep_ratio_mode": "short_side_scale", "resize_dims": (40, 60)}], ids=str)
@pytest.mark.parametrize("sizes", [(64, 128), (150, 90)])
def test_what_a_model_sees_is_put_back_where_it_was(tmp_path: Path, of: dict[str, Any], sizes: tuple[int, int]) -> None:
    """An image whose pixels say where they are, decoded: what stands in the middle of the input says where that was."""
    image = pytest.importorskip("PIL.Image")
    rows, columns = sizes
    plane = np.stack([*np.mgrid[:rows, :columns], np.full(sizes, 200)], axis=-1).astype(np.uint8)
    image.fromarray(plane).save(tmp_path / "x.png")
    samples = transload.open_samples(tmp_path, {"x": TensorType((1, 32, 32, 3), F32)}, preprocess=Preprocess(
        **of, mean=(0.0,), scale=(1.0,)))
    (made,) = samples
    upper, left, height, width = window_of(shown_of(samples.types, samples.images), rows, columns)
    for row, column in ((11, 11), (12, 20), (20, 9)):
        place = np.array([(row + 0.5) / 32 * height + upper, (column + 0.5) / 32 * width + left]) - 0.5
        said = made["x"][0, row, column]
        if ((place >= 2) & (place < np.array(sizes) - 2)).all():
            assert said[2] == 200 and np.abs(said[:2] - place).max() < 1.5, (place, said)
        else:
            assert not said.any(), "padding"


def shown(**of: Any) -> Shown:
    type_ = TensorType((1, 3, 52, 52), F32)
    return shown_of({"x": type_}, {"x": Preprocess(**of).settled("x", type_)})


def test_boxes_are_put_back_into_the_picture() -> None:
    label = {"image_id": 1, "width": 200, "height": 100, "objects": []}
    outputs = {
        "boxes": np.array([[[0.25, 0.0, 0.75, 0.5]]]), "classes": np.zeros((1, 1)), "scores": np.ones((1, 1)), "n": np.ones(1)}

    def box(of: Shown) -> list[float]:
        return detections(outputs, Seen(label, of), None)[0][0][3:]

    assert box(shown()) == [0, 25, 100, 50]
    assert box(shown(keep_aspect_ratio=True)) == pytest.approx([0, 0, 100, 100]), "a quarter above and below is padding"
    assert box(shown(resize_dims=(104, 104))) == pytest.approx([50, 37.5, 50, 25]), "the middle half"


def test_masks_count_where_a_model_sees_the_picture() -> None:
    truth = np.zeros((100, 200), np.uint8)
    truth[:, 100:] = 1
    found = np.zeros((1, 1, 52, 52), np.int64)
    found[..., 26:] = 1
    found[:, :, :13] = 7  # padding
    found[:, :, -13:] = 7
    assert overlaps({"y": found}, Seen(truth, shown(keep_aspect_ratio=True)), None) == [[0, 10000, 10000], [1, 10000, 10000]]
    cropped = overlaps({"y": found[:, :, 13:39]}, Seen(truth, shown(resize_dims=(104, 104))), None)
    assert cropped == [[0, 2500, 2500], [1, 2500, 2500]], "what is cut off does not count"


@pytest.mark.parametrize("mode", ["1", "L", "RGB", "P"])
def test_masks_are_numbers_of_classes(tmp_path: Path, mode: str) -> None:
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "i").mkdir()
    (tmp_path / "m").mkdir()
    plane = np.arange(16, dtype=np.uint8).reshape(4, 4) % 2
    image.fromarray(plane).save(tmp_path / "i" / "x.png")
    made = image.fromarray(plane * 255).convert("1") if mode == "1" else image.fromarray(plane)
    if mode == "P":
        made.putpalette([0, 0, 0, 200, 10, 10])
    (made.convert("RGB") if mode == "RGB" else made).save(tmp_path / "m" / "x.png")
    samples = transload.open_samples(tmp_path / "i", {"x": TensorType((1, 1, 4, 4), F32)})
    label = labels_of(samples, tmp_path / "m")("x.png")
    if mode == "RGB":
        with pytest.raises(UsageError, match="3 numbers a pixel are a colour"):
            overlaps({"y": plane}, label, None)
    else:
        assert overlaps({"y": plane[None].astype(np.int64)}, label, None) == [[0, 8, 8], [1, 8, 8]]


@pytest.mark.parametrize(("channels", "of"), [
    (1, {}), (3, {}), (3, {"pixel_format": "bgr", "mean": (1.0, 2.0, 3.0), "scale": (0.1, 0.2, 0.3)})], ids=str)
def test_label_pictures_have_the_numbers_of_the_input(
    tmp_path: Path, channels: int, of: dict[str, Any],
) -> None:
    """An identity is without error, whatever becomes of pixels: labels stayed 0 to 255, beside an input of 0 to 1."""
    image = pytest.importorskip("PIL.Image")
    draw = np.random.default_rng(0)
    for name in ("a.png", "b.png"):
        image.fromarray(draw.integers(0, 256, (16, 16, 3)[: 2 + (channels > 1)], np.uint8)).save(tmp_path / name)
    g = Graph((1, channels, 16, 16))
    model = g.done(g.Reshape(g.inputs[0], shape=(1, channels, 16, 16)))
    found = transload.evaluate(model, tmp_path, labels=tmp_path, metrics=["psnr"], preprocess=Preprocess(**of))
    assert next(iter(found.scores.values()))["psnr"].value == np.inf


@pytest.mark.parametrize("turned", range(1, 9))
@pytest.mark.parametrize("metric", ["psnr", "miou"])
def test_labels_are_turned_as_their_exif_says(tmp_path: Path, metric: str, turned: int) -> None:
    """As inputs are: label pictures lay as they are stored, beside inputs that are upright."""
    image = pytest.importorskip("PIL.Image")
    shape, mode = ((16, 12, 3), "RGB") if metric == "psnr" else ((16, 12), "P")
    stored = np.random.default_rng(0).integers(0, 2, shape, np.uint8)
    exif = image.Exif()
    exif[0x0112] = turned
    picture = image.fromarray(stored * 255 if mode == "RGB" else stored)
    if mode == "P":
        picture.putpalette([0, 0, 0, 255, 255, 255])
    picture.save(tmp_path / "x.png", exif=exif)
    rows, columns = (12, 16) if turned > 4 else (16, 12)
    g = Graph((1, 3, rows, columns))
    ends = (1, 3 if metric == "psnr" else 1, rows, columns)
    model = g.done(g.Slice(g.inputs[0], offset=(0,) * 4, steps=(1,) * 4, ends=ends))
    found = transload.evaluate(model, tmp_path, labels=tmp_path, metrics=[metric])
    assert next(iter(found.scores.values()))[metric].value == (np.inf if metric == "psnr" else 1.0)


def test_masks_with_damaged_exif(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Pillow warns of some damage, and raises `struct.error` of other: neither goes out raw."""
    image = pytest.importorskip("PIL.Image")
    exif = image.Exif()
    exif[0x0112], exif[0x011A] = 6, 72.0
    raw, stored = exif.tobytes(), np.arange(8, dtype=np.uint8).reshape(2, 4)
    for name, place, byte in (("odd", 23, b"\2"), ("wrong", 29, b"\0")):  # two orientations; a width that is a fraction
        image.fromarray(stored).save(tmp_path / f"{name}.png", exif=raw[:place] + byte + raw[place + 1:])
    find = labels_of(transload.open_samples(tmp_path, {"x": TensorType((1, 1, 4, 2), F32)}), tmp_path)
    assert np.array_equal(find("odd.png"), np.rot90(stored, -1))
    with pytest.raises(ReadError, match=r"wrong\.png: cannot be read"):
        find("wrong.png")
    assert not [str(each.message) for each in recwarn.list]


def test_outputs_are_compared_by_name_and_in_one_layout() -> None:
    first = {"a": np.random.default_rng(0).normal(size=(1, 3, 4, 5)), "b": np.ones((2, 2))}
    other = {"b": first["b"], "a": np.moveaxis(first["a"], 1, -1)}
    assert [row[1] for row in energies(other, None, first)] == [0.0, 0.0]
    assert cosine(other, None, first) == pytest.approx(1.0)
    assert squared_error({"y": other["a"]}, None, {"y": first["a"]})[0] == 0.0
    with pytest.raises(UsageError, match="cannot be compared"):
        energies({"a": first["a"].transpose(0, 3, 2, 1)}, None, {"a": first["a"]})


@pytest.mark.parametrize(("mask", "said"), [
    (np.full((2, 2), 7), "a mask holds class 7, and the model has classes 0 to 3"), (np.full((2, 2), -1), "class -1"),
    (np.full((2, 2), 1.5), "not whole"), (np.full((2, 2), np.nan), "not whole"),
    (np.full((2, 2), -np.inf), "not whole"), (np.full((2, 2), "cat"), "not whole"), (np.full((2, 2), 1j), "not whole"),
    (3, "miou needs masks"), (None, "miou needs masks"),
])
def test_masks_that_cannot_be_right(mask: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        overlaps({"y": np.zeros((1, 4, 2, 2), np.float32)}, mask, None)


PICTURES = [(8, 12), (4, 6), (16, 24), (5, 8)]


@pytest.mark.parametrize(("sizes", "preprocess", "said"), [
    *((sizes, Preprocess(), "") for sizes in PICTURES), ((8, 8), Preprocess(), ""),
    ((12, 8), Preprocess(), r"masks of 12x8 pixels are for a picture of 8x12, which has another shape \(as if turned\)"),
    ((4, 4), Preprocess(), "masks of 4x4 pixels"), ((8, 8), Preprocess(keep_aspect_ratio=True), "masks of 8x8 pixels"),
    ((8, 8), Preprocess(resize_dims=(12, 12)), "masks of 8x8 pixels"), ((8, 12), Preprocess(resize_dims=(12, 12)), ""),
], ids=str)
def test_masks_have_the_shape_of_their_pictures(
    tmp_path: Path, sizes: tuple[int, int], preprocess: Preprocess, said: str,
) -> None:
    """Masks that were turned, or a corner of it, were stretched over the picture without a word, and a share of it given."""
    image = pytest.importorskip("PIL.Image")
    for folder, made in (("i", np.zeros((8, 12, 3), np.uint8)), ("m", np.zeros(sizes, np.uint8))):
        (tmp_path / folder).mkdir()
        image.fromarray(made).save(tmp_path / folder / "x.png")
    g = Graph((1, 3, 8, 8))
    model = g.done(g.Reshape(g.inputs[0], shape=(1, 3, 8, 8)))

    def judged() -> Any:
        return transload.evaluate(model, tmp_path / "i", labels=tmp_path / "m", metrics=["miou"], preprocess=preprocess)

    if not said:
        assert judged().samples == 1
        return
    with pytest.raises(UsageError, match=f"^x.png: {said}"):
        judged()


def test_masks_have_the_shape_of_arrays() -> None:
    given = Seen(np.zeros((12, 8), np.uint8), Shown((8, 12), "nchw"))
    found = np.zeros((1, 3, 8, 12), np.float32)
    with pytest.raises(UsageError, match="masks of 12x8 pixels are for a picture of 8x12"):
        overlaps({"y": found}, given, None)
    assert overlaps({"y": found}, Seen(np.zeros((4, 6), np.uint8), given.shown), None) == [[0, 24, 24]]


def test_annotations_have_the_shape_of_their_picture() -> None:
    outputs = {"boxes": np.zeros((1, 1, 4)), "classes": np.zeros((1, 1)), "scores": np.ones((1, 1)), "n": np.ones(1)}
    label = {"image_id": 1, "width": 100, "height": 200, "objects": []}
    with pytest.raises(UsageError, match="annotations of 200x100 pixels are for a picture of 100x200"):
        detections(outputs, Seen(label, shown(), picture=(100, 200)), None)
    assert detections(outputs, Seen(label, shown(), picture=(400, 200)), None)


@pytest.mark.parametrize("none", [False, True])
def test_masks_of_nothing_that_counts(tmp_path: Path, none: bool, recwarn: pytest.WarningsRecorder) -> None:
    """Draws of such samples alone warned of the mean of an empty slice, and nothing said why the score is NaN."""
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "i").mkdir()
    (tmp_path / "m").mkdir()
    for name in "abc":
        image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / "i" / f"{name}.png")
        image.fromarray(np.full((4, 4), 255 if none or name == "b" else 0, np.uint8)).save(tmp_path / "m" / f"{name}.png")
    g = Graph((1, 3, 4, 4))
    model = g.done(g.Reshape(g.inputs[0], shape=(1, 3, 4, 4)))
    found = transload.evaluate(model, tmp_path / "i", labels=tmp_path / "m", metrics=["miou"])
    assert not [each for each in recwarn if issubclass(each.category, RuntimeWarning)]
    assert np.isnan(next(iter(found.scores.values()))["miou"].value) == none
    assert any("miou: nothing counts in any of the 3 samples" in note for note in found.notes) == none


def test_pixels_that_do_not_count_are_no_class() -> None:
    assert overlaps({"y": np.zeros((1, 4, 2, 2), np.float32)}, np.array([[255, 0], [255.0, 0]]), None) == [[0, 2, 2]]


@pytest.mark.parametrize("metric", ["agreement", "pixels", "psnr", "top1"])
def test_the_first_output_is_the_first_models(metric: str) -> None:
    """It was the first of each model, whatever it was called, beside scores of outputs of the same name."""
    x = np.random.default_rng(0).normal(size=(5, 1, 3, 4, 5)).astype(np.float32)
    models = []
    for order in (("p", "q"), ("q", "p")):
        g = Graph((1, 3, 4, 5))
        made = {"p": g.Relu(g.inputs[0]), "q": g.Reverse(g.inputs[0], axes=(1,))}
        set_results(g.main, [made[name] for name in order], list(order))
        models.append(g.module)
    found = transload.evaluate(models, x, metrics=[metric], labels=[3] * 5 if metric == "top1" else None)
    first, second = (found[name] for name in found)
    assert second[metric].value == (first[metric].value if metric == "top1" else np.inf if metric == "psnr" else 1.0)


def test_classes_are_no_pictures() -> None:
    g = Graph((1, 4))
    model = g.done(g.Relu(g.inputs[0]))
    with pytest.raises(UsageError, match="is a class, and psnr takes labels that are pictures"):
        transload.evaluate([model, model], np.ones((2, 4), np.float32), metrics=["psnr"], labels=[1, 2])
