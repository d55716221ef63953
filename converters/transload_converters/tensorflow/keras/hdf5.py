"""Reading HDF5 by `h5py`, in a process of its own (`isolated`): what is in a file, and where.

Numbers that lie in the file as they are stay there: their offset is told, and who asked maps them. Links to other files, data
in other files, and links by name are not followed: a file of weights has none.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

from transload.budget import text_fault
from transload.errors import ReadError

from .isolated import most_unpacked

__all__ = ["arrays", "outline"]

MAX_OBJECTS, MAX_DEPTH = 1_000_000, 64
_DEFLATE = 1100
"""What a byte may become when it is decompressed: zlib's most is 1,032."""


class _Window(io.RawIOBase):
    """A part of a file as a file."""

    def __init__(self, path: str, start: int, size: int) -> None:
        super().__init__()
        self._file, self._start, self._size, self._at = open(path, "rb"), start, size, 0  # noqa: SIM115, PTH123 - as long as it

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        count = max(0, min(len(view), self._size - self._at))
        self._file.seek(self._start + self._at)
        data = self._file.read(count)
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _open(source: Any, start: int, size: int) -> h5py.File:
    """The file at a path (of which it is `size` bytes from `start` on; 0: all), or in bytes."""
    try:
        if isinstance(source, bytes):
            return h5py.File(io.BytesIO(source), "r")
        return h5py.File(_Window(source, start, size), "r") if size else h5py.File(source, "r", locking=False)
    except OSError as error:
        raise ReadError(f"is no HDF5 file, or a damaged one: {str(error)[:200]}") from None


def outline(source: Any, start: int = 0, size: int = 0) -> dict[str, Any]:
    """What is in a file.

    `groups` are the attributes of each group by its path (texts, and lists of texts); `datasets` are, by path, the shape, the
    dtype's name, and the offset in the file, or -1 where the numbers have to be read (`arrays`); `others` are what is at paths
    where no numbers are that can be read. Texts are counted: a list of
    them may name one that lies in the file once, thousands of times.
    """
    with _open(source, start, size) as file:
        groups: dict[str, dict[str, Any]] = {}
        datasets: dict[str, list[Any]] = {}
        others: dict[str, str] = {}
        length, whole = 0, file.id.get_filesize()
        try:
            for path, found in _objects(file):
                if isinstance(found, h5py.Group):
                    groups[path] = _attributes(found)
                    length += sum(map(_length, groups[path].values()))
                    if text_fault(length, whole)[0]:
                        raise ReadError(f"its attributes have {length:,} characters, of which {whole:,} bytes are in the file")
                elif isinstance(found, h5py.Dataset) and (entry := _entry(found)) is not None:
                    datasets[path] = entry
                else:
                    others[path] = _what(found)
        except (RuntimeError, OSError, KeyError, ValueError, TypeError) as error:
            raise ReadError(f"is a damaged HDF5 file: {str(error)[:200]}") from None
        return {"groups": groups, "datasets": datasets, "others": others}


def arrays(source: Any, start: int, size: int, paths: list[str]) -> list[np.ndarray]:
    """The numbers of datasets that do not lie in the file as they are: in chunks, compressed, in another byte order."""
    with _open(source, start, size) as file:
        try:
            held = [file[path] for path in paths]
            packed, unpacked = sum(one.id.get_storage_size() for one in held), sum(one.nbytes for one in held)
            if unpacked > most_unpacked(packed):
                raise ReadError(f"its weights claim {unpacked:,} bytes, of which {packed:,} are in the file")
            return [np.asarray(_numbers(file[path]), order="C") for path in paths]
        except (RuntimeError, OSError, KeyError, ValueError, TypeError) as error:
            raise ReadError(f"its weights cannot be read: {str(error)[:200]}") from None


def _objects(file: h5py.File) -> Iterator[tuple[str, Any]]:
    """Groups and datasets by path, each once, and links that are not followed."""
    seen: set[Any] = set()
    waiting: list[tuple[str, Any, int]] = [("", file["/"], 0)]
    while waiting:
        path, found, depth = waiting.pop()
        address = h5py.h5o.get_info(found.id).addr
        if address in seen:
            continue
        seen.add(address)
        if len(seen) > MAX_OBJECTS or depth > MAX_DEPTH:
            raise ReadError(f"has more than {MAX_OBJECTS:,} groups and arrays, or {MAX_DEPTH} of them in each other")
        yield path, found
        if isinstance(found, h5py.Group):
            for name in found:
                link, place = found.get(name, getlink=True), f"{path}/{name}" if path else name
                if isinstance(link, h5py.HardLink):
                    waiting.append((place, found[name], depth + 1))
                else:
                    yield place, link


def _attributes(group: h5py.Group) -> dict[str, Any]:
    """The attributes of a group that are texts or lists of texts."""
    found: dict[str, Any] = {}
    for name in group.attrs:
        try:
            value = group.attrs[name]
        except (OSError, TypeError, ValueError, KeyError, RuntimeError):
            continue
        if isinstance(value, np.ndarray):
            if value.ndim == 1 and (value.dtype.kind in "SUO" or not value.size):
                found[name] = [_text(item) for item in value.tolist()]
        elif isinstance(value, bytes | str):
            found[name] = _text(value)
    return found


def _length(value: str | list[str]) -> int:
    return len(value) if isinstance(value, str) else sum(map(len, value))


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _entry(dataset: h5py.Dataset) -> list[Any] | None:
    """Shape, dtype and offset of a dataset; None where it holds no numbers, or none that are in this file."""
    if dataset.shape is None or dataset.is_virtual or dataset.external:
        return None
    dtype = _dtype(dataset)
    if dtype is None:
        return None
    size = math.prod(dataset.shape) * dataset.dtype.itemsize
    there = dataset.id.get_storage_size()
    if there * _DEFLATE < size:
        raise ReadError(f"array {dataset.name!r} claims {size:,} bytes, of which {there:,} are in the file")
    offset = dataset.id.get_offset()
    as_it_is = dataset.dtype.byteorder in "<=|" and dataset.dtype.kind != "b"
    plain = dataset.chunks is None and offset is not None and as_it_is
    return [list(dataset.shape), dtype, int(offset) if plain and size else -1]


def _what(found: Any) -> str:
    """What is no array of numbers in this file."""
    if isinstance(found, h5py.SoftLink | h5py.ExternalLink):
        return "a link, which is not followed"
    if not isinstance(found, h5py.Dataset):
        return "no array"
    if found.shape is None or found.is_virtual or found.external:
        return "an array whose numbers are not in it"
    return {"c": "of complex numbers", "O": "text", "S": "text"}.get(found.dtype.kind, f"of {str(found.dtype)[:60]}")


def _dtype(dataset: h5py.Dataset) -> str | None:
    if dataset.dtype.kind == "V" and dataset.dtype.itemsize == 2 and not dataset.dtype.names:
        return "bfloat16"  # Keras writes these as bytes of which HDF5 knows nothing
    name = dataset.dtype.newbyteorder("=").name
    return name if name in _NAMES else None


_NAMES = ("float16", "float32", "float64", "bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))


def _numbers(dataset: h5py.Dataset) -> np.ndarray:
    array = dataset[()]
    if array.dtype.kind == "V":
        import ml_dtypes

        return array.view(ml_dtypes.bfloat16)
    return np.asarray(array, array.dtype.newbyteorder("="))
