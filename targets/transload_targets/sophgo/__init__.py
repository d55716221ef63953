"""Sophgo's tensor processors by way of TPU-MLIR: its Top dialect as text and weights, its compiler, its simulator."""

from __future__ import annotations

from typing import Any

from transload import hookimpl


@hookimpl
def register_targets(register: Any) -> None:
    from .target import SophgoTarget

    register(SophgoTarget())
