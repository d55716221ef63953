"""Looking at a model: what goes in and comes out, what it is made of, and what a target cannot take of it.

    found = transload.inspect("model.tflite", "ethos-u85-256")
    found.inputs, found.ops, found.takes
    for finding in found.findings:
        print(finding)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .api import InputSpec, loaded, model_of
from .chosen_target import target_options, usable_target
from .contents import constant_bytes, main_dialect, op_counts
from .emission import check_for
from .errors import ConversionError, Finding, TransloadError, UsageError
from .hosting import hosted_for
from .ir import Module, Type
from .journey import Journey
from .kinds import MAPPING, MODEL, PATH, TEXT, TEXTS, takes
from .open_sizes import tried
from .plugin_host import host as plugins
from .written import written_at

__all__ = ["Inspection", "inspect"]


@dataclass(frozen=True)
class Inspection:
    """A model as it is, and what a target says of it."""

    format: str | None
    """Name of the reader, or of the target whose artifact no reader takes; None of a module that was made otherwise."""
    dialect: str
    inputs: dict[str, Type] = field(default_factory=dict)
    outputs: dict[str, Type] = field(default_factory=dict)
    ops: dict[str, int] = field(default_factory=dict)
    """How many ops of each name, the most frequent first; constants left out."""
    constant_bytes: int = 0
    functions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What the reader says of it: sizes that it chose, signatures beside the one that was read."""
    target: str | None = None
    """The target that was asked, if any."""
    refusal: ConversionError | None = None
    """The error with which a conversion for the target would end before anything is written."""
    on_host: dict[str, int] = field(default_factory=dict)
    """How many ops of each name the target leaves to the host (`Target.takes`)."""

    @property
    def takes(self) -> bool | None:
        """Whether the target takes the model, with the host where it leaves ops to it; None where none was asked."""
        return None if self.target is None else self.refusal is None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that the target cannot take, with its tensors, the reason, and what to do."""
        return self.refusal.findings if self.refusal is not None else ()

    def __repr__(self) -> str:
        asked = "" if self.target is None else f", {'taken' if self.takes else 'not taken'} by {self.target}"
        return f"<Inspection of {self.format or self.dialect}: {sum(self.ops.values())} ops{asked}>"

    def _repr_html_(self) -> str:
        from .notebook import table_html

        heading, *lines = str(self).splitlines()
        return table_html("Inspection", (), [(line.strip(),) for line in lines], heading)

    def __str__(self) -> str:
        values = [f"  {side} {name}: {type_}" for side, types in (("input", self.inputs), ("output", self.outputs))
                  for name, type_ in types.items()]
        ops = ", ".join(f"{name} ({count})" for name, count in self.ops.items())
        left = ", ".join(f"{name} ({count})" for name, count in self.on_host.items())
        said = [] if self.target is None else [
            f"  {self.refusal}" if self.refusal is not None
            else f"  {self.target} takes all of it" + (f" but {left}, left to the host" if left else "")]
        heading = f"{self.format or self.dialect}: {sum(self.ops.values())} ops, {self.constant_bytes:,} bytes of constants"
        notes = [f"  note: {note}" for note in self.notes]
        return "\n".join([heading, *values, f"  ops {ops}", *notes, *said])


@takes(
    model=MODEL, target=TEXT, inputs=MAPPING, options=MAPPING, format=TEXT, function=TEXT, weights=PATH, outputs=TEXTS, host=TEXT)
def inspect(
    model: str | Path | Module, target: str | None = None, *, inputs: Mapping[str, InputSpec] | None = None,
    options: Mapping[str, Any] | None = None, format: str | None = None, function: str | None = None,
    weights: str | Path | None = None, outputs: Sequence[str] = (), host: str | None = None,
) -> Inspection:
    """Look at a model file, a module or what `convert` wrote, and ask `target`, if one is named, what it cannot take.

    Nothing is written or changed. A file whose sizes are open is read once more, as `convert` reads it, with 1 for a batch, where
    the target does not take it as it is: the result is of what was read last.

    `inputs`, `format`, `function`, `weights` and `outputs` are as in `load`, `options` and `host` as in `convert`. What stands
    in the way is in the result; raises `ReadError` of a file that cannot be read, `ConversionError` of a module that is not
    valid, and `UsageError` for names that are not there, and for a target that cannot be asked without what is not installed.
    """
    model = model_of(model)
    written = written_at(Path(model)) if not isinstance(model, Module) and format is None else None

    def read() -> Module:
        if written is not None:
            written.need_unasked(Path(model), inputs, function, weights)
            return loaded(written.module, "inspect", outputs=outputs)
        return loaded(model, "inspect", inputs=inputs, format=format, function=function, weights=weights, outputs=outputs)

    module = read()
    if (options or host) and target is None:
        raise UsageError(f"options ({', '.join(options or ())}) are a target's or its conversions': say which target" if options
                         else f"host {host!r} of which target?")
    refusal: ConversionError | None = None
    on_host: dict[str, int] = {}
    if target is not None:
        try:
            module, on_host = tried(read, lambda each: _asked(each, target, options or {}, host), module)
        except TransloadError as error:
            usable_target(target)  # what lacks its tools here says nothing of the model
            if not isinstance(error, ConversionError):
                raise
            refusal = error
    known_as = module.source_format or (written.format if written is not None else None) or None
    return Inspection(
        known_as, main_dialect(module), module.inputs, module.outputs, op_counts(module), constant_bytes(module),
        tuple(module.functions), module.notes, target, refusal, on_host)


def _asked(module: Module, target: str, options: Mapping[str, Any], named: str | None) -> dict[str, int]:
    """What a target leaves to the host of a module; `ConversionError` with all that stands between the two."""
    chosen = plugins().get("targets", target)
    hosted, options = hosted_for(chosen, named, options)
    copy, settings = module.clone(), target_options(chosen, options)
    Journey(chosen.accepts, options, target=chosen, settings=settings).run(copy)
    cut = check_for(chosen, copy, settings, hosted)
    return dict(Counter(op.name for op in cut.on_host)) if cut is not None else {}
