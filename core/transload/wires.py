"""Tensors that go from part to part of an artifact: which part gives each, and in what type each part's file has it.

Parts hand on numbers. A dialect may have narrowed to 32 bits what a model has in 64, and the file of a part in another dialect
have it as the model does: each part is given, and gives, what its own file takes and gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .engine.run import fit
from .errors import ArtifactError, TextError, written
from .ir import Module, TensorType, Type, dtype_of
from .outcomes import kind_of
from .plugin import EmittedPart
from .text import parse_type

__all__ = ["as_type", "same_bits", "type_in", "types_in_files", "wrong_texts", "wrong_wires"]


def type_in(part: EmittedPart, name: str) -> Type | None:
    """The type of a tensor in a part's file; None where it is not said."""
    return parse_type(part.types[name]) if name in part.types else None


def types_in_files(types: Mapping[str, Type], in_file: Iterable[Type]) -> dict[str, str]:
    """The types of tensors that a part takes, or gives, by name: those of its file, where numbers are wider or narrower there."""
    return {
        name: str(held if isinstance(held, TensorType) and _width(held) != _width(type_) else type_)
        for (name, type_), held in zip(types.items(), in_file, strict=True)}


def as_type(array: Any, type_: Type | None, said: str) -> Any:
    """An array as one of a type, where one is said: the same bits with another sign, the same numbers in another width.

    `ArtifactError` where it has another shape, holds another kind of numbers, or one that the type has not.
    """
    wanted = _dtype(type_)
    if wanted is None or not isinstance(array, np.ndarray) or not isinstance(type_, TensorType):
        return array
    array = same_bits(array, wanted)
    fitting, why = fit(array, type_) if kind_of(array.dtype) == kind_of(wanted) else (array, f"is {array.dtype}")
    if why:
        raise ArtifactError(f"{said} as {type_}, and what is there {why}")
    return fitting


def same_bits(array: np.ndarray, wanted: np.dtype | None) -> np.ndarray:
    """An integer array as one of the other sign, where that is what is wanted."""
    have = array.dtype
    if wanted is None or have == wanted or not (have.kind in "iu" and wanted.kind in "iu" and have.itemsize == wanted.itemsize):
        return array
    return array.view(wanted)


def wrong_texts(types: Mapping[Any, Any]) -> str | None:
    """What is wrong with the types that a part says of its tensors, or None."""
    for name, text in types.items():
        try:
            if not isinstance(name, str) or not isinstance(text, str):
                return f"types of a part must be texts by names, and one is {written(name):.100}: {written(text):.100}"
            parse_type(text)
        except TextError as error:
            return f"the type of {name!r} in a part is {text!r:.100}, which is none: {error.message.splitlines()[0]}"
    return None


def wrong_wires(parts: Sequence[EmittedPart], outputs: Mapping[str, str], module: Module) -> str | None:
    """What is wrong with what the parts of a module take and give, or None: each tensor is given once, before it is taken."""
    known: dict[str, Type | None] = dict(module.inputs)
    for number, part in enumerate(parts, 1):
        for name in part.inputs:
            if name not in known:
                return f"part {number} takes {name!r}, which is no input of the model, and no part before it gives it"
            if not _is_alike(type_in(part, name), known[name]):
                return f"part {number} takes {name!r} as {part.types[name]}, and it is {known[name]}"
        for name in part.outputs:
            if name in known:
                return f"part {number} gives {name!r}, which is there already: each tensor has a name of its own"
            known[name] = type_in(part, name)
    if set(outputs) != set(module.outputs):
        return f"the outputs are {_listed(outputs)}, and those of the model {_listed(module.outputs)}"
    for name, wire in outputs.items():
        if wire not in known:
            return f"output {name!r} is {wire!r}, which no part gives; known are {_listed(known)}"
        if not _is_alike(known[wire], module.outputs[name]):
            return f"output {name!r} is {module.outputs[name]}, and the part that gives it has {known[wire]}"
    return None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def _is_alike(one: Type | None, other: Type | None) -> bool:
    """Whether arrays of one type may be handed on as the other, as far as both are known: of one shape and kind of numbers."""
    here, there = _dtype(one), _dtype(other)
    if here is None or there is None or not isinstance(one, TensorType) or not isinstance(other, TensorType):
        return True
    if one.shape is not None and other.shape is not None and (len(one.shape) != len(other.shape) or not all(
            None in sizes or sizes[0] == sizes[1] for sizes in zip(one.shape, other.shape, strict=True))):
        return False
    return kind_of(here) == kind_of(there)


def _dtype(type_: Type | None) -> np.dtype | None:
    """What arrays of a type hold; None where that is not known."""
    try:
        return dtype_of(type_.element) if isinstance(type_, TensorType) else None
    except ValueError:  # of a dialect's own
        return None


def _width(type_: Type) -> int | None:
    dtype = _dtype(type_)
    return dtype.itemsize if dtype is not None else None
