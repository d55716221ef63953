"""Windows, boxes and states that do not fit their tensors: each is refused in words, with no rewrite having failed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import TransloadError

from tests.support.tensorflow_graphs import T, const, graph, node, placeholder, read_graph

F = T("float32")


@pytest.mark.parametrize(("op", "shape", "more", "attributes"), [
    ("Conv2D", (1, 4, 4, 1), [np.ones((2, 2, 1, 1), np.float32)],
     {"strides": [1, 1, 1, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1]}),
    ("Conv2D", (1, 4, 4, 1), [np.ones((2, 2, 1, 1), np.float32)], {"strides": [1, 0, 1, 1], "padding": "SAME"}),
    ("ExtractImagePatches", (1, 4, 4, 1), [], {"ksizes": [1, 2, 1], "strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1],
                                               "padding": "VALID"}),
    ("MaxPool", (), [], {"ksize": [1], "strides": [1], "padding": "VALID"}),
])
def test_windows_that_do_not_fit(op: str, shape: tuple[int, ...], more: list[Any], attributes: dict[str, Any]) -> None:
    inputs = [const(f"c{i}", array) for i, array in enumerate(more)]
    given = graph(placeholder("x", shape), *inputs, node("y", op, "x", *(each.name for each in inputs), T=F, **attributes))
    with pytest.raises(TransloadError) as caught:
        transload.lower(read_graph(given))
    assert caught.value.__cause__ is None, "a rewrite failed"
