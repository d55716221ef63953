"""What OpenVINO's CPU plugin computes otherwise than ONNX says, written by operators that it computes right.

Measured with OpenVINO 2026.4: of NaN it says that it is greater than any number, and not that it is less; of integers of 8 bits
it saturates sums, products and signs, which wrap round in ONNX; and what it makes of integers in floats it rounds, where
ONNX cuts. It has no f64, in which logarithms of sums of integers are written.
"""

from __future__ import annotations

from collections.abc import Mapping

from transload.ir import F32, F64, I8, I16, I32, I64, UI8, UI16, UI32, UI64, Module, Op, Type, Value
from transload.ir.build import Builder

__all__ = ["write_otherwise"]

_EXCHANGED = {"onnx.Greater": "onnx.Less", "onnx.GreaterOrEqual": "onnx.LessOrEqual"}
_WRAPPING = frozenset({"onnx.Add", "onnx.Sub", "onnx.Mul", "onnx.Neg", "onnx.Abs"})
_LOGARITHMS = frozenset({"onnx.ReduceLogSum", "onnx.ReduceLogSumExp"})
_CODES: Mapping[Type, int] = {F32: 1, UI8: 2, I8: 3, UI16: 4, I16: 5, I32: 6, I64: 7, UI32: 12, UI64: 13}
"""ONNX's numbers of element types (`TensorProto.DataType`)."""


def write_otherwise(module: Module) -> bool:
    """Exchange operands of `Greater` of floats, and compute narrow integers in i32, those of `Shrink` and logarithms in f32."""
    changed = False
    for op in list(module.walk()):
        element = op.operands[0].element_or_none if op.operands else None
        if op.name in _EXCHANGED and op.operands[0].is_float:
            _replace(op, _EXCHANGED[op.name], tuple(reversed(op.operands)))
        elif op.name in _WRAPPING and element in (I8, UI8):
            _replace_in(op, I32)
        elif op.name == "onnx.Shrink" and op.operands[0].is_integer:
            _replace_in(op, F32)
        elif op.name in _LOGARITHMS and op.operands[0].is_integer:
            _replace_in(op, F32, only=1)
        elif op.name in _LOGARITHMS and _of_integers_in_doubles(op):
            _in_floats(op)
        else:
            continue
        changed = True
    return changed


def _of_integers_in_doubles(op: Op) -> bool:
    """Whether an op computes in f64 what integers are cast to, and integers are made of that again."""
    maker = op.operands[0].op
    return (op.operands[0].element_or_none == F64 and maker is not None and maker.name == "onnx.Cast"
            and maker.operands[0].is_integer and bool(op.results[0].uses)
            and all(user.name == "onnx.Cast" and user.results[0].is_integer for user in op.results[0].uses))


def _in_floats(op: Op) -> None:
    """Compute in f32 what is so computed in f64."""
    rw, doubles = Builder(op.parent, op), op.operands[0].op  # type: ignore[arg-type]
    integers = doubles.operands[0]  # type: ignore[union-attr]
    given = rw.emit("onnx.Cast", integers, types=[_in(integers, F32)], to=_CODES[F32])
    made = Builder(op.parent, op, op.location).emit(  # type: ignore[arg-type]
        op.name, given, *op.operands[1:], types=[_in(op.results[0], F32)], **op.attributes)
    op.results[0].replace_all_uses_with(made)
    op.erase()
    if not doubles.results[0].uses:  # type: ignore[union-attr]
        doubles.erase()  # type: ignore[union-attr]


def _replace_in(op: Op, element: Type, only: int | None = None) -> None:
    """Compute an op, of whose operands the first `only` are numbers, in a wider type: lower bits of sums and products are the
    same there, and Cast keeps these alone."""
    rw = Builder(op.parent, op)  # type: ignore[arg-type]
    given = [rw.emit("onnx.Cast", value, types=[_in(value, element)], to=_CODES[element])
             for value in op.operands[:only]] + list(op.operands[len(op.operands) if only is None else only:])
    made = rw.emit(op.name, *given, types=[_in(op.results[0], element)], **op.attributes)
    _replace(op, "onnx.Cast", (made,), to=_CODES[op.results[0].element])


def _replace(op: Op, name: str, operands: tuple[Value, ...], **attributes: int) -> None:
    """Another op in the place of one, under its name."""
    made = Builder(op.parent, op, op.location).emit(name, *operands, types=[op.results[0].type], **attributes)  # type: ignore[arg-type]
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _in(value: Value, element: Type) -> Type:
    return value.tensor_type.with_element(element)
