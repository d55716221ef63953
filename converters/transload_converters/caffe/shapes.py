"""The shapes that layers give, and those of the blobs that they hold, from parameters and the shapes of their bottoms.

A rule is `(op, shapes of its bottoms) -> shapes of its tops`; without one, a layer has one top of the first bottom's shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .geometry import (
    MOST_PRIORS,
    axis_of,
    boxes_kept,
    conv_sizes,
    conv_windows,
    deconv_sizes,
    fail,
    flattened,
    pool_windows,
    prior_counts,
    reshaped,
    slices,
    upsampled,
)

__all__ = ["BLOBS", "DEPTHWISE", "RULES", "Shape", "Shapes", "group_of", "interp_sizes", "product_axis"]

Shape = tuple[int, ...]
Shapes = list[Shape]
Rule = Callable[[Any, Shapes], Shapes]
BlobRule = Callable[[Any, Shapes, "int | None"], Shapes]

RULES: dict[str, Rule] = {}
BLOBS: dict[str, BlobRule] = {}
"""The shapes of a layer's blobs; the last argument is how many the file has, None where it has none."""

DEPTHWISE = ("ConvolutionDepthwise", "DepthwiseConvolution")


def _rule(*types: str) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        def ranked(op: Any, shapes: Shapes) -> Shapes:
            try:
                return rule(op, shapes)
            except IndexError:
                fail(op, f"does not take tensors of the shapes {', '.join(str(list(shape)) for shape in shapes) or 'none'}")

        RULES.update(dict.fromkeys(types, ranked))
        return rule

    return add


def _blobs(*types: str) -> Callable[[BlobRule], BlobRule]:
    def add(rule: BlobRule) -> BlobRule:
        BLOBS.update(dict.fromkeys(types, rule))
        return rule

    return add


def _need(op: Any, shape: Shape, rank: int) -> Shape:
    if len(shape) != rank:
        fail(op, f"needs a tensor of rank {rank}, and is given {list(shape)}")
    return shape


def _positive(op: Any, name: str) -> int:
    value = op.attribute(name)
    if not value or value < 1 or value > 1 << 30:
        fail(op, f"{name} is {'not given' if value is None else value}")
    return int(value)


# --- convolutions and products

def group_of(op: Any, channels: int) -> int:
    """How many groups the channels are split into: of depthwise layers, as many as there are, where nothing else is said."""
    group = op.attribute("group")
    if op.name.rpartition(".")[2] in DEPTHWISE and group == 1:
        return channels
    return int(group)


@_rule("Convolution", *DEPTHWISE)
def _conv(op: Any, shapes: Shapes) -> Shapes:
    axis, windows = conv_windows(op, shapes[0])
    return [(*shapes[0][:axis], _positive(op, "num_output"), *conv_sizes(op, windows))]


@_rule("Deconvolution")
def _deconv(op: Any, shapes: Shapes) -> Shapes:
    axis, windows = conv_windows(op, shapes[0])
    return [(*shapes[0][:axis], _positive(op, "num_output"), *deconv_sizes(op, windows))]


@_rule("Im2col")
def _im2col(op: Any, shapes: Shapes) -> Shapes:
    axis, windows = conv_windows(op, shapes[0])
    channels = shapes[0][axis] * math.prod(windows.kernel)
    return [(*shapes[0][:axis], channels, *conv_sizes(op, windows))]


@_blobs("Convolution", "Deconvolution", *DEPTHWISE)
def _conv_blobs(op: Any, shapes: Shapes, count: int | None) -> Shapes:
    axis, windows = conv_windows(op, shapes[0])
    if axis < 1:
        fail(op, "the channels cannot be the first dimension")
    channels, outputs = shapes[0][axis], _positive(op, "num_output")
    group = group_of(op, channels)
    if group < 1 or channels % group or outputs % group:
        fail(op, f"{channels} channels and {outputs} outputs cannot be split into {group} groups")
    first, second = (channels, outputs) if op.name.endswith("Deconvolution") else (outputs, channels)
    weight = (first, second // group, *windows.kernel)
    return [weight, (outputs,)] if op.bias_term else [weight]


def product_axis(op: Any, shape: Shape) -> int:
    """The first dimension of those that InnerProduct takes as one."""
    return axis_of(op, op.axis, len(shape))


@_rule("InnerProduct")
def _product(op: Any, shapes: Shapes) -> Shapes:
    return [(*shapes[0][: product_axis(op, shapes[0])], _positive(op, "num_output"))]


@_blobs("InnerProduct")
def _product_blobs(op: Any, shapes: Shapes, count: int | None) -> Shapes:
    size, outputs = math.prod(shapes[0][product_axis(op, shapes[0]) :]), _positive(op, "num_output")
    weight = (size, outputs) if op.transpose else (outputs, size)
    return [weight, (outputs,)] if op.bias_term else [weight]


@_rule("Embed")
def _embed(op: Any, shapes: Shapes) -> Shapes:
    return [(*shapes[0], _positive(op, "num_output"))]


@_blobs("Embed")
def _embed_blobs(op: Any, shapes: Shapes, count: int | None) -> Shapes:
    weight = (_positive(op, "input_dim"), _positive(op, "num_output"))
    return [weight, weight[1:]] if op.bias_term else [weight]


@_rule("MatMul")
def _matmul(op: Any, shapes: Shapes) -> Shapes:
    rows, inner, columns = (op.attribute(f"dim_{n}") for n in (1, 2, 3))
    if rows and inner and columns:
        batch = math.prod(shapes[0]) // (rows * inner)
        if batch * rows * inner != math.prod(shapes[0]) or batch * inner * columns != math.prod(shapes[1]):
            fail(op, f"{list(shapes[0])} and {list(shapes[1])} are no matrices of {rows}x{inner} and {inner}x{columns}")
        return [(batch, rows, columns) if len(shapes[0]) == 3 else (*shapes[0][:-2], rows, columns)]
    if min(map(len, shapes)) < 2 or shapes[0][-1] != shapes[1][-2]:
        fail(op, f"{list(shapes[0])} and {list(shapes[1])} have no product")
    return [(*shapes[0][:-1], shapes[1][-1])]


# --- windows

@_rule("Pooling")
def _pool(op: Any, shapes: Shapes) -> Shapes:
    return [(*shapes[0][:2], *pool_windows(op, shapes[0]).outputs)] * 2


@_rule("SPP")
def _spp(op: Any, shapes: Shapes) -> Shapes:
    height = _positive(op, "pyramid_height")
    if height > 10:
        fail(op, f"a pyramid of {height} levels")
    n, c = _need(op, shapes[0], 4)[:2]
    return [(n, c, 1, 1) if height == 1 else (n, c * sum(4**level for level in range(height)))]


@_rule("ROIPooling")
def _roi(op: Any, shapes: Shapes) -> Shapes:
    rois = math.prod(shapes[1]) // 5
    return [(rois, _need(op, shapes[0], 4)[1], _positive(op, "pooled_h"), _positive(op, "pooled_w"))]


@_rule("PSROIPooling")
def _psroi(op: Any, shapes: Shapes) -> Shapes:
    size, outputs = _positive(op, "group_size"), _positive(op, "output_dim")
    if _need(op, shapes[0], 4)[1] != size * size * outputs:
        fail(op, f"{shapes[0][1]} channels are not {size} x {size} x {outputs}")
    return [(math.prod(shapes[1]) // 5, outputs, size, size)]


# --- shapes

@_rule("Flatten")
def _flatten(op: Any, shapes: Shapes) -> Shapes:
    return [flattened(op, shapes[0])]


@_rule("Reshape")
def _reshape(op: Any, shapes: Shapes) -> Shapes:
    return [reshaped(op, shapes[0])]


@_rule("Permute")
def _permute(op: Any, shapes: Shapes) -> Shapes:
    order = tuple(op.order or ())
    if len(set(order)) != len(order) or max(order, default=0) >= len(shapes[0]):
        fail(op, f"order {list(order)} does not name the dimensions of {list(shapes[0])}")
    return [tuple(shapes[0][axis] for axis in (*order, *(a for a in range(len(shapes[0])) if a not in order)))]


@_rule("Concat")
def _concat(op: Any, shapes: Shapes) -> Shapes:
    if not shapes:
        fail(op, "has no bottoms")
    legacy = "concat_dim" in op.attributes and "axis" not in op.attributes
    axis = axis_of(op, op.concat_dim if legacy else op.axis, len(shapes[0]))
    for shape in shapes[1:]:
        if len(shape) != len(shapes[0]) or shape[:axis] + shape[axis + 1 :] != shapes[0][:axis] + shapes[0][axis + 1 :]:
            fail(op, f"{list(shapes[0])} and {list(shape)} differ in other dimensions than {axis}")
    return [(*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])]


@_rule("Slice")
def _slice(op: Any, shapes: Shapes) -> Shapes:
    axis, sizes = slices(op, shapes[0], len(op.results) or op.attributes.get("tops", 1))
    return [(*shapes[0][:axis], size, *shapes[0][axis + 1 :]) for size in sizes]


@_rule("Split")
def _split(op: Any, shapes: Shapes) -> Shapes:
    return [shapes[0]] * len(op.results)


@_rule("Crop")
def _crop(op: Any, shapes: Shapes) -> Shapes:
    axis = axis_of(op, op.axis, len(shapes[0]))
    if len(shapes[0]) != len(shapes[1]):
        fail(op, f"{list(shapes[0])} and {list(shapes[1])} have different ranks")
    return [(*shapes[0][:axis], *shapes[1][axis:])]


@_rule("Tile")
def _tile(op: Any, shapes: Shapes) -> Shapes:
    axis, tiles = axis_of(op, op.axis, len(shapes[0])), _positive(op, "tiles")
    return [(*shapes[0][:axis], shapes[0][axis] * tiles, *shapes[0][axis + 1 :])]


@_rule("BatchReindex")
def _reindex(op: Any, shapes: Shapes) -> Shapes:
    return [(math.prod(shapes[1]), *shapes[0][1:])]


@_rule("ArgMax")
def _argmax(op: Any, shapes: Shapes) -> Shapes:
    top = _positive(op, "top_k")
    axis = op.attribute("axis")
    if axis is not None:
        axis = axis_of(op, axis, len(shapes[0]))
        return [(*shapes[0][:axis], top, *shapes[0][axis + 1 :])]
    rest = (2, top) if op.out_max_val else (1, top)
    return [(shapes[0][0], *rest, *(1,) * (len(shapes[0]) - 3))]


@_rule("Reduction")
def _reduction(op: Any, shapes: Shapes) -> Shapes:
    return [shapes[0][: axis_of(op, op.axis, len(shapes[0]))]]


@_rule("Reorg")
def _reorg(op: Any, shapes: Shapes) -> Shapes:
    n, c, h, w = _need(op, shapes[0], 4)
    s = _positive(op, "stride")
    if op.reverse:
        if c % (s * s):
            fail(op, f"{c} channels cannot be split into blocks of {s} x {s}")
        return [(n, c // (s * s), h * s, w * s)]
    if h % s or w % s or c % (s * s):
        fail(op, f"an image of {h} x {w} with {c} channels cannot be taken apart in blocks of {s} x {s}")
    return [(n, c * s * s, h // s, w // s)]


@_rule("Upsample")
def _upsample(op: Any, shapes: Shapes) -> Shapes:
    return [(*shapes[0][:2], *upsampled(op, shapes[0]))]


def interp_sizes(op: Any, shape: Shape) -> tuple[Shape, Shape]:
    """The part of an image that Interp takes, and the sizes that it gives."""
    begin, end = op.pad_beg, op.pad_end
    if begin > 0 or end > 0:
        fail(op, f"pad_beg {begin} and pad_end {end} take pixels away: they must not be positive")
    inner = tuple(size + begin + end for size in _need(op, shape, 4)[2:])
    if min(inner) < 1:
        fail(op, f"pad_beg {begin} and pad_end {end} leave nothing of {list(shape)}")
    shrink, zoom = _positive(op, "shrink_factor"), _positive(op, "zoom_factor")
    if op.height and op.width:
        return inner, (_positive(op, "height"), _positive(op, "width"))
    sizes = tuple((size - 1) // shrink + 1 for size in inner)
    return inner, tuple(size + (size - 1) * (zoom - 1) for size in sizes)


@_rule("Interp")
def _interp(op: Any, shapes: Shapes) -> Shapes:
    return [(*shapes[0][:2], *interp_sizes(op, shapes[0])[1])]


# --- per channel

def _channels(op: Any, shape: Shape) -> int:
    if len(shape) < 2:
        return 1 if not shape else shape[0]
    return shape[1]


@_blobs("BatchNorm")
def _norm_blobs(op: Any, shapes: Shapes, count: int | None) -> Shapes:
    channels: Shape = (shapes[0][1] if len(shapes[0]) > 1 else 1,)
    more = [channels] * 2 if op.scale_bias or count == 5 else []
    return [channels, channels] if count == 2 else [channels, channels, (1,), *more]


@_blobs("BN")
def _bn_blobs(op: Any, shapes: Shapes, count: int | None) -> Shapes:
    stored = 2 if op.bn_mode == "INFERENCE" or count == 2 else 4
    return [(_channels(op, shapes[0]),)] * stored


@_blobs("PReLU")
def _prelu_blobs(op: Any, shapes: Shapes, count: int | None) -> Shapes:
    return [(1,) if op.channel_shared else (_channels(op, shapes[0]),)]


@_blobs("Normalize")
def _normalize_blobs(op: Any, shapes: Shapes, count: int | None) -> Shapes:
    return [(1,) if op.channel_shared else (_channels(op, shapes[0]),)]


@_blobs("Scale", "Bias")
def _scale_blobs(op: Any, shapes: Shapes, count: int | None) -> Shapes:
    shape = shapes[0]
    start = axis_of(op, op.axis, len(shape), 1)
    if len(shapes) > 1:
        own, held = [], shapes[1]
    else:
        if op.num_axes < -1 or start + max(op.num_axes, 0) > len(shape):
            fail(op, f"axis {op.axis} and num_axes {op.num_axes} are outside a tensor of rank {len(shape)}")
        held = shape[start:] if op.num_axes == -1 else shape[start : start + op.num_axes]
        own = [held]
    return [*own, held] if op.attribute("bias_term", False) else own


# --- recurrent

def _time(op: Any, shape: Shape) -> tuple[int, int, int]:
    if len(shape) < 2:
        fail(op, f"needs [T, N, ..], and is given {list(shape)}")
    return shape[0], shape[1], math.prod(shape[2:])


def _statics(op: Any, shapes: Shapes, states: int) -> int:
    """The size of what is the same at every step; 0 where there is none."""
    extra = len(shapes) - 2 - (states if op.expose_hidden else 0)
    if extra not in (0, 1):
        fail(op, f"has {len(shapes)} bottoms")
    return math.prod(shapes[2][1:]) if extra else 0


@_rule("LSTM")
def _lstm(op: Any, shapes: Shapes) -> Shapes:
    time, batch, _ = _time(op, shapes[0])
    state = (1, batch, _positive(op, "num_output"))
    return [(time, *state[1:]), *([state] * 2 if op.expose_hidden else [])]


@_blobs("LSTM")
def _lstm_blobs(op: Any, shapes: Shapes, count: int | None) -> Shapes:
    hidden, inputs, static = _positive(op, "num_output"), _time(op, shapes[0])[2], _statics(op, shapes, 2)
    return [(4 * hidden, inputs), (4 * hidden,), *([(4 * hidden, static)] if static else []), (4 * hidden, hidden)]


@_rule("RNN")
def _rnn(op: Any, shapes: Shapes) -> Shapes:
    time, batch, _ = _time(op, shapes[0])
    size = _positive(op, "num_output")
    return [(time, batch, size), *([(1, batch, size)] if op.expose_hidden else [])]


@_blobs("RNN")
def _rnn_blobs(op: Any, shapes: Shapes, count: int | None) -> Shapes:
    size, inputs, static = _positive(op, "num_output"), _time(op, shapes[0])[2], _statics(op, shapes, 1)
    return [(size, inputs), (size,), *([(size, static)] if static else []), (size, size), (size, size), (size,)]


@_rule("Lstm")
def _plain_lstm(op: Any, shapes: Shapes) -> Shapes:
    return [(*_time(op, shapes[0])[:2], _positive(op, "num_output"))]


@_blobs("Lstm")
def _plain_lstm_blobs(op: Any, shapes: Shapes, count: int | None) -> Shapes:
    hidden = _positive(op, "num_output")
    return [(4 * hidden, _time(op, shapes[0])[2]), (4 * hidden, hidden), (4 * hidden,)]


@_rule("LSTMUnit")
def _lstm_unit(op: Any, shapes: Shapes) -> Shapes:
    return [shapes[0], shapes[0]]


@_rule("ContinuationIndicator")
def _continuation(op: Any, shapes: Shapes) -> Shapes:
    return [(op.time_step or shapes[0][0], op.batch_size or (shapes[0][1] if len(shapes[0]) > 1 else 1))]


@_rule("Parameter")
def _parameter(op: Any, shapes: Shapes) -> Shapes:
    return [tuple(op.attribute("shape") or ())]


@_blobs("Parameter")
def _parameter_blobs(op: Any, shapes: Shapes, count: int | None) -> Shapes:
    return [tuple(op.attribute("shape") or ())]


# --- detection

@_rule("Axpy")
def _axpy(op: Any, shapes: Shapes) -> Shapes:
    return [shapes[1]]


@_rule("PriorBox")
def _priors(op: Any, shapes: Shapes) -> Shapes:
    height, width = _need(op, shapes[0], 4)[2:]
    if not height * width:
        fail(op, f"an image of {height} x {width} has no pixels to place boxes at")
    boxes = height * width * prior_counts(op)[1]
    if boxes > MOST_PRIORS:
        fail(op, f"makes {boxes:,} boxes, more than {MOST_PRIORS:,}")
    return [(1, 2, boxes * 4)]


@_rule("DetectionOutput")
def _detections(op: Any, shapes: Shapes) -> Shapes:
    return [(1, 1, shapes[0][0] * boxes_kept(op, math.prod(shapes[2]) // 8), 7)]


@_rule("Proposal")
def _proposal(op: Any, shapes: Shapes) -> Shapes:
    kept = op.attribute("rpn_nms_post_top_n") or _positive(op, "post_nms_topn")
    rows = (shapes[0][0], 1, kept) if op.attribute("rpn_nms_post_top_n") else (kept,)
    return [(*rows, 5), (*rows, 1)][: max(len(op.results), 1)]


@_rule("FrcnDetection")
def _frcn(op: Any, shapes: Shapes) -> Shapes:
    batch = shapes[2][0] if len(shapes[2]) == 4 else 1
    if not batch:
        fail(op, f"regions of the shape {list(shapes[2])} are of no image")
    return [(batch, 1, _positive(op, "keep_topk"), 6)]


@_rule("YoloDetection")
def _yolo(op: Any, shapes: Shapes) -> Shapes:
    return [(shapes[0][0], 1, _positive(op, "keep_topk"), 6)]


@_rule("RetinaFaceDetection")
def _retina(op: Any, shapes: Shapes) -> Shapes:
    return [(shapes[0][0], 1, _positive(op, "keep_topk"), 15)]
