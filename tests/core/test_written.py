"""`transload run` opens everything that a conversion writes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.cli import run
from transload.digests import Digest
from transload.errors import ReadError, RunError, TransloadError, UsageError
from transload.plugin_host import host

from tests.support.graphs import Graph, summing


def cut_short(report: Path) -> None:
    report.write_bytes(report.read_bytes()[:300])


def made_a_folder(report: Path) -> None:
    report.unlink()
    report.mkdir()


def linked_to_itself(report: Path) -> None:
    report.unlink()
    report.symlink_to(report.name)


@pytest.mark.parametrize("command", ["run", "inspect", "compare"])
def test_a_file_that_is_a_link_to_itself_is_damage(command: str, written: Path, examples: Path, tmp_path: Path, cli: Any) -> None:
    out = tmp_path / "art"
    shutil.copytree(written / "tp-tiny", out)
    file = next(out / name for name in json.loads((out / "report.json").read_text())["files"])
    linked_to_itself(file)
    code, _, said = cli(command, *([examples / "digits" / "digits_int8.tflite"] if command == "compare" else []), out)
    assert code == 3 and "is damaged" in said, said


@pytest.mark.parametrize("damage", [
    cut_short, made_a_folder, linked_to_itself, lambda report: report.write_text("{}"), lambda report: report.write_text("[[[["),
    lambda report: report.write_bytes(b"\xff"), lambda report: os.truncate(report, 1 << 25), Path.unlink])
@pytest.mark.parametrize("command", ["run", "inspect", "compare"])
def test_a_report_that_is_damaged_or_missing_is_told(
    command: str, damage: Callable[[Path], Any], written: Path, examples: Path, tmp_path: Path, cli: Any,
) -> None:
    """With what can be given in its place; a file that no reader takes was only the report's to explain."""
    out = tmp_path / "art"
    shutil.copytree(written / "tp-tiny", out)
    damage(out / "report.json")
    there = os.path.lexists(out / "report.json")
    model = [examples / "digits" / "digits_int8.tflite"] if command == "compare" else []
    (out / "unknown").write_bytes(b"what is this")
    for place in (out, *([out / "report.json", out / "unknown"] if there and damage is not linked_to_itself else [])):
        code, _, said = cli(command, *model, place)
        said = " ".join(said.split())
        assert code == 3 and f"given in its place: {out / 'digits_int8.mlir'}" in said, said
        assert ("is damaged" if there else "has no report.json of a conversion") in said
    assert cli("run", out / "digits_int8.mlir")[0] == 0


@pytest.mark.parametrize("report", ['{"tests": 3}', "[["])
def test_what_a_file_is_goes_before_a_report_beside_it(report: str, tmp_path: Path, cli: Any) -> None:
    """Whatever lay beside a file called `report.json` was to be converted again."""
    (tmp_path / "report.json").write_text(report)
    (tmp_path / "model.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:aaaa\nsize 12\n")
    (tmp_path / "unknown").write_bytes(b"what is this")
    said = [" ".join(cli("inspect", tmp_path / name)[2].split()) for name in ("model.bin", "unknown", "")]
    assert "git lfs pull" in said[0]
    assert ["report.json beside it is damaged" in said[1], "is damaged" in said[2]] == [report == "[["] * 2


def test_a_folder_of_nothing_is_no_artifact(tmp_path: Path, cli: Any) -> None:
    _, _, said = cli("run", tmp_path)
    assert said.strip().endswith("is a directory, not a model file")


def test_a_command_on_an_artifact_takes_its_folder_or_names_the_files(tmp_path: Path, root: Path, cli: Any) -> None:
    transload.convert(root / "examples" / "digits" / "digits_float.tflite", "tosa", tmp_path / "two words", verify="no")
    file = tmp_path / "two words" / "digits_float.tosa"
    assert cli("tosa-requirements", tmp_path / "two words") == cli("tosa-requirements", file)
    (tmp_path / "two words" / "report.json").unlink()
    code, _, said = cli("tosa-requirements", tmp_path / "two words")
    assert code == 3 and shlex.split(said.partition("in its place: ")[2])[0] == str(file)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("target", "options"), [
    ("tosa", {}), ("stablehlo", {}), ("xla-cpu", {}), ("ethos-u85-256", {}), ("ethos-u85-256", {"output_format": "tflite"})])
def test_every_file_and_the_folder_run(
    target: str, options: dict[str, str], examples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    """With the same numbers, on the target's own runtime where it has one."""
    if host().get("targets", target).available() is not None:
        pytest.skip(f"{target} cannot be used here")
    out = tmp_path / "out"
    artifact = transload.convert(examples / "digits" / "digits_int8.tflite", target, out, verify="require", options=options)
    image = np.random.default_rng(0).integers(-128, 128, (1, 8, 8, 1), dtype=np.int8)
    np.save(tmp_path / "x.npy", image)
    (expected,) = transload.run(examples / "digits" / "digits_int8.tflite", {"image": image}).values()
    for place in (out, *artifact.files):
        assert run(["run", str(place), "--input", f"image={tmp_path / 'x.npy'}", "-o", str(tmp_path / "y.npz")]) == 0, place
        said = capsys.readouterr().err
        if place.suffix in (".xla", ".npz", ".tflite"):
            assert ("note: run by xla-cpu" in said) == (target == "xla-cpu")
            assert ("beside it is run" in said) == (target != "xla-cpu")
        with np.load(tmp_path / "y.npz") as found:
            assert np.abs(found["probabilities"].astype(int) - expected).max() <= 1, place
            (same,) = transload.run(place, {"image": image}).values()
            np.testing.assert_array_equal(same, found["probabilities"])


@pytest.mark.parametrize("report", [
    "", "[]", '{"files": {"../m.tosa": 1}, "target": "tosa", "target_report": {}}', '{"files": 1}',
    '{"files": {}, "target": "tosa", "target_report": {}}'])
def test_a_report_of_somebody_else(tmp_path: Path, report: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing outside of the folder is opened, and what the file is is said."""
    (tmp_path / "m.tosa").write_bytes(b"")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "report.json").write_text(report)
    (folder / "program.npz").write_bytes(b"")
    for place in (folder, folder / "program.npz"):
        assert run(["run", str(place)]) == 3
        assert "m.tosa" not in capsys.readouterr().err


def test_a_folder_whose_files_nothing_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = {"files": {"program.bin": 1}, "target": "nobodys", "target_report": {}}
    (tmp_path / "report.json").write_text(json.dumps(report))
    assert run(["run", str(tmp_path)]) == 3
    assert "was written for 'nobodys', and holds nothing that can be run here" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["tp-small", "xla-cpu", "stablehlo", "tflite", "onnx", "tflm", "openvino", "iree-llvm-cpu"])
@pytest.mark.parametrize("files", ["its own", "those of that target"])
def test_a_report_that_says_another_target(
    target: str, files: str, examples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    """What the target misses is said of the artifact; it ended as a failure of the plugin (`not enough values to unpack`)."""
    transload.convert(examples / "digits" / "digits_int8.tflite", "tosa", tmp_path, verify=False)
    file = tmp_path / "report.json"
    report = {**json.loads(file.read_text()), "target": target}
    if files != "its own":
        for suffix in (".tpu", ".xla", ".npz", ".mlirbc", ".tflite", ".onnx", ".xml", ".bin", ".vmfb"):
            (tmp_path / f"digits_int8{suffix}").write_bytes(b"")
            report["files"][f"digits_int8{suffix}"] = 0
    file.write_text(json.dumps(report))
    code = run(["run", str(tmp_path)])
    said = capsys.readouterr().err
    assert code in (0, 3) and "failed in" not in said and "defect" not in said, said


def test_the_folder_of_a_refused_conversion_says_so(tmp_path: Path) -> None:
    graph = Graph((1, 4))
    model = transload.save(graph.done(graph.Atan2(graph.inputs[0], graph.inputs[0])), tmp_path / "model.mlir")
    with pytest.raises(TransloadError):
        transload.convert(model, "ethos-u55-32", tmp_path / "made")
    with pytest.raises(ReadError, match="was refused, and nothing was written"):
        transload.run(tmp_path / "made", {})


@pytest.mark.parametrize(("change", "error", "said"), [
    ({"initial": "abc"}, ReadError, "does not say what a state is at first"),
    ({"initial": None}, ReadError, "does not say what a state is at first"),
    ({"initial": [1, 2, 3]}, ReadError, "does not say what a state is at first"),
    ({"input": "elsewhere"}, RunError, "input 'total': is missing"),
])
def test_states_that_a_report_does_not_say_right(
    change: dict[str, Any], error: type[TransloadError], said: str, tmp_path: Path,
) -> None:
    transload.convert(summing(), "tosa", tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    report["states"][0] |= change
    (tmp_path / "report.json").write_text(json.dumps(report))
    with pytest.raises(error, match=said):
        transload.run(tmp_path, {"x0": np.ones((1, 4), np.float32)})


def test_models_of_unlike_outputs_are_not_compared(tmp_path: Path) -> None:
    transload.convert(summing(), "tosa", tmp_path)
    (tmp_path / "report.json").unlink()
    given = [{"x0": np.ones((1, 4), np.float32), "total": np.ones((1, 4), np.float32)}]
    with pytest.raises(UsageError, match=r"1 outputs \(y0\) cannot be compared with 2"):
        transload.evaluate([summing(), next(tmp_path.glob("*.tosa"))], given, metrics=("sqnr",))


@pytest.mark.parametrize("act", ["run", "compare", "eval"])
def test_a_file_that_was_written_and_is_gone_is_named(act: str, examples: Path, tmp_path: Path) -> None:
    """Before the target's runtime looks for it: it is no defect of that."""
    model = examples / "digits" / "digits_int8.tflite"
    artifact = transload.convert(model, "tp-tiny", tmp_path / "out", verify=False)
    (tmp_path / "out" / "digits_int8.tpu").unlink()
    image = np.zeros((1, 8, 8, 1), np.int8)
    with pytest.raises(ReadError, match=r"digits_int8\.tpu: the conversion wrote it, .* and it is not there"):
        if act == "run":
            transload.run(artifact.directory, {"image": image})
        elif act == "compare":
            transload.compare(model, artifact.directory)
        else:
            transload.evaluate([model, artifact.directory], [{"image": image}], metrics=["sqnr"])


@pytest.mark.parametrize("target", ["iree-llvm-cpu", "onnx", "stablehlo", "tflite", "tp-small", "xla-cpu"])
def test_what_a_runtime_is_given_is_read_and_fits(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files are opened, numbers become the type of their input, and what does not fit is refused, all of it at once."""
    if host().get("targets", target).available() is not None:
        pytest.skip(f"{target} cannot be used here")
    graph = Graph((1, 4), (1, 4))
    module = graph.done(graph.Add(*graph.inputs))
    out = transload.convert(module, target, tmp_path / "out", verify=False).directory
    numbers = np.array([[1, 2, 3, 4]])
    expected = transload.run(out, {name: numbers.astype(np.float32) for name in ("x0", "x1")})
    np.savez(tmp_path / "all.npz", x0=numbers.astype(np.float32), x1=numbers)
    np.save(tmp_path / "one.npy", numbers)
    for given in ([str(tmp_path / "all.npz")], [f"{name}={tmp_path / 'one.npy'}" for name in ("x0", "x1")]):
        words = [word for each in given for word in ("--input", each)]
        assert run(["run", str(out), *words, "-o", str(tmp_path / "y.npz")]) == 0, capsys.readouterr()
        with np.load(tmp_path / "y.npz") as found:
            assert {name: found[name].tolist() for name in found.files} == {name: y.tolist() for name, y in expected.items()}
    wrong = {"x0": np.ones((1, 3), np.float32), "other": numbers}
    with pytest.raises(RunError) as refused:
        transload.run(out, wrong)
    assert {finding.what for finding in refused.value.findings} == {f"input {name!r}" for name in ("x0", "x1", "other")}


@pytest.fixture(scope="module")
def written(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Artifacts of one model, for a target without a runtime and for one with its own."""
    folder = tmp_path_factory.mktemp("written")
    for target in ("tosa", "tp-tiny"):
        transload.convert(examples / "digits" / "digits_int8.tflite", target, folder / target, verify=False)
    return folder


@pytest.mark.parametrize(("options", "said"), [
    (["--shape", "image:2x8x8x1"], "is an artifact, whose input 'image' is 1x8x8x1, and was to be 2x8x8x1"),
    (["--shape", "imag:1x8x8x1"], "has no input 'imag'"), (["--batch", "5"], "a batch of 5 is of no effect"),
    (["--shape", "image:1x8x8x1:float32"], "whose input 'image' is i8, and was to be f32"),
    (["--dim", "n=3"], "n=3 is of no effect"), (["--function", "other"], "has no function 'other'"),
    (["--weights", "none.bin"], "holds its weights"), (["--shape", "image:1x8x8x1:int8", "--function", "main"], "")])
@pytest.mark.parametrize("command", ["run", "inspect", "eval", "view"])
@pytest.mark.parametrize("file", ["tosa", "tosa/report.json", "tp-tiny", "tp-tiny/digits_int8.tpu"])
def test_what_an_artifact_cannot_be_given_is_refused(
    file: str, command: str, options: list[str], said: str, written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    np.savez(tmp_path / "sample.npz", image=np.zeros((1, 8, 8, 1), np.int8))
    (tmp_path / "labels.txt").write_text("3\n")
    more = {"eval": ["--data", str(tmp_path / "sample.npz"), "--labels", str(tmp_path / "labels.txt"), "--metric", "top1"],
            "view": ["--html", str(tmp_path / "v.html")]}
    assert run([command, str(written / file), *options, *more.get(command, [])]) == (2 if said else 0)
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("said", [["--shape", "image:3x8x8x1"], ["--batch", "3"]])
@pytest.mark.parametrize("file", ["tosa", "tosa/digits_int8.tosa", "tp-tiny"])
def test_compare_refuses_sizes_that_the_artifact_has_not(
    file: str, said: list[str], written: Path, examples: Path, cli: Any,
) -> None:
    """It ended in inputs that do not fit a function, with exit code 3 and no advice."""
    code, _, error = cli("compare", examples / "digits" / "digits_int8.tflite", written / file, *said)
    error = " ".join(error.split())
    assert code == 2 and "convert the model once more" in error
    assert "whose input 'image' is 1x8x8x1, and was to be 3x8x8x1" in error


def test_an_engine_that_is_asked_for_by_name_runs_what_lies_beside(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    for engine, said in (("auto", "run by tp-tiny"), ("reference", "digits_int8.mlir is run, not by tp-tiny")):
        assert run(["run", str(written / "tp-tiny"), "--engine", engine]) == 0
        assert said in capsys.readouterr().err
    sample = [{"image": np.zeros((1, 8, 8, 1), np.int8)}]
    called: list[str] = []
    target = host().get("targets", "tp-tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(target), "run", lambda self, *a, **k: called.append("own"), raising=False)
        scores = transload.evaluate([written / "tosa", written / "tp-tiny"], sample, metrics=["sqnr"], engine="reference")
    assert scores is not None and not called


@pytest.mark.parametrize("command", ["run", "compare", "eval"])
def test_a_runtime_that_stops_leaves_what_an_engine_runs(
    command: str, written: Path, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any,
) -> None:
    """As for want of a device: the error names the file beside the program, which every command takes, and no option of one."""
    def stopped(*given: Any, **how: Any) -> None:
        raise RunError("there is no device")

    monkeypatch.setattr("transload.written.by_target", stopped)
    np.savez(tmp_path / "sample.npz", image=np.zeros((1, 8, 8, 1), np.int8))
    (tmp_path / "labels.txt").write_text("3\n")
    before = {"compare": [examples / "digits" / "digits_int8.tflite"]}.get(command, [])
    behind = {"eval": ["--data", tmp_path / "sample.npz", "--labels", tmp_path / "labels.txt"]}.get(command, [])
    place = written / "tp-tiny"
    code, _, said = cli(command, *before, place, *behind)
    way = f"→ an engine of ours runs {place / 'digits_int8.mlir'}: give that in its place"
    assert code == 3 and way in said.replace("\n", "") and "--engine" not in said
    assert cli(command, *before, place / "digits_int8.mlir", *behind)[0] == 0


def other_byte(file: Path) -> None:
    """Change a byte in the middle, and nothing of the length."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("change", [other_byte, lambda file: file.write_bytes(file.read_bytes() + b"0")])
def test_an_artifact_that_was_changed_since_it_was_written_is_refused(change: Callable[[Path], Any], tmp_path: Path) -> None:
    transload.convert(summing(), "tosa", tmp_path, verify=False)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    (name,) = report["files"]
    assert report["digests"].keys() == {name} and report["digests"][name].startswith("sha256:")
    given = {"x0": np.zeros((1, 4), np.float32)}
    transload.run(tmp_path, given)
    change(tmp_path / name)
    for path in (tmp_path, tmp_path / "report.json"):
        with pytest.raises(ReadError, match=f"{name} was changed since it was written") as refused:
            transload.run(path, given)
        assert refused.value.hint == f"convert again; as it is now, a file can be given in its place: {tmp_path / name}"
    with pytest.raises(ReadError) as unread:
        transload.load(tmp_path)
    assert unread.value.message == refused.value.message.replace("/report.json:", ":", 1)
    assert unread.value.hint == refused.value.hint


@pytest.mark.parametrize("target", ["ethos-u55-128", "sophgo", "tp-tiny"])
def test_each_file_of_an_artifact_is_there(target: str, examples: Path, tmp_path: Path) -> None:
    """Those alone were missed that what runs the artifact opened: a command stream, and what another tool is to compile, not."""
    if host().get("targets", target).available() is not None:
        pytest.skip(f"{target} cannot be used here")
    transload.convert(examples / "digits" / "digits_int8.tflite", target, tmp_path, verify=False)
    digests = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["digests"]
    assert len(digests) > 1
    for name in digests:
        (tmp_path / name).rename(tmp_path / "away")
        with pytest.raises(ReadError, match=f"{re.escape(name)}: the conversion wrote it.* is not there"):
            transload.run(tmp_path, {"image": np.zeros((1, 8, 8, 1), np.int8)})
        (tmp_path / "away").rename(tmp_path / name)


def test_a_file_by_itself_needs_what_runs_it_alone(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was refused where any other file of the conversion was not beside it, also where no runtime of the target is here."""
    monkeypatch.setattr("transload.written.runner_of", lambda name, emitted=None: (None, ""))
    model, given = examples / "digits" / "digits_int8.tflite", {"image": np.zeros((1, 8, 8, 1), np.int8)}
    transload.convert(model, "sophgo", tmp_path, verify=False)
    (tmp_path / "digits_int8_top_weights.npz").unlink()
    transload.run(tmp_path / "digits_int8_top.mlir", given)
    with pytest.raises(ReadError, match=r"digits_int8_top_weights\.npz: the conversion wrote it"):
        transload.run(tmp_path / "report.json", given)
    (tmp_path / "digits_int8.mlir").unlink()
    with pytest.raises(ReadError, match=r"digits_int8\.mlir: the conversion wrote it"):
        transload.run(tmp_path / "digits_int8_top.mlir", given)


def converted_for_images(examples: Path, out: Path) -> Path:
    """A folder with a program, what its target alone takes, and what becomes of images."""
    transload.convert(examples / "digits" / "digits_float.tflite", "tosa", out, verify=False,
                      preprocess=transload.Preprocess(scale=(0.0625,)))
    (out / "digits_float.bin").write_bytes(b"compiled")
    file = out / "report.json"
    report = json.loads(file.read_text(encoding="utf-8"))
    report["files"] = {"digits_float.bin": 8, **report["files"]}
    file.write_text(json.dumps(report), encoding="utf-8")
    return out / "preprocess.toml"


def test_a_file_by_itself_needs_what_becomes_of_images_too(
    examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is opened beside what runs: a changed one was used without a word, and where it was gone images became other numbers."""
    monkeypatch.setattr("transload.written.runner_of", lambda name, emitted=None: (None, ""))
    images, given = converted_for_images(examples, tmp_path), {"image": np.zeros((1, 8, 8, 1), np.float32)}
    transload.run(tmp_path / "digits_float.bin", given)
    text = images.read_text(encoding="utf-8")
    images.write_text(text.replace("0.0625", "0.125"), encoding="utf-8")
    with pytest.raises(ReadError, match=r"preprocess\.toml was changed since it was written"):
        transload.run(tmp_path / "digits_float.bin", given)
    images.unlink()
    with pytest.raises(ReadError, match=r"preprocess\.toml: the conversion wrote it, as its report says, and it is not there"):
        transload.run(tmp_path / "digits_float.bin", given)


def test_a_program_that_is_named_itself_is_told_of_its_preprocessing(examples: Path, tmp_path: Path) -> None:
    """As it is now is what such a program is taken as, and what lies beside it; one that is gone is no such edit."""
    images, model = converted_for_images(examples, tmp_path), examples / "digits" / "digits_float.tflite"
    tosa, given = tmp_path / "digits_float.tosa", {"image": np.zeros((1, 8, 8, 1), np.float32)}
    assert not any("changed since" in note for note in transload.compare(model, tosa, given).notes)
    images.write_text(images.read_text(encoding="utf-8").replace("0.0625", "0.125"), encoding="utf-8")
    assert any("changed since" in note for note in transload.compare(model, tosa, given).notes)
    images.unlink()
    for preprocess in (None, transload.Preprocess(scale=(0.0625,))):
        with pytest.raises(ReadError, match=r"preprocess\.toml: the conversion wrote it, .* is not there"):
            transload.compare(model, tosa, given, preprocess=preprocess)
    (tmp_path / "report.json").unlink()
    transload.compare(model, tosa, given)  # alone, a program tells nothing of images


@pytest.mark.parametrize("kind", ["changed", "gone"])
def test_what_the_program_is_read_with_is_as_it_was_written(
    kind: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Weights beside a program that runs for another file were not among what that needs."""
    converted_for_images(examples, tmp_path)
    weights, file = tmp_path / "weights.data", tmp_path / "report.json"
    weights.write_bytes(b"weights")
    report = json.loads(file.read_text(encoding="utf-8"))
    report["files"]["weights.data"], report["digests"]["weights.data"] = 7, Digest(weights).text()
    file.write_text(json.dumps(report), encoding="utf-8")

    def load(path: Path) -> Any:
        module = transload.load(path)
        module.beside = (weights,)
        return module

    monkeypatch.setattr("transload.written.runner_of", lambda name, emitted=None: (None, ""))
    monkeypatch.setattr("transload.written.load_artifact", load)
    given = {"image": np.zeros((1, 8, 8, 1), np.float32)}
    transload.run(tmp_path / "digits_float.bin", given)
    weights.write_bytes(b"Weights") if kind == "changed" else weights.unlink()
    with pytest.raises(ReadError, match=r"weights\.data"):
        transload.run(tmp_path / "digits_float.bin", given)


@pytest.mark.parametrize("way", ["relative", "link", "absolute"])
def test_weights_are_known_however_the_folder_is_named(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers say where weights lie without links: by a relative path, or one with a link, changed ones were used unsaid."""
    for least in ("EXTERNAL_FROM", "_INLINE"):
        monkeypatch.setattr(f"transload_converters.onnx.writer.{least}", 0)
    monkeypatch.setattr("transload.written.runner_of", lambda name, emitted=None: (None, ""))
    graph = Graph((1, 4))
    (tmp_path / "there").mkdir()
    transload.convert(graph.done(graph.Mul(graph.inputs[0], graph.constant(np.full((1, 4), 2, np.float32)))), "onnx",
                      tmp_path / "there" / "out", verify=False)
    (weights,) = (tmp_path / "there" / "out").glob("*.data")
    file = weights.with_name("report.json")
    weights.with_name("compiled.bin").write_bytes(b"compiled")
    report = json.loads(file.read_text(encoding="utf-8"))
    report["files"] = {"compiled.bin": 8, **report["files"]}
    file.write_text(json.dumps(report), encoding="utf-8")
    (tmp_path / "link").symlink_to("there", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    folder = {"relative": Path("there"), "link": tmp_path / "link", "absolute": tmp_path / "there"}[way]
    given = {"x0": np.ones((1, 4), np.float32)}
    transload.run(folder / "out" / "compiled.bin", given)
    weights.write_bytes(np.full(4, 9, np.float32).tobytes())
    with pytest.raises(ReadError, match=r"\.data was changed since it was written"):
        transload.run(folder / "out" / "compiled.bin", given)


def test_what_goes_is_looked_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier conversion wrote is removed where it is as it was: its digest took seconds, twice, of a large file."""
    transload.convert(summing(), "tosa", tmp_path, verify=False)
    (file,) = tmp_path.glob("*.tosa")
    looked, own = list[Path | None](), Digest.__init__
    monkeypatch.setattr(Digest, "__init__", lambda self, path: (looked.append(path), own(self, path))[1])
    transload.convert(summing(), "tosa", tmp_path, verify=False)
    assert looked.count(file) == 1


def test_reports_without_digests_are_read(tmp_path: Path) -> None:
    transload.convert(summing(), "tosa", tmp_path, verify=False)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    del report["digests"]
    (tmp_path / "report.json").write_text(json.dumps(report), encoding="utf-8")
    transload.run(tmp_path, {"x0": np.zeros((1, 4), np.float32)})


@pytest.mark.parametrize("digests", [[1, 2], "text", 3, None, [], {"other": 1}, {"other": None}])
def test_a_report_whose_digests_are_no_texts_by_name_is_damaged(digests: Any, tmp_path: Path) -> None:
    """It is not taken for one of an earlier version, which has none, as then a changed file would be taken."""
    transload.convert(summing(), "tosa", tmp_path, verify=False)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    (tmp_path / "report.json").write_text(json.dumps({**report, "digests": digests}), encoding="utf-8")
    with pytest.raises(ReadError, match=r"report\.json: is damaged"):
        transload.run(tmp_path, {"x0": np.zeros((1, 4), np.float32)})


def test_a_text_that_somebody_edits_is_taken_where_it_is_named_itself(examples: Path, tmp_path: Path, cli: Any) -> None:
    """Nothing is said of it but where it is compared: by what the report beside it says, which is of what it was."""
    model, out = examples / "digits" / "digits_int8.tflite", tmp_path / "out"
    transload.convert(model, "tosa", out, verify=False, options={"mlir": True})
    file = next(out.glob("*.mlir"))
    assert not any("changed since" in note for note in transload.compare(model, file).notes)
    file.write_text("// edited\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    for command in ("run", "inspect"):
        assert cli(command, file)[0] == 0
    code, said, _ = cli("compare", model, file)
    assert code == 0 and "changed since it was written, by the digest in the report beside it" in " ".join(said.split())
    code, _, said = cli("run", out)
    both = f"{file.with_suffix('.tosa')} or {file}"
    assert code == 3 and f"as it is now, a file can be given in its place: {both}" in " ".join(said.split())


def test_a_file_with_another_byte_in_it_stays_where_another_conversion_is_written(tmp_path: Path) -> None:
    """It is no longer what that wrote: somebody changed it, and its length says nothing."""
    out = tmp_path / "out"
    transload.convert(summing(), "tosa", out, verify=False, options={"mlir": True})
    text = next(out.glob("*.mlir"))
    other_byte(text)
    edited = text.read_bytes()
    transload.convert(summing(), "onnx", out, verify=False)
    assert text.read_bytes() == edited and not list(out.glob("*.tosa"))


def test_other_preprocessing_than_was_written_is_told_how_it_is_given(examples: Path, tmp_path: Path, cli: Any) -> None:
    model, out, edited = examples / "digits" / "digits_float.tflite", tmp_path / "out", tmp_path / "edited.toml"
    edited.write_text("scale = 0.0625", encoding="utf-8")
    assert cli("convert", model, "-t", "tosa", "-o", out, "--preprocess", edited, "--no-verify")[0] == 0
    file, tosa = out / "preprocess.toml", out / "digits_float.tosa"
    edited.write_text(file.read_text(encoding="utf-8").replace("0.0625", "0.125"), encoding="utf-8")
    shutil.copy(edited, file)
    code, _, said = cli("run", out)
    way = f"convert again with a copy of {file} as --preprocess; as it is now, a file can be given in its place: {tosa}"
    assert code == 3 and way in " ".join(said.split())
    assert cli("convert", model, "-t", "tosa", "-o", out, "--preprocess", edited, "--no-verify")[0] == 0
    assert cli("run", out)[0] == cli("run", tosa)[0] == 0
