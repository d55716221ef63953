"""Verifying a conversion: the source in its own runtime, the result in ours, and how near they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.verification.bounds import Bounded, check_bounds, has_bounds

from ..analysis.choices import chosen_outputs
from ..analysis.dataflow import has_loops
from ..budget import VARIABLE, TimeOver, allowance, timed
from ..contents import constant_bytes
from ..engine.choice import work_of
from ..engine.memory import bytes_of, machine_bytes, peak_bytes
from ..errors import MissingKernel, PluginFailure, ReadError, RunError, after_colon
from ..guard import failure, noted
from ..ir import Dense, Module, QuantType, SplatData, TensorType, output_names
from ..ir.build import constant_of
from ..plugin import Runtime, resolve
from ..plugin_host import host
from ..report import ComparedOutput, KeptBound, QuantizedOutput, VerificationReport
from ..worker import ChildEnded
from .compare import judged_format, other_runtimes, run_of, runtime_failed, runtime_for, told_otherwise
from .differences import TensorDifference, compare_outputs, not_measured, of_plain
from .endless import endless_factors, halves_beyond, is_finite, weights_of_no_numbers
from .exact import exact_outputs
from .fineness import output_steps, plain_outputs
from .information import Tried, attempts, is_informative, is_nan_throughout, is_saturated
from .inputs import checked_inputs, plain_integers, random_inputs
from .larger import larger_inputs
from .last_bits import excused_by_last_bits, still_inputs
from .limits import breaks_usual, broken_limits, passes_if_constant
from .offsets import unit_of_module
from .padding import found_alone
from .running import OwnRuntime, Running, refusal_of_all
from .steps import check_steps, is_quantized
from .ties import excused_by_ties
from .tolerance import Tolerance
from .ways import Ways

if TYPE_CHECKING:
    from ..postprocess import Postprocess
    from ..samples.fused import Fused

__all__ = ["OwnRuntime", "Verification", "elements_of", "verify_conversion"]

_VALUES_OF_ONE = 64
"""Bytes of values at one time for each byte of a model's constants and inputs, where these are more than the allowance."""
SAMPLES = 8
"""Of those that are given, how many a result is run on at most, where outputs say nothing on the first."""


@dataclass
class Verification:
    """The outcome.

    `status` is "passed"; "failed", with what is wrong in `broken`; "inconclusive" where the outputs would have been the same
    whatever was computed, or "skipped", with the reason in `why`. `notes` say what else a reader should know.
    """

    status: str
    why: str = ""
    runtime: str = ""
    engine: str = ""
    tensors: list[TensorDifference] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    bounds: list[Bounded] = field(default_factory=list)
    """Tensors within the model that may differ by a bound of their own, and were compared with the source's alone."""
    notes: list[str] = field(default_factory=list)
    samples: int = 0
    """On how many inputs it was compared, where those were samples."""
    quantized: list[QuantizedOutput] = field(default_factory=list)
    """The outputs of a quantized model beside those of the float one: told, and not judged."""
    excepts: list[str] = field(default_factory=list)
    """The outputs that were not judged, because somebody said so."""
    is_costly: bool = False
    """Whether what is wrong is but what quantizing cost, beyond limits beside the float model: the conversion itself is right."""
    wrong_before: str = ""
    """The runtime from which a model that was quantized on the way differs before that already: the conversion is wrong."""

    def __repr__(self) -> str:
        why = "; ".join(self.broken[:1]) or self.why
        return f"<verification: {self.status}{f' by {self.runtime}' if self.runtime else ''}{f': {why}' if why else ''}>"

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def failed(self) -> bool:
        return self.status == "failed"

    def report(self) -> VerificationReport:
        """What a conversion's report says of it."""
        return VerificationReport(
            self.status,  # type: ignore[arg-type]
            self.why, self.runtime, self.engine, self.broken, self.notes,
            [KeptBound(**asdict(bounded)) for bounded in self.bounds],
            [ComparedOutput(t.name, t.dtype, list(t.shape), t.metrics, t.equal) for t in self.tensors],
            self.samples, self.quantized, self.excepts)


def verify_conversion(
    source: Module, result: Module, *, hub: Module | None = None, tolerance: Tolerance | None = None,
    inputs: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None, engine: str = "auto", seed: int = 0,
    own: OwnRuntime | None = None, written: Module | None = None, fused: Fused | None = None, post: Postprocess | None = None,
    opened: Callable[..., dict[str, np.ndarray]] | None = None,
) -> Verification:
    """Compare `result` with the file `source` was read from: what the target's `own` runtime gives, or else the engine.

    The engine runs what was `written` of the result, read back, where that is given.

    Where outputs say nothing on random inputs (`information`), others are tried. Skipped, with the reason, where the source's
    runtime is not installed or itself refuses the model. `inputs` are arrays by name, or several such, of which the first whose
    outputs say something are taken. With `fused` inputs the result is run on pixels, and the file on what it makes of them;
    with `post`, the result is judged by what that makes of the file's outputs. `opened` runs the file in its runtime, where that
    was made ready already. Where nothing can judge, the target's own runtime runs the result all the same. Raises `UsageError`
    where `inputs` do not fit the model, and `RunError` where nothing runs the result.
    """
    taken = source if fused is None else fused.outside
    checked = _checked(taken, inputs) if inputs is not None else None

    def unjudged(verdict: Verification, refusing: Runtime | None = None) -> Verification:
        if own is not None and not _too_much(source, result):
            given = next(chain(checked if checked is not None else (), attempts(taken, hub, seed)))
            _run_alone(Running(result, engine, own, written), given, source, refusing)
        return verdict

    if source.source is None:
        return unjudged(Verification("skipped", "the model was not read from a file"))
    runtime, why = runtime_for(judged_format(source))
    if source.entry != "main" and (runtime is None or not runtime.functions):
        who = runtime.name if runtime is not None else "a runtime"
        return unjudged(Verification("skipped", f"{who} runs the function main, and {source.entry!r} was converted"))
    if runtime is None:
        return unjudged(Verification("skipped", why))
    failed = [*([why] if why else []), *told_otherwise(source, hub)]
    if why := _too_much(source, result):
        return Verification("skipped", why, runtime.name, engine, notes=failed)

    def judge_by(runtime: Runtime) -> _Judge:
        further = () if inputs is not None else (random_inputs(taken, hub, seed + 1 + more) for more in range(9))
        running = Running(result, engine, own, written)
        judge = _Judge(source, result, hub, runtime, tolerance or Tolerance(), engine, further, running, fused, post)
        judge.tried = Tried.of(given=inputs is not None)
        judge.larger = larger_inputs(taken, hub, result, seed) if inputs is None and fused is None else ()
        return judge

    judge = judge_by(runtime)
    judge.take(opened)
    verdict = judge.verdict(checked if checked is not None else attempts(taken, hub, seed))
    if judge.refused and checked is None and hub is not None and plain_integers(hub):  # a shift by less than nothing, say
        judge = judge_by(runtime)
        judge.take(opened)
        verdict = judge.verdict(attempts(taken, hub, seed, signed=False))
    for other in other_runtimes(judged_format(source), function=source.entry) if judge.refused else ():
        again = judge_by(other).verdict(_checked(taken, inputs) if inputs is not None else attempts(taken, hub, seed))
        if again.status != "skipped":
            again.notes += [*failed, f"judged by {other.name}, as {' '.join(verdict.why.split())[:200]}"]
            return again
    verdict.notes += failed
    return unjudged(verdict, runtime) if judge.refused else verdict


def _run_alone(running: Running, given: Mapping[str, np.ndarray], source: Module, refusing: Runtime | None) -> None:
    """Run a result that nothing judges. What the model's own runtime, which refuses these inputs, never runs does not have to run
    in the same format either: a variable without a value."""
    own = running.own
    try:
        running.alone(given)
    except RunError:
        if refusing is not None and own is not None and own.target == judged_format(source):
            with suppress(PluginFailure):  # it runs, and gives other shapes than its file says
                if refusal_of_all(run_of(refusing, source), given) is not None:
                    return
        raise


def _checked(
    source: Module, inputs: Mapping[str, Any] | Iterable[Mapping[str, Any]],
) -> Iterable[Mapping[str, np.ndarray]]:
    """One input, looked at now, or several, each when it is used."""
    if isinstance(inputs, Mapping):
        return [checked_inputs(source, inputs)]
    return (checked_inputs(source, each) for each in islice(inputs, SAMPLES))


def _too_much(source: Module, result: Module) -> str:
    """Why running a module would cost more than verification may; empty where it does not."""
    most, work = allowance(), work_of(result)
    needed, there = _memory_of(result), machine_bytes()
    both = max(needed, _memory_of(source))
    own = constant_bytes(source) + bytes_of(argument.type for argument in result.body_of_main.arguments)
    for count, allowed, what, name in (
            (elements_of(result), most.elements, "compute {:,} numbers", "elements"),
            (work.products, most.products, "multiply {:,} times", "products"),
            (both, max(most.memory, _VALUES_OF_ONE * own), "take {:,} bytes at one time", "memory")):
        if count > allowed:
            return f"it would {what.format(count)}, and {allowed:,} are allowed: {VARIABLE}={name}={count} allows them"
    return f"it would take {needed:,} bytes at one time, and this machine has {there:,}" if needed > there else ""


def _memory_of(module: Module) -> int:
    return peak_bytes(module.body_of_main)


def elements_of(module: Module) -> int:
    """How many numbers all values of a module have together; each region is counted once.

    Constants that are held already are left out. A splat is one number until it is computed with: a file
    of 464 bytes may have one of 4 GB.
    """
    shapes = [value.type.shape for op in module.ops() for value in op.results
              if isinstance(value.type, TensorType) and value.type.is_static and not _held(constant_of(value))]
    return sum(math.prod(size or 0 for size in shape) for shape in shapes if shape is not None)


def _held(constant: Dense | None) -> bool:
    return constant is not None and not isinstance(constant.data, SplatData)


class _Judge:
    """The source in its runtime and the result in our engine, made ready to run side by side."""

    def __init__(
        self, source: Module, result: Module, hub: Module | None, runtime: Runtime, tolerance: Tolerance, engine: str,
        further: Iterable[Mapping[str, np.ndarray]], running: Running, fused: Fused | None = None,
        post: Postprocess | None = None,
    ) -> None:
        self.fused, self.post = fused, post
        self.tried = Tried.of(given=False)
        """What it is judged on, in words."""
        self.larger: Iterable[Mapping[str, np.ndarray]] = ()
        """Inputs that what has passed is to pass on, too."""
        self.source = source
        self.further = further
        self.result, self.runtime, self.tolerance, self.engine = result, runtime, tolerance, engine
        self.taking = hub
        """Whose inputs are the model's."""
        self.hub = hub if post is None else None  # whose outputs are others
        self.running = running
        exact = exact_outputs(self.hub, fused is None and tolerance.keeps_floats) if self.hub is not None else []
        self._exact = {index for index, is_exact in enumerate(exact) if is_exact}
        """Places of the outputs on whose way nothing is rounded: no last bits move them."""
        self._plain = plain_outputs(self.hub) if self.hub is not None else frozenset[int]()
        """Places of the outputs of integers that nothing gives a scale."""
        is_coarse = self.hub is None or has_bounds(self.hub) or is_quantized(self.hub)
        self._unit = None if is_coarse else max(map(unit_of_module, (source, result)))
        """What floats are rounded by; None where it is steps of integers that decide how near they are."""
        self._chosen = chosen_outputs(self.hub) if self.hub is not None else frozenset[int]()
        """Places of the outputs that are truths or labels: how far apart two are says nothing."""
        self._reference: Callable[..., dict[str, np.ndarray]] | None = None
        self._last: Mapping[str, np.ndarray] | None = None
        self.refused = False
        """Whether the runtime does not run the model."""
        self._saturated = set[int]()
        """Places of the outputs that were all but 0 and 1: other inputs are tried, and the best of these taken."""
        self._endless = False
        """Whether an output was not finite on the last inputs, in the source or in the result."""
        self._no_number = ""
        """The output that is NaN throughout in the source on the last inputs: they are none that the model is for."""

    def take(self, opened: Callable[..., dict[str, np.ndarray]] | None) -> None:
        """Judge by what runs the source already, where somebody has made that ready."""
        if opened is not None:
            self._reference = self._of_model(opened)

    def verdict(self, given: Iterable[Mapping[str, np.ndarray]]) -> Verification:
        """The verdict on some inputs; "skipped", with the reason, where there is nothing to judge by."""
        runtime, engine = self.runtime, self.engine
        try:
            with timed("rounds" if has_loops(self.hub if self.hub is not None else self.result) else "seconds"):
                return self.of_several(given)
        except TimeOver as error:
            return Verification("skipped", f"{error.message}; {error.hint}", runtime.name, self.running.used)
        except MemoryError as error:
            return Verification("skipped", f"comparing takes more memory than there is{after_colon(error)}", runtime.name, engine)
        except ChildEnded as error:
            return Verification("skipped", f"could not judge: {error.message}", runtime.name, engine)
        except RunError as error:
            if self.running.used and isinstance(error, MissingKernel):
                return Verification("skipped", error.message, runtime.name, self.running.used)
            if self.running.used:  # it is our engine that cannot
                raise
            self.refused = True
            return Verification("skipped", f"{runtime.name} cannot run the model: {error}", runtime.name, engine)
        except PluginFailure as error:
            if not error.place.startswith(f"runtime {runtime.name!r}"):
                raise
            self.refused = True
            return Verification("skipped", f"{runtime.name} could not judge: {noted(error)}", runtime.name, engine)

    def of_several(self, attempts: Iterable[Mapping[str, np.ndarray]]) -> Verification:
        """The verdict on the first inputs, with those outputs that said nothing there judged on the inputs after them."""
        pending = iter(attempts)
        verdict, told = self.judge(next(pending))
        while verdict.broken and self._no_number and (given := next(pending, None)) is not None:
            verdict, told = self.judge(given)
        without_number = self._no_number if verdict.broken else ""
        left_out = self.tolerance.excepts
        judged = {index for index, tensor in enumerate(verdict.tensors) if tensor.name not in left_out}
        verdict.excepts = [tensor.name for tensor in verdict.tensors if tensor.name in left_out]
        while not verdict.broken and not judged <= told and (given := next(pending, None)) is not None:
            once, informative = self.judge(given)
            if once.broken and self._no_number:
                continue
            for index in informative - told:
                verdict.tensors[index] = once.tensors[index]
            verdict.broken += once.broken
            verdict.notes += [note for note in once.notes if note not in verdict.notes]
            told |= informative
        if not verdict.broken and told & judged:
            self._judge_larger(verdict)
        silent = [tensor.name for index, tensor in enumerate(verdict.tensors) if index in judged - told - self._saturated]
        if without_number:
            verdict.status = "inconclusive"
            verdict.why = (
                f"{without_number} is NaN throughout in {self.runtime.name} on {self.tried.inputs}, and runtimes differ in what "
                f"they make of that; give {self.tried.others}, which the model is for, with --input NAME=FILE")
        elif verdict.broken and (names := weights_of_no_numbers(self.hub) or weights_of_no_numbers(self.source)):
            verdict.status = "inconclusive"
            verdict.why = (f"weights of {', '.join(names)} are NaN or infinite, and runtimes differ in what they make of "
                           "them: 0 times them, in padding, is NaN where it is computed")
        elif verdict.broken and (names := halves_beyond(self.source)):
            verdict.status = "inconclusive"
            verdict.why = f"{', '.join(names)} computes in f16, and has a factor that is infinite there"
        elif verdict.broken and self._endless and (names := endless_factors(self.source, self.hub)):
            verdict.status = "inconclusive"
            verdict.why = (f"{', '.join(names)} has a factor or a power that is infinite, or nearly, and results are no numbers: "
                           "runtimes differ in what they multiply first")
        elif verdict.broken and (why := self._undefined()):
            verdict.status, verdict.why = "inconclusive", why
        elif verdict.broken:
            verdict.status = "failed"
            self._say_whose_it_is(verdict)
        elif silent and not (told | self._saturated) & judged:
            verdict.status = "inconclusive"
            verdict.why = self.tried.said_nothing(silent)
        elif silent:
            verdict.notes.append(
                f"not conclusive for {', '.join(silent)}: constant, saturated or not finite on {self.tried.inputs}")
        verdict.notes += self.running.notes
        return verdict

    def _judge_larger(self, verdict: Verification) -> None:
        """Have a verdict say what is wrong on larger inputs (`larger`), if anything is.

        These may be more than the model, its runtime or an engine is made for: where one of them gives no numbers, or gives up,
        nothing is said.
        """
        if self._unit is None or not self.tolerance.keeps_floats or has_loops(self.hub if self.hub is not None else self.result):
            return
        for given in self.larger:
            with suppress(RunError, PluginFailure, MemoryError, ChildEnded, TimeOver):
                once, _ = self.judge(given)
                if once.broken and not self._endless and not self._undefined():
                    verdict.tensors, verdict.broken = once.tensors, once.broken
                    verdict.notes += [note for note in once.notes if note not in verdict.notes]
                    verdict.notes.append("that is so on larger inputs than the usual ones, on which it passed")
                    return

    def _undefined(self) -> str:
        """Why the source's framework does not say what was to be given, where it does not."""
        if self.runtime.undefined is None or self._last is None:
            return ""
        said: str = resolve(self.runtime.undefined)(self.source, self.hub, self._inside(self._last))
        return said

    def _say_whose_it_is(self, verdict: Verification) -> None:
        """Note, where the target's own runtime was judged, whether the module itself is wrong, too."""
        if self.running.own is None or self._last is None:
            return
        target, self.running.own = self.running.own.target, None
        try:
            again, _ = self.judge(self._last)
        except RunError:  # a dialect that only its target executes
            self.running.notes.append(f"no engine here runs the module that {target} was given: whether that is wrong is unknown")
            return
        whose = "differs, too: the conversion is wrong" if again.broken else (
            f"does compute what the source does: it is what {target} makes of it that differs")
        self.running.notes.append(f"the module that {target} was given, run by engine {again.engine}, {whose}")

    def judge(self, given: Mapping[str, np.ndarray]) -> tuple[Verification, set[int]]:
        """The verdict on some inputs, and the places of the outputs that say something."""
        hub = self.hub
        self._last = given
        if self._reference is None:
            self._reference = self._of_model(run_of(self.runtime, self.source, self.hub))
        reference = self._reference(given)
        actual = self.running(given)
        self._need_all(reference, actual)
        padded = resolve(self.runtime.padded)(self.source) if self.runtime.padded is not None and self.post is None else {}
        actual, of_found = found_alone(reference, actual, padded)
        self._no_number = next((name for name, array in reference.items() if is_nan_throughout(array)), "")
        self._endless = not all(map(is_finite, (*reference.values(), *actual.values())))
        tensors = compare_outputs(reference, actual)
        saturated = {index for index, array in enumerate(reference.values()) if is_saturated(array)}
        self._saturated |= saturated
        informative = {index for index, array in enumerate(reference.values()) if is_informative(array)}
        informative -= saturated | self._as_if_constant(tensors)
        judged, bounds, unknown = tensors, list[Bounded](), list[str]()
        notes = [*self.running.engine_notes, *of_found]
        if hub is not None and has_bounds(hub):
            outputs, bounds, unknown = self._by_bounds(hub, given)
            judged = compare_outputs(reference, outputs)
        limits = self._limits_broken(judged)
        if limits and unknown:
            notes.append(f"how far off a model may be behind {', '.join(unknown)} that quantizes when it runs is not known: "
                         "its outputs were held to the usual tolerance (facts of kind error-bound say it)")
        if hub is not None and bounds and self.running.own is not None:  # they are the module's: the artifact is to give the same
            of_hub = dict(zip(reference, Running(hub, self.engine)(dict(self._inside(given))).values(), strict=True))
            for index, reasons in self._limits_broken(compare_outputs(of_hub, actual)).items():
                limits.setdefault(index, []).extend(f"beside the module that it was made of, {reason}" for reason in reasons)
        if limits and not bounds:
            tensors, limits, ways = self._by_nearest(given, actual, tensors, limits)
            notes += ways
        if limits and not bounds:
            limits, steps = self._by_steps(given, actual, limits)
            notes += steps
        if limits and not bounds:
            limits, ties = self._by_ties(given, actual, limits)
            notes += ties
        if limits and not bounds:
            limits, others = self._by_its_own(given, actual, limits)
            notes += others
        if limits and not bounds:
            limits, others = self._by_last_bits(given, actual, tensors, limits)
            notes += others
        broken = [reason for reasons in limits.values() for reason in reasons]
        broken += [f"{each.name}: differs by {each.max_abs:g}, its bound is {each.bound:g}"
                   for each in bounds if not each.kept and each.name not in self.tolerance.excepts]
        notes += not_measured(tensors)
        status = "failed" if broken else "passed"
        types = self.source.outputs
        told = [each if isinstance(type_ := types.get(each.name), TensorType) and isinstance(type_.element, QuantType)
                else of_plain(each, place in self._chosen) for place, each in enumerate(tensors)]
        return Verification(status, "", self.runtime.name, self.running.used, told, broken, bounds, notes), informative

    def _by_bounds(
        self, hub: Module, given: Mapping[str, np.ndarray],
    ) -> tuple[dict[str, np.ndarray], list[Bounded], list[str]]:
        """`check_bounds` of the result, or, where only the target runs its dialect, of the hub's form of it."""
        assert self._reference is not None
        kept, inside = self._reference(given, keep=True), self._inside(given)
        try:
            return check_bounds(self.running.ran, hub, inside, kept, self.engine)
        except RunError:
            if self.running.own is None:
                raise
            return check_bounds(hub, hub, inside, kept, self.engine)

    def _need_all(self, reference: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray]) -> None:
        """`PluginFailure` where the runtime, or the target's own, does not give each output of the model once."""
        wanted = len(self.result.outputs) - len(self.result.states)
        if len(actual) != wanted and self.running.own is not None:
            target, wrong = self.running.own.target, TypeError(f"gives {len(actual)} outputs, where the model has {wanted}")
            raise failure(host().owner("targets", target), f"target {target!r}.run()", wrong)
        if len(reference) != len(actual):
            raise runtime_failed(self.runtime, f"gives {len(reference)} outputs, where the model has {wanted}")

    def _inside(self, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """What the model is given, for what the result is."""
        return given if self.fused is None else self.fused.inside(given)

    def _of_model(self, run: Callable[..., dict[str, np.ndarray]]) -> Callable[..., dict[str, np.ndarray]]:
        """What runs the model, made to take and give what the result does."""
        post = self.post
        if post is not None:
            return lambda given: post.outputs(run(self._inside(given)))
        return run if self.fused is None else lambda given, **how: run(self._inside(given), **how)

    def _limits_broken(self, tensors: Sequence[TensorDifference]) -> dict[int, list[str]]:
        """By place of the output, which limits it breaks."""
        found = {
            index: broken_limits(
                tensors[index], self.tolerance, step, index in self._exact, index in self._plain, index in self._chosen,
                self._unit)
            for index, step in enumerate(self._steps(len(tensors)))}
        return {index: reasons for index, reasons in found.items() if reasons}

    def _as_if_constant(self, tensors: Sequence[TensorDifference]) -> set[int]:
        """The places of outputs whose steps are so few that one number throughout would pass."""
        return {index for index, step in enumerate(self._steps(len(tensors))) if index not in self._exact
                and passes_if_constant(tensors[index], self.tolerance, step, index in self._plain, index in self._chosen)}

    def _steps(self, number: int) -> list[float | None]:
        steps = output_steps(self.hub)[:number] if self.hub is not None else []
        return steps + [None] * (number - len(steps))

    def _by_nearest(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], tensors: list[TensorDifference],
        broken: dict[int, list[str]],
    ) -> tuple[list[TensorDifference], dict[int, list[str]], list[str]]:
        """The same, judged by the nearest of the ways in which the runtime computes the model, where it has several (`ways`)."""
        alternatives, source = self.runtime.alternatives, self.source
        others = resolve(alternatives)(source.source) if alternatives is not None and source.cut is None else {}
        if not others or self._reference is None:
            return tensors, broken, []
        try:
            ways = {name: self._of_model(run) for name, run in others.items()}
            all_ways = Ways({"node by node": self._reference, **ways})
            judged = all_ways.judge(given, actual, list(broken), self.further, self._chosen)
        except ChildEnded as error:
            return tensors, broken, [f"{error.message}, computing the model in another way: judged by the one alone"]
        wrong = self._limits_broken(judged.tensors)
        notes = [
            f"{tensors[index].name}: {self.runtime.name} itself computes it in ways that are a cosine of {apart:.5f} apart; "
            f"this is {judged.tensors[index].metrics['cos']:.5f} from what it gives {judged.nearest[index]}"
            for index, apart in judged.excused.items()]
        return judged.tensors, {index: reasons for index, reasons in wrong.items() if index not in judged.excused}, notes


    def _by_steps(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], broken: dict[int, list[str]],
    ) -> tuple[dict[int, list[str]], list[str]]:
        """The limits that are broken all the same where each quantized tensor is judged from the runtime's own numbers (`steps`).

        Asked where the runtime computes a model in several ways: rounding is then nothing that its framework defines.
        """
        if self.runtime.alternatives is None or self._reference is None or self.hub is None or not is_quantized(self.hub):
            return broken, []
        of_hub = dict(zip(output_names(self.hub.main), Running(self.hub, self.engine)(given).values(), strict=False))
        if self._limits_broken(compare_outputs(of_hub, actual)):
            return broken, []  # what was judged below would not be the result
        reference = self._reference(given, keep=True)
        outputs, steps = check_steps(self.hub, given, reference, self.engine, self.tolerance.integer)
        name = self.runtime.name
        if steps.wrong:
            return broken, [f"from {name}'s own numbers before it, {wrong}" for wrong in steps.wrong]
        ends = {key: reference[key] for key in outputs if key in reference}
        wrong = self._limits_broken(compare_outputs(ends, outputs)) if len(ends) == len(outputs) else broken
        note = (
            f"{name} rounds some numbers to the next step: from its own numbers before it, each of the {steps.tensors} quantized "
            f"tensors is what it computes, but for {steps.apart:,} of {steps.elements:,} numbers, which are a step away; in the "
            "outputs that adds up to what the table shows")
        return {index: reasons for index, reasons in wrong.items() if index in broken}, [note] if steps.tensors else []


    def _by_ties(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], broken: dict[int, list[str]],
    ) -> tuple[dict[int, list[str]], list[str]]:
        """The limits that are broken all the same where scores that are nearly equal leave open which label is right (`ties`)."""
        suspects = [index for index in broken if index in self._chosen and index not in self._exact]
        if not suspects or self._reference is None or self.hub is None or self.fused is not None:
            return broken, []
        try:
            reference = self._reference(given, keep=True)
        except RunError:  # with its intermediate tensors it does not run
            return broken, []
        excused = excused_by_ties(self.hub, given, reference, actual, suspects, self.engine, self.tolerance)
        names = [*actual]
        notes = [f"{names[index]}: {share:.2%} of its labels are others, where scores in {self.runtime.name} are as near to one "
                 "another as roundings are" for index, share in excused.items()]
        return {index: reasons for index, reasons in broken.items() if index not in excused}, notes

    def _by_its_own(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], broken: dict[int, list[str]],
    ) -> tuple[dict[int, list[str]], list[str]]:
        """The limits that are broken all the same beside what the target's runtime gives of the source's own file."""
        own = self.running.own
        for runtime in other_runtimes(judged_format(self.source), own.target, self.source.entry) if own is not None else ():
            try:
                reference = self._of_model(run_of(runtime, self.source))(given)
            except (RunError, ReadError):
                continue
            if len(reference) != len(actual):
                continue
            tensors = compare_outputs(reference, actual)
            wrong = self._limits_broken(tensors)
            notes = [
                f"{tensors[index].name}: of the source's own file {runtime.name} gives otherwise than {self.runtime.name}, too: "
                f"this is a cosine of {tensors[index].metrics['cos']:.6f} from it" for index in broken if index not in wrong]
            return {index: reasons for index, reasons in broken.items() if index in wrong}, notes
        return broken, []

    def _by_last_bits(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], tensors: Sequence[TensorDifference],
        broken: dict[int, list[str]],
    ) -> tuple[dict[int, list[str]], list[str]]:
        """The limits that are broken all the same where the model moves as far by its inputs' last bits (`last_bits`)."""
        if self._reference is None:
            return broken, []
        still = still_inputs(self.taking, given) if self.taking is not None and self.fused is None else {}
        excused = dict[int, float]()
        for chosen in (False, True):
            suspects = [index for index in broken if index not in self._exact and (index in self._chosen) == chosen]
            breaks = partial(breaks_usual, chosen=chosen, unit=self._unit)
            excused |= excused_by_last_bits(self._reference, given, actual, tensors, suspects, breaks, still=still)
        notes = [
            f"{tensors[index].name}: with its inputs' last bits moved, {self.runtime.name} itself gives what is a cosine of "
            f"{apart:.5f} away; this is {tensors[index].metrics['cos']:.5f}" for index, apart in excused.items()]
        return {index: reasons for index, reasons in broken.items() if index not in excused}, notes
