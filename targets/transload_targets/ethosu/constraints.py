"""What Vela asks of an op beyond its element types.

Each constraint is a function whose docstring is what a user reads, after the words "Vela needs" or "Ethos-U55
need". It returns True where the op meets it, else False or the detail of how it does not.

Sources: Vela 5.2.0's report of supported operators, and measurement (`benchmarks/ethosu_probe.py`). Where the
report names a limit that Vela overcomes by splitting the op, measurement counts. A constraint never refuses
what Vela takes; what none of them catches, Vela itself refuses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from transload.ir import I16, I32, Op, QuantType, TensorType, Value
from transload.ir.build import constant_of
from transload.ir.declare import words_of

from .facts import accepted, operand_slots

if TYPE_CHECKING:
    from transload_plugins.tosa.dialect.conversion import Rescale
    from transload_plugins.tosa.dialect.elementwise import Table
    from transload_plugins.tosa.dialect.movement import Resize, Reverse, Transpose
    from transload_plugins.tosa.dialect.product import MatMul
    from transload_plugins.tosa.dialect.reduction import ReduceSum
    from transload_plugins.tosa.dialect.spatial import (
        ArgMax,
        AvgPool2d,
        Conv2d,
        Conv3d,
        DepthwiseConv2d,
        MaxPool2d,
        TransposeConv2d,
    )

__all__ = ["CONSTRAINTS", "Constraint", "constraints_of"]

OLD = ("u55", "u65")
ALL = ("u55", "u65", "u85")
CONVOLUTIONS = ("tosa.conv2d", "tosa.depthwise_conv2d", "tosa.conv3d")
LONGEST = 65536
"""The longest axis that the hardware counts."""


@dataclass(frozen=True)
class Constraint:
    """`holds(op, family)` returns True, or False or a detail; `why` is its docstring; `families` those that it binds."""

    holds: Callable[[Any, str], bool | str]
    why: str
    families: tuple[str, ...]
    hint: str
    first: bool = False
    """Whether the constraints after it make sense only where it holds."""


F = TypeVar("F", bound=Callable[..., Any])

CONSTRAINTS: dict[str, list[Constraint]] = {}
"""Constraints by op name; those of `*` bind every op."""


def needs(*ops: str, families: tuple[str, ...] = ALL, hint: str = "", first: bool = False) -> Callable[[F], F]:
    """Decorator: these ops (`conv2d`; `*` for all) need what the function checks, on these families."""

    def add(holds: F) -> F:
        made = Constraint(holds, words_of(holds), families, hint, first)
        for op in ops:
            CONSTRAINTS.setdefault(op if op == "*" else f"tosa.{op}", []).append(made)
        return holds

    return add


def constraints_of(op: Op, family: str) -> list[Constraint]:
    """The constraints that bind an op on a family, the general ones first."""
    return [one for name in ("*", op.name) for one in CONSTRAINTS.get(name, ()) if family in one.families]


def _tensors(op: Op) -> list[Value]:
    return [value for value in (*op.operands, *op.results) if isinstance(value.type, TensorType)]


def _stored(value: Value) -> Any:
    return value.element.storage if isinstance(value.element, QuantType) else value.element


def _numbers(value: Value | None) -> tuple[int, ...] | None:
    """The numbers of a constant, None where it is computed."""
    dense = constant_of(value)
    return None if dense is None else tuple(int(number) for number in dense.numpy().reshape(-1))


def _is_constant(value: Value) -> bool:
    """Whether a value is a constant, or computed from constants alone, which Vela does when compiling."""
    seen: set[Op] = set()
    pending = [value]
    while pending:
        op = pending.pop().op
        if op is None:
            return False
        if op not in seen:
            seen.add(op)
            pending += op.operands
    return True


# --- every op


@needs("*", hint="give the shape of the model's inputs when converting it", first=True)
def static_shapes(op: Op, family: str) -> bool | str:
    """tensors whose sizes are all known when compiling"""
    return next((f"{value.type}" for value in _tensors(op) if not value.tensor_type.is_static), True)


@needs("*", hint="remove the part of the model that works on nothing", first=True)
def no_empty_tensors(op: Op, family: str) -> bool | str:
    """tensors with at least one element"""
    return next((f"{value.type}" for value in _tensors(op) if 0 in (value.tensor_type.shape or ())), True)


@needs("*", hint="merge dimensions with a reshape")
def at_most_six_dimensions(op: Op, family: str) -> bool | str:
    """tensors of at most 6 dimensions"""
    return next((f"{value.type}" for value in _tensors(op) if (value.tensor_type.rank or 0) > 6), True)


_FIXED = frozenset({"input_zp", "weight_zp", "output_zp", "input1_zp", "a_zp", "b_zp", "multiplier", "shift", "pad_const"})


@needs("*")
def constant_parameters(op: Op, family: str) -> bool | str:
    """zero points, multipliers, shifts and padding values that are constants"""
    computed = [name for name, values, _ in operand_slots(op) if name in _FIXED and not all(map(_is_constant, values))]
    return not computed or f"{', '.join(computed)} computed"


@needs("*")
def constant_sizes(op: Op, family: str) -> bool | str:
    """shapes, sizes and starts that are constants"""
    return all(_is_constant(value) for value in op.operands if str(value.type).startswith("!tosa.shape")) or "computed"


# --- convolutions, pooling, products


@needs("conv2d", "depthwise_conv2d", families=OLD, hint="Ethos-U85 takes computed weights")
@needs("transpose_conv2d")
def constant_weights(op: Conv2d | DepthwiseConv2d | TransposeConv2d, family: str) -> bool | str:
    """weights and bias that are constants"""
    return (_is_constant(op.weight) and _is_constant(op.bias)) or "computed"


@needs("conv3d")
def constant_deep_weights(op: Conv3d, family: str) -> bool | str:
    """weights and bias of a 3-D convolution that are constants (on Ethos-U85 where the kernel is deeper than 1)"""
    return (family == "u85" and op.weight.shape[1] == 1) or (_is_constant(op.weight) and _is_constant(op.bias)) or "computed"


@needs("conv2d", "conv3d", "depthwise_conv2d", "transpose_conv2d", "max_pool2d", "avg_pool2d")
def channels(op: Op, family: str) -> bool | str:
    """at most 65536 channels"""
    widest = max(op.operands[0].static_shape[-1], op.results[0].static_shape[-1])
    return widest <= LONGEST or f"{widest}"


@needs("conv2d", "depthwise_conv2d", "conv3d", families=OLD, hint="rescale the sums to i8, i16 or i32 before anything else")
def sums_rescaled(op: Conv2d | Conv3d | DepthwiseConv2d, family: str) -> bool | str:
    """48-bit sums that go nowhere but into rescales"""
    users = {user.name for user in op.result.uses}
    return accepted(op, family) == "yes" or users == {"tosa.rescale"} or f"used by {', '.join(sorted(users)) or 'nothing'}"


@needs("rescale", families=OLD, hint="Ethos-U85 rescales any 48-bit tensor")
def sums_of_convolution(op: Rescale, family: str) -> bool | str:
    """48-bit numbers to rescale that come right from a convolution"""
    source = op.input.op.name if op.input.op is not None else "an input"
    return accepted(op, family) == "yes" or source in CONVOLUTIONS or f"from {source}"


@needs("depthwise_conv2d", families=OLD, hint="Ethos-U85 has no such limit")
def depthwise_stride(op: DepthwiseConv2d, family: str) -> bool | str:
    """a stride of at most 3 in a depthwise convolution"""
    _, _, channels, multiplier = op.weight.static_shape
    split = channels == 1 and multiplier > 1  # many filters of one channel: Vela finds another way
    return _steps(op) <= 3 or split or f"{tuple(op.stride)}"


@needs("conv2d", "conv3d", families=OLD, hint="pad first; Ethos-U85 has no such limit")
def wide_stride(op: Conv2d | Conv3d, family: str) -> bool | str:
    """no padding and no dilation where the stride of a convolution is more than 3"""
    plain = not any(op.pad[-4:]) and tuple(op.dilation[-2:]) == (1, 1)
    beyond = max(op.stride[-2:]) > max(op.input.static_shape[-3:-1])
    given = f"stride {tuple(op.stride)}, dilation {tuple(op.dilation)}, padding {tuple(op.pad)}"
    return _steps(op) <= 3 or plain or beyond or given


def _steps(op: AvgPool2d | Conv2d | Conv3d | DepthwiseConv2d | MaxPool2d) -> int:
    """The greatest stride that is used: in a direction with one window, none is."""
    return max(step if size > 1 else 1 for step, size in zip(op.stride[-2:], op.output.static_shape[-3:-1], strict=True))


@needs("conv3d", families=OLD, hint="Ethos-U85 has no such limit")
def flat_kernel(op: Conv3d, family: str) -> bool | str:
    """a kernel of depth 1"""
    depth = op.weight.static_shape[1]
    return depth == 1 or f"depth {depth}"


@needs("transpose_conv2d", families=OLD, hint="Ethos-U85 takes any stride")
def upsampling_stride(op: TransposeConv2d, family: str) -> bool | str:
    """stride 1,1 or 2,2, or 1,2 on one row with a kernel of one row, or 2,1 on one column with a kernel of one column"""
    _, height, width, _ = op.input.static_shape
    _, rows, columns, _ = op.weight.static_shape
    stride = tuple(op.stride)
    used = tuple(step if size > 1 else 1 for step, size in zip(stride, (height, width), strict=True))
    one_way = (stride == (1, 2) and height == rows == 1) or (stride == (2, 1) and width == columns == 1) or used == (1, 1)
    return one_way or stride in ((1, 1), (2, 2)) or f"stride {stride}, input {height}x{width}, kernel {rows}x{columns}"


@needs("avg_pool2d", families=OLD, hint="pad first, or average in two steps; Ethos-U85 has no such limit")
def padded_average(op: AvgPool2d, family: str) -> bool | str:
    """a kernel of at most 8x8 where the average pool is padded"""
    return not any(op.pad) or max(op.kernel) <= 8 or "x".join(map(str, op.kernel))


@needs("avg_pool2d", "max_pool2d", families=OLD, hint="pad first; Ethos-U85 has no such limit")
def padded_pool_stride(op: AvgPool2d | MaxPool2d, family: str) -> bool | str:
    """a stride of at most 3 where a pool is padded"""
    return not any(op.pad) or _steps(op) <= 3 or f"{tuple(op.stride)}"


@needs("matmul", families=OLD, hint="Ethos-U85 has no such limit")
def matrix_sizes(op: MatMul, family: str) -> bool | str:
    """matrices with at most 65536 rows and columns on the right"""
    return max(op.b.static_shape[1:]) <= LONGEST or f"{op.b.type}"


# --- reductions


@needs("argmax", families=OLD, hint="Ethos-U85 takes any axis and size")
def argmax_of_channels(op: ArgMax, family: str) -> bool | str:
    """the last axis searched, of at most 127 elements, and a batch of 1"""
    shape = op.input.static_shape
    fits = op.axis == len(shape) - 1 and shape[-1] <= 127 and math.prod(shape[:-3]) == 1
    return fits or f"axis {op.axis} of {op.input.type}"


@needs("reduce_sum", families=OLD, hint="reshape, or sum in two steps; Ethos-U85 has no such limit")
def summed_axis(op: ReduceSum, family: str) -> bool | str:
    """at most 65536 elements before, along and after an axis summed that is not the last"""
    shape, axis = op.input.static_shape, op.axis
    parts = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))
    return axis == len(shape) - 1 or max(parts) <= LONGEST or f"axis {axis} of {op.input.type}"


# --- data layout


@needs("transpose", families=OLD, hint="Ethos-U85 has no such limit")
def transposed_axes(op: Transpose, family: str) -> bool | str:
    """axes of at most 65536 elements where a transpose moves them (32-bit elements: 16384 in the last of three)"""
    sizes = [size for size in op.input1.static_shape if size != 1]
    order = [axis for axis in op.perms if op.input1.shape[axis] != 1]
    if order == sorted(order):
        return True
    rows_swapped = len(order) == 3 and order[1] < order[0] < order[2] and _stored(op.input1) == I32
    return (max(sizes) <= LONGEST and not (rows_swapped and sizes[2] > 16384)) or f"{op.input1.type}"


@needs("reverse", families=OLD, hint="transpose, reverse and transpose back; Ethos-U85 reverses any axis")
def reversed_axis(op: Reverse, family: str) -> bool | str:
    """a reversed axis that is not the last one, in a batch of 1"""
    shape = op.input1.static_shape
    return op.axis < len(shape) - 1 or math.prod(shape[:-3]) > 1 or f"axis {op.axis} of {op.input1.type}"


@needs("table")
def constant_wide_table(op: Table, family: str) -> bool | str:
    """a table for 16-bit values that is a constant"""
    return _stored(op.input1) != I16 or _is_constant(op.table) or "computed"


@needs("resize", families=OLD, hint="Ethos-U85 takes any resize")
def resized(op: Resize, family: str) -> bool | str:
    """a resize to nearest neighbours, 2, 4 or 8 times in each direction, with aligned corners or half-pixel centres, batch 1"""
    scale, offset, border = _numbers(op.scale), _numbers(op.offset), _numbers(op.border)
    if scale is None or offset is None or border is None:
        return True  # `constant_sizes` speaks
    batch, height, width, _ = op.input.shape
    detail = f"{op.mode.lower()}, scale {scale}, offset {offset}, border {border}, {op.input.type}"
    if op.mode == "BILINEAR":
        return (scale == (1, 1, 1, 1) and not any(offset + border)) or detail
    if height == width == 1 or op.input.shape == op.output.shape:
        return True
    factors = [scale[2 * i] / scale[2 * i + 1] for i in (0, 1)]
    larger = all(factor in (2, 4, 8) or (factor == size == 1) for factor, size in zip(factors, (height, width), strict=True))
    placed = all(_centred(scale[2 * i : 2 * i + 2], offset[i], border[i]) for i in (0, 1))
    return (larger and placed and batch == 1) or detail


def _centred(scale: tuple[int, ...], offset: int, border: int) -> bool:
    """Whether one direction of a resize aligns the corners, or has half-pixel centres."""
    numerator, denominator = scale
    excess = numerator // denominator - 1
    return (denominator == 1 and offset == border == 0) or (denominator == 2 and (offset, border) == (-excess, excess))
