"""What a quantizer may be asked for, and what it refuses before it begins."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from transload.errors import UsageError
from transload.ir import Module
from transload.quantization import floats_in
from transload_hub.ops.rounding import WORDS

from .islands import FINE, FORMS
from .saved import Saved

__all__ = ["check_asked", "check_learning", "keywords_of", "need_known", "need_used"]

_FLAGS = {"calibration": "--table"}
"""What options are called in commands, where they are called otherwise there."""


def keywords_of(function: Callable[..., Any]) -> list[str]:
    """The keywords of a function, which are a quantizer's options."""
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.kind == each.KEYWORD_ONLY]


def need_known(what: str, options: Mapping[str, Any], known: Iterable[str]) -> None:
    """`UsageError` for options that `what`, a quantizer or a method, has not."""
    def said(names: Iterable[str]) -> str:
        return ", ".join(f"{name} ({_FLAGS[name]})" if name in _FLAGS else name for name in names)

    known = list(known)
    if unknown := sorted(set(options) - set(known)):
        raise UsageError(f"{what} has no option {said(unknown)}", hint=f"options: {said(known)}")


def check_asked(
    module: Module, islands: str, rounds: str | None, ranges: bool, idle: str | bool | None, fine: float = FINE,
) -> None:
    """`UsageError` for words and decibels that there are not, where no ranges come from anywhere, and for a module that is
    quantized.

    `idle` is a method of choosing ranges where they are given.
    """
    if idle:
        raise UsageError(
            f"ranges are those of the calibration, and not chosen by {idle!r}", hint="leave out the method, or the table")
    if islands not in FORMS:
        raise UsageError(f"islands cannot be {islands!r}", hint=f"one of {', '.join(FORMS)}")
    if math.isnan(fine):
        raise UsageError("islands cannot be looked for below NaN decibels", hint="fine=35, or inf for all that pay")
    if rounds is not None and rounds not in WORDS:
        raise UsageError(f"products cannot be rounded by {rounds!r}", hint=f"one of {', '.join(WORDS)}")
    if not ranges:
        raise UsageError(
            "a quantizer needs samples, or a calibration",
            hint="--data PATH, or --table FILE; in Python samples=, dicts of arrays by input name, or calibration=")
    need_floats(module)


def need_used(
    *, polish: bool, rounding: bool, fine: float, islands: str, layers: bool, samples: bool, learning: bool, power_of_two: bool,
) -> None:
    """`UsageError` for options of a step that others leave out: no islands are looked for, or nothing is rounded or learned."""
    nowhere = "" if samples else "they are looked for on samples, of which there is none"
    nowhere = "islands=none looks for none" if islands == "none" else nowhere
    nowhere = "a table of layers says what each is held in" if layers else nowhere
    idle = (
        (polish and not rounding, "polish looks for better roundings, and weights are rounded to the nearest",
         "leave out polish, or rounding=false and effort=fast, which leave rounding out"),
        (polish and not samples, "polish looks for better roundings on samples, and there is none",
         "leave out polish, or --data PATH"),
        (fine != FINE and bool(nowhere), f"fine says from where on no islands are looked for, and {nowhere}",
         "leave out fine, or that" if layers or islands == "none" else "leave out fine, or --data PATH"),
        (learning and power_of_two, "scales are learned, and those that are powers of two are not",
         "leave out learning, or power_of_two"),
    )
    for holds, why, hint in idle:
        if holds:
            raise UsageError(why, hint=hint)


def need_floats(module: Module) -> None:
    """`UsageError` for a module that is quantized throughout."""
    if not floats_in(module) and any(result.quant is not None for op in module.body_of_main for result in op.results):
        raise UsageError(
            "no op of the model computes with floats, so there is nothing to quantize",
            hint="of a model that is quantized already `transload quantize MODEL --scheme float -o floats.mlir` makes floats")


def check_learning(asked: bool, samples: bool, ranges: bool, resume: Saved | str | Path | None) -> None:
    """`UsageError` where ranges are to be learned of nothing, or are given, and where there is nothing to `resume`."""
    if asked and ranges:
        raise UsageError("ranges are those of the calibration, and not learned", hint="leave out learning, or the table")
    if asked and not samples:
        raise UsageError("ranges are learned on samples, and there is none", hint="--data PATH; in Python samples=")
    if not asked and isinstance(resume, str | Path):
        raise UsageError("nothing is saved to go on from of what takes seconds", hint="--effort best, or learning=true")
