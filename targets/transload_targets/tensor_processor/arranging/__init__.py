"""The pass `arrange-for-lanes`: ops of dialect `tpu` so that the lanes have less to do, and wait less; no result changes.

| part | what it does |
|---|---|
| `joining` | moves go behind the last elementwise ops in front of a join or the end |
| `tables` | elementwise ops that make numbers of 8 bits of numbers of 8 bits become one table |
| `rounding` | integers with a fraction that is rounded off become one cast |
| `scaling` | sums of products and casts multiply what an op of its own multiplied |
| `reductions` | what is reduced over lanes and within them is reduced within each lane first; bounds are those of the op before |
| `products` | slices of what products make are products of slices of the weights; whole weights of floats are held in 8 bits |
| `padding` | pads in front of windows become the windows' own padding |
| `moves` | reshapes, permutes and slices go in front of elementwise ops; what makes numbers wider comes late |
"""

from __future__ import annotations

from transload.ir import Block, Module, TensorType, Value

from ..chip import load_chip
from .joining import join_late
from .moves import move_first, slice_each_part, slice_first, slice_flat, widen_late
from .padding import pad_windows
from .products import narrow_weights, slice_products
from .reductions import bound_at_once, reduce_in_lanes
from .rounding import round_at_once
from .scaling import scale_sums, spread_at_once
from .tables import one_table

__all__ = ["arrange_for_lanes"]

_PARTS = (join_late, one_table, round_at_once, spread_at_once, bound_at_once, scale_sums, pad_windows, slice_first,
          slice_each_part, slice_products, move_first, widen_late, reduce_in_lanes, slice_flat,
          narrow_weights)


def arrange_for_lanes(module: Module, chip: str = "tp-large") -> bool:
    """Rewrite ops for a chip, in place; whether anything changed.

    Functions with ops that have regions, or tensors of sizes that are not known, stay as they are. `chip` is the name of a chip,
    or a path of a `.toml` file.
    """
    described, changed = load_chip(chip), False
    for function in module.functions.values():
        block = function.regions[0].block
        if any(op.regions for op in block) or not all(map(_is_known, (*block.arguments, *(
                result for op in block for result in op.results)))):
            continue
        for arrange in _PARTS:
            _clear(block)
            changed = arrange(block, described) or changed
        _clear(block)
    return changed


def _is_known(value: Value) -> bool:
    """Whether the sizes of a tensor are known; what is no tensor has none."""
    return not isinstance(value.type, TensorType) or value.type.is_static


def _clear(block: Block) -> None:
    """Erase ops that nothing uses any more: they would be taken for users of what they read."""
    for op in reversed(list(block)):
        if op.dialect == "tpu" and not any(result.uses for result in op.results):
            op.erase()
