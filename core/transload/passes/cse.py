"""Joining ops that compute the same."""

from __future__ import annotations

from typing import Any

from ..ir import Block, Dense, DenseArray, Op, TensorType, Type

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


class _Seen:
    """The ops of a block that others may share the results of.

    Most ops are told apart by their names and operands (`_key`) alone; attributes and types (`_rest`) are looked at only
    where these are the same.
    """

    __slots__ = ("first", "more")

    def __init__(self) -> None:
        self.first: dict[Any, Op] = {}
        self.more: dict[Any, Op] = {}
        """Those whose key another op had before: by the key and the rest."""

    def find(self, key: Any, op: Op) -> Op | None:
        """An earlier op that computes the same."""
        found = self.first.get(key)
        if found is None:
            return None
        rest = _rest(op)
        return found if _rest(found) == rest else self.more.get((key, rest))

    def add(self, key: Any, op: Op) -> None:
        if self.first.setdefault(key, op) is not op:
            self.more[key, _rest(op)] = op


def _join_in(block: Block, outer: list[_Seen]) -> bool:
    seen = _Seen()
    scopes = [seen, *outer]
    modified = False
    for op in block:
        if op.regions:
            # A function knows nothing of what is around it.
            visible = [] if op.name == "func.func" else scopes
            for region in op.regions:
                for inner in region.blocks:
                    modified |= _join_in(inner, visible)
            continue
        key = _key(op)
        if key is None:
            continue
        first = None
        for scope in scopes:
            first = scope.find(key, op)
            if first is not None:
                break
        else:
            seen.add(key, op)
            continue
        if isinstance(op.location, str) and not isinstance(first.location, str):
            first.location = op.location
        op.replace_with(first.results)
        modified = True
    return modified


def _key(op: Op) -> Any:
    """What is equal for ops that compute the same, and for few others; None for an op that must stay by itself."""
    declaration = op.declaration
    if declaration is None or not declaration.pure or not op.results or "random" in declaration.traits:
        return None
    operands = op.operands
    if not operands:  # a constant: what it holds is all that tells it from others
        return op.name, _rest(op)
    if len(operands) > 1 and "commutative" in declaration.traits and "coeff" not in op.attributes:
        return op.name, *sorted(map(id, operands))
    return op.name, *map(id, operands)


def _rest(op: Op) -> Any:
    """What is equal for ops of one key that compute the same: types and attributes."""
    results, attributes = op.results, op.attributes
    types = _parts(results[0].type) if len(results) == 1 else tuple([result.type for result in results])
    if len(attributes) == 1:
        (name, value), = attributes.items()
        return types, name, _hashable(value)
    return types, tuple([(name, _hashable(attributes[name])) for name in sorted(attributes)])


def _parts(type_: Type) -> Any:
    """A type as what hashes and compares quickly."""
    return (type_.shape, type_.element, type_.encoding) if type(type_) is TensorType else type_


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
