"""Pooling over windows, and pooling to a size."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import I64, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import counted, need_place

from .elementwise import finite_range
from .table import AtenTable, Call, cast, is_float, per_dimension, reshape, shape_of, splat

TABLE = AtenTable()


class _Window:
    """How a window moves over spatial sizes; `ends` has what `ceil_mode` adds behind the padding."""

    def __init__(self, call: Call, sizes: Sequence[int]) -> None:
        n = len(sizes)
        self.kernel = per_dimension(call.kernel_size, n, "kernel_size", 1)
        self.strides = per_dimension(call.stride or call.kernel_size, n, "stride", 1)
        self.pads = per_dimension(call.padding, n, "padding")
        self.dilations = per_dimension(call.get("dilation", 1), n, "dilation", 1)
        self.counts, self.more = [], []
        for size, kernel, stride, pad, dilation in zip(sizes, self.kernel, self.strides, self.pads, self.dilations, strict=True):
            free = size + 2 * pad - dilation * (kernel - 1) - 1
            if free < 0:
                raise Unsupported(f"a window of {kernel} does not fit into {size} padded by {pad}")
            count = free // stride + 1
            if call.ceil_mode:
                count = -(-free // stride) + 1
                count -= (count - 1) * stride >= size + pad  # a window that would begin in the padding at the end
            self.counts.append(count)
            self.more.append(max((count - 1) * stride - free, 0))

    @property
    def ends(self) -> tuple[int, ...]:
        return tuple(pad + more for pad, more in zip(self.pads, self.more, strict=True))


def _batched(rw: Rewriter, value: Value, n: int) -> tuple[Value, bool]:
    shape = shape_of(value)
    if len(shape) not in (n + 1, n + 2):
        raise Unsupported(f"pools {n} dimensions of a tensor of shape {list(shape)}")
    return (reshape(rw, value, (1, *shape)), True) if len(shape) == n + 1 else (value, False)


def _rank(call: Call) -> int:
    """Spatial dimensions, as the operator's name says."""
    return int(next(c for c in call.base.rpartition("pool")[2] if c.isdigit()))


def _back(rw: Rewriter, value: Value, single: bool) -> Value:
    return reshape(rw, value, shape_of(value)[1:]) if single else value


@TABLE(*(f"max_pool{n}d.default" for n in (1, 2, 3)), *(f"max_pool{n}d_with_indices.default" for n in (1, 2, 3)),
       stored="carried")
def max_pool(call: Call, rw: Rewriter) -> list[Value]:
    """The greatest of each window, and where it is, in the image, if somebody asks."""
    value, single = _batched(rw, call.self, _rank(call))
    window = _Window(call, shape_of(value)[2:])
    if call.used(1):
        return [_back(rw, each, single) for each in _with_places(rw, value, window)]
    pads = (*window.pads, *window.ends)
    made = rw.emit("top.MaxPool", value, kernel_shape=window.kernel, strides=window.strides, pads=pads,
                   dilations=window.dilations,
                   layout="NCHW")
    return [_back(rw, made, single)] * len(call.op.results)


def _with_places(rw: Rewriter, value: Value, window: _Window) -> list[Value]:
    """The elements of each window side by side: the greatest, and its place, of several the first."""
    if not is_float(value.element):
        raise Unsupported(f"gives the places of maxima of {value.element}", "give it floats")
    shape, n = shape_of(value), len(window.kernel)
    least, _ = finite_range(value.element)
    padded = rw.emit("top.Pad", value, paddings=(0, 0, *window.pads, 0, 0, *window.ends), mode="constant", val=least)
    steps = [math.prod(shape[2 + i + 1 :]) for i in range(n)]
    elements, places = [], []
    for offset in tables.ndindex(*window.kernel):
        begins = [o * d for o, d in zip(offset, window.dilations, strict=True)]
        ends = [b + (count - 1) * s + 1 for b, count, s in zip(begins, window.counts, window.strides, strict=True)]
        elements.append(rw.emit("top.Slice", padded, offset=(0, 0, *begins), ends=(*shape[:2], *ends),
                                steps=(1, 1, *window.strides)))
        places.append(sum((b - pad) * step for b, pad, step in zip(begins, window.pads, steps, strict=True)))
    stacked = rw.emit("top.Pack", *elements, axis=0)
    which = rw.emit("top.Arg", stacked, axis=0, keepdims=False, mode="ArgMax")
    origin = np.zeros((1,) * (n + 2), np.int64)
    need_place(*window.counts)
    for i, count in enumerate(window.counts):
        moved = counted(count) * window.strides[i] * steps[i]
        origin = origin + moved.reshape([-1 if axis == 2 + i else 1 for axis in range(2 + n)])
    inside = rw.emit("top.Gather", rw.constant(np.array(places, np.int64)), which, axis=0)
    greatest = rw.emit("top.Reduce", stacked, axes=(0,), keepdims=False, mode="ReduceMax")
    return [greatest, rw.emit("top.Add", inside, rw.constant(origin))]


@TABLE(*(f"avg_pool{n}d.default" for n in (1, 2, 3)))
def avg_pool(call: Call, rw: Rewriter) -> Value:
    """The mean of each window; what `ceil_mode` adds behind the padding never counts."""
    n = _rank(call)
    value, single = _batched(rw, call.self, n)
    window = _Window(call, shape_of(value)[2:])
    divisor, counts_padding = call.get("divisor_override"), call.count_include_pad
    if divisor:
        sizes = [*(0,) * n, *window.more]
        value = rw.emit("top.Pad", value, paddings=(0, 0, *window.pads, 0, 0, *window.ends), mode="constant")
        made = rw.emit("top.AvgPool", value, kernel_shape=window.kernel, strides=window.strides, layout="NCHW")
        return _back(rw, rw.emit("top.MulConst", made, const_val=math.prod(window.kernel) / divisor), single) if sizes else made
    pads = (*window.pads, *window.ends)
    if counts_padding and any(window.more):
        value = rw.emit("top.Pad", value, paddings=(0, 0, *window.pads, 0, 0, *window.pads), mode="constant")
        pads, counts_padding = (*(0,) * n, *window.more), False
    made = rw.emit("top.AvgPool", value, kernel_shape=window.kernel, strides=window.strides, pads=pads,
                   count_include_pad=(counts_padding and any(pads)) or None, layout="NCHW")
    return _back(rw, made, single)


# --- to a size


def _sizes(call: Call, sizes: Sequence[int]) -> tuple[int, ...]:
    return per_dimension(call.output_size, len(sizes), "output_size")


@TABLE("adaptive_avg_pool1d.default", "adaptive_avg_pool2d.default", "adaptive_avg_pool3d.default",
       "_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default")
def adaptive_avg_pool(call: Call, rw: Rewriter) -> Value:
    """Means of so many parts of each dimension, which overlap where it cannot be divided."""
    n = _rank(call)
    value, single = _batched(rw, call.self, n)
    sizes = shape_of(value)[2:]
    wanted = _sizes(call, sizes)
    if 0 in sizes or 0 in wanted:
        raise Unsupported(f"pools {list(sizes)} to {list(wanted)}")
    if all(size % want == 0 for size, want in zip(sizes, wanted, strict=True)):
        kernel = tuple(size // want for size, want in zip(sizes, wanted, strict=True))
        if n != 2 and set(wanted) == {1}:
            return _back(rw, rw.emit("top.Reduce", value, axes=tuple(range(2, 2 + n)), mode="ReduceMean"), single)
        made = rw.emit("top.AvgPool", value, kernel_shape=kernel, strides=kernel, layout="NCHW")
        return _back(rw, made, single)
    for axis, (size, want) in enumerate(zip(sizes, wanted, strict=True), 2):
        shares = tables.zeros((size, want))
        for place in range(want):
            begin, end = place * size // want, -(-(place + 1) * size // want)
            shares[begin:end, place] = 1.0 / (end - begin)
        value = _along(rw, value, axis, rw.constant(shares.astype(dtype_of(value.element))))
    return _back(rw, value, single)


def _along(rw: Rewriter, value: Value, axis: int, matrix: Value) -> Value:
    """A matrix applied to one dimension."""
    rank = len(shape_of(value))
    letters = "abcdefg"[:rank]
    outcome = letters.replace(letters[axis], "z")
    return rw.emit("top.Einsum", value, matrix, equation=f"{letters},{letters[axis]}z->{outcome}")


@TABLE("adaptive_max_pool1d.default", "adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def adaptive_max_pool(call: Call, rw: Rewriter) -> list[Value]:
    """The greatest of so many parts of each dimension, and where it is, if somebody asks.

    Parts that are shorter than others have their last place again, which is no greater than itself, and behind it.
    """
    n = _rank(call)
    value, single = _batched(rw, call.self, n)
    sizes = shape_of(value)[2:]
    wanted = _sizes(call, sizes)
    if 0 in sizes or 0 in wanted:
        raise Unsupported(f"pools {list(sizes)} to {list(wanted)}")
    tables.need_place(*wanted, *(size // want + 2 for size, want in zip(sizes, wanted, strict=True)), width=8)
    windows = [[(place * size // want, -(-(place + 1) * size // want)) for place in range(want)]
               for size, want in zip(sizes, wanted, strict=True)]
    longest = [max(end - begin for begin, end in each) for each in windows]
    numbers = counted(math.prod(sizes)).reshape(sizes)
    for axis, (each, most) in enumerate(zip(windows, longest, strict=True)):
        places = np.array([[min(begin + i, end - 1) for i in range(most)] for begin, end in each])
        numbers = np.take(numbers, places, axis=2 * axis)
        value = rw.emit("top.Gather", value, rw.constant(places.astype(np.int64)), axis=2 + 2 * axis)
    order = [*range(0, 2 * n, 2), *range(1, 2 * n, 2)]
    value = rw.emit("top.Permute", value, order=(0, 1, *(2 + axis for axis in order)))
    flat = (*shape_of(value)[: 2 + n], math.prod(longest))
    value = reshape(rw, value, flat)
    greatest = rw.emit("top.Reduce", value, axes=(2 + n,), keepdims=False, mode="ReduceMax")
    results = [_back(rw, greatest, single)]
    if len(call.op.results) > 1:
        which = rw.emit("top.Arg", value, axis=2 + n, keepdims=True, mode="ArgMax")
        table = np.ascontiguousarray(np.broadcast_to(numbers.transpose(order).reshape(1, 1, *wanted, -1), flat))
        taken = rw.emit("top.GatherElements", rw.constant(table.astype(np.int64)), which, axis=2 + n)
        results.append(_back(rw, reshape(rw, taken, shape_of(greatest)), single))
    return results


@TABLE("max_unpool2d.default", "max_unpool3d.default")
def max_unpool(call: Call, rw: Rewriter) -> Value:
    """Each element at the place that its index says, among zeros."""
    n = 2 if call.base == "max_unpool2d" else 3
    shape = shape_of(call.self)
    lead, area = math.prod(shape[:-n]), math.prod(shape[-n:])
    room = math.prod(call.output_size)
    zeros = splat(rw, 0, (lead, room), call.element)
    values, places = (reshape(rw, each, (lead, area)) for each in (call.self, call.indices))
    made = rw.emit("top.ScatterElements", zeros, cast(rw, places, I64), values, axis=1)
    return reshape(rw, made, (*shape[:-n], *call.output_size))
