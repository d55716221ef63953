"""Joining ops that compute the same."""

from __future__ import annotations

from typing import Any

from ..ir import ArrayData, Block, Dense, DenseArray, Op

__all__ = ["eliminate_common_subexpressions"]

_SMALL = 1 << 12
"""Bytes up to which a constant's bytes are its key."""


def eliminate_common_subexpressions(module: Op) -> bool:
    """Let ops of the same name, operands, attributes and result types share one result.

    An op shares with an earlier one of its block, or of a block around it. Ops with effects or regions
    are left alone. Constants are compared by digest, and only those of the same type. The first op
    stays; where only the later one carries a tensor's name, it gets it.
    """
    modified = False
    for region in module.regions:
        for block in region.blocks:
            modified |= _join_in(block, [])
    return modified


Seen = dict[Any, Op]


def _join_in(block: Block, outer: list[Seen]) -> bool:
    seen: Seen = {}
    scopes = [seen, *outer]
    modified = False
    for op in block:
        declaration = op.declaration
        for region in op.regions:
            # A function knows nothing of what is around it.
            visible = [] if op.name == "func.func" else scopes
            for inner in region.blocks:
                modified |= _join_in(inner, visible)
        if declaration is None or not declaration.pure or "random" in declaration.traits or op.regions or not op.results:
            continue
        key = (op.name, _operands(op, declaration), tuple([result.type for result in op.results]), _attributes(op))
        first = seen.get(key) or next((scope[key] for scope in outer if key in scope), None)
        if first is None:
            seen[key] = op
            continue
        if isinstance(op.location, str) and not isinstance(first.location, str):
            first.location = op.location
        op.replace_with(first.results)
        modified = True
    return modified


def _operands(op: Op, declaration: Any) -> Any:
    if "commutative" in declaration.traits and "coeff" not in op.attributes:
        return tuple(sorted(map(id, op.operands)))
    return tuple(map(id, op.operands))


def _attributes(op: Op) -> tuple[Any, ...]:
    attributes = op.attributes
    if not attributes:
        return ()
    return tuple([(key, _hashable(attributes[key])) for key in sorted(attributes)])


def _hashable(value: Any) -> Any:
    """Something that is equal for equal attributes only: `True` is not `1`, `0.0` not `-0.0`."""
    if isinstance(value, Dense):
        # Many constants are of one type, and would all meet in one bucket: small ones are told apart by their bytes, large
        # ones by a sample of them, and compared by identity or digest only where the samples are equal.
        small = isinstance(value.data, ArrayData) and value.nbytes <= _SMALL
        return ("dense", value.type, value.tobytes()) if small else ("dense", value.sample(), value)
    if isinstance(value, list):
        return ("list", *map(_hashable, value))
    if isinstance(value, dict):
        return ("dict", *sorted(((key, _hashable(item)) for key, item in value.items()), key=lambda item: item[0]))
    if isinstance(value, (tuple, float)):
        of = value.element if isinstance(value, DenseArray) else getattr(value, "type", None)
        return (type(value).__name__, of, repr(value))
    return (type(value).__name__, getattr(value, "type", None), value)
