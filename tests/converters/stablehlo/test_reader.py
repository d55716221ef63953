"""Reading StableHLO in all its forms, and refusing what is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ReadError, TextError
from transload.ir import Module
from transload.text import print_module

PRETTY = """
func.func @main(%arg0: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %1 = stablehlo.add %arg0, %0 : tensor<2x3xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)
WITH_RESULTS = ("derived_ad01_autoencoder_f32", "derived_mini_xception_fer2013_f32", "derived_resnet8_cifar10_f32")


def _first(outputs: dict[str, np.ndarray]) -> np.ndarray:
    return next(iter(outputs.values()))


def _run(module: Module, x: np.ndarray, engine: str = "reference") -> np.ndarray:
    return _first(transload.run(module, {transload.ir.input_names(module.main)[0]: x}, engine=engine))


def test_pretty_and_generic_text_are_the_same_program(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    module = transload.load(text=PRETTY, format="stablehlo")
    again = transload.load(text=print_module(module), format="stablehlo")
    path = tmp_path / "pretty.mlir"
    path.write_text(PRETTY)
    from_file = transload.load(path)
    assert from_file.source_format == "stablehlo"
    for one in (module, again, from_file):
        np.testing.assert_array_equal(_run(one, X), (X + X + 1).T)


@pytest.mark.parametrize(("written", "near"), [
    ("stablehlo.tranpose", "stablehlo.transpose"), ("stablhlo.transpose", "stablehlo.transpose"), ("chlo.asinn", "chlo.asin")])
def test_an_op_of_pretty_text_that_is_misspelt_is_told_the_nearest(written: str, near: str) -> None:
    pytest.importorskip("jaxlib")
    with pytest.raises(ReadError) as refused:
        transload.load(text=PRETTY.replace("stablehlo.transpose", written), format="stablehlo")
    assert written in refused.value.message and refused.value.hint == f"the nearest op is {near!r}"


def test_pretty_text_may_stand_on_one_line(tmp_path: Path) -> None:
    """Ops were looked for where lines begin, and one that began none was taken for no op at all."""
    pytest.importorskip("jaxlib")
    (path := tmp_path / "line.mlir").write_text(" ".join(PRETTY.split()))
    module = transload.load(path)
    assert module.source_format == "stablehlo"
    assert np.array_equal(_run(module, X), _run(transload.load(text=PRETTY, format="stablehlo"), X))


def test_pretty_text_may_begin_with_calls_alone(tmp_path: Path) -> None:
    """Of what a file begins with was said whose it is, and calls are of no dialect."""
    pytest.importorskip("jaxlib")
    calls = "".join(
        f"func.func private @f{i}(%a: tensor<2xf32>) -> tensor<2xf32> {{\n  %0 = func.call @f{i + 1}(%a) : (tensor<2xf32>) ->"
        " tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n" for i in range(40))
    text = calls.replace("private @f0", "@main") + (
        "func.func private @f40(%a: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.negate %a : tensor<2xf32>\n"
        "  return %0 : tensor<2xf32>\n}\n")
    (path := tmp_path / "calls.mlir").write_text(text)
    module = transload.load(path)
    assert module.source_format == "stablehlo"
    np.testing.assert_array_equal(_run(module, np.ones(2, np.float32)), [-1, -1])
    with pytest.raises(TextError, match=r"no plugin says how stablehlo\.negate is written") as caught:
        transload.load(path, format="mlir")
    assert caught.value.hint.startswith("--format stablehlo reads it")


@pytest.mark.parametrize("line", ["", "\n"])
def test_the_line_that_the_beginning_cuts_off_is_searched(line: str, tmp_path: Path) -> None:
    """The 4 KiB that a file is told by may end in the middle of its first op's name, or be a piece of its only line."""
    pytest.importorskip("jaxlib")
    text = f"module {{ func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {{ {line} %0 = "
    text = text.replace("@main", f"@main{' ' * (4096 - len(text) - len('stableh'))}") + (
        f"stablehlo.negate %a : tensor<2xf32> {line} return %0 : tensor<2xf32> {line} }} }}")
    (path := tmp_path / "cut.mlir").write_text(text)
    assert transload.load(path).source_format == "stablehlo"


def test_functions_alone_are_judged(tmp_path: Path) -> None:
    """They are of no dialect, and whoever runs StableHLO runs them."""
    pytest.importorskip("jaxlib")
    (path := tmp_path / "same.mlir").write_text(
        "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n  return %arg0 : tensor<2xf32>\n}")
    report = transload.convert(path, "tosa", tmp_path / "out", verify="require").report
    assert report.verification.status == "passed"


def test_generic_text_needs_no_bindings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from transload_converters.stablehlo import bindings

    generic = print_module(transload.load(text=PRETTY, format="stablehlo")) if bindings.available() is None else None
    if generic is None:
        pytest.skip("jaxlib makes the generic text")
    monkeypatch.setattr(bindings, "available", lambda: "jaxlib is not installed")
    monkeypatch.setattr(bindings, "_modules", lambda: pytest.fail("the bindings were asked"))
    np.testing.assert_array_equal(_run(transload.load(text=generic, format="stablehlo"), X), (X + X + 1).T)


@pytest.mark.parametrize("version", ["0.9.0", "1.0.0", None])
def test_portable_artifacts(version: str | None, tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    from transload_converters.stablehlo import bindings

    data = bindings.portable_artifact(PRETTY, "test", version)
    path = tmp_path / "model.mlirbc"
    path.write_bytes(data)
    np.testing.assert_array_equal(_run(transload.load(path), X), (X + X + 1).T)
    # A JAX export has the artifact inside, behind its length.
    np.testing.assert_array_equal(
        _run(
            transload.load(text=b"\x10\0\0\0export" + len(data).to_bytes(4, "little") + data + b"\0" * 7, format="stablehlo"), X
        ),
        (X + X + 1).T,
    )


def test_written_artifacts_are_read_again(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    from transload_converters.stablehlo.writer import write

    module = transload.load(text=PRETTY, format="stablehlo")
    path = transload.save(module, tmp_path / "model.mlirbc")
    np.testing.assert_array_equal(_run(transload.load(path), X), (X + X + 1).T)
    write(module, tmp_path / "old.mlirbc", "0.9.0")
    assert b"StableHLO_v0.9.0" in (tmp_path / "old.mlirbc").read_bytes()[:32]
    np.testing.assert_array_equal(_run(transload.load(tmp_path / "old.mlirbc"), X), (X + X + 1).T)
    with pytest.raises(transload.TransloadError, match="99"):
        write(module, tmp_path / "new.mlirbc", "99.0.0")
    assert not (tmp_path / "new.mlirbc").exists()


def test_constants_that_numpy_cannot_read(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    numbers = ", ".join(str(i % 8) for i in range(100))
    text = (
        f"func.func @main() -> (tensor<100xi4>, tensor<100xbf16>, tensor<100xi1>) {{\n"
        f"%0 = stablehlo.constant dense<[{numbers}]> : tensor<100xi4>\n"
        f"%1 = stablehlo.constant dense<[{', '.join(f'{i}.5' for i in range(100))}]> : tensor<100xbf16>\n"
        f"%2 = stablehlo.constant dense<[{', '.join('true' if i % 3 else 'false' for i in range(100))}]> : tensor<100xi1>\n"
        f"return %0, %1, %2 : tensor<100xi4>, tensor<100xbf16>, tensor<100xi1>\n}}"
    ).replace("8", "7")
    a, b, c = transload.run(transload.load(text=text, format="stablehlo"), {}).values()
    assert b.astype(np.float32)[3] == 3.5
    assert c.tolist()[:4] == [False, True, True, False]
    assert a.astype(np.int8).tolist()[:4] == [0, 1, 2, 3]


@pytest.mark.one_in(3)
@pytest.mark.models
@pytest.mark.parametrize("engine", ["reference", "xla"])
@pytest.mark.parametrize("name", WITH_RESULTS)
def test_models_reproduce_their_results(models: Path, name: str, engine: str) -> None:
    pytest.importorskip("jaxlib")
    folder = models / "stablehlo" / name
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    stated = np.load(folder / "io.npz")
    for path in sorted(folder.glob("model.mlir*")):
        np.testing.assert_allclose(_run(transload.load(path), stated["x"], engine), stated["y"], rtol=2e-5, atol=2e-5)


@pytest.mark.models
def test_structure_without_weights_loads_and_says_why_it_cannot_run(models: Path) -> None:
    pytest.importorskip("jaxlib")
    path = models / "stablehlo" / "structure_jax_resnet50_weights_elided" / "jax_resnet_50.mlir"
    if not path.is_file():
        pytest.skip(f"no {path}")
    module = transload.load(path)
    with pytest.raises(transload.TransloadError, match="left out"):
        _run(module, np.zeros((1, 3, 224, 224), np.float32))


def test_other_dialects_are_refused_with_their_name() -> None:
    pytest.importorskip("jaxlib")
    clone = "%0 = flow.tensor.clone %x : tensor<2xf32>"
    text = f"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{\n{clone}\nreturn %0 : tensor<2xf32>\n}}"
    with pytest.raises(transload.TransloadError, match=r"flow"):
        transload.load(text=text, format="stablehlo")


@pytest.mark.parametrize(
    "data", [b"", b"ML\xefR", b"ML\xefR\x01StableHLO_v9.9.9", b"nonsense", b"\0\1\2\3", b"module {", b'"builtin.module"() ({']
)
def test_damaged_input_is_an_error(data: bytes) -> None:
    pytest.importorskip("jaxlib")
    with pytest.raises(transload.TransloadError):
        transload.load(text=data, format="stablehlo")


def test_mutated_files_give_errors_or_modules() -> None:
    pytest.importorskip("jaxlib")
    from transload_converters.stablehlo import bindings

    rng = np.random.default_rng(0)
    artifact = bindings.portable_artifact(PRETTY, "test", "1.0.0")
    for seed in range(60):
        data = bytearray(artifact if seed % 2 else PRETTY.encode())
        if seed % 3 == 0:
            del data[int(rng.integers(1, len(data))) :]
        for _ in range(int(rng.integers(1, 4))):
            data[int(rng.integers(0, len(data)))] = int(rng.integers(0, 256))
        try:
            module = transload.load(text=bytes(data), format="stablehlo")
        except transload.TransloadError:
            continue
        assert module.functions


def test_xla_runs_quantized_types() -> None:
    pytest.importorskip("jaxlib")
    text = """func.func @main(%arg0: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32> {
  %0 = stablehlo.uniform_dequantize %arg0 : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
    module = transload.load(text=text, format="stablehlo")
    given = {"arg0": np.array([2, -4], np.int8)}
    for engine in ("reference", "xla"):
        np.testing.assert_array_equal(_first(transload.run(module, given, engine=engine)), [1.0, -2.0])


@pytest.mark.parametrize("operation", [
    '"chlo.erf_inv"(%0) : (tensor<4xf32>) -> tensor<4xf32>',
    '"sdy.sharding_constraint"(%0) <{sharding = #sdy.sharding<@mesh, [{"d"}]>}> : (tensor<4xf32>) -> tensor<4xf32>'])
@pytest.mark.parametrize("before", [0, 200])
def test_generic_form_with_ops_of_others(operation: str, before: int, tmp_path: Path) -> None:
    """It went to the reader of what is written here, which knows neither, wherever in the file they stand."""
    pytest.importorskip("jaxlib")
    lines = "".join(
        f'%c{place} = "stablehlo.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n' for place in range(before))
    (tmp_path / "m.mlir").write_text(f""""builtin.module"() ({{
        "sdy.mesh"() <{{mesh = #sdy.mesh<["d"=1]>, sym_name = "mesh"}}> : () -> ()
        "func.func"() <{{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}}> ({{
        ^bb0(%x: tensor<4xf32>):
            {lines}
            %0 = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
            %1 = {operation}
            "func.return"(%1) : (tensor<4xf32>) -> ()
        }}) : () -> ()
    }}) : () -> ()""")
    module = transload.load(tmp_path / "m.mlir")
    (made,) = transload.run(module, dict.fromkeys(module.inputs, np.full(4, 0.5, np.float32))).values()
    assert made.shape == (4,) and np.isfinite(made).all()
