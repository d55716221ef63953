"""IF and WHILE: subgraphs that see only what they are given, as LiteRT runs them; read and written again they stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import BOOL, F32, I8, I16, I32, I64, UI8, Block, Module, Op, QuantType, Region, TensorType, Value, new_module
from transload.ir import set_results as end
from transload.ir.build import Builder
from transload.plugin_host import host
from transload.trials import refused_ops

from tests.support.litert import interpreter_of, run_litert

COUNT = TensorType((), I32)
ROW = TensorType((3,), F32)


def region(types: list[TensorType], build: Any) -> Region:
    """A region of one block that takes these types and ends with what `build(builder, *arguments)` gives."""
    block = Block(types)
    block.append(Op("top.Yield", build(Builder(block), *block.arguments)))
    return Region([block])


def loop(build: Builder, state: list[Value], condition: Any, body: Any) -> list[Value]:
    types: list[Any] = [value.type for value in state]
    made = build.create(
        "top.While", state, types, {}, [region(types, lambda b, *a: [condition(b, *a)]), region(types, body)], "loop")
    return list(made.results)


def choice(build: Builder, condition: Value, then: Any, other: Any) -> list[Value]:
    regions = [region([], then), region([], other)]
    types = [value.type for value in regions[0].block.terminator.operands]
    return list(build.create("top.If", (condition,), types, {}, regions, "choice").results)


def program(types: list[TensorType], build: Any) -> Module:
    module = new_module()
    function = module.add_function("main", types, [f"x{index}" for index in range(len(types))])
    block = function.regions[0].block
    end(function, build(Builder(block), *block.arguments))
    return module


def below(limit: int) -> Any:
    return lambda build, count, *_: build.emit("top.Compare", count, build.constant(np.int32(limit)), mode="Less")


def one_more(build: Builder, count: Value) -> Value:
    return build.emit("top.Add", count, build.constant(np.int32(1)))


def agree(module: Module, *rounds: list[Any]) -> Module:
    """LiteRT's kernels, both kinds, against our engine, before and after the file is read and written again; what is written."""
    from transload_converters.tflite.writer_module import serialize

    lowered = transload.lower(module, "tfl")
    content = serialize(lowered)
    again = serialize(transload.lower(transload.legalize(transload.load(text=content, format="tflite")), "tfl"))
    third = serialize(transload.lower(transload.legalize(transload.load(text=again, format="tflite")), "tfl"))
    assert third == again, "a file that is read and written once more is the same file"
    for arrays in rounds:
        given = [np.asarray(array) for array in arrays]
        ours = list(transload.run(module, dict(zip(module.inputs, given, strict=True)), engine="reference").values())
        for written, reference in ((content, True), (content, False), (again, True)):
            for mine, theirs in zip(ours, run_litert(written, given, reference), strict=True):
                assert mine.dtype == theirs.dtype
                np.testing.assert_array_equal(mine, theirs)
    return lowered


NUMBERS = np.array([1, -2, 3], np.float32)


def test_what_a_loop_uses_from_around_is_carried_and_constants_are_repeated() -> None:
    def build(b: Builder, start: Value, x: Value, step: Value) -> list[Value]:
        half = b.constant(np.array([0.5, 0.25, 2], np.float32))
        return loop(b, [start, x], below(4), lambda c, n, a: [
            one_more(c, n), c.emit("top.Add", c.emit("top.Mul", a, half), step)])

    module = agree(
        program([COUNT, ROW, ROW], build), *([np.int32(start), NUMBERS, 2 * NUMBERS] for start in (-3, 3, 4, 90)))
    assert list(module.functions) == ["main", "loop/cond", "loop/body"]
    [made] = [op for op in module.ops() if op.name == "tfl.while"]
    assert len(made.operands) == 3, "the step is carried, the constant is not"


def test_an_end_that_follows_from_the_data() -> None:
    def build(b: Builder, x: Value) -> list[Value]:
        return loop(b, [x], lambda c, a: c.emit(
            "top.Compare", c.emit("top.Reduce", a, axes=(0,), mode="ReduceMax"), c.constant(np.float32([100])), mode="Less"),
            lambda c, a: [c.emit("top.Mul", a, c.constant(np.float32(3)))])

    agree(program([ROW], build), [NUMBERS], [np.array([50, 0, 0], np.float32)], [np.array([500, 0, 0], np.float32)])


@pytest.mark.parametrize("order", [(2, 1), (1, 2), (1, 1), (2, 2)])
def test_values_that_change_places_are_copied(order: tuple[int, int]) -> None:
    """LiteRT hands the state on tensor by tensor, and loses one of two that change places."""
    def build(b: Builder, *given: Value) -> list[Value]:
        return loop(b, list(given), below(3), lambda c, *state: [one_more(c, state[0]), *(state[place] for place in order)])

    agree(program([COUNT, ROW, ROW], build), *([np.int32(start), NUMBERS, NUMBERS + 9] for start in (0, 1, 2, 3)))


@pytest.mark.parametrize("type_", [
    TensorType((2,), BOOL), TensorType((), BOOL), TensorType((1,), I64), TensorType((2, 2), I32), TensorType((3,), I8),
    TensorType((3,), I16), TensorType((3,), UI8), TensorType((2, 3), QuantType(I8, F32, (0.1,), (5,))),
    TensorType((3,), QuantType(I16, F32, (0.01,), (0,)))])
def test_loops_and_branches_carry_any_type(type_: TensorType) -> None:
    def build(b: Builder, n: Value, x: Value, y: Value) -> list[Value]:
        more = loop(b, [n, x, y], below(3), lambda c, i, p, q: [one_more(c, i), q, p])
        positive = b.emit("top.Compare", n, b.constant(np.int32(0)), mode="Greater")
        return [*more, *choice(b, positive, lambda c: [x, y], lambda c: [y, more[1]])]

    numbers = np.arange(type_.num_elements).reshape(type_.static_shape) % 2
    dtype = transload.ir.dtype_of(type_.element.storage if isinstance(type_.element, QuantType) else type_.element)
    agree(program([COUNT, type_, type_], build),
          *([np.int32(start), numbers.astype(dtype), (1 - numbers).astype(dtype)] for start in (0, 2, 7)))


def test_loops_in_loops_and_branches_in_them() -> None:
    def inner(c: Builder, n: Value, a: Value, x: Value) -> list[Value]:
        _, sum_ = loop(c, [c.constant(np.int32(0)), a], lambda d, i, _: d.emit("top.Compare", i, n, mode="Less"),
                       lambda d, i, s: [one_more(d, i), d.emit("top.Add", s, x)])
        odd = c.emit("top.Compare", n, c.constant(np.int32(1)), mode="Equal")
        [chosen] = choice(c, odd, lambda d: [d.emit("top.Sub", sum_, x)], lambda d: [sum_])
        return [one_more(c, n), chosen]

    def build(b: Builder, start: Value, x: Value) -> list[Value]:
        return loop(b, [start, x], below(4), lambda c, n, a: inner(c, n, a, x))

    lowered = agree(program([COUNT, ROW], build), [np.int32(0), NUMBERS], [np.int32(3), NUMBERS], [np.int32(4), NUMBERS])
    assert len(lowered.functions) == 7


def test_both_branches_with_results_of_several_types() -> None:
    def build(b: Builder, flag: Value, x: Value, y: Value) -> list[Value]:
        return choice(
            b, flag,
            lambda c: [c.emit("top.Add", x, y), c.constant(np.int32(7)), flag, y],
            lambda c: [x, c.constant(np.int32(-7)), c.emit("top.LogicalNot", flag), c.emit("top.Mul", y, x)])

    agree(program([TensorType((1,), BOOL), ROW, ROW], build), [[True], NUMBERS, NUMBERS + 1], [[False], NUMBERS, NUMBERS + 1])


def test_a_branch_that_takes_nothing() -> None:
    module = program([TensorType((), BOOL)], lambda b, flag: choice(
        b, flag, lambda c: [c.constant(np.float32(1))], lambda c: [c.constant(np.float32(2))]))
    agree(module, [np.bool_(True)], [np.bool_(False)])


def test_what_is_carried_unchanged_is_given_once() -> None:
    """A state that no round changes is a value from around; where the loop carries it beside its own use, it does so once."""
    def build(b: Builder, start: Value, x: Value) -> list[Value]:
        return loop(b, [start, x, x], below(3), lambda c, n, a, same: [one_more(c, n), c.emit("top.Add", a, x), same])

    lowered = agree(program([COUNT, ROW], build), [np.int32(0), NUMBERS], [np.int32(5), NUMBERS])
    [made] = [op for op in lowered.ops() if op.name == "tfl.while"]
    assert len(made.operands) == 3


def test_a_constant_of_several_subgraphs_is_in_the_file_once() -> None:
    from transload_converters.tflite.writer_module import serialize

    def build(b: Builder, flag: Value, x: Value) -> list[Value]:
        big = b.constant(np.arange(3000, dtype=np.float32).reshape(1000, 3))
        return choice(b, flag, lambda c: [c.emit("top.Add", x, big)], lambda c: [c.emit("top.Mul", x, big)])

    module = program([TensorType((), BOOL), ROW], build)
    assert 12_000 < len(serialize(transload.lower(module, "tfl"))) < 16_000
    agree(module, [np.bool_(True), NUMBERS], [np.bool_(False), NUMBERS])


def test_a_state_that_changes_its_type_is_refused() -> None:
    types: list[Any] = [ROW]
    regions = [region(types, lambda b, a: [b.constant(np.bool_(False))]),
               region(types, lambda b, a: [b.emit("top.Concat", a, a, axis=0)])]
    module = program([ROW], lambda b, x: list(b.create("top.While", (x,), types, {}, regions).results))
    with pytest.raises(ConversionError, match="region body yields tensor<6xf32>, where the state is tensor<3xf32>"):
        transload.lower(module, "tfl")


def test_an_operator_is_tried_with_the_subgraphs_that_it_runs() -> None:
    wide = TensorType((2,), I64)
    module = transload.lower(program([COUNT, wide], lambda b, n, x: loop(
        b, [n, x], below(2), lambda c, i, a: [one_more(c, i), c.emit("top.Add", a, a)])), "tfl")
    seen = []

    def refusal(alone: Module) -> str | None:
        from transload_converters.tflite.writer_module import serialize

        seen.append(alone)
        interpreter_of(serialize(alone)).allocate_tensors()
        return None

    assert list(refused_ops(module, refusal, lambda op: op.name == "tfl.while")) == []
    assert [len(alone.functions) for alone in seen] == [3]
    assert not host().get("targets", "tflite").check(module, {}), "the target asks of what the subgraphs do, one by one"
