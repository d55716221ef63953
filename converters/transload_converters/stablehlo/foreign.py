"""Operations of other dialects that programs of StableHLO hold beside it, as the operations of StableHLO that they mean.

IREE and TensorFlow write constants as `arith.constant`, conditions of jumps as `tensor.extract`, weights as globals; torch-mlir
computes sizes with `arith` and `tensor`; CHLO's broadcasts leave `shape` behind; JAX annotates with `sdy`. A scalar is a tensor
of rank 0 here, an `index` an `i64`. What is not known stays as it is, for whoever handles the module to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transload.ir.attributes import FloatAttr, IntAttr, OpaqueAttr
from transload.ir.build import constant_of
from transload.ir.constants import ArrayData, Dense, LazyData, SplatData, dtype_of
from transload.ir.core import Block, Op, Value
from transload.ir.module import Module
from transload.ir.types import BOOL, I32, I64, FloatType, FunctionType, IndexType, IntegerType, TensorType, Type
from transload.text.parser import unwrapped, unwraps_of

from .globals import load_globals
from .spread import check_meshes, outline_manual_computations

__all__ = ["lower_foreign"]

_SAME = {
    "arith.addf": "add", "arith.addi": "add", "arith.subf": "subtract", "arith.subi": "subtract", "arith.mulf": "multiply",
    "arith.muli": "multiply", "arith.divf": "divide", "arith.divsi": "divide", "arith.remsi": "remainder",
    "arith.remf": "remainder", "arith.maximumf": "maximum", "arith.minimumf": "minimum", "arith.maxsi": "maximum",
    "arith.minsi": "minimum", "arith.andi": "and", "arith.ori": "or", "arith.xori": "xor", "arith.negf": "negate",
    "arith.select": "select", "math.absf": "abs", "math.absi": "abs", "math.ceil": "ceil", "math.cos": "cosine",
    "math.exp": "exponential", "math.expm1": "exponential_minus_one", "math.floor": "floor", "math.log": "log",
    "math.log1p": "log_plus_one", "math.powf": "power", "math.rsqrt": "rsqrt", "math.sin": "sine", "math.sqrt": "sqrt",
    "math.tanh": "tanh", "arith.index_cast": "convert", "arith.extsi": "convert", "arith.trunci": "convert",
    "arith.sitofp": "convert", "arith.fptosi": "convert", "arith.extf": "convert", "arith.truncf": "convert",
}
"""Operations whose meaning on tensors is that of one of StableHLO."""
_ORDERS = {0: "EQ", 1: "NE", 2: "LT", 3: "LE", 4: "GT", 5: "GE"}
_FLOAT_ORDERS = {1: "EQ", 2: "GT", 3: "GE", 4: "LT", 5: "LE", 13: "NE"}


def lower_foreign(module: Module, name: str) -> None:
    """Replace what is known; `ReadError` for globals that are written, or whose values the file does not hold."""
    foreign = [op for op in module.walk() if op.dialect not in ("stablehlo", "func", "builtin")]
    if not foreign:
        return
    check_meshes(foreign, name)
    load_globals(foreign, name)
    outline_manual_computations(module)
    foreign = [op for op in module.walk() if op.dialect not in ("stablehlo", "func", "builtin")]
    known = [op for op in foreign if op.parent is not None and (op.name in _SAME or op.name in _RULES)]
    if not known:
        return
    if any(op.dialect != "sdy" for op in known):
        _make_tensors(module)
    for op in known:
        if op.name in _SAME:
            if all(isinstance(value.type, TensorType) for value in (*op.operands, *op.results)):
                op.name = f"stablehlo.{_SAME[op.name]}"
                op.attributes = {}
        else:
            _RULES[op.name](op)
    for op in reversed(known):  # what only served what is gone
        if op.parent is not None and op.name in _RULES and not any(result.uses for result in op.results):
            op.erase()


def _make_tensors(module: Module) -> None:
    """Give every scalar the type of a tensor of rank 0, and every index that of an i64."""
    for op in module.walk():
        arguments = [argument for region in op.regions for block in region.blocks for argument in block.arguments]
        for value in (*op.results, *arguments):
            value.type = _tensor(value.type)
        type_ = op.attributes.get("function_type")
        if isinstance(type_, FunctionType):
            op.attributes["function_type"] = FunctionType(tuple(map(_tensor, type_.inputs)), tuple(map(_tensor, type_.results)))
        if op.name == "stablehlo.constant":
            op.attributes["value"] = _without_index(op.attributes.get("value"))


def _tensor(type_: Type) -> Type:
    if isinstance(type_, IndexType):
        return TensorType((), I64)
    if isinstance(type_, (IntegerType, FloatType)):
        return TensorType((), type_)
    return type_.with_element(I64) if isinstance(type_, TensorType) and isinstance(type_.element, IndexType) else type_


def _without_index(value: Any) -> Any:
    if isinstance(value, Dense) and isinstance(value.type.element, IndexType):
        return Dense(value.data, value.type.with_element(I64))  # held in int64 already
    return value


# --- emitting


def emit(at: Op, name: str, operands: Sequence[Value], type_: Type, attributes: dict[str, Any] | None = None) -> Value:
    """An operation of StableHLO before another one."""
    held = dict(attributes or {})
    for key, unwrap in unwraps_of(f"stablehlo.{name}").items():
        if key in held and unwrap is not None:
            held[key] = unwrapped(unwrap, held[key])
    op = Op(f"stablehlo.{name}", operands, [type_], held, (), at.location)
    return at.parent.insert(op, at).results[0]  # type: ignore[union-attr]


def constant(at: Op, values: Any, element: Type) -> Value:
    """A constant before an operation."""
    array = np.asarray(values, dtype_of(element))
    type_ = TensorType(array.shape, element)
    return emit(at, "constant", (), type_, {"value": Dense(ArrayData(array), type_)})


def size_of(at: Op, tensor: Value, dimension: int) -> Value:
    """A dimension's size, as an i64: a constant where the type has it."""
    size = tensor.shape[dimension]
    if size is not None:
        return constant(at, size, I64)
    raw = emit(at, "get_dimension_size", [tensor], TensorType((), I32), {"dimension": dimension})
    return emit(at, "convert", [raw], TensorType((), I64))


def joined(at: Op, scalars: Sequence[Value], element: Type) -> Value:
    """A list of scalars."""
    if not scalars:
        return constant(at, np.zeros(0, np.int64), element)
    parts = [emit(at, "reshape", [value], TensorType((1,), element)) for value in scalars]
    return parts[0] if len(parts) == 1 else emit(at, "concatenate", parts, TensorType((len(parts),), element), {"dimension": 0})


# --- arith, tensor, cf


def _constant(op: Op) -> None:
    """`arith.constant`: of a tensor as it is, a number as a tensor of rank 0."""
    value = _without_index(op.attributes.get("value"))
    if not isinstance(value, Dense):
        element = op.results[0].element_or_none
        if not isinstance(value, (bool, int, float, IntAttr, FloatAttr)) or element is None:
            return
        value = Dense(SplatData(value, (), dtype_of(element)), TensorType((), element))
    op.name, op.attributes = "stablehlo.constant", {"value": value}


def _extract(op: Op) -> None:
    """`tensor.extract`: of a tensor of rank 0 that tensor; with constant places, a slice."""
    tensor, *places = op.operands
    if not places:
        op.replace_with([tensor])
        return
    numbers = [constant_of(place) for place in places]
    if any(number is None for number in numbers) or not isinstance(tensor.type, TensorType):
        return
    starts = tuple(int(number.numpy()) for number in numbers if number is not None)
    part = emit(op, "slice", [tensor], tensor.type.with_shape((1,) * len(starts)), {
        "start_indices": starts, "limit_indices": tuple(start + 1 for start in starts), "strides": (1,) * len(starts)})
    op.replace_with([emit(op, "reshape", [part], op.results[0].type)])


def _from_elements(op: Op) -> None:
    """`tensor.from_elements`: scalars in the result's shape."""
    type_ = op.results[0].type
    if not isinstance(type_, TensorType):
        return
    if type_.shape == () and len(op.operands) == 1:
        op.replace_with([op.operands[0]])
        return
    value = joined(op, op.operands, type_.element)
    op.replace_with([value if value.type == type_ else emit(op, "reshape", [value], type_)])


def _dim(op: Op) -> None:
    """`tensor.dim` at a constant place."""
    place = constant_of(op.operands[1])
    if place is not None and 0 <= int(place.numpy()) < op.operands[0].rank:
        op.replace_with([size_of(op, op.operands[0], int(place.numpy()))])


def _cast(op: Op) -> None:
    """`tensor.cast`: the same tensor, of which more or less is known."""
    old, new = op.operands[0].type, op.results[0].type
    if isinstance(old, TensorType) and (old == new or old.is_static):
        op.replace_with([op.operands[0]])
    else:
        op.name, op.attributes = "stablehlo.convert", {}


def _compare(orders: dict[int, str]) -> Callable[[Op], None]:
    def rule(op: Op) -> None:
        order = orders.get(int(op.attributes.get("predicate", -1)))
        if order is not None:
            direction = OpaqueAttr(f"#stablehlo<comparison_direction {order}>")
            op.replace_with([emit(op, "compare", op.operands, op.results[0].type, {"comparison_direction": direction})])

    return rule


def _assert(op: Op) -> None:
    """`cf.assert`, as JAX asserts on shapes."""
    message = str(op.attributes.get("msg", ""))
    op.name = "stablehlo.custom_call"
    op.attributes = {"call_target_name": "shape_assertion", "has_side_effect": True, "error_message": message}


# --- shape


def _shape_of(op: Op) -> None:
    tensor = op.operands[0]
    if isinstance(tensor.type, TensorType) and tensor.type.shape is not None:
        op.results[0].type = TensorType((tensor.rank,), I64)
        op.replace_with([joined(op, [size_of(op, tensor, index) for index in range(tensor.rank)], I64)])


def _const_shape(op: Op) -> None:
    value = op.attributes.get("shape")
    if isinstance(value, Dense):
        array = value.numpy().astype(np.int64)
        data = LazyData(lambda: array, array.shape, np.int64)
        type_ = TensorType(array.shape, I64)
        op.name, op.attributes = "stablehlo.constant", {"value": Dense(data, type_)}
        op.results[0].type = type_


def _broadcast_shapes(op: Op) -> None:
    """`shape.broadcast` of lists of sizes: from the right, the other one's size where one's is 1."""
    if not all(isinstance(v.type, TensorType) and v.type.is_static and v.type.rank == 1 for v in op.operands):
        return
    rank = max(value.shape[0] or 0 for value in op.operands)
    type_ = TensorType((rank,), I64)
    total: Value | None = None
    for value in op.operands:
        missing = rank - (value.shape[0] or 0)
        if missing:
            value = emit(op, "concatenate", [constant(op, np.ones(missing), I64), value], type_, {"dimension": 0})
        if total is None:
            total = value
            continue
        one = emit(op, "compare", [total, constant(op, np.ones(rank), I64)], TensorType((rank,), BOOL),
                   {"comparison_direction": OpaqueAttr("#stablehlo<comparison_direction EQ>")})
        total = emit(op, "select", [one, value, total], type_)
    if total is not None:
        op.replace_with([total])


def _num_elements(op: Op) -> None:
    sizes = op.operands[0]
    if not isinstance(sizes.type, TensorType) or not sizes.type.is_static or sizes.type.rank != 1:
        return
    total = constant(op, 1, I64)
    for index in range(sizes.shape[0] or 0):
        part = emit(op, "slice", [sizes], TensorType((1,), I64), {
            "start_indices": (index,), "limit_indices": (index + 1,), "strides": (1,)})
        total = emit(op, "multiply", [total, emit(op, "reshape", [part], TensorType((), I64))], TensorType((), I64))
    op.replace_with([total])


def _assuming(op: Op) -> None:
    """`shape.assuming`: its region, whose assumption the program's author vouches for."""
    block: Block = op.regions[0].block
    last = block.terminator
    results = list(last.operands)
    last.erase()
    for inner in block:
        block.remove(inner)
        op.parent.insert(inner, op)  # type: ignore[union-attr]
    op.replace_with(results)


def _leave(op: Op) -> None:
    """Goes when nothing uses it any more: a witness of an assumption."""


# --- sdy: how a program is spread over devices does not change what it computes


def _same_value(op: Op) -> None:
    if len(op.operands) == len(op.results) == 1:
        op.replace_with([op.operands[0]])


_RULES: dict[str, Callable[[Op], None]] = {
    "arith.constant": _constant, "tensor.extract": _extract, "tensor.from_elements": _from_elements, "tensor.dim": _dim,
    "tensor.cast": _cast, "arith.cmpi": _compare(_ORDERS), "arith.cmpf": _compare(_FLOAT_ORDERS), "cf.assert": _assert,
    "shape.shape_of": _shape_of, "shape.const_shape": _const_shape, "shape.broadcast": _broadcast_shapes,
    "shape.num_elements": _num_elements, "shape.assuming": _assuming, "shape.cstr_broadcastable": _leave,
    "shape.cstr_eq": _leave, "shape.cstr_require": _leave, "shape.assuming_all": _leave, "shape.const_witness": _leave,
    "sdy.mesh": _leave, "sdy.sharding_constraint": _same_value, "sdy.reshard": _same_value,
}
