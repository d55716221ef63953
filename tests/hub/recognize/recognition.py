"""What the tests of the pass `recognize` share: a short way to write graphs of `top`, and to see what is left of them."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from transload.engine import run_function
from transload.ir import BF16, F16, F32, F64, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.verify import check
from transload_hub.recognize.composites import recognize


class Graph:
    """Writes ops of `top` with little ceremony: `g.Mul(x, 0.5)`."""

    def __init__(self, *shapes, element=F32):
        self.module = new_module()
        self.function = self.module.add_function("main", [TensorType(shape, element) for shape in shapes],
                                                 [f"x{i}" for i in range(len(shapes))])
        self.builder = Builder(self.function.regions[0].block)
        self.inputs = list(self.builder.block.arguments)
        self.element = element

    def constant(self, array):
        return self.builder.constant(np.asarray(array, np.float64).astype(np.float32), self.element)

    def __getattr__(self, name):
        def emit(*operands, **attributes):
            values = [self.constant(v) if isinstance(v, float | np.ndarray) else v for v in operands]
            return self.builder.emit(f"top.{name}", *values, **attributes)
        return emit

    def expanded(self, value, shape):
        return self.builder.emit("top.Expand", self.constant(value) if isinstance(value, float) else value, shape=shape)

    def reduce(self, mode, x, axes, keepdims=True):
        return self.builder.emit("top.Reduce", x, axes=axes, keepdims=keepdims, mode=f"Reduce{mode}")


def names(module):
    return [op.name.partition(".")[2] for op in module.ops()
            if op.name.startswith("top.") and op.name not in ("top.Weight", "top.None")]


def recognized(write, *shapes, element=F32, scale=2.0, tolerance=2e-6):
    """What is left of a graph after the pass, which must give the same results as before."""
    g = Graph(*shapes, element=element)
    made = write(g, *g.inputs)
    values = made if isinstance(made, tuple) else (made,)
    set_results(g.function, values, [f"y{i}" for i in range(len(values))])
    random = np.random.default_rng(0)
    dtype = {F32: np.float32, F64: np.float64, F16: np.float16, BF16: ml_dtypes.bfloat16}[element]
    feeds = {}
    for i, value in enumerate(g.inputs):
        feeds[f"x{i}"] = np.asarray(scale * random.normal(size=value.shape)).astype(dtype)
    before = run_function(g.module, feeds)
    recognize(g.module)
    assert check(g.module) == []
    after = run_function(g.module, feeds)
    for name, wanted in before.items():
        wanted = wanted.astype(np.float64)
        largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1e-30)
        np.testing.assert_allclose(after[name].astype(np.float64), wanted, rtol=tolerance, atol=tolerance * largest)
    return names(g.module)
