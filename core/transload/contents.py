"""What is in a module: dialects, ops, bytes."""

from __future__ import annotations

from collections import Counter

from .ir import Dense, Module

__all__ = ["STRUCTURE", "constant_bytes", "dialects_in", "main_dialect", "op_counts"]

STRUCTURE = ("builtin", "func")
"""Dialects that only hold a module together and are part of every other."""


def dialects_in(module: Module) -> Counter[str]:
    """How many ops of each dialect a module has; module and functions themselves left out."""
    counts: Counter[str] = Counter()
    for name, count in Counter([op.name for op in module.walk()]).items():
        dialect = name.partition(".")[0]
        if dialect not in STRUCTURE:
            counts[dialect] += count
    return counts


def op_counts(module: Module) -> dict[str, int]:
    """How many ops of each name, the most frequent first; constants and structure left out."""
    counts = Counter(
        op.name for op in module.walk()
        if op.dialect not in STRUCTURE and not (op.declaration is not None and op.declaration.traits & {"constant", "terminator"})
        and not (op.results and str(op.results[0].type) == "none")
    )
    return dict(counts.most_common())


def constant_bytes(module: Module) -> int:
    """Bytes of all constants, each counted once."""
    seen = {id(a.data): a.nbytes for op in module.walk() for a in op.attributes.values() if isinstance(a, Dense)}
    return sum(seen.values())


def main_dialect(module: Module) -> str:
    """The dialect a module is written in: the one most of its ops are of (`builtin` of an empty one)."""
    counts = dialects_in(module)
    return counts.most_common(1)[0][0] if counts else "builtin"
