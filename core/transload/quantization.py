"""Quantizing on the way to a target: which quantizer, on which samples, with which options, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .analysis.movement import is_cast, moves_of
from .contents import STRUCTURE, dialects_in, main_dialect
from .guard import FOREIGN, PluginInfo, failure, goes_through
from .ir import FloatType, Module, Op, QuantType
from .ir.build import constant_of
from .ir.verify import verify
from .meanings import quantized_tensors
from .options import as_annotated, need_options
from .outcomes import need_right_module
from .plugin import Quantized, Target, resolve
from .plugin_host import host
from .report import LayersReport, QuantizationReport
from .roles import hub
from .samples.owned import owned
from .samples.samples import Samples

__all__ = ["Quantization", "floats_in", "has_floats", "quantize_at_hub", "wished_by"]


def wished_by(target: Target, quantizer: str) -> dict[str, Any]:
    """The options of a quantizer that a target wishes, where nobody says others: those that it has."""
    known = host().get("quantizers", quantizer).options
    return {name: value for name, value in getattr(target, "quantizing", {}).items() if name in known}


@dataclass
class Quantization:
    """A quantizer by name with its options, the samples that it sees, and, when it ran, what it tells."""

    scheme: str
    options: Mapping[str, Any] = field(default_factory=dict)
    samples: Samples | None = None
    made: Quantized | None = None
    measured: LayersReport | None = None
    """What it cost, layer by layer, where there are samples."""
    types: dict[str, QuantType] = field(default_factory=dict)
    """What the integers of tensors stand for, by name."""

    def __post_init__(self) -> None:
        host().get("quantizers", self.scheme)

    def need_options(self) -> None:
        """Raise `UsageError` for options that the quantizer has not, or that are not of their types."""
        _annotated(self.scheme, self.options)

    def __call__(self, module: Module) -> Module:
        """A new module of the hub that computes with integers."""
        self.made = quantize_at_hub(module, self.scheme, self.samples, self.options)
        made: Module = self.made.module
        self.types = quantized_tensors(made)
        if self.samples is not None:
            from .layers import layers_report

            self.measured = layers_report(self.made.source, made, self.samples)
            _say_narrower(self.measured, self.made.report.get("layers", {}))
        return made

    @property
    def about(self) -> str:
        """In words, for a plan."""
        return ", ".join([self.scheme, *(f"{key}={value}" for key, value in self.options.items())])

    def report(self) -> QuantizationReport:
        """What a conversion's report says of it."""
        made = self.made or Quantized(None)
        samples = self.samples
        return QuantizationReport(
            self.scheme, {key: _plain(value) for key, value in self.options.items()},
            samples.known_length if samples is not None else 0,
            dict(samples.skipped) if samples is not None else {},
            {name: str(image) for name, image in samples.images.items()} if samples is not None else {},
            dict(made.floats or {}), dict(made.report), self.measured,
            {name: str(element) for name, element in self.types.items()})


def quantize_at_hub(
    module: Module, scheme: str, samples: Iterable[Mapping[str, Any]] | None, options: Mapping[str, Any],
) -> Quantized:
    """What the quantizer called `scheme` makes of a module of the hub; the argument is unchanged.

    The new module knows what was said of it (`Module.quantization`). Where the quantizer does not say what stays float, that is
    found, without a reason. Raises `UsageError` for a scheme that there is not, and what the quantizer raises.
    """
    run, options = _annotated(scheme, options)
    made = run(module, owned(samples, module), **options)
    if isinstance(made, Module):
        made = Quantized(made)
    owner = host().owner("quantizers", scheme)
    if owner is not None and not owner.is_ours:
        _need_same_borders(made.module, module, owner, f"quantizer {scheme!r} (run)")
    verify(made.module)
    floats = made.floats if made.floats is not None else floats_in(made.module)
    given = module.clone()  # the caller's may be changed afterwards
    source = made.source if made.source is not None else given
    made.module.quantization = Quantized(None, floats, made.report, source, made.wide, given)
    return Quantized(made.module, floats, made.report, source, made.wide, given)


def _annotated(scheme: str, options: Mapping[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """What runs the quantizer called `scheme`, and its options as the types that it says; `UsageError` for others."""
    run: Callable[..., Any] = resolve(host().get("quantizers", scheme).run)
    what, placed = f"quantizer {scheme!r}", ("module", "samples")
    need_options(what, run, placed, options)
    try:
        return run, as_annotated(what, run, len(placed), options)
    except FOREIGN as error:  # an annotation of something that is not there when it runs
        if goes_through(error):
            raise
        raise failure(host().owner("quantizers", scheme), f"{what} (run)", error) from error


def _need_same_borders(made: Module, module: Module, owner: PluginInfo, place: str) -> None:
    """`PluginFailure` where a quantizer gives a module that is wrong, of another dialect than the hub's and those of the one it
    was given, or of other inputs or outputs."""
    need_right_module(made, owner, place, "gives")
    if "main" not in made.functions:
        raise failure(owner, place, ValueError("gives a module without a function 'main'"))
    if (dialect := main_dialect(made)) not in (hub().name, *dialects_in(module), *STRUCTURE):
        raise failure(owner, place, ValueError(f"gives a module of {dialect!r}, where one of {hub().name!r} is wanted"))
    for side, before, now in (("inputs", module.inputs, made.inputs), ("outputs", module.outputs, made.outputs)):
        shapes = [[(name, getattr(type_, "shape", None)) for name, type_ in types.items()] for types in (before, now)]
        if shapes[0] != shapes[1]:
            had, has = (", ".join(f"{name}: {type_}" for name, type_ in types.items()) or "none" for types in (before, now))
            raise failure(owner, place, ValueError(f"gives a module whose {side} are {has}, and those of the model are {had}"))


def _say_narrower(measured: LayersReport, words: Mapping[str, str]) -> None:
    """Have layers be of the floats that the quantizer says they multiply, where what they give is of wider ones."""
    for layer in measured.layers:
        word = words.get(layer.name, layer.type).lower()
        if layer.type.startswith("f") and word.startswith("f"):
            layer.type = word


def floats_in(module: Module) -> dict[str, str]:
    """The ops that compute with floats, by the names of their first results; casts, and what only moves numbers, are none."""
    found: dict[str, str] = {}
    for op in module.body_of_main:
        if op.results and constant_of(op.results[0]) is None and _computes_on_floats(op):
            found.setdefault(op.results[0].name or op.name, f"{op.name} computes with floats")
    return found


def has_floats(op: Op) -> bool:
    """Whether data of the op are floats (a quantized tensor is stored as integers)."""
    return any(isinstance(value.stored_element, FloatType) for value in (*op.operands, *op.results))


def _computes_on_floats(op: Op) -> bool:
    if is_cast(op) or moves_of(op) is not None:
        return False
    values = (value for value in (*op.operands, *op.results) if constant_of(value) is None)
    return any(isinstance(value.element_or_none, FloatType) for value in values)


def _plain(value: Any) -> Any:
    """An option as JSON has it."""
    return value if isinstance(value, str | int | float | bool | list | type(None)) else str(value)

