"""The target `stablehlo`: files that jaxlib and IREE read, for the version that was asked for; refusals by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import TargetError, TransloadError, UsageError
from transload.ir import F32, I8, Module, QuantType, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.plugin_host import host
from transload.testing import check_target
from transload.verification.inputs import random_inputs
from transload_plugins.stablehlo import build

pytest.importorskip("jaxlib", reason="install jaxlib, which writes portable artifacts")

MODELS = ["digits_int8.tflite", "digits_float.tflite", "digits_float.onnx"]
QUICK = [(MODELS[0], "0.9.0"), (MODELS[0], "1.0.0"), (MODELS[1], "0.9.0"), (MODELS[2], "1.0.0")]


def file_of(artifact: Any, suffix: str) -> Path:
    (path,) = [file for file in artifact.files if file.suffix == suffix]
    return path


def near(wanted: np.ndarray, got: np.ndarray) -> None:
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "version"), [
    pytest.param(name, version, marks=() if (name, version) in QUICK else pytest.mark.slow)
    for name in MODELS for version in ("0.9.0", "1.0.0", "newest")])
def test_artifacts_are_read_and_run_by_jaxlib_and_iree(
    name: str, version: str, examples: Path, tmp_path: Path, iree: Any,
) -> None:
    artifact = transload.convert(examples / "digits" / name, "stablehlo", tmp_path, options={"minimum_version": version})
    assert artifact.verified
    inputs = random_inputs(artifact.module)
    (wanted,) = transload.run(artifact.module, inputs).values()
    path = file_of(artifact, ".mlirbc")
    read = transload.load(path)
    (got,) = transload.run(read, dict(zip(random_inputs(read), inputs.values(), strict=True)), engine="xla").values()
    near(wanted, got)
    near(wanted, iree(path, list(inputs.values()))[0])


@pytest.mark.parametrize("version", ["0.9.0", "1.0.0"])
def test_the_artifact_says_its_version(version: str, examples: Path, tmp_path: Path) -> None:
    artifact = transload.convert(
        examples / "digits" / MODELS[0], "stablehlo", tmp_path, options={"minimum_version": version}, verify=False)
    assert f"StableHLO_v{version}".encode() in file_of(artifact, ".mlirbc").read_bytes()[:64]
    assert artifact.report.target_report["minimum_version"] == version


@pytest.mark.parametrize("constants", ["inline", "resource"])
def test_iree_reads_the_text(constants: str, examples: Path, tmp_path: Path, iree: Any) -> None:
    artifact = transload.convert(
        examples / "digits" / MODELS[0], "stablehlo", tmp_path, options={"constants": constants}, verify=False)
    inputs = random_inputs(artifact.module)
    (wanted,) = transload.run(artifact.module, inputs).values()
    near(wanted, iree(file_of(artifact, ".mlir"), list(inputs.values()))[0])


def test_elided_text_is_small(examples: Path, tmp_path: Path) -> None:
    sizes = {
        constants: file_of(transload.convert(
            examples / "digits" / MODELS[1], "stablehlo", tmp_path / constants, options={"constants": constants}, verify=False),
            ".mlir").stat().st_size
        for constants in ("inline", "elided")}
    assert sizes["elided"] < sizes["inline"] / 2


def test_the_target_keeps_its_contract(examples: Path) -> None:
    check_target("stablehlo", examples / "digits" / MODELS[0])


def test_the_target_runs_what_it_wrote(examples: Path, tmp_path: Path) -> None:
    from transload.plugin import Emitted

    artifact = transload.convert(examples / "digits" / MODELS[0], "stablehlo", tmp_path, verify=False)
    inputs = random_inputs(artifact.module)
    target = host().targets["stablehlo"]
    got = target.run(Emitted(artifact.files), inputs)
    for a, b in zip(transload.run(artifact.module, inputs).values(), got.values(), strict=True):
        near(a, b)


# --- what a version cannot say


def newer_module() -> Module:
    """`tan` came with 1.4.0; one is in a branch that uses a value from around, one is named."""
    module = new_module()
    function = module.add_function("main", [TensorType((4,), F32)], ["x"])
    builder = Builder(function.regions[0].block)
    x = function.regions[0].block.arguments[0]
    first = builder.emit("stablehlo.tan", x, location="angle")
    condition = build.reshape(builder, build.compare(builder, "GT", build.cut(builder, x, 0, 0, 1), 0.0), ())
    regions = [
        build.region(builder, (), body)
        for body in (lambda inner: inner.emit("stablehlo.tan", x, location="inner angle"), lambda inner: x)]
    (second,) = build.with_regions(builder, "if", (condition,), regions, [x.type])
    set_results(function, [builder.emit("stablehlo.add", first, second)], ["y"])
    return module


def test_everything_that_a_version_cannot_say_is_listed(tmp_path: Path) -> None:
    with pytest.raises(TargetError) as caught:
        transload.convert(newer_module(), "stablehlo", tmp_path / "out", options={"minimum_version": "1.0.0"}, verify=False)
    (finding,) = caught.value.findings
    assert finding.what == "stablehlo.tan" and finding.count == 2
    assert set(finding.names) == {"angle", "inner angle"}
    assert finding.why.startswith("cannot be said in StableHLO 1.0.0: stablehlo.tan") and "later minimum_version" in finding.hint
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["report.json"]


def test_no_later_version_is_advised_where_none_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest had the same fault, and the same advice."""
    from transload_targets.stablehlo import check

    def refuse(module: Module, path: Path, version: str) -> None:
        if any(op.name == "stablehlo.tan" for op in module.walk()):
            raise UsageError(f"{path}: a tangent is not there")

    monkeypatch.setattr(check, "write_artifact", refuse)
    with pytest.raises(TargetError) as caught:
        transload.convert(newer_module(), "stablehlo", tmp_path / "out", options={"minimum_version": "1.0.0"}, verify=False)
    (finding,) = caught.value.findings
    assert finding.what == "stablehlo.tan" and finding.why.endswith("a tangent is not there") and not finding.hint


def test_a_full_disk_is_no_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a version cannot say is tried by writing: the report of such a refusal replaced the artifact that was there."""
    from transload_targets.stablehlo import check

    transload.convert(newer_module(), "stablehlo", tmp_path / "out", options={"minimum_version": "1.4.0"}, verify=False)
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}

    def full(module: Module, path: Path, version: str) -> None:
        raise TransloadError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr(check, "write_artifact", full)
    with pytest.raises(TransloadError, match="No space left on device") as caught:
        transload.convert(newer_module(), "stablehlo", tmp_path / "out", options={"minimum_version": "1.4.0"}, verify=False)
    assert caught.value.exit_code == 1 and {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before


def test_a_later_version_can(tmp_path: Path) -> None:
    artifact = transload.convert(
        newer_module(), "stablehlo", tmp_path, options={"minimum_version": "1.4.0"}, verify=False)
    x = np.array([0.5, 1, -1, 2], np.float32)
    (got,) = transload.run(transload.load(file_of(artifact, ".mlirbc")), {"x": x}).values()
    np.testing.assert_allclose(got, 2 * np.tan(x), rtol=1e-5)


@pytest.mark.parametrize("version", ["newer", "1.0", "1", "1.0.0.0", ""])
def test_a_version_that_is_none(version: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="minimum_version"):
        transload.convert(newer_module(), "stablehlo", tmp_path, options={"minimum_version": version}, verify=False)


@pytest.mark.parametrize("version", ["0.8.0", "1.999.0", "99.0.0"])
def test_a_version_that_cannot_be_written(version: str, tmp_path: Path) -> None:
    """Each op said so, and a later version was asked for of the latest, too."""
    with pytest.raises(UsageError, match=rf"^option minimum_version: StableHLO {re.escape(version)} is no version") as caught:
        transload.convert(newer_module(), "stablehlo", tmp_path, options={"minimum_version": version}, verify=False)
    assert re.search(r"writes 0\.9\.0 to 1\.\d+\.\d+$", caught.value.hint)


def test_an_option_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="constants"):
        transload.convert(newer_module(), "stablehlo", tmp_path, options={"constants": "small"}, verify=False)


def test_ops_of_other_dialects_are_listed() -> None:
    module = new_module()
    function = module.add_function("main", [TensorType((4,), F32)], ["x"])
    builder = Builder(function.regions[0].block)
    set_results(function, [builder.emit("top.Relu", function.regions[0].block.arguments[0], location="relu")])
    findings = host().targets["stablehlo"].check(module, {"minimum_version": "1.0.0"})
    assert [(finding.what, finding.names) for finding in findings] == [("top.Relu", ("relu",))]


def test_quantized_programs_can_be_written(tmp_path: Path) -> None:
    """StableHLO's own quantized types, which no integer arithmetic was made of."""
    kind = TensorType((2, 3), QuantType(I8, F32, (0.5,), (-3,)))
    module = new_module()
    function = module.add_function("main", [kind], ["x"])
    builder = Builder(function.regions[0].block)
    x = function.regions[0].block.arguments[0]
    set_results(function, [builder.emit("stablehlo.add", x, x, types=[kind])])
    artifact = transload.convert(module, "stablehlo", tmp_path, verify=False)
    assert transload.load(file_of(artifact, ".mlirbc")).main.attributes["function_type"].inputs == (kind,)


GATHER = "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
CONV = ("batch_group_count = 1 : i64, feature_group_count = 1 : i64, "
        "dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>")
SHAPE = "dense<[4, 2]> : tensor<2xi32>"
DYNAMIC = {
    "dynamic_gather": (
        f"dimension_numbers = {GATHER}", "2x3xf32",
        ["dense<[1, 0, 0, 1]> : tensor<4xi32>", "dense<[1, 2]> : tensor<2xi32>"], "4x2xf32"),
    "dynamic_iota": ("iota_dimension = 0 : i64", "", [SHAPE], "4x2xf32"),
    "dynamic_broadcast_in_dim": ("broadcast_dimensions = array<i64: 1>", "2xf32", [SHAPE], "4x2xf32"),
    "dynamic_reshape": ("", "8xf32", [SHAPE], "4x2xf32"),
    "real_dynamic_slice": ("", "9x3xf32", [f"dense<{n}> : tensor<2xi32>" for n in ("[1, 0]", "[9, 3]", "[2, 2]")], "4x2xf32"),
    "dynamic_pad": ("", "2x2xf32", [
        "dense<1.0> : tensor<f32>", *(f"dense<{n}> : tensor<2xi32>" for n in ("[1, 0]", "[1, 0]", "[0, 0]"))], "4x2xf32"),
    "dynamic_conv": (
        CONV, "1x4x4x2xf32", ["dense<0.5> : tensor<3x3x2x4xf32>", "dense<1> : tensor<2x2xi32>"], "1x4x4x4xf32"),
    "dynamic_slice": ("slice_sizes = array<i64: 4, 2>", "9x3xf32", ["dense<1> : tensor<i32>"] * 2, "4x2xf32"),
}
"""Ops whose sizes constants tell: their attributes, the type of what they are given, the constants, the result's type."""


@pytest.mark.parametrize("name", DYNAMIC)
def test_sizes_that_constants_tell_are_kept(name: str, tmp_path: Path) -> None:
    """It was tried on constants of zeros whether a version has the ops: a gather's slices of size 0 made another type."""
    attributes, given, constants, made = DYNAMIC[name]
    taken = [f"tensor<{given}>"] * bool(given)
    lines = [f"%{number} = stablehlo.constant {each}" for number, each in enumerate(constants)]
    operands = ", ".join(["%x"] * bool(given) + [f"%{number}" for number in range(len(constants))])
    types = ", ".join(taken + [each.rpartition(" : ")[2] for each in constants])
    said = f" <{{{attributes}}}>" if attributes else ""
    text = "\n".join([
        f"func.func @main({', '.join(f'%x: {each}' for each in taken)}) -> tensor<{made}> {{", *lines,
        f'%r = "stablehlo.{name}"({operands}){said} : ({types}) -> tensor<{made}>', f"return %r : tensor<{made}>", "}"])
    module = transload.load(text=text, format="stablehlo")
    artifact = transload.convert(module, "stablehlo", tmp_path, verify=False)
    inputs, read = random_inputs(module), transload.load(file_of(artifact, ".mlirbc"))
    near(*(next(iter(transload.run(each, inputs).values())) for each in (module, read)))
