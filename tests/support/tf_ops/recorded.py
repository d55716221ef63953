"""What tensorflow computed for the cases, in one small file.

`record` (`make test-tf`) writes it, which needs tensorflow; reading it needs nothing.
"""

from __future__ import annotations

import json
import lzma
import zlib
from functools import cache
from pathlib import Path

import numpy as np

from .spec import Case, dtype_of

__all__ = ["EXPECTED", "expected", "fingerprint", "read_expected", "write_expected"]

EXPECTED = Path(__file__).with_name("expected.xz")


def fingerprint(case: Case) -> int:
    """What changes when the case's numbers do; its op, shapes and attributes are its name."""
    content = 0
    for array in case.arrays:
        content = zlib.crc32(np.ascontiguousarray(array).tobytes(), content)
    return content


def write_expected(path: Path, found: dict[str, tuple[int, list[np.ndarray]]]) -> None:
    """Write results by case: a line of JSON that says what there is, then the numbers one after the other."""
    head = {name: [mark, [[array.dtype.name, list(array.shape)] for array in arrays]] for name, (mark, arrays) in found.items()}
    data = b"".join(np.ascontiguousarray(array).tobytes() for _, arrays in found.values() for array in arrays)
    path.write_bytes(lzma.compress(json.dumps(head, separators=(",", ":")).encode() + b"\n" + data, preset=9))


def read_expected(path: Path) -> dict[str, tuple[int, list[np.ndarray]]]:
    """The reverse of `write_expected`."""
    content = lzma.decompress(path.read_bytes())
    start = content.index(b"\n") + 1
    found: dict[str, tuple[int, list[np.ndarray]]] = {}
    for name, (mark, entries) in json.loads(content[: start - 1]).items():
        arrays = []
        for dtype, shape in entries:
            array = np.frombuffer(content, dtype_of(dtype), int(np.prod(shape)), start).reshape(shape)
            start += array.nbytes
            arrays.append(array)
        found[name] = (mark, arrays)
    return found


@cache
def _recorded() -> dict[str, tuple[int, list[np.ndarray]]]:
    return read_expected(EXPECTED)


def expected(case: Case) -> list[np.ndarray]:
    """What tensorflow computed for a case, as it was recorded."""
    mark, arrays = _recorded().get(str(case), (None, []))
    assert mark is not None, f"{case} was never recorded: make test-tf"
    assert mark == fingerprint(case), f"{case} has changed since it was recorded: make test-tf"
    return arrays
