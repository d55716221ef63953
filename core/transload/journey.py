"""A model's journey from its framework's dialect to what a target takes: what will run, as a list, and running it.

    journey = Journey(target.accepts, target=target)
    print(journey.plan(module))       # the stages, and the passes of each, as pipeline text
    journey.run(module)               # the same

The stages are those of `Plan.stages`: `read`; a conversion for each step of the route, with its passes before and after; `hub`,
the hub's pipeline, where the way goes on from the hub; `quantize`, where a quantizer was asked for; `pipeline`, the target's own
passes; `check`, `emit` and `verify`. The route is looked for again after each stage, by the dialects that are in the module then.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from .budget import budget
from .contents import STRUCTURE, constant_bytes, dialects_in
from .context import new_run
from .conversion import hint_for, options_of, owners_of, route_from, run_conversion, steps_of, takes, why_unfit
from .errors import ConversionError, Finding, UsageError
from .garbage import rare_collections
from .ir import Module
from .ir.borders import output_names_kept
from .limits import text_lengths
from .open_sizes import need_of_sizes
from .options import Owner, own_options, settings_of, shared_out
from .passes.manager import OutOfPlace, Pipeline
from .passes.needed import keep_main
from .passes.steps import PassRecord, Step, reads
from .plugin import Conversion, Target
from .plugin_host import host, misstated, wished
from .rewrite import cannot_convert, names_of
from .roles import hub
from .routes import companions

__all__ = ["CHECK", "EMIT", "HUB", "PIPELINE", "QUANTIZE", "READ", "VERIFY", "Journey", "Observer", "Plan", "Stage", "convert_to"]

READ, HUB, QUANTIZE, PIPELINE, CHECK, EMIT, VERIFY = "read", "hub", "quantize", "pipeline", "check", "emit", "verify"
"""Names of the stages that are no conversions."""

_ONE_GRAPH = "keep-main"
"""The pass in a target's pipeline that says of its format: it holds one graph."""

T = TypeVar("T")


@dataclass(frozen=True)
class Stage:
    """A part of the journey: steps in a row. Reading, checking, writing and verifying have none."""

    name: str
    """A conversion's name, or one of `READ`, `HUB`, ..."""
    steps: tuple[Step, ...] = ()
    about: str = ""
    """What it does, for a reader of the plan: the dialects it goes from and to."""
    conversion: Conversion | None = None
    unsure: str = ""
    """Of a planned stage: why another may come in its place, and which; empty where it is certain."""
    act: Callable[[Module], Module] | None = None
    """Of quantizing: makes another module of the one that is there."""

    def __repr__(self) -> str:
        return f"<stage {self.name}: {', '.join(step.name for step in self.steps) or 'no passes'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """To be looked at where it is read again: what makes another module of one (`act`) stays here."""
        conversion = None if self.conversion is None else self.conversion.name
        return _stage_again, (self.name, self.steps, self.about, conversion, self.unsure)

    def __str__(self) -> str:
        """Its heading, as a comment, and its passes, one a line, as pipeline text."""
        heading = f"# {self.name}" + (f": {self.about}" if self.about else "")
        return "\n".join([heading, *([f"#   {self.unsure}"] if self.unsure else []), *(f"{step}," for step in self.steps)])


def _stage_again(name: str, steps: tuple[Step, ...], about: str, conversion: str | None, unsure: str) -> Stage:
    return Stage(name, steps, about, None if conversion is None else host().get("conversions", conversion), unsure)


@dataclass(frozen=True)
class Plan:
    """What a journey will run. As text it is a pipeline, one pass a line, with the stages as comments."""

    stages: tuple[Stage, ...]

    @property
    def is_certain(self) -> bool:
        """Whether nothing depends on what a stage makes of the module."""
        return not any(stage.unsure for stage in self.stages)

    @property
    def passes(self) -> list[str]:
        """All passes in order, as text, with their options."""
        return [str(step) for stage in self.stages for step in stage.steps]

    def __repr__(self) -> str:
        return f"<plan: {', '.join(stage.name for stage in self.stages)}; {len(self.passes)} passes>"

    def __str__(self) -> str:
        return "\n".join(map(str, self.stages))


class Observer:
    """Told of a journey as it goes. Derive from it, and overwrite what is of interest."""

    def enters(self, stage: Stage) -> None:
        """A stage begins."""

    def ran(self, stage: Stage, step: Step, record: PassRecord, module: Module) -> None:
        """A step of a stage has run; the module is what it left."""

    def leaves(self, stage: Stage, module: Module | None, seconds: float) -> None:
        """A stage is done; the module is what it left."""

    def stops(self, stage: Stage, error: BaseException) -> None:
        """A stage has raised."""


@dataclass
class _Place:
    """How far a module has come: what it holds, and which pipelines it still has before it."""

    present: Counter[str]
    hub_due: bool
    quantize_due: bool
    pipeline_due: bool
    module: Module | None = None
    """The module itself; None in a plan, where it is not there yet."""
    doubtful: list[Conversion] = field(default_factory=list)
    """Conversions of which only the module could say whether they are meant for it."""


class Journey:
    """The way of one module to the nearest of the `accepted` dialects, and with a `target` on to what that one takes.

    `options` go to whoever declares them (`transload.options`); `at_hub` is a pipeline to run instead of the hub's own and of
    what plugins add to it (`Pass.at`); `passes` is one to run after it, and where the way ends at the hub, too. `settings` are
    the target's options. `quantize` is a stage that makes another module at the hub, behind the hub's passes: every
    way goes by there then, and with `by_hub` in any case. `begins` and `ends` are stages of the caller around the way, which the
    plan shows and `through` runs.
    """

    def __init__(
        self, accepted: Iterable[str], options: Mapping[str, Any] | None = None, *, at_hub: str | None = None,
        passes: str = "", target: Target | None = None, settings: Mapping[str, Any] | None = None, quantize: Stage | None = None,
        by_hub: bool = False, observers: Sequence[Observer] = (), begins: Sequence[Stage] = (), ends: Sequence[Stage] = (),
    ) -> None:
        self.accepted = tuple(accepted)
        self.options = dict(options or {})
        self.observers = list(observers)
        self.begins, self.ends = tuple(begins), tuple(ends)
        self._center = hub()
        more = _default_passes() if at_hub is None else []
        _need_no_options(more)
        own = [self._center.pipeline, *more] if at_hub is None else [at_hub]
        self._hub = Stage(HUB, _steps(",".join(filter(None, [*own, passes]))), f"passes at {self._center.name}")
        self._users = replace(self._hub, steps=_steps(passes))
        self._pipeline = Stage(PIPELINE) if target is None else Stage(
            PIPELINE, _steps_of(target, settings), f"passes of {target.name}")
        if target is not None:
            _need_what_it_wishes(target)
        self._quantize = quantize
        self._by_hub = by_hub
        self._reached: str | None = None
        self._target = target
        self._shared: dict[str, dict[str, Any]] = {}
        self._hub_due, self._pipeline_due = bool(self._hub.steps), bool(self._pipeline.steps)
        self._quantize_due = quantize is not None

    # --- planning

    def plan(self, module: Module, *, settle: bool = True) -> Plan:
        """What will run on this module, in order; it stays as it is.

        The stages follow from the dialects in the module and from what conversions declare. Where a conversion can say only of
        what comes before it whether it is meant for that (`Conversion.unfit`), the way up to there is tried on a copy, so that
        the plan is certain; without `settle`, or where quantizing comes before, it is not, and the stage says so. Raises
        `ConversionError` where there is no way.
        """
        done: list[Stage] = []
        module = self._looked_at(module)
        self.share_options(module)
        rest = list(self._planned(self._place(module)))
        self._refuse_passes_off_the_way(rest)
        if settle and any(stage.unsure for stage in rest):
            trial = self._copy()
            copy = module.clone()
            with new_run():
                while any(stage.unsure for stage in rest):
                    stage = trial._next(trial._place(copy))
                    if stage is None or stage.act is not None:
                        break
                    trial._go(stage, copy)
                    done.append(stage)
                    rest = list(trial._planned(trial._place(copy)))
        return Plan((*self.begins, *done, *rest, *self.ends))

    def _looked_at(self, module: Module) -> Module:
        """What of a module goes the way: the module, or of one for a format of one graph a copy that has it alone."""
        if self._keeps_one_graph and len(module.functions) > 1:
            module = module.clone()
            keep_main(module)
        return module

    def _refuse_passes_off_the_way(self, stages: Iterable[Stage]) -> None:
        """`UsageError` where passes were given to run at the hub, which is not behind, and none of the stages is there."""
        if self._users.steps and self._hub_due and not any(stage.name == HUB for stage in stages):
            raise UsageError(
                f"passes were given to run at {self._center.name}, and the way to {' or '.join(self.accepted)} does not go by it",
                hint="`transload opt` runs passes on a module in any dialect")

    def share_options(self, module: Module) -> None:
        """Find out whose the options are. `UsageError` for those that nobody on the way of this module has, or two have.

        A module that is there already goes by the hub where its target asks for that, or where options are given that only
        the conversions on that way have.
        """
        own = {} if self._target is None else self._target.options()
        targets = [] if self._target is None else [Owner(self._target.name, own)]
        if self._target is not None and self._is_there(module) and self._target.by_hub(module):
            self._by_hub = True
        if not self.options:
            return
        named = {f"{owner.name}.{key}" for owner in targets for key in own}
        if self._is_there(module) and not self.options.keys() <= own.keys() | named:
            self._by_hub = self._by_hub or self._has_round_trip(module)
        unset = self._copy()
        unset.options = {}  # values are for nobody until it is known whose they are
        conversions = unset.conversions(module) or [  # a module without ops that is there: its options have nothing to do
            conversion for conversion in host().conversions.values()
            if conversion.extends is None and conversion.target in self.accepted]
        owners = targets
        for conversion in conversions:
            owners += owners_of(conversion)
        if self._target is not None:
            way = f"target {self._target.name!r}, with the conversions on the way to it,"
        else:
            way = f"the way to {' or '.join(self.accepted)}, with {len(conversions)} conversion(s),"
        self._shared = shared_out(self.options, owners, way)
        for conversion in conversions:
            self._stage(conversion)  # what is no value of its options is refused before anything runs

    def _is_there(self, module: Module) -> bool:
        """Whether a module has ops, all in a dialect that is accepted, which is not the hub's."""
        present = set(dialects_in(module))
        return bool(present) and present <= set(self.accepted) - {self._center.name}

    def _has_round_trip(self, module: Module) -> bool:
        """Whether conversions lead from a module to the hub, and from there to where it is."""
        try:
            return bool(route_from(dialects_in(module), (self._center.name,), lambda each: None)) and bool(
                route_from(Counter([self._center.name]), self.accepted, lambda each: None))
        except ConversionError:
            return False

    def conversions(self, module: Module) -> list[Conversion]:
        """The conversions that may run on this module, also those that come in another's place."""
        found: dict[str, Conversion] = {}
        for stage in self._planned(place := self._place(module)):
            if stage.conversion is not None:
                found[stage.conversion.name] = stage.conversion
        for conversion in place.doubtful:
            for other in self._way_round(place, conversion):
                found[other.name] = other
        return list(found.values())

    def go_on_from(self, stages: Sequence[str]) -> None:
        """Have these stages behind: `run` goes on from a module as they left it."""
        behind = [host().conversions[name].target for name in stages if name in host().conversions]
        self._reached = behind[-1] if behind else None
        self._hub_due = self._hub_due and HUB not in stages
        self._quantize_due = self._quantize_due and QUANTIZE not in stages
        self._pipeline_due = self._pipeline_due and PIPELINE not in stages

    def stages_behind(self, module: Module, names: Sequence[str]) -> dict[str, Stage | None]:
        """What stages of these names would be on the way of a module that was just read; None of one that would not be there.

        Those of the caller, which have no passes, are left out. Raises `UsageError` for options that nobody on the way has.
        """
        self.share_options(self._looked_at(module))
        copy, found = self._copy(), dict[str, Stage | None]()
        ends_there = self._center.name in self.accepted and not (self._quantize_due or self._by_hub)
        own = {HUB: self._users if ends_there else self._hub, PIPELINE: self._pipeline}
        for name in names:
            if name in host().conversions:
                found[name] = copy._stage(host().conversions[name])
            elif name == QUANTIZE:
                found[name], copy._quantize_due = self._quantize, False
            elif name in own:
                found[name] = own[name]
        return found

    def out_of_hub(self, stages: Iterable[str]) -> str | None:
        """Of stages that are behind, the conversion by which a module has gone on from the hub; None where it has not."""
        known = host().conversions
        return next((name for name in stages if name in known and known[name].source == self._center.name), None)

    def _copy(self) -> Journey:
        """The same journey, from where this one is, with nobody looking on."""
        copy = object.__new__(Journey)
        copy.__dict__.update(self.__dict__, observers=[])
        return copy

    def _place(self, module: Module) -> _Place:
        present = dialects_in(module) or Counter(self._origin(module) if self._reached is None else [self._reached])
        return _Place(present, self._hub_due, self._quantize_due, self._pipeline_due, module)

    def _origin(self, module: Module) -> Iterator[str]:
        """The dialect in which a module without ops begins: that of its reader, else the hub's; none from where no way leads.

        Its functions have types all the same, which the conversions on the way change.
        """
        reader = host().readers.get(module.source_format or "")
        dialect = self._center.name if reader is None or reader.dialect in STRUCTURE else reader.dialect
        with suppress(ConversionError):
            route_from(Counter([dialect]), self.accepted, lambda each: None)
            yield dialect

    def _planned(self, place: _Place) -> Iterator[Stage]:
        """The stages from a place on; `place` goes along. What the module will hold is taken from what conversions declare."""
        seen: set[str] = set()
        while (stage := self._next(place)) is not None and stage.name not in seen:
            seen.add(stage.name)
            yield stage
            if stage.conversion is not None:
                place.present, place.module = _expected(stage.conversion, place.present), None
            elif stage.name == HUB:
                place.hub_due = False
            elif stage.act is not None:
                place.quantize_due, place.module = False, None
            else:
                place.pipeline_due = False

    def _next(self, place: _Place) -> Stage | None:
        """The next stage from a place; None at the end of the way."""
        to_hub = place.quantize_due or (self._by_hub and place.hub_due)
        accepted = (self._center.name,) if to_hub else self.accepted
        route = route_from(place.present, accepted, lambda conversion: self._why_unfit(conversion, place))
        if not route:
            if to_hub:
                return self._hub if place.hub_due else self._quantize
            if place.hub_due and self._users.steps and set(place.present) <= {self._center.name}:
                return self._users
            return self._pipeline if place.pipeline_due else None
        conversion = route[0]
        if place.hub_due and conversion.source == self._center.name:
            return self._hub
        unsure = ""
        if conversion in place.doubtful:
            others = ", ".join(other.name for other in self._way_round(place, conversion)) or "there is no way"
            unsure = f"unless it is not meant for what the module is then; if so: {others}"
        return replace(self._stage(conversion), unsure=unsure)

    def _why_unfit(self, conversion: Conversion, place: _Place) -> str | None:
        """Why a conversion is not meant for a module; taken to be meant where the module is not there to be asked about."""
        if place.module is None and conversion.unfit is not None and conversion.source in place.present:
            if conversion not in place.doubtful:
                place.doubtful.append(conversion)
            return None
        return None if place.module is None else why_unfit(conversion, place.module, place.present)

    def _way_round(self, place: _Place, conversion: Conversion) -> list[Conversion]:
        """The route where a conversion turns out not to be meant for the module; none where there is no other."""
        try:
            return route_from(Counter([conversion.source]), self.accepted, lambda other: (
                "another is looked for" if other.name == conversion.name else None))
        except ConversionError:
            return []

    def _stage(self, conversion: Conversion) -> Stage:
        owner = Owner(conversion.name, options_of(conversion))
        given = self._shared.get(conversion.name)
        if given is None:  # one that nobody expected on the way, or no options
            given = own_options(owner, self.options)
        if self._quantize_due:
            wishes = wished("conversions", conversion.name, "before_quantizing", owner, conversion.before_quantizing)
            given = {**wishes, **given}
        if self._target is not None:
            own = f"{conversion.name}."
            wishes = {key.removeprefix(own): value for key, value in _wishes(self._target).items() if key.startswith(own)}
            given = {**wishes, **given}
        steps = steps_of(conversion, given)
        return Stage(conversion.name, tuple(steps), f"{conversion.source} → {conversion.target}", conversion)

    # --- running

    @rare_collections()
    @new_run()
    def run(self, module: Module) -> str:
        """Go all the way with a module, in place; the dialect that is reached.

        Raises `ConversionError` where no route exists, or an op cannot be converted; `UsageError` for passes to be run where the
        way does not go.
        """
        if self._keeps_one_graph:  # at once: what nobody writes need not be convertible
            keep_main(module)
        self.share_options(module)
        lengths = list(text_lengths(module.walk()))
        budget().hold(len(lengths), constant_bytes(module), sum(lengths))
        if self._users.steps:
            self._refuse_passes_off_the_way(self._planned(self._place(module)))
        with need_of_sizes(module):
            place = self._place(module)
            while (stage := self._next(place)) is not None:
                self._go(stage, module)
                before, place = place, self._place(module)
                if stage.conversion is not None and _no_fewer(stage.conversion, before.present, place.present):
                    raise _stuck(stage.conversion, module, anew=place.present != before.present)
        return self._reached or next(iter(dialects_in(module)), self.accepted[0])

    @property
    def _keeps_one_graph(self) -> bool:
        return any(step.name == _ONE_GRAPH for step in self._pipeline.steps)

    def through(self, name: str, act: Callable[[], T], module: Module | None = None) -> T:
        """Run a stage of the caller's: `act()`. The module it leaves is what it returns, or `module`."""
        stage = next((each for each in (*self.begins, *self.ends) if each.name == name), Stage(name))
        return self._during(stage, act, module)

    def _go(self, stage: Stage, module: Module) -> None:
        def tell(step: Step, record: PassRecord, current: Module) -> None:
            for observer in self.observers:
                observer.ran(stage, step, record, current)

        def act() -> None:
            if stage.conversion is not None:
                run_conversion(stage.conversion, stage.steps, module, tell)
            elif stage.act is not None:
                with output_names_kept(module):
                    module.become(stage.act(module))
            else:
                self._run_passes(stage, module, tell)

        self._during(stage, act, module)
        if stage.conversion is not None:
            self._reached = stage.conversion.target
        elif stage.name == HUB:
            self._hub_due = False
        elif stage.act is not None:
            self._quantize_due = False
        else:
            self._pipeline_due = False

    def _run_passes(self, stage: Stage, module: Module, tell: Callable[[Step, PassRecord, Module], None]) -> None:
        """Run the passes of a stage; `PluginError` where a plugin put one there that has not what it requires."""
        try:
            Pipeline(list(stage.steps)).run(module, tell=tell)
        except OutOfPlace as error:
            if stage.name == PIPELINE and self._target is not None:
                raise misstated("targets", self._target.name, _pipeline_of(self._target), error) from error
            if error.step.name in _default_passes():
                raise misstated("passes", error.step.name, _among_the_hubs(error.step.name), error) from error
            raise

    def _during(self, stage: Stage, act: Callable[[], T], module: Module | None) -> T:
        for observer in self.observers:
            observer.enters(stage)
        start = time.perf_counter()
        try:
            outcome = act()
        except BaseException as error:
            for observer in self.observers:
                observer.stops(stage, error)
            raise
        seconds = time.perf_counter() - start
        for observer in self.observers:
            observer.leaves(stage, outcome if isinstance(outcome, Module) else module, seconds)
        return outcome


def _no_fewer(conversion: Conversion, before: Counter[str], after: Counter[str]) -> bool:
    """Whether a conversion made no progress: as many ops, or more, are of the dialect that it leads out of."""
    return after == before or after[conversion.source] >= max(before[conversion.source], 1)


def _stuck(conversion: Conversion, module: Module, *, anew: bool) -> ConversionError:
    """The error for ops whose way goes by a conversion that leaves as many of them as there were."""
    why = "makes as many of it anew, or more" if anew else "has no rewrite for it"
    hint, theirs = hint_for(conversion), companions(conversion.source, host().conversions)
    return cannot_convert(
        [Finding(op.name, f"{conversion.name}, by which its way goes, {why}", names_of([op]), hint(op.name))
         for op in module.ops() if op.dialect in theirs], conversion.source)


def _default_passes() -> list[str]:
    """The passes that plugins add to the hub's pipeline, in the order in which they are registered."""
    return [each.name for each in host().passes.values() if each.at == HUB]


def _need_no_options(passes: Iterable[str]) -> None:
    """Raise `PluginError` where a plugin adds a pass to the hub's that cannot run as it is."""
    for name in passes:
        try:
            for step in _steps(name):
                step.need_options()
        except UsageError as error:
            raise misstated("passes", name, _among_the_hubs(name), error) from error


def _wishes(target: Target) -> Mapping[str, Any]:
    return getattr(target, "converting", {})  # of one that is not derived from `Target`


def _need_what_it_wishes(target: Target) -> None:
    """Raise `PluginError` where a target says options of conversions which there are not, on the way of this model or not."""
    for key, value in _wishes(target).items():
        name, _, option = key.rpartition(".")
        try:
            if not name:
                raise UsageError(f"{key!r} is no option of a conversion", hint="as CONVERSION.OPTION")
            if name not in host().conversions and not host().is_complete:
                continue  # a plugin that is left out has it
            conversion: Conversion = host().get("conversions", name)
        except UsageError as error:
            raise misstated("targets", target.name, f"converting of target {target.name!r}", error) from error
        wished("targets", target.name, "converting", Owner(name, options_of(conversion)), {option: value})


def _among_the_hubs(name: str) -> str:
    return f"pass {name!r} with at={HUB!r}"


def _pipeline_of(target: Target) -> str:
    return f"the pipeline of target {target.name!r}"


def _steps_of(target: Target, settings: Mapping[str, Any] | None) -> tuple[Step, ...]:
    try:
        steps = _steps(target.pipeline, settings)
    except UsageError as error:
        if reads(target.pipeline, settings_of(target.options(), {})):  # it is what the user says that does not fit
            raise
        raise misstated("targets", target.name, _pipeline_of(target), error) from error
    try:
        for step in steps:
            step.need_options()
    except UsageError as error:
        raise misstated("targets", target.name, _pipeline_of(target), error) from error
    return steps


def _steps(pipeline: str, settings: Mapping[str, Any] | None = None) -> tuple[Step, ...]:
    return tuple(Pipeline.parse(pipeline, settings).steps)


def _expected(conversion: Conversion, present: Counter[str]) -> Counter[str]:
    """What dialects there will be after a conversion, and about how many ops of each."""
    left: Counter[str] = Counter()
    for dialect, count in present.items():
        left[conversion.target if dialect == conversion.source or takes(conversion, dialect) else dialect] += count
    return left


def convert_to(
    module: Module, accepted: Iterable[str], *, at_hub: str | None = None, observers: Sequence[Observer] = (), **options: Any,
) -> str:
    """Convert a module in place to the nearest of the `accepted` dialects, by the shortest route.

    A way that goes on from the hub has the hub's pipeline in it; `at_hub` is one to run instead. Options go to the conversions
    that declare them; one that none on the way does is refused. Returns the dialect reached. Raises `ConversionError` where no
    route exists, or an op cannot be converted.
    """
    return Journey(accepted, options, at_hub=at_hub, observers=observers).run(module)
