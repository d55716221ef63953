# ruff: noqa: E501 - lines of programs
"""What StableHLO got after 1.12: roots of collectives, several operands of them, futures, buffers, composites with a body."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import ConversionError, RunError, TransloadError
from transload.ir import Module
from transload.ir.verify import check
from transload.text import parse_module
from transload_plugins.stablehlo.parallel import run_parallel

from tests.support.judge_versions import newer_jaxlib

SUM = (
    '({\n^bb0(%x: tensor<i64>, %y: tensor<i64>):\n%z = "stablehlo.add"(%x, %y) : (tensor<i64>, tensor<i64>) -> tensor<i64>\n'
    '"stablehlo.return"(%z) : (tensor<i64>) -> ()\n})')
GROUPS = "replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>"
T, ROOTS = "tensor<2xi64>", "tensor<1xi32>"


def program(body: str, results: str = T, returned: str = "%r") -> Module:
    return parse_module(
        f'"func.func"() <{{function_type = ({T}, {ROOTS}) -> ({results}), sym_name = "main"}}> ({{\n^bb0(%a: {T}, %b: {ROOTS}):\n{body}\n'
        f'"func.return"({returned}) : ({results}) -> ()\n}}) : () -> ()\n')


def on_two(module: Module, root: int = 0) -> list[list[list[int]]]:
    """The outputs of two replicas, given [1, 2] and [10, 20]."""
    assert not check(module)
    inputs = {(r, 0): {"arg0": np.array([1, 2]) * 10**r, "arg1": np.array([root], np.int32)} for r in range(2)}
    outputs = run_parallel(module, inputs, num_replicas=2)
    return [[array.tolist() for array in outputs[replica, 0].values()] for replica in range(2)]


def test_collective_reduce_is_in_the_first_process_of_a_group() -> None:
    """The example of its tests upstream: others get zeros."""
    module = program(f'%r = "stablehlo.collective_reduce"(%a) <{{{GROUPS}}}> {SUM} : ({T}) -> {T}')
    assert on_two(module) == [[[0, 0]], [[11, 22]]]


@pytest.mark.parametrize("root", [0, 1])
def test_collective_reduce_goes_to_the_root_that_is_given(root: int) -> None:
    module = program(f'%r = "stablehlo.collective_reduce"(%a, %b) <{{{GROUPS}, has_dynamic_root}}> {SUM} : ({T}, {ROOTS}) -> {T}')
    assert on_two(module, root)[1 - root] == [[11, 22]] and on_two(module, root)[root] == [[0, 0]]


def test_broadcasts_of_several_operands() -> None:
    module = program(f'%c = "stablehlo.negate"(%a) : ({T}) -> {T}\n%r, %s = "stablehlo.collective_broadcast"(%a, %c) <{{{GROUPS}}}> : ({T}, {T}) -> ({T}, {T})', f"{T}, {T}", "%r, %s")
    assert on_two(module) == [[[10, 20], [-10, -20]]] * 2


@pytest.mark.parametrize(("root", "given"), [(0, [10, 20]), (1, [1, 2])])
def test_broadcast_of_the_root_that_is_given(root: int, given: list[int]) -> None:
    module = program(f'%r = "stablehlo.collective_broadcast"(%a, %b) <{{{GROUPS}, has_dynamic_root}}> : ({T}, {ROOTS}) -> {T}')
    assert on_two(module, root) == [[given]] * 2
    with pytest.raises(RunError, match="process 2 of a group of 2"):
        on_two(module, 2)


@pytest.mark.parametrize(("body", "why"), [
    (f'%r = "stablehlo.collective_broadcast"(%a, %a) <{{{GROUPS}, has_dynamic_root}}> : ({T}, {T}) -> {T}', "an si32 for each"),
    (f'%r = "stablehlo.collective_broadcast"(%a) <{{{GROUPS}, has_dynamic_root}}> : ({T}) -> {T}', "it is missing"),
    (f'%r = "stablehlo.collective_broadcast"(%a, %a) <{{{GROUPS}}}> : ({T}, {T}) -> {T}', "(C3)"),
    (f'%r = "stablehlo.collective_reduce"(%a, %a) <{{{GROUPS}}}> {SUM} : ({T}, {T}) -> {T}', "the shapes of the operands"),
])
def test_what_does_not_fit_is_refused(body: str, why: str) -> None:
    assert any(why in finding.why for finding in check(program(body)))


ASYNC = f'''%f = "stablehlo.async_start"(%a) ({{
^bb0(%i: {T}):
  %n = "stablehlo.negate"(%i) : ({T}) -> {T}
  "stablehlo.return"(%n) : ({T}) -> ()
}}) : ({T}) -> !stablehlo.future<{T}>
%r = "stablehlo.async_done"(%f) : (!stablehlo.future<{T}>) -> {T}'''


def test_what_is_started_comes_of_it() -> None:
    assert on_two(program(ASYNC)) == [[[-1, -2]], [[-10, -20]]]
    wrong = check(program(ASYNC.replace(f"future<{T}>", "future<tensor<2xf32>>")))
    assert [finding.what for finding in wrong] == ["stablehlo.async_start", "stablehlo.async_done"]


def test_what_is_started_is_converted_in_its_place() -> None:
    module = transload.legalize(program(ASYNC))
    assert [op.name for op in module.ops()] == ["top.Neg", "func.return"]
    given, waited = ASYNC.partition("\n%r")[0], f'%r = "stablehlo.async_done"(%f) : (!stablehlo.future<{T}>) -> {T}'
    call = '"stablehlo.custom_call"({}) <{{call_target_name = "acme"}}> : ({}) -> {}'
    future = f"!stablehlo.future<{T}>"
    with pytest.raises(ConversionError, match="not waited for in the same function"):
        transload.legalize(program(f"{given}\n%r = {call.format('%f', future, T)}"))
    with pytest.raises(ConversionError, match="started outside"):
        transload.legalize(program(f"%f = {call.format('%a', T, future)}\n{waited}"))


BUFFERS = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @Pin(%a) : (tensor<4xf32>) -> memref<4xf32>
  %1 = stablehlo.custom_call @write(%0) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [],
    operand_index = 0, operand_tuple_indices = []>]} : (memref<4xf32>) -> memref<4xf32>
  %2 = stablehlo.custom_call @Unpin(%1) : (memref<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}"""
COMPOSITE = """func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.composite"(%a) ({
  ^bb0(%x: tensor<f32>):
    %1 = stablehlo.negate %x : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {name = "acme.negate", decomposition = @negate, version = 1 : i32} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @negate(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %a : tensor<f32>
  return %0 : tensor<f32>
}"""
STARTED = """func.func @main(%a: tensor<3xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<3xf32>):
    %1 = stablehlo.slice %x [0:2] : (tensor<3xf32>) -> tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }) : (tensor<3xf32>) -> !stablehlo.future<tensor<2xf32>>
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  %3 = stablehlo.negate %2 : tensor<2xf32>
  return %3 : tensor<2xf32>
}"""


@newer_jaxlib("has no buffers, futures, and regions of composites")
@pytest.mark.parametrize("text", [BUFFERS, COMPOSITE, STARTED], ids=["buffers", "composite", "started"])
def test_every_binary_form_of_it_is_read_by_our_own_reader(text: str) -> None:
    pytest.importorskip("jaxlib", reason="jaxlib writes the artifacts")
    from transload_converters.stablehlo.bytecode import read_bytecode

    from tests.converters.stablehlo.jaxlib_oracle import forms, judged

    written = dict(forms(text, (None,)))
    assert len(written) == 8
    for name, data in written.items():
        module, _ = read_bytecode(memoryview(data))
        assert not check(module), name
        assert str(module) == str(judged(data)), name
    given = next(iter(transload.load(text=text, format="stablehlo").inputs.values()))
    if text is BUFFERS:
        with pytest.raises(RunError, match="nothing here computes 'Pin'"):
            transload.run(module, {"arg0": np.zeros(4, np.float32)})
    else:
        x = np.full(given.shape, 3, np.float32)
        assert set(next(iter(transload.run(module, {"arg0": x}, engine="reference").values())).ravel().tolist()) == {-3}


@pytest.mark.parametrize(("operation", "attributes"), [
    ("collective_reduce_v1", ("channel_id", "has_dynamic_root", "replica_groups", "use_global_device_ids")),
    ("collective_broadcast_v2", ("channel_id", "has_dynamic_root", "replica_groups")),
])
def test_operations_after_1_17_are_known(operation: str, attributes: tuple[str, ...]) -> None:
    """jaxlib writes none yet; their attributes are those of upstream's tests (stablehlo_legalize_to_vhlo.1_20_0.mlir)."""
    from transload_converters.stablehlo.bytecode import upgrade

    groups = parse_module(f'%0 = "x"() {{{GROUPS}}} : () -> i1').body.first.attributes["replica_groups"]
    assert tuple(name for name, _ in upgrade.properties_of(f"vhlo.{operation}")) == attributes
    held = {"channel_id": 1, "has_dynamic_root": True, "replica_groups": groups, "use_global_device_ids": False}
    name, found = upgrade.upgraded(f"vhlo.{operation}", {key: held[key] for key in attributes})
    assert name == f"stablehlo.{operation[:-3]}"
    assert set(found) == {"channel_handle", "has_dynamic_root", "replica_groups"} and found["has_dynamic_root"] is None
    with pytest.raises(TransloadError, match="not known"):
        upgrade.properties_of("vhlo.collective_reduce_v2")
