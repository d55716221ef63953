"""What OpenVINO's CPU plugin computes otherwise than ONNX says, written by operators that it computes right.

Measured with OpenVINO 2026.4: of NaN it says that it is greater than any number, and not that it is less; of integers of 8
bits it saturates sums, products, signs and shifts to the left, which wrap round in ONNX; what it makes of integers in floats it
rounds, where ONNX cuts. It has no f64, in which logarithms of sums of integers are written, and powers whose exponents no f32
may hold. What HardSigmoid and Selu say of 0 it takes for nothing said. Reductions over no dimensions it takes for what they are
of. Proportions that Resize keeps it does not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from transload.ir import (
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    UI8,
    UI16,
    UI32,
    UI64,
    Dense,
    Module,
    Op,
    TensorType,
    Type,
    Value,
    dtype_of,
    is_absent,
)
from transload.ir.build import Builder, constant_of

from .short import OPSET, cut_to_16_bits
from .sixteen import write_out_16_bits

__all__ = ["keeps_proportions", "plain_sizes", "write_otherwise"]

_EXCHANGED = {"onnx.Greater": "onnx.Less", "onnx.GreaterOrEqual": "onnx.LessOrEqual"}
_WRAPPING = frozenset({"onnx.Add", "onnx.Sub", "onnx.Mul", "onnx.Neg", "onnx.Abs"})
_LOGARITHMS = frozenset({"onnx.ReduceLogSum", "onnx.ReduceLogSumExp"})
_ZEROS: Mapping[str, tuple[str, ...]] = {"onnx.HardSigmoid": ("alpha", "beta"), "onnx.Selu": ("alpha", "gamma")}
"""Attributes of which OpenVINO 2026.4 takes 0 for the default."""
_OF_EACH: Mapping[str, str] = {"onnx.ReduceL1": "onnx.Abs", "onnx.ReduceL2": "onnx.Abs", "onnx.ReduceLogSum": "onnx.Log"}
"""What reductions over no dimensions are of each element, of which OpenVINO 2026.4 gives the element."""
_SHOWN = 4
_MAX_OF_INTEGERS = 12
"""The opset from which on `Max` takes integers."""
_CODES: Mapping[Type, int] = {F32: 1, UI8: 2, I8: 3, UI16: 4, I16: 5, I32: 6, I64: 7, UI32: 12, UI64: 13}
"""ONNX's numbers of element types (`TensorProto.DataType`)."""


def write_otherwise(module: Module) -> bool:
    """Exchange operands of `Greater` of floats, compute narrow integers in i32, those of `Shrink` and logarithms in f32, and
    write out what an attribute of 0 says, functions of each element, as reductions over no dimensions are, and sizes that keep
    proportions."""
    changed, powers = False, list[str]()
    for op in list(module.walk()):
        element = op.operands[0].element_or_none if op.operands else None
        if op.name in _EXCHANGED and op.operands[0].is_float:
            _replace(op, _EXCHANGED[op.name], tuple(reversed(op.operands)))
        elif op.name in _WRAPPING and element in (I8, UI8):
            _replace_in(op, I32)
        elif op.name == "onnx.BitShift" and op.attribute("direction") == "LEFT" and element == UI8:
            _replace_in(op, UI16)
        elif op.name == "onnx.Shrink" and op.operands[0].is_integer:
            _replace_in(op, F32)
        elif keeps_proportions(op) and plain_sizes(op) is not None:
            _stretch(op)
        elif op.name in _OF_EACH and _is_over_nothing(op):
            _replace_by_function(op, _OF_EACH[op.name])
        elif op.name in _LOGARITHMS and op.operands[0].is_integer:
            _replace_in(op, F32, only=1)
        elif op.name in _LOGARITHMS and _of_integers_in_doubles(op):
            _in_floats(op)
        elif op.name in _ZEROS and any(op.attribute(key) == 0 for key in _ZEROS[op.name]):
            _ZEROS_WRITTEN[op.name](op)
        elif op.name == "onnx.Pow" and _is_between_casts(op):
            powers.append(str(op.origin or op.name))
            _in_floats(op)
        elif _may_never_end(op, module):
            _bound(op)
        else:
            continue
        changed = True
    changed |= write_out_16_bits(module)
    changed |= cut_to_16_bits(module)
    if powers:
        listed = ", ".join(powers[:_SHOWN]) + (", ..." if len(powers) > _SHOWN else "")
        module.notes = (*module.notes, f"powers that are computed in f64 in the model are in f32 here: {listed}")
    return changed


def keeps_proportions(op: Op) -> bool:
    """Whether it is a Resize that makes its sizes of those that it is given and of the proportions of its input."""
    return (op.name == "onnx.Resize" and op.attribute("keep_aspect_ratio_policy") not in (None, "stretch")
            and len(op.operands) > 3 and not is_absent(op.operands[3]))


def plain_sizes(op: Op) -> list[int] | None:
    """The sizes that a Resize makes along its axes, where its input is stretched to them by one and the same factor.

    None where they are not known, or rounded: its grid is that of the factor then, and not of the sizes.
    """
    before, after = op.operands[0].known_shape, op.results[0].known_shape
    if before is None or after is None:
        return None
    made, factors = list[int](), set[Fraction]()
    for axis in op.attribute("axes") or range(len(after)):
        old, new = before[axis], after[axis]
        if not old or new is None:
            return None
        made.append(new)
        factors.add(Fraction(new, old))
    return made if len(factors) == 1 else None


def _stretch(op: Op) -> None:
    """A Resize to the sizes that it makes."""
    sizes = np.array(plain_sizes(op), np.int64)
    held = Builder(op.parent, op).emit(  # type: ignore[arg-type]
        "onnx.Constant", types=[TensorType(sizes.shape, I64)], value=Dense(sizes))
    attributes = {key: value for key, value in op.attributes.items() if key != "keep_aspect_ratio_policy"}
    _replace(op, op.name, (*op.operands[:3], held), **attributes)


def _may_never_end(op: Op, module: Module) -> bool:
    """Whether a loop's number of passes is computed, and may be less than none: OpenVINO 2026.4 goes on for ever then."""
    if op.name != "onnx.Loop" or is_absent(op.operands[0]) or op.operands[0].element_or_none != I64:
        return False
    count = op.operands[0]
    among = [count, *(count.op.operands if count.op is not None and count.op.name == "onnx.Max" else ())]
    bounded = any((held := constant_of(value)) is not None and held.numpy().min(initial=0) >= 0 for value in among)
    return not bounded and (
        module.attributes.get(OPSET, {}).get("ai.onnx", _MAX_OF_INTEGERS) >= _MAX_OF_INTEGERS)


def _bound(op: Op) -> None:
    """A loop of no passes where there would be less."""
    count, rw = op.operands[0], Builder(op.parent, op)  # type: ignore[arg-type]
    zero = rw.emit("onnx.Constant", types=[TensorType((), I64)], value=Dense(np.array(0, np.int64)))
    op.set_operand(0, rw.emit("onnx.Max", count, zero, types=[count.type]))


def _is_over_nothing(op: Op) -> bool:
    """Whether a reduction names no dimensions, and says that these are none and not all."""
    if not op.attribute("noop_with_empty_axes", 0):
        return False
    return len(op.operands) < 2 or is_absent(op.operands[1]) or op.operands[1].known_shape == (0,)


def _replace_by_function(op: Op, name: str) -> None:
    """A function of each element in the place of a reduction; the logarithm has no integers, and is computed in f32."""
    value = op.operands[0]
    if name == "onnx.Log" and value.is_integer:
        rw = Builder(op.parent, op)  # type: ignore[arg-type]
        made = rw.emit(name, rw.emit("onnx.Cast", value, types=[_in(value, F32)], to=_CODES[F32]), types=[_in(value, F32)])
        _replace(op, "onnx.Cast", (made,), to=_CODES[op.results[0].element])
    else:
        _replace(op, name, (value,))


def _hard_sigmoid(op: Op) -> None:
    """A product and a sum between 0 and 1."""
    alpha, beta = float(op.attribute("alpha", 0.2)), float(op.attribute("beta", 0.5))
    steps = (("onnx.Mul", alpha), ("onnx.Add", beta), ("onnx.Max", 0.0), ("onnx.Min", 1.0))
    _replace_by_steps(op, op.operands[0], steps)


def _selu(op: Op) -> None:
    """What is above 0 by its factor, and 0 of all else."""
    gamma = float(op.attribute("gamma", _GAMMA))
    if gamma == 0:  # of the exponential below 0, too
        _replace_by_steps(op, op.operands[0], (("onnx.Mul", 0.0),))
    else:
        _replace_by_steps(op, op.operands[0], (("onnx.Max", 0.0), ("onnx.Mul", gamma)))


_GAMMA = 1.05070102214813232421875
"""The factor that Selu has where none is said."""
_ZEROS_WRITTEN: Mapping[str, Callable[[Op], None]] = {"onnx.HardSigmoid": _hard_sigmoid, "onnx.Selu": _selu}


def _replace_by_steps(op: Op, value: Value, steps: Sequence[tuple[str, float]]) -> None:
    """Operators of two operands, one after the other, the second a number, in the place of an op."""
    rw, type_ = Builder(op.parent, op, op.location), op.results[0].tensor_type  # type: ignore[arg-type]
    for place, (name, number) in enumerate(steps, 1):
        array = np.array(number, dtype_of(type_.element))
        held = rw.emit("onnx.Constant", types=[TensorType((), type_.element)], value=Dense(array))
        if place == len(steps):
            _replace(op, name, (value, held))
        else:
            value = rw.emit(name, value, held, types=[type_])


def _of_integers_in_doubles(op: Op) -> bool:
    """Whether an op computes in f64 what integers are cast to, and integers are made of that again."""
    maker = op.operands[0].op
    return (op.operands[0].element_or_none == F64 and maker is not None and maker.name == "onnx.Cast"
            and maker.operands[0].is_integer and bool(op.results[0].uses)
            and all(user.name == "onnx.Cast" and user.results[0].is_integer for user in op.results[0].uses))


def _is_between_casts(op: Op) -> bool:
    """Whether an op computes in f64 what is cast to that, or constant, and all that is made of it is cast to something else."""
    return (op.results[0].element_or_none == F64 and bool(op.results[0].uses) and all(map(_is_cast_or_constant, op.operands))
            and all(user.name == "onnx.Cast" and user.results[0].element_or_none != F64 for user in op.results[0].uses))


def _is_cast_or_constant(value: Value) -> bool:
    maker = value.op
    if maker is None or maker.name != "onnx.Cast":
        return maker is not None and maker.name == "onnx.Constant" and "value" in maker.attributes
    return maker.operands[0].element_or_none != F64


def _in_floats(op: Op) -> None:
    """Compute in f32 what is so computed in f64."""
    given = [_single(op, value) if value.element_or_none == F64 else value for value in op.operands]
    made = Builder(op.parent, op, op.location).emit(  # type: ignore[arg-type]
        op.name, *given, types=[_in(op.results[0], F32)], **op.attributes)
    makers = {value.op for value in op.operands if value.element_or_none == F64}
    op.results[0].replace_all_uses_with(made)
    op.erase()
    for maker in makers:
        if maker is not None and not maker.results[0].uses:
            maker.erase()


def _single(op: Op, value: Value) -> Value:
    """An f32 of the numbers of an f64 that something is cast to, or that is constant."""
    rw, maker = Builder(op.parent, op), value.op  # type: ignore[arg-type]
    if maker is not None and maker.name == "onnx.Constant":
        with np.errstate(over="ignore"):
            numbers = maker.attributes["value"].numpy().astype(np.float32)
        single: Value = rw.emit("onnx.Constant", types=[_in(value, F32)], value=Dense(numbers))
        return single
    cast: Value = rw.emit("onnx.Cast", maker.operands[0], types=[_in(value, F32)], to=_CODES[F32])  # type: ignore[union-attr]
    return cast


def _replace_in(op: Op, element: Type, only: int | None = None) -> None:
    """Compute an op, of whose operands the first `only` are numbers, in a wider type: lower bits of sums and products are the
    same there, and Cast keeps these alone."""
    rw = Builder(op.parent, op)  # type: ignore[arg-type]
    given = [rw.emit("onnx.Cast", value, types=[_in(value, element)], to=_CODES[element])
             for value in op.operands[:only]] + list(op.operands[len(op.operands) if only is None else only:])
    made = rw.emit(op.name, *given, types=[_in(op.results[0], element)], **op.attributes)
    _replace(op, "onnx.Cast", (made,), to=_CODES[op.results[0].element])


def _replace(op: Op, name: str, operands: tuple[Value, ...], **attributes: Any) -> None:
    """Another op in the place of one, under its name."""
    made = Builder(op.parent, op, op.location).emit(name, *operands, types=[op.results[0].type], **attributes)  # type: ignore[arg-type]
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _in(value: Value, element: Type) -> Type:
    return value.tensor_type.with_element(element)
