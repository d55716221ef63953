"""StableHLO: the dialect, and the kernels that execute it to its specification."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.facts import Facts
from transload.plugin import Conversion, DialectSpec

_HERE = "transload_plugins.stablehlo"


@hookimpl
def register_dialects(register: Any) -> None:
    register(
        DialectSpec(
            "stablehlo",
            f"{_HERE}.dialect:STABLEHLO",
            f"{_HERE}.kernels:KERNELS",
            "Portable operations, the exchange format of XLA's world.",
        )
    )


@hookimpl
def register_facts(register: Any) -> None:
    register(Facts("moves", "stablehlo", f"{_HERE}.facts:MOVES"))
    register(Facts("cast", "stablehlo", f"{_HERE}.facts:CASTS"))
    register(Facts("control", "stablehlo", f"{_HERE}.facts:CONTROL"))
    register(Facts("interval", "stablehlo", f"{_HERE}.intervals:INTERVALS"))


@hookimpl
def register_conversions(register: Any) -> None:
    register(
        Conversion(
            "stablehlo-to-top",
            "stablehlo",
            "top",
            run=f"{_HERE}.raising:raise_module",
            table=f"{_HERE}.raising:TABLE",
            doc="StableHLO to the hub, op by op, and then by what several ops say together.",
        )
    )
    register(
        Conversion(
            "top-to-stablehlo",
            "top",
            "stablehlo",
            run=f"{_HERE}.lowering:lower",
            table=f"{_HERE}.lowering:TABLE",
            doc="The hub to StableHLO: float and integer models directly, quantized ones by way of TOSA.",
            options={
                "int64": (("proved", "assumed"), "proved", "how i64 of quantized models becomes i32, as in TOSA")
            },
        )
    )
    register(
        Conversion(
            "tosa-to-stablehlo",
            "tosa",
            "stablehlo",
            run=f"{_HERE}.from_tosa:convert",
            table=f"{_HERE}.from_tosa:TABLE",
            doc="TOSA to StableHLO: integers to the same bits.",
        )
    )
