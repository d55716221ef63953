"""Bias correction: what quantization shifts on average is taken back, layer after layer.

Rounded weights and saturated activations move the mean of a layer's sums. The shift is measured, channel by channel, on samples
that have come through all quantized layers before, and taken from the bias. The layers are gone through once, in order, with all
samples side by side: as floats, and as the quantized module will have them.

Source: M. Nagel et al., "Data-free quantization through weight equalization and bias correction", ICCV 2019, section 4.2.2, the
empirical kind, done in sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transload.ir import Dense, Module, Op, QuantType, Value, input_names
from transload.ir.build import Builder, constant_of
from transload.plugin_host import host

from .groups import Groups, rule_of
from .observe import observed
from .rules import Rule
from .scheme import Scheme, stored
from .thresholds import Range

__all__ = ["corrected"]

Arrays = list[Any]
"""What one tensor is on each sample."""


def corrected(
    module: Module, scheme: Scheme, ranges: Mapping[str, Range], samples: Sequence[Mapping[str, Any]],
    floats: Mapping[str, str] | None = None,
) -> Module:
    """A new float module with other biases, so that its quantized form has on average the sums of `module`.

    `ranges` and `floats` are those with which it will be quantized; `samples` are dicts of arrays by input name.
    """
    result = module.clone()
    named = observed(result)
    groups = Groups(result, {named[name]: why for name, why in (floats or {}).items()})
    found = groups.ranges({value: ranges[name] for name, value in named.items()})
    types = {root: scheme.activation_type(kept) for root, kept in found.items()}
    _Sweep(result, scheme, groups, types, samples).run()
    return result


class _Sweep:
    """One way through the ops, with what every tensor is on every sample, in floats and as quantized."""

    def __init__(
        self, module: Module, scheme: Scheme, groups: Groups, types: Mapping[Value, QuantType],
        samples: Sequence[Mapping[str, Any]],
    ) -> None:
        self.module = module
        self.scheme = scheme
        self.groups = groups
        self.types = types
        self.count = len(samples)
        self.chosen = set(groups.ops)
        self.exact: dict[Value, Arrays] = {}
        self.rounded: dict[Value, Arrays] = {}
        block = module.body_of_main
        for name, value in zip(input_names(module.main), block.arguments, strict=True):
            self.exact[value] = [np.asarray(sample[name]) for sample in samples]
            self.rounded[value] = self._as_held(value, self.exact[value])

    def run(self) -> None:
        block = self.module.body_of_main
        ops = [op for op in block if op.results]
        last = {value: op for op in ops for value in op.operands}
        for op in ops:
            dense = constant_of(op.results[0])
            if dense is not None:
                self.exact[op.results[0]] = self.rounded[op.results[0]] = [dense.numpy()] * self.count
            else:
                self._pass(op)
            for value in op.operands:
                if last.get(value) is op:
                    self.exact.pop(value, None)
                    self.rounded.pop(value, None)

    def _pass(self, op: Op) -> None:
        """Compute an op in both forms, and correct its bias where it has one."""
        rule = rule_of(op) if op in self.chosen else None
        exact = self._compute(op, [self.exact[value] for value in op.operands])
        rounded = self._compute(op, self._operands(op, rule))
        if rule is not None and rule.bias is not None and _has_weights(op, rule):
            rounded = [self._correct(op, rule, exact[0], rounded[0])]
        for result, right, held in zip(op.results, exact, rounded, strict=True):
            self.exact[result] = right
            self.rounded[result] = self._as_held(result, held) if op in self.chosen else held

    def _compute(self, op: Op, operands: Sequence[Arrays]) -> list[Arrays]:
        """The results of an op's kernel, for each a list with an array for each sample."""
        found = host().kernel(op.name)
        assert found is not None, f"{op.name} ran when it was calibrated"
        runs = [found[0](op, *(values[index] for values in operands)) for index in range(self.count)]
        return [list(arrays) for arrays in zip(*((run if isinstance(run, tuple) else (run,)) for run in runs), strict=True)]

    def _operands(self, op: Op, rule: Rule | None) -> list[Arrays]:
        operands = [self.rounded[value] for value in op.operands]
        if rule is not None and rule.weights is not None and _has_weights(op, rule):
            weights = operands[rule.weights][0].astype(np.float64)
            type_ = self.scheme.weight_type(weights, rule.channels(op))
            operands[rule.weights] = [_real(stored(weights, type_), type_)] * self.count
        return operands

    def _correct(self, op: Op, rule: Rule, exact: Arrays, rounded: Arrays) -> Arrays:
        """Add to the op's bias, channel by channel, by how much the sums are too small on average; the sums with it."""
        assert rule.bias is not None
        bias = constant_of(op.operands[rule.bias]) if len(op.operands) > rule.bias else None
        if bias is None or bias.numpy().ndim != 1:
            return rounded
        axis = rule.result_channels(op) % exact[0].ndim
        others = tuple(dimension for dimension in range(exact[0].ndim) if dimension != axis)
        shift = np.mean([
            (right.astype(np.float64) - held).mean(axis=others) for right, held in zip(exact, rounded, strict=True)], axis=0)
        build = Builder(op.parent, before=op, location=op.operands[rule.bias].name)  # type: ignore[arg-type]
        op.set_operand(rule.bias, build.constant(Dense((bias.numpy() + shift).astype(np.float32))))
        shape = [1] * exact[0].ndim
        shape[axis] = -1
        return [held + shift.reshape(shape).astype(np.float32) for held in rounded]

    def _as_held(self, value: Value, arrays: Arrays) -> Arrays:
        """Real numbers as the tensor's quantized type holds them; as they are where it has none, or an activation follows."""
        type_ = self.types.get(self.groups.root(value))
        if type_ is None or self.groups.is_cut(value):
            return arrays
        return [_real(stored(array, type_), type_) for array in arrays]


def _has_weights(op: Op, rule: Rule) -> bool:
    return rule.weights is not None and constant_of(op.operands[rule.weights]) is not None


def _real(integers: NDArray[np.integer], type_: QuantType) -> NDArray[np.float32]:
    """What stored integers stand for."""
    shape = [1] * integers.ndim
    if type_.axis is not None:
        shape[type_.axis] = -1
    zero_points, scales = np.array(type_.zero_points).reshape(shape), np.array(type_.scales).reshape(shape)
    return ((integers - zero_points) * scales).astype(np.float32)
