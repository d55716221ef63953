"""Quantized tensors that use some of the numbers of their type: LiteRT's kernels saturate at its ends, a clip behind sooner.

Training rounds to 4 bits, or to -127 and up, and holds that in 8. An op that computes gives all numbers of the type, which are
then cut to those that the type is narrowed to: the same numbers, as both saturate one and the same integer.
"""

from __future__ import annotations

from transload.analysis.movement import moves_of
from transload.ir import Module, Op, QuantType, TensorType, Value, update_function_types
from transload.ir.build import Builder, constant_of

__all__ = ["widen_narrow_types"]


def widen_narrow_types(module: Module) -> bool:
    """Give computed tensors of narrowed quantized types whole ones, with a Clip behind ops that compute; whether there were any.

    Arguments, and ops with regions and what they run, keep theirs.
    """
    changed = False
    for op in list(module.body_of_main):
        for result in op.results:
            kind = _narrowed(result)
            if kind is None or op.regions:
                continue
            changed = True
            result.type = result.tensor_type.with_element(kind.replace(storage_min=None, storage_max=None))
            sources = [value for value in op.operands if value.quant is not None]
            if moves_of(op) is None or len(sources) != 1 or sources[0].quant != result.quant:
                _clip(op, result, kind)
    if changed:
        update_function_types(module)
    return changed


def _narrowed(value: Value) -> QuantType | None:
    kind = value.type.element if isinstance(value.type, TensorType) else None
    if not isinstance(kind, QuantType) or not kind.per_tensor or constant_of(value) is not None:
        return None
    return None if (kind.storage_min, kind.storage_max) == kind.storage.range else kind


def _clip(op: Op, result: Value, kind: QuantType) -> None:
    """Cut what an op gives to the numbers of a narrowed type; the tensor's name is that of what was cut."""
    low, high = ((end - kind.zero_point) * kind.scale for end in (kind.storage_min, kind.storage_max))
    users = list(result.uses)
    made = Builder(op.parent, before=op.next, location=op.location).emit("top.Clip", result, min=low, max=high)  # type: ignore[arg-type]
    for user in users:
        user.operands = tuple(made if operand is result else operand for operand in user.operands)
