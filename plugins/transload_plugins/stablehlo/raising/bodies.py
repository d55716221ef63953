"""Functions of scalars: the bodies of reductions, scatters and sorts.

Three things are asked of a body. Which op it is, where it is just one (`single_op`). Which of two candidates it takes,
where it only compares and selects (`outcomes`): such a body's result depends on nothing but how its arguments compare,
so that a few numbers, of which all relations occur, say all there is to know. And what it computes of whole tensors
(`apply_body`): its ops, copied with other types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.engine.run import Plan
from transload.errors import Unsupported
from transload.ir import FloatType, Module, Op, Region, TensorType, Value, dtype_of
from transload.ir.build import constant_of
from transload.rewrite import Rewriter

from ..types import shape_of
from .table import cast, expand

__all__ = ["apply_body", "constant_number", "only_orders", "outcome", "run_region", "single_op", "yielded"]


def yielded(region: Region) -> list[Value]:
    """What a body returns."""
    return list(region.block.terminator.operands)


def _converted(value: Value) -> Value:
    """The value before conversions to more precise types and back, which sums are computed in."""
    while value.op is not None and value.op.name == "stablehlo.convert" and isinstance(value.element, FloatType):
        value = value.op.operands[0]
    return value


def single_op(region: Region, result: int = 0) -> str | None:
    """The op that combines argument `result` of the first half with that of the second, `add` or another; else None.

    `first` and `second` where the body returns one of them as it is.
    """
    block = region.block
    n = len(block.arguments) // 2
    returned = yielded(region)
    if len(block.arguments) != 2 * n or result >= len(returned):
        return None
    mine = [block.arguments[result], block.arguments[n + result]]
    value = _converted(returned[result])
    if value in mine:
        return ("first", "second")[mine.index(value)]
    op = value.op
    if op is None or len(op.operands) != 2 or op.parent is not block:
        return None
    given = [_converted(operand) for operand in op.operands]
    if given == mine:
        return op.name.removeprefix("stablehlo.")
    commutes = op.declaration is not None and "commutative" in op.declaration.traits
    return op.name.removeprefix("stablehlo.") if commutes and given == mine[::-1] else None


# --- running a body

def run_region(region: Region, module: Op, arrays: Sequence[Any]) -> list[Any] | None:
    """What a region gives of these arrays; None where it uses values from around it, or holds loops or ops without kernels."""
    if _captures(region) or any(op.regions for op in region.block):  # a loop in it might not end
        return None
    plan = Plan(region, module)
    return None if plan.missing else plan.execute(arrays)


def _captures(region: Region) -> bool:
    inside: set[Value] = set()

    def look(region: Region) -> bool:
        for block in region.blocks:
            inside.update(block.arguments)
            for op in block:
                if any(operand not in inside for operand in op.operands):
                    return True
                inside.update(op.results)
                if any(look(inner) for inner in op.regions):
                    return True
        return False

    return look(region)


_ORDERING = frozenset(f"stablehlo.{name}" for name in (
    "compare", "select", "and", "or", "xor", "not", "maximum", "minimum", "constant", "return"))


def only_orders(region: Region) -> bool:
    """Whether a body only compares arguments with each other, and chooses among them.

    Of constants, only booleans: a number would be one more thing to compare with.
    """
    for op in region.block:
        if op.name not in _ORDERING:
            return False
        if op.name == "stablehlo.constant" and str(op.results[0].element) != "i1":
            return False
    return not _captures(region)


def outcome(region: Region, numbers: Sequence[float]) -> list[float]:
    """What a body that only orders gives of these numbers."""
    arguments = region.block.arguments
    arrays = [np.asarray(number).astype(dtype_of(a.element)) for a, number in zip(arguments, numbers, strict=True)]
    return [float(np.asarray(array).astype(np.float64)) for array in Plan(region, Module()).execute(arrays)]


# --- a body of whole tensors

def apply_body(
    rw: Rewriter, region: Region, arguments: Sequence[Value], shape: Sequence[int] | None = None,
) -> list[Value]:
    """What a body gives, element by element, of tensors whose shapes broadcast: its ops, copied before the one rewritten.

    The copies are StableHLO ops, which the conversion visits next. Their operands may be scalars and tensors, mixed. What the
    body gives whatever its arguments are is a scalar, or broadcast to `shape`, where that is said.
    """
    block = region.block
    mapping: dict[Value, Value] = {}
    for argument, value in zip(block.arguments, arguments, strict=True):
        mapping[argument] = cast(rw, value, argument.element)
    for op in block:
        if op is block.terminator:
            break
        operands = [mapping.get(value, value) for value in op.operands]
        whole = np.broadcast_shapes(*(shape_of(value) for value in operands)) if operands else ()
        declaration = op.declaration
        scalar = all(isinstance(v.type, TensorType) and v.type.shape == () for v in (*op.operands, *op.results))
        if not scalar or op.regions or declaration is None or not declaration.traits & {"elementwise", "constant"}:
            raise Unsupported(
                f"its function holds {op.name}, which is not computed element by element",
                "combine elements by arithmetic, comparison and selection")
        types = [TensorType(tuple(int(size) for size in whole), value.element) for value in op.results]
        made = rw.create(op.name, operands, types, op.attributes.copy())
        mapping.update(zip(op.results, made.results, strict=True))
    given = [mapping.get(value, value) for value in block.terminator.operands]
    return given if shape is None else [expand(rw, value, shape) for value in given]


def constant_number(value: Value) -> Any | None:
    """The number that a scalar in a body is, or None where it is computed."""
    dense = constant_of(value)
    return None if dense is None or dense.numpy().size != 1 else dense.numpy().reshape(-1)[0]
