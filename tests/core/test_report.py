"""Reports: `report.json` by its schema, whatever became of the conversion."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import transload
from transload.errors import ReadError, TransloadError, UsageError, VerificationError
from transload.json_text import json_text
from transload.plugin_host import host
from transload.report import SCHEMA_FILE
from transload.report_schema import schema_text
from transload.verification.tolerance import Tolerance

UNKNOWN_OP = """
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<2xf32>):
    %0 = "tfl.nosuch"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def digits(examples: Path) -> Path:
    return examples / "digits" / "digits_int8.tflite"


def strict(text: str) -> Any:
    """JSON as everybody but Python reads it, checked against the schema."""
    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    found = json.loads(text, parse_constant=refuse)
    jsonschema.validate(found, json.loads(SCHEMA_FILE.read_text()), cls=jsonschema.Draft202012Validator)
    return found


def report_in(folder: Path) -> Any:
    return strict((folder / "report.json").read_text())


def test_schema_is_that_of_the_classes() -> None:
    assert SCHEMA_FILE.read_text() == schema_text(), "`make schema` writes it anew"
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))


def test_numbers_that_json_has_not() -> None:
    said = {"inf": float("inf"), "nan": [float("nan")], "less": np.float32("-inf"), "array": np.arange(2), 3: Path("a")}
    assert json.loads(json_text(said)) == {
        "inf": "Infinity", "nan": ["NaN"], "less": "-Infinity", "array": [0, 1], "3": "a"}


def test_of_a_verified_conversion(digits: Path, tmp_path: Path) -> None:
    limits = Tolerance(integer=2)
    artifact = transload.convert(digits, "tosa", tmp_path, seed=7, tolerance=limits)
    report = report_in(tmp_path)
    assert report == json.loads(artifact.report.as_json())
    assert (report["status"], report["exit_code"], report["error"]) == ("converted", 0, None)
    assert report["digest"] == "sha256:" + hashlib.sha256(digits.read_bytes()).hexdigest() and report["beside"] == {}
    assert report["seed"] == 7 and report["tolerance"]["integer"] == 2 and report["tolerance"]["max_abs"] == "Infinity"
    assert {"python", "transload", "numpy"} <= set(report["versions"])
    assert report["verification"]["outputs"][0]["metrics"]["sqnr"] == "Infinity"


def test_of_every_ending(cli: Cli, digits: Path, tmp_path: Path) -> None:
    """Each writes a report, prints the same by `--json`, and both are valid."""
    unknown = tmp_path / "unknown.mlir"
    unknown.write_text(UNKNOWN_OP)
    damaged = tmp_path / "damaged.tflite"
    damaged.write_bytes(digits.read_bytes()[:500])
    endings: list[tuple[list[object], int, str]] = [
        ([digits], 0, "passed"),
        ([digits, "--verify=no"], 0, "not asked for"),
        ([digits, "--no-verify"], 0, "not asked for"),
        ([digits.with_name("digits_float.onnx"), "--tolerance", "sqnr=1e9"], 4, "failed"),
        ([unknown], 3, "not asked for"),
        ([damaged], 3, "not asked for"),
    ]
    for number, (arguments, expected, status) in enumerate(endings):
        out = tmp_path / f"out{number}"
        code, said, errors = cli("convert", *arguments, "-o", out, "--json")
        assert code == expected, errors
        printed, written = strict(said), report_in(out)
        assert printed == written
        assert written["exit_code"] == code and written["verification"]["status"] == status
        assert (written["status"] == "refused") == (code == 3) == bool(written["error"])
        assert written["digest"] is not None and written["versions"]
    finding = report_in(tmp_path / "out4")["error"]["findings"][0]
    assert finding["what"] == "tfl.nosuch" and finding["why"]


def test_data_that_does_not_fit_is_no_verdict(cli: Cli, tmp_path: Path) -> None:
    """The call is refused, and of the result nothing is known."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper = onnx.helper
    info = [helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, [4]) for each in ("a", "b", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["y"])], "g", info[:2], info[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (tmp_path / "two.onnx").write_bytes(model.SerializeToString())
    np.save(tmp_path / "a.npy", np.zeros(4, np.float32))
    code, said, _ = cli("convert", tmp_path / "two.onnx", "-i", f"a={tmp_path / 'a.npy'}", "-o", tmp_path / "o", "--json")
    report = strict(said)
    assert code == 2 and report["error"]["findings"][0]["why"].startswith("is missing")
    checked = report["verification"]
    assert (checked["status"], checked["why"]) == ("skipped", "the input data does not fit the model")


@pytest.mark.parametrize("arguments", [
    ["convert", "{digits}", "--target", "nobodys"], ["convert", "{digits}", "--option", "no=1"], ["convert", "nosuch.tflite"],
    ["convert", "{digits}", "--no-such-flag"], ["inspect", "nosuch.tflite"], ["compare", "{digits}", "nosuch.tosa"],
    ["ops", "nosuch"], ["coverage", "--from", "nosuch"]])
def test_json_of_a_mistake(cli: Cli, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    """It is printed, and nothing is written or removed."""
    monkeypatch.chdir(tmp_path)
    code, said, errors = cli(*[each.format(digits=digits) for each in arguments], "--json")
    found = json.loads(said)
    assert code in (2, 3) and found["exit_code"] == code
    assert found["error"]["message"].split("\n")[0] in errors
    assert not list(tmp_path.iterdir())


def test_refusal_takes_the_place_of_what_was_there(digits: Path, tmp_path: Path) -> None:
    out, unknown = tmp_path / "out", tmp_path / "unknown.mlir"
    unknown.write_text(UNKNOWN_OP)
    made = transload.convert(digits, "tosa", out, verify=False)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(ReadError):
        transload.convert(tmp_path / "nosuch.tflite", "tosa", out)
    with pytest.raises(UsageError):
        transload.convert(unknown, "tosa", out, options={"no": 1})
    assert all(file.exists() for file in made.files), "a mistake is no conversion"
    with pytest.raises(TransloadError) as caught:
        transload.convert(unknown, "tosa", out)
    assert caught.value.report is not None and caught.value.report.status == "refused"
    assert sorted(file.name for file in out.iterdir()) == ["notes.txt", "report.json"]
    assert report_in(out)["model"] == str(unknown)
    transload.convert(digits, "tosa", out, verify=False)
    assert report_in(out)["status"] == "converted"


def test_verification_required(cli: Cli, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody can judge is written, and the exit code says that it was not verified."""
    out = tmp_path / "out"
    monkeypatch.delitem(host().runtimes, "tosa-reference")
    transload.convert(digits, "tosa", tmp_path / "first", verify="no")
    model = tmp_path / "first" / "digits_int8.tosa"
    code, _, errors = cli("convert", model, "-o", out, "--verify=require")
    assert code == 4 and "not verified: no runtime" in errors
    assert report_in(out)["exit_code"] == 4 and report_in(out)["status"] == "converted"
    with pytest.raises(VerificationError) as caught:
        transload.convert(model, "tosa", out, verify="require")
    assert caught.value.artifact is not None and all(file.exists() for file in caught.value.artifact.files)
    assert cli("convert", model, "-o", out, "--verify", "-q")[0] == 0
    assert transload.convert(digits, "tosa", out, verify="require").verified
    with pytest.raises(UsageError, match="'yes', 'no' or 'require'"):
        transload.convert(digits, "tosa", out, verify="maybe")


def test_models_in_one_folder_never_mix(digits: Path, tmp_path: Path) -> None:
    """Conversions of several models into one folder at one time: in the end it holds one of them, whole."""
    models = []
    for number in range(4):
        models.append(tmp_path / f"model{number}.tflite")
        models[-1].write_bytes(digits.read_bytes())
    out = tmp_path / "out"
    threads = [threading.Thread(target=transload.convert, args=(model, "tosa", out), kwargs={"verify": False})
               for model in models * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report = report_in(out)
    assert {file.name for file in out.iterdir()} == {*report["files"], "report.json"}
    assert {Path(name).stem for name in report["files"]} == {Path(report["model"]).stem}


def test_files_of_weights_are_in_it(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    weights = onnx.numpy_helper.from_array(np.arange(512, dtype=np.float32), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "w"], ["y"])], "g",
        [onnx.helper.make_tensor_value_info("x", 1, [512])], [onnx.helper.make_tensor_value_info("y", 1, [512])], [weights])
    opset = [onnx.helper.make_opsetid("", 17)]
    (tmp_path / "data").mkdir()
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "m.onnx", save_as_external_data=True,
        location="data/weights.bin", size_threshold=0)
    made = transload.convert(tmp_path / "m.onnx", out=tmp_path / "out")
    expected = "sha256:" + hashlib.sha256((tmp_path / "data" / "weights.bin").read_bytes()).hexdigest()
    assert strict((tmp_path / "out" / "report.json").read_text())["beside"] == {"data/weights.bin": expected}
    assert made.report.beside == {"data/weights.bin": expected}


def test_a_dump_is_not_gone_on_from_where_weights_beside_the_model_are_others(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    weights = onnx.numpy_helper.from_array(np.ones((3, 3), np.float32), "w")
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 3]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g", value[:1], value[1:], [weights])
    opset = [onnx.helper.make_opsetid("", 17)]
    model, beside = tmp_path / "m.onnx", tmp_path / "w.bin"
    onnx.save_model(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), model, save_as_external_data=True,
                    location=beside.name, size_threshold=0)
    held = beside.read_bytes()
    transload.convert(model, "tosa", tmp_path / "out", dump=tmp_path / "dump", verify="no")
    beside.write_bytes(bytes(len(held)))
    for go_on in (lambda **how: transload.convert(model, "tosa", tmp_path / "out", verify="no", **how),
                  lambda **how: transload.plan(model, "tosa", **how)):
        with pytest.raises(UsageError, match=r"w\.bin is not the file that .* holds the dump of"):
            go_on(dump=tmp_path / "dump", start="hub")
    beside.write_bytes(held)
    transload.convert(model, "tosa", tmp_path / "out", dump=tmp_path / "dump", start="hub", verify="no")


def test_a_pipe_called_as_the_report_is_not_waited_at(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "report.json")
    with pytest.raises(ReadError, match="is damaged, or is no report"):
        transload.load(tmp_path)
