"""What is in a module: bytes of constants, those that lie in the same place once."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.budget import allowed
from transload.contents import constant_bytes, unpacked_bytes
from transload.ir import F32, I8, QuantType
from transload.ir.constants import ArrayData, LazyData, MmapData, Packed4Data, TensorData

from tests.support.graphs import Graph

SHARED = np.frombuffer(bytes(1000), np.int8)
REPEATED = np.broadcast_to(SHARED[:1], (5000,))


@pytest.mark.parametrize(("held", "size"), [
    ([ArrayData(SHARED.reshape(shape)) for shape in ((1000,), (10, 100), (1000, 1))], 1000),
    ([ArrayData(SHARED[at : at + 600]) for at in (400, 0, 200)], 1000),
    ([ArrayData(SHARED[:300]), ArrayData(SHARED[700:])], 600),
    ([ArrayData(SHARED.reshape(10, 100)[:, :50]), ArrayData(REPEATED)], 500),
    ([ArrayData(REPEATED)], 1),
    ([MmapData(name, at, (500,), np.int8) for name in "ab" for at in (0, 250, 500)], 2000),
    ([Packed4Data(SHARED.view(np.uint8), shape) for shape in ((2000,), (20, 100))], 1000),
    ([LazyData(lambda: SHARED, (1000,), np.int8, of=SHARED) for _ in range(3)], 1000),
    ([LazyData(lambda: SHARED, (1000,), np.int8) for _ in range(3)], 3000)])
def test_constants_that_lie_in_the_same_bytes_are_counted_once(held: list[TensorData], size: int) -> None:
    g = Graph((1,))
    assert constant_bytes(g.done(*map(g.builder.constant, held))) == size


def test_sparse_constants_are_counted_as_what_they_become() -> None:
    g, stored = Graph((1,)), SHARED[:10]
    held = [ArrayData(SHARED), *(LazyData(lambda: SHARED, (1000,), np.int8, of=stored) for _ in range(3))]
    module = g.done(*map(g.builder.constant, held))
    assert unpacked_bytes(module) == 3000 and constant_bytes(module) == 1000


def test_weights_that_lie_in_the_same_bytes_become_floats_as_far_as_the_budget_goes() -> None:
    """A `.tflite` file of 1.4 MB, 1,500 of whose constants are one buffer, took 5 GB: four times as much of each was allowed."""
    g = Graph((1000,))
    value, numbers = g.inputs[0], np.frombuffer(np.arange(-50, 50, dtype=np.int8).repeat(10).tobytes(), np.int8)
    for number in range(20):
        kind = QuantType(I8, F32, (0.5 + number,), (3,))
        value = g.Add(value, g.Cast(g.builder.constant(ArrayData(numbers), element=kind), element=F32))
    module = g.done(value)
    with allowed(grown=10_000):
        made = transload.lower(module, "tosa")
    products = [op for op in made.ops() if op.name == "tosa.mul"]
    assert len(products) == 17
    given = {"x0": np.arange(1000, dtype=np.float32)}
    np.testing.assert_allclose(transload.run(made, given)["y0"], transload.run(module, given)["y0"], rtol=1e-6)
