"""Which function of a module is the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.cli import run
from transload.errors import TransloadError, UsageError
from transload.passes.manager import Pipeline
from transload.passes.needed import keep_main
from transload.plugin_host import host

TWO = """
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "forward"}> ({
  ^bb0(%x: tensor<2xf32>):
    %0 = "func.call"(%x) <{callee = @helper}> : (tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "helper"}> ({
  ^bb0(%x: tensor<2xf32>):
    %0 = "tosa.abs"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "train"}> ({
  ^bb0(%x: tensor<2xf32>):
    %0 = "tosa.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.mlir"
    path.write_text(TWO)
    return path


def test_chosen_with_what_it_calls(two: Path) -> None:
    module = transload.load(two, function="forward")
    assert list(module.functions) == ["main", "helper"] and module.entry == "forward"
    (result,) = transload.run(module, {"arg0": np.float32([-1, 2])}).values()
    assert list(result) == [1, 2]
    assert list(transload.load(two, function="train").functions) == ["main"]


def test_chosen_calls_main() -> None:
    """`main` went as another function took its name, and calls of it were of that."""
    text = TWO.replace("helper", "main")
    module = transload.load(text=text, format="mlir", function="forward")
    assert list(module.functions) == ["main", "main_1"]
    (result,) = transload.run(module, {"arg0": np.float32([-1, 2])}).values()
    assert list(result) == [1, 2]
    other = text.replace('"func.func"', '"foo.global"() <{sym_name = "main_1"}> : () -> ()\n"func.func"', 1)
    assert list(transload.load(text=other, format="mlir", function="forward").functions) == ["main", "main_2"]


def test_what_cannot_be(two: Path) -> None:
    with pytest.raises(UsageError, match="no function 'main'") as caught:
        transload.run(two, {})
    assert "--function NAME" in caught.value.hint
    with pytest.raises(UsageError, match="no function 'nowhere'"):
        transload.load(two, function="nowhere")
    recursive = two.with_name("recursive.mlir")
    recursive.write_text(TWO.replace("callee = @helper", "callee = @forward"))
    with pytest.raises(UsageError, match="calls itself"):
        transload.load(recursive, function="forward")


def test_converted_and_judged_by_what_runs_its_dialect(two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = transload.convert(two, "tosa", tmp_path / "out", function="train")
    assert artifact.report.ops_out == {"tosa.exp": 1}
    assert artifact.verification is not None and artifact.verification.passed
    assert artifact.verification.runtime == "tosa-reference"
    monkeypatch.delitem(host().runtimes, "tosa-reference")
    alone = transload.convert(two, "tosa", tmp_path / "alone", function="train").verification
    assert alone is not None and alone.status == "skipped"
    assert "has ops of tosa" in alone.why, "by the hub's runtime"


@pytest.mark.parametrize("command", [["inspect"], ["run"], ["convert", "-o", "out"]])
def test_named_on_the_command_line(
    two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*command, str(two)]) == 2
    assert "functions: forward, helper, train; --function NAME says which is meant" in capsys.readouterr().err
    assert run([*command, str(two), "--function", "train"]) == 0


ONLY = """
func.func @predict(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.tanh %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
"""


@pytest.mark.parametrize("target", ["tosa", "tflite", "onnx", "stablehlo", "xla-cpu", "tp-small"])
def test_the_only_function_is_the_model_whatever_it_is_called(target: str, tmp_path: Path) -> None:
    """TOSA and TFLite had no place for it, and said to inline it into itself."""
    path = tmp_path / "model.mlir"
    path.write_text(ONLY)
    artifact = transload.convert(path, target, tmp_path / "out")
    assert artifact.verification is not None and artifact.verification.passed


@pytest.mark.parametrize("target", ["tosa", "tflite"])
def test_of_several_functions_one_is_to_be_named(target: str, tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(ONLY + ONLY.replace("@predict", "@other"))
    with pytest.raises(TransloadError) as caught:
        transload.convert(path, target, tmp_path / "out", verify=False)
    assert "--function NAME" in caught.value.hint + "".join(each.hint or "" for each in caught.value.findings)


CALLED = """
func.func @first(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.exponential %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
func.func @NAME(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = call @first(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.negate %0 : tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
func.func @other(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  return %x : tensor<2x3xf32>
}
"""


@pytest.mark.parametrize("target", ["tosa", "onnx", "tflite", "sophgo", "xla-cpu", "tp-small"])
@pytest.mark.parametrize("name", ["second", "main"])
def test_public_functions_are_no_graphs_beside_the_model(name: str, target: str, tmp_path: Path) -> None:
    """TOSA told to inline functions that were inlined, and others kept them as graphs of their own: nobody calls these."""
    path = tmp_path / "model.mlir"
    path.write_text(CALLED.replace("NAME", name))
    artifact = transload.convert(path, target, tmp_path / "out", function=None if name == "main" else name)
    assert artifact.verification is None or artifact.verification.status != "failed"
    if target in ("tosa", "onnx", "sophgo"):
        assert list(artifact.module.functions) == ["main"]
    if name == "second":
        assert all(function.attributes.get("sym_visibility") == "private"
                   for each, function in artifact.module.functions.items() if each != "main")


APART = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.tanh %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
func.func @other(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.custom_call @unheard_of(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
"""


@pytest.mark.parametrize("target", ["tosa", "onnx", "sophgo"])
def test_what_is_no_part_of_a_graph_need_not_be_convertible(target: str, tmp_path: Path) -> None:
    """Functions that are left out of a format of one graph went all the way there, and an op of theirs refused the model."""
    path = tmp_path / "model.mlir"
    path.write_text(APART)
    assert "unheard_of" not in str(transload.plan(path, target))
    artifact = transload.convert(path, target, tmp_path / "out")
    assert list(artifact.module.functions) == ["main"]
    assert artifact.verification is not None and artifact.verification.status != "failed"


def test_a_format_of_several_functions_has_all_converted(tmp_path: Path) -> None:
    """There the other one is a part of what is written."""
    path = tmp_path / "model.mlir"
    path.write_text(APART)
    assert list(transload.convert(path, "stablehlo", tmp_path / "out").module.functions) == ["main", "other"]
    with pytest.raises(TransloadError, match="cannot be converted"):
        transload.convert(path, "tflite", tmp_path / "tflite")


def test_what_the_model_calls_is_private_where_it_is_chosen(two: Path) -> None:
    module = transload.load(two, function="forward")
    assert module.functions["helper"].attributes["sym_visibility"] == "private"
    assert "sym_visibility" not in module.main.attributes
    Pipeline.parse("inline").run(module)
    assert list(module.functions) == ["main"]


def test_the_others_stay_where_nobody_knows_the_main_one(two: Path) -> None:
    module = transload.load(two)
    assert not keep_main(module) and len(module.functions) == 3
