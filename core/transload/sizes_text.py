"""Sizes of tensors in words."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["sizes_text"]


def sizes_text(sizes: Iterable[int | str | None]) -> str:
    """Sizes as `--shape` takes them, `1x3x8`; one that is not known is `?`, and where there are none it is a `scalar`."""
    return "x".join("?" if size is None else str(size) for size in sizes) or "scalar"
