"""What sizes, ranks and scales a module that was read may have, whatever its format: one set of limits for all readers.

Everything behind the readers relies on it: products of sizes fit into 64 bits, and no type is so large that it stands for
nothing that can be computed.
"""

from __future__ import annotations

import math

from .errors import Finding, ReadError, merge_findings
from .ir import Module, QuantType, TensorType, Type, Value

__all__ = ["MAX_ELEMENTS", "MAX_NAME", "MAX_RANK", "beyond", "check_limits"]

MAX_RANK = 64
"""Dimensions of a tensor: numpy's limit."""
MAX_ELEMENTS = 1 << 36
"""Elements of a tensor: of bytes, 64 GB."""
MAX_NAME = 1 << 16
"""Characters of a tensor's name."""


def check_limits(module: Module, name: str) -> None:
    """Raise `ReadError` with every value of a module, read from the file `name`, whose type or name is beyond the limits."""
    findings: list[Finding] = []

    def look(value: Value, what: str) -> None:
        why = beyond(value.type)
        if why:
            findings.append(Finding(what, why, (value.name,) if value.name else ()))

    for op in module.walk():
        if isinstance(op.location, str) and len(op.location) > MAX_NAME:
            findings.append(Finding(op.name, f"has a name of {len(op.location):,} characters; {MAX_NAME:,} are the limit"))
        for value in op.results:
            look(value, op.name)
        for region in op.regions:
            for block in region.blocks:
                for value in block.arguments:
                    look(value, f"an argument of {op.name}")
    if findings:
        raise ReadError(f"{name}: {len(findings)} value(s) are beyond what can be computed", merge_findings(findings))


def beyond(type_: Type) -> str:
    """What about a type is beyond the limits; nothing where it is within them."""
    if not isinstance(type_, TensorType):
        return ""
    element = type_.element
    if isinstance(element, QuantType):
        if not element.has_sound_scales:
            return f"has a scale that is negative or not finite: {str(type_)[:120]}"
        least, most = element.storage.range
        if not least <= element.storage_min <= element.storage_max <= most:
            numbers = f"{element.storage_min} to {element.storage_max}"
            return f"stores numbers from {numbers}, and {element.storage} has {least} to {most}"
    shape = type_.shape
    if shape is None or (len(shape) <= MAX_RANK and None not in shape and 0 < math.prod(shape) <= MAX_ELEMENTS):  # type: ignore[arg-type]
        return ""
    if len(shape) > MAX_RANK:
        return f"has {len(shape)} dimensions; {MAX_RANK} are the limit"
    known = [size for size in shape if size is not None]
    if max(known, default=0) > MAX_ELEMENTS or math.prod(filter(None, known)) > MAX_ELEMENTS:
        return f"has {' x '.join('?' if size is None else str(size) for size in shape)} elements; {MAX_ELEMENTS:,} are the limit"
    return ""
