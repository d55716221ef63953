"""Sizes that a model leaves open, taken from the data that it is given: of arrays, of samples, of images.

    with sizes_from(given, data, preprocess) as sizes:
        module = load(path)                      # where a size is missing, the data is looked at
    samples = sizes.data.open(module, preprocess)

What a user says of a size goes before, and where none is missing nothing is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .given import ONLY, ImageFile, by_own_names, shapes_of
from .input_shapes import Size
from .ir import NONE, TensorType
from .sizes_text import sizes_text

if TYPE_CHECKING:
    from .samples.preprocess import Preprocess
    from .samples.samples import Data

__all__ = ["DataSizes", "sizes_from", "sizes_in_data"]


class DataSizes:
    """What a model is given: by the name of the input (`transload.given`), and `data`, a `Data` or what `open_samples` takes."""

    def __init__(self, given: Mapping[str, Any] | None, data: Any, preprocess: Preprocess | None, fused: bool) -> None:
        self.shapes = shapes_of(given or {}, fused)
        """Those of what has one by itself, which `load` is given."""
        self.data: Data | None = None
        if data is not None:
            from .samples.samples import Data

            self.data = data if isinstance(data, Data) else Data(data)
        self.notes: tuple[str, ...] = ()
        """What was said by it, in words."""
        self._given = given or {}
        self._preprocess = preprocess

    def of(self, inputs: Mapping[str, Sequence[Size] | None]) -> tuple[dict[str, tuple[int, ...]], tuple[str, ...]]:
        """The shapes of inputs that leave sizes open, as far as the data says them; and notes of that.

        Raises `UsageError` where images say several, and what reading the data raises.
        """
        types = {name: TensorType(None if shape is None else tuple(map(_known, shape)), NONE) for name, shape in inputs.items()}
        found: dict[str, tuple[tuple[int, ...], str]] = {}
        if images := dict(_images_of(inputs, self._given)):
            from .samples.sizes import image_sizes

            found = image_sizes(images, types, self._preprocess)
        if self.data is not None:
            from .samples.sizes import first_sizes

            self.data, of_samples = first_sizes(self.data, types, self._preprocess)
            found = {**found, **of_samples}
        notes = [f"input {name!r} is made {sizes_text(shape)}, as {where} is: the model leaves sizes of it open"
                 for name, (shape, where) in found.items()]
        self.notes = (*dict.fromkeys((*self.notes, *notes)),)
        return {name: shape for name, (shape, _) in found.items()}, tuple(notes)


def _known(size: Size) -> int | None:
    return size if isinstance(size, int) else None


def _images_of(inputs: Iterable[str], given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    names = list(inputs)
    for name, value in by_own_names(given, names).items():
        if isinstance(value, ImageFile) and (name != ONLY or len(names) == 1):
            yield (names[0] if name == ONLY else name), value.path


_SIZES: ContextVar[DataSizes | None] = ContextVar("the data that says sizes", default=None)


@contextmanager
def sizes_from(
    given: Mapping[str, Any] | None = None, data: Any = None, preprocess: Preprocess | None = None,
    fused: bool = False,
) -> Iterator[DataSizes]:
    """While it is open, models are read with the sizes of this data where they leave some open that nobody says.

    Not where images are `fused`: pixels have not the shapes of the model's inputs.
    """
    sizes = DataSizes(given, data, preprocess, fused)
    token = _SIZES.set(None if fused else sizes)
    try:
        yield sizes
    finally:
        _SIZES.reset(token)


def sizes_in_data(inputs: Mapping[str, Sequence[Size] | None]) -> tuple[dict[str, tuple[int, ...]], tuple[str, ...]]:
    """What the data of `sizes_from` says of a model's inputs (`DataSizes.of`); nothing where there is none."""
    sizes = _SIZES.get()
    return sizes.of(inputs) if sizes is not None else ({}, ())
