"""What to advise: the nearest name to a misspelt one, the way to integers."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .context import current
from .shell import quoted

if TYPE_CHECKING:
    from .ir import Module

__all__ = ["nearest", "quantizing"]


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `name`, or None where none is near."""
    found = difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.5)
    return found[0] if found else None


def quantizing(module: Module, target: str, preferred: Iterable[str] = ()) -> str:
    """How a float model that was read from a file becomes integers for a target: ": " and the command.

    With the first of the `preferred` quantizers that there is, else with any. Where no quantizer is registered, how its
    framework quantizes; nothing where that is not known, either.
    """
    host = current().host
    quantizer = next((name for name in (*preferred, *host.quantizers) if name in host.quantizers), None)
    if quantizer is not None and module.source is not None:
        model = quoted(module.source)
        return f": transload convert {model} --target {target} --quantize {quantizer} --data SAMPLES"
    reader = host.readers.get(module.source_format or "")
    return f": {reader.quantizing}" if reader is not None and reader.quantizing else ""
