"""Control flow, and ops of third parties."""

from __future__ import annotations

from collections.abc import Sequence

from transload.ir.core import Op, Value
from transload.ir.declare import (
    ANY,
    DICT,
    STRING,
    DeclaredOp,
    TypeConstraint,
    attribute,
    constraint,
    operand,
    region,
    variadic,
    variadic_result,
)
from transload.ir.types import BOOL, TensorType, Type

from .base import TOP
from .infer import alike, fail

ONE_FLAG = TypeConstraint(
    "a tensor of one i1",
    lambda type_: isinstance(type_, TensorType) and type_.element == BOOL and {*(type_.shape or ())} <= {1, None})


def _yielded(op: Op, index: int) -> list[Type]:
    """The types that region `index` of `op` ends with."""
    blocks = op.regions[index].blocks if index < len(op.regions) else []
    if not blocks or blocks[0].last is None or blocks[0].last.name != "top.Yield":
        fail(op, "its regions must be there, each one block that ends in top.Yield, before its result types can be known")
    return [value.type for value in blocks[0].last.operands]


def _first_other(values: Sequence[Value], wanted: Sequence[Value]) -> tuple[Type, Type] | None:
    """The first of values that is of another type than is wanted in its place, and that; None where there is none."""
    pairs = ((one.type, other.type) for one, other in zip(values, wanted, strict=True))
    return next((pair for pair in pairs if not alike(*pair)), None)


@TOP.op("Yield")
class Yield(DeclaredOp):
    """Ends a region of If or While; its operands are what the region gives (MLIR's scf.yield)."""

    values = variadic("what the region gives", type=ANY)
    traits = ("terminator",)

    def infer(op) -> list[Type]:
        return []


@TOP.op("If")
class If(DeclaredOp):
    """One of two regions, by a condition; regions see the values around them (ONNX If, TFLite IF; TPU-MLIR's top.If)."""

    condition = operand("which region it is", type=ONE_FLAG)
    outputs = variadic_result("what the chosen region yields", type=ANY)
    then_region = region("one block without arguments, for true")
    else_region = region("one block without arguments, for false")

    @constraint
    def regions_yield_the_results(op) -> bool | str:
        """both regions have one block without arguments, and yield values of the types of the results"""
        for which, part in (("then", op.then_region), ("else", op.else_region)):
            if len(part.blocks) != 1 or part.block.arguments or part.block.last is None or part.block.last.name != "top.Yield":
                return f"the {which} region does not"
            if len(part.block.last.operands) != len(op.results):
                return f"the {which} region yields {len(part.block.last.operands)} values for {len(op.results)} results"
            if (other := _first_other(part.block.last.operands, op.results)) is not None:
                return f"the {which} region yields {other[0]}, where the result is {other[1]}"
        return True

    def infer(op) -> list[Type]:
        return _yielded(op, 0)


@TOP.op("While")
class While(DeclaredOp):
    """`while cond(state): state = body(state)` (ONNX Loop, TFLite WHILE; TPU-MLIR's top.Loop).

    The regions see the values around them.
    """

    inputs = variadic("the first state", type=ANY)
    outputs = variadic_result("the last state", type=ANY)
    cond = region("one block with the state as arguments; yields i1, one element: whether to go on")
    body = region("one block with the state as arguments; yields the next state")

    @constraint
    def regions_take_and_yield_the_state(op) -> bool | str:
        """both regions have one block that takes the state; cond yields one i1, body the next state, of the same types"""
        n = len(op.operands)
        for which, part, count in (("cond", op.cond, 1), ("body", op.body, n)):
            if len(part.blocks) != 1 or len(part.block.arguments) != n:
                return f"region {which} does not take {n} arguments"
            if (other := _first_other(part.block.arguments, op.operands)) is not None:
                return f"region {which} takes {other[0]}, where the first state is {other[1]}"
            if part.block.last is None or part.block.last.name != "top.Yield" or len(part.block.last.operands) != count:
                return f"region {which} does not yield {count} value(s)"
        test = op.cond.block.terminator.operands[0].type
        if not ONE_FLAG.accepts(test):
            return f"region cond yields {test}, which is not {ONE_FLAG}"
        if (other := _first_other(op.body.block.terminator.operands, op.operands)) is not None:
            return f"region body yields {other[0]}, where the state is {other[1]}"
        if len(op.results) != n:
            return f"there are {len(op.results)} results for {n} operands"
        other = _first_other(op.results, op.operands)
        return other is None or f"a result is {other[0]}, where the state is {other[1]}"

    def infer(op) -> list[Type]:
        return [value.type for value in op.operands]


@TOP.op("Custom")
class Custom(DeclaredOp):
    """An op of a third party, opaque here (TPU-MLIR's top.Custom; TFLite CUSTOM, ONNX ops of other domains).

    Its result types are given by who makes it; a plugin that knows it by its `name` rewrites or lowers it.
    """

    inputs = variadic("the op's operands", type=ANY)
    outputs = variadic_result("the op's results", type=ANY)
    name_ = attribute(STRING, "what its framework calls it")
    options = attribute(DICT, "its attributes", optional=True)
    traits = ("retypes",)
