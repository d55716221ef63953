"""LAPACK's `potrf`, as JAX calls it: what has no factor is NaN throughout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload

jax = pytest.importorskip("jax")


@pytest.mark.parametrize("rows", [
    [[1, 2, 0], [2, 1, 0], [0, 0, 1]], [[-1, 0, 0], [0, 1, 0], [0, 0, 1]], [[4, 0, 0], [0, 4, 0], [0, 0, 4]]])
def test_a_matrix_that_is_not_positive_definite(rows: list[list[int]], tmp_path: Path) -> None:
    """A part of a factor was given: whether there is one was always said."""
    matrix = np.array(rows, np.float32)
    function = jax.jit(jax.lax.linalg.cholesky)
    (tmp_path / "m.mlir").write_text(function.lower(matrix).as_text())
    module = transload.load(tmp_path / "m.mlir")
    (made,) = transload.run(module, dict.fromkeys(module.inputs, matrix)).values()
    np.testing.assert_array_equal(made, np.asarray(function(matrix)))
