"""IREE: programs compiled for CPUs, and for GPUs through CUDA, ROCm and Vulkan, as `.vmfb` modules for its runtime."""

from __future__ import annotations

from typing import Any

from transload import hookimpl


@hookimpl
def register_targets(register: Any) -> None:
    from .backends import BACKENDS
    from .target import IreeTarget

    for backend in BACKENDS:
        register(IreeTarget(backend))
