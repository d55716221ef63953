"""What the tests of the pass `recognize` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from transload.engine import run_function
from transload.ir import BF16, F16, F32, F64, Type
from transload.ir.verify import check
from transload_hub.recognize.composites import recognize

from tests.support import graphs
from tests.support.graphs import op_names

DTYPES = {F32: np.float32, F64: np.float64, F16: np.float16, BF16: ml_dtypes.bfloat16}


class Graph(graphs.Graph):
    """With short ways to write what composites are made of."""

    def expanded(self, value: Any, shape: tuple[int, ...]) -> Any:
        return self.Expand(value, shape=shape)

    def reduce(self, mode: str, x: Any, axes: tuple[int, ...], keepdims: bool = True) -> Any:
        return self.Reduce(x, axes=axes, keepdims=keepdims, mode=f"Reduce{mode}")


def recognized(
    write: Callable[..., Any], *shapes: Any, element: Type = F32, scale: float = 2.0, tolerance: float = 2e-6,
) -> list[str]:
    """What is left of a graph after the pass, which must give the same results as before."""
    g = Graph(*shapes, element=element)
    made = write(g, *g.inputs)
    module = g.done(*made) if isinstance(made, tuple) else g.done(made)
    random = np.random.default_rng(0)
    feeds = {
        f"x{index}": np.asarray(scale * random.normal(size=value.shape)).astype(DTYPES[element])
        for index, value in enumerate(g.inputs)}
    before = run_function(module, feeds)
    recognize(module)
    assert check(module) == []
    after = run_function(module, feeds)
    for name, wanted in before.items():
        wanted = wanted.astype(np.float64)
        largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1e-30)
        np.testing.assert_allclose(after[name].astype(np.float64), wanted, rtol=tolerance, atol=tolerance * largest)
    return op_names(module)
