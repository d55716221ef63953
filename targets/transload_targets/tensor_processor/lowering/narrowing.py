"""The pass `narrow-floats`: operations on float32 become operations on float16 or bfloat16, with casts where types meet.

TPU-MLIR manual 8.2. What the chip does not have in the narrow type stays as it is, and so does what runs on the host. A cast
back and the cast after it cancel.
"""

from __future__ import annotations

from transload.errors import UsageError
from transload.ir import BF16, F16, F32, FloatType, Module, Op, TensorType, Value, update_function_types
from transload.ir.build import Builder, constant_of

from ..arithmetic.floats import dtype_named
from ..chip import load_chip

__all__ = ["narrow_floats"]

_TYPES = {"float16": F16, "bfloat16": BF16, "float32": F32}


def narrow_floats(module: Module, to: str = "float16", chip: str = "tp-large") -> bool:
    """Compute in `to` what `chip` can of ops on float32, in place; whether anything changed.

    `to` is float16, bfloat16, or float32, which changes nothing. The module's inputs and outputs keep their types.
    """
    if to not in _TYPES:
        raise UsageError(f"floats cannot become {to!r}", hint=f"to= is {', '.join(_TYPES)}")
    if to == "float32":
        return False
    described, changed = load_chip(chip), False
    for op in list(module.walk()):
        if op.dialect == "tpu" and op.name != "tpu.cast" and _is_float32(op) and described.supports(op.name[4:], to):
            _narrow(op, _TYPES[to])
            changed = True
    update_function_types(module)
    return changed


def _is_float32(op: Op) -> bool:
    """Whether the op takes or gives floats of 32 bits."""
    return any(value.element_or_none == F32 for value in (*op.operands, *op.results))


def _narrow(op: Op, element: FloatType) -> None:
    """Cast the operands of an op, and its results back."""
    before = Builder(op.parent, op, op.location)  # type: ignore[arg-type]
    for index, value in enumerate(op.operands):
        if value.element_or_none == F32:
            op.set_operand(index, _narrowed(before, value, element))
    behind = Builder(op.parent, op.next, op.location)  # type: ignore[arg-type]
    for result in op.results:
        if result.element_or_none != F32:
            continue
        assert isinstance(result.type, TensorType)  # it has elements
        result.type = result.type.with_element(element)
        users = list(result.uses)
        if users:
            wide = behind.emit("tpu.cast", result, element=F32)
            for user in users:
                for place, operand in enumerate(user.operands):
                    if operand is result:
                        user.set_operand(place, wide)


def _narrowed(build: Builder, value: Value, element: FloatType) -> Value:
    """A value in the narrow type: a constant at once, what was cast back from it as it was."""
    dense = constant_of(value)
    if dense is not None:
        return build.constant(dense.numpy().astype(dtype_named(_name(element))))
    maker = value.op
    if maker is not None and maker.name == "tpu.cast" and maker.operands[0].element_or_none == element and maker.attribute(
            "scale", None) is None:
        return maker.operands[0]
    made: Value = build.emit("tpu.cast", value, element=element)
    return made


def _name(element: FloatType) -> str:
    return next(name for name, type_ in _TYPES.items() if type_ == element)
