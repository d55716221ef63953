"""Control flow, and ops of third parties."""

from __future__ import annotations

from transload.ir.core import Op
from transload.ir.declare import ANY, DICT, STRING, DeclaredOp, attribute, constraint, operand, region, variadic, variadic_result
from transload.ir.types import Type

from .base import TOP
from .infer import fail


def _yielded(op: Op, index: int) -> list[Type]:
    """The types that region `index` of `op` ends with."""
    blocks = op.regions[index].blocks if index < len(op.regions) else []
    if not blocks or blocks[0].last is None or blocks[0].last.name != "top.Yield":
        fail(op, "its regions must be there, each one block that ends in top.Yield, before its result types can be known")
    return [value.type for value in blocks[0].last.operands]


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

    condition = operand("i1, one element")
    outputs = variadic_result("what the chosen region yields", type=ANY)
    then_region = region("one block without arguments, for true")
    else_region = region("one block without arguments, for false")

    @constraint
    def regions_yield_the_results(op) -> bool | str:
        """both regions have one block without arguments and yield as many values as there are results"""
        for which, part in (("then", op.then_region), ("else", op.else_region)):
            if len(part.blocks) != 1 or part.block.arguments or part.block.last is None or part.block.last.name != "top.Yield":
                return f"the {which} region does not"
            if len(part.block.last.operands) != len(op.results):
                return f"the {which} region yields {len(part.block.last.operands)} values for {len(op.results)} results"
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
        """both regions have one block that takes the state; cond yields one value, body as many as there are operands"""
        n = len(op.operands)
        for which, part, count in (("cond", op.cond, 1), ("body", op.body, n)):
            if len(part.blocks) != 1 or len(part.block.arguments) != n:
                return f"region {which} does not take {n} arguments"
            if part.block.last is None or part.block.last.name != "top.Yield" or len(part.block.last.operands) != count:
                return f"region {which} does not yield {count} value(s)"
        return len(op.results) == n or f"there are {len(op.results)} results for {n} operands"

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
