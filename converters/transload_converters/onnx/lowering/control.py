"""Control flow. Subgraphs of ONNX see the values around them, as regions of `top` do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transload.ir import BOOL, I64, Block, Region, TensorType, Type, Value
from transload.ir.build import Builder
from transload.ir.regions import move_region
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from .common import emit, ints

if TYPE_CHECKING:
    from transload_hub.ops.control import Custom, If, While, Yield

__all__ = ["TABLE", "flag", "loop"]

TABLE = RewriteTable()


@TABLE("top.Yield")
def yield_(op: Yield, rw: Rewriter) -> list[Value]:
    """The end of a subgraph."""
    rw.create("onnx.Yield", op.operands)
    return []


@TABLE("top.If")
def if_(op: If, rw: Rewriter) -> Sequence[Value]:
    moved = [move_region(op.then_region), move_region(op.else_region)]
    condition = flag(rw, op.condition)
    return rw.create("onnx.If", (condition,), [result.type for result in op.results], {}, moved).results


def flag(rw: Builder, condition: Value) -> Value:
    """A condition as a tensor of rank 0."""
    return condition if condition.known_shape == () else emit(rw, "Reshape", condition, ints(rw, ()), shape=())


@TABLE("top.While")
def while_(op: While, rw: Rewriter) -> Sequence[Value]:
    return loop(rw, op.cond, op.body, op.operands)


def loop(rw: Rewriter, condition: Region, body: Region, state: Sequence[Value]) -> Sequence[Value]:
    """Loop without a greatest number of rounds: its condition is computed before it, and at the end of its body for the next."""
    first = _condition(condition, state, rw)
    moved = move_region(body)
    block = moved.block
    terminator = block.terminator
    inner = Builder(block, terminator, rw.location)
    going_on = _condition(condition, terminator.operands, inner)
    terminator.operands = (going_on, *terminator.operands)
    _prepend_arguments(block, TensorType((), I64), TensorType((), BOOL))  # the number of the round, and the condition
    types = [value.type for value in state]
    return rw.create("onnx.Loop", (rw.none("onnx"), first, *state), types, {}, [moved]).results


def _prepend_arguments(block: Block, *types: Type) -> None:
    """Give a block more arguments, before those that it has."""
    old = list(block.arguments)
    new = [block.add_argument(type_) for type_ in types]
    block.arguments[:] = [*new, *old]
    for place, argument in enumerate(block.arguments):
        argument.index = place


def _condition(region: Region, state: Sequence[Value], build: Builder) -> Value:
    """A copy of the ops that compute the condition, on a state; both the loop's condition and its body's end have one."""
    mapping: dict[Value, Value] = dict(zip(region.block.arguments, state, strict=True))
    for inner in region.block:
        if inner is region.block.last:
            break
        copy = inner.clone(mapping)
        build.block.insert(copy, build.before)
    condition = region.block.terminator.operands[0]
    return flag(build, mapping.get(condition, condition))


@TABLE("top.Custom")
def custom(op: Custom, rw: Rewriter) -> Any:
    raise Unsupported(f"the operator {op.attribute('name')!r} of a third party has no meaning in ONNX",
                      "a plugin that knows it can convert it to ops of the hub")
