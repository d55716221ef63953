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


_NEAR, _BEGUN = 0.6, 3
"""How much two names have in common of which one may be meant by the other; letters of a name that was not written to its end."""


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The shortest candidate that begins with `name`, or else the one most like it; None where none is near."""
    known = list(candidates)
    begun = [each for each in known if each.startswith(name)] if len(name) >= _BEGUN else []
    found = difflib.get_close_matches(name, known, n=1, cutoff=_NEAR)
    return min(begun, key=len, default=found[0] if found else None)


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
