"""Functions of TensorFlow between layers of Keras 2 (`TFOpLambda`), by the names that files have for them.

Each has the parameters of TensorFlow's own function, and its defaults, which are not those of `keras.ops`: `tf.cumsum` is along
the first dimension where nothing is said, `ops.cumsum` of all numbers. What a function has no parameter for is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BF16, BOOL, F16, F32, F64, I64, Type, Value, dtype_of

from ..graph import Graph, shape_of
from ..layer import LAYERS, Call
from .activations import gelu, leaky, log_softmax, softmax
from .images import images, in_blocks
from .movement import item_of, padded, sizes_of, tiled
from .operations import element_of, tensors, to_value
from .products import tensordot_of
from .reductions import arg, greatest, log_sum, matrix_norm, variance_of, vector_norm
from .reshaping import resized

__all__ = ["FUNCTIONS"]

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Rules by the name of a function, without `tf.`: `function(graph, *arguments)`."""


@LAYERS.layer("TFOpLambda", casts=False, tensors=False)
def function(call: Call, *given: Any) -> Any:
    """A function of TensorFlow: the first argument stands before, the others have names."""
    name = str(call.config.get("function"))
    known = FUNCTIONS.get(name)
    if known is None:
        raise Unsupported(f"it calls the function tf.{name[:80]}, which is not known here",
                          "export the model as a SavedModel (model.export) or to ONNX (tf2onnx)")
    named = {key: value for key, value in call.arguments.items() if key != "name"}
    parameters = signature(known).parameters
    for key, value in [*named.items()]:
        if key in parameters:
            continue
        if value is not None and value is not False:
            raise Unsupported(f"the argument {key[:40]}={str(value)[:80]} of tf.{name} is not known here")
        del named[key]
    return known(call.g, *tensors(call.g, known, given), **named)


def named(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function as the rule of functions of TensorFlow."""

    def add(rule: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(names, rule))
        return rule

    return add


LAYERS.layer("SlicingOpLambda", casts=False, tensors=False)(lambda call, x, *given: item_of(
    call.g, x, given[0] if given else call.arguments.get("slice_spec")))


# --- elementwise

_ONE = {
    "math.abs": "Abs", "math.negative": "Neg", "math.sqrt": "Sqrt", "math.rsqrt": "Rsqrt", "math.square": "Square",
    "math.exp": "Exp", "math.expm1": "Expm1", "math.log": "Log", "math.log1p": "Log1p", "math.sin": "Sin", "math.cos": "Cos",
    "math.tan": "Tan", "math.asin": "Asin", "math.acos": "Acos", "math.atan": "Atan", "math.sinh": "Sinh", "math.cosh": "Cosh",
    "math.tanh": "Tanh", "math.sigmoid": "Sigmoid", "math.softplus": "Softplus", "math.softsign": "Softsign", "math.erf": "Erf",
    "math.sign": "Sign", "math.floor": "Floor", "math.ceil": "Ceil", "math.round": "Round", "math.rint": "Rint",
    "math.reciprocal": "Reciprocal", "math.logical_not": "LogicalNot", "math.is_nan": "IsNan", "math.is_inf": "IsInf",
    "math.is_finite": "IsFinite", "identity": "Identity", "stop_gradient": "Identity", "nn.relu": "Relu", "nn.relu6": "Relu6",
    "nn.sigmoid": "Sigmoid", "nn.elu": "Elu", "nn.selu": "Selu", "nn.tanh": "Tanh", "nn.softplus": "Softplus",
    "nn.softsign": "Softsign"}
_TWO = {
    "__operators__.add": "AddV2", "math.add": "AddV2", "math.subtract": "Sub", "math.multiply": "Mul",
    "math.floordiv": "FloorDiv", "compat.v1.floor_div": "FloorDiv", "math.floormod": "FloorMod", "math.pow": "Pow",
    "math.maximum": "Maximum",
    "math.minimum": "Minimum", "math.divide_no_nan": "DivNoNan", "math.squared_difference": "SquaredDifference",
    "math.xlogy": "Xlogy", "math.atan2": "Atan2", "math.equal": "Equal", "math.not_equal": "NotEqual", "math.greater": "Greater",
    "math.greater_equal": "GreaterEqual", "math.less": "Less", "math.less_equal": "LessEqual", "math.logical_and": "LogicalAnd",
    "math.logical_or": "LogicalOr"}


def _one(op: str) -> Callable[..., Value]:
    return lambda g, x: getattr(g, op)(x)


def _two(op: str) -> Callable[..., Value]:
    return lambda g, x, y: getattr(g, op)(x, y)


FUNCTIONS.update({name: _one(op) for name, op in _ONE.items()})
FUNCTIONS.update({name: _two(op) for name, op in _TWO.items()})


@named("math.divide", "math.truediv")
def divide(g: Graph, x: Any, y: Any) -> Value:
    """Integers become floats, of 64 bits those of 32 and more."""
    first, second = g.pair(x, y)
    if first.element not in (F16, BF16, F32, F64):
        wide = F64 if dtype_of(first.element).itemsize >= 4 else F32
        first, second = g.cast(first, wide), g.cast(second, wide)
    return g.RealDiv(first, second)


@named("math.logical_xor")
def logical_xor(g: Graph, x: Any, y: Any) -> Value:
    return g.NotEqual(x, y)


@named("cast")
def cast(g: Graph, x: Any, dtype: Any) -> Value:
    return g.cast(to_value(g, x), element_of(dtype))


@named("convert_to_tensor")
def convert(g: Graph, value: Any, dtype: Any = None, dtype_hint: Any = None) -> Value:
    x = to_value(g, value)
    return x if dtype is None else g.cast(x, element_of(dtype))


@named("clip_by_value")
def clip(g: Graph, t: Value, clip_value_min: Any, clip_value_max: Any) -> Value:
    return g.Maximum(g.Minimum(t, clip_value_max), clip_value_min)


@named("where", "compat.v1.where", "compat.v1.where_v2")
def where(g: Graph, condition: Any, x: Any = None, y: Any = None) -> Value:
    if x is None or y is None:
        raise Unsupported("it gives the places that are true, and how many these are only the data says")
    return g.select(g.cast(to_value(g, condition), BOOL), x, y)


@named("nn.softmax", "compat.v1.nn.softmax", "compat.v1.math.softmax", "math.softmax")
def soft_max(g: Graph, logits: Value, axis: Any = None, dim: Any = None) -> Value:
    return softmax(g, logits, -1 if (axis := _either(axis, dim)) is None else axis)


@named("nn.log_softmax", "compat.v1.nn.log_softmax", "math.log_softmax")
def log_soft_max(g: Graph, logits: Value, axis: Any = None, dim: Any = None) -> Value:
    return log_softmax(g, logits, -1 if (axis := _either(axis, dim)) is None else axis)


@named("nn.leaky_relu")
def leaky_relu(g: Graph, features: Value, alpha: float = 0.2) -> Value:
    return leaky(g, features, alpha)


@named("nn.gelu")
def gelu_of(g: Graph, features: Value, approximate: bool = False) -> Value:
    return gelu(g, features, bool(approximate))


@named("nn.silu", "nn.swish")
def silu(g: Graph, features: Value, beta: Any = 1.0) -> Value:
    return g.Mul(features, g.Sigmoid(features if beta in (1, None) else g.Mul(features, beta)))


@named("nn.bias_add")
def bias_add(g: Graph, value: Value, bias: Any, data_format: str | None = None) -> Value:
    bias = g.like(bias, value) if not isinstance(bias, Value) else bias
    if data_format and str(data_format).startswith("NC"):
        bias = g.reshape(bias, [*shape_of(bias), *[1] * (value.rank - 2)])
    return g.AddV2(value, bias)


def _either(first: Any, second: Any) -> Any:
    """An argument, or what it was called before."""
    return second if first is None else first


# --- reductions, orders


def _reduction(op: str) -> Callable[..., Value]:
    def rule(g: Graph, input_tensor: Value, axis: Any = None, keepdims: bool = False) -> Value:
        return g.reduce(op, input_tensor, axis, bool(keepdims))

    return rule


FUNCTIONS.update({f"math.reduce_{name}": _reduction(op) for name, op in (
    ("sum", "Sum"), ("mean", "Mean"), ("max", "Max"), ("min", "Min"), ("prod", "Prod"), ("any", "Any"), ("all", "All"))})


@named("math.reduce_variance")
def reduce_variance(g: Graph, input_tensor: Value, axis: Any = None, keepdims: bool = False) -> Value:
    return variance_of(g, input_tensor, axis, bool(keepdims))


@named("math.reduce_std")
def reduce_std(g: Graph, input_tensor: Value, axis: Any = None, keepdims: bool = False) -> Value:
    return g.Sqrt(variance_of(g, input_tensor, axis, bool(keepdims)))


@named("math.reduce_logsumexp")
def reduce_log_sum(g: Graph, input_tensor: Value, axis: Any = None, keepdims: bool = False) -> Value:
    return log_sum(g, input_tensor, axis, bool(keepdims))


@named("math.argmax", "compat.v1.argmax", "argmax")
def argmax(g: Graph, input: Value, axis: Any = None, dimension: Any = None, output_type: Any = "int64") -> Value:
    return _arg(g, "ArgMax", input, _either(axis, dimension), output_type)


@named("math.argmin", "compat.v1.argmin", "argmin")
def argmin(g: Graph, input: Value, axis: Any = None, dimension: Any = None, output_type: Any = "int64") -> Value:
    return _arg(g, "ArgMin", input, _either(axis, dimension), output_type)


def _arg(g: Graph, name: str, x: Value, axis: Any, output_type: Any) -> Value:
    return arg(g, name, x, 0 if axis is None else axis, False, I64 if output_type is None else element_of(output_type))


def _cumulative(op: str) -> Callable[..., Value]:
    def rule(g: Graph, x: Value, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Value:
        return g.emit(op, (x, g.constant(g.axis(axis, x.rank))), shape_of(x), exclusive=bool(exclusive), reverse=bool(reverse))

    return rule


FUNCTIONS.update({"math.cumsum": _cumulative("Cumsum"), "math.cumprod": _cumulative("Cumprod")})


@named("math.top_k", "nn.top_k")
def top_k(g: Graph, input: Value, k: int = 1, sorted: bool = True, index_type: Any = "int32") -> list[Value]:
    return list(greatest(g, input, int(k), bool(sorted), element_of(index_type)))


@named("math.l2_normalize", "linalg.l2_normalize", "nn.l2_normalize", "compat.v1.math.l2_normalize",
       "compat.v1.nn.l2_normalize", "compat.v1.linalg.l2_normalize")
def l2_normalize(g: Graph, x: Value, axis: Any = None, epsilon: float = 1e-12, dim: Any = None) -> Value:
    square = g.reduce("Sum", g.Square(x), _either(axis, dim), keep=True)
    return g.Mul(x, g.Rsqrt(g.Maximum(square, epsilon)))


@named("norm", "linalg.norm", "compat.v1.norm", "compat.v1.linalg.norm")
def norm(
    g: Graph, tensor: Value, ord: Any = "euclidean", axis: Any = None, keepdims: Any = None, keep_dims: Any = None,
) -> Value:
    """Of all numbers as one vector where no axis is said, along one as of vectors, along two as of matrices."""
    keep = bool(_either(keepdims, keep_dims))
    if axis is None or isinstance(axis, int):
        return vector_norm(g, tensor, axis, ord, keep)
    if len(axis) != 2:
        raise Unsupported(f"a norm is one of one dimension or two, and not of {axis}")
    return matrix_norm(g, tensor, axis, ord, keep)


# --- products


@named("linalg.matmul")
def matmul(
    g: Graph, a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
    adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False, output_type: Any = None,
) -> Value:
    first, second = g.pair(a, b)
    if output_type is not None:
        first, second = g.cast(first, element_of(output_type)), g.cast(second, element_of(output_type))
    return g.matmul(first, second, bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b))


@named("tensordot")
def tensordot(g: Graph, a: Any, b: Any, axes: Any) -> Value:
    return tensordot_of(g, *g.pair(a, b), axes)


@named("einsum")
def einsum(g: Graph, *given: Any, equation: Any = None, optimize: Any = None) -> Value:
    if equation is None:
        equation, *given = given  # type: ignore[assignment]
    tensors = [leaf for leaf in _leaves(given) if isinstance(leaf, Value)]
    if not isinstance(equation, str) or not tensors:
        raise Unsupported("the file does not say of which tensors: Keras 2 does not write them")
    return g.einsum(equation, *g.promoted(*tensors))


def _leaves(values: Any) -> list[Any]:
    return [leaf for value in values for leaf in (_leaves(value) if isinstance(value, list | tuple) else [value])]


# --- what moves numbers


@named("__operators__.getitem")
def getitem(g: Graph, tensor: Value, slice_spec: Any, var: Any = None) -> Value:
    return item_of(g, tensor, slice_spec)


@named("reshape")
def reshape(g: Graph, tensor: Value, shape: Any) -> Value:
    return g.reshape(tensor, sizes_of(shape))


@named("transpose", "compat.v1.transpose")
def transpose(g: Graph, a: Value, perm: Any = None, conjugate: bool = False) -> Value:
    return g.transpose(a, [g.axis(axis, a.rank) for axis in perm] if perm is not None else [*reversed(range(a.rank))])


@named("expand_dims", "compat.v1.expand_dims")
def expand_dims(g: Graph, input: Value, axis: Any = None, dim: Any = None) -> Value:
    return g.expand(input, _either(axis, dim))


@named("squeeze", "compat.v1.squeeze")
def squeeze(g: Graph, input: Value, axis: Any = None, squeeze_dims: Any = None) -> Value:
    axis = _either(axis, squeeze_dims)
    ones = [place for place, size in enumerate(shape_of(input)) if size == 1]
    for place in reversed(g.axes(axis, input.rank) if axis not in (None, []) else ones):
        input = g.squeeze(input, place)
    return input


@named("concat")
def concat(g: Graph, values: Sequence[Any], axis: int) -> Value:
    return g.concat(g.promoted(*values), axis)


@named("stack")
def stack(g: Graph, values: Sequence[Any], axis: int = 0) -> Value:
    return g.stack(g.promoted(*values), axis)


@named("unstack")
def unstack(g: Graph, value: Value, num: int | None = None, axis: int = 0) -> list[Value]:
    return list(g.unstack(value, axis))


@named("split")
def split(g: Graph, value: Value, num_or_size_splits: Any, axis: int = 0, num: int | None = None) -> list[Value]:
    """In so many equal parts, or parts of given sizes; one of them may be -1, which is the rest."""
    if isinstance(num_or_size_splits, int):
        return list(g.split(value, num_or_size_splits, axis))
    sizes, whole = [int(size) for size in num_or_size_splits], shape_of(value)[g.axis(axis, value.rank)]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = whole - sum(sizes) - 1
    if sum(sizes) != whole or min(sizes) < 0:
        raise Unsupported(f"a size of {whole} cannot be split into parts of {num_or_size_splits}")
    bounds = np.cumsum([0, *sizes]).tolist()
    return [g.narrow(value, axis, first, last) for first, last in pairwise(bounds)]


@named("tile")
def tile(g: Graph, input: Value, multiples: Any) -> Value:
    return tiled(g, input, sizes_of(multiples))


@named("repeat")
def repeat(g: Graph, input: Value, repeats: Any, axis: int | None = None) -> Value:
    if isinstance(repeats, list) and len(repeats) == 1:
        repeats = repeats[0]
    if not isinstance(repeats, int):
        raise Unsupported("it repeats each place another number of times")
    return g.repeat(input if axis is not None else g.reshape(input, [-1]), repeats, 0 if axis is None else axis)


@named("broadcast_to")
def broadcast_to(g: Graph, input: Value, shape: Any) -> Value:
    return g.broadcast_to(input, sizes_of(shape))


@named("pad", "compat.v1.pad")
def pad(g: Graph, tensor: Value, paddings: Any, mode: Any = "CONSTANT", constant_values: Any = 0) -> Value:
    pairs = [(int(before), int(after)) for before, after in paddings]
    return padded(g, tensor, pairs, str(mode).lower(), constant_values or None)


@named("reverse")
def reverse(g: Graph, tensor: Value, axis: Any) -> Value:
    for place in g.axes(axis, tensor.rank):
        tensor = g.reverse(tensor, place)
    return tensor


@named("gather", "compat.v1.gather")
def gather(
    g: Graph, params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: int = 0,
) -> Value:
    x, y = to_value(g, params), to_value(g, indices)
    batch = g.axis(int(batch_dims or 0), y.rank + 1) if batch_dims else 0
    place = g.axis(batch if axis is None else axis, x.rank)
    shape, places = shape_of(x), shape_of(y)
    if place < batch or shape[:batch] != places[:batch]:
        raise Unsupported(f"places of shape {list(places)} are no batch of {batch} dimensions of those of shape {list(shape)}")
    made = (*shape[:place], *places[batch:], *shape[place + 1 :])
    return g.emit("GatherV2", (x, y, g.constant(place)), made, batch_dims=batch)


@named("one_hot")
def one_hot(
    g: Graph, indices: Any, depth: Any, on_value: Any = None, off_value: Any = None, axis: Any = None, dtype: Any = None,
) -> Value:
    values = [value for value in (on_value, off_value) if value is not None]
    element: Type = element_of(dtype) if dtype is not None else g.promoted(*values)[0].element if values else F32
    return g.one_hot(to_value(g, indices), int(depth), element, -1 if axis is None else int(axis),
                     1 if on_value is None else on_value, 0 if off_value is None else off_value)


@named("zeros_like", "compat.v1.zeros_like")
def zeros_like(g: Graph, input: Value, dtype: Any = None, optimize: Any = None) -> Value:
    return _filled(g, input, 0, dtype)


@named("ones_like", "compat.v1.ones_like")
def ones_like(g: Graph, input: Value, dtype: Any = None, optimize: Any = None) -> Value:
    return _filled(g, input, 1, dtype)


def _filled(g: Graph, x: Value, number: int, dtype: Any) -> Value:
    return g.broadcast_to(g.constant(number, x.element if dtype is None else element_of(dtype)), shape_of(x))


# --- images


@named("image.resize")
def resize(
    g: Graph, image: Value, size: Any, method: Any = "bilinear", preserve_aspect_ratio: bool = False, antialias: bool = False,
) -> Value:
    """`preserve_aspect_ratio`: the greatest size of the image's aspect in the one that is said."""
    wanted = _whole_size(image, size, bool(preserve_aspect_ratio))
    return images(g, image, False, lambda x: resized(g, x, wanted, str(method).lower(), bool(antialias)))


_METHODS = ("bilinear", "nearest", "bicubic", "area")
_OPS = {"nearest": "ResizeNearestNeighbor", "bilinear": "ResizeBilinear", "bicubic": "ResizeBicubic", "area": "ResizeArea"}


@named("compat.v1.image.resize", "compat.v1.image.resize_images")
def resize_images(
    g: Graph, image: Value, size: Any, method: Any = 0, align_corners: bool = False, preserve_aspect_ratio: bool = False,
) -> Value:
    """As in TensorFlow 1, where pixels are points, the first of both images in one place."""
    how = _METHODS[method] if isinstance(method, int) and 0 <= method < len(_METHODS) else str(method).lower()
    if how not in _METHODS:
        raise Unsupported(f"its method {how!r} is none that TensorFlow 1 has")
    wanted = _whole_size(image, size, bool(preserve_aspect_ratio))

    def made(x: Value) -> Value:
        n, height, width, channels = shape_of(x)
        if [height, width] == wanted:
            return x
        element = x.element if how == "nearest" else F32
        return g.emit(_OPS[how], (x, g.constant(wanted)), (n, *wanted, channels), element, align_corners=bool(align_corners))

    return images(g, image, False, made)


def _whole_size(image: Value, size: Any, keeps: bool) -> list[int]:
    wanted = [int(each) for each in size]
    if not keeps:
        return wanted
    height, width = shape_of(image)[-3:-1]
    factor = np.float32(min(np.float32(wanted[0]) / np.float32(height), np.float32(wanted[1]) / np.float32(width)))
    return [int(np.round(factor * np.float32(each))) for each in (height, width)]


def _blocks(op: str) -> Callable[..., Value]:
    def rule(g: Graph, input: Value, block_size: int, data_format: str = "NHWC") -> Value:
        return in_blocks(g, op, input, int(block_size), data_format == "NCHW")

    return rule


for _prefix in ("nn.", "compat.v1.", "compat.v1.nn."):
    FUNCTIONS.update({f"{_prefix}depth_to_space": _blocks("DepthToSpace"), f"{_prefix}space_to_depth": _blocks("SpaceToDepth")})
