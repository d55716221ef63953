"""Ops that gather, scatter, stretch, turn round and look for extremes: programs compute what kernels do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import F32, I32, I64, Module, TensorType, Value, new_module, set_results
from transload.ir.build import Builder
from transload_targets.tensor_processor.chip import load_chip
from transload_targets.tensor_processor.codegen import compile_function
from transload_targets.tensor_processor.instructions import assemble, deserialize, serialize
from transload_targets.tensor_processor.simulator import Simulator, check

from .test_lowering import CASES, FLOATS, FOUR, INDICES, A, B, C, U, V, emits, inputs_of, left, lowered, made, q, tensor

INTEGERS: dict[str, Any] = {name: CASES[name] for name in (
    "sum, one a channel of five dimensions", "sum, each broadcast along others of six dimensions",
    "gathered", "gathered by many", "gathered where computed", "subscripts", "subscripts that are computed", "scattered",
    "place of the greatest", "the last place of the least", "the same bits", "quotient of integers", "shifted", "sum, 32 bits",
    "joined, unsigned", "reflected", "mirrored", "repeated at its edges", "space to batch", "batch to space", "truth values",
    "transposed convolution", "transposed convolution, cropped")}
ROUNDED_ONCE = {
    "softmax, rounded once": ([tensor(A, 3, 11)], emits(
        "top.Softmax", element=q(A.storage, 1 / 256, -128), axis=-1, rounding="once")),
    "sum, rounded once": ([tensor(U, *FOUR), tensor(V, *FOUR)], emits("top.Add", element=V, rounding="once")),
    "sum, rounded as onnxruntime": ([tensor(U, *FOUR), tensor(V, *FOUR)], emits("top.Add", element=V, rounding="float32")),
    "difference, rounded once": ([tensor(A, *FOUR), tensor(B, *FOUR)], emits("top.Sub", element=C, rounding="once"))}


def inputs_for(module: Module) -> dict[str, np.ndarray]:
    inputs = inputs_of(module)
    for name, type_ in module.inputs.items():
        assert isinstance(type_, TensorType)
        if type_.element in (I32, I64):
            inputs[name] = np.random.default_rng(3).integers(*INDICES, type_.static_shape).astype(inputs[name].dtype)
    return inputs


@pytest.mark.parametrize("chip", ["tp-large", "tp-small"])
@pytest.mark.parametrize("name", [
    *INTEGERS, *ROUNDED_ONCE, "transposed convolution of floats", "hard sigmoid", "normalized", "norm"])
def test_the_simulator_gives_what_kernels_give(name: str, chip: str) -> None:
    types, build = {**INTEGERS, **ROUNDED_ONCE, **FLOATS}[name]
    low = lowered(made(types, build), chip)
    assert left(low) == [], low.notes
    inputs = inputs_for(low)
    wanted = transload.run(low, inputs, engine="reference")
    found = Simulator(compile_function(low.main, load_chip(chip)).program).run(inputs)
    for key, array in wanted.items():
        np.testing.assert_array_equal(found[key], array)


@pytest.mark.parametrize("name", ROUNDED_ONCE)
def test_what_is_rounded_once_is_the_hubs_but_for_halves(name: str) -> None:
    module = made(*ROUNDED_ONCE[name])
    inputs = inputs_of(module)
    low = lowered(module)
    assert left(low) == [], low.notes
    wanted = transload.run(module, inputs, engine="reference")["y0"].astype(int)
    off = np.abs(transload.run(low, inputs, engine="reference")["y0"].astype(int) - wanted)
    assert off.max() <= 1 and np.count_nonzero(off) <= wanted.size // 200


def test_a_large_table_is_gathered_where_it_lies() -> None:
    """A table that no local memory holds, at places that are computed."""
    table = np.random.default_rng(0).integers(-128, 128, (1 << 18, 3)).astype(np.int8)
    module = made([tensor(I32, 5, 7)], lambda build, x: build.emit("top.Gather", build.constant(table), x, axis=0))
    low = lowered(module, "tp-tiny")
    assert left(low) == [], low.notes
    places = np.random.default_rng(1).integers(-(1 << 18), 1 << 18, (5, 7)).astype(np.int32)
    program = compile_function(low.main, load_chip("tp-tiny")).program
    assert [one.operation for one in program.instructions] == ["gather"]
    np.testing.assert_array_equal(Simulator(program).run({"x0": places})["y0"], table[places])


@pytest.mark.parametrize("chip", ["tp-large", "tp-small"])
def test_a_product_of_two_layers_waits_until_both_are_stored(chip: str) -> None:
    """The second is read as filters, in another layout than it was computed in."""
    random = np.random.default_rng(0)

    def build(builder: Builder, x: Value) -> Value:
        left, right = (
            builder.emit("top.MatMul", x, builder.constant(random.normal(size=(64, 64)).astype(np.float32))) for _ in range(2))
        made: Value = builder.emit("top.MatMul", left, right, right_transpose=True)
        return made

    low = lowered(made([tensor(F32, 99, 64)], build))
    inputs = inputs_of(low)
    found = Simulator(compile_function(low.main, load_chip(chip)).program).run(inputs)["y0"]
    np.testing.assert_array_equal(found, transload.run(low, inputs, engine="reference")["y0"])


GATHER = """\
program "taken" global_bytes=64
machine "one lane" lanes=1 local_bytes=64 banks=2 eu_bytes=4 cores=1
tensor %0 "x" 2x5x3
tensor %1 "places" 4
tensor %2 "y" 2x4x3
input "x" int8 2x5x3 at 0x0 %0
input "places" int32 4 at 0x20 %1
output "y" int8 2x4x3 at 0x30 %2
dma.1 wait 0 gather (G[0x0] int8 2x5x3 %0, G[0x20] int32 4 %1) -> (G[0x30] int8 2x4x3 %2) "y"
"""


def test_a_gather_takes_parts_and_is_checked() -> None:
    text = GATHER.replace("global_bytes=64", "global_bytes=80")
    x = np.arange(30, dtype=np.int8).reshape(2, 5, 3)
    given = Simulator(assemble(text)).run({"x": x, "places": np.array([0, 4, -1, 99], np.int32)})["y"]
    np.testing.assert_array_equal(given, x[:, [0, 4, 4, 4]])
    for old, new, why in [
            ("int32 4", "int16 4", "its indices are int16"), ("int8 2x4x3 %2)", "uint8 2x4x3 %2)", "changes no types"),
            ("2x4x3 %2)", "2x3x4 %2)", "takes parts of")]:
        findings = list(_refusals(text.replace(old, new)))
        assert any(why in finding for finding in findings), findings
    assert check(assemble(text.replace("(G[0x0]", "(G[0x1]")))


def _refusals(text: str) -> list[str]:
    from transload.errors import ArtifactError, TransloadError

    try:
        Simulator(assemble(text))
    except (ArtifactError, TransloadError) as error:
        return [finding.why for finding in getattr(error, "findings", ())] or [error.message]
    return []


@pytest.mark.parametrize("build, why", [
    (lambda build, x, places: build.emit("top.Gather", x, places, axis=1, batch_dims=1), "gone through together"),
    (lambda build, x, places: build.emit("top.ScatterND", x, places, x, element=x.element), "only when the model runs"),
])
def test_what_is_not_gathered_stays_with_the_reason(build: Callable[..., Any], why: str) -> None:
    low = lowered(made([tensor(F32, 4, 4), tensor(I32, 4, 1)], build))
    assert left(low) and any(why in note for note in low.notes), low.notes


@pytest.mark.parametrize(("size", "stays"), [(100, False), (1 << 20, True)])
def test_what_goes_backwards_far_stays_with_the_reason(size: int, stays: bool) -> None:
    """Each place is a copy of its own: of a million the chip's program had taken all memory."""
    low = lowered(made([tensor(I32, 2, size)], lambda build, x: build.emit("top.Reverse", x, axes=(1,))))
    assert bool(left(low)) == stays and stays == any("places backwards" in note for note in low.notes)


def test_an_operand_that_is_not_there_is_no_op_of_the_host() -> None:
    """Bias and state of a layer that has none are no part, and no input of one."""
    module = new_module()
    main = module.add_function("main", [TensorType((2, 4), F32)], ["x"])
    build = Builder(main.regions[0].block)
    w = build.constant(np.ones((4, 4), np.float32))
    none: Value = build.emit("top.None")
    x = build.emit("top.MatMul", build.block.arguments[0], w, none)
    x = build.emit("top.MatMul", build.emit("top.Abs", x), w, none)
    set_results(main, [x], ["y"])
    cut = transload.partition(module, lambda op: op.name != "top.Abs")
    assert [part.place for part in cut.parts] == ["target", "host", "target"]
    assert all(isinstance(type_, TensorType) for part in cut.parts for type_ in part.module.inputs.values())
    for part in cut.parts:
        transload.run(part.module, {name: np.ones((2, 4), np.float32) for name in part.module.inputs})


@pytest.mark.parametrize("side", [0, 1])
def test_a_factor_that_is_reshaped_in_as_many_dimensions_is_read(side: int) -> None:
    """Rows that are columns there: all of a tensor, in dimensions that are no part of its own."""
    def build(builder: Builder, x: Value, y: Value) -> Value:
        row = builder.emit("top.Reshape", y, shape=(4, 4, 1))
        return builder.emit("top.MatMul", *((x, row) if side else (row, x)))

    low = lowered(made([tensor(F32, 4, 2, 4) if side else tensor(F32, 4, 1, 4), tensor(F32, 4, 1, 4)], build))
    assert left(low) == [], low.notes
    program = deserialize(serialize(compile_function(low.main, load_chip("tp-large")).program), "x.tpu")
    inputs = inputs_of(low)
    [wanted], [found] = transload.run(low, inputs, engine="reference").values(), Simulator(program).run(inputs).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
