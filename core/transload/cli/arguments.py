"""Arguments that are small languages: `name:1x3x224x224:float32`, `key=value`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import UsageError
from ..ir import NONE, TensorType, Type
from ..ir.constants import element_type_of

__all__ = ["parse_inputs", "parse_options"]


def parse_inputs(texts: Sequence[str]) -> dict[str, TensorType]:
    """`NAME:SHAPE[:DTYPE]` to types by name. Names may hold colons: the shape is looked for from the right."""
    return dict(_parse_input(text) for text in texts)


def _parse_input(text: str) -> tuple[str, TensorType]:
    parts = text.split(":")
    for at in (len(parts) - 1, len(parts) - 2):
        shape = _shape(parts[at]) if at >= 1 else None
        if shape is not None:
            element = _element(parts[at + 1], text) if at + 1 < len(parts) else NONE
            return ":".join(parts[:at]), TensorType(shape, element)
    raise UsageError(f"--input {text!r} does not read as NAME:SHAPE[:DTYPE]", hint="as image:1x3x224x224, or step:scalar:int64")


def _shape(text: str) -> tuple[int, ...] | None:
    if text == "scalar":
        return ()
    sizes = text.split("x")
    return tuple(map(int, sizes)) if all(size.isascii() and size.isdigit() and len(size) < 10 for size in sizes) else None


def _element(name: str, text: str) -> Type:
    import ml_dtypes

    try:
        return element_type_of(getattr(ml_dtypes, name, None) or np.dtype(name))
    except (TypeError, ValueError):
        raise UsageError(f"--input {text!r}: {name!r} is no element type", hint="as float32, int8, uint8, bfloat16") from None


def parse_options(texts: Sequence[str]) -> dict[str, str]:
    """`KEY=VALUE` to a dictionary."""
    options: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--option {text!r} does not read as KEY=VALUE")
        options[key] = value
    return options

