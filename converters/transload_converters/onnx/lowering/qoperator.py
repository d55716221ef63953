"""The pass `onnx-qoperator`: operators between DequantizeLinear and QuantizeLinear as ONNX's, and onnxruntime's, on integers.

What has no such operator stays between the two. An activation behind one becomes Clip of its integers: rounding keeps order, so
it is the same before as behind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transload.ir import I8, Module, NoneType, Op, TensorType, Type, Value
from transload.ir.build import Builder, constant_of, part_location

__all__ = ["FORM", "write_on_integers"]

FORM = "onnx.form"
"""The attribute of a module that says which form it is to have where the user leaves that open."""

_MS = "onnx.com.microsoft"
_MOVING = {"onnx.Reshape", "onnx.Transpose", "onnx.MaxPool", "onnx.Squeeze", "onnx.Unsqueeze", "onnx.Flatten", "onnx.Slice"}
"""Operators that take and give 8-bit integers, and give none that they did not take."""

_OF_ONE_TYPE = ("onnx.Add", "onnx.Mul")
"""Operators whose operands have one type; a product of matrices takes unsigned numbers by signed ones, too."""


def write_on_integers(module: Module, form: str = "qdq", weights: str = "signed") -> bool:
    """Make operators on integers of what lies between DequantizeLinear and QuantizeLinear, where `form` is "qoperator".

    With "auto" it is what the module says (`FORM`); unsigned `weights` are for QDQ alone.
    """
    said = module.attributes.pop(FORM, None)
    if form == "auto" and said is not None and weights == "signed":
        form = str(said)
    changed = said is not None
    for op in list(module.walk()) if form == "qoperator" else ():
        if op.name == "onnx.QuantizeLinear" and op.parent is not None and _is_8_bit(op.results[0]):
            changed |= _fuse(op)
    return changed


def _is_8_bit(value: Value) -> bool:
    return isinstance(value.type, TensorType) and str(value.element) in ("i8", "ui8")


def _triple(value: Value) -> tuple[Value, Value, Value] | None:
    """The integers, scale and zero point of what DequantizeLinear gives, of 8 bits."""
    op = value.op
    if op is None or op.name != "onnx.DequantizeLinear" or len(op.operands) != 3 or not _is_8_bit(op.operands[0]):
        return None
    return op.operands[0], op.operands[1], op.operands[2]


def _per_tensor(*triples: tuple[Value, Value, Value]) -> bool:
    return all(np.prod(triple[1].static_shape) == 1 for triple in triples)


def _fuse(quantize: Op) -> bool:
    """Replace a QuantizeLinear, and what it rounds, by an operator on integers."""
    rounded, scale, zero = quantize.operands
    limits = _limits(rounded)
    made = rounded if limits is None else rounded.op.operands[0]  # type: ignore[union-attr]
    op = made.op
    if op is None or len(made.uses) != 1 or len(rounded.uses) != 1 or op.parent is not quantize.parent:
        return False
    build = Builder(quantize.parent, quantize, part_location(quantize.location, op.name))  # type: ignore[arg-type]
    result = _on_integers(op, build, quantize, scale, zero)
    if result is None:
        return False
    if limits is not None:
        result = _clipped(build, result, limits, scale, zero)
    quantize.replace_with([result])
    return True


def _limits(value: Value) -> tuple[float, float] | None:
    """Between which numbers an activation keeps its operand; None for what is no such activation."""
    op = value.op
    if op is not None and op.name == "onnx.Relu":
        return 0.0, np.inf
    if op is None or op.name != "onnx.Clip":
        return None
    ends = [-np.inf, np.inf]
    for place, limit in enumerate(op.operands[1:]):
        if not isinstance(limit.type, NoneType):
            dense = constant_of(limit)
            if dense is None:
                return None
            ends[place] = float(dense.numpy())
    return ends[0], ends[1]


def _clipped(build: Builder, value: Value, limits: tuple[float, float], scale: Value, zero: Value) -> Value:
    """Integers between those of real numbers."""
    held = constant_of(scale), constant_of(zero)
    assert held[0] is not None and held[1] is not None
    step, middle = float(held[0].numpy().reshape(())), int(held[1].numpy().reshape(()))
    least, most = value.element.range  # type: ignore[attr-defined]
    ends: list[Value | None] = []
    for limit in limits:
        number = np.rint(np.clip(np.float32(limit) / np.float32(step) + middle, least, most)) if np.isfinite(limit) else None
        kept = number is None or number == (least if not ends else most)
        ends.append(None if kept else build.constant(
            np.array(number, held[1].numpy().dtype), value.element, dialect="onnx"))
    if ends == [None, None]:
        return value
    clipped: Value = build.emit("onnx.Clip", value, *ends, types=[value.type])
    return clipped


def _on_integers(op: Op, build: Builder, quantize: Op, scale: Value, zero: Value) -> Value | None:
    """The operator on integers of what `op` computes of real numbers; None where there is none."""
    triples = [_triple(value) for value in op.operands[:2]]
    type_ = quantize.results[0].type
    first = triples[0] if triples else None
    if first is None or not _per_tensor(first) or constant_of(scale) is None or constant_of(zero) is None:
        return None
    if first[0].element != quantize.results[0].element:  # onnxruntime loads none that gives another type than it takes
        return None
    if op.name in _MOVING and len(op.results) == 1:
        if not all(_same(*pair) for pair in ((first[1], scale), (first[2], zero))):
            return None
        return _emit(build, op.name, [first[0], *op.operands[1:]], type_, op)
    second = triples[1] if len(triples) > 1 else None
    if second is None or (op.name == "onnx.MatMul" and not _per_tensor(second) and len(second[0].static_shape) != 2):
        return None
    if second[0].element != first[0].element and (op.name in _OF_ONE_TYPE or first[0].element == I8):
        return None
    flat = [*first, *second]
    if op.name == "onnx.Conv":
        bias = _bias(op, first, second)
        if bias is None and len(op.operands) > 2:
            return None
        return _emit(build, "onnx.QLinearConv", [*flat, scale, zero, *([bias] if bias is not None else [])], type_, op)
    if op.name == "onnx.MatMul":
        return _emit(build, "onnx.QLinearMatMul", [*flat, scale, zero], type_, op)
    if op.name == "onnx.Gemm" and op.attributes.get("alpha", 1.0) == 1.0 and op.attributes.get("beta", 1.0) == 1.0:
        bias = _bias(op, first, second)
        if bias is None and len(op.operands) > 2:
            return None
        return _emit(build, f"{_MS}.QGemm", [*flat, bias, scale, zero], type_, op)
    if op.name in _OF_ONE_TYPE and _per_tensor(second):
        return _emit(build, f"{_MS}.QLinear{op.name.removeprefix('onnx.')}", [*flat, scale, zero], type_, op)
    return None


def _emit(build: Builder, name: str, operands: Sequence[Value | None], type_: Type, op: Op) -> Value:
    attributes = {key: value for key, value in op.attributes.items() if key not in ("beta",)}
    if name.startswith(_MS):
        attributes["domain"] = "com.microsoft"
    made: Value = build.emit(name, *operands, types=[type_], **attributes)
    return made


def _same(a: Value, b: Value) -> bool:
    """Whether two constants are the same numbers."""
    held = constant_of(a), constant_of(b)
    return held[0] is not None and held[1] is not None and np.array_equal(held[0].numpy(), held[1].numpy())


def _bias(op: Op, first: tuple[Value, Value, Value], second: tuple[Value, Value, Value]) -> Value | None:
    """The i32 bias of an op, whose scale has to be the product of those of its factors; None where it is none of that."""
    held = op.operands[2].op if len(op.operands) > 2 else None
    if held is None or held.name != "onnx.DequantizeLinear" or str(held.operands[0].element) != "i32":
        return None
    scales = [constant_of(value) for value in (held.operands[1], first[1], second[1])]
    if any(each is None for each in scales):
        return None
    own, x, w = (each.numpy().astype(np.float64) for each in scales)  # type: ignore[union-attr]
    return held.operands[0] if np.allclose(own, x * w, 1e-5, 0) else None
