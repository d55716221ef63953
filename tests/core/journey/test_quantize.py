"""Quantizing as a stage of the journey: its place, its dump, its verdict and what the report says of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.cli.quantized import need_page
from transload.context import Context
from transload.convert_model import Artifact
from transload.errors import UsageError
from transload.ir import Module
from transload.made_with import made_with
from transload.plugin import Quantized, Quantizer
from transload.plugin_host import Host
from transload.quantization import Quantization
from transload.samples.samples import Data
from transload.verification.asked import unverified
from transload.verification.tolerance import Tolerance

from tests.support.graphs import summing

Convert = Callable[..., Artifact]


@pytest.fixture(scope="module")
def images(examples: Path) -> np.ndarray:
    return (np.load(examples / "digits" / "test_images.npz")["images"][:64] / 16).astype(np.float32)


@pytest.fixture
def convert(examples: Path, images: np.ndarray, tmp_path: Path) -> Convert:
    def call(target: str = "tosa", model: str = "digits_float.onnx", **asked: Any) -> Artifact:
        given = {"quantize": "int8-asym", "data": Data(images, 16), **asked}
        return transload.convert(examples / "digits" / model, target, tmp_path / "out", **given)

    return call


def test_the_integers_are_judged_and_the_cost_of_quantizing_is_told(convert: Convert, tmp_path: Path) -> None:
    artifact = convert()
    checked = artifact.verification
    assert checked is not None and checked.passed and checked.runtime == "the quantized module" and checked.samples == 16
    assert all(tensor.metrics["max_abs"] == 0 for tensor in checked.tensors)
    (beside,) = checked.quantized
    assert beside.metrics["sqnr"] > 20 and beside.agreement is not None and beside.agreement >= 0.9 and beside.shape == [16, 10]
    assert "beside the float model, run by onnxruntime" in checked.notes
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["quantization"] == {
        "scheme": "int8-asym", "options": {}, "samples": 16, "skipped": {}, "preprocess": {}, "floats": {},
        "details": report["quantization"]["details"], "measured": report["quantization"]["measured"],
        "types": report["quantization"]["types"]}
    assert {layer["name"] for layer in report["quantization"]["measured"]["layers"]} >= {"probabilities"}
    assert report["quantization"]["types"]["conv1"].startswith("!quant.uniform<i8:f32, ")
    assert report["verification"]["quantized"][0]["agreement"] == beside.agreement
    assert list(report["seconds"]) == [
        "read", "onnx-to-top", "hub", "quantize", "top-to-tosa", "pipeline", "check", "emit", "verify"]


def test_a_limit_that_is_set_is_for_the_float_model(convert: Convert) -> None:
    verdict = convert(tolerance=["sqnr=80"]).verification
    assert verdict is not None and verdict.failed and "sqnr" in verdict.broken[0] and len(verdict.broken) == 1
    assert verdict.is_costly and verdict.tensors[0].metrics["sqnr"] == np.inf
    doubt = unverified(verdict)
    assert doubt is not None and doubt.message == "converted, but quantizing cost more than is allowed"
    assert doubt.findings[0].why.endswith("allowed 80, beside the float model") and "--per-layer" not in str(doubt.hint)
    wrong = unverified(dataclasses.replace(verdict, is_costly=False))
    assert wrong is not None and "does not compute what the quantized module computes" in wrong.message
    verdict = convert(tolerance=["sqnr=15"]).verification
    assert verdict is not None and verdict.passed
    verdict = convert(tolerance=Tolerance(cos=0.9, euclid=0.5, integer=10 ** 6)).verification
    assert verdict is not None and verdict.passed


def test_a_poor_result_that_no_limit_was_set_for_is_said_to_be_poor(
    convert: Convert, examples: Path, images: np.ndarray, tmp_path: Path,
) -> None:
    """Ranges of a sixteenth leave little of the model; the integers are right all the same."""
    table = transload.calibrate(transload.load(examples / "digits" / "digits_float.onnx"), [
        {"image": image.reshape(1, 1, 8, 8)} for image in images[:16]])
    table.ranges.update({name: (low / 16, high / 16) for name, (low, high) in table.ranges.items() if name != "image"})
    narrow = {"calibration": table}
    verdict = convert(quantizer_options=narrow).verification
    assert verdict is not None and verdict.passed and verdict.why.startswith("poor: probabilities ")
    assert "no limit was asked for" in verdict.why
    assert json.loads((tmp_path / "out" / "report.json").read_text())["verification"]["why"] == verdict.why
    limited = convert(quantizer_options=narrow, tolerance=["sqnr=-10"]).verification
    assert limited is not None and limited.passed and not limited.why
    near = convert().verification
    assert near is not None and near.passed and not near.why


@pytest.mark.parametrize(("off", "same"), [(2.0**-24, True), (2.0**-13, False)])
def test_other_roundings_of_the_same_integers_are_the_same(
    convert: Convert, monkeypatch: pytest.MonkeyPatch, off: float, same: bool,
) -> None:
    """Floats that a runtime makes of integers otherwise differ in their last bits; steps are 2^-8 here."""
    from transload.verification import running

    run = running.Running.__call__
    monkeypatch.setattr(running.Running, "__call__", lambda self, given: {
        name: array + np.float32(off) * (array > 0.1) for name, array in run(self, given).items()})
    verdict = convert().verification
    assert verdict is not None and verdict.passed == same


def test_a_result_of_other_integers_fails(convert: Convert, monkeypatch: pytest.MonkeyPatch) -> None:
    from transload.verification import running

    run = running.Running.__call__
    monkeypatch.setattr(running.Running, "__call__", lambda self, given: {
        name: array + np.float32(0.01) for name, array in run(self, given).items()})
    verdict = convert().verification
    assert verdict is not None and verdict.failed and any("has to be the same" in reason for reason in verdict.broken)


def test_a_runtime_that_refuses_the_model_leaves_it_to_an_engine(convert: Convert, monkeypatch: pytest.MonkeyPatch) -> None:
    from transload.errors import RunError
    from transload.plugin_host import host

    def refuses(path: Path) -> Any:
        def run(given: Any) -> Any:
            raise RunError("no")

        return run

    runtime = host().runtimes["onnxruntime"]
    monkeypatch.setitem(host().runtimes, "onnxruntime", dataclasses.replace(runtime, open=refuses, warm=None))
    checked = convert().verification
    assert checked is not None and checked.passed and "beside the float model, run by engine auto" in checked.notes


def test_what_would_compute_too_much_is_not_verified(convert: Convert, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSLOAD_BUDGET", "elements=3000")  # fewer than all values have, more than a kernel's padded image
    checked = convert().verification
    assert checked is not None and checked.status == "skipped" and "elements=" in checked.why


def test_the_plan_shows_the_stage(examples: Path) -> None:
    path = examples / "digits" / "digits_float.tflite"
    plan = transload.plan(path, "tosa", quantize="int8", quantizer_options={"method": "kl"})
    names = [stage.name for stage in plan.stages]
    assert names[names.index("hub"):names.index("hub") + 3] == ["hub", "quantize", "top-to-tosa"]
    assert "# quantize: int8, method=kl" in str(plan)
    assert "# quantize" not in str(transload.plan(path, "tosa"))


def test_every_way_goes_by_the_hub_then(examples: Path, tmp_path: Path) -> None:
    """StableHLO has a way to itself that does not."""
    module = transload.lower(transload.load(examples / "digits" / "digits_float.tflite"), "stablehlo")
    assert "top" not in str(transload.plan(module, "stablehlo"))
    plan = transload.plan(module, "stablehlo", quantize="int8")
    assert [stage.name for stage in plan.stages][1:4] == ["stablehlo-to-top", "hub", "quantize"]


def test_the_dump_has_it_and_can_be_gone_on_from(convert: Convert, tmp_path: Path) -> None:
    dump = tmp_path / "steps"
    first = convert(dump=dump)
    text = next(file for file in dump.iterdir() if file.name.endswith("-quantize.mlir")).read_text()
    assert "!quant.uniform" in text
    for stage in ("top-to-tosa", "quantize"):
        again = convert(dump=dump, start=stage)
        assert again.verification is not None and again.verification.passed
        assert again.verification.runtime == "the quantized module"
        (a,), (b,) = ([file for file in each.files if file.suffix == ".tosa"] for each in (first, again))
        assert a.read_bytes() == b.read_bytes()


def test_what_is_gone_on_from_was_quantized_as_is_asked_for(convert: Convert, images: np.ndarray, tmp_path: Path) -> None:
    """Another quantizer, its options, samples and tables were ignored, and the report said that they had been used."""
    table = tmp_path / "digits.table"
    source = transload.load(Path(__file__).parents[3] / "examples" / "digits" / "digits_float.onnx")
    transload.calibrate(source, [{"image": each.reshape(1, 1, 8, 8)} for each in images[:4]]).save(table)
    given: dict[str, Any] = {"dump": tmp_path / "steps", "verify": False, "quantizer_options": {"calibration": str(table)}}
    convert(**given)
    convert(**given, start="check")
    for asked, words in (
        ({"quantize": "int16x8"}, "made with int8-asym, calibration=.*, and now int16x8"),
        ({"quantize": None, "quantizer_options": {}, "data": None}, "and now no quantizer"),
        ({"quantizer_options": {}}, "and now int8-asym is asked for"), ({"data": Data(images, 8)}, "the samples"),
    ):
        with pytest.raises(UsageError, match=f"stage 'quantize' is behind 'check', and was .*{words}"):
            convert(**{**given, **asked}, start="check")
    table.write_text(table.read_text().replace("# ", "# of another day "))
    with pytest.raises(UsageError, match="what the files that options name hold has changed"):
        convert(**given, start="check")
    convert(**given, start="quantize")
    with pytest.raises(UsageError, match="--report shows what quantizing cost, and stage 'quantize' is behind 'check'"):
        need_page(tmp_path / "page.html", "int8-asym", "images", tmp_path / "steps", "check")


def test_a_file_that_the_quantizer_writes_is_nothing_that_it_is_made_with(tmp_path: Path) -> None:
    """A state that an ended run left was there when the next one began, and gone when `--from` went on from its dump."""
    state, module = tmp_path / "state.npz", summing()
    how = Quantization("int8", {"learning": True, "resume": str(state)})
    before = made_with(module, how)
    state.write_bytes(b"half")
    assert made_with(module, how) == before


def test_samples_are_needed_and_have_to_fit(convert: Convert, images: np.ndarray) -> None:
    for asked, says in (
        ({"data": None}, "needs samples"), ({"data": images[:, :4]}, "do not fit"), ({"quantize": "int5"}, "int5"),
        ({"quantizer_options": {"nosuch": 1}}, "nosuch"),
        ({"quantize": None, "quantizer_options": {"method": "kl"}}, "quantizer"),
        ({"data": images * np.float32(np.nan)}, "NaN"),
    ):
        with pytest.raises(UsageError, match=says):
            convert(**asked)


def test_without_a_quantizer_samples_are_what_is_verified_on(convert: Convert) -> None:
    verdict = convert(quantize=None).verification
    assert verdict is not None and verdict.passed and verdict.runtime == "onnxruntime"


def test_images_become_inputs_and_the_file_that_says_how_lies_beside_the_artifact(convert: Convert, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for number in range(4):
        image.fromarray(np.random.default_rng(number).integers(0, 255, (20, 20), dtype=np.uint8)).save(tmp_path / f"{number}.png")
    preprocess = transload.Preprocess(resize_dims=(10, 10), scale=(1 / 255,))
    artifact = convert(data=tmp_path, preprocess=preprocess)
    written = transload.Preprocess.read(tmp_path / "out" / "preprocess.toml")
    assert written.resize_dims == (10, 10) and written.crop == (8, 8) and written.channel_format == "nchw"
    assert tmp_path / "out" / "preprocess.toml" in artifact.files and "preprocess.toml" in artifact.report.files
    assert artifact.report.quantization is not None
    assert artifact.report.quantization.preprocess["image"].startswith("10x10 pixels for input 'image', of which 8x8")
    again = convert(quantize=None, data=None, input_data={"image": tmp_path / "1.png"}, preprocess=preprocess)
    assert any("1.png was made 10x10 pixels" in note for note in again.report.notes)
    convert(quantize=None, data=None)
    assert not (tmp_path / "out" / "preprocess.toml").exists()


def test_a_quantizer_says_what_stays_float_and_why(examples: Path, images: np.ndarray) -> None:
    host = Host()

    def explains(module: Module, samples: Any) -> Quantized:
        return Quantized(module.clone(), {"probabilities": "a test"}, {"bits": 8})

    def changes_nothing(module: Module, samples: Any) -> Module:
        return module

    for name, run in (("explains", explains), ("same", changes_nothing)):
        host.quantizers[name] = Quantizer(name, run)
    module = transload.load(examples / "digits" / "digits_float.onnx")
    with Context(host).bind():
        from transload.quantization import quantize_at_hub

        hub = at_hub(module)
        made = quantize_at_hub(hub, "explains", [], {})
        assert made.floats == {"probabilities": "a test"} and made.report == {"bits": 8}
        assert "top.Softmax computes with floats" in quantize_at_hub(hub, "same", [], {}).floats["probabilities"]
        assert isinstance(transload.quantize(module, "explains"), Module)
