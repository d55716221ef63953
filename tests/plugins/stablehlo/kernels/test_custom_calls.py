"""Functions that exporters call by name (JAX before 0.7 those of CHLO), in our engines and raised, beside XLA."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError, PluginFailure, RunError, TransloadError
from transload.ir.constants import dtype_of
from transload.journey import convert_to
from transload_converters.stablehlo.refine import _CALLS as CALLS
from transload_plugins.stablehlo.dialect.call_forms import _FORMS, FUNCTIONS, form_of
from transload_plugins.stablehlo.dialect.custom_call import _BEST
from transload_plugins.stablehlo.kernels import control
from transload_plugins.stablehlo.raising.calls import LIBRARY
from transload_plugins.stablehlo.types import shape_of

from tests.support.judge_versions import is_before

pytest.importorskip("jaxlib", reason="XLA judges")

_NUMPY = {f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
_UNKNOWN = {"mhlo.atan"}
"""What XLA has no implementation of: numpy alone judges."""
if is_before("jaxlib", 0, 7):
    _UNKNOWN |= {f"mhlo.{name}" for name in ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh")}


def _program(name: str, results: str, attributes: str = "", count: int = 1) -> str:
    left, first = ("%r", "%r") if count == 1 else (f"%r:{count}", "%r#0, %r#1")
    call = f'{left} = "stablehlo.custom_call"(%a) <{{call_target_name = "{name}"}}>'
    return (
        f'"builtin.module"() ({{\n"func.func"() <{{function_type = (tensor<3x64xf32>) -> ({results}), sym_name = "main"}}> ({{\n'
        f"^bb0(%a: tensor<3x64xf32>):\n{call} {{mhlo.attributes = {{{attributes}}}, mhlo.version = 1 : i64}} "
        f': (tensor<3x64xf32>) -> ({results})\n"func.return"({first}) : ({results}) -> ()\n}}) : () -> ()\n}}) : () -> ()\n')


def _module(tmp_path: Path, text: str) -> transload.Module:
    path = tmp_path / "program.mlir"
    path.write_text(text)
    return transload.load(path)


def _run(module: transload.Module, x: np.ndarray, engine: str) -> list[np.ndarray]:
    return list(transload.run(module, {next(iter(module.inputs)): x}, engine=engine).values())


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"erf"}))
def test_functions(name: str, tmp_path: Path) -> None:
    module = _module(tmp_path, _program(name, "tensor<3x64xf32>"))
    low, high = {"acos": (-1, 1), "asin": (-1, 1), "atanh": (-0.99, 0.99), "acosh": (1, 4)}.get(FUNCTIONS[name], (-3, 3))
    x = np.random.default_rng(1).uniform(low, high, (3, 64)).astype(np.float32)
    function = np.vectorize(math.erf) if name == "mhlo.erf" else getattr(np, _NUMPY.get(FUNCTIONS[name], FUNCTIONS[name]))
    expected = function(x.astype(np.float64))
    judged = [] if name in _UNKNOWN else _run(module, x, "xla-plain")
    for found in (*judged, *_run(module, x, "reference"), *_run(transload.legalize(module), x, "reference")):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-7)


@pytest.mark.parametrize("largest", [True, False])
def test_top_k_takes_the_end_that_it_names(largest: bool, tmp_path: Path) -> None:
    word = "true" if largest else "false"
    module = _module(tmp_path, _program(
        "mhlo.topk", "tensor<3x5xf32>, tensor<3x5xi32>", f"k = 5 : i64, largest = {word}", count=2))
    x = np.random.default_rng(2).integers(-9, 9, (3, 64)).astype(np.float32)  # equal elements, of which the first comes first
    order = np.argsort(-x if largest else x, axis=1, kind="stable")[:, :5]
    expected = [np.take_along_axis(x, order, 1), order.astype(np.int32)]
    xla = [("xla-plain", module)] if largest else []  # XLA has no least ones
    for engine, program in (*xla, ("reference", module), ("reference", transload.legalize(module))):
        for found, wanted in zip(_run(program, x, engine), expected, strict=True):
            np.testing.assert_array_equal(found, wanted, err_msg=engine)


def test_what_is_of_another_form_is_refused(tmp_path: Path) -> None:
    module = _module(tmp_path, _program("mhlo.erf", "tensor<64x3xf32>"))
    with pytest.raises(RunError, match=r"nothing here computes 'mhlo\.erf'"):
        _run(module, np.zeros((3, 64), np.float32), "reference")


def test_an_op_without_a_name_is_called_by_its_kind(tmp_path: Path) -> None:
    """Errors said `at None` of programs without locations."""
    text = """func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
      %0 = "stablehlo.custom_call"(%arg0) {call_target_name = "nobody"} : (tensor<2xf32>) -> tensor<2xf32>PLACE
      return %0 : tensor<2xf32>
    }"""
    for place, called in (("", "stablehlo.custom_call: nothing"), (' loc("y")', "stablehlo.custom_call at 'y': nothing")):
        (file := tmp_path / "m.mlir").write_text(text.replace("PLACE", place))
        with pytest.raises(RunError) as caught:
            transload.run(transload.load(file, format="mlir"), {"arg0": np.ones(2, np.float32)}, engine="reference")
        assert called in caught.value.message


def test_of_tokens_there_is_no_data(tmp_path: Path, cli: Callable[..., tuple[int, str, str]]) -> None:
    """It was asked for, and XLA's refusal sent to an engine that takes none either."""
    (file := tmp_path / "m.mlir").write_text("""func.func @main(%arg0: !stablehlo.token) -> !stablehlo.token {
      return %arg0 : !stablehlo.token
    }""")
    code, _, told = cli("run", file)
    assert code == 3 and "is no tensor" in told and "--input" not in told
    code, _, told = cli("convert", file, "-t", "xla-cpu", "-o", tmp_path / "out")
    assert code == 3 and "give the function tensors alone" in told and "reference engine" not in told


def test_arguments_without_names_are_called_as_users_call_them(tmp_path: Path) -> None:
    """They were called '' where LiteRT takes none of their type."""
    (file := tmp_path / "m.mlir").write_text("""func.func @main(%a: tensor<2xbf16>, %b: tensor<2xbf16>) -> tensor<2xbf16> {
      %0 = "stablehlo.add"(%a, %b) : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
      return %0 : tensor<2xbf16>
    }""")
    with pytest.raises(ConversionError) as caught:
        transload.convert(file, "tflite", tmp_path / "out")
    assert [finding.names for finding in caught.value.findings if finding.what == "an argument"] == [("arg0", "arg1")]


@pytest.mark.parametrize(("called", "operands", "results", "hint"), [
    ("stablehlo.dynamic_top_k", "tensor<2xf32>; tensor<i32>", "tensor<2xf32>; tensor<2xi32>", "--shape"),
    ("nobody", "tensor<2xf32>", "tensor<2xf32>", "a plugin"),
    ("shape_assertion", "tensor<2xf32>", "tensor<2xf32>", "takes a scalar of i1"),
    ("shape_assertion", "tensor<i1>", "tensor<i1>", "gives nothing"),
    ("mhlo.topk", "tensor<2xcomplex<f32>>", "tensor<i1>; tensor<i32>", "takes a tensor of real numbers")])
def test_what_is_not_run_here_has_a_way_out(tmp_path: Path, called: str, operands: str, results: str, hint: str) -> None:
    """Of a call that is known by its name, and has another form, a kernel failed that believed the name."""
    (file := tmp_path / "m.mlir").write_text(_call(called, operands, results))
    module = transload.load(file)
    given = {name: np.ones(shape_of(value), dtype_of(value.element))
             for name, value in zip(module.inputs, module.main.regions[0].block.arguments, strict=True)}
    with pytest.raises(RunError, match="nothing here computes") as caught:
        transload.run(module, given, engine="reference")
    assert hint in str(caught.value.hint)


def _types_of(rng: random.Random, common: str) -> list[str]:
    return [common if rng.random() < 0.7 else rng.choice(_TYPES) for _ in range(rng.randrange(4))]


_TYPES = ("tensor<4x4xf32>", "tensor<i1>", "tensor<i32>", "tensor<4xi32>", "tensor<4x4xi32>", "tensor<2x4xf32>", "tensor<f32>",
          "tensor<4xcomplex<f32>>", "tensor<0x4xf32>", "tensor<4x2xf32>", "tensor<4x2xi32>", "tensor<4xbf16>", "tensor<?x4xf32>")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", sorted(_FORMS))
def test_a_known_call_of_any_form_is_run_or_refused(name: str, tmp_path: Path) -> None:
    """No kernel, rule or reader believes a name, whatever the call takes and gives."""
    rng = random.Random(name)
    assert form_of(name)
    for _ in range(12):
        common = rng.choice(_TYPES)
        operands, results = "; ".join(_types_of(rng, common)), "; ".join(_types_of(rng, common))
        (file := tmp_path / "m.mlir").write_text(_call(name, operands, results, _TRSM))
        for way in (_loaded_and_run, lambda file: convert_to(transload.load(file), ("top",)),
                    lambda file: transload.load(file, inputs={"arg0": (4, 4)})):
            try:
                way(file)
            except PluginFailure:
                raise
            except TransloadError:
                pass


def _loaded_and_run(file: Path) -> None:
    module = transload.load(file)
    transload.run(module, {
        name: np.ones([size or 4 for size in shape_of(value)], dtype_of(value.element))
        for name, value in zip(module.inputs, module.main.regions[0].block.arguments, strict=True)}, engine="reference")


@pytest.mark.parametrize(("name", "operands", "results"), [
    ("shape_assertion", "tensor<2xi1>", ""), ("shape_assertion", "tensor<i1>", "tensor<i1>"), ("shape_assertion", "", ""),
    ("shape_assertion", "tensor<i1>; tensor<2xi32>", ""),
    ("stablehlo.dynamic_top_k", "tensor<2xf32>; tensor<1xi32>", "tensor<2xf32>; tensor<2xi32>"),
    ("stablehlo.dynamic_top_k", "tensor<2xf32>; tensor<i32>", "tensor<2xf32>"), ("stablehlo.dynamic_top_k", "", ""),
    ("stablehlo.dynamic_rng_bit_generator", "tensor<2xui64>; tensor<i32>", "tensor<2xui64>; tensor<2xui32>"),
    ("stablehlo.dynamic_rng_bit_generator", "tensor<2xui64>; tensor<1xi32>", "tensor<2xui64>"),
    ("stablehlo.dynamic_reduce_window", "; ".join(["tensor<2xf32>", "tensor<f32>", *["tensor<i32>"] * 5]), "tensor<2xf32>"),
    ("stablehlo.dynamic_reduce_window", "; ".join(["tensor<2xf32>", "tensor<f32>", *["tensor<2xi32>"] * 5]), "tensor<2xf32>")])
def test_calls_of_another_form_are_left_where_sizes_become_known(tmp_path: Path, name: str, operands: str, results: str) -> None:
    """An assertion was erased whose result others took, and numbers of a list asked whether they are true, as one."""
    types = operands.split("; ") if operands else []
    constants = "\n".join(
        f"%c{index} = stablehlo.constant dense<{'1.0' if 'f32' in each else 'true' if 'i1>' in each else '1'}> : {each}"
        for index, each in enumerate(types))
    made = f"%r:{len(results.split('; '))} = " if results else ""
    taken = f"%t = stablehlo.add %r#0, %r#0 : {results.partition(';')[0]}" if results else ""
    (file := tmp_path / "m.mlir").write_text(f"""func.func @main(%arg0: tensor<?xf32>) -> tensor<?xf32> {{
      {constants}
      {made}"stablehlo.custom_call"({", ".join(f"%c{index}" for index in range(len(types)))}) {{
        call_target_name = "{name}", has_side_effect = true, rng_algorithm = 1 : i64, called_computations = [@f]}} : (
        {operands.replace(";", ",")}) -> ({results.replace(";", ",")})
      {taken}
      return %arg0 : tensor<?xf32>
    }}
    func.func private @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {{
      %0 = stablehlo.add %a, %b : tensor<f32>
      return %0 : tensor<f32>
    }}""")
    module = transload.load(file, inputs={"arg0": (4,)})
    assert any(op.attributes.get("call_target_name") == name for op in module.walk())


def test_every_known_name_has_a_form() -> None:
    assert set(LIBRARY) | {*_BEST, "shape_assertion", "ApproxTopK"} | {*CALLS} <= set(_FORMS)


@pytest.mark.parametrize("called", ["cholesky", "approx_max_k"])
def test_calls_of_libraries_are_run_by_what_they_mean(called: str, tmp_path: Path) -> None:
    """LAPACK's, as JAX calls it on a CPU, and extremes that may be approximate: by JAX itself."""
    jax = pytest.importorskip("jax")
    x = np.array([[4, 1], [1, 3]], np.float32)
    functions = {"cholesky": jax.numpy.linalg.cholesky, "approx_max_k": lambda x: tuple(jax.lax.approx_max_k(x, 1))}
    program = jax.jit(functions[called])
    exported = jax.export.export(program)(jax.ShapeDtypeStruct((2, 2), "float32"))
    (file := tmp_path / "m.jaxexport").write_bytes(exported.serialize())
    module = transload.load(file)
    assert any(op.name == "stablehlo.custom_call" for op in module.walk())
    wanted = [np.asarray(each) for each in jax.tree.leaves(program(x))]
    for engine in ("reference", "xla"):
        made = transload.run(module, dict.fromkeys(module.inputs, x), engine=engine)
        for ours, theirs in zip(made.values(), wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    transload.convert(file, "xla-cpu", tmp_path / "xla", verify=False)
    assert (tmp_path / "xla" / "m.xla").exists()


def test_calls_of_libraries_that_are_not_known_are_refused_as_before(tmp_path: Path) -> None:
    (file := tmp_path / "m.mlir").write_text("""func.func @main(%arg0: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>) {
      %0:2 = "stablehlo.custom_call"(%arg0) {call_target_name = "lapack_spotrf_ffi"} : (tensor<2x2xf32>) -> (
        tensor<2x2xf32>, tensor<i32>)
      return %0#0, %0#1 : tensor<2x2xf32>, tensor<i32>
    }""")
    with pytest.raises(RunError, match="nothing here computes") as caught:
        transload.run(transload.load(file), {"arg0": np.ones((2, 2), np.float32)}, engine="reference")
    assert "without saying uplo" in str(caught.value)


def _call(name: str, operands: str, results: str, config: str = "", more: str = "") -> str:
    given = [f"%arg{number}: {type_}" for number, type_ in enumerate(operands.split("; ")) if type_]
    named = ", ".join(each.partition(":")[0] for each in given)
    made = f"%0:{len(results.split('; '))} = " if results else ""
    return f"""func.func @main({", ".join(given)}) {{
      {made}"stablehlo.custom_call"({named}) {{call_target_name = "{name}"{more}, mhlo.backend_config = {{{config}}}}} : (
        {operands.replace(";", ",")}) -> ({results.replace(";", ",")})
      return
    }}"""


_M, _V, _S, _I = "tensor<2x2xf32>", "tensor<2xf32>", "tensor<f32>", "tensor<i32>"
_TRSM = "side = 76 : ui8, uplo = 76 : ui8, trans_x = 78 : ui8, diag = 78 : ui8"


@pytest.mark.parametrize(("name", "operands", "results", "config"), [
    *((f"lapack_{name}_ffi", operands, results, _TRSM)
      for name in ("sgetrf", "spotrf", "strsm", "dgetrf") for operands, results in (
          ("", ""), (_V, ""), (_M, ""), (f"{_S}; {_S}", ""), (_V, f"{_V}; {_I}; {_I}"), (_M, f"{_V}; {_I}; {_I}"),
          (f"{_M}; {_V}", _V), (f"{_M}; tensor<3x2x2xf32>", "tensor<3x2x2xf32>"), ("tensor<2x2xi32>", f"tensor<2x2xi32>; {_I}"),
          (f"{_M}; tensor<3x2xf32>", "tensor<3x2xf32>"), ("tensor<2x3xf32>", f"tensor<2x3xf32>; {_I}"))),
    *(("lapack_strsm_ffi", f"{_M}; {_M}", _M, _TRSM.replace(f"{key} = {good}", f"{key} = {bad}"))
      for key, good in (("side", "76 : ui8"), ("trans_x", "78 : ui8"), ("diag", "78 : ui8"), ("uplo", "76 : ui8"))
      for bad in ("-1 : i64", "1114112 : i64", '"Q"', "[1]", "81 : ui8"))])
def test_calls_of_another_form_than_they_have_are_refused(
        tmp_path: Path, name: str, operands: str, results: str, config: str) -> None:
    (file := tmp_path / "m.mlir").write_text(_call(name, operands, results, config))
    with pytest.raises(ConversionError, match="calls 'lapack"):
        convert_to(transload.load(file), ("top",))


def test_approximate_extremes_of_another_form_are_no_known_call(tmp_path: Path) -> None:
    text = _call("ApproxTopK", f"{_V}; tensor<2xi32>; {_S}; {_I}", f"{_S}; {_I}", more=", called_computations = [@main]")
    (file := tmp_path / "m.mlir").write_text(text)
    convert_to(module := transload.load(file), ("top",))
    assert not [op for op in module.walk() if op.name == "top.TopK"]


def test_the_right_sides_are_scaled_where_a_call_says_so(tmp_path: Path) -> None:
    text = _call("lapack_strsm_ffi", f"{_M}; {_M}; {_S}", _M, _TRSM).replace("return", f"return %0#0 : {_M}")
    (file := tmp_path / "m.mlir").write_text(text.replace(") {\n", f") -> {_M} {{\n", 1))
    a, b = np.array([[2, 0], [1, 4]], np.float32), np.ones((2, 2), np.float32)
    (found,) = transload.run(transload.load(file), {"arg0": a, "arg1": b, "arg2": np.float32(8)}).values()
    np.testing.assert_allclose(found, np.linalg.solve(a, 8 * b))


def test_what_a_call_means_is_found_out_once_for_all_rounds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a loop of a thousand rounds it took longer than they did."""
    jax = pytest.importorskip("jax")
    made: list[Any] = []
    monkeypatch.setattr(control, "convert_to", lambda *given: (made.append(given), convert_to(*given)))
    x = np.array([[4, 1], [1, 3]], np.float32)
    program = jax.jit(lambda x: jax.lax.fori_loop(0, 9, lambda i, y: jax.numpy.linalg.cholesky(y @ y.T + x), x))
    exported = jax.export.export(program)(jax.ShapeDtypeStruct((2, 2), "float32"))
    (file := tmp_path / "m.jaxexport").write_bytes(exported.serialize())
    module = transload.load(file)
    (found,) = transload.run(module, dict.fromkeys(module.inputs, x), engine="reference").values()
    np.testing.assert_allclose(found, program(x), rtol=1e-4)
    assert len(made) == 1
