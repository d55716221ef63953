"""Pieces of Markdown that the generated pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["cell", "table"]


def cell(text: object) -> str:
    """Text that can stand in a table's cell."""
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a line of column heads."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"
