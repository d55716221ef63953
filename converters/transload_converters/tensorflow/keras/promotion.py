"""The element type that operands of several types have together in Keras 3: JAX's lattice, in which numbers of Python are weak.

A weak integer or float takes the type of what it stands beside, where that is one of its kind: `f16 + 2.5` is f16, `i8 + 2` is
i8, and `i8 + 2.5` is a float of 32 bits. Source: keras/src/backend/common/dtypes.py, and
https://docs.jax.dev/en/latest/type_promotion.html.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes  # noqa: F401 - gives numpy bfloat16 by its name
import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, Type, Value, dtype_of, element_type_of

__all__ = ["WEAK_FLOAT", "promoted"]

WEAK_FLOAT = 0.0
"""Beside integers a float: what operations have among their operands that give floats."""

_ABOVE: dict[str, tuple[str, ...]] = {
    "bool": ("int",), "uint8": ("int16", "uint16"), "uint16": ("int32", "uint32"), "uint32": ("int64", "uint64"),
    "uint64": ("float",), "int": ("uint8", "int8", "complex64"), "int8": ("int16",), "int16": ("int32",), "int32": ("int64",),
    "int64": ("float",), "float": ("bfloat16", "float16"), "bfloat16": ("float32",), "float16": ("float32",),
    "float32": ("float64", "complex64"), "float64": ("complex128",), "complex64": ("complex128",), "complex128": ()}
"""What stands right above each type; `int` and `float` are the weak ones."""


@cache
def _bounds(name: str) -> frozenset[str]:
    """A type, and all that stand above it."""
    return frozenset({name}).union(*(_bounds(above) for above in _ABOVE[name]))


def promoted(*operands: Any, strict: bool = True) -> Type:
    """The element type of values, arrays and numbers together. `strict`: arrays and lists have types of their own, and are not
    weak as numbers are, which is so in Keras 3, and not in functions of TensorFlow.

    Raises `Unsupported` where there is none.
    """
    names = {_name(operand, strict) for operand in operands}
    unknown = names - _ABOVE.keys()
    if unknown and len(names) > 1:
        raise Unsupported(f"numbers of the types {', '.join(sorted(names))} do not go together")
    if unknown:
        return element_type_of(np.dtype(next(iter(names))))
    common = frozenset.intersection(*map(_bounds, names))
    least = next(name for name in common if common <= _bounds(name))
    return BOOL if least == "bool" else element_type_of(np.dtype({"int": "int32", "float": "float32"}.get(least, least)))


def _name(operand: Any, strict: bool) -> str:
    if isinstance(operand, Value):
        return "bool" if operand.element == BOOL else str(dtype_of(operand.element))
    array = np.asarray(operand)
    if array.dtype.kind == "b":
        return "bool"
    if isinstance(operand, np.ndarray) and strict:
        return str(array.dtype)
    if isinstance(operand, list | tuple) and strict:
        return {"i": "int32", "f": "float32"}.get(array.dtype.kind, str(array.dtype))
    return {"i": "int", "u": "int", "f": "float"}.get(array.dtype.kind, str(array.dtype))
