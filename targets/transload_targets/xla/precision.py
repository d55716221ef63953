"""Products at the precision of their operands, on devices that else round these to fewer bits."""

from __future__ import annotations

from transload.ir import Module
from transload.ir.attributes import OpaqueAttr

__all__ = ["at_highest_precision"]

_HIGHEST = OpaqueAttr("#stablehlo<precision HIGHEST>")


def at_highest_precision(module: Module) -> None:
    """Ask for the highest precision where a product asks for none: TPUs and GPUs would round f32 to bf16 or tf32.

    One with an `algorithm` says how it is computed, and may ask for no precision beside it.
    """
    for op in module.walk():
        if op.name in ("stablehlo.convolution", "stablehlo.dot_general", "stablehlo.dot") and "algorithm" not in op.attributes:
            asked = op.attributes.get("precision_config")
            if not asked or all("DEFAULT" in str(getattr(one, "text", one)) for one in asked):
                op.attributes["precision_config"] = [_HIGHEST, _HIGHEST]
