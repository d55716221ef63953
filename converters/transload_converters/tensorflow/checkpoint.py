"""TensorFlow's checkpoints: an index, which says of each tensor where it lies, and data shards, which are mapped.

Every tensor has a CRC-32C, which is checked when its numbers are first asked for, so that loading touches no weights.

Source: tensorflow/core/util/tensor_bundle (tensor_bundle.proto, naming.cc), and tensorflow/core/util/saved_tensor_slice_util.cc
for parts of tensors.
"""

from __future__ import annotations

import math
import mmap
from pathlib import Path
from typing import Any

import numpy as np

from transload.apart import note_read
from transload.errors import ReadError
from transload.ir import Dense, LazyData, TensorType, dtype_of
from transload.protobuf import read_varint

from .crc32c import crc32c, masked
from .sstable import table_of
from .tensors import MAX_RANK, Strings, stored_element
from .types import STRING, element_of

__all__ = ["Checkpoint", "Part"]

_LITTLE = 0
_DAMAGED = "the file is damaged, or was cut short"
Part = tuple[tuple[int, int | None], ...]
"""Of each dimension where a part of a tensor begins, and how long it is; None: all of it."""


class Checkpoint:
    """The tensors of a checkpoint by name. `prefix` is its path without `.index`.

    Raises `ReadError` for an index that is not valid, or shards that are not there or too short.
    """

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self.index = prefix.with_name(prefix.name + ".index")
        self._shards: dict[int, memoryview] = {}
        self.entries: dict[str, Any] = {}
        """`BundleEntryProto`s by name of the tensor."""
        self._parts: dict[bytes, Any] = {}
        self._read_index()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were read so far."""
        return (self.index, *map(self._shard_path, sorted(self._shards)))

    def read(self, name: str, part: Part | None = None) -> Dense | Strings:
        """A tensor, or a part of one; `ReadError` where it is not there, or its entry is not valid."""
        entry = self.entries.get(name)
        if entry is None:
            raise ReadError(f"{self.index}: has no tensor {name!r}", hint="the checkpoint does not belong to the graph")
        if entry.slices:
            return self._of_parts(name, entry, part)
        return _cut(self._whole(name, entry), part)

    def text(self, name: str) -> bytes | None:
        """The one text that a tensor is, as it lies in the file; None where there is no such tensor, or it is another."""
        entry = self.entries.get(name)
        if entry is None or entry.slices or element_of(entry.dtype) != STRING or math.prod(self._shape(name, entry)) != 1:
            return None
        return _texts(self._content(name, entry), 1, f"{self.index}: tensor {name!r}")[0]

    def _of_parts(self, name: str, entry: Any, part: Part | None) -> Dense | Strings:
        """A tensor that was saved in parts: one of them as it is, or what is asked for of all put together."""
        shape = self._shape(name, entry)
        parts = [tuple((extent.start, extent.length if extent.HasField("length") else None) for extent in each.extent)
                 for each in entry.slices]
        held = {_extents(each, shape): self._parts.get(part_key(name, each)) for each in parts}
        if any(len(each) != len(shape) for each in parts) or None in held.values():
            raise self._error(name, "is in parts, and not all of them are there")
        tensors = {each: self._whole(name, of_part) for each, of_part in held.items()}
        if any(tensor.shape != tuple(end - start for start, end in each) for each, tensor in tensors.items()):
            raise self._error(name, "has a part of another shape than it says")
        if part is not None and _extents(part, shape) in tensors:
            return tensors[_extents(part, shape)]
        element = stored_element(element_of(entry.dtype) or STRING)
        if element == STRING or sum(math.prod(tensor.shape) for tensor in tensors.values()) != math.prod(shape):
            raise self._error(name, "is in parts that do not make it up")

        def joined() -> np.ndarray:
            made = np.empty(shape, dtype_of(element))
            for each, tensor in tensors.items():
                made[tuple(slice(*extent) for extent in each)] = tensor.numpy()  # type: ignore[union-attr]
            return made

        return _cut(Dense(LazyData(joined, shape, dtype_of(element)), TensorType(shape, element)), part)

    def _whole(self, name: str, entry: Any) -> Dense | Strings:
        shape, element = self._shape(name, entry), element_of(entry.dtype)
        content = self._content(name, entry)
        if element == STRING:
            texts = _texts(content, math.prod(shape), f"{self.index}: tensor {name!r}")
            return Strings([text.decode("utf-8", "backslashreplace") for text in texts], shape)
        try:
            dtype = dtype_of(stored_element(element)) if element is not None else None
        except ValueError:
            dtype = None
        if element is None or dtype is None:
            raise self._error(name, f"has elements of type number {entry.dtype}, of which there are no constants")
        if math.prod(shape) * dtype.itemsize != len(content):
            raise self._error(name, f"is of shape {list(shape)} and {dtype}, but has {len(content):,} bytes")

        raw = np.frombuffer(content, np.uint8)

        def checked() -> np.ndarray:
            if masked(crc32c(content)) != entry.crc32c:
                raise self._error(name, "is not what was written: its checksum does not fit")
            return raw.view(dtype).reshape(shape)

        return Dense(LazyData(checked, shape, dtype, of=raw), TensorType(shape, stored_element(element)))

    def _shape(self, name: str, entry: Any) -> tuple[int, ...]:
        shape = tuple(dim.size for dim in entry.shape.dim)
        if entry.shape.unknown_rank or any(size < 0 for size in shape) or len(shape) > MAX_RANK:
            raise self._error(name, f"claims the shape {list(shape)[:8]}")
        return shape

    def _error(self, name: str, why: str) -> ReadError:
        return ReadError(f"{self.index}: tensor {name!r} {why}", hint=_DAMAGED)

    # --- shards

    def _content(self, name: str, entry: Any) -> memoryview:
        """The bytes of an entry, where they lie in the mapped shard."""
        if not 0 <= entry.shard_id < self.n_shards:
            raise self._error(name, f"lies in shard {entry.shard_id}, and there are {self.n_shards}")
        shard = self._shard(entry.shard_id)
        if entry.offset < 0 or entry.size < 0 or entry.offset + entry.size > len(shard):
            raise self._error(
                name, f"lies at bytes {entry.offset:,} to {entry.offset + entry.size:,} of "
                f"{self._shard_path(entry.shard_id).name}, which has {len(shard):,}")
        return shard[entry.offset:entry.offset + entry.size]

    def _shard_path(self, number: int) -> Path:
        return self.prefix.with_name(f"{self.prefix.name}.data-{number:05d}-of-{self.n_shards:05d}")

    def _shard(self, number: int) -> memoryview:
        found = self._shards.get(number)
        if found is None:
            found = self._shards[number] = _mapped(self._shard_path(number), "the checkpoint's data")
        return found

    # --- the index

    def _read_index(self) -> None:
        from google.protobuf.message import DecodeError

        from .messages_pb2 import BundleEntryProto, BundleHeaderProto

        data = _mapped(self.index, "the checkpoint's index")
        try:
            entries = table_of(data)
            header = BundleHeaderProto.FromString(entries.pop(b""))
            for key, value in entries.items():
                entry = BundleEntryProto.FromString(value)
                if key.startswith(b"\0"):
                    self._parts[key] = entry
                else:
                    self.entries[key.decode()] = entry
        except ReadError as error:
            raise ReadError(f"{self.index}: {error.message}", hint=error.hint) from None
        except (IndexError, KeyError, ValueError, DecodeError, UnicodeDecodeError) as error:
            raise ReadError(f"{self.index}: is no index of a checkpoint: {str(error)[:100]}", hint=_DAMAGED) from None
        self.n_shards = header.num_shards
        if header.endianness != _LITTLE:
            raise ReadError(f"{self.index}: its numbers are big-endian", hint="save the checkpoint on a common computer")
        if not 0 < self.n_shards < 100000:
            raise ReadError(f"{self.index}: says that there are {self.n_shards:,} shards", hint=_DAMAGED)


def _extents(part: Part, shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Where a part begins and ends in each dimension."""
    return tuple((start, size if length is None else start + length) for (start, length), size in zip(part, shape, strict=False))


def _cut(tensor: Dense | Strings, part: Part | None) -> Dense | Strings:
    """A part of a tensor; all of it where no part is given."""
    if part is None or isinstance(tensor, Strings):
        return tensor
    place = tuple(slice(*extent) for extent in _extents(part, tensor.shape))
    shape = tuple(len(range(*each.indices(size))) for each, size in zip(place, tensor.shape, strict=False))
    return Dense(LazyData(lambda: tensor.numpy()[place], shape, tensor.data.dtype), TensorType(shape, tensor.type.element))


def _mapped(path: Path, what: str) -> memoryview:
    """The content of a file; never of a pipe, which would be waited for."""
    try:
        if path.exists() and not path.is_file():
            raise ReadError(f"{path}: {what} is no plain file", hint="index and shards must lie in one folder")
        note_read(path)
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except ValueError:  # an empty file cannot be mapped
        return memoryview(b"")
    except OSError as error:
        raise ReadError(
            f"{path}: {what} cannot be read: {error.strerror or error}", hint="index and shards must lie in one folder") from None


def _texts(content: memoryview, count: int, what: str) -> list[bytes]:
    """A tensor of strings: their lengths as varints, a checksum of the lengths, then the texts."""
    try:
        lengths, at = [], 0
        for _ in range(min(count, len(content) + 1)):
            length, at = read_varint(content, at)
            lengths.append(length)
    except (IndexError, ValueError):
        raise ReadError(f"{what} has fewer texts than its shape says", hint=_DAMAGED) from None
    at += 4
    if at + sum(lengths) != len(content) or len(lengths) != count:
        raise ReadError(f"{what} has other lengths than its texts", hint=_DAMAGED)
    texts = []
    for length in lengths:
        texts.append(bytes(content[at:at + length]))
        at += length
    return texts


def part_key(name: str, part: Part) -> bytes:
    """The key of a part of a tensor, in the encoding that keeps order: a zero, the name, the rank, and each extent."""
    key = _ordered_number(0) + name.encode().replace(b"\xff", b"\xff\0").replace(b"\0", b"\0\xff") + b"\0\1"
    key += _ordered_number(len(part))
    for start, length in part:
        key += _signed(start) + _signed(-1 if length is None else length)
    return key


def _ordered_number(value: int) -> bytes:
    """A number that is not negative: how many bytes it takes, and these, the highest first."""
    digits = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes((len(digits),)) + digits


def _signed(value: int) -> bytes:
    """A number with a sign: the more leading ones (of a negative one, zeros), the more bytes follow."""
    magnitude = ~value if value < 0 else value
    length = magnitude.bit_length() // 7 + 1  # of n bytes, n bits say how many there are, and one is the sign
    if length > 8:
        raise ValueError(f"{value} is no extent of a tensor")
    header = ((1 << length) - 1) << 8 * length - length
    return ((header | magnitude) ^ (((1 << 8 * length) - 1) if value < 0 else 0)).to_bytes(length, "big")
