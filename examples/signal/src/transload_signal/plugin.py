"""What the package registers. Code is named as text and imported when it is first used."""

from __future__ import annotations

from typing import Any

from transload import Conversion, DialectSpec, Facts, hookimpl

_HERE = "transload_signal"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec("signal", f"{_HERE}.ops:SIGNAL", f"{_HERE}.kernels:KERNELS", "Operations on sampled signals."))


@hookimpl
def register_facts(register: Any) -> None:
    # Each line makes our ops take part in something that the hub's ops take part in.
    register(Facts("canonicalization", "signal", f"{_HERE}.facts:SIMPLER"))
    register(Facts("layout", "signal", f"{_HERE}.facts:LAYOUT"))
    register(Facts("interval", "signal", f"{_HERE}.facts:INTERVALS"))
    register(Facts("integer-width", "signal", f"{_HERE}.facts:WIDTHS"))
    register(Facts("error-bound", "signal", f"{_HERE}.facts:ERROR_BOUNDS"))
    register(Facts("moves", "signal", f"{_HERE}.facts:MOVES"))


@hookimpl
def register_conversions(register: Any) -> None:
    # All join conversions that exist: their tables gain our rewrites.
    register(Conversion("signal-from-tflite", "tfl", "top", table=f"{_HERE}.conversions:FROM_TFLITE", extends="tfl-to-top"))
    register(Conversion("signal-to-tosa", "signal", "tosa", table=f"{_HERE}.conversions:TO_TOSA", extends="top-to-tosa"))
    register(Conversion(
        "signal-to-stablehlo", "signal", "stablehlo", table=f"{_HERE}.conversions:TO_STABLEHLO", extends="top-to-stablehlo"))
