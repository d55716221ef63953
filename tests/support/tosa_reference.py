"""Arm's reference model of TOSA as the judge; what asks for it is skipped where it is not installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from transload.ir import BF16, Module, dtype_of
from transload_plugins.tosa.flatbuffer.writer import serialize

__all__ = ["reference_model", "run_file", "run_module"]

BUFFERS = (np.bool_, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32)
"""What numpy's buffers know; other floats go in as the integers of their bits."""


def reference_model() -> Any:
    return pytest.importorskip("tosa_reference_model", reason="install tosa-tools to judge against the TOSA reference model")


def run_file(data: bytes, inputs: Sequence[np.ndarray], level: str = "NONE") -> list[np.ndarray]:
    """The outputs of a `.tosa` file; fails where the model finds it wrong, or beyond the specification's `level`."""
    model = reference_model()
    outputs, status = model.run(data, [_plain(array) for array in inputs], tosa_level=level)
    assert status == model.GraphStatus.TOSA_VALID, f"reference model: {status.name}"
    return list(outputs)


def _plain(array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array)
    return array if array.dtype in BUFFERS else array.view(f"uint{8 * array.dtype.itemsize}")


def run_module(module: Module, arrays: Sequence[np.ndarray], level: str = "EIGHTK") -> list[np.ndarray]:
    """The outputs of a module of `tosa`, of the types that its users see, and what `run_file` checks.

    Inputs may be of the types that the module had before: unsigned numbers go in by their bits, others are converted.
    """
    block = module.body_of_main
    given = []
    for argument, array in zip(block.arguments, arrays, strict=True):
        wanted = dtype_of(argument.element)
        carrier = np.dtype(np.uint16) if argument.element == BF16 else wanted
        given.append(array.view(carrier) if array.itemsize == carrier.itemsize else array.astype(wanted))
    made = []
    outputs = run_file(bytes(serialize(module)), given, level)
    for output, value, type_ in zip(outputs, block.terminator.operands, module.outputs.values(), strict=True):
        array, wanted = np.asarray(output), dtype_of(value.element)
        array = (array.view(wanted) if array.itemsize == wanted.itemsize else array.astype(wanted)).reshape(value.shape)
        made.append(array.view(dtype_of(type_.element)) if array.dtype.kind in "iu" else array)
    return made
