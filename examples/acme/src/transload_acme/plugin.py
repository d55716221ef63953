"""What Acme registers. Code is named as text and imported when it is first used."""

from __future__ import annotations

from typing import Any

from transload import Conversion, DialectSpec, hookimpl


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec("acme", "transload_acme.hard_mish:ACME", "transload_acme.hard_mish:KERNELS", "Acme's operations."))


@hookimpl
def register_conversions(register: Any) -> None:
    # Both join conversions that exist: their tables gain our rewrites.
    register(Conversion("acme-from-tflite", "tfl", "top", table="transload_acme.hard_mish:FROM_TFLITE", extends="tfl-to-top"))
    register(Conversion("acme-to-tosa", "acme", "tosa", table="transload_acme.hard_mish:TO_TOSA", extends="top-to-tosa"))


@hookimpl
def register_targets(register: Any) -> None:
    from .npu import AcmeNpu

    register(AcmeNpu())
