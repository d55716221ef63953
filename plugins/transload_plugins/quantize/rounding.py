"""Rounding of weights that makes up for itself: which way each weight goes is chosen by what the layer's inputs are.

To the nearest integer is best for each weight, and not for a sum of products: where inputs go together, what one weight is too
great others can be too small. With the second moments `H` of a layer's inputs on samples, the error of its sums is
`(w - q)' H (w - q)`; weights are rounded one after the other, and what remains of each goes to those still to be rounded,
by what `H` says they share. The means of the inputs count in `H`, although biases take back what they shift (`bias`): those of
one image are not those of all, and by the covariance alone MobileNet v1 loses 5 dB. Where there are few samples beside the
inputs of a layer, `H` is drawn to its diagonal, by which weights are rounded to the nearest integer.

Scales stay as they are: the weight that reaches farthest in a channel lies on the grid, and remains there.

Source: E. Frantar et al., "GPTQ: accurate post-training quantization for generative pre-trained transformers", ICLR 2023; the
order is that of falling moments for all channels alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transload.blas import one_thread
from transload.cores import cores
from transload.ir import Module, Op, Value
from transload.ir.build import constant_of

from .groups import Groups, rule_of
from .observe import observed
from .running import Runner
from .scheme import Scheme, real, stored
from .sums import summed

__all__ = ["BLOCK", "Layer", "grouped", "in_order", "layer_of", "rounded", "see_inputs", "ungrouped"]

WIDEST = 1536
"""Inputs of a sum: what has more is rounded to the nearest, as solving for them would take long."""
ROWS = 4
"""Sums that are looked at for each of their inputs, all samples together, and `LEAST_ROWS` at least."""
LEAST_ROWS = 2048
DAMPING = 0.01
"""The least share of the diagonal in `H`."""
BLOCK = 64
"""Weights after which the others are told of what remains of them, at once."""
FAR = 1e15
"""The greatest number whose products, summed over all rows, a float of 32 bits surely holds."""
MOVES = 2
"""How often a weight is moved on average, at most, where roundings are polished."""
Array = NDArray[np.float64]


def rounded(
    module: Module, scheme: Scheme, groups: Groups, samples: Sequence[Mapping[str, Any]], polish: bool = False,
) -> dict[str, NDArray[np.float32]]:
    """Weights that lie on the grid of the scheme's type for them, by the name of what their op computes (`observed`).

    `groups` says which ops are quantized, `samples` are dicts of arrays by input name; `polish` looks on for better roundings
    (`_polished`).
    """
    names = {value: name for name, value in observed(module).items()}
    layers = [layer for op in groups.ops if scheme.weights.width <= 8 and (layer := layer_of(op)) is not None]
    if not layers or not samples:
        return {}
    inputs: dict[Value, list[Layer]] = {}
    for layer in layers:
        inputs.setdefault(layer.op.operands[0], []).append(layer)
    see_inputs(module, inputs, samples)
    layers = [layer for layer in layers if layer.rows]  # of no image there is nothing to go by
    with one_thread(), ThreadPoolExecutor(cores()) as pool:
        each = pool.map(partial(Layer.rounded, scheme=scheme, polish=polish), layers)
        return {names[layer.op.results[0]]: weights for layer, weights in zip(layers, each, strict=True)}


def see_inputs(module: Module, inputs: Mapping[Value, Sequence[Layer]], samples: Sequence[Mapping[str, Any]]) -> None:
    """Run a module on samples, and add what layers see of the values that they take."""
    takers = dict(zip(map(str, range(len(inputs))), inputs.values(), strict=True))
    runner = Runner(module, dict(zip(takers, inputs, strict=True)), runs=len(samples))

    def look(arrays: Mapping[str, np.ndarray]) -> list[tuple[Layer, NDArray[np.float32]]]:
        return [(layer, layer.rows_of(arrays[name], len(samples))) for name, there in takers.items() for layer in there]

    for each in runner.each(samples, look):
        for layer, rows in each:
            layer.see(rows)


@dataclass
class Layer:
    """An op that sums products with constant weights, and the second moments of its inputs so far."""

    op: Op
    shape: tuple[int, ...]
    """(G, O, D): groups, output channels of each, inputs of a sum."""
    products: Array = field(init=False)
    """Sums of products of inputs [G, D, D]."""
    rows: int = 0
    _windows: _Windows | None = None

    def __post_init__(self) -> None:
        groups, _, inputs = self.shape
        self.products = np.zeros((groups, inputs, inputs))

    def rows_of(self, array: np.ndarray, samples: int) -> NDArray[np.float32]:
        """What some of the op's sums take, of one of so many samples [G, rows, D].

        Which ones is the same whenever it is asked, and by whatever thread.
        """
        most = -(-max(ROWS * self.shape[2], LEAST_ROWS) // samples)
        if self.op.name != "top.Conv":
            return _rows(array, most)
        windows = self._windows
        if windows is None or windows.shape != array.shape:
            self._windows = windows = _Windows(self.op, array.shape, most)
        return windows.of(array)

    def see(self, rows: NDArray[np.float32]) -> None:
        """Add what some of the op's sums take, but those of numbers that are not finite, which would leave nothing of the others.

        They come of a division by 0 somewhere before, or of a row of an attention that sees nothing.
        """
        farthest = max(float(rows.max()), -float(rows.min())) if rows.size else 0.0
        if not math.isfinite(farthest):
            self.see(rows[:, np.isfinite(rows).all(axis=(0, 2))])
            return
        self.rows += rows.shape[1]
        if farthest > FAR:
            rows = rows.astype(np.float64)
        if len(rows) == 1:  # of one matrix and itself numpy computes but a half
            self.products[0] += rows[0].T @ rows[0]
        else:
            self.products += rows.transpose(0, 2, 1) @ rows

    def rounded(self, scheme: Scheme, polish: bool) -> NDArray[np.float32]:
        """The op's weights on the grid of their type."""
        rule = rule_of(self.op)
        assert rule is not None
        dense = constant_of(self.op.operands[1])
        assert dense is not None
        numbers = dense.numpy().astype(np.float64)
        type_ = scheme.of_sums(summed(self.op)).weight_type(numbers, rule.channels(self.op))
        nearest = stored(numbers, type_)
        scales = grouped(self.op, np.broadcast_to(real(np.ones_like(nearest), type_).astype(np.float64), numbers.shape))
        fixed = grouped(self.op, np.abs(nearest) == type_.storage_max)
        steps, moments = grouped(self.op, numbers) / scales, self.moments()
        integers = _compensated(steps, fixed, moments, type_.storage_max)
        if polish:
            integers = _polished(steps, integers, fixed, moments, type_.storage_max)
        return real(ungrouped(self.op, integers, numbers.shape).astype(np.int64), type_)

    def moments(self) -> Array:
        """[G, D, D], drawn to its diagonal by the share that chance may have in it."""
        result = self.products / self.rows
        inputs = result.shape[1]
        places = np.arange(inputs)
        diagonal = np.maximum(result[:, places, places], 0.0)
        share = max(DAMPING, inputs / (inputs + self.rows))
        result *= 1.0 - share
        least = DAMPING * diagonal.mean(axis=1, keepdims=True) + 1e-30
        result[:, places, places] = diagonal + least
        return result


def _compensated(weights: Array, fixed: NDArray[np.bool_], moments: Array, greatest: int) -> Array:
    """Integers [G, O, D] for weights in steps of their scales, which are the same along D where the type has them by channel.

    `fixed` are those that stay at the end of the range.
    """
    order, passed = in_order(moments)
    places = np.broadcast_to(order[:, None, :], weights.shape)
    given = np.take_along_axis(weights, places, 2)
    left = given.copy()
    ends = np.where(np.take_along_axis(fixed, places, 2), np.sign(given) * greatest, 0.0)
    ended = (ends != 0.0).any(axis=(0, 1))
    integers = np.zeros_like(left)
    inputs = left.shape[2]
    for start in range(0, inputs, BLOCK):
        stop = min(start + BLOCK, inputs)
        remains = np.zeros((*left.shape[:2], stop - start))
        for place in range(start, stop):
            chosen = np.rint(left[:, :, place])
            np.minimum(np.maximum(chosen, -greatest, out=chosen), greatest, out=chosen)
            if ended[place]:
                chosen = np.where(ends[:, :, place], ends[:, :, place], chosen)
            integers[:, :, place] = chosen
            remains[:, :, place - start] = given[:, :, place] - chosen
            left[:, :, place + 1:stop] += remains[:, :, place - start, None] * passed[:, place, None, place + 1:stop]
        left[:, :, stop:] += remains @ passed[:, start:stop, stop:]
    result = np.empty_like(integers)
    np.put_along_axis(result, places, integers, 2)
    return result


def in_order(moments: Array) -> tuple[NDArray[np.intp], Array]:
    """The order in which the weights of each group are rounded [G, D], and what each passes on to those after it [G, D, D]."""
    order = np.argsort(-np.diagonal(moments, axis1=1, axis2=2), axis=1, kind="stable")
    return order, _passed_on(np.take_along_axis(np.take_along_axis(moments, order[:, :, None], 1), order[:, None, :], 2))


def _polished(weights: Array, integers: Array, fixed: NDArray[np.bool_], moments: Array, greatest: int) -> Array:
    """Integers [G, O, D] of which no single one, a step greater or less, makes the error of its sum less.

    `e' H e` of the errors `e = w - q` falls by `2 d (H e)_j - H_jj` where the j-th integer grows by `d`: of each sum the integer
    that gains most is moved, until none gains. This is what AdaRound learns by gradients (M. Nagel et al., "Up or down? Adaptive
    rounding for post-training quantization", ICML 2020, equation 13), by descent along the coordinates, from roundings that are
    good already.
    """
    result = integers.copy()
    for group, moment in enumerate(moments):
        own = np.diagonal(moment)
        steps = result[group]
        slopes = (weights[group] - steps) @ moment  # [O, D]
        for _ in range(MOVES * steps.shape[1]):
            way = np.where(slopes > 0.0, 1.0, -1.0)
            gains = 2.0 * np.abs(slopes) - own
            gains[fixed[group] | (np.abs(steps + way) > greatest)] = 0.0
            place = gains.argmax(axis=1)
            rows = np.flatnonzero(gains[np.arange(len(gains)), place] > 1e-9 * own.mean())
            if not rows.size:
                break
            moved = way[rows, place[rows]]
            steps[rows, place[rows]] += moved
            slopes[rows] -= moved[:, None] * moment[place[rows]]
    return result


def _passed_on(moments: Array) -> Array:
    """What each input that is rounded passes on to those after it: `U` of `H = (I + U) D (I + U)'`, [G, D, D].

    Of what is left of all inputs, `e`, the error is the sum of `D (e + e U)^2`: it is least where each is rounded from what it
    was and `e U`. GPTQ's updates are the same, by an inverse (J. Chee et al., "QuIP", NeurIPS 2023).
    """
    upper = np.linalg.cholesky(moments[:, ::-1, ::-1])[:, ::-1, ::-1]
    return upper / np.diagonal(upper, axis1=1, axis2=2)[:, None, :]


# --- which ops, and what they take


def layer_of(op: Op) -> Layer | None:
    """The op as a layer, where its weights are constant and its sums have not too many inputs."""
    rule = rule_of(op)
    if rule is None or rule.weights != 1 or op.name not in ("top.Conv", "top.MatMul"):
        return None
    dense = constant_of(op.operands[1])
    if dense is None or constant_of(op.operands[0]) is not None or not op.operands[0].is_static or not op.operands[1].is_float:
        return None
    if op.name == "top.MatMul" and (op.operands[1].rank != 2 or op.left_transpose or op.operands[0].rank < 2):
        return None
    numbers = dense.numpy()
    if not numbers.size or not np.isfinite(numbers).all():
        return None
    shape = grouped(op, numbers).shape
    return Layer(op, shape) if 1 < shape[2] <= WIDEST else None


def grouped(op: Any, numbers: NDArray[Any]) -> NDArray[Any]:
    """Weights as [G, O, D]."""
    if op.name == "top.MatMul":
        return (numbers if op.right_transpose else numbers.T)[None]
    ordered = numbers if op.layout == "NCHW" else np.moveaxis(numbers, -1, 1)
    return ordered.reshape(op.group, len(numbers) // op.group, -1)


def ungrouped(op: Any, weights: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Weights as the op has them."""
    if op.name == "top.MatMul":
        return weights[0] if op.right_transpose else weights[0].T
    if op.layout == "NCHW":
        return weights.reshape(shape)
    return np.moveaxis(weights.reshape(shape[0], shape[-1], *shape[1:-1]), 1, -1)


def _rows(array: np.ndarray, most: int) -> NDArray[np.float32]:
    """Some rows of what a matrix product takes [1, rows, D]."""
    rows = array.reshape(-1, array.shape[-1])
    return np.ascontiguousarray(rows[_some(len(rows), most)][None], np.float32)


class _Windows:
    """What some sums of a convolution take of arrays of one shape: where it lies is found once."""

    def __init__(self, op: Any, shape: tuple[int, ...], most: int) -> None:
        self.shape = shape
        self._first = op.layout == "NCHW" and shape[0] == 1
        """Whether channels are before places, and stay there."""
        self._moved = op.layout == "NCHW" and not self._first
        self._groups = op.group
        n = len(op.kernel_shape)
        sizes = op.results[0].static_shape[2:] if op.layout == "NCHW" else op.results[0].static_shape[1:-1]
        image = shape[2:] if op.layout == "NCHW" else shape[1:-1]
        chosen = _some(shape[0] * int(np.prod(sizes)), most)
        batch, *at = np.unravel_index(chosen, (shape[0], *sizes))
        kernel = np.indices(op.kernel_shape).reshape(n, -1)
        index = [place[:, None] * stride + offsets[None] * dilation - before
                 for place, stride, offsets, dilation, before in zip(
                     at, op.strides, kernel, op.dilations, op.pads[:n], strict=True)]
        inside = np.logical_and.reduce([(each >= 0) & (each < size) for each, size in zip(index, image, strict=True)])
        places = batch[:, None]
        for each, size in zip(index, image, strict=True):
            places = places * size + np.where(inside, each, 0)
        self._places: NDArray[np.intp] = places
        """Of each sum and place of the kernel the place in the images [rows, K]."""
        self._outside = None if inside.all() else ~inside

    def of(self, array: np.ndarray) -> NDArray[np.float32]:
        """They are [G, rows, D], D in the order of channels and places of the kernel."""
        rows, places = self._places.shape
        if self._first:
            taken = np.take(array.reshape(array.shape[1], -1), self._places, axis=1)  # [C, rows, K]
            if self._outside is not None:
                taken[:, self._outside] = 0.0  # what is padded
            taken = taken.reshape(self._groups, array.shape[1] // self._groups, rows, places).transpose(0, 2, 1, 3)
        else:
            image = np.moveaxis(array, 1, -1) if self._moved else array
            taken = image.reshape(-1, image.shape[-1])[self._places]  # [rows, K, C]
            if self._outside is not None:
                taken[self._outside] = 0.0
            taken = taken.reshape(rows, places, self._groups, image.shape[-1] // self._groups).transpose(2, 0, 3, 1)
        return np.ascontiguousarray(taken.reshape(self._groups, rows, taken.shape[2] * places), np.float32)


@lru_cache(maxsize=64)
def _some(count: int, most: int) -> NDArray[np.intp]:
    """Numbers below `count`, `most` of them at random where there are more."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))
