"""Ops of many dimensions: transposes have no more of them than have to move, for runtimes of TFLite have kernels for five or six.

Products have three in front of their matrices.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload_converters.tflite.runtime import open_model

from tests.support.graphs import Graph


@pytest.mark.parametrize(("shape", "order", "rank"), [
    ((1, 1, 3, 2, 4, 5), (0, 1, 4, 2, 5, 3), 4),  # a pixel shuffle to one channel
    ((1, 2, 3, 2, 4, 5), (0, 1, 4, 2, 5, 3), 5),
    ((2, 3, 4, 5, 2), (3, 4, 0, 1, 2), 2),
    ((2, 1, 3, 1, 4), (4, 3, 2, 1, 0), 3),
    ((2, 3, 2, 2, 1, 3, 2, 2), (7, 4, 5, 6, 0, 1, 2, 3), 3),
    ((2, 2, 3, 2, 2, 2), (5, 4, 3, 2, 1, 0), 6)])
def test_dimensions_of_size_1_and_those_that_stay_together_do_not_move(
    shape: tuple[int, ...], order: tuple[int, ...], rank: int, tmp_path: Path,
) -> None:
    graph = Graph(shape)
    lowered = transload.lower(graph.done(graph.Permute(graph.inputs[0], order=order)), "tfl")
    (moved,) = (op for op in lowered.ops() if op.name == "tfl.transpose")
    assert moved.operands[0].rank == rank
    numbers = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    (made,) = open_model(transload.save(lowered, tmp_path / "made.tflite"))({"x0": numbers}).values()
    np.testing.assert_array_equal(made, numbers.transpose(order))


@pytest.mark.parametrize("order", [(6, 5, 4, 3, 2, 1, 0), (1, 3, 0, 5, 2, 6, 4)])
def test_more_than_six_that_move_apart_are_moved_one_by_one(order: tuple[int, ...], tmp_path: Path) -> None:
    shape = (2, 3, 2, 2, 3, 2, 2)
    graph = Graph(shape)
    lowered = transload.lower(graph.done(graph.Permute(graph.inputs[0], order=order)), "tfl")
    numbers = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    (made,) = open_model(transload.save(lowered, tmp_path / "made.tflite"))({"x0": numbers}).values()
    np.testing.assert_array_equal(made, numbers.transpose(order))


@pytest.mark.parametrize(("left", "right"), [((2, 3, 1, 2, 2, 3), (3, 4, 1, 3, 2)), ((2, 1, 3, 1, 4, 2, 3), (3, 2)),
                                             ((3, 2), (2, 3, 1, 2, 2, 3))])
def test_products_of_batches_of_batches(left: tuple[int, ...], right: tuple[int, ...], tmp_path: Path) -> None:
    """BATCH_MATMUL has three dimensions in front of the matrices."""
    graph = Graph(left, right)
    lowered = transload.lower(graph.done(graph.MatMul(*graph.inputs, left_transpose=len(left) == 2,
                                                      right_transpose=len(left) == 2)), "tfl")
    random = np.random.default_rng(0)
    x, y = random.random(left, np.float32), random.random(right, np.float32)
    (made,) = open_model(transload.save(lowered, tmp_path / "made.tflite"))({"x0": x, "x1": y}).values()
    wanted = x.T @ np.swapaxes(y, -1, -2) if len(left) == 2 else x @ y
    np.testing.assert_allclose(made, wanted, rtol=1e-5)
