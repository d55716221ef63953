"""Generated cases: each type of layer over its parameters, shapes and borders. Always the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from .harness import Case

__all__ = ["all_cases"]

_RNG = np.random.default_rng(12)


def _x(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return _RNG.uniform(low, high, shape).astype(np.float32)


def all_cases() -> list[Case]:
    """Every case, in an order that does not change."""
    global _RNG
    _RNG = np.random.default_rng(12)
    return [case for family in (
        _elementwise, _scales, _convolutions, _transposed, _columns, _products, _poolings, _pyramids, _movements, _resizes,
        _reductions, _normalizations, _recurrent, _ssd, _proposals, _regions, _detectors) for case in family()]


def _one(type_: str, holder: str, bottoms: list[np.ndarray], blobs: list[np.ndarray] | None = None, tops: int = 1,
         constants: tuple[int, ...] = (), **parameters: Any) -> Case:
    return Case(type_, {holder: parameters} if parameters else {}, bottoms, blobs or [], tops, constants)


_SHAPES = ((2, 3, 4, 5), (3, 6), (7,), (1, 2, 3, 2, 2))


def _elementwise() -> Iterator[Case]:
    for type_ in ("AbsVal", "BNLL", "TanH", "Sigmoid", "Mish", "HSwish", "HSigmoid", "Dropout"):
        for shape in _SHAPES:
            yield _one(type_, "", [_x(*shape, low=-6, high=6)])
    for shape, slope in product(_SHAPES, (None, 0.0, 0.1, 1.5)):
        yield _one("ReLU", "relu_param", [_x(*shape)], **({} if slope is None else {"negative_slope": slope}))
    for shape in _SHAPES:
        for limit in (None, 1.0, 4.5):
            yield _one("ReLU6", "relu6_param", [_x(*shape, low=-8, high=8)], **({} if limit is None else {"threshold": limit}))
        for alpha in (None, 0.3, 2.0):
            yield _one("ELU", "elu_param", [_x(*shape, low=-5)], **({} if alpha is None else {"alpha": alpha}))
        for beta in (None, 0.5, 1.7):
            yield _one("Swish", "swish_param", [_x(*shape, low=-5)], **({} if beta is None else {"beta": beta}))
        for low, high in ((-1.0, 1.0), (0.0, 6.0), (0.5, 0.75)):
            yield _one("Clip", "clip_param", [_x(*shape)], min=low, max=high)
        for limit in (None, 0.5, -1.0):
            yield _one("Threshold", "threshold_param", [_x(*shape)], **({} if limit is None else {"threshold": limit}))
    for power, scale, shift in product((0.0, 0.5, 1.0, 2.0, 3.0, -1.0, -0.75, 1.7), (1.0, 0.5), (0.0, 1.5)):
        yield _one("Power", "power_param", [_x(2, 3, 4, low=0.2)], power=power, scale=scale, shift=shift)
    for power in (2.0, 3.0, 4.0, -1.0, -3.0):
        yield _one("Power", "power_param", [-_x(2, 5, low=0.3)], power=power)
    for base, scale, shift in product((-1.0, 2.0, 0.5), (1.0, -0.7), (0.0, 0.4)):
        yield _one("Exp", "exp_param", [_x(2, 3, 4)], base=base, scale=scale, shift=shift)
        yield _one("Log", "log_param", [_x(2, 3, 4, low=0.3)], base=base, scale=abs(scale), shift=shift)
    for shape, shared in product(_SHAPES[:2] + _SHAPES[3:], (False, True)):
        yield _one("PReLU", "prelu_param", [_x(*shape)], [_x(*(() if shared else shape[1:2]) or (1,))], channel_shared=shared)
    for shape, count in product(_SHAPES[:2], (1, 2, 3)):
        yield _one("Split", "", [_x(*shape)], tops=count)
    for shape, operation, count in product(_SHAPES[:2], ("SUM", "PROD", "MAX"), (2, 3)):
        yield _one("Eltwise", "eltwise_param", [_x(*shape) for _ in range(count)], operation=operation)
    for coeff in ([1.0, -1.0], [0.5, 2.0], [1.0, 1.0], [-1.0, 0.25, 3.0]):
        yield _one("Eltwise", "eltwise_param", [_x(2, 3, 4) for _ in coeff], coeff=coeff)


def _scales() -> Iterator[Case]:
    shape = (2, 3, 4, 5)
    for axis, axes in ((0, 1), (1, 1), (1, 2), (2, 2), (-1, 1), (1, -1), (0, -1), (1, 0)):
        first = axis % 4
        held = shape[first:] if axes == -1 else shape[first : first + axes]
        for biased in (False, True):
            blobs = [_x(*held), *([_x(*held)] if biased else [])]
            yield _one("Scale", "scale_param", [_x(*shape)], blobs, axis=axis, num_axes=axes, bias_term=biased)
            if axes != 0:
                more = [_x(*held)] if biased else []
                yield _one("Scale", "scale_param", [_x(*shape), _x(*held)], more, axis=axis, bias_term=biased)
        yield _one("Bias", "bias_param", [_x(*shape)], [_x(*held)], axis=axis, num_axes=axes)
        if axes != 0:
            yield _one("Bias", "bias_param", [_x(*shape), _x(*held)], axis=axis)
    yield _one("Scale", "scale_param", [_x(3, 6)], [_x(6), _x(6)], bias_term=True)
    for factor in ((2, 3, 1, 1), (2, 3)):
        yield _one("Axpy", "", [_x(*factor), _x(*shape), _x(*shape)])


def _convolutions() -> Iterator[Case]:
    for kernel, stride, pad, dilation in product((1, 2, 3), (1, 2), (0, 1), (1, 2)):
        if kernel == 1 and dilation == 2:
            continue
        yield _one("Convolution", "convolution_param", [_x(2, 4, 7, 6)], [_x(3, 4, kernel, kernel), _x(3)], num_output=3,
                   kernel_size=kernel, stride=stride, pad=pad, dilation=dilation)
    for group, outputs in ((2, 6), (4, 4), (4, 8), (1, 5)):
        yield _one("Convolution", "convolution_param", [_x(1, 4, 5, 5)], [_x(outputs, 4 // group, 3, 3)], num_output=outputs,
                   kernel_size=3, group=group, bias_term=False)
    sides = {"kernel_h": 3, "kernel_w": 1, "stride_h": 1, "stride_w": 2, "pad_h": 1, "pad_w": 0}
    yield _one("Convolution", "convolution_param", [_x(1, 2, 6, 7)], [_x(3, 2, 3, 1), _x(3)], num_output=3, **sides)
    yield _one("Convolution", "convolution_param", [_x(1, 2, 6, 7)], [_x(3, 2, 2, 3), _x(3)], num_output=3, kernel_size=[2, 3],
               stride=[2, 1], pad=[0, 1], dilation=[1, 2])
    for stride, pad in product((1, 2), (0, 1)):
        yield _one("Convolution", "convolution_param", [_x(1, 2, 5, 4, 6)], [_x(3, 2, 2, 2, 2), _x(3)], num_output=3,
                   kernel_size=2,
                   stride=stride, pad=pad)
        yield _one("Convolution", "convolution_param", [_x(2, 3, 9)], [_x(4, 3, 3), _x(4)], num_output=4, kernel_size=3,
                   stride=stride, pad=pad)
    for type_, stride, pad in product(("DepthwiseConvolution", "ConvolutionDepthwise"), (1, 2), (0, 1)):
        yield _one(type_, "convolution_param", [_x(1, 5, 7, 7)], [_x(5, 1, 3, 3), _x(5)], num_output=5, kernel_size=3,
                   stride=stride, pad=pad, **({"group": 5} if type_[0] == "D" else {}))


def _transposed() -> Iterator[Case]:
    for kernel, stride, pad, group in product((2, 3, 4), (1, 2, 3), (0, 1), (1, 2)):
        yield _one("Deconvolution", "convolution_param", [_x(2, 4, 4, 3)], [_x(4, 6 // group, kernel, kernel), _x(6)],
                   num_output=6,
                   kernel_size=kernel, stride=stride, pad=pad, group=group)
    yield _one("Deconvolution", "convolution_param", [_x(1, 4, 4, 4)], [_x(4, 1, 4, 4)], num_output=4, kernel_size=4, stride=2,
               pad=1,
               group=4, bias_term=False)
    yield _one("Deconvolution", "convolution_param", [_x(1, 2, 4, 3)], [_x(2, 3, 3, 2), _x(3)], num_output=3, kernel_h=3,
               kernel_w=2,
               stride_h=2, stride_w=1, pad_h=1, pad_w=0)


def _columns() -> Iterator[Case]:
    for kernel, stride, pad, dilation in product((2, 3), (1, 2), (0, 1), (1, 2)):
        yield _one("Im2col", "convolution_param", [_x(2, 3, 6, 5)], kernel_size=kernel, stride=stride, pad=pad, dilation=dilation)


def _products() -> Iterator[Case]:
    for (shape, axis), transpose, biased in product(
            (((2, 3, 4), 1), ((2, 12), 1), ((2, 3, 4), 2), ((2, 3, 4, 2), -2), ((5, 3), 0)), (False, True), (False, True)):
        size = int(np.prod(shape[axis % len(shape) :]))
        weight = _x(size, 5) if transpose else _x(5, size)
        yield _one("InnerProduct", "inner_product_param", [_x(*shape)], [weight, *([_x(5)] if biased else [])], num_output=5,
                   axis=axis, transpose=transpose, bias_term=biased)
    for shape, biased in product(((4,), (2, 3), (1, 5, 2)), (False, True)):
        numbers = _RNG.integers(0, 7, shape).astype(np.float32)
        yield _one("Embed", "embed_param", [numbers], [_x(7, 4), *([_x(4)] if biased else [])], num_output=4, input_dim=7,
                   bias_term=biased)
    for lead in ((2, 3), (4,), (1, 1)):
        yield _one("MatMul", "matmul_param", [_x(*lead, 3, 4), _x(*lead, 4, 5)], dim_1=3, dim_2=4, dim_3=5)
        yield _one("MatMul", "", [_x(*lead, 3, 4), _x(*lead, 4, 2)])
    for shape, group in (((1, 6, 3, 2), 2), ((2, 6, 4, 4), 3), ((2, 8), 4), ((1, 4, 2, 2), 1)):
        yield _one("ShuffleChannel", "shuffle_channel_param", [_x(*shape)], group=group)


def _poolings() -> Iterator[Case]:
    for method, kernel, stride, pad, size in product(("MAX", "AVE"), (2, 3), (1, 2, 3), (0, 1), ((6, 7), (5, 5))):
        if (kernel, stride, pad, size) == (2, 3, 0, (6, 7)):  # whose last windows begin behind the image
            continue
        yield _one("Pooling", "pooling_param", [_x(1, 2, *size)], pool=method, kernel_size=kernel, stride=stride, pad=pad)
    for method, size in product(("MAX", "AVE"), ((7, 6), (5, 8))):
        yield _one("Pooling", "pooling_param", [_x(2, 3, *size)], pool=method, kernel_size=3, stride=2, round_mode="FLOOR")
        yield _one("Pooling", "pooling_param", [_x(2, 3, *size)], pool=method, kernel_size=3, stride=2, ceil_mode=False)
        yield _one("Pooling", "pooling_param", [_x(2, 3, *size)], pool=method, global_pooling=True)
        yield _one("Pooling", "pooling_param", [_x(2, 3, *size)], pool=method, kernel_h=3, kernel_w=2, stride_h=2, stride_w=3,
                   pad_h=1,
                   pad_w=1)
        yield _one("Pooling", "pooling_param", [_x(2, 3, *size)], pool=method, kernel_size=4, stride=3, pad=2)
    for kernel, stride, pad in ((2, 2, 0), (3, 2, 0), (3, 2, 1), (2, 1, 1), (3, 3, 1)):
        yield _one("Pooling", "pooling_param", [_x(2, 3, 6, 7)], tops=2, pool="MAX", kernel_size=kernel, stride=stride, pad=pad)
    for kernel, stride in ((2, 2), (3, 2)):
        yield _one("Pooling", "pooling_param", [_x(1, 2, 6, 7, low=0.1)], pool="STOCHASTIC", kernel_size=kernel, stride=stride)


def _pyramids() -> Iterator[Case]:
    for method, height, size in product(("MAX", "AVE"), (1, 2, 3), ((8, 8), (7, 9), (12, 10))):
        yield _one("SPP", "spp_param", [_x(2, 3, *size)], pool=method, pyramid_height=height)


def _movements() -> Iterator[Case]:
    for axis, count in product((0, 1, 2, -1), (1, 2, 3)):
        shape = [2, 3, 4]
        values = []
        for place in range(count):
            own = list(shape)
            own[axis] += place
            values.append(_x(*own))
        yield _one("Concat", "concat_param", values, axis=axis)
    yield _one("Concat", "concat_param", [_x(2, 3), _x(2, 4)], concat_dim=1)
    for axis, points, tops in ((1, [2], 2), (1, [1, 4], 3), (0, None, 2), (2, None, 4), (-1, [3], 2), (1, None, 1)):
        yield _one("Slice", "slice_param", [_x(4, 6, 8)], tops=tops, axis=axis, **({"slice_point": points} if points else {}))
    yield _one("Slice", "slice_param", [_x(4, 6)], tops=3, slice_dim=1)
    for axis, offset in ((2, None), (2, [1]), (2, [1, 2]), (1, [1, 0, 2]), (3, [1]), (-2, [0, 1]), (0, [0])):
        like = [2, 3, 6, 7]
        for place in range(axis % 4, 4):
            like[place] -= 2 if place > 1 else 1 if place == 1 else 0
        yield _one("Crop", "crop_param", [_x(2, 3, 6, 7), _x(*like)], axis=axis, **({"offset": offset} if offset else {}))
    for axis, end in ((1, -1), (0, -1), (1, 2), (2, 3), (-2, -1), (0, 1), (3, 3)):
        yield _one("Flatten", "flatten_param", [_x(2, 3, 4, 2)], axis=axis, end_axis=end)
    for parameters in (
            {"shape": [0, -1]}, {"shape": [-1]}, {"shape": [0, 4, 3]}, {"shape": [2, 3], "axis": 1, "num_axes": 1},
            {"shape": [12], "axis": 1}, {"shape": [1], "axis": -1, "num_axes": 0}, {"shape": [-1], "axis": -3},
            {"shape": [1, 1], "axis": 0, "num_axes": 0}, {"shape": [0, 0, -1, 1]}):
        shape = (2, 6, 2) if parameters["shape"] == [2, 3] or parameters["shape"] == [12] else (2, 4, 3)
        yield _one("Reshape", "reshape_param", [_x(*shape)], **parameters)
    for order in ([0, 2, 3, 1], [0, 3, 1, 2], [1, 0, 2, 3], [3, 2, 1, 0], [2], [0, 2]):
        yield _one("Permute", "permute_param", [_x(2, 3, 4, 5)], order=order)
    for axis, tiles in product((0, 1, -1), (1, 2, 3)):
        yield _one("Tile", "tile_param", [_x(2, 3, 4)], axis=axis, tiles=tiles)
    for axis in (0, 1, 2):
        yield _one("Reverse", "reverse_param", [_x(2, 3, 4)], axis=axis)
    for numbers, constants in product(([0, 2, 1], [3, 3], [1]), ((), (1,))):
        yield _one("BatchReindex", "", [_x(4, 3, 2), np.array(numbers, np.float32)], constants=constants)
    for stride, shape in ((2, (2, 8, 4, 6)), (3, (1, 9, 6, 3)), (2, (1, 4, 2, 2))):
        yield _one("Reorg", "reorg_param", [_x(*shape)], stride=stride)
        yield _one("Reorg", "reorg_param", [_x(*shape)], stride=stride, reverse=True)
    for shape in ((3, 2), (5, 1, 4)):
        yield _one("ContinuationIndicator", "", [_x(*shape)])
    yield _one("ContinuationIndicator", "continuation_indicator_param", [_x(3, 2)], time_step=4, batch_size=3)
    yield _one("Parameter", "parameter_param", [], [_x(2, 3)], shape=[2, 3])


def _resizes() -> Iterator[Case]:
    for parameters in ({"scale": 2}, {"scale": 3}, {"scale_h": 2, "scale_w": 3}, {"upsample_h": 7, "upsample_w": 9},
                       {"scale": 2, "pad_out_h": True}):
        yield _one("Upsample", "upsample_param", [_x(2, 3, 4, 5)], **parameters)
    for kernel, size in ((2, (6, 8)), (2, (5, 7)), (3, (6, 9))):
        height, width = (-(-each // kernel) for each in size)
        base = (np.arange(height)[:, None] * kernel * size[1] + np.arange(width) * kernel).astype(np.float32)
        mask = np.broadcast_to(base, (2, 3, height, width)).copy()
        yield _one("Upsample", "upsample_param", [_x(2, 3, height, width), mask], upsample_h=size[0], upsample_w=size[1])
    for parameters in ({"height": 9, "width": 7}, {"zoom_factor": 2}, {"shrink_factor": 2}, {"zoom_factor": 3, "pad_beg": -1},
                       {"height": 5, "width": 6, "pad_beg": -1, "pad_end": -1}, {"shrink_factor": 2, "zoom_factor": 2},
                       {"height": 1, "width": 1}):
        yield _one("Interp", "interp_param", [_x(1, 2, 5, 6)], **parameters)


def _reductions() -> Iterator[Case]:
    for operation, axis, coeff in product(("SUM", "ASUM", "SUMSQ", "MEAN"), (0, 1, 2, -1), (1.0, -0.5)):
        yield _one("Reduction", "reduction_param", [_x(2, 3, 4)], operation=operation, axis=axis, coeff=coeff)
    for top, values in product((1, 3), (False, True)):
        for shape in ((2, 6), (2, 3, 4), (2, 3, 4, 5), (2, 3, 2, 2, 3)):
            yield _one("ArgMax", "argmax_param", [_x(*shape)], top_k=top, out_max_val=values)
        for axis in (0, 1, -1):
            yield _one("ArgMax", "argmax_param", [_x(3, 4, 5)], top_k=top, out_max_val=values, axis=axis)


def _normalizations() -> Iterator[Case]:
    for shape, axis in (((2, 3, 4, 5), 1), ((2, 3, 4, 5), 2), ((2, 3, 4, 5), -1), ((3, 6), 1), ((2, 3, 4), 0)):
        yield _one("Softmax", "softmax_param", [_x(*shape, low=-9, high=9)], axis=axis)
    for shape, eps, factor in product(((2, 3, 4, 5), (4, 3), (1, 3, 6)), (1e-5, 1e-3), (1.0, 999.98, 0.0)):
        blobs = [_x(3), _x(3, low=0.1) * max(factor, 1), np.array([factor], np.float32)]
        yield _one("BatchNorm", "batch_norm_param", [_x(*shape)], blobs, eps=eps, use_global_stats=True)
    yield _one("BatchNorm", "", [_x(2, 3, 4, 4)], [_x(3), _x(3, low=0.1), np.ones(1, np.float32)])
    yield _one("BatchNorm", "batch_norm_param", [_x(2, 3, 4, 4)], [_x(3), _x(3, low=0.1), np.ones(1, np.float32), _x(3), _x(3)],
               scale_bias=True)
    for shape in ((2, 3, 4, 5), (5, 3)):
        yield _one("BatchNorm", "batch_norm_param", [_x(*shape)], [_x(3), _x(3), np.ones(1, np.float32)], use_global_stats=False)
    for shape, eps in product(((2, 3, 4, 5), (4, 3)), (1e-5, 1e-2)):
        yield _one("BN", "bn_param", [_x(*shape)], [_x(3), _x(3), _x(3), _x(3, low=0.1)], eps=eps)
        yield _one("BN", "bn_param", [_x(*shape)], [_x(3), _x(3)], bn_mode="INFERENCE")
    for across, variance, eps in product((False, True), (False, True), (1e-9, 0.1)):
        yield _one("MVN", "mvn_param", [_x(2, 3, 4, 5)], across_channels=across, normalize_variance=variance, eps=eps)
    for across, shared, eps in product((False, True), (False, True), (1e-10, 0.5)):
        yield _one("Normalize", "norm_param", [_x(2, 3, 4, 5)], [_x(1 if shared else 3)], across_spatial=across,
                   channel_shared=shared, eps=eps)
    for region, size, alpha, beta in product(("ACROSS_CHANNELS", "WITHIN_CHANNEL"), (1, 3, 5), (1e-4, 1.0), (0.75, 0.5)):
        yield _one("LRN", "lrn_param", [_x(1, 7, 5, 6)], norm_region=region, local_size=size, alpha=alpha, beta=beta)
    yield _one("LRN", "lrn_param", [_x(2, 7, 3, 3)], local_size=5, alpha=0.5, beta=0.75, k=2.0)


def _recurrent() -> Iterator[Case]:
    starts = np.ones((4, 2), np.float32)
    starts[0] = 0
    broken = starts.copy()
    broken[2, 1] = 0
    for cont, constants, static, exposed in product((starts, broken), ((), (1,)), (False, True), (False, True)):
        size, inputs = 3, 5
        for type_ in ("LSTM", "RNN"):
            gates, n_states = (4 * size, 2) if type_ == "LSTM" else (size, 1)
            states = [_x(1, 2, size) for _ in range(n_states)] if exposed else []
            blobs = [_x(gates, inputs), _x(gates), *([_x(gates, 2)] if static else []), _x(gates, size)]
            if type_ == "RNN":
                blobs += [_x(size, size), _x(size)]
            bottoms = [_x(4, 2, inputs), cont, *([_x(2, 2)] if static else []), *states]
            yield _one(type_, "recurrent_param", bottoms, blobs, tops=1 + len(states), constants=constants, num_output=size,
                       expose_hidden=exposed)
    for time, batch in ((1, 1), (3, 2)):
        yield _one("Lstm", "lstm_param", [_x(time, batch, 4)], [_x(12, 4), _x(12, 3), _x(12)], num_output=3)
        yield _one("LSTMUnit", "", [_x(1, batch, 3), _x(1, batch, 12), np.ones((1, batch), np.float32)], tops=2)
    yield _one("LSTMUnit", "", [_x(1, 2, 3), _x(1, 2, 12), np.array([[0, 1]], np.float32)], tops=2)
    yield _one("LSTM", "recurrent_param", [_x(3, 2, 2, 3), np.array([[0, 0], [1, 1], [1, 1]], np.float32)],
               [_x(8, 6), _x(8), _x(8, 2)], constants=(1,), num_output=2)


def _priors(count: int) -> np.ndarray:
    centres, halves = _x(count, 2, low=0.2, high=0.8), _x(count, 2, low=0.05, high=0.2)
    corners = np.concatenate([centres - halves, centres + halves], axis=1)
    return np.stack([corners.reshape(-1), np.tile(np.array([0.1, 0.1, 0.2, 0.2], np.float32), count)])[None]


def _ssd() -> Iterator[Case]:
    maps = [_x(1, 2, 3, 4), _x(1, 3, 60, 80)]
    for more in ({}, {"max_size": [40.0]}, {"aspect_ratio": [2.0, 3.0]}, {"aspect_ratio": [2.0, 0.5], "flip": False},
        {"clip": True},
                 {"variance": [0.1, 0.1, 0.2, 0.2]}, {"step": 16.0}, {"step_h": 20.0, "step_w": 10.0}, {"offset": 0.25},
                 {"img_size": 100}, {"img_h": 50, "img_w": 90}, {"max_size": [40.0], "aspect_ratio": [2.0], "clip": True}):
        yield _one("PriorBox", "prior_box_param", maps, min_size=[20.0], **more)
    yield _one("PriorBox", "prior_box_param", maps, min_size=[10.0, 20.0], max_size=[20.0, 35.0], aspect_ratio=[2.0])
    for code, encoded, shared, batch in product(
            ("CORNER", "CENTER_SIZE", "CORNER_SIZE"), (False, True), (True, False), (1, 2)):
        count, classes = 12, 3
        yield _one("DetectionOutput", "detection_output_param",
                   [_x(batch, count * 4 * (1 if shared else classes), low=-0.5, high=0.5), _x(batch, count * classes, low=0,
                   high=1),
                    _priors(count)], num_classes=classes, share_location=shared, code_type=code,
                        variance_encoded_in_target=encoded,
                   keep_top_k=7, confidence_threshold=0.3, nms_param={"nms_threshold": 0.4, "top_k": 6})
    for parameters in ({"keep_top_k": 5}, {"keep_top_k": 30, "confidence_threshold": 0.99},
                       {"keep_top_k": 6, "background_label_id": 2}, {"keep_top_k": 8, "background_label_id": -1},
                       {"keep_top_k": -1, "nms_param": {"top_k": 4}}):
        yield _one(
            "DetectionOutput", "detection_output_param", [_x(1, 40, low=-0.5, high=0.5), _x(1, 30, low=0, high=1), _priors(10)],
            constants=(2,), num_classes=3, code_type="CENTER_SIZE", **parameters)


def _proposals() -> Iterator[Case]:
    image = np.array([[64, 96, 1.5]], np.float32)
    for constants, more in product(((), (2,)), ({}, {"post_nms_topn": 5}, {"pre_nms_topn": 10},
        {"nms_thresh": 0.3, "min_size": 4})):
        parameters = {"feat_stride": 16, "scale": [1.0, 2.0], "min_size": 8, "post_nms_topn": 9, "nms_thresh": 0.6, **more}
        yield _one("Proposal", "proposal_param", [_x(1, 12, 4, 6, low=0, high=1), _x(1, 24, 4, 6, low=-0.4, high=0.4), image],
                   constants=constants, **parameters)
    yield _one("Proposal", "proposal_param", [_x(1, 12, 2, 3, low=0, high=1), _x(1, 24, 2, 3, low=-0.4, high=0.4), image], tops=2,
               feat_stride=16, scale=[1.0, 2.0], min_size=8, post_nms_topn=40, nms_thresh=0.7)
    yield _one("Proposal", "proposal_param", [_x(1, 18, 2, 3, low=0, high=1), _x(1, 36, 2, 3, low=-0.2, high=0.2)],
               feat_stride=16, anchor_base_size=16, rpn_obj_threshold=0.4, rpn_nms_threshold=0.7, rpn_nms_post_top_n=8,
               net_input_h=200, net_input_w=300)


def _boxes(count: int, images: int, width: float, height: float) -> np.ndarray:
    left, top = _x(count, low=0, high=width * 0.7), _x(count, low=0, high=height * 0.7)
    right = np.minimum(left + _x(count, low=1, high=width * 0.6), width)
    low = np.minimum(top + _x(count, low=1, high=height * 0.6), height)
    return np.stack([_RNG.integers(0, images, count).astype(np.float32), left, top, right, low], axis=1)


def _regions() -> Iterator[Case]:
    for (pooled_h, pooled_w), scale, images in product(((2, 2), (3, 2), (7, 7)), (1.0, 0.25), (1, 2)):
        yield _one("ROIPooling", "roi_pooling_param", [_x(images, 3, 8, 10), _boxes(5, images, 9 / scale, 7 / scale)],
                   pooled_h=pooled_h, pooled_w=pooled_w, spatial_scale=scale)
    for size, scale, images in product((2, 3), (1.0, 0.25), (1, 2)):
        yield _one("PSROIPooling", "psroi_pooling_param", [_x(images, 2 * size * size, 8, 10),
                   _boxes(5, images, 8 / scale, 6 / scale)],
                   spatial_scale=scale, output_dim=2, group_size=size)


def _detectors() -> Iterator[Case]:
    for classes, num, soft in product((3, 1), (2, 5), (True, False)):
        yield _one("Region", "region_param", [_x(2, num * (5 + classes), 3, 4)], classes=classes, coords=4, num=num, softmax=soft)
    for levels, classes, batch in product((1, 2, 3), (2, 4), (1, 2)):
        bottoms = [_x(batch, 3 * (5 + classes), 2 * 2**level, 3 * 2**level) for level in range(levels)]
        yield _one("YoloDetection", "yolo_detection_param", bottoms, keep_topk=9, class_num=classes, obj_threshold=0.3,
                   nms_threshold=0.4, net_input_h=64, net_input_w=96, anchors=",".join(str(n) for n in range(10,
                       10 + 6 * levels)))
    for more in ({"tiny": True}, {"yolo_v4": True}, {}):
        yield _one("YoloDetection", "yolo_detection_param", [_x(1, 21, 2, 3)], keep_topk=20, class_num=2, obj_threshold=0.2,
                   **more)
    for batch, classes, kept in product((1, 2), (2, 3), (4, 30)):
        rois = np.concatenate([_boxes(8, 1, 60, 40) for _ in range(batch)]).reshape(batch, 1, 8, 5)
        yield _one("FrcnDetection", "frcn_detection_param",
                   [_x(batch * 8, classes * 4, low=-0.3, high=0.3), _x(batch * 8, classes, low=0, high=1), rois],
                   class_num=classes,
                   keep_topk=kept, obj_threshold=0.3, nms_threshold=0.3)
    for kept, least, batch in ((6, 0.5, 1), (200, 0.8, 1), (5, 0.4, 3)):
        bottoms = []
        for size in (4, 2, 1):
            bottoms += [
                _x(batch, 4, size, size, low=0, high=1), _x(batch, 8, size, size, low=-0.3, high=0.3), _x(batch, 20, size, size)]
        yield _one("RetinaFaceDetection", "retinaface_detection_param", bottoms, keep_topk=kept, confidence_threshold=least)
