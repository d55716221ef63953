"""The command `extract`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..api import load, save
from ..errors import UsageError
from ..extraction import extract, tensors_of
from .arguments import parse_given
from .process import note_written
from .session import session
from .show import console

__all__ = ["extract_command"]


def extract_command(
    model: Path, inputs: Sequence[str], outputs: Sequence[str], out: Path, shape: Sequence[str], format: str | None,
    function: str | None, weights: Path | None,
) -> int:
    shapes, _ = parse_given(shape, ())
    module = load(model, format=format, inputs=shapes, function=function, weights=weights)
    known = tensors_of(module)
    part = extract(module, _named(outputs, known) if outputs else None, _named(inputs, known))
    save(part, out)
    note_written(out)
    if not session().quiet:
        border = "; ".join(f"{name} {type_}" for types in (part.inputs, part.outputs) for name, type_ in types.items())
        console().print(f"written to {out}: {border}", markup=False)
    return 0


def _named(texts: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """The names of tensors, and their new ones, in `NAME` or `NAME=NEW`. Names may hold `=`: one that there is decides."""
    names: dict[str, str] = {}
    there = set(known)
    for text in texts:
        name, _, new = (text, "", text) if text in there else text.rpartition("=")
        if not new:
            raise UsageError(f"{text!r} does not say the new name", hint="as NAME=NEW, or NAME alone")
        if names.setdefault(name := name or text, new) != new:
            raise UsageError(f"tensor {name!r} is to be called {names[name]!r} and {new!r}", hint="give it one name")
    return names
