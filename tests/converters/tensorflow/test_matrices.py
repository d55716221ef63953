"""What is made of matrices that are computed, as numpy computes it."""

from __future__ import annotations

import numpy as np
import pytest

from transload.api import legalize, lower, run

from tests.support.tensorflow_graphs import T, graph, node, placeholder, read_graph


@pytest.mark.parametrize("shape", [(2, 2), (3, 1, 5, 5)])
def test_determinants(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    module = read_graph(graph(placeholder("x", shape), node("y", "MatrixDeterminant", "x", T=T("float32"))))
    for form in (legalize(module), lower(module, "tosa")):
        (found,) = run(form, {"x": x}).values()
        assert found.shape == shape[:-2]
        np.testing.assert_allclose(found, np.linalg.det(x.astype(np.float64)), rtol=1e-4)
