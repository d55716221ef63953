"""Floats of 8 bits: the schemes `f8e4m3` and `f8e5m2`, whose products are of such numbers, summed in floats of the model.

What a `Conv`, `Deconv` or `MatMul` multiplies is divided by a scale, cut at the greatest finite number of the format, and cast to
it, rounded to the nearest, halves to the even one; and cast back and multiplied by the scale. Weights are held as the format's
bytes, a scale for each output channel; activations have one for the tensor, by which what samples show stays within the format.
Scales are powers of two: products with them are exact, and a float of 8 bits loses next to nothing by one, as it has no steps of
one size that a finer scale would fit. All else computes as before: sums, biases and what is no product.

Source: P. Micikevicius et al., "FP8 formats for deep learning", 2022; "OCP 8-bit floating point specification (OFP8)", 1.0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transload.errors import UsageError
from transload.ir import Dense, FloatType, Module, Op, Value, dtype_of
from transload.ir.build import Builder, constant_of
from transload.ir.verify import verify
from transload.options import typed
from transload.passes.manager import Pipeline
from transload.plugin import Quantized
from transload.shell import quoted
from transload_hub.simplify.constant_products import PRODUCT, constants_to_layers
from transload_hub.simplify.einsum import write_out_einsums
from transload_hub.simplify.recurrent import unroll_recurrent

from . import calibration as calibrations
from .asked import keywords_of, need_known
from .bias import with_biases
from .calibration import Calibration
from .compensation import compensated_floats, moments_of
from .costly import costly, nearer
from .effort import EFFORT, options_for
from .fills import has_far_numbers, without_far_numbers
from .groups import rule_of
from .layers import FLOAT, MODES, Floats, Layers, check_tensors, floats_of, need_agreement, words_of
from .measure import Sample, Spread, some_of
from .names import with_our_names
from .observe import can_be_quantized, observed
from .requantize import begun
from .shifts import corrected_by_means
from .thresholds import Range

__all__ = ["FORMATS", "Format", "by_format", "f8e4m3", "f8e5m2", "held_in", "with_layers_in"]

ROUNDED = 16
"""Samples by which weights are rounded."""
SEARCHED = 4
"""Samples on which it is looked for what had better stay as it is."""
ROOM = 2.0
"""How much farther than on samples an activation may reach: what saturates is lost, and the range costs next to nothing."""
LEAST, MOST = -120, 120
"""Ends of the exponents of scales: normal floats, and so are the numbers that they are multiplied by."""


@dataclass(frozen=True)
class Format:
    """A float of 8 bits."""

    name: str
    element: FloatType
    greatest: float
    """Its greatest finite number."""

    @property
    def word(self) -> str:
        """What a quantize table calls it."""
        return self.name.upper()

    def held(self, numbers: NDArray[np.floating]) -> NDArray[Any]:
        """The nearest numbers of the format, halves to the even one; what is beyond the greatest becomes that."""
        cut: NDArray[np.float32] = np.clip(numbers, -self.greatest, self.greatest).astype(np.float32)
        return cut.astype(dtype_of(self.element))

    def scales(self, farthest: NDArray[np.floating]) -> NDArray[np.float64]:
        """The least powers of two times which the greatest number is no less than `farthest`; 1 where that is zero."""
        exponents = np.ceil(np.log2(np.where(farthest > 0.0, farthest, self.greatest) / self.greatest))
        return np.exp2(np.clip(exponents, LEAST, MOST))


FORMATS = {each.name: each for each in (
    Format("f8e4m3", FloatType("f8E4M3FN"), 448.0), Format("f8e5m2", FloatType("f8E5M2"), 57344.0))}
_BY_WORD = {each.word: each for each in FORMATS.values()}


def held_in(
    module: Module, format: Format, samples: Iterable[Sample] | None = None, *,
    calibration: Calibration | str | Path | None = None, method: str | None = None, rounding: bool = True,
    bias_correction: bool = True, islands: str = "float", floats: Floats = None, layers: Layers | str | Path | None = None,
) -> Quantized:
    """A new module of the hub whose products are of a format's numbers; what stays as it was, and why.

    How far activations reach is said by `calibration`, a table's path too, or measured on `samples` by `method` ("minmax" without
    it). With samples weights are rounded so that their errors make up for each other (`rounding`), biases are corrected where
    that brings the outputs nearer (`bias_correction`), and a few layers that cost most stay as they are (`islands`: "float", or
    "none"). `floats` names layers, by what they compute, that stay as they are, with the reason or without; `layers` says of each
    of some layers in what it is held, a table's path or words by name, F32, F8E4M3 or F8E5M2: then none else stays as it is.
    Raises `UsageError` where there is neither calibration nor a sample, where the calibration lacks a tensor, for names that the
    module does not have and words that there are not, for weights that are no numbers, and where there is no product to hold.
    """
    if islands not in ("float", "none"):
        raise UsageError(f"islands cannot be {islands!r} among floats of 8 bits", hint="float or none")
    written_out = module.clone()
    changed = [write_out(written_out) for write_out in (unroll_recurrent, write_out_einsums, constants_to_layers)]
    module = written_out if any(changed) else module
    if samples is not None and has_far_numbers(module):  # infinities of masks have no range
        some, samples = some_of(samples, 2 * ROUNDED)
        module = without_far_numbers(module, some)
    kept, formats = _asked(module, format, floats, layers)
    check_tensors(module, (*kept, *formats))
    source = with_biases(module) if bias_correction else module
    mapping: dict[Value, Value] = {}
    result = source.clone(mapping)
    layers_there = {name: value.op for name, value in observed(result).items()
                    if value.op is not None and _operands_of(value.op)}
    if not layers_there:
        raise UsageError(
            "no op of the model multiplies floats of known sizes, so there is nothing to quantize",
            hint=f"{format.name} is for the products of Conv, Deconv and MatMul")
    products = {name: name.removesuffix(PRODUCT) for name in layers_there}
    kept |= {name: kept[said] for name, said in products.items() if said in kept}
    formats |= {name: formats[said] for name, said in products.items() if said in formats}
    spread = Spread(samples if samples is not None else (), 2 * ROUNDED)
    ranges = _ranges(module, spread, samples is not None, calibration, method, kept)
    fitted, apart = spread.kept[::2], spread.kept[1::2] or spread.kept
    chosen = {name: (op, formats.get(name, format)) for name, op in layers_there.items() if name not in kept}
    some = fitted if rounding else []
    moments = moments_of(result, [op for op, _ in chosen.values()], some) if some else {}
    work = _Work(ranges, moments, {value: name for name, value in observed(result).items()})
    for name, (op, each) in chosen.items():
        work.change(name, op, each)
    if islands == "float" and layers is None:
        found = costly(result, work.before, apart[:SEARCHED])
        work.undo(found)
        kept |= found
    corrected = False
    if fitted and bias_correction:
        back = {now: before for before, now in mapping.items()}
        shifted = {back[op.result]: op.result for name, (op, _) in chosen.items() if name not in kept}
        moved = corrected_by_means(source, result, shifted, fitted)
        corrected = nearer(source, result, moved, apart[:SEARCHED])
        result = moved if corrected else result
    Pipeline.parse("dce").run(result)
    verify(result)
    return Quantized(result, {**_others(result), **kept}, {**work.told(kept), "bias correction": corrected}, module.clone())


def with_layers_in(module: Module, layers: Layers | str | Path | None, ranges: Mapping[str, Range]) -> Mapping[str, str]:
    """Have layers of a module, which is changed, multiply numbers of the formats that words say, where they compute with floats.

    `ranges` are those of the operands, by name. Gives the words of the layers, by name. Raises `UsageError` for a layer that is
    no product of floats.
    """
    formats = {name: _BY_WORD[word] for name, word in words_of(layers)[0].items() if word in _BY_WORD}
    if not formats:
        return {}
    named = observed(module)
    names = {value: name.removesuffix("/float") for name, value in named.items()}
    work = _Work({name: max(-low, high) for name, (low, high) in ranges.items()}, {}, names)
    for name, format in formats.items():
        op = named[name].op if name in named else None
        if op is None or not _operands_of(op):
            raise UsageError(f"layer {name!r} cannot be held in {format.word}: it is no product of floats",
                             hint="Conv, Deconv and MatMul can; F32, INT16 and INT8 are for all")
        work.change(name, op, format)
    return work.formats


def _asked(
    module: Module, format: Format, floats: Floats, layers: Layers | str | Path | None,
) -> tuple[dict[str, str], dict[str, Format]]:
    """The layers that stay as they are, each with the reason, and those that have a format of their own."""
    kept, formats = floats_of(floats, module), {}
    need_agreement(kept, layers)
    words, said = words_of(layers)
    for name, word in words.items():
        if word in _BY_WORD:
            formats[name] = _BY_WORD[word]
        elif MODES[word] == FLOAT:
            kept.setdefault(name, f"{word} says {said}")
        else:
            raise UsageError(
                f"layer {name!r} cannot be held in {word} beside {format.name}",
                hint=f"F32 or {' or '.join(_BY_WORD)}; integers are for --quantize int8, whose tables take these words, too")
    return kept, formats


def _ranges(
    module: Module, samples: Spread, are_there: bool, calibration: Calibration | str | Path | None, method: str | None,
    floats: Collection[str],
) -> Mapping[str, float]:
    """How far from zero each tensor reaches, by its name; those that stay float may be infinite."""
    calibration = Calibration.of(calibration)
    if calibration is not None:
        if method:
            raise UsageError(f"ranges are those of the calibration, and not chosen by {method!r}",
                             hint="leave out the method, or the table")
        calibration = with_our_names(calibration, observed(module))
        if are_there:
            for _ in samples:  # some are kept on the way
                pass
    elif are_there:
        calibration = calibrations.calibrate(module, samples, method or "minmax", symmetric=True, floats=floats)
    else:
        raise UsageError(
            "floats of 8 bits need samples, or a calibration: how far activations reach decides on their scales",
            hint="--data PATH, or --table FILE; in Python samples=, dicts of arrays by input name, or calibration=")
    return {name: calibration.threshold(name) for name in calibration.ranges}


def _operands_of(op: Op) -> tuple[int, ...]:
    """Which operands of an op are multiplied with each other, where it is a product of floats; else none."""
    rule = rule_of(op)
    if rule is None or rule.weights is None:
        return ()
    both = (0, rule.weights)
    return both if all(can_be_quantized(op.operands[index]) for index in both) else ()


def _others(module: Module) -> dict[str, str]:
    """The ops with weights that are no products of 8 bits, as there is no form for them."""
    return {op.results[0].name or op.name: f"{op.name} is no product of two tensors: its weights stay what they are"
            for op in module.body_of_main if op.name in ("top.LSTM", "top.GRU", "top.RNN") and op.results}


@dataclass
class _Work:
    """The change of one module's products, each tensor once for a format."""

    ranges: Mapping[str, float]
    moments: Mapping[Op, NDArray[np.float64]]
    names: Mapping[Value, str]
    """Of observed tensors."""
    made: dict[tuple[Value, int | None, Format], Value] = field(default_factory=dict)
    """A tensor as numbers of a format, in floats again, by the dimension of its scales."""
    before: dict[str, list[tuple[Op, int, Value]]] = field(default_factory=dict)
    """Of layers the operands that are rounded, and what they were."""
    formats: dict[str, str] = field(default_factory=dict)
    """Of layers, as a quantize table says them."""
    scales: dict[str, float] = field(default_factory=dict)
    bytes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of the weights of layers before, and now."""

    def change(self, name: str, op: Op, format: Format) -> None:
        """Have an op multiply numbers of a format."""
        rule = rule_of(op)
        assert rule is not None
        for index in _operands_of(op):
            value = op.operands[index]
            dense = constant_of(value)
            axis = rule.channels(op) % value.rank if index == rule.weights and dense is not None else None
            if (value, axis, format) not in self.made:
                self.made[value, axis, format] = (
                    self._activation(value, op, format) if dense is None else self._weights(name, dense, value, op, axis, format))
            op.set_operand(index, self.made[value, axis, format])
            self.before.setdefault(name, []).append((op, index, value))
        self.formats[name] = format.word

    def undo(self, names: Iterable[str]) -> None:
        """Have layers multiply what they did before."""
        for name in names:
            for op, index, value in self.before[name]:
                op.set_operand(index, value)
            del self.formats[name]
            self.bytes[name] = (self.bytes.get(name, (0, 0))[0],) * 2

    def _weights(self, name: str, dense: Dense, value: Value, op: Op, axis: int | None, format: Format) -> Value:
        """A constant as bytes of the format, behind a cast to floats and a product with its scales."""
        numbers = dense.numpy().astype(np.float64)
        if not np.isfinite(numbers).all():
            raise UsageError(f"the weights of {name!r} hold infinities, or what are no numbers",
                             hint=f"keep them as floats: --floats {quoted(name)}")
        others = tuple(place for place in range(numbers.ndim) if place != axis)
        scales = format.scales(np.abs(numbers).max(axis=others, keepdims=True, initial=0.0))
        moments = self.moments.get(op) if axis is not None else None
        held = (format.held(numbers / scales) if moments is None
                else compensated_floats(op, numbers, scales, format.held, moments))
        self.bytes[name] = dense.nbytes, held.nbytes + 4 * scales.size
        build = Builder(op.parent, before=op, location=value.name)  # type: ignore[arg-type]
        stored = build.constant(Dense(held), element=format.element)
        real = build.emit("top.Cast", stored, element=value.element, stored=True)
        return _times(build, real, scales)

    def _activation(self, value: Value, op: Op, format: Format) -> Value:
        """A computed tensor rounded to the format, as floats again."""
        name = self.names[value]
        if name not in self.ranges:
            raise UsageError(f"the calibration lacks {name!r}", hint="calibrate the module that is quantized")
        scale = format.scales(np.array(self.ranges[name] * ROOM))
        self.scales[name] = float(scale)
        first = value.op.next if value.op is not None else op  # of arguments and results alike: before all that take it
        build = Builder(op.parent, before=first, location=f"{name}/{format.name}")  # type: ignore[arg-type]
        whole = build.emit("top.Clip", _times(build, value, 1.0 / scale), min=-format.greatest, max=format.greatest)
        small = build.emit("top.Cast", whole, element=format.element)
        return _times(build, build.emit("top.Cast", small, element=value.element), scale)

    def told(self, kept: Mapping[str, str]) -> dict[str, Any]:
        """What a report says: of each layer its format, of each activation the scale, and what weights take."""
        before, now = (sum(each) for each in zip((0, 0), *self.bytes.values(), strict=True))
        counts = {word: list(self.formats.values()).count(word) for word in dict.fromkeys(self.formats.values())}
        said = " and ".join(f"{count} of {word}" for word, count in counts.items())
        return {"notes": [f"products: {said or 'none'} numbers, {len(kept)} as before; all are summed as before"],
                "layers": {**self.formats, **dict.fromkeys(kept, FLOAT)}, "scales": self.scales,
                "weights": {"bytes before": before, "bytes": now, "rounded on samples": bool(self.moments)}}


def _times(build: Builder, value: Value, scales: NDArray[np.float64]) -> Value:
    """A tensor times powers of two; itself where all of them are 1."""
    if (scales == 1.0).all():
        return value
    if scales.size == 1:
        return build.emit("top.MulConst", value, const_val=scales.item())
    return build.emit("top.Mul", value, build.constant(scales.astype(dtype_of(value.element))))


def by_format(format: Format) -> Callable[..., Quantized]:
    """What a `Quantizer` runs for a format: `run(module, samples=None, **options)`; options may be text.

    `effort`: "fast" does not round weights on samples; "best" has nothing else to try.
    """
    def run(module: Module, samples: Iterable[Sample] | None = None, /, effort: str = "default", **options: Any) -> Quantized:
        options = options_for(effort, options, {"rounding": False})
        need_known(f"the quantizer {format.name}", options, [*keywords_of(held_in), EFFORT])
        if "rounding" in options:
            options["rounding"] = typed("rounding", options["rounding"], bool)
        return held_in(begun(module), format, samples, **options)

    return run


f8e4m3, f8e5m2 = map(by_format, FORMATS.values())
