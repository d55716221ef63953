"""Transposes of many dimensions have no more of them than have to move: runtimes of TFLite have kernels for five or six."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import TransloadError
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


def test_more_than_six_that_move_apart_are_refused() -> None:
    graph = Graph((2,) * 7)
    with pytest.raises(TransloadError) as caught:
        transload.lower(graph.done(graph.Permute(graph.inputs[0], order=(6, 5, 4, 3, 2, 1, 0))), "tfl")
    assert "6 dimensions, and here are 7" in caught.value.findings[0].why  # type: ignore[attr-defined]
