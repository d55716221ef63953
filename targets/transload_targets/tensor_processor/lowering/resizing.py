"""Resizing of images, on the exact fractions of `transload_hub.grids`."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from transload.errors import Unsupported
from transload.ir import I8, FloatType, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.grids import Grid, fixed_point_grid, grid, interp_grid

from .common import activation, need, quantized, reshape, same_numbers, static
from .conversion import requantized

if TYPE_CHECKING:
    from transload_hub.ops.resize import Interp, Upsample

__all__ = ["TABLE"]

TABLE = RewriteTable()

ONE = Grid(1, 1, 0, 0)
"""Of a dimension of size 1, which holds one element for every place."""


@TABLE("top.Interp")
def interp(op: Interp, rw: Rewriter) -> Value:
    """Nearest of all numbers; linear of floats and, as LiteRT's kernels, of quantized numbers of 8 bits."""
    if op.layout != "NCHW":
        raise Unsupported("channels are last", "run the pass layout{to=NCHW} first")
    x = op.input
    source, target = quantized(x), quantized(op.result)
    shape = static(x)
    antialias = op.antialias and any(made < size for made, size in zip(op.sizes, shape[2:], strict=True))
    if op.mode == "cubic" or antialias or len(op.sizes) > 2:
        raise Unsupported(f"{op.mode} of {len(op.sizes)} dimensions{', with antialias' if antialias else ''}")
    need(rw, "resize", x)
    plan, rounding = interp_grid, "half-away"
    if op.mode == "linear" and not isinstance(x.element, FloatType):
        if source is None or target is None or source.storage.width != 8:
            raise Unsupported(f"linear of {x.element}")
        if source.scale > target.scale:
            raise Unsupported("a result of finer steps, in which it would be rounded to those of the operand")
        if not source.storage.unsigned:
            plan = fixed_point_grid
        elif op.rounding == "double":  # as the kernel of int8, of numbers that are 128 less
            plan, source = fixed_point_grid, QuantType(I8, source.expressed, source.scales, (source.zero_point - 128,))
            x = requantized(rw, x, source, "double")
        else:
            rounding = "half-up"
    elif op.mode == "nearest" and target is not None and source is not None:
        x = requantized(rw, x, target, str(op.rounding))
    grids = [plan(op, i, size) if size > 1 else ONE for i, size in enumerate(shape[2:])]
    if len(grids) == 1:
        x = reshape(rw, x, (*shape[:2], 1, shape[2]))
        grids.insert(0, ONE)
    if None in grids:
        raise Unsupported("places that lie at no fractions a chip has")
    made = _resize(rw, x, (1, *op.sizes)[-2:], grids, str(op.mode), rounding)  # type: ignore[arg-type]
    if source is not None and target is not None and op.mode == "linear" and not same_numbers(source, target):
        made = requantized(rw, made, target, str(op.rounding))
    return reshape(rw, made, static(op.result))


@TABLE("top.Upsample")
def upsample(op: Upsample, rw: Rewriter) -> Value:
    """Each element repeated."""
    if op.layout != "NCHW" or activation(op):
        raise Unsupported("an activation behind it" if op.layout == "NCHW" else "channels are last")
    x, target = op.input, quantized(op.result)
    if target is not None:
        x = requantized(rw, x, target, str(op.rounding))
    need(rw, "resize", x)
    sizes = static(op.result)[2:]
    grids = [grid(Fraction(1, factor), Fraction(0), size, made, "floor")
             for factor, size, made in zip((op.scale_h, op.scale_w), static(x)[2:], sizes, strict=True)]
    return _resize(rw, x, sizes, grids, "nearest", "half-away")


def _resize(
    rw: Rewriter, x: Value, sizes: tuple[int, ...], grids: list[Grid], mode: str, rounding: str,
) -> Value:
    rows, columns = grids
    made: Value = rw.emit("tpu.resize", x, sizes=sizes, rows=rows[:3], columns=columns[:3], mode=mode, rounding=rounding)
    return made
