"""The interpreter of the package `tflite-micro`, as it runs in a process of its own (`transload.worker`).

It prints what is wrong and raises an error that does not say it; so what it prints is caught.

Source: https://github.com/tensorflow/tflite-micro (python/tflite_micro/runtime.py).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from transload.errors import RunError

__all__ = ["Session", "arena_of", "operators_of", "refusal_of"]

STEP = 16
"""Bytes to a multiple of which an arena is aligned."""
ROOMY = 1 << 20
"""Bytes beyond ten times the model in which the first try is made, and twice as many in the next."""


class Session:
    """A model in an arena of some bytes: called with arrays in order, it gives arrays."""

    def __init__(self, data: bytes, arena: int, outputs: int) -> None:
        from tflite_micro.python.tflite_micro import runtime

        with _said() as said:
            try:
                self._interpreter = runtime.Interpreter.from_bytes(data, arena_size=arena)
            except Exception as error:  # RuntimeError: an operator without a kernel, an arena that is too small
                raise RunError(f"tflite-micro does not take the model: {said() or error}") from None
        self._outputs = outputs

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        with _said() as said:
            try:
                self._interpreter.reset()
                for index, array in enumerate(arrays):
                    shape = self._interpreter.get_input_details(index)["shape"]
                    self._interpreter.set_input(np.ascontiguousarray(array).reshape(shape), index)
                self._interpreter.invoke()
                return [np.array(self._interpreter.get_output(index)) for index in range(self._outputs)]
            except Exception as error:  # ValueError, RuntimeError: another shape or type, a kernel that gave up
                raise RunError(f"tflite-micro stopped: {said() or error}") from None


def refusal_of(data: bytes) -> str | None:
    """Why the interpreter does not take a model; None where it does."""
    try:
        Session(data, 10 * len(data) + 64 * ROOMY, 0)
    except RunError as error:
        return error.message.partition(": ")[2]
    return None


def arena_of(data: bytes, shapes: Sequence[Sequence[int]], dtypes: Sequence[str]) -> int:
    """The least arena, in bytes, in which a model is loaded and runs once: found by trying. `RunError` where it runs in none."""
    zeros = [np.zeros(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]

    def runs(arena: int) -> bool:
        try:
            Session(data, arena, 0)(zeros)
        except RunError:
            return False
        return True

    high = 10 * len(data) + ROOMY
    while not runs(high):
        if high > 1 << 31:
            Session(data, high, 0)(zeros)  # says why
        high *= 2
    low = 0  # too small
    while high - low > STEP:
        middle = (low + high) // (2 * STEP) * STEP
        low, high = (low, middle) if runs(middle) else (middle, high)
    return -(-high // STEP) * STEP


def operators_of(data: bytes) -> list[str]:
    """The operators of a model by the names of the schema, a custom one by its own, each once."""
    from tflite_micro.python.tflite_micro import runtime
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

    names = {number: name for name, number in vars(schema.BuiltinOperator).items() if isinstance(number, int)}
    found = []
    for code in runtime.convert_bytearray_to_object(bytearray(data)).operatorCodes:
        number = runtime.get_builtin_code_from_operator_code(code)
        custom = number == schema.BuiltinOperator.CUSTOM
        found.append(code.customCode.decode() if custom else names[number])
    return sorted(set(found))


@contextmanager
def _said() -> Iterator[Any]:
    """What is printed to the process's error stream inside, without names of files and counts of allocations."""
    with tempfile.TemporaryFile() as file:
        before = os.dup(2)
        os.dup2(file.fileno(), 2)

        def said() -> str:
            file.seek(0)
            lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
            told = [re.sub(r"^\S+\.(?:cc|h):\d+ ", "", line) for line in lines if line and not line.startswith("[Recording")]
            return "; ".join(told[:2])[:300]

        try:
            yield said
        finally:
            os.dup2(before, 2)
            os.close(before)
