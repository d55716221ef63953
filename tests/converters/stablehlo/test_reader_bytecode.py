# ruff: noqa: E501 - lines of programs
"""Our own reader of bytecode and portable artifacts: read as jaxlib reads, or refused with the reason; never a crash."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.ir.compare import difference
from transload.ir.constants import ArrayData
from transload.text import print_module
from transload_converters.stablehlo import bindings
from transload_converters.stablehlo.bytecode import BytecodeError, UnknownConstruct, portable_version, read_bytecode
from transload_converters.stablehlo.bytecode.cursor import Cursor

from tests.converters.stablehlo.programs import PROGRAMS
from tests.plugins.stablehlo.kernels.test_specification_examples import EXAMPLES, _program
from tests.support.judge_versions import newer_jaxlib

pytest.importorskip("jaxlib", reason="jaxlib is the judge")
from tests.converters.stablehlo.jaxlib_oracle import forms, judged, rounded


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=newer_jaxlib("writes sends in bytecode without a version otherwise"))
    if name in ("tokens", "transfers") else name for name in PROGRAMS])
def test_every_form_is_read_as_jaxlib_reads_it(name: str) -> None:
    count = 0
    for form, data in forms(PROGRAMS[name]):
        ours = rounded(read_bytecode(memoryview(data))[0])
        assert difference(ours, judged(data)) is None, form
        count += 1
    assert count >= 8


@pytest.mark.parametrize("type_", [
    "any<i8:f32>", "any<u8:bf16>", "any<i8<-8:7>:f32>", "any<i16>", "any<u4<1:14>>", "calibrated<f32<-1.0:2.5>>"])
def test_quantized_types_without_a_scale_are_read(type_: str) -> None:
    text = f"module attributes {{x.of = !quant.{type_}}} {{ func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {{ return %a : tensor<2xf32> }} }}"
    read = [str(read_bytecode(memoryview(data))[0].attributes["x.of"]) for _, data in forms(text)]
    assert read and set(read) == {f"!quant.{type_}"}


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_every_example_of_the_specification_in_every_version(example: object) -> None:
    versions = tuple(f"0.{minor}.0" for minor in range(9, 21)) + tuple(f"1.{minor}.0" for minor in range(18))
    for form, data in forms(_program(example)[0], versions):  # type: ignore[arg-type]
        assert difference(rounded(read_bytecode(memoryview(data))[0]), judged(data)) is None, form


@pytest.mark.models
def test_models_are_read_as_jaxlib_reads_them(models: Path) -> None:
    paths = sorted((models / "stablehlo").glob("*/*.mlirbc"))
    if not paths:
        pytest.skip(f"no artifacts in {models}")
    for path in paths:
        data = path.read_bytes()
        assert difference(rounded(read_bytecode(memoryview(data))[0]), judged(data)) is None, path


# --- shardings

_SHARDED = """module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<4x4xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xf32> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {}]> : tensor<4x4xf32>
    %1 = stablehlo.custom_call @lapack_spotrf_ffi(%0) {mhlo.backend_config = {uplo = 76 : ui8}, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l]) {i=4, j=4, k=4, l=4}, custom>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}"""
_ALONE = """module {
  func.func public @main(%arg0: tensor<4x4xf32> {jax.buffer_donor = true}) -> tensor<4x4xf32> {
    %1 = stablehlo.custom_call @lapack_spotrf_ffi(%arg0) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}"""


def test_how_a_program_is_spread_over_devices_is_passed_over(tmp_path: Path) -> None:
    """JAX writes it into every program that is sharded, and on the routines of linear algebra of all others."""
    alone = tmp_path / "alone.mlir"
    alone.write_text(_ALONE)
    expected = print_module(transload.load(alone), locations=False)
    count = 0
    for form, data in [("text", _SHARDED.encode()), *forms(_SHARDED)]:
        path = tmp_path / ("model.mlir" if form == "text" else "model.mlirbc")
        path.write_bytes(data)
        assert print_module(transload.load(path), locations=False) == expected, form
        count += 1
    assert count >= 8


# --- constants


def _weights(element: str = "f32", size: int = 100) -> bytes:
    numbers = np.arange(size * size, dtype=np.float32)
    text = f"""func.func @main(%x: tensor<1x{size}x{element}>) -> tensor<1x{size}x{element}> {{
  %w = stablehlo.constant dense<"0x{numbers.tobytes().hex().upper()}"> : tensor<{size}x{size}x{element}>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x{size}x{element}>, tensor<{size}x{size}x{element}>) -> tensor<1x{size}x{element}>
  return %0 : tensor<1x{size}x{element}>
}}"""
    return dict(forms(text, (None,), range(6, 7)))["artifact None"]


def test_constants_are_views_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.mlirbc"
    path.write_bytes(_weights())
    module = transload.load(path)
    constant = next(op for op in module.walk() if op.name == "stablehlo.constant").attributes["value"]
    assert isinstance(constant.data, ArrayData)
    base = constant.numpy()
    np.testing.assert_array_equal(base, np.arange(10000, dtype=np.float32).reshape(100, 100))
    assert not base.flags.writeable
    while isinstance(getattr(base, "base", None), np.ndarray):
        base = base.base
    assert type(base.base if not isinstance(base, memoryview) else base).__name__ in ("memoryview", "mmap")


def test_resources_are_views_too() -> None:
    from jaxlib.mlir import ir

    context = bindings._context()
    numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
    with context, ir.Location.unknown():
        module = ir.Module.parse(
            "func.func @main() -> tensor<3x4xf32> {\n %0 = stablehlo.constant dense_resource<key> : tensor<3x4xf32>\n"
            " return %0 : tensor<3x4xf32>\n}\n{-# dialect_resources: { builtin: { key: \"0x04000000"
            + numbers.tobytes().hex() + "\" } } #-}")
        import io

        out = io.BytesIO()
        module.operation.write_bytecode(out)
    read = transload.load(text=out.getvalue(), format="stablehlo")
    np.testing.assert_array_equal(next(iter(transload.run(read, {}).values())), numbers)


# --- numbers


@pytest.mark.parametrize("value", [0, 1, 127, 128, 16383, 16384, 2**21, 2**28, 2**35, 2**42, 2**49, 2**56, 2**63, 2**64 - 1])
def test_numbers_of_every_length(value: int) -> None:
    length = max(1, math.ceil(value.bit_length() / 7))
    data = b"\0" + value.to_bytes(8, "little") if length > 8 else ((value << 1 | 1) << (length - 1)).to_bytes(length, "little")
    cursor = Cursor(data)
    assert cursor.varint() == value
    assert cursor.at_end
    for cut in range(len(data)):
        with pytest.raises(BytecodeError, match="damaged"):
            Cursor(data[:cut]).varint()


# --- what is refused


def test_newer_versions_are_refused_by_name() -> None:
    data = _weights(size=4)
    for version, shown in ((b"2.0.0\0", "2.0.0"), (b"0.8.0\0", "0.8.0")):
        newer = re.sub(rb"StableHLO_v[\d.]+\0", b"StableHLO_v" + version.rstrip(b"\0") + b"\0", data)
        assert portable_version(memoryview(newer)) == tuple(map(int, shown.split(".")))
        with pytest.raises(UnknownConstruct, match=re.escape(shown)):
            read_bytecode(memoryview(newer))
        if shown != "0.8.0":
            with pytest.raises(transload.TransloadError, match=re.escape(shown)):
                transload.load(text=newer, format="stablehlo")


def test_what_is_unknown_is_read_by_the_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n%0 = chlo.erf %x : tensor<3xf32> -> tensor<3xf32>\nreturn %0 : tensor<3xf32>\n}"
    data = dict(forms(text, (), range(6, 7)))["bytecode 6"]
    module = transload.load(text=data, format="stablehlo")
    assert {op.dialect for op in module.walk()} == {"builtin", "func", "stablehlo"}
    x = np.array([-1, 0, 2], np.float32)
    np.testing.assert_allclose(next(iter(transload.run(module, {"arg0": x}).values())), [math.erf(v) for v in x], rtol=1e-6)
    monkeypatch.setattr(bindings, "available", lambda: "jaxlib is not installed")
    with pytest.raises(transload.TransloadError, match="CHLO") as caught:
        transload.load(text=data, format="stablehlo")
    assert "jaxlib" in str(caught.value)


def test_truncated_bytecode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bindings, "available", lambda: "jaxlib is not installed")
    data = _weights(size=8)
    for cut in range(len(data)):
        with pytest.raises(transload.TransloadError):
            transload.load(text=data[:cut] or b"M", format="stablehlo")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_mutated_bytecode_gives_errors_or_modules(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("arguments", "locations", "quantized", "control", "calls", "collectives", "windows", "constants_bf16", "tokens")
    pool = [data for name in names for _, data in forms(PROGRAMS[name], ("1.0.0", None), range(0, 7, 3))]
    monkeypatch.setattr(bindings, "available", lambda: "jaxlib is not installed")  # else each unknown code starts a process
    rng = np.random.default_rng(seed)
    read = 0
    for number in range(2000):
        data = bytearray(pool[int(rng.integers(len(pool)))])
        kind, place = number % 6, int(rng.integers(4, len(data)))
        if kind == 0:
            del data[place:]
        elif kind == 1:
            del data[place : place + int(rng.integers(1, 20))]
        elif kind == 2:
            data[place:place] = rng.bytes(int(rng.integers(1, 12)))
        else:
            for _ in range(int(rng.integers(1, 4))):
                data[int(rng.integers(4, len(data)))] = int(rng.choice([0, 1, 0xFF, int(rng.integers(256))]))
        try:
            module = transload.load(text=bytes(data), format="stablehlo")
        except transload.TransloadError:
            continue
        read += 1
        assert module.functions
    assert read > 16


def test_claims_of_sizes_are_checked() -> None:
    """Numbers that claim more than is there end at once, whatever they claim."""
    data = _weights(size=4)
    for position in range(25, len(data)):
        huge = data[:position] + b"\0" + b"\xff" * 8 + data[position:]
        with pytest.raises((BytecodeError, UnknownConstruct)):
            read_bytecode(memoryview(huge))


@pytest.mark.parametrize("text", [
    "!quant.uniform<i8<-7:7>:f32:{0:1, 1:2}, {{2.0:3, 3.0}, {4.0, 5.0}, {1.0, 1.5:-2}}>",
    "!quant.uniform<u4:f32:{1:4}, {{0.5:9, 0.25}}>",
])
def test_scales_of_blocks(text: str, tmp_path: Path) -> None:
    """MLIR's sub-channel types, as the bindings write them."""
    pytest.importorskip("jaxlib", reason="jaxlib is not installed")
    import io

    from jaxlib.mlir import ir

    from transload.text import parse_type

    type_ = f"tensor<3x{4 if '1:2' in text else 8}x{text}>"
    made = io.BytesIO()
    with bindings._context(), ir.Location.unknown():
        ir.Module.parse(f"func.func @main(%a: {type_}) -> {type_} {{ return %a : {type_} }}").operation.write_bytecode(made)
    file = tmp_path / "m.mlirbc"
    file.write_bytes(made.getvalue())
    assert transload.load(file).body_of_main.arguments[0].type == parse_type(type_)
