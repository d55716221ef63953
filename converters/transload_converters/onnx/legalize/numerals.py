"""Constant texts that are cast to numbers, as the converters of some networks leave them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F64, FloatType, IntegerType, Type, Value, dtype_of

__all__ = ["CASTS", "Texts", "numbers_of"]

CASTS = ("onnx.Cast", "onnx.CastLike")
"""The operators that make numbers of texts, which are their first operand."""
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_LONGEST = 1000
"""Characters of a numeral."""


@dataclass
class Texts:
    """What a run of the table notes: the texts and shapes of constants, by what stands in their place."""

    held: dict[Value, tuple[tuple[str, ...], tuple[int, ...] | None]] = field(default_factory=dict)


def numbers_of(texts: tuple[str, ...], shape: tuple[int, ...] | None, element: Type) -> np.ndarray:
    """What texts say as numbers of `element` where that is whole numbers or f64, and of f32, to be cast, for other floats.

    Raises `Unsupported` for texts that are no numerals of such a type: of those, runtimes make what they like. ONNX's definition
    of Cast has decimal ones, with an exponent, `INF` and `NaN` in any case for floats, and digits for whole numbers.
    """
    if not isinstance(element, FloatType | IntegerType) or element == BOOL:
        raise Unsupported(f"casts texts to {element}, and only numbers are made of texts")
    pattern = _FLOAT if isinstance(element, FloatType) else _WHOLE
    numerals = [text.strip(" ") for text in texts]
    wrong = next((text for text in numerals if len(text) > _LONGEST or not pattern.fullmatch(text)), None)
    if wrong is not None:
        raise Unsupported(f"casts the text {wrong[:50]!r} to {element}, of which it is no number",
                          "write a numeral there, or let the program that runs the model work on the text")
    if isinstance(element, FloatType):
        made = np.array([float(text) for text in numerals], np.float64)
        with np.errstate(over="ignore"):  # infinite, as every number that is too large
            made = made if element == F64 else made.astype(np.float32)
    else:
        low, high = element.range
        far = next((text for text in numerals if not low <= int(text) <= high), None)
        if far is not None:
            raise Unsupported(f"casts the text {far[:50]!r} to {element}, which has {low} to {high}")
        made = np.array([int(text) for text in numerals], dtype_of(element))
    if shape is None or math.prod(shape) != len(made):
        raise Unsupported(f"casts {len(made)} texts that have {'no shape' if shape is None else f'the shape {list(shape)}'}")
    return made.reshape(shape)
