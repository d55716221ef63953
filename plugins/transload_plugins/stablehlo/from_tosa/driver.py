"""The conversion as a whole: what is done to a module of TOSA before and after its ops are rewritten."""

from __future__ import annotations

from transload.conversion import hint_for
from transload.ir import I48, I64, Module, TensorType, update_function_type
from transload.ir.regions import blocks_in
from transload.plugin import resolve
from transload.plugin_host import host
from transload.rewrite import convert_ops

from ...tosa.lowering.prepare.signedness import strip_quantized_types
from .variables import make_explicit

__all__ = ["convert"]

AFTER: tuple[str, ...] = ("dce", "cse")
"""Passes run after the conversion."""


def convert(module: Module) -> None:
    """Convert a module of TOSA to StableHLO, in place.

    Arguments and results keep their types, but for i48, which StableHLO does not have, and which becomes i64.
    Variables become arguments and results of `main`. Raises `ConversionError` with every op that cannot be converted.
    """
    strip_quantized_types(module)
    make_explicit(module)
    _widen_48_bits(module)
    conversion = host().get("conversions", "tosa-to-stablehlo")
    convert_ops(module, host().table("tosa-to-stablehlo"), "tosa", hint=hint_for(conversion))
    for op in reversed(list(module.walk())):
        if op.name == "tosa.const_shape" and not op.result.uses:
            op.erase()
    for function in module.functions.values():
        if function.regions[0].blocks:
            update_function_type(function)
    for name in AFTER:
        resolve(host().get("passes", name).run)(module)


def _widen_48_bits(module: Module) -> None:
    """Give all values of 48 bits 64: TOSA's programs never leave 48, so that results are the same."""
    for block in blocks_in(module):
        for value in (*block.arguments, *(result for op in block for result in op.results)):
            type_ = value.type
            if isinstance(type_, TensorType) and type_.element == I48:
                value.type = type_.with_element(I64)
