"""TensorFlow's element types (`DataType` of tensorflow/core/framework/types.proto) and shapes, as the IR has them.

Types follow TensorFlow's own MLIR: signed integers and booleans are signless, half is `f16`, what only TensorFlow has is a type
of `tf_type`, and a reference to a variable of f32 is `!tf_type.f32ref`.
"""

from __future__ import annotations

import re
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
    OpaqueAttr,
    TensorType,
    Type,
)
from transload.text import parse_type

__all__ = [
    "RESOURCE", "STRING", "UNKNOWN", "VARIANT", "element_named", "element_of", "held_by", "is_reference", "name_of",
    "reference_of", "referred", "shape_attribute", "shape_of", "sizes_of", "tensor_of",
]

STRING, RESOURCE, VARIANT = (DialectType(f"tf_type.{name}") for name in ("string", "resource", "variant"))

UNKNOWN: Type = DialectType("tf_type.unknown")
"""The element type of a result that neither the file nor TensorFlow's registry tells (an op that only its model knows)."""

_TABLE: dict[int, tuple[str, Type, str]] = {
    # number: name in TensorFlow, element type, name of a reference to it
    1: ("float", F32, "f32"), 2: ("double", F64, "f64"), 3: ("int32", I32, "int32"), 4: ("uint8", UI8, "uint8"),
    5: ("int16", I16, "int16"), 6: ("int8", I8, "int8"), 7: ("string", STRING, "string"),
    8: ("complex64", ComplexType(F32), "complex64"), 9: ("int64", I64, "int64"), 10: ("bool", BOOL, "bool"),
    11: ("qint8", DialectType("tf_type.qint8"), "qint8"), 12: ("quint8", DialectType("tf_type.quint8"), "quint8"),
    13: ("qint32", DialectType("tf_type.qint32"), "qint32"), 14: ("bfloat16", BF16, "bfloat16"),
    15: ("qint16", DialectType("tf_type.qint16"), "qint16"), 16: ("quint16", DialectType("tf_type.quint16"), "quint16"),
    17: ("uint16", UI16, "uint16"), 18: ("complex128", ComplexType(F64), "complex128"), 19: ("half", F16, "half"),
    20: ("resource", RESOURCE, "resource"), 21: ("variant", VARIANT, "variant"), 22: ("uint32", UI32, "uint32"),
    23: ("uint64", UI64, "uint64"), 24: ("float8_e5m2", FloatType("f8E5M2"), "float8_e5m2"),
    25: ("float8_e4m3fn", FloatType("f8E4M3FN"), "float8_e4m3fn"),
    26: ("float8_e4m3fnuz", FloatType("f8E4M3FNUZ"), "float8_e4m3fnuz"),
    27: ("float8_e4m3b11fnuz", FloatType("f8E4M3B11FNUZ"), "float8_e4m3b11fnuz"),
    28: ("float8_e5m2fnuz", FloatType("f8E5M2FNUZ"), "float8_e5m2fnuz"),
    29: ("int4", I4, "int4"), 30: ("uint4", IntegerType(4, "u"), "uint4"),
    31: ("int2", IntegerType(2), "int2"), 32: ("uint2", IntegerType(2, "u"), "uint2"),
}
_REFERENCE = 100
"""What is added to a type's number for a reference to a variable of it."""

_REFERENCES = {f"tf_type.{name}ref": element for _, element, name in _TABLE.values()}
_TO_REFERENCE = {element: DialectType(text) for text, element in _REFERENCES.items()}
_BY_NAME = {name: element for name, element, _ in _TABLE.values()}


def element_of(number: int) -> Type | None:
    """The element type of a `DataType` number; None for one that does not exist."""
    is_reference = number > _REFERENCE
    found = _TABLE.get(number - _REFERENCE if is_reference else number)
    if found is None:
        return None
    return reference_of(found[1]) if is_reference else found[1]


def number_of(element: Type) -> int:
    """The `DataType` number of an element type, of a reference that of what it refers to; 0 for one that has none."""
    plain = referred(element)
    return next((number for number, (_, found, _) in _TABLE.items() if found == plain), 0)


def element_named(name: str) -> Type:
    """The element type that TensorFlow calls so: `float`, `int32`, `resource`."""
    return _BY_NAME[name]


def name_of(number: int) -> str:
    """What TensorFlow calls the type of a `DataType` number: `float`; empty for one that does not exist."""
    found = _TABLE.get(number - _REFERENCE if number > _REFERENCE else number)
    return "" if found is None else found[0]


def reference_of(element: Type) -> Type:
    """The type of a reference to a variable with such elements; of what is no element of a variable, unknown."""
    return _TO_REFERENCE.get(element, UNKNOWN)


def referred(element: Type) -> Type:
    """What a reference refers to; of a resource or variant that says what it holds, the plain one; any other type is itself."""
    if not isinstance(element, DialectType):
        return element
    if element.text.startswith(("tf_type.resource<", "tf_type.variant<")):
        return RESOURCE if element.text.startswith(RESOURCE.text) else VARIANT
    return _REFERENCES.get(element.text, element)


_HELD = re.compile(r"tf_type\.(?:resource|variant)<(tensor<(?:[^<>]|<[^<>]*>)*>)")


def held_by(element: Type) -> Type:
    """The element type of what a resource or variant says that it holds: f32 of `variant<tensor<4xf32>>`; else unknown."""
    found = _HELD.match(element.text) if isinstance(element, DialectType) else None
    held = parse_type(found[1]) if found is not None else None
    return held.element if isinstance(held, TensorType) else UNKNOWN


def is_reference(element: Type) -> bool:
    """Whether it is a type of references to variables."""
    return isinstance(element, DialectType) and element.text in _REFERENCES


def tensor_of(element: Type, shape: tuple[int | None, ...] | None = None) -> TensorType:
    """A tensor type; without a shape not even the rank is known."""
    return TensorType(shape, element)


def sizes_of(shape: Any) -> tuple[int | None, ...] | None:
    """The sizes of a `TensorShapeProto`: None for one that is not known, None alone for an unknown rank."""
    if shape.unknown_rank:
        return None
    return tuple(dim.size if dim.size >= 0 else None for dim in shape.dim)


def shape_attribute(sizes: tuple[int | None, ...] | None) -> OpaqueAttr:
    """A shape as an attribute: `#tf_type.shape<1x?x3>`, of unknown rank `#tf_type.shape<*>`."""
    text = "*" if sizes is None else "x".join("?" if size is None else str(size) for size in sizes)
    return OpaqueAttr(f"#tf_type.shape<{text}>")


_SHAPE = re.compile(r"#tf(?:_type)?\.shape<([^<>]*)>")


def shape_of(attribute: Any) -> tuple[int | None, ...] | None:
    """The sizes that a shape attribute says, the reverse of `shape_attribute`; None also for what is no such attribute."""
    found = _SHAPE.fullmatch(attribute.text) if isinstance(attribute, OpaqueAttr) else None
    if found is None or found[1] == "*":
        return None
    return tuple(None if size == "?" else int(size) for size in found[1].split("x") if size)
