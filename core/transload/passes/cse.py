"""Joining ops that compute the same."""

from __future__ import annotations

from typing import Any

from ..ir import Block, Dense, DenseArray, Op

__all__ = ["eliminate_common_subexpressions"]

_PLAIN = frozenset({bool, int, str, type(None)})
"""Kinds of attributes that are equal where kind and value are."""


def eliminate_common_subexpressions(module: Op) -> bool:
    """Let ops of the same name, operands, attributes and result types share one result.

    An op shares with an earlier one of its block, or of a block around it. Ops with effects or regions
    are left alone. Constants are compared by digest, and only those of the same type. The first op
    stays; where only the later one carries a tensor's name, it gets it.
    """
    return any([_join_in(block, []) for region in module.regions for block in region.blocks])  # noqa: C419 - every one of them


Seen = dict[Any, Op]


def _join_in(block: Block, outer: list[Seen]) -> bool:
    seen: Seen = {}
    modified = False
    for op in block:
        if op.regions:
            # A function knows nothing of what is around it.
            visible = [] if op.name == "func.func" else [seen, *outer]
            for region in op.regions:
                for inner in region.blocks:
                    modified |= _join_in(inner, visible)
            continue
        key = _key(op)
        if key is None:
            continue
        first = seen.setdefault(key, op)
        if first is op:
            if outer:
                first = next((scope[key] for scope in outer if key in scope), op)
            if first is op:
                continue
            del seen[key]
        if isinstance(op.location, str) and not isinstance(first.location, str):
            first.location = op.location
        op.replace_with(first.results)
        modified = True
    return modified


def _key(op: Op) -> Any:
    """What is equal for ops that compute the same; None for an op that must stay by itself."""
    declaration, results, attributes = op.declaration, op.results, op.attributes
    if declaration is None or not declaration.pure or not results or "random" in declaration.traits:
        return None
    operands: Any = tuple(map(id, op.operands))
    if "commutative" in declaration.traits and "coeff" not in attributes:
        operands = tuple(sorted(operands))
    types = results[0].type if len(results) == 1 else tuple([result.type for result in results])
    if len(attributes) == 1:
        (name, value), = attributes.items()
        return op.name, operands, types, name, _hashable(value)
    return op.name, operands, types, tuple([(name, _hashable(attributes[name])) for name in sorted(attributes)])


def _hashable(value: Any) -> Any:
    """Something that is equal for equal attributes only: `True` is not `1`, `0.0` not `-0.0`."""
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if isinstance(value, Dense):
        return "dense", value.key()
    if isinstance(value, list):
        return ("list", *map(_hashable, value))
    if isinstance(value, dict):
        return ("dict", *sorted(((key, _hashable(item)) for key, item in value.items()), key=lambda item: item[0]))
    if isinstance(value, (tuple, float)):
        of = value.element if isinstance(value, DenseArray) else getattr(value, "type", None)
        return (type(value).__name__, of, repr(value))
    return (type(value).__name__, getattr(value, "type", None), value)
