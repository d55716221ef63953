"""Verifying a conversion that quantized: the integers are judged, what quantizing cost is told.

Judged is whether the result computes what the quantized module of the hub does, on the same inputs: to the bit where all is
integers between the inputs and the outputs, within the tolerance where ops stayed float. What rounds on its own
(`Target.rounds_alone`) has to stay as near to the integers as these are to the float model, and what a target's runtime computes
within what the target says is near enough (`Target.tolerance`). Where activations may be rounded as the model runs
(`bounds.DYNAMIC`), a target's own runtime may lose `AS_IT_RUNS` times as much as the weights did, or `TWICE` as much as
activations lose that are rounded in the hub. What is farther is near enough by limits that somebody set of the same tensors. How
near the result is to the float model, run by its own framework, is told over all samples (SQNR, cosine, agreement), and judged
only by such limits, and by whether what is finite there is finite.

The quantized module is made of the float one in the hub, and has what is wrong with that. So the float module is compared with
the source's runtime as the result of a conversion without quantizing is (`verify_conversion`), on one sample that varies: it has
to be right by the same tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.choices import chosen_outputs
from ..budget import VARIABLE, allowance
from ..engine.steps import elements_of
from ..errors import MissingKernel, PluginFailure, after_colon
from ..ir import FloatType, Module, QuantType, TensorType, Value, initial_states
from ..meanings import as_stored
from ..report import POOR, QuantizedOutput
from .bounds import has_bounds, rounded_as_it_runs
from .differences import TensorDifference, compare_outputs, is_counted, not_measured
from .exact import exact_outputs
from .fineness import narrow_steps, output_steps
from .float_model import FloatModel, Outputs, QuantizedModel, named_inputs, real_outputs, runs_from_first
from .information import attempts, is_informative
from .inputs import checked_inputs
from .last_bits import excused_by_last_bits, moved, still_inputs, still_weights, with_moved_weights
from .limits import breaks_usual, broken_limits
from .not_finite import agreement, no_longer_finite
from .offsets import unit_of_module
from .reciprocals import HALVES, by_reciprocals
from .running import OwnRuntime, Running
from .several_runs import as_near_as_floats, beside_floats, compare_runs, joined, of_other_shapes
from .steady import always_same
from .tolerance import Tolerance, limit_texts
from .verify import Verification, verify_conversion

if TYPE_CHECKING:
    from ..postprocess import Postprocess
    from ..samples.fused import Fused

__all__ = ["QuantizedModel", "limits_only", "verify_quantized", "verify_quantized_conversion"]

SAMPLES = 16
"""On how many a result is run."""
NUMBERS = 256
"""Of an output: so many errors of chance say how large such are, within an eighth or so."""
ROUNDINGS = 64.0
"""Of a step: what roundings of floats stay below, and no integer does."""
FLOATS = 2.0**-20
"""Of an output's root mean square: what roundings of floats stay below, and quantizing to 16 bits does not."""
AS_IT_RUNS = 4.0
"""How many times what weights of 8 bits lose, a scale for each channel, is lost by activations that a runtime rounds to 8 bits as
it runs, at most: they have one range for the tensor, of which most numbers take a small part."""
TWICE = 2.0
"""How many times what activations of 8 bits lose in the hub they lose in a runtime at most: where few decide all, these may be
rounded the other way there."""
TOLD = 3
"""Outputs that are named."""
NO_LIMIT = np.iinfo(np.int64).max
"""Steps that integers may differ by, of which nobody says how many."""
def verify_quantized(
    model: QuantizedModel, running: Running, *, samples: Iterable[Mapping[str, Any]] | None = None, seed: int = 0,
    tolerance: Tolerance | None = None, limits: Tolerance | None = None, reference: FloatModel | None = None,
) -> Verification:
    """Run the result, the quantized module of the hub and the float model on the first of the samples, or one random input.

    The result has to give what the quantized module does, within `tolerance` where that computes with floats, too; and what is
    within `limits` of the float model, where there are some. Where runtimes round on their own, what is within these of the
    quantized module is near enough; and of integers, what is no more steps away than they say. A module that rounds floats to few
    bits moves by last bits of its inputs: no result has to be nearer than that. `reference` is the float model, if it is ready.
    """
    given = samples if samples is not None else _drawn(model, seed, running.own is not None)
    judge = runs_from_first(model.module)
    reference = reference if reference is not None else FloatModel(model, running.engine)
    inputs = [checked_inputs(model.taken, {**initial_states(model.taken), **sample}) for sample in islice(given, SAMPLES)]
    runs = [_on(arrays, model, judge, running, reference) for arrays in inputs]
    taken, wanted, actual, floats = ([run[place] for run in runs] for place in range(4))
    integers = compare_runs(wanted, actual)
    rounded = _rounded_as_it_runs(model.module, taken) if running.own is not None and has_bounds(model.module) else None
    rounds_alone = running.own is not None and (running.own.rounds_alone or rounded is not None)
    if rounds_alone:
        broken = of_other_shapes(integers, tolerance) or _farther_than_quantizing(
            model.module, joined(floats), joined(wanted), joined(actual), tolerance or Tolerance(), limits, rounded)
    else:
        own = running.own.tolerance if running.own is not None else ()
        breaks = partial(_broken, model, tolerance=tolerance or Tolerance(), own=own, limits=limits)
        broken = breaks(joined(wanted), integers)
        if broken and model.is_integer:
            if (multiplied := _beside_multiplied(model.module, judge, taken, actual, breaks)) is not None:
                broken, integers = [], multiplied
                running.notes.append("the same where inputs are multiplied by the reciprocals of scales, not divided by scales")
        elif broken and _move_as_far(model.module, judge, zip(taken, wanted, actual, strict=True), tolerance or Tolerance()):
            broken = []
            running.notes.append("no farther from the quantized module than last bits of its inputs move that")
    undefined = next(filter(None, map(reference.leaves_open, inputs)), "") if broken else ""
    broken = [] if undefined else broken
    padded = reference.padded if not rounds_alone else as_near_as_floats(reference.padded, integers, tolerance or Tolerance())
    real = [real_outputs(model.module, each) for each in actual]
    beside = beside_floats(floats, real, padded)
    lost = no_longer_finite(floats, wanted, real, tolerance.excepts if tolerance is not None else ())
    broken = [*broken, *(lost.run if samples is not None else ())]
    cost = [*(lost.quantized if samples is not None else ()), *(() if limits is None else (
        f"{reason}, beside the float model" for tensor in beside for reason in broken_limits(tensor, limits)))]
    is_costly, broken = bool(cost) and not broken, [*broken, *cost]
    verdict = Verification(
        "failed" if broken else "passed", "", "the quantized module", running.used, integers, broken,
        notes=[*running.notes, *reference.notes, *not_measured([*integers, *beside]), *_unjudged(beside, limits),
               f"beside the float model, run by {reference.who}"],
        samples=len(actual), is_costly=is_costly)
    verdict.excepts = [name for name in actual[0] if tolerance is not None and name in tolerance.excepts]
    verdict.quantized = [
        QuantizedOutput(each.name, each.dtype, list(each.shape), each.metrics, each.equal, agreement(name, floats, actual))
        for each, name in zip(beside, actual[0], strict=True)]
    if not broken:
        others = of_other_shapes((each for each in beside if each.name not in padded), tolerance)
        others += [*lost.quantized, *lost.run]
        _say_what_is_open(verdict, others, _telling(model.module, taken, wanted), limits)
        if undefined:
            verdict.status, verdict.why = "inconclusive", undefined
    return verdict


def _on(
    arrays: Mapping[str, np.ndarray], model: QuantizedModel, judge: Any, running: Running, reference: FloatModel,
) -> list[Outputs]:
    """What the quantized module is fed of a sample, and what it, the result and the float model make of that."""
    fed = _stored(model.module, arrays.values())
    return [fed, judge(fed), running(fed), reference(arrays)]


def _say_what_is_open(verdict: Verification, others: list[str], telling: set[int], limits: Tolerance | None) -> None:
    """Have a verdict say that nothing is known: of `others`, of other shapes than the floats' or not finite on drawn inputs, or
    where no output is `telling`."""
    if others or not telling:
        told = f"beside the float model, {'; '.join(others[:TOLD])}"
        verdict.status = "inconclusive"
        verdict.why = told if others else "the outputs are the same whatever is computed, on all samples"
    elif limits is None:
        verdict.why = _poor(verdict.quantized, verdict.excepts)


def _telling(module: Module, taken: list[Outputs], wanted: list[Outputs]) -> set[int]:
    """The places of the outputs that say something on all samples together."""
    chosen, same = chosen_outputs(module), always_same(*([[*each.values()] for each in runs] for runs in (taken, wanted)))
    return {place for place, array in enumerate(joined(wanted).values()) if is_informative(array, place in chosen)} - same


def _drawn(model: QuantizedModel, seed: int, runs: bool) -> Iterator[Mapping[str, Any]]:
    """Random inputs: one, or, of a model whose activations a runtime rounds as it `runs`, so many that each output has `NUMBERS`.

    Of such a model two errors of chance are compared, and of five numbers one may be six times the other.
    """
    types = [type_ for type_ in model.module.outputs.values() if isinstance(type_, TensorType)]
    shapes = [type_.shape or () for type_ in types if isinstance(type_.element, FloatType | QuantType)]
    sizes = [math.prod(size or 1 for size in shape) for shape in shapes]
    least = min(sizes, default=NUMBERS)
    wanted = min(SAMPLES, -(-NUMBERS // least)) if runs and has_bounds(model.module) else 1
    return (next(attempts(model.taken, model.floats, seed + number)) for number in range(wanted))


def _poor(outputs: Iterable[QuantizedOutput], excepts: Collection[str]) -> str:
    """What a passed verdict says of outputs far from the float model's, for which no limit was asked; '' where all are near."""
    far = {each.name: each.metrics["sqnr"] for each in outputs if each.name not in excepts and not _is_near(each)}
    told = ", ".join(f"{name} {decibels:.1f} dB" for name, decibels in sorted(far.items(), key=lambda item: item[1])[:TOLD])
    more = f" and {len(far) - TOLD} more outputs" if len(far) > TOLD else ""
    return f"poor: {told}{more} beside the float model; no limit was asked for (--tolerance sqnr={POOR:g} is one)" if far else ""


def _unjudged(outputs: Iterable[TensorDifference], limits: Tolerance | None) -> list[str]:
    """A note of the outputs of which no limit that was asked for says anything."""
    if limits is None or limits.integer < NO_LIMIT:
        return []
    asked = dict(limits.others)
    names = [each.name for each in outputs
             if is_counted(np.dtype(each.dtype)) and each.name not in limits.excepts and not asked.keys() & each.metrics.keys()
             and (each.dtype != "bool" or limits.truths == 1.0)]
    said = ", ".join(map(repr, names[:TOLD])) + (f" and {len(names) - TOLD} more" if len(names) > TOLD else "")
    return [f"no limit that was asked for judges {said}, indices, masks or counts: --tolerance integer=0 does"] if names else []


def _is_near(output: QuantizedOutput) -> bool:
    return "sqnr" not in output.metrics or output.metrics["sqnr"] >= POOR


def _rounded_as_it_runs(module: Module, taken: Iterable[Mapping[str, np.ndarray]]) -> Outputs:
    """The outputs of a module that rounds its activations to 8 bits where a runtime may."""
    run = runs_from_first(rounded_as_it_runs(module))
    return joined([run(fed) for fed in taken])


def _stored(module: Module, arrays: Iterable[np.ndarray]) -> dict[str, np.ndarray]:
    """The float inputs of the model as the quantized module takes them: stored integers where its inputs are quantized."""
    return as_stored(named_inputs(module, arrays), module.inputs)


def _broken(
    model: QuantizedModel, wanted: Outputs, tensors: list[TensorDifference], tolerance: Tolerance, own: Iterable[str],
    limits: Tolerance | None,
) -> list[str]:
    """What is not as the quantized module has it, `wanted`, in words; integers are, within the steps that `limits` say.

    `own` is what the target says is near enough of its own runtime. An integer that a float of 16 bits was rounded to may be as
    many steps away as that float's next one is.
    """
    if own:
        tolerance = replace(Tolerance.parse(own), excepts=tolerance.excepts)
    if own or not model.is_integer:
        exact = [False] * len(tensors) if own else exact_outputs(model.module, tolerance.keeps_floats)
        chosen, unit = chosen_outputs(model.module), unit_of_module(model.module)
        checked = zip(tensors, output_steps(model.module), narrow_steps(model.module, wanted), exact, strict=False)
        return [reason for place, (each, step, coarse, same) in enumerate(checked) if not _is_within(each, coarse, tolerance)
                for reason in broken_limits(each, tolerance, step, same, chosen=place in chosen, unit=unit, coarse=True)]
    broken = []
    for each, step in zip(tensors, output_steps(model.module, min), strict=False):
        if step is None and each.dtype.startswith("float"):  # moved, and never quantized
            broken += broken_limits(each, tolerance)
        elif each.name not in tolerance.excepts and (each.note or not (_is_same(each, step) or _is_so_near(each, step, limits))):
            broken.append(
                f"{each.name}: {each.note or 'differs by ' + format(each.metrics['max_abs'], 'g') + ', and has to be the same'}")
    return broken


def _is_so_near(tensor: TensorDifference, step: float | None, limits: Tolerance | None) -> bool:
    """Whether a tensor of integers is as many steps away at most as somebody said."""
    if limits is None or limits.integer == NO_LIMIT:
        return False
    if tensor.dtype == "bool":
        return tensor.metrics["max_abs"] == 0.0
    unit = 1.0 if tensor.is_integer else step
    return unit is not None and tensor.metrics["max_abs"] <= min((limits.integer + 1e-3) * unit, limits.max_abs)


def _is_enough(tensor: TensorDifference, step: float | None, limits: Tolerance | None) -> bool:
    """Whether a tensor that a runtime rounds on its own is near enough by limits that somebody set of such tensors."""
    if limits is None or tensor.note:
        return False
    if _is_so_near(tensor, step, limits):
        return True
    said = {**dict(limits.others), **{name: limit for name, limit in limits.limits().items()
                                      if name in ("cos", "euclid", "max_abs") and math.isfinite(limit)}}
    return bool(said.keys() & tensor.metrics.keys()) and not broken_limits(tensor, limits, step)


def _is_within(tensor: TensorDifference, coarse: float, tolerance: Tolerance) -> bool:
    """Whether an integer tensor differs by as many steps as a float of 16 bits behind it is coarse, at most."""
    return tensor.is_integer and not tensor.note and tensor.metrics["max_abs"] <= coarse * tolerance.integer


def _move_as_far(
    module: Module, judge: Callable[..., Outputs], samples: Iterable[tuple[Mapping[str, np.ndarray], Outputs, Outputs]],
    tolerance: Tolerance,
) -> bool:
    """Whether no sample's outputs lie farther from the quantized module's than last bits move these (`last_bits`).

    A module that rounds floats to few bits does so, where a last bit decides to which number one is rounded: last bits of its
    inputs, or, where integers come before the floats, of its weights, too.
    """
    steps, chosen = output_steps(module), chosen_outputs(module)
    unit = unit_of_module(module)
    looked = False
    for given, wanted, actual in samples:
        tensors = compare_outputs(wanted, actual)
        suspects = [index for index, (each, step) in enumerate(zip(tensors, steps, strict=False))
                    if broken_limits(each, tolerance, step, chosen=index in chosen, unit=unit, coarse=True)]
        looked |= bool(suspects)
        still = still_inputs(module, given) if suspects else {}
        for of_weights in (False, True):
            if not suspects:
                break
            near = partial(_of_moved_weights, module, given, still, still_weights(module, given)) if of_weights else None
            excused = dict[int, TensorDifference]()
            for is_chosen in (False, True):
                alike = [index for index in suspects if (index in chosen) == is_chosen]
                breaks = partial(breaks_usual, chosen=is_chosen, unit=unit, coarse=True)
                excused |= excused_by_last_bits(judge, given, actual, tensors, alike, breaks, near, still)
            suspects = [index for index in suspects if index not in excused]
        if suspects:
            return False
    return looked


def _beside_multiplied(
    module: Module, judge: Callable[..., Outputs], taken: Iterable[Mapping[str, np.ndarray]], actual: list[Outputs],
    breaks: Callable[[Outputs, list[TensorDifference]], list[str]],
) -> list[TensorDifference] | None:
    """How outputs differ from those of inputs that are quantized by a multiplication; None where they break limits then, too."""
    for rounded in HALVES:
        wanted = [_multiplied(module, judge, fed, rounded) for fed in taken]
        tensors = compare_runs(wanted, actual)
        if not breaks(joined(wanted), tensors):
            return tensors
    return None


def _multiplied(
    module: Module, judge: Callable[..., Outputs], given: Mapping[str, np.ndarray], rounded: Callable[[np.ndarray], np.ndarray],
) -> Outputs:
    """The outputs of a module whose inputs are quantized by a multiplication (`reciprocals`)."""
    found = by_reciprocals(module, given, rounded)
    if found is None:
        return judge(given)
    made, inputs = found
    return (judge if made is module else runs_from_first(made))(inputs)


def _of_moved_weights(
    module: Module, given: Mapping[str, np.ndarray], still: Mapping[str, np.ndarray], weights: Mapping[Value, np.ndarray],
    seed: int,
) -> Outputs | None:
    """The outputs of a module with last bits of its inputs and weights moved; None where it has no float weights.

    What is read as it is stays, `still` of the inputs and `weights` of these.
    """
    made = with_moved_weights(module, seed, weights)
    if made is None:
        return None
    return runs_from_first(made)(moved(given, seed, still) or given)


def _is_same(tensor: TensorDifference, step: float | None) -> bool:
    """Whether two outputs are of the same integers: floats that are made of these at the end may differ by roundings of theirs.

    `(q - z) * s` and `q * s - z * s`, as LiteRT's kernels have it that are not its reference, are `2^-9` of a step apart at most
    where `q` has 16 bits; other integers are a whole step apart.
    """
    farthest = tensor.metrics["max_abs"]
    return farthest == 0.0 or (step is not None and tensor.dtype.startswith("float") and farthest < step / ROUNDINGS)


def _farther_than_quantizing(
    module: Module, floats: Outputs, wanted: Outputs, actual: Outputs, tolerance: Tolerance,
    limits: Tolerance | None = None, rounded: Outputs | None = None,
) -> list[str]:
    """Which outputs lie farther from the quantized module's than these from the float model's.

    Where activations are rounded as the model runs, `rounded` are the outputs that the hub's module has with its own rounded:
    then they lie farther, too, than `AS_IT_RUNS` times that, and `TWICE` as far as `rounded` do.

    Distances are root mean squares. What lies no farther from the float model's than the quantized module's do is right, too:
    two roundings of a few numbers may go opposite ways. How far such do lie is known from so many numbers alone (`_by_chance`).

    So many steps of an output's scale as the tolerance allows are never too far, nor is one step of floats of 16 bits, nor
    what keeps the `limits` that somebody set. An output on whose way nothing was quantized is judged as floats are.
    """
    broken = []
    ours, theirs = real_outputs(module, wanted), real_outputs(module, actual)
    hubs = ours if rounded is None else real_outputs(module, rounded)
    chosen, steps = chosen_outputs(module), output_steps(module)[: len(ours)]
    for place, (step, reference, (name, integers), given, hub) in enumerate(zip(
            steps, floats.values(), ours.items(), theirs.values(), hubs.values(), strict=True)):
        if name in tolerance.excepts:
            continue
        if given.shape != integers.shape:
            broken.append(f"{name}: is of shape {given.shape}, and has to be of {integers.shape}")
            continue
        if reference.shape != integers.shape:  # the verdict is open by that: nothing says what quantizing loses
            continue
        hub = hub if hub.shape == integers.shape else integers  # rounded otherwise, data have decided on other sizes
        finite = np.isfinite(reference) & np.isfinite(integers) & np.isfinite(given)  # one NaN would hide what all others are
        finite &= np.isfinite(hub)
        noise, distance, beside, lost = (_root_mean_square(a[finite], b[finite]) for a, b in (
            (reference, integers), (integers, given), (reference, given), (integers, hub)))
        (apart,) = compare_outputs({name: integers}, {name: given})
        if max(noise, lost) <= FLOATS * _root_mean_square(reference[finite], np.float64(0.0)):
            broken += broken_limits(apart, tolerance, step, chosen=place in chosen)
            continue
        chance = _by_chance(given)
        farthest = max(noise * chance, (step or 0.0) * tolerance.integer, _grain(integers))
        if rounded is not None:
            farthest = max(farthest, noise * AS_IT_RUNS, lost * max(TWICE, chance))
        if distance > farthest and beside > noise * chance and not _is_enough(apart, step, limits):
            told = "" if rounded is None else f"; activations of 8 bits in the hub make {lost:.3g}"
            broken.append(f"{name}: lies {distance:.3g} from the quantized module (root mean square), and that {noise:.3g} from "
                          f"the floats{told}")
    return broken


def _by_chance(array: np.ndarray) -> float:
    """How many times the root mean square of so many errors another of as many is, once in 40: of a thousand 1.06, of ten 1.9.

    The logarithm of the quotient of two such has a standard deviation of `1 / sqrt(n)`, about.
    """
    return math.exp(1.96 / math.sqrt(max(array.size, 1)))


def _grain(array: np.ndarray) -> float:
    """The root mean square of the steps from floats of 16 bits to the next; 0 of other numbers."""
    if array.dtype.itemsize != 2 or array.dtype.kind in "iu":
        return 0.0
    steps = np.spacing(np.abs(array)).astype(np.float64)
    return _root_mean_square(steps[np.isfinite(steps)], np.float64(0.0))


def _root_mean_square(a: np.ndarray, b: np.ndarray | np.float64) -> float:
    return float(np.sqrt(np.mean((a.astype(np.float64) - b) ** 2))) if a.size else 0.0


def verify_quantized_conversion(
    source: Module, result: Module, *, hub: Module | None, floats: Module | None, quantized: Module, inputs: Any, engine: str,
    seed: int, tolerance: Tolerance, limits: Tolerance | Iterable[str] | None, own: OwnRuntime | None,
    written: Module | None = None, fused: Fused | None = None, post: Postprocess | None = None,
) -> Verification:
    """What `verify_quantized` says of a conversion, and whether the hub's module before that was quantized, `floats`, is right.

    `hub` is the module as it first was in the hub. Skipped, with the reason, where it would take more than is allowed.
    """
    from ..quantization import floats_in

    cost, most = elements_of(result), allowance().elements
    if cost > most:
        why = f"it would compute {cost:,} numbers, and {most:,} are allowed: {VARIABLE}=elements={cost} allows them"
        return Verification("skipped", why, "the quantized module", engine)

    before = floats if floats is not None else hub if hub is not None else source
    model = QuantizedModel(source, before, quantized, not floats_in(quantized), fused, post)
    samples = [inputs] if isinstance(inputs, Mapping) else inputs
    beside = limits if isinstance(limits, Tolerance) else limits_only(limits or ())
    beside = replace(beside, excepts=tolerance.excepts) if beside is not None else None
    running = Running(result, engine, own, written)
    try:
        reference = FloatModel(model, engine)
        unquantized = verify_conversion(
            source, before, hub=hub, tolerance=tolerance, inputs=inputs, engine=engine, seed=seed, fused=fused,
            opened=reference.opened)
        verdict = verify_quantized(
            model, running, samples=samples, seed=seed, tolerance=tolerance, limits=beside, reference=reference)
    except MissingKernel as error:
        return Verification("skipped", error.message, "the quantized module", running.used or engine)
    except PluginFailure:
        raise
    except MemoryError as error:
        why = f"comparing takes more memory than there is{after_colon(error)}"
        return Verification("skipped", why, "the quantized module", engine)
    return _with_unquantized(verdict, unquantized)


def _with_unquantized(verdict: Verification, before: Verification) -> Verification:
    """A verdict on what was quantized, with that on the module before: what is wrong there is wrong behind it, however near
    quantizing stays to it."""
    if before.failed:
        verdict.status, verdict.why, verdict.is_costly, verdict.wrong_before = "failed", "", False, before.runtime
        parts = [reason.partition(": ") for reason in before.broken]
        verdict.broken = [f"{what}, before quantizing: {why}" for what, _, why in parts] + verdict.broken
    elif not before.passed:
        if before.broken and not verdict.failed:  # what is left open there is left open behind it
            verdict.status, verdict.why = "inconclusive", f"before quantizing: {before.why}"
        verdict.notes.append(f"not judged before quantizing: {before.why}")
    if before.failed or before.passed:
        verdict.notes += [f"before quantizing: {note}" for note in before.notes]
    return verdict


def limits_only(settings: Mapping[str, Any] | Iterable[str]) -> Tolerance | None:
    """The limits that are set, and no others; None where none is."""
    given = limit_texts(settings)
    none = replace(Tolerance(), integer=NO_LIMIT, cos=-np.inf, euclid=-np.inf)
    return Tolerance.parse(given, none) if given else None
