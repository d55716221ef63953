"""Types in StableHLO's constraints: kinds of tensors, and the specification's functions on types.

A dimension of None is not known until run time, and then fits any size (specification, "Dynamism").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import ml_dtypes

from transload.digits import whole_number
from transload.ir.constants import dtype_of
from transload.ir.core import Region, Value
from transload.ir.declare import TypeConstraint
from transload.ir.types import (
    BOOL,
    F32,
    F64,
    BuiltinType,
    ComplexType,
    DialectType,
    FloatType,
    IndexType,
    IntegerType,
    QuantType,
    TensorType,
    TupleType,
    Type,
)

__all__ = [
    "ANY_VALUE",
    "FUTURE",
    "PASSED",
    "TENSOR_OR_TOKEN",
    "TOKEN",
    "TOKEN_TYPE",
    "TUPLE",
    "baseline",
    "bits_of",
    "bounds_of",
    "compatible",
    "compatible_types",
    "element_of",
    "expressed_of",
    "function_types",
    "is_complex",
    "is_float",
    "is_integer",
    "is_per_axis",
    "is_promotable",
    "is_quantized",
    "result_types",
    "same",
    "same_baseline",
    "same_shape",
    "same_type",
    "shape_of",
    "sizes_fit",
    "storage_of",
    "tensor",
]

TOKEN_TYPE = DialectType("stablehlo.token")

# --- kinds of tensors

_WIDTHS = frozenset((2, 4, 8, 16, 32, 64))
_FLOATS = frozenset((
    "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ",
    "f8E8M0FNU", "bf16", "f16", "f32", "f64"))


def _is_integer(element: Type) -> bool:
    """Signless or unsigned: the dialect has no `si8`."""
    return isinstance(element, IntegerType) and element.width in _WIDTHS and element.signedness != "s"


_KINDS: dict[str, tuple[str, Any]] = {
    "b": ("boolean", lambda e: e == BOOL),
    "s": ("signed integer", lambda e: _is_integer(e) and not e.unsigned),
    "i": ("integer", _is_integer),
    "n": ("integer or index", lambda e: _is_integer(e) or isinstance(e, IndexType)),
    "f": ("floating-point", lambda e: isinstance(e, FloatType) and e.name in _FLOATS),
    "c": ("complex", lambda e: isinstance(e, ComplexType) and e.element in (F32, F64)),
    "q": ("per-tensor quantized", lambda e: isinstance(e, QuantType) and e.per_tensor),
    "Q": ("quantized", lambda e: isinstance(e, QuantType)),
}
"""Names and tests of the element types of the specification, "Types"."""


def tensor(
    kinds: str = "bifcQ", rank: int | None = None, element: Type | None = None, static: bool = False,
) -> TypeConstraint:
    """Tensors of some kinds of elements, a letter each: b, s(igned), i, n(umbers of dimensions: integer or index), f, c,
    q (per tensor), Q (also per axis); with `static`, of sizes that are all known."""
    tests = [_KINDS[kind][1] for kind in kinds]
    names = [_KINDS[kind][0] for kind in kinds]
    listed = " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
    form = f"{'' if rank is None else f'{rank}-dimensional '}tensor{' of static shape,' if static else ''}"
    name = f"a {form} of {str(element) if element is not None else listed} type"

    def accepts(type_: Type) -> bool:
        if not isinstance(type_, TensorType) or type_.shape is None or (rank is not None and len(type_.shape) != rank):
            return False
        if type_.encoding is not None and not _bounds_fit(type_):
            return False
        if static and None in type_.shape:
            return False
        if element is not None:
            return type_.element == element
        return any(test(type_.element) for test in tests) and (
            not isinstance(type_.element, QuantType) or _quantization_fits(type_.element, type_.shape))

    return TypeConstraint(name, accepts, _why_not)


_bounds_text = re.compile(r"#stablehlo\.bounds<([^>]*)>").fullmatch


def bounds_of(type_: Type) -> tuple[int | None, ...] | None:
    """The greatest sizes of a tensor's dimensions, None for one that has no bound; None where there are no bounds at all."""
    match = _bounds_text(type_.encoding) if isinstance(type_, TensorType) and type_.encoding is not None else None
    if match is None:
        return None
    parts = [part.strip() for part in match[1].split(",") if part.strip()]
    return tuple(None if part == "?" else -1 if (size := whole_number(part)) is None else size for part in parts)


def _bounds_fit(type_: TensorType) -> bool:
    """Whether bounds are one a dimension, and of dimensions of unknown size."""
    bounds, shape = bounds_of(type_), type_.shape or ()
    return bounds is None or (len(bounds) == len(shape) and all(
        bound is None or (bound >= 0 and size is None) for bound, size in zip(bounds, shape, strict=True)))


def _quantization_fits(element: QuantType, shape: tuple[int | None, ...]) -> bool:
    """Whether a quantization along an axis has that axis, and a scale for each of its places, and its numbers are such."""
    return _numbers_fit(element) and (
        element.axis is None or (0 <= element.axis < len(shape) and shape[element.axis] in (None, element.count)))


def _numbers_fit(element: QuantType) -> bool:
    """Whether scales are positive numbers of their type, and zero points are stored numbers (C4 to C7 of quantized types)."""
    if not (element.has_sound_scales and isinstance(element.expressed, FloatType)):
        return False
    range_ = ml_dtypes.finfo(dtype_of(element.expressed))
    return (
        float(range_.smallest_subnormal) <= element.scale_array.min() and element.scale_array.max() <= float(range_.max)
        and element.storage_min <= min(element.zero_points) and max(element.zero_points) <= element.storage_max)


def _why_not(type_: Type) -> str:
    """What is wrong with a tensor's type besides the kind of its elements."""
    if not isinstance(type_, TensorType) or type_.shape is None:
        return ""
    if not _bounds_fit(type_):
        return "bounds must be one a dimension, ? for those of known size"
    if isinstance(type_.element, QuantType) and not _numbers_fit(type_.element):
        return "scales must be positive numbers of the type that is expressed, and zero points among the numbers that are stored"
    if isinstance(type_.element, QuantType) and not _quantization_fits(type_.element, type_.shape):
        return "a quantization along an axis needs that axis, and a scale for each of its places"
    return ""


_any_tensor = tensor().accepts
TOKEN = TypeConstraint("a token", lambda t: t == TOKEN_TYPE)
TENSOR_OR_TOKEN = TypeConstraint("a tensor or a token", lambda t: t == TOKEN_TYPE or _any_tensor(t))


def _is_tuple(type_: Type) -> bool:
    return isinstance(type_, TupleType) and all(map(_is_value, type_.types))


def _is_value(type_: Type) -> bool:
    return type_ == TOKEN_TYPE or _any_tensor(type_) or _is_tuple(type_)


TUPLE = TypeConstraint("a tuple of tensors, tokens and tuples", _is_tuple)
ANY_VALUE = TypeConstraint("a tensor, token or tuple", _is_value)


def is_future(type_: Type) -> bool:
    """Whether a type is that of what an asynchronous operation will give."""
    return isinstance(type_, DialectType) and type_.text.startswith("stablehlo.future<")


def is_buffer(type_: Type) -> bool:
    """Whether a type is that of memory, in which operations write."""
    return isinstance(type_, BuiltinType) and type_.text.startswith("memref<")


def _is_passed(type_: Type) -> bool:
    return is_future(type_) or _may_be_in_memory(type_)


def _may_be_in_memory(type_: Type) -> bool:
    return _is_value(type_) or is_buffer(type_) or (isinstance(type_, TupleType) and all(map(_may_be_in_memory, type_.types)))


PASSED = TypeConstraint("a tensor, token, tuple, buffer or future", _is_passed)
"""What implementations are given and give."""
FUTURE = TypeConstraint("a future", is_future)

# --- functions on types


def _type(x: Value | Type) -> Type:
    return x.type if isinstance(x, Value) else x


def element_of(x: Value | Type) -> Any:
    """`element_type` (of any kind: callers ask for the members of the one they know it is)."""
    type_ = _type(x)
    return type_.element if isinstance(type_, TensorType) else type_


def shape_of(x: Value | Type) -> tuple[Any, ...]:
    """`shape`; no tensor has none, which is ()."""
    type_ = _type(x)
    return type_.shape or () if isinstance(type_, TensorType) else ()


def is_quantized(x: Value | Type) -> bool:
    return isinstance(element_of(x), QuantType)


def is_per_axis(x: Value | Type) -> bool:
    element = element_of(x)
    return isinstance(element, QuantType) and element.axis is not None


def is_complex(x: Value | Type) -> bool:
    return isinstance(element_of(x), ComplexType)


def is_float(x: Value | Type) -> bool:
    return isinstance(element_of(x), FloatType)


def is_integer(x: Value | Type) -> bool:
    element = element_of(x)
    return (isinstance(element, IntegerType) and element != BOOL) or isinstance(element, IndexType)


def quant_of(x: Value) -> QuantType:
    """The quantized element type of a value that is constrained to have one."""
    if (quant := x.quant) is None:
        raise TypeError(f"a value of type {x.type} is not quantized")
    return quant


def storage_of(x: Value | Type) -> Type:
    """`storage_type`, or the element type of what is not quantized."""
    element = element_of(x)
    return element.storage if isinstance(element, QuantType) else element


def expressed_of(x: Value | Type) -> Type:
    """`expressed_type`, or the element type of what is not quantized."""
    element = element_of(x)
    return element.expressed if isinstance(element, QuantType) else element


def baseline(x: Value | Type) -> Any:
    """`baseline_element_type`: equal for quantized types that differ in scales and zero points only."""
    element = element_of(x)
    if isinstance(element, QuantType):
        return (element.storage, element.storage_min, element.storage_max, element.expressed, element.axis)
    return element


_FLOAT_BITS = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64, "tf32": 32}


def bits_of(element: Type) -> int:
    """`num_bits` of an element type (of a quantized one: of its storage)."""
    if isinstance(element, QuantType):
        element = element.storage
    if isinstance(element, IntegerType):
        return element.width
    if isinstance(element, ComplexType):
        return 2 * bits_of(element.element)
    if isinstance(element, FloatType):
        return _FLOAT_BITS.get(element.name) or int(element.name[1])
    return 64


def is_promotable(x: Type, y: Type) -> bool:
    """Whether a reduction over `x` may compute in `y`: the same kind, and no fewer bits."""
    x, y = element_of(x), element_of(y)
    if isinstance(x, QuantType) or isinstance(y, QuantType):
        return isinstance(x, QuantType) and isinstance(y, QuantType) and x.expressed == y.expressed and bits_of(x) <= bits_of(y)
    if x == BOOL or y == BOOL:
        return x == y
    return type(x) is type(y) and bits_of(x) <= bits_of(y)


def compatible(a: Sequence[int | None], b: Sequence[int | None]) -> bool:
    """Whether two shapes can be the same."""
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def sizes_fit(a: int | None, b: int | None) -> bool:
    """Whether two sizes can be the same."""
    return a is None or b is None or a == b


def compatible_types(a: Value | Type, b: Value | Type) -> bool:
    """Whether tensors can have the same shape: known sizes are equal, and not beyond the other's bounds."""
    x, y = _type(a), _type(b)
    if not compatible(shape_of(x), shape_of(y)):
        return False
    return all(
        size is None or bound is None or size <= bound
        for one, other in ((x, y), (y, x))
        for size, bound in zip(shape_of(one), bounds_of(other) or (), strict=False))


def same(items: Sequence[Any]) -> bool:
    return all(item == items[0] for item in items[1:])


def same_shape(*values: Value | Type) -> bool | str:
    """Whether shapes can be the same, or which they are."""
    if all(compatible_types(values[0], value) for value in values[1:]):
        return True
    if any(bounds_of(_type(value)) for value in values):
        return f"the types are {', '.join(str(_type(value)) for value in values)}"
    return f"the shapes are {', '.join(str(shape_of(value)) for value in values)}"


def same_type(*values: Value | Type) -> bool | str:
    """Whether types can be the same, or which they are."""
    types = [_type(value) for value in values]
    for other in types[1:]:
        if isinstance(other, TensorType) and isinstance(types[0], TensorType):
            if other.element != types[0].element or not compatible_types(types[0], other):
                return f"the types are {', '.join(map(str, types))}"
        elif other != types[0]:
            return f"the types are {', '.join(map(str, types))}"
    return True


def same_baseline(*values: Value | Type) -> bool | str:
    """Whether types can be the same but for scales and zero points, or which they are."""
    if same([baseline(value) for value in values]) and same_shape(*values) is True:
        return True
    return f"the types are {', '.join(str(_type(value)) for value in values)}"


# --- regions as functions


def result_types(region: Region) -> list[Type]:
    """The types that a region's terminator returns."""
    last = region.block.last
    return [] if last is None else [value.type for value in last.operands]


def function_types(region: Region) -> tuple[list[Type], list[Type]]:
    """Input and output types of a region."""
    return [argument.type for argument in region.block.arguments], result_types(region)
