"""Pipelines: passes and conversions in a row, written as text.

    canonicalize,layout{to=NHWC},top-to-tosa
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from ..conversion import dialects_in
from ..errors import InternalError, PassError, UsageError
from ..ir import Module
from ..ir.verify import check
from ..options import typed
from ..plugin import resolve
from ..plugin_host import host
from ..suggest import nearest

__all__ = ["PassRecord", "Pipeline"]


@dataclass(frozen=True)
class PassRecord:
    """What became of one pass: how long it took, and whether it changed anything."""

    name: str
    seconds: float
    modified: bool


@dataclass
class Step:
    """A pass or conversion with its options."""

    name: str
    run: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)
    requires: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()


class Pipeline:
    """Passes to run one after another."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps

    @classmethod
    def parse(cls, text: str) -> Pipeline:
        """From text: names separated by commas, options in braces: `name{option=value option=value}`.

        Raises `UsageError` for unknown passes and options, with the nearest names, and for values of
        the wrong type.
        """
        return cls([_step(name, options) for name, options in _split(text)])

    def run(
        self, module: Module, *, verify_each: bool = False, print_after: Callable[[str, Module], None] | None = None,
    ) -> list[PassRecord]:
        """Run all passes on `module`, in place.

        With `verify_each`, a pass that leaves invalid IR is an `InternalError` that names it.
        `print_after(name, module)` is called after each pass.
        """
        records = []
        produced: set[str] = set()
        for step in self.steps:
            _check_requirements(step, module, produced)
            produced.update(step.produces)
            start = time.perf_counter()
            modified = bool(step.run(module, **step.options))
            records.append(PassRecord(step.name, time.perf_counter() - start, modified))
            if print_after is not None:
                print_after(step.name, module)
            if verify_each and (findings := check(module)):
                raise InternalError(f"pass {step.name!r} made invalid IR", findings)
        return records


def _check_requirements(step: Step, module: Module, produced: set[str]) -> None:
    """Raise `PassError` where a module with ops has neither the dialect or state that a pass requires, nor what it produces."""
    if not step.requires:
        return
    present = set(dialects_in(module))
    missing = [name for name in step.requires if name not in present | produced]
    if missing and present and not present & set(step.produces):
        raise PassError(
            f"pass {step.name!r} requires {', '.join(missing)}; the module is in {', '.join(sorted(present))}",
            hint="run what produces it first: `transload passes` lists what each pass requires and produces")


_ITEM = re.compile(r"\s*([\w.-]+)\s*(?:\{([^{}]*)\})?\s*(?:,|$)")


def _split(text: str) -> list[tuple[str, str]]:
    """`a,b{x=1}` to `[("a", ""), ("b", "x=1")]`."""
    items: list[tuple[str, str]] = []
    at = 0
    while at < len(text) and text[at:].strip():
        match = _ITEM.match(text, at)
        if match is None:
            raise UsageError(f"the pipeline does not read at {text[at:]!r}", hint='as "canonicalize,layout{to=NHWC}"')
        items.append((match[1], match[2] or ""))
        at = match.end()
    return items


def _step(name: str, options: str) -> Step:
    there = host()
    if name in there.passes:
        known = there.passes[name]
        wanted = {key: _option_type(parameter.annotation) for key, parameter in known.options().items()
                  if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)}
        return Step(name, resolve(known.run), _read_options(name, wanted, options), known.requires, known.produces)
    conversion = there.conversions.get(name)
    if conversion is not None and conversion.extends is None:
        from ..conversion import apply_conversion, options_of

        given = _read_options(name, {key: wanted for key, (wanted, _, _) in options_of(conversion).items()}, options)

        def convert(module: Module, **more: Any) -> bool:
            apply_conversion(conversion, module, **more)
            return True

        return Step(name, convert, given, (conversion.source,), (conversion.target,))
    names = [*there.passes, *(c.name for c in there.conversions.values() if c.extends is None)]
    guess = nearest(name, names)
    raise UsageError(
        f"no pass is called {name!r}", hint=(f"did you mean {guess!r}? " if guess else "") + f"passes: {', '.join(names)}")


def _read_options(name: str, known: Mapping[str, type | tuple[str, ...]], text: str) -> dict[str, Any]:
    """The options in `key=value` texts; `known` says their types (see `transload.options`)."""
    options: dict[str, Any] = {}
    for item in re.split(r"[\s,]+", text.strip()):
        if not item:
            continue
        key, equals, value = item.partition("=")
        if key not in known:
            guess = nearest(key, known)
            raise UsageError(
                f"pass {name!r} has no option {key!r}",
                hint=(f"did you mean {guess!r}? " if guess else "") + f"options: {', '.join(known) or 'none'}")
        if key in options:
            raise UsageError(f"option {key} of pass {name!r} is given twice")
        options[key] = typed(f"{key} of pass {name!r}", value if equals else "true", known[key])
    return options


def _option_type(annotation: Any) -> type | tuple[str, ...]:
    """What a parameter's annotation says of the option: a type, or the words to choose from."""
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:  # `int | None`: as the first of them
        annotation = next(part for part in get_args(annotation) if part is not NoneType)
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return annotation if annotation in (bool, int, float) else str
