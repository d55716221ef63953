"""TensorFlow's random numbers: the generator Philox4x32-10 and what is made of its bits.

Sources: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), for the generator; TensorFlow's documentation of
random ops and `tensorflow/core/lib/random/random_distributions.h` for how bits become numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transload_hub import tables

__all__ = ["Philox", "scrambled"]

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_WORD = (1 << 64) - 1
_TOGETHER = 1024
"""How many such groups are made at once."""
_RESERVED = 256
"""How many counters a group of four numbers owns where each takes as many samples as it needs."""


class Philox:
    """The generator for a key of 64 bits and a first counter of 128, of which it makes four numbers of 32 bits each."""

    def __init__(self, key: int, counter: int = 0) -> None:
        self.key = key % (1 << 64)
        self.counter = counter % (1 << 128)

    def bits(self, groups: int, skip: int = 0) -> np.ndarray:
        """Numbers [groups, 4] of 32 bits, from counter number `skip` on."""
        return self._bits_at(tables.arange(groups, dtype=np.uint64) + np.uint64(skip))

    def _bits_at(self, places: np.ndarray) -> np.ndarray:
        """Numbers [.., 4] of 32 bits, from these counters on behind the first."""
        start = np.uint64(self.counter & _WORD)
        low = start + places
        high = np.uint64(self.counter >> 64) + (low < start)
        c0, c1, c2, c3 = low & _LOW, low >> np.uint64(32), high & _LOW, high >> np.uint64(32)
        k0, k1 = self.key & 0xFFFFFFFF, self.key >> 32
        for _ in range(10):
            product0, product1 = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
            c0, c1, c2, c3 = ((product1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0), product1 & _LOW,
                              (product0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1), product0 & _LOW)
            k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
        return np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)

    def uniform(self, count: int, dtype: np.dtype) -> np.ndarray:
        """Numbers in [0, 1): the lowest bits as the fraction of one between 1 and 2, less 1."""
        if dtype == np.float64:
            pairs = self.bits(-(-count // 2)).astype(np.uint64).reshape(-1, 2)
            fraction = ((pairs[:, 0] & np.uint64(0xFFFFF)) << np.uint64(32)) | pairs[:, 1]
            return (fraction / 2.0**52)[:count]
        width = {"float32": 23, "float16": 10, "bfloat16": 7}[dtype.name]
        fraction = self.bits(-(-count // 4)).reshape(-1)[:count] & np.uint32((1 << width) - 1)
        return (fraction / 2.0**width).astype(dtype)

    def normal(self, count: int) -> np.ndarray:
        """Numbers of the standard normal distribution, in f32, two of two by the method of Box and Muller."""
        return _box_muller(self.bits(-(-count // 4)).reshape(-1, 2)).reshape(-1)[:count]

    def truncated_normal(self, count: int) -> np.ndarray:
        """The same, those beyond 2 left out: each four numbers take samples of their own until they are complete."""
        groups = -(-count // 4)
        parts = [self._complete(tables.arange(first, min(first + _TOGETHER, groups))) for first in range(0, groups, _TOGETHER)]
        return np.concatenate([np.empty(0, np.float32), *parts])[:count]

    def _complete(self, groups: np.ndarray) -> np.ndarray:
        """The first four normal numbers of each group that are not beyond 2."""
        places = groups.astype(np.uint64)[:, None] * np.uint64(_RESERVED) + np.arange(32, dtype=np.uint64)
        samples = _box_muller(self._bits_at(places).reshape(-1, 2)).reshape(len(groups), -1)
        inside = np.abs(samples) < 2
        return samples[inside & (np.cumsum(inside, axis=1) <= 4)]

    def integers(self, count: int, low: int, high: int, dtype: np.dtype) -> np.ndarray:
        """Integers in [low, high): the rest of a division of 32 or 64 bits."""
        bits = self.bits(-(-count * dtype.itemsize // 16)).reshape(-1)
        wide = bits.astype(np.uint64)
        if dtype.itemsize == 8:
            wide = wide[::2] | (wide[1::2] << np.uint64(32))
        return (wide[:count] % np.uint64(high - low) + np.uint64(low & _WORD)).astype(dtype)

    def shuffled(self, count: int) -> np.ndarray:
        """The numbers up to `count` in random order: each is exchanged with one that is not before it."""
        order, samples = list(range(count)), self._singles()
        for place in range(count - 1):
            other = place + next(samples) % (count - place)
            order[place], order[other] = order[other], order[place]
        return np.array(order)

    def _singles(self) -> Iterator[int]:
        group = 0
        while True:
            yield from self.bits(_TOGETHER, group).reshape(-1).tolist()
            group += _TOGETHER


def _box_muller(pairs: np.ndarray) -> np.ndarray:
    """Two normal numbers [n, 2] of two times 32 bits each."""
    first, second = ((pairs[:, i] & np.uint32(0x7FFFFF)) / np.float32(2**23) for i in (0, 1))
    length = np.sqrt(np.float32(-2) * np.log(np.maximum(first.astype(np.float32), np.float32(1e-7))))
    angle = (np.float32(2 * np.pi) * second.astype(np.float32)).astype(np.float32)
    return np.stack([np.sin(angle) * length, np.cos(angle) * length], axis=1).astype(np.float32)


def scrambled(seed: tuple[int, int]) -> tuple[int, int]:
    """The key and the counter that TensorFlow makes of the seed of a stateless op."""
    counter = (seed[0] % (1 << 64)) | (seed[1] % (1 << 64)) << 64
    mixed = [int(part) for part in Philox(0x02461E293EC8F720, counter).bits(1)[0]]
    return mixed[0] | mixed[1] << 32, (mixed[2] | mixed[3] << 32) << 64
