"""The target `tosa`: files that the tools of TOSA take, a report, and refusals in words."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.chosen_target import target_options
from transload.errors import UsageError
from transload.ir import BF16, F32, I8, I16, I32, UI8, Module, QuantType, TensorType, input_names, new_module, set_results
from transload.ir.build import Builder
from transload.plugin_host import host
from transload_plugins.tosa import build


def network(element: Any = I8) -> Module:
    """A convolution and what follows it, of integers or of floats."""
    module = new_module()
    function = module.add_function("main", [TensorType((1, 8, 8, 3), element)], ["image"])
    block = function.regions[0].block
    builder = Builder(block)
    rng = np.random.default_rng(0)
    floats = element in (F32, BF16)
    accumulator = F32 if floats else I32
    weight = build.const(
        builder, rng.integers(-127, 127, (4, 3, 3, 3)).astype(np.float32 if floats else np.int8), element if floats else None)
    bias = build.const(builder, np.arange(4).astype(np.float32 if floats else np.int32), element if floats else None)
    value = builder.emit(
        "tosa.conv2d", block.arguments[0], weight, bias, build.zero_point(builder, 0, element),
        build.zero_point(builder, 0, element),
        pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=accumulator, location="conv")
    if not floats:
        value = build.rescale(builder, value, [1 << 30] * 4, [36] * 4, 0, 0, I8, per_channel=True, rounding="DOUBLE_ROUND")
    value = build.reshape(builder, build.clamp(builder, value, -100, 100), (1, 256))
    set_results(function, [value], ["scores"])
    return module


@pytest.fixture
def target() -> Any:
    return host().targets["tosa"]


def settings(target: Any, **given: Any) -> dict[str, Any]:
    return {**{name: default for name, (_, default, _) in target.options().items()}, **given}


@pytest.mark.parametrize("constants", ["inline", "resource"])
@pytest.mark.parametrize(("element", "profiles", "extensions"), [
    (I8, ["pro_int"], ["doubleround"]), (F32, ["pro_fp"], []), (BF16, [], ["bf16"])])
def test_files_are_taken_by_the_tools(
    element: Any, profiles: list[str], extensions: list[str], constants: str, target: Any, tmp_path: Path, tosa_opt: str,
    reference_model: Any,
) -> None:
    module = network(element)
    options = settings(target, constants=constants, mlir=True)
    assert not target.check(module, options)
    emitted = target.emit(module, tmp_path, "net", options)
    assert sorted(path.name for path in emitted.files) == ["net.mlir", "net.tosa"]
    assert emitted.report["profiles"] == profiles and emitted.report["extensions"] == extensions
    needed = f"specification_version=1.0 profiles={','.join(profiles or ['pro_fp'])}" + (
        f" extensions={','.join(extensions)}" if extensions else "")
    ran = subprocess.run(
        [tosa_opt, str(tmp_path / "net.mlir"), "-o", "/dev/null", f"--tosa-attach-target={needed}", "--tosa-validate"],
        capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    dtype = np.int8 if element == I8 else np.float32
    image = np.random.default_rng(1).integers(-100, 100, (1, 8, 8, 3)).astype(dtype)
    if element == BF16:
        image = build.dtype_of(BF16).type(0) + image.astype(build.dtype_of(BF16))
    from transload.engine import run_function

    ours = run_function(module, {"image": image})["scores"]
    theirs = reference_model((tmp_path / "net.tosa").read_bytes(), [image])[0]
    theirs = theirs if theirs.dtype == ours.dtype else theirs.view(ours.dtype)
    if element == I8:
        np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_allclose(ours.astype(np.float32), theirs.astype(np.float32), rtol=1e-2 if element == BF16 else 1e-5)


def test_report(target: Any, tmp_path: Path) -> None:
    emitted = target.emit(network(), tmp_path, "net", settings(target))
    assert emitted.report["operators"] == {"tosa.clamp": 1, "tosa.conv2d": 1, "tosa.rescale": 1, "tosa.reshape": 1}
    assert emitted.report["file_bytes"]["net.tosa"] == (tmp_path / "net.tosa").stat().st_size
    assert 108 + 16 <= emitted.report["constant_bytes"] <= 300


def test_everything_that_is_not_tosa_is_named(target: Any) -> None:
    quantized = QuantType(I8, F32, (0.5,), (0,))
    module = new_module()
    function = module.add_function(
        "main", [TensorType((2,), UI8), TensorType((None,), F32), TensorType((2,), quantized), TensorType((1,) * 7, F32)],
        list("abcd"))
    block = function.regions[0].block
    builder = Builder(block)
    a, b, c, d = block.arguments
    values = [
        builder.create("top.Relu", [d], [d.type], location="relu").results[0], builder.emit("tosa.abs", b, location="dynamic"),
        builder.emit("tosa.identity", c, location="quantized"), builder.emit("tosa.abs", d, location="deep"),
        builder.create("tosa.add", [a, a], [a.type], location="unsigned").results[0],
        builder.emit("tosa.add", *[build.const(builder, np.zeros(2, np.int16))] * 2, location="small"),
    ]
    set_results(function, values)
    findings = target.check(module, settings(target))
    said = {name: str(finding) for finding in findings for name in finding.names}
    assert "no operator of TOSA" in said["relu"]
    assert "known only when the model runs" in said["dynamic"]
    assert "quantized type" in said["quantized"]
    assert "rank 7" in said["deep"]
    assert "ui8" in said["unsigned"]
    assert "input1 i16" in said["small"]
    assert {"input a", "input b", "input c", "input d"} <= {finding.what for finding in findings}
    assert not any(name == "deep" for finding in target.check(module, settings(target, level="none")) for name in finding.names)


def test_operators_of_1_1_need_that_version(target: Any, tmp_path: Path) -> None:
    module = new_module()
    function = module.add_function("main", [TensorType((1, 2, 3), F32), TensorType((1, 4, 3), F32)], ["a", "b"])
    block = function.regions[0].block
    builder = Builder(block)
    zero = build.zero_point(builder, 0, F32)
    set_results(function, [builder.emit("tosa.matmul_t", *block.arguments, zero, zero, location="product")], ["y"])
    (finding,) = target.check(module, settings(target))
    assert "came with TOSA 1.1" in str(finding)
    newer = settings(target, tosa_version="1.1")
    assert not target.check(module, newer)
    assert target.emit(module, tmp_path, "m", newer).report["tosa_version"] == "1.1"


@pytest.mark.parametrize(("name", "value"), [("tosa_version", "0.80"), ("constants", "yes"), ("level", "9")])
def test_options_that_cannot_be(name: str, value: str, target: Any) -> None:
    with pytest.raises(UsageError, match=name):
        target_options(target, {name: value})


def test_an_option_of_text_that_is_not_written_is_refused(examples: Path, tmp_path: Path) -> None:
    model = examples / "digits" / "digits_int8.tflite"
    with pytest.raises(UsageError, match="constants=elided"):
        transload.convert(model, "tosa", tmp_path, verify=False, options={"constants": "elided"})
    assert not list(tmp_path.iterdir())
    transload.convert(model, "tosa", tmp_path, verify=False, options={"constants": "elided", "mlir": True})


def test_int16_needs_its_extension(target: Any, tmp_path: Path) -> None:
    module = new_module()
    function = module.add_function("main", [TensorType((4,), I16)], ["x"])
    block = function.regions[0].block
    set_results(function, [build.clamp(Builder(block), block.arguments[0], -5, 5)], ["y"])
    assert target.emit(module, tmp_path, "m", settings(target)).report["extensions"] == ["int16"]


def test_calls_are_replaced_by_what_they_call(tmp_path: Path) -> None:
    """Also in a program of nothing else, as JAX writes a compiled function that calls another one."""
    program = tmp_path / "calls.mlir"
    program.write_text("""func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = func.call @same(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %x : tensor<2xf32>, tensor<2xf32>
}
func.func private @same(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
""")
    for target in ("tosa", "stablehlo"):
        if host().targets[target].available() is None:
            transload.convert(program, target, tmp_path / target)
    module = transload.load(tmp_path / "tosa" / "calls.tosa")
    assert list(module.functions) == ["main"]
    x = np.array([1, 2], np.float32)
    for array in transload.run(module, {next(iter(input_names(module.main))): x}).values():
        np.testing.assert_array_equal(array, x)
