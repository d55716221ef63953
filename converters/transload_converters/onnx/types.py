"""ONNX's element types and value types as Transload's.

Numbers are `TensorProto.DataType` of onnx.proto; they are written out so that a type which the
installed `onnx` package does not know yet is still named in a message.
"""

from __future__ import annotations

from typing import Any

from transload.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I4,
    I8,
    I16,
    I32,
    I64,
    UI8,
    UI16,
    UI32,
    UI64,
    ComplexType,
    DialectType,
    FloatType,
    IntegerType,
    TensorType,
    Type,
)
from transload.text import parse_type

__all__ = [
    "ELEMENTS", "OPSET_WRITTEN", "STRING", "UNKNOWN", "element_code", "element_of", "type_proto", "type_word", "value_type",
]

OPSET_WRITTEN = 21
"""The opset in whose operators models are written."""

STRING = DialectType("onnx.string")
"""The element type of tensors of text."""

UNKNOWN = DialectType("onnx.unknown")
"""The type of a value that neither the file nor shape inference knows (an operator of another domain)."""

ELEMENTS: dict[int, Type] = {
    1: F32, 2: UI8, 3: I8, 4: UI16, 5: I16, 6: I32, 7: I64, 8: STRING, 9: BOOL, 10: F16, 11: F64, 12: UI32, 13: UI64,
    14: ComplexType(F32), 15: ComplexType(F64), 16: BF16, 17: FloatType("f8E4M3FN"), 18: FloatType("f8E4M3FNUZ"),
    19: FloatType("f8E5M2"), 20: FloatType("f8E5M2FNUZ"), 21: IntegerType(4, "u"), 22: I4, 23: FloatType("f4E2M1FN"),
    24: FloatType("f8E8M0FNU"), 25: IntegerType(2, "u"), 26: IntegerType(2), 27: FloatType("f6E2M3FN"), 28: FloatType("f6E3M2FN"),
}
_CODES = {element: code for code, element in ELEMENTS.items()}


def element_of(code: int) -> Type | None:
    """The element type of a `TensorProto.DataType` number; None for one that does not exist."""
    return ELEMENTS.get(code)


def element_code(element: Type) -> int | None:
    """The `TensorProto.DataType` number of an element type, the reverse of `element_of`."""
    return _CODES.get(element)


def type_word(element: Type) -> str:
    """The element type as schemas of operators name it: `float16` of f16, `uint8` of ui8, `float8e4m3fn`."""
    code = element_code(element)
    if code is None:
        return ""
    from onnx import TensorProto

    return str(TensorProto.DataType.Name(code)).lower()


def value_type(proto: Any) -> Type:
    """The type of a value by its `TypeProto`: sizes that are not numbers are dynamic."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        element = element_of(proto.tensor_type.elem_type)
        if element is None:
            return UNKNOWN
        return TensorType(_shape(proto.tensor_type), element)
    if kind == "sequence_type":
        return DialectType(f"onnx.seq<{value_type(proto.sequence_type.elem_type)}>")
    if kind == "optional_type":
        return DialectType(f"onnx.optional<{value_type(proto.optional_type.elem_type)}>")
    if kind == "map_type":
        key = element_of(proto.map_type.key_type)
        return DialectType(f"onnx.map<{key or UNKNOWN}, {value_type(proto.map_type.value_type)}>")
    if kind == "sparse_tensor_type":
        return DialectType("onnx.sparse_tensor")
    return UNKNOWN


def type_proto(type_: Type) -> Any:
    """The `TypeProto` of a type, as `value_type` reads it; None for one that ONNX lacks, or that nobody knows."""
    from onnx import helper

    if isinstance(type_, TensorType):
        code = element_code(getattr(type_.element, "storage", type_.element))
        return None if code is None else helper.make_tensor_type_proto(code, type_.shape)
    kind, _, inner = str(type_).partition("<")
    make = {"!onnx.seq": helper.make_sequence_type_proto, "!onnx.optional": helper.make_optional_type_proto}.get(kind)
    element = None if make is None else type_proto(parse_type(inner.removesuffix(">")))
    return None if make is None or element is None else make(element)


def _shape(tensor_type: Any) -> tuple[int | None, ...] | None:
    if not tensor_type.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None for dim in tensor_type.shape.dim)
