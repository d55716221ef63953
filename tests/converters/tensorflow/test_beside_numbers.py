"""Where NaN lies among sorted numbers, as TensorFlow 2 has it: its binary searches go on beyond what is in no order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transload.api import legalize, lower, run

from tests.support.tensorflow_graphs import T, const, graph, node, placeholder, read_graph

EDGES = np.array([-1, 0, 0, 1], np.float32)
X = np.array([[np.nan, np.inf, -np.inf, 0, 1, -2, 2]], np.float32)


@pytest.mark.parametrize(("op", "more", "wanted"), [
    ("Bucketize", {"boundaries": EDGES.tolist()}, [4, 4, 0, 3, 4, 0, 4]), ("LowerBound", {}, [0, 4, 0, 1, 3, 0, 4]),
    ("UpperBound", {}, [4, 4, 0, 3, 4, 0, 4])])
def test_nan_among_sorted_numbers(op: str, more: dict[str, Any], wanted: list[int]) -> None:
    operands = ("x",) if op == "Bucketize" else ("edges", "x")
    types = {"T": T("float32")} if op == "Bucketize" else {"T": T("float32"), "out_type": T("int32")}
    made = node("y", op, *operands, attributes={**types, **more})
    module = read_graph(graph(placeholder("x", X.shape), const("edges", EDGES[None]), made))
    for form in (legalize(module), lower(module, "tosa")):
        (found,) = run(form, {"x": X}, engine="reference").values()
        np.testing.assert_array_equal(found, [wanted])
