"""Weights alone as integers: the schemes `w8a16` and `w4a16`, whose ops compute with floats.

A constant that a `Conv`, `Deconv` or `MatMul` multiplies by becomes integers of 8 or 4 bits behind a cast to floats, which
every engine and target computes as `(stored - zero_point) * scale`: it is held, and carried, as small as that. Weights along
which products are summed share a scale in groups of `q_group_size`, each output channel by itself (sub-channel types of MLIR's
`quant`): so a large weight costs its group alone the fine steps.

Source: TPU-MLIR manual, 3.5, `q_group_size`; MLIR, `UniformQuantizedSubChannelType`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transload.engine.quantized import quantize
from transload.errors import UsageError
from transload.ir import Dense, FloatType, IntegerType, Module, Op, QuantType, Value, dtype_of
from transload.ir.build import Builder, constant_of
from transload.ir.quantization import quantized_over
from transload.ir.verify import verify
from transload.options import typed
from transload.passes.manager import Pipeline
from transload.plugin import Quantized
from transload.shell import quoted
from transload_hub.simplify.constant_products import PRODUCT
from transload_hub.simplify.einsum import write_out_einsums
from transload_hub.simplify.left_constants import left_constants_to_layers

from .asked import keywords_of, need_known
from .compensation import compensated, moments_of
from .effort import EFFORT, best, options_for
from .groups import rule_of
from .layers import Floats, check_tensors, floats_of
from .measure import Sample, some_of
from .observe import observed
from .requantize import begun
from .scaling import divided, scaled
from .scheme import FEW, SHARES, held_as
from .sums import places_of, summed

__all__ = ["WEIGHT_SCHEMES", "WeightScheme", "block_sizes", "by_weights", "w4a16", "w8a16", "weight_options",
    "weights_held", "weights_of"]

FEWEST = 4
"""How many times a group may be smaller than asked for, where sizes do not divide, before a channel has one scale instead."""
PART = 1 << 20
"""Weights whose scales are looked for at a time: what is made of them on the way takes many times their room."""
SAMPLES = 16
"""Samples by which weights are rounded."""
PASSES: Mapping[str, Mapping[str, Any]] = {"scaling": {"scaling": True}}
"""What the effort `best` tries."""
Sizes = tuple["int | None", ...]


@dataclass(frozen=True)
class WeightScheme:
    """In how many bits weights are held, and how many of them share a scale."""

    name: str
    bits: int
    group: int = 128
    """0: all of an output channel."""
    asymmetric: bool = False
    """Whether groups have a zero point."""

    @property
    def storage(self) -> IntegerType:
        return IntegerType(self.bits)


WEIGHT_SCHEMES = {scheme.name: scheme for scheme in (WeightScheme("w8a16", 8), WeightScheme("w4a16", 4))}


def weights_quantized(
    module: Module, scheme: WeightScheme, samples: Iterable[Sample] | None = None, *,
    q_group_size: int | None = None, asymmetric: bool | None = None, few: int = FEW, rounding: bool = True,
    scaling: bool = False, floats: Floats = None,
) -> Quantized:
    """A new module of the hub whose ops multiply by weights of a scheme's integers, and compute with floats as before.

    `q_group_size` is how many weights share a scale, 0 for all of an output channel, `asymmetric` whether they have a zero
    point, too. Sums of fewer than `few` products have weights of 8 bits. With samples weights are rounded against each other
    (`rounding`), and, with `scaling`, multiplied before that by factors of input channels, by which what the layer takes is
    divided, where that makes its error less. `floats` names layers, by what they compute, whose weights stay what they are.
    Raises `UsageError` for names that the module does not have, for sizes below zero, for weights that are no numbers, and where
    there is no layer with constant weights.
    """
    if q_group_size is not None and q_group_size < 0:
        raise UsageError(f"groups of {q_group_size} weights cannot be", hint="a size, or 0 for one scale an output channel")
    if few < 0:
        raise UsageError(f"no sum has fewer than {few} products", hint="few=0: none gets 8 bits for its sums")
    if scaling and (samples is None or not rounding):
        why = "there are no samples" if samples is None else "weights are rounded to the nearest"
        raise UsageError(f"scaling multiplies weights where samples say that rounding loses less by it, and {why}",
                         hint="leave out scaling, or --data PATH" if samples is None else
                         "leave out scaling, or rounding=false and effort=fast, which leave rounding out")
    scheme = replace(scheme, group=scheme.group if q_group_size is None else q_group_size,
                     asymmetric=scheme.asymmetric if asymmetric is None else asymmetric)
    result = module.clone()
    kept = floats_of(floats, module)
    check_tensors(module, kept)
    write_out_einsums(result)
    left_constants_to_layers(result)
    layers = {name: value.op for name, value in observed(result).items()
              if kept.keys().isdisjoint((name, name.removesuffix(PRODUCT))) and value.op is not None
              and weights_of(value.op) is not None}
    if not layers:
        raise UsageError(
            "no op of the model multiplies by constant weights of floats, so there is nothing to quantize",
            hint=f"{scheme.name} makes integers of the weights of Conv, Deconv and MatMul")
    some = some_of(samples, SAMPLES)[0] if samples is not None and rounding else []
    work = _Work(scheme, few, moments_of(result, list(layers.values()), some) if some else {}, scaling)
    for name, op in layers.items():
        work.change(name, op)
    Pipeline.parse("dce").run(result)
    verify(result)
    return Quantized(result, kept, {"weights": work.told()}, module.clone())


def weights_of(op: Op) -> Dense | None:
    """The constant weights of an op, where they are floats."""
    rule = rule_of(op)
    if rule is None or rule.weights is None:
        return None
    value = op.operands[rule.weights]
    dense = constant_of(value)
    return dense if dense is not None and isinstance(value.element, FloatType) and dense.nbytes else None


@dataclass
class _Work:
    """The change of one module's weights, each constant once."""

    scheme: WeightScheme
    few: int
    moments: Mapping[Op, NDArray[np.float64]]
    """Of what layers take, where samples tell (`compensation`)."""
    scaling: bool = False
    """Whether input channels may have factors."""
    made: dict[tuple[Value, Sizes], Value] = field(default_factory=dict)
    """The integers as floats again, by the constant and its blocks."""
    bytes: list[int] = field(default_factory=lambda: [0, 0, 0])
    """Of the weights before, of their integers, and of scales and zero points."""
    groups: dict[str, int] = field(default_factory=dict)
    scaled: list[str] = field(default_factory=list)
    """Layers whose input channels have factors."""

    def change(self, name: str, op: Op) -> None:
        """Give an op its weights as integers behind a cast."""
        rule, dense = rule_of(op), weights_of(op)
        assert rule is not None and rule.weights is not None and dense is not None
        value = op.operands[rule.weights]
        sizes, products = _sizes(op, self.scheme.group), summed(op)
        scheme = replace(self.scheme, bits=8) if products < self.few else self.scheme
        if (value, sizes) not in self.made:
            numbers = dense.numpy()
            if not np.isfinite(numbers).all():
                raise UsageError(f"the weights of {name!r} hold infinities, or what are no numbers",
                                 hint=f"keep them as floats: --floats {quoted(name)}")
            element = value.element
            assert isinstance(element, FloatType)
            type_, integers = self._rounded(name, op, numbers, sizes, scheme, element)
            build = Builder(op.parent, before=op, location=value.name)  # type: ignore[arg-type]
            held = build.constant(held_as(integers, scheme.storage), element=type_)
            self.made[value, sizes] = build.emit("top.Cast", held, element=element, stored=True)
            self._count(dense, type_, scheme)
        op.set_operand(rule.weights, self.made[value, sizes])
        self.groups[name] = math.prod(size if block is None else block
                                      for size, block in zip(dense.shape, sizes, strict=True))

    def _rounded(
        self, name: str, op: Op, numbers: NDArray[np.floating], sizes: Sizes, scheme: WeightScheme, element: FloatType,
    ) -> tuple[QuantType, NDArray[Any]]:
        """The type and the integers of an op's weights; what it takes is divided by the factors that they have."""
        def make(numbers: NDArray[np.floating], moments: NDArray[np.float64]) -> tuple[QuantType, NDArray[Any]]:
            type_, _ = weights_held(numbers, sizes, scheme, element)
            return type_, compensated(op, numbers, type_, moments)

        moments = self.moments.get(op)
        if moments is None:
            return weights_held(numbers, sizes, scheme, element)
        if not self.scaling or len(op.operands[1].uses) > 1:  # others take the weights as they are
            return make(numbers, moments)
        made, factors = scaled(op, numbers.astype(np.float64), moments, make)
        if factors is not None:
            divided(op, factors)
            self.scaled.append(name)
        return made

    def _count(self, dense: Dense, type_: QuantType, scheme: WeightScheme) -> None:
        points = scheme.bits if scheme.asymmetric else 0
        each = 8 * dtype_of(type_.expressed).itemsize + points
        bits = (8 * dense.nbytes, math.prod(dense.shape) * scheme.bits, type_.count * each)
        self.bytes = [old + -(-new // 8) for old, new in zip(self.bytes, bits, strict=True)]

    def told(self) -> dict[str, Any]:
        """What a report says: of each layer how many weights share a scale, and what all of them take."""
        before, integers, scales = self.bytes
        return {"shared": self.groups, "bytes before": before, "bytes of integers": integers, "bytes of scales": scales,
                "rounded on samples": bool(self.moments), **({"scaled": self.scaled} if self.scaling else {})}


# --- which weights share a scale


def _sizes(op: Any, group: int) -> Sizes:
    """The blocks of an op's weights."""
    rule = rule_of(op)
    assert rule is not None and rule.weights is not None
    return block_sizes(op.operands[rule.weights].static_shape, *places_of(op), group)


def block_sizes(shape: Sequence[int], along: int, kernel: Iterable[int], summed: int, group: int) -> Sizes:
    """How many indices of each dimension of weights share a scale, None for all: about `group` weights of one output channel.

    Groups lie `along` one dimension, of which each sum takes so many `summed` indices, in whole kernels, whose dimensions are
    `kernel`; along all others each index has its own. They fill the dimension: of the sizes that divide it, the greatest that is
    not too large. Where that is less than a quarter of what was asked for, as of prime numbers, a sum has one scale.
    """
    inside = set(kernel)
    sizes = [None if place in inside else 1 for place in range(len(shape))]
    most = max(group // math.prod(shape[place] for place in inside), 1) if group else summed
    fits = max((size for size in range(1, min(most, summed) + 1) if summed % size == 0), default=1)
    if most < summed and fits * FEWEST <= most:
        fits = summed
    return tuple(None if size == 1 and place == along and fits == shape[along] else fits if place == along else size
                 for place, size in enumerate(sizes))


# --- scales


def weights_held(
    numbers: NDArray[np.floating], sizes: Sizes, scheme: WeightScheme, expressed: FloatType,
) -> tuple[QuantType, NDArray[Any]]:
    """The type of weights with a scale, and a zero point, for each block; and their integers, each the nearest.

    Blocks do not depend on each other: about `PART` weights are looked at at a time, in float64.
    """
    like = QuantType(scheme.storage, expressed, (1.0,), (0,))
    counts = [size // (size if block is None else block) for size, block in zip(numbers.shape, sizes, strict=True)]
    along = int(np.argmax(counts))
    step = max(1, PART * counts[along] // numbers.size)
    block = sizes[along]
    width = numbers.shape[along] if block is None else step * block
    integers = np.empty(numbers.shape, np.int8)
    found = []
    for start in range(0, numbers.shape[along], width):
        some = (slice(None),) * along + (slice(start, start + width),)
        part = numbers[some].astype(np.float64)
        found.append(_grids(part, sizes, scheme, expressed))
        integers[some] = quantize(part, quantized_over(like, *found[-1], sizes))
    scales, points = (np.concatenate(each, axis=along) for each in zip(*found, strict=True))
    return quantized_over(like, scales, points, sizes), integers


def _grids(
    numbers: NDArray[np.float64], sizes: Sizes, scheme: WeightScheme, expressed: FloatType,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The scale and the zero point of each block, as arrays of the tensor's rank.

    Of each block's whole range and of lesser ones that is taken which has the least squared error of its weights.
    """
    split, grid = [], []
    for size, block in zip(numbers.shape, sizes, strict=True):
        inner = size if block is None else block
        split += [size // inner, inner]
        grid.append(size // inner)
    blocks = numbers.reshape(split)
    inside = tuple(range(1, blocks.ndim, 2))
    low = np.minimum(blocks.min(axis=inside, keepdims=True), 0.0)
    high = np.maximum(blocks.max(axis=inside, keepdims=True), 0.0)
    least = np.full(low.shape, np.inf)
    scales, points = np.ones(low.shape), np.zeros(low.shape)
    for share in SHARES:
        scale, point = _grid_of(low * share, high * share, scheme, expressed)
        ends = scheme.storage.range
        off = (np.clip(np.round(blocks / scale) + point, *ends) - point) * scale - blocks
        error = np.square(off).sum(axis=inside, keepdims=True)
        better = error < least
        least, scales, points = (np.where(better, new, old) for new, old in
                                 ((error, least), (scale, scales), (point, points)))
    return scales.reshape(grid), points.reshape(grid)


def _grid_of(
    low: NDArray[np.float64], high: NDArray[np.float64], scheme: WeightScheme, expressed: FloatType,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scales and zero points of ranges; the scales are numbers of the type that the integers are expressed in."""
    first, last = scheme.storage.range
    wanted = (high - low) / (last - first) if scheme.asymmetric else np.maximum(low / first, high / last)
    dtype = dtype_of(expressed)
    scale = wanted.astype(dtype).astype(np.float64)
    scale = np.where(scale > 0.0, scale, 1.0)  # all are zero, or smaller than what the type holds
    return scale, np.clip(np.round(first - low / scale), first, last) if scheme.asymmetric else np.zeros_like(scale)


# --- as quantizers


def weight_options() -> list[str]:
    """The options of quantizers of weights alone."""
    return [*keywords_of(weights_quantized), EFFORT]


def by_weights(scheme: WeightScheme) -> Callable[..., Quantized]:
    """What a `Quantizer` runs for a scheme: `run(module, samples=None, **options)`; options may be text.

    `effort`: "fast" does not round on samples, "best" tries `PASSES` on samples held apart.
    """
    kinds = {"asymmetric": bool, "rounding": bool, "scaling": bool, "q_group_size": int, "few": int}

    def plain(module: Module, samples: Iterable[Sample] | None = None, /, **options: Any) -> Quantized:
        need_known(f"the quantizer {scheme.name}", options, weight_options())
        return weights_quantized(begun(module), scheme, samples, **{
            name: typed(name, value, kinds[name]) if name in kinds else value for name, value in options.items()})

    def run(module: Module, samples: Iterable[Sample] | None = None, /, effort: str = "default", **options: Any) -> Quantized:
        options = options_for(effort, options, {"rounding": False})
        if effort == "best":
            return best(plain, module, samples, options, PASSES)
        return plain(module, samples, **options)

    return run


w8a16, w4a16 = map(by_weights, WEIGHT_SCHEMES.values())
