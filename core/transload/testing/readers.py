"""Checking a reader: damaged files give an error or a correct module, never a crash or a hang."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..api import InputSpec, load
from ..errors import InternalError, InvalidContent, PluginFailure, TransloadError
from ..ir.verify import check
from ..plugin_host import host

__all__ = ["check_reader", "mutations"]


def mutations(data: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """`count` damaged copies of a file: cut short, bits flipped, bytes overwritten, parts moved, numbers made huge.

    Raises `AssertionError` for a file without a byte, which cannot be damaged.
    """
    assert data, "an empty file cannot be damaged: give one that the reader reads"
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
    inputs: Mapping[str, InputSpec] | None = None,
) -> dict[str, int]:
    """Feed `count` mutations of a good file to the reader of `format`; `inputs` are the shapes that it needs, as for `load`.

    The file itself must give a module that verifies, and that `then(module)` accepts. Each mutation must raise `TransloadError`
    or give a module that verifies (and that `then(module)` accepts, or refuses with a `TransloadError`). Returns how many were
    refused and how many read. Raises `AssertionError` for all else, and where nothing would be checked: a module that breaks the
    rules of its ops is no refusal, nor is asking for more memory than there is because a file says so.
    """
    assert format in host().readers, f"no reader is called {format!r}; there are {', '.join(host().readers)}"
    assert isinstance(data, bytes | bytearray), f"the file is given as bytes, and is {type(data).__name__}"
    assert isinstance(count, int) and count > 0, f"{count!r:.100} mutations check nothing"
    data = bytes(data)  # and no array that a reader may write into
    try:
        _check_read(data, format, then, inputs)
    except AssertionError as error:
        raise AssertionError(f"the good file {error}") from error
    except Exception as error:  # what the check is for
        raise AssertionError(f"the good file is not read: {type(error).__name__}: {error}") from error
    outcome = {"refused": 0, "read": 0}
    for index, mutated in enumerate(mutations(data, count, seed)):
        which = f"mutation {index} (seed {seed})"
        try:
            _check_read(mutated, format, then, inputs)
            outcome["read"] += 1
        except (PluginFailure, InternalError) as error:  # what the check is for
            raise AssertionError(f"{which}: {error.message}") from error
        except InvalidContent as error:
            raise AssertionError(f"{which} gives a module that does not verify: {error.findings[0]}") from error
        except TransloadError as error:
            if isinstance(error.__cause__, MemoryError):
                why = "makes the reader ask for more memory than there is, in place of a refusal"
                raise AssertionError(f"{which} {why}: {error.message}") from error
            outcome["refused"] += 1
        except AssertionError as error:
            raise AssertionError(f"{which} {error}") from error
        except Exception as error:  # what the check is for
            raise AssertionError(f"{which} raises {type(error).__name__}: {error}") from error
    return outcome


def _check_read(
    data: bytes, format: str, then: Callable[[Any], None] | None, inputs: Mapping[str, InputSpec] | None,
) -> None:
    """Read a file; `AssertionError` where the module does not verify."""
    module = load(text=data, format=format, inputs=inputs)
    findings = check(module)
    assert not findings, f"gives a module that does not verify: {findings[0]}"
    if then is not None:
        then(module)
