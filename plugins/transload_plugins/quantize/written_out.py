"""What is written out as ops on single tensors before a model is quantized, as each of these has a range of its own."""

from __future__ import annotations

from transload.ir import Module, Value
from transload_hub.simplify.biases import add_computed_biases
from transload_hub.simplify.constant_products import constants_to_layers
from transload_hub.simplify.einsum import write_out_einsums
from transload_hub.simplify.normalization import write_out_normalizations
from transload_hub.simplify.pairs import write_out_pairs
from transload_hub.simplify.recurrent import unroll_recurrent
from transload_hub.simplify.scales import scales_to_products

from .calibration import Calibration
from .names import with_our_names
from .observe import observed

__all__ = ["in_pairs", "without_normalizations", "written_out"]


def written_out(module: Module) -> Module:
    """The module with the steps of its recurrent layers, its Einstein sums, and the sums of products and computed biases, as ops,
    whose tensors have ranges of their own, what scales channels as weights, and constants as those of layers; itself without
    such."""
    copy = module.clone()
    changed = [
        write_out(copy) for write_out in (
            unroll_recurrent, write_out_einsums, add_computed_biases, scales_to_products, constants_to_layers)]
    return copy if any(changed) else module


def in_pairs(module: Module, calibration: Calibration | None) -> Module:
    """The module with its sums and products of several as ones of two; itself without such, and where a table has no ranges for
    what these make on the way."""
    copy = module.clone()
    if not write_out_pairs(copy):
        return module
    made = observed(copy)
    if calibration is not None and not made.keys() - observed(module).keys() <= with_our_names(calibration, made).ranges.keys():
        return module
    return copy


def without_normalizations(module: Module) -> tuple[Module, dict[str, str]]:
    """The module with its normalizations and quotients as ops on single numbers, means and products, and what these make on the
    way, which takes 16 bits; itself, and nothing, without such."""
    mapping: dict[Value, Value] = {}
    copy = module.clone(mapping)
    names, old = {value.name for value in mapping}, set(mapping.values())
    if not write_out_normalizations(copy):
        return module, {}
    made = {name: value for name, value in observed(copy).items() if value not in old}
    inner = [name for name, value in made.items() if value.name is None or value.name not in names]
    return copy, dict.fromkeys(inner, "on the way of a normalization or a quotient")
