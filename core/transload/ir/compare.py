"""Whether two pieces of IR are the same but for the identity of their objects."""

from __future__ import annotations

import math
from typing import Any

from .attributes import DenseArray, FloatAttr, IntAttr
from .constants import Dense, ElidedData
from .core import Block, Op, Value
from .locations import NamedLocation

__all__ = ["difference", "same_attribute", "same_structure"]


def same_structure(a: Op, b: Op, *, locations: bool = True) -> bool:
    """Whether `a` and `b` are the same ops, types, attributes, constants and (unless left out) locations."""
    return difference(a, b, locations=locations) is None


def difference(a: Op, b: Op, *, locations: bool = True) -> str | None:
    """What first differs between `a` and `b`, in words; None where nothing does."""
    return _op(a, b, {}, locations)


def same_attribute(a: Any, b: Any) -> bool:
    """Whether two attributes are the same, types included: `True` is not `1`, and NaN is itself."""
    if type(a) is not type(b):
        return False
    if isinstance(a, IntAttr):
        return int(a) == int(b) and a.type == b.type
    if isinstance(a, float):
        if isinstance(a, FloatAttr) and a.type != b.type:
            return False
        return (math.isnan(a) and math.isnan(b)) or (float(a) == float(b) and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, DenseArray) and a.element != b.element:
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same_attribute, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_attribute(a[key], b[key]) for key in a)
    if isinstance(a, Dense):
        both_elided = isinstance(a.data, ElidedData) and isinstance(b.data, ElidedData)
        return a.type == b.type and (both_elided or a == b)
    return bool(a == b)


def _op(a: Op, b: Op, values: dict[Value, Value], locations: bool) -> str | None:
    where = f"{a.name} {a.origin!r}" if a.origin else a.name
    if a.name != b.name:
        return f"{where} is {b.name}"
    if len(a.operands) != len(b.operands):
        return f"{where}: {len(a.operands)} operands, {len(b.operands)}"
    for index, (old, new) in enumerate(zip(a.operands, b.operands, strict=True)):
        if values.get(old, new) is not new:
            return f"{where}: operand {index} is another value"
        if old.type != new.type:
            return f"{where}: operand {index} is of type {old.type}, {new.type}"
        values[old] = new  # a value that is defined later, or outside
    if [v.type for v in a.results] != [v.type for v in b.results]:
        return f"{where}: results ({', '.join(str(v.type) for v in a.results)}), ({', '.join(str(v.type) for v in b.results)})"
    if a.attributes.keys() != b.attributes.keys():
        return f"{where}: attributes {sorted(a.attributes)}, {sorted(b.attributes)}"
    for key, value in a.attributes.items():
        if not same_attribute(value, b.attributes[key]):
            return f"{where}: {key} is {value!r:.200}, {b.attributes[key]!r:.200}"
    if locations and not _same_location(a.location, b.location):
        return f"{where}: location {a.location!r:.200}, {b.location!r:.200}"
    for old, new in zip(a.results, b.results, strict=True):
        if values.setdefault(old, new) is not new:
            return f"{where}: another value was used in its place"
    if len(a.regions) != len(b.regions):
        return f"{where}: {len(a.regions)} regions, {len(b.regions)}"
    for old_region, new_region in zip(a.regions, b.regions, strict=True):
        if len(old_region.blocks) != len(new_region.blocks):
            return f"{where}: {len(old_region.blocks)} blocks, {len(new_region.blocks)}"
        for old_block, new_block in zip(old_region.blocks, new_region.blocks, strict=True):
            found = _block(old_block, new_block, values, locations)
            if found is not None:
                return found
    return None


def _block(a: Block, b: Block, values: dict[Value, Value], locations: bool) -> str | None:
    if [v.type for v in a.arguments] != [v.type for v in b.arguments]:
        return f"block arguments ({', '.join(str(v.type) for v in a.arguments)}), ({', '.join(str(v.type) for v in b.arguments)})"
    for old, new in zip(a.arguments, b.arguments, strict=True):
        if locations and not _same_location(old.location, new.location):
            return f"location of argument {old.index}: {old.location!r:.200}, {new.location!r:.200}"
        values[old] = new
    if len(a) != len(b):
        return f"{len(a)} ops in a block, {len(b)}"
    for old_op, new_op in zip(a, b, strict=True):
        found = _op(old_op, new_op, values, locations)
        if found is not None:
            return found
    return None


def _same_location(a: Any, b: Any) -> bool:
    if isinstance(a, NamedLocation) or isinstance(b, NamedLocation):
        return a == b and _same_location(getattr(a, "child", None), getattr(b, "child", None))
    return bool(a == b)
