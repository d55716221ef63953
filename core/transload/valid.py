"""What a function of the library is given as a module is one, and is valid: all that comes after relies on that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .contents import STRUCTURE
from .errors import ConversionError, UsageError
from .ir import Module
from .ir.verify import check
from .roles import hub

__all__ = ["module_given"]


def module_given(given: Any, function: str) -> Module:
    """The module that a user gave a function; `UsageError` where it is none, `ConversionError` where it is not valid.

    Values have to be defined before they are used, and ops of the hub have to be what they are declared to be: kernels and
    lowerings rely on that. Who reads a file looks by himself, and the rules of other dialects tell better what is wrong with
    their ops.
    """
    if not isinstance(given, Module):
        shown = repr(given) if isinstance(given, str | Path) else type(given).__name__
        raise UsageError(f"{function}() takes a module, and was given {shown}", hint='transload.load("model.tflite") reads one')
    if findings := check(given, (hub().name, *STRUCTURE)):
        raise ConversionError(
            f"{function}() was given a module that is not valid: {len(findings)} finding(s)", findings,
            "transload.ir.verify.check(module) lists them; the pass infer-shapes infers types anew where operands or attributes "
            "were changed")
    return given
