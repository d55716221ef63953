"""`open_samples`: samples from wherever they are, one after the other, as often as somebody goes through them.

    samples = transload.open_samples("images/", module, count=100)
    for sample in samples:                     # {"input": array}, of the shape and type that the model takes
        ...
    for name, sample in samples.named():       # with the image's path
        ...

Only a few samples are in memory at a time, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ..arrays import as_array, lost_numbers
from ..cores import workers_or_cores
from ..errors import ReadError, UsageError
from ..escapes import escaped
from ..ir import FloatType, Module, QuantType, TensorType, dtype_of, initial_states
from ..ir.borders import input_limits
from ..ir.constants import TensorData
from ..kinds import FLAG, MAPPING, MODULE, PREPROCESS, SAMPLES, WHOLE, Kind, takes
from ..lending import read_only
from ..shell import quoted
from .images import Decoding, image_sizes
from .preprocess import Preprocess, Settled, joined, need_images
from .sources import Entry, ImagePart, Listing, Part, Stream, entries_of, find_source, same_but_ones

__all__ = ["Data", "Samples", "open_samples"]

_INPUTS = Kind("a module, or the types of its inputs,", lambda value: MODULE.fits(value) or MAPPING.fits(value))
_NAMED = 3
"""Of damaged samples, how many a note names."""


@dataclass(frozen=True)
class Data:
    """Where samples are, for who knows the model's inputs later: the arguments of `open_samples`."""

    source: Any
    count: int | None = None
    skip_damaged: bool = False
    workers: int | None = None
    first: str = ""
    """The sample that said the sizes which a model leaves open."""

    def open(
        self, inputs: Module | Mapping[str, TensorType], preprocess: Preprocess | None = None,
        limits: Mapping[str, tuple[float, float]] | None = None,
    ) -> Samples:
        """The samples for a model. `preprocess`, which may be that beside an artifact, is for images, where there are some."""
        return _opened(self, inputs, preprocess, limits)


@takes(
    source=SAMPLES, inputs=_INPUTS, preprocess=PREPROCESS, count=WHOLE, skip_damaged=FLAG, workers=WHOLE, limits=MAPPING)
def open_samples(
    source: Any, inputs: Module | Mapping[str, TensorType], *, preprocess: Preprocess | None = None, count: int | None = None,
    skip_damaged: bool = False, workers: int | None = None, limits: Mapping[str, tuple[float, float]] | None = None,
) -> Samples:
    """What a model is to be given many times, as dicts of arrays by input name, of the inputs' shapes and types.

    `source` is one of

    - a folder: all images in it and in its folders, or all `.npy` or `.npz` files, one sample each, in natural order of their
      paths (`2.png` before `10.png`);
    - a list: a text file with a sample a line, a file for each input with commas between, relative to the list;
    - an `.npy`, or an `.npz` with an array an input: the first dimension counts the samples; an image: one sample;
    - `python:module:function` (or `python:file.py:function`), which gives an iterable of samples whenever it is called;
    - any iterable of dicts of arrays, or of arrays where there is one input; an iterator's samples are kept;
    - a mapping with one of these for each input.

    `inputs` is the model, or the types of its inputs. A state of the model that a sample does not say is what it is at first.
    `preprocess` says how images become arrays. `count` is how many samples
    are taken: evenly spread over those that there are, and the first where that is not known. A file that cannot be read
    raises `ReadError`, or with `skip_damaged` is left out (`Samples.skipped`). `workers` processes decode images. `limits`
    are the numbers that 0 and 255 of an image become, by input, where `preprocess` does not say it.

    Raises `UsageError` where there is no sample, or what is given does not fit the inputs, and says which sample and why; and
    where `preprocess` is given, and no image.
    """
    samples = _opened(Data(source, count, skip_damaged, workers), inputs, preprocess, limits)
    if preprocess is not None:
        need_images(bool(samples.images))
    return samples


def _opened(
    data: Data, inputs: Module | Mapping[str, TensorType], preprocess: Preprocess | None,
    limits: Mapping[str, tuple[float, float]] | None,
) -> Samples:
    source, count, workers = data.source, data.count, data.workers
    if count is not None and count < 1:
        raise UsageError(f"{count} samples are asked for; 1 is the least")
    decoding = workers_or_cores(workers, 8)
    if isinstance(source, Samples):
        count = source._count if count is None else count
        source = list(islice(source, count))
    wanted = _Inputs(inputs, preprocess or Preprocess(), limits or {}, data.first)
    return Samples(find_source(source, wanted), wanted, count, data.skip_damaged, decoding)


class _Inputs:
    """The types of the inputs, and what becomes of images for each."""

    def __init__(
        self, inputs: Module | Mapping[str, TensorType], preprocess: Preprocess, limits: Mapping[str, tuple[float, float]],
        first: str = "",
    ) -> None:
        self.first = first
        self.preprocess = preprocess
        types = inputs.inputs if isinstance(inputs, Module) else inputs
        self.limits = {**(input_limits(inputs.main) if isinstance(inputs, Module) else {}), **limits}
        self.initial = initial_states(inputs) if isinstance(inputs, Module) else {}
        self.types: dict[str, TensorType] = {}
        for name, type_ in types.items():
            if not isinstance(type_, TensorType) or not type_.is_static:
                raise UsageError(
                    f"input {name!r} takes {type_}, and samples need a shape", hint=f"--shape {quoted(name + ':SIZES')}")
            self.types[name] = type_
        preprocess.need_inputs(types)
        self._settled: dict[str, Settled] = {}

    def with_states(self, initial: Mapping[str, np.ndarray], types: Mapping[str, Any]) -> _Inputs:
        """These and states beside them, with what they are at first."""
        made = copy(self)
        made.initial = {**self.initial, **initial}
        made.types = {**self.types, **{name: types[name] for name in initial}}
        return made

    def settled(self, name: str) -> Settled:
        """How an image becomes what an input takes. Raises `UsageError` where it takes none."""
        if name not in self._settled:
            self._settled[name] = self.preprocess.settled(name, self.types[name], self.limits.get(name))
        return self._settled[name]

    @property
    def as_said(self) -> str:
        """Whose sizes these are, in words, where the model leaves some open."""
        return f", as {self.first} has it" if self.first else ""

    @property
    def images(self) -> dict[str, Settled]:
        """Of the inputs that were given images, how these became arrays."""
        return dict(self._settled)


class Samples:
    """Samples that can be gone through again and again: an iterable of `{input name: array}`; see `open_samples`.

    `len()` is how many there are, where that is known, without those that turned out to be damaged and were left out.
    """

    def __init__(
        self, source: Listing | Stream, inputs: _Inputs, count: int | None, skip_damaged: bool, workers: int,
    ) -> None:
        self._source = source
        self._inputs = inputs
        self._count = count
        self._skips = skip_damaged
        self._workers = workers
        self._damaged: dict[str, str] = {}
        self.integers: dict[str, np.dtype] = {}
        """Of the inputs that were given arrays of integers so far, of which type."""
        self.watch: Callable[[int], None] | None = None
        """Is told how many samples of a pass were given, as it goes."""
        self._is_lent = False
        self._places: dict[str, int] | None = None

    def __repr__(self) -> str:
        known = self.known_length
        count = "samples, nobody knows how many," if known is None else "1 sample" if known == 1 else f"{known:,} samples"
        return escaped(f"<{count} of {', '.join(f'{name}: {type_}' for name, type_ in self.types.items())}>")

    @property
    def skipped(self) -> dict[str, str]:
        """The samples that were left out so far, as they are damaged, by name, with the reason."""
        return dict(self._damaged)

    @property
    def left_out(self) -> list[str]:
        """A note of these, where there are some."""
        names = [escaped(name) for name in list(self._damaged)[:_NAMED]]
        more = f" and {len(self._damaged) - _NAMED} more" if len(self._damaged) > _NAMED else ""
        return [f"damaged, and left out: {', '.join(names)}{more}"] if names else []

    @property
    def images(self) -> dict[str, Settled]:
        """How images become arrays, by the inputs that are given some; in words as text."""
        return self._inputs.images

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """What 0 and 255 of an image become where the preprocessing does not say it, by input, as far as that is known."""
        return dict(self._inputs.limits)

    @property
    def preprocess(self) -> Preprocess | None:
        """The preprocessing with all that was left open said; None where there are no images."""
        return joined(self.images.values())

    @property
    def rows(self) -> int:
        """How many there are in a sample that is a batch: the first size, where all inputs have the same."""
        sizes = {type_.static_shape[0] if type_.static_shape else 1 for type_ in self.types.values()}
        return sizes.pop() if len(sizes) == 1 else 1

    @property
    def known_length(self) -> int | None:
        """How many samples there are, where that is known."""
        return None if isinstance(self._source, Stream) else len(self)

    def some(self, most: int) -> Samples:
        """So many of them or fewer, evenly spread; the first, where how many there are is not known."""
        made = Samples(self._source, self._inputs, min(most, self._count or most), self._skips, 1)
        made._is_lent = self._is_lent
        return made

    def at_most(self, most: int) -> Samples:
        """All that were asked for; where nobody said how many, `most`, evenly spread. What is damaged there is so here."""
        if self._count is not None:
            return self
        made = self.some(most)
        made.watch, made._damaged = self.watch, self._damaged
        return made

    def lent(self) -> Samples:
        """The same for somebody else's code, which may not write into them: what an iterator gave is gone through again."""
        made = copy(self)
        made._is_lent = True
        return made

    def with_states(self, module: Module) -> Samples:
        """The same for a module that has states beside these inputs, which each sample finds as they are at first."""
        initial = {name: array for name, array in initial_states(module).items() if name not in self._inputs.types}
        if not initial:
            return self
        made = Samples(self._source, self._inputs.with_states(initial, module.inputs), self._count, self._skips, self._workers)
        made._damaged, made.integers, made.watch, made._is_lent = self._damaged, self.integers, self.watch, self._is_lent
        return made

    @property
    def types(self) -> dict[str, TensorType]:
        """The types of the inputs that samples are for."""
        return dict(self._inputs.types)

    @property
    def names(self) -> list[str]:
        """The names of all samples that the source has, in order, whether they are taken or not. `UsageError` of a stream."""
        source = self._source
        if isinstance(source, Stream):
            raise UsageError(
                f"{source.name}: its samples come one after the other, and which ones is not known before",
                hint="labels are of a folder, a list, or an .npy or .npz with all; agreement, equal, sqnr, cos, euclid need none")
        return [source.entry(index).name for index in range(source.length)]

    def picture_sizes(self, sample: str, name: str) -> tuple[int, int] | None:
        """The rows and columns of the image that a sample has for an input, as it is upright; None where it has none."""
        source = self._source
        if isinstance(source, Stream):
            return None
        if self._places is None:
            self._places = {each: place for place, each in enumerate(self.names)}
        place = self._places.get(sample)
        part = source.entry(place).parts.get(name) if place is not None else None
        return image_sizes(part.path) if isinstance(part, ImagePart) else None

    @property
    def folders_are_all(self) -> bool:
        """Whether the folders in the samples' names are all that there are, which those of a list may not be."""
        return not isinstance(self._source, Stream) and self._source.whole

    def __len__(self) -> int:
        if isinstance(self._source, Stream):
            raise TypeError("how many samples there are is not known before they have been gone through")
        return min(self._source.length, self._count or self._source.length) - len(self._damaged)

    def __bool__(self) -> bool:
        return isinstance(self._source, Stream) or len(self) > 0

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        for _, sample in self.named():
            yield sample

    def named(self) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
        """The samples with their names: the path of an image in its folder, the line of a list, `x.npy[3]`, `sample 4`."""
        given = 0
        with Decoding(self._workers) as decoding:
            for entry, sample in decoding.each(self._entries(), lambda entry: self._read(entry, decoding)):
                if isinstance(sample, ReadError):
                    self._leave_out(entry, sample)
                    continue
                given += 1
                if self.watch is not None:
                    self.watch(given)
                yield entry.name, read_only(sample) if self._is_lent else sample
        if not given:
            raise UsageError("there are no samples" + (
                f": all {len(self._damaged)} are damaged, {next(iter(self._damaged.values()))}" if self._damaged else ""))

    def _entries(self) -> Iterator[Entry]:
        for entry in entries_of(self._source, self._inputs, self._count):
            if entry.name not in self._damaged:
                yield entry

    def _leave_out(self, entry: Entry, error: ReadError) -> None:
        if not self._skips:
            hint = error.hint or "--skip-damaged leaves out what cannot be read"
            raise ReadError(error.message, error.findings, hint) from None
        self._damaged[entry.name] = error.message

    def _read(self, entry: Entry, decoding: Decoding) -> tuple[Entry, dict[str, np.ndarray] | ReadError]:
        """An entry with its sample, or with the error that says why it cannot be read."""
        try:
            read = {name: self._fitted(entry.name, name, part, part.read(decoding)) for name, part in entry.parts.items()}
            return entry, {name: read[name] if name in read else self._inputs.initial[name] for name in self._inputs.types}
        except ReadError as error:
            return entry, error

    def _fitted(self, sample: str, name: str, part: Part, given: Any) -> np.ndarray:
        """An array as the input takes it. `UsageError` where it does not fit, or holds NaN or infinity."""
        type_ = self._inputs.types[name]
        try:
            dtype_of(type_.element)
        except ValueError:
            raise UsageError(f"{sample}: input {name!r} takes {type_}, of which samples have no numbers") from None
        try:
            array = given if isinstance(given, TensorData) else np.asarray(given)
        except (ValueError, TypeError) as error:
            raise UsageError(f"{sample}: what input {name!r} is given is no array: {error}") from None
        if array.dtype.kind in "iu" and not isinstance(part, ImagePart):
            self.integers[name] = array.dtype
        if not same_but_ones(array.shape, type_.static_shape):
            raise UsageError(
                f"{sample}: input {name!r} is given an array of shape {array.shape}, and takes {type_}{self._inputs.as_said}",
                hint=_hint_of_batch(array.shape, type_.static_shape))
        array = as_array(array)
        cast = _cast(array, type_)
        if cast is None:
            wanted, hint = dtype_of(type_.element), _hint_of_steps(array, type_)
            lost = "" if hint else _lost(array, wanted)
            raise UsageError(f"{sample}: input {name!r} is given {array.dtype}, and takes {wanted} ({type_}){lost}", hint=hint)
        if isinstance(type_.element, FloatType) and not np.isfinite(cast).all():
            what = "NaN" if np.isnan(cast).any() else "infinity"
            made = "pixels become that by (x - mean) * scale" if isinstance(part, ImagePart) else ""
            raise UsageError(f"{sample}: what input {name!r} is given holds {what}", hint=made)
        return cast.reshape(type_.static_shape)


def _hint_of_batch(given: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """What to do where a sample has several of what an input takes one of; nothing where that is not what is wrong."""
    if wanted[:1] != (1,) or given[1:] != wanted[1:] or given[0] < 1:
        return ""
    return f"--batch {given[0]}, where the model leaves the size of its batch open; else one of them a sample"


def _hint_of_steps(array: np.ndarray, type_: TensorType) -> str:
    """What to give in place of real numbers where an input takes integers that stand for them; nothing of other types."""
    element = type_.element
    if array.dtype.kind != "f" or not isinstance(element, QuantType) or element.count != 1:
        return ""
    zero = element.zero_points[0]
    moved = f" {'-' if zero < 0 else '+'} {abs(zero)}" if zero else ""
    return (f"the model is quantized, and samples are what it takes: the stored {dtype_of(element)}, of a number x "
            f"round(x / {element.scales[0]:g}){moved}; of a folder of images they are made")


def _lost(array: np.ndarray, wanted: np.dtype) -> str:
    """The first number of an array that a type of integers or truths does not have, in words; nothing where that is not why."""
    if array.dtype.kind not in "biuf" or wanted.kind not in "biu":
        return ""
    with np.errstate(invalid="ignore"):
        lost = array[lost_numbers(array, array.astype(wanted))]
    return f", which does not have {lost[0]}" if lost.size else ""


def _cast(array: np.ndarray, type_: TensorType) -> np.ndarray | None:
    """An array in the element type of an input; None where that does not have its numbers."""
    wanted = dtype_of(type_.element)
    if array.dtype == wanted:
        return np.asarray(array)
    if array.dtype.kind not in "biuf" and array.dtype.name not in ("bfloat16",):
        return None
    if isinstance(type_.element, FloatType):
        with np.errstate(over="ignore"):
            return array.astype(wanted)
    if isinstance(type_.element, QuantType) and array.dtype.kind == "f":
        return None
    with np.errstate(invalid="ignore"):
        cast = array.astype(wanted)
    return None if lost_numbers(array, cast).any() else cast
