"""The targets `iree-*`: programs that IREE compiles, run by its runtime beside the models' own, and what they do not take."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.budget import allowed, seconds_left
from transload.errors import RunError, TargetError, UsageError
from transload.plugin_host import host
from transload.testing import build_op
from transload.verification.inputs import random_inputs
from transload.worker import Worker
from transload_targets.iree import target as target_module
from transload_targets.iree.backends import BACKENDS
from transload_targets.iree.check import findings_said
from transload_targets.iree.compiling import compiled
from transload_targets.iree.target import IreeTarget

from tests.support.tflite_models import write_operator

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("iree") is None, reason="install transload[iree] to compile for IREE's runtime")]

FOREIGN = """
module {
  func.func @main(%a: tensor<4xf32> {ml_program.identifier = "a"}) -> (tensor<4xf32>, tensor<4xf8E5M2>) {
    %0 = "stablehlo.custom_call"(%a) {call_target_name = "one"} : (tensor<4xf32>) -> tensor<4xf32> loc("first")
    %1 = "stablehlo.custom_call"(%0) {call_target_name = "two"} : (tensor<4xf32>) -> tensor<4xf32> loc("second")
    %2 = "stablehlo.tanh"(%1) : (tensor<4xf32>) -> tensor<4xf32> loc("third")
    %3 = "stablehlo.convert"(%2) : (tensor<4xf32>) -> tensor<4xf8E5M2> loc("fourth")
    "func.return"(%2, %3) : (tensor<4xf32>, tensor<4xf8E5M2>) -> ()
  }
}
"""


@pytest.mark.parametrize("name", ["digits_int8.tflite", "digits_float.onnx"])
def test_a_program_is_compiled_and_is_what_verification_runs(name: str, examples: Path, tmp_path: Path) -> None:
    artifact = transload.convert(examples / "digits" / name, "iree-llvm-cpu", tmp_path)
    stem = name.partition(".")[0]
    assert {file.name for file in artifact.files} == {f"{stem}.vmfb", f"{stem}.mlirbc", "report.json"}
    assert artifact.verification is not None
    assert artifact.verification.status == "passed"
    assert artifact.verification.engine == "iree-llvm-cpu's own runtime"
    report = artifact.report.target_report
    assert report["inputs"][0]["name"] == "image"
    assert (report["backend"], report["device"], report["driver"]) == ("llvm-cpu", "host", "local-task")
    if "int8" in name:
        assert artifact.verification.tensors[0].metrics["max_abs"] == 0


@pytest.mark.parametrize("name", [
    "tflite/mlperf_kws_int8", pytest.param("tflite/arm_kws_ds_cnn_int16x8", marks=pytest.mark.slow),
    pytest.param("tflite/coral_mobilenet_v1_0.25_128_quant", marks=pytest.mark.slow)])
def test_integers_of_real_models_are_those_of_litert(name: str, models: Path, tmp_path: Path) -> None:
    (path,) = (models / name).glob("*.tflite")
    verification = transload.convert(path, "iree-llvm-cpu", tmp_path).verification
    assert verification is not None
    assert (verification.status, verification.runtime) == ("passed", "litert")
    assert [tensor.metrics["max_abs"] for tensor in verification.tensors] == [0] * len(verification.tensors)


def test_unsigned_numbers_stay_unsigned(tmp_path: Path) -> None:
    tensor = ((1, 4), "uint8", None, ([0.05], [100]))
    model = tmp_path / "unsigned.tflite"
    model.write_bytes(write_operator("ADD", [tensor, tensor], [tensor]))
    artifact = transload.convert(model, "iree-llvm-cpu", tmp_path / "out")
    assert artifact.verification is not None
    assert artifact.verification.status == "passed"
    outputs = ran(artifact, random_inputs(artifact.module))
    assert [array.dtype for array in outputs.values()] == [np.uint8]


def ran(artifact: Any, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    from transload.plugin import Emitted

    target = host().targets[artifact.target]
    files = [file for file in artifact.files if file.name != "report.json"]
    return target.run(Emitted(files, dict(artifact.report.target_report)), inputs)


def test_numbers_of_64_bits_stay_as_they_are(tmp_path: Path) -> None:
    """IREE made f32 of them: programs would not take f64, and gave a third of the digits."""
    x = np.array([1.0, 1e-9, 3.0])
    module = build_op("top.Add", x, x[:1])
    transload.convert(module, "iree-llvm-cpu", tmp_path)
    (made,) = transload.run(tmp_path, dict(zip(module.inputs, (x, x[:1]), strict=True))).values()
    np.testing.assert_array_equal(made, x + 1.0)


def test_what_it_cannot_take_is_told_op_by_op(tmp_path: Path) -> None:
    model = tmp_path / "foreign.mlir"
    model.write_text(FOREIGN)
    with pytest.raises(TargetError) as caught:
        transload.convert(model, "iree-llvm-cpu", tmp_path / "out")
    told = {finding.what: (finding.names, finding.count) for finding in caught.value.findings}
    assert told == {"tensor<4xf8E5M2>": (("fourth",), 1), "stablehlo.custom_call": (("first", "second"), 2)}
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["report.json"]


@pytest.mark.parametrize(("count", "is_taken"), [(8, True), (9, False)])
def test_numbers_of_4_bits_that_end_within_a_byte_are_told_before_compiling(count: int, is_taken: bool, tmp_path: Path) -> None:
    """It was refused when it was compiled, with two names ten times."""
    model = tmp_path / "few.mlir"
    model.write_text(f"""
module {{
  func.func @main(%x: tensor<{count}xf32>) -> tensor<{count}xf32> {{
    %0 = "stablehlo.convert"(%x) : (tensor<{count}xf32>) -> tensor<{count}xi4> loc("few")
    %1 = "stablehlo.convert"(%0) : (tensor<{count}xi4>) -> tensor<{count}xf32> loc("back")
    "func.return"(%1) : (tensor<{count}xf32>) -> ()
  }}
}}""")
    found = transload.inspect(model, "iree-llvm-cpu").findings
    assert [finding.what for finding in found] == ([] if is_taken else [f"tensor<{count}xi4>"])
    assert all(len(set(finding.names)) == len(finding.names) and "end within a byte" in finding.why for finding in found)


@pytest.mark.parametrize("target", ["iree-cuda", "iree-rocm"])
def test_programs_for_gpus_are_compiled_without_one(target: str, examples: Path, tmp_path: Path) -> None:
    artifact = transload.convert(examples / "digits" / "digits_float.onnx", target, tmp_path)
    assert (tmp_path / "digits_float.vmfb").stat().st_size > 10_000
    assert artifact.verification is not None
    assert artifact.verification.status == "passed"
    if artifact.verification.engine != f"{target}'s own runtime":  # there is no such device here
        assert "IREE finds no device for" in " ".join(artifact.verification.notes)


def test_what_a_gpu_has_not_is_told_by_the_names_of_the_tensors(examples: Path, tmp_path: Path) -> None:
    """Vulkan's baseline has no 64-bit integers, in which quantized numbers are scaled; this device has them."""
    model = examples / "digits" / "digits_int8.tflite"
    with pytest.raises(TargetError) as caught:
        transload.convert(model, "iree-vulkan", tmp_path / "baseline")
    assert {name for finding in caught.value.findings for name in finding.names} == {"conv1", "depthwise", "pointwise"}
    assert all("option device=" in finding.hint for finding in caught.value.findings)
    assert not (tmp_path / "baseline" / "digits_int8.vmfb").exists()
    assert transload.convert(model, "iree-vulkan", tmp_path / "ampere", options={"device": "ampere"}, verify=False).files


def test_another_device_is_the_advice_for_what_a_device_has_not_alone() -> None:
    """Words of IREE 3.13 on models of the wild: at what its compiler made itself, it fails for any device."""
    said = [["'linalg.generic' op inferred input/output operand #1 has shape's dimension #0 to be 4, but found 3", ["padded"]],
            ["failed to legalize operation 'vector.from_elements' that was explicitly marked illegal", ["halved"]],
            ["failed to translate executables", []]]
    hints = {name: finding.hint for finding in findings_said(said, "--option device=...") for name in finding.names}
    assert hints["halved"] == "--option device=..."
    assert "device" not in hints["padded"] and "xla-cpu" in hints["padded"]
    assert set(hints) == {"padded", "halved"}


def test_a_program_for_another_machine_is_not_run_here(examples: Path, tmp_path: Path) -> None:
    artifact = transload.convert(
        examples / "digits" / "digits_float.onnx", "iree-llvm-cpu", tmp_path, options={"triple": "aarch64-linux-android29"})
    assert artifact.verification is not None
    assert artifact.verification.status == "passed"
    assert "is for aarch64-linux-android29, not for this machine" in " ".join(artifact.verification.notes)


@pytest.mark.parametrize(("backend", "options", "said"), [
    ("llvm-cpu", {"device": "--iree-opt-level=O0"}, "option device is a name"),
    ("llvm-cpu", {"triple": "a b"}, "option triple is a name"),
    ("llvm-cpu", {"device": "nonsense"}, "compiles not even a sum with device=nonsense"),
    ("llvm-cpu", {"triple": "nonsense"}, "compiles not even a sum with triple=nonsense"),
    ("cuda", {"device": "nonsense"}, "compiles not even a sum with device=nonsense"),
    ("rocm", {"device": "nonsense"}, "compiles not even a sum with device=nonsense"),
    ("vulkan", {"device": "nonsense"}, "compiles not even a sum with device=nonsense"),
])
def test_options_that_cannot_be_are_mistakes_in_the_call(
    backend: str, options: dict[str, str], said: str, examples: Path, tmp_path: Path,
) -> None:
    """Whatever IREE's compiler makes of them: it refuses the program, ends, or falls over."""
    model, out = examples / "digits" / "digits_float.onnx", tmp_path / "out"
    with pytest.raises(UsageError, match=said):
        transload.convert(model, f"iree-{backend}", out, options=options, verify=False)
    assert not out.exists()


def test_what_only_a_model_wants_of_a_device_that_there_is_stays_the_models_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum is asked about where something was named, and where that is fine, what is said is about the model."""
    monkeypatch.setattr(target_module, "compiled", lambda program, flags: (None, [["no f64 here", []]]))
    target = IreeTarget(BACKENDS[0])
    for device in ("host", "generic"):
        with pytest.raises(TargetError, match="IREE cannot compile this model"):
            target._compiled(b"", {"device": device, "triple": ""})


def test_a_damaged_program_is_an_error_in_words(examples: Path, tmp_path: Path) -> None:
    artifact = transload.convert(examples / "digits" / "digits_float.onnx", "iree-llvm-cpu", tmp_path, verify=False)
    inputs = random_inputs(artifact.module)
    program = tmp_path / "digits_float.vmfb"
    whole = program.read_bytes()
    for damaged in (b"", b"no program", whole[: len(whole) // 2], whole[:100] + bytes(200) + whole[300:]):
        program.write_bytes(damaged)
        with pytest.raises(RunError):
            ran(artifact, inputs)
    program.write_bytes(whole)
    with pytest.raises(RunError, match="inputs are missing: image"):
        ran(artifact, {})
    assert ran(artifact, inputs)["probabilities"].shape == (1, 10)


@pytest.mark.parametrize("k", [4, 9])
def test_equal_elements_keep_their_order(k: int, tmp_path: Path) -> None:
    """Of the greatest elements, too, which IREE looks for in its own way."""
    places = ((), "int32", np.array(k, np.int32), None)
    content = write_operator("TOPK_V2", [((2, 2, 9), "int32", None, None), places], [((2, 2, k), "int32", None, None)] * 2)
    model = tmp_path / "top.tflite"
    model.write_bytes(content)
    artifact = transload.convert(model, "iree-llvm-cpu", tmp_path / "out", verify=False)
    x = np.random.default_rng(0).integers(0, 3, (2, 2, 9)).astype(np.int32)
    numbers, found = ran(artifact, {"in0": x}).values()
    wanted = np.argsort(-x, axis=2, kind="stable")[..., :k]
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(numbers, np.take_along_axis(x, wanted, 2))


SORTED = """
module {
  func.func @main(%a: tensor<64xf32> {ml_program.identifier = "a"}, %b: tensor<64xf32> {ml_program.identifier = "b"})
      -> (tensor<64xf32>, tensor<64xf32>) {
    %0:2 = "stablehlo.sort"(%a, %b) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<f32>, %q: tensor<f32>):
      %1 = "stablehlo.floor"(%x) : (tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.floor"(%y) : (tensor<f32>) -> tensor<f32>
      %3 = "stablehlo.compare"(%1, %2) <{comparison_direction = #stablehlo<comparison_direction LT>}>
        : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%3) : (tensor<i1>) -> ()
    }) : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    "func.return"(%0#0, %0#1) : (tensor<64xf32>, tensor<64xf32>) -> ()
  }
}
"""


def test_sorts_of_other_people_are_stable(tmp_path: Path) -> None:
    (tmp_path / "sorted.mlir").write_text(SORTED)
    artifact = transload.convert(tmp_path / "sorted.mlir", "iree-llvm-cpu", tmp_path / "out", verify=False)
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-2, 2, 64).astype(np.float32), rng.standard_normal(64).astype(np.float32)
    order = np.argsort(np.floor(a), kind="stable")
    for found, wanted in zip(ran(artifact, {"a": a, "b": b}).values(), (a[order], b[order]), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_device_without_the_compiler_runs_programs(
    examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = examples / "digits" / "digits_float.onnx"
    transload.convert(model, "iree-llvm-cpu", tmp_path)
    given = dict(random_inputs(transload.load(model)))
    wanted = transload.run(tmp_path, given)
    without = {"iree.compiler": None, "jaxlib": None}
    monkeypatch.setattr("transload_targets.iree.target._find", lambda name: without.get(name, True))
    target = host().get("targets", "iree-llvm-cpu")
    assert "compiler is not installed" in (target.available() or "") and target.runs_here() is None
    notes: list[str] = []
    found = transload.run(tmp_path, given, tell=notes.append)
    assert notes == ["run by iree-llvm-cpu"]
    assert all(np.array_equal(found[name], array) for name, array in wanted.items())


def test_a_device_that_is_not_here_is_said_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """IREE's own message ends before it: it is that of the cause."""
    from iree import runtime

    from transload_targets.iree.runtime import Session

    def absent(driver: str) -> None:
        raise RuntimeError("Could not create device. Exception for last tried follows.") from RuntimeError("UNAVAILABLE\nat 3")

    monkeypatch.setattr(runtime, "Config", absent)
    with pytest.raises(RunError, match=r"IREE finds no device for cuda: UNAVAILABLE$"):
        Session("x.vmfb", "cuda")


def test_compiling_has_the_time_of_an_execution(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network of 29,000 ops took the compiler minutes, whatever was allowed."""
    monkeypatch.setattr(Worker, "call", lambda *_, **__: {"code": b"", "said": [seconds_left()]})
    with allowed(seconds=7):
        _, (left,) = compiled(b"", [])
    assert left <= 7.0
