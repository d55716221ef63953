"""Checkpoints in TensorFlow's format for tests, written without it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transload.protobuf import varint
from transload_converters.tensorflow import messages_pb2 as messages
from transload_converters.tensorflow.checkpoint import Part, part_key
from transload_converters.tensorflow.crc32c import crc32c, masked

from tests.support.tensorflow_graphs import DTYPES, shape_proto


def write_checkpoint(
    prefix: Path, tensors: Mapping[str, np.ndarray | bytes], shards: int = 1, parts: Mapping[str, list[Part]] | None = None,
) -> None:
    """Write a checkpoint; tensor i lies in shard i modulo `shards`, those in `parts` are written in these parts. Bytes are a
    tensor of one text."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    data = [bytearray() for _ in range(shards)]
    entries: dict[bytes, Any] = {b"": messages.BundleHeaderProto(num_shards=shards, version={"producer": 1})}
    for number, (name, array) in enumerate(tensors.items()):
        said = (parts or {}).get(name)
        if said is None or isinstance(array, bytes):
            entries[name.encode()] = _entry(array, data, number % shards)
            continue
        whole = entries[name.encode()] = messages.BundleEntryProto(
            dtype=DTYPES[array.dtype.name], shape=shape_proto(array.shape))
        for part in said:
            extents = [messages.TensorSliceProto.Extent(start=start, length=length) for start, length in part]
            whole.slices.add().extent.extend(extents)
            place = tuple(slice(start, None if length is None else start + length) for start, length in part)
            entries[part_key(name, part)] = _entry(array[place], data, number % shards)
    for shard, content in enumerate(data):
        prefix.with_name(f"{prefix.name}.data-{shard:05d}-of-{shards:05d}").write_bytes(content)
    prefix.with_name(prefix.name + ".index").write_bytes(
        table({key: entry.SerializeToString() for key, entry in sorted(entries.items())}))


def _entry(array: np.ndarray | bytes, data: list[bytearray], shard: int) -> Any:
    if isinstance(array, bytes):
        length = len(array).to_bytes(4, "little")  # checksums are of lengths as numbers of four bytes
        rest, dtype, shape = masked(crc32c(length)).to_bytes(4, "little") + array, "str", ()
        content, checked = varint(len(array)) + rest, length + rest
    else:
        content, dtype, shape = np.ascontiguousarray(array).tobytes(), array.dtype.name, array.shape
        checked = content
    entry = messages.BundleEntryProto(
        dtype=DTYPES[dtype], shape=shape_proto(shape), shard_id=shard, offset=len(data[shard]),
        size=len(content), crc32c=masked(crc32c(checked)))
    data[shard] += content
    return entry


def table(entries: Mapping[bytes, bytes], compression: int = 0, handles: int = 1) -> bytes:
    """A sorted string table of one block, whose keys share prefixes, pointed to by so many handles."""
    made = bytearray()
    handle = _append(made, _block(entries), compression)
    index = _append(made, _block({b"~" * (1 + number): handle for number in range(handles)}), 0)
    meta = _append(made, _block({}), 0)
    return bytes(made) + (meta + index).ljust(40, b"\0") + (0xDB4775248B80FB57).to_bytes(8, "little")


def _append(made: bytearray, block: bytes, compression: int) -> bytes:
    handle = varint(len(made)) + varint(len(block))
    checked = block + bytes([compression])
    made += checked + masked(crc32c(checked)).to_bytes(4, "little")
    return handle


def _block(entries: Mapping[bytes, bytes]) -> bytes:
    made, last = bytearray(), b""
    for key, value in entries.items():
        shared = next((i for i, (a, b) in enumerate(zip(key, last, strict=False)) if a != b), min(len(key), len(last)))
        made += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    return bytes(made) + (0).to_bytes(4, "little") + (1).to_bytes(4, "little")
