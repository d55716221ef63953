"""TensorArrays in the reference engine, whose flow is the arrays: their elements may have several shapes, which no tensor has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import Finding, RunError
from transload.handles import Handle
from transload.ir import Op
from transload.plugin import KernelTable

__all__ = ["add_arrays"]


def add_arrays(kernels: KernelTable) -> None:
    """Enter the kernels of TensorArrays into a table."""
    for name, kernel in (
        ("TensorArrayV3", _array), ("TensorArrayWriteV3", _write), ("TensorArrayReadV3", _read), ("TensorArrayGatherV3", _gather),
        ("TensorArrayScatterV3", _scatter), ("TensorArrayConcatV3", _concat), ("TensorArraySizeV3", _size),
        ("TensorArraySplitV3", _split), ("TensorArrayCloseV3", lambda op, handle: ()),
    ):
        kernels(f"tf.{name}", quantized="native")(kernel)


class _Flow(Handle):
    """The elements of a TensorArray; None where nothing was written."""

    __slots__ = ("items",)

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = tuple(items)

    def element(self, op: Op, place: int) -> Any:
        """An element; zeros where nobody wrote it, if another one says of which shape."""
        if 0 <= place < len(self.items) and self.items[place] is not None:
            return self.items[place]
        known = [each for each in self.items if each is not None]
        if not 0 <= place < len(self.items) or not known:
            raise RunError("an element of a TensorArray cannot be read", [
                Finding(op.name, f"reads element {place}, which nobody wrote", (op.origin or "",))])
        return np.zeros_like(known[0])

    def written(self, place: int, value: Any) -> _Flow:
        """The same with another element; a place behind the last makes it longer."""
        items = (*self.items, *(None,) * (place + 1 - len(self.items)))
        return _Flow((*items[:place], value, *items[place + 1:]))


def _array(op: Op, size: Any) -> tuple[Any, _Flow]:
    return np.zeros((), np.int32), _Flow((None,) * int(size))


def _write(op: Op, handle: Any, index: Any, value: Any, flow: _Flow) -> _Flow:
    return flow.written(int(index), value)


def _read(op: Op, handle: Any, index: Any, flow: _Flow) -> Any:
    return flow.element(op, int(index))


def _gather(op: Op, handle: Any, indices: Any, flow: _Flow) -> Any:
    return np.stack([flow.element(op, int(place)) for place in np.asarray(indices).reshape(-1)])


def _scatter(op: Op, handle: Any, indices: Any, value: Any, flow: _Flow) -> _Flow:
    for place, item in zip(np.asarray(indices).reshape(-1).tolist(), value, strict=True):
        flow = flow.written(place, item)
    return flow


def _split(op: Op, handle: Any, value: Any, lengths: Any, flow: _Flow) -> _Flow:
    return _Flow(np.split(value, np.cumsum(np.asarray(lengths))[:-1]))


def _concat(op: Op, handle: Any, flow: _Flow) -> tuple[Any, Any]:
    parts = [flow.element(op, place) for place in range(len(flow.items))]
    return np.concatenate(parts), np.array([len(part) for part in parts], np.int64)


def _size(op: Op, handle: Any, flow: _Flow) -> Any:
    return np.array(len(flow.items), np.int32)
