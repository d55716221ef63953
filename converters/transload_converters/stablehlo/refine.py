"""A program of dynamic shapes, once the shapes of its inputs are fixed: sizes become constants, dynamic operations static ones.

JAX exports a function of symbolic shapes as one that computes its dimension variables from its inputs, asserts what it relies
on, and calls the function proper with them. What is constant is computed, op by op in order, and types are inferred on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transload.context import current
from transload.errors import Finding, ShapeError, UsageError, merge_findings
from transload.ir.build import Builder, constant_of
from transload.ir.constants import Dense
from transload.ir.core import Block, Op
from transload.ir.module import Module, update_function_type
from transload.ir.types import I64, TensorType, Type
from transload.passes.dce import eliminate_dead_code
from transload.passes.inline import inline_calls
from transload.passes.shapes import infer_op

__all__ = ["choose_branches", "refine"]

MAX_SIZE = 4096
"""Elements of a result that is computed here: sizes and what they are made of, not weights."""


def refine(module: Module) -> None:
    """Make static what follows from the types of the main function's arguments; `UsageError` where an assertion fails."""
    if not any(_is_dynamic(value.type) for op in module.walk() for value in op.results):
        return
    inline_calls(module)
    findings: list[Finding] = []
    changed: set[Any] = set()
    spoilt: set[Any] = set()
    for function in module.functions.values():
        _refine_block(function.regions[0].block, changed, findings, spoilt)
        update_function_type(function)
    if findings:
        merged = merge_findings(findings)
        raise ShapeError(f"shapes do not fit together in {sum(finding.count for finding in merged)} op(s)", merged)
    eliminate_dead_code(module)


def _is_dynamic(type_: Type) -> bool:
    return isinstance(type_, TensorType) and not type_.is_static


def _refine_block(block: Block, changed: set[Any], findings: list[Finding], spoilt: set[Any]) -> None:
    following = block.first
    while following is not None:
        op, before = following, following.prev
        following = op.next
        if op.name == "stablehlo.custom_call":
            if op.attributes.get("call_target_name") == "shape_assertion":
                _assert(op)
            continue
        if op.name in _BRANCHES and _choose(op):
            following = block.first if before is None else before.next  # the branch's ops stand where the op stood
            continue
        if op.name in _STATIC:
            _STATIC[op.name](op)
        infer_op(op, changed, findings, spoilt)
        for region in op.regions:
            for inner in region.blocks:
                _refine_block(inner, changed, findings, spoilt)
        if op.regions:
            infer_op(op, changed, findings, spoilt)  # what its regions give may be known by now
        else:
            _fold(op)


def _fold(op: Op) -> None:
    """Compute a small op whose operands are constant."""
    folded: Sequence[np.ndarray] | None
    if op.name == "stablehlo.get_dimension_size":
        type_, dimension = op.operands[0].type, op.attributes["dimension"]
        size = type_.shape[dimension] if isinstance(type_, TensorType) and type_.shape is not None else None
        folded = None if size is None else [np.array(size, np.int32)]
    elif not op.results or any(not _is_small(result.type) for result in op.results):
        return
    else:
        folded = current().fold(op)
    if folded is None:
        return
    builder = Builder(op.parent, op)  # type: ignore[arg-type]
    op.replace_with([
        builder.constant(array, result.element, dialect="stablehlo", location=op.location)
        for array, result in zip(folded, op.results, strict=True)])


def _is_small(type_: Type) -> bool:
    return isinstance(type_, TensorType) and type_.is_static and type_.num_elements <= MAX_SIZE


def _assert(op: Op) -> None:
    """JAX's `shape_assertion`: a condition, and values that its message shows as {0}, {1}, ..."""
    condition = constant_of(op.operands[0]) if op.operands else None
    if condition is None:
        return
    if not bool(condition.numpy()):
        message = str(op.attributes.get("error_message", "the shapes are not those that the program was exported for"))
        for index, operand in enumerate(op.operands[1:]):
            value = constant_of(operand)
            message = message.replace(f"{{{index}}}", "?" if value is None else str(value.numpy()))
        raise UsageError(message)
    op.erase()


# --- branches

_BRANCHES = ("stablehlo.case", "stablehlo.if")


def choose_branches(module: Module) -> None:
    """Replace each `case` and `if` whose selector is constant by the branch that it selects, in order."""
    for function in module.functions.values():
        for op in function.walk():  # which allows to remove the op that it just gave
            if op.name in _BRANCHES:
                _choose(op)
    eliminate_dead_code(module)


def _choose(op: Op) -> bool:
    """Put the ops of the branch that a constant selects in the place of the op."""
    selector = constant_of(op.operands[0])
    if selector is None:
        return False
    value = int(selector.numpy())
    if op.name == "stablehlo.if":
        region = op.regions[0 if value else 1]
    else:
        region = op.regions[value if 0 <= value < len(op.regions) else -1]
    branch = region.block
    last = branch.terminator
    results = list(last.operands)
    last.erase()
    for inner in branch:
        branch.remove(inner)
        op.parent.insert(inner, op)  # type: ignore[union-attr]
    op.replace_with(results)
    return True


# --- dynamic operations whose sizes are known


def _numbers(op: Op, *operands: int) -> list[list[int]] | None:
    """The values of operands, where they are constant."""
    found = []
    for index in operands:
        dense = constant_of(op.operands[index]) if index < len(op.operands) else None
        if dense is None:
            return None
        found.append(dense.numpy().tolist())
    return found


def _of_shape(name: str, sizes: int, kept: int) -> Callable[[Op], None]:
    """A rule for an op whose operand number `sizes` is its result's shape; `kept` operands stay."""

    def rule(op: Op) -> None:
        numbers = _numbers(op, sizes)
        if numbers is None:
            return
        op.name = name
        op.operands = op.operands[:kept]
        for key in ("known_expanding_dimensions", "known_nonexpanding_dimensions"):
            op.attributes.pop(key, None)
        op.results[0].type = op.results[0].tensor_type.with_shape(tuple(numbers[0]))

    return rule


def _with_lists(name: str, first: int, *keys: str) -> Callable[[Op], None]:
    """A rule for an op whose operands from number `first` on become lists of numbers."""

    def rule(op: Op) -> None:
        numbers = _numbers(op, *range(first, first + len(keys)))
        if numbers is None:
            return
        op.name = name
        op.operands = op.operands[:first]
        op.attributes.update({key: tuple(values) for key, values in zip(keys, numbers, strict=True)})

    return rule


def _convolution(op: Op) -> None:
    """`dynamic_conv` of known padding."""
    numbers = _numbers(op, 2)
    if numbers is None:
        return
    padding = np.array(numbers[0], np.int64).reshape(-1, 2)
    op.name = "stablehlo.convolution"
    op.operands = op.operands[:2]
    op.attributes["padding"] = Dense(padding, TensorType(padding.shape, I64))


_STATIC: dict[str, Callable[[Op], None]] = {
    "stablehlo.dynamic_reshape": _of_shape("stablehlo.reshape", 1, 1),
    "stablehlo.dynamic_broadcast_in_dim": _of_shape("stablehlo.broadcast_in_dim", 1, 1),
    "stablehlo.dynamic_iota": _of_shape("stablehlo.iota", 0, 0),
    "stablehlo.dynamic_pad": _with_lists(
        "stablehlo.pad", 2, "edge_padding_low", "edge_padding_high", "interior_padding"),
    "stablehlo.real_dynamic_slice": _with_lists("stablehlo.slice", 1, "start_indices", "limit_indices", "strides"),
    "stablehlo.dynamic_gather": _with_lists("stablehlo.gather", 2, "slice_sizes"),
    "stablehlo.dynamic_conv": _convolution,
}
