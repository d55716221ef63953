"""Shape, order, joining, cutting and padding: operators that move elements and compute nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from transload.errors import Unsupported
from transload.ir import IntegerType, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import counted, need_place, padded, wrapped_places

from .table import (
    MAX_CONSTANT,
    AtenTable,
    Call,
    axes_of,
    axis_of,
    cast,
    number_in,
    number_like,
    pairs,
    permute,
    reshape,
    shape_of,
    shape_together,
)

__all__ = ["TABLE", "expand_to", "gather_places", "slice_along", "strided_places"]

TABLE = AtenTable()

_MOST_PARTS = 1 << 16
"""Parts that a tensor is cut into."""


@TABLE("clone.default", "detach.default", "alias.default", "contiguous.default", "lift.default", "lift_fresh.default",
       "lift_fresh_copy.default",
       "positive.default", "resolve_conj.default", "resolve_neg.default", "conj.default",
       "_conj.default",
       "real.default", "_lazy_clone.default", "pin_memory.default", "to_dense.default", "_to_dense.default", stored="carried")
def same(call: Call, rw: Rewriter) -> Value:
    """The tensor itself."""
    value: Value = call.op.operands[0]
    return value


@TABLE("to.dtype", "to.device", "to.dtype_layout", "to.other", "_to_copy.default", "to.prim_Device", "to.prim_dtype",
       "type_as.default",
       "quantized_decomposed.convert_element_type.no_fuse", *(f"_cast_{name}.default" for name in (
           "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")))
def to(call: Call, rw: Rewriter) -> Value:
    """The tensor in another element type."""
    return cast(rw, call.op.operands[0], call.element)


# --- shape


def _open(shape: Sequence[int], total: int) -> tuple[int, ...]:
    """A shape with its -1 computed."""
    if -1 not in shape:
        return tuple(shape)
    rest = math.prod(size for size in shape if size != -1)
    if not rest or total % rest:
        raise Unsupported(f"{total} elements cannot be seen as {list(shape)}")
    return tuple(total // rest if size == -1 else size for size in shape)


@TABLE("view.default", "reshape.default", "_unsafe_view.default", stored="carried")
def view(call: Call, rw: Rewriter) -> Value:
    """Another shape; -1 is what is left."""
    wanted = call.get("size") if call.base != "reshape" else call.shape
    return reshape(rw, call.self, _open(wanted, math.prod(shape_of(call.self))))


@TABLE("view_as.default", "reshape_as.default", stored="carried")
def view_as(call: Call, rw: Rewriter) -> Value:
    """The shape of another tensor."""
    return reshape(rw, call.self, shape_of(call.other))


@TABLE("view.dtype")
def view_dtype(call: Call, rw: Rewriter) -> Value:
    """The same bits as other numbers: along the last dimension more narrower, or fewer wider ones, the lowest bits first."""
    value, shape = call.self, shape_of(call.self)
    old, new = (8 * dtype_of(element).itemsize for element in (value.element, call.element))
    if old == new:
        return rw.emit("top.Bitcast", value, element=call.element)
    narrow, whole = IntegerType(min(old, new)), IntegerType(max(old, new))
    count = whole.width // narrow.width
    bits = rw.emit("top.Bitcast", value, element=IntegerType(old))
    if old > new:
        moved = [bits, *(rw.emit("top.ShiftRight", bits, number_like(rw, place * new, whole)) for place in range(1, count))]
        parts = rw.emit("top.Pack", *(cast(rw, each, narrow) for each in moved), axis=len(shape))
        made = reshape(rw, parts, (*shape[:-1], shape[-1] * count))
    else:
        if not shape or shape[-1] % count:
            raise Unsupported(f"sees {list(shape)} numbers of {old} bits as such of {new}")
        wide = rw.emit("top.BitwiseAnd", cast(rw, bits, whole), number_like(rw, (1 << old) - 1, whole))
        wide = reshape(rw, wide, (*shape[:-1], shape[-1] // count, count))
        made = reshape(rw, slice_along(rw, wide, len(shape), 0, 1), shape_of(wide)[:-1])
        for place in range(1, count):
            part = reshape(rw, slice_along(rw, wide, len(shape), place, place + 1), shape_of(made))
            made = rw.emit("top.BitwiseOr", made, rw.emit("top.ShiftLeft", part, number_like(rw, place * old, whole)))
    return made if made.element == call.element else rw.emit("top.Bitcast", made, element=call.element)


@TABLE("flatten.using_ints", "ravel.default", stored="carried")
def flatten(call: Call, rw: Rewriter) -> Value:
    """Some dimensions in one."""
    shape = shape_of(call.self)
    if call.base == "ravel":
        return reshape(rw, call.self, (math.prod(shape),))
    first, last = axis_of(call.start_dim, len(shape)), axis_of(call.end_dim, len(shape))
    return reshape(rw, call.self, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


@TABLE("unflatten.int", stored="carried")
def unflatten(call: Call, rw: Rewriter) -> Value:
    """One dimension in several."""
    shape = shape_of(call.self)
    axis = axis_of(call.dim, len(shape), least=1)
    return reshape(rw, call.self, (*shape[:axis], *_open(call.sizes, shape[axis]), *shape[axis + 1 :]))


@TABLE("squeeze.default", "squeeze.dim", "squeeze.dims", stored="carried")
def squeeze(call: Call, rw: Rewriter) -> Value:
    """Without dimensions of size 1, all or those that are named."""
    shape = shape_of(call.self)
    axes = axes_of(call.get("dim"), len(shape), empty_is_all=False)
    return reshape(rw, call.self, [size for axis, size in enumerate(shape) if axis not in axes or size != 1])


@TABLE("unsqueeze.default", stored="carried")
def unsqueeze(call: Call, rw: Rewriter) -> Value:
    """A dimension of size 1 more."""
    shape = list(shape_of(call.self))
    shape.insert(axis_of(call.dim, len(shape) + 1), 1)
    return reshape(rw, call.self, shape)


@TABLE("atleast_1d.default", "atleast_2d.default", "atleast_3d.default", stored="carried")
def at_least(call: Call, rw: Rewriter) -> Value:
    """So many dimensions at least."""
    shape, wanted = shape_of(call.self), int(call.base[8])
    forms: dict[int, dict[int, tuple[int, ...]]] = {
        1: {0: (1,)}, 2: {0: (1, 1), 1: (1, *shape)}, 3: {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}}
    return reshape(rw, call.self, forms[wanted].get(len(shape), shape))


@TABLE("permute.default", stored="carried")
def permute_(call: Call, rw: Rewriter) -> Value:
    """The dimensions in another order."""
    return permute(rw, call.self, [axis_of(axis, len(shape_of(call.self))) for axis in call.dims])


@TABLE("transpose.int", "swapaxes.default", "swapdims.default", stored="carried")
def transpose(call: Call, rw: Rewriter) -> Value:
    """Two dimensions in each other's place."""
    rank = len(shape_of(call.self))
    names = ("axis0", "axis1") if call.base == "swapaxes" else ("dim0", "dim1")
    first, second = (axis_of(call.get(name), rank) for name in names)
    order = list(range(rank))
    if rank:
        order[first], order[second] = second, first
    return permute(rw, call.self, order)


@TABLE("t.default", "numpy_T.default", "mT.default", "adjoint.default", "mH.default", "matrix_H.default", stored="carried")
def turned(call: Call, rw: Rewriter) -> Value:
    """A matrix transposed, or all dimensions the other way round."""
    value = call.op.operands[0]
    order = list(range(len(shape_of(value))))
    if call.base in ("t", "numpy_T"):
        return permute(rw, value, order[::-1])
    return permute(rw, value, [*order[:-2], *order[-2:][::-1]])


@TABLE("movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist", stored="carried")
def movedim(call: Call, rw: Rewriter) -> Value:
    """Some dimensions in other places, the others in order."""
    rank = len(shape_of(call.self))
    source, destination = (
        [axis_of(a, rank) for a in ((x,) if isinstance(x, int) else x)] for x in (call.source, call.destination))
    rest = iter(axis for axis in range(rank) if axis not in source)
    at = dict(pairs(destination, source, "source and destination"))
    if not len(at) == len(set(source)) == len(source):
        raise Unsupported(f"moves the dimensions {source} to {destination}")
    return permute(rw, call.self, [at[place] if place in at else next(rest) for place in range(rank)])


def expand_to(rw: Rewriter, value: Value, shape: Sequence[int]) -> Value:
    """Broadcast; itself where nothing is repeated."""
    if value.shape == tuple(shape):
        return value
    try:
        fits = np.broadcast_shapes(shape_of(value), tuple(shape)) == tuple(shape)
    except ValueError:
        fits = False
    if not fits:
        raise Unsupported(f"{list(shape_of(value))} does not broadcast to {list(shape)}")
    return rw.emit("top.Expand", value, shape=tuple(shape))


@TABLE("expand.default", "broadcast_to.default", stored="carried")
def expand(call: Call, rw: Rewriter) -> Value:
    """Broadcast; -1 keeps a size."""
    shape, wanted = shape_of(call.self), list(call.size)
    lead = len(wanted) - len(shape)
    if lead < 0:
        raise Unsupported(f"{list(shape)} does not broadcast to {wanted}")
    return expand_to(rw, call.self, [shape[i - lead] if size == -1 and i >= lead else size for i, size in enumerate(wanted)])


@TABLE("expand_as.default", stored="carried")
def expand_as(call: Call, rw: Rewriter) -> Value:
    """Broadcast to the shape of another tensor."""
    return expand_to(rw, call.self, shape_of(call.other))


@TABLE("broadcast_tensors.default", stored="carried")
def broadcast_tensors(call: Call, rw: Rewriter) -> list[Value]:
    """All of one shape."""
    shape = shape_together(*call.tensors)
    return [expand_to(rw, value, shape) for value in call.tensors]


@TABLE("repeat.default", "tile.default", stored="carried")
def repeat(call: Call, rw: Rewriter) -> Value:
    """Repeated along each dimension."""
    shape = shape_of(call.self)
    times = call.repeats if call.base == "repeat" else call.dims
    rank = max(len(times), len(shape))
    times = (*(1,) * (rank - len(times)), *times)
    value = reshape(rw, call.self, (*(1,) * (rank - len(shape)), *shape))
    return value if set(times) <= {1} else rw.emit("top.Tile", value, tile=times)


@TABLE("repeat_interleave.self_int", stored="carried")
def repeat_interleave(call: Call, rw: Rewriter) -> Value:
    """Each slice so often, one after the other."""
    value = call.self if call.dim is not None else reshape(rw, call.self, (math.prod(shape_of(call.self)),))
    shape = shape_of(value)
    axis = axis_of(call.dim or 0, len(shape))
    if call.repeats == 1:
        return value
    apart = reshape(rw, value, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    tiled = rw.emit("top.Tile", apart, tile=tuple(call.repeats if i == axis + 1 else 1 for i in range(len(shape) + 1)))
    return reshape(rw, tiled, (*shape[:axis], shape[axis] * call.repeats, *shape[axis + 1 :]))


# --- joining and cutting


@TABLE("cat.default", "concat.default", "concatenate.default", stored="carried")
def cat(call: Call, rw: Rewriter) -> Value:
    """One after the other; a tensor of shape [0] among others is left out, and what adds nothing to the result's size."""
    parts = [part for part in call.tensors if shape_of(part) != (0,)] or call.tensors[:1]
    axis = axis_of(call.dim, len(shape_of(parts[0])))
    filled = [part for part in parts if shape_of(part)[axis] != 0] or parts[:1]
    if any(part.element != filled[0].element for part in filled) and not any(part.quant for part in filled):
        filled = [cast(rw, part, call.element) for part in filled]
    return filled[0] if len(filled) == 1 else rw.emit("top.Concat", *filled, axis=axis)


@TABLE("stack.default", stored="carried")
def stack(call: Call, rw: Rewriter) -> Value:
    """Side by side along a new dimension."""
    axis = axis_of(call.dim, len(shape_of(call.tensors[0])) + 1)
    parts = call.tensors if call.tensors[0].quant else [cast(rw, part, call.element) for part in call.tensors]
    return rw.emit("top.Pack", *parts, axis=axis)


@TABLE("hstack.default", "vstack.default", "dstack.default", "column_stack.default", "row_stack.default", stored="carried")
def stack_along(call: Call, rw: Rewriter) -> Value:
    """Joined along a dimension that is made where it is not there."""
    parts = []
    for value in call.tensors:
        shape = shape_of(value)
        if call.base == "hstack":
            parts.append(reshape(rw, value, shape or (1,)))
        elif call.base in ("vstack", "row_stack"):
            parts.append(reshape(rw, value, shape if len(shape) > 1 else (1, *(shape or (1,)))))
        elif call.base == "column_stack":
            parts.append(reshape(rw, value, shape if len(shape) > 1 else (*(shape or (1,)), 1)))
        else:
            parts.append(reshape(rw, value, {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}.get(len(shape), shape)))
    axis = {"hstack": 0 if len(shape_of(parts[0])) == 1 else 1, "dstack": 2, "column_stack": 1}.get(call.base, 0)
    parts = [cast(rw, part, call.element) for part in parts]
    return parts[0] if len(parts) == 1 else rw.emit("top.Concat", *parts, axis=axis)


def _split(rw: Rewriter, value: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    if sum(sizes) != shape_of(value)[axis] or min(sizes, default=0) < 0:
        raise Unsupported(f"cuts dimension {axis} of a tensor of shape {shape_of(value)} into {list(sizes)}")
    return [value] if len(sizes) == 1 else list(rw.emit("top.Split", value, axis=axis, split_size=tuple(sizes)))


@TABLE("split.Tensor", "split.sizes", "split_with_sizes.default", "chunk.default", stored="carried")
def split(call: Call, rw: Rewriter) -> list[Value]:
    """Cut into parts of given sizes, of one size, or into so many."""
    axis = axis_of(call.dim, len(shape_of(call.self)), least=1)
    size, nothing = shape_of(call.self)[axis], [0]
    if call.base == "chunk":
        _need_parts(call.chunks)
        step = max(-(-size // call.chunks), 1)
        nothing *= call.chunks
    elif call.overload == "Tensor":
        step = call.split_size
    else:
        return _split(rw, call.self, axis, call.split_sizes if call.base == "split_with_sizes" else call.split_size)
    if step < 1:
        raise Unsupported(f"cuts dimension {axis} into parts of {step}")
    return _split(rw, call.self, axis, [min(step, size - begin) for begin in range(0, size, step)] or nothing)


def _need_parts(count: int) -> None:
    if not 1 <= count <= _MOST_PARTS:
        raise Unsupported(f"cuts into {count} parts; 1 to {_MOST_PARTS:,} can be")


@TABLE("tensor_split.sections", "tensor_split.indices", "hsplit.int", "vsplit.int", "dsplit.int", stored="carried")
def tensor_split(call: Call, rw: Rewriter) -> list[Value]:
    """Cut into as equal parts as can be, or before given places."""
    shape = shape_of(call.self)
    axis = {"hsplit": min(1, len(shape) - 1), "vsplit": 0, "dsplit": 2}.get(call.base)
    axis = axis_of(call.dim if axis is None else axis, len(shape), least=1)
    size = shape[axis]
    if call.overload != "indices":
        count = call.sections
        _need_parts(count)
        sizes = [size // count + (place < size % count) for place in range(count)]
    else:
        places = [0, *(min(max(place + size if place < 0 else place, 0), size) for place in call.indices), size]
        sizes = [max(end - begin, 0) for begin, end in pairwise(places)]
    return _split(rw, call.self, axis, sizes)


@TABLE("unbind.int", stored="carried")
def unbind(call: Call, rw: Rewriter) -> list[Value]:
    """The slices along a dimension."""
    made = rw.emit("top.Unpack", call.self, axis=axis_of(call.dim, len(shape_of(call.self))))
    return list(made) if isinstance(made, tuple) else [made]


def slice_along(rw: Rewriter, value: Value, axis: int, begin: int, end: int, step: int = 1) -> Value:
    """Elements `begin` to `end` of one dimension."""
    shape = shape_of(value)
    if (begin, end, step) == (0, shape[axis], 1):
        return value
    offset, stop, steps = [0] * len(shape), list(shape), [1] * len(shape)
    offset[axis], stop[axis], steps[axis] = begin, max(end, begin), step
    return rw.emit("top.Slice", value, offset=tuple(offset), ends=tuple(stop), steps=tuple(steps))


def bounds(call: Call, size: int) -> tuple[int, int, int]:
    """Begin, end and step of a slice of a dimension."""
    if call.get("step", 1) < 1:
        raise Unsupported(f"slices by steps of {call.get('step', 1)}, which must be positive")
    begin, end, step = slice(call.start, call.end, call.get("step", 1)).indices(size)
    return begin, max(begin, end), step


@TABLE("slice.Tensor", stored="carried")
def slice_(call: Call, rw: Rewriter) -> Value:
    """Elements from start to end, by steps."""
    axis = axis_of(call.dim, len(shape_of(call.self)), least=1)
    return slice_along(rw, call.self, axis, *bounds(call, shape_of(call.self)[axis]))


@TABLE("narrow.default", stored="carried")
def narrow(call: Call, rw: Rewriter) -> Value:
    """So many elements from a start."""
    axis = axis_of(call.dim, len(shape_of(call.self)), least=1)
    start = call.start % max(shape_of(call.self)[axis], 1)
    return slice_along(rw, call.self, axis, start, start + call.length)


@TABLE("select.int", stored="carried")
def select(call: Call, rw: Rewriter) -> Value:
    """One slice of a dimension, without it."""
    shape = shape_of(call.self)
    axis = axis_of(call.dim, len(shape), least=1)
    index = call.index + shape[axis] if call.index < 0 else call.index
    if not 0 <= index < shape[axis]:
        raise Unsupported(f"takes slice {call.index} of dimension {axis} of a tensor of shape {shape}")
    return reshape(rw, slice_along(rw, call.self, axis, index, index + 1), (*shape[:axis], *shape[axis + 1 :]))


@TABLE("flip.default", "fliplr.default", "flipud.default", stored="carried")
def flip(call: Call, rw: Rewriter) -> Value:
    """The other way round along dimensions."""
    dims = call.dims if call.base == "flip" else (1,) if call.base == "fliplr" else (0,)
    axes = tuple(axis_of(axis, len(shape_of(call.self))) for axis in dims)
    return rw.emit("top.Reverse", call.self, axes=axes) if axes and shape_of(call.self) else call.self


@TABLE("rot90.default", stored="carried")
def rot90(call: Call, rw: Rewriter) -> Value:
    """Turned by right angles."""
    rank = len(shape_of(call.self))
    first, second = (axis_of(axis, rank) for axis in call.dims)
    order = list(range(rank))
    order[first], order[second] = second, first
    quarter = call.k % 4
    if quarter == 2:
        return rw.emit("top.Reverse", call.self, axes=(first, second))
    if not quarter:
        return call.self
    if quarter == 1:
        return permute(rw, rw.emit("top.Reverse", call.self, axes=(second,)), order)
    return rw.emit("top.Reverse", permute(rw, call.self, order), axes=(second,))


@TABLE("fft_fftshift.default", "fft_ifftshift.default", stored="carried")
def fftshift(call: Call, rw: Rewriter) -> Value:
    """Moved along dimensions by half of their sizes, so that frequency 0 is in the middle, or first again."""
    value, shape = call.self, shape_of(call.self)
    dims = range(len(shape)) if call.dim is None else (call.dim,) if isinstance(call.dim, int) else call.dim
    for axis in (axis_of(dim, len(shape), 1) for dim in dims):
        first = (shape[axis] + (call.base == "fft_fftshift")) // 2
        if 0 < first < shape[axis]:
            parts = (slice_along(rw, value, axis, first, shape[axis]), slice_along(rw, value, axis, 0, first))
            value = rw.emit("top.Concat", *parts, axis=axis)
    return value


@TABLE("roll.default", stored="carried")
def roll(call: Call, rw: Rewriter) -> Value:
    """Moved along dimensions, what falls out at one end comes in at the other."""
    value, shape = call.self, shape_of(call.self)
    flat = not call.dims
    if flat:
        value = reshape(rw, value, (math.prod(shape),))
    for shift, dim in pairs(call.shifts, call.dims or (0,), "shifts and dims"):
        sizes = shape_of(value)
        axis = axis_of(dim, len(sizes))
        first = -shift % sizes[axis] if sizes[axis] else 0
        if first:
            parts = (slice_along(rw, value, axis, first, sizes[axis]), slice_along(rw, value, axis, 0, first))
            value = rw.emit("top.Concat", *parts, axis=axis)
    return reshape(rw, value, shape)


def gather_places(rw: Rewriter, value: Value, axis: int, places: np.ndarray) -> Value:
    """The slices of a dimension at places that are known."""
    return rw.emit("top.Gather", value, rw.constant(np.ascontiguousarray(places).astype(np.int64)), axis=axis)


@TABLE("unfold.default", stored="carried")
def unfold(call: Call, rw: Rewriter) -> Value:
    """Windows along a dimension, which become the last one."""
    shape = shape_of(call.self)
    axis = axis_of(call.dimension, len(shape))
    extent = shape[axis] if shape else 1
    if call.size > extent or call.step < 1:
        raise Unsupported(f"takes windows of {call.size} of dimension {axis} of a tensor of shape {shape}")
    starts = counted(0, extent - call.size + 1, call.step)
    value = call.self if shape else reshape(rw, call.self, (1,))
    need_place(len(starts), call.size)
    made = gather_places(rw, value, axis, starts[:, None] + counted(call.size))
    rank = len(shape_of(made))
    return permute(rw, made, [*(i for i in range(rank) if i != axis + 1), axis + 1])


def strided_places(call: Call, total: int) -> np.ndarray:
    """The places, of `total` elements that lie in order, that the sizes, strides and offset of a call name."""
    sizes, offset = call.size, call.storage_offset or 0
    lasts = [(size - 1) * stride for size, stride in pairs(sizes, call.stride, "size and stride")]
    if min((*sizes, *call.stride, offset)) < 0:
        raise Unsupported(f"sees a tensor as sizes {list(sizes)} and strides {list(call.stride)} from {offset}")
    if math.prod(sizes) > MAX_CONSTANT:
        raise Unsupported(f"makes a tensor of the sizes {list(sizes)}, more than {MAX_CONSTANT:,} elements")
    if 0 not in sizes and offset + sum(lasts) >= total:
        raise Unsupported(f"looks beyond the {total} elements of its tensor")
    places = tables.full(tuple(sizes), offset, np.int64)
    for axis, (size, stride) in enumerate(zip(sizes, call.stride, strict=True)):
        places = places + (counted(size) * stride).reshape([-1 if i == axis else 1 for i in range(len(sizes))])
    return places


@TABLE("as_strided.default")
def as_strided(call: Call, rw: Rewriter) -> Value:
    """Elements of the tensor, which lies in order, at places that sizes and strides name."""
    total = math.prod(shape_of(call.self))
    places = strided_places(call, total)
    return gather_places(rw, reshape(rw, call.self, (total,)), 0, places)


# --- blocks and channels


@TABLE("pixel_shuffle.default", "pixel_unshuffle.default", stored="carried")
def pixel_shuffle(call: Call, rw: Rewriter) -> Value:
    """Channels become blocks of pixels, or the reverse."""
    shape = shape_of(call.self)
    factor = call.upscale_factor if call.base == "pixel_shuffle" else call.downscale_factor
    value = reshape(rw, call.self, (math.prod(shape[:-3]), *shape[-3:]))
    made = rw.emit("top.Depth2Space", value, block_h=factor, block_w=factor, is_CRD=True,
                   is_inversed=call.base == "pixel_unshuffle" or None, layout="NCHW")
    return reshape(rw, made, (*shape[:-3], *shape_of(made)[1:]))


@TABLE("channel_shuffle.default", "native_channel_shuffle.default", stored="carried")
def channel_shuffle(call: Call, rw: Rewriter) -> Value:
    """Channels of groups taken in turns."""
    batch, channels, *sizes = shape_of(call.self)
    if call.groups < 1 or channels % call.groups:
        raise Unsupported(f"{channels} channels cannot be split into {call.groups} groups")
    apart = reshape(rw, call.self, (batch, call.groups, channels // call.groups, math.prod(sizes)))
    return reshape(rw, permute(rw, apart, (0, 2, 1, 3)), shape_of(call.self))


# --- padding


def _pads(rank: int, given: Sequence[int]) -> tuple[int, ...]:
    """PyTorch's padding, of the last dimension first, as all begins, then all ends."""
    begins, ends = [0] * rank, [0] * rank
    if len(given) % 2 or len(given) > 2 * rank:
        raise Unsupported(f"padding {list(given)} does not fit a tensor of rank {rank}")
    for place in range(len(given) // 2):
        begins[rank - 1 - place], ends[rank - 1 - place] = given[2 * place], given[2 * place + 1]
    return (*begins, *ends)


_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@TABLE("constant_pad_nd.default", "pad.default", *(
    f"{mode}_pad{n}d.default" for mode in ("reflection", "replication") for n in (1, 2, 3)), "_pad_circular.default",
       stored="carried")
def pad(call: Call, rw: Rewriter) -> Value:
    """More elements around: a number, or what lies at the border."""
    value, rank = call.self, len(shape_of(call.self))
    mode = {"reflection": "reflect", "replication": "replicate", "constant": "constant", "": "circular"}.get(
        call.base.partition("_")[0]) or call.choice("mode", _MODES)
    paddings = _pads(rank, call.pad if call.base in ("pad", "constant_pad_nd", "_pad_circular") else call.padding)
    if not any(paddings):
        return value
    if _MODES[mode] == "wrap":
        for axis in range(rank):
            low, high = paddings[axis], paddings[rank + axis]
            if low or high:
                value = gather_places(rw, value, axis, wrapped_places(shape_of(value)[axis], low, high))
        return value
    if _MODES[mode] != "constant":
        return rw.emit("top.Pad", value, paddings=paddings, mode=_MODES[mode])
    return padded(rw, value, paddings, number_in(call.value or 0, value.element, "cut"))
