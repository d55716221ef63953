"""Conversions with `fuse_preprocess`: the program takes pixels, the model's own runtime what is made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.cli import run as cli
from transload.errors import UsageError, VerificationError
from transload.samples.fused import Fused

from tests.support.onnx_models import make_model, node

Image = pytest.importorskip("PIL.Image")
MEAN, SCALE = (123.675, 116.28, 103.53), (0.0171, 0.0175, 0.0174)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A convolution with padding, a ReLU and a mean over 8x8 pixels, channels first."""
    rng = np.random.default_rng(5)
    nodes = [
        node("Conv", ["image", "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]), node("Relu", ["c"], ["r"]),
        node("GlobalAveragePool", ["r"], ["g"]), node("Flatten", ["g"], ["scores"])]
    constants = {"w": rng.standard_normal((4, 3, 3, 3)).astype(np.float32), "b": rng.standard_normal(4).astype(np.float32)}
    made = make_model(nodes, {"image": np.zeros((1, 3, 8, 8), np.float32)}, ["scores"], constants)
    (tmp_path / "model.onnx").write_bytes(made.SerializeToString())
    return tmp_path / "model.onnx"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    for number, pixels in enumerate(np.random.default_rng(6).integers(0, 256, (6, 10, 12, 3)).astype(np.uint8)):
        Image.fromarray(pixels).save(tmp_path / "images" / f"{number}.png")
    return tmp_path / "images"


PREPROCESS = transload.Preprocess(mean=MEAN, scale=SCALE, pixel_format="bgr", resize_dims=(9, 9))


@pytest.mark.parametrize("target", ["tosa", "stablehlo", "onnx", "tflite"])
def test_the_program_takes_pixels_and_is_verified(model: Path, images: Path, tmp_path: Path, target: str) -> None:
    made = transload.convert(model, target, tmp_path / "out", data=images, preprocess=PREPROCESS, fuse_preprocess=True)
    assert made.verified and made.verification is not None and made.verification.runtime == "onnxruntime"
    left = transload.Preprocess.read(tmp_path / "out" / "preprocess.toml")
    assert (left.resize_dims, left.crop, left.mean, left.scale) == ((9, 9), (8, 8), None, None)
    assert (left.pixel_format, left.channel_format) == ("rgb", "nhwc")
    given, wanted = (
        next(iter(transload.open_samples(images, inputs, preprocess=how)))["image"]
        for inputs, how in ((made.module, left), (transload.load(model), PREPROCESS)))
    assert given.shape == (1, 8, 8, 3) and given.dtype == np.uint8
    [answer] = transload.run(made.module, {"image": given}).values()
    [right] = transload.run(model, {"image": wanted}).values()
    np.testing.assert_allclose(answer, right, rtol=1e-4, atol=1e-4)


def test_numbers_made_of_pixels_are_rounded(tmp_path: Path) -> None:
    """Of pixels the program makes other last bits: whether a number is less than itself had to be the same."""
    how = transload.Preprocess(mean=MEAN, scale=SCALE, resize_dims=(32, 32))
    pixels = np.repeat(np.resize(np.arange(256, dtype=np.uint8), (1, 32, 32, 1)), 3, axis=3)
    like = np.zeros((1, 3, 32, 32), np.float32)
    path = tmp_path / "limit.onnx"

    def write(limit: Any) -> None:
        less = node("Less", ["image", "limit"], ["less"])
        path.write_bytes(make_model([less], {"image": like}, ["less"], {"limit": np.float32(limit)}).SerializeToString())

    write(0)
    write(Fused(transload.load(path), how).inside({"image": pixels})["image"][0, 0, 0, 5])  # one that is less in the program
    made = transload.convert(
        path, "tosa", tmp_path / "out", input_data={"image": pixels}, preprocess=how, fuse_preprocess=True)
    assert made.verification is not None and made.verification.passed
    assert made.verification.tensors[0].equal == 1 - 4 / 3072


def test_what_a_program_does_with_pixels_is_done_before_a_model_that_takes_none(
    model: Path, images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    """The file beside an artifact, given for the model itself: everywhere the numbers are those that it was made with."""
    fused, plain = tmp_path / "fused", tmp_path / "plain"
    how: dict[str, Any] = {"data": images, "preprocess": PREPROCESS}
    transload.convert(model, "onnx", fused, fuse_preprocess=True, **how)
    transload.convert(model, "onnx", plain, quantize="int8", quantizer_options={"quant_input": "all"}, **how)
    left = transload.Preprocess.read(fused / "preprocess.toml")
    wanted, made = (transload.open_samples(images, transload.load(model), preprocess=each) for each in (PREPROCESS, left))
    for one, other in zip(wanted, made, strict=True):
        np.testing.assert_allclose(one["image"], other["image"], rtol=1e-6)
    image = images / "0.png"
    for place in (model, plain):  # integers too, which are not pixels
        [[right], [answer]] = [
            transload.run(place, {"image": image}, preprocess=each).values() for each in (PREPROCESS, left)]
        assert np.array_equal(right, answer)
    [[right], [answer]] = [transload.run(fused, {"image": image}, preprocess=each).values() for each in (PREPROCESS, left)]
    assert np.array_equal(right, answer)
    found = transload.evaluate([model, fused, plain], images, metrics=["sqnr"], preprocess=left)
    assert found[str(fused)]["sqnr"].value > 60
    assert found[str(plain)]["sqnr"].value > 20
    table = tmp_path / "t.table"
    for data in (["--preprocess", fused / "preprocess.toml"],
                 ["--pixel-format", "bgr", "--resize", "9x9", "--mean", ",".join(map(str, MEAN)),
                  "--scale", ",".join(map(str, SCALE))]):
        assert cli(["calibrate", str(model), "--data", str(images), "-o", str(table), *map(str, data)]) == 0
        ranges, capsys_text = table.read_text(), capsys.readouterr()
        assert "bgr, nchw" in capsys_text.err
        table.rename(tmp_path / f"{len(data)}.table")
    assert (tmp_path / "2.table").read_text() == ranges


@pytest.mark.parametrize(("text", "says"), [
    ("[fused]\nmeann = 3", "did you mean 'mean'"), ("[fused]\ncrop = [3, 3]", "it has mean, scale"),
    ("[inputs.imag]\nmean = 3", "did you mean 'image'"), ("[inputs.nope.fused]\nmean = 3", "the inputs are 'image'")])
def test_a_file_that_says_what_there_is_not_is_refused_everywhere(
    model: Path, images: Path, tmp_path: Path, text: str, says: str, capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "p.toml").write_text(text)
    said = ["--preprocess", str(tmp_path / "p.toml")]
    data = ["--data", str(images), *said]
    for words in (
        ["run", model, "--input", images / "0.png", *said], ["convert", model, "-o", tmp_path / "o", *data],
        ["convert", model, "-o", tmp_path / "o", "--fuse-preprocess", *said], ["eval", model, model, "--metric", "sqnr", *data],
        ["calibrate", model, "-o", tmp_path / "o", *data],
    ):
        assert cli(list(map(str, words))) in (2, 3)
        assert says in capsys.readouterr().err.replace("\n", " ")


def test_a_program_that_is_wrong_is_found_in_the_fused_form(
    model: Path, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    inside = Fused.inside
    monkeypatch.setattr(Fused, "inside", lambda self, given: {name: array + 1 for name, array in inside(self, given).items()})
    made = transload.convert(model, "tosa", tmp_path / "out", data=images, preprocess=PREPROCESS, fuse_preprocess=True)
    assert made.verification is not None and made.verification.failed


@pytest.mark.parametrize("scheme", ["int8", "int8-sym", "int16x8"])
def test_quantized_there_is_no_float_op_before_the_output(model: Path, images: Path, tmp_path: Path, scheme: str) -> None:
    whole = transload.Preprocess(mean=128, scale=1 / 128)  # type: ignore[arg-type]
    made = transload.convert(
        model, "tosa", tmp_path / "out", data=images, preprocess=whole, fuse_preprocess=True, quantize=scheme)
    assert made.verified and made.report.quantization is not None and not made.report.quantization.floats
    measured = made.report.quantization.measured
    assert measured is not None and "image" not in [layer.name for layer in measured.layers]  # nothing is lost there
    first = next(op for op in made.module.ops() if op.operands)
    assert first.name == "tosa.rescale"
    [output] = made.verification.quantized  # type: ignore[union-attr]
    assert output.metrics["sqnr"] > 30


@pytest.mark.parametrize("scheme", ["int8", "int16x8"])
def test_quantized_it_runs_in_litert(model: Path, images: Path, tmp_path: Path, scheme: str) -> None:
    """Which widens signed bytes to 16 bits, and unsigned ones not."""
    pytest.importorskip("ai_edge_litert")
    whole = transload.Preprocess(mean=128, scale=1 / 128)  # type: ignore[arg-type]
    made = transload.convert(
        model, "tflite", tmp_path / "out", data=images, preprocess=whole, fuse_preprocess=True, quantize=scheme)
    assert made.verified and "tflite" in made.verification.engine  # type: ignore[union-attr]


def test_pixels_in_a_whole_step_are_exact_integers_of_int8(model: Path) -> None:
    """With one whole mean and one scale the input's integers are the pixels: no rounding comes before the first convolution."""
    module = transload.load(model)
    fused = Fused(module, transload.Preprocess(mean=128, scale=1 / 128))  # type: ignore[arg-type]
    from transload.api import at_hub
    from transload.passes.manager import Pipeline

    hub = at_hub(module)
    Pipeline.parse(fused.passes).run(hub)
    pixels = [{"image": np.full((1, 8, 8, 3), value, np.uint8)} for value in (60, 90, 120)]
    quantized = transload.quantize(hub, "int8", pixels)
    types = [op.result.quant for op in quantized.ops() if op.name == "top.Cast" and op.operands[0].quant is not None]
    assert types[0] is not None and (types[0].scale, types[0].zero_point) == (1 / 128, 0)


def test_the_artifact_is_compared_and_evaluated_on_pixels(model: Path, images: Path, tmp_path: Path) -> None:
    """Without a word about it: the file beside the artifact says what the program does itself."""
    out = tmp_path / "out"
    transload.convert(model, "tosa", out, data=images, preprocess=PREPROCESS, fuse_preprocess=True)
    beside = transload.Preprocess.read(out / "preprocess.toml")
    assert beside.is_fused and beside.whole() == transload.Preprocess(
        (9, 9), crop=(8, 8), mean=MEAN, scale=SCALE, pixel_format="bgr", channel_format="nchw")
    for inputs in (None, {"image": images / "0.png"}):
        [tensor] = transload.compare(model, out / "model.tosa", inputs).tensors
        assert tensor.metrics["cos"] > 0.99999
    found = transload.evaluate([model, out], images, metrics=("agreement", "sqnr"), preprocess=PREPROCESS)
    scores = found.scores[str(out)]
    assert scores["agreement"].value == 1 and scores["sqnr"].value > 80


def test_arrays_that_are_given_are_pixels(model: Path, tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (1, 8, 8, 3)).astype(np.uint8)
    made = transload.convert(
        model, "tosa", tmp_path / "out", input_data={"image": pixels}, preprocess=PREPROCESS, fuse_preprocess=True)
    assert made.verified
    with pytest.raises(UsageError, match="does not fit"):
        transload.convert(
            model, "tosa", tmp_path / "two", preprocess=PREPROCESS, fuse_preprocess=True,
            input_data={"image": np.zeros((1, 3, 8, 8), np.float32)})


def test_on_random_pixels_where_nothing_is_given(model: Path, tmp_path: Path) -> None:
    made = transload.convert(model, "tosa", tmp_path / "out", fuse_preprocess=True)
    assert made.verified and "0 to 255 as 0 to 1" in " ".join(made.report.notes)


def test_a_model_that_takes_no_image(tmp_path: Path) -> None:
    model = make_model([node("Relu", ["x"], ["y"])], {"x": np.zeros((7,), np.float32)}, ["y"])
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(UsageError, match="no image"):
        transload.convert(tmp_path / "model.onnx", "tosa", tmp_path / "out", fuse_preprocess=True)


def test_from_the_command_line(model: Path, images: Path, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)

    def asked(*more: str) -> int:
        return cli([
            "convert", str(model), "--data", str(images), "--mean", "127.5", "--scale", "0.0078125", "--fuse-preprocess", *more])

    assert asked("--verify=require", "-o", "out") == 0, capsys.readouterr()
    assert any("uint8 pixels" in note for note in json.loads((tmp_path / "out" / "report.json").read_text())["notes"])
    capsys.readouterr()
    assert asked("--show-pipeline") == 0 and "fuse-preprocess{input=image mean=127.5" in capsys.readouterr().out
    assert cli(["run", "out/model.tosa", "-i", str(images / "0.png")]) == 0
    assert "0 to 255" in capsys.readouterr().err


def test_the_pass_by_itself_makes_inputs_that_the_model_was_never_given(model: Path, tmp_path: Path) -> None:
    fuse = "fuse-preprocess{input=image mean=128 scale=0.01 pixel_format=rgb channel_format=nchw}"
    made = transload.convert(model, "tosa", tmp_path / "out", passes=fuse)
    assert made.verification is not None and made.verification.status == "skipped"
    assert "other inputs than the model's: 'image', tensor<1x3x8x8xf32>, is tensor<1x8x8x3x" in made.verification.why
    with pytest.raises(VerificationError, match="other inputs"):
        transload.convert(model, "tosa", tmp_path / "other", passes=fuse, verify="require")
    other = transload.convert(model, "tosa", tmp_path / "third", passes="canonicalize")
    assert other.verified
