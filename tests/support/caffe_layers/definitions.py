"""Layers of BVLC Caffe and its forks as their documentation defines them, element by element, in double precision.

A definition is `(p, bottoms, blobs, n_tops) -> tops`; `p` holds the parameters that are given,
under their names in a `.prototxt`.
Nothing here is shared with what is tested. Source: https://caffe.berkeleyvision.org/tutorial/layers.html and the pages behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["DEFINITIONS", "Arrays", "define"]

Arrays = list[np.ndarray]
Definition = Callable[[Mapping[str, Any], Arrays, Arrays, int], Arrays]
DEFINITIONS: dict[str, Definition] = {}


def define(*types: str) -> Callable[[Definition], Definition]:
    def add(definition: Definition) -> Definition:
        DEFINITIONS.update(dict.fromkeys(types, definition))
        return definition

    return add


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


# --- element by element

_SIMPLE: dict[str, Callable[[np.ndarray, Mapping[str, Any]], np.ndarray]] = {
    "AbsVal": lambda x, p: np.abs(x),
    "BNLL": lambda x, p: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0),
    "Dropout": lambda x, p: x,
    "TanH": lambda x, p: np.tanh(x),
    "Sigmoid": lambda x, p: _sigmoid(x),
    "Mish": lambda x, p: x * np.tanh(np.log1p(np.exp(x))),
    "HSwish": lambda x, p: x * np.clip(x + 3, 0, 6) / 6,
    "HSigmoid": lambda x, p: np.clip(x + 3, 0, 6) / 6,
    "ReLU": lambda x, p: np.where(x > 0, x, x * p.get("negative_slope", 0)),
    "ReLU6": lambda x, p: np.minimum(np.where(x > 0, x, 0), p.get("threshold", 6)),
    "ELU": lambda x, p: np.where(x > 0, x, p.get("alpha", 1) * (np.exp(np.minimum(x, 0)) - 1)),
    "Swish": lambda x, p: x * _sigmoid(p.get("beta", 1) * x),
    "Clip": lambda x, p: np.minimum(np.maximum(x, p["min"]), p["max"]),
    "Threshold": lambda x, p: (x > p.get("threshold", 0)).astype(np.float64),
    "Power": lambda x, p: (p.get("shift", 0) + p.get("scale", 1) * x) ** p.get("power", 1),
    "Exp": lambda x, p: _base(p) ** (p.get("shift", 0) + p.get("scale", 1) * x),
    "Log": lambda x, p: np.log(p.get("shift", 0) + p.get("scale", 1) * x) / np.log(_base(p)),
}


def _base(p: Mapping[str, Any]) -> float:
    return math.e if p.get("base", -1) == -1 else p["base"]


def _simple(function: Callable[[np.ndarray, Mapping[str, Any]], np.ndarray]) -> Definition:
    return lambda p, bottoms, blobs, n_tops: [function(bottoms[0], p)]


for _name, _function in _SIMPLE.items():
    define(_name)(_simple(_function))


@define("PReLU")
def prelu(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    y = x.copy()
    for channel in range(x.shape[1]):
        slope = blobs[0][0 if p.get("channel_shared") else channel]
        part = x[:, channel]
        y[:, channel] = np.where(part > 0, part, slope * part)
    return [y]


@define("Split")
def split(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    return [bottoms[0]] * n_tops


@define("Eltwise")
def eltwise(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    operation = p.get("operation", "SUM")
    y = bottoms[0] * (p["coeff"][0] if "coeff" in p else 1)
    for place, x in enumerate(bottoms[1:], 1):
        if operation == "SUM":
            y = y + x * (p["coeff"][place] if "coeff" in p else 1)
        else:
            y = y * x if operation == "PROD" else np.maximum(y, x)
    return [y]


def _spread(value: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """So that the dimensions of `value` are those from axis on."""
    axis = axis + rank if axis < 0 else axis
    if value.ndim == 0:
        return value
    return value.reshape(value.shape + (1,) * (rank - axis - value.ndim))


@define("Scale")
def scale(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    held = [*bottoms[1:], *blobs]
    y = x * _spread(held[0], p.get("axis", 1), x.ndim)
    return [y + _spread(held[1], p.get("axis", 1), x.ndim) if p.get("bias_term") else y]


@define("Bias")
def bias(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    return [x + _spread([*bottoms[1:], *blobs][0], p.get("axis", 1), x.ndim)]


@define("Axpy")
def axpy(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    factor, x, y = bottoms
    made = y.copy()
    for n in range(x.shape[0]):
        for channel in range(x.shape[1]):
            made[n, channel] += factor[n, channel].reshape(()) * x[n, channel]
    return [made]


# --- convolutions and products

def _pair(p: Mapping[str, Any], name: str, short: str, rank: int, default: int | None) -> list[int]:
    if f"{short}_h" in p:
        return [p[f"{short}_h"], p[f"{short}_w"]]
    given = p.get(name, default)
    given = given if isinstance(given, list) else [given]
    return given * rank if len(given) == 1 else given


def _window(p: Mapping[str, Any], rank: int) -> tuple[list[int], list[int], list[int], list[int]]:
    return (_pair(p, "kernel_size", "kernel", rank, None), _pair(p, "stride", "stride", rank, 1),
            _pair(p, "pad", "pad", rank, 0), _pair(p, "dilation", "dilation", rank, 1))


@define("Convolution", "DepthwiseConvolution", "ConvolutionDepthwise")
def convolution(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    return [_convolved(p, x, blobs) for x in bottoms]


def _convolved(p: Mapping[str, Any], x: np.ndarray, blobs: Arrays) -> np.ndarray:
    rank = x.ndim - 2
    kernel, stride, pad, dilation = _window(p, rank)
    weight = blobs[0]
    group = x.shape[1] // weight.shape[1]
    sizes = [(size + 2 * q - (d * (k - 1) + 1)) // s + 1
             for size, k, s, q, d in zip(x.shape[2:], kernel, stride, pad, dilation, strict=True)]
    padded = np.pad(x, [(0, 0), (0, 0), *((q, q) for q in pad)])
    y = np.zeros((x.shape[0], weight.shape[0], *sizes))
    per_group = weight.shape[0] // group
    for out in range(weight.shape[0]):
        first = (out // per_group) * weight.shape[1]
        for place in np.ndindex(*sizes):
            window = tuple(slice(o * s, o * s + d * (k - 1) + 1, d) for o, s, d, k in zip(place, stride, dilation, kernel,
                strict=True))
            part = padded[(slice(None), slice(first, first + weight.shape[1]), *window)]
            y[(slice(None), out, *place)] = (part * weight[out]).reshape(x.shape[0], -1).sum(1)
    return y + blobs[1].reshape(-1, *(1,) * rank) if len(blobs) > 1 else y


@define("Deconvolution")
def deconvolution(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x, weight = bottoms[0], blobs[0]
    rank = x.ndim - 2
    kernel, stride, pad, dilation = _window(p, rank)
    group = p.get("group", 1)
    outputs = weight.shape[1] * group
    whole = [s * (size - 1) + d * (k - 1) + 1 for size, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True)]
    y = np.zeros((x.shape[0], outputs, *whole))
    per_group = x.shape[1] // group
    for channel in range(x.shape[1]):
        first = (channel // per_group) * weight.shape[1]
        for place in np.ndindex(*x.shape[2:]):
            window = tuple(slice(o * s, o * s + d * (k - 1) + 1, d) for o, s, d, k in zip(place, stride, dilation, kernel,
                strict=True))
            value = x[(slice(None), channel, *place)]
            y[(slice(None), slice(first, first + weight.shape[1]), *window)] += np.multiply.outer(value, weight[channel])
    inner = tuple(slice(q, size - q) for q, size in zip(pad, whole, strict=True))
    y = y[(slice(None), slice(None), *inner)]
    return [y + blobs[1].reshape(-1, *(1,) * rank) if len(blobs) > 1 else y]


@define("Im2col")
def im2col(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    kernel, stride, pad, dilation = _window(p, 2)
    sizes = [(size + 2 * q - (d * (k - 1) + 1)) // s + 1
             for size, k, s, q, d in zip(x.shape[2:], kernel, stride, pad, dilation, strict=True)]
    padded = np.pad(x, [(0, 0), (0, 0), *((q, q) for q in pad)])
    y = np.zeros((x.shape[0], x.shape[1] * kernel[0] * kernel[1], *sizes))
    for channel in range(y.shape[1]):
        source, place = divmod(channel, kernel[0] * kernel[1])
        row, column = divmod(place, kernel[1])
        for i, j in np.ndindex(*sizes):
            y[:, channel, i, j] = padded[:, source, i * stride[0] + row * dilation[0], j * stride[1] + column * dilation[1]]
    return [y]


@define("InnerProduct")
def inner_product(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    axis = p.get("axis", 1) % x.ndim
    weight = blobs[0] if p.get("transpose") else blobs[0].T
    y = x.reshape(*x.shape[:axis], -1) @ weight
    return [y + blobs[1] if len(blobs) > 1 else y]


@define("Embed")
def embed(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    y = blobs[0][bottoms[0].astype(int)]
    return [y + blobs[1] if len(blobs) > 1 else y]


@define("MatMul")
def matmul(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    return [bottoms[0] @ bottoms[1]]


# --- pooling

@define("Pooling")
def pooling(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    if p.get("global_pooling"):
        kernel, stride, pad = list(x.shape[2:]), [1, 1], [0, 0]
    else:
        kernel, stride, pad = (_pair(p, name, short, 2, default) for name, short, default in (
            ("kernel_size", "kernel", None), ("stride", "stride", 1), ("pad", "pad", 0)))
    floor = p.get("round_mode") == "FLOOR" or p.get("ceil_mode") is False
    return _pooled(x, kernel, stride, pad, p.get("pool", "MAX"), floor)[:n_tops]


def _pooled(x: np.ndarray, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int], method: str, floor: bool) -> Arrays:
    height, width = x.shape[2:]
    sizes = []
    for size, k, s, q in zip((height, width), kernel, stride, pad, strict=True):
        exact = (size + 2 * q - k) / s
        count = (math.floor(exact) if floor else math.ceil(exact)) + 1
        if (pad[0] or pad[1]) and (count - 1) * s >= size + q:
            count -= 1
        sizes.append(count)
    y, mask = np.zeros((*x.shape[:2], *sizes)), np.zeros((*x.shape[:2], *sizes))
    for row, column in np.ndindex(*sizes):
        top, left = row * stride[0] - pad[0], column * stride[1] - pad[1]
        low, right = min(top + kernel[0], height + pad[0]), min(left + kernel[1], width + pad[1])
        area = (low - top) * (right - left)
        top, left, low, right = max(top, 0), max(left, 0), min(low, height), min(right, width)
        part = x[:, :, top:low, left:right]
        flat = part.reshape(*x.shape[:2], -1)
        if method == "MAX":
            y[:, :, row, column] = flat.max(-1)
            inner_row, inner_column = np.divmod(flat.argmax(-1), right - left)
            mask[:, :, row, column] = (top + inner_row) * width + left + inner_column
        elif method == "AVE":
            y[:, :, row, column] = flat.sum(-1) / area
        else:
            sums = flat.sum(-1)
            y[:, :, row, column] = np.where(sums > 0, (flat**2).sum(-1) / np.where(sums > 0, sums, 1), 0)
    return [y, mask]


@define("SPP")
def pyramid(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    parts = []
    for level in range(p["pyramid_height"]):
        bins = 2**level
        kernel = [math.ceil(size / bins) for size in x.shape[2:]]
        pad = [(k * bins - size + 1) // 2 for k, size in zip(kernel, x.shape[2:], strict=True)]
        parts.append(_pooled(x, kernel, kernel, pad, p.get("pool", "MAX"), False)[0])
    return parts if len(parts) == 1 else [np.concatenate([part.reshape(x.shape[0], -1) for part in parts], axis=1)]


# --- moving elements

@define("Concat")
def concat(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    return [np.concatenate(bottoms, axis=p.get("axis", p.get("concat_dim", 1)))]


@define("Slice")
def cut(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    axis = p.get("axis", p.get("slice_dim", 1))
    return list(np.split(bottoms[0], p.get("slice_point", n_tops), axis=axis))


@define("Crop")
def crop(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x, like = bottoms
    axis = p.get("axis", 2) % x.ndim
    offset = p.get("offset", [0])
    for place in range(axis, x.ndim):
        first = offset[0] if len(offset) == 1 else offset[place - axis]
        x = np.take(x, range(first, first + like.shape[place]), axis=place)
    return [x]


@define("Flatten")
def flatten(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    first, last = p.get("axis", 1) % x.ndim, p.get("end_axis", -1) % x.ndim
    return [x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])]


@define("Reshape")
def reshape(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    axis = p.get("axis", 0)
    axis = axis + x.ndim + 1 if axis < 0 else axis
    count = p.get("num_axes", -1)
    end = x.ndim if count == -1 else axis + count
    middle = [x.shape[axis + place] if size == 0 else size for place, size in enumerate(p["shape"])]
    return [x.reshape(*x.shape[:axis], *middle, *x.shape[end:])]


@define("Permute")
def permute(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    rest = [axis for axis in range(bottoms[0].ndim) if axis not in p["order"]]
    return [bottoms[0].transpose(*p["order"], *rest)]


@define("Tile")
def tile(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    return [np.concatenate([bottoms[0]] * p["tiles"], axis=p.get("axis", 1))]


@define("Reverse")
def reverse(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    return [np.flip(bottoms[0], axis=p.get("axis", 0))]


@define("BatchReindex")
def reindex(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    return [bottoms[0][bottoms[1].astype(int)]]


@define("ShuffleChannel")
def shuffle(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    group = p.get("group", 1)
    each = x.shape[1] // group
    y = np.zeros_like(x)
    for i in range(group):
        for j in range(each):
            y[:, j * group + i] = x[:, i * each + j]
    return [y]


@define("Reorg")
def reorg(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    """Darknet's `reorg_cpu`, subscript by subscript."""
    x, s = bottoms[0], p.get("stride", 2)
    batch, c, h, w = x.shape
    if p.get("reverse"):
        c, h, w = c, h, w
    out_c = c // (s * s)
    flat, made = x.reshape(-1), np.zeros(x.size)
    for b in range(batch):
        for k in range(c):
            for j in range(h):
                for i in range(w):
                    here = i + w * (j + h * (k + c * b))
                    c2, offset = k % out_c, k // out_c
                    w2, h2 = i * s + offset % s, j * s + offset // s
                    there = w2 + w * s * (h2 + h * s * (c2 + out_c * b))
                    if p.get("reverse"):
                        made[there] = flat[here]
                    else:
                        made[here] = flat[there]
    return [made.reshape((batch, out_c, h * s, w * s) if p.get("reverse") else (batch, c * s * s, h // s, w // s))]


@define("Upsample")
def upsample(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    height = p.get("upsample_h") or x.shape[2] * p.get("scale_h", p.get("scale", 2)) - int(p.get("pad_out_h", False))
    width = p.get("upsample_w") or x.shape[3] * p.get("scale_w", p.get("scale", 2)) - int(p.get("pad_out_w", False))
    y = np.zeros((*x.shape[:2], height, width))
    if len(bottoms) > 1:
        for n, c, i, j in np.ndindex(*x.shape):
            y[n, c].reshape(-1)[int(bottoms[1][n, c, i, j])] = x[n, c, i, j]
        return [y]
    for i, j in np.ndindex(height, width):
        y[:, :, i, j] = x[:, :, i * x.shape[2] // height, j * x.shape[3] // width]
    return [y]


@define("Interp")
def interp(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    begin, end = -p.get("pad_beg", 0), -p.get("pad_end", 0)
    x = x[:, :, begin : x.shape[2] - end, begin : x.shape[3] - end]
    sizes = []
    for size, name in zip(x.shape[2:], ("height", "width"), strict=True):
        small = (size - 1) // p.get("shrink_factor", 1) + 1
        sizes.append(p.get(name) or small + (small - 1) * (p.get("zoom_factor", 1) - 1))
    y = np.zeros((*x.shape[:2], *sizes))
    for i, j in np.ndindex(*sizes):
        row = i * (x.shape[2] - 1) / (sizes[0] - 1) if sizes[0] > 1 else 0
        column = j * (x.shape[3] - 1) / (sizes[1] - 1) if sizes[1] > 1 else 0
        top, left = int(row), int(column)
        low, right = min(top + 1, x.shape[2] - 1), min(left + 1, x.shape[3] - 1)
        a, b = row - top, column - left
        y[:, :, i, j] = ((1 - a) * ((1 - b) * x[:, :, top, left] + b * x[:, :, top, right])
                         + a * ((1 - b) * x[:, :, low, left] + b * x[:, :, low, right]))
    return [y]


@define("ArgMax")
def argmax(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x, top = bottoms[0], p.get("top_k", 1)
    axis = p.get("axis")
    flat = x.reshape(x.shape[0], -1) if axis is None else np.moveaxis(x, axis, -1)
    places = np.argsort(-flat, axis=-1, kind="stable")[..., :top]
    values = np.take_along_axis(flat, places, axis=-1)
    if axis is not None:
        return [np.moveaxis(values if p.get("out_max_val") else places.astype(np.float64), -1, axis)]
    rows = [places[:, None].astype(np.float64)] + ([values[:, None]] if p.get("out_max_val") else [])
    made = np.concatenate(rows, axis=1)
    return [made.reshape(*made.shape, *(1,) * (x.ndim - 3))]  # as many dimensions as the bottom has, and at least three


@define("Reduction")
def reduction(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    axis = p.get("axis", 0) % x.ndim
    flat = x.reshape(*x.shape[:axis], -1)
    found = {"SUM": flat.sum, "ASUM": np.abs(flat).sum, "SUMSQ": (flat**2).sum, "MEAN": flat.mean}[p.get("operation", "SUM")](-1)
    return [np.asarray(found) * p.get("coeff", 1)]


@define("ContinuationIndicator")
def continuation(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    y = np.ones((p.get("time_step", bottoms[0].shape[0]), p.get("batch_size", bottoms[0].shape[1])))
    y[0] = 0
    return [y]


@define("Parameter")
def parameter(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    return [blobs[0]]


# --- normalization

@define("Softmax")
def softmax(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    axis = p.get("axis", 1)
    e = np.exp(x - x.max(axis, keepdims=True))
    return [e / e.sum(axis, keepdims=True)]


def _channels(value: np.ndarray, rank: int) -> np.ndarray:
    return value.reshape(1, -1, *(1,) * (rank - 2))


@define("BatchNorm")
def batch_norm(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x, eps = bottoms[0], p.get("eps", 1e-5)
    if p.get("use_global_stats") is False:
        axes = tuple(axis for axis in range(x.ndim) if axis != 1)
        mean, variance = x.mean(axes), x.var(axes)
    else:
        factor = 0 if len(blobs) > 2 and blobs[2][0] == 0 else 1 / blobs[2][0] if len(blobs) > 2 else 1
        mean, variance = blobs[0] * factor, blobs[1] * factor
    y = (x - _channels(mean, x.ndim)) / np.sqrt(_channels(variance, x.ndim) + eps)
    if len(blobs) == 5:
        y = y * _channels(blobs[3], x.ndim) + _channels(blobs[4], x.ndim)
    return [y]


@define("BN")
def bn(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    if len(blobs) == 4:
        x = (x - _channels(blobs[2], x.ndim)) / np.sqrt(_channels(blobs[3], x.ndim) + p.get("eps", 1e-5))
    return [x * _channels(blobs[0], x.ndim) + _channels(blobs[1], x.ndim)]


@define("MVN")
def mvn(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    axes = tuple(range(1 if p.get("across_channels") else 2, x.ndim))
    y = x - x.mean(axes, keepdims=True)
    if p.get("normalize_variance", True):
        y = y / (np.sqrt((y**2).mean(axes, keepdims=True)) + p.get("eps", 1e-9))
    return [y]


@define("Normalize")
def normalize(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    axes = tuple(range(1, x.ndim)) if p.get("across_spatial", True) else (1,)
    y = x / np.sqrt((x**2).sum(axes, keepdims=True) + p.get("eps", 1e-10))
    return [y * (blobs[0][0] if p.get("channel_shared", True) else _channels(blobs[0], x.ndim))]


@define("LRN")
def lrn(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    size, alpha, beta = p.get("local_size", 5), p.get("alpha", 1), p.get("beta", 0.75)
    half = (size - 1) // 2
    y = np.zeros_like(x)
    if p.get("norm_region", "ACROSS_CHANNELS") == "ACROSS_CHANNELS":
        for c in range(x.shape[1]):
            squares = (x[:, max(0, c - half) : c + half + 1] ** 2).sum(1)
            y[:, c] = x[:, c] / (p.get("k", 1) + alpha / size * squares) ** beta
        return [y]
    for i, j in np.ndindex(*x.shape[2:]):
        part = x[:, :, max(0, i - half) : i + half + 1, max(0, j - half) : j + half + 1]
        y[:, :, i, j] = x[:, :, i, j] / (1 + alpha * (part**2).sum((2, 3)) / size**2) ** beta
    return [y]


# --- recurrent layers

def _lstm_step(sums: np.ndarray, c: np.ndarray, cont: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    size = sums.shape[1] // 4
    i, f, o, g = (sums[:, k * size : (k + 1) * size] for k in range(4))
    c = cont * _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return c, _sigmoid(o) * np.tanh(c)


@define("LSTM")
def lstm(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x, cont, *rest = bottoms
    size, batch = p["num_output"], x.shape[1]
    states = [rest[-2][0], rest[-1][0]] if p.get("expose_hidden") else [np.zeros((batch, size))] * 2
    static = rest[: len(rest) - (2 if p.get("expose_hidden") else 0)]
    h, c = states
    outputs = []
    for t in range(x.shape[0]):
        alive = cont[t][:, None]
        sums = x[t].reshape(batch, -1) @ blobs[0].T + blobs[1] + (alive * h) @ blobs[-1].T
        if static:
            sums = sums + static[0].reshape(batch, -1) @ blobs[2].T
        c, h = _lstm_step(sums, c, alive)
        outputs.append(h)
    return [np.stack(outputs), h[None], c[None]][:n_tops]


@define("Lstm")
def plain_lstm(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x = bottoms[0]
    h = c = np.zeros((x.shape[1], p["num_output"]))
    outputs = []
    for t in range(x.shape[0]):
        c, h = _lstm_step(x[t] @ blobs[0].T + h @ blobs[1].T + blobs[2], c, np.ones((x.shape[1], 1)))
        outputs.append(h)
    return [np.stack(outputs)]


@define("LSTMUnit")
def lstm_unit(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    c, sums, cont = bottoms
    made = _lstm_step(sums[0], c[0], cont[0][:, None])
    return [value[None] for value in made]


@define("RNN")
def rnn(p: Mapping[str, Any], bottoms: Arrays, blobs: Arrays, n_tops: int) -> Arrays:
    x, cont, *rest = bottoms
    batch = x.shape[1]
    h = rest[-1][0] if p.get("expose_hidden") else np.zeros((batch, p["num_output"]))
    static = rest[: len(rest) - int(p.get("expose_hidden", False))]
    weight, bias_h = blobs[:2]
    recurrence, weight_o, bias_o = blobs[-3:]
    outputs = []
    for t in range(x.shape[0]):
        sums = x[t].reshape(batch, -1) @ weight.T + bias_h + (cont[t][:, None] * h) @ recurrence.T
        if static:
            sums = sums + static[0].reshape(batch, -1) @ blobs[2].T
        h = np.tanh(sums)
        outputs.append(np.tanh(h @ weight_o.T + bias_o))
    return [np.stack(outputs), h[None]][:n_tops]
