"""Which of the target's options have an effect, with the others and on a model: those that have none are refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from transload.errors import UsageError
from transload.files import text_of
from transload.options import Options

from .text import Written

__all__ = ["QUANTIZED", "need_effects", "need_ranges", "table_text"]

QUANTIZED = "INT8"
_OF_INTEGERS = ("asymmetric", "table")
"""What only integers have."""
_OF_A_BINARY = ("chip", "precision", "asymmetric")
"""What only the compiler is told. `INT8` is told in files, too: ranges in a table, and results that are not rounded."""


def need_effects(options: Mapping[str, Any], declared: Options) -> None:
    """Raise `UsageError` where an option that is not its default has no effect, as others are."""
    chosen = {name: _word(options[name]) for name, (_, default, _) in declared.items() if options[name] != default}
    idle = next((name for name in _OF_INTEGERS if name in chosen and options["precision"] != QUANTIZED), None)
    if idle is not None:
        raise UsageError(f"{idle}={chosen[idle]} is about {QUANTIZED}, and precision={options['precision']}",
                         hint=f"with precision={QUANTIZED} it is taken")
    idle = next((name for name in _OF_A_BINARY if name in chosen and chosen[name] != QUANTIZED), None)
    if idle is not None and not options["environment"]:
        raise UsageError(f"{idle}={chosen[idle]} is about the bmodel, and none is made",
                         hint="with environment=PATH one is, where PATH is an environment with TPU-MLIR")


def need_ranges(made: Written, options: Mapping[str, Any]) -> None:
    """Raise `UsageError` where integers are asked for, and nothing has a range that they could be of."""
    if options["precision"] == QUANTIZED and not made.ranges and not options["table"]:
        raise UsageError(f"precision={QUANTIZED} takes the ranges of a quantized model, and this one has none",
                         hint="--quantize int8 makes one, and table=FILE names a calibration table")


def table_text(options: Mapping[str, Any], option: str, names: Collection[str]) -> str:
    """The text of a table that an option names; nothing where it names none.

    Raises `UsageError` where the table says nothing of tensors `names`: lines about others, as tools write for models that they
    changed, are of no effect, and a table of such lines alone is of another model.
    """
    if not options[option]:
        return ""
    text = text_of(options[option], f"the {option} of TPU-MLIR")
    lines = [line.split() for line in text.splitlines()]
    named = [line[0] for line in lines if line and not line[0].startswith("#")]
    if not set(named).isdisjoint(names):
        return text
    some = f"only of others, as {named[0]!r}" if named else "of none"
    raise UsageError(f"{option}={options[option]} says nothing of the model's tensors, {some}",
                     hint=f"these are, among others, {', '.join(list(names)[:3])}; STEM_top.mlir has the names of all")


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
