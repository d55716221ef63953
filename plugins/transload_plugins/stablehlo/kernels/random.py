"""Random numbers: Threefry 2x32 and Philox 4x32 (Salmon et al., SC 2011), with the bits in the order that XLA gives them.

`rng` is left to the implementation by the specification; here it is numpy's generator, seeded by the operands.
"""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING

import numpy as np

from transload.errors import RunError
from transload.ir.constants import dtype_of

from .table import Array, convert_bits, fit, is_float_dtype, kernel

if TYPE_CHECKING:
    from ..dialect.numeric import Rng, RngBitGenerator

Words = tuple[Array, ...]
_MASK = np.uint64(0xFFFFFFFF)


def _split(numbers: Array) -> tuple[Array, Array]:
    """64-bit numbers as their low and high halves."""
    numbers = np.asarray(numbers, np.uint64)
    return (numbers & _MASK).astype(np.uint32), (numbers >> np.uint64(32)).astype(np.uint32)


def _join(low: Array, high: Array) -> Array:
    return low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))


def threefry(key: Words, counter: Words) -> Words:
    """Threefry 2x32 of 20 rounds."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA))
    rotations = ((13, 15, 26, 6), (17, 29, 16, 24))
    x0, x1 = counter[0] + schedule[0], counter[1] + schedule[1]
    for step in range(5):
        for rotation in rotations[step % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation))
            x1 = x1 ^ x0
        x0 = x0 + schedule[(step + 1) % 3]
        x1 = x1 + schedule[(step + 2) % 3] + np.uint32(step + 1)
    return x0, x1


def philox(key: Words, counter: Words) -> Words:
    """Philox 4x32 of 10 rounds."""
    k0, k1 = key
    x0, x1, x2, x3 = counter
    for _ in range(10):
        low0, high0 = _split(x0.astype(np.uint64) * np.uint64(0xD2511F53))
        low1, high1 = _split(x2.astype(np.uint64) * np.uint64(0xCD9E8D57))
        x0, x1, x2, x3 = high1 ^ x1 ^ k0, low1, high0 ^ x3 ^ k1, low0
        k0, k1 = k0 + np.uint32(0x9E3779B9), k1 + np.uint32(0xBB67AE85)
    return x0, x1, x2, x3


def _threefry_bits(state: Array, shape: tuple[int, ...], width: int) -> tuple[Array, Array]:
    """Bits of `width` in `shape`, and the state after them: 64 bits a counter, or a counter for two halves of a dimension."""
    key = _split(state[0])
    if width == 32 and shape:
        even = next((d for d, size in enumerate(shape) if size % 2 == 0), None)
        split = even if even is not None else int(np.argmax(shape))
        half = (*shape[:split], (shape[split] + 1) // 2, 1, *shape[split + 1 :])
    elif width == 32:
        split, half = 0, (1,)
    else:
        half = shape
    count = math.prod(half)
    counters = state[1] + np.arange(count, dtype=np.uint64).reshape(half)
    first, second = threefry(key, _split(counters))
    after = np.array([state[0], state[1] + np.uint64(count)], np.uint64)
    if width == 64:
        return _join(first, second), after
    if not shape:
        return first.reshape(()), after
    both = np.concatenate([first, second], split + 1).reshape(*shape[:split], -1, *shape[split + 1 :])
    return np.take(both, np.arange(shape[split]), split), after


def _philox_bits(state: Array, shape: tuple[int, ...], width: int) -> tuple[Array, Array]:
    """Bits of `width` in `shape`, and the state after them: a 128-bit counter gives four words.

    A state of two numbers has the key for the counter's upper half, as on XLA.
    """
    count = math.prod(shape)
    words = count * (2 if width == 64 else 1)
    vectors = (words + 3) // 4
    steps = np.arange(vectors + 1, dtype=np.uint64)
    low = state[1] + steps
    high = state[-1 if len(state) == 3 else 0] + (low < state[1]).astype(np.uint64)
    counter = (*_split(low[:-1]), *_split(high[:-1]))
    out = philox(_split(state[:1]), counter)
    after = np.array([state[0], low[-1], high[-1]][: len(state)], np.uint64)
    if width == 64:
        pairs = np.stack([_join(out[0], out[1]), _join(out[2], out[3])], 1)
        return pairs.reshape(-1)[:count].reshape(shape), after
    return np.stack(out, 1).reshape(-1)[:count].reshape(shape), after


@kernel("rng_bit_generator")
def rng_bit_generator(op: RngBitGenerator, state: Array) -> tuple[Array, Array]:
    """DEFAULT, which the specification leaves to the implementation, is PHILOX, as XLA has it on CPU and GPU."""
    type_ = op.results[1].tensor_type
    dtype = dtype_of(type_.element)
    width = 64 if dtype.itemsize == 8 else 32  # of narrower elements, the low bits of 32
    state = np.asarray(state)
    if state.dtype != np.uint64 or state.shape not in ((2,), (3,)):
        raise RunError(
            f"{op.called}: a state of type {op.initial_state.type}",
            hint="it is a list of ui64, 2 for THREE_FRY, 2 or 3 for PHILOX and DEFAULT")
    drawn = _threefry_bits if op.rng_algorithm == "THREE_FRY" else _philox_bits
    with np.errstate(over="ignore"):
        bits, after = drawn(state, type_.static_shape, width)
    return after, convert_bits(bits, dtype)


@kernel("rng")
def rng(op: Rng, a: Array, b: Array, shape: Array) -> Array:
    dtype = np.asarray(a).dtype
    sizes = tuple(int(size) for size in shape)
    seed = zlib.crc32(b"".join([np.asarray(a).tobytes(), np.asarray(b).tobytes(), np.asarray(sizes, np.int64).tobytes()]))
    generator = np.random.default_rng(seed)  # the same in every process, which `hash` of bytes is not
    if op.rng_distribution == "NORMAL":
        return fit(float(a) + float(b) * generator.standard_normal(sizes), dtype)  # numpy's `normal` refuses spreads below 0
    if is_float_dtype(dtype):
        low, high = float(a), float(b)
        return fit(low + generator.random(sizes) * (high - low), dtype)
    if dtype == np.bool_:
        return generator.random(sizes) < 0.5
    low, high = int(a), int(b)
    wide = np.uint64 if dtype.name.startswith("uint") else np.int64
    return fit(generator.integers(low, max(high - 1, low), sizes, wide, endpoint=True), dtype)
