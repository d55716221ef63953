"""Kernels of dialect `tf` of its own: what no lowering of fixed shapes can be."""

from __future__ import annotations

import numpy as np

import transload

from tests.support.tensorflow_graphs import T, const, graph, node, placeholder, read_graph


def test_boxes_are_kept_by_their_scores_and_overlaps() -> None:
    module = read_graph(graph(
        placeholder("boxes", (4, 4)), placeholder("scores", (4,)), const("most", np.int32(1000)),
        const("overlap", np.float32(0.5)),
        node("kept", "NonMaxSuppressionV2", "boxes", "scores", "most", "overlap", T=T("float32"))))
    boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 1, 1], [5, 5, 6, 6]], np.float32)
    found = transload.run(module, {"boxes": boxes, "scores": np.array([0.5, 0.9, 0.1, 0.9], np.float32)})["kept"]
    np.testing.assert_array_equal(found, [1, 3, 2])
