"""Checking a reader: damaged files give an error or a correct module, never a crash or a hang."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from ..api import load
from ..errors import PluginFailure, TransloadError
from ..ir.verify import check

__all__ = ["check_reader", "mutations"]


def mutations(data: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """`count` damaged copies of a file: cut short, bits flipped, bytes overwritten, parts moved, numbers made huge."""
    rng = random.Random(seed)
    size = len(data)
    for number in range(count):
        kind = number % 5
        copy = bytearray(data)
        if kind == 0:
            del copy[rng.randrange(size) :]
        elif kind == 1:
            for _ in range(rng.randint(1, 8)):
                copy[rng.randrange(size)] ^= 1 << rng.randrange(8)
        elif kind == 2:
            for _ in range(rng.randint(1, 16)):
                copy[rng.randrange(size)] = rng.randrange(256)
        elif kind == 3:
            at = rng.randrange(size)
            copy[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\x00\x00\x00\x00"))
        else:
            start, length, target = rng.randrange(size), rng.randint(1, 64), rng.randrange(size)
            copy[target : target + length] = copy[start : start + length]
        yield bytes(copy)


def check_reader(
    data: bytes,
    format: str,
    count: int = 2000,
    seed: int = 0,
    then: Callable[[Any], None] | None = None,
) -> dict[str, int]:
    """Feed `count` mutations of a good file to the reader of `format`.

    Each must raise `TransloadError` or give a module that verifies (and that `then(module)` accepts,
    or refuses with a `TransloadError`). Returns how many were refused and how many read.
    """
    outcome = {"refused": 0, "read": 0}
    for index, mutated in enumerate(mutations(data, count, seed)):
        try:
            module = load(text=mutated, format=format)
            findings = check(module)
            assert not findings, f"mutation {index} (seed {seed}) gives a module that does not verify: {findings[0]}"
            if then is not None:
                then(module)
            outcome["read"] += 1
        except PluginFailure as error:  # what the check is for
            raise AssertionError(f"mutation {index} (seed {seed}): {error.message}") from error
        except TransloadError:
            outcome["refused"] += 1
        except AssertionError:
            raise
        except Exception as error:  # what the check is for
            raise AssertionError(f"mutation {index} (seed {seed}) raises {type(error).__name__}: {error}") from error
    return outcome
