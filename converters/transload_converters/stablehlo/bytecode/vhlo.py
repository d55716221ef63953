"""Attributes and types of VHLO, the versioned copy of StableHLO that portable artifacts are written in.

They are read as what they mean in StableHLO at once: a `#vhlo.integer_v1` is an integer, a `!vhlo.tensor_v1` a tensor.
The numbers are those of upstream's encoding (`VhloBytecode.cpp`), which says that they never change.
"""

from __future__ import annotations

from typing import Any

from transload.ir.attributes import IntAttr
from transload.ir.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I32,
    INDEX,
    NONE,
    ComplexType,
    DialectType,
    FloatType,
    FunctionType,
    IntegerType,
    TensorType,
    TupleType,
    Type,
)

from . import quant, stablehlo
from .builtin import buffer_type, double, scalar, tensor_type, typed_integer
from .constants import dense_of
from .cursor import UnknownConstruct
from .entries import ABSENT, EntryCursor
from .meshes import Axis, Mesh, MeshAxis, SubAxis, groups_along
from .sdy import is_passed_over

__all__ = ["read_attribute", "read_type"]


def read_attribute(r: EntryCursor, code: int) -> Any:
    """An attribute of VHLO, as what it is in StableHLO."""
    try:
        decode = _ATTRIBUTES[code]
    except KeyError:
        raise UnknownConstruct(f"attribute {code} of VHLO is not known") from None
    return decode(r)


def _enum(word: str, names: dict[int, str]) -> Any:
    return lambda r: stablehlo.enum_attribute(word, r.enum(names, word))


def _boolean(r: EntryCursor) -> bool:
    value = r.varint()
    if value > 1:
        r.error(f"a boolean is {value}")
    return bool(value)


def _dictionary(r: EntryCursor) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(r.count("attributes", 2)):
        name = r.attribute()
        if not isinstance(name, str) or name in found:
            r.error("a name in a dictionary is no text, or there twice")
        found[name] = r.attribute()
    return {name: found[name] for name in sorted(found) if not is_passed_over(name, found[name])}


def _tensor(r: EntryCursor) -> Any:
    type_ = r.type()
    return dense_of(type_, r.blob())


def _accuracy(r: EntryCursor) -> Any:
    atol, rtol, ulps, mode = double(r), double(r), r.signed(), r.attribute()
    word = str(getattr(mode, "text", "")).removesuffix(">").split()[-1:] or [""]
    return stablehlo.accuracy(atol, rtol, ulps, word[0])


TENSOR = 15
"""The code of a constant: its type, and its bytes behind their number."""

_ATTRIBUTES: dict[int, Any] = {
    1: lambda r: r.attributes(),
    2: _boolean,
    3: _enum("comparison_direction", stablehlo.COMPARISONS),
    4: _enum("comparison_type", stablehlo.COMPARISON_TYPES),
    5: lambda r: IntAttr(int(r.enum({code: str(code) for code in range(5)}, "version of the interface of custom calls")), I32),
    6: _dictionary,
    7: _enum("fft_type", stablehlo.FFT_TYPES),
    8: lambda r: scalar(r, r.type()),
    9: lambda r: typed_integer(r, r.type()),
    10: lambda r: stablehlo.alias(r.signed_list(), r.signed(), r.signed_list()),
    11: _enum("precision", stablehlo.PRECISIONS),
    12: _enum("rng_algorithm", stablehlo.RNG_ALGORITHMS),
    13: _enum("rng_distribution", stablehlo.RNG_DISTRIBUTIONS),
    14: lambda r: r.string(),
    TENSOR: _tensor,
    16: _enum("transpose", stablehlo.TRANSPOSES),
    17: lambda r: r.type(),
    18: lambda r: stablehlo.bounds(r.signed_list()),
    19: _enum("result_accuracy_mode", stablehlo.MODES),
    20: _accuracy,
    21: lambda r: SubAxis(r.signed(), r.signed()),
    22: lambda r: Axis(r.attribute(), r.attribute() if _boolean(r) else None),
    23: lambda r: groups_along(r.attribute(), r.attribute()),
    24: lambda r: MeshAxis(r.attribute(), r.signed()),
    25: lambda r: Mesh(r.attribute(), None if (devices := r.optional()) is ABSENT else devices),
}


def read_type(r: EntryCursor, code: int) -> Type:
    """A type of VHLO, as what it is in StableHLO."""
    try:
        return _TYPES[code](r)
    except KeyError:
        raise UnknownConstruct(f"type {code} of VHLO is not known") from None


def _plain(type_: Type) -> Any:
    return lambda r: type_


_TYPES: dict[int, Any] = {
    0: _plain(BOOL), 1: lambda r: ComplexType(r.type()), 2: _plain(BF16), 3: _plain(F16), 4: _plain(F32), 5: _plain(F64),
    8: lambda r: FunctionType(r.types(), r.types()), 9: _plain(INDEX), 20: tensor_type,
    21: lambda r: tensor_type(r, r.attribute()), 22: _plain(stablehlo.TOKEN), 23: lambda r: TupleType(r.types()),
    24: quant.per_tensor, 25: lambda r: TensorType(None, r.type()), 26: _plain(DialectType("shape.witness")), 30: quant.per_axis,
    33: _plain(NONE), 41: buffer_type, 42: lambda r: stablehlo.future(r.types()),
}
for _code, _width in {10: 4, 11: 8, 12: 16, 13: 32, 14: 64, 31: 2}.items():
    _TYPES[_code] = _plain(IntegerType(_width))
for _code, _width in {15: 4, 16: 8, 17: 16, 18: 32, 19: 64, 32: 2}.items():
    _TYPES[_code] = _plain(IntegerType(_width, "u"))
for _code, _name in {
    6: "f8E4M3FN", 7: "f8E5M2", 27: "f8E4M3FNUZ", 28: "f8E5M2FNUZ", 29: "f8E4M3B11FNUZ", 34: "tf32", 35: "f8E4M3", 36: "f8E3M4",
    37: "f4E2M1FN", 38: "f6E2M3FN", 39: "f6E3M2FN", 40: "f8E8M0FNU",
}.items():
    _TYPES[_code] = _plain(FloatType(_name))
