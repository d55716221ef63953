"""Shapes and what follows from them: reshapes, broadcasts, constants of a shape, pass-through ops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, FloatType, IntegerType, Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import cast, permute, reshape, splat
from transload_hub.ops.constant import no_range

from ..types import shape_of as sizes_of_attribute
from .quantize import stored
from .table import (
    TfTable,
    attr,
    axes_of,
    axis_of,
    constant_array,
    constant_count,
    constant_int,
    constant_ints,
    constant_sizes,
    element_of,
    ints_attr,
    need_place,
    shape_of,
)

TABLE = TfTable()

# --- constants, and ops that give what they get

@TABLE("Const", anything=True)
def const(op: Op, rw: Rewriter) -> Value | None:
    """Const: the hub's constant; one of texts has no place there."""
    value, element = op.attributes.get("value"), op.results[0].element_or_none
    if value is None or element is None:
        raise Unsupported("is a constant of texts, or without a value", "cut the model where numbers begin")
    return rw.constant(value) if stored(element) is element else rw.constant(value.numpy(), element=stored(element))


@TABLE("Identity", "StopGradient", "PreventGradient", "CheckNumerics", "Snapshot", "GuaranteeConst", "DebugIdentity", "DeepCopy",
       "DebugIdentityV2", "DebugIdentityV3", "PlaceholderWithDefault", "CheckNumericsV2", "_HostCast", "ReadVariableOp", "Print",
       "PrintV2", "XlaSharding", "TPUCopyWithLayout", "RefIdentity", "Copy", "CopyHost",
       "_EagerConst", anything=True)
def identity(op: Op, rw: Rewriter) -> Value:
    """Identity, and ops that matter to training, debugging or placement only."""
    return op.operands[0]


@TABLE("IdentityN", anything=True)
def identity_n(op: Op, rw: Rewriter) -> list[Value]:
    """IdentityN."""
    return list(op.operands)


@TABLE("NoOp", "ControlTrigger", anything=True)
def no_op(op: Op, rw: Rewriter) -> list[Value]:
    """NoOp, ControlTrigger: nothing."""
    return []


@TABLE("EnsureShape")
def ensure_shape(op: Op, rw: Rewriter) -> Value:
    """EnsureShape: checked now."""
    value = op.operands[0]
    wanted, sizes = sizes_of_attribute(attr(op, "shape")), shape_of(value)
    if wanted is not None and (len(wanted) != len(sizes) or any(w not in (None, s) for w, s in zip(wanted, sizes, strict=True))):
        raise Unsupported(f"the shape must be {list(wanted)}, and is {list(sizes)}")
    return value


# --- what shapes are

def _ints(rw: Rewriter, op: Op, numbers: Any, index: int = 0) -> Value:
    """A constant of integers in the element type of a result."""
    element = element_of(op, index)
    try:
        return rw.constant(np.asarray(numbers, dtype_of(element)), element=element)
    except OverflowError:
        raise Unsupported(f"{numbers} does not fit {element}") from None


@TABLE("Shape", "ShapeN", anything=True)
def shape(op: Op, rw: Rewriter) -> list[Value]:
    """Shape, ShapeN: known."""
    return [_ints(rw, op, shape_of(value), index) for index, value in enumerate(op.operands)]


@TABLE("Size", "Rank", anything=True)
def size(op: Op, rw: Rewriter) -> Value:
    """Size, Rank: known."""
    sizes = shape_of(op.operands[0])
    return _ints(rw, op, math.prod(sizes) if op.name == "tf.Size" else len(sizes))


@TABLE("BroadcastArgs")
def broadcast_args(op: Op, rw: Rewriter) -> Value:
    """BroadcastArgs: the shape that two shapes broadcast to."""
    shapes = [constant_sizes(rw, value, "a shape") for value in op.operands]
    try:
        return _ints(rw, op, np.broadcast_shapes(*shapes))
    except ValueError:
        raise Unsupported(f"the shapes {' and '.join(str(list(sizes)) for sizes in shapes)} do not broadcast") from None


@TABLE("BroadcastGradientArgs")
def broadcast_gradient_args(op: Op, rw: Rewriter) -> list[Value]:
    """BroadcastGradientArgs: the dimensions along which each of two shapes is repeated when they broadcast."""
    one, other = (constant_ints(rw, value, "a shape") for value in op.operands)
    if one == other:
        return [_ints(rw, op, [], 0), _ints(rw, op, [], 1)]
    rank = max(len(one), len(other))
    padded = [(1,) * (rank - len(sizes)) + sizes for sizes in (one, other)]
    repeated = [[axis for axis in range(rank) if sizes[axis] == 1] for sizes in padded]
    return [_ints(rw, op, axes, index) for index, axes in enumerate(repeated)]


@TABLE("ConcatOffset")
def concat_offset(op: Op, rw: Rewriter) -> list[Value]:
    """ConcatOffset: where each of the shapes begins when they are put one after the other."""
    shapes = [constant_sizes(rw, value, "a shape", shape_of(op.operands[1], 1)[0]) for value in op.operands[1:]]
    axis = axis_of(constant_int(rw, op.operands[0], "the dimension"), len(shapes[0]))
    found, start = [], 0
    for index, sizes in enumerate(shapes):
        found.append(_ints(rw, op, [start if place == axis else 0 for place in range(len(sizes))], index))
        start += sizes[axis]
    return found


@TABLE("InvertPermutation")
def invert_permutation(op: Op, rw: Rewriter) -> Value:
    """InvertPermutation: where each number is."""
    held, count = rw.constant_of(op.operands[0]), shape_of(op.operands[0], 1)[0]
    if held is not None:
        return _ints(rw, op, np.argsort(constant_array(rw, op.operands[0], "the order")))
    need_place(count)
    places = _ints(rw, op, tables.arange(count))
    return rw.emit("top.ScatterND", splat(rw, 0, (count,), element_of(op)), reshape(rw, op.operands[0], (count, 1)), places)


# --- other shapes of the same elements

@TABLE("Reshape")
def reshape_(op: Op, rw: Rewriter) -> Value:
    """Reshape to a constant shape; -1 is what is left."""
    value = op.operands[0]
    wanted = constant_ints(rw, op.operands[1], "the new shape")
    return value if value.shape == wanted else rw.emit("top.Reshape", value, shape=wanted)


@TABLE("Squeeze")
def squeeze(op: Op, rw: Rewriter) -> Value:
    """Squeeze: the dimensions named, or all of size 1."""
    value = op.operands[0]
    sizes = shape_of(value)
    named = axes_of(ints_attr(op, "squeeze_dims"), len(sizes))
    axes = named or tuple(axis for axis, size in enumerate(sizes) if size == 1)
    return rw.emit("top.Squeeze", value, axes=axes) if axes else value


@TABLE("ExpandDims")
def expand_dims(op: Op, rw: Rewriter) -> Value:
    """ExpandDims at a constant place."""
    value = op.operands[0]
    axis = axis_of(constant_int(rw, op.operands[1], "the dimension"), len(shape_of(value)) + 1)
    return rw.emit("top.Unsqueeze", value, axes=(axis,))


@TABLE("Transpose", "ConjugateTranspose")
def transpose(op: Op, rw: Rewriter) -> Value:
    """Transpose, ConjugateTranspose (of real numbers) in a constant order."""
    value = op.operands[0]
    rank = len(shape_of(value))
    order = [axis_of(axis, rank) for axis in constant_ints(rw, op.operands[1], "the order of dimensions")]
    return permute(rw, value, order)


@TABLE("BroadcastTo")
def broadcast_to(op: Op, rw: Rewriter) -> Value:
    """BroadcastTo a constant shape."""
    value = op.operands[0]
    wanted = constant_sizes(rw, op.operands[1], "the shape")
    return value if value.shape == wanted else rw.emit("top.Expand", value, shape=wanted)


@TABLE("Tile")
def tile(op: Op, rw: Rewriter) -> Value:
    """Tile, a constant number of times."""
    times = constant_ints(rw, op.operands[1], "the multiples")
    return rw.emit("top.Tile", op.operands[0], tile=times) if times else op.operands[0]


# --- constants of a shape

@TABLE("Fill")
def fill(op: Op, rw: Rewriter) -> Value:
    """Fill a constant shape."""
    wanted = constant_sizes(rw, op.operands[0], "the shape")
    shape_of(op.operands[1], 0, what="the number to fill with")
    held = rw.constant_of(op.operands[1])
    if held is not None:
        return splat(rw, held.reshape(-1)[0], wanted, op.operands[1].element)
    return rw.emit("top.Fill", op.operands[1], shape=wanted)


@TABLE("ZerosLike", "OnesLike")
def filled_like(op: Op, rw: Rewriter) -> Value:
    """ZerosLike, OnesLike."""
    return splat(rw, 0 if op.name == "tf.ZerosLike" else 1, shape_of(op.operands[0]), op.operands[0].element)


@TABLE("Empty")
def empty(op: Op, rw: Rewriter) -> Value:
    """Empty: whatever there is; here zeros."""
    return splat(rw, 0, constant_sizes(rw, op.operands[0], "the shape"), element_of(op))


@TABLE("Range")
def range_(op: Op, rw: Rewriter) -> Value:
    """Range between constants."""
    ends = [constant_array(rw, value, "each end and the step of the range") for value in op.operands]
    if any(end.size != 1 for end in ends):
        raise Unsupported("each end and the step of the range must be one number")
    start, limit, delta = (end.reshape(()) for end in ends)
    if (why := no_range(*(end.item() for end in (start, limit, delta)))) is not None:
        raise Unsupported(f"there is no range: {why}")
    element = op.operands[0].element
    steps = (int(limit) - int(start)) // int(delta) if start.dtype.kind in "iu" else (
        (float(limit) - float(start)) / float(delta))
    need_place(max(math.ceil(steps), 0) + 1)
    if isinstance(element, FloatType):
        count = max(math.ceil(steps), 0)
        numbers = start + tables.arange(count).astype(start.dtype) * delta
        return rw.constant(numbers.astype(dtype_of(element)), element=element)
    return rw.constant(tables.arange(int(start), int(limit), int(delta)).astype(dtype_of(element)), element=element)


@TABLE("LinSpace")
def lin_space(op: Op, rw: Rewriter) -> Value:
    """LinSpace: so many numbers at one distance, the last one the end itself."""
    start, stop = op.operands[:2]
    count = constant_count(rw, op.operands[2], "the number of elements", least=1)
    if count == 1:
        return reshape(rw, start, (1,))
    weights = tables.arange(count) / (count - 1)
    lower, upper = (rw.constant(part.astype(dtype_of(start.element)), element=start.element) for part in (1 - weights, weights))
    return rw.emit("top.Add", rw.emit("top.Mul", lower, start), rw.emit("top.Mul", upper, stop))


@TABLE("OneHot")
def one_hot(op: Op, rw: Rewriter) -> Value:
    """OneHot with a constant depth; an index outside, negative ones too, gives no on-value."""
    indices, depth_value, on, off = op.operands
    depth = constant_count(rw, depth_value, "the depth")
    if isinstance(indices.element, IntegerType) and depth > indices.element.range[1]:
        indices = cast(rw, indices, I32)  # whose numbers of classes do not wrap round
    axis = int(attr(op, "axis", -1))
    rank = len(shape_of(indices))
    place = rank if axis == -1 else axis_of(axis, rank + 1)
    numbers = tables.arange(depth).astype(dtype_of(indices.element)).reshape([depth, *(1,) * (rank - place)])
    widened = rw.emit("top.Unsqueeze", indices, axes=(place,))
    equal = rw.emit("top.Compare", widened, rw.constant(numbers, element=indices.element), mode="Equal")
    return rw.emit("top.Where", equal, on, off)


@TABLE("Diag")
def diag(op: Op, rw: Rewriter) -> Value:
    """Diag: the elements on the diagonal of a tensor of twice the rank."""
    value = op.operands[0]
    sizes = shape_of(value)
    count = math.prod(sizes)
    need_place(count, count)
    equal = rw.constant(tables.eye(count, dtype=np.bool_))
    zero = splat(rw, 0, (), value.element)
    return reshape(rw, rw.emit("top.Where", equal, reshape(rw, value, (1, count)), zero), (*sizes, *sizes))


@TABLE("DiagPart")
def diag_part(op: Op, rw: Rewriter) -> Value:
    """DiagPart: the reverse of Diag."""
    value = op.operands[0]
    sizes = shape_of(value)
    half = sizes[: len(sizes) // 2]
    if len(sizes) % 2 or half != sizes[len(half) :]:
        raise Unsupported(f"the shape {list(sizes)} has no diagonal")
    count = math.prod(half)
    need_place(count)
    flat = reshape(rw, value, (count * count,))
    places = rw.constant(tables.arange(count, dtype=np.int32) * (count + 1))
    return reshape(rw, rw.emit("top.Gather", flat, places, axis=0), half)


