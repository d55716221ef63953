"""Core ML: an ML Program (`.mlpackage`) for Apple's CPUs, GPUs and Neural Engine, made by coremltools."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Pass


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("coreml-check-rounding", "transload_targets.coreml.rounding:check_rounding",
                  "Refuse quantized ops that Core ML would round otherwise, unless its rounding is asked for."))
    register(Pass("coreml-narrow-doubles", "transload_targets.coreml.doubles:narrow_doubles",
                  "Make numbers of f64 f32, noted on the module, or refuse them."))


@hookimpl
def register_targets(register: Any) -> None:
    from .target import CoremlTarget

    register(CoremlTarget())
