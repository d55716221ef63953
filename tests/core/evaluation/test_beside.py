"""Models side by side of which some do not say what their integers stand for, or lie beside a preprocess.toml."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import UsageError

from tests.support.graphs import Graph

DIGITS = Path(__file__).parents[3] / "examples" / "digits"
MODEL = DIGITS / "digits_float.onnx"


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty images in folders of their classes, 0 to 240."""
    image = pytest.importorskip("PIL.Image")
    held = np.load(DIGITS / "test_images.npz")
    folder = tmp_path_factory.mktemp("images")
    for number, (pixels, label) in enumerate(zip(held["images"][:40], held["labels"], strict=False)):
        (folder / str(label)).mkdir(exist_ok=True)
        image.fromarray((pixels * 15).astype(np.uint8)).save(folder / str(label) / f"{number}.png")
    return folder


@pytest.fixture(scope="module")
def integers(images: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A `.tflite` of integers, which says their scales, and its `.tosa` by itself, which does not."""
    folder = tmp_path_factory.mktemp("integers")
    transload.convert(MODEL, "tflite", folder / "a", quantize="int8", data=transload.open_samples(
        images, transload.load(MODEL), preprocess=transload.Preprocess(mean=(40.0,), scale=(1 / 250,))),
        quantizer_options={"quant_input": "all", "quant_output": "all"})
    model = shutil.copy(folder / "a" / "digits_float.tflite", folder / "model.tflite")
    transload.convert(model, "tosa", folder / "b")
    return model, Path(shutil.copy(folder / "b" / "model.tosa", folder / "model.tosa"))


@pytest.mark.parametrize("preprocess", [None, transload.Preprocess(mean=(40.0,), scale=(1 / 250,))])
def test_images_for_integers_of_which_one_model_alone_says_the_scale(
    integers: tuple[Path, Path], images: Path, preprocess: transload.Preprocess | None,
) -> None:
    alone = transload.evaluate(integers[0], images, preprocess=preprocess)
    for models in (integers, integers[::-1]):
        found = transload.evaluate(models, images, metrics=("top1", "agreement", "sqnr", "psnr"), preprocess=preprocess)
        assert {each["top1"].value for each in found.scores.values()} == {alone[str(integers[0])]["top1"].value}
        assert found[str(models[1])]["agreement"].value == 1 and found[str(models[1])]["sqnr"].value == np.inf
        assert any("integers of output" in note and "model.tosa" in note for note in found.notes)


def test_arrays_of_integers_and_of_reals(integers: tuple[Path, Path], tmp_path: Path) -> None:
    quant = transload.load(integers[0]).inputs["image"].element  # type: ignore[attr-defined]
    stored = np.random.default_rng(0).integers(-128, 128, (10, 1, 8, 8)).astype(np.int8)
    np.save(tmp_path / "stored.npy", stored)
    np.save(tmp_path / "real.npy", ((stored.astype(np.float64) - quant.zero_point) * quant.scale).astype(np.float32))
    for data in ("stored.npy", "real.npy"):
        found = transload.evaluate(integers, tmp_path / data, metrics=("agreement", "sqnr"))
        assert found[str(integers[1])]["sqnr"].value == np.inf


def test_integers_of_which_nothing_says_a_scale_are_not_compared_with_floats(tmp_path: Path, images: Path) -> None:
    giving = {"quant_output": "all"}
    out = transload.convert(MODEL, "tosa", tmp_path / "out", quantize="int8", data=images, quantizer_options=giving)
    alone = shutil.copy(out.files[0], tmp_path / "alone.tosa")
    for metric in ("sqnr", "cos", "euclid", "psnr"):
        for models in ((MODEL, alone), (alone, MODEL)):
            with pytest.raises(UsageError, match="nothing says what its integers stand for"):
                transload.evaluate(models, images, metrics=(metric,))
    assert transload.evaluate((MODEL, alone), images, metrics=("agreement",))[str(alone)]["agreement"].value > 0.9


@pytest.mark.parametrize("fuse", [False, True])
def test_the_file_beside_an_artifact_says_of_images_what_all_models_are_given(tmp_path: Path, images: Path, fuse: bool) -> None:
    said = transload.Preprocess(mean=(40.0,), scale=(1 / 250,))
    out = tmp_path / "out"
    transload.convert(MODEL, "tflite", out, quantize="int8", data=images, preprocess=said, fuse_preprocess=fuse)
    wanted = transload.evaluate(MODEL, images, preprocess=said)[str(MODEL)]["top1"].value
    for models in ((MODEL, out), (out, MODEL)):
        for preprocess in (None, said):
            found = transload.evaluate(models, images, metrics=("top1", "sqnr"), preprocess=preprocess)
            assert found[str(models[1])]["sqnr"].value > 20 and found[str(MODEL)]["top1"].value == wanted
            assert not any("is not gone by" in note for note in found.notes)


def test_an_artifact_whose_file_says_something_else_is_told_of(tmp_path: Path, images: Path) -> None:
    for name, scale in (("a", 1 / 255), ("b", 1 / 100)):
        transload.convert(MODEL, "tflite", tmp_path / name, quantize="int8", data=images, preprocess=transload.Preprocess(
            scale=(scale,)))
    found = transload.evaluate((MODEL, tmp_path / "a", tmp_path / "b"), images)
    (note,) = (note for note in found.notes if "is not gone by" in note)
    assert note.startswith(f"{tmp_path / 'b'}: its own preprocess.toml says 8x8 pixels") and "0.01" in note


@pytest.mark.parametrize("name", ["x0", "serving_default_x0:0"])
def test_a_layout_that_is_said_is_that_of_the_models_whose_inputs_have_it(images: Path, name: str) -> None:
    """Frameworks name inputs as they like: those in the same place are given the same."""
    first, last = Graph((1, 1, 8, 8)), Graph((1, 8, 8, 1))
    last.main.attributes["arg_attrs"][0]["ml_program.identifier"] = name
    models = first.done(first.Permute(first.Relu(first.inputs[0]), order=(0, 2, 3, 1))), last.done(last.Relu(last.inputs[0]))
    said = transload.Preprocess(mean=(40.0,), scale=(1 / 250,), channel_format="nhwc")
    for both in (models, models[::-1]):
        found = transload.evaluate(both, images, metrics=("sqnr",), preprocess=said)
        assert [each["sqnr"].value for each in found.scores.values() if each] == [np.inf]
        assert {note.rpartition(", ")[2] for note in found.notes} == {"nchw", "nhwc"}
    with pytest.raises(UsageError, match="as nhwc it takes 8"):
        transload.evaluate(models[0], images, metrics=("top1",), preprocess=said)
