"""CRC-32C (Castagnoli), computed by numpy: what checkpoints and record files of TensorFlow are checked by.

A checksum is linear over GF(2). So a content is cut into lanes of equal length, whose registers advance side by side, two bytes a
step, and are then joined pairwise: the left one of a pair is moved on by as many zeros as the right one is long.

Source: RFC 3720 appendix B.4; masking as in tensorflow/core/lib/hash/crc32c.h.
"""

from __future__ import annotations

from functools import cache

import numpy as np

__all__ = ["crc32c", "masked"]

_POLYNOMIAL = 0x82F63B78
_LANE = 256
"""Bytes of a lane, a power of two."""
_CHUNK = 1 << 20
"""Bytes that are cut into lanes at once: what their registers and current bytes take stays in the processor's cache."""
_MASK = 0xA282EAD8


def crc32c(data: memoryview | bytes) -> int:
    """The CRC-32C of some bytes."""
    array = np.frombuffer(data, np.uint8)
    register = 0xFFFFFFFF
    even = len(array) // _LANE * _LANE
    for start in range(0, even, _CHUNK):
        chunk = array[start:min(start + _CHUNK, even)]
        register = _shifted(register, len(chunk)) ^ _of_lanes(chunk)
    table = _byte_table()
    for byte in array[even:].tolist():
        register = int(table[(register ^ byte) & 0xFF]) ^ register >> 8
    return register ^ 0xFFFFFFFF


def masked(checksum: int) -> int:
    """A checksum as it stands in files, so that the checksum of bytes which hold checksums is none of those."""
    return ((checksum >> 15 | checksum << 17) + _MASK) & 0xFFFFFFFF


def _of_lanes(chunk: np.ndarray) -> int:
    """The register after some lanes, from zero."""
    words = np.ascontiguousarray(chunk.view("<u2").reshape(-1, _LANE // 2).T)
    registers = np.zeros(words.shape[1], np.uint32)
    table, low = _word_table(), np.empty(words.shape[1], np.uint16)
    for row in words:
        np.bitwise_xor(registers, row, out=low, casting="unsafe")
        registers >>= np.uint32(16)
        registers ^= table[low]
    length = _LANE
    while len(registers) > 1:
        if len(registers) % 2:  # a lane of zeros before the first changes nothing
            registers = np.concatenate((np.zeros(1, np.uint32), registers))
        registers = _apply(_zeros(length), registers[::2]) ^ registers[1::2]
        length *= 2
    return int(registers[0])


def _shifted(register: int, length: int) -> int:
    """A register after some zero bytes."""
    found = np.array([register], np.uint32)
    for bit in range(length.bit_length()):
        if length >> bit & 1:
            found = _apply(_zeros(1 << bit), found)
    return int(found[0])


def _apply(matrix: np.ndarray, registers: np.ndarray) -> np.ndarray:
    """A linear map, given by what it makes of each bit, on registers."""
    found = np.zeros_like(registers)
    for bit in range(32):
        found ^= matrix[bit] * (registers >> np.uint32(bit) & np.uint32(1))
    return found


@cache
def _zeros(length: int) -> np.ndarray:
    """What a power of two of zero bytes makes of each bit of a register."""
    if length == 1:
        bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
        found: np.ndarray = _byte_table()[bits & np.uint32(0xFF)] ^ bits >> np.uint32(8)
        return found
    half = _zeros(length // 2)
    return _apply(half, half)


@cache
def _byte_table() -> np.ndarray:
    """What becomes of a register by its lowest byte."""
    registers = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        registers = registers >> np.uint32(1) ^ np.uint32(_POLYNOMIAL) * (registers & np.uint32(1))
    return registers


@cache
def _word_table() -> np.ndarray:
    """The same by its lowest two bytes."""
    table, words = _byte_table(), np.arange(1 << 16, dtype=np.uint32)
    once = table[words & np.uint32(0xFF)] ^ words >> np.uint32(8)
    return np.asarray(table[once & np.uint32(0xFF)] ^ once >> np.uint32(8))
