"""How near a result is to its source, made ready to run side by side: which limits are broken, and what excuses them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, product, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.choices import chosen_outputs
from ..analysis.dataflow import has_loops
from ..budget import TimeOver, check_deadline, timed
from ..errors import MissingKernel, PluginFailure, ReadError, RunError, after_colon
from ..guard import failure, noted
from ..ir import Module, QuantType, TensorType, output_names
from ..plugin import Runtime, resolve
from ..plugin_host import host
from ..worker import ChildEnded
from .bounds import Bounded, check_bounds, has_bounds
from .compare import judged_format, other_runtimes, run_of, runtime_failed
from .differences import TensorDifference, compare_outputs, not_measured, of_plain, output_count, together
from .drawn import Drawn
from .endless import is_finite, why_no_numbers
from .exact import exact_outputs
from .fineness import coarse_outputs, output_steps, plain_outputs
from .information import Tried, are_apart, is_informative, is_nan_throughout, is_saturated, number_throughout, vary
from .last import Last
from .last_bits import excused_by_last_bits, moved_by_roundings, still_inputs
from .limits import breaks_usual, broken_limits, passes_if_constant
from .offsets import unit_of_module
from .padding import found_alone
from .running import Running
from .sampled import Together
from .steady import Steady
from .steps import check_steps, is_quantized
from .ties import excused_by_ties
from .tolerance import Tolerance
from .verdict import Verification
from .ways import Ways

if TYPE_CHECKING:
    from ..postprocess import Postprocess
    from ..samples.fused import Fused

__all__ = ["Judge"]

_OF_FURTHER = ("that, and the table, is of further inputs than the first, on which it passed{}: compare shows it with other "
               "inputs (--seed, --input)")
_REACHING = "that is so on inputs beside what the model's own constants ask about; on the usual ones it passed"
_LARGER = "that is so on larger inputs than the usual ones, on which it passed"


class Judge:
    """The source in its runtime and the result in our engine, made ready to run side by side."""

    def __init__(
        self, source: Module, result: Module, hub: Module | None, runtime: Runtime, tolerance: Tolerance, engine: str,
        running: Running, fused: Fused | None = None, post: Postprocess | None = None,
    ) -> None:
        self.fused, self.post = fused, post
        self.tried = Tried.of(given=False)
        """What it is judged on, in words."""
        self.drawn = Drawn()
        """What is tried beside the first inputs."""
        self.source = source
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
        self._unit = None if self.hub is None else max(map(unit_of_module, (source, result)))
        """What floats are rounded by; None where nothing says it."""
        self._coarse = coarse_outputs(self.hub) if self.hub is not None else frozenset[int]()
        """Places of the outputs on whose way numbers are rounded to steps."""
        self._chosen = chosen_outputs(self.hub) if self.hub is not None else frozenset[int]()
        """Places of the outputs that are truths or labels: how far apart two are says nothing."""
        self._reference: Callable[..., dict[str, np.ndarray]] | None = None
        self._bare: Callable[..., dict[str, np.ndarray]] | None = None
        """The same of what the model itself takes, which a program makes of pixels (`fused`)."""
        self.on_all = False
        """Whether all that is given is judged, and not what says something first alone."""
        self.varied = False
        """Whether any inputs that it was judged on were more than one number throughout."""
        self._last = Last()
        """What was found on the last inputs."""
        self.refused = False
        """Whether the runtime does not run the model."""
        self._saturated = set[int]()
        """Places of the outputs that were all but 0 and 1: other inputs are tried, and the best of these taken."""
        self._numbers = dict[int, list[complex]]()
        """By place of the output, what it was throughout where it was one number, on each of the inputs."""
        self._labels = set[int]()
        """Places of the outputs that are a single truth or label."""
        self._passed = list[TensorDifference]()
        """How far the outputs were on the last inputs on which they were near enough."""
        self._of_one = True
        """Whether what is wrong is so on the last inputs, and not on several together alone."""
        self._steady = Steady(self.hub, self._chosen)
        self._excused = set[int]()
        """Places of the outputs that were beyond the limits on some inputs, and are near enough all the same."""

    def take(self, opened: Callable[..., dict[str, np.ndarray]] | None) -> None:
        """Judge by what runs the source already, where somebody has made that ready."""
        if opened is not None:
            self._bare, self._reference = self._given_as_result(opened), self._of_model(opened)

    def verdict(self, given: Iterable[Mapping[str, np.ndarray]]) -> Verification:
        """The verdict on some inputs; "skipped", with the reason, where there is nothing to judge by."""
        runtime, engine = self.runtime, self.engine
        try:
            with timed("rounds" if has_loops(self.hub if self.hub is not None else self.result) else "seconds"):
                return self.of_several(given)
        except TimeOver as error:
            return Verification("skipped", f"{error.message}; {error.hint}", runtime.name, self.running.used)
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
        except MemoryError as error:
            return Verification("skipped", f"comparing takes more memory than there is{after_colon(error)}", runtime.name, engine)

    def of_several(self, attempts: Iterable[Mapping[str, np.ndarray]]) -> Verification:
        """The verdict on the first inputs, with those outputs that said nothing there judged on the inputs after them."""
        pending = iter(attempts)
        verdict, told = self.judge(next(pending))
        while verdict.broken and self._last.no_number and (given := next(pending, None)) is not None:
            verdict, told = self.judge(given)
        without_number = self._last.no_number if verdict.broken else ""
        left_out = self.tolerance.excepts
        judged = {index for index, tensor in enumerate(verdict.tensors) if tensor.name not in left_out}
        verdict.excepts = [tensor.name for tensor in verdict.tensors if tensor.name in left_out]
        pending = chain(pending, takewhile(lambda _: judged - told <= self._labels and not told & judged, self.drawn.of_labels))
        if self.on_all:
            self._judge_all(verdict, told, pending)
        else:
            self._judge_others(verdict, judged, told, pending)
        if not verdict.broken and told & judged and not self.on_all:
            self._judge_further(verdict)
        if not verdict.broken:
            self._judge_beyond(verdict, told, judged)
        if not verdict.broken and self._steady.places & told & judged:
            told -= self._steady.places
            if not self.on_all:
                self._judge_others(verdict, judged, told, pending)
        silent = [tensor.name for index, tensor in enumerate(verdict.tensors) if index in judged - told - self._saturated]
        if without_number:
            verdict.status = "inconclusive"
            verdict.why = (
                f"{without_number} is NaN throughout in {self.runtime.name} on {self.tried.inputs}, and runtimes differ in what "
                f"they make of that; give {self.tried.others}, which the model is for, with --input NAME=FILE")
        elif verdict.broken and (why := self._leaves_open()):
            verdict.status, verdict.why = "inconclusive", why
        elif verdict.broken:
            verdict.status = "failed"
            self._say_whose_it_is(verdict)
        elif silent and not (told | self._saturated) & judged:
            verdict.status = "inconclusive"
            places = [place for place in sorted(self._numbers) if verdict.tensors[place].name in silent]
            verdict.why = self.tried.said_nothing(silent, [verdict.tensors[place].name for place in places])
        elif silent:
            verdict.notes.append(f"not conclusive for {', '.join(silent)}: constant, saturated, not finite or always the same on "
                                 f"{self.tried.inputs}")
        verdict.notes += self.running.notes
        return verdict

    def _judge_others(
        self, verdict: Verification, judged: set[int], told: set[int], pending: Iterator[Mapping[str, np.ndarray]],
    ) -> None:
        """Judge on further inputs for as long as outputs that are `judged` have not `told` anything, and nothing is wrong.

        A verdict shows of each output the inputs on which it said something first, and of all those on which one is wrong: what
        the limits are broken by is in its table.
        """
        while not verdict.broken and not judged <= told and (given := next(pending, None)) is not None:
            once, informative = self._judge_if_taken(given)
            if isinstance(once, str) or (once.broken and self._last.no_number):
                continue
            for index in range(len(once.tensors)) if once.broken else informative - told:
                verdict.tensors[index] = once.tensors[index]
            verdict.broken += once.broken
            verdict.notes += [note for note in once.notes if note not in verdict.notes]
            if once.broken:
                verdict.notes.append(_OF_FURTHER.format(", and some outputs said nothing"))
            told |= informative

    def _judge_further(self, verdict: Verification) -> None:
        """Have a verdict say what is wrong on one of the further inputs (`further`), or on all of them together, if anything is.

        Of single numbers one may be a step away on some inputs, and is not on all: how many are is counted over all of them.
        """
        steps = self._passed
        for given in self.drawn.further:
            once, _ = self._judge_if_taken(given)
            if isinstance(once, str) or self._last.no_number:
                continue
            if not once.broken:
                steps = list(map(together, steps, self._passed))
            elif not self._leaves_open():
                verdict.tensors, verdict.broken = once.tensors, once.broken
                verdict.notes += [note for note in once.notes if note not in verdict.notes]
                verdict.notes.append(_OF_FURTHER.format(""))
                return
        left_out = self._excused | self._chosen | {index for index, tensor in enumerate(steps) if tensor.dtype == "bool"}
        broken = {index: reasons for index, reasons in self._limits_broken(steps).items() if index not in left_out}
        if broken:
            verdict.tensors = [steps[index] if index in broken else tensor for index, tensor in enumerate(verdict.tensors)]
            verdict.broken = [reason for reasons in broken.values() for reason in reasons]
            verdict.notes.append("that is so of all inputs that it was run on together, on each of which it passed")
            self._of_one = False

    def _judge_all(self, verdict: Verification, told: set[int], pending: Iterator[Mapping[str, np.ndarray]]) -> None:
        """Judge on all that is left of what is given, for as long as nothing is wrong and there is time.

        What the source's runtime does not run, or has no number for, is left out.
        """
        samples = Together(verdict, self._last.given or {})
        self._count_steps(verdict, samples)
        while not verdict.broken and (given := next(pending, None)) is not None:
            try:
                check_deadline()
                once, informative = self._judge_if_taken(given)
            except TimeOver as error:
                verdict.notes.append(f"no more samples were compared: {error.message}; {error.hint}")
                break
            if isinstance(once, str):
                samples.leave_out(given, once)
            elif once.broken and self._last.no_number:
                samples.leave_out(given, f"{self._last.no_number} is NaN throughout in {self.runtime.name}")
            else:
                self._count_steps(once, samples)
                samples.add(once, given, informative - told)
                told |= informative
        samples.end(self._limits_broken(samples.tensors))

    def _count_steps(self, once: Verification, samples: Together) -> None:
        """Count how many numbers are a step away on the last inputs. A verdict that says no more than that these are too many
        passes until all samples are counted."""
        wrong = self._limits_broken([replace(each, others=None) for each in self._last.tensors]) if self._last.broken else {}
        left_out = {*wrong, *self._chosen, *self._last.excused}
        counted = samples.count({index: tensor for index, tensor in enumerate(self._last.tensors) if index not in left_out})
        if once.broken and self._last.broken <= counted and not once.bounds:
            once.broken, once.status = [], "passed"

    @property
    def is_of_floats(self) -> bool:
        """Whether floats are computed with as they are: nothing is rounded to steps, and nothing ends when its data says so."""
        is_coarse = self.hub is None or has_bounds(self.hub) or is_quantized(self.hub)
        return not is_coarse and self.tolerance.keeps_floats and not has_loops(self.hub if self.hub is not None else self.result)

    def _judge_beyond(self, verdict: Verification, told: set[int], judged: set[int]) -> None:
        """Have a verdict say what is wrong on inputs beyond the usual ones (`reaching`, `larger`), if anything is; more outputs
        that are `judged` may have `told` something there.

        These may be more than the model, its runtime or an engine is made for: where the runtime gives no numbers, or one of them
        gives up, nothing is said. Where the result alone gives none, it does not hold on the way what the model computes.
        """
        larger = (((given,), _LARGER) for given in self.drawn.larger if self.is_of_floats and told & judged)
        for several, note in chain(((several, _REACHING) for several in self.drawn.reaching), larger):
            for given in several:
                with suppress(RunError, PluginFailure, MemoryError, ChildEnded, TimeOver):
                    once, informative = self.judge(given)
                    says = self._last.ends_alone or not self._last.endless
                    if once.broken and says and not self._leaves_open() and self._is_steady(given) and self._is_inside(given):
                        verdict.tensors, verdict.broken = once.tensors, once.broken
                        verdict.notes += [*(each for each in once.notes if each not in verdict.notes), note]
                        return
                    for index in set() if once.broken else informative - told:
                        verdict.tensors[index] = once.tensors[index]
                        told.add(index)
                    break

    def _is_inside(self, given: Mapping[str, np.ndarray]) -> bool:
        """Whether the hub's form of the model runs: in the artifact a place outside of a table may be any."""
        return self.taking is None or bool(Running(self.taking, "reference")(dict(self._inside(given))))  # it gives up otherwise

    def _is_steady(self, given: Mapping[str, np.ndarray]) -> bool:
        """Whether the runtime itself keeps to the limits where inputs are moved by roundings: a sine of hundreds does not."""
        assert self._reference is not None
        both = compare_outputs(self._reference(given), self._reference(moved_by_roundings(given)))
        return not self._limits_broken(both, exact=frozenset())

    def _leaves_open(self) -> str:
        """Why what is wrong on the last inputs says nothing of the conversion, where it does not: runtimes differ in it."""
        why, given = why_no_numbers(self.source, self.hub, self._last.endless), self._last.given
        if why or self.runtime.undefined is None or given is None:
            return why
        return str(resolve(self.runtime.undefined)(self.source, self.hub, self._inside(given)))

    def _say_whose_it_is(self, verdict: Verification) -> None:
        """Note, where the target's own runtime was judged, whether the module itself is wrong, too.

        Where no engine runs the module's dialect, it is the hub's form of it that is asked.
        """
        if self.running.own is None or self._last.given is None or not self._of_one:
            return
        target, self.running.own = self.running.own.target, None
        module = f"the module that {target} was given"
        nobody = f"no engine here runs {module}"
        forms = [(module, self.running.ran)]
        if self.hub is not None and self.fused is None:
            forms.append((f"{nobody}; the hub's form of it", self.hub))
        for form, self.running.ran in forms:
            with suppress(RunError):  # a dialect that only its target executes, or an op that the hub does not
                again, _ = self.judge(self._last.given)
                whose = "differs, too: the conversion is wrong" if again.broken else (
                    f"does compute what the source does: it is what {target} makes of it that differs")
                self.running.notes.append(f"{form}, run by engine {again.engine.partition(' ')[0]}, {whose}")
                return
        self.running.notes.append(f"{nobody}: whether that is wrong is unknown")

    def _judge_if_taken(self, given: Mapping[str, np.ndarray]) -> tuple[Verification | str, set[int]]:
        """`judge` on inputs after the first; why not, where the source's runtime does not run these, as a division by 0."""
        assert self._reference is not None
        try:
            reference = self._reference(given)
        except TimeOver:
            raise
        except (RunError, PluginFailure, ChildEnded, MemoryError) as error:
            return f"{self.runtime.name} does not run it{after_colon(error)}", set()
        return self._judge_by(given, reference)

    def judge(self, given: Mapping[str, np.ndarray]) -> tuple[Verification, set[int]]:
        """The verdict on some inputs, and the places of the outputs that say something."""
        if self._reference is None:
            self.take(run_of(self.runtime, self.source, self.hub))
        assert self._reference is not None
        return self._judge_by(given, self._reference(given))

    def _judge_by(
        self, given: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray],
    ) -> tuple[Verification, set[int]]:
        """The same by the `reference`, what the source gives of these inputs."""
        hub, self._last.given = self.hub, given
        self.varied |= bool(vary(given))
        actual = self.running(given)
        self._need_all(reference, actual)
        padded = resolve(self.runtime.padded)(self.source) if self.runtime.padded is not None and self.post is None else {}
        actual, of_found = found_alone(reference, actual, padded)
        self._note(given, reference, actual)
        tensors = compare_outputs(reference, actual)
        saturated = {index for index, array in enumerate(reference.values()) if is_saturated(array)}
        self._saturated |= saturated
        informative = {
            index for index, array in enumerate(reference.values()) if is_informative(array, index in self._chosen)}
        informative -= saturated | self._as_if_constant(tensors) | self._steady.places
        judged, bounds, unknown = tensors, list[Bounded](), list[str]()
        notes = [*self.running.engine_notes, *of_found]
        if hub is not None and has_bounds(hub):
            outputs, bounds, unknown = self._by_bounds(hub, given)
            judged = compare_outputs(reference, outputs)
        limits = self._limits_broken(judged)
        suspects, self._last.tensors = set(limits), judged
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
        self._last.broken, self._last.excused = set(limits), suspects - limits.keys()
        self._excused |= self._last.excused
        if not broken:
            self._passed = judged
        informative |= self._others_than_before(reference, limits)
        status = "failed" if broken else "passed"
        types = self.source.outputs
        told = [each if isinstance(type_ := types.get(each.name), TensorType) and isinstance(type_.element, QuantType)
                else of_plain(each, place in self._chosen) for place, each in enumerate(tensors)]
        return Verification(status, "", self.runtime.name, self.running.used, told, broken, bounds, notes), informative

    def _note(self, given: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray], actual: Mapping[str, Any]) -> None:
        """Note which outputs are no numbers, and which are the same as on other inputs."""
        self._steady.note(list(self._inside(given).values()), list(reference.values()))
        self._last.no_number = next((name for name, array in reference.items() if is_nan_throughout(array)), "")
        ends, source_ends = (not all(map(is_finite, each.values())) for each in (actual, reference))
        self._last.endless, self._last.ends_alone = ends or source_ends, ends and not source_ends

    def _by_bounds(self, hub: Module, given: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[Bounded], list[str]]:
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
            target, wrong = self.running.own.target, TypeError(f"gives {output_count(len(actual))}, where the model has {wanted}")
            raise failure(host().owner("targets", target), f"target {target!r}.run()", wrong)
        if len(reference) != len(actual):
            raise runtime_failed(self.runtime, f"gives {output_count(len(reference))}, where the model has {wanted}")

    def _inside(self, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """What the model is given, for what the result is."""
        return given if self.fused is None else self.fused.inside(given)

    def _of_model(self, run: Callable[..., dict[str, np.ndarray]]) -> Callable[..., dict[str, np.ndarray]]:
        """What runs the model, made to take and give what the result does."""
        bare = self._given_as_result(run)
        return bare if self.fused is None else lambda given, **how: bare(self._inside(given), **how)

    def _given_as_result(self, run: Callable[..., dict[str, np.ndarray]]) -> Callable[..., dict[str, np.ndarray]]:
        """What runs the model, made to give what the result does."""
        post = self.post
        return run if post is None else lambda given: post.outputs(run(given))

    def _limits_broken(
        self, tensors: Sequence[TensorDifference], exact: Collection[int] | None = None,
    ) -> dict[int, list[str]]:
        """By place of the output, which limits it breaks; `exact` are the places of those that have to be the same, none
        where the inputs are others."""
        exact = self._exact if exact is None else exact
        found = {
            index: broken_limits(
                tensors[index], self.tolerance, step, index in exact, index in self._plain, index in self._chosen,
                self._unit, index in self._coarse)
            for index, step in enumerate(self._steps(len(tensors)))}
        return {index: reasons for index, reasons in found.items() if reasons}

    def _as_if_constant(self, tensors: Sequence[TensorDifference]) -> set[int]:
        """The places of outputs whose steps are so few that one number throughout would pass."""
        return {index for index, step in enumerate(self._steps(len(tensors))) if index not in self._exact
                and passes_if_constant(tensors[index], self.tolerance, step, index in self._plain, index in self._chosen)}

    def _others_than_before(self, reference: Mapping[str, np.ndarray], broken: Collection[int]) -> set[int]:
        """The places of outputs that are one number throughout, and were another one on inputs before: no constant is near both.

        Those at the places that are `broken` are not kept: that they are others says nothing.
        """
        found = set[int]()
        for index, (array, step) in enumerate(zip(reference.values(), self._steps(len(reference)), strict=True)):
            number = number_throughout(array, index in self._chosen)
            if number is None or index in broken:
                continue
            is_label = index in self._chosen or array.dtype == bool
            if is_label and array.size == 1:
                self._labels.add(index)
            if is_label or index in self._exact:
                step = 0.0
            elif array.dtype.kind in "iub":
                step = 1.0
            before = self._numbers.setdefault(index, [])
            if any(are_apart(number, each, step, self._unit or 0.0, self.tolerance) for each in before):
                found.add(index)
            before.append(number)
        return found

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
            judged = all_ways.judge(given, actual, list(broken), self.drawn.of_ways, self._chosen)
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
        excused = excused_by_ties(
            self.hub, given, reference, actual, suspects, self.engine, self.tolerance, (self.source, self.result))
        names = [*actual]
        notes = [f"{names[index]}: {share:.2%} of its labels are others, where scores in {self.runtime.name} are as near to one "
                 "another as the tolerance lets them be" for index, share in excused.items()]
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
        if self._bare is None:
            return broken, []
        still = still_inputs(self.taking, given) if self.taking is not None and self.fused is None else {}
        excused = dict[int, float]()
        for chosen, coarse in product((False, True), repeat=2):
            suspects = [index for index in broken if index not in self._exact
                        and (index in self._chosen, index in self._coarse) == (chosen, coarse)]
            if not suspects:
                continue
            breaks = partial(breaks_usual, chosen=chosen, unit=self._unit, coarse=coarse)
            excused |= excused_by_last_bits(
                self._bare, self._inside(given), actual, tensors, suspects, breaks, still=still, chosen=chosen)
        notes = [
            f"{tensors[index].name}: with its inputs' last bits moved, {self.runtime.name} itself gives what is a cosine of "
            f"{apart:.5f} away; this is {tensors[index].metrics['cos']:.5f}" for index, apart in excused.items()]
        return {index: reasons for index, reasons in broken.items() if index not in excused}, notes
