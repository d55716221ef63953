"""Random functions of single elements and of shapes, entered into the table of `tensorflow_draws`."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow_draws import FLOATS, INTS, TABLE, Draw, nn, op, raw, v1


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
