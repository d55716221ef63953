"""Comparing an artifact with the model it came from."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.choices import chosen_outputs
from ..borders import note_borders
from ..errors import PluginFailure, RunError, UsageError
from ..extraction import tensors_of
from ..given import has_images, images_among, open_given, shapes_of
from ..input_shapes import sizes_said, static_inputs
from ..interrupts import interrupts_kept
from ..ir import Module, QuantType, TensorType, initial_states, input_names
from ..kinds import FLAG, LIMITS, MAPPING, MODEL, PATH, PREPROCESS, TEXT, TEXTS, WHOLE, takes
from ..meanings import (
    Changes,
    as_stored,
    as_taken,
    has_report,
    names_no_function,
    note_ranges,
    of_function,
    quantized_at_once,
    quantized_tensors,
    reported_changes,
    reported_function,
    reported_options,
    reported_types,
    taken_rounded,
    unsaid_function,
    with_meanings,
)
from ..plugin import Runtime, resolve
from ..plugin_host import host
from ..samples.fused import Fused
from ..samples.preprocess import FILE as IMAGES
from ..samples.preprocess import Preprocess, beside_of, need_images, turned_for
from ..shell import quoted
from ..sizes_of_data import sizes_from
from ..sizes_text import sizes_text
from .as_converted import AsConverted
from .asked import need_random
from .differences import TensorDifference, check_number, not_measured, of_plain
from .following import Following, Inputs
from .information import Tried, attempts, is_informative
from .inputs import checked_inputs, random_inputs
from .kinds import OutputKinds
from .layers import layer_differences, meant_difference, quantized_elements
from .limits import broken_limits
from .offsets import unit_of_module
from .padding import found_alone
from .runtimes import judged_format, run_of, runtime_for
from .steps import is_quantized
from .tolerance import Tolerance, compared_among
from .turned import turned_inputs

if TYPE_CHECKING:
    from ..written import Written

__all__ = ["Comparison", "compare"]


@dataclass
class Comparison:
    """How the tensors of two runs differ, in the reference's order."""

    reference: str
    actual: str
    tensors: list[TensorDifference] = field(default_factory=list)
    only_in_reference: list[str] = field(default_factory=list)
    excepts: list[str] = field(default_factory=list)
    """The tensors that do not count, because somebody said so."""
    silent: list[str] = field(default_factory=list)
    """The outputs that would be the same whatever was computed: that they agree is no proof (`is_informative`)."""
    is_given: bool = False
    """Whether the inputs were given, and none were drawn."""
    broken: list[str] = field(default_factory=list)
    """Which limits outputs break, in words: those that were given, or else the usual ones of a conversion, unless something is
    quantized."""
    at_borders: list[str] = field(default_factory=list)
    """Which of the silent outputs are others than the model's, all next to a border, as `excused` says."""
    is_judged: bool = False
    """Whether limits were given."""
    excused: list[str] = field(default_factory=list)
    """Why outputs that are beyond their limits are near enough all the same, and why nothing says whether others are."""
    of_found: list[str] = field(default_factory=list)
    """Of outputs that the artifact has as many rows of as there can be, how many the model found, and what stands in the rest."""
    otherwise: list[str] = field(default_factory=list)
    """Which outputs are quantized in both, and not alike, so that nothing but limits that are given judges them."""
    reordered: list[str] = field(default_factory=list)
    """The names of the outputs in the artifact's order, where that is another one than the model's: they are paired by name."""
    inputs_reordered: list[str] = field(default_factory=list)
    """The same of the inputs, which are given by name."""
    function_unsaid: str | None = None
    """The function that was asked for, where the artifact's report names none."""
    changed: bool = False
    """Whether the artifact is a file that was changed since it was written, or the preprocessing beside it, by the digests in the
    report beside them."""

    def look_around(
        self, given: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray], result: Module, artifact: str | Path | Module,
        function: str | None,
    ) -> None:
        """Note what an artifact has otherwise: the order of inputs and outputs, and what the report beside it says."""
        self.inputs_reordered, self.reordered = _reordered(given, result.inputs), _reordered(reference, result.outputs)
        if isinstance(artifact, Module):
            return
        self.changed = _has_changed(Path(artifact))
        if function is not None and names_no_function(Path(artifact)):
            self.function_unsaid = function

    @property
    def notes(self) -> list[str]:
        """What a reader should know besides: which outputs are farther than usual, which metrics could
        not be computed, and which outputs say nothing."""
        silent = [name for name in self.silent if name not in self.excepts and name not in self.at_borders]
        tried = Tried("the inputs given", "others") if self.is_given else Tried("the inputs drawn", "real inputs")
        orders = (("inputs", "given", self.inputs_reordered), ("outputs", "compared", self.reordered))
        order = [f"the {ends} are in another order than the model's, and {how} by name: {', '.join(names)}"
                 for ends, how, names in orders if names]
        broken = [] if self.is_judged else [f"{reason}, where --tolerance says nothing else" for reason in self.broken]
        of_main = [] if self.function_unsaid is None else [unsaid_function(self.function_unsaid)]
        changed = [
            "the artifact was changed since it was written, by the digest in the report beside it: it is compared as it is now, "
            "by the types and options in that report"] if self.changed else []
        usual = [*changed, *of_main, *order, *broken]
        why = f"{tried.said_nothing(silent)}, and see that what is one number throughout is another one there"
        nothing_said = [f"not conclusive for {why}"] if silent else []
        unlike = [f"{each}: no limit is usual for that, --tolerance says one" for each in self.otherwise if not self.is_judged]
        return [*usual, *self.excused, *self.of_found, *unlike, *not_measured(self.tensors), *nothing_said]

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "tensors": [tensor.as_dict() for tensor in self.tensors]}

    def _repr_html_(self) -> str:
        from ..notebook import comparison_html

        return comparison_html(self)

    def add_layers(
        self, reference: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], ends: Collection[str],
        elements: Mapping[str, QuantType], stored: Mapping[str, QuantType], changes: Changes,
    ) -> None:
        """Compare every tensor that both sides know but the `ends`, before those that are compared (`layer_differences`)."""
        between = {name: array for name, array in reference.items() if name not in ends}
        self.only_in_reference = [name for name in reference if name not in actual]
        self.tensors = layer_differences(between, actual, elements, stored, changes) + self.tensors

    def look_for_silent(self, reference: Mapping[str, np.ndarray], chosen: Collection[int], is_given: bool) -> None:
        """Note which outputs of the model, some of them `chosen`, say nothing on inputs that are given, or drawn."""
        self.silent = [
            name for place, (name, array) in enumerate(reference.items()) if not is_informative(array, place in chosen)]
        self.is_given = is_given

    def follow(
        self, following: Following, both: Callable[[Inputs], tuple[Inputs, Inputs]], inputs: Iterable[Inputs],
        further: Callable[[Inputs, Inputs, Inputs], Mapping[int, list[str]]],
    ) -> None:
        """Note which outputs break limits on one of several inputs after the first, as the runs of `both` and `further` show, or
        do not follow what little varies of them."""
        names, wrong = list[str](), dict[int, list[str]]()
        for number, given in enumerate(inputs):
            with suppress(RunError, PluginFailure, MemoryError):  # inputs that it may not be for
                reference, actual = both(given)
                names = [*reference]
                following.note(given, reference, actual)
                if number and not wrong:
                    wrong.update(further(given, reference, actual))
        others = "the numbers that are given, in the other order" if self.is_given else "other inputs (another seed draws such)"
        self.broken += [f"{reason}; that is on {others}, and not on those in the table"
                        for reasons in wrong.values() for reason in reasons]
        self.broken += following.broken(names, {*self.excepts, *(names[place] for place in wrong)})

    def judge(
        self, limits: Tolerance | None, excepts: Sequence[str], outputs: int, chosen: Collection[int],
        judging: Callable[[Tolerance], AsConverted] | None, runs: tuple[Inputs, Inputs, Inputs],
    ) -> AsConverted | None:
        """Note which limits the outputs break, the last of the tensors, but for `excepts`; the usual ones without `limits`.

        What is asked of each is what `judging` by the limits says of the inputs and of what both made of them, `runs`. Without
        it, the artifact having been quantized otherwise than the model, limits have to be given, and some outputs are `chosen`.
        """
        self.excepts = sorted(compared_among(excepts, [tensor.name for tensor in self.tensors]))
        self.is_judged = limits is not None
        if self.is_judged and {tensor.name for tensor in self.tensors[len(self.tensors) - outputs:]} <= {*self.excepts}:
            raise UsageError("all outputs are excepted: nothing is left to judge", hint="without a tolerance all is shown")
        if limits is None and judging is None:
            return None  # how near integers come to floats is for whoever quantized to say
        limits = limits or Tolerance()
        tolerance = replace(limits, excepts=limits.excepts | frozenset(self.excepts))
        tensors = self.tensors[len(self.tensors) - outputs:]
        if judging is None:
            self.broken = [reason for place, tensor in enumerate(tensors)
                           for reason in broken_limits(tensor, tolerance, chosen=place in chosen)]
            return None
        found = (judge := judging(tolerance)).first(*runs, tensors)
        self.broken = [reason for reasons in found.broken.values() for reason in reasons]
        self.excused = [*found.notes, *found.open.values()]
        self.at_borders = [tensors[place].name for place in found.open]
        self.silent += [name for name in self.at_borders if name not in self.silent]
        return judge

    def worst(self, metric: str) -> float:
        """The worst value of a metric over all tensors."""
        better = host().metrics[metric].better
        values = [t.metrics[metric] for t in self.tensors if metric in t.metrics and t.name not in self.excepts]
        if any(math.isnan(v) for v in values):
            return math.nan
        return (min if better == "higher" else max)(values, default=math.nan)



@takes(
    model=MODEL, artifact=MODEL, inputs=MAPPING, per_layer=FLAG, seed=WHOLE, shapes=MAPPING, preprocess=PREPROCESS, format=TEXT,
    function=TEXT, weights=PATH, outputs=TEXTS, excepts=TEXTS, tolerance=LIMITS)
@static_inputs()
@interrupts_kept()
def compare(
    model: str | Path, artifact: str | Path | Module,
    inputs: Mapping[str, Any] | None = None,
    *,
    per_layer: bool = False, seed: int = 0,
    shapes: Mapping[str, Sequence[int] | TensorType] | None = None, preprocess: Preprocess | None = None,
    format: str | None = None, function: str | None = None, weights: str | Path | None = None, outputs: Sequence[str] = (),
    excepts: Sequence[str] = (), tolerance: Tolerance | Mapping[str, float] | Sequence[str] | None = None,
) -> Comparison:
    """Run a model in its own runtime and an artifact in ours on the same inputs, and compare.

    `artifact` is a module, a file, or the folder of a conversion, which is run as a whole (`transload.written`).

    `inputs` are arrays, or files of them (`transload.given`), by input name, of all inputs, or random without any; open sizes
    are theirs, those of `shapes`, or the artifact's; images become arrays as `preprocess` says, or else the file beside the
    artifact: where that has the program take pixels, arrays that are given are pixels. With `per_layer`, every intermediate
    that both sides know by one name is compared too, whatever it is stored as (`layers`), and as it is taken: one that is
    quantized before anything takes it, behind that. Where the artifact was quantized on its way, its report says what its
    integers stand for, and random inputs are of the range that it takes. `format`, `function` (else that of its report),
    `weights` and `outputs` are as in `load`; `excepts` names tensors that do not count; `tolerance` is how near outputs are to
    be, the usual one of floats without it (`Comparison.broken`). Raises `UsageError` where the model's runtime is not
    installed.
    """
    from ..api import load, model_of, runnable

    artifact = model_of(artifact)
    limits = tolerance if isinstance(tolerance, Tolerance) else Tolerance.parse(tolerance, once=True) if tolerance else None
    need_random(seed, inputs is None)
    given_arrays, preprocess, is_fused = _given(inputs, preprocess, artifact)
    types = {**shapes_of(given_arrays or {}, is_fused), **(shapes or {})}
    read = partial(load, model, format=format, weights=weights, outputs=outputs)
    with sizes_from(given_arrays, None, preprocess, is_fused):
        written, result, source = _opened_with_model(artifact, types, is_fused, read, function)
    meanings, stated = {} if isinstance(artifact, Module) else reported_types(Path(artifact)), quantized_tensors(result)
    note_ranges(source, {**_taken_as(written, result, meanings), **stated, **meanings})
    fused = Fused(source, preprocess.whole()) if preprocess is not None and is_fused else None
    runtime = _judge_of(source, model)
    note_borders(result, source)
    hub = runnable(source, None if isinstance(artifact, Module) else reported_options(Path(artifact)))
    given, fed = _given_to_both(source, fused, result, hub, given_arrays, preprocess, seed)
    inside, execute = given if fused is None else fused.inside(given), run_of(runtime, source, hub)
    reference, by_order = execute(inside), as_stored(fed, with_meanings(result.inputs, meanings))
    (compute, said), chosen = _runner_of(written, result, per_layer), chosen_outputs(hub)
    actual, of_found = _found_alone(runtime, source, len(result.states), reference, compute(by_order))
    compared = partial(_outputs, source=source, meanings=meanings, stated=stated, chosen=chosen)
    ends, own = {**_of_ends(result, stated), **meanings}, _own_types(source, hub)
    comparison = Comparison(runtime.name, said, compared(reference, actual), of_found=of_found, otherwise=_unlike(own, ends))
    comparison.look_for_silent(reference, chosen, is_given=given_arrays is not None)
    comparison.look_around(given, reference, result, artifact, function)
    if per_layer:
        kept = _as_taken(hub, result, execute(inside, keep=True), compute(by_order, keep=True))
        comparison.add_layers(*kept, {*reference, *given}, own, {**stated, **own, **meanings}, _changed(artifact, own, meanings))
    judging = partial(_judging, source, hub, result, runtime, execute, fused, seed) if _are_alike(hub, own, ends) else None
    judge = comparison.judge(limits, excepts, len(reference), chosen, judging, (inside, reference, actual))
    if judge is not None and fused is None and not comparison.broken:
        others = turned_inputs(given, result) if given_arrays is not None else judge.drawn(seed)
        both = partial(_run_both, execute, compute, runtime, source, result, meanings)
        comparison.follow(
            Following(hub, judge.kinds, execute), both, chain([given], others), partial(judge.further, compared=compared))
    return comparison


def _judging(
    source: Module, hub: Module, result: Module, runtime: Runtime, execute: Callable[..., dict[str, np.ndarray]],
    fused: Fused | None, seed: int, limits: Tolerance,
) -> AsConverted:
    """What judges the outputs by limits, as a conversion does."""

    of_ways = (random_inputs(source, hub, seed + 1 + more) for more in range(9))
    return AsConverted(source, hub, result, runtime, execute, _kinds_of(source, hub, result, fused is not None, limits), of_ways)


def _runner_of(written: Written | None, result: Module, per_layer: bool) -> tuple[Callable[..., dict[str, np.ndarray]], str]:
    """What runs an artifact, as its target does where that `written` it, and what that is called."""
    from ..api import run

    if written is None:
        return partial(run, result), "reference"
    return written.runner(per_layer) or partial(run, result), written.said(keep=per_layer and not written.in_parts)


def _run_both(
    execute: Callable[[Inputs], dict[str, np.ndarray]], compute: Callable[[Inputs], dict[str, np.ndarray]], runtime: Runtime,
    source: Module, result: Module, meanings: Mapping[str, QuantType], inputs: Inputs,
) -> tuple[Inputs, Inputs]:
    """What the model, which `execute` runs, and the artifact, which `compute` does, give of some inputs; of the artifact's
    integers `meanings` say what they stand for."""
    wanted, taken = execute(inputs), as_stored(_fed(source, result, dict(inputs)), with_meanings(result.inputs, meanings))
    return wanted, _found_alone(runtime, source, len(result.states), wanted, compute(taken))[0]


def _taken_as(written: Written | None, result: Module, meanings: Mapping[str, QuantType]) -> dict[str, QuantType]:
    """The types that float inputs of a file become at once, where no report beside it says (`meanings`) what they become."""
    from ..api import runnable

    return quantized_at_once(runnable(result).main) if written is None and not meanings else {}


def _own_types(source: Module, hub: Module) -> dict[str, QuantType]:
    """The types of a model's quantized tensors by name, its inputs and outputs among them: a report names those, and formats that
    keep their types beside the tensors (QOperator) or make them of floats (QDQ) have other names for what is inside."""
    return {**quantized_elements(source, hub), **quantized_at_once(hub.main), **_of_ends(hub, quantized_tensors(hub))}


def _are_alike(hub: Module, own: Mapping[str, QuantType], found: Mapping[str, QuantType]) -> bool:
    """Whether the artifact has the integers that the model has, by its `own` types and those `found` of it: or neither any."""
    if not is_quantized(hub):
        return not found
    both = own.keys() & found.keys()
    return bool(both or not found) and all(own[name] == found[name] for name in both)


def _unlike(own: Mapping[str, QuantType], found: Mapping[str, QuantType]) -> list[str]:
    """The tensors of the model's `own` types that are of others where they are `found` in the artifact, in words."""
    return [f"{name} is {type_} in the model, and {found[name]} in the artifact" for name, type_ in own.items()
            if name in found and found[name] != type_]


def _of_ends(module: Module, stated: Mapping[str, QuantType]) -> dict[str, QuantType]:
    """What is stated of inputs and outputs alone: another scale or zero point in between is no other quantization of the model,
    it may be what is wrong."""
    ends = {*module.inputs, *module.outputs}
    return {name: type_ for name, type_ in stated.items() if name in ends}


def _kinds_of(source: Module, hub: Module, result: Module, is_fused: bool, limits: Tolerance) -> OutputKinds:
    """What is asked of the outputs: as `convert` does, but that floats may be others where they are made of pixels (`is_fused`),
    may be farther away than usual by the `limits`, and where the artifact computes in fewer bits than the model.
    """
    computes_as = unit_of_module(result) <= unit_of_module(hub)
    return OutputKinds(source, result, hub, limits, not is_fused and computes_as and limits.keeps_floats)


def _changed(artifact: str | Path | Module, own: Mapping[str, QuantType], reported: Mapping[str, QuantType]) -> Changes:
    """What quantizing changed of the model; nothing where that is the quantized module itself, by its `own` types."""
    both = own.keys() & reported.keys()
    is_quantized_so = bool(both) and all(own[name] == reported[name] for name in both)
    return Changes() if isinstance(artifact, Module) or is_quantized_so else reported_changes(Path(artifact))


def _given(
    inputs: Mapping[str, Any] | None, asked: Preprocess | None, artifact: str | Path | Module,
) -> tuple[dict[str, Any] | None, Preprocess | None, bool]:
    """What is given, if anything is, what becomes of images among it, and whether the artifact does that itself."""
    arrays = open_given(inputs) if inputs is not None else None
    preprocess = _preprocess_of(asked, arrays, artifact)
    return arrays, preprocess, preprocess is not None and preprocess.is_fused


def _preprocess_of(
    asked: Preprocess | None, given: Mapping[str, Any] | None, artifact: str | Path | Module,
) -> Preprocess | None:
    """What becomes of images: as it is asked, where there are some, or else as the file beside the artifact says."""
    beside = None if isinstance(artifact, Module) else beside_of(Path(artifact))
    if asked is None:
        return beside
    asked = asked.before(beside)
    if not asked.is_fused:
        need_images(has_images(given))
    return asked


def _judge_of(source: Module, model: str | Path) -> Runtime:
    runtime, why = runtime_for(judged_format(source))
    if runtime is None:
        raise UsageError(f"nothing can run {model} to compare with: {why}")
    return runtime


def _opened(
    artifact: str | Path | Module, types: Mapping[str, Sequence[int] | TensorType],
) -> tuple[Written | None, Module, str | None]:
    """What a target wrote there, if one did, the module that is run, and of what function of the model its report says it is."""
    from ..valid import module_given
    from ..written import opened_at

    if isinstance(artifact, Module):
        return None, module_given(artifact, "compare").clone(), None
    return *opened_at(Path(artifact), types), reported_function(Path(artifact))


def _has_changed(artifact: Path) -> bool:
    """Whether a file, or the preprocessing beside it, is not what the conversion wrote there whose report is beside it.

    Of a folder, who opens it asks.
    """
    from ..reported import changed_since, report_in

    report = report_in(artifact.parent)
    return report is not None and artifact.name in report["files"] and bool(
        changed_since(artifact.parent, report, (artifact.name, IMAGES)))


def _opened_with_model(
    artifact: str | Path | Module, types: Mapping[str, Sequence[int] | TensorType], is_fused: bool,
    read: Callable[..., Module], function: str | None,
) -> tuple[Written | None, Module, Module]:
    """What is `_opened`, and the model as it is `read` beside that: with its open sizes, and the function that it was made of."""
    from ..written import with_batch_of

    written, result, reported = _opened(artifact, types)
    source = with_batch_of(result if not is_fused else None, types, lambda inputs: of_function(
        lambda name: read(inputs=inputs, function=name), function, reported))
    _need_sizes_of(artifact, result, source, bool(types or any(sizes_said())) and not is_fused)
    _need_same_cut(artifact, result, source)
    return written, result, source


def _need_same_cut(artifact: str | Path | Module, result: Module, source: Module) -> None:
    """Raise `UsageError` where the names of an artifact's outputs are those of other tensors of the model than are asked for.

    Of tensors inside they say it where a report is there: who wrote the artifact called its outputs as the model does.
    """
    names, asked = list(result.outputs), list(source.outputs)
    others = set(names) - set(asked)
    called = "this module" if isinstance(artifact, Module) else artifact
    given, is_ours = ", ".join(map(repr, names)), not isinstance(artifact, Module) and has_report(Path(artifact))
    if source.cut is not None:
        known = source.cut.tensors if is_ours else source.cut.whole if len(others) == len(names) else ()
        if not others.isdisjoint(known):
            raise UsageError(f"{called} is an artifact that gives {given}, and the model was cut at "
                             + ", ".join(map(repr, source.cut.outputs)),
                             hint="convert the model once more with that, or say " + (
                                 "no --outputs" if set(names) <= set(source.cut.whole) else _outputs_of(names)))
    elif is_ours and len(others) == len(names) and others <= tensors_of(source).keys():
        raise UsageError(f"{called} is an artifact that gives {given}, which the model has inside, and not "
                         + ", ".join(map(repr, asked)), hint=_made_of(names))


def _need_sizes_of(artifact: str | Path | Module, result: Module, source: Module, are_said: bool) -> None:
    """Raise `UsageError` where the model was read with sizes that `are_said` and that its artifact has not.

    The same sizes in another order are another layout.
    """
    taken = result.inputs
    for place, (name, wanted) in enumerate(source.inputs.items() if are_said else ()):
        there = taken.get(name, next(islice(taken.values(), place, None), None))
        if not (isinstance(there, TensorType) and isinstance(wanted, TensorType) and there.is_static and wanted.is_static):
            continue
        if sorted(there.static_shape) != sorted(wanted.static_shape):
            own, asked = (sizes_text(type_.static_shape) for type_ in (there, wanted))
            called = "this module" if isinstance(artifact, Module) else artifact
            raise UsageError(f"{called} is an artifact, whose input {name!r} is {own}, and was to be {asked}",
                             hint="convert the model once more with that")


def _as_taken(
    model: Module, artifact: Module, reference: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray],
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The tensors of both as they are taken: what the model quantizes before it takes it is rounded in its artifact, too."""
    from ..api import runnable

    own = taken_rounded(model)
    return as_taken(reference, own), as_taken(actual, {**own, **taken_rounded(runnable(artifact))})


def _found_alone(
    runtime: Runtime, source: Module, states: int, reference: Mapping[str, np.ndarray], computed: Mapping[str, np.ndarray],
) -> tuple[dict[str, np.ndarray], list[str]]:
    """The artifact's outputs without its states, which come last, as far as the model found something (`found_alone`), and what
    there is to say of that. They are in the order of the model's where they are the same by name. `UsageError` where there are
    not as many."""
    actual = dict(islice(computed.items(), len(computed) - states))
    check_number(reference, actual)
    in_order = {name: actual[name] for name in reference} if set(reference) == set(actual) else actual
    return found_alone(reference, in_order, resolve(runtime.padded)(source) if runtime.padded is not None else {})


def _reordered(own: Collection[str], found: Iterable[str]) -> list[str]:
    """The names of an artifact's inputs or outputs, before its states, where they are the model's in another order; else none."""
    names = list(islice(found, len(own)))
    return names if names != list(own) and set(names) == set(own) else []


def _outputs(
    reference: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], source: Module, meanings: Mapping[str, QuantType],
    stated: Mapping[str, QuantType], chosen: Collection[int],
) -> list[TensorDifference]:
    """The outputs compared, in order (`_found_alone`); `meanings` are what the artifact's integers stand
    for, by the names that it has for them, and `stated` what its types say, where the model's say nothing. Those at the places
    `chosen` are truths and labels."""
    own = {name: type_.element for name, type_ in source.outputs.items()
           if isinstance(type_, TensorType) and isinstance(type_.element, QuantType)}
    tensors = [
        meant_difference(name, wanted, got, own.get(name), meanings.get(stored) or own.get(name) or stated.get(stored),
                         is_output=True)
        for (name, wanted), (stored, got) in zip(reference.items(), actual.items(), strict=True)]
    return [of_plain(each, True) if place in chosen else each for place, each in enumerate(tensors)]


def _made_of(names: Iterable[str]) -> str:
    """What to do where an artifact gives these tensors, and the model others."""
    return f"where it was made of a part of the model, say of which: {_outputs_of(names)}"


def _outputs_of(names: Iterable[str]) -> str:
    return " ".join(f"--outputs {quoted(name)}" for name in names)


def _why_others(source: Module, result: Module, given: Collection[str]) -> str:
    """What to do where an artifact takes fewer inputs than the model that it is said to be of, or more."""
    more = {name: type_.static_shape for name, type_ in result.inputs.items()
            if name not in given and isinstance(type_, TensorType) and type_.is_static}
    if len(result.inputs) < len(given):
        return _made_of(result.outputs)
    if source.cut is not None:
        return "it was made of more of the model than these outputs need: say no --outputs, or those that it was made of"
    shapes = " ".join(f"--shape {quoted(name + ':' + 'x'.join(map(str, shape)))}" for name, shape in more.items() if shape)
    return (f"inputs that the model can go without are there with a shape: {shapes}; " * bool(shapes)
            + "a model whose state is explicit is compared by `transload convert`, which knows what the state is at first")


def _given_to_both(
    source: Module, fused: Fused | None, result: Module, hub: Module, given: Mapping[str, Any] | None,
    preprocess: Preprocess | None, seed: int,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """What the model takes, pixels where they are `fused`, and the same for the artifact, by its names; drawn without `given`."""
    taken = source if fused is None else fused.outside
    if given is None:
        drawn = next(attempts(taken, hub, seed))
        return drawn, _fed(source, result, drawn)
    if preprocess is not None and fused is None:
        preprocess = _laid_out_for_both(preprocess, source, result)
    arrays = checked_inputs(taken, given, preprocess)
    return arrays, _fed(source, result, arrays, images_among(taken, given) if fused is None else ())


def _laid_out_for_both(preprocess: Preprocess, source: Module, result: Module) -> Preprocess:
    """What becomes of images before the model, where the layout that is said is the artifact's alone."""
    others = result.inputs
    for place, (name, type_) in enumerate(source.inputs.items()):
        found = [others[name]] if name in others else [*others.values()][place : place + 1]
        preprocess = preprocess.laid_out_for(name, type_, found)
    return preprocess


def _fed(
    source: Module, result: Module, given: dict[str, np.ndarray], images: Collection[str] = (),
) -> dict[str, np.ndarray]:
    """What the model is given, by the names that the artifact has for it, of `images` with channels where it has them.

    `UsageError` where it has not as many inputs.
    """
    names = input_names(result.main)
    types = result.inputs
    in_place = dict(zip(given, types.values(), strict=False))
    given = {name: turned_for(array, types.get(name, in_place.get(name))) if name in images else array
             for name, array in given.items()}
    fed = list(given.values())
    if len(fed) != len(names):  # a model that says its states has them among what is given
        fed += initial_states(result).values()
    if len(fed) != len(names):
        raise UsageError(
            f"the artifact has {len(names)} inputs ({', '.join(names)}), and the model {len(given)} ({', '.join(given)})",
            hint=_why_others(source, result, given))
    return dict(zip(names, fed, strict=True)) if set(names) != set(given) else given
