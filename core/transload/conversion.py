"""From one dialect to another: applying a registered conversion, and following a route of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from .context import pinned
from .errors import UsageError
from .garbage import rare_collections
from .ir import Module, update_function_type
from .options import Options, settings_of
from .plugin import Conversion, resolve
from .plugin_host import host
from .rewrite import convert_ops

__all__ = [
    "apply_conversion", "constant_bytes", "convert_to", "dialects_in", "hint_for", "main_dialect", "op_counts",
    "options_of", "route_of",
]

STRUCTURE = ("builtin", "func")
"""Dialects that only hold a module together and are part of every other."""


def dialects_in(module: Module) -> Counter[str]:
    """How many ops of each dialect a module has; module and functions themselves left out."""
    return Counter(op.dialect for op in module.walk() if op.dialect not in STRUCTURE)


def op_counts(module: Module) -> dict[str, int]:
    """How many ops of each name, the most frequent first; constants and structure left out."""
    counts = Counter(
        op.name for op in module.walk()
        if op.dialect not in STRUCTURE and not (op.declaration is not None and op.declaration.traits & {"constant", "terminator"})
        and not (op.results and str(op.results[0].type) == "none")
    )
    return dict(counts.most_common())


def constant_bytes(module: Module) -> int:
    """Bytes of all constants, each counted once."""
    from .ir import Dense

    seen = {id(a.data): a.nbytes for op in module.walk() for a in op.attributes.values() if isinstance(a, Dense)}
    return sum(seen.values())


def main_dialect(module: Module) -> str:
    """The dialect a module is written in: the one most of its ops are of (`builtin` of an empty one)."""
    counts = dialects_in(module)
    return counts.most_common(1)[0][0] if counts else "builtin"


def apply_conversion(conversion: Conversion, module: Module, **options: Any) -> None:
    """Run a conversion in place, with those of its options that are not to have their defaults.

    Raises `ConversionError` with every op it could not convert, `UsageError` for an option it does not have.
    """
    declared = options_of(conversion)
    unknown = sorted(set(options) - set(declared))
    if unknown:
        raise UsageError(
            f"{conversion.name} takes no option {', '.join(unknown)}", hint=f"options: {', '.join(sorted(declared)) or 'none'}")
    settings = settings_of(declared, options)
    if conversion.run is not None:
        resolve(conversion.run)(module, **settings)
    else:
        convert_ops(module, host().table(conversion.name), conversion.source, hint=hint_for(conversion), options=settings)
    for function in module.functions.values():
        if function.regions[0].blocks:
            update_function_type(function)


def hint_for(conversion: Conversion) -> Callable[[str], str]:
    """What to tell a user about an op that a conversion has no rewrite for."""
    def hint(op_name: str) -> str:
        return (f"a plugin can add it: hook register_conversions with Conversion(extends={conversion.name!r}, "
                f"table=<a RewriteTable with {op_name!r}>)")

    return hint


def options_of(conversion: Conversion) -> Options:
    """The options of a conversion, with those of the conversions that extend its table."""
    declared = dict(conversion.options)
    for other in host().conversions.values():
        if other.extends == conversion.name:
            declared.update(other.options)
    return declared


@rare_collections()
@pinned()
def convert_to(
    module: Module, accepted: Iterable[str], *, stage: Callable[[str], Any] | None = None, **options: Any,
) -> str:
    """Convert a module in place to the nearest of the `accepted` dialects, by the shortest route.

    `stage(name)` is called before each conversion, and may return a function to call after it with the
    module. Options go to the conversions that take them. Returns the dialect reached. Raises
    `ConversionError` where no route exists, or an op cannot be converted.
    """
    accepted = tuple(accepted)
    route = route_of(module, accepted)
    for conversion in route:
        done = stage(conversion.name) if stage is not None else None
        takes = options_of(conversion)
        apply_conversion(conversion, module, **{key: value for key, value in options.items() if key in takes})
        if done is not None:
            done(module)
    return route[-1].target if route else next(iter(dialects_in(module)), accepted[0])


def route_of(module: Module, accepted: Iterable[str]) -> list[Conversion]:
    """The conversions that lead a module to the nearest of the `accepted` dialects; none where it is in them already."""
    from .routes import find_route

    accepted = tuple(accepted)
    foreign = [dialect for dialect, _ in dialects_in(module).most_common() if dialect not in accepted]
    return find_route(foreign[0], accepted, host().conversions) if foreign else []
