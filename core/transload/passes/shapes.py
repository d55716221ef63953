"""Inferring shapes anew, after inputs changed."""

from __future__ import annotations

from typing import Any

from ..classes import is_a
from ..errors import Finding, ShapeError, Unfit, merge_findings
from ..guard import FOREIGN, goes_through, shape_rule_failed
from ..ir import Block, Module, Op, TensorType, Type, location_names, registry, update_function_type

__all__ = ["infer_op", "infer_shapes"]


def infer_shapes(module: Module) -> bool:
    """Infer the result types of all ops from their operands, in order, and complete the functions' types.

    Element types stay as they are (inference does not know quantization). A size that inference cannot
    tell stays too, as long as the op's operands are what they were. Ops without inference keep their
    types. Raises `ShapeError` with every op whose operands do not fit together, without those that use what such an op gives.
    """
    findings: list[Finding] = []
    spoilt: set[Any] = set()
    modified = False
    for function in module.functions.values():
        if not function.regions or function.regions[0].is_empty:
            continue
        changed: set[Any] = set()
        for block in function.regions[0].blocks:
            modified |= _infer_block(block, changed, findings, spoilt)
        before = function.attributes["function_type"]
        update_function_type(function)
        modified |= function.attributes["function_type"] != before
    if findings:
        merged = merge_findings(findings)
        raise ShapeError(f"shapes do not fit together in {sum(finding.count for finding in merged)} op(s)", merged)
    return modified


def _infer_block(block: Block, changed: set[Any], findings: list[Finding], spoilt: set[Any]) -> bool:
    modified = False
    for op in block:
        modified |= infer_op(op, changed, findings, spoilt)
    return modified


def infer_op(op: Op, changed: set[Any], findings: list[Finding], spoilt: set[Any]) -> bool:
    """Infer the result types of one op, and of what is in its regions, from its operands; returns whether any changed.

    `changed` are the values whose types did so far, `findings` collects what does not fit together, and `spoilt` the values
    that come after that, of which nothing can be said.
    """
    if any(operand in spoilt for operand in op.operands):
        spoilt.update(op.results)
        return False
    modified = _infer_regions(op, changed, findings, spoilt)
    infer = registry.shape_rule(op.name) if op.results else None
    if infer is None:
        return modified
    try:
        types = registry.result_types(op, infer)
    except ShapeError as error:
        findings.extend(error.findings or [Finding(op.name, error.message, tuple(location_names(op.location)[:1]))])
        spoilt.update(op.results)
        return modified
    except FOREIGN as error:
        if is_a(error, Unfit) or goes_through(error):
            raise
        raise shape_rule_failed(infer, op, error) from error
    if len(types) != len(op.results):
        why = f"has {len(op.results)} results, and its inference gives {len(types)}"
        findings.append(Finding(op.name, why, tuple(location_names(op.location)[:1])))
        return modified
    known = any(operand in changed for operand in op.operands)
    for result, type_ in zip(op.results, types, strict=True):
        new = _merged(result.type, type_, known)
        if new != result.type:
            result.type = new
            changed.add(result)
            modified = True
    return modified


def _infer_regions(op: Op, changed: set[Any], findings: list[Finding], spoilt: set[Any]) -> bool:
    """Inside the regions; those that take the op's operands as arguments get their types."""
    modified = False
    for region in op.regions:
        for block in region.blocks:
            if block.arguments and len(block.arguments) == len(op.operands):
                for argument, operand in zip(block.arguments, op.operands, strict=True):
                    if argument.type != operand.type and _same_kind(argument.type, operand.type):
                        argument.type = operand.type
                        changed.add(argument)
                        modified = True
            modified |= _infer_block(block, changed, findings, spoilt)
    return modified


def _same_kind(old: Type, new: Type) -> bool:
    """Whether an argument may stand for an operand: a loop's does, a reducer's (a scalar for a tensor) does not."""
    if isinstance(old, TensorType) and isinstance(new, TensorType) and old.shape is not None and new.shape is not None:
        return len(old.shape) == len(new.shape)
    return True


def _merged(old: Type, new: Type, operands_changed: bool) -> Type:
    """The inferred type with the element type that was there."""
    if not isinstance(old, TensorType) or not isinstance(new, TensorType):
        return new
    shape = new.shape
    if not operands_changed and old.shape is not None:
        if shape is None:
            shape = old.shape
        elif len(shape) == len(old.shape):
            shape = tuple(was if size is None else size for size, was in zip(shape, old.shape, strict=True))
    return TensorType(shape, old.element, old.encoding)
