"""Sizes that a model leaves open, as the first sample has them, or as images are."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ReadError, UsageError
from ..ir import TensorType
from ..sizes_text import sizes_text
from .images import Decoding
from .preprocess import Preprocess, layout_of
from .samples import Data
from .sources import Entry, ImagePart, Kept, entries_of, filled, find_source, taken

__all__ = ["first_sizes", "image_sizes"]

Types = Mapping[str, TensorType]
Found = dict[str, tuple[tuple[int, ...], str]]
"""Shapes by input, and what has them."""


@dataclass(frozen=True)
class _Name:
    """Of an image that is not decoded, the input."""

    name: str


class _Looked:
    """Inputs whose sizes are not known yet (`Wanted`)."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self.initial: dict[str, np.ndarray] = {}

    def settled(self, name: str) -> Any:
        return _Name(name)


def first_sizes(data: Data, types: Types, preprocess: Preprocess | None) -> tuple[Data, Found]:
    """The shapes of inputs whose types leave sizes open, as the first sample has them, and the data, to be opened for these.

    Where images say them by their own sizes, all are looked at: one of another would be scaled without a word. Raises
    `UsageError` where they differ, or where the first sample does not fit.
    """
    if hasattr(data.source, "__next__"):
        data = replace(data, source=Kept(data.source))
    looked = _Looked(types)
    found: Found = {}
    first = ""
    for entry in entries_of(find_source(data.source, looked), looked, data.count):
        images = {name: part.path for name, part in entry.parts.items() if isinstance(part, ImagePart)}
        try:
            sizes = {**image_sizes(images, types, preprocess), **({} if found else _array_sizes(entry, types))}
        except ReadError:
            if data.skip_damaged:
                continue
            raise
        first = first or entry.name
        for name, (shape, where) in sizes.items():
            before, at = found.setdefault(name, (shape, where))
            if before != shape:
                raise UsageError(
                    f"{where} is {sizes_text(shape)}, and {at} {sizes_text(before)}, for input {name!r}, whose sizes the model "
                    "leaves open",
                    hint="--resize ROWSxCOLUMNS makes all images alike")
        if not any(_open_size(name, types, preprocess) for name in images):
            break
    return replace(data, first=first if found else ""), found


def image_sizes(images: Mapping[str, Path], types: Types, preprocess: Preprocess | None) -> Found:
    """The shapes of inputs that are given images, where channels say the layout, and rows and columns are open.

    They are those that images are cropped or resized to, or else an image's own.
    """
    found: Found = {}
    for name, path in images.items():
        own = _own(preprocess, name)
        layout = _layout_of(own, name, types)
        if layout is None:
            continue
        sizes = own.crop or own.resize_dims
        resized = "" if sizes is None else ", resized,"
        if sizes is None and _open_size(name, types, preprocess):
            with Decoding(1) as decoding:
                sizes = decoding.sizes(path)
        shape = types[name].shape or ()
        if sizes is not None:
            places = {len(shape) - (3 if layout == "nhwc" and len(shape) > 2 else 2): sizes[0]}
            places[next(iter(places)) + 1] = sizes[1]
            found[name] = tuple(size or places.get(place, 1) for place, size in enumerate(shape)), f"{path}{resized}"
    return found


def _own(preprocess: Preprocess | None, name: str) -> Preprocess:
    return (preprocess or Preprocess()).whole().of(name)


def _layout_of(own: Preprocess, name: str, types: Types) -> str | None:
    """Where an input that leaves sizes open has its channels; None where it is none of these, or takes no image."""
    if name not in types or types[name].shape is None or types[name].is_static:
        return None
    with suppress(UsageError):
        return layout_of(own, name, types[name])[0]
    return None


def _open_size(name: str, types: Types, preprocess: Preprocess | None) -> bool:
    """Whether an image's own size is that of an input: its rows and columns are both open, and nobody says others."""
    own = _own(preprocess, name)
    if own.crop is not None or own.resize_dims is not None or _layout_of(own, name, types) is None:
        return False
    return list(layout_of(own, name, types[name])[1:3]) == [0, 0]


def _array_sizes(entry: Entry, types: Types) -> Found:
    """Those that the arrays of a sample say."""
    found: Found = {}
    with Decoding(1) as decoding:
        for name, part in entry.parts.items():
            open_ = types[name].shape
            if open_ is None or types[name].is_static or isinstance(part, ImagePart):
                continue
            shape = np.shape(part.read(decoding))
            made = filled(open_, shape)
            if made is None:
                raise UsageError(
                    f"{entry.name}: input {name!r} is given an array of shape {shape}, and takes {taken(types[name])}")
            found[name] = made, entry.name
    return found
