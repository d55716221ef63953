"""Models that were trained quantized: each number of their table, of weights too, becomes the type of a tensor as it is.

Training let each tensor of the table be rounded to its type and be a float again ("fake quantization"). The module is written so,
as casts to quantized types and back behind these tensors and the weights, and folded to integer arithmetic as QDQ models are:
whatever the table leaves out, wherever, is then a float by itself. Nothing else is looked for, and no bias is moved.

Source: TPU-MLIR manual, chapter 15.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from transload.errors import UsageError
from transload.ir import F32, I8, Dense, Module, Op, QuantType, Value, dtype_of
from transload.ir.build import Builder, constant_of
from transload.ir.verify import verify
from transload.passes.manager import Pipeline
from transload.plugin import Quantized
from transload_hub.ops.rounding import round_all
from transload_hub.simplify.fake_quant import between_casts

from .borders import Which, take_casts_off
from .calibration import ALL_INT8, Calibration, calibrate
from .groups import Groups, rule_of
from .kept import kept_float
from .measure import Sample
from .names import name_of, placed
from .observe import observed
from .scheme import Scheme, stored

__all__ = ["as_trained"]

STEPS = 128.0
"""Steps from zero to a threshold, where zero points are zero (manual, 6.1)."""
HALVES = "HalfToEven"
"""Which way halves go in training: PyTorch's `round`."""
WEIGHT, BIAS = "_weight", "_bias"


def as_trained(
    module: Module, scheme: Scheme, table: Calibration, samples: Iterable[Sample] | None, floats: Mapping[str, str], *,
    quant_input: Which = None, quant_output: Which = None, rounds: str | None = None,
) -> Quantized:
    """A new module of integers with the types of a table that training wrote, those of activations by the scheme's symmetry.

    Tensors that have no line share the type of what they are moved to or from, or stay float; of a table of mode `QAT_all_int8`
    they get the ranges that they have on `samples`, where there are any. `floats` stay float, with the reason. Raises
    `UsageError` for another number of bits, and where the table names nothing that the module has, or weights that it has not.
    """
    if scheme.activations.width != 8 or scheme.power_of_two:
        raise UsageError(f"the table is of a model that was trained in 8 bits, and {scheme.name} asks for others",
                         hint="one of the schemes int8, int8-sym")
    result = module.clone()
    named = observed(result)
    lines, unknown = placed(table.ranges, named)
    if not lines:
        raise UsageError(
            f"the table names nothing that the model has: {', '.join(map(repr, unknown[:5]))}",
            hint=f"the model's tensors: {', '.join(list(named)[:5])}; a table is made with the model that is exported")
    told = [f"the table names {name!r}, which the model does not have" for name in unknown]
    kept = _ranges(table, scheme, {name: lines[name] for name in lines if name not in floats})
    left = _left_out(result, named, lines, floats)
    if left and table.mode == ALL_INT8 and samples is not None:
        seen = calibrate(module, samples, "minmax", symmetric=scheme.symmetric).kept(scheme.symmetric)
        kept |= {name: scheme.activation_type(seen[name]) for name in left}
        told += [f"the table says nothing of {name!r}, whose range is that on the samples" for name in left]
        left = []
    decided = {**floats, **dict.fromkeys(left, "the table says nothing of it")}
    weights = _weights(table, named, floats)
    for name, type_ in kept.items():
        between_casts(named[name], type_, HALVES)
    for op, each in weights.items():
        _weights_between_casts(op, each)
    Pipeline.parse("fold-qdq,round-once,dce,canonicalize,dce").run(result)
    told += take_casts_off(result, quant_input, quant_output, decided)
    if rounds is not None:
        round_all(result, rounds, anew=True)
    verify(result)
    return Quantized(result, kept_float(result, decided), {
        "notes": told, "trained": {"tensors": len(kept), "weights": len(weights), "work mode": table.mode}}, module)


def _ranges(table: Calibration, scheme: Scheme, lines: Mapping[str, str]) -> dict[str, QuantType]:
    """The types of tensors by what the table says of each."""
    found = {}
    for name, line in lines.items():
        threshold = table.threshold(line)
        if not scheme.symmetric:
            found[name] = scheme.activation_type(table.ranges[line])
        elif threshold > 0.0 or table.ranges[line] == (0.0, 0.0):
            found[name] = QuantType(scheme.activations, F32, (scheme.rounded(threshold / STEPS),), (0,))
        else:
            raise UsageError(
                f"the table has no threshold of {line!r}: the model was trained with zero points", hint="the scheme int8")
    return found


def _left_out(module: Module, named: Mapping[str, Value], lines: Iterable[str], floats: Mapping[str, str]) -> list[str]:
    """The tensors that integers could hold, and that neither a line, nor one of what they are moved to or from, speaks of."""
    groups = Groups(module, {named[name] for name in floats})
    known = {groups.root(named[name]) for name in lines}
    computed = {result for op in groups.ops if rule_of(op) is not None for result in op.results}
    taken = {value for op in groups.ops for value in op.operands}
    return [
        name for name, value in named.items()
        if name not in floats and not groups.is_cut(value) and groups.root(value) not in known
        and (value in computed or (value.op is None and value in taken))]


@dataclass(frozen=True)
class _Scales:
    """What a table says of the weights of an op."""

    line: str
    scales: tuple[float, ...]


def _weights(table: Calibration, named: Mapping[str, Value], floats: Mapping[str, str]) -> dict[Op, _Scales]:
    """The scales of weights by the op that multiplies by them. What is said of biases is not needed: theirs is the products'."""
    found: dict[Op, _Scales] = {}
    for line, scales in table.weights.items():
        if line.endswith(BIAS):
            continue
        name = name_of(line.removesuffix(WEIGHT), named)
        op = _multiplying(named[name]) if name is not None else None
        if op is None:
            raise UsageError(
                f"the table has scales of the weights {line!r}, and the model has no op with weights that is called so",
                hint="a table goes with the model that was exported with it: batch norms and biases are in convolutions there")
        if name not in floats:
            found[op] = _Scales(line, scales)
    return found


def _multiplying(value: Value) -> Op | None:
    """The op with constant weights that a tensor is computed by, but for activations behind it."""
    while (op := value.op) is not None:
        rule = rule_of(op)
        if rule is not None and rule.weights is not None:
            return op if constant_of(op.operands[rule.weights]) is not None else None
        if op.name not in ("top.Relu", "top.Clip"):
            return None
        value = op.operands[0]
    return None


def _weights_between_casts(op: Op, told: _Scales) -> None:
    """The weights of an op as integers with the scales of a table, cast to floats."""
    rule = rule_of(op)
    assert rule is not None and rule.weights is not None
    value = op.operands[rule.weights]
    dense = constant_of(value)
    assert dense is not None
    axis = rule.channels(op) % len(dense.shape)
    if len(told.scales) not in (1, dense.shape[axis]):
        raise UsageError(
            f"the table has {len(told.scales)} scales of {told.line!r}, which has {dense.shape[axis]} output channels")
    type_ = QuantType(I8, F32, told.scales, (0,) * len(told.scales), axis if len(told.scales) > 1 else None)
    integers = stored(dense.numpy().astype(np.float64), type_).astype(dtype_of(I8))
    build = Builder(op.parent, before=op, location=value.name)  # type: ignore[arg-type]
    held = build.constant(Dense(integers), element=type_)
    op.set_operand(rule.weights, build.emit("top.Cast", held, element=value.element))
