"""Joining ops that compute the same."""

from __future__ import annotations

from typing import Any

from ..ir import Block, Dense, Op

__all__ = ["eliminate_common_subexpressions"]

_SMALL = 1 << 12


def eliminate_common_subexpressions(module: Op) -> bool:
    """Let ops of the same name, operands, attributes and result types share one result, block by block.

    Ops with effects or regions are left alone. Constants are compared by digest, and only those of the
    same type and size. The first op stays; where only the later one carries a tensor's name, it gets it.
    """
    modified = False
    for op in module.walk():
        for region in op.regions:
            for block in region.blocks:
                modified |= _join_in(block)
    return modified


def _join_in(block: Block) -> bool:
    seen: dict[Any, Op] = {}
    modified = False
    for op in block:
        declaration = op.declaration
        if declaration is None or not declaration.pure or "random" in declaration.traits or op.regions or not op.results:
            continue
        key = (op.name, op.operands, tuple(result.type for result in op.results), _attributes(op))
        first = seen.setdefault(key, op)
        if first is op:
            continue
        if isinstance(op.location, str) and not isinstance(first.location, str):
            first.location = op.location
        op.replace_with(first.results)
        modified = True
    return modified


def _attributes(op: Op) -> tuple[Any, ...]:
    return tuple(sorted(((key, _hashable(value)) for key, value in op.attributes.items()), key=lambda item: item[0]))


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return ("list", *map(_hashable, value))
    if isinstance(value, dict):
        return ("dict", *sorted((key, _hashable(item)) for key, item in value.items()))
    if isinstance(value, Dense):
        # Small constants by digest, so that the many of one type do not meet in one bucket; large ones are
        # hashed by type, and compared by identity or digest only where another of that type turns up.
        return value.digest() if value.nbytes <= _SMALL else value
    return (type(value).__name__, getattr(value, "type", None), repr(value) if isinstance(value, float) else value)
