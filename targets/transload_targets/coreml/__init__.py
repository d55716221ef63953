"""Core ML: an ML Program (`.mlpackage`) for Apple's CPUs, GPUs and Neural Engine, made by coremltools."""

from __future__ import annotations

from typing import Any

from transload import hookimpl


@hookimpl
def register_targets(register: Any) -> None:
    from .target import CoremlTarget

    register(CoremlTarget())
