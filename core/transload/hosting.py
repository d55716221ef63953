"""The host's parts of a model that a target takes in part, for a target that runs on the host: `--host xla-cpu`.

Each part goes the whole way to that target: a route is looked for, its passes run, `check` and `emit` are asked, and its `run`
runs the part with the others. What it does not take is told op by op, of all parts at once. Where no host is named, and the
target names none (`Target.host`), a part is written in the dialect that it is in, and an engine runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .chosen_target import target_options
from .contents import main_dialect
from .errors import ConversionError, Finding, TargetError, UsageError, merge_findings
from .guard import failure
from .ir import Module, Op, input_names, output_names
from .ir.borders import name_borders
from .ir.verify import verify
from .journey import Journey
from .options import Owner, need_names
from .partitioning import HOST, Part, Partition, is_held, parted, work_of
from .plugin import Target, unavailable
from .plugin_host import host, misstated, wished
from .rewrite import names_of
from .roles import hub

__all__ = ["HostTarget", "cut_for", "cuts", "host_for", "hosted_for", "made_for_host"]


@dataclass(frozen=True)
class HostTarget:
    """Who runs the host's parts, and the options that it has and that the conversions on the way to it have."""

    target: Target
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.target.name

    @property
    def settings(self) -> dict[str, Any]:
        """The target's options, each with its value."""
        return target_options(self.target, self.options)


def cuts(target: Target) -> bool:
    """Whether a target may leave ops to a host."""
    return any(getattr(target, member, None) is not None for member in ("takes", "leaves"))


def host_for(target: Target, name: str | None, options: Mapping[str, Any]) -> HostTarget | None:
    """The target of the host's parts: the one called `name`, or `Target.host` where that can be used here; None for engines.

    Of `options`, those are its own that are called `NAME.KEY`. Raises `UsageError` for one that there is not, or that cannot be
    used, and where there is nothing for it to do.
    """
    chosen = name if name is not None else getattr(target, "host", "")
    if not chosen:
        return None
    try:
        found = _other_target(target, chosen)
    except UsageError as error:
        if name is not None:
            raise
        raise misstated("targets", target.name, f"the host of target {target.name!r}", error) from error
    why = found.available() if name is not None else unavailable(found.available)
    if name is None and why is not None:
        return None
    if why is not None:
        raise UsageError(f"host {chosen!r} cannot be used: {why}")
    own = {key[len(chosen) + 1:]: value for key, value in options.items() if key.startswith(f"{chosen}.")}
    made = HostTarget(found, own)
    _ = made.settings  # a value that is none is said now
    return made


def _other_target(target: Target, name: str) -> Target:
    """The target that is called so, for what another one leaves; `UsageError` where there is none, or that leaves nothing."""
    found: Target = host().get("targets", name)
    if name == target.name:
        raise UsageError(f"{name!r} is the target itself", hint="the host is another target, which takes what this one leaves")
    if not cuts(target):
        raise UsageError(
            f"target {target.name!r} takes a model as a whole, and leaves nothing to a host",
            hint=f"targets that do: {', '.join(each.name for each in host().targets.values() if cuts(each))}")
    return found


def cut_for(target: Target, module: Module, settings: Mapping[str, Any], hosted: HostTarget | None = None) -> Partition | None:
    """The parts of a module for a target and the host; None where the target is to have all of it.

    Raises `TargetError` where the target takes no op, and nobody named a host that could have them all.
    """
    takes = _taken(target, module, settings)
    if takes is None:
        return None
    cut = parted(module, takes)
    places = {part.place for part in cut.parts}
    if places == {HOST} and hosted is None:
        findings = merge_findings([*target.check(module, settings)]) or merge_findings(
            [Finding(op.name, "the target does not take it", names_of([op])) for op in work_of(module)])
        raise TargetError(f"target {target.name!r} takes no op of this model", findings)
    return cut if HOST in places else None


def _taken(target: Target, module: Module, settings: Mapping[str, Any]) -> Callable[[Op], bool] | None:
    """Which ops of a module a target takes; None of one that takes models as a whole. A plugin's is asked about copies."""
    leaves: Any = getattr(target, "leaves", None)
    takes: Any = getattr(target, "takes", None)
    if leaves is None and takes is None:
        return None
    owner = host().owner("targets", target.name)
    shown = module if owner is not None and owner.is_ours else module.clone()
    copies = dict(zip(module.walk(), shown.walk(), strict=True))
    if leaves is not None:
        left = set(leaves(shown, settings))
        if foreign := left - set(copies.values()):
            wrong = TypeError(f"gives a {min(op.name for op in foreign)} that is no op of the module which it was given")
            raise failure(owner, f"target {target.name!r}.leaves()", wrong)
        return lambda op: copies[op] not in left
    return lambda op: all(takes(copies[each], settings) for each in _work_in(op))


def _work_in(op: Op) -> list[Op]:
    """An op, and those in its regions that compute."""
    inside = [each for each in op.walk() if each is not op and not (each.results and all(map(is_held, each.results)))]
    return [op, *(each for each in inside if each.declaration is None or "terminator" not in each.declaration.traits)]


def hosted_for(
    target: Target, name: str | None, options: Mapping[str, Any],
) -> tuple[HostTarget | None, dict[str, Any]]:
    """The target of the host's parts (`host_for`), and the options of the rest, with the wishes of the other target."""
    need_names(options)
    hosted = host_for(target, name, options)
    wishes = wished("targets", target.name, "hosting", Owner(target.name, target.options()), getattr(target, "hosting", {}))
    given = {key: value for key, value in options.items() if hosted is None or not key.startswith(f"{hosted.name}.")}
    return hosted, {**(wishes if name is not None else {}), **given}


def made_for_host(cut: Partition, hosted: HostTarget) -> Partition:
    """The same parts, the host's with what they become for its target. The argument is unchanged.

    Raises `TargetError` with everything that it does not take, in all parts.
    """
    findings: list[Finding] = []
    hints: list[str] = []
    parts: list[Part] = []
    for part in cut.parts:
        if part.place == HOST:
            try:
                part = replace(part, made=_made(part.module, hosted))
            except (ConversionError, TargetError) as error:
                findings += error.findings or [Finding("part", error.message, tuple(part.module.outputs))]
                hints.append(error.hint)
        parts.append(part)
    if findings:
        raise TargetError(
            f"host {hosted.name!r} cannot take what is left to it", merge_findings(findings),
            next(filter(None, hints), "without --host an engine runs it, which takes whatever has a kernel"))
    return replace(cut, parts=tuple(parts))


def _made(module: Module, hosted: HostTarget) -> Module:
    """A part as the host's target takes it, by the names that the other parts know."""
    made, target = module.clone(), hosted.target
    at_hub = "" if main_dialect(module) == hub().name else None  # it went through there
    Journey(target.accepts, hosted.options, at_hub=at_hub, target=target, settings=hosted.settings).run(made)
    _name_borders(made, module)
    verify(made)
    takes = _taken(target, made, hosted.settings)
    findings = [] if takes is None else [  # a chip as host: nobody is behind it
        Finding(op.name, f"{hosted.name} leaves it to a host itself", names_of([op])) for op in work_of(made) if not takes(op)]
    findings = findings or list(target.check(made, hosted.settings))
    if findings:
        raise TargetError("", findings)
    return made


def _name_borders(made: Module, module: Module) -> None:
    """Call inputs and outputs as they were called: a conversion may have had names of its own."""
    inputs, outputs = input_names(module.main), output_names(module.main)
    for what, before, after in (("inputs", inputs, input_names(made.main)), ("outputs", outputs, output_names(made.main))):
        if len(before) != len(after):
            raise TargetError("", [
                Finding("part", f"has {len(before)} {what}, and {len(after)} when it is converted", tuple(before))])
    name_borders(made.main, inputs, outputs)
