"""What a function of the library is given as a module is one, and is valid: all that comes after relies on that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .errors import ConversionError, UsageError
from .ir import Module
from .ir.verify import check

__all__ = ["module_given"]


def module_given(given: Any, function: str) -> Module:
    """The module that a user gave a function; `UsageError` where it is none, `ConversionError` where it is not valid.

    Values have to be defined before they are used, and ops have to be what their dialects declare them to be, whichever these
    are: kernels and rules rely on that. Ops of dialects that nobody registered are left to what cannot convert them.
    """
    if not isinstance(given, Module):
        shown = repr(given) if isinstance(given, str | Path) else type(given).__name__
        raise UsageError(f"{function}() takes a module, and was given {shown}", hint='transload.load("model.tflite") reads one')
    if findings := check(given):
        raise ConversionError(
            f"{function}() was given a module that is not valid: {len(findings)} finding(s)", findings,
            "transload.ir.verify.check(module) lists them; the pass infer-shapes infers types anew where operands or attributes "
            "were changed")
    return given
