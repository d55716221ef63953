"""Operations of `keras.ops` that numpy has, too, and are several ops here: orders, quantiles, triangles, windows of attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BF16, BOOL, F16, F32, F64, I32, ComplexType, FloatType, Value, dtype_of
from transload_hub import tables

from ..graph import Graph, broadcast, shape_of
from ..layer import Call
from .activations import softmax
from .convolution import convolve
from .images import images
from .movement import sizes_of
from .normalization import moments
from .operations import axis_of, element_of, floats, operation, option, to_value
from .pooling import channels_last
from .products import operands
from .reductions import WIDE, ordered

# --- orders


@operation("Sort")
def sort(call: Call, x: Value, axis: Any = None) -> Value:
    return ordered(call.g, x, axis_of(call, -1))[0]


@operation("Argsort")
def argsort(call: Call, x: Value, axis: Any = None) -> Value:
    return ordered(call.g, x, axis_of(call, -1))[1]


@operation("Median")
def median(call: Call, x: Value) -> Value:
    return _quantiles(call, x, 0.5)


@operation("Quantile", "Percentile")
def quantile(call: Call, x: Value, q: Any = None) -> Value:
    q = option(call, "q", q)
    if isinstance(q, Value):
        raise Unsupported("which quantile it is only the data says")
    shares, method = np.asarray(q, np.float32), option(call, "method", "linear")
    if call.layer.class_name.endswith("Percentile"):
        return _quantiles(call, x, shares / np.float32(100), method)
    if method != "linear":  # Keras 3.15's `Quantile.call` does not pass it on, its function does
        raise Unsupported(f"its method is {method!r}, which Keras itself leaves out where it runs a saved model",
                          hint="take keras.ops.percentile, which keeps it")
    return _quantiles(call, x, shares)


_PLACES: dict[str, Callable[[float], Sequence[int]]] = {
    "linear": lambda at: (math.floor(at), math.ceil(at)), "midpoint": lambda at: (math.floor(at), math.ceil(at)),
    "lower": lambda at: (math.floor(at),), "higher": lambda at: (math.ceil(at),), "nearest": lambda at: (round(at),)}
"""Which numbers of an order a quantile is made of, by method; `nearest` takes the even one of two that are as near."""


def _quantiles(call: Call, x: Value, q: Any, method: Any = "linear") -> Value:
    """Made of the numbers that lie at `q` of their order; the dimensions of several of them are the first.

    Source: `_quantile` in `keras/src/backend/tensorflow/numpy.py`, Keras 3.15, which has shares as float32, and of NaN NaN.
    """
    if method not in _PLACES:
        raise Unsupported(f"its method {method!r} is none of {', '.join(_PLACES)}", hint="take one of these")
    g, is_float, x = call.g, isinstance(x.element, FloatType), call.g.to_float(x)
    places, keep = g.axes(option(call, "axis"), x.rank), bool(option(call, "keepdims", False))
    rest = [place for place in range(x.rank) if place not in places]
    shape = shape_of(x)
    flat = g.reshape(g.transpose(x, [*rest, *places]), [*(shape[place] for place in rest), -1])
    values = ordered(g, flat, -1)[0]
    last = shape_of(values)[-1] - 1
    if last < 0:
        raise Unsupported("there is no quantile of no numbers")
    made = []
    for share in np.asarray(q, np.float64).ravel():
        at = float(share) * last
        places_of = sorted({min(max(place, 0), last) for place in _PLACES[method](at)})
        first, *others = (g.squeeze(g.narrow(values, -1, place, place + 1), -1) for place in places_of)
        part = 0.5 if method == "midpoint" else at - places_of[0]
        made += [g.AddV2(g.Mul(first, 1 - part), g.Mul(second, part)) for second in others] or [first]
    if is_float:
        unknown, nan = g.reduce("Any", g.IsNan(flat), -1), g.constant(math.nan, x.element)
        made = [g.select(unknown, nan, y) for y in made]
    if keep:
        made = [g.reshape(y, [1 if place in places else size for place, size in enumerate(shape)]) for y in made]
    return made[0] if np.ndim(q) == 0 else g.reshape(g.stack(made, 0), [*np.shape(q), *shape_of(made[0])])


@operation("Digitize")
def digitize(call: Call, x: Value, bins: Any) -> Value:
    g, bounds = call.g, np.asarray(bins, np.float32)
    x = g.cast(x, F32) if x.element in (F16, BF16) else g.cast(x, I32) if not isinstance(x.element, FloatType) else x
    return g.emit("Bucketize", (x,), shape_of(x), I32, boundaries=[float(bound) for bound in bounds])


# --- parts, sums


@operation("Diff")
def diff(call: Call, x: Value) -> Value:
    g, axis = call.g, call.g.axis(int(option(call, "axis", -1)), x.rank)
    for _ in range(int(option(call, "n", 1))):
        size = shape_of(x)[axis]
        first, second = g.narrow(x, axis, 0, size - 1), g.narrow(x, axis, 1, size)
        x = g.NotEqual(second, first) if x.element == BOOL else g.Sub(second, first)
    return x


@operation("Tril", "Triu")
def triangle(call: Call, x: Value) -> Value:
    """What lies below (above) the diagonal `k`, and on it."""
    g, k, lower = call.g, int(option(call, "k", 0)), call.layer.class_name.endswith("Tril")
    rows, columns = shape_of(x)[-2:]
    made = tables.ones((rows, columns), bool)
    mask = g.constant(np.tril(made, k) if lower else np.triu(made, k), BOOL)
    return g.select(mask, x, g.constant(0, x.element))


@operation("Diagonal")
def diagonal(call: Call, x: Value) -> Value:
    return _diagonal(call, x)


@operation("Trace")
def trace(call: Call, x: Value) -> Value:
    y = _diagonal(call, x)
    return call.g.reduce("Sum", call.g.cast(y, WIDE.get(y.element, y.element)), -1)


def _diagonal(call: Call, x: Value) -> Value:
    g, offset = call.g, int(option(call, "offset", 0))
    first, second = (g.axis(int(option(call, name, default)), x.rank) for name, default in (("axis1", 0), ("axis2", 1)))
    shape = shape_of(x)
    rest = [place for place in range(x.rank) if place not in (first, second)]
    rows, columns = shape[first], shape[second]
    row, column = max(0, -offset), max(0, offset)
    count = max(0, min(rows - row, columns - column))
    flat = g.reshape(g.transpose(x, [*rest, first, second]), [*(shape[place] for place in rest), rows * columns])
    return g.gather(flat, g.constant((row * columns + column + tables.arange(count) * (columns + 1)).astype(np.int32)), -1)


@operation("CountNonzero")
def count_nonzero(call: Call, x: Value) -> Value:
    g = call.g
    there = x if x.element == BOOL else g.NotEqual(x, g.constant(0, x.element))
    return g.reduce("Sum", g.cast(there, I32), option(call, "axis"))


@operation("Average")
def average(call: Call, x: Value, weights: Any = None) -> Value:
    g, axis, weights = call.g, option(call, "axis"), option(call, "weights", weights)
    if weights is None:
        return g.reduce("Mean", g.to_float(x), axis)
    x, weights = floats(g, x, weights)
    if axis is not None and weights.rank == 1 and x.rank > 1:
        place = g.axis(int(axis), x.rank)
        weights = g.reshape(weights, [size if each == place else 1 for each, size in enumerate(shape_of(x))])
    return g.RealDiv(g.reduce("Sum", g.Mul(x, weights), axis), g.reduce("Sum", weights, axis))


@operation("Slice")
def slice_(call: Call, x: Value, start: Any) -> Value:
    sizes = sizes_of(option(call, "shape"))
    if isinstance(start, Value):
        raise Unsupported("where it begins only the data says")
    begin = sizes_of(start)
    end = [whole if size == -1 else first + size for first, size, whole in zip(begin, sizes, shape_of(x), strict=True)]
    if any(not 0 <= first <= last <= size for first, last, size in zip(begin, end, shape_of(x), strict=True)):
        raise Unsupported(f"a part from {begin} to {end} does not lie in a tensor of shape {list(shape_of(x))}")
    return call.g.slice(x, begin, end)


@operation("TakeAlongAxis")
def take_along_axis(call: Call, x: Value, indices: Any) -> Value:
    """In each row the numbers at its own places."""
    g, axis = call.g, option(call, "axis")
    indices = to_value(g, indices)
    if axis is None:
        x, axis = g.reshape(x, [-1]), 0
    axis, rank = g.axis(int(axis), x.rank), x.rank
    rows = broadcast(*([1 if place == axis else size for place, size in enumerate(shape_of(each))] for each in (x, indices)))
    order = [*(place for place in range(rank) if place != axis), axis]

    def turned(value: Value) -> Value:
        whole = [shape_of(value)[axis] if place == axis else size for place, size in enumerate(rows)]
        return g.transpose(g.broadcast_to(value, whole), order)

    y, places, size = turned(x), turned(g.cast(indices, I32)), shape_of(x)[axis]
    places = g.select(g.Less(places, 0), g.AddV2(places, size), places)
    made = g.emit("GatherV2", (y, places, g.constant(rank - 1)), shape_of(places), y.element, batch_dims=rank - 1)
    return g.transpose(made, [order.index(place) for place in range(rank)])


@operation("SegmentSum")
def segment_sum(call: Call, data: Value, segments: Any) -> Value:
    g, count = call.g, option(call, "num_segments")
    option(call, "sorted")
    if count is None and isinstance(segments, Value):
        raise Unsupported("how many segments there are only the data says", "say num_segments where the model is made")
    count = int(count) if count is not None else int(np.max(segments)) + 1
    ids = to_value(g, segments)
    return g.emit("UnsortedSegmentSum", (data, ids, g.constant(count)), (count, *shape_of(data)[1:]))


_SCATTERS = {None: "Update", "add": "Add", "max": "Max", "min": "Min"}


@operation("ScatterUpdate")
def scatter_update(call: Call, x: Value, indices: Any, updates: Any) -> Value:
    g, how = call.g, option(call, "reduction")
    if how not in _SCATTERS:
        raise Unsupported(f"its reduction {how!r} is not known here")
    updates = g.cast(updates, x.element) if isinstance(updates, Value) else g.constant(updates, x.element)
    return g.emit(f"TensorScatter{_SCATTERS[how]}", (x, to_value(g, indices), updates), shape_of(x))


@operation("MultiHot")
def multi_hot(call: Call, x: Value) -> Value:
    """The labels of each row: those below 0 are none."""
    g, element = call.g, element_of(option(call, "dtype", "float32"))
    if option(call, "sparse"):
        raise Unsupported("it gives a sparse tensor")
    hot = g.one_hot(x, int(option(call, "num_classes")), element, int(option(call, "axis", -1)))
    return g.reduce("Any" if element == BOOL else "Max", hot, 1 if x.rank > 1 else 0)


# --- of two tensors


@operation("Outer")
def outer(call: Call, x: Any, y: Any) -> Value:
    x, y = call.g.promoted(x, y)
    return call.g.Mul(call.g.reshape(x, [-1, 1]), call.g.reshape(y, [1, -1]))


@operation("Inner", "Vdot")
def inner(call: Call, x: Any, y: Any) -> Value:
    g = call.g
    (x, y), element = operands(g, x, y, narrow=False)
    if call.layer.class_name.endswith("Vdot"):
        x, y = g.reshape(x, [-1]), g.reshape(y, [-1])
    if 0 in (x.rank, y.rank):
        return g.cast(g.Mul(x, y), element)
    letters = "abcdefghijklmnopqrstuvwxy"
    left, right = letters[: x.rank - 1], letters[x.rank - 1 : x.rank + y.rank - 2]
    return g.cast(g.einsum(f"{left}z,{right}z->{left}{right}", x, y), element)


@operation("Isclose")
def isclose(call: Call, x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Value:
    g = call.g
    x, y = g.promoted(x, y)
    if not isinstance(x.element, FloatType):
        return g.Equal(x, y)
    near = g.AddV2(g.Mul(g.Abs(y), float(option(call, "rtol", rtol))), float(option(call, "atol", atol)))
    made = g.LessEqual(g.Abs(g.Sub(x, y)), near)
    return g.LogicalOr(made, g.LogicalAnd(g.IsNan(x), g.IsNan(y))) if option(call, "equal_nan") else made


@operation("Logaddexp")
def logaddexp(call: Call, x: Any, y: Any) -> Value:
    g = call.g
    x, y = floats(g, x, y)
    apart = g.Sub(x, y)
    made = g.AddV2(g.Maximum(x, y), g.Log1p(g.Exp(g.Neg(g.Abs(apart)))))
    return g.select(g.IsNan(apart), g.AddV2(x, y), made)  # of two infinities alike their sum


@operation("Cross")
def cross(call: Call, x: Any, y: Any) -> Value:
    g, axis = call.g, option(call, "axis")
    x, y = g.promoted(x, y)
    given = [option(call, name, -1) for name in ("axisa", "axisb", "axisc")]
    given = given if axis is None else [axis] * 3
    parts = [g.unstack(value, int(place)) for value, place in ((x, given[0]), (y, given[1]))]
    if any(len(part) != 3 for part in parts):
        raise Unsupported("a cross product of vectors that have not three numbers is not known here")
    (a, b, c), (d, e, f) = parts
    made = [g.Sub(g.Mul(b, f), g.Mul(c, e)), g.Sub(g.Mul(c, d), g.Mul(a, f)), g.Sub(g.Mul(a, e), g.Mul(b, d))]
    return g.stack(made, int(given[2]))


@operation("Select")
def select(call: Call, conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Value:
    """The choice of the first condition that is true."""
    g = call.g
    *values, made = g.promoted(*choices, option(call, "default", default))
    for condition, value in reversed(list(zip(conditions, values, strict=True))):
        made = g.select(g.cast(to_value(g, condition), BOOL), value, made)
    return made


@operation("NanToNum")
def nan_to_num(call: Call, x: Value) -> Value:
    g, (nan, posinf, neginf) = call.g, (option(call, name) for name in ("nan", "posinf", "neginf"))
    if not isinstance(x.element, FloatType):
        return x
    most = float(np.finfo(np.float32 if x.element == BF16 else dtype_of(x.element)).max)
    most = 3.3895313892515355e38 if x.element == BF16 else most
    zero = g.constant(0, x.element)
    y = g.select(g.IsNan(x), g.constant(0.0 if nan is None else nan, x.element), x)
    for given, limit, op in ((posinf, most, "Greater"), (neginf, -most, "Less")):
        number = g.constant(limit if given is None else given, x.element)
        y = g.select(g.LogicalAnd(g.IsInf(y), getattr(g, op)(y, zero)), number, y)
    return y


@operation("Trunc")
def trunc(call: Call, x: Value) -> Value:
    g = call.g
    if not isinstance(x.element, FloatType):
        return x
    return g.select(g.Less(x, g.constant(0, x.element)), g.Ceil(x), g.Floor(x))


# --- networks


@operation("Moments")
def moments_of(call: Call, x: Value) -> Any:
    g, axes = call.g, call.g.axes(option(call, "axes"), x.rank)
    wide = g.cast(x, F32) if x.element in (F16, BF16) else x
    mean, variance = moments(g, wide, axes)
    if not option(call, "keepdims"):
        mean, variance = g.reduce("Max", mean, axes), g.reduce("Max", variance, axes)
    return [g.cast(mean, x.element), g.cast(variance, x.element)]


def _beside(g: Graph, value: Any, axes: Sequence[int], x: Value) -> Value:
    """What belongs to dimensions of a tensor, in a shape that is broadcast along the others."""
    made = value if isinstance(value, Value) else g.constant(value, x.element)
    made = g.cast(made, x.element)
    if made.rank == x.rank or list(axes) == [x.rank - 1]:
        return made
    return g.reshape(made, [size if place in axes else 1 for place, size in enumerate(shape_of(x))])


@operation("LayerNorm", "RMSNorm")
def layer_norm(call: Call, x: Value, gamma: Any = None, beta: Any = None) -> Value:
    g, axes = call.g, call.g.axes(axis_of(call, -1), x.rank)
    epsilon = float(option(call, "epsilon", 1e-7))
    wide = g.cast(x, F32 if x.element != F64 else F64)
    if call.layer.class_name.endswith("RMSNorm"):
        gamma = option(call, "scale", gamma)
        y = g.Mul(wide, g.Rsqrt(g.AddV2(g.reduce("Mean", g.Square(wide), axes, True), epsilon)))
        axes = [x.rank - 1]  # whichever are normalized, Keras broadcasts the scale along the last ones
    else:
        gamma, beta = option(call, "gamma", gamma), option(call, "beta", beta)
        mean, variance = moments(g, wide, axes)
        y = g.Mul(wide if option(call, "rms_scaling") else g.Sub(wide, mean), g.Rsqrt(g.AddV2(variance, epsilon)))
    y = y if gamma is None else g.Mul(y, _beside(g, gamma, axes, wide))
    y = y if beta is None else g.AddV2(y, _beside(g, beta, axes, wide))
    return g.cast(y, x.element)


@operation("BatchNorm")
def batch_norm(call: Call, x: Value, mean: Any, variance: Any, offset: Any = None, scale: Any = None) -> Value:
    g, axes = call.g, call.g.axes(option(call, "axis"), x.rank)
    offset, scale = option(call, "offset", offset), option(call, "scale", scale)
    mean, variance = _beside(g, mean, axes, x), _beside(g, variance, axes, x)
    factor = g.Rsqrt(g.AddV2(variance, float(option(call, "epsilon", 1e-3))))
    factor = factor if scale is None else g.Mul(factor, _beside(g, scale, axes, x))
    y = g.Mul(g.Sub(x, mean), factor)
    return y if offset is None else g.AddV2(y, _beside(g, offset, axes, x))


@operation("DotProductAttention")
def attention(call: Call, query: Value, key: Value, value: Value, bias: Any = None, mask: Any = None, scale: Any = None) -> Value:
    """Of tensors [batch, steps, heads, numbers]; heads of keys and values may be shared."""
    g, bias, mask, scale = call.g, option(call, "bias", bias), option(call, "mask", mask), option(call, "scale", scale)
    option(call, "flash_attention")  # how it is computed
    query, key, value = g.promoted(query, key, value)
    if {query.rank, key.rank, value.rank} != {4}:
        raise Unsupported("it is called with tensors that have not four dimensions")
    heads, shared = shape_of(query)[2], shape_of(key)[2]
    if heads != shared and shared and heads % shared == 0:
        key, value = g.repeat(key, heads // shared, 2), g.repeat(value, heads // shared, 2)
    scores = g.einsum("btnh,bsnh->bnts", query, key)
    scores = g.Mul(scores, 1 / math.sqrt(shape_of(key)[-1]) if scale is None else scale)
    if bias is not None:
        scores = g.AddV2(scores, g.cast(to_value(g, bias, scores), scores.element))
    left = None if mask is None else g.cast(to_value(g, mask), BOOL)
    if option(call, "is_causal"):
        ahead = g.constant(np.tril(tables.ones(shape_of(scores)[-2:], bool)), BOOL)
        left = ahead if left is None else g.LogicalAnd(left, ahead)
    if left is not None:
        scores = g.select(left, scores, g.constant((65500.0 if scores.element == F16 else 3.38953e38) * -0.7, scores.element))
    return g.einsum("bnts,bsnh->btnh", softmax(g, scores), value)


@operation("Conv", "DepthwiseConv")
def conv(call: Call, x: Value, kernel: Any) -> Value:
    g, rank, first = call.g, x.rank - 2, option(call, "data_format") == "channels_first"
    kernel = to_value(g, kernel, x)
    x, kernel = g.promoted(x, kernel)
    strides, dilations = ((given,) * rank if isinstance(given, int) else tuple(given)
                          for given in (option(call, "strides", 1), option(call, "dilation_rate", 1)))
    padding, deep = str(option(call, "padding", "valid")).upper(), call.layer.class_name.endswith("DepthwiseConv")
    count = math.prod(shape_of(kernel)[-2:]) if deep else shape_of(kernel)[-1]
    name = "DepthwiseConv" if deep else "Conv"
    return channels_last(g, x, first, lambda y: convolve(g, name, y, kernel, strides, padding, dilations, False, count))


# --- images


@operation("RGBToGrayscale")
def gray(call: Call, x: Value) -> Value:
    g, weights = call.g, [0.2989, 0.5870, 0.1140]

    def made(y: Value) -> Value:
        if shape_of(y)[-1] == 1:
            return y
        wide = g.to_float(y)
        return g.cast(g.reduce("Sum", g.Mul(wide, g.constant(weights, wide.element)), -1, True), y.element)

    return images(g, x, option(call, "data_format") == "channels_first", made)


@operation("CropImages", "PadImages")
def bordered(call: Call, x: Value) -> Value:
    """What is cut off or added at each side; of a side and a size that are said, the other side follows."""
    g, crops = call.g, call.layer.class_name.endswith("CropImages")
    what = "cropping" if crops else "padding"
    sides = {side: option(call, f"{side}_{what}") for side in ("top", "left", "bottom", "right")}
    wanted = [option(call, f"target_{size}") for size in ("height", "width")]

    def made(y: Value) -> Value:
        pairs = [_sides(sides[before], sides[after], size, target, crops) for before, after, size, target in (
            ("top", "bottom", shape_of(y)[1], wanted[0]), ("left", "right", shape_of(y)[2], wanted[1]))]
        if not crops:
            return g.pad(y, [(0, 0), *pairs, (0, 0)])
        for axis, (before, after) in enumerate(pairs, 1):
            y = g.narrow(y, axis, before, shape_of(y)[axis] - after)
        return y

    return images(g, x, option(call, "data_format") == "channels_first", made)


def _sides(before: Any, after: Any, size: int, target: Any, crops: bool) -> tuple[int, int]:
    if target is not None:
        more = size - int(target) if crops else int(target) - size
        before, after = (None if after is None else more - after) if before is None else before, after
        after = None if before is None else more - before
    if before is None or after is None or before < 0 or after < 0 or (crops and before + after >= size):
        raise Unsupported(f"it leaves open how much of a size of {size} is cut off or added before and behind")
    return int(before), int(after)


@operation("ExtractPatches")
def extract_patches(call: Call, x: Value) -> Value:
    """The numbers of each window as one pixel: a convolution whose kernel has a 1 for each."""
    g, first = call.g, option(call, "data_format") == "channels_first"
    size, dilations = ((given,) * 2 if isinstance(given, int) else tuple(given)
                       for given in (option(call, "size"), option(call, "dilation_rate", 1)))
    steps = option(call, "strides", size)
    strides, padding = (steps,) * 2 if isinstance(steps, int) else tuple(steps), str(option(call, "padding", "valid")).upper()
    if len(size) != 2 or len(strides) != 2:
        raise Unsupported(f"its windows of {size} are none of an image")

    def made(y: Value) -> Value:
        channels = shape_of(y)[-1]
        count = math.prod(size) * channels
        kernel = g.constant(tables.eye(count).reshape(*size, channels, count), y.element)
        return convolve(g, "Conv", y, kernel, strides, padding, dilations, False, count)

    return images(g, x, first, made)


@operation("RFFT")
def rfft(call: Call, x: Value) -> list[Value]:
    """The real and the imaginary parts of the half of a transform that is not the other's mirror."""
    g, element = call.g, x.element
    if element not in (F32, F64):
        raise Unsupported(f"a transform of numbers of type {element} is not known here")
    shape = shape_of(x)
    length = int(option(call, "fft_length", shape[-1]))
    half = (*shape[:-1], length // 2 + 1)
    made = g.emit("RFFT", (x, g.constant([length])), half, ComplexType(element))
    return [g.emit(name, (made,), half, element) for name in ("Real", "Imag")]
