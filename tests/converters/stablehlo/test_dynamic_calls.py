"""Operations that JAX writes as calls where a size is symbolic: operations of StableHLO once it is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError, ShapeError
from transload.ir.verify import check

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax

PHILOX = lax.RandomAlgorithm.RNG_PHILOX


def random_bits(x: Any) -> Any:
    return lax.rng_bit_generator(jnp.arange(4, dtype="uint32"), x.shape, algorithm=PHILOX)[1].astype("float32") + x


CASES: dict[str, tuple[Callable[..., Any], str]] = {
    "cumsum": (lambda x: jnp.cumsum(x, 1), "2, s"),
    "cummax": (lambda x: lax.cummax(x, 1), "2, s"),
    "reversed": (lambda x: lax.cumsum(x, 0, reverse=True), "s, 3"),
    "two of a kind": (lambda x: lax.cumprod(x, 1) + lax.cumsum(x, 1), "2, s"),
    "max_pool": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 1), (1, 2, 1), "SAME"), "2, s, 3"),
    "sums": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), "1, s, s, 3"),
    "window": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, x.shape[1] - 2), (1, 1), "VALID"), "2, s + 3"),
    "top_k": (lambda x: lax.top_k(x, x.shape[1] - 1), "4, s + 1"),
    "top_k of integers": (lambda x: lax.top_k((x * 3).astype("int32"), x.shape[1] - 2), "4, s + 2"),
    "top_k of bytes": (lambda x: lax.top_k((x * 30 + 100).astype("uint8"), x.shape[1] - 2), "4, s + 2"),
    "composite": (lambda x: lax.top_k(x, 2), "s, 5"),
    "composites of two sizes": (lambda x: (lax.top_k(x, 2)[0].sum(0), *lax.top_k(x[1:], 2)), "s + 1, 5"),
    "random": (random_bits, "s"),
    "cast": (lambda x: (x * 3).astype("int32") + lax.bitcast_convert_type(x, "int32"), "2, s"),
}


@pytest.mark.parametrize("name", CASES)
def test_calls_of_symbolic_sizes_become_operations(name: str, tmp_path: Path) -> None:
    function, shape = CASES[name]
    symbolic = jax.export.symbolic_shape(shape)
    made = jax.export.export(jax.jit(function))(jax.ShapeDtypeStruct(symbolic, "float32"))
    file = tmp_path / "made.jaxexport"
    file.write_bytes(made.serialize())
    x = np.random.default_rng(0).normal(size=tuple(size if isinstance(size, int) else 6 for size in symbolic)).astype(np.float32)
    x[..., 1] = x[..., 0]  # of equal numbers the first comes first
    module = transload.load(file, format="stablehlo", inputs={"arg0": x.shape})
    assert [each for each in module.functions if "impl" not in each] == ["main"]
    assert all(result.is_static for op in module.walk() for result in op.results)
    assert not any(op.name in ("stablehlo.custom_call", "chlo.top_k") for op in module.walk())
    wanted = [np.asarray(each) for each in jax.tree.leaves(made.call(x))]
    for each, engine in ((module, "reference"), (module, "xla"), (transload.lower(module, "top"), "reference")):
        found = list(transload.run(each, {next(iter(each.inputs)): x}, engine=engine).values())
        for ours, theirs in zip(found, wanted, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_composites_in_composites_leave_nothing_open_behind(tmp_path: Path) -> None:
    """Decompositions that only replaced ones meant were kept, with the sizes that they had."""
    of = "tensor<?x5xf32>"
    means = [f"func.func private @{name}(%a: {of}) -> {of} {{\n%r = {line} : {kind}\nreturn %r : {of}\n}}\n"
        for name, line, kind in (
            ("f", 'stablehlo.composite "a.b" %a {decomposition = @g}', f"({of}) -> {of}"),
            ("g", 'stablehlo.composite "a.c" %a {decomposition = @h}', f"({of}) -> {of}"), ("h", "stablehlo.negate %a", of))]
    (file := tmp_path / "m.mlir").write_text("".join(means) + (
        f'func.func @main(%a: {of}) -> {of} {{\n%r = stablehlo.composite "a.d" %a {{decomposition = @f}} : ({of}) -> {of}\n'
        f"return %r : {of}\n}}\n"))
    module = transload.load(file, format="stablehlo", inputs={"arg0": (3, 5)})
    assert len(module.functions) == 4
    assert all(result.is_static for op in module.walk() for result in op.results)


def test_sizes_below_zero_are_no_shape(tmp_path: Path) -> None:
    """Bits of such a shape failed in a kernel, as a fault of the plugin."""
    (file := tmp_path / "m.mlir").write_text("""func.func @main(%arg0: tensor<?xf32>) -> tensor<?xf32> {
      %s = stablehlo.constant dense<1> : tensor<2xui64>
      %n = stablehlo.constant dense<-3> : tensor<1xi32>
      %r:2 = "stablehlo.custom_call"(%s, %n) {call_target_name = "stablehlo.dynamic_rng_bit_generator", rng_algorithm = 1} : (
        tensor<2xui64>, tensor<1xi32>) -> (tensor<2xui64>, tensor<?xui32>)
      return %arg0 : tensor<?xf32>
    }""")
    with pytest.raises(ShapeError, match=r"\[-3\] is no shape"):
        transload.load(file, inputs={"arg0": (4,)})


@pytest.mark.parametrize("call", ["Sharding", "annotate_device_placement", "erf", "mhlo.tan"])
@pytest.mark.parametrize("result", ["?x4", "?x?", "2x4"])
def test_calls_that_give_sizes_back_have_those_that_are_given(call: str, result: str, tmp_path: Path) -> None:
    """They kept sizes that were open in the program, so that it was refused, and static shapes asked for."""
    of, gives = "tensor<?x4xf32>", f"tensor<{result}xf32>"
    (file := tmp_path / "m.mlir").write_text(
        f"func.func @main(%a: {of}) -> {gives} {{\n%r = stablehlo.custom_call @{call}(%a) : ({of}) -> {gives}\n"
        f"return %r : {gives}\n}}\n")
    module = transload.load(file, inputs={"arg0": (2, 4)})
    assert all(result.is_static for op in module.walk() for result in op.results)
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    (expected,), (found,) = (
        transload.run(made, {"arg0": x}).values() for made in (module, transload.lower(module, "tosa")))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_calls_that_give_other_sizes_are_not_known(tmp_path: Path) -> None:
    (file := tmp_path / "m.mlir").write_text("""func.func @main(%a: tensor<?x4xf32>) -> tensor<3x4xf32> {
      %r = stablehlo.custom_call @Sharding(%a) : (tensor<?x4xf32>) -> tensor<3x4xf32>
      return %r : tensor<3x4xf32>
    }""")
    with pytest.raises(ConversionError, match="nobody here knows what 'Sharding' computes"):
        transload.lower(transload.load(file, inputs={"arg0": (2, 4)}), "tosa")


def definite(a: Any) -> Any:
    return a @ a.swapaxes(-1, -2) + jnp.eye(a.shape[-1])


WITH_SHAPES: dict[str, tuple[Callable[..., Any], str]] = {
    "cholesky": (lambda a: jnp.linalg.cholesky(definite(a)), "s, 4, 4"),
    "upper cholesky": (lambda a: jnp.linalg.cholesky(definite(a), upper=True), "s, 3, 3"),
    "cholesky of symbolic rows": (lambda a: lax.linalg.cholesky(a @ a.T + jnp.eye(a.shape[0])), "s, s"),
    "inv": (lambda a: jnp.linalg.inv(definite(a)), "s, 4, 4"),
    "det": (lambda a: jnp.linalg.det(definite(a)), "s, 4, 4"),
    "slogdet": (lambda a: tuple(jnp.linalg.slogdet(definite(a))), "s, 4, 4"),
    "solve": (lambda a: jnp.linalg.solve(definite(a), a[..., :2]), "s, 4, 4"),
    "lu": (lambda a: lax.linalg.lu(definite(a))[0], "s, 4, 4"),
    "cho_solve": (lambda a: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(definite(a)), True), a), "s, 4, 4"),
    "solve_triangular": (lambda a: jax.scipy.linalg.solve_triangular(definite(a), a, lower=True, trans=1), "s, 4, 4"),
    "triangular_solve": (lambda a: lax.linalg.triangular_solve(definite(a), a, left_side=False, lower=True), "s, 4, 4"),
    "approx_max_k": (lambda a: lax.approx_max_k(a, 2), "s, 3, 5"),
    "approx_min_k": (lambda a: lax.approx_min_k(a, 2, reduction_dimension=0), "s + 3, 4"),
    "approx_max_k of symbolic count": (lambda a: lax.approx_max_k(a, a.shape[0] - 1, reduction_dimension=0), "s + 1, 4"),
    "approx_max_k of all": (lambda a: lax.approx_max_k(a, a.shape[1]), "3, s"),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("name", WITH_SHAPES)
def test_calls_that_are_given_the_shapes_of_results_have_them(name: str, size: int, tmp_path: Path) -> None:
    """JAX appends them to the operands, for which the calls were not known, and the sizes of results stayed open."""
    function, shape = WITH_SHAPES[name]
    symbolic = jax.export.symbolic_shape(shape)
    made = jax.export.export(jax.jit(function))(jax.ShapeDtypeStruct(symbolic, "float32"))
    (file := tmp_path / "made.jaxexport").write_bytes(made.serialize())
    sizes = tuple(each if isinstance(each, int) else int(each._evaluate({"s": size})) for each in symbolic)
    x = np.random.default_rng(0).normal(size=sizes).astype(np.float32)
    module = transload.load(file, format="stablehlo", inputs={"arg0": sizes})
    calls = [op for op in module.walk() if op.name == "stablehlo.custom_call"]
    assert calls and not any("indices_of_shape_operands" in op.attributes for op in calls)
    wanted = [np.asarray(each) for each in jax.tree.leaves(jax.jit(function)(x))]
    for each, engine in ((module, "xla"), (transload.lower(module, "tosa"), "reference")):
        found = list(transload.run(each, {next(iter(each.inputs)): x}, engine=engine).values())
        for ours, theirs in zip(found, wanted, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)


def written_call(file: Path, shape: str, attributes: str, of: str = "tensor<?x4xf32>") -> Path:
    file.write_text(
        f"""func.func @main(%a: tensor<?x4xf32>) -> {of} {{
          %s = stablehlo.constant dense<{shape}> : tensor<2xi32>
          %r = stablehlo.custom_call @ours(%s, %a) {{indices_of_shape_operands = dense<0> : tensor<1xi64>{attributes}}}
            : (tensor<2xi32>, tensor<?x4xf32>) -> {of}
          return %r : {of}
        }}""")
    return file


def test_what_a_call_says_of_its_operands_goes_on_to_fit(tmp_path: Path) -> None:
    """Layouts, and the numbers of operands that results share memory with; of any call, and whichever operand is the shape."""
    file = written_call(tmp_path / "m.mlir", "[2, 4]", """, operand_layouts = [dense<0> : tensor<1xindex>, dense<[1, 0]> :
        tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [
        #stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]""")
    module = transload.load(file, inputs={"arg0": (2, 4)})
    (call,) = (op for op in module.walk() if op.name == "stablehlo.custom_call")
    assert [str(value.type) for value in (*call.operands, *call.results)] == ["tensor<2x4xf32>"] * 2
    assert [each.numpy().tolist() for each in call.attributes["operand_layouts"]] == [[1, 0]]
    assert "operand_index = 0" in call.attributes["output_operand_aliases"][0].text
    check(module)


def test_a_shape_that_is_none_of_the_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match=r"tensor<\?x4xf32> is given the shape \[2, 3\]"):
        transload.load(written_call(tmp_path / "m.mlir", "[2, 3]", ""), inputs={"arg0": (2, 4)})


def test_results_that_share_memory_with_an_operand_have_its_sizes(tmp_path: Path) -> None:
    """The module was not valid: the sizes of the operand became known, and those of the result did not."""
    (file := tmp_path / "m.mlir").write_text("""func.func @main(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %r = stablehlo.custom_call @ours(%a) {output_operand_aliases = [#stablehlo.output_operand_alias<
        output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
      return %r : tensor<?x4xf32>
    }""")
    module = transload.load(file, inputs={"arg0": (2, 4)})
    check(module)
    assert [str(each) for each in module.outputs.values()] == ["tensor<2x4xf32>"]


def test_what_asserts_open_sizes_asks_for_them(tmp_path: Path) -> None:
    """It was called an effect that is to be left out."""
    (file := tmp_path / "m.mlir").write_text("""func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
      %size = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %two = stablehlo.constant dense<2> : tensor<i32>
      %fits = stablehlo.compare GE, %size, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.custom_call @shape_assertion(%fits, %size) {
        error_message = "too few: {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
      return %a : tensor<?xf32>
    }""")
    with pytest.raises(ConversionError) as refused:
        transload.lower(transload.load(file), "tosa")
    assert "asserts what sizes are" in str(refused.value) and "leave it out" not in str(refused.value)
    assert transload.lower(transload.load(file, inputs={"arg0": (3,)}), "tosa")
