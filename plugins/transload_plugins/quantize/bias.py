"""Bias correction: what quantization shifts on average is taken back, each layer behind the corrected layers before it.

Rounded weights and saturated activations move the mean of a layer's sums. The shift is measured, channel by channel, on samples
that have come through all quantized layers before, and taken from the bias. To measure all layers in one run, each sample's own
shift is taken back as it runs (`Simulation.measure`): a layer sees what it will see when the biases before it are right.

Source: M. Nagel et al., "Data-free quantization through weight equalization and bias correction", ICCV 2019, section 4.2.2, the
empirical kind, done in sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transload.ir import Dense, Module, Value, dtype_of
from transload.ir.build import Builder, constant_of

from .groups import rule_of
from .simulation import Measured, Simulation, Types, channel_count

__all__ = ["corrections", "move_biases", "with_biases"]

JUDGED = 4
"""Samples on which it is seen whether the tensors come nearer."""


def with_biases(module: Module) -> Module:
    """A copy in which every product with constant weights has a bias, of zeros where it had none."""
    result = module.clone()
    for op in list(result.body_of_main):
        rule = rule_of(op) if op.results else None
        if rule is None or rule.bias is None or len(op.operands) != rule.bias:
            continue
        if rule.own(op) is not None and op.result.is_static:
            build = Builder(result.body_of_main, before=op, location=op.result.name)
            zeros = np.zeros(channel_count(op, rule), dtype_of(op.result.element))
            op.operands = (*op.operands, build.constant(Dense(zeros), element=op.result.element))
    return result


def corrections(
    simulation: Simulation, types: Types, samples: Sequence[Mapping[str, Any]],
) -> tuple[np.ndarray | None, Measured]:
    """What to add to the sums of the simulation's corrected ops, or None where that brings its tensors no nearer on `samples`;
    and what is then measured on some of these.

    A shift is only as sure as it is the same on all samples: it is shrunk by the share that its standard error may make of it
    (the positive-part estimator of James and Stein, channel by channel).
    """
    few = samples[:: max(1, len(samples) // JUDGED)]
    without = simulation.measure(types, few)
    if not simulation.corrected:
        return None, without
    found = simulation.measure(types, samples, corrected=True)
    if not np.isfinite(found.shifts).all():
        return None, without
    sure = np.maximum(0.0, 1.0 - found.errors ** 2 / np.maximum(found.shifts ** 2, 1e-30))
    shifts: np.ndarray = found.shifts * sure
    moved = simulation.measure(types, few, shifts)
    return (shifts, moved) if moved.mean_decibels > without.mean_decibels else (None, without)


def move_biases(simulation: Simulation, shifts: np.ndarray, mapping: Mapping[Value, Value]) -> None:
    """Add to the biases of a copy of the simulated module; `mapping` leads from the module's values to the copy's."""
    for op, rule, span in simulation.spans():
        copy = mapping[op.result].op
        assert copy is not None and rule.bias is not None
        bias = constant_of(copy.operands[rule.bias])
        assert bias is not None
        build = Builder(copy.parent, before=copy, location=copy.operands[rule.bias].name)  # type: ignore[arg-type]
        element = copy.operands[rule.bias].element
        moved = (bias.numpy().astype(np.float64) + shifts[span]).astype(dtype_of(element))
        copy.set_operand(rule.bias, build.constant(Dense(moved), element=element))
