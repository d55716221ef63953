"""Bytes of arrays in the order of their elements, whatever order they lie in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload import pieces
from transload.ir import F32, I8, TensorType
from transload.ir.constants import Dense
from transload.testing import build_module

A = np.arange(7 * 5 * 6, dtype=np.int16).reshape(7, 5, 6)


@pytest.mark.parametrize("array", [
    A, A.T, A[::2], A[:, 1:], A.transpose(1, 0, 2), np.broadcast_to(A[0], (4, 5, 6)), A[::-1], np.array(3.5), A[:0],
    A[:, :0].T, A[0, 0, ::2]])
@pytest.mark.parametrize("chunk", [1, 100, 1 << 24])
def test_bytes_in_order(array: np.ndarray, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "CHUNK", chunk)
    assert b"".join(pieces.in_order(array)) == array.tobytes()
    assert b"".join(pieces.spelled_out([b"a", array, memoryview(b"z")])) == b"a" + array.tobytes() + b"z"


@pytest.mark.parametrize("element, dtype", [(F32, np.float32), (I8, np.int8)])
def test_transposed_constants_in_a_tosa_file(element: object, dtype: type, tmp_path: Path) -> None:
    """They are views of what they were read from, and written some rows at a time."""
    array = np.random.default_rng(1).integers(-100, 100, (96, 200)).astype(dtype).T
    type_ = TensorType(array.shape, element)  # type: ignore[arg-type]
    module = build_module([], lambda b: b.emit("tosa.const", values=Dense(array, type_), types=[type_]))
    transload.save(module, tmp_path / "a.tosa")
    (found,) = transload.run(transload.load(tmp_path / "a.tosa"), {}).values()
    np.testing.assert_array_equal(found, array)
