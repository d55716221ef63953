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
from transload.scratch import system_folder, temporary

__all__ = ["Session", "operators_of", "refusal_of"]

ROOMY = 64 << 20
"""Bytes beyond ten times the model of an arena with room to spare."""


class Session:
    """A model in an arena of some bytes, 0 where it may be as large as it likes: called with arrays in order, it gives arrays."""

    def __init__(self, data: bytes, arena: int, outputs: int) -> None:
        from tflite_micro.python.tflite_micro import runtime

        with _said() as said:
            try:
                self._interpreter = runtime.Interpreter.from_bytes(data, arena_size=arena or 10 * len(data) + ROOMY)
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


def refusal_of(data: bytes, arena: int, shapes: Sequence[Sequence[int]], dtypes: Sequence[str], run: bool = True) -> str | None:
    """Why the interpreter does not load a model in an arena of so many bytes, or run it on zeros nor on ones; None where it does.

    On both, for zeros may be what an operator divides by, and ones places that are not there.
    """
    why = None
    for make in (np.zeros, np.ones):
        try:
            session = Session(data, arena, 0)
        except RunError as error:
            return _reason(error)
        try:
            if run:
                session([make(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)])
            return None
        except RunError as error:
            why = why or _reason(error)
    return why


def _reason(error: RunError) -> str:
    return error.message.partition(": ")[2]


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
    with temporary():
        kept = tempfile.TemporaryFile(dir=system_folder())  # noqa: SIM115 - until the end
    with kept as file:
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
