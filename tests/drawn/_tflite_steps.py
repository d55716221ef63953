"""The quantized operators of TFLite: `STEPS`, each of which adds one to a chain, with operands and options that are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ._integers import LIMITS
from ._tflite_chain import Chain, Drawn, NoCaseError

__all__ = ["FIRST", "LAST", "STEPS"]

Step = Callable[[Chain, Drawn], Drawn]
STEPS: dict[str, Step] = {}
ACTIVATIONS = ("NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")
LAST = {
    "ARG_MAX",
    "ARG_MIN",
    "EQUAL",
    "NOT_EQUAL",
    "LESS",
    "LESS_EQUAL",
    "GREATER",
    "GREATER_EQUAL",
    "DEQUANTIZE",
    "CAST",
    "TOPK_V2",
}
"""What gives no quantized tensor, after which the chain ends."""
FIRST = ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "MUL", "QUANTIZE"]
"""What is drawn more often than others."""


def step(*names: str) -> Callable[[Callable[[str, Chain, Drawn], Drawn]], Callable[[str, Chain, Drawn], Drawn]]:
    def keep(make: Callable[[str, Chain, Drawn], Drawn]) -> Callable[[str, Chain, Drawn], Drawn]:
        for name in names:
            STEPS[name] = lambda chain, x, name=name: make(name, chain, x)  # type: ignore[misc]
        return make

    return keep


def of_rank(x: Drawn, least: int, most: int = 9) -> None:
    if not least <= x.rank <= most:
        raise NoCaseError(f"rank {x.rank}")


def same_or_own(chain: Chain, x: Drawn, reach: float | None = None) -> Drawn:
    """A result of the operand's quantization, or of another."""
    return x.like() if chain.chance(0.6) else chain.quantized(x.shape, x.dtype, x.reach if reach is None else reach)


# --- functions of one number


@step(
    "ABS",
    "NEG",
    "RELU",
    "RELU6",
    "RELU_N1_TO_1",
    "RELU_0_TO_1",
    "HARD_SWISH",
    "ELU",
    "GELU",
    "LEAKY_RELU",
    "SQRT",
    "RSQRT",
    "LOG",
    "EXP",
    "SIN",
    "COS",
    "SQUARE",
    "FLOOR",
    "CEIL",
    "ROUND",
    "SIGN",
)
def unary(name: str, chain: Chain, x: Drawn) -> Drawn:
    reach = {"SQRT": x.reach**0.5, "RSQRT": 2.0, "EXP": math.exp(min(x.reach, 9)), "LOG": 5.0, "SQUARE": x.reach**2}.get(
        name, x.reach
    )
    alpha = float(chain.pick(0.1, 0.0, 1.5, -0.4, 1.0, chain.random.uniform(0, 3)))
    ways: dict[str, dict[str, Any]] = {"LEAKY_RELU": {"alpha": alpha}, "GELU": {"approximate": chain.chance(0.5)}}
    return chain.add(name, [x], [chain.quantized(x.shape, x.dtype, reach)], ways.get(name, {}))


@step("LOGISTIC", "TANH", "SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION")
def bounded(name: str, chain: Chain, x: Drawn) -> Drawn:
    """Functions to a fixed range, whose results have the quantization that LiteRT asks for."""
    low = LIMITS[x.dtype][0]
    symmetric, bits = (
        name in ("TANH", "L2_NORMALIZATION"),
        15 if x.dtype == "int16" else 7 if name != "LOGISTIC" and name != "SOFTMAX" else 8,
    )
    zero = 0 if x.dtype == "int16" else 128 + low if symmetric else low
    scale, zero = (16 / 256, LIMITS[x.dtype][1]) if name == "LOG_SOFTMAX" else (2.0**-bits, zero)
    options = {"beta": float(chain.pick(1.0, 1.0, 0.3, 7.0, 0.0))} if name == "SOFTMAX" else {}
    return chain.add(name, [x], [x.like(scales=(scale,), zero=zero)], options)


@step("QUANTIZE")
def quantize(name: str, chain: Chain, x: Drawn) -> Drawn:
    return chain.add(name, [x], [chain.quantized(x.shape, chain.pick("int8", "uint8", "int16"), x.reach)])


@step("DEQUANTIZE", "CAST")
def to_floats(name: str, chain: Chain, x: Drawn) -> Drawn:
    to = {"in_data_type": x.dtype.upper(), "out_data_type": "FLOAT32"} if name == "CAST" else {}
    return chain.add(name, [x], [Drawn(x.shape, "float32")], to)


# --- of two tensors


def partner(chain: Chain, x: Drawn, alike: bool = False) -> Drawn:
    """Another operand that broadcasts: the same tensor again, one of fewer or more axes, or ones in its place."""
    if chain.chance(0.15):
        return x
    shape = tuple(1 if chain.chance(0.25) else size for size in x.shape)[chain.pick(0, 0, min(1, x.rank)) :]
    shape = (2, *shape) if x.rank < 4 and chain.chance(0.1) and len(shape) == x.rank else shape
    made = chain.operand(shape, x.dtype, x.reach * chain.pick(1.0, 0.1, 20.0))
    if alike or chain.chance(0.2):
        made.scales, made.zero = x.scales, x.zero
    return made


@step("ADD", "SUB", "MUL", "DIV", "SQUARED_DIFFERENCE", "MAXIMUM", "MINIMUM", "FLOOR_DIV", "FLOOR_MOD", "BITWISE_XOR")
def binary(name: str, chain: Chain, x: Drawn) -> Drawn:
    y = partner(chain, x, alike=name in ("MAXIMUM", "MINIMUM") and chain.chance(0.7))
    pair = [y, x] if chain.chance(0.3) else [x, y]
    reach = {"MUL": x.reach * y.reach, "DIV": x.reach / y.reach * 4, "SQUARED_DIFFERENCE": (x.reach + y.reach) ** 2}.get(
        name, x.reach + y.reach
    )
    made = x.like() if name in ("MAXIMUM", "MINIMUM") else chain.quantized((), x.dtype, reach)
    activation = {"fused_activation_function": chain.pick(*ACTIVATIONS)} if name in ("ADD", "SUB", "MUL", "DIV") else {}
    return chain.add(name, pair, [made], activation)


@step("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
def comparison(name: str, chain: Chain, x: Drawn) -> Drawn:
    return chain.add(name, [x, partner(chain, x)], [Drawn((), "bool")])


@step("PRELU")
def prelu(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 2)
    slopes = chain.operand(
        (1,) * (x.rank - 2) + (x.shape[-1],) if chain.chance(0.7) else x.shape[1:], x.dtype, chain.pick(1.0, 0.2, 3.0)
    )
    return chain.add(name, [x, slopes], [same_or_own(chain, x, x.reach * max(1.0, slopes.reach))])


@step("SELECT_V2", "SELECT")
def select(name: str, chain: Chain, x: Drawn) -> Drawn:
    other = x if chain.chance(0.1) else chain.operand(x.shape, x.dtype, x.reach)
    where = Drawn(x.shape, "bool", data=chain.numbers(Drawn(x.shape, "bool")))
    return chain.add(name, [where, x, other], [same_or_own(chain, x)])


# --- sums of products


def filters(chain: Chain, x: Drawn, shape: tuple[int, ...], axis: int) -> Drawn:
    """Weights: per tensor or per channel, of 4 or 8 bits; of uint8 with a zero point."""
    if x.dtype == "uint8":
        return chain.quantized(shape, "uint8", float(chain.pick(1.0, 0.01, 30.0)), data=True)
    made = Drawn(shape, "int4" if chain.chance(0.15) and x.dtype == "int8" else "int8", axis=axis)
    count = shape[axis] if chain.chance(0.6) else 1
    base = float(chain.pick(0.01, 1e-4, 0.6))
    made.scales = tuple(float(np.float32(base * scale)) for scale in chain.random.uniform(0.05, 2, count) ** chain.pick(1, 3))
    made.data = np.maximum(chain.numbers(made), -127 if made.dtype == "int8" else -7)
    return made


def bias(chain: Chain, x: Drawn, weights: Drawn, count: int) -> Drawn | None:
    if chain.chance(0.25):
        return None
    dtype = "int64" if x.dtype == "int16" and chain.chance(0.8) else "int32"
    most = (2**28 if x.dtype == "int16" else 2**20) >> chain.pick(0, 6, 12)  # TOSA's RESCALE takes none of 2^29 steps
    scales = tuple(float(np.float32(x.scale) * np.float32(scale)) for scale in weights.scales)
    return Drawn((count,), dtype, scales, data=chain.random.integers(-most, most, count).astype(dtype))


def added(offset: Drawn | None) -> dict[str, object]:
    """The option that says of what type a bias is, without which LiteRT takes any beside int16 for int64."""
    return {} if offset is None else {"quantized_bias_type": offset.dtype.upper()}


def sum_of(chain: Chain, x: Drawn, weights: Drawn, terms: int) -> Drawn:
    return chain.quantized((), x.dtype, x.reach * 127 * float(np.mean(weights.scales)) * math.sqrt(terms) * chain.pick(0.3, 1.0))


def windows(chain: Chain) -> dict[str, object]:
    stride = chain.pick(1, 1, 2, 3)
    return {
        "padding": chain.pick("SAME", "VALID"),
        "stride_h": stride,
        "stride_w": chain.pick(stride, 1, 2),
        "fused_activation_function": chain.pick(*ACTIVATIONS),
    }


@step("CONV_2D")
def conv(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 4, 4)
    groups = chain.pick(1, 1, 1, x.shape[3])
    count = groups * chain.pick(1, 2, 3)
    weights = filters(chain, x, (count, chain.pick(1, 2, 3), chain.pick(1, 2, 3), x.shape[3] // groups), 0)
    dilated = {"dilation_h_factor": chain.pick(1, 1, 2), "dilation_w_factor": chain.pick(1, 1, 3)}
    offset = bias(chain, x, weights, count)
    return chain.add(
        name,
        [x, weights, offset],
        [sum_of(chain, x, weights, math.prod(weights.shape[1:]))],
        {**windows(chain), **dilated, **added(offset)},
    )


@step("DEPTHWISE_CONV_2D")
def depthwise(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 4, 4)
    times = chain.pick(1, 1, 2, 3)
    weights = filters(chain, x, (1, chain.pick(1, 2, 3), chain.pick(1, 2, 3), x.shape[3] * times), 3)
    options = {
        **windows(chain),
        "depth_multiplier": times,
        "dilation_h_factor": chain.pick(1, 1, 2),
        "dilation_w_factor": chain.pick(1, 1, 2),
    }
    return chain.add(name, [x, weights, bias(chain, x, weights, weights.shape[3])], [sum_of(chain, x, weights, 4)], options)


@step("TRANSPOSE_CONV")
def transpose_conv(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 4, 4)
    options, count = windows(chain), chain.pick(1, 3)
    weights = filters(chain, x, (count, chain.pick(1, 2, 3), chain.pick(1, 2, 3), x.shape[3]), 0)
    sizes = []
    for size, window, stride in zip(x.shape[1:3], weights.shape[1:3], (options["stride_h"], options["stride_w"]), strict=True):
        most = size * int(str(stride)) if options["padding"] == "SAME" else (size - 1) * int(str(stride)) + window
        sizes.append(most - (chain.pick(0, 0, 1) if stride != 1 and options["padding"] == "SAME" else 0))
    offset = bias(chain, x, weights, count)
    given = [chain.ints([x.shape[0], *sizes, count]), weights, x, *([offset] if offset else [])]
    return chain.add(name, given, [sum_of(chain, x, weights, 9)], {**options, **added(offset)})


@step("FULLY_CONNECTED")
def fully_connected(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 1)
    depth = chain.pick(x.shape[-1], x.shape[-1], math.prod(x.shape[1:]))
    weights = filters(chain, x, (chain.pick(1, 3, 5), depth), 0)
    options = {"fused_activation_function": chain.pick(*ACTIVATIONS), "keep_num_dims": depth == x.shape[-1] and chain.chance(0.5)}
    offset = bias(chain, x, weights, weights.shape[0])
    return chain.add(name, [x, weights, offset], [sum_of(chain, x, weights, depth)], {**options, **added(offset)})


@step("BATCH_MATMUL")
def batch_matmul(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 2, 5)
    adj_x, adj_y = chain.chance(0.3), chain.chance(0.4)
    inner, columns = x.shape[-2] if adj_x else x.shape[-1], chain.pick(1, 3, 4)
    batch = tuple(1 if chain.chance(0.3) else size for size in x.shape[:-2])[chain.pick(0, 0, min(1, x.rank - 2)) :]
    y = chain.operand((*batch, columns, inner) if adj_y else (*batch, inner, columns), x.dtype, chain.pick(1.0, 0.05, 9.0))
    made = chain.quantized((), x.dtype, x.reach * y.reach * math.sqrt(inner) / 2)
    return chain.add(name, [x, y], [made], {"adj_x": adj_x, "adj_y": adj_y})


@step("SVDF")
def svdf(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 2, 2)
    rank, units, memory = chain.pick(1, 2), chain.pick(1, 3), chain.pick(1, 4)
    weights = Drawn((rank * units, x.shape[1]), "int8", (0.01,))
    times = Drawn((rank * units, memory), "int16", (2.0 ** -chain.pick(12, 15),))
    state = Drawn((x.shape[0], rank * units * memory), "int16", (float(chain.pick(2.0**-10, x.reach / 20000)),), is_state=True)
    offset = Drawn(
        (units,), "int32", (state.scale * times.scale,), data=chain.random.integers(-50000, 50000, units).astype("int32")
    )
    weights.data, times.data = chain.numbers(weights), chain.numbers(times)
    made = chain.quantized((), x.dtype, x.reach * chain.pick(1.0, 4.0, 0.2))
    return chain.add(
        name,
        [x, weights, times, offset if chain.chance(0.8) else None, state],
        [made],
        {"rank": rank, "fused_activation_function": chain.pick("NONE", "RELU"), "asymmetric_quantize_inputs": False},
    )


@step("UNIDIRECTIONAL_SEQUENCE_LSTM")
def lstm(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 3, 3)
    units, inputs, major = chain.pick(1, 4), x.shape[2], chain.chance(0.3)
    rows = x.shape[1] if major else x.shape[0]

    def matrix(columns: int) -> Drawn:
        made = Drawn((units, columns), "int8", (float(chain.random.uniform(0.001, 0.02)),))
        made.data = np.maximum(chain.numbers(made), -127)
        return made

    into, again = [matrix(inputs) for _ in range(4)], [matrix(units) for _ in range(4)]
    offsets: list[Drawn | None] = [
        Drawn((units,), "int32", (x.scale * made.scale,), data=chain.random.integers(-9000, 9000, units).astype("int32"))
        for made in into
    ]
    hidden = Drawn(
        (rows, units), "int8", (2.0**-7,) if chain.chance(0.5) else (0.0071,), int(chain.pick(0, 4, -20)), is_state=True
    )
    cell = Drawn((rows, units), "int16", (2.0 ** -chain.pick(11, 13, 15),), is_state=True)
    inner = [Drawn((), "int16", (2.0**-12,)) for _ in range(4)] + [Drawn((), "int8", hidden.scales, hidden.zero)]
    options = {"fused_activation_function": "TANH", "time_major": major, "cell_clip": float(chain.pick(0.0, 0.5, 2.0))}
    peepholes: list[Drawn | None] = [None] * 3
    return chain.add(
        name, [x, *into, *again, *peepholes, *offsets, None, None, hidden, cell], [hidden.like(is_state=False)], options, inner
    )


# --- pools and images


@step("AVERAGE_POOL_2D", "MAX_POOL_2D")
def pool(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 4, 4)
    made = x.like() if chain.chance(0.8) else chain.quantized((), x.dtype, x.reach)
    return chain.add(
        name, [x], [made], {**windows(chain), "filter_height": chain.pick(1, 2, 3), "filter_width": chain.pick(1, 2, 4)}
    )


@step("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 4, 4)
    ways: list[dict[str, object]] = [{}, {"align_corners": True}, {"half_pixel_centers": True}]
    way = chain.pick(*ways, *([{**ways[1], **ways[2]}] if "NEAREST" in name else []))
    sizes = [int(chain.pick(1, size, 2 * size, size + 1, chain.random.integers(1, 14))) for size in x.shape[1:3]]
    return chain.add(name, [x, chain.ints(sizes)], [x.like()], way)


@step("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def blocks(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 4, 4)
    return chain.add(name, [x], [x.like()], {"block_size": chain.pick(1, 2, 3)})


@step("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")
def batches(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 3, 4)
    axes = x.rank - 2
    block, edges = [chain.pick(1, 2, 3) for _ in range(axes)], np.zeros((axes, 2), int)
    if name == "SPACE_TO_BATCH_ND":
        edges[:, 0] = chain.random.integers(0, 2, axes)
        edges[:, 1] = [-(size + edge) % factor for size, edge, factor in zip(x.shape[1:], edges[:, 0], block, strict=False)]
    return chain.add(name, [x, chain.ints(block), chain.ints(edges)], [x.like()])


# --- what moves numbers


@step("PAD", "PADV2", "MIRROR_PAD")
def pad(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 1, 5)
    mode = chain.pick("REFLECT", "SYMMETRIC")
    most = [min(2, size - (mode == "REFLECT")) if name == "MIRROR_PAD" else 2 for size in x.shape]
    edges = chain.ints([chain.random.integers(0, edge + 1, 2) for edge in most], chain.pick("int32", "int32", "int64"))
    value = [x.like((), data=chain.numbers(x.like(())))] if name == "PADV2" else []
    return chain.add(name, [x, edges, *value], [x.like()], {"mode": mode} if name == "MIRROR_PAD" else {})


@step("CONCATENATION")
def concatenation(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 1)
    axis = int(chain.random.integers(x.rank))
    others = [
        x if chain.chance(0.2) else chain.operand([*x.shape[:axis], chain.pick(1, 2), *x.shape[axis + 1 :]], x.dtype, x.reach)
        for _ in range(chain.pick(1, 1, 2, 3))
    ]
    for other in others:
        if x.dtype != "uint8" or chain.chance(0.5):
            other.scales, other.zero = x.scales, x.zero
    given = [x, *others]
    chain.random.shuffle(given)
    made = x.like() if x.dtype != "uint8" else same_or_own(chain, x)
    return chain.add(name, given, [made], {"axis": axis - chain.pick(0, x.rank)})


@step("PACK")
def pack(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 0, 3)
    other = chain.operand(x.shape, x.dtype, x.reach)
    other.scales, other.zero = x.scales, x.zero
    axis = int(chain.random.integers(x.rank + 1))
    return chain.add(name, [x, other, x], [x.like()], {"axis": axis - chain.pick(0, x.rank + 1), "values_count": 3})


@step("UNPACK", "SPLIT", "SPLIT_V")
def parts(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 1)
    axis = int(chain.random.integers(x.rank))
    size, place = x.shape[axis], axis - chain.pick(0, x.rank)
    if name == "UNPACK":
        chain.add(name, [x], made := [x.like() for _ in range(size)], {"axis": place, "num": size})
    elif name == "SPLIT":
        count = chain.pick(*(number for number in range(1, size + 1) if size % number == 0))
        chain.add(name, [chain.ints(place), x], made := [x.like() for _ in range(count)], {"num_splits": count})
    else:
        sizes = [int(chain.random.integers(1, size + 1))]
        sizes += [size - sizes[0]] if size > sizes[0] else []
        sizes = [-1, *sizes[1:]] if chain.chance(0.3) else sizes
        chain.add(name, [x, chain.ints(sizes), chain.ints(place)], made := [x.like() for _ in sizes], {"num_splits": len(sizes)})
    return chain.pick(*made)


@step("SLICE", "STRIDED_SLICE")
def slices(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 1, 5)
    begin = [int(chain.random.integers(size)) for size in x.shape]
    if name == "SLICE":
        sizes = [
            chain.pick(-1, int(chain.random.integers(1, size - start + 1))) for size, start in zip(x.shape, begin, strict=True)
        ]
        return chain.add(name, [x, chain.ints(begin), chain.ints(sizes)], [x.like()])
    strides = [chain.pick(1, 1, 2, -1, -2) for _ in x.shape]
    end = [
        start + chain.pick(1, 2, 9) if by > 0 else start - size - chain.pick(1, 3)
        for start, by, size in zip(begin, strides, x.shape, strict=True)
    ]
    shrunk = int(strides[0] == 1 and chain.chance(0.3))
    masks = {"begin_mask": int(chain.pick(0, 0, 1, 2)), "end_mask": int(chain.pick(0, 0, 1, 2)), "shrink_axis_mask": shrunk}
    return chain.add(name, [x, chain.ints(begin), chain.ints(end), chain.ints(strides)], [x.like()], masks)


@step("TRANSPOSE", "RESHAPE", "EXPAND_DIMS", "SQUEEZE", "TILE", "REVERSE_V2", "BROADCAST_TO")
def arrange(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 1, 5)
    axis = int(chain.random.integers(-x.rank, x.rank))
    given = {
        "TRANSPOSE": list(chain.random.permutation(x.rank)),
        "RESHAPE": [*x.shape[1:2], -1],
        "EXPAND_DIMS": axis,
        "SQUEEZE": None,
        "TILE": [chain.pick(1, 1, 2, 3) for _ in x.shape],
        "REVERSE_V2": [axis],
        "BROADCAST_TO": [2, *x.shape] if x.rank < 5 else list(x.shape),
    }[name]
    options = {"squeeze_dims": [at for at, size in enumerate(x.shape) if size == 1]} if name == "SQUEEZE" else {}
    return chain.add(name, [x, *([] if given is None else [chain.ints(given)])], [x.like()], options)


@step("GATHER", "GATHER_ND")
def gather(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 1, 4)
    axis = int(chain.random.integers(x.rank)) if name == "GATHER" else 0
    batch = chain.pick(0, 0, min(1, axis))
    shape = (*x.shape[:batch], *chain.pick((), (3,), (2, 2)))
    ids = chain.ints(chain.random.integers(0, x.shape[axis], shape or ((1,) if name == "GATHER_ND" else ())))
    ids = ids if name == "GATHER" else chain.ints(np.reshape(np.asarray(ids.data), (-1, 1)))
    options = {"axis": axis - chain.pick(0, x.rank), "batch_dims": batch} if name == "GATHER" else {}
    return chain.add(name, [x, ids], [same_or_own(chain, x)], options)


# --- reductions and orders


@step("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD")
def reduction(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 1)
    axes = chain.random.permutation(x.rank)[: chain.pick(1, 1, 2, x.rank)]
    count = math.prod(x.shape[axis] for axis in axes)
    reach = {"SUM": x.reach * count**0.5, "REDUCE_PROD": min(x.reach ** min(count, 64), 1e4)}.get(name, x.reach)
    made = x.like() if name in ("REDUCE_MAX", "REDUCE_MIN") else same_or_own(chain, x, reach)
    listed = chain.ints(
        [int(axis) - chain.pick(0, x.rank) for axis in axes] if len(axes) > 1 or chain.chance(0.7) else int(axes[0])
    )
    return chain.add(name, [x, listed], [made], {"keep_dims": chain.chance(0.5)})


@step("ARG_MAX", "ARG_MIN", "TOPK_V2")
def order(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 1)
    if name == "TOPK_V2":
        count = chain.ints(int(chain.random.integers(1, x.shape[-1] + 1)))
        chain.add(name, [x, count], made := [x.like(), Drawn((), "int32")])
        return chain.pick(*made)
    kind = chain.pick("int32", "int64")
    return chain.add(
        name, [x, chain.ints(int(chain.random.integers(-x.rank, x.rank)))], [Drawn((), kind)], {"output_type": kind.upper()}
    )


@step("CUMSUM")
def cumsum(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 1)
    place = chain.ints(int(chain.random.integers(-x.rank, x.rank)))
    return chain.add(name, [x, place], [same_or_own(chain, x)], {"exclusive": chain.chance(0.5), "reverse": chain.chance(0.5)})


@step("REVERSE_SEQUENCE", "DYNAMIC_UPDATE_SLICE")
def along(name: str, chain: Chain, x: Drawn) -> Drawn:
    of_rank(x, 2, 4)
    if name == "REVERSE_SEQUENCE":
        lengths = chain.ints(chain.random.integers(1, x.shape[1] + 1, x.shape[0]))
        return chain.add(name, [x, lengths], [x.like()], {"seq_dim": 1, "batch_dim": 0})
    update = chain.operand([max(1, size - 1) for size in x.shape], x.dtype, x.reach)
    update.scales, update.zero = x.scales, x.zero
    return chain.add(name, [x, update, chain.ints([chain.pick(0, 1, 3, -1) for _ in x.shape])], [x.like()])
