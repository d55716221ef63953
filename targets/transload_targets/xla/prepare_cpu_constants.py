"""Constants in the forms that a program for the CPU reads best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.context import current
from transload.ir import Dense, Module, Op, QuantType, TensorType, Value
from transload.ir.build import Builder, constant_of, constants_for
from transload.rewrite import CHANGED, Rewriter, RewriteTable

if TYPE_CHECKING:
    from transload_plugins.stablehlo.dialect.contraction import Convolution

__all__ = ["LAYOUT", "PRODUCTS", "fold_weights", "gather_up"]

PRODUCTS = ("stablehlo.convolution", "stablehlo.dot_general")
LAYOUT = RewriteTable()
_SPREAD_BYTES = 4096
"""From this size on it is worth looking whether a constant repeats itself."""


def fold_weights(module: Module) -> None:
    """Compute what goes into products and depends on constants alone, once and here: widened or dequantized weights.

    The rest of the program's constants are XLA's business.
    """
    wanted: set[Op] = set()
    for op in [op for op in module.walk() if op.name in PRODUCTS]:
        pending = [v.op for v in op.operands]
        while pending:
            maker = pending.pop()
            if maker is not None and maker not in wanted and not maker.regions and maker.name not in PRODUCTS:
                wanted.add(maker)
                pending.extend(v.op for v in maker.operands)
    for op in [op for op in module.walk() if op in wanted]:
        folded = current().fold(op)
        if folded is not None:
            builder, home = Builder(op.parent, op), constants_for(op)  # type: ignore[arg-type]
            op.replace_with([
                builder.constant(array, result.element, dialect=home)
                for array, result in zip(folded, op.results, strict=True)])


def gather_up(module: Module) -> None:
    """Turn constants that repeat themselves along whole dimensions into small ones that are spread by an op.

    A bias that was spread to the size of an image costs an image's memory to read; spread, it is fused.
    """
    for op in [op for op in module.walk() if op.name == "stablehlo.constant"]:
        dense = op.attributes.get("value")
        type_: Any = op.results[0].type
        if not isinstance(dense, Dense) or dense.nbytes < _SPREAD_BYTES or isinstance(type_.element, QuantType):
            continue
        if dense.splat_value() is not None:
            continue
        array = dense.numpy()
        axes = [axis for axis, size in enumerate(array.shape) if size > 1 and not _repeats(array, axis)]
        small = array[tuple(slice(None) if axis in axes else 0 for axis in range(array.ndim))]
        if small.nbytes * 4 > array.nbytes:
            continue
        builder = Builder(op.parent, op)  # type: ignore[arg-type]
        constant = builder.constant(np.ascontiguousarray(small), type_.element, dialect="stablehlo")
        spread = builder.create(
            "stablehlo.broadcast_in_dim", (constant,), [type_], {"broadcast_dimensions": tuple(axes)}).results
        op.replace_with(spread)


def _repeats(array: np.ndarray, axis: int) -> bool:
    """Whether all slices along an axis are the same, bit for bit."""
    if array.strides[axis] == 0:
        return True
    first = np.take(array, [0], axis)
    words = f"V{array.dtype.itemsize}" if array.dtype.itemsize not in (1, 2, 4, 8) else f"u{array.dtype.itemsize}"
    last = np.take(array, [-1], axis)
    if not np.array_equal(first.view(words), last.view(words)):  # most often, this ends it
        return False
    whole = np.ascontiguousarray(array)
    return bool((whole.view(words) == np.ascontiguousarray(first).view(words)).all())


@LAYOUT("stablehlo.convolution")
def kernel_last(op: Convolution, rw: Rewriter) -> Any:
    """Constant kernels as (spatial..., input, output), as the backend reads them: it would transpose others in each run."""
    kernel: Value = op.operands[1]
    if constant_of(kernel) is None or not isinstance(kernel.type, TensorType):
        return None
    dims = op.dimension_numbers
    wanted = (*dims.kernel_spatial_dimensions, dims.kernel_input_feature_dimension, dims.kernel_output_feature_dimension)
    if wanted == tuple(range(len(wanted))):
        return None
    turned = rw.emit("stablehlo.transpose", kernel, permutation=wanted)
    rank = len(dims.kernel_spatial_dimensions)
    op.attributes["dimension_numbers"] = type(dims)(**{
        **dims.values, "kernel_spatial_dimensions": tuple(range(rank)), "kernel_input_feature_dimension": rank,
        "kernel_output_feature_dimension": rank + 1})
    op.operands = (op.operands[0], turned)
    return CHANGED
