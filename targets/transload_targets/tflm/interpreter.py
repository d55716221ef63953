"""tflite-micro, asked from here: it works in a process of its own, within limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transload.errors import RunError
from transload.worker import ChildEnded, Worker

__all__ = ["arena_of", "open_model", "operators_of", "refusal_of"]

_TFLM = Worker("tflite-micro", needs=("transload_targets", "numpy", "tflite_micro"))
_HERE = "transload_targets.tflm.runtime"


def refusal_of(data: bytes) -> str | None:
    """`runtime.refusal_of`, there; what ends the process is refused, too."""
    try:
        why: str | None = _TFLM.call(f"{_HERE}:refusal_of", data)
    except ChildEnded as error:
        return error.message
    return why


def arena_of(data: bytes, shapes: Sequence[Sequence[int]], dtypes: Sequence[str]) -> int:
    """`runtime.arena_of`, there."""
    return int(_TFLM.call(f"{_HERE}:arena_of", data, [list(shape) for shape in shapes], list(dtypes)))


def operators_of(data: bytes) -> list[str]:
    """`runtime.operators_of`, there."""
    return list(_TFLM.call(f"{_HERE}:operators_of", data))


def open_model(data: bytes, arena: int, outputs: int) -> Any:
    """What runs a model in an arena of so many bytes: `run(arrays)` gives arrays. Raises `RunError`."""
    try:
        return _TFLM.open(f"{_HERE}:Session", data, arena, outputs)
    except ChildEnded as error:
        raise RunError(error.message) from None
