"""Checkpoints: the index, the shards, their checksums."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from transload.errors import ReadError
from transload.ir import Dense
from transload_converters.tensorflow import sstable
from transload_converters.tensorflow.checkpoint import Checkpoint, part_key
from transload_converters.tensorflow.crc32c import crc32c
from transload_converters.tensorflow.sstable import table_of

from tests.support.checkpoints import table, write_checkpoint
from tests.support.tensorflow_graphs import DTYPES

W, V = np.arange(12, dtype=np.float32).reshape(4, 3), np.arange(5, dtype=np.int64)


def numbers(dense: object) -> np.ndarray:
    assert isinstance(dense, Dense)
    return dense.numpy()


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 4096, 70_001])
def test_checksums_are_those_of_the_plain_algorithm(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    assert crc32c(data) == register ^ 0xFFFFFFFF


def test_checksums_that_others_know() -> None:
    """RFC 3720 B.4, and a megabyte and more, which is cut into several chunks, by the plain algorithm."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(b"\xff" * ((1 << 20) + 512)) == 0x27FFC889


def test_tensors_of_several_shards_lie_in_the_files(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", {"w": W, "name/of/v": V, "name/of/w": W[0]}, shards=2)
    checkpoint = Checkpoint(tmp_path / "m")
    np.testing.assert_array_equal(numbers(checkpoint.read("w")), W)
    np.testing.assert_array_equal(numbers(checkpoint.read("name/of/v")), V)
    assert [path.name for path in checkpoint.files] == ["m.index", "m.data-00000-of-00002", "m.data-00001-of-00002"]
    with pytest.raises(ReadError, match="has no tensor 'x'"):
        checkpoint.read("x")


@pytest.mark.parametrize("number", [0, 20, 99])  # invalid, a resource, none
def test_elements_of_which_there_are_no_constants(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DTYPES, "float32", number)
    write_checkpoint(tmp_path / "m", {"w": W})
    with pytest.raises(ReadError, match=f"tensor 'w' has elements of type number {number}, of which there are no constants"):
        Checkpoint(tmp_path / "m").read("w")


def test_a_tensor_in_parts(tmp_path: Path) -> None:
    parts = [((0, 2), (0, None)), ((2, 2), (0, None))]
    write_checkpoint(tmp_path / "m", {"w": W}, parts={"w": parts})
    checkpoint = Checkpoint(tmp_path / "m")
    np.testing.assert_array_equal(numbers(checkpoint.read("w")), W)
    np.testing.assert_array_equal(numbers(checkpoint.read("w", parts[1])), W[2:])
    np.testing.assert_array_equal(numbers(checkpoint.read("w", ((1, 2), (1, 1)))), W[1:3, 1:2])


def test_keys_of_parts_are_those_that_tensorflow_writes() -> None:
    """As in a checkpoint of TensorFlow 2.18, of a variable [100, 200] in three parts."""
    assert part_key("s/w", ((34, 33), (0, None))) == b"\x00s/w\x00\x01\x01\x02\xa2\xa1\x80\x7f"
    assert part_key("s", ((0, 300),)) == b"\x00s\x00\x01\x01\x01\x80\xc1\x2c"


def test_blocks_that_snappy_compressed() -> None:
    """An element 'ab', and a copy of four bytes, one of which it makes itself."""
    block = b"\x00\x01\x04kvvvv" + (0).to_bytes(4, "little") + (1).to_bytes(4, "little")
    packed = bytes([len(block), (5 - 1) << 2]) + block[:5] + bytes([(3 - 1) << 2 | 2, 1, 0, (8 - 1) << 2]) + block[8:]
    plain = table({b"k": b"vvvv"})
    assert table_of(memoryview(plain)) == {b"k": b"vvvv"}
    from tests.support import checkpoints

    made = bytearray()
    handle = checkpoints._append(made, packed, 1)
    index = checkpoints._append(made, checkpoints._block({b"~": handle}), 0)
    data = bytes(made) + (b"\0\0" + index).ljust(40, b"\0") + plain[-8:]
    assert table_of(memoryview(data)) == {b"k": b"vvvv"}


def test_a_block_that_is_pointed_to_twice_is_read_once() -> None:
    """Else each handle of some bytes would unpack all of a block anew."""
    with pytest.raises(ReadError, match="its blocks overlap"):
        table_of(memoryview(table({b"a": b"1"}, handles=2)))


def test_keys_that_repeat_all_of_the_one_before_have_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry of seven bytes can hold a key as long as the longest one."""
    with pytest.raises(ValueError, match="a key of 65,537 bytes"):
        table_of(memoryview(table({b"k" * 65_537: b""})))
    entries = {b"k" * 1000 + bytes([number]): b"" for number in range(200)}
    assert table_of(memoryview(table(entries))) == entries
    monkeypatch.setattr(sstable, "_LARGEST", 100_000)
    with pytest.raises(ReadError, match="take more than 100,000 bytes"):
        table_of(memoryview(table(entries)))


def test_what_was_changed_on_the_disk_is_refused_when_it_is_read(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", {"w": W})
    shard = tmp_path / "m.data-00000-of-00001"
    data = bytearray(shard.read_bytes())
    data[7] ^= 1
    shard.write_bytes(data)
    dense = Checkpoint(tmp_path / "m").read("w")
    with pytest.raises(ReadError, match="its checksum does not fit"):
        numbers(dense)


def test_shards_that_are_missing_or_short(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", {"w": W})
    shard = tmp_path / "m.data-00000-of-00001"
    shard.write_bytes(shard.read_bytes()[:40])
    with pytest.raises(ReadError, match=r"lies at bytes 0 to 48 of m\.data-00000-of-00001, which has 40"):
        Checkpoint(tmp_path / "m").read("w")
    shard.unlink()
    with pytest.raises(ReadError, match="the checkpoint's data cannot be read"):
        Checkpoint(tmp_path / "m").read("w")
    os.mkfifo(shard)
    with pytest.raises(ReadError, match="is no plain file"):
        Checkpoint(tmp_path / "m").read("w")


def test_an_index_that_is_damaged_anywhere(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", {"w": W, "v": V}, parts={"w": [((0, 4), (0, 3))]})
    index = tmp_path / "m.index"
    data = index.read_bytes()
    random = np.random.default_rng(0)
    for trial in range(300):
        broken = bytearray(data)
        if trial % 3 == 0:
            del broken[random.integers(len(broken)):]
        else:
            broken[random.integers(len(broken))] ^= 1 << int(random.integers(8))
        index.write_bytes(broken)
        try:
            checkpoint = Checkpoint(tmp_path / "m")
            for name in checkpoint.entries:
                numbers(checkpoint.read(name))
        except ReadError:
            continue
    index.write_bytes(os.urandom(len(data)))
    with pytest.raises(ReadError, match="no index of a checkpoint"):
        Checkpoint(tmp_path / "m")


@pytest.mark.parametrize("name", ["m.index", "m.data-00000-of-00001"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    write_checkpoint(tmp_path / "m", {"w": W})
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(ReadError, match="is no plain file"):
        Checkpoint(tmp_path / "m").read("w")
