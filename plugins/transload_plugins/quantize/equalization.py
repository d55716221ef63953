"""Equalization: channels of a tensor that differ in range get ranges alike, so that the one scale of the tensor serves them all.

A positive factor for each channel goes unchanged through a ReLU, a sum or a pooling. So the channels of what convolutions and
matrix products compute can be divided by factors, in their weights and biases, and the weights of those that take the tensor be
multiplied by them: the float module computes the same. The factors are `(r_c / r) ** alpha`, where `r_c` is how far a channel
reaches on samples and `r` how far any does; alpha is whichever leaves least noise behind the products, that of the activations,
which falls with it, and that of the weights, which may rise, taken together.

Source: M. Nagel et al., "Data-free quantization through weight equalization and bias correction", ICCV 2019, section 4.1; the
exponent is that of G. Xiao et al., "SmoothQuant", ICML 2023, chosen for each tensor.

Channels of like range are each at the end of the tensor's on some sample, and beyond it on another; one that was silent may not
be so again. What saturates then is counted, too, by cross-validation: the factors and the range that one half of the samples asks
for are tried on the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transload.ir import Dense, Module, NoneType, Op, TensorType, Value, dtype_of
from transload.ir.build import Builder, constant_of
from transload.samples.owned import need_sample
from transload_hub.ops.infer import spatial_axes

from .groups import Groups, channel_axis, input_channels, rule_of
from .observe import observed
from .running import Runner

__all__ = ["equalized"]

EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
LEAST = 2.0 ** -8
"""The least factor: a channel that was all but silent on the samples may not be so on others."""
GAIN = 0.9
"""What is left of the noise where a change is worth it."""
ROUNDING = 12.0
"""Steps squared, by which noise is counted here, in one square of what rounding to them loses in the mean."""
LEVELS = 127.0
"""Those of weights."""
Vector = NDArray[np.float64]


def equalized(
    module: Module, samples: Iterable[Mapping[str, Any]], bits: int = 8, symmetric: bool = True,
    tell: Callable[[str, int, Vector], None] = lambda name, axis, factors: None,
) -> Module:
    """A new float module that computes the same, with channels of like range wherever that makes quantization noise less.

    `samples` are dicts of arrays by input name; `bits` is how many the activations will have, and `symmetric` whether their zero
    points will be zero. `tell(name, axis, factors)` is told of each tensor what its channels, which `axis` counts, were divided
    by. Raises `UsageError` where a sample lacks an input.
    """
    result = module.clone()
    bundles = _bundles(result)
    names = {value: name for name, value in observed(result).items()} if bundles else {}
    if bundles:
        _observe(result, bundles, samples)
    for bundle in bundles:
        factors = bundle.factors(bits, symmetric)
        if factors is not None:
            bundle.scale(factors)
            for value in bundle.values:
                if value in names:
                    tell(names[value], bundle.axis, factors)
    return result


@dataclass
class _Seen:
    """What one tensor of a bundle was on the samples, by channel."""

    axis: int
    low: NDArray[np.float64]
    """The least number, or zero, on each sample [S, C]."""
    high: NDArray[np.float64]
    """The greatest, or zero."""
    squares: Vector
    """Sums of squares [C]."""
    count: int = 0
    """How many numbers of each channel there were."""

    def of(self, array: NDArray[np.floating]) -> _Seen:
        """What it was on one sample."""
        channels = np.moveaxis(array, self.axis, 0).reshape(self.squares.size, -1)
        low, high = channels.min(axis=1, initial=0.0), channels.max(axis=1, initial=0.0)
        squares = np.einsum("ij,ij->i", channels, channels).astype(np.float64)
        return _Seen(self.axis, low.astype(np.float64)[None], high.astype(np.float64)[None], squares, channels.shape[1])

    def join(self, other: _Seen) -> None:
        """Add what it was on another."""
        self.low, self.high = np.concatenate((self.low, other.low)), np.concatenate((self.high, other.high))
        self.squares += other.squares
        self.count += other.count

    @property
    def farthest(self) -> Vector:
        return np.maximum(-self.low, self.high).max(axis=0, initial=0.0)

    def step(self, factors: Vector, bits: int, symmetric: bool) -> float:
        """The step between integers that hold all channels, each divided by its factor."""
        low, high = float((self.low / factors).min(initial=0.0)), float((self.high / factors).max(initial=0.0))
        return max(-low, high) / (2.0 ** (bits - 1) - 1) if symmetric else (high - low) / (2.0 ** bits - 1)

    def half(self, number: int) -> _Seen:
        """What it was on every other sample, the first of which is this one; squares are those of all."""
        return _Seen(self.axis, self.low[number::2], self.high[number::2], self.squares, self.count)

    def beyond(self, other: _Seen, factors: Vector) -> Vector:
        """The mean square of what numbers of each channel, divided by its factor, exceed the range of other samples by.

        Counted is one number of each sample, that which reaches farthest.
        """
        found = np.zeros(factors.size)
        for reach, limit in ((-self.low, -other.low), (self.high, other.high)):
            end = float((limit / factors).max(initial=0.0))
            found += np.sum(np.maximum(reach / factors - end, 0.0) ** 2, axis=0)
        return found / max(self.count, 1)


@dataclass
class _Bundle:
    """Tensors whose channels have to have the same factors."""

    axis: int
    channels: int
    values: list[Value] = field(default_factory=list)
    makers: list[Op] = field(default_factory=list)
    """Ops whose results they are, by weights of theirs."""
    takers: list[Op] = field(default_factory=list)
    seen: dict[Value, _Seen] = field(default_factory=dict)

    def factors(self, bits: int, symmetric: bool) -> Vector | None:
        """The factors [C] by which channels are divided, for activations of so many bits; None: best as it is."""
        reach = self._reach(self.seen.values())
        if not np.isfinite(reach).all() or not any(seen.farthest.any() for seen in self.seen.values()):
            return None
        takers = [_Taker(op, self.seen.get(op.operands[0])) for op in self.takers]
        noises = {
            exponent: self._noise(takers, reach ** exponent, bits, symmetric) + self._unseen(takers, exponent)
            for exponent in EXPONENTS}
        best = min(noises, key=noises.__getitem__)
        return reach ** best if noises[best] < GAIN * noises[0.0] else None

    def _reach(self, all_seen: Iterable[_Seen]) -> Vector:
        """How far each channel of some tensors reaches, beside the farthest of its tensor; 1 where it is silent."""
        reach = np.zeros(self.channels)
        for seen in all_seen:
            reach = np.maximum(reach, seen.farthest / max(float(seen.farthest.max()), float(np.finfo(np.float32).tiny)))
        return np.where(reach > 0.0, np.maximum(reach, LEAST), 1.0)

    def _unseen(self, takers: Sequence[_Taker], exponent: float) -> float:
        """The squared error of what saturates where samples say the factors and the range of others.

        Each half says those of the other. All together leave half as much: of n + 1 samples one reaches farther than the others.
        """
        noise = 0.0
        if min(len(seen.low) for seen in self.seen.values()) < 2:
            return noise
        for one, other in ((0, 1), (1, 0)):
            asked = {value: seen.half(other) for value, seen in self.seen.items()}
            factors = self._reach(asked.values()) ** exponent
            for taker in takers:
                if taker.seen is not None:
                    beyond = taker.seen.half(one).beyond(asked[taker.op.operands[0]], factors)
                    noise += ROUNDING * float(np.sum(taker.by_channel * factors ** 2 * beyond))
        return noise / 2

    def _noise(self, takers: Sequence[_Taker], factors: Vector, bits: int, symmetric: bool) -> float:
        """The squared error behind the ops that take the tensors, of one place: that of activations, and that of weights."""
        weight = sum(taker.by_channel for taker in takers)
        steps = [seen.step(factors, bits, symmetric) for seen in self.seen.values()]
        noise = sum(step ** 2 for step in steps) * float(np.sum(weight * factors ** 2))
        for taker in takers:
            if taker.seen is not None:
                noise += taker.weight_noise(factors, taker.seen.squares / max(taker.seen.count, 1))
        return noise

    def scale(self, factors: Vector) -> None:
        for op in self.makers:
            rule = rule_of(op)
            assert rule is not None and rule.weights is not None
            _multiply(op, rule.weights, rule.channels(op), 1.0 / factors)
            if rule.bias is not None and len(op.operands) > rule.bias and constant_of(op.operands[rule.bias]) is not None:
                _multiply(op, rule.bias, 0, 1.0 / factors)
        for op in self.takers:
            _multiply(op, 1, input_channels(op), factors)


class _Taker:
    """An op that takes a tensor of a bundle, and of its weights what factors are weighed by."""

    def __init__(self, op: Op, seen: _Seen | None) -> None:
        self.op = op
        self.seen = seen
        """What the op takes was on the samples, where that is known."""
        rule = rule_of(op)
        assert rule is not None
        weights = _numbers(op.operands[1])
        self._inputs, self._outputs = input_channels(op) % weights.ndim, rule.channels(op) % weights.ndim
        self._sizes = np.abs(weights)
        self.by_channel: Vector = np.sum(weights ** 2, axis=tuple(d for d in range(weights.ndim) if d != self._inputs))
        """The squares of the weights, summed for each input channel."""

    def weight_noise(self, factors: Vector, squares: Vector) -> float:
        """The squared error that rounding the multiplied weights makes of inputs with such mean squares, divided by factors."""
        rank = self._sizes.ndim
        scaled = self._sizes * _along(factors, self._inputs, rank)
        steps = scaled.max(axis=tuple(d for d in range(rank) if d != self._outputs), keepdims=True) / LEVELS
        error = np.broadcast_to(steps ** 2, self._sizes.shape) * _along(squares / factors ** 2, self._inputs, rank)
        return float(error.sum())


def _multiply(op: Op, index: int, axis: int, factors: Vector) -> None:
    """Multiply a constant operand by factors along a dimension."""
    value = op.operands[index]
    numbers = _numbers(value)
    build = Builder(op.parent, before=op, location=value.name)  # type: ignore[arg-type]
    scaled = numbers * _along(factors, axis % numbers.ndim, numbers.ndim)
    op.set_operand(index, build.constant(Dense(scaled.astype(dtype_of(value.element))), element=value.element))


def _along(factors: Vector, axis: int, rank: int) -> Vector:
    return factors.reshape([-1 if dimension == axis else 1 for dimension in range(rank)])


def _numbers(value: Value) -> Vector:
    dense = constant_of(value)
    assert dense is not None
    return dense.numpy().astype(np.float64)


# --- which tensors


def _bundles(module: Module) -> list[_Bundle]:
    """The tensors that can be scaled, those together that have to be."""
    groups = Groups(module)
    joined = _Joined()
    makers: dict[Value, Op] = {}
    takers: dict[Op, Value] = {}
    for value in module.body_of_main.arguments:
        joined.fix(value)
    for op in module.body_of_main:
        if op.results and constant_of(op.results[0]) is not None:
            continue
        if op.attribute("do_relu", False) and op.attribute("relu_limit", -1.0) >= 0.0:
            joined.fix(op.results[0])  # a limit is one number for all channels
        if op in groups.ops and _multiplies(op):
            joined.say(op.operands[0], channel_axis(op))
            joined.say(op.results[0], channel_axis(op))
            makers[op.results[0]], takers[op] = op, op.operands[0]
        elif op.name in PASSES and len(op.results) == 1 and PASSES[op.name](op):
            for value in _data(op):
                joined.join(op.results[0], value)
            joined.mix(op.results[0], _mixed(op))
        else:
            for inner in op.walk():  # branches and bodies of loops take values from around them
                for value in (*inner.operands, *inner.results):
                    joined.fix(value)
    found: dict[Value, _Bundle] = {}
    for value in joined.free():
        axis = joined.axes[joined.root(value)]
        size = value.tensor_type.shape[axis] if value.tensor_type.shape is not None else None
        if not size:
            continue
        bundle = found.setdefault(joined.root(value), _Bundle(axis, size))
        bundle.values.append(value)
        if value in makers:
            bundle.makers.append(makers[value])
        if not groups.is_cut(value):
            bundle.seen[value] = _Seen(axis, np.zeros((0, size)), np.zeros((0, size)), np.zeros(size))
    for op, value in takers.items():
        if joined.root(value) in found:
            found[joined.root(value)].takers.append(op)
    return [bundle for bundle in found.values() if bundle.makers and bundle.takers and bundle.channels > 1]


class _Joined:
    """Tensors joined where factors of their channels go from one to the other."""

    def __init__(self) -> None:
        self._parent: dict[Value, Value] = {}
        self._fixed: set[Value] = set()
        self._mixed: dict[Value, set[int]] = {}
        """The dimensions of a root along which no channels may be counted."""
        self.axes: dict[Value, int] = {}
        """The dimension of a root's channels, counted from the first."""

    def root(self, value: Value) -> Value:
        while self._parent.setdefault(value, value) is not value:
            value = self._parent[value]
        return value

    def join(self, a: Value, b: Value) -> None:
        a, b = self.root(a), self.root(b)
        if a is b:
            return
        self._parent[a] = b
        if a in self._fixed:
            self._fixed.add(b)
        self.mix(b, self._mixed.get(a, ()))
        if a in self.axes:
            self.say(b, self.axes[a])

    def say(self, value: Value, axis: int) -> None:
        """The channels of a tensor are counted by this dimension; two that contradict each other fix it."""
        root = self.root(value)
        if self.axes.setdefault(root, axis % value.rank) != axis % value.rank:
            self._fixed.add(root)

    def fix(self, value: Value) -> None:
        """The tensor's numbers have to stay what they are."""
        self._fixed.add(self.root(value))

    def mix(self, value: Value, axes: Iterable[int]) -> None:
        """The elements along some dimensions go together, or elsewhere, so that they can have no factors of their own."""
        self._mixed.setdefault(self.root(value), set()).update(axes)

    def free(self) -> list[Value]:
        return [value for value in self._parent if self._is_free(self.root(value))]

    def _is_free(self, root: Value) -> bool:
        return root not in self._fixed and root in self.axes and self.axes[root] not in self._mixed.get(root, ())


def _multiplies(op: Op) -> bool:
    """Whether an op's weights are constants of floats of which factors of channels can be made part, before it and behind it."""
    rule = rule_of(op)
    if rule is None or rule.weights != 1 or constant_of(op.operands[1]) is None or not _are_known(op):
        return False
    if op.name == "top.MatMul":
        return op.operands[1].rank == 2 and op.operands[0].rank > 1 and not op.left_transpose and _has_vector(op)
    if op.name not in ("top.Conv", "top.Deconv"):
        return False
    given, made = (value.static_shape[channel_axis(op)] for value in (op.operands[0], op.results[0]))
    depthwise = op.name == "top.Conv" and op.group == given == made  # one channel is made of one
    return (op.group == 1 or depthwise) and _has_vector(op)


def _are_known(op: Op) -> bool:
    return all(isinstance(value.type, TensorType) and value.type.shape is not None and None not in value.type.shape
               for value in (op.operands[0], *op.results))


def _has_vector(op: Op) -> bool:
    """Whether an op's bias is absent, or a constant number for each channel."""
    if len(op.operands) < 3 or isinstance(op.operands[2].type, NoneType):
        return True
    return constant_of(op.operands[2]) is not None and op.operands[2].rank == 1


def _data(op: Op) -> list[Value]:
    return [value for value in op.operands if not isinstance(value.type, NoneType) and constant_of(value) is None]


def _alike(op: Op) -> bool:
    """Whether all operands are computed, and of the result's shape."""
    return all(value.type == op.results[0].type and constant_of(value) is None for value in op.operands)


PASSES: Mapping[str, Callable[[Any], bool]] = {
    "top.Relu": lambda op: op.relu_limit < 0.0,
    "top.LeakyRelu": lambda op: True,
    "top.PRelu": lambda op: constant_of(op.operands[1]) is not None,
    "top.Add": _alike,
    "top.Sub": _alike,
    "top.MaxPool": lambda op: True,
    "top.AvgPool": lambda op: True,
    "top.Interp": lambda op: True,
}
"""Ops through which a positive factor for each channel goes unchanged, and when: along dimensions that are not `_mixed`."""


def _mixed(op: Any) -> list[int]:
    """The dimensions along which an op through which factors go has windows, or takes elements from elsewhere.

    Channels need not be where its layout has them: behind a product of matrices the last dimension counts them, in any layout.
    """
    if op.name == "top.Interp":
        return list(spatial_axes(op.layout, op.results[0].rank))
    if op.name not in ("top.MaxPool", "top.AvgPool"):
        return []
    count = len(op.kernel_shape)
    windows = zip(op.kernel_shape, op.strides, op.pads[:count], op.pads[count:], strict=True)
    axes = spatial_axes(op.layout, op.results[0].rank)
    return [axis for axis, window in zip(axes, windows, strict=True) if window != (1, 1, 0, 0)]


def _observe(module: Module, bundles: list[_Bundle], samples: Iterable[Mapping[str, Any]]) -> None:
    """Fill in what the tensors are on the samples."""
    seen = {str(number): each for number, each in enumerate(
        (value, seen) for bundle in bundles for value, seen in bundle.seen.items())}
    runner = Runner(module, {name: value for name, (value, _) in seen.items()})

    def checked() -> Iterator[Mapping[str, Any]]:
        for number, sample in enumerate(samples, 1):
            need_sample(sample, runner.inputs, number)
            yield sample

    for found in runner.each(checked(), lambda arrays: {name: seen[name][1].of(array) for name, array in arrays.items()}):
        for name, other in found.items():
            seen[name][1].join(other)
