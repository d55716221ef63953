"""Arguments that are small languages: `name:1x3x224x224:float32`, `name=file`, `key=value`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..arrays import read_arrays
from ..errors import UsageError
from ..files import is_file
from ..given import ONLY, open_file, shapes_of
from ..ir import NONE, TensorType, Type
from ..ir.constants import element_type_of
from ..shell import quoted
from ..sizes_of_data import sizes_from
from ..sizes_text import sizes_text

__all__ = ["once", "parse_given", "parse_options", "taken_to_load"]


def taken_to_load(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `load` that `options.loading` gives, taken out of what a command is given."""
    shapes, data = parse_given(given.pop("shape"), given.pop("input"))
    how = {name: given.pop(name) for name in ("format", "function", "weights", "outputs")}
    of_data = shapes_of(data or {})
    for name, shape in of_data.items():
        said = next(iter(shapes.values())) if name == ONLY and len(shapes) == 1 else shapes.get(name)
        if said is not None and said.shape != shape:
            texts = [sizes_text(each or ()) for each in (shape, said.shape)]
            which = f" input {name!r}" if name != ONLY else ""
            raise UsageError(
                f"what --input gives{which} is {texts[0]}, and --shape says {texts[1]}",
                hint="leave out one of them" + (", or say whose the file is: --input NAME=FILE" if name == ONLY else ""))
    context = click.get_current_context(silent=True)
    if context is not None:  # images say sizes, too, as the command reads the model
        context.with_resource(sizes_from(data))
    return {"inputs": {**of_data, **shapes}, **how}


def parse_given(
    shapes: Sequence[str], inputs: Sequence[str], data: Path | None = None,
) -> tuple[dict[str, TensorType], dict[str, Any] | None]:
    """What `--shape` and `--input` say: types by name, and arrays and images by name, or None where none is given.

    `NAME:SHAPE` after `--input`, and `--input-data` (`data`), are older forms; a note says how it is said now.
    """
    types: dict[str, TensorType] = {}
    for text in shapes:
        once(types, *_parse_shape(text), f"--shape {text!r}: the shape of input {{!r}} is said")
    given: dict[str, Any] | None = None
    if data is not None:
        _note(f"--input-data {data} is said as --input {quoted(data)} now")
        inputs = [*inputs, str(data)]
    for text in inputs:
        if not text.rpartition("=")[2]:
            raise UsageError(f"--input {text!r} names no file", hint="--input FILE, or --input NAME=FILE")
        name, file = _name_and_file(text)
        if file is None:
            _note(f"--input {text} gives a shape, which is said as --shape {quoted(text)} now")
            once(types, *_parse_shape(text), f"--input {text!r}: the shape of input {{!r}} is said")
            continue
        found = read_arrays(file) if name == ONLY and file.suffix.lower() == ".npz" else {name: open_file(file, name)}
        twice = next((each for each in found if each in (given or ())), None)
        if twice is not None:
            raise UsageError(f"--input {text!r}: there is data for input {twice!r} already")
        given = {**(given or {}), **found}
    return types, given


def once(found: dict[str, Any], name: str, value: Any, twice: str) -> None:
    """Enter what a text says of a name; `UsageError`, which `twice` begins with the name in it, where one said it before."""
    if name in found:
        raise UsageError(f"{twice.format(name)} already", hint="say it once: the last one would silently count alone")
    found[name] = value


def _name_and_file(text: str) -> tuple[str, Path | None]:
    """The parts of `NAME=FILE` or `FILE`; no file in `NAME:SHAPE`. Names and files may hold `=`: a file that is there decides."""
    if not is_file(Path(text)):
        places = [place for place, character in enumerate(text) if character == "="]
        there = [place for place in places if is_file(Path(text[place + 1:]))]
        for place in (*there, *places[-1:]):
            return text[:place], Path(text[place + 1:])
        if any(_shape(part) is not None for part in text.split(":")[1:]):
            return "", None
    return ONLY, Path(text)


def _note(text: str) -> None:
    from .show import show_note

    show_note(text)


def _parse_shape(text: str) -> tuple[str, TensorType]:
    """`NAME:SHAPE[:DTYPE]`. Names may hold colons: the shape is looked for from the right."""
    parts = text.split(":")
    for at in (len(parts) - 1, len(parts) - 2):
        shape = _shape(parts[at]) if at >= 1 else None
        if shape is not None:
            element = _element(parts[at + 1], text) if at + 1 < len(parts) else NONE
            return ":".join(parts[:at]), TensorType(shape, element)
    raise UsageError(f"--shape {text!r} does not read as NAME:SHAPE[:DTYPE]", hint="as image:1x3x224x224, or step:scalar:int64")


def _shape(text: str) -> tuple[int, ...] | None:
    if text == "scalar":
        return ()
    sizes = text.split("x")
    return tuple(map(int, sizes)) if all(size.isascii() and size.isdigit() and len(size) < 10 for size in sizes) else None


def _element(name: str, text: str) -> Type:
    import ml_dtypes

    if name == "float":  # of C, ONNX and PyTorch, and not Python's, which numpy takes for 64 bits
        name = "float32"
    try:
        return element_type_of(getattr(ml_dtypes, name, None) or np.dtype(name))
    except (TypeError, ValueError):
        raise UsageError(f"--shape {text!r}: {name!r} is no element type", hint="as float32, int8, uint8, bfloat16") from None


def parse_options(texts: Sequence[str], flag: str = "option") -> dict[str, str]:
    """`KEY=VALUE` to a dictionary; `UsageError` where a key is there twice. `flag` is what the texts stand behind."""
    options: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--{flag} {text!r} does not read as KEY=VALUE")
        once(options, key, value, f"--{flag} {text!r}: option {{!r}} is given")
    return options

