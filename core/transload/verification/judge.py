"""How near a result is to its source, made ready to run side by side: which limits are broken, and what excuses them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, repeat, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.dataflow import has_loops
from ..budget import TimeOver, check_deadline, timed
from ..errors import MissingKernel, PluginFailure, RunError, after_colon
from ..guard import failure, noted
from ..ir import Module, QuantType, TensorType
from ..plugin import Runtime, resolve
from ..plugin_host import host
from ..worker import ChildEnded
from .bounds import Bounded, check_bounds, has_bounds
from .choosing import MOST_TIED
from .differences import TensorDifference, compare_outputs, in_view_of, not_measured, of_plain, output_count, together
from .drawn import Drawn
from .edges import open_at_edges
from .endless import beyond_singles, is_finite, may_hold_doubles, why_no_numbers
from .excuses import Broken, Excuses
from .following import moved_as_far
from .further import in_time
from .information import Tried, are_apart, is_informative, is_nan_throughout, is_saturated, number_throughout, vary
from .kinds import OutputKinds
from .last import Last
from .last_bits import moved_by_roundings
from .padding import found_alone
from .reference import Reference
from .running import Running
from .runtimes import OtherShape, judged_format, runtime_failed
from .sampled import Together
from .steady import Steady
from .steps import is_quantized
from .tolerance import Tolerance
from .verdict import Verification

if TYPE_CHECKING:
    from ..postprocess import Postprocess
    from ..samples.fused import Fused

__all__ = ["DIFFERS_TOO", "Judge"]

_NOTED = 32
"""How many inputs are kept: all that are drawn, and few of many samples."""
_OF_FURTHER = ("that, and the table, is of further inputs than the first, on which it passed{}: compare shows it with other "
               "inputs (--seed, --input)")
_REACHING = "that is so on inputs beside what the model's own constants ask about; on the usual ones it passed"
_HALVES = ("that is so on inputs that stand on borders: halves of integers, zero, what the model compares with; on the usual "
           "ones it passed")
_TURNED = "that is so on the numbers that are given, in the other order; as they are given it passed"
_SINGLES = "on larger inputs than the usual ones {}, of f64, have numbers that f32 does not hold: there the result is none"
_LARGER = "that is so on larger inputs than the usual ones, on which it passed"

DIFFERS_TOO = "differs, too: the conversion is wrong"
"""Said of the module that a target's runtime was given, where an engine of ours finds it wrong as well."""


class Judge:
    """The source in its runtime and the result in our engine, made ready to run side by side."""

    def __init__(
        self, source: Module, result: Module, hub: Module | None, runtime: Runtime, tolerance: Tolerance, engine: str,
        running: Running, fused: Fused | None = None, post: Postprocess | None = None,
    ) -> None:
        self.tried = Tried.of(given=False)
        """What it is judged on, in words."""
        self.drawn = Drawn()
        """What is tried beside the first inputs."""
        self.source = source
        self.result, self.runtime, self.tolerance, self.engine = result, runtime, tolerance, engine
        self.hub = hub if post is None else None  # whose outputs are others
        self.running = running
        self.kinds = OutputKinds(source, result, self.hub, tolerance, fused is None and tolerance.keeps_floats)
        self.reference = Reference(source, runtime, hub, fused, post)
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
        self._passed = list[TensorDifference]()
        """How far the outputs were on the last inputs on which they were near enough."""
        self._passed_on: Mapping[str, np.ndarray] = {}
        """Those inputs."""
        self._of_one = True
        """Whether what is wrong is so on the last inputs, and not on several together alone."""
        self._steady = Steady(self.hub, self.kinds)
        self._noted = deque[Mapping[str, np.ndarray]](maxlen=_NOTED)
        """The last inputs that it was judged on."""
        self._excused = set[int]()
        """Places of the outputs that were beyond the limits on some inputs, and are near enough all the same."""

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
        except OtherShape as error:
            if why := self._leaves_open() or self._contradicts_itself():
                return Verification("inconclusive", why, runtime.name, engine, notes=[error.message])
            return Verification("failed", "", runtime.name, engine, broken=[error.message])
        except RunError as error:
            if self.running.used and isinstance(error, MissingKernel):
                return Verification("skipped", error.message, runtime.name, self.running.used)
            if self.running.used:  # it is our engine that cannot
                raise
            self.refused = True
            return Verification("skipped", f"{runtime.name} cannot run the model: {error.in_a_line}", runtime.name, engine)
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
        if self.on_all:
            self._judge_all(verdict, told, pending)
        else:
            self._judge_others(verdict, judged, told, pending)
        if not verdict.broken and (told | self._saturated) & judged and not self.on_all:
            self._judge_further(verdict)
        if not verdict.broken and told & judged & self.kinds.chosen and not self.on_all:
            self._judge_choices(verdict, sorted(judged & self.kinds.chosen))
        if not verdict.broken:
            self._judge_beyond(verdict, told, judged)
        if not verdict.broken and not self.drawn.turned and (steady := self._steady.places & told & judged):
            told -= steady
            if not self.on_all:
                self._judge_others(verdict, judged, told, pending)
            told |= steady & self._steady.apart
        if not verdict.broken and not verdict.bounds:
            self._judge_varying(verdict, judged - self._excused)
        steady = set[int]() if self.drawn.turned else self._steady.places  # a single input that is given tells by itself
        telling = told | (self._saturated - steady)
        silent = [tensor.name for index, tensor in enumerate(verdict.tensors) if index in judged - telling]
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
        elif silent and not telling & judged:
            verdict.status = "inconclusive"
            places = [place for place in sorted(self._numbers) if verdict.tensors[place].name in silent]
            verdict.why = self.tried.said_nothing(silent, [verdict.tensors[place].name for place in places])
        elif silent:
            verdict.notes.append(f"not conclusive for {', '.join(silent)}: constant, saturated, not finite or always the same, "
                                 f"or nearly, on {self.tried.inputs}")
        verdict.notes += self.running.notes
        return verdict

    def _judge_others(
        self, verdict: Verification, judged: set[int], told: set[int], pending: Iterator[Mapping[str, np.ndarray]],
    ) -> None:
        """Judge on further inputs for as long as outputs that are `judged` have not `told` anything, and nothing is wrong.

        A verdict shows of each output the inputs on which it said something first, and of all those on which one is wrong: what
        the limits are broken by is in its table.
        """
        pending = chain(pending, takewhile(lambda _: judged <= self._steady.places - told, self.drawn.of_steady))
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
        """Have a verdict say what is wrong on one of the further inputs (`further`, `many`), or on all of them together, if
        anything is.

        Of single numbers one may be a step away on some inputs, and is not on all: how many are is counted over all of them.
        The more inputs there are, the more of them may be such on which the source itself keeps to no limits.
        """
        steps, counted = self._passed, [self._passed_on]
        for given, is_of_many in chain(
                zip(self.drawn.further, repeat(False), strict=False), zip(in_time(self.drawn.many), repeat(True), strict=False)):
            once, _ = self._judge_if_taken(given)
            if isinstance(once, str) or self._last.no_number:
                continue
            if not once.broken:
                steps = list(map(together, steps, self._passed))
                counted.append(given)
            elif not self._leaves_open() and (not is_of_many or self._is_steady(given)):
                self._say_of_further(verdict, once)
                return
        left_out = self._excused | self.kinds.chosen | {index for index, tensor in enumerate(steps) if tensor.dtype == "bool"}
        broken = {index: reasons for index, reasons in self.kinds.limits_broken(steps).items() if index not in left_out}
        if broken:
            broken, notes = self._excuses().of_all(counted, broken)
            verdict.notes += [note for note in notes if note not in verdict.notes]
        if broken:
            verdict.tensors = [steps[index] if index in broken else tensor for index, tensor in enumerate(verdict.tensors)]
            verdict.broken = [reason for reasons in broken.values() for reason in reasons]
            verdict.notes.append("that is so of all inputs that it was run on together, on each of which it passed")
            self._of_one = False

    def _judge_choices(self, verdict: Verification, chosen: Sequence[int]) -> None:
        """Have a verdict say what is wrong on one of the inputs (`choosing`) on which an output that is `chosen` is another, if
        anything is. Where ties made it so on some of them, scores are coarse, and labels say little: it ends there."""
        tied = 0
        for given in in_time(self.drawn.choosing):
            if tied == MOST_TIED:
                return
            reference = self._reference_of(given)
            if isinstance(reference, str) or self._are_alike(given, reference, chosen):
                continue
            once, _ = self._judge_by(given, reference)
            if self._last.no_number:
                continue
            if once.broken and not self._leaves_open():
                self._say_of_further(verdict, once)
                return
            tied += 1

    def _are_alike(
        self, given: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray], places: Sequence[int],
    ) -> bool:
        """Whether the result's outputs at some places are the same numbers as the source's."""
        actual, _ = self._actual(given, reference)
        both = [*zip(reference.values(), actual.values(), strict=True)]
        return all(np.array_equal(right, in_view_of(np.asarray(got), right)) for right, got in (both[place] for place in places))

    def _say_of_further(self, verdict: Verification, once: Verification) -> None:
        """Have a verdict say what is wrong `once`, on further inputs than the first."""
        verdict.tensors, verdict.broken = once.tensors, once.broken
        verdict.notes += [note for note in once.notes if note not in verdict.notes]
        verdict.notes.append(_OF_FURTHER.format(""))

    def _judge_varying(self, verdict: Verification, judged: set[int]) -> None:
        """Have a verdict say which outputs do not vary from input to input as the source's do, where little of them varies."""
        broken = self._steady.broken() & judged
        unit = self.kinds.unit
        open_ = moved_as_far(self._steady, broken, self._noted, self.reference.run, unit) if broken else set[int]()
        verdict.broken = [self._steady.said(place, verdict.tensors[place].name) for place in sorted(broken - open_)]
        if verdict.broken:
            self._of_one = False
        verdict.notes += [f"{self._steady.said(place, verdict.tensors[place].name)}; of inputs that are moved by roundings "
                          f"{self.runtime.name} itself gives what is farther from that" for place in sorted(open_)]

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
        samples.end(self.kinds.limits_broken(samples.tensors), self._of_all)

    def _of_all(self, inputs: Sequence[Mapping[str, np.ndarray]], broken: Broken) -> tuple[Broken, list[str]]:
        """`Excuses.of_all`, for as long as there is time."""
        try:
            return self._excuses().of_all(inputs, broken)
        except TimeOver as error:
            return broken, [f"whether {self.runtime.name} rounds them so was not looked at: {error.message}; {error.hint}"]

    def _count_steps(self, once: Verification, samples: Together) -> None:
        """Count how many numbers are a step away on the last inputs. A verdict that says no more than that these are too many
        passes until all samples are counted."""
        wrong = self.kinds.limits_broken([replace(each, others=None) for each in self._last.tensors]) if self._last.broken else {}
        left_out = {*wrong, *self.kinds.chosen, *self._last.excused}
        counted = samples.count(
            self._last.given or {}, {index: tensor for index, tensor in enumerate(self._last.tensors) if index not in left_out})
        if once.broken and self._last.broken <= counted and not once.bounds:
            once.broken, once.status = [], "passed"

    @property
    def is_of_floats(self) -> bool:
        """Whether floats are computed with as they are: nothing is rounded to steps, and nothing ends when its data says so."""
        is_coarse = self.hub is None or has_bounds(self.hub) or is_quantized(self.hub)
        return not is_coarse and self.tolerance.keeps_floats and not has_loops(self.hub if self.hub is not None else self.result)

    def _judge_beyond(self, verdict: Verification, told: set[int], judged: set[int]) -> None:
        """Have a verdict say what is wrong on inputs beyond the usual ones (`reaching`, `halves`, `turned`, `larger`), if
        anything is; more outputs that are `judged` may have `told` something there.

        These may be more than the model, its runtime or an engine is made for: where the runtime gives no numbers, or one of them
        gives up, nothing is said. Where the result alone gives none, it does not hold on the way what the model computes.
        """
        larger = (((given,), _LARGER) for given in self.drawn.larger if self.is_of_floats and told & judged)
        turned = (((given,), _TURNED) for given in self.drawn.turned)
        reaching = ((several, _REACHING) for several in self.drawn.reaching)
        halves = (((given,), _HALVES) for given in self.drawn.halves)
        for several, note in chain(reaching, halves, turned, larger):
            for given in several:
                with suppress(RunError, PluginFailure, MemoryError, ChildEnded, TimeOver):
                    once, informative = self.judge(given)
                    if self._last.ends_alone and (names := self._beyond_singles(given)):
                        told_of = _SINGLES.format(", ".join(names))
                        verdict.notes += [told_of] if told_of not in verdict.notes else []
                        break
                    says = self._last.ends_alone or not self._last.endless
                    if once.broken and says and not self._leaves_open() and self._is_steady(given) and self._is_inside(given):
                        verdict.tensors, verdict.broken = once.tensors, once.broken
                        verdict.notes += [*(each for each in once.notes if each not in verdict.notes), note]
                        return
                    for index in set() if once.broken else informative - told:
                        verdict.tensors[index] = once.tensors[index]
                        told.add(index)
                    break

    def _beyond_singles(self, given: Mapping[str, np.ndarray]) -> list[str]:
        """What the source computes in f64 on the way that the result, which has f32 in its place, does not hold."""
        if may_hold_doubles(self.result) or not may_hold_doubles(self.source):
            return []  # the tensors between are not asked for in vain: together they are many times what is there at one time
        with suppress(RunError, PluginFailure, MemoryError, ChildEnded):  # with its intermediate tensors it may not run
            return beyond_singles(self.reference.run(given, keep=True))
        return []

    def _is_inside(self, given: Mapping[str, np.ndarray]) -> bool:
        """Whether the hub's form of the model runs: in the artifact a place outside of a table may be any."""
        taking = self.reference.taking
        return taking is None or bool(Running(taking, "reference")(dict(self.reference.inside(given))))  # it gives up otherwise

    def _is_steady(self, given: Mapping[str, np.ndarray]) -> bool:
        """Whether the runtime itself keeps to the limits where inputs are moved by roundings: a sine of hundreds does not."""
        with suppress(RunError, PluginFailure, MemoryError, ChildEnded):  # it may not take what is moved
            moved = moved_by_roundings(given, still=self.reference.still(given))
            both = compare_outputs(self.reference.run(given), self.reference.run(moved))
            return not self.kinds.limits_broken(both, exact=frozenset())
        return False

    def _leaves_open(self) -> str:
        """Why what is wrong on the last inputs says nothing of the conversion, where it does not: runtimes differ in it."""
        why, given = why_no_numbers(self.source, self.hub, self._last.endless), self._last.given
        if why or given is None:
            return why
        if self.runtime.undefined is not None:
            why = str(resolve(self.runtime.undefined)(self.source, self.hub, self.reference.inside(given)))
        return why or self._lies_at_edges(given)

    def _contradicts_itself(self) -> str:
        """That the file does, where its runtime gives other shapes than it says, and it was written in its own format again as it
        is: nothing here read its operators."""
        own = self.running.own
        same = self.hub is None and own is not None and own.target == judged_format(self.source)
        return "the sizes in the model's file contradict its operators" if same else ""

    def _lies_at_edges(self, given: Mapping[str, np.ndarray]) -> str:
        """Why what is wrong on these inputs says nothing, where all of it is next to a border (`edges`)."""
        broken = self._last.broken - self.kinds.exact
        if not broken or broken != self._last.broken or self.hub is None or self.reference.fused is not None or not self._of_one:
            return ""
        with suppress(RunError, PluginFailure, MemoryError):  # with its intermediate tensors it may not run
            reference, actual = self.reference.run(given, keep=True), self.running(given)
            found = open_at_edges(self.hub, given, reference, actual, broken, self.engine, self.tolerance)
            if found.keys() == broken:
                names = ", ".join(list(actual)[place] for place in sorted(broken))
                return (f"all numbers of {names} that are others are made of what is next to a border, as next to 0, where "
                        f"runtimes round to either side; give {self.tried.others} with --input NAME=FILE")
        return ""

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
        if self.hub is not None and self.reference.fused is None:
            forms.append((f"{nobody}; the hub's form of it", self.hub))
        for form, self.running.ran in forms:
            with suppress(RunError):  # a dialect that only its target executes, or an op that the hub does not
                again, _ = self.judge(self._last.given)
                whose = DIFFERS_TOO if again.broken else (
                    f"does compute what the source does: it is what {target} makes of it that differs")
                self.running.notes.append(f"{form}, run by engine {again.engine.partition(' ')[0]}, {whose}")
                return
        self.running.notes.append(f"{nobody}: whether that is wrong is unknown")

    def _judge_if_taken(self, given: Mapping[str, np.ndarray]) -> tuple[Verification | str, set[int]]:
        """`judge` on inputs after the first; why not, where the source's runtime does not run these, as a division by 0."""
        reference = self._reference_of(given)
        return (reference, set()) if isinstance(reference, str) else self._judge_by(given, reference)

    def _reference_of(self, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray] | str:
        """What the source gives of inputs after the first; why not, where its runtime does not run these."""
        try:
            return self.reference.run(given)
        except TimeOver:
            raise
        except (RunError, PluginFailure, ChildEnded, MemoryError) as error:
            return f"{self.runtime.name} does not run it{after_colon(error)}"

    def judge(self, given: Mapping[str, np.ndarray]) -> tuple[Verification, set[int]]:
        """The verdict on some inputs, and the places of the outputs that say something."""
        self._last.given = given
        return self._judge_by(given, self.reference.run(given))

    def _judge_by(
        self, given: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray],
    ) -> tuple[Verification, set[int]]:
        """The same by the `reference`, what the source gives of these inputs."""
        hub, self._last.given = self.hub, given
        self.varied |= bool(vary(given))
        actual, of_found = self._actual(given, reference)
        self._note(given, reference, actual)
        tensors = compare_outputs(reference, actual)
        saturated = {index for index, array in enumerate(reference.values()) if is_saturated(array)}
        self._saturated |= saturated
        informative = {
            index for index, array in enumerate(reference.values()) if is_informative(array, index in self.kinds.chosen)}
        informative -= saturated | self.kinds.as_if_constant(tensors)
        judged, bounds, unknown = tensors, list[Bounded](), list[str]()
        notes = [*self.running.engine_notes, *of_found]
        if hub is not None and has_bounds(hub):
            outputs, bounds, unknown = self._by_bounds(hub, given)
            judged = compare_outputs(reference, outputs)
        limits = self.kinds.limits_broken(judged)
        suspects, self._last.tensors = set(limits), judged
        if limits and unknown:
            notes.append(f"how far off a model may be behind {', '.join(unknown)} that quantizes when it runs is not known: "
                         "its outputs were held to the usual tolerance (facts of kind error-bound say it)")
        if hub is not None and bounds and self.running.own is not None:  # they are the module's: the artifact is to give the same
            of_hub = dict(zip(reference, Running(hub, self.engine)(dict(self.reference.inside(given))).values(), strict=True))
            for index, reasons in self.kinds.limits_broken(compare_outputs(of_hub, actual)).items():
                limits.setdefault(index, []).extend(f"beside the module that it was made of, {reason}" for reason in reasons)
        if limits and not bounds:
            tensors, limits, excused = self._excuses().of(given, actual, tensors, limits)
            notes += excused
        broken = [reason for reasons in limits.values() for reason in reasons]
        broken += [f"{each.name}: differs by {each.max_abs:g}, its bound is {each.bound:g}"
                   for each in bounds if not each.kept and each.name not in self.tolerance.excepts]
        notes += not_measured(tensors)
        self._last.broken, self._last.excused = set(limits), suspects - limits.keys()
        self._excused |= self._last.excused
        if not broken:
            self._passed, self._passed_on = judged, given
        self._noted.append(given)
        self._steady.note(
            list(self.reference.inside(given).values()), list(reference.values()), list(actual.values()),
            {*limits, *suspects, *(index for index, array in enumerate(reference.values()) if is_nan_throughout(array))})
        informative -= self._steady.places
        informative |= self._others_than_before(reference, limits)
        status = "failed" if broken else "passed"
        types = self.source.outputs
        told = [each if isinstance(type_ := types.get(each.name), TensorType) and isinstance(type_.element, QuantType)
                else of_plain(each, place in self.kinds.chosen) for place, each in enumerate(tensors)]
        return Verification(status, "", self.runtime.name, self.running.used, told, broken, bounds, notes), informative

    def _actual(
        self, given: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray],
    ) -> tuple[Mapping[str, np.ndarray], list[str]]:
        """What the result gives of inputs, as far as the source gives as many numbers (`found_alone`), with notes."""
        actual = self.running(given)
        self._need_all(reference, actual)
        pads = self.runtime.padded if self.reference.post is None else None
        return found_alone(reference, actual, resolve(pads)(self.source) if pads is not None else {})

    def _excuses(self) -> Excuses:
        return Excuses(self.reference, self.hub, self.running, self.kinds, self.engine, self.drawn)

    def _note(self, given: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray], actual: Mapping[str, Any]) -> None:
        """Note which outputs are no numbers."""
        self._last.no_number = next((name for name, array in reference.items() if is_nan_throughout(array)), "")
        ends, source_ends = (not all(map(is_finite, each.values())) for each in (actual, reference))
        self._last.endless, self._last.ends_alone = ends or source_ends, ends and not source_ends

    def _by_bounds(self, hub: Module, given: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[Bounded], list[str]]:
        """`check_bounds` of the result, or, where only the target runs its dialect, of the hub's form of it."""
        kept, inside = self.reference.run(given, keep=True), self.reference.inside(given)
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

    def _others_than_before(self, reference: Mapping[str, np.ndarray], broken: Collection[int]) -> set[int]:
        """The places of outputs that are one number throughout, and were another one on inputs before: no constant is near both.

        Those at the places that are `broken` are not kept: that they are others says nothing.
        """
        found = set[int]()
        for index, (array, step) in enumerate(zip(reference.values(), self.kinds.steps(len(reference)), strict=True)):
            number = number_throughout(array, index in self.kinds.chosen)
            if number is None or index in broken:
                continue
            is_label = index in self.kinds.chosen or array.dtype == bool
            if is_label or index in self.kinds.exact:
                step = 0.0
            elif array.dtype.kind in "iub":
                step = 1.0
            before = self._numbers.setdefault(index, [])
            if any(are_apart(number, each, step, self.kinds.unit or 0.0, self.tolerance) for each in before):
                found.add(index)
            before.append(number)
        return found
