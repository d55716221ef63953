"""tflite-micro, asked from here: it works in a process of its own, within limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transload.errors import RunError
from transload.ir import Module, TensorType, dtype_of
from transload.worker import ChildEnded, ChildLate, Worker

__all__ = ["Given", "arena_of", "open_model", "open_source", "operators_of"]

_TFLM = Worker("tflite-micro", needs=("transload_targets", "numpy", "tflite_micro"))
_HERE = "transload_targets.tflm.runtime"
_STEP = 16
"""Bytes to a multiple of which an arena is aligned."""
_ROOMY = 1 << 20
"""Bytes beyond ten times the model in which the first try is made, and twice as many in the next."""


@dataclass(frozen=True)
class Given:
    """A model, and what arrays it takes, in order; `whole` where it can be run on any: of known sizes, and without a loop.

    A loop may never end that begins with numbers which nobody meant.
    """

    data: bytes
    shapes: list[list[int]]
    dtypes: list[str]
    whole: bool = True

    @classmethod
    def of(cls, data: bytes, module: Module) -> Given:
        types = [type_ for type_ in module.inputs.values() if isinstance(type_, TensorType)]
        sizes = [list(type_.static_shape) for type_ in types if type_.is_static]
        whole = len(sizes) == len(module.inputs) and not any(op.name == "tfl.while" for op in module.ops())
        return cls(data, sizes, [dtype_of(type_.element).name for type_ in types], whole)

    def refusal(self, arena: int = 0, run: bool = True) -> str | None:
        """`runtime.refusal_of`, there; what ends the process is refused, too. Raises `ChildLate`: more room would not help."""
        try:
            why: str | None = _TFLM.call(f"{_HERE}:refusal_of", self.data, arena, self.shapes, self.dtypes, run and self.whole)
        except ChildLate:
            raise
        except ChildEnded as error:
            return error.message
        return why


def arena_of(model: Given) -> int:
    """The least arena, in bytes, in which a model is loaded and runs: found by trying. `RunError` where it runs in none.

    What a model takes is settled when it is loaded, so that most tries only load it. One that ends the process, as some kernels
    do that were not given their memory, says that it was too little.
    """
    high = 10 * len(model.data) + _ROOMY
    while (why := model.refusal(high)) is not None:
        if high > 1 << 31:
            raise RunError(f"tflite-micro does not take the model: {why}")
        high *= 2
    found = _least(high, lambda arena: _suffices(model, arena, run=False))
    return found if _suffices(model, found) else _least(high, lambda arena: _suffices(model, arena))


def _suffices(model: Given, arena: int, run: bool = True) -> bool:
    """Whether a model that ends in more memory does in so much: one that takes too long there does so for want of it."""
    try:
        return model.refusal(arena, run=run) is None
    except ChildLate:
        return False


def _least(high: int, suffices: Callable[[int], bool]) -> int:
    """The least multiple of `_STEP` that suffices, where `high` does."""
    low = 0  # too small
    while high - low > _STEP:
        middle = (low + high) // (2 * _STEP) * _STEP
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return -(-high // _STEP) * _STEP


def operators_of(data: bytes) -> list[str]:
    """`runtime.operators_of`, there."""
    return list(_TFLM.call(f"{_HERE}:operators_of", data))


def open_model(data: bytes, arena: int, outputs: int) -> Any:
    """What runs a model in an arena of so many bytes: `run(arrays)` gives arrays. Raises `RunError`."""
    try:
        return _TFLM.open(f"{_HERE}:Session", data, arena, outputs)
    except ChildEnded as error:
        raise RunError(error.message) from None


def open_source(path: str | Path) -> Callable[..., dict[str, np.ndarray]]:
    """`run(inputs, keep=False)` for any `.tflite` file, in an arena with room to spare: outputs by name, in order.

    It gives no intermediate tensors. `run` raises `RunError` where the interpreter does not take the model.
    """
    from transload.api import load_artifact

    data = Path(path).read_bytes()
    outputs: list[str] = []
    made: list[Any] = []

    def run(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
        if keep:
            raise RunError("tflite-micro gives outputs alone")
        if not made:
            shapes = {name: tuple(np.shape(array)) for name, array in inputs.items()}
            outputs.extend(load_artifact(path, format="tflite", inputs=shapes).outputs)
            made.append(open_model(data, 0, len(outputs)))
        return dict(zip(outputs, made[0](list(inputs.values())), strict=True))

    return run
