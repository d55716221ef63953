"""The scheme `w4a8`: weights of 4 bits beside activations of 8.

Where an output channel has one scale, all is integers, as with `int8`: that is what runtimes and chips multiply. Where groups of
weights have scales of their own (`q_group_size`), sums of integers would have to be scaled group by group, for which none of them
has an operator. There weights are those of `w4a16`, what they are multiplied by is rounded to 8 bits, and products of what both
stand for are summed in floats.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from transload.errors import UsageError
from transload.ir import Module, Value
from transload.ir.verify import verify
from transload.options import typed
from transload.plugin import Quantized
from transload_hub.simplify.fake_quant import between_casts

from .calibration import Calibration, calibrate
from .groups import rule_of
from .measure import Sample
from .names import with_our_names
from .observe import observed
from .run import by_scheme
from .scheme import SCHEMES
from .thresholds import Range
from .weight_only import WeightScheme, by_weights

__all__ = ["w4a8"]

SCHEME = SCHEMES["w4a8"]
IN_GROUPS = by_weights(WeightScheme(SCHEME.name, SCHEME.weights.width))
OF_TARGETS = ("islands", "rounds")
"""Wishes of targets: here nothing is looked for, and the products are floats."""
HALVES = {"once": "HalfToEven"}


def w4a8(module: Module, samples: Iterable[Sample] | None = None, /, **options: Any) -> Quantized:
    """A new module of the hub by the scheme; options are those of `int8`, or, with `q_group_size` above 0, those of `w4a16` with
    `calibration` and `method`. Raises `UsageError` where these do."""
    if typed("q_group_size", options.get("q_group_size", 0), int) == 0:
        options.pop("q_group_size", None)
        return by_scheme(SCHEME)(module, samples, **options)
    calibration, method = options.pop("calibration", None), options.pop("method", None)
    rounds, _ = (options.pop(name, None) for name in reversed(OF_TARGETS))
    if samples is None and calibration is None:
        raise UsageError("the ranges of activations are not known", hint="--data SAMPLES, or --table FILE; w4a16 needs neither")
    if calibration is not None and method is not None:
        raise UsageError("a table says the ranges, and a method would choose others", hint="leave one of them out")
    made = IN_GROUPS(module, samples, **options)
    taken = _taken(made.module, made.report["weights"]["shared"], _ranges(made.module, samples, calibration, method))
    for value, kept in taken.items():
        between_casts(value, SCHEME.activation_type(kept), HALVES.get(str(rounds), "HalfAwayFromZero"))
    verify(made.module)
    report = {**made.report, "activations": len(taken)}
    return Quantized(made.module, made.floats, report, made.source)


def _ranges(
    module: Module, samples: Iterable[Sample] | None, calibration: Calibration | str | Path | None, method: str | None,
) -> Mapping[str, Range]:
    if isinstance(calibration, str | Path):
        calibration = Calibration.load(calibration)
    if calibration is not None:
        return with_our_names(calibration, observed(module)).kept(SCHEME.symmetric)
    assert samples is not None
    return calibrate(module, samples, method or "mse", symmetric=SCHEME.symmetric).kept(SCHEME.symmetric)


def _taken(module: Module, layers: Collection[str], ranges: Mapping[str, Range]) -> dict[Value, Range]:
    """What layers, by what they compute, multiply their weights by, with the range of each. Raises `UsageError` where a table
    lacks one."""
    named = observed(module)
    names = {value: name for name, value in named.items()}
    found: dict[Value, Range] = {}
    for op in (named[name].op for name in layers):
        rule = rule_of(op) if op is not None else None
        if op is None or rule is None or rule.weights is None:
            continue
        value = op.operands[1 - rule.weights]
        if value not in names:  # what integers do not hold
            continue
        if names[value] not in ranges:
            raise UsageError(f"the calibration lacks {names[value]!r}", hint="calibrate the module that is quantized")
        found[value] = ranges[names[value]]
    return found
