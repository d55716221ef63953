"""The target `coreml`: programs that coremltools builds and reads back, and what it cannot take.

Core ML runs on Apple's systems alone. What stands in for it here: coremltools' own inference of every call's shape and type, its
values of calls on constants where it knows them, and its reading of the package that was written.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import TargetError, TransloadError
from transload.ir import F32, I8, NONE, UI8, Dense, QuantType, TensorType
from transload.verification.inputs import random_inputs
from transload.worker import Worker
from transload_targets.coreml import runtime
from transload_targets.coreml.check import EMITTERS, written
from transload_targets.coreml.program import identifiers

from .folding import folded
from tests.support.graphs import Graph

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("coremltools") is None, reason="install transload[coreml] to write Core ML programs")

READER = Worker("coremltools", needs=("transload_targets", "numpy", "coremltools"))


def read_back(package: Path) -> dict[str, Any]:
    found: dict[str, Any] = READER.call("transload_targets.coreml.runtime:loaded", str(package.resolve()))
    return found


@pytest.mark.parametrize("name", ["digits_float.onnx", "digits_float.tflite"])
def test_a_model_is_written_and_coremltools_reads_it_back(name: str, examples: Path, tmp_path: Path) -> None:
    artifact = transload.convert(examples / "digits" / name, "coreml", tmp_path)
    assert artifact.verification is not None and artifact.verification.passed
    found = read_back(tmp_path / "digits_float.mlpackage")
    assert (found["inputs"], found["outputs"]) == (["image"], ["probabilities"])
    assert found["operations"]["conv"] == 3 and found["operations"]["softmax"] == 1


def test_what_core_ml_rounds_otherwise_is_refused_unless_that_is_asked_for(examples: Path, tmp_path: Path) -> None:
    model = examples / "digits" / "digits_int8.tflite"
    with pytest.raises(TransloadError) as caught:
        transload.convert(model, "coreml", tmp_path / "kept")
    findings = caught.value.findings  # type: ignore[attr-defined]
    assert "top.Conv" in {finding.what for finding in findings}
    assert all("rounding=coreml" in finding.hint for finding in findings)
    assert not list((tmp_path / "kept").glob("*.mlpackage"))
    transload.convert(model, "coreml", tmp_path / "coreml", verify=False, options={"rounding": "coreml"})
    assert (tmp_path / "coreml" / "digits_int8.mlpackage").exists()


def test_what_is_quantized_on_its_way_there_rounds_as_it_does(examples: Path, tmp_path: Path) -> None:
    images = np.load(examples / "digits" / "test_images.npz")["images"][:20].reshape(-1, 1, 1, 8, 8) / np.float32(16)
    artifact = transload.convert(
        examples / "digits" / "digits_float.onnx", "coreml", tmp_path, quantize="int8", data=[{"image": each} for each in images])
    assert artifact.verification is not None and artifact.verification.passed
    assert read_back(tmp_path / "digits_float.mlpackage")["operations"]["quantize"] > 3


def test_quantized_models_keep_weights_of_eight_bits(examples: Path, tmp_path: Path) -> None:
    artifact = transload.convert(
        examples / "digits" / "digits_int8.tflite", "coreml", tmp_path, verify=False, options={"rounding": "coreml"})
    operations = read_back(tmp_path / "digits_int8.mlpackage")["operations"]
    assert operations["constexpr_affine_dequantize"] == 4 and operations["quantize"] > 3 and operations["dequantize"] > 3
    weights = tmp_path / "digits_int8.mlpackage" / "Data" / "com.apple.CoreML" / "weights" / "weight.bin"
    assert weights.stat().st_size < 1.3 * artifact.report.target_report["constant_bytes"] + 4096


def test_models_of_dynamic_range_are_computed_in_floats(tmp_path: Path) -> None:
    """Weights of eight bits beside floats, which TFLite quantizes while it runs: Core ML has no such call."""
    weights = QuantType(I8, F32, (0.01,), (0,))
    graph = Graph((1, 16))
    stored = np.random.default_rng(0).integers(-127, 127, (8, 16), endpoint=True).astype(np.int8)
    build = graph.builder
    held = build.create("tfl.pseudo_qconst", (), (TensorType((8, 16), weights),), {
        "value": Dense(stored), "qtype": TensorType((8, 16), weights)}).results[0]
    none = build.create("tfl.no_value", (), (NONE,), {"value": None}).results[0]
    made = build.create("tfl.fully_connected", (graph.inputs[0], held, none), (TensorType((1, 8), F32),), {
        "fused_activation_function": "NONE", "keep_num_dims": False, "weights_format": "DEFAULT",
        "asymmetric_quantize_inputs": True}).results[0]
    path = transload.save(graph.done(made), tmp_path / "hybrid.tflite")
    artifact = transload.convert(path, "coreml", tmp_path / "out")
    assert artifact.verification is not None and artifact.verification.passed
    assert {op.name for op in artifact.module.ops()} >= {"top.MatMul"}
    assert not {op.name for op in artifact.module.ops()} & {"top.ShiftRight", "top.Round"}


def test_between_quantized_types_both_calls_stand(tmp_path: Path) -> None:
    first, second = QuantType(UI8, F32, (0.05,), (110,)), QuantType(I8, F32, (0.03,), (-4,))
    graph = Graph((1, 2, 3, 4))
    made = graph.Cast(graph.Cast(graph.inputs[0], element=first), element=second, rounding="once")
    transload.convert(graph.done(graph.Cast(made, element=F32)), "coreml", tmp_path, verify=False)
    (package,) = tmp_path.glob("*.mlpackage")
    operations = read_back(package)["operations"]
    assert (operations["quantize"], operations["dequantize"]) == (2, 2)


def test_half_precision_is_an_option(examples: Path, tmp_path: Path) -> None:
    for precision in ("float32", "float16"):
        model = examples / "digits" / "digits_float.onnx"
        transload.convert(model, "coreml", tmp_path / precision, options={"precision": precision})
    sizes = [sum(file.stat().st_size for file in (tmp_path / name).rglob("weight.bin")) for name in ("float32", "float16")]
    assert sizes[1] < 0.6 * sizes[0]


@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric"])
def test_images_are_resized(mode: str, tmp_path: Path) -> None:
    module = transload.load(format="mlir", text=f"""
      module {{ func.func @main(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x7x9xf32> {{
        %0 = "top.Interp"(%x) {{sizes = array<i64: 7, 9>, mode = "linear", coord_mode = "{mode}"}} :
          (tensor<1x2x3x4xf32>) -> tensor<1x2x7x9xf32>
        return %0 : tensor<1x2x7x9xf32> }} }}""")
    transload.convert(module, "coreml", tmp_path, verify=False)
    (package,) = tmp_path.glob("*.mlpackage")
    assert read_back(package)["operations"]["resize"] == 1


# --- what calls on constants give

FLOATS = "tensor<2x3x4x4xf32>"
CASES = [
    ("Tanh", "", FLOATS), ("Exp", "", FLOATS), ("Abs", "", FLOATS), ("Floor", "", FLOATS), ("Neg", "", FLOATS),
    ("Reciprocal", "", FLOATS), ("Sigmoid", "", FLOATS), ("Relu", "relu_limit = 6.0 : f64", FLOATS), ("Relu", "", FLOATS),
    ("Erf", "", FLOATS), ("HardSwish", "", FLOATS), ("Square", "", FLOATS), ("Clip", "min = -1.0 : f64, max = 0.5 : f64", FLOATS),
    ("LeakyRelu", "alpha = 0.1 : f64", FLOATS), ("Elu", "alpha = 0.7 : f64", FLOATS), ("Selu", "", FLOATS),
    ("Celu", "alpha = 0.7 : f64", FLOATS), ("HardSigmoid", "", FLOATS), ("Softsign", "", FLOATS), ("Softplus", "", FLOATS),
    ("Softmax", "axis = 1 : i64", FLOATS), ("AddConst", "const_val = 2.0 : f64, do_relu = true", FLOATS),
    ("Permute", "order = array<i64: 0, 2, 3, 1>", "tensor<2x4x4x3xf32>"),
    ("Reshape", "shape = array<i64: 6, 16>", "tensor<6x16xf32>"),
    ("Tile", "tile = array<i64: 1, 2, 1, 3>", "tensor<2x6x4x12xf32>"),
    ("Slice", "offset = array<i64: 0, 1, 3, 0>, ends = array<i64: 2, 3, -5, 4>, steps = array<i64: 1, 1, -2, 1>",
     "tensor<2x2x2x4xf32>"),
    ("Pad", "paddings = array<i64: 0, 0, 1, 0, 0, 0, 2, 1>, val = 3.0 : f64", "tensor<2x3x7x5xf32>"),
    ("Pad", 'paddings = array<i64: 0, 0, 1, 2, 0, 0, 2, 1>, mode = "reflect"', "tensor<2x3x7x7xf32>"),
    ("Pad", 'paddings = array<i64: 0, 0, 1, 2, 0, 0, 2, 1>, mode = "edge"', "tensor<2x3x7x7xf32>"),
    ("Reverse", "axes = array<i64: 1, 3>", FLOATS), ("CumSum", "axis = 2 : i64, reverse = true", FLOATS),
    ("Reduce", 'axes = array<i64: 2, 3>, keepdims = false, mode = "ReduceMean"', "tensor<2x3xf32>"),
    ("Reduce", 'axes = array<i64: 1>, keepdims = true, mode = "ReduceMax"', "tensor<2x1x4x4xf32>"),
    ("Reduce", 'axes = array<i64: 1>, keepdims = true, mode = "ReduceL2"', "tensor<2x1x4x4xf32>"),
    ("Arg", 'axis = 1 : i64, keepdims = true, mode = "ArgMax"', "tensor<2x1x4x4xi64>"),
    ("RMSNorm", "axis = 3 : i64", FLOATS), ("Normalize", "axes = array<i64: 1>", FLOATS), ("LayerNorm", "axis = 2 : i64", FLOATS),
    ("Depth2Space", "block_h = 2 : i64, block_w = 2 : i64, is_inversed = true", "tensor<2x12x2x2xf32>"),
]


@pytest.mark.parametrize(("name", "attributes", "result"), CASES)
def test_calls_on_constants_give_what_the_hub_computes(name: str, attributes: str, result: str) -> None:
    """Where coremltools infers values: of most calls, that is, but for windows and images."""
    module = transload.load(format="mlir", text=f"""
      module {{
        func.func @main(%a: {FLOATS}) -> {result} {{
          %0 = "top.{name}"(%a) {{{attributes}}} : ({FLOATS}) -> {result}
          "func.return"(%0) : ({result}) -> ()
        }}
      }}""")
    inputs = random_inputs(module)
    (wanted,) = transload.run(module, inputs).values()
    (found,) = folded(module, list(inputs.values()))
    if found is not None:
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


def test_coremltools_knows_the_values_of_most_cases() -> None:
    known = 0
    for name, attributes, result in CASES:
        module = transload.load(format="mlir", text=f"""
          module {{
            func.func @main(%a: {FLOATS}) -> {result} {{
              %0 = "top.{name}"(%a) {{{attributes}}} : ({FLOATS}) -> {result}
              "func.return"(%0) : ({result}) -> ()
            }}
          }}""")
        known += folded(module, list(random_inputs(module).values()))[0] is not None
    assert known > 0.5 * len(CASES)


# --- refusals


def test_what_it_cannot_take_is_told_op_by_op_and_at_once(tmp_path: Path) -> None:
    """No call for it, not with these attributes, more than five dimensions, and a call that coremltools refuses."""
    model = tmp_path / "model.mlir"
    model.write_text("""
      module {
        func.func @main(%a: tensor<1x2x3x4xf32>, %b: tensor<1x2x1x3x1x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) {
          %0 = "top.Asinh"(%a) : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> loc("area")
          %1 = "top.Reshape"(%b) {shape = array<i64: 1, 2, 3, 4>} : (tensor<1x2x1x3x1x4xf32>) -> tensor<1x2x3x4xf32> loc("six")
          %2 = "top.MaxPool"(%1) {kernel_shape = array<i64: 1, 1>, dilations = array<i64: 2, 1>}
            : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> loc("window")
          "func.return"(%0, %2) : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> ()
        }
      }""")
    with pytest.raises(TargetError) as caught:
        transload.convert(model, "coreml", tmp_path / "out", verify=False)
    told = {finding.what: finding.why for finding in caught.value.findings}
    assert "no call of Core ML" in told["top.Asinh"] and "dilated" in told["top.MaxPool"]
    assert "five dimensions" in told["top.Reshape"] or "five dimensions" in told["an input"]
    assert not list(tmp_path.glob("out/*.mlpackage"))


SMALL = """
  module {
    func.func @main(%a: tensor<4xui8>, %b: tensor<4xui8>) -> tensor<4xRESULT> {
      WIDER
      %0 = "top.Mul"(%A, %B) : (tensor<4xRESULT>, tensor<4xRESULT>) -> tensor<4xRESULT> loc("product")
      "func.return"(%0) : (tensor<4xRESULT>) -> ()
    }
  }"""


def test_small_integers_that_may_wrap_round_are_refused() -> None:
    """Core ML computes them in int32, where 16 * 16 is not 0; what is int32 before, or cannot leave its type, is taken."""
    plain = transload.load(format="mlir", text=SMALL.replace("RESULT", "ui8").replace("WIDER", "").replace("%A", "%a").replace(
        "%B", "%b"))
    (finding,) = written(plain, "float32", build=False).findings
    assert (finding.what, finding.names) == ("top.Mul", ("product",)) and "wrap round" in finding.why
    casts = "\n".join(f'%{name.upper()} = "top.Cast"(%{name}) : (tensor<4xui8>) -> tensor<4xi32>' for name in "ab")
    wide = transload.load(format="mlir", text=SMALL.replace("RESULT", "i32").replace("WIDER", casts))
    assert not written(wide, "float32", build=False).findings


def test_a_call_whose_result_is_another_than_the_module_says_is_refused() -> None:
    module = transload.load(format="mlir", text="""
      module {
        func.func @main(%a: tensor<2x6xf32>) -> tensor<2x6xf32> {
          %0 = "top.Tanh"(%a) : (tensor<2x6xf32>) -> tensor<2x6xf32> loc("bent")
          "func.return"(%0) : (tensor<2x6xf32>) -> ()
        }
      }""")
    before = EMITTERS["top.Tanh"]
    EMITTERS["top.Tanh"] = lambda op, p: p("transpose", x=p.of(op.input), perm=[1, 0])
    try:
        (finding,) = written(module, "float32").findings
    finally:
        EMITTERS["top.Tanh"] = before
    assert finding.what == "top.Tanh" and "it would be fp32 of shape [6, 2]" in finding.why and finding.names == ("bent",)


def test_names_become_identifiers_each_another_one() -> None:
    assert dict(identifiers(["a/b", "a:b", "7", "", "ünï"])) == {"a/b": "a_b", "a:b": "a_b_2", "7": "_7", "": "_", "ünï": "_n_"}


def test_integers_and_truth_values_at_the_borders(tmp_path: Path) -> None:
    """Core ML's borders are floats and int32: what else a model takes and gives is cast inside."""
    model = tmp_path / "model.mlir"
    model.write_text("""
      module {
        func.func @main(%a: tensor<4xi64>, %b: tensor<4xi1>, %c: tensor<3xf32>) -> (tensor<4xf32>, tensor<4xi1>) {
          %0 = "top.Gather"(%c, %a) {axis = 0 : i64} : (tensor<3xf32>, tensor<4xi64>) -> tensor<4xf32>
          %1 = "top.LogicalNot"(%b) : (tensor<4xi1>) -> tensor<4xi1>
          "func.return"(%0, %1) : (tensor<4xf32>, tensor<4xi1>) -> ()
        }
      }""")
    transload.convert(model, "coreml", tmp_path / "out", verify=False)
    found = read_back(tmp_path / "out" / "model.mlpackage")
    assert len(found["inputs"]) == 3 and len(found["outputs"]) == 2


@pytest.mark.parametrize(("left", "right"), [((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((4,), (4, 3)), ((3, 4), (4,))])
def test_products_with_vectors(left: tuple[int, ...], right: tuple[int, ...], tmp_path: Path) -> None:
    g = Graph(left, right)
    module = g.done(g.builder.emit("top.MatMul", *g.inputs))
    transload.convert(module, "coreml", tmp_path, verify=False)
    assert any(tmp_path.glob("*.mlpackage"))


def test_what_coremltools_raises_of_the_whole_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folding takes some constants for others' (`New var ... doesn't have compatible subtype`)."""
    import coremltools

    def broken(*given: Any, **named: Any) -> Any:
        raise ValueError("New var  x:\n no subtype")

    monkeypatch.setattr(coremltools, "convert", broken)
    monkeypatch.setattr(runtime.logging, "disable", lambda level: None)  # as long as a process of its own
    made = runtime.build([{"name": "x", "wire": 0, "shape": (2,), "type": "fp32"}], [], [{"name": "y", "wire": 0}], "float32")
    assert made == {"refused": [[0, "New var x: no subtype"]], "files": {}}
