"""Models that are quantized in part: what is quantized stays as it is, and what was left out gets ranges on samples.

So come models that were trained quantized, or quantized by another tool, where their makers left places out. Each tensor without
a range that integers could hold is written as a cast to a quantized type and back, with the range that it has on samples, but
where a type follows from the op; weights of products that computed with floats become integers; and all of it is folded as QDQ
models are. Nothing else is looked for, and no bias is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from transload.analysis.movement import is_cast, moves_of, origins
from transload.errors import UsageError
from transload.ir import Dense, FloatType, IntegerType, Module, Op, QuantType, Value, dtype_of
from transload.ir.build import Builder, constant_of
from transload.ir.verify import verify
from transload.passes.manager import Pipeline
from transload.plugin import Quantized
from transload_hub.ops.rounding import AT_ONCE, round_all
from transload_hub.simplify.fake_quant import between_casts, follows, rounded_later
from transload_hub.simplify.qdq import dequantized, folds
from transload_hub.simplify.weights import grid_of

from .borders import Which, take_casts_off
from .calibration import Calibration, calibrate
from .groups import rule_of
from .kept import kept_float
from .measure import Sample
from .observe import can_be_quantized, observed
from .possible import possible
from .rules import Rule
from .scheme import Scheme, stored
from .sums import summed
from .thresholds import Range

__all__ = ["completed", "is_partly_quantized"]

_CUTS = ("top.Relu", "top.Clip")


def is_partly_quantized(module: Module) -> bool:
    """Whether something computes with quantized numbers, or with such as were rounded to them, and does not only end so."""
    made = (result for op in module.body_of_main for result in op.results)
    found = [value for value in made if value.quant is not None and constant_of(value) is None]
    ends = module.body_of_main.terminator
    return any(user is not ends for value in found for user in value.uses)


def completed(
    module: Module, scheme: Scheme, samples: Iterable[Sample] | None, calibration: Calibration | None,
    floats: Mapping[str, str], *, method: str | None = None, quant_input: Which = None, quant_output: Which = None,
    rounds: str | None = None,
) -> Quantized:
    """A new module, in which what a partly quantized one computes with floats is of integers, too, where there is a rule for it.

    The ranges are those of `calibration`, or those on samples by `method`. `floats` stay float, with the reason. Raises
    `UsageError` for a scheme of other than 8 bits, and where there are no ranges.
    """
    if scheme.activations.width != 8 or scheme.power_of_two:
        raise UsageError(f"the model is quantized in part, in 8 bits, and {scheme.name} asks for others",
                         hint="one of the schemes int8, uint8; `--scheme float` makes floats of a model that is quantized")
    scheme = replace(scheme, activations=_stored_in(module, scheme.activations))
    if calibration is None:
        seen = calibrate(module, samples or (), method or "mse", symmetric=scheme.symmetric)
        ranges = possible(module, seen.kept(scheme.symmetric))
    else:
        ranges = calibration.kept(scheme.symmetric)
    result = module.clone()
    named = {value: name for name, value in observed(result).items()}
    told = []
    for argument in result.body_of_main.arguments:
        told += _rounded(argument, None, scheme, named, ranges, floats)
    for op in list(result.body_of_main):
        if _computes(op, floats, named):
            _constants_between_casts(op, scheme)
            told += _rounded(op.results[0], op, scheme, named, ranges, floats)
    words = {op.attributes.get("rounding") for op in module.body_of_main}
    Pipeline.parse("fold-qdq,dce,canonicalize,plain-biases,dce").run(result)
    if rounds is not None or not words.isdisjoint(AT_ONCE):
        round_all(result, rounds or "once", anew=rounds is not None)
    notes = take_casts_off(result, quant_input, quant_output, floats)
    verify(result)
    notes += [f"the model says nothing of {name!r}, whose range is that on the samples" for name in told]
    return Quantized(result, kept_float(result, dict(floats)), {"notes": notes, "completed": {"tensors": len(told)}}, module)


def _stored_in(module: Module, wished: IntegerType) -> IntegerType:
    """In what the tensors of 8 bits that there are are stored, since ops take operands of one kind."""
    kinds = [result.quant for op in module.body_of_main for result in op.results if constant_of(result) is None]
    storages = [kind.storage for kind in kinds if kind is not None and kind.storage.width == 8]
    return max(set(storages), key=storages.count) if storages else wished


def _computes(op: Op, floats: Mapping[str, str], named: Mapping[Value, str]) -> bool:
    """Whether an op computes a tensor of floats that integers could hold, and neither it nor what it takes is to stay float."""
    if len(op.results) != 1 or is_cast(op) or op.regions or constant_of(op.results[0]) is not None:
        return False
    values = [value for value in (*op.operands, *op.results) if isinstance(value.element_or_none, FloatType)]
    if any(named.get(value) in floats for value in values):
        return False
    return op.results[0] in values and all(map(can_be_quantized, values))


def _rounded(
    value: Value, op: Op | None, scheme: Scheme, named: Mapping[Value, str], ranges: Mapping[str, Range],
    floats: Mapping[str, str],
) -> list[str]:
    """Let what takes a tensor take it rounded, where integers make or take it; its name, where its range is that on samples."""
    name = named.get(value)
    if name is None or name in floats or not can_be_quantized(value) or rounded_later(value) is not None:
        return []
    takers = list(value.uses)
    block = op.parent if op is not None else value.owner
    if len(takers) == 1 and takers[0].name in _CUTS and takers[0].parent is block:
        return []  # its result is rounded, as those within branches are not, and saturates where that cuts
    type_ = follows(op) if op is not None else None
    if type_ is None:
        if op is not None and moves_of(op) is not None and all(dequantized(each) is not None for each in origins(value)):
            return []  # its numbers have the type of those that are moved
        if not any(map(_has_integers, takers)) and (op is None or not (_has_integers(op) or op.name in _CUTS)):
            return []
    rule = rule_of(op) if op is not None else None
    if type_ is None and rule is not None and rule.fixed is not None:
        type_ = scheme.activation_type(rule.fixed)
    between_casts(value, type_ if type_ is not None else scheme.activation_type(ranges[name]))
    return [name] if type_ is None else []


def _has_integers(op: Op) -> bool:
    """Whether an op that computes has a form on quantized tensors to which it can be folded."""
    return rule_of(op) is not None and folds(op)


def _constants_between_casts(op: Op, scheme: Scheme) -> None:
    """Constants that an op computes with as integers cast to floats: weights by channel, others as tensors; no biases."""
    rule = rule_of(op)
    if rule is None:
        return
    for index, value in enumerate(op.operands):
        dense = constant_of(value)
        if dense is None or index == rule.bias or not isinstance(value.element_or_none, FloatType):
            continue
        numbers = dense.numpy().astype(np.float64)
        kind = _weight_type(op, rule, numbers, scheme) if index == rule.own(op) else scheme.constant_type(numbers)
        build = Builder(op.parent, before=op, location=value.name)  # type: ignore[arg-type]
        held = build.constant(Dense(stored(numbers, kind).astype(dtype_of(kind.storage))), element=kind)
        op.set_operand(index, build.emit("top.Cast", held, element=value.element))


def _weight_type(op: Op, rule: Rule, numbers: np.ndarray, scheme: Scheme) -> QuantType:
    """The type of weights: the one that they were rounded to already, where they lie on a grid, else the scheme's."""
    scheme = scheme.of_sums(summed(op))
    kind = scheme.weight_type(numbers, rule.channels(op))
    channels = numbers[None] if kind.axis is None else np.moveaxis(numbers, kind.axis, 0)
    rows = channels.reshape(len(channels), -1)
    steps = grid_of(rows, scheme.weights.range[1])
    return kind.replace(scales=np.where(steps > 0, steps, np.array(kind.scales)))
