"""JAX's `shard_map`, as Shardy and GSPMD have it: what each device computes is a function, which runs on a grid of processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ReadError, RunError
from transload.ir import Module, input_names
from transload_plugins.stablehlo.kernels.spreading import _places
from transload_plugins.stablehlo.parallel import run_parallel

SUM = """
    %s = "stablehlo.all_reduce"(%x) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,
        replica_groups = dense<[{devices}]> : tensor<1x{count}xi64>, use_global_device_ids}}> ({{
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %1 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }}) : (tensor<{rows}x3xf32>) -> tensor<{rows}x3xf32>
"""
SHARDY = """
module attributes {{mhlo.num_partitions = {count} : i32}} {{
sdy.mesh @mesh = <["d"={count}]>
func.func @main(%a: tensor<8x3xf32>) -> tensor<{rows}x3xf32> {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{"d"}}, {{}}]>] out_shardings=[<@mesh, [{{}}, {{}}]>]
      manual_axes={{"d"}} (%x: tensor<{rows}x3xf32>) {{
""" + SUM + """
    sdy.return %s : tensor<{rows}x3xf32>
  }} : (tensor<8x3xf32>) -> tensor<{rows}x3xf32>
  return %0 : tensor<{rows}x3xf32>
}}
}}
"""
GSPMD = """
module attributes {{mhlo.num_partitions = {count} : i32}} {{
func.func @main(%a: tensor<8x3xf32>) -> tensor<{rows}x3xf32> {{
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) : (tensor<8x3xf32>) -> tensor<{rows}x3xf32>
  %1 = call @shmap_body(%0) : (tensor<{rows}x3xf32>) -> tensor<{rows}x3xf32>
  %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) : (tensor<{rows}x3xf32>) -> tensor<{rows}x3xf32>
  return %2 : tensor<{rows}x3xf32>
}}
func.func private @shmap_body(%x: tensor<{rows}x3xf32>) -> tensor<{rows}x3xf32> {{
""" + SUM + """
  return %s : tensor<{rows}x3xf32>
}}
}}
"""
X = np.arange(24, dtype=np.float32).reshape(8, 3)


def spread(form: str, count: int) -> Module:
    pytest.importorskip("jaxlib")
    text = form.format(count=count, rows=8 // count, devices=list(range(count)))
    return transload.load(text=text, format="stablehlo")


@pytest.mark.parametrize("form", [SHARDY, GSPMD])
def test_on_a_mesh_of_one_device_it_runs_as_it_is(form: str) -> None:
    module = spread(form, 1)
    (result,) = transload.run(module, {next(iter(module.inputs)): X}).values()
    assert np.array_equal(result, X) and not any("spread" in note for note in module.notes)


@pytest.mark.parametrize("form", [SHARDY, GSPMD])
def test_on_several_the_function_of_each_runs_in_a_grid(form: str) -> None:
    module = spread(form, 4)
    (name,) = input_names(module.functions["shmap_body"])
    parts = {(0, place): {name: X[2 * place : 2 * place + 2]} for place in range(4)}
    results = run_parallel(module, parts, num_partitions=4, function="shmap_body")
    assert all(np.array_equal(result, X.reshape(4, 2, 3).sum(0)) for each in results.values() for result in each.values())


@pytest.mark.parametrize("form", [SHARDY, GSPMD])
def test_main_of_several_says_the_way(form: str) -> None:
    module = spread(form, 4)
    assert any("spread over 4 devices" in note and "'shmap_body'" in note for note in module.notes)
    with pytest.raises(RunError) as refused:
        transload.run(module, {next(iter(module.inputs)): X})
    assert "SPMDFullToShardShape" in refused.value.message and "run_parallel" in refused.value.hint


NESTED = """
func.func @main(%a: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"d", ?}, {?}]>] out_shardings=[<@mesh, [{"d", ?}, {?}]>]
      manual_axes={"d"} (%x: tensor<4x3xf32>) {
    %1 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, []>] manual_axes={"e"} () {
      %2 = stablehlo.constant dense<2.0> : tensor<f32>
      sdy.return %2 : tensor<f32>
    } : () -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %4 = stablehlo.multiply %x, %3 : tensor<4x3xf32>
    sdy.return %4 : tensor<4x3xf32>
  } : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}
"""


def test_what_lies_within_another_is_a_function_that_it_calls() -> None:
    """As of a `shard_map` over some axes of a mesh, whose body asks for its place on them."""
    pytest.importorskip("jaxlib")
    text = f'module {{\nsdy.mesh @mesh = <["d"=2, "e"=2]>\n{NESTED}}}'
    module = transload.load(text=text, format="stablehlo")
    assert [*module.functions] == ["main", "shmap_body", "shmap_body_1"]
    (name,) = input_names(module.functions["shmap_body"])
    for result in run_parallel(module, {name: X[:4]}, num_partitions=4, function="shmap_body").values():
        assert all(np.array_equal(part, 2 * X[:4]) for part in result.values())


TWO_AXES = """
module {
sdy.mesh @mesh = <["d"=2, "e"=2]>
func.func @main(%a: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x2xf32>) {
  %0:2 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"e", "d"}, {}]>]
      out_shardings=[<@mesh, [{"e", "d"}, {}]>, <@mesh, [{"d"}, {"e"}]>] manual_axes={"d", "e"} (%x: tensor<2x4xf32>) {
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %5 = stablehlo.add %x, %3 : tensor<2x4xf32>
    sdy.return %5, %4 : tensor<2x4xf32>, tensor<4x1xf32>
  } : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x2xf32>)
  return %0#0, %0#1 : tensor<8x4xf32>, tensor<8x2xf32>
}
}
"""


@pytest.mark.parametrize("form", ["text", "bytecode"])
def test_main_cuts_and_joins_by_the_axes_of_the_mesh(tmp_path: Path, form: str) -> None:
    pytest.importorskip("jaxlib")
    path = tmp_path / "m.mlir"
    path.write_text(TWO_AXES)
    if form == "bytecode":
        from transload_converters.stablehlo import bindings

        program, _context = bindings._parse(TWO_AXES.encode(), "m.mlir")
        with path.open("wb") as out:
            program.operation.write_bytecode(out)  # in a version that has properties, which text goes without
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    there = run_parallel(module := transload.load(path), {next(iter(module.inputs)): x}, num_partitions=4)
    for result in there.values():
        moved, parts = result.values()
        assert np.array_equal(moved, x + np.repeat([0, 2, 1, 3], 2)[:, None])
        assert np.array_equal(parts, np.repeat([[0, 1], [2, 3]], 4, 0))


CALLS = """
module attributes {mhlo.num_partitions = 4 : i32} {
func.func @main(%a: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "SAID"} : (tensor<8x3xf32>) -> tensor<8x3xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8x3xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.partition_id : tensor<ui32>
  %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<f32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %5 = stablehlo.add %1, %4 : tensor<2x3xf32>
  %6 = stablehlo.custom_call @Sharding(%5) {mhlo.sharding = "{manual}"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %7 = stablehlo.custom_call @SPMDShardToFullShape(%6) {mhlo.sharding = "SAID"} : (tensor<2x3xf32>) -> tensor<8x3xf32>
  return %7 : tensor<8x3xf32>
}
}
"""


@pytest.mark.parametrize(("sharding", "order"), [
    ("{devices=[4,1]<=[4]}", [0, 1, 2, 3]), ("{devices=[4,1]3,1,0,2}", [3, 1, 0, 2]),
    ("{devices=[4,1]<=[2,2]T(1,0)}", [0, 2, 1, 3]), ("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", None),
    ("{devices=[4,1]3,1,0,0}", None), ("{replicated}", None)])
def test_calls_of_gspmd_cut_and_join_as_they_say(sharding: str, order: list[int] | None) -> None:
    """Partitions by the rows that they have; none where a sharding is not of these shapes, or not of all partitions."""
    pytest.importorskip("jaxlib")
    module = transload.load(text=CALLS.replace("SAID", sharding), format="stablehlo")
    inputs = {next(iter(module.inputs)): X}
    if order is None:
        with pytest.raises(RunError, match="SPMDFullToShardShape"):
            run_parallel(module, inputs, num_partitions=4)
        return
    for result in run_parallel(module, inputs, num_partitions=4).values():
        (joined,) = result.values()
        assert np.array_equal(joined, X + np.repeat(order, 2)[:, None])


@pytest.mark.parametrize("devices", ["[2]<=[99999999999999]", "[99999999999]<=[2]", "[2]<=[2]T(7)", "[2]<=[1,2]T(0,0)", "[2]7,8"])
def test_a_grid_of_other_sizes_than_there_are_partitions_is_none(devices: str) -> None:
    """As many numbers were made as its text says, before they were counted."""
    assert _places(f"{{devices={devices}}}", 1, 2) is None
    places = _places("{devices=[2]<=[2]}", 1, 2)
    assert places is not None and places.tolist() == [[0], [1]]


def test_a_mesh_has_no_results() -> None:
    text = """"builtin.module"() ({
      %x = "sdy.mesh"() <{mesh = #sdy.mesh<["d"=2]>, sym_name = "mesh"}> : () -> tensor<2xf32>
      "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
      ^bb0(%a: tensor<2xf32>):
        "func.return"(%a) : (tensor<2xf32>) -> ()
      }) : () -> ()
    }) : () -> ()"""
    with pytest.raises(ReadError, match=r"sdy.mesh has no operands, results or regions"):
        transload.load(text=text, format="stablehlo")
    named = text.replace("%x = ", "").replace(": () -> tensor<2xf32>\n", ": () -> ()\n")
    transload.load(text=named, format="stablehlo")
