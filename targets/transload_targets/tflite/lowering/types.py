"""What LiteRT has no kernels for whatever the operator: types, and sizes known only at run time."""

from __future__ import annotations

from transload.analysis.movement import moves_of
from transload.errors import Finding
from transload.findings import refuse
from transload.ir import (
    BF16,
    BOOL,
    F16,
    I8,
    I16,
    I64,
    UI8,
    UI16,
    UI32,
    UI64,
    FloatType,
    IndexType,
    IntegerType,
    Module,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
    input_names,
    output_names,
)
from transload.ir.build import constant_of

from .common import NO_HALVES
from .integers import WITHOUT_64

__all__ = ["check_types"]

_ON_UNSIGNED = frozenset(("top.Cast", "top.BitwiseXor", "top.Bitcast", "top.Compare", "top.Mul", "top.ShiftLeft", "top.While"))
"""Ops that LiteRT computes of unsigned integers of more than 8 bits, that hand them on, or that it has for no type."""
_WIDENED = frozenset(f"top.{name}" for name in (
    "Abs", "Add", "AddConst", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "Ceil", "Clip", "CumSum", "Floor", "FloorMod", "Max",
    "Min", "MulConst", "Neg", "Relu", "Round", "Scale", "Sign", "Square", "SquaredDifference", "Sub", "TruncMod"))
"""Ops that are computed in a wider type (`common.wider`)."""
_OF_16 = ("top.Arg", "top.Div", "top.FloorDiv", "top.Gather")
"""Ops that are computed of unsigned integers of 16 bits in 32; there are none of 64 for those of 32."""
_NOT_OF_64 = ("top.BitwiseXor", "top.Cast", "top.Compare", "top.Mul")
"""Of `_ON_UNSIGNED` those that LiteRT has no kernels of 64 bits for."""
_NOT_OF_FLAGS = frozenset(f"top.{name}" for name in ("CumSum", "Interp", "PRelu", "TopK"))
_ORDERS = ("Greater", "GreaterOrEqual", "Less", "LessOrEqual")
_SUMS = ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
_INTEGERS = "of the float model take integers, --quantize int8 or dynamic, or weights alone, w8a16; "
_SMALL_AT = {
    "f8E4M3FN": "targets onnx, tosa and stablehlo take", "f8E5M2": "targets onnx, tosa and stablehlo take",
    "f8E4M3FNUZ": "targets onnx and stablehlo take", "f8E5M2FNUZ": "targets onnx and stablehlo take"}
"""Where floats of less than 16 bits can go; others than these are StableHLO's alone."""


def check_types(module: Module) -> bool:
    """Refuse values of types that LiteRT's kernels do not compute with, each where it first occurs."""
    findings: list[Finding] = []
    for name, function in module.functions.items():
        for called, argument in zip(input_names(function), function.regions[0].block.arguments, strict=True):
            why = _reason(argument)
            if why:
                findings.append(Finding(
                    "an argument" if function is module.main else f"function {name!r}", why[0], (called,), why[1]))
    for op in module.walk():
        if op.name == "func.func" or any(_reason(value) for value in op.operands):
            continue  # what follows from it is not said again
        why = _unsigned(op) or _of_flags(op) or _shifted(op) or _of_64(op)
        if why:
            findings.append(Finding(op.name, why[0], (op.origin,) if op.origin else (), why[1]))
        for result in op.results:
            why = None if constant_of(result) is not None else _reason(result)
            if why:
                findings.append(Finding(op.name, why[0], (op.origin,) if op.origin else (), why[1]))
    findings += [
        Finding("an output", f"it is of {value.element}, and TFLite has no such type", (name,), _instead_of(value.element))
        for name, value in zip(output_names(module.main), module.body_of_main.terminator.operands, strict=True)
        if constant_of(value) is not None and _is_small(value.element_or_none)]
    refuse(findings)
    return False


def _is_small(element: Type | None) -> bool:
    """Whether it is a float of less than 16 bits."""
    return isinstance(element, FloatType) and element.name.startswith(("f8", "f6", "f4"))


def _instead_of(element: Type) -> str:
    """What to do about a float of less than 16 bits."""
    return f"{_INTEGERS}{_SMALL_AT.get(str(element), 'the target stablehlo takes')} {element}"


def _reason(value: Value) -> tuple[str, str] | None:
    """Why a value can be no tensor of TFLite, and what to do; None where it can."""
    type_ = value.type
    if not isinstance(type_, TensorType):
        return None
    if not type_.is_static:
        return (f"it is of type {type_}: a size is known only at run time",
                "give the inputs static shapes, and make what it computes its size of constant")
    element = type_.element
    if isinstance(element, QuantType):
        if element.blocks is not None:
            return f"it is quantized with a scale for each block, {element}", "quantize per tensor or per channel"
        if element.storage not in (I8, UI8, I16) and constant_of(value) is None:
            return f"LiteRT computes quantized numbers of 8 and of 16 bits, and this is {element}", "leave the op float"
        if (element.storage_min, element.storage_max) != element.storage.range and constant_of(value) is None:
            return f"LiteRT's kernels saturate at the ends of {element.storage}, not within as {element}", "use all its numbers"
        return None
    if isinstance(element, FloatType) and (element in (F16, BF16) or element.name not in ("f32", "f64")):
        if constant_of(value) is not None:
            return None
        if _is_small(element):
            return f"it computes in {element}, and LiteRT has no kernel that casts to it or takes it", _instead_of(element)
        return f"it computes in {element}, for which LiteRT's kernels are few", NO_HALVES
    if isinstance(element, IndexType) or (isinstance(element, IntegerType) and element.width not in (1, 4, 8, 16, 32, 64)):
        return f"TFLite has no type {element}", ""
    return None


def _unsigned(op: Op) -> tuple[str, str] | None:
    """Why LiteRT cannot compute an op of wide unsigned integers, which it moves and casts."""
    taken = (*op.operands, *op.results) if op.name == "top.Cast" else op.operands
    wide = next((value.element_or_none for value in taken if value.element_or_none in (UI16, UI32, UI64)), None)
    if wide is None or not op.results:
        return None
    if wide == UI64:
        may_do = op.name in _ON_UNSIGNED and op.name not in _NOT_OF_64
    else:
        may_do = op.name in _ON_UNSIGNED | _WIDENED or (op.name in _OF_16 and wide == UI16)
    moves = moves_of(op)
    if may_do or (moves is not None and not moves.by_value and op.name not in ("top.Gather", "top.Pad")):
        return None
    return f"LiteRT has no kernel of it for {wide}", (
        "make it i64 from the start, where the numbers are below 2^63" if wide == UI64 else "cast to a signed type of more bits")


def _of_64(op: Op) -> tuple[str, str] | None:
    """Why LiteRT cannot compute an op of integers of 64 bits that may need them all."""
    if op.name not in WITHOUT_64 or op.results[0].element_or_none != I64 or constant_of(op.results[0]) is not None:
        return None
    return f"LiteRT has no kernel of it for {I64}, and that its numbers lie in 32 bits does not follow from the model", (
        "limit them before it (Clip, Min and Max), or cast to i32, where you know that they stay small")


def _of_flags(op: Op) -> tuple[str, str] | None:
    """Why LiteRT cannot compute an op of truth values that takes them for numbers."""
    if not op.operands or op.operands[0].element_or_none != BOOL:
        return None
    if op.name not in _NOT_OF_FLAGS and op.attribute("mode", None) not in (*_ORDERS, *_SUMS):
        return None
    return f"LiteRT has no kernel of it for {BOOL}", "cast to i32 before"


def _shifted(op: Op) -> tuple[str, str] | None:
    """Why LiteRT cannot compute with quantized numbers of 16 bits whose zero is another number than 0."""
    if op.name == "top.Cast" or moves_of(op) is not None:
        return None
    kinds = [value.quant for value in (*op.operands, *op.results)]
    found = next((kind for kind in kinds if kind is not None and kind.storage == I16 and any(kind.zero_points)), None)
    return None if found is None else (
        f"LiteRT's kernels of 16 bits have zero points of 0, and this is {found}", "quantize 16 bits symmetrically")
