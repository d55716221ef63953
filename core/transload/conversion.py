"""From one dialect to another: applying a registered conversion, and finding the way over several (`journey` follows it)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from .contents import dialects_in
from .context import pinned
from .errors import ConversionError, Finding, PassError, PluginError, UsageError, merge_findings
from .findings import collected_findings, refuse
from .ir import Module, update_function_types
from .ir.borders import output_names_kept
from .options import Options, Owner, same_option, settings_of
from .passes.steps import PassRecord, Step, parse_steps, reads
from .plugin import Conversion, resolve
from .plugin_host import host, misstated
from .rewrite import Rewriting, cannot_convert
from .routes import next_conversion

__all__ = [
    "REWRITES", "apply_conversion", "hint_for", "options_of", "owners_of", "rewrites_alone", "rewriting_of", "route_from",
    "route_of", "run_conversion", "steps_of", "takes", "why_unfit",
]

REWRITES = ".rewrites"
"""What is behind a conversion's name where a pipeline means its rewrites alone, without the passes before and after."""


def apply_conversion(conversion: Conversion, module: Module, **options: Any) -> None:
    """Run a conversion in place, with those of its options that are not to have their defaults.

    Raises `ConversionError` with every op it could not convert, `UsageError` for an option it does not have.
    """
    run_conversion(conversion, steps_of(conversion, options), module)


@pinned()
def run_conversion(
    conversion: Conversion, steps: Sequence[Step], module: Module,
    tell: Callable[[Step, PassRecord, Module], None] | None = None,
) -> None:
    """Run the steps of a conversion, in place; `tell(step, record, module)` is called after each.

    What the passes before find and what cannot be rewritten comes in one `ConversionError`.
    """
    why = resolve(conversion.unfit)(module) if conversion.unfit is not None else None
    if why is not None:
        raise ConversionError(
            f"conversion {conversion.name!r} is not for this module: {why}", hint="a route goes another way: `transload convert`")
    with output_names_kept(module), collected_findings() as refused:
        for step in steps:
            try:
                record = step.apply(module)
            except (ConversionError, PassError) as error:
                if isinstance(error, ConversionError) and not refused.findings:
                    raise
                raise ConversionError(
                    error.message, merge_findings([*refused.findings, *error.findings]), error.hint) from None
            if step.name == conversion.name + REWRITES and refused.findings:
                raise cannot_convert(refused.findings, conversion.source) from refused.cause
            if tell is not None:
                tell(step, record, module)
    update_function_types(module)


def steps_of(conversion: Conversion, options: Mapping[str, Any]) -> list[Step]:
    """All that a conversion does, in order: its passes before, its rewrites, its passes after.

    Raises `UsageError` for an option it does not have.
    """
    declared = options_of(conversion)
    unknown = sorted(set(options) - set(declared))
    if unknown:
        raise UsageError(
            f"{conversion.name} takes no option {', '.join(unknown)}", hint=f"options: {', '.join(sorted(declared)) or 'none'}")
    settings = settings_of(declared, options)
    return [
        *_passes(conversion, "before", declared, settings), rewrites_alone(conversion, settings),
        *_passes(conversion, "after", declared, settings)]


def _passes(conversion: Conversion, when: str, declared: Options, settings: Mapping[str, Any]) -> list[Step]:
    """The passes before or after the rewrites; `PluginError` where their text is wrong whatever the user says."""
    text = getattr(conversion, when)
    steps: list[Step] = []
    try:
        steps = parse_steps(text, settings)
        for step in steps:
            step.need_options()
        return steps
    except UsageError as error:
        if not steps and reads(text, settings_of(declared, {})):
            raise
        raise misstated("conversions", conversion.name, f"the passes {when} conversion {conversion.name!r}", error) from error


def _joined(conversion: Conversion) -> Iterator[str]:
    """The conversions that one joins and that are there; `PluginError` where one is not, and all plugins are."""
    there = host()
    for name in conversion.joins:
        if name in there.conversions:
            yield name
        elif there.is_complete:
            try:
                there.get("conversions", name)
            except UsageError as error:
                raise misstated("conversions", conversion.name, f"joins of conversion {conversion.name!r}", error) from error


def rewrites_alone(conversion: Conversion, settings: Mapping[str, Any]) -> Step:
    """The rewrites of a conversion, without its passes, as a step: `top-to-tosa.rewrites{int64=proved}`."""
    def rewrite(module: Module, **settings: Any) -> bool:
        _rewrite(conversion, module, settings)
        return True

    return Step(conversion.name + REWRITES, rewrite, dict(settings), (conversion.source,), (conversion.target,), partial=True)


def _rewrite(conversion: Conversion, module: Module, settings: Mapping[str, Any]) -> None:
    """The rewrites; what they cannot convert is refused, together with what the passes before found."""
    if conversion.retype is not None:
        resolve(conversion.retype)(module)
    functions = list(module.functions.values())
    entries = functions if conversion.entries is None else resolve(conversion.entries)(module)
    rewriting = rewriting_of(conversion, module, settings)
    found: list[Finding] = []
    for root in entries if conversion.entries is not None else [module]:
        found += rewriting.rewrite(root)
    refuse(found, rewriting.failures[0] if rewriting.failures else None)
    for function in functions:
        if function not in entries:
            function.erase()
    _erase_casts(module)
    update_function_types(module)


def _erase_casts(module: Module) -> None:
    """Leave out the casts by which rewrites show each other what a value was in the source, where nobody reads them now."""
    for op in [op for op in module.walk() if op.name == "builtin.unrealized_conversion_cast"][::-1]:
        if not any(result.uses for result in op.results):
            op.erase()


def rewriting_of(conversion: Conversion, module: Module, settings: Mapping[str, Any] | None = None) -> Rewriting:
    """The rewrites of a conversion, without the passes before and after, for a module or a part of one."""
    there = host()
    target = there.dialects.get(conversion.target)
    joins = {there.conversions[name].source: partial(there.table, name) for name in _joined(conversion)}
    return Rewriting(
        module, there.table(conversion.name), conversion.source, hint=hint_for(conversion), joins=joins,
        options=settings_of(options_of(conversion), settings or {}), checks=target is not None and target.role == "hub",
        rough=conversion.rough)


def hint_for(conversion: Conversion) -> Callable[[str], str]:
    """What to tell a user about an op that a conversion has no rewrite for."""
    def hint(op_name: str) -> str:
        first = f"{conversion.way_out}, or " if conversion.way_out else ""
        return (f"{first}a plugin can add it: hook register_conversions with Conversion(extends={conversion.name!r}, "
                f"table=<a RewriteTable with {op_name!r}>)")

    return hint


def options_of(conversion: Conversion) -> Options:
    """The options of a conversion, with those of the conversions that extend its table.

    Raises `PluginError` where two of them declare one option differently.
    """
    declared = dict(conversion.options)
    owners = dict.fromkeys(declared, conversion.name)
    for other in host().conversions.values():
        if other.extends != conversion.name:
            continue
        for name, option in other.options.items():
            if name in declared and not same_option(declared[name], option):
                raise PluginError(
                    f"option {name} of conversion {conversion.name!r} is declared by {owners[name]!r} and, differently, by "
                    f"{other.name!r}", hint="one of these plugins has to give its option another name")
            declared.setdefault(name, option)
            owners.setdefault(name, other.name)
    return declared


def owners_of(conversion: Conversion) -> list[Owner]:
    """Who declares a conversion's options: itself, with all of them, and those that extend it, with theirs."""
    extending = [other for other in host().conversions.values() if other.extends == conversion.name and other.options]
    return [
        Owner(conversion.name, options_of(conversion)),
        *(Owner(other.name, other.options, conversion.name) for other in extending)]


def route_of(module: Module, accepted: Iterable[str], reached: str | None = None) -> list[Conversion]:
    """The conversions that lead a module to the nearest of the `accepted` dialects; none where it is in them already.

    A module without any op is in the dialect `reached`: its functions still have types that the next conversion changes.
    """
    present = dialects_in(module) or Counter([] if reached is None else [reached])
    return route_from(present, accepted, lambda conversion: why_unfit(conversion, module, present))


def route_from(
    present: Counter[str], accepted: Iterable[str], why_unfit: Callable[[Conversion], str | None],
) -> list[Conversion]:
    """The same from what dialects there are, by the conversions of which nothing says why they are unfit.

    Others than those on the way are not asked. Raises `ConversionError` where there is no way, with what they said as findings.
    """
    conversions = dict(host().conversions)
    unfit: dict[str, str] = {}
    while True:
        try:
            route = next_conversion(present, accepted, conversions, takes)
        except ConversionError as error:
            if not unfit:
                raise
            raise ConversionError(f"{error.message} that are meant for this module", [
                Finding(f"conversion {name!r}", why) for name, why in unfit.items()], error.hint) from None
        found = {conversion.name: why for conversion in route if (why := why_unfit(conversion)) is not None}
        if not found:
            return route
        unfit.update(found)
        for name in found:
            del conversions[name]


def why_unfit(conversion: Conversion, module: Module, present: Iterable[str]) -> str | None:
    """Why a conversion is not meant for a module with ops of the dialects `present`; None of one that does not concern them."""
    if conversion.unfit is None:
        return None
    concerned = any(dialect == conversion.source or takes(conversion, dialect) for dialect in present)
    why: str | None = resolve(conversion.unfit)(module) if concerned else None
    return why


def takes(conversion: Conversion, dialect: str) -> bool:
    """Whether a conversion has rewrites for ops of another dialect than its own."""
    return any(name.startswith(f"{dialect}.") for name in host().table(conversion.name).functions)
