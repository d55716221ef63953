"""The benchmark of quantizers: what its figures mean, and that its samples and processes are what they are said to be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import quantizer
import quantizer_files
import quantizer_models
from quantizer import compare, scores, show, speed
from quantizer_cases import CASES, Case
from quantizer_tools import Samples, as_integers, as_reals, float_model

CASE = Case({}, {}, {})


def test_decibels_of_all_samples_and_of_each():
    """A weak sample with a large error moves the mean of the decibels, not the ratio of the sums."""
    wanted = np.array([[10.0, 0.0], [1.0, 0.0]])
    given = wanted + np.array([[0.1, 0.0], [0.1, 0.0]])
    found = scores({"y": wanted}, {"z": given}, CASE)
    assert found["sqnr_all"] == pytest.approx(10 * np.log10(101 / 0.02))
    assert found["sqnr_mean"] == pytest.approx((40 + 20) / 2)
    assert found["exact"] == 0


def test_samples_without_a_difference_are_counted_not_averaged():
    wanted = np.array([[10.0, 0.0], [1.0, 0.0]])
    found = scores({"y": wanted}, {"y": wanted + np.array([[0.0, 0.0], [0.1, 0.0]])}, CASE)
    assert found["exact"] == 1 and found["sqnr_mean"] == pytest.approx(20)
    same = scores({"y": wanted}, {"y": wanted}, CASE)
    assert same["sqnr_all"] == same["sqnr_mean"] == float("inf") and same["exact"] == 2


def test_of_outputs_the_mean_and_the_worst_are_shown_and_classes_are_the_first():
    good, bad = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[1.0], [1.0]])
    found = scores({"a": good, "b": bad}, {"c": good[:, ::-1], "d": bad * 2}, replace(CASE, labels=np.array([1, 1])))
    assert found["sqnr_all"] == pytest.approx(0.0) and set(found["outputs"]) == {"a", "b"}
    assert found["sqnr_mean"] == np.mean([found["outputs"][name]["sqnr_mean"] for name in "ab"])
    assert (found["agreement"], found["top1"], found["float_top1"]) == (0.0, 50.0, 50.0)


def test_pictures_have_a_peak_and_every_output_a_distance():
    """A hundredth of the peak everywhere is 40 dB; beside a half it is a fiftieth."""
    wanted = np.full((2, 4), 0.5)
    found = scores({"y": wanted}, {"y": wanted + 0.01}, replace(CASE, peak=1.0, classes=False))
    assert found["psnr"] == pytest.approx(40) and found["euclid"] == pytest.approx(0.98)
    assert "psnr" not in scores({"y": wanted}, {"y": wanted}, CASE)


def test_a_case_whose_model_is_not_there_is_left_out_and_said(monkeypatch, capsys):
    monkeypatch.setattr(quantizer_models, "FOLDER", Path("/nowhere"))
    monkeypatch.setattr("sys.argv", ["quantizer", "--only", "resnet8"])
    quantizer.main()
    assert "resnet8, left out: /nowhere/" in capsys.readouterr().out


@pytest.mark.parametrize("name", CASES)
def test_no_evaluation_sample_calibrates(name: str):
    case = CASES[name]()
    for ending, samples in case.evaluation.items():
        (key,) = samples[0]
        calibration = {sample[key].tobytes() for sample in case.calibration[ending]}
        assert not calibration & {sample[key].tobytes() for sample in samples}
    assert case.labels is None or all(len(samples) == len(case.labels) for samples in case.evaluation.values())


def test_the_default_scheme_is_measured_in_a_process_of_its_own(capsys: pytest.CaptureFixture[str]):
    whole = CASES["digits"]()
    case = Case(
        {".onnx": whole.files[".onnx"]}, {".onnx": whole.calibration[".onnx"][:8]}, {".onnx": whole.evaluation[".onnx"][:8]},
        whole.labels[:8])
    (row,) = compare("digits", case, ["int8"], None)
    assert row["sqnr_all"] > 20 and row["seconds"] > 0 and row["peak_mb"] > 10
    show([row, {"case": "digits", "tool": "peer", "setting": "bad", "file": ".onnx", "error": "it fell over"}])
    printed = capsys.readouterr().out
    assert "transload" in printed and "peer bad: it fell over" in printed


@pytest.mark.parametrize("ending", [".onnx", ".tflite"])
def test_any_file_is_a_case_for_all_tools(ending: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for module in (quantizer_files, quantizer_models):
        monkeypatch.setattr(module, "BUILT", tmp_path)
    case = quantizer_files.file_case(CASES["digits"]().files[ending], 4, 6)
    assert case.classes and set(case.files) == {".onnx", ".tflite"}
    given = []
    for kind, path in case.files.items():
        assert (len(case.calibration[kind]), len(case.evaluation[kind])) == (4, 6)
        (scores,) = float_model(path, None, "")(case.evaluation[kind][0]).values()
        assert not np.isclose(scores.sum(), 1.0), "judged before its softmax"
        given.append(scores)
    np.testing.assert_allclose(*given, atol=1e-5)
    parts = ({next(iter(sample.values())).tobytes() for sample in part[".onnx"]} for part in (case.calibration, case.evaluation))
    assert not set.intersection(*parts)


def test_of_a_peer_that_is_named_the_settings_that_are_named():
    found = quantizer.settings_of(["nncf=mixed/accurate", "nncf=mixed/fast"])
    assert found["nncf"] == ["mixed/accurate", "mixed/fast"] and len(found["onnxruntime"]) == 6


def test_speed_takes_the_samples_again_and_again(monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []

    def outputs_of(tool: str, setting: str, model: Path, samples: Path, python: Path | None) -> tuple[dict[str, float], dict]:
        seen.append(len(Samples(samples / "calibration")))
        return {"seconds": 1.0, "peak_mb": 2.0}, {}

    monkeypatch.setattr(quantizer, "outputs_of", outputs_of)
    rows = speed("digits", CASES["digits"](), None)
    assert seen == [32, 100, 1000] and [row["tool"] for row in rows] == ["transload"] * 3
    show(rows)


def test_samples_are_read_as_often_as_asked_in_the_order_of_their_files(tmp_path):
    for number in (1, 0):
        np.savez(tmp_path / f"{number:06}.npz", x=np.full(2, number))
    samples = Samples(tmp_path)
    assert [[sample["x"][0] for sample in samples] for _ in range(2)] == [[0, 1], [0, 1]]
    assert len(samples) == 2


def test_integers_of_litert_stand_for_reals():
    reals = np.array([-1.0, 0.0, 0.5, 9.0], np.float32)
    stored = as_integers(reals, np.int8, 0.5, -2)
    assert stored.tolist() == [-4, -2, -1, 16] and stored.dtype == np.int8
    assert np.array_equal(as_reals(stored, 0.5, -2), reals)
    assert as_integers(reals, np.float32, 0.0, 0) is reals  # type: ignore[arg-type]


def test_our_modules_are_compiled_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_package_of_ours"
    package.mkdir()
    for name in ("__init__", "inner"):
        (package / f"{name}.py").write_text("number = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    quantizer.compile_ours(("some_package_of_ours", "none_such"))
    assert {path.name.partition(".")[0] for path in package.rglob("*.pyc")} == {"__init__", "inner"}
