"""Random small functions in TensorFlow's Python interfaces, as tests of other converters write them.

    python benchmarks/tensorflow_functions.py FOLDER [COUNT] [FIRST]        (where tensorflow is installed)

writes FOLDER/N.pb (a graph of one op, or few, with any attributes) and FOLDER/N.npz (inputs, and what tensorflow computes without
its graph optimizers), which `tensorflow_functions_judge.py` runs through Transload. A number is always the same function. Of
three inputs in ten a size is unknown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

v1, nn, raw = tf.compat.v1, tf.nn, tf.raw_ops
FLOATS, INTS = ("float32", "float32", "float32", "float64", "float16"), ("int32", "int64", "int8", "uint8", "int16")


class Draw:
    """Random choices of one function, and its inputs."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.inputs: list[np.ndarray] = []

    def one(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def n(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def shape(self, low: int = 0, high: int = 4, empty: float = 0.03) -> tuple[int, ...]:
        return tuple(0 if self.chance(empty) else self.n(1, 5) for _ in range(self.n(low, high)))

    def axis(self, rank: int) -> int:
        return self.n(-rank, rank - 1)

    def axes(self, rank: int) -> Any:
        if rank == 0 or self.chance(0.15):
            return None
        chosen = self.rng.permutation(rank)[: self.n(1, rank)]
        return [int(a) - (rank if self.chance(0.3) else 0) for a in chosen]

    def broadcast(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that can be broadcast with another."""
        other = tuple(1 if self.chance(0.3) else n for n in shape)
        return other[self.n(0, len(other)) :] if self.chance(0.4) else other

    def array(self, shape: Any, dtype: str = "float32", low: float = -3.0, high: float = 3.0) -> np.ndarray:
        if dtype == "bool":
            return self.rng.random(shape) < 0.5
        if dtype.startswith(("int", "uint")):
            low, high = max(int(low * 8), np.iinfo(dtype).min), int(high * 8)
            return self.rng.integers(max(low, 0) if dtype.startswith("u") else low, max(high, 1), shape).astype(dtype)
        if dtype.startswith("complex"):
            return (self.rng.uniform(low, high, shape) + 1j * self.rng.uniform(low, high, shape)).astype(dtype)
        return np.asarray(self.rng.uniform(low, high, shape)).astype(dtype)

    def put(self, array: np.ndarray) -> Any:
        """An input of the function."""
        shape = (
            None
            if self.chance(0.05)
            else [None if self.chance(0.5) else n for n in array.shape]
            if self.chance(0.3)
            else array.shape
        )
        self.inputs.append(np.asarray(array))
        return v1.placeholder(array.dtype, shape, name=f"x{len(self.inputs) - 1}")

    def x(self, shape: Any, dtype: str = "float32", low: float = -3.0, high: float = 3.0) -> Any:
        return self.put(self.array(shape, dtype, low, high))

    def maybe_const(self, array: np.ndarray, p: float = 0.6) -> Any:
        return tf.constant(array) if self.chance(p) else self.put(array)


TABLE: dict[str, Callable[[Draw], Any]] = {}


def op(name: str) -> Callable[[Callable[[Draw], Any]], Callable[[Draw], Any]]:
    def enter(function: Callable[[Draw], Any]) -> Callable[[Draw], Any]:
        TABLE[name] = function
        return function

    return enter


def unary(names: str, low: float = -3.0, high: float = 3.0, types: tuple[str, ...] = FLOATS, where: Any = tf.math) -> None:
    for name in names.split():
        function = getattr(where, name)
        TABLE[name] = lambda d, function=function: function(d.x(d.shape(), d.one(*types), low, high))


unary("abs negative square sign", types=(*FLOATS, "int32", "int64", "int8", "int16"))
unary("exp sin cos tan tanh sigmoid erf erfc ceil floor rint round softplus softsign expm1 sinh cosh atan asinh")
unary("log sqrt rsqrt lgamma reciprocal log1p", 0.1, 4.0)
unary("asin acos atanh", -0.95, 0.95)
unary("acosh", 1.1, 5.0)
unary("erfinv ndtri", 0.05, 0.95)
unary("digamma bessel_i0e bessel_i1e", 0.2, 4.0)
unary("is_nan is_inf is_finite log_sigmoid zero_fraction l2_normalize", types=("float32", "float64"))
unary("relu relu6 elu selu leaky_relu silu gelu swish l2_loss softplus", types=("float32", "float64", "float16"), where=nn)
unary("zeros_like ones_like identity shape size rank stop_gradient", types=(*FLOATS, *INTS, "bool"), where=tf)


def binary(names: str, types: tuple[str, ...], low: float = -3.0, high: float = 3.0) -> None:
    for name in names.split():
        found = getattr(tf.math, name, None) or getattr(tf, name)

        def build(d: Draw, function: Any = found) -> Any:
            dtype, shape = d.one(*types), d.shape(0, 5)
            pair = [d.array(shape, dtype, low, high), d.array(d.broadcast(shape), dtype, low, high)]
            first = d.put(pair[0])
            pair = [first, d.maybe_const(pair[1], 0.4)]
            return function(*(pair[::-1] if d.chance(0.5) else pair))

        TABLE[f"{name} of {types[-1]}"] = build


binary("add subtract multiply maximum minimum squared_difference", ("float32", "float64", "float16", "int32", "int64"))
binary(
    "greater greater_equal less less_equal equal not_equal", ("float32", "float64", "int32", "int64", "int8", "uint8", "int16")
)
binary("logical_and logical_or logical_xor", ("bool",))
binary(
    "divide pow floordiv floormod truediv xdivy xlogy atan2 divide_no_nan multiply_no_nan truncatediv truncatemod",
    ("float32", "float64"),
    0.3,
    4.0,
)
binary("floordiv floormod truncatediv truncatemod", ("int32", "int64", "int8", "int16"), 0.2, 3.0)
binary("nextafter", ("float32", "float64"))
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    _found = getattr(tf.bitwise, _name)

    def _bitwise(d: Draw, function: Any = _found) -> Any:
        shape, dtype = d.shape(), d.one(*INTS, "uint16", "uint32")
        return function(d.x(shape, dtype), d.x(d.broadcast(shape), dtype))

    TABLE[_name] = _bitwise


@op("signed_floordiv")
def _(d: Draw) -> Any:
    dtype, shape = d.one("float32", "int32", "int64", "int8"), d.shape()
    divisor = d.array(shape, dtype, 0.3, 3.0) * np.asarray(d.one(1, -1), dtype)
    return d.one(tf.math.floordiv, tf.math.floormod, tf.truncatediv, tf.truncatemod)(d.x(shape, dtype), d.put(divisor))


@op("shift")
def _(d: Draw) -> Any:
    dtype, shape = d.one(*INTS), d.shape()
    amount = d.rng.integers(0, 7, shape).astype(dtype)
    return d.one(tf.bitwise.left_shift, tf.bitwise.right_shift)(d.x(shape, dtype), d.put(amount))


@op("reduce")
def _(d: Draw) -> Any:
    shape, name = (
        d.shape(0, 5),
        d.one("sum", "mean", "max", "min", "prod", "any", "all", "logsumexp", "euclidean_norm", "variance", "std"),
    )
    dtype = (
        "bool"
        if name in ("any", "all")
        else d.one(*FLOATS, "int32", "int64")
        if name in ("sum", "max", "min", "prod")
        else "float32"
    )
    shape = tuple(max(n, 1) for n in shape) if name not in ("sum", "prod", "any", "all") else shape
    return getattr(tf.math, f"reduce_{name}")(d.x(shape, dtype, -2, 2), axis=d.axes(len(shape)), keepdims=d.chance(0.5))


@op("arg")
def _(d: Draw) -> Any:
    shape = d.shape(1, 4, 0)
    return d.one(tf.argmax, tf.argmin)(
        d.x(shape, d.one("float32", "int32", "float64", "uint8")), axis=d.axis(len(shape)), output_type=d.one(tf.int32, tf.int64)
    )


@op("cum")
def _(d: Draw) -> Any:
    shape = d.shape(1, 4)
    return d.one(tf.cumsum, tf.math.cumprod)(
        d.x(shape, d.one("float32", "int32", "float64")), axis=d.axis(len(shape)), exclusive=d.chance(0.5), reverse=d.chance(0.5)
    )


@op("cumulative_logsumexp")
def _(d: Draw) -> Any:
    shape = d.shape(1, 3, 0)
    return tf.math.cumulative_logsumexp(d.x(shape), axis=d.axis(len(shape)), exclusive=d.chance(0.3), reverse=d.chance(0.5))


@op("softmax")
def _(d: Draw) -> Any:
    shape = d.shape(1, 4, 0)
    return d.one(nn.softmax, nn.log_softmax)(d.x(shape, d.one("float32", "float64", "float16")), axis=d.axis(len(shape)))


@op("cast")
def _(d: Draw) -> Any:
    kinds = ("float32", "float64", "float16", "bfloat16", *INTS, "uint16", "uint32", "bool")
    source, to = d.one(*(k for k in kinds if k != "bfloat16")), d.one(*kinds)
    low = 0.2 if to.startswith("u") else -3.0
    return tf.cast(tf.cast(d.x(d.shape(), source, low), to), d.one("float32", "int32"))


@op("complex")
def _(d: Draw) -> Any:
    shape = d.shape(1, 3, 0)
    value = tf.complex(d.x(shape), d.x(shape))
    value = d.one(lambda v: v, tf.math.conj, lambda v: v * tf.complex(2.0, -1.0), lambda v: v + v, tf.signal.fft, tf.signal.ifft)(
        value
    )
    return d.one(tf.abs, tf.math.real, tf.math.imag, tf.math.angle)(value)


@op("fft")
def _(d: Draw) -> Any:
    shape = (*d.shape(0, 2, 0), d.n(2, 5), d.n(3, 9))
    which = d.one("rfft", "rfft2d", "irfft", "stft")
    if which == "stft":
        return tf.abs(tf.signal.stft(d.x((d.n(1, 2), 40)), d.one(8, 10), d.one(3, 4, 5), fft_length=d.one(None, 16)))
    if which == "irfft":
        half = tf.complex(d.x(shape), d.x(shape))
        return tf.signal.irfft(half, fft_length=d.one(None, [2 * shape[-1] - 2], [shape[-1]]))
    result = tf.signal.rfft(d.x(shape), d.one(None, [shape[-1]], [8])) if which == "rfft" else tf.signal.rfft2d(d.x(shape))
    return [tf.math.real(result), tf.math.imag(result)]


# --- shapes


@op("reshape")
def _(d: Draw) -> Any:
    shape = d.shape(0, 4)
    total = int(np.prod(shape))
    to = d.one([-1] if total else [0], [total], list(shape[::-1]), [1, *shape], [*shape, 1])
    value = d.x(shape, d.one(*FLOATS, *INTS, "bool"))
    return tf.reshape(value, to) if d.chance(0.6) else tf.reshape(value, tf.concat([tf.shape(value), [1]], 0))


@op("transpose")
def _(d: Draw) -> Any:
    shape = d.shape(0, 5)
    return tf.transpose(d.x(shape, d.one(*FLOATS, *INTS, "bool")), d.one(None, [int(i) for i in d.rng.permutation(len(shape))]))


@op("expand_squeeze")
def _(d: Draw) -> Any:
    shape = d.shape(0, 4)
    value = tf.expand_dims(d.x(shape, d.one("float32", "int32", "bool")), d.n(-len(shape) - 1, len(shape)))
    return value if d.chance(0.5) else tf.squeeze(value) if d.chance(0.4) and all(shape) else tf.expand_dims(value, 0)


@op("squeeze")
def _(d: Draw) -> Any:
    shape = tuple(1 if d.chance(0.5) else n for n in d.shape(1, 5, 0))
    ones = [i - (len(shape) if d.chance(0.3) else 0) for i, n in enumerate(shape) if n == 1]
    return tf.squeeze(d.x(shape), axis=ones if ones and d.chance(0.6) else None)


@op("concat")
def _(d: Draw) -> Any:
    shape = list(d.shape(1, 4))
    axis = d.axis(len(shape))
    dtype, parts = d.one(*FLOATS, *INTS, "bool"), []
    for _ in range(d.n(1, 4)):
        shape[axis] = d.n(0, 3)
        parts.append(d.x(tuple(shape), dtype))
    return tf.concat(parts, axis)


@op("stack")
def _(d: Draw) -> Any:
    shape, count = d.shape(0, 3), d.n(1, 4)
    axis = d.n(-len(shape) - 1, len(shape))
    return tf.stack([d.x(shape, "int32") for _ in range(count)], axis)


@op("unstack")
def _(d: Draw) -> Any:
    shape = d.shape(1, 4, 0)
    axis = d.axis(len(shape))
    return tf.unstack(d.x(shape, d.one("float32", "int64")), num=shape[axis], axis=axis)


@op("split")
def _(d: Draw) -> Any:
    shape = list(d.shape(1, 4, 0))
    axis = d.axis(len(shape))
    if d.chance(0.5):
        count = d.n(1, 3)
        shape[axis] = count * d.n(1, 3)
        return tf.split(d.x(tuple(shape)), count, axis)
    sizes = [d.n(0, 3) for _ in range(d.n(1, 3))] + [1]
    shape[axis] = sum(sizes)
    if d.chance(0.4):
        sizes[d.n(0, len(sizes) - 1)] = -1
    return tf.split(d.x(tuple(shape)), sizes, axis, num=len(sizes))


@op("slice")
def _(d: Draw) -> Any:
    shape = d.shape(1, 4, 0)
    begin = [d.n(0, n - 1) for n in shape]
    size = [-1 if d.chance(0.3) else d.n(0, n - b) for n, b in zip(shape, begin, strict=True)]
    return tf.slice(d.x(shape, d.one("float32", "int32", "bool", "int8")), begin, size)


@op("strided_slice")
def _(d: Draw) -> Any:
    shape = d.shape(1, 5, 0)
    value, index = d.x(shape, d.one("float32", "int32", "bool")), []
    for n in shape:
        if d.chance(0.15):
            index.append(tf.newaxis)
        kind = d.one("index", "slice", "slice", "all", "ellipsis")
        if kind == "ellipsis" and Ellipsis not in index:
            index.append(Ellipsis)
            break
        if kind == "index":
            index.append(d.n(-n, n - 1))
        elif kind == "slice":
            step = d.one(None, 1, 2, 3, -1, -2)
            index.append(slice(d.one(None, d.n(-n - 1, n + 1)), d.one(None, d.n(-n - 1, n + 1)), step))
        else:
            index.append(slice(None))
    return value[tuple(index)]


@op("tile")
def _(d: Draw) -> Any:
    shape = d.shape(1, 4)
    return tf.tile(d.x(shape, d.one("float32", "int32", "bool")), [d.n(0, 3) for _ in shape])


@op("pad")
def _(d: Draw) -> Any:
    mode = d.one("CONSTANT", "REFLECT", "SYMMETRIC")
    shape = d.shape(1, 4, 0)
    most = [4 if mode == "CONSTANT" else n - (mode == "REFLECT") for n in shape]
    pads = [[d.n(0, m), d.n(0, m)] for m in most]
    value = d.x(shape, d.one("float32", "int32", "float16", "int64"))
    return tf.pad(value, pads, mode, constant_values=d.one(0, 2) if mode == "CONSTANT" else 0)


@op("fill_range")
def _(d: Draw) -> Any:
    which = d.one("fill", "range", "linspace", "eye", "zeros", "broadcast_to", "ones")
    if which == "fill":
        return tf.fill(d.shape(), d.x((), d.one("float32", "int32", "bool")))
    if which == "range":
        return tf.cast(tf.range(d.n(-3, 3), d.n(4, 20), d.n(1, 4)), tf.float32) + d.x(())
    if which == "linspace":
        return tf.linspace(d.x(()), d.x(()), d.n(1, 6))
    if which == "eye":
        return tf.eye(d.n(1, 4), d.n(1, 4), batch_shape=d.one(None, [2])) + d.x(())
    if which == "broadcast_to":
        shape = d.shape()
        return tf.broadcast_to(d.x(d.broadcast(shape), d.one("float32", "int32", "bool")), shape)
    value = d.x(d.shape())
    return d.one(tf.zeros, tf.ones)(tf.shape(value), d.one("float32", "int32", "bool"))


@op("one_hot")
def _(d: Draw) -> Any:
    shape = d.shape(0, 3)
    dtype = d.one("float32", "int32", "bool", "float16")
    on, off = (True, False) if dtype == "bool" else (d.n(1, 3), d.n(-2, 0))
    return tf.one_hot(
        d.put(d.rng.integers(-1, 6, shape).astype(d.one("int32", "int64", "uint8"))), 5, on, off, d.n(-1, len(shape)), dtype=dtype
    )


@op("reverse_roll")
def _(d: Draw) -> Any:
    shape = d.shape(1, 4)
    axes = sorted({int(a) % len(shape) for a in d.axes(len(shape)) or [0]})
    value = d.x(shape, d.one("float32", "int32", "bool"))
    return tf.reverse(value, axes) if d.chance(0.5) else tf.roll(value, [d.n(-4, 4) for _ in axes], axes)


@op("reverse_sequence")
def _(d: Draw) -> Any:
    shape = d.shape(2, 4, 0)
    seq, batch = (int(a) for a in d.rng.permutation(len(shape))[:2])
    lengths = d.rng.integers(0, shape[seq] + 1, shape[batch]).astype(d.one("int32", "int64"))
    return tf.reverse_sequence(d.x(shape), d.maybe_const(lengths), seq_axis=seq, batch_axis=batch)


@op("where_select")
def _(d: Draw) -> Any:
    shape = d.shape(0, 4)
    dtype = d.one("float32", "int32", "bool", "float64", "int64")
    a, b = d.x(shape, dtype), d.x(d.broadcast(shape), dtype)
    if d.chance(0.3) and shape:
        return v1.where(d.x(shape[:1] if len(shape) > 1 else shape, "bool"), d.x(shape, dtype), d.x(shape, dtype))
    return tf.where(d.x(d.broadcast(shape), "bool"), a, b)


@op("gather")
def _(d: Draw) -> Any:
    shape = d.shape(1, 4, 0)
    axis, dtype = d.axis(len(shape)), d.one("float32", "int32", "bool", "uint8")
    batch = d.n(0, min(axis % len(shape), 2)) if d.chance(0.3) else 0
    places = (*shape[:batch], *d.shape(0, 2))
    index = d.rng.integers(0, shape[axis], places).astype(d.one("int32", "int64"))
    return tf.gather(d.x(shape, dtype), d.maybe_const(index, 0.3), axis=axis, batch_dims=batch)


@op("gather_nd")
def _(d: Draw) -> Any:
    shape = d.shape(1, 4, 0)
    depth, batch = d.n(1, len(shape)), 0
    index = np.stack([d.rng.integers(0, n, (2, 3)) for n in shape[batch : batch + depth]], -1).astype(d.one("int32", "int64"))
    return tf.gather_nd(d.x(shape, d.one("float32", "int32", "bool")), d.maybe_const(index, 0.3))


@op("scatter")
def _(d: Draw) -> Any:
    shape = d.shape(1, 3, 0)
    depth, count = d.n(1, len(shape)), d.n(1, 3)
    places = d.rng.permutation(int(np.prod(shape[:depth])))[:count]
    index = np.stack(np.unravel_index(places, shape[:depth]), -1).astype(d.one("int32", "int64"))
    updates = d.x((len(index), *shape[depth:]), "float32")
    which = d.one("scatter_nd", "update", "add", "sub", "max", "min")
    index = d.maybe_const(index, 0.5)
    if which == "scatter_nd":
        return tf.scatter_nd(index, updates, tf.constant(shape, index.dtype))
    return getattr(tf, f"tensor_scatter_nd_{which}")(d.x(shape), index, updates)


@op("segment")
def _(d: Draw) -> Any:
    shape = (d.n(1, 6), *d.shape(0, 2, 0))
    ids = np.sort(d.rng.integers(0, 4, shape[0]))
    name = d.one("sum", "max", "min", "prod", "mean")
    if d.chance(0.5) or name == "mean":
        return getattr(tf.math, f"segment_{name}")(d.x(shape), tf.constant(ids))
    return getattr(tf.math, f"unsorted_segment_{name}")(d.x(shape), d.maybe_const(d.rng.permutation(ids).astype("int32")), 4)


@op("top_k")
def _(d: Draw) -> Any:
    shape = d.shape(1, 3, 0)
    which = d.one("top_k", "sort", "argsort", "in_top_k", "nth")
    values = d.rng.permutation(int(np.prod(shape))).reshape(shape).astype("float32")
    if which == "top_k":
        return list(nn.top_k(d.put(values), d.n(1, shape[-1])))
    if which == "sort":
        return tf.sort(d.put(values), axis=d.axis(len(shape)), direction=d.one("ASCENDING", "DESCENDING"))
    if which == "argsort":
        return tf.argsort(d.put(values), direction=d.one("ASCENDING", "DESCENDING"))
    if which == "nth":
        return raw.NthElement(input=d.put(values), n=d.n(0, shape[-1] - 1), reverse=d.chance(0.5))
    return nn.in_top_k(d.put(d.rng.integers(0, 5, 3).astype("int32")), d.x((3, 5)), d.n(1, 4))


@op("matmul")
def _(d: Draw) -> Any:
    m, k, n = d.n(1, 4), d.n(1, 4), d.n(1, 4)
    batch = d.shape(0, 2, 0)
    ta, tb = d.chance(0.4), d.chance(0.4)
    a, b = (k, m) if ta else (m, k), (n, k) if tb else (k, n)
    dtype = d.one("float32", "float64", "int32", "float16")
    right = d.array((*(d.broadcast(batch) if d.chance(0.5) else batch), *b), dtype)
    return tf.matmul(d.x((*batch, *a), dtype), d.maybe_const(right, 0.5), transpose_a=ta, transpose_b=tb)


@op("einsum")
def _(d: Draw) -> Any:
    equation = d.one(
        "ij,jk->ik",
        "bij,bjk->bik",
        "ij->ji",
        "ijk,kl->ijl",
        "bhqd,bhkd->bhqk",
        "i,j->ij",
        "ij,ij->i",
        "abc,cd->abd",
        "...ij,...jk->...ik",
        "bsd,dhk->bshk",
        "ii->i",
        "ijk->k",
        "bqhd,bkhd->bhqk",
    )
    sizes = {letter: d.n(1, 4) for letter in "abcdhijklqs"}
    shapes = [[2] * ("..." in term) + [sizes[c] for c in term.replace("...", "")] for term in equation.split("->")[0].split(",")]
    return tf.einsum(equation, *(d.x(tuple(shape)) for shape in shapes))


@op("tensordot")
def _(d: Draw) -> Any:
    return tf.tensordot(d.x((2, 3, 4)), d.x(d.one((4, 5), (4, 3, 2))), d.one(1, [[2], [0]]))


# --- networks


def _spatial(d: Draw, rank: int, least: int = 4) -> list[int]:
    return [d.n(least, least + 4) for _ in range(rank)]


@op("conv")
def _(d: Draw) -> Any:
    rank = d.one(1, 2, 2, 2, 3)
    groups = d.one(1, 1, 2) if rank == 2 else 1
    cin, cout = groups * d.n(1, 3), groups * d.n(1, 3)
    kernel = [d.n(1, 3) for _ in range(rank)]
    strides, dilations = [d.n(1, 3) for _ in range(rank)], [1] * rank
    if d.chance(0.4):
        strides, dilations = [1] * rank, [d.n(1, 2) for _ in range(rank)]
    value = d.x((d.n(1, 2), *_spatial(d, rank, 5), cin), d.one("float32", "float32", "float64", "float16"))
    filters = d.maybe_const(d.array((*kernel, cin // groups, cout), value.dtype.name), 0.7)
    padding = d.one("SAME", "VALID")
    if rank == 2 and d.chance(0.25):
        padding = [[0, 0], [d.n(0, 2), d.n(0, 2)], [d.n(0, 2), d.n(0, 2)], [0, 0]]
        return nn.conv2d(value, filters, strides, padding, dilations=dilations)
    return getattr(nn, f"conv{rank}d")(
        value, filters, strides if rank > 1 else strides[0], padding, dilations=dilations if rank > 1 else dilations[0]
    )


@op("depthwise")
def _(d: Draw) -> Any:
    channels, stride = d.n(1, 4), d.n(1, 2)
    value = d.x((d.n(1, 2), *_spatial(d, 2, 5), channels))
    filters = d.maybe_const(d.array((d.n(1, 3), d.n(1, 3), channels, d.n(1, 2))))
    rate = [1, 1] if stride > 1 else [d.n(1, 2), d.n(1, 2)]
    return nn.depthwise_conv2d(value, filters, [1, stride, stride, 1], d.one("SAME", "VALID"), dilations=rate)


@op("separable")
def _(d: Draw) -> Any:
    return nn.separable_conv2d(
        d.x((1, 6, 6, 3)),
        d.put(d.array((3, 3, 3, 2))),
        d.maybe_const(d.array((1, 1, 6, 4))),
        [1, 1, 1, 1],
        d.one("SAME", "VALID"),
    )


@op("conv_transpose")
def _(d: Draw) -> Any:
    rank = d.one(1, 2, 2, 3)
    size, kernel, stride = _spatial(d, rank, 2), [d.n(1, 4) for _ in range(rank)], d.n(1, 3)
    cin, cout, padding = d.n(1, 3), d.n(1, 3), d.one("SAME", "VALID")
    out = [n * stride for n in size] if padding == "SAME" else [(n - 1) * stride + k for n, k in zip(size, kernel, strict=True)]
    value = d.x((2, *size, cin))
    filters = d.maybe_const(d.array((*kernel, cout, cin)))
    return getattr(nn, f"conv{rank}d_transpose")(value, filters, [2, *out, cout], stride, padding)


@op("pool")
def _(d: Draw) -> Any:
    rank = d.one(1, 2, 2, 3)
    which = d.one(nn.max_pool, nn.avg_pool)
    value = d.x((d.n(1, 2), *_spatial(d, rank), d.n(1, 3)))
    return which(value, [d.n(1, 3) for _ in range(rank)], [d.n(1, 3) for _ in range(rank)], d.one("SAME", "VALID"))


@op("pool_generic")
def _(d: Draw) -> Any:
    window, dilations = [d.n(1, 3), d.n(1, 3)], d.one([1, 1], [2, 1], [2, 2])
    return nn.pool(d.x((1, 8, 7, 2)), window, d.one("MAX", "AVG"), padding=d.one("SAME", "VALID"), dilations=dilations)


@op("max_pool_grad")
def _(d: Draw) -> Any:
    value = d.put(d.rng.permutation(2 * 6 * 5 * 3).reshape(2, 6, 5, 3).astype("float32"))
    k, s = d.n(1, 3), d.n(1, 3)
    pooled = nn.max_pool2d(value, k, s, d.one("SAME", "VALID"))
    return tf.gradients(pooled * d.x(()), value)[0]


@op("gradients")
def _(d: Draw) -> Any:
    value = d.x((1, 6, 6, 2))
    kernel = tf.constant(d.array((3, 3, 2, 2)))
    result = d.one(
        lambda v: nn.relu(nn.conv2d(v, kernel, 1, "SAME")),
        lambda v: nn.avg_pool2d(v, 2, 2, "SAME"),
        tf.tanh,
        tf.sigmoid,
        nn.elu,
        lambda v: nn.softmax(v) ** 2,
        lambda v: tf.reduce_mean(v, 1),
        lambda v: tf.image.resize(v, (12, 12), "bilinear"),
        nn.relu6,
        lambda v: v[:, 1:4, ::2],
        lambda v: tf.pad(v, [[0, 0], [1, 1], [1, 1], [0, 0]]),
        lambda v: nn.conv2d(v, kernel, 2, "VALID"),
        nn.softplus,
        nn.selu,
        nn.leaky_relu,
        tf.sqrt,
        lambda v: tf.gather(v, [0, 2, 2], axis=1),
        tf.exp,
        lambda v: tf.image.resize(v, (3, 3), "nearest"),
        lambda v: nn.local_response_normalization(v, 2),
        lambda v: tf.pad(v, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"),
    )(value)
    return tf.gradients(result, value)[0]


@op("argmax_pool")
def _(d: Draw) -> Any:
    value = d.put(d.rng.permutation(2 * 6 * 5 * 3).reshape(2, 6, 5, 3).astype("float32"))
    return list(
        nn.max_pool_with_argmax(value, d.n(1, 3), d.n(1, 3), d.one("SAME", "VALID"), include_batch_in_index=d.chance(0.5))
    )


@op("batch_norm")
def _(d: Draw) -> Any:
    c = d.n(1, 4)
    value = d.x((2, *_spatial(d, 2, 2), c))
    numbers = [d.maybe_const(d.array((c,), low=0.2)) for _ in range(4)]
    if d.chance(0.5):
        return v1.nn.fused_batch_norm(value, *numbers, epsilon=0.01, is_training=False)[0]
    if d.chance(0.4):
        return v1.nn.fused_batch_norm(value, numbers[0], numbers[1], is_training=True)[0]
    return nn.batch_normalization(value, numbers[0], numbers[1], d.one(None, numbers[2]), d.one(None, numbers[3]), 0.001)


@op("norms")
def _(d: Draw) -> Any:
    value = d.x((2, 4, 5, 6))
    return d.one(
        lambda: nn.local_response_normalization(value, d.n(1, 4), bias=1.5, alpha=0.3, beta=0.6),
        lambda: nn.moments(value, d.axes(4) or [1]),
        lambda: tf.linalg.l2_normalize(value, d.axis(4)),
        lambda: tf.norm(value, ord=d.one(1, 2, "euclidean"), axis=d.axis(4)),
        lambda: nn.bias_add(value, d.x((6,))),
        lambda: tf.clip_by_value(value, -1.0, 1.5),
        lambda: tf.clip_by_norm(value, 2.0),
        lambda: nn.normalize_moments(tf.constant(4.0), value, value, None),
    )()


@op("losses")
def _(d: Draw) -> Any:
    logits = d.x((4, 5))
    return d.one(
        lambda: nn.softmax_cross_entropy_with_logits(d.x((4, 5), low=0.0, high=1.0), logits),
        lambda: nn.sparse_softmax_cross_entropy_with_logits(d.put(d.rng.integers(0, 5, 4).astype("int32")), logits),
        lambda: nn.sigmoid_cross_entropy_with_logits(d.x((4, 5), low=0.0, high=1.0), logits),
    )()


@op("space")
def _(d: Draw) -> Any:
    b, c = d.n(2, 3), d.n(1, 2)
    return d.one(
        lambda: tf.nn.space_to_depth(d.x((2, 2 * b, 3 * b, c)), b),
        lambda: nn.depth_to_space(d.x((2, 2, 3, c * b * b)), b),
        lambda: tf.space_to_batch(d.x((2, 2 * b, 3 * b - 1, c)), [b, b], [[0, 0], [1, 0]]),
        lambda: tf.batch_to_space(d.x((2 * b * b, 2, 3, c)), [b, b], [[0, 0], [1, d.n(0, 1)]]),
    )()


@op("resize")
def _(d: Draw) -> Any:
    method = d.one("bilinear", "nearest", "bicubic", "area", "lanczos3", "gaussian")
    value = d.x(
        (d.n(1, 2), *_spatial(d, 2, 2), d.n(1, 3)), d.one("float32", "float32", "uint8") if method == "nearest" else "float32"
    )
    size = [d.n(1, 10), d.n(1, 10)]
    if method in ("bilinear", "nearest", "bicubic") and d.chance(0.6):
        corners = d.chance(0.5)
        return getattr(v1.image, {"nearest": "resize_nearest_neighbor"}.get(method, f"resize_{method}"))(
            value, size, align_corners=corners, half_pixel_centers=not corners and d.chance(0.5)
        )
    return tf.image.resize(value, size, method, antialias=d.chance(0.3), preserve_aspect_ratio=False)


@op("image")
def _(d: Draw) -> Any:
    value = d.x((2, 5, 6, 3), low=0.0, high=1.0)
    boxes = np.sort(d.array((3, 4), low=0.0, high=1.0).reshape(3, 2, 2), 1).reshape(3, 4)
    which = d.rng.integers(0, 2, 3).astype("int32")
    return d.one(
        lambda: tf.image.crop_and_resize(
            value,
            d.maybe_const(boxes),
            d.maybe_const(which),
            [d.n(1, 5), d.n(1, 5)],
            d.one("bilinear", "nearest"),
            d.one(0.0, 2.0),
        ),
        lambda: tf.image.rgb_to_grayscale(value),
        lambda: tf.image.rgb_to_hsv(value),
        lambda: tf.image.hsv_to_rgb(value),
        lambda: tf.image.adjust_contrast(value, 1.7),
        lambda: tf.image.adjust_hue(value, 0.2),
        lambda: tf.image.adjust_saturation(value, 0.4),
        lambda: tf.image.flip_left_right(value),
        lambda: tf.image.rot90(value, d.n(0, 3)),
        lambda: tf.image.central_crop(value, 0.5),
        lambda: tf.image.pad_to_bounding_box(value, 1, 2, 8, 9),
        lambda: tf.image.per_image_standardization(value),
        lambda: tf.image.extract_patches(value, [1, 2, 3, 1], [1, 2, 1, 1], [1, 1, d.n(1, 2), 1], d.one("SAME", "VALID")),
        lambda: tf.image.resize_with_pad(value, 7, 4),
        lambda: tf.image.resize_with_crop_or_pad(value, 4, 8),
        lambda: tf.image.rgb_to_yuv(value),
        lambda: tf.image.yuv_to_rgb(value),
        lambda: tf.image.total_variation(value),
        lambda: list(tf.image.image_gradients(value)),
        lambda: tf.image.sobel_edges(value),
        lambda: tf.image.ssim(value, value * 0.5, 1.0, filter_size=3),
    )()


@op("nms")
def _(d: Draw) -> Any:
    boxes = np.concatenate([d.array((8, 2), low=0, high=1), d.array((8, 2), low=1, high=2)], 1).astype("float32")
    scores = d.rng.permutation(8).astype("float32") / 8
    if d.chance(0.5):
        return list(
            tf.image.non_max_suppression_padded(d.put(boxes), d.put(scores), d.n(1, 8), d.one(0.3, 0.6), d.one(-1e9, 0.2), True)
        )
    return list(
        tf.image.combined_non_max_suppression(
            d.put(boxes.reshape(1, 8, 1, 4)),
            d.put(scores.reshape(1, 8, 1)),
            d.n(1, 4),
            d.n(1, 5),
            d.one(0.3, 0.6),
            d.one(-1e9, 0.2),
            pad_per_class=d.chance(0.3),
            clip_boxes=d.chance(0.5),
        )
    )


@op("matrix")
def _(d: Draw) -> Any:
    shape = (*d.shape(0, 1, 0), d.n(1, 4), d.n(1, 4))
    square = (*shape[:-1], shape[-2])
    return d.one(
        lambda: tf.linalg.band_part(d.x(shape), d.n(-1, 2), d.n(-1, 2)),
        lambda: tf.linalg.diag(d.x(shape), k=d.n(-2, 2)),
        lambda: tf.linalg.diag_part(d.x(shape), k=0),
        lambda: tf.linalg.set_diag(d.x(square), d.x(square[:-1])),
        lambda: tf.linalg.det(d.x(square)),
        lambda: tf.linalg.trace(d.x(square)),
        lambda: tf.linalg.matrix_transpose(d.x(shape)),
        lambda: tf.linalg.inv(d.x(square) + tf.eye(square[-1]) * 9.0),
        lambda: tf.linalg.solve(d.x(square) + tf.eye(square[-1]) * 9.0, d.x((*square[:-1], 2))),
        lambda: tf.linalg.cross(d.x((2, 3)), d.x((2, 3))),
        lambda: tf.linalg.tensor_diag(d.x((3,))),
        lambda: tf.linalg.tensor_diag_part(d.x((3, 3))),
        lambda: tf.linalg.matvec(d.x(shape), d.x((shape[-1],))),
        lambda: tf.linalg.diag(d.x((2, 3)), k=d.n(-1, 1), padding_value=7.0),
        lambda: tf.linalg.diag_part(
            d.x((2, 4, 5)), k=d.one((0, 1), (-1, 1), 2), align=d.one("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT")
        ),
    )()


@op("misc")
def _(d: Draw) -> Any:
    return d.one(
        lambda: tf.searchsorted(tf.constant(np.sort(d.array((6,)))), d.x((4,)), d.one("left", "right")),
        lambda: raw.Bucketize(input=d.x(d.shape()), boundaries=[-1.0, 0.0, 2.0]),
        lambda: tf.histogram_fixed_width(d.x((9,)), [-2.0, 2.0], 5),
        lambda: tf.math.bincount(d.put(d.rng.integers(0, 5, 7).astype("int32")), minlength=5, maxlength=5),
        lambda: tf.math.invert_permutation(d.put(d.rng.permutation(5).astype("int32"))),
        lambda: tf.math.confusion_matrix([0, 1, 2], d.put(np.array([0, 2, 2])), 3),
        lambda: tf.math.polyval([1.0, d.x(()), 3.0], d.x((3,))),
        lambda: tf.add_n([d.x((2, 3)), d.x((2, 3)), d.x((2, 3))]),
        lambda: tf.math.accumulate_n([d.x((2, 3)), d.x((2, 3))]),
        lambda: tf.meshgrid(d.x((3,)), d.x((2,)), indexing=d.one("xy", "ij")),
        lambda: tf.sequence_mask(d.put(np.array([0, 2, 3], "int32")), 4, d.one("float32", "bool")),
        lambda: tf.repeat(d.x((2, 3)), d.one(2, [1, 2]), axis=0),
        lambda: tf.boolean_mask(d.x((3, 2)), tf.constant([True, False, True])),
        lambda: tf.dynamic_stitch([[0, 2], [1, 3]], [d.x((2, 3)), d.x((2, 3))]),
        lambda: list(tf.dynamic_partition(d.x((4, 2)), tf.constant([0, 1, 1, 0]), 2)),
        lambda: tf.ensure_shape(d.x((2, 3)), (2, 3)),
        lambda: [*tf.unique(tf.constant([3, 1, 3])), d.x(())],
        lambda: tf.bitcast(d.x((3,)), d.one("int32", "uint32")),
        lambda: tf.quantization.fake_quant_with_min_max_args(d.x((2, 3)), -2.0, 2.5, d.one(8, 4), d.chance(0.5)),
        lambda: tf.quantization.fake_quant_with_min_max_vars(d.x((2, 3)), -2.0, d.one(2.5, 1.0), 8, d.chance(0.5)),
        lambda: tf.quantization.fake_quant_with_min_max_vars_per_channel(d.x((2, 3)), [-1.0, -2.0, 0.0], [1.0, 3.0, 2.0]),
        lambda: tf.quantization.quantize_and_dequantize_v2(d.x((2, 3)), -2.0, 2.0, range_given=True),
        lambda: tf.nn.dilation2d(d.x((1, 5, 5, 2)), d.x((2, 2, 2)), [1, 1, 1, 1], d.one("SAME", "VALID"), "NHWC", [1, 1, 1, 1]),
        lambda: tf.nn.crelu(d.x((2, 3)), axis=d.one(-1, 0)),
        lambda: tf.nn.embedding_lookup(tf.constant(d.array((5, 3))), d.put(d.rng.integers(0, 5, (2, 2)))),
        lambda: tf.math.reduce_euclidean_norm(d.x((2, 3)), 1),
        lambda: tf.unravel_index(d.put(np.array([1, 5, 3], "int32")), [2, 3]),
        lambda: tf.math.top_k(d.put(d.rng.permutation(6).astype("int32")), 2),
        lambda: tf.guarantee_const(d.x((2,))),
        lambda: tf.math.count_nonzero(d.x((3, 4), "int32"), axis=d.axes(2)),
        lambda: raw.DataFormatDimMap(x=d.put(np.array([0, 1, 2, -1], "int32")), src_format="NHWC", dst_format="NCHW"),
        lambda: raw.DataFormatVecPermute(
            x=d.put(np.array([7, 4, 5, 9], "int32")), src_format=d.one("NHWC", "NCHW"), dst_format=d.one("NCHW", "NHWC")
        ),
        lambda: raw.MatrixDiagV2(diagonal=d.x((2, 3)), k=0, num_rows=-1, num_cols=-1, padding_value=0.0),
        lambda: raw.Mod(x=d.x((3,), "int32", 1, 3), y=d.x((3,), "int32", 1, 3)),
        lambda: tf.sparse.to_dense(tf.sparse.from_dense(tf.constant([[1.0, 0.0], [0.0, 2.0]]))) + d.x(()),
        lambda: tf.sparse.sparse_dense_matmul(tf.SparseTensor([[0, 1], [1, 0]], [1.5, -2.0], (2, 3)), d.x((3, 4))),
        lambda: tf.RaggedTensor.from_row_splits(d.x((5,)), [0, 2, 2, 5]).to_tensor(),
        lambda: tf.ragged.range([2, 0, 3]).to_tensor() + d.x((), "int32"),
    )()


def write(folder: Path, number: int, table: dict[str, Callable[[Draw], Any]]) -> str:
    """Write a function; why not, where tensorflow refuses it."""
    draw = Draw(number)
    name = draw.one(*table)
    with tf.Graph().as_default() as graph:
        try:
            results = table[name](draw)
        except (ValueError, TypeError, tf.errors.OpError, NotImplementedError) as error:
            return f"{name}: {str(error).splitlines()[0][:100]}"
        flat = results if isinstance(results, list | tuple) else [results]
        outputs = [tf.identity(tf.convert_to_tensor(each), name=f"y{i}") for i, each in enumerate(flat)]
        config = v1.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        feeds = {f"x{i}:0": array for i, array in enumerate(draw.inputs)}
        try:
            with v1.Session(graph=graph, config=config) as session:
                wanted = session.run(outputs, feeds)
        except tf.errors.OpError as error:
            return f"{name}: {error.message.splitlines()[0][:100]}"
        definition = graph.as_graph_def()
    (folder / f"{number}.pb").write_bytes(definition.SerializeToString())
    np.savez(
        folder / f"{number}.npz",
        name=name,
        **{f"x{i}": a for i, a in enumerate(draw.inputs)},
        **{
            f"y{i}": np.asarray(a, "float32") if getattr(a, "dtype", None) == tf.bfloat16.as_numpy_dtype else a
            for i, a in enumerate(wanted)
        },
    )
    return ""


def main(arguments: list[str], table: dict[str, Callable[[Draw], Any]] = TABLE) -> None:
    folder, count, first = Path(arguments[0]), int((arguments[1:2] or [1000])[0]), int((arguments[2:3] or [0])[0])
    folder.mkdir(parents=True, exist_ok=True)
    refused = [why for number in range(first, first + count) if (why := write(folder, number, table))]
    for why in refused[:20]:
        print("  not written:", why)
    print(f"{count - len(refused)} functions of {len(table)} kinds in {folder}; tensorflow refuses {len(refused)}")


if __name__ == "__main__":
    main(sys.argv[1:])
