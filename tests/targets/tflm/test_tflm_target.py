"""The target `tflm`: what it writes compiles with the system's compiler, holds the model, and runs in the arena that it says."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import RunError, TargetError, TransloadError
from transload.plugin import Emitted
from transload.plugin_host import host
from transload.verification.inputs import random_inputs
from transload_targets.tflm.check import findings_of
from transload_targets.tflm.interpreter import Given, open_model
from transload_targets.tflm.project import Project, identifier, method_of
from transload_targets.tflm.rounding import recurrent_findings

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tflite_micro") is None, reason="install transload[tflm] to run models as microcontrollers do")

TINY = ["mlperf_kws_int8", "mlperf_resnet8_int8", "mlperf_ad_int8", "mlperf_vww_int8"]
"""The networks of MLPerf Tiny."""
STUBS = {
    "tensorflow/lite/micro/micro_mutable_op_resolver.h": """
        #pragma once
        enum TfLiteStatus { kTfLiteOk, kTfLiteError };
        namespace tflite { template <unsigned int n> struct MicroMutableOpResolver { @METHODS@ }; }""",
    "tensorflow/lite/schema/schema_generated.h": """
        #pragma once
        namespace tflite { struct Model {}; const Model* GetModel(const void*); }""",
    "tensorflow/lite/micro/micro_interpreter.h": """
        #pragma once
        #include <cstddef>
        #include <cstdint>
        #include "tensorflow/lite/schema/schema_generated.h"
        struct TfLiteTensor { union { char* raw; int8_t* int8; } data; size_t bytes; };
        namespace tflite { struct MicroInterpreter {
          template <class R> MicroInterpreter(const Model*, const R&, uint8_t*, size_t);
          TfLiteStatus AllocateTensors(); TfLiteStatus Invoke(); size_t inputs_size() const; size_t outputs_size() const;
          TfLiteTensor* input(size_t); TfLiteTensor* output(size_t); size_t arena_used_bytes() const; }; }"""}
"""The part of the library's interface that the program uses, after its headers: to compile against where the library is not."""


def ran(artifact: Any, inputs: dict[str, np.ndarray], arena: int | None = None) -> dict[str, np.ndarray]:
    report = dict(artifact.report.target_report)
    files = [file for file in artifact.files if file.name != "report.json"]
    return host().targets["tflm"].run(Emitted(files, report | ({"arena_bytes": arena} if arena is not None else {})), inputs)


@pytest.mark.parametrize("name", TINY)
def test_networks_of_mlperf_tiny_run_in_the_arena_that_is_stated(name: str, models: Path, tmp_path: Path) -> None:
    (path,) = (models / "tflite" / name).glob("*.tflite")
    artifact = transload.convert(path, "tflm", tmp_path)
    assert artifact.verification is not None
    assert (artifact.verification.status, artifact.verification.engine) == ("passed", "tflm's own runtime")
    arena = artifact.report.target_report["arena_bytes"]
    inputs = random_inputs(artifact.module)
    ours = ran(artifact, inputs, arena)
    original = open_model(path.read_bytes(), 1 << 22, 1)(list(inputs.values()))
    np.testing.assert_array_equal(list(ours.values()), original)  # its kernels round in a way of their own, but always the same
    with pytest.raises(RunError, match="does not take the model"):
        ran(artifact, inputs, arena - 64)


@pytest.mark.parametrize("name", ["digits_int8.tflite", "digits_float.onnx"])
def test_the_project_compiles_and_holds_the_model(name: str, examples: Path, tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    artifact = transload.convert(examples / "digits" / name, "tflm", tmp_path)
    assert artifact.verification is not None
    assert artifact.verification.status == "passed"
    stem = Path(name).stem
    dump = tmp_path / "dump.c"
    dump.write_text(f'#include <stdio.h>\n#include "{stem}_model.h"\n'
                    f"int main(void) {{ return fwrite({stem}_model, 1, {stem}_model_size, stdout) != {stem}_model_size; }}\n")
    subprocess.run(
        [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", str(dump), str(tmp_path / f"{stem}_model.c"),
         "-o", str(tmp_path / "dump")], check=True)
    held = subprocess.run([str(tmp_path / "dump")], capture_output=True, check=True).stdout
    assert held == (tmp_path / f"{stem}.tflite").read_bytes()
    header = (tmp_path / f"{stem}_model.h").read_text()
    assert f"#define {stem.upper()}_ARENA_BYTES {artifact.report.target_report['arena_bytes']}" in header


def test_the_program_compiles_against_the_interface_of_the_library(examples: Path, tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler here")
    artifact = transload.convert(examples / "digits" / "digits_int8.tflite", "tflm", tmp_path, verify=False)
    methods = re.findall(r"resolver\.(\w+)\(\)", (tmp_path / "digits_int8_ops.h").read_text())
    assert sorted(methods) == sorted(map(method_of, artifact.report.target_report["resolver"]))
    assert "AddConv2D" in methods
    for place, text in STUBS.items():
        file = tmp_path / "stubs" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("@METHODS@", " ".join(f"TfLiteStatus {method}();" for method in methods)))
    subprocess.run(
        [compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", str(tmp_path / "stubs"),
         str(tmp_path / "main.cc")], check=True)


def test_cmake_builds_the_model_alone(examples: Path, tmp_path: Path) -> None:
    cmake = shutil.which("cmake")
    if cmake is None or shutil.which("cc") is None:
        pytest.skip("there is no CMake or no C compiler here")
    transload.convert(examples / "digits" / "digits_int8.tflite", "tflm", tmp_path, verify=False)
    for command in (["-S", str(tmp_path), "-B", str(tmp_path / "build")], ["--build", str(tmp_path / "build")]):
        subprocess.run([cmake, *command], check=True, capture_output=True)
    assert (tmp_path / "build" / "libdigits_int8_model.a").exists()


def test_what_it_cannot_take_is_told_op_by_op(tmp_path: Path) -> None:
    """Two operators without a kernel there, one with a kernel for other types; all are told, by the names of the tensors."""
    model = tmp_path / "model.mlir"
    model.write_text("""
      module {
        func.func @main(%a: tensor<4xf32>, %b: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
          %0 = "tfl.atan2"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("angle")
          %1 = "tfl.cos"(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("fine")
          %2 = "tfl.bitwise_xor"(%b, %b) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64> loc("bits")
          "func.return"(%1, %2) : (tensor<4xf32>, tensor<4xi64>) -> ()
        }
      }""")
    with pytest.raises(TargetError) as caught:
        transload.convert(model, "tflm", tmp_path / "out", verify=False)
    told = {finding.what: finding.names for finding in caught.value.findings}
    assert told == {"tfl.atan2": ("angle",), "tfl.bitwise_xor": ("bits",)}
    assert all("tflite-micro says:" in finding.why for finding in caught.value.findings)


@pytest.mark.parametrize(("operator", "method"), [
    ("CONV_2D", "AddConv2D"), ("MAX_POOL_2D", "AddMaxPool2D"), ("ADD_N", "AddAddN"), ("RELU6", "AddRelu6"),
    ("SPACE_TO_BATCH_ND", "AddSpaceToBatchNd"), ("L2_NORMALIZATION", "AddL2Normalization"), ("PADV2", "AddPadV2"),
    ("CUMSUM", "AddCumSum"), ("TFLite_Detection_PostProcess", "AddDetectionPostprocess")])
def test_methods_of_the_resolver(operator: str, method: str) -> None:
    assert method_of(operator) == method


def test_names_of_files_and_tensors_are_no_code() -> None:
    assert identifier("7 días") == "model_7_d_as"
    project = Project("net", b"\x00\xff", 16, ["ADD"], [{"name": "a\\\n#error */", "type": "tensor<f32>"}], [])
    header = project.files()["net_model.h"]
    assert "//   0: a__#error */ tensor<f32>\n" in header
    assert "0x00, 0xff," in project.files()["net_model.c"]


@pytest.mark.parametrize("name", [
    "tflm_keyword_scrambled_svdf_int8", "arm_kws_dnn_s_int8", "mlperf_ad_dynamic_range"])
def test_networks_whose_kernels_end_the_process_or_round_alone_or_quantize_while_they_run(
    name: str, models: Path, tmp_path: Path,
) -> None:
    """An arena too small ends it in SVDF; FULLY_CONNECTED rounds twice; dynamic range has no kernels there."""
    (path,) = (models / "tflite" / name).glob("*.tflite")
    found = transload.convert(path, "tflm", tmp_path).verification
    assert found is not None
    assert (found.status, found.engine) == ("passed", "tflm's own runtime")


def _layers(weights: tuple[int, int]) -> str:
    """Two 8-bit FULLY_CONNECTED in a row, whose weights are all one number each."""
    q = "!quant.uniform<i8:f32, 0.5>"
    lines = [
        f'%w{n} = "tfl.pseudo_qconst"() '
        f'{{qtype = tensor<4x4x{q}>, value = dense<{weight}> : tensor<4x4xi8>}} : () -> tensor<4x4x{q}>'
        for n, weight in enumerate(weights)]
    attributes = 'fused_activation_function = "NONE", keep_num_dims = false, weights_format = "DEFAULT"'
    for n, x in enumerate(("%x", "%0")):
        lines.append(f'%b{n} = "tfl.no_value"() {{value}} : () -> none')
        lines.append(f'%{n} = "tfl.fully_connected"({x}, %w{n}, %b{n}) {{{attributes}}} : '
                     f'(tensor<1x4x{q}>, tensor<4x4x{q}>, none) -> tensor<1x4x{q}> loc("layer{n}")')
    body = "\n".join(lines)
    return (f"module {{ func.func @main(%x: tensor<1x4x{q}>) -> tensor<1x4x{q}> {{ {body}\n"
            f'"func.return"(%1) : (tensor<1x4x{q}>) -> () }} }}')


@pytest.mark.parametrize(("weights", "refused"), [((3, 5), []), ((3, 3), ["layer1"])])
def test_a_layer_behind_itself_is_refused_as_its_rounding_adds_up(
    weights: tuple[int, int], refused: list[str], tmp_path: Path,
) -> None:
    """tflite-micro rounds FULLY_CONNECTED twice: over the steps of an unrolled recurrent network that grows to any size."""
    (tmp_path / "layers.mlir").write_text(_layers(weights))
    module = transload.load(tmp_path / "layers.mlir")
    assert [name for finding in recurrent_findings(module) for name in finding.names] == refused


def test_an_unrolled_lstm_is_refused_until_the_rounding_of_tflite_micro_is_asked_for(models: Path, tmp_path: Path) -> None:
    (path,) = (models / "tflite" / "arm_kws_basic_lstm_s_int8").glob("*.tflite")
    with pytest.raises(TargetError) as caught:
        transload.convert(path, "tflm", tmp_path / "kept")
    assert [(finding.what, finding.hint) for finding in caught.value.findings] == [
        ("tfl.fully_connected", "--option recurrent=micro takes tflite-micro's rounding instead")]
    artifact = transload.convert(path, "tflm", tmp_path / "micro", verify=False, options={"recurrent": "micro"})
    assert artifact.report.target_report["arena_bytes"] > 0


def test_a_network_that_we_quantize_runs_in_the_arena_that_is_stated(models: Path, tmp_path: Path) -> None:
    (path,) = (models / "tflite" / "mlperf_resnet8_float").glob("*.tflite")
    samples = [{"input_1": each} for each in np.random.default_rng(0).uniform(0, 255, (4, 1, 32, 32, 3)).astype(np.float32)]
    artifact = transload.convert(path, "tflm", tmp_path, quantize="int8", data=samples)
    assert artifact.verification is not None and artifact.verification.passed
    inputs = random_inputs(artifact.module)
    arena = artifact.report.target_report["arena_bytes"]
    assert ran(artifact, inputs, arena)
    with pytest.raises(RunError, match="does not take the model"):
        ran(artifact, inputs, arena - 64)


def test_what_runs_on_zeros_is_taken_and_what_stops_there_is_refused(tmp_path: Path) -> None:
    """FLOOR_DIV of int32 is loaded by the interpreter, and refused when it runs."""
    model = tmp_path / "model.mlir"
    model.write_text("""
      module {
        func.func @main(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
          %0 = "tfl.floor_div"(%a, %b) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32> loc("quotient")
          "func.return"(%0) : (tensor<4xi32>) -> ()
        }
      }""")
    with pytest.raises(TargetError) as caught:
        transload.convert(model, "tflm", tmp_path / "out", verify=False)
    assert [(finding.what, finding.names) for finding in caught.value.findings] == [("tfl.floor_div", ("quotient",))]


def test_what_stops_on_zeros_alone_is_taken(tmp_path: Path) -> None:
    """DIV of int32 is run by the interpreter where the divisor is not zero."""
    model = tmp_path / "model.mlir"
    model.write_text("""
      module {
        func.func @main(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
          %0 = "tfl.div"(%a, %b) {fused_activation_function = "NONE"} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
          "func.return"(%0) : (tensor<4xi32>) -> ()
        }
      }""")
    artifact = transload.convert(model, "tflm", tmp_path / "out", verify=False)
    given = [np.array([7, -7, 9, 1], np.int32), np.array([2, 2, -3, 1], np.int32)]
    (found,) = ran(artifact, dict(zip(artifact.module.inputs, given, strict=True))).values()
    np.testing.assert_array_equal(found, [3, -3, -3, 1])


def test_constant_positions_are_of_32_bits(tmp_path: Path) -> None:
    """tflite-micro's GATHER knows no others."""
    model = tmp_path / "model.mlir"
    model.write_text("""
      module {
        func.func @main(%a: tensor<2x5xf32>) -> tensor<2x3xf32> {
          %0 = "top.Weight"() {value = dense<[3, -1, 0]> : tensor<3xi64>} : () -> tensor<3xi64>
          %1 = "top.Gather"(%a, %0) {axis = 1 : i64} : (tensor<2x5xf32>, tensor<3xi64>) -> tensor<2x3xf32>
          "func.return"(%1) : (tensor<2x3xf32>) -> ()
        }
      }""")
    artifact = transload.convert(model, "tflm", tmp_path / "out", verify=False)
    given = {"a": np.arange(10, dtype=np.float32).reshape(2, 5)}
    (found,) = ran(artifact, dict(zip(artifact.module.inputs, given.values(), strict=True))).values()
    np.testing.assert_array_equal(found, given["a"][:, [3, 4, 0]])


def test_a_model_of_unknown_sizes_is_loaded_and_not_run(tmp_path: Path) -> None:
    """Within a file there may be such tensors, whose operators are tried one by one."""
    module = transload.load(format="mlir", text="""
      module {
        func.func @main(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
          %0 = "tfl.tanh"(%a) : (tensor<?x4xf32>) -> tensor<?x4xf32>
          "func.return"(%0) : (tensor<?x4xf32>) -> ()
        }
      }""")
    assert not Given.of(b"", module).whole
    assert not any("Unfit" in finding.why for finding in findings_of(module))


LOOP = """"builtin.module"() ({
  "func.func"() <{function_type = (tensor<i32>, tensor<3xf32>, tensor<2xTYPE>) -> (tensor<3xf32>, tensor<2xTYPE>), sym_name = "main"}> ({
  ^bb0(%step: tensor<i32>, %x: tensor<3xf32>, %w: tensor<2xTYPE>):
    %zero = "top.Weight"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %n, %y, %v = "top.While"(%zero, %x, %w) ({
    ^bb0(%i: tensor<i32>, %a: tensor<3xf32>, %b: tensor<2xTYPE>):
      %end = "top.Weight"() <{value = dense<6> : tensor<i32>}> : () -> tensor<i32>
      %more = "top.Compare"(%i, %end) <{mode = "Less"}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "top.Yield"(%more) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<i32>, %a: tensor<3xf32>, %b: tensor<2xTYPE>):
      %next = "top.Add"(%i, %step) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %sum = "top.Add"(%a, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %twice = "top.Add"(%b, %b) : (tensor<2xTYPE>, tensor<2xTYPE>) -> tensor<2xTYPE>
      "top.Yield"(%next, %sum, %twice) : (tensor<i32>, tensor<3xf32>, tensor<2xTYPE>) -> ()
    }) : (tensor<i32>, tensor<3xf32>, tensor<2xTYPE>) -> (tensor<i32>, tensor<3xf32>, tensor<2xTYPE>)
    "func.return"(%y, %v) : (tensor<3xf32>, tensor<2xTYPE>) -> ()
  }) : () -> ()
}) : () -> ()"""  # noqa: E501
"""A loop by steps of an input: with a step of 0, as of an input of zeros, it never ends."""


def test_a_loop_runs_in_the_arena_that_is_stated_and_not_before(tmp_path: Path) -> None:
    module = transload.load(text=LOOP.replace("TYPE", "i32"), format="mlir")
    artifact = transload.convert(module, "tflm", tmp_path, verify=False)
    assert "WHILE" in artifact.report.target_report["resolver"]
    for step in (1, 2, 9):
        inputs = dict(zip(module.inputs, (np.int32(step), np.float32([1, -2, 3]), np.int32([5, -7])), strict=True))
        inputs = {name: np.asarray(array) for name, array in inputs.items()}
        wanted = transload.run(module, inputs)
        for mine, theirs in zip(wanted.values(), ran(artifact, inputs).values(), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_an_operator_in_a_loop_without_a_kernel_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    module = transload.load(text=LOOP.replace("TYPE", "i64"), format="mlir")
    with pytest.raises(TransloadError, match=r"tfl.add.*INT64") as caught:
        transload.convert(module, "tflm", tmp_path, verify=False)
    assert "tfl.while" not in str(caught.value)
    assert not list(tmp_path.glob("*.tflite"))
