"""Pipelines: passes and conversions in a row, written as text.

    canonicalize,layout{to=NHWC},onnx-to-top

A conversion's name stands for all of it; `onnx-to-top.rewrites` for its rewrites alone, without the passes before and after.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from typing import Any

from ..contents import dialects_in
from ..context import pinned
from ..conversion import REWRITES, apply_conversion, options_of, rewrites_alone
from ..errors import InternalError, PassError
from ..ir import Module
from ..ir.borders import output_names_kept
from ..ir.verify import check
from ..kinds import need
from ..options import settings_of
from ..plugin_host import host
from .steps import PassRecord, Step, parse_steps, read_options

__all__ = ["OutOfPlace", "PassRecord", "Pipeline"]


class OutOfPlace(PassError):
    """A pass stands where what it requires is not there; `step` is the pass."""

    def __init__(self, message: str, hint: str, step: Step) -> None:
        super().__init__(message, hint=hint)
        self.step = step


class Pipeline:
    """Passes to run one after another."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps

    def __repr__(self) -> str:
        return f"<pipeline {','.join(map(str, self.steps)) or 'of no passes'}>"

    @classmethod
    def parse(cls, text: str, settings: Mapping[str, Any] | None = None) -> Pipeline:
        """From text: names separated by commas, options in braces: `name{option=value option=value}`.

        `settings` are the values that `$name` stands for. Raises `UsageError` for unknown passes and options, with the
        nearest names, and for values of the wrong type.
        """
        need(text, str, "Pipeline.parse", "text")
        return cls(parse_steps(text, settings, _conversion_step))

    @pinned()
    def run(
        self, module: Module, *, verify_each: bool = False, print_after: Callable[[str, Module], None] | None = None,
        tell: Callable[[Step, PassRecord, Module], None] | None = None,
    ) -> list[PassRecord]:
        """Run all passes on `module`, in place.

        Raises `UsageError` for an option that is missing, and `PassError` where a module is in no dialect that a pass is for.
        With `verify_each`, a module that is invalid before is a `PassError`, and a pass that leaves invalid IR an `InternalError`
        that names it; what rewrites of a conversion leave to its passes after is looked at after the first of these.
        `print_after(name, module)` and `tell(step, record, module)` are called after each pass.
        """
        for step in self.steps:
            step.need_options()
        if verify_each and self.steps and (findings := check(module)):
            raise PassError("the module breaks the rules of its dialects before the first pass", findings)
        records = []
        produced: set[str] = set()
        with output_names_kept(module):
            for step in self.steps:
                _check_requirements(step, module, produced)
                produced.update(step.produces)
                record = step.apply(module)
                records.append(record)
                if tell is not None:
                    tell(step, record, module)
                if print_after is not None:
                    print_after(step.name, module)
                if verify_each and (not step.partial or step is self.steps[-1]) and (findings := check(module)):
                    raise InternalError(f"pass {step.name!r} made invalid IR", findings)
        return records


def _check_requirements(step: Step, module: Module, produced: set[str]) -> None:
    """Raise `OutOfPlace` where a module with ops has neither the dialect or state that a pass requires, nor what it produces."""
    if not step.requires:
        return
    present = set(dialects_in(module))
    missing = [name.replace("|", " or ") for name in step.requires if not {*name.split("|")} & (present | produced)]
    if missing and present and not present & set(step.produces):
        raise OutOfPlace(
            f"pass {step.name!r} requires {', '.join(missing)}; the module is in {', '.join(sorted(present))}",
            "run what produces it first: `transload passes` lists what each pass requires and produces", step)


def step_again(name: str, options: dict[str, Any]) -> Step:
    """The step of a name, with options as they were; `UsageError` where there is none any more."""
    step = Pipeline.parse(name).steps[0]
    step.options = options
    return step


copyreg.pickle(Step, lambda step: (step_again, (step.name, step.options)))  # what it runs is a function of a plugin's


def _conversion_step(name: str, options: str, settings: Mapping[str, Any]) -> Step | None:
    """A conversion, with its passes before and after, as one step; or its rewrites alone, by `name.rewrites`."""
    conversion = host().conversions.get(name.removesuffix(REWRITES))
    if conversion is None or conversion.extends is not None:
        return None
    declared = options_of(conversion)
    given = read_options(name, {key: wanted for key, (wanted, _, _) in declared.items()}, options, settings)
    if name.endswith(REWRITES):
        return rewrites_alone(conversion, settings_of(declared, given))

    def convert(module: Module, **more: Any) -> bool:
        apply_conversion(conversion, module, **more)
        return True

    return Step(name, convert, given, (conversion.source,), (conversion.target,))
