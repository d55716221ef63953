"""Schemes: in how many bits activations and weights are held, and how their scales are chosen.

A scheme is plain data; a plugin adds its own by registering a `Quantizer` of `run.by_scheme(Scheme(...))`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transload.engine.quantized import dequantize
from transload.errors import UsageError
from transload.ir import (
    F32,
    I4,
    I8,
    I16,
    I32,
    I64,
    UI8,
    Dense,
    IntegerType,
    Packed4Data,
    QuantType,
    TensorType,
    dtype_of,
)

from .thresholds import Fixed, Range

__all__ = ["FEW", "SCHEMES", "SHARES", "Scheme", "held_as", "need_finite", "real", "stored"]

SMALLEST_SCALE = float(np.finfo(np.float32).tiny) * 2.0 ** 24
"""Below it the product of two scales is no normal float32."""
SHARES = np.linspace(1.0, 0.6, 17)
"""Parts of the range of weights of few bits that are tried for one."""
FEW = 32
"""Products of a sum below which its weights keep 8 bits: they weigh little, and their errors do not cancel."""
TRIED = 1024
"""Neighbours of a scale that are tried for one whose product with another is a float32: the best is off by 2^-34, not 2^-25."""


@dataclass(frozen=True)
class Scheme:
    """What quantized numbers look like."""

    name: str
    activations: IntegerType = I8
    symmetric: bool = False
    """Whether zero points of activations are zero."""
    weights: IntegerType = I8
    few: int = 0
    """Sums of fewer products have weights of 8 bits, where others have fewer."""
    per_channel: bool = True
    power_of_two: bool = False
    """Whether scales are powers of two."""
    exact_biases: bool = False
    """Whether scales of weights are such that their products with the activations' are float32 all but exactly. A bias has such a
    product for a scale: so it is the same number where a file says it by a scale of its own, in float32 (ONNX), as where it is
    added to sums of integers. The scales of a network as they come make that differ by 1e-5 steps of a result, and by that a
    number in some 100,000 is another one."""

    def activation_type(self, kept: Range) -> QuantType:
        """The type of a tensor whose numbers lie in a range; numbers outside saturate. Zero is always a number of it.

        What was zero on all samples is taken to reach to one: biases of layers that multiply it have steps of its scale.
        """
        has_steps = kept[1] - kept[0] >= SMALLEST_SCALE * 2**self.activations.width  # a clip to nothing has none
        if isinstance(kept, Fixed) and has_steps and (self.activations.width > 8 or not self.symmetric):
            return self._fixed_type(kept)
        low, high = min(kept[0], 0.0), max(kept[1], 0.0)
        high = high if low or high else 1.0
        least, greatest = self.activations.range
        if self.symmetric:
            scale = self.rounded(max(-low, high) / greatest)
            return QuantType(self.activations, F32, (scale,), (0,))
        scale = self.rounded((high - low) / (greatest - least))
        zero_point = int(np.clip(round(least - low / scale), least, greatest))
        return QuantType(self.activations, F32, (scale,), (zero_point,))

    def _fixed_type(self, kept: Fixed) -> QuantType:
        """The type whose numbers fill a range, but for its end, evenly: what kernels with fixed results give, exactly."""
        width = self.activations.width
        if self.symmetric:
            return QuantType(self.activations, F32, (2.0 ** (1 - width) * max(-kept.low, kept.high),), (0,))
        step = (kept.high - kept.low) / 2**width
        return QuantType(self.activations, F32, (step,), (self.activations.range[0] - round(kept.low / step),))

    def of_sums(self, products: int) -> Scheme:
        """The scheme for an op whose sums are of so many products."""
        return replace(self, weights=I8) if products < self.few and self.weights.width < 8 else self

    def weight_type(self, weights: NDArray[np.floating], axis: int) -> QuantType:
        """The type of weights: symmetric, without the least number, so that products stay small.

        Of few bits, the range of a channel is the whole one or a lesser one, whichever has the least squared error. Weights that
        lie on such a grid already keep it.
        """
        greatest = self.weights.range[1]
        axis %= weights.ndim
        count = weights.shape[axis] if self.per_channel else 1
        rows = np.moveaxis(weights, axis, 0).reshape(count, weights.size // max(count, 1))
        farthest = np.abs(rows).max(axis=1, initial=0.0)
        if self.weights.width < 8:
            farthest = farthest * _shares(rows, farthest, greatest)
        scales = tuple(self.rounded(each / greatest) for each in farthest.tolist())
        return QuantType(
            self.weights, F32, scales, (0,) * len(scales), axis if self.per_channel else None, storage_min=-greatest)

    def widened(self) -> Scheme:
        """The same with activations of 16 bits, which are symmetric."""
        return replace(self, activations=I16, symmetric=True)

    def changed(self, **options: bool | None) -> Scheme:
        """The same with other fields, of those that are not None."""
        return replace(self, **{name: value for name, value in options.items() if value is not None})  # type: ignore[arg-type]

    def constant_type(self, numbers: NDArray[np.floating]) -> QuantType:
        """The type of a constant that is no weights: that of an activation with these numbers.

        Raises `UsageError` where one of them is none, or infinite.
        """
        need_finite(numbers, "a constant of the model")
        return self.activation_type((float(numbers.min(initial=0.0)), float(numbers.max(initial=0.0))))

    def slope_type(self, numbers: NDArray[np.floating]) -> QuantType:
        """The type of a constant that has 8 bits, whatever activations have: that of such an activation with these numbers."""
        scheme = self if self.activations.width == 8 else replace(self, activations=I8)
        return scheme.constant_type(numbers)

    def bias_type(self, activations: QuantType, weights: QuantType, axis: int, groups: int = 1) -> QuantType:
        """The type of what is added to sums of products: that of the products, in 32 bits (64 beside 16-bit activations).

        `groups` is how many groups of sums have the weights' channels each, as those of a `Deconv` do.
        """
        storage = I64 if activations.storage.width > 8 else I32
        scales = tuple(float(np.float32(activations.scale) * np.float32(scale)) for scale in weights.scales)
        scales *= groups if weights.per_axis else 1
        return QuantType(storage, F32, scales, (0,) * len(scales), axis if weights.per_axis else None)

    def fitted(self, weights: QuantType, activations: float) -> QuantType:
        """The type of weights for products with activations of a scale, as `exact_biases` says: each scale is at most 2^-13
        greater than it was, by as little as does."""
        if not self.exact_biases or self.power_of_two:
            return weights
        before = np.array(weights.scales, np.float32)
        tried = (before.view(np.int32) + np.arange(TRIED, dtype=np.int32)[:, None]).view(np.float32).astype(np.float64)
        products = np.float64(np.float32(activations)) * tried
        errors = np.abs(products.astype(np.float32) / products - 1)
        chosen = tried[errors.argmin(axis=0), np.arange(before.size)]
        return weights.replace(scales=tuple(chosen.tolist()))

    def rounded(self, scale: float) -> float:
        """A scale as float32 holds it, the next power of two where they have to be such; 1 where all numbers are zero."""
        if not scale:
            return 1.0
        if self.power_of_two:
            return 2.0 ** math.ceil(math.log2(scale))
        return float(np.float32(max(scale, SMALLEST_SCALE)))


def need_finite(numbers: NDArray[np.floating], what: str, floats: str = "NAME") -> None:
    """Raise `UsageError` where a number to be made an integer is none, or infinite; `floats` is what is made with them."""
    if not np.isfinite(numbers).all():
        raise UsageError(f"{what} holds infinities, or what are no numbers, and integers have neither",
                         hint=f"keep the tensors that are made with it as floats: --floats {floats}")


def _shares(rows: NDArray[np.floating], farthest: NDArray[np.floating], greatest: int) -> NDArray[np.float64]:
    """The part of each row's range over which so many steps to either side have the least squared error."""
    least, shares = np.full(len(rows), np.inf), np.ones(len(rows))
    for share in SHARES:
        steps = np.where(farthest > 0.0, farthest * share / greatest, 1.0)[:, None]
        errors = np.square(np.clip(np.round(rows / steps), -greatest, greatest) * steps - rows).sum(axis=1)
        better = errors < least * (1.0 - 1e-6)  # the whole range, where weights lie on its grid but for their last bits
        least, shares = np.where(better, errors, least), np.where(better, share, shares)
    return shares


SCHEMES = {scheme.name: scheme for scheme in (
    Scheme("int8"),
    Scheme("int8-asym"),
    Scheme("int8-sym", symmetric=True),
    Scheme("int8-per-tensor", per_channel=False),
    Scheme("int16x8", activations=I16, symmetric=True),
    Scheme("uint8", activations=UI8),
    Scheme("w4a8", weights=I4, few=FEW),
)}
"""The schemes by name. `int8` has zero points, as TFLite, TOSA and Ethos-U take them: behind a ReLU they are worth a bit;
`int8-sym` has none, as TPUs and the manual have it. `uint8` has the numbers of `int8`, 128 more (the manual's 6.1.1). `w4a8` is
`int8` with weights of 4 bits."""


def stored(array: NDArray[np.floating], type_: QuantType) -> NDArray[np.integer]:
    """The integers that stand for real numbers in a quantized type, per tensor or per axis."""
    shape = [1] * array.ndim
    if type_.axis is not None:
        shape[type_.axis] = -1
    scales = np.array(type_.scales).reshape(shape)
    zero_points = np.array(type_.zero_points).reshape(shape)
    numbers = np.round(array / scales) + zero_points
    return np.clip(numbers, type_.storage_min, type_.storage_max).astype(np.int64)


def held_as(integers: NDArray[Any], storage: IntegerType) -> Dense:
    """A constant of integers, two a byte where they have 4 bits."""
    if storage.width == 4:
        return Dense(Packed4Data.of(integers, not storage.unsigned), TensorType(integers.shape, storage))
    return Dense(integers.astype(dtype_of(storage)))


def real(integers: NDArray[np.integer], type_: QuantType) -> NDArray[np.float32]:
    """What stored integers stand for."""
    return dequantize(integers, type_)
