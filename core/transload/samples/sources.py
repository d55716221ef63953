"""Where samples come from: folders, lists, arrays, functions; each says what its samples are called and how one is read."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..apart import note_read
from ..arrays import as_array, open_array, read_arrays
from ..digits import whole_number
from ..errors import ReadError, UsageError
from ..files import exists, is_folder, need_file
from ..given import by_own_names
from ..guard import FOREIGN, goes_through, said, users_code, users_items
from ..ir import NONE, TensorType
from ..ir.constants import TensorData
from ..kinds import is_iterable
from ..lending import owned
from ..sizes_text import sizes_text
from .images import OTHERS, SUFFIXES

if TYPE_CHECKING:
    from .images import Decoding
    from .preprocess import Settled

__all__ = [
    "Entry", "ImagePart", "Kept", "Listing", "Part", "Stream", "Wanted", "entries_of", "filled", "find_source", "function_at",
    "same_but_ones",
]

ARRAYS = (".npy", ".npz")
PYTHON = "python:"
_LONGEST = 1 << 26
_LINE = 1 << 15  # letters of a line: paths are of 4,096 at most
"""Bytes of a list of samples."""


class Wanted(Protocol):
    """What the inputs of the model take."""

    @property
    def types(self) -> Mapping[str, TensorType]:
        """By name."""

    @property
    def initial(self) -> Mapping[str, np.ndarray]:
        """Of inputs that are states, what they are where a sample does not say it."""

    def settled(self, name: str) -> Settled:
        """How an image becomes what an input takes."""


class Part(Protocol):
    """What one input is given in one sample, not read yet."""

    def read(self, decoding: Decoding) -> Any:
        """It, or an array that is not unpacked before its shape is asked for (`TensorData`). Raises `ReadError`."""


@dataclass(frozen=True)
class Entry:
    """A sample that is not read yet."""

    name: str
    parts: Mapping[str, Part]


@dataclass(frozen=True)
class Listing:
    """Samples of which it is known how many there are."""

    length: int
    entry: Callable[[int], Entry]
    whole: bool = True
    """Whether these are all that there are in their folders: a list names some, and may leave out folders."""


@dataclass(frozen=True)
class Stream:
    """Samples of which it is not; `make` begins with the first again."""

    make: Callable[[], Iterable[Any]]
    name: str


# --- parts


@dataclass(frozen=True)
class ImagePart:
    """An image, as an array of the input's type."""

    path: Path
    settled: Settled

    def read(self, decoding: Decoding) -> np.ndarray:
        need_file(self.path)
        return self.settled.numbers(decoding.read(self.path, self.settled.pixels))


@dataclass(frozen=True)
class _ArrayFile:
    path: Path
    member: str = ""

    def read(self, decoding: Decoding) -> Any:
        if self.path.suffix.lower() == ".npy":
            return open_array(self.path)
        return _member(self.path, by_own_names(read_arrays(self.path), [self.member]), self.member)


@dataclass(frozen=True)
class _Row:
    rows: _Rows
    index: int

    def read(self, decoding: Decoding) -> np.ndarray:
        return self.rows.row(self.index)


@dataclass(frozen=True)
class _Given:
    """What is in memory already."""

    value: Any

    def read(self, decoding: Decoding) -> Any:
        return self.value


class _Rows:
    """An array whose first dimension counts samples, read when the first of them is: mapped, where its file is not packed.

    For an input that takes several at a time (a batch of 4) it may count the rows of all: each sample is the next 4 then.
    """

    def __init__(self, array: Any, name: str, input: str, type_: TensorType) -> None:
        self._array = array
        shape = tuple(array.shape)
        wanted = type_.static_shape if type_.is_static else _filled_by_rows(type_.shape, shape)
        self.one = shape == wanted and shape[:1] != (1,)
        self._batch = 0
        if self.one:
            self.count = 1
        elif shape and (same_but_ones(shape[1:], wanted)):
            self.count = shape[0]
        else:
            batched = bool(shape) and wanted[:1] > (1,) and same_but_ones(shape[1:], wanted[1:])
            if not batched or shape[0] % wanted[0]:
                raise UsageError(
                    f"{name}: samples of shape {shape[1:]} ({'x'.join(map(str, shape)) or 'a scalar'} in all) do not fit input "
                    f"{input!r}, which takes {taken(type_)}",
                    hint=f"it takes {wanted[0]} rows at a time: give a multiple of {wanted[0]} rows" if batched else
                    "the first dimension counts the samples")
            self._batch = wanted[0]
            self.count = shape[0] // self._batch

    def row(self, index: int) -> np.ndarray:
        if isinstance(self._array, TensorData) and not isinstance(self._array, np.ndarray):
            self._array = as_array(self._array)
        if self._batch:
            return self._array[index * self._batch : (index + 1) * self._batch]
        return self._array if self.one else self._array[index]


def same_but_ones(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether two shapes are the same but for dimensions of size 1."""
    return [size for size in shape if size != 1] == [size for size in wanted if size != 1]


def filled(wanted: Sequence[int | None], shape: Sequence[int]) -> tuple[int, ...] | None:
    """A shape that leaves sizes open, with those of an array, which may leave out fixed ones of 1; None where it does not fit."""
    for places in (range(len(wanted)), [place for place, size in enumerate(wanted) if size != 1]):
        if len(places) == len(shape) and all(wanted[place] in (None, size) for place, size in zip(places, shape, strict=True)):
            made = dict(zip(places, shape, strict=True))
            return tuple(made.get(place, 1) for place in range(len(wanted)))
    return None


def _filled_by_rows(wanted: Sequence[int | None] | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The same of an array whose first dimension counts samples, or the rows of them, or that is one; where none fits, fixed."""
    if wanted is None:
        return shape[1:]
    whole = filled(wanted, shape) if len(shape) == len(wanted) and shape[:1] != (1,) else None
    batched = filled(wanted, (*wanted[:1], *shape[1:])) if wanted and (wanted[0] or 0) > 1 else None  # type: ignore[arg-type]
    return whole or filled(wanted, shape[1:]) or batched or tuple(size or 1 for size in wanted)


def taken(type_: TensorType) -> str:
    """What an input takes, in words: of one whose element type is not known yet, the sizes."""
    return str(type_) if type_.element != NONE else sizes_text(type_.shape or ())


# --- sources


def find_source(source: Any, wanted: Wanted) -> Listing | Stream:
    """What is given as samples, or where it says they are. Raises `UsageError` for what is no source, and `ReadError`."""
    if isinstance(source, str) and source.startswith(PYTHON):
        return Stream(_function(source), source)
    if isinstance(source, str | os.PathLike):
        return _of_path(Path(source), wanted)
    if isinstance(source, np.ndarray):
        return _of_arrays({_only(wanted, "an array"): source}, "the array", wanted)
    if isinstance(source, Mapping):
        return _side_by_side(source, wanted)
    if isinstance(source, Sequence):
        return Listing(len(source), lambda index: entry_of(_at(source, index), f"sample {index + 1}", wanted))
    if hasattr(source, "__next__"):
        source = Kept(source)
    if isinstance(source, Kept):
        return Stream(source.__iter__, "the samples")
    if is_iterable(source):
        return Stream(lambda: users_items(source), "the samples")
    raise UsageError(
        f"samples are no {type(source).__name__}",
        hint=f"a folder, a list, .npy, .npz, {PYTHON}MODULE:FUNCTION, or dicts of arrays")


def entries_of(source: Listing | Stream, wanted: Wanted, count: int | None) -> Iterator[Entry]:
    """So many samples of a source, or all: evenly spread over those that there are, the first where that is not known."""
    if isinstance(source, Stream):
        entries = (entry_of(own(each), f"sample {number}", wanted) for number, each in enumerate(source.make(), 1))
        yield from islice(entries, count)
        return
    taken = min(source.length, count or source.length)
    for index in range(taken):
        yield source.entry(index * source.length // taken)


def entry_of(given: Any, name: str, wanted: Wanted) -> Entry:
    """A sample in memory: arrays by input name, one array for the only input, or one for each in order."""
    names = _asked(wanted)
    if isinstance(given, Mapping):
        missing = [each for each in names if each not in given]
        if missing:
            there = ", ".join(map(repr, given)) or "nothing"
            raise UsageError(f"{name} has no {', '.join(map(repr, missing))}", hint=f"it has {there}")
        return Entry(name, {each: _Given(given[each]) for each in wanted.types if each in given})
    values = given if isinstance(given, tuple) else (given,)
    names = list(wanted.types) if len(values) == len(wanted.types) else names
    if len(values) != len(names):
        raise UsageError(f"{name} has {len(values)} arrays, and the model {len(names)} inputs: {', '.join(names)}")
    return Entry(name, {each: _Given(value) for each, value in zip(names, values, strict=True)})


def _of_path(path: Path, wanted: Wanted) -> Listing:
    need_file(path)
    suffix = path.suffix.lower()
    if is_folder(path):
        return _of_folder(path, wanted)
    if suffix == ".npy":
        return _of_arrays({_only(wanted, str(path)): open_array(path)}, str(path), wanted)
    if suffix == ".npz":
        found = by_own_names(read_arrays(path), wanted.types)
        return _of_arrays({name: _member(path, found, name) for name in _needed(path, found, wanted)}, str(path), wanted)
    if suffix in (*SUFFIXES, *OTHERS):
        part = ImagePart(path, wanted.settled(_only(wanted, str(path))))
        return _listing([Entry(path.name, {part.settled.name: part})])
    return _of_list(path, wanted)


def _of_folder(folder: Path, wanted: Wanted) -> Listing:
    """All images in a folder and the folders in it, or all `.npy` and `.npz` files, a sample each; in natural order.

    Images that cannot be read are there, too, to be told of; beside arrays they are no samples.
    """
    found = _files(folder)
    arrays = [file for file in found if file.suffix.lower() in ARRAYS]
    images = [file for file in found if file.suffix.lower() in (SUFFIXES if arrays else (*SUFFIXES, *OTHERS))]
    if images and arrays:
        raise UsageError(
            f"{folder} holds {len(images)} images and {len(arrays)} .npy or .npz files: which are the samples?",
            hint="give a folder with one kind, or a list of files")
    if not images and not arrays:
        raise UsageError(f"{folder} holds no samples", hint=f"samples are files called {' '.join((*SUFFIXES, *ARRAYS))}")
    names = [str(file.relative_to(folder)) for file in images or arrays]
    if images:
        settled = wanted.settled(_only(wanted, f"{folder}, a folder of images"))
        return _listing([Entry(name, {settled.name: ImagePart(file, settled)}) for name, file in zip(names, images, strict=True)])
    if any(file.suffix.lower() == ".npy" for file in arrays):
        _only(wanted, f"{folder}, a folder of .npy files")
    return _listing([
        Entry(name, {each: _ArrayFile(file, each) for each in _asked(wanted)}) for name, file in zip(names, arrays, strict=True)])


def _files(folder: Path) -> list[Path]:
    """The files in a folder and its folders, but hidden ones, in natural order; links to folders are not followed."""
    found = []
    try:
        for place, folders, files in os.walk(folder, onerror=_raise):
            folders[:] = [name for name in folders if not name.startswith(".")]
            found += [Path(place, name) for name in files if not name.startswith(".")]
    except OSError as error:
        raise ReadError(f"{error.filename}: cannot be read: {error.strerror or error}") from None
    return sorted(found, key=lambda file: _natural(file.relative_to(folder)))


def _raise(error: OSError) -> None:
    raise error


def _natural(path: Path) -> list[Any]:
    """A key by which numbers in names sort as numbers: image2 before image10."""
    return [
        [(1, 0, text) if (number := whole_number(text)) is None else (0, number, "") for text in re.split(r"([0-9]+)", part)]
        + [(1, 0, part)] for part in path.parts]


def _of_list(path: Path, wanted: Wanted) -> Listing:
    """A sample a line: a file, or one for each input, in order, with commas between; paths are from the list's folder."""
    try:
        if path.stat().st_size > _LONGEST:
            raise ReadError(f"{path}: is too large for a list of samples")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ReadError(f"{path}: is no folder of samples, list of files, .npy, .npz or image")
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    long = next((number for number, line in lines if len(line) > _LINE), None)
    if long is not None:
        raise ReadError(f"{path}: line {long} has more than {_LINE:,} letters: is no list of files")
    entries = [_line(path, number, line, wanted) for number, line in lines if line and not line.startswith("#")]
    if not entries:
        raise UsageError(f"{path} lists no samples", hint="a sample a line: a file, or one for each input with commas between")
    return _listing(entries, whole=False)


def _line(path: Path, number: int, line: str, wanted: Wanted) -> Entry:
    names = _asked(wanted)
    line = _without_comment(path.parent, line, len(names) == 1)
    files = _files_said(line, len(names) == 1)
    if len(files) == 1 and files[0].lower().endswith(".npz"):
        files *= len(names)
    if len(files) != len(names):
        raise UsageError(
            f"{path}:{number}: {len(files)} file{'s' * (len(files) > 1)}, and the model has {len(names)} inputs: "
            f"{', '.join(names)}",
            hint="a file for each input, in this order, with commas between")
    return Entry(line, {name: _part(path.parent / file, name, wanted) for name, file in zip(names, files, strict=True)})


def _without_comment(folder: Path, line: str, single: bool) -> str:
    """A line without what stands behind ` #`, but for that of files that are called so."""
    cuts = [line, *(line[:mark.start()].rstrip() for mark in reversed([*re.finditer(r"\s#", line)]))]
    return next((cut for cut in cuts if all(exists(folder / file) for file in _files_said(cut, single))), cuts[-1])


def _files_said(line: str, single: bool) -> list[str]:
    return [line] if single else [part.strip() for part in line.split(",")]


def _part(file: Path, name: str, wanted: Wanted) -> Part:
    return _ArrayFile(file, name) if file.suffix.lower() in ARRAYS else ImagePart(file, wanted.settled(name))


def _of_arrays(arrays: Mapping[str, Any], name: str, wanted: Wanted) -> Listing:
    """Arrays by input name whose first dimension counts samples."""
    rows = {each: _Rows(array, name, each, wanted.types[each]) for each, array in arrays.items()}
    counts = {each: row.count for each, row in rows.items()}
    if len(set(counts.values())) > 1:
        raise UsageError(f"{name}: {_counted(counts)}", hint="each input needs as many")
    count = next(iter(counts.values()), 0)
    if not count:
        raise UsageError(f"{name} holds no samples")
    return Listing(count, lambda index: Entry(f"{name}[{index}]", {each: _Row(row, index) for each, row in rows.items()}))


def _side_by_side(sources: Mapping[str, Any], wanted: Wanted) -> Listing:
    """A source for each input: the first of all are the first sample."""
    sources = by_own_names(sources, wanted.types)
    unknown = [name for name in sources if name not in wanted.types]
    missing = [name for name in _asked(wanted) if name not in sources]
    if unknown or missing:
        what = "there is no input" if unknown else "there are no samples for"
        raise UsageError(f"{what} {', '.join(map(repr, unknown or missing))}", hint=f"inputs: {', '.join(wanted.types)}")
    columns = {}
    for name, source in sources.items():
        found = find_source(source, _One(wanted, name))
        if isinstance(found, Stream):
            raise UsageError(f"samples of input {name!r} come one by one, without those of others", hint="give dicts of arrays")
        columns[name] = found
    counts = {name: found.length for name, found in columns.items()}
    if len(set(counts.values())) > 1:
        raise UsageError(f"not as many samples for each input: {_counted(counts)}")

    def entry(index: int) -> Entry:
        entries = {name: found.entry(index) for name, found in columns.items()}
        parts = {name: each.parts[name] for name, each in entries.items()}
        return Entry(", ".join(each.name for each in entries.values()), parts)

    return Listing(next(iter(counts.values())), entry, all(found.whole for found in columns.values()))


class _One:
    """Of what is wanted, one input."""

    def __init__(self, wanted: Wanted, name: str) -> None:
        self.types = {name: wanted.types[name]}
        self.initial: dict[str, np.ndarray] = {}
        self.settled = wanted.settled


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} for {name!r}" for name, count in counts.items())


def _listing(entries: Sequence[Entry], whole: bool = True) -> Listing:
    note_read(*(part.path for entry in entries for part in entry.parts.values() if isinstance(part, ImagePart | _ArrayFile)))
    return Listing(len(entries), entries.__getitem__, whole)


def _only(wanted: Wanted, what: str) -> str:
    """The model's only input; `UsageError` where there are others, for it is not said for which `what` is."""
    asked = _asked(wanted)
    if len(asked) != 1:
        raise UsageError(
            f"{what}: for which input is it, of {', '.join(asked) or 'none'}?",
            hint="NAME=PATH for each input, a list with a file for each in a line, or an .npz with an array for each")
    return asked[0]


def _asked(wanted: Wanted) -> list[str]:
    """The inputs that each sample has to say: all but states."""
    return [name for name in wanted.types if name not in wanted.initial]


def _needed(path: Path, found: Mapping[str, Any], wanted: Wanted) -> list[str]:
    asked = _asked(wanted)
    for name in asked:
        _member(path, found, name, only=len(asked) == 1)
    return [name for name in wanted.types if name in asked or name in found]


def _member(path: Path, found: Mapping[str, Any], name: str, only: bool = True) -> Any:
    """The array of an archive that an input is given: the one called so, or its only one."""
    if name in found:
        return found[name]
    if len(found) == 1 and only:
        return next(iter(found.values()))
    raise UsageError(f"{path}: holds no array {name!r}", hint=f"it holds {', '.join(found) or 'nothing'}")


def own(sample: Any) -> Any:
    """A sample whose arrays nobody else writes into: a generator may fill one array again and again, and give it every time.

    What repeats a number is copied as that: nobody has asked yet whether it fits.
    """
    if isinstance(sample, Mapping):
        return {name: own(value) for name, value in sample.items()}
    return owned(np.asarray(sample)) if isinstance(sample, np.ndarray) and not _is_mapped(sample) else sample


def _is_mapped(array: np.ndarray) -> bool:
    """Whether an array lies in a file that is read alone, which nobody fills with other numbers; it may be beyond memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and base.mode == "r":
            return True
        base = base.base
    return False


def _at(source: Sequence[Any], index: int) -> Any:
    with users_code():
        return own(source[index])


class Kept:
    """What an iterator gives, which is kept as it comes, so that it can be gone through again."""

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator
        self._kept: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        place = 0
        while True:
            if place == len(self._kept):
                try:
                    with users_code():
                        self._kept.append(own(next(self._iterator)))
                except StopIteration:
                    return
            yield self._kept[place]
            place += 1


def function_at(source: str) -> Callable[..., Any]:
    """What `python:MODULE:FUNCTION` or `python:FILE.py:FUNCTION` names. Raises `UsageError` where there is no function."""
    where, colon, name = source.removeprefix(PYTHON).rpartition(":")
    if not colon or not where or not name:
        raise UsageError(f"{source!r} does not read as {PYTHON}MODULE:FUNCTION")
    try:
        found: Any = _module(where)
        for part in name.split("."):
            found = getattr(found, part)
    except FOREIGN as error:  # whatever the user's module raises, or ends by
        if goes_through(error) or isinstance(error, MemoryError):
            raise
        raise UsageError(f"{source}: cannot be imported: {said(error)}") from error
    if not callable(found):
        raise UsageError(f"{source}: is no function, but of type {type(found).__name__}")
    return found


def _function(source: str) -> Callable[[], Iterable[Any]]:
    """A function of the user's that gives samples; it is called for every pass over them."""
    found = function_at(source)

    def make() -> Iterable[Any]:
        try:
            made = found()
            if not is_iterable(made):
                raise UsageError(f"{source}: gives no samples, but an object of type {type(made).__name__}")
            yield from made
        except FOREIGN as error:  # whatever the user's function raises, or ends by
            if goes_through(error) or isinstance(error, GeneratorExit | MemoryError):  # who goes through them had enough
                raise
            raise UsageError(f"{source}: raised {said(error)}") from error

    return make


def _module(where: str) -> Any:
    if not where.endswith(".py"):
        with _current_folder_on_path():
            return importlib.import_module(where)
    file = Path(where)
    need_file(file)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _current_folder_on_path() -> Iterator[None]:
    """Have modules of the current folder found, as `python -m` does; behind all others."""
    here = str(Path.cwd())
    sys.path.append(here)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(here)
