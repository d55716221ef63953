"""The scheme `w4a8`: weights of 4 bits beside activations of 8.

Where an output channel has one scale, all is integers, as with `int8`: that is what runtimes and chips multiply. Where groups of
weights have scales of their own (`q_group_size`), sums of integers would have to be scaled group by group, for which none of them
has an operator. There weights are those of `w4a16`, what they are multiplied by is rounded to 8 bits, and products of what both
stand for are summed in floats.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from transload.errors import UsageError
from transload.ir import Module, Op, Value
from transload.ir.build import Builder
from transload.ir.verify import verify
from transload.options import typed
from transload.passes.manager import Pipeline
from transload.plugin import Quantized

from .asked import check_asked, keywords_of, need_known
from .calibration import Calibration, calibrate
from .costly import Layer, costly
from .effort import EFFORT
from .fills import has_far_numbers, without_far_numbers
from .groups import rule_of
from .measure import Sample, some_of
from .names import with_our_names
from .observe import observed
from .requantize import begun
from .run import CORRECTED, by_scheme, quantized
from .scheme import SCHEMES
from .thresholds import Range
from .weight_only import WeightScheme, by_weights, weight_options

__all__ = ["w4a8"]

SCHEME = SCHEMES["w4a8"]
IN_GROUPS = by_weights(WeightScheme(SCHEME.name, SCHEME.weights.width))
SEARCHED = 4
"""Samples on which it is looked for what had better not be rounded."""
OF_ACTIVATIONS = ("calibration", "method", "islands", "rounds")
"""Options beside those of weights."""
HALVES = {"once": "HalfToEven"}


def w4a8(module: Module, samples: Iterable[Sample] | None = None, /, **options: Any) -> Quantized:
    """A new module of the hub by the scheme; options are those of `int8`, or, with `q_group_size` above 0, those of `w4a16` with
    `calibration`, `method` and `islands`: what costs most when it is rounded stays as it is, but for "none". Raises `UsageError`
    where these do."""
    if typed("q_group_size", options.get("q_group_size", 0), int) == 0:
        need_known(f"the quantizer {SCHEME.name}", options, [*keywords_of(quantized), EFFORT, "q_group_size"])
        options.pop("q_group_size", None)
        return by_scheme(SCHEME)(module, samples, **options)
    need_known(f"the quantizer {SCHEME.name} with q_group_size", options, [*weight_options(), *OF_ACTIVATIONS])
    calibration, method, islands, rounds = (options.pop(name, None) for name in OF_ACTIVATIONS)
    if samples is None and calibration is None:
        raise UsageError("the ranges of activations are not known", hint="--data SAMPLES, or --table FILE; w4a16 needs neither")
    module = begun(module)
    check_asked(module, islands or "mixed", rounds, True, calibration is not None and method)
    calibration = Calibration.of(calibration)
    if calibration is not None:
        module = without_far_numbers(module, table=with_our_names(calibration, observed(module)).ranges)
    elif samples is not None and has_far_numbers(module):
        some, samples = some_of(samples, CORRECTED)
        module = without_far_numbers(module, some)
    made = IN_GROUPS(module, samples, **options)
    layers = _layers(made.module, made.report["weights"]["shared"])
    ranges = _ranges(made.module, samples, calibration, method, layers)
    before = _rounded(made.module, layers, ranges, HALVES.get(str(rounds), "HalfAwayFromZero"))
    kept = costly(made.module, before, some_of(samples, SEARCHED)[0]) if samples is not None and islands != "none" else {}
    for name in kept:
        for op, index, value in before[name]:
            op.set_operand(index, value)
    Pipeline.parse("dce").run(made.module)
    verify(made.module)
    report = {**made.report, "activations": {"rounded": len(before) - len(kept), "as they are": kept}}
    return Quantized(made.module, {**(made.floats or {}), **kept}, report, made.source)


def _layers(module: Module, layers: Collection[str]) -> dict[str, tuple[str, Op, int]]:
    """Of layers, by what they compute, the name of what they multiply their weights by, and where it is."""
    named = observed(module)
    names = {value: name for name, value in named.items()}
    found = {}
    for layer in layers:
        op = named[layer].op
        rule = rule_of(op) if op is not None else None
        if op is not None and rule is not None and rule.weights is not None and op.operands[1 - rule.weights] in names:
            found[layer] = names[op.operands[1 - rule.weights]], op, 1 - rule.weights  # integers do not hold what others take
    return found


def _ranges(
    module: Module, samples: Iterable[Sample] | None, calibration: Calibration | None, method: str | None,
    layers: Mapping[str, tuple[str, Op, int]],
) -> Mapping[str, Range]:
    """Those of a table, or measured: of what layers multiply, as all else stays as it is, and may be infinite."""
    if calibration is not None:
        return with_our_names(calibration, observed(module)).kept(SCHEME.symmetric)
    assert samples is not None
    floats = observed(module).keys() - {name for name, _, _ in layers.values()}
    return calibrate(module, samples, method or "mse", symmetric=SCHEME.symmetric, floats=floats).kept(SCHEME.symmetric)


def _rounded(
    module: Module, layers: Mapping[str, tuple[str, Op, int]], ranges: Mapping[str, Range], round_mode: str,
) -> dict[str, Layer]:
    """Have layers multiply their weights by numbers of 8 bits; what these were before.

    Raises `UsageError` where a table lacks the range of one.
    """
    made: dict[Value, Value] = {}
    before: dict[str, Layer] = {}
    for layer, (name, op, index) in layers.items():
        value = op.operands[index]
        if name not in ranges:
            raise UsageError(f"the calibration lacks {name!r}", hint="calibrate the module that is quantized")
        if value not in made:
            first = value.op.next if value.op is not None else next(iter(module.body_of_main))
            build = Builder(module.body_of_main, before=first, location=f"{name}/{SCHEME.name}")
            integers = build.emit("top.Cast", value, element=SCHEME.activation_type(ranges[name]), round_mode=round_mode)
            made[value] = build.emit("top.Cast", integers, element=value.element)
        op.set_operand(index, made[value])
        before[layer] = [(op, index, value)]
    return before
