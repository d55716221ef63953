"""StableHLO: the dialect, and the kernels that execute it to its specification."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.facts import Facts
from transload.plugin import Conversion, DialectSpec, Pass

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
    register(Facts("steps", "stablehlo", f"{_HERE}.facts:STEPS"))
    register(Facts("products", "stablehlo", f"{_HERE}.facts:PRODUCTS"))
    register(Facts("integers", "stablehlo", f"{_HERE}.facts:INTEGERS"))
    register(Facts("known-call", "stablehlo", f"{_HERE}.raising.calls:KNOWN"))
    register(Facts("call-form", "stablehlo", f"{_HERE}.dialect.call_forms:KNOWN"))


@hookimpl
def register_conversions(register: Any) -> None:
    register(
        Conversion(
            "stablehlo-to-top",
            "stablehlo",
            "top",
            f"{_HERE}.raising:TABLE",
            before="inline,stablehlo-flatten-tuples,stablehlo-fill-in-sizes,dce,stablehlo-check-borders",
            after="recognize-quantized,fold-fake-quant{complete=false rounding=once},fold-constants,dce,cse,recognize,dce",
            entries=f"{_HERE}.raising.structure:entries",
            doc="StableHLO to the hub, op by op, and then by what several ops say together.",
        )
    )
    register(
        Conversion(
            "top-to-stablehlo",
            "top",
            "stablehlo",
            f"{_HERE}.lowering:TABLE",
            before="spell-out-weights,dequantize-weights,fold-constants,dce,stablehlo-check-types",
            after="dce,cse,dce",
            unfit=f"{_HERE}.lowering.types:why_not_directly",
            doc="The hub to StableHLO: float and integer models in their own layout and types. Quantized ones go by way of TOSA.",
        )
    )
    register(
        Conversion(
            "tosa-to-stablehlo",
            "tosa",
            "stablehlo",
            f"{_HERE}.from_tosa:TABLE",
            before="tosa-strip-quantized,stablehlo-variables,stablehlo-check-elements",
            retype=f"{_HERE}.from_tosa.widths:widen_48_bits",
            after="dce,cse,stablehlo-restore-borders",
            doc="TOSA to StableHLO: integers to the same bits.",
        )
    )


@hookimpl
def register_passes(register: Any) -> None:
    register(
        Pass(
            "stablehlo-flatten-tuples",
            f"{_HERE}.raising.structure:flatten_tuples",
            "Make values of their own of what tuples hold, at the borders of functions and inside.",
        )
    )
    register(
        Pass(
            "stablehlo-fill-in-sizes",
            f"{_HERE}.raising.structure:fill_in_sizes",
            "Replace `stablehlo.get_dimension_size` where a type says the size.",
        )
    )
    register(
        Pass(
            "stablehlo-check-borders",
            f"{_HERE}.raising.structure:check_borders",
            "Refuse functions that take or give what the hub has no type for: complex numbers, tokens.",
        )
    )
    register(
        Pass(
            "stablehlo-check-types",
            f"{_HERE}.lowering.types:check_types",
            "Refuse values of types that StableHLO lacks, and of sizes known only at run time.",
        )
    )
    register(
        Pass(
            "stablehlo-check-elements",
            f"{_HERE}.lowering.types:check_elements",
            "Refuse values of element types that StableHLO lacks, but integers of 48 bits: those of TOSA become such of 64.",
        )
    )
    register(
        Pass(
            "stablehlo-variables",
            f"{_HERE}.from_tosa.variables:make_explicit",
            "Make arguments and results of `main` of TOSA's variables: StableHLO has no state.",
        )
    )
    register(
        Pass(
            "stablehlo-restore-borders",
            f"{_HERE}.lowering.borders:restore_borders",
            "Let functions take and give again what they did before `tosa-make-signed`.",
        )
    )
