"""Bias correction of a module whose layers compute with floats as before, but of rounded numbers: both run side by side.

As `bias` does it for integers: each layer's mean is compared with that of the float model, channel by channel, and the difference
is taken back on the spot, sample by sample, so that all layers are measured in one run behind corrected ones.

Source: M. Nagel et al., "Data-free quantization through weight equalization and bias correction", ICCV 2019, section 4.2.2, the
empirical kind, done in sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transload.ir import Dense, Module, Op, Value, dtype_of
from transload.ir.build import Builder, constant_of

from .groups import rule_of
from .running import Runner

__all__ = ["corrected_by_means"]


def corrected_by_means(
    floats: Module, made: Module, layers: Mapping[Value, Value], samples: Sequence[Mapping[str, Any]],
) -> Module:
    """A copy of `made` whose layers have on samples the means that those of `floats` have.

    `layers` leads from results of products in the float module to those in the other, in the order of the ops. Layers without a
    constant bias for each channel stay as they are. Shifts that differ from sample to sample are shrunk as is right (the
    positive-part estimator of James and Stein).
    """
    mapping: dict[Value, Value] = {}
    result = made.clone(mapping)
    ops = [(before, mapping[now].op) for before, now in layers.items()]
    corrected = [(before, op) for before, op in ops if op is not None and _has_bias(op)]
    if not corrected or not samples:
        return result
    found = _shifts(floats, result, [(before, op.result) for before, op in corrected], samples)
    for (_, op), shifts in zip(corrected, found, strict=True):
        mean, error = shifts.mean(axis=0), shifts.std(axis=0) / np.sqrt(len(shifts))
        sure = np.maximum(0.0, 1.0 - error ** 2 / np.maximum(mean ** 2, 1e-30))
        rule = rule_of(op)
        assert rule is not None and rule.bias is not None
        value = op.operands[rule.bias]
        bias = constant_of(value)
        assert bias is not None
        moved = (bias.numpy().astype(np.float64) - mean * sure).astype(dtype_of(value.element))
        build = Builder(op.parent, before=op, location=value.name)  # type: ignore[arg-type]
        op.set_operand(rule.bias, build.constant(Dense(moved), element=value.element))
    return result


def _has_bias(op: Op) -> bool:
    """Whether an op's sums have a constant for each channel added to them, and nothing is done to them behind that."""
    rule = rule_of(op)
    if rule is None or rule.bias is None or len(op.operands) <= rule.bias or op.attributes.get("do_relu"):
        return False
    bias = constant_of(op.operands[rule.bias])
    return bias is not None and len(bias.shape) == 1


def _shifts(
    floats: Module, made: Module, layers: Sequence[tuple[Value, Value]], samples: Sequence[Mapping[str, Any]],
) -> list[NDArray[np.float64]]:
    """Of each layer by how much the mean of each channel is too great, sample by sample [S, C], behind layers without that."""
    copied: dict[Value, Value] = {}
    both = made.clone(copied)
    block = both.body_of_main
    first = block.first
    beside: dict[Value, Value] = dict(zip(floats.body_of_main.arguments, block.arguments, strict=True))
    for op in floats.body_of_main:
        if op is not floats.body_of_main.terminator:
            block.insert(op.clone(beside), first)
    means: dict[str, Value] = {}
    for index, (before, now) in enumerate(layers):
        value = copied[now]
        maker, users = value.op, list(value.uses)
        assert maker is not None
        rule = rule_of(maker)
        assert rule is not None
        channels = rule.result_channels(maker) % value.rank
        build = Builder(block, before=maker.next)
        others = tuple(axis for axis in range(value.rank) if axis != channels)
        mean = build.emit("top.Reduce", build.emit("top.Sub", value, beside[before]), axes=others, mode="ReduceMean")
        means[str(index)] = mean
        right = build.emit("top.Sub", value, mean)
        for user in users:
            user.operands = tuple(right if operand is value else operand for operand in user.operands)
    runner = Runner(both, means, runs=len(samples))
    seen = [{name: np.asarray(array, np.float64).reshape(-1) for name, array in arrays.items()}
            for arrays in runner.each(samples, dict)]
    return [np.stack([arrays[name] for arrays in seen]) for name in means]
