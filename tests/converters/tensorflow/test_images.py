"""Weights of resized images, where places lie on the edge of a kernel."""

from __future__ import annotations

import numpy as np
import pytest

from transload.api import legalize, run

from tests.support.tensorflow_graphs import T, const, graph, node, placeholder, read_graph

GAUSSIAN = {
    (9, 4): [
        [0.3594055771827698, 0.3967145085334778, 0.19871246814727783, 0.045167475938797, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.013558471575379372, 0.08854889124631882, 0.262427419424057, 0.3529303967952728, 0.21538856625556946,
         0.05964992940425873, 0.007496367674320936, 0.0, 0.0],
        [0.0, 0.0, 0.007496367674320936, 0.05964992940425873, 0.21538856625556946, 0.3529303967952728, 0.262427419424057,
         0.08854889124631882, 0.013558471575379372],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0451674722135067, 0.19871245324611664, 0.3967144787311554, 0.3594055473804474]],
    (7, 3): [
        [0.3422052264213562, 0.38678136467933655, 0.209686741232872, 0.05452588200569153, 0.0068008205853402615, 0.0, 0.0],
        [0.012560202740132809, 0.07882796227931976, 0.23729607462882996, 0.3426315188407898, 0.23729607462882996,
         0.07882796227931976, 0.012560202740132809],
        [0.0, 0.0, 0.006800822447985411, 0.05452591925859451, 0.2096867710351944, 0.38678133487701416, 0.34220513701438904]],
}
"""By tensorflow 2.20: of how many rows which weights rows of the result have."""


@pytest.mark.parametrize("sizes", GAUSSIAN, ids=str)
def test_a_kernel_that_jumps_ends_where_it_does_in_tensorflow(sizes: tuple[int, int]) -> None:
    """In floats of 32 bits a row's distance is 1.5, where the gaussian is 0, or just below, where it is not."""
    size, wanted = sizes
    rows = np.eye(size, dtype=np.float32).reshape(1, size, 1, size)
    scale = np.array([np.float32(wanted) / np.float32(size), 1], np.float32)
    made = read_graph(graph(
        placeholder("x", rows.shape), const("size", np.array([wanted, 1], np.int32)), const("scale", scale),
        const("shift", np.zeros(2, np.float32)),
        node("y", "ScaleAndTranslate", "x", "size", "scale", "shift", T=T("float32"), kernel_type="gaussian", antialias=True)))
    (found,) = run(legalize(made), {"x": rows}).values()
    np.testing.assert_allclose(found.reshape(wanted, size), GAUSSIAN[sizes], rtol=1e-5, atol=1e-7)
