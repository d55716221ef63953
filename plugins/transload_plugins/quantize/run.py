"""The quantizers that are registered: calibrate, look for what eight bits cannot hold, correct biases, quantize."""

from __future__ import annotations

import inspect
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from transload.blas import one_thread
from transload.budget import TimeOver, timed
from transload.errors import UsageError
from transload.ir import Module, TensorType, Value, dtype_of, input_names
from transload.ir.verify import verify
from transload.options import typed
from transload.passes.manager import Pipeline
from transload.plugin import Quantized
from transload_hub.ops.rounding import round_all

from . import calibration as calibrations
from .asked import check_asked, check_learning, keywords_of, need_known, need_used
from .bias import corrections, move_biases, with_biases
from .borders import Which, fixed_by, integers_at, join_casts, take_casts_off
from .calibration import Calibration
from .completing import completed, is_partly_quantized
from .differences import write_out_squared_differences
from .divisors import rounded_to_zero
from .effort import EFFORT, best, options_for
from .equalization import equalized
from .fills import has_far_numbers, lost_beside_fills, without_far_numbers
from .float8 import with_layers_in
from .floating import FLOAT_SCHEMES, FloatScheme, narrowed
from .groups import Groups
from .histogram import Histogram
from .islands import FINE, Form, Held, Islands, find, unlike
from .kept import islands_of, kept_float, nothing_quantized
from .layers import FLOAT, WIDE, Floats, Layers, check_tensors, floats_of, layers_of, need_agreement
from .learning import free_of, learned
from .measure import Sample, Spread, some_of
from .names import with_our_names
from .observe import observed
from .possible import possible
from .quantize import quantize_module, types_of
from .requantize import begun, has_quantized
from .room import roomy
from .rounding import rounded
from .saved import Saved
from .scheme import SCHEMES, Scheme
from .simulation import Measured, Simulation, Types
from .thresholds import Range
from .trained import as_trained
from .written_out import in_pairs, without_normalizations, written_out

__all__ = [
    "Prepared", "bf16", "by_scheme", "calibrate", "f16", "int8", "int8_asym", "int8_per_tensor", "int8_sym", "int16x8",
    "prepared", "quantized", "uint8"]

CORRECTED = 32
"""Samples on which biases are corrected: means settle sooner than ranges."""
LEARNED, KEPT = 256, 1 << 27
"""Samples on which scales are learned, at most, and the bytes of all of them beyond which they are fewer."""
ROUNDED = 16
"""Samples by which weights are rounded."""
ROOMY = 4
"""Samples on which the noise of outputs is measured, where it was not before."""
SEARCHED = 8
"""Samples on which islands are looked for, at most."""


@one_thread()
def quantized(
    module: Module, scheme: Scheme, samples: Iterable[Sample] | None = None, *,
    calibration: Calibration | str | Path | None = None, method: str | None = None, bias_correction: bool = True,
    equalization: bool = True, rounding: bool = True, polish: bool = False, learning: bool = False, room: bool = True,
    floats: Floats = None, layers: Layers | str | Path | None = None, quant_input: Which = None, quant_output: Which = None,
    islands: Form | Held = "mixed", fine: float = FINE, per_channel: bool | None = None, power_of_two: bool | None = None,
    rounds: str | None = None, resume: Saved | str | Path | None = None,
) -> Quantized:
    """A new module of the hub that computes with integers wherever there is a rule for it; what stays float, and why.

    The ranges are those of `calibration`, a table's path too, or measured on `samples`, dicts of arrays by input name, by
    `method` ("mse"), after channels were brought to like ranges (`equalization`), which a calibration that was made before would
    not fit. With samples weights are rounded so that their errors make up for each other (`rounding`), with `polish` one by one
    until no other rounding of one is better, with `learning` ranges and scales of weights are learned (saved now and then in the
    file `resume`, from which a run that was ended goes on), biases are corrected,
    outputs may reach farther than they did on samples where that costs next to nothing (`room`), and tensors that eight bits
    cannot hold are looked for: `islands` says what these may become (`FORMS`), or which they are (`Held`), `fine` from how many
    decibels of the outputs on none are looked for. `floats` names tensors that are to stay float,
    with the reason or without; `layers` says of each of some layers in what it is held, a table's path or words of `layers.MODES`
    by name, and then nothing is looked for. Inputs and outputs are float but for those that `quant_input` and `quant_output`
    name, or "all". `per_channel` and `power_of_two` change the scheme: a scale for each channel of weights, scales that are
    powers of two. `rounds` is how products that are scaled become integers, where that is not as LiteRT does it, a word of
    `transload_hub.ops.rounding`: "once", as onnxruntime does. A table that training made is taken as it is, and nothing is looked
    for (`trained`). Raises `UsageError` where there is neither calibration nor a sample, where the calibration lacks a tensor,
    for names that the module does not have, and for a module that is quantized already.
    """
    scheme = scheme.changed(per_channel=per_channel, power_of_two=power_of_two, exact_biases=rounds == "once" or None)
    held, form = (islands, islands.form) if isinstance(islands, Held) else (None, islands)
    check_asked(module, form, rounds, calibration is not None or samples is not None, calibration is not None and method, fine)
    check_learning(learning, samples is not None, calibration is not None, resume)
    need_used(polish=polish, rounding=rounding, fine=fine, islands=form if held is None else "mixed", layers=layers is not None,
              samples=samples is not None, learning=learning, power_of_two=scheme.power_of_two)
    calibration = Calibration.of(calibration)
    module = in_pairs(written_out(module), calibration)
    kept, wide = _said(module, scheme, floats, layers)
    made = _taken_as_it_is(module, scheme, samples, calibration, kept, wide, method=method, quant_input=quant_input,
                           quant_output=quant_output, rounds=rounds)
    if made is not None:
        return made
    known = set(observed(module))
    if form == "int16" and calibration is None:
        module, parts = without_normalizations(module)
        wide |= parts
        known = {value.name for value in observed(module).values() if value.name is not None and value.name not in parts}
    looks = bias_correction or rounding or form != "none"
    ready = _prepared(module, scheme, samples, calibration, method, equalization=equalization, looks=looks, floats=kept,
                      learns=learning)
    real = quant_output in (None, False)
    free = real and form in ("mixed", "float") and scheme.activations.width == 8 and layers is None
    given_up = {**(unlike(ready.module, ready.ranges) if free else {}), **kept}
    if held is not None:
        given_up, wide = {**given_up, **held.floats}, {**wide, **held.wide}
    work = _Work(ready.module, scheme, ready.ranges, given_up, wide, quant_input, quant_output)
    work.told["notes"] = _notes(ready)
    if ready.scaled:
        work.told["scaled"] = ready.scaled
    looked = "none" if layers is not None or held is not None else form
    work.improve(ready, rounding=rounding, polish=polish, islands=looked, fine=fine, learning=learning,
                 bias_correction=bias_correction, room=room, resume=resume)
    return work.finished(ready.module, known, rounds, layers)


def _said(
    module: Module, scheme: Scheme, floats: Floats, layers: Layers | str | Path | None,
) -> tuple[dict[str, str], dict[str, str]]:
    """Tensors that are to stay float, with the reasons, and those of 16 bits, by `floats` and `layers`, which have to agree."""
    kept, wide = layers_of(layers, module, scheme.activations.width)
    named = floats_of(floats, module)
    check_tensors(module, named)
    need_agreement(named, layers)
    return {**kept, **named}, wide


def _taken_as_it_is(
    module: Module, scheme: Scheme, samples: Iterable[Sample] | None, calibration: Calibration | None, kept: Mapping[str, str],
    wide: Collection[str], *, method: str | None, quant_input: Which, quant_output: Which, rounds: str | None,
) -> Quantized | None:
    """A model whose types are said, by a table that training made or by itself in part, for which nothing is looked for; None of
    any other."""
    is_trained = calibration is not None and bool(calibration.mode)
    if not is_trained and not is_partly_quantized(module):
        return None
    if wide:
        what = "the table is of a model that was trained" if is_trained else "the model is quantized in part,"
        raise UsageError(f"{what} in 8 bits, and layers are to have 16", hint="leave them out, or say F32 for them")
    if calibration is not None and is_trained:
        return as_trained(module, scheme, calibration, samples, kept,
                          quant_input=quant_input, quant_output=quant_output, rounds=rounds)
    if calibration is not None:
        calibration = with_our_names(calibration, observed(module))
        _check_names(module, calibration)
    return completed(module, scheme, samples, calibration, kept, method=method,
                     quant_input=quant_input, quant_output=quant_output, rounds=rounds)


@dataclass(frozen=True)
class Prepared:
    """A float module, and what is known of it whatever its layers will be held in."""

    module: Module
    """Its recurrent layers written out, its channels brought to like ranges where that was asked for."""
    scheme: Scheme
    calibration: Calibration
    ranges: Mapping[str, Range]
    samples: Spread
    given: bool
    """Whether the calibration is the caller's: its ranges are not changed."""
    every: Spread
    """Those of the samples by which ranges are learned, which may be more."""
    weights: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Those that were rounded otherwise than to the nearest (`rounding`)."""
    scaled: Mapping[str, Any] = field(default_factory=dict)
    """What channels were divided by, as `Quantized.report` says it."""

    @one_thread()
    def quantized(self, floats: Mapping[str, str], wide: Mapping[str, str]) -> Quantized:
        """The module with these tensors float or of 16 bits, each with the reason, and all others in 8 bits, as `quantized` makes
        it where layers are said by name."""
        known = set(observed(self.module))
        work = _Work(self.module, self.scheme, self.ranges, dict(floats), dict(wide))
        work.weights = self.weights
        if self.samples.kept:
            work.correct(self.samples.kept)
            if not self.given:
                work.make_room(self.samples.some(SEARCHED), self.calibration.histograms)
        return work.finished(self.module, known, None)


@one_thread()
def prepared(
    module: Module, scheme: Scheme, samples: Iterable[Sample], calibration: Calibration | str | Path | None = None,
    method: str | None = None,
) -> Prepared:
    """What `quantized` finds out first, for who quantizes a module many times, with other layers each. Raises as that does."""
    check_asked(module, "none", None, True, calibration is not None and method)
    calibration = Calibration.of(calibration)
    ready = _prepared(in_pairs(written_out(module), calibration), scheme, samples, calibration, method)
    work = _Work(ready.module, scheme, ready.ranges, {}, {}, True)
    if ready.samples.kept:
        work.round(ready.samples.some(ROUNDED))
    return replace(ready, weights=work.weights)


def _prepared(
    module: Module, scheme: Scheme, samples: Iterable[Sample] | None, calibration: Calibration | str | Path | None,
    method: str | None, *, equalization: bool = True, looks: bool = True, floats: Collection[str] = (),
    learns: bool = False,
) -> Prepared:
    """`looks` says whether samples are needed beside a calibration that is given; `floats` names tensors that stay float,
    `learns` says whether ranges are going to be learned, for which more samples are kept."""
    given = calibration is not None
    scaled: dict[str, Any] = {}
    calibration = Calibration.of(calibration)
    if calibration is not None:
        calibration = with_our_names(calibration, observed(module))
        module = without_far_numbers(module, table=calibration.ranges)
    elif samples is not None and has_far_numbers(module):
        some, samples = some_of(samples, CORRECTED)
        module = without_far_numbers(module, some)
    if equalization and not given and samples is not None:
        some, samples = some_of(samples, CORRECTED)
        module = equalized(module, some, scheme.activations.width, scheme.symmetric, lambda name, axis, factors: scaled.update(
            {name: {"axis": axis, "factors": [float(np.float32(factor)) for factor in factors]}}))
    every = Spread(samples if samples is not None else (), _most_kept(module) if learns else CORRECTED)
    spread = Spread(every, CORRECTED)
    calibration = calibration if calibration is not None else calibrations.calibrate(
        module, spread, method or "mse", bits=scheme.activations.width, symmetric=scheme.symmetric, floats=floats)
    if not spread.kept and looks:
        deque(spread, maxlen=0)
    _check_names(module, calibration)
    ranges = calibration.kept(scheme.symmetric)
    return Prepared(
        module, scheme, calibration, ranges if given else possible(module, ranges), spread, given, every, scaled=scaled)


def _most_kept(module: Module) -> int:
    """How many samples of a module are kept to learn on."""
    size = sum(math.prod(type_.static_shape) * dtype_of(type_.element).itemsize
               for type_ in module.inputs.values() if isinstance(type_, TensorType) and type_.is_static)
    return max(CORRECTED, min(LEARNED, KEPT // max(size, 1)))


def _check_names(module: Module, calibration: Calibration) -> None:
    """`UsageError` where a tensor has no line. Lines of no tensor are none: TPU-MLIR has tensors that are parts of ops here."""
    names = observed(module)
    missing = [name for name in names if name not in calibration.ranges]
    unknown = [name for name in calibration.ranges if name not in names]
    if missing:
        what = [f"lacks {', '.join(map(repr, missing[:5]))}{' and more' if missing[5:] else ''}"]
        what += [f"names {', '.join(map(repr, unknown[:5]))}, which the module does not have"] if unknown else []
        raise UsageError(f"the calibration {' and '.join(what)}", hint="calibrate the module that is quantized")


def _notes(ready: Prepared) -> list[str]:
    """What is to be told of the ranges: an input that was one number alone says that the samples, or the table, are not right."""
    there = observed(ready.module)
    found = [f"the table names {name!r}, which the model does not have" for name in ready.calibration.ranges if name not in there]
    for name in input_names(ready.module.main):
        seen = ready.calibration.histograms.get(name)
        low, high = (seen.low, seen.high) if seen is not None and seen.total else ready.ranges.get(name, (0.0, 1.0))
        if low == high:
            where = "in the table" if ready.given else "on all samples"
            found.append(f"input {name!r} is {low:g} {where}, and its integers hold no other number")
    return found


class _Work:
    """A float module on its way, with what was decided for its tensors, by name."""

    def __init__(
        self, module: Module, scheme: Scheme, ranges: Mapping[str, Range], floats: dict[str, str], wide: dict[str, str],
        inputs: Which = None, outputs: Which = None,
    ) -> None:
        """`inputs` and `outputs` of integers are integers, too; others are floats, whatever they are held in before or behind."""
        self.module = with_biases(module)
        self.scheme = scheme
        self.ranges = self._calibrated = ranges
        self.floats = floats
        self.wide = wide if scheme.activations.width == 8 else {}
        self.weights: Mapping[str, np.ndarray] = {}
        """Those that were rounded otherwise than to the nearest, by what their op computes."""
        self.inputs, self.outputs = inputs, outputs
        self.islands: list[str] = []
        """The tensors that were found to stay float."""
        self.told: dict[str, Any] = {"notes": []}
        """Measured on the way, for the report."""
        self._saved = Saved()
        """What is removed at the end."""
        self._simulation: Simulation | None = None
        self._measured: Measured | None = None
        """What the simulation found last, of the types that there are now."""

    @property
    def simulation(self) -> Simulation:
        """The module beside its quantized form, without what stays float so far."""
        if self._simulation is None:
            named = observed(self.module)
            self._simulation = Simulation(
                self.module, self.scheme, self._groups(named),
                {named[name]: array for name, array in self.weights.items()})
        return self._simulation

    def _groups(self, named: Mapping[str, Value]) -> Groups:
        """The groups of the module, whose tensors are `named`, but for what stays float so far."""
        integers = integers_at(self.module, self.inputs, self.outputs)
        return Groups(self.module, {named[name] for name in self.floats}, integers)

    def types(self, wide: Collection[str]) -> Types:
        """Of the groups of the simulation, whose module is this one but for its biases."""
        return types_of(self.scheme, self.simulation.groups, observed(self.simulation.module), self.ranges, wide)

    def improve(
        self, ready: Prepared, *, rounding: bool, polish: bool, islands: Form, fine: float, learning: bool,
        bias_correction: bool, room: bool, resume: Saved | str | Path | None,
    ) -> None:
        """What samples allow, as far as it is asked for, in order; see `quantized`.

        What comes before learning, and what comes behind it, ends with the seconds of an execution (`Allowance`): models of
        thousands of small ops would take hours. Learning takes the time that it takes, is told and can be resumed.
        """
        kept, narrow = ready.samples.kept, self.scheme.activations.width == 8
        if not kept:
            self.keep_divisors(ready.calibration, islands)
            return

        def look() -> None:
            if rounding:
                self.round(ready.samples.some(ROUNDED), polish)
            if islands in ("mixed", "float") or (islands == "int16" and narrow):  # beyond 16 bits there are floats alone
                self.look_for_islands(ready.samples.some(SEARCHED), islands if narrow else "float", fine)

        def move() -> None:
            if bias_correction:
                self.correct(kept)
            if room and not ready.given and narrow:
                self.make_room(ready.samples.some(SEARCHED), ready.calibration.histograms)

        looked = self._in_time(look, "rounding weights, looking for islands, and what else moves biases and ranges")
        self.keep_divisors(ready.calibration, islands)
        if learning:
            self.learn(ready.every.kept, bias_correction, resume)
        if bias_correction:
            self.told["bias correction"] = False
        if looked:
            self._in_time(move, "correcting biases and giving outputs room")

    def _in_time(self, improve: Callable[[], None], what: str) -> bool:
        """Do what ends when the time is over, with a note of what was not done to its end; whether all was."""
        try:
            with timed():
                improve()
        except TimeOver as error:
            self.told["notes"].append(f"{what} did not come to an end in time: {error.hint}")
            return False
        return True

    def round(self, samples: Sequence[Sample], polish: bool = False) -> None:
        self.weights = rounded(self.module, self.scheme, self._groups(observed(self.module)), samples, polish)

    def look_for_islands(self, samples: Sequence[Sample], forms: Form, fine: float) -> None:
        if not observed(self.module):  # a model of integers alone
            return
        every = self.types(list(observed(self.module)))
        simulation = self.simulation
        there = set(observed(simulation.module).values())
        fixed = fixed_by(simulation.module, simulation.groups, there, self.inputs, self.outputs)
        found = find(simulation, self.types(()), every, samples, forms, self.outputs in (None, False), fine, fixed)
        islands = self._named(found, found.floats)
        if islands and found.usable and not self._leaves_integers(islands):
            self.told["notes"].append(
                f"the tensors best left float are all that there are: they have 8 bits, with {found.whole:.1f} dB at the "
                "outputs; `--quantizer-option effort=best`, int16x8 or --floats NAME may lose less")
            return
        self.wide |= self._named(found, found.wide)
        if islands:
            self.islands += islands
            self.floats |= islands
            self._simulation = None

    def keep_divisors(self, calibration: Calibration, forms: Form) -> None:
        """Leave float what integers would round to 0 and floats divide by, where tensors may stay float."""
        if forms not in ("mixed", "float") or not observed(self.module):
            return
        named, seen = observed(self.module), dict(calibration.ranges)
        groups = self._groups(named)
        seen |= {name: (held.low, held.high) for name, held in calibration.histograms.items() if held.total}
        fixed = fixed_by(self.module, groups, set(named.values()), self.inputs, self.outputs)
        types = types_of(self.scheme, groups, named, self.ranges, self.wide)
        found = {name: why for name, why in rounded_to_zero(groups, named, types, seen, self.scheme).items()
                 if groups.root(named[name]) not in fixed}
        if found:
            self.islands += found
            self.floats |= found
            self.wide = {name: why for name, why in self.wide.items() if name not in found}
            self._simulation = self._measured = None

    def _leaves_integers(self, islands: Mapping[str, str]) -> bool:
        """Whether something is still computed in integers where these stay float: one group may be of hundreds of tensors."""
        made = quantize_module(self.module, self.scheme, self.ranges, {**self.floats, **islands}, self.wide, self.weights,
                               self.inputs, self.outputs)
        take_casts_off(made, self.inputs, self.outputs, self.floats, [*self.islands, *islands])
        Pipeline.parse("dce").run(made)
        return has_quantized(made)

    def _named(self, found: Islands, roots: Mapping[Value, str]) -> dict[str, str]:
        root = self.simulation.groups.root
        return {name: roots[root(value)] for name, value in observed(self.module).items() if root(value) in roots}

    def report(self, known: Collection[str]) -> dict[str, Any]:
        """What to tell of it, layers by the names that are `known` of the model."""
        held = {**dict.fromkeys(self.floats, FLOAT), **dict.fromkeys(self.wide, WIDE)}
        groups = Groups(self.module)
        cut = [name for name, value in observed(self.module).items() if groups.is_cut(value)]
        return {
            "islands of 16 bits": self.wide, "layers": {name: word for name, word in held.items() if name in known},
            **({"cut": cut} if cut else {}), **self.told}

    def learn(self, samples: Sequence[Sample], corrected: bool, resume: Saved | str | Path | None) -> None:
        """Other ranges, and weights of other scales, where those that are learned bring the outputs nearer on the samples.

        `corrected` says whether biases are going to be, by which both are then judged.
        """
        if not observed(self.module) or not self.simulation.roots:  # all that there is stays float
            return
        simulation, before = self.simulation, (self.ranges, self.weights)
        shifts, noise = self._judged(samples, corrected)
        types = self.types(self.wide)
        free = free_of(simulation, types, self.ranges)
        found, saved = learned(simulation, types, free, samples, shifts, resume)
        if not isinstance(resume, Saved):  # what is the caller's stays
            self._saved = saved
        self.ranges, self.weights = found.applied(simulation, *before)
        self.ranges, self._simulation = possible(self.module, self.ranges), None
        _, less = self._judged(samples, corrected)
        kept = less < noise
        self.told["learned"] = {
            "kept": kept, "decibels": [-10 * math.log10(noise), -10 * math.log10(less)], "samples": len(samples),
            "ranges": {name: [before[0][name], held] for name, held in self.ranges.items() if held != before[0][name]},
            "scales": found.told(simulation)}
        if not kept:
            (self.ranges, self.weights), self._simulation = before, simulation

    def _judged(self, samples: Sequence[Sample], corrected: bool) -> tuple[np.ndarray | None, float]:
        """What biases are corrected by, and the noise of the outputs on the samples that is left."""
        types = self.types(self.wide)
        shifts = corrections(self.simulation, types, samples[:: max(1, len(samples) // CORRECTED)])[0] if corrected else None
        return shifts, self.simulation.measure(types, samples, shifts).typical(self.simulation.judged)

    def correct(self, samples: Sequence[Sample]) -> None:
        """Move the biases of the module, where that brings its outputs nearer."""
        if not observed(self.module):
            return
        types = self.types(self.wide)
        shifts, self._measured = corrections(self.simulation, types, samples)
        self.told["bias correction"] = shifts is not None
        if shifts is not None:
            mapping: dict[Value, Value] = {}
            self.module = self.module.clone(mapping)
            move_biases(self.simulation, shifts, mapping)

    def finished(
        self, source: Module, known: Collection[str], rounds: str | None, layers: Layers | str | Path | None = None,
    ) -> Quantized:
        """The module of integers. `source` is what its tensors stand for.

        `layers` says which of those that are no integers have floats of 8 bits.
        """
        result = quantize_module(self.module, self.scheme, self.ranges, self.floats, self.wide, self.weights,
                                 self.inputs, self.outputs)
        small = with_layers_in(result, layers, self.ranges)
        write_out_squared_differences(result)
        self.told["notes"] += take_casts_off(result, self.inputs, self.outputs, self.floats, self.islands)
        join_casts(result)
        if rounds is not None:
            round_all(result, rounds, anew=True)
        Pipeline.parse("dce").run(result)  # the float weights, casts that nobody takes
        verify(result)
        self.told["notes"] += lost_beside_fills(self.module, self._calibrated, partial(self._bits, observed(result)))
        if not has_quantized(result):
            nothing = nothing_quantized(result, self.islands, self.inputs, self.outputs)
            self.told |= {"notes": [*self.told["notes"], *nothing], "nothing quantized": nothing}
        report = self.report(known)
        report["layers"] = {**report["layers"], **small}
        self._saved.finish()
        return Quantized(result, kept_float(result, self.floats), report, source, self.wide)

    def _bits(self, left: Collection[str], name: str) -> int | None:
        """How many bits a tensor is held in; None where it is to stay float, or is `left` so since nothing but moves it."""
        return None if name in self.floats or name in left else 16 if name in self.wide else self.scheme.activations.width

    def make_room(self, samples: Sequence[Sample], seen: Mapping[str, Histogram]) -> None:
        """Let outputs reach farther than on the samples, where that costs next to nothing."""
        if not observed(self.module):
            return
        types = self.types(self.wide)
        measured = self._measured or self.simulation.measure(types, samples[:: max(1, len(samples) // ROOMY)])
        self.ranges = possible(self.module, {**self.ranges, **roomy(self.simulation, types, measured, self.ranges, seen)})


def by_scheme(scheme: Scheme | FloatScheme) -> Callable[..., Quantized]:
    """What a `Quantizer` runs for a scheme: `run(module, samples=None, **options)`; see `quantized` and `narrowed` for options.

    A plugin declares a scheme of its own so: `nibbles = by_scheme(Scheme("w4", weights=IntegerType(4)))`, and registers
    `Quantizer("w4", "its.module:nibbles")`. Options may be text, as the command line gives them.
    """
    function: Callable[..., Quantized] = narrowed if isinstance(scheme, FloatScheme) else quantized

    def plain(module: Module, samples: Iterable[Sample] | None = None, /, **options: Any) -> Quantized:
        return function(begun(module), scheme, samples, **_typed(f"the quantizer {scheme.name}", function, options))

    def run(module: Module, samples: Iterable[Sample] | None = None, /, **options: Any) -> Quantized:
        effort = options.pop(EFFORT, "default") if function is quantized else "default"
        options = options_for(effort, options)
        if effort != "best":
            return plain(module, samples, **options)
        return best(plain, module, samples, options, hold=partial(islands_of, options))

    return run


int8, int8_asym, int8_sym, int8_per_tensor, int16x8, uint8 = (
    by_scheme(SCHEMES[name]) for name in ("int8", "int8-asym", "int8-sym", "int8-per-tensor", "int16x8", "uint8"))
f16, bf16 = map(by_scheme, FLOAT_SCHEMES.values())


def _typed(what: str, function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a function's keywords want them: words for true and false, and numbers, read. `UsageError` for unknown ones."""
    _refuse_unknown(what, function, options, (EFFORT,) if function is quantized else ())
    parameters = inspect.signature(function).parameters
    options = {name: value for name, value in options.items() if value is not None or parameters[name].default is not None}
    said = {name: str(parameters[name].annotation).removesuffix(" | None") for name in options}
    kinds = {name: next((kind for kind in (bool, float) if text.startswith(kind.__name__)), str) for name, text in said.items()}
    plain = {name: {"bool": bool, "int": int, "float": float, "str": str}.get(text) for name, text in said.items()}
    return {name: typed(name, value, kind) if (kind := kinds[name] if isinstance(value, str) else plain[name]) else value
            for name, value in options.items()}


def _refuse_unknown(
    what: str, function: Callable[..., Any], options: Mapping[str, Any], others: Sequence[str] = (),
) -> None:
    """`UsageError` for options that are no keywords of a function's, and none of `others`, which its caller takes."""
    need_known(what, options, [*keywords_of(function), *others])


def calibrate(module: Module, samples: Iterable[Sample], method: str, /, **options: Any) -> Calibration:
    """The ranges of a module's tensors by a method; see `calibration.calibrate`."""
    _refuse_unknown(f"the method {method}", calibrations.calibrate, options)
    module = in_pairs(written_out(module), None)
    if "floats" in options:
        options["floats"] = floats_of(options["floats"], module)
        check_tensors(module, options["floats"])
    if has_far_numbers(module):
        some, samples = some_of(samples, CORRECTED)
        module = without_far_numbers(module, some)
    return calibrations.calibrate(module, samples, method, **options)
